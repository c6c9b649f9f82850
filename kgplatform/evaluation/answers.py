"""Whether an answer is the gold answer: execution accuracy, set precision, recall and F1, the three-way score.

Values are compared as people would: letter case, width, quotation marks, outer punctuation and thousands separators
do not matter, ``3`` is ``3.0``, numbers that are not whole may differ by half a percent, yes is true. Rows may have
their columns in another order; a row may carry more columns than the gold where the gold has one.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias
from urllib.parse import unquote

from kgplatform.evaluation.classification import harmonic

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


class Outcome(StrEnum):
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


def three_way(outcomes: Sequence[Outcome]) -> ThreeWay:
    """The shares of the outcomes; all 0 where there are none."""
    counts, total = Counter(outcomes), len(outcomes) or 1
    return ThreeWay(*(counts[outcome] / total for outcome in (Outcome.CORRECT, Outcome.MISSING, Outcome.WRONG)))


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
