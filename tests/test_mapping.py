"""Mappings: YARRRML, RML and R2RML read, checked against table and ontology, carried out, drafted and used again."""

import csv
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.cli.main import main
from kgplatform.documents.records import State
from kgplatform.documents.tables.table_source import open_table
from kgplatform.errors import ConfigError, ReadError
from kgplatform.extraction.table_draft import EntityIndex
from kgplatform.graph import KnowledgeGraph
from kgplatform.mapping import rml
from kgplatform.mapping.cell_functions import Functions
from kgplatform.mapping.execution import TableRun
from kgplatform.mapping.rml import decoded, encoded, reference, referred, with_encoded
from kgplatform.mapping.yarrrml_draft import is_untouched
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.vocab import ALT_LABEL, LABEL, TYPE, XSD, entity_iri
from kgplatform.workspace import large_tables as large
from kgplatform.workspace import table_stage
from kgplatform.workspace.table_stage import Keeping
from tests import turtle
from tests.turtle import NAMES, ontology_of
from tests.workspaces import new_workspace

BASE = "http://example.org/"
TERMS = """
<http://example.org/o> a owl:Ontology ; rdfs:label "Trains"@en .
:Station a owl:Class ; rdfs:label "station"@en, "车站"@zh ; rdfs:comment "A station."@en ; owl:hasKey ( :code ) .
:Line a owl:Class ; rdfs:label "line"@en, "线路"@zh ; rdfs:comment "A line."@en .
:code a owl:DatatypeProperty, owl:FunctionalProperty ; rdfs:label "code"@en, "代码"@zh ; rdfs:comment "Its code."@en ;
  rdfs:domain :Station ; rdfs:range xsd:string .
:opened a owl:DatatypeProperty, owl:FunctionalProperty ; rdfs:label "opened"@en, "开通"@zh ; rdfs:comment "When."@en ;
  rdfs:domain :Station ; rdfs:range xsd:date .
:platforms a owl:DatatypeProperty, owl:FunctionalProperty ; rdfs:label "platforms"@en, "站台"@zh ;
  rdfs:comment "How many."@en ; rdfs:domain :Station ; rdfs:range xsd:integer .
:fee a owl:DatatypeProperty, owl:FunctionalProperty ; rdfs:label "fee"@en, "费用"@zh ; rdfs:comment "Parking."@en ;
  rdfs:domain :Station ; rdfs:range xsd:decimal ; core:unit "CNY" .
:servedBy a owl:ObjectProperty ; rdfs:label "served by"@en, "线路"@zh ; rdfs:comment "Its lines."@en ;
  rdfs:domain :Station ; rdfs:range :Line .
"""
STATIONS = """code,name,name_zh,opened,platforms,fee,served by
S1,Lotus Street,莲花街,3 March 2024,2,¥380,Blue Line;Red Line
S2,Tea Market,茶市,2019-07-01,4,12.50,蓝线
S3,North Gate,北门,whenever,three,,Red Line
"""
# ruff: noqa: E501
PREFIXES = f"prefixes:\n  o: {NAMES}\n  d: {BASE}d/\n"


def term(name):
    return NamedNode(f"{NAMES}{name}")


def typed(text, name):
    return Literal(text, datatype=NamedNode(f"{XSD}{name}"))


@pytest.fixture(scope="module")
def ontology():
    return ontology_of(TERMS)


def batch_of(table, mapping, ontology, *, suffix=".yml"):
    path = table.with_name(f"m{suffix}")
    path.write_text(mapping, encoding="utf-8")
    source = open_table(table)
    functions = Functions(ontology, EntityIndex(ontology, BASE))
    run = TableRun(rml.read_mapping(path), table.as_posix(), source.columns, functions, opener=open_table)
    return run.batch([row for batch in source.batches(100) for row in batch])


def triples_of(batch):
    return {triple for _, triple, _, _ in batch.triples()}


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@given(st.text(min_size=1, max_size=30).filter(lambda text: "\x00" not in text))
@settings(max_examples=200)
def test_a_column_of_any_name_can_be_referred_to(name):
    assert decoded(encoded(name)) == name
    assert list(referred(f"before {reference(name)} after")) == [name]
    assert with_encoded(reference(name)) == f"$({encoded(name)})"
    assert list(referred("$(height (m)) and $(width)")) == ["height (m)", "width"]


