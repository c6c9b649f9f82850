"""Every address of the server, asked by each kind of client: who gets in is what is declared here, and nothing else."""

import re
import time
from contextlib import contextmanager

import pytest
from small_graph import small_graph
from workspaces import new_workspace

from kgplatform.graph import KnowledgeGraph
from kgplatform.server.access import Access, Role, Token
from kgplatform.server.app import JOBS, create_app
from kgplatform.settings import ServerSettings

OPEN = {"/healthz", "/readyz"}  # and /sign-in where a provider is named, which tests/test_sign_in.py asks
"""For anybody, whatever token they show."""
STATIC = {"/static/<path:filename>", "/static/built/<path:name>"}
"""Without a token; a wrong one is still refused."""
READ = {
    **dict.fromkeys(
        ("/", "/about", "/api", "/ask", "/communities", "/conformance", "/documents", "/evaluation"), "GET"
    ),
    **dict.fromkeys(("/explore", "/export", "/map", "/ontology", "/retrieval", "/search", "/resource"), "GET"),
    **dict.fromkeys(("/.well-known/void", "/context.jsonld", "/sitemap.xml", "/metrics", "/api/openapi.json"), "GET"),
    **dict.fromkeys(
        ("/class/<path:name>", "/property/<path:name>", "/id/<path:rest>", "/communities/<path:name>"), "GET"
    ),
    **dict.fromkeys(("/documents/<name>", "/documents/<name>/", "/evaluation/<name>", "/q/<slug>"), "GET"),
    **dict.fromkeys(
        ("/ask/<name>", "/ask/<name>/next", "/ask/<name>/path", "/changes", "/edits/<name>", "/embed"), "GET"
    ),
    **dict.fromkeys(("/ask/<name>", "/ask/<name>/next", "/ask/<name>/path", "/changes", "/embed"), "GET"),
    **dict.fromkeys(("/changes/<int:number>", "/ldes"), "GET"),
    **dict.fromkeys(("/graphs", "/graphs/<path:path>"), "GET"),
    **dict.fromkeys(("/query", "/sparql", "/sparql/"), "GET POST"),
    **dict.fromkeys(("/api/ask", "/api/describe", "/api/schema", "/api/search", "/api/why"), "GET POST"),
    **dict.fromkeys(("/api/why-empty", "/api/why-slow", "/api/with-places"), "GET POST"),
    **dict.fromkeys(("/api/completion", "/api/suggest", "/api/saved", "/api/versions", "/api/map/boundaries"), "GET"),
    **dict.fromkeys(("/api/jobs", "/api/jobs/events", "/api/ask/events"), "GET"),
    **dict.fromkeys(("/api/names", "/api/plan", "/api/run", "/api/validate"), "POST"),
    **dict.fromkeys(
        ("/api/run/<name>", "/api/ask/events/<name>"), "DELETE"
    ),  # of one's own, by a name that is a secret
    "/reconcile": "GET POST",
    **dict.fromkeys(("/reconcile/preview", "/reconcile/properties", "/reconcile/view"), "GET"),
    "/reconcile/suggest/<any(entity, type, property):kind>": "GET",
    **dict.fromkeys(("/mcp", "/v1/chat/completions"), "POST"),
    **dict.fromkeys(("/v1/models", "/v1/models/<path:name>"), "GET"),
}
WRITE = {
    **dict.fromkeys(("/graphs", "/graphs/<path:path>"), "DELETE PATCH POST PUT"),
    "/api/queries": "GET",
    "/api/queries/<name>": "DELETE",
    "/api/jobs/<action>": "POST",
    "/api/saved/<slug>": "DELETE PUT",
    **dict.fromkeys(("/ask/<name>/keep", "/ask/<name>/right", "/ask/<name>/wrong"), "POST"),
    **dict.fromkeys(("/communities", "/documents", "/documents/sample", "/documents/work", "/evaluation"), "POST"),
    **dict.fromkeys(("/documents/<name>/release", "/documents/<name>/retry"), "POST"),
    "/documents/<name>/statements/<key>": "POST",
    "/edit": "GET POST",
    "/edits/<name>/undo": "POST",
}
ACADEMIC = {
    **dict.fromkeys(("/courses", "/courses/<path:name>", "/literature", "/literature/compare"), "GET"),
}
"""What the plug-ins for courses and literature add; for readers."""
FILLED = {"name": "none", "path": "none", "filename": "none.css", "rest": "entity/none", "slug": "none", "key": "none"}
FILLED |= {"action": "pause", "kind": "entity", "number": "1"}


def declared():
    """Each address and method with the role that it needs."""
    needed = {(address, "GET"): Role.NONE for address in (*OPEN, *STATIC)}
    for role, table in ((Role.READ, READ), (Role.WRITE, WRITE)):
        for address, methods in table.items():
            needed |= dict.fromkeys(((address, method) for method in methods.split()), role)
    return needed


