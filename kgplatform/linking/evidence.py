"""From a statement and the graph that holds it to the passage that says it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pyoxigraph import NamedNode, Triple

from kgplatform.documents.registry import Registry
from kgplatform.documents.tabular.rereading import row_text
from kgplatform.errors import NotFoundError
from kgplatform.linking.projection import Projection
from kgplatform.types import Chunk, Document, Evidence, Extraction, Mention
from kgplatform.vocab import ALT_LABEL, LABEL, TYPE


class EvidenceFinder:
    """Finds passages by statement and evidence graph; quotes are cut from the document at their offsets."""

    def __init__(self, registry: Registry, projection: Projection) -> None:
        self._registry = registry
        self._projection = projection

    def find(self, triple: Triple, graph: NamedNode) -> Evidence | None:
        """The passage in the graph's chunk or table row; None where the graph has no text (inferred, stated by hand).

        A statement by which a person corrected another has the passage of that one.
        """
        try:
            if "/chunk/" in graph.value:
                return self._in_chunk(triple, graph)
            if graph.value.endswith("graph/asserted"):
                return self._corrected(triple)
            return self._in_table(triple, graph)
        except NotFoundError:
            return None

    def passage(self, iri: NamedNode, score: float) -> Evidence:
        """A whole chunk, as the passage that a search found."""
        chunk, document = self._registry.chunk(iri)
        return _evidence(iri, document, chunk.start, chunk.end, score)

    def excerpt(self, document: NamedNode, start: int, end: int, score: float) -> Evidence:
        """Some characters of a document, as the passage that a search found; its chunk is the first that holds them."""
        holding = (c for c in self._registry.chunks(document) if c.start <= start and end <= c.end)
        chunk = next(holding, None)
        found = self._registry.document(document).document
        return _evidence(chunk.iri if chunk else document, found, start, end, score)

    def _corrected(self, triple: Triple) -> Evidence | None:
        review = self._registry.correction_of(triple)
        if review is None or review.correction != triple:
            return None
        document = self._registry.document(review.document).document
        return _evidence(review.graph, document, review.start, review.end, 1.0)

    def _in_chunk(self, triple: Triple, graph: NamedNode) -> Evidence | None:
        chunk, document = self._registry.chunk(graph)
        extraction = self._registry.extraction(graph)
        if extraction is None:
            return None
        start, end, score = self._passage(triple, extraction, chunk)
        return _evidence(chunk.iri, document, start, end, score)

    def _passage(self, triple: Triple, extraction: Extraction, chunk: Chunk) -> tuple[int, int, float]:
        for claim in extraction.claims:
            if self._projection.triple(claim, chunk.iri) == triple:
                return claim.start, claim.end, claim.confidence
        if triple.predicate in (TYPE, LABEL, ALT_LABEL):
            for mention in extraction.mentions:
                if self._projection.entity(mention, chunk.iri) == triple.subject:
                    return self._around(mention, extraction)
        return chunk.start, chunk.end, 0.5

    def _around(self, mention: Mention, extraction: Extraction) -> tuple[int, int, float]:
        """The sentence of a claim about the mention, else the mention itself."""
        for claim in extraction.claims:
            if claim.start <= mention.start and mention.end <= claim.end:
                return claim.start, claim.end, 0.8
        return mention.start, mention.end, 0.8

    def _in_table(self, triple: Triple, graph: NamedNode) -> Evidence | None:
        iri = self._registry.table_graphs().get(graph.value)
        if iri is None:
            return None
        record = self._registry.document(iri)
        about = [triple.subject, triple.object]
        for node in about:
            if not isinstance(node, NamedNode):
                continue
            for row in self._registry.rows_about(node):
                if row.document == iri:
                    return _evidence(graph, record.document, row.start, row.end, 1.0)
        return self._in_large(about, graph, record.document)

    def _in_large(self, about: Iterable[object], graph: NamedNode, document: Document) -> Evidence | None:
        """The row of a large table, read again from its source; it has a quote, but no place in a kept text."""
        entry = self._registry.table(document.iri)
        if entry is None or not entry.is_large:
            return None
        for node in about:
            number = self._registry.row_number(document.iri, node) if isinstance(node, NamedNode) else None
            if number is not None:
                quote = row_text(document.source, number)
                return replace(_evidence(graph, document, 0, 0, 1.0), quote=quote) if quote else None
        return None


def _evidence(chunk: NamedNode, document: Document, start: int, end: int, score: float) -> Evidence:
    return Evidence(
        chunk=chunk,
        document=document.iri,
        title=document.title,
        source=document.source,
        quote=document.text[start:end],
        start=start,
        end=end,
        score=score,
    )
