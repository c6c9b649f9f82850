"""The pages of communities and retrieval, without scripts, in both languages."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from pyoxigraph import Literal, NamedNode, Triple
from small_graph import EVIL, SmallGraph, small_graph

from kgplatform.retrieval import RETRIEVERS
from kgplatform.vocab import GEO
from kgplatform.web.app import create_app


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallGraph]:
    made = small_graph(tmp_path_factory.mktemp("studies"))
    made.find_communities()
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(graph: SmallGraph) -> FlaskClient:
    return create_app(graph).test_client()


def text(client: FlaskClient, address: str, status: int = 200) -> str:
    response = client.get(address, headers={"Accept": "text/html"})
    assert response.status_code == status, response.get_data(as_text=True)[:300]
    return response.get_data(as_text=True)


def table(client: FlaskClient, address: str) -> list[list[str]]:
    response = client.get(address)
    assert response.content_type == "text/csv; charset=utf-8"
    return list(csv.reader(io.StringIO(response.get_data(as_text=True).removeprefix("\ufeff"))))


def pictures(page: str) -> list[dict[str, object]]:
    return [json.loads(found) for found in re.findall(r'<script type="application/json">(.*?)</script>', page)]


@pytest.mark.parametrize(("language", "heading"), [("en", "Communities"), ("zh", "社群")])
def test_communities_are_a_tree_that_leads_to_reports(client: FlaskClient, language: str, heading: str) -> None:
    page = text(client, f"/communities?lang={language}")
    assert f"<h1>{heading}</h1>" in page
    addresses = re.findall(r'href="(/communities/[^"?]+)"', page)
    assert addresses
    one = text(client, f"{addresses[0]}?lang={language}")
    (picture,) = pictures(one)
    assert picture["nodes"]
    assert picture["edges"]
    assert "memberOf" in str(picture["query"])
    rows = table(client, f"{addresses[0]}?format=csv")
    assert len(rows) - 1 == len(picture["nodes"])  # type: ignore[arg-type]


def test_the_query_of_a_community_s_picture_gives_its_ties(client: FlaskClient, graph: SmallGraph) -> None:
    address = re.findall(r'href="(/communities/[^"?]+)"', text(client, "/communities"))[0]
    (picture,) = pictures(text(client, address))
    rows = graph.store.query(str(picture["query"])).rows
    pairs = {frozenset((row[0].value, row[2].value)) for row in rows}  # type: ignore[union-attr]
    edges = picture["edges"]
    assert isinstance(edges, list)
    assert {frozenset((edge["source"], edge["target"])) for edge in edges} <= pairs


def test_names_in_communities_stay_text(client: FlaskClient) -> None:
    pages = [text(client, "/communities")]
    pages += [text(client, address) for address in set(re.findall(r'href="(/communities/[^"?]+)"', pages[0]))]
    assert any("alert" in page for page in pages)
    assert not any(EVIL in page for page in pages)


def test_a_community_that_is_not_there_is_not_found(client: FlaskClient) -> None:
    assert "nothing-such" in text(client, "/communities/nothing-such", 404)


def test_a_report_is_marked_once_what_it_tells_has_changed(tmp_path: Path) -> None:
    graph = small_graph(tmp_path)
    try:
        graph.find_communities()
        client = create_app(graph).test_client()
        assert "out of date" not in text(client, "/communities")
        hotel, other = graph.entity("Lakeside Inn"), graph.entity("Canal House")
        graph.dataset.state([Triple(hotel, NamedNode(f"{GEO}near"), other)])
        page = text(client, "/communities")
        assert "out of date" in page
        assert "kgplatform communities --refresh" in page
    finally:
        graph.close()


@pytest.mark.parametrize(("language", "words"), [("en", "Steps of the walk"), ("zh", "遍历步骤")])
def test_a_walk_shows_its_steps_and_a_second_method_beside_it(client: FlaskClient, language: str, words: str) -> None:
    asked = "/retrieval?question=Which+hotel+has+rooms&retriever=query&against=lexical&k=3"
    page = text(client, f"{asked}&lang={language}")
    assert words in page
    heats = [picture for picture in pictures(page) if picture["kind"] == "heat"]
    assert len(heats) == 2
    assert all(-1 <= row["value"] <= 1 for heat in heats for row in heat["rows"])  # type: ignore[attr-defined]
    steps = table(client, f"{asked}&format=csv&table=steps-query")
    assert [row[0] for row in steps[1:]] == [str(n) for n in range(1, len(steps))]
    hits = table(client, f"{asked}&format=csv&table=hits-lexical")
    assert 1 <= len(hits) - 1 <= 3


@pytest.mark.parametrize("name", ["dense", "hybrid", "sentences", "pagerank", "basic-published"])
def test_other_methods_show_their_hits_with_scores(client: FlaskClient, name: str) -> None:
    page = text(client, f"/retrieval?question=西栅附近有哪些客栈&retriever={name}")
    assert name in RETRIEVERS
    assert "hits-" + name in page or "Nothing was found" in page


def test_the_form_is_there_without_a_question_and_wrong_names_say_so(client: FlaskClient) -> None:
    page = text(client, "/retrieval")
    assert all(f"<option>{name}</option>" in page or f"<option selected>{name}</option>" in page for name in RETRIEVERS)
    assert "did you mean" in text(client, "/retrieval?question=a&retriever=denes", 400)
    assert text(client, "/retrieval?question=a&k=99999999")
    attack = text(client, "/retrieval?question=%3Cscript%3Ealert(1)%3C/script%3E")
    assert "<script>alert" not in attack


def test_labels_in_both_languages_are_told_by_the_reader_s(client: FlaskClient, graph: SmallGraph) -> None:
    graph.dataset.state(
        [
            Triple(
                graph.entity("Lakeside Inn"),
                NamedNode("http://www.w3.org/2000/01/rdf-schema#label"),
                Literal("湖畔客栈", language="zh"),
            )
        ]
    )
    addresses = set(re.findall(r'href="(/communities/[^"?]+)"', text(client, "/communities")))
    assert any("湖畔客栈" in text(client, f"{address}?lang=zh") for address in addresses)
