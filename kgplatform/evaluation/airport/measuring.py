"""Asks the questions of the study and measures: their classes, how many are right, and whether anything is made up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations

from pyoxigraph import Literal

from kgplatform.evaluation.airport.ambiguous import CLASSES
from kgplatform.evaluation.airport.asking import NONE, Asked
from kgplatform.evaluation.airport.making import StudyQuestion
from kgplatform.evaluation.answers import best_score
from kgplatform.evaluation.classification import Confusion, confusion
from kgplatform.evaluation.queries import same_query
from kgplatform.evaluation.statistics import Estimate, estimate
from kgplatform.types import Answer, Solutions, Term, Verdict


@dataclass(frozen=True, slots=True)
class Studied:
    """A question with what came back, whether it is right (EX), and the values in it that nothing supports.

    ``match``: whether the query is the gold one (EM); None where no gold query is known.
    """

    question: StudyQuestion
    answer: Answer
    right: bool
    invented: tuple[str, ...]
    match: bool | None = None


@dataclass(frozen=True, slots=True)
class SetScore:
    """The share of right answers of one set of questions by one method."""

    set: str
    method: str
    right: Estimate


@dataclass(frozen=True, slots=True)
class StudyReport:
    """What a method comes to: its accuracy by set and by kind, its confusion matrix, and how many values it made up.

    ``match`` is the share of the gold queries that were written (EM).
    """

    method: str
    sets: tuple[SetScore, ...]
    kinds: tuple[SetScore, ...]
    classes: Confusion
    invented: int
    match: Estimate | None = None


def study(
    questions: Iterable[StudyQuestion],
    *,
    ask: Callable[[str, str], Answer],
    label_of: Callable[[Term, str], str],
) -> Iterator[Studied]:
    """Asks each question as of its moment (``ask`` gets text and moment) and judges what comes back, as it comes."""
    for question in questions:
        answer = ask(question.asked.text, question.now)
        gold = question.asked.query
        match = same_query(gold, answer.query.text if answer.query else "") if gold else None
        yield Studied(question, answer, is_right(question.asked, answer), invented(answer, label_of), match)


def is_right(asked: Asked, answer: Answer) -> bool:
    """Whether the answer is a gold one; where asking back is right, whether it asks back, for the right things."""
    if asked.answers:
        return answer.verdict is Verdict.ANSWERED and best_score(asked.answers, list(answer.values)).exact == 1.0
    if len(asked.options) == 1:
        return asked.options[0] in answer.text
    if asked.options:
        offered = answer.clarification.options if answer.clarification else ()
        return bool(offered) and all(any(name in shown for name in asked.options) for shown in offered)
    return answer.verdict is not Verdict.ANSWERED


def invented(answer: Answer, label_of: Callable[[Term, str], str]) -> tuple[str, ...]:
    """The values of an answer that neither stand in its rows nor are reckoned from them."""
    if answer.solutions.boolean is not None:
        return ()
    language = answer.question.language
    terms = [term for row in answer.solutions.rows for term in row if term is not None]
    known = {term.value if isinstance(term, Literal) else label_of(term, language) for term in terms}
    known |= {str(len(answer.solutions.rows))}
    numbers = set(_reckoned(answer.solutions))
    return tuple(v for v in answer.values if v not in known and not _is_one_of(v, numbers))


def _reckoned(solutions: Solutions) -> Iterator[float]:
    """The lengths of time between the moments of a row and of the rows, and its numbers in other units of time."""
    moments: list[datetime] = []
    for row in solutions.rows[:4]:
        for term in row:
            if not isinstance(term, Literal):
                continue
            try:
                moments.append(datetime.fromisoformat(term.value))
            except ValueError:
                try:
                    number = float(term.value)
                except ValueError:
                    continue
                yield from (number / 60, number * 60, number, number / 3600, number * 3600)
    for one, other in combinations(moments, 2):
        seconds = abs((other - one).total_seconds())
        yield from (seconds, seconds / 60, seconds / 3600, seconds / 86_400)


def _is_one_of(value: str, numbers: set[float]) -> bool:
    try:
        number = abs(float(value))
    except ValueError:
        return False
    return any(abs(number - known) < 0.006 for known in numbers)


def report(studied: Sequence[Studied], *, method: str) -> StudyReport:
    """What the questions come to, by set and kind."""
    labels = (*CLASSES, NONE)
    gold = [item.question.asked.label for item in studied]
    given = [item.answer.question_class or NONE for item in studied]
    matches = [float(item.match) for item in studied if item.match is not None]
    return StudyReport(
        method=method,
        sets=_scores(studied, method, lambda asked: asked.set),
        kinds=_scores(studied, method, lambda asked: f"{asked.set}: {asked.kind}"),
        classes=confusion(gold, given, labels=labels),
        invented=sum(len(item.invented) for item in studied),
        match=estimate(matches) if matches else None,
    )


def classes_of(studied: Sequence[Studied], sets: Sequence[str] = ("ambiguous",)) -> Confusion:
    """The confusion matrix of the question classes over some of the sets."""
    chosen = [item for item in studied if item.question.asked.set in sets]
    gold = [item.question.asked.label for item in chosen]
    given = [item.answer.question_class or NONE for item in chosen]
    return confusion(gold, given, labels=(*CLASSES, NONE))


def _scores(studied: Sequence[Studied], method: str, key: Callable[[Asked], str]) -> tuple[SetScore, ...]:
    by_key: dict[str, list[float]] = {}
    for item in studied:
        by_key.setdefault(key(item.question.asked), []).append(float(item.right))
    return tuple(SetScore(name, method, estimate(values)) for name, values in by_key.items())
