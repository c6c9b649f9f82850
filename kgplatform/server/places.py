"""Where everything is, worked out for a whole graph at a time: positions, and what lies in what.

What lies in what is said by a few well-known properties and, the other way round, by their inverses. Coordinates are
numbers of degrees, or a point in well-known text (OGC 06-103r4 §7). Of a whole graph things go by the texts of their
IRIs, and the store's answers are read as it writes them: a hundred thousand places take half a second so, and three
times that as one statement object each.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median
from typing import Final, NamedTuple, TypeVar

from pyoxigraph import Literal, NamedNode

from kgplatform.ontology.schema import Ontology
from kgplatform.sparql.syntax import ElementKind, GroupElement, split_query
from kgplatform.sparql.tokens import scan
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store
from kgplatform.types import Solutions, Term
from kgplatform.vocab import GEO, SCHEMA, TYPE, WGS84

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
class Bounds:
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


def read_bounds(text: str) -> Bounds | None:
    """The frame that ``west,south,east,north`` spells; None where it spells none.

    >>> str(read_bounds("118,28,122.5,31")), read_bounds("x")
    ('118,28,122.5,31', None)
    """
    try:
        west, south, east, north = (float(part) for part in text.split(","))
    except ValueError:
        return None
    sound = -90 <= south <= north <= 90 and all(-1080 <= edge <= 1080 for edge in (west, east))
    return Bounds(west, south, east, north) if sound else None


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


def centre(spots: Iterable[Spot]) -> Spot | None:
    """The median of the spots, on the side of the globe where they are; None where there is none.

    >>> centre([Spot(0, 179), Spot(2, -179), Spot(4, -177)]), centre([])
    (Spot(latitude=2, longitude=-179), None)
    """
    found = list(spots)
    if not found:
        return None
    east = [spot.longitude for spot in found]
    if max(east) - min(east) > 180:
        east = [degrees % 360 for degrees in east]
    middle = median(east)
    return Spot(median(spot.latitude for spot in found), middle - 360 if middle > 180 else middle)


def levels(ontology: Ontology) -> frozenset[NamedNode]:
    """The classes of a hierarchy of places: disjoint ones below a class whose things have codes."""
    keyed = [sorted(ontology.subclasses(iri), key=str) for iri, term in ontology.classes.items() if term.key]
    return frozenset(
        one for below in keyed for one in below if any(ontology.disjoint(one, other) for other in below if one != other)
    )


_NAMES: Final = frozenset(("lat", "latitude", "纬度", "long", "lon", "lng", "longitude", "经度"))
_LEAST = 2
_VARIABLE: Final = re.compile(r"\w{1,80}")


def with_places(found: Solutions, store: Store) -> Solutions:
    """The rows with ``lat`` and ``long`` of the first thing in each, where two or more of these are known.

    Rows that have numbers or places of their own to show, or of few things that lie somewhere, are as they were.
    """
    column = next((c for c in range(len(found.variables)) if _holds_things(found, c)), None)
    if column is None or _NAMES & {name.casefold() for name in found.variables}:
        return found
    spots = [_spot(store, row[column]) for row in found.rows]
    known = sum(spot != (None, None) for spot in spots)
    if known < _LEAST or known * 2 < len(spots):
        return found
    rows = tuple((*row, *spot) for row, spot in zip(found.rows, spots, strict=True))
    return replace(found, variables=(*found.variables, "lat", "long"), rows=rows)


def _holds_things(found: Solutions, column: int) -> bool:
    values = [row[column] for row in found.rows if row[column] is not None]
    return bool(values) and all(isinstance(value, NamedNode) for value in values)


def _spot(store: Store, term: Term | None) -> tuple[Term | None, Term | None]:
    spot = spot_of(store, term) if isinstance(term, NamedNode) else None
    if spot is None:
        return None, None
    return Literal(spot.latitude), Literal(spot.longitude)


def asking_for_places(query: str, variable: str, store: Store) -> str:
    """The SELECT with ``?lat`` and ``?long`` of what the variable stands for, where the graph has them; else empty.

    A query that counts or groups is left alone: a place more would be another group.
    """
    parts = split_query(query)
    seen = scan(query)
    pairs = [pair for pair in zip(LATITUDE, LONGITUDE, strict=True) if all(_is_used(store, item) for item in pair)]
    if parts is None or seen.form != "SELECT" or not pairs or not _VARIABLE.fullmatch(variable):
        return ""
    plain_tail = "GROUP" not in parts.tail.upper() and "HAVING" not in parts.tail.upper()
    if not plain_tail or "(" in parts.head or {"lat", "long"} & set(seen.variables):
        return ""
    latitude, longitude = ("|".join(map(str, group)) for group in zip(*pairs, strict=True))
    text = f"OPTIONAL {{ ?{variable} {latitude} ?lat ; {longitude} ?long }}"
    placed = GroupElement(ElementKind.OTHER, text, 0, frozenset((variable, "lat", "long")))
    return parts.selecting("lat", "long").query([*parts.elements, placed])


def _is_used(store: Store, property_: NamedNode) -> bool:
    return next(iter(store.quads(predicate=property_)), None) is not None


_TEXT = re.compile(r'^<([^>\n]*)>\t"((?:[^"\\\n]|\\.)*)"', re.MULTILINE)
_TIE = re.compile(r"^<([^>\n]*)>\t<([^>\n]*)>", re.MULTILINE)
_DIGITS = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_NUMBER = re.compile(rf'^<([^>\n]*)>\t(?:({_DIGITS})|"({_DIGITS})"[^"\n]*)$', re.MULTILINE)
_ESCAPE = re.compile(r"\\([tnrbf\"'\\])")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


@dataclass(frozen=True)
class Atlas:
    """All places of a graph: where things are, what they lie in, and what lies in them."""

    spots: Mapping[str, Spot]
    above: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Of each thing all that it lies in, near or far."""

    def nearest(self, thing: str) -> frozenset[str]:
        """Of what a thing lies in, that which nothing else of it lies in."""
        found = self.above.get(thing, frozenset())
        farther = {one for place in found for one in self.above.get(place, ()) if place not in self.above.get(one, ())}
        return frozenset(found - farther)

    @cached_property
    def centres(self) -> Mapping[str, Spot]:
        """Of each place without coordinates the middle of what lies in it and has some."""
        inside: dict[str, list[Spot]] = defaultdict(list)
        for thing, spot in self.spots.items():
            for place in self.above.get(thing, ()):
                if place not in self.spots:
                    inside[place].append(spot)
        return {place: found for place, spots in inside.items() if (found := centre(spots))}

    def place_of(self, thing: str) -> tuple[Spot, str] | None:
        """Where a thing is: by its coordinates, the middle of what lies in it, or the place it surely lies in."""
        if own := self.spots.get(thing) or self.centres.get(thing):
            return own, thing
        waiting = set(self.nearest(thing))
        seen: set[str] = set()
        while len(waiting) == 1:
            place = waiting.pop()
            if place in seen:
                break
            seen.add(place)
            if spot := self.spots.get(place) or self.centres.get(place):
                return spot, place
            waiting = set(self.nearest(place))
        return None

    def counts(self, things: Iterable[str]) -> Counter[str]:
        """How many of the things lie in each place, near or far."""
        alike = Counter(above for thing in things if (above := self.above.get(thing)))
        found: Counter[str] = Counter()
        for above, number in alike.items():
            for place in above:
                found[place] += number
        return found


