"""Tables to statements: the drafted mapping, rows, cells that are refused, entities that meet across tables."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, parse

from kgplatform import resources
from kgplatform.documents.table import read_table, table_of
from kgplatform.documents.tabular.source import SourceRow, TableSource
from kgplatform.errors import ReadError
from kgplatform.extraction.entities import EntityIndex
from kgplatform.extraction.tables import map_table
from kgplatform.mapping.drafting import drafted
from kgplatform.mapping.functions import Functions
from kgplatform.mapping.rml import rules_of
from kgplatform.mapping.running import Run
from kgplatform.mapping.statements import RowStatements, statements
from kgplatform.ontology import Ontology, read_ontology
from kgplatform.vocab import ALT_LABEL, LABEL, TYPE, entity_iri

BASE = "http://example.org/"
O = "http://example.org/o#"  # noqa: E741
TERMS = """
@prefix : <http://example.org/o#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix core: <https://w3id.org/kgplatform/core#> .
:Place a owl:Class ; rdfs:label "place"@en, "地点"@zh .
:Town a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "town"@en, "镇"@zh .
:Mine a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "mine"@en, "矿"@zh .
:Mineral a owl:Class ; rdfs:label "mineral"@en, "矿物"@zh .
:Sample a owl:Class ; rdfs:label "sample"@en, "样品"@zh ; owl:hasKey ( :sampleNumber ) .
:Lustre a owl:Class ; rdfs:label "lustre"@en .
:metallic a :Lustre ; rdfs:label "metallic"@en, "金属光泽"@zh ; skos:altLabel "shiny"@en .
:locatedIn a owl:ObjectProperty ; rdfs:domain :Place ; rdfs:range :Place ;
  rdfs:label "located in"@en ; skos:altLabel "town"@en .
:foundAt a owl:ObjectProperty ; rdfs:domain :Sample ; rdfs:range :Mine ;
  rdfs:label "found at"@en ; skos:altLabel "mine"@en, "产地"@zh .
:consistsOf a owl:ObjectProperty ; rdfs:domain :Sample ; rdfs:range :Mineral ;
  rdfs:label "consists of"@en ; skos:altLabel "minerals"@en .
:lustre a owl:ObjectProperty ; rdfs:domain :Sample ; rdfs:range :Lustre ; rdfs:label "lustre"@en .
:splitFrom a owl:ObjectProperty ; rdfs:domain :Sample ; rdfs:range :Sample ; rdfs:label "split from"@en .
:sampleNumber a owl:DatatypeProperty, owl:FunctionalProperty ; rdfs:domain :Sample ; rdfs:range xsd:string ;
  core:pattern "S-\\\\d+" ; rdfs:label "sample number"@en, "样品编号"@zh .
:weight a owl:DatatypeProperty ; rdfs:domain :Sample ; rdfs:range xsd:decimal ;
  core:unit "g" ; rdfs:label "weight"@en, "重量"@zh .
:foundOn a owl:DatatypeProperty ; rdfs:domain :Sample ; rdfs:range xsd:date ; rdfs:label "found on"@en .
:depth a owl:DatatypeProperty ; rdfs:domain :Mine ; rdfs:range xsd:integer ;
  core:unit "m" ; rdfs:label "mine depth"@en .
