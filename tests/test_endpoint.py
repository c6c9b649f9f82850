"""The SPARQL endpoint: queries and updates by the protocol, who may send them, and how often."""

import base64
import gzip
import json
import socket
import threading
from urllib.parse import quote, urlencode

import pytest
from pyoxigraph import NamedNode
from small_graph import BASE, small_graph, term

from kgplatform.errors import ConfigError
from kgplatform.server.access import Access, Rates, Rights, Role, Token
from kgplatform.server.app import PortTakenError, create_app, serve
from kgplatform.settings import ServerSettings
from kgplatform.sparql.protocol import GRAPHS, ROWS, ProtocolError, choose
from kgplatform.store.dataset import Change

LOCAL = Access.on("127.0.0.1")
HERE = {"Host": "localhost:8000"}
HOTELS = "SELECT ?hotel ?n WHERE { ?hotel travel:roomCount ?n } ORDER BY ?n"
RUNAWAY = 'SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . FILTER(CONCAT(STR(?c), STR(?f), STR(?i)) = "x") }'
ENDLESS = "INSERT { ?a ?b ?i } WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . FILTER(CONCAT(STR(?c), STR(?f)) = 'x') }"
FORM, QUERY, UPDATE = "application/x-www-form-urlencoded", "application/sparql-query", "application/sparql-update"
JSON, XML, CSV = "application/sparql-results+json", "application/sparql-results+xml", "text/csv; charset=utf-8"


@pytest.fixture(scope="module")
def kg(tmp_path_factory):
    made = small_graph(tmp_path_factory.mktemp("graph"), timeout_seconds=30)
    made.workers.solutions("ASK {}", timeout_seconds=60)  # by then a worker is there
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(kg):
    """A server that is open to others."""
    return create_app(kg).test_client()


@pytest.fixture(scope="module")
def local(kg):
    """A server on loopback, which programs of this machine may write to."""
    return create_app(kg, access=LOCAL).test_client()


def ask(client, query, **headers):
    response = client.get("/sparql", query_string={"query": query}, headers={**HERE, **headers})
    assert response.data is not None  # read to its end, so that its worker is free
    return response


def answer(client, query, **options):
    return ask(client, query, **options).get_json(force=True)


def accepting(client, query, accept, **headers):
    return ask(client, query, Accept=accept, **headers)


def update(client, text, parameters="", **headers):
    return client.post(f"/sparql{parameters}", data=text.encode(), content_type=UPDATE, headers={**HERE, **headers})


# queries


def test_a_query_is_taken_in_each_of_the_three_ways(client):
    direct = {"data": HOTELS.encode(), "content_type": QUERY}
    for response in (
        ask(client, HOTELS),
        client.post("/sparql", data={"query": HOTELS}),
        client.post("/sparql", **direct),
    ):
        assert (response.status_code, response.content_type) == (200, JSON)
        rows = json.loads(response.data)["results"]["bindings"]
        assert [row["n"]["value"] for row in rows] == ["3", "12", "24", "80"]
    for query, expected in (('ASK { FILTER("%40" = "%" ) }', False), ('ASK { FILTER(STRLEN("%40") = 3) }', True)):
        form = client.post("/sparql", data=urlencode({"query": query}), content_type=FORM)
        assert form.get_json(force=True)["boolean"] is expected  # percent signs are decoded once
    head = client.head("/sparql", query_string={"query": HOTELS})
    assert (head.status_code, head.content_type, head.data) == (200, JSON, b"")


GRAPH = "CONSTRUCT WHERE { ?s travel:roomCount ?o }"


@pytest.mark.parametrize(
    ("query", "accept", "expected"),
    [
        *((HOTELS, accept, accept) for accept in (JSON, XML)),
        *((HOTELS, accept, JSON) for accept in ("application/json", "*/*", "")),
        *((HOTELS, accept, CSV) for accept in ("text/csv", "text/*", "*/*;q=0.1, text/csv")),
        (HOTELS, "text/tab-separated-values", "text/tab-separated-values; charset=utf-8"),
        (HOTELS, f"text/csv;q=0.4, {XML};q=0.9", XML),
        (HOTELS, f"{JSON};q=0, */*", XML),
        *((GRAPH, name, f"{name}; charset=utf-8") for name in ("text/turtle", "application/trig")),
        *((GRAPH, name, f"{name}; charset=utf-8") for name in ("application/n-triples", "application/n-quads")),
        *((GRAPH, name, name) for name in ("application/rdf+xml", "application/ld+json")),
        (GRAPH, "*/*", "text/turtle; charset=utf-8"),
    ],
)
def test_an_answer_comes_in_the_format_that_is_liked_best(client, query, accept, expected):
    response = accepting(client, query, accept)
    assert (response.status_code, response.content_type) == (200, expected)
    assert "Accept" in response.headers["Vary"]
    assert response.data


