"""``/graphs``: the Graph Store Protocol over HTTP, and what is sent to it to do harm."""

import io
import json
from urllib.parse import quote

import pyoxigraph as ox
import pytest
from pyoxigraph import NamedNode, RdfFormat
from small_graph import BASE, small_graph

from kgplatform.server.access import Access
from kgplatform.server.app import create_app
from kgplatform.settings import ServerSettings
from kgplatform.sparql.protocol import GRAPHS
from tests.conformance.manifests import same_graphs

HERE = {"Host": "localhost:8000"}
MINE = "?graph=http://example.org/%E5%9B%BE"
GRAPH = NamedNode("http://example.org/图")
TURTLE = '@prefix : <http://example.org/> . :x :p "西湖"@zh, [ :q 1 ] .'.encode()
OTHER = b"@prefix : <http://example.org/> . :y :p 2 ."


PATCH = "application/sparql-update"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    made = small_graph(tmp_path_factory.mktemp("graph"), timeout_seconds=5)
    yield made
    made.close()


@pytest.fixture
def kg(shared):
    for name in [GRAPH, *(g for g in shared.store.graphs() if g.value.startswith(f"{BASE}graphs/"))]:
        shared.store.apply(dropped=[name])
    return shared


@pytest.fixture
def client(kg):
    return create_app(kg, access=Access.on("127.0.0.1")).test_client()


def send(client, method, path, data=None, type_="text/turtle", **h):
    content_type = type_ if data is not None else None
    return client.open(f"/graphs{path}", method=method, data=data, content_type=content_type, headers={**HERE, **h})


def triples(data, media_type="text/turtle"):
    format_ = RdfFormat.from_media_type(media_type)
    return [quad.triple for quad in ox.parse(data, format=format_, base_iri="http://example.org/")]


def problem(response):
    return str(json.loads(response.data)["detail"])


def test_a_graph_is_put_read_merged_and_deleted(client):
    assert send(client, "GET", MINE).status_code == 404
    assert send(client, "HEAD", MINE).status_code == 404
    assert send(client, "PUT", MINE, TURTLE).status_code == 201
    read = send(client, "GET", MINE)
    assert read.status_code == 200
    assert read.content_type == "text/turtle; charset=utf-8"
    assert same_graphs(triples(read.data), triples(TURTLE))
    assert send(client, "POST", MINE, OTHER).status_code == 204
    assert same_graphs(triples(send(client, "GET", MINE).data), triples(TURTLE + OTHER))
    assert send(client, "PUT", MINE, OTHER).status_code == 204
    assert same_graphs(triples(send(client, "GET", MINE).data), triples(OTHER))
    assert send(client, "DELETE", MINE).status_code == 204
    assert send(client, "DELETE", MINE).status_code == 404
    assert send(client, "GET", MINE).status_code == 404


@pytest.mark.parametrize("offer", GRAPHS, ids=lambda offer: offer.name)
def test_each_format_goes_in_and_comes_out(client, offer):
    format_ = RdfFormat.from_media_type(offer.media_type)
    body = ox.serialize(triples(TURTLE), format=format_)
    assert send(client, "PUT", MINE, body, offer.media_type).status_code == 201
    for response in (
        send(client, "GET", MINE, Accept=offer.media_type),
        send(client, "GET", f"{MINE}&format={offer.name}"),
    ):
        assert response.content_type == offer.content_type
        assert same_graphs(triples(response.data, offer.media_type), triples(TURTLE))


def test_the_address_of_a_graph_is_its_name_below_the_base(client, kg):
    path = "/notes/" + quote("西湖 1.ttl")
    assert send(client, "PUT", path, b"<> <http://example.org/p> 1 .").status_code == 201
    (quad,) = kg.store.quads(graph=NamedNode(f"{BASE}graphs/notes/西湖%201.ttl"))
    assert quad.subject == quad.graph_name
    assert send(client, "GET", path).status_code == 200
    full = quote(f"{BASE}graphs/notes/西湖%201.ttl", safe="")
    assert send(client, "GET", f"?graph={full}").data == send(client, "GET", path).data


def test_a_new_graph_gets_a_name_and_says_where_it_is(client):
    response = send(client, "POST", "", TURTLE)
    assert response.status_code == 201
    where = response.headers["Location"]
    assert where.startswith("http://localhost:8000/graphs/")
    for path in (where.removeprefix("http://localhost:8000/graphs"), f"?graph={quote(where, safe='')}"):
        assert same_graphs(triples(send(client, "GET", path).data), triples(TURTLE))
    assert send(client, "POST", "", TURTLE).headers["Location"] != where


