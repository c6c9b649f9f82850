"""Questions with right answers: read from a file, asked and scored; and two runs of them side by side."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyoxigraph import Literal

from kgplatform.errors import QueryError
from kgplatform.evaluation.metrics import (
    AnswerOutcome,
    Calibration,
    Estimate,
    PairedComparison,
    SetScore,
    ThreeWay,
    best_score,
    calibration,
    compare,
    estimate,
    mcnemar,
    three_way,
)
from kgplatform.settings import LEVELS
from kgplatform.sparql.algebra import same_query
from kgplatform.text import id_of, language_of, read_json_lines
from kgplatform.types import Answer, Solutions, Term, Usage, Verdict

# A line is an object with ``id``, ``question`` and either ``answers`` (a list of scalars or rows) or ``gold_sparql``
# (run against the graph for the answers). Optional: ``lang``, ``type``, ``answer_labels`` and ``alt_answers`` (other
# answers that are right), ``answer_mode`` ("some": any part of the answers will do; "all", as without it).
_MODES: Final = (None, "all", "some")


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question and what is right: each of ``answers`` is a whole right answer; none: ask the graph ``query``."""

    id: str
    text: str
    language: str
    kind: str
    answers: tuple[tuple[object, ...], ...]
    query: str = ""
    any_will_do: bool = False


@dataclass(frozen=True, slots=True)
class GoldSet:
    """The usable questions of a file, and a sentence for each line that is not."""

    questions: tuple[GoldQuestion, ...]
    problems: tuple[str, ...] = ()


def read_gold(path: Path) -> GoldSet:
    """The gold questions of a file.

    Raises:
        ReadError: the file cannot be read, or none of its lines can be used; the message says why of the first.
    """
    found, problems = read_json_lines(path, _question, what="question", key=lambda question: question.id)
    return GoldSet(tuple(found), tuple(problems))


def _question(item: Mapping[str, Any], _number: int) -> GoldQuestion:
    text, query = item.get("question"), item.get("gold_sparql") or item.get("query") or ""
    if not isinstance(text, str) or not text.strip():
        raise ValueError("has no question")
    if not isinstance(query, str):
        raise ValueError("its query is not text")
    identity = id_of(item)
    for name in ("lang", "type", "answer_mode"):
        if item.get(name) is not None and not isinstance(item[name], str):
            raise ValueError(f"its {name} is not text")
    if item.get("answer_mode") not in _MODES:
        raise ValueError(f"its answer_mode {item['answer_mode']!r} is neither 'some' nor 'all'")
    answers = _answers(item)
    if not answers and not query:
        raise ValueError("has neither answers nor gold_sparql")
    return GoldQuestion(
        id=identity,
        text=text,
        language=item.get("lang") or language_of(text),
        kind=str(item.get("type") or "other"),
        answers=answers,
        query=query,
        any_will_do=item.get("answer_mode") == "some",
    )


def _answers(item: Mapping[str, object]) -> tuple[tuple[object, ...], ...]:
    found = [_list(item[key], key) for key in ("answers", "answer_labels") if item.get(key) is not None]
    others = item.get("alt_answers")
    found += [_list(other, "alt_answers") for other in ([] if others is None else _list(others, "alt_answers"))]
    return tuple(found)


