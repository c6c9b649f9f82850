"""Days in questions, however they are written, and tables whose rows only a column of their own tells apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgplatform.cli.main import main
from kgplatform.graph import KnowledgeGraph
from kgplatform.questions.dates import days

TABLE = (
    "imo_no,vsl_nm,flag_st,built_yr,last_insp_dt\n"
    "9074729,Ever Given,PA,2018,2025-03-02\n"
    "9321483,Emma Maersk,DK,2006,2025-01-17\n"
    "9778791,宇宙,HK,2018,2024-12-30\n"
)
ONTOLOGY = """
@prefix : <https://example.org/ships#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<https://example.org/ships> a owl:Ontology .
:Vessel a owl:Class ; rdfs:label "vessel"@en , "船舶"@zh .
:imo a owl:DatatypeProperty ; rdfs:label "IMO number"@en ; skos:altLabel "imo no"@en ;
    rdfs:domain :Vessel ; rdfs:range xsd:integer .
:called a owl:DatatypeProperty ; rdfs:label "vessel name"@en , "船名"@zh ; skos:altLabel "vsl nm"@en ;
    rdfs:domain :Vessel ; rdfs:range xsd:string .
:flag a owl:DatatypeProperty ; rdfs:label "flag"@en , "船旗"@zh ; skos:altLabel "flag st"@en ;
    rdfs:domain :Vessel ; rdfs:range xsd:string .
:built a owl:DatatypeProperty ; rdfs:label "year built"@en , "建造年份"@zh ; skos:altLabel "built yr"@en ;
    rdfs:domain :Vessel ; rdfs:range xsd:gYear .
:inspected a owl:DatatypeProperty ; rdfs:label "last inspected on"@en , "上次检查日期"@zh ;
    skos:altLabel "last insp dt"@en , "last inspection date"@en ; rdfs:domain :Vessel ; rdfs:range xsd:date .
"""


@pytest.fixture(scope="module")
def ships(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ships")
    (folder / "ships.ttl").write_text(ONTOLOGY, "utf-8")
    (folder / "vessels.csv").write_text(TABLE, "utf-8")
    with KnowledgeGraph.create(folder / "w", ontology=[str(folder / "ships.ttl")]) as kg:
        (added,) = kg.add(folder / "vessels.csv")
        assert not added.refused
        yield kg


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which vessels were last inspected after 2025-01-01?", {"Ever Given", "Emma Maersk"}),
        ("Which vessels were last inspected after January 1, 2025?", {"Ever Given", "Emma Maersk"}),
        ("Which vessels were last inspected on 2025-01-17?", {"Emma Maersk"}),
        ("Which vessels have last inspection date before 17th January 2025?", {"宇宙"}),
        ("Which vessels were last inspected between 2024-12-01 and 2025-01-31?", {"Emma Maersk", "宇宙"}),
        ("哪些船舶的上次检查日期晚于2025年1月1日？", {"Ever Given", "Emma Maersk"}),
        ("上次检查日期在2025年1月1日到2025年3月1日的船舶", {"Emma Maersk"}),
        ("Which vessels were built after 2010?", {"Ever Given", "宇宙"}),
    ],
)
def test_values_are_compared_with_days_and_years(ships, question, expected):
    assert set(ships.ask(question).values) == expected


def test_days_are_read_in_any_common_form():
    written = "2025-1-7, 2025/01/07, 2025年1月7日, 7 January 2025, 7th of Jan. 2025, January 7, 2025, Jan 7 2025"
    for form in written.replace(", 2025,", " 2025,").split(", "):
        assert [day.first for day in days(f"after {form}.")] == ["2025-01-07"], form


@pytest.mark.parametrize("text", ["2025-02-31", "12025-01-01", "2025-01-011", "May I ask?", "in 2025", "room 3-4-5"])
def test_what_is_no_day_is_left_alone(text):
    assert days(text) == ()


def test_rows_without_key_are_named_by_the_column_that_is_some_kind_of_name(ships):
    rows = ships.query("SELECT ?l { ?s a <https://example.org/ships#Vessel> ; rdfs:label ?l }")
    assert {row[0].value for row in rows.rows} == {"Ever Given", "Emma Maersk", "宇宙"}


def test_rows_that_nothing_tells_apart_are_refused_in_one_line(tmp_path: Path, capsys):
    (tmp_path / "ships.ttl").write_text(ONTOLOGY, "utf-8")
    (tmp_path / "vessels.csv").write_text("flag_st,built_yr\nPA,2018\nPA,2018\n", "utf-8")
    folder = str(tmp_path / "w")
    assert main(["create", folder, "--ontology", str(tmp_path / "ships.ttl")]) == 0
    assert main(["add", str(tmp_path / "vessels.csv"), "-w", folder]) == 1
    assert "no column tells one row from another" in capsys.readouterr().out


def test_a_draft_takes_a_number_that_no_two_rows_share_for_the_key(tmp_path: Path, capsys):
    (tmp_path / "vessels.csv").write_text(TABLE, "utf-8")
    assert main(["ontology", "draft", str(tmp_path / "vessels.csv")]) == 0
    assert "owl:hasKey" in capsys.readouterr().out
