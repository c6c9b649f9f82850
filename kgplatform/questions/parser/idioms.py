"""Idioms put into plain wording; searches in names; the first few of a ranking; the order of the rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from pyoxigraph import NamedNode

from kgplatform import lexicon
from kgplatform.questions.name_index import NameIndex
from kgplatform.questions.parser.query_graph import Order, QueryGraph, Search
from kgplatform.questions.parser.vocabulary import tokens_of
from kgplatform.questions.usage import SchemaView

# Ways to say a thing put into the plainest one, which the translator reads: "top 3 X by number of Y", "half a million".
#
# What is rewritten is general English; a name is only touched where it has the form of such a phrase as a whole.


_COUNT: Final = lexicon.expression("idioms.count")
_COMPARED: Final = lexicon.expression("idioms.compared")
_UNITS: Final = lexicon.numbers("idioms.units")
_SCALES: Final = lexicon.numbers("idioms.scales")
_SCALE: Final = "|".join(_SCALES)
_WORDED: Final = lexicon.pattern("idioms.worded", compared=_COMPARED, units="|".join(_UNITS), scale=_SCALE)
_TOP_BY_NUMBER: Final = lexicon.pattern("idioms.top_by_number", count=_COUNT)
_TOP_BY: Final = lexicon.pattern("idioms.top_by", count=_COUNT)


def plainly(question: str) -> str:
    """The question in plainer words where it has an idiom that is known, with single blanks between its words.

    >>> plainly("Top 3 authors by number of papers")
    'the 3 authors with the most papers'
    >>> plainly("cities of more than half a million people")
    'cities of more than 500000 people'
    """
    text = " ".join(question.split())
    for pattern, plain in _RULES:
        text = pattern.sub(plain, text)
    return text


def _number(match: re.Match[str]) -> str:
    count = (
        0.5
        if match["half"]
        else float(_UNITS[match["unit"].casefold()] + _UNITS.get((match["ones"] or "").casefold(), 0))
    )
    scaled = count * _SCALES[match["scale"].casefold()] * _SCALES.get((match["more"] or "").casefold(), 1)
    return f"{match['before']}{int(scaled)}"


def _ranked(match: re.Match[str], most: str, least: str) -> str:
    how = most if match["end"].casefold() == "top" else least
    return f"the {match['n']} {match['what']} with the {how} {match['of']}"


def _measured(match: re.Match[str]) -> str:
    unit = {"m": "metres", "ft": "feet"}.get(match["unit"].casefold(), match["unit"])
    return f"{match['n']} {unit} {match['how']}"


def _rest_first(match: re.Match[str]) -> str:
    rest = match["rest"].rstrip(" ?.!")
    return f"{rest} excluding {match['what']}?"


_RULES: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    (lexicon.pattern("idioms.listed"), ""),
    (_WORDED, _number),
    (_TOP_BY_NUMBER, partial(_ranked, most="most", least="fewest")),
    (_TOP_BY, partial(_ranked, most="highest", least="lowest")),
    (lexicon.pattern("idioms.add_up"), "What is the total "),
    (lexicon.pattern("idioms.only"), "exactly "),
    (lexicon.pattern("idioms.high"), _measured),
    (lexicon.pattern("idioms.metres", 0), r"\g<n> metres"),
    (lexicon.pattern("idioms.leaving_out"), _rest_first),
    (lexicon.pattern("idioms.name_them"), r"Which \g<what>?"),
    (lexicon.pattern("idioms.or_more"), lambda match: f"{_UNITS[match['n'].casefold()]} "),
    (lexicon.pattern("idioms.or_later"), r"since \g<year>"),
    (lexicon.pattern("idioms.or_earlier"), r"until \g<year>"),
    (lexicon.pattern("idioms.alive"), "without a date of death"),
    (lexicon.pattern("idioms.how_many_units"), "how heavy "),
    (lexicon.pattern("idioms.anywhere"), ""),
    (lexicon.pattern("idioms.furthest"), lambda match: f"{match['the'] or ''}{match['where'].lower()}ernmost"),
    (lexicon.pattern("idioms.not_one"), r"\g<verb> any "),
    (lexicon.pattern("idioms.not_any"), r"do not \g<have> anything "),
)


# Questions about the wording of names: "names that contain …", 名称包含…, and the first few of a ranking.

_CONTAIN = lexicon.expression("idioms.contain")
_WHAT = lexicon.expression("idioms.what")
_QUOTED_OR_WORD = r"(?:[\"'“‘]([^\"'”’]{1,60})[\"'”’]|([\w-]+))"
_NAME = lexicon.expression("idioms.name")
_PATTERNS = (
    (re.compile(_NAME + _CONTAIN + _WHAT + _QUOTED_OR_WORD, re.IGNORECASE), "CONTAINS"),
    (lexicon.pattern("idioms.patterns_2", name=_NAME, what=_WHAT, quoted_or_word=_QUOTED_OR_WORD), "STRSTARTS"),
    (lexicon.pattern("idioms.patterns_3", name=_NAME, what=_WHAT, quoted_or_word=_QUOTED_OR_WORD), "STRENDS"),
    (lexicon.pattern("idioms.patterns_4"), "CONTAINS"),
    (lexicon.pattern("idioms.patterns_5"), "STRSTARTS"),
    (lexicon.pattern("idioms.patterns_6"), "STRENDS"),
)
_NUMBERS = lexicon.numbers("idioms.numbers")
_NUMBERS |= {word: n for n, word in enumerate("零一二三四五六七八九十")} | {"两": 2}
_SEARCHING_COUNT = lexicon.expression("idioms.searching_count")
_COUNT_ZH = lexicon.expression("idioms.count_zh")
_TOPS = (
    lexicon.pattern("idioms.tops_1", searching_count=_SEARCHING_COUNT),
    lexicon.pattern("idioms.tops_2", searching_count=_SEARCHING_COUNT),
    lexicon.pattern("idioms.tops_3", searching_count=_SEARCHING_COUNT),
    lexicon.pattern("idioms.tops_4", 0, count_zh=_COUNT_ZH),
    lexicon.pattern("idioms.tops_5", 0, count_zh=_COUNT_ZH),
)


_RANKING = lexicon.pattern("idioms.ranking")


@dataclass(frozen=True, slots=True)
class RankingSearch:
    """What is searched for in names, or how many of a ranking are wanted, and where the question says so."""

    start: int
    end: int
    search: Search | None = None
    top: int = 1


def searched(text: str) -> RankingSearch | None:
    """The text that names are asked to hold; None if the question asks for none."""
    for pattern, function in _PATTERNS:
        match = pattern.search(text)
        if match:
            wanted = (match[1] or match[2] or "").strip()
            if wanted:
                return RankingSearch(match.start(), match.end(), Search(-1, function, wanted.casefold()))
    return None


def ranked_first(text: str) -> RankingSearch | None:
    """How many of a ranking are wanted ("the top three", 前三名); None if the question does not say."""
    for pattern in _TOPS:
        match = pattern.search(text)
        if match:
            number = match[1].casefold()
            start = match.start() if _RANKING.search(text[: match.start()] + text[match.end() :]) else match.start(1)
            return RankingSearch(start, match.end(1), top=int(number) if number.isdigit() else _NUMBERS[number])
    return None


def sorted_by(text: str) -> RankingSearch | None:
    """Where a question says in what order it wants the rows; what is asked for does not depend on it."""
    if match := lexicon.pattern("idioms.sorted_first").search(text):
        return RankingSearch(match.start(), match.end())
    if match := lexicon.pattern("idioms.sort_verb").search(text):
        return RankingSearch(match.start(1), match.end(1))
    match = lexicon.pattern("idioms.sorted").search(text)
    return RankingSearch(match.start(), match.end()) if match and match.start() > 0 else None


# The order in which a question wants the rows: "sorted by price, highest first", 按面积从大到小排列.

_DOWN = lexicon.pattern("idioms.down")
_NUMBER = lexicon.pattern("idioms.number")
_NAMES = lexicon.pattern("idioms.names")


@dataclass(frozen=True, slots=True)
class Ordered:
    """What the words say: properties that may be meant, best first, and the direction."""

    predicates: tuple[NamedNode, ...] = ()
    descending: bool = False
    counted: bool = False
    by_name: bool = False


def read_order(text: str, names: NameIndex) -> Ordered | None:
    """The order that a question asks for; None if it asks for none."""
    wanted = sorted_by(text)
    if wanted is None:
        return None
    clause = text[wanted.start : wanted.end]
    scored: dict[NamedNode, float] = {}
    for span in names.schema_terms(tokens_of(clause), clause):
        for name in span.names:
            if name.kind == "property" and isinstance(name.term, NamedNode):
                scored[name.term] = max(scored.get(name.term, 0.0), name.score * (span.last - span.first) ** 0.1)
    ranked = tuple(sorted(scored, key=lambda iri: (-scored[iri], iri.value)))
    return Ordered(ranked, bool(_DOWN.search(clause)), bool(_NUMBER.search(clause)), bool(_NAMES.search(clause)))


def in_order(graph: QueryGraph, ordered: Ordered | None, schema: SchemaView) -> QueryGraph:
    """The graph with its rows in the order asked for, if what is shown has what they are to be sorted by."""
    if ordered is None or not graph.targets or graph.form not in ("list", "count"):
        return graph
    if graph.form == "count" and not graph.group:
        return graph
    if ordered.counted and graph.form == "count":
        return replace(graph, order=Order(None, ordered.descending, counted=True))
    held = {edge.predicate for iri in graph.nodes[graph.targets[0]].types for edge in schema.outgoing.get(iri, ())}
    held |= {link.predicate for link in graph.links}
    predicate = next((iri for iri in ordered.predicates if iri in held), None)
    if predicate is None and not ordered.by_name and not graph.nodes[graph.targets[0]].literal:
        return graph
    return replace(graph, order=Order(predicate, ordered.descending))
