"""Ontologies by name or file, with what they import."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyoxigraph import BlankNode, NamedNode

from kgplatform import packs
from kgplatform.errors import OntologyError
from kgplatform.vocab import CORE, GEO, TRAVEL

HEAD = "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"


def ontology(path: Path, iri: str, *imports: str, class_: str = "", more: str = "") -> Path:
    listed = "".join(f"<{iri}> owl:imports <{item}> .\n" for item in imports)
    name = class_ or f"{path.stem.title()}Thing"
    text = (
        f'{HEAD}<{iri}> a owl:Ontology .\n{listed}<https://example.org/o#{name}> a owl:Class ; rdfs:label "{name}"@en .'
    )
    path.write_text(f"{text}\n{more}", encoding="utf-8")
    return path


def test_the_shipped_ontologies_are_found_by_name_and_import_each_other(tmp_path: Path) -> None:
    assert {"core", "geo", "travel", "academic", "airport"} == set(packs.shipped())
    loaded = packs.load(["travel"], folder=tmp_path)
    assert {path.stem for path in loaded.files} == {"travel", "geo", "core"}
    for iri in (f"{TRAVEL}Hotel", f"{GEO}City", f"{CORE}Document"):
        assert NamedNode(iri) in loaded.ontology.classes
    assert loaded.unresolved == ()


def test_an_unknown_name_offers_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(OntologyError, match="did you mean travel"):
        packs.load(["travle"], folder=tmp_path)
    with pytest.raises(OntologyError, match="shipped are academic, airport"):
        packs.load(["zzzz"], folder=tmp_path)


def test_imports_are_found_among_the_neighbours_and_cycles_end(tmp_path: Path) -> None:
    ontology(tmp_path / "a.ttl", "https://example.org/a", "https://example.org/b")
    ontology(tmp_path / "b.ttl", "https://example.org/b", "https://example.org/a", "https://example.org/b")
    (tmp_path / "broken.ttl").write_text("<https://example.org/b> is no turtle")
    (tmp_path / "folder.ttl").mkdir()
    (tmp_path / "dangling.ttl").symlink_to(tmp_path / "nowhere")
    loaded = packs.load(["a.ttl"], folder=tmp_path)
    assert [path.name for path in loaded.files] == ["a.ttl", "b.ttl"]
    assert len(loaded.ontology.classes) == 2
    assert loaded.unresolved == ()


def test_an_import_that_no_file_declares_is_reported_and_never_fetched(tmp_path: Path) -> None:
    ontology(tmp_path / "a.ttl", "https://example.org/a", "https://example.org/elsewhere")
    assert packs.load(["a.ttl"], folder=tmp_path).unresolved == ("https://example.org/elsewhere",)


def test_an_import_that_is_given_from_another_folder_is_no_gap(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "y").mkdir()
    ontology(tmp_path / "x" / "a.ttl", "https://example.org/a", "https://example.org/b")
    ontology(tmp_path / "y" / "b.ttl", "https://example.org/b")
    assert packs.load(["x/a.ttl", "y/b.ttl"], folder=tmp_path).unresolved == ()


def test_files_and_their_imports_are_kept_in_the_workspace(tmp_path: Path) -> None:
    source, workspace = tmp_path / "source", tmp_path / "workspace"
    source.mkdir()
    ontology(source / "a.ttl", "https://example.org/a", "https://example.org/b", f"{CORE}")
    ontology(source / "b.ttl", "https://example.org/b")
    loaded = packs.load(["a.ttl", "geo"], folder=source)
    names = packs.keep(["a.ttl", "geo"], loaded, source=source, folder=workspace)
    assert names == ("ontology/a.ttl", "geo")
    kept = sorted(path.name for path in (workspace / "ontology").iterdir())
    assert kept == ["a.ttl", "b.ttl", "catalog-v001.xml"]
    again = packs.load(names, folder=workspace)
    assert set(again.triples) == set(loaded.triples)


def test_relative_iris_mean_the_same_in_the_copy(tmp_path: Path) -> None:
    source, workspace = tmp_path / "source", tmp_path / "workspace"
    source.mkdir()
    (source / "a.ttl").write_text(f"{HEAD}<> a owl:Ontology ; owl:imports <b.ttl> . <#A> a owl:Class .")
    (source / "b.ttl").write_text(f"{HEAD}<> a owl:Ontology . <#B> a owl:Class .")
    loaded = packs.load(["a.ttl"], folder=source)
    assert loaded.unresolved == ()
    names = packs.keep(["a.ttl"], loaded, source=source, folder=workspace)
    assert packs.load(names, folder=workspace).ontology.classes.keys() == loaded.ontology.classes.keys()
    assert len(loaded.ontology.classes) == 2


def test_two_files_of_one_name_do_not_overwrite_each_other(tmp_path: Path) -> None:
    for name in "xy":
        (tmp_path / name).mkdir()
        ontology(tmp_path / name / "same.ttl", f"https://example.org/{name}", class_=f"Class{name}")
    names = ["x/same.ttl", "y/same.ttl"]
    loaded = packs.load(names, folder=tmp_path)
    with pytest.raises(OntologyError, match="has the same name"):
        packs.keep(names, loaded, source=tmp_path, folder=tmp_path / "workspace")


def test_blank_nodes_become_the_same_iris_each_time(tmp_path: Path) -> None:
    union = "<urn:p> rdfs:domain [ owl:unionOf ( <https://example.org/o#A> <https://example.org/o#B> ) ] ."
    ontology(tmp_path / "a.ttl", "https://example.org/a", class_="A", more=union)
    first, second = (packs.load(["a.ttl"], folder=tmp_path).triples for _ in range(2))
    assert first == second
    assert not any(isinstance(term, BlankNode) for t in first for term in (t.subject, t.object))
    assert any("urn:kgplatform:node:" in str(t) for t in first)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.docx", b"", "has the suffix .docx; read are .ttl"),
        ("a.ttl", b"<urn:a> <urn:b>", "line 1"),
        ("a.ttl", b"<urn:a> <urn:b> <urn:c> .", "declares no owl:Class"),
        ("a.ttl", b"\xff\xfe\x00", "a.ttl"),
        ("a.owl", b'<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><x/>', "DOCTYPE"),
    ],
)
def test_a_file_that_is_no_ontology_is_refused_in_one_line(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(OntologyError, match=reason) as caught:
        packs.load([name], folder=tmp_path)
    assert "\n" not in str(caught.value)


def test_no_ontology_at_all_is_allowed(tmp_path: Path) -> None:
    loaded = packs.load([], folder=tmp_path)
    assert (loaded.triples, loaded.files, dict(loaded.ontology.classes)) == ((), (), {})
