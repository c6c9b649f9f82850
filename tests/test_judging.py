"""Answers judged: the formulas by hand, a judge that replies nonsense, pairs shown in both orders, runs compared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgplatform.errors import ModelReplyError, ReadError
from kgplatform.evaluation.comparing import compare_runs, read_run
from kgplatform.evaluation.judging.by_model import ModelJudge
from kgplatform.evaluation.judging.estimating import EstimatingJudge
from kgplatform.evaluation.judging.measures import (
    Answered,
    context_precision,
    context_recall,
    faithfulness,
    judged,
    relevancy,
    report,
)
from kgplatform.evaluation.judging.pairs import CRITERIA, ModelPairJudge, Pair, compare_pairs
from kgplatform.evaluation.studies.answering import Produced
from kgplatform.evaluation.studies.asking import Item, right
from kgplatform.protocols import Message
from kgplatform.testing import HashEmbedder, ScriptedModel

ENGLISH = Answered(
    id="q1",
    question="When does the West Zone open and what does it cost?",
    answer="The West Zone opens at nine. A ticket costs 150 yuan.",
    passages=("The West Zone opens at nine in the morning.", "Boats leave from the East Gate."),
    reference="It opens at nine. The ticket costs 120 yuan.",
)
CHINESE = Answered(
    id="q2",
    question="西栅几点开放？",
    answer="西栅上午九点开放。",
    passages=("西栅景区上午九点开放，晚上十点关闭。", "东栅有许多老宅。"),
    reference="西栅上午九点开放。",
)


def test_measures_are_the_formulas_by_hand() -> None:
    assert faithfulness([True, True, False]) == pytest.approx(2 / 3)
    assert faithfulness([]) is None
    assert relevancy([0.5, 0.7]) == pytest.approx(0.6)
    assert relevancy([]) == 0
    assert context_precision([False, True, True]) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert context_precision([False, False]) == 0
    assert context_recall([True, False]) == 0.5
    assert context_recall([]) is None


@given(st.lists(st.booleans(), max_size=12))
def test_precision_is_never_above_one_and_best_with_the_useful_passages_first(useful: list[bool]) -> None:
    found = context_precision(useful)
    assert 0 <= found <= 1
    assert context_precision(sorted(useful, reverse=True)) >= found - 1e-12


def test_a_model_is_asked_for_each_measure_and_its_verdicts_are_counted() -> None:
    model = ScriptedModel(
        '{"claims": [{"claim": "opens at nine", "supported": true}, {"claim": "150 yuan", "supported": false}]}',
        '{"questions": ["When does the West Zone open and what does it cost?", "West Zone?", "x"], "evasive": false}',
        '{"useful": [true, false]}',
        '{"found": [true, false]}',
    )
    found = judged(ENGLISH, ModelJudge(model, HashEmbedder()))
    assert (found.faithfulness, found.context_precision, found.context_recall) == (0.5, 1.0, 0.5)
    assert found.relevancy is not None
    assert found.relevancy > 1 / 3
    assert found.by == "model scripted"
    assert found.problems == ()
    prompts = [conversation[-1].content for conversation in model.conversations]
    assert all("West Zone" in prompt for prompt in prompts)
    assert "1. It opens at nine." in prompts[3]


@pytest.mark.parametrize(
    "nonsense", ["I like both.", '{"useful": [true]}', '{"verdict": 7}', '{"found": "all of them"}', "[]"]
)
def test_a_judge_that_answers_nonsense_is_reported_and_counts_nowhere(nonsense: str) -> None:
    found = judged(CHINESE, ModelJudge(ScriptedModel(*[nonsense] * 12), HashEmbedder()))
    assert found.faithfulness is None
    assert found.context_recall is None
    assert len(found.problems) >= 3
    summary = report([found])
    assert summary.faithfulness.count == 0
    assert any("q2: faithfulness" in problem for problem in summary.problems)


def test_the_estimate_finds_what_the_passages_say_and_what_they_do_not() -> None:
    judge = EstimatingJudge(HashEmbedder())
    assert judge.claims(ENGLISH) == [True, False]
    assert judge.useful(ENGLISH) == [True, False]
    assert judge.recalled(ENGLISH) == [True, False]
    assert judge.claims(CHINESE) == [True]
    assert judge.useful(CHINESE) == [True, False]
    assert judge.recalled(CHINESE) == [True]
    assert judged(CHINESE, judge).right is True
    assert "estimate" in judged(CHINESE, judge).by


@pytest.mark.parametrize("answer", ["I don't know.", "图中没有相关内容，不知道。", ""])
def test_an_answer_that_evades_has_no_claims_and_no_relevancy(answer: str) -> None:
    found = judged(Answered("q", "When?", answer, ("It opens at nine.",), "At nine."), EstimatingJudge(HashEmbedder()))
    assert found.faithfulness is None
    assert found.relevancy == 0


def test_what_needs_a_reference_is_left_out_without_one() -> None:
    found = judged(Answered("q", "When?", "At nine.", ("At nine.",)), EstimatingJudge(HashEmbedder()))
    assert (found.context_precision, found.context_recall, found.right) == (None, None, None)
    assert report([found]).accuracy.count == 0


def test_an_answer_without_the_gold_values_is_right_if_the_model_says_so() -> None:
    item = Item("q", "What does it cost?", "en", "simple", ("150 yuan",))
    model = ScriptedModel('{"why": "the same", "right": true}', '{"why": "no", "right": false}', "Well.")
    judge = ModelJudge(model, HashEmbedder())
    assert right(item, Produced("It costs 150 yuan.", ()), judge) == (1.0, ())
    assert model.conversations == []
    assert right(item, Produced("A hundred and fifty.", ()), judge) == (1.0, ())
    assert right(item, Produced("120 yuan.", ()), judge) == (0.0, ())
    value, problems = right(item, Produced("Something.", ()), judge)
    assert value is None
    assert "right or wrong" in problems[0]
    assert right(item, Produced("Something.", ()), EstimatingJudge(HashEmbedder())) == (0.0, ())


class PlaceLover:
    """A judge that always favours the answer shown first."""

    name = "place lover"

    def compare(self, question: str, first: str, second: str) -> dict[str, str]:
        return dict.fromkeys(CRITERIA, "first")


class LengthLover:
    """A judge that prefers the longer answer wherever it is shown."""

    name = "length lover"

    def compare(self, question: str, first: str, second: str) -> dict[str, str]:
        place = "equal" if len(first) == len(second) else "first" if len(first) > len(second) else "second"
        return dict.fromkeys(CRITERIA, place)


def test_a_judge_that_favours_a_place_decides_nothing_and_is_found_out() -> None:
    found = compare_pairs([Pair("a", "?", "ours", "theirs"), Pair("b", "?", "x", "y")], PlaceLover())
    assert found.rates["overall"].value == 0.5
    assert found.first_favoured.value == 1.0
    assert found.consistent.value == 0.0
    assert len(found.verdicts) == 2 * 2 * 3


def test_win_rates_follow_the_answers_whatever_their_place() -> None:
    pairs = [Pair("a", "?", "long answer", "short"), Pair("b", "?", "x", "longer"), Pair("c", "?", "yy", "zz")]
    found = compare_pairs(pairs, LengthLover(), trials=1)
    assert found.rates["diversity"].value == pytest.approx((1 + 0 + 0.5) / 3)
    assert found.first_favoured.value == 0.5
    assert found.consistent.value == 1.0


def test_a_model_compares_in_both_orders_and_failures_are_counted() -> None:
    win = json.dumps(dict.fromkeys(CRITERIA, "first") | {"why": "more"})
    model = ScriptedModel(win, "no idea", otherwise=lambda messages: _better(messages))
    found = compare_pairs(
        [Pair("a", "What?", "OURS", "THEIRS"), Pair("b", "什么？", "OURS", "THEIRS")], ModelPairJudge(model)
    )
    assert len(found.verdicts) == 11
    assert len(found.problems) == 1
    assert found.rates["overall"].value == 1.0
    assert len({conversation[-1].content for conversation in model.conversations}) == 12


def _better(messages: Sequence[Message]) -> str:
    text = messages[-1].content
    place = "first" if text.index("OURS") < text.index("THEIRS") else "second"
    return json.dumps(dict.fromkeys(CRITERIA, place) | {"why": "ours"})


def _run(path: Path, rows: Sequence[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def test_two_runs_are_compared_over_the_questions_they_share(tmp_path: Path) -> None:
    first = _run(
        tmp_path / "a.jsonl",
        [{"id": f"q{n}", "question": f"问题 {n}", "exact": float(n % 2), "f1": n / 10} for n in range(8)],
    )
    second = _run(
        tmp_path / "b.jsonl",
        [{"id": f"q{n}", "question": f"问题 {n}", "exact": 1.0 if n < 7 else 0.0, "f1": n / 10} for n in range(1, 9)],
    )
    before, problems = read_run(first)
    after, _ = read_run(second)
    found = compare_runs(before, after)
    assert problems == ()
    exact = found.measures[0]
    assert (exact.measure, exact.first, exact.second, exact.comparison.count) == ("exact", 4 / 7, 6 / 7, 7)
    assert [item.id for item in found.better] == ["q2", "q4", "q6"]
    assert [(item.id, item.text) for item in found.worse] == [("q7", "问题 7")]
    assert (found.only_first, found.only_second) == (("q0",), ("q8",))
    assert found.p_flips == pytest.approx(0.625)


def test_a_run_with_bad_lines_says_so_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"id": "a", "exact": 1}\nnot json\n{"id": "a", "exact": 0}\n{"exact": 1}\n{"id": "b"}\n')
    found, problems = read_run(path)
    assert list(found) == ["a"]
    assert found["a"].numbers == {"exact": 1.0}
    assert len(problems) == 4


def test_runs_without_anything_in_common_are_said_to_have_nothing(tmp_path: Path) -> None:
    first, _ = read_run(_run(tmp_path / "a", [{"id": "a", "exact": 1}]))
    second, _ = read_run(_run(tmp_path / "b", [{"id": "b", "exact": 1}]))
    assert compare_runs(first, second).problems
    with pytest.raises(ReadError):
        read_run(_run(tmp_path / "c", []))


def test_a_reply_that_compares_nothing_is_an_error() -> None:
    with pytest.raises(ModelReplyError):
        ModelPairJudge(ScriptedModel('{"overall": "first"}')).compare("?", "a", "b")
