"""All checks together: over the whole graph, or over what one document speaks of, at the cost of its size.

Findings are traced to the passages on which they rest, and reported as JSON or in the words of SHACL.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple

from kgplatform.documents.records import State
from kgplatform.documents.registry import Registry
from kgplatform.entities import NAMING, FindEvidence
from kgplatform.ontology.packs import LoadedOntology, own_files
from kgplatform.ontology.schema import TermIndex
from kgplatform.reasoning.conformance import conformance, value_of
from kgplatform.reasoning.scope import (
    REPLACED,
    CheckReport,
    Fault,
    Finding,
    Instances,
    Scope,
    Severity,
    Support,
    Supposed,
    in_order,
    statements_about,
)
from kgplatform.reasoning.shacl import shapes_hold
from kgplatform.reasoning.shapes import Shapes, beside, implied, read_shapes
from kgplatform.store.dataset import Change, EvidenceDataset, quad
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.text import normalise
from kgplatform.vocab import (
    CORE,
    DCTERMS,
    FOAF,
    LABEL,
    OWL,
    PREFIXES,
    PROV,
    RDFS,
    SAME_AS,
    SCHEMA,
    SH,
    SKOS,
    TYPE,
    XSD_BOOLEAN,
    local_name,
)

# What holds rests on evidence, what has evidence holds, and evidence belongs to a document. `repair` mends what can be
# mended without losing anything that was read or stated: a statement without evidence is noted as asserted, evidence
# that is not held is held again, and graphs of chunks and tables go that belong to no document and that no document
# lists.
# Two things of one name may be two things (many towns have a West Lake); they are only reported where their classes
# could be one thing's, no functional property or key tells them apart, and nobody has said that they differ.
_DIFFERENT = NamedNode(f"{OWL}differentFrom")
_MATCHES = tuple(NamedNode(f"{SKOS}{name}Match") for name in ("exact", "close", "broad", "narrow", "related"))
_OUTWARD = frozenset(
    (
        *(
            TYPE,
            SAME_AS,
            REPLACED,
            _DIFFERENT,
            *_MATCHES,
            NamedNode(f"{RDFS}seeAlso"),
            NamedNode(f"{RDFS}isDefinedBy"),
        ),
        *(NamedNode(f"{FOAF}{name}") for name in ("page", "homepage", "depiction")),
        *(NamedNode(f"{SCHEMA}{name}") for name in ("url", "sameAs", "image")),
        *(NamedNode(f"{DCTERMS}{name}") for name in ("source", "license", "references")),
    )
)
_MOST_COMPARED = 50
"""Of a name that thousands bear, so many are compared with the rest: more would cost by their square."""

_LINKS = (SAME_AS, REPLACED, _DIFFERENT, *_MATCHES[:2])


def unreachable(instances: Instances, scope: Scope, base: str) -> Iterator[Finding]:
    """Things that are referred to, but of which the graph knows neither a class nor a name."""
    seen: dict[NamedNode, bool] = {}
    for subject, statements in statements_about(instances, scope):
        if not instances.types(subject):
            yield Finding(
                Fault.UNREACHABLE, Severity.WARNING, subject, "is of no class: no question about a class finds it",
                statements=tuple(statements[:3]),
            )  # fmt: skip
        for triple in statements:
            target = triple.object
            if not isinstance(target, NamedNode) or triple.predicate in _OUTWARD:
                continue
            if target not in seen:
                seen[target] = any(instances.first(target, predicate) is not None for predicate in (TYPE, *NAMING))
            if not seen[target]:
                own = target.value.startswith(base)
                yield Finding(
                    Fault.UNREACHABLE, Severity.WARNING if own else Severity.INFO, subject,
                    f"refers to {target.value}, which has neither a class nor a name",
                    path=triple.predicate, value=target, statements=(triple,),
                )  # fmt: skip


def clashes(instances: Instances, scope: Scope, vocabulary: TermIndex) -> Iterator[Finding]:
    """Unlinked duplicates: things of the scope that share a name or all keys with another thing."""
    clash = _Clashes(instances, vocabulary)
    if scope.graphs is None:
        yield from clash.among(scope.subjects)
    else:
        yield from clash.beside(scope.subjects)


class _Clashes:
    def __init__(self, instances: Instances, vocabulary: TermIndex) -> None:
        self._instances = instances
        self._vocabulary = vocabulary
        self._ontology = vocabulary.ontology

    def among(self, subjects: Iterable[NamedNode]) -> Iterator[Finding]:
        by_name: dict[str, dict[NamedNode, Triple]] = defaultdict(dict)
        by_key: dict[object, dict[NamedNode, Triple]] = defaultdict(dict)
        for subject in subjects:
            for triple in self._labels(subject):
                name = normalise(triple.object.value) if isinstance(triple.object, Literal) else ""
                if name:
                    by_name[name].setdefault(subject, triple)
            for key, triple in self._keys(subject):
                by_key[key].setdefault(subject, triple)
        for group in by_key.values():
            yield from self._groups(Fault.KEY_CLASH, group)
        for group in by_name.values():
            yield from self._groups(Fault.LABEL_CLASH, group)

    def beside(self, subjects: Iterable[NamedNode]) -> Iterator[Finding]:
        """Against the whole graph, by looking the names up as they are written: costs by the number of things."""
        for subject in subjects:
            for triple in self._labels(subject):
                others = self._instances.store.quads(None, LABEL, triple.object, DEFAULT_GRAPH)
                group = {q.subject: q.triple for q in others if isinstance(q.subject, NamedNode)}
                yield from self._groups(Fault.LABEL_CLASH, {subject: triple, **group})
            for key, triple in self._keys(subject):
                others = self._instances.store.quads(None, triple.predicate, triple.object, DEFAULT_GRAPH)
                near = {q.subject: q.triple for q in others if isinstance(q.subject, NamedNode)}
                group = {s: t for s, t in near.items() if any(key == other for other, _ in self._keys(s))}
                yield from self._groups(Fault.KEY_CLASH, {subject: triple, **group})

    def _labels(self, subject: NamedNode) -> list[Triple]:
        return [item.triple for item in self._instances.store.quads(subject, LABEL, None, DEFAULT_GRAPH)]

    def _keys(self, subject: NamedNode) -> Iterator[tuple[object, Triple]]:
        """The values of each complete ``owl:hasKey`` that the classes of the thing have."""
        for class_ in {above for t in self._instances.types(subject) for above in self._ontology.superclasses(t)}:
            term = self._ontology.classes.get(class_)
            if term is None or not term.key:
                continue
            held = [list(self._instances.store.quads(subject, key, None, DEFAULT_GRAPH)) for key in term.key]
            if all(len(values) == 1 for values in held):
                yield (class_, *(value_of(values[0].object) for values in held)), held[0][0].triple

    def _groups(self, kind: Fault, group: Mapping[NamedNode, Triple]) -> Iterator[Finding]:
        """One finding for each thing that could be the same as one before it."""
        kept: list[NamedNode] = []
        for subject in sorted(group, key=lambda iri: iri.value):
            twin = next((other for other in kept if self._could_be_one(other, subject, kind)), None)
            if twin is None:
                if len(kept) < _MOST_COMPARED:
                    kept.append(subject)
                continue
            shared = group[subject].object
            what = (
                "is called"
                if kind is Fault.LABEL_CLASH
                else f"has the same {local_name(group[subject].predicate.value)}"
            )
            text = shared.value if isinstance(shared, Literal) else str(shared)
            yield Finding(
                kind, Severity.WARNING, twin, f"{what} {text!r} as {subject.value} is, and they are not linked",
                path=group[subject].predicate, value=subject, statements=(group[twin], group[subject]),
            )  # fmt: skip

    def _could_be_one(self, first: NamedNode, second: NamedNode, kind: Fault) -> bool:
        if self._are_linked(first, second):
            return False
        types = [(a, b) for a in self._instances.types(first) for b in self._instances.types(second)]
        if any(self._ontology.disjoint(a, b) for a, b in types):
            return False
        if not any(a == b or self._ontology.fits(a, (b,)) for a, b in types):
            return False
        return kind is Fault.KEY_CLASH or not self._differ(first, second)

    def _are_linked(self, first: NamedNode, second: NamedNode) -> bool:
        pairs = ((first, second), (second, first))
        return any(self._instances.first(a, link, b) is not None for a, b in pairs for link in _LINKS)

    def _differ(self, first: NamedNode, second: NamedNode) -> bool:
        """True if a functional property or a key has other values on either side."""
        for predicate in self._telling(first):
            one, other = self._values(first, predicate), self._values(second, predicate)
            if one and other and not one & other:
                return True
        return False

    def _telling(self, subject: NamedNode) -> set[NamedNode]:
        keys = {key for class_ in self._ontology.classes.values() for key in class_.key}
        held = {triple.predicate for triple in self._instances.statements(subject)}
        return {
            p for p in held if p in keys or ((term := self._vocabulary.property(p)) is not None and term.functional)
        }

    def _values(self, subject: NamedNode, predicate: NamedNode) -> set[object]:
        return {value_of(item.object) for item in self._instances.store.quads(subject, predicate, None, DEFAULT_GRAPH)}


_HAS_CHUNK = NamedNode(f"{CORE}hasChunk")


def dangling(instances: Instances, scope: Scope, registry: Registry) -> Iterator[Finding]:
    """Statements without evidence, evidence that is not held, graphs without document, documents without graph."""
    dataset = instances.dataset
    if scope.graphs is None:
        unsupported, unheld = dataset.violations()
        yield from _graphs(dataset, registry)
        yield from _documents(dataset, registry)
    else:
        unsupported, unheld = _violations(instances, scope)
    for triple in sorted(unsupported, key=str):
        yield _law(Fault.NO_EVIDENCE, triple, "stands in the knowledge without evidence")
    for triple in sorted(unheld, key=str):
        yield _law(Fault.NOT_HELD, triple, "has evidence, but is missing from the knowledge")


def _law(kind: Fault, triple: Triple, message: str) -> Finding:
    return Finding(
        kind, Severity.VIOLATION, triple.subject, message,
        path=triple.predicate, value=triple.object, statements=(triple,), fixable=True,
    )  # fmt: skip


def _violations(instances: Instances, scope: Scope) -> tuple[frozenset[Triple], frozenset[Triple]]:
    """As `EvidenceDataset.violations`, for what a document's graphs hold and what is said of its things."""
    dataset, store = instances.dataset, instances.store
    read = {item.triple for graph in scope.graphs or () for item in store.quads(graph=graph)}
    unheld = frozenset(t for t in read if not store.has(t) and not store.has(t, dataset.rejected))
    said = (t for subject in scope.subjects for t in instances.statements(subject))
    return frozenset(t for t in said if not dataset.evidence_graphs(t)), unheld