def test_formats_by_name_the_more_exact_range_and_what_cannot_be_written(client):
    response = client.get("/sparql", query_string={"query": HOTELS, "format": "tsv"}, headers={"Accept": JSON})
    assert response.data.startswith(b"?hotel\t?n\n")
    response = accepting(client, HOTELS, "image/png")
    assert response.status_code == 406
    assert all(offer.media_type in response.get_json(force=True)["detail"] for offer in ROWS)
    assert client.get("/sparql", query_string={"query": GRAPH, "format": "png"}).status_code == 406
    assert choose("text/*;q=0.9, text/csv;q=0.1, text/tab-separated-values", ROWS).name == "tsv"
    assert choose("text/turtle;q=bad", GRAPHS) is None
    assert choose(",;,", ROWS) is None
    refused = accepting(client, "CONSTRUCT { <a> <b> <<( <c> <d> 1 )>> } {}", "application/ld+json")
    assert refused.status_code == 400
    assert "Turtle" in refused.get_json(force=True)["detail"]


def test_a_syntax_error_is_400_with_line_column_and_the_line(client):
    response = ask(client, "SELECT *\nWHERE { ?s nosuch:p ?o }")
    problem = response.get_json(force=True)
    assert (response.status_code, response.content_type) == (400, "application/problem+json")
    assert (problem["line"], problem["status"], problem["text"]) == (2, 400, "WHERE { ?s nosuch:p ?o }")
    assert "prefix" in problem["detail"]
    text = accepting(client, "SELECT", "text/csv")
    assert text.status_code == 400
    assert text.content_type.startswith("text/plain")
    assert text.data.startswith(b"Syntax error: line 1")


@pytest.mark.parametrize(
    ("method", "path", "data", "content_type", "status"),
    [
        *(("GET", f"/sparql?query={text}", None, None, 400) for text in ("", "ASK%7B%7D&query=ASK%7B%7D", "%FF%FE")),
        *(("GET", f"/sparql?{text}", None, None, 400) for text in ("query=CLEAR+ALL", "update=CLEAR+ALL")),
        ("GET", "/sparql?query=ASK%7B%7D&timeout=soon", None, None, 400),
        *(("POST", "/sparql", text, FORM, 400) for text in ("", "update=CLEAR+ALL&update=CLEAR+ALL")),
        *(("POST", "/sparql", f"{text}", FORM, 400) for text in ("update=CLEAR+ALL&query=ASK+%7B%7D",)),
        ("POST", "/sparql", "update=CLEAR+ALL&default-graph-uri=urn:x", FORM, 400),
        ("POST", "/sparql", "query=ASK+%7B%7D&using-graph-uri=urn:x", FORM, 400),
        ("POST", "/sparql?query=ASK%7B%7D", "ASK{}", QUERY, 400),
        ("POST", "/sparql", b"\xff", QUERY, 400),
        *(("POST", "/sparql", "ASK {}", type_, 415) for type_ in (f"{QUERY}; charset=utf-16", "text/plain", None)),
        ("POST", "/sparql", "CLEAR ALL", f"{UPDATE}; charset=UTF-16", 415),
        *(("POST", "/sparql", "INSERT DATA {}", UPDATE, 403), ("POST", "/sparql", "update=CLEAR+ALL", FORM, 403)),
        *(("PUT", "/sparql", "ASK {}", QUERY, 405), ("DELETE", "/sparql", None, None, 405)),
        ("POST", "/sparql", b" " * 3_000_000, QUERY, 413),
    ],
)
def test_what_is_no_query_by_the_protocol_is_refused(client, kg, method, path, data, content_type, status):
    before = len(kg.store)
    response = client.open(path, method=method, data=data, content_type=content_type)
    assert response.status_code == status
    assert response.get_json(force=True)["detail"]
    if status == 405:
        assert "POST" in response.headers["Allow"]
    assert len(kg.store) == before


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
        "SELECT * " + "{" * 5000 + "}" * 5000,
        "ASK { FILTER(" + "!" * 100_000 + "true) }",
    ],
)
def test_a_harmful_query_is_400_and_the_next_one_is_answered(client, query):
    assert client.post("/sparql", data={"query": query}).status_code == 400
    assert answer(client, "ASK {}")["boolean"] is True


