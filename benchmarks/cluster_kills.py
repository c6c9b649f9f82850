"""Kills the parts of a served cluster at random moments, and looks whether anything acknowledged was lost anywhere.

``python -m benchmarks.cluster_kills 50`` does something to a part fifty times while somebody writes. It ends by
SIGKILL one of two nodes of which one leads and the other stands by, a replica, PostgreSQL with the journal, an
Oxigraph server that follows over a line that delays, cuts and repeats, a Virtuoso that follows (where there is one),
a Dask scheduler, or one of its two workers; or it stops one of the two nodes by SIGSTOP for longer than its lease
lasts. Each part comes back after a while. Each is chosen as often as another or once more; the seed, which is the
number of times, says in which order, when, and for how long. In the end every change that was answered with success
must be in each store and at the followers, and the digests of all of them and of the journal alone must be equal.
Meanwhile documents are added on the workers, into a workspace of its own: each that was reported as added must be
there, and the graph be the one that this machine alone makes of them. With ``--cut SECONDS`` the line between the
leading node and PostgreSQL is then cut while the writing goes on, for so long and until the other node has taken
changes; the cut one must follow afterwards.
"""

from __future__ import annotations

import argparse
import http.client
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from pyoxigraph import Literal, NamedNode, Triple

from benchmarks.common import Result, as_table
from kgplatform.cluster.followers import Follower
from kgplatform.errors import ClusterError, KgPlatformError
from kgplatform.graph import KnowledgeGraph
from kgplatform.journal.patch import digests, whole_digest
from kgplatform.journal.postgres_journal import PostgresJournal
from kgplatform.models.stubs import HashEmbedder
from kgplatform.store.oxigraph import Store
from tests.engines import OxigraphServer, RoughLine, VirtuosoServer, free_port, listens, waited_for
from tests.nodes import cluster, is_followed, replayed, served
from tests.postgres_server import CutLine, postgres_server

KILLS = 50
_PATIENCE = 900.0
_ANSWER_SECONDS = 10.0
_AWAY_SECONDS = (0.0, 2.0)
_STOPPED_SECONDS = (3.5, 6.0)
"""Longer than the lease of a node under test, so that the other one takes the lead."""
_REST_SECONDS, _BETWEEN_SECONDS = 4.0, 1.0
_BASE = "https://example.org/"
_SENT = {"Content-Type": "application/sparql-update"}
_NODES = {"leader": "--standby", "other": "--standby", "copy": "--replica"}


@dataclass(frozen=True, slots=True)
class _Part:
    """What is done to a part, how it comes back, and within which bounds of seconds."""

    harm: Callable[[], object]
    restore: Callable[[], object]
    seconds: tuple[float, float] = _AWAY_SECONDS


class _Node:
    """A server over a folder that is killed and started again."""

    def __init__(self, folder: Path, how: str) -> None:
        self._folder, self._how = folder, how
        self._stack = ExitStack()
        self.start()

    def start(self) -> None:
        with suppress(AssertionError):  # the database may be away: it is tried again
            self.served = self._stack.enter_context(served(self._folder, self._how))
            return
        time.sleep(2)
        self.start()

    @property
    def port(self) -> str:
        """The end of its address."""
        return self.served.url[self.served.url.rindex(":") :]

    def kill(self) -> None:
        self.served.process.kill()
        self.served.process.wait()
        self._stack.close()

    def stop(self) -> None:
        self.served.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.served.process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        self._stack.close()


class _DaskProcess:
    """A scheduler, or a worker, that is killed and started again."""

    def __init__(self, kind: str, *words: str) -> None:
        self._command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *words, "--no-dashboard"]
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