def _graphs(dataset: EvidenceDataset, registry: Registry) -> Iterator[Finding]:
    is_known = bool(registry.documents())
    for graph in foreign_graphs(dataset, registry):
        if _is_listed(dataset, graph):
            yield Finding(
                Fault.DANGLING_GRAPH, Severity.WARNING, graph,
                "is evidence that came with loaded data: its document is not in the registry, no passage can be shown",
            )  # fmt: skip
        else:
            yield Finding(
                Fault.DANGLING_GRAPH, Severity.VIOLATION, graph,
                "is evidence of a document that is gone", fixable=is_known,
            )  # fmt: skip


def foreign_graphs(dataset: EvidenceDataset, registry: Registry) -> Iterator[NamedNode]:
    """The graphs of chunks and tables that the registry does not know, in IRI order."""
    tables = registry.table_graphs()
    chunks = {chunk.iri for record in registry.documents() for chunk in registry.chunks(record.document.iri)}
    for graph in sorted(dataset.store.graphs(), key=lambda item: item.value):
        is_read = dataset.is_evidence(graph) and ("/chunk/" in graph.value or "/graph/table/" in graph.value)
        if is_read and graph not in chunks and graph.value not in tables and not _is_empty(dataset, graph):
            yield graph


def _is_empty(dataset: EvidenceDataset, graph: NamedNode) -> bool:
    """True if only the name is left, which the store keeps when the last statement goes."""
    return next(iter(dataset.store.quads(graph=graph)), None) is None


