"""Kills the adding of documents at random moments, many times over, and looks whether anything was lost or left half.

``python -m benchmarks.kills 50`` kills fifty runs by SIGKILL. Each is a process that was forked from one that has
everything loaded, so that a kill falls into reading, linking, inference or indexing and not into the start of Python;
it takes up what the one before it left. After each, every document that was reported as added must be there, the
default graph must equal its evidence, and each document be whole or not there at all. A graph that was completed over
several kills must be the one of a run that was left alone, byte for byte.
"""

from __future__ import annotations

import hashlib
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from benchmarks.common import Result, as_table
from benchmarks.documents_scale import note
from kgplatform.documents.records import State
from kgplatform.extraction.names import tag
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder

KILLS, DOCUMENTS = 50, 24
_LATEST = 1.05
_FORK = get_context("fork")
_T = TypeVar("_T")


@dataclass(slots=True)
class _Tally:
    """What the kills did."""

    hits: int = 0
    completed: int = 0
    lost: int = 0
    broken: int = 0
    others: int = 0


def measure(kills: int = KILLS) -> list[Result]:
    """How many of the kills lost a reported document, broke the law of evidence, or led to another graph."""
    chance, tally = random.Random(kills), _Tally()
    tag("乌镇")  # what reads Chinese is loaded once, here
    with TemporaryDirectory(prefix="kgplatform-") as scratch:
        folder = Path(scratch)
        notes = _notes(folder / "notes")
        workspace = _created(folder / "undisturbed")
        began = time.monotonic()
        _reported(workspace, notes, None)
        longest = (time.monotonic() - began) * _LATEST
        whole = _ask(_dump, workspace)
        workspace = _created(folder / "killed0")
        for number in range(kills):
            if _kill(workspace, notes, chance.uniform(0.02, longest), tally) == DOCUMENTS:
                tally.completed += 1
                _reported(workspace, notes, None)
                tally.others += _ask(_dump, workspace) != whole
                workspace = _created(folder / f"killed{number + 1}")
        _reported(workspace, notes, None)
        tally.others += _ask(_dump, workspace) != whole
    return [
        Result(f"{kills} kills, {tally.hits} before the end: lost a document", tally.lost, unit="times", promise=0),
        Result("broke the law of evidence", tally.broken, unit="times", promise=0),
        Result(f"{tally.completed + 1} completed graphs: another one", tally.others, unit="times", promise=0),
    ]


def _kill(workspace: Path, notes: Path, seconds: float, tally: _Tally) -> int:
    """Adds, kills after so many seconds, and looks at what is there; how many documents are."""
    reported, was_killed = _reported(workspace, notes, seconds)
    done, is_lawful = _ask(_state, workspace)
    tally.lost += not reported <= done
    tally.broken += not is_lawful
    tally.hits += was_killed
    return len(done)


def _notes(folder: Path) -> Path:
    folder.mkdir()
    for number in range(DOCUMENTS):
        (folder / f"note{number:02}.txt").write_text(note(number), encoding="utf-8")
    return folder


def _created(folder: Path) -> Path:
    _ask(_create, folder)
    return folder


def _create(folder: Path) -> None:
    KnowledgeGraph.create(folder, ontology="travel").close()


def _dump(workspace: Path) -> str:
    """By what the content of a workspace is known."""
    with KnowledgeGraph.open(workspace) as kg:
        return hashlib.sha256(b"\n".join(sorted(kg.dump().splitlines()))).hexdigest()


def _state(workspace: Path) -> tuple[set[str], bool]:
    """The sources that are done, and whether the default graph is its evidence and each document is whole."""
    with KnowledgeGraph.open(workspace) as kg:
        done = kg.registry.summaries(State.PROCESSED)
        whole = all(next(kg.store.quads(graph=item.iri), None) is not None for item in done)
        return {item.source for item in done}, whole and kg.dataset.violations() == (frozenset(), frozenset())


def _add(workspace: Path, notes: Path, said: Connection) -> None:
    """Adds the notes, and says of each that it is done."""
    with KnowledgeGraph.open(workspace) as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        for added in kg.add(notes):
            if added.outcome in ("added", "unchanged"):
                said.send(added.document.source)


def _reported(workspace: Path, notes: Path, seconds: float | None) -> tuple[set[str], bool]:
    """What was reported as added before it was killed after so many seconds (None: never), and whether it was."""
    hears, says = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_add, args=(workspace, notes, says))
    process.start()
    says.close()
    process.join(seconds)
    was_running = process.is_alive()
    process.kill()
    process.join()
    if seconds is None and process.exitcode:
        raise RuntimeError(f"adding {notes} to {workspace} ended with {process.exitcode}")
    reported = set()
    with suppress(EOFError):
        while hears.poll():
            reported.add(str(hears.recv()))
    return reported, was_running


def _ask(function: Callable[[Path], _T], workspace: Path) -> _T:
    """What the function finds, in a process of its own: threads of a store that is open here would not be there."""
    hears, says = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=lambda: says.send(function(workspace)))
    process.start()
    says.close()
    found: _T = hears.recv()
    process.join()
    return found


if __name__ == "__main__":
    print(as_table(measure(int(sys.argv[1]) if len(sys.argv) > 1 else KILLS)))
