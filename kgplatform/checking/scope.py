"""What is checked: the things that the graph describes, all of them or those that one document speaks of.

The ontology's own statements are part of the default graph, but they are what data is held to, not data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyoxigraph import NamedNode, Quad, Triple

from kgplatform.dataset import EvidenceDataset
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.vocab import OWL, RDF, RDFS, TYPE

_STRUCTURE = ("urn:kgplatform:node:",)
_DECLARING = frozenset(
    NamedNode(iri)
    for iri in (
        *(f"{OWL}{name}" for name in ("Class", "ObjectProperty", "DatatypeProperty", "AnnotationProperty", "Ontology")),
        *(f"{RDFS}Class", f"{RDF}Property", f"{RDFS}Datatype"),
    )
)


@dataclass(frozen=True, slots=True)
class Scope:
    """The things to look at; ``graphs`` are the document's evidence graphs, None where everything is checked."""

    subjects: tuple[NamedNode, ...]
    graphs: tuple[NamedNode, ...] | None = None


class Instances:
    """The data of a workspace, without its ontology."""

    def __init__(self, dataset: EvidenceDataset) -> None:
        self.dataset = dataset
        self.store = dataset.store
        self._types: dict[NamedNode, frozenset[NamedNode]] = {}
        self._ontology = frozenset(item.triple for item in self.store.quads(graph=dataset.ontology))

    def whole(self) -> Scope:
        """Everything that the default graph describes."""
        found = (item.subject for item in self.store.quads(graph=DEFAULT_GRAPH) if item.triple not in self._ontology)
        return Scope(self._things(found))

    def of(self, graphs: Iterable[NamedNode]) -> Scope:
        """What the statements in the graphs of a document are about."""
        listed = tuple(graphs)
        found = (item.subject for graph in listed for item in self.store.quads(graph=graph))
        return Scope(self._things(found), listed)

    def _things(self, subjects: Iterable[object]) -> tuple[NamedNode, ...]:
        named = (s for s in dict.fromkeys(subjects) if isinstance(s, NamedNode) and not s.value.startswith(_STRUCTURE))
        return tuple(s for s in named if not self.types(s) & _DECLARING)

    def statements(self, subject: NamedNode) -> list[Triple]:
        """What the default graph says of the thing, the ontology's statements left out."""
        found = (item.triple for item in self.store.quads(subject, None, None, DEFAULT_GRAPH))
        return [triple for triple in found if triple not in self._ontology]

    def types(self, subject: NamedNode) -> frozenset[NamedNode]:
        """The classes of a thing, those that the ontology gives its named values included."""
        if subject not in self._types:
            found = (item.object for item in self.store.quads(subject, TYPE, None, DEFAULT_GRAPH))
            self._types[subject] = frozenset(item for item in found if isinstance(item, NamedNode))
        return self._types[subject]

    def first(self, *pattern: NamedNode | None) -> Quad | None:
        """A quad of any graph that fits the pattern; None where there is none."""
        return next(iter(self.store.quads(*pattern)), None)


def statements_about(instances: Instances, scope: Scope) -> Iterator[tuple[NamedNode, list[Triple]]]:
    """Each thing of the scope with what is said of it."""
    for subject in scope.subjects:
        yield subject, instances.statements(subject)
