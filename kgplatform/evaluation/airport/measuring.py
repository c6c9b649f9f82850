"""Whether an answer to a question of the study is right, and whether anything in it is made up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import combinations

from pyoxigraph import Literal

from kgplatform.evaluation.airport.asking import Asked
from kgplatform.evaluation.answers import best_score
from kgplatform.types import Answer, Solutions, Term, Verdict


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