def test_yarrrml_makes_iris_typed_values_and_language_tags(tmp_path, ontology):
    table = written(tmp_path / "s.csv", 'code,name (full),n\nS 1,"A ""big"" one\\",007\nS2,茶市,\n')
    mapping = PREFIXES + (
        "mappings:\n  s:\n    s: d:$(code)\n    po:\n      - [a, o:Station]\n"
        "      - [rdfs:label, $(name (full)), en~lang]\n      - [o:platforms, $(n), xsd:integer]\n"
        "      - [o:servedBy, d:line/$(code)~iri]\n"
    )
    first, second = NamedNode(f"{BASE}d/S%201"), NamedNode(f"{BASE}d/S2")
    assert triples_of(batch_of(table, mapping, ontology)) == {
        Triple(first, TYPE, term("Station")),
        Triple(first, LABEL, Literal('A "big" one\\', language="en")),
        Triple(first, term("platforms"), typed("007", "integer")),
        Triple(first, term("servedBy"), NamedNode(f"{BASE}d/line/S%201")),
        Triple(second, TYPE, term("Station")),
        Triple(second, LABEL, Literal("茶市", language="en")),
        Triple(second, term("servedBy"), NamedNode(f"{BASE}d/line/S2")),
    }


def test_prefixes_other_table_names_and_triples_without_a_column(tmp_path, ontology):
    table = written(tmp_path / "renamed.csv", "a\n1\n2\n")
    mapping = (
        f"prefixes: {{o: '{NAMES}', s: '{BASE}'}}\nmappings:\n  m:\n    sources: [['first.csv~csv']]\n"
        "    s: s:$(a)\n    po:\n      - p: o:code\n        o: $(a)\n"
        "  l:\n    sources: [['first.csv~csv']]\n    s: s:blue\n    po:\n      - [rdfs:label, 'Blue', en~lang]\n"
    )
    batch = batch_of(table, mapping, ontology)
    assert triples_of(batch) == {
        *(Triple(NamedNode(f"{BASE}{n}"), term("code"), Literal(f"{n}")) for n in (1, 2)),
        Triple(NamedNode(f"{BASE}blue"), LABEL, Literal("Blue", language="en")),
    }


@pytest.mark.parametrize(
    ("source", "column"),
    [
        ('rml:logicalSource [ rml:source "s.csv" ; rml:referenceFormulation ql:CSV ]', 'rml:reference "name"'),
        ('rr:logicalTable [ rr:tableName "s" ]', 'rr:column "name"'),
    ],
    ids=["rml", "r2rml"],
)
def test_rml_and_r2rml_in_turtle_say_the_same(tmp_path, ontology, source, column):
    table = written(tmp_path / "s.csv", "code,name\nS1,Lotus Street\n")
    mapping = f"""
    @prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix rml: <http://semweb.mmlab.be/ns/rml#> .
    @prefix ql: <http://semweb.mmlab.be/ns/ql#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    <#s> {source} ; rr:subjectMap [ rr:template "{BASE}d/{{code}}" ; rr:class <{NAMES}Station> ] ;
      rr:predicateObjectMap [ rr:predicate rdfs:label ; rr:objectMap [ {column} ; rr:language "en" ] ] .
    """
    subject = NamedNode(f"{BASE}d/S1")
    assert triples_of(batch_of(table, mapping, ontology, suffix=".ttl")) == {
        Triple(subject, TYPE, term("Station")),
        Triple(subject, LABEL, Literal("Lotus Street", language="en")),
    }


