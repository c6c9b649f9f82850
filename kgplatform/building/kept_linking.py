"""What linking remembers, in a file beside the store: the next process takes it up and links only what changed since.

The file is never the truth. It says by what it was made (the ontology, the settings, the rules themselves), and of each
document by what its content is known; where anything else is found, or the file is damaged, all is linked from scratch
and the file written anew. A save writes what changed, in one transaction.
"""

from __future__ import annotations

import gc
import hashlib
import json
import logging
import secrets
import sqlite3
import sys
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from pyoxigraph import NamedNode, Triple

from kgplatform import linking, places
from kgplatform.building.kept_places import KeptPlaces
from kgplatform.building.known import KnownEntities
from kgplatform.building.places import PlaceStage
from kgplatform.dataset import EvidenceDataset, Following
from kgplatform.documents.decisions import Apart
from kgplatform.documents.layers import Layers
from kgplatform.documents.packing import key_of, line, node, packed_key
from kgplatform.documents.registry import LinkedEntity, Linking, NameKey, NameLink, Registry
from kgplatform.linking.candidates import Likeness
from kgplatform.linking.incremental import IncrementalLinking
from kgplatform.ontology import Ontology, Word
from kgplatform.vocab import TYPE

FILE: Final = "linking.sqlite"
"""Where a workspace keeps it."""

_log = logging.getLogger("kgplatform.linking")
_FORMAT: Final = 1
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS kept (
  kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (kind, key))
