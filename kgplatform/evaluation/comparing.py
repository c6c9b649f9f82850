"""Two runs of the same questions side by side: what got better, what got worse, and whether that could be chance."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgplatform.evaluation.statistics import Comparison, compare, mcnemar
from kgplatform.json_lines import read_json_lines

MEASURES = (
    *("exact", "f1", "accuracy", "recall", "precision", "held", "faithfulness", "relevancy"),
    *("context_precision", "context_recall", "first", "among_ten"),
)
"""What results carry, in the order of importance: the first that both runs have is compared question by question."""


@dataclass(frozen=True, slots=True)
class Result:
    """One line of a run: its id, the question, and its numbers by name."""

    id: str
    text: str
    numbers: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Difference:
    """A measure in two runs over the questions both have: the mean of either and the paired comparison."""

    measure: str
    first: float
    second: float
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs compared; ``worse`` and ``better`` are the questions whose chief measure fell or rose.

    ``p_flips`` is McNemar's exact p of the chief measure where it is 0 or 1 throughout, else None.
    """

    measures: tuple[Difference, ...]
    worse: tuple[Result, ...]
    better: tuple[Result, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    problems: tuple[str, ...]
    p_flips: float | None = None


def read_run(path: Path) -> tuple[dict[str, Result], tuple[str, ...]]:
    """The results of a run by id, as ``evaluate … --output`` writes them, and what could not be used of the file.

    Raises:
        ReadError: the file cannot be read, or holds no results.
    """
    found: dict[str, Result] = {}
    lines, problems = read_json_lines(path, _result, what="result (as `kgplatform evaluate … --output FILE` writes it)")
    for item in lines:
        if found.setdefault(item.id, item) is not item:
            problems.append(f"the id {item.id!r} comes twice; the first counts")
    return found, tuple(problems)


def _result(line: str, _number: int) -> Result:
    try:
        item = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error.msg}") from error
    if not isinstance(item, dict) or not isinstance(item.get("id"), str):
        raise ValueError("a result is an object with an id")
    given = ((name, item.get(name)) for name in MEASURES)
    numbers = {name: float(value) for name, value in given if isinstance(value, int | float) and math.isfinite(value)}
    if not numbers:
        raise ValueError(f"none of {', '.join(MEASURES)} is there as a number")
    return Result(item["id"], str(item.get("question", item.get("text", ""))), numbers)


def compare_runs(first: Mapping[str, Result], second: Mapping[str, Result]) -> RunComparison:
    """The second run against the first, over the questions that both have."""
    both = [name for name in first if name in second]
    measures = tuple(
        found for name in MEASURES if (found := _difference(name, [first[i] for i in both], [second[i] for i in both]))
    )
    chief = measures[0].measure if measures else ""
    moved = [
        (second[i], second[i].numbers[chief] - first[i].numbers[chief])
        for i in both
        if chief in first[i].numbers and chief in second[i].numbers
    ]
    return RunComparison(
        measures=measures,
        worse=tuple(item for item, change in moved if change < 0),
        better=tuple(item for item, change in moved if change > 0),
        only_first=tuple(name for name in first if name not in second),
        only_second=tuple(name for name in second if name not in first),
        problems=() if measures else ("the two runs have no question and measure in common",),
        p_flips=_flips(chief, [first[i] for i in both], [second[i] for i in both]),
    )


def _difference(name: str, first: Sequence[Result], second: Sequence[Result]) -> Difference | None:
    pairs = [
        (a.numbers[name], b.numbers[name])
        for a, b in zip(first, second, strict=True)
        if name in a.numbers and name in b.numbers
    ]
    if not pairs:
        return None
    before, after = [a for a, _ in pairs], [b for _, b in pairs]
    return Difference(name, sum(before) / len(pairs), sum(after) / len(pairs), compare(before, after))


def _flips(name: str, first: Sequence[Result], second: Sequence[Result]) -> float | None:
    pairs = [(a.numbers.get(name), b.numbers.get(name)) for a, b in zip(first, second, strict=True)]
    if not name or any(value not in (0.0, 1.0) for pair in pairs for value in pair):
        return None
    return mcnemar([a == 1.0 for a, _ in pairs], [b == 1.0 for _, b in pairs])
