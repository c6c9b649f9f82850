"""What is in the graph, in numbers, and questions to begin with: computed once for each version of the store."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

from pyoxigraph import Literal, NamedNode

from kgplatform.describing import NAMING
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.text import normalise
from kgplatform.vocab import ALT_LABEL, OWL, RDF, RDFS, SKOS, TYPE
from kgplatform.web.needs import Graph

_CLASSES = "SELECT ?class (COUNT(?s) AS ?n) WHERE { ?s a ?class } GROUP BY ?class"
_PROPERTIES = "SELECT ?p (COUNT(?s) AS ?n) WHERE { ?s ?p ?o } GROUP BY ?p"
_VOCABULARIES = (OWL, RDF, RDFS, SKOS)
_MOST_NAMES = 200_000


@dataclass(frozen=True)
class Overview:
    """The numbers: instances by class, uses by property, statements; of what is stated, without the ontology's own."""

    classes: dict[NamedNode, int] = field(default_factory=dict)
    properties: dict[NamedNode, int] = field(default_factory=dict)
    statements: int = 0

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
        self._names: tuple[int, list[tuple[str, NamedNode]]] | None = None

    def overview(self) -> Overview:
        """The numbers as they are now."""
        with self._lock:
            version = self._kg.store.version
            if self._overview is None or self._overview[0] != version:
                self._overview = (version, _overview(self._kg))
            return self._overview[1]

    def called(self, text: str, limit: int) -> list[NamedNode]:
        """The things whose names hold the text, the ontology's terms last.

        Equal names come first, then names that begin with it, then others.
        """
        wanted = normalise(text)
        if not wanted:
            return []
        best: dict[NamedNode, tuple[int, int]] = {}
        for name, iri in self._all_names():
            if wanted in name:
                rank = (0 if name == wanted else 1 if name.startswith(wanted) else 2, len(name))
                best[iri] = min(rank, best.get(iri, rank))
        ontology = self._kg.ontology
        terms = {*ontology.classes, *ontology.properties, *ontology.individuals}
        return sorted(best, key=lambda iri: (iri in terms, best[iri], iri.value))[:limit]

    def _all_names(self) -> list[tuple[str, NamedNode]]:
        with self._lock:
            version = self._kg.store.version
            if self._names is None or self._names[0] != version:
                self._names = (version, _names(self._kg))
            return self._names[1]


def _names(kg: Graph) -> list[tuple[str, NamedNode]]:
    found = []
    for predicate in (*NAMING, ALT_LABEL):
        for quad in kg.store.quads(None, predicate, None, DEFAULT_GRAPH):
            if isinstance(quad.subject, NamedNode) and isinstance(quad.object, Literal):
                found.append((normalise(quad.object.value), quad.subject))
                if len(found) >= _MOST_NAMES:
                    return found
    return found


def _counted(kg: Graph, query: str) -> Counter[NamedNode]:
    found: Counter[NamedNode] = Counter()
    for term, number in kg.store.query(query).rows:
        if isinstance(term, NamedNode) and isinstance(number, Literal):
            found[term] = int(number.value)
    return found


def _overview(kg: Graph) -> Overview:
    classes, properties = _counted(kg, _CLASSES), _counted(kg, _PROPERTIES)
    all_statements = sum(properties.values())
    for graph in (kg.dataset.ontology, kg.dataset.inferred):
        for quad in kg.store.quads(graph=graph):
            properties[quad.predicate] -= 1
            all_statements -= 1
            if quad.predicate == TYPE and isinstance(quad.object, NamedNode):
                classes[quad.object] -= 1
    ontology = kg.ontology
    return Overview(
        classes={
            iri: count
            for iri, count in classes.most_common()
            if count > 0 and not iri.value.startswith(_VOCABULARIES) and not _internal(kg, iri)
        },
        properties={
            iri: count
            for iri, count in properties.most_common()
            if count > 0 and not (iri in ontology.properties and ontology.properties[iri].internal)
        },
        statements=all_statements,
    )


def _internal(kg: Graph, iri: NamedNode) -> bool:
    term = kg.ontology.classes.get(iri)
    return term is not None and term.internal
