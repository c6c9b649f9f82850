"""Kills ``kgplatform add`` at random moments, many times over, and looks whether anything was lost or left half.

``python -m benchmarks.kills 50`` kills fifty runs. After each, every document that was reported as added must be there,
the default graph must equal its evidence, and each document be whole or not there at all. At the end the graph must be
the one of a run that was left alone.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.common import Result, as_table, kgplatform, run
from benchmarks.documents_scale import note
from kgplatform.documents.registry import State
from kgplatform.graph import KnowledgeGraph

KILLS, DOCUMENTS, _LONGEST = 50, 24, 9.0


def measure(kills: int = KILLS) -> list[Result]:
    """How many of the kills lost a reported document, broke the law of evidence, or led to another graph."""
    chance = random.Random(kills)
    lost = broken = others = hits = 0
    with TemporaryDirectory(prefix="kgplatform-") as scratch:
        folder = Path(scratch)
        notes = _notes(folder / "notes")
        whole = _dump(_added(_created(folder / "undisturbed"), notes))
        workspace = _created(folder / "killed0")
        for number in range(kills):
            reported = _killed(workspace, notes, chance.uniform(0.3, _LONGEST))
            with KnowledgeGraph.open(workspace) as kg:
                done = {summary.source for summary in kg.registry.summaries(State.PROCESSED)}
                lost += not reported <= done
                broken += kg.dataset.violations() != (frozenset(), frozenset())
            hits += 0 < len(done) < DOCUMENTS
            if len(done) == DOCUMENTS:
                others += _dump(_added(workspace, notes)) != whole
                workspace = _created(folder / f"killed{number + 1}")
        others += _dump(_added(workspace, notes)) != whole
    return [
        Result(f"{kills} kills, {hits} amid documents: lost a document", lost, unit="times", promise=0),
        Result("broke the law of evidence", broken, unit="times", promise=0),
        Result("led to another graph", others, unit="times", promise=0),
    ]


def _notes(folder: Path) -> Path:
    folder.mkdir()
    for number in range(DOCUMENTS):
        (folder / f"note{number:02}.txt").write_text(note(number), encoding="utf-8")
    return folder


def _created(folder: Path) -> Path:
    run(kgplatform("create", folder, "--ontology", "travel"))
    return folder


def _added(workspace: Path, notes: Path) -> Path:
    run(kgplatform("add", "-w", workspace, notes))
    return workspace


def _dump(workspace: Path) -> list[bytes]:
    with KnowledgeGraph.open(workspace) as kg:
        return sorted(kg.dump().splitlines())


def _killed(workspace: Path, notes: Path, seconds: float) -> set[str]:
    """The sources that were reported as added before the run was killed."""
    command = [sys.executable, "-u", *kgplatform("add", "-w", workspace, notes)[1:]]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    time.sleep(seconds)
    process.kill()
    said = process.communicate()[0].rpartition("\n")[0]
    return {line.split()[1].rstrip(":") for line in said.splitlines() if line.startswith(("added", "unchanged"))}


if __name__ == "__main__":
    print(as_table(measure(int(sys.argv[1]) if len(sys.argv) > 1 else KILLS)))
