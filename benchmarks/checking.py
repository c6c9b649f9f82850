"""How long `check` takes: over 100,000 and 1 M triples, over one document among them, and what pySHACL alone takes.

The data is made up: hotels in towns, each with the properties that hotels have, read from tables of which the last is
small. The peer is pySHACL on one rdflib graph of the same data with all shapes and class axioms in it: nothing proven
before, no other check, no passages; at 100,000 triples only, since it takes minutes above.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pyoxigraph as ox
import pyshacl
import rdflib
from pyoxigraph import NamedNode, Triple

from benchmarks.common import Peer, Result
from kgplatform import resources
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder
from kgplatform.ontology.schema import TermIndex
from kgplatform.reasoning.checks import all_shapes
from kgplatform.reasoning.scope import CheckReport, Instances
from kgplatform.reasoning.shacl import shapes_hold
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.vocab import SUBCLASS_OF, TYPE

PROMISE_DOCUMENT = 1.0
_SIZES = ((880, None), (8_800, 5.0), (88_000, 60.0))
"""How many hotels (some 11 triples each), and in how many seconds all of them are checked at most."""

_PEER_AT = 8_800
_COLUMNS = "name,town,price_per_night,star_rating,rating,room_count,phone,facilities,suitable_for\n"


def measure() -> list[Result]:
    """Seconds of checking everything and one document at each size, beside pySHACL alone at one of them."""
    return [result for hotels, promise in _SIZES for result in _at(hotels, promise)]


def _at(hotels: int, promise: float | None) -> list[Result]:
    with TemporaryDirectory(prefix="kgplatform-") as name:
        folder = Path(name)
        tables = [_table(folder / "many.csv", hotels), _table(folder / "few.csv", 10)]
        with KnowledgeGraph.create(folder / "workspace", ontology="travel") as kg:
            kg.workspace.__dict__["embedder"] = HashEmbedder()
            for _ in kg.add(*tables, build=False):
                pass
            triples = sum(1 for _ in kg.store.quads(graph=DEFAULT_GRAPH))
            kg.check("few.csv")  # what is imported and compiled once does not count
            _, document = _timed(lambda: kg.check("few.csv"))
            report, whole = _timed(kg.check)
            shapes = _shapes_only(kg)
            peer = Peer("pySHACL alone", _alone(_with_classes(kg))) if hotels == _PEER_AT else None
    return [
        Result(f"check, {triples:,} triples, {report.checked:,} things", whole, promise=promise),
        Result(f"shapes alone, {triples:,} triples", shapes, peer=peer),
        Result(f"check, a document of 10 rows among {triples:,} triples", document, promise=PROMISE_DOCUMENT),
    ]


def _shapes_only(kg: KnowledgeGraph) -> float:
    """Seconds of holding the graph to the shapes, without the other checks and passages."""
    vocabulary = TermIndex(kg.ontology, kg.loaded.triples)
    held_to = all_shapes(vocabulary, kg.loaded.files)
    instances = Instances(kg.dataset)
    scope = instances.whole()
    began = time.perf_counter()
    for _ in shapes_hold(instances, scope, held_to, vocabulary):
        pass
    return time.perf_counter() - began


def _timed(call: Callable[[], CheckReport]) -> tuple[CheckReport, float]:
    began = time.perf_counter()
    report = call()
    return report, time.perf_counter() - began


def _table(path: Path, rows: int) -> Path:
    """A table of hotels, one in seventy of them with a fault."""
    chance = random.Random(rows)
    lines = [
        f"{path.stem.title()} Hotel {number},Town {number % 150},{chance.randint(90, 900)}.5,"
        f"{chance.randint(1, 5) if number % 70 else 9},{chance.randint(20, 50) / 10},{chance.randint(5, 90)},"
        f"+86 573 {8_870_000 + number},Wi-Fi;parking,families"
        for number in range(rows)
    ]
    path.write_text(_COLUMNS + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def _alone(triples: list[Triple]) -> float:
    """Seconds that pySHACL takes for the triples with the shipped shapes."""
    graph, shapes = rdflib.Graph(), rdflib.Graph()
    graph.parse(data=ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b"", format="nt")
    for name in ("core", "geo", "travel"):
        shapes.parse(resources.folder("ontology") / f"{name}.shapes.ttl")
    began = time.perf_counter()
    pyshacl.validate(graph, shacl_graph=shapes, inplace=True)
    return time.perf_counter() - began


def _with_classes(kg: KnowledgeGraph) -> list[Triple]:
    """The data, with as much of the ontology as shapes look at: named classes and their hierarchy."""
    ontology = set(kg.loaded.triples)
    data = [item.triple for item in kg.store.quads(graph=DEFAULT_GRAPH) if item.triple not in ontology]
    plain = (t for t in ontology if t.predicate in (TYPE, SUBCLASS_OF) and isinstance(t.object, NamedNode))
    return data + list(plain)
