"""What the journal costs: commits a second without one, with a file, with PostgreSQL; how fast a replica replays."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode, Triple

from benchmarks.common import Peer, Result
from kgplatform.documents.registry import Registry
from kgplatform.journal.patch import commits, net
from kgplatform.journal.recorder import Recorder
from kgplatform.journal.sqlite_journal import SqliteJournal
from kgplatform.store.dataset import Change, EvidenceDataset
from kgplatform.store.oxigraph import Store

if TYPE_CHECKING:
    from kgplatform.journal.patch import Journal

_BASE, _COMMITS, _CHUNKS, _STATEMENTS = "https://example.org/", 300, 10, 10
_P = NamedNode(f"{_BASE}p")


def _changes() -> Iterator[Change]:
    """Documents of ten passages with ten statements each: some 220 quads a commit, the default graph's counted."""
    for number in range(_COMMITS):
        added = {}
        for part in range(_CHUNKS):
            graph = NamedNode(f"{_BASE}document/{number:016x}/chunk/{part}")
            added[graph] = [
                Triple(NamedNode(f"{_BASE}entity/{number}-{part}-{n}"), _P, Literal(f"西栅 {number} {n}"))
                for n in range(_STATEMENTS)
            ]
        yield Change(added=added)


def _rate(folder: Path, journal: Journal | None) -> float:
    folder.mkdir()
    store, registry = Store.open(folder / "store"), Registry(folder / "documents.sqlite")
    if journal is not None:
        Recorder(journal, store, registry.changed_rows, folder / "journal.mark").begin()
    dataset, changes = EvidenceDataset(store, _BASE), list(_changes())
    began = time.perf_counter()
    for change in changes:
        dataset.commit(change)
        if journal is None:
            store.flush()  # the same promise: what is acknowledged survives a loss of power
    seconds = time.perf_counter() - began
    store.close()
    registry.close()
    return _COMMITS / seconds


def _replay(folder: Path, journal: Journal) -> tuple[float, float]:
    """Commits and quads a second."""
    store, quads = Store.open(folder), 0
    began = time.perf_counter()
    for group in commits(journal.patches(0)):
        removed, added = net(group)
        new = list(added)
        quads += len(new)
        store.replay(removed, new, version=group[-1].number)
    seconds = time.perf_counter() - began
    store.close()
    return _COMMITS / seconds, quads / seconds


def measure() -> list[Result]:
    """Rates with their ratio to a store that is flushed after each commit."""
    from kgplatform.journal.postgres_journal import PostgresJournal
    from tests.postgres_server import postgres_server  # a database of its own

    with TemporaryDirectory(prefix="kgplatform-") as scratch, postgres_server() as database:
        folder = Path(scratch)
        plain = _rate(folder / "plain", None)
        peer = Peer("without, flushed", plain)
        rows = []
        for name, journal in (
            ("SQLite", SqliteJournal(folder / "journal.sqlite")),
            ("PostgreSQL", PostgresJournal(database.url)),
        ):
            rate = _rate(folder / name, journal)
            replayed, quads = _replay(folder / f"{name}-replayed", journal)
            rows.append(Result(f"commits, journal in {name}", rate, "/s", more_is_better=True, peer=peer))
            rows.append(Result(f"commits replayed from {name}", replayed, "/s", more_is_better=True))
            rows.append(Result(f"quads replayed from {name}", quads, "/s", more_is_better=True))
            journal.close()
        return rows
