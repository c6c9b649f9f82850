"""What has been read: documents, their chunks and extractions as read, and how far each has come. SQLite.

States: PENDING → PROCESSING → PROCESSED | FAILED. A document is entered whole (text, chunks, extractions) before
its graphs are committed, and marked PROCESSED after; what a crash left between the two is settled on opening by
asking whether the dataset has the document's graph. Mentions and claims are kept as read: statements are their
projection and can be made again. What people decided (names that are kept apart, reviews of statements) outlives
documents and rebuilding.

Of a large table the rows are not kept: for each entity 64 bits of a hash of its IRI and the number of its row, in 256
blocks that are read one at a time. A row is read again from its source when somebody asks for it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyoxigraph as ox
from pyoxigraph import NamedNode, RdfFormat, Triple

from kgplatform.documents.progress import Runs
from kgplatform.documents.records import (
    Apart,
    DocumentRecord,
    DocumentSummary,
    Judgement,
    LinkedEntity,
    Linking,
    NameKey,
    NameLink,
    Review,
    State,
    TableEntry,
    TableRow,
    decode,
    encode,
    name_keys,
    row_hash,
    with_terms,
)
from kgplatform.errors import NotFoundError
from kgplatform.ontology.schema import Word
from kgplatform.types import Chunk, Document, Extraction, Refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kgplatform.journal.changed_rows import ChangedRows

_SCHEMA: Final = """
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
CREATE TABLE IF NOT EXISTS tables (
  document TEXT PRIMARY KEY, location TEXT NOT NULL, mapping_name TEXT NOT NULL, mapping TEXT NOT NULL,
  is_draft INTEGER NOT NULL, is_large INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS row_blocks (
  document TEXT NOT NULL, block INTEGER NOT NULL, hashes BLOB NOT NULL, numbers BLOB NOT NULL,
  PRIMARY KEY (document, block));
CREATE TABLE IF NOT EXISTS given_mappings (source TEXT PRIMARY KEY, path TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS kept_apart (
  first TEXT NOT NULL, second TEXT NOT NULL, updated TEXT NOT NULL, PRIMARY KEY (first, second));
CREATE TABLE IF NOT EXISTS names_apart (first TEXT NOT NULL, second TEXT NOT NULL, PRIMARY KEY (first, second));
CREATE TABLE IF NOT EXISTS names (
  type TEXT NOT NULL, name TEXT NOT NULL, entity TEXT NOT NULL, score REAL NOT NULL, method TEXT NOT NULL,
  PRIMARY KEY (type, name));
CREATE TABLE IF NOT EXISTS entities (entity TEXT PRIMARY KEY, type TEXT NOT NULL, labels TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS names_in (
  document TEXT NOT NULL, type TEXT NOT NULL, name TEXT NOT NULL, entity TEXT NOT NULL,
  PRIMARY KEY (document, type, name));
CREATE INDEX IF NOT EXISTS names_of ON names (entity);
CREATE INDEX IF NOT EXISTS names_in_of ON names_in (entity);
CREATE TABLE IF NOT EXISTS refused (
  subject TEXT NOT NULL, predicate TEXT NOT NULL, object TEXT NOT NULL, PRIMARY KEY (subject, predicate, object));
CREATE TABLE IF NOT EXISTS occurrences (
  type TEXT NOT NULL, name TEXT NOT NULL, document TEXT NOT NULL, PRIMARY KEY (type, name, document)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS occurrences_in ON occurrences (document);
CREATE TABLE IF NOT EXISTS reviews (
  statement TEXT PRIMARY KEY, judgement TEXT NOT NULL, corrections TEXT NOT NULL, document TEXT NOT NULL,
  graph TEXT NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL, quote TEXT NOT NULL, person TEXT NOT NULL,
  moment TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS reviews_in ON reviews (document);
CREATE TABLE IF NOT EXISTS given_statements (
  source TEXT NOT NULL, document TEXT NOT NULL, PRIMARY KEY (source, document));
CREATE INDEX IF NOT EXISTS given_statements_of ON given_statements (document);
CREATE TABLE IF NOT EXISTS refusals (document TEXT NOT NULL, text TEXT NOT NULL, reason TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS refusals_in ON refusals (document);
CREATE TABLE IF NOT EXISTS failures (document TEXT PRIMARY KEY, stage TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS ontology_files (name TEXT PRIMARY KEY, data BLOB NOT NULL);
"""
# triggers, so that no way of writing can be forgotten
_CHANGES: Final = """
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
_OF_A_DOCUMENT: Final = ("table_rows", "occurrences", "tables", "row_blocks", "given_statements", "refusals")
"""The tables whose rows go with their document; its chunks too."""
_OF_NAMES: Final = ("names", "entities", "names_in", "refused", "names_apart")
_COLUMNS = (
    "iri, title, source, media_type, language, sha256, state, error, updated, statements, refused, seconds,"
    " length(text) AS characters, graph IS NOT NULL AS is_table"
)
_MOST_PARAMETERS: Final = 400
"""So many documents or names are asked for at a time."""
_BLOCK_BITS = 56


class Registry(Runs):
    """The registry of a workspace; safe for several threads."""

    _linked: Linking | None = None
    """The linking as it was read or written last: only this process writes it."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, _SCHEMA + _CHANGES)
        self._fill_occurrences()

    @cached_property
    def changed_rows(self) -> ChangedRows:
        """What notes the rows that change, and takes over those of a journal."""
        from kgplatform.journal.changed_rows import ChangedRows

        return ChangedRows(self._transaction, applied=self._forget_linking)

    def copy_without(self, is_hidden: Callable[[str], bool], path: Path) -> None:
        """Writes to a new file what is kept of the documents that are PROCESSED and not hidden, and nothing besides.

        ``is_hidden`` is asked about the IRI of a document, its table graph and each place that it was found at. What
        names stand for is kept as it is; linking puts its own in place of it.
        """
        with self._lock, closing(sqlite3.connect(path, isolation_level=None)) as copy:
            self._db.backup(copy)
            copy.create_function("is_hidden", 1, lambda name: name is not None and is_hidden(name))
            listed = copy.execute("SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%'")
            others = {name for (name,) in listed} - {"documents", "kept_apart", *_OF_NAMES}
            copy.execute("BEGIN")
            copy.execute(
                "DELETE FROM documents WHERE state != 'processed' OR is_hidden(iri) OR is_hidden(graph) OR"
                " is_hidden(source) OR iri IN (SELECT document FROM sources WHERE is_hidden(source))"
            )
            for table in ("chunks", "sources", "reviews", *_OF_A_DOCUMENT):
                copy.execute(f"DELETE FROM {table} WHERE document NOT IN (SELECT iri FROM documents)")
                others.remove(table)
            known = "(SELECT name FROM occurrences)"
            copy.execute(f"DELETE FROM kept_apart WHERE first NOT IN {known} OR second NOT IN {known}")
            for table in sorted(others):
                copy.execute(f"DELETE FROM {table}")
            copy.execute("COMMIT")
            copy.execute("VACUUM")

    def ontology_files(self) -> dict[str, bytes]:
        """The files of the ontology by name, where they travel with patches; under no name which ones are in use."""
        return {row["name"]: row["data"] for row in self._all("SELECT name, data FROM ontology_files")}

    def set_ontology_files(self, files: Mapping[str, bytes]) -> None:
        """Puts these in the place of those that are kept."""
        with self._transaction() as db:
            db.execute("DELETE FROM ontology_files")
            db.executemany("INSERT INTO ontology_files VALUES (?,?)", files.items())

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
            _insert_document(db, "INSERT", document, State.PROCESSING, None)
            _note_names(db, document.iri.value, given)
            db.execute("UPDATE documents SET graph=? WHERE iri=?", (graph.value if graph else None, document.iri.value))
            db.executemany(
                "INSERT INTO chunks VALUES (?,?,?,?,?,?)",
                [(c.iri.value, c.document.value, c.index, c.start, c.end, read.get(c.iri.value)) for c in chunks],
            )
            _note_rows(db, rows)

    def finish(
        self,
        document: Document,
        *,
        statements: int,
        refused: int,
        seconds: float,
        replaced: Iterable[NamedNode] = (),
        state: State = State.PROCESSED,
        refusals: Iterable[Refusal] | None = None,
    ) -> None:
        """Marks a document PROCESSED (or QUARANTINED) and forgets those that it replaces.

        ``refusals`` are the refused ones with reasons; without them those that are known stay.
        """
        with self._transaction() as db:
            if refusals is not None:
                db.execute("DELETE FROM refusals WHERE document = ?", (document.iri.value,))
                kept = [(document.iri.value, one.text, one.reason) for one in refusals]
                db.executemany("INSERT INTO refusals VALUES (?,?,?)", kept)
            for old in replaced:
                _forget(db, old.value)
                db.execute("DELETE FROM sources WHERE document = ?", (old.value,))
            db.execute("INSERT OR IGNORE INTO sources VALUES (?,?)", (document.source, document.iri.value))
            db.execute(
                "UPDATE documents SET state=?, error=NULL, statements=?, refused=?, seconds=?, updated=? WHERE iri=?",
                (state.value, statements, refused, seconds, _now(), document.iri.value),
            )

    def read_anew(self, source: str, documents: Mapping[NamedNode, Sequence[Extraction]]) -> None:
        """Puts what was read in documents, with the statements that a file gives, in the place of what was before.

        They are PROCESSING until `finish`.
        """
        with self._transaction() as db:
            for iri, extractions in documents.items():
                read = [(encode(extraction), extraction.chunk.value) for extraction in extractions]
                db.execute("UPDATE documents SET state=? WHERE iri=?", (State.PROCESSING.value, iri.value))
                db.executemany("UPDATE chunks SET extraction=? WHERE iri=?", read)
                _note_names(db, iri.value, extractions)
                db.execute("DELETE FROM given_statements WHERE source=? AND document=?", (source, iri.value))
                if any(claim.given == source for extraction in extractions for claim in extraction.claims):
                    db.execute("INSERT INTO given_statements VALUES (?,?)", (source, iri.value))

    def given(self, source: str) -> list[NamedNode]:
        """The documents that a file gave statements of."""
        rows = self._all("SELECT document FROM given_statements WHERE source=? ORDER BY document", source)
        return [NamedNode(row["document"]) for row in rows]

    def has_given(self) -> bool:
        """Whether any file gave statements."""
        return bool(self._all("SELECT 1 FROM given_statements LIMIT 1"))

    def givers(self, name: str = "") -> dict[str, int]:
        """The files that gave statements, each with the number of its documents: all, or those called so."""
        rows = self._all(
            "SELECT source, count(*) AS number FROM given_statements"
            " WHERE ?1 IN ('', source) OR substr(source, -length(?1) - 1) = '/' || ?1 GROUP BY source ORDER BY source",
            name,
        )
        return {row["source"]: row["number"] for row in rows}

    def announce(self, document: Document) -> None:
        """Enters a document that is going to be read as PENDING, unless it is entered already."""
        with self._transaction() as db:
            _insert_document(db, "INSERT OR IGNORE", document, State.PENDING, None)

    def fail(self, document: Document, error: str) -> None:
        """Marks a document FAILED with the reason."""
        with self._transaction() as db:
            _insert_document(db, "INSERT OR IGNORE", document, State.FAILED, error)
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
            _note_rows(db, rows)

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
        self._linked = None
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
        gone = []
        for row in self._all("SELECT document FROM sources WHERE source=?", source):
            iri = row["document"]
            if iri in kept:
                continue
            others = self._all("SELECT 1 FROM sources WHERE document=? AND source<>?", iri, source)
            if others:
                with self._transaction() as db:
                    db.execute("DELETE FROM sources WHERE document=? AND source=?", (iri, source))
            else:
                gone.append(NamedNode(iri))
        return gone

    # looking up documents

    def documents(self, state: State | None = None) -> list[DocumentRecord]:
        """The entries with their texts, by source; those of a state if one is given. `summaries` has no texts."""
        rows = self._all(
            "SELECT * FROM documents WHERE ?1 IS NULL OR state=?1 ORDER BY source, iri", state and state.value
        )
        return [_record(row) for row in rows]

    def each(self, state: State) -> Iterator[DocumentRecord]:
        """The entries in a state, by source, read one at a time; those that went meanwhile are passed over."""
        for iri in self.iris(state):
            rows = self._all("SELECT * FROM documents WHERE iri=? AND state=?", iri.value, state.value)
            yield from (_record(row) for row in rows)

    def document(self, iri: NamedNode) -> DocumentRecord:
        """The entry of a document.

        Raises:
            NotFoundError: no document has that IRI.
        """
        rows = self._all("SELECT * FROM documents WHERE iri=?", iri.value)
        if not rows:
            raise NotFoundError(f"no document {iri.value}; `kgplatform documents` lists them", name=iri.value)
        return _record(rows[0])

    def state(self, iri: NamedNode) -> State | None:
        """The state of a document; None if it was never seen."""
        rows = self._all("SELECT state FROM documents WHERE iri=?", iri.value)
        return State(rows[0]["state"]) if rows else None

    def with_hash(self, sha256: str) -> list[DocumentRecord]:
        """The entries of the documents in a file of that content."""
        rows = self._all("SELECT * FROM documents WHERE sha256=? ORDER BY iri", sha256)
        return [_record(row) for row in rows]

    def find(self, name: str) -> DocumentRecord:
        """The entry with that IRI, source, file name, title, or beginning of the hash.

        Raises:
            NotFoundError: none or several fit.
        """
        found = self.fitting(name)
        if not found:
            raise NotFoundError(f"no document fits {name!r}; `kgplatform documents` lists them", name=name)
        if len(found) > 1:
            fits = "; ".join(f"{one.document.iri.value} ({one.document.title}, {one.state.value})" for one in found[:5])
            raise NotFoundError(f"{len(found)} documents fit {name!r}, give an IRI: {fits}", name=name)
        return found[0]

    def fitting(self, name: str) -> list[DocumentRecord]:
        """All the entries with that IRI, source, file name, title, or beginning of the hash."""
        rows = self._all("SELECT * FROM documents WHERE iri=?", name) or self._all(
            "SELECT * FROM documents WHERE iri=?1 OR source=?1 OR title=?1"
            " OR (length(?1) >= 6 AND substr(sha256, 1, length(?1)) = ?1)"
            " OR substr(source, -length(?1) - 1) = '/' || ?1"
            " OR substr(iri, -length('/document/' || ?1)) = '/document/' || ?1 ORDER BY source, iri",
            name,
        )
        return [_record(row) for row in rows]

    def tables_of(self, name: str) -> list[str]:
        """The IRIs of the tables that come from a workbook or database of that path or file name."""
        found = "SELECT iri FROM documents WHERE instr('/' || source, '/' || ? || '#') > 0 ORDER BY source"
        return [row["iri"] for row in self._all(found, name)]

    def counts(self) -> dict[State, int]:
        """How many documents are in each state, states without any left out."""
        rows = self._all("SELECT state, count(*) AS number FROM documents GROUP BY state ORDER BY state")
        return {State(row["state"]): row["number"] for row in rows}

    def is_entered(self, source: str) -> bool:
        """Whether a document comes from there."""
        return bool(self._all("SELECT 1 FROM documents WHERE source=? LIMIT 1", source))

    def summaries(
        self, state: State | None = None, *, limit: int | None = None, offset: int = 0
    ) -> list[DocumentSummary]:
        """The entries by source, those of a state if one is given, at most ``limit`` from the ``offset``-th on."""
        rows = self._all(
            f"SELECT {_COLUMNS} FROM documents WHERE ?1 IS NULL OR state=?1 ORDER BY source, iri LIMIT ?2 OFFSET ?3",
            *(state and state.value, -1 if limit is None else limit, offset),
        )
        return [_summary(row) for row in rows]

    def iris(self, state: State) -> list[NamedNode]:
        """The documents in a state, by source."""
        rows = self._all("SELECT iri FROM documents WHERE state=? ORDER BY source, iri", state.value)
        return [NamedNode(row["iri"]) for row in rows]

    def passages(self) -> Iterator[tuple[Chunk, str]]:
        """The passages of all documents that are PROCESSED and no tables, each with its document's title, by source."""
        documents = "FROM documents WHERE state='processed' AND graph IS NULL"
        listed = [row["iri"] for row in self._all(f"SELECT iri {documents} ORDER BY source, iri")]
        for start in range(0, len(listed), _MOST_PARAMETERS):
            some = listed[start : start + _MOST_PARAMETERS]
            among = f"IN ({','.join('?' * len(some))})"
            texts = self._all(f"SELECT iri, title, text {documents} AND iri {among}", *some)
            rows = self._all(f"SELECT * FROM chunks WHERE document {among} ORDER BY document, position", *some)
            chunks: dict[str, list[sqlite3.Row]] = {}
            for row in rows:
                chunks.setdefault(row["document"], []).append(row)
            held = {row["iri"]: row for row in texts}
            for iri in (iri for iri in some if iri in held):
                text, title = held[iri]["text"], held[iri]["title"]
                yield from ((_chunk(row, text), title) for row in chunks.get(iri, ()))

    # chunks and what was read in them

    def chunks(self, document: NamedNode) -> list[Chunk]:
        """The chunks of a document, in order."""
        text = self.document(document).document.text
        rows = self._all("SELECT * FROM chunks WHERE document=? ORDER BY position", document.value)
        return [_chunk(row, text) for row in rows]

    def chunk(self, iri: NamedNode) -> tuple[Chunk, Document]:
        """The chunk of that IRI with its document.

        Raises:
            NotFoundError: no chunk has that IRI.
        """
        rows = self._all("SELECT * FROM chunks WHERE iri=?", iri.value)
        if not rows:
            raise NotFoundError(f"no chunk {iri.value}", name=iri.value)
        document = self.document(NamedNode(rows[0]["document"])).document
        return _chunk(rows[0], document.text), document

    def extraction(self, chunk: NamedNode) -> Extraction | None:
        """What was read in a chunk; None if nothing was."""
        rows = self._all("SELECT extraction FROM chunks WHERE iri=? AND extraction IS NOT NULL", chunk.value)
        return decode(rows[0]["extraction"]) if rows else None

    def extractions(self, document: NamedNode | None = None) -> Iterator[Extraction]:
        """What was read, chunk by chunk: in one document or in all that are PROCESSED, in a stable order."""
        sql = "SELECT iri FROM documents WHERE state='processed' ORDER BY iri"
        for iri in [document.value] if document is not None else [row["iri"] for row in self._all(sql)]:
            rows = self._all(
                "SELECT extraction FROM chunks WHERE document=? AND extraction IS NOT NULL ORDER BY position", iri
            )
            for row in rows:
                yield decode(row["extraction"])

    def refusals(self, document: NamedNode) -> tuple[Refusal, ...]:
        """What was read in the document and not accepted, with the reasons; empty where none were kept."""
        rows = self._all("SELECT text, reason FROM refusals WHERE document=? ORDER BY rowid", document.value)
        return tuple(Refusal(row["text"], row["reason"]) for row in rows)

    # what changed, for those that follow the registry in this process

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
        for start in range(0, len(listed), _MOST_PARAMETERS):
            some = listed[start : start + _MOST_PARAMETERS]
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

    # tables

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

    def table_graphs(self, source: str | None = None) -> dict[str, NamedNode]:
        """The table graphs in use, with the document each belongs to: all, or those of one source's versions."""
        query = "SELECT iri, graph FROM documents WHERE graph IS NOT NULL AND (?1 IS NULL OR source=?1)"
        return {row["graph"]: NamedNode(row["iri"]) for row in self._all(query, source)}

    def rows_about(self, subject: NamedNode) -> list[TableRow]:
        """The table rows that describe an entity."""
        rows = self._all("SELECT * FROM table_rows WHERE subject=? ORDER BY document, start", subject.value)
        return [_table_row(row) for row in rows]

    def row_subjects(self) -> frozenset[NamedNode]:
        """The entities that have a row."""
        return frozenset(NamedNode(row["subject"]) for row in self._all("SELECT DISTINCT subject FROM table_rows"))

    def rows_of(self, document: NamedNode) -> list[TableRow]:
        """The rows of a table document, in order."""
        rows = self._all("SELECT * FROM table_rows WHERE document=? ORDER BY start", document.value)
        return [_table_row(row) for row in rows]

    def take_over(self, old: NamedNode, new: NamedNode) -> None:
        """Makes the graph of a table that of its newer version."""
        with self._transaction() as db:
            sql = "UPDATE documents SET graph=(SELECT graph FROM documents WHERE iri=?) WHERE iri=?"
            db.execute(sql, (old.value, new.value))
            db.execute("UPDATE documents SET graph=NULL WHERE iri=?", (old.value,))

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

    # names and entities

    def documents_naming(self, keys: Collection[NameKey]) -> list[NamedNode]:
        """The documents in which one of the names occurs, in the order of their IRIs."""
        if len(keys) > _MOST_PARAMETERS:
            wanted = {(type_.value, name) for type_, name in keys}
            rows = self._all("SELECT type, name, document FROM occurrences")
            found = {row["document"] for row in rows if (row["type"], row["name"]) in wanted}
        else:
            found = {
                row["document"]
                for type_, name in keys
                for row in self._all("SELECT document FROM occurrences WHERE type=? AND name=?", type_.value, name)
            }
        return [NamedNode(iri) for iri in sorted(found)]

    def naming(self, entities: Iterable[NamedNode]) -> tuple[frozenset[NameKey], frozenset[str]]:
        """Names that stand for one of the entities, and the documents (tables: graphs) where one does only there."""
        names, single = set[NameKey](), set[str]()
        for iri in entities:
            rows = self._all("SELECT type, name FROM names WHERE entity=?", iri.value)
            names.update((NamedNode(row["type"]), row["name"]) for row in rows)
            single.update(r["document"] for r in self._all("SELECT document FROM names_in WHERE entity=?", iri.value))
        return frozenset(names), frozenset(single)

    def _fill_occurrences(self) -> None:
        """Notes the names of documents that were read before names were noted."""
        missing = self._all(
            "SELECT DISTINCT document FROM chunks WHERE extraction IS NOT NULL"
            " AND NOT EXISTS (SELECT 1 FROM occurrences LIMIT 1)"
        )
        for row in missing:
            read = self._all(
                "SELECT extraction FROM chunks WHERE document=? AND extraction IS NOT NULL", row["document"]
            )
            with self._transaction() as db:
                _note_names(db, row["document"], [decode(item["extraction"]) for item in read])

    def linking(self) -> Linking:
        """Which entity each (class, normalised name) stands for."""
        if self._linked is None:
            self._linked = self._read_linking()
        return self._linked

    def _read_linking(self) -> Linking:
        names = {
            (NamedNode(row["type"]), row["name"]): NameLink(
                NamedNode(row["type"]), row["name"], NamedNode(row["entity"]), row["score"], row["method"]
            )
            for row in self._all("SELECT * FROM names")
        }
        entities = {
            NamedNode(row["entity"]): LinkedEntity(
                NamedNode(row["entity"]),
                NamedNode(row["type"]),
                tuple(Word(*pair) for pair in json.loads(row["labels"])),
            )
            for row in self._all("SELECT * FROM entities")
        }
        scoped = {
            (row["document"], (NamedNode(row["type"]), row["name"])): NamedNode(row["entity"])
            for row in self._all("SELECT * FROM names_in")
        }
        refused = frozenset(Triple(*(NamedNode(iri) for iri in row)) for row in self._all("SELECT * FROM refused"))
        return Linking(names, entities, scoped, refused, self._linked_apart())

    def _forget_linking(self, _tables: frozenset[str]) -> None:
        self._linked = None

    def set_linking(self, linking: Linking) -> None:
        """Replaces the map from names to entities."""
        with self._transaction() as db:
            for table in _OF_NAMES:
                db.execute(f"DELETE FROM {table}")
            db.executemany("INSERT INTO names_apart VALUES (?,?)", [(p.first, p.second) for p in linking.apart])
            _insert_linking(db, linking)
        self._linked = linking

    def change_linking(self, old: Linking, new: Linking, whole: Linking) -> None:
        """Puts some of the names and entities in for others, so that the map is ``whole``."""
        with self._transaction() as db:
            gone = old.names.keys() - new.names.keys()
            db.executemany("DELETE FROM names WHERE type=? AND name=?", [(key[0].value, key[1]) for key in gone])
            left = [(iri.value,) for iri in old.entities if iri not in whole.entities]
            db.executemany("DELETE FROM entities WHERE entity=?", left)
            moved = dict(old.scoped.items() - new.scoped.items())
            db.executemany(
                "DELETE FROM names_in WHERE document=? AND type=? AND name=?",
                [(document, key[0].value, key[1]) for document, key in moved],
            )
            db.executemany(
                "DELETE FROM refused WHERE subject=? AND predicate=? AND object=?",
                [_parts(triple) for triple in old.refused - new.refused],
            )
            changed = Linking(
                {key: link for key, link in new.names.items() if old.names.get(key) != link},
                {iri: entity for iri, entity in new.entities.items() if old.entities.get(iri) != entity},
                dict(new.scoped.items() - old.scoped.items()),
                new.refused - old.refused,
            )
            _insert_linking(db, changed)
        self._linked = whole

    # decisions about names

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

    # reviews of statements, and stages at which reading failed

    def keep_review(self, review: Review) -> None:
        """Remembers a judgement; an earlier one of the same statement gives way."""
        with self._transaction() as db:
            db.execute("INSERT OR REPLACE INTO reviews VALUES (?,?,?,?,?,?,?,?,?,?)", _row(review))

    def drop_review(self, statement: Triple) -> None:
        """Forgets the judgement on a statement."""
        with self._transaction() as db:
            db.execute("DELETE FROM reviews WHERE statement=?", (_written([statement]),))

    def review(self, statement: Triple) -> Review | None:
        """The judgement on a statement; None where nobody judged it."""
        rows = self._all("SELECT * FROM reviews WHERE statement=?", _written([statement]))
        return _review(rows[0]) if rows else None

    def reviews(self, document: NamedNode | None = None) -> list[Review]:
        """The judgements, the earliest first: all, or those made on a document."""
        name = document.value if document else None
        rows = self._all("SELECT * FROM reviews WHERE ?1 IS NULL OR document=?1 ORDER BY moment, statement", name)
        return [_review(row) for row in rows]

    def correction_of(self, statement: Triple) -> Review | None:
        """The latest judgement by which a person stated this; None where none did."""
        wanted = _written([statement])
        rows = self._all("SELECT * FROM reviews WHERE instr(corrections, ?) > 0 ORDER BY moment DESC LIMIT 1", wanted)
        return _review(rows[0]) if rows else None

    def follow_reviews(self, retired: Mapping[NamedNode, NamedNode]) -> None:
        """Lets judgements on things that were taken for others be on those."""
        if not retired:
            return
        for review in self.reviews():
            parts = (review.statement, *review.corrections)
            if not any(term in retired for part in parts for term in (part.subject, part.object)):
                continue
            moved = tuple(_renamed(part, retired) for part in parts)
            with self._transaction() as db:
                db.execute("DELETE FROM reviews WHERE statement=?", (_written([review.statement]),))
                values = (_written(moved[:1]), review.judgement.value, _written(moved[1:]), *_row(review)[3:])
                db.execute("INSERT OR REPLACE INTO reviews VALUES (?,?,?,?,?,?,?,?,?,?)", values)

    def note_failure(self, document: NamedNode, stage: str) -> None:
        """Notes at which stage reading a document failed."""
        with self._transaction() as db:
            db.execute("INSERT OR REPLACE INTO failures VALUES (?,?)", (document.value, stage))

    def failed_stages(self) -> dict[NamedNode, str]:
        """The stage at which reading failed, by document; of those only that are still failed."""
        rows = self._all("SELECT f.* FROM failures f JOIN documents d ON d.iri = f.document WHERE d.state = 'failed'")
        return {NamedNode(row["document"]): row["stage"] for row in rows}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _insert_document(db: sqlite3.Connection, verb: str, document: Document, state: State, error: str | None) -> None:
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
    for table in _OF_A_DOCUMENT:
        db.execute(f"DELETE FROM {table} WHERE document = ?", (iri,))


def _note_names(db: sqlite3.Connection, document: str, extractions: Iterable[Extraction]) -> None:
    """Notes which names occur in a document, in the place of those noted before."""
    db.execute("DELETE FROM occurrences WHERE document=?", (document,))
    found = {(type_.value, name) for extraction in extractions for type_, name in name_keys(extraction)}
    db.executemany("INSERT INTO occurrences VALUES (?,?,?)", [(*key, document) for key in sorted(found)])


def _note_rows(db: sqlite3.Connection, rows: Iterable[TableRow]) -> None:
    values = [(row.document.value, row.subject.value, row.line, row.start, row.end) for row in rows]
    db.executemany("INSERT OR IGNORE INTO table_rows VALUES (?,?,?,?,?)", values)


def _insert_linking(db: sqlite3.Connection, linking: Linking) -> None:
    db.executemany(
        "INSERT OR REPLACE INTO names_in VALUES (?,?,?,?)",
        [(document, key[0].value, key[1], iri.value) for (document, key), iri in linking.scoped.items()],
    )
    db.executemany("INSERT OR REPLACE INTO refused VALUES (?,?,?)", [_parts(triple) for triple in linking.refused])
    db.executemany(
        "INSERT OR REPLACE INTO names VALUES (?,?,?,?,?)",
        [(k[0].value, k[1], link.entity.value, link.score, link.method) for k, link in linking.names.items()],
    )
    db.executemany(
        "INSERT OR REPLACE INTO entities VALUES (?,?,?)",
        [(e.iri.value, e.type.value, _labels(e)) for e in linking.entities.values()],
    )


def _labels(entity: LinkedEntity) -> str:
    return json.dumps([[word.text, word.language] for word in entity.labels], ensure_ascii=False)


def _parts(triple: Triple) -> tuple[str, ...]:
    return tuple(getattr(part, "value", "") for part in (triple.subject, triple.predicate, triple.object))


def _record(row: sqlite3.Row) -> DocumentRecord:
    """The entry that a row of ``documents`` holds."""
    document = Document(
        iri=NamedNode(row["iri"]),
        text=row["text"],
        title=row["title"],
        media_type=row["media_type"],
        source=row["source"],
        sha256=row["sha256"],
        language=row["language"],
        author=row["author"],
        created=row["created"],
    )
    return DocumentRecord(
        document=document,
        state=State(row["state"]),
        error=row["error"],
        updated=row["updated"],
        statements=row["statements"],
        refused=row["refused"],
        graph=NamedNode(row["graph"]) if row["graph"] else None,
        seconds=row["seconds"],
    )


def _chunk(row: sqlite3.Row, text: str) -> Chunk:
    """The chunk that a row of ``chunks`` holds, cut from its document's text."""
    start, end = row["start"], row["end"]
    return Chunk(NamedNode(row["iri"]), NamedNode(row["document"]), row["position"], start, end, text[start:end])


def _table_row(row: sqlite3.Row) -> TableRow:
    """The place that a row of ``table_rows`` holds."""
    return TableRow(NamedNode(row["document"]), NamedNode(row["subject"]), row["line"], row["start"], row["end"])


def _summary(row: sqlite3.Row) -> DocumentSummary:
    typed = {"iri": NamedNode(row["iri"]), "state": State(row["state"]), "is_table": bool(row["is_table"])}
    return DocumentSummary(**{**dict(row), **typed})


def _renamed(statement: Triple, retired: Mapping[NamedNode, NamedNode]) -> Triple:
    subject, value = statement.subject, statement.object
    if isinstance(subject, NamedNode):
        subject = retired.get(subject, subject)
    if isinstance(value, NamedNode):
        value = retired.get(value, value)
    return Triple(subject, statement.predicate, value)


def _written(statements: Iterable[Triple]) -> str:
    return "".join(f"{statement} .\n" for statement in statements)


def _statements(text: str) -> tuple[Triple, ...]:
    return tuple(item.triple for item in ox.parse(text, format=RdfFormat.N_TRIPLES))


def _row(review: Review) -> tuple[object, ...]:
    return (
        *(_written([review.statement]), review.judgement.value, _written(review.corrections), review.document.value),
        *(review.graph.value, review.start, review.end, review.quote, review.person, review.moment),
    )


def _review(row: sqlite3.Row) -> Review:
    return Review(
        statement=_statements(row["statement"])[0],
        judgement=Judgement(row["judgement"]),
        document=NamedNode(row["document"]),
        graph=NamedNode(row["graph"]),
        start=row["start"],
        end=row["end"],
        quote=row["quote"],
        person=row["person"],
        moment=row["moment"],
        corrections=_statements(row["corrections"]),
    )
