"""``evaluate`` of a whole study: built on samples if asked for, run, written, kept, and its tables printed."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from kgplatform import config, resources
from kgplatform.cli import asking, output
from kgplatform.errors import ConfigError, NotFoundError, StoreError
from kgplatform.evaluation.studies.page import as_page
from kgplatform.evaluation.studies.report import Outcome, StudyReport, Table, as_csv, as_json, as_markdown, shown
from kgplatform.evaluation.studies.runs import (
    FOLDER,
    REPORT,
    RESULTS,
    Headline,
    RunFacts,
    as_lines,
    as_text,
    kept,
    written,
)
from kgplatform.evaluation.studies.setting import OutcomeCache, Setting
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.cache import CachedModel
from kgplatform.models.chat import OpenAIModel
from kgplatform.protocols import ChatModel

COUNTS: Final[Mapping[str, int]] = {"travel": 60, "airport": 1_350, "academic": 40, "adaptive": 40, "traversal": 40}
"""The studies, and how many questions they ask unless told otherwise."""
PACKS: Final[Mapping[str, str]] = {
    "travel": "travel",
    "airport": "airport",
    "academic": "academic",
    "adaptive": "travel",
    "traversal": "travel",
}
CACHE: Final = ".results"
"""The folder of what is kept of single questions and texts, among the runs of a workspace."""
_MODELS: Final = "models.sqlite"

Study = Callable[[Setting], tuple[StudyReport, tuple[Outcome, ...]]]


def run(given: argparse.Namespace) -> int:
    """Runs a study on a workspace, writes it to ``--output`` and the workspace, and prints its tables."""
    if given.examples:
        _built(given.study, given.workspace)
    with KnowledgeGraph.open(given.workspace) as kg:
        bar = output.Bar()
        module = importlib.import_module(f"kgplatform.evaluation.studies.{given.study}")
        study: Study = module.run
        report, outcomes = study(_setting(given, kg, bar))
        bar.end()
        report = replace(report, options={**report.options, "workspace": kg.folder.name})
        files = files_of(report)
        lines = [outcome.line() for outcome in outcomes]
        if (single := lines_file(given.output)) is not None:
            written(single, as_lines(lines))
        elif given.output:
            write(given.output, {**files, REPORT: as_text(as_json(report)), RESULTS: as_lines(lines)})
        if not given.no_keep:
            run_ = kept(kg.folder, report=as_json(report), results=lines, facts=facts_of(report), files=files)
            output.note(f"kept as {run_.folder}")
    if given.format == "json":
        output.as_json(as_json(report))
    else:
        _print(report)
    return 0


def lines_file(path: Path | None) -> Path | None:
    """The single file that results are written to, a line each; None where a folder or nothing is wanted."""
    return path if path is not None and path.suffix and not path.is_dir() else None


def _setting(given: argparse.Namespace, kg: KnowledgeGraph, bar: output.Bar) -> Setting:
    model: ChatModel | None = None if given.using == "builtin" else kg.model
    if given.using not in ("auto", "builtin") and model is None:
        raise ConfigError("no model is set; name one in kgplatform.toml under [model]", setting="model.name")
    if given.model and given.study != "travel":
        raise ConfigError(f"only travel compares models; leave --model out for {given.study}", setting="model")
    if given.model and model is None:
        raise ConfigError(
            "models are compared on the server of [model], and none is set in kgplatform.toml", setting="model.name"
        )
    return Setting(
        kg,
        count=COUNTS[given.study] if given.count is None else given.count,
        seed=given.seed,
        languages=tuple(dict.fromkeys(given.language or ("en", "zh"))),
        model=model,
        others=tuple(_named(kg, name) for name in dict.fromkeys(given.model)),
        cache=OutcomeCache(kg.folder / FOLDER / CACHE / f"{given.study}.jsonl", fresh=given.fresh),
        progress=bar,
        file=given.file,
        asking=asking.options(given, measured=True),
    )


def _named(kg: KnowledgeGraph, name: str) -> ChatModel:
    """Another model of the same server, its replies cached beside those of the first."""
    settings = kg.settings.model
    model = OpenAIModel(
        name,
        url=settings.url,
        key=config.model_key(settings),
        timeout_seconds=settings.timeout_seconds,
        retries=settings.retries,
        temperature=settings.temperature,
    )
    return CachedModel(model, kg.folder / _MODELS)


def _built(study: str, folder: Path) -> None:
    """The study's sample workspace in the folder, made if it is not there; documents that are there stay.

    Raises:
        NotFoundError: the samples are not there, as in an installed wheel.
    """
    samples, pack = resources.examples(), PACKS[study]
    if samples is None:
        raise NotFoundError("the samples come with the source; name a workspace of your own with -w", name="examples")
    there = (folder / "kgplatform.toml").exists()
    base = f"https://example.org/{pack}/"
    with KnowledgeGraph.open(folder) if there else KnowledgeGraph.create(folder, ontology=[pack], base=base) as kg:
        bar = output.Bar()
        for item in kg.add(samples / pack, progress=bar):
            if item.error:
                bar.end()
                output.note(f"failed  {item.document.source}: {item.error}")
        bar.end()


def files_of(report: StudyReport) -> dict[str, str]:
    """The files of a study besides its JSON: Markdown, page, and a table each."""
    tables = {f"report-{table.id}.csv": as_csv(table) for table in report.tables}
    return {"report.md": as_markdown(report), "report.html": as_page(report), **tables}


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Writes the files into the folder, which is made if it is not there.

    Raises:
        StoreError: the disk refuses.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            written(folder / name, text)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written: {error.strerror or error}") from error
    output.note(f"written to {folder}: {', '.join(files)}")


def facts_of(report: StudyReport) -> RunFacts:
    """What the run of the study was."""
    headline = None
    if report.headline:
        name, value = report.headline
        headline = Headline(name, value.value, value.low, value.high, value.count)
    return RunFacts(
        study=report.study,
        method=report.method,
        judge=report.judge,
        questions=report.questions,
        seconds=report.seconds,
        options=report.options,
        headline=headline,
        date=report.date,
    )


def show_published(report: StudyReport, told: Sequence[str] = ()) -> None:
    """Prints the tables that have published numbers, what differs, and the problems that were not ``told`` yet."""
    for table in report.tables:
        if any(row.published for row in table.rows):
            _print_table(table)
    _print_differs(report)
    for problem in report.problems:
        if problem not in told:
            output.note(f"problem: {problem}")


def _print_table(table: Table) -> None:
    output.say(f"\n{table.title}")
    rows = [
        (f"{row.system} (published)" if row.published else row.system, *map(shown, row.values)) for row in table.rows
    ]
    output.table(("", *table.columns), rows)
    if table.note:
        output.say(table.note)


def _print_differs(report: StudyReport) -> None:
    output.say("\nWhat differs from the study")
    for sentence in report.differs:
        output.say(f"- {sentence}")


def _print(report: StudyReport) -> None:
    judged = f"; judged by {report.judge}" if report.judge else ""
    output.say(f"{report.title}\n{report.questions} questions; method {report.method}{judged}; {report.seconds:.0f} s")
    for table in report.tables:
        _print_table(table)
    if report.tests:
        output.say("\nPaired permutation tests, p after Holm")
        output.table(
            ("measure", "", "against", "difference", "95 %", "n", "p"),
            [
                (
                    test.measure,
                    test.second,
                    test.first,
                    f"{test.comparison.difference:+.3f}",
                    f"{test.comparison.low:+.3f} {test.comparison.high:+.3f}",
                    str(test.comparison.count),
                    f"{test.p:.3f}",
                )
                for test in report.tests
            ],
        )
    _print_differs(report)
    for problem in report.problems:
        output.note(f"problem: {problem}")
    if report.problems:
        output.note(f"{len(report.problems)} problems; what they are about counts nowhere")