def test_rows_of_two_sources_are_joined(tmp_path, ontology):
    written(tmp_path / "lines.json", json.dumps([{"id": "b", "title": "Blue Line"}, {"id": "r", "title": "Red Line"}]))
    table = written(tmp_path / "s.csv", "code,line\nS1,b\nS2,r\nS3,x\n")
    mapping = PREFIXES + (
        "sources:\n  stations: [s.csv~csv]\n  lines: [lines.json~jsonpath, '$[*]']\nmappings:\n"
        "  s:\n    sources: stations\n    s: d:$(code)\n    po:\n      - p: o:servedBy\n        o:\n"
        "          mapping: l\n          condition: {function: equal, parameters: [[str1, $(line)], [str2, $(id)]]}\n"
        "  l:\n    sources: lines\n    s: {function: kgp:entity, parameters: [[kgp:class, o:Line], [kgp:name, $(title)]]}\n"
        "    po:\n      - [a, o:Line]\n"
    )
    found = triples_of(batch_of(table, mapping, ontology))
    assert found == {
        Triple(NamedNode(f"{BASE}d/S1"), term("servedBy"), entity_iri(BASE, term("Line"), "Blue Line")),
        Triple(NamedNode(f"{BASE}d/S2"), term("servedBy"), entity_iri(BASE, term("Line"), "Red Line")),
    }


def test_functions_read_what_people_write(tmp_path, ontology):
    table = written(tmp_path / "s.csv", STATIONS)
    mapping = PREFIXES + (
        "mappings:\n  s:\n    s: d:$(code)\n    po:\n"
        "      - p: o:opened\n        o: {function: kgp:value, parameters: [[kgp:property, o:opened], [kgp:text, $(opened)]]}\n"
        "      - p: o:fee\n        o: {function: kgp:value, parameters: [[kgp:property, o:fee], [kgp:text, $(fee)]]}\n"
        "      - p: skos:altLabel\n        o: {function: kgp:split, parameters: [[kgp:text, $(served by)]]}\n"
        "      - p: rdfs:label\n        o: {function: kgp:text, parameters: [[kgp:text, '$(name) $(code)']]}\n"
        "      - p: rdfs:label\n        o: {function: kgp:text, parameters: [[kgp:text, $(name_zh)]]}\n"
        "      - p: o:code\n        o: {function: kgp:otherwise, parameters: [[kgp:text, $(code)], [kgp:unless, $(fee)]]}\n"
    )
    batch = batch_of(table, mapping, ontology)
    first, third = NamedNode(f"{BASE}d/S1"), NamedNode(f"{BASE}d/S3")
    found = triples_of(batch)
    assert {
        Triple(first, term("opened"), typed("2024-03-03", "date")),
        Triple(first, term("fee"), typed("380", "decimal")),
        Triple(first, ALT_LABEL, Literal("Blue Line")),
        Triple(first, ALT_LABEL, Literal("Red Line")),
        Triple(first, LABEL, Literal("Lotus Street S1", language="en")),
        Triple(first, LABEL, Literal("莲花街", language="zh")),
        Triple(third, term("code"), Literal("S3")),
    } <= found
    assert sum(triple.predicate == term("code") for triple in found) == 1
    assert [problem.refusal.reason for problem in batch.problems] == [
        "line 4, column 'opened': 'whenever' is not a date"
    ]


def test_a_bad_cell_is_told_with_its_place_and_the_rest_of_the_row_counts(tmp_path, ontology):
    table = written(tmp_path / "s.csv", "code,n,web\nS1,many,not an iri\nS2,9007199254740993,https://a.example/x\n")
    mapping = PREFIXES + (
        "mappings:\n  s:\n    s: d:$(code)\n    po:\n      - [a, o:Station]\n"
        "      - [o:platforms, $(n), xsd:integer]\n      - [rdfs:seeAlso, $(web)~iri]\n"
    )
    batch = batch_of(table, mapping, ontology)
    second = NamedNode(f"{BASE}d/S2")
    assert triples_of(batch) == {
        Triple(NamedNode(f"{BASE}d/S1"), TYPE, term("Station")),
        Triple(second, TYPE, term("Station")),
        Triple(second, term("platforms"), typed("9007199254740993", "integer")),
        Triple(second, NamedNode("http://www.w3.org/2000/01/rdf-schema#seeAlso"), NamedNode("https://a.example/x")),
    }
    assert sorted(problem.refusal.reason for problem in batch.problems) == [
        "line 2, column 'n': 'many' is not a whole number",
        "line 2, column 'web': 'not an iri' is not an IRI",
    ]


