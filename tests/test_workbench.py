"""What the scripts of the Query page ask the server for: rows, checks, schema, suggestions, saved queries."""

import json
import threading
import time
from urllib.parse import urlencode

import pytest
from small_graph import EVIL, HOTELS, small_graph

from kgplatform import resources as queries
from kgplatform.server.access import Access, Token
from kgplatform.server.app import create_app
from kgplatform.server.frame import Lately, Palette
from kgplatform.server.pages import query as querying
from kgplatform.server.pages.query import Saved, slug_of
from kgplatform.settings import ServerSettings
from kgplatform.vocab import TRAVEL

HERE = {"Host": "127.0.0.1"}
NAME = "0123456789abcdef"
RUNAWAY = (
    "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . FILTER(CONCAT(STR(?c), STR(?f)) = 'x') }"
)


@pytest.fixture(scope="module")
def kg(tmp_path_factory):
    made = small_graph(tmp_path_factory.mktemp("graph"), timeout_seconds=5)
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(kg):
    return create_app(kg, access=Access.on("127.0.0.1")).test_client(use_cookies=False)


def run(client, query, **more):
    return client.post("/api/run", json={"query": query, **more}, headers=HERE)


def issues(client, query):
    return client.post("/api/validate", json={"query": query}, headers=HERE).get_json()["issues"]


def suggested(client, **query):
    return client.get("/api/suggest", query_string=query, headers=HERE).get_json()["items"]


def page(client, path, **headers):
    return client.get(path, headers={**HERE, "Accept": "text/html", **headers})


def test_rows_point_to_terms_that_are_each_said_once_and_graphs_come_as_statements(client):
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
    found = run(client, "CONSTRUCT WHERE { ?a geo:near ?b }").get_json()
    assert [column["name"] for column in found["columns"]] == ["subject", "predicate", "object"]
    assert len(found["rows"]) == 4
    assert found["terms"][found["rows"][0][1]]["p"] == 1
    assert "near" in found["text"]
    assert run(client, "ASK {}").get_json()["boolean"] is True
    for wrong, line in (("SELECT * WHERE {", 1), ("SELECT ?x {\n ?x nope:y 1 }", 2), ("INSERT DATA {}", None)):
        response = run(client, wrong)
        assert response.status_code == 400
        assert response.get_json(force=True)["detail"]
        assert response.get_json(force=True).get("line") == line


def test_a_query_is_ended_by_the_name_its_page_gave_it(tmp_path):
    kg = small_graph(tmp_path, timeout_seconds=60)
    app = create_app(kg, access=Access.on("127.0.0.1"))
    results = []
    asking = threading.Thread(target=lambda: results.append(run(app.test_client(), RUNAWAY, name=NAME).status_code))
    try:
        asking.start()
        deadline = time.monotonic() + 30
        while not kg.workers.running.listed():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        client = app.test_client()
        names = (("f" * 16, 404), (NAME, 204))
        assert [client.delete(f"/api/run/{name}", headers=HERE).status_code for name, _ in names] == [404, 204]
        asking.join(timeout=30)
        assert results == [503]
        assert kg.workers.running.listed() == []
        assert run(client, "ASK {}").status_code == 200
        assert client.delete(f"/api/run/{NAME}", headers=HERE).status_code == 404
        assert run(client, "ASK {}", name="../x").status_code == 400
    finally:
        kg.close()


def test_checking_names_kind_place_and_what_was_meant(client):
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
    first = client.post("/api/validate", json={"query": HOTELS}, headers=HERE)
    tag = {"If-None-Match": first.headers["ETag"]}
    assert client.post("/api/validate", json={"query": HOTELS}, headers={**HERE, **tag}).status_code == 304


@pytest.mark.slow
def test_checking_never_takes_long(client):
    numbers = " ".join(str(n) for n in range(60))
    bomb = "SELECT (COUNT(*) AS ?n) { " + " ".join(f"VALUES ?v{i} {{ {numbers} }}" for i in range(6)) + " }"
    started = time.monotonic()
    issues(client, bomb)
    assert time.monotonic() - started < 30


def test_the_schema_counts_what_things_of_a_class_really_have(client, kg):
    response = client.get("/api/completion", headers=HERE)
    found = response.get_json()
    hotel = next(item for item in found["classes"] if item["iri"] == f"{TRAVEL}Hotel")
    assert (hotel["name"], hotel["en"], hotel["zh"], hotel["count"]) == ("travel:Hotel", "hotel", "酒店", 4)
    owned = {found["properties"][number]["name"]: count for number, count in hotel["properties"]}
    assert owned["travel:roomCount"] == 4
    assert "geo:locatedIn" not in owned
    assert found["prefixes"]["travel"] == TRAVEL
    tag = {"If-None-Match": response.headers["ETag"]}
    assert client.get("/api/completion", headers={**HERE, **tag}).status_code == 304
    kg.store.version += 1
    assert client.get("/api/completion", headers={**HERE, **tag}).status_code == 200


