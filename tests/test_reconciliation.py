"""The reconciliation service: matched by our own client over HTTP, asked as OpenRefine asks, and asked for too much."""

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from pathlib import Path

import jsonschema
import pytest
from local_server import local_server
from serving import small_server
from small_graph import BASE, EVIL, HOTEL, TRAVEL, small_graph
from workspaces import new_workspace

from kgplatform.graph import KnowledgeGraph
from kgplatform.linking.external import Reconciler
from kgplatform.server.access import Access, Token
from kgplatform.server.app import JOBS, create_app
from kgplatform.server.interfaces.reconciliation import MOST_QUERIES, ReconciliationIndex
from kgplatform.settings import ServerSettings

NEAR = "https://w3id.org/kgplatform/geo#near"
ROOMS = f"{TRAVEL}roomCount"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with small_server(tmp_path_factory.mktemp("served"), settings="timeout_seconds=20") as (address, _):
        yield f"{address}/reconcile"


def got(address, **arguments):
    data = {key: value if isinstance(value, str) else json.dumps(value) for key, value in arguments.items()}
    with urllib.request.urlopen(f"{address}?{urllib.parse.urlencode(data)}" if data else address) as reply:
        return json.load(reply)


def posted(address, **arguments):
    data = urllib.parse.urlencode({key: json.dumps(value) for key, value in arguments.items()}).encode()
    with urllib.request.urlopen(address, data) as reply:
        return json.load(reply)


def test_our_own_client_matches_english_and_chinese_names(service):
    asked = Reconciler(service, resolve=lambda host, port: [host])
    found = asked.ask(["lakeside inn", "通安客栈", "Nothing Of The Kind"])
    assert [(item.name, item.score) for item in found.found] == [("lakeside inn", 1.0), ("通安客栈", 1.0)]
    assert all(item.target.value.startswith(f"{BASE}entity/") for item in found.found)
    assert found.problems == ("Nothing Of The Kind: no candidate of at least 0.9",)
    only = Reconciler(service, type=f"{TRAVEL}ScenicArea", resolve=lambda host, port: [host])
    assert only.ask(["Canal House"]).found == ()


def test_the_manifest_names_addresses_that_answer(service):
    manifest = got(service)
    assert manifest["versions"] == ["0.2"]  # 0.1 demands scripts (JSONP), which a page of anybody could read
    assert manifest["identifierSpace"] == BASE
    assert HOTEL in {item["id"] for item in manifest["defaultTypes"]}
    inn = posted(service, queries={"q0": {"query": "Lakeside Inn"}})["q0"]["result"][0]
    for kind, prefix, wanted in (("entity", "lakes", inn["id"]), ("type", "hotel", HOTEL), ("property", "room", ROOMS)):
        offer = manifest["suggest"][kind]
        found = got(f"{offer['service_url']}{offer['service_path']}", prefix=prefix)["result"]
        assert wanted in {item["id"] for item in found}, kind
    proposed = manifest["extend"]["propose_properties"]
    found = got(f"{proposed['service_url']}{proposed['service_path']}", type=HOTEL)
    assert ROOMS in {item["id"] for item in found["properties"]}
    for name in ("preview", "view"):
        with urllib.request.urlopen(manifest[name]["url"].replace("{{id}}", urllib.parse.quote(inn["id"]))) as page:
            assert "Lakeside Inn" in page.read().decode()


