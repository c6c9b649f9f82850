"""Why a query finds nothing, and what a sound query may still surprise with."""

import time

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_question_check import ATLAS, NAMES, SOUND, P

from kgplatform.cli.main import main
from kgplatform.errors import QueryTimeoutError
from kgplatform.graph import KnowledgeGraph
from kgplatform.questions.check import check
from kgplatform.server.app import create_app
from kgplatform.server.places import asking_for_places
from kgplatform.sparql.emptiness import BROAD, Cause, why_empty, why_slow
from kgplatform.sparql.syntax import split_query
from kgplatform.store.oxigraph import Store, parse
from kgplatform.types import IssueKind, Solutions
from kgplatform.vocab import GEO

STORE = Store.open()
STORE.update(
    f"INSERT DATA {{ {' '.join(str(item.triple) + ' .' for item in parse(ATLAS.encode(), ox.RdfFormat.TURTLE))} }}"
)


def run(text, limit, seconds):
    return STORE.query(text, max_rows=limit)


@pytest.mark.parametrize(("query"), [case[1] for case in SOUND], ids=[case[0] for case in SOUND])
def test_a_query_put_together_again_says_the_same(query):
    parts = split_query(P + query)
    assert parts is not None
    again = parts.query(parts.elements)
    before, after = STORE.query(P + query), STORE.query(again)
    assert sorted(map(str, after.rows)) == sorted(map(str, before.rows))
    assert after.boolean == before.boolean


@given(st.text(alphabet="{}()[]?ax:.;,\"'#<> \nSELECTFILTER1@", max_size=120))
def test_any_text_is_taken_apart_or_left(text):
    parts = split_query(text)
    assert parts is None or parts.tail.startswith("}")


def test_a_value_that_is_not_there_is_named_with_those_that_are():
    found = why_empty(P + 'SELECT ?h {\n ?h a o:Hotel ;\n    o:code "B8" .\n}', run)
    assert found.cause is Cause.NOTHING_LIKE_IT
    assert found.culprit is not None
    assert (found.culprit.text, found.culprit.line, found.culprit.without) == ('?h o:code "B8"', 3, 2)
    assert found.near == ('"B7"',)
    assert len(STORE.query(found.relaxed).rows) == 2
    assert found.words("en") == (
        'Nothing in the graph matches line 3 by itself: ?h o:code "B8". Without it there are 2 rows.'
        ' Present instead: "B7".'
    )
    assert found.words("zh").startswith('图中没有任何内容符合第 3 行：?h o:code "B8"。没有这一条件时有 2 行。')


def test_the_label_in_another_language_is_offered():
    found = why_empty(P + 'SELECT ?n { ?c rdfs:label "Alder"@zh ; o:population ?n }', run)
    assert found.near[0] == '"Alder"@en'


def test_conditions_that_only_fail_together_are_told_apart_from_those_that_fail_alone():
    found = why_empty(P + "SELECT ?h { ?h a o:Hotel . ?h o:inCity :c . ?h o:price 95.5 }", run)
    assert found.cause is Cause.TOGETHER
    assert found.culprit is not None
    assert found.culprit.without == 1
    assert STORE.query(found.relaxed).rows


def test_a_filter_that_leaves_nothing_says_what_range_there_is():
    found = why_empty(P + "SELECT ?c {\n ?c o:population ?n .\n FILTER(?n > 5000)\n}", run)
    assert found.cause is Cause.FILTER
    assert found.culprit is not None
    assert (found.culprit.line, found.culprit.without) == (3, 2)
    assert found.near == ("?n: 400 … 900",)
    assert found.words("en").endswith("Values of ?n range from 400 to 900.")
    assert len(STORE.query(found.relaxed).rows) == 2


def test_what_having_takes_away_is_not_blamed_on_the_conditions():
    query = "SELECT ?p { ?c o:inProvince ?p } GROUP BY ?p HAVING(COUNT(?c) > 5)"
    assert why_empty(P + query, run).cause is Cause.AFTERWARDS


def test_two_conditions_in_the_way_are_not_passed_off_as_one():
    found = why_empty(P + 'SELECT ?h { ?h o:price 1 . ?h o:code "zz" . ?h o:inCity ?c }', run)
    assert found.relaxed == ""
    assert found.cause is Cause.NOTHING_LIKE_IT
    together = why_empty(P + "SELECT ?h { ?h o:price ?p . ?h o:code ?k FILTER(?p > 500) FILTER(?p < 0) }", run)
    assert together.cause is Cause.SEVERAL
    assert together.relaxed == ""


def test_the_number_nearest_to_what_was_asked_is_named():
    assert why_empty(P + "SELECT ?c { ?c o:population 850 }", run).near[0] == "900"


def test_an_ask_that_is_false_is_explained_too():
    assert why_empty(P + "ASK { :h o:inCity :d }", run).near == ("<http://atlas/c>",)


@pytest.mark.parametrize("text", ["", "SELECT", "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", "DROP ALL", "SELECT * {"])
def test_what_is_no_query_with_conditions_is_left_alone(text):
    assert why_empty(text, run).cause is Cause.UNKNOWN


def test_no_more_time_is_taken_than_allowed():
    def slow(text, limit, seconds):
        time.sleep(seconds)
        raise QueryTimeoutError(seconds=seconds, query=text)

    started = time.monotonic()
    assert why_empty(P + "SELECT ?c { ?c o:population 850 }", slow, seconds=0.2).cause is Cause.UNKNOWN
    assert time.monotonic() - started < 2


