"""From a finding to the passages: where the statements at fault rest, and by which method they came."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pyoxigraph import NamedNode, Triple

from kgplatform.checking.findings import Finding, Support
from kgplatform.dataset import EvidenceDataset
from kgplatform.describing import FindEvidence
from kgplatform.documents.registry import Registry
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.vocab import CORE, PROV, TYPE

_USED = NamedNode(f"{PROV}used")
_METHOD, _MODEL = NamedNode(f"{CORE}method"), NamedNode(f"{CORE}model")
_MOST = 3


class Tracer:
    """Finds the support of statements; looks the method of a graph up once."""

    def __init__(self, dataset: EvidenceDataset, registry: Registry, find_evidence: FindEvidence) -> None:
        self._dataset = dataset
        self._registry = registry
        self._find = find_evidence
        self._methods: dict[NamedNode, str] = {}

    def traced(self, finding: Finding) -> Finding:
        """The finding with the support of its statements; one without statements gets that of its thing's class."""
        statements = finding.statements or tuple(self._typing(finding))
        support = (item for triple in statements for item in self._support(triple))
        return replace(finding, evidence=tuple(support))

    def _typing(self, finding: Finding) -> Iterator[Triple]:
        if isinstance(finding.focus, NamedNode):
            yield from (q.triple for q in self._dataset.store.quads(finding.focus, TYPE, None, DEFAULT_GRAPH))

    def _support(self, triple: Triple) -> Iterator[Support]:
        for graph in self._dataset.evidence_graphs(triple)[:_MOST]:
            yield Support(triple, graph, self._method(graph), self._find(triple, graph))

    def _method(self, graph: NamedNode) -> str:
        if graph not in self._methods:
            self._methods[graph] = self._found(graph)
        return self._methods[graph]

    def _found(self, graph: NamedNode) -> str:
        """The name of the method with its model; for the platform's own graphs their name, such as ``asserted``."""
        extraction = self._registry.extraction(graph)
        if extraction is not None:
            return f"{extraction.method} ({extraction.model})" if extraction.model else extraction.method
        if "/graph/table/" in graph.value:
            return "table"
        if "/chunk/" not in graph.value:
            return graph.value.removeprefix(f"{self._dataset.base}graph/")
        for used in self._dataset.store.quads(None, _USED, graph):
            names = [
                item.object.value  # type: ignore[union-attr]
                for predicate in (_METHOD, _MODEL)
                for item in self._dataset.store.quads(used.subject, predicate, None, used.graph_name)
            ]
            if names:
                return names[0] + (f" ({names[1]})" if len(names) > 1 else "")
        return "unknown"
