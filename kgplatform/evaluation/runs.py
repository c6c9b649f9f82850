"""Reports of studies as JSON, CSV, Markdown and one HTML page, and the runs kept in a workspace."""

from __future__ import annotations

import csv
import difflib
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any, Final

from kgplatform import __version__
from kgplatform.errors import NotFoundError, ReadError, StoreError
from kgplatform.evaluation.metrics import Estimate, PairedComparison

# A study is written as JSON, as Markdown, as one CSV file for each table, and as a page
# (`as_page`). A value of a table is an estimate with its interval, a number, a text, or None
# where it was not measured.
Value = Estimate | float | int | str | None


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A system with its values, in the order of the columns; ``published``: the numbers are those of the study."""

    system: str
    values: tuple[Value, ...]
    published: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table of a study; ``chart``: its values lie between 0 and 1 and can be drawn beside each other."""

    id: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[ReportLine, ...]
    note: str = ""
    chart: bool = True


@dataclass(frozen=True, slots=True)
class Tested:
    """A measure of two systems on the same questions, second less first; ``p`` is adjusted for the number of tests."""

    measure: str
    first: str
    second: str
    comparison: PairedComparison
    p: float


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
    tables: tuple[ReportTable, ...]
    differs: tuple[str, ...]
    tests: tuple[Tested, ...] = ()
    problems: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    headline: tuple[str, Estimate] | None = None


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


def _table_json(table: ReportTable) -> dict[str, object]:
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


def as_csv(table: ReportTable) -> str:
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
    yield from ("", "## Differences from the study", "", *(f"- {sentence}" for sentence in report.differs))
    if report.problems:
        yield from ("", "## Problems", "", *(f"- {problem}" for problem in report.problems))


def _test_line(test: Tested) -> str:
    c = test.comparison
    numbers = f"{c.difference:+.3f} | {c.low:+.3f}, {c.high:+.3f} | {c.count} | {c.p:.3f} | {test.p:.3f}"
    return f"| {test.measure} | {test.second} | {test.first} | {numbers} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


# ``<workspace>/evaluation/<run>/`` holds ``report.json``, ``results.jsonl`` and ``meta.json``, the last written last: a
# folder without it is no run. Names that begin with a dot are the cache of the studies.
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
class KeptRun:
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


def runs(workspace: Path) -> list[KeptRun]:
    """The runs kept in a workspace, the latest first; folders that hold no whole run are left out."""
    folder = workspace / FOLDER
    names = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    found = (_run(folder / name) for name in names if not name.startswith("."))
    return sorted((run for run in found if run), key=lambda run: (run.date, run.name), reverse=True)


def find_run(workspace: Path, name: str) -> KeptRun:
    """The run of that name.

    Raises:
        NotFoundError: there is none; the message offers the nearest.
    """
    known = {run.name: run for run in runs(workspace)}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    offer = f"did you mean {near[0]!r}?" if near else "`kgplatform evaluate questions FILE` keeps one"
    raise NotFoundError(f"no run is named {name!r} in {workspace / FOLDER}; {offer}", name=name)


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
) -> KeptRun:
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
        "headline": asdict(facts.headline) if facts.headline else None,
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