def test_a_batch_has_candidates_with_types_scores_and_one_match(service):
    queries = {
        "q0": {"query": "通安客栈", "type": HOTEL, "type_strict": "should", "limit": 3},
        "q1": {"query": "Canal Hous", "type": [HOTEL]},
        "q2": {"query": "Canal House", "properties": [{"pid": ROOMS, "v": "99"}]},
        "q3": {"query": "Canal House", "properties": [{"pid": ROOMS, "v": 12}, {"pid": NEAR, "v": "Xizha"}]},
        "q4": {"query": "Canal House", "type": f"{TRAVEL}ScenicArea", "type_strict": "should"},
        "q5": {"query": ""},
        "q6": {"properties": [{"pid": ROOMS, "v": 12}, {"pid": NEAR, "v": "Xizha"}], "limit": 3.0},
        "q7": {"properties": [{"pid": ROOMS, "v": ["12", 24]}], "type": HOTEL},
        "q8": {"query": " ", "properties": [{"pid": ROOMS, "v": 99}]},
        "q9": {"query": "Canal House", "limit": 1.0},
    }
    reply = posted(service, queries=queries)
    best = {key: item["result"][0] for key, item in reply.items() if item["result"]}
    assert best["q0"]["name"] == "通安客栈"
    assert (best["q0"]["score"], best["q0"]["match"]) == (100, True)
    assert HOTEL in {item["id"] for item in best["q0"]["type"]}
    assert best["q1"]["name"] == "Canal House"
    assert (best["q1"]["score"] < 100, best["q1"]["match"]) == (True, False)
    assert (best["q2"]["score"], best["q2"]["match"]) == (60, False)
    assert (best["q3"]["score"], best["q3"]["match"]) == (100, True)
    assert (best["q4"]["score"], best["q4"]["match"]) == (50, False)
    assert reply["q5"] == reply["q8"] == {"result": []}
    found = [(item["name"], item["score"], item["match"]) for item in reply["q6"]["result"]]
    assert found[0] == ("Canal House", 100, True)  # which has both values; others have one
    assert {score for _, score, _ in found[1:]} <= {50}
    assert {item["name"] for item in reply["q7"]["result"]} == {"Canal House", "Lakeside Inn"}
    assert not any(item["match"] for item in reply["q7"]["result"])
    near = {"pid": NEAR, "v": {"id": posted(service, queries={"q": {"query": "Xizha"}})["q"]["result"][0]["id"]}}
    assert "Canal House" in {
        item["name"] for item in posted(service, queries={"q": {"properties": [near]}})["q"]["result"]
    }
    assert len(reply["q9"]["result"]) == 1
    assert got(service, query="Canal House")["result"][0]["match"] is True


def test_the_transcript_of_the_documentation_is_true(service):
    page = (Path(__file__).parent.parent / "docs" / "reconciliation.md").read_text(encoding="utf-8")
    steps = re.findall(r"^\$ curl 'http://localhost:8000/reconcile(.+)'\n(.+)$", page, re.MULTILINE)
    assert len(steps) == 3
    for address, shown in steps:
        assert got(f"{service}{address}")["result"][0] == json.loads(shown), address


TEXT, TYPED = {"type": "string"}, {"oneOf": [{"$ref": "#/$defs/named"}, {"type": "string"}]}
MOMENT = (
    r"^-?([1-9]\d*)?\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d"
    r"(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)?$"
)
DEFINITIONS = {"named": {"type": "object", "required": ["id", "name"], "properties": {"id": TEXT, "name": TEXT}}}


