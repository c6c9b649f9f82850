"""What pages get while they wait, and in whose language: names in pieces, steps as they are taken, documents apart."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from small_graph import EVIL, small_graph

from kgplatform.documents.registry import State
from kgplatform.graph import KnowledgeGraph
from kgplatform.questions.steps import Followed, GivenUpError, Stage, Step, go_on, tell
from kgplatform.testing import HashEmbedder
from kgplatform.web.app import JOBS, create_app
from kgplatform.web.jobs import Phase
from kgplatform.web.messages import MESSAGES, in_chinese
from kgplatform.web.overview import Lately
from kgplatform.web.results import Shown
from kgplatform.web.security import Access

HERE = {"Host": "127.0.0.1"}
NAME = "0123456789abcdef"
NOTE = "The Lakeside Inn in Wuzhen has 24 rooms. The Canal Hotel in Wuzhen has 12 rooms.\n"
BAD = "name,town,price_per_night,star_rating\nRiver Inn,Wuzhen,480,9\n"


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("live")
    (folder / "inns.txt").write_text(NOTE, encoding="utf-8")
    (folder / "hotels.csv").write_text(BAD, encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology="travel") as made:
        made.__dict__["embedder"] = HashEmbedder()
        list(made.add(folder / "inns.txt"))
        list(made.add(folder / "hotels.csv", policy="quarantine"))
        yield made


@pytest.fixture(scope="module")
def client(kg: KnowledgeGraph) -> FlaskClient:
    return create_app(kg, access=Access.on("127.0.0.1")).test_client()


def events(body: str) -> list[tuple[str, dict[str, object]]]:
    """The named events of a stream."""
    parts = [part.split("\n") for part in body.strip().split("\n\n") if part.startswith("event:")]
    return [(part[0].removeprefix("event: "), json.loads(part[1].removeprefix("data: "))) for part in parts]


def test_rows_beyond_the_first_come_without_names_which_are_told_on_request(tmp_path: Path) -> None:
    kg = small_graph(tmp_path, timeout_seconds=10)
    try:
        found = kg.store.query("SELECT ?h ?l WHERE { ?h a travel:Hotel ; rdfs:label ?l } ORDER BY ?h")
        whole = Shown(kg, Lately(kg), "en").rows(found)
        record = Shown(kg, Lately(kg), "en").rows(found, named=1)
        bare = [term for term in record["terms"] if term.get("b")]
        assert bare
        assert all(set(term) == {"k", "v", "b"} for term in bare)
        assert [column["kind"] for column in record["columns"]] == [column["kind"] for column in whole["columns"]]
        client = create_app(kg, access=Access.on("127.0.0.1")).test_client()
        told = client.post("/api/names", json={"iris": [term["v"] for term in bare]}, headers=HERE).get_json()
        known = {term["v"]: term["l"] for term in whole["terms"] if term["k"] == "thing"}
        assert [term["l"] for term in told["terms"]] == [known[term["v"]] for term in bare]
        assert all("c" not in term or told["classes"][term["c"]]["label"] for term in told["terms"])
        assert EVIL in {term["l"] for term in told["terms"]} | set(known.values())
        for wrong in ({}, {"iris": "x"}, {"iris": [1]}, {"iris": ["no iri"]}, {"iris": ["http://a/b"] * 2501}):
            assert client.post("/api/names", json=wrong, headers=HERE).status_code == 400
    finally:
        kg.close()


def test_the_steps_of_an_answer_are_sent_as_they_are_taken_and_then_its_page(client: FlaskClient) -> None:
    told = events(client.get(f"/api/ask/events?question=How many hotels are there?&name={NAME}", headers=HERE).text)
    stages = [record["stage"] for name, record in told if name == "step"]
    assert stages[:2] == ["reading", "linked"]
    assert stages.index("query") < stages.index("rows")
    assert "SELECT" in str(next(record["detail"] for _, record in told if record.get("stage") == "query"))
    name, record = told[-1]
    assert name == "page"
    assert 'data-page="ask"' in str(record["html"])
    assert client.delete(f"/api/ask/events/{NAME}", headers=HERE).status_code == 404


def test_following_needs_a_question_and_a_name_and_refusals_are_left_to_the_plain_page(client: FlaskClient) -> None:
    for query in ("", "question=x", f"name={NAME}", "question=x&name=zz"):
        assert client.get(f"/api/ask/events?{query}", headers=HERE).status_code == 400
    told = events(client.get(f"/api/ask/events?question=x&now=never&name={NAME}", headers=HERE).text)
    assert told[-1] == ("plain", {})


def test_a_question_that_is_given_up_ends_at_its_next_step(
    kg: KnowledgeGraph, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, ended = threading.Event(), threading.Event()

    def endless(*_: object, **__: object) -> object:
        began.set()
        try:
            while True:
                tell(Stage.READING)
                time.sleep(0.01)
        finally:
            ended.set()

    monkeypatch.setattr(kg, "ask", endless)
    reply = client.get(f"/api/ask/events?question=x&name={NAME}", headers=HERE)
    assert began.wait(10)
    assert client.delete(f"/api/ask/events/{NAME}", headers=HERE).status_code == 204
    assert ended.wait(10)
    assert events(reply.text)[-1] == ("plain", {})
    reply = client.get(f"/api/ask/events?question=x&name={NAME}", headers=HERE)  # and where nobody listens any more
    ended.clear()
    reply.close()
    assert ended.wait(10)


def test_steps_are_told_only_where_somebody_follows() -> None:
    tell(Stage.ROWS, number=3)
    assert go_on() == ""
    heard: list[Step] = []
    followed = Followed(heard.append, name="ask-1")
    with followed.following():
        tell(Stage.ROWS, number=3)
        assert go_on() == "ask-1"
        followed.give_up()
        with pytest.raises(GivenUpError):
            go_on()
    assert heard == [Step(Stage.ROWS, "", 3)]
    assert go_on() == ""


def test_a_browser_with_scripts_waits_on_a_page_and_others_get_the_answer_at_once(
    kg: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = create_app(kg, access=Access.on("127.0.0.1")).test_client()
    asked = "/ask?question=How many hotels are there?"
    assert 'data-page="ask"' in client.get(asked, headers=HERE).text
    monkeypatch.setattr("kgplatform.web.querying.is_built", lambda: True)
    client.set_cookie("kgplatform_scripts", "1", domain="127.0.0.1")
    page = client.get(f"{asked}&conversation=one", headers=HERE).text
    assert 'data-page="asking"' in page
    assert re.search(r'data-events="/api/ask/events\?question=How[^"]*&amp;conversation=one"', page)
    assert 'data-page="ask"' in client.get(f"{asked}&plain=1", headers=HERE).text


def test_messages_come_in_the_language_of_the_interface(client: FlaskClient) -> None:
    chinese = {**HERE, "Accept-Language": "zh"}
    wrong = {"query": "SELECT ?x WHERE { ?x nope:thing ?y }"}
    assert "前缀 nope: 未声明" in client.post("/api/run", json=wrong, headers=chinese).get_json()["detail"]
    assert "not declared" in client.post("/api/run", json=wrong, headers=HERE).get_json()["detail"]
    issue = client.post("/api/validate", json={"query": "SELECT ?x { ?x a travel:Hotle }"}, headers=chinese).get_json()
    assert issue["issues"][0]["message"] == "图谱中没有类 travel:Hotle；最接近的有：travel:Hotel"
    page = client.get("/id/entity/nobody", headers={**chinese, "Accept": "text/html"}).text
    assert "图谱中没有关于" in page
    assert in_chinese("line 3, column 2: <b>&'\"") == "第 3 行，第 2 列：<b>&'\""
    assert all(pattern.groups >= chinese.count("{") for pattern, chinese in MESSAGES)


def test_a_document_kept_apart_says_why_and_is_taken_in_by_a_button(kg: KnowledgeGraph, client: FlaskClient) -> None:
    record = kg.registry.find("hotels.csv")
    address = f"/documents/{record.document.iri.value.rpartition('/')[2]}"
    listed = client.get("/documents", headers=HERE).text
    assert f'action="{address}/release"' in listed
    page = client.get(f"{address}?why=1", headers=HERE).text
    assert "River Inn" in page
    assert "starRating" in page or "star" in page.partition('id="why"')[2].partition("</ul>")[0].lower()
    assert 'name="judgement"' not in page
    foreign = {**HERE, "Origin": "https://elsewhere.example"}
    assert client.post(f"{address}/release", headers=foreign).status_code == 403
    assert client.post(f"{address}/release", headers=HERE).status_code == 303
    end = time.monotonic() + 30
    jobs = client.application.extensions[JOBS]
    while kg.registry.find("hotels.csv").state is State.QUARANTINED or jobs.standing().phase is not Phase.IDLE:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert kg.query("ASK { ?hotel travel:starRating ?n }").boolean
    assert client.post(f"{address}/release", headers=HERE).status_code == 409
