"""Measures of answers and the doubt in them: intervals, tests, rankings, scores of answers and of passages."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

# Everything is seeded: the same values give the same interval and the same p.
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
class PairedComparison:
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
    low, high = _interval(lambda items: float(data[items].mean()), len(data), samples, seed)
    return Estimate(float(data.mean()), low, high, len(values))


def ratio(parts: Sequence[float], wholes: Sequence[float]) -> Estimate:
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

    def share(items: NDArray[np.int64]) -> float:
        whole = bottoms[items].sum()
        return float(tops[items].sum() / whole) if whole else 0.0

    low, high = _interval(share, len(parts), _SAMPLES, 0)
    return Estimate(share(np.arange(len(parts))), low, high, len(parts))


def compare(
    first: Sequence[float], second: Sequence[float], *, samples: int = _SAMPLES, seed: int = 0
) -> PairedComparison:
    """Whether the second method does better than the first on the same items, in the same order.

    p is that of the paired sign-flip permutation test, two-sided (Good, Permutation, Parametric and Bootstrap Tests
    of Hypotheses, section 3.2): exact up to 12 items that differ, sampled beyond.

    Raises:
        ValueError: the two are not of one length.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values cannot be paired with {len(second)}")
    if not first:
        return PairedComparison(0.0, 0.0, 0.0, 1.0, 0)
    differences = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    low, high = _interval(lambda items: float(differences[items].mean()), len(first), samples, seed)
    return PairedComparison(float(differences.mean()), low, high, _sign_flip(differences, samples, seed), len(first))


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


def _interval(
    measure: Callable[[NDArray[np.int64]], float], count: int, samples: int, seed: int
) -> tuple[float, float]:
    random = np.random.default_rng(seed)
    # one draw at a time: all at once would hold samples x items in memory
    found = [measure(random.integers(0, count, count)) for _ in range(samples)]
    edge = (1 - _LEVEL) / 2
    low, high = np.quantile(found, (edge, 1 - edge))
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


def calibration(confidences: Sequence[float], right: Sequence[bool]) -> Calibration:
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
    groups: list[list[tuple[float, bool]]] = [[] for _ in range(_BINS)]
    for confidence, was_right in zip(confidences, right, strict=True):
        groups[min(int(confidence * _BINS), _BINS - 1)].append((confidence, was_right))
    found = tuple(_bin(number, group) for number, group in enumerate(groups) if group)
    total = len(confidences) or 1
    error = sum(b.count / total * abs(b.accuracy - b.confidence) for b in found)
    brier = sum((c - r) ** 2 for c, r in zip(confidences, right, strict=True)) / total
    return Calibration(found, error, brier)


def _bin(number: int, group: list[tuple[float, bool]]) -> Bin:
    count = len(group)
    confidence = sum(c for c, _ in group) / count
    return Bin(number / _BINS, (number + 1) / _BINS, count, confidence, sum(r for _, r in group) / count)


