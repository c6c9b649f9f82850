"""The law of evidence: what holds rests on evidence, what has evidence holds, and evidence belongs to a document.

`repair` mends what can be mended without losing anything that was read or stated: a statement without evidence is
noted as asserted, evidence that is not held is held again, and graphs of chunks and tables go that belong to no
document and that no document's description lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyoxigraph import NamedNode, Quad, Triple

from kgplatform.checking.findings import Finding, Kind, Severity
from kgplatform.checking.scope import Instances, Scope
from kgplatform.dataset import Change, EvidenceDataset, quad
from kgplatform.documents.registry import Registry, State
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.vocab import CORE

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
        yield _law(Kind.NO_EVIDENCE, triple, "stands in the knowledge without evidence")
    for triple in sorted(unheld, key=str):
        yield _law(Kind.NOT_HELD, triple, "has evidence, but is missing from the knowledge")


def _law(kind: Kind, triple: Triple, message: str) -> Finding:
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
                Kind.DANGLING_GRAPH, Severity.WARNING, graph,
                "is evidence that came with loaded data: its document is not in the registry, no passage can be shown",
            )  # fmt: skip
        else:
            yield Finding(
                Kind.DANGLING_GRAPH, Severity.VIOLATION, graph,
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
    """Whether only the name is left, which the store keeps when the last statement goes."""
    return next(iter(dataset.store.quads(graph=graph)), None) is None


def _is_listed(dataset: EvidenceDataset, graph: NamedNode) -> bool:
    """Whether a document's description lists the graph as a chunk of it."""
    return next(iter(dataset.store.quads(None, _HAS_CHUNK, graph)), None) is not None


def _documents(dataset: EvidenceDataset, registry: Registry) -> Iterator[Finding]:
    for record in registry.documents(State.PROCESSED):
        iri = record.document.iri
        if _is_empty(dataset, iri):
            yield Finding(
                Kind.MISSING_GRAPH, Severity.VIOLATION, iri,
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
