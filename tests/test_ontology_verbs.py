"""The verb `ontology`: tree, check, diff and draft, a model's words for a draft, and what each says to bad input."""

import json
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest
from pyoxigraph import NamedNode, RdfFormat, parse

from kgplatform.cli.main import main
from kgplatform.documents.tables.cell_styles import CellStyle, styles_of
from kgplatform.errors import ModelReplyError, ModelUnavailableError
from kgplatform.graph import KnowledgeGraph
from kgplatform.mapping.ontology_draft import (
    DraftedClass,
    DraftedProperty,
    OntologyDraft,
    Profile,
    as_turtle,
    worded,
)
from kgplatform.mapping.schema_inference import draft_files
from kgplatform.models.stubs import ScriptedModel
from kgplatform.ontology import packs, reasoner
from kgplatform.ontology.lint import Grade, class_tree, structural
from kgplatform.ontology.reasoner import reason
from kgplatform.reasoning.ontology_change import difference
from kgplatform.vocab import XSD_DECIMAL, XSD_STRING

PREFIXES = (
    "@prefix : <https://example.org/rocks#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
    "@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix core: <https://w3id.org/kgplatform/core#> .\n"
)
ROCKS = (
    "<https://example.org/rocks> a owl:Ontology .\n"
    ':Rock a owl:Class ; rdfs:label "rock"@en, "岩石"@zh ; rdfs:comment "A stone."@en, "石头。"@zh .\n'
    ':Granite a owl:Class ; rdfs:subClassOf :Rock ; rdfs:label "granite"@en, "花岗岩"@zh ;'
    ' rdfs:comment "A hard rock."@en, "硬岩石。"@zh .\n'
    ':hardness a owl:DatatypeProperty ; rdfs:label "hardness"@en, "硬度"@zh ; rdfs:comment "By Mohs."@en, "莫氏。"@zh ;'
    " rdfs:domain :Rock ; rdfs:range xsd:decimal .\n"
)
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="HermiT needs java on the PATH")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfdbinary, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def command(*arguments):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as error:
            status = int(str(error.code))
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        out, err = (data.decode() for data in capfdbinary.readouterr())
        assert "Traceback" not in out + err
        return status, out, err

    return command


@pytest.fixture
def no_reasoner(monkeypatch):
    monkeypatch.setattr(reasoner.shutil, "which", lambda name: None)


def written(folder, text, name="rocks.ttl"):
    (folder / name).write_text(PREFIXES + text, encoding="utf-8")
    return folder / name


def kinds(folder, text):
    loaded = packs.load([str(written(folder, text))], folder=folder)
    return {(issue.kind, issue.grade) for issue in structural(loaded.ontology, loaded.triples)}


@pytest.mark.parametrize(
    ("text", "kind", "grade"),
    [
        (":Slate a owl:Class ; rdfs:comment 'x'@en, 'y'@zh .", "missing-label", Grade.WARNING),
        (":Slate a owl:Class ; rdfs:label 'slate'@en, '板岩'@zh .", "missing-comment", Grade.INFO),
        (":Slate a owl:Class ; rdfs:label 'slate'@en ; rdfs:comment 'x'@en, 'y'@zh .", "missing-label", Grade.INFO),
        (":p a owl:DatatypeProperty ; rdfs:label 'p'@en ; rdfs:range xsd:string .", "missing-domain", Grade.WARNING),
        (":p a owl:ObjectProperty ; rdfs:label 'p'@en, '甲'@zh ; rdfs:domain :Rock .", "missing-range", Grade.WARNING),
        (":weight a owl:DatatypeProperty ; rdfs:label 'hardness'@en ; rdfs:domain :Granite ; rdfs:range xsd:decimal .",
         "word-clash", Grade.WARNING),
        (":Pebble a owl:Class ; rdfs:label 'pebble'@en ; skos:altLabel '岩石'@zh .", "word-clash", Grade.WARNING),
        (":Rock a owl:ObjectProperty .", "punning", Grade.ERROR),
        (":p a owl:ObjectProperty , owl:DatatypeProperty ; rdfs:label 'p' .", "punning", Grade.ERROR),
        (":Slate a owl:Class ; rdfs:label 'slate'@en ; rdfs:subClassOf :Rokc .", "undeclared", Grade.ERROR),
        (":q a owl:ObjectProperty ; rdfs:domain :Rock ; rdfs:range :Ganite .", "undeclared", Grade.ERROR),
        (":p a owl:ObjectProperty ; rdfs:domain [ owl:unionOf ( :Rock :Rokc ) ] .", "undeclared", Grade.ERROR),
        (":Rock rdfs:subClassOf [ owl:onProperty :hardness ; owl:allValuesFrom :Gone ] .", "undeclared", Grade.ERROR),
        (":Rock owl:hasKey ( :code ) .", "undeclared", Grade.ERROR),
        (":C a owl:Class ; rdfs:label 'c' ; rdfs:subClassOf :Granite , :B . :B a owl:Class ; owl:disjointWith :Rock .",
         "unsatisfiable", Grade.ERROR),
        (":q a owl:DatatypeProperty ; rdfs:label 'q'@en ; rdfs:domain :Rock ; rdfs:range :Granite .", "range-kind",
         Grade.ERROR),
        (":Rock rdfs:subClassOf :Granite .", "cycle", Grade.ERROR),
        (":hardness core:pattern '[' .", "pattern", Grade.ERROR),
        (f":Granite rdfs:label '{'x' * 100_000}'@en .", "long-label", Grade.WARNING),
    ],
)  # fmt: skip
def test_each_fault_of_structure_is_found(tmp_path, text, kind, grade):
    assert kinds(tmp_path, ROCKS) == set()
    assert (kind, grade) in kinds(tmp_path, ROCKS + text)
    percent = (
        ":percent a rdfs:Datatype ; owl:equivalentClass "
        "[ owl:onDatatype xsd:integer ; owl:withRestrictions ( [ xsd:maxInclusive 100 ] ) ] .\n"
        ":p a owl:DatatypeProperty ; rdfs:label 'p' ; rdfs:domain :Rock ; rdfs:range :percent .\n"
        ":Rock rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:allValuesFrom :percent ] ."
    )
    assert Grade.ERROR not in {found for _, found in kinds(tmp_path, ROCKS + percent)}  # no undeclared class


