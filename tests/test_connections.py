"""Connections: who answers on them cannot be told, requests follow each other in any mixture, slow clients go."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from small_graph import small_graph

from kgplatform.server import connections
from kgplatform.server.access import Access, Token
from kgplatform.server.app import create_app, handover
from kgplatform.sparql.protocol import plain_query

ASK = "/sparql?query=ASK%7B%7D"
HOTELS = "SELECT ?hotel ?n WHERE { ?hotel travel:roomCount ?n } ORDER BY ?n"
LARGE = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g rdfs:label ?h } LIMIT 20000"
RUNAWAY = 'SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . FILTER(CONCAT(STR(?c), STR(?f), STR(?i)) = "x") }'
GREEDY = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?a ?d ?g"
WRONG = "/sparql?query=SELECT"
PAGE = "/about"
ROWS = "application/sparql-results+json"
WAYS = ("/sparql", "/sparql/")
"""Plain queries, which workers answer, and those that the application answers, for the address is an unusual one."""


@contextmanager
def serving(kg, access):
    """The port of a server in this process."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = connections.listening(
        create_app(kg, access=access).wsgi_app,
        handover(kg, access),
        sockets=[listener],
        threads=4,
        connection_limit=700,
        asyncore_use_poll=True,
        ident="kgplatform",
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    server.task_dispatcher.shutdown()
    server.asyncore.close_all(server._map)
    thread.join(5)


@pytest.fixture(scope="module")
def kg(tmp_path_factory):
    made = small_graph(tmp_path_factory.mktemp("graph"), timeout_seconds=60)
    for item in made.workers._workers:
        item._memory_bytes = 512_000_000
    yield made
    made.close()


SECRET, TOKEN = Token.make("ann", "read")


@pytest.fixture(scope="module")
def ports(kg):
    """Servers on one workspace: on loopback, open to all, closed to those without a token, with a limit of rate."""
    found, settings = {}, kg.settings
    server = settings.server
    with ExitStack() as stack:
        for name, access, changed in (
            ("loopback", Access.on("127.0.0.1"), server),
            ("open", Access(), server),
            ("closed", Access(), replace(server, public_reads=False, tokens=(TOKEN,))),
            ("limited", Access(), replace(server, requests_per_minute=3)),
        ):
            kg.settings = replace(settings, server=changed)
            found[name] = stack.enter_context(serving(kg, access))
        kg.settings = settings
        yield found


@pytest.fixture(scope="module")
def port(ports):
    return ports["loopback"]


@contextmanager
def connected(port):
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as link:
        yield link


def get(link, path, **headers):
    link.request("GET", path, headers={"Accept": f"{ROWS}, */*;q=0.1", **headers})
    response = link.getresponse()
    return response.status, response.read()


def address(way, query, **arguments):
    return f"{way}?{urlencode({'query': query, **arguments})}"


def answered_by_workers(kg):
    return sum(item.board.number for item in kg.workers._workers if item.board)


def runs_away(kg):
    return [item for item in kg.workers.running.listed() if item.text == RUNAWAY]


def until(what, seconds=30):
    started = time.monotonic()
    while not what():
        assert time.monotonic() - started < seconds
        time.sleep(0.01)


# The same answers from workers and from the application.


QUERIES = (
    HOTELS,
    "ASK {}",
    "ASK { FILTER(xsd:int(1) = 1 && kgp:likeness('a', 'a') = 1) }",
    "CONSTRUCT WHERE { ?s travel:roomCount ?o }",
    "SELECT (NOW() AS ?n) {} LIMIT 0",
    'SELECT ?s { ?s ?p "客栈"@zh }',
    LARGE,
    "SELECT * {",
    "DELETE WHERE { ?s ?p ?o }",
    "SELECT * { SERVICE <http://example.org/sparql> { ?s ?p ?o } }",
    "SELECT ?p { SERVICE kgp:search { ?p kgp:text 'hotel' } }",
    "{" * 300,
    "",
)
HEADERS: tuple[dict[str, str], ...] = (
    {},
    {"Accept": "application/sparql-results+xml"},
    {"Accept": "text/csv, text/turtle;q=0.1", "Accept-Encoding": "gzip"},
    {"Accept": "text/html"},
    {"Accept": "image/png"},
    {"Origin": "http://localhost:8000"},
    {"Origin": "http://elsewhere.example"},
    {"Authorization": "Bearer nobody"},
    {"If-None-Match": "*"},
    {"X-Forwarded-For": "10.1.1.1"},
    {"Host": "elsewhere.example"},
)
PACKED = (HEADERS[0], HEADERS[2])


def outcome(link, path, headers):
    link.request("GET", path, headers=headers)
    response = link.getresponse()
    body, fields = response.read(), {name.lower(): value for name, value in response.getheaders()}
    if "problem+json" in fields.get("content-type", ""):  # they say how long it took
        body, _ = body.partition(b'"elapsed_seconds"')[0], fields.pop("content-length", None)
    fields.pop("connection", None)  # the application ends it after a result in chunks
    vary = sorted(part.strip() for part in fields.pop("vary", "").split(","))
    varying = [bool(fields.pop(name, "")) for name in ("date", "server-timing")]
    return response.status, sorted(fields.items()), vary, varying, body


