"""A query as a graph of variables, terms and edges; `writing` gives its SPARQL text, `verbal` its reading."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyoxigraph import Literal, NamedNode


@dataclass(frozen=True, slots=True)
class Node:
    """A variable (no ``terms``) or a thing; ``types`` is what is known of its class, ``named`` the class to demand.

    ``joint`` is "and" or "or" where several names were said together, ``apart`` the terms of each.
    """

    place: int
    types: frozenset[NamedNode]
    terms: tuple[NamedNode | Literal, ...] = ()
    named: NamedNode | None = None
    literal: bool = False
    open: bool = False
    joint: str = ""
    apart: tuple[tuple[NamedNode | Literal, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """An edge between two nodes; ``place`` is the mention that named it, -1 if none did."""

    subject: int
    predicate: NamedNode
    object: int
    place: int = -1
    path: str = ""
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Than:
    """A value that has to be looked up: the ``function`` (AVG, MAX, MIN) of a node of another graph."""

    graph: QueryGraph
    node: int
    function: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A literal node compared with numbers or times, or with a value to look up; ``form``: how its values are read."""

    node: int
    operator: str
    low: str
    high: str | None = None
    form: str = "number"
    than: Than | None = None


@dataclass(frozen=True, slots=True)
class Best:
    """The node restricted to those with most (1) or least (-1) of a measure: a literal node, or how many of a node.

    ``within``: the extreme is that of each of these nodes' values; ``rank`` 2: the second most; ``function``: how a
    ``counted`` measure is summed up for the node.
    """

    node: int
    measure: int
    direction: int
    counted: bool = False
    top: int = 1
    within: tuple[int, ...] = ()
    rank: int = 1
    function: str = "COUNT"


@dataclass(frozen=True, slots=True)
class Having:
    """The node restricted to those with a number of others, or with a sum or average of a literal node."""

    node: int
    counted: int
    operator: str
    number: str
    function: str = "COUNT"


@dataclass(frozen=True, slots=True)
class Search:
    """A node whose name holds, or starts or ends with, a text; ``function`` is SPARQL's name for it."""

    node: int
    function: str
    text: str


@dataclass(frozen=True, slots=True)
class Order:
    """In what order the rows are wanted: by a property of what is shown, by its name, or by the number ``counted``."""

    predicate: NamedNode | None = None
    descending: bool = False
    counted: bool = False


@dataclass(frozen=True, slots=True)
class QueryGraph:
    """What a question asks for: the connected nodes, what to show of them, and how to restrict and sum them up.

    ``form`` "mean" is the average, over the groups, of how many of the target each has. ``also`` are functions beside
    that of ``form``: "the least and the most". With ``whole`` the form is "share" or "percentage": so many of the
    target for each of the target of ``whole``; or "difference" or "distance": by how much the value or number exceeds
    that of ``whole``, or how far they are apart; or "more" or "fewer": whether it does.
    """

    nodes: tuple[Node, ...] = ()
    links: tuple[Link, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    best: tuple[Best, ...] = ()
    having: tuple[Having, ...] = ()
    targets: tuple[int, ...] = ()
    form: str = "list"
    group: tuple[int, ...] = ()
    unlike: tuple[tuple[int, int], ...] = ()
    searches: tuple[Search, ...] = ()
    also: tuple[str, ...] = ()
    order: Order | None = None
    whole: QueryGraph | None = None

    def without(self, gone: int) -> QueryGraph:
        """The graph without a node and its links, before anything is asked of it but amounts."""
        kept = [i for i in range(len(self.nodes)) if i != gone]
        moved = {old: new for new, old in enumerate(kept)}
        return replace(
            self,
            nodes=tuple(self.nodes[i] for i in kept),
            links=tuple(
                replace(x, subject=moved[x.subject], object=moved[x.object])
                for x in self.links
                if gone not in (x.subject, x.object)
            ),
            comparisons=tuple(replace(c, node=moved[c.node]) for c in self.comparisons if c.node != gone),
            having=tuple(
                replace(h, node=moved[h.node], counted=moved[h.counted])
                for h in self.having
                if gone not in (h.node, h.counted)
            ),
        )

    def around(self, node: int) -> list[Link]:
        """The links of a node."""
        return [link for link in self.links if node in (link.subject, link.object)]

    def side_of(self, node: int, away_from: int) -> frozenset[int]:
        """The nodes that stay connected to ``node`` when the way towards ``away_from`` is cut."""
        way = self.way(node, away_from)
        cut = way[1] if len(way) > 1 else None
        seen, waiting = {node}, [node]
        while waiting:
            here = waiting.pop()
            for link in self.around(here):
                other = link.object if link.subject == here else link.subject
                if here == node and other == cut:
                    continue
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return frozenset(seen)

    def way(self, start: int, end: int) -> list[int]:
        """The nodes from one to another, both included; only the first where nothing joins them."""
        ways = [[start]]
        seen = {start}
        while ways:
            way = ways.pop(0)
            if way[-1] == end:
                return way
            for link in self.around(way[-1]):
                other = link.object if link.subject == way[-1] else link.subject
                if other not in seen:
                    seen.add(other)
                    ways.append([*way, other])
        return [start]
