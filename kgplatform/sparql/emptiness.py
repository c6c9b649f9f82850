"""Why a query finds nothing, or is slow: the condition to blame, what there is instead, a query that finds something.

Conditions are left out one at a time and counted on the data, within a budget of time; the data decides, nothing is
guessed. Where a value is at fault, the values that there are and that resemble it are named.
"""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pyoxigraph import Literal, NamedNode

from kgplatform.errors import KgPlatformError
from kgplatform.sparql.syntax import ElementKind, GroupElement, SplitQuery, split_query
from kgplatform.sparql.tokens import scan
from kgplatform.text import normalise
from kgplatform.types import Solutions

# Why a query finds nothing: the condition that empties it, what there is instead, and a query that finds something.

Run = Callable[[str, int, float], Solutions]
"""Runs a query: its text, the most rows wanted, the seconds it may take."""

COUNTED = 1000
"""Rows are counted up to this many."""
_VALUES = 2000
_NEAREST = 3
_CLOSE = 0.5
_MARK = "kgp_value"


class Cause(StrEnum):
    """What empties a query."""

    NOTHING_LIKE_IT = "nothing-like-it"
    """One condition matches nothing even by itself."""
    TOGETHER = "together"
    """A condition matches, but not together with the others."""
    FILTER = "filter"
    """A filter leaves nothing over."""
    SEVERAL = "several"
    """No single condition is to blame."""
    AFTERWARDS = "afterwards"
    """The conditions have solutions; HAVING, LIMIT or OFFSET takes them away."""
    UNKNOWN = "unknown"
    """It could not be found out in time, or the query has no conditions to look at."""


@dataclass(frozen=True, slots=True)
class CountedCondition:
    """A condition and how many rows there are without it (at most ``COUNTED``; None: not counted)."""

    text: str
    line: int
    without: int | None = None


@dataclass(frozen=True, slots=True)
class Emptiness:
    """Why a query finds nothing; ``near`` are existing values, as SPARQL writes them, ``relaxed`` finds something."""

    cause: Cause
    culprit: CountedCondition | None = None
    counts: tuple[CountedCondition, ...] = ()
    near: tuple[str, ...] = ()
    relaxed: str = ""

    def words(self, language: str = "en") -> str:
        """The reason as a sentence, in English or Chinese."""
        chinese = language == "zh"
        said = [_REASONS[self.cause][chinese].format(*_culprit(self.culprit))]
        if self.culprit is not None and self.culprit.without:
            more = "+" if self.culprit.without >= COUNTED else ""
            told = "没有这一条件时有 {}{} 行。" if chinese else "Without it there are {}{} rows."
            if self.culprit.without == 1 and not chinese:
                told = "Without it there is 1 row."
            said.append(told.format(f"{self.culprit.without:,}", more))
        if self.near:
            listed = ("、" if chinese else ", ").join(self.near)
            if spread := _RANGE.fullmatch(self.near[0]):
                of = "{0} 的取值范围是 {1} 至 {2}。" if chinese else "Values of {0} range from {1} to {2}."
                said.append(of.format(*spread.groups()))
            else:
                said.append(f"图中现有：{listed}。" if chinese else f"Present instead: {listed}.")
        return "".join(said) if chinese else " ".join(said)


_RANGE = re.compile(r"(\?\w+): (\S+) … (\S+)")
_REASONS = {
    Cause.NOTHING_LIKE_IT: (
        "Nothing in the graph matches line {1} by itself: {0}.",
        "图中没有任何内容符合第 {1} 行：{0}。",
    ),
    Cause.TOGETHER: (
        "Line {1} has matches, but none that fit the other lines: {0}.",
        "第 {1} 行有匹配，但都不符合其他各行：{0}。",
    ),
    Cause.FILTER: ("The filter on line {1} removes every row: {0}.", "第 {1} 行的过滤条件排除了全部结果：{0}。"),
    Cause.SEVERAL: (
        "More than one condition stands in the way; line {1} is the first that leaves nothing: {0}.",
        "不止一个条件造成没有结果；最先排除全部结果的是第 {1} 行：{0}。",
    ),
    Cause.AFTERWARDS: (
        "The conditions have solutions, but HAVING, LIMIT or OFFSET leaves none of them.",
        "各条件有结果，但被 HAVING、LIMIT 或 OFFSET 全部去掉了。",
    ),
    Cause.UNKNOWN: ("What empties it could not be found out in the time allowed.", "在限定时间内未能查明原因。"),
}