def test_issues_name_the_nearest_term_and_stay_one_line(tmp_path):
    text = ROCKS + f":Slate a owl:Class ; rdfs:label '{'很' * 5000}'@zh ; rdfs:subClassOf :Granit ."
    loaded = packs.load([str(written(tmp_path, text))], folder=tmp_path)
    issues = structural(loaded.ontology, loaded.triples)
    (slip,) = [issue for issue in issues if issue.kind == "undeclared"]
    assert slip.message.endswith("did you mean https://example.org/rocks#Granite?")
    assert all("\n" not in issue.message and len(issue.message) < 400 for issue in issues)


def test_unused_terms_are_pointed_out_where_there_is_data_and_shipped_ontologies_have_no_error(tmp_path):
    loaded = packs.load([str(written(tmp_path, ROCKS))], folder=tmp_path)
    granite = next(iri for iri in loaded.ontology.classes if iri.value.endswith("Granite"))
    issues = structural(loaded.ontology, loaded.triples, used=frozenset({granite}))
    assert [(issue.kind, issue.term) for issue in issues] == [("unused", "https://example.org/rocks#hardness")]
    for name in packs.shipped():
        loaded = packs.load([name], folder=tmp_path)
        assert [i for i in structural(loaded.ontology, loaded.triples) if i.grade is Grade.ERROR] == []


@needs_java
def test_the_reasoner_names_classes_that_can_have_no_member(run, tmp_path):
    text = ROCKS + (
        ":Water a owl:Class ; rdfs:label 'water'@en ; owl:disjointWith :Rock .\n"
        ":Odd a owl:Class ; rdfs:label 'odd'@en ; rdfs:subClassOf :Rock, :Water ."
    )
    status, out, err = run("ontology", "check", written(tmp_path, text))
    assert status == 1
    assert "error    https://example.org/rocks#Odd can have no member" in out
    assert "checked by structure and HermiT" in err
    status, out, _ = run("ontology", "check", written(tmp_path, text + ":x a :Odd ."), "--format", "json")
    assert status == 1
    assert "inconsistent" in {issue["kind"] for issue in json.loads(out)}


@needs_java
def test_a_reasoner_that_takes_too_long_or_too_much_is_stopped(tmp_path, monkeypatch):
    loaded = packs.load(["travel"], folder=tmp_path)
    assert "stopped after 0.05 s" in (reason(loaded.triples, timeout_seconds=0.05).skipped or "")
    assert "needs more than 8 MB" in (reason(loaded.triples, memory_mb=8).skipped or "")
    monkeypatch.setattr(reasoner, "MOST_TRIPLES", 10)
    assert "too many for HermiT" in (reason(loaded.triples).skipped or "")


@pytest.mark.usefixtures("no_reasoner")
def test_without_java_the_structure_is_checked_and_a_byte_order_mark_is_read_over(run, tmp_path):
    (tmp_path / "bom.ttl").write_bytes(b"\xef\xbb\xbf" + (PREFIXES + ROCKS).encode())
    status, out, err = run("ontology", "check", "bom.ttl")
    assert (status, out) == (0, "")
    assert "no Java on the PATH" in err
    (tmp_path / "bom.csv").write_bytes("\ufeffname,price\nA,1\nB,2\n".encode())
    status, out, _ = run("ontology", "draft", "bom.csv")
    assert (status, "\ufeff" in out) == (0, False)
    (tmp_path / "broken.ttl").write_bytes(b"this is no Turtle")
    status, out, err = run("ontology", "draft", "broken.ttl")
    assert (status, out, err.count("\n")) == (1, "", 1)


def test_the_tree_counts_things_and_ends_on_cycles(run, tmp_path):
    ontology = written(tmp_path, ROCKS)
    with KnowledgeGraph.create(tmp_path / "w", ontology=str(ontology)) as kg:
        data = PREFIXES + ":a a :Granite . :b a :Granite, :Rock . :c a :Rock ."
        kg.dataset.state(quad.triple for quad in parse(data.encode(), format=RdfFormat.TURTLE))
    status, out, _ = run("ontology", "-w", tmp_path / "w")
    assert status == 0
    assert out.splitlines() == ["rock  3", "    · hardness", "  granite  2"]
    loaded = packs.load([str(written(tmp_path, ROCKS + ":Rock rdfs:subClassOf :Granite ."))], folder=tmp_path)
    assert sorted({branch.label for branch in class_tree(loaded.ontology, {})}) == ["granite", "rock"]


