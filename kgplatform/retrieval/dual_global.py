"""The global way of dual-level retrieval: relations by high-level keywords, and their passages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kgplatform.retrieval.dual_options import DualOptions
from kgplatform.retrieval.entity_graph import EntityGraph

_DEGREE, _WEIGHT = 0.1, 0.1
_RANKS: Final = 60


@dataclass(frozen=True, slots=True)
class GlobalTrace:
    """Relations by their places, best first, each with its score; and the passages that they lead to."""

    relations: tuple[int, ...] = ()
    scores: tuple[float, ...] = ()
    passages: tuple[tuple[str, float], ...] = ()


def by_relations(keywords: Sequence[str], graph: EntityGraph, options: DualOptions) -> GlobalTrace:
    """What the high-level keywords lead to; nothing without keywords.

    A relation scores relevance * (1 + 0.1 degree + 0.1 weight), the latter two as logarithms by the greatest found.
    """
    if not keywords or not graph.knowledge.relations:
        return GlobalTrace()
    near = graph.relation_near(", ".join(keywords), options.relations, least=options.relation)
    if not near:
        return GlobalTrace()
    relations = graph.knowledge.relations
    most_rank = max(math.log1p(graph.rank(item.place)) for item in near)
    most_weight = max(math.log1p(relations[item.place].weight) for item in near) or 1.0
    scored = {
        item.place: item.similarity
        * (
            1
            + _DEGREE * math.log1p(graph.rank(item.place)) / most_rank
            + _WEIGHT * math.log1p(relations[item.place].weight) / most_weight
        )
        for item in near
    }
    if options.compatible:
        order = sorted(scored, key=lambda n: (-graph.rank(n), -relations[n].weight))
    else:
        order = sorted(scored, key=lambda n: (-scored[n], n))
    first: dict[str, float] = {}
    for place, number in enumerate(order, start=1):
        for passage in relations[number].passages:
            first.setdefault(passage, 1 / (_RANKS + place))
    return GlobalTrace(tuple(order), tuple(scored[n] for n in order), tuple(first.items()))
