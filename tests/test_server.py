"""A real server asked from outside: busy, cut off, cancelled, attacked and sent nonsense, and asked as it was."""

import http.client
import json
import random
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from serving import small_server

RUNAWAY = 'SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . FILTER(CONCAT(STR(?c), STR(?f), STR(?i)) = "x") }'
UPDATE = "INSERT { ?a ?b ?i } WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . FILTER(CONCAT(STR(?c), STR(?f)) = 'x') }"
ENDLESS = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
ASK = "/sparql?query=ASK%7B%7D"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with small_server(tmp_path_factory.mktemp("served"), settings="timeout_seconds=20, max_upload_mb=5") as made:
        yield made


@pytest.fixture(scope="module")
def server(served):
    return served[0]


def fetch(address, *, data=None, method=None, **headers):
    """Status, headers and body."""
    request = urllib.request.Request(address, data=data, method=method, headers=headers)
    try:
        response = urllib.request.urlopen(request, timeout=120)
    except urllib.error.HTTPError as error:
        response = error
    with response:
        return response.status, {name.lower(): value for name, value in response.headers.items()}, response.read()


def status(address, query="ASK {}", timeout=20):
    return fetch(f"{address}/sparql?timeout={timeout}&query={quote(query)}")[0]


def connect(server):
    host, port = server.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=60)


def head(line, *fields):
    return "\r\n".join((f"{line} HTTP/1.1", "Host: 127.0.0.1", *fields, "", "")).encode()


