"""What has been read: documents, their chunks and extractions as read, and how far each has come. SQLite.

States: PENDING → PROCESSING → PROCESSED | FAILED. A document is entered whole (text, chunks, extractions) before
its graphs are committed, and marked PROCESSED after; what a crash left between the two is settled on opening by
asking whether the dataset has the document's graph. Mentions and claims are kept as read: statements are their
projection and can be made again.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pyoxigraph import NamedNode

from kgplatform.documents.decisions import SCHEMA as _DECISIONS_SCHEMA
from kgplatform.documents.decisions import Decisions
from kgplatform.documents.entries import (
    DocumentRecord,
    LinkedEntity,
    Linking,
    NameKey,
    NameLink,
    State,
    TableRow,
    chunk_of,
    name_keys,
    record_of,
    table_row_of,
)
from kgplatform.documents.journal import SCHEMA as _JOURNAL_SCHEMA
from kgplatform.documents.journal import Journal
from kgplatform.documents.linkings import SCHEMA as _LINKINGS_SCHEMA
from kgplatform.documents.linkings import LinkingEntries, note_names
from kgplatform.documents.listing import DocumentSummary, Listing
from kgplatform.documents.records import decode, encode, with_terms
from kgplatform.documents.reviews import SCHEMA as _REVIEWS_SCHEMA
from kgplatform.documents.reviews import Reviews
from kgplatform.documents.running import SCHEMA as _RUNS_SCHEMA
from kgplatform.documents.running import Runs
from kgplatform.documents.table_entries import SCHEMA as _TABLES_SCHEMA
from kgplatform.documents.table_entries import TABLES, TableEntries
from kgplatform.errors import NotFoundError, WorkspaceError
from kgplatform.types import Chunk, Document, Extraction

__all__ = [
    "DocumentRecord",
    "DocumentSummary",
    "LinkedEntity",
    "Linking",
    "NameKey",
    "NameLink",
    "Registry",
    "State",
    "TableRow",
    "name_keys",
]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
  iri TEXT PRIMARY KEY, sha256 TEXT NOT NULL, title TEXT NOT NULL, media_type TEXT NOT NULL, source TEXT NOT NULL,
  language TEXT NOT NULL, author TEXT, created TEXT, text TEXT NOT NULL, state TEXT NOT NULL, error TEXT,
  updated TEXT NOT NULL, statements INTEGER NOT NULL DEFAULT 0, refused INTEGER NOT NULL DEFAULT 0,
  graph TEXT, seconds REAL NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS documents_by_hash ON documents (sha256);
CREATE INDEX IF NOT EXISTS documents_at ON documents (source);
CREATE INDEX IF NOT EXISTS documents_in_state ON documents (state, source, iri);
CREATE INDEX IF NOT EXISTS documents_of_tables ON documents (graph) WHERE graph IS NOT NULL;
CREATE TABLE IF NOT EXISTS sources (source TEXT, document TEXT, PRIMARY KEY (source, document));
CREATE INDEX IF NOT EXISTS sources_of ON sources (document);
CREATE TABLE IF NOT EXISTS chunks (
  iri TEXT PRIMARY KEY, document TEXT NOT NULL, position INTEGER NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL,
  extraction TEXT);
CREATE INDEX IF NOT EXISTS chunks_of ON chunks (document, position);
CREATE TABLE IF NOT EXISTS table_rows (
  document TEXT NOT NULL, subject TEXT NOT NULL, line INTEGER NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL,
  PRIMARY KEY (document, subject, start));
CREATE INDEX IF NOT EXISTS rows_about ON table_rows (subject);
"""


