"""How a query runs: its conditions in the order in which they are joined, each with the rows it matches and leaves.

The store does not tell its plan, but joins by a rule that does not look at the data: what has fewest unknowns, then
what shares a variable with it. Conditions are put in that order here, and each step is counted on the data: alone,
and together with the steps before it. The estimate is that of a textbook (P. G. Selinger et al., Access path selection
in a relational database management system, SIGMOD 1979): independent conditions, values spread evenly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from kgplatform.errors import QueryRejectedError, QuerySyntaxError, QueryTimeoutError
from kgplatform.sparql.emptiness import BROAD, Run
from kgplatform.sparql.syntax import ElementKind, GroupElement, SplitQuery, groups_in, split_query
from kgplatform.sparql.tokens import scan, tokens

MOST_ROWS: Final = 100_000
"""Rows are counted up to this many."""
_MOST_STEPS = 60
_LEAST_SECONDS = 0.25
_FILTERED = 3
_NUMBER = "kgp_rows"


class StepKind(StrEnum):
    """What a step does."""

    PATTERN = "pattern"
    PATH = "path"
    VALUES = "values"
    FILTER = "filter"
    BIND = "bind"
    OPTIONAL = "optional"
    MINUS = "minus"
    UNION = "union"
    GRAPH = "graph"
    GROUP = "group"
    SUBQUERY = "subquery"
    RESULT = "result"


_KINDS = frozenset(kind.value for kind in StepKind)
_BARRIERS = (StepKind.BIND, StepKind.OPTIONAL, StepKind.MINUS)
_NOT_JOINED = (*_BARRIERS, StepKind.FILTER)
_NESTING = (StepKind.OPTIONAL, StepKind.MINUS, StepKind.UNION, StepKind.GRAPH, StepKind.GROUP, StepKind.SUBQUERY)


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step: its text and line, how deep it is nested, the rows it has ``alone`` and that are left with it.

    Counts end at ``MOST_ROWS``; None is one that was not finished or does not apply. ``query`` is what ``rows`` counts,
    ``is_apart`` whether the step shares no variable with those before it, ``seconds`` what it adds to the time.
    """

    kind: StepKind
    text: str
    line: int
    depth: int = 0
    alone: int | None = None
    estimated: int | None = None
    rows: int | None = None
    seconds: float = 0.0
    query: str = ""
    is_apart: bool = False


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """The steps, and the place of the slow one among them: the first that was not counted, else that of most rows.

    Where there are fewer than ``BROAD`` rows, a step that took a noticeable time is the slow one.
    """

    steps: tuple[PlanStep, ...] = ()

    @property
    def slow(self) -> int | None:
        """The place of the slow step; None where all are quick."""
        listed = list(enumerate(self.steps))
        if late := [n for n, step in listed if step.rows is None]:
            return late[0]
        most = max(listed, key=lambda pair: (pair[1].rows or 0, -pair[0]), default=None)
        if most and (most[1].rows or 0) >= BROAD:
            return most[0]
        longest = max(listed, key=lambda pair: pair[1].seconds, default=None)
        return longest[0] if longest and longest[1].seconds >= _LEAST_SECONDS else None

    @property
    def verdict(self) -> tuple[str, int, int]:
        """What is to be said of it (the end of a phrase's key), of which line, and a number of rows."""
        if not self.steps:
            return "none", 0, 0
        at = self.slow
        if at is None:
            return "quick", 0, max(step.rows or 0 for step in self.steps)
        step = self.steps[at]
        if step.is_apart:
            return "apart", step.line, step.rows or 0
        if step.rows is None:
            return "uncounted", step.line, 0
        return ("many" if step.rows >= BROAD else "long"), step.line, step.rows


def explain(text: str, run: Run, *, seconds: float = 5.0) -> QueryPlan:
    """The plan of a query, without steps where it has no conditions or too many, made in little more than ``seconds``.

    Raises:
        QueryError: the query that counts was cancelled, as ``run`` says.
    """
    parts = split_query(text)
    if parts is None or len(parts.elements) > _MOST_STEPS:
        return QueryPlan()
    data = _trailing_values(parts)
    found = _Measure(parts, run, seconds)
    steps = found.group((*parts.elements, *data), _plain, _plain, _State())
    result = found.result(text, steps) if scan(text).form == "SELECT" else ()
    return QueryPlan((*steps, *result))


_Around = Callable[[str], str]


def _plain(body: str) -> str:
    return body


@dataclass(slots=True)
class _State:
    """What is joined so far: about how many rows, which values its variables have, and how long counting it took."""

    rows: float = 1.0
    distinct: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def join(self, alone: int, distinct: dict[str, int], *, keeps_all: bool = False) -> None:
        """Takes one more condition in, of so many rows and values."""
        shared = 1.0
        for name in distinct.keys() & self.distinct.keys():
            shared *= max(1, self.distinct[name], distinct[name])
        joined = self.rows * alone / shared
        self.rows = max(self.rows, joined) if keeps_all else joined
        for name, number in distinct.items():
            self.distinct[name] = min(number, self.distinct.get(name, number))


