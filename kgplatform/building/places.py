"""The place stage: names that mean reference places get these places' entities, and the graph gets their hierarchy.

Which places are in the graph follows from what was read and from the reference, and from nothing else: a place comes
with the first document that means it, with all that it lies in, and goes with the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pyoxigraph import NamedNode, Triple

from kgplatform.dataset import Change, EvidenceDataset
from kgplatform.documents.registry import LinkedEntity, Linking, NameKey
from kgplatform.linking.projection import Projection
from kgplatform.ontology import Ontology
from kgplatform.places.asserting import Named, place_labels, place_triples, places_graph, with_above
from kgplatform.places.candidates import PlaceFinder
from kgplatform.places.described import WORLD, read_world
from kgplatform.places.divisions import LEVELS
from kgplatform.places.mentioned import Mentions, document_of, read_mentions
from kgplatform.places.place import Kinds
from kgplatform.places.reference import PlaceReference
from kgplatform.places.resolving import Resolution, resolve
from kgplatform.store import literal
from kgplatform.text import normalise
from kgplatform.types import Claim, Extraction, Mention

FILE = "places.sqlite"
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
        """Whether a property leads to what something lies in, from there, or neither."""
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
