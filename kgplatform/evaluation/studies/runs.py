"""Runs kept in a workspace: a folder for each, with its report, its results line by line, and what it was.

``<workspace>/evaluation/<run>/`` holds ``report.json``, ``results.jsonl`` and ``meta.json``, the last written last: a
folder without it is no run. Names that begin with a dot are the cache of the studies.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from kgplatform import __version__
from kgplatform.errors import NotFoundError, ReadError, StoreError

FOLDER: Final = "evaluation"
META, REPORT, RESULTS = "meta.json", "report.json", "results.jsonl"
_MOST_OF_A_SECOND: Final = 100


@dataclass(frozen=True, slots=True)
class Headline:
    """The one number that stands for a run in a list, with its interval."""

    name: str
    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a run was: its study, who answered and judged, how many questions, how long, with which options."""

    study: str
    method: str
    judge: str
    questions: int
    seconds: float
    options: Mapping[str, object] = field(default_factory=dict)
    headline: Headline | None = None
    date: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """A run that is kept; ``name`` is that of its folder."""

    name: str
    folder: Path
    study: str
    date: str
    version: str
    method: str
    judge: str
    questions: int
    seconds: float
    options: Mapping[str, object]
    headline: Headline | None

    def report(self) -> dict[str, object]:
        """The numbers of the run as a whole.

        Raises:
            ReadError: the file is gone or damaged.
        """
        return _object(self.folder / REPORT)

    def results(self) -> list[dict[str, object]]:
        """The lines of its results, those that cannot be read left out.

        Raises:
            ReadError: the file is gone.
        """
        found = []
        for line in _text(self.folder / RESULTS).splitlines():
            try:
                item = json.loads(line)
            except ValueError:
                continue
            if isinstance(item, dict):
                found.append(item)
        return found


def moment() -> str:
    """Now, as reports write it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def runs(workspace: Path) -> list[Run]:
    """The runs kept in a workspace, the latest first; folders that hold no whole run are left out."""
    folder = workspace / FOLDER
    names = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    found = (_run(folder / name) for name in names if not name.startswith("."))
    return sorted((run for run in found if run), key=lambda run: (run.date, run.name), reverse=True)


def find_run(workspace: Path, name: str) -> Run:
    """The run of that name.

    Raises:
        NotFoundError: there is none; the message offers the nearest.
    """
    known = {run.name: run for run in runs(workspace)}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    offer = f"did you mean {near[0]!r}?" if near else "`kgplatform evaluate questions FILE` keeps one"
    raise NotFoundError(f"no run is called {name!r} in {workspace / FOLDER}; {offer}", name=name)


def results_file(workspace: Path, name: str) -> Path:
    """The results that a name stands for: a file, the folder of a run, or a run of the workspace.

    Raises:
        NotFoundError: it stands for none of these.
    """
    path = Path(name)
    if path.is_file():
        return path
    if (path / RESULTS).is_file():
        return path / RESULTS
    return find_run(workspace, name).folder / RESULTS


def kept(
    workspace: Path,
    *,
    report: Mapping[str, object],
    results: Iterable[Mapping[str, object]],
    facts: RunFacts,
    files: Mapping[str, str] | None = None,
) -> Run:
    """Keeps a run in the workspace, with further files by name; it is there as a whole or not at all.

    Raises:
        StoreError: the folder cannot be written.
    """
    date = facts.date or moment()
    meta = {
        "study": facts.study,
        "date": date,
        "version": __version__,
        "method": facts.method,
        "judge": facts.judge,
        "questions": facts.questions,
        "seconds": round(facts.seconds, 3),
        "options": dict(facts.options),
        "headline": _headline_json(facts.headline),
    }
    try:
        folder = _made(workspace / FOLDER, f"{date.replace('-', '').replace(':', '')}-{facts.study}")
        for name, text in (files or {}).items():
            written(folder / name, text)
        written(folder / REPORT, as_text(report))
        written(folder / RESULTS, as_lines(results))
        written(folder / META, as_text(meta))
    except OSError as error:
        raise StoreError(f"{workspace / FOLDER}: the run cannot be kept: {error.strerror or error}") from error
    run = _run(folder)
    assert run is not None
    return run


def _made(parent: Path, name: str) -> Path:
    """A new folder of that name, numbered where there is one already."""
    parent.mkdir(exist_ok=True)
    for number in range(1, _MOST_OF_A_SECOND):
        folder = parent / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise StoreError(f"{parent / name}: there are too many runs of this second")


def written(path: Path, text: str) -> None:
    """Writes a file beside its place and moves it there when whole."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def as_text(value: Mapping[str, object]) -> str:
    """An object as the text of a JSON file."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def as_lines(items: Iterable[Mapping[str, object]]) -> str:
    """Objects as the text of a JSON Lines file."""
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items)


def _run(folder: Path) -> Run | None:
    try:
        meta = _object(folder / META)
        return Run(
            name=folder.name,
            folder=folder,
            study=_string(meta["study"]),
            date=_string(meta["date"]),
            version=_string(meta["version"]),
            method=_string(meta["method"]),
            judge=_string(meta["judge"]),
            questions=int(meta["questions"]),
            seconds=float(meta["seconds"]),
            options=dict(meta["options"]),
            headline=_headline(meta["headline"]),
        )
    except (ReadError, KeyError, TypeError, ValueError):
        return None


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _headline(value: object) -> Headline | None:
    if not isinstance(value, dict):
        return None
    middle, low, high = (float(value[name]) for name in ("value", "low", "high"))
    return Headline(str(value["name"]), middle, low, high, int(value["n"]))


def _headline_json(value: Headline | None) -> dict[str, object] | None:
    if value is None:
        return None
    return {"name": value.name, "value": value.value, "low": value.low, "high": value.high, "n": value.n}


def _object(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(_text(path))
    except ValueError as error:
        raise ReadError(f"is no JSON: {error}", path=path) from error
    if not isinstance(found, dict):
        raise ReadError("is no JSON object", path=path)
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(f"cannot be read: {error}", path=path) from error


def latest(found: Sequence[Run], study: str) -> Run | None:
    """The latest run of a study among runs that are the latest first; None if there is none."""
    return next((run for run in found if run.study == study), None)
