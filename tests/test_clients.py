"""The endpoint asked by clients of others: rdflib's SPARQL stores, curl."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import rdflib
from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore
from serving import small_server
from small_graph import BASE

from kgplatform.web.rights import Token

TRAVEL = rdflib.Namespace("https://w3id.org/kgplatform/travel#")
EX = rdflib.Namespace("http://example.org/")
SECRET, LINE = Token.make("rdflib", "write")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = f"timeout_seconds=20, tokens=({LINE!r},)"
    with small_server(tmp_path_factory.mktemp("served"), settings=settings) as (address, _):
        yield address


@pytest.fixture
def remote(server: str) -> Iterator[rdflib.Graph]:
    store = SPARQLUpdateStore(f"{server}/sparql", f"{server}/sparql", auth=("rdflib", SECRET), returnFormat="json")
    yield rdflib.Graph(store=store, identifier=EX.g)
    store.update("DROP SILENT GRAPH <http://example.org/g>")


@pytest.mark.parametrize("format_", ["xml", "json", "csv", "tsv"])
@pytest.mark.parametrize("method", ["GET", "POST", "POST_FORM"])
def test_rdflib_reads_rows_in_every_format_by_every_method(server: str, format_: str, method: str) -> None:
    graph = rdflib.Graph(store=SPARQLStore(f"{server}/sparql", returnFormat=format_, method=method))
    rows = list(graph.query("SELECT ?n ?label { ?h travel:roomCount ?n ; rdfs:label ?label } ORDER BY ?n"))
    assert [int(row["n"]) for row in rows] == [3, 12, 24, 80]
    assert str(rows[3]["label"]) == "通安客栈"


def test_rdflib_asks_constructs_and_matches_patterns(server: str) -> None:
    graph = rdflib.Graph(store=SPARQLStore(f"{server}/sparql", returnFormat="xml"))
    assert graph.query("ASK { ?s ?p ?o }").askAnswer is True
    built = graph.query("CONSTRUCT { ?h travel:roomCount ?n } { ?h travel:roomCount ?n }").graph
    assert built is not None
    assert len(built) == 4
    assert len(list(graph.triples((None, TRAVEL.roomCount, None)))) == 4
    assert len(graph) > 100


def test_rdflib_writes_reads_back_and_removes(remote: rdflib.Graph) -> None:
    name = rdflib.Literal('乌镇 "水乡"\n', lang="zh")
    remote.add((EX.a, EX.p, name))
    remote.add((EX.a, EX.p, rdflib.Literal(1)))
    assert set(remote.objects(EX.a, EX.p)) == {name, rdflib.Literal(1)}
    remote.remove((EX.a, EX.p, name))
    assert set(remote) == {(EX.a, EX.p, rdflib.Literal(1))}


def test_rdflib_updates_within_its_graph(remote: rdflib.Graph) -> None:
    remote.update("INSERT DATA { <http://example.org/a> <http://example.org/p> 1, 2 }")
    rows = list(remote.query("SELECT ?o { ?s <http://example.org/p> ?o } ORDER BY ?o"))
    assert [int(row[0]) for row in rows] == [1, 2]
    remote.update("DELETE { ?s ?p 1 } WHERE { ?s ?p 1 }", initNs={"ex": str(EX)})
    assert set(remote.objects()) == {rdflib.Literal(2)}


def test_rdflib_without_the_token_may_read_but_not_write(server: str) -> None:
    store = SPARQLUpdateStore(f"{server}/sparql", f"{server}/sparql")
    graph = rdflib.Graph(store=store, identifier=EX.g)
    assert store.query("ASK { ?s ?p ?o }").askAnswer is True
    with pytest.raises(Exception, match="401"):
        graph.update("INSERT DATA { <http://example.org/a> <http://example.org/p> 1 }")


def test_rdflib_parses_what_the_server_says_of_itself(server: str) -> None:
    for path in ("/sparql", "/.well-known/void"):
        graph = rdflib.Graph()
        graph.parse(f"{server}{path}", format="turtle")
        assert (rdflib.URIRef(f"{BASE}dataset"), rdflib.VOID.triples, None) in graph


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_curl_does_what_the_documentation_shows(server: str, tmp_path: Path) -> None:
    def curl(*arguments: str) -> str:
        command = ["curl", "-sS", "--fail-with-body", "--noproxy", "*", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    token = f"Authorization: Bearer {SECRET}"
    query = "query=SELECT ?n { ?h travel:roomCount ?n } ORDER BY ?n"
    csv = curl("--compressed", "-H", "Accept: text/csv", "--data-urlencode", query, f"{server}/sparql")
    assert csv.split() == ["n", "3", "12", "24", "80"]
    update = "INSERT DATA { GRAPH <http://example.org/curl> { <http://example.org/a> rdfs:label '甲'@zh } }"
    curl("-H", token, "--data-urlencode", f"update={update}", f"{server}/sparql")
    there = f"{server}/graphs?graph=http://example.org/curl"
    assert "甲" in curl(there)
    file = tmp_path / "b.ttl"
    file.write_text("<http://example.org/b> <http://example.org/p> 1 .", encoding="utf-8")
    curl("-H", token, "-H", "Content-Type: text/turtle", "-T", str(file), there)
    assert "甲" not in curl("-H", "Accept: application/n-triples", there)
    curl("-H", token, "-X", "DELETE", there)
