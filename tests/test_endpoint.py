"""The SPARQL endpoint: the protocol through the app, and a real server asked from outside while it is busy."""

from __future__ import annotations

import gzip
import http.client
import json
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from flask.testing import FlaskClient
from serving import small_server
from small_graph import SmallGraph, small_graph

from kgplatform.web.app import create_app
from kgplatform.web.negotiation import GRAPHS, ROWS, choose
from kgplatform.web.security import Access
from kgplatform.web.serving import PortTakenError, serve

HOTELS = "SELECT ?hotel ?n WHERE { ?hotel travel:roomCount ?n } ORDER BY ?n"
RUNAWAY = 'SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . FILTER(CONCAT(STR(?c), STR(?f), STR(?i)) = "x") }'
FORM = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallGraph]:
    made = small_graph(tmp_path_factory.mktemp("graph"), timeout_seconds=30)
    made.workers.solutions("ASK {}", timeout_seconds=60)  # by then a worker is there
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(kg: SmallGraph) -> FlaskClient:
    return create_app(kg).test_client()


def ask(client: FlaskClient, query: str, **options: object):
    return client.get("/sparql", query_string={"query": query}, **options)


# the protocol


@pytest.mark.parametrize("way", ["get", "form", "direct"])
def test_a_query_is_taken_in_each_of_the_three_ways(client: FlaskClient, way: str) -> None:
    if way == "get":
        response = ask(client, HOTELS)
    elif way == "form":
        response = client.post("/sparql", data={"query": HOTELS})
    else:
        response = client.post("/sparql", data=HOTELS.encode(), content_type="application/sparql-query")
    assert response.status_code == 200
    assert response.content_type == "application/sparql-results+json"
    assert [row["n"]["value"] for row in json.loads(response.data)["results"]["bindings"]] == ["3", "12", "24", "80"]


def test_percent_signs_in_a_form_are_decoded_once(client: FlaskClient) -> None:
    query = 'ASK { FILTER("%40" = "%" ) }'
    response = client.post("/sparql", data=urlencode({"query": query}), content_type=FORM)
    assert response.get_json(force=True)["boolean"] is False
    same = client.post("/sparql", data=urlencode({"query": 'ASK { FILTER(STRLEN("%40") = 3) }'}), content_type=FORM)
    assert same.get_json(force=True)["boolean"] is True


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("application/sparql-results+json", "application/sparql-results+json"),
        ("application/json", "application/sparql-results+json"),
        ("application/sparql-results+xml", "application/sparql-results+xml"),
        ("text/csv", "text/csv; charset=utf-8"),
        ("text/tab-separated-values", "text/tab-separated-values; charset=utf-8"),
        ("text/csv;q=0.4, application/sparql-results+xml;q=0.9", "application/sparql-results+xml"),
        ("text/*", "text/csv; charset=utf-8"),
        ("*/*;q=0.1, text/csv", "text/csv; charset=utf-8"),
        ("application/sparql-results+json;q=0, */*", "application/sparql-results+xml"),
        ("*/*", "application/sparql-results+json"),
        ("", "application/sparql-results+json"),
    ],
)
def test_rows_come_in_the_format_that_is_liked_best(client: FlaskClient, accept: str, expected: str) -> None:
    response = ask(client, HOTELS, headers={"Accept": accept})
    assert response.status_code == 200
    assert response.content_type == expected
    assert "Accept" in response.headers["Vary"]


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("text/turtle", "text/turtle; charset=utf-8"),
        ("application/n-triples", "application/n-triples; charset=utf-8"),
        ("application/rdf+xml", "application/rdf+xml"),
        ("application/ld+json", "application/ld+json"),
        ("application/trig", "application/trig; charset=utf-8"),
        ("application/n-quads", "application/n-quads; charset=utf-8"),
        ("*/*", "text/turtle; charset=utf-8"),
    ],
)
def test_graphs_come_in_the_format_that_is_liked_best(client: FlaskClient, accept: str, expected: str) -> None:
    response = ask(client, "CONSTRUCT WHERE { ?s travel:roomCount ?o }", headers={"Accept": accept})
    assert response.content_type == expected
    assert response.data


def test_a_format_by_name_beats_the_header(client: FlaskClient) -> None:
    response = client.get(
        "/sparql", query_string={"query": HOTELS, "format": "tsv"}, headers={"Accept": "application/json"}
    )
    assert response.data.startswith(b"?hotel\t?n\n")