def record(*required, closed=False, **properties):
    """The schema of an object, as the specification describes one."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        **({"additionalProperties": False} if closed else {}),
    }


def listed(item):
    return {"type": "array", "items": item}


def each(item):
    return {"type": "object", "additionalProperties": item}


TEMPLATE = record("url", url={"type": "string", "pattern": r"\{\{id\}\}"})
SERVICE = record("service_url", "service_path", service_url=TEXT, service_path=TEXT)
NAMED = {"$ref": "#/$defs/named"}
MANIFEST = record(
    *("versions", "name", "identifierSpace", "schemaSpace"),
    versions={"type": "array", "items": TEXT, "contains": {"const": "0.2"}},
    **dict.fromkeys(("name", "identifierSpace", "schemaSpace", "documentation"), TEXT),
    defaultTypes={**listed(NAMED), "uniqueItems": True},
    view=TEMPLATE,
    preview={"allOf": [TEMPLATE, record("width", "height", width={"type": "integer"}, height={"type": "integer"})]},
    suggest=each(SERVICE),
    extend=record(propose_properties=SERVICE),
)
CANDIDATE = {
    "allOf": [NAMED, record("score", score={"type": "number"}, match={"type": "boolean"}, type=listed(TYPED))],
}
RESULTS = each(record("result", result=listed(CANDIDATE)))
VALUE = {
    "oneOf": [
        record(closed=True),
        record("id", "name", closed=True, id=TEXT, name=TEXT),
        record("str", closed=True, str=TEXT),
        record("float", closed=True, float={"type": "number"}),
        record("int", closed=True, int={"type": "integer"}),
        record("date", closed=True, date={"type": "string", "pattern": MOMENT}),
    ]
}
EXTENDED = record("meta", "rows", meta=listed(NAMED), rows=each(each(listed(VALUE))))
SUGGESTED = record("result", result=listed({"allOf": [NAMED, record(notable=listed(TYPED))]}))
PROPOSED = record("properties", properties=listed(NAMED), limit={"type": "integer"}, type=TEXT)
GIVEN = {"oneOf": [{"type": ["string", "number", "boolean"]}, record("id", id=TEXT, name=TEXT)]}
WITH_VALUE = record("pid", "v", pid=TEXT, v={"oneOf": [GIVEN, listed(GIVEN)]})
QUERY = record(
    closed=True,
    query=TEXT,
    type={"oneOf": [TEXT, listed(TEXT)]},
    limit={"type": "number"},
    properties=listed(WITH_VALUE),
    type_strict={"enum": ["any", "should", "all"]},
)
QUERIES = each({**QUERY, "anyOf": [record("query"), record("properties", properties={"minItems": 1})]})
EXTENSION = record("ids", "properties", ids=listed(TEXT), properties=listed(record("id", id=TEXT, settings=record())))
"""Our own reading of the specification 0.2 and the schemas that come with it, each part of an answer by its type."""


def check(answer, schema):
    jsonschema.Draft202012Validator({**schema, "$defs": DEFINITIONS}).validate(answer)


def test_every_answer_is_of_the_form_that_the_specification_gives(tmp_path):
    with KnowledgeGraph(new_workspace(tmp_path / "kg")) as kg:
        values = (
            '"plain", "yes"@en, 12, 1.5, 1e3, true, "2026-05-01"^^xsd:date, "2026-05-01T10:00:00Z"^^xsd:dateTime,'
            ' "+02026"^^xsd:gYear, "INF"^^xsd:double, "2026-13-99"^^xsd:date, <urn:b>, [ rdfs:label "blank" ]'
        )
        kg.update(f'INSERT DATA {{ <urn:a> a travel:Hotel ; rdfs:label "通安" ; dcterms:relation {values} }}')
        client = create_app(kg, access=Access()).test_client()

        def asked(path="", **arguments):
            data = {key: value if isinstance(value, str) else json.dumps(value) for key, value in arguments.items()}
            return client.get(f"/reconcile{path}", query_string=data).get_json()

        relation = "http://purl.org/dc/terms/relation"
        check(asked(), MANIFEST)
        check(asked(queries={"a": {"query": "通安", "type": HOTEL}, "b": {"query": "nothing of the kind"}}), RESULTS)
        extended = asked(extend={"ids": ["urn:a", "none"], "properties": [{"id": relation}]})
        check(extended, EXTENDED)
        kinds = Counter(next(iter(value)) for value in extended["rows"]["urn:a"][relation])
        assert kinds == {"str": 7, "int": 1, "float": 2, "date": 2, "id": 1}
        check(asked("/suggest/entity", prefix="通"), SUGGESTED)
        check(asked("/suggest/type", prefix="hotel"), SUGGESTED)
        check(asked("/suggest/property", prefix="room"), SUGGESTED)
        check(asked("/properties", type=HOTEL), PROPOSED)
        with pytest.raises(jsonschema.ValidationError):
            check({"meta": [], "rows": {"a": {"b": [{"bool": True}]}}}, EXTENDED)


def test_the_manifest_says_how_to_show_a_token_where_reading_takes_one(tmp_path):
    secret, line = Token.make("ann", "read")
    tokens = f'[server]\ntokens = ["{line}"]\n'
    with KnowledgeGraph(new_workspace(tmp_path / "open", settings=tokens)) as kg:
        assert "authentication" not in create_app(kg).test_client().get("/reconcile").get_json()
    with KnowledgeGraph(new_workspace(tmp_path / "kg", settings=f"{tokens}public_reads = false")) as kg:
        client = create_app(kg).test_client()
        assert client.get("/reconcile").status_code == 401
        manifest = client.get("/reconcile", auth=("any", secret)).get_json()
    check(manifest, MANIFEST)
    assert manifest["authentication"]["type"] == "basic"


HEADERS = {"Origin": "http://127.0.0.1:3333", "Accept": "application/json, text/javascript, */*; q=0.01"}
FORM = "application/x-www-form-urlencoded; charset=UTF-8"
BATCH = {
    "q0": {"query": "Lakeside Inn", "type": HOTEL, "type_strict": "should", "limit": 3},
    "q1": {"query": "通安客栈", "properties": [{"pid": ROOMS, "v": "80"}], "type_strict": "should"},
    "q2": {"query": "Nothing Of The Kind", "type": [HOTEL, f"{TRAVEL}ScenicArea"], "type_strict": "any"},
    "q3": {"properties": [{"pid": ROOMS, "v": [24, True, {"id": "entity/none", "name": "none"}]}]},
}


def as_openrefine(address, form=None, **arguments):
    """What OpenRefine reads: as its server posts a form, or as its pages, which come from another port, ask."""
    if arguments:
        address = f"{address}?{urllib.parse.urlencode(arguments)}"
    request = urllib.request.Request(address, headers=HEADERS)
    if form is not None:
        request.data = urllib.parse.urlencode({key: json.dumps(value) for key, value in form.items()}).encode()
        request.add_header("Content-Type", FORM)
    with urllib.request.urlopen(request) as reply:
        assert reply.headers["Access-Control-Allow-Origin"] == HEADERS["Origin"], address
        assert reply.headers["X-Content-Type-Options"] == "nosniff", address
        return reply.headers.get_content_type(), reply.read().decode()


def test_what_openrefine_sends_is_answered_alike_by_form_and_by_address_and_in_the_right_form(service):
    def answered(schema, *asked, **arguments):
        kind, text = as_openrefine(*asked, **arguments)
        assert kind == "application/json"
        found = json.loads(text)
        check(found, schema)
        return found

    manifest = answered(MANIFEST, service)
    assert manifest["batchSize"] <= MOST_QUERIES
    check(BATCH, QUERIES)
    by_form = answered(RESULTS, service, {"queries": BATCH})
    assert by_form == answered(RESULTS, service, queries=json.dumps(BATCH))
    assert by_form.keys() == BATCH.keys()
    best = {key: item["result"][0]["name"] for key, item in by_form.items() if item["result"]}
    assert best == {"q0": "Lakeside Inn", "q1": "通安客栈", "q3": "Lakeside Inn"}
    assert [by_form[key]["result"][0]["match"] for key in ("q0", "q1")] == [True, True]
    scores = [item["score"] for item in by_form["q0"]["result"]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) <= 3
    extension = {"ids": [by_form[key]["result"][0]["id"] for key in ("q0", "q1")], "properties": [{"id": ROOMS}]}
    check(extension, EXTENSION)
    rows = answered(EXTENDED, service, {"extend": extension})
    assert rows == answered(EXTENDED, service, extend=json.dumps(extension))
    assert [rows["rows"][one][ROOMS] for one in extension["ids"]] == [[{"int": 24}], [{"int": 80}]]
    for kind, prefix in (("entity", "通安"), ("type", "hotel"), ("property", "room")):
        offer = manifest["suggest"][kind]
        address = f"{offer['service_url']}{offer['service_path']}"
        (first, *_) = answered(SUGGESTED, address, prefix=prefix)["result"]
        assert answered(SUGGESTED, address, prefix=prefix, cursor=1_000)["result"] == []
        named = answered(SUGGESTED, address, prefix=first["id"])["result"]  # an identifier is taken for a name too
        assert named[0] == first, kind
    offer = manifest["extend"]["propose_properties"]
    proposed = answered(PROPOSED, f"{offer['service_url']}{offer['service_path']}", type=HOTEL, limit=2)
    assert len(proposed["properties"]) == proposed["limit"] == 2
    by_id = answered(RESULTS, service, {"queries": {"q": {"query": extension["ids"][1]}}})["q"]["result"]
    assert [(item["name"], item["score"], item["match"]) for item in by_id] == [("通安客栈", 100, True)]
    kind, page = as_openrefine(manifest["preview"]["url"].replace("{{id}}", urllib.parse.quote(by_id[0]["id"], "")))
    assert kind == "text/html"
    assert "通安客栈" in page
    with pytest.raises(jsonschema.ValidationError):
        check({"q": {"type": HOTEL}}, QUERIES)


def test_answers_are_no_scripts_and_forms_may_be_posted_from_other_pages(service):
    kind, text = as_openrefine(service, callback="run", query="Lakeside Inn")
    assert kind == "application/json"
    assert json.loads(text)["result"][0]["name"] == "Lakeside Inn"
    asked = {**HEADERS, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    with urllib.request.urlopen(urllib.request.Request(service, headers=asked, method="OPTIONS")) as reply:
        assert reply.headers["Access-Control-Allow-Origin"] == HEADERS["Origin"]
        assert "POST" in reply.headers["Access-Control-Allow-Methods"]
        assert "Content-Type" in reply.headers["Access-Control-Allow-Headers"]


def test_our_own_client_asks_in_the_form_that_the_specification_gives():
    batches = []

    def reply(path, _):
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)
        if "queries" not in asked:
            return {"versions": ["0.2"], "name": "a", "identifierSpace": "urn://a/", "schemaSpace": "urn://b/"}
        batches.append(json.loads(asked["queries"][0]))
        return {key: {"result": []} for key in batches[-1]}

    with local_server(reply) as address:
        names = [f"客栈 {number}" for number in range(25)]
        Reconciler(address, type=HOTEL, resolve=lambda host, port: [host]).ask(names)
    for batch in batches:
        check(batch, QUERIES)
    assert [one["query"] for batch in batches for one in batch.values()] == names


def test_values_of_things_extend_a_table(service):
    inn = got(service, query="Lakeside Inn")["result"][0]["id"]
    reply = posted(service, extend={"ids": [inn, "entity/none"], "properties": [{"id": ROOMS}, {"id": NEAR}]})
    assert [item["id"] for item in reply["meta"]] == [ROOMS, NEAR]
    assert reply["rows"][inn][ROOMS] == [{"int": 24}]
    assert [item["name"] for item in reply["rows"][inn][NEAR]] == ["Xizha"]
    assert reply["rows"]["entity/none"] == {ROOMS: [], NEAR: []}
    chinese = got(service, query="通安客栈")["result"][0]["id"]
    assert posted(service, extend={"ids": [chinese], "properties": [{"id": ROOMS}]})["rows"][chinese][ROOMS] == [
        {"int": 80}
    ]
    with urllib.request.urlopen(f"{service}/preview?{urllib.parse.urlencode({'id': chinese})}") as page:
        assert "通安客栈" in page.read().decode()


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ({"queries": {f"q{n}": {"query": "乌镇"} for n in range(10_000)}}, 413, f"at most {MOST_QUERIES}"),
        ({"extend": {"ids": ["a"] * 10_000, "properties": []}}, 413, "10,000 in one request"),
        ({"queries": [1]}, 400, "a query under each key"),
        ({"queries": {"q": {"query": {}}}}, 400, "an object with `query`"),
        ({"queries": {"q": {"query": "a", "limit": [3]}}}, 400, "an object with `query`"),
        ({"queries": {"q": {"query": "a", "limit": 2.5}}}, 400, "an object with `query`"),
        ({"queries": {"q": {"query": "a", "type": "http://a b"}}}, 400, "no identifier"),
        ({"extend": {"ids": 1}}, 400, "two lists"),
    ],
)
def test_what_makes_no_sense_or_is_too_much_is_refused_in_one_line(service, arguments, status, said):
    with pytest.raises(urllib.error.HTTPError) as refused:
        posted(service, **arguments)
    assert refused.value.code == status
    assert said in json.load(refused.value)["detail"]


def test_a_preview_shows_hostile_names_as_text_in_frames_of_others(service):
    evil = got(service, query=EVIL)["result"][0]["id"]
    with urllib.request.urlopen(f"{service}/preview?{urllib.parse.urlencode({'id': evil})}") as page:
        assert "<script" not in page.read().decode()
        assert "frame-ancestors http://localhost:*" in page.headers["Content-Security-Policy"]
        assert page.headers["X-Frame-Options"] is None


@pytest.mark.parametrize("public", [True, False])
def test_pages_of_other_origins_frame_previews_and_ask_where_anybody_may_read(tmp_path, public):
    secret, line = Token.make("ann", "read")
    kg = small_graph(tmp_path, server=ServerSettings(tokens=(line,), public_reads=public))
    app = create_app(kg, access=Access())
    client, elsewhere = app.test_client(), {"Origin": "https://elsewhere.example"}
    mine = {"Authorization": f"Bearer {secret}"}
    try:
        (found,) = client.get("/reconcile?query=Canal+House&limit=1", headers=mine).get_json()["result"][:1]
        preview = client.get("/reconcile/preview", query_string={"id": found["id"]}, headers=mine)
        assert preview.status_code == 200
        assert ("frame-ancestors *" in preview.headers["Content-Security-Policy"]) is public
        assert ("X-Frame-Options" not in preview.headers) is public
        for path in ("/reconcile/view?id=x", "/reconcile", "/ontology"):
            assert client.get(path, headers=mine).headers["X-Frame-Options"] == "DENY", path
        asked = client.options("/v1/chat/completions", headers=elsewhere)
        assert (asked.headers.get("Access-Control-Allow-Origin") == "*") is public
        assert ("*" in asked.headers.get("Access-Control-Allow-Headers", "").split(", ")) is public
        models = client.get("/v1/models", headers={**elsewhere, **mine})
        assert (models.headers.get("Access-Control-Allow-Origin") == "*") is public
        assert client.get("/reconcile", headers={**elsewhere, **mine}).headers["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Origin" not in client.get("/", headers={**elsewhere, **mine}).headers
        assert "Access-Control-Allow-Credentials" not in models.headers
    finally:
        app.extensions[JOBS].stop()
        kg.close()


def test_a_server_for_this_machine_is_asked_by_pages_of_this_machine_only(tmp_path):
    kg = small_graph(tmp_path, server=ServerSettings())
    app = create_app(kg, access=Access.on("127.0.0.1"))
    client = app.test_client()
    try:
        for path in ("/v1/models", "/mcp", "/reconcile"):
            for origin, allowed in (("http://localhost:3333", True), ("https://elsewhere.example", False)):
                headers = client.options(path, headers={"Origin": origin, "Host": "127.0.0.1"}).headers
                assert headers.get("Access-Control-Allow-Origin") == (origin if allowed else None), (path, origin)
    finally:
        app.extensions[JOBS].stop()
        kg.close()


def test_the_index_finds_the_nearest_of_many():
    names = [(f"urn:{n}", f"Hotel {n} 号") for n in range(3_000)]
    index = ReconciliationIndex([*names, ("urn:x", "西栅景区"), ("urn:x", "Xizha")])
    assert index.nearest("西栅景区")[0] == ("urn:x", 1.0)
    assert index.nearest("xizha")[0] == ("urn:x", 1.0)
    assert index.nearest("hotel 2999号")[0][0] == "urn:2999"
    assert index.nearest("") == []
    assert ReconciliationIndex([]).nearest("a") == []
