"""Large tables: rows in batches to statements in the store, in constant memory, and whole or not at all.

The registry has the document as PROCESSING while the batches come in; its description, written last, says that all
are there. What a crash left of a table without one is taken out again on opening.

A newer version of a large table is compared with the older one, and takes over its graph: what came and what went is
committed in one transaction, together with the description of the new document. Where that is too much to be held, the
rows of the older version go after the new ones are in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from pyoxigraph import BlankNode, NamedNode, Triple

from kgplatform.documents.records import DocumentRecord, State, row_hash
from kgplatform.errors import KgPlatformError, StoreError
from kgplatform.extraction.table_draft import EntityIndex
from kgplatform.linking.projection import document_triples
from kgplatform.store.dataset import Change
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store
from kgplatform.types import Document, Refusal
from kgplatform.workspace.table_stage import (
    STYLED_ROWS,
    ChosenMapping,
    RowChanges,
    TableParts,
    entry_of,
    problems_of,
    run_of,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kgplatform.documents.tables.cells import TableSource
    from kgplatform.linking.projection import Projection
    from kgplatform.mapping.execution import Batch, TableRun


MOST_CHANGED = 250_000
"""So many statements may come and go in one transaction; it is held in memory, about 1 kB for each."""

_PART = 100_000
_BITS = (1 << 64) - 1


class TableDifference:
    """The statements that a graph lacks, and after `finish` those that it has too many.

    Statements that are new are found by asking the store, those that are gone by a hash of each that stayed: 64 bits,
    which among a hundred million statements leave a chance of one in two thousand that a single one of a thousand
    that are gone is taken for one that stayed.
    """

    def __init__(self, store: Store, graph: NamedNode) -> None:
        self._store = store
        self._graph = graph
        self._stayed: list[NDArray[np.uint64]] = []
        self._subjects: list[NDArray[np.uint64]] = []
        self._has_blank = False
        self._count = 0
        self.added: dict[Triple, None] = {}
        self.removed: list[Triple] = []

    @property
    def fits(self) -> bool:
        """True if all of it is held, so that it can be committed; blank nodes cannot be compared."""
        return self._count <= MOST_CHANGED and not self._has_blank

    def take(self, text: bytes) -> None:
        """Compares the statements of a batch, given as N-Triples.

        Raises:
            StoreError: the text does not parse.
        """
        scratch = Store.open()  # brings literals into the form that a store gives back
        scratch.add_triples(text, DEFAULT_GRAPH)
        stayed, missing = [], []
        for item in scratch.quads():
            triple = item.triple
            if self._store.has(triple, self._graph):
                stayed.append(triple)
            else:
                missing.append(triple)
        self._stayed.append(_hashes(stayed))
        self._note(missing)
        if self.fits:
            self.added.update(dict.fromkeys(missing))
        else:
            self.added.clear()

    def finish(self) -> None:
        """Compares what the graph holds with what was taken."""
        import numpy as np

        stayed = np.concatenate([*self._stayed, np.empty(0, np.uint64)])
        self._stayed.clear()
        stayed.sort()
        held = (item.triple for item in self._store.quads(graph=self._graph))
        while part := list(islice(held, _PART)):
            found = _among(_hashes(part), stayed)
            gone = [part[place] for place in np.flatnonzero(~found).tolist()]
            self._note(gone)
            if self.fits:
                self.removed += gone
            else:
                self.removed.clear()

    def rows(self, before: NDArray[np.uint64], after: NDArray[np.uint64]) -> RowChanges:
        """How many of the things that rows describe, given by their hashes, it concerns."""
        import numpy as np

        after = np.unique(after)
        both = np.intersect1d(before, after, assume_unique=True)
        touched = np.unique(np.concatenate([*self._subjects, np.empty(0, np.uint64)]))
        changed = int(_among(touched, both).sum())
        return RowChanges(len(after) - len(both), len(before) - len(both), changed, len(both) - changed)

    def _note(self, triples: list[Triple]) -> None:
        self._count += len(triples)
        self._has_blank |= any(isinstance(node, BlankNode) for t in triples for node in (t.subject, t.object))
        self._subjects.append(_subject_hashes(triples))


def _hashes(triples: list[Triple]) -> NDArray[np.uint64]:
    import numpy as np

    return np.fromiter((hash(triple) & _BITS for triple in triples), np.uint64, len(triples))


def _subject_hashes(triples: Iterable[Triple]) -> NDArray[np.uint64]:
    import numpy as np

    subjects = list(_named(triples))
    return np.fromiter((row_hash(subject.value) for subject in subjects), np.uint64, len(subjects))


def _named(triples: Iterable[Triple]) -> Iterator[NamedNode]:
    yield from dict.fromkeys(triple.subject for triple in triples if isinstance(triple.subject, NamedNode))


def _among(wanted: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the hashes are among the known, which are in order."""
    import numpy as np

    if not len(known):
        return np.zeros(len(wanted), dtype=np.bool_)
    places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    found: NDArray[np.bool_] = known[places] == wanted
    return found


