"""By how much one thing exceeds another: 甲比乙多多少, 甲和乙相差多少, "how much longer is A than B".

What is compared is a value that both have, or with 多 and 少 how many of something each has: 甲的村庄比乙多吗.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
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
_MORE_OF = re.compile(r"比[^，,。？?！]{1,24}?(?:更|还|要)?(?P<adj>多|少)(?:吗|么|呢|不)?\W*$")
_TRIED = 4
_LESS = frozenset(("少", "便宜", "低", "小", "短", "早", "轻", "浅", "近", "窄"))
_SCORE = 6.0


class Differ:
    """Understands differences of two values over one graph."""

    def __init__(
        self,
        names: NameIndex,
        measures: Measures,
        *,
        read: Callable[[str], Reading],
        candidates: Callable[[Reading], list[Candidate]],
    ) -> None:
        self._names = names
        self._measures = measures
        self._read = read
        self._candidates = candidates

    def differed(self, reading: Reading) -> list[Candidate]:
        """The readings of a question for a difference; none if it asks for none, or not of two things it names."""
        match = next(filter(None, (pattern.search(reading.text) for pattern in (_MORE, _APART, _THAN))), None)
        things = [*_things(reading)] if match is not None else []
        if match is None or len(things) != 2:
            return self._numbers(reading, _MORE_OF.search(reading.text), "")
        adjective = (match.groupdict().get("adj") or "").casefold()
        if adjective in _LESS or COMPARATIVES.get(adjective) == "<":
            things.reverse()
        senses = ADJECTIVES[adjective][0] if adjective in ADJECTIVES else COMPARISON_SENSES.get(adjective, ())
        unit = match["unit"].strip().casefold()
        form = "difference" if adjective else "distance"
        for pair in product(*things):
            predicate = next(iter(self._measured(pair, reading, unit, senses)), None)
            if predicate is not None:
                one, other = (self._valued(names, predicate) for names in pair)
                explained = _explained(reading, match, predicate)
                return [Candidate(replace(one, form=form, whole=other), _SCORE, explained)]
        return self._numbers(reading, match if match.re is _MORE else None, "difference")

    def _numbers(self, reading: Reading, match: re.Match[str] | None, form: str) -> list[Candidate]:
        """How many more of a class one thing has than another, or (without a ``form``) whether it has more."""
        named = [m for m in reading.mentions if m.options[0].kind == "entity" and not m.options[0].apart]
        kinds = [m for m in reading.mentions if m.options[0].kind == "class"]
        if match is None or match["adj"] not in ("多", "少") or len(named) != 2 or len(kinds) != 1:
            return []
        whole, start = reading.text, match.start()
        said = [whole[reading.tokens[m.first].start : reading.tokens[m.last - 1].end] for m in (*named, *kinds)]
        of = whole[reading.tokens[named[0].last - 1].end : start] if kinds[0].first < named[1].first else f"的{said[2]}"
        found = [self._counted(f"{name}{of}") for name in said[:2]]
        for one, other in product(*found):
            alike = [tuple((x.predicate, x.subject, x.object) for x in graph.links) for graph in (one, other)]
            if alike[0] == alike[1]:
                less = match["adj"] == "少"
                first, second = (other, one) if less and form else (one, other)
                graph = replace(first, form=form or ("fewer" if less else "more"), whole=second)
                return [Candidate(graph, _SCORE, _explained(reading, match, None))]
        return []

    def _counted(self, text: str) -> list[QueryGraph]:
        """The readings of a text that give things, which can be counted."""
        graphs = (candidate.graph for candidate in self._candidates(self._read(text))[:_TRIED])
        return [
            replace(g, form="count", targets=g.targets[:1], group=())
            for g in graphs
            if g.form in ("list", "count") and g.links and not g.nodes[g.targets[0]].literal
        ]

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


def _explained(reading: Reading, match: re.Match[str], predicate: NamedNode | None) -> frozenset[int]:
    """The tokens of the comparison, of the things compared, and of what they are compared by."""
    kept = (
        mention
        for mention in reading.mentions
        for option in mention.options
        if option.kind in ("entity", "class") or option.names[0].term == predicate or predicate is None
    )
    places = {i for mention in kept for i in range(mention.first, mention.last)}
    said = {i for i, t in enumerate(reading.tokens) if match.start() <= t.start < match.end()}
    inside = {i for m in reading.mentions for i in range(m.first, m.last)} - places
    return frozenset((reading.cues.used | places | said) - inside)
