"""How often the first sentence shown answers a question that only passages can answer, and how often none is shown.

    python -m benchmarks.passage_answers [train|choose|frozen|hard-a|…|hard-d] [--failures] [--train]

The questions and notes are those of ``tests/data/passages``. ``--train`` learns from ``train`` and ``choose`` anew,
prints what that gives on notes left out, and writes what `kgplatform.questions.passages.extractive` reads:

- the *answering model*, adapters in a model of many languages, by a softmax over the nearest sentences by words
  and *none of these*;
- the weights that rank, by a softmax over the sentences found for a question, and a logistic regression that says how
  sure the first is. Their examples are measured by models that have not learnt from the note (cross-fitting in halves).

Examples are the questions and, as ones that nothing answers, the same questions with the answering sentence taken out
of the passages. It takes an hour on two cores with instructions for bfloat16, else two.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing import Pool
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import save_file
from sklearn.metrics import roc_auc_score
from torch import nn

from benchmarks.train_questions import Adapted
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.multilingual import MultilingualE5, e5_parts
from kgplatform.questions.passages import extractive
from kgplatform.questions.passages.extractive import (
    ANSWERING,
    MEASURES,
    SIGNS,
    WEIGHTS,
    AnsweringModel,
    RatedSentence,
    TextQuestion,
)
from kgplatform.types import Evidence
from kgplatform.workspace.question_settings import search

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "passages"
HALVES = ("train", "choose", "frozen", "hard-a", "hard-b", "hard-c", "hard-d")
PASSAGES = 8
"""As many passages are read as ``questions.passages`` says."""
_PENALTY, _STEPS, _PACE = 0.1, 1_500, 0.05
_PENALTY_OF_SURETY = 0.005
_DECLINED = {"words": 0.85, "meaning": 0.91}
"""The share of questions without an answer, on notes left out, that are below `QUOTED`; of harder ones by other writers
(``hard-a`` to ``hard-d``) .85 are in meaning, .80 of the Chinese ones."""
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


def found(half: str) -> list[Asked]:
    """The questions of a half with their passages."""
    with TemporaryDirectory() as folder, KnowledgeGraph.create(Path(folder) / "kg", ontology="travel") as kg:
        list(kg.add(FOLDER / half / "notes"))
        return [
            Asked(
                item["question"],
                item["lang"],
                item["note"],
                tuple(item["gold"]),
                tuple(search(kg.workspace, item["question"], PASSAGES, per_document=0)),
            )
            for item in questions(half)
        ]


# learning what question and sentence mean

_RANK, _EPOCHS, _RATE, _BATCH, _BESIDE = 16, 2, 1e-3, 4, 6
_GONE = 0.4
"""The share of questions that are also shown with their answer taken out."""


class _Nearness(nn.Module):
    """The model with adapters, and what tells whether its likeness is that of an answer."""

    def __init__(self) -> None:
        from transformers import BertConfig, BertModel

        super().__init__()
        parts, self.reader = e5_parts(), MultilingualE5()
        self.words, weights = parts.words, {name: torch.tensor(value) for name, value in parts.weights.items()}
        most, width = weights["embeddings.position_embeddings.weight"].shape
        wide = len(weights["encoder.layer.0.intermediate.dense.bias"])
        self.model = BertModel(
            BertConfig(
                vocab_size=1, hidden_size=width, num_hidden_layers=12, num_attention_heads=12, intermediate_size=wide,
                max_position_embeddings=most, attn_implementation="eager",
            ),
            add_pooling_layer=False,
        ).eval()  # fmt: skip
        self.model.load_state_dict(weights, strict=False)
        for parameter in self.model.parameters():
            parameter.requires_grad = False
        for layer in self.model.encoder.layer:
            own = layer.attention.self
            own.query, own.key, own.value = (Adapted(part, _RANK) for part in (own.query, own.key, own.value))
            for part in (layer.attention.output, layer.intermediate, layer.output):
                part.dense = Adapted(part.dense, _RANK)
        self.scales, self.shift = nn.Parameter(torch.tensor([8.0, 8.0])), nn.Parameter(torch.tensor(-6.0))
        self.middle = torch.zeros(width)

    def states(self, coded: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """The vectors of the tokens of each text."""
        rows = [torch.tensor(self.words[list(ids)]) for ids in coded]
        mask = nn.utils.rnn.pad_sequence([torch.ones(len(ids)) for ids in coded], batch_first=True)
        padded = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        with torch.autocast("cpu", torch.bfloat16):
            found = self.model(inputs_embeds=padded, attention_mask=mask).last_hidden_state
        return [own[: len(ids)].float() - self.middle for own, ids in zip(found, coded, strict=True)]

    def forward(self, coded: Sequence[tuple[list[int], int]]) -> torch.Tensor:
        """How well each of the sentences answers the question before them, in log odds, as `AnsweringModel` does."""
        asked, *read = self.states([ids for ids, _ in coded])
        whole, parts = nn.functional.normalize(asked.mean(0), dim=0), nn.functional.normalize(asked[1:-1], dim=1)
        scores = []
        for states, (_, start) in zip(read, coded[1:], strict=True):
            own = states[start:].mean(0) + extractive.BESIDE * states[:start].mean(0)
            best = (parts @ nn.functional.normalize(states[start:], dim=1).T).max(1).values.mean()
            near = torch.stack([whole @ nn.functional.normalize(own, dim=0), best])
            scores.append(self.scales @ near + self.shift)
        return torch.stack(scores)

    def learnt(self) -> dict[str, NDArray[Any]]:
        """What `AnsweringModel` reads."""
        made: dict[str, NDArray[Any]] = {"middle": self.middle.numpy().astype(np.float16)}
        for name, module in self.model.named_modules():
            if isinstance(module, Adapted):
                made |= {f"{name}.{side}": values for side, values in module.learnt().items()}
        return made


_Example = tuple[list[tuple[list[int], int]], list[bool]]
"""A question and sentences as numbers of tokens, and which of the sentences answer."""


def _examples(asked: Sequence[Asked], reader: MultilingualE5) -> list[_Example]:
    chance, made = random.Random(0), []
    for item in [*asked, *(_without(it) for it in asked if it.gold and chance.random() < _GONE)]:
        ranked = extractive.rated(extractive.wanted(item.question), item.passages, None)
        some = ranked[:_BESIDE]
        if item.gold and not any(item.holds(it.text) for it in some):
            some = [*some[:-1], *[it for it in ranked if item.holds(it.text)][:1]]
        coded = [extractive.item_ids(reader, extractive.before(it), it.text) for it in some]
        if coded:
            right = [item.holds(it.text) for it in some]
            made.append(([(extractive.asked_ids(reader, item.question), 0), *coded], right))
    return made


def _taught(asked: Sequence[Asked], name: str) -> dict[str, NDArray[Any]]:
    """The answering model, learnt from those questions."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, chance = _Nearness(), random.Random(0)
    examples = _examples(asked, model.reader)
    with torch.no_grad():
        some = [states for coded, _ in examples[:80] for states in model.states([ids for ids, _ in coded])]
        model.middle = torch.cat(some).mean(0)
    learnt = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(learnt, lr=_RATE, weight_decay=0.01)
    steps, step = _EPOCHS * math.ceil(len(examples) / _BATCH), 0
    for epoch in range(_EPOCHS):
        chance.shuffle(examples)
        total = 0.0
        for start in range(0, len(examples), _BATCH):
            for group in optimiser.param_groups:
                group["lr"] = _RATE * min(1.0, step / 30) * (1 - step / steps)
            step += 1
            batch = examples[start : start + _BATCH]
            loss = torch.stack([_loss(model(coded), right) for coded, right in batch]).mean()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(learnt, 1.0)
            optimiser.step()
            total += float(loss.detach()) * len(batch)
        print(f"answering model {name}, epoch {epoch + 1}: loss {total / len(examples):.3f}", flush=True)
    return model.learnt()


