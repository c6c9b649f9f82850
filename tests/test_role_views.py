"""What a role with hidden documents and graphs sees, by every door: the workspace as though those had never been."""

import json
import re
import threading
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from pyoxigraph import Literal, NamedNode, Triple
from test_doors import declared, filled, offered
from werkzeug.test import Client as WsgiClient
from workspaces import new_workspace

from kgplatform.documents.records import Judgement, Review
from kgplatform.errors import ConfigError
from kgplatform.graph import KnowledgeGraph
from kgplatform.server.access import Access, HiddenParts, Rights, Token
from kgplatform.server.app import JOBS, create_app, handover, rights_of
from kgplatform.server.tenants import Tenant, Tenants, paths_of
from kgplatform.settings import ServerSettings
from kgplatform.store.dataset import Change
from kgplatform.vocab import GEO, LABEL, TRAVEL
from kgplatform.workspace.review import judge

OPEN_NOTES = {
    "inn.txt": "Lakeside Inn is a hotel in Wuzhen. It has 24 rooms. Lakeside Inn is near Xizha.",
    "通安.txt": "通安客栈是一家酒店，位于乌镇。通安客栈有80间客房。",
    "halls.csv": "name,roomCount,locatedIn\nCanal Hall,12,Wuzhen\n",
}
HIDDEN_NOTES = {
    "kestrel.txt": "Falcon Palace is a hotel in Wuzhen. Falcon Palace is near Goshawk Garden. Goshawk Garden is a"
    " garden in Wuzhen. Lakeside Inn is a hotel in Wuzhen. It has 24 rooms. Lakeside Inn is near Goshawk Garden.",
    "隼.txt": "隼宫酒店是一家酒店，位于乌镇。隼宫酒店在鹰园附近。鹰园是一座园林。通安客栈有80间客房。",
    "merlin.csv": "name,roomCount,locatedIn\nMerlin Court,31,Wuzhen\n",
}
SECRETS = ("falcon", "goshawk", "kestrel", "隼", "鹰园", "merlin", "harrier", "osprey")
"""Names that only hidden documents, tables and graphs have, in lower case."""
HIDDEN = ("guest secret/*", "guest https://example.org/hidden/*")
BASE = "https://example.org/kg/"
HARRIER = NamedNode("https://example.org/hidden/harrier")
ROOMS = NamedNode(f"{TRAVEL}roomCount")
EXPORTED = ("nquads", "trig", "turtle", "ntriples", "rdfxml", "jsonld", "graphml", "gexf")
LIKE_TIME = re.compile(r"Time>|atTime|dateTime")


def files_in(folder: Path) -> Path:
    hidden = {f"secret/{name}": text for name, text in HIDDEN_NOTES.items()}
    for name, text in {**OPEN_NOTES, **hidden}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def named(kg, name):
    return NamedNode(kg.show(name).iri.value)


def judged(kg, statement, file, judgement, *corrections):
    document = kg.registry.find(file).document.iri
    chunk = kg.registry.chunks(document)[0]
    review = Review(statement, judgement, document, chunk.iri, 0, 10, "", "ann", "2026-01-01T00:00:00Z", corrections)
    judge(kg.dataset, kg.registry, review)


def whole_workspace(folder: Path, files: Path) -> KnowledgeGraph:
    """A workspace in which something is hidden in every way that there is."""
    kg = KnowledgeGraph(new_workspace(folder, settings="journal = true\n[versions]\nevery_seconds = 0"))
    list(kg.add(files_in(files)))
    falcon, inn, wuzhen = (named(kg, name) for name in ("Falcon Palace", "Lakeside Inn", "Wuzhen"))
    near = NamedNode(f"{GEO}near")
    judged(kg, Triple(falcon, near, named(kg, "Goshawk Garden")), "kestrel.txt", Judgement.REJECTED)
    corrected = Triple(falcon, NamedNode(f"{GEO}description"), Literal("the osprey house"))
    judged(kg, Triple(falcon, NamedNode(f"{GEO}locatedIn"), wuzhen), "kestrel.txt", Judgement.CORRECTED, corrected)
    kg.versions.rest()
    kg.dataset.commit(Change(added={HARRIER: [Triple(inn, LABEL, Literal("Harrier House"))]}))
    kg.find_communities()
    kg.versions.rest()
    return kg


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    place = tmp_path_factory.mktemp("roles")
    with whole_workspace(place / "kg", place / "files") as kg:
        yield kg


