"""Shapes: what the shipped ones accept and report, what is proven, and that leaving that out changes no report."""

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pyshacl
import pytest
import rdflib
from hypothesis import event, reject
from hypothesis import strategies as st
from laws import in_two_lengths
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, parse

from kgplatform.errors import OntologyError
from kgplatform.ontology.schema import TermIndex, read_ontology
from kgplatform.reasoning.pyshacl_report import reported
from kgplatform.reasoning.scope import Facts, Instances, Scope, Supposed
from kgplatform.reasoning.shacl import Prover, compared, is_surely_of, shapes_hold
from kgplatform.reasoning.shapes import Shapes, Targets, read_shapes
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store
from kgplatform.vocab import XSD

FOLDER = Path(__file__).resolve().parents[1] / "ontology"
SHAPES = sorted(FOLDER.glob("*.shapes.ttl"))
ONTOLOGIES = sorted(set(FOLDER.glob("*.ttl")) - set(SHAPES))
HOUSE = "https://w3id.org/kgplatform/"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SH = "http://www.w3.org/ns/shacl#"


@cache
def merged(*paths):
    graph = rdflib.Graph()
    for path in paths:
        graph.parse(path, format="turtle")
    return graph


@pytest.mark.parametrize("path", SHAPES, ids=lambda p: p.name)
def test_shapes_are_themselves_valid_shacl(path):
    conforms, _, text = pyshacl.validate(rdflib.Graph(), shacl_graph=merged(path), meta_shacl=True)
    assert conforms, text


PREFIXES = (
    "@prefix : <urn:x:> . @prefix sh: <http://www.w3.org/ns/shacl#> .\n"
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n"
)
NODES = (":a", ":b", ":c", ":d")


def violations(turtle):
    """The local names of the properties at fault, by thing, in the data by all shapes and ontologies together."""
    prefixes = "".join(f"@prefix {p.stem}: <{HOUSE}{p.stem}#> .\n" for p in ONTOLOGIES)
    prefixes += f"@prefix rdfs: <{RDFS}> .\n@prefix xsd: <{XSD}> .\n@prefix : <https://example.org/> .\n"
    # The ontologies go in with the data: pySHACL's own way of mixing them in takes exponential time on long lists.
    data = rdflib.Graph().parse(data=prefixes + turtle, format="turtle") + merged(*ONTOLOGIES)
    _, report, _ = pyshacl.validate(data, shacl_graph=merged(*SHAPES))
    assert isinstance(report, rdflib.Graph)
    found: dict[str, set[str]] = {}
    for fault in report.subjects(rdflib.URIRef(SH + "resultSeverity"), rdflib.URIRef(SH + "Violation")):
        path, node = (report.value(fault, rdflib.URIRef(SH + name)) for name in ("resultPath", "focusNode"))
        found.setdefault(re.split("[#/]", str(node))[-1], set()).add(re.split("[#/]", str(path))[-1])
    return found


def test_shapes_accept_a_well_described_hotel_and_report_what_is_wrong_with_others():
    facts = """
        :wuzhen a geo:Township, travel:WaterTown ; rdfs:label "Wuzhen"@en, "乌镇"@zh .
        :inn a travel:Hotel ; rdfs:label "Tong'an Inn"@en, "通安客栈"@zh ; geo:locatedIn :wuzhen ;
            travel:pricePerNight 480.0 ; travel:starRating 4 ; travel:rating 4.6 ; travel:checkInTime "14:00" ;
            travel:openedIn "2007"^^xsd:gYear ; travel:phone "+86 573 8873 1088" ; travel:openingHours "00:00-24:00" ;
            travel:suitableFor travel:families ; travel:offers travel:wifi, travel:parking .
        :label a travel:Dish ."""
    faults = (
        ("rating", "travel:rating 7.5"),
        ("starRating", "travel:starRating 6"),
        ("pricePerNight", 'travel:pricePerNight -1.0, "480 yuan"'),
        ("openedIn", "travel:openedIn 2007"),
        ("openingHours", 'travel:openingHours "in the morning"'),
        ("suitableFor", "travel:suitableFor :wuzhen"),
        ("offers", "travel:offers :wuzhen"),
        ("latitude", "geo:latitude 130.0e0 ; geo:longitude 20.0e0"),
        ("roomCount", "travel:roomCount 12, 14"),
    )
    for name, fact in faults:
        facts += f':{name} a travel:Hotel ; rdfs:label "Inn"@en ; geo:locatedIn :wuzhen ; {fact} .\n'
    assert violations(facts) == {name: {name} for name in ("label", *(name for name, _ in faults))}