def test_a_difference_tells_renamed_from_removed_and_what_it_breaks(run, tmp_path):
    old = written(tmp_path, ROCKS + ":Coal a owl:Class ; rdfs:label 'coal'@en .", "old.ttl")
    changed = ROCKS.replace(":Granite a", ":GraniteRock a").replace("xsd:decimal", "xsd:string")
    new = written(tmp_path, changed + ":Slate a owl:Class ; rdfs:label 'slate'@en .", "new.ttl")
    with KnowledgeGraph.create(tmp_path / "w", ontology=str(old)) as kg:
        data = PREFIXES + ":a a :Granite ; :hardness 6.5 . :b a :Coal . :c a :Rock ; :hardness 7.0 ."
        kg.dataset.state(quad.triple for quad in parse(data.encode(), format=RdfFormat.TURTLE))
    status, out, _ = run("ontology", "diff", old, new, "-w", tmp_path / "w", "--format", "json")
    assert status == 0
    found = json.loads(out)
    assert {(c["outcome"], c["iri"].split("#")[1], c["uses"]) for c in found["changes"]} == {
        ("renamed", "Granite", 1),
        ("removed", "Coal", 1),
        ("added", "Slate", 0),
        ("changed", "hardness", 2),
    }
    assert {(b["kind"], b["about"].split("#")[1], b["statements"]) for b in found["broken"]} == {
        ("datatype", "hardness", 2),
        ("unknown-class", "Granite", 1),
        ("unknown-class", "Coal", 1),
    }
    assert "changed    property https://example.org/rocks#hardness" in run("ontology", "diff", old, new)[1]
    same = packs.load([str(old)], folder=tmp_path)
    assert difference(same, same).changes == ()


def test_diff_and_draft_say_what_they_need(run):
    assert "needs two ontologies" in run("ontology", "diff", "travel")[2]
    assert "has the suffix (none)" in run("ontology", "draft", "a", "b")[2]
    assert "did you mean draft?" in run("ontology", "darft")[2]
    status, _, err = run("ontology", "draft", "missing.ttl")
    assert status == 1
    assert "missing.ttl: cannot be read" in err
    assert "is not an absolute IRI" in run("ontology", "draft", "missing.ttl", "--iri", "rocks")[2]


CSV = (
    "hotel_code,name,开业年份,price,near,open,phone,town,since\n"
    "H01,Sea Inn,1999,480.5,Xizha;Dongzha,true,0573-1,Wuzhen,2024-01-02\n"
    "H02,枕水,2004,300,Xizha,false,0573-2,Wuzhen,2023-11-30\n"
    "H03,River,2010,,,true,0573-3,Wuzhen,\n"
)


def test_a_draft_from_a_table_reads_types_off_the_values(run, tmp_path):
    (tmp_path / "hotels.csv").write_text(CSV, encoding="utf-8")
    status, out, _ = run("ontology", "draft", "hotels.csv")
    assert status == 0
    (tmp_path / "draft.ttl").write_text(out, encoding="utf-8")
    status, issues, _ = run("ontology", "check", "draft.ttl")
    assert status == 0
    assert all(line.startswith("info ") and "开业年份" in line for line in issues.splitlines())
    ontology = packs.load(["draft.ttl"], folder=tmp_path).ontology
    (hotel,) = ontology.classes.values()
    assert hotel.words[0].text == "hotel"
    ranges = {term.iri.value.split("#")[1]: term.ranges[0].value.split("#")[1] for term in ontology.properties.values()}
    assert ranges == {
        **dict.fromkeys(("hotelCode", "near", "phone", "town"), "string"),
        **{"开业年份": "gYear", "price": "decimal", "open": "boolean", "since": "date"},
    }
    assert [key.value.split("#")[1] for key in hotel.key] == ["hotelCode"]
    functional = {term.iri.value.split("#")[1] for term in ontology.properties.values() if term.functional}
    assert "price" in functional
    assert "near" not in functional


def test_a_draft_from_rdf_finds_classes_ends_and_hierarchy(run, tmp_path):
    data = PREFIXES + "".join(
        f":g{n} a :Granite, :Rock ; rdfs:label 'g{n}'@en ; :code 'G{n}' ; :foundIn :place ; :hardness 6.{n} .\n"
        for n in range(3)
    )
    data += ":r a :Rock ; :code 'R' ; :foundIn :place . :place a :Place ; rdfs:label '乌镇'@zh ."
    (tmp_path / "data.ttl").write_text(data, encoding="utf-8")
    status, out, _ = run("ontology", "draft", "data.ttl")
    assert status == 0
    (tmp_path / "draft.ttl").write_text(out, encoding="utf-8")
    assert run("ontology", "check", "draft.ttl")[:2] == (0, "")
    ontology = packs.load(["draft.ttl"], folder=tmp_path).ontology
    classes = {iri.value.split("#")[1]: term for iri, term in ontology.classes.items()}
    properties = {iri.value.split("#")[1]: term for iri, term in ontology.properties.items()}
    assert [p.value.split("#")[1] for p in classes["Granite"].parents] == ["Rock"]
    assert [k.value.split("#")[1] for k in classes["Rock"].key] == ["code"]
    assert [d.value.split("#")[1] for d in properties["foundIn"].domains] == ["Rock"]
    assert [r.value.split("#")[1] for r in properties["foundIn"].ranges] == ["Place"]
    assert [d.value.split("#")[1] for d in properties["hardness"].domains] == ["Granite"]


