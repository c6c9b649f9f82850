"""What has something in common with a named thing: "the other X in the same Z as A", A跟哪些X是同一个Z的.

What is had in common is cut out, the rest is understood on its own, with its words at their places; the two are joined
by what they share, and the named thing itself is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.questions.finishing import Candidate
from kgplatform.questions.graphs import Link, Node, QueryGraph
from kgplatform.questions.joining import Mention, Option
from kgplatform.questions.mentions import Reading
from kgplatform.questions.names import NameIndex
from kgplatform.questions.paths import PathFinder, Step
from kgplatform.questions.wordorder import word_at

_SAME: Final = re.compile(
    r"\bthe\s+same\s+$|同一?[个家座所条位名片支类种部间]?$|(?:相同|同样)的$",
    re.IGNORECASE,
)
_SHARING: Final = re.compile(r"\bshar(?:e|es|ing)\s+(?:(?:an?|the|its|their)\s+)?$", re.IGNORECASE)
_SAME_BEHIND: Final = re.compile(r"相同|一样|同样")
_TO_NAME: Final = frozenset("as with like to 跟 和 与 同".split())  # noqa: SIM905
_BEFORE_SAME_WORDS: Final = (
    "in at of from by with have has having share shares sharing that are is which who on within belong belongs to "
    "under located lie lies lying 在 于 属 位 处 是 都 也 有 归 的"
)
_BEFORE_SAME: Final = frozenset(_BEFORE_SAME_WORDS.split())
_BEHIND: Final = frozenset("里内中的之")
_SURE: Final = 0.85
_TRIED: Final = 4
_PAIR: Final = 2


@dataclass(frozen=True, slots=True)
class _Said:
    """The mentions of what is shared and of the thing named, and the tokens that say so."""

    shared: Mention
    named: Mention
    used: frozenset[int]


class Samenesses:
    """Understands what is had in common over one graph; ``read`` and ``candidates`` are those of the translator."""

    def __init__(
        self,
        names: NameIndex,
        finder: PathFinder,
        *,
        read: Callable[[str], Reading],
        candidates: Callable[[Reading], list[Candidate]],
    ) -> None:
        self._names = names
        self._finder = finder
        self._read = read
        self._candidates = candidates

    def same(self, reading: Reading) -> list[Candidate]:
        """The readings of a question for what shares something with a thing; none if it asks for none."""
        said = _said(reading)
        if said is None:
            return []
        options = [option for option in said.named.options if option.kind == "entity" and option.score >= _SURE]
        if reading.cues.boolean or options[0].apart:
            return self._whether(said, options[0], reading) if reading.cues.boolean else []
        text = reading.text
        for place in said.used:
            start, end = reading.tokens[place].start, reading.tokens[place].end
            text = text[:start] + " " * (end - start) + text[end:]
        main = self._read(text)
        found = [new for c in self._candidates(main)[:_TRIED] for o in options for new in self._joined(c, said, o)]
        if not found and not any(o.kind == "class" for m in main.mentions for o in m.options):
            alone = (Candidate(QueryGraph((Node(-1, self._types(o)),), targets=(0,)), 1.0) for o in options)
            found = [new for c, o in zip(alone, options, strict=True) for new in self._joined(c, said, o)]
        starts = {reading.tokens[i].start for i in said.used}
        return [self._explaining(c, starts, main, reading) for c in found]

    def _types(self, option: Option) -> frozenset[NamedNode]:
        return frozenset(iri for name in option.names[:1] for iri in self._names.types(name.term))

    @staticmethod
    def _explaining(candidate: Candidate, starts: set[int], main: Reading, reading: Reading) -> Candidate:
        own = {main.tokens[i].start for i in candidate.explained} | starts
        return replace(candidate, explained=frozenset(i for i, t in enumerate(reading.tokens) if t.start in own))

    def _joined(self, candidate: Candidate, said: _Said, option: Option) -> Iterator[Candidate]:
        """The candidate with its target tied to the thing by what they share."""
        graph = candidate.graph
        target = graph.targets[0]
        node = graph.nodes[target]
        if graph.form not in ("list", "count") or node.literal or node.terms:
            return
        name = Node(-1, self._types(option), terms=tuple(name.term for name in option.names))
        named = len(graph.nodes)
        graph = replace(graph, nodes=(*graph.nodes, name), unlike=(*graph.unlike, (target, named)))
        for tied in self._tied(graph, target, named, said.shared):
            yield replace(candidate, graph=tied, score=candidate.score + 1.0)

    def _whether(self, said: _Said, option: Option, reading: Reading) -> list[Candidate]:
        """Whether two things share it: "are A and B in the same Z"."""
        if len(option.apart) != _PAIR:
            return []
        nodes = tuple(
            Node(-1, frozenset(self._names.types(names[0].term)), terms=tuple(n.term for n in names))
            for names in option.apart
        )
        graph = QueryGraph(nodes, targets=(0,), form="ask")
        used = said.used | reading.cues.used
        return [Candidate(tied, 2.0, used) for tied in self._tied(graph, 0, 1, said.shared)]

    def _tied(self, graph: QueryGraph, one: int, other: int, shared: Mention) -> Iterator[QueryGraph]:
        """The graph with two nodes that share a thing of a class, or the value of a property."""
        for option in shared.options[:_PAIR]:
            iri = option.names[0].term
            if option.kind == "class" and isinstance(iri, NamedNode):
                ways = self._ways(graph.nodes[one].types, graph.nodes[other].types, iri)
                if ways is not None:
                    held = len(graph.nodes)
                    common = replace(graph, nodes=(*graph.nodes, Node(-1, frozenset((iri,)), named=iri)))
                    yield _along(_along(common, one, ways[0], held), other, ways[1], held)
                    return
            elif option.kind == "property" and isinstance(iri, NamedNode):
                domains = frozenset(self._names.schema.domains(iri))
                term = self._names.schema.properties.get(iri)
                if term is not None and all(
                    self._finder.compatible(graph.nodes[i].types, domains) for i in (one, other)
                ):
                    ranges = frozenset(self._names.schema.ranges(iri)) if term.is_object else frozenset()
                    held = len(graph.nodes)
                    links = (Link(one, iri, held, place=0), Link(other, iri, held, place=0))
                    leaf = Node(-1, ranges, literal=not term.is_object)
                    yield replace(graph, nodes=(*graph.nodes, leaf), links=(*graph.links, *links))
                    return

    def _ways(
        self, one: frozenset[NamedNode], other: frozenset[NamedNode], class_: NamedNode
    ) -> tuple[tuple[Step, ...], tuple[Step, ...]] | None:
        """The shortest ways from both to things of the class, by the same property if that can be."""
        ends = frozenset((class_,))
        ways = [self._finder.paths(types, ends) for types in (one, other)]
        pairs = [(a, b) for a in ways[0] for b in ways[1]]
        return min(
            pairs,
            key=lambda pair: (
                sum(map(len, pair)),
                sum(step.back for way in pair for step in way),
                pair[0][-1].predicate != pair[1][-1].predicate,
                -sum(step.share for way in pair for step in way),
            ),
            default=None,
        )


def _along(graph: QueryGraph, start: int, way: tuple[Step, ...], end: int) -> QueryGraph:
    """The graph with a way from one node to another."""
    nodes, links, here = list(graph.nodes), list(graph.links), start
    for number, step in enumerate(way):
        there = end
        if number < len(way) - 1:
            nodes.append(Node(-1, step.types))
            there = len(nodes) - 1
        ends = (there, here) if step.back else (here, there)
        links.append(Link(ends[0], step.predicate, ends[1], place=0))
        here = there
    return replace(graph, nodes=tuple(nodes), links=tuple(links))


def _said(reading: Reading) -> _Said | None:
    """What a question says to be shared and with what; None if it says nothing of the kind."""
    for shared in reading.mentions:
        if shared.options[0].kind not in ("class", "property"):
            continue
        cue = _cue(reading, shared)
        named = _named(reading, shared) if cue else None
        if cue and named is not None:
            used = set(cue) | set(range(shared.first, shared.last)) | set(range(named.first, named.last))
            first = min(used - set(range(named.first, named.last)))
            while first and word_at(reading, first - 1) in _BEFORE_SAME:
                first -= 1
                used.add(first)
            last = max(*cue, shared.last - 1) + 1
            while last < len(reading.tokens) and word_at(reading, last) in _BEHIND:
                used.add(last)
                last += 1
            used |= {i for i in (named.first - 1, named.last) if word_at(reading, i) in _TO_NAME}
            return _Said(shared, named, frozenset(used))
    return None


def _cue(reading: Reading, shared: Mention) -> list[int]:
    """The tokens beside a mention that say that it is the same."""
    start, end = reading.tokens[shared.first].start, reading.tokens[shared.last - 1].end
    sharing = _SHARING if shared.options[0].kind == "class" else _SAME  # to share a border is to have one in common
    before = _SAME.search(reading.text[:start]) or sharing.search(reading.text[:start])
    if before is not None:
        return [i for i, t in enumerate(reading.tokens) if before.start() <= t.start < start]
    behind = _SAME_BEHIND.match(reading.text, end)
    return [i for i, t in enumerate(reading.tokens) if behind and end <= t.start < behind.end()]


def _named(reading: Reading, shared: Mention) -> Mention | None:
    """The one thing that is named after "as" or beside 跟, or the two of which is asked whether they share it."""
    things = [m for m in reading.mentions if m.options[0].kind == "entity" and m.options[0].score >= _SURE]
    beside = [
        m
        for m in things
        if m is not shared
        and (
            len(m.options[0].apart) == _PAIR
            or word_at(reading, m.first - 1) in _TO_NAME
            or (reading.language == "zh" and word_at(reading, m.last) in _TO_NAME)
        )
    ]
    return beside[0] if len(beside) == 1 else None