VALUES = (
    *NODES, "_:x", "1", "2", "2.0", "3.5", "-1", "1.0e0", '"01"^^xsd:integer', '"x"^^xsd:integer', '"NaN"^^xsd:double',
    '"INF"^^xsd:double', "true", '"yes"^^xsd:boolean', '"2024-01-31"^^xsd:date', '"2024-02-31"^^xsd:date',
    '"2023-05-05"^^xsd:date', '"2024-01-01T24:00:00"^^xsd:dateTime', '"2024-01-01T10:00:00Z"^^xsd:dateTime',
    '"2024"^^xsd:gYear', '"乌镇"', '"乌镇"@zh', '"Wuzhen"@en', '"West"@en-GB', '"West"@EN', '""', '"line\\n"',
    '"aa bb"',
)  # fmt: skip
PATHS = (
    ":p", ":q", ":p", ":q", "[ sh:inversePath :p ]", "( :p :q )", "[ sh:zeroOrMorePath :p ]", "[ sh:zeroOrOnePath :q ]",
    "( :p [ sh:inversePath :q ] )", "( [ sh:inversePath :p ] :q )", "[ sh:alternativePath ( :p :q ) ]",
    "[ sh:oneOrMorePath [ sh:inversePath :p ] ]", "[ sh:inversePath ( :p :q ) ]",
)  # fmt: skip
ON_VALUES = (
    "sh:class :A", "sh:class :B", "sh:datatype xsd:integer", "sh:datatype xsd:decimal", "sh:datatype xsd:string",
    "sh:datatype xsd:date", "sh:datatype xsd:dateTime", "sh:datatype xsd:boolean", "sh:datatype xsd:double",
    "sh:datatype rdf:langString", "sh:datatype rdfs:Literal", "sh:datatype xsd:gYear", "sh:datatype xsd:anyURI",
    "sh:nodeKind sh:IRI", "sh:nodeKind sh:Literal", "sh:nodeKind sh:BlankNodeOrIRI", "sh:nodeKind sh:IRIOrLiteral",
    "sh:minInclusive 2", "sh:maxInclusive 2.0", "sh:minExclusive 1", "sh:maxExclusive 3.5e0",
    'sh:minInclusive "2023-12-31"^^xsd:date', 'sh:maxInclusive "2"', "sh:minLength 2", "sh:maxLength 4",
    'sh:pattern "^[a-z]+$"', 'sh:pattern "^W" ; sh:flags "i"', 'sh:pattern "镇$"', 'sh:pattern "\\\\s"',
    "sh:in ( :a 1 2.0 \"乌镇\"@zh )", "sh:in ()", 'sh:languageIn ( "en" "zh" )', "sh:node :N", "sh:node :M",
    "sh:not [ sh:class :A ]", "sh:or ( [ sh:class :A ] [ sh:datatype xsd:integer ] )",
    "sh:and ( :N [ sh:minLength 1 ] )",
    "sh:xone ( [ sh:class :A ] [ sh:class :B ] )", "sh:hasValue :a", "sh:hasValue 2", "sh:equals :q",
    "sh:disjoint :q",
    "sh:or ( [ sh:property [ sh:path :q ; sh:maxCount 1 ] ] [ sh:class :B ] )", "sh:node :D",
    "sh:property [ sh:path :q ; sh:minCount 1 ]", "sh:property [ sh:path :q ; sh:class :A ]",
)  # fmt: skip
ON_SETS = (
    "sh:minCount 1", "sh:minCount 2", "sh:maxCount 0", "sh:maxCount 1", "sh:uniqueLang true", "sh:lessThan :q",
    "sh:lessThanOrEquals :q", "sh:qualifiedValueShape [ sh:class :A ] ; sh:qualifiedMinCount 1",
    "sh:qualifiedValueShape [ sh:nodeKind sh:IRI ] ; sh:qualifiedMaxCount 1",
)  # fmt: skip
TARGETS = (
    "sh:targetClass :A", "sh:targetClass :B", "sh:targetSubjectsOf :p", "sh:targetObjectsOf :r", "sh:targetNode :a",
    "a rdfs:Class",
)  # fmt: skip
CLOSED = ("sh:closed true", "sh:closed true ; sh:ignoredProperties ( rdf:type :q )", "sh:closed false")
COMMON = ":B rdfs:subClassOf :A . :E rdfs:subClassOf :B .\n"
NAMED_SHAPES = (
    ":N a sh:NodeShape ; sh:property [ sh:path :p ; sh:maxCount 1 ] . :M a sh:NodeShape ; sh:class :B .\n"
    + (":D a sh:NodeShape ; sh:property [ sh:path :p ; sh:node [ sh:property [ sh:path :q ; sh:node :N ] ] ] .\n")
)
statements = st.one_of(
    st.tuples(st.sampled_from(NODES), st.sampled_from((":p", ":q")), st.sampled_from(VALUES)),
    st.tuples(st.sampled_from(NODES), st.just(":r"), st.sampled_from(NODES)),
    st.tuples(st.sampled_from(NODES), st.just("a"), st.sampled_from((":A", ":B", ":E", ":S0", ":S1"))),
)
property_shapes = st.builds(
    lambda path, parts: f"sh:property [ sh:path {path} ; {' ; '.join(parts)} ]",
    st.sampled_from(PATHS),
    st.lists(st.sampled_from(ON_VALUES + ON_SETS), min_size=1, max_size=2, unique_by=lambda part: part.split()[0]),
)
shapes_text = st.lists(
    st.tuples(
        st.sampled_from(TARGETS),
        st.lists(st.one_of(property_shapes, st.sampled_from(ON_VALUES + CLOSED)), min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=2,
)


def instances_of(turtle):
    dataset = EvidenceDataset(Store.open(), "urn:base:")
    dataset.state(item.triple for item in parse((PREFIXES + turtle).encode(), format=RdfFormat.TURTLE))
    return Instances(dataset)


def read(turtle):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "s.ttl"
        path.write_text(PREFIXES + turtle, encoding="utf-8")
        return Shapes(read_shapes(path))


def plain_pyshacl(instances, shapes):
    """What pySHACL says of the whole graph."""
    return list(reported([item.triple for item in instances.store.quads(graph=DEFAULT_GRAPH)], shapes))


def doubtful(shapes, instances, things):
    facts = Facts(instances)
    return list(Prover(shapes, facts, Targets(shapes, facts)).doubtful(things))


def seen(findings):
    return {(f.focus, f.path, f.value, f.constraint, f.severity) for f in findings}


@in_two_lengths(300, st.lists(statements, max_size=12, unique=True), shapes_text)
def test_leaving_out_proofs_changes_nothing(data, shapes):
    written = "".join(
        f":S{n} a sh:NodeShape ; {target} ; {' ; '.join(once(parts))} .\n" for n, (target, parts) in enumerate(shapes)
    )
    instances = instances_of(COMMON + "".join(f"{s} {p} {o} .\n" for s, p, o in data))
    held_to = read(NAMED_SHAPES + written)
    vocabulary = TermIndex(read_ontology([]), [])
    scope = Scope(tuple(NamedNode(f"urn:x:{name[1:]}") for name in NODES))
    try:
        judged = [finding for finding in plain_pyshacl(instances, held_to) if finding.focus in scope.subjects]
    except OntologyError:  # it does not compare blank nodes, nor NaN with decimals
        reject()
    event(f"pySHACL reports {min(len(judged), 5)}")
    event(f"{len(doubtful(held_to, instances, scope.subjects))} doubtful")
    ours = [item for item in shapes_hold(instances, scope, held_to, vocabulary) if item.focus in scope.subjects]
    assert seen(ours) == seen(judged)


def test_a_path_goes_back_from_a_literal_to_all_that_have_the_same():
    instances = instances_of(":a a :A ; :p 1 . :b :q 1 .")
    shapes = read(
        ":S a sh:NodeShape ; sh:targetClass :A ; sh:property [ sh:path ( :p [ sh:inversePath :q ] ) ; sh:class :A ] ."
    )
    found = shapes_hold(instances, Scope((NamedNode("urn:x:a"),)), shapes, TermIndex(read_ontology([]), []))
    assert [finding.value for finding in found] == [NamedNode("urn:x:b")]


def once(parts):
    """The parts, of those with the same parameter the first only: SHACL allows several of few."""
    return list({part.split()[0] if "property" not in part else part: part for part in reversed(parts)}.values())


def test_what_keeps_to_common_shapes_is_proven_and_needs_no_judging():
    instances = instances_of(
        COMMON + ":a a :E ; :p 3 ; :q 3.5 ; :r '乌镇'@zh, 'Wuzhen'@en ; :s :b ; :t '2024-01-31'^^xsd:date . :b a :B ."
    )
    shapes = read(
        ":S a sh:NodeShape ; sh:targetClass :A ; sh:nodeKind sh:IRI ;"
        " sh:property [ sh:path :p ; sh:datatype xsd:integer ; sh:minInclusive 1 ; sh:maxInclusive 5 ; sh:maxCount 1 ;"
        "   sh:lessThan :q ], [ sh:path :r ; sh:uniqueLang true ; sh:languageIn ( 'en' 'zh' ) ; sh:maxLength 10 ],"
        " [ sh:path :s ; sh:or ( [ sh:class :Z ] [ sh:class :A ] ) ; sh:qualifiedValueShape [ sh:class :B ] ;"
        "   sh:qualifiedMaxCount 1 ], [ sh:path :t ; sh:datatype xsd:date ; sh:pattern '^2024' ] ."
    )
    things = (NamedNode("urn:x:a"), NamedNode("urn:x:b"))
    assert doubtful(shapes, instances, things) == []


@pytest.mark.parametrize(
    ("fact", "doubted"),
    [
        (":a :p 6 .", True), (":a :p 2.0 .", True), (":a :p 2 .", False), (":a a :Z ; :p 9 .", True),
        (":b :p 9 .", False),
    ],
)  # fmt: skip
def test_what_is_not_proven_is_doubted(fact, doubted):
    instances = instances_of(COMMON + ":a a :B . :b a :Other . " + fact)
    shapes = read(
        ":S a sh:NodeShape ; sh:targetClass :A ;"
        " sh:property [ sh:path :p ; sh:datatype xsd:integer ; sh:maxInclusive 5 ] ."
    )
    found = doubtful(shapes, instances, [NamedNode("urn:x:a"), NamedNode("urn:x:b")])
    assert found == ([NamedNode("urn:x:a")] if doubted else [])
    for part in ("sh:property [ sh:minCount 0 ]", "sh:not [ sh:class :Z ]", "sh:property [ sh:path ( :p :q ) ]"):
        unknown = read(f":S a sh:NodeShape ; sh:targetClass :A ; {part} .")  # what is not known proves nothing
        assert doubtful(unknown, instances_of(":a a :A ."), [NamedNode("urn:x:a")])


def test_only_what_is_beyond_doubt_is_compared():
    def typed(text, name):
        return Literal(text, datatype=NamedNode(XSD + name))

    two, new_year = typed("2", "integer"), typed("2023-01-01", "date")
    assert compared(two, typed("2.0", "decimal")) == 0
    assert compared(typed("2024-01-01", "date"), new_year) == 1
    for one, other in (
        (typed("2024-02-30", "date"), new_year),
        (two, new_year),
        (typed("NaN", "double"), two),
        (Literal("2"), NamedNode("urn:x:a")),
    ):
        assert compared(one, other) is None
    assert not is_surely_of(typed("x", "integer"), NamedNode(f"{XSD}integer"))


def test_a_supposed_document_is_seen_as_if_it_were_there():
    plain = instances_of(":a a :A ; :p 9 .")
    shapes = read(":S a sh:NodeShape ; sh:targetClass :A ; sh:property [ sh:path :p ; sh:maxInclusive 5 ] .")
    a, b, p = NamedNode("urn:x:a"), NamedNode("urn:x:b"), NamedNode("urn:x:p")
    nine = Literal("9", datatype=NamedNode(f"{XSD}integer"))
    type_ = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    supposed = Supposed(
        added=[Triple(b, type_, NamedNode("urn:x:A")), Triple(b, p, nine)],
        removed=[Triple(a, p, nine)],
    )
    vocabulary = TermIndex(read_ontology([]), [])
    as_it_is = shapes_hold(plain, Scope((a, b)), shapes, vocabulary)
    as_supposed = shapes_hold(Instances(plain.dataset, supposed), Scope((a, b)), shapes, vocabulary)
    assert [f.focus for f in as_it_is] == [a]
    assert [f.focus for f in as_supposed] == [b]
