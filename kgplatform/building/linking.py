"""The linking stage: which names stand for which entities, over the whole workspace, and the statements that follow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from kgplatform.building.changes import retired
from kgplatform.building.deciding import Decided, decision, together
from kgplatform.building.identities import follow
from kgplatform.building.ingest import Ingest
from kgplatform.building.keeping import LinkingMemory, Outcome
from kgplatform.building.kept_linking import Grounds
from kgplatform.building.known import known_entities
from kgplatform.building.places import MeantPlaces, PlaceStage, open_places
from kgplatform.building.reviewing import settle
from kgplatform.dataset import Change, EvidenceDataset
from kgplatform.documents.registry import Linking, Registry
from kgplatform.errors import NotFoundError
from kgplatform.linking.calibration import Gold, PairScore, Trial, pair_score, trials
from kgplatform.linking.candidates import Likeness
from kgplatform.linking.content import Contents
from kgplatform.linking.entities import link_entities, link_triples
from kgplatform.ontology import Ontology


@dataclass(frozen=True, slots=True)
class Linked:
    """How many names were linked to how many entities, documents projected anew, and reference places meant."""

    names: int
    entities: int
    reprojected: int
    places: int = 0


@dataclass(frozen=True, slots=True)
class LinkingParts:
    """What linking reads and writes, and by what it compares names; ``memory`` is what is kept of it.

    ``files`` are those of the ontology.
    """

    base: str
    registry: Registry
    dataset: EvidenceDataset
    ontology: Ontology
    ingest: Ingest
    likeness: Likeness
    places: Path
    world: bool = True
    memory: LinkingMemory | None = None
    files: tuple[Path, ...] = ()

    def linked(self) -> Linking:
        """The map from names to entities for everything that was read so far."""
        with open_places(self.places, self.dataset, self.ontology, world=self.world) as stage:
            return self.linked_with(stage)[0]

    def linked_with(self, stage: PlaceStage | None) -> tuple[Linking, MeantPlaces]:
        """The map from names to entities, and the reference places that the names mean."""
        known = known_entities(self.dataset, self.registry, self.ontology)
        meant = stage.meant(self.registry.extractions(), known) if stage else MeantPlaces()
        linking = link_entities(
            self.registry.extractions(),
            ontology=self.ontology,
            base=self.base,
            known={**known, **meant.known},
            likeness=self.likeness,
            apart=self.registry.kept_apart(),
        )
        return stage.settled(linking, meant) if stage else linking, meant


def calibrated(parts: LinkingParts, contents: Contents, gold: Gold) -> tuple[PairScore, list[Trial]]:
    """How well names are linked now, and from which likeness of content on how well; nothing is written."""

    def linked_from(likeness: float) -> Linking:
        chosen = replace(parts.likeness, content=likeness, contents=contents)
        return replace(parts, likeness=chosen).linked()

    return pair_score(parts.linked(), gold), trials(linked_from, gold)


def decide(parts: LinkingParts, one: str, other: str, *, undo: bool = False) -> Decided:
    """Keeps two names apart from now on, or with ``undo`` lets them come together again, and links anew.

    Raises:
        NotFoundError: a name is mentioned nowhere, or to undo, nothing was decided about the two.
    """
    pair = decision(parts.registry, parts.base, one, other)
    before = together(parts.registry.linking(), pair)
    if not undo:
        parts.registry.keep_apart([pair])
    elif not parts.registry.let_together(pair):
        raise NotFoundError(f"nothing was decided about {one!r} and {other!r}", name=one)
    link(parts)
    return Decided(pair, before, together(parts.registry.linking(), pair))


def link(parts: LinkingParts) -> Linked:
    """Links all names read so far, and brings the chunks in line whose names stand for something else now.

    The result depends on what was read, not on the order in which it was read.
    """
    with open_places(parts.places, parts.dataset, parts.ontology, world=parts.world) as stage:
        grounds = Grounds(parts.base, parts.registry, parts.dataset, parts.ontology, parts.likeness, stage, parts.files)
        found = _outcome(parts, grounds)
        is_written = False
        try:
            found.commit()
            touched = _write(parts, found)
            is_written = True
            if parts.memory is not None:
                parts.memory.save(grounds)
        finally:
            if parts.memory is not None and not is_written:
                parts.memory.forget()  # it would take what was not written for done
    settle(parts.dataset, parts.registry)
    after = found.whole
    return Linked(names=len(after.names), entities=len(after.entities), reprojected=touched, places=found.places)


def _write(parts: LinkingParts, found: Outcome) -> int:
    """Brings documents, links and what people said in line; how many documents were projected anew."""
    old, new, after = found.old, found.new, found.whole
    touched = parts.ingest.reproject(old, new, after)
    if old == new:
        return touched
    links = parts.dataset.links
    before = parts.registry.linking()
    stated = link_triples(old, parts.base, before.entities)
    wanted = link_triples(new, parts.base, after.entities)
    if new is after:
        change = Change(dropped=(links,), added={links: wanted})
    else:
        change = Change(removed={links: set(stated) - set(wanted)}, added={links: set(wanted) - set(stated)})
    parts.dataset.commit(change)
    gone = retired(old, after)
    follow(parts.dataset, gone)
    parts.registry.follow_reviews(gone)
    if new is after:
        parts.registry.set_linking(after)
    else:
        parts.registry.change_linking(old, new, after)
    return touched


def _outcome(parts: LinkingParts, grounds: Grounds) -> Outcome:
    """What names stand for now: by what changed, where it is remembered how it was before."""
    before, stage = parts.registry.linking(), grounds.stage
    if parts.memory is not None:
        found = parts.memory.outcome(grounds, before)
        if found is not None:
            return found
    after, meant = parts.linked_with(stage)
    commit = partial(stage.commit, meant) if stage is not None else lambda: False
    return Outcome(after, before, after, len(meant.resolution.ids()), commit)