@pytest.mark.parametrize(
    ("mapping", "reason"),
    [
        (
            "mappings:\n  s:\n    s: d:$(cod)\n    po:\n      - [a, o:Station]\n",
            "has no column 'cod'; did you mean 'code'",
        ),
        ("mappings:\n  s: [\n", "line "),
        ("- 1\n", "no `mappings`"),
        ("mappings:\n  s:\n    po:\n      - [a, o:Station]\n", "has no `subjects`"),
        ("mappings:\n  s:\n    s: d:$(code)\n", "says nothing about any row"),
        (
            "mappings:\n  s:\n    s: d:$(code)\n    po:\n      - p: o:fee\n        o: {function: kgp:valeu, parameters: []}\n",
            "there is no function kgp:valeu; did you mean 'value'",
        ),
        (
            "mappings:\n  s:\n    s: d:$(code)\n    po:\n      - p: o:fee\n"
            "        o: {function: kgp:value, parameters: [[kgp:property, o:feee], [kgp:text, $(fee)]]}\n",
            "the ontology has no property",
        ),
        (
            "sources: {a: [a.csv~csv], b: [b.csv~csv]}\nmappings:\n  x:\n    sources: a\n    s: d:$(code)\n    po:\n"
            "      - [a, o:Station]\n  y:\n    sources: b\n    s: d:$(code)\n    po:\n      - [a, o:Station]\n",
            "maps a.csv, b.csv, none of which is s.csv",
        ),
        (
            "mappings:\n  s:\n    s: d:$(code)\n    po: [[a, o:Station]]\n  mute:\n    s: d:line/$(code)\n",
            ": its triples map has no predicate",
        ),
    ],
)
def test_a_wrong_mapping_is_one_clear_line(tmp_path, ontology, mapping, reason):
    table = written(tmp_path / "s.csv", STATIONS)
    with pytest.raises(ReadError) as caught:
        batch_of(table, PREFIXES + mapping if mapping.startswith(("m", "s")) else mapping, ontology)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_the_engine_one_line_says_what_to_install(monkeypatch, tmp_path):
    rml._engine.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "morph_kgc.config", None)
    try:
        with pytest.raises(ConfigError, match=r"pip install --no-deps morph-kgc==2\.10\.0"):
            rml.rules_of("mappings: {s: {s: 'http://a/$(x)', po: [[a, 'http://a/b']]}}", tmp_path / "m.yml")
    finally:
        rml._engine.cache_clear()


@pytest.fixture(scope="module")
def trains(tmp_path_factory):
    return str(written(tmp_path_factory.mktemp("trains") / "trains.ttl", turtle.PREFIXES + TERMS))


@pytest.fixture
def kg(trains, tmp_path):
    return KnowledgeGraph.open(new_workspace(tmp_path / "kg", trains))


def added(kg, path, *, mapping=None, beside=True):
    (found,) = kg.add(path, build=False, mapping=Keeping(mapping, beside=beside))
    return found


def test_a_draft_is_kept_beside_the_data_and_used_again(kg, tmp_path):
    table = written(tmp_path / "stations.csv", STATIONS)
    first = added(kg, table)
    draft = tmp_path / "stations.mapping.yml"
    assert (first.outcome, first.mapping and first.mapping.path) == ("added", draft)
    assert "  served by -> served by, a line" in first.mapping.described.splitlines()
    assert [item.reason for item in first.refused] == [
        "line 4, column 'opened': 'whenever' is not a date",
        "line 4, column 'platforms': 'three' is not a number",
    ]
    assert is_untouched(draft.read_text(encoding="utf-8"))
    assert added(kg, table).outcome == "unchanged"
    lines = draft.read_text(encoding="utf-8").splitlines()
    edited = "\n".join(line for line in lines if "(fee)" not in line and not line.endswith(":fee")) + "\n"
    written(draft, edited)
    again = added(kg, table)
    assert again.outcome == "replaced"
    assert again.rows == table_stage.RowChanges(added=0, removed=0, changed=2, unchanged=1)
    assert draft.read_text(encoding="utf-8") == edited
    assert kg.dataset.violations() == (frozenset(), frozenset())