def test_tables_drafted_together_lead_to_each_other_and_amounts_have_their_unit(run, tmp_path):
    tables = {
        "beers.csv": "beer,style,brewery,ABV,price\nNight Tram,porter,Ems,5.8,3.50 EUR\n"
        "Dune Grass,ale,Tide,5.0,3.40 EUR\nOld Ferry,ale,Tide,10.5,6.90 EUR\n",
        "breweries.csv": "brewery name,short,town,head office,price\nEms,Ems,Emden,Tide,11 EUR\n"
        "Tide,Tide,Greetsiel,,12 EUR\n",
        "酒店.csv": "酒店名称,酒厂\n海角旅馆,Ems\n潮汐楼,Tide\n",
        "gates.csv": "gate\nA1\nB2\n",
        "lines.csv": "line,stops,code\nBlue,A1|B2,L1\nRed,B2,L2\n",
    }
    for name, text in tables.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    status, out, err = run("ontology", "draft", *tables)
    assert (status, "5 classes" in err) == (0, True)
    (tmp_path / "draft.ttl").write_text(out, encoding="utf-8")
    assert run("ontology", "check", "draft.ttl")[0] == 0
    ontology = packs.load(["draft.ttl"], folder=tmp_path).ontology
    found = {
        term.iri.value.split("#")[1]: (
            {iri.value.split("#")[1] for iri in term.domains},
            {iri.value.split("#")[1] for iri in term.ranges},
            term.unit,
        )
        for term in ontology.domain_properties
    }
    assert found == {
        "style": ({"Beer"}, {"string"}, None),
        "brewery": ({"Beer"}, {"Brewery"}, None),
        "ABV": ({"Beer"}, {"decimal"}, None),
        "price": ({"Beer", "Brewery"}, {"decimal"}, "EUR"),
        "short": ({"Brewery"}, {"string"}, None),  # another name of the row, and no other row
        "town": ({"Brewery"}, {"string"}, None),
        "headOffice": ({"Brewery"}, {"Brewery"}, None),
        "酒厂": ({"酒店"}, {"Brewery"}, None),
        "stops": ({"Line"}, {"Gate"}, None),
        "code": ({"Line"}, {"string"}, None),
    }
    assert {word.text for term in ontology.domain_properties if term.unit for word in term.examples} == {"3.50", "3.40"}
    with KnowledgeGraph.create(tmp_path / "w", ontology=str(tmp_path / "draft.ttl")) as kg:
        assert [item.outcome for item in kg.add(*(tmp_path / name for name in tables))] == ["added"] * 5
        assert kg.ask("How much does Night Tram cost?").text == "The price of Night Tram is 3.5 EUR."
        assert kg.ask("Which town is the brewery of Dune Grass in?").values == ("Greetsiel",)
    assert "is no table" in run("ontology", "draft", "beers.csv", "draft.ttl")[2]