class _Measure:
    """Counts, with what is left of the time."""

    def __init__(self, parts: SplitQuery, run: Run, seconds: float) -> None:
        self._prologue = parts.prologue
        self._head = parts.head
        self._dataset = _dataset(parts.head)
        self._run = run
        self._left_steps = _MOST_STEPS
        self._end = time.monotonic() + seconds

    def group(
        self, elements: Iterable[GroupElement], around: _Around, alone: _Around, state: _State, depth: int = 0
    ) -> tuple[PlanStep, ...]:
        """The steps of a group, whose conditions ``around`` puts among those outside, ``alone`` into their graph."""
        found: list[PlanStep] = []
        before: list[GroupElement] = []
        for element in _joined(elements):
            if self._left_steps == 0:
                break
            self._left_steps -= 1
            kind = _kind(element)
            outer = _State(state.rows, dict(state.distinct), state.seconds)
            is_apart = bool(state.distinct) and not element.variables & state.distinct.keys()
            matched = self._estimate(element, kind, alone, state)
            body = around(_body([*before, element]))
            rows, spent = self._rows(body, state, is_hopeless=bool(found) and _last(found, depth).rows is None)
            found.append(
                PlanStep(
                    *(kind, _line_of(element.text), element.line, depth),
                    alone=matched,
                    estimated=round(min(state.rows, 1e15)),
                    rows=rows,
                    seconds=spent,
                    query=self._query(body),
                    is_apart=is_apart and bool(element.variables) and kind not in _NOT_JOINED,
                )
            )
            found += self._nested(element, kind, _body(before), around, alone, outer, depth + 1)
            before.append(element)
        return tuple(found)

    def _nested(
        self,
        element: GroupElement,
        kind: StepKind,
        before: str,
        around: _Around,
        alone: _Around,
        state: _State,
        depth: int,
    ) -> list[PlanStep]:
        found: list[PlanStep] = []
        for part in groups_in(element) if kind in _NESTING else ():
            head = "" if kind is StepKind.UNION else part.head
            graph = head if kind is StepKind.GRAPH else ""

            def inside(body: str, graph: str = graph) -> str:
                return alone(f"{graph}{{ {body} }}" if graph else body)

            def beside(body: str, head: str = head) -> str:
                return around(f"{before}\n{head}{{ {body} }}")

            begun = _State(state.rows, dict(state.distinct), state.seconds)
            fresh = part.is_query or kind is StepKind.MINUS
            found += self.group(
                part.elements, inside if part.is_query else beside, inside, _State() if fresh else begun, depth
            )
        return found

    def result(self, text: str, steps: Sequence[PlanStep]) -> tuple[PlanStep, ...]:
        """The last step: what SELECT, GROUP BY and LIMIT make of the rows; nothing where there is no more to it."""
        parts = split_query(text)
        if parts is None or not steps:
            return ()
        head = self._head.replace(self._dataset, " ") if self._dataset else self._head
        body = f"{{ {text[len(parts.prologue) :].replace(self._head, head, 1)} }}"
        state = _State(seconds=sum(step.seconds for step in steps if step.depth == 0))
        rows, spent = self._rows(body, state, is_hopeless=False)
        shown = _line_of(f"{' '.join(self._head.split())} {parts.tail[1:]}")
        line = parts.prologue.count("\n") + 1
        return (PlanStep(StepKind.RESULT, shown, line, rows=rows, seconds=spent, query=text),)

    def _rows(self, body: str, state: _State, *, is_hopeless: bool) -> tuple[int | None, float]:
        """How many rows there are, and how much longer that took than before."""
        if is_hopeless:
            return None, 0.0
        begun = time.monotonic()
        numbers = self._counted(body)
        took = time.monotonic() - begun
        spent, state.seconds = max(0.0, took - state.seconds), took
        return numbers[0] if numbers else None, spent

    def _estimate(self, element: GroupElement, kind: StepKind, alone: _Around, state: _State) -> int | None:
        """How many rows the condition has alone, which goes into the estimate."""
        if kind is StepKind.FILTER:
            state.rows /= _FILTERED
        if kind in (StepKind.FILTER, StepKind.BIND, StepKind.MINUS):
            if kind is StepKind.BIND:
                state.distinct |= dict.fromkeys(element.variables - state.distinct.keys(), 1)
            return None
        names = sorted(element.variables)[:12]
        is_optional = kind is StepKind.OPTIONAL
        text = _body([element])
        inner = text[len("OPTIONAL") :] if is_optional else text
        numbers = self._counted(alone(inner), names)
        if numbers is None:
            state.join(MOST_ROWS, dict.fromkeys(names, MOST_ROWS), keeps_all=is_optional)
            return None
        state.join(numbers[0], dict(zip(names, numbers[1:], strict=True)), keeps_all=is_optional)
        return numbers[0]

    def _counted(self, body: str, names: Sequence[str] = ()) -> list[int] | None:
        """The number of rows and of the different values of the variables; None if that was not to be had."""
        left = self._end - time.monotonic()
        if left <= 0:
            return None
        values = "".join(f" (COUNT(DISTINCT ?{name}) AS ?{_NUMBER}_{n})" for n, name in enumerate(names))
        limited = f"{{ SELECT * {{ {body}\n}} LIMIT {MOST_ROWS} }}"
        query = f"{self._prologue}SELECT (COUNT(*) AS ?{_NUMBER}){values} {self._dataset} {limited}"
        try:
            found = self._run(query, 1, max(left / 2, min(left, _LEAST_SECONDS)))
        except (QueryTimeoutError, QueryRejectedError, QuerySyntaxError):
            return None
        return [int(getattr(term, "value", "0")) for term in found.rows[0]]

    def _query(self, body: str) -> str:
        lines = "\n".join(f"  {line.strip()}" for line in body.split("\n") if line.strip())
        return f"{self._prologue}SELECT * {self._dataset}{{\n{lines}\n}}"