def statements(kg):
    lines = kg.dump().decode().splitlines()
    return {line for line in lines if not LIKE_TIME.search(line)}


def test_a_view_is_the_workspace_as_though_the_hidden_had_never_been_there(whole, tmp_path):
    with KnowledgeGraph(new_workspace(tmp_path / "never")) as never:
        list(never.add(*(whole.folder.parent / "files" / name for name in OPEN_NOTES)))
        never.find_communities()
        with whole.without(HiddenParts(("secret/*", "https://example.org/hidden/*")), tmp_path / "view") as view:
            assert statements(view) == statements(never)
            assert view.dataset.violations() == (frozenset(), frozenset())
            assert {one.source for one in view.registry.summaries()} == {
                one.source for one in never.registry.summaries()
            }
            assert view.registry.linking() == never.registry.linking()
            both = Triple(named(view, "Lakeside Inn"), ROOMS, Literal(24))  # a hidden document says it too
            assert (len(whole.dataset.evidence_graphs(both)), len(view.dataset.evidence_graphs(both))) == (2, 1)


@pytest.mark.slow
def test_no_file_of_a_view_holds_what_is_hidden(whole, tmp_path):
    whole.without(HiddenParts(("secret/*", "https://example.org/hidden/*")), tmp_path / "view").close()
    for path in (tmp_path / "view").rglob("*"):
        if path.is_file():
            data = path.read_bytes().lower()
            assert [word for word in SECRETS if word.encode() in data] == [], path


@pytest.mark.slow
def test_rejections_and_corrections_of_visible_documents_hold_in_a_view(tmp_path):
    with whole_workspace(tmp_path / "kg", tmp_path / "files") as kg:
        inn = named(kg, "Lakeside Inn")
        struck, stated = Triple(inn, ROOMS, Literal(24)), Triple(inn, ROOMS, Literal(25))
        judged(kg, struck, "inn.txt", Judgement.CORRECTED, stated)
        with kg.without(HiddenParts(("secret/*",)), tmp_path / "view") as view:
            assert view.dataset.evidence_graphs(struck)
            assert (view.store.has(struck), view.store.has(stated)) == (False, True)


def settings_of(*tokens, **more):
    return ServerSettings(timeout_seconds=20, tokens=tokens, hidden=HIDDEN, **more)


@pytest.fixture(scope="module")
def tokens():
    return {role: Token.make(role, role) for role in ("guest", "read", "write", "admin")}


def tenant_of(kg, server, *, path="", access=None):
    kg.workspace.settings = replace(kg.workspace.settings, server=server)
    access = access or Access()
    return Tenant(
        kg,
        rights_of(kg.settings, access),
        lambda made, rights, view: create_app(made, access=access, rights=rights, view=view),
        lambda app: app.extensions[JOBS].stop(),
        path=path,
    )


@pytest.fixture(scope="module")
def served(whole, tokens):
    tenant = tenant_of(whole, settings_of(*(line for _, line in tokens.values()), public_reads=False))
    yield tenant
    tenant.close()


def shown(tokens, role):
    return {"Authorization": f"Bearer {tokens[role][0]}"} if role else {}


def ask(tenant, tokens, role, address, method="GET", **how):
    headers = {**shown(tokens, role), **how.pop("headers", {})}
    with WsgiClient(tenant).open(address, method=method, headers=headers, **how) as response:
        return response.status_code, response.get_data(as_text=True)


