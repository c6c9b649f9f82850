"""What is in the graph, in numbers, and what things are called: computed once for each version of the store."""

from __future__ import annotations

import heapq
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from pyoxigraph import Literal, NamedNode

from kgplatform.describing import NAMING
from kgplatform.text import normalise
from kgplatform.vocab import ALT_LABEL, OWL, RDF, RDFS, SKOS
from kgplatform.web.atlas import texts
from kgplatform.web.needs import Graph

_CLASSES = "?s a ?term"
_PROPERTIES = "?s ?term ?o"
_VOCABULARIES = (OWL, RDF, RDFS, SKOS)
_MOST_NAMES = 1_000_000


@dataclass(frozen=True)
class Overview:
    """The numbers: instances by class, uses by property, statements; of what is stated, without the ontology's own.

    Statements are counted when they are first asked for: few pages need them, and classes take a tenth of the time.
    """

    classes: dict[NamedNode, int] = field(default_factory=dict)
    count: Callable[[], dict[NamedNode, int]] = dict
    internal: frozenset[NamedNode] = frozenset()

    @cached_property
    def _all_properties(self) -> dict[NamedNode, int]:
        return self.count()

    @property
    def properties(self) -> dict[NamedNode, int]:
        """The properties with how many statements have them, the most used first; bookkeeping left out."""
        return {iri: count for iri, count in self._all_properties.items() if iri not in self.internal}

    @property
    def statements(self) -> int:
        """How many statements there are."""
        return sum(self._all_properties.values())

    @property
    def empty(self) -> bool:
        """Whether there is nothing to ask about."""
        return self.statements == 0


class Lately:
    """The overview and the names of a workspace, renewed when its store has changed."""

    def __init__(self, kg: Graph) -> None:
        self._kg = kg
        self._lock = threading.Lock()
        self._overview: tuple[int, Overview] | None = None
        self._names: tuple[int, list[tuple[str, str]]] | None = None

    def overview(self) -> Overview:
        """The numbers as they are now."""
        with self._lock:
            version = self._kg.store.version
            if self._overview is None or self._overview[0] != version:
                self._overview = (version, _overview(self._kg))
            return self._overview[1]

    def prepare(self) -> None:
        """Works out numbers and names, before somebody waits for them."""
        _ = self.overview().statements
        self.called("a", 1)

    def called(self, text: str, limit: int) -> list[NamedNode]:
        """The things whose names hold the text, the ontology's terms last.

        Equal names come first, then names that begin with it, then others.
        """
        wanted = normalise(text)
        if not wanted:
            return []
        best: dict[str, tuple[int, int]] = {}
        for name, thing in self._all_names():
            if wanted in name:
                rank = (0 if name == wanted else 1 if name.startswith(wanted) else 2, len(name))
                if thing not in best or rank < best[thing]:
                    best[thing] = rank
        ontology = self._kg.ontology
        terms = {iri.value for kind in (ontology.classes, ontology.properties, ontology.individuals) for iri in kind}
        ranked = heapq.nsmallest(limit, ((thing in terms, rank, thing) for thing, rank in best.items()))
        return [NamedNode(thing) for _, _, thing in ranked]

    def _all_names(self) -> list[tuple[str, str]]:
        with self._lock:
            version = self._kg.store.version
            if self._names is None or self._names[0] != version:
                self._names = (version, _names(self._kg))
            return self._names[1]


def _names(kg: Graph) -> list[tuple[str, str]]:
    """What things are called, as names are compared, with the IRIs of the things."""
    found: list[tuple[str, str]] = []
    for predicate in (*NAMING, ALT_LABEL):
        found += [(normalise(name), thing) for thing, name in texts(kg.store, predicate)]
    return found[:_MOST_NAMES]


def _counted(kg: Graph, pattern: str) -> Counter[NamedNode]:
    """How often each term stands in the pattern in what is stated."""
    found: Counter[NamedNode] = Counter()
    for term, number in kg.store.query(f"SELECT ?term (COUNT(*) AS ?n) WHERE {{ {pattern} }} GROUP BY ?term").rows:
        if isinstance(term, NamedNode) and isinstance(number, Literal):
            found[term] = int(number.value)
    text = f"SELECT ?g ?term (COUNT(*) AS ?n) WHERE {{ GRAPH ?g {{ {pattern} }} }} GROUP BY ?g ?term"
    for graph in (kg.dataset.ontology, kg.dataset.inferred):
        for _, term, number in kg.store.query(text, bindings={"g": graph}).rows:
            if isinstance(term, NamedNode) and isinstance(number, Literal):
                found[term] -= int(number.value)
    return Counter({term: number for term, number in found.most_common() if number > 0})


def _overview(kg: Graph) -> Overview:
    ontology = kg.ontology
    counted = _counted(kg, _CLASSES)
    return Overview(
        classes={
            iri: count
            for iri, count in counted.items()
            if not iri.value.startswith(_VOCABULARIES) and not _internal(kg, iri)
        },
        count=lambda: _counted(kg, _PROPERTIES),
        internal=frozenset(iri for iri, term in ontology.properties.items() if term.internal),
    )


def _internal(kg: Graph, iri: NamedNode) -> bool:
    term = kg.ontology.classes.get(iri)
    return term is not None and term.internal