def test_a_query_that_takes_too_long_is_504_and_says_after_how_long(client):
    response = client.get("/sparql", query_string={"query": RUNAWAY, "timeout": "0.4"})
    assert response.status_code == 504
    assert response.get_json(force=True)["seconds"] == 0.4


def test_the_dataset_of_the_request_is_used(client, kg):
    chunk = kg.registry.chunks(kg.registry.documents()[-1].document.iri)[0].iri.value
    count, named = "SELECT (COUNT(*) AS ?n) { ?s travel:roomCount ?o }", "SELECT ?g { GRAPH ?g { ?s geo:near ?o } }"

    def values(query, name, **arguments):
        found = client.get("/sparql", query_string={"query": query, **arguments}).get_json(force=True)
        return {row[name]["value"] for row in found["results"]["bindings"]}

    assert values(count, "n") == {"4"}
    assert values(count, "n", **{"default-graph-uri": chunk}) == {"1"}
    assert values(named, "g", **{"named-graph-uri": chunk}) == {chunk}
    bad = client.get("/sparql", query_string={"query": count, "default-graph-uri": "no iri"})
    assert bad.status_code == 400


@pytest.mark.parametrize(
    ("query", "accept", "body"),
    [
        ("SELECT * { ?z a ?b . BIND(1 AS ?a) } LIMIT 1", "text/csv", b"z,b,a\r\n"),
        ("SELECT * # SELECT *\n{ ?z a ?b { SELECT * { ?z rdfs:label ?a } } } LIMIT 1", "text/csv", b"z,b,a\r\n"),
        ('SELECT (xsd:int("7") + 1 AS ?n) {}', "text/csv", b"n\r\n8\r\n"),
        ("CONSTRUCT { <s> <p> <图> } {}", "application/n-triples", f"<{BASE}s> <{BASE}p> <{BASE}图> .\n".encode()),
        ("CONSTRUCT { <a> <b> <<( <c> <d> 1 )>> } {}", "text/turtle", b""),
    ],
)
def test_columns_come_in_their_order_and_relative_iris_are_resolved(client, query, accept, body):
    response = accepting(client, query, accept)
    assert response.status_code == 200
    assert response.data.startswith(body)


