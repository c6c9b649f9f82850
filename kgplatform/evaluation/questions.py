"""Asking a set of gold questions, and what came of it: by question, by type, and how far confidence can be trusted."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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

    def line(self) -> dict[str, object]:
        """What became of the question as a line of the results."""
        answer = self.answer
        return {
            "id": self.gold.id,
            "question": self.gold.text,
            "type": self.gold.kind,
            "lang": self.gold.language,
            "answers": list(answer.values),
            "verdict": answer.verdict.value,
            "outcome": self.outcome.value,
            "exact": self.score.exact,
            "precision": self.score.precision,
            "recall": self.score.recall,
            "f1": self.score.f1,
            "same_query": self.same_query,
            "expected": list(self.gold.answers[0]) if self.gold.answers else [],
            "gold_query": self.gold.query or None,
            "query": answer.query.text if answer.query else None,
            "confidence": answer.confidence,
            "using": answer.using,
            "model": answer.model,
            "attempts": [
                {"query": attempt.query, "issues": [issue.message for issue in attempt.issues]}
                for attempt in (answer.query.attempts if answer.query else ())
            ],
            "calls": answer.usage.calls,
            "prompt_tokens": answer.usage.prompt_tokens,
            "completion_tokens": answer.usage.completion_tokens,
            "seconds": answer.usage.seconds,
            "problem": self.problem,
        }

    @property
    def scored(self) -> ScoredQuestion:
        """What a report needs of it."""
        answer = self.answer
        answered = answer.verdict is Verdict.ANSWERED
        return ScoredQuestion(
            self.gold.id,
            self.gold.kind,
            self.score,
            self.outcome,
            self.same_query,
            answer.confidence if answered else None,
            answer.usage,
            self.problem,
        )


@dataclass(frozen=True, slots=True)
class ScoredQuestion:
    """What a report needs of a question that was asked; ``confidence`` is None where no answer was given."""

    id: str
    kind: str
    score: SetScore
    outcome: Outcome
    same_query: bool | None
    confidence: float | None
    usage: Usage
    problem: str = ""

    @classmethod
    def read(cls, line: Mapping[str, Any]) -> ScoredQuestion:
        """The question of a line of results.

        Raises:
            ValueError: the line lacks something, or holds something else than such a line does.
        """
        try:
            tokens = int(line["prompt_tokens"]), int(line["completion_tokens"])
            return cls(
                str(line["id"]),
                str(line["type"]),
                SetScore(*(float(line[name]) for name in ("exact", "precision", "recall", "f1"))),
                Outcome(line["outcome"]),
                None if line["same_query"] is None else bool(line["same_query"]),
                float(line["confidence"]) if line["verdict"] == Verdict.ANSWERED.value else None,
                Usage(int(line["calls"]), *tokens, float(line["seconds"])),
                str(line["problem"]),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"is no result of a question ({error!r})") from error


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


def report(asked: Sequence[ScoredQuestion], problems: Iterable[str] = ()) -> QuestionReport:
    """What the asked questions come to; ``problems`` are those of the file, to which the run's own are added."""
    exact = [item.score.exact for item in asked]
    matches = [float(item.same_query) for item in asked if item.same_query is not None]
    kinds: dict[str, list[ScoredQuestion]] = {}
    for item in asked:
        kinds.setdefault(item.kind, []).append(item)
    times = sorted(item.usage.seconds for item in asked)
    sure = [(item.confidence, bool(item.score.exact)) for item in asked if item.confidence is not None]
    return QuestionReport(
        exact=estimate(exact),
        f1=estimate([item.score.f1 for item in asked]),
        query_match=estimate(matches) if matches else None,
        three_way=three_way([item.outcome for item in asked]),
        calibration=calibration([confidence for confidence, _ in sure], [right for _, right in sure]),
        by_type=tuple(
            TypeScore(kind, estimate([i.score.exact for i in items]), estimate([i.score.f1 for i in items]))
            for kind, items in sorted(kinds.items())
        ),
        usage=sum((item.usage for item in asked), Usage()),
        seconds=(statistics.median(times), times[min(len(times) - 1, int(len(times) * 0.95))]) if times else (0.0, 0.0),
        problems=(*problems, *(f"{item.id}: {item.problem}" for item in asked if item.problem)),
    )


def _gold_rows(found: Solutions, language: str, label_of: Callable[[Term, str], str]) -> tuple[object, ...]:
    if found.boolean is not None:
        return (found.boolean,)
    return tuple([_label(term, language, label_of) for term in row if term is not None] for row in found.rows)


def _label(term: Term, language: str, label_of: Callable[[Term, str], str]) -> str:
    return term.value if isinstance(term, Literal) else label_of(term, language)


def _plain(term: Term) -> str:
    return str(term) if not hasattr(term, "value") else term.value
