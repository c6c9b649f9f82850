"""SERVICE in queries: search in the workspace, endpoints that the settings name, and the guard on the way out."""

import http.server
import json
import logging
import threading
import time
from contextlib import contextmanager
from typing import ClassVar
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, RdfFormat, parse

from kgplatform.errors import QueryError, QueryRejectedError
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder
from kgplatform.server.app import create_app
from kgplatform.settings import FederationSettings
from kgplatform.sparql import service as calls
from kgplatform.sparql.functions import likeness
from kgplatform.store.federation import Federation
from kgplatform.store.oxigraph import Store
from kgplatform.types import Solutions
from kgplatform.vocab import KGP, SH
from kgplatform.workspace.sparql_calls import Calling
from kgplatform.workspace.workspace import Workspace

NOTES = {
    "wuzhen.txt": "The Lantern Inn is a hotel in Wuzhen. It has 12 rooms. It is a quiet place by the canal.",
    "乌镇.txt": "西栅位于乌镇。通安客栈在西栅附近，有80间客房。",
    "hangzhou.txt": "The Lantern House is a hotel in Hangzhou. It has 30 rooms.",
}


@pytest.fixture(scope="module")
def kg(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calls")
    for name, text in NOTES.items():
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Workspace, "embedder", HashEmbedder())
        with KnowledgeGraph.create(folder / "kg", ontology="travel") as made:
            for _ in made.add(*(folder / name for name in NOTES)):
                pass
            yield made


def rows(kg, query):
    return [tuple(getattr(term, "value", "") for term in row) for row in kg.query(query).rows]


def test_passages_are_found_and_lead_to_what_was_read_in_them(kg):
    found = rows(
        kg,
        'SELECT ?name ?q { SERVICE kgp:search { ?p kgp:text "quiet canal hotel" ; kgp:score ?s ; kgp:quote ?q } '
        "GRAPH ?p { ?hotel a travel:Hotel } ?hotel rdfs:label ?name } ORDER BY DESC(?s)",
    )
    assert found[0][0] == "Lantern Inn"
    assert "quiet place" in found[0][1]
    assert (
        "西栅" in rows(kg, 'SELECT ?q { SERVICE kgp:search { ?p kgp:text "西栅" ; kgp:quote ?q ; kgp:limit 1 } }')[0][0]
    )


def test_things_are_found_by_names_that_are_nearly_right(kg):
    call = 'SELECT ?l ?s { SERVICE kgp:find { ?t kgp:text "%s" ; kgp:label ?l ; kgp:likeness ?s } } ORDER BY DESC(?s)'
    found = rows(kg, call % "Lantrn Inn")
    assert found[0][0] == "Lantern Inn"
    assert 0.4 < float(found[0][1]) < 1
    assert rows(kg, call % "西栅")[0] == ("西栅", "1")


def test_things_that_resemble_a_thing_are_of_its_class(kg):
    inn = rows(kg, 'SELECT ?t { ?t rdfs:label "Lantern Inn"@en }')[0][0]
    similar = f"SERVICE kgp:similar {{ ?o kgp:to <{inn}> ; kgp:similarity ?s }}"
    found = rows(kg, f"SELECT ?l ?s {{ {similar} ?o a travel:Hotel ; rdfs:label ?l }} ORDER BY DESC(?s)")
    assert found[0][0] == "Lantern House"
    assert "Lantern Inn" not in [label for label, _ in found]
    assert all(0 <= float(similarity) <= 1 for _, similarity in found)


def test_a_call_that_finds_nothing_leaves_no_row_and_service_in_strings_is_left_alone(kg):
    call = 'SERVICE kgp:find { ?x kgp:text "zzzzqqqq" ; kgp:label ?l }'
    assert rows(kg, f"SELECT * {{ {call} }}") == []
    assert rows(kg, f"SELECT ?n {{ VALUES ?n {{ 1 }} OPTIONAL {{ {call} }} }}") == [("1",)]
    text = 'SELECT ?x { VALUES ?x { "SERVICE <http://a> { }" } # SERVICE <http://b> { }\n FILTER(?x != <urn:SERVICE>) }'
    assert calls.federated_blocks(text, {}) == []
    assert kg.query(text).rows == ((Literal("SERVICE <http://a> { }"),),)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        *((f"kgp:search {{ ?p {body} }}", 'wants kgp:text "…"') for body in ("kgp:score ?s", "kgp:text ?words")),
        ('kgp:search { ?p kgp:text "a" ; kgp:limit 100000 }', "kgp:limit from 1 to 1000"),
        ('kgp:search { ?p kgp:text "a" ; kgp:colour ?c }', "wants kgp:text, kgp:limit, kgp:score"),
        ('kgp:search { ?p kgp:text "a" . ?q kgp:text "b" }', "takes one description"),
        ("kgp:similar { ?p kgp:to 5 }", "wants kgp:to and an IRI"),
        ("kgp:sarch { ?p kgp:text 'a' }", "there is no kgp:sarch; there are kgp:search"),
        ("?where { ?a ?b ?c }", "SERVICE ?where asks nobody: SERVICE is switched off"),
        ("<http://127.0.0.1:1/sparql> { ?a ?b ?c }", "SERVICE is switched off"),
        ("x:y { ?a ?b ?c }", "say whom to ask by an IRI"),
    ],
)
def test_a_call_that_is_wrong_is_refused_in_words(kg, body, complaint):
    with pytest.raises(QueryRejectedError) as caught:
        kg.query(f"SELECT * {{ SERVICE {body} }}")
    assert complaint in str(caught.value)


