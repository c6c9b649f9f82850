"""A scheme bound to a graph: its codes, the moment it speaks of, and how anything named relates to its things."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TypeAlias

from pyoxigraph import Literal, NamedNode

from kgplatform.ontology import Word
from kgplatform.questions.dialogue.codes import CodeIndex
from kgplatform.questions.dialogue.scheme import Scheme
from kgplatform.questions.names import Name, NameIndex

Pair: TypeAlias = tuple[NamedNode, NamedNode | Literal]
"""A property of the things asked for, and its value."""

_FAR = 60


@dataclass(frozen=True, slots=True)
class Now:
    """The moment that "now" means, and whose it is: ``given``, ``clock`` or ``data``."""

    moment: datetime
    source: str


@dataclass(frozen=True)
class Frame:
    """One scheme over one version of a graph."""

    scheme: Scheme
    names: NameIndex

    def _values(self, predicate: NamedNode | None) -> Iterable[object]:
        """The values of a property, each once."""
        return self.names.facts.values.get(predicate, {}) if predicate else ()

    @cached_property
    def codes(self) -> CodeIndex:
        """The codes that things have."""
        values = self._values(self.scheme.code)
        return CodeIndex(tuple(sorted({value.value for value in values if isinstance(value, Literal)})))

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """The identifiers that things have."""
        values = self._values(self.scheme.identifier)
        return frozenset(value.value for value in values if isinstance(value, Literal))

    @cached_property
    def _moments(self) -> tuple[str, str, str]:
        """The first and last moment of the things, and the last change; empty where there is none."""
        times = self._texts(self.scheme.moment)
        changes = self._texts(self.scheme.changed)
        return min(times, default=""), max(times, default=""), max(changes, default="")

    def _texts(self, predicate: NamedNode | None) -> list[str]:
        values = self._values(predicate)
        return [value.value[:19] for value in values if isinstance(value, Literal) and _moment(value.value)]

    def now(self, given: datetime | None, clock: datetime) -> Now:
        """What "now" means: as given, else the clock where the data reaches to it, else the data's last change."""
        if given is not None:
            return Now(given, "given")
        first, last, changed = self._moments
        if changed and first and not first <= clock.isoformat()[:19] <= last:
            return Now(datetime.fromisoformat(changed), "data")
        return Now(clock.replace(microsecond=0), "clock")

    @cached_property
    def _outgoing(self) -> frozenset[NamedNode]:
        """The properties that the things have in the data."""
        classes = (self.scheme.about, *self.names.schema.subclasses(self.scheme.about))
        return frozenset(edge.predicate for iri in classes for edge in self.names.schema.outgoing.get(iri, ()))

    def has(self, predicate: NamedNode) -> bool:
        """Whether the things asked for have the property."""
        return predicate in self._outgoing

    @cached_property
    def _linked(self) -> dict[object, frozenset[NamedNode]]:
        """For every value of the things' properties, by which properties they have it."""
        found: dict[object, set[NamedNode]] = {}
        for predicate in self._outgoing:
            for value in self.names.facts.values.get(predicate, {}):
                if isinstance(value, NamedNode):
                    found.setdefault(value, set()).add(predicate)
        return {value: frozenset(predicates) for value, predicates in found.items()}

    def pairs(self, name: Name) -> tuple[Pair, ...]:
        """How things may relate to what a name stands for: directly, or through a thing that it belongs to."""
        if name.kind == "value":
            if name.predicate in self._outgoing:
                return ((name.predicate, name.term),)
            return tuple(pair for thing in self._having(name) for pair in self.direct(thing))
        if not isinstance(name.term, NamedNode):
            return ()
        return self.direct(name.term) or self._through(name.term)

    def direct(self, thing: NamedNode) -> tuple[Pair, ...]:
        """How things relate to a thing themselves."""
        return tuple((predicate, thing) for predicate in sorted(self._linked.get(thing, ()), key=str))

    def _having(self, name: Name) -> list[NamedNode]:
        """The things that have a value."""
        return self._subjects.get((name.predicate, name.term), [])[:_FAR]

    @cached_property
    def _subjects(self) -> dict[tuple[object, object], list[NamedNode]]:
        """The things that flights and the like relate to, by what is said of these."""
        found: dict[tuple[object, object], list[NamedNode]] = {}
        for subject, predicate, value in self.names.facts.statements:
            if subject in self._linked and isinstance(subject, NamedNode):
                found.setdefault((predicate, value), []).append(subject)
                if isinstance(value, NamedNode):
                    found.setdefault((None, value), []).append(subject)
        return found

    def _through(self, thing: NamedNode) -> tuple[Pair, ...]:
        near = list(dict.fromkeys(self._subjects.get((None, thing), [])))[:_FAR]
        return tuple(pair for item in near for pair in self.direct(item))

    @cached_property
    def jargon(self) -> tuple[tuple[Name, Word], ...]:
        """The words of the glossary and what each stands for."""
        return tuple(
            (Name(item.value, 1.0, "value" if item.property else "entity", item.property), word)
            for item in self.scheme.jargon
            for word in item.words
        )

    @cached_property
    def zone(self) -> str:
        """How the moments of the data end: with a time zone, or with nothing."""
        values = self._values(self.scheme.moment)
        return next((value.value[19:] for value in values if isinstance(value, Literal)), "")

    def range_of(self, predicate: NamedNode) -> tuple[NamedNode, ...]:
        """The classes of the property's values."""
        return self.names.schema.ranges(predicate)

    def owner_letters(self, owners: Iterable[NamedNode | Literal]) -> tuple[str, ...]:
        """The letters with which the codes of an owner's things begin."""
        if self.scheme.owner_code is None:
            return ()
        wanted = set(owners)
        return tuple(
            value.value
            for subject, predicate, value in self.names.facts.statements
            if predicate == self.scheme.owner_code and subject in wanted and isinstance(value, Literal)
        )

    def labels_of_owner(self, letters: str) -> tuple[str, ...]:
        """The names of the owner whose codes begin with these letters."""
        found = self._subjects.get((self.scheme.owner_code, Literal(letters)), [])
        return tuple(self.names.label(thing) for thing in found)


def _moment(text: str) -> bool:
    return len(text) >= 16 and text[4:5] == "-" and text[10:11] == "T"
