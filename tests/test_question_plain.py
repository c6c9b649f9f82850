"""Questions whose direction is told by the order of the words: papers cite papers, courses require courses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kgplatform import KnowledgeGraph
from kgplatform.building.asking import AskOptions

PAPERS = """
@prefix a: <https://w3id.org/kgplatform/academic#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix e: <https://example.org/kg/id/> .
e:p1 a a:Paper ; rdfs:label "Moss on Roofs"@en, "屋顶苔藓"@zh ; a:cites e:p2 .
e:p2 a a:Paper ; rdfs:label "Rain in Gutters"@en, "檐沟之雨"@zh ; a:cites e:p3 .
e:p3 a a:Paper ; rdfs:label "Slate and Clay"@en, "石板与黏土"@zh .
e:p4 a a:Paper ; rdfs:label "Lichen Clocks"@en, "地衣之钟"@zh ; a:cites e:p2 .
e:a1 a a:Author ; rdfs:label "Ida Holm"@en , "伊达"@zh . e:a2 a a:Author ; rdfs:label "Per Aas"@en , "佩尔"@zh .
e:a3 a a:Author ; rdfs:label "Siv Moe"@en , "西芙"@zh .
e:p1 a:authoredBy e:a1 , e:a2 . e:p4 a:authoredBy e:a3 .
e:d1 a a:Institution ; rdfs:label "苔原大学"@zh . e:d2 a a:Institution ; rdfs:label "河口大学"@zh .
e:a1 a:affiliatedWith e:d1 . e:a2 a:affiliatedWith e:d2 .
e:c1 a a:Course ; rdfs:label "Roofing Basics"@en, "屋面基础"@zh ; a:courseCode "RB1001" .
e:c2 a a:Course ; rdfs:label "Thatching"@en, "茅草屋顶"@zh ; a:courseCode "TH1002" ; a:hasPrerequisite e:c1 .
e:c3 a a:Course ; rdfs:label "Steep Roofs"@en, "陡屋面"@zh ; a:courseCode "SR1003" ; a:hasPrerequisite e:c2 .
"""


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    folder: Path = tmp_path_factory.mktemp("papers")
    (folder / "papers.ttl").write_text(PAPERS, encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology=["academic"]) as kg:
        kg.load(folder / "papers.ttl")
        yield kg


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("Which papers cite Rain in Gutters?", {"Moss on Roofs", "Lichen Clocks"}),
        ("What cites Rain in Gutters?", {"Moss on Roofs", "Lichen Clocks"}),
        ("Which papers does Rain in Gutters cite?", {"Slate and Clay"}),
        ("What does Moss on Roofs cite?", {"Rain in Gutters"}),
        ("What are the references of Moss on Roofs?", {"Rain in Gutters"}),
        ("Rain in Gutters is cited by which papers?", {"Moss on Roofs", "Lichen Clocks"}),
        ("哪些论文引用了檐沟之雨？", {"屋顶苔藓", "地衣之钟"}),
        ("檐沟之雨引用了哪些论文？", {"石板与黏土"}),
        ("屋顶苔藓的参考文献是什么？", {"檐沟之雨"}),
        ("Who are Ida Holm's coauthors?", {"Per Aas"}),
        ("Who are the co-authors of Ida Holm?", {"Per Aas"}),
        ("What are the prerequisites of Thatching?", {"Roofing Basics"}),
        ("Is Roofing Basics a prerequisite of Thatching?", {"Yes"}),
        ("Is Thatching a prerequisite of Roofing Basics?", {"No"}),
        ("屋面基础是茅草屋顶的先修课程吗？", {"是"}),
        ("茅草屋顶是屋面基础的先修课程吗？", {"否"}),
        ("Does Moss on Roofs cite Rain in Gutters?", {"Yes"}),
        ("Does Rain in Gutters cite Moss on Roofs?", {"No"}),
        ("Which courses require Thatching?", {"Steep Roofs"}),
        ("What can I take after Roofing Basics?", {"Thatching"}),
        ("What do I need before taking Thatching?", {"Roofing Basics"}),
        ("茅草屋顶的先修课程是什么？", {"屋面基础"}),
        ("哪些课程需要先修茅草屋顶？", {"陡屋面"}),
    ],
)
def test_the_order_of_the_words_says_who_does_it_to_whom(
    papers: KnowledgeGraph, question: str, things: set[str]
) -> None:
    answer = papers.ask(question, options=AskOptions(using="builtin"))
    assert set(answer.values) == things, answer.query


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("苔大有哪些作者？", {"伊达"}),  # the first character, and the first of what it is
        ("矛草屋顶的先修课程是什么？", {"屋面基础"}),  # another character that is read alike
    ],
)
def test_chinese_names_are_found_by_short_forms_and_by_how_they_are_read(
    papers: KnowledgeGraph, question: str, things: set[str]
) -> None:
    answer = papers.ask(question, options=AskOptions(using="builtin"))
    assert set(answer.values) == things, answer.query
