"""The logical form of a question: what it denotes in a graph, the query that asks for it, and its words.

A set form denotes things or values: `Named`, `Kind`, `Follow`, `And`, `Or`, `Without`, `Has`, `Compare`, `Period`,
`Top`. A question asks for a set (`Listed`), its size (`SizeOf`), an aggregate, a table by groups, or yes or no. The
forms are those of lambda dependency-based compositional semantics (Liang 2013), typed by what the data holds.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import count as counter
from typing import TypeAlias

from pyoxigraph import NamedNode

from kgplatform.questions.forms.fact_graph import NOTHING, FactGraph, Items, Path, union
from kgplatform.vocab import RDF, XSD


@dataclass(frozen=True, slots=True)
class Named:
    """The things or values that one name stands for; ``said`` is how the question names them."""

    items: Items
    said: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """Everything of a class."""

    iri: NamedNode


@dataclass(frozen=True, slots=True)
class Follow:
    """What ``of`` has by a property (``outward``), or what has one of ``of`` by it; ``again``: any number of times."""

    predicate: NamedNode
    outward: bool
    of: SetForm
    again: bool = False


@dataclass(frozen=True, slots=True)
class Has:
    """What has a property at all (``outward``), or is a value of it."""

    predicate: NamedNode
    outward: bool = True


@dataclass(frozen=True, slots=True)
class And:
    """What is in every part."""

    parts: tuple[SetForm, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """What is in any part."""

    parts: tuple[SetForm, ...]


@dataclass(frozen=True, slots=True)
class Without:
    """What is in ``base`` and not in ``excluded``."""

    base: SetForm
    excluded: SetForm


@dataclass(frozen=True, slots=True)
class Compare:
    """What has a number by the property that lies within two bounds; None is open, ``strict`` leaves them out."""

    predicate: NamedNode
    low: float | None
    high: float | None
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Period:
    """What has a date by the property within two, both included: ``2024``, ``2024-05``, a day, or empty for open."""

    predicate: NamedNode
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class Against:
    """What has more (or less) by a property than ``other`` has: than ``all`` of it, than ``any``, or ``average``."""

    predicate: NamedNode
    more: bool
    other: SetForm
    than: str = "all"


@dataclass(frozen=True, slots=True)
class HasMany:
    """What has so many by a property (``outward``), or of which so many have it; None is open."""

    predicate: NamedNode
    outward: bool
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class Top:
    """Those of ``base`` with the most (or least) by a path of properties; ``counted``: of how many it leads to.

    ``size`` of them; those level with the last are kept where it is one.
    """

    base: SetForm
    path: Path
    most: bool
    counted: bool = False
    size: int = 1


SetForm: TypeAlias = Named | Kind | Follow | Has | And | Or | Without | Compare | Period | Against | HasMany | Top


@dataclass(frozen=True, slots=True)
class Listed:
    """The members of a set, with what they have by further properties (``columns``); ``bare``: these alone."""

    of: SetForm
    columns: Path = ()
    bare: bool = False


@dataclass(frozen=True, slots=True)
class SizeOf:
    """How many there are."""

    of: SetForm


@dataclass(frozen=True, slots=True)
class Aggregated:
    """``AVG``, ``SUM``, ``MIN`` or ``MAX`` of what a set's members have by a property."""

    function: str
    predicate: NamedNode
    of: SetForm


@dataclass(frozen=True, slots=True)
class Grouped:
    """For each thing to which ``key`` leads from the members of a set, how many lead there, or their aggregate."""

    of: SetForm
    key: Path
    function: str = "COUNT"
    predicate: NamedNode | None = None


@dataclass(frozen=True, slots=True)
class IsAny:
    """Whether there is any."""

    of: SetForm


@dataclass(frozen=True, slots=True)
class IsMore:
    """Whether the first has more (or less) than the second by a property."""

    predicate: NamedNode
    more: bool
    first: SetForm
    second: SetForm


@dataclass(frozen=True, slots=True)
class DifferenceOf:
    """How far apart two things are by a number that they have, or by how many they have (``counted``)."""

    predicate: NamedNode
    outward: bool
    first: SetForm
    second: SetForm
    counted: bool = False


@dataclass(frozen=True, slots=True)
class Share:
    """Which part of ``whole`` is in ``part``, too: of one, or of a hundred."""

    whole: SetForm
    part: SetForm
    percent: bool = False