def _culprit(culprit: CountedCondition | None) -> tuple[str, int]:
    if culprit is None:
        return "", 0
    text = " ".join(culprit.text.split())
    return (text if len(text) <= 120 else f"{text[:119]}…"), culprit.line


def why_empty(text: str, run: Run, *, seconds: float = 1.0) -> Emptiness:
    """Why the SELECT or ASK query finds nothing; for a query that finds something, ``AFTERWARDS``.

    It never takes much longer than ``seconds``, and an error of the engine counts as not found out.
    """
    if scan(text).form not in ("SELECT", "ASK"):
        return Emptiness(Cause.UNKNOWN)
    parts = split_query(text)
    if parts is None or not parts.elements or len(parts.elements) > _MOST_ELEMENTS:
        return Emptiness(Cause.UNKNOWN)
    return _Search(parts, run, seconds).found()


class _Search:
    """Counts, with what is left of the time."""

    def __init__(self, parts: SplitQuery, run: Run, seconds: float) -> None:
        self._parts = parts
        self._run = run
        self._end = time.monotonic() + seconds

    def found(self) -> Emptiness:
        elements = self._parts.elements
        whole = self._count(elements, 1)
        if whole is None:
            return Emptiness(Cause.UNKNOWN)
        if whole:
            return Emptiness(Cause.AFTERWARDS)
        first = self._first_killing(elements)
        if first is None:
            return Emptiness(Cause.UNKNOWN)
        without = {n: self._count(_without(elements, n), COUNTED) for n in self._order(first) if _alone(elements, n)}
        counts = tuple(CountedCondition(item.text, item.line, without.get(n)) for n, item in enumerate(elements))
        blamed = self._blamed(first, without)
        return Emptiness(
            cause=self._cause(blamed, without),
            culprit=counts[blamed],
            counts=counts,
            near=self._near(blamed),
            relaxed=self._parts.query(_without(elements, blamed)) if without.get(blamed) else "",
        )

    def _order(self, first: int) -> list[int]:
        """Which conditions to leave out: that which empties the rest first, then the others before it."""
        return [first, *(n for n in range(len(self._parts.elements)) if n != first)]

    def _blamed(self, first: int, without: dict[int, int | None]) -> int:
        """The condition to name: one that matches nothing by itself, else one whose absence helps, filters first."""
        elements = self._parts.elements
        for n, element in enumerate(elements):
            if element.form in (ElementKind.PATTERN, ElementKind.VALUES) and self._count((element,), 1) == 0:
                return n
        helping = [n for n, rows in without.items() if rows]
        return min(helping, key=lambda n: (elements[n].form is not ElementKind.FILTER, n != first, n), default=first)

    def _cause(self, blamed: int, without: dict[int, int | None]) -> Cause:
        element = self._parts.elements[blamed]
        if element.form is ElementKind.PATTERN and self._count((element,), 1) == 0:
            return Cause.NOTHING_LIKE_IT
        if not without.get(blamed):
            return Cause.SEVERAL
        return Cause.FILTER if element.form is ElementKind.FILTER else Cause.TOGETHER

    def _first_killing(self, elements: Sequence[GroupElement]) -> int | None:
        """The first condition with which those up to it have no solution; None if time runs out."""
        ordered = sorted(range(len(elements)), key=lambda n: (elements[n].form is ElementKind.FILTER, n))
        low, high = 0, len(ordered) - 1
        while low < high:
            middle = (low + high) // 2
            count = self._count([elements[n] for n in ordered[: middle + 1]], 1)
            if count is None:
                return None
            low, high = (middle + 1, high) if count else (low, middle)
        return ordered[low]

    def _near(self, blamed: int) -> tuple[str, ...]:
        """Values that there are where the condition asks for one that is not."""
        element = self._parts.elements[blamed]
        if element.form is ElementKind.FILTER:
            return self._range(element, _without(self._parts.elements, blamed))
        if element.form is not ElementKind.PATTERN or not element.object or element.object[0] in "?$[(":
            return ()
        open_ = GroupElement(ElementKind.PATTERN, f"{element.head} ?{_MARK}", element.line, element.variables | {_MARK})
        rest = [e for n, e in enumerate(self._parts.elements) if n != blamed]
        for beside in (rest, []):
            found = self._terms(_MARK, [*_bound([open_, *beside])])
            if found:
                return _alike(element.object, found)
        return ()

    def _range(self, element: GroupElement, rest: Sequence[GroupElement]) -> tuple[str, ...]:
        """The least and the greatest value of a compared variable, or some of its values if they are texts."""
        for variable in sorted(element.variables):
            found = self._terms(variable, rest)
            numbers = sorted((n, str(term)) for term in found if (n := _number(term)) is not None)
            if len(numbers) > 1:
                return (f"?{variable}: {_plain(numbers[0][1])} … {_plain(numbers[-1][1])}",)
            if found:
                return tuple(str(term) for term in found[:_NEAREST])
        return ()

    def _terms(self, variable: str, elements: Sequence[GroupElement]) -> list[Literal | NamedNode]:
        solutions = self._rows(self._parts.values(variable, elements, _VALUES), _VALUES)
        if solutions is None:
            return []
        return [row[0] for row in solutions.rows if isinstance(row[0], Literal | NamedNode)]

    def _count(self, elements: Sequence[GroupElement], limit: int) -> int | None:
        solutions = self._rows(self._parts.rows(elements, limit), limit)
        return None if solutions is None else len(solutions.rows)

    def _rows(self, query: str, limit: int) -> Solutions | None:
        left = self._end - time.monotonic()
        if left <= 0:
            return None
        try:
            return self._run(query, limit, left)
        except KgPlatformError:
            return None


