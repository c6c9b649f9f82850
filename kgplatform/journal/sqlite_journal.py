"""The journal of one machine: an SQLite file beside the store. Each append reaches the disk before it returns."""

from __future__ import annotations

import sqlite3
import threading
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from kgplatform.errors import StoreError, WorkspaceError
from kgplatform.journal.patch import Draft, FencedError, Journal, Patch, packed, packed_rows

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS patches (
  number INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, moment TEXT NOT NULL, more INTEGER NOT NULL,
  removed BLOB NOT NULL, added BLOB NOT NULL, record BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS patches_by_moment ON patches (moment);
CREATE TABLE IF NOT EXISTS journal (name TEXT NOT NULL, epoch INTEGER NOT NULL);
"""


class SqliteJournal(Journal):
    """A journal in a file; other processes may read it meanwhile."""

    def __init__(self, path: Path) -> None:
        """Opens the file, or makes it.

        Raises:
            WorkspaceError: it cannot be opened, or is no journal.
        """
        self._path = path
        self._lock = threading.RLock()
        self._grown = threading.Condition(self._lock)
        try:
            self._db = sqlite3.connect(str(path), check_same_thread=False, isolation_level=None, timeout=30)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.executescript(_SCHEMA)
            with self._writing():
                if self._db.execute("SELECT 1 FROM journal").fetchone() is None:
                    self._db.execute("INSERT INTO journal VALUES (?, 0)", (uuid.uuid4().hex,))
            ((self._name,),) = self._db.execute("SELECT name FROM journal").fetchall()
        except (sqlite3.Error, StoreError) as error:
            raise WorkspaceError(f"{path}: the journal cannot be opened: {error}", path=path) from error

    @property
    def name(self) -> str:
        """What tells this journal from any other, for as long as it is there."""
        return str(self._name)

    @property
    def newest(self) -> int:
        """The number of the last patch; 0 where there is none."""
        return int(self._one("SELECT coalesce(max(number), 0) FROM patches"))

    def _read(self, after: int, most: int) -> list[Patch]:
        rows = self._rows("SELECT * FROM patches WHERE number > ? ORDER BY number LIMIT ?", after, most)
        return [
            Patch(number, epoch, datetime.fromisoformat(moment), bool(more), *blobs)
            for number, epoch, moment, more, *blobs in rows
        ]

    def at(self, moment: datetime) -> int:
        """The number of the last patch that was there at that moment; 0 where none was."""
        text = _written(moment)
        return int(self._one("SELECT coalesce(max(number), 0) FROM patches WHERE moment <= ?", text))

    def lead(self) -> int:
        """Begins an epoch; who holds the store's folder leads, so nobody has to be asked."""
        with self._writing() as db:
            db.execute("UPDATE journal SET epoch = epoch + 1")
            return int(db.execute("SELECT epoch FROM journal").fetchone()[0])

    # who holds the store's folder leads, and nobody follows from elsewhere
    leader, is_free, is_fenced, leads_surely = "", False, False, True

    def announce(self, address: str) -> None:
        """Nothing: nobody asks the leader by this journal."""

    def append(self, drafts: Iterable[Draft], *, epoch: int) -> int:
        """Appends patches, all of them or none; raises as the protocol says."""
        with self._writing() as db:
            now = db.execute("SELECT epoch FROM journal").fetchone()[0]
            if now != epoch:
                raise FencedError(f"{self._path}: another process leads by now (epoch {now}, not {epoch})")
            number, last = db.execute("SELECT coalesce(max(number), 0), max(moment) FROM patches").fetchone()
            moment = max(_written(datetime.now(UTC)), last or "")  # a clock that is set back makes no earlier moment
            for draft in drafts:
                number += 1
                values = (packed(draft.removed), packed(draft.added), packed_rows(draft.rows))
                row = (number, epoch, moment, int(draft.more), *values)
                db.execute("INSERT INTO patches VALUES (?,?,?,?,?,?,?)", row)
        with self._grown:
            self._grown.notify_all()
        return int(number)

    def fill(self, patches: Iterable[Patch]) -> None:
        """Takes over the patches of another journal, numbers and moments too; raises as the protocol says."""
        with self._writing() as db:
            if db.execute("SELECT 1 FROM patches LIMIT 1").fetchone():
                raise StoreError(f"{self._path}: the journal holds patches already; move it away")
            for p in patches:
                row = (p.number, p.epoch, _written(p.moment), int(p.more), p.gone, p.new, p.record)
                db.execute("INSERT INTO patches VALUES (?,?,?,?,?,?,?)", row)
            db.execute("UPDATE journal SET epoch = (SELECT coalesce(max(epoch), 0) FROM patches)")

    def close(self) -> None:
        """Lets the file go."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction, all or nothing."""
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
            except BaseException as error:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    way_out = "free some space or make it writable"
                    raise StoreError(f"{self._path}: nothing was written: {error}; {way_out}") from error
                raise

    def _rows(self, sql: str, *values: object) -> list[Any]:
        try:
            with self._lock:
                return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: the journal cannot be read: {error}") from error

    def _one(self, sql: str, *values: object) -> int:
        ((found,),) = self._rows(sql, *values)
        return int(found)


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")