def test_what_cannot_be_written_is_406_with_the_list_of_what_can(client: FlaskClient) -> None:
    response = ask(client, HOTELS, headers={"Accept": "image/png"})
    assert response.status_code == 406
    detail = response.get_json(force=True)["detail"]
    assert all(offer.media_type in detail for offer in ROWS)
    graph = client.get("/sparql", query_string={"query": "CONSTRUCT WHERE { ?s ?p ?o }", "format": "png"})
    assert graph.status_code == 406


def test_a_syntax_error_is_400_with_line_column_and_the_line(client: FlaskClient) -> None:
    response = ask(client, "SELECT *\nWHERE { ?s nosuch:p ?o }")
    problem = response.get_json(force=True)
    assert response.status_code == 400
    assert response.content_type == "application/problem+json"
    assert (problem["line"], problem["status"]) == (2, 400)
    assert problem["text"] == "WHERE { ?s nosuch:p ?o }"
    assert "prefix" in problem["detail"]
    text = ask(client, "SELECT", headers={"Accept": "text/csv"})
    assert text.status_code == 400
    assert text.content_type.startswith("text/plain")
    assert text.data.startswith(b"Syntax error: line 1")


@pytest.mark.parametrize(
    ("method", "path", "data", "content_type", "status"),
    [
        ("POST", "/sparql", "", FORM, 400),
        ("GET", "/sparql?query=", None, None, 400),
        ("GET", "/sparql?query=ASK%7B%7D&query=ASK%7B%7D", None, None, 400),
        ("GET", "/sparql?query=%FF%FE", None, None, 400),
        ("POST", "/sparql?query=ASK%7B%7D", "ASK{}", "application/sparql-query", 400),
        ("POST", "/sparql", b"\xff", "application/sparql-query", 400),
        ("POST", "/sparql", "ASK {}", "application/sparql-query; charset=utf-16", 415),
        ("POST", "/sparql", "ASK {}", "text/plain", 415),
        ("POST", "/sparql", "ASK {}", None, 415),
        ("POST", "/sparql", "INSERT DATA {}", "application/sparql-update", 403),
        ("POST", "/sparql", "update=CLEAR+ALL", FORM, 403),
        ("GET", "/sparql?query=CLEAR+ALL", None, None, 400),
        ("GET", "/sparql?update=CLEAR+ALL", None, None, 400),
        ("POST", "/sparql", "update=CLEAR+ALL&update=CLEAR+ALL", FORM, 400),
        ("POST", "/sparql", "update=CLEAR+ALL&query=ASK+%7B%7D", FORM, 400),
        ("POST", "/sparql", "update=CLEAR+ALL&default-graph-uri=urn:x", FORM, 400),
        ("POST", "/sparql", "query=ASK+%7B%7D&using-graph-uri=urn:x", FORM, 400),
        ("POST", "/sparql", "CLEAR ALL", "application/sparql-update; charset=UTF-16", 415),
        ("GET", "/sparql?query=ASK%7B%7D&timeout=soon", None, None, 400),
        ("PUT", "/sparql", "ASK {}", "application/sparql-query", 405),
        ("DELETE", "/sparql", None, None, 405),
    ],
)
def test_what_is_no_query_by_the_protocol_is_refused(
    client: FlaskClient, method: str, path: str, data: object, content_type: str | None, status: int
) -> None:
    response = client.open(path, method=method, data=data, content_type=content_type)
    assert response.status_code == status
    assert response.get_json(force=True)["detail"]
    if status == 405:
        assert "POST" in response.headers["Allow"]


def test_an_update_from_just_anywhere_changes_nothing(client: FlaskClient, kg: SmallGraph) -> None:
    before = len(kg.store)
    for data, status in (({"update": "CLEAR ALL"}, 403), ({"query": "DELETE WHERE { ?s ?p ?o }"}, 400)):
        assert client.post("/sparql", data=data).status_code == status
    assert len(kg.store) == before


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
        "SELECT * " + "{" * 5000 + "}" * 5000,
        "ASK { FILTER(" + "!" * 100_000 + "true) }",
    ],
)
def test_a_harmful_query_is_400_and_the_next_one_is_answered(client: FlaskClient, query: str) -> None:
    assert client.post("/sparql", data={"query": query}).status_code == 400
    assert ask(client, "ASK {}").get_json(force=True)["boolean"] is True


