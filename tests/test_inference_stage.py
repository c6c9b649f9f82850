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
    assert "because (symmetric: near · type · " in shown
    assert "The Riverside Hotel is near Xizha." in shown
    assert main(["why", f"{BASE}y", "geo:near", "水边客栈", "-w", str(workspace), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rule"], found["premises"][0]["origins"]) == ("symmetric", ["asserted"])
    assert main(["why", "Xizha", "nearr", "Wuzhen", "-w", str(workspace)]) == 1
    assert "did you mean 'near'?" in capsys.readouterr().err
    assert main(["build", "--only", "infer", "-w", str(workspace)]) == 0
    assert "conclusions, 0 new, 0 gone" in capsys.readouterr().out


def _written(path: Path, turtle: str) -> Path:
    prefixes = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in {**NAMESPACES, "kg": BASE}.items())
    path.write_text(prefixes + turtle, encoding="utf-8")
    return path
