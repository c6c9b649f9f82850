"""``/evaluation``: the runs that are kept in the workspace, each with its numbers, its failures, and beside another."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, request

from kgplatform.errors import KgPlatformError
from kgplatform.evaluation.comparing import Result, RunComparison, compare_runs, read_run
from kgplatform.evaluation.studies.runs import RESULTS, Run, find_run, runs
from kgplatform.web.frame import Frame, language, page
from kgplatform.web.needs import Graph
from kgplatform.web.run_tables import COST, Estimate, Table, bars, per_cent, share, tables, told, word
from kgplatform.web.sheets import Sheet, csv_of, number, sheet
from kgplatform.web.tables import Cell

_MOST_FAILURES = 200
_MOST_CHARACTERS = 2000
_MEASURES = ("exact", "right", "f1", "faithfulness", "relevancy", "recall", "precision")
"""What a result fails by: the first that it has, if that is below `_RIGHT`."""
_RIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Failure:
    """A question that was not answered well: what was asked, expected and got, by which query, and how it scored."""

    id: str
    question: str
    kind: str
    verdict: str
    expected: str
    got: str
    query: str
    gold_query: str
    score: float
    problem: str
    asks: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """A run, ready for its page."""

    run: Run
    tables: tuple[Table, ...]
    facts: tuple[tuple[str, str], ...]
    failures: tuple[Failure, ...]
    failed: int
    sentences: tuple[str, ...]
    problems: tuple[str, ...]
    source: str
    headline: str


def blueprint(kg: Graph) -> Blueprint:
    """The routes of the Evaluation pages."""
    routes = Blueprint("runs", __name__)

    @routes.get("/evaluation")
    def evaluation() -> Any:
        frame = Frame(language(), kg.base)
        found = runs(kg.folder)
        listed = _listed(found, frame)
        return csv_of(listed) or page(
            "evaluation.html", kg.base, runs=found, listed=listed, pictures=list(_over_time(found, frame))
        )

    @routes.get("/evaluation/<name>")
    def run(name: str) -> Any:
        frame, chosen = Frame(language(), kg.base), find_run(kg.folder, name)
        shown = _shown(chosen, frame)
        against = request.args.get("against", "")
        beside = _beside(chosen, find_run(kg.folder, against), frame) if against else None
        sheets_ = [*(item.listed for item in shown.tables), *([beside.listed] if beside else [])]
        others = [item for item in runs(kg.folder) if item.study == chosen.study and item.name != name]
        return csv_of(*sheets_) or page("run.html", kg.base, shown=shown, others=others, against=against, beside=beside)

    return routes


def _listed(found: Sequence[Run], frame: Frame) -> Sheet:
    columns = ("run_study", "run_when", "run_method", "run_judge", "run_questions", "run_headline", "run_interval")
    rows = []
    for run in found:
        head = run.headline
        rows.append(
            (
                Cell(run.study, f"/evaluation/{run.name}"),
                Cell(_when(run)),
                Cell(run.method),
                Cell(run.judge),
                number(run.questions),
                Cell(f"{word(frame, head.name)} {per_cent(head.value)}", numeric=True, amount=head.value)
                if head
                else Cell(""),
                Cell(f"{per_cent(head.low)} – {per_cent(head.high)}") if head else Cell(""),
            )
        )
    return sheet("runs", [frame.t(name) for name in columns], rows)


def _over_time(found: Sequence[Run], frame: Frame) -> Iterator[tuple[str, dict[str, object]]]:
    """A line for each study that was run more than once: its headline over time."""
    for study in dict.fromkeys(run.study for run in found):
        told = [run for run in reversed(found) if run.study == study and run.headline]
        heads = [run.headline for run in told if run.headline]
        if len(told) < 2:
            continue
        rows = [
            {
                "x": head.value,
                "y": f"{_when(run)} {run.method}",
                "low": head.low,
                "high": head.high,
                "href": f"/evaluation/{run.name}",
            }
            for run, head in zip(told, heads, strict=True)
        ]
        yield study, bars(rows[-30:], word(frame, heads[-1].name))


def _shown(run: Run, frame: Frame) -> Shown:
    report = run.report()
    try:
        results = run.results()
    except KgPlatformError:  # the numbers are worth showing without the lines
        results = []
    failures = [item for result in results if (item := _failure(result)) is not None]
    return Shown(
        run=run,
        tables=tuple(tables(report, frame)),
        facts=tuple(_facts(run, report, frame)),
        failures=tuple(failures[:_MOST_FAILURES]),
        failed=len(failures),
        sentences=_texts(report.get("differs")),
        problems=_texts(report.get("problems")),
        source=str(report.get("source", "")),
        headline=word(frame, run.headline.name) if run.headline else "",
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _facts(run: Run, report: Mapping[str, Any], frame: Frame) -> Iterator[tuple[str, str]]:
    yield frame.t("run_when"), run.date.replace("T", " ").replace("Z", " UTC")
    yield frame.t("run_method"), run.method
    if run.judge:
        yield frame.t("run_judge"), run.judge
    yield frame.t("run_questions"), frame.number(run.questions)
    yield frame.t("run_seconds"), f"{run.seconds:.1f} s"
    times = report.get("seconds")
    if isinstance(times, dict) and {"median", "p95"} <= times.keys():
        yield frame.t("run_latency"), frame.t("run_latency_of", m=f"{times['median']:.2f}", p=f"{times['p95']:.2f}")
    if any(report.get(name) for name in COST):
        calls, asked, given = (int(report.get(name) or 0) for name in COST)
        yield frame.t("run_cost"), frame.t("run_cost_of", n=frame.number(calls), m=frame.number(asked + given))
    for name in ("query_match", "macro_f1"):
        if (found := Estimate.read(report.get(name))) is not None:
            yield word(frame, name), told(found)
    yield frame.t("run_version"), run.version
    if run.options:
        yield frame.t("run_options"), ", ".join(f"{key} {value}" for key, value in run.options.items() if value)


def _failure(result: Mapping[str, Any]) -> Failure | None:
    name = next((key for key in _MEASURES if isinstance(result.get(key), int | float)), "")
    score = float(result[name]) if name else 1.0
    exact = name in ("exact", "right")
    if not name or score >= (1 if exact else _RIGHT):
        return None
    expected = next((result[key] for key in ("gold", "expected", "reference", "class") if result.get(key)), "")
    got = next((result[key] for key in ("answer", "answers", "given_class") if result.get(key)), "")
    problems = [str(result.get("problem") or ""), *map(str, result.get("problems") or ())]
    question = str(result.get("question") or result.get("text") or "")
    return Failure(
        id=str(result.get("id", "")),
        question=question[:_MOST_CHARACTERS],
        kind=str(result.get("type") or result.get("kind") or ""),
        verdict=str(result.get("outcome") or result.get("verdict") or ""),
        expected=_told(expected),
        got=_told(got),
        query=str(result.get("query") or ""),
        gold_query=str(result.get("gold_query") or ""),
        score=score,
        problem="; ".join(item for item in problems if item)[:_MOST_CHARACTERS],
        asks=bool(result.get("question")),
    )


def _told(value: object) -> str:
    """What was expected or got, as text."""
    if isinstance(value, str):
        return value[:_MOST_CHARACTERS]
    if isinstance(value, list):
        return ", ".join(_told(item) for item in value)[:_MOST_CHARACTERS]
    return json.dumps(value, ensure_ascii=False)[:_MOST_CHARACTERS]


@dataclass(frozen=True, slots=True)
class Beside:
    """A run beside an earlier one."""

    other: Run
    compared: RunComparison
    listed: Sheet
    picture: dict[str, object]
    worse: tuple[Result, ...]
    better: tuple[Result, ...]


def _beside(run: Run, other: Run, frame: Frame) -> Beside:
    (first, _), (second, _) = (read_run(item.folder / RESULTS) for item in (other, run))
    compared = compare_runs(first, second)
    names = (_when(other), _when(run))
    keys = ("run_measure", "run_before", "run_now", "run_difference", "run_interval", "run_p")
    rows, drawn = [], []
    for item in compared.measures:
        found = item.comparison
        rows.append(
            (
                Cell(word(frame, item.measure)),
                share(item.first),
                share(item.second),
                Cell(f"{item.second - item.first:+.3f}", numeric=True, amount=item.second - item.first),
                Cell(f"{found.low:+.3f} – {found.high:+.3f}"),
                number(found.p, 4),
            )
        )
        for name, value in zip(names, (item.first, item.second), strict=True):
            drawn.append({"x": value, "y": word(frame, item.measure), "series": name})
    listed = sheet("comparison", [frame.t(key) for key in keys], rows)
    picture = bars(drawn, "", names)
    return Beside(other, compared, listed, picture, compared.worse[:50], compared.better[:50])


def _when(run: Run) -> str:
    """The moment of a run, to the second, by which it is told from others."""
    return run.date.replace("T", " ").removesuffix("Z")
