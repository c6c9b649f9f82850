"""What the benchmarks share: taking the time of processes and calls, and the table.

A time is the median over several runs, after one that does not count. Beside it stands the time of a peer: the least
that any program of the kind would have to do, so that the ratio says what kgplatform itself costs and stays meaningful
on a slower machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"


@dataclass(frozen=True, slots=True)
class Peer:
    """What a measurement is compared with."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Result:
    """One measurement: what, how much, what is promised of it, and the peer's value in the same unit.

    ``promise`` is a limit from above, or from below where ``more_is_better``.
    """

    name: str
    value: float
    unit: str = "s"
    promise: float | None = None
    more_is_better: bool = False
    peer: Peer | None = None

    @property
    def kept(self) -> bool:
        """Whether the promise is kept; true where none is made."""
        if self.promise is None:
            return True
        return self.value >= self.promise if self.more_is_better else self.value <= self.promise


def kgplatform(*arguments: str | Path) -> list[str]:
    """The command line that runs kgplatform in a process of its own."""
    return [sys.executable, "-m", "kgplatform", *map(str, arguments)]


def process_seconds(command: Sequence[str], *, runs: int = 7) -> float:
    """The median wall time of a process from start to end.

    Raises:
        RuntimeError: it did not succeed; the message holds what it said.
    """
    return call_seconds(lambda: run(command), runs=runs)


def processor_seconds(command: Sequence[str], *, runs: int = 7) -> float:
    """The median processor time (user and system) of a process from start to end, after one that does not count.

    Raises:
        RuntimeError: it did not succeed; the message holds what it said.
    """

    def taken() -> float:
        before = os.times()
        run(command)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    taken()
    return median(taken() for _ in range(runs))


def call_seconds(call: Callable[[], object], *, runs: int = 7) -> float:
    """The median wall time of a call, after one that does not count."""
    call()
    return median(_seconds(call) for _ in range(runs))


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def run(command: Sequence[str]) -> None:
    """Runs a process from the root of the checkout.

    Raises:
        RuntimeError: it did not succeed; the message holds what it said.
    """
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr[-2000:]}")


@contextmanager
def new_workspace(pack: str) -> Iterator[Path]:
    """The folder of a new workspace of that pack, without a language model; it goes away afterwards."""
    with TemporaryDirectory(prefix="kgplatform-") as folder:
        workspace = Path(folder) / pack
        run(kgplatform("create", workspace, "--ontology", pack))
        yield workspace


def sample_questions(pack: str) -> list[str]:
    """The questions that the demo asks of that pack."""
    lines = (EXAMPLES / "questions" / f"{pack}.txt").read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def as_table(results: Sequence[Result]) -> str:
    """The results in columns, a promise that is not kept marked as such."""
    rows = [("what", "measured", "promised", "kept", "peer", "ratio")]
    for result in results:
        sign = "≥" if result.more_is_better else "≤"
        promised = "" if result.promise is None else f"{sign} {result.promise:g} {result.unit}"
        kept = "" if result.promise is None else ("yes" if result.kept else "NO")
        peer = f"{result.peer.value:.3f} {result.unit}, {result.peer.name}" if result.peer else ""
        ratio = f"{result.value / result.peer.value:.2g}" if result.peer and result.peer.value else ""
        rows.append((result.name, f"{result.value:.3f} {result.unit}", promised, kept, peer, ratio))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [rows[0], tuple("-" * width for width in widths), *rows[1:]]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
