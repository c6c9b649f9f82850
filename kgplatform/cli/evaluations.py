"""``evaluate``: gold questions asked or gold texts read, results written, the numbers shown."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TextIO

from kgplatform.cli import asking, extractions, output, studies
from kgplatform.errors import ConfigError, ReadError
from kgplatform.evaluation.calibration import Bin
from kgplatform.evaluation.extraction import GoldText, ReadText, read_all, read_texts
from kgplatform.evaluation.extraction import report as extraction_report
from kgplatform.evaluation.gold import read_gold
from kgplatform.evaluation.questions import QuestionReport, ScoredQuestion, ask_all, report
from kgplatform.evaluation.statistics import Estimate
from kgplatform.evaluation.studies.gold_files import of_questions, of_texts
from kgplatform.evaluation.studies.report import StudyReport, as_json
from kgplatform.evaluation.studies.runs import (
    FOLDER,
    REPORT,
    RESULTS,
    as_lines,
    as_text,
    kept,
)
from kgplatform.evaluation.studies.setting import KeptLines, key_of, state_of
from kgplatform.graph import KnowledgeGraph

_FROM_FILES = ("questions", "extraction")


def chosen(given: argparse.Namespace) -> int:
    """Does what the command line asks for: a comparison, a study, or gold questions or texts of a file.

    Raises:
        ConfigError: a study or a file is missing, or too much.
    """
    from kgplatform.cli import comparing

    if given.compare:
        if given.study:
            raise ConfigError("--compare takes two runs and no STUDY", setting="compare")
        return comparing.run(given)
    if given.study is None:
        names = ", ".join((*_FROM_FILES, *studies.COUNTS))
        raise ConfigError(f"name what to measure ({names}), or compare two runs with --compare", setting="study")
    if given.file is None and given.study in _FROM_FILES:
        raise ConfigError(f"evaluate {given.study} needs a FILE of gold {given.study}", setting="file")
    if given.file is not None and given.study not in (*_FROM_FILES, "airport"):
        raise ConfigError(f"the study {given.study} makes its own questions; leave {given.file} out", setting="file")
    if given.file is None:
        return studies.run(given)
    if given.examples or given.count is not None or given.language or given.model:
        told = "--examples, --count, --language and --model are for a study that makes its own questions"
        raise ConfigError(f"{told}; leave {given.file} or them out", setting="file")
    return studies.run(given) if given.study == "airport" else run(given)


def run(given: argparse.Namespace) -> int:
    """Measures what STUDY names, writes each result to ``--output`` as it comes, and prints the report."""
    return _extraction(given) if given.study == "extraction" else _questions(given)


def _extraction(given: argparse.Namespace) -> int:
    gold, problems = read_texts(given.file)
    for problem in problems:
        output.note(f"{given.file}: {problem}; left out")
    started = time.perf_counter()
    with KnowledgeGraph.open(given.workspace) as kg:
        kept_lines, state = _kept_lines(given, kg), state_of(kg)
        keys = [key_of("extraction", asdict(item), _method(given, kg), state) for item in gold]
        before = [_read_before(item, kept_lines.find(key)) for item, key in zip(gold, keys, strict=True)]
        reading = read_all(
            (item for item, found in zip(gold, before, strict=True) if found is None), kg.extractor_for(), kg.ontology
        )
        bar, texts = output.Bar(), []
        with opened(studies.lines_file(given.output)) as file:
            for number, (key, found) in enumerate(zip(keys, before, strict=True), 1):
                item = found or next(reading)
                if found is None:
                    kept_lines.keep(key, item.line())
                texts.append(item)
                _put(file, item.line())
                bar(number, len(gold), item.gold.id)
        bar.end()
        _told_again(sum(found is not None for found in before), "texts")
        numbers = extraction_report(texts)
        study = of_texts(
            numbers,
            method=_method(given, kg),
            seconds=time.perf_counter() - started,
            problems=problems,
            options=_options(given),
        )
        record = {**extractions.as_json(numbers, problems), **beside(study)}
        _finish(given, kg, study, record, [item.line() for item in texts])
    if given.format == "json":
        output.as_json(record)
    else:
        extractions.show(numbers)
        studies.show_published(study, problems)
    return 0


def _read_before(gold: GoldText, line: Mapping[str, object] | None) -> ReadText | None:
    try:
        return ReadText.read(gold, line) if line is not None else None
    except ValueError:
        return None


def _method(given: argparse.Namespace, kg: KnowledgeGraph) -> str:
    """Who translates or reads."""
    return kg.model.name if kg.model and given.using != "builtin" else "built-in"


def _options(given: argparse.Namespace) -> dict[str, object]:
    chosen = {"file": str(given.file), "using": given.using, "style": given.style, "view": given.view}
    return {**chosen, "drafts": given.drafts}


def _kept_lines(given: argparse.Namespace, kg: KnowledgeGraph) -> KeptLines:
    """What was measured in the workspace before, from which a run goes on."""
    return KeptLines(kg.folder / FOLDER / studies.CACHE / f"{given.study}.jsonl", fresh=given.fresh)


def _told_again(again: int, what: str) -> None:
    if again:
        output.note(f"{again} {what} as kept from an earlier run; --fresh begins anew")


def _put(file: TextIO | None, line: Mapping[str, object]) -> None:
    if file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _finish(
    given: argparse.Namespace,
    kg: KnowledgeGraph,
    study: StudyReport,
    record: Mapping[str, object],
    lines: Sequence[Mapping[str, object]],
) -> None:
    """Writes the run to the folder asked for, and keeps it in the workspace."""
    files = studies.files_of(study)
    if given.output and studies.lines_file(given.output) is None:
        studies.write(given.output, {**files, REPORT: as_text(record), RESULTS: as_lines(lines)})
    if not given.no_keep:
        run_ = kept(kg.folder, report=record, results=lines, facts=studies.facts_of(study), files=files)
        output.note(f"kept as {run_.folder}")


def _questions(given: argparse.Namespace) -> int:
    gold = read_gold(given.file)
    for problem in gold.problems:
        output.note(f"{given.file}: {problem}; left out")
    started = time.perf_counter()
    with KnowledgeGraph.open(given.workspace) as kg:
        kept_lines, state = _kept_lines(given, kg), state_of(kg)
        bar, options, again = output.Bar(), asking.options(given, measured=True), 0
        lines: list[Mapping[str, object]] = []
        asked: list[ScoredQuestion] = []
        with opened(studies.lines_file(given.output)) as file:
            for number, question in enumerate(gold.questions, 1):
                key = key_of("questions", asdict(question), asdict(options), _method(given, kg), state)
                line = kept_lines.find(key)
                scored = _scored_before(line)
                again += scored is not None
                if line is None or scored is None:
                    (item,) = ask_all(
                        [question], ask=lambda text: kg.ask(text, options=options), query=kg.query, label_of=kg.label
                    )
                    line, scored = item.line(), item.scored
                    kept_lines.keep(key, line, lasting=not item.problem)
                lines.append(line)
                asked.append(scored)
                _put(file, line)
                bar(number, len(gold.questions), question.text)
        bar.end()
        _told_again(again, "answers")
        found = report(asked, gold.problems)
        study = of_questions(
            found, method=_method(given, kg), seconds=time.perf_counter() - started, options=_options(given)
        )
        record = {**report_json(found), **beside(study)}
        _finish(given, kg, study, record, lines)
    if given.format == "json":
        output.as_json(record)
    else:
        _print(found)
        studies.show_published(study, gold.problems)
    return 0


def _scored_before(line: Mapping[str, object] | None) -> ScoredQuestion | None:
    try:
        return ScoredQuestion.read(line) if line is not None else None
    except ValueError:
        return None


def beside(study: StudyReport) -> dict[str, object]:
    """What stands beside a run's own numbers in its report: published ones, where they are from, what differs."""
    tables = [table for table in study.tables if any(row.published for row in table.rows)]
    whole = as_json(replace(study, tables=tuple(tables)))
    return {name: whole[name] for name in ("title", "source", "differs", "tables")}


