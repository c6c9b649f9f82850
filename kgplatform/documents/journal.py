"""Which documents changed since somebody last looked, in this process: for what follows the registry by changes."""

from __future__ import annotations

import hashlib
import sqlite3
from abc import abstractmethod
from collections.abc import Iterable
from typing import Final

from pyoxigraph import NamedNode

SCHEMA: Final = """
PRAGMA temp_store = MEMORY;
CREATE TEMP TABLE IF NOT EXISTS changes (number INTEGER PRIMARY KEY AUTOINCREMENT, document TEXT NOT NULL);
CREATE TEMP TRIGGER IF NOT EXISTS chunk_in AFTER INSERT ON main.chunks
  BEGIN INSERT INTO changes (document) VALUES (NEW.document); END;
CREATE TEMP TRIGGER IF NOT EXISTS chunk_read AFTER UPDATE OF extraction ON main.chunks
  BEGIN INSERT INTO changes (document) VALUES (NEW.document); END;
CREATE TEMP TRIGGER IF NOT EXISTS chunk_out AFTER DELETE ON main.chunks
  BEGIN INSERT INTO changes (document) VALUES (OLD.document); END;
CREATE TEMP TRIGGER IF NOT EXISTS document_moved AFTER UPDATE OF state ON main.documents
  BEGIN INSERT INTO changes (document) VALUES (NEW.iri); END;
CREATE TEMP TRIGGER IF NOT EXISTS document_out AFTER DELETE ON main.documents
  BEGIN INSERT INTO changes (document) VALUES (OLD.iri); END;
"""
"""Triggers, so that no way of writing can be forgotten."""


_MANY: Final = 500
"""So many documents are asked for at a time."""


class Journal:
    """The part of the registry that tells what changed."""

    @abstractmethod
    def _all(self, sql: str, *values: object) -> list[sqlite3.Row]: ...

    def latest_change(self) -> int:
        """The number of the last change."""
        (row,) = self._all("SELECT coalesce(max(number), 0) AS number FROM changes")
        return int(row["number"])

    def changed_since(self, number: int) -> list[NamedNode]:
        """The documents whose state, or what was read in them, changed after the change of that number."""
        rows = self._all("SELECT DISTINCT document FROM changes WHERE number > ? ORDER BY document", number)
        return [NamedNode(row["document"]) for row in rows]

    def digests(self, documents: Iterable[NamedNode] | None = None) -> dict[str, str]:
        """By what is known what was read in each document that is PROCESSED: in all of them, or in these."""
        if documents is None:
            rows = self._all("SELECT iri FROM documents WHERE state='processed' ORDER BY iri")
            listed = [str(row["iri"]) for row in rows]
        else:
            listed = sorted(document.value for document in documents)
        made: dict[str, hashlib.blake2b] = {}
        for start in range(0, len(listed), _MANY):
            some = listed[start : start + _MANY]
            rows = self._all(
                "SELECT document, extraction FROM chunks JOIN documents ON documents.iri = document"
                f" WHERE document IN ({','.join('?' * len(some))}) AND state='processed' AND extraction IS NOT NULL"
                " ORDER BY document, position",
                *some,
            )
            for row in rows:
                digest = made.setdefault(row["document"], hashlib.blake2b(digest_size=16))
                digest.update(str(row["extraction"]).encode("utf-8", "surrogatepass") + b"\0")
        return {document: digest.hexdigest() for document, digest in made.items()}
