"""What is done to a server that is open to the world, and that it goes on answering others meanwhile."""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import pytest
from serving import small_server

RUNAWAY = 'SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . FILTER(CONCAT(STR(?c), STR(?f), STR(?i)) = "x") }'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    with small_server(tmp_path_factory.mktemp("served"), settings="timeout_seconds=2, max_upload_mb=5") as made:
        yield made


def connect(server: tuple[str, int]) -> socket.socket:
    host, port = server[0].removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=20)


def asks(server: tuple[str, int]) -> int:
    try:
        with urllib.request.urlopen(f"{server[0]}/sparql?query=ASK%7B%7D", timeout=30) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.parametrize("path", ["/sparql", "/graphs?default"])
def test_a_body_of_gigabytes_is_refused_before_it_is_sent(server: tuple[str, int], path: str) -> None:
    with connect(server) as raw:
        fields = "Host: 127.0.0.1\r\nContent-Type: text/turtle\r\nContent-Length: 5000000000"
        raw.sendall(f"POST {path} HTTP/1.1\r\n{fields}\r\n\r\n".encode())
        assert b" 413 " in raw.recv(4000).splitlines()[0]
    assert asks(server) == 200


def test_an_endless_chunked_body_is_cut_off(server: tuple[str, int]) -> None:
    with connect(server) as raw:
        raw.sendall(
            b"POST /graphs?default HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/turtle\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"10000\r\n" + b"#" * 0x10000 + b"\r\n"
        sent = 0
        try:
            while sent < 40_000_000:
                raw.sendall(chunk)
                sent += len(chunk)
        except OSError:
            pass
        else:
            raw.settimeout(5)
            assert b" 413 " in raw.recv(4000).splitlines()[0]
    assert asks(server) == 200


def test_connections_that_send_a_byte_at_a_time_hold_nobody_up(server: tuple[str, int]) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(connect(server)) for _ in range(40)]
        for raw in slow:
            raw.sendall(b"POST /sparql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\nX-A: ")
        for raw in slow[:20]:
            raw.sendall(b"b\r\n\r\nquery=")
        started = time.monotonic()
        assert asks(server) == 200
        assert time.monotonic() - started < 5


def test_connections_that_are_closed_half_way_leave_nothing_behind(server: tuple[str, int]) -> None:
    before = open_files(server[1])
    query = quote("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }")
    for shut in (socket.SHUT_WR, socket.SHUT_RDWR):
        for _ in range(6):
            with connect(server) as raw:
                raw.sendall(f"GET /sparql?query={query} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
                raw.shutdown(shut)
    deadline = time.monotonic() + 40
    while asks(server) != 200 or open_files(server[1]) > before + 10:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def open_files(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def test_forty_runaway_queries_at_once_are_all_answered_and_the_pages_go_on(server: tuple[str, int]) -> None:
    statuses: list[int] = []
    ways_on: list[str] = []

    def run_away() -> None:
        try:
            with urllib.request.urlopen(f"{server[0]}/sparql?query={quote(RUNAWAY)}", timeout=120) as response:
                statuses.append(response.status)
        except urllib.error.HTTPError as error:
            with error:
                statuses.append(error.code)
                ways_on.append(json.loads(error.read())["help"])

    threads = [threading.Thread(target=run_away) for _ in range(40)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    started = time.monotonic()
    with urllib.request.urlopen(f"{server[0]}/query", timeout=30) as page:
        assert page.status == 200
    assert time.monotonic() - started < 1.5
    for thread in threads:
        thread.join()
    assert len(statuses) == len(ways_on) == 40
    assert set(statuses) <= {503, 504}
    assert asks(server) == 200
