"""A study from the command line: built on samples if asked for, run, written, kept, and its tables printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Final

from benchmarks.studies.setting import OutcomeCache, Setting
from kgplatform import resources
from kgplatform import settings as config
from kgplatform.cli import output
from kgplatform.cli.answer_verbs import ask_options
from kgplatform.cli.evaluation_verbs import CACHE, finish, lines_file, print_differs, print_table
from kgplatform.cli.verb import DONE, Given
from kgplatform.errors import ConfigError, NotFoundError
from kgplatform.evaluation.runs import FOLDER, StudyReport, as_json, as_lines, written
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.chat import OpenAIModel
from kgplatform.models.reply_cache import CachedModel
from kgplatform.types import ChatModel
from kgplatform.workspace.workspace import MODELS

COUNTS: Final[Mapping[str, int]] = {"travel": 60, "airport": 1_350, "academic": 40, "adaptive": 40, "traversal": 40}
"""The studies, and how many questions they ask unless told otherwise."""
PACKS: Final[Mapping[str, str]] = {
    "travel": "travel",
    "airport": "airport",
    "academic": "academic",
    "adaptive": "travel",
    "traversal": "travel",
}


def run(given: Given) -> int:
    """Runs a study on a workspace, writes it to ``--output`` and the workspace, and prints its tables."""
    if given.examples:
        _built(given.study, given.workspace)
    with KnowledgeGraph.open(given.workspace) as kg:
        bar = output.Bar()
        report, outcomes = import_module(f"benchmarks.studies.{given.study}").run(_setting(given, kg, bar))
        bar.end()
        report = replace(report, options={**report.options, "workspace": kg.folder.name})
        lines = [outcome.line() for outcome in outcomes]
        if (single := lines_file(given.output)) is not None:
            written(single, as_lines(lines))
        finish(given, kg, report, as_json(report), lines)
    if given.format == "json":
        output.as_json(as_json(report))
    else:
        _print(report)
    return DONE


def _setting(given: Given, kg: KnowledgeGraph, bar: output.Bar) -> Setting:
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
        asking=ask_options(given, measured=True),
    )


def _named(kg: KnowledgeGraph, name: str) -> ChatModel:
    """Another model of the same server, its replies cached beside those of the first."""
    return CachedModel(OpenAIModel.configured(kg.settings.model, name), kg.folder / MODELS)


def _built(study: str, folder: Path) -> None:
    """The study's sample workspace in the folder, made if it is not there; documents that are there stay.

    Raises:
        NotFoundError: the samples are not there, as in an installed wheel.
    """
    samples, pack = resources.examples(), PACKS[study]
    if samples is None:
        raise NotFoundError("the samples come with the source; name a workspace of your own with -w", name="examples")
    there = (folder / config.FILE).exists()
    base = f"https://example.org/{pack}/"
    with KnowledgeGraph.open(folder) if there else KnowledgeGraph.create(folder, ontology=[pack], base=base) as kg:
        bar = output.Bar()
        for item in kg.add(samples / pack, progress=bar):
            if item.error:
                bar.end()
                output.note(f"failed  {item.document.source}: {item.error}")
        bar.end()


def _print(report: StudyReport) -> None:
    judged = f"; judged by {report.judge}" if report.judge else ""
    output.say(f"{report.title}\n{report.questions} questions; method {report.method}{judged}; {report.seconds:.0f} s")
    for table in report.tables:
        print_table(table)
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
    print_differs(report)
    for problem in report.problems:
        output.note(f"problem: {problem}")
    if report.problems:
        output.note(f"{len(report.problems)} problems; what they are about counts nowhere")
