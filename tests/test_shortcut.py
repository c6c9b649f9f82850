"""The short way for plain queries: nobody can tell that it is there, but by the clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from flask import Flask
from small_graph import SmallGraph, small_graph
from werkzeug.test import EnvironBuilder, run_wsgi_app

from kgplatform.web import shortcut
from kgplatform.web.app import create_app
from kgplatform.web.rights import Token
from kgplatform.web.security import Access

HOTELS = "SELECT ?hotel ?n WHERE { ?hotel travel:roomCount ?n } ORDER BY ?n"
LARGE = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g rdfs:label ?h } LIMIT 20000"
QUERIES = (
    HOTELS,
    "SELECT * { ?s ?p ?o }",
    "ASK {}",
    "ASK { FILTER(xsd:int(1) = 1 && kgp:likeness('a', 'a') = 1) }",
    "CONSTRUCT WHERE { ?s travel:roomCount ?o }",
    "SELECT (NOW() AS ?n) {} LIMIT 0",
    'SELECT ?s { ?s ?p "客栈"@zh }',
    LARGE,
    "SELECT * {",
    "SELECT * { ?s ?p ?o } LIMIT x",
    "DELETE WHERE { ?s ?p ?o }",
    "SELECT * { SERVICE <http://example.org/sparql> { ?s ?p ?o } }",
    "SELECT ?p { SERVICE kgp:search { ?p kgp:text 'hotel' } }",
    "{" * 300,
    "",
)
HEADERS = (
    {},
    {"Accept": "application/sparql-results+xml"},
    {"Accept": "text/csv, */*;q=0.1", "Accept-Encoding": "gzip"},
    {"Accept": "text/html"},
    {"Accept": "image/png"},
    {"Origin": "http://localhost:8000"},
    {"Origin": "http://elsewhere.example"},
    {"Authorization": "Bearer nobody"},
    {"If-None-Match": "*"},
    {"X-Forwarded-For": "10.1.1.1"},
    {"Host": "elsewhere.example"},
)


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallGraph]:
    made = small_graph(tmp_path_factory.mktemp("graph"), timeout_seconds=20)
    yield made
    made.close()


@pytest.fixture(params=["loopback", "open"])
def app(kg: SmallGraph, request: pytest.FixtureRequest) -> Flask:
    return create_app(kg, access=Access.on("127.0.0.1") if request.param == "loopback" else Access())


def outcome(door: object, arguments: dict[str, str], headers: dict[str, str]) -> tuple[object, ...]:
    builder = EnvironBuilder(path="/sparql", query_string=arguments, headers=headers)
    builder.environ_base = {"REMOTE_ADDR": "127.0.0.1"}
    pieces, status, found = run_wsgi_app(door, builder.get_environ(), buffered=True)  # type: ignore[arg-type]
    fields = {name.lower(): value for name, value in found.items()}
    took = fields.pop("server-timing", None)
    body = b"".join(pieces)
    if "problem+json" in fields.get("content-type", ""):  # they say how long it took
        body, _ = body.partition(b'"elapsed_seconds"')[0], fields.pop("content-length", None)
    vary = sorted(part.strip() for part in fields.pop("vary", "").split(","))
    return status, sorted(fields.items()), vary, bool(took), body


@pytest.mark.parametrize("query", QUERIES)
def test_an_answer_is_the_same_the_short_way_and_the_long_one(app: Flask, query: str) -> None:
    short = app.wsgi_app
    assert isinstance(short, shortcut.Shortcut)
    is_changing = "NOW" in query
    for headers in HEADERS:
        for arguments in ({"query": query}, {"query": query, "default-graph-uri": "http://example.org/g"}):
            one, other = outcome(short, arguments, headers), outcome(short.inner, arguments, headers)
            assert one[:4] == other[:4], headers
            assert one[4] == other[4] or is_changing, headers


def test_plain_queries_do_go_the_short_way(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.wsgi_app, "inner", None)
    assert outcome(app.wsgi_app, {"query": HOTELS}, {"Host": "localhost"})[0] == "200 OK"
    assert outcome(app.wsgi_app, {"query": LARGE}, {"Host": "localhost"})[0] == "200 OK"


def test_who_may_not_read_may_not_the_short_way_either(kg: SmallGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    secret, line = Token.make("ann", "read")
    server = replace(kg.settings.server, public_reads=False, tokens=(line,))
    monkeypatch.setattr(kg, "settings", replace(kg.settings, server=server))
    door = create_app(kg).wsgi_app
    assert outcome(door, {"query": HOTELS}, {})[0] == "401 UNAUTHORIZED"
    assert outcome(door, {"query": HOTELS}, {"Authorization": f"Bearer {secret}"})[0] == "200 OK"


def test_who_asks_too_often_is_told_so_whichever_way(kg: SmallGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    server = replace(kg.settings.server, requests_per_minute=3)
    monkeypatch.setattr(kg, "settings", replace(kg.settings, server=server))
    door = create_app(kg).wsgi_app
    ways = [{}, {"Origin": "http://localhost"}, {}, {}, {"Origin": "http://localhost"}]
    found = [outcome(door, {"query": "ASK {}"}, headers) for headers in ways]
    assert [str(item[0])[:3] for item in found] == ["200", "200", "200", "429", "429"]
    assert "retry-after" in dict(found[3][1])  # type: ignore[call-overload]
