"""Where a thing is: its coordinates, and what it lies in.

What lies in what is said by a few well-known properties and, the other way round, by their inverses. Coordinates are
numbers of degrees, or a point in well-known text (OGC 06-103r4 §7).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from pyoxigraph import Literal, NamedNode

from kgplatform.ontology import Ontology
from kgplatform.store import DEFAULT_GRAPH, Store
from kgplatform.vocab import GEO, SCHEMA, WGS84

_GEOSPARQL: Final = "http://www.opengis.net/ont/geosparql#"
_WITHIN: Final = tuple(
    NamedNode(iri) for iri in (f"{GEO}locatedIn", f"{SCHEMA}containedInPlace", f"{_GEOSPARQL}sfWithin")
)
_CONTAINS: Final = tuple(
    NamedNode(iri) for iri in (f"{GEO}contains", f"{SCHEMA}containsPlace", f"{_GEOSPARQL}sfContains")
)
LATITUDE: Final = tuple(NamedNode(iri) for iri in (f"{GEO}latitude", f"{WGS84}lat", f"{SCHEMA}latitude"))
LONGITUDE: Final = tuple(NamedNode(iri) for iri in (f"{GEO}longitude", f"{WGS84}long", f"{SCHEMA}longitude"))
WKT: Final = NamedNode(f"{_GEOSPARQL}asWKT")
_POINT = re.compile(r"POINT\s*(?:Z\s*)?\(\s*([-+\d.eE]+)\s+([-+\d.eE]+)", re.IGNORECASE)
_MOST_ABOVE: Final = 200
_Name = TypeVar("_Name", NamedNode, str)


class Spot(NamedTuple):
    """Degrees north and degrees east."""

    latitude: float
    longitude: float


@dataclass(frozen=True, slots=True)
class Frame:
    """A part of the world, in degrees; ``west`` may be greater than ``east`` across the date line."""

    west: float
    south: float
    east: float
    north: float

    def holds(self, spot: Spot) -> bool:
        """Whether the spot lies inside."""
        if not self.south <= spot.latitude <= self.north:
            return False
        if self.west <= self.east:
            return self.west <= spot.longitude <= self.east
        return spot.longitude >= self.west or spot.longitude <= self.east

    def __str__(self) -> str:
        return ",".join(
            f"{edge:.4f}".rstrip("0").rstrip(".") for edge in (self.west, self.south, self.east, self.north)
        )


def read_frame(text: str) -> Frame | None:
    """The frame that ``west,south,east,north`` spells; None where it spells none.

    >>> str(read_frame("118,28,122.5,31")), read_frame("x")
    ('118,28,122.5,31', None)
    """
    try:
        west, south, east, north = (float(part) for part in text.split(","))
    except ValueError:
        return None
    sound = -90 <= south <= north <= 90 and all(-1080 <= edge <= 1080 for edge in (west, east))
    return Frame(west, south, east, north) if sound else None


@dataclass(frozen=True, slots=True)
class Ways:
    """The properties that lead from a thing to what it lies in: forward, and backward."""

    up: tuple[NamedNode, ...]
    down: tuple[NamedNode, ...]


def ways(ontology: Ontology) -> Ways:
    """The well-known properties, and those that the ontology puts below them."""
    below = [term.iri for term in ontology.properties.values() if any(parent in _WITHIN for parent in term.parents)]
    turned = [
        term.inverse for iri in below if (term := ontology.properties.get(iri)) is not None and term.inverse is not None
    ]
    return Ways((*_WITHIN, *below), (*_CONTAINS, *turned))


def lies_in(store: Store, iri: NamedNode, by: Ways) -> set[NamedNode]:
    """What the thing is said to lie in, near or far."""
    found = {quad.object for way in by.up for quad in store.quads(iri, way, None, DEFAULT_GRAPH)}
    found |= {quad.subject for way in by.down for quad in store.quads(None, way, iri, DEFAULT_GRAPH)}
    return {term for term in found if isinstance(term, NamedNode) and term != iri}


def hierarchy_of(store: Store, iri: NamedNode, by: Ways) -> tuple[NamedNode, ...]:
    """What a thing lies in, the nearest first; of what lies beside each other (a river's countries), nothing."""
    above: dict[NamedNode, set[NamedNode]] = {}
    waiting = [iri]
    while waiting and len(above) < _MOST_ABOVE:
        node = waiting.pop()
        if node not in above:
            above[node] = lies_in(store, node, by)
            waiting.extend(above[node])
    reach = {node: reach_of(node, above) for node in above}
    candidates = reach[iri] - {iri}
    in_line = [
        one
        for one in candidates
        if all(one == other or other in reach.get(one, ()) or one in reach.get(other, ()) for other in candidates)
    ]
    return tuple(sorted(in_line, key=lambda one: (-len(reach.get(one, ())), one.value)))


def reach_of(start: _Name, above: Mapping[_Name, Iterable[_Name]]) -> set[_Name]:
    """All that is above the start, near or far."""
    found: set[_Name] = set()
    waiting = [start]
    while waiting:
        for parent in above.get(waiting.pop(), ()):
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    return found


def spot_of(store: Store, iri: NamedNode) -> Spot | None:
    """Where a thing is said to be."""
    latitude = _first_number(store, iri, LATITUDE)
    longitude = _first_number(store, iri, LONGITUDE)
    if latitude is not None and longitude is not None:
        return sound(latitude, longitude)
    for term in store.objects(iri, WKT):
        if isinstance(term, Literal) and (spot := spot_of_text(term.value)):
            return spot
    return None


def _first_number(store: Store, iri: NamedNode, properties: Iterable[NamedNode]) -> float | None:
    for name in properties:
        for term in store.objects(iri, name):
            if (number := _number(term)) is not None:
                return number
    return None


def _number(term: object) -> float | None:
    try:
        return float(term.value) if isinstance(term, Literal) else None
    except ValueError:
        return None


def spot_of_text(text: str) -> Spot | None:
    """The point that well-known text spells; None where it spells none."""
    match = _POINT.search(text)
    try:
        return sound(float(match[2]), float(match[1])) if match else None
    except ValueError:
        return None


def sound(latitude: float, longitude: float) -> Spot | None:
    """The spot, if there is such a place on the globe."""
    return Spot(latitude, longitude) if -90 <= latitude <= 90 and -180 <= longitude <= 180 else None