def _last(found: Sequence[PlanStep], depth: int) -> PlanStep:
    return next(step for step in reversed(found) if step.depth == depth)


def _body(elements: Iterable[GroupElement]) -> str:
    closed = (item.form is not ElementKind.PATTERN and not item.text.endswith("]") for item in elements)
    return "\n".join(
        item.text if is_closed else f"{item.text} ." for item, is_closed in zip(elements, closed, strict=True)
    )


def _line_of(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 160 else f"{words[:159]}…"


def _dataset(head: str) -> str:
    """The FROM clauses of a query's head, as they are written."""
    listed = list(tokens(head))
    begin = next((token.start for token in listed if token.text.upper() == "FROM"), len(head))
    end = next((token.start for token in listed if token.start > begin and token.text.upper() == "WHERE"), len(head))
    return head[begin:end]


def _trailing_values(parts: SplitQuery) -> tuple[GroupElement, ...]:
    """The VALUES behind a query that does not group: they are joined with its conditions."""
    listed = list(tokens(parts.tail))
    words = {token.text.upper() for token in (*listed, *tokens(parts.head)) if token.kind == "word"}
    at = next((n for n, token in enumerate(listed) if token.text.upper() == "VALUES"), None)
    if at is None or words & {"GROUP", "HAVING", "COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT"}:
        return ()
    text = parts.tail[listed[at].start :].strip()
    before = "\n".join((parts.prologue, parts.head, *(item.text for item in parts.elements)))
    names = frozenset(token.text[1:] for token in tokens(text) if token.kind == "variable")
    return (GroupElement(ElementKind.VALUES, text, before.count("\n") + 1, names),)


def _kind(element: GroupElement) -> StepKind:
    """What the condition is, by its first word or brace."""
    if element.form is ElementKind.PATTERN:
        marks = [token.text for token in tokens(element.head) if token.kind in ("mark", "open")]
        return StepKind.PATH if set(marks) & set("^!/|*+?") else StepKind.PATTERN
    first = next(tokens(element.text)).text.upper()
    if first != "{":
        return StepKind(first.lower()) if first.lower() in _KINDS else StepKind.PATTERN
    parts = groups_in(element)
    if len(parts) > 1:
        return StepKind.UNION
    return StepKind.SUBQUERY if parts and parts[0].is_query else StepKind.GROUP


def _joined(elements: Iterable[GroupElement]) -> list[GroupElement]:
    """The conditions in the order of the store: barriers stay where they are, filters come when all is known."""
    listed = list(elements)
    filters = [item for item in listed if item.form is ElementKind.FILTER]
    known: set[str] = set()
    found: list[GroupElement] = []

    def take(item: GroupElement) -> None:
        found.append(item)
        known.update(item.variables)
        for ready in [one for one in filters if one.variables <= known]:
            filters.remove(ready)
            found.append(ready)

    waiting: list[GroupElement] = []
    for item in (*(item for item in listed if item.form is not ElementKind.FILTER), None):
        if item is not None and _kind(item) not in _BARRIERS:
            waiting.append(item)
            continue
        while waiting:
            chosen = min(waiting, key=lambda one: _rank(one, known))
            waiting.remove(chosen)
            take(chosen)
        if item is not None:
            take(item)
    return [*found, *filters]


_RANKS = {"spo": 0, "so": 1, "sp": 2, "s": 3, "po": 4, "o": 5, "p": 6, "": 7}


def _rank(element: GroupElement, known: set[str]) -> tuple[bool, int]:
    """How late the condition is joined: those that share a variable first, then by how much of them is known."""
    is_apart = bool(known and element.variables and not element.variables & known)
    if element.form is ElementKind.VALUES:
        return is_apart, 2
    if element.form is not ElementKind.PATTERN or not element.head:
        return is_apart, 6
    subject, *path = tokens(element.head)
    ends = {"s": subject.text, "p": path[0].text if path else "", "o": element.object}
    bound = "".join(place for place, text in ends.items() if _is_known(text, known))
    closure = 3 if path and path[-1].text in ("*", "+") and not {"s", "o"} <= set(bound) else 0
    return is_apart, _RANKS[bound] + closure


def _is_known(text: str, known: set[str]) -> bool:
    return text[1:] in known if text[:1] in ("?", "$") else not text.startswith(("_:", "[", "("))
