"""The local way of dual-level retrieval: things, the paths between them, and the passages that these were read in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kgplatform.retrieval.dual_options import DualOptions
from kgplatform.retrieval.entity_graph import EntityGraph
from kgplatform.retrieval.nearness import nearest
from kgplatform.retrieval.subgraphs import Subgraph, between_all, tied
from kgplatform.text import count_tokens

_NONE: Final = Subgraph((), ())


@dataclass(frozen=True, slots=True)
class LocalTrace:
    """The steps of the local way, things and relations by their places in the knowledge.

    ``kept`` relations of ``subgraph`` were relevant enough, ``pruned`` were not; ``things`` are the targets and the
    ends of what was kept; ``context`` is what was kept and the relations around, cut to the tokens allowed.
    """

    targets: tuple[int, ...] = ()
    subgraph: Subgraph = _NONE
    kept: tuple[int, ...] = ()
    pruned: tuple[int, ...] = ()
    things: tuple[int, ...] = ()
    context: tuple[int, ...] = ()
    passages: tuple[tuple[str, float], ...] = ()


def by_paths(question: str, keywords: Sequence[str], graph: EntityGraph, options: DualOptions) -> LocalTrace:
    """What the low-level keywords lead to; nothing without keywords."""
    if not keywords or not graph.knowledge.things:
        return LocalTrace()
    whole = ", ".join(keywords)
    targets = _targets(keywords, graph, options)
    subgraph = _subgraph(graph, targets, options)
    asked = whole if options.compatible else question
    relevance = graph.relation_likeness(asked)
    kept = _kept(subgraph.relations, relevance, options)
    things = tuple(dict.fromkeys((*targets, *(end for number in kept for end in graph.ends[number]))))
    return LocalTrace(
        targets=targets,
        subgraph=subgraph,
        kept=kept,
        pruned=tuple(number for number in subgraph.relations if number not in set(kept)),
        things=things,
        context=_context(graph, kept, subgraph.things if options.compatible else things, relevance, options),
        passages=_by_code(graph, kept) if options.compatible else _by_frequency(graph, kept, things, relevance),
    )


def _targets(keywords: Sequence[str], graph: EntityGraph, options: DualOptions) -> tuple[int, ...]:
    """The things that keyword by keyword are meant, by name before likeness; the code takes all keywords at once."""
    if options.compatible:
        near = graph.near_things.near(", ".join(keywords), options.things, least=options.thing)
        return tuple(item.place for item in near)
    graph.prepare(keywords)
    share = max(1, options.things // len(keywords))
    found: dict[int, None] = {}
    for keyword in keywords:
        named = graph.named(keyword)[:share]
        found |= dict.fromkeys(named or [match.thing for match in graph.match(keyword, share, least=options.thing)])
    return tuple(found)[: options.things]


def _subgraph(graph: EntityGraph, targets: Sequence[int], options: DualOptions) -> Subgraph:
    if not options.subgraph:
        relations = dict.fromkeys(number for target in targets for number in graph.around[target])
        ends = (end for number in relations for end in graph.ends[number])
        return Subgraph(tuple(dict.fromkeys((*targets, *ends))), tuple(relations))
    if options.compatible or options.longest is None:
        return between_all(graph, targets)
    return tied(graph, targets, longest=options.longest)


def _kept(relations: Sequence[int], relevance: NDArray[np.float32], options: DualOptions) -> tuple[int, ...]:
    """The relations of the subgraph that are relevant enough; the code keeps all where none of the graph is."""
    hits = {item.place for item in nearest(relevance, options.pruned, least=options.relation)}
    if options.compatible and not hits:
        return tuple(relations)
    return tuple(number for number in relations if number in hits)


def _by_frequency(
    graph: EntityGraph, kept: Iterable[int], things: Sequence[int], relevance: NDArray[np.float32]
) -> tuple[tuple[str, float], ...]:
    """Passages by how many of the kept relations were read in them, each counting as much as it is relevant.

    A thing that no kept relation leads to brings its own passages, with what the best of its relations there counts.
    """
    relations = graph.knowledge.relations
    scores: dict[str, float] = {}
    tied_things: set[int] = set()
    for number in kept:
        tied_things.update(graph.ends[number])
        for passage in relations[number].passages:
            scores[passage] = scores.get(passage, 0.0) + float(relevance[number])
    for thing in things:
        if thing in tied_things:
            continue
        best = dict.fromkeys(graph.thing(thing).passages, 0.0)
        for number in graph.around[thing]:
            for passage in relations[number].passages:
                best[passage] = max(best.get(passage, 0.0), float(relevance[number]))
        for passage, value in best.items():
            scores[passage] = max(scores.get(passage, 0.0), value)
    return tuple(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


def _by_code(graph: EntityGraph, kept: Iterable[int]) -> tuple[tuple[str, float], ...]:
    """As the code counts: for the passages of a kept relation, the relations at its ends whose other end has it too."""
    scores: dict[str, float] = {}
    for number in kept:
        near = {other for end in graph.ends[number] for other in graph.around[end]}
        for passage in graph.knowledge.relations[number].passages:
            count = sum(any(passage in graph.thing(end).passages for end in graph.ends[other]) for other in near)
            scores[passage] = max(scores.get(passage, 0.0), float(count))
    return tuple(sorted(scores.items(), key=lambda item: -item[1]))


def _context(
    graph: EntityGraph,
    kept: Sequence[int],
    things: Sequence[int],
    relevance: NDArray[np.float32],
    options: DualOptions,
) -> tuple[int, ...]:
    """The kept relations and those around; by relevance after the kept ones, in the code by degree and weight."""
    relations = graph.knowledge.relations
    around = dict.fromkeys((*kept, *(number for thing in things for number in graph.around[thing])))
    if options.compatible:
        order = sorted(around, key=lambda number: (-graph.rank(number), -relations[number].weight))
    else:
        own = set(kept)
        order = sorted(around, key=lambda n: (n not in own, -float(relevance[n]), -graph.rank(n), n))
    left, found = options.tokens, []
    for number in order:
        left -= count_tokens(relations[number].text)
        if left < 0:
            break
        found.append(number)
    return tuple(found)
