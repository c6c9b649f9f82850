"""The guided demo: sample workspaces built from real input, asked in two languages, and served."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from kgplatform import resources
from kgplatform.errors import NotFoundError
from kgplatform.graph import KnowledgeGraph
from kgplatform.questions import rendering

_RULE = "─" * 72
_BAR = 24


def run(packs: Sequence[str], *, folder: Path, port: int | None) -> int:
    """Builds the workspaces of the packs below ``folder``, asks them, and serves the first (``port`` None: does not).

    Returns 0, or 1 if a sample document could not be read.

    Raises:
        NotFoundError: the samples are not there, as in an installed wheel.
    """
    samples = resources.examples()
    if samples is None:
        raise NotFoundError("the samples come with the source; run `make demo` in a checkout", name="examples")
    failed = 0
    for pack in packs:
        with _built(pack, samples / pack, folder / pack) as kg:
            failed += _add_samples(kg, pack, samples / pack)
            _ask_all(kg, samples / "questions" / f"{pack}.txt")
    if port is not None:
        _serve(folder / packs[0], port)
    return 1 if failed else 0


def _built(pack: str, samples: Path, folder: Path) -> KnowledgeGraph:
    if (folder / "kgplatform.toml").exists():
        return KnowledgeGraph.open(folder)
    _say(f"{_RULE}\nMaking the {pack} workspace in {folder} from {samples.name} samples")
    return KnowledgeGraph.create(folder, ontology=[pack], base=f"https://example.org/{pack}/")


def _add_samples(kg: KnowledgeGraph, pack: str, samples: Path) -> int:
    started = time.monotonic()
    outcomes: dict[str, int] = {}
    statements = 0
    for item in kg.add(samples, progress=_progress):
        outcomes[item.outcome] = outcomes.get(item.outcome, 0) + 1
        statements += item.statements
        if item.error:
            _say(f"failed  {item.document.source}: {item.error}")
    _progress(0, 0, "")
    counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
    how = f"the model {kg.model.name}" if kg.model else "the built-in methods"
    _say(f"{pack}: {counts}; {statements} statements by {how}, {time.monotonic() - started:.1f} s")
    return outcomes.get("failed", 0)


def _progress(done: int, total: int, name: str) -> None:
    """A bar on stderr where that is a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        return
    filled = _BAR * done // max(total, 1)
    line = f"[{'█' * filled}{' ' * (_BAR - filled)}] {done}/{total} {name[:36]}" if total else ""
    sys.stderr.write(f"\r{line:<78}\r")
    sys.stderr.flush()


def _ask_all(kg: KnowledgeGraph, questions: Path) -> None:
    for line in questions.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            _say(_RULE)
            _say(rendering.as_text(kg.ask(line.strip())))


def _serve(folder: Path, port: int) -> None:
    from kgplatform.web.serving import serve

    _say(_RULE)
    _say(f"To serve another of the workspaces: kgplatform serve -w {folder.parent}/NAME")
    with KnowledgeGraph.open(folder) as kg:
        serve(kg, port=port, announce=_say)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