_Item = TypeVar("_Item")
_BATCH = 40_000
_COMPARED = 10_000
_MOST_REFUSED = 1_000
LEFT_OUT = "a large table: its names are not linked, and other tables do not look up its entities; see docs/tables.md"
"""What is not done with large tables, for those who add one."""
_MOST_REPEATED = 50


@dataclass(slots=True)
class LargeTable:
    """A large table on its way into the store: what was counted and refused so far."""

    document: Document
    graph: NamedNode
    mapping: ChosenMapping
    rows: int = 0
    statements: int = 0
    refused: list[Refusal] = field(default_factory=list)
    more_refused: int = 0
    rows_changed: RowChanges | None = None

    def refuse(self, refusal: Refusal) -> None:
        """Notes what was refused: the first thousand, and how many more."""
        if len(self.refused) < _MOST_REFUSED:
            self.refused.append(refusal)
        else:
            self.more_refused += 1


def load(
    parts: TableParts, document: Document, source: TableSource, projection: Projection, stale: Sequence[NamedNode] = ()
) -> LargeTable:
    """Puts the statements of a large table into the dataset, and enters it as PROCESSING.

    ``stale`` are the documents that it replaces; where one is a large table too, only what differs is written.

    Raises:
        ReadError: no mapping fits, or the source broke in the middle; nothing of it stays.
        StoreError: the disk refuses; nothing of it stays.
    """
    older = _older(parts, [document.iri, *stale])
    if older is None:
        return _filled(parts, document, source, projection)
    found, is_in = _renewed(parts, document, older, source, projection)
    if not is_in:
        found = replace(_filled(parts, document, source, projection), rows_changed=found.rows_changed)
    return found


def is_whole(parts: TableParts, iri: NamedNode) -> bool:
    """True if the document is a large table whose statements are in the dataset."""
    return _older(parts, [iri]) is not None


def _older(parts: TableParts, iris: Sequence[NamedNode]) -> DocumentRecord | None:
    """The first of the documents that is a large table, and whole."""
    for iri in iris:
        entry = parts.registry.table(iri)
        if entry is not None and entry.is_large and parts.registry.state(iri) is State.PROCESSED:
            record = parts.registry.document(iri)
            if record.graph is not None:
                return record
    return None


def _filled(parts: TableParts, document: Document, source: TableSource, projection: Projection) -> LargeTable:
    """Loads the table into a graph of its own."""
    drop(parts, document.iri)
    found = LargeTable(document, parts.graph(document), parts.mappings.choose(document.source, source))
    run = _run(parts, document, source, found)
    parts.registry.enter(document, graph=found.graph)
    parts.registry.set_table(document.iri, entry_of(document, found.mapping, is_large=True))
    parts.registry.drop_unfinished(document.source, [document.iri])
    index = _RowIndex()
    try:
        parts.dataset.append(found.graph, _ahead(_texts(run, source, found, index)))
    except KgPlatformError:
        parts.dataset.discard(found.graph)
        raise
    parts.registry.set_row_numbers(document.iri, *_refusals(found, source, index))
    described = document_triples(document, (), {}, projection)
    parts.dataset.commit(Change(dropped=(document.iri,), added={document.iri: described}))
    return found


def _renewed(
    parts: TableParts, document: Document, older: DocumentRecord, source: TableSource, projection: Projection
) -> tuple[LargeTable, bool]:
    """Brings the graph of the older version in line with the newer, in one transaction.

    False: nothing was written, since it is too much.
    """
    assert older.graph is not None
    old = older.document.iri
    found = LargeTable(document, older.graph, parts.mappings.choose(document.source, source))
    run = _run(parts, document, source, found)
    difference, index = TableDifference(parts.dataset.store, older.graph), _RowIndex()
    for text, mended in _ahead(_texts(run, source, found, index, size=_COMPARED)):
        try:
            difference.take(text)
        except StoreError:
            difference.take(mended())
    difference.finish()
    hashes, numbers = _refusals(found, source, index)
    found.rows_changed = difference.rows(parts.registry.row_hashes(old), hashes)
    if not difference.fits:
        return found, False
    entry = entry_of(document, found.mapping, is_large=True)
    if document.iri != old:
        parts.registry.enter(document)
        parts.registry.set_table(document.iri, entry)
        parts.registry.drop_unfinished(document.source, [document.iri])
    described = document_triples(document, (), {}, projection)
    added = {document.iri: described, older.graph: difference.added}
    dropped = (old, document.iri)
    parts.dataset.commit(Change(dropped=dropped, added=added, removed={older.graph: difference.removed}))
    parts.registry.set_table(document.iri, entry)
    parts.registry.set_row_numbers(document.iri, hashes, numbers)
    settle(parts, document.iri, [old])
    return found, True


