"""The verb `ontology`: tree, check, diff and draft, and what each says to bad input."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, parse

from kgplatform import packs
from kgplatform.cli.main import main
from kgplatform.graph import KnowledgeGraph
from kgplatform.ontologies import reasoner
from kgplatform.ontologies.difference import difference
from kgplatform.ontologies.issues import Grade
from kgplatform.ontologies.reasoner import reason
from kgplatform.ontologies.sources import draft_file
from kgplatform.ontologies.structure import structural
from kgplatform.ontologies.tree import class_tree

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
def run(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str | Path) -> tuple[int, str, str]:
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
def no_reasoner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reasoner.shutil, "which", lambda name: None)


def written(folder: Path, text: str, name: str = "rocks.ttl") -> Path:
    (folder / name).write_text(PREFIXES + text, encoding="utf-8")
    return folder / name


def kinds(folder: Path, text: str) -> set[tuple[str, Grade]]:
    loaded = packs.load([str(written(folder, text))], folder=folder)
    return {(issue.kind, issue.grade) for issue in structural(loaded.ontology, loaded.triples)}


def test_a_good_ontology_has_no_issue(tmp_path: Path) -> None:
    assert kinds(tmp_path, ROCKS) == set()


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
        (":Slate a owl:Class ; rdfs:label 'slate'@en ; rdfs:subClassOf :Rokc .", "undeclared", Grade.ERROR),
        (":q a owl:ObjectProperty ; rdfs:domain :Rock ; rdfs:range :Ganite .", "undeclared", Grade.ERROR),
        (":q a owl:DatatypeProperty ; rdfs:label 'q'@en ; rdfs:domain :Rock ; rdfs:range :Granite .", "range-kind",
         Grade.ERROR),
        (":Rock rdfs:subClassOf :Granite .", "cycle", Grade.ERROR),
        (":hardness core:pattern '[' .", "pattern", Grade.ERROR),
        (f":Granite rdfs:label '{'x' * 100_000}'@en .", "long-label", Grade.WARNING),
    ],
)  # fmt: skip
def test_each_fault_of_structure_is_found(tmp_path: Path, text: str, kind: str, grade: Grade) -> None:
    assert (kind, grade) in kinds(tmp_path, ROCKS + text)


def test_issues_name_the_nearest_term_and_stay_one_line(tmp_path: Path) -> None:
    text = ROCKS + f":Slate a owl:Class ; rdfs:label '{'很' * 5000}'@zh ; rdfs:subClassOf :Granit ."
    loaded = packs.load([str(written(tmp_path, text))], folder=tmp_path)
    issues = structural(loaded.ontology, loaded.triples)
    (slip,) = [issue for issue in issues if issue.kind == "undeclared"]
    assert slip.message.endswith("did you mean https://example.org/rocks#Granite?")
    assert all("\n" not in issue.message and len(issue.message) < 400 for issue in issues)


def test_unused_terms_are_pointed_out_where_there_is_data(tmp_path: Path) -> None:
    loaded = packs.load([str(written(tmp_path, ROCKS))], folder=tmp_path)
    granite = next(iri for iri in loaded.ontology.classes if iri.value.endswith("Granite"))
    issues = structural(loaded.ontology, loaded.triples, used=frozenset({granite}))
    assert [(issue.kind, issue.term) for issue in issues] == [("unused", "https://example.org/rocks#hardness")]


@pytest.mark.parametrize("name", packs.shipped())
def test_the_shipped_ontologies_have_no_error(name: str, tmp_path: Path) -> None:
    loaded = packs.load([name], folder=tmp_path)
    assert [i for i in structural(loaded.ontology, loaded.triples) if i.grade is Grade.ERROR] == []


@needs_java
def test_the_reasoner_names_classes_that_can_have_no_member(run: Run, tmp_path: Path) -> None:
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
def test_a_reasoner_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    loaded = packs.load(["travel"], folder=tmp_path)
    assert "stopped after 0.05 s" in (reason(loaded.triples, timeout_seconds=0.05).skipped or "")


@pytest.mark.usefixtures("no_reasoner")
def test_without_java_the_structure_is_checked_and_said_so(run: Run, tmp_path: Path) -> None:
    status, out, err = run("ontology", "check", written(tmp_path, ROCKS))
    assert (status, out) == (0, "")
    assert "no Java on the PATH" in err


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.ttl", b"", "is empty"),
        ("wrong.docx", b"x", "has the suffix .docx"),
        ("broken.ttl", b"this is no Turtle", "line 1"),
        ("latin.ttl", '<http://x/a> a "é" .'.encode("latin-1"), "latin.ttl"),
    ],
)
@pytest.mark.parametrize("action", ["check", "draft"])
def test_what_is_no_ontology_gets_one_line(
    run: Run, tmp_path: Path, action: str, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    status, out, err = run("ontology", action, name)
    assert status == 1
    assert out == ""
    assert err.count("\n") == 1
    if action == "check":
        assert words in err


@pytest.mark.usefixtures("no_reasoner")
def test_a_byte_order_mark_does_not_stop_a_check_or_a_draft(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bom.ttl").write_bytes(b"\xef\xbb\xbf" + (PREFIXES + ROCKS).encode())
    assert run("ontology", "check", "bom.ttl")[0] == 0
    (tmp_path / "bom.csv").write_bytes("\ufeffname,price\nA,1\nB,2\n".encode())
    status, out, _ = run("ontology", "draft", "bom.csv")
    assert status == 0
    assert "\ufeff" not in out


def test_the_tree_counts_things_and_ends_on_cycles(run: Run, tmp_path: Path) -> None:
    ontology = written(tmp_path, ROCKS)
    with KnowledgeGraph.create(tmp_path / "w", ontology=str(ontology)) as kg:
        data = PREFIXES + ":a a :Granite . :b a :Granite, :Rock . :c a :Rock ."
        kg.dataset.state(quad.triple for quad in parse(data.encode(), format=RdfFormat.TURTLE))
    status, out, _ = run("ontology", "-w", tmp_path / "w")
    assert status == 0
    assert out.splitlines() == ["rock  3", "    · hardness", "  granite  2"]
    loaded = packs.load([str(written(tmp_path, ROCKS + ":Rock rdfs:subClassOf :Granite ."))], folder=tmp_path)
    assert sorted({branch.label for branch in class_tree(loaded.ontology, {})}) == ["granite", "rock"]


def test_a_difference_tells_renamed_from_removed_and_what_it_breaks(run: Run, tmp_path: Path) -> None:
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


def test_diff_and_draft_say_what_they_need(run: Run) -> None:
    assert "needs two ontologies" in run("ontology", "diff", "travel")[2]
    assert run("ontology", "draft", "a", "b")[0] == 2
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


def test_a_draft_from_a_table_reads_types_off_the_values(run: Run, tmp_path: Path) -> None:
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


def test_a_draft_from_rdf_finds_classes_ends_and_hierarchy(run: Run, tmp_path: Path) -> None:
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


def test_a_draft_of_untyped_data_and_of_odd_columns_still_passes(run: Run, tmp_path: Path) -> None:
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
    terms = {term.iri.value.split("#")[1] for term in draft_file(tmp_path / "odd.csv").properties}
    assert {"x2nd", "aB", "aB2"} <= terms


def test_a_draft_of_a_workspace_is_of_its_data(run: Run, tmp_path: Path) -> None:
    with KnowledgeGraph.create(tmp_path / "w", ontology=str(written(tmp_path, ROCKS))) as kg:
        data = PREFIXES + ":a a :Meteorite ; rdfs:label 'a'@en ; :mass 6.5 ."
        kg.dataset.state(quad.triple for quad in parse(data.encode(), format=RdfFormat.TURTLE))
    status, out, err = run("ontology", "draft", "-w", tmp_path / "w")
    assert status == 0
    assert "rocks#Meteorite" in out
    assert "Granite" not in out
    assert "1 classes and 1 properties" in err
