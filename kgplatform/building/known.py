"""What tables and people describe, for texts and further tables to refer to: names, keys, classes."""

from __future__ import annotations

from collections.abc import Iterator

from pyoxigraph import Literal, NamedNode, Quad

from kgplatform.dataset import EvidenceDataset, Written
from kgplatform.documents.registry import NameKey, Registry
from kgplatform.extraction.entities import EntityIndex
from kgplatform.ontology import Ontology
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.text import normalise
from kgplatform.vocab import ALT_LABEL, LABEL, TYPE


def known_entities(dataset: EvidenceDataset, registry: Registry, ontology: Ontology) -> dict[NameKey, NamedNode]:
    """The entities that rows of tables and people describe, by class and normalised name."""
    named = list(_named(dataset, ontology, registry.large_graphs()))
    described = _with_rows(dataset, registry, ontology) if named else frozenset()
    known: dict[NameKey, NamedNode] = {}
    for label, type_, iri in named:
        if iri in described:
            known.setdefault((type_, normalise(label)), iri)
    return known


class KnownEntities:
    """The entities that rows and people describe, kept: read again when something was written that they hang on."""

    def __init__(self, dataset: EvidenceDataset, registry: Registry, ontology: Ontology) -> None:
        self.dataset = dataset
        self.keys = frozenset(key for class_ in ontology.classes.values() for key in class_.key)
        self.now: dict[NameKey, NamedNode] = {}
        self._registry = registry
        self._ontology = ontology
        self._types: dict[object, list[NamedNode]] = {}
        self._described: frozenset[NamedNode] = frozenset()

    def follow(self, written: Written | None) -> set[NameKey]:
        """Brings them in line with what was written (None: anything may have been); the names that changed."""
        if written is not None and not self._hang_on(written):
            return set()
        before, self.now, self._types = self.now, {}, {}
        large = self._registry.large_graphs()
        named = list(_named(self.dataset, self._ontology, large))
        self._described = _with_rows(self.dataset, self._registry, self._ontology) if named else frozenset()
        for label, type_, iri in named:
            self._types.setdefault(iri, _types(self.dataset, iri, self._ontology))
            if iri in self._described:
                self.now.setdefault((type_, normalise(label)), iri)
        return {key for key, _ in before.items() ^ self.now.items()}

    def _hang_on(self, written: Written) -> bool:
        """Whether what was written changes a thing that a table or a person names, or what that is told by."""
        if any(graph == self.dataset.asserted or "/graph/table/" in graph.value for graph in written.graphs):
            return True
        return any(self._is_changed(subject) for subject in {item.subject for item in written.statements})

    def _is_changed(self, subject: object) -> bool:
        if subject not in self._types or not isinstance(subject, NamedNode):
            return False
        if self._types[subject] != _types(self.dataset, subject, self._ontology):
            return True
        return (subject in self._described) != self._is_described(subject)

    def _is_described(self, subject: NamedNode) -> bool:
        store, large = self.dataset.store, self._registry.large_graphs()
        by_hand = next(store.quads(subject, graph=self.dataset.asserted), None)
        if by_hand is not None or self._registry.rows_about(subject):
            return True
        said = (item.graph_name for key in self.keys for item in store.quads(subject, key))
        return any(graph not in large and self.dataset.is_evidence(graph) for graph in said)


def _with_rows(dataset: EvidenceDataset, registry: Registry, ontology: Ontology) -> frozenset[NamedNode]:
    """What has a row or a key of its own, or was stated by hand; what rows only name is linked like names in texts."""
    by_hand = (item.subject for item in dataset.store.quads(graph=dataset.asserted))
    keys = {key for class_ in ontology.classes.values() for key in class_.key}
    keyed = (item.subject for key in keys for item in _keyed(dataset, registry, key))
    return registry.row_subjects() | {iri for iri in (*by_hand, *keyed) if isinstance(iri, NamedNode)}


def _keyed(dataset: EvidenceDataset, registry: Registry, key: NamedNode) -> Iterator[Quad]:
    """The statements of keys, those of large tables left out: they would not fit into memory."""
    large = registry.large_graphs()
    if not large:
        yield from dataset.store.quads(None, key, None, DEFAULT_GRAPH)
        return
    for quad in dataset.store.quads(None, key):
        if quad.graph_name not in large and dataset.is_evidence(quad.graph_name):
            yield quad


def _named(
    dataset: EvidenceDataset, ontology: Ontology, apart: frozenset[NamedNode] = frozenset()
) -> Iterator[tuple[str, NamedNode, NamedNode]]:
    """Name, class and IRI of what has a name in a table graph (but ``apart``) or by hand."""
    graphs = [g for g in dataset.own_graphs() if g == dataset.asserted or "/graph/table/" in g.value]
    for graph in sorted((g for g in graphs if g not in apart), key=lambda g: g.value):
        for predicate in (LABEL, ALT_LABEL):
            for quad in dataset.store.quads(None, predicate, None, graph):
                if isinstance(quad.subject, NamedNode) and isinstance(quad.object, Literal):
                    for type_ in _types(dataset, quad.subject, ontology):
                        yield quad.object.value, type_, quad.subject


def known_names(dataset: EvidenceDataset, registry: Registry, ontology: Ontology) -> dict[str, NamedNode]:
    """The names of the entities that tables and people describe, each with its class."""
    return {label: type_ for label, type_, _ in _named(dataset, ontology, registry.large_graphs())}


def entity_index(
    dataset: EvidenceDataset, registry: Registry, ontology: Ontology, *, apart: NamedNode | None = None
) -> EntityIndex:
    """The entities that rows and people describe, by their names and keys, for further tables to refer to.

    ``apart`` is the graph of the table that is going to be read: what it called things before does not count.
    """
    described = _with_rows(dataset, registry, ontology)
    index = EntityIndex(ontology, dataset.base)
    left_out = registry.large_graphs() | ({apart} if apart is not None else set())
    for label, type_, iri in _named(dataset, ontology, left_out):
        if iri in described:
            index.add(iri, type_, (label,))
            index.call(iri)
    keys = {key for class_ in ontology.classes.values() for key in class_.key}
    for key in sorted(keys, key=lambda k: k.value):
        for quad in _keyed(dataset, registry, key):
            if isinstance(quad.subject, NamedNode) and isinstance(quad.object, Literal):
                for type_ in _types(dataset, quad.subject, ontology):
                    index.add(quad.subject, type_, (quad.object.value,))
    return index


def _types(dataset: EvidenceDataset, subject: NamedNode, ontology: Ontology) -> list[NamedNode]:
    """The classes that something other than inference gives it: who is who must not depend on conclusions."""
    apart = (DEFAULT_GRAPH, dataset.inferred)
    quads = (quad for quad in dataset.store.quads(subject, TYPE) if not dataset.is_of_places(quad.graph_name))
    found = (quad.object for quad in quads if quad.graph_name not in apart)
    return sorted({t for t in found if isinstance(t, NamedNode) and t in ontology.classes}, key=lambda t: t.value)
