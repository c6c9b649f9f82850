"""The subgraph that ties some things of a graph together, by short paths.

`tied` walks breadth-first from all targets at once and joins the regions where they meet, shortest joins first
(Mehlhorn, A faster approximation algorithm for the Steiner problem in graphs, 1988, on edges of length one): one walk
over the graph, and no path longer than asked for. `between_all` is what the academic framework's public code does:
a shortest path for every ordered pair, of any length.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgplatform.retrieval.entity_graph import EntityGraph


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Things and relations by their places, in the order in which they were found; targets come first."""

    things: tuple[int, ...]
    relations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Reached:
    """How the walk came to a thing: from which target, in how many steps, by which relation."""

    target: int
    steps: int
    by: int | None


def tied(graph: EntityGraph, targets: Sequence[int], *, longest: int = 4) -> Subgraph:
    """The targets and the paths of at most ``longest`` relations that tie them; a target without a path stays alone."""
    reached, joins = _regions(graph, targets, longest)
    group = {target: target for target in targets}

    def root(target: int) -> int:
        while group[target] != target:
            group[target] = group[group[target]]
            target = group[target]
        return target

    things, relations = dict.fromkeys(targets), dict[int, None]()
    for length, relation in sorted(joins):
        one, other = graph.ends[relation]
        first, second = root(reached[one].target), root(reached[other].target)
        if length > longest or first == second:
            continue
        group[first] = second
        relations[relation] = None
        for end in (one, other):
            for thing, by in _back(graph, reached, end):
                things[thing] = None
                if by is not None:
                    relations[by] = None
    return Subgraph(tuple(things), tuple(relations))


def _regions(
    graph: EntityGraph, targets: Sequence[int], longest: int
) -> tuple[dict[int, _Reached], list[tuple[int, int]]]:
    """What is reached from which target, and the relations where two regions meet with the length of their path.

    A path of n relations is met from both sides after at most n / 2 steps, so no side walks further.
    """
    reached = {target: _Reached(target, 0, None) for target in targets}
    joins: list[tuple[int, int]] = []
    waiting = deque(reached)
    while waiting:
        thing = waiting.popleft()
        here = reached[thing]
        for relation in graph.around[thing]:
            other = graph.other(relation, thing)
            there = reached.get(other)
            if there is None:
                if 2 * (here.steps + 1) <= longest:
                    reached[other] = _Reached(here.target, here.steps + 1, relation)
                    waiting.append(other)
            elif there.target != here.target:
                joins.append((here.steps + there.steps + 1, relation))
    return reached, joins


def _back(graph: EntityGraph, reached: dict[int, _Reached], thing: int) -> Iterator[tuple[int, int | None]]:
    """The way from a thing back to its target."""
    while True:
        by = reached[thing].by
        yield thing, by
        if by is None:
            return
        thing = graph.other(by, thing)


def between_all(graph: EntityGraph, targets: Sequence[int]) -> Subgraph:
    """The targets and a shortest path for every pair of them, whatever its length."""
    things, relations = dict.fromkeys(targets), dict[int, None]()
    for target in targets:
        ways = _ways(graph, target)
        for other in targets:
            thing = other
            while other in ways and (by := ways[thing]) is not None:
                things[thing] = None
                relations[by] = None
                thing = graph.other(by, thing)
    return Subgraph(tuple(things), tuple(relations))


def _ways(graph: EntityGraph, start: int) -> dict[int, int | None]:
    """By which relation each thing is reached on a shortest path from the start."""
    ways: dict[int, int | None] = {start: None}
    waiting = deque((start,))
    while waiting:
        thing = waiting.popleft()
        for relation in graph.around[thing]:
            other = graph.other(relation, thing)
            if other not in ways:
                ways[other] = relation
                waiting.append(other)
    return ways
