"""How fast tables become statements in the store, as against the RML engine alone and a plain loop.

A CSV file of hotels is mapped by one YARRRML file, in three ways that each end in a store with the same two graphs:
``kgplatform add`` (its large path), the engine's own command followed by loading what it wrote, and a loop that makes
rdflib triples row by row, writes them and loads them. The engine's command by itself, which writes a file and has no
store, is given too: most of the time goes into the store, whoever fills it.
"""

from __future__ import annotations

import csv
import random
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import pyoxigraph

from benchmarks.common import Peer, Result

ROWS = 150_000
LOOP_ROWS = 5_000
TERMS = """
@prefix : <http://example.org/o#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<http://example.org/o> a owl:Ontology ; rdfs:label "Hotels"@en .
:Hotel a owl:Class ; rdfs:label "hotel"@en .
"""
MAPPING = """
prefixes:
  ont: "http://example.org/o#"
  data: "http://example.org/data/"
mappings:
  hotel:
    sources:
      - ['hotels.csv~csv']
    s: data:hotel/$(id)
    po:
      - [a, ont:Hotel]
      - [rdfs:label, $(name), en~lang]
      - [ont:city, data:city/$(city)~iri]
      - [ont:price, $(price), xsd:decimal]
      - [ont:stars, $(stars), xsd:integer]
      - [ont:opened, $(opened), xsd:date]
"""
ADD = """
import sys, time
from pathlib import Path
from kgplatform.workspace.table_stage import Keeping
from kgplatform.graph import KnowledgeGraph
with KnowledgeGraph.create("workspace", ontology=["terms.ttl"]) as kg:
    began = time.perf_counter()
    (added,) = kg.add("hotels.csv", build=False, mapping=Keeping(Path("mapping.yml")))
    print(added.statements, time.perf_counter() - began)
"""
LOAD = """
import pyoxigraph as ox
store = ox.Store("store")
for graph in (ox.NamedNode("http://example.org/graph"), ox.DefaultGraph()):
    store.bulk_load(path="engine.nt", format=ox.RdfFormat.N_TRIPLES, to_graph=graph)
store.flush()
"""
CONFIGURATION = """
[CONFIGURATION]
output_file: engine.nt
number_of_processes: 2
logging_level: ERROR
[table]
mappings: mapping.yml
"""


def measure() -> list[Result]:
    """Triples per second of the ways to map a table, and the peak memory of ours."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder / "hotels.csv", ROWS)
        (folder / "terms.ttl").write_text(TERMS, encoding="utf-8")
        (folder / "mapping.yml").write_text(MAPPING, encoding="utf-8")
        (folder / "engine.ini").write_text(CONFIGURATION, encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        said = _run(folder, "-c", ADD).split()
        peak = max(before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024
        count, ours = int(said[0]), float(said[1])
        engine = _seconds(folder, "-m", "morph_kgc", "engine.ini")
        loading = _seconds(folder, "-c", LOAD)
        loop = _looped(folder)
    speed = count / ours
    return [
        Result(
            f"table of {ROWS:,} rows into the store",
            speed,
            unit="triples/s",
            promise=0.9 * count / (engine + loading),
            more_is_better=True,
            peer=Peer("the engine, then loading both graphs", count / (engine + loading)),
        ),
        Result("the same", speed, unit="triples/s", peer=Peer("the engine alone, into a file", count / engine)),
        Result(
            "the same",
            speed,
            unit="triples/s",
            peer=Peer("a loop with rdflib, into both graphs", loop),
        ),
        Result("peak memory of the process", peak, unit="MB", promise=1500),
    ]


def _write(path: Path, rows: int) -> None:
    chance = random.Random(7)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "name", "city", "price", "stars", "opened"])
        for n in range(rows):
            opened = f"20{n % 24:02}-0{n % 9 + 1}-1{n % 9}"
            price = chance.randint(100, 99_999) / 100
            writer.writerow([n, f"Hotel number {n}", f"City {n % 997}", price, n % 5 + 1, opened])


def _run(folder: Path, *arguments: str) -> str:
    root = Path(__file__).resolve().parents[1]
    code = f"import sys; sys.path.insert(0, {str(root)!r})\n"
    given = ["-c", code + arguments[1]] if arguments[0] == "-c" else [*arguments]
    done = subprocess.run([sys.executable, *given], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{arguments[0]} {arguments[1][:40]!r}: {done.stderr[-400:]}")
    return done.stdout


def _seconds(folder: Path, *arguments: str) -> float:
    began = time.perf_counter()
    _run(folder, *arguments)
    return time.perf_counter() - began


def _looped(folder: Path) -> float:
    """Triples per second of the loop that one writes first: a graph of rdflib, filled row by row and written out."""
    from rdflib import RDF, RDFS, XSD, Graph, Literal, Namespace, URIRef

    terms = Namespace("http://example.org/o#")
    data = "http://example.org/data/"
    began = time.perf_counter()
    graph = Graph()
    with (folder / "hotels.csv").open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file)):
            if number == LOOP_ROWS:
                break
            hotel = URIRef(f"{data}hotel/{quote(row['id'])}")
            graph.add((hotel, RDF.type, terms.Hotel))
            graph.add((hotel, RDFS.label, Literal(row["name"], lang="en")))
            graph.add((hotel, terms.city, URIRef(f"{data}city/{quote(row['city'])}")))
            for name, datatype in (("price", XSD.decimal), ("stars", XSD.integer), ("opened", XSD.date)):
                graph.add((hotel, terms[name], Literal(row[name], datatype=datatype)))
    graph.serialize(folder / "loop.nt", format="nt", encoding="utf-8")
    store = pyoxigraph.Store(str(folder / "loop"))
    for target in (pyoxigraph.NamedNode("http://example.org/graph"), pyoxigraph.DefaultGraph()):
        store.load(path=folder / "loop.nt", format=pyoxigraph.RdfFormat.N_TRIPLES, to_graph=target)
    store.flush()
    return len(graph) / (time.perf_counter() - began)
