"""``benchmark retrieval``: retrievers side by side on gold passages."""

from __future__ import annotations

import argparse

from kgplatform.cli import output
from kgplatform.evaluation.pairing import Pair, pairs
from kgplatform.evaluation.plotting import checked_plot, plot_comparison
from kgplatform.evaluation.retrieval import RetrieverReport, compare_retrievers, read_gold_passages
from kgplatform.evaluation.statistics import Estimate
from kgplatform.graph import KnowledgeGraph
from kgplatform.retrieval import RETRIEVERS


def run(given: argparse.Namespace) -> int:
    """Runs the retrievers on the questions of a file and prints a table, best recall first."""
    if given.plot:
        checked_plot(given.plot)  # before minutes are spent
    questions, problems = read_gold_passages(given.file)
    for problem in problems:
        output.note(f"{given.file}: {problem}; left out")
    with KnowledgeGraph.open(given.workspace) as kg:
        bar = output.Bar()
        reports = compare_retrievers(
            questions,
            given.retriever or RETRIEVERS,
            lambda text, k, name: kg.search(text, k, retriever=name),
            k=given.k,
            progress=bar,
        )
        bar.end()
    compared = pairs(reports) if given.pairs or given.plot or given.format == "json" else ()
    if given.plot:
        plot_comparison(reports, compared, given.k, given.plot)
    if given.format == "json":
        output.as_json([_json(report, compared) for report in reports])
    else:
        _print(reports, given.k)
        if given.pairs:
            _print_pairs(compared)
    return 0


def _print_pairs(compared: tuple[Pair, ...]) -> None:
    output.say()
    rows = [
        (pair.first, pair.second, f"{-pair.comparison.difference:+.3f}", f"{pair.comparison.p:.3f}", f"{pair.p:.3f}")
        for pair in compared
    ]
    output.table(("retriever", "against", "recall", "p", "p (Holm)"), rows)


def _print(reports: tuple[RetrieverReport, ...], k: int) -> None:
    header = (
        "retriever",
        f"recall@{k}",
        "95 %",
        "p",
        "all",
        "MRR",
        "nDCG",
        "precision",
        "context",
        "tokens",
        "ms p50",
        "ms p95",
    )
    output.table(header, [_row(report) for report in reports])
    output.say(f"{reports[0].recall.count} questions; p: paired permutation test of the recall against the best")


def _row(report: RetrieverReport) -> tuple[str, ...]:
    means = (report.complete, report.reciprocal_rank, report.ndcg, report.precision, report.context_recall)
    return (
        report.name,
        f"{report.recall.value:.3f}",
        f"{report.recall.low:.3f}-{report.recall.high:.3f}",
        f"{report.against_best.p:.3f}" if report.against_best else "best",
        *(f"{mean.value:.3f}" for mean in means),
        f"{report.tokens:.0f}",
        *(f"{1000 * seconds:.1f}" for seconds in report.seconds),
    )


def _json(report: RetrieverReport, compared: tuple[Pair, ...]) -> dict[str, object]:
    return {
        "retriever": report.name,
        "recall": _estimate(report.recall),
        "all": _estimate(report.complete),
        "mrr": _estimate(report.reciprocal_rank),
        "ndcg": _estimate(report.ndcg),
        "context_precision": _estimate(report.precision),
        "context_recall": _estimate(report.context_recall),
        "tokens": report.tokens,
        "seconds": {"median": report.seconds[0], "p95": report.seconds[1]},
        "p_against_best": report.against_best.p if report.against_best else None,
        "against": {
            pair.second: {"recall": -pair.comparison.difference, "p": pair.comparison.p, "p_holm": pair.p}
            for pair in compared
            if pair.first == report.name
        },
    }


def _estimate(value: Estimate) -> dict[str, float]:
    return {"value": value.value, "low": value.low, "high": value.high, "n": value.count}