class _Reading:
    """Adds documents on workers that are killed, two at a time, and keeps in mind what was reported as added."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._batches = folder, list[list[Path]]()
        self._added: set[str] = set()
        folder.mkdir()
        port = free_port()
        self._address = f"tcp://127.0.0.1:{port}"
        self.scheduler = _DaskProcess("scheduler", "--host", "127.0.0.1", "--port", str(port))
        stack.callback(self.scheduler.kill)
        waited_for(lambda: listens(port))
        how = ("--no-nanny", "--nthreads", "1", "--local-directory", str(folder))
        self.workers = [_DaskProcess("worker", self._address, *how) for _ in range(2)]
        for worker in self.workers:
            stack.callback(worker.kill)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def start_scheduler(self) -> None:
        """Starts it again, and the workers, which end with it."""
        self.scheduler.start()
        for worker in self.workers:
            worker.kill()
            worker.start()

    def _opened(self, name: str) -> KnowledgeGraph:
        KnowledgeGraph.create(self._folder / name, ontology="travel", base=_BASE).close()
        kg = KnowledgeGraph.open(self._folder / name)
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        return kg

    def _read(self) -> None:
        with self._opened("there") as kg:
            while not self._over.wait(_BETWEEN_SECONDS):
                batch = [self._folder / f"{len(self._batches)}-{n}.txt" for n in range(2)]
                for path in batch:
                    path.write_text(f"Inn number {path.stem} is located in Wuzhen. 西栅位于乌镇。", encoding="utf-8")
                self._batches.append(batch)
                while set(map(str, batch)) - self._added:
                    with suppress(ClusterError):  # there is no scheduler, or no worker: it is tried again
                        for item in kg.add(*batch, cluster=self._address, build=False):
                            if item.outcome in ("added", "unchanged"):
                                self._added.add(item.document.source)

    def found(self) -> list[Result]:
        """What was lost, and whether the graph is another one than that of this machine alone."""
        self._over.set()
        self._thread.join()
        with KnowledgeGraph.open(self._folder / "there") as kg, self._opened("here") as alone:
            for batch in self._batches:
                list(alone.add(*batch, build=False))
            lost = self._added - {record.document.source for record in kg.documents()}
            graphs = {_timeless(kg.store), _timeless(alone.store)}
        return [
            Result(f"of {len(self._added)} documents read on workers lost", len(lost), "", promise=0),
            Result("graphs of those workers and of this machine alone", len(graphs), "", promise=1),
        ]


class _Writer:
    """States one thing after the other through a node taken by chance, and keeps in mind what was acknowledged."""

    def __init__(self, nodes: dict[str, _Node], chance: random.Random) -> None:
        self.acknowledged: list[int] = []
        self.refused = 0
        self._nodes, self._chance, self._over = nodes, chance, threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        number = 0
        while not self._over.wait(0.02):
            number += 1
            text = f"INSERT DATA {{ <{_BASE}n{number}> <{_BASE}p> {number} ; <{_BASE}q> '西栅 {number}'@zh }}"
            node = self._chance.choice(list(self._nodes.values()))
            try:
                status = node.served.ask("POST", "/sparql", text, _SENT, _ANSWER_SECONDS)[0]
            except (OSError, http.client.HTTPException):
                status = 0
            if status and status < 300:
                self.acknowledged.append(number)
            else:
                self.refused += 1

    def end(self) -> None:
        self._over.set()
        self._thread.join()


class _Cluster:
    """Two nodes of which one leads, a replica, PostgreSQL, engines that follow, a scheduler and two workers.

    PostgreSQL is behind a line that can be cut, the Oxigraph server behind one that is rough.
    """

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.database = stack.enter_context(postgres_server())
        self.line = CutLine(self.database.port)
        stack.callback(self.line.close)
        self.mirror = OxigraphServer(folder / "mirror")
        stack.callback(self.mirror.kill)
        self.rough = RoughLine(self.mirror.port)
        stack.callback(self.rough.close)
        self.engines: dict[str, OxigraphServer | VirtuosoServer] = {"Oxigraph server": self.mirror}
        named = [f"oxigraph {self.rough.address}"]
        if VirtuosoServer.is_there():
            virtuoso = self.engines["Virtuoso"] = VirtuosoServer(folder / "virtuoso")
            stack.callback(virtuoso.kill)
            named.append(f"virtuoso http://dba:dba@127.0.0.1:{virtuoso.port}")
        self.url = f"{self.database.url}?schema=kills"
        cluster(folder, self.url, "other", "copy")
        is_followed(folder, *named)
        path = folder / "leader" / "kgplatform.toml"
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(f":{self.database.port}/", f":{self.line.port}/"), encoding="utf-8")
        self.nodes = {name: _Node(folder / name, how) for name, how in _NODES.items()}
        for node in self.nodes.values():
            stack.callback(node.end)
        self.reading = _Reading(folder / "reading", stack)
        killed: dict[str, _Node | OxigraphServer | VirtuosoServer] = {**self.nodes, **self.engines}
        self.parts = {
            **{name: _Part(part.kill, part.start) for name, part in killed.items()},
            **{
                f"{name}, stopped": _Part(self.nodes[name].stop, self.nodes[name].go_on, _STOPPED_SECONDS)
                for name in ("leader", "other")
            },
            "PostgreSQL": _Part(lambda: self.database.stop("immediate"), self.database.start),
            "Dask scheduler": _Part(self.reading.scheduler.kill, self.reading.start_scheduler),
            "Dask worker": _Part(self.reading.workers[0].kill, self.reading.workers[0].start),
        }

    def has_lead(self, journal: PostgresJournal) -> None:
        """Has the node lead whose line can be cut."""
        first, other = self.nodes["leader"], self.nodes["other"]
        if not journal.leader.endswith(first.port):
            other.kill()
            _until(lambda: journal.leader.endswith(first.port))
            other.start()

    def rests(self, writer: _Writer, journal: PostgresJournal) -> bool:
        """Whether all are level with the journal."""
        try:
            shown = all(node.served.has(f"n{writer.acknowledged[-1]}") for node in self.nodes.values())
            return shown and all(follower.state()[1] == journal.newest for _, follower in self._followers())
        except (OSError, AssertionError, KgPlatformError):
            return False

    def _followers(self) -> Iterator[tuple[str, Follower]]:
        return ((name, Follower(server.engine, _BASE)) for name, server in self.engines.items())

    def found(self, acknowledged: list[int], journal: PostgresJournal) -> list[Result]:
        """What was lost, and what differs, once all have ended."""
        for node in self.nodes.values():
            node.end()
        lost, several, differences = 0, {whole_digest(digests(replayed(journal)))}, dict[str, int]()
        for name in _NODES:
            with closing(Store.open(self.folder / name / "store")) as store:
                lost += sum(not _holds(store, number) for number in acknowledged)
                several.add(whole_digest(digests(store)))
                if name == "copy":
                    differences = {kind: len(follower.compare(store)) for kind, follower in self._followers()}
        return [
            Result("acknowledged and lost in one of three stores", lost, "", promise=0),
            Result("digests of three stores and of the journal alone", len(several), "", promise=1),
            *(
                Result(f"graphs that the {name} has otherwise", count, "", promise=0)
                for name, count in differences.items()
            ),
            *self.reading.found(),
        ]


def measure(
    kills: int = KILLS, cut: float = 0.0, most_seconds: float = 7200.0, rest: float = _REST_SECONDS
) -> list[Result]:
    """How many acknowledged changes were lost in any place, and how many digests differ.

    ``rest``: so many seconds at the most are between one part's coming back and what is done to the next.
    ``most_seconds``: no part is killed any more after so long; the result says how many were.
    """
    chance, results = random.Random(kills), []
    with TemporaryDirectory(prefix="kgplatform-") as place, ExitStack() as stack:
        made = _Cluster(Path(place), stack)
        writer = _Writer(made.nodes, random.Random(-kills))
        tally = dict.fromkeys(made.parts, 0)
        latest = time.monotonic() + most_seconds
        for part in islice(_by_turns(list(tally), chance), kills):
            if time.monotonic() > latest:
                break
            print(f"{sum(tally.values()) + 1}: {part}", file=sys.stderr)
            time.sleep(chance.uniform(0.2, rest))
            tally[part] += 1
            made.parts[part].harm()
            time.sleep(chance.uniform(*made.parts[part].seconds))
            made.parts[part].restore()
        journal = PostgresJournal(made.url)
        stack.callback(journal.close)
        if cut:
            made.has_lead(journal)
            before = len(writer.acknowledged)
            made.line.cut()
            time.sleep(cut)
            _until(lambda: len(writer.acknowledged) > before + 1)  # one may have been on its way
            during = len(writer.acknowledged) - before
            results.append(
                Result(
                    f"acknowledged while the leader is cut off, for {cut:g} s or longer",
                    during,
                    "",
                    more_is_better=True,
                )
            )
            made.line.mend()
        done = len(writer.acknowledged)
        _until(lambda: len(writer.acknowledged) > done + 5)
        writer.end()
        made.rough.is_rough = False
        _until(lambda: made.rests(writer, journal))
        kinds = "; ".join(f"{count} of {name}" for name, count in tally.items())
        return [
            Result(f"{sum(tally.values())} faults ({kinds}): acknowledged changes", len(writer.acknowledged), ""),
            Result("refused or unanswered meanwhile", writer.refused, ""),
            *results,
            *made.found(writer.acknowledged, journal),
        ]


def _by_turns(parts: Sequence[str], chance: random.Random) -> Iterator[str]:
    """All parts in an order of chance, again and again."""
    while True:
        yield from chance.sample(parts, len(parts))


def _until(true: Callable[[], bool], seconds: float = _PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"the cluster has not come to rest within {seconds:g} s")
        time.sleep(0.2)


def _timeless(store: Store) -> frozenset[str]:
    """What a store holds, but for times."""
    return frozenset(str(quad) for quad in store.quads() if "dateTime" not in str(quad.object))


def _holds(store: Store, number: int) -> bool:
    subject = NamedNode(f"{_BASE}n{number}")
    said = {"p": Literal(number), "q": Literal(f"西栅 {number}", language="zh")}
    return all(store.has(Triple(subject, NamedNode(f"{_BASE}{name}"), value)) for name, value in said.items())


if __name__ == "__main__":
    given = argparse.ArgumentParser(prog="python -m benchmarks.cluster_kills")
    given.add_argument("kills", nargs="?", type=int, default=KILLS)
    given.add_argument("--cut", type=float, default=0.0)
    given.add_argument("--most-seconds", type=float, default=7200.0)
    chosen = given.parse_args()
    print(as_table(measure(chosen.kills, chosen.cut, chosen.most_seconds)))
