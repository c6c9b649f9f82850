"""How a class or a property is really used: which share of a class has which property, and with what values.

Each is worked out from one pass over some thousands of things at most, and says how many it looked at.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Final

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.describing import APART, is_unnamed
from kgplatform.ontology import Ontology
from kgplatform.store import DEFAULT_GRAPH, Store
from kgplatform.types import Term
from kgplatform.vocab import TYPE, XSD

_MOST_LOOKED: Final = 2_000
_MOST_STATEMENTS: Final = 5_000
_MOST_SORTED: Final = 5_000
_MOST_SAMPLES: Final = 3
_LONGEST_SAMPLE: Final = 60
_NUMERIC: Final = frozenset(f"{XSD}{name}" for name in ("integer", "decimal", "double", "float", "int", "long"))


@dataclass(slots=True)
class Use:
    """How the things of a class use a property: how many have it, with how many values, and some of them."""

    things: int = 0
    values: int = 0
    samples: dict[Term, None] = field(default_factory=dict)
    low: float | None = None
    high: float | None = None

    def count(self, value: Term) -> None:
        """Takes one more value into account."""
        self.values += 1
        number = amount(value)
        if number is not None:
            self.low = number if self.low is None else min(self.low, number)
            self.high = number if self.high is None else max(self.high, number)
        elif len(self.samples) < _MOST_SAMPLES and len(getattr(value, "value", "")) <= _LONGEST_SAMPLE:
            self.samples.setdefault(value)


class Members:
    """The things of a class and of those below it, each once; counted without being read."""

    def __init__(self, store: Store, ontology: Ontology, class_: NamedNode) -> None:
        self._store = store
        below = sorted(ontology.subclasses(class_), key=lambda iri: iri.value)
        self._classes = [sub for sub in below if next(self._quads(sub), None) is not None]

    def _quads(self, class_: NamedNode) -> Iterator[NamedNode]:
        said = self._store.quads(None, TYPE, class_, DEFAULT_GRAPH)
        return (quad.subject for quad in said if isinstance(quad.subject, NamedNode))

    @cached_property
    def total(self) -> int:
        """How many there are."""
        if not self._classes:
            return 0
        listed = " ".join(str(class_) for class_ in self._classes)
        text = f"SELECT (COUNT(DISTINCT ?s) AS ?n) WHERE {{ VALUES ?class {{ {listed} }} ?s a ?class }}"
        number = self._store.query(text).rows[0][0]
        return int(number.value) if isinstance(number, Literal) else 0

    def __iter__(self) -> Iterator[NamedNode]:
        """All of them: by their IRIs, where they are not too many for that."""
        return iter(self._sorted) if self.total <= _MOST_SORTED else self._each()

    @cached_property
    def _sorted(self) -> tuple[NamedNode, ...]:
        return tuple(sorted(self._each(), key=lambda iri: iri.value))

    def _each(self) -> Iterator[NamedNode]:
        for number, class_ in enumerate(self._classes):
            before = self._classes[:number]
            for thing in self._quads(class_):
                if not any(self._store.has(Triple(thing, TYPE, one)) for one in before):
                    yield thing


@dataclass(frozen=True, slots=True)
class ClassProfile:
    """The things of a class, and how those that were looked at use their properties."""

    things: Members
    looked: int
    uses: dict[NamedNode, Use]

    def share(self, predicate: NamedNode) -> float:
        """Which part of the things has the property, between 0 and 1."""
        use = self.uses.get(predicate)
        return use.things / self.looked if use and self.looked else 0.0


def amount(value: Term) -> float | None:
    """The number that a literal spells."""
    if not isinstance(value, Literal) or value.datatype.value not in _NUMERIC:
        return None
    try:
        return float(value.value)
    except ValueError:
        return None


def class_profile(store: Store, ontology: Ontology, class_: NamedNode, *, most: int = _MOST_LOOKED) -> ClassProfile:
    """The profile of a class, those below it included."""
    things = Members(store, ontology, class_)
    uses: dict[NamedNode, Use] = defaultdict(Use)
    for thing in islice(things, most):
        seen: set[NamedNode] = set()
        for quad in islice(store.quads(thing, None, None, DEFAULT_GRAPH), _MOST_LOOKED):
            if quad.predicate in APART or is_unnamed(quad.object):
                continue
            use = uses[quad.predicate]
            use.count(quad.object)
            if quad.predicate not in seen:
                seen.add(quad.predicate)
                use.things += 1
    return ClassProfile(things, min(things.total, most), dict(uses))


@dataclass(frozen=True, slots=True)
class PropertyProfile:
    """The statements of a property that were looked at: by class of the subject and of the value, and its values."""

    looked: int
    complete: bool
    subjects: Counter[NamedNode]
    objects: Counter[NamedNode]
    values: Counter[Term]
    amounts: tuple[float, ...]

    @property
    def repeated(self) -> bool:
        """Whether values recur, so that counting them says something."""
        return any(count > 1 for count in self.values.values())


def property_profile(store: Store, ontology: Ontology, predicate: NamedNode) -> PropertyProfile:
    """The profile of a property."""
    subjects: Counter[NamedNode] = Counter()
    objects: Counter[NamedNode] = Counter()
    values: Counter[Term] = Counter()
    amounts: list[float] = []
    looked = 0
    for quad in islice(store.quads(None, predicate, None, DEFAULT_GRAPH), _MOST_STATEMENTS):
        looked += 1
        values[quad.object] += 1
        if isinstance(quad.subject, NamedNode):
            subjects.update(_classes(store, ontology, quad.subject))
        if isinstance(quad.object, NamedNode):
            objects.update(_classes(store, ontology, quad.object))
        elif isinstance(quad.object, Literal):
            objects[quad.object.datatype] += 1
        if (number := amount(quad.object)) is not None:
            amounts.append(number)
    return PropertyProfile(looked, looked < _MOST_STATEMENTS, subjects, objects, values, tuple(sorted(amounts)))


def _classes(store: Store, ontology: Ontology, thing: NamedNode) -> Iterable[NamedNode]:
    """The most special classes of a thing that the ontology counts, or all where it knows none of them."""
    types = [term for term in store.objects(thing, TYPE) if isinstance(term, NamedNode)]
    known = [term for term in types if term in ontology.classes and not ontology.classes[term].internal] or types
    return [one for one in known if not any(one != other and one in ontology.superclasses(other) for other in known)]
