"""A study as one HTML page that needs nothing else: tables, pictures as inline SVG, and what differs."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from kgplatform.evaluation.studies.pictures import bars
from kgplatform.evaluation.studies.report import Row, StudyReport, Table, Tested, shown

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
    yield from _listed("What differs from the study", report.differs)
    yield from _listed("Problems", report.problems)
    yield "</main>\n</body>\n</html>"


def _section(table: Table) -> Iterator[str]:
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


def _row(row: Row) -> str:
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
