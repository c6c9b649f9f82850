"""A workspace's graph as retrievers see it, and searching a workspace by things, relations and communities."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kgplatform.building.gathering import kept
from kgplatform.cli.main import main
from kgplatform.graph import KnowledgeGraph
from kgplatform.retrieval.knowledge import Knowledge, Thing
from kgplatform.testing import HashEmbedder

WEST = "Xizha is an attraction in Wuzhen. The Riverside Hotel is near Xizha. #canal\n"
EAST = "Dongzha is an attraction in Wuzhen. The Dongzha Teahouse is near Dongzha. #canal\n"
CHINESE = "西栅位于乌镇。枕水酒店位于西栅附近，适合家庭。\n"


def filled(folder: Path) -> KnowledgeGraph:
    for name, text in {"west.txt": WEST, "east.md": EAST, "zh.txt": CHINESE}.items():
        (folder / name).write_text(text, encoding="utf-8")
    graph = KnowledgeGraph.create(folder / "workspace", ontology="travel")
    graph.__dict__["embedder"] = HashEmbedder(128)
    list(graph.add(*sorted(folder.glob("*.*"))))
    return graph


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    with filled(tmp_path_factory.mktemp("read")) as graph:
        graph.find_communities()
        yield graph


def test_things_have_their_names_class_place_and_passages(kg: KnowledgeGraph) -> None:
    known = kg.sources.knowledge()
    labels = {thing.label: thing for thing in known.things}
    xizha = next(thing for thing in known.things if "Xizha" in thing.names)
    assert xizha.kind
    assert set(xizha.passages) <= {passage.iri for passage in kg.sources.passages()}
    assert xizha.passages
    near = [relation for relation in known.relations if "Xizha" in relation.text and relation.passages]
    assert near
    assert {relation.subject for relation in known.relations} <= {thing.iri for thing in known.things}
    assert not {"hotel", "Hotel", "located in"} & labels.keys()  # the ontology's terms are no things


def test_what_lies_in_another_is_told_step_by_step(kg: KnowledgeGraph) -> None:
    xizha = next(thing for thing in kg.sources.knowledge().things if "Xizha" in thing.names)
    assert any("Wuzhen" in above or "乌镇" in above for above in xizha.above)


def canal(kg: KnowledgeGraph) -> tuple[str, ...]:
    (found,) = [k.passages for k in kg.sources.knowledge().keywords if k.text.casefold() == "canal"]
    return found


def test_a_keyword_has_all_its_passages_however_often_a_document_is_added_and_loses_those_removed(
    tmp_path: Path,
) -> None:
    with filled(tmp_path) as kg:
        assert len(canal(kg)) == 2
        before = kg.sources.knowledge()
        list(kg.add(tmp_path / "west.txt"))
        assert kg.sources.knowledge().state == before.state
        gone = {c.iri.value for c in kg.registry.chunks(kg.registry.find("west.txt").document.iri)}
        kg.remove("west.txt")
        assert len(canal(kg)) == 1
        known = kg.sources.knowledge()
        assert not gone & {passage for item in (*known.things, *known.relations) for passage in item.passages}


@pytest.mark.parametrize("name", ["greedy", "dual-level", "pagerank", "pagerank-stated", "router", "planning"])
@pytest.mark.parametrize("question", ["What is near Xizha?", "西栅附近有什么酒店？"])
def test_a_workspace_is_searched_by_its_graph(kg: KnowledgeGraph, name: str, question: str) -> None:
    found = kg.search(question, 3, retriever=name)
    assert found
    assert any("Xizha" in evidence.quote or "西栅" in evidence.quote for evidence in found)


def test_rows_of_the_workspaces_own_answers_lead_to_passages(kg: KnowledgeGraph) -> None:
    question = "Which attractions are in Wuzhen?"
    answer = kg.ask(question)
    found = kg.search(question, 5, retriever="sparql")
    assert answer.values
    assert {evidence.source.rpartition("/")[2] for evidence in found} <= {"west.txt", "east.md", "zh.txt"}
    assert found


def test_reports_are_found_as_evidence_of_their_own(kg: KnowledgeGraph) -> None:
    found = kg.search("Wuzhen", 3, retriever="communities")
    assert found
    assert {evidence.source for evidence in found} == {"communities"}
    assert all(evidence.quote.startswith(evidence.title) for evidence in found)


def test_the_graph_is_gathered_once_for_a_version_and_is_the_same_object_while_it_is_the_same() -> None:
    version, made = [1], []

    def make() -> Knowledge:
        made.append(version[0])
        return Knowledge((Thing("urn:a", "a"),))

    given = kept(lambda: version[0], make)
    first = given()
    assert given() is first
    version[0] = 2
    assert given() is first
    assert made == [1, 2]


def test_search_draws_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with filled(tmp_path) as kg:
        kg.search("What is near Xizha?", 3, retriever="dual-level", plot=tmp_path / "answer.svg")
    assert (tmp_path / "answer.svg").stat().st_size > 1_000
    search = ["search", "西栅", "-w", str(tmp_path / "workspace"), "--retriever", "lexical", "--plot"]
    assert main([*search, str(tmp_path / "x.bmp")]) == 2
    assert "no picture format" in capsys.readouterr().err
