"""Whether confidence can be believed: of the answers given with 0.8, are eight in ten right?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """The answers whose confidence lies in ``low``..``high``: how sure they were on average and how often right."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """The reliability curve, the expected calibration error and the Brier score."""

    bins: tuple[Bin, ...]
    error: float
    brier: float


def calibration(confidences: Sequence[float], right: Sequence[bool], *, bins: int = _BINS) -> Calibration:
    """How confidences (0..1) compare with what was right.

    Expected calibration error: sum over bins of (n_b / n) * |accuracy_b - confidence_b| (Guo et al. 2017, equation 3);
    Brier score: mean of (confidence - right)^2 (Brier 1950). Bins without answers are left out.

    Raises:
        ValueError: the two are not of one length, or a confidence lies outside 0..1.
    """
    if len(confidences) != len(right):
        raise ValueError(f"{len(confidences)} confidences cannot be paired with {len(right)} results")
    outside = next((c for c in confidences if not 0 <= c <= 1), None)
    if outside is not None:
        raise ValueError(f"{outside} is no confidence; it lies in 0..1")
    groups: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for confidence, was_right in zip(confidences, right, strict=True):
        groups[min(int(confidence * bins), bins - 1)].append((confidence, was_right))
    found = tuple(_bin(number, group, bins) for number, group in enumerate(groups) if group)
    total = len(confidences) or 1
    error = sum(b.count / total * abs(b.accuracy - b.confidence) for b in found)
    brier = sum((c - r) ** 2 for c, r in zip(confidences, right, strict=True)) / total
    return Calibration(found, error, brier)


def _bin(number: int, group: list[tuple[float, bool]], bins: int) -> Bin:
    count = len(group)
    confidence = sum(c for c, _ in group) / count
    return Bin(number / bins, (number + 1) / bins, count, confidence, sum(r for _, r in group) / count)
