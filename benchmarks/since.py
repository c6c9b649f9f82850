"""Adds, asks and queries with an earlier commit and with this one, by turns: ``python -m benchmarks.since 35580c6``.

A workspace on one machine, without ``[cluster]`` and without a journal, must not pay for what it does not use: each
may take at most 1.05 times as long as before. What is taken is the time of the processor, so that other work on the
machine counts little; the earlier commit is checked out beside this one for as long as it takes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.common import ROOT, Peer, Result, as_table

TURNS = 5
_MOST_TIMES = 1.05
_STEPS = """
import json, sys, time
from pathlib import Path
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder

folder, notes, taken = Path(sys.argv[1]), Path(sys.argv[2]), {}
kg = KnowledgeGraph.create(folder, ontology="travel")
kg.workspace.__dict__["embedder"] = HashEmbedder()

def timed(name, times, step):
    step(0)  # the first one loads what is needed
    began = time.process_time()
    for number in range(times):
        step(number + 1)
    taken[name] = (time.process_time() - began) / times

files = sorted(notes.iterdir())
timed("add", len(files) - 1, lambda number: list(kg.add(files[number], build=False)))
kg.build()
timed("ask", 10, lambda number: kg.ask(f"How many rooms does Inn number {number} have?"))
timed("query", 300, lambda number: kg.query("SELECT ?s ?n { ?s travel:roomCount ?n }").rows)
kg.close()
print(json.dumps(taken))
"""


def measure(commit: str, turns: int = TURNS) -> list[Result]:
    """The median processor time of each step, with that of the earlier commit as peer, and their ratio."""
    with TemporaryDirectory(prefix="kgplatform-") as place:
        folder = Path(place)
        before, notes = folder / "before", folder / "notes"
        subprocess.run(["git", "worktree", "add", "--detach", "-q", before, commit], cwd=ROOT, check=True)
        try:
            notes.mkdir()
            for number in range(30):
                text = f"Inn number {number} is a hotel in Wuzhen. It has {number + 10} rooms. 西栅{number}位于乌镇。"
                (notes / f"{number:02}.txt").write_text(text, encoding="utf-8")
            taken: dict[Path, list[dict[str, float]]] = {ROOT: [], before: []}
            for turn in range(turns):
                for root, found in taken.items():
                    found.append(_once(root, folder / f"kg-{len(found)}-{root.name}-{turn}", notes))
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", before], cwd=ROOT, check=True)
    results = []
    for name in ("add", "ask", "query"):
        now, then = (median(found[name] for found in taken[root]) for root in (ROOT, before))
        results.append(Result(f"{name}: processor time of one", now, peer=Peer(f"at {commit}", then)))
        results.append(Result(f"{name}: times that of {commit}", now / then, "", promise=_MOST_TIMES))
    return results


def _once(root: Path, folder: Path, notes: Path) -> dict[str, float]:
    command = [sys.executable, "-c", _STEPS, str(folder), str(notes)]
    variables = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root, env=variables)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    print(as_table(measure(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else TURNS)))
