"""How often the first sentence shown answers a question that only passages can answer, and how often none is shown.

    python -m benchmarks.passage_answers [train|choose|frozen] [--failures] [--train]

The questions and notes are those of ``tests/data/passages``. ``--train`` learns the weights of
`kgplatform.questions.passages.extractive` from the sets ``train`` and ``choose`` anew, prints what they give on notes
left out, and writes them. The weights that rank are those of a softmax over the sentences found for a question; how
sure the first is says a logistic regression, whose examples are the questions and, as ones that nothing answers, the
same questions with the answering sentence taken out of the passages.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgplatform.graph import KnowledgeGraph
from kgplatform.questions.passages import extractive
from kgplatform.questions.passages.extractive import MEASURES, SIGNS, WEIGHTS, RatedSentence, TextQuestion
from kgplatform.types import Embedder, Evidence
from kgplatform.workspace.question_settings import search

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "passages"
PASSAGES = 8
"""As many passages are read as ``questions.passages`` says."""
_PENALTY, _STEPS, _PACE = 0.1, 1_500, 0.05
_PENALTY_OF_SURETY = 0.005
_DECLINED = 0.85
"""The share of questions without an answer, on notes left out, that are below `QUOTED`."""
_FOLDS = 8
_REMOVED = 0.5
"""What a question counts whose answer was taken out, beside one as people ask it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a set with the passages that were found for it; without ``gold`` no note answers it."""

    question: str
    language: str
    note: str
    gold: tuple[str, ...]
    passages: tuple[Evidence, ...]

    def holds(self, text: str) -> bool:
        """True if a sentence is one that answers, or a part of it."""
        return any(gold in text or text in gold for gold in self.gold)


def questions(half: str) -> list[dict[str, Any]]:
    """The questions of a half, as they are written down."""
    return [json.loads(line) for line in (FOLDER / half / "questions.jsonl").read_text(encoding="utf-8").splitlines()]


def found(half: str) -> tuple[list[Asked], Embedder | None]:
    """The questions of a half with their passages, and the embedder of the workspace that found them."""
    with TemporaryDirectory() as folder, KnowledgeGraph.create(Path(folder) / "kg", ontology="travel") as kg:
        list(kg.add(FOLDER / half / "notes"))
        asked = [
            Asked(
                item["question"],
                item["lang"],
                item["note"],
                tuple(item["gold"]),
                tuple(search(kg.workspace, item["question"], PASSAGES, per_document=0)),
            )
            for item in questions(half)
        ]
        return asked, kg.workspace.embedder


# learning

_Case = tuple[Asked, TextQuestion, list[RatedSentence]]


def _measured(asked: Sequence[Asked], embedder: Embedder | None) -> Iterator[_Case]:
    for item in asked:
        question = extractive.wanted(item.question)
        read = list(extractive.candidates(item.passages))
        yield item, question, extractive.measured(question, item.passages, read, embedder)


def _without(asked: Asked) -> Asked:
    """The question with its answer taken out of the passages."""
    passages = list(asked.passages)
    for gold in asked.gold:
        passages = [replace(item, quote=item.quote.replace(gold, " " * len(gold))) for item in passages]
    return replace(asked, gold=(), passages=tuple(passages))


def _ranking(cases: Sequence[_Case]) -> dict[str, float]:
    """The weights under which the answering sentences come first, by gradient descent on the softmax's loss."""
    rows = np.vstack([[item.measures for item in read] for _, _, read in cases if read])
    spread = rows.std(axis=0)
    scale = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1), 0.0)
    sets = []
    for asked, _, read in cases:
        right = np.array([asked.holds(item.text) for item in read], dtype=float)
        if right.any():
            sets.append((np.array([item.measures for item in read]) * scale, right / right.sum()))
    weights = np.zeros(len(MEASURES))
    speed = np.zeros(len(MEASURES))
    for _ in range(_STEPS):
        slope = _PENALTY * weights
        for measures, right in sets:
            slope += measures.T @ (_softmax(measures @ weights) - right) / len(sets)
        speed = 0.9 * speed + slope
        weights -= _PACE * speed
    return {name: round(float(value), 4) for name, value in zip(MEASURES, weights * scale, strict=True)}


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    found = np.exp(scores - scores.max())
    return np.asarray(found / found.sum())


