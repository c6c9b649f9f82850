"""The operations behind every interface: run, compared with what describes them, and refused to who may not."""

import dataclasses
import inspect
import json

import click
import jsonschema_rs
import pytest
from interfaces import asked_workspace

from kgplatform.cli.main import COMMAND_LINE, main
from kgplatform.errors import ConfigError, NotFoundError
from kgplatform.graph import KnowledgeGraph
from kgplatform.server.access import Access, Client, Role, Token
from kgplatform.server.app import create_app
from kgplatform.server.interfaces.mcp_tools import ProtocolAnswers
from kgplatform.server.interfaces.operations import OPERATIONS, Caller, Operations, offered
from kgplatform.sparql.protocol import ProtocolError
from kgplatform.workspace.question_settings import AskOptions
from kgplatform.workspace.workspace import lending

HERE = {"Host": "localhost:8000"}
READER = Caller(Client("reader", Role.READ))
WRITER = Caller(Client("writer", Role.WRITE, by_bearer=True))
COUNT = "SELECT ?n { ?h travel:roomCount ?n } ORDER BY ?n"
CALLS = {
    "ask": {"question": "How many rooms does Lakeside Inn have?"},
    "search": {"text": "客房", "k": 3},
    "query": {"query": COUNT},
    "describe": {"name": "Lakeside Inn"},
    "why": {"subject": "Lakeside Inn", "predicate": "travel:roomCount", "object": "24"},
    "schema": {"language": "zh"},
}


@pytest.fixture(scope="module")
def kg(tmp_path_factory):
    with KnowledgeGraph(asked_workspace(tmp_path_factory.mktemp("asked") / "kg")) as made:
        yield made


@pytest.fixture(scope="module")
def client(kg):
    return create_app(kg, access=Access.on("127.0.0.1")).test_client()