"""

_Row: TypeAlias = tuple[str, str, str | None]
"""Of which kind, under which key, and what; None: no longer."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """What linking everything rests on besides documents: where this changes, all is linked from scratch.

    ``files`` are those of the ontology.
    """

    base: str
    registry: Registry
    dataset: EvidenceDataset
    ontology: Ontology
    likeness: Likeness
    stage: PlaceStage | None
    files: tuple[Path, ...] = ()

    def sign(self, apart: frozenset[Apart]) -> tuple[object, ...]:
        """By what it is told whether something changed."""
        return self.base, id(self.ontology), self.likeness, apart, self._sources()

    def lasting_sign(self, apart: frozenset[Apart]) -> str:
        """The same for another process: the rules themselves are part of it."""
        embedder = self.likeness.embedder.name if self.likeness.embedder is not None else None
        ontology = [hashlib.sha256(path.read_bytes()).hexdigest() for path in self.files]
        decided = sorted((pair.first, pair.second) for pair in apart)
        known = [_FORMAT, _rules(), sys.byteorder, unicodedata.unidata_version, self.base, ontology]
        return line([*known, self.likeness.spelling, embedder, decided, self._sources()])

    def _sources(self) -> tuple[tuple[str, str], ...] | None:
        return self.stage.reference.digests() if self.stage else None


@cache
def _rules() -> str:
    """By what the rules of linking are known: a rule that was changed is another rule."""
    folders = [Path(folder) for package in (linking, places) for folder in package.__path__]
    files = sorted((path for folder in folders for path in folder.glob("*.py")), key=lambda path: path.name)
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


@dataclass(slots=True)
class _Unsaved:
    """What may be otherwise than the file says."""

    documents: set[str] = field(default_factory=set)
    names: set[NameKey] = field(default_factory=set)
    entities: set[NamedNode] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)
    known: set[NameKey] = field(default_factory=set)


@dataclass
class Kept:
    """What is remembered of the last linking.

    ``digests`` tell by what the content of each document is known, ``saved`` by what the last save is (empty: there was
    none). ``is_followed``: what was written to the dataset
    since is known; ``is_in_line``: the registry has the same map from names to entities.
    """

    names: IncrementalLinking
    sign: tuple[object, ...]
    known: KnownEntities
    following: Following
    places: KeptPlaces = field(default_factory=KeptPlaces)
    raw: Linking = field(default_factory=Linking)
    whole: Linking = field(default_factory=Linking)
    refused: dict[str, frozenset[Triple]] = field(default_factory=dict)
    refusing: Counter[Triple] = field(default_factory=Counter)
    digests: dict[str, str] = field(default_factory=dict)
    mark: int = -1
    saved: str = ""
    is_followed: bool = False
    is_in_line: bool = False
    unsaved: _Unsaved = field(default_factory=_Unsaved)

    @classmethod
    def new(cls, grounds: Grounds, apart: frozenset[Apart]) -> Kept:
        """One that remembers nothing yet."""
        names = IncrementalLinking(grounds.ontology, grounds.base, grounds.likeness, apart)
        known = KnownEntities(grounds.dataset, grounds.registry, grounds.ontology)
        following = grounds.dataset.follow(known.keys | {TYPE})
        return cls(names, grounds.sign(apart), known, following, raw=Linking(apart=apart), whole=Linking(apart=apart))


class LinkingFile:
    """The file; whatever is wrong with it costs time and nothing else."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def take_up(self, grounds: Grounds, apart: frozenset[Apart]) -> Kept | None:
        """What was remembered; None: nothing, it is of other grounds, or the file is damaged."""
        if not self._path.is_file():
            return None
        try:
            found = self._read()
            if found.get("sign", {}).get("") != grounds.lasting_sign(apart):
                return None
        except (sqlite3.Error, OSError, ValueError) as error:
            _log.info("%s cannot be used, all names are linked anew: %s", self._path.name, error)
            return None
        kept = Kept.new(grounds, apart)
        try:
            with _without_collecting():
                _restore(kept, found, grounds.stage)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            grounds.dataset.unfollow(kept.following)
            _log.info("%s is damaged, all names are linked anew: %s", self._path.name, error)
            return None
        return kept

    def _read(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        with closing(sqlite3.connect(self._path)) as db:
            for kind, key, value, checksum in db.execute("SELECT kind, key, value, checksum FROM kept"):
                if _checksum(kind, key, value) != checksum:
                    raise ValueError(f"what it says of {key} is damaged")
                found.setdefault(kind, {})[key] = value
        return found

    def save(self, kept: Kept, grounds: Grounds) -> bool:
        """Writes what changed since the last save, or all into a new file; false: the disk or another does not let it.

        Then nothing is left that the next process could take up.
        """
        unsaved = kept.unsaved
        unsaved.documents |= kept.places.resolution.touched
        unsaved.names |= kept.names.touched
        if kept.saved and not any((unsaved.documents, unsaved.names, unsaved.entities, unsaved.ids, unsaved.known)):
            return True
        try:
            self._write(kept, grounds.lasting_sign(kept.whole.apart))
        except (sqlite3.Error, OSError, ValueError) as error:
            _log.warning("%s is not kept: %s", self._path.name, error)
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
            return False
        kept.unsaved = _Unsaved()
        kept.places.resolution.touched.clear()
        kept.names.saved()
        return True

    def _write(self, kept: Kept, sign: str) -> None:
        """Writes; raises ValueError if the file is not the one that was written last, so that changes do not fit it."""
        if not kept.saved:
            self._path.unlink(missing_ok=True)
        save = secrets.token_hex(8)
        with closing(sqlite3.connect(self._path, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode=TRUNCATE")
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute("BEGIN IMMEDIATE")
            db.execute(_SCHEMA)
            last = db.execute("SELECT value FROM kept WHERE kind='save'").fetchone()
            if kept.saved and (last is None or last[0] != kept.saved):
                raise ValueError("somebody else wrote to it")
            for kind, key, value in (*_rows(kept), ("sign", "", sign), ("save", "", save)):
                if value is None:
                    db.execute("DELETE FROM kept WHERE kind=? AND key=?", (kind, key))
                else:
                    entry = (kind, key, value, _checksum(kind, key, value))
                    db.execute("INSERT OR REPLACE INTO kept VALUES (?,?,?,?)", entry)
            db.execute("COMMIT")
        kept.saved = save


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Leaves the garbage collector off: it would go through all that is made, again and again, and find nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _checksum(*parts: str) -> int:
    return zlib.crc32("\0".join(parts).encode("utf-8", "surrogatepass"))


def _rows(kept: Kept) -> Iterator[_Row]:
    """What is to be written."""
    unsaved = kept.unsaved
    for document in unsaved.documents:
        yield from _document_rows(kept, document)
    for key in unsaved.names:
        name, link = kept.names.packed(key), kept.raw.names.get(key)
        linked = [link.entity.value, link.score, link.method] if link is not None else None
        yield "name", line(packed_key(key)), line([name, linked]) if name or linked else None
    for iri in unsaved.entities:
        entity = kept.raw.entities.get(iri)
        labels = [[word.text, word.language] for word in entity.labels] if entity else []
        yield "entity", iri.value, line([entity.type.value, labels]) if entity else None
    for id_ in unsaved.ids:
        place = kept.places.iris.get(id_)
        yield "place", id_, place.value if place is not None else None
    for key in unsaved.known:
        known = kept.known.now.get(key)
        yield "known", line(packed_key(key)), known.value if known is not None else None


def _document_rows(kept: Kept, document: str) -> Iterator[_Row]:
    digest = kept.digests.get(document)
    said, ties = kept.names.packed_document(document) or (None, [])
    places_said, *places_kept = kept.places.resolution.packed(document) or [None]
    refused = [_parts(triple) for triple in sorted(kept.refused.get(document, ()), key=str)]
    there = digest is not None
    yield "document", document, line([digest, ties, places_kept, refused]) if there else None
    yield "said", document, said if there else None
    yield "places", document, places_said if there else None


def _parts(triple: Triple) -> list[str]:
    return [part.value for part in (triple.subject, triple.predicate, triple.object) if isinstance(part, NamedNode)]


def _restore(kept: Kept, found: Mapping[str, Mapping[str, str]], stage: PlaceStage | None) -> None:
    """Takes up what the file holds."""
    names = {key_of(json.loads(key)): json.loads(value) for key, value in found.get("name", {}).items()}
    documents = {key: json.loads(value) for key, value in found.get("document", {}).items()}
    said = found.get("said", {})
    kept.names.restore(
        {key: name for key, (name, _) in names.items() if name is not None},
        ((document, said[document], ties) for document, (_, ties, *_) in documents.items() if document in said),
    )
    kept.known.now = {key_of(json.loads(key)): node(iri) for key, iri in found.get("known", {}).items()}
    kept.saved = found["save"][""]
    kept.digests = {document: digest for document, (digest, *_) in documents.items()}
    links = {key: NameLink(*key, node(link[0]), link[1], link[2]) for key, (_, link) in names.items() if link}
    entities = {node(iri): _entity(node(iri), *json.loads(value)) for iri, value in found.get("entity", {}).items()}
    kept.raw = replace(kept.raw, names=Layers.of(links), entities=Layers.of(entities))
    kept.whole = replace(kept.raw)
    for document, (*_, refused) in documents.items():
        if refused:
            kept.refused[document] = frozenset(Triple(*map(node, parts)) for parts in refused)
            kept.refusing.update(kept.refused[document])
    if stage is not None:
        _restore_places(kept, found, documents, stage)


def _entity(iri: NamedNode, type_: str, labels: list[list[str]]) -> LinkedEntity:
    return LinkedEntity(iri, node(type_), tuple(Word(text, language) for text, language in labels))


def _restore_places(
    kept: Kept, found: Mapping[str, Mapping[str, str]], documents: Mapping[str, list[Any]], stage: PlaceStage
) -> None:
    said = found.get("places", {})
    packed = {document: [said[document], *documents[document][2]] for document in said}
    iris = {id_: node(iri) for id_, iri in found.get("place", {}).items()}
    kept.places.restore(packed, iris, stage)
    linked = kept.raw.entities
    made = ((iri, kept.places.entity(iri, linked.get(iri), stage.entity)) for iri in dict.fromkeys(iris.values()))
    scoped = {place: kept.places.iris[id_] for place, id_ in kept.places.resolution.resolution.scoped.items()}
    kept.whole = replace(
        kept.whole,
        entities=Layers.of(linked).changed({iri: entity for iri, entity in made if entity is not None}),
        scoped=Layers.of(scoped),
        refused=frozenset(kept.refusing),
    )