def fishing(kg):  # noqa: C901, PLR0915 (each line another way to ask)
    """Requests that look for what is hidden, by every address: with names, IRIs and times that only it has."""
    falcon, document = named(kg, "Falcon Palace").value, kg.registry.find("kestrel.txt").document.iri.value
    chunk = kg.registry.chunks(NamedNode(document))[0].iri.value
    graphs = (
        chunk,
        document,
        f"{BASE}graph/table/merlin",
        HARRIER.value,
        f"{BASE}graph/rejected",
        f"{BASE}graph/reviews",
    )
    words = ("Falcon Palace", "隼宫酒店", "Merlin Court")
    everything = "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
    for address, method in sorted(declared()):
        plain = filled(address)
        yield plain, method, {}
        for word in words:
            known = dict.fromkeys(("q", "query", "text", "question", "name", "entity", "id", "prefix"), word)
            yield f"{plain}?{urlencode(known)}", method, {}
        yield f"{plain}?{urlencode({'iri': falcon, 'graph': chunk, 'id': falcon, 'at': '1'})}", method, {}
        yield plain.replace("none", quote(falcon.removeprefix(f"{BASE}entity/"))), method, {}
        yield plain.replace("none", quote(document.rpartition("/")[2])), method, {}
    for graph in graphs:
        yield f"/graphs?{urlencode({'graph': graph})}", "GET", {}
        yield f"/sparql?{urlencode({'query': 'SELECT * { ?s ?p ?o }', 'default-graph-uri': graph})}", "GET", {}
        yield f"/export?{urlencode({'graph': graph, 'format': 'nq'})}", "GET", {}
    for accept in ("application/sparql-results+json", "text/csv", "text/html"):
        yield f"/sparql?{urlencode({'query': everything})}", "GET", {"headers": {"Accept": accept}}
    yield f"/sparql?{urlencode({'query': f'DESCRIBE <{falcon}>'})}", "GET", {}
    for at in ("1", "2", "2026-11-01", "2030-01-01"):
        yield f"/sparql?{urlencode({'query': everything, 'at': at})}", "GET", {}
        yield f"/graphs?{urlencode({'graph': chunk, 'at': at})}", "GET", {}
    for name in EXPORTED:
        yield f"/export?format={name}", "GET", {}
    yield "/api/run", "POST", {"json": {"query": everything}}
    yield "/api/plan", "POST", {"json": {"query": everything}}
    yield "/api/names", "POST", {"json": {"iris": [falcon, document, chunk]}}
    for word in words:
        queries = {"a": {"query": word}, "b": {"query": word, "type": f"{TRAVEL}Hotel"}}
        yield "/reconcile", "POST", {"data": {"queries": json.dumps(queries)}}
        yield (
            "/reconcile",
            "POST",
            {"data": {"extend": json.dumps({"ids": [falcon], "properties": [{"id": f"{GEO}near"}]})}},
        )
        yield f"/reconcile/suggest/entity?prefix={quote(word)}", "GET", {}
        asked = [{"role": "user", "content": f"What is near {word}?"}]
        yield "/v1/chat/completions", "POST", {"json": {"model": "kgplatform", "messages": asked}}
        yield "/v1/chat/completions", "POST", {"json": {"model": "kgplatform", "messages": asked, "stream": True}}
        yield f"/api/ask?{urlencode({'question': f'What is near {word}?'})}", "GET", {}
        yield f"/ask?{urlencode({'question': f'What is near {word}?'})}", "GET", {}
        yield f"/api/search?{urlencode({'text': word})}", "GET", {}
        yield f"/api/describe?{urlencode({'name': word})}", "GET", {}
        why = {"subject": word, "predicate": f"{GEO}locatedIn", "object": "Wuzhen"}
        yield f"/api/why?{urlencode(why)}", "GET", {}
        calls = {
            "ask": {"question": f"What is near {word}?"},
            **{
                "search": {"text": word},
                "query": {"query": everything},
                "describe": {"name": word},
                "why": why,
                "schema": {},
            },
        }
        for tool, given in calls.items():
            yield message("tools/call", name=tool, arguments=given)
    for entity in (*words, falcon):
        yield message("resources/read", uri=f"kgplatform://entity/{quote(entity, safe='')}")
    for hidden in (document, *HIDDEN_NOTES):
        yield message("resources/read", uri=f"kgplatform://document/{quote(hidden, safe='')}")
    yield message("resources/list")
    yield message("resources/templates/list")
    for after in ("0", "1"):
        yield f"/changes?after={after}", "GET", {}
        yield f"/changes?after={after}", "GET", {"headers": {"Accept": "application/rdf-patch"}}


