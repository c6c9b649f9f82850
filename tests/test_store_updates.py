"""The graph written from outside, by SPARQL updates and as whole graphs: what then holds, and that the law does."""

import time

import pytest
from hypothesis import strategies as st
from laws import in_two_lengths
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from kgplatform.errors import QueryError, QuerySyntaxError, StoreError
from kgplatform.sparql.rewrite import as_constructs, as_data_inserts
from kgplatform.store.dataset import Change, EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store
from kgplatform.store.updates import GraphStore, by_graph, carry_out
from kgplatform.vocab import XSD_INTEGER

BASE = "https://example.org/kg/"
CHUNK = NamedNode(f"{BASE}document/0123456789abcdef/chunk/0")
AT_LENGTH = "INSERT { } WHERE { } ; "
"""What makes an update one that is not of data only, and changes nothing."""


def dataset():
    return EvidenceDataset(Store.open(), BASE)


def fact(number):
    return Triple(NamedNode(f"urn:{number}"), NamedNode("urn:p"), Literal(number))


VERBS, GRAPHS = st.sampled_from(["INSERT", "delete"]), st.sampled_from(["", "urn:g", "https://example.org/图"])
BLOCKS = st.lists(st.tuples(VERBS, st.lists(st.tuples(GRAPHS, st.integers(0, 4)), max_size=4)), max_size=4)


def text_of(blocks):
    parts = []
    for verb, facts in blocks:
        inner = " ".join(
            f"GRAPH <{g}> {{ <urn:{n}> <urn:p> {n} }}" if g else f"<urn:{n}> <urn:p> {n} ." for g, n in facts
        )
        parts.append(f"{verb} DATA {{ {inner} }} # ;\n")
    return "; ".join(parts)


PATTERNS = st.sampled_from(["?s <urn:p> ?o", "<urn:1> <urn:p> ?o . ?s ?q ?o", "?s <urn:q> ?o", "?o <urn:p> ?s"])
WHERES = st.sampled_from(
    [
        *("?s <urn:p> ?o", "?s <urn:p> ?o FILTER(?o > 1)", "?s ?q ?o OPTIONAL { ?s <urn:r> ?x }"),
        "{ ?s <urn:q> ?o } UNION { GRAPH <https://example.org/kg/graph/asserted> { ?s ?q ?o } }",
        "VALUES (?s ?o) { (<urn:3> '03'^^<http://www.w3.org/2001/XMLSchema#integer>) (<urn:西栅> '客栈'@zh) }",
        "SELECT ?s (?n + 1 AS ?o) { ?s <urn:p> ?n }",
    ]
)
BOTH = "BASE <urn:b> PREFIX x: <urn:> DELETE {{ {} }} INSERT {{ {} }} WHERE {{ {} }}"
UPDATES = st.one_of(
    st.builds("DELETE {{ {} }} WHERE {{ {} }}".format, PATTERNS, WHERES),
    st.builds("insert {{ {} }} # }}\nwhere {{ {} }}".format, PATTERNS, WHERES),
    st.builds(BOTH.format, PATTERNS, PATTERNS, WHERES),
    st.builds("DELETE WHERE {{ {} }}".format, PATTERNS),
)


@in_two_lengths(200, st.lists(st.one_of(UPDATES, st.sets(st.integers(0, 4)), BLOCKS.map(text_of)), max_size=6))
def test_an_update_of_data_or_by_a_pattern_leaves_what_the_same_one_at_length_leaves(steps, folder):
    marker = folder / "pending"
    quick, slow = dataset(), dataset()
    for step in steps:
        if isinstance(step, set):
            for item in (quick, slow):
                item.commit(Change(dropped=(CHUNK,), added={CHUNK: [fact(number) for number in step]}))
            continue
        assert as_constructs(step) is not None or as_data_inserts(step) is not None
        assert as_data_inserts(AT_LENGTH + step) is None
        at_length = f"{step} ; {AT_LENGTH}" if step.startswith("BASE") else AT_LENGTH + step
        assert carry_out(quick, step, marker=marker) == carry_out(slow, at_length, marker=marker)
        assert set(quick.store.quads()) == set(slow.store.quads())
        assert quick.violations() == (frozenset(), frozenset())
        assert not marker.exists()


@pytest.mark.parametrize(
    "text",
    [
        "PREFIX : <urn:> INSERT DATA { :a :b 1 } ; PREFIX x: <urn:x:> DELETE DATA { x:a :b 1 } ;",
        "BASE <urn:base> INSERT DATA { <a> rdfs:label '西栅'@zh }",
        "INSERT DATA { <a> <b> 'DELETE DATA { }' } # ; CLEAR ALL",
        *("", "# nothing"),
    ],
)
def test_updates_of_data_are_known_as_such(text, tmp_path):
    quick, slow = dataset(), dataset()
    assert as_data_inserts(text) is not None
    carry_out(quick, text, marker=tmp_path / "pending")
    slow.store.update(text, base_iri=BASE)
    slow.reconcile()
    assert set(quick.store.quads()) == set(slow.store.quads())


