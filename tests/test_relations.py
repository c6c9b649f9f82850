"""Relations across levels: the equation by hand, and that they come and go without touching what was read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyoxigraph import NamedNode

from kgplatform.config import FILE
from kgplatform.graph import KnowledgeGraph
from kgplatform.linking.relations import RELATED, Level, relation_triples, relations
from kgplatform.testing import HashEmbedder
from kgplatform.vocab import CORE

BASE = "https://example.org/kg/"


def thing(name: str) -> NamedNode:
    return NamedNode(f"{BASE}entity/{name}")


def level(**vectors: tuple[float, float]) -> Level:
    rows = np.array([np.array(v) / np.linalg.norm(v) for v in vectors.values()], dtype=np.float32)
    return Level(tuple(map(thing, vectors)), rows)


def test_things_are_related_from_the_threshold_on_with_the_degrees_as_rank() -> None:
    sights = level(lake=(1.0, 0.0), tower=(0.0, 1.0))
    inns = level(inn=(3.0, 4.0), hut=(1.0, 0.0))  # cosines: lake-inn .6, lake-hut 1, tower-inn .8, tower-hut 0
    degrees = {thing("lake"): 3, thing("tower"): 1, thing("inn"): 2}
    found = relations(sights, inns, degrees, threshold=0.6)
    told = [(r.source, r.target, r.similarity, r.rank) for r in found]
    assert told == [
        (thing("lake"), thing("hut"), 1.0, 3),
        (thing("lake"), thing("inn"), pytest.approx(0.6), 5),
        (thing("tower"), thing("inn"), pytest.approx(0.8), 3),
    ]
    assert [r.target for r in relations(sights, inns, degrees, threshold=0.7)] == [thing("hut"), thing("inn")]
    assert [r.target for r in relations(sights, inns, degrees, threshold=0.0, most=1)] == [thing("hut"), thing("inn")]


def test_nothing_is_related_to_itself_or_to_an_empty_level() -> None:
    sights = level(lake=(1.0, 0.0))
    assert relations(sights, sights, {}, threshold=0.0) == []
    assert relations(sights, Level((), np.zeros((0, 2), dtype=np.float32)), {}, threshold=0.0) == []


def test_a_relation_says_its_score_rank_and_method() -> None:
    (found,) = relations(level(lake=(1.0, 0.0)), level(inn=(3.0, 4.0)), {}, threshold=0.5)
    said = {triple.predicate.value.removeprefix(CORE): triple.object for triple in relation_triples([found], BASE)}
    assert said[RELATED.value] == thing("inn")
    assert (said["score"].value, said["rank"].value, said["method"].value) == ("0.6", "0", "content")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    note = tmp_path / "note.txt"
    note.write_text(
        "The Crane Garden is an attraction in Wuzhen. The Crane Garden Inn is a hotel in Wuzhen.\n"
        "仙鹤园是乌镇的景点。仙鹤园客栈是乌镇的酒店。\n",
        encoding="utf-8",
    )
    workspace = tmp_path / "workspace"
    with KnowledgeGraph.create(workspace, ontology="travel") as kg:
        kg.__dict__["embedder"] = HashEmbedder()
        list(kg.add(note))
        assert not kg.dataset.has_relations
    return workspace


def dump(workspace: Path) -> list[bytes]:
    with KnowledgeGraph.open(workspace) as kg:
        kg.__dict__["embedder"] = HashEmbedder()
        kg.build()
        assert kg.dataset.violations() == (frozenset(), frozenset())
        return sorted(kg.dump().splitlines())


def test_relations_come_with_the_setting_and_go_with_it(folder: Path) -> None:
    before = dump(folder)
    settings = folder / FILE
    plain = settings.read_text(encoding="utf-8")
    settings.write_text(f"{plain}\n[linking]\nrelations = 0.1\n", encoding="utf-8")
    related = dump(folder)
    made = [line for line in related if line not in before and b"skos/core#related" in line]
    assert any(b"graph/relations" in line for line in made)
    assert set(before) <= set(related)
    assert dump(folder) == related
    settings.write_text(plain, encoding="utf-8")
    assert dump(folder) == before