def at_once(count, act):
    threads = [threading.Thread(target=act, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    return threads


# busy


def test_slow_queries_more_than_workers_do_not_hold_up_others_and_are_all_ended(server):
    assert status(server) == 200
    results = []
    slow = at_once(1, lambda _: results.append(status(server, RUNAWAY, timeout=2)))
    time.sleep(0.2)
    started = time.monotonic()
    assert [fetch(f"{server}{ASK}")[2] for _ in range(5)] == [b'{"head":{},"boolean":true}'] * 5
    assert time.monotonic() - started < 10
    slow += at_once(5, lambda _: results.append(status(server, RUNAWAY, timeout=2)))
    for thread in slow:
        thread.join()
    assert len(results) == 6
    assert set(results) <= {503, 504}
    assert status(server) == 200


@pytest.mark.slow
def test_forty_runaway_queries_at_once_are_all_answered_and_the_pages_go_on(server):
    found = []
    threads = at_once(40, lambda _: found.append(fetch(f"{server}/sparql?timeout=2&query={quote(RUNAWAY)}")))
    time.sleep(0.3)
    started = time.monotonic()
    assert fetch(f"{server}/query")[0] == 200
    assert time.monotonic() - started < 10
    for thread in threads:
        thread.join()
    assert len(found) == 40
    assert {code for code, _, _ in found} <= {503, 504}
    assert all(json.loads(body)["help"] for _, _, body in found)
    assert status(server) == 200


@pytest.mark.parametrize("rows", [60_000, pytest.param(250_000, marks=pytest.mark.slow)])
def test_a_large_result_is_streamed_whole_in_flat_memory(served, rows):
    address, pid = served

    def peak():
        return int(re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) * 1000

    before = 0
    for limit in (30_000, rows):
        query = f"SELECT ?a ?c ?f {{ ?a ?b ?c . ?d ?e ?f . ?g rdfs:label ?h }} LIMIT {limit}"
        code, _, body = fetch(f"{address}/sparql?query={quote(query)}", Accept="text/csv")
        assert (code, body.count(b"\r\n")) == (200, limit + 1)
        before = before or peak()
    assert peak() - before < 16_000_000


@pytest.mark.parametrize("version", [10, 11])
def test_a_result_that_is_cut_does_not_look_whole(server, version):
    connection = http.client.HTTPConnection(server.removeprefix("http://"), timeout=60)
    connection._http_vsn, connection._http_vsn_str = version, f"HTTP/1.{version - 10}"
    connection.request("GET", f"/sparql?timeout=2&query={quote(ENDLESS)}", headers={"Accept": "text/csv"})
    response = connection.getresponse()
    if version == 10:  # nothing but the status can tell there
        assert response.status == 504
    else:
        assert response.status == 200
        with pytest.raises(http.client.IncompleteRead):
            response.read()
    connection.close()


@pytest.mark.parametrize("encoding", ["identity", pytest.param("gzip", marks=pytest.mark.slow)])
def test_a_cut_result_has_no_last_chunk_on_the_wire(server, encoding):
    with connect(server) as raw:
        path = f"/sparql?timeout=2&query={quote(ENDLESS)}"
        raw.sendall(head(f"GET {path}", "Accept: text/csv", f"Accept-Encoding: {encoding}"))
        begin, tail, size = b"", b"", 0
        while piece := raw.recv(1 << 16):
            begin = begin or piece
            size += len(piece)
            tail = (tail + piece)[-64:]
    assert begin.startswith(b"HTTP/1.1 200")
    assert b"Transfer-Encoding: chunked" in begin
    assert (b"Content-Encoding: gzip" in begin) == (encoding == "gzip")
    assert size > 20_000
    assert not tail.endswith(b"\r\n0\r\n\r\n")  # a row may end in 0, none is only that


@pytest.mark.parametrize("task", ["query", "try"])
def test_what_is_running_is_listed_and_can_be_cancelled(server, task):
    text, results = RUNAWAY if task == "query" else UPDATE, []
    body = urlencode({"query" if task == "query" else "update": text}).encode()

    def listed():
        queries = json.loads(fetch(f"{server}/api/queries")[2])["queries"]
        return [item for item in queries if item["text"] == text]

    (asking,) = at_once(1, lambda _: results.append(fetch(f"{server}/sparql", data=body)))
    deadline = time.monotonic() + 30
    while not (running := listed()):
        assert time.monotonic() < deadline
    (found,) = running
    assert (found["task"], found["client"]) == (task, "127.0.0.1")
    started = time.monotonic()
    assert fetch(f"{server}/api/queries/{found['id']}", method="DELETE")[0] == 204
    asking.join(timeout=30)
    assert time.monotonic() - started < 15
    ((code, _, said),) = results
    assert code == 503
    assert b"cancelled" in said
    assert listed() == []
    assert fetch(f"{server}/api/queries/{found['id']}", method="DELETE")[0] == 404
    assert status(server) == 200


def test_updates_from_many_clients_at_once_are_all_there(server):
    def insert(number):
        body = urlencode({"update": f"INSERT DATA {{ <urn:many> <urn:n> {number} }}"}).encode()
        assert fetch(f"{server}/sparql", data=body)[0] == 204

    for thread in at_once(8, insert):
        thread.join()
    query = quote("SELECT (COUNT(*) AS ?n) { <urn:many> <urn:n> ?o }")
    assert fetch(f"{server}/sparql?query={query}", Accept="text/csv")[2].split() == [b"n", b"8"]


# attacked


@pytest.mark.parametrize("path", ["/sparql", "/graphs?default"])
def test_a_body_of_gigabytes_is_refused_before_it_is_sent(server, path):
    with connect(server) as raw:
        raw.sendall(head(f"POST {path}", "Content-Type: text/turtle", "Content-Length: 5000000000"))
        assert b" 413 " in raw.recv(4000).splitlines()[0]
    assert status(server) == 200


def test_an_endless_chunked_body_is_cut_off(server):
    chunk, sent, is_refused = b"10000\r\n" + b"#" * 0x10000 + b"\r\n", 0, False
    with connect(server) as raw:
        raw.sendall(head("POST /graphs?default", "Content-Type: text/turtle", "Transfer-Encoding: chunked"))
        try:
            while sent < 40_000_000:
                raw.sendall(chunk)
                sent += len(chunk)
        except OSError:
            is_refused = True
        if not is_refused:
            assert b" 413 " in raw.recv(4000).splitlines()[0]
    assert status(server) == 200


@pytest.mark.parametrize("path", ["/api/ask", "/api/run", "/api/names", "/api/validate"])
def test_json_that_nests_without_end_is_400(server, path):
    body = b'{"question":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with connect(server) as raw:
        raw.sendall(head(f"POST {path}", "Content-Type: application/json", f"Content-Length: {len(body)}") + body)
        assert b" 400 " in raw.recv(4000).splitlines()[0]


def test_garbage_on_the_wire_gets_an_answer_without_a_traceback(server):
    for data in (b"\x00\x01\r\n\r\n", b"GET /sparql?query=%zz HTTP/1.1\r\nHost: localhost\r\n\r\n"):
        with connect(server) as raw:
            raw.sendall(data)
            answer = raw.recv(4000)
        assert b" 400 " in answer.splitlines()[0]
        assert b"Traceback" not in answer


def test_connections_that_send_a_byte_at_a_time_hold_nobody_up(server):
    with ExitStack() as stack:
        slow = [stack.enter_context(connect(server)) for _ in range(40)]
        for number, raw in enumerate(slow):
            raw.sendall(b"POST /sparql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\nX-A: ")
            if number < 20:
                raw.sendall(b"b\r\n\r\nquery=")
        started = time.monotonic()
        assert status(server) == 200
        assert time.monotonic() - started < 15


def test_connections_that_are_closed_half_way_leave_nothing_behind(served):
    address, pid = served

    def open_files():
        return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())

    before = open_files()
    for shut in (socket.SHUT_WR, socket.SHUT_RDWR, None):
        for _ in range(4):
            with connect(address) as raw:
                raw.sendall(head(f"GET /sparql?timeout=2&query={quote(ENDLESS)}"))
                if shut is None:
                    raw.recv(1000)
                else:
                    raw.shutdown(shut)
    deadline = time.monotonic() + 60
    while status(address) != 200 or open_files() > before + 10:
        assert time.monotonic() < deadline
        time.sleep(0.1)


# nonsense


SEEDS = (
    "SELECT ?h ?n { ?h travel:roomCount ?n FILTER(?n > 3) } ORDER BY ?n LIMIT 5",
    "PREFIX e: <urn:e:> CONSTRUCT { ?s e:p [ e:q ?o ] } WHERE { ?s ?p ?o OPTIONAL { ?o a ?c } } LIMIT 3",
    'SELECT (GROUP_CONCAT(DISTINCT ?l; separator=", ") AS ?a) { ?x rdfs:label ?l } GROUP BY ?x HAVING (COUNT(?l) > 1)',
    'SELECT * { SERVICE kgp:find { ?t kgp:text "西栅" ; kgp:label ?l ; kgp:limit 3 } ?t a ?c }',
    "ASK { ?a (geo:locatedIn|^geo:near)+ ?b MINUS { ?b rdfs:label '乌镇'@zh } }",
    "DESCRIBE <https://example.org/kg/entity/x> FROM <urn:g>",
    'SELECT (kgp:convert("1"^^xsd:decimal, "里", "km") AS ?k) { VALUES ?b { "\\u00e9" <<( <urn:a> <urn:b> 1 )>> } }',
    "INSERT { ?s <urn:p> ?o } WHERE { ?s <urn:q> ?o } ; DELETE DATA { <urn:a> <urn:b> 1 }",
)
PIECES = (
    *("{", "}", "(", ")", "<", ">", "<<(", ")>>", "'", '"', '"""', "\\", "\\u12", "#", ";", ".", ",", "|", "^", "*"),
    *("SERVICE", "SELECT", "GRAPH ?g", "BIND(1/0 AS ?z)", "GROUP_CONCAT(", "kgp:text", "\x00", "\ud7ff", "西", "𝕏"),
)


def mutated(chance):
    text = list(chance.choice(SEEDS))
    for _ in range(chance.randint(0, 6)):
        place = chance.randrange(len(text) + 1)
        match chance.randrange(4):
            case 0:
                text[place:place] = chance.choice(PIECES)
            case 1:
                del text[place : place + chance.randint(1, 8)]
            case 2:
                other = chance.choice(SEEDS)
                start = chance.randrange(len(other))
                text[place:place] = other[start : start + chance.randint(1, 30)]
            case _:
                text[place:place] = text[place : place + 10] * chance.randint(1, 40)
    return "".join(text)


@pytest.mark.parametrize("count", [60, pytest.param(400, marks=pytest.mark.slow)])
def test_mutated_queries_and_updates_are_answered_or_refused(server, count):
    chance, seen = random.Random(5), []
    for number in range(count):
        text = mutated(chance)
        fields = {"update" if number % 5 == 0 else "query": text}
        seen.append(fetch(f"{server}/sparql?timeout=3", data=urlencode(fields).encode())[0])
        assert seen[-1] in (200, 204, 400, 503, 504), text
    assert seen.count(400) > count / 8
    assert seen.count(200) > 2


@pytest.mark.slow
def test_what_the_openapi_document_allows_never_fails_inside(server, tmp_path):
    program = Path(sys.executable).with_name("schemathesis")
    if not program.exists():
        pytest.skip("schemathesis is not installed")
    options = ["--checks", "not_a_server_error", "--max-examples", "15", "--seed", "7", "--phases", "fuzzing"]
    command = [str(program), "run", f"{server}/api/openapi.json", *options, "--no-color"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=580, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
    assert " failed" not in done.stdout


# as it was


def test_queries_pages_and_graphs_can_be_asked_as_they_were(server):
    number = json.loads(fetch(f"{server}/api/versions")[2])["versions"][0]["version"]
    thing = "https://example.org/kg/entity/laoshi"
    for label in ('"老石"@zh', '"Old Stone"@en'):
        body = urlencode({"update": f"INSERT DATA {{ <{thing}> rdfs:label {label} }}"}).encode()
        assert fetch(f"{server}/sparql", data=body)[0] == 204
    count = f"{server}/sparql?query={quote(f'SELECT (COUNT(*) AS ?n) {{ <{thing}> ?p ?o }}')}"
    for at, found in (("", 2), (f"&at={number}", 0), (f"&at={number + 1}", 1), (f"&at={number + 2}", 2)):
        code, headers, body = fetch(f"{count}&format=csv{at}")
        assert (code, int(body.split()[1])) == (200, found)
        assert ("memento-datetime" in headers) == bool(at)
    for path, accept in (
        (f"/id/entity/laoshi?at={number + 1}", "text/html"),
        (f"/id/entity/laoshi.ttl?at={number + 1}", "text/turtle"),
        (f"/graphs?default&at={number + 1}", "text/turtle"),
    ):
        text = fetch(f"{server}{path}", Accept=accept)[2].decode()
        assert "老石" in text
        assert "Old Stone" not in text
        assert accept != "text/html" or f"Version {number + 1}" in text
    assert fetch(f"{server}/id/entity/laoshi?at={number}", Accept="text/turtle")[0] == 404
    assert fetch(f"{count}&at={number + 1}")[1]["etag"] != fetch(count)[1]["etag"]
    for path in (ASK, "/graphs?default", "/resource?iri=https://example.org/kg/entity/x"):
        code, _, body = fetch(f"{server}{path}&at=4000", Accept="application/json")
        assert code == 404
        assert json.loads(body)["nearest"][0]["version"] > 0
        assert fetch(f"{server}{path}&at=soon", Accept="application/json")[0] == 400
    assert fetch(f"{server}{ASK}&at=1&at=2")[0] == 400