@contextmanager
def opened(path: Path | None) -> Iterator[TextIO | None]:
    """The results file, written beside its place and moved there when whole; None where none is wanted."""
    if path is None:
        yield None
        return
    part = path.with_name(path.name + ".part")
    try:
        with part.open("w", encoding="utf-8") as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise ReadError(f"cannot be written: {error.strerror or error}", path=path) from error
    finally:
        part.unlink(missing_ok=True)


def report_json(found: QuestionReport) -> dict[str, object]:
    """The report as JSON values."""
    return {
        "exact": _estimate(found.exact),
        "f1": _estimate(found.f1),
        "query_match": _estimate(found.query_match) if found.query_match else None,
        "three_way": {
            "accuracy": found.three_way.accuracy,
            "missing": found.three_way.missing,
            "hallucination": found.three_way.hallucination,
            "score": found.three_way.score,
        },
        "calibration": {
            "error": found.calibration.error,
            "brier": found.calibration.brier,
            "bins": [_bin(item) for item in found.calibration.bins],
        },
        "types": {item.kind: {"exact": _estimate(item.exact), "f1": _estimate(item.f1)} for item in found.by_type},
        "calls": found.usage.calls,
        "prompt_tokens": found.usage.prompt_tokens,
        "completion_tokens": found.usage.completion_tokens,
        "seconds": {"median": found.seconds[0], "p95": found.seconds[1]},
        "problems": list(found.problems),
    }


def _estimate(value: Estimate) -> dict[str, float]:
    return {"value": value.value, "low": value.low, "high": value.high, "n": value.count}


def _bin(item: Bin) -> dict[str, float]:
    return {
        "low": item.low,
        "high": item.high,
        "n": item.count,
        "confidence": item.confidence,
        "accuracy": item.accuracy,
    }


def _print(found: QuestionReport) -> None:
    rows = [_row("all", found.exact, found.f1), *(_row(item.kind, item.exact, item.f1) for item in found.by_type)]
    output.table(("type", "n", "exact", "95 %", "set-F1", "95 %"), rows)
    ways = found.three_way
    output.say(
        f"right {ways.accuracy:.3f}, none given {ways.missing:.3f}, wrong {ways.hallucination:.3f}: "
        f"score {ways.score:+.3f}"
    )
    if found.query_match:
        output.say(f"same query as the gold one: {found.query_match}")
    output.say(f"calibration error {found.calibration.error:.3f}, Brier {found.calibration.brier:.3f}")
    output.table(
        ("confidence", "answers", "mean", "right"),
        [
            (f"{item.low:.1f}-{item.high:.1f}", f"{item.count}", f"{item.confidence:.2f}", f"{item.accuracy:.2f}")
            for item in found.calibration.bins
        ],
    )
    usage = found.usage
    output.say(
        f"{found.seconds[0]:.3f} s a question (median), {found.seconds[1]:.3f} s at the 95th percentile; "
        f"{usage.calls} model calls, {usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
    )


def _row(kind: str, exact: Estimate, f1: Estimate) -> tuple[str, ...]:
    return (
        kind,
        str(exact.count),
        *(part for value in (exact, f1) for part in (f"{value.value:.3f}", f"{value.low:.3f}-{value.high:.3f}")),
    )
