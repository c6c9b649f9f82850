"""By how much one thing exceeds another: 甲比乙多多少, 甲和乙相差多少, "how much longer is A than B"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from pyoxigraph import NamedNode

from kgplatform.questions.finishing import Candidate
from kgplatform.questions.graphs import Link, Node, QueryGraph
from kgplatform.questions.measures import Measures
from kgplatform.questions.mentions import Reading
from kgplatform.questions.names import Name, NameIndex
from kgplatform.questions.wording import ADJECTIVES, COMPARATIVES, COMPARISON_SENSES, UNIT_SENSES

_ADJECTIVE = "便宜|贵|高|低|大|小|多|少|长|短|早|晚|重|轻|深|浅|远|近|宽|窄|快|慢|老"
_MORE = re.compile(rf"比[^，,。？?！]{{1,24}}?(?P<adj>{_ADJECTIVE})(?:了|出|出了)?(?:多少|几)(?P<unit>\w{{0,2}})")
_APART = re.compile(r"(?:相差|差距|之差|差额|差|悬殊)(?:了|是|有|为)?(?:多少|几|多大)(?P<unit>\w{0,2})")
_THAN = re.compile(
    r"\bhow (?:much|many) (?P<adj>more|less|fewer|\w{3,}er)\b(?P<unit>(?: \w+)?)[^?.]*\bthan\b", re.IGNORECASE
)
_LESS = frozenset(("少", "便宜", "低", "小", "短", "早", "轻", "浅", "近", "窄"))
_SCORE = 6.0


class Differ:
    """Understands differences of two values over one graph."""

    def __init__(self, names: NameIndex, measures: Measures) -> None:
        self._names = names
        self._measures = measures

    def differed(self, reading: Reading) -> list[Candidate]:
        """The readings of a question for a difference; none if it asks for none, or not of two things it names."""
        match = next(filter(None, (pattern.search(reading.text) for pattern in (_MORE, _APART, _THAN))), None)
        things = [*_things(reading)] if match is not None else []
        if match is None or len(things) != 2:
            return []
        adjective = (match.groupdict().get("adj") or "").casefold()
        if adjective in _LESS or COMPARATIVES.get(adjective) == "<":
            things.reverse()
        senses = ADJECTIVES[adjective][0] if adjective in ADJECTIVES else COMPARISON_SENSES.get(adjective, ())
        unit = match["unit"].strip().casefold()
        said = {i for i, t in enumerate(reading.tokens) if match.start() <= t.start < match.end()}
        for pair in product(*things):
            predicate = next(iter(self._measured(pair, reading, unit, senses)), None)
            if predicate is not None:
                one, other = (self._valued(names, predicate) for names in pair)
                form = "difference" if adjective else "distance"
                graph = replace(one, form=form, whole=other)
                return [Candidate(graph, _SCORE, frozenset(reading.covered() | said))]
        return []

    def _measured(
        self, pair: tuple[tuple[Name, ...], ...], reading: Reading, unit: str, senses: tuple[str, ...]
    ) -> list[NamedNode]:
        """The numeric properties that both things have: those the question names, else by the unit or the adjective."""
        types = [sorted(self._names.types(names[0].term), key=str) for names in pair]
        known = [{p.iri for p in self._measures.literal_properties(listed) if p.numeric} for listed in types]
        both = known[0] & known[1]
        options = (o for m in reading.mentions for o in m.options if o.kind == "property")
        named = [term for o in options if isinstance(term := o.names[0].term, NamedNode) and term in both]
        if named:
            return named
        listed = next((word for word in sorted(UNIT_SENSES, key=len, reverse=True) if unit.startswith(word)), "")
        found = (
            self._measures.by_unit(types[0], listed) if listed else None,
            self._measures.by_senses(types[0], UNIT_SENSES[listed]) if listed else None,
            self._measures.by_senses(types[0], senses) if senses else None,
        )
        return [predicate for predicate in found if predicate is not None and predicate in both]

    def _valued(self, names: tuple[Name, ...], predicate: NamedNode) -> QueryGraph:
        terms = tuple(name.term for name in names)
        nodes = (Node(0, frozenset(self._names.types(terms[0])), terms=terms), Node(1, frozenset(), literal=True))
        return QueryGraph(nodes, (Link(0, predicate, 1, place=1),), targets=(1,))


def _things(reading: Reading) -> Iterator[list[tuple[Name, ...]]]:
    """The things that a question names, each with all that its name may stand for; those in one breath one by one."""
    for mention in reading.mentions:
        options = [option for option in mention.options if option.kind == "entity"]
        if mention.options[0].apart and options:
            yield from ([names] for names in mention.options[0].apart)
        elif options and mention.options[0].kind == "entity":
            yield [option.names for option in options]