def test_rows_with_one_key_and_terms_that_the_ontology_lacks_are_reported(kg, tmp_path):
    (tmp_path / "data").mkdir()
    table = written(tmp_path / "data" / "stations.csv", "code,name\nS1,Lotus Street\nS2,Tea Market\nS1,Lotus Stop\n")
    (found,) = kg.add(table, build=False)
    assert [path.name for path in table.parent.iterdir()] == ["stations.csv"]  # the library keeps its drafts apart
    assert [path.suffix for path in (kg.folder / "mappings").iterdir()] == [".yml"]
    assert [item.reason for item in found.refused] == [
        "line 4: has the key of line 2; both count as statements about one thing"
    ]
    labels = kg.store.objects(entity_iri(kg.base, term("Station"), "S1"), LABEL)
    assert {label.value for label in labels if isinstance(label, Literal)} == {"Lotus Street", "Lotus Stop"}
    mapping = PREFIXES + "mappings:\n  s:\n    s: d:$(code)\n    po: [[a, o:Statoin], [o:code, $(code)]]\n"
    other = written(tmp_path / "stations.csv", STATIONS)
    found = added(kg, other, mapping=written(tmp_path / "m.yml", mapping))
    assert (found.outcome, found.statements) == ("added", 6)
    assert [item.reason for item in found.refused] == [
        f"the ontology has no class {NAMES}Statoin; did you mean {NAMES}Station?"
    ]


def test_a_newer_version_replaces_the_rows_and_says_what_changed(kg, tmp_path):
    table = written(tmp_path / "stations.csv", STATIONS)
    added(kg, table)
    newer = STATIONS.replace("Tea Market", "Tea Hall").replace("S3,North Gate,北门", "S4,South Gate,南门")
    written(table, newer)
    found = added(kg, table)
    assert found.outcome == "replaced"
    assert found.rows == table_stage.RowChanges(added=1, removed=1, changed=1, unchanged=1)
    assert not kg.store.objects(entity_iri(kg.base, term("Station"), "S3"), LABEL)
    assert kg.dataset.violations() == (frozenset(), frozenset())


def test_every_format_gives_the_same_statements(kg, tmp_path):
    rows = list(csv.reader(STATIONS.splitlines()))
    written(tmp_path / "stations.csv", STATIONS)
    written(tmp_path / "stations.tsv", "\n".join("\t".join(row) for row in rows) + "\n")
    records = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    written(tmp_path / "stations.json", json.dumps(records, ensure_ascii=False))
    written(tmp_path / "stations.jsonl", "\n".join(json.dumps(record, ensure_ascii=False) for record in records))
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "stations.xlsx")
    duckdb.read_csv(str(tmp_path / "stations.csv"), all_varchar=True).write_parquet(str(tmp_path / "stations.parquet"))
    with closing(sqlite3.connect(tmp_path / "data.db", isolation_level=None)) as db:
        db.execute('CREATE TABLE stations (code, name, name_zh, opened, platforms, fee, "served by")')
        db.executemany("INSERT INTO stations VALUES (?,?,?,?,?,?,?)", rows[1:])
    mappings = "mappings:\n  s:\n    s: d:$(code)\n    po: [[a, o:Station], [rdfs:label, $(name_zh), zh~lang]]\n"
    mapping = written(tmp_path / "m.yml", PREFIXES + mappings)
    said = []
    for name in (
        *(f"stations.{kind}" for kind in ("csv", "tsv", "json", "jsonl", "xlsx", "parquet")),
        "data.db#stations",
    ):
        found = added(kg, tmp_path / name, mapping=mapping)
        assert (found.outcome, found.error) == ("added", None), name
        said.append(set(found.accepted))
        assert set("莲茶北") & set(passage(kg, found, found.accepted[0]))
    assert len(said[0]) == 6
    assert all(other == said[0] for other in said)
    missing = added(kg, tmp_path / "data.db#lines")
    assert (missing.outcome, missing.error) == ("failed", "has no table 'lines'; it has stations")