def _without(elements: Sequence[GroupElement], left_out: int) -> list[GroupElement]:
    return _bound([element for n, element in enumerate(elements) if n != left_out])


def _alone(elements: Sequence[GroupElement], left_out: int) -> bool:
    """Whether a condition can be left out without a filter losing what it speaks of."""
    return len(_without(elements, left_out)) == len(elements) - 1


def _bound(elements: Sequence[GroupElement]) -> list[GroupElement]:
    """Without the filters that speak of what nothing binds any more."""
    known = frozenset[str]().union(*(e.variables for e in elements if e.form is not ElementKind.FILTER))
    return [
        e for e in elements if e.form is not ElementKind.FILTER or e.variables <= known or "EXISTS" in e.text.upper()
    ]


def _alike(wanted: str, found: Sequence[Literal | NamedNode]) -> tuple[str, ...]:
    """Those of the terms that resemble what was asked for; the nearest numbers of a number."""
    number = _float(wanted.partition("^^")[0].strip("\"'"))
    if number is not None:
        numbers = sorted((abs(n - number), str(term)) for term in found if (n := _number(term)) is not None)
        return tuple(_plain(text) for _, text in numbers[:_NEAREST])
    core = normalise(_words_of(wanted))
    ranked = sorted(found, key=lambda term: (-_similarity(core, normalise(_words_of(str(term)))), str(term)))
    close = [t for t in ranked if _similarity(core, normalise(_words_of(str(t)))) >= _CLOSE]
    return tuple(str(term) for term in (close or ranked)[:_NEAREST])


