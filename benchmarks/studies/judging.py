"""Answers judged by a model or a built-in estimate: one at a time, and two systems' against each other.

The measures of one answer are those of the travel study, equations 7 to 14 (the RAGAS measures); one that cannot be
taken is None with a problem that says why, and counts nowhere. Pairs are compared as in the evaluations of GraphRAG and
LightRAG; the order of the two alternates because judges favour a place, and how much they do is part of the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from kgplatform.errors import ModelError, ModelReplyError
from kgplatform.evaluation.metrics import Estimate, estimate
from kgplatform.models.json_replies import json_of, mismatch
from kgplatform.models.prompts import render_messages
from kgplatform.questions.answer_text import unsupported
from kgplatform.text import language_of, normalise, sentences, words
from kgplatform.types import ChatModel, Embedder


class Remembering:
    """An embedder that embeds each text once; ``languages`` are those of the one inside."""

    def __init__(self, embedder: Embedder) -> None:
        self.name = embedder.name
        self.languages: frozenset[str] = frozenset(getattr(embedder, "languages", None) or ())
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts, one row each."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._embedder.embed(new), strict=True))
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return np.stack([self._known[text] for text in texts])

    def likeness(self, text: str, others: Sequence[str]) -> list[float]:
        """How like each of the others is to the text, 0..1: cosine, or the share of its words where that is better.

        The share of words alone counts for languages that the embedding model does not know.
        """
        shares = [_shared(text, other) for other in others]
        if not others or (self.languages and language_of(text) not in self.languages):
            return shares
        cosines = self.embed([text, *others])
        return [max(0.0, float(cosines[0] @ vector)) for vector in cosines[1:]]


def _shared(text: str, other: str) -> float:
    """The share of the text's words that the other has."""
    wanted = set(words(normalise(text)))
    return len(wanted & set(words(normalise(other)))) / len(wanted) if wanted else 0.0


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
class JudgedAnswer:
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


