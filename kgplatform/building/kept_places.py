"""The reference places that documents mean, kept in line by what changed: which are meant, by what IRI, in what lies.

A place is in the graph while a document means it, or one that lies in it. Its IRI is made of its id, unless a table or
a person described it already: then it is that thing's, found by a code or by a name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyoxigraph import NamedNode

from kgplatform.building.places import MeantPlaces, PlaceStage
from kgplatform.documents.registry import LinkedEntity, NameKey
from kgplatform.linking.names import sort_key
from kgplatform.places.keeping import KeptResolution, Resettled
from kgplatform.types import Extraction

Scoped = tuple[str, NameKey]
"""A name in one document."""


@dataclass(slots=True)
class Moved:
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
    """The places that all documents mean, as `PlaceStage.meant` finds them over everything."""

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
    ) -> Moved:
        """Takes documents in, each in the place of what it said before; ``known`` are the entities described otherwise.

        ``rekeyed`` are the names for which these differ from before, ``recoded`` the codes that were stated or taken
        back since (None: any may have been).
        """
        resettled = self.resolution.put(documents, stage.finder, stage.within)
        names = self.resolution.resolution.names
        looked_at = set(resettled.ids) | set(self._shifted(resettled.ids, stage))
        looked_at |= {names[key] for key in rekeyed if key in names}
        doubtful = set(self._needed) if recoded is None else self._coded(recoded)
        for id_ in doubtful:
            self._own.pop(id_, None)
        moved = Moved(set(resettled.names), meant=resettled.ids)
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

    def _coded(self, codes: Iterable[tuple[NamedNode, str]]) -> set[str]:
        return {id_ for code in codes for id_ in self._by_code.get(code, ())}

    def _settle(self, id_: str, stage: PlaceStage, known: Mapping[NameKey, NamedNode], moved: Moved) -> None:
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

    def _note_scoped(self, resettled: Resettled, renamed: set[str], moved: Moved) -> None:
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
        """Whether one of the places that came, or an IRI that a place had, is together with another place's."""
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