def _is_listed(dataset: EvidenceDataset, graph: NamedNode) -> bool:
    """True if a document's description lists the graph as a chunk of it."""
    return next(iter(dataset.store.quads(None, _HAS_CHUNK, graph)), None) is not None


def _documents(dataset: EvidenceDataset, registry: Registry) -> Iterator[Finding]:
    for record in registry.documents(State.PROCESSED):
        iri = record.document.iri
        if _is_empty(dataset, iri):
            yield Finding(
                Fault.MISSING_GRAPH, Severity.VIOLATION, iri,
                f"is processed by the registry, but the dataset has nothing of it: remove {record.document.source} "
                "and add it again",
            )  # fmt: skip


def repair(dataset: EvidenceDataset, registry: Registry) -> tuple[str, ...]:
    """Mends what is safe, over the whole workspace; says in a sentence each what was done."""
    done = []
    with dataset.store.write_lock():
        graphs = _droppable(dataset, registry)
        if graphs:
            lost = dataset.commit(Change(dropped=graphs)).lost
            count = _count(len(graphs), "graph")
            done.append(
                f"dropped {count} of documents that are gone; {_count(lost, 'statement')} rested on nothing else"
            )
        unsupported, unheld = dataset.violations()
        stated = [quad(triple, dataset.asserted) for triple in _sorted(unsupported)]
        held: list[Quad] = [quad(triple, DEFAULT_GRAPH) for triple in _sorted(unheld)]
        dataset.store.apply(added=[*stated, *held])
    if stated:
        done.append(f"noted {_count(len(stated), 'statement')} without evidence as asserted")
    if held:
        done.append(f"took {_count(len(held), 'statement')} with evidence into the knowledge again")
    return tuple(done)


