"""All checks together: over the whole graph, or over what one document speaks of, at the cost of its size."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyoxigraph import NamedNode, Triple

from kgplatform.checking.conformance import conformance
from kgplatform.checking.findings import CheckReport, Finding, Kind, Severity, in_order
from kgplatform.checking.holding import shapes_hold
from kgplatform.checking.implied import implied
from kgplatform.checking.law import dangling, repair
from kgplatform.checking.naming import clashes, unreachable
from kgplatform.checking.quarantine import quarantine_graph, quarantined
from kgplatform.checking.scope import Instances, Scope, Supposed
from kgplatform.checking.shapes import Shapes, beside, read_shapes
from kgplatform.checking.tracing import Tracer
from kgplatform.checking.vocabulary import Vocabulary
from kgplatform.dataset import EvidenceDataset
from kgplatform.describing import FindEvidence
from kgplatform.documents.registry import Registry, State
from kgplatform.packs import LoadedOntology, own_files

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
    refuse_unusable(parts.loaded.files, shapes)
    repaired = repair(parts.dataset, parts.registry) if fix else ()
    instances = Instances(parts.dataset)
    if document is not None and parts.registry.state(document) is State.QUARANTINED:
        instances, scope = _apart(parts, document)
        found = shapes_hold(instances, scope, held_to, vocabulary)
    else:
        scope = instances.whole() if document is None else instances.of(graphs_of(parts.registry, document))
        found = merged(_own(parts, instances, scope, vocabulary), shapes_hold(instances, scope, held_to, vocabulary))
    tracer = Tracer(parts.dataset, parts.registry, parts.find_evidence)
    findings = tuple(tracer.traced(finding) for finding in in_order(found))
    return CheckReport(findings, len(scope.subjects), time.monotonic() - began, repaired)


def _own(parts: Checked, instances: Instances, scope: Scope, vocabulary: Vocabulary) -> Iterator[Finding]:
    """What is found without shapes."""
    yield from conformance(instances, scope, vocabulary)
    yield from dangling(instances, scope, parts.registry)
    yield from unreachable(instances, scope, parts.dataset.base)
    yield from clashes(instances, scope, vocabulary)
    if scope.graphs is None:
        yield from quarantined(parts.registry)


def _apart(parts: Checked, document: NamedNode) -> tuple[Instances, Scope]:
    """The things of a document in quarantine, as they would be if it were released."""
    graphs = [quarantine_graph(parts.dataset, graph) for graph in graphs_of(parts.registry, document)]
    said = [item.triple for graph in graphs for item in parts.dataset.store.quads(graph=graph)]
    instances = Instances(parts.dataset, Supposed(said))
    return instances, Scope(instances.things(triple.subject for triple in said), tuple(graphs))


def refuse_unusable(ontologies: Sequence[Path], own: Sequence[Path] = ()) -> None:
    """Refuses shapes, other than the shipped ones, that are not well formed.

    Raises:
        OntologyError: the first fault.
    """
    for path in dict.fromkeys((*beside(own_files(ontologies)), *own)):
        from kgplatform.checking.shacl import refuse_malformed  # rdflib takes a while to import

        refuse_malformed(Shapes(read_shapes(path)), path.name)


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
