"""``testset airport`` and ``evaluate airport``: the question sets of the airport study, made and asked."""

from __future__ import annotations

import argparse
import json
import time
from typing import TextIO

from kgplatform.cli import asking, output
from kgplatform.cli.evaluations import keep, opened
from kgplatform.evaluation.airport.making import Sizes, make, read, write
from kgplatform.evaluation.airport.measuring import Studied, StudyReport, classes_of, report, study
from kgplatform.evaluation.airport.rows import read_flights
from kgplatform.evaluation.classification import Confusion
from kgplatform.evaluation.statistics import estimate
from kgplatform.evaluation.studies.runs import Headline
from kgplatform.graph import KnowledgeGraph


def make_questions(given: argparse.Namespace) -> int:
    """Makes the question sets from the flights of the workspace; the same for the same flights and seed."""
    with KnowledgeGraph.open(given.workspace) as kg:
        table = read_flights(kg)
    questions = make(table, seed=given.seed, sizes=Sizes())
    write(questions, given.out)
    sets = [item.asked.set for item in questions]
    counts = ", ".join(f"{sets.count(name)} {name}" for name in dict.fromkeys(sets))
    output.note(f"{given.out}: {counts}, asked as of {table.snapshot:%Y-%m-%d %H:%M}")
    return 0


def run(given: argparse.Namespace) -> int:
    """Asks the questions of a file, each as of its moment, and shows what comes of them."""
    questions, problems = read(given.file)
    for problem in problems:
        output.note(f"{given.file}: {problem}; left out")
    chosen, started = asking.options(given, measured=True), time.perf_counter()
    studied: list[Studied] = []
    with KnowledgeGraph.open(given.workspace) as kg:
        bar = output.Bar()
        with opened(given.output) as file:
            for number, item in enumerate(
                study(questions, ask=lambda text, now: kg.ask(text, now=now, options=chosen), label_of=kg.label), 1
            ):
                studied.append(item)
                _write(item, file)
                bar(number, len(questions), item.question.asked.text)
        bar.end()
        method = kg.model.name if kg.model and given.using != "builtin" else "built-in"
        found, classes = report(studied, method=method), classes_of(studied)
        if not given.no_keep:
            exact = estimate([float(item.right) for item in studied])
            keep(
                kg,
                given,
                report=_json(found, classes),
                results=map(_record, studied),
                headline=Headline("right", exact.value, exact.low, exact.high, exact.count),
                seconds=time.perf_counter() - started,
            )
    if given.format == "json":
        output.as_json(_json(found, classes))
    else:
        _print(found, classes)
    return 0


def _write(item: Studied, file: TextIO | None) -> None:
    if file is not None:
        file.write(json.dumps(_record(item), ensure_ascii=False) + "\n")


def _record(item: Studied) -> dict[str, object]:
    asked, answer = item.question.asked, item.answer
    return {
        "id": item.question.id,
        "question": asked.text,
        "type": asked.set,
        "kind": asked.kind,
        "right": item.right,
        "exact": float(item.right),
        "class": asked.label,
        "given_class": answer.question_class,
        "verdict": answer.verdict.value,
        "answers": list(answer.values),
        "answer": answer.text,
        "query": answer.query.text if answer.query else None,
        "same_query": item.match,
        "invented": list(item.invented),
        "seconds": answer.usage.seconds,
    }


def _json(found: StudyReport, classes: Confusion) -> dict[str, object]:
    rates = {
        score.set: {
            "right": score.right.value,
            "low": score.right.low,
            "high": score.right.high,
            "n": score.right.count,
        }
        for score in found.sets
    }
    matrix = {
        "labels": list(classes.labels),
        "counts": [list(row) for row in classes.counts],
        "accuracy": classes.accuracy,
        "macro_f1": classes.macro_f1,
    }
    return {
        "method": found.method,
        "sets": rates,
        "query_match": found.match.value if found.match else None,
        "classes": matrix,
        "invented": found.invented,
    }


def _print(found: StudyReport, classes: Confusion) -> None:
    rows = [
        (s.set, str(s.right.count), f"{s.right.value:.3f}", f"{s.right.low:.3f}-{s.right.high:.3f}") for s in found.sets
    ]
    output.table(("set", "n", "right", "95 %"), rows)
    output.say(f"classes of the ambiguous questions: accuracy {classes.accuracy:.3f}, macro F1 {classes.macro_f1:.3f}")
    output.table(
        ("gold \\ given", *classes.labels),
        [(label, *map(str, row)) for label, row in zip(classes.labels, classes.counts, strict=True) if sum(row)],
    )
    if found.match:
        output.say(f"same query as the gold one: {found.match}")
    output.say(f"values that nothing supports: {found.invented}; method: {found.method}")