def _loss(scores: torch.Tensor, right: Sequence[bool]) -> torch.Tensor:
    """By the chance of the sentences that answer, or of none."""
    scored = torch.cat([scores, torch.zeros(1)])
    chosen = torch.tensor([*right, not any(right)])
    return torch.logsumexp(scored, 0) - torch.logsumexp(scored[chosen], 0)


def _written(job: tuple[Sequence[Asked], str, Path]) -> Path:
    asked, name, path = job
    save_file(_taught(asked, name), path)
    return path


# learning what counts

_Case = tuple[Asked, TextQuestion, list[RatedSentence]]


def _measured(asked: Sequence[Asked], models: Mapping[str, AnsweringModel | None]) -> Iterator[_Case]:
    """``models``: by the note a question is on, one that has not learnt from it."""
    for item in asked:
        question = extractive.wanted(item.question)
        read = list(extractive.candidates(item.passages))
        yield item, question, extractive.measured(question, item.passages, read, models[item.note])


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
    languages: tuple[str, ...]


def _folds(cases: Sequence[_Case], removed: Sequence[_Case]) -> list[_Fold]:
    folds = []
    notes = sorted({case[0].note for case in cases})
    for out in (notes[number::_FOLDS] for number in range(_FOLDS)):
        rank = _ranking([case for case in cases if case[0].note not in out])
        own = [case for case in cases if case[0].note in out and case[2]]
        gone = [case for case in removed if case[0].note in out and case[2]]
        rows, right = _signs([*own, *gone], rank)
        asked = [case[0] for case in (*own, *gone)]
        answerable = np.array([bool(item.gold) for item in asked])
        weight = np.array([1.0] * len(own) + [_REMOVED] * len(gone))
        folds.append(_Fold(rows, right, answerable, weight, tuple(item.language for item in asked)))
    return folds


