"""The shortest way from one thing to another over the statements of the graph, found from both ends at once.

What is stated is tried first; what only follows from it (a place in a country in a continent) would cut the way short
and tell less. The search looks at so many statements at most, and says when that was not enough.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pyoxigraph import NamedNode, Quad

from kgplatform.dataset import EvidenceDataset
from kgplatform.ontology import Ontology
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.web.neighbours import Surroundings

MOST_HOPS: Final = 8
_MOST_LOOKED: Final = 200_000
_MOST_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class Way:
    """The statements from one thing to the other (none found: empty), and how many were looked at.

    ``gave_up``: the search ended before all ways of that length were tried.
    """

    statements: tuple[Quad, ...]
    looked: int
    gave_up: bool = False


def shortest(
    dataset: EvidenceDataset,
    ontology: Ontology,
    surroundings: Surroundings,
    ends: tuple[NamedNode, NamedNode],
    *,
    hops: int = 6,
    most: int = _MOST_LOOKED,
) -> Way:
    """The shortest way between the ends, of at most so many statements."""
    search = _Search(dataset, ontology, surroundings, most)
    for with_conclusions in (False, True):
        found = search.run(ends, hops, with_conclusions=with_conclusions)
        if found or search.spent:
            break
    return Way(tuple(found), search.looked, gave_up=search.spent and not found)


class _Search:
    def __init__(self, dataset: EvidenceDataset, ontology: Ontology, surroundings: Surroundings, most: int) -> None:
        self._dataset = dataset
        self._terms = ontology.classes.keys() | ontology.properties.keys()
        self._surroundings = surroundings
        self._most = most
        self._until = time.monotonic() + _MOST_SECONDS
        self.looked = 0

    @property
    def spent(self) -> bool:
        return self.looked >= self._most or time.monotonic() > self._until

    def run(self, ends: tuple[NamedNode, NamedNode], hops: int, *, with_conclusions: bool) -> list[Quad]:
        """Widens the smaller of two circles round the ends until they meet."""
        start, goal = ends
        if start == goal:
            return []
        came: tuple[dict[NamedNode, Quad | None], ...] = ({start: None}, {goal: None})
        edges: list[list[NamedNode]] = [[start], [goal]]
        for _ in range(hops):
            side = 0 if len(edges[0]) <= len(edges[1]) else 1
            met = self._widen(edges, came, side, with_conclusions=with_conclusions)
            if met is not None:
                return [*reversed(_back(met, came[0])), *_back(met, came[1])]
            if not edges[side] or self.spent:
                return []
        return []

    def _widen(
        self,
        edges: list[list[NamedNode]],
        came: tuple[dict[NamedNode, Quad | None], ...],
        side: int,
        *,
        with_conclusions: bool,
    ) -> NamedNode | None:
        own, other = came[side], came[1 - side]
        reached: list[NamedNode] = []
        for thing in edges[side]:
            for quad, end in self._steps(thing, with_conclusions=with_conclusions):
                if end not in own:
                    own[end] = quad
                    if end in other:
                        return end
                    reached.append(end)
            if self.spent:
                break
        edges[side] = reached
        return None

    def _steps(self, thing: NamedNode, *, with_conclusions: bool) -> Iterator[tuple[Quad, NamedNode]]:
        store = self._dataset.store
        for outward in (True, False):
            ends = (thing, None) if outward else (None, thing)
            for quad in store.quads(ends[0], None, ends[1], DEFAULT_GRAPH):
                self.looked += 1
                if self.looked >= self._most:
                    return
                end = quad.object if outward else quad.subject
                if not isinstance(end, NamedNode) or end in self._terms or not self._surroundings.ties(quad):
                    continue
                if with_conclusions or self._dataset.is_stated(quad.triple):
                    yield quad, end


def _back(thing: NamedNode, came: dict[NamedNode, Quad | None]) -> list[Quad]:
    """The statements from where the circles met to the end that this one grew from."""
    found = []
    quad = came[thing]
    while quad is not None:
        found.append(quad)
        before = quad.subject if quad.object == thing else quad.object
        assert isinstance(before, NamedNode)
        thing, quad = before, came[before]
    return found
