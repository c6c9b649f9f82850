"""Where things are: coordinates, what they lie in, and the hierarchy of places that this makes.

What lies in what is said by a few well-known properties and, the other way round, by their inverses. Coordinates are
numbers of degrees, or a point in well-known text (OGC 06-103r4 §7).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from pyoxigraph import Literal, NamedNode

from kgplatform.ontology import Ontology
from kgplatform.store import DEFAULT_GRAPH, Store
from kgplatform.vocab import GEO, SCHEMA, TYPE, WGS84

_GEOSPARQL: Final = "http://www.opengis.net/ont/geosparql#"
_WITHIN: Final = tuple(
    NamedNode(iri) for iri in (f"{GEO}locatedIn", f"{SCHEMA}containedInPlace", f"{_GEOSPARQL}sfWithin")
)
_CONTAINS: Final = tuple(
    NamedNode(iri) for iri in (f"{GEO}contains", f"{SCHEMA}containsPlace", f"{_GEOSPARQL}sfContains")
)
_LATITUDE: Final = tuple(NamedNode(iri) for iri in (f"{GEO}latitude", f"{WGS84}lat", f"{SCHEMA}latitude"))
_LONGITUDE: Final = tuple(NamedNode(iri) for iri in (f"{GEO}longitude", f"{WGS84}long", f"{SCHEMA}longitude"))
_WKT: Final = NamedNode(f"{_GEOSPARQL}asWKT")
_POINT = re.compile(r"POINT\s*(?:Z\s*)?\(\s*([-+\d.eE]+)\s+([-+\d.eE]+)", re.IGNORECASE)
_MOST_ABOVE: Final = 200


@dataclass(frozen=True, slots=True)
class Spot:
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
    reach = {node: _reach(node, above) for node in above}
    candidates = reach[iri] - {iri}
    in_line = [
        one
        for one in candidates
        if all(one == other or other in reach.get(one, ()) or one in reach.get(other, ()) for other in candidates)
    ]
    return tuple(sorted(in_line, key=lambda one: (-len(reach.get(one, ())), one.value)))


def _reach(start: NamedNode, above: Mapping[NamedNode, Iterable[NamedNode]]) -> set[NamedNode]:
    found: set[NamedNode] = set()
    waiting = [start]
    while waiting:
        for parent in above.get(waiting.pop(), ()):
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    return found


def spot_of(store: Store, iri: NamedNode) -> Spot | None:
    """Where a thing is said to be."""
    latitude = _first_number(store, iri, _LATITUDE)
    longitude = _first_number(store, iri, _LONGITUDE)
    if latitude is not None and longitude is not None:
        return _sound(latitude, longitude)
    for term in store.objects(iri, _WKT):
        if isinstance(term, Literal) and (spot := _of_text(term.value)):
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


def _of_text(text: str) -> Spot | None:
    match = _POINT.search(text)
    try:
        return _sound(float(match[2]), float(match[1])) if match else None
    except ValueError:
        return None


def _sound(latitude: float, longitude: float) -> Spot | None:
    return Spot(latitude, longitude) if -90 <= latitude <= 90 and -180 <= longitude <= 180 else None


@dataclass(frozen=True)
class Atlas:
    """All places of a graph: where things are, what they lie in, and what lies in them."""

    spots: Mapping[NamedNode, Spot]
    direct: Mapping[NamedNode, frozenset[NamedNode]]
    above: Mapping[NamedNode, frozenset[NamedNode]] = field(default_factory=dict)
    """Of each thing all that it lies in, near or far."""

    def nearest(self, thing: NamedNode) -> frozenset[NamedNode]:
        """Of what a thing lies in, that which nothing else of it lies in."""
        found = self.above.get(thing, frozenset())
        farther = {one for place in found for one in self.above.get(place, ()) if place not in self.above.get(one, ())}
        return frozenset(found - farther)

    def place_of(self, thing: NamedNode) -> tuple[Spot, NamedNode] | None:
        """Where a thing is: by its own coordinates, else by those of the nearest place that it surely lies in."""
        if own := self.spots.get(thing):
            return own, thing
        waiting = set(self.nearest(thing))
        seen: set[NamedNode] = set()
        while len(waiting) == 1:
            place = waiting.pop()
            if place in seen:
                break
            seen.add(place)
            if spot := self.spots.get(place):
                return spot, place
            waiting = set(self.nearest(place))
        return None

    def counts(self, things: Iterable[NamedNode]) -> Counter[NamedNode]:
        """How many of the things lie in each place, near or far."""
        return Counter(place for thing in things for place in self.above.get(thing, ()))


def atlas(store: Store, by: Ways) -> Atlas:
    """The places of the graph, from a pass over what it says of them."""
    direct: dict[NamedNode, set[NamedNode]] = defaultdict(set)
    for lower, upper in _said(store, by):
        if lower != upper:
            direct[lower].add(upper)
    known: dict[NamedNode, frozenset[NamedNode]] = {}
    places = {place for found in direct.values() for place in found}
    for place in places:
        known[place] = frozenset(_reach(place, direct) - {place})
    above = {
        thing: known[thing] if thing in known else frozenset(found.union(*(known[place] for place in found)))
        for thing, found in direct.items()
    }
    return Atlas(_spots(store), {thing: frozenset(found) for thing, found in direct.items()}, above)


def _said(store: Store, by: Ways) -> Iterator[tuple[NamedNode, NamedNode]]:
    for way in by.up:
        for quad in store.quads(None, way, None, DEFAULT_GRAPH):
            if isinstance(quad.subject, NamedNode) and isinstance(quad.object, NamedNode):
                yield quad.subject, quad.object
    for way in by.down:
        for quad in store.quads(None, way, None, DEFAULT_GRAPH):
            if isinstance(quad.subject, NamedNode) and isinstance(quad.object, NamedNode):
                yield quad.object, quad.subject


def _spots(store: Store) -> dict[NamedNode, Spot]:
    """As `spot_of` tells of each thing, from one pass for each property."""
    latitudes, longitudes = _degrees(store, _LATITUDE), _degrees(store, _LONGITUDE)
    found: dict[NamedNode, Spot] = {}
    for thing, latitude in latitudes.items():
        if thing in longitudes and (spot := _sound(latitude, longitudes[thing])):
            found[thing] = spot
    for quad in store.quads(None, _WKT, None, DEFAULT_GRAPH):
        place, text = quad.subject, quad.object
        if not isinstance(place, NamedNode) or (place in latitudes and place in longitudes) or place in found:
            continue
        if isinstance(text, Literal) and (spot := _of_text(text.value)):
            found[place] = spot
    return found


def _degrees(store: Store, properties: Iterable[NamedNode]) -> dict[NamedNode, float]:
    """The first number that one of the properties gives each thing, the earlier properties first."""
    found: dict[NamedNode, float] = {}
    for name in properties:
        of_this: dict[NamedNode, float] = {}
        for quad in store.quads(None, name, None, DEFAULT_GRAPH):
            thing = quad.subject
            if isinstance(thing, NamedNode) and thing not in of_this and (number := _number(quad.object)) is not None:
                of_this[thing] = number
        found = of_this | found
    return found


def members(store: Store) -> dict[NamedNode, set[NamedNode]]:
    """The things that are said to be of each class, from one pass."""
    found: dict[NamedNode, set[NamedNode]] = defaultdict(set)
    for quad in store.quads(None, TYPE, None, DEFAULT_GRAPH):
        if isinstance(quad.subject, NamedNode) and isinstance(quad.object, NamedNode):
            found[quad.object].add(quad.subject)
    return found


def instances(store: Store, ontology: Ontology, class_: NamedNode) -> set[NamedNode]:
    """The things of a class and of those below it."""
    return {
        quad.subject
        for sub in ontology.subclasses(class_)
        for quad in store.quads(None, TYPE, sub, DEFAULT_GRAPH)
        if isinstance(quad.subject, NamedNode)
    }