def _list(value: object, key: str) -> tuple[object, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{key} is not a list")
    wrong = next((v for v in value if not isinstance(v, str | int | float | bool | list | dict | None)), None)
    if wrong is not None:
        raise ValueError(f"{key} holds {wrong!r}")
    return tuple(value)


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A gold question, the answer it got, and the scores; ``same_query`` is None where there is no gold query."""

    gold: GoldQuestion
    answer: Answer
    score: SetScore
    outcome: AnswerOutcome
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
            "confidence_level": answer.confidence_level,
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
            self.gold.language,
            self.score,
            self.outcome,
            self.same_query,
            answer.confidence if answered else None,
            answer.confidence_level if answered else "",
            answer.usage,
            self.problem,
        )


@dataclass(frozen=True, slots=True)
class ScoredQuestion:
    """What a report needs of a question that was asked; ``confidence`` is None, ``level`` empty without an answer."""

    id: str
    kind: str
    language: str
    score: SetScore
    outcome: AnswerOutcome
    same_query: bool | None
    confidence: float | None
    level: str
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
            answered = line["verdict"] == Verdict.ANSWERED.value
            return cls(
                str(line["id"]),
                str(line["type"]),
                str(line["lang"]),
                SetScore(*(float(line[name]) for name in ("exact", "precision", "recall", "f1"))),
                AnswerOutcome(line["outcome"]),
                None if line["same_query"] is None else bool(line["same_query"]),
                float(line["confidence"]) if answered else None,
                str(line["confidence_level"]) if answered else "",
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
class OutcomeShares:
    """How many of some questions were right, refused and wrong, and wrong at high confidence."""

    count: int
    right: int
    refused: int
    wrong: int
    wrong_at_high: int

    @classmethod
    def of(cls, asked: Iterable[ScoredQuestion]) -> OutcomeShares:
        """Those of the questions."""
        found = Counter((item.outcome, item.level == "high") for item in asked)
        by = {outcome: found[outcome, True] + found[outcome, False] for outcome in AnswerOutcome}
        right, refused, wrong = (by[o] for o in (AnswerOutcome.CORRECT, AnswerOutcome.MISSING, AnswerOutcome.WRONG))
        return cls(found.total(), right, refused, wrong, found[AnswerOutcome.WRONG, True])


@dataclass(frozen=True, slots=True)
class QuestionReport:
    """A run as a whole.

    ``exact`` is execution accuracy (EX), ``f1`` the mean set-F1, ``query_match`` the share of queries equal to the
    gold query by algebra (EM; None without gold queries), ``seconds`` the median and the 95th percentile.
    ``outcomes`` are those of ``all`` questions and of each language, ``levels`` the answers given at each level of
    confidence and how many of them were right.
    """

    exact: Estimate
    f1: Estimate
    query_match: Estimate | None
    three_way: ThreeWay
    outcomes: Mapping[str, OutcomeShares]
    levels: Mapping[str, tuple[int, int]]
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
            yield AskedQuestion(gold, answer, SetScore(0, 0, 0, 0), AnswerOutcome.WRONG, None, f"gold query: {error}")
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


def outcome(answer: Answer, score: SetScore) -> AnswerOutcome:
    """Correct where the answer is exactly right, missing where none was given, else wrong."""
    if score.exact:
        return AnswerOutcome.CORRECT
    return AnswerOutcome.MISSING if answer.verdict is not Verdict.ANSWERED else AnswerOutcome.WRONG


def report(asked: Sequence[ScoredQuestion], problems: Iterable[str] = ()) -> QuestionReport:
    """What the asked questions come to; ``problems`` are those of the file, to which the run's own are added."""
    exact = [item.score.exact for item in asked]
    matches = [float(item.same_query) for item in asked if item.same_query is not None]
    kinds: dict[str, list[ScoredQuestion]] = {}
    for item in asked:
        kinds.setdefault(item.kind, []).append(item)
    times = sorted(item.usage.seconds for item in asked)
    given = Counter(item.level for item in asked)
    right = Counter(item.level for item in asked if item.score.exact)
    sure = [(item.confidence, bool(item.score.exact)) for item in asked if item.confidence is not None]
    return QuestionReport(
        exact=estimate(exact),
        f1=estimate([item.score.f1 for item in asked]),
        query_match=estimate(matches) if matches else None,
        three_way=three_way([item.outcome for item in asked]),
        outcomes={
            "all": OutcomeShares.of(asked),
            **{
                language: OutcomeShares.of(item for item in asked if item.language == language)
                for language in sorted({item.language for item in asked})
            },
        },
        levels={level: (given[level], right[level]) for level in LEVELS},
        calibration=calibration([confidence for confidence, _ in sure], [ok for _, ok in sure]),
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


MEASURES = (
    *("exact", "f1", "accuracy", "recall", "precision", "held", "faithfulness", "relevancy"),
    *("context_precision", "context_recall", "first", "among_ten"),
)
"""What results carry, in the order of importance: the first that both runs have is compared question by question."""


@dataclass(frozen=True, slots=True)
class GoldResult:
    """One line of a run: its id, the question, and its numbers by name."""

    id: str
    text: str
    numbers: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Difference:
    """A measure in two runs over the questions both have: the mean of either and the paired comparison."""

    measure: str
    first: float
    second: float
    comparison: PairedComparison


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs compared; ``worse`` and ``better`` are the questions whose chief measure fell or rose.

    ``p_flips`` is McNemar's exact p of the chief measure where it is 0 or 1 throughout, else None.
    """

    measures: tuple[Difference, ...]
    worse: tuple[GoldResult, ...]
    better: tuple[GoldResult, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    problems: tuple[str, ...]
    p_flips: float | None = None


def read_run(path: Path) -> tuple[dict[str, GoldResult], tuple[str, ...]]:
    """The results of a run by id, as ``evaluate … --output`` writes them, and what could not be used of the file.

    Raises:
        ReadError: the file cannot be read, or holds no results.
    """
    found: dict[str, GoldResult] = {}
    lines, problems = read_json_lines(path, _result, what="result (as `kgplatform evaluate … --output FILE` writes it)")
    for item in lines:
        if found.setdefault(item.id, item) is not item:
            problems.append(f"the id {item.id!r} comes twice; the first counts")
    return found, tuple(problems)


def _result(item: Mapping[str, Any], _number: int) -> GoldResult:
    if not isinstance(item.get("id"), str):
        raise ValueError("a result is an object with an id")
    given = ((name, item.get(name)) for name in MEASURES)
    numbers = {name: float(value) for name, value in given if isinstance(value, int | float) and math.isfinite(value)}
    if not numbers:
        raise ValueError(f"none of {', '.join(MEASURES)} is there as a number")
    return GoldResult(item["id"], str(item.get("question", item.get("text", ""))), numbers)


def compare_runs(first: Mapping[str, GoldResult], second: Mapping[str, GoldResult]) -> RunComparison:
    """The second run against the first, over the questions that both have."""
    both = [name for name in first if name in second]
    measures = tuple(
        found for name in MEASURES if (found := _difference(name, [first[i] for i in both], [second[i] for i in both]))
    )
    chief = measures[0].measure if measures else ""
    moved = [
        (second[i], second[i].numbers[chief] - first[i].numbers[chief])
        for i in both
        if chief in first[i].numbers and chief in second[i].numbers
    ]
    return RunComparison(
        measures=measures,
        worse=tuple(item for item, change in moved if change < 0),
        better=tuple(item for item, change in moved if change > 0),
        only_first=tuple(name for name in first if name not in second),
        only_second=tuple(name for name in second if name not in first),
        problems=() if measures else ("the two runs have no question and measure in common",),
        p_flips=_flips(chief, [first[i] for i in both], [second[i] for i in both]),
    )


def _difference(name: str, first: Sequence[GoldResult], second: Sequence[GoldResult]) -> Difference | None:
    pairs = [
        (a.numbers[name], b.numbers[name])
        for a, b in zip(first, second, strict=True)
        if name in a.numbers and name in b.numbers
    ]
    if not pairs:
        return None
    before, after = [a for a, _ in pairs], [b for _, b in pairs]
    return Difference(name, sum(before) / len(pairs), sum(after) / len(pairs), compare(before, after))


def _flips(name: str, first: Sequence[GoldResult], second: Sequence[GoldResult]) -> float | None:
    pairs = [(a.numbers.get(name), b.numbers.get(name)) for a, b in zip(first, second, strict=True)]
    if not name or any(value not in (0.0, 1.0) for pair in pairs for value in pair):
        return None
    return mcnemar([a == 1.0 for a, _ in pairs], [b == 1.0 for _, b in pairs])
