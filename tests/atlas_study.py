"""A country in a real workspace: places in places, hotels with and without coordinates, and names that mean harm."""

from __future__ import annotations

from pathlib import Path

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.graph import KnowledgeGraph
from kgplatform.vocab import GEO, LABEL, TRAVEL, TYPE, XSD_DECIMAL, XSD_INTEGER

BASE = "https://example.org/kg/"
EVIL = '<script>alert("x")</script>'
QUOTING = '"><img src=x onerror=alert(1)>'
RTL = "שלום \u202eevil\u202c مرحبا"
LONG = "Very long name " * 134
EVILS = (EVIL, QUOTING, RTL, LONG)
HOTELS = 60
LEVELS = (
    ("asia", "Continent", "Asia", "亚洲"),
    ("china", "Country", "China", "中国"),
    ("zhejiang", "Province", "Zhejiang", "浙江省"),
    ("jiaxing", "City", "Jiaxing", "嘉兴市"),
    ("tongxiang", "County", "Tongxiang", "桐乡市"),
    ("wuzhen", "Township", "Wuzhen", "乌镇镇"),
)


def thing(name: str) -> NamedNode:
    return NamedNode(f"{BASE}entity/{name}")


def geo(name: str) -> NamedNode:
    return NamedNode(f"{GEO}{name}")


def travel(name: str) -> NamedNode:
    return NamedNode(f"{TRAVEL}{name}")


def decimal(number: float) -> Literal:
    return Literal(str(number), datatype=XSD_DECIMAL)


def _places() -> list[Triple]:
    found = []
    for at, (name, class_, english, chinese) in enumerate(LEVELS):
        found += [
            Triple(thing(name), TYPE, geo(class_)),
            Triple(thing(name), LABEL, Literal(english, language="en")),
            Triple(thing(name), LABEL, Literal(chinese, language="zh")),
        ]
        if at:
            found.append(Triple(thing(name), geo("locatedIn"), thing(LEVELS[at - 1][0])))
    for name, latitude, longitude in (("tongxiang", 30.63, 120.56), ("jiaxing", 30.75, 120.76)):
        found.append(Triple(thing(name), geo("latitude"), decimal(latitude)))
        found.append(Triple(thing(name), geo("longitude"), decimal(longitude)))
    return found


def _hotels() -> list[Triple]:
    """Every second one with coordinates, the others in Wuzhen, the last of which nobody knows where it is."""
    found = []
    for n in range(HOTELS):
        hotel = thing(f"hotel-{n}")
        found += [
            Triple(hotel, TYPE, travel("Hotel")),
            Triple(hotel, LABEL, Literal(f"Hotel {n:02}", language="en")),
            Triple(hotel, travel("roomCount"), Literal(str(10 + n % 7), datatype=XSD_INTEGER)),
        ]
        if n < HOTELS - 1:
            found.append(Triple(hotel, geo("locatedIn"), thing("wuzhen")))
        if n % 2 == 0:
            found.append(Triple(hotel, geo("latitude"), decimal(round(30.7 + n / 1000, 3))))
            found.append(Triple(hotel, geo("longitude"), decimal(round(120.4 + n / 1000, 3))))
    return found


def _hostile() -> list[Triple]:
    found = []
    for n, name in enumerate(EVILS):
        evil = thing(f"evil-{n}")
        found += [
            Triple(evil, TYPE, travel("Hotel")),
            Triple(evil, LABEL, Literal(name)),
            Triple(evil, travel("address"), Literal(name)),
            Triple(evil, geo("near"), thing("nameless")),
            Triple(evil, geo("locatedIn"), thing("wuzhen")),
            Triple(evil, geo("latitude"), decimal(30.74)),
            Triple(evil, geo("longitude"), decimal(round(120.5 + n / 10, 1))),
        ]
    return [*found, Triple(thing("nameless"), TYPE, travel("ScenicArea"))]


def country(folder: Path) -> KnowledgeGraph:
    """The workspace, with what follows from it drawn."""
    kg = KnowledgeGraph.create(folder / "country", ontology="travel", base=BASE)
    kg.dataset.state([*_places(), *_hotels(), *_hostile()])
    kg.build()
    return kg
