"""The measures of answers from passages, and what a judge must be able to say for them.

The formulas are those of the travel study, equations 7 to 14 (the RAGAS measures); who judges, a model or a built-in
estimate, is part of every result. A measure that cannot be taken is None with a problem that says why, and counts
nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from kgplatform.errors import ModelError
from kgplatform.evaluation.statistics import Estimate, estimate

ENOUGH = 0.5
"""An answer counts as true from this similarity to the reference on (travel study, equation 13)."""
QUESTIONS = 3
"""So many questions are made from an answer for its relevancy."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with the answer it got, the passages used, and the reference answer (empty: there is none)."""

    id: str
    question: str
    answer: str
    passages: tuple[str, ...] = ()
    reference: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """The measures of one answer, 0..1 (None: not measured), ``by`` whom, and what went wrong."""

    id: str
    faithfulness: float | None = None
    relevancy: float | None = None
    context_precision: float | None = None
    context_recall: float | None = None
    similarity: float | None = None
    by: str = ""
    problems: tuple[str, ...] = ()
    kind: str = ""

    @property
    def right(self) -> bool | None:
        """Whether the answer is like enough to the reference to count as true."""
        return None if self.similarity is None else self.similarity >= ENOUGH


class Judge(Protocol):
    """Decides what the measures count."""

    name: str

    def claims(self, item: Answered) -> Sequence[bool]:
        """Whether each claim of the answer is supported by its passages; empty for an answer without claims."""
        ...

    def relevancies(self, item: Answered) -> Sequence[float]:
        """How near the question is to each question that the answer would answer; empty for one that evades."""
        ...

    def useful(self, item: Answered) -> Sequence[bool]:
        """Whether each passage was useful for the reference answer, in their order."""
        ...

    def recalled(self, item: Answered) -> Sequence[bool]:
        """Whether each statement of the reference answer is in the passages."""
        ...

    def similarity(self, item: Answered) -> float:
        """How like the answer is to the reference, 0..1."""
        ...


def faithfulness(supported: Sequence[bool]) -> float | None:
    """The share of claims that the passages support, |I| / |C| (equation 7); None for an answer without claims.

    >>> faithfulness([True, True, False, True])
    0.75
    """
    return sum(supported) / len(supported) if supported else None


def relevancy(similarities: Sequence[float]) -> float:
    """The mean similarity of the question to those made from the answer, (1/N) sum cos(E_gi, E_o) (equation 8).

    An answer that evades has none and gets 0.
    """
    return max(0.0, sum(similarities) / len(similarities)) if similarities else 0.0


def context_precision(useful: Sequence[bool]) -> float:
    """Sum over k of (precision@k * v_k) / relevant in top K (equations 9 and 10); 0 if nothing was useful.

    >>> round(context_precision([True, False, True]), 3)
    0.833
    """
    hits, total = 0, 0.0
    for place, relevant in enumerate(useful, 1):
        if relevant:
            hits += 1
            total += hits / place
    return total / hits if hits else 0.0


def context_recall(found: Sequence[bool]) -> float | None:
    """The share of the reference's statements that the passages hold, |A| / |T| (equation 11); None without any."""
    return sum(found) / len(found) if found else None


def judged(item: Answered, judge: Judge) -> Judged:
    """All measures of one answer; those that need a reference are left out where there is none."""
    problems: list[str] = []

    def taken(measure: str, take: Callable[[], float | None]) -> float | None:
        try:
            return take()
        except ModelError as error:
            problems.append(f"{measure}: {error}")
            return None

    reference = bool(item.reference)
    return Judged(
        id=item.id,
        faithfulness=taken("faithfulness", lambda: faithfulness(judge.claims(item))),
        relevancy=taken("answer relevancy", lambda: relevancy(judge.relevancies(item))),
        context_precision=taken(
            "context precision", lambda: context_precision(judge.useful(item)) if reference and item.passages else None
        ),
        context_recall=taken("context recall", lambda: context_recall(judge.recalled(item)) if reference else None),
        similarity=taken("similarity", lambda: judge.similarity(item) if reference else None),
        by=judge.name,
        problems=tuple(problems),
        kind=item.kind,
    )


@dataclass(frozen=True, slots=True)
class JudgedReport:
    """The means over all answers, each over those it could be measured for, and the problems met."""

    faithfulness: Estimate
    relevancy: Estimate
    context_precision: Estimate
    context_recall: Estimate
    accuracy: Estimate
    by: str
    problems: tuple[str, ...] = ()


def report(items: Sequence[Judged]) -> JudgedReport:
    """The means with bootstrap intervals; ``accuracy`` is the share of answers that count as true (equation 14)."""

    def mean(values: Sequence[float | None]) -> Estimate:
        return estimate([value for value in values if value is not None])

    return JudgedReport(
        faithfulness=mean([item.faithfulness for item in items]),
        relevancy=mean([item.relevancy for item in items]),
        context_precision=mean([item.context_precision for item in items]),
        context_recall=mean([item.context_recall for item in items]),
        accuracy=mean([None if item.right is None else float(item.right) for item in items]),
        by=", ".join(dict.fromkeys(item.by for item in items)),
        problems=tuple(f"{item.id}: {problem}" for item in items for problem in item.problems),
    )