Form: TypeAlias = Listed | SizeOf | Aggregated | Grouped | IsAny | IsMore | DifferenceOf | Share

Row: TypeAlias = tuple[object, ...]


def could_be(items: Items, form: SetForm, graph: FactGraph) -> bool:
    """Whether things are of a kind with what a set form may denote, whatever it does: no person is a year.

    A thing may be of any class, and one of no class may be anything. One without a number is neither more nor less.
    """
    kinds = frozenset().union(*(graph.kinds_of.get(item, frozenset()) for item in items))
    match form:
        case And(parts):
            return all(could_be(items, part, graph) for part in parts)
        case Or(parts):
            return any(could_be(items, part, graph) for part in parts)
        case Without(base, _) | Top(base):
            return could_be(items, base, graph)
        case Named():
            return False
        case Follow(predicate, outward):
            return not kinds or bool(kinds & graph.kinds_at(predicate, outward=outward))
        case Has(predicate, outward) | HasMany(predicate, outward):
            return not kinds or bool(kinds & graph.kinds_at(predicate, outward=not outward))
        case Compare(predicate) | Period(predicate) | Against(predicate):
            return items <= graph.subjects.get(predicate, NOTHING)
        case _:
            return True


def items_of(form: SetForm, graph: FactGraph) -> Items:
    """The things and values that a set form denotes."""
    match form:
        case Named(items):
            return items
        case Kind(iri):
            return graph.classes.get(iri, NOTHING)
        case Has(predicate, outward):
            return (graph.subjects if outward else graph.objects).get(predicate, NOTHING)
        case Follow(predicate, outward, of, again):
            return _followed(graph, predicate, items_of(of, graph), outward=outward, again=again)
        case And(parts):
            return frozenset.intersection(*(items_of(part, graph) for part in parts))
        case Or(parts):
            return union(items_of(part, graph) for part in parts)
        case Without(base, excluded):
            return items_of(base, graph) - items_of(excluded, graph)
        case _:
            return _measured_off(form, graph)


def _measured_off(form: Compare | Period | Against | HasMany | Top, graph: FactGraph) -> Items:
    match form:
        case Compare(predicate, low, high, strict):
            return compared(graph, predicate, low, high, strict=strict)
        case Period(predicate, low, high):
            return graph.in_period(predicate, low, high)
        case Against(predicate, more, other, than):
            return _against(graph, predicate, items_of(other, graph), more=more, than=than)
        case HasMany(predicate, outward, low, high):
            ways = (graph.forward if outward else graph.backward).get(predicate, {})
            fit = range(low or 1, len(graph.terms) + 1 if high is None else high + 1)
            return frozenset(item for item, ends in ways.items() if len(ends) in fit)
        case Top(base, path, most, counted, size):
            return _top(graph, items_of(base, graph), path, most=most, counted=counted, size=size)


def _followed(graph: FactGraph, predicate: NamedNode, items: Items, *, outward: bool, again: bool) -> Items:
    found = graph.follow(predicate, items, outward=outward)
    fresh = found
    while again and (fresh := graph.follow(predicate, fresh, outward=outward) - found):
        found |= fresh
    return found


def compared(graph: FactGraph, predicate: NamedNode, low: float | None, high: float | None, *, strict: bool) -> Items:
    """What has a number by the property within the bounds."""

    def within(item: int) -> bool:
        size = graph.magnitude(item)
        if size is None:
            return False
        if strict:
            return (low is None or size > low) and (high is None or size < high)
        return (low is None or size >= low) and (high is None or size <= high)

    values = frozenset(item for item in graph.objects.get(predicate, ()) if within(item))
    return graph.follow(predicate, values, outward=False)


def _against(graph: FactGraph, predicate: NamedNode, other: Items, *, more: bool, than: str = "all") -> Items:
    limit = _aggregate(graph, _LIMITS[than, more], predicate, other)
    if limit is None:
        return NOTHING
    low, high = (limit, None) if more else (None, limit)
    found = compared(graph, predicate, low, high, strict=True)
    return found - other if than == "all" else found


_LIMITS = {
    ("all", True): "MAX", ("all", False): "MIN", ("any", True): "MIN", ("any", False): "MAX",
    ("average", True): "AVG", ("average", False): "AVG",
}  # fmt: skip
"""The value that what has more (or less) than others has to be above (or below)."""