def atlas(store: Store, by: Ways) -> Atlas:
    """The places of the graph, from a pass over what it says of them."""
    direct: dict[str, set[str]] = defaultdict(set)
    for lower, upper in _said(store, by):
        if lower != upper:
            direct[lower].add(upper)
    known: dict[str, frozenset[str]] = {}
    for place in {place for found in direct.values() for place in found}:
        known[place] = frozenset(reach_of(place, direct) - {place})
    above: dict[str, frozenset[str]] = {}
    alike: dict[frozenset[str], frozenset[str]] = {}
    for thing, found in direct.items():
        near = frozenset(found)
        if near not in alike:
            alike[near] = near.union(*(known[place] for place in near))
        above[thing] = known[thing] if thing in known else alike[near]
    return Atlas(_spots(store), above)


def ties(store: Store, predicate: NamedNode) -> list[tuple[str, str]]:
    """Of each statement with the property that is between things the IRIs of both."""
    return _TIE.findall(_written(store, predicate))


def texts(store: Store, predicate: NamedNode) -> list[tuple[str, str]]:
    """Of each statement with the property whose value is a literal the IRI of the subject, and the text."""
    found = _TEXT.findall(_written(store, predicate))
    return [(thing, _ESCAPE.sub(_unescaped, text) if "\\" in text else text) for thing, text in found]


def _written(store: Store, predicate: NamedNode) -> str:
    return store.results(f"SELECT ?thing ?value WHERE {{ ?thing {predicate} ?value }}", "tsv").decode()


def _unescaped(found: re.Match[str]) -> str:
    return _ESCAPES[found[1]]


def _said(store: Store, by: Ways) -> Iterator[tuple[str, str]]:
    for way in by.up:
        yield from ties(store, way)
    for way in by.down:
        yield from ((lower, upper) for upper, lower in ties(store, way))


def _spots(store: Store) -> dict[str, Spot]:
    """As `spot_of` tells of each thing, from one pass for each property."""
    latitudes, longitudes = _degrees(store, LATITUDE), _degrees(store, LONGITUDE)
    found = {
        thing: Spot(latitude, longitudes[thing])
        for thing, latitude in latitudes.items()
        if thing in longitudes and -90 <= latitude <= 90 and -180 <= longitudes[thing] <= 180
    }
    for place, text in texts(store, WKT):
        if not (place in found or (place in latitudes and place in longitudes)) and (spot := spot_of_text(text)):
            found[place] = spot
    return found


def _degrees(store: Store, properties: Iterable[NamedNode]) -> dict[str, float]:
    """A number that one of the properties gives each thing, the earlier properties first."""
    found: dict[str, float] = {}
    for name in properties:
        rows = _NUMBER.findall(_written(store, name))
        of_this = {thing: float(plain or quoted) for thing, plain, quoted in rows}
        found = of_this | found if found else of_this
    return found


def instances(store: Store, ontology: Ontology, class_: NamedNode) -> set[str]:
    """The things of a class and of those below it."""
    return {
        line[1:-1]
        for sub in ontology.subclasses(class_)
        for line in store.results(f"SELECT ?thing WHERE {{ ?thing {TYPE} {sub} }}", "tsv").decode().split("\n")
        if line.startswith("<")
    }
