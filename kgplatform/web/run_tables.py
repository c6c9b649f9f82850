"""The numbers of a run as tables and charts, whatever study it is of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgplatform.web.frame import Frame
from kgplatform.web.sheets import Sheet, number, sheet
from kgplatform.web.tables import Cell

COST = ("calls", "prompt_tokens", "completion_tokens")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number between 0 and 1 with its interval and how many it was measured on; without interval: taken as it is."""

    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None

    @classmethod
    def read(cls, value: object) -> Estimate | None:
        """The estimate of a report; None where it is none."""
        if isinstance(value, dict) and isinstance(value.get("value"), int | float):
            low, high, count = (value.get(name) for name in ("low", "high", "n"))
            return cls(float(value["value"]), low, high, count)
        return cls(float(value)) if isinstance(value, int | float) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class Table:
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


def tables(report: Mapping[str, Any], frame: Frame) -> Iterator[Table]:
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
        yield Table(frame.t("run_numbers"), sheet("numbers", columns, rows), None)


def _by_type(report: Mapping[str, Any], frame: Frame) -> Table:
    """Accuracy by the type of question, with the run as a whole above it."""
    kinds: dict[str, Mapping[str, Any]] = {frame.t("run_all"): report, **report["types"]}
    rows, drawn = [], []
    for name, item in kinds.items():
        exact, f1 = Estimate.read(item.get("exact")), Estimate.read(item.get("f1"))
        if exact is None:
            continue
        rows.append((Cell(name), *_cells(exact), *_cells(f1 or exact)[:2]))
        drawn.append({"x": exact.value, "y": name, "low": exact.low, "high": exact.high, "title": told(exact)})
    columns = [frame.t(key) for key in ("run_type", "run_exact", "run_interval", "run_count", "run_f1", "run_interval")]
    return Table(frame.t("run_by_type"), sheet("types", columns, rows), bars(drawn, frame.t("run_exact")))


def _calibrated(found: Mapping[str, Any], frame: Frame) -> Table:
    columns = [frame.t(key) for key in ("run_confidence", "run_count", "run_mean", "run_exact")]
    rows = [
        (
            Cell(f"{per_cent(item['low'])} – {per_cent(item['high'])}"),
            number(item["n"]),
            share(item["confidence"]),
            share(item["accuracy"]),
        )
        for item in found["bins"]
    ]
    note = frame.t("run_calibration_note", e=per_cent(float(found.get("error", 0))), b=f"{found.get('brier', 0):.3f}")
    return Table(frame.t("run_calibration"), sheet("calibration", columns, rows), None, note)


def _study_table(item: Mapping[str, Any], frame: Frame) -> Table:
    columns = [frame.t("run_system"), *map(str, item["columns"])]
    rows, drawn = [], []
    for row in item["rows"]:
        name = f"{row['system']} {frame.t('run_published')}" if row.get("published") else str(row["system"])
        rows.append((Cell(name, title=str(row.get("note", ""))), *(_value(value) for value in row["values"])))
        for measure, value in zip(item["columns"], row["values"], strict=False):
            if (found := Estimate.read(value)) is not None:
                drawn.append({"x": found.value, "y": name, "low": found.low, "high": found.high, "series": measure})
    picture = bars(drawn, "", [str(name) for name in item["columns"]]) if item.get("chart") and drawn else None
    name = "".join(letter if letter.isalnum() else "-" for letter in str(item["id"]))
    return Table(str(item["title"]), sheet(name, columns, rows), picture, str(item.get("note", "")))


def _tests(found: Iterable[Mapping[str, Any]], frame: Frame) -> Table:
    keys = ("run_measure", "run_first", "run_second", "run_difference", "run_interval", "run_count", "run_p")
    rows = [
        (
            Cell(str(item["measure"])),
            Cell(str(item["first"])),
            Cell(str(item["second"])),
            Cell(f"{item['difference']:+.3f}", numeric=True, amount=float(item["difference"])),
            Cell(f"{item['low']:+.3f} – {item['high']:+.3f}"),
            number(item["n"]),
            number(float(item.get("p_holm", item["p"])), 4),
        )
        for item in found
    ]
    return Table(frame.t("run_tests"), sheet("tests", [frame.t(key) for key in keys], rows), None)


def _numbers(record: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Estimate]]:
    """The numbers in a report, those of objects in it by the names of both."""
    for key, value in record.items():
        found = Estimate.read(value)
        if found is not None:
            yield f"{before}{key}", found
        elif isinstance(value, dict):
            yield from _numbers(value, f"{before}{key} ")


def _value(value: object) -> Cell:
    found = Estimate.read(value)
    if found is None:
        return Cell("–" if value is None else str(value))
    inside = 0 <= found.value <= 1
    text = f"{found.value:.3f}" if inside else f"{found.value:g}"
    interval = f" ({found.low:.2f}–{found.high:.2f})" if found.low is not None and found.high is not None else ""
    return Cell(text + interval, numeric=True, amount=found.value)


def _cells(found: Estimate) -> tuple[Cell, Cell, Cell]:
    interval = (
        f"{per_cent(found.low)} – {per_cent(found.high)}" if found.low is not None and found.high is not None else ""
    )
    inside = found.n is not None or 0 < found.value <= 1
    value = share(found.value) if inside else number(found.value, 3)
    return value, Cell(interval), number(found.n) if found.n is not None else Cell("")


def share(value: float) -> Cell:
    """A cell with a share in per cent."""
    return Cell(per_cent(value), numeric=True, amount=float(value))


def per_cent(value: float | None) -> str:
    """A share in per cent; empty for none."""
    return "" if value is None else f"{100 * value:.1f} %"


def told(found: Estimate) -> str:
    """An estimate with its interval."""
    interval = f" ({per_cent(found.low)} – {per_cent(found.high)})" if found.low is not None else ""
    return f"{per_cent(found.value)}{interval}"


def word(frame: Frame, name: str) -> str:
    """A measure in words: ours where there are any, else its name as it is."""
    known = {"exact": "run_exact", "f1": "run_f1", "query_match": "run_same_query"}
    return frame.t(known[name]) if name in known else name.replace("_", " ")
