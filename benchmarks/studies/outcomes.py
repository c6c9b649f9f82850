"""What systems did with the questions of a study: means, paired tests, and how well items are sorted into classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from kgplatform.evaluation.metrics import Estimate, compare, estimate, harmonic
from kgplatform.evaluation.retrievers import holm
from kgplatform.evaluation.runs import ReportLine, Tested


@dataclass(frozen=True, slots=True)
class StudyOutcome:
    """What one system did with one question: its answer, and its numbers by measure (None: not measured)."""

    id: str
    system: str
    question: str
    kind: str = ""
    language: str = ""
    answer: str = ""
    reference: str = ""
    numbers: Mapping[str, float | None] = field(default_factory=dict)
    seconds: float = 0.0
    tokens: int = 0
    calls: int = 0
    problems: tuple[str, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict)

    def line(self) -> dict[str, object]:
        """The outcome as a line of the results."""
        measured = {name: value for name, value in self.numbers.items() if value is not None}
        return {
            "id": f"{self.id} | {self.system}",
            "question": self.question,
            "type": self.kind,
            "lang": self.language,
            "system": self.system,
            "answer": self.answer,
            "reference": self.reference,
            **measured,
            **self.extra,
            "seconds": self.seconds,
            "tokens": self.tokens,
            "calls": self.calls,
            "problems": list(self.problems),
        }


def means(
    outcomes: Sequence[StudyOutcome], measures: Sequence[str], systems: Sequence[str], *, kind: str = ""
) -> tuple[ReportLine, ...]:
    """A row for each system with its mean of every measure, over the questions of a kind (empty: all)."""
    return tuple(
        ReportLine(system, tuple(mean(outcomes, name, system, kind=kind) for name in measures)) for system in systems
    )


def mean(outcomes: Sequence[StudyOutcome], measure: str, system: str, *, kind: str = "") -> Estimate | None:
    """The mean of a measure over the questions it could be taken for; None if there are none."""
    values = [
        value
        for item in outcomes
        if item.system == system and kind in ("", item.kind) and (value := item.numbers.get(measure)) is not None
    ]
    return estimate(values) if values else None


def paired(
    outcomes: Sequence[StudyOutcome], measures: Sequence[str], systems: Sequence[str], *, against: str = ""
) -> tuple[Tested, ...]:
    """Paired permutation tests of every two systems, or of ``against`` and every other, by measure, p after Holm.

    A question counts where both systems have the measure.
    """
    pairs = [(one, against) for one in systems if one != against] if against else list(combinations(systems, 2))
    found = []
    for measure in measures:
        values = {system: _by_question(outcomes, measure, system) for system in systems}
        for first, second in pairs:
            both = [name for name in values[first] if name in values[second]]
            if both:
                compared = compare([values[first][n] for n in both], [values[second][n] for n in both])
                found.append((measure, first, second, compared))
    adjusted = holm([item[3].p for item in found])
    return tuple(Tested(*item, p=p) for item, p in zip(found, adjusted, strict=True))


def _by_question(outcomes: Sequence[StudyOutcome], measure: str, system: str) -> dict[str, float]:
    return {
        item.id: value
        for item in outcomes
        if item.system == system and (value := item.numbers.get(measure)) is not None
    }


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
