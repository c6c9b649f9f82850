"""Large tables: rows in batches to statements in the store, in constant memory, and whole or not at all.

The registry has the document as PROCESSING while the batches come in; its description, written last, says that all
are there. What a crash left of a table without one is taken out again on opening. The rows of an older version go
after the new ones are in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from pyoxigraph import NamedNode

from kgplatform.building.mappings import ChosenMapping
from kgplatform.building.rows import problems_of
from kgplatform.building.tables import run_of
from kgplatform.building.tabular import TableParts, entry_of
from kgplatform.dataset import Change
from kgplatform.documents.table_entries import row_hash
from kgplatform.errors import KgPlatformError
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
_MOST_REFUSED = 1_000
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

    def refuse(self, refusal: Refusal) -> None:
        """Notes what was refused: the first thousand, and how many more."""
        if len(self.refused) < _MOST_REFUSED:
            self.refused.append(refusal)
        else:
            self.more_refused += 1


def load(parts: TableParts, document: Document, source: TableSource, projection: Projection) -> LargeTable:
    """Puts the statements of a large table into the dataset, and enters it as PROCESSING.

    Raises:
        ReadError: no mapping fits, or the source broke in the middle; nothing of it stays.
        StoreError: the disk refuses; nothing of it stays.
    """
    drop(parts, document.iri)
    found = LargeTable(document, parts.graph(document), parts.mappings.choose(document.source, source))
    run = run_of(document.source, source.columns, found.mapping, EntityIndex(parts.ontology, parts.base))
    parts.registry.enter(document, graph=found.graph)
    parts.registry.set_table(document.iri, entry_of(document, found.mapping, is_large=True))
    parts.registry.drop_unfinished(document.source, [document.iri])
    index = _RowIndex()
    try:
        parts.dataset.append(found.graph, _ahead(_texts(run, source, found, index)))
    except KgPlatformError:
        parts.dataset.discard(found.graph)
        raise
    for refusal in problems_of(source):
        found.refuse(refusal)
    hashes, numbers = index.sorted()
    for refusal in _repeated(hashes, numbers):
        found.refuse(refusal)
    parts.registry.set_row_numbers(document.iri, hashes, numbers)
    described = document_triples(document, (), {}, projection)
    parts.dataset.commit(Change(dropped=(document.iri,), added={document.iri: described}))
    return found


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
    run: Run, source: TableSource, found: LargeTable, index: _RowIndex
) -> Iterator[tuple[bytes, Callable[[], bytes]]]:
    """The triples of each batch as N-Triples, with what makes them again without the lines that are none."""
    for rows in source.batches(_BATCH):
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
