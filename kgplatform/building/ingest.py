"""The document stage: read, cut, extract, and commit one document at a time, whole or not at all.

Order of writing: the registry gets the document with all that was read (PROCESSING), the dataset gets its graphs
and its part of the default graph in one transaction, the registry marks it PROCESSED. `recover` settles what a
crash left between the two.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pyoxigraph import NamedNode, Triple

from kgplatform.building.known import entity_index
from kgplatform.building.tables import TableStatements, table_graph, table_statements
from kgplatform.dataset import Change, Committed, EvidenceDataset
from kgplatform.documents.reading import discover, read
from kgplatform.documents.registry import DocumentRecord, Linking, NameKey, Registry, State, name_keys
from kgplatform.documents.table import CSV_TYPE, TSV_TYPE
from kgplatform.errors import KgPlatformError, ModelUnavailableError, ReadError
from kgplatform.linking.projection import Projection, document_triples
from kgplatform.ontology import Ontology
from kgplatform.protocols import Chunker, Extractor
from kgplatform.types import Chunk, Document, Extraction, Refusal
from kgplatform.vocab import document_iri

_TABLE_SUFFIXES = (".csv", ".tsv")
_TABLE_TYPES = (CSV_TYPE, TSV_TYPE)

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with the number of the item in hand (from 1), how many there are, and its name."""


@dataclass(frozen=True, slots=True)
class Added:
    """What became of one document: ``added``, ``replaced``, ``unchanged`` or ``failed`` (then ``error`` says why)."""

    document: Document
    outcome: str
    accepted: tuple[Triple, ...] = ()
    rejected: tuple[Refusal, ...] = ()
    error: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Read:
    """A document with all that was read in it, ready to be committed."""

    document: Document
    chunks: tuple[Chunk, ...] = ()
    extractions: tuple[Extraction, ...] = ()
    table: TableStatements | None = None

    @property
    def refused(self) -> tuple[Refusal, ...]:
        if self.table is not None:
            return self.table.refused
        return tuple(refusal for extraction in self.extractions for refusal in extraction.refused)