def test_updates_of_anything_else_go_the_long_way():
    for text in (
        *("CLEAR ALL", "INSERT DATA { <a> <b> 1 } ; CLEAR ALL", "DELETE WHERE { ?s ?p ?o }"),
        *("INSERT { <a> <b> 1 } WHERE {}", "INSERT DATA { <a> <b> 1 } DELETE DATA { <a> <b> 1 }"),
        *("WITH <urn:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", "{ } INSERT DATA { <a> <b> 1 }"),
    ):
        assert as_data_inserts(text) is None
    for text in (
        "INSERT { ?s ?p ?n } WHERE { ?s ?p ?o BIND(RAND() AS ?n) }",
        "INSERT { GRAPH <urn:g> { ?s ?p ?o } } WHERE { ?s ?p ?o }",
        "WITH <urn:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "DELETE { ?s ?p ?o } USING <urn:g> WHERE { ?s ?p ?o }",
        "DELETE WHERE { ?s ?p ?o } ; INSERT { ?s ?p 1 } WHERE { ?s ?p ?o }",
        *("DELETE WHERE { GRAPH ?g { ?s ?p ?o } }", "INSERT DATA { <a> <b> 1 }", "INSERT WHERE { ?s ?p ?o }"),
        *("DELETE { ?s ?p ?o } { ?s ?p ?o }", "CLEAR DEFAULT", ""),
    ):
        assert as_constructs(text) is None


def test_blank_nodes_and_graphs_of_the_platforms_own_go_the_long_way(tmp_path):
    made, rejected = dataset(), f"GRAPH <{BASE}graph/rejected> {{ <urn:1> <urn:p> 1 }}"
    carry_out(made, "INSERT DATA { _:x <urn:p> 1 }", marker=tmp_path / "pending")
    assert len(list(made.store.quads(graph=made.asserted))) == 1
    carry_out(made, f"INSERT DATA {{ {rejected} }}", marker=tmp_path / "pending")
    assert made.store.has(fact(1), made.rejected)
    assert made.violations() == (frozenset(), frozenset())


@pytest.mark.parametrize(
    "text",
    [
        *("INSERT DATA { <a> <b> }", "DELETE DATA { _:x <b> 1 }", "INSERT DATA {\n nosuch:a <b> 1 }"),
        *("DELETE WHERE { ?s ?p _:b }", "DELETE { _:b ?p ?o } WHERE { ?s ?p ?o }"),
    ],
)
def test_what_is_wrong_is_said_of_the_text_as_it_was_written(text, tmp_path):
    made = dataset()
    with pytest.raises(QueryError) as caught:
        carry_out(made, text, marker=tmp_path / "pending")
    assert len(made.store) == 0
    if isinstance(caught.value, QuerySyntaxError) and "DATA" in text:
        assert caught.value.line == text.count("\n") + 1
    assert not (tmp_path / "pending").exists()


def test_an_update_takes_time_by_what_it_says_and_finds(tmp_path):
    made = dataset()
    made.store.apply(added=[Quad(*t, g) for t in map(fact, range(30_000)) for g in (made.asserted, DEFAULT_GRAPH)])

    def seconds(*texts):
        found = []
        for text in texts:
            started = time.process_time()
            carry_out(made, text, marker=tmp_path / "pending")
            found.append(time.process_time() - started)
        return min(found)  # the others may have been disturbed

    pattern = "DELETE { ?s <urn:p> ?o } INSERT { ?s <urn:p> 7 } WHERE { VALUES ?s { <urn:%d> } ?s <urn:p> ?o }"
    at_length = seconds(f"{pattern % 11} ; {AT_LENGTH}")
    assert seconds(*(f"INSERT DATA {{ <urn:new> <urn:p> {number} }}" for number in range(10))) < at_length / 5
    assert seconds(*(pattern % number for number in range(10))) < at_length / 5
    assert made.violations() == (frozenset(), frozenset())


# Whole graphs put, merged and deleted: what then holds, and that the law of the dataset does too.


P = NamedNode("http://example.org/p")
MINE = NamedNode("http://example.org/图")


def node(number):
    return NamedNode(f"http://example.org/{number}")


def said(number):
    return Triple(node(number), P, Literal(number))


def made():
    dataset = EvidenceDataset(Store.open(), BASE)
    calls = []
    return dataset, GraphStore(dataset, after=lambda: calls.append(1)), calls


def holds(dataset):
    return {item.triple for item in dataset.store.quads(graph=DEFAULT_GRAPH)}


def content(dataset, graph):
    return {item.triple for item in dataset.store.quads(graph=graph)}


