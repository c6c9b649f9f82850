"""Finding passages in a workspace: what the retrievers draw on, and the passages behind what they find."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pyoxigraph import NamedNode

from kgplatform.documents.registry import Registry, State
from kgplatform.linking.evidence import EvidenceFinder
from kgplatform.models.reranking import Reranker
from kgplatform.protocols import ChatModel
from kgplatform.retrieval import retriever
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.knowledge import Knowledge
from kgplatform.retrieval.pagerank import Passage
from kgplatform.retrieval.picture import draw
from kgplatform.retrieval.similarity import SourceText
from kgplatform.retrieval.sources import Rows, Sources
from kgplatform.types import Answer, Evidence, Hit

_RANGE = re.compile(r"(?P<document>.+)#char=(?P<start>\d+),(?P<end>\d+)")


COMMUNITIES = "communities"
"""The source of evidence that is the report on a community."""


def sources(
    registry: Registry,
    index: ChunkIndex,
    *,
    folder: Path | None,
    model: ChatModel | None = None,
    knowledge: Callable[[], Knowledge] = Knowledge,
    reranker: Reranker | None = None,
) -> Sources:
    """What the retrievers draw on; graphs over the passages are kept in ``folder``."""
    return Sources(
        index,
        passages=lambda: list(_passages(registry)),
        documents=lambda: _documents(registry),
        knowledge=knowledge,
        model=model,
        folder=folder,
        reranker=reranker,
    )


def rows_of(answer: Answer) -> Rows:
    """The query of an answer and the things in its rows."""
    cells = (cell for row in answer.solutions.rows for cell in row)
    things = dict.fromkeys(cell.value for cell in cells if isinstance(cell, NamedNode))
    return Rows(answer.query.text if answer.query else None, tuple(things))


def search(
    made: Sources, finder: EvidenceFinder, text: str, k: int, name: str, *, plot: Path | None = None
) -> list[Evidence]:
    """The passages, or sentences, that the retriever of that name finds, best first; ``plot``: draws what it did.

    Raises:
        ConfigError: no retriever is called so, or the plot's file is no picture's.
        ModelUnavailableError: it needs an embedding model, and that cannot be used.
        WorkspaceError: the plot cannot be written.
    """
    chosen = retriever(name, made)
    hits = draw(made, chosen, text, k, plot) if plot else chosen.retrieve(text, k)
    return [_evidence(finder, hit) for hit in hits]


def _evidence(finder: EvidenceFinder, hit: Hit) -> Evidence:
    if hit.retriever != COMMUNITIES:
        return passage(finder, hit.iri, hit.score)
    title = hit.text.partition("\n")[0]
    return Evidence(hit.iri, hit.iri, title, COMMUNITIES, hit.text, 0, len(hit.text), hit.score)


def passage(finder: EvidenceFinder, iri: NamedNode, score: float) -> Evidence:
    """The chunk of that IRI, or the characters of a document that a sentence's IRI names."""
    match = _RANGE.fullmatch(iri.value)
    if match is None:
        return finder.passage(iri, score)
    return finder.excerpt(NamedNode(match["document"]), int(match["start"]), int(match["end"]), score)


def _passages(registry: Registry) -> Iterator[Passage]:
    for record in registry.documents(State.PROCESSED):
        if record.graph is not None:  # a table: its rows are statements, and no passages in the index
            continue
        for chunk in registry.chunks(record.document.iri):
            extraction = registry.extraction(chunk.iri)
            names = dict.fromkeys(mention.name for mention in extraction.mentions) if extraction else {}
            yield Passage(chunk.iri.value, record.document.title, chunk.text, tuple(names))


def _documents(registry: Registry) -> Iterator[SourceText]:
    for record in registry.documents(State.PROCESSED):
        document = record.document
        keywords = partial(_keywords, registry, document.iri)
        yield SourceText(document.iri.value, document.title, document.text, keywords=keywords, version=record.updated)


def _keywords(registry: Registry, document: NamedNode) -> list[str]:
    """The keywords of a document's passages, each as often as there are passages that have it."""
    return [keyword for extraction in registry.extractions(document) for keyword in extraction.keywords]
