"""The linking stage: which names stand for which entities, over the whole workspace, and the statements that follow."""

from __future__ import annotations

from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode

from kgplatform.building.ingest import Ingest
from kgplatform.dataset import Change, EvidenceDataset
from kgplatform.documents.registry import NameKey, Registry
from kgplatform.linking.entities import link_entities, link_triples
from kgplatform.ontology import Ontology
from kgplatform.protocols import Embedder
from kgplatform.text import normalise
from kgplatform.vocab import ALT_LABEL, LABEL, TYPE


@dataclass(frozen=True, slots=True)
class Linked:
    """How many names were linked to how many entities, and how many documents had to be projected anew."""

    names: int
    entities: int
    reprojected: int


def link(
    *,
    base: str,
    registry: Registry,
    dataset: EvidenceDataset,
    ontology: Ontology,
    ingest: Ingest,
    embedder: Embedder | None,
    similarity: float,
) -> Linked:
    """Links all names read so far, and brings the chunks in line whose names stand for something else now.

    The result depends on what was read, not on the order in which it was read.
    """
    before = registry.linking()
    after = link_entities(
        registry.extractions(),
        ontology=ontology,
        base=base,
        known=known_entities(dataset, ontology),
        embedder=embedder,
        similarity=similarity,
    )
    touched = ingest.reproject(before, after)
    if before != after:
        dataset.commit(Change(dropped=(dataset.links,), added={dataset.links: link_triples(after, base)}))
        registry.set_linking(after)
    return Linked(names=len(after.names), entities=len(after.entities), reprojected=touched)


def known_entities(dataset: EvidenceDataset, ontology: Ontology) -> dict[NameKey, NamedNode]:
    """The entities that tables and people describe, by class and normalised name."""
    known: dict[NameKey, NamedNode] = {}
    graphs = [g for g in dataset.store.graphs() if g == dataset.asserted or "/graph/table/" in g.value]
    for graph in sorted(graphs, key=lambda g: g.value):
        for predicate in (LABEL, ALT_LABEL):
            for quad in dataset.store.quads(None, predicate, None, graph):
                if isinstance(quad.subject, NamedNode) and isinstance(quad.object, Literal):
                    for type_ in _types(dataset, quad.subject, ontology):
                        known.setdefault((type_, normalise(quad.object.value)), quad.subject)
    return known


def _types(dataset: EvidenceDataset, subject: NamedNode, ontology: Ontology) -> list[NamedNode]:
    found = (quad.object for quad in dataset.store.quads(subject, TYPE))
    return sorted({t for t in found if isinstance(t, NamedNode) and t in ontology.classes}, key=lambda t: t.value)