def test_tables_of_a_database_are_joined_by_their_keys(run, tmp_path):
    tables = {
        "artists.csv": "artist_id,name,born,died\n1,Ilse Marten,1871,1944\n2,Pavel Hroznik,1902,1988\n",
        "loans.csv": "work_id,borrower_no,via,from_date,fee_eur\n101,M7,M9,2024-03-01,500\n"
        "103,M9,M7,2024-05-01,80\n101,M7,M11,2025-03-01,650\n",
        "Museums.csv": "no,museum,rooms,area_m2\nM7,Kunsthalle Bremen,12,800\nM9,Museo de Arte Lima,30,2500\n"
        "M11,Hus,3,90\n",
        "works.csv": "work_id,title,ARTIST_ID,height (cm),copies printed\n101,Harbour in Fog,1,60,1200\n"
        "102,The Blue Kitchen,1,45.5,1500\n103,Stairs,2,30,1900\n",
        "exhibitions.csv": "id,title\n1,Northern Light\n2,Paper\n",
        "shown_at.csv": "work_id,exhibition_id\n101,1\n102,1\n103,2\n101,2\n",
        "评语.csv": "作品编号,画家编号,评分\n101,1,4\n103,2,5\n",
        "作品.csv": "编号,名称\n101,雾港\n103,楼梯\n",
        "画家.csv": "编号,姓名\n1,马滕\n2,赫罗兹尼克\n",
    }
    for name, text in tables.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert run("ontology", "draft", *tables)[0] == 0
    (tmp_path / "draft.ttl").write_text(run("ontology", "draft", *tables)[1], encoding="utf-8")
    assert run("ontology", "check", "draft.ttl")[0] == 0
    ontology = packs.load(["draft.ttl"], folder=tmp_path).ontology
    found = {
        term.iri.value.split("#")[1]: (
            "|".join(sorted(iri.value.split("#")[1] for iri in term.domains)),
            "|".join(iri.value.split("#")[1] for iri in term.ranges),
            term.unit,
        )
        for term in ontology.domain_properties
    }
    assert found == {
        "artistId": ("Artist", "integer", None),
        "born": ("Artist", "gYear", None),
        "died": ("Artist", "gYear", None),
        "work": ("Loan", "Work", None),
        "borrower": ("Loan", "Museum", None),
        "via": ("Loan", "Museum", None),  # of codes that only museums have
        "fromDate": ("Loan", "date", None),
        "fee": ("Loan", "decimal", "EUR"),
        "museumNo": ("Museum", "string", None),
        "rooms": ("Museum", "integer", None),
        "area": ("Museum", "decimal", "m²"),
        "workId": ("Work", "integer", None),
        "artist": ("Work", "Artist", None),
        "height": ("Work", "decimal", "cm"),
        "copiesPrinted": ("Work", "integer", None),
        "exhibitionId": ("Exhibition", "string", None),
        "exhibition": ("Work", "Exhibition", None),
        "作品2": ("评语", "作品", None),
        "画家2": ("评语", "画家", None),
        "评分": ("评语", "integer", None),
        "作品编号": ("作品", "string", None),
        "画家编号": ("画家", "string", None),
    }
    keys = {class_.iri.value.split("#")[1]: len(class_.key) for class_ in ontology.domain_classes}
    assert keys == {"Artist": 1, "Loan": 3, "Museum": 1, "Work": 1, "Exhibition": 1, "评语": 2, "作品": 1, "画家": 1}
    assert ontology.label(NamedNode(f"{ontology.domain_classes[0].iri.value.split('#')[0]}#作品2"), "zh") == "作品"
    with KnowledgeGraph.create(tmp_path / "w", ontology=str(tmp_path / "draft.ttl")) as kg:
        added = list(kg.add(*(tmp_path / name for name in tables)))
        assert [item.outcome for item in added] == ["added"] * len(tables)
        for question, answer in {
            "Who is the artist of Stairs?": "The artist of Stairs is Pavel Hroznik.",
            "When was Ilse Marten born?": "Ilse Marten was born in 1871.",
            "Which artist has the most works?": "The artist with the most works is Ilse Marten (2 works).",
            "When did Ilse Marten die?": "Ilse Marten died in 1944.",
            "What is the area of Kunsthalle Bremen?": "The area of Kunsthalle Bremen is 800 m².",
            "In which exhibitions was Harbour in Fog shown?": "Northern Light, Paper.",
        }.items():
            assert kg.ask(question).text == answer
        assert kg.ask("Which artist has the most gorgeous works?").values == ()  # and not who has most of them
        labels = {str(row[0].value) for row in kg.query("SELECT ?l { ?x a ?c ; rdfs:label ?l }").rows}
        assert not any(label.isdigit() for label in labels)
        assert len(kg.query("SELECT ?x { ?x a ?c . FILTER(STRENDS(STR(?c), '#Loan')) }").rows) == 3
        assert {"雾港 / 马滕", "楼梯 / 赫罗兹尼克"} <= labels


def test_declared_keys_of_a_database_lead_to_their_tables_whatever_the_columns_are_called(run, tmp_path):
    with closing(sqlite3.connect(tmp_path / "crew.db")) as database:
        database.executescript(
            "CREATE TABLE keeper (id INTEGER PRIMARY KEY, name, boss INTEGER REFERENCES keeper(id));"
            "CREATE TABLE boat (id INTEGER PRIMARY KEY, name, master_id INTEGER REFERENCES keeper);"
            "INSERT INTO keeper VALUES (1, 'Runa Skeld', NULL), (2, 'Josef Mardle', 1), (3, 'Wyn Carrow', 1);"
            "INSERT INTO boat VALUES (1, 'Fulmar', 2), (2, 'Sprat', 3);"
        )
    (tmp_path / "crew.ttl").write_text(run("ontology", "draft", "crew.db")[1], encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "w", ontology=str(tmp_path / "crew.ttl")) as kg:
        assert [item.outcome for item in kg.add(tmp_path / "crew.db")] == ["added", "added"]
        assert kg.ask("Who is the master of the Sprat?").values == ("Wyn Carrow",)
        assert kg.ask("Who is the boss of Wyn Carrow?").values == ("Runa Skeld",)


def test_cells_are_read_as_their_columns_write_numbers_days_and_truth(run, tmp_path):
    rows = ("R-1;1.240,00;05.04.2023;3/4/2023;ja;7", "R-2;612,50;1.12.2023;25/12/2022;nein;1.100", "R-3;-;n/a;;n/a;~12")
    header = "invoice;amount_eur;issued;paid on;reminded;weight_kg"
    (tmp_path / "invoices.csv").write_text("\n".join((header, *rows)), encoding="utf-8")
    (tmp_path / "draft.ttl").write_text(run("ontology", "draft", "invoices.csv")[1], encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "w", ontology=str(tmp_path / "draft.ttl")) as kg:
        (added,) = kg.add(tmp_path / "invoices.csv")
        assert added.refused == ()
        query = "SELECT ?o { ?x rdfs:label|!rdfs:label ?o FILTER(isLiteral(?o) && datatype(?o) != xsd:string) }"
        found = {str(row[0]).partition("^^")[0] for row in kg.query(query).rows}
        assert found >= {'"1240"', '"612.5"', '"2023-04-05"', '"2023-12-01"', '"2023-04-03"', '"2022-12-25"'}
        assert found >= {'"true"', '"false"', '"7"', '"1100"', '"12"'}
        assert "1,852.5" in kg.ask("What is the total amount of all invoices?").text
    assert [CellStyle(comma_decimal=True).plain(cell) for cell in ("0.125", "0,125")] == ["0.125", "0.125"]
    styles = styles_of([["0,125", "0,250"], ["0.125"], ["1.240"], ["3,5"]])
    assert [style.comma_decimal for style in styles] == [True, False, None, True]