class Ingest:
    """Adds documents to a workspace and takes them out again."""

    def __init__(
        self,
        *,
        base: str,
        registry: Registry,
        dataset: EvidenceDataset,
        ontology: Ontology,
        chunker: Chunker,
        extractor_for: Callable[[Document], Extractor],
        max_bytes: int,
        workers: int = 4,
    ) -> None:
        self._base = base
        self._registry = registry
        self._dataset = dataset
        self._ontology = ontology
        self._chunker = chunker
        self._extractor_for = extractor_for
        self._max_bytes = max_bytes
        self._workers = workers
        self._model_away: ModelUnavailableError | None = None

    def add(self, paths: Sequence[Path], linking: Linking, *, progress: Progress | None = None) -> Iterator[Added]:
        """Adds the files and folders; yields what became of each document, failures included, and goes on.

        Tables come first, so that the names in them are known when texts are read.

        Raises:
            ReadError: a path is missing, or nothing under the paths can be read.
        """
        found = discover(paths)
        projection = Projection(self._base, linking)
        self._model_away = None
        for skipped in found.skipped:
            if skipped.path in paths:
                yield self._failed(_unread(self._base, skipped.path), skipped.reason)
        files = sorted(found.files, key=lambda path: path.suffix.lower() not in _TABLE_SUFFIXES)
        self._announce(files)
        for number, path in enumerate(files, start=1):
            if progress is not None:
                progress(number, len(files), path.name)
            yield from self._add_file(path, projection)

    def _announce(self, files: Iterable[Path]) -> None:
        """Enters the files not seen before as PENDING, so that an interrupted run can be taken up again."""
        known = {record.document.source for record in self._registry.documents()}
        for path in files:
            if path.as_posix() not in known:
                self._registry.announce(_unread(self._base, path))

    def _add_file(self, path: Path, projection: Projection) -> Iterator[Added]:
        source = path.as_posix()
        try:
            digest = _digest(path, self._max_bytes)
            known = self._known(source, digest)
            if known:
                self._registry.drop_unfinished(source, keep=[document.iri for document in known])
                yield from (Added(document, "unchanged") for document in known)
                return
            documents = read(path, base=self._base, max_bytes=self._max_bytes)
        except ReadError as error:
            yield self._failed(_unread(self._base, path), error.reason)
            return
        for document in documents:  # all of them, so that a crash between two leaves the second to be read
            self._registry.announce(document)
        keep = [document.iri for document in documents]
        self._registry.drop_unfinished(source, keep)
        stale = self._registry.drop_source(source, keep)
        for document in documents:
            yield self._add_document(document, projection, replaced=tuple(stale))
            stale = []

    def _known(self, source: str, digest: str) -> list[Document]:
        """The documents of a file whose content was processed before, wherever it lay."""
        records = self._registry.with_hash(digest)
        if not records or any(record.state is not State.PROCESSED for record in records):
            return []
        stale = self._registry.drop_source(source, keep=[record.document.iri for record in records])
        for iri in stale:
            self.remove(iri)
        for record in records:
            self._registry.add_source(source, record.document.iri)
        return [record.document for record in records]

    def _add_document(self, document: Document, projection: Projection, replaced: tuple[NamedNode, ...]) -> Added:
        started = time.monotonic()
        try:
            seen = self._read(document)
            graphs = self._graphs(seen, projection)
            table = seen.table
            dropped = [graph for iri in (document.iri, *replaced) for graph in self._graphs_of(iri)]
            self._registry.enter(
                document,
                seen.chunks,
                seen.extractions,
                rows=table.rows if table else (),
                graph=table.graph if table else None,
            )
            self._dataset.commit(Change(dropped=(*dropped, *graphs), added=graphs))
        except KgPlatformError as error:
            return self._failed(document, error.reason if isinstance(error, ReadError) else str(error))
        accepted = self._accepted(graphs)
        seconds = time.monotonic() - started
        self._registry.finish(
            document, statements=len(accepted), refused=len(seen.refused), seconds=seconds, replaced=replaced
        )
        outcome = "replaced" if replaced else "added"
        return Added(document, outcome, accepted, seen.refused, seconds=seconds)

    def _failed(self, document: Document, reason: str) -> Added:
        self._registry.fail(document, reason)
        return Added(document, "failed", error=reason)

    def _read(self, document: Document) -> _Read:
        if document.media_type in _TABLE_TYPES:
            table = self._table(document)
            whole = Chunk(table.graph, document.iri, 0, 0, len(document.text), document.text)
            return _Read(document, (whole,), (table.extraction,), table)
        chunks = tuple(self._chunker(document))
        return _Read(document, chunks, tuple(self._extracted(chunks, document)))

    def _table(self, document: Document) -> TableStatements:
        """The statements of a table, which may refer to rows of the tables before it."""
        taken = self._registry.table_graphs()
        graph = table_graph(document, self._base, taken)
        index = entity_index(self._dataset, self._registry, self._ontology, apart=graph)
        return table_statements(document, self._ontology, index, graph)

    def _extracted(self, chunks: Sequence[Chunk], document: Document) -> list[Extraction]:
        if self._model_away is not None:
            raise self._model_away
        try:
            extractor = self._extractor_for(document)
            if extractor.method != "model" or len(chunks) < 2:
                return [extractor.extract(chunk, document) for chunk in chunks]
            with ThreadPoolExecutor(self._workers) as pool:
                return list(pool.map(lambda chunk: extractor.extract(chunk, document), chunks))
        except ModelUnavailableError as error:
            self._model_away = error  # the rest of this run fails at once instead of waiting for each document
            raise

    def _graphs(self, seen: _Read, projection: Projection) -> dict[NamedNode, list[Triple]]:
        by_chunk = {extraction.chunk: extraction for extraction in seen.extractions}
        graphs = {seen.document.iri: document_triples(seen.document, seen.chunks, by_chunk, projection)}
        for extraction in seen.extractions:
            graphs[extraction.chunk] = projection.triples(extraction)
        if seen.table is not None:
            graphs[seen.table.graph] = seen.table.projected(projection)
        return graphs

    def _accepted(self, graphs: Mapping[NamedNode, list[Triple]]) -> tuple[Triple, ...]:
        """The statements in the evidence graphs among these, each once."""
        return tuple(dict.fromkeys(t for g, ts in graphs.items() if self._dataset.is_evidence(g) for t in ts))

    def _graphs_of(self, iri: NamedNode) -> list[NamedNode]:
        """The graphs that an earlier commit of the document made."""
        chunks = [chunk.iri for chunk in self._registry.chunks(iri)] if self._registry.state(iri) else []
        table = self._registry.document(iri).graph if self._registry.state(iri) else None
        return list(dict.fromkeys([iri, *chunks, *([table] if table else [])]))

    def remove(self, iri: NamedNode) -> Committed:
        """Takes a document out: its graphs, its part of the default graph, and all that was read in it.

        Raises:
            NotFoundError: no document has that IRI.
        """
        self._registry.mark(self._registry.document(iri).document.iri, State.PROCESSING)
        committed = self._dataset.commit(Change(dropped=tuple(self._graphs_of(iri))))
        self._registry.remove(iri)
        return committed

    def recover(self) -> None:
        """Settles documents that a crash left PROCESSING: done if the dataset has them, else pending again."""
        for record in self._registry.documents(State.PROCESSING):
            iri = record.document.iri
            if next(iter(self._dataset.store.quads(graph=iri)), None) is None:
                self._registry.mark(iri, State.PENDING)
                continue
            graphs = [graph for graph in self._graphs_of(iri) if self._dataset.is_evidence(graph)]
            held = {quad.triple for graph in graphs for quad in self._dataset.store.quads(graph=graph)}
            stale = self._registry.drop_source(record.document.source, keep=self._same_file(record.document.sha256))
            refused = sum(len(extraction.refused) for extraction in self._registry.extractions(iri))
            self._registry.finish(
                record.document, statements=len(held), refused=refused, seconds=record.seconds, replaced=stale
            )

    def _same_file(self, sha256: str) -> list[NamedNode]:
        return [record.document.iri for record in self._registry.with_hash(sha256)]

    def reproject(self, before: Linking, after: Linking) -> int:
        """Projects the chunks anew whose mentions stand for other entities than before, or for renamed ones.

        Returns the number of documents touched.
        """
        changed = _changed(before, after)
        if not changed:
            return 0
        old, new = Projection(self._base, before), Projection(self._base, after)
        touched = 0
        for record in self._registry.documents(State.PROCESSED):
            touched += self._reproject_document(record, old, new, changed)
        return touched

    def _reproject_document(
        self, record: DocumentRecord, old: Projection, new: Projection, changed: frozenset[NameKey]
    ) -> bool:
        document = record.document
        extractions = tuple(self._registry.extractions(document.iri))
        if not any(key in changed for extraction in extractions for key in name_keys(extraction)):
            return False
        if all(_same(extraction, old, new) for extraction in extractions):
            return False
        table = self._table(document) if record.graph else None
        seen = _Read(document, tuple(self._registry.chunks(document.iri)), extractions, table)
        graphs = self._graphs(seen, new)
        self._dataset.commit(Change(dropped=tuple(graphs), added=graphs))
        self._registry.recount(document.iri, len(self._accepted(graphs)))
        return True