def test_a_dataset_sent_to_the_store_goes_where_it_says(client, kg):
    trig = "<urn:a> <urn:b> 1 . <http://example.org/图> { <urn:a> <urn:b> 2 }".encode()
    assert send(client, "POST", "", trig, "application/trig").status_code == 204
    assert len(list(kg.store.quads(graph=GRAPH))) == 1
    assert kg.store.has(ox.Triple(NamedNode("urn:a"), NamedNode("urn:b"), ox.Literal(1)))
    assert kg.dataset.violations() == (frozenset(), frozenset())
    assert send(client, "PUT", MINE, trig, "application/trig").status_code == 400


def test_several_files_are_taken_together_and_their_blank_nodes_are_apart(client):
    one = b'_:b <http://example.org/p> "1" .'
    files = {
        "a": (io.BytesIO(one), "a.ttl", "text/turtle"),
        "b": (io.BytesIO(one), "b.nt", "application/octet-stream"),
        "c": (io.BytesIO(b'{"@id": "urn:x", "urn:p": "y"}'), "c.jsonld", "application/ld+json"),
    }
    response = client.post(f"/graphs{MINE}", data=files, content_type="multipart/form-data", headers=HERE)
    assert response.status_code == 201
    assert len(triples(send(client, "GET", MINE).data)) == 3
    empty = client.post(f"/graphs{MINE}", data={"a": "text"}, content_type="multipart/form-data", headers=HERE)
    assert empty.status_code == 400


def test_the_default_graph_keeps_the_law(tmp_path):
    kg = small_graph(tmp_path)
    client = create_app(kg, access=Access.on("127.0.0.1")).test_client()
    rejected = f"?graph={quote(kg.dataset.rejected.value)}"

    def held(path="?default"):
        return triples(send(client, "GET", path).data)

    before = held()
    assert send(client, "POST", "?default", TURTLE).status_code == 204
    assert len(held()) == len(before) + 3
    assert send(client, "PUT", "?default", TURTLE).status_code == 204
    assert same_graphs(held(), triples(TURTLE))
    assert kg.dataset.violations() == (frozenset(), frozenset())
    assert set(held(rejected)) == set(before)
    assert send(client, "DELETE", rejected).status_code == 204
    assert len(held()) == len(before) + 3
    assert send(client, "DELETE", "?default").status_code == 204
    assert held() == []
    assert kg.dataset.violations() == (frozenset(), frozenset())
    kg.close()


# patches


def test_a_patch_changes_one_graph(client, kg):
    send(client, "PUT", MINE, OTHER)
    text = "DELETE { ?s ?p 2 } INSERT { ?s ?p 3 } WHERE { ?s ?p 2 }"
    assert send(client, "PATCH", MINE, text, PATCH).status_code == 204
    assert {t.object.value for t in triples(send(client, "GET", MINE).data)} == {"3"}
    assert send(client, "PATCH", "/new", "INSERT DATA { <urn:a> <urn:b> 1 }", PATCH).status_code == 201
    assert len(triples(send(client, "GET", "/new").data)) == 1
    assert send(client, "PATCH", "?default", "INSERT DATA { <urn:patched> <urn:b> 1 }", PATCH).status_code == 204
    assert kg.dataset.violations() == (frozenset(), frozenset())
    assert any(quad.subject == NamedNode("urn:patched") for quad in kg.store.quads(graph=kg.dataset.asserted))


@pytest.mark.parametrize(
    ("path", "text", "type_", "status"),
    [
        (MINE, "INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:b> 1 } }", PATCH, 400),
        *((MINE, "DROP ALL", PATCH, 400), (MINE, "INSERT DATA { <urn:a> }", PATCH, 400), (MINE, b"\xff", PATCH, 400)),
        (MINE, "{}", "application/json", 415),
        (f"?graph={quote(BASE)}graph/asserted", "INSERT DATA { <urn:a> <urn:b> 1 }", PATCH, 409),
    ],
)
def test_a_patch_that_is_none_is_refused(client, kg, path, text, type_, status):
    before = set(kg.store.quads())
    assert send(client, "PATCH", path, text, type_).status_code == status
    assert set(kg.store.quads()) == before


# conditions


def test_a_write_with_the_tag_of_an_older_state_is_refused(client):
    assert send(client, "PUT", MINE, OTHER, **{"If-None-Match": "*"}).status_code == 201  # only if it is not there
    assert send(client, "PUT", MINE, TURTLE, **{"If-None-Match": "*"}).status_code == 412
    tag = send(client, "GET", MINE).headers["ETag"]
    assert send(client, "GET", MINE, **{"If-None-Match": tag}).status_code == 304
    assert send(client, "GET", MINE, Accept="application/ld+json").headers["ETag"] != tag
    written = send(client, "PUT", MINE, TURTLE, **{"If-Match": tag})
    assert written.status_code == 204
    assert send(client, "PUT", MINE, OTHER, **{"If-Match": tag}).status_code == 412
    assert same_graphs(triples(send(client, "GET", MINE).data), triples(TURTLE))
    assert send(client, "DELETE", MINE, **{"If-Match": tag}).status_code == 412
    assert send(client, "DELETE", MINE, **{"If-Match": written.headers["ETag"]}).status_code == 204
    assert send(client, "PUT", MINE, OTHER, **{"If-Match": "*"}).status_code == 412


