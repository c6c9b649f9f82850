"""The law of the dataset: the default graph is the union of the evidence graphs, less what was rejected."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from pyoxigraph import Literal, NamedNode, Quad, Triple

from kgplatform.dataset import Change, EvidenceDataset, quad
from kgplatform.store import DEFAULT_GRAPH, Store

BASE = "https://example.org/kg/"
P = NamedNode("https://example.org/p")
TRIPLES = tuple(
    Triple(NamedNode(f"https://example.org/s{i}"), P, Literal(text))
    for i, text in enumerate(["乌镇", '"} ; DROP ALL', "c", "d", "e"])
)
DOCUMENTS = tuple(NamedNode(f"{BASE}document/{name * 16}") for name in "ab")
CHUNKS = tuple(NamedNode(f"{document.value}/chunk/{n}") for document in DOCUMENTS for n in range(2))
EVIDENCE = (*CHUNKS, NamedNode(f"{BASE}graph/table/hotels"), NamedNode(f"{BASE}graph/inferred"))
BESIDE = (*DOCUMENTS, NamedNode("https://example.org/mine"), NamedNode(f"{BASE}graph/communities"))
some_triples = st.lists(st.sampled_from(TRIPLES), max_size=4)
some_graphs = st.lists(st.sampled_from(EVIDENCE + BESIDE), max_size=3, unique=True)


def new_dataset() -> EvidenceDataset:
    return EvidenceDataset(Store.open(), BASE)


class Sequences(RuleBasedStateMachine):
    """Random sequences against a model of plain sets."""

    def __init__(self) -> None:
        super().__init__()
        self.dataset = new_dataset()
        self.graphs: dict[NamedNode, set[Triple]] = {}

    def held(self) -> set[Triple]:
        found: set[Triple] = set()
        for graph, triples in self.graphs.items():
            if self.dataset.is_evidence(graph):
                found |= triples
        return found - self.graphs.get(self.dataset.rejected, set())

    @rule(dropped=some_graphs, added=st.dictionaries(st.sampled_from(EVIDENCE + BESIDE), some_triples, max_size=3))
    def commit(self, dropped: list[NamedNode], added: dict[NamedNode, list[Triple]]) -> None:
        before = self.held()
        committed = self.dataset.commit(Change(dropped=tuple(dropped), added=added))
        for graph in dropped:
            self.graphs.pop(graph, None)
        for graph, triples in added.items():
            self.graphs.setdefault(graph, set()).update(triples)
        assert (committed.gained, committed.lost) == (len(self.held() - before), len(before - self.held()))

    @rule(dropped=st.booleans(), added=some_triples, beside=some_triples)
    def commit_rejections(self, dropped: bool, added: list[Triple], beside: list[Triple]) -> None:
        rejected = self.dataset.rejected
        change = Change(dropped=(rejected,) if dropped else (), added={rejected: added, CHUNKS[0]: beside})
        self.dataset.commit(change)
        if dropped:
            self.graphs.pop(rejected, None)
        self.graphs.setdefault(rejected, set()).update(added)
        self.graphs.setdefault(CHUNKS[0], set()).update(beside)

    @rule(triples=some_triples)
    def state(self, triples: list[Triple]) -> None:
        self.dataset.state(triples)
        self.graphs.setdefault(self.dataset.asserted, set()).update(triples)
        self.graphs.setdefault(self.dataset.rejected, set()).difference_update(triples)

    @rule(triples=some_triples)
    def reject(self, triples: list[Triple]) -> None:
        self.dataset.reject(triples)
        self.graphs.setdefault(self.dataset.rejected, set()).update(triples)
        self.graphs.setdefault(self.dataset.asserted, set()).difference_update(triples)

    @rule(inserted=some_triples, deleted=some_triples)
    def foreign_update(self, inserted: list[Triple], deleted: list[Triple]) -> None:
        held, rejected = self.held(), self.graphs.setdefault(self.dataset.rejected, set())
        self.dataset.store.apply(
            removed=[quad(t, DEFAULT_GRAPH) for t in deleted if t not in inserted],
            added=[quad(t, DEFAULT_GRAPH) for t in inserted],
        )
        self.dataset.reconcile()
        supported = set().union(*(ts for g, ts in self.graphs.items() if self.dataset.is_evidence(g)))
        wanted = (held - set(deleted)) | set(inserted)
        self.graphs.setdefault(self.dataset.asserted, set()).update(wanted - supported)
        rejected -= wanted
        rejected |= supported - wanted

    @invariant()
    def the_default_graph_follows_the_law(self) -> None:
        assert self.dataset.violations() == (frozenset(), frozenset())
        assert {item.triple for item in self.dataset.store.quads(graph=DEFAULT_GRAPH)} == self.held()

    @invariant()
    def every_graph_holds_what_the_model_holds(self) -> None:
        expected = {quad(t, graph) for graph, triples in self.graphs.items() for t in triples}
        assert {q for q in self.dataset.store.quads() if q.graph_name != DEFAULT_GRAPH} == expected


Sequences.TestCase.settings = settings(max_examples=40, stateful_step_count=15, deadline=None)
TestSequences = Sequences.TestCase


def contents(dataset: EvidenceDataset) -> set[Quad]:
    return set(dataset.store.quads())


def test_removing_a_document_is_the_exact_inverse_of_adding_it() -> None:
    dataset = new_dataset()
    dataset.commit(Change(added={CHUNKS[2]: TRIPLES[:2], DOCUMENTS[1]: TRIPLES[3:]}))
    dataset.reject(TRIPLES[2:3])
    dataset.state(TRIPLES[3:4])
    before = contents(dataset)
    graphs = (DOCUMENTS[0], CHUNKS[0], CHUNKS[1])
    added = dataset.commit(Change(added={DOCUMENTS[0]: TRIPLES[:1], CHUNKS[0]: TRIPLES[:4], CHUNKS[1]: TRIPLES[3:]}))
    assert contents(dataset) != before
    removed = dataset.commit(Change(dropped=graphs))
    assert contents(dataset) == before
    assert (added.gained, removed.lost) == (1, 1)


def test_what_a_person_stated_before_a_document_brought_it_stays_when_the_document_goes() -> None:
    dataset = new_dataset()
    dataset.store.update(f"INSERT DATA {{ <https://example.org/s0> <{P.value}> '乌镇' }}")
    dataset.commit(Change(added={CHUNKS[0]: TRIPLES[:1]}))
    dataset.commit(Change(dropped=(CHUNKS[0],)))
    assert dataset.store.has(TRIPLES[0])
    assert dataset.evidence_graphs(TRIPLES[0]) == [dataset.asserted]


def test_a_statement_read_twice_is_held_once_and_names_both_graphs() -> None:
    dataset = new_dataset()
    dataset.commit(Change(added={CHUNKS[1]: TRIPLES[:1], CHUNKS[0]: TRIPLES[:1]}))
    assert dataset.store.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }").rows == ((Literal(1),),)
    assert dataset.evidence_graphs(TRIPLES[0]) == [CHUNKS[0], CHUNKS[1]]


def test_a_rejected_statement_does_not_come_back_with_new_evidence() -> None:
    dataset = new_dataset()
    dataset.reject(TRIPLES[:1])
    assert dataset.commit(Change(added={CHUNKS[0]: TRIPLES[:1]})).gained == 0
    assert not dataset.store.has(TRIPLES[0])
    dataset.state(TRIPLES[:1])
    assert dataset.store.has(TRIPLES[0])


def test_blank_nodes_of_an_update_are_reconciled_too() -> None:
    dataset = new_dataset()
    dataset.reject(TRIPLES[:1])
    dataset.store.update(f"INSERT DATA {{ _:x <{P.value}> _:y . <https://example.org/s0> <{P.value}> '乌镇' . }}")
    dataset.reconcile()
    assert dataset.violations() == (frozenset(), frozenset())


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        *((graph, True) for graph in EVIDENCE),
        *((graph, False) for graph in BESIDE),
        (NamedNode(f"{BASE}graph/asserted"), True),
        (NamedNode(f"{BASE}graph/rejected"), False),
        (DEFAULT_GRAPH, False),
    ],
)
def test_which_graphs_are_evidence(graph: NamedNode, expected: bool) -> None:
    assert new_dataset().is_evidence(graph) is expected


def test_a_law_that_was_broken_is_reported() -> None:
    dataset = new_dataset()
    dataset.commit(Change(added={CHUNKS[0]: TRIPLES[:1]}))
    dataset.store.apply(removed=[quad(TRIPLES[0], DEFAULT_GRAPH)], added=[quad(TRIPLES[1], DEFAULT_GRAPH)])
    assert dataset.violations() == (frozenset(TRIPLES[1:2]), frozenset(TRIPLES[:1]))


@pytest.mark.parametrize("value", ['"6.0"^^xsd:decimal', '"01"^^xsd:integer', '"1e1"^^xsd:double'])
def test_a_graph_projected_again_keeps_literals_that_the_store_writes_otherwise(value: str) -> None:
    dataset = EvidenceDataset(Store.open(), "https://example.org/kg/")
    chunk = NamedNode("https://example.org/kg/document/a/chunk/0")
    text, datatype = value.replace('"', "").split("^^xsd:")
    triple = Triple(
        NamedNode("urn:a"),
        NamedNode("urn:p"),
        Literal(text, datatype=NamedNode(f"http://www.w3.org/2001/XMLSchema#{datatype}")),
    )
    for _ in range(3):
        dataset.commit(Change(dropped=(chunk,), added={chunk: [triple]}))
        assert dataset.violations() == (frozenset(), frozenset())
        assert dataset.store.has(triple)
    dataset.commit(Change(dropped=(chunk,)))
    assert len(dataset.store) == 0
