"""What linking keeps between builds: the places that names mean, and, in a file, all that the last linking found.

Which places are in the graph follows from what was read and from the reference, and from nothing else: a place comes
with the first document that means it, with all that it lies in, and goes with the last.
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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform import linking as linking_rules
from kgplatform.documents.records import (
    Apart,
    LinkedEntity,
    Linking,
    NameKey,
    NameLink,
    PersistentMap,
    key_of,
    line,
    node,
    packed_key,
)
from kgplatform.documents.registry import Registry
from kgplatform.lexicon import LEXICONS
from kgplatform.linking.aliases import sort_key
from kgplatform.linking.candidates import Likeness
from kgplatform.linking.clusters import IncrementalLinking, Relinked
from kgplatform.linking.places.gazetteer import LEVELS, WORLD, Kinds, PlaceReference, read_world
from kgplatform.linking.places.hierarchy import (
    KeptResolution,
    Named,
    Resettled,
    place_labels,
    place_triples,
    places_graph,
    with_above,
)
from kgplatform.linking.places.resolution import Mentions, PlaceFinder, Resolution, document_of, read_mentions, resolve
from kgplatform.linking.projection import Projection
from kgplatform.ontology.schema import Ontology, Word
from kgplatform.store.dataset import Change, EvidenceDataset, Following, WrittenStatements
from kgplatform.store.oxigraph import literal
from kgplatform.text import normalise
from kgplatform.types import Claim, Extraction, Mention
from kgplatform.vocab import TYPE
from kgplatform.workspace.table_stage import KnownEntities

PLACES_FILE = "places.sqlite"
"""Where a workspace keeps its reference places."""


@dataclass(frozen=True)
class MeantPlaces:
    """The places that documents mean, with the IRI of each; ``refused`` are claims that the hierarchy contradicts."""

    resolution: Resolution = field(default_factory=Resolution)
    iris: Mapping[str, NamedNode] = field(default_factory=dict)
    mentions: Mentions = field(default_factory=Mentions)

    @property
    def known(self) -> dict[NameKey, NamedNode]:
        """The names that mean one place everywhere."""
        return {key: self.iris[id_] for key, id_ in self.resolution.names.items()}


class PlaceStage:
    """The reference places of a workspace, as the linking stage uses them."""

    def __init__(self, reference: PlaceReference, dataset: EvidenceDataset, ontology: Ontology) -> None:
        self.reference = reference
        self._dataset = dataset
        self._ontology = ontology

    def meant(self, extractions: Iterable[Extraction], known: Mapping[NameKey, NamedNode]) -> MeantPlaces:
        """Which places the extractions mean; ``known`` are entities that keep their IRIs."""
        mentions = read_mentions(extractions, may_be_place=self.finder.may_be_place, within=self.within)
        return self._meant(resolve(mentions, self.finder), known, mentions)

    def _meant(self, resolution: Resolution, known: Mapping[NameKey, NamedNode], mentions: Mentions) -> MeantPlaces:
        iris = {id_: self.iri(id_) for id_ in with_above(resolution.ids(), self.reference)}
        for key, id_ in sorted(resolution.names.items(), key=lambda item: (item[0][1], item[0][0].value), reverse=True):
            iris[id_] = known.get(key, iris[id_])
        return MeantPlaces(resolution, iris, mentions)

    def within(self, predicate: NamedNode) -> bool | None:
        """True if a property leads to what something lies in, False if from there, None if neither."""
        upwards = self.reference.hierarchies()
        term = self._ontology.properties.get(predicate)
        if predicate in upwards or (term and set(term.parents) & upwards):
            return True
        return False if term and term.inverse in upwards else None

    @cached_property
    def finder(self) -> PlaceFinder:
        """What finds places by their names."""
        return PlaceFinder(self.reference, self._ontology)

    @cached_property
    def _kinds(self) -> Kinds:
        return Kinds(self._ontology)

    @cached_property
    def keys(self) -> frozenset[NamedNode]:
        """The properties whose values tell things apart."""
        return frozenset(key for term in self._ontology.classes.values() for key in term.key)

    def codes(self, id_: str) -> list[tuple[NamedNode, str]]:
        """The codes of a place by which something in the graph may be known to be it."""
        return [code for place in self.reference.versions(id_) for code in place.codes if code[0] in self.keys]

    def iri(self, id_: str) -> NamedNode:
        """The IRI of what has the place's codes already, by a table or a person; else one made of the place's id."""
        for predicate, value in self.codes(id_):
            for quad in self._dataset.store.quads(None, predicate, literal(value)):
                graph = quad.graph_name
                stated = self._dataset.is_evidence(graph) and not self._dataset.is_of_places(graph)
                if stated and graph != self._dataset.inferred and isinstance(quad.subject, NamedNode):
                    return quad.subject
        return NamedNode(f"{self._dataset.base}place/{id_}")

    def settled(self, linking: Linking, places: MeantPlaces) -> Linking:
        """The linking with the places as what the reference says they are, and without what it contradicts."""
        whole = self.with_places(linking, places)
        claims = places.mentions.claims
        return replace(whole, refused=self.contradicted(claims, places, Projection(self._dataset.base, whole)))

    def with_places(self, linking: Linking, places: MeantPlaces) -> Linking:
        """The linking with the places as what the reference says they are."""
        entities = dict(linking.entities)
        for id_ in sorted(places.resolution.ids()):
            iri = places.iris[id_]
            entities[iri] = self.entity(id_, iri, entities.get(iri))
        scoped = {key: places.iris[id_] for key, id_ in places.resolution.scoped.items()}
        return replace(linking, entities=entities, scoped=scoped)

    def entity(self, id_: str, iri: NamedNode, linked: LinkedEntity | None) -> LinkedEntity:
        """The place as an entity, where names are linked to that already as it is called and classed besides."""
        type_ = self.reference.place(id_).type
        labels = {word.language: word for word in (linked.labels if linked else ())}
        labels |= {word.language: word for word in place_labels(id_, self.reference)}
        own = linked.type if linked else type_
        wider = own in self._ontology.superclasses(type_) or self._ontology.disjoint(own, type_)
        return LinkedEntity(iri, type_ if wider else own, tuple(labels[tag] for tag in sorted(labels)))

    def contradicted(
        self, claims: Mapping[Claim, NamedNode], places: MeantPlaces, projection: Projection
    ) -> frozenset[Triple]:
        """The statements that put a place into what it does not lie in."""
        found = set()
        for claim, chunk in claims.items():
            inner, outer = self._ends(claim)
            document = document_of(chunk)
            lower = places.resolution.place(document, _key(inner))
            upper = places.resolution.place(document, _key(outer))
            if lower is None or (upper is not None and upper in self.reference.above(lower)):
                continue
            type_ = self.reference.place(lower).type
            levels = self.reference.lies_in(type_) if outer.type in self.reference.types() else (outer.type,)
            free = upper is None and outer.type in levels and self._kinds.holder(outer.type, type_)
            triple = projection.triple(claim, chunk)
            if triple is not None and not free:
                found.add(triple)
        return frozenset(found)

    def _ends(self, claim: Claim) -> tuple[Mention, Mention]:
        """What lies in the other, and that other."""
        assert isinstance(claim.object, Mention)
        upwards = self.within(claim.predicate)
        return (claim.subject, claim.object) if upwards else (claim.object, claim.subject)

    def commit(self, places: MeantPlaces) -> bool:
        """Brings the graphs of the places in line with which are meant; whether that changed anything."""
        ids = with_above(places.resolution.ids(), self.reference)
        return put_places(self._dataset, self._graphs(ids, lambda id_: places.iris[id_]))

    def commit_some(self, came: Iterable[str], went: Mapping[str, NamedNode], iris: Mapping[str, NamedNode]) -> None:
        """The same where these came and those went, and all others are in the graphs as they are to be.

        ``went`` has the IRI of each, ``iris`` those of all that are needed now.
        """
        gained = self._graphs(sorted(came), lambda id_: iris[id_])
        lost = self._graphs(sorted(went), lambda id_: went[id_] if id_ in went else iris[id_])
        if gained or lost:
            self._dataset.commit(Change(added=gained, removed=lost))

    def _graphs(self, ids: Iterable[str], named: Named) -> dict[NamedNode, list[Triple]]:
        triples = place_triples(ids, self.reference, named)
        return {places_graph(self._dataset.base, source): found for source, found in triples.items()}


def put_places(dataset: EvidenceDataset, wanted: Mapping[NamedNode, list[Triple]]) -> bool:
    """Makes these the graphs of places, and drops others; whether that changed anything."""
    graphs = [graph for graph in dataset.own_graphs() if dataset.is_of_places(graph)]
    found = {graph: {item.triple for item in dataset.store.quads(graph=graph)} for graph in graphs}
    held = {graph: triples for graph, triples in found.items() if triples}
    if held == {graph: set(triples) for graph, triples in wanted.items()}:
        return False
    dataset.commit(Change(dropped=tuple({**held, **wanted}), added=wanted))
    return True


@contextmanager
def open_places(
    file: Path, dataset: EvidenceDataset, ontology: Ontology, *, world: bool
) -> Iterator[PlaceStage | None]:
    """The place stage with the reference in the file; None where the ontology has no class for places."""
    if not any(level in ontology.classes for level in LEVELS) and not file.exists():
        yield None
        return
    reference = PlaceReference(file)
    try:
        if world:
            read_world(reference, ontology)
        elif reference.digest(WORLD):
            reference.remove(WORLD)
        yield PlaceStage(reference, dataset, ontology)
    finally:
        reference.close()


def _key(mention: Mention) -> NameKey:
    return mention.type, normalise(mention.name)


Scoped = tuple[str, NameKey]
"""A name in one document."""


@dataclass(slots=True)
class PlaceChanges:
    """What a change of documents leads to for places.

    ``names`` mean other places than before, or places of another IRI; ``ids`` came, went or have another IRI, each with
    the IRI that it had; ``is_renamed`` says whether one of those that stay has another. ``meant`` are those that names
    stand for now and did not, or the other way round.
    """

    names: set[NameKey] = field(default_factory=set)
    scoped: dict[Scoped, NamedNode | None] = field(default_factory=dict)
    ids: dict[str, NamedNode | None] = field(default_factory=dict)
    meant: set[str] = field(default_factory=set)
    is_renamed: bool = False


class KeptPlaces:
    """The places that all documents mean, as `PlaceStage.meant` finds them over everything; kept in line by changes.

    The IRI of a place is made of its id, unless a table or a person described it already: then it is that thing's,
    found by a code or by a name.
    """

    def __init__(self) -> None:
        self.resolution = KeptResolution()
        self.iris: dict[str, NamedNode] = {}
        self._own: dict[str, NamedNode] = {}
        self._meant: set[str] = set()
        self._needed: Counter[str] = Counter()
        self._by_iri: dict[NamedNode, set[str]] = {}
        self._by_code: dict[tuple[NamedNode, str], set[str]] = {}

    def __len__(self) -> int:
        return len(self._meant)

    @property
    def now(self) -> MeantPlaces:
        """The places as they are meant now; it changes with the next change."""
        return MeantPlaces(self.resolution.resolution, self.iris)

    def known(self, key: NameKey) -> NamedNode | None:
        """The entity of the place that the name stands for everywhere; None: it stands for none."""
        id_ = self.resolution.resolution.names.get(key)
        return self.iris[id_] if id_ is not None else None

    def put(
        self,
        documents: Mapping[str, Iterable[Extraction]],
        stage: PlaceStage,
        known: Mapping[NameKey, NamedNode],
        *,
        rekeyed: Iterable[NameKey],
        recoded: Iterable[tuple[NamedNode, str]] | None,
    ) -> PlaceChanges:
        """Takes documents in, each in the place of what it said before; ``known`` are the entities described otherwise.

        ``rekeyed`` are the names for which these differ from before, ``recoded`` the codes that were stated or taken
        back since (None: any may have been).
        """
        resettled = self.resolution.put(documents, stage.finder, stage.within)
        names = self.resolution.resolution.names
        looked_at = set(resettled.ids) | set(self._shifted(resettled.ids, stage))
        looked_at |= {names[key] for key in rekeyed if key in names}
        doubtful = set(self._needed)
        if recoded is not None:
            doubtful = {id_ for code in recoded for id_ in self._by_code.get(code, ())}
        for id_ in doubtful:
            self._own.pop(id_, None)
        moved = PlaceChanges(set(resettled.names), meant=resettled.ids)
        for id_ in sorted(looked_at | doubtful):
            self._settle(id_, stage, known, moved)
        renamed = {id_ for id_, was in moved.ids.items() if was is not None and id_ in self.iris}
        moved.is_renamed = bool(renamed)
        moved.names |= {key for id_ in renamed for key in self.resolution.names_of(id_)}
        self._note_scoped(resettled, renamed, moved)
        return moved

    def _shifted(self, ids: Iterable[str], stage: PlaceStage) -> Iterator[str]:
        """The places that are needed now and were not, or the other way round."""
        for id_ in ids:
            holds = self.resolution.means(id_)
            if holds == (id_ in self._meant):
                continue
            (self._meant.add if holds else self._meant.discard)(id_)
            for step in (id_, *stage.reference.above(id_)):
                self._needed[step] += 1 if holds else -1
                if not self._needed[step]:
                    del self._needed[step]
                if self._needed[step] == int(holds):
                    yield step

    def _settle(self, id_: str, stage: PlaceStage, known: Mapping[NameKey, NamedNode], moved: PlaceChanges) -> None:
        """Brings the IRI of one place in line."""
        was, now = self.iris.get(id_), None
        if id_ in self._needed:
            if id_ not in self._own:
                self._own[id_] = stage.iri(id_)
            called = [key for key in self.resolution.names_of(id_) if key in known]
            now = known[min(called, key=sort_key)] if called else self._own[id_]
        if was != now:
            moved.ids[id_] = was
            self._note(id_, was, now, stage)

    def _note(self, id_: str, was: NamedNode | None, now: NamedNode | None, stage: PlaceStage) -> None:
        if was is not None:
            self._by_iri[was].discard(id_)
            if not self._by_iri[was]:
                del self._by_iri[was]
        if now is not None:
            self.iris[id_] = now
            self._by_iri.setdefault(now, set()).add(id_)
        else:
            del self.iris[id_]
            self._own.pop(id_, None)
        for code in stage.codes(id_) if was is None or now is None else ():
            self._by_code.setdefault(code, set()).add(id_)
            if now is None:
                self._by_code[code].discard(id_)

    def _note_scoped(self, resettled: Resettled, renamed: set[str], moved: PlaceChanges) -> None:
        scoped = self.resolution.resolution.scoped
        places: Iterable[Scoped] = resettled.scoped
        if renamed:
            places = {*places, *(place for place, id_ in scoped.items() if id_ in renamed)}
        for place in places:
            id_ = scoped.get(place)
            moved.scoped[place] = self.iris[id_] if id_ is not None else None

    def restore(self, documents: Mapping[str, list[Any]], iris: Mapping[str, NamedNode], stage: PlaceStage) -> None:
        """Takes up, in a new object, what `KeptResolution.packed` told of all documents, and the IRIs of the places.

        Raises:
            ValueError: they do not belong together.
        """
        self.resolution.restore(documents)
        list(self._shifted(self.resolution.resolution.ids(), stage))
        if iris.keys() != self._needed.keys():
            raise ValueError("the places that are kept are not those that are meant")
        for id_, iri in iris.items():
            self._note(id_, None, iri, stage)

    def is_shared(self, came: Iterable[str], went: Iterable[NamedNode]) -> bool:
        """True if one of the places that came, or an IRI that a place had, is together with another place's."""
        several = any(len(self._by_iri[self.iris[id_]]) > 1 for id_ in came)
        return several or any(iri in self._by_iri for iri in went)

    def entity(
        self,
        iri: NamedNode,
        linked: LinkedEntity | None,
        make: Callable[[str, NamedNode, LinkedEntity | None], LinkedEntity],
    ) -> LinkedEntity | None:
        """The entity of that IRI: as names were linked to it, unless a place is meant by it, which says more."""
        for id_ in sorted(self._by_iri.get(iri, ())):
            if id_ in self._meant:
                linked = make(id_, iri, linked)
        return linked