def _learnt(folds: Sequence[_Fold], declined: float) -> dict[str, float]:
    """How sure the first sentence is; `QUOTED` is where as many are declined as should be."""
    rows, right, weight = (np.concatenate([getattr(it, name) for it in folds]) for name in ("signs", "right", "weight"))
    learnt = _surety(rows, right, weight)
    unanswered = [total for total, _, answerable, _ in _left_out(folds) if not answerable]
    return learnt | {"bias": round(learnt["bias"] - float(np.quantile(unanswered, declined)), 4)}


def _left_out(folds: Sequence[_Fold]) -> list[tuple[float, bool, bool, str]]:
    """For each question as people ask it: how sure its first sentence is, in log odds; if it, and any, answers."""
    found: list[tuple[float, bool, bool, str]] = []
    for fold in folds:
        others = [other for other in folds if other is not fold]
        parts = (np.concatenate([getattr(it, name) for it in others]) for name in ("signs", "right", "weight"))
        sure = _surety(*parts)
        each = zip(fold.signs, fold.right, fold.answerable, fold.weight, fold.languages, strict=True)
        for row, right, answerable, weight, language in each:
            total = sure["bias"] + sum(sure[name] * value for name, value in zip(SIGNS, row, strict=True))
            if weight == 1.0:
                found.append((total, bool(right), bool(answerable), language))
    return found


def _crossed(folds: Sequence[_Fold], language: str) -> None:
    """Prints what is shown and declined on notes left out, by the least confidence; for one language, or all."""
    told = [it for it in _left_out(folds) if language in ("", it[3])]
    found = [(1 / (1 + math.exp(-total)), right, answerable) for total, right, answerable, _ in told]
    known = sum(answerable for _, _, answerable in found)
    ranks = roc_auc_score([right for _, right, _ in found], [sure for sure, _, _ in found])
    print(f"{language or 'both'}: first {sum(right for _, right, _ in found) / known:.3f} of {known}; AUC {ranks:.3f}")
    for least in np.arange(0.2, 0.8, 0.05):
        shown = sum(right for sure, right, _ in found if sure >= least) / known
        wrong = sum(answerable and not right for sure, right, answerable in found if sure >= least) / known
        declined = np.mean([sure < least for sure, _, answerable in found if not answerable])
        print(f"  from {least:.2f} on: shown, right {shown:.3f}, wrong {wrong:.3f}; declined {declined:.3f}")


def train() -> None:
    """Learns from the halves ``train`` and ``choose`` and writes what is read."""
    asked = [item for half in ("train", "choose") for item in found(half)]
    notes = sorted({item.note for item in asked})
    parts = [[item for item in asked if item.note in notes[first::2]] for first in (0, 1)]
    with TemporaryDirectory() as folder, Pool(2) as pool:
        files = [Path(folder) / name for name in ("even", "odd")]
        jobs = [(asked, "whole", ANSWERING), *zip(parts, ("even", "odd"), files, strict=True)]
        _, even, odd = (AnsweringModel(path) for path in pool.map(_written, jobs, chunksize=1))
        own = {note: odd if place % 2 == 0 else even for place, note in enumerate(notes)}
        _learn_weights(asked, {"words": dict.fromkeys(own), "meaning": own})


def _learn_weights(asked: Sequence[Asked], models: Mapping[str, Mapping[str, AnsweringModel | None]]) -> None:
    """Learns and writes the weights, first those of words, which say what is compared in meaning."""
    learnt = {}
    for by, own in models.items():
        cases = list(_measured(asked, own))
        removed = list(_measured([_without(item) for item in asked if item.gold], own))
        folds = _folds(cases, removed)
        learnt[by] = {"rank": _ranking(cases), "sure": _learnt(folds, _DECLINED[by])}
        print(by)
        for language in ("en", "zh", ""):
            _crossed(folds, language)
        WEIGHTS.write_text(json.dumps(learnt, indent=2) + "\n", encoding="utf-8")
        extractive.weights.cache_clear()


# measuring


def measure(half: str, *, failures: bool = False) -> None:
    """Prints the table of a half."""
    model = extractive.answering_model()
    said = [(item, extractive.extracted(item.question, item.passages, model=model)) for item in found(half)]
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
    parser.add_argument("half", nargs="?", choices=HALVES, default="frozen")
    parser.add_argument("--failures", action="store_true", help="name the questions that go wrong")
    parser.add_argument("--train", action="store_true", help="learn the weights from train and choose")
    given = parser.parse_args()
    if given.train:
        train()
    measure(given.half, failures=given.failures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
