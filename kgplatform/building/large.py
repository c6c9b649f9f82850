"""Large tables: rows in batches to statements in the store, in constant memory, and whole or not at all.

The registry has the document as PROCESSING while the batches come in; its description, written last, says that all
are there. What a crash left of a table without one is taken out again on opening.

A newer version of a large table is compared with the older one, and takes over its graph: what came and what went is
committed in one transaction, together with the description of the new document. Where that is too much to be held, the
rows of the older version go after the new ones are in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from pyoxigraph import NamedNode

from kgplatform.building.differences import Difference
from kgplatform.building.mappings import ChosenMapping
from kgplatform.building.rows import problems_of
from kgplatform.building.tables import run_of
from kgplatform.building.tabular import RowChanges, TableParts, entry_of
from kgplatform.dataset import Change
from kgplatform.documents.registry import DocumentRecord, State
from kgplatform.documents.table_entries import row_hash
from kgplatform.errors import KgPlatformError, StoreError
from kgplatform.extraction.entities import EntityIndex
from kgplatform.linking.projection import document_triples
from kgplatform.types import Document, Refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kgplatform.documents.tabular.source import TableSource
    from kgplatform.linking.projection import Projection
    from kgplatform.mapping.running import Batch, Run

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
    """Whether the document is a large table whose statements are in the dataset."""
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
    difference, index = Difference(parts.dataset.store, older.graph), _RowIndex()
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


def _run(parts: TableParts, document: Document, source: TableSource, found: LargeTable) -> Run:
    return run_of(document.source, source.columns, found.mapping, EntityIndex(parts.ontology, parts.base))


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
    run: Run, source: TableSource, found: LargeTable, index: _RowIndex, *, size: int = 0
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
