"""``learn``: teaches the built-in reader by annotated examples, and tells what it is worth."""

from __future__ import annotations

import argparse

from kgplatform.building.learning import LearnReport, Taught, learn
from kgplatform.cli import output
from kgplatform.graph import KnowledgeGraph
from kgplatform.vocab import local_name


def run(given: argparse.Namespace) -> int:
    """Learns from the file, says which lines were left out, and prints precision and recall by property."""
    with KnowledgeGraph.open(given.workspace) as kg:
        bar = output.Bar()
        report = learn(kg.folder, kg.ontology, given.file, progress=bar)
        bar.end()
        names = {item.iri: local_name(item.iri) for item in report.properties}
    for problem in report.problems:
        output.note(f"{given.file}: {problem}; left out")
    if given.format == "json":
        output.as_json(_json(report))
        return 0
    output.table(
        ("property", "said", "read", "precision", "recall", "F1"),
        [_row("all", report.overall), *(_row(names[item.iri], item) for item in report.properties)],
    )
    left = f", {report.left_out} triples of properties that the ontology does not have" if report.left_out else ""
    output.note(f"learnt from {report.examples} examples{left}; each was read by what the others taught")
    return 0


def _row(name: str, item: Taught) -> tuple[str, ...]:
    return name, f"{item.said}", f"{item.read}", f"{item.precision:.2f}", f"{item.recall:.2f}", f"{item.f1:.2f}"


def _json(report: LearnReport) -> dict[str, object]:
    return {
        "examples": report.examples,
        "problems": list(report.problems),
        "left_out": report.left_out,
        "overall": _scores(report.overall),
        "properties": {item.iri: _scores(item) for item in report.properties},
    }


def _scores(item: Taught) -> dict[str, object]:
    return {
        "said": item.said,
        "read": item.read,
        "right": item.right,
        "precision": item.precision,
        "recall": item.recall,
        "f1": item.f1,
    }
