"""How sure a mean is, and whether two methods differ: bootstrap intervals and paired tests.

Everything is seeded: the same values give the same interval and the same p.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

_SAMPLES: Final = 2_000
_LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over ``count`` items with the interval that holds it at the given level (0.95)."""

    value: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}] n={self.count}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The mean difference of two methods on the same items, second less first, and how likely chance alone is."""

    difference: float
    low: float
    high: float
    p: float
    count: int


def estimate(values: Sequence[float], *, samples: int = _SAMPLES, seed: int = 0) -> Estimate:
    """The mean of the values with its percentile bootstrap interval.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, chapter 13. With no values everything is 0; the
    interval of one value is that value, which says nothing about how sure it is.
    """
    if not values:
        return Estimate(0.0, 0.0, 0.0, 0)
    data = np.asarray(values, dtype=np.float64)
    low, high = _interval(data, samples, seed)
    return Estimate(float(data.mean()), low, high, len(values))


def ratio(parts: Sequence[float], wholes: Sequence[float], *, samples: int = _SAMPLES, seed: int = 0) -> Estimate:
    """The sum of the parts by the sum of the wholes, both item by item, with its percentile bootstrap interval.

    Micro-averaged precision, recall and F1 are such ratios. Items are drawn as a whole; 0 by 0 is 0.

    Raises:
        ValueError: the two are not of one length.
    """
    if len(parts) != len(wholes):
        raise ValueError(f"{len(parts)} parts cannot be paired with {len(wholes)} wholes")
    if not parts:
        return Estimate(0.0, 0.0, 0.0, 0)
    tops, bottoms = np.asarray(parts, dtype=np.float64), np.asarray(wholes, dtype=np.float64)
    random = np.random.default_rng(seed)
    found = np.empty(samples)
    for number in range(samples):
        drawn = random.integers(0, len(tops), len(tops))
        whole = bottoms[drawn].sum()
        found[number] = tops[drawn].sum() / whole if whole else 0.0
    edge = (1 - _LEVEL) / 2
    low, high = np.quantile(found, (edge, 1 - edge))
    whole = bottoms.sum()
    return Estimate(float(tops.sum() / whole) if whole else 0.0, float(low), float(high), len(parts))


def compare(first: Sequence[float], second: Sequence[float], *, samples: int = _SAMPLES, seed: int = 0) -> Comparison:
    """Whether the second method does better than the first on the same items, in the same order.

    p is that of the paired sign-flip permutation test, two-sided (Good, Permutation, Parametric and Bootstrap Tests
    of Hypotheses, section 3.2): exact up to 12 items that differ, sampled beyond.

    Raises:
        ValueError: the two are not of one length.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values cannot be paired with {len(second)}")
    if not first:
        return Comparison(0.0, 0.0, 0.0, 1.0, 0)
    differences = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    low, high = _interval(differences, samples, seed)
    return Comparison(float(differences.mean()), low, high, _sign_flip(differences, samples, seed), len(first))


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """The exact two-sided p of McNemar's test: whether two methods that are right or wrong differ.

    Only the items count that one of the two has right: p = 2 * sum over k <= min(b, c) of C(b+c, k) / 2^(b+c).
    Source: McNemar 1947, in the exact binomial form.

    Raises:
        ValueError: the two are not of one length.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} results cannot be paired with {len(second)}")
    only_first = sum(a and not b for a, b in zip(first, second, strict=True))
    only_second = sum(b and not a for a, b in zip(first, second, strict=True))
    total = only_first + only_second
    tail = sum(math.comb(total, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, math.ldexp(tail, 1 - total))


def _interval(data: NDArray[np.float64], samples: int, seed: int) -> tuple[float, float]:
    random = np.random.default_rng(seed)
    means = np.empty(samples)
    for number in range(samples):  # one draw at a time: all at once would hold samples x items in memory
        means[number] = data[random.integers(0, len(data), len(data))].mean()
    edge = (1 - _LEVEL) / 2
    low, high = np.quantile(means, (edge, 1 - edge))
    return float(low), float(high)


_EXACT: Final = 12


def _sign_flip(differences: NDArray[np.float64], samples: int, seed: int) -> float:
    moved = differences[differences != 0]
    if not len(moved):
        return 1.0
    seen = abs(float(moved.sum()))
    if len(moved) <= _EXACT:
        flips = np.array(np.meshgrid(*[(-1.0, 1.0)] * len(moved))).reshape(len(moved), -1)
        sums = np.abs(moved @ flips)
        return int(np.count_nonzero(sums >= seen - 1e-12)) / len(sums)
    random = np.random.default_rng(seed)
    reached = sum(
        abs(float((moved * random.choice((-1.0, 1.0), len(moved))).sum())) >= seen - 1e-12 for _ in range(samples)
    )
    return (reached + 1) / (samples + 1)
