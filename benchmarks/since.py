"""Adds, asks and queries with an earlier commit and with a later one, by turns: ``python -m benchmarks.since 35580c6``.

The later one is this checkout, or a second commit that is named: ``276a63f^ 276a63f`` is what one change costs. A
workspace on one machine, without ``[cluster]`` and without a journal, must not pay for what it does not use: each may
take at most 1.05 times as long as before. What is taken is the time of the processor, so that other work on the machine
counts little, and beside it the number of calls, which no other work changes; commits are checked out beside this one
for as long as it takes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.common import ROOT, Peer, Result, as_table

TURNS = 5
_MOST_TIMES = 1.05
_STEPS = """
import cProfile, json, pstats, sys, time
from pathlib import Path
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder

folder, notes, counts, taken = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "calls", {}
kg = KnowledgeGraph.create(folder, ontology="travel")
kg.workspace.__dict__["embedder"] = HashEmbedder()

def timed(name, times, step):
    step(0)  # the first one loads what is needed
    profile, began = cProfile.Profile(), time.process_time()
    if counts:
        profile.enable()
    for number in range(times):
        step(number + 1)
    profile.disable()
    taken[name] = (pstats.Stats(profile).total_calls if counts else time.process_time() - began) / times

files = sorted(notes.iterdir())
timed("add", len(files) - 1, lambda number: list(kg.add(files[number], build=False)))
kg.build()
timed("ask", 10, lambda number: kg.ask(f"How many rooms does Inn number {number} have?"))
timed("query", 300, lambda number: kg.query("SELECT ?s ?n { ?s travel:roomCount ?n }").rows)
kg.close()
print(json.dumps(taken))
"""


def measure(earlier: str, later: str = "", turns: int = TURNS) -> list[Result]:
    """The median processor time of each step at the later commit, the calls, and how many times those of the earlier.

    ``later``: empty is this checkout.
    """
    with TemporaryDirectory(prefix="kgplatform-") as place, ExitStack() as stack:
        folder = Path(place)
        notes = folder / "notes"
        notes.mkdir()
        for number in range(30):
            text = f"Inn number {number} is a hotel in Wuzhen. It has {number + 10} rooms. 西栅{number}位于乌镇。"
            (notes / f"{number:02}.txt").write_text(text, encoding="utf-8")
        roots = (_checked_out(earlier, folder / "before", stack), ROOT)
        if later:
            roots = (roots[0], _checked_out(later, folder / "after", stack))
        taken: dict[Path, list[dict[str, float]]] = {root: [] for root in roots}
        for turn in range(turns):
            for root, found in taken.items():
                found.append(_once(root, folder / f"kg-{root.name}-{turn}", notes))
        calls = [_once(root, folder / f"kg-{root.name}-calls", notes, "calls") for root in roots]
    results = []
    for name in ("add", "ask", "query"):
        then, now = (median(found[name] for found in taken[root]) for root in roots)
        results.append(Result(f"{name}: processor time of one", now, peer=Peer(f"at {earlier}", then)))
        results.append(Result(f"{name}: times that of {earlier}", now / then, "", promise=_MOST_TIMES))
        fewer, more = (counted[name] for counted in calls)
        results.append(Result(f"{name}: calls in one", more, "", peer=Peer(f"at {earlier}", fewer)))
    return results


def _checked_out(commit: str, folder: Path, stack: ExitStack) -> Path:
    subprocess.run(["git", "worktree", "add", "--detach", "-q", folder, commit], cwd=ROOT, check=True)
    removal = ["git", "worktree", "remove", "--force", str(folder)]
    stack.callback(lambda: subprocess.run(removal, cwd=ROOT, check=True))
    return folder


def _once(root: Path, folder: Path, notes: Path, what: str = "seconds") -> dict[str, float]:
    command = [sys.executable, "-c", _STEPS, str(folder), str(notes), what]
    variables = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root, env=variables)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    given = argparse.ArgumentParser(prog="python -m benchmarks.since")
    given.add_argument("earlier")
    given.add_argument("later", nargs="?", default="")
    given.add_argument("--turns", type=int, default=TURNS)
    chosen = given.parse_args()
    print(as_table(measure(chosen.earlier, chosen.later, chosen.turns)))