def _droppable(dataset: EvidenceDataset, registry: Registry) -> tuple[NamedNode, ...]:
    """A registry that knows nothing at all was lost or never there: then no graph is taken for a leftover."""
    if not registry.documents():
        return ()
    return tuple(graph for graph in foreign_graphs(dataset, registry) if not _is_listed(dataset, graph))


def _sorted(triples: Iterable[Triple]) -> list[Triple]:
    return sorted(triples, key=str)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


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
            passage = self._find(triple, graph)
            method = "given" if passage is not None and passage.given else self._method(graph)
            yield Support(triple, graph, method, passage)

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


# Reports as JSON and as SHACL has them (https://www.w3.org/TR/shacl/#validation-report).


_SEVERITY = {"violation": "Violation", "warning": "Warning", "info": "Info"}


def as_json(report: CheckReport) -> dict[str, object]:
    """The report as JSON values: counts, repairs, and each finding with statements, passages and methods."""
    return {
        "conforms": report.conforms,
        "violations": report.violations,
        "checked": report.checked,
        "seconds": round(report.seconds, 3),
        "counts": {kind.value: count for kind, count in sorted(report.counts.items())},
        "repaired": list(report.repaired),
        "findings": [finding_json(finding) for finding in report.findings],
    }


def finding_json(finding: Finding) -> dict[str, object]:
    """A finding as JSON values."""
    return {
        "kind": finding.kind.value,
        "severity": finding.severity.value,
        "focus": finding.focus.value if isinstance(finding.focus, NamedNode) else str(finding.focus),
        "path": finding.path.value if finding.path else None,
        "value": str(finding.value) if finding.value is not None else None,
        "message": finding.message,
        "messages": {item.language or "": item.value for item in finding.messages},
        "shape": finding.shape,
        "constraint": finding.constraint or None,
        "fixable": finding.fixable,
        "statements": [str(triple) for triple in finding.statements],
        "evidence": [_support(support) for support in finding.evidence],
    }


def _support(support: Support) -> dict[str, object]:
    found: dict[str, object] = {
        "statement": str(support.triple),
        "graph": support.graph.value,
        "method": support.method,
    }
    passage = support.passage
    if passage is not None:
        found |= {
            "document": passage.document.value,
            "source": passage.source,
            "title": passage.title,
            "quote": passage.quote,
            "start": passage.start,
            "end": passage.end,
        }
    return found


