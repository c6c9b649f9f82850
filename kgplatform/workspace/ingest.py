"""The document stage: read, cut, extract, and commit one document at a time, whole or not at all.

Order of writing: the registry gets the document with all that was read (PROCESSING), the dataset gets its graphs
and its part of the default graph in one transaction, the registry marks it PROCESSED. `recover` settles what a
crash left between the two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Final

from pyoxigraph import NamedNode, Triple

from kgplatform.documents.chunking import chunker
from kgplatform.documents.files import Discovery, discover
from kgplatform.documents.progress import ReadingRun
from kgplatform.documents.records import DocumentRecord, Judgement, Linking, NameKey, State
from kgplatform.documents.tables.table_source import open_table
from kgplatform.errors import KgPlatformError, NotFoundError, ReadError
from kgplatform.extraction.given_statements import GivenReader, KnownDocuments, Listed, listed, read_lines, read_quads
from kgplatform.linking.clusters import with_values
from kgplatform.linking.projection import Projection, document_triples
from kgplatform.reasoning.checks import is_quarantined, quarantine_graph
from kgplatform.reasoning.scope import Finding
from kgplatform.reasoning.shape_policy import Policing, Ruling, findings_of, release
from kgplatform.store.dataset import Change, Committed
from kgplatform.store.oxigraph import parse
from kgplatform.types import Chunk, Claim, Document, Extraction, Extractor, Progress, Refusal, Usage
from kgplatform.workspace import large_tables
from kgplatform.workspace.intake import (
    AheadMaker,
    AheadParts,
    Intake,
    Location,
    ReadAhead,
    is_known,
    name_of,
    source_of,
    told_with,
    unread,
    usage_of,
)
from kgplatform.workspace.rdf_files import format_of
from kgplatform.workspace.table_stage import (
    ChosenMapping,
    Keeping,
    RowChanges,
    TableParts,
    TableStatements,
    entry_of,
    mappings,
)
from kgplatform.workspace.workspace import Workspace

_MOST_NAMED: Final = 5
_RECORDS: Final = "records"
ACCEPTED: Final = "accepted by "
"""What a statement is given by that a person accepted; their name follows."""


def is_same(extraction: Extraction, old: Projection, new: Projection) -> bool:
    """True if an extraction reads the same through both maps."""
    return old.triples(extraction) == new.triples(extraction) and all(
        old.entity(mention, extraction.chunk) == new.entity(mention, extraction.chunk)
        for mention in extraction.mentions
    )


def retired(before: Linking, after: Linking) -> dict[NamedNode, NamedNode]:
    """The IRIs that no name stands for any longer, each with the one that its names stand for now."""
    found: dict[NamedNode, NamedNode] = {}
    for key, link in before.names.items():
        now = after.names.get(key)
        if now is not None and now.entity != link.entity and link.entity not in after.entities:
            found.setdefault(link.entity, now.entity)
    return found


def disputed(before: Linking, after: Linking) -> frozenset[NamedNode]:
    """What statements are about that are refused now and were not, or the other way round."""
    return frozenset(iri for t in before.refused ^ after.refused if isinstance(iri := t.subject, NamedNode))


def changed_names(before: Linking, after: Linking) -> frozenset[NameKey]:
    """The names that are linked otherwise now, or whose entity is called or classed otherwise."""
    keys = before.names.keys() | after.names.keys()
    doubtful = disputed(before, after)

    def seen(linking: Linking, key: NameKey) -> object:
        link = linking.names.get(key)
        return (link.entity, linking.entities.get(link.entity)) if link else None

    changed = {key for key in keys if seen(before, key) != seen(after, key)}
    decided = {name for pair in before.apart ^ after.apart for name in (pair.first, pair.second)}
    changed |= {key for key in keys if key[1] in decided} if decided else set()
    return frozenset(changed | {key for key, link in after.names.items() if link.entity in doubtful})


def changed_parts(before: Linking, after: Linking) -> frozenset[str]:
    """The documents, tables by their graphs, in which a name stands for something else than before, only there."""
    doubtful = disputed(before, after)
    moved = {document for (document, _), _ in before.scoped.items() ^ after.scoped.items()}
    return frozenset(moved | {document for (document, _), iri in after.scoped.items() if iri in doubtful})


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


def tables_of(workspace: Workspace, mapping: Keeping | None = None) -> TableParts:
    """What adding tables to the workspace reads and writes; ``mapping``: by what they are read."""
    chosen = mappings(workspace.folder, workspace.ontology, workspace.base, mapping)
    return TableParts(workspace.base, workspace.registry, workspace.dataset, workspace.ontology, chosen)


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

    def reproject(
        self, before: Linking, after: Linking, whole: Linking | None = None, *, progress: Progress | None = None
    ) -> int:
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
        named = sorted({*self._registry.documents_naming(changed), *self._documents(parts)}, key=lambda i: i.value)
        for number, iri in enumerate(named, start=1):
            if progress is not None:
                progress(number, len(named), "link")
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
        """True if the graph holds what the extraction says; of a table, whether it speaks of the same things."""
        held = {item.triple for item in self._dataset.store.quads(graph=extraction.chunk)}
        if record.graph is None:
            return held == set(projection.triples(extraction))
        named = {triple.subject for triple in held} | {triple.object for triple in held}
        return all(projection.entity(mention, extraction.chunk) in named for mention in extraction.mentions)


@dataclass(frozen=True, slots=True)
class Added:
    """What became of one document: ``added``, ``replaced``, ``quarantined``, ``unchanged`` or ``failed``.

    ``error``: why it failed; ``findings``: which shapes it violates; ``usage``: what a model took. Of a table, ``rows``
    tells what a newer version changed, ``mapping`` by what it was read; ``accepted`` is empty where it is large.
    """

    document: Document
    outcome: str
    accepted: tuple[Triple, ...] = ()
    rejected: tuple[Refusal, ...] = ()
    error: str | None = None
    seconds: float = 0.0
    findings: tuple[Finding, ...] = ()
    statements: int = 0
    rows: RowChanges | None = None
    mapping: ChosenMapping | None = None
    problems: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """What was read but not accepted: bad cells and rows with their line, column and reason."""
        return self.rejected


@dataclass(frozen=True, slots=True)
class StatementsGiven:
    """How many statements a file gives now, of how many documents, and in how many of these that changed something."""

    source: str
    statements: int
    documents: int
    changed: int

    @property
    def outcome(self) -> str:
        """``given``, ``removed`` or ``unchanged``."""
        return "unchanged" if not self.changed else "given" if self.statements else "removed"


def statements_in(path: Path, most_bytes: int) -> Listed:
    """The statements in a file of JSON Lines or RDF.

    Raises:
        ReadError: it cannot be read, is too large, or holds none.
        StoreError: it is no RDF; the message names the line.
        ConfigError: its name ends as that of no such file.
    """
    try:
        if path.stat().st_size > most_bytes:
            raise ReadError(f"has more than {most_bytes:,} bytes; see documents.max_bytes", path=path)
        data = path.read_bytes()
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error
    is_lines = path.suffix.lower() in (".jsonl", ".ndjson", ".json")
    found = list(read_lines(data) if is_lines else read_quads(parse(data, format_of(path), source=str(path))))
    if not found:
        raise ReadError(f"holds no statements; `kgplatform documents remove {path}` takes out what it gave", path=path)
    return found


def _with_given(extraction: Extraction, source: str, claims: Iterable[Claim]) -> Extraction:
    """What was read in a chunk, with these statements in the place of those that the file gave before."""
    kept = (claim for claim in extraction.claims if claim.given != source)
    after = tuple(dict.fromkeys((*kept, *claims)))
    return extraction if set(after) == set(extraction.claims) else replace(extraction, claims=after)


def _reader(workspace: Workspace) -> Callable[[Document], Extractor]:
    from kgplatform.extraction.builtin import quietly  # not for a question

    return quietly(workspace.extractor_for(), workspace.settings.documents.noise)


class Ingest(Projecting):
    """Adds documents to a workspace and takes them out again."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        policy: str | None = None,
        mapping: Keeping | None = None,
        ahead: AheadMaker = ReadAhead,
    ) -> None:
        """``policy``: what becomes of documents that violate shapes; ``mapping``: by what tables are read.

        ``ahead`` makes what reads the places of a run, here or elsewhere.

        Raises:
            ConfigError: there is no such policy.
        """
        tables, settings = tables_of(workspace, mapping), workspace.settings
        super().__init__(tables)
        self._workspace = workspace
        self._reader = cache(partial(_reader, workspace))  # not yet: whatever opens a workspace comes by here
        self._intake = Intake(workspace.base, settings.documents, workspace.parsers)
        self._policing = Policing(workspace.dataset, workspace.shapes, policy or settings.checks.policy)
        self._reading = AheadParts(
            workspace.registry,
            tables,
            self._intake,
            chunker(settings.documents.chunker),
            lambda document: self._reader()(document),
            workspace.model is not None,
            settings.model.workers,
            settings.extraction.together if workspace.model is not None else 1,
        )
        self._ahead_of = ahead
        self._ahead = ReadAhead(self._reading, ())
        self._run: ReadingRun | None = None

    def add(self, given: Sequence[Location], *, progress: Progress | None = None) -> Iterator[Added]:
        """Adds files, folders and pages; yields what became of each document, failures included, and goes on.

        Tables come first, so that the names in them are known when texts are read.

        Raises:
            ReadError: a path is missing, or nothing under the paths can be read.
            ConfigError: an address on the web is given, and the settings do not allow it.
        """
        self._reader()
        pages = [location for location in given if isinstance(location, str)]
        paths = [self._tables.mappings.with_columns(place) for place in given if isinstance(place, Path)]
        self._intake.allow(pages)
        apart = [path for path in paths if not path.is_dir() and self._tables.is_apart(path)]
        rest = [path for path in paths if path not in apart]
        found = discover(rest) if rest else Discovery(())
        projection = Projection(self._base, with_values(self._registry.linking(), self._workspace.named_values()))
        for skipped in found.skipped:
            if skipped.path in paths:
                yield self._failed(unread(self._base, skipped.path), skipped.reason)
        tables = [*apart, *(path for path in found.files if self._tables.is_table(path))]
        each = [one for path in tables for one in self._tables.each(path)]
        files = [*self._tables.in_order(each), *(path for path in found.files if path not in tables)]
        places: list[Location] = [*files, *dict.fromkeys(pages)]
        self._announce(places)
        yield from self._add_places(places, projection, progress)

    def _add_places(
        self, places: Sequence[Location], projection: Projection, progress: Progress | None
    ) -> Iterator[Added]:
        self._ahead = self._ahead_of(self._reading, places)
        self._run = self._registry.begin_run(len(places), self._ahead.crew)
        stopped = waits = True
        try:
            for number, place in enumerate(places, start=1):
                if not self._run.goes_on():
                    return
                if progress is not None:
                    progress(number, len(places), told_with(name_of(place), self._ahead.crew()))
                self._ahead.fill(number - 1)
                yield from self._add_place(place, projection)
            stopped = False
        except KeyboardInterrupt:
            waits = False
            raise
        finally:
            self._ahead.close(wait=waits)
            self._run.end(stopped=stopped)

    def _add_place(self, place: Location, projection: Projection) -> Iterator[Added]:
        assert self._run is not None
        self._run.take(source_of(place))
        failed = False
        for added in self._add_page(place, projection) if isinstance(place, str) else self._add_file(place, projection):
            failed = failed or added.outcome == "failed"
            self._workspace.ship()  # who is told of a document may rely on it
            yield added
        self._run.finished(failed=failed)

    def _stage(self, name: str) -> AbstractContextManager[None]:
        return self._run.stage(name) if self._run is not None else nullcontext()

    def _announce(self, places: Sequence[Location]) -> None:
        """Enters the files not seen before as PENDING, so that an interrupted run can be taken up again."""
        for place in places:
            if not self._registry.is_entered(source_of(place)):
                self._registry.announce(unread(self._base, place))
        self._tables.remember(source_of(place) for place in places)

    def _add_page(self, address: str, projection: Projection) -> Iterator[Added]:
        try:
            with self._stage("read"):
                documents = self._ahead.documents(address)
        except ReadError as error:
            yield self._failed(unread(self._base, address), error.reason)
            return
        known = self._known(address, documents[0].sha256)
        yield from self._unchanged(address, known) if known else self._add_read(address, documents, projection)

    def _add_file(self, path: Path, projection: Projection) -> Iterator[Added]:
        source = path.as_posix()
        try:
            is_table = self._tables.is_table(path)
            known = self._known(source, self._tables.digest(path) if is_table else self._intake.digest(path))
            if known:
                self._ahead.drop(path)
                yield from self._unchanged(source, known)
                return
            if is_table and self._tables.is_apart(path):
                self._workspace.parsers.check_table(path)
            if is_table and self._tables.is_large(path):
                yield self._add_large(path, projection)
                return
            is_apart = self._tables.is_apart(path)
            with self._stage("read"):
                documents = [self._tables.document(path)] if is_apart else self._ahead.documents(path)
        except ReadError as error:
            yield self._failed(unread(self._base, path), error.reason)
            return
        yield from self._add_read(source, documents, projection)

    def _unchanged(self, source: str, known: Sequence[Document]) -> Iterator[Added]:
        self._registry.drop_unfinished(source, keep=[document.iri for document in known])
        yield from (Added(document, "unchanged") for document in known)

    def _add_read(self, source: str, documents: Sequence[Document], projection: Projection) -> Iterator[Added]:
        for document in documents:  # all of them, so that a crash between two leaves the second to be read
            self._registry.announce(document)
        keep = [document.iri for document in documents]
        self._registry.drop_unfinished(source, keep)
        stale = self._registry.drop_source(source, keep)
        for place, document in enumerate(documents):
            self._ahead.begin(documents, at=place)
            yield self._add_document(document, projection, replaced=tuple(stale))
            stale = []

    def _known(self, source: str, digest: str) -> list[Document]:
        """The documents of a file whose content was processed before, wherever it lay."""
        records = self._registry.with_hash(digest) if is_known(self._registry, digest) else []
        if not records or any(self._tables.is_remapped(record) for record in records):
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
            old = (*((document.iri,) if self._registry.state(document.iri) is State.PROCESSED else ()), *replaced)
            seen = self._with_accepted(self._read(document), projection)
            with self._stage("link"):
                graphs = self._graphs(seen, projection)
            table = seen.table
            dropped = [graph for iri in (document.iri, *replaced) for graph in self._graphs_of(iri)]
            changes = self._tables.changes(old, table, graphs[table.graph]) if table else None
            with self._stage("check"):
                ruling = self._policing.rule(graphs, dropped)
            with self._stage("load"):
                self._load(seen, Change(dropped=(*dropped, *ruling.graphs), added=ruling.graphs))
        except KgPlatformError as error:
            reason = error.reason if isinstance(error, ReadError) else str(error)
            return self._failed(document, reason, findings_of(error))
        accepted = self._accepted(ruling.graphs)
        seconds = time.monotonic() - started
        self._registry.finish(
            document,
            statements=len(accepted),
            refused=len(seen.refused),
            seconds=seconds,
            replaced=replaced,
            state=ruling.state,
            refusals=seen.refused,
        )
        outcome = "replaced" if old else "added"
        outcome = ruling.state.value if ruling.state is State.QUARANTINED else outcome
        return Added(
            document,
            outcome,
            accepted,
            seen.refused,
            seconds=seconds,
            findings=ruling.findings,
            statements=len(accepted),
            rows=changes,
            mapping=table.mapping if table else None,
            usage=usage_of(seen.extractions),
        )

    def _with_accepted(self, seen: ReadDocument, projection: Projection) -> ReadDocument:
        """What was read, with the candidates as statements that a person accepted when it was read before."""
        reviews = self._registry.reviews(seen.document.iri) if any(x.candidates for x in seen.extractions) else []
        who = {review.statement: review.person for review in reviews if review.judgement is Judgement.ACCEPTED}
        if not who:
            return seen
        extractions: list[Extraction] = []
        for read in seen.extractions:
            triples = {claim: projection.triple(claim, read.chunk) for claim in read.candidates}
            taken = {claim: who[triple] for claim, triple in triples.items() if triple in who}
            claims = (replace(claim, given=f"{ACCEPTED}{person}") for claim, person in taken.items())
            rest = tuple(claim for claim in read.candidates if claim not in taken)
            extractions.append(replace(read, claims=(*read.claims, *claims), candidates=rest))
        return replace(seen, extractions=tuple(extractions))

    def _load(self, seen: ReadDocument, change: Change) -> None:
        """Enters what was read, and then its graphs, so that a crash between the two can be settled."""
        document, table = seen.document, seen.table
        rows, graph = (table.rows, table.graph) if table else ((), None)
        self._registry.enter(document, seen.chunks, seen.extractions, rows=rows, graph=graph)
        if table is not None:
            self._registry.set_table(document.iri, entry_of(document, table.mapping))
        self._dataset.commit(change)

    def _add_large(self, path: Path, projection: Projection) -> Added:
        """Adds a large table in batches; of a newer version, only what differs from the older one is written."""
        started, source = time.monotonic(), open_table(path.as_posix())
        document = self._tables.described(path, source, "")
        is_remapped = self._registry.state(document.iri) is State.PROCESSED
        stale = self._registry.drop_source(document.source, [document.iri])
        try:
            with self._stage("load"):
                found = large_tables.load(self._tables, document, source, projection, stale)
        except KgPlatformError as error:
            reason = error.reason if isinstance(error, ReadError) else str(error)
            is_kept = large_tables.is_whole(self._tables, document.iri)  # as it was read by another mapping
            return Added(document, "failed", error=reason) if is_kept else self._failed(document, reason)
        self._finish_large(document, stale, found.statements, len(found.refused) + found.more_refused, *found.refused)
        if (out_again := self._refused_when_in(document)) is not None:
            return out_again
        return Added(
            document,
            "replaced" if stale or is_remapped else "added",
            rejected=tuple(found.refused),
            seconds=time.monotonic() - started,
            statements=found.statements,
            rows=found.rows_changed,
            mapping=found.mapping,
            problems=(large_tables.LEFT_OUT,),
        )

    def _finish_large(
        self, document: Document, stale: list[NamedNode], statements: int, refused: int, *refusals: Refusal
    ) -> None:
        for iri in stale:
            self._drop(iri)
        self._registry.finish(
            document, statements=statements, refused=refused, seconds=0.0, replaced=stale, refusals=refusals or None
        )

    def _refused_when_in(self, document: Document) -> Added | None:
        """A large table that violates shapes is taken out again, unless the policy is to accept it."""
        try:
            if (graph := self._registry.document(document.iri).graph) is not None:
                self._policing.rule_loaded(graph)
        except KgPlatformError as error:
            self.remove(document.iri)
            return self._failed(document, str(error), findings_of(error))
        return None

    def _drop(self, iri: NamedNode) -> Committed:
        """Takes the graphs of a document out, and its part of the default graph."""
        large_tables.drop(self._tables, iri)
        return self._dataset.commit(Change(dropped=tuple(self._graphs_of(iri))))

    def _failed(self, document: Document, reason: str, findings: tuple[Finding, ...] = ()) -> Added:
        self._registry.fail(document, reason)
        self._registry.note_failure(document.iri, self._run.latest if self._run is not None else "")
        return Added(document, "failed", error=reason, findings=findings)

    def _read(self, document: Document) -> ReadDocument:
        if self._tables.holds(document):
            with self._stage("extract"):
                table = self._tables.read(document)
            whole = Chunk(table.graph, document.iri, 0, 0, len(document.text), document.text)
            return ReadDocument(document, (whole,), (table.extraction,), table)
        with self._stage("split"):
            chunks = self._ahead.chunks(document)
        with self._stage("extract"):
            return ReadDocument(document, chunks, tuple(self._ahead.extractions(chunks, document)))

    def _graphs_of(self, iri: NamedNode) -> list[NamedNode]:
        """The graphs that an earlier commit of the document made."""
        chunks = [chunk.iri for chunk in self._registry.chunks(iri)] if self._registry.state(iri) else []
        table = self._registry.document(iri).graph if self._registry.state(iri) else None
        evidence = [*chunks, *([table] if table else [])]
        return list(dict.fromkeys([iri, *evidence, *(quarantine_graph(self._dataset, graph) for graph in evidence)]))

    def remove(self, iri: NamedNode) -> Committed:
        """Takes a document out: its graphs, its part of the default graph, and all that was read in it.

        Raises:
            NotFoundError: no document has that IRI.
        """
        self._registry.mark(self._registry.document(iri).document.iri, State.PROCESSING)
        committed = self._drop(iri)
        self._registry.remove(iri)
        return committed

    def give_from(self, given: Path | str | Iterable[Mapping[str, object]], source: str = "") -> StatementsGiven:
        """Reads a file, or records, and gives what they state; raises as `statements_in` and `give`."""
        if isinstance(given, Path | str):
            path = Path(given)
            return self.give(source or path.as_posix(), statements_in(path, self._intake.settings.max_bytes))
        return self.give(source or _RECORDS, listed(given))

    def take_back(self, name: str) -> StatementsGiven:
        """Takes out what the file of that path or name gave.

        Raises:
            NotFoundError: no such file, or several, gave statements.
        """
        known = list(self._registry.givers(name)) if name else []
        if len(known) != 1:
            several = f"several files gave statements: {', '.join(known)}; name one of them" if known else ""
            raise NotFoundError(several or f"no file {name!r} gave statements", name=name)
        return self.give(known[0], ())

    def give(self, source: str, statements: Listed) -> StatementsGiven:
        """Puts the statements that a file gives in the place of those that it gave before; all of them or none.

        Raises:
            ReadError: one of them is none, or its document or passage is not here.
            RefusedError: with them a document violates shapes, and the policy is to refuse such.
        """
        linking = self._registry.linking()
        known = KnownDocuments(
            self._registry.fitting, self._registry.chunks, {name: type_ for type_, name in linking.names}
        )
        reader = GivenReader(self._workspace.ontology, self._base, source, known)
        told, refused = reader.read(statements)
        if refused:
            first = "; ".join(f"{item.text}: {item.reason}" for item in refused[:_MOST_NAMED])
            more = f"; and {len(refused) - _MOST_NAMED} more" if len(refused) > _MOST_NAMED else ""
            raise ReadError(f"{first}{more}; no statement was added", path=Path(source))
        projection = Projection(self._base, with_values(linking, self._workspace.named_values()))
        changed: dict[NamedNode, tuple[Extraction, ...]] = {}
        for iri in sorted({*told, *self._registry.given(source)}, key=lambda iri: iri.value):
            before = tuple(self._registry.extractions(iri))
            after = tuple(_with_given(item, source, told.get(iri, {}).get(item.chunk, ())) for item in before)
            if after != before:
                changed[iri] = after
        self._take_given(source, changed, projection)
        count = sum(len(claims) for chunks in told.values() for claims in chunks.values())
        return StatementsGiven(source, count, len(told), len(changed))

    def move_candidate(self, iri: NamedNode, claim: Claim, person: str) -> None:
        """Makes a candidate of a document a statement that the person states, or such a statement a candidate again.

        The passage stays its evidence.

        Raises:
            NotFoundError: the document has no such candidate.
            RefusedError: with it the document violates shapes, and the policy is to refuse such.
        """
        source, changed = f"{ACCEPTED}{person}", list(self._registry.extractions(iri))
        for place, read in enumerate(changed):
            if claim in read.candidates:
                rest = tuple(item for item in read.candidates if item != claim)
                changed[place] = replace(read, candidates=rest, claims=(*read.claims, replace(claim, given=source)))
                break
            if claim in read.claims and claim.given.startswith(ACCEPTED):
                source, rest = claim.given, tuple(item for item in read.claims if item != claim)
                changed[place] = replace(read, claims=rest, candidates=(*read.candidates, replace(claim, given="")))
                break
        else:
            raise NotFoundError("this document has no such candidate", name=iri.value)
        projection = Projection(self._base, with_values(self._registry.linking(), self._workspace.named_values()))
        self._take_given(source, {iri: tuple(changed)}, projection)

    def _take_given(
        self, source: str, changed: Mapping[NamedNode, tuple[Extraction, ...]], projection: Projection
    ) -> None:
        """Writes documents as they are now read: to the registry, then all graphs at once."""
        rulings: dict[NamedNode, Ruling] = {}
        dropped: list[NamedNode] = []
        added: dict[NamedNode, Iterable[Triple]] = {}
        for iri, extractions in changed.items():
            document, old = self._registry.document(iri).document, self._graphs_of(iri)
            seen = ReadDocument(document, tuple(self._registry.chunks(iri)), extractions)
            rulings[iri] = self._policing.rule(self._graphs(seen, projection), old)
            dropped += [*old, *rulings[iri].graphs]
            added.update(rulings[iri].graphs)
        if not rulings:
            return
        self._workspace.sources.forget()
        self._registry.read_anew(source, changed)
        self._dataset.commit(Change(dropped=tuple(dropped), added=added))
        for iri, ruling in rulings.items():
            record, accepted = self._registry.document(iri), self._accepted(ruling.graphs)
            self._registry.finish(
                record.document,
                statements=len(accepted),
                refused=record.refused,
                seconds=record.seconds,
                state=ruling.state,
            )

    def recover(self) -> None:
        """Settles documents that a crash left PROCESSING: done if the dataset has them, else pending again."""
        for record in self._registry.documents(State.PROCESSING):
            iri = record.document.iri
            entry = self._registry.table(iri)
            if next(iter(self._dataset.store.quads(graph=iri)), None) is None:
                large_tables.drop(self._tables, iri)
                self._registry.mark(iri, State.PENDING)
                continue
            if entry is not None and entry.is_large:
                stale = self._registry.drop_source(record.document.source, keep=[iri])
                large_tables.settle(self._tables, iri, stale)
                self._finish_large(record.document, stale, large_tables.count(self._tables, iri), record.refused)
                continue
            graphs = [graph for graph in self._graphs_of(iri) if self._dataset.is_evidence(graph)]
            held = {quad.triple for graph in graphs for quad in self._dataset.store.quads(graph=graph)}
            same = [other.document.iri for other in self._registry.with_hash(record.document.sha256)]
            stale = self._registry.drop_source(record.document.source, keep=same)
            refused = sum(len(extraction.refused) for extraction in self._registry.extractions(iri))
            apart = is_quarantined(self._dataset, graphs)
            if not apart and record.graph is None:
                held = self._mended(record, held)
            self._registry.finish(
                record.document,
                statements=len(held),
                refused=refused,
                seconds=record.seconds,
                replaced=stale,
                state=State.QUARANTINED if apart else State.PROCESSED,
            )

    def _mended(self, record: DocumentRecord, held: set[Triple]) -> set[Triple]:
        """What a document states, whose graphs are made anew if they are not of what was read, as given last."""
        projection = Projection(self._base, with_values(self._registry.linking(), self._workspace.named_values()))
        extractions = tuple(self._registry.extractions(record.document.iri))
        if all(self._is_in_line(extraction, record, projection) for extraction in extractions):
            return held
        self._project(record, extractions, projection)
        return {triple for extraction in extractions for triple in projection.triples(extraction)}

    def release(self, iri: NamedNode) -> int:
        """How many statements a document gives that is taken out of quarantine, with names as they are linked now.

        Raises:
            NotFoundError: no document has that IRI, or it is not in quarantine.
        """
        projection, record = self._workspace.projection, self._registry.document(iri)
        return release(record, lambda record: self._projected(record, projection), self._dataset, self._registry)
