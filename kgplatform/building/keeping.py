"""The linking of a workspace by what changed since the last time: what is kept of it between builds.

Only documents that changed are read again, and only names that this can reach are linked anew; the decisions are those
of linking everything. What is kept lies in a file too, so that a process that adds one document does not link all of
the others first (`kgplatform.building.kept_linking`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.building.kept_linking import Grounds, Kept, LinkingFile
from kgplatform.building.kept_places import Moved
from kgplatform.dataset import Written
from kgplatform.documents.decisions import Apart
from kgplatform.documents.layers import Layers
from kgplatform.documents.registry import Linking, NameKey, NameLink, Registry
from kgplatform.linking.incremental import Relinked
from kgplatform.linking.projection import Projection
from kgplatform.types import Extraction


@dataclass(frozen=True, slots=True)
class Outcome:
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
        self._kept: Kept | None = None

    def forget(self) -> None:
        """Takes up the file, or links everything, the next time, as after a write that failed."""
        if self._kept is not None:
            self._kept.known.dataset.unfollow(self._kept.following)
        self._kept = None

    def outcome(self, grounds: Grounds, before: Linking) -> Outcome | None:
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

    def _taken_up(self, grounds: Grounds, apart: frozenset[Apart], before: Linking) -> Kept:
        """What the last process left, if it can be used."""
        kept = self._file.take_up(grounds, apart) if self._file is not None else None
        if kept is None:
            return Kept.new(grounds, apart)
        kept.is_in_line = kept.whole == before
        return kept

    def save(self, grounds: Grounds) -> None:
        """Leaves what is remembered in the file, once it was written."""
        if self._file is not None and self._kept is not None and not self._file.save(self._kept, grounds):
            self._file = None


def _documents(registry: Registry, kept: Kept) -> dict[str, list[Extraction]]:
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

    def __init__(self, kept: Kept, grounds: Grounds, documents: Mapping[str, list[Extraction]]) -> None:
        self._kept = kept
        self._grounds = grounds
        self._documents = documents

    def outcome(self, before: Linking) -> Outcome:
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
        return Outcome(kept.whole, past, now, len(kept.places), partial(self._commit, moved, written))

    def _note(self, relinked: Relinked, raw: Linking, rekeyed: Iterable[NameKey], moved: Moved) -> None:
        """Notes what the file does not say yet."""
        unsaved, now = self._kept.unsaved, self._kept.raw
        unsaved.names |= {key for key in relinked.keys if raw.names.get(key) != now.names.get(key)}
        iris = {*relinked.left(raw), *relinked.entities}
        unsaved.entities |= {iri for iri in iris if raw.entities.get(iri) != now.entities.get(iri)}
        unsaved.ids |= moved.ids.keys()
        unsaved.known |= set(rekeyed)

    def _all(self, before: Linking) -> Outcome:
        """The first time: everything may differ."""
        kept, stage = self._kept, self._grounds.stage
        commit: Callable[[], object] = partial(stage.commit, kept.places.now) if stage is not None else lambda: None
        return Outcome(kept.whole, before, kept.whole, len(kept.places), commit)

    def _moved(self, written: Written | None, rekeyed: Iterable[NameKey]) -> Moved:
        stage, kept = self._grounds.stage, self._kept
        if stage is None:
            return Moved()
        recoded = None
        if written is not None:
            said = (triple for triple in written.statements if isinstance(triple.object, Literal))
            recoded = {(triple.predicate, triple.object.value) for triple in said if isinstance(triple.object, Literal)}
        return kept.places.put(self._documents, stage, kept.known.now, rekeyed=rekeyed, recoded=recoded)

    def _put_places(self, old: Linking, moved: Moved, iris: Iterable[NamedNode]) -> set[NamedNode]:
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
            entities=Layers.of(old.entities).changed(entities, gone),
            scoped=Layers.of(old.scoped).changed(scoped, (place for place in moved.scoped if place not in scoped)),
        )
        return places

    def _concerned(self, relinked: Relinked, raw: Linking, moved: Moved) -> set[str]:
        """The documents whose claims of what lies in what may hold or not hold otherwise than before."""
        resolution = self._kept.places.resolution
        if moved.is_renamed:
            return {*self._documents, *resolution.documents}
        linked = {key for key in relinked.keys if _entity(raw.names.get(key)) != _entity(relinked.links.get(key))}
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

    def _commit(self, moved: Moved, written: Written | None) -> None:
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


def _entity(link: NameLink | None) -> NamedNode | None:
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