def message(method, **params):
    """A message to the tools for language models."""
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return "/mcp", "POST", {"json": call, "headers": {"Accept": "application/json, text/event-stream"}}


def told(request, said):
    """The secrets in an answer that were not in the request itself, which pages repeat."""
    address, _, how = request
    asked = f"{address} {json.dumps(how, ensure_ascii=False)}".lower()
    asked += " " + quote(asked) + "隼宫酒店" * ("%e9%9a%bc" in asked) + "falcon" * ("baf9f0aa" in asked)
    return [word for word in SECRETS if word in said.lower() and word not in asked]


def probes(kg):
    """For each door and tool a request whose answer tells whoever sees everything of what is hidden, by name."""
    falcon = named(kg, "Falcon Palace")
    document = kg.registry.find("kestrel.txt").document.iri.value
    chunk = kg.registry.chunks(NamedNode(document))[0].iri.value
    number, early = kg.store.version, max(one.number for one in kg.versions.listed() if not one.is_current)
    entity = quote(falcon.value.removeprefix(f"{BASE}entity/"))
    everything = "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
    near, queries = "What is near Lakeside Inn?", {"a": {"query": "Garden"}}
    asked = {"messages": [{"role": "user", "content": near}]}
    why = {"subject": "Lakeside Inn", "predicate": f"{GEO}near", "object": named(kg, "Goshawk Garden").value}
    calls = {
        "ask": {"question": near},
        "search": {"text": "near Garden"},
        "query": {"query": everything},
        "describe": {"name": "Lakeside Inn"},
        "why": why,
    }
    by_get = {
        "sparql": ("/sparql", {"query": everything}),
        "sparql of an earlier state": ("/sparql", {"query": everything, "at": early}),
        "graph store": ("/graphs", {"graph": chunk}),
        "graph store, the default graph": ("/graphs", {"default": ""}),
        "api ask": ("/api/ask", {"question": near}),
        "api search": ("/api/search", {"text": "near Garden"}),
        "api describe": ("/api/describe", {"name": "Lakeside Inn"}),
        "api why": ("/api/why", why),
        "api suggest": ("/api/suggest", {"q": "fal"}),
        "reconciliation": ("/reconcile", {"queries": json.dumps(queries)}),
        "reconciliation, suggestions": ("/reconcile/suggest/entity", {"prefix": "fal"}),
        "reconciliation, preview": ("/reconcile/preview", {"id": named(kg, "Lakeside Inn").value}),
        "resource": (f"/id/entity/{entity}.ttl", {}),
        "patches": ("/changes", {"after": 0}),
        "one patch": (f"/changes/{number}", {}),
        "page of an entity": (f"/id/entity/{quote(named(kg, 'Lakeside Inn').value.rpartition('/')[2])}", {}),
        "page of a class": ("/resource", {"iri": f"{TRAVEL}Hotel"}),
        "page of documents": ("/documents", {}),
        "page of a document": (f"/documents/{document.rpartition('/')[2]}", {}),
        "page of a search": ("/search", {"q": "Garden"}),
        "page of an answer": ("/ask", {"question": near, "plain": 1}),
        "page of passages": ("/retrieval", {"question": "near Garden"}),
        "page of communities": ("/communities", {}),
        "page of the graph": ("/explore", {"entity": named(kg, "Lakeside Inn").value}),
        "page of changes": ("/changes", {}),
        "embedded rows": ("/embed", {"query": everything}),
        **{f"export as {name}": ("/export", {"format": name}) for name in ("nquads", "graphml")},
    }
    for name, (address, given) in by_get.items():
        page = {"headers": {"Accept": "text/html"}} if name.startswith(("page", "embed")) else {}
        yield name, (f"{address}?{urlencode(given)}", "GET", page)
    yield "api run", ("/api/run", "POST", {"json": {"query": everything}})
    for streamed in (False, True):
        yield f"chat {streamed}", ("/v1/chat/completions", "POST", {"json": {**asked, "stream": streamed}})
    for tool, given in calls.items():
        yield f"tool {tool}", message("tools/call", name=tool, arguments=given)
    yield "tool resources", message("resources/list")
    yield "tool resource, a thing", message("resources/read", uri="kgplatform://entity/Lakeside%20Inn")
    yield "tool resource, a document", message("resources/read", uri="kgplatform://document/kestrel.txt")


