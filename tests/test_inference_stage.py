"""Inference in a workspace: with documents that come and go, and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgplatform.cli.main import main
from kgplatform.graph import DEFAULT_BASE as BASE
from kgplatform.graph import KnowledgeGraph
from kgplatform.testing import HashEmbedder
from kgplatform.vocab import PREFIXES as NAMESPACES

WEST = "Xizha is an attraction in Wuzhen. The Riverside Hotel is near Xizha.\n"
EAST = "Dongzha is an attraction in Wuzhen. Wuzhen is located in Tongxiang.\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    KnowledgeGraph.create(folder, ontology="travel").close()
    with (folder / "kgplatform.toml").open("a", encoding="utf-8") as file:
        file.write("\n[inference]\nenabled = true\n")
    for name, text in {"west.txt": WEST, "east.txt": EAST}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return folder


def test_a_removed_document_takes_its_conclusions_along(workspace: Path, tmp_path: Path) -> None:
    with KnowledgeGraph.open(workspace) as kg:
        kg.__dict__["embedder"] = HashEmbedder()
        list(kg.add(tmp_path / "west.txt"))
        before = kg.dump()
        assert list(kg.store.quads(graph=kg.dataset.inferred))
        list(kg.add(tmp_path / "east.txt"))
        assert kg.dump() != before
        kg.remove("east.txt")
        assert kg.dump() == before
        assert kg.dataset.violations() == (frozenset(), frozenset())


def test_why_shows_the_passages_behind_a_conclusion(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with KnowledgeGraph.open(workspace) as kg:
        kg.__dict__["embedder"] = HashEmbedder()
        list(kg.add(tmp_path / "west.txt"))
        kg.load(_written(tmp_path / "mine.ttl", "kg:x a travel:Hotel ; rdfs:label '水边客栈'@zh ; geo:near kg:y ."))
        origins = {
            v.origins for fact in kg.show("Xizha").facts for v in fact.values if v.value.label == "Riverside Hotel"
        }
        assert origins == {("inferred",)}
    assert main(["why", "Xizha", "near", "Riverside Hotel", "-w", str(workspace)]) == 0
    shown = capsys.readouterr().out
    assert "because (symmetric: near)" in shown
    assert "The Riverside Hotel is near Xizha." in shown
    assert main(["why", f"{BASE}y", "geo:near", "水边客栈", "-w", str(workspace), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rule"], found["premises"][0]["origins"]) == ("symmetric", ["asserted"])
    assert main(["why", "Xizha", "nearr", "Wuzhen", "-w", str(workspace)]) == 1
    assert "did you mean 'near'?" in capsys.readouterr().err
    assert main(["build", "--only", "infer", "-w", str(workspace)]) == 0
    assert "conclusions, 0 new, 0 gone" in capsys.readouterr().out


TOWNS = """
@prefix : <https://example.org/t#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<https://example.org/t> a owl:Ontology .
:Area a owl:Class ; rdfs:label "area"@en, "地区"@zh .
:Town a owl:Class ; rdfs:subClassOf :Area ; rdfs:label "town"@en, "镇"@zh .
:in a owl:ObjectProperty, owl:TransitiveProperty ; rdfs:label "located in"@en, "位于"@zh ;
  rdfs:domain :Area ; rdfs:range :Area .
:holds a owl:ObjectProperty ; rdfs:label "contains"@en, "包含"@zh ; owl:inverseOf :in .
:up a owl:ObjectProperty ; rdfs:label "within reach of"@en, "通达"@zh ; owl:propertyChainAxiom (:in :in) .
"""


def test_why_follows_tables_and_texts_in_the_language_it_is_asked_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, ontology = tmp_path / "workspace", tmp_path / "towns-ontology.ttl"
    ontology.write_text(TOWNS, encoding="utf-8")
    KnowledgeGraph.create(folder, ontology=str(ontology)).close()
    with (folder / "kgplatform.toml").open("a", encoding="utf-8") as file:
        file.write("\n[inference]\nenabled = true\n")
    (tmp_path / "towns.csv").write_text("name,located in\n乌镇,桐乡\n", encoding="utf-8")
    (tmp_path / "note.txt").write_text("桐乡位于嘉兴。\n", encoding="utf-8")
    with KnowledgeGraph.open(folder) as kg:
        kg.__dict__["embedder"] = HashEmbedder()
        list(kg.add(tmp_path / "towns.csv"))
        list(kg.add(tmp_path / "note.txt"))
    capsys.readouterr()
    assert main(["why", "乌镇", "位于", "嘉兴", "-w", str(folder)]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "乌镇 · 位于 · 嘉兴",
        "因为 (传递属性: 位于)",
        "乌镇 · 位于 · 桐乡",
        "“乌镇,桐乡” — towns",
        "桐乡 · 位于 · 嘉兴",
        "“桐乡位于嘉兴。” — 桐乡位于嘉兴。",
    ]
    assert main(["why", "嘉兴", "包含", "乌镇", "-w", str(folder)]) == 0
    assert "因为 (逆属性: 包含 · 互逆于 · 位于)" in capsys.readouterr().out
    town, city = (kg_iri(folder, name) for name in ("乌镇", "嘉兴"))
    assert main(["why", town, "within reach of", city, "-w", str(folder)]) == 0
    assert (
        "because (chain: within reach of · property chain axiom · located in ∘ located in)" in capsys.readouterr().out
    )
    assert main(["why", town, "located in", city, "-w", str(folder), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [part["evidence"][0]["quote"] for part in found["premises"]] == ["乌镇,桐乡", "桐乡位于嘉兴。"]


def kg_iri(folder: Path, name: str) -> str:
    """The IRI of what is called so."""
    with KnowledgeGraph.open(folder) as kg:
        return kg.show(name).iri.value


def _written(path: Path, turtle: str) -> Path:
    prefixes = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in {**NAMESPACES, "kg": BASE}.items())
    path.write_text(prefixes + turtle, encoding="utf-8")
    return path