def passage(kg, found, triple):
    """The row that a table says a triple in."""
    graph = kg.registry.document(found.document.iri).graph
    place = kg.evidence_finder.find(triple, graph)
    return place.quote


def is_station(kg, code):
    return Triple(entity_iri(kg.base, term("Station"), code), TYPE, term("Station"))


@pytest.fixture
def small_limits(monkeypatch):
    monkeypatch.setattr(table_stage, "LARGE_ROWS", 50)
    monkeypatch.setattr(table_stage, "_SMALL_BYTES", 100)
    monkeypatch.setattr(large, "_BATCH", 20)


def stations(path, numbers):
    rows = "".join(f"S{number},Stop {number},{2 if number else 'no'},{number}.5\n" for number in numbers)
    return written(path, "code,name,platforms,fee\n" + rows)


def test_a_large_table_says_the_same(kg, tmp_path, request):
    table = stations(tmp_path / "stations.csv", range(120))
    small = added(kg, table)
    kg.remove(str(table))
    request.getfixturevalue("small_limits")
    found = added(kg, table)
    assert (found.outcome, found.statements, found.accepted) == ("added", small.statements, ())
    assert (small.problems, [problem.partition(":")[0] for problem in found.problems]) == ((), ["a large table"])
    assert found.refused == small.refused
    graph = kg.registry.document(found.document.iri).graph
    assert {quad.triple for quad in kg.store.quads(graph=graph)} == set(small.accepted)
    assert kg.dataset.violations() == (frozenset(), frozenset())
    assert passage(kg, found, is_station(kg, "S77")) == "S77,Stop 77,2,77.5"


@pytest.mark.parametrize("most", [250_000, pytest.param(10, marks=pytest.mark.slow)], ids=["difference", "whole"])
@pytest.mark.usefixtures("small_limits")
def test_a_newer_large_table_replaces_the_older_one(kg, tmp_path, monkeypatch, most):
    monkeypatch.setattr(large, "MOST_CHANGED", most)
    table = stations(tmp_path / "stations.csv", range(120))
    added(kg, table)
    stations(table, range(60, 180))
    written(table, table.read_text(encoding="utf-8").replace("Stop 70,", "Halt 70,"))
    found = added(kg, table)
    assert found.outcome == "replaced"
    assert found.rows == table_stage.RowChanges(added=60, removed=60, changed=1, unchanged=59)
    (record,) = kg.documents()
    assert (record.state, len(list(kg.store.quads(graph=record.graph)))) == (State.PROCESSED, found.statements)
    subjects = {quad.subject for quad in kg.store.quads(None, TYPE, term("Station"))}
    assert subjects == {is_station(kg, f"S{number}").subject for number in range(60, 180)}
    assert len(kg.registry.table_graphs()) == 1
    assert kg.dataset.violations() == (frozenset(), frozenset())
    assert passage(kg, found, is_station(kg, "S70")) == "S70,Halt 70,2,70.5"


@pytest.mark.slow
@pytest.mark.usefixtures("small_limits")
def test_of_a_large_table_only_the_difference_is_written_also_by_another_mapping(kg, tmp_path, monkeypatch):
    table = stations(tmp_path / "stations.csv", range(120))
    first = added(kg, table)
    graph = kg.registry.document(first.document.iri).graph
    real, writes = kg.store.apply, []

    def counted(**given):
        before = len(kg.store)
        real(**given)
        writes.append(len(kg.store) - before)

    monkeypatch.setattr(kg.store, "apply", counted)
    written(table, table.read_text(encoding="utf-8").replace("Stop 7,", "Halt 7,") + "S900,Stop 900,2,9.5\n")
    assert added(kg, table).rows == table_stage.RowChanges(added=1, removed=0, changed=1, unchanged=119)
    assert [size for size in writes if size] == [2 * 5]  # the new station's; a label that changed leaves the number
    writes.clear()
    draft = tmp_path / "stations.mapping.yml"
    lines = draft.read_text(encoding="utf-8").splitlines()
    written(draft, "\n".join(line for line in lines if "(fee)" not in line and not line.endswith(":fee")) + "\n")
    found = added(kg, table)
    assert (found.outcome, found.error) == ("replaced", None)
    assert found.rows == table_stage.RowChanges(added=0, removed=0, changed=121, unchanged=0)
    assert found.statements == first.statements + 5 - 121
    assert [size for size in writes if size] == [-2 * 121]
    assert not list(kg.store.quads(None, term("fee")))
    assert kg.registry.document(found.document.iri).graph == graph
    assert kg.dataset.violations() == (frozenset(), frozenset())
    assert added(kg, table).outcome == "unchanged"


