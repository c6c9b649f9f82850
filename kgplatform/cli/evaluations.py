"""``evaluate``: gold questions asked or gold texts read, results written, the numbers shown."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from kgplatform.cli import asking, extractions, output
from kgplatform.errors import ConfigError, ReadError
from kgplatform.evaluation.calibration import Bin
from kgplatform.evaluation.extraction import read_all, read_texts
from kgplatform.evaluation.extraction import report as extraction_report
from kgplatform.evaluation.gold import read_gold
from kgplatform.evaluation.questions import AskedQuestion, QuestionReport, ask_all, report
from kgplatform.evaluation.statistics import Estimate
from kgplatform.evaluation.studies.runs import Headline, RunFacts, kept
from kgplatform.graph import KnowledgeGraph

_FROM_FILES = ("questions", "extraction")


def chosen(given: argparse.Namespace) -> int:
    """Does what the command line asks for: a comparison, a study, or gold questions or texts of a file.

    Raises:
        ConfigError: a study or a file is missing, or too much.
    """
    from kgplatform.cli import airport, comparing, studies

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
    if given.examples or given.fresh or given.count is not None or given.language or given.model:
        told = "--examples, --count, --language, --model and --fresh are for a study that makes its own questions"
        raise ConfigError(f"{told}; leave {given.file} or them out", setting="file")
    return airport.run(given) if given.study == "airport" else run(given)


def run(given: argparse.Namespace) -> int:
    """Measures what STUDY names, writes each result to ``--output`` as it comes, and prints the report."""
    return _extraction(given) if given.study == "extraction" else _questions(given)


def _extraction(given: argparse.Namespace) -> int:
    gold, problems = read_texts(given.file)
    for problem in problems:
        output.note(f"{given.file}: {problem}; left out")
    started = time.perf_counter()
    with KnowledgeGraph.open(given.workspace) as kg:
        bar = output.Bar()
        texts = []
        with opened(given.output) as file:
            for number, item in enumerate(read_all(gold, kg.extractor_for(), kg.ontology), 1):
                texts.append(item)
                if file:
                    file.write(json.dumps(extractions.result(item), ensure_ascii=False) + "\n")
                bar(number, len(gold), item.gold.id)
        bar.end()
        found = extraction_report(texts)
        if not given.no_keep:
            f1 = found.strict.f1
            keep(
                kg,
                given,
                report=extractions.as_json(found, problems),
                results=map(extractions.result, texts),
                headline=Headline("strict F1", f1.value, f1.low, f1.high, f1.count),
                seconds=time.perf_counter() - started,
            )
    extractions.show(found, problems, given.format)
    return 0


def keep(
    kg: KnowledgeGraph,
    given: argparse.Namespace,
    *,
    report: Mapping[str, object],
    results: Iterable[Mapping[str, object]],
    headline: Headline,
    seconds: float,
) -> None:
    """Keeps a run of gold questions or texts in the workspace."""
    method = kg.model.name if kg.model and given.using != "builtin" else "built-in"
    options = {"file": str(given.file), "using": given.using, "style": given.style, "view": given.view}
    facts = RunFacts(given.study, method, "", headline.n, seconds, {**options, "drafts": given.drafts}, headline)
    run_ = kept(kg.folder, report=report, results=results, facts=facts)
    output.note(f"kept as {run_.folder}")


def _questions(given: argparse.Namespace) -> int:
    gold = read_gold(given.file)
    for problem in gold.problems:
        output.note(f"{given.file}: {problem}; left out")
    started = time.perf_counter()
    with KnowledgeGraph.open(given.workspace) as kg:
        bar = output.Bar()
        asked: list[AskedQuestion] = []
        with opened(given.output) as file:
            options = asking.options(given, measured=True)
            answers = ask_all(
                gold.questions, ask=lambda text: kg.ask(text, options=options), query=kg.query, label_of=kg.label
            )
            for number, item in enumerate(answers, 1):
                asked.append(item)
                if file:
                    file.write(json.dumps(result(item), ensure_ascii=False) + "\n")
                bar(number, len(gold.questions), item.gold.text)
        bar.end()
        found = report(asked, gold.problems)
        if not given.no_keep:
            exact = found.exact
            keep(
                kg,
                given,
                report=report_json(found),
                results=map(result, asked),
                headline=Headline("exact", exact.value, exact.low, exact.high, exact.count),
                seconds=time.perf_counter() - started,
            )
    if given.format == "json":
        output.as_json(report_json(found))
    else:
        _print(found)
    return 0


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


def result(item: AskedQuestion) -> dict[str, object]:
    """What became of a question, as JSON values."""
    answer = item.answer
    return {
        "id": item.gold.id,
        "question": item.gold.text,
        "type": item.gold.kind,
        "lang": item.gold.language,
        "answers": list(answer.values),
        "verdict": answer.verdict.value,
        "outcome": item.outcome.value,
        "exact": item.score.exact,
        "precision": item.score.precision,
        "recall": item.score.recall,
        "f1": item.score.f1,
        "same_query": item.same_query,
        "expected": list(item.gold.answers[0]) if item.gold.answers else [],
        "gold_query": item.gold.query or None,
        "query": answer.query.text if answer.query else None,
        "confidence": answer.confidence,
        "using": answer.using,
        "model": answer.model,
        "attempts": [
            {"query": attempt.query, "issues": [issue.message for issue in attempt.issues]}
            for attempt in (answer.query.attempts if answer.query else ())
        ],
        "calls": answer.usage.calls,
        "prompt_tokens": answer.usage.prompt_tokens,
        "completion_tokens": answer.usage.completion_tokens,
        "seconds": answer.usage.seconds,
        "problem": item.problem,
    }


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