def _scored(case: _Case, weight: dict[str, float]) -> list[RatedSentence]:
    scored = [
        replace(item, score=sum(weight[name] * value for name, value in zip(MEASURES, item.measures, strict=True)))
        for item in case[2]
    ]
    return sorted(scored, key=lambda item: -item.score)


def _signs(cases: Sequence[_Case], rank: dict[str, float]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The signs of each question's first sentence, and whether it answers."""
    first = [(case, _scored(case, rank)) for case in cases if case[2]]
    rows = np.array([extractive.signs(case[1], ranked, case[0].passages) for case, ranked in first])
    return rows, np.array([case[0].holds(ranked[0].text) for case, ranked in first])


def _surety(rows: NDArray[np.float64], right: NDArray[np.bool_], weight: NDArray[np.float64]) -> dict[str, float]:
    """Weights of a logistic regression, none below 0: what speaks for an answer never speaks against it."""
    spread = np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1.0)
    middle = rows.mean(axis=0)
    scaled = np.hstack([(rows - middle) / spread, np.ones((len(rows), 1))])
    weights = np.zeros(scaled.shape[1])
    share = weight / weight.sum()
    for _ in range(_STEPS):
        found = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ ((found - right) * share)
        slope[:-1] += _PENALTY_OF_SURETY * weights[:-1]
        weights -= 0.5 * slope
        weights[:-1] = np.maximum(weights[:-1], 0)
    learnt = weights[:-1] / spread
    bias = float(weights[-1] - learnt @ middle)
    return {name: round(float(value), 4) for name, value in zip(SIGNS, learnt, strict=True)} | {"bias": round(bias, 4)}


@dataclass(frozen=True, slots=True)
class _Fold:
    """The first sentences for questions of a note that the ranking had not seen, also with their answers taken out."""

    signs: NDArray[np.float64]
    right: NDArray[np.bool_]
    answerable: NDArray[np.bool_]
    weight: NDArray[np.float64]


def _folds(cases: Sequence[_Case], removed: Sequence[_Case]) -> list[_Fold]:
    folds = []
    notes = sorted({case[0].note for case in cases})
    for out in (notes[number::_FOLDS] for number in range(_FOLDS)):
        rank = _ranking([case for case in cases if case[0].note not in out])
        own = [case for case in cases if case[0].note in out and case[2]]
        gone = [case for case in removed if case[0].note in out and case[2]]
        rows, right = _signs([*own, *gone], rank)
        answerable = np.array([bool(case[0].gold) for case in (*own, *gone)])
        folds.append(_Fold(rows, right, answerable, np.array([1.0] * len(own) + [_REMOVED] * len(gone))))
    return folds


def _learnt(folds: Sequence[_Fold]) -> dict[str, float]:
    """How sure the first sentence is; `QUOTED` is where as many are declined as should be."""
    rows, right, weight = (np.concatenate([getattr(it, name) for it in folds]) for name in ("signs", "right", "weight"))
    learnt = _surety(rows, right, weight)
    unanswered = [total for total, _, answerable in _left_out(folds) if not answerable]
    return learnt | {"bias": round(learnt["bias"] - float(np.quantile(unanswered, _DECLINED)), 4)}


def _left_out(folds: Sequence[_Fold]) -> list[tuple[float, bool, bool]]:
    """For each question as people ask it how sure its first sentence is, in log odds, and if it and any answer."""
    found: list[tuple[float, bool, bool]] = []
    for fold in folds:
        others = [other for other in folds if other is not fold]
        parts = (np.concatenate([getattr(it, name) for it in others]) for name in ("signs", "right", "weight"))
        sure = _surety(*parts)
        for row, right, answerable, weight in zip(fold.signs, fold.right, fold.answerable, fold.weight, strict=True):
            total = sure["bias"] + sum(sure[name] * value for name, value in zip(SIGNS, row, strict=True))
            if weight == 1.0:
                found.append((total, bool(right), bool(answerable)))
    return found