@pytest.mark.slow
@pytest.mark.parametrize("place", ["commit", "settle"])
@pytest.mark.usefixtures("small_limits")
def test_a_crash_while_renewing_a_large_table_leaves_one_whole(kg, tmp_path, place):
    def killed(*given):
        raise KeyboardInterrupt

    def held(kg):
        assert kg.dataset.violations() == (frozenset(), frozenset())
        assert len(kg.registry.table_graphs()) == 1
        return len(list(kg.store.quads(None, TYPE, term("Station"), DEFAULT_GRAPH)))

    table = stations(tmp_path / "stations.csv", range(120))
    added(kg, table)
    stations(table, range(119))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*((kg.dataset, "commit") if place == "commit" else (large, "settle")), killed)
        with pytest.raises(KeyboardInterrupt):
            added(kg, table)
    kg.close()
    with KnowledgeGraph.open(tmp_path / "kg") as again:
        assert held(again) == (120 if place == "commit" else 119)
        list(again.retry())
        (record,) = again.documents()
        assert (record.state, record.statements > 0) == (State.PROCESSED, True)
        assert held(again) == 119


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("how", [ReadError("breaks off", path=Path("stations.csv")), KeyboardInterrupt()])
def test_a_large_table_that_breaks_leaves_nothing(kg, tmp_path, how):
    table = stations(tmp_path / "stations.csv", range(120))
    before, real, calls = len(kg.store), TableRun.batch, []

    def breaking(run, rows):
        calls.append(rows)
        if len(calls) == 4:
            raise how
        return real(run, rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableRun, "batch", breaking)
        if isinstance(how, ReadError):
            found = added(kg, table)
            assert (found.outcome, found.error, len(kg.store)) == ("failed", "breaks off", before)
            return
        with pytest.raises(KeyboardInterrupt):
            added(kg, table)
    assert len(kg.store) > before
    kg.close()
    with KnowledgeGraph.open(tmp_path / "kg") as again:  # what a crash left is taken out on opening
        assert len(again.store) == before
        assert [record.state for record in again.documents()] == [State.PENDING]
        assert again.dataset.violations() == (frozenset(), frozenset())
        (found,) = again.retry()
        assert (found.outcome, found.error) == ("added", None)


HEADERLESS = "S1;Lotus Street;2\nS2;Tea Market;3\n"


def test_columns_are_named_for_a_file_without_a_header(kg, tmp_path):
    table = written(tmp_path / "stations.dat", HEADERLESS)
    source = open_table(f"{table}#columns=code,name,%E7%AB%99%E5%8F%B0%2C%20platforms")
    assert source.columns == ("code", "name", "站台, platforms")
    assert [(row.number, row.cells) for batch in source.batches(5) for row in batch] == [
        (1, ("S1", "Lotus Street", "2")),
        (2, ("S2", "Tea Market", "3")),
    ]
    found = added(kg, Path(f"{table}#columns=code,name,platforms"))
    assert (found.outcome, found.error) == ("added", None)
    assert found.mapping.path == tmp_path / "stations.mapping.yml"
    station = entity_iri(kg.base, term("Station"), "S1")
    assert kg.store.objects(station, term("platforms")) == [Literal(2)]
    assert added(kg, Path(f"{table}#columns=code,name,platforms")).outcome == "unchanged"


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ("code,name", "has 3 cells in its first row; 2 columns are named"),
        ("code,name,code", "#columns= needs names that are not empty and differ, divided by commas"),
        ("code,,name", "#columns= needs names that are not empty and differ, divided by commas"),
    ],
)
def test_columns_that_do_not_fit_are_one_clear_line(tmp_path, columns, reason):
    with pytest.raises(ReadError, match=re.escape(reason)):
        open_table(f"{written(tmp_path / 'stations.csv', HEADERLESS)}#columns={columns}")


