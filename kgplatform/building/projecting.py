"""Statements made anew from what was read: graphs of documents as names are linked now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pyoxigraph import NamedNode, Triple

from kgplatform.building.changes import changed_names, changed_parts, disputed, is_same
from kgplatform.building.tables import TableStatements
from kgplatform.building.tabular import TableParts
from kgplatform.dataset import Change
from kgplatform.documents.registry import DocumentRecord, Linking, State
from kgplatform.linking.projection import Projection, document_triples
from kgplatform.types import Chunk, Document, Extraction, Refusal


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document with all that was read in it, ready to be committed."""

    document: Document
    chunks: tuple[Chunk, ...] = ()
    extractions: tuple[Extraction, ...] = ()
    table: TableStatements | None = None

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """What was read but not accepted."""
        if self.table is not None:
            return self.table.refused
        return tuple(refusal for extraction in self.extractions for refusal in extraction.refused)


class Projecting:
    """Makes the graphs of documents from what was read in them, for the first time and again."""

    def __init__(self, tables: TableParts) -> None:
        self._base = tables.base
        self._registry = tables.registry
        self._dataset = tables.dataset
        self._tables = tables

    def _graphs(self, seen: ReadDocument, projection: Projection) -> dict[NamedNode, list[Triple]]:
        by_chunk = {extraction.chunk: extraction for extraction in seen.extractions}
        graphs = {seen.document.iri: document_triples(seen.document, seen.chunks, by_chunk, projection)}
        for extraction in seen.extractions:
            graphs[extraction.chunk] = projection.triples(extraction)
        if seen.table is not None:
            graphs[seen.table.graph] = seen.table.projected(projection)
        return graphs

    def _accepted(self, graphs: Mapping[NamedNode, Iterable[Triple]]) -> tuple[Triple, ...]:
        """The statements in the evidence graphs among these, each once."""
        return tuple(dict.fromkeys(t for g, ts in graphs.items() if self._dataset.is_evidence(g) for t in ts))

    def _projected(self, record: DocumentRecord, projection: Projection) -> dict[NamedNode, list[Triple]]:
        document = record.document
        table = self._tables.again(document) if record.graph else None
        chunks, extractions = self._registry.chunks(document.iri), self._registry.extractions(document.iri)
        return self._graphs(ReadDocument(document, tuple(chunks), tuple(extractions), table), projection)

    def reproject(self, before: Linking, after: Linking, whole: Linking | None = None) -> int:
        """Projects the chunks anew whose mentions stand for other entities than before, or for renamed ones.

        Where ``before`` and ``after`` are only what changed of the maps, ``whole`` is all of the new one.
        Returns the number of documents touched.
        """
        last, now = self._registry.linking(), whole or after
        changed, parts = changed_names(before, after), changed_parts(before, after)
        if whole is not None and (doubtful := disputed(before, after)):
            names, single = self._registry.naming(doubtful)
            changed, parts = changed | names, parts | single
        old, new = Projection(self._base, last if whole else before), Projection(self._base, now)
        touched = 0
        for iri in sorted({*self._registry.documents_naming(changed), *self._documents(parts)}, key=lambda i: i.value):
            record = self._registry.document(iri)
            touched += record.state is State.PROCESSED and self._reproject_document(record, old, new)
        return touched

    def _documents(self, parts: Iterable[str]) -> Iterator[NamedNode]:
        """The documents that are called so, or whose table graph is, as far as they are still there."""
        tables: Mapping[str, NamedNode] | None = None
        for part in parts:
            iri = NamedNode(part)
            if self._registry.state(iri) is not None:
                yield iri
                continue
            tables = self._registry.table_graphs() if tables is None else tables
            if part in tables:
                yield tables[part]

    def _reproject_document(self, record: DocumentRecord, old: Projection, new: Projection) -> bool:
        extractions = tuple(self._registry.extractions(record.document.iri))
        if all(is_same(extraction, old, new) for extraction in extractions):
            return False
        self._project(record, extractions, new)
        return True

    def _project(self, record: DocumentRecord, extractions: tuple[Extraction, ...], projection: Projection) -> None:
        document = record.document
        table = self._tables.again(document) if record.graph else None
        seen = ReadDocument(document, tuple(self._registry.chunks(document.iri)), extractions, table)
        graphs = self._graphs(seen, projection)
        self._dataset.commit(Change(dropped=tuple(graphs), added=graphs))
        self._registry.recount(document.iri, len(self._accepted(graphs)))
        if table is not None and document.iri not in self._registry.large_tables():
            self._registry.set_rows(document.iri, table.rows)

    def bring_in_line(self, linking: Linking) -> int:
        """Projects anew the documents whose graphs are not what was read in them; returns how many."""
        projection = Projection(self._base, linking)
        touched = 0
        for record in self._registry.each(State.PROCESSED):
            extractions = tuple(self._registry.extractions(record.document.iri))
            if not all(self._is_in_line(extraction, record, projection) for extraction in extractions):
                self._project(record, extractions, projection)
                touched += 1
        return touched

    def _is_in_line(self, extraction: Extraction, record: DocumentRecord, projection: Projection) -> bool:
        """Whether the graph holds what the extraction says; of a table, whether it speaks of the same things."""
        held = {item.triple for item in self._dataset.store.quads(graph=extraction.chunk)}
        if record.graph is None:
            return held == set(projection.triples(extraction))
        named = {triple.subject for triple in held} | {triple.object for triple in held}
        return all(projection.entity(mention, extraction.chunk) in named for mention in extraction.mentions)
