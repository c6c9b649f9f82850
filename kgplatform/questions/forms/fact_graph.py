"""The statements of a graph by number: what has a property, what it has, its numbers and days, its classes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TypeAlias

from pyoxigraph import Literal, NamedNode

from kgplatform.questions.usage import GraphFacts, PathFinder, SchemaView

Items = frozenset[int]
"""Things and values, by their numbers in a `FactGraph`."""

NOTHING: Items = frozenset()

Path: TypeAlias = tuple[tuple[NamedNode, bool], ...]
"""Properties one after the other, each with whether it is followed forwards."""

_LONGEST_WAY, _MOST_WAYS, _MOST_LINKS = 3, 500, 24

_DATE = re.compile(r"(-?\d{4,})(?:-(\d\d))?(?:-(\d\d))?(?:T.*|Z|[+-]\d\d:\d\d)?$")
_TIME = re.compile(r"(\d\d):(\d\d)(?::(\d\d))?")
_TRUE = frozenset(("true", "1"))


class FactGraph:
    """The statements of a graph as numbers, for sets to be computed without a query; good for one version of it.

    ``forward[property]`` leads from a subject to its objects, ``backward[property]`` the other way.
    """

    def __init__(self, facts: GraphFacts, schema: SchemaView) -> None:
        """Numbers everything that is of a class or in a statement."""
        self.facts, self.schema = facts, schema
        self.terms: list[object] = []
        self.number_of: dict[object, int] = {}
        self.forward: dict[NamedNode, dict[int, Items]] = {}
        self.backward: dict[NamedNode, dict[int, Items]] = {}
        there: dict[NamedNode, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        back: dict[NamedNode, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for subject, predicate, object_ in facts.statements:
            one, other = self._number(subject), self._number(object_)
            there[predicate][one].append(other)
            back[predicate][other].append(one)
        for node in (*facts.types, *facts.labels):
            self._number(node)
        for ways, found in ((self.forward, there), (self.backward, back)):
            for predicate, listed in found.items():
                ways[predicate] = {one: frozenset(others) for one, others in listed.items()}

    def _number(self, term: object) -> int:
        number = self.number_of.get(term)
        if number is None:
            number = self.number_of[term] = len(self.terms)
            self.terms.append(term)
        return number

    @cached_property
    def classes(self) -> Mapping[NamedNode, Items]:
        """What is of each class or of one below it."""
        direct: dict[NamedNode, set[int]] = defaultdict(set)
        for node, found in self.facts.types.items():
            for class_ in found:
                direct[class_].add(self.number_of[node])
        every: dict[NamedNode, Items] = {}
        for class_ in self.schema.classes:
            below = self.schema.subclasses(class_)
            members = set(direct.get(class_, ())).union(*(direct.get(sub, ()) for sub in below))
            if members:
                every[class_] = frozenset(members)
        return every

    @cached_property
    def kinds_of(self) -> Mapping[int, frozenset[NamedNode]]:
        """The classes of each thing, those above its own too."""
        found: dict[int, set[NamedNode]] = defaultdict(set)
        for class_, members in self.classes.items():
            for item in members:
                found[item].add(class_)
        return {item: frozenset(classes) for item, classes in found.items()}

    @cached_property
    def subjects(self) -> Mapping[NamedNode, Items]:
        """What has a property at all."""
        return {predicate: frozenset(found) for predicate, found in self.forward.items()}

    @cached_property
    def objects(self) -> Mapping[NamedNode, Items]:
        """What is a value of a property."""
        return {predicate: frozenset(found) for predicate, found in self.backward.items()}

    @cached_property
    def leaving(self) -> Mapping[int, tuple[tuple[NamedNode, bool], ...]]:
        """The steps that lead away from each thing or value: the property, and whether it is followed forwards."""
        found: dict[int, list[tuple[NamedNode, bool]]] = defaultdict(list)
        for predicate, subjects in self.forward.items():
            for item in subjects:
                found[item].append((predicate, True))
        for predicate, objects in self.backward.items():
            for item in objects:
                found[item].append((predicate, False))
        return {item: tuple(steps) for item, steps in found.items()}

    @cached_property
    def chains(self) -> tuple[NamedNode, ...]:
        """The properties that lead on from what they lead to, as from a part to the whole, never round in a ring."""
        return tuple(predicate for predicate, ways in self.forward.items() if _is_chain(ways))

    @cached_property
    def named(self) -> Items:
        """What has a name of its own."""
        return frozenset(self.number_of[node] for node in self.facts.labels if node in self.number_of)

    def of(self, predicate: NamedNode) -> tuple[NamedNode, ...]:
        """The smallest class that all that has a property belongs to; else the one that most of it does."""
        if predicate not in self._of:
            every = self.subjects.get(predicate, NOTHING)
            found = [
                (len(members), class_.value, class_) for class_, members in self.classes.items() if every <= members
            ]
            self._of[predicate] = (min(found)[2],) if found else self.schema.domains(predicate)[:1]
        return self._of[predicate]

    @cached_property
    def _of(self) -> dict[NamedNode, tuple[NamedNode, ...]]:
        return {}

    def is_among_likes(self, predicate: NamedNode) -> bool:
        """Whether a property relates things of one kind, and does not lead on from a part to the whole."""
        if predicate not in self._alike:
            told = ((self.kinds_of.get(one, frozenset()), others) for one, others in self.forward[predicate].items())
            pairs = [(kinds, self.kinds_of.get(other, frozenset())) for kinds, others in told for other in others]
            same = sum(bool(one and other) and (one <= other or other <= one) for one, other in pairs)
            self._alike[predicate] = 2 * same > len(pairs) and predicate not in self._placing
        return self._alike[predicate]

    @cached_property
    def _alike(self) -> dict[NamedNode, bool]:
        return {}

    @cached_property
    def _placing(self) -> frozenset[NamedNode]:
        return PathFinder(self.schema).placing

    def is_partial(self, predicate: NamedNode, *, outward: bool = True) -> bool:
        """Whether some of the things of a class that has the property (or is what has it) do not."""
        classes = (self.schema.domains if outward else self.schema.ranges)(predicate)
        those = (self.subjects if outward else self.objects)[predicate]
        return any(self.classes.get(class_, NOTHING) - those for class_ in classes[:1])

    def ways(self, class_: NamedNode) -> Mapping[NamedNode, tuple[Path, ...]]:
        """The paths of two or three properties that the data uses from things of a class to those of others."""
        if class_ not in self._ways:
            found: dict[NamedNode, list[Path]] = defaultdict(list)
            waiting: list[tuple[NamedNode, Path]] = [(class_, ())]
            for place, path in waiting:  # grows while it is walked
                for predicate, outward, end in self._links(place):
                    if path and (predicate, not outward) == path[-1]:
                        continue
                    longer = (*path, (predicate, outward))
                    if path:
                        found[end].append(longer)
                    if len(longer) < _LONGEST_WAY and len(waiting) < _MOST_WAYS:
                        waiting.append((end, longer))
            self._ways[class_] = {end: tuple(paths) for end, paths in found.items()}
        return self._ways[class_]

    @cached_property
    def _ways(self) -> dict[NamedNode, dict[NamedNode, tuple[Path, ...]]]:
        return {}

    def _links(self, class_: NamedNode) -> list[tuple[NamedNode, bool, NamedNode]]:
        """The steps between things that lead away from a class, the commonest first."""
        edges = [(-e.count, e.predicate, True, e.object) for e in self.schema.outgoing.get(class_, ()) if not e.literal]
        edges += [(-e.count, e.predicate, False, e.subject) for e in self.schema.incoming.get(class_, ())]
        edges.sort(key=lambda edge: (edge[0], edge[1].value, edge[2], edge[3].value))
        return list(dict.fromkeys(edge[1:] for edge in edges))[:_MOST_LINKS]

    def follow(self, predicate: NamedNode, items: Items, *, outward: bool) -> Items:
        """What the items have by a property (``outward``), or what has one of them by it."""
        ways = (self.forward if outward else self.backward).get(predicate, {})
        if len(items) == 1:
            (one,) = items
            return ways.get(one, NOTHING)
        return NOTHING.union(*map(ways.__getitem__, items & ways.keys()))

    def magnitude(self, item: int) -> float | None:
        """A number, date or time as one number: dates as days, times as seconds; None for what is none."""
        return self._magnitudes.get(item)

    @cached_property
    def _magnitudes(self) -> Mapping[int, float]:
        return {
            number: size
            for number, term in enumerate(self.terms)
            if isinstance(term, Literal) and (size := magnitude(term)) is not None
        }

    def sizes(self, predicate: NamedNode, *, most: bool) -> Mapping[int, float]:
        """The number that each thing has by a property, of several the greatest (``most``) or the least."""
        if (predicate, most) not in self._sizes:
            best, known = max if most else min, self._magnitudes
            found = (
                (item, [known[end] for end in ends if end in known]) for item, ends in self.forward[predicate].items()
            )
            self._sizes[predicate, most] = {item: best(sizes) for item, sizes in found if sizes}
        return self._sizes[predicate, most]

    @cached_property
    def _sizes(self) -> dict[tuple[NamedNode, bool], Mapping[int, float]]:
        return {}

    @cached_property
    def ordered(self) -> Mapping[NamedNode, bool]:
        """The properties whose values can be ordered, and whether these are dates or times."""
        found = {}
        for predicate, objects in self.objects.items():
            sized = sum(item in self._magnitudes for item in objects)
            if sized and sized >= 0.9 * len(objects):
                found[predicate] = any(is_temporal(self.terms[item]) for item in objects)
        return found

    @cached_property
    def truths(self) -> Mapping[NamedNode, tuple[Items, Items]]:
        """The subjects of the yes-or-no properties: those that say yes, and those that say no."""
        found = {}
        for predicate, ways in self.backward.items():
            values = {item: self.terms[item] for item in ways}
            if all(isinstance(term, Literal) and term.datatype.value.endswith("#boolean") for term in values.values()):
                yes = frozenset(item for item, term in values.items() if getattr(term, "value", "") in _TRUE)
                no = frozenset(values) - yes
                found[predicate] = (
                    self.follow(predicate, yes, outward=False),
                    self.follow(predicate, no, outward=False),
                )
        return found

    def kinds_at(self, predicate: NamedNode, *, outward: bool) -> frozenset[NamedNode]:
        """The classes of what a step leads to anywhere: of what is had by the property (``outward``), or has it."""
        key = (predicate, outward)
        if key not in self._kinds_at:
            ends = (self.objects if outward else self.subjects).get(predicate, NOTHING)
            self._kinds_at[key] = frozenset().union(*(self.kinds_of.get(item, frozenset()) for item in ends))
        return self._kinds_at[key]

    @cached_property
    def _kinds_at(self) -> dict[tuple[NamedNode, bool], frozenset[NamedNode]]:
        return {}

    def year_of(self, item: int) -> int | None:
        """The year of a date or of a year's number."""
        term = self.terms[item]
        if not isinstance(term, Literal):
            return None
        match = _DATE.match(term.value)
        return int(match[1]) if match else None

    def in_period(self, predicate: NamedNode, low: str, high: str) -> Items:
        """What has a date by the property within two dates, both included: ``2024``, ``2024-05``, a day, or empty."""
        found = [
            item
            for item in self.objects.get(predicate, ())
            if isinstance(term := self.terms[item], Literal)
            and _DATE.match(term.value)
            and low <= term.value[: len(low)]
            and (not high or term.value[: len(high)] <= high)
        ]
        return self.follow(predicate, frozenset(found), outward=False)


