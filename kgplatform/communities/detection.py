"""Communities of a weighted graph, in levels: Leiden, and within every large community Leiden again.

Source: Traag, Waltman, van Eck, From Louvain to Leiden, 2019; the modularity that it seeks to raise is
H = 1/2m * sum over c of (e_c - gamma * K_c^2 / 2m), gamma the resolution (the travel framework, equation 3). The
implementation is graspologic-native's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

Edges: TypeAlias = Mapping[tuple[str, str], float]

_SEED: Final = 7
_ITERATIONS: Final = 4


@dataclass(frozen=True, slots=True)
class Community:
    """A group: its members in falling degree, the community above it (its place in the partition), and its level.

    ``weight`` is the weight of the ties inside.
    """

    members: tuple[str, ...]
    level: int
    parent: int | None
    weight: float


@dataclass(frozen=True, slots=True)
class Partition:
    """All communities, the coarsest first and larger before smaller, and the modularity of the coarsest level."""

    communities: tuple[Community, ...]
    modularity: float


def detect(
    edges: Edges, *, resolution: float = 1.0, largest: int = 30, before: Mapping[str, int] | None = None
) -> Partition:
    """The communities of the graph; a community of more than ``largest`` members is divided again.

    ``before`` is the coarsest level of an earlier run (a number for each node): what has not changed then tends to
    stay together. The same graph gives the same partition. Nodes without ties are in none.
    """
    from graspologic_native import hierarchical_leiden

    ties = _undirected(edges)
    if not ties:
        return Partition((), 0.0)
    found = hierarchical_leiden(
        edges=[(one, other, weight) for (one, other), weight in ties.items()],
        starting_communities=_starting(ties, before),
        resolution=resolution,
        randomness=0.001,
        iterations=_ITERATIONS,
        use_modularity=True,
        max_cluster_size=largest,
        seed=_SEED,
    )
    groups: dict[int, list[str]] = {}
    levels: dict[int, int] = {}
    parents: dict[int, int | None] = {}
    for item in found:
        groups.setdefault(item.cluster, []).append(item.node)
        levels[item.cluster], parents[item.cluster] = item.level, item.parent_cluster
    return _partition(groups, levels, parents, ties)


def _undirected(edges: Edges) -> dict[tuple[str, str], float]:
    ties: dict[tuple[str, str], float] = {}
    for (one, other), weight in edges.items():
        if one != other and weight > 0:
            key = (one, other) if one < other else (other, one)
            ties[key] = ties.get(key, 0.0) + weight
    return dict(sorted(ties.items()))


def _starting(ties: Edges, before: Mapping[str, int] | None) -> dict[str, int] | None:
    if not before:
        return None
    nodes = dict.fromkeys(node for pair in ties for node in pair)
    fresh = max(before.values()) + 1
    given = {node: before[node] if node in before else fresh + place for place, node in enumerate(nodes)}
    numbers = {number: place for place, number in enumerate(dict.fromkeys(given.values()))}
    return {node: numbers[number] for node, number in given.items()}


def _partition(
    groups: Mapping[int, Sequence[str]],
    levels: Mapping[int, int],
    parents: Mapping[int, int | None],
    ties: Edges,
) -> Partition:
    from graspologic_native import modularity

    degrees = degrees_of(ties)
    order = sorted(groups, key=lambda c: (levels[c], -len(groups[c]), min(groups[c])))
    places = {cluster: place for place, cluster in enumerate(order)}
    homes = {cluster: set(groups[cluster]) for cluster in order}
    inside = dict.fromkeys(order, 0.0)
    member_of: dict[str, list[int]] = {}
    for cluster in order:
        for node in groups[cluster]:
            member_of.setdefault(node, []).append(cluster)
    for (one, other), weight in ties.items():
        for cluster in member_of[one]:
            if other in homes[cluster]:
                inside[cluster] += weight
    communities = tuple(
        Community(
            tuple(sorted(groups[cluster], key=lambda node: (-degrees[node], node))),
            levels[cluster],
            places[above] if (above := parents[cluster]) is not None else None,
            inside[cluster],
        )
        for cluster in order
    )
    coarse = {node: place for place, c in enumerate(communities) if c.level == 0 for node in c.members}
    return Partition(communities, modularity([(a, b, w) for (a, b), w in ties.items()], coarse, 1.0))


def degrees_of(edges: Edges) -> dict[str, float]:
    """The weighted degree of every node; an edge's rank is the sum of those of its two ends."""
    degrees: dict[str, float] = {}
    for pair, weight in edges.items():
        for node in pair:
            degrees[node] = degrees.get(node, 0.0) + weight
    return degrees
