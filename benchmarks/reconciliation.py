"""Reconciliation at size: a batch of names matched with a hundred thousand things, over HTTP's application.

The names are made up: two words and a number, every tenth in Chinese; every third name asked for has a letter changed.
The peer is a pass over all names for each name asked for, as a service without an index would make.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.common import Peer, Result
from kgplatform.graph import KnowledgeGraph
from kgplatform.server.app import create_app

THINGS, ASKED = 100_000, 100
_FIRST = ("Lake", "River", "Stone", "Silver", "Canal", "Garden", "Market", "Temple", "Bridge", "Harbour")
_SECOND = ("Inn", "House", "Hotel", "Lodge", "Court", "Villa", "Rest", "Hall", "Palace", "Retreat")
_HAN = "东南西北湖山水桥园林塔寺街巷镇"


def names() -> list[str]:
    """The made-up names, all different, the same in every run."""
    drawn = random.Random(7)
    return [
        f"{''.join(drawn.choices(_HAN, k=4))}客栈{number}"
        if number % 10 == 0
        else f"{drawn.choice(_FIRST)} {drawn.choice(_SECOND)} {number}"
        for number in range(THINGS)
    ]


def _asked(known: list[str]) -> list[str]:
    drawn = random.Random(8)
    chosen = drawn.sample(known, ASKED)
    return [f"{name[:2]}x{name[3:]}" if place % 3 == 0 else name for place, name in enumerate(chosen)]


def measure() -> list[Result]:
    """The time of a batch once the index is made, of making it, and the peer's."""
    known = names()
    asked = _asked(known)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "things.nt"
        label = "<http://www.w3.org/2000/01/rdf-schema#label>"
        file.write_text(
            "".join(f'<https://example.org/{n}> {label} "{name}" .\n' for n, name in enumerate(known)), encoding="utf-8"
        )
        with KnowledgeGraph.create(Path(folder) / "kg", ontology="travel") as kg:
            kg.load(file)
            client = create_app(kg).test_client()
            started = time.process_time()
            client.get("/reconcile?query=a")
            made = time.process_time() - started
            queries = json.dumps({f"q{n}": {"query": name} for n, name in enumerate(asked)})
            started = time.process_time()
            reply = client.post("/reconcile", data={"queries": queries}).get_json()
            took = time.process_time() - started
    exact = [n for n in range(ASKED) if n % 3]
    right = sum(reply[f"q{n}"]["result"][0]["name"] == asked[n] for n in exact) / len(exact)
    started = time.process_time()
    for name in asked:
        _ = [other for other in known if name.casefold() in other.casefold()]
    passes = time.process_time() - started
    return [
        Result(f"reconcile {ASKED} names, {THINGS:,} things", took, promise=1.0, peer=Peer("a pass for each", passes)),
        Result("reconcile: the index made", made, promise=10.0),
        Result("reconcile: exact names found first", right, "", promise=1.0, more_is_better=True),
    ]
