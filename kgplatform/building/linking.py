"""The linking stage: which names stand for which entities, over the whole workspace, and the statements that follow."""

from __future__ import annotations

from dataclasses import dataclass

from kgplatform.building.ingest import Ingest
from kgplatform.building.known import known_entities
from kgplatform.dataset import Change, EvidenceDataset
from kgplatform.documents.registry import Registry
from kgplatform.linking.entities import link_entities, link_triples
from kgplatform.ontology import Ontology
from kgplatform.protocols import Embedder


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
        known=known_entities(dataset, registry, ontology),
        embedder=embedder,
        similarity=similarity,
    )
    touched = ingest.reproject(before, after)
    if before != after:
        dataset.commit(Change(dropped=(dataset.links,), added={dataset.links: link_triples(after, base)}))
        registry.set_linking(after)
    return Linked(names=len(after.names), entities=len(after.entities), reprojected=touched)
