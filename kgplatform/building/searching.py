"""Finding passages in a workspace: what the retrievers draw on, and the passages behind what they find."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pyoxigraph import NamedNode

from kgplatform.documents.registry import Registry, State
from kgplatform.linking.evidence import EvidenceFinder
from kgplatform.protocols import ChatModel
from kgplatform.retrieval import retriever
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.pagerank import Passage
from kgplatform.retrieval.similarity import SourceText
from kgplatform.retrieval.sources import Sources
from kgplatform.types import Evidence

_RANGE = re.compile(r"(?P<document>.+)#char=(?P<start>\d+),(?P<end>\d+)")


def sources(registry: Registry, index: ChunkIndex, *, folder: Path | None, model: ChatModel | None = None) -> Sources:
    """What the retrievers draw on; graphs over the passages are kept in ``folder``."""
    return Sources(
        index,
        passages=lambda: list(_passages(registry)),
        documents=lambda: _documents(registry),
        model=model,
        folder=folder,
    )


def search(made: Sources, finder: EvidenceFinder, text: str, k: int, name: str) -> list[Evidence]:
    """The passages, or sentences, that the retriever of that name finds, best first.

    Raises:
        ConfigError: no retriever is called so.
        ModelUnavailableError: it needs an embedding model, and that cannot be used.
    """
    return [passage(finder, hit.iri, hit.score) for hit in retriever(name, made).retrieve(text, k)]


def passage(finder: EvidenceFinder, iri: NamedNode, score: float) -> Evidence:
    """The chunk of that IRI, or the characters of a document that a sentence's IRI names."""
    match = _RANGE.fullmatch(iri.value)
    if match is None:
        return finder.passage(iri, score)
    return finder.excerpt(NamedNode(match["document"]), int(match["start"]), int(match["end"]), score)


def _passages(registry: Registry) -> Iterator[Passage]:
    for record in registry.documents(State.PROCESSED):
        for chunk in registry.chunks(record.document.iri):
            extraction = registry.extraction(chunk.iri)
            names = dict.fromkeys(mention.name for mention in extraction.mentions) if extraction else {}
            yield Passage(chunk.iri.value, record.document.title, chunk.text, tuple(names))


def _documents(registry: Registry) -> Iterator[SourceText]:
    for record in registry.documents(State.PROCESSED):
        document = record.document
        yield SourceText(document.iri.value, document.title, document.text)
