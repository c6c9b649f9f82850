"""Connections: requests that follow each other on one, in any mixture, and clients that are slow on purpose."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from urllib.parse import quote

import pytest
from small_graph import SmallGraph, small_graph
from waitress.adjustments import Adjustments
from waitress.parser import HTTPRequestParser

from kgplatform.web import connections
from kgplatform.web.app import create_app
from kgplatform.web.security import Access
from kgplatform.web.shortcut import Shortcut

ASK = "/sparql?query=ASK%7B%7D"
LARGE = "/sparql?query=" + quote("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g rdfs:label ?h } LIMIT 20000")
WRONG = "/sparql?query=SELECT"
PAGE = "/about"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    kg: SmallGraph = small_graph(tmp_path_factory.mktemp("graph"), timeout_seconds=60)
    door = create_app(kg, access=Access.on("127.0.0.1")).wsgi_app
    assert isinstance(door, Shortcut)
    listener = socket.create_server(("127.0.0.1", 0))
    server = connections.listening(
        door, sockets=[listener], threads=4, connection_limit=700, asyncore_use_poll=True, ident="kgplatform"
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    server.task_dispatcher.shutdown()
    server.asyncore.close_all(server._map)
    thread.join(5)
    kg.close()


def get(link: http.client.HTTPConnection, path: str) -> tuple[int, bytes]:
    link.request("GET", path, headers={"Accept": "application/sparql-results+json, */*;q=0.1"})
    response = link.getresponse()
    return response.status, response.read()


def test_what_follows_on_a_connection_is_what_was_asked(port: int) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as link:
        follow(link)


def follow(link: http.client.HTTPConnection) -> None:
    for number in range(30):
        query = quote(f"SELECT ?x {{ BIND({number} AS ?x) }}")
        status, body = get(link, f"/sparql?query={query}")
        assert (status, json.loads(body)["results"]["bindings"][0]["x"]["value"]) == (200, str(number))
        if number % 10 == 3:
            assert get(link, WRONG)[0] == 400
        if number % 10 == 5:
            assert get(link, PAGE)[0] == 200
        if number == 17:
            status, body = get(link, LARGE)
            assert (status, len(json.loads(body)["results"]["bindings"])) == (200, 20_000)


def test_requests_sent_at_once_are_answered_in_their_order(port: int) -> None:
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
    rows = (200, "application/sparql-results+json")
    assert [item[0] for item in found] == [200, 200, 200, 200, 400, 200]
    assert [found[0], found[1], found[3], found[5]] == [rows] * 4


def test_a_request_may_come_in_parts_after_another(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        for _ in range(3):
            whole = f"GET {ASK} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
            for part in (whole[:10], whole[10:30], whole[30:]):
                raw.sendall(part)
                time.sleep(0.005)
            assert raw.recv(4000).startswith(b"HTTP/1.1 200")


def test_a_client_that_leaves_between_two_requests_is_forgotten(port: int) -> None:
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
            raw.sendall(f"GET {ASK} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert raw.recv(4000).startswith(b"HTTP/1.1 200")
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as link:
        assert get(link, ASK)[0] == 200


@pytest.mark.parametrize(
    "line", [f"GET {ASK} HTTP/1.1", "GET /sparql?a=#b HTTP/1.1", "POST /sparql?a=b HTTP/1.1", "GET /sparql?a HTTP/1.0"]
)
@pytest.mark.parametrize(
    "fields",
    [
        b"Host: a\r\nX: b\r\nX: c\r\n",
        b"Connection: close\r\n",
        b"Content-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Expect: 100-continue\r\n",
        b"Authorization: Bearer x\r\n",
        b"A: b\r\n c\r\nA_B: c\r\n",
        b"not a field\r\n",
        b"A: b\nC: d\r\n",
        b"",
    ],
)
def test_a_header_read_once_means_the_same_as_one_read_each_time(line: str, fields: bytes) -> None:
    adj, data = Adjustments(listen="127.0.0.1:0"), line.encode() + b"\r\n" + fields + b"\r\n"
    names = ("command", "version", "path", "query", "fragment", "request_uri", "headers", "completed", "content_length")
    names += ("chunked", "connection_close", "expect_continue", "proxy_netloc", "proxy_scheme", "url_scheme", "empty")
    for _ in range(2):
        plain, other = HTTPRequestParser(adj), connections._Request(adj)
        assert plain.received(data) == other.received(data)
        assert type(plain.error) is type(other.error)
        assert type(plain.body_rcv) is type(other.body_rcv)
        if plain.error is None:
            assert [getattr(plain, name) for name in names] == [getattr(other, name) for name in names]


def test_many_requests_that_come_in_drops_are_408_and_others_are_served(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_PATIENCE_SECONDS", 2.0)
    with ExitStack() as stack:
        slow = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)) for _ in range(300)]
        for number, raw in enumerate(slow):
            raw.sendall(b"POST /sparql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\nX-A: b")
            if number % 2:
                raw.sendall(b"\r\n\r\nquery=")
        link = stack.enter_context(closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)))
        assert get(link, ASK)[0] == 200
        for raw in slow:
            raw.settimeout(60)
            assert b" 408 " in raw.recv(4000).splitlines()[0]
