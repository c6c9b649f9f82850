"""Every retriever against every other on the same questions, with p values that allow for how many pairs there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from kgplatform.evaluation.retrieval import RetrieverReport
from kgplatform.evaluation.statistics import Comparison, compare


@dataclass(frozen=True, slots=True)
class Pair:
    """How the recalls of two retrievers differ, second less first; ``p`` is adjusted, `Comparison.p` is not."""

    first: str
    second: str
    comparison: Comparison
    p: float


def pairs(reports: Sequence[RetrieverReport]) -> tuple[Pair, ...]:
    """All pairs in the order of the reports, by the paired permutation test, p adjusted after Holm (1979)."""
    found = [(one, other, compare(one.recalls, other.recalls)) for one, other in combinations(reports, 2)]
    adjusted = holm([comparison.p for _, _, comparison in found])
    return tuple(
        Pair(one.name, other.name, comparison, p) for (one, other, comparison), p in zip(found, adjusted, strict=True)
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