def lawful(dataset):
    return dataset.violations() == (frozenset(), frozenset())


def test_what_is_put_into_the_default_graph_is_asserted_and_what_goes_is_struck_out_where_evidence_holds_it():
    dataset, graphs, calls = made()
    dataset.commit(Change(added={CHUNK: [said(1), said(2)]}))
    dataset.state([said(3)])
    assert graphs.put(None, [said(1), said(4)]) is False
    assert holds(dataset) == {said(1), said(4)}
    assert content(dataset, dataset.asserted) == {said(4)}
    assert content(dataset, dataset.rejected) == {said(2)}
    assert content(dataset, CHUNK) == {said(1), said(2)}
    assert lawful(dataset)
    assert calls == [1]
    graphs.put(None, [said(2)])
    assert holds(dataset) == {said(2)}
    assert content(dataset, dataset.rejected) == {said(1)}
    assert content(dataset, dataset.asserted) == set()
    assert lawful(dataset)


def test_merging_into_the_default_graph_frees_what_was_struck_out():
    dataset, graphs, _ = made()
    dataset.commit(Change(added={CHUNK: [said(1)]}))
    graphs.delete(None)
    assert holds(dataset) == set()
    assert content(dataset, dataset.rejected) == {said(1)}
    graphs.merge(None, [said(1), said(2)])
    assert holds(dataset) == {said(1), said(2)}
    assert content(dataset, dataset.rejected) == set()
    graphs.put(None, [Triple(node(1), P, Literal("001", datatype=XSD_INTEGER))])  # as the store keeps it
    assert holds(dataset) == {said(1)}
    assert content(dataset, dataset.rejected) == set()
    assert lawful(dataset)


def test_one_of_the_platforms_graphs_brings_the_default_graph_along():
    dataset, graphs, calls = made()
    assert graphs.put(CHUNK, [said(1), said(2)]) is True
    assert graphs.put(CHUNK, [said(2), said(3)]) is False
    assert holds(dataset) == {said(2), said(3)}
    graphs.merge(dataset.rejected, [said(3)])
    assert holds(dataset) == {said(2)}
    assert graphs.delete(dataset.rejected) is True
    assert holds(dataset) == {said(2), said(3)}
    assert graphs.delete(CHUNK) is True
    assert graphs.exists(CHUNK) is False
    assert lawful(dataset)
    assert len(calls) == 5


def test_any_other_graph_is_its_owners_and_touches_nothing_else():
    dataset, graphs, calls = made()
    dataset.state([said(1)])
    assert graphs.put(MINE, []) is True
    assert graphs.exists(MINE)
    assert graphs.merge(MINE, [said(2)]) is False
    assert graphs.put(MINE, [said(3)]) is False
    assert content(dataset, MINE) == {said(3)}
    assert graphs.delete(MINE) is True
    assert graphs.delete(MINE) is False
    assert not graphs.exists(MINE)
    assert holds(dataset) == {said(1)}
    assert calls == []


def test_blank_nodes_of_two_bodies_are_two_and_can_be_replaced():
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


def test_true_blank_nodes_do_not_stop_a_put_unless_evidence_has_them():
    dataset, graphs, _ = made()
    dataset.store.update('INSERT DATA { _:x <urn:p> "乌镇" . <http://example.org/5> <http://example.org/p> 5 }')
    dataset.reconcile()
    dataset.commit(Change(added={CHUNK: [said(1)]}))
    graphs.put(None, [said(5), said(6)])
    assert holds(dataset) == content(dataset, dataset.asserted) == {said(5), said(6)}
    assert content(dataset, dataset.rejected) == {said(1)}
    assert lawful(dataset)
    dataset.commit(Change(added={CHUNK: [Triple(BlankNode("x"), P, Literal(1))]}))
    before = set(dataset.store.quads())
    with pytest.raises(StoreError, match="blank nodes"):
        graphs.put(None, [])
    assert set(dataset.store.quads()) == before
    quads = [Quad(node(1), P, Literal(1)), Quad(node(1), P, Literal(1), BlankNode())]
    assert by_graph(quads[:1]) == {None: [said(1)]}
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


@in_two_lengths(150, OPERATIONS)
def test_the_law_holds_after_any_sequence_of_writes(operations):
    dataset, graphs, _ = made()
    for verb, graph, numbers in operations:
        facts = [said(number) for number in numbers]
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


def test_what_was_put_survives_a_restart(tmp_path):
    dataset = EvidenceDataset(Store.open(tmp_path / "store"), BASE)
    GraphStore(dataset, after=lambda: None).put(None, [said(1)])
    dataset.store.flush()
    dataset.store.close()
    again = EvidenceDataset(Store.open(tmp_path / "store"), BASE)
    assert holds(again) == {said(1)}
    assert lawful(again)
