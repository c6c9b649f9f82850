"""How well items are sorted into classes: the confusion matrix and what follows from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClassScore:
    """Precision, recall and F1 of one class, and how many gold items it has."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True, slots=True)
class Confusion:
    """``counts[i][j]`` items of the gold class ``labels[i]`` were put into ``labels[j]``."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    @property
    def total(self) -> int:
        """How many items were classified."""
        return sum(map(sum, self.counts))

    @property
    def accuracy(self) -> float:
        """The share of items on the diagonal."""
        return sum(row[i] for i, row in enumerate(self.counts)) / self.total if self.total else 0.0

    def by_class(self) -> tuple[ClassScore, ...]:
        """The scores of each class, in the order of the labels."""
        found = []
        for i, label in enumerate(self.labels):
            right, support, given = self.counts[i][i], sum(self.counts[i]), sum(row[i] for row in self.counts)
            precision, recall = right / given if given else 0.0, right / support if support else 0.0
            found.append(ClassScore(label, precision, recall, harmonic(precision, recall), support))
        return tuple(found)

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the classes that have gold items."""
        scores = [score.f1 for score in self.by_class() if score.support]
        return sum(scores) / len(scores) if scores else 0.0


def confusion(gold: Sequence[str], predicted: Sequence[str], *, labels: Sequence[str] = ()) -> Confusion:
    """The confusion matrix of two label sequences; ``labels`` gives the order, others follow alphabetically.

    Raises:
        ValueError: the two are not of one length.
    """
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold labels cannot be paired with {len(predicted)} predictions")
    known = tuple(dict.fromkeys((*labels, *sorted({*gold, *predicted}))))
    pairs = Counter(zip(gold, predicted, strict=True))
    return Confusion(known, tuple(tuple(pairs[row, column] for column in known) for row in known))


def harmonic(precision: float, recall: float) -> float:
    """F1 = 2PR / (P + R); 0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