def along(graph: FactGraph, items: Items, path: Path) -> Items:
    """Where a path of properties leads."""
    for predicate, outward in path:
        items = graph.follow(predicate, items, outward=outward)
    return items


def _measured(graph: FactGraph, items: Items, path: Path, *, most: bool, counted: bool) -> Mapping[int, float]:
    """What each item has by a path, the greatest (or least) of several, or how many; of one step it is looked up."""
    (predicate, outward), *rest = path
    if not rest and counted:
        ways = (graph.forward if outward else graph.backward).get(predicate, {})
        return {item: float(len(ways[item])) for item in items & ways.keys()}
    if not rest and outward:
        own = graph.sizes(predicate, most=most)
        return {item: own[item] for item in items & own.keys()}
    found = ((item, along(graph, frozenset((item,)), path)) for item in items)
    if counted:  # the query counts what is there, so none is not the least
        return {item: float(len(ends)) for item, ends in found if ends}
    best = max if most else min
    told = ((item, [size for end in ends if (size := graph.magnitude(end)) is not None]) for item, ends in found)
    return {item: best(sizes) for item, sizes in told if sizes}


def _top(graph: FactGraph, items: Items, path: Path, *, most: bool, counted: bool, size: int) -> Items:
    found = _measured(graph, items, path, most=most, counted=counted)
    if not found:
        return NOTHING
    if size == 1:
        best = max(found.values()) if most else min(found.values())
        return frozenset(item for item, value in found.items() if value == best)
    order = sorted(found, key=lambda item: (-found[item] if most else found[item], item))
    return frozenset(order[:size])


def denotation(form: Form, graph: FactGraph) -> list[Row]:
    """The rows that the form gives: terms, numbers, or one truth value."""
    match form:
        case Listed(of, columns, bare):
            return [row[bare:] for row in _rows(graph, items_of(of, graph), columns)]
        case SizeOf(of):
            return [(len(items_of(of, graph)),)]
        case Aggregated(function, predicate, of):
            value = _aggregate(graph, function, predicate, items_of(of, graph))
            return [] if value is None else [(value,)]
        case Grouped(of, key, function, predicate):
            return list(_grouped(graph, items_of(of, graph), key, function, predicate))
        case IsAny(of):
            return [(bool(items_of(of, graph)),)]
        case IsMore(predicate, more, first, second):
            return [(bool(items_of(first, graph) & _against(graph, predicate, items_of(second, graph), more=more)),)]
        case DifferenceOf(first=first, second=second):
            one, other = (_size(form, items_of(side, graph), graph) for side in (first, second))
            return [] if one is None or other is None else [(abs(one - other),)]
        case Share(whole, part, percent):
            every = items_of(whole, graph)
            share = len(every & items_of(part, graph)) * (100 if percent else 1) / len(every) if every else None
            return [] if share is None else [(share,)]


def _size(form: DifferenceOf, items: Items, graph: FactGraph) -> float | None:
    ends = graph.follow(form.predicate, items, outward=form.outward)
    if form.counted:
        return float(len(ends))
    return max((size for end in ends if (size := graph.magnitude(end)) is not None), default=None)


def _rows(graph: FactGraph, items: Items, columns: Path) -> Iterator[Row]:
    for item in items:
        rows: list[Row] = [(graph.terms[item],)]
        for predicate, outward in columns:
            ends = graph.follow(predicate, frozenset((item,)), outward=outward)
            rows = [(*row, graph.terms[end]) for row in rows for end in ends]
        yield from rows


def _aggregate(graph: FactGraph, function: str, predicate: NamedNode, items: Items) -> float | None:
    # a value that two things have counts twice
    values = [
        size
        for item in items
        for end in graph.follow(predicate, frozenset((item,)), outward=True)
        if (size := graph.magnitude(end)) is not None
    ]
    if not values:
        return None
    match function:
        case "AVG":
            return sum(values) / len(values)
        case "SUM":
            return sum(values)
        case "MIN":
            return min(values)
        case _:
            return max(values)


def _grouped(graph: FactGraph, items: Items, key: Path, function: str, predicate: NamedNode | None) -> Iterator[Row]:
    groups: dict[int, set[int]] = {}
    for item in items:
        for end in along(graph, frozenset((item,)), key):
            groups.setdefault(end, set()).add(item)
    for end, members in groups.items():
        if predicate is None:
            yield graph.terms[end], len(members)
        elif (value := _aggregate(graph, function, predicate, frozenset(members))) is not None:
            yield graph.terms[end], value