def test_a_mapping_names_the_columns_of_its_sources(kg, tmp_path):
    written(tmp_path / "lines.dat", "L1,Red Line\nL2,蓝线\n")
    table = written(tmp_path / "stations.dat", "S1,Lotus Street,L1\nS2,茶市,L2\n")
    mapping = PREFIXES + (
        'sources:\n  stations: ["stations.dat#columns=code,name,line~csv"]\n  lines: ["lines.dat#columns=id,name~csv"]\n'
        "mappings:\n  station:\n    sources: stations\n    s: d:$(code)\n    po:\n      - p: o:servedBy\n"
        "        o: {mapping: line, condition: {function: equal, parameters: [[str1, $(line)], [str2, $(id)]]}}\n"
        "  line:\n    sources: lines\n    s: d:line/$(name)\n    po: [[a, o:Line]]\n"
    )
    found = added(kg, table, mapping=written(tmp_path / "m.yml", mapping))
    assert (found.outcome, found.error) == ("added", None)
    served = {t.object.value for t in found.accepted if t.predicate == term("servedBy")}
    assert {iri.rpartition("/")[2] for iri in served} == {"%E8%93%9D%E7%BA%BF", "Red%20Line"}


def test_what_failed_is_tried_again_by_the_mapping_that_was_given(kg, tmp_path):
    table = written(tmp_path / "stations.csv", STATIONS)
    mapping = written(tmp_path / "m.yml", PREFIXES + "mappings:\n  s:\n    s: d:$(cod)\n    po: [[a, o:Station]]\n")
    assert added(kg, table, mapping=mapping).outcome == "failed"
    written(mapping, mapping.read_text(encoding="utf-8").replace("$(cod)", "$(code)"))
    (found,) = kg.retry()
    assert (found.outcome, found.statements) == ("added", 3)
    assert found.mapping.path == mapping
    assert not (tmp_path / "stations.mapping.yml").exists()
    assert list(kg.retry()) == []


def test_the_mapping_verb_prints_a_draft_without_adding(tmp_path, capsys):
    ontology, table = (
        written(tmp_path / "trains.ttl", turtle.PREFIXES + TERMS),
        written(tmp_path / "stations.csv", STATIONS),
    )
    assert main(["mapping", str(table), "--ontology", str(ontology)]) == 0
    text = capsys.readouterr().out
    assert is_untouched(text)
    assert "stations: each row is a station" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stations.csv", "trains.ttl"]
    target = tmp_path / "my.yml"
    assert main(["mapping", str(table), "--ontology", str(ontology), "--output", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == text
    assert main(["mapping", str(table), "--ontology", str(ontology), "--output", str(target)]) == 2


def test_add_tells_the_mapping_the_rows_and_the_bad_cells(kg, tmp_path, capsys):
    kg.close()
    table = written(tmp_path / "stations.csv", STATIONS)
    assert main(["add", "-w", str(kg.folder), str(table), "--no-build"]) == 0
    out = capsys.readouterr().out
    assert f"  mapping: {tmp_path / 'stations.mapping.yml'}" in out
    assert "  refused: line 4, column 'opened': 'whenever' is not a date" in out
    written(table, STATIONS.replace("Tea Market", "Tea Hall"))
    assert main(["add", "-w", str(kg.folder), str(table), "--no-build", "--format", "json"]) == 0
    (said,) = json.loads(capsys.readouterr().out)
    assert said["rows"] == {"added": 0, "removed": 0, "changed": 1, "unchanged": 2}
    assert said["mapping"]["draft"] is True