LINKING_FILE: Final = "linking.sqlite"
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
class LinkingGrounds:
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
    folders = [Path(folder) for folder in linking_rules.__path__]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    files = sorted([*files, *LEXICONS.glob("linking*.toml")], key=lambda path: path.name)
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
class KeptLinking:
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
    def new(cls, grounds: LinkingGrounds, apart: frozenset[Apart]) -> KeptLinking:
        """One that remembers nothing yet."""
        names = IncrementalLinking(grounds.ontology, grounds.base, grounds.likeness, apart)
        known = KnownEntities(grounds.dataset, grounds.registry, grounds.ontology)
        following = grounds.dataset.follow(known.keys | {TYPE})
        return cls(names, grounds.sign(apart), known, following, raw=Linking(apart=apart), whole=Linking(apart=apart))


class LinkingFile:
    """What linking remembers, in a file beside the store: the next process links only what changed since.

    The file says by what it was made (the ontology, the settings, the rules themselves), and of each document by what
    its content is known. Where anything else is found, or the file is damaged, all is linked from scratch and the file
    written anew. A save writes what changed, in one transaction.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def take_up(self, grounds: LinkingGrounds, apart: frozenset[Apart]) -> KeptLinking | None:
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
        kept = KeptLinking.new(grounds, apart)
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

    def save(self, kept: KeptLinking, grounds: LinkingGrounds) -> bool:
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

    def _write(self, kept: KeptLinking, sign: str) -> None:
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


def _rows(kept: KeptLinking) -> Iterator[_Row]:
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


def _document_rows(kept: KeptLinking, document: str) -> Iterator[_Row]:
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


def _restore(kept: KeptLinking, found: Mapping[str, Mapping[str, str]], stage: PlaceStage | None) -> None:
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
    kept.raw = replace(kept.raw, names=PersistentMap.of(links), entities=PersistentMap.of(entities))
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
    kept: KeptLinking, found: Mapping[str, Mapping[str, str]], documents: Mapping[str, list[Any]], stage: PlaceStage
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
        entities=PersistentMap.of(linked).changed({iri: entity for iri, entity in made if entity is not None}),
        scoped=PersistentMap.of(scoped),
        refused=frozenset(kept.refusing),
    )


@dataclass(frozen=True, slots=True)
class LinkingOutcome:
    """What names stand for now, and what of that may differ from before: ``old`` and ``new`` are parts of both maps.

    ``places`` is how many places are meant; ``commit`` brings their graphs in line.
    """

    whole: Linking
    old: Linking
    new: Linking
    places: int = 0
    commit: Callable[[], object] = lambda: None


class LinkingMemory:
    """What a process remembers of the last linking, and leaves in a file for the next one."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = LinkingFile(file) if file is not None else None
        self._kept: KeptLinking | None = None

    def forget(self) -> None:
        """Takes up the file, or links everything, the next time, as after a write that failed."""
        if self._kept is not None:
            self._kept.known.dataset.unfollow(self._kept.following)
        self._kept = None

    def outcome(self, grounds: LinkingGrounds, before: Linking) -> LinkingOutcome | None:
        """What names stand for after what changed since the last time; None: better link everything.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        apart = grounds.registry.kept_apart()
        if self._kept is not None and self._kept.sign != grounds.sign(apart):
            self.forget()
        if grounds.likeness.content < 1:
            self.forget()
            return None
        kept = self._kept = self._kept or self._taken_up(grounds, apart, before)
        is_done = False
        try:
            mark = grounds.registry.latest_change()
            found = _Change(kept, grounds, _documents(grounds.registry, kept)).outcome(before)
            kept.mark, kept.is_followed, kept.is_in_line, is_done = mark, True, True, True
        finally:
            if not is_done:
                self.forget()
        return found

    def _taken_up(self, grounds: LinkingGrounds, apart: frozenset[Apart], before: Linking) -> KeptLinking:
        """What the last process left, if it can be used."""
        kept = self._file.take_up(grounds, apart) if self._file is not None else None
        if kept is None:
            return KeptLinking.new(grounds, apart)
        kept.is_in_line = kept.whole == before
        return kept

    def save(self, grounds: LinkingGrounds) -> None:
        """Leaves what is remembered in the file, once it was written."""
        if self._file is not None and self._kept is not None and not self._file.save(self._kept, grounds):
            self._file = None


def _documents(registry: Registry, kept: KeptLinking) -> dict[str, list[Extraction]]:
    """What was read in the documents that changed since; nothing for those that went or do not count."""
    if kept.mark < 0:  # of another process, or none: what changed is told by what there is
        now = registry.digests()
        changed = {document for document, _ in now.items() ^ kept.digests.items()}
    else:
        changed = {iri.value for iri in registry.changed_since(kept.mark)}
        now = registry.digests(map(NamedNode, changed))
    for document in changed:
        kept.digests.pop(document, None)
        if document in now:
            kept.digests[document] = now[document]
    kept.unsaved.documents |= changed
    return {
        document: list(registry.extractions(NamedNode(document))) if document in now else []
        for document in sorted(changed)
    }


@dataclass(slots=True)
class _Refusals:
    """The statements that are refused now and were not, and the other way round."""

    gained: set[Triple] = field(default_factory=set)
    lost: set[Triple] = field(default_factory=set)


class _Change:
    """One change of documents, carried through names and places."""

    def __init__(self, kept: KeptLinking, grounds: LinkingGrounds, documents: Mapping[str, list[Extraction]]) -> None:
        self._kept = kept
        self._grounds = grounds
        self._documents = documents

    def outcome(self, before: Linking) -> LinkingOutcome:
        kept = self._kept
        written = kept.following.take() if kept.is_followed else None
        rekeyed = kept.known.follow(written)
        moved = self._moved(written, rekeyed)
        known = {key: kept.places.known(key) or kept.known.now.get(key) for key in {*rekeyed, *moved.names}}
        relinked = kept.names.relink_changed(self._documents, known)
        raw, kept.raw = kept.raw, relinked.onto(kept.raw)
        self._note(relinked, raw, rekeyed, moved)
        old, kept.whole = kept.whole, replace(kept.whole, names=kept.raw.names, entities=kept.raw.entities)
        iris = {*relinked.left(raw), *relinked.entities}
        refusals = _Refusals()
        if self._grounds.stage is not None:
            iris |= self._put_places(old, moved, iris)
            refusals = self._refused(self._concerned(relinked, raw, moved))
            if refusals.gained or refusals.lost:
                kept.whole = replace(kept.whole, refused=old.refused - refusals.lost | refusals.gained)
        if not kept.is_in_line:
            return self._all(before)
        keys = relinked.keys | moved.names
        past = replace(_part(old, keys, iris, moved.scoped), refused=frozenset(refusals.lost))
        now = replace(_part(kept.whole, keys, iris, moved.scoped), refused=frozenset(refusals.gained))
        return LinkingOutcome(kept.whole, past, now, len(kept.places), partial(self._commit, moved, written))

    def _note(self, relinked: Relinked, raw: Linking, rekeyed: Iterable[NameKey], moved: PlaceChanges) -> None:
        """Notes what the file does not say yet."""
        unsaved, now = self._kept.unsaved, self._kept.raw
        unsaved.names |= {key for key in relinked.keys if raw.names.get(key) != now.names.get(key)}
        iris = {*relinked.left(raw), *relinked.entities}
        unsaved.entities |= {iri for iri in iris if raw.entities.get(iri) != now.entities.get(iri)}
        unsaved.ids |= moved.ids.keys()
        unsaved.known |= set(rekeyed)

    def _all(self, before: Linking) -> LinkingOutcome:
        """The first time: everything may differ."""
        kept, stage = self._kept, self._grounds.stage
        commit: Callable[[], object] = partial(stage.commit, kept.places.now) if stage is not None else lambda: None
        return LinkingOutcome(kept.whole, before, kept.whole, len(kept.places), commit)

    def _moved(self, written: WrittenStatements | None, rekeyed: Iterable[NameKey]) -> PlaceChanges:
        stage, kept = self._grounds.stage, self._kept
        if stage is None:
            return PlaceChanges()
        recoded = None
        if written is not None:
            said = (triple for triple in written.statements if isinstance(triple.object, Literal))
            recoded = {(triple.predicate, triple.object.value) for triple in said if isinstance(triple.object, Literal)}
        return kept.places.put(self._documents, stage, kept.known.now, rekeyed=rekeyed, recoded=recoded)

    def _put_places(self, old: Linking, moved: PlaceChanges, iris: Iterable[NamedNode]) -> set[NamedNode]:
        """Puts the places into the map, over what is linked; the entities of theirs that may differ."""
        kept, stage = self._kept, self._grounds.stage
        assert stage is not None
        places = {iri for id_, was in moved.ids.items() for iri in (was, kept.places.iris.get(id_)) if iri is not None}
        places |= {iri for id_ in moved.meant if (iri := kept.places.iris.get(id_)) is not None}
        linked, entities = kept.raw.entities, {}
        for iri in {*places, *iris}:
            made = kept.places.entity(iri, linked.get(iri), stage.entity)
            if made is not None:
                entities[iri] = made
        gone = (iri for iri in {*places, *iris} if iri not in entities)
        scoped = {place: iri for place, iri in moved.scoped.items() if iri is not None}
        kept.whole = replace(
            kept.whole,
            entities=PersistentMap.of(old.entities).changed(entities, gone),
            scoped=PersistentMap.of(old.scoped).changed(
                scoped, (place for place in moved.scoped if place not in scoped)
            ),
        )
        return places

    def _concerned(self, relinked: Relinked, raw: Linking, moved: PlaceChanges) -> set[str]:
        """The documents whose claims of what lies in what may hold or not hold otherwise than before."""
        resolution = self._kept.places.resolution
        if moved.is_renamed:
            return {*self._documents, *resolution.documents}
        linked = {key for key in relinked.keys if _entity_of(raw.names.get(key)) != _entity_of(relinked.links.get(key))}
        single = {document for document, _ in moved.scoped}
        tables = {key for document, key in moved.scoped if document not in resolution.documents}
        return {*self._documents, *single, *resolution.claiming(linked | moved.names | tables)}

    def _refused(self, documents: Iterable[str]) -> _Refusals:
        """Looks at what those documents claim; what that changed of what is refused in any document."""
        kept, stage = self._kept, self._grounds.stage
        assert stage is not None
        projection, meant, touched = Projection(self._grounds.base, kept.whole), kept.places.now, Counter[Triple]()
        for document in documents:
            refused = stage.contradicted(kept.places.resolution.claims(document), meant, projection)
            if refused != kept.refused.get(document, frozenset()):
                kept.unsaved.documents.add(document)
            touched.update(refused)
            touched.subtract(kept.refused.pop(document, ()))
            if refused:
                kept.refused[document] = refused
        found = _Refusals()
        for triple, count in touched.items():
            was = triple in kept.refusing
            kept.refusing[triple] += count
            holds = kept.refusing[triple] > 0
            if not holds:
                del kept.refusing[triple]
            if was != holds:
                (found.gained if holds else found.lost).add(triple)
        return found

    def _commit(self, moved: PlaceChanges, written: WrittenStatements | None) -> None:
        """Brings the graphs of the places in line: by what changed, unless somebody else wrote to them."""
        kept, stage, dataset = self._kept, self._grounds.stage, self._grounds.dataset
        if stage is None:
            return
        went = {id_: was for id_, was in moved.ids.items() if was is not None and id_ not in kept.places.iris}
        came = [id_ for id_ in moved.ids if id_ in kept.places.iris]
        is_foreign = written is None or any(dataset.is_of_places(graph) for graph in written.graphs)
        if is_foreign or moved.is_renamed or kept.places.is_shared(came, went.values()):
            stage.commit(kept.places.now)
        elif came or went:
            stage.commit_some(came, went, kept.places.iris)
        kept.following.pass_over(dataset.is_of_places)


def _entity_of(link: NameLink | None) -> NamedNode | None:
    return link.entity if link is not None else None


def _part(
    linking: Linking, keys: Iterable[NameKey], iris: Iterable[NamedNode], places: Iterable[tuple[str, NameKey]]
) -> Linking:
    """What the map says of these names and entities, and of these names in single documents."""
    names = {key: linking.names[key] for key in keys if key in linking.names}
    wanted = {link.entity for link in names.values()}.union(iris)
    entities = {iri: linking.entities[iri] for iri in wanted if iri in linking.entities}
    scoped = {place: linking.scoped[place] for place in places if place in linking.scoped}
    return replace(linking, names=names, entities=entities, scoped=scoped)
