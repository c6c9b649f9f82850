"""Updates through the endpoint, who may send them, and the list of what is running."""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from flask.testing import FlaskClient
from pyoxigraph import DefaultGraph, NamedNode
from serving import small_server
from small_graph import BASE, SmallGraph, small_graph

from kgplatform.config import ServerSettings
from kgplatform.errors import ConfigError
from kgplatform.web.app import create_app
from kgplatform.web.protocol import ProtocolError
from kgplatform.web.rates import Rates
from kgplatform.web.rights import Rights, Role, Token
from kgplatform.web.security import Access

LOCAL = Access.on("127.0.0.1")
HERE = {"Host": "localhost:8000"}
UPDATE = "application/sparql-update"
RUNAWAY = "INSERT { ?a ?b ?i } WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . FILTER(CONCAT(STR(?c), STR(?f)) = 'x') }"


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[SmallGraph]:
    made = small_graph(tmp_path, timeout_seconds=3)
    made.workers.solutions("ASK {}", timeout_seconds=60)  # by then a worker is there
    yield made
    made.close()


@pytest.fixture
def client(kg: SmallGraph) -> FlaskClient:
    return create_app(kg, access=LOCAL).test_client()


def update(client: FlaskClient, text: str, parameters: str = "", **headers: str) -> Any:
    return client.post(f"/sparql{parameters}", data=text.encode(), content_type=UPDATE, headers={**HERE, **headers})


def asks(client: FlaskClient, text: str) -> bool:
    response = client.get("/sparql", query_string={"query": text}, headers=HERE)
    return bool(response.get_json(force=True)["boolean"])


# updates


@pytest.mark.parametrize("way", ["form", "direct"])
def test_an_update_is_taken_in_both_ways_and_counts_as_stated_by_hand(
    client: FlaskClient, kg: SmallGraph, way: str
) -> None:
    text = 'INSERT DATA { <thing> rdfs:label "东西"@zh }'
    form = {"update": text}
    response = client.post("/sparql", data=form, headers=HERE) if way == "form" else update(client, text)
    assert (response.status_code, response.data) == (204, b"")
    assert asks(client, f'ASK {{ <{BASE}thing> rdfs:label "东西"@zh }}')
    (stated,) = kg.store.quads(graph=kg.dataset.asserted)
    assert stated.subject == NamedNode(f"{BASE}thing")
    assert kg.dataset.violations() == (frozenset(), frozenset())


def test_what_an_update_deletes_though_evidence_holds_it_is_struck_out(client: FlaskClient, kg: SmallGraph) -> None:
    assert update(client, "DELETE WHERE { ?s travel:roomCount ?n }").status_code == 204
    assert not asks(client, "ASK { ?s travel:roomCount ?n }")
    assert len(list(kg.store.quads(graph=kg.dataset.rejected))) == 4
    assert kg.dataset.violations() == (frozenset(), frozenset())