def _words_of(term: str) -> str:
    """The characters of a term that carry its meaning: those of a text, the last part of an IRI or prefixed name."""
    if term[:1] in "\"'":
        return term.strip().rpartition(term[0])[0].strip("\"'")
    return term.strip("<>").replace("#", "/").replace(":", "/").rpartition("/")[2].replace("_", " ")


def _similarity(one: str, other: str) -> float:
    if one and other and (one in other or other in one):
        return 0.9
    return difflib.SequenceMatcher(None, one, other).ratio()


def _plain(term: str) -> str:
    """A number without its datatype."""
    return term.partition("^^")[0].strip('"')


def _number(term: Literal | NamedNode) -> float | None:
    return _float(term.value) if isinstance(term, Literal) else None


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


# What makes a query slow: conditions that match a great deal by themselves, and those that nothing ties together.
#
# Each triple pattern is counted alone, up to ``BROAD`` rows, within a budget of time. Two sets of conditions without a
# common variable multiply, whatever their sizes.

BROAD = 10_000
"""A pattern with so many rows by itself selects little."""
_MOST_ELEMENTS = 40


@dataclass(frozen=True, slots=True)
class Broad:
    """A triple pattern that matches much by itself."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Slowness:
    """What was found out: the number of ``patterns``, the ``broad`` ones, and one that nothing ties to the first."""

    patterns: int = 0
    broad: tuple[Broad, ...] = ()
    apart: Broad | None = None

    def words(self, language: str = "en") -> str:
        """The reason as a sentence, in English or Chinese; empty where none was found."""
        chinese = language == "zh"
        if self.apart is not None:
            return _APART[chinese].format(*_shown(self.apart))
        if not self.broad:
            return ""
        many = "" if len(self.broad) == 1 else "s"
        selective = self.patterns - len(self.broad)
        text, line = _shown(self.broad[0])
        return _BROAD[chinese].format(selective, self.patterns, text, line, len(self.broad), many)


_BROAD = (
    "{0} of {1} patterns are selective; {2} on line {3} is not.",
    "{1} 个三元组模式中有 {0} 个有选择性；第 {3} 行的 {2} 没有。",
)
_APART = (
    "{0} on line {1} shares no variable with the conditions before it, so every row is combined with every other.",
    "第 {1} 行的 {0} 与前面的条件没有共同变量，因此每一行都要与其他所有行组合。",
)


def _shown(item: Broad) -> tuple[str, int]:
    text = " ".join(item.text.split())
    return (text if len(text) <= 120 else f"{text[:119]}…"), item.line


def why_slow(text: str, run: Run, *, seconds: float = 2.0) -> Slowness:
    """What makes the query slow, as far as it can be told in little more than ``seconds``.

    A pattern that could not be counted in its share of the time is a broad one.
    """
    parts = split_query(text)
    if parts is None or not 0 < len(parts.elements) <= _MOST_ELEMENTS:
        return Slowness()
    patterns = [element for element in parts.elements if element.form is ElementKind.PATTERN]
    end = time.monotonic() + seconds
    broad = tuple(Broad(item.text, item.line) for item in patterns if not _is_selective(item, parts, run, end))
    return Slowness(len(patterns), broad, _apart(parts.elements))


def _is_selective(pattern: GroupElement, parts: SplitQuery, run: Run, end: float) -> bool:
    left = end - time.monotonic()
    if left <= 0:
        return True  # nobody knows
    try:
        found = run(parts.rows((pattern,), BROAD), BROAD, left)
    except KgPlatformError:
        return False
    return len(found.rows) < BROAD


def _apart(elements: Sequence[GroupElement]) -> Broad | None:
    """The first condition of a set that has no variable in common with the set of the first one."""
    binding = [item for item in elements if item.form is not ElementKind.FILTER and item.variables]
    if not binding:
        return None
    tied, others = set(binding[0].variables), binding[1:]
    while near := [item for item in others if item.variables & tied]:
        tied = tied.union(*(item.variables for item in near))
        others = [item for item in others if item not in near]
    return Broad(others[0].text, others[0].line) if others else None
