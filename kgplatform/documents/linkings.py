"""The map from names to entities in the registry, and in which documents each name occurs."""

from __future__ import annotations

import json
import sqlite3
from abc import abstractmethod
from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager

from pyoxigraph import NamedNode, Triple

from kgplatform.documents.decisions import Apart
from kgplatform.documents.entries import LinkedEntity, Linking, NameKey, NameLink, name_keys
from kgplatform.documents.records import decode
from kgplatform.ontology import Word
from kgplatform.types import Extraction

SCHEMA = """
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
"""
_MANY = 400


def note_names(db: sqlite3.Connection, document: str, extractions: Iterable[Extraction]) -> None:
    """Notes which names occur in a document, in the place of those noted before."""
    db.execute("DELETE FROM occurrences WHERE document=?", (document,))
    found = {(type_.value, name) for extraction in extractions for type_, name in name_keys(extraction)}
    db.executemany("INSERT INTO occurrences VALUES (?,?,?)", [(*key, document) for key in sorted(found)])


class LinkingEntries:
    """The part of the registry that is about names and entities."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[sqlite3.Connection]: ...

    @abstractmethod
    def _all(self, sql: str, *values: object) -> list[sqlite3.Row]: ...

    @abstractmethod
    def _linked_apart(self) -> frozenset[Apart]: ...

    def documents_naming(self, keys: Collection[NameKey]) -> list[NamedNode]:
        """The documents in which one of the names occurs, in the order of their IRIs."""
        if len(keys) > _MANY:
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
                note_names(db, row["document"], [decode(item["extraction"]) for item in read])

    _linked: Linking | None = None
    """As it was read or written last: only this process writes it."""

    def _forget_linking(self) -> None:
        self._linked = None

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

    def set_linking(self, linking: Linking) -> None:
        """Replaces the map from names to entities."""
        with self._transaction() as db:
            for table in ("names", "entities", "names_in", "refused", "names_apart"):
                db.execute(f"DELETE FROM {table}")
            db.executemany("INSERT INTO names_apart VALUES (?,?)", [(p.first, p.second) for p in linking.apart])
            _insert(db, linking)
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
            _insert(db, changed)
        self._linked = whole


def _insert(db: sqlite3.Connection, linking: Linking) -> None:
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
