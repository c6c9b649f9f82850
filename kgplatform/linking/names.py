"""The names that documents use, counted, and which of them are said to lie within one another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field

from pyoxigraph import NamedNode

from kgplatform.documents.registry import NameKey
from kgplatform.ontology import Ontology
from kgplatform.text import has_han
from kgplatform.types import Extraction, Mention


@dataclass(frozen=True)
class Name:
    """A name of a class: how it is spelt and what else it is called, each with how often; its entity if known.

    ``narrowed`` is the class of the thing it turned out to stand for; ``keys`` are values that tell things of its
    class apart, ``context`` what is said of it: property and value, as they stand in the text.
    """

    key: NameKey
    forms: Counter[str] = field(default_factory=Counter)
    aliases: Counter[str] = field(default_factory=Counter)
    known: NamedNode | None = None
    narrowed: NamedNode | None = None
    keys: frozenset[tuple[NamedNode, str]] = frozenset()
    context: tuple[tuple[NamedNode, str], ...] = ()

    @property
    def type(self) -> NamedNode:
        """The class it is mentioned as, or the narrower one that other names of the same thing gave away."""
        return self.narrowed or self.key[0]

    @property
    def text(self) -> str:
        """The normalised name."""
        return self.key[1]

    @property
    def count(self) -> int:
        """How often it is mentioned."""
        return self.forms.total()

    @property
    def is_chinese(self) -> bool:
        """Whether it is written in Chinese characters."""
        return has_han(self.text)


@dataclass(frozen=True)
class Names:
    """All names, in the order of their keys.

    ``within`` holds names that a transitive property ties, both ways; ``above`` the same from what lies in something.
    """

    by_key: Mapping[NameKey, Name]
    within: Mapping[str, Set[str]]
    above: Mapping[str, Set[str]]

    def __iter__(self) -> Iterator[Name]:
        return iter(self.by_key.values())

    def tied(self, first: str, second: str) -> bool:
        """Whether one is said to lie within the other, or be part of it, in one or two steps.

        Two that lie in the same are not tied by that: both may be one.
        """
        return second in self.within.get(first, ()) or self._far(first, second) or self._far(second, first)

    def _far(self, lower: str, upper: str) -> bool:
        return any(upper in self.above.get(step, ()) for step in self.above.get(lower, ()))


def sort_key(key: NameKey) -> tuple[str, str]:
    """What keys are ordered by."""
    return key[1], key[0].value


class Telling:
    """The properties whose value tells a thing of a class from all others."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        self._of: dict[NamedNode, frozenset[NamedNode]] = {}

    def of(self, type_: NamedNode) -> frozenset[NamedNode]:
        """Those of a class and the ones above it."""
        if type_ not in self._of:
            above = (self._ontology.classes.get(iri) for iri in self._ontology.superclasses(type_))
            self._of[type_] = frozenset(key for term in above if term for key in term.key)
        return self._of[type_]


def claimed(extraction: Extraction) -> Iterator[Mention]:
    """The mentions that claims relate."""
    for claim in extraction.claims:
        yield claim.subject
        if isinstance(claim.object, Mention):
            yield claim.object


def containing(ontology: Ontology) -> dict[NamedNode, bool]:
    """The properties that say what lies within what: the transitive ones, and those below them.

    True for one direction, False for the inverse of one that is true.
    """
    found = {iri for iri, term in ontology.properties.items() if term.transitive and term.is_object}
    while True:
        more = {iri for iri, term in ontology.properties.items() if iri not in found and found & set(term.parents)}
        if not more:
            break
        found |= more
    ways: dict[NamedNode, bool] = {}
    for iri in sorted(found, key=lambda iri: (ontology.properties[iri].inverse is not None, iri.value)):
        term = ontology.properties[iri]
        known = [ways[other] for other in term.parents if other in ways]
        ways[iri] = known[0] if known else not ways.get(term.inverse, False) if term.inverse else True
    return ways