# The query of a form. Terms are written by the store's own writer; nothing of a question's text gets into a query.


class _Writer:
    def __init__(self, graph: FactGraph) -> None:
        self._graph = graph
        self._numbers = counter(1)

    def fresh(self) -> str:
        return f"?v{next(self._numbers)}"

    def term(self, item: int) -> str:
        return str(self._graph.terms[item])

    def kind(self, iri: NamedNode, variable: str) -> str:
        below = sorted(self._graph.schema.subclasses(iri) | {iri}, key=str)
        if len(below) == 1:
            return f"{variable} <{RDF}type> {iri} ."
        type_ = self.fresh()
        return f"{variable} <{RDF}type> {type_} . VALUES {type_} {{ {' '.join(map(str, below))} }}"

    def step(self, predicate: NamedNode, start: str, end: str, *, outward: bool, again: bool = False) -> str:
        path = f"{predicate}+" if again else str(predicate)
        return f"{start} {path} {end} ." if outward else f"{end} {path} {start} ."

    def pattern(self, form: SetForm, variable: str) -> str:
        """A graph pattern in which the variable stands for each member of the set."""
        match form:
            case Named(items):
                return f"VALUES {variable} {{ {' '.join(map(self.term, sorted(items)))} }}"
            case Kind(iri):
                return self.kind(iri, variable)
            case Has(predicate, outward):
                return self.step(predicate, variable, self.fresh(), outward=outward)
            case Follow(predicate, outward, of, again):
                if isinstance(of, Named) and len(of.items) == 1:
                    return self.step(predicate, self.term(min(of.items)), variable, outward=outward, again=again)
                inner = self.fresh()
                step = self.step(predicate, inner, variable, outward=outward, again=again)
                return f"{self.pattern(of, inner)} {step}"
            case And(parts):
                return " ".join(self.pattern(part, variable) for part in parts)
            case Or(parts):
                return " UNION ".join(f"{{ {self.pattern(part, variable)} }}" for part in parts)
            case Without(base, excluded):
                return f"{self.pattern(base, variable)} FILTER NOT EXISTS {{ {self.pattern(excluded, variable)} }}"
            case _:
                return self._measured_off(form, variable)

    def _measured_off(self, form: Compare | Period | Against | HasMany | Top, variable: str) -> str:
        match form:
            case Compare(predicate, low, high, strict):
                return self._bounds(predicate, variable, low, high, strict=strict)
            case Period(predicate, low, high):
                end = self.fresh()
                tests = [
                    f'SUBSTR(STR({end}), 1, {len(bound)}) {sign} "{bound}"'
                    for sign, bound in ((">=", low), ("<=", high))
                    if bound
                ]
                return f"{self.step(predicate, variable, end, outward=True)} FILTER ({' && '.join(tests)})"
            case Against(predicate, more, other, than):
                mine, others, thing, best = (self.fresh() for _ in range(4))
                inner = f"{self.pattern(other, thing)} {self.step(predicate, thing, others, outward=True)}"
                if than == "average":  # a value that two things have counts twice
                    inner = f"{{ SELECT DISTINCT {thing} {others} WHERE {{ {inner} }} }}"
                sign = ">" if more else "<"
                return (
                    f"{{ SELECT ({_LIMITS[than, more]}({others}) AS {best}) WHERE {{ {inner} }} }} "
                    f"{self.step(predicate, variable, mine, outward=True)} FILTER ({mine} {sign} {best})"
                )
            case HasMany(predicate, outward, low, high):
                end = self.fresh()
                number = f"COUNT(DISTINCT {end})"
                tests = [f"{number} {sign} {bound}" for sign, bound in ((">=", low), ("<=", high)) if bound is not None]
                return (
                    f"{{ SELECT {variable} WHERE {{ {self.step(predicate, variable, end, outward=outward)} }} "
                    f"GROUP BY {variable} HAVING ({' && '.join(tests)}) }}"
                )
            case Top():
                return self._top(form, variable)

    def _bounds(
        self, predicate: NamedNode, variable: str, low: float | None, high: float | None, *, strict: bool
    ) -> str:
        end = self.fresh()
        temporal = self._graph.ordered.get(predicate, False)
        equal = "" if strict else "="
        tests = [
            f"{end} {sign}{equal} {_bound(bound, temporal=temporal)}"
            for sign, bound in ((">", low), ("<", high))
            if bound is not None
        ]
        return f"{self.step(predicate, variable, end, outward=True)} FILTER ({' && '.join(tests)})"

    def path(self, start: str, path: Path, end: str) -> str:
        steps = []
        for place, (predicate, outward) in enumerate(path):
            onward = end if place == len(path) - 1 else self.fresh()
            steps.append(self.step(predicate, start, onward, outward=outward))
            start = onward
        return " ".join(steps)

    def _top(self, form: Top, variable: str) -> str:
        function = "MAX" if form.most else "MIN"
        direction = "DESC" if form.most else "ASC"

        def measure(thing: str, size: str) -> str:
            """A sub-query with each thing and its measure."""
            if form.counted:
                end = self.fresh()
                inner = f"{self.pattern(form.base, thing)} {self.path(thing, form.path, end)}"
                return f"{{ SELECT {thing} (COUNT(DISTINCT {end}) AS {size}) WHERE {{ {inner} }} GROUP BY {thing} }}"
            return f"{self.pattern(form.base, thing)} {self.path(thing, form.path, size)}"

        size = self.fresh()
        if form.size > 1:
            inner = measure(variable, size)
            best = f"({'MAX' if form.most else 'MIN'}({size}) AS {size}b)"
            return (
                f"{{ SELECT {variable} {best} WHERE {{ {inner} }} GROUP BY {variable} "
                f"ORDER BY {direction}({size}b) LIMIT {form.size} }}"
            )
        thing, other, best = self.fresh(), self.fresh(), self.fresh()
        return (
            f"{{ SELECT ({function}({other}) AS {best}) WHERE {{ {measure(thing, other)} }} }} "
            f"{measure(variable, size)} FILTER ({size} = {best})"
        )


