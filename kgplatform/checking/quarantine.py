"""Where the statements of a document lie that violates shapes and is kept apart: in graphs that are no evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyoxigraph import NamedNode

from kgplatform.checking.findings import Finding, Kind, Severity
from kgplatform.dataset import EvidenceDataset
from kgplatform.documents.registry import Registry, State


def quarantine_graph(dataset: EvidenceDataset, graph: NamedNode) -> NamedNode:
    """Where the statements of an evidence graph lie while their document is in quarantine."""
    place = graph.value.removeprefix(dataset.base).removeprefix("graph/")
    return NamedNode(f"{dataset.base}graph/quarantine/{place}")


def is_quarantined(dataset: EvidenceDataset, graphs: Iterable[NamedNode]) -> bool:
    """Whether something lies in quarantine that would lie in one of the evidence graphs."""
    apart = (quarantine_graph(dataset, graph) for graph in graphs if dataset.is_evidence(graph))
    return any(next(iter(dataset.store.quads(graph=graph)), None) is not None for graph in apart)


def quarantined(registry: Registry) -> Iterator[Finding]:
    """A finding for each document in quarantine."""
    for record in registry.documents(State.QUARANTINED):
        yield Finding(
            Kind.QUARANTINED, Severity.WARNING, record.document.iri,
            f"{record.document.source} is in quarantine: nothing that it says holds; `check --document` says why, "
            "`documents release` takes it in",
        )  # fmt: skip
