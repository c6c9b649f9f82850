"""The law of the dataset: the default graph is the union of the evidence graphs, less what was rejected."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from laws import machine_in_two_lengths
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.store.dataset import Change, EvidenceDataset, quad
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store

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


def new_dataset():
    return EvidenceDataset(Store.open(), BASE)


class Sequences(RuleBasedStateMachine):
    """Random sequences against a model of plain sets."""

    def __init__(self):
        super().__init__()
        self.dataset = new_dataset()
        self.graphs: dict[NamedNode, set[Triple]] = {}

    def held(self):
        found = set()
        for graph, triples in self.graphs.items():
            if self.dataset.is_evidence(graph):
                found |= triples
        return found - self.graphs.get(self.dataset.rejected, set())

    @rule(dropped=some_graphs, added=st.dictionaries(st.sampled_from(EVIDENCE + BESIDE), some_triples, max_size=3))
    def commit(self, dropped, added):
        before = self.held()
        committed = self.dataset.commit(Change(dropped=tuple(dropped), added=added))
        for graph in dropped:
            self.graphs.pop(graph, None)
        for graph, triples in added.items():
            self.graphs.setdefault(graph, set()).update(triples)
        assert (committed.gained, committed.lost) == (len(self.held() - before), len(before - self.held()))

    @rule(dropped=st.booleans(), added=some_triples, beside=some_triples)
    def commit_rejections(self, dropped, added, beside):
        rejected = self.dataset.rejected
        change = Change(dropped=(rejected,) if dropped else (), added={rejected: added, CHUNKS[0]: beside})
        self.dataset.commit(change)
        if dropped:
            self.graphs.pop(rejected, None)
        self.graphs.setdefault(rejected, set()).update(added)
        self.graphs.setdefault(CHUNKS[0], set()).update(beside)

    @rule(triples=some_triples)
    def state(self, triples):
        self.dataset.state(triples)
        self.graphs.setdefault(self.dataset.asserted, set()).update(triples)
        self.graphs.setdefault(self.dataset.rejected, set()).difference_update(triples)

    @rule(triples=some_triples)
    def reject(self, triples):
        self.dataset.reject(triples)
        self.graphs.setdefault(self.dataset.rejected, set()).update(triples)
        self.graphs.setdefault(self.dataset.asserted, set()).difference_update(triples)

    @rule(inserted=some_triples, deleted=some_triples)
    def foreign_update(self, inserted, deleted):
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
    def the_default_graph_follows_the_law(self):
        assert self.dataset.violations() == (frozenset(), frozenset())
        assert {item.triple for item in self.dataset.store.quads(graph=DEFAULT_GRAPH)} == self.held()

    @invariant()
    def every_graph_holds_what_the_model_holds(self):
        expected = {quad(t, graph) for graph, triples in self.graphs.items() for t in triples}
        assert {q for q in self.dataset.store.quads() if q.graph_name != DEFAULT_GRAPH} == expected


TestSequences, TestSequencesAtLength = machine_in_two_lengths(Sequences, steps=15, examples=120)


def test_removing_a_document_is_the_exact_inverse_of_adding_it():
    dataset = new_dataset()
    dataset.commit(Change(added={CHUNKS[2]: TRIPLES[:2], DOCUMENTS[1]: TRIPLES[3:]}))
    dataset.reject(TRIPLES[2:3])
    dataset.state(TRIPLES[3:4])
    before = set(dataset.store.quads())
    added = dataset.commit(Change(added={DOCUMENTS[0]: TRIPLES[:1], CHUNKS[0]: TRIPLES[:4], CHUNKS[1]: TRIPLES[3:]}))
    assert set(dataset.store.quads()) != before
    removed = dataset.commit(Change(dropped=(DOCUMENTS[0], CHUNKS[0], CHUNKS[1])))
    assert set(dataset.store.quads()) == before
    assert (added.gained, removed.lost) == (1, 1)


def test_a_statement_is_held_once_stays_while_one_says_it_and_not_if_it_was_rejected():
    dataset = new_dataset()
    insert = f"<https://example.org/s0> <{P.value}> '乌镇'"
    dataset.store.update(f"INSERT DATA {{ {insert} }}")
    dataset.commit(Change(added={CHUNKS[0]: TRIPLES[:2], CHUNKS[1]: TRIPLES[1:2]}))
    assert dataset.store.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }").rows == ((Literal(2),),)
    assert dataset.evidence_graphs(TRIPLES[1]) == [CHUNKS[0], CHUNKS[1]]
    dataset.commit(Change(dropped=(CHUNKS[0],)))
    assert dataset.store.has(TRIPLES[0])
    assert dataset.evidence_graphs(TRIPLES[0]) == [dataset.asserted]
    dataset.reject(TRIPLES[2:3])
    assert dataset.commit(Change(added={CHUNKS[2]: TRIPLES[2:3]})).gained == 0
    assert not dataset.store.has(TRIPLES[2])
    dataset.state(TRIPLES[2:3])
    assert dataset.store.has(TRIPLES[2])
    dataset.reject(TRIPLES[:1])
    dataset.store.update(f"INSERT DATA {{ _:x <{P.value}> _:y . {insert} }}")
    dataset.reconcile()
    assert dataset.violations() == (frozenset(), frozenset())


def test_which_graphs_are_evidence_and_a_law_that_was_broken_is_reported():
    dataset = new_dataset()
    assert all(dataset.is_evidence(graph) for graph in (*EVIDENCE, dataset.asserted))
    assert not any(dataset.is_evidence(graph) for graph in (*BESIDE, dataset.rejected, DEFAULT_GRAPH))
    dataset.commit(Change(added={CHUNKS[0]: TRIPLES[:1]}))
    dataset.store.apply(removed=[quad(TRIPLES[0], DEFAULT_GRAPH)], added=[quad(TRIPLES[1], DEFAULT_GRAPH)])
    assert dataset.violations() == (frozenset(TRIPLES[1:2]), frozenset(TRIPLES[:1]))


@pytest.mark.parametrize(("text", "datatype"), [("6.0", "decimal"), ("01", "integer"), ("1e1", "double")])
def test_a_graph_projected_again_keeps_literals_that_the_store_writes_otherwise(text, datatype):
    dataset = new_dataset()
    literal = Literal(text, datatype=NamedNode(f"http://www.w3.org/2001/XMLSchema#{datatype}"))
    triple = Triple(NamedNode("urn:a"), NamedNode("urn:p"), literal)
    for _ in range(3):
        dataset.commit(Change(dropped=CHUNKS[:1], added={CHUNKS[0]: [triple]}))
        assert dataset.violations() == (frozenset(), frozenset())
        assert dataset.store.has(triple)
    dataset.commit(Change(dropped=CHUNKS[:1]))
    assert len(dataset.store) == 0
