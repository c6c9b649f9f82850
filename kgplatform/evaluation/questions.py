"""Asking a set of gold questions, and what came of it: by question, by type, and how far confidence can be trusted."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyoxigraph import Literal

from kgplatform.errors import QueryError
from kgplatform.evaluation.answers import Outcome, SetScore, ThreeWay, best_score, three_way
from kgplatform.evaluation.calibration import Calibration, calibration
from kgplatform.evaluation.gold import GoldQuestion
from kgplatform.evaluation.queries import same_query
from kgplatform.evaluation.statistics import Estimate, estimate
from kgplatform.types import Answer, Solutions, Term, Usage, Verdict


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A gold question, the answer it got, and the scores; ``same_query`` is None where there is no gold query."""

    gold: GoldQuestion
    answer: Answer
    score: SetScore
    outcome: Outcome
    same_query: bool | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TypeScore:
    """The scores of the questions of one type."""

    kind: str
    exact: Estimate
    f1: Estimate


@dataclass(frozen=True, slots=True)
class QuestionReport:
    """A run as a whole.

    ``exact`` is execution accuracy (EX), ``f1`` the mean set-F1, ``query_match`` the share of queries equal to the
    gold query by algebra (EM; None without gold queries), ``seconds`` the median and the 95th percentile.
    """

    exact: Estimate
    f1: Estimate
    query_match: Estimate | None
    three_way: ThreeWay
    calibration: Calibration
    by_type: tuple[TypeScore, ...]
    usage: Usage
    seconds: tuple[float, float]
    problems: tuple[str, ...]


def ask_all(
    questions: Iterable[GoldQuestion],
    *,
    ask: Callable[[str], Answer],
    query: Callable[[str], Solutions],
    label_of: Callable[[Term, str], str],
) -> Iterator[AskedQuestion]:
    """Each question with its answer and score, in order.

    ``query`` gives the answers of a gold query where the file has none; one that fails makes the question count as
    not answerable by the set (``problem`` says why, and the score is 0).
    """
    for gold in questions:
        answer = ask(gold.text)
        try:
            golds = gold.answers or (_gold_rows(query(gold.query), gold.language, label_of),)
        except QueryError as error:
            yield AskedQuestion(gold, answer, SetScore(0, 0, 0, 0), Outcome.WRONG, None, f"gold query: {error}")
            continue
        given = list(predictions(answer, label_of))
        scores = [best_score(golds, rows, any_will_do=gold.any_will_do) for rows in given]
        score = max(scores, key=lambda item: (item.exact, item.f1))
        text = answer.query.text if answer.query else ""
        matched = same_query(gold.query, text) if gold.query else None
        yield AskedQuestion(gold, answer, score, outcome(answer, score), matched)


def predictions(answer: Answer, label_of: Callable[[Term, str], str]) -> Iterator[list[object]]:
    """The rows of an answer as a scorer compares them: the values shown, labels (English ones too), IRIs."""
    if answer.verdict is not Verdict.ANSWERED:
        yield []
        return
    if answer.solutions.boolean is not None:
        yield [answer.solutions.boolean]
        return
    yield list(answer.values)
    language = answer.question.language
    for shown in (lambda t: _label(t, language, label_of), lambda t: _label(t, "en", label_of), _plain):
        yield [[shown(term) for term in row if term is not None] for row in answer.solutions.rows]


def outcome(answer: Answer, score: SetScore) -> Outcome:
    """Correct where the answer is exactly right, missing where none was given, else wrong."""
    if score.exact:
        return Outcome.CORRECT
    return Outcome.MISSING if answer.verdict is not Verdict.ANSWERED else Outcome.WRONG


def report(asked: Sequence[AskedQuestion], problems: Iterable[str] = ()) -> QuestionReport:
    """What the asked questions come to; ``problems`` are those of the file, to which the run's own are added."""
    exact = [item.score.exact for item in asked]
    matches = [float(item.same_query) for item in asked if item.same_query is not None]
    kinds: dict[str, list[AskedQuestion]] = {}
    for item in asked:
        kinds.setdefault(item.gold.kind, []).append(item)
    times = sorted(item.answer.usage.seconds for item in asked)
    answered = [item for item in asked if item.answer.verdict is Verdict.ANSWERED]
    return QuestionReport(
        exact=estimate(exact),
        f1=estimate([item.score.f1 for item in asked]),
        query_match=estimate(matches) if matches else None,
        three_way=three_way([item.outcome for item in asked]),
        calibration=calibration([i.answer.confidence for i in answered], [bool(i.score.exact) for i in answered]),
        by_type=tuple(
            TypeScore(kind, estimate([i.score.exact for i in items]), estimate([i.score.f1 for i in items]))
            for kind, items in sorted(kinds.items())
        ),
        usage=sum((item.answer.usage for item in asked), Usage()),
        seconds=(statistics.median(times), times[min(len(times) - 1, int(len(times) * 0.95))]) if times else (0.0, 0.0),
        problems=(*problems, *(f"{item.gold.id}: {item.problem}" for item in asked if item.problem)),
    )


def _gold_rows(found: Solutions, language: str, label_of: Callable[[Term, str], str]) -> tuple[object, ...]:
    if found.boolean is not None:
        return (found.boolean,)
    return tuple([_label(term, language, label_of) for term in row if term is not None] for row in found.rows)


def _label(term: Term, language: str, label_of: Callable[[Term, str], str]) -> str:
    return term.value if isinstance(term, Literal) else label_of(term, language)


def _plain(term: Term) -> str:
    return str(term) if not hasattr(term, "value") else term.value