def _same(extraction: Extraction, old: Projection, new: Projection) -> bool:
    """Whether an extraction reads the same through both maps."""
    return old.triples(extraction) == new.triples(extraction) and all(
        old.entity(mention) == new.entity(mention) for mention in extraction.mentions
    )


def _changed(before: Linking, after: Linking) -> frozenset[NameKey]:
    """The names that are linked otherwise now, or whose entity is called or classed otherwise."""
    keys = before.names.keys() | after.names.keys()

    def seen(linking: Linking, key: NameKey) -> object:
        link = linking.names.get(key)
        return (link.entity, linking.entities.get(link.entity)) if link else None

    return frozenset(key for key in keys if seen(before, key) != seen(after, key))


def _digest(path: Path, max_bytes: int) -> str:
    """The SHA-256 of a file that is worth reading; larger ones are left to the reader to refuse."""
    try:
        if path.stat().st_size > max_bytes:
            return ""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error


def _unread(base: str, path: Path) -> Document:
    """An entry for a file that was not read (yet), known by its path."""
    digest = hashlib.sha256(path.as_posix().encode("utf-8", "surrogateescape")).hexdigest()
    return Document(
        iri=document_iri(base, digest),
        text="",
        title=path.name,
        media_type="application/octet-stream",
        source=path.as_posix(),
        sha256=digest,
        language="en",
    )