@pytest.mark.parametrize(
    ("text", "kind", "label"),
    [
        *(("lakeside", "entity", "Lakeside Inn"), ("酒店", "class", "hotel"), ("quer", "page", "Query")),
        *(("room count", "property", "room count"), ("通安", "entity", "通安客栈")),
    ],
)
def test_anything_is_found_by_its_name_in_either_language(client, text, kind, label):
    assert (kind, label) in [(item["kind"], item["label"]) for item in suggested(client, q=text)]
    assert {item["kind"] for item in suggested(client, q=text, kind=kind)} == {kind}
    (one,) = suggested(client, iri=f"{TRAVEL}Hotel")
    assert (one["label"], one["other"]) == ("hotel", "酒店")


def test_a_saved_query_is_a_file_that_shipped_queries_are_read_like(client, kg):
    body = {"query": f"#+ summary: old\n{HOTELS}", "question": "哪些酒店有几间房？"}
    kept = client.put("/api/saved/hotels-and-rooms", json=body, headers=HERE)
    assert kept.status_code == 200
    assert kept.get_json()["page"] == "/q/hotels-and-rooms"
    text = (kg.folder / "sparql" / "hotels-and-rooms.rq").read_text("utf-8")
    assert queries.parse("examples/hotels-and-rooms", text).summary == "哪些酒店有几间房？"
    listed = client.get("/api/saved", headers=HERE).get_json()["queries"]
    assert [item["slug"] for item in listed] == ["hotels-and-rooms"]
    shown = page(client, "/q/hotels-and-rooms").text
    assert "travel:roomCount" in shown
    assert "哪些酒店有几间房？" in shown
    assert kg.store.query(Saved(kg.folder).find("hotels-and-rooms").text).rows
    assert client.delete("/api/saved/hotels-and-rooms", headers=HERE).status_code == 204
    assert page(client, "/q/hotels-and-rooms").status_code == 404
    assert slug_of("西栅有哪些酒店？") == "西栅有哪些酒店"
    assert len(slug_of("why " * 100)) <= 60


@pytest.mark.parametrize("slug", ["..", "a%2Fb", "-x", "x" * 81, "a b", "a.rq"])
def test_a_name_that_is_none_is_not_written(client, kg, slug):
    before = sorted(kg.folder.rglob("*.rq"))
    assert client.put(f"/api/saved/{slug}", json={"query": "ASK {}"}, headers=HERE).status_code in (400, 404, 405)
    assert sorted(kg.folder.rglob("*.rq")) == before
    assert client.put("/api/saved/x", json={"query": "DROP ALL"}, headers=HERE).status_code == 400


def test_saving_needs_the_right_to_write(tmp_path):
    secret, line = Token.make("ann", "write")
    kg = small_graph(tmp_path, server=ServerSettings(tokens=(line,)))
    client = create_app(kg, access=Access.on("127.0.0.1")).test_client()
    query = {"query": "ASK {}"}
    assert client.put("/api/saved/x", headers=HERE, json=query).status_code == 401
    assert "dialog" not in page(client, "/query").text
    bearer = {**HERE, "Authorization": f"Bearer {secret}"}
    assert client.put("/api/saved/x", headers=bearer, json=query).status_code == 200
    assert client.delete("/api/saved/x", headers=HERE).status_code == 401
    assert page(client, "/q/x").status_code == 200
    kg.close()


def test_a_class_has_one_number_everywhere(kg):
    palette, hotel = Palette(Lately(kg).overview()), kg.entity("Lakeside Inn")
    assert palette.class_of(kg, hotel).value == f"{TRAVEL}Hotel"
    assert palette.index(palette.class_of(kg, hotel)) is not None


def test_the_rows_are_left_to_scripts_that_run_them(client, monkeypatch):
    monkeypatch.setattr(querying, "is_built", lambda: True)
    path, cookie = f"/query?{urlencode({'query': HOTELS})}", {"Cookie": "kgplatform_scripts=1"}
    scripted = page(client, path, **cookie).text
    assert "Lakeside Inn" not in scripted
    assert "<noscript>" in scripted
    assert "Lakeside Inn" in page(client, f"{path}&plain=1", **cookie).text
