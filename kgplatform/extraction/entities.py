"""Which entity a name or key in a table stands for: one IRI for one thing, whichever table names it first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyoxigraph import NamedNode

from kgplatform.ontology import Ontology
from kgplatform.text import has_han, normalise, singular, words
from kgplatform.vocab import entity_iri


class EntityIndex:
    """Entities by class and name. ``known`` are names with their classes, as the built-in extractor takes them.

    An unknown name is minted, so that the same name in a note and in a table is the same entity.
    """

    def __init__(self, ontology: Ontology, base: str, *, known: Mapping[str, NamedNode] | None = None) -> None:
        self.ontology = ontology
        self.base = base
        self._entities: dict[str, list[tuple[NamedNode, NamedNode]]] = {}
        self._listed: dict[tuple[NamedNode, ...], dict[str, NamedNode]] = {}
        self._called: set[NamedNode] = set()
        self._classes: dict[str, list[NamedNode]] = {}
        for name, class_ in (known or {}).items():
            self._classes.setdefault(normalise(name), []).append(class_)

    def add(self, iri: NamedNode, class_: NamedNode, names: Iterable[str]) -> None:
        """Notes by what names and keys the entity goes; the first that claims a name keeps it."""
        for name in names:
            listed = self._entities.setdefault(normalise(name), [])
            if all(other != iri for other, _ in listed):
                listed.append((iri, class_))

    def iris(self) -> frozenset[NamedNode]:
        """The entities noted so far."""
        return frozenset(iri for listed in self._entities.values() for iri, _ in listed)

    def find(self, class_: NamedNode, name: str) -> tuple[NamedNode, NamedNode] | None:
        """The entity noted under the name that is or may be of the class, and its class."""
        for iri, own in self._entities.get(normalise(name), ()):
            if self.ontology.fits(own, (class_,)):
                return iri, own
        return None

    def call(self, iri: NamedNode) -> None:
        """Notes that the entity has a proper name, so that a key need not serve as its label."""
        self._called.add(iri)

    def is_called(self, iri: NamedNode) -> bool:
        """Whether the entity is known to have a proper name."""
        return iri in self._called

    def entity(
        self, class_: NamedNode, name: str, *, within: tuple[NamedNode, ...] = ()
    ) -> tuple[NamedNode, NamedNode]:
        """The entity of that class and name, minted if there is none, and the class it has.

        The class may turn out another than asked for, as long as it is one of ``within`` (none given: the class
        itself): a known "Wuzhen" is a water town where a column of towns makes it a township.
        """
        found = self.find(class_, name) or next((hit for item in within if (hit := self.find(item, name))), None)
        if found is not None:
            return found
        known = self._classes.get(normalise(name), ())
        special = next((own for own in known if self.ontology.is_a(own, within or (class_,))), class_)
        iri = entity_iri(self.base, special, name)
        self.add(iri, special, (name,))
        return iri, special

    def value(self, ranges: tuple[NamedNode, ...], text: str) -> NamedNode | None:
        """The named value of a closed list that the text is a word for."""
        return self._values(ranges).get(_value_key(text))

    def is_closed(self, ranges: tuple[NamedNode, ...]) -> bool:
        """Whether one of the classes is a closed list of named values."""
        return bool(self._values(ranges))

    def _values(self, ranges: tuple[NamedNode, ...]) -> dict[str, NamedNode]:
        if ranges not in self._listed:
            self._listed[ranges] = _values(self.ontology, ranges)
        return self._listed[ranges]


def _value_key(text: str) -> str:
    plain = normalise(text)
    return plain if has_han(plain) else " ".join(singular(word) for word in words(plain))


def _values(ontology: Ontology, ranges: tuple[NamedNode, ...]) -> dict[str, NamedNode]:
    """The words of the named values in the ranges; a last word counts where it belongs to one value only."""
    found: dict[str, NamedNode] = {}
    endings: dict[str, set[NamedNode]] = {}
    for iri, individual in ontology.individuals.items():
        if not any(ontology.is_a(type_, ranges) for type_ in individual.types):
            continue
        for word in individual.words:
            key = _value_key(word.text)
            found.setdefault(key, iri)
            if " " in key:
                endings.setdefault(key.rpartition(" ")[2], set()).add(iri)
    for ending, iris in endings.items():
        if len(iris) == 1:
            found.setdefault(ending, next(iter(iris)))
    return found