def test_a_graph_that_is_not_there_is_reported_with_its_place():
    query = P + "SELECT ?c {\n  GRAPH <http://atlas/grahp/one> { ?c a o:City }\n}"
    (issue,) = check(query, NAMES, graphs={"http://atlas/graph/one"})
    assert issue.kind is IssueKind.UNKNOWN_GRAPH
    assert (issue.line, issue.column) == (2, 9)
    assert issue.allowed == ("http://atlas/graph/one",)
    assert check(query, NAMES, graphs={"http://atlas/grahp/one"}) == ()
    assert check(query, NAMES) == ()


def test_an_issue_says_line_and_column():
    (issue,) = check(P + "SELECT ?c {\n  ?c a o:City ;\n     o:ruler ?x }", NAMES)
    assert (issue.line, issue.column) == (3, 6)


def test_the_command_line_says_why_there_are_no_rows(tmp_path, capsys):
    source = tmp_path / "atlas.ttl"
    source.write_text(ATLAS, encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "kg", ontology=str(source)) as kg:
        kg.load(source)
        answer = (
            create_app(kg)
            .test_client()
            .get("/api/why-empty", query_string={"query": P + 'SELECT ?h { ?h o:code "B8" }', "lang": "zh"})
        )
        assert answer.get_json()["near"] == ['"B7"']
        assert answer.get_json()["cause"] == "nothing-like-it"
        assert create_app(kg).test_client().get("/api/why-empty").status_code == 400
    assert main(["query", "-w", str(tmp_path / "kg"), "-e", P + 'SELECT ?h { ?h o:code "B8" }']) == 0
    assert 'Present instead: "B7".' in capsys.readouterr().err


def many(text, limit, seconds):
    """Everything matches much, except what asks for a code."""
    if "o:huge" in text:
        raise QueryTimeoutError(query=text, seconds=seconds)
    rows = 3 if "o:code" in text else BROAD
    return Solutions(("x",), ((None,),) * min(rows, limit))


def test_a_slow_query_is_told_the_pattern_that_selects_little():
    found = why_slow(P + 'SELECT * {\n  ?h o:code "B7" .\n  ?h ?p ?o .\n  ?o o:huge ?z }', many)
    assert found.patterns == 3
    assert [item.text for item in found.broad] == ["?h ?p ?o", "?o o:huge ?z"]
    assert found.words() == f"1 of 3 patterns are selective; ?h ?p ?o on line {P.count(chr(10)) + 3} is not."
    assert found.words("zh").startswith("3 个三元组模式中有 1 个有选择性")


def test_a_slow_query_is_told_the_condition_that_nothing_ties_to_the_others():
    tied = why_slow(P + 'SELECT * { ?h o:code "B7" . ?h o:near ?x . ?x o:name ?n }', many)
    assert tied.apart is None
    apart = why_slow(P + "SELECT * { ?h o:code ?c . ?x o:code ?d . ?x o:name ?n }", many).apart
    assert apart is not None
    assert apart.text == "?x o:code ?d"
    assert why_slow("SELECT", many).words() == ""


def test_places_are_asked_for_only_where_a_query_can_take_them():
    store = Store.open()
    store.update(f"INSERT DATA {{ <urn:a> <{GEO}latitude> 1 ; <{GEO}longitude> 2 ; <urn:p> 3 . <urn:b> <urn:p> 4 }}")
    found = store.query(asking_for_places("SELECT ?h WHERE { ?h <urn:p> ?n } ORDER BY ?n", "h", store))
    assert found.variables == ("h", "lat", "long")
    assert [row[1] is None for row in found.rows] == [False, True]
    found = store.query(asking_for_places("SELECT * { ?h <urn:p> ?n }", "h", store))
    assert found.variables == ("h", "n", "lat", "long")
    named = asking_for_places("SELECT ?h FROM <urn:g> WHERE { ?h <urn:p> ?n }", "h", store)
    assert named.startswith("SELECT ?h ?lat ?long FROM <urn:g> WHERE {")
    for unfit in (
        "SELECT (COUNT(*) AS ?n) { ?h <urn:p> ?n }",
        "ASK { ?h <urn:p> 3 }",
        "SELECT ?lat { ?h <urn:p> ?lat }",
    ):
        assert asking_for_places(unfit, "h", store) == ""
    assert asking_for_places("SELECT ?h { ?h <urn:p> ?n }", "h } DROP", store) == ""
    assert asking_for_places("SELECT ?h { ?h <urn:p> ?n }", "h", Store.open()) == ""


def test_what_is_slow_is_told_over_http_and_nothing_outside_is_asked(tmp_path):
    with KnowledgeGraph.create(tmp_path / "kg", ontology="core") as kg:
        client = create_app(kg).test_client()
        apart = "SELECT * { ?a ?b ?c .\n SERVICE <http://elsewhere.example/sparql> { ?a ?p ?q } ?d ?e ?f }"
        found = client.post("/api/why-slow", data={"query": apart}).get_json()
        assert (found["line"], found["patterns"]) == (2, 2)
        assert "shares no variable" in found["words"]
        for nothing in ("DROP ALL", "}{", "SELECT * { " + "{" * 5_000):
            assert client.post("/api/why-slow", data={"query": nothing}).get_json()["words"] == ""
        assert client.get("/api/why-slow").status_code == 400
        assert client.get("/api/with-places?query=nonsense&variable=x").get_json() == {"query": ""}
