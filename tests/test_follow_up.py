"""Turns that edit the logical form of the turn before, on a graph of the question sets."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from benchmarks.dialogues import CONVERSATIONS, parts_of
from benchmarks.question_sets import EMBEDDER
from kgplatform.questions.dialogue.conversation import Talk, talk
from kgplatform.questions.dialogue.follow_up import FollowUps, SpokenOf, form_written, rivals, written_form
from kgplatform.questions.forms.logical_form import IsMore, Named
from kgplatform.questions.forms.question_text import read
from kgplatform.types import Verdict

pytestmark = pytest.mark.embedding


@pytest.fixture(scope="module")
def bakery():
    with parts_of("bakery") as parts:
        yield parts


def said(parts, *turns):
    """The answers to the turns of a conversation."""
    kept, answers = [], []
    for text in turns:
        found = talk(text, Talk(parts, turns=tuple(kept)))
        kept.append(found.turn)
        answers.append(found.answer)
    return answers


@pytest.mark.parametrize(
    ("turns", "values"),
    [
        (("How many seats does Old Oven Station have?", "And Keller Canal Lane?"), {"12"}),
        (("How many seats does Keller Canal Lane have?", "and what street is it on?"), {"Canal Lane"}),
        (("Which bread has the most energy?", "and the second?"), {"milk toast"}),
        (("红豆沙每公斤成本多少？", "莲蓉呢？", "由谁供应？"), {"老赵干货"}),
        (("桥头街有哪些门店？", "车站路呢？", "一共有几家？"), {"3"}),
    ],
)
def test_a_turn_takes_over_what_the_last_one_asked(bakery, turns, values):
    assert values <= set(said(bakery, *turns)[-1].values)


def test_a_set_is_restricted_turn_by_turn(bakery):
    turns = ("Which branches have more than 5 seats?", "More than 15?", "Which of these deliver?")
    first, second, third = (set(answer.values) for answer in said(bakery, *turns))
    assert first > second >= third > set()


def test_where_a_name_may_stand_in_two_places_both_are_told(bakery):
    forms = bakery.knowledge.forms
    toast, baguette = (min(read(name, "en", forms.names).anchors[0].items) for name in ("milk toast", "baguette"))
    weight = next(p for p in forms.graph.ordered if p.value.endswith("weight"))
    form = IsMore(weight, more=True, first=Named(frozenset((toast,))), second=Named(frozenset((baguette,))))
    follow_ups, asked = FollowUps(forms, EMBEDDER), read("And country sourdough?", "en", forms.names)
    assert len(rivals(follow_ups.edits(asked, SpokenOf(form), fragment=True), forms.graph)) == 2


def test_a_question_that_names_what_it_asks_for_stands_alone(bakery):
    turns = ("How many seats does Old Oven Station have?", "When was Little Wheat founded?")
    assert said(bakery, *turns)[-1].values == said(bakery, turns[-1])[-1].values


@pytest.mark.parametrize(
    "text", ["x" * 10_000, " " * 300 + "?", "and > } ; DROP ALL", "it 它 الماء 湖 \x00?", "and " * 500]
)
def test_odd_and_hostile_turns_get_a_verdict_and_change_nothing(bakery, text):
    before = len(bakery.dataset.store)
    answer = said(bakery, "How many seats does Old Oven Station have?", text)[-1]
    assert answer.verdict in set(Verdict)
    assert answer.usage.seconds < 20
    assert len(bakery.dataset.store) == before


def test_a_form_is_the_same_after_it_was_kept_and_what_is_none_is_told(bakery):
    forms = bakery.knowledge.forms
    for text in ("Which branches have more than 5 seats?", "How many breads are there?", "Is the baguette vegan?"):
        for reading in forms.readings(text, "en", EMBEDDER):
            assert form_written(written_form(reading.form, forms.graph), forms.graph) == reading.form
    for text in ("", "{", "[]", '{"Kind": []}', '{"Os": [1]}', '{"Listed": [{"": "x"}]}' * 2, "[" * 2_000):
        assert form_written(text, forms.graph) is None


def test_every_conversation_has_turns_with_queries():
    turns = [
        turn
        for path in CONVERSATIONS.glob("*.toml")
        for spoken in tomllib.loads(Path(path).read_text(encoding="utf-8"))["conversations"]
        for turn in spoken["turns"][1:]
    ]
    assert len(turns) >= 60
    assert all(len(turn) == 2 and "SELECT" in turn[1] for turn in turns)