def _bound(value: float, *, temporal: bool) -> str:
    if temporal:
        return f'"{_time(value)}"^^<{XSD}time>'
    return f"{value:.0f}" if value == int(value) else repr(value)


def _time(value: float) -> str:
    seconds = int(value)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def sparql(form: Form, graph: FactGraph) -> str:
    """The query that asks for a form; its columns are called ``answer``, ``value``, ``count``, ``group``."""
    writer = _Writer(graph)
    match form:
        case Listed(of, columns, bare):
            body = writer.pattern(of, "?answer")
            names = [f"?value{place or ''}" for place in range(len(columns))]
            for (predicate, outward), name in zip(columns, names, strict=True):
                body += f" {writer.step(predicate, '?answer', name, outward=outward)}"
            return f"SELECT DISTINCT {' '.join(('?answer', *names)[bare:])} WHERE {{ {body} }}"
        case SizeOf(of):
            return f"SELECT (COUNT(DISTINCT ?answer) AS ?count) WHERE {{ {writer.pattern(of, '?answer')} }}"
        case Aggregated(function, predicate, of):
            inner = f"{writer.pattern(of, '?item')} {writer.step(predicate, '?item', '?of', outward=True)}"
            return f"SELECT ({function}(?of) AS ?value) WHERE {{ SELECT DISTINCT ?item ?of WHERE {{ {inner} }} }}"
        case Grouped(of, key, function, measured):
            inner = f"{writer.pattern(of, '?item')} {writer.path('?item', key, '?group')}"
            if measured is None:
                return (
                    f"SELECT ?group (COUNT(DISTINCT ?item) AS ?count) WHERE {{ {inner} }} GROUP BY ?group "
                    "ORDER BY DESC(?count)"
                )
            inner += f" {writer.step(measured, '?item', '?of', outward=True)}"
            return (
                f"SELECT ?group ({function}(?of) AS ?value) WHERE {{ "
                f"{{ SELECT DISTINCT ?group ?item ?of WHERE {{ {inner} }} }} }} GROUP BY ?group ORDER BY DESC(?value)"
            )
        case IsAny(of):
            return f"ASK {{ {writer.pattern(of, '?answer')} }}"
        case IsMore(predicate, more, first, second):
            part = And((first, Against(predicate, more, second)))
            return f"ASK {{ {writer.pattern(part, '?answer')} }}"
        case DifferenceOf() | Share():
            return _of_two(form, writer)