def _run(folder: Path) -> KeptRun | None:
    try:
        meta = _object(folder / META)
        return KeptRun(
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


def _object(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(_text(path))
    except ValueError as error:
        raise ReadError(f"is no JSON: {error}", path=path) from error
    if not isinstance(found, dict):
        raise ReadError("is not a JSON object", path=path)
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(f"cannot be read: {error}", path=path) from error


_INK, _FAINT = "#1f2933", "#d9dee4"
_COLOURS: Final = ("#1f6f8b", "#c2571a", "#5b7f3a", "#7a4f9a", "#8a6d1f")
_ROW_HEIGHT: Final = 0.3
_MOST_ROWS: Final = 40


def bars(table: ReportTable) -> str:
    """The picture as an SVG element; empty where the table has no numbers to draw."""
    rows = [row for row in table.rows if any(_numbers(value) for value in row.values)][:_MOST_ROWS]
    if not rows:
        return ""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 1.1 + _ROW_HEIGHT * len(rows)), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for number, name in enumerate(table.columns):
        _column(axes, rows, number, len(table.columns), name)
    axes.set_yticks(range(len(rows)), [_label(row) for row in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(-0.03, 1.03)
    axes.grid(axis="x", color=_FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    if len(table.columns) > 1:
        figure.legend(loc="outside upper center", ncols=min(len(table.columns), 5), fontsize=8, frameon=False)
    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": table.id, "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return _element(text.getvalue(), table.title)


def _column(axes: Any, rows: list[ReportLine], number: int, count: int, name: str) -> None:
    """The marks of one column, in its colour, a little above or below those of the others."""
    colour = _COLOURS[number % len(_COLOURS)]
    shift = (number - (count - 1) / 2) * 0.7 / max(count, 2)
    labelled = False
    for place, row in enumerate(rows):
        found = _numbers(row.values[number])
        if found is None:
            continue
        value, low, high = found
        axes.plot([low, high], [place + shift] * 2, color=colour, linewidth=1.2)
        fill = "white" if row.published else colour
        label = name if not labelled else "_"
        axes.plot([value], [place + shift], "o", color=colour, markerfacecolor=fill, markersize=4.5, label=label)
        labelled = True


def _label(row: ReportLine) -> str:
    return f"{row.system} (published)" if row.published else row.system


def _numbers(value: Value) -> tuple[float, float, float] | None:
    if isinstance(value, Estimate):
        return value.value, value.low, value.high
    if isinstance(value, float) and 0.0 <= value <= 1.0:
        return value, value, value
    return None


def _element(svg: str, title: str) -> str:
    """The svg element alone, with a name for those who do not see it."""
    start = svg.index("<svg")
    return f'<svg role="img" aria-label="{escape(title)}"{svg[start + 4 :].strip()}'


_STYLE: Final = """
:root { color-scheme: light; --ink: #1f2933; --second: #52606d; --line: #d9dee4; --paper: #fff; --sunk: #f5f7f9; }
body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, "Noto Sans SC", sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
p, li { max-width: 46rem; } .faint { color: var(--second); font-size: .9rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; }
th, td { padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.published { color: var(--second); font-style: italic; } figure { margin: 1rem 0; }
svg { max-width: 100%; height: auto; }
@media print { body { margin: 0; max-width: none; } }
"""


def as_page(report: StudyReport) -> str:
    """The page as text."""
    return "\n".join(_page(report)) + "\n"


def _page(report: StudyReport) -> Iterator[str]:
    title = escape(report.title)
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>"
    judged = f" Judged by: {escape(report.judge)}." if report.judge else ""
    yield (
        f"<p>Measured {escape(report.date)}: {report.questions:,} questions, method {escape(report.method)}, "
        f'{report.seconds:.0f} s.{judged}</p>\n<p class="faint">Published numbers: {escape(report.source)}.</p>'
    )
    for table in report.tables:
        yield from _section(table)
    if report.tests:
        yield from _tests(report.tests)
    yield from _listed("Differences from the study", report.differs)
    yield from _listed("Problems", report.problems)
    yield "</main>\n</body>\n</html>"


def _section(table: ReportTable) -> Iterator[str]:
    yield f'<section id="{escape(table.id)}">\n<h2>{escape(table.title)}</h2>'
    picture = bars(table) if table.chart else ""
    if picture:
        yield f"<figure>{picture}</figure>"
    heads = "".join(f'<th scope="col" class="number">{escape(name)}</th>' for name in table.columns)
    yield f'<div class="scroll"><table>\n<thead><tr><th scope="col">system</th>{heads}</tr></thead>\n<tbody>'
    yield from (_row(row) for row in table.rows)
    yield "</tbody>\n</table></div>"
    notes = [table.note, *(f"{row.system}: {row.note}" for row in table.rows if row.note)]
    yield from (f'<p class="faint">{escape(note)}</p>' for note in notes if note)
    yield "</section>"


def _row(row: ReportLine) -> str:
    cells = "".join(f'<td class="number">{escape(shown(value))}</td>' for value in row.values)
    mark, suffix = (' class="published"', " (published)") if row.published else ("", "")
    return f'<tr{mark}><th scope="row">{escape(row.system)}{suffix}</th>{cells}</tr>'


def _tests(tests: tuple[Tested, ...]) -> Iterator[str]:
    names = ("measure", "system", "against", "difference", "95 %", "n", "p", "p (Holm)")
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    yield '<section id="tests">\n<h2>Paired tests</h2>\n<div class="scroll"><table>'
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    for test in tests:
        c = test.comparison
        texts = (test.measure, test.second, test.first)
        numbers = (
            f"{c.difference:+.3f}",
            f"{c.low:+.3f} to {c.high:+.3f}",
            f"{c.count}",
            f"{c.p:.3f}",
            f"{test.p:.3f}",
        )
        cells = [f"<td>{escape(text)}</td>" for text in texts]
        cells += [f'<td class="number">{number}</td>' for number in numbers]
        yield f"<tr>{''.join(cells)}</tr>"
    yield '</tbody></table></div>\n<p class="faint">Paired permutation tests, two-sided; p after Holm.</p>\n</section>'


def _listed(title: str, sentences: tuple[str, ...]) -> Iterator[str]:
    if sentences:
        yield f"<section>\n<h2>{escape(title)}</h2>\n<ul>"
        yield from (f"<li>{escape(sentence)}</li>" for sentence in sentences)
        yield "</ul>\n</section>"
