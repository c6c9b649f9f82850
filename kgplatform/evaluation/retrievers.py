"""Retrievers side by side on the same questions: what share of the gold they find, how early, at what cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from kgplatform.errors import ConfigError, StoreError
from kgplatform.evaluation.metrics import (
    Estimate,
    PairedComparison,
    all_at,
    compare,
    context_precision,
    estimate,
    ndcg_at,
    recall_at,
    reciprocal_rank,
)
from kgplatform.text import count_tokens, id_of, normalise, read_json_lines, sentences
from kgplatform.types import Evidence


# A gold line names what should be found: ``documents`` (titles, sources or IRIs) or ``quotes`` (words that a passage
# must hold). A hit that covers a gold item counts once for it; the first that does so counts.
@dataclass(frozen=True, slots=True)
class GoldPassages:
    """A question and what should be found for it."""

    id: str
    text: str
    documents: tuple[str, ...]
    quotes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RetrievalScores:
    """The scores of one question, and the seconds and tokens it took."""

    recall: float
    complete: float
    reciprocal_rank: float
    ndcg: float
    precision: float
    seconds: float
    tokens: int
    context_recall: float = 0.0


@dataclass(frozen=True, slots=True)
class RetrieverReport:
    """How one retriever did; ``against_best`` compares its recall with the best one's, None for the best itself.

    ``context_recall`` is the share of the gold quotes that the passages say (of the gold documents, where a question
    has no quotes), ``recalls`` the recall of each question, in their order.
    """

    name: str
    recall: Estimate
    complete: Estimate
    reciprocal_rank: Estimate
    ndcg: Estimate
    precision: Estimate
    tokens: float
    seconds: tuple[float, float]
    against_best: PairedComparison | None
    context_recall: Estimate
    recalls: tuple[float, ...]


def read_gold_passages(path: Path) -> tuple[list[GoldPassages], list[str]]:
    """The usable lines of a file, and a sentence for each that is not.

    Raises:
        ReadError: the file cannot be read, or no line of it can be used.
    """
    return read_json_lines(path, _gold, what="question", key=lambda gold: gold.id)


def _gold(item: Mapping[str, Any], number: int) -> GoldPassages:
    if not isinstance(item.get("question"), str) or not item["question"].strip():
        raise ValueError("has no question")
    documents, quotes = (_strings(item.get(key, []), key) for key in ("documents", "quotes"))
    if not documents and not quotes:
        raise ValueError("has neither documents nor quotes")
    return GoldPassages(id_of(item, number), item["question"], documents, quotes)


def _strings(value: object, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(part, str) and part.strip() for part in value):
        raise ValueError(f"{key} is not a list of texts")
    return tuple(dict.fromkeys(value))


def score_hits(gold: GoldPassages, hits: Sequence[Evidence], k: int, seconds: float = 0.0) -> RetrievalScores:
    """The scores of what was found for one question, best first, cut at ``k``."""
    wanted = [*(("document", item) for item in gold.documents), *(("quote", item) for item in gold.quotes)]
    left = dict.fromkeys(wanted)
    ranked: list[tuple[str, str]] = []
    for place, hit in enumerate(hits[:k]):
        covered = [item for item in left if _covers(hit, *item)]
        ranked.extend(covered or [("", str(place))])
        for item in covered:
            del left[item]
    depth = len(ranked)  # a hit that covers two gold items takes two places, so depth may be above k
    return RetrievalScores(
        recall=recall_at(ranked, wanted, depth),
        complete=all_at(ranked, wanted, depth),
        reciprocal_rank=reciprocal_rank(ranked, wanted),
        ndcg=ndcg_at(ranked, wanted, depth),
        precision=context_precision(ranked, wanted, depth),
        seconds=seconds,
        tokens=sum(count_tokens(hit.quote) for hit in hits[:k]),
        context_recall=_context_recall(gold, hits[:k]),
    )


def _context_recall(gold: GoldPassages, hits: Sequence[Evidence]) -> float:
    """|A| / |T|: the share of what the answer rests on that the passages say; a quote may lie across two of them.

    Source: the travel study, equation 12 (as in the RAGAS framework, Es et al. 2024), with gold in place of a judge.
    """
    if not gold.quotes:
        return sum(any(_covers(hit, "document", item) for hit in hits) for item in gold.documents) / len(gold.documents)
    return sum(_said(quote, hits) for quote in gold.quotes) / len(gold.quotes)


def _said(quote: str, hits: Sequence[Evidence]) -> bool:
    if any(_covers(hit, "quote", quote) for hit in hits):
        return True
    parts = [quote[start:end] for start, end in sentences(quote) if normalise(quote[start:end])]
    return len(parts) > 1 and all(any(_covers(hit, "quote", part) for hit in hits) for part in parts)


def _covers(hit: Evidence, kind: str, item: str) -> bool:
    if kind == "document":
        return item in (hit.title, hit.source, hit.document.value, Path(hit.source).name)
    wanted, said = normalise(item), normalise(hit.quote)
    return wanted in said or (len(said) > 20 and said in wanted)


def compare_retrievers(
    questions: Sequence[GoldPassages],
    names: Iterable[str],
    search: Callable[[str, int, str], Sequence[Evidence]],
    *,
    k: int,
    progress: Callable[[int, int, str], None] | None = None,
) -> tuple[RetrieverReport, ...]:
    """A report for each retriever, best recall first.

    Raises:
        ConfigError: there is no retriever of a name.
        ModelUnavailableError: one needs a model that cannot be used.
    """
    chosen = list(dict.fromkeys(names))
    scores: dict[str, list[RetrievalScores]] = {}
    for number, name in enumerate(chosen):
        search(questions[0].text, k, name)  # what a retriever makes when first used is no part of its time
        for place, gold in enumerate(questions):
            if progress:
                progress(number * len(questions) + place + 1, len(chosen) * len(questions), name)
            started = time.perf_counter()
            hits = search(gold.text, k, name)
            scores.setdefault(name, []).append(score_hits(gold, hits, k, time.perf_counter() - started))
    best = max(chosen, key=lambda name: sum(score.recall for score in scores[name]))
    reports = [_report(name, scores[name], None if name == best else scores[best]) for name in chosen]
    return tuple(sorted(reports, key=lambda report: -report.recall.value))


def _report(name: str, scores: Sequence[RetrievalScores], best: Sequence[RetrievalScores] | None) -> RetrieverReport:
    times = sorted(score.seconds for score in scores)
    recalls = [score.recall for score in scores]
    return RetrieverReport(
        name=name,
        recall=estimate(recalls),
        complete=estimate([score.complete for score in scores]),
        reciprocal_rank=estimate([score.reciprocal_rank for score in scores]),
        ndcg=estimate([score.ndcg for score in scores]),
        precision=estimate([score.precision for score in scores]),
        tokens=sum(score.tokens for score in scores) / len(scores),
        seconds=(times[len(times) // 2], times[min(len(times) - 1, int(len(times) * 0.95))]),
        against_best=compare(recalls, [score.recall for score in best]) if best else None,
        context_recall=estimate([score.context_recall for score in scores]),
        recalls=tuple(recalls),
    )


@dataclass(frozen=True, slots=True)
class RetrieverPair:
    """How the recalls of two retrievers differ, second less first; ``p`` is adjusted, `PairedComparison.p` is not."""

    first: str
    second: str
    comparison: PairedComparison
    p: float


def pairs(reports: Sequence[RetrieverReport]) -> tuple[RetrieverPair, ...]:
    """All pairs in the order of the reports, by the paired permutation test, p adjusted after Holm (1979)."""
    found = [(one, other, compare(one.recalls, other.recalls)) for one, other in combinations(reports, 2)]
    adjusted = holm([comparison.p for _, _, comparison in found])
    return tuple(
        RetrieverPair(one.name, other.name, comparison, p)
        for (one, other, comparison), p in zip(found, adjusted, strict=True)
    )


def holm(values: Sequence[float]) -> list[float]:
    """The p values adjusted for their number, in their order.

    The i-th smallest of n is multiplied by n - i + 1 and is at least the one before it. Source: S. Holm, A Simple
    Sequentially Rejective Multiple Test Procedure, 1979.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(values)
    least = 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=lambda place: values[place])):
        least = max(least, min(1.0, values[place] * (len(values) - rank)))
        adjusted[place] = least
    return adjusted


FORMATS: Final = (".svg", ".png", ".pdf")

_INK, _FAINT = "#1f2933", "#d9dee4"
_COLOURS: Final = ("#1f6f8b", "#c2571a", "#5b7f3a", "#7a4f9a")
_ROW_HEIGHT: Final = 0.34


def plot_comparison(reports: Sequence[RetrieverReport], pairs: Sequence[RetrieverPair], k: int, path: Path) -> None:
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


def _figure(reports: Sequence[RetrieverReport], pairs: Sequence[RetrieverPair], k: int) -> Any:
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


def _pairs(axes: Any, reports: Sequence[RetrieverReport], pairs: Sequence[RetrieverPair]) -> None:
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
