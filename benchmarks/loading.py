"""Large data: loading a file beside ``oxigraph load``, and how long after a write the workers see it.

A million statements, or as many as ``ENDPOINT_TRIPLES`` says. The turnover is the time from a write to the answer
that knows of it: a checkpoint of hard links, and a worker that opens it.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from pyoxigraph import Literal, NamedNode, Quad

from benchmarks.common import Peer, Result, kgplatform, run
from benchmarks.endpoint import BASE, TRIPLES, lines
from kgplatform.graph import KnowledgeGraph
from kgplatform.store.oxigraph import DEFAULT_GRAPH

_WRITES = 30


def measure() -> list[Result]:
    """Statements a second of loading, and the milliseconds of a turnover."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "data.nt"
        with data.open("w", encoding="utf-8") as file:
            file.writelines(lines(TRIPLES))
        return [*_loaded(folder, data), *_turned_over(folder / "kg")]


def _seconds(command: list[str]) -> float:
    began = time.perf_counter()
    run(command)
    return time.perf_counter() - began


def _loaded(folder: Path, data: Path) -> Iterator[Result]:
    run(kgplatform("create", folder / "kg", "--ontology", "travel"))
    # a graph of its own, as the peer is told to: the knowledge is kept with its evidence, in two
    into_one = TRIPLES / _seconds(kgplatform("load", "-w", folder / "kg", "--graph", f"{BASE}data", data))
    into_knowledge = TRIPLES / _seconds(kgplatform("load", "-w", folder / "kg", data))
    peer = None
    if oxigraph := shutil.which("oxigraph"):
        command = [oxigraph, "load", "--location", str(folder / "ox"), "--graph", f"{BASE}data", "--file", str(data)]
        peer = Peer("oxigraph load", TRIPLES / _seconds(command))
    else:
        print("  no oxigraph on the path", file=sys.stderr)
    name = f"load, {TRIPLES:,} statements"
    promise = 0.9 * peer.value if peer else None
    yield Result(f"{name}, into a graph", into_one, "/s", promise, more_is_better=True, peer=peer)
    yield Result(f"{name}, as knowledge", into_knowledge, "/s", more_is_better=True, peer=peer)


def _turned_over(workspace: Path) -> Iterator[Result]:
    checkpoints, turnovers = [], []
    with KnowledgeGraph.open(workspace) as kg:
        thing, count = NamedNode(f"{BASE}written"), NamedNode(f"{BASE}count")
        kg.workers.solutions("ASK {}", timeout_seconds=60)
        for number in range(_WRITES):
            kg.store.apply(added=[Quad(thing, count, Literal(number), DEFAULT_GRAPH)])
            began = time.perf_counter()
            with kg.store.write_lock():
                kg.workers.refresh()
            checkpoints.append(1000 * (time.perf_counter() - began))
            asked = f"ASK {{ <{BASE}written> <{BASE}count> {number} }}"
            if not kg.workers.solutions(asked, timeout_seconds=60).boolean:
                raise RuntimeError("a worker answers from an older state")
            turnovers.append(1000 * (time.perf_counter() - began))
        size = len(kg.store)
    yield Result(f"checkpoint, {size:,} quads", statistics.median(checkpoints), "ms")
    yield Result(f"checkpoint and turnover, {size:,} quads", statistics.median(turnovers), "ms", 50)