def test_the_dataset_of_an_update_can_be_given_with_the_request(client: FlaskClient, kg: SmallGraph) -> None:
    chunk = kg.registry.chunks(kg.registry.documents()[-1].document.iri)[0].iri
    text = "INSERT { GRAPH <urn:g> { ?s travel:roomCount ?n } } WHERE { ?s travel:roomCount ?n }"
    assert update(client, text, f"?using-graph-uri={quote(chunk.value, safe='')}").status_code == 204
    assert len(list(kg.store.quads(graph=NamedNode("urn:g")))) == 1
    named = "INSERT { GRAPH <urn:h> { ?s travel:roomCount ?n } } WHERE { GRAPH ?g { ?s travel:roomCount ?n } }"
    assert update(client, named, f"?using-named-graph-uri={quote(chunk.value, safe='')}").status_code == 204
    assert len(list(kg.store.quads(graph=NamedNode("urn:h")))) == 1
    conflict = update(client, "WITH <urn:g> " + text, "?using-graph-uri=urn:g")
    assert conflict.status_code == 400
    assert "USING or WITH" in conflict.get_json(force=True)["detail"]
    assert update(client, text, "?using-graph-uri=no+iri").status_code == 400


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("INSERT DATA { <a> <b> }", "expect"),
        ("CLEAR XYZ", ""),
        ("ASK {}", "query"),
        ("LOAD <http://127.0.0.1:9/>", "switched off"),
        ("INSERT { ?s ?p ?o } WHERE { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }", "switched off"),
        ("DELETE WHERE " + "{" * 5000 + "}" * 5000, "nests"),
        ("INSERT DATA { <a> <b> " + "<<( <a> <b> " * 5000 + "1" + " )>>" * 5000 + "}", "nests"),
    ],
)
def test_an_update_that_is_none_or_not_allowed_changes_nothing(
    client: FlaskClient, kg: SmallGraph, text: str, words: str
) -> None:
    before = set(kg.store.quads())
    response = update(client, text)
    assert response.status_code == 400
    assert words in response.get_json(force=True)["detail"]
    assert set(kg.store.quads()) == before


def test_an_update_that_would_not_end_is_stopped_before_it_reaches_the_store(
    client: FlaskClient, kg: SmallGraph
) -> None:
    before, started = kg.store.version, time.monotonic()
    response = update(client, RUNAWAY, "?timeout=0.5")
    assert response.status_code == 504
    problem = response.get_json(force=True)
    assert problem["limit"] == "server.timeout_seconds"
    assert problem["elapsed_seconds"] >= 0.4
    assert problem["help"]
    assert time.monotonic() - started < 5
    assert kg.store.version == before
    assert not list((kg.folder / "workers").glob("trial-*"))
    assert update(client, "INSERT DATA { <a> <b> 1 }").status_code == 204


# who may


