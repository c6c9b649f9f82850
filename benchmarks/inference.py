"""How long conclusions take: a tree of places seven levels deep, from scratch and after a change.

From scratch means all that the stage does: reading the statements, applying the rules of the geographical ontology,
and writing ``graph/inferred``. After a change: 1,000 statements come, then go again. The peers conclude from
the same statements and axioms in their own memory; loading is not counted, nor is writing the result anywhere. owlrl
is measured at 1,000 statements, since it needs minutes for 100,000; reasonable at full size, where it is installed
(it is no dependency). Another size: ``python -m benchmarks.inference 1000000``.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import owlrl
import rdflib
from pyoxigraph import NamedNode, RdfFormat, Triple, serialize

from benchmarks.common import Peer, Result, as_table
from kgplatform import packs
from kgplatform.building.inferring import Inference
from kgplatform.config import InferenceSettings
from kgplatform.dataset import Change, EvidenceDataset
from kgplatform.store import Store
from kgplatform.vocab import GEO, TYPE

BASE = "https://example.org/kg/"
SIZE, SMALL, CHANGED = 100_000, 1_000, 1_000
UPDATE_PROMISE = 1.0
_CLASSES = ("Continent", "Country", "Province", "City", "County", "Township", "Place")
_PARTS = (7, 6, 6, 8, 10, 4)
"""How many places are on the first level, and how many parts a place of the following ones has; the last fills up."""
_IN = NamedNode(f"{GEO}locatedIn")
_AXIOMS = packs.load(["geo"], folder=Path())


def measure(size: int = SIZE) -> list[Result]:
    """Seconds from scratch and after a change, with the peers that there are."""
    return [*_against_owlrl(), *_at_size(size)]


def tree(statements: int) -> list[Triple]:
    """That many statements about places, each with its class and the place it lies in."""
    found: list[Triple] = []
    above: list[NamedNode] = []
    for level, class_ in enumerate(_CLASSES):
        width = statements if level == len(_PARTS) else _PARTS[level] * max(len(above), 1)
        row = [NamedNode(f"{BASE}entity/{class_}-{n}") for n in range(width)]
        for n, place in enumerate(row):
            if len(found) >= statements:
                return found
            found.append(Triple(place, TYPE, NamedNode(f"{GEO}{class_}")))
            if above:
                found.append(Triple(place, _IN, above[n % len(above)]))
        above = row
    return found


def _against_owlrl() -> list[Result]:
    data = tree(SMALL)
    graph = rdflib.Graph().parse(data=_ntriples(data).decode(), format="nt")
    expand = owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand
    peer = Peer("owlrl", _seconds(lambda: expand(graph)))
    inference, _ = _prepared(data, None)
    return [Result(f"infer from scratch, {SMALL:,} statements", _seconds(inference.run), peer=peer)]


def _at_size(size: int) -> list[Result]:
    data = tree(size)
    with TemporaryDirectory(prefix="kgplatform-") as folder:
        inference, dataset = _prepared(data, Path(folder) / "store")
        scratch = _seconds(inference.run)
        total = inference.run().total
        chunk = NamedNode(f"{BASE}document/{'a' * 16}/chunk/1")
        dataset.commit(Change(added={chunk: _new_statements(data)}))
        come = _seconds(inference.run)
        dataset.commit(Change(dropped=(chunk,)))
        gone = _seconds(inference.run)
        assert inference.run().total == total
        dataset.store.close()
    return [
        Result(f"infer from scratch, {size:,} statements, {total:,} conclusions", scratch, peer=_reasonable(data)),
        Result(f"infer after {CHANGED:,} statements came, on disk", come, promise=UPDATE_PROMISE),
        Result(f"infer after {CHANGED:,} statements went, on disk", gone, promise=UPDATE_PROMISE),
    ]


def _prepared(data: list[Triple], folder: Path | None) -> tuple[Inference, EvidenceDataset]:
    """A dataset of the axioms and statements, nothing inferred yet."""
    dataset = EvidenceDataset(Store.open(folder), BASE)
    chunk = NamedNode(f"{BASE}document/{'a' * 16}/chunk/0")
    dataset.commit(Change(added={dataset.ontology: _AXIOMS.triples, chunk: data}))
    settings = InferenceSettings(enabled=True)
    return Inference(dataset, ontology=_AXIOMS.ontology, triples=_AXIOMS.triples, settings=settings), dataset


def _new_statements(data: list[Triple]) -> list[Triple]:
    """Statements about new places in places of every level."""
    chosen = random.Random(1)
    known = [triple.subject for triple in data if triple.predicate == _IN]
    places = [NamedNode(f"{BASE}entity/new-{n}") for n in range(CHANGED // 2)]
    found = [Triple(place, TYPE, NamedNode(f"{GEO}Place")) for place in places]
    return found + [Triple(place, _IN, chosen.choice(known)) for place in places]


def _reasonable(data: list[Triple]) -> Peer | None:
    if find_spec("reasonable") is None:
        return None
    with TemporaryDirectory(prefix="kgplatform-") as folder:
        file = Path(folder) / "tree.ttl"
        file.write_bytes(_ntriples(data))
        reasoner = import_module("reasonable").PyReasoner()
        reasoner.load_file(str(file))
        return Peer("reasonable", _seconds(reasoner.reason))


def _ntriples(data: list[Triple]) -> bytes:
    return serialize([*_AXIOMS.triples, *data], format=RdfFormat.N_TRIPLES) or b""


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


if __name__ == "__main__":
    print(as_table(measure(int(sys.argv[1]) if len(sys.argv) > 1 else SIZE)))
