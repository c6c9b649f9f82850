"""Which rows of the registry changed, so that they travel with patches, and rows that came that way taken over.

Triggers note table, key and columns of each row that is written, in the transaction that writes it: no way of writing
can be forgotten, and no crash loses what the journal does not have yet. How far runs of reading have come is no part
of it.
"""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from kgplatform.errors import StoreError

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS outgoing (number INTEGER PRIMARY KEY, name TEXT NOT NULL, key, columns TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS journaled (one INTEGER PRIMARY KEY CHECK (one = 1), journal TEXT NOT NULL,
  number INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS pending (place INTEGER PRIMARY KEY, number INTEGER NOT NULL, gone BLOB NOT NULL,
  new BLOB NOT NULL);
"""
_LOCAL: Final = frozenset({"runs", "run_stages", "run_request", "outgoing", "journaled", "pending"})
_BYTES: Final = "base64:"


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    """The columns that a row is found by; empty: its rowid."""
    identity: frozenset[str]


@dataclass(slots=True)
class OutgoingRows:
    """The rows that changed; ``number`` is to be set to that of the patch which they are in."""

    rows: list[tuple[str, Any, dict[str, Any] | None]] = field(default_factory=list)
    number: int = 0


class ChangedRows:
    """The changed rows of an SQLite database whose transactions are begun by ``transaction``."""

    def __init__(
        self,
        transaction: Callable[[], AbstractContextManager[sqlite3.Connection]],
        *,
        applied: Callable[[frozenset[str]], None],
    ) -> None:
        """``applied`` is told of the tables that rows were taken over into."""
        self._transaction = transaction
        self._told = applied
        self._tables: dict[str, _Table] = {}

    def keep_changes(self, journal: str, *, all_rows: bool) -> None:
        """Has changed rows noted from now on, in the file; ``all_rows``: all that there are count as changed."""
        with self._transaction() as db:
            for statement in _SCHEMA.split(";\n"):
                db.execute(statement)
            self._tables = {table.name: table for table in _tables(db)}
            for table in self._tables.values():
                for text in _triggers(table):
                    db.execute(text)
            if all_rows:
                db.execute("DELETE FROM outgoing")
                for table in self._tables.values():
                    db.execute(
                        f"INSERT INTO outgoing (name, key, columns) SELECT '{table.name}', {_key(table, '')}, '*'"
                        f" FROM {table.name}"
                    )
                db.execute("INSERT OR REPLACE INTO journaled VALUES (1, ?, 0)", (journal,))

    def applied(self) -> tuple[str, int]:
        """The journal that the rows are in, and up to which number they are in line with it."""
        with self._transaction() as db:
            row = db.execute("SELECT journal, number FROM journaled").fetchone()
        return (str(row[0]), int(row[1])) if row else ("", 0)

    def pending(self, after: int) -> list[tuple[int, bytes, bytes]]:
        """The numbers and quads of the commits that were taken over after that number, if none was recorded since."""
        with self._transaction() as db:
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'pending'").fetchall():
                return []
            sql = "SELECT number, gone, new FROM pending WHERE number > ? ORDER BY place"
            return [tuple(row) for row in db.execute(sql, (after,))]

    @property
    def has_changes(self) -> bool:
        """True if rows changed since they were last taken off."""
        with self._transaction() as db:
            return db.execute("SELECT 1 FROM outgoing LIMIT 1").fetchone() is not None

    @contextmanager
    def outgoing(self) -> Iterator[OutgoingRows]:
        """The rows that changed; taken off when the block ends well, in one transaction."""
        with self._transaction() as db:
            found = OutgoingRows(self._changed(db))
            yield found
            db.execute("DELETE FROM outgoing")
            db.execute("UPDATE journaled SET number = max(number, ?)", (found.number,))
            if found.number:
                db.execute("DELETE FROM pending")

    def noted(self) -> list[tuple[str, Any, dict[str, Any] | None]]:
        """The rows that changed since they were last taken off, as they are now."""
        with self._transaction() as db:
            return self._changed(db)

    def _changed(self, db: sqlite3.Connection) -> list[tuple[str, Any, dict[str, Any] | None]]:
        """Each row once, as it is now: its values of the columns that changed, all if it is new; None: it is gone."""
        noted: dict[tuple[str, Any], set[str]] = {}
        for name, key, columns in db.execute("SELECT name, key, columns FROM outgoing ORDER BY number"):
            noted.setdefault((name, key), set()).update(columns.split())
        gone, there = [], []
        for (name, key), columns in noted.items():
            table = self._tables[name]
            whole = "*" in columns or columns & table.identity
            wanted = [column for column in table.columns if whole or column in columns]
            where, values = _where(table, key)
            row = db.execute(f"SELECT {', '.join(wanted)} FROM {name} WHERE {where}", values).fetchone()
            if row is None:
                gone.append((name, key, None))
            else:
                there.append((name, key, dict(zip(wanted, map(_as_json, row), strict=True))))
        return [*gone, *there]

    def apply_rows(
        self,
        journal: str,
        number: int,
        rows: Iterable[Sequence[Any]],
        quads: Iterable[tuple[bytes, bytes]] = (),
        *,
        settled: int = 0,
    ) -> None:
        """Takes over rows from the journal of that name; what had been noted of them is in it.

        ``quads`` belong to them, and are kept for a store that may lose them; it has those up to ``settled`` for good.

        Raises:
            StoreError: they do not fit the tables.
        """
        touched: set[str] = set()
        try:
            with self._transaction() as db:
                for name, key, values in rows:
                    self._apply(db, self._tables[name], key, values)
                    touched.add(name)
                db.execute("DELETE FROM outgoing")
                db.execute("INSERT OR REPLACE INTO journaled VALUES (1, ?, ?)", (journal, number))
                db.execute("DELETE FROM pending WHERE number <= ?", (settled,))
                found = ((number, *parts) for parts in quads)
                db.executemany("INSERT INTO pending (number, gone, new) VALUES (?, ?, ?)", found)
        except (KeyError, sqlite3.Error) as error:
            raise StoreError(
                f"patch {number} of the journal does not fit the registry ({error}); "
                "use the version of kgplatform that wrote it"
            ) from error
        if touched:
            self._told(frozenset(touched))

    @staticmethod
    def _apply(db: sqlite3.Connection, table: _Table, key: Any, values: dict[str, Any] | None) -> None:
        where, found = _where(table, key)
        if values is None:
            db.execute(f"DELETE FROM {table.name} WHERE {where}", found)
            return
        named = {column: _from_json(values[column]) for column in table.columns if column in values}
        if len(named) < len(table.columns):
            changes = ", ".join(f"{column}=?" for column in named)
            db.execute(f"UPDATE {table.name} SET {changes} WHERE {where}", (*named.values(), *found))
            return
        columns = ", ".join(named if table.key else ("rowid", *named))
        inserted = (*named.values(),) if table.key else (key, *named.values())
        marks = ", ".join("?" * len(inserted))
        db.execute(f"INSERT OR REPLACE INTO {table.name} ({columns}) VALUES ({marks})", inserted)


def _tables(db: sqlite3.Connection) -> Iterator[_Table]:
    listed = db.execute("SELECT name, wr FROM pragma_table_list WHERE schema='main' AND type='table'").fetchall()
    for name, has_no_rowid in sorted(tuple(row) for row in listed):
        if name in _LOCAL or name.startswith("sqlite_"):
            continue
        info = [tuple(row) for row in db.execute("SELECT name, pk FROM pragma_table_info(?)", (name,))]
        key = tuple(column for column, place in info if place)
        yield _Table(name, tuple(column for column, _ in info), key if has_no_rowid else (), frozenset(key))


def _triggers(table: _Table) -> Iterator[str]:
    """Temporary ones: only a process that keeps a journal has them."""
    note = "INSERT INTO outgoing (name, key, columns) VALUES"
    changed = " || ".join(f"iif(OLD.{c} IS NOT NEW.{c}, '{c} ', '')" for c in table.columns)
    for verb, row, columns in (("INSERT", "NEW", "'*'"), ("DELETE", "OLD", "'*'"), ("UPDATE", "NEW", changed)):
        yield (
            f"CREATE TEMP TRIGGER IF NOT EXISTS out_{table.name}_{verb.lower()} AFTER {verb} ON main.{table.name}"
            f" BEGIN {note} ('{table.name}', {_key(table, f'{row}.')}, {columns}); END"
        )
    if table.key:
        yield (
            f"CREATE TEMP TRIGGER IF NOT EXISTS out_{table.name}_from AFTER UPDATE ON main.{table.name}"
            f" BEGIN {note} ('{table.name}', {_key(table, 'OLD.')}, '*'); END"
        )


def _key(table: _Table, row: str) -> str:
    return f"json_array({', '.join(f'{row}{column}' for column in table.key)})" if table.key else f"{row}rowid"


def _where(table: _Table, key: Any) -> tuple[str, tuple[Any, ...]]:
    if not table.key:
        return "rowid=?", (key,)
    return " AND ".join(f"{column}=?" for column in table.key), tuple(json.loads(key))


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return {_BYTES: base64.b64encode(value).decode()}
    return value


def _from_json(value: Any) -> Any:
    return base64.b64decode(value[_BYTES]) if isinstance(value, dict) else value
