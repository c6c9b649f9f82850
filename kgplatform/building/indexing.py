"""The passage index of a workspace, the embedding model and the re-ranker, as the settings want them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pyoxigraph import NamedNode

from kgplatform import config
from kgplatform.config import EmbeddingSettings, RetrievalSettings
from kgplatform.documents.registry import Registry, State
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


class Indexing:
    """Brings the passage index in line with the registry: wholly the first time, then by what changed."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._mark: int | None = None

    def run(self, index: ChunkIndex) -> int:
        """Indexes what is to be indexed; returns how many passages there are.

        Raises:
            WorkspaceError: another process is writing this index, or the disk refuses.
            ModelUnavailableError: the embedding model cannot be used.
        """
        since, self._mark = self._mark, None  # until it is done
        now = self._registry.latest_change()
        if since is None or index.damaged or index.behind:
            index.sync(self.passages())
        else:
            changed = self._registry.changed_since(since)
            if changed:
                index.replace([iri.value for iri in changed], self._of(changed))
        self._mark = now
        return len(index)

    def passages(self) -> Iterator[tuple[Chunk, str]]:
        """All passages of documents, each with the title of its document."""
        yield from self._registry.passages()

    def _of(self, documents: Iterable[NamedNode]) -> Iterator[tuple[Chunk, str]]:
        for iri in documents:
            if self._registry.state(iri) is not State.PROCESSED:
                continue
            record = self._registry.document(iri)
            if record.graph is None:
                yield from ((chunk, record.document.title) for chunk in self._registry.chunks(iri))
