"""Where everything is, worked out for a whole graph at a time: positions, and what lies in what.

Things go by the texts of their IRIs here, and the store's answers are read as it writes them: a hundred thousand
places take half a second so, and three times that as one statement object each.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pyoxigraph import NamedNode

from kgplatform.ontology import Ontology
from kgplatform.store import Store
from kgplatform.vocab import TYPE
from kgplatform.web.located import LATITUDE, LONGITUDE, WKT, Spot, Ways, reach_of, spot_of_text

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

    def place_of(self, thing: str) -> tuple[Spot, str] | None:
        """Where a thing is: by its own coordinates, else by those of the nearest place that it surely lies in."""
        if own := self.spots.get(thing):
            return own, thing
        waiting = set(self.nearest(thing))
        seen: set[str] = set()
        while len(waiting) == 1:
            place = waiting.pop()
            if place in seen:
                break
            seen.add(place)
            if spot := self.spots.get(place):
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
