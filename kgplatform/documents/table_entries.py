"""What the registry keeps of tables: by which mapping each was read, and, of large ones, which row is about what.

The rows of a large table are not kept: for each entity 64 bits of a hash of its IRI and the number of its row, in 256
blocks that are read one at a time. A row is read again from its source when somebody asks for it.
"""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SCHEMA = """
CREATE TABLE IF NOT EXISTS tables (
  document TEXT PRIMARY KEY, location TEXT NOT NULL, mapping_name TEXT NOT NULL, mapping TEXT NOT NULL,
  is_draft INTEGER NOT NULL, is_large INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS row_blocks (
  document TEXT NOT NULL, block INTEGER NOT NULL, hashes BLOB NOT NULL, numbers BLOB NOT NULL,
  PRIMARY KEY (document, block));
CREATE TABLE IF NOT EXISTS given_mappings (source TEXT PRIMARY KEY, path TEXT NOT NULL);
"""
TABLES = ("tables", "row_blocks")
_BLOCK_BITS = 56


@dataclass(frozen=True, slots=True)
class TableEntry:
    """By which mapping a table was read: its file's name and text, and whether it is a draft of the platform's own."""

    location: str
    mapping_name: str
    mapping: str
    is_draft: bool = True
    is_large: bool = False


def row_hash(iri: str) -> int:
    """The 64 bits by which an entity is known in the index of a large table."""
    return int.from_bytes(blake2b(iri.encode(), digest_size=8).digest(), "big")


class TableEntries:
    """The part of the registry that is about tables."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[sqlite3.Connection]: ...

    @abstractmethod
    def _all(self, sql: str, *values: object) -> list[sqlite3.Row]: ...

    def set_table(self, document: NamedNode, entry: TableEntry) -> None:
        """Notes by which mapping a table was read."""
        values = (entry.location, entry.mapping_name, entry.mapping, entry.is_draft, entry.is_large)
        with self._transaction() as db:
            db.execute("INSERT OR REPLACE INTO tables VALUES (?,?,?,?,?,?)", (document.value, *values))

    def give_mapping(self, sources: Iterable[str], path: str | None) -> None:
        """Notes by which mapping file what lies at those places is to be read; None: by none that is given."""
        with self._transaction() as db:
            for source in sources:
                db.execute("DELETE FROM given_mappings WHERE source=?", (source,))
                if path is not None:
                    db.execute("INSERT INTO given_mappings VALUES (?,?)", (source, path))

    def given_mapping(self, source: str) -> str | None:
        """The mapping file that was given for what lies at that place."""
        rows = self._all("SELECT path FROM given_mappings WHERE source=?", source)
        return str(rows[0]["path"]) if rows else None

    def table(self, document: NamedNode) -> TableEntry | None:
        """By which mapping a table was read; None if that was not noted."""
        for row in self._all("SELECT * FROM tables WHERE document=?", document.value):
            texts = (row["location"], row["mapping_name"], row["mapping"])
            return TableEntry(*texts, is_draft=bool(row["is_draft"]), is_large=bool(row["is_large"]))
        return None

    def large_tables(self) -> frozenset[NamedNode]:
        """The documents that are large tables."""
        return frozenset(NamedNode(row["document"]) for row in self._all("SELECT document FROM tables WHERE is_large"))

    def large_graphs(self) -> frozenset[NamedNode]:
        """The graphs of the large tables."""
        rows = self._all(
            "SELECT d.graph FROM documents d JOIN tables t ON t.document = d.iri WHERE t.is_large AND d.graph NOT NULL"
        )
        return frozenset(NamedNode(row["graph"]) for row in rows)

    def set_row_numbers(self, document: NamedNode, hashes: NDArray[np.uint64], numbers: NDArray[np.uint32]) -> None:
        """Keeps which row of a large table is about what; ``hashes`` are sorted."""
        import numpy as np

        edges = np.searchsorted(hashes, [np.uint64(block << _BLOCK_BITS) for block in range(256)])
        ends = [*edges[1:].tolist(), len(hashes)]
        with self._transaction() as db:
            db.execute("DELETE FROM row_blocks WHERE document=?", (document.value,))
            for block, (start, end) in enumerate(zip(edges.tolist(), ends, strict=True)):
                if end > start:
                    blobs = (hashes[start:end].tobytes(), numbers[start:end].tobytes())
                    db.execute("INSERT INTO row_blocks VALUES (?,?,?,?)", (document.value, block, *blobs))

    def row_hashes(self, document: NamedNode) -> NDArray[np.uint64]:
        """The hashes of what the rows of a table are about, in order, each once."""
        import numpy as np

        blocks = self._all("SELECT hashes FROM row_blocks WHERE document=? ORDER BY block", document.value)
        found = [np.frombuffer(row["hashes"], dtype=np.uint64) for row in blocks]
        if not found:
            rows = self._all("SELECT DISTINCT subject FROM table_rows WHERE document=?", document.value)
            found = [np.fromiter((row_hash(row["subject"]) for row in rows), np.uint64, len(rows))]
        return np.unique(np.concatenate(found))

    def take_over(self, old: NamedNode, new: NamedNode) -> None:
        """Makes the graph of a table that of its newer version."""
        with self._transaction() as db:
            sql = "UPDATE documents SET graph=(SELECT graph FROM documents WHERE iri=?) WHERE iri=?"
            db.execute(sql, (old.value, new.value))
            db.execute("UPDATE documents SET graph=NULL WHERE iri=?", (old.value,))

    def row_number(self, document: NamedNode, subject: NamedNode) -> int | None:
        """The number of the first row of a large table that is about an entity."""
        import numpy as np

        wanted = row_hash(subject.value)
        rows = self._all("SELECT * FROM row_blocks WHERE document=? AND block=?", document.value, wanted >> _BLOCK_BITS)
        for row in rows:
            hashes = np.frombuffer(row["hashes"], dtype=np.uint64)
            place = int(np.searchsorted(hashes, np.uint64(wanted)))
            if place < len(hashes) and int(hashes[place]) == wanted:
                return int(np.frombuffer(row["numbers"], dtype=np.uint32)[place])
        return None
