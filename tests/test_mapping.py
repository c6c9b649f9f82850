"""Mappings: YARRRML, RML and R2RML read, checked against table and ontology, carried out, drafted and used again."""

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, parse

from kgplatform.building import differences, large, tabular
from kgplatform.building.ingest import Added
from kgplatform.building.mappings import Keeping
from kgplatform.cli.main import main
from kgplatform.documents.registry import State
from kgplatform.documents.tabular.opening import open_table
from kgplatform.errors import ConfigError, ReadError
from kgplatform.extraction.entities import EntityIndex
from kgplatform.graph import KnowledgeGraph
from kgplatform.mapping import rml
from kgplatform.mapping.columns import decoded, encoded, reference, referred, with_encoded
from kgplatform.mapping.drafting import is_untouched
from kgplatform.mapping.functions import Functions
from kgplatform.mapping.running import Batch, Run
from kgplatform.ontology import Ontology, read_ontology
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.vocab import ALT_LABEL, LABEL, TYPE, XSD, entity_iri

BASE = "http://example.org/"
NAMES = "http://example.org/o#"
TERMS = """
@prefix : <http://example.org/o#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix core: <https://w3id.org/kgplatform/core#> .
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
# the mappings are written on one line where that reads better
# ruff: noqa: E501

PREFIXES = f"prefixes:\n  o: {NAMES}\n  d: {BASE}d/\n"


def term(name: str) -> NamedNode:
    return NamedNode(f"{NAMES}{name}")


def typed(text: str, name: str) -> Literal:
    return Literal(text, datatype=NamedNode(f"{XSD}{name}"))


@pytest.fixture(scope="module")
def ontology() -> Ontology:
    return read_ontology([quad.triple for quad in parse(TERMS, format=RdfFormat.TURTLE)])


def batch_of(table: Path, mapping: str, ontology: Ontology, *, suffix: str = ".yml") -> Batch:
    path = table.with_name(f"m{suffix}")
    path.write_text(mapping, encoding="utf-8")
    source = open_table(table)
    functions = Functions(ontology, EntityIndex(ontology, BASE))
    run = Run(rml.read_mapping(path), table.as_posix(), source.columns, functions, opener=open_table)
    return run.batch([row for batch in source.batches(100) for row in batch])


def triples_of(batch: Batch) -> set[Triple]:
    return {triple for _, triple, _, _ in batch.triples()}


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# the names of columns


@given(st.text(min_size=1, max_size=30).filter(lambda text: "\x00" not in text))
@settings(max_examples=200)
def test_a_column_of_any_name_can_be_referred_to(name: str) -> None:
    assert decoded(encoded(name)) == name
    assert list(referred(f"before {reference(name)} after")) == [name]
    assert with_encoded(reference(name)) == f"$({encoded(name)})"


def test_brackets_in_a_reference_need_no_escape_where_they_pair() -> None:
    assert list(referred("$(height (m)) and $(width)")) == ["height (m)", "width"]


# reading and running


def test_yarrrml_makes_iris_typed_values_and_language_tags(tmp_path: Path, ontology: Ontology) -> None:
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


def test_prefixes_of_one_letter_and_tables_of_other_names_do_no_harm(tmp_path: Path, ontology: Ontology) -> None:
    table = written(tmp_path / "renamed.csv", "a\n1\n")
    mapping = (
        f"prefixes: {{o: '{NAMES}', s: '{BASE}'}}\nmappings:\n  m:\n    sources: [['first.csv~csv']]\n"
        "    s: s:$(a)\n    po:\n      - p: o:code\n        o: $(a)\n"
    )
    assert triples_of(batch_of(table, mapping, ontology)) == {Triple(NamedNode(f"{BASE}1"), term("code"), Literal("1"))}


@pytest.mark.parametrize("dialect", ["rml", "r2rml"])
def test_rml_and_r2rml_in_turtle_say_the_same(tmp_path: Path, ontology: Ontology, dialect: str) -> None:
    table = written(tmp_path / "s.csv", "code,name\nS1,Lotus Street\n")
    source = {
        "rml": 'rml:logicalSource [ rml:source "s.csv" ; rml:referenceFormulation ql:CSV ]',
        "r2rml": 'rr:logicalTable [ rr:tableName "s" ]',
    }[dialect]
    column = {"rml": 'rml:reference "name"', "r2rml": 'rr:column "name"'}[dialect]
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


def test_rows_of_two_sources_are_joined(tmp_path: Path, ontology: Ontology) -> None:
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


def test_functions_read_what_people_write(tmp_path: Path, ontology: Ontology) -> None:
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


def test_a_bad_cell_is_told_with_its_place_and_the_rest_of_the_row_counts(tmp_path: Path, ontology: Ontology) -> None:
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


def test_a_triple_without_a_column_is_said_once(tmp_path: Path, ontology: Ontology) -> None:
    table = written(tmp_path / "s.csv", "code\nS1\nS2\n")
    mapping = (
        PREFIXES
        + "mappings:\n  l:\n    s: d:blue\n    po:\n      - [a, o:Line]\n      - [rdfs:label, 'Blue', en~lang]\n"
    )
    assert triples_of(batch_of(table, mapping, ontology)) == {
        Triple(NamedNode(f"{BASE}d/blue"), TYPE, term("Line")),
        Triple(NamedNode(f"{BASE}d/blue"), LABEL, Literal("Blue", language="en")),
    }


# what is wrong with a mapping


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
    ],
)
def test_a_wrong_mapping_is_one_clear_line(tmp_path: Path, ontology: Ontology, mapping: str, reason: str) -> None:
    table = written(tmp_path / "s.csv", STATIONS)
    with pytest.raises(ReadError) as caught:
        batch_of(table, PREFIXES + mapping if mapping.startswith(("m", "s")) else mapping, ontology)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_the_engine_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rml._loaded.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "morph_kgc.config", None)
    try:
        with pytest.raises(ConfigError, match=r"pip install --no-deps morph-kgc==2\.10\.0"):
            rml.rules_of("mappings: {s: {s: 'http://a/$(x)', po: [[a, 'http://a/b']]}}", tmp_path / "m.yml")
    finally:
        rml._loaded.cache_clear()


# a workspace


@pytest.fixture
def kg(tmp_path: Path) -> KnowledgeGraph:
    written(tmp_path / "trains.ttl", TERMS)
    return KnowledgeGraph.create(tmp_path / "kg", ontology=[str(tmp_path / "trains.ttl")])


def added(kg: KnowledgeGraph, path: Path, *, mapping: Path | None = None, beside: bool = True) -> Added:
    (found,) = kg.add(path, build=False, mapping=Keeping(mapping, beside=beside))
    return found


def test_a_draft_is_kept_beside_the_data_and_used_again(kg: KnowledgeGraph, tmp_path: Path) -> None:
    table = written(tmp_path / "stations.csv", STATIONS)
    first = added(kg, table)
    draft = tmp_path / "stations.mapping.yml"
    assert (first.outcome, first.mapping and first.mapping.path) == ("added", draft)
    assert first.mapping is not None
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
    assert again.rows == tabular.RowChanges(added=0, removed=0, changed=2, unchanged=1)
    assert draft.read_text(encoding="utf-8") == edited
    assert kg.dataset.violations() == (frozenset(), frozenset())


def test_what_is_added_by_the_library_leaves_the_folder_of_the_data_alone(kg: KnowledgeGraph, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    table = written(folder / "stations.csv", STATIONS)
    list(kg.add(table, build=False))
    assert [path.name for path in folder.iterdir()] == ["stations.csv"]
    assert [path.suffix for path in (kg.folder / "mappings").iterdir()] == [".yml"]


def test_a_newer_version_replaces_the_rows_and_says_what_changed(kg: KnowledgeGraph, tmp_path: Path) -> None:
    table = written(tmp_path / "stations.csv", STATIONS)
    added(kg, table)
    newer = STATIONS.replace("Tea Market", "Tea Hall").replace("S3,North Gate,北门", "S4,South Gate,南门")
    written(table, newer)
    found = added(kg, table)
    assert found.outcome == "replaced"
    assert found.rows == tabular.RowChanges(added=1, removed=1, changed=1, unchanged=1)
    assert not kg.store.objects(entity_iri(kg.base, term("Station"), "S3"), LABEL)
    assert kg.dataset.violations() == (frozenset(), frozenset())


def test_two_rows_with_one_key_count_as_one_thing_and_are_reported(kg: KnowledgeGraph, tmp_path: Path) -> None:
    table = written(tmp_path / "stations.csv", "code,name\nS1,Lotus Street\nS2,Tea Market\nS1,Lotus Stop\n")
    found = added(kg, table)
    assert [item.reason for item in found.refused] == [
        "line 4: has the key of line 2; both count as statements about one thing"
    ]
    labels = kg.store.objects(entity_iri(kg.base, term("Station"), "S1"), LABEL)
    assert {label.value for label in labels if isinstance(label, Literal)} == {"Lotus Street", "Lotus Stop"}


def test_terms_that_the_ontology_lacks_are_reported(kg: KnowledgeGraph, tmp_path: Path) -> None:
    table = written(tmp_path / "stations.csv", STATIONS)
    mapping = (
        PREFIXES + "mappings:\n  s:\n    s: d:$(code)\n    po:\n      - [a, o:Statoin]\n      - [o:code, $(code)]\n"
    )
    found = added(kg, table, mapping=written(tmp_path / "m.yml", mapping))
    assert (found.outcome, found.statements) == ("added", 6)
    (said,) = found.refused
    assert said.reason == f"the ontology has no class {NAMES}Statoin; did you mean {NAMES}Station?"


def test_every_format_gives_the_same_statements(kg: KnowledgeGraph, tmp_path: Path) -> None:
    import duckdb
    import openpyxl

    rows = list(csv.reader(STATIONS.splitlines()))
    written(tmp_path / "stations.csv", STATIONS)
    written(tmp_path / "stations.tsv", "\n".join("\t".join(row) for row in rows) + "\n")
    records = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    written(tmp_path / "stations.json", json.dumps(records, ensure_ascii=False))
    written(tmp_path / "stations.jsonl", "\n".join(json.dumps(record, ensure_ascii=False) for record in records))
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)  # type: ignore[union-attr]
    book.save(tmp_path / "stations.xlsx")
    duckdb.read_csv(str(tmp_path / "stations.csv"), all_varchar=True).write_parquet(str(tmp_path / "stations.parquet"))
    with sqlite3.connect(tmp_path / "data.db") as db:
        db.execute('CREATE TABLE stations (code, name, name_zh, opened, platforms, fee, "served by")')
        db.executemany("INSERT INTO stations VALUES (?,?,?,?,?,?,?)", rows[1:])
    db.close()
    mapping = written(
        tmp_path / "m.yml",
        PREFIXES
        + "mappings:\n  s:\n    s: d:$(code)\n    po:\n      - [a, o:Station]\n      - [rdfs:label, $(name_zh), zh~lang]\n",
    )
    names = [f"stations.{suffix}" for suffix in ("csv", "tsv", "json", "jsonl", "xlsx", "parquet")]
    said = []
    for name in (*names, "data.db#stations"):
        found = added(kg, tmp_path / name, mapping=mapping)
        assert (found.outcome, found.error) == ("added", None), name
        said.append(set(found.accepted))
        graph = kg.registry.document(found.document.iri).graph
        assert graph is not None
        passage = kg.evidence_finder.find(found.accepted[0], graph)
        assert passage is not None
        assert "莲花街" in passage.quote or "茶市" in passage.quote or "北门" in passage.quote
    assert len(said[0]) == 6
    assert all(other == said[0] for other in said)


def test_a_table_of_a_database_is_drafted_under_its_own_name(kg: KnowledgeGraph, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "data.db") as db:
        db.execute("CREATE TABLE stations (code, name)")
        db.execute("INSERT INTO stations VALUES ('S1', 'Lotus Street')")
    db.close()
    found = added(kg, tmp_path / "data.db#stations")
    assert found.mapping is not None
    assert found.mapping.described.splitlines()[0] == "stations: each row is a station"
    assert found.mapping.path == tmp_path / "data-stations.mapping.yml"
    missing = added(kg, tmp_path / "data.db#lines")
    assert (missing.outcome, missing.error) == ("failed", "has no table 'lines'; it has stations")


# large tables


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabular, "LARGE_ROWS", 50)
    monkeypatch.setattr(tabular, "_SMALL_BYTES", 100)
    monkeypatch.setattr(large, "_BATCH", 20)


def stations(path: Path, numbers: range) -> Path:
    rows = "".join(f"S{number},Stop {number},{2 if number else 'no'},{number}.5\n" for number in numbers)
    return written(path, "code,name,platforms,fee\n" + rows)


def test_a_large_table_says_what_a_small_one_does(
    kg: KnowledgeGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = stations(tmp_path / "stations.csv", range(120))
    small = added(kg, table)
    kg.remove(str(table))
    monkeypatch.setattr(tabular, "LARGE_ROWS", 50)
    monkeypatch.setattr(tabular, "_SMALL_BYTES", 100)
    monkeypatch.setattr(large, "_BATCH", 20)
    found = added(kg, table)
    assert (found.outcome, found.statements, found.accepted) == ("added", small.statements, ())
    assert (small.problems, [problem.partition(":")[0] for problem in found.problems]) == ((), ["a large table"])
    assert found.refused == small.refused
    graph = kg.registry.document(found.document.iri).graph
    assert graph is not None
    assert {quad.triple for quad in kg.store.quads(graph=graph)} == set(small.accepted)
    assert kg.dataset.violations() == (frozenset(), frozenset())


@pytest.mark.usefixtures("small_limits")
def test_a_row_of_a_large_table_is_quoted_from_its_source(kg: KnowledgeGraph, tmp_path: Path) -> None:
    found = added(kg, stations(tmp_path / "stations.csv", range(120)))
    graph = kg.registry.document(found.document.iri).graph
    subject = entity_iri(kg.base, term("Station"), "S77")
    assert graph is not None
    passage = kg.evidence_finder.find(Triple(subject, TYPE, term("Station")), graph)
    assert passage is not None
    assert passage.quote == "S77,Stop 77,2,77.5"


@pytest.mark.parametrize("most", [250_000, 10], ids=["difference", "whole"])
@pytest.mark.usefixtures("small_limits")
def test_a_newer_large_table_replaces_the_older_one(
    kg: KnowledgeGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(differences, "MOST_CHANGED", most)
    table = stations(tmp_path / "stations.csv", range(120))
    added(kg, table)
    stations(table, range(60, 180))
    written(table, table.read_text(encoding="utf-8").replace("Stop 70,", "Halt 70,"))
    found = added(kg, table)
    assert found.outcome == "replaced"
    assert found.rows == tabular.RowChanges(added=60, removed=60, changed=1, unchanged=59)
    (record,) = kg.documents()
    assert record.graph is not None
    assert (record.state, len(list(kg.store.quads(graph=record.graph)))) == (State.PROCESSED, found.statements)
    subjects = {quad.subject for quad in kg.store.quads(None, TYPE, term("Station"))}
    assert subjects == {entity_iri(kg.base, term("Station"), f"S{number}") for number in range(60, 180)}
    assert len(kg.registry.table_graphs()) == 1
    assert kg.dataset.violations() == (frozenset(), frozenset())
    passage = kg.evidence_finder.find(
        Triple(entity_iri(kg.base, term("Station"), "S70"), TYPE, term("Station")), record.graph
    )
    assert passage is not None
    assert passage.quote == "S70,Halt 70,2,70.5"


@pytest.mark.usefixtures("small_limits")
def test_readers_see_a_newer_large_table_at_once_and_only_its_difference_is_written(
    kg: KnowledgeGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = stations(tmp_path / "stations.csv", range(120))
    graph = kg.registry.document(added(kg, table).document.iri).graph
    written(table, table.read_text(encoding="utf-8").replace("Stop 7,", "Halt 7,") + "S900,Stop 900,2,9.5\n")
    writes: list[int] = []
    real = kg.store.apply

    def counted(**given: object) -> None:
        before = len(kg.store)
        real(**given)  # type: ignore[arg-type]
        writes.append(len(kg.store) - before)

    monkeypatch.setattr(kg.store, "apply", counted)
    found = added(kg, table)
    assert found.rows == tabular.RowChanges(added=1, removed=0, changed=1, unchanged=119)
    assert kg.registry.document(found.document.iri).graph == graph
    assert [size for size in writes if size] == [2 * 5]  # the new station's; a label that changed leaves the number


@pytest.mark.usefixtures("small_limits")
def test_another_mapping_for_a_large_table_writes_the_difference(kg: KnowledgeGraph, tmp_path: Path) -> None:
    table = stations(tmp_path / "stations.csv", range(120))
    first = added(kg, table)
    draft = tmp_path / "stations.mapping.yml"
    lines = draft.read_text(encoding="utf-8").splitlines()
    written(draft, "\n".join(line for line in lines if "(fee)" not in line and not line.endswith(":fee")) + "\n")
    found = added(kg, table)
    assert (found.outcome, found.error) == ("replaced", None)
    assert found.rows == tabular.RowChanges(added=0, removed=0, changed=120, unchanged=0)
    assert found.statements == first.statements - 120
    assert not list(kg.store.quads(None, term("fee")))
    assert kg.dataset.violations() == (frozenset(), frozenset())
    assert added(kg, table).outcome == "unchanged"


@pytest.mark.parametrize("place", ["commit", "settle"])
@pytest.mark.usefixtures("small_limits")
def test_a_crash_while_a_large_table_is_renewed_leaves_the_older_or_the_newer_one(tmp_path: Path, place: str) -> None:
    written(tmp_path / "trains.ttl", TERMS)
    kg = KnowledgeGraph.create(tmp_path / "kg", ontology=[str(tmp_path / "trains.ttl")])
    table = stations(tmp_path / "stations.csv", range(120))
    added(kg, table)
    stations(table, range(119))

    def killed(*given: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*((kg.dataset, "commit") if place == "commit" else (large, "settle")), killed)
        with pytest.raises(KeyboardInterrupt):
            added(kg, table)
    kg.close()
    with KnowledgeGraph.open(tmp_path / "kg") as again:
        assert len(list(again.store.quads(None, TYPE, term("Station"), DEFAULT_GRAPH))) == (
            120 if place == "commit" else 119
        )
        assert again.dataset.violations() == (frozenset(), frozenset())
        assert len(again.registry.table_graphs()) == 1
        list(again.retry())
        (record,) = again.documents()
        assert (record.state, record.statements > 0) == (State.PROCESSED, True)
        assert len(list(again.store.quads(None, TYPE, term("Station"), DEFAULT_GRAPH))) == 119
        assert again.dataset.violations() == (frozenset(), frozenset())


@pytest.mark.usefixtures("small_limits")
def test_a_large_table_that_breaks_in_the_middle_leaves_nothing(kg: KnowledgeGraph, tmp_path: Path) -> None:
    table = stations(tmp_path / "stations.csv", range(120))
    before = len(kg.store)
    mapping = Keeping(
        written(tmp_path / "m.yml", PREFIXES + "mappings:\n  s:\n    s: d:$(code)\n    po:\n      - [a, o:Station]\n")
    )
    real = Run.batch
    calls = []

    def breaking(run: Run, rows: object) -> Batch:
        calls.append(rows)
        if len(calls) == 4:
            raise ReadError("breaks off", path=table)
        return real(run, rows)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "batch", breaking)
        (found,) = kg.add(table, build=False, mapping=mapping)
    assert (found.outcome, found.error) == ("failed", "breaks off")
    assert len(kg.store) == before


@pytest.mark.usefixtures("small_limits")
def test_a_large_table_that_was_cut_off_by_a_crash_is_taken_out_on_opening(tmp_path: Path) -> None:
    written(tmp_path / "trains.ttl", TERMS)
    kg = KnowledgeGraph.create(tmp_path / "kg", ontology=[str(tmp_path / "trains.ttl")])
    table = stations(tmp_path / "stations.csv", range(120))
    before = len(kg.store)
    real = Run.batch
    calls = []

    def killed(run: Run, rows: object) -> Batch:
        calls.append(rows)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(run, rows)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "batch", killed)
        with pytest.raises(KeyboardInterrupt):
            list(kg.add(table, build=False))
    assert len(kg.store) > before
    kg.close()
    with KnowledgeGraph.open(tmp_path / "kg") as again:
        assert len(again.store) == before
        assert [record.state for record in again.documents()] == [State.PENDING]
        assert again.dataset.violations() == (frozenset(), frozenset())
        (found,) = again.retry()
        assert (found.outcome, found.error) == ("added", None)


# files without a header, and trying again


HEADERLESS = "S1;Lotus Street;2\nS2;Tea Market;3\n"


def test_columns_are_named_for_a_file_without_a_header(kg: KnowledgeGraph, tmp_path: Path) -> None:
    table = written(tmp_path / "stations.dat", HEADERLESS)
    source = open_table(f"{table}#columns=code,name,%E7%AB%99%E5%8F%B0%2C%20platforms")
    assert source.columns == ("code", "name", "站台, platforms")
    assert [(row.number, row.cells) for batch in source.batches(5) for row in batch] == [
        (1, ("S1", "Lotus Street", "2")),
        (2, ("S2", "Tea Market", "3")),
    ]
    found = added(kg, Path(f"{table}#columns=code,name,platforms"))
    assert (found.outcome, found.error) == ("added", None)
    assert found.mapping is not None
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
def test_columns_that_do_not_fit_are_one_clear_line(tmp_path: Path, columns: str, reason: str) -> None:
    table = written(tmp_path / "stations.csv", HEADERLESS)
    with pytest.raises(ReadError) as caught:
        open_table(f"{table}#columns={columns}")
    assert caught.value.reason == reason


def test_a_mapping_names_the_columns_of_its_sources(kg: KnowledgeGraph, tmp_path: Path) -> None:
    written(tmp_path / "lines.dat", "L1,Red Line\nL2,蓝线\n")
    table = written(tmp_path / "stations.dat", "S1,Lotus Street,L1\nS2,茶市,L2\n")
    mapping = written(
        tmp_path / "m.yml",
        PREFIXES
        + """sources:
  stations: ["stations.dat#columns=code,name,line~csv"]
  lines: ["lines.dat#columns=id,name~csv"]
