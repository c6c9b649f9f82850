"""The retrievers that the studies compare with those of the product: what measured worse, and what others published.

`STUDIED` has them all by name, those of the product among them; `kgplatform.graph.KnowledgeGraph.search` takes one as
its ``retriever``. docs/results.md has their numbers, and ``python -m benchmarks.passages`` prints them for questions of
one's own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import NamedNode

from benchmarks.studies.term_retrievers import EuclideanRetriever, LsiRetriever, TfidfRetriever, WordVectorRetriever
from kgplatform.retrieval.entity_graph import EntityGraph, Subgraph, nearest
from kgplatform.retrieval.entity_retrieval import (
    DualLevelRetriever,
    DualOptions,
    GlobalTrace,
    LocalTrace,
    by_paths,
    by_relations,
)
from kgplatform.retrieval.fusion import RANK_CONSTANT, meant, near_passages, near_statements
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.lexical import DenseRetriever, LexicalRetriever
from kgplatform.retrieval.methods import RETRIEVERS
from kgplatform.retrieval.pagerank import Connections, GraphPassage, PassageFact, PassageGraph, name_key
from kgplatform.retrieval.sources import Corpus, passage_hits, stated_in, with_labels, within
from kgplatform.retrieval.traversal import TraversalRetriever, WalkRule
from kgplatform.types import Hit, Retriever


class WeightedRetriever:
    """Finds passages by words and by meaning at once, the scores of each side weighted and added.

    A side's scores are put between 0 (its last) and 1 (its first); a passage that a side did not find has 0 there.
    """

    def __init__(self, sources: Corpus, *, words: int, meaning: int) -> None:
        self.name = f"hybrid-{words}-{meaning}"
        self._index: ChunkIndex = sources.index
        self._words, self._meaning = words / (words + meaning), meaning / (words + meaning)

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first; the score is the weighted one, at most 1."""
        depth = max(50, 2 * k) if k > 0 else 0
        by_words = LexicalRetriever(self._index).retrieve(question, depth)
        by_meaning = meant(self._index, DenseRetriever(self._index), question, depth)
        return added([(self._words, by_words), (self._meaning, by_meaning)], k, self.name)


def added(rankings: Sequence[tuple[float, list[Hit]]], k: int, name: str) -> list[Hit]:
    """The first ``k`` by the weighted sum of their scores, each ranking's put between 0 and 1."""
    scores: dict[str, float] = {}
    texts: dict[str, str] = {}
    for weight, ranking in rankings:
        least, most = (ranking[-1].score, ranking[0].score) if ranking else (0.0, 0.0)
        for hit in ranking:
            share = (hit.score - least) / (most - least) if most > least else 1.0
            scores[hit.iri.value] = scores.get(hit.iri.value, 0.0) + weight * share
            texts[hit.iri.value] = hit.text
    best = sorted(scores, key=lambda iri: (-round(scores[iri], 12), iri))[: max(k, 0)]
    return [Hit(NamedNode(iri), texts[iri], scores[iri], rank, name) for rank, iri in enumerate(best, start=1)]


_PASSAGE_WEIGHT: Final = 0.05
_STATED: Final = 5


class StatedGraph(PassageGraph):
    """Passages connected by statements alone, walked by the formula of HippoRAG 2, section 3 and appendix."""

    @classmethod
    def of(cls, passages: Sequence[GraphPassage], facts: Any = ()) -> StatedGraph:
        """The graph of the passages."""
        made = Connections(passages, tuple(facts))
        made.by_facts()
        return cls([passage.iri for passage in passages], made.facts, {}, made.nodes, made.transitions())

    def rank_stated(self, near: Mapping[int, float], near_facts: Mapping[int, float]) -> NDArray[np.float64]:
        """What reaches each passage, from the ends of the nearest statements and from the passages.

        An end's weight is the mean likeness of its statements by the number of passages that have it; a passage's is
        0.05 of its likeness, scaled to 0..1 over the passages given. Damping is 0.5.
        """
        columns = self._transitions.tocsc()
        seeds = np.zeros(columns.shape[0])
        least, most = min(near.values(), default=0.0), max(near.values(), default=0.0)
        for passage, cosine in near.items():
            seeds[passage] = _PASSAGE_WEIGHT * (cosine - least) / ((most - least) or 1.0)
        held: dict[int, list[float]] = {}
        for number, cosine in sorted(near_facts.items(), key=lambda item: (-item[1], item[0]))[:_STATED]:
            fact: PassageFact = self.facts[number]
            for key in dict.fromkeys((name_key(fact.subject), name_key(fact.object))):
                if key in self._nodes:
                    held.setdefault(self._nodes[key], []).append(cosine)
        for node, cosines in held.items():
            holders = columns.indices[columns.indptr[node] : columns.indptr[node + 1]] < len(self.passages)
            seeds[node] = sum(cosines) / len(cosines) / max(int(holders.sum()), 1)
        reached: NDArray[np.float64] = self._spread(seeds, 0.5)[: len(self.passages)]
        return reached


