"""Which reference places a name may stand for, by its spelling and its class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.ontology import Ontology
from kgplatform.places.naming import LevelWords, key
from kgplatform.places.place import Kinds, NameKind
from kgplatform.places.reference import PlaceReference
from kgplatform.text import has_han

CROWDED: Final = 1_000
"""Of a class with so many places, a shortened or transcribed name tells too little by itself."""

_LONGEST_PATH: Final = 24


class Fit(IntEnum):
    """How the class of a mention goes with that of a place, the best first."""

    SAME = 0
    LEVEL = 1
    """Another level: the class of a name in a text is a guess."""
    AKIN = 2


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place that a name may stand for. ``firm``: name and class alone may settle it, if there is no other."""

    id: str
    kind: NameKind
    fit: Fit
    firm: bool


class PlaceFinder:
    """Finds the places that go by a name; remembers what it found."""

    def __init__(self, reference: PlaceReference, ontology: Ontology) -> None:
        self.reference = reference
        self.kinds = Kinds(ontology)
        self._levels = LevelWords(ontology, sorted(reference.types(), key=lambda iri: iri.value))
        self._possible: dict[NamedNode, bool] = {}
        self._found: dict[tuple[NamedNode, str, bool], tuple[Candidate, ...]] = {}

    def may_be_place(self, type_: NamedNode) -> bool:
        """Whether something mentioned as of the class could be a place of the reference."""
        if type_ not in self._possible:
            tests = (self.kinds.same, self.kinds.other_level, self.kinds.akin)
            types = self.reference.types()
            self._possible[type_] = any(test(type_, place) for test in tests for place in types)
        return self._possible[type_]

    def candidates(
        self, type_: NamedNode, name: str, aliases: Iterable[str] = (), *, guessed: bool = True
    ) -> tuple[Candidate, ...]:
        """The places that the name may stand for; those that an alias stands for as well, where there are any.

        ``guessed``: the class comes from a text, not from the column of a table.
        """
        found = self._candidates(type_, name, guessed)
        for alias in sorted(set(aliases)):
            same = {other.id for other in self._candidates(type_, alias, guessed)}
            if len(found) > 1 and any(item.id in same for item in found):
                found = tuple(item for item in found if item.id in same)
        return found

    def _candidates(self, type_: NamedNode, name: str, guessed: bool) -> tuple[Candidate, ...]:  # noqa: FBT001
        known = (type_, name, guessed)
        if known not in self._found:
            fitting = (self._fitting(type_, id_, kind, guessed=guessed) for id_, kind in self.named(name))
            listed = [item for item in fitting if item is not None]
            if any(item.fit is Fit.SAME and item.kind < NameKind.READING for item in listed):
                listed = [item for item in listed if item.fit is not Fit.LEVEL]
            self._found[known] = tuple(listed)
        return self._found[known]

    def _fitting(self, type_: NamedNode, id_: str, kind: NameKind, *, guessed: bool) -> Candidate | None:
        place = self.reference.place(id_)
        crowded = self.reference.crowd(place.type) > CROWDED
        if self.kinds.same(type_, place.type):
            return Candidate(id_, kind, Fit.SAME, firm=not (crowded and kind >= NameKind.SHORT))
        if self.kinds.other_level(type_, place.type):
            told = guessed and kind < NameKind.READING and not crowded
            return Candidate(id_, kind, Fit.LEVEL, firm=True) if told else None
        # a pagoda is not the township that is called after it
        told = self.kinds.akin(type_, place.type) and not (crowded and kind >= NameKind.SHORT)
        return Candidate(id_, kind, Fit.AKIN, firm=False) if told else None

    def named(self, name: str) -> list[tuple[str, NameKind]]:
        """The places of that name: as written, with what it lies in before or behind it, or without its level."""
        exact = self.reference.called(key(name))
        if exact:
            return list(exact)
        found = dict(self._after_its_place(name))
        for core in self._levels.cores(name):
            for id_, kind in self.reference.called(key(core.text)):
                if self.reference.place(id_).type in core.types:
                    found[id_] = min(kind, found.get(id_, kind))
        return sorted(found.items())

    def _after_its_place(self, name: str) -> Iterator[tuple[str, NameKind]]:
        """杭州市西湖区 and "Xihu District, Hangzhou": the places of the one name that lie in one of the other."""
        for inner, outer in _cuts(name):
            for id_, kind in self.reference.called(key(inner)) or (() if has_han(inner) else self.named(inner)):
                above = set(self.reference.above(id_))
                holders = {holder for holder, how in self.named(outer) if how < NameKind.READING or not has_han(outer)}
                if above & holders:
                    yield id_, min(kind, NameKind.ALIAS)


def _cuts(name: str) -> Iterator[tuple[str, str]]:
    """The ways to read a name as that of a place and that of what it lies in."""
    if "," in name or "，" in name:
        inner, _, outer = name.replace("，", ",").partition(",")
        if inner.strip() and outer.strip():
            yield inner.strip(), outer.strip()
    elif has_han(name) and len(name) <= _LONGEST_PATH:
        for cut in range(2, len(name) - 1):
            yield name[cut:], name[:cut]
