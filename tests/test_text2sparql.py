"""The interface of the TEXT2SPARQL challenge, over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgplatform.graph import KnowledgeGraph
from kgplatform.web.app import create_app

_DATASET = "https://challenge.example/2025/corporate/"
_STONES = """
@prefix : <http://stones.test/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://stones.test/> a owl:Ontology .
:Stone a owl:Class ; rdfs:label "stone"@en , "石头"@zh .
:hardness a owl:DatatypeProperty ; rdfs:label "hardness"@en , "硬度"@zh ; rdfs:domain :Stone ; rdfs:range xsd:integer .
:quartz a :Stone ; rdfs:label "Quartz"@en , "石英"@zh ; :hardness 7 .
:talc a :Stone ; rdfs:label "Talc"@en , "滑石"@zh ; :hardness 1 .
"""


@pytest.fixture(scope="module")
def stones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("t2s")
    source = folder / "stones.ttl"
    source.write_text(_STONES, encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology=str(source)) as kg:
        kg.load(source)
    return folder / "kg"


@pytest.mark.parametrize("question", ["What is the hardness of Quartz?", "石英的硬度是多少？"])
def test_a_challenge_client_gets_a_query_that_answers_the_question(stones: Path, question: str) -> None:
    with KnowledgeGraph.open(stones) as kg:
        client = create_app(kg).test_client()
        got = client.get("/", query_string={"dataset": _DATASET, "question": question})
        assert got.status_code == 200
        reply = got.get_json()
        assert reply["dataset"] == _DATASET
        assert reply["question"] == question
        assert [[term.value for term in row] for row in kg.query(reply["query"]).rows] == [["7"]]


def test_a_question_about_nothing_in_the_graph_gets_no_query(stones: Path) -> None:
    with KnowledgeGraph.open(stones) as kg:
        client = create_app(kg).test_client()
        got = client.get("/", query_string={"dataset": _DATASET, "question": "Who won the Formula 1 season in 1988?"})
        assert got.status_code == 422
        assert got.content_type.startswith("application/problem+json")


def test_only_the_named_data_sets_are_served_where_some_are_named(stones: Path) -> None:
    settings = stones / "kgplatform.toml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(f'{text}\n[server]\ndatasets = ["{_DATASET}"]\n', encoding="utf-8")
    try:
        with KnowledgeGraph.open(stones) as kg:
            client = create_app(kg).test_client()
            asked = {"question": "What is the hardness of Talc?"}
            assert client.get("/", query_string=asked | {"dataset": _DATASET}).status_code == 200
            refused = client.get("/", query_string=asked | {"dataset": "https://challenge.example/other/"})
            assert refused.status_code == 404
            assert _DATASET in refused.get_data(as_text=True)
    finally:
        settings.write_text(text, encoding="utf-8")


def test_an_empty_or_endless_question_is_refused(stones: Path) -> None:
    with KnowledgeGraph.open(stones) as kg:
        client = create_app(kg).test_client()
        assert client.get("/", query_string={"dataset": _DATASET}).status_code == 400
        assert client.get("/", query_string={"dataset": _DATASET, "question": "x" * 1001}).status_code == 400