def test_every_door_and_tool_tells_a_reader_of_the_hidden_and_the_role_nothing(whole, served, tokens):
    blind, leaks = [], []
    for name, request in probes(whole):
        address, method, how = request
        if not told(request, ask(served, tokens, "read", address, method, **dict(how))[1]):
            blind.append(name)
        if found := told(request, ask(served, tokens, "guest", address, method, **dict(how))[1]):
            leaks.append((name, found))
    assert leaks == []
    assert blind == []  # else the request shows nothing, and would not notice a leak


def test_the_feeds_of_changes_are_not_for_a_role_that_sees_a_part(whole, served, tokens):
    for address in ("/changes?after=0", "/changes/1", "/ldes"):
        for accept in ("*/*", "application/rdf-patch", "text/event-stream"):
            status, said = ask(served, tokens, "guest", address, headers={"Accept": accept})
            assert (status, told((address, "GET", {}), said)) == (404, []), (address, accept)
    headers = {**shown(tokens, "read"), "Accept": "text/event-stream"}
    heard, events = "", WsgiClient(served).get("/changes?after=0", headers=headers, buffered=False)
    with events:
        pieces = iter(events.response)
        while "Falcon" not in heard:
            heard += next(pieces).decode()


@pytest.mark.slow
def test_a_role_with_hidden_graphs_learns_nothing_of_them_by_any_address_or_tool(whole, served, tokens):
    leaks, seen = [], set()
    for request in fishing(whole):
        address, method, how = request
        if method in ("GET", "HEAD") or how:
            status, said = ask(served, tokens, "guest", address, method, **dict(how))
            if found := told(request, said):
                leaks.append((address, method, status, found))
            if re.match(r"/(sparql|export|api/(search|describe|ask)|mcp|reconcile|v1|graphs)", address):
                status, said = ask(served, tokens, "read", address, method, **dict(how))
                seen |= {address.split("?")[0] for word in told(request, said)}
    assert leaks == []
    assert seen >= {"/sparql", "/export", "/api/search", "/api/describe", "/api/ask", "/mcp", "/reconcile", "/graphs"}
    assert seen >= {"/v1/chat/completions"}  # else nothing is shown: whoever may see it all is told


def test_a_role_with_hidden_graphs_sees_no_more_by_the_main_doors_and_writes_nowhere(whole, served, tokens):
    everything = (
        f"/sparql?{urlencode({'query': 'SELECT (COUNT(*) AS ?n) { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }'})}"
    )
    counts = {role: json.loads(ask(served, tokens, role, everything)[1]) for role in ("guest", "read")}
    guest, reader = (int(found["results"]["bindings"][0]["n"]["value"]) for found in counts.values())
    assert guest < reader
    for address, method in sorted(declared()):
        if method != "GET" and declared()[address, method] > 1:
            assert ask(served, tokens, "guest", filled(address), method)[0] == 403, (address, method)
    assert 'kgplatform_documents{state="processed"} 3.0' in ask(served, tokens, "guest", "/metrics")[1]
    assert 'kgplatform_documents{state="processed"} 6.0' in ask(served, tokens, "read", "/metrics")[1]
    for address in (
        "/",
        "/documents",
        "/communities",
        "/ontology",
        f"/resource?{urlencode({'iri': f'{TRAVEL}Hotel'})}",
        "/api/completion",
    ):
        assert told((address, "GET", {}), ask(served, tokens, "guest", address)[1]) == [], address
    assert offered(served.app) == set(declared())
    assert ask(served, tokens, None, "/")[0] == 401