def as_turtle(report: CheckReport) -> bytes:
    """The report as a SHACL validation report in Turtle, each result derived from the graphs of its statements.

    Checks that are no SHACL constraints have a component ``urn:kgplatform:check:<kind>``.
    """
    prefixes = {**PREFIXES, "sh": SH}
    return ox.serialize(report_triples(report), format=RdfFormat.TURTLE, prefixes=prefixes) or b""


def report_triples(report: CheckReport) -> list[Triple]:
    """The validation report as triples."""
    node = BlankNode("report")
    conforms = Literal(str(report.conforms).lower(), datatype=XSD_BOOLEAN)
    found = [Triple(node, TYPE, _sh("ValidationReport")), Triple(node, _sh("conforms"), conforms)]
    for number, finding in enumerate(report.findings):
        result = BlankNode(f"result{number}")
        found.append(Triple(node, _sh("result"), result))
        found.extend(_result(result, finding))
    return found


def _result(node: BlankNode, finding: Finding) -> Iterator[Triple]:
    component = (
        _sh(f"{finding.constraint}ConstraintComponent")
        if finding.constraint
        else NamedNode(f"urn:kgplatform:check:{finding.kind.value}")
    )
    yield Triple(node, TYPE, _sh("ValidationResult"))
    yield Triple(node, _sh("focusNode"), finding.focus)
    yield Triple(node, _sh("resultSeverity"), _sh(_SEVERITY[finding.severity.value]))
    yield Triple(node, _sh("sourceConstraintComponent"), component)
    for message in finding.messages or (Literal(finding.message, language="en"),):
        yield Triple(node, _sh("resultMessage"), message)
    if finding.path is not None:
        yield Triple(node, _sh("resultPath"), finding.path)
    if finding.value is not None:
        yield Triple(node, _sh("value"), finding.value)
    if finding.shape is not None:
        yield Triple(node, _sh("sourceShape"), NamedNode(finding.shape))
    for support in dict.fromkeys((item.graph, item.method) for item in finding.evidence):
        yield Triple(node, NamedNode(f"{PROV}wasDerivedFrom"), support[0])
    for method in dict.fromkeys(item.method for item in finding.evidence):
        yield Triple(node, NamedNode(f"{CORE}method"), Literal(method))


def _sh(name: str) -> NamedNode:
    return NamedNode(f"{SH}{name}")


def quarantine_graph(dataset: EvidenceDataset, graph: NamedNode) -> NamedNode:
    """Where the statements of an evidence graph lie while their document is in quarantine."""
    place = graph.value.removeprefix(dataset.base).removeprefix("graph/")
    return NamedNode(f"{dataset.base}graph/quarantine/{place}")


def is_quarantined(dataset: EvidenceDataset, graphs: Iterable[NamedNode]) -> bool:
    """True if something lies in quarantine that would lie in one of the evidence graphs."""
    apart = (quarantine_graph(dataset, graph) for graph in graphs if dataset.is_evidence(graph))
    return any(next(iter(dataset.store.quads(graph=graph)), None) is not None for graph in apart)


def quarantined(registry: Registry) -> Iterator[Finding]:
    """A finding for each document in quarantine."""
    for record in registry.documents(State.QUARANTINED):
        yield Finding(
            Fault.QUARANTINED, Severity.WARNING, record.document.iri,
            f"{record.document.source} is in quarantine: nothing that it says holds; `check --document` says why, "
            "`documents release` takes it in",
        )  # fmt: skip


_SAME_FAULT: dict[str, str] = {
    **dict.fromkeys(("Datatype", "NodeKind", "Class", "Or", "Pattern", "In", "Node"), "value"),
    **dict.fromkeys((Fault.RANGE, Fault.DATATYPE, Fault.PATTERN), "value"),
    **dict.fromkeys(("MaxCount", Fault.FUNCTIONAL), "count"),
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
    vocabulary = TermIndex(parts.loaded.ontology, parts.loaded.triples)
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


def _own(parts: Checked, instances: Instances, scope: Scope, vocabulary: TermIndex) -> Iterator[Finding]:
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
        from kgplatform.reasoning.pyshacl_report import refuse_malformed  # rdflib takes a while to import

        refuse_malformed(Shapes(read_shapes(path)), path.name)


def all_shapes(vocabulary: TermIndex, ontologies: Sequence[Path], own: Sequence[Path] = ()) -> Shapes:
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