def closed(schema):
    """The schema, with nothing allowed beside what it names at any depth."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(part) for key, part in schema.items()}
    return {**found, "additionalProperties": False} if "properties" in schema and "required" in schema else found


@pytest.mark.parametrize("name", list(CALLS))
def test_each_operation_gives_what_it_is_described_to_give_by_every_way(kg, client, name):
    operation, given = OPERATIONS[name], CALLS[name]
    jsonschema_rs.validate(operation.schema(), given)
    found = Operations(kg).call(name, given, READER)
    jsonschema_rs.validate(closed(operation.result_schema()), found)
    if operation.path:
        for reply in (
            client.get(operation.path, query_string=given, headers=HERE),
            client.post(operation.path, json=given, headers=HERE),
        ):
            assert reply.status_code == 200
            jsonschema_rs.validate(closed(operation.result_schema()), reply.get_json())
            if name in ("describe", "why"):
                assert reply.get_json() == found


PLACE = "SELECT ?place { ?h geo:locatedIn ?place . ?h travel:roomCount 24 }"


@pytest.mark.parametrize(
    ("name", "given", "holds"),
    [
        ("ask", {"question": "Who painted the Mona Lisa?"}, lambda found: found["verdict"] != "answered"),
        ("ask", {"question": "How many hotels are there?"}, lambda found: found["verdict"] == "answered"),
        ("search", {"text": "Lakeside Inn rooms"}, lambda found: found["passages"]),
        ("query", {"query": "ASK { ?h travel:roomCount 24 }"}, lambda found: found["boolean"] is True),
        ("query", {"query": "DESCRIBE ?h { ?h travel:roomCount 24 }"}, lambda found: found["turtle"]),
        ("query", {"query": PLACE}, lambda found: found["rows"][0]["place"]["type"] == "uri"),
        ("query", {"query": "SELECT ('x'@en AS ?a) (BNODE() AS ?b) {}"}, lambda x: x["rows"][0]["a"]["xml:lang"]),
        ("describe", {"name": "Wuzhen"}, lambda found: found["incoming"][0]["subjects"]),
        ("why", {"subject": "Lakeside Inn", "predicate": "a", "object": "Accommodation"}, lambda x: x["premises"]),
        ("update", {"update": "INSERT DATA {}"}, lambda found: found["done"]),
    ],
)
def test_what_an_operation_gives_is_described_to_its_last_part(kg, name, given, holds):
    found = Operations(kg).call(name, given, WRITER)
    jsonschema_rs.validate(closed(OPERATIONS[name].result_schema()), json.loads(json.dumps(found)))
    assert holds(found)


@pytest.mark.parametrize("caller", [READER, WRITER, Caller(Client("nobody", Role.NONE))])
def test_tools_are_the_operations_that_the_caller_may_call(kg, caller):
    tools = ProtocolAnswers(Operations(kg)).answer("tools/list", {}, caller)["tools"]
    told = [(tool["name"], tool["description"], tool["inputSchema"], tool["outputSchema"]) for tool in tools]
    assert told == [(item.name, item.text, item.schema(), item.result_schema()) for item in offered(caller)]
    assert [tool["name"] for tool in tools if not tool["annotations"]["readOnlyHint"]] == ["update"] * (
        caller is WRITER
    )


@pytest.mark.parametrize("name", ["ask", "describe", "why"])
def test_a_tool_and_the_command_line_give_what_the_operation_gives(kg, capsys, name):
    verb, given = {"describe": "show"}.get(name, name), CALLS[name]
    found = Operations(kg).call(name, given, READER)
    with lending(kg, "test"):
        assert main([verb, *given.values(), "-w", str(kg.folder), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out).keys() == found.keys()
    result = ProtocolAnswers(Operations(kg)).answer("tools/call", {"name": name, "arguments": given}, READER)
    assert result["structuredContent"].keys() == found.keys()
    if name != "ask":  # which says how long it took
        assert result["structuredContent"] == found


OPTIONS = {field.name for field in dataclasses.fields(AskOptions)}
ELSEWHERE = {
    "ask": {"phrase", "question", "using", "style", "view", "least_confidence", "drafts"},
    "search": set(),
    "query": {"query"},
    "describe": set(),
    "why": {"object"},
    "update": {"update"},
}
"""Arguments that Python calls otherwise: in `AskOptions`, by their position, or ``object_``."""
VERBS = {"describe": "show"}
NOT_IN_VERBS = {"query": {"max_rows"}, "describe": {"language"}}
"""What the command line has no option for: it prints all rows, and names in English."""


def test_python_and_the_command_line_take_what_the_operations_take(kg):
    """They are written by hand: an argument that is new in one of them has to be decided on in the others."""
    assert OPERATIONS.keys() - ELSEWHERE.keys() == {"schema"}  # Python has `kg.ontology`, the command line `show`
    context = click.Context(COMMAND_LINE)
    for name, others in ELSEWHERE.items():
        verb = COMMAND_LINE.get_command(context, VERBS.get(name, name))
        wanted = {argument.name for argument in OPERATIONS[name].arguments}
        method = set(inspect.signature(getattr(kg, VERBS.get(name, name))).parameters)
        assert wanted - others <= method, name
        assert others <= wanted, name
        if name == "ask":
            assert others - {"question"} <= OPTIONS
            assert "question" in method
        told = {str(item.name) for item in verb.params} | {item.metavar for item in verb.params if item.metavar}
        positional = {item.name for item in OPERATIONS[name].arguments if item.required}
        assert wanted - positional - NOT_IN_VERBS.get(name, set()) <= told, name
        assert not NOT_IN_VERBS.get(name, set()) & told, name


def test_python_the_command_line_and_the_operations_find_the_same(kg, capsys):
    call = Operations(kg).call

    def said(*words):
        with lending(kg, "test"):
            assert main([*words, "-w", str(kg.folder), "--format", "json"]) == 0
        return json.loads(capsys.readouterr().out)

    given = CALLS["search"]
    passages = call("search", given, READER)["passages"]
    assert [item.quote for item in kg.search(given["text"], given["k"])] == [item["quote"] for item in passages]
    printed = said("search", given["text"], "-k", str(given["k"]))
    assert [{name: item[name] for name in passages[0]} for item in printed] == passages  # and the file of each
    rows = call("query", CALLS["query"], READER)["rows"]
    assert said("query", "-e", COUNT)["results"]["bindings"] == rows
    assert [row[0].value for row in kg.query(COUNT).rows] == [row["n"]["value"] for row in rows]
    asked = call("ask", CALLS["ask"], READER)
    again = said("ask", CALLS["ask"]["question"])
    varied = {"seconds", "usage", "trace"}
    assert {key: value for key, value in again.items() if key not in varied} == {
        key: value for key, value in asked.items() if key not in varied
    }
    assert kg.ask(CALLS["ask"]["question"]).text == asked["answer"]
    for name, words in (("describe", ("show", "Lakeside Inn")), ("why", ("why", *CALLS["why"].values()))):
        assert said(*words) == call(name, CALLS[name], READER), name


def test_the_answers_are_those_of_the_graph_in_both_languages(kg):
    call = Operations(kg).call
    assert "24" in call("ask", CALLS["ask"], READER)["answer"]
    assert "80" in call("ask", {"question": "通安客栈有多少间客房？"}, READER)["answer"]
    assert [row["n"]["value"] for row in call("query", CALLS["query"], READER)["rows"]] == ["24", "80"]
    cut = call("query", {**CALLS["query"], "max_rows": "1"}, READER)
    assert (len(cut["rows"]), cut["truncated"]) == (1, True)
    assert "roomCount" in call("query", {"query": "DESCRIBE ?h WHERE { ?h travel:roomCount 24 }"}, READER)["turtle"]
    found = call("search", {"text": "通安客栈"}, READER)
    assert "通安客栈" in {item["label"] for item in found["entities"]}
    assert any("80" in item["quote"] for item in found["passages"])
    assert "酒店" in {item["label"] for item in call("schema", {"language": "zh"}, READER)["classes"]}


def test_openapi_is_made_from_the_operations(client):
    paths = client.get("/api/openapi.json", headers=HERE).get_json()["paths"]
    for operation in OPERATIONS.values():
        if not operation.path:
            continue
        told = paths[operation.path]["get"]
        assert (told["operationId"], told["summary"]) == (operation.name, operation.text)
        schemas = {item["name"]: item["schema"] for item in told["parameters"]}
        assert schemas == {item.alias or item.name: item.schema() for item in operation.arguments}
        answer = told["responses"]["200"]["content"]["application/json"]["schema"]
        assert answer == operation.result_schema()


def test_changing_takes_a_token_and_reading_a_reader(kg):
    operations, insert = Operations(kg), {"update": "INSERT DATA { <urn:a> <urn:b> 1 }"}
    local = Caller(Client("127.0.0.1", Role.ADMIN))  # somebody at this machine, without a token
    for caller in (READER, local, Caller(Client("nobody", Role.NONE))):
        assert "update" not in {item.name for item in offered(caller)}
        with pytest.raises(ProtocolError, match="needs a token with the role write"):
            operations.call("update", insert, caller)
    assert offered(Caller(Client("nobody", Role.NONE))) == ()
    assert operations.call("update", insert, WRITER)["done"]
    assert operations.call("query", {"query": "ASK { <urn:a> <urn:b> 1 }"}, READER)["boolean"]
    operations.call("update", {"update": "DELETE WHERE { <urn:a> ?p ?o }"}, WRITER)


@pytest.mark.parametrize(
    ("name", "given", "reason"),
    [
        ("ask", {}, "needs question"),
        ("ask", {"question": "a" * 1001}, "at most 1,000"),
        ("ask", {"question": "a", "using": "oracle"}, "there are auto"),
        ("search", {"text": "a", "k": 0}, "from 1 up to 100"),
        ("search", {"text": "a", "k": True}, "must be a number"),
        ("describe", {"name": ["a"]}, "must be a text"),
        ("schema", {"lang": "en"}, "no argument 'lang'"),
    ],
)
def test_arguments_that_cannot_be_are_refused_with_what_can(kg, name, given, reason):
    with pytest.raises(ConfigError, match=reason):
        Operations(kg).call(name, given, READER)


def test_what_is_not_there_is_named(kg, client):
    with pytest.raises(NotFoundError, match="Atlantis"):
        Operations(kg).call("describe", {"name": "Atlantis"}, READER)
    with pytest.raises(ProtocolError, match="there are ask, search"):
        Operations(kg).call("drop", {}, READER)
    assert client.get("/api/describe?name=Atlantis", headers=HERE).status_code == 404
    refused = client.post("/api/why", json=["x"], headers=HERE)
    assert (refused.status_code, refused.get_json()["detail"]) == (400, "the body is no JSON object")


def test_where_no_tokens_are_named_any_key_reads_and_where_they_are_the_wrong_one_is_told_so(kg, tmp_path):
    key, headers = {"Authorization": "Bearer x"}, {**HERE, "Content-Type": "application/sparql-update"}
    client = create_app(kg, access=Access.on("127.0.0.1")).test_client()
    assert client.get("/api/schema", headers={**HERE, **key}).status_code == 200
    update = client.post("/sparql", data="INSERT DATA { <urn:a> <urn:b> 1 }", headers={**headers, **key})
    assert update.status_code == 403
    assert "role write" in update.get_json()["detail"]
    _, line = Token.make("ann", "read")
    with KnowledgeGraph(asked_workspace(tmp_path / "kg", settings=f'[server]\ntokens = ["{line}"]')) as other:
        client = create_app(other, access=Access.on("127.0.0.1")).test_client()
        refused = client.get("/api/schema", headers={**HERE, **key})
    assert (refused.status_code, refused.get_json()["detail"]) == (401, "the token is not known here")
