"""The linking of a workspace by what changed since the last time: what a process keeps of it between builds.

The first build of a process links everything, since most processes build once. From the second on, only documents that
changed are read again, and only names that this can reach are linked anew; the decisions are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pyoxigraph import NamedNode, Triple

from kgplatform.building.places import MeantPlaces, PlaceStage
from kgplatform.documents.decisions import Apart
from kgplatform.documents.registry import Linking, NameKey, Registry, State
from kgplatform.linking.candidates import Likeness
from kgplatform.linking.incremental import IncrementalLinking, Relinked
from kgplatform.linking.projection import Projection
from kgplatform.ontology import Ontology
from kgplatform.places.keeping import KeptResolution
from kgplatform.types import Extraction


@dataclass(frozen=True, slots=True)
class Grounds:
    """What linking everything rests on besides documents: where this changes, all is linked from scratch."""

    base: str
    registry: Registry
    ontology: Ontology
    likeness: Likeness
    known: Mapping[NameKey, NamedNode]
    stage: PlaceStage | None

    def sign(self, apart: frozenset[Apart]) -> tuple[object, ...]:
        """By what it is told whether something changed."""
        sources = tuple((item.name, item.digest) for item in self.stage.reference.sources()) if self.stage else None
        return self.base, id(self.ontology), self.likeness, apart, sources


@dataclass(frozen=True, slots=True)
class Outcome:
    """What names stand for now, the places that are meant, and what of both may differ from before.

    ``old`` and ``new`` are the parts of the maps in question.
    """

    whole: Linking
    meant: MeantPlaces
    old: Linking
    new: Linking


@dataclass
class _Kept:
    names: IncrementalLinking
    sign: tuple[object, ...]
    places: KeptResolution = field(default_factory=KeptResolution)
    raw: Linking = field(default_factory=Linking)
    refused: dict[str, frozenset[Triple]] = field(default_factory=dict)
    iris: Mapping[str, NamedNode] = field(default_factory=dict)
    mark: int = -1


class LinkingMemory:
    """What a process remembers of the last linking."""

    def __init__(self) -> None:
        self._builds = 0
        self._kept: _Kept | None = None

    def forget(self) -> None:
        """Links everything the next time, as after a write that failed."""
        self._kept = None

    def outcome(self, grounds: Grounds, before: Linking) -> Outcome | None:
        """What names stand for after what changed since the last time; None: better link everything.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        self._builds += 1
        if self._builds == 1 or grounds.likeness.content < 1:
            return None
        apart = grounds.registry.kept_apart()
        sign = grounds.sign(apart)
        kept, self._kept = self._kept, None  # until it is in line again
        if kept is not None and kept.sign != sign:
            return None
        if kept is None:
            names = IncrementalLinking(grounds.ontology, grounds.base, grounds.likeness, apart)
            kept = _Kept(names, sign, raw=Linking(apart=apart))
        mark = grounds.registry.latest_change()
        found = _Change(kept, grounds, _documents(grounds.registry, kept.mark)).outcome(before)
        kept.mark = mark
        self._kept = kept
        return found


def _documents(registry: Registry, mark: int) -> dict[str, list[Extraction]]:
    """What was read in the documents that changed since; nothing for those that went or do not count."""
    if mark < 0:
        iris: Iterable[NamedNode] = registry.iris(State.PROCESSED)
    else:
        iris = registry.changed_since(mark)
    counts = {iri: registry.state(iri) is State.PROCESSED for iri in iris}
    return {iri.value: list(registry.extractions(iri)) if there else [] for iri, there in counts.items()}


class _Change:
    """One change of documents, carried through names and places."""

    def __init__(self, kept: _Kept, grounds: Grounds, documents: Mapping[str, list[Extraction]]) -> None:
        self._kept = kept
        self._grounds = grounds
        self._documents = documents

    def outcome(self, before: Linking) -> Outcome:
        kept, grounds = self._kept, self._grounds
        is_first = kept.mark < 0
        meant, moved = MeantPlaces(), set[NameKey]()
        if grounds.stage is not None:
            meant, moved = grounds.stage.meant_now(kept.places, self._documents, grounds.known)
        relinked = kept.names.relink(self._documents, {**grounds.known, **meant.known})
        raw, kept.raw = kept.raw, relinked.onto(kept.raw)
        whole = kept.raw
        if grounds.stage is not None:
            whole = grounds.stage.with_places(whole, meant)
            is_moved = any(meant.iris.get(id_, iri) != iri for id_, iri in kept.iris.items())
            concerned = kept.places.documents if is_moved else self._concerned(relinked, raw, moved)
            self._refuse(meant, whole, concerned)
            whole = replace(whole, refused=frozenset().union(*kept.refused.values()))
        if is_first:
            old, new = before, whole
        else:
            keys, iris = relinked.keys | moved, {*kept.iris.values(), *meant.iris.values()}
            old, new = (_part(linking, keys, iris) for linking in (before, whole))
        kept.iris = meant.iris
        return Outcome(whole, meant, old, new)

    def _concerned(self, relinked: Relinked, raw: Linking, moved: set[NameKey]) -> set[str]:
        """The documents whose claims of what lies in what may hold or not hold otherwise than before."""
        linked = {key for key in relinked.keys if raw.names.get(key) != relinked.links.get(key)}
        return {*self._documents, *self._kept.places.claiming(linked | moved)}

    def _refuse(self, meant: MeantPlaces, whole: Linking, documents: Iterable[str]) -> None:
        assert self._grounds.stage is not None
        projection = Projection(self._grounds.base, whole)
        for document in documents:
            claims = self._kept.places.claims(document)
            refused = self._grounds.stage.contradicted(claims, meant, projection)
            if refused:
                self._kept.refused[document] = refused
            else:
                self._kept.refused.pop(document, None)


def _part(linking: Linking, keys: Iterable[NameKey], iris: Iterable[NamedNode]) -> Linking:
    """What the map says of these names and entities, and all that it says of single documents and statements."""
    names = {key: linking.names[key] for key in keys if key in linking.names}
    wanted = {link.entity for link in names.values()}.union(iris)
    entities = {iri: linking.entities[iri] for iri in wanted if iri in linking.entities}
    return replace(linking, names=names, entities=entities)