def test_all_tables_of_a_workbook_database_or_json_are_drafted_from_and_read(run, tmp_path):
    sheets = {
        "shops": [("id", "name"), (1, "Corner Books"), (2, "Quay Prints")],
        "offers": [("shop_id", "item", "price_eur"), (1, "atlas", 40), (2, "map", 12)],
    }
    book, database = openpyxl.Workbook(), sqlite3.connect(tmp_path / "market.db")
    for name, (header, *rows) in sheets.items():
        for row in (header, *rows):
            (book.active if name == "shops" else book["offers"]).append(row)
        if name == "shops":
            book.active.title = name
            book.create_sheet("empty")
            book.create_sheet("offers")
        database.execute(f"CREATE TABLE {name} ({','.join(header)})")
        database.executemany(f"INSERT INTO {name} VALUES ({','.join('?' * len(header))})", rows)
    database.execute("CREATE VIEW cheap AS SELECT * FROM offers WHERE price_eur < 20")
    database.commit()
    database.close()
    book.save(tmp_path / "market.xlsx")
    arrays = {name: [dict(zip(header, row, strict=True)) for row in rows] for name, (header, *rows) in sheets.items()}
    (tmp_path / "market.json").write_text(json.dumps({"version": 3, "empty": [], **arrays}), encoding="utf-8")
    drafts = [run("ontology", "draft", name)[1] for name in ("market.xlsx", "market.db", "market.json")]
    assert len({re.sub(r"_:\w+|market\.\w+", "", draft) for draft in drafts}) == 1
    (tmp_path / "market.ttl").write_text(drafts[1], encoding="utf-8")
    for name in ("market.xlsx", "market.db", "market.json"):
        with KnowledgeGraph.create(tmp_path / f"of {name}", ontology=str(tmp_path / "market.ttl")) as kg:
            added = [(item.document.title, item.outcome) for item in kg.add(tmp_path / name)]
            assert added == [("shops", "added"), ("offers", "added")]
            assert kg.ask("Which shop offers the atlas?").values == ("Corner Books",)
        assert run("documents", "-w", f"of {name}", "remove", name)[1].count("removed") == 2
        assert run("documents", "-w", f"of {name}", "remove", name)[0] == 1


def test_records_inside_records_of_json_are_drafted_and_read_as_tables_of_their_own(run, tmp_path):
    lines = [
        {"id": "T1", "color": "red", "stops": [{"name": "Harbour", "zone": 1}, {"name": "Market", "zone": 1}]},
        {"id": "T2", "color": "blue", "stops": [{"name": "Market", "zone": 1}, {"name": "Hospital", "zone": 2}]},
    ]
    (tmp_path / "net.json").write_text(json.dumps({"operator": "Nordtal", "lines": lines}), encoding="utf-8")
    (tmp_path / "net.ttl").write_text(run("ontology", "draft", "net.json")[1], encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "w", ontology=str(tmp_path / "net.ttl")) as kg:
        added = list(kg.add(tmp_path / "net.json"))
        assert [(item.document.title, item.outcome, item.refused) for item in added[:1]] == [("lines", "added", ())]
        assert kg.check().conforms  # the market is on both lines
        assert set(kg.ask("Which stops are on line T1?").values) == {"Harbour", "Market"}
        assert kg.ask("Which line has the stop Hospital?").values == ("T2",)
    assert run("documents", "-w", "w", "remove", "net.json")[1].count("removed") == 2


def test_json_is_read_as_a_table_where_its_objects_are_called_as_a_class_and_are_no_texts(run, tmp_path):
    (tmp_path / "ponds.csv").write_text("name,depth_m\nOak Pond,4\nElm Pond,6\n", encoding="utf-8")
    (tmp_path / "draft.ttl").write_text(run("ontology", "draft", "ponds.csv")[1], encoding="utf-8")
    ash, yew = {"name": "Ash Pond", "depth_m": 3}, {"name": "Yew Pond", "text": "Yew Pond is 8 m deep."}
    files = {"list": {"ponds": [ash]}, "ponds": {"data": [ash]}, "rooms": {"rooms": [ash]}, "notes": {"ponds": [yew]}}
    files |= {"keyed": {"ponds": {"p1": yew, "p2": yew, "p3": yew}}}
    tables = set()
    with KnowledgeGraph.create(tmp_path / "w", ontology=str(tmp_path / "draft.ttl")) as kg:
        for name, content in files.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
            (added,) = kg.add(tmp_path / f"{name}.json", build=False)
            assert added.outcome == "added"
            tables |= {name} if added.mapping else set()
    assert tables == {"list", "ponds"}


