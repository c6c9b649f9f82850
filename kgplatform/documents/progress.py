"""How far a run of reading has come, and whether it is to wait or to end: kept, so that a restart loses neither.

A run reads files and pages one after the other through six stages. Who runs it notes what is in hand; who watches
asks for `progress`, from another thread if need be, and may ask the run to pause or to end: that is obeyed between two
documents.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from kgplatform.errors import WorkspaceError

STAGES: Final = ("read", "split", "extract", "link", "check", "load")
"""What happens to each document, in this order."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
  run INTEGER PRIMARY KEY, state TEXT NOT NULL, started TEXT NOT NULL, updated TEXT NOT NULL, total INTEGER NOT NULL,
  done INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0, current TEXT NOT NULL DEFAULT '',
  stage TEXT NOT NULL DEFAULT '', seconds REAL NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS run_stages (
  run INTEGER NOT NULL, stage TEXT NOT NULL, documents INTEGER NOT NULL, seconds REAL NOT NULL,
  PRIMARY KEY (run, stage));
CREATE TABLE IF NOT EXISTS run_request (one INTEGER PRIMARY KEY CHECK (one = 1), request TEXT NOT NULL);
"""
_POLL = 0.1


class RunState(StrEnum):
    """How a run stands."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class StageProgress:
    """How many documents have passed a stage in a run, and the seconds that took in all."""

    stage: str
    documents: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Crew:
    """Who reads on other machines: how many workers, the documents in their hands, how many each has read.

    ``note`` says why the rest is read on this machine, if it is.
    """

    workers: int = 0
    in_hand: int = 0
    done: tuple[tuple[str, int], ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run has come: of ``total`` files and pages ``done`` are, ``failed`` of these without success.

    ``rate`` is documents a second, pauses left out; ``eta_seconds`` the time left at that rate, None where not known.
    """

    run: int
    state: RunState
    started: str
    updated: str
    total: int
    done: int
    failed: int
    current: str
    stage: str
    stages: tuple[StageProgress, ...]
    rate: float
    eta_seconds: float | None
    crew: Crew | None = None


def progress_json(progress: RunProgress | None) -> dict[str, object]:
    """The progress as JSON values; without any run only ``{"state": "idle"}``."""
    if progress is None:
        return {"state": "idle"}
    return {**asdict(progress), "state": progress.state.value}


class Runs:
    """An SQLite file that keeps runs of reading, and tables of whoever inherits it; safe for several threads."""

    def __init__(self, path: Path | None, schema: str = "") -> None:
        """Opens the file, or a database in memory, and notes runs whose process is gone.

        Raises:
            WorkspaceError: the file cannot be opened.
        """
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self._crew: Callable[[], Crew | None] = _nobody
        try:
            self._db = sqlite3.connect(str(path) if path else ":memory:", check_same_thread=False, isolation_level=None)
            self._db.row_factory = sqlite3.Row
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_SCHEMA + schema)
        except sqlite3.DatabaseError as error:
            raise WorkspaceError(
                f"{path}: the document registry cannot be opened: {error}", path=Path(path or ".")
            ) from error
        self._write(
            "UPDATE runs SET state=?, current='', stage='' WHERE state IN (?,?)",
            *(RunState.INTERRUPTED.value, RunState.RUNNING.value, RunState.PAUSED.value),
        )

    def close(self) -> None:
        """Lets the file go."""
        self._db.close()

    def outlast_power(self) -> None:
        """Has each write reach the disk before it returns, from now on; else a loss of power may take the last ones."""
        with self._lock:
            self._db.execute("PRAGMA synchronous=FULL")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _all(self, sql: str, *values: object) -> list[sqlite3.Row]:
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    def _write(self, sql: str, *values: object) -> None:
        with self._transaction() as db:
            db.execute(sql, values)

    # watching

    def progress(self) -> RunProgress | None:
        """The latest run; None: nothing was ever read. No document is looked at."""
        rows = self._all("SELECT * FROM runs ORDER BY run DESC LIMIT 1")
        if not rows:
            return None
        row = rows[0]
        state = RunState(row["state"])
        if self._request() == "pause" and state in (RunState.RUNNING, RunState.INTERRUPTED):
            state = RunState.PAUSED
        rate = row["done"] / row["seconds"] if row["done"] and row["seconds"] > 0 else 0.0
        is_open = state in (RunState.RUNNING, RunState.PAUSED)
        return RunProgress(
            **{
                name: row[name] for name in ("run", "started", "updated", "total", "done", "failed", "current", "stage")
            },
            state=state,
            stages=self._stages(row["run"]),
            rate=round(rate, 3),
            eta_seconds=round((row["total"] - row["done"]) / rate, 1) if rate and is_open else None,
            crew=self._crew() if is_open else None,
        )

    def _stages(self, run: int) -> tuple[StageProgress, ...]:
        found = {row["stage"]: row for row in self._all("SELECT * FROM run_stages WHERE run=?", run)}
        rows = ((stage, found.get(stage)) for stage in STAGES)
        return tuple(
            StageProgress(stage, row["documents"] if row else 0, round(row["seconds"], 3) if row else 0.0)
            for stage, row in rows
        )

    # asking a run to wait or to end

    def pause(self) -> None:
        """Asks the run to wait before its next document, also after a restart, until `resume` or `cancel`."""
        self._ask("pause")

    def resume(self) -> None:
        """Lets a paused run go on."""
        self._ask("")

    def cancel(self) -> None:
        """Asks the run to end before its next document; what it has not reached stays PENDING."""
        self._ask("cancel")

    def stop(self) -> None:
        """Ends the run of this process before its next document; safe in a signal handler, and not remembered."""
        self._stopping.set()

    @property
    def is_stopping(self) -> bool:
        """Whether the run is to end before its next document."""
        return self._waits() == "cancel"

    @property
    def was_stopped(self) -> bool:
        """Whether the latest run ended before its end because that was asked for."""
        rows = self._all("SELECT state FROM runs ORDER BY run DESC LIMIT 1")
        return bool(rows) and rows[0]["state"] == RunState.STOPPED

    def _ask(self, request: str) -> None:
        self._write("INSERT OR REPLACE INTO run_request VALUES (1, ?)", request)

    def _request(self) -> str:
        rows = self._all("SELECT request FROM run_request")
        return str(rows[0]["request"]) if rows else ""

    # running

    def begin_run(self, total: int, crew: Callable[[], Crew | None] | None = None) -> ReadingRun:
        """Begins a run of so many files and pages; what was asked of an earlier one is forgotten.

        ``crew`` tells who reads on other machines.
        """
        self._stopping.clear()
        self._crew = crew or _nobody
        with self._transaction() as db:
            db.execute("DELETE FROM run_request")
            db.execute("DELETE FROM run_stages")
            made = db.execute(
                "INSERT INTO runs (state, started, updated, total) VALUES (?,?,?,?)",
                (RunState.RUNNING.value, _now(), _now(), total),
            )
            run = int(made.lastrowid or 0)
            db.execute("DELETE FROM runs WHERE run < ?", (run - 100,))
        return ReadingRun(run, self._write, self._waits)

    def _waits(self) -> str:
        return "cancel" if self._stopping.is_set() else self._request()


class ReadingRun:
    """A run in hand: notes what is done, and waits or ends when that is asked for."""

    def __init__(self, number: int, write: Callable[..., None], request: Callable[[], str]) -> None:
        self.number = number
        self._write = write
        self._request = request
        self._mark = time.monotonic()
        self._passed: dict[str, float] = {}

    def goes_on(self) -> bool:
        """Whether the next document is to be read; waits here while the run is paused."""
        self._count_time()
        is_paused = False
        while (request := self._request()) == "pause":
            if not is_paused:
                self._set_state(RunState.PAUSED)
            is_paused = True
            time.sleep(_POLL)
        self._mark = time.monotonic()
        if request == "cancel":
            return False
        if is_paused:
            self._set_state(RunState.RUNNING)
        return True

    def _set_state(self, state: RunState) -> None:
        self._write("UPDATE runs SET state=?, updated=? WHERE run=?", state.value, _now(), self.number)

    def take(self, source: str) -> None:
        """Notes which file or page is in hand."""
        self._passed = {}
        self._write("UPDATE runs SET current=?, stage='', updated=? WHERE run=?", source, _now(), self.number)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Notes that what is in hand is in this stage, and the time it takes there."""
        self._write("UPDATE runs SET stage=?, updated=? WHERE run=?", name, _now(), self.number)
        began = time.monotonic()
        try:
            yield
        finally:
            self._passed[name] = self._passed.get(name, 0.0) + time.monotonic() - began

    def finished(self, *, failed: bool) -> None:
        """Counts the file or page in hand as done."""
        self._count_time()
        for name, seconds in self._passed.items():
            self._write(
                "INSERT INTO run_stages VALUES (?,?,1,?) ON CONFLICT (run, stage) DO UPDATE SET"
                " documents = documents + 1, seconds = seconds + excluded.seconds",
                *(self.number, name, seconds),
            )
        self._write(
            "UPDATE runs SET done = done + 1, failed = failed + ?, current='', stage='', updated=? WHERE run=?",
            *(int(failed), _now(), self.number),
        )

    def end(self, *, stopped: bool) -> None:
        """Ends the run: done, or stopped before that."""
        self._count_time()
        state = RunState.STOPPED if stopped else RunState.DONE
        self.take("")
        self._set_state(state)

    @property
    def latest(self) -> str:
        """The stage that what is in hand came to; empty before the first."""
        return next(reversed(self._passed), "")

    def _count_time(self) -> None:
        now = time.monotonic()
        self._write("UPDATE runs SET seconds = seconds + ? WHERE run=?", now - self._mark, self.number)
        self._mark = now


def _nobody() -> Crew | None:
    return None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
