"""The endpoint beside other SPARQL servers: queries a second on the same data, over HTTP, one after the other.

A million statements (``ENDPOINT_TRIPLES`` says otherwise) about made-up hotels in made-up towns; twelve shapes of
query; two clients that ask again and again over connections that stay open. Peers are run where their programs are on
the path: ``oxigraph`` (its own server, of the same engine), Virtuoso, and ``rdflib-endpoint`` (up to two million
statements, which it keeps in memory). All servers run at once and are asked by turns, a second at a time, so that
whatever else the machine does falls on all of them.
"""

from __future__ import annotations

import http.client
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

import pyoxigraph as ox
from pyoxigraph import DefaultGraph, RdfFormat

from benchmarks import virtuoso
from benchmarks.common import Peer, Result, kgplatform
from kgplatform.graph import KnowledgeGraph

TRIPLES = int(os.environ.get("ENDPOINT_TRIPLES", "1000000"))
SECONDS = float(os.environ.get("ENDPOINT_SECONDS", "3"))
SLICE_SECONDS = 1.0
MOST_IN_MEMORY = 2_000_000
CLIENTS = 2
TRAVEL = "https://w3id.org/kgplatform/travel#"
BASE = "http://example.org/"
PER_HOTEL = 8
POINTS = ("point", "label")

_PROMISED = {"oxigraph": (0.7, 0.4, 0.9), "rdflib-endpoint": (0.7, 10.0, None)}
"""The least ratio in streaming, in point lookups and in the other shapes."""

PREFIXES = f"PREFIX t: <{TRAVEL}> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> PREFIX e: <{BASE}>\n"
SHAPES = {
    "point": "SELECT * { e:hotel{n} ?p ?o }",
    "label": 'SELECT ?h { ?h rdfs:label "Hotel {n}"@en }',
    "star": "SELECT ?h ?r ?p { ?h t:in e:town{m} ; t:rooms ?r ; t:price ?p ; t:near ?o }",
    "chain": "SELECT ?h ?l { ?h t:near ?o . ?o t:in e:town{m} . ?h rdfs:label ?l }",
    "filter": "SELECT ?h { ?h t:in e:town{m} ; t:price ?p FILTER(?p > 500) }",
    "optional": "SELECT ?h ?c { ?h t:in e:town{m} OPTIONAL { ?h t:closed ?c } }",
    "union": "SELECT ?h { { ?h t:in e:town{m} } UNION { ?h t:near e:hotel{n} } }",
    "group": "SELECT ?t (COUNT(?h) AS ?n) (AVG(?p) AS ?a) "
    "{ ?h t:in ?t ; t:price ?p . ?t t:in e:county{k} } GROUP BY ?t",
    "order": "SELECT ?h ?p { ?h t:in ?t ; t:price ?p . ?t t:in e:county{k} } ORDER BY DESC(?p) LIMIT 10",
    "path": "SELECT (COUNT(?h) AS ?n) { ?h t:in+ e:county{k} }",
    "construct": "CONSTRUCT { ?h t:price ?p } { ?h t:in ?t ; t:price ?p . ?t t:in e:county{k} }",
    "stream": "SELECT ?h ?p { ?h t:price ?p } LIMIT 100000",
}


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is running: where it is asked."""

    name: str
    port: int
    path: str


def lines(triples: int) -> Iterator[str]:
    """The data as N-Triples, the same each time."""
    chance = random.Random(7)
    hotels = triples // PER_HOTEL
    towns, counties = max(1, hotels // 60), max(1, hotels // 3000)
    for town in range(towns):
        yield f"<{BASE}town{town}> <{TRAVEL}in> <{BASE}county{town % counties}> .\n"
    label, kind = "<http://www.w3.org/2000/01/rdf-schema#label>", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    whole = "<http://www.w3.org/2001/XMLSchema#integer>"
    for hotel in range(hotels):
        thing = f"<{BASE}hotel{hotel}>"
        yield f"{thing} {kind} <{TRAVEL}Hotel> .\n"
        yield f'{thing} {label} "Hotel {hotel}"@en .\n'
        yield f'{thing} {label} "客栈{hotel}"@zh .\n'
        yield f"{thing} <{TRAVEL}in> <{BASE}town{chance.randrange(towns)}> .\n"
        yield f"{thing} <{TRAVEL}near> <{BASE}hotel{chance.randrange(hotels)}> .\n"
        yield f'{thing} <{TRAVEL}rooms> "{chance.randrange(5, 300)}"^^{whole} .\n'
        yield f'{thing} <{TRAVEL}price> "{chance.randrange(80, 900)}"^^{whole} .\n'
        if chance.random() < 0.3:
            yield f'{thing} <{TRAVEL}closed> "2026-01-01"^^<http://www.w3.org/2001/XMLSchema#date> .\n'


def queries(shape: str, seed: int) -> Iterator[str]:
    """Queries of the shape, each about something else."""
    chance = random.Random(seed)
    hotels = TRIPLES // PER_HOTEL
    towns, counties = max(1, hotels // 60), max(1, hotels // 3000)
    while True:
        text = SHAPES[shape].replace("{n}", str(chance.randrange(hotels)))
        yield PREFIXES + text.replace("{m}", str(chance.randrange(towns))).replace(
            "{k}", str(chance.randrange(counties))
        )


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(name: str, command: list[str], port: int, path: str) -> Iterator[Server]:
    """The server, once it answers."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        server = Server(name, port, path)
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline:
            try:
                ask(http.client.HTTPConnection("127.0.0.1", port, timeout=60), server, "ASK {}")
                break
            except (OSError, http.client.HTTPException):
                if process.poll() is not None:
                    raise RuntimeError(f"{name} ended with {process.returncode}") from None
                time.sleep(0.2)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def ask(link: http.client.HTTPConnection, server: Server, query: str) -> int:
    """How many bytes the answer has.

    Raises:
        RuntimeError: it is an error.
    """
    accept = "text/turtle" if "CONSTRUCT" in query else "application/sparql-results+json"
    link.request("GET", f"{server.path}?{urlencode({'query': query})}", headers={"Accept": accept})
    response = link.getresponse()
    size = len(response.read())
    if response.status != 200:
        raise RuntimeError(f"{server.name} answers {response.status} to {query}")
    return size


