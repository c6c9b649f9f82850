"""Two systems' answers against each other: win rates by criterion, each pair shown in both orders, several trials.

The procedure is that of the GraphRAG and LightRAG evaluations (comprehensiveness, diversity, empowerment, overall); the
order of the two answers alternates because judges favour a place, and how much they do is part of the report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from kgplatform.errors import ModelError, ModelReplyError
from kgplatform.evaluation.statistics import Estimate, estimate
from kgplatform.models.structured import json_of, mismatch
from kgplatform.prompts import render_messages
from kgplatform.protocols import ChatModel

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
class Pair:
    """A question with the answers of two systems."""

    id: str
    question: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class Verdict:
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
    verdicts: tuple[Verdict, ...]
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


def compare_pairs(pairs: Sequence[Pair], judge: PairJudge, *, trials: int = TRIALS) -> WinRates:
    """The win rates of ours over theirs; each trial shows every pair in both orders.

    A judgement that fails is a problem of the report and counts for neither.
    """
    verdicts: list[Verdict] = []
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
                verdicts.append(Verdict(pair.id, trial, ours_first, winners))
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


def _won(verdicts: Sequence[Verdict], criterion: str) -> list[float]:
    """The worth of each pair: the mean over its trials and orders, so that pairs are what the interval draws."""
    by_pair: dict[str, list[float]] = {}
    for verdict in verdicts:
        by_pair.setdefault(verdict.pair, []).append(_WORTH[verdict.winners[criterion]])
    return [sum(values) / len(values) for values in by_pair.values()]


def _favoured(verdicts: Sequence[Verdict]) -> list[float]:
    decided = (verdict for verdict in verdicts if verdict.winners["overall"] is not Winner.NEITHER)
    return [float((verdict.winners["overall"] is Winner.OURS) == verdict.ours_first) for verdict in decided]


def _consistent(verdicts: Sequence[Verdict]) -> list[float]:
    shown: dict[tuple[str, int], list[Winner]] = {}
    for verdict in verdicts:
        shown.setdefault((verdict.pair, verdict.trial), []).append(verdict.winners["overall"])
    return [float(len(set(both)) == 1) for both in shown.values() if len(both) == 2]