def test_a_draft_of_untyped_data_and_of_odd_columns_still_passes(run, tmp_path):
    (tmp_path / "plain.nt").write_text("<http://x/a> <http://x/p> 'v' .\n".replace("'", '"'), encoding="utf-8")
    odd = f"2nd,!!!,a b,a_b,{'长' * 300}\n1,2,3,4,5\n1,2,3,4,5\n"
    (tmp_path / "odd.csv").write_text(odd, encoding="utf-8")
    for name in ("plain.nt", "odd.csv"):
        status, out, _ = run("ontology", "draft", name)
        assert status == 0
        (tmp_path / "draft.ttl").write_text(out, encoding="utf-8")
        status, issues, _ = run("ontology", "check", "draft.ttl")
        assert status == 0
        assert all(line.startswith("info ") for line in issues.splitlines())
    terms = {term.iri.value.split("#")[1] for term in draft_files(tmp_path / "odd.csv").properties}
    assert {"x2nd", "aB", "aB2"} <= terms


def test_a_draft_of_a_workspace_is_of_its_data(run, tmp_path):
    with KnowledgeGraph.create(tmp_path / "w", ontology=str(written(tmp_path, ROCKS))) as kg:
        data = PREFIXES + ":a a :Meteorite ; rdfs:label 'a'@en ; :mass 6.5 ."
        kg.dataset.state(quad.triple for quad in parse(data.encode(), format=RdfFormat.TURTLE))
    status, out, err = run("ontology", "draft", "-w", tmp_path / "w")
    assert status == 0
    assert "rocks#Meteorite" in out
    assert "Granite" not in out
    assert "1 class, 1 property drafted" in err


NS = "https://example.org/ontology/htl#"


def iri(name):
    return NamedNode(NS + name)


def profile(datatype, *examples):
    return Profile(datatype=datatype, count=3, distinct=3, examples=examples)


@pytest.fixture
def draft():
    return OntologyDraft(
        NamedNode(NS.rstrip("#")),
        "htl.csv",
        (DraftedClass(iri("Htl"), "htl", 3, key=(iri("cd"),), examples=("Grand\nHotel",)),),
        (
            DraftedProperty(
                iri("ppn"), "ppn", (iri("Htl"),), 3, profile=profile(XSD_DECIMAL, "120.50"), functional=True
            ),
            DraftedProperty(iri("cd"), "cd", (iri("Htl"),), 3, profile=profile(XSD_STRING, "H1"), functional=True),
        ),
    )


def term(id_, name, en, zh, *, comment="", comment_zh=""):
    return {"id": id_, "name": name, "label_en": en, "label_zh": zh, "comment_en": comment, "comment_zh": comment_zh}


GOOD = [
    term("Htl", "Hotel", "hotel", "酒店", comment="A place to sleep.", comment_zh="住宿的地方。"),
    term("ppn", "pricePerNight", "price per night", "每晚价格", comment="In euros.", comment_zh="以欧元计。"),
    term("cd", "code", "code", "代码"),
]


def read_draft(draft, folder):
    (folder / "draft.ttl").write_bytes(as_turtle(draft))
    loaded = packs.load(["draft.ttl"], folder=folder)
    assert [i for i in structural(loaded.ontology, loaded.triples) if i.grade is Grade.ERROR] == []
    return loaded.ontology


def reply(*terms):
    return json.dumps({"terms": terms}, ensure_ascii=False)


def test_a_draft_gets_names_labels_and_comments_in_both_languages(draft, tmp_path):
    model = ScriptedModel(reply(*GOOD))
    ontology = read_draft(worded(draft, model), tmp_path)
    hotel = ontology.classes[iri("Hotel")]
    assert {(w.text, w.language) for w in hotel.words} == {("hotel", "en"), ("酒店", "zh"), ("htl", "en")}
    assert [w.text for w in hotel.words[:2]] != ["htl"]
    assert {"A place to sleep.", "住宿的地方。"} <= {word.text for word in hotel.comments}
    price = ontology.properties[iri("pricePerNight")]
    assert (price.domains, price.ranges, price.functional) == ((iri("Hotel"),), (XSD_DECIMAL,), True)
    assert ("ppn", "en") in {(w.text, w.language) for w in price.words}
    assert hotel.key == (iri("code"),)
    sent = model.conversations[0][-1].content
    assert "- ppn: ppn; htl; decimal; 120.50" in sent
    assert "Grand Hotel" in sent


def test_what_a_model_invents_or_says_in_the_wrong_language_is_left_out(draft, tmp_path):
    bad = [
        term("Htl", "hotel", "酒店", "hotel"),
        term("ppn", "price per night", "price", "价格\x07", comment="x" * 400),
        term("Unknown", "Room", "room", "房间"),
        {"id": "cd"},
    ]
    found = worded(draft, ScriptedModel(reply(*bad)))
    assert [item.iri for item in (*found.classes, *found.properties)] == [iri("Htl"), iri("ppn"), iri("cd")]
    ontology = read_draft(found, tmp_path)
    assert len(ontology.classes) == 1
    assert len(ontology.properties) == 2
    assert [w.text for w in ontology.classes[iri("Htl")].words] == ["htl"]
    assert {w.text for w in ontology.properties[iri("ppn")].words} == {"price", "ppn"}
    assert any("nothing of use for Htl, cd" in remark for remark in found.remarks)


def test_terms_of_data_keep_their_iris_and_a_name_is_given_once(draft):
    from_data = replace(draft, is_from_data=True)
    kept = worded(from_data, ScriptedModel(reply(*GOOD)))
    assert [term.iri for term in kept.properties] == [iri("ppn"), iri("cd")]
    assert kept.labels[iri("ppn")][0].value == "price per night"
    same = [term("ppn", "value", "value", "值"), term("cd", "value", "worth", "价值")]
    found = worded(draft, ScriptedModel(reply(*same)))
    assert [term.iri for term in found.properties] == [iri("value"), iri("cd")]