def test_an_entity_tag_of_another_view_is_no_match(served, tokens):
    address = f"/sparql?{urlencode({'query': 'SELECT * { GRAPH ?g { ?s ?p ?o } }'})}"
    with WsgiClient(served).get(address, headers=shown(tokens, "read")) as response:
        tag, vary = response.headers["ETag"], response.headers["Vary"]
    assert {"Authorization", "Cookie"} <= set(vary.split(", "))
    assert ask(served, tokens, "read", address, headers={"If-None-Match": tag})[0] == 304
    assert ask(served, tokens, "guest", address, headers={"If-None-Match": tag})[0] == 200


def test_the_application_over_the_whole_answers_no_role_that_is_to_see_a_part(whole, served, tokens):
    with served.app.test_client().get("/sparql?query=ASK%7B%7D", headers=shown(tokens, "guest")) as response:
        assert response.status_code == 403
    public = settings_of(public_role="guest")
    rights = Rights.of(public, local=False)
    assert not handover(whole, Access(), rights)._may_read("192.0.2.1")
    assert handover(whole, Access(), Rights.of(settings_of(), local=False))._may_read("192.0.2.1")
    assert rights.client("", "192.0.2.1", is_forwarded=False).view == "guest"


@pytest.mark.slow
def test_a_view_follows_its_workspace_while_it_is_read(tmp_path, tokens):
    files = files_in(tmp_path / "files")
    with KnowledgeGraph(new_workspace(tmp_path / "kg")) as kg:
        tenant = tenant_of(kg, settings_of(tokens["guest"][1], public_reads=True, public_role="guest"))
        try:
            done, faults = threading.Event(), []

            def read():
                while not done.is_set():
                    status, said = ask(tenant, tokens, "guest", "/api/search?text=rooms")
                    faults.extend([status] if status != 200 else [word for word in SECRETS if word in said.lower()])

            readers = [threading.Thread(target=read) for _ in range(3)]
            for reader in readers:
                reader.start()
            try:
                list(kg.add(files))
                deadline = time.monotonic() + 300  # a view rests three times as long as it took to make
                while "24 rooms" not in ask(tenant, tokens, None, "/api/search?text=rooms")[1]:
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
            finally:
                done.set()
                for reader in readers:
                    reader.join()
            assert faults == []
        finally:
            tenant.close()
        assert not (kg.folder / "views").exists()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"hidden": ("guest",)}, "server.hidden"),
        ({"hidden": ("read secret/*",)}, "a role of your own"),
        ({"tokens": (Token.make("ann", "gest")[1],), "hidden": ("guest x",)}, "no role 'gest'"),
        ({"public_role": "guest"}, "no role 'guest'"),
    ],
)
def test_a_role_that_nothing_is_said_of_is_refused(settings, said):
    with pytest.raises(ConfigError, match=said):
        Rights.of(ServerSettings(**settings), local=False)


@pytest.mark.slow
def test_a_reader_of_one_workspace_gets_nothing_of_another_by_any_address(whole, tmp_path, tokens):
    with KnowledgeGraph(new_workspace(tmp_path / "open")) as other:
        first = tenant_of(other, ServerSettings(tokens=(tokens["read"][1],), public_reads=False), path="/open")
        second = tenant_of(whole, ServerSettings(tokens=(tokens["write"][1],), public_reads=False), path="/kg")
        both = Tenants([first, second], Access())
        try:
            assert ask(both, tokens, "read", "/open/")[0] == 200
            for address, method in sorted(declared()):
                status, said = ask(both, tokens, "read", f"/kg{filled(address)}", method)
                assert status == 401 or address in ("/healthz", "/readyz"), (address, method, status)
                assert told((address, method, {}), said) == []
            listed = ask(both, tokens, "read", "/")[1]
            assert 'href="/open/"' in listed
            assert "/kg/" not in listed
            page = ask(both, tokens, "write", "/kg/", headers={"Accept": "text/html"})[1]
            assert re.findall(r'\b(?:href|src|action)="(/(?!kg/)[^"]*)', page) == []
            for path in set(re.findall(r'\b(?:href|src)="(/kg/[^"#]*)', page)):
                assert ask(both, tokens, "write", path.replace("&amp;", "&"), headers={"Accept": "*/*"})[0] == 200, path
        finally:
            first.close()
            second.close()
    with pytest.raises(ConfigError, match="rename the folder"):
        paths_of([Path("a/one"), Path("b/one")], ())