@given(text=st.text(max_size=60), number=st.integers(0, 10**6))
def test_texts_come_through_as_they_were_written(text, number):
    text = text.encode("utf-8", "ignore").decode()
    query = f"SELECT * {{ SERVICE kgp:x {{ ?hit kgp:text {Literal(text)} ; kgp:limit {number} }} }}"
    (call,) = calls.federated_blocks(query, {"kgp": KGP})
    found = calls.description_of(call, query).values
    assert found[f"{KGP}text"] == Literal(text)
    assert found[f"{KGP}limit"] == Literal(number)
    again = Store.open().query(calls.with_values(query, [(call, Solutions(("hit",), ((Literal(text),),)))]))
    assert again.rows == ((Literal(text),),)


def test_functions_compare_names_count_days_convert_units_and_know_places(kg):
    wkt = "<http://www.opengis.net/ont/geosparql#wktLiteral>"
    within = "<http://www.opengis.net/def/function/geosparql/sfWithin>"
    for expression, value in {
        'kgp:days("2026-05-01"^^xsd:date, "2026-06-01"^^xsd:date)': "31",
        'kgp:days("2024"^^xsd:gYear, "2024-12-31T10:00:00Z"^^xsd:dateTime)': "365",
        'kgp:plusDays("2026-12-31"^^xsd:date, 1)': "2027-01-01",
        'kgp:convert(10, "里", "公里")': "5.0",
        'kgp:convert(100, "C", "F")': "212.0",
        'kgp:likeness("West Lake", "west lake")': "1.0",
        f'{within}("POINT(1 1)"^^{wkt}, "POLYGON((0 0,2 0,2 2,0 2,0 0))"^^{wkt})': "true",
    }.items():
        found = rows(kg, f"SELECT ?x {{ BIND({expression} AS ?x) }}")
        assert float(found[0][0]) == pytest.approx(float(value)) if "." in value else found == [(value,)], expression
    for wrong in ('kgp:convert(1, "km", "kg")', 'kgp:days("soon", 3)', 'kgp:likeness(<urn:a>, "a")', "kgp:plusDays(1)"):
        assert rows(kg, f"SELECT ?x {{ BIND({wrong} AS ?x) }}") == [("",)]


@given(one=st.text(max_size=20), other=st.text(max_size=20))
def test_likeness_is_symmetric_and_between_nothing_and_one(one, other):
    assert 0 <= likeness(one, other) <= 1
    assert likeness(one, other) == likeness(other, one)


# other endpoints