def judged(item: Answered, judge: Judge) -> JudgedAnswer:
    """All measures of one answer; those that need a reference are left out where there is none."""
    problems: list[str] = []

    def taken(measure: str, take: Callable[[], float | None]) -> float | None:
        try:
            return take()
        except ModelError as error:
            problems.append(f"{measure}: {error}")
            return None

    reference = bool(item.reference)
    return JudgedAnswer(
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


def report(items: Sequence[JudgedAnswer]) -> JudgedReport:
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


Schema = Mapping[str, object]


def _closed(**properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "required": list(properties),
        "additionalProperties": False,
        "properties": properties,
    }


_TEXT: Final = {"type": "string"}
_FLAG: Final = {"type": "boolean"}
CLAIMS: Final = _closed(claims={"type": "array", "items": _closed(claim=_TEXT, supported=_FLAG)})
MADE_QUESTIONS: Final = _closed(questions={"type": "array", "items": _TEXT}, evasive=_FLAG)
USEFUL: Final = _closed(useful={"type": "array", "items": _FLAG})
FOUND: Final = _closed(found={"type": "array", "items": _FLAG})
RIGHT: Final = _closed(why=_TEXT, right=_FLAG)


class ModelJudge:
    """Judges by a model, with an embedding model for what is compared as meaning.

    A reply of the wrong shape, or with another number of verdicts than was asked for, is a `ModelReplyError`: it is
    reported and counted, not guessed at.
    """

    def __init__(self, model: ChatModel, embedder: Embedder) -> None:
        self.name = f"model {model.name}"
        self._model = model
        self._embedder = embedder

    def claims(self, item: Answered) -> Sequence[bool]:
        """See `Judge.claims`."""
        reply = self._asked(
            "judge-claims", CLAIMS, question=item.question, answer=item.answer, passages=list(item.passages)
        )
        return [claim["supported"] is True for claim in _objects(reply["claims"])]

    def relevancies(self, item: Answered) -> Sequence[float]:
        """See `Judge.relevancies`."""
        if not item.answer.strip():
            return ()
        reply = self._asked("judge-questions", MADE_QUESTIONS, answer=item.answer, count=QUESTIONS)
        made = [text for text in _values(reply["questions"]) if isinstance(text, str) and text.strip()][:QUESTIONS]
        if reply["evasive"] is True or not made:
            return ()
        vectors = self._embedder.embed([item.question, *made])
        return [float(vectors[0] @ vector) for vector in vectors[1:]]

    def useful(self, item: Answered) -> Sequence[bool]:
        """See `Judge.useful`."""
        reply = self._asked(
            "judge-passages",
            USEFUL,
            question=item.question,
            reference=item.reference,
            passages=list(item.passages),
        )
        return self._flags(reply["useful"], len(item.passages), "passages")

    def recalled(self, item: Answered) -> Sequence[bool]:
        """See `Judge.recalled`."""
        statements = statements_of(item.reference)
        reply = self._asked(
            "judge-recall", FOUND, question=item.question, statements=statements, passages=list(item.passages)
        )
        return self._flags(reply["found"], len(statements), "statements")

    def is_right(self, item: Answered) -> bool:
        """Whether the answer says what the reference says, in whatever words."""
        reply = self._asked("judge-answer", RIGHT, question=item.question, answer=item.answer, reference=item.reference)
        return reply["right"] is True

    def similarity(self, item: Answered) -> float:
        """See `Judge.similarity`: the cosine of the embeddings, none below 0."""
        if not item.answer.strip():
            return 0.0
        first, second = self._embedder.embed([item.answer, item.reference])
        return max(0.0, float(first @ second))

    def _flags(self, value: object, wanted: int, what: str) -> list[bool]:
        found = [flag is True for flag in _values(value)]
        if len(found) != wanted:
            message = f"{self._model.name} judged {len(found)} of {wanted} {what}"
            raise ModelReplyError(message, model=self._model.name, reply=str(value))
        return found

    def _asked(self, prompt: str, schema: Schema, **values: object) -> Mapping[str, object]:
        messages, _ = render_messages(prompt, folder=None, **values)
        reply = self._model.complete(messages, schema=schema).text
        found = json_of(reply, model=self._model.name)
        wrong = mismatch(found, schema)
        if wrong:
            message = f"{self._model.name} did not judge: {wrong}"
            raise ModelReplyError(message, model=self._model.name, reply=reply)
        return found


def statements_of(reference: str) -> list[str]:
    """The sentences of a reference answer."""
    return [reference[start:end] for start, end in sentences(reference)] or [reference]


def _values(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _objects(value: object) -> list[Mapping[str, object]]:
    return [item for item in _values(value) if isinstance(item, dict)]


_SHARED: Final = 0.6
"""So much of a sentence's words must stand in one passage for it to count as said there."""
_EVASIVE: Final = (
    "i don't know",
    "i do not know",
    "the graph does not say",
    "not enough information",
    "cannot answer",
    "不知道",
    "无法回答",
    "没有相关",
    "图中没有",
    "未提及",
)
_EMPTY: Final = frozenset(
    word
    for line in (
        "a an the of in on at to for and or is are was were be been it its this that these those with by from as",
        "which who what 的 了 是 在 和 与 有 也 就 都 而 及 着 或 一个 这 那 它 他 她",
    )
    for word in line.split()
)


class EstimatingJudge:
    """Judges without a model, by the words, names and numbers that texts share, and embeddings.

    It entails nothing and understands no negation: its numbers compare systems on the same questions roughly.
    """

    name = "built-in estimate"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._languages: frozenset[str] = frozenset(getattr(embedder, "languages", None) or ())

    def claims(self, item: Answered) -> Sequence[bool]:
        """A sentence is supported if no name or number of it is missing from the passages, and one has its words."""
        if _evades(item.answer):
            return ()
        parts = [item.answer[start:end] for start, end in sentences(item.answer)]
        return [self._said(part, item.passages, item.question) for part in parts if _content(part)]

    def relevancies(self, item: Answered) -> Sequence[float]:
        """The nearness of the question to the answer itself: no questions are made."""
        if not item.answer.strip() or _evades(item.answer):
            return ()
        return (self._near(item.question, item.answer),)

    def useful(self, item: Answered) -> Sequence[bool]:
        """A passage is useful if it holds the reference, or most words of one of its sentences."""
        parts = statements_of(item.reference)
        return [any(self._said(part, (passage,), "") for part in parts) for passage in item.passages]

    def recalled(self, item: Answered) -> Sequence[bool]:
        """A statement is found if a passage has its names, numbers and most of its words."""
        return [self._said(part, item.passages, item.question) for part in statements_of(item.reference)]

    def similarity(self, item: Answered) -> float:
        """The greater of the shared words (F1) and the cosine of the embeddings."""
        if not item.answer.strip():
            return 0.0
        return max(self._near(item.answer, item.reference), _overlap(item.answer, item.reference))

    def _near(self, one: str, other: str) -> float:
        """The cosine of two texts, none below 0; their shared words where the embedding model lacks a language."""
        if self._languages and not {language_of(one), language_of(other)} <= self._languages:
            return _overlap(one, other)
        first, second = self._embedder.embed([one, other])
        return max(0.0, float(first @ second))

    def _said(self, part: str, passages: Sequence[str], question: str) -> bool:
        if unsupported(part, (*passages, question)):
            return False
        wanted = _content(part) - _content(question)
        if not wanted:
            return bool(passages)
        return any(len(wanted & _content(passage)) / len(wanted) >= _SHARED for passage in passages)


def _content(text: str) -> frozenset[str]:
    return frozenset(word for word in words(normalise(text)) if word not in _EMPTY)


def _overlap(one: str, other: str) -> float:
    """Token F1 of two texts, words without meaning left aside."""
    first, second = _content(one), _content(other)
    shared = len(first & second)
    return 2 * shared / (len(first) + len(second)) if shared else 0.0


def _evades(answer: str) -> bool:
    return _has(answer.casefold(), _EVASIVE)


def _has(text: str, phrases: Iterable[str]) -> bool:
    return any(phrase in text for phrase in phrases)


CRITERIA: Final = ("comprehensiveness", "diversity", "empowerment", "overall")
TRIALS: Final = 3
_PLACES: Final = ("first", "second", "equal")
VERDICT: Final[dict[str, object]] = {
    "type": "object",
    "required": ["why", *CRITERIA],
    "additionalProperties": False,
    # the reason comes first: a verdict that follows from words is better than words that follow from a verdict
    "properties": {"why": {"type": "string"}, **{name: {"type": "string", "enum": list(_PLACES)} for name in CRITERIA}},
}


class Winner(StrEnum):
    """Which of two systems did better."""

    OURS = "ours"
    THEIRS = "theirs"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """A question with the answers of two systems."""

    id: str
    question: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """One judgement of one pair: the winner by criterion; ``ours_first`` is how the two were shown."""

    pair: str
    trial: int
    ours_first: bool
    winners: dict[str, Winner]


@dataclass(frozen=True, slots=True)
class WinRates:
    """The share of pairs that ours won by criterion (a tie counts half), and how the judge favours a place.

    ``first_favoured`` is the share of decided judgements that went to the answer shown first (0.5: no bias);
    ``consistent`` the share of pairs whose overall winner was the same in both orders.
    """

    rates: dict[str, Estimate]
    first_favoured: Estimate
    consistent: Estimate
    by: str
    verdicts: tuple[PairVerdict, ...]
    problems: tuple[str, ...]


class PairJudge(Protocol):
    """Compares two answers as they are shown."""

    name: str

    def compare(self, question: str, first: str, second: str) -> dict[str, str]:
        """``first``, ``second`` or ``equal`` for each criterion."""
        ...


class ModelPairJudge:
    """Compares by a model."""

    def __init__(self, model: ChatModel) -> None:
        self.name = f"model {model.name}"
        self._model = model

    def compare(self, question: str, first: str, second: str) -> dict[str, str]:
        """See `PairJudge.compare`.

        Raises:
            ModelError: the model is away, or its reply is no verdict.
        """
        messages, _ = render_messages("judge-pair", question=question, first=first, second=second)
        reply = self._model.complete(messages, schema=VERDICT).text
        found = json_of(reply, model=self._model.name)
        wrong = mismatch(found, VERDICT)
        if wrong:
            message = f"{self._model.name} did not compare: {wrong}"
            raise ModelReplyError(message, model=self._model.name, reply=reply)
        return {name: str(found[name]) for name in CRITERIA}


def compare_pairs(pairs: Sequence[AnswerPair], judge: PairJudge, *, trials: int = TRIALS) -> WinRates:
    """The win rates of ours over theirs; each trial shows every pair in both orders.

    A judgement that fails is a problem of the report and counts for neither.
    """
    verdicts: list[PairVerdict] = []
    problems: list[str] = []
    for trial in range(trials):
        for pair in pairs:
            for ours_first in (True, False):
                shown = (pair.ours, pair.theirs) if ours_first else (pair.theirs, pair.ours)
                try:
                    said = judge.compare(_asked(pair.question, trial), *shown)
                except ModelError as error:
                    problems.append(f"{pair.id}, trial {trial + 1}: {error}")
                    continue
                winners = {name: _winner(said[name], ours_first=ours_first) for name in CRITERIA}
                verdicts.append(PairVerdict(pair.id, trial, ours_first, winners))
    return WinRates(
        rates={name: estimate(_won(verdicts, name)) for name in CRITERIA},
        first_favoured=estimate(_favoured(verdicts)),
        consistent=estimate(_consistent(verdicts)),
        by=judge.name,
        verdicts=tuple(verdicts),
        problems=tuple(problems),
    )


def _asked(question: str, trial: int) -> str:
    """The question, told apart by trial: equal requests would be one reply of the cache."""
    return question if trial == 0 else f"{question}{' ' * trial}"


def _winner(place: str, *, ours_first: bool) -> Winner:
    if place == "equal":
        return Winner.NEITHER
    return Winner.OURS if (place == "first") == ours_first else Winner.THEIRS


_WORTH: Final = {Winner.OURS: 1.0, Winner.NEITHER: 0.5, Winner.THEIRS: 0.0}


def _won(verdicts: Sequence[PairVerdict], criterion: str) -> list[float]:
    """The worth of each pair: the mean over its trials and orders, so that pairs are what the interval draws."""
    by_pair: dict[str, list[float]] = {}
    for verdict in verdicts:
        by_pair.setdefault(verdict.pair, []).append(_WORTH[verdict.winners[criterion]])
    return [sum(values) / len(values) for values in by_pair.values()]


def _favoured(verdicts: Sequence[PairVerdict]) -> list[float]:
    decided = (verdict for verdict in verdicts if verdict.winners["overall"] is not Winner.NEITHER)
    return [float((verdict.winners["overall"] is Winner.OURS) == verdict.ours_first) for verdict in decided]


def _consistent(verdicts: Sequence[PairVerdict]) -> list[float]:
    shown: dict[tuple[str, int], list[Winner]] = {}
    for verdict in verdicts:
        shown.setdefault((verdict.pair, verdict.trial), []).append(verdict.winners["overall"])
    return [float(len(set(both)) == 1) for both in shown.values() if len(both) == 2]
