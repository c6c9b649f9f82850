"""Bad ontology files: each one clear line, and nothing left behind."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kgplatform import packs
from kgplatform.cli.main import main
from kgplatform.graph import KnowledgeGraph
from kgplatform.ontologies import reasoner
from kgplatform.ontologies.issues import Grade
from kgplatform.ontologies.reasoner import reason
from kgplatform.ontologies.structure import structural

HEAD = (
    "@prefix : <https://example.org/rocks#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
)
BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
)
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str | Path) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return command


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("empty.ttl", b"", "is empty"),
        ("blank.owl", b"\xef\xbb\xbf \n", "is empty"),
        ("page.owl", b"<!doctype html>\n<html><body>404</body></html>", "is an HTML page"),
        ("page.ttl", b"\n<html lang='en'>", "is an HTML page"),
        ("xhtml.rdf", b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "x" "y"><html/>', "is an HTML page"),
        ("data.ttl", b"<urn:a> <urn:b> <urn:c> .", "declares no owl:Class"),
        ("f.ofn", b"Prefix(:=<urn:a>)", "OWL functional syntax, which nothing here reads; save it"),
        ("f.owl", b"# x\nOntology(<urn:a>\n)", "OWL functional syntax"),
        ("m.omn", b"", "Manchester syntax"),
        ("m.owl", b"Prefix: a: <urn:a>\nClass: a:B\n", "Manchester syntax"),
        ("o.obo", b"format-version: 1.2\n", "OBO format"),
        ("wide.ttl", "@prefix a: <urn:a> . a:b".encode("utf-16"), "wide.ttl: line 1"),
        ("cut.ttl", b"\xff\xfe\x00", "is not the utf-16"),
        ("latin.ttl", '<urn:a> <urn:b> "é" .'.encode("latin-1"), "latin.ttl"),
        ("odd.rdf", b'<?xml version="1.0" encoding="klingon"?><a/>', "declares the encoding klingon"),
        ("bomb.rdf", f"{BOMB}]><x>&j;</x>".encode(), "DOCTYPE with more than plain entities"),
        ("bomb.owx", f'{BOMB}]><Ontology xmlns="http://www.w3.org/2002/07/owl#">&j;</Ontology>'.encode(), "DOCTYPE"),
        ("grow.rdf", b'<!DOCTYPE x [<!ENTITY a "' + b"a" * 9000 + b'">]><x>' + b"&a;" * 30000 + b"</x>", "would grow"),
        ("far.rdf", b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>', "DOCTYPE that refers to other files"),
        ("ent.rdf", b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>', "DOCTYPE"),
        ("par.rdf", b'<!DOCTYPE x [<!ENTITY % a "b"> %a;]><x/>', "DOCTYPE"),
        ("cut.owx", b'<Ontology xmlns="http://www.w3.org/2002/07/owl#"><Class', "cut.owx: line 1"),
        ("odd.owx", b'<Ontology xmlns="http://www.w3.org/2002/07/owl#"><SubClassOf/></Ontology>', "not read as OWL"),
        ("other.owx", b"<Thing/>", "its root is Thing"),
        ("a.docx", b"x", "has the suffix .docx"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_ontology_is_one_line_and_no_workspace(
    run: Run, tmp_path: Path, name: str, data: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(data)
    for command in (("create", "w", "--ontology", name), ("ontology", "check", name)):
        status, out, err = run(*command)
        assert (status, out, err.count("\n")) == (1, "", 1)
        assert words in err
    assert not (tmp_path / "w").exists()


def test_a_folder_a_missing_file_and_a_pipe_are_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe.ttl")
    for name, words in (("folder", "is a folder"), ("nowhere.ttl", "no such file"), ("pipe.ttl", "no ordinary file")):
        status, out, err = run("create", "w", "--ontology", name)
        assert (status, out, err.count("\n")) == (1, "", 1)
        assert words in err
    assert not (tmp_path / "w").exists()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="whoever is root may read everything")
def test_a_file_that_may_not_be_read_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "secret.ttl").write_text(HEAD)
    (tmp_path / "secret.ttl").chmod(0)
    status, _, err = run("create", "w", "--ontology", "secret.ttl")
    assert (status, err.count("\n")) == (1, 1)
    assert "cannot be read" in err


def test_a_file_that_is_too_large_is_refused_before_it_is_read(run: Run, tmp_path: Path) -> None:
    with (tmp_path / "huge.ttl").open("wb") as file:
        file.truncate(packs.LARGEST + 1)
    status, _, err = run("create", "w", "--ontology", "huge.ttl")
    assert (status, err.count("\n")) == (1, 1)
    assert "ontologies of up to 200 MB are read" in err


def test_an_ontology_that_fails_late_leaves_the_folder_as_it_was(run: Run, tmp_path: Path) -> None:
    for place in ("x", "y"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "a.ttl").write_text(f"{HEAD}:{place} a owl:Class .")
    (tmp_path / "there").mkdir()
    status, _, err = run("create", "there", "--ontology", "x/a.ttl", "--ontology", "y/a.ttl")
    assert (status, err.count("\n")) == (1, 1)
    assert "has the same name" in err
    assert list((tmp_path / "there").iterdir()) == []


def test_a_disk_that_refuses_leaves_nothing_half_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.ttl").write_text(f'{HEAD}:A a owl:Class ; rdfs:label "a" .')

    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("kgplatform.config.write", full)
        status, _, err = run("create", "w", "--ontology", "a.ttl")
    assert (status, err.count("\n")) == (2, 1)
    assert "No space left" in err
    assert not (tmp_path / "w").exists()
    assert run("create", "w", "--ontology", "a.ttl")[0] == 0


def test_imports_and_classes_that_run_in_circles_end(run: Run, tmp_path: Path) -> None:
    for one, other in ("ab", "bc", "ca"):
        text = f"<urn:{one}> a owl:Ontology ; owl:imports <urn:{other}> , <urn:{one}> .\n"
        text += f':{one} a owl:Class ; rdfs:label "{one}" ; rdfs:subClassOf :{other} .'
        (tmp_path / f"{one}.ttl").write_text(HEAD + text)
    assert run("create", "w", "--ontology", "a.ttl")[0] == 0
    with KnowledgeGraph.open(tmp_path / "w") as kg:
        assert len(kg.ontology.classes) == 3
        issues = structural(kg.ontology, kg.loaded.triples)
    (cycle,) = [issue for issue in issues if issue.kind == "cycle"]
    assert "one class under several names" in cycle.message
    status, out, _ = run("ontology", "-w", "w")
    assert (status, out.count("\n"), out.count("(see above)")) == (0, 4, 1)


@pytest.mark.parametrize(
    ("text", "kind", "term"),
    [
        (":p a owl:ObjectProperty ; rdfs:domain [ owl:unionOf ( :A :Bb ) ] .", "undeclared", "Bb"),
        (":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :q ; owl:someValuesFrom :A ] .", "undeclared", "q"),
        (":q a owl:ObjectProperty . :A rdfs:subClassOf [ owl:onProperty :q ; owl:allValuesFrom :Gone ] .",
         "undeclared", "Gone"),
        (":A owl:hasKey ( :code ) .", "undeclared", "code"),
        (":C a owl:Class ; rdfs:label 'c' ; rdfs:subClassOf :A , :B . :A owl:disjointWith :B .", "unsatisfiable", "C"),
        (":p a owl:ObjectProperty , owl:DatatypeProperty ; rdfs:label 'p' .", "punning", "p"),
        (":p a owl:ObjectProperty ; rdfs:label 'alpha' ; rdfs:domain :B ; rdfs:range :B .", "word-clash", "p"),
        (":D a owl:Class ; rdfs:label 'alpha' .", "word-clash", "A"),
    ],
)  # fmt: skip
def test_slips_and_contradictions_are_found_without_a_reasoner(tmp_path: Path, text: str, kind: str, term: str) -> None:
    base = ":A a owl:Class ; rdfs:label 'alpha' . :B a owl:Class ; rdfs:label 'beta' .\n"
    (tmp_path / "a.ttl").write_text(HEAD + base + text)
    loaded = packs.load(["a.ttl"], folder=tmp_path)
    found = {(issue.kind, issue.term.rpartition("#")[2]) for issue in structural(loaded.ontology, loaded.triples)}
    assert (kind, term) in found


def test_a_declared_datatype_is_no_undeclared_class(tmp_path: Path) -> None:
    text = (
        ":A a owl:Class ; rdfs:label 'a' . :percent a rdfs:Datatype ; owl:equivalentClass "
        "[ owl:onDatatype xsd:integer ; owl:withRestrictions ( [ xsd:maxInclusive 100 ] ) ] .\n"
        ":p a owl:DatatypeProperty ; rdfs:label 'p' ; rdfs:domain :A ; rdfs:range :percent .\n"
        ":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:allValuesFrom :percent ] ."
    )
    (tmp_path / "a.ttl").write_text(HEAD + text)
    loaded = packs.load(["a.ttl"], folder=tmp_path)
    assert [i for i in structural(loaded.ontology, loaded.triples) if i.grade is Grade.ERROR] == []


def test_an_ontology_too_large_for_the_reasoner_is_only_checked_for_structure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reasoner.shutil, "which", lambda name: "/usr/bin/java")
    monkeypatch.setattr(reasoner, "MOST_TRIPLES", 10)
    loaded = packs.load(["travel"], folder=tmp_path)
    assert "too many for HermiT" in (reason(loaded.triples).skipped or "")


@pytest.mark.skipif(shutil.which("java") is None, reason="HermiT needs java on the PATH")
def test_a_reasoner_that_needs_more_memory_than_allowed_says_so(tmp_path: Path) -> None:
    loaded = packs.load(["travel"], folder=tmp_path)
    assert "needs more than 8 MB" in (reason(loaded.triples, memory_mb=8).skipped or "")
