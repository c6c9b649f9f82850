"""Updates in short and at length: both leave the same dataset, and the law holds."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad, Triple

from kgplatform.building.updating import carry_out
from kgplatform.dataset import Change, EvidenceDataset
from kgplatform.errors import QueryError, QuerySyntaxError
from kgplatform.rewriting import data_blocks, patterned
from kgplatform.store import DEFAULT_GRAPH, Store

BASE = "https://example.org/kg/"
CHUNK = NamedNode(f"{BASE}document/0123456789abcdef/chunk/0")
AT_LENGTH = "INSERT { } WHERE { } ; "
"""What makes an update one that is not of data only, and changes nothing."""


def dataset() -> EvidenceDataset:
    return EvidenceDataset(Store.open(), BASE)


def fact(number: int) -> Triple:
    return Triple(NamedNode(f"urn:{number}"), NamedNode("urn:p"), Literal(number))


BLOCKS = st.lists(
    st.tuples(
        st.sampled_from(["INSERT", "delete"]),
        st.lists(st.tuples(st.sampled_from(["", "urn:g", "https://example.org/图"]), st.integers(0, 4)), max_size=4),
    ),
    max_size=4,
)


def text_of(blocks: list[tuple[str, list[tuple[str, int]]]]) -> str:
    parts = []
    for verb, facts in blocks:
        inner = " ".join(
            f"GRAPH <{g}> {{ <urn:{n}> <urn:p> {n} }}" if g else f"<urn:{n}> <urn:p> {n} ." for g, n in facts
        )
        parts.append(f"{verb} DATA {{ {inner} }} # ;\n")
    return "; ".join(parts)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(BLOCKS, st.sets(st.integers(0, 4))), max_size=5))
def test_an_update_of_data_only_leaves_what_the_same_one_at_length_leaves(
    tmp_path_factory: pytest.TempPathFactory, steps: list[object]
) -> None:
    marker = tmp_path_factory.getbasetemp() / "pending"
    quick, slow = dataset(), dataset()
    for step in steps:
        if isinstance(step, set):
            for item in (quick, slow):
                item.commit(Change(dropped=(CHUNK,), added={CHUNK: [fact(number) for number in step]}))
            continue
        text = text_of(step)  # type: ignore[arg-type]
        assert data_blocks(text) is not None
        assert data_blocks(AT_LENGTH + text) is None
        first, second = carry_out(quick, text, marker=marker), carry_out(slow, AT_LENGTH + text, marker=marker)
        assert first == second
        assert set(quick.store.quads()) == set(slow.store.quads())
        assert quick.violations() == (frozenset(), frozenset())
        assert not marker.exists()


@pytest.mark.parametrize(
    "text",
    [
        "PREFIX : <urn:> INSERT DATA { :a :b 1 } ; PREFIX x: <urn:x:> DELETE DATA { x:a :b 1 } ;",
        "BASE <urn:base> INSERT DATA { <a> rdfs:label '西栅'@zh }",
        "INSERT DATA { <a> <b> 'DELETE DATA { }' } # ; CLEAR ALL",
        "",
        "# nothing",
    ],
)
def test_updates_of_data_are_known_as_such(text: str, tmp_path: Path) -> None:
    quick, slow = dataset(), dataset()
    assert data_blocks(text) is not None
    carry_out(quick, text, marker=tmp_path / "pending")
    slow.store.update(text, base_iri=BASE)
    slow.reconcile()
    assert set(quick.store.quads()) == set(slow.store.quads())


@pytest.mark.parametrize(
    "text",
    [
        "CLEAR ALL",
        "INSERT DATA { <a> <b> 1 } ; CLEAR ALL",
        "DELETE WHERE { ?s ?p ?o }",
        "INSERT { <a> <b> 1 } WHERE {}",
        "INSERT DATA { <a> <b> 1 } DELETE DATA { <a> <b> 1 }",
        "WITH <urn:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "{ } INSERT DATA { <a> <b> 1 }",
    ],
)
def test_updates_of_anything_else_are_known_as_such(text: str) -> None:
    assert data_blocks(text) is None


def test_blank_nodes_and_graphs_of_the_platforms_own_go_the_long_way(tmp_path: Path) -> None:
    made = dataset()
    carry_out(made, "INSERT DATA { _:x <urn:p> 1 }", marker=tmp_path / "pending")
    assert len(list(made.store.quads(graph=made.asserted))) == 1
    carry_out(
        made, f"INSERT DATA {{ GRAPH <{BASE}graph/rejected> {{ <urn:1> <urn:p> 1 }} }}", marker=tmp_path / "pending"
    )
    assert made.store.has(fact(1), made.rejected)
    assert made.violations() == (frozenset(), frozenset())


@pytest.mark.parametrize(
    "text", ["INSERT DATA { <a> <b> }", "DELETE DATA { _:x <b> 1 }", "INSERT DATA {\n nosuch:a <b> 1 }"]
)
def test_what_is_wrong_is_said_of_the_text_as_it_was_written(text: str, tmp_path: Path) -> None:
    made = dataset()
    with pytest.raises(QueryError) as caught:
        carry_out(made, text, marker=tmp_path / "pending")
    assert len(made.store) == 0
    if isinstance(caught.value, QuerySyntaxError):
        assert caught.value.line == text.count("\n") + 1
    assert not (tmp_path / "pending").exists()


def test_a_small_update_takes_no_longer_in_a_large_dataset(tmp_path: Path) -> None:
    made = dataset()
    made.store.apply(added=[Quad(*t, g) for t in map(fact, range(30_000)) for g in (made.asserted, DEFAULT_GRAPH)])
    started = time.perf_counter()
    for number in range(20):
        carry_out(made, f"INSERT DATA {{ <urn:new> <urn:p> {number} }}", marker=tmp_path / "pending")
    quick = time.perf_counter() - started
    started = time.perf_counter()
    carry_out(made, AT_LENGTH + "INSERT { <urn:new> <urn:p> 21 } WHERE {}", marker=tmp_path / "pending")
    assert quick / 20 < (time.perf_counter() - started) / 5


PATTERNS = st.sampled_from(["?s <urn:p> ?o", "<urn:1> <urn:p> ?o . ?s ?q ?o", "?s <urn:q> ?o", "?o <urn:p> ?s"])
WHERES = st.sampled_from(
    [
        "?s <urn:p> ?o",
        "?s <urn:p> ?o FILTER(?o > 1)",
        "{ ?s <urn:q> ?o } UNION { GRAPH <https://example.org/kg/graph/asserted> { ?s ?q ?o } }",
        "?s ?q ?o OPTIONAL { ?s <urn:r> ?x }",
        "VALUES (?s ?o) { (<urn:3> '03'^^<http://www.w3.org/2001/XMLSchema#integer>) (<urn:西栅> '客栈'@zh) }",
        "SELECT ?s (?n + 1 AS ?o) { ?s <urn:p> ?n }",
    ]
)
UPDATES = st.one_of(
    st.builds("DELETE {{ {} }} WHERE {{ {} }}".format, PATTERNS, WHERES),
    st.builds("insert {{ {} }} # }}\nwhere {{ {} }}".format, PATTERNS, WHERES),
    st.builds(
        "BASE <urn:b> PREFIX x: <urn:> DELETE {{ {} }} INSERT {{ {} }} WHERE {{ {} }}".format, *[PATTERNS] * 2, WHERES
    ),
    st.builds("DELETE WHERE {{ {} }}".format, PATTERNS),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(UPDATES, st.sets(st.integers(0, 4)), BLOCKS.map(text_of)), max_size=6))
def test_an_update_by_a_pattern_leaves_what_the_same_one_at_length_leaves(
    tmp_path_factory: pytest.TempPathFactory, steps: list[object]
) -> None:
    marker = tmp_path_factory.getbasetemp() / "pending"
    quick, slow = dataset(), dataset()
    for step in steps:
        if isinstance(step, set):
            for item in (quick, slow):
                item.commit(Change(dropped=(CHUNK,), added={CHUNK: [fact(number) for number in step]}))
            continue
        text = str(step)
        assert patterned(text) is not None or data_blocks(text) is not None
        at_length = f"{text} ; {AT_LENGTH}" if text.startswith("BASE") else AT_LENGTH + text
        first, second = carry_out(quick, text, marker=marker), carry_out(slow, at_length, marker=marker)
        assert first == second
        assert set(quick.store.quads()) == set(slow.store.quads())
        assert quick.violations() == (frozenset(), frozenset())


@pytest.mark.parametrize(
    "text",
    [
        "INSERT { ?s ?p ?n } WHERE { ?s ?p ?o BIND(RAND() AS ?n) }",
        "INSERT { GRAPH <urn:g> { ?s ?p ?o } } WHERE { ?s ?p ?o }",
        "WITH <urn:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "DELETE { ?s ?p ?o } USING <urn:g> WHERE { ?s ?p ?o }",
        "DELETE WHERE { ?s ?p ?o } ; INSERT { ?s ?p 1 } WHERE { ?s ?p ?o }",
        "DELETE WHERE { GRAPH ?g { ?s ?p ?o } }",
        "INSERT DATA { <a> <b> 1 }",
        "INSERT WHERE { ?s ?p ?o }",
        "DELETE { ?s ?p ?o } { ?s ?p ?o }",
        "CLEAR DEFAULT",
        "",
    ],
)
def test_updates_that_are_more_than_a_pattern_of_the_default_graph_go_the_long_way(text: str) -> None:
    assert patterned(text) is None


def test_an_update_by_a_pattern_that_is_none_is_refused_though_nothing_fits_it(tmp_path: Path) -> None:
    made = dataset()
    for text in ("DELETE WHERE { ?s ?p _:b }", "DELETE { _:b ?p ?o } WHERE { ?s ?p ?o }"):
        with pytest.raises(QueryError):
            carry_out(made, text, marker=tmp_path / "pending")


def test_an_update_by_a_pattern_takes_time_by_what_it_finds(tmp_path: Path) -> None:
    made = dataset()
    made.store.apply(added=[Quad(*t, g) for t in map(fact, range(30_000)) for g in (made.asserted, DEFAULT_GRAPH)])
    text = "DELETE { ?s <urn:p> ?o } INSERT { ?s <urn:p> 7 } WHERE { VALUES ?s { <urn:%d> } ?s <urn:p> ?o }"
    started = time.perf_counter()
    for number in range(10):
        carry_out(made, text % number, marker=tmp_path / "pending")
    quick = time.perf_counter() - started
    started = time.perf_counter()
    carry_out(made, f"{text % 11} ; {AT_LENGTH}", marker=tmp_path / "pending")
    assert quick < time.perf_counter() - started
    assert made.violations() == (frozenset(), frozenset())
