"""What the shipped shapes accept and what they report."""

import re
from functools import cache
from pathlib import Path

import pyshacl
import pytest
import rdflib

FOLDER = Path(__file__).resolve().parents[1] / "ontology"
SHAPES = sorted(FOLDER.glob("*.shapes.ttl"))
ONTOLOGIES = sorted(set(FOLDER.glob("*.ttl")) - set(SHAPES))

HOUSE = "https://w3id.org/kgplatform/"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SH = "http://www.w3.org/ns/shacl#"
XSD = "http://www.w3.org/2001/XMLSchema#"


@cache
def merged(*paths: Path) -> rdflib.Graph:
    graph = rdflib.Graph()
    for path in paths:
        graph.parse(path, format="turtle")
    return graph


def violations(turtle: str) -> set[str]:
    """The local names of the properties at fault in the data, by all shapes and ontologies together."""
    prefixes = "".join(f"@prefix {p.stem}: <{HOUSE}{p.stem}#> .\n" for p in ONTOLOGIES)
    prefixes += f"@prefix rdfs: <{RDFS}> .\n@prefix xsd: <{XSD}> .\n@prefix : <https://example.org/> .\n"
    # The ontologies go in with the data: pySHACL's own way of mixing them in takes exponential time on long lists.
    data = rdflib.Graph().parse(data=prefixes + turtle, format="turtle") + merged(*ONTOLOGIES)
    _, report, _ = pyshacl.validate(data, shacl_graph=merged(*SHAPES))
    assert isinstance(report, rdflib.Graph)
    faults = report.subjects(rdflib.URIRef(SH + "resultSeverity"), rdflib.URIRef(SH + "Violation"))
    paths = (path for fault in faults for path in report.objects(fault, rdflib.URIRef(SH + "resultPath")))
    return {re.split("[#/]", str(path))[-1] for path in paths}


WUZHEN = ':wuzhen a geo:Township, travel:WaterTown ; rdfs:label "Wuzhen"@en, "乌镇"@zh . '


@pytest.mark.parametrize("path", SHAPES, ids=lambda p: p.name)
def test_shapes_are_themselves_valid_shacl(path: Path) -> None:
    conforms, _, text = pyshacl.validate(rdflib.Graph(), shacl_graph=merged(path), meta_shacl=True)
    assert conforms, text


def test_shapes_accept_a_well_described_hotel() -> None:
    facts = """
        :inn a travel:Hotel ; rdfs:label "Tong'an Inn"@en, "通安客栈"@zh ; geo:locatedIn :wuzhen ;
            travel:pricePerNight 480.0 ; travel:starRating 4 ; travel:rating 4.6 ; travel:checkInTime "14:00" ;
            travel:openedIn "2007"^^xsd:gYear ; travel:phone "+86 573 8873 1088" ; travel:openingHours "00:00-24:00" ;
            travel:suitableFor travel:families ; travel:offers travel:wifi, travel:parking ."""
    assert violations(WUZHEN + facts) == set()


@pytest.mark.parametrize(
    ("fact", "fault"),
    [
        ("travel:rating 7.5", "rating"),
        ("travel:starRating 6", "starRating"),
        ("travel:pricePerNight -1.0", "pricePerNight"),
        ('travel:pricePerNight "480 yuan"', "pricePerNight"),
        ("travel:openedIn 2007", "openedIn"),
        ('travel:openingHours "in the morning"', "openingHours"),
        ("travel:suitableFor :wuzhen", "suitableFor"),
        ("travel:offers :wuzhen", "offers"),
        ("geo:latitude 130.0e0 ; geo:longitude 20.0e0", "latitude"),
        ("travel:roomCount 12, 14", "roomCount"),
    ],
)
def test_shapes_report_what_is_wrong_with_a_hotel(fact: str, fault: str) -> None:
    assert violations(WUZHEN + f':inn a travel:Hotel ; rdfs:label "Inn"@en ; geo:locatedIn :wuzhen ; {fact} .') == {
        fault
    }


def test_shapes_ask_every_described_thing_for_a_name() -> None:
    assert violations(WUZHEN + ":nameless a travel:Dish .") == {"label"}
