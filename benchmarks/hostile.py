"""A server under attack: queries that never end, 200 at once, while others ask a trivial question and wait for it.

Then ten thousand mutated queries, none of which may be answered with 500, and the bodies that end parsers: nested
braces, JSON-LD, triple terms, entities, 100 MB. After each the server must still be there. ``HOSTILE_SECONDS`` and
``HOSTILE_QUERIES`` make it shorter.
"""

from __future__ import annotations

import http.client
import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

from benchmarks.common import Result, kgplatform
from benchmarks.endpoint import Server, free_port, running
from kgplatform.graph import KnowledgeGraph

SECONDS = float(os.environ.get("HOSTILE_SECONDS", "20"))
QUERIES = int(os.environ.get("HOSTILE_QUERIES", "10000"))
ATTACKERS = 200
RUNAWAY = 'SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . FILTER(CONCAT(STR(?c), STR(?f), STR(?i)) = "x") }'
_SETTINGS = "\n[server]\ntimeout_seconds = 5\n"


def _status(server: Server, method: str, path: str, body: bytes = b"", kind: str = "") -> int:
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    try:
        link.request(method, path, body or None, {"Content-Type": kind} if kind else {})
        response = link.getresponse()
        response.read()
        return response.status
    except (BrokenPipeError, ConnectionResetError):
        return 413  # refused before the body was sent
    finally:
        link.close()


def _query(server: Server, text: str) -> int:
    return _status(server, "POST", "/sparql", urlencode({"query": text}).encode(), "application/x-www-form-urlencoded")


def _runaways(server: Server) -> tuple[list[float], Counter[int]]:
    """How long each trivial question took, in ms, and how the runaway queries were answered."""
    end, answered, waits = time.monotonic() + SECONDS, Counter[int](), list[float]()

    def attack() -> None:
        while time.monotonic() < end:
            answered[_query(server, RUNAWAY)] += 1
            time.sleep(0.5)  # as the answer asks for, or nearly

    threads = [threading.Thread(target=attack) for _ in range(ATTACKERS)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    while time.monotonic() < end:
        began = time.perf_counter()
        link.request("GET", "/sparql?query=ASK%7B%7D")
        response = link.getresponse()
        response.read()
        answered[response.status if response.status != 200 else 0] += 1
        waits.append(1000 * (time.perf_counter() - began))
        time.sleep(0.02)
    for thread in threads:
        thread.join()
    return waits, answered


def _vectors() -> dict[str, Callable[[Server], int]]:
    turtle = "text/turtle"
    put = "/graphs?graph=urn:g"
    bombs = "".join(f'<!ENTITY e{n} "&e{n - 1};&e{n - 1};">' for n in range(1, 40))
    rdfxml = f'<!DOCTYPE x [<!ENTITY e0 "x">{bombs}]><x>&e39;</x>'.encode()
    return {
        "5,000 braces": lambda server: _query(server, "SELECT * " + "{" * 5000 + "}" * 5000),
        "5,000 parentheses": lambda server: _query(server, f"SELECT * {{ FILTER {'(' * 5000}1{')' * 5000} }}"),
        "JSON-LD 20,000 deep": lambda server: _status(
            server, "PUT", put, b'{"urn:p":' * 20_000 + b"1" + b"}" * 20_000, "application/ld+json"
        ),
        "triple terms 50,000 deep": lambda server: _status(
            server, "PUT", put, b"<urn:a> <urn:b> " + b"<<( <urn:a> <urn:b> " * 50_000 + b")>>" * 50_000 + b" .", turtle
        ),
        "entities 2^39": lambda server: _status(server, "PUT", put, rdfxml, "application/rdf+xml"),
        "100 MB of Turtle": lambda server: _status(server, "PUT", put, b"<urn:a> <urn:b> 1 .\n" * 5_000_000, turtle),
        "100 MB of query": lambda server: _query(server, "#" * 100_000_000),
    }


def measure() -> list[Result]:
    """The longest waits, and whether all was answered as it has to be."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from test_server import mutated  # the same mutations as in the tests, only more

    with TemporaryDirectory() as name:
        workspace, port = Path(name) / "kg", free_port()
        KnowledgeGraph.create(workspace, ontology="travel").close()
        with (workspace / "kgplatform.toml").open("a") as file:
            file.write(_SETTINGS)
        command = kgplatform("serve", "-w", workspace, "--port", str(port))
        with running("kgplatform", command, port, "/sparql") as server:
            waits, answered = _runaways(server)
            print(
                f"  load {os.getloadavg()[0]:.1f}; runaways: {dict(answered)}; asked {len(waits)} times",
                file=sys.stderr,
            )
            for what, attack in _vectors().items():
                status = attack(server)
                print(f"  {what}: {status}, then {_query(server, 'ASK {}')}", file=sys.stderr)
                answered[500 if status < 400 or _query(server, "ASK {}") != 200 else status] += 1
            chance = random.Random(1)
            mutations = Counter(_query(server, mutated(chance)) for _ in range(QUERIES))
            print(f"  mutated: {dict(mutations)}", file=sys.stderr)
    waits.sort()
    wrong = sum(count for status, count in answered.items() if status not in (0, 400, 413, 503, 504))
    failed = sum(count for status, count in mutations.items() if status not in (200, 400, 503, 504))
    return [
        Result("ASK {} beside 200 runaway queries, median", waits[len(waits) // 2], "ms"),
        Result("ASK {} beside 200 runaway queries, p99", waits[int(len(waits) * 0.99)], "ms", 50.0),
        Result("attacks not answered by 4xx, 503 or 504", wrong, "requests", 0),
        Result(f"{QUERIES:,} mutated queries not answered as they must be", failed, "queries", 0),
    ]
