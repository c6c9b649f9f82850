"""``evaluate --compare RUN_A RUN_B``: what got better and worse from one run to the other."""

from __future__ import annotations

import argparse

from kgplatform.cli import output
from kgplatform.evaluation.comparing import Difference, Result, RunComparison, compare_runs, read_run
from kgplatform.evaluation.studies.runs import results_file

_SHOWN = 20


def run(given: argparse.Namespace) -> int:
    """Compares two runs, each a file of results, the folder of a run, or a run that the workspace keeps by name.

    1 where they have no question in common.
    """
    first, second = (results_file(given.workspace, name) for name in given.compare)
    (before, troubles), (after, others) = read_run(first), read_run(second)
    for path, problems in ((first, troubles), (second, others)):
        for problem in problems:
            output.note(f"{path}: {problem}; left out")
    found = compare_runs(before, after)
    if given.format == "json":
        output.as_json(as_json(found))
    else:
        _print(found)
    return 0 if found.measures else 1


def as_json(found: RunComparison) -> dict[str, object]:
    """The comparison as JSON values."""
    return {
        "measures": {item.measure: _difference(item) for item in found.measures},
        "p_mcnemar": found.p_flips,
        "worse": [_result(item) for item in found.worse],
        "better": [_result(item) for item in found.better],
        "only_first": list(found.only_first),
        "only_second": list(found.only_second),
        "problems": list(found.problems),
    }


def _difference(item: Difference) -> dict[str, object]:
    compared = item.comparison
    return {
        "first": item.first,
        "second": item.second,
        "difference": compared.difference,
        "low": compared.low,
        "high": compared.high,
        "p": compared.p,
        "n": compared.count,
    }


def _result(item: Result) -> dict[str, object]:
    return {"id": item.id, "question": item.text, **item.numbers}


def _print(found: RunComparison) -> None:
    rows = [
        (
            item.measure,
            f"{item.first:.3f}",
            f"{item.second:.3f}",
            f"{item.comparison.difference:+.3f}",
            f"{item.comparison.low:+.3f} {item.comparison.high:+.3f}",
            f"{item.comparison.p:.3f}",
            str(item.comparison.count),
        )
        for item in found.measures
    ]
    output.table(("measure", "first", "second", "difference", "95 %", "p", "n"), rows)
    if found.p_flips is not None:
        output.say(f"McNemar's exact p of {found.measures[0].measure}: {found.p_flips:.3f}")
    for name, items in (("worse", found.worse), ("better", found.better)):
        output.say(f"{len(items)} questions got {name}")
        for item in items[:_SHOWN]:
            output.say(f"  {item.id}  {output.cut(item.text, 90)}")
        if len(items) > _SHOWN:
            output.say(f"  and {len(items) - _SHOWN} more; --format json lists all")
    for name, ids in (("first", found.only_first), ("second", found.only_second)):
        if ids:
            output.say(f"{len(ids)} only in the {name} run: {', '.join(ids[:5])}{' …' if len(ids) > 5 else ''}")
    for problem in found.problems:
        output.note(problem)
