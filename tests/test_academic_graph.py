"""What the graph of the academic samples and of abstracts with bylines holds, built without a model and queried."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from kgplatform.graph import KnowledgeGraph
from kgplatform.testing import HashEmbedder

SAMPLES = Path(__file__).resolve().parent.parent / "examples" / "academic"
COURSES = ("sf1624", "sf1625", "sk1120", "dt1175", "dt2213")
PAPERS = ("attention-is-all-you-need.pdf", "transformer-transducer.pdf", "cumulative-attention.pdf")
ABSTRACTS = {
    "moss.txt": (
        "Counting Moss at Dawn\n\nYlva Öberg-Lind, Tomás de la Vega\nMOSSCON 2011\n\nAbstract\n"
        "Let N be the number of tufts and A the matrix of their distances. Counting costs N^2 steps.\n"
    ),
    "fern.txt": (
        "Ferns on Walls\n\nTomás de la Vega, Wen-chi Hsu\nFERNCON 2012\n\nAbstract\n"
        "We write N for the number of walls and A for their area. The area A grows with N.\n"
    ),
    "青苔.txt": "青苔的分布规律研究\n\n欧阳晓月、李可\n苔藓学报 2019\n\n摘要\n设 N 为青苔数，矩阵 A 表示距离。\n",
}
PREFIXES = (
    "PREFIX academic: <https://w3id.org/kgplatform/academic#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
)


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("academic")
    for name, text in ABSTRACTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    files = [SAMPLES / "courses" / f"{name}.html" for name in COURSES]
    files += [*(SAMPLES / "papers" / name for name in PAPERS), *(folder / name for name in ABSTRACTS)]
    with (
        patch.object(KnowledgeGraph, "embedder", HashEmbedder(64)),
        KnowledgeGraph.create(folder / "kg", ontology=["academic"]) as kg,
    ):
        failed = [item.error for item in kg.add(*files) if item.error]
        assert not failed
        yield kg


def rows(kg: KnowledgeGraph, query: str) -> list[tuple[str, ...]]:
    found = kg.query(PREFIXES + query).rows
    return sorted(tuple(str(getattr(term, "value", "")) for term in row) for row in found)


def test_one_path_gives_the_whole_chain_of_prerequisites(kg: KnowledgeGraph) -> None:
    found = rows(
        kg,
        """SELECT DISTINCT (STR(?name) AS ?text) { ?course rdfs:label ?own FILTER(STR(?own) = "DT2213")
           ?course academic:hasPrerequisite+/rdfs:label ?name }""",
    )
    assert found == [("DT1175",), ("SF1624",), ("SF1625",), ("SK1120",)]


def test_three_papers_cite_one_another_in_a_triangle(kg: KnowledgeGraph) -> None:
    found = rows(
        kg,
        """SELECT DISTINCT ?first ?second ?third {
             ?a academic:cites ?b , ?c . ?b academic:cites ?c .
             ?a rdfs:label ?first . ?b rdfs:label ?second . ?c rdfs:label ?third }""",
    )
    assert any(
        "Cumulative Attention" in first and "Transducer" in second and third == "Attention Is All You Need"
        for first, second, third in found
    ), found


def test_every_author_wrote_something(kg: KnowledgeGraph) -> None:
    authors = rows(kg, "SELECT DISTINCT ?name { ?thing a academic:Author ; rdfs:label ?name }")
    idle = rows(
        kg,
        """SELECT DISTINCT ?name { ?thing a academic:Author ; rdfs:label ?name
           FILTER NOT EXISTS { ?work academic:authoredBy ?thing } }""",
    )
    assert {("Tomás de la Vega",), ("Wen-chi Hsu",), ("李可",)} <= set(authors)
    assert idle == []


def test_an_author_of_two_papers_is_one(kg: KnowledgeGraph) -> None:
    found = rows(
        kg,
        """SELECT ?title { ?work academic:authoredBy ?who ; rdfs:label ?title .
           ?who rdfs:label ?name FILTER(STR(?name) = "Tomás de la Vega") }""",
    )
    assert found == [("Counting Moss at Dawn",), ("Ferns on Walls",)]


def test_symbols_of_different_papers_are_no_common_things(kg: KnowledgeGraph) -> None:
    assert rows(kg, 'SELECT ?thing { ?thing rdfs:label ?name FILTER(REGEX(STR(?name), "^[A-Za-z]$")) }') == []