@pytest.mark.parametrize("kind", ["loopback", "open"])
def test_an_answer_is_the_same_from_a_worker_and_from_the_application(kg, ports, kind):
    with connected(ports[kind]) as link:
        before = answered_by_workers(kg)
        asked = [(HOTELS, headers) for headers in HEADERS] + [(query, one) for query in QUERIES for one in PACKED]
        for query, headers in asked:
            one, other = (outcome(link, address(way, query), headers) for way in WAYS)
            assert one[:4] == other[:4], (query, headers)
            assert one[4] == other[4] or "NOW" in query, (query, headers)
        graph = {"default-graph-uri": "http://example.org/g"}
        assert outcome(link, address("/sparql", HOTELS, **graph), {}) == outcome(
            link, address("/sparql/", HOTELS, **graph), {}
        )
    assert answered_by_workers(kg) - before > 15


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("GET /sparql?query=ASK%7B%7D#a HTTP/1.1", ""),
        ("GET /sparql?query=ASK{\x80} HTTP/1.1", ""),
        ("GET /sparql?query=ASK%7B%7D HTTP/1.0", ""),
        ("GET /sparql?query=SELECT HTTP/1.1\r\nHost: a\r\nHost: b", ""),
        *(
            ("GET /sparql?query=ASK%7B%7D HTTP/1.1", field)
            for field in (
                *("Connection: close", "Connection: Upgrade", "Content-Length: 3", "Transfer-Encoding: chunked"),
                *("Expect: 100-continue", "Authorization: Bearer x", "X: b\r\nX: c", "A: b\r\n c", "A_B: c", ": c"),
                *("not a field", "A: b\nC: d", "A : b", "Host: elsewhere.example", "Accept: image/png", "Via: x"),
            )
        ),
    ],
)
def test_what_is_unusual_about_a_request_is_left_to_the_application(line, fields):
    lines = "\r\n".join(filter(None, (line, fields)))
    assert plain_query(f"{lines}\r\n\r\n".encode("latin-1"), ["localhost"]) is None
    assert plain_query(b"GET /sparql?query=ASK%7B%7D HTTP/1.1\r\nHost: localhost:80\r\n\r\n", ["localhost"])


def test_who_may_not_read_or_asks_too_often_gets_nothing_from_a_worker_either(kg, ports):
    before = answered_by_workers(kg)
    with connected(ports["closed"]) as link:
        assert get(link, address("/sparql", HOTELS))[0] == 401
        assert get(link, address("/sparql", HOTELS), Authorization=f"Bearer {SECRET}")[0] == 200
    with connected(ports["limited"]) as link:
        ways = [{}, {"Origin": "http://localhost"}, {}, {}, {"Origin": "http://localhost"}]
        assert [get(link, ASK, **headers)[0] for headers in ways] == [200, 200, 200, 429, 429]
    assert answered_by_workers(kg) == before


def test_a_worker_that_answers_on_connections_needs_no_page():
    code = (
        "import sys, kgplatform.{}; names = [name for name in sys.modules if name.startswith('kgplatform')]\n"
        "assert not [name for name in names if '.pages' in name or '.questions' in name], names\n"
        "print(len(names), 'flask' in sys.modules or 'numpy' in sys.modules)"
    )

    def imported(module):
        run = subprocess.run([sys.executable, "-c", code.format(module)], capture_output=True, text=True, check=True)
        return run.stdout.split()

    count, has_more = imported("store.worker")
    assert (int(count) <= 20, has_more) == (True, "False")
    assert int(imported("server.endpoint")[0]) <= 40


# What holds for every query holds on connections that a worker has.


def test_an_answer_knows_what_was_written_before_it_was_asked_for(kg, port):
    with connected(port) as link:
        for number in range(5):
            query = address("/sparql", f"ASK {{ <urn:a> <urn:b> {number} }}")
            assert json.loads(get(link, query)[1])["boolean"] is False
            kg.store.update(f"INSERT DATA {{ <urn:a> <urn:b> {number} }}")
            assert json.loads(get(link, query)[1])["boolean"] is True
    kg.store.update("DELETE WHERE { <urn:a> <urn:b> ?o }")


def test_a_query_past_its_deadline_or_memory_is_refused_and_the_connection_goes_on(port):
    with connected(port) as link:
        get(link, ASK)
        status, body = get(link, address("/sparql", RUNAWAY, timeout="0.5"))
        assert (status, json.loads(body)["seconds"]) == (504, 0.5)
        assert 0.5 <= json.loads(body)["elapsed_seconds"] < 15
        assert get(link, ASK)[0] == 200
        status, body = get(link, address("/sparql", GREEDY))
        assert status == 400
        assert "used more than" in json.loads(body)["detail"]
        assert get(link, ASK)[0] == 200


