"""The passage index of a workspace, the embedding model and the re-ranker, as the settings want them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from kgplatform import config
from kgplatform.config import EmbeddingSettings, RetrievalSettings
from kgplatform.models.embedding import OpenAIEmbedder, SentenceTransformersEmbedder
from kgplatform.models.reranking import CrossEncoderReranker, Reranker
from kgplatform.protocols import Embedder
from kgplatform.retrieval.index import ChunkIndex, IndexOptions
from kgplatform.types import Chunk


def embedder(settings: EmbeddingSettings) -> Embedder:
    """The embedding model: on a server if the settings give its address, else on this machine; loaded when used."""
    languages = frozenset(settings.languages)
    if settings.url:
        return OpenAIEmbedder(
            settings.name,
            url=settings.url,
            key=config.model_key(settings),
            timeout_seconds=settings.timeout_seconds,
            languages=languages,
        )
    return SentenceTransformersEmbedder(settings.name, languages=languages, allow_download=settings.allow_download)


def reranker(settings: RetrievalSettings, *, allow_download: bool) -> Reranker | None:
    """The cross-encoder of the settings; None: they name none."""
    return CrossEncoderReranker(settings.reranker, allow_download=allow_download) if settings.reranker else None


def passage_index(
    folder: Path, model: Embedder, settings: RetrievalSettings, passages: Callable[[], Iterable[tuple[Chunk, str]]]
) -> ChunkIndex:
    """The index in the folder; one whose files are damaged is made anew from the passages.

    Raises:
        WorkspaceError: the folder cannot be read or written.
        ConfigError: a setting has a value that there is not.
        ModelUnavailableError: passages have to be embedded anew, and the embedding model cannot be used.
    """
    made = ChunkIndex(folder, model, IndexOptions(settings.storage, settings.search))
    if made.damaged:
        made.sync(passages())
    return made
