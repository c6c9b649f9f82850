"""Replicas: how far one is behind a leader that commits steadily, and look-ups a second of one, two and three nodes.

The leader and the replicas that are asked are servers of processes of their own, over a PostgreSQL with the journal.
A lag is the time from the leader's answer to a change of some 220 quads until a replica shows it: at five changes a
second, and with one change right after the other. Look-ups are the same queries at the leader alone, at it and one
replica, and at it and two, in turns of a few seconds; all three run all the time. On one machine they share its
processors, so look-ups for each second of the processor that the nodes took are what tells of more machines.
"""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from urllib.parse import quote, urlsplit

import psutil

from benchmarks.common import Peer, Result
from kgplatform.cluster.replica import Replica
from kgplatform.graph import KnowledgeGraph
from tests.nodes import EX, UPDATE, Served, cluster, served, until
from tests.postgres_server import postgres_server

RUN_SECONDS, WARM, STATEMENTS = 60.0, 10, 110
STEADY_SECONDS = 0.2
THINGS, A_THING = 2_000, 10
CLIENTS, TURNS, TURN_SECONDS = 6, 4, 4.0


def measure() -> list[Result]:
    """Lags in milliseconds; look-ups a second, by the clock and by the processor."""
    with TemporaryDirectory(prefix="kgplatform-") as place, ExitStack() as stack:
        folder, database = Path(place), stack.enter_context(postgres_server())
        cluster(folder, f"{database.url}?schema=replicas", "observed", "one", "two")
        leader = stack.enter_context(served(folder / "leader"))
        found = []
        for how, interval in (("five changes a second", STEADY_SECONDS), ("one change after the other", 0.0)):
            rate, behind = lags(folder / "observed", leader, interval)
            found.append(Result(f"changes a second, {how}", rate, "/s", more_is_better=True))
            parts = quantiles(behind, n=20)
            found += [Result(f"lag, {how}, {name}", 1000 * parts[at], "ms") for name, at in (("p50", 9), ("p95", 18))]
        for body in _things():
            _written(leader, body)
        nodes = [leader, *(stack.enter_context(served(folder / name, "--replica")) for name in ("one", "two"))]
        until(lambda: all(node.has(f"thing{THINGS - 1}") for node in nodes), 600)
        return found + look_ups(nodes)


_runs = count()


def lags(folder: Path, leader: Served, interval: float) -> tuple[float, list[float]]:
    """Changes a second, and how much later than the answer to each a replica shows it, in seconds."""
    answered: dict[int, float] = {}
    run = next(_runs)
    with KnowledgeGraph.open(folder, follows=True) as kg, closing(Replica(kg.workspace)) as replica:
        first = replica.number
        shown: dict[int, float] = {}
        over = threading.Event()

        def watch() -> None:
            seen = first
            while not over.is_set():
                if replica.wait(seen + 1, 0.5):
                    now, number = time.perf_counter(), replica.number
                    shown.update(dict.fromkeys(range(seen + 1, number + 1), now))
                    seen = number

        watcher = threading.Thread(target=watch, daemon=True)
        replica.start()
        watcher.start()
        began = time.perf_counter()
        for number in count():
            if time.perf_counter() - began > RUN_SECONDS:
                break
            body = " ".join(f"<{EX}l{run}-{number}> <{EX}p{n}> '西栅 {n}'@zh ." for n in range(STATEMENTS))
            answered[_written(leader, body)] = time.perf_counter()
            if interval:
                time.sleep(max(0.0, began + (number + 1) * interval - time.perf_counter()))
        rate = len(answered) / (time.perf_counter() - began)
        until(lambda: max(answered) in shown, 600)
        over.set()
        watcher.join()
    return rate, [max(0.0, shown[patch] - moment) for patch, moment in list(answered.items())[WARM:]]


def _written(leader: Served, statements: str) -> int:
    """The number of the patch by which the leader made the statements."""
    status, text, headers = leader.ask("POST", "/sparql", f"INSERT DATA {{ {statements} }}", UPDATE, 600)
    assert status < 300, text
    return int(headers["Kgplatform-Patch"])


def _things() -> Iterator[str]:
    """What is looked up, in changes of a hundred things each."""
    for start in range(0, THINGS, 100):
        things = range(start, start + 100)
        yield " ".join(f"<{EX}thing{thing}> <{EX}p{n}> {n} ." for thing in things for n in range(A_THING))


def look_ups(nodes: Sequence[Served]) -> list[Result]:
    """Look-ups a second at the first node, the first two and all, by the clock and by the nodes' processor time."""
    counts, seconds, worked = ([0.0] * len(nodes) for _ in range(3))
    for turn in range(1 + TURNS):  # the first does not count
        for last in range(len(nodes)):
            asked = nodes[: last + 1]
            before, began = sum(map(_processor_seconds, asked)), time.perf_counter()
            done = _asked(asked, seed=turn)
            if turn:
                counts[last] += done
                seconds[last] += time.perf_counter() - began
                worked[last] += sum(map(_processor_seconds, asked)) - before
    found: list[Result] = []
    for what, shares in (("a second", seconds), ("a second of the nodes' processor time", worked)):
        rates = [done / share for done, share in zip(counts, shares, strict=True)]
        alone = Peer("the leader alone", rates[0])
        names = ["the leader alone", *(f"the leader and {number} replicas" for number in range(1, len(nodes)))]
        for name, rate in zip(names, rates, strict=True):
            peer = None if rate is rates[0] else alone
            found.append(Result(f"look-ups {what}, {name}", rate, "/s", more_is_better=True, peer=peer))
    return found


def _processor_seconds(node: Served) -> float:
    process = psutil.Process(node.process.pid)
    own = process.cpu_times()
    living = [item.cpu_times() for item in process.children(recursive=True)]
    ended = own.children_user + own.children_system  # workers are replaced now and then
    return ended + sum(item.user + item.system for item in (own, *living))


def _asked(nodes: Sequence[Served], seed: int) -> int:
    """How many look-ups the nodes answered in one turn, each client at one of them."""
    end = time.perf_counter() + TURN_SECONDS

    def client(number: int) -> int:
        where, chance, done = urlsplit(nodes[number % len(nodes)].url), random.Random(CLIENTS * seed + number), 0
        with closing(http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)) as link:
            while time.perf_counter() < end:
                query = f"SELECT * {{ <{EX}thing{chance.randrange(THINGS)}> ?p ?o }}"
                link.request("GET", f"/sparql?query={quote(query)}", headers={"Accept": "text/csv"})
                assert len(link.getresponse().read().splitlines()) == 1 + A_THING
                done += 1
        return done

    with ThreadPoolExecutor(CLIENTS) as clients:
        return sum(clients.map(client, range(CLIENTS)))
