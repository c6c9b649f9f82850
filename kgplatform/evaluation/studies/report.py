"""What every study comes to: tables of our numbers beside published ones, paired tests, and what differs.

A study is written as JSON, as Markdown, as one CSV file for each table, and as a page (`kgplatform.evaluation.studies.
page`). A value of a table is an estimate with its interval, a number, a text, or None where it was not measured.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from kgplatform.evaluation.pairing import holm
from kgplatform.evaluation.statistics import Comparison, Estimate, compare, estimate

Value = Estimate | float | int | str | None


@dataclass(frozen=True, slots=True)
class Row:
    """A system with its values, in the order of the columns; ``published``: the numbers are those of the study."""

    system: str
    values: tuple[Value, ...]
    published: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a study; ``chart``: its values lie between 0 and 1 and can be drawn beside each other."""

    id: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str = ""
    chart: bool = True


@dataclass(frozen=True, slots=True)
class Tested:
    """A measure of two systems on the same questions, second less first; ``p`` is adjusted for the number of tests."""

    measure: str
    first: str
    second: str
    comparison: Comparison
    p: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one system did with one question: its answer, and its numbers by measure (None: not measured)."""

    id: str
    system: str
    question: str
    kind: str = ""
    language: str = ""
    answer: str = ""
    reference: str = ""
    numbers: Mapping[str, float | None] = field(default_factory=dict)
    seconds: float = 0.0
    tokens: int = 0
    calls: int = 0
    problems: tuple[str, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict)

    def line(self) -> dict[str, object]:
        """The outcome as a line of the results."""
        measured = {name: value for name, value in self.numbers.items() if value is not None}
        return {
            "id": f"{self.id} | {self.system}",
            "question": self.question,
            "type": self.kind,
            "lang": self.language,
            "system": self.system,
            "answer": self.answer,
            "reference": self.reference,
            **measured,
            **self.extra,
            "seconds": self.seconds,
            "tokens": self.tokens,
            "calls": self.calls,
            "problems": list(self.problems),
        }


@dataclass(frozen=True, slots=True)
class StudyReport:
    """A study as measured; ``differs`` says in sentences why its numbers and the published ones are not the same thing.

    ``headline`` names the one number that stands for the run.
    """

    study: str
    title: str
    source: str
    date: str
    method: str
    judge: str
    questions: int
    seconds: float
    tables: tuple[Table, ...]
    differs: tuple[str, ...]
    tests: tuple[Tested, ...] = ()
    problems: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    headline: tuple[str, Estimate] | None = None


def means(
    outcomes: Sequence[Outcome], measures: Sequence[str], systems: Sequence[str], *, kind: str = ""
) -> tuple[Row, ...]:
    """A row for each system with its mean of every measure, over the questions of a kind (empty: all)."""
    return tuple(Row(system, tuple(mean(outcomes, name, system, kind=kind) for name in measures)) for system in systems)


def mean(outcomes: Sequence[Outcome], measure: str, system: str, *, kind: str = "") -> Estimate | None:
    """The mean of a measure over the questions it could be taken for; None if there are none."""
    values = [
        value
        for item in outcomes
        if item.system == system and kind in ("", item.kind) and (value := item.numbers.get(measure)) is not None
    ]
    return estimate(values) if values else None


def paired(
    outcomes: Sequence[Outcome], measures: Sequence[str], systems: Sequence[str], *, against: str = ""
) -> tuple[Tested, ...]:
    """Paired permutation tests of every two systems, or of ``against`` and every other, by measure, p after Holm.

    A question counts where both systems have the measure.
    """
    pairs = [(one, against) for one in systems if one != against] if against else list(combinations(systems, 2))
    found = []
    for measure in measures:
        values = {system: _by_question(outcomes, measure, system) for system in systems}
        for first, second in pairs:
            both = [name for name in values[first] if name in values[second]]
            if both:
                compared = compare([values[first][n] for n in both], [values[second][n] for n in both])
                found.append((measure, first, second, compared))
    adjusted = holm([item[3].p for item in found])
    return tuple(Tested(*item, p=p) for item, p in zip(found, adjusted, strict=True))


def _by_question(outcomes: Sequence[Outcome], measure: str, system: str) -> dict[str, float]:
    return {
        item.id: value
        for item in outcomes
        if item.system == system and (value := item.numbers.get(measure)) is not None
    }


def as_json(report: StudyReport) -> dict[str, object]:
    """The report as JSON values, as docs/evaluation.md describes them."""
    return {
        "study": report.study,
        "title": report.title,
        "source": report.source,
        "date": report.date,
        "method": report.method,
        "judge": report.judge,
        "questions": report.questions,
        "seconds": round(report.seconds, 3),
        "differs": list(report.differs),
        "problems": list(report.problems),
        "options": dict(report.options),
        "tables": [_table_json(table) for table in report.tables],
        "tests": [_test_json(test) for test in report.tests],
    }


def _table_json(table: Table) -> dict[str, object]:
    rows = [
        {"system": r.system, "published": r.published, "note": r.note, "values": [value_json(v) for v in r.values]}
        for r in table.rows
    ]
    return {
        "id": table.id,
        "title": table.title,
        "columns": list(table.columns),
        "chart": table.chart,
        "note": table.note,
        "rows": rows,
    }


def value_json(value: Value) -> object:
    """A value of a table as JSON."""
    if isinstance(value, Estimate):
        return {"value": value.value, "low": value.low, "high": value.high, "n": value.count}
    return value


def _test_json(test: Tested) -> dict[str, object]:
    compared = test.comparison
    return {
        "measure": test.measure,
        "first": test.first,
        "second": test.second,
        "difference": compared.difference,
        "low": compared.low,
        "high": compared.high,
        "n": compared.count,
        "p": compared.p,
        "p_holm": test.p,
    }


def as_csv(table: Table) -> str:
    """A table as CSV: an estimate takes four columns, value, low, high and n."""
    wide = [any(isinstance(row.values[place], Estimate) for row in table.rows) for place in range(len(table.columns))]
    header = ["system", "source"]
    for name, is_wide in zip(table.columns, wide, strict=True):
        header += [name, f"{name} low", f"{name} high", f"{name} n"] if is_wide else [name]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*header, "note"])
    for row in table.rows:
        cells = [part for value, is_wide in zip(row.values, wide, strict=True) for part in _cells(value, wide=is_wide)]
        writer.writerow([row.system, "published" if row.published else "measured", *cells, row.note])
    return text.getvalue()


def _cells(value: Value, *, wide: bool) -> Iterator[str]:
    if isinstance(value, Estimate):
        yield from (f"{value.value:.6f}", f"{value.low:.6f}", f"{value.high:.6f}", str(value.count))
        return
    yield "" if value is None else str(value)
    if wide:
        yield from ("", "", "")


def shown(value: Value) -> str:
    """A value as people read it: `.71 [.60, .80]`; a dash where there is none."""
    if value is None:
        return "–"
    if isinstance(value, Estimate):
        return f"{_number(value.value)} [{_number(value.low)}, {_number(value.high)}]"
    if isinstance(value, float):
        return _number(value)
    return f"{value:,}" if isinstance(value, int) else value


def _number(value: float) -> str:
    if abs(value) > 1:
        return f"{value:,.1f}"
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 and text not in ("0.000", "-0.000") else text


def as_markdown(report: StudyReport) -> str:
    """The report as Markdown."""
    return "\n".join(_markdown(report)) + "\n"


def _markdown(report: StudyReport) -> Iterator[str]:
    yield from (f"# {report.title}", "", f"Published numbers: {report.source}.", "")
    judged = f", judged by {report.judge}" if report.judge else ""
    done = f"{report.questions} questions, method {report.method}{judged}, {report.seconds:.0f} s"
    yield f"Measured {report.date}: {done}."
    for table in report.tables:
        yield from ("", f"## {table.title}", "")
        yield f"| | {' | '.join(map(_cell, table.columns))} |"
        yield f"|---|{'---|' * len(table.columns)}"
        for row in table.rows:
            name = f"*{_cell(row.system)}* (published)" if row.published else _cell(row.system)
            yield f"| {name} | {' | '.join(_cell(shown(value)) for value in row.values)} |"
        notes = [table.note, *(f"{row.system}: {row.note}" for row in table.rows if row.note)]
        yield from (part for note in notes if note for part in ("", note))
    if report.tests:
        yield from ("", "## Paired tests", "", "| measure | | against | difference | 95 % | n | p | p (Holm) |")
        yield "|---|---|---|---|---|---|---|---|"
        yield from map(_test_line, report.tests)
    yield from ("", "## What differs from the study", "", *(f"- {sentence}" for sentence in report.differs))
    if report.problems:
        yield from ("", "## Problems", "", *(f"- {problem}" for problem in report.problems))


def _test_line(test: Tested) -> str:
    c = test.comparison
    numbers = f"{c.difference:+.3f} | {c.low:+.3f}, {c.high:+.3f} | {c.count} | {c.p:.3f} | {test.p:.3f}"
    return f"| {test.measure} | {test.second} | {test.first} | {numbers} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
