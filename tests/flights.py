"""Two days of the airport example as a workspace, for tests of questions about flights."""

from __future__ import annotations

import csv
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from kgplatform.graph import KnowledgeGraph

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "airport"
DAYS = ("20250314", "20250315")


@cache
def rows() -> list[dict[str, str]]:
    """The rows of the two days."""
    with (FOLDER / "flights.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["flight_uid"].startswith(DAYS)]


@contextmanager
def flights(factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    """The workspace, without passages, so that no embedder is loaded."""
    with workspace(factory.getbasetemp() / "two-days") as kg:
        kg.search = lambda *_a, **_k: []  # type: ignore[method-assign]
        yield kg


def workspace(folder: Path) -> KnowledgeGraph:
    """A workspace with these flights, and all airlines and airports; made once for all processes of a run."""
    if not (folder / "kg").exists():
        at_once = "PYTEST_XDIST_WORKER" in os.environ
        made = folder.parent.parent / folder.name if at_once else folder
        made.mkdir(exist_ok=True)
        with (made / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (made / "kg").exists():
                _make(made)
        if at_once:
            shutil.copytree(made, folder)
    return KnowledgeGraph.open(folder / "kg")


def _make(folder: Path) -> None:
    table = folder / "tables" / "flights.csv"
    table.parent.mkdir()
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows()[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows())
    with KnowledgeGraph.create(folder / "making", ontology="airport", base="https://example.org/airport/") as kg:
        added = list(kg.add(FOLDER / "airlines.csv", FOLDER / "airports.csv", table, build=False))
        assert not [item.error for item in added if item.error]
        kg.build("link")
    (folder / "making").rename(folder / "kg")
