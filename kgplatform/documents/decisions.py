"""What people decided about names: which never stand for one thing, whatever they look like."""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass

SCHEMA = """
CREATE TABLE IF NOT EXISTS kept_apart (
  first TEXT NOT NULL, second TEXT NOT NULL, updated TEXT NOT NULL, PRIMARY KEY (first, second));
CREATE TABLE IF NOT EXISTS names_apart (first TEXT NOT NULL, second TEXT NOT NULL, PRIMARY KEY (first, second));
"""


@dataclass(frozen=True, slots=True, order=True)
class Apart:
    """Two normalised names that never stand for one thing; ``first`` comes before ``second``."""

    first: str
    second: str

    @classmethod
    def of(cls, one: str, other: str) -> Apart:
        """The decision about two names, in whatever order they are given."""
        return cls(*sorted((one, other)))


class Decisions:
    """The part of the registry that people's decisions are in; they outlive documents and rebuilding."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[sqlite3.Connection]: ...

    @abstractmethod
    def _all(self, sql: str, *values: object) -> list[sqlite3.Row]: ...

    def kept_apart(self) -> frozenset[Apart]:
        """The pairs of names that are never linked."""
        return frozenset(Apart(row["first"], row["second"]) for row in self._all("SELECT * FROM kept_apart"))

    def _linked_apart(self) -> frozenset[Apart]:
        """The pairs of names that the map from names to entities was made with; decisions since are not in it."""
        return frozenset(Apart(row["first"], row["second"]) for row in self._all("SELECT * FROM names_apart"))

    def keep_apart(self, pairs: Iterable[Apart]) -> None:
        """Remembers that the names are never to be linked."""
        with self._transaction() as db:
            db.executemany(
                "INSERT OR IGNORE INTO kept_apart VALUES (?,?,datetime('now'))", [(p.first, p.second) for p in pairs]
            )

    def let_together(self, pair: Apart) -> bool:
        """Forgets the decision; whether there was one."""
        with self._transaction() as db:
            found = db.execute("DELETE FROM kept_apart WHERE first=? AND second=?", (pair.first, pair.second))
            return found.rowcount > 0