def test_a_query_that_takes_too_long_is_504_and_says_after_how_long(client: FlaskClient) -> None:
    response = client.get("/sparql", query_string={"query": RUNAWAY, "timeout": "0.4"})
    assert response.status_code == 504
    assert response.get_json(force=True)["seconds"] == 0.4


def test_a_large_body_is_413(client: FlaskClient) -> None:
    response = client.post("/sparql", data=b" " * 3_000_000, content_type="application/sparql-query")
    assert response.status_code == 413


def test_the_dataset_of_the_request_is_used(client: FlaskClient, kg: SmallGraph) -> None:
    chunk = kg.registry.chunks(kg.registry.documents()[-1].document.iri)[0].iri.value
    count = "SELECT (COUNT(*) AS ?n) { ?s travel:roomCount ?o }"
    whole = ask(client, count).get_json(force=True)["results"]["bindings"][0]["n"]["value"]
    part = client.get("/sparql", query_string={"query": count, "default-graph-uri": chunk}).get_json(force=True)
    named = client.get(
        "/sparql", query_string={"query": "SELECT ?g { GRAPH ?g { ?s geo:near ?o } }", "named-graph-uri": chunk}
    ).get_json(force=True)
    assert whole == "4"
    assert part["results"]["bindings"][0]["n"]["value"] == "1"
    assert {row["g"]["value"] for row in named["results"]["bindings"]} == {chunk}
    bad = client.get("/sparql", query_string={"query": count, "default-graph-uri": "no iri"})
    assert bad.status_code == 400


def test_head_has_the_headers_and_no_body(client: FlaskClient) -> None:
    response = client.head("/sparql", query_string={"query": HOTELS})
    assert response.status_code == 200
    assert response.content_type == "application/sparql-results+json"
    assert response.data == b""


def test_columns_come_in_the_order_in_which_the_query_names_them(client: FlaskClient) -> None:
    response = ask(client, "SELECT * { ?z a ?b . BIND(1 AS ?a) } LIMIT 1", headers={"Accept": "text/csv"})
    assert response.data.splitlines()[0] == b"z,b,a"
    inner = "SELECT * # SELECT *\n{ ?z a ?b { SELECT * { ?z rdfs:label ?a } } } LIMIT 1"
    assert ask(client, inner, headers={"Accept": "text/csv"}).data.splitlines()[0] == b"z,b,a"
    assert ask(client, "SELECT * {}", headers={"Accept": "text/csv"}).status_code == 200


def test_relative_iris_are_resolved_against_the_base_of_the_workspace(client: FlaskClient) -> None:
    response = ask(client, "CONSTRUCT { <s> <p> <图> } {}", headers={"Accept": "application/n-triples"})
    assert response.data.decode() == (
        "<https://example.org/kg/s> <https://example.org/kg/p> <https://example.org/kg/图> .\n"
    )


def test_what_json_ld_cannot_say_is_refused_and_turtle_says_it(client: FlaskClient) -> None:
    query = "CONSTRUCT { <a> <b> <<( <c> <d> 1 )>> } {}"
    refused = ask(client, query, headers={"Accept": "application/ld+json"})
    assert refused.status_code == 400
    assert "Turtle" in refused.get_json(force=True)["detail"]
    assert b"<<(" in ask(client, query, headers={"Accept": "text/turtle"}).data


def test_casts_to_the_smaller_integers_are_known(client: FlaskClient) -> None:
    response = ask(client, 'SELECT (xsd:int("7") + 1 AS ?n) {}', headers={"Accept": "text/csv"})
    assert response.data.split() == [b"n", b"8"]