def _of_two(form: DifferenceOf | Share, writer: _Writer) -> str:
    """The query that calculates with what two sub-queries give."""

    def side(function: str, name: str, body: str) -> str:
        return f"{{ SELECT ({function} AS {name}) WHERE {{ {body} }} }}"

    if isinstance(form, Share):
        of = ((And((form.whole, form.part)), "?part"), (form.whole, "?whole"))
        sides = (side("COUNT(DISTINCT ?item)", name, writer.pattern(one, "?item")) for one, name in of)
        value = "100 * ?part / ?whole AS ?percentage" if form.percent else "?part / ?whole AS ?share"
    else:
        function = "COUNT(DISTINCT ?of)" if form.counted else "MAX(?of)"
        step = writer.step(form.predicate, "?item", "?of", outward=form.outward)
        pairs = ((form.first, "?one"), (form.second, "?other"))
        sides = (side(function, name, f"{writer.pattern(one, '?item')} {step}") for one, name in pairs)
        value = "ABS(?one - ?other) AS ?difference"
    return f"SELECT ({value}) WHERE {{ {' '.join(sides)} }}"


def numbers_in(form: object) -> int:
    """How many constructors a form has."""
    return sum(1 for _ in parts_of(form))


def parts_of(form: object) -> Iterator[object]:
    """A form and every form inside it."""
    if isinstance(form, tuple):
        for part in form:
            yield from parts_of(part)
    elif fields := getattr(form, "__dataclass_fields__", None):
        yield form
        for name in fields:
            yield from parts_of(getattr(form, name))


# In words: what "Interpreted as" shows.

_MOST_NAMES = 3


@cache
def _patterns(language: str) -> Mapping[str, str]:
    path = files("kgplatform") / "words" / "forms.toml"
    said: dict[str, dict[str, str]] = tomllib.loads(path.read_text(encoding="utf-8"))
    return said.get(language, said["en"])