@pytest.mark.parametrize("way", WAYS)
def test_a_query_that_is_running_is_listed_and_can_be_cancelled(kg, port, way):
    with connected(port) as link:
        get(link, ASK)
        link.request("GET", address(way, RUNAWAY))
        until(lambda: runs_away(kg))
        (running,) = runs_away(kg)
        assert (running.text, running.client, running.timeout_seconds) == (RUNAWAY, "127.0.0.1", 60)
        assert kg.workers.running.cancel(running.name)
        response = link.getresponse()
        assert (response.status, json.loads(response.read())["title"]) == (503, "Query cancelled")
        assert get(link, ASK)[0] == 200
        assert not kg.workers.running.cancel(running.name)


def test_a_worker_that_dies_is_400_and_the_connection_goes_on(kg, port):
    with connected(port) as link:
        get(link, ASK)
        link.request("GET", address("/sparql", RUNAWAY))
        until(lambda: runs_away(kg))
        for item in kg.workers._workers:
            if item.client and item._process:
                os.kill(item._process.pid, signal.SIGSEGV)
        response = link.getresponse()
        assert (response.status, b"ended the worker" in response.read()) == (400, True)
        assert get(link, ASK)[0] == 200


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("half", [False, True])
def test_a_query_ends_within_a_second_of_its_client(kg, port, way, half):
    with connected(port) as link:
        get(link, ASK)
    with socket.create_connection(("127.0.0.1", port)) as raw:
        raw.sendall(f"GET {address(way, RUNAWAY)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        until(lambda: runs_away(kg), 30)
        time.sleep(0.3)
        assert runs_away(kg)
        raw.shutdown(socket.SHUT_WR if half else socket.SHUT_RDWR)
        until(lambda: not runs_away(kg), 15)  # a second, on a machine that is quiet; by itself it would take 60
    with connected(port) as link:
        assert get(link, ASK)[0] == 200


def test_workers_that_wait_on_connections_are_there_for_others(port):
    with ExitStack() as stack:
        links = [stack.enter_context(connected(port)) for _ in range(6)]
        took = []
        for _ in range(3):
            for link in links:
                assert get(link, ASK)[0] == 200
            started = time.monotonic()
            assert get(links[0], address("/sparql/", HOTELS))[0] == 200
            took.append(time.monotonic() - started)
        assert min(took) < 0.4  # the others may have been disturbed


# Requests that follow each other.


def test_what_follows_on_a_connection_is_what_was_asked(port):
    with connected(port) as link:
        for number in range(30):
            status, body = get(link, f"/sparql?query={quote(f'SELECT ?x {{ BIND({number} AS ?x) }}')}")
            assert (status, json.loads(body)["results"]["bindings"][0]["x"]["value"]) == (200, str(number))
            if number % 10 == 3:
                assert get(link, WRONG)[0] == 400
            if number % 10 == 5:
                assert get(link, PAGE)[0] == 200
            if number == 17:
                status, body = get(link, address("/sparql", LARGE))
                assert (status, len(json.loads(body)["results"]["bindings"])) == (200, 20_000)


def test_requests_sent_at_once_are_answered_in_their_order(port):
    paths = [ASK, ASK, PAGE, ASK, WRONG, ASK]
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        raw.sendall(b"".join(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() for path in paths))
        stream = raw.makefile("rb")
        found = []
        for _ in paths:
            status = int(stream.readline().split()[1])
            fields = {}
            while line := stream.readline().strip():
                name, _, value = line.decode().partition(": ")
                fields[name.lower()] = value
            stream.read(int(fields["content-length"]))
            found.append((status, fields["content-type"].partition(";")[0]))
    assert [item[0] for item in found] == [200, 200, 200, 200, 400, 200]
    assert [found[0], found[1], found[3], found[5]] == [(200, ROWS)] * 4


def test_a_request_may_come_in_parts_and_a_client_that_leaves_is_forgotten(port):
    whole = f"GET {ASK} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        for _ in range(3):
            for part in (whole[:10], whole[10:30], whole[30:]):
                raw.sendall(part)
                time.sleep(0.005)
            answer = b""
            while not answer.endswith(b"}"):
                answer += raw.recv(4000)
            assert answer.startswith(b"HTTP/1.1 200")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
            raw.sendall(whole)
            assert raw.recv(4000).startswith(b"HTTP/1.1 200")
    with connected(port) as link:
        assert get(link, ASK)[0] == 200
    until(lambda: len(list(Path("/proc/self/fd").iterdir())) <= before + 4, 30)


def test_many_requests_that_come_in_drops_are_408_and_others_are_served(port, monkeypatch):
    monkeypatch.setattr(connections, "_PATIENCE_SECONDS", 2.0)
    with ExitStack() as stack:
        slow = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)) for _ in range(300)]
        head = b"POST /sparql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\nX-A: b"
        for number, raw in enumerate(slow):
            raw.sendall(b"GET /sparql?query=A" if number % 3 == 2 else head)
            if number % 3 == 1:
                raw.sendall(b"\r\n\r\nquery=")
        link = stack.enter_context(connected(port))
        assert get(link, ASK)[0] == 200
        for raw in slow:
            assert b" 408 " in raw.recv(4000).splitlines()[0]
