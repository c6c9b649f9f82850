"""What the scripts of the Query page ask the server for: rows, checks, schema, suggestions, saved queries."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from small_graph import EVIL, HOTELS, SmallGraph, small_graph

from kgplatform import queries
from kgplatform.config import ServerSettings
from kgplatform.vocab import TRAVEL
from kgplatform.web.app import create_app
from kgplatform.web.overview import Lately
from kgplatform.web.palette import Palette
from kgplatform.web.rights import Token
from kgplatform.web.saving import Saved, slug_of
from kgplatform.web.security import Access

HERE = {"Host": "127.0.0.1"}
NAME = "0123456789abcdef"
RUNAWAY = (
    "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . FILTER(CONCAT(STR(?c), STR(?f)) = 'x') }"
)


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallGraph]:
    made = small_graph(tmp_path_factory.mktemp("graph"), timeout_seconds=5)
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(kg: SmallGraph) -> FlaskClient:
    return create_app(kg, access=Access.on("127.0.0.1")).test_client(use_cookies=False)


def run(client: FlaskClient, query: str, **more: str) -> Any:
    return client.post("/api/run", json={"query": query, **more}, headers=HERE)


def issues(client: FlaskClient, query: str) -> list[dict[str, Any]]:
    response = client.post("/api/validate", json={"query": query}, headers=HERE)
    assert response.status_code == 200
    found: list[dict[str, Any]] = response.get_json()["issues"]
    return found


def test_rows_point_to_terms_that_are_each_said_once(client: FlaskClient) -> None:
    found = run(client, HOTELS).get_json()
    assert [(column["name"], column["kind"]) for column in found["columns"]] == [
        ("hotel", "thing"),
        ("rooms", "number"),
    ]
    first = [found["terms"][number] for number in found["rows"][0]]
    assert (first[0]["l"], first[0]["k"], first[1]["v"], first[1]["d"]) == ("通安客栈", "thing", "80", "xsd:integer")
    assert first[0]["h"].startswith("/id/")
    assert found["classes"][first[0]["c"]]["label"] == "hotel"
    assert {item["name"] for item in found["formats"]} == {"json", "xml", "csv", "tsv"}
    assert len({json.dumps(term, sort_keys=True) for term in found["terms"]}) == len(found["terms"])
    assert EVIL in [term.get("l") for term in found["terms"]]


def test_a_graph_query_gives_statements_and_turtle(client: FlaskClient) -> None:
    found = run(client, "CONSTRUCT WHERE { ?a geo:near ?b }").get_json()
    assert [column["name"] for column in found["columns"]] == ["subject", "predicate", "object"]
    assert len(found["rows"]) == 4
    assert found["terms"][found["rows"][0][1]]["p"] == 1
    assert "near" in found["text"]
    assert run(client, "ASK {}").get_json()["boolean"] is True


@pytest.mark.parametrize(
    ("query", "status", "line"),
    [("SELECT * WHERE {", 400, 1), ("SELECT ?x {\n ?x nope:y 1 }", 400, 2), ("INSERT DATA {}", 400, None)],
)
def test_a_query_that_cannot_run_says_where(client: FlaskClient, query: str, status: int, line: int | None) -> None:
    response = run(client, query)
    assert response.status_code == status
    record = response.get_json(force=True)
    assert record["detail"]
    assert record.get("line") == line


def test_a_query_is_ended_by_the_name_its_page_gave_it(tmp_path: Path) -> None:
    kg = small_graph(tmp_path, timeout_seconds=30)
    app = create_app(kg, access=Access.on("127.0.0.1"))
    results: list[int] = []
    asking = threading.Thread(target=lambda: results.append(run(app.test_client(), RUNAWAY, name=NAME).status_code))
    try:
        asking.start()
        deadline = time.monotonic() + 10
        while not kg.workers.running.listed():
            assert time.monotonic() < deadline
        client = app.test_client()
        assert client.delete(f"/api/run/{'f' * 16}", headers=HERE).status_code == 404
        assert client.delete(f"/api/run/{NAME}", headers=HERE).status_code == 204
        asking.join(timeout=5)
        assert results == [503]
        assert kg.workers.running.listed() == []
        assert run(client, "ASK {}").status_code == 200
        assert client.delete(f"/api/run/{NAME}", headers=HERE).status_code == 404
        assert run(client, "ASK {}", name="../x").status_code == 400
    finally:
        kg.close()


def test_checking_names_kind_place_and_what_was_meant(client: FlaskClient) -> None:
    assert issues(client, HOTELS) == []
    (wrong,) = issues(client, "SELECT ?x WHERE {\n  ?x a travel:Hotle .\n}")
    assert (wrong["kind"], wrong["severity"], wrong["line"]) == ("unknown-class", "warning", 2)
    assert (wrong["column"], wrong["length"]) == (8, len("travel:Hotle"))
    assert "travel:Hotel" in wrong["allowed"]
    assert "<https" not in wrong["message"]
    (broken,) = issues(client, "SELECT ?x WHERE {\n  ?x a travel:Hotel .\n  FILTRE(?x > 3)\n}")
    assert (broken["severity"], broken["line"], broken["instead"]) == ("error", 3, "FILTER")
    (update,) = issues(client, "DELETE WHERE { ?s ?p ?o }")
    assert update["severity"] == "error"


def test_checking_never_takes_long(client: FlaskClient) -> None:
    numbers = " ".join(str(n) for n in range(60))
    bomb = "SELECT (COUNT(*) AS ?n) { " + " ".join(f"VALUES ?v{i} {{ {numbers} }}" for i in range(6)) + " }"
    started = time.monotonic()
    issues(client, bomb)
    assert time.monotonic() - started < 8


def test_checking_again_costs_nothing_while_the_graph_stays(client: FlaskClient) -> None:
    first = client.post("/api/validate", json={"query": HOTELS}, headers=HERE)
    again = client.post(
        "/api/validate", json={"query": HOTELS}, headers={**HERE, "If-None-Match": first.headers["ETag"]}
    )
    assert again.status_code == 304


def test_the_schema_counts_what_things_of_a_class_really_have(client: FlaskClient, kg: SmallGraph) -> None:
    response = client.get("/api/schema", headers=HERE)
    found = response.get_json()
    hotel = next(item for item in found["classes"] if item["iri"] == f"{TRAVEL}Hotel")
    assert (hotel["name"], hotel["en"], hotel["zh"], hotel["count"]) == ("travel:Hotel", "hotel", "酒店", 4)
    owned = {found["properties"][number]["name"]: count for number, count in hotel["properties"]}
    assert owned["travel:roomCount"] == 4
    assert "geo:locatedIn" not in owned
    assert found["prefixes"]["travel"] == TRAVEL
    tag = {"If-None-Match": response.headers["ETag"]}
    assert client.get("/api/schema", headers={**HERE, **tag}).status_code == 304
    kg.store.version += 1
    assert client.get("/api/schema", headers={**HERE, **tag}).status_code == 200


@pytest.mark.parametrize(
    ("text", "kind", "label"),
    [
        ("lakeside", "entity", "Lakeside Inn"),
        ("酒店", "class", "hotel"),
        ("room count", "property", "room count"),
        ("quer", "page", "Query"),
        ("通安", "entity", "通安客栈"),
    ],
)
def test_anything_is_found_by_its_name_in_either_language(
    client: FlaskClient, text: str, kind: str, label: str
) -> None:
    found = client.get("/api/suggest", query_string={"q": text}, headers=HERE).get_json()["items"]
    assert (kind, label) in [(item["kind"], item["label"]) for item in found]
    only = client.get("/api/suggest", query_string={"q": text, "kind": kind}, headers=HERE).get_json()["items"]
    assert {item["kind"] for item in only} == {kind}
    if kind == "class":
        (one,) = client.get("/api/suggest", query_string={"iri": f"{TRAVEL}Hotel"}, headers=HERE).get_json()["items"]
        assert (one["label"], one["other"]) == ("hotel", "酒店")


def test_a_saved_query_is_a_file_that_shipped_queries_are_read_like(client: FlaskClient, kg: SmallGraph) -> None:
    body = {"query": f"#+ summary: old\n{HOTELS}", "question": "哪些酒店有几间房？"}
    kept = client.put("/api/saved/hotels-and-rooms", json=body, headers=HERE)
    assert kept.status_code == 200
    assert kept.get_json()["page"] == "/q/hotels-and-rooms"
    query = queries.parse(
        "examples/hotels-and-rooms", (kg.folder / "sparql" / "hotels-and-rooms.rq").read_text("utf-8")
    )
    assert query.summary == "哪些酒店有几间房？"
    assert [item["slug"] for item in client.get("/api/saved", headers=HERE).get_json()["queries"]] == [
        "hotels-and-rooms"
    ]
    text = client.get("/q/hotels-and-rooms", headers={**HERE, "Accept": "text/html"}).get_data(as_text=True)
    assert "travel:roomCount" in text
    assert "哪些酒店有几间房？" in text
    assert kg.store.query(Saved(kg.folder).find("hotels-and-rooms").text).rows
    assert client.delete("/api/saved/hotels-and-rooms", headers=HERE).status_code == 204
    assert client.get("/q/hotels-and-rooms", headers={**HERE, "Accept": "text/html"}).status_code == 404


@pytest.mark.parametrize("slug", ["..", "a%2Fb", "-x", "x" * 81, "a b", "a.rq"])
def test_a_name_that_is_none_is_not_written(client: FlaskClient, kg: SmallGraph, slug: str) -> None:
    before = sorted(kg.folder.rglob("*.rq"))
    assert client.put(f"/api/saved/{slug}", json={"query": "ASK {}"}, headers=HERE).status_code in (400, 404, 405)
    assert sorted(kg.folder.rglob("*.rq")) == before
    assert client.put("/api/saved/x", json={"query": "DROP ALL"}, headers=HERE).status_code == 400


def test_saving_needs_the_right_to_write(tmp_path: Path) -> None:
    secret, line = Token.make("ann", "write")
    kg = small_graph(tmp_path, server=ServerSettings(tokens=(line,)))
    client = create_app(kg, access=Access.on("127.0.0.1")).test_client()
    try:
        body: dict[str, Any] = {"json": {"query": "ASK {}"}}
        assert client.put("/api/saved/x", headers=HERE, **body).status_code == 401
        assert "dialog" not in client.get("/query", headers={**HERE, "Accept": "text/html"}).get_data(as_text=True)
        bearer = {**HERE, "Authorization": f"Bearer {secret}"}
        assert client.put("/api/saved/x", headers=bearer, **body).status_code == 200
        assert client.delete("/api/saved/x", headers=HERE).status_code == 401
        assert client.get("/q/x", headers={**HERE, "Accept": "text/html"}).status_code == 200
    finally:
        kg.close()


def test_names_for_addresses_come_from_questions() -> None:
    assert slug_of("西栅有哪些酒店？") == "西栅有哪些酒店"
    assert len(slug_of("why " * 100)) <= 60


def test_a_class_has_one_number_everywhere(kg: SmallGraph) -> None:
    palette = Palette(Lately(kg).overview())
    hotel = kg.entity("Lakeside Inn")
    class_ = palette.class_of(kg, hotel)
    assert class_ is not None
    assert class_.value == f"{TRAVEL}Hotel"
    assert palette.of_thing(kg, hotel) == palette.index(class_)


def test_the_rows_are_left_to_scripts_that_run_them(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    from kgplatform.web import querying

    monkeypatch.setattr(querying, "is_built", lambda: True)
    ways = {"Accept": "text/html", **HERE}
    path = {"query": HOTELS}
    scripted = client.get("/query", query_string=path, headers={**ways, "Cookie": "kgplatform_scripts=1"})
    assert "Lakeside Inn" not in scripted.get_data(as_text=True)
    assert "<noscript>" in scripted.get_data(as_text=True)
    plain = client.get(
        "/query", query_string={**path, "plain": "1"}, headers={**ways, "Cookie": "kgplatform_scripts=1"}
    )
    assert "Lakeside Inn" in plain.get_data(as_text=True)