def test_a_reply_of_no_use_leaves_the_draft_and_says_so(draft, tmp_path):
    for text in ("{}", '{"terms": "none"}', "no JSON"):
        found = worded(draft, ScriptedModel(text))
        assert found.classes == draft.classes
        assert any("cannot be used" in remark for remark in found.remarks)
        assert read_draft(found, tmp_path)
    failing = ScriptedModel(ModelReplyError("empty", model="m", reply=""))
    assert worded(draft, failing).classes == draft.classes
    with pytest.raises(ModelUnavailableError):
        worded(draft, ScriptedModel())


def test_many_terms_are_asked_for_in_parts(draft):
    many = [replace(draft.properties[0], iri=iri(f"p{n}"), label=f"p{n}") for n in range(60)]
    model = ScriptedModel(otherwise=lambda messages: reply())
    worded(replace(draft, properties=tuple(many)), model)
    assert len(model.conversations) == 3
    assert all("htl" in conversation[-1].content for conversation in model.conversations)


def test_without_a_model_in_the_settings_the_option_says_which_to_set(run, tmp_path):
    (tmp_path / "a.csv").write_text("code,price\nA,1\nB,2\n")
    status, out, err = run("ontology", "draft", "a.csv", "--model")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "KGPLATFORM_MODEL" in err


def test_rows_with_keys_of_their_own_are_several_things_though_named_alike(run, tmp_path):
    pets = "Animal ID,Name,Species,Weight (kg)\nA-101,Luna,Dog,30\nA-102,Luna,Cat,4\nA-103,Rex,Dog,25\n"
    (tmp_path / "pets.csv").write_text(pets, encoding="utf-8")
    visits = "Visit,Animal ID,Cost\nV1,A-101,50\nV2,A-102,70\nV3,A-101,20\n"
    (tmp_path / "visits.csv").write_text(visits, encoding="utf-8")
    (tmp_path / "draft.ttl").write_text(run("ontology", "draft", "pets.csv", "visits.csv")[1], encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "w", ontology=str(tmp_path / "draft.ttl")) as kg:
        assert [item.refused for item in kg.add(tmp_path / "pets.csv", tmp_path / "visits.csv")] == [(), ()]
        assert kg.ask("How many pets are there?").values == ("3",)
        assert kg.ask("How heavy is Luna?").clarification is not None
        assert kg.check().conforms
        (tmp_path / "visits.csv").write_text(visits.replace("70", "75"), encoding="utf-8")
        list(kg.add(tmp_path / "visits.csv"))  # what rows are called does not hang on the version before
        assert kg.ask("Which visit has the highest cost?").values[:1] == ("V2",)


def test_rows_named_alike_whose_days_and_numbers_differ_are_several_things(run, tmp_path):
    ends = "G1,41,Landed", "G1,42,Landed", ",,Cancelled", "G1,44,Landed"
    flights = "Flight,Date,Airline,Gate,Passengers,Status\n" + "".join(
        f"{flight},2025-05-0{day},{airline},{ends[day - n - 1]}\n"
        for n, (flight, airline) in enumerate((("SX410", "Skylark"), ("BL15", "Bluefin")))
        for day in range(1, 5)
    )
    (tmp_path / "flights.csv").write_text(flights, encoding="utf-8")
    (tmp_path / "draft.ttl").write_text(run("ontology", "draft", "flights.csv")[1], encoding="utf-8")
    for ontology in (str(tmp_path / "draft.ttl"), "airport"):
        with KnowledgeGraph.create(tmp_path / f"w {Path(ontology).name}", ontology=ontology) as kg:
            (added,) = kg.add(tmp_path / "flights.csv")
            assert (len({row.subject for row in kg.registry.rows_of(added.document.iri)}), added.refused) == (8, ())
            if ontology != "airport":
                assert kg.ask("How many flights were cancelled?").values == ("2",)


@pytest.mark.parametrize("column", ["队名", "球队名称", "站名", "患者姓名"])
def test_a_column_that_is_called_a_name_in_chinese_names_the_rows(run, tmp_path, column):
    (tmp_path / "球队.csv").write_text(
        f"编号,{column},城市名\nT1,红狼,青石\nT2,海鸥,临江\nT3,猛虎,临江\n", encoding="utf-8"
    )
    (tmp_path / "draft.ttl").write_text(run("ontology", "draft", "球队.csv")[1], encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "w", ontology=str(tmp_path / "draft.ttl")) as kg:
        list(kg.add(tmp_path / "球队.csv"))
        assert set(kg.ask("临江有哪些球队？").values) == {"海鸥", "猛虎"}


def test_units_within_the_name_of_a_column_are_taken_but_not_of_what_is_counted_in_millions(tmp_path):
    table = "name,annualOutputGWh,capacityMW,volumeMillionM3\nOak Dam,320,70,268\nElm Dam,180,21,54\n"
    (tmp_path / "dams.csv").write_text(table, encoding="utf-8")
    terms = {term.label: term.unit for term in draft_files(tmp_path / "dams.csv").properties}
    assert terms == {"annual output": "GWh", "capacity": "MW", "volume million M3": None}
