"""Kills the parts of a served cluster at random moments, and looks whether anything acknowledged was lost anywhere.

``python -m benchmarks.cluster_kills 50`` ends parts by SIGKILL fifty times while somebody writes: two nodes of which
one leads and the other stands by, a replica, PostgreSQL with the journal, an Oxigraph server that follows; each comes
back after a while. The seed is the number of kills: it says which parts are killed, when, and for how long. In the end
every change that was answered with success must be in each store and at the follower, and the digests of all of them
and of the journal alone must be equal. With ``--cut SECONDS`` the line between the leading node and PostgreSQL is then
cut while the writing goes on, for so long and until the other node has taken changes; the cut one must follow
afterwards.
"""

from __future__ import annotations

import argparse
import http.client
import random
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from pyoxigraph import Literal, NamedNode, Triple

from benchmarks.common import Result, as_table
from kgplatform.cluster.followers import Follower
from kgplatform.errors import KgPlatformError
from kgplatform.journal.patch import digests, whole_digest
from kgplatform.journal.postgres_journal import PostgresJournal
from kgplatform.store.oxigraph import Store
from tests.nodes import cluster, is_followed, replayed, served
from tests.oxigraph_server import OxigraphServer
from tests.postgres_server import CutLine, postgres_server

KILLS = 50
_PATIENCE = 900.0
_ANSWER_SECONDS = 10.0
_BASE = "https://example.org/"
_SENT = {"Content-Type": "application/sparql-update"}
_NODES = {"leader": "--standby", "other": "--standby", "copy": "--replica"}


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

    def end(self) -> None:
        self._stack.close()


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
    """Two nodes of which one leads, a replica, PostgreSQL behind a line that can be cut, an engine that follows."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.database = stack.enter_context(postgres_server())
        self.line = CutLine(self.database.port)
        stack.callback(self.line.close)
        self.mirror = OxigraphServer(folder / "mirror")
        stack.callback(self.mirror.kill)
        self.url = f"{self.database.url}?schema=kills"
        cluster(folder, self.url, "other", "copy")
        is_followed(folder, self.mirror.engine)
        path = folder / "leader" / "kgplatform.toml"
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(f":{self.database.port}/", f":{self.line.port}/"), encoding="utf-8")
        self.nodes = {name: _Node(folder / name, how) for name, how in _NODES.items()}
        for node in self.nodes.values():
            stack.callback(node.end)
        self.parts: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {
            **{name: (node.kill, node.start) for name, node in self.nodes.items()},
            "PostgreSQL": (lambda: self.database.stop("immediate"), self.database.start),
            "follower": (self.mirror.kill, self.mirror.start),
        }

    def has_lead(self, journal: PostgresJournal) -> None:
        """Has the node lead whose line can be cut."""
        first, other = self.nodes["leader"], self.nodes["other"]
        if not journal.leader.endswith(first.port):
            other.kill()
            _until(lambda: journal.leader.endswith(first.port))
            other.start()

    def rests(self, writer: _Writer, journal: PostgresJournal, follower: Follower) -> bool:
        """Whether all are level with the journal."""
        try:
            shown = all(node.served.has(f"n{writer.acknowledged[-1]}") for node in self.nodes.values())
            return shown and follower.state()[1] == journal.newest
        except (OSError, AssertionError, KgPlatformError):
            return False

    def found(self, acknowledged: list[int], journal: PostgresJournal, follower: Follower) -> list[Result]:
        """What was lost, and what differs, once all have ended."""
        for node in self.nodes.values():
            node.end()
        lost, several, differences = 0, {whole_digest(digests(replayed(journal)))}, 0
        for name in _NODES:
            with closing(Store.open(self.folder / name / "store")) as store:
                lost += sum(not _holds(store, number) for number in acknowledged)
                several.add(whole_digest(digests(store)))
                differences += len(follower.compare(store)) if name == "copy" else 0
        return [
            Result("acknowledged and lost in one of three stores", lost, "", promise=0),
            Result("digests of three stores and of the journal alone", len(several), "", promise=1),
            Result("graphs that the follower has otherwise", differences, "", promise=0),
        ]


def measure(kills: int = KILLS, cut: float = 0.0, most_seconds: float = 7200.0) -> list[Result]:
    """How many acknowledged changes were lost in any place, and how many digests differ.

    ``most_seconds``: no part is killed any more after so long; the result says how many were.
    """
    chance, results = random.Random(kills), []
    with TemporaryDirectory(prefix="kgplatform-") as place, ExitStack() as stack:
        made = _Cluster(Path(place), stack)
        writer = _Writer(made.nodes, random.Random(-kills))
        tally = dict.fromkeys(made.parts, 0)
        latest = time.monotonic() + most_seconds
        for _ in range(kills):
            if time.monotonic() > latest:
                break
            part = chance.choice(list(tally))
            print(f"kill {sum(tally.values()) + 1}: {part}", file=sys.stderr)
            time.sleep(chance.uniform(0.2, 4))
            tally[part] += 1
            end, start = made.parts[part]
            end()
            time.sleep(chance.uniform(0, 2))
            start()
        journal, follower = PostgresJournal(made.url), Follower(made.mirror.engine, _BASE)
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
        _until(lambda: made.rests(writer, journal, follower))
        kinds = ", ".join(f"{count} of {name}" for name, count in tally.items())
        return [
            Result(f"{sum(tally.values())} kills ({kinds}): acknowledged changes", len(writer.acknowledged), ""),
            Result("refused or unanswered meanwhile", writer.refused, ""),
            *results,
            *made.found(writer.acknowledged, journal, follower),
        ]


def _until(true: Callable[[], bool], seconds: float = _PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"the cluster has not come to rest within {seconds:g} s")
        time.sleep(0.2)


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
