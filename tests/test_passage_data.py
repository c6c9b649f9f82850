"""The notes and questions of ``tests/data/passages``: whole, and with answers that stand in the notes word for word."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.passage_answers import questions
from kgplatform.questions.passages.extractive import MEASURES, SIGNS, WEIGHTS
from kgplatform.text import sentences

FOLDER = Path(__file__).parent / "data" / "passages"
HALVES = ("choose", "frozen")
HARD = ("hard-a", "hard-b", "hard-c", "hard-d")


def notes(half: str) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in (FOLDER / half / "notes").iterdir()}


@pytest.mark.parametrize("half", HALVES)
def test_every_answer_is_a_sentence_of_its_note(half: str) -> None:
    read, asked = notes(half), questions(half)
    for item in asked:
        for gold in item["gold"]:
            text = read[item["note"]]
            assert gold in [text[start:end] for start, end in sentences(text)], item["id"]
        assert item["note"] in read or not (item["note"] or item["gold"]), item["id"]
    assert len({item["id"] for item in asked}) == len({item["question"] for item in asked}) == len(asked)


@pytest.mark.parametrize("half", ["train", *HARD])
def test_other_answers_stand_in_their_notes_too(half: str) -> None:
    read, asked = notes(half), questions(half)
    for item in asked:
        assert all(gold in read[item["note"]] for gold in item["gold"]), item["id"]
    assert len({item["id"] for item in asked}) == len(asked)
    assert {item["lang"] for item in asked} == {"en", "zh"}


def test_there_are_enough_questions_of_both_languages_with_an_answer_and_without() -> None:
    asked: list[dict[str, Any]] = [item for half in HALVES for item in questions(half)]
    kinds = Counter((item["lang"], bool(item["gold"])) for item in asked)
    assert kinds[("en", True)] + kinds[("zh", True)] >= 120
    assert kinds[("zh", True)] * 2 >= kinds[("en", True)] // 2
    assert kinds[("en", False)] + kinds[("zh", False)] >= 40
    unseen = {name for half in ("frozen", *HARD) for name in notes(half)}
    assert not unseen & {*notes("choose"), *notes("train")}


def test_the_weights_that_ship_are_of_the_measures_that_are_taken() -> None:
    learnt = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    assert set(learnt) == {"meaning", "words"}
    for weights in learnt.values():
        assert set(weights["rank"]) == set(MEASURES)
        assert set(weights["sure"]) == {*SIGNS, "bias"}
        assert all(weights["sure"][name] >= 0 for name in SIGNS)  # what speaks for an answer never speaks against it
