"""Names said in one breath: "A and B", "both A and B", "A or B", and what they do to a query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from pyoxigraph import NamedNode

from kgplatform.questions.graphs import Link, Node, QueryGraph
from kgplatform.questions.names import Name
from kgplatform.questions.tokens import Token
from kgplatform.vocab import LABEL

_BETWEEN = re.compile(
    r"['\"”’]?\s*(?:,|，|、|,?\s*\b(?:and|or|nor)\b|和|与|及|以及|又有?|也有?|或者?|还是)\s*(?:the\s+|in\s+|by\s+|from\s+)?['\"“‘]?",
    re.IGNORECASE,
)
_OR = re.compile(r"\bn?or\b|或|还是", re.IGNORECASE)
_MOST = 6
_PAIRED = 3
_SURE = 0.85


@dataclass(frozen=True, slots=True)
class Mention:
    """Tokens ``first`` to before ``last`` and what they may stand for; equal names of a kind are one option."""

    first: int
    last: int
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class Option:
    """One reading of a mention: the same kind, several terms if they share name and classes.

    Where several names were said together, ``joint`` is "and" or "or" and ``apart`` holds the terms of each.
    """

    kind: str
    names: tuple[Name, ...]
    score: float
    joint: str = ""
    apart: tuple[tuple[Name, ...], ...] = ()


def joined(
    mentions: list[Mention], tokens: list[Token], text: str, types: Callable[[object], Iterable[NamedNode]]
) -> list[Mention]:
    """The mentions, those of one kind that only "and", "or" or a comma parts made into one.

    ``types``: the classes of a thing; of namesakes those are meant that are of one class.
    """
    found: list[Mention] = []
    for mention in mentions:
        before = found[-1] if found else None
        if before is not None:
            between = text[tokens[before.last - 1].end : tokens[mention.first].start]
            option = _both(before, mention, between, types) if _BETWEEN.fullmatch(between) else None
            if option is not None:
                found[-1] = Mention(before.first, mention.last, (option,))
                continue
        found.append(mention)
    return found


def _both(one: Mention, other: Mention, between: str, types: Callable[[object], Iterable[NamedNode]]) -> Option | None:
    pairs = [
        (first, second) for first in _namesakes(one) for second in other.options[:_PAIRED] if _alike(first, second)
    ]
    if not pairs:
        return None
    first, second = min(pairs, key=lambda pair: (not _of_one_class(pair[0], pair[1], types), pairs.index(pair)))
    joint = "or" if first.joint == "or" or _OR.search(between) else "and"
    apart = first.apart or (first.names,)
    return Option(
        first.kind, (*first.names, *second.names), min(first.score, second.score), joint, (*apart, second.names)
    )


def _namesakes(mention: Mention) -> tuple[Option, ...]:
    """The best option of a mention, and where that is a thing the others that are things."""
    first = mention.options[0]
    if first.kind not in ("entity", "value") or len(first.names) > _MOST:
        return ()
    others = (o for o in mention.options[1:_PAIRED] if o.kind == first.kind == "entity" and len(o.names) <= _MOST)
    return (first, *others)


def _alike(first: Option, second: Option) -> bool:
    alike = second.kind == first.kind and second.names[0].predicate == first.names[0].predicate
    return alike and second.score >= _SURE <= first.score and len(second.names) <= _MOST


def _of_one_class(first: Option, second: Option, types: Callable[[object], Iterable[NamedNode]]) -> bool:
    return bool(set(types(first.names[0].term)) & set(types(second.names[0].term)))


def every(graph: QueryGraph, target: int) -> QueryGraph:
    """The graph with "A and B" read as a demand for each: what hangs on them is there once for A and once for B."""
    for index, node in enumerate(graph.nodes):
        if node.joint != "and" or index == target or not node.apart or _of_them(graph, index, target):
            continue
        part = _without(graph, index, target)
        busy = {c.node for c in graph.comparisons} | {i for b in graph.best for i in (b.node, b.measure)}
        if not part & (busy | set(graph.group) | {h.counted for h in graph.having}):
            graph = _cloned(graph, index, part)
    return graph


def _of_them(graph: QueryGraph, index: int, target: int) -> bool:
    """Whether what is asked for is a property of the named things ("the budgets of A and B"): one of each then."""
    return any(link.subject == index and link.object == target for link in graph.links) or graph.nodes[target].literal


def _without(graph: QueryGraph, start: int, cut: int) -> frozenset[int]:
    """What stays connected with a node when another is taken out."""
    seen, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        for link in graph.around(here):
            other = link.object if link.subject == here else link.subject
            if other != cut and other not in seen:
                seen.add(other)
                waiting.append(other)
    return frozenset(seen)


def _cloned(graph: QueryGraph, index: int, part: frozenset[int]) -> QueryGraph:
    groups = graph.nodes[index].apart
    nodes: list[Node] = list(graph.nodes)
    nodes[index] = replace(nodes[index], terms=groups[0], joint="", apart=())
    links = list(graph.links)
    for terms in groups[1:]:
        moved = {old: len(nodes) + place for place, old in enumerate(sorted(part))}
        nodes += [graph.nodes[old] for old in sorted(part)]
        nodes[moved[index]] = replace(graph.nodes[index], terms=terms, joint="", apart=())
        links += [
            replace(link, subject=moved.get(link.subject, link.subject), object=moved.get(link.object, link.object))
            for link in graph.links
            if {link.subject, link.object} & part
        ]
    return replace(graph, nodes=tuple(nodes), links=tuple(links))


def either(graph: QueryGraph, exclusive: AbstractSet[NamedNode]) -> QueryGraph | None:
    """The graph with "hotels in A and B" read as those in either, where nothing can be in both; None if none is said.

    ``exclusive`` are the properties that say where things are. A place that is no longer a demand stays as a node that
    nothing is linked to, so that the numbers of the others hold.
    """
    if graph.form not in ("list", "count"):
        return None
    for link in graph.links:
        first = graph.nodes[link.object]
        alike = [
            x
            for x in graph.links
            if (x.subject, x.predicate, x.path, x.negated) == (link.subject, link.predicate, link.path, False)
            and graph.nodes[x.object].terms
            and graph.nodes[x.object].place == first.place
        ]
        if link.predicate not in exclusive or len(alike) < 2:
            continue
        terms = tuple(dict.fromkeys(term for x in alike for term in graph.nodes[x.object].terms))
        nodes = list(graph.nodes)
        nodes[link.object] = replace(first, terms=terms, joint="or")
        links = tuple(x for x in graph.links if x is link or x not in alike)
        return replace(graph, nodes=tuple(nodes), links=links)
    return None


def by_name(graph: QueryGraph) -> QueryGraph | None:
    """The graph that asks for a name instead of a thing, each of "A and B" being had by something of that name.

    None where nothing was asked for of both, or more is said of it.
    """
    target = graph.targets[0]
    beside = graph.around(target)
    plain = len({(x.subject == target, x.predicate) for x in beside}) == 1 and len(beside) == len(graph.links) > 1
    if not plain or graph.comparisons or graph.best or graph.having or graph.nodes[target].literal:
        return None
    if any(not graph.nodes[x.object if x.subject == target else x.subject].terms for x in beside):
        return None
    nodes, links = list(graph.nodes), [beside[0]]
    leaf = len(nodes)
    nodes.append(Node(graph.nodes[target].place, frozenset(), literal=True))
    place = graph.nodes[target].place
    links.append(Link(target, LABEL, leaf, place=place))
    for link in beside[1:]:
        nodes.append(graph.nodes[target])
        copy = len(nodes) - 1
        turned = replace(link, subject=copy) if link.subject == target else replace(link, object=copy)
        links += [turned, Link(copy, LABEL, leaf, place=place)]
    return replace(graph, nodes=tuple(nodes), links=tuple(links), targets=(leaf,))


def without_another(graph: QueryGraph, place: int) -> QueryGraph | None:
    """“With a play in spring but not in autumn”: no other play in autumn, not: a play that is not in autumn.

    None where what is ruled out hangs on what is asked for itself, or nothing known is ruled out.
    """
    target = graph.targets[0]
    for link in graph.links:
        out, held = graph.nodes[link.object], link.subject
        way = graph.way(target, held)
        if not out.terms or out.place < place or held == target or len(way) < 2:
            continue
        copies = {old: len(graph.nodes) + n for n, old in enumerate(way[1:])}
        moved = {**copies, target: target}
        nodes = (*graph.nodes, *(replace(graph.nodes[old], named=graph.nodes[old].named) for old in way[1:]))
        steps = [x for x in graph.links if x.subject in moved and x.object in moved]
        new = [replace(x, subject=moved[x.subject], object=moved[x.object]) for x in steps]
        first = next(n for n, x in enumerate(new) if target in (x.subject, x.object))
        new[first] = replace(new[first], negated=True)
        kept = [x for x in graph.links if x is not link]
        return replace(graph, nodes=nodes, links=(*kept, *new, replace(link, subject=copies[held])))
    return None
