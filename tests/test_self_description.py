"""What the server says of itself: the counts are compared with counts taken by hand."""

import random
import threading
import time
from collections import Counter

import pyoxigraph as ox
import pytest
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, RdfFormat
from small_graph import BASE, small_graph

from kgplatform.graph import KnowledgeGraph
from kgplatform.server.access import Access
from kgplatform.server.app import create_app
from kgplatform.server.self_description import SelfDescription
from kgplatform.sparql.protocol import GRAPHS
from kgplatform.store.worker_pool import WorkersBusyError
from kgplatform.vocab import DCAT, DCTERMS, TYPE, VOID
from kgplatform.workspace import rdf_files as bulk

SD = "http://www.w3.org/ns/sparql-service-description#"
HERE = {"Host": "localhost:8000"}
DATASET = NamedNode(f"{BASE}dataset")


@pytest.fixture(scope="module")
def kg(tmp_path_factory):
    made = small_graph(tmp_path_factory.mktemp("graph"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(kg):
    return create_app(kg, access=Access.on("127.0.0.1")).test_client()


def described(client, path):
    response = client.get(path, headers=HERE)
    assert response.status_code == 200
    assert response.content_type == "text/turtle; charset=utf-8"
    store = ox.Store()
    store.load(response.data, format=RdfFormat.TURTLE)
    return store


def values(store, subject, name):
    return [quad.object for quad in store.quads_for_pattern(subject, NamedNode(name), None)]


def number(store, subject, name):
    (found,) = values(store, subject, f"{VOID}{name}")
    assert isinstance(found, Literal)
    return int(found.value)


def counted_by_hand(triples):
    def of(property_):
        said = [t for t in triples if t.predicate == property_]
        return len(said), len({t.subject for t in said}), len({t.object for t in said})

    properties = {property_: of(property_) for property_ in {t.predicate for t in triples}}
    totals = (len(triples), len({t.subject for t in triples}), len(properties))
    return totals, Counter(t.object for t in triples if t.predicate == TYPE), properties


@pytest.mark.parametrize("path", ["/.well-known/void", "/sparql"])
def test_the_counts_are_exact(client, kg, path):
    void = described(client, path)
    held = {quad.triple for quad in kg.store.quads(graph=DefaultGraph())}
    totals, classes, properties = counted_by_hand(held)
    assert tuple(number(void, DATASET, name) for name in ("triples", "entities", "properties")) == totals
    assert number(void, DATASET, "distinctObjects") == len({t.object for t in held})
    assert number(void, DATASET, "classes") == len(classes)
    parts = {values(void, part, f"{VOID}class")[0]: part for part in values(void, DATASET, f"{VOID}classPartition")}
    assert {class_: number(void, part, "entities") for class_, part in parts.items()} == classes
    of_property = {
        values(void, part, f"{VOID}property")[0]: tuple(
            number(void, part, name) for name in ("triples", "distinctSubjects", "distinctObjects")
        )
        for part in values(void, DATASET, f"{VOID}propertyPartition")
    }
    assert of_property == properties
    hotel = NamedNode("https://w3id.org/kgplatform/travel#Hotel")
    below = values(void, parts[hotel], f"{VOID}propertyPartition")
    counted = {values(void, part, f"{VOID}property")[0]: number(void, part, "triples") for part in below}
    hotels = {t.subject for t in held if t.predicate == TYPE and t.object == hotel}
    assert counted == Counter(t.predicate for t in held if t.subject in hotels)


def test_the_description_names_the_endpoint_by_which_it_was_asked(client):
    found = described(client, "/sparql")
    endpoint = NamedNode("http://localhost:8000/sparql")
    assert values(found, endpoint, f"{SD}endpoint") == [endpoint]
    assert NamedNode(f"{SD}SPARQL11Update") in values(found, endpoint, f"{SD}supportedLanguage")
    assert len(values(found, endpoint, f"{SD}resultFormat")) == 10
    assert values(found, endpoint, f"{DCAT}servesDataset") == [DATASET]
    titles = {title.language for title in values(found, DATASET, f"{DCTERMS}title")}
    assert titles == {"en", "zh"}
    for address in values(found, DATASET, f"{DCAT}distribution"):
        path = address.value.removeprefix("http://localhost:8000")
        with client.get(path, headers=HERE) as response:
            assert response.status_code == 200
            assert response.data


def test_other_graphs_are_listed_and_it_comes_in_the_format_that_is_wanted(client, kg):
    found = described(client, "/sparql")
    names = {values(found, node, f"{SD}name")[0] for node in values(found, DATASET, f"{SD}namedGraph")}
    held = {g for g in kg.store.graphs() if next(iter(kg.store.quads(graph=g)), None)}
    assert names == {g for g in held if not g.value.startswith(f"{BASE}document/")}
    for offer in GRAPHS:
        response = client.get("/.well-known/void", headers={**HERE, "Accept": offer.media_type})
        assert response.content_type.startswith(offer.media_type)
        assert len(list(ox.parse(response.data, format=RdfFormat.from_media_type(offer.media_type)))) > 50
    assert client.get("/.well-known/void", headers={**HERE, "Accept": "image/png"}).status_code == 406


def test_it_is_counted_again_only_when_the_store_has_changed(client, kg, monkeypatch):
    first = client.get("/.well-known/void", headers=HERE)
    calls = []
    real = kg.workers.solutions
    monkeypatch.setattr(kg.workers, "solutions", lambda *a, **k: calls.append(a) or real(*a, **k))
    again = client.get("/.well-known/void", headers=HERE)
    assert again.data == first.data
    assert calls == []
    cached = client.get("/.well-known/void", headers={**HERE, "If-None-Match": first.headers["ETag"]})
    assert cached.status_code == 304
    kg.store.update("INSERT DATA { <urn:a> a <urn:新> }")
    later = client.get("/.well-known/void", headers={**HERE, "If-None-Match": first.headers["ETag"]})
    assert later.status_code == 200
    assert "urn:新".encode() in later.data
    assert calls
    kg.store.update("DELETE DATA { <urn:a> a <urn:新> }")


def test_the_counts_are_of_one_state_whatever_is_written_meanwhile(kg):
    chance, describes = random.Random(5), SelfDescription(kg, patience_seconds=60)
    states = {kg.store.version: {quad.triple for quad in kg.store.quads(graph=DefaultGraph())}}
    made = [
        Quad(NamedNode(f"urn:s{n % 7}"), TYPE if n % 3 else NamedNode(f"urn:p{n % 4}"), NamedNode(f"urn:o{n % 5}"))
        for n in range(60)
    ]
    stop = threading.Event()

    def write():
        while not stop.is_set():
            with kg.store.write_lock():
                kg.store.apply(removed=chance.sample(made, 20), added=chance.sample(made, 20))
                states[kg.store.version] = {quad.triple for quad in kg.store.quads(graph=DefaultGraph())}
            time.sleep(0.01)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(4):
            counts, version = describes.counts()
            found = (
                (counts.totals[0], counts.totals[1], counts.totals[2]),
                Counter(dict(counts.classes)),
                {property_: tuple(numbers) for property_, *numbers in counts.properties},
            )
            assert found == counted_by_hand(states[version])
    finally:
        stop.set()
        writer.join()
        kg.store.apply(removed=made)


def test_those_who_ask_while_it_is_counted_are_not_held_up(kg, monkeypatch):
    describes, going_on = SelfDescription(kg, patience_seconds=0.2), threading.Event()
    real = describes._take
    monkeypatch.setattr(describes, "_take", lambda at: going_on.wait(60) and real(at))
    started = time.monotonic()
    for _ in range(3):
        with pytest.raises(WorkersBusyError):
            describes.counts()
    going_on.set()
    assert time.monotonic() - started < 30
    monkeypatch.setattr(describes, "_patience_seconds", 60)
    assert describes.counts()[0].totals[0] == len(list(kg.store.quads(graph=DefaultGraph())))


HOTEL = "<https://w3id.org/kgplatform/travel#Hotel>"
NEW = {"Content-Type": "text/turtle"}


def writes(kg, client, folder):
    """Writes in every way there is; the name of each, once it is done."""
    note, table, facts = folder / "note.txt", folder / "hotels.csv", folder / "facts.nt"
    note.write_text("The Lantern Inn is a hotel in Wuzhen with 12 rooms.", encoding="utf-8")
    table.write_text("name,rooms\nCanal House,9\nMoon Inn,4\n", encoding="utf-8")
    facts.write_text(
        "".join(f"<urn:h{n}> a {HOTEL} .\n".replace(" a ", f" {TYPE} ") for n in range(20)), encoding="utf-8"
    )
    list(kg.add(note))
    yield "a document"
    list(kg.add(table))
    yield "a table"
    kg.load(facts)
    yield "a file"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "LARGE_BYTES", 0)
        facts.write_text(facts.read_text(encoding="utf-8").replace("urn:h", "urn:i"), encoding="utf-8")
        kg.load(facts)
        yield "a file by lines"
        kg.load(facts, graph="urn:beside")
        yield "a file beside"
    for method, path, body, fields in (
        ("POST", "/sparql", f"INSERT DATA {{ <urn:x> a {HOTEL} }}", {"Content-Type": "application/sparql-update"}),
        ("PUT", "/graphs?graph=urn:g", f"<urn:y> a {HOTEL} .", NEW),
        ("POST", "/graphs?default", f"<urn:z> a {HOTEL} .", NEW),
        ("PATCH", "/graphs?default", "DELETE WHERE { <urn:h1> ?p ?o }", {"Content-Type": "application/sparql-update"}),
        ("DELETE", "/graphs?graph=urn:g", "", {}),
        ("POST", "/sparql", "CLEAR DEFAULT", {"Content-Type": "application/sparql-update"}),
    ):
        assert client.open(path, method=method, data=body.encode(), headers={**HERE, **fields}).status_code < 300
        yield f"{method} {path}"
    kg.remove("note.txt")
    yield "a document gone"


@pytest.mark.slow
def test_the_counts_are_exact_after_every_kind_of_write(tmp_path):
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as kg:
        client = create_app(kg, access=Access.on("127.0.0.1")).test_client()
        describes = SelfDescription(kg, patience_seconds=60)
        for what in writes(kg, client, tmp_path):
            counts, version = describes.counts()
            held = {quad.triple for quad in kg.store.quads(graph=DefaultGraph())}
            assert version == kg.store.version, what
            assert (counts.totals[0], counts.totals[1], counts.totals[2]) == counted_by_hand(held)[0], what
            assert dict(counts.classes) == counted_by_hand(held)[1], what
