"""A query graph while it is being completed, and where its parts stand in the question."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pyoxigraph import NamedNode

from kgplatform.questions.graphs import Best, Link, Node, QueryGraph
from kgplatform.questions.mentions import Reading

_ASKING = re.compile(r"\b(?:which|what)\b|哪|什么", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Work:
    """A graph being completed: its score, the tokens that adjectives explained, what came to be asked."""

    graph: QueryGraph
    score: float
    used: set[int]
    target: int | None = None
    lost: frozenset[int] = frozenset()
    linked: float = 1.0

    def without(self, first: int, last: int, cost: float) -> Work:
        """With tokens given up: nothing was found that they could be about."""
        return replace(self, score=self.score - cost, lost=self.lost | set(range(first, last)))

    def with_leaf(self, index: int, predicate: NamedNode, place: int) -> Work:
        """With a literal property of a node added."""
        leaf = Node(place, frozenset(), literal=True)
        link = Link(index, predicate, len(self.graph.nodes), place=place)
        graph = replace(self.graph, nodes=(*self.graph.nodes, leaf), links=(*self.graph.links, link))
        return replace(self, graph=graph)

    def with_best(self, best: Best) -> Work:
        """With a node restricted to the extreme of a measure."""
        return replace(self, graph=replace(self.graph, best=(*self.graph.best, best)), score=self.score + 0.6)


def mention_place(reading: Reading, token: int) -> int:
    """The first mention at or after a token, as its number."""
    return next((n for n, m in enumerate(reading.mentions) if m.first >= token), len(reading.mentions))


def asks(place: int, reading: Reading) -> bool:
    """Whether a mention is itself a question ("which airline", as a name of a property): it asks for the value."""
    if not 0 <= place < len(reading.mentions):
        return False
    mention = reading.mentions[place]
    said = reading.text[reading.tokens[mention.first].start : reading.tokens[mention.last - 1].end]
    return _ASKING.search(said) is not None


def by_distance(graph: QueryGraph, place: int) -> list[int]:
    """Nodes, nearest to a mention first; of equal ones that before it."""
    return sorted(range(len(graph.nodes)), key=lambda i: (abs(graph.nodes[i].place - place + 0.6), i))


def superlative_order(graph: QueryGraph, place: int, before: int, target: int, language: str) -> list[int]:
    """The nodes a superlative may be about, likeliest first."""
    at = [i for i, node in enumerate(graph.nodes) if node.place == place]
    if language == "zh":
        at += [i for i, node in enumerate(graph.nodes) if node.place == before]
    return [*at, target, *(i for i in by_distance(graph, place) if i not in at and i != target)]


def predicate_of(graph: QueryGraph, leaf: int) -> NamedNode:
    """The property that a literal node is the value of."""
    return next((link.predicate for link in graph.links if link.object == leaf), NamedNode("urn:x-none"))


def dangling(graph: QueryGraph, target: int) -> float:
    """What it costs that things came in which nothing names and nobody asks for."""
    measured = {h.counted for h in graph.having} | {b.measure for b in graph.best}
    loose = [
        i
        for i, node in enumerate(graph.nodes)
        if node.open and i != target and i not in measured and node.named is None and len(graph.around(i)) < 2
    ]
    return 0.5 * len(loose)


def first_from(places: list[int], start: int) -> int:
    """The first place at or after a start; -1 if there is none."""
    return next((place for place in places if place >= start), -1)


def reach(reading: Reading, asked: int, first: int) -> int:
    """How far a question word reaches: over function words and adjectives."""
    between = reading.weights[asked:first]
    return 4 if sum(between) <= 1.0 else 0
