"""What an entity page shows beside the facts: where the thing is, what it is tied to, and its tables to take away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pyoxigraph import NamedNode

from kgplatform.dataset import EvidenceDataset
from kgplatform.describing import EntityView, Fact, Incoming, Labels, Reference, Turned
from kgplatform.errors import NotFoundError
from kgplatform.web import addresses
from kgplatform.web.frame import Frame
from kgplatform.web.located import Spot, hierarchy_of, lies_in, spot_of, ways
from kgplatform.web.needs import Graph
from kgplatform.web.neighbours import Artist, Drawn, Surroundings, fairly, query_of
from kgplatform.web.palette import Palette
from kgplatform.web.sheets import Sheet, number, passages, sheet
from kgplatform.web.tables import Cell

_MOST_NEIGHBOURS: Final = 14
_MOST_INSIDE: Final = 100
_MOST_ASKED: Final = 2_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where the small map is centred: ``iri`` is the thing, or the nearest place around it whose position is known."""

    iri: NamedNode
    spot: Spot


@dataclass(frozen=True, slots=True)
class Portrait:
    """The parts of the page; ``within`` the farthest first."""

    within: tuple[Reference, ...]
    picture: dict[str, Any]
    map: dict[str, Any] | None
    placed: Reference | None
    """The place whose position stands for that of the thing, if that is not known itself."""


def portrait(kg: Graph, dataset: EvidenceDataset, iri: NamedNode, labels: Labels, palette: Palette) -> Portrait:
    """The parts for a thing, as the dataset has it."""
    by = ways(kg.ontology)
    within = hierarchy_of(dataset.store, iri, by)
    surroundings = Surroundings(dataset, kg.ontology, labels)
    artist = Artist(kg, surroundings, labels, palette)
    place = _place(dataset, iri, within)
    return Portrait(
        within=tuple(labels.reference(item) for item in reversed(within)),
        picture=_neighbours(artist, surroundings, iri),
        map=_map(kg, dataset, artist, iri, place) if place else None,
        placed=labels.reference(place.iri) if place and place.iri != iri else None,
    )


def _neighbours(artist: Artist, surroundings: Surroundings, iri: NamedNode) -> dict[str, Any]:
    counted = surroundings.relations(iri)
    groups = {relation: surroundings.stated_first(iri, relation) for relation in counted}
    shown = fairly(groups, _MOST_NEIGHBOURS)
    things = (iri, *(other for other in shown if other != iri))
    statements = [quad for quad in surroundings.between(things) if iri in (quad.subject, quad.object)]
    statements = surroundings.drawn(statements)
    return artist.picture(
        Drawn(things, tuple(statements), iri),
        layout="radial",
        query=query_of(iri),
        total={"nodes": 1 + surroundings.number_of_others(iri, counted), "edges": sum(counted.values())},
    )


def _place(dataset: EvidenceDataset, iri: NamedNode, within: tuple[NamedNode, ...]) -> Place | None:
    for place in (iri, *within):
        if spot := spot_of(dataset.store, place):
            return Place(place, spot)
    return None


def _map(kg: Graph, dataset: EvidenceDataset, artist: Artist, iri: NamedNode, place: Place) -> dict[str, Any]:
    """The thing, or the place that it is in, and what lies in the thing."""
    spots = {place.iri: place.spot}
    if place.iri == iri:
        for inside in _inside(kg, dataset, iri):
            if len(spots) <= _MOST_INSIDE and (spot := spot_of(dataset.store, inside)):
                spots.setdefault(inside, spot)
    nodes = artist.picture(Drawn(tuple(spots), ()))
    points = [
        {**node, "lat": spot.latitude, "lon": spot.longitude}
        for node, spot in zip(nodes["nodes"], spots.values(), strict=True)
    ]
    around = place.spot
    data: dict[str, Any] = {"points": points, "classes": nodes["classes"], "query": _positions_query(place.iri)}
    if len(points) == 1:
        west, east = around.longitude - 6, around.longitude + 6
        data["bbox"] = [west, max(-85.0, around.latitude - 4), east, min(85.0, around.latitude + 4)]
    return data


def _inside(kg: Graph, dataset: EvidenceDataset, iri: NamedNode) -> list[NamedNode]:
    by = ways(kg.ontology)
    found: dict[NamedNode, None] = {}
    for way in by.up:
        for quad in dataset.store.quads(None, way, iri):
            if isinstance(quad.subject, NamedNode) and len(found) < _MOST_ASKED:
                found.setdefault(quad.subject)
    return [thing for thing in found if iri in lies_in(dataset.store, thing, by)]


def _positions_query(iri: NamedNode) -> str:
    return (
        "SELECT ?thing ?latitude ?longitude WHERE {\n"
        f"  {{ BIND({iri} AS ?thing) }} UNION {{ ?thing geo:locatedIn {iri} }}\n"
        "  ?thing geo:latitude ?latitude ; geo:longitude ?longitude .\n}\n"
    )


def turned(page: str, of: str, by: str) -> Turned | None:
    """The page of a property that an address asks for: ``of`` its values, ``by`` the things that refer by it.

    Raises:
        NotFoundError: the page is no number, or the property no IRI.
    """
    name = of or by
    if not name:
        return None
    try:
        return Turned(NamedNode(name), bool(by and not of), max(0, min(int(page or 1), 1_000_000) - 1))
    except ValueError as error:
        raise NotFoundError(
            "the page of a property is asked for by a number and the property's IRI", name=name
        ) from error


def sheets(view: EntityView, frame: Frame) -> tuple[Sheet, Sheet]:
    """The facts, and who refers to the thing, as tables."""
    return _facts(view.facts, frame), _incoming(view.incoming, frame)


def _facts(facts: tuple[Fact, ...], frame: Frame) -> Sheet:
    t = frame.t
    rows = (
        (
            Cell(fact.predicate.label, "", str(fact.predicate.term)),
            Cell(value.value.label),
            Cell(value.value.iri.value if value.value.iri else ""),
            Cell(fact.unit),
            Cell(t("origin_inferred") if value.is_inferred else ", ".join(value.origins)),
            passages(value.evidence, frame.base),
        )
        for fact in facts
        for value in fact.values
    )
    return sheet("facts", (t("property"), t("range"), "IRI", t("unit"), t("how_known"), t("source_column")), rows)


def _incoming(incoming: tuple[Incoming, ...], frame: Frame) -> Sheet:
    t = frame.t
    rows = (
        (
            Cell(group.predicate.label),
            Cell(subject.label, addresses.of_iri(subject.iri, frame.base) if subject.iri else ""),
            Cell(subject.iri.value if subject.iri else ""),
            number(group.total),
        )
        for group in incoming
        for subject in group.subjects
    )
    return sheet("incoming", (t("property"), t("thing"), "IRI", t("of_all")), rows)
