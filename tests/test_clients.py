"""The endpoint asked by clients of others: rdflib's SPARQL stores, curl."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import rdflib
from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore
from serving import small_server
from small_graph import BASE

from kgplatform.server.access import Token

TRAVEL = rdflib.Namespace("https://w3id.org/kgplatform/travel#")
EX = rdflib.Namespace("http://example.org/")
SECRET, LINE = Token.make("rdflib", "write")
ANNS_SECRET, ANNS_LINE = Token.make("ann", "write")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    settings = f"timeout_seconds=20, tokens=({LINE!r}, {ANNS_LINE!r})"
    with small_server(tmp_path_factory.mktemp("served"), settings=settings) as (address, _):
        yield address


@pytest.fixture
def remote(server):
    store = SPARQLUpdateStore(f"{server}/sparql", f"{server}/sparql", auth=("rdflib", SECRET), returnFormat="json")
    yield rdflib.Graph(store=store, identifier=EX.g)
    store.update("DROP SILENT GRAPH <http://example.org/g>")


@pytest.mark.parametrize(
    ("format_", "method"),
    [("xml", "GET"), ("json", "POST"), ("csv", "POST_FORM"), ("tsv", "GET"), ("json", "POST_FORM")],
)
def test_rdflib_reads_rows_in_every_format_by_every_method(server, format_, method):
    graph = rdflib.Graph(store=SPARQLStore(f"{server}/sparql", returnFormat=format_, method=method))
    rows = list(graph.query("SELECT ?n ?label { ?h travel:roomCount ?n ; rdfs:label ?label } ORDER BY ?n"))
    assert [int(row["n"]) for row in rows] == [3, 12, 24, 80]
    assert str(rows[3]["label"]) == "通安客栈"


def test_rdflib_asks_constructs_matches_patterns_and_reads_what_the_server_says_of_itself(server):
    graph = rdflib.Graph(store=SPARQLStore(f"{server}/sparql", returnFormat="xml"))
    assert graph.query("ASK { ?s ?p ?o }").askAnswer is True
    assert len(graph.query("CONSTRUCT { ?h travel:roomCount ?n } { ?h travel:roomCount ?n }").graph) == 4
    assert len(list(graph.triples((None, TRAVEL.roomCount, None)))) == 4
    assert len(graph) > 100
    for path in ("/sparql", "/.well-known/void"):
        described = rdflib.Graph().parse(f"{server}{path}", format="turtle")
        assert (rdflib.URIRef(f"{BASE}dataset"), rdflib.VOID.triples, None) in described


def test_rdflib_writes_reads_back_and_removes_with_the_token(remote, server):
    name = rdflib.Literal('乌镇 "水乡"\n', lang="zh")
    remote.add((EX.a, EX.p, name))
    remote.add((EX.a, EX.p, rdflib.Literal(1)))
    assert set(remote.objects(EX.a, EX.p)) == {name, rdflib.Literal(1)}
    remote.remove((EX.a, EX.p, name))
    assert set(remote) == {(EX.a, EX.p, rdflib.Literal(1))}
    remote.update("INSERT DATA { <http://example.org/a> <http://example.org/p> 2 }")
    rows = list(remote.query("SELECT ?o { ?s <http://example.org/p> ?o } ORDER BY ?o"))
    assert [int(row[0]) for row in rows] == [1, 2]
    remote.update("DELETE { ?s ?p 1 } WHERE { ?s ?p 1 }", initNs={"ex": str(EX)})
    assert set(remote.objects()) == {rdflib.Literal(2)}
    store = SPARQLUpdateStore(f"{server}/sparql", f"{server}/sparql")  # without the token
    assert store.query("ASK { ?s ?p ?o }").askAnswer is True
    with pytest.raises(Exception, match="401"):
        rdflib.Graph(store=store, identifier=EX.g).update("INSERT DATA { <urn:a> <urn:b> 1 }")


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_curl_does_what_the_documentation_shows(server, tmp_path):
    def curl(*arguments):
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


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
@pytest.mark.parametrize("page", ["endpoint", "monitoring", "pages"])
def test_the_transcripts_of_the_documentation_run(server, page, tmp_path):
    text = (Path(__file__).parents[1] / "docs" / f"{page}.md").read_text(encoding="utf-8")
    (transcript,) = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    steps = re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)+)", transcript, re.MULTILINE)
    assert len(steps) == transcript.count("$ ")
    for command, shown in steps:
        line = command.replace("http://localhost:8000", server).replace("curl ", "curl -sS --noproxy '*' ", 1)
        environment = {**os.environ, "TOKEN": ANNS_SECRET}
        done = subprocess.run(
            ["sh", "-c", line], capture_output=True, text=True, check=True, cwd=tmp_path, env=environment
        )
        assert done.stdout.splitlines() == shown.splitlines(), command