"""
SAMPLES = """sample_number,weight,found_on,mine,mine_depth,minerals,lustre,split_from,remark
S-1,12.5,2024-05-03,Falu Mine,600,quartz;pyrite,shiny,,lost
S-2,1.2 kg,3 May 2024,Falu Mine,600,Quartz,,S-1,
S-3,heavy,soon,,,,velvety,,
,5,,,,,,,
"""


@pytest.fixture(scope="module")
def ontology() -> Ontology:
    return read_ontology([quad.triple for quad in parse(TERMS, format=RdfFormat.TURTLE)])


def term(name: str) -> NamedNode:
    return NamedNode(f"{O}{name}")


def rows(
    text: str, ontology: Ontology, *, name: str = "samples", index: EntityIndex | None = None
) -> list[RowStatements]:
    table = table_of(Path(f"{name}.csv"), text.encode())
    draft = drafted(map_table(table, ontology, BASE), ontology, f"{name}.csv")
    functions = Functions(ontology, index or EntityIndex(ontology, BASE))
    rules = rules_of(draft, Path(f"{name}.mapping.yml"))
    run = Run(rules, f"{name}.csv", table.columns, functions, opener=no_other)
    return list(statements(run, (SourceRow(row.line, row.cells[: len(table.columns)]) for row in table.rows)))


def no_other(location: str) -> TableSource:
    raise ReadError("is not read here", path=Path(location))


def test_columns_are_matched_with_properties_and_the_table_with_a_class(ontology: Ontology) -> None:
    table = table_of(Path("samples.csv"), SAMPLES.encode())
    mapping = map_table(table, ontology, BASE)
    assert mapping.type == term("Sample")
    assert mapping.key == 0
    found = {item.column: item.term.iri if item.term else None for item in mapping.columns}
    assert found == {
        "sample_number": term("sampleNumber"),
        "weight": term("weight"),
        "found_on": term("foundOn"),
        "mine": term("foundAt"),
        "mine_depth": term("depth"),
        "minerals": term("consistsOf"),
        "lustre": term("lustre"),
        "split_from": term("splitFrom"),
        "remark": None,
    }
    assert mapping.columns[4].via == 3


def test_the_mapping_can_be_read(ontology: Ontology) -> None:
    mapping = map_table(table_of(Path("samples.csv"), SAMPLES.encode()), ontology, BASE)
    lines = mapping.describe(ontology).splitlines()
    assert lines[0] == "samples: each row is a sample"
    assert lines[1] == "  sample_number -> sample number (key)"
    assert "  mine_depth -> mine depth of its mine" in lines
    assert "  remark -> ignored" in lines


def test_a_row_becomes_typed_statements(ontology: Ontology) -> None:
    first = rows(SAMPLES, ontology)[0]
    subject, mine = entity_iri(BASE, term("Sample"), "S-1"), entity_iri(BASE, term("Mine"), "Falu Mine")
    assert first.subject == subject
    decimal, date = (NamedNode(f"http://www.w3.org/2001/XMLSchema#{name}") for name in ("decimal", "date"))
    assert {
        Triple(subject, TYPE, term("Sample")),
        Triple(subject, LABEL, Literal("S-1")),
        Triple(subject, term("weight"), Literal("12.5", datatype=decimal)),
        Triple(subject, term("foundOn"), Literal("2024-05-03", datatype=date)),
        Triple(subject, term("foundAt"), mine),
        Triple(mine, TYPE, term("Mine")),
        Triple(mine, LABEL, Literal("Falu Mine", language="en")),
        Triple(mine, term("depth"), Literal(600)),
        Triple(subject, term("lustre"), term("metallic")),
    } <= set(first.triples)
    assert sum(triple.predicate == term("consistsOf") for triple in first.triples) == 2
    assert (first.line, first.refused) == (2, [])


def test_one_thing_has_one_iri_whatever_row_names_it(ontology: Ontology) -> None:
    found = rows(SAMPLES, ontology)
    assert Triple(found[1].subject, term("splitFrom"), found[0].subject) in found[1].triples  # type: ignore[arg-type]
    quartz = [triple.object for row in found[:2] for triple in row.triples if triple.predicate == term("consistsOf")]
    assert quartz[0] == quartz[2]


def test_units_and_dates_are_converted(ontology: Ontology) -> None:
    values = {
        triple.object.value for triple in rows(SAMPLES, ontology)[1].triples if isinstance(triple.object, Literal)
    }
    assert {"1200", "2024-05-03"} <= values


def test_bad_cells_are_refused_with_line_and_column_and_the_row_counts(ontology: Ontology) -> None:
    third, fourth = rows(SAMPLES, ontology)[2:]
    assert third.subject is not None
    assert [item.reason for item in third.refused] == [
        "line 4, column 'weight': 'heavy' is not a number",
        "line 4, column 'found_on': 'soon' is not a date",
        "line 4, column 'lustre': 'velvety' is not one of the values of 'lustre'",
    ]
    assert (fourth.subject, fourth.triples) == (None, [])
    assert fourth.refused[0].reason == "line 5, column 'sample_number': nothing names the row"


def test_names_in_several_languages_label_one_entity(ontology: Ontology) -> None:
    (row,) = rows("name,name_zh,aliases,town\nFalu Mine,法伦矿,Great Mine;Kopparberg,Falun\n", ontology, name="mines")
    labels = {triple.object for triple in row.triples if triple.subject == row.subject and triple.predicate == LABEL}
    assert labels == {Literal("Falu Mine", language="en"), Literal("法伦矿", language="zh")}
    assert sum(triple.predicate == ALT_LABEL for triple in row.triples) == 2
    assert Triple(entity_iri(BASE, term("Town"), "Falun"), TYPE, term("Town")) in row.triples


def test_chinese_columns_are_matched_too(ontology: Ontology) -> None:
    (row,) = rows("样品编号,重量,产地\nS-7,3克,法伦矿\n", ontology, name="样品")
    assert row.subject == entity_iri(BASE, term("Sample"), "S-7")
    assert len(row.triples) == 7
    assert row.refused == []


def test_a_known_name_gives_the_class_it_has(ontology: Ontology) -> None:
    index = EntityIndex(ontology, BASE, known={"Falun": term("Mine")})
    (row,) = rows("name,located in\nStora Stöten,Falun\n", ontology, name="places", index=index)
    assert Triple(entity_iri(BASE, term("Mine"), "Falun"), TYPE, term("Mine")) in row.triples


def test_tables_share_entities_through_the_index(ontology: Ontology) -> None:
    index = EntityIndex(ontology, BASE)
    (sample,) = rows("sample_number,mine\nS-1,Falu Mine\n", ontology, index=index)
    (mine,) = rows("name,town\nFalu Mine,Falun\n", ontology, name="mines", index=index)
    assert Triple(sample.subject, term("foundAt"), mine.subject) in sample.triples  # type: ignore[arg-type]


def test_a_class_can_be_given(ontology: Ontology) -> None:
    table = table_of(Path("things.csv"), b"name,town\nFalu,Falun\n")
    assert map_table(table, ontology, BASE, class_hint=term("Mine")).type == term("Mine")


@pytest.mark.parametrize("text", ["colour,price\nred,3\n", "x\n1\n"])
def test_a_table_without_a_usable_column_is_one_clear_line(ontology: Ontology, text: str) -> None:
    table = table_of(Path("things.csv"), text.encode())
    with pytest.raises(ReadError, match="no column can be used") as caught:
        map_table(table, ontology, BASE)
    assert "\n" not in str(caught.value)


def test_an_ontology_without_classes_is_one_clear_line() -> None:
    with pytest.raises(ReadError, match="no classes"):
        map_table(table_of(Path("a.csv"), b"name\nx\n"), read_ontology([]), BASE)


def test_rows_quote_their_place(ontology: Ontology) -> None:
    table = table_of(Path("samples.csv"), SAMPLES.encode())
    found = rows(SAMPLES, ontology)[1]
    place = next(row for row in table.rows if row.line == found.line)
    assert table.text[place.start : place.end].startswith("S-2,")


def test_three_thousand_rows_of_forty_columns_are_mapped_without_hanging() -> None:
    declared = "a owl:DatatypeProperty ; rdfs:domain :Sample ; rdfs:range xsd:decimal"
    terms = "".join(f':p{n} {declared} ; rdfs:label "measure {n}"@en .\n' for n in range(38))
    large = read_ontology([quad.triple for quad in parse(TERMS + terms, format=RdfFormat.TURTLE)])
    header = "sample_number,mine," + ",".join(f"measure_{n}" for n in range(38))
    body = "\n".join(f"S-{row},Mine {row % 50}," + ",".join(f"{row}.{n}" for n in range(38)) for row in range(3000))
    before = time.perf_counter()
    found = rows(f"{header}\n{body}\n", large)
    assert time.perf_counter() - before < 60  # a guard against hanging, not a measurement
    assert sum(len(row.triples) for row in found) > 3000 * 40


def shipped(*names: str) -> Ontology:
    folder = resources.folder("ontology")
    return read_ontology([quad.triple for name in names for quad in parse(path=str(folder / f"{name}.ttl"))])


@pytest.mark.parametrize(
    ("packs", "file", "class_name"),
    [
        (("core", "geo", "travel"), "travel/hotels.csv", "travel#Hotel"),
        (("core", "geo", "airport"), "airport/flights.csv", "airport#Flight"),
        (("core", "geo", "airport"), "airport/airports.csv", "airport#Airport"),
        (("core", "geo", "airport"), "airport/airlines.csv", "airport#Airline"),
    ],
)
def test_the_sample_tables_are_mapped_as_a_whole(packs: tuple[str, ...], file: str, class_name: str) -> None:
    examples = resources.examples()
    assert examples is not None
    ontology = shipped(*packs)
    mapping = map_table(read_table(examples / file), ontology, BASE)
    assert mapping.type == NamedNode(f"https://w3id.org/kgplatform/{class_name}")
    assert [item.column for item in mapping.columns if item.role == "ignored"] == []