def test_an_answer_is_kept_by_its_tag_until_the_store_changes(client, kg):
    first = ask(client, HOTELS)
    tag = first.headers["ETag"]
    assert tag.startswith('W/"')
    again = ask(client, HOTELS, **{"If-None-Match": f'"other", {tag}'})
    assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", tag)
    assert "Accept" in again.headers["Vary"]
    assert accepting(client, HOTELS, "text/csv", **{"If-None-Match": tag}).status_code == 200
    assert ask(client, HOTELS + " LIMIT 1", **{"If-None-Match": tag}).status_code == 200
    kg.store.update("INSERT DATA { <urn:a> <urn:b> <urn:c> }")
    changed = ask(client, HOTELS, **{"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["ETag"] != tag
    kg.store.update("DELETE DATA { <urn:a> <urn:b> <urn:c> }")
    for query in ("SELECT (NOW() AS ?t) {}", "SELECT (rand() AS ?x) {}", "SELECT (STRUUID() AS ?x) {}"):
        response = ask(client, query)  # changes by itself
        assert "ETag" not in response.headers
        assert response.headers["Cache-Control"] == "no-store"
    assert "ETag" in ask(client, "SELECT ?now { ?now ?p 'NOW()' } LIMIT 1").headers


@pytest.mark.parametrize("limit", [100, 40_000])
def test_gzip_is_used_where_it_is_taken_and_of_use(client, limit):
    query = f"SELECT ?s ?o {{ ?s ?p ?o . ?t rdfs:label ?u }} LIMIT {limit}"
    plain = accepting(client, query, "text/csv")
    packed = accepting(client, query, "text/csv", **{"Accept-Encoding": "gzip"})
    refused = accepting(client, query, "text/csv", **{"Accept-Encoding": "gzip;q=0"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert len(packed.data) < len(plain.data) / 3
    assert gzip.decompress(packed.data) == plain.data == refused.data
    for other in (plain, refused, ask(client, "ASK {}", **{"Accept-Encoding": "gzip"})):
        assert "Content-Encoding" not in other.headers


def test_a_browser_is_shown_the_query_page(client):
    browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    response = accepting(client, "ASK {}", browser)
    assert (response.status_code, response.headers["Location"]) == (303, "/query?query=ASK+%7B%7D")
    assert client.get("/sparql", headers={"Accept": browser}).headers["Location"] == "/query"


def test_other_pages_may_read_an_open_server(client):
    for path in ("/sparql", "/graphs"):
        response = client.options(path, headers={"Origin": "https://elsewhere.example"})
        assert response.status_code == 204
        assert response.headers["Access-Control-Allow-Origin"] == "*"
        assert {"PUT", "POST"} <= set(response.headers["Access-Control-Allow-Methods"].split(", "))
        assert "Authorization" in response.headers["Access-Control-Allow-Headers"]
    assert ask(client, "ASK {}").headers["Access-Control-Allow-Origin"] == "*"


def test_a_server_on_loopback_is_closed_to_pages_and_names_from_elsewhere(local):
    assert "Access-Control-Allow-Origin" not in ask(local, "ASK {}", Origin="https://elsewhere.example").headers
    found = ask(local, "ASK {}", Origin="http://localhost:5173").headers["Access-Control-Allow-Origin"]
    assert found == "http://localhost:5173"
    for name in ("evil.example", "localhost.evil.example", "[::", "127.0.0.1.example"):
        assert local.get("/", headers={"Host": name}).status_code == 421
    assert local.get("/", headers={"Host": "localhost:8000"}).status_code == 200


def test_a_port_that_is_taken_is_one_line_with_the_next_free_one(kg):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortTakenError, match=rf"port {port} on 127\.0\.0\.1 is taken; port \d+ is free") as caught:
            serve(kg, port=port)
    assert caught.value.free is not None
    assert "\n" not in str(caught.value)
    with pytest.raises(PortTakenError, match="not a port"):
        serve(kg, port=99999)


# updates


@pytest.mark.parametrize("way", ["form", "direct"])
def test_an_update_is_taken_in_both_ways_and_counts_as_stated_by_hand(local, kg, way):
    text = f'INSERT DATA {{ <{way}> rdfs:label "东西"@zh . GRAPH <urn:g> {{ <{way}> <b> 2 }} }}'
    form = {"data": {"update": text}, "headers": HERE}
    response = local.post("/sparql", **form) if way == "form" else update(local, text)
    assert (response.status_code, response.data) == (204, b"")
    assert answer(local, f'ASK {{ <{BASE}{way}> rdfs:label "东西"@zh }}')["boolean"]
    assert NamedNode(f"{BASE}{way}") in {quad.subject for quad in kg.store.quads(graph=kg.dataset.asserted)}
    assert kg.dataset.violations() == (frozenset(), frozenset())
    assert update(local, "").status_code == 204
    assert (
        update(local, f"DELETE WHERE {{ GRAPH <urn:g> {{ ?s ?p ?o }} }} ; DELETE WHERE {{ <{way}> ?p ?o }}").status_code
        == 204
    )


def test_what_an_update_deletes_though_evidence_holds_it_is_struck_out(local, kg):
    held = "ASK { ?s travel:roomCount ?n }"
    assert update(local, "DELETE WHERE { ?s travel:roomCount ?n }").status_code == 204
    assert not answer(local, held)["boolean"]
    assert len({quad.triple for quad in kg.store.quads(None, term("roomCount"), None, kg.dataset.rejected)}) == 4
    assert kg.dataset.violations() == (frozenset(), frozenset())
    kg.dataset.commit(Change(dropped=(kg.dataset.rejected,)))
    assert answer(local, held)["boolean"]


def test_the_dataset_of_an_update_can_be_given_with_the_request(local, kg):
    chunk = quote(kg.registry.chunks(kg.registry.documents()[-1].document.iri)[0].iri.value, safe="")
    text = "INSERT { GRAPH <urn:%s> { ?s travel:roomCount ?n } } WHERE { %s }"
    plain, named = "?s travel:roomCount ?n", "GRAPH ?g { ?s travel:roomCount ?n }"
    for graph, pattern, parameter in (("g", plain, "using-graph-uri"), ("h", named, "using-named-graph-uri")):
        assert update(local, text % (graph, pattern), f"?{parameter}={chunk}").status_code == 204
        assert len(list(kg.store.quads(graph=NamedNode(f"urn:{graph}")))) == 1
        assert update(local, f"DELETE WHERE {{ GRAPH <urn:{graph}> {{ ?s ?p ?o }} }}").status_code == 204
    conflict = update(local, "WITH <urn:g> " + text % ("g", plain), "?using-graph-uri=urn:g")
    assert conflict.status_code == 400
    assert "USING or WITH" in conflict.get_json(force=True)["detail"]
    assert update(local, text % ("g", plain), "?using-graph-uri=no+iri").status_code == 400


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *(("INSERT DATA { <a> <b> }", "expect"), ("CLEAR XYZ", ""), ("ASK {}", "query")),
        ("LOAD <http://127.0.0.1:9/>", "switched off"),
        ("INSERT { ?s ?p ?o } WHERE { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }", "switched off"),
        ("DELETE WHERE " + "{" * 5000 + "}" * 5000, "nests"),
        ("INSERT DATA { <a> <b> " + "<<( <a> <b> " * 5000 + "1" + " )>>" * 5000 + "}", "nests"),
    ],
)
def test_an_update_that_is_none_or_not_allowed_changes_nothing(local, kg, text, words):
    before = kg.store.version
    response = update(local, text)
    assert response.status_code == 400
    assert words in response.get_json(force=True)["detail"]
    assert kg.store.version == before


def test_an_update_that_would_not_end_is_stopped_before_it_reaches_the_store(local, kg):
    before = kg.store.version
    response = update(local, ENDLESS, "?timeout=0.5")
    assert response.status_code == 504
    problem = response.get_json(force=True)
    assert problem["limit"] == "server.timeout_seconds"
    assert 0.4 <= problem["elapsed_seconds"] < 15
    assert problem["help"]
    assert kg.store.version == before
    assert not list((kg.folder / "workers").glob("trial-*"))


def test_whoever_wrote_reads_it_even_while_somebody_else_is_writing(local, kg):
    assert update(local, "INSERT DATA { <urn:read> <urn:your> <urn:writes> }").status_code == 204
    holding, done = threading.Event(), threading.Event()
    read, written = "ASK { <urn:not> <urn:yet> <urn:there> }", "INSERT DATA { <urn:not> <urn:yet> <urn:there> }"

    def write():
        with kg.store.write_lock():
            kg.store.update(written)
            holding.set()
            done.wait(60)

    other = threading.Thread(target=write)
    other.start()
    holding.wait(60)
    try:
        assert answer(local, "ASK { <urn:read> <urn:your> <urn:writes> }")["boolean"]
        assert not answer(local, read)["boolean"]
    finally:
        done.set()
        other.join()
    assert answer(local, read)["boolean"]


# who may, and how often


def test_without_tokens_only_programs_on_this_machine_may_write(client, local):
    text = "INSERT DATA { <a> <b> 1 }"
    assert update(local, text).status_code == update(local, text, Origin="http://localhost:8000").status_code == 204
    for name, value in (
        *(("X-Forwarded-For", "203.0.113.9"), ("Forwarded", "for=203.0.113.9"), ("Via", "1.1 proxy")),
        *(("Origin", "https://evil.example"), ("Origin", "null"), ("Sec-Fetch-Site", "cross-site")),
    ):
        assert update(local, text, **{name: value}).status_code == 403, name
    far = local.post("/sparql", data=text, content_type=UPDATE, headers=HERE, environ_base={"REMOTE_ADDR": "192.0.2.7"})
    assert far.status_code == 403
    refused = update(client, text)
    assert refused.status_code == 403
    assert "kgplatform token" in refused.get_json(force=True)["detail"]


@pytest.fixture
def other(tmp_path):
    """A server with settings of its own."""
    made = []

    def create(**settings):
        made.append(small_graph(tmp_path, empty=True, server=ServerSettings(**settings)))
        return made[0], create_app(made[0], access=LOCAL).test_client()

    yield create
    made[0].close()


def test_with_tokens_each_role_may_do_its_part(other):
    secrets, lines = zip(*(Token.make(f"{role}er", role) for role in ("read", "write", "admin")), strict=True)
    _, client = other(tokens=lines, public_reads=False)
    expected = {None: (401, 401, 401), 0: (200, 403, 403), 1: (200, 204, 404), 2: (200, 204, 404)}
    for who, statuses in expected.items():
        headers = {} if who is None else {"Authorization": f"Bearer {secrets[who]}"}
        found = (
            ask(client, "ASK {}", **headers).status_code,
            update(client, "INSERT DATA { <a> <b> 1 }", **headers).status_code,
            client.delete("/api/queries/none", headers={**HERE, **headers}).status_code,
        )
        assert found == statuses, who
    for path in ("/", "/graphs?default", "/.well-known/void"):
        assert client.get(path, headers=HERE).status_code == 401
    wrong = ask(client, "ASK {}", Authorization="Bearer nonsense")
    assert wrong.status_code == 401
    assert "Bearer" in wrong.headers["WWW-Authenticate"]
    basic = f"Basic {base64.b64encode(f'anyone:{secrets[1]}'.encode()).decode()}"
    for headers, status in (
        ({"Authorization": basic}, 204),
        ({"Authorization": basic, "Origin": "https://evil.example"}, 403),
        ({"Authorization": f"Bearer {secrets[1]}", "Origin": "https://friend.example"}, 204),
    ):
        assert update(client, "INSERT DATA { <a> <b> 2 }", **headers).status_code == status


def test_a_token_is_kept_as_a_hash_and_a_line_that_is_none_stops_the_server():
    secret, line = Token.make("ci", "write")
    assert secret not in line
    assert Rights((Token.read(line),)).client(f"Bearer {secret}", "", is_forwarded=False).role is Role.WRITE
    for bad in ("ci write", "ci b@ss sha256:" + "0" * 64, "ci write " + "0" * 64, "ci write md5:" + "0" * 64):
        with pytest.raises(ConfigError, match="kgplatform token"):
            Token.read(bad)
    with pytest.raises(ProtocolError):
        Rights((Token.read(line),)).client("Bearer " + secret[:-1], "", is_forwarded=False)


def test_a_client_that_asks_too_often_is_told_when_to_come_again(other):
    _, client = other(requests_per_minute=3)
    assert [ask(client, "ASK {}").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert 1 <= int(ask(client, "ASK {}").headers["Retry-After"]) <= 21
    elsewhere = {"headers": HERE, "environ_base": {"REMOTE_ADDR": "127.0.0.2"}}
    assert client.get("/sparql?query=ASK%7B%7D", **elsewhere).status_code == 200
    now = [0.0]
    rates = Rates(60, clock=lambda: now[0])
    for number in range(64):  # the bucket fills as time passes
        if number in (60, 63):
            with pytest.raises(ProtocolError) as caught:
                rates.take("a")
            now[0] += 2.0
        else:
            rates.take("a")
    assert dict(caught.value.headers)["Retry-After"] == "2"


def test_a_writer_may_not_end_the_query_of_somebody_else(other):
    secret, line = Token.make("ann", "write")
    kg, client = other(tokens=(line,))
    headers, ended = {**HERE, "Authorization": f"Bearer {secret}"}, []
    for owner, status in (("bob", 403), ("ann", 204)):
        options = {"task": "query", "timeout_seconds": 1, "interrupt": lambda: ended.append("x")}
        name = kg.workers.running.enter("ASK {}", client=owner, **options)
        assert client.delete(f"/api/queries/{name}", headers=headers).status_code == status
        kg.workers.running.leave(name)
    assert ended == ["x"]
    assert client.get("/api/queries", headers=HERE).status_code == 401