def _is_chain(ways: Mapping[int, Items]) -> bool:
    ends = NOTHING.union(*ways.values())
    if not ends & ways.keys():
        return False
    for start in ways:
        seen: Items = NOTHING
        fresh = ways[start]
        while fresh := fresh - seen:
            if start in fresh:
                return False
            seen |= fresh
            fresh = NOTHING.union(*(ways[item] for item in fresh if item in ways))
    return True


def is_temporal(term: object) -> bool:
    """Whether a term is a date, a time or a year by its datatype."""
    return isinstance(term, Literal) and term.datatype.value.rpartition("#")[2] in (
        "date", "dateTime", "gYear", "gYearMonth", "time",
    )  # fmt: skip


def magnitude(term: Literal) -> float | None:
    """A number, date or time as one number (days, seconds of a day); None for text, booleans and codes of letters."""
    kind = term.datatype.value.rpartition("#")[2]
    if kind in ("date", "dateTime", "gYear", "gYearMonth"):
        match = _DATE.match(term.value)
        return int(match[1]) * 372 + int(match[2] or 1) * 31 + int(match[3] or 1) if match else None
    if kind == "time":
        match = _TIME.match(term.value)
        return int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3] or 0) if match else None
    if kind in ("string", "langString", "boolean", "anyURI"):
        return None
    try:
        return float(term.value)
    except ValueError:
        return None


def union(sets: Iterable[Items]) -> Items:
    """What is in any of the sets."""
    return NOTHING.union(*sets)