def _crossed(folds: Sequence[_Fold]) -> None:
    """Prints what is shown and declined on notes left out, by the least confidence."""
    found = [(1 / (1 + math.exp(-total)), right, answerable) for total, right, answerable in _left_out(folds)]
    known = sum(answerable for _, _, answerable in found)
    print(f"on notes left out: first {sum(right for _, right, _ in found) / known:.3f} of {known}")
    for least in np.arange(0.2, 0.8, 0.05):
        shown = sum(right for sure, right, _ in found if sure >= least) / known
        declined = np.mean([sure < least for sure, _, answerable in found if not answerable])
        print(f"  from {least:.2f} on: shown, right {shown:.3f}; declined {declined:.3f}")


def train() -> None:
    """Learns the weights from the halves ``train`` and ``choose`` and writes them."""
    told = [(item, embedder) for half in ("train", "choose") for asked, embedder in [found(half)] for item in asked]
    learnt = {}
    for by, language in (("words", ""), ("meaning", "en"), ("glosses", "zh")):  # words say which are compared further
        chosen = [(item, embedder if language else None) for item, embedder in told if language in ("", item.language)]
        cases = [case for item, embedder in chosen for case in _measured([item], embedder)]
        removed = [case for item, embedder in chosen if item.gold for case in _measured([_without(item)], embedder)]
        folds = _folds(cases, removed)
        learnt[by] = {"rank": _ranking(cases), "sure": _learnt(folds)}
        print(by)
        _crossed(folds)
        WEIGHTS.write_text(json.dumps(learnt, indent=2) + "\n", encoding="utf-8")
        extractive.weights.cache_clear()


# measuring


def measure(half: str, *, failures: bool = False) -> None:
    """Prints the table of a half."""
    asked, embedder = found(half)
    said = [(item, extractive.extracted(item.question, item.passages, embedder=embedder)) for item in asked]
    print("questions  answerable  first  shown, right  shown, wrong  without answer  declined")
    for language in ("en", "zh", ""):
        own = [(item, answer) for item, answer in said if language in ("", item.language)]
        known = [(item, answer) for item, answer in own if item.gold]
        none = [answer for item, answer in own if not item.gold]
        first = [item.holds(_first(answer)) for item, answer in known]
        shown = [answer.confidence >= extractive.QUOTED for _, answer in known]
        numbers = (np.mean(first), np.mean(np.logical_and(first, shown)), np.mean(np.greater(shown, first)))
        declined = np.mean([answer.confidence < extractive.QUOTED for answer in none])
        print(
            f"{language or 'both':9}  {len(known):10}  {numbers[0]:5.3f}  {numbers[1]:12.3f}  {numbers[2]:12.3f}  "
            f"{len(none):14}  {declined:8.3f}"
        )
    for low, high in ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.75), (0.75, 1.01)):
        right = [item.holds(_first(answer)) for item, answer in said if low <= answer.confidence < high]
        share = f"{np.mean(right):.3f}" if right else "-"
        print(f"confidence {low:.2f} to {min(high, 1.0):.2f}: {share} of {len(right)} first sentences answer")
    for item, answer in said if failures else ():
        right_one = item.holds(_first(answer)) if item.gold else answer.confidence < extractive.QUOTED
        if not right_one:
            gold = item.gold[0] if item.gold else "-"
            print(f"{answer.confidence:.2f} {item.question} | {_first(answer)[:100]} | {gold}")


def _first(answer: extractive.PassageAnswer) -> str:
    return " ".join(answer.evidence[0].quote.split()) if answer.evidence else "\0"


def main() -> int:
    """Trains or measures, as asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("half", nargs="?", choices=("train", "choose", "frozen"), default="frozen")
    parser.add_argument("--failures", action="store_true", help="name the questions that go wrong")
    parser.add_argument("--train", action="store_true", help="learn the weights from train and choose")
    given = parser.parse_args()
    if given.train:
        train()
    measure(given.half, failures=given.failures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
