"""What a newer version of a large table changes: its statements against those of the older one, in little memory.

Statements that are new are found by asking the store, those that are gone by a hash of each that stayed: 64 bits,
which among a hundred million statements leave a chance of one in two thousand that a single one of a thousand that are
gone is taken for one that stayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from pyoxigraph import BlankNode, NamedNode, Triple

from kgplatform.building.tabular import RowChanges
from kgplatform.documents.table_entries import row_hash
from kgplatform.store import DEFAULT_GRAPH, Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_CHANGED = 250_000
"""So many statements may come and go in one transaction; it is held in memory, about 1 kB for each."""

_PART = 100_000
_BITS = (1 << 64) - 1


class Difference:
    """The statements that a graph lacks, and after `finish` those that it has too many."""

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
        """Whether all of it is held, so that it can be committed; blank nodes cannot be compared."""
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