def harmonic(precision: float, recall: float) -> float:
    """F1 = 2PR / (P + R); 0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


# Values are compared as people would: letter case, width, quotation marks, outer punctuation and thousands separators
# do not matter, ``3`` is ``3.0``, numbers that are not whole may differ by half a percent, yes is true. Rows may have
# their columns in another order; a row may carry more columns than the gold where the gold has one.
Value: TypeAlias = str | float | bool
Row: TypeAlias = tuple[Value, ...]

_YES: Final = frozenset(("true", "yes", "是", "是的", "有", "对"))
_NO: Final = frozenset(("false", "no", "否", "不是", "没有", "无"))
_TOLERANCE: Final = 0.005
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "_": " "})
_MOST_PAIRS: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class SetScore:
    """``exact`` is execution accuracy (the sets are the same, 1 or 0); the others are over the rows of the answer."""

    exact: float
    precision: float
    recall: float
    f1: float


def row_of(value: object) -> Row:
    """A row of comparable values: of a scalar, a list, or an object whose values are the columns."""
    parts: Iterable[object]
    if isinstance(value, Mapping):
        parts = [value["value"]] if "value" in value else value.values()
    elif isinstance(value, list | tuple):
        parts = value
    else:
        parts = [value]
    return tuple(_value(part) for part in parts if part is not None and part != "")


def score_rows(gold: Iterable[object], predicted: Iterable[object], *, any_will_do: bool = False) -> SetScore:
    """How the predicted rows compare with the gold rows, both taken as sets.

    ``any_will_do``: the question asked for a suggestion, so any gold rows, and no other, are right.
    """
    wanted, given = _distinct(map(row_of, gold)), _distinct(map(row_of, predicted))
    hits = _matched(wanted, given)
    precision = hits / len(given) if given else 0.0
    recall = (float(hits > 0) if any_will_do else hits / len(wanted)) if wanted else float(not given)
    if not wanted and not given:
        precision = 1.0
    return SetScore(float(precision == recall == 1.0), precision, recall, harmonic(precision, recall))


def best_score(
    golds: Sequence[Iterable[object]], predicted: Sequence[object], *, any_will_do: bool = False
) -> SetScore:
    """The best of the scores against several gold answers that are all right."""
    scores = [score_rows(gold, predicted, any_will_do=any_will_do) for gold in golds]
    return max(scores, key=lambda score: (score.exact, score.f1), default=SetScore(0.0, 0.0, 0.0, 0.0))


class AnswerOutcome(StrEnum):
    """How an answer counts in the three-way score."""

    CORRECT = "correct"
    MISSING = "missing"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class ThreeWay:
    """Shares of right, missing and wrong answers; ``score`` = accuracy - hallucination, from -1 to 1.

    Source: the CRAG benchmark (Yang et al. 2024): correct counts 1, missing 0, wrong -1.
    """

    accuracy: float
    missing: float
    hallucination: float

    @property
    def score(self) -> float:
        """The mean of 1, 0 and -1 over the questions."""
        return self.accuracy - self.hallucination


def three_way(outcomes: Sequence[AnswerOutcome]) -> ThreeWay:
    """The shares of the outcomes; all 0 where there are none."""
    counts, total = Counter(outcomes), len(outcomes) or 1
    return ThreeWay(
        *(counts[outcome] / total for outcome in (AnswerOutcome.CORRECT, AnswerOutcome.MISSING, AnswerOutcome.WRONG))
    )


def _value(value: object) -> Value:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return float(value)
    text = unicodedata.normalize("NFKC", str(value)).strip()
    if re.match(r"https?://|urn:", text):
        return unquote(text).rstrip("/#").casefold()
    plain = text.replace(",", "")
    if _NUMBER.fullmatch(plain):
        return float(plain)
    return re.sub(r"\s+", " ", text.translate(_QUOTES).casefold()).strip(" \t\"'.;,，。；")


def _distinct(rows: Iterable[Row]) -> list[Row]:
    return list({_key(row): row for row in rows if row}.values())


def _key(row: Row) -> tuple[str, ...]:
    return tuple(sorted(map(repr, row)))


def _matched(wanted: Sequence[Row], given: Sequence[Row]) -> int:
    """How many rows have a partner: equal ones first, the rest one by one as long as that is affordable."""
    keys = {_key(row): row for row in given}
    left = [row for row in wanted if _key(row) not in keys]
    hits = len(wanted) - len(left)
    taken = {_key(row) for row in wanted}
    rest = [row for row in given if _key(row) not in taken]
    if len(left) * len(rest) > _MOST_PAIRS:
        return hits
    for row in left:
        partner = next((i for i, other in enumerate(rest) if _same_row(row, other)), None)
        if partner is not None:
            del rest[partner]
            hits += 1
    return hits


def _same_row(gold: Row, given: Row) -> bool:
    if len(gold) != len(given):
        return len(gold) == 1 and any(_same(gold[0], value) for value in given)
    rest = list(given)
    for value in gold:
        partner = next((i for i, other in enumerate(rest) if _same(value, other)), None)
        if partner is None:
            return False
        del rest[partner]
    return True


def _same(gold: Value, given: Value) -> bool:
    if isinstance(gold, bool) or isinstance(given, bool):
        return _truth(gold) is not None and _truth(gold) == _truth(given)
    if isinstance(gold, float) and isinstance(given, float):
        if gold.is_integer() and given.is_integer():
            return gold == given
        return math.isclose(gold, given, rel_tol=_TOLERANCE, abs_tol=1e-6)
    return gold == given


def _truth(value: Value) -> bool | None:
    if isinstance(value, bool):
        return value
    return True if value in _YES else False if value in _NO else None


# ``ranked`` are the ids that a method returned, best first; ``gold`` those that are right. A gold set that is empty has
# nothing to find: recall counts 1, the others 0.
def recall_at(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float:
    """The share of the gold among the first k: |gold in top k| / |gold|."""
    wanted = set(gold)
    return len(wanted & set(ranked[:k])) / len(wanted) if wanted else 1.0


def all_at(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float:
    """1 if every gold item is among the first k, else 0."""
    return float(set(gold) <= set(ranked[:k]))


def context_precision(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float:
    """How early the gold comes: sum over ranks i <= k of precision@i * v_i, divided by the gold items in the top k.

    v_i is 1 where the item at rank i is gold. Source: the travel study, equation 11 (as in the RAGAS framework,
    Es et al. 2024).
    """
    found, total = 0, 0.0
    for place, item in enumerate(ranked[:k], start=1):
        if item in gold:
            found += 1
            total += found / place
    return total / found if found else 0.0


def reciprocal_rank(ranked: Sequence[Hashable], gold: Collection[Hashable]) -> float:
    """1 / rank of the first gold item; 0 if there is none. Its mean over questions is MRR (Voorhees 1999)."""
    return next((1 / place for place, item in enumerate(ranked, start=1) if item in gold), 0.0)


def ndcg_at(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float:
    """DCG@k / ideal DCG@k with gains of 0 and 1: DCG = sum of gain_i / log2(i + 1).

    Source: Järvelin and Kekäläinen 2002.
    """
    gained = sum(1 / math.log2(place + 1) for place, item in enumerate(ranked[:k], start=1) if item in gold)
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(k, len(set(gold))) + 1))
    return gained / ideal if ideal else 0.0