mappings:
  station:
    sources: stations
    s: d:$(code)
    po:
      - [rdfs:label, $(name)]
      - p: o:servedBy
        o: {mapping: line, condition: {function: equal, parameters: [[str1, $(line)], [str2, $(id)]]}}
  line:
    sources: lines
    s: d:line/$(name)
    po: [[a, o:Line]]
""",
    )
    found = added(kg, table, mapping=mapping)
    assert (found.outcome, found.error) == ("added", None)
    served = sorted(str(t.object) for t in found.accepted if t.predicate == term("servedBy"))
    assert [iri.rpartition("/")[2] for iri in served] == ["%E8%93%9D%E7%BA%BF>", "Red%20Line>"]


def test_a_triples_map_without_a_predicate_is_one_clear_line(kg: KnowledgeGraph, tmp_path: Path) -> None:
    table = written(tmp_path / "stations.csv", STATIONS)
    maps = "mappings:\n  s:\n    s: d:$(code)\n    po: [[a, o:Station]]\n  mute:\n    s: d:line/$(code)\n"
    found = added(kg, table, mapping=written(tmp_path / "m.yml", PREFIXES + maps))
    assert found.outcome == "failed"
    assert found.error is not None
    assert found.error.startswith("says nothing of http://")
    assert found.error.endswith(": its triples map has no predicate")


def test_what_failed_is_tried_again_by_the_mapping_that_was_given(kg: KnowledgeGraph, tmp_path: Path) -> None:
    table = written(tmp_path / "stations.csv", STATIONS)
    mapping = written(tmp_path / "m.yml", PREFIXES + "mappings:\n  s:\n    s: d:$(cod)\n    po: [[a, o:Station]]\n")
    assert added(kg, table, mapping=mapping).outcome == "failed"
    written(mapping, mapping.read_text(encoding="utf-8").replace("$(cod)", "$(code)"))
    (found,) = kg.retry()
    assert (found.outcome, found.statements) == ("added", 3)
    assert found.mapping is not None
    assert found.mapping.path == mapping
    assert not (tmp_path / "stations.mapping.yml").exists()
    assert list(kg.retry()) == []


# the command line


def test_the_mapping_verb_prints_a_draft_without_adding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ontology, table = written(tmp_path / "trains.ttl", TERMS), written(tmp_path / "stations.csv", STATIONS)
    assert main(["mapping", str(table), "--ontology", str(ontology)]) == 0
    text = capsys.readouterr().out
    assert is_untouched(text)
    assert "stations: each row is a station" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stations.csv", "trains.ttl"]
    target = tmp_path / "my.yml"
    assert main(["mapping", str(table), "--ontology", str(ontology), "--output", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == text
    assert main(["mapping", str(table), "--ontology", str(ontology), "--output", str(target)]) == 2


def test_add_tells_the_mapping_the_rows_and_the_bad_cells(
    kg: KnowledgeGraph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
