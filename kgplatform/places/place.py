"""A place of a reference: what it is called, what it lies in, and the codes that tell it from its namesakes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from pyoxigraph import NamedNode

from kgplatform.ontology import Ontology, Word


class NameKind(IntEnum):
    """How a place goes by a name, the surest first."""

    LABEL = 0
    ALIAS = 1
    SHORT = 2
    """Without the words for its level: 浙江 for 浙江省."""
    READING = 3
    """How a Chinese name is spelt in Latin letters, for a place without a given English name."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place: ``id`` is made of its codes (``cn-330106``), ``above`` is the id of what it lies in, by ``within``.

    ``source`` names the reference that says so.
    """

    id: str
    type: NamedNode
    source: str
    labels: tuple[Word, ...]
    aliases: tuple[Word, ...] = ()
    codes: tuple[tuple[NamedNode, str], ...] = ()
    above: str | None = None
    within: NamedNode | None = None


class Kinds:
    """Which places a mention may stand for, by its class; from the ontology's classes, keys and disjointness."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        inside = ontology.classes
        self._tops = {iri for iri in inside if not any(parent in inside for parent in inside[iri].parents)}
        self._keyed = {iri for iri, term in inside.items() if term.key}

    def same(self, mentioned: NamedNode, type_: NamedNode) -> bool:
        """Whether one class is the other, or above it."""
        return self._ontology.fits(type_, (mentioned,)) and not self.disjoint(mentioned, type_)

    def disjoint(self, mentioned: NamedNode, type_: NamedNode) -> bool:
        """Whether nothing can be of both classes."""
        return self._ontology.disjoint(mentioned, type_)

    def other_level(self, mentioned: NamedNode, type_: NamedNode) -> bool:
        """Whether both are levels of one hierarchy: disjoint, but below one class whose things have codes."""
        return self.disjoint(mentioned, type_) and bool(self._shared(mentioned, type_) & self._keyed)

    def akin(self, mentioned: NamedNode, type_: NamedNode) -> bool:
        """Whether a thing could be of both classes, and both are below a class that says something."""
        return not self.disjoint(mentioned, type_) and bool(self._shared(mentioned, type_) - self._tops)

    def holder(self, mentioned: NamedNode, type_: NamedNode) -> bool:
        """Whether things of the first class are areas such as a place of the second class may lie in."""
        return any(
            self._ontology.is_a(mentioned, (above,)) for above in self._ontology.superclasses(type_) & self._keyed
        )

    def _shared(self, first: NamedNode, second: NamedNode) -> set[NamedNode]:
        above = self._ontology.superclasses
        return {iri for iri in above(first) & above(second) if iri in self._ontology.classes}
