"""What becomes of a document whose statements violate shapes: accepted, quarantined, or refused.

It is judged before it is committed, as if it were there, by the shapes of severity Violation that its own things are
held to: this costs by the document's size. What was wrong already without it is not held against it. Names are seen
through the links as they are then; what linking makes of them later is for `check` to tell.

The statements of a quarantined document lie in ``graph/quarantine/…``, one graph for each evidence graph that they
would be in. These are no evidence: nothing of them holds, is linked, or answers questions.

A table that is read in batches is judged when it is in, and taken out again unless the policy is to accept it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from typing import TypeAlias

from pyoxigraph import NamedNode, Triple

from kgplatform.documents.records import DocumentRecord, State
from kgplatform.documents.registry import Registry
from kgplatform.errors import KgPlatformError, NotFoundError, RefusedError
from kgplatform.ontology.packs import LoadedOntology
from kgplatform.ontology.schema import TermIndex
from kgplatform.reasoning.checks import all_shapes, quarantine_graph
from kgplatform.reasoning.scope import Finding, Instances, Scope, Severity, Supposed, in_order
from kgplatform.reasoning.shacl import shapes_hold
from kgplatform.reasoning.shapes import Shapes, beside
from kgplatform.settings import checked_policy
from kgplatform.store.dataset import Change, EvidenceDataset, quad
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.vocab import local_name

Graphs: TypeAlias = Mapping[NamedNode, Iterable[Triple]]
"""The graphs of a document with their statements."""

_MOST_REASONS = 5
_BATCH = 10_000


@dataclass(frozen=True, slots=True)
class Ruling:
    """What to commit of a document, the state that it gets, and what was found against it."""

    graphs: Graphs
    state: State = State.PROCESSED
    findings: tuple[Finding, ...] = ()


class HeldShapes:
    """The shapes that documents are held to, with the vocabulary; read again when one of their files has changed."""

    def __init__(self, loaded: LoadedOntology) -> None:
        self._loaded = loaded
        self._read: tuple[object, Shapes] | None = None

    @cached_property
    def vocabulary(self) -> TermIndex:
        """The terms that the ontology declares."""
        return TermIndex(self._loaded.ontology, self._loaded.triples)

    def now(self) -> Shapes:
        """The shapes as the files have them.

        Raises:
            OntologyError: a file cannot be read or used.
        """
        files = self._loaded.files
        state = [(path, status.st_mtime_ns, status.st_size) for path in beside(files) for status in (path.stat(),)]
        if self._read is None or self._read[0] != state:
            self._read = (state, all_shapes(self.vocabulary, files))
        return self._read[1]


class Policing:
    """Rules on documents by a policy: ``accept``, ``quarantine`` or ``refuse``."""

    def __init__(self, dataset: EvidenceDataset, held: HeldShapes, policy: str) -> None:
        """Raises ConfigError where there is no such policy."""
        checked_policy(policy)
        self._dataset = dataset
        self._held = held
        self._policy = policy

    @property
    def _vocabulary(self) -> TermIndex:
        return self._held.vocabulary

    @cached_property
    def _shapes(self) -> Shapes:
        return self._held.now()

    def rule(self, graphs: Graphs, dropped: Sequence[NamedNode] = ()) -> Ruling:
        """What becomes of a document with those graphs, when ``dropped`` go as it comes.

        Raises:
            RefusedError: the policy is to refuse, and the document violates shapes.
            OntologyError: a shape cannot be read or used.
        """
        found = self.violations(graphs, dropped)
        if not found or self._policy == "accept":
            return Ruling(graphs, findings=found)
        if self._policy == "refuse":
            raise RefusedError(_reasons(found), findings=found)
        return Ruling(self._apart(graphs), State.QUARANTINED, found)

    def rule_loaded(self, graph: NamedNode) -> None:
        """Rules on a table that is too large to be judged before it is in: unless the policy is to accept.

        Raises:
            RefusedError: it violates shapes; the caller is to take it out.
            OntologyError: a shape cannot be read or used.
        """
        if self._policy == "accept" or not self._shapes.triples:
            return
        as_it_is = Instances(self._dataset)
        subjects = (key for key, _ in groupby(item.subject for item in self._dataset.store.quads(graph=graph)))
        while batch := list(islice(subjects, _BATCH)):
            found = self._judged(as_it_is, as_it_is.things(batch))
            if not found:
                continue
            things = tuple(dict.fromkeys(f.focus for f in found if isinstance(f.focus, NamedNode)))
            said = (item.triple for thing in things for item in self._dataset.store.quads(thing, None, None, graph))
            only = [triple for triple in said if self._dataset.evidence_graphs(triple) == [graph]]
            before = {_fault(item) for item in self._judged(Instances(self._dataset, Supposed((), only)), things)}
            new = in_order(finding for finding in found if _fault(finding) not in before)
            if new:
                raise RefusedError(_reasons(new), findings=new)

    def _apart(self, graphs: Graphs) -> Graphs:
        dataset = self._dataset
        return {
            quarantine_graph(dataset, graph) if dataset.is_evidence(graph) else graph: triples
            for graph, triples in graphs.items()
        }

    def violations(self, graphs: Graphs, dropped: Sequence[NamedNode] = ()) -> tuple[Finding, ...]:
        """The violations of shapes that come with the document, worst first.

        Raises:
            OntologyError: a shape cannot be read or used.
        """
        if not self._shapes.triples:
            return ()
        new = self._new(graphs)
        gone = frozenset(self._gone(dropped))
        with_it = Instances(self._dataset, Supposed(new, gone))
        fresh = (triple for triple in new if triple in gone or not self._dataset.store.has(triple))
        after = self._judged(with_it, with_it.things(self._concerned(fresh)))
        if not after:
            return ()
        without = Instances(self._dataset, Supposed((), gone))
        things = tuple(dict.fromkeys(f.focus for f in after if isinstance(f.focus, NamedNode)))
        before = {_fault(finding) for finding in self._judged(without, things)}
        return in_order(finding for finding in after if _fault(finding) not in before)

    def _new(self, graphs: Graphs) -> list[Triple]:
        """The statements that the document says and nobody rejected, as the store has them."""
        dataset = self._dataset
        said = (t for graph, triples in graphs.items() if dataset.is_evidence(graph) for t in triples)
        stored = (quad(triple, DEFAULT_GRAPH).triple for triple in said)
        return [triple for triple in dict.fromkeys(stored) if not dataset.store.has(triple, dataset.rejected)]

    def _gone(self, dropped: Sequence[NamedNode]) -> Iterator[Triple]:
        """The statements that rest on nothing but the dropped graphs."""
        going = frozenset(dropped)
        for graph in filter(self._dataset.is_evidence, going):
            for item in self._dataset.store.quads(graph=graph):
                if all(other in going for other in self._dataset.evidence_graphs(item.triple)):
                    yield item.triple

    def _concerned(self, new: Iterable[Triple]) -> Iterator[object]:
        """What the statements are about, and what shapes look at from their other end."""
        backward = frozenset(self._shapes.reach.backward)
        for triple in new:
            yield triple.subject
            if triple.predicate in backward:
                yield triple.object

    def _judged(self, instances: Instances, things: tuple[NamedNode, ...]) -> list[Finding]:
        found = shapes_hold(instances, Scope(things), self._shapes, self._vocabulary, only_violations=True)
        return [finding for finding in found if finding.severity is Severity.VIOLATION]


def findings_of(error: KgPlatformError) -> tuple[Finding, ...]:
    """What was found against a document that was refused; nothing for other errors."""
    found = error.findings if isinstance(error, RefusedError) else ()
    return tuple(item for item in found if isinstance(item, Finding))


def _fault(finding: Finding) -> object:
    return finding.focus, finding.path, finding.value, finding.shape, finding.constraint


def _reasons(findings: Sequence[Finding]) -> str:
    """The violations in one line."""
    told = [f"{_name(f.focus)}{f', {_name(f.path)}' if f.path else ''}: {f.message}" for f in findings]
    more = f"; and {len(told) - _MOST_REASONS} more" if len(told) > _MOST_REASONS else ""
    number = f"{len(told)} violation{'' if len(told) == 1 else 's'} of shapes"
    return f"refused, {number}: {'; '.join(told[:_MOST_REASONS])}{more}"


def _name(term: object) -> str:
    return local_name(term.value) if isinstance(term, NamedNode) else str(term)


def release(
    record: DocumentRecord, project: Callable[[DocumentRecord], Graphs], dataset: EvidenceDataset, registry: Registry
) -> int:
    """Takes a document out of quarantine into the knowledge; how many statements it has there.

    ``project`` makes its graphs from what was read in it, names as they are linked now.

    Raises:
        NotFoundError: the document is not in quarantine.
    """
    document = record.document
    if record.state is not State.QUARANTINED:
        raise NotFoundError(
            f"{document.source} is {record.state.value}, not in quarantine; `kgplatform documents` lists all",
            name=document.source,
        )
    registry.mark(document.iri, State.PROCESSING)  # until the graphs are in place: `Ingest.recover` looks at them
    graphs = project(record)
    dropped = (*graphs, *(quarantine_graph(dataset, graph) for graph in graphs if dataset.is_evidence(graph)))
    dataset.commit(Change(dropped=dropped, added=graphs))
    held = {triple for graph, triples in graphs.items() if dataset.is_evidence(graph) for triple in triples}
    registry.finish(document, statements=len(held), refused=record.refused, seconds=record.seconds)
    return len(held)
