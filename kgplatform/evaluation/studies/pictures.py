"""A table of a study as a picture: a mark with its interval for each system and column, published ones hollow."""

from __future__ import annotations

import io
from typing import Any, Final

from kgplatform.evaluation.statistics import Estimate
from kgplatform.evaluation.studies.report import Row, Table, Value

_INK, _FAINT = "#1f2933", "#d9dee4"
_COLOURS: Final = ("#1f6f8b", "#c2571a", "#5b7f3a", "#7a4f9a", "#8a6d1f")
_ROW_HEIGHT: Final = 0.3
_MOST_ROWS: Final = 40


def bars(table: Table) -> str:
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


def _column(axes: Any, rows: list[Row], number: int, count: int, name: str) -> None:
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


def _label(row: Row) -> str:
    return f"{row.system} (published)" if row.published else row.system


def _numbers(value: Value) -> tuple[float, float, float] | None:
    if isinstance(value, Estimate):
        return value.value, value.low, value.high
    if isinstance(value, float) and 0.0 <= value <= 1.0:
        return value, value, value
    return None


def _element(svg: str, title: str) -> str:
    """The svg element alone, with a name for those who do not see it."""
    from html import escape

    start = svg.index("<svg")
    head, rest = svg[start : start + 4], svg[start + 4 :]
    return f'{head} role="img" aria-label="{escape(title, quote=True)}"{rest.strip()}'
