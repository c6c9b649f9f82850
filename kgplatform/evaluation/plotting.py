"""A comparison of retrievers as a picture: their measures with intervals, quality against time, and every pair."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from kgplatform.errors import ConfigError, StoreError
from kgplatform.evaluation.pairing import Pair
from kgplatform.evaluation.retrieval import RetrieverReport
from kgplatform.evaluation.statistics import Estimate

FORMATS: Final = (".svg", ".png", ".pdf")

_INK, _FAINT = "#1f2933", "#d9dee4"
_COLOURS: Final = ("#1f6f8b", "#c2571a", "#5b7f3a", "#7a4f9a")
_ROW_HEIGHT: Final = 0.34


def plot_comparison(reports: Sequence[RetrieverReport], pairs: Sequence[Pair], k: int, path: Path) -> None:
    """Writes the picture; its format is told by the ending.

    Raises:
        ConfigError: the ending is none of .svg, .png, .pdf.
        StoreError: the file cannot be written.
    """
    checked_plot(path)
    figure = _figure(reports, pairs, k)
    try:
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix.casefold() == ".svg" else None)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error


def checked_plot(path: Path) -> Path:
    """The path as given, if its ending names a format that plots can have.

    Raises:
        ConfigError: it names none.
    """
    if path.suffix.casefold() not in FORMATS:
        raise ConfigError(f"{path}: a plot is written as {', '.join(FORMATS)}; choose one of these endings")
    return path


def _figure(reports: Sequence[RetrieverReport], pairs: Sequence[Pair], k: int) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    height = 1.6 + _ROW_HEIGHT * max(len(reports), 8)
    figure = Figure(figsize=(16, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    measures, times, matrix = figure.subplots(1, 3, width_ratios=(5, 4, 5))
    _measures(measures, reports, k)
    _times(times, reports, k)
    _pairs(matrix, reports, pairs)
    return figure


def _measures(axes: Any, reports: Sequence[RetrieverReport], k: int) -> None:
    """A row for each retriever, a mark with its interval for each measure."""
    shown = ("recall", "MRR", "nDCG", "context precision")
    for number, (name, colour) in enumerate(zip(shown, _COLOURS, strict=True)):
        estimates = [_estimates(report)[name] for report in reports]
        rows = [row + 0.18 * (number - 1.5) for row in range(len(reports))]
        values = [estimate.value for estimate in estimates]
        errors = [
            [max(0.0, estimate.value - estimate.low) for estimate in estimates],
            [max(0.0, estimate.high - estimate.value) for estimate in estimates],
        ]
        label = f"{name}@{k}" if name == "recall" else name
        axes.errorbar(values, rows, xerr=errors, fmt="o", color=colour, markersize=4, linewidth=1, label=label)
    axes.set_yticks(range(len(reports)), [report.name for report in reports])
    axes.invert_yaxis()
    axes.set_xlim(-0.02, 1.02)
    axes.legend(loc="best", fontsize=8, frameon=False)
    _dressed(axes, f"Measures with 95 % intervals, {reports[0].recall.count} questions", "")


def _estimates(report: RetrieverReport) -> dict[str, Estimate]:
    return {
        "recall": report.recall,
        "MRR": report.reciprocal_rank,
        "nDCG": report.ndcg,
        "context precision": report.precision,
    }


def _times(axes: Any, reports: Sequence[RetrieverReport], k: int) -> None:
    for report in reports:
        median, late = (max(1000 * seconds, 0.01) for seconds in report.seconds)
        axes.plot([median, max(late, median)], [report.recall.value] * 2, color=_FAINT, linewidth=2, zorder=1)
        axes.plot([median], [report.recall.value], "o", color=_COLOURS[0], markersize=5, zorder=2)
        axes.annotate(
            report.name,
            (median, report.recall.value),
            xytext=(4, 4),
            textcoords="offset points",
            fontsize=7,
            color=_INK,
        )
    axes.set_xscale("log")
    axes.set_ylabel(f"recall@{k}")
    _dressed(axes, "Recall against time", "milliseconds a question: median, line to the 95th percentile")


def _pairs(axes: Any, reports: Sequence[RetrieverReport], pairs: Sequence[Pair]) -> None:
    """How much the recall of the row is above that of the column; a dot where it is not by chance."""
    import numpy as np

    places = {report.name: place for place, report in enumerate(reports)}
    table = np.zeros((len(reports), len(reports)))
    for pair in pairs:
        first, second = places[pair.first], places[pair.second]
        table[first, second], table[second, first] = -pair.comparison.difference, pair.comparison.difference
        if pair.p < 0.05:
            axes.plot([second, first], [first, second], ".", color=_INK, markersize=3)
    most = max(float(np.abs(table).max()), 0.01)
    axes.imshow(table, cmap="RdYlGn", vmin=-most, vmax=most, aspect="auto", alpha=0.8)
    names = [report.name for report in reports]
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_title(
        "Recall of the row less that of the column; dot: p < 0.05 (Holm)", fontsize=10, color=_INK, loc="left"
    )


def _dressed(axes: Any, title: str, below: str) -> None:
    axes.set_title(title, fontsize=10, color=_INK, loc="left")
    axes.set_xlabel(below, fontsize=8)
    axes.grid(axis="both", color=_FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
