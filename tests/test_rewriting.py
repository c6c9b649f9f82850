"""Updates made to speak of other graphs: what the store then does, not how the text looks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad

from kgplatform import worker
from kgplatform.errors import QueryRejectedError
from kgplatform.lexing import landmarks, scan
from kgplatform.rewriting import hoisted, mended, unloaded, using, within
from kgplatform.store import Store
from kgplatform.wire import Request

A, B, C = (NamedNode(f"http://example.org/{name}") for name in "abc")
G, H = NamedNode("http://example.org/graph/g"), NamedNode("http://example.org/图/h")
PREFIX = "PREFIX ex: <http://example.org/>\n"


def store() -> Store:
    made = Store.open()
    made.apply(added=[Quad(A, B, Literal(1)), Quad(A, B, Literal(2), G), Quad(A, B, Literal(3), H)])
    return made


def held(made: Store, graph: NamedNode | DefaultGraph) -> set[str]:
    return {str(quad.triple) for quad in made.quads(graph=graph)}


def triple(name: str, value: int) -> str:
    return f'<http://example.org/a> <http://example.org/{name}> "{value}"^^<http://www.w3.org/2001/XMLSchema#integer>'


@pytest.mark.parametrize(
    ("default", "values"), [((), {1}), ((G,), {2}), ((H,), {3}), ((G, H), {2, 3})], ids=["none", "g", "h", "both"]
)
def test_using_moves_the_patterns_and_not_the_templates(default: tuple[NamedNode, ...], values: set[int]) -> None:
    made = store()
    made.update(using(PREFIX + "INSERT { ?s ex:c ?o } # WHERE {\nWHERE { ?s ex:b ?o }", default, ()))
    assert held(made, DefaultGraph()) == {triple("b", 1), *(triple("c", value) for value in values)}


def test_using_named_is_where_graph_patterns_look() -> None:
    made = store()
    made.update(using(PREFIX + "INSERT { ?s ex:c ?o } WHERE { GRAPH ?g { ?s ex:b ?o } }", (), (H,)))
    assert held(made, DefaultGraph()) == {triple("b", 1), triple("c", 3)}


def test_the_short_form_of_delete_looks_where_it_is_told_and_deletes_from_the_default_graph() -> None:
    made = store()
    made.apply(added=[Quad(A, B, Literal(2))])
    made.update(using(PREFIX + "DELETE WHERE { ?s ex:b ?o . } ;\nINSERT DATA { ex:a ex:c 9 }", (G,), ()))
    assert held(made, DefaultGraph()) == {triple("b", 1), triple("c", 9)}
    assert held(made, G) == {triple("b", 2)}


@pytest.mark.parametrize(
    "text",
    [
        "WITH <http://example.org/x> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "INSERT { ?s ?p 1 } USING <http://example.org/x> WHERE { ?s ?p ?o }",
        "CLEAR ALL; with <http://example.org/x> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
    ],
)
def test_an_update_with_its_own_dataset_conflicts_with_that_of_the_request(text: str) -> None:
    with pytest.raises(QueryRejectedError, match="USING or WITH"):
        using(text, (G,), ())


def test_words_in_strings_comments_names_and_iris_are_left_alone() -> None:
    made = store()
    text = PREFIX + (
        'INSERT { ?s ex:c "} WHERE { USING" , \'WITH\', "在 GRAPH 里" } # WHERE { WITH\n'
        "WHERE { ?s ex:b ?o . FILTER(?o != <http://example.org/WITH;WHERE>) }"
    )
    made.update(using(text, (G,), ()))
    assert len(held(made, DefaultGraph())) == 4
    made.update(within(text, G))
    assert len(held(made, G)) == 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INSERT DATA { ex:a ex:c 7 }", {triple("b", 2), triple("c", 7)}),
        ("DELETE DATA { ex:a ex:b 2 }", set()),
        ("DELETE WHERE { ?s ?p ?o }", set()),
        ("DELETE { ?s ?p ?o } INSERT { ?s ?p 8 } WHERE { ?s ?p ?o }", {triple("b", 8)}),
        ("INSERT DATA { ex:a ex:c 7 # }\n } ; DELETE { ?s ex:b ?o } WHERE { ?s ex:b ?o } ;", {triple("c", 7)}),
        ("", {triple("b", 2)}),
    ],
)
def test_a_patch_changes_its_graph_and_no_other(text: str, expected: set[str]) -> None:
    made = store()
    made.update(within(PREFIX + text, G))
    assert held(made, G) == expected
    assert held(made, DefaultGraph()) == {triple("b", 1)}
    assert held(made, H) == {triple("b", 3)}


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { GRAPH <http://example.org/x> { <http://a> <http://b> 1 } }",
        "DROP ALL",
        "clear default",
        "LOAD <http://example.org/x>",
        "WITH <http://example.org/x> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "INSERT { ?s ?p 1 } WHERE { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
        "COPY <http://a> TO <http://b>",
    ],
)
def test_a_patch_that_speaks_of_graphs_is_refused(text: str) -> None:
    with pytest.raises(QueryRejectedError, match="one graph"):
        within(text, G)


@given(
    st.lists(st.sampled_from(["{", "}", "(", ")", ";", "WHERE", "'", '"', "<", ">", "#\n", "ex:a", "?x", "乌", " "]))
)
def test_landmarks_stand_where_they_say(parts: list[str]) -> None:
    text = "".join(parts)
    last = 0
    for mark in landmarks(text):
        assert text[mark.start : mark.end].upper() == mark.text
        assert mark.start >= last
        assert mark.depth >= 0
        last = mark.end


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { <urn:a> <urn:b> 1 } ; PREFIX ex: <http://example.org/> INSERT DATA { ex:a ex:c 5 }",
        "PREFIX x: <urn:> DELETE DATA { x:a x:b 1 } ;\nprefix ex: <http://example.org/>\nPREFIX : <urn:>\n"
        "INSERT DATA { ex:a ex:c 5 } ; CLEAR SILENT GRAPH <urn:PREFIX> ; PREFIX 名: <http://example.org/>"
        " DELETE { 名:q ?p ?o } WHERE { 名:q ?p ?o }",
        "INSERT DATA { <http://example.org/a> <http://example.org/c> 5 } ; PREFIX ex: <http://example.org/>",
    ],
)
def test_prefixes_may_be_declared_between_operations(text: str) -> None:
    made = store()
    made.update(text)
    assert triple("c", 5) in held(made, DefaultGraph())


@pytest.mark.parametrize(
    "text",
    [
        "PREFIX a: <urn:1:> CLEAR ALL ; PREFIX a: <urn:2:> INSERT DATA { a:x a:y 1 }",
        "CLEAR ALL ; BASE <urn:2> INSERT DATA { <x> <y> 1 }",
        "CLEAR ALL ; # PREFIX a: <urn:a>\nINSERT DATA { <urn:x> <urn:y> 1 }",
        "INSERT DATA { <urn:x> <urn:y> '; PREFIX a: <urn:a>' }",
        "CLEAR ALL ; INSERT DATA { <urn:x> <urn:y> 1 } ;",
        "",
    ],
)
def test_an_update_whose_meaning_would_change_stays_as_it_is(text: str) -> None:
    assert hoisted(text) == text


def test_a_prefix_declared_again_alike_is_no_hindrance() -> None:
    text = "INSERT DATA { ex:a ex:b 7 } ; PREFIX ex: <%s> INSERT DATA { ex:a ex:c 5 }"
    made = Store.open(prefixes={"ex": "http://example.org/"})
    made.update(text % "http://example.org/")
    assert held(made, DefaultGraph()) == {triple("b", 7), triple("c", 5)}
    assert hoisted(text % "urn:other:", {"ex": "http://example.org/"}) == text % "urn:other:"


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT (GROUP_CONCAT(?x) AS ?y) {}", "SELECT (STR(GROUP_CONCAT(?x)) AS ?y) {}"),
        (
            "SELECT (group_concat(distinct STR(?x) ; separator=')') AS ?y) {} HAVING (GROUP_CONCAT(?z) = 'a')",
            "SELECT (STR(group_concat(distinct STR(?x) ; separator=')')) AS ?y) {} "
            "HAVING (STR(GROUP_CONCAT(?z)) = 'a')",
        ),
        ("SELECT ('GROUP_CONCAT(' AS ?y) {} # GROUP_CONCAT(", "SELECT ('GROUP_CONCAT(' AS ?y) {} # GROUP_CONCAT("),
        ("SELECT (GROUP_CONCAT(?x AS ?y {}", "SELECT (GROUP_CONCAT(?x AS ?y {}"),
    ],
)
def test_concatenated_values_become_plain_strings(query: str, wanted: str) -> None:
    assert mended(query) == wanted


@pytest.mark.parametrize(
    ("update", "wanted"),
    [
        ("LOAD SILENT <http://127.0.0.1/x>", "INSERT DATA {}"),
        (
            "CLEAR ALL ; LOAD SILENT ex:x INTO GRAPH <urn:g> # said\n; CLEAR ALL",
            "CLEAR ALL ; INSERT DATA {}; CLEAR ALL",
        ),
        ("LOAD <http://127.0.0.1/x>", "LOAD <http://127.0.0.1/x>"),
        ("LOAD SILENT", "LOAD SILENT"),
        ("LOAD SILENT <urn:x> INTO <urn:g>", "LOAD SILENT <urn:x> INTO <urn:g>"),
        (
            "INSERT DATA { <urn:a> <urn:b> 'LOAD SILENT <urn:x>' }",
            "INSERT DATA { <urn:a> <urn:b> 'LOAD SILENT <urn:x>' }",
        ),
    ],
)
def test_what_may_fail_without_a_word_does_nothing_and_is_never_fetched(update: str, wanted: str) -> None:
    assert unloaded(update) == wanted
    made = Store.open(prefixes={"ex": "http://127.0.0.1:9/"})
    if "LOAD" in scan(wanted).keywords:
        with pytest.raises(QueryRejectedError, match="switched off"):
            made.update(update)
    else:
        made.update(update)


PATHS = "PREFIX ex: <http://example.org/> SELECT * WHERE { %s }"


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("?s ex:p* ex:nowhere", [("s", "nowhere")]),
        ("ex:nowhere ex:p? ?s", [("s", "nowhere")]),
        ("ex:nowhere (ex:p|^ex:q/ex:p)* ?s", [("s", "nowhere")]),
        ("?s a* <http://example.org/nowhere> . ", [("s", "nowhere")]),
        ("?s ex:p* ex:b", [("s", "a"), ("s", "b")]),
        ("ex:a ex:p? ?s", [("s", "a"), ("s", "b")]),
        ("?s ex:p+ ex:nowhere", []),
        ("?s ex:p/ex:p* ex:nowhere", []),
        ("?s ex:p* ex:nowhere . ?s ex:p ?o", []),
        ("GRAPH <urn:g> { ?s ex:p* ex:nowhere }", []),
        ("OPTIONAL { ?s ex:p* ex:nowhere }", [("s", "nowhere")]),
    ],
)
def test_a_path_of_no_length_from_a_term_that_is_not_there_leads_to_that_term(
    pattern: str, wanted: list[tuple[str, str]]
) -> None:
    made = Store.open(prefixes={})
    made.update("PREFIX ex: <http://example.org/> INSERT DATA { ex:a ex:p ex:b }")
    found = worker.evaluate(made, Request(PATHS % pattern))
    names = [variable.value for variable in found.variables]
    rows = [(name, row[name].value.rpartition("/")[2]) for row in found for name in names]
    assert sorted(rows) == sorted(wanted)