class Endpoint(http.server.BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []
    reply: object = {"head": {"vars": ["s", "n"]}, "results": {"bindings": []}}
    status = 200
    headers_sent: tuple[tuple[str, str], ...] = ()
    delay = 0.0

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        type(self).asked.append(parse_qs(body)["query"][0])
        time.sleep(self.delay)
        self.send_response(self.status)
        for name, value in self.headers_sent:
            self.send_header(name, value)
        self.end_headers()
        data = self.reply if isinstance(self.reply, bytes) else json.dumps(self.reply).encode()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@contextmanager
def endpoint(**options):
    kind = type("Once", (Endpoint,), {"asked": [], **options})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://elsewhere.example:{server.server_port}/sparql", kind.asked
    finally:
        server.shutdown()
        server.server_close()


def here(_host, _port):
    return ["127.0.0.1"]


ROWS = {
    "head": {"vars": ["s", "n"]},
    "results": {
        "bindings": [
            {"s": {"type": "uri", "value": "urn:a"}, "n": {"type": "literal", "value": "甲", "xml:lang": "zh"}},
            {"s": {"type": "bnode", "value": "b 0"}},
        ]
    },
}


def test_an_endpoint_that_is_named_is_asked_once_for_the_same(caplog):
    with endpoint(reply=ROWS) as (address, asked), caplog.at_level(logging.INFO, "kgplatform.store.federation"):
        federation = Federation(FederationSettings((address,)), resolve=here)
        found = [federation.ask(address, " ?s ex:name ?n ", {"ex": "urn:ex:"}) for _ in range(2)]
    assert found[0].variables == ("s", "n")
    assert found[0].rows == ((NamedNode("urn:a"), Literal("甲", language="zh")), (NamedNode("urn:genid:b%200"), None))
    assert found[1] == found[0]
    assert asked == ["PREFIX ex: <urn:ex:>\nSELECT * WHERE { ?s ex:name ?n } LIMIT 10001"]
    assert [record.message.partition(" in ")[0] for record in caplog.records] == [f"asked {address}: 2 rows"]


def test_a_variable_stands_for_each_endpoint_that_may_be_asked(kg):
    held = {
        "http://one.example/": [(NamedNode("urn:a"),)],
        "http://two.example/": [(NamedNode("urn:b"),), (NamedNode("urn:c"),)],
    }

    def ask(address, _body, _prefixes):
        if address not in held:
            raise QueryRejectedError(("nobody there",), query="")
        return Solutions(("x",), tuple(held[address]))

    def found(text, *more):
        calling = Calling({}, lambda *_: [], kg.workspace.calling._resemblance, ask, (*held, *more))
        return sorted(tuple(term.value for term in row if term) for row in kg.store.query(calling.resolved(text)).rows)

    one, two = held
    assert found("SELECT ?w ?x { SERVICE ?w { ?x ?y ?z } }") == [(one, "urn:a"), (two, "urn:b"), (two, "urn:c")]
    assert found(f"SELECT ?x {{ VALUES ?w {{ <{two}> <urn:else> }} SERVICE ?w {{ ?x ?y ?z }} }}") == [
        ("urn:b",),
        ("urn:c",),
    ]
    lost = "http://lost.example/"
    with pytest.raises(QueryRejectedError, match="nobody there"):
        found("SELECT * { SERVICE ?w { ?x ?y ?z } }", lost)
    assert (lost,) in found("SELECT ?w ?x { SERVICE SILENT ?w { ?x ?y ?z } }", lost)


def test_only_the_very_address_is_asked_and_never_a_private_one():
    with endpoint(reply=ROWS) as (address, asked):
        federation = Federation(FederationSettings((address,)), resolve=here)
        for other in (f"{address}/", f"{address}?x=1", address.replace("http:", "https:"), address.upper()):
            with pytest.raises(QueryRejectedError, match=r"is not in federation\.endpoints"):
                federation.ask(other, "?s ?p ?o", {})
        local = address.replace("elsewhere.example", "127.0.0.1")
        guarded = Federation(FederationSettings((local,)))
        with pytest.raises(QueryError, match="not a public address"):
            guarded.ask(local, "?s ?p ?o", {})
    assert asked == []


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            {"status": 302, "headers_sent": (("Location", "http://127.0.0.1/x"),)},
            "answers 302; redirects are not followed",
        ),
        *(({"status": 500}, "answers 500"), ({"reply": b"<html>"}, "sends no SPARQL result")),
        *(({"reply": b"[" * 3900}, "sends no SPARQL result"), ({"reply": b" " * 5000}, "larger than 4,000 bytes")),
        ({"reply": {"head": {"vars": ["a } "]}, "results": {"bindings": []}}}, "names variables that are none"),
        ({"reply": {"head": {"vars": ["s"]}, "results": {"bindings": [{}] * 4}}}, "more than 3 rows"),
        ({"delay": 1.5}, "did not answer in 0.5 s"),
    ],
)
def test_an_endpoint_that_misbehaves_is_an_error_of_its_own(options, complaint):
    with endpoint(**options) as (address, _):
        rules = FederationSettings((address,), timeout_seconds=0.5, max_bytes=4000, max_rows=3)
        with pytest.raises(QueryError) as caught:
            Federation(rules, resolve=here).ask(address, "?s ?p ?o", {})
    assert complaint in str(caught.value)


def test_rows_of_elsewhere_are_joined_in_queries_and_updates(tmp_path, monkeypatch):
    with endpoint(reply=ROWS) as (address, asked), KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as kg:
        ask = Federation(FederationSettings((address,)), resolve=here).ask
        monkeypatch.setattr(kg.workspace.calling, "_ask", ask)
        service = f"SERVICE <{address}> {{ ?s rdfs:label ?n }}"
        assert rows(kg, f"SELECT ?n {{ VALUES ?s {{ <urn:a> }} {service} }}") == [("甲",)]
        kg.update(f"INSERT {{ ?s rdfs:label ?n }} WHERE {{ {service} FILTER(BOUND(?n)) }}")
        assert rows(kg, "SELECT ?n { <urn:a> rdfs:label ?n }") == [("甲",)]
        silent = "SELECT ?x { VALUES ?x { 1 } SERVICE SILENT <http://nowhere.example/> { ?a ?b ?c } }"
        assert rows(kg, silent) == [("1",)]
    assert len(asked) == 1


def test_the_examples_of_the_service_description_run_as_they_stand(kg):
    described = create_app(kg).test_client().get("/sparql", headers={"Accept": "application/n-triples"})
    said = parse(described.data, format=RdfFormat.N_TRIPLES)
    examples = [quad.object.value for quad in said if quad.predicate.value in (f"{SH}select", f"{SH}ask")]
    assert len(examples) == 4
    for query in examples:
        found = kg.query(query)
        assert found.boolean or found.rows, query
