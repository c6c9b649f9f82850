"""The stage that links: which names stand for one thing and why, identities elsewhere, relations across levels."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from pathlib import Path

import numpy as np
from pyoxigraph import Literal, NamedNode, Quad, Triple

from kgplatform.documents.records import Apart, Linking, NameLink
from kgplatform.entities import find_iri
from kgplatform.errors import NotFoundError
from kgplatform.linking.candidates import Contents, KeptTextVectors, Likeness
from kgplatform.linking.clusters import Gold, PairScore, Trial, link_entities, link_triples, pair_score, trials
from kgplatform.linking.external import EXACT_MATCH, Identities, Identity, identity_triples
from kgplatform.linking.projection import ContentRelation, LinkLevel, relation_triples, relations
from kgplatform.store.dataset import Change, EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.text import has_han, normalise
from kgplatform.types import Embedder, Progress
from kgplatform.vocab import CORE, TYPE, entity_iri
from kgplatform.workspace.community_stage import CommunityParts
from kgplatform.workspace.ingest import Projecting, retired, tables_of
from kgplatform.workspace.linking_state import (
    PLACES_FILE,
    LinkingGrounds,
    LinkingOutcome,
    MeantPlaces,
    PlaceStage,
    open_places,
)
from kgplatform.workspace.review import settle
from kgplatform.workspace.table_stage import known_entities
from kgplatform.workspace.workspace import Workspace

_FROM = NamedNode(f"{CORE}linkFrom")


@dataclass(frozen=True, slots=True)
class TakenUp:
    """The identities that were written, each with our thing, and a sentence for each that was not."""

    written: tuple[tuple[NamedNode, Identity], ...]
    problems: tuple[str, ...]


def take_up(dataset: EvidenceDataset, identities: Identities) -> TakenUp:
    """Writes identities into ``graph/identities``; one of the same thing and place gives way to the new one."""
    written: list[tuple[NamedNode, Identity]] = []
    problems = list(identities.problems)
    for identity in identities.found:
        try:
            written.append((find_iri(dataset.store, identity.name), identity))
        except NotFoundError as error:
            problems.append(str(error))
    new = identity_triples(written, dataset.base)
    about = {triple.subject for triple in new if triple.predicate != EXACT_MATCH}
    graph = dataset.identities
    kept = [item.triple for item in dataset.store.quads(graph=graph) if item.subject not in about]
    dataset.commit(Change(dropped=(graph,), added={graph: list(dict.fromkeys([*kept, *new]))}))
    return TakenUp(tuple(written), tuple(problems))


def forget(dataset: EvidenceDataset) -> int:
    """Takes all external identities out; how many there were."""
    count = sum(1 for item in dataset.store.quads(None, EXACT_MATCH, None, dataset.identities))
    dataset.commit(Change(dropped=(dataset.identities,)))
    return count


def follow(dataset: EvidenceDataset, retired: Mapping[NamedNode, NamedNode]) -> None:
    """Lets the identities of things that were taken for others be of those."""
    held = [item.triple for item in dataset.store.quads(graph=dataset.identities)] if retired else []
    if any(triple.subject in retired or triple.object in retired for triple in held):
        graph = dataset.identities
        dataset.commit(Change(dropped=(graph,), added={graph: list(dict.fromkeys(_renamed(held, retired)))}))


def _renamed(triples: Iterable[Triple], retired: Mapping[NamedNode, NamedNode]) -> Iterable[Triple]:
    for triple in triples:
        subject, value = triple.subject, triple.object
        if triple.predicate == EXACT_MATCH and isinstance(subject, NamedNode):
            subject = retired.get(subject, subject)
        if triple.predicate == _FROM and isinstance(value, NamedNode):
            value = retired.get(value, value)
        yield Triple(subject, triple.predicate, value)


_REASONS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    (files("kgplatform") / "words" / "link_reasons.toml").read_text(encoding="utf-8")
)["reasons"]


@dataclass(frozen=True, slots=True)
class NameMerge:
    """A name that was taken for a thing that also has another one: how sure (0..1), by which method, and why."""

    name: str
    type: NamedNode
    entity: NamedNode
    label: str
    score: float
    method: str
    reason: str


def merges(linking: Linking, *, language: str = "en") -> list[NameMerge]:
    """All names that share their thing with an earlier name, the least sure first."""
    by_entity: dict[NamedNode, list[NameLink]] = {}
    for link in linking.names.values():
        if link.method != "value":
            by_entity.setdefault(link.entity, []).append(link)
    found: list[NameMerge] = []
    for entity, links in by_entity.items():
        main = min(links, key=lambda link: (-link.score, link.method not in ("exact", "known"), link.name))
        known = linking.entities.get(entity)
        words = {word.language: word.text for word in (known.labels if known else ())}
        label = words.get(language) or next(iter(words.values()), main.name)
        for link in links:
            if link is not main and link.name != main.name:
                reason = _REASONS.get(link.method, {}).get("zh" if language == "zh" else "en", link.method)
                found.append(NameMerge(link.name, link.type, entity, label, link.score, link.method, reason))
    return sorted(found, key=lambda merge: (merge.score, merge.label, merge.name, merge.type.value))


@dataclass(frozen=True, slots=True)
class Decided:
    """What a decision about two names came to: whether they stood for one thing before and do so now."""

    pair: Apart
    together_before: bool
    together_now: bool


def decision(linking: Linking, base: str, one: str, other: str) -> Apart:
    """The two names as a decision is remembered; each by name or by the IRI that a merged name had.

    Raises:
        NotFoundError: a document mentions no such name, or both are the same name.
    """
    first, second = (_named(linking, base, text) for text in (one, other))
    if first == second:
        raise NotFoundError(f"{one!r} and {other!r} are the same name, which nothing can tell apart", name=other)
    return Apart.of(first, second)


def together(linking: Linking, pair: Apart) -> bool:
    """True if the two names stand for one thing somewhere."""
    links = linking.names.values()
    first, second = ({link.entity for link in links if link.name == name} for name in (pair.first, pair.second))
    return bool(first & second)


def _named(linking: Linking, base: str, text: str) -> str:
    if text.startswith(("http://", "https://")):
        links = linking.names.values()
        found = next((link.name for link in links if entity_iri(base, link.type, link.name).value == text), None)
        if found is not None:
            return found
    wanted = normalise(text)
    names = {name for _, name in linking.names}
    if wanted in names:
        return wanted
    near = difflib.get_close_matches(wanted, sorted(names), n=3, cutoff=0.4 if has_han(wanted) else 0.6)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; `kgplatform links` lists merged names"
    raise NotFoundError(f"no document mentions {text!r}{hint}", name=text)


@dataclass(frozen=True, slots=True)
class LinkReport:
    """How many names were linked to how many entities, documents projected anew, and reference places meant."""

    names: int
    entities: int
    reprojected: int
    places: int = 0


def _likeness(workspace: Workspace) -> Likeness:
    """By what names are compared, as the settings say."""
    chosen = workspace.settings.linking
    names = workspace.folder / "vectors" / "names"
    contents = Contents(workspace.embedder, names) if chosen.content < 1 else None
    return Likeness(chosen.similarity, chosen.content, workspace.embedder, contents)


def _places(workspace: Workspace) -> AbstractContextManager[PlaceStage | None]:
    world = workspace.settings.places.world
    return open_places(workspace.folder / PLACES_FILE, workspace.dataset, workspace.ontology, world=world)


def linked(workspace: Workspace, likeness: Likeness | None = None) -> Linking:
    """The map from names to entities for everything that was read so far, made from scratch; nothing is written."""
    with _places(workspace) as stage:
        return _linked_with(workspace, stage, likeness or _likeness(workspace))[0]


def _linked_with(workspace: Workspace, stage: PlaceStage | None, likeness: Likeness) -> tuple[Linking, MeantPlaces]:
    """The map from names to entities, and the reference places that the names mean."""
    registry, ontology = workspace.registry, workspace.ontology
    known = known_entities(workspace.dataset, registry, ontology)
    meant = stage.meant(registry.extractions(), known) if stage else MeantPlaces()
    linking = link_entities(
        registry.extractions(),
        ontology=ontology,
        base=workspace.base,
        known={**known, **meant.known},
        likeness=likeness,
        apart=registry.kept_apart(),
    )
    return stage.settled(linking, meant) if stage else linking, meant


def calibrated(workspace: Workspace, gold: Gold) -> tuple[PairScore, list[Trial]]:
    """How well names are linked now, and from which likeness of content on how well; nothing is written."""
    likeness, contents = _likeness(workspace), Contents(workspace.embedder)

    def linked_from(content: float) -> Linking:
        return linked(workspace, replace(likeness, content=content, contents=contents))

    return pair_score(linked(workspace), gold), trials(linked_from, gold)


def decide(workspace: Workspace, one: str, other: str, *, undo: bool = False) -> Decided:
    """Keeps two names apart from now on, or with ``undo`` lets them come together again, and links anew.

    Raises:
        NotFoundError: a name is mentioned nowhere, or to undo, nothing was decided about the two.
    """
    registry = workspace.registry
    pair = decision(registry.linking(), workspace.base, one, other)
    before = together(registry.linking(), pair)
    if not undo:
        registry.keep_apart([pair])
    elif not registry.let_together(pair):
        raise NotFoundError(f"nothing was decided about {one!r} and {other!r}", name=one)
    link(workspace)
    return Decided(pair, before, together(registry.linking(), pair))


def link(workspace: Workspace, *, progress: Progress | None = None) -> LinkReport:
    """Links all names read so far, and brings the chunks in line whose names stand for something else now.

    The result depends on what was read, not on the order in which it was read.
    """
    registry, dataset, memory = workspace.registry, workspace.dataset, workspace.linking_memory
    with _places(workspace) as stage:
        likeness, files = _likeness(workspace), workspace.loaded.files
        grounds = LinkingGrounds(workspace.base, registry, dataset, workspace.ontology, likeness, stage, files)
        before = registry.linking()
        found = memory.outcome(grounds, before)
        if found is None:
            after, meant = _linked_with(workspace, stage, likeness)
            commit = partial(stage.commit, meant) if stage is not None else lambda: False
            found = LinkingOutcome(after, before, after, len(meant.resolution.ids()), commit)
        is_written = False
        try:
            found.commit()
            touched = _write(workspace, found, progress)
            is_written = True
            memory.save(grounds)
        finally:
            if not is_written:
                memory.forget()  # it would take what was not written for done
    settle(dataset, registry)
    after = found.whole
    return LinkReport(names=len(after.names), entities=len(after.entities), reprojected=touched, places=found.places)


def _write(workspace: Workspace, found: LinkingOutcome, progress: Progress | None) -> int:
    """Brings documents, links and what people said in line; how many documents were projected anew."""
    old, new, after = found.old, found.new, found.whole
    registry, dataset = workspace.registry, workspace.dataset
    touched = Projecting(tables_of(workspace)).reproject(old, new, after, progress=progress)
    if old == new:
        return touched
    stated = link_triples(old, workspace.base, registry.linking().entities)
    wanted = link_triples(new, workspace.base, after.entities)
    if new is after:
        change = Change(dropped=(dataset.links,), added={dataset.links: wanted})
    else:
        change = Change(
            removed={dataset.links: set(stated) - set(wanted)}, added={dataset.links: set(wanted) - set(stated)}
        )
    dataset.commit(change)
    gone = retired(old, after)
    follow(dataset, gone)
    registry.follow_reviews(gone)
    if new is after:
        registry.set_linking(after)
    else:
        registry.change_linking(old, new, after)
    return touched


_MOST_SAID = 12


def relate(parts: CommunityParts, embedder: Embedder, *, threshold: float, vectors: Path | None) -> int:
    """How many relations across levels there are, made anew; 1 as the ``threshold`` of likeness (δ₂) takes them out.

    Raises:
        ModelUnavailableError: the embedding model cannot be used.
    """
    dataset = parts.dataset
    found = list(_relations(parts, embedder, threshold, vectors)) if threshold < 1 else []
    if found or dataset.has_relations:
        triples = relation_triples(found, dataset.base)
        dataset.commit(Change(dropped=(dataset.relations,), added={dataset.relations: triples}))
    return len(found)


def _relations(
    parts: CommunityParts, embedder: Embedder, threshold: float, folder: Path | None
) -> Iterator[ContentRelation]:
    pairs = [(source.iri, target) for source in parts.ontology.classes.values() for target in source.across]
    things = {iri: _things(parts, iri) for pair in pairs for iri in pair}
    every = sorted({thing for members in things.values() for thing in members}, key=lambda iri: iri.value)
    said = {thing: list(_said(parts, thing)) for thing in every}
    texts = {thing: _described(parts, thing, said[thing]) for thing in every}
    vectors = KeptTextVectors(embedder, folder).of(texts.values())
    degrees = {thing: len(quads) for thing, quads in said.items()}
    empty = np.zeros((0, embedder.dimensions), dtype=np.float32)

    def level(iri: NamedNode) -> LinkLevel:
        rows = [vectors[texts[thing]] for thing in things[iri]]
        return LinkLevel(tuple(things[iri]), np.stack(rows) if rows else empty)

    for source, target in sorted(pairs, key=lambda pair: (pair[0].value, pair[1].value)):
        yield from relations(level(source), level(target), degrees, threshold=threshold)


def _things(parts: CommunityParts, class_: NamedNode) -> list[NamedNode]:
    store, below = parts.dataset.store, parts.ontology.subclasses(class_)
    found = {q.subject for type_ in below for q in store.quads(None, TYPE, type_, DEFAULT_GRAPH)}
    return sorted((iri for iri in found if isinstance(iri, NamedNode)), key=lambda iri: iri.value)


def _said(parts: CommunityParts, thing: NamedNode) -> Iterator[Quad]:
    """What is stated of the thing and of what it is stated, by the properties of the domain."""
    store = parts.dataset.store
    shown = {item.iri for item in parts.ontology.domain_properties}
    for quad in (*store.quads(thing, None, None, DEFAULT_GRAPH), *store.quads(None, None, thing, DEFAULT_GRAPH)):
        if quad.predicate in shown:
            yield quad


def _described(parts: CommunityParts, thing: NamedNode, said: list[Quad]) -> str:
    """The name of the thing, with what is said of it."""
    label = parts.label
    lines = []
    for quad in said:
        other = quad.object if quad.subject == thing else quad.subject
        value = other.value if isinstance(other, Literal) else label(other, "en")
        lines.append(f"{label(quad.predicate, 'en')} {value}")
    return "; ".join([label(thing, "en"), *sorted(set(lines))[:_MOST_SAID]])