def settle(parts: TableParts, iri: NamedNode, stale: Sequence[NamedNode]) -> None:
    """Gives a large table the graph of the older version that it took over, if this is still to be noted."""
    if parts.registry.document(iri).graph is not None:
        return
    older = _older(parts, stale)
    if older is not None:
        parts.registry.take_over(older.document.iri, iri)


def _run(parts: TableParts, document: Document, source: TableSource, found: LargeTable) -> TableRun:
    index = EntityIndex(parts.ontology, parts.base)
    rows = [row.cells for row in next(source.batches(STYLED_ROWS), ())]
    return run_of(document.source, source.columns, found.mapping, index, rows=rows)


def _refusals(
    found: LargeTable, source: TableSource, index: _RowIndex
) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Notes what is to be said once all rows are read; the index of the rows."""
    for refusal in problems_of(source):
        found.refuse(refusal)
    hashes, numbers = index.sorted()
    for refusal in _repeated(hashes, numbers):
        found.refuse(refusal)
    return hashes, numbers


def drop(parts: TableParts, iri: NamedNode) -> None:
    """Takes the statements of a large table out; does nothing to any other document."""
    entry = parts.registry.table(iri)
    if entry is None or not entry.is_large:
        return
    graph = parts.registry.document(iri).graph
    parts.dataset.commit(Change(dropped=(iri,)))
    if graph is not None:
        parts.dataset.discard(graph)


def count(parts: TableParts, iri: NamedNode) -> int:
    """How many statements a large table gave."""
    graph = parts.registry.document(iri).graph
    return sum(1 for _ in parts.dataset.store.quads(graph=graph)) if graph is not None else 0


def _texts(
    run: TableRun, source: TableSource, found: LargeTable, index: _RowIndex, *, size: int = 0
) -> Iterator[tuple[bytes, Callable[[], bytes]]]:
    """The triples of each batch as N-Triples, with what makes them again without the lines that are none."""
    for rows in source.batches(size or _BATCH):
        batch = run.batch(rows)
        text = batch.text()
        for problem in batch.problems:
            found.refuse(problem.refusal)
        index.note(batch)
        found.rows += len(rows)
        found.statements += text.count(b" .\n")
        if text:
            yield text, partial(_mended, batch, found)


def _mended(batch: Batch, found: LargeTable) -> bytes:
    known = len(batch.problems)
    text = batch.checked()
    for problem in batch.problems[known:]:
        found.refuse(problem.refusal)
    return text


def _ahead(items: Iterator[_Item]) -> Iterator[_Item]:
    """The items, each made in a thread while the one before it is worked on: the store's loader leaves a core free."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, items, None)
        while (item := waiting.result()) is not None:
            waiting = pool.submit(next, items, None)
            yield item


class _RowIndex:
    """Which row is about what: a hash of the subject's IRI and the number of the row."""

    def __init__(self) -> None:
        self._hashes: list[NDArray[np.uint64]] = []
        self._numbers: list[NDArray[np.uint32]] = []

    def note(self, batch: Batch) -> None:
        """Takes in the rows of a batch."""
        import numpy as np

        seen = dict.fromkeys(batch.keyed())
        self._hashes.append(np.fromiter((row_hash(iri) for _, iri in seen), np.uint64, len(seen)))
        self._numbers.append(np.fromiter((number for number, _ in seen), np.uint32, len(seen)))

    def sorted(self) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
        """The hashes in order, with the rows."""
        import numpy as np

        if not self._hashes:
            return np.empty(0, np.uint64), np.empty(0, np.uint32)
        hashes, numbers = np.concatenate(self._hashes), np.concatenate(self._numbers)
        order = np.argsort(hashes, kind="stable")
        return hashes[order], numbers[order]


def _repeated(hashes: NDArray[np.uint64], numbers: NDArray[np.uint32]) -> Iterator[Refusal]:
    """What is to be said about keys that several rows have."""
    import numpy as np

    places = np.flatnonzero(hashes[1:] == hashes[:-1])
    for place in places[:_MOST_REPEATED].tolist():
        first, second = sorted((int(numbers[place]), int(numbers[place + 1])))
        reason = f"line {second}: has the key of line {first}; both count as statements about one thing"
        yield Refusal(f"line {second}", reason)
    if len(places) > _MOST_REPEATED:
        yield Refusal("", f"{len(places) - _MOST_REPEATED} more rows have the key of another")
