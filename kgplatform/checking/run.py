"""All checks together: over the whole graph, or over what one document speaks of, at the cost of its size."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyoxigraph import NamedNode, Triple

from kgplatform.checking.conformance import conformance
from kgplatform.checking.findings import CheckReport, Finding, Kind, Severity, in_order
from kgplatform.checking.implied import implied
from kgplatform.checking.law import dangling, repair
from kgplatform.checking.naming import clashes, unreachable
from kgplatform.checking.scope import Instances
from kgplatform.checking.shacl import shapes_hold
from kgplatform.checking.shapes import Shapes, beside, read_shapes
from kgplatform.checking.tracing import Tracer
from kgplatform.checking.vocabulary import Vocabulary
from kgplatform.dataset import EvidenceDataset
from kgplatform.describing import FindEvidence
from kgplatform.documents.registry import Registry
from kgplatform.packs import LoadedOntology

_SAME_FAULT: dict[str, str] = {
    **dict.fromkeys(("Datatype", "NodeKind", "Class", "Or", "Pattern", "In", "Node"), "value"),
    **dict.fromkeys((Kind.RANGE, Kind.DATATYPE, Kind.PATTERN), "value"),
    **dict.fromkeys(("MaxCount", Kind.FUNCTIONAL), "count"),
}


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check looks at: the dataset, the registry, the ontology in use, and how passages are found."""

    dataset: EvidenceDataset
    registry: Registry
    loaded: LoadedOntology
    find_evidence: FindEvidence


def check(
    parts: Checked, *, document: NamedNode | None = None, shapes: Sequence[Path] = (), fix: bool = False
) -> CheckReport:
    """The findings about everything, or about what the document speaks of; ``fix`` repairs what is safe first.

    Raises:
        NotFoundError: no document has that IRI.
        OntologyError: a shapes file cannot be read or used.
    """
    began = time.monotonic()
    vocabulary = Vocabulary(parts.loaded.ontology, parts.loaded.triples)
    held_to = all_shapes(vocabulary, parts.loaded.files, shapes)
    repaired = repair(parts.dataset, parts.registry) if fix else ()
    instances = Instances(parts.dataset)
    scope = instances.whole() if document is None else instances.of(graphs_of(parts.registry, document))
    found = merged(
        (
            *conformance(instances, scope, vocabulary),
            *dangling(instances, scope, parts.registry),
            *unreachable(instances, scope, parts.dataset.base),
            *clashes(instances, scope, vocabulary),
        ),
        shapes_hold(instances, scope, held_to, vocabulary),
    )
    tracer = Tracer(parts.dataset, parts.registry, parts.find_evidence)
    findings = tuple(tracer.traced(finding) for finding in in_order(found))
    return CheckReport(findings, len(scope.subjects), time.monotonic() - began, repaired)


def all_shapes(vocabulary: Vocabulary, ontologies: Sequence[Path], own: Sequence[Path] = ()) -> Shapes:
    """The shapes beside the ontologies, one's own, and those that the ontology implies.

    Raises:
        OntologyError: a file cannot be read or holds no shapes.
    """
    triples: list[Triple] = []
    for path in (*beside(ontologies), *own):
        triples += read_shapes(path)
    return Shapes([*triples, *implied(vocabulary, Shapes(triples))])


def graphs_of(registry: Registry, document: NamedNode) -> list[NamedNode]:
    """The evidence graphs of a document: its chunks, or its table.

    Raises:
        NotFoundError: no document has that IRI.
    """
    record = registry.document(document)
    chunks = [chunk.iri for chunk in registry.chunks(document)]
    return list(dict.fromkeys([*chunks, *([record.graph] if record.graph else [])]))


def merged(own: Iterable[Finding], by_shapes: Iterable[Finding]) -> Iterator[Finding]:
    """The findings of both, those that tell the same fault as one: with the shape that says so too."""
    known: dict[object, Finding] = {}
    for finding in (*own, *by_shapes):
        key = _fault(finding)
        first = known.setdefault(key, finding)
        if first is not finding:
            worse = Severity.VIOLATION in (first.severity, finding.severity)
            known[key] = replace(
                first,
                severity=Severity.VIOLATION if worse else first.severity,
                shape=first.shape or finding.shape,
                constraint=first.constraint or finding.constraint,
            )
    yield from known.values()


def _fault(finding: Finding) -> object:
    """What tells two findings of one fault from findings of two faults."""
    fault = _SAME_FAULT.get(finding.constraint or finding.kind)
    if fault == "value":
        return finding.focus, finding.path, finding.value, fault
    if fault == "count":
        return finding.focus, finding.path, fault
    return finding.kind, finding.focus, finding.path, finding.value, finding.constraint, finding.message