def test_an_answer_is_kept_by_its_tag_until_the_store_changes(client: FlaskClient, kg: SmallGraph) -> None:
    first = ask(client, HOTELS)
    tag = first.headers["ETag"]
    assert tag.startswith('W/"')
    again = ask(client, HOTELS, headers={"If-None-Match": f'"other", {tag}'})
    assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", tag)
    assert "Accept" in again.headers["Vary"]
    assert ask(client, HOTELS, headers={"If-None-Match": tag, "Accept": "text/csv"}).status_code == 200
    assert ask(client, HOTELS + " LIMIT 1", headers={"If-None-Match": tag}).status_code == 200
    kg.store.update("INSERT DATA { <urn:a> <urn:b> <urn:c> }")
    changed = ask(client, HOTELS, headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["ETag"] != tag
    kg.store.update("DELETE DATA { <urn:a> <urn:b> <urn:c> }")


def test_an_answer_that_changes_by_itself_has_no_tag(client: FlaskClient) -> None:
    for query in ("SELECT (NOW() AS ?t) {}", "SELECT (rand() AS ?x) {}", "SELECT (STRUUID() AS ?x) {}"):
        response = ask(client, query)
        assert "ETag" not in response.headers
        assert response.headers["Cache-Control"] == "no-store"
    assert "ETag" in ask(client, "SELECT ?now { ?now ?p 'NOW()' } LIMIT 1").headers


@pytest.mark.parametrize("big", [False, True])
def test_gzip_is_used_where_it_is_taken_and_of_use(client: FlaskClient, big: bool) -> None:
    query = f"SELECT ?s ?o {{ ?s ?p ?o . ?t rdfs:label ?u }} LIMIT {40_000 if big else 100}"
    plain = ask(client, query, headers={"Accept": "text/csv"})
    packed = ask(client, query, headers={"Accept": "text/csv", "Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert len(packed.data) < len(plain.data) / 3
    assert gzip.decompress(packed.data) == plain.data
    small = ask(client, "ASK {}", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in small.headers
    refused = ask(client, query, headers={"Accept": "text/csv", "Accept-Encoding": "gzip;q=0"})
    assert "Content-Encoding" not in refused.headers
    assert refused.data == plain.data


def test_options_and_cross_origin_reads_are_answered(client: FlaskClient) -> None:
    response = client.options("/sparql", headers={"Origin": "https://elsewhere.example"})
    assert response.status_code == 204
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert "POST" in response.headers["Access-Control-Allow-Methods"]
    assert ask(client, "ASK {}").headers["Access-Control-Allow-Origin"] == "*"


def test_a_server_on_loopback_is_closed_to_pages_and_names_from_elsewhere(kg: SmallGraph) -> None:
    client = create_app(kg, access=Access.on("127.0.0.1")).test_client()
    foreign = ask(client, "ASK {}", headers={"Origin": "https://elsewhere.example"})
    assert "Access-Control-Allow-Origin" not in foreign.headers
    local = ask(client, "ASK {}", headers={"Origin": "http://localhost:5173"})
    assert local.headers["Access-Control-Allow-Origin"] == "http://localhost:5173"
    for name in ("evil.example", "localhost.evil.example", "[::", "127.0.0.1.example"):
        assert client.get("/", headers={"Host": name}).status_code == 421
    assert client.get("/", headers={"Host": "localhost:8000"}).status_code == 200


def test_a_browser_is_shown_the_query_page(client: FlaskClient) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
    response = ask(client, "ASK {}", headers=browser)
    assert response.status_code == 303
    assert response.headers["Location"] == "/query?query=ASK+%7B%7D"
    assert client.get("/sparql", headers=browser).headers["Location"] == "/query"


def test_the_more_exact_range_decides() -> None:
    assert choose("text/*;q=0.9, text/csv;q=0.1, text/tab-separated-values", ROWS).name == "tsv"  # type: ignore[union-attr]
    assert choose("text/turtle;q=bad", GRAPHS) is None
    assert choose(",;,", ROWS) is None


# a real server


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    with small_server(tmp_path_factory.mktemp("served"), settings="timeout_seconds=30") as made:
        yield made


@pytest.fixture(scope="module")
def server(served: tuple[str, int]) -> str:
    return served[0]


def fetch(address: str, query: str, timeout: float = 30, **headers: str) -> tuple[int, bytes]:
    request = urllib.request.Request(f"{address}/sparql?timeout={timeout}&query={quote(query)}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def test_a_slow_query_does_not_hold_up_others(server: str) -> None:
    assert fetch(server, "ASK {}")[0] == 200
    results: list[int] = []
    slow = threading.Thread(target=lambda: results.append(fetch(server, RUNAWAY, timeout=3)[0]))
    slow.start()
    time.sleep(0.2)
    started = time.monotonic()
    for _ in range(5):
        assert fetch(server, "ASK {}") == (200, b'{"head":{},"boolean":true}')
    assert time.monotonic() - started < 2.5
    slow.join()
    assert results == [504]


def test_more_runaway_queries_than_workers_are_all_ended_and_the_server_lives(server: str) -> None:
    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(fetch(server, RUNAWAY, timeout=3)[0])) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(results) <= {503, 504}
    assert len(results) == 6
    assert fetch(server, "ASK {}")[0] == 200


def test_a_large_result_is_streamed_whole(server: str) -> None:
    query = "SELECT ?s ?o { ?s ?p ?o . ?t rdfs:label ?u } LIMIT 60000"
    status, body = fetch(server, query, Accept="text/csv")
    assert status == 200
    assert body.count(b"\r\n") == 60_001


@pytest.mark.parametrize("version", [10, 11])
def test_a_result_that_is_cut_does_not_look_whole(server: str, version: int) -> None:
    host = server.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=60)
    connection._http_vsn = version  # type: ignore[attr-defined]
    connection._http_vsn_str = f"HTTP/1.{version - 10}"  # type: ignore[attr-defined]
    endless = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
    connection.request("GET", f"/sparql?timeout=3&query={quote(endless)}", headers={"Accept": "text/csv"})
    response = connection.getresponse()
    if version == 10:  # nothing but the status can tell there
        assert response.status == 504
    else:
        assert response.status == 200
        with pytest.raises(http.client.IncompleteRead):
            response.read()
    connection.close()


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_a_cut_result_has_no_last_chunk_on_the_wire(server: str, encoding: str) -> None:
    host, port = server.removeprefix("http://").split(":")
    endless = quote("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }")
    with socket.create_connection((host, int(port)), timeout=60) as raw:
        raw.sendall(
            f"GET /sparql?timeout=3&query={endless} HTTP/1.1\r\nHost: {host}\r\nAccept: text/csv\r\n"
            f"Accept-Encoding: {encoding}\r\n\r\n".encode()
        )
        tail, size = b"", 0
        head = b""
        while piece := raw.recv(1 << 16):
            head = head or piece
            size += len(piece)
            tail = (tail + piece)[-64:]
    assert head.startswith(b"HTTP/1.1 200")
    assert b"Transfer-Encoding: chunked" in head
    assert (b"Content-Encoding: gzip" in head) == (encoding == "gzip")
    assert size > 20_000
    assert not tail.endswith(b"0\r\n\r\n")


def test_a_large_result_goes_through_in_flat_memory(server: str, served: tuple[str, int]) -> None:
    pid = served[1]
    rows = "SELECT ?a ?c ?f { ?a ?b ?c . ?d ?e ?f . ?g rdfs:label ?h } LIMIT %d"
    fetch(server, rows % 30_000, Accept="text/csv")
    before = peak_memory(pid)
    status, body = fetch(server, rows % 250_000, Accept="text/csv")
    assert status == 200
    assert body.count(b"\r\n") == 250_001
    assert len(body) > 20_000_000
    assert peak_memory(pid) - before < 16_000_000


def peak_memory(pid: int) -> int:
    """The most memory that the process ever had, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1000  # type: ignore[index]


def test_a_client_that_leaves_frees_its_worker(server: str) -> None:
    host, port = server.removeprefix("http://").split(":")
    for _ in range(4):
        with socket.create_connection((host, int(port))) as raw:
            query = quote("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }")
            raw.sendall(f"GET /sparql?query={query} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            raw.recv(1000)
    assert fetch(server, "ASK {}")[0] in (200, 503)
    deadline = time.monotonic() + 10
    while fetch(server, "ASK {}")[0] != 200:
        assert time.monotonic() < deadline


def test_garbage_on_the_wire_gets_an_answer_without_a_traceback(server: str) -> None:
    host, port = server.removeprefix("http://").split(":")
    for data in (b"\x00\x01\r\n\r\n", b"GET /sparql?query=%zz HTTP/1.1\r\nHost: localhost\r\n\r\n"):
        with socket.create_connection((host, int(port)), timeout=60) as raw:
            raw.sendall(data)
            answer = raw.recv(4000)
            assert answer.startswith(b"HTTP/1.")
            assert b" 400 " in answer.splitlines()[0]
            assert b"Traceback" not in answer


def test_a_port_that_is_taken_is_one_line_with_the_next_free_one(kg: SmallGraph) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortTakenError, match=rf"port {port} on 127\.0\.0\.1 is taken; port \d+ is free") as caught:
            serve(kg, port=port)
    assert caught.value.free is not None
    assert "\n" not in str(caught.value)
    with pytest.raises(PortTakenError, match="not a port"):
        serve(kg, port=99999)