def close(kg, app):
    """Closes the workspace once nothing works for the application any more."""
    app.extensions[JOBS].stop()
    quiet, deadline = 0, time.monotonic() + 60
    while quiet < 20 and time.monotonic() < deadline:  # between its queries what counts the data is not listed
        quiet = 0 if kg.workers.running.listed() else quiet + 1
        time.sleep(0.05)
    kg.close()


def offered(app):
    return {(rule.rule, method) for rule in app.url_map.iter_rules() for method in rule.methods - {"HEAD", "OPTIONS"}}


def filled(address):
    return re.sub(r"<(?:[^<>]*:)?(\w+)>", lambda found: FILLED[found[1]], address)


@contextmanager
def unguarded(folder):
    """The application over a small graph without tokens, as on the loopback interface."""
    kg = small_graph(folder, server=ServerSettings(timeout_seconds=5))
    app = create_app(kg, access=Access.on("127.0.0.1"))
    yield app
    close(kg, app)


@pytest.fixture(scope="module")
def secrets():
    return {role: Token.make(role.name.lower(), role.name.lower()) for role in (Role.READ, Role.WRITE, Role.ADMIN)}


@pytest.fixture(scope="module", params=[False, True], ids=["closed", "public"])
def served(request, secrets, tmp_path_factory):
    settings = ServerSettings(
        timeout_seconds=5, tokens=tuple(line for _, line in secrets.values()), public_reads=request.param
    )
    kg = small_graph(tmp_path_factory.mktemp("doors"), server=settings)
    app = create_app(kg, access=Access())
    yield app, request.param
    close(kg, app)


def refusals(app, headers, needed):
    """The addresses with the statuses that they refuse whoever shows these headers with."""
    found = {}
    client = app.test_client()
    for address, method in sorted(needed):
        with client.open(
            filled(address), method=method, headers=headers, environ_base={"REMOTE_ADDR": "192.0.2.1"}
        ) as r:
            if r.status_code in (401, 403):
                found[address, method] = r.status_code
            assert r.status_code < 500 or r.status_code == 503, (address, method, r.status_code, r.text[:300])
    return found


def test_every_address_is_declared(served):
    assert offered(served[0]) == set(declared())


@pytest.mark.parametrize("who", [None, "wrong", Role.READ, Role.WRITE, Role.ADMIN], ids=str)
def test_every_address_lets_in_whom_it_is_declared_for(served, secrets, who):
    app, is_public = served
    needed = declared()
    secret = "wrong" if who == "wrong" else secrets[who][0] if who else ""
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    role = who if isinstance(who, Role) else Role.READ if is_public else Role.NONE
    expected = {door: 403 if secret else 401 for door, least in needed.items() if least > role}
    if who == "wrong":
        expected = {door: 401 for door in needed if door[0] not in OPEN}
    assert refusals(app, headers, needed) == expected


def test_a_page_of_another_origin_changes_nothing_by_any_address(tmp_path):
    with unguarded(tmp_path) as app:
        needed = {door for door, role in declared().items() if role > Role.READ}
        client = app.test_client()
        for address, method in sorted(needed):
            for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
                response = client.open(filled(address), method=method, headers={**headers, "Host": "127.0.0.1"})
                assert response.status_code == 403, (address, method)


def test_a_plain_key_lets_nobody_write_where_there_are_no_tokens(tmp_path):
    with unguarded(tmp_path) as app:
        expected = {door: 403 for door, role in declared().items() if role > Role.READ}
        host = {"Host": "127.0.0.1"}
        assert refusals(app, host, declared()) == expected
        assert refusals(app, {**host, "Authorization": "Bearer any"}, declared()) == expected


def test_an_earlier_state_needs_the_same_role(served):
    app, is_public = served
    client = app.test_client()
    paths = (
        "/sparql?query=ASK%7B%7D",
        "/graphs?default",
        "/resource?iri=urn:x",
        "/export?format=nq",
        "/id/entity/x.ttl?",
    )
    for path in (f"{path}&at=1" for path in paths):
        with client.get(path) as response:
            assert (response.status_code == 401) is not is_public, path


def test_what_plug_ins_add_is_for_readers(tmp_path, secrets):
    tokens = '", "'.join(line for _, line in secrets.values())
    settings = f'[server]\npublic_reads = false\ntokens = ["{tokens}"]'
    with KnowledgeGraph(new_workspace(tmp_path / "kg", "academic", settings=settings)) as kg:
        app = create_app(kg, access=Access())
        added = offered(app) - set(declared())
        assert {address for address, _ in added} == set(ACADEMIC)
        assert {method for _, method in added} == {"GET"}
        assert set(refusals(app, {}, added).values()) == {401}
        assert refusals(app, {"Authorization": f"Bearer {secrets[Role.READ][0]}"}, added) == {}