class StatedRetriever:
    """Ranks passages by the walk over statements alone."""

    name = "pagerank-stated"

    def __init__(self, sources: Corpus) -> None:
        self._sources = sources
        self._made: tuple[str, StatedGraph] | None = None

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first."""
        if k < 1:
            return []
        known = self._sources.knowledge()
        state = f"{self._sources.index.state} {known.state}"
        if self._made is None or self._made[0] != state:
            passages = with_labels(self._sources.passages(), known)
            self._made = (state, StatedGraph.of(passages, stated_in(known)))
        graph = self._made[1]
        near = graph.placed(near_passages(self._sources, question))
        reached = graph.rank_stated(near, near_statements(self._sources, graph, question))
        best = [int(place) for place in np.argsort(-reached, kind="stable")[:k] if reached[place] > 0]
        found = [(graph.passages[place], float(reached[place])) for place in best]
        return passage_hits(self._sources.index, found, k, self.name)


# The academic framework's two ablations, and its retrieval as its public code does it, at its commit of April 2025:
# targets are found with all low-level keywords as one string, connected by shortest paths for every pair, of any
# length. Where no relation is relevant enough all are kept; targets without a kept relation bring no passage; relations
# around come in the order of degree and weight, the paths' own without preference; the global ranking has no relevance.
PUBLISHED: Final = DualOptions(things=60, thing=0.2, relations=60, relation=0.2, pruned=180)


def _named(made: DualLevelRetriever, name: str) -> DualLevelRetriever:
    made.name = name
    return made


def next_to(graph: EntityGraph, targets: Sequence[int], _: DualOptions) -> Subgraph:
    """The targets with their neighbours."""
    relations = dict.fromkeys(number for target in targets for number in graph.around[target])
    ends = (end for number in relations for end in graph.ends[number])
    return Subgraph(tuple(dict.fromkeys((*targets, *ends))), tuple(relations))


ONE_HOP: Final = partial(by_paths, connect=next_to)
"""The local way by what is next to the targets, in place of the subgraph that connects them."""


def _paths_of_code(question: str, keywords: Sequence[str], graph: EntityGraph, options: DualOptions) -> LocalTrace:
    del question  # the code goes by the keywords
    if not keywords or not graph.knowledge.things:
        return LocalTrace()
    whole, relations = ", ".join(keywords), graph.knowledge.relations
    targets = tuple(item.place for item in graph.near_things.near(whole, options.things, least=options.thing))
    subgraph = between_all(graph, targets)
    relevant = {n.place for n in nearest(graph.relation_likeness(whole), options.pruned, least=options.relation)}
    kept = tuple(number for number in subgraph.relations if number in relevant or not relevant)
    around = dict.fromkeys((*kept, *(number for thing in subgraph.things for number in graph.around[thing])))
    order = sorted(around, key=lambda number: (-graph.rank(number), -relations[number].weight))
    return LocalTrace(
        targets=targets,
        subgraph=subgraph,
        kept=kept,
        pruned=tuple(number for number in subgraph.relations if number not in set(kept)),
        things=tuple(dict.fromkeys((*targets, *(end for number in kept for end in graph.ends[number])))),
        context=tuple(order[: len(within((relations[number].text for number in order), options.tokens))]),
        passages=_counted(graph, kept),
    )


def _counted(graph: EntityGraph, kept: Sequence[int]) -> tuple[tuple[str, float], ...]:
    """For the passages of a kept relation, how many relations at its ends lead to a thing that the passage names."""
    scores: dict[str, float] = {}
    for number in kept:
        near = {other for end in graph.ends[number] for other in graph.around[end]}
        for passage in graph.knowledge.relations[number].passages:
            count = sum(any(passage in graph.thing(end).passages for end in graph.ends[other]) for other in near)
            scores[passage] = max(scores.get(passage, 0.0), float(count))
    return tuple(sorted(scores.items(), key=lambda item: -item[1]))


def _relations_of_code(keywords: Sequence[str], graph: EntityGraph, options: DualOptions) -> GlobalTrace:
    found = by_relations(keywords, graph, options)
    relations, scores = graph.knowledge.relations, dict(zip(found.relations, found.scores, strict=True))
    order = sorted(scores, key=lambda number: (-graph.rank(number), -relations[number].weight))
    first: dict[str, float] = {}
    for place, number in enumerate(order, start=1):
        for passage in relations[number].passages:
            first.setdefault(passage, 1 / (RANK_CONSTANT + place))
    return GlobalTrace(tuple(order), tuple(scores[number] for number in order), tuple(first.items()))


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


STUDIED: Final[Mapping[str, Callable[[Corpus], Retriever]]] = {
    **RETRIEVERS,
    **{
        f"hybrid-{words}-{meaning}": partial(WeightedRetriever, words=words, meaning=meaning)
        for words, meaning in ((9, 1), (5, 5), (1, 9))
    },
    **{made.name: made for made in (TfidfRetriever, EuclideanRetriever, LsiRetriever, WordVectorRetriever)},
    "pagerank-stated": StatedRetriever,
    "dual-level-no-clues": lambda sources: _named(
        DualLevelRetriever(sources, DualOptions(clues=0)), "dual-level-no-clues"
    ),
    "dual-level-one-hop": lambda sources: _named(DualLevelRetriever(sources, local=ONE_HOP), "dual-level-one-hop"),
    "dual-level-published": lambda sources: _named(
        DualLevelRetriever(sources, PUBLISHED, local=_paths_of_code, global_=_relations_of_code), "dual-level-published"
    ),
    **{f"{rule.value}-published": partial(TraversalRetriever, rule=rule, published=True) for rule in WalkRule},
}
"""How passages, or sentences of them, can be found, by name."""