# what is refused


@pytest.mark.parametrize(
    ("method", "path", "type_", "status"),
    [
        *(("GET", "", None, 400), ("DELETE", "", None, 400), ("PUT", "", "text/turtle", 400)),
        *(("GET", path, None, 400) for path in ("?graph=relative", "?graph=", "?graph=urn:a&graph=urn:b")),
        *(("GET", "?graph=urn:a&default", None, 400), ("GET", "/a?default", None, 400), ("TRACE", MINE, None, 405)),
        *(("PUT", MINE, kind, 415) for kind in ("image/png", None, "text/plain", "text/turtle; charset=utf-16")),
    ],
)
def test_a_request_that_is_none_is_refused(client, method, path, type_, status):
    data = OTHER if method == "PUT" else None
    response = client.open(f"/graphs{path}", method=method, data=data, content_type=type_, headers=HERE)
    assert response.status_code == status
    assert problem(response)
    send(client, "PUT", MINE, OTHER)
    response = send(client, "GET", MINE, Accept="image/png")
    assert response.status_code == 406
    assert all(offer.media_type in problem(response) for offer in GRAPHS)


def test_what_does_not_parse_is_400_with_its_place_and_changes_nothing(client, kg):
    version = kg.store.version
    response = send(client, "PUT", MINE, b"<urn:a> <urn:b>\n  <urn:c> <urn:d> .")
    assert response.status_code == 400
    assert "line 2" in problem(response)
    assert send(client, "PUT", MINE, b"<urn:a> <urn:b> 1", **{"Content-Encoding": "gzip"}).status_code == 415
    assert kg.store.version == version


BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY %c "&%c;&%c;&%c;&%c;&%c;&%c;">' % (c + 1, c, c, c, c, c, c) for c in range(97, 120))
    + b']><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><r>&x;</r></rdf:RDF>'
)


@pytest.mark.parametrize(
    ("body", "type_"),
    [
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "application/ld+json"),
        (b"[" * 100_000 + b"]" * 100_000, "application/ld+json"),
        (b"<urn:a> <urn:b> " + b"<<( <urn:a> <urn:b> " * 100_000 + b"1" + b" )>>" * 100_000 + b" .", "text/turtle"),
        pytest.param(
            b"<urn:a> <urn:b> " + b"[ <urn:b> " * 50_000 + b"1" + b" ]" * 50_000 + b" .",
            "text/turtle",
            marks=pytest.mark.slow,
        ),
        (b"<urn:a> <urn:b> " + b"( " * 200_000, "text/turtle"),
        (BOMB, "application/rdf+xml"),
        (b'{"@context": "http://127.0.0.1:9/context", "name": "x"}', "application/ld+json"),
    ],
    ids=["deep json", "deep arrays", "triple terms", "blank nodes", "lists", "entities", "remote context"],
)
def test_a_body_that_means_harm_costs_a_worker_at_most(client, body, type_):
    response = send(client, "PUT", MINE, body, type_)
    assert response.status_code in (201, 204, 400, 504)
    if response.status_code >= 400:
        assert problem(response)
    asked = client.get("/sparql?query=ASK%7B%7D", headers=HERE)
    assert asked.get_json(force=True)["boolean"] is True


def test_a_body_of_some_megabytes_is_taken_whole_and_one_that_is_too_large_is_413(client, kg, tmp_path):
    body = b"# " + b"x" * 2_500_000 + b"\n" + b"".join(b"<urn:s%d> <urn:p> %d .\n" % (i, i) for i in range(5_000))
    assert send(client, "PUT", MINE, body).status_code == 201
    assert sum(1 for _ in kg.store.quads(graph=GRAPH)) == 5_000
    assert send(client, "PUT", MINE, b"").status_code == 204
    assert send(client, "GET", MINE).status_code == 200
    small = small_graph(tmp_path, empty=True, server=ServerSettings(max_upload_mb=1))
    refusing = create_app(small, access=Access.on("127.0.0.1")).test_client()
    assert send(refusing, "PUT", MINE, body).status_code == 413
    part = b'--x\r\nContent-Disposition: form-data; name="a"; filename="a.ttl"\r\n\r\n'
    form = part + body + b"\r\n--x--\r\n"
    assert send(refusing, "POST", MINE, form, "multipart/form-data; boundary=x").status_code == 413
    small.close()
