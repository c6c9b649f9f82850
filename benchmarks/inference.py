"""How long conclusions take: a tree of places seven levels deep, from scratch and after a change, beside the peers.

From scratch means all that the stage does: reading the statements from the store on disk, applying the rules of the
geographical ontology, and writing each conclusion into ``graph/inferred`` and the default graph. reasonable does the
same on a copy: the store's statements as N-Triples, loading, reasoning, and of what it concludes the statements about
the places (not that each is an ``owl:Thing``, nor what it says of the ontology) by the same bulk loader into the same
two graphs. The floor is that loader alone, given the finished text. After a change: 1,000 statements come, then go
again, three times, and the middle one of each counts. Every measurement of a size has a process of its own, so that
its memory can be told; reasonable gets 12 GB of address space, and no row where it wants more. owlrl is measured at
1,000 statements, and at 10,000 in the full run, since it needs minutes for 100,000.

    python -m benchmarks.inference --quick    1,000 and 10,000 statements, well under two minutes
    python -m benchmarks.inference            the same, and 100,000
    python -m benchmarks.inference 1000000    that size only
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import owlrl
import rdflib
from pyoxigraph import NamedNode, RdfFormat, Triple, serialize

from benchmarks.common import ROOT, Peer, Result, as_table
from kgplatform.ontology import packs
from kgplatform.reasoning import materialization as scratch
from kgplatform.reasoning.inference import Inference
from kgplatform.reasoning.materialization import Admission
from kgplatform.reasoning.owl_rl import new_tables
from kgplatform.settings import InferenceSettings
from kgplatform.store.dataset import Change, EvidenceDataset
from kgplatform.store.oxigraph import Store
from kgplatform.vocab import GEO, OWL, TYPE

BASE = "https://example.org/kg/"
SIZE, CHANGED = 100_000, 1_000
UPDATE_PROMISE = 1.0
_OWLRL_SIZES = (1_000, 10_000)
_REASONABLE_BYTES = 12_000_000_000
_CLASSES = ("Continent", "Country", "Province", "City", "County", "Township", "Place")
_PARTS = (7, 6, 6, 8, 10, 4)
"""How many places are on the first level, and how many parts a place of the following ones has; the last fills up."""
_IN = NamedNode(f"{GEO}locatedIn")
_AXIOMS = packs.load(["geo"], folder=Path())


def measure(*sizes: int, quick: bool = False) -> list[Result]:
    """Seconds and memory from scratch and after a change, with the peers that there are."""
    if sizes:
        return [result for size in sizes for result in _at_size(size)]
    results = [_against_owlrl(size) for size in _OWLRL_SIZES[: 1 if quick else None]]
    for size in (10_000,) if quick else (10_000, SIZE):
        results += _at_size(size)
    return results


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


def _against_owlrl(size: int) -> Result:
    data = tree(size)
    text = serialize([*_AXIOMS.triples, *data], format=RdfFormat.N_TRIPLES) or b""
    graph = rdflib.Graph().parse(data=text.decode(), format="nt")
    expand = owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand
    peer = Peer("owlrl", _seconds(lambda: expand(graph)))
    inference = _inference(_dataset(data, None))
    return Result(f"{size:,} statements: infer, in memory", _seconds(inference.run), peer=peer)


def _at_size(size: int) -> list[Result]:
    """What processes of their own measured at that size."""
    with TemporaryDirectory(prefix="kgplatform-") as name:
        folder = Path(name)
        dataset = _dataset(tree(size), folder / "own")
        dataset.store.flush()
        dataset.store.close()
        shutil.copytree(folder / "own", folder / "peer")
        own = _child("own", folder, size)
        peer = _child("reasonable", folder, size) if find_spec("reasonable") else {}
    what = f"{size:,} statements"

    def compared(name: str, key: str, unit: str = "s") -> Result:
        return Result(name, own[key], unit, peer=Peer("reasonable", peer[key]) if peer else None)

    conclusions = f"{what}: {own['conclusions']:,.0f} conclusions"
    return [
        compared(f"{conclusions}, read, concluded, written", "total"),
        compared(f"{what}: of which concluding alone", "conclude"),
        Result(
            f"{what}: all but reading and concluding, floor as peer",
            own["write"],
            peer=Peer("bulk loader", own["floor"]),
        ),
        compared(f"{what}: peak memory of it", "memory", "MB"),
        Result(f"{what}: infer after {CHANGED:,} came", own["come"], promise=UPDATE_PROMISE),
        Result(f"{what}: infer after {CHANGED:,} went", own["gone"], promise=UPDATE_PROMISE),
        Result(f"{what}: infer after 6 came", own["few"]),
    ]


def _child(part: str, folder: Path, size: int) -> dict[str, float]:
    """What a process of its own measured; empty if it came to nothing, such as for want of memory."""
    command = [sys.executable, "-m", "benchmarks.inference", str(size), "--part", part, "--folder", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{part} at {size:,}: exit status {done.returncode}: {done.stderr[-300:]}", file=sys.stderr)
        if part == "own":
            raise RuntimeError(done.stderr)
        return {}
    return {str(key): float(value) for key, value in json.loads(done.stdout).items()}


def _own(folder: Path, size: int) -> dict[str, float]:
    """From scratch step by step as the stage does it, then changes through the stage."""
    dataset = EvidenceDataset(Store.open(folder / "own"), BASE)
    inference = _inference(dataset)
    rules, admission = list(inference.rules.rules), Admission(dataset, inference.rules.terms)
    began = time.perf_counter()
    read = scratch._Reading(dataset, rules, admission)
    at_conclude = time.perf_counter()
    with new_tables() as tables:
        scratch._saturated(tables, read, rules, 10**9, None)
    ended = time.perf_counter()
    del read
    total = _seconds(inference.run)
    found = {"total": total, "conclude": ended - at_conclude, "write": total - (ended - began)}
    found |= {"memory": _peak_megabytes(), "conclusions": float(inference.run().total)}
    return {**found, **_changes(dataset, inference, tree(size)), "floor": _floor(dataset, folder)}


def _changes(dataset: EvidenceDataset, inference: Inference, data: list[Triple]) -> dict[str, float]:
    chunk = NamedNode(f"{BASE}document/{'a' * 16}/chunk/1")
    new = _new_statements(data)
    total, come, gone = inference.run().total, [], []
    for _ in range(3):
        dataset.commit(Change(added={chunk: new}))
        come.append(_seconds(inference.run))
        dataset.commit(Change(dropped=(chunk,)))
        gone.append(_seconds(inference.run))
    assert inference.run().total == total
    dataset.commit(Change(added={chunk: [*new[:3], *new[CHANGED // 2 : CHANGED // 2 + 3]]}))
    few = _seconds(inference.run)
    return {"come": median(come), "gone": median(gone), "few": few}


def _floor(dataset: EvidenceDataset, folder: Path) -> float:
    """What the bulk loader alone takes to write the conclusions into two graphs, given the finished text."""
    text = dataset.store.lines(f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH {dataset.inferred} {{ ?s ?p ?o }} }}")
    graph = f" {dataset.inferred} .\n".encode()
    dataset.store.close()
    bare = Store.open(folder / "bare")
    floor = _seconds(lambda: bare.add([text, text.replace(b" .\n", graph)], many=True))
    bare.close()
    return floor


def _reasonable(folder: Path, _size: int) -> dict[str, float]:
    """The peer on a copy of the store."""
    resource.setrlimit(resource.RLIMIT_AS, (_REASONABLE_BYTES, _REASONABLE_BYTES))
    dataset = EvidenceDataset(Store.open(folder / "peer"), BASE)
    began = time.perf_counter()
    held = dataset.store.lines("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")
    file = folder / "tree.ttl"
    file.write_bytes(held)
    reasoner = import_module("reasonable").PyReasoner()
    reasoner.load_file(str(file))
    at_conclude = time.perf_counter()
    triples = reasoner.reason()
    conclude = time.perf_counter() - at_conclude
    known = set(io.BytesIO(held))
    lines = [line for line in _about_places(triples) if line + b" .\n" not in known]
    dataset.conclude_lines([lines], count=len(lines))
    total = time.perf_counter() - began
    count = sum(1 for _ in dataset.store.quads(graph=dataset.inferred))
    return {"total": total, "conclude": conclude, "memory": _peak_megabytes(), "conclusions": count}


def _about_places(triples: list[tuple[rdflib.term.Node, ...]]) -> list[bytes]:
    """What is said of a place, but for what is said of everything."""
    ours, nothing = f"{BASE}entity/", (f"{OWL}Thing", f"{OWL}sameAs")
    return [
        f"<{s}> <{p}> <{o}>".encode()
        for s, p, o in triples
        if s.startswith(ours) and str(o) not in nothing and str(p) not in nothing
    ]


def _dataset(data: list[Triple], folder: Path | None) -> EvidenceDataset:
    """A dataset of the axioms and statements, nothing inferred yet."""
    dataset = EvidenceDataset(Store.open(folder), BASE)
    chunk = NamedNode(f"{BASE}document/{'a' * 16}/chunk/0")
    dataset.commit(Change(added={dataset.ontology: _AXIOMS.triples, chunk: data}))
    return dataset


def _inference(dataset: EvidenceDataset) -> Inference:
    settings = InferenceSettings(enabled=True)
    return Inference(dataset, ontology=_AXIOMS.ontology, triples=_AXIOMS.triples, settings=settings)


def _new_statements(data: list[Triple]) -> list[Triple]:
    """Statements about new places in places of every level."""
    chosen = random.Random(1)
    known = [triple.subject for triple in data if triple.predicate == _IN]
    places = [NamedNode(f"{BASE}entity/new-{n}") for n in range(CHANGED // 2)]
    found = [Triple(place, TYPE, NamedNode(f"{GEO}Place")) for place in places]
    return found + [Triple(place, _IN, chosen.choice(known)) for place in places]


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _load() -> str:
    """How busy the machine was during the last one, five and fifteen minutes."""
    with suppress(OSError):
        return "load " + " ".join(f"{value:.1f}" for value in os.getloadavg()) + f" on {os.cpu_count()} cores"
    return "load not known"


def main() -> None:
    """Prints the table, or as JSON what a child process measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inference", description=__doc__.split("\n", 1)[0])
    parser.add_argument("sizes", nargs="*", type=int, metavar="STATEMENTS", help="measure these sizes only")
    parser.add_argument("--quick", action="store_true", help="1,000 and 10,000 statements only")
    parser.add_argument("--part", choices=("own", "reasonable"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.part:
        measured = _own if chosen.part == "own" else _reasonable
        print(json.dumps(measured(chosen.folder, chosen.sizes[0])))
        return
    before = _load()
    print(as_table(measure(*chosen.sizes, quick=chosen.quick)))
    print(f"before: {before}; after: {_load()}")


if __name__ == "__main__":
    main()