class Registry(TableEntries, Decisions, Journal, LinkingEntries, Listing, Reviews, Runs):
    """The registry of a workspace; safe for several threads."""

    def __init__(self, path: Path | None) -> None:
        self._lock = threading.RLock()
        try:
            self._db = sqlite3.connect(str(path) if path else ":memory:", check_same_thread=False, isolation_level=None)
            self._db.row_factory = sqlite3.Row
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_SCHEMA + _TABLES_SCHEMA + _DECISIONS_SCHEMA + _LINKINGS_SCHEMA + _RUNS_SCHEMA)
            self._db.executescript(_REVIEWS_SCHEMA + _JOURNAL_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise WorkspaceError(
                f"{path}: the document registry cannot be opened: {error}", path=Path(path or ".")
            ) from error
        self._fill_occurrences()
        self._prepare_runs()

    def close(self) -> None:
        """Lets the file go."""
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _all(self, sql: str, *values: object) -> list[sqlite3.Row]:
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    # the life of a document

    def enter(
        self,
        document: Document,
        chunks: Iterable[Chunk] = (),
        extractions: Iterable[Extraction] = (),
        *,
        rows: Iterable[TableRow] = (),
        graph: NamedNode | None = None,
    ) -> None:
        """Enters a document whole, as PROCESSING; an earlier entry of the same IRI is replaced."""
        given = tuple(extractions)
        read = {extraction.chunk.value: encode(extraction) for extraction in given}
        with self._transaction() as db:
            _forget(db, document.iri.value)
            _insert(db, "INSERT", document, State.PROCESSING, None)
            note_names(db, document.iri.value, given)
            db.execute("UPDATE documents SET graph=? WHERE iri=?", (graph.value if graph else None, document.iri.value))
            db.executemany(
                "INSERT INTO chunks VALUES (?,?,?,?,?,?)",
                [(c.iri.value, c.document.value, c.index, c.start, c.end, read.get(c.iri.value)) for c in chunks],
            )
            db.executemany(
                "INSERT OR IGNORE INTO table_rows VALUES (?,?,?,?,?)",
                [(r.document.value, r.subject.value, r.line, r.start, r.end) for r in rows],
            )

    def finish(
        self,
        document: Document,
        *,
        statements: int,
        refused: int,
        seconds: float,
        replaced: Iterable[NamedNode] = (),
        state: State = State.PROCESSED,
    ) -> None:
        """Marks a document PROCESSED (or QUARANTINED) and forgets those that it replaces."""
        with self._transaction() as db:
            for old in replaced:
                _forget(db, old.value)
                db.execute("DELETE FROM sources WHERE document = ?", (old.value,))
            db.execute("INSERT OR IGNORE INTO sources VALUES (?,?)", (document.source, document.iri.value))
            db.execute(
                "UPDATE documents SET state=?, error=NULL, statements=?, refused=?, seconds=?, updated=? WHERE iri=?",
                (state.value, statements, refused, seconds, _now(), document.iri.value),
            )

    def announce(self, document: Document) -> None:
        """Enters a document that is going to be read as PENDING, unless it is entered already."""
        with self._transaction() as db:
            _insert(db, "INSERT OR IGNORE", document, State.PENDING, None)

    def fail(self, document: Document, error: str) -> None:
        """Marks a document FAILED with the reason."""
        with self._transaction() as db:
            _insert(db, "INSERT OR IGNORE", document, State.FAILED, error)
            db.execute(
                "UPDATE documents SET state=?, error=?, updated=? WHERE iri=?",
                (State.FAILED.value, error, _now(), document.iri.value),
            )

    def mark(self, iri: NamedNode, state: State) -> None:
        """Sets the state of a document, as on opening after a crash."""
        with self._transaction() as db:
            db.execute("UPDATE documents SET state=?, updated=? WHERE iri=?", (state.value, _now(), iri.value))

    def recount(self, iri: NamedNode, statements: int) -> None:
        """Notes how many statements a document gives, as after its chunks were projected anew."""
        with self._transaction() as db:
            db.execute("UPDATE documents SET statements=? WHERE iri=?", (statements, iri.value))

    def set_rows(self, document: NamedNode, rows: Iterable[TableRow]) -> None:
        """Notes where the rows of a table stand that was mapped anew."""
        with self._transaction() as db:
            db.execute("DELETE FROM table_rows WHERE document = ?", (document.value,))
            db.executemany(
                "INSERT OR IGNORE INTO table_rows VALUES (?,?,?,?,?)",
                [(r.document.value, r.subject.value, r.line, r.start, r.end) for r in rows],
            )

    def replace_terms(self, terms: Mapping[NamedNode, NamedNode]) -> None:
        """Puts the successors of classes and properties into all that was read, and into the names that are linked."""
        if not terms:
            return
        with self._transaction() as db:
            for row in db.execute("SELECT iri, extraction FROM chunks WHERE extraction IS NOT NULL").fetchall():
                if any(json.dumps(old.value, ensure_ascii=False) in row["extraction"] for old in terms):
                    changed = encode(with_terms(decode(row["extraction"]), terms))
                    db.execute("UPDATE chunks SET extraction=? WHERE iri=?", (changed, row["iri"]))
            db.execute("DELETE FROM occurrences")
            for old, new in terms.items():
                db.execute("UPDATE OR IGNORE names SET type=? WHERE type=?", (new.value, old.value))
                db.execute("DELETE FROM names WHERE type=?", (old.value,))
                db.execute("UPDATE entities SET type=? WHERE type=?", (new.value, old.value))
        self._forget_linking()
        self._fill_occurrences()

    def remove(self, iri: NamedNode) -> None:
        """Forgets a document and all that was read in it."""
        with self._transaction() as db:
            _forget(db, iri.value)
            db.execute("DELETE FROM sources WHERE document = ?", (iri.value,))

    def drop_unfinished(self, source: str, keep: Iterable[NamedNode]) -> None:
        """Forgets what was to be read at ``source``, or failed there, before its content changed."""
        kept = {iri.value for iri in keep}
        with self._transaction() as db:
            rows = self._all("SELECT iri FROM documents WHERE source=? AND state IN ('pending','failed')", source)
            for row in rows:
                if row["iri"] not in kept:
                    _forget(db, row["iri"])

    def add_source(self, source: str, iri: NamedNode) -> None:
        """Notes that the document also lies at ``source``."""
        with self._transaction() as db:
            db.execute("INSERT OR IGNORE INTO sources VALUES (?,?)", (source, iri.value))

    def drop_source(self, source: str, keep: Iterable[NamedNode]) -> list[NamedNode]:
        """The documents that lay at ``source`` and lie nowhere any more; the caller removes them."""
        kept = {iri.value for iri in keep}
        stale = [
            row["document"]
            for row in self._all("SELECT document FROM sources WHERE source=?", source)
            if row["document"] not in kept
        ]
        gone = []
        for iri in stale:
            others = self._all("SELECT 1 FROM sources WHERE document=? AND source<>?", iri, source)
            if others:
                with self._transaction() as db:
                    db.execute("DELETE FROM sources WHERE document=? AND source=?", (iri, source))
            else:
                gone.append(NamedNode(iri))
        return gone

    # looking up

    def documents(self, state: State | None = None) -> list[DocumentRecord]:
        """The entries with their texts, by source; those of a state if one is given. `summaries` has no texts."""
        rows = self._all("SELECT * FROM documents WHERE ?1 IS NULL OR state=?1 ORDER BY source, iri", _value(state))
        return [record_of(row) for row in rows]

    def each(self, state: State) -> Iterator[DocumentRecord]:
        """The entries in a state, by source, read one at a time; those that went meanwhile are passed over."""
        for iri in self.iris(state):
            rows = self._all("SELECT * FROM documents WHERE iri=? AND state=?", iri.value, state.value)
            yield from (record_of(row) for row in rows)

    def document(self, iri: NamedNode) -> DocumentRecord:
        """The entry of a document.

        Raises:
            NotFoundError: no document has that IRI.
        """
        rows = self._all("SELECT * FROM documents WHERE iri=?", iri.value)
        if not rows:
            raise NotFoundError(f"no document {iri.value}; `kgplatform documents` lists them", name=iri.value)
        return record_of(rows[0])

    def state(self, iri: NamedNode) -> State | None:
        """The state of a document; None if it was never seen."""
        rows = self._all("SELECT state FROM documents WHERE iri=?", iri.value)
        return State(rows[0]["state"]) if rows else None

    def with_hash(self, sha256: str) -> list[DocumentRecord]:
        """The entries of the documents in a file of that content."""
        rows = self._all("SELECT * FROM documents WHERE sha256=? ORDER BY iri", sha256)
        return [record_of(row) for row in rows]

    def find(self, name: str) -> DocumentRecord:
        """The entry with that IRI, source, file name, title, or beginning of the hash.

        Raises:
            NotFoundError: none or several fit.
        """
        rows = self._all(
            "SELECT * FROM documents WHERE iri=?1 OR source=?1 OR title=?1"
            " OR (length(?1) >= 6 AND substr(sha256, 1, length(?1)) = ?1)"
            " OR substr(source, -length(?1) - 1) = '/' || ?1"
            " OR substr(iri, -length('/document/' || ?1)) = '/document/' || ?1 ORDER BY source, iri",
            name,
        )
        if not rows:
            raise NotFoundError(f"no document fits {name!r}; `kgplatform documents` lists them", name=name)
        if len(rows) > 1:
            fits = "; ".join(f"{row['iri']} ({row['title']}, {row['state']})" for row in rows[:5])
            raise NotFoundError(f"{len(rows)} documents fit {name!r}, give an IRI: {fits}", name=name)
        return record_of(rows[0])

    def chunks(self, document: NamedNode) -> list[Chunk]:
        """The chunks of a document, in order."""
        text = self.document(document).document.text
        rows = self._all("SELECT * FROM chunks WHERE document=? ORDER BY position", document.value)
        return [chunk_of(row, text) for row in rows]

    def chunk(self, iri: NamedNode) -> tuple[Chunk, Document]:
        """The chunk of that IRI with its document.

        Raises:
            NotFoundError: no chunk has that IRI.
        """
        rows = self._all("SELECT * FROM chunks WHERE iri=?", iri.value)
        if not rows:
            raise NotFoundError(f"no chunk {iri.value}", name=iri.value)
        document = self.document(NamedNode(rows[0]["document"])).document
        return chunk_of(rows[0], document.text), document

    def extraction(self, chunk: NamedNode) -> Extraction | None:
        """What was read in a chunk; None if nothing was."""
        rows = self._all("SELECT extraction FROM chunks WHERE iri=? AND extraction IS NOT NULL", chunk.value)
        return decode(rows[0]["extraction"]) if rows else None

    def rows_about(self, subject: NamedNode) -> list[TableRow]:
        """The table rows that describe an entity."""
        rows = self._all("SELECT * FROM table_rows WHERE subject=? ORDER BY document, start", subject.value)
        return [table_row_of(row) for row in rows]

    def row_subjects(self) -> frozenset[NamedNode]:
        """The entities that have a row."""
        return frozenset(NamedNode(row["subject"]) for row in self._all("SELECT DISTINCT subject FROM table_rows"))

    def rows_of(self, document: NamedNode) -> list[TableRow]:
        """The rows of a table document, in order."""
        rows = self._all("SELECT * FROM table_rows WHERE document=? ORDER BY start", document.value)
        return [table_row_of(row) for row in rows]

    def extractions(self, document: NamedNode | None = None) -> Iterator[Extraction]:
        """What was read, chunk by chunk: in one document or in all that are PROCESSED, in a stable order."""
        sql = "SELECT iri FROM documents WHERE state='processed' ORDER BY iri"
        for iri in [document.value] if document is not None else [row["iri"] for row in self._all(sql)]:
            rows = self._all(
                "SELECT extraction FROM chunks WHERE document=? AND extraction IS NOT NULL ORDER BY position", iri
            )
            for row in rows:
                yield decode(row["extraction"])

    def table_graphs(self) -> dict[str, NamedNode]:
        """The table graphs in use, with the document each belongs to."""
        return {
            row["graph"]: NamedNode(row["iri"])
            for row in self._all("SELECT iri, graph FROM documents WHERE graph IS NOT NULL")
        }


def _value(state: State | None) -> str | None:
    return state.value if state else None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _insert(db: sqlite3.Connection, verb: str, document: Document, state: State, error: str | None) -> None:
    db.execute(
        f"{verb} INTO documents (iri, sha256, title, media_type, source, language, author, created, text, state,"
        " error, updated) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            *(document.iri.value, document.sha256, document.title, document.media_type, document.source),
            *(document.language, document.author, document.created, document.text, state.value, error, _now()),
        ),
    )


def _forget(db: sqlite3.Connection, iri: str) -> None:
    db.execute("DELETE FROM documents WHERE iri = ?", (iri,))
    db.execute("DELETE FROM chunks WHERE document = ?", (iri,))
    for table in ("table_rows", "occurrences", *TABLES):
        db.execute(f"DELETE FROM {table} WHERE document = ?", (iri,))