class FormWording:
    """Says forms in one language, with the labels of a graph."""

    def __init__(self, graph: FactGraph, label: Callable[[object], str], language: str) -> None:
        """``label`` gives the name of a thing or the text of a literal."""
        self._graph, self._label, self._language = graph, label, language
        self._said = _patterns(language)

    def __call__(self, form: Form) -> str:
        """The form in words, one noun phrase or a clause with *whether*."""
        match form:
            case Listed(of, columns):
                said = self.set(of)
                for place in range(len(columns)):
                    said = self._say("and" if place else "columns", said, self._path(columns[place : place + 1]))
                return said
            case SizeOf(of):
                return self._say("count", self.set(of))
            case Aggregated(function, predicate, of):
                return self._say(function, self.term(predicate), self.set(of))
            case Grouped(of, key, function, predicate):
                what = (
                    self._say("count", self.set(of))
                    if predicate is None
                    else self._say(function, self.term(predicate), self.set(of))
                )
                return self._say("each", what, self._end(key[-1][0], outward=key[-1][1]))
            case IsAny(And((Named() as one, *rest))) if rest:
                return self._say("ask_of", self.set(one), self.set(And(tuple(rest)) if len(rest) > 1 else rest[0]))
            case IsAny(of):
                return self._say("ask", self.set(of))
            case IsMore(predicate, more, first, second):
                return self._say(
                    "is_more" if more else "is_less", self.term(predicate), self.set(first), self.set(second)
                )
            case DifferenceOf() | Share():
                return self._of_two(form)

    def _of_two(self, form: DifferenceOf | Share) -> str:
        if isinstance(form, Share):
            both = self.set(And((form.whole, form.part)))
            return self._say("percentage" if form.percent else "share", self.set(form.whole), both)
        what = self._end(form.predicate, outward=form.outward)
        what = self._say("number_of", what) if form.counted else what
        return self._say("difference", what, self.set(form.first), self.set(form.second))

    def _say(self, name: str, *parts: str) -> str:
        return self._said[name].format(*parts)

    def term(self, iri: NamedNode) -> str:
        """A class or property by its label, as a noun."""
        return self._graph.schema.noun(iri, self._language)

    def _end(self, predicate: NamedNode, *, outward: bool) -> str:
        """What a step leads to: by the property, or by the class of what has it."""
        if outward:
            return self.term(predicate)
        domains = self._graph.schema.domains(predicate)
        return self.term(domains[0]) if domains else self._say("number_of", self.term(predicate))

    def _path(self, path: Path) -> str:
        return " ".join(self._end(predicate, outward=outward) for predicate, outward in path)

    def set(self, form: SetForm) -> str:
        """A set form as a noun phrase."""
        return self._with(form, "")

    def _with(self, form: SetForm, kind: str) -> str:
        """A set form as a noun phrase about a kind of thing that is already said."""
        what = kind or self._say("thing")
        match form:
            case Named(items, said):
                names = list(dict.fromkeys(self._label(self._graph.terms[item]) for item in sorted(items)))
                return said if len(names) > _MOST_NAMES and said else self._either(names)
            case Kind(iri):
                return self.term(iri)
            case Follow():
                return self._followed(form, kind)
            case Has(predicate, outward):
                return self._say("has" if outward else "is", what, self._end(predicate, outward=outward))
            case And(parts):
                return self._all(parts, kind)
            case Or(parts):
                return self._either([self._with(part, kind) for part in parts])
            case _:
                return self._restricted(form, kind)

    def _either(self, names: list[str]) -> str:
        name = names[0]
        for other in names[1:_MOST_NAMES]:
            name = self._say("or", name, other)
        return name

    def _restricted(self, form: Without | Compare | Period | Against | HasMany | Top, kind: str) -> str:
        what = kind or self._say("thing")
        match form:
            case Without(base, Has(predicate, outward)):
                return self._say("without", self._with(base, kind), self._end(predicate, outward=outward))
            case Without(base, excluded):
                return self._say("but", self._with(base, kind), self.set(excluded))
            case Compare(predicate, low, high, strict):
                return self._compared(what, predicate, low, high, strict=strict)
            case Period(predicate, low, high):
                if low == high:
                    return self._say("exactly", what, self.term(predicate), low)
                if low and high:
                    return self._say("between", what, self.term(predicate), low, high)
                return self._say("since" if low else "until", what, self.term(predicate), low or high)
            case Against(predicate, more, other, than):
                limit = self.set(other) if than == "all" else self._say(than, self.term(predicate), self.set(other))
                return self._say("more_than" if more else "less_than", what, self.term(predicate), limit)
            case HasMany(predicate, outward, low, high):
                name = "as_many" if low == high else "at_most" if low is None else "at_least"
                return self._say(name, what, self._end(predicate, outward=outward), str(high if low is None else low))
            case Top(base, path, most, _, size):
                name = ("most" if most else "least") + ("_many" if size > 1 else "")
                return self._say(name, self._with(base, kind), self._path(path), str(size))

    def _followed(self, form: Follow, kind: str) -> str:
        what = kind or self._say("thing")
        truth = self._graph.truths.get(form.predicate)
        if truth is not None and not form.outward and isinstance(form.of, Named):
            values = {getattr(self._graph.terms[item], "value", "") for item in form.of.items}
            return self._say("true" if values & {"true", "1"} else "false", what, self.term(form.predicate))
        if form.again:
            once = self._followed(replace(form, again=False), kind)
            return self._say("again", once) if form.outward else self._say("within", what, self.set(form.of))
        if not form.outward:
            return self._say("having", what, self.term(form.predicate), self.set(form.of))
        if kind:
            return self._say("being", kind, self.term(form.predicate), self.set(form.of))
        return self._say("of", self.term(form.predicate), self.set(form.of))

    def _all(self, parts: tuple[SetForm, ...], kind: str) -> str:
        kinds = [part for part in parts if isinstance(part, Kind)]
        named = [part for part in parts if isinstance(part, Named)]
        rest = [part for part in parts if not isinstance(part, Kind | Named)]
        said = kind or (self.term(kinds[0].iri) if kinds else "")
        if named:
            said = self.set(named[0])
        if not said and rest:  # what leads to the set says best what it is
            rest.sort(key=lambda part: not (isinstance(part, Follow) and part.outward))
            said = self.set(rest.pop(0))
        for part in rest:
            said = self._with(part, said)
        return said

    def _compared(self, what: str, predicate: NamedNode, low: float | None, high: float | None, *, strict: bool) -> str:
        label = self.term(predicate)
        timed = self._graph.ordered.get(predicate, False)
        bounds = [_time(bound)[:5] if timed else f"{bound:g}" for bound in (low, high) if bound is not None]
        if low is not None and high is not None:
            return self._say("exactly" if low == high else "between", what, label, *bounds)
        if low is not None:
            return self._say("over" if strict else "from", what, label, *bounds)
        return self._say("under" if strict else "to", what, label, *bounds)
