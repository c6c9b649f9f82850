"""Whole graphs put, merged and deleted: what then holds, and that the law of the dataset does too."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from kgplatform.building.graph_store import GraphStore, by_graph
from kgplatform.dataset import Change, EvidenceDataset
from kgplatform.errors import StoreError
from kgplatform.store import DEFAULT_GRAPH, Store
from kgplatform.vocab import XSD_INTEGER

BASE = "https://example.org/kg/"
P = NamedNode("http://example.org/p")
CHUNK = NamedNode(f"{BASE}document/0123456789abcdef/chunk/0")
MINE = NamedNode("http://example.org/图")


def node(number: int) -> NamedNode:
    return NamedNode(f"http://example.org/{number}")


def fact(number: int) -> Triple:
    return Triple(node(number), P, Literal(number))


def made() -> tuple[EvidenceDataset, GraphStore, list[int]]:
    dataset = EvidenceDataset(Store.open(), BASE)
    calls: list[int] = []
    return dataset, GraphStore(dataset, after=lambda: calls.append(1)), calls


def holds(dataset: EvidenceDataset) -> set[Triple]:
    return {item.triple for item in dataset.store.quads(graph=DEFAULT_GRAPH)}


def content(dataset: EvidenceDataset, graph: NamedNode) -> set[Triple]:
    return {item.triple for item in dataset.store.quads(graph=graph)}


def lawful(dataset: EvidenceDataset) -> bool:
    return dataset.violations() == (frozenset(), frozenset())


def test_what_is_put_into_the_default_graph_is_asserted_and_what_goes_is_struck_out_where_evidence_holds_it() -> None:
    dataset, graphs, calls = made()
    dataset.commit(Change(added={CHUNK: [fact(1), fact(2)]}))
    dataset.state([fact(3)])
    assert graphs.put(None, [fact(1), fact(4)]) is False
    assert holds(dataset) == {fact(1), fact(4)}
    assert content(dataset, dataset.asserted) == {fact(4)}
    assert content(dataset, dataset.rejected) == {fact(2)}
    assert content(dataset, CHUNK) == {fact(1), fact(2)}
    assert lawful(dataset)
    assert calls == [1]
    graphs.put(None, [fact(2)])
    assert holds(dataset) == {fact(2)}
    assert content(dataset, dataset.rejected) == {fact(1)}
    assert content(dataset, dataset.asserted) == set()
    assert lawful(dataset)


def test_merging_into_the_default_graph_frees_what_was_struck_out() -> None:
    dataset, graphs, _ = made()
    dataset.commit(Change(added={CHUNK: [fact(1)]}))
    graphs.delete(None)
    assert holds(dataset) == set()
    assert content(dataset, dataset.rejected) == {fact(1)}
    graphs.merge(None, [fact(1), fact(2)])
    assert holds(dataset) == {fact(1), fact(2)}
    assert content(dataset, dataset.rejected) == set()
    assert lawful(dataset)


def test_one_of_the_platforms_graphs_brings_the_default_graph_along() -> None:
    dataset, graphs, calls = made()
    assert graphs.put(CHUNK, [fact(1), fact(2)]) is True
    assert graphs.put(CHUNK, [fact(2), fact(3)]) is False
    assert holds(dataset) == {fact(2), fact(3)}
    graphs.merge(dataset.rejected, [fact(3)])
    assert holds(dataset) == {fact(2)}
    assert graphs.delete(dataset.rejected) is True
    assert holds(dataset) == {fact(2), fact(3)}
    assert graphs.delete(CHUNK) is True
    assert graphs.exists(CHUNK) is False
    assert lawful(dataset)
    assert len(calls) == 5


def test_any_other_graph_is_its_owners_and_touches_nothing_else() -> None:
    dataset, graphs, calls = made()
    dataset.state([fact(1)])
    assert graphs.put(MINE, []) is True
    assert graphs.exists(MINE)
    assert graphs.merge(MINE, [fact(2)]) is False
    assert graphs.put(MINE, [fact(3)]) is False
    assert content(dataset, MINE) == {fact(3)}
    assert graphs.delete(MINE) is True
    assert graphs.delete(MINE) is False
    assert not graphs.exists(MINE)
    assert holds(dataset) == {fact(1)}
    assert calls == []


def test_blank_nodes_of_two_bodies_are_two_and_can_be_replaced() -> None:
    dataset, graphs, _ = made()
    blank = Triple(BlankNode("b0"), P, BlankNode("b1"))
    graphs.merge(MINE, [blank])
    graphs.merge(MINE, [blank])
    assert len(content(dataset, MINE)) == 2
    graphs.put(MINE, [blank])
    assert len(content(dataset, MINE)) == 1
    for _ in range(2):
        graphs.put(None, [blank])
        (triple,) = holds(dataset)
        assert isinstance(triple.subject, NamedNode)
        assert triple.subject.value.startswith(graphs.skolem)
    graphs.delete(None)
    assert holds(dataset) == set()
    assert lawful(dataset)


def test_true_blank_nodes_in_the_default_graph_do_not_stop_a_put() -> None:
    dataset, graphs, _ = made()
    dataset.store.update(
        'INSERT DATA { _:x <http://example.org/p> "乌镇" . <http://example.org/5> <http://example.org/p> 5 }'
    )
    dataset.reconcile()
    dataset.commit(Change(added={CHUNK: [fact(1)]}))
    graphs.put(None, [fact(5), fact(6)])
    assert holds(dataset) == {fact(5), fact(6)}
    assert content(dataset, dataset.asserted) == {fact(5), fact(6)}
    assert content(dataset, dataset.rejected) == {fact(1)}
    assert lawful(dataset)


def test_evidence_with_blank_nodes_is_not_struck_out_and_nothing_is_changed() -> None:
    dataset, graphs, _ = made()
    dataset.commit(Change(added={CHUNK: [Triple(BlankNode("x"), P, Literal(1))]}))
    before = set(dataset.store.quads())
    with pytest.raises(StoreError, match="blank nodes"):
        graphs.put(None, [])
    assert set(dataset.store.quads()) == before


def test_literals_are_compared_as_the_store_keeps_them() -> None:
    dataset, graphs, _ = made()
    graphs.put(None, [Triple(node(1), P, Literal("01", datatype=XSD_INTEGER))])
    dataset.commit(Change(added={CHUNK: [fact(1)]}))
    graphs.put(None, [Triple(node(1), P, Literal("001", datatype=XSD_INTEGER))])
    assert holds(dataset) == {fact(1)}
    assert content(dataset, dataset.rejected) == set()


def test_a_graph_named_by_a_blank_node_is_refused() -> None:
    quads = [Quad(node(1), P, Literal(1)), Quad(node(1), P, Literal(1), BlankNode())]
    assert by_graph(quads[:1]) == {None: [fact(1)]}
    with pytest.raises(StoreError, match="blank node"):
        by_graph(quads)


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["put", "merge", "delete", "drop", "read"]),
        st.sampled_from([None, CHUNK, NamedNode(f"{BASE}graph/asserted"), NamedNode(f"{BASE}graph/rejected"), MINE]),
        st.sets(st.integers(0, 4)),
    ),
    max_size=8,
)


@settings(max_examples=150, deadline=None)
@given(OPERATIONS)
def test_the_law_holds_after_any_sequence_of_writes(operations: list[tuple[str, NamedNode | None, set[int]]]) -> None:
    dataset, graphs, _ = made()
    for verb, graph, numbers in operations:
        facts = [fact(number) for number in numbers]
        if verb == "put":
            graphs.put(graph, facts)
        elif verb == "merge":
            graphs.merge(graph, facts)
        elif verb == "delete":
            graphs.delete(graph)
        elif verb == "drop":
            dataset.commit(Change(dropped=(CHUNK,)))
        else:
            dataset.commit(Change(dropped=(CHUNK,), added={CHUNK: facts}))
        assert lawful(dataset)
        if verb == "put" and graph is None:
            assert holds(dataset) == set(facts)


def test_what_was_put_survives_a_restart(tmp_path: Path) -> None:
    dataset = EvidenceDataset(Store.open(tmp_path / "store"), BASE)
    GraphStore(dataset, after=lambda: None).put(None, [fact(1)])
    dataset.store.flush()
    dataset.store.close()
    again = EvidenceDataset(Store.open(tmp_path / "store"), BASE)
    assert holds(again) == {fact(1)}
    assert lawful(again)