def test_without_tokens_only_programs_on_this_machine_may_write(kg: SmallGraph) -> None:
    text = "INSERT DATA { <a> <b> 1 }"
    local = create_app(kg, access=LOCAL).test_client()
    assert update(local, text).status_code == 204
    for headers in (
        {"X-Forwarded-For": "203.0.113.9"},
        {"Forwarded": "for=203.0.113.9"},
        {"Via": "1.1 proxy"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        assert update(local, text, **headers).status_code == 403, headers
    assert update(local, text, Origin="http://localhost:8000").status_code == 204
    far = local.post("/sparql", data=text, content_type=UPDATE, headers=HERE, environ_base={"REMOTE_ADDR": "192.0.2.7"})
    assert far.status_code == 403
    opened = create_app(kg).test_client()
    refused = update(opened, text)
    assert refused.status_code == 403
    assert "kgplatform token" in refused.get_json(force=True)["detail"]


def test_with_tokens_each_role_may_do_its_part(tmp_path: Path) -> None:
    secrets, lines = zip(*(Token.make(f"{role}er", role) for role in ("read", "write", "admin")), strict=True)
    settings = ServerSettings(tokens=lines, public_reads=False)
    kg = small_graph(tmp_path, server=settings)
    client = create_app(kg, access=LOCAL).test_client()
    try:
        expected = {None: (401, 401, 401), 0: (200, 403, 403), 1: (200, 204, 404), 2: (200, 204, 404)}
        for who, statuses in expected.items():
            headers = {} if who is None else {"Authorization": f"Bearer {secrets[who]}"}
            found = (
                client.get("/sparql?query=ASK%7B%7D", headers={**HERE, **headers}).status_code,
                update(client, "INSERT DATA { <a> <b> 1 }", **headers).status_code,
                client.delete("/api/queries/none", headers={**HERE, **headers}).status_code,
            )
            assert found == statuses, who
        assert client.get("/", headers=HERE).status_code == 401
        assert client.get("/graphs?default", headers=HERE).status_code == 401
        assert client.get("/.well-known/void", headers=HERE).status_code == 401
        wrong = client.get("/sparql?query=ASK%7B%7D", headers={**HERE, "Authorization": "Bearer nonsense"})
        assert wrong.status_code == 401
        assert "Bearer" in wrong.headers["WWW-Authenticate"]
        basic = base64.b64encode(f"anyone:{secrets[1]}".encode()).decode()
        assert update(client, "INSERT DATA { <a> <b> 2 }", Authorization=f"Basic {basic}").status_code == 204
        foreign = {"Authorization": f"Basic {basic}", "Origin": "https://evil.example"}
        assert update(client, "INSERT DATA { <a> <b> 3 }", **foreign).status_code == 403
        bearer = {"Authorization": f"Bearer {secrets[1]}", "Origin": "https://friend.example"}
        assert update(client, "INSERT DATA { <a> <b> 4 }", **bearer).status_code == 204
    finally:
        kg.close()


def test_a_token_is_kept_as_a_hash_and_a_line_that_is_none_stops_the_server(kg: SmallGraph) -> None:
    secret, line = Token.make("ci", "write")
    assert secret not in line
    assert Rights((Token.read(line),)).client(f"Bearer {secret}", "", is_forwarded=False).role is Role.WRITE
    for bad in ("ci write", "ci boss sha256:" + "0" * 64, "ci write " + "0" * 64, "ci write md5:" + "0" * 64):
        with pytest.raises(ConfigError, match="kgplatform token"):
            Token.read(bad)
    with pytest.raises(ProtocolError):
        Rights((Token.read(line),)).client("Bearer " + secret[:-1], "", is_forwarded=False)


def test_a_client_that_asks_too_often_is_told_when_to_come_again(tmp_path: Path) -> None:
    kg = small_graph(tmp_path, server=ServerSettings(requests_per_minute=3))
    client = create_app(kg, access=LOCAL).test_client()
    try:
        statuses = [client.get("/sparql?query=ASK%7B%7D", headers=HERE).status_code for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
        refused = client.get("/sparql?query=ASK%7B%7D", headers=HERE)
        assert 1 <= int(refused.headers["Retry-After"]) <= 21
        other = client.get("/sparql?query=ASK%7B%7D", headers=HERE, environ_base={"REMOTE_ADDR": "127.0.0.2"})
        assert other.status_code == 200
    finally:
        kg.close()


def test_the_bucket_fills_as_time_passes() -> None:
    now = [0.0]
    rates = Rates(60, clock=lambda: now[0])
    for _ in range(60):
        rates.take("a")
    with pytest.raises(ProtocolError):
        rates.take("a")
    now[0] = 2.0
    rates.take("a")
    rates.take("a")
    with pytest.raises(ProtocolError) as caught:
        rates.take("a")
    assert dict(caught.value.headers)["Retry-After"] == "2"


def test_a_preflight_says_what_other_pages_may_send(kg: SmallGraph) -> None:
    client = create_app(kg).test_client()
    for path in ("/sparql", "/graphs"):
        response = client.options(path, headers={"Origin": "https://friend.example"})
        assert response.status_code == 204
        assert "Authorization" in response.headers["Access-Control-Allow-Headers"]
        assert "PUT" in response.headers["Access-Control-Allow-Methods"]


# what is running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with small_server(tmp_path_factory.mktemp("served"), settings="timeout_seconds=20") as (address, _):
        yield address


def fetch(address: str, method: str = "GET", data: bytes | None = None) -> tuple[int, bytes]:
    request = urllib.request.Request(address, data=data, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def listed(server: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(fetch(f"{server}/api/queries")[1])["queries"]
    return found


@pytest.mark.parametrize("task", ["query", "try"])
def test_what_is_running_is_listed_and_can_be_cancelled(server: str, task: str) -> None:
    count = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . FILTER(CONCAT(STR(?c), STR(?f)) = 'x') } # 杭州"
    body = urlencode({"query": count} if task == "query" else {"update": RUNAWAY}).encode()
    results: list[tuple[int, bytes]] = []
    asking = threading.Thread(target=lambda: results.append(fetch(f"{server}/sparql", "POST", body)))
    asking.start()
    deadline = time.monotonic() + 10
    running: list[dict[str, Any]] = []
    while not running:
        assert time.monotonic() < deadline
        running = [item for item in listed(server) if item["text"] in (count, RUNAWAY)]
    (found,) = running
    assert found["task"] == task
    assert found["client"] == "127.0.0.1"
    assert found["text"] == (count if task == "query" else RUNAWAY)
    started = time.monotonic()
    assert fetch(f"{server}/api/queries/{found['id']}", "DELETE")[0] == 204
    asking.join(timeout=10)
    assert time.monotonic() - started < 5
    ((status, text),) = results
    assert status == 503
    assert b"cancelled" in text
    assert found["id"] not in [item["id"] for item in listed(server)]
    assert fetch(f"{server}/api/queries/{found['id']}", "DELETE")[0] == 404
    assert fetch(f"{server}/sparql?query=ASK%7B%7D")[0] == 200


def test_a_writer_may_not_end_the_query_of_somebody_else(tmp_path: Path) -> None:
    secret, line = Token.make("ann", "write")
    kg = small_graph(tmp_path, server=ServerSettings(tokens=(line,)))
    client = create_app(kg, access=LOCAL).test_client()
    headers = {**HERE, "Authorization": f"Bearer {secret}"}
    ended: list[str] = []
    try:
        for owner, status in (("bob", 403), ("ann", 204)):
            name = kg.workers.running.enter(
                "ASK {}", task="query", client=owner, timeout_seconds=1, interrupt=lambda: ended.append("x")
            )
            assert client.delete(f"/api/queries/{name}", headers=headers).status_code == status
            kg.workers.running.leave(name)
        assert ended == ["x"]
        assert client.get("/api/queries", headers=HERE).status_code == 401
    finally:
        kg.close()


def test_updates_from_many_clients_at_once_are_all_there(server: str) -> None:
    def insert(number: int) -> None:
        body = urlencode({"update": f"INSERT DATA {{ <urn:many> <urn:n> {number} }}"}).encode()
        assert fetch(f"{server}/sparql", "POST", body)[0] == 204

    threads = [threading.Thread(target=insert, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    query = quote("SELECT (COUNT(*) AS ?n) { <urn:many> <urn:n> ?o }")
    assert json.loads(fetch(f"{server}/sparql?query={query}")[1])["results"]["bindings"][0]["n"]["value"] == "8"


def test_whoever_wrote_reads_it_even_while_somebody_else_is_writing(client: FlaskClient, kg: SmallGraph) -> None:
    assert asks(client, "ASK {}")
    assert update(client, "INSERT DATA { <urn:read> <urn:your> <urn:writes> }").status_code == 204
    holding, done = threading.Event(), threading.Event()

    def write() -> None:
        with kg.store.write_lock():
            kg.store.update("INSERT DATA { <urn:not> <urn:yet> <urn:there> }")
            holding.set()
            done.wait(20)

    other = threading.Thread(target=write)
    other.start()
    holding.wait(20)
    try:
        assert asks(client, "ASK { <urn:read> <urn:your> <urn:writes> }")
        assert not asks(client, "ASK { <urn:not> <urn:yet> <urn:there> }")
    finally:
        done.set()
        other.join()
    assert asks(client, "ASK { <urn:not> <urn:yet> <urn:there> }")


def test_the_default_graph_is_where_triples_without_a_graph_go(client: FlaskClient, kg: SmallGraph) -> None:
    assert update(client, "").status_code == 204
    before = len(list(kg.store.quads(graph=DefaultGraph())))
    update(client, "INSERT DATA { <a> <b> 1 . GRAPH <urn:g> { <a> <b> 2 } }")
    assert len(list(kg.store.quads(graph=DefaultGraph()))) == before + 1
