"""The colour of each class: the same on every page, for a graph, a map, a chart and their legends.

A class has a number by its rank among those of the data. The first five have a colour each, the next ones the same
colours with other shapes; scripts and styles know what a number looks like (``--class-0`` …).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from pyoxigraph import NamedNode

from kgplatform.describing import Labels
from kgplatform.vocab import TYPE
from kgplatform.web import addresses
from kgplatform.web.needs import Graph
from kgplatform.web.overview import Overview


class ClassRecord(TypedDict):
    """A class of a picture, as scripts read it."""

    label: str
    color: int
    href: str


class Palette:
    """The numbers of the classes of a graph."""

    def __init__(self, overview: Overview) -> None:
        ranked = sorted(overview.classes, key=lambda iri: (-overview.classes[iri], iri.value))
        self._numbers = {iri: number for number, iri in enumerate(ranked)}
        self._counts = overview.classes

    def index(self, class_: NamedNode) -> int | None:
        """The number of a class; None where the data has none of it."""
        return self._numbers.get(class_)

    def class_of(self, kg: Graph, thing: NamedNode) -> NamedNode | None:
        """The class that tells most of a thing: of those that are counted, the one with the fewest instances."""
        types = [term for term in kg.store.objects(thing, TYPE) if isinstance(term, NamedNode)]
        known = [term for term in types if term in self._numbers]
        return min(known, key=lambda iri: (self._counts[iri], iri.value), default=None)

    def of_thing(self, kg: Graph, thing: NamedNode) -> int | None:
        """The number of the class of a thing."""
        found = self.class_of(kg, thing)
        return None if found is None else self._numbers[found]

    def records(self, classes: Iterable[NamedNode], labels: Labels, base: str) -> list[ClassRecord]:
        """The classes as pictures take them, in the given order."""
        return [
            {"label": labels.of(iri).text, "color": self._numbers.get(iri, -1), "href": addresses.of_iri(iri, base)}
            for iri in classes
        ]
