"""The Map page: the things of a class where they are, and the hierarchy of places with how many lie in each.

A place without coordinates is drawn in the middle of what lies in it, another thing at the nearest place that it lies
in, and counted there; both are shown as approximate. What has no position at all is counted and listed. Nothing is
loaded from elsewhere unless the settings name a tile server.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlencode

from flask import Blueprint, Response, abort, jsonify, request
from pyoxigraph import NamedNode

from kgplatform.entities import Labels, Reference
from kgplatform.errors import ConfigError, NotFoundError
from kgplatform.server import addresses
from kgplatform.server.frame import Frame, Lately, Palette, Remembered, language, page, tongues
from kgplatform.server.places import Atlas, Spot, atlas, instances, levels, read_bounds, ways
from kgplatform.server.result_tables import Cell, Sheet, csv_of, sheet
from kgplatform.sparql.rewrite import with_prefixed_names
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.vocab import TYPE

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph


_MOST_POINTS: Final = 2_000
_MOST_LISTED: Final = 200
_MOST_LEVELS: Final = 200
_AT_ONCE: Final = 40
_MOST_BYTES: Final = 32_000_000


class Placed(NamedTuple):
    """A thing and where it is drawn: ``at`` is the thing itself, or the place that stands for it; None: nowhere."""

    thing: str
    spot: Spot | None = None
    at: str | None = None

    @property
    def is_own(self) -> bool:
        """Whether the coordinates are its own."""
        return self.at == self.thing


class MapPlaces:
    """What the map knows of one graph, made once for each version of its store."""

    def __init__(self, kg: KnowledgeGraph) -> None:
        self._kg = kg
        self._kept = Remembered(kg)

    def kept(self, key: tuple[object, ...], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What ``make`` gives, or gave for the key since the store last changed."""
        return self._kept.get(key, make)

    def prepare(self, lately: Lately) -> None:
        """Works out what every map needs, before somebody waits for it."""
        self.classes(lately)
        self.counts(None)

    @property
    def atlas(self) -> Atlas:
        """Where everything is."""
        return self._kept.get("atlas", lambda: atlas(self._kg.store, ways(self._kg.ontology)))

    def placed(self, class_: NamedNode | None) -> tuple[Placed, ...]:
        """The things of a class (none given: all that have a place), each with where it is drawn."""
        return self._kept.get(("placed", class_), lambda: tuple(self._placed(class_)))

    def counts(self, class_: NamedNode | None) -> Counter[str]:
        """How many of these things lie in each place."""
        return self._kept.get(("counts", class_), lambda: self.atlas.counts(item.thing for item in self.placed(class_)))

    def _placed(self, class_: NamedNode | None) -> Iterable[Placed]:
        known, spots = self.atlas, self.atlas.spots
        things = spots.keys() | known.above.keys() | known.centres.keys() if class_ is None else self._members(class_)
        for thing in sorted(things):
            if (own := spots.get(thing)) is not None:
                yield Placed(thing, own, thing)
            else:
                yield Placed(thing, *found) if (found := known.place_of(thing)) else Placed(thing)

    def under(self, class_: NamedNode | None) -> dict[str, list[str]]:
        """The places that have some of these things in them, by the place that each is directly in; "" is none."""
        return self._kept.get(("under", class_), lambda: self._under(self.counts(class_)))

    def _under(self, counts: Counter[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for place in counts:
            for upper in self.atlas.nearest(place) or ("",):
                found.setdefault(upper, []).append(place)
        return found

    @property
    def regions(self) -> frozenset[str]:
        """The places of the hierarchy: continents, countries …; empty where the ontology has no such classes."""
        kg = self._kg
        return self._kept.get(
            "regions",
            lambda: frozenset().union(*(instances(kg.store, kg.ontology, one) for one in levels(kg.ontology))),
        )

    def _members(self, class_: NamedNode) -> set[str]:
        return instances(self._kg.store, self._kg.ontology, class_)

    def classes(self, lately: Lately) -> list[tuple[NamedNode, int]]:
        """The classes some of whose things have a place, with the number of all of them."""
        return self._kept.get("classes", lambda: self._classes(lately))

    def _classes(self, lately: Lately) -> list[tuple[NamedNode, int]]:
        counted, found = lately.overview().classes, []
        for class_ in counted:
            filled = (sub for sub in self._kg.ontology.subclasses(class_) if sub in counted)
            if any(map(self._has_a_place, filled)):
                found.append((class_, lately.number_of(class_)))
        return found

    def _has_a_place(self, class_: NamedNode) -> bool:
        known = self.atlas
        said = self._kg.store.quads(None, TYPE, class_, DEFAULT_GRAPH)
        names = (quad.subject.value for quad in said if isinstance(quad.subject, NamedNode))
        return any(name in known.spots or name in known.above for name in names)


def blueprint(kg: KnowledgeGraph, lately: Lately, places: MapPlaces) -> Blueprint:
    """The routes of the map, and of the outlines that the settings name."""
    routes = Blueprint("world_map", __name__)

    @routes.get("/map")
    def map_() -> Any:
        return _Page(kg, lately, places).answer()

    @routes.get("/api/map/boundaries")
    def boundaries() -> Response:
        return jsonify(outlines(kg))

    return routes


def outlines(kg: KnowledgeGraph) -> dict[str, Any]:
    """The GeoJSON that ``map.boundaries`` names.

    Raises:
        NotFoundError: no file is named.
        ConfigError: it cannot be read, or is no GeoJSON.
    """
    if not kg.settings.map.boundaries:
        raise NotFoundError("the settings name no file of boundaries (map.boundaries)", name="map.boundaries")
    path = kg.folder / Path(kg.settings.map.boundaries).expanduser()
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ConfigError(f"{path.name}: more than {_MOST_BYTES // 1_000_000} MB", setting="map.boundaries")
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path.name}: not read as GeoJSON: {error}", setting="map.boundaries") from error
    if not isinstance(record, dict) or record.get("type") not in ("FeatureCollection", "Feature", "GeometryCollection"):
        raise ConfigError(f"{path.name}: no GeoJSON FeatureCollection", setting="map.boundaries")
    return record


class _Page:
    """Makes the page for one request."""

    def __init__(self, kg: KnowledgeGraph, lately: Lately, places: MapPlaces) -> None:
        self._kg = kg
        self._lately = lately
        self._places = places
        self._labels = Labels(kg.dataset, kg.ontology, tongues())
        self._frame = Frame(language(), kg.base)
        self._class = addresses.given_iri("class")
        self._place = addresses.given_iri("place")
        self._bbox = read_bounds(request.args["bbox"]) if request.args.get("bbox") else None

    def answer(self) -> Any:
        """The page, or one of its tables."""
        classes = self._places.classes(self._lately)
        known = {class_ for class_, _ in classes}
        if self._class is not None and self._class not in known and self._class not in self._kg.ontology.classes:
            raise NotFoundError(f"there is no class {self._class.value}", name=self._class.value)
        if request.args.get("bbox") and self._bbox is None:
            abort(400, "bbox is west,south,east,north in degrees, such as 118,28,122.5,31")
        below = self._below()
        located = [item for item in below if item.spot is not None]
        lost = [item for item in below if item.spot is None] if len(located) < len(below) else []
        framed = located
        if self._bbox is not None:
            framed = [item for item in located if item.spot and self._bbox.holds(item.spot)]
        tables = self._table("places", [*framed, *(lost if self._bbox is None else [])]), self._table("lost", lost)
        if (wanted := csv_of(*tables)) is not None:
            return wanted
        levels_, elsewhere = self._levels()
        return page(
            "map.html",
            self._kg.base,
            none=not classes and not located,
            classes=[(class_, self._labels.of(class_).text, count) for class_, count in classes],
            class_=self._class,
            things=self._labels.of(self._class).text if self._class is not None else "",
            trail=self._trail(),
            levels=levels_,
            elsewhere=elsewhere,
            place=self._labels.reference(self._place) if self._place is not None else None,
            total=len(below),
            located=len(located),
            borrowed=sum(thing != at for thing, _, at in located),
            approximate=sum(thing == at and thing not in self._places.atlas.spots for thing, _, at in located),
            lost=[self._named(item.thing) for item in lost[:_MOST_LISTED]],
            lost_total=len(lost),
            framed=self._listed(framed),
            framed_total=len(framed),
            most=_MOST_LISTED,
            bbox=str(self._bbox) if self._bbox else "",
            whole=self._href(bbox=""),
            tables=tables,
            picture=self._places.kept(self._key(), lambda: self._picture(located, framed)),
        )

    def _below(self) -> Sequence[Placed]:
        """The things of the class that are the chosen place, or lie in it."""
        placed, above = self._places.placed(self._class), self._places.atlas.above
        if self._place is None:
            return placed
        place = self._place.value
        return [item for item in placed if item.thing == place or place in above.get(item.thing, ())]

    def _key(self) -> tuple[object, ...]:
        return "picture", language(), self._class, self._place, str(self._bbox)

    def _href(self, **changed: str) -> str:
        """This page with other words; an empty one is left out."""
        words = {"class": self._class.value if self._class else "", "place": self._place.value if self._place else ""}
        words |= {"bbox": str(self._bbox) if self._bbox else ""} | changed
        kept = urlencode({name: value for name, value in words.items() if value})
        return f"/map?{kept}" if kept else "/map"

    def _trail(self) -> list[tuple[Reference, str]]:
        """The places round the chosen one, the largest first, and itself."""
        if self._place is None:
            return []
        above, own = self._places.atlas.above, self._place.value
        around = sorted(above.get(own, ()), key=lambda name: (len(above.get(name, ())), name))
        return [(self._named(name), self._href(place=name, bbox="")) for name in (*around, own)]

    def _named(self, name: str) -> Reference:
        return self._labels.reference(NamedNode(name))

    def _levels(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The tree of places in the chosen one that have something in them, and, of all, the things beside it.

        As many levels are open as there is room for. Beside the tree is what has something in it, but is no place of
        the hierarchy, and lies in none.
        """
        under, regions = self._places.under(self._class), self._places.regions
        top = under.get(self._place.value if self._place is not None else "", [])
        beside = [name for name in top if name not in regions] if self._place is None and regions else []
        if len(beside) == len(top):
            beside = []
        kept = frozenset(beside)
        tree, room, seen = self._branches([name for name in top if name not in kept]), _AT_ONCE, set(top)
        waiting = list(tree)
        while waiting and room > 0:
            branch = waiting.pop(0)
            inside = [name for name in under.get(branch["name"], ()) if name not in seen]
            if len(inside) <= room:
                seen.update(inside)
                branch["inside"] = self._branches(inside)
                waiting += branch["inside"]
                room -= len(inside)
        return tree, self._branches(beside)

    def _branches(self, names: Iterable[str]) -> list[dict[str, Any]]:
        """Places beside each other, those of the hierarchy first; ``share`` is of the largest number, in per cent."""
        counts, regions = self._places.counts(self._class), self._places.regions
        named = [(name, self._named(name)) for name in names]
        ranked = sorted(named, key=lambda pair: (pair[0] not in regions, -counts[pair[0]], pair[1].label.casefold()))
        most = max((counts[name] for name, _ in named), default=0) or 1
        palette = Palette(self._lately.overview())
        return [
            {
                **{"name": name, "term": term, "count": counts[name], "share": round(100 * counts[name] / most)},
                "kind": self._labels.of(kind).text if (kind := palette.class_of(self._kg, NamedNode(name))) else "",
                "href": self._href(place=name, bbox=""),
                "inside": [],
            }
            for name, term in ranked[:_MOST_LEVELS]
        ]

    def _listed(self, items: Sequence[Placed]) -> list[tuple[Reference, Reference | None]]:
        """The first things of the frame, each with the place that it is drawn at, where that is another."""
        return [
            (self._named(item.thing), self._named(item.at) if item.at is not None and not item.is_own else None)
            for item in items[:_MOST_LISTED]
        ]

    def _table(self, key: str, items: Sequence[Placed]) -> Sheet:
        """All of the things with their positions; names are looked up only where the table is asked for."""
        t = self._frame.t
        wanted = request.args.get("format") == "csv"
        rows = (
            (
                self._named(item.thing).label,
                item.thing,
                Cell(f"{item.spot.latitude:.6f}".rstrip("0").rstrip(".") if item.spot else "", numeric=True),
                Cell(f"{item.spot.longitude:.6f}".rstrip("0").rstrip(".") if item.spot else "", numeric=True),
                self._drawn_at(item),
            )
            for item in (items if wanted else ())
        )
        return sheet(key, (t("name"), "IRI", t("latitude"), t("longitude"), t("drawn_at")), rows)

    def _drawn_at(self, item: Placed) -> str:
        if item.at is not None and not item.is_own:
            return self._named(item.at).label
        return self._frame.t("ui_approximate") if item.at and item.at not in self._places.atlas.spots else ""

    def _picture(self, located: Sequence[Placed], framed: Sequence[Placed]) -> dict[str, Any]:
        """The points: those of the frame first, where there are too many for all, spread over what there is."""
        borrowed = Counter(at for thing, _, at in located if thing != at)
        spots = {at: spot for _, spot, at in chain(framed, located if framed is not located else ()) if at and spot}
        number = len(spots) if framed is located else len({item.at for item in framed})
        shown = _spread(list(islice(spots, number)), _MOST_POINTS)
        shown += islice(spots, number, number + _MOST_POINTS - len(shown))
        data: dict[str, Any] = {
            **self._points([NamedNode(name) for name in shown], spots, borrowed, {item.thing for item in located}),
            "query": with_prefixed_names(self._query(), self._kg.store.prefixes),
            "total": {"points": len(spots)},
        }
        if self._bbox is not None:
            data["bbox"] = [self._bbox.west, self._bbox.south, self._bbox.east, self._bbox.north]
        return data

    def _points(
        self, shown: Sequence[NamedNode], spots: Mapping[str, Spot], borrowed: Counter[str | None], asked: set[str]
    ) -> dict[str, Any]:
        """What is drawn at each of the places, and the classes that this points to.

        A point is approximate where none of the things that were asked for is surely there.
        """
        palette = Palette(self._lately.overview())
        of = {iri: palette.class_of(self._kg, iri) for iri in shown}
        classes = list(dict.fromkeys(item for item in of.values() if item is not None))
        at = {iri: number for number, iri in enumerate(classes)}
        points: list[dict[str, Any]] = []
        for iri in shown:
            label, spot = self._labels.of(iri).text[:120], spots[iri.value]
            point = {"id": iri.value, "label": label, "lat": spot.latitude, "lon": spot.longitude, "class": None}
            kind, inside = of[iri], borrowed.get(iri.value, 0)
            point |= {"href": addresses.of_iri(iri, self._kg.base), "class": at[kind] if kind is not None else None}
            if iri.value not in asked or iri.value not in self._places.atlas.spots:
                point["approximate"] = True
            if inside:
                point |= {"title": self._frame.t("map_at_place", n=inside, place=label), "value": inside}
            points.append(point)
        return {"points": points, "classes": palette.records(classes, self._labels, self._kg.base)}

    def _query(self) -> str:
        of_class = f"  ?thing a/rdfs:subClassOf* {self._class} .\n" if self._class is not None else ""
        inside = f"  ?thing geo:locatedIn+ {self._place} .\n" if self._place is not None else ""
        return (
            f"SELECT ?thing ?latitude ?longitude ?place WHERE {{\n{of_class}{inside}"
            "  { ?thing geo:latitude ?latitude ; geo:longitude ?longitude }\n  UNION\n"
            "  { ?thing geo:locatedIn ?place }\n}\nLIMIT 10000\n"
        )


def _spread(names: list[str], most: int) -> list[str]:
    """So many of the names at most, taken at even distances."""
    return names if len(names) <= most else [names[number * len(names) // most] for number in range(most)]