def asked(server: Server, shape: str, turn: int) -> tuple[int, float]:
    """How many queries of the shape were answered with all clients asking, and in how many seconds."""
    counts = [0] * CLIENTS
    end = time.perf_counter() + min(SECONDS, SLICE_SECONDS)

    def client(number: int) -> None:
        link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)
        for query in queries(shape, CLIENTS * turn + number):
            ask(link, server, query)
            counts[number] += 1
            if time.perf_counter() > end:
                break
        link.close()

    began = time.perf_counter()
    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts), time.perf_counter() - began


def throughputs(servers: Sequence[Server], shape: str) -> dict[str, float]:
    """Queries a second of the shape at each server, asked by turns, the first of which does not count."""
    counts = {server.name: 0 for server in servers}
    seconds = dict.fromkeys(counts, 0.0)
    for turn in range(1 + max(1, round(SECONDS / SLICE_SECONDS))):
        for server in servers:
            count, took = asked(server, shape, turn)
            if turn:
                counts[server.name] += count
                seconds[server.name] += took
    return {server.name: counts[server.name] / seconds[server.name] for server in servers}


def _commands(folder: Path, data: Path) -> Iterator[tuple[str, list[str], int, str]]:
    with KnowledgeGraph.create(folder / "kg", ontology="travel") as kg:
        kg.store.add_triples(data.read_bytes(), DefaultGraph())
    port = free_port()
    yield "kgplatform", kgplatform("serve", "-w", folder / "kg", "--port", str(port)), port, "/sparql"
    if oxigraph := shutil.which("oxigraph"):
        store = ox.Store(str(folder / "ox"))
        store.bulk_load(path=str(data), format=RdfFormat.N_TRIPLES)
        store.flush()
        del store
        port = free_port()
        serve = [oxigraph, "serve-read-only", "--location", str(folder / "ox"), "--bind", f"127.0.0.1:{port}"]
        yield "oxigraph", serve, port, "/query"
    if virtuoso.is_there():
        port = free_port()
        yield "virtuoso", virtuoso.prepared(folder / "virtuoso", data, sql=free_port(), http=port), port, "/sparql"
    if TRIPLES <= MOST_IN_MEMORY and (rdflib := shutil.which("rdflib-endpoint")):
        port = free_port()
        yield "rdflib-endpoint", [rdflib, "serve", "--port", str(port), str(data)], port, "/"


def measure() -> list[Result]:
    """Queries a second for each shape; beside each the peer's."""
    found: dict[str, dict[str, float]] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "data.nt"
        with data.open("w", encoding="utf-8") as file:
            file.writelines(lines(TRIPLES))
        with ExitStack() as stack:
            servers = [stack.enter_context(running(*one)) for one in _commands(folder, data)]
            for shape in SHAPES:
                found[shape] = throughputs(servers, shape)
                print(f"  {shape}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    return list(_results(found))


def _results(found: dict[str, dict[str, float]]) -> Iterator[Result]:
    for peer in ("oxigraph", "virtuoso", "rdflib-endpoint"):
        ratios = {shape: seen["kgplatform"] / seen[peer] for shape, seen in found.items() if peer in seen}
        for shape in ratios:
            beside = Peer(peer, found[shape][peer])
            yield Result(f"{shape}, {TRIPLES:,} triples", found[shape]["kgplatform"], "queries/s", peer=beside)
        if ratios:
            points = statistics.geometric_mean(ratios[shape] for shape in POINTS)
            others = statistics.geometric_mean(ratio for shape, ratio in ratios.items() if shape not in POINTS)
            streaming, *wanted = _PROMISED.get(peer, (None, None, None))
            yield Result(f"streaming to {peer}", ratios["stream"], "ratio", streaming, more_is_better=True)
            yield Result(f"point lookups to {peer}", points, "ratio", wanted[0], more_is_better=True)
            yield Result(f"other shapes to {peer}", others, "ratio", wanted[1], more_is_better=True)
