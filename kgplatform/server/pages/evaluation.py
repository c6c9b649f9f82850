"""``/evaluation``: the runs that are kept in the workspace, each with its numbers, its failures, and beside another.

``/conformance`` shows how the W3C's tests went.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, redirect, request

from kgplatform.errors import KgPlatformError
from kgplatform.evaluation import gold
from kgplatform.evaluation.gold import GoldQuestion, compare_runs, read_run
from kgplatform.evaluation.metrics import Estimate
from kgplatform.evaluation.question_maker import ReverseQuestions
from kgplatform.evaluation.runs import RESULTS, Headline, KeptRun, RunFacts, find_run, kept, runs
from kgplatform.server.access import Role, client, require
from kgplatform.server.frame import Frame, Lately, language, page
from kgplatform.server.http import problem
from kgplatform.server.jobs import Jobs
from kgplatform.server.result_tables import Cell, Sheet, csv_of, number, sheet
from kgplatform.sparql.protocol import HTML, TRIPLES, choose

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph


# numbers of a run as tables and charts
COST = ("calls", "prompt_tokens", "completion_tokens")


@dataclass(frozen=True, slots=True)
class ReportedEstimate:
    """A number between 0 and 1 with its interval and how many it was measured on; without interval: taken as it is."""

    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None

    @classmethod
    def read(cls, value: object) -> ReportedEstimate | None:
        """The estimate of a report; None where it is none."""
        if isinstance(value, dict) and isinstance(value.get("value"), int | float):
            low, high, count = (value.get(name) for name in ("low", "high", "n"))
            return cls(float(value["value"]), low, high, count)
        return cls(float(value)) if isinstance(value, int | float) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class RunTable:
    """A table of a run, and the chart of it where it is worth drawing."""

    title: str
    listed: Sheet
    picture: dict[str, object] | None
    note: str = ""


def bars(rows: list[dict[str, object]], label: str, series: Sequence[str] = ()) -> dict[str, object]:
    """The picture of bars from 0 to 100 %."""
    picture: dict[str, object] = {
        "kind": "bars",
        "horizontal": True,
        "x": {"label": label, "type": "number", "domain": [0, 1], "percent": True},
        "y": {"label": None, "type": "category"},
        "rows": rows,
    }
    return {**picture, "series": list(series)} if series else picture


def tables(report: Mapping[str, Any], frame: Frame) -> Iterator[RunTable]:
    """The tables of a report."""
    if isinstance(report.get("types"), dict):
        yield _by_type(report, frame)
    if isinstance(report.get("calibration"), dict) and report["calibration"].get("bins"):
        yield _calibrated(report["calibration"], frame)
    for item in report.get("tables") or ():
        yield _study_table(item, frame)
    if report.get("tests"):
        yield _tests(report["tests"], frame)
    known = {"types", "calibration", "tables", "tests", "options", "seconds", *COST}
    numbers = list(_numbers({key: value for key, value in report.items() if key not in known}))
    if numbers:
        columns = [frame.t(name) for name in ("run_measure", "run_value", "run_interval", "run_count")]
        rows = [(Cell(word(frame, name)), *_cells(found)) for name, found in numbers]
        yield RunTable(frame.t("run_numbers"), sheet("numbers", columns, rows), None)


def _by_type(report: Mapping[str, Any], frame: Frame) -> RunTable:
    """Accuracy by the type of question, with the run as a whole above it."""
    kinds: dict[str, Mapping[str, Any]] = {frame.t("run_all"): report, **report["types"]}
    rows, drawn = [], []
    for name, item in kinds.items():
        exact, f1 = ReportedEstimate.read(item.get("exact")), ReportedEstimate.read(item.get("f1"))
        if exact is None:
            continue
        rows.append((Cell(name), *_cells(exact), *_cells(f1 or exact)[:2]))
        drawn.append({"x": exact.value, "y": name, "low": exact.low, "high": exact.high, "title": told(exact)})
    columns = [frame.t(key) for key in ("run_type", "run_exact", "run_interval", "run_count", "run_f1", "run_interval")]
    return RunTable(frame.t("run_by_type"), sheet("types", columns, rows), bars(drawn, frame.t("run_exact")))


def _calibrated(found: Mapping[str, Any], frame: Frame) -> RunTable:
    columns = [frame.t(key) for key in ("run_confidence", "run_count", "run_mean", "run_exact")]
    rows = [
        (f"{per_cent(b['low'])} – {per_cent(b['high'])}", b["n"], share(b["confidence"]), share(b["accuracy"]))
        for b in found["bins"]
    ]
    note = frame.t("run_calibration_note", e=per_cent(float(found.get("error", 0))), b=f"{found.get('brier', 0):.3f}")
    return RunTable(frame.t("run_calibration"), sheet("calibration", columns, rows), None, note)


def _study_table(item: Mapping[str, Any], frame: Frame) -> RunTable:
    columns = [frame.t("run_system"), *map(str, item["columns"])]
    rows, drawn = [], []
    for row in item["rows"]:
        name = f"{row['system']} {frame.t('run_published')}" if row.get("published") else str(row["system"])
        rows.append((Cell(name, title=str(row.get("note", ""))), *(_value(value) for value in row["values"])))
        for measure, value in zip(item["columns"], row["values"], strict=False):
            if (found := ReportedEstimate.read(value)) is not None:
                drawn.append({"x": found.value, "y": name, "low": found.low, "high": found.high, "series": measure})
    picture = bars(drawn, "", [str(name) for name in item["columns"]]) if item.get("chart") and drawn else None
    name = "".join(letter if letter.isalnum() else "-" for letter in str(item["id"]))
    return RunTable(str(item["title"]), sheet(name, columns, rows), picture, str(item.get("note", "")))


def _tests(found: Iterable[Mapping[str, Any]], frame: Frame) -> RunTable:
    keys = ("run_measure", "run_first", "run_second", "run_difference", "run_interval", "run_count", "run_p")
    rows = [
        (
            *(str(item[key]) for key in ("measure", "first", "second")),
            signed(item["difference"]),
            f"{item['low']:+.3f} – {item['high']:+.3f}",
            item["n"],
            number(float(item.get("p_holm", item["p"])), 4),
        )
        for item in found
    ]
    return RunTable(frame.t("run_tests"), sheet("tests", [frame.t(key) for key in keys], rows), None)


def _numbers(record: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, ReportedEstimate]]:
    """The numbers in a report, those of objects in it by the names of both."""
    for key, value in record.items():
        found = ReportedEstimate.read(value)
        if found is not None:
            yield f"{before}{key}", found
        elif isinstance(value, dict):
            yield from _numbers(value, f"{before}{key} ")


def _value(value: object) -> Cell:
    found = ReportedEstimate.read(value)
    if found is None:
        return Cell("–" if value is None else str(value))
    inside = 0 <= found.value <= 1
    text = f"{found.value:.3f}" if inside else f"{found.value:g}"
    interval = f" ({found.low:.2f}–{found.high:.2f})" if found.low is not None and found.high is not None else ""
    return Cell(text + interval, numeric=True, amount=found.value)


def _cells(found: ReportedEstimate) -> tuple[Cell, Cell, Cell]:
    interval = (
        f"{per_cent(found.low)} – {per_cent(found.high)}" if found.low is not None and found.high is not None else ""
    )
    inside = found.n is not None or 0 < found.value <= 1
    value = share(found.value) if inside else number(found.value, 3)
    return value, Cell(interval), number(found.n) if found.n is not None else Cell("")


def share(value: float) -> Cell:
    """A cell with a share in per cent."""
    return Cell(per_cent(value), numeric=True, amount=float(value))


def signed(value: float) -> Cell:
    """A cell with a difference."""
    return Cell(f"{value:+.3f}", numeric=True, amount=float(value))


def per_cent(value: float | None) -> str:
    """A share in per cent; empty for none."""
    return "" if value is None else f"{100 * value:.1f} %"


def told(found: ReportedEstimate) -> str:
    """An estimate with its interval."""
    interval = f" ({per_cent(found.low)} – {per_cent(found.high)})" if found.low is not None else ""
    return f"{per_cent(found.value)}{interval}"


def word(frame: Frame, name: str) -> str:
    """A measure in words: ours where there are any, else its name as it is."""
    known = {"exact": "run_exact", "f1": "run_f1", "query_match": "run_same_query"}
    return frame.t(known[name]) if name in known else name.replace("_", " ")


_MOST_FAILURES = 200
_MOST_CHARACTERS = 2000
_MEASURES = ("exact", "right", "f1", "faithfulness", "relevancy", "recall", "precision")
"""What a result fails by: the first that it has, if that is below `_RIGHT`."""
_RIGHT = 0.5


def blueprint(kg: KnowledgeGraph, lately: Lately, jobs: Jobs) -> Blueprint:
    """The routes of the Evaluation pages, and of a small run: one after the other with the reading of documents."""
    routes = Blueprint("runs", __name__)
    _add_conformance(routes, kg)
    running, fruitless = threading.Event(), threading.Event()

    def measuring() -> Iterator[object]:
        try:
            found = measured(kg)
            if found is None:
                fruitless.set()
            yield found
        finally:
            running.clear()

    @routes.get("/evaluation")
    def evaluation() -> Any:
        frame = Frame(language(), kg.base)
        found = runs(kg.folder)
        listed = _listed(found, frame)
        return csv_of(listed) or page(
            "evaluation.html",
            kg.base,
            runs=found,
            listed=listed,
            pictures=list(_over_time(found, frame)),
            is_busy=running.is_set(),
            is_fruitless=fruitless.is_set(),
            may_run=client().role >= Role.WRITE and not lately.overview().empty,
        )

    @routes.post("/evaluation")
    def start() -> Any:
        require(Role.WRITE)
        if not running.is_set():
            fruitless.clear()
            running.set()
            jobs.start(measuring)
        return redirect("/evaluation", 303)

    @routes.get("/evaluation/<name>")
    def run(name: str) -> Any:
        frame, chosen = Frame(language(), kg.base), find_run(kg.folder, name)
        shown = _shown(chosen, frame)
        against = request.args.get("against", "")
        beside = _beside(chosen, find_run(kg.folder, against), frame) if against else None
        sheets_ = [*(item.listed for item in shown["tables"]), *([beside["listed"]] if beside else [])]
        others = [item for item in runs(kg.folder) if item.study == chosen.study and item.name != name]
        return csv_of(*sheets_) or page("run.html", kg.base, shown=shown, others=others, against=against, beside=beside)

    return routes


_MADE_EACH = 8
"""So many questions in each language has the run that the page starts."""


def measured(kg: KnowledgeGraph) -> KeptRun | None:
    """A run on a few questions that are made from the graph in both languages; None where none can be made.

    Raises:
        StoreError: the disk refuses.
    """
    known, started = kg.knowledge, time.perf_counter()
    makers = (
        ReverseQuestions(known.names.facts, known.schema, run=kg.query, label=kg.label, language=spoken)
        for spoken in ("en", "zh")
    )
    made = [item for maker in makers for item in maker.make(_MADE_EACH).kept]
    if not made:
        return None
    questions = (GoldQuestion(m.id, m.text, m.language, m.kind, (m.answers,), m.query) for m in made)
    asked = list(gold.ask_all(questions, ask=kg.ask, query=kg.query, label_of=kg.label))
    found = gold.report([item.scored for item in asked])
    report = {
        **{"exact": _measure(found.exact), "f1": _measure(found.f1)},
        "types": {item.kind: {"exact": _measure(item.exact), "f1": _measure(item.f1)} for item in found.by_type},
        **{name: getattr(found.usage, name) for name in COST},
        "seconds": {"median": found.seconds[0], "p95": found.seconds[1]},
    }
    head, method = found.exact, kg.model.name if kg.model else "built-in"
    headline = Headline("exact", head.value, head.low, head.high, head.count)
    facts = RunFacts("questions", method, "", len(asked), time.perf_counter() - started, headline=headline)
    return kept(kg.folder, report=report, results=[item.line() for item in asked], facts=facts)


def _measure(found: Estimate) -> dict[str, float]:
    return {"value": found.value, "low": found.low, "high": found.high, "n": found.count}


def _listed(found: Sequence[KeptRun], frame: Frame) -> Sheet:
    columns = ("run_study", "run_when", "run_method", "run_judge", "run_questions", "run_headline", "run_interval")
    rows = []
    for run in found:
        measured: tuple[Cell | str, str] = ("", "")
        if head := run.headline:
            text = f"{word(frame, head.name)} {per_cent(head.value)}"
            measured = Cell(text, numeric=True, amount=head.value), f"{per_cent(head.low)} – {per_cent(head.high)}"
        study = Cell(frame.named("study", run.study), f"/evaluation/{run.name}")
        method = frame.named("ask_using", run.method)
        rows.append((study, Cell(run.date, is_moment=True), method, run.judge, run.questions, *measured))
    return sheet("runs", [frame.t(name) for name in columns], rows)


def _over_time(found: Sequence[KeptRun], frame: Frame) -> Iterator[tuple[str, dict[str, object]]]:
    """A line for each study that was run more than once: its headline over time."""
    for study in dict.fromkeys(run.study for run in found):
        told = [run for run in reversed(found) if run.study == study and run.headline]
        heads = [run.headline for run in told if run.headline]
        if len(told) < 2:
            continue
        rows = [
            {
                "x": head.value,
                "y": f"{place}. {run.date} {frame.named('ask_using', run.method)}",
                "when": run.date,
                "low": head.low,
                "high": head.high,
                "href": f"/evaluation/{run.name}",
            }
            for place, (run, head) in enumerate(zip(told, heads, strict=True), 1)
        ]
        yield frame.named("study", study), bars(rows[-30:], word(frame, heads[-1].name))


def _shown(run: KeptRun, frame: Frame) -> dict[str, Any]:
    """A run, ready for its page."""
    report = run.report()
    try:
        results = run.results()
    except KgPlatformError:  # the numbers are worth showing without the lines
        results = []
    failures = [item for result in results if (item := _failure(result)) is not None]
    return {
        **{"run": run, "tables": list(tables(report, frame)), "facts": list(_facts(run, report, frame))},
        **{"failures": failures[:_MOST_FAILURES], "failed": len(failures)},
        **{"sentences": _texts(report.get("differs")), "problems": _texts(report.get("problems"))},
        "source": str(report.get("source", "")),
        "headline": word(frame, run.headline.name) if run.headline else "",
    }


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _facts(run: KeptRun, report: Mapping[str, Any], frame: Frame) -> Iterator[tuple[str, str]]:
    yield frame.t("run_when"), frame.when(run.date)
    yield frame.t("run_method"), frame.named("ask_using", run.method)
    if run.judge:
        yield frame.t("run_judge"), run.judge
    yield frame.t("run_questions"), frame.number(run.questions)
    yield frame.t("run_seconds"), frame.t("lasting", t=f"{run.seconds:.1f}")
    times = report.get("seconds")
    if isinstance(times, dict) and {"median", "p95"} <= times.keys():
        yield frame.t("run_latency"), frame.t("run_latency_of", m=f"{times['median']:.2f}", p=f"{times['p95']:.2f}")
    if any(report.get(name) for name in COST):
        calls, asked, given = (int(report.get(name) or 0) for name in COST)
        yield frame.t("run_cost"), frame.t("run_cost_of", n=frame.number(calls), m=frame.number(asked + given))
    for name in ("query_match", "macro_f1"):
        if (found := ReportedEstimate.read(report.get(name))) is not None:
            yield word(frame, name), told(found)
    yield frame.t("run_version"), run.version
    if run.options:
        yield frame.t("run_options"), ", ".join(f"{key} {value}" for key, value in run.options.items() if value)


def _failure(result: Mapping[str, Any]) -> dict[str, object] | None:
    """A question that was not answered well: what was asked, expected and got, by which query, and how it scored."""
    name = next((key for key in _MEASURES if isinstance(result.get(key), int | float)), "")
    score = float(result[name]) if name else 1.0
    exact = name in ("exact", "right")
    if not name or score >= (1 if exact else _RIGHT):
        return None
    expected = next((result[key] for key in ("gold", "expected", "reference", "class") if result.get(key)), "")
    got = next((result[key] for key in ("answer", "answers", "given_class") if result.get(key)), "")
    problems = [str(result.get("problem") or ""), *map(str, result.get("problems") or ())]
    question = str(result.get("question") or result.get("text") or "")
    return {
        **{"id": str(result.get("id", "")), "question": question[:_MOST_CHARACTERS], "score": score},
        "kind": str(result.get("type") or result.get("kind") or ""),
        "verdict": str(result.get("outcome") or result.get("verdict") or ""),
        **{"expected": _told(expected), "got": _told(got), "asks": bool(result.get("question"))},
        **{name: str(result.get(name) or "") for name in ("query", "gold_query")},
        "problem": "; ".join(item for item in problems if item)[:_MOST_CHARACTERS],
    }


def _told(value: object) -> str:
    """What was expected or got, as text."""
    if isinstance(value, str):
        return value[:_MOST_CHARACTERS]
    if isinstance(value, list):
        return ", ".join(_told(item) for item in value)[:_MOST_CHARACTERS]
    return json.dumps(value, ensure_ascii=False)[:_MOST_CHARACTERS]


def _beside(run: KeptRun, other: KeptRun, frame: Frame) -> dict[str, Any]:
    """A run beside an earlier one."""
    (first, _), (second, _) = (read_run(item.folder / RESULTS) for item in (other, run))
    compared = compare_runs(first, second)
    names = (frame.t("run_before"), frame.t("run_now"))
    keys = ("run_measure", "run_before", "run_now", "run_difference", "run_interval", "run_p")
    rows, drawn = [], []
    for item in compared.measures:
        found = item.comparison
        rows.append(
            (
                word(frame, item.measure),
                share(item.first),
                share(item.second),
                signed(item.second - item.first),
                f"{found.low:+.3f} – {found.high:+.3f}",
                number(found.p, 4),
            )
        )
        for name, value in zip(names, (item.first, item.second), strict=True):
            drawn.append({"x": value, "y": word(frame, item.measure), "series": name})
    listed = sheet("comparison", [frame.t(key) for key in keys], rows)
    shown = {"worse": compared.worse[:50], "better": compared.better[:50]}
    return {"other": other, "compared": compared, "listed": listed, "picture": bars(drawn, "", names), **shown}


JSON_FILE, EARL_FILE = "conformance.json", "conformance.ttl"


def _add_conformance(routes: Blueprint, kg: KnowledgeGraph) -> None:

    @routes.route("/conformance")
    def conformance() -> Any:
        """How the W3C's tests went when they were last run for this workspace, and why some do not pass.

        `kgplatform conformance FOLDER -w WORKSPACE` leaves its results there, as JSON for the page and as EARL.
        """
        require(Role.READ)
        chosen = choose(request.headers.get("Accept"), (HTML, TRIPLES[0]))
        if chosen is not None and chosen is not HTML:
            return _earl(kg.folder / EARL_FILE)
        record = _read(kg.folder / JSON_FILE)
        reasons: dict[str, list[str]] = {}
        for test in record.get("tests", ()):
            if test["outcome"] == "failed":
                reasons.setdefault(test["reason"], []).append(test["test"])
        shown = {"at": "", "version": "", "suites": (), **record}
        return page(
            "conformance.html", kg.base, **{name: shown[name] for name in ("at", "version", "suites")}, reasons=reasons
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _earl(path: Path) -> Response:
    try:
        return Response(path.read_bytes(), headers={"Content-Type": TRIPLES[0].content_type, "Vary": "Accept"})
    except OSError:
        return problem(404, "Not found", "no tests were run yet: kgplatform conformance FOLDER -w WORKSPACE")
