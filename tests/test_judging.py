"""Answers judged: the formulas by hand, a judge that replies nonsense, pairs shown in both orders, runs compared."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.studies import judging as judges
from benchmarks.studies.academic import CoverageJudge
from benchmarks.studies.setting import Item, Produced, held, right
from kgplatform.evaluation.gold import compare_runs, read_run
from kgplatform.models.stubs import HashEmbedder, ScriptedModel

ENGLISH = judges.Answered(
    id="q1",
    question="When does the West Zone open and what does it cost?",
    answer="The West Zone opens at nine. A ticket costs 150 yuan.",
    passages=("The West Zone opens at nine in the morning.", "Boats leave from the East Gate."),
    reference="It opens at nine. The ticket costs 120 yuan.",
)
CHINESE = judges.Answered(
    id="q2",
    question="西栅几点开放？",
    answer="西栅上午九点开放。",
    passages=("西栅景区上午九点开放，晚上十点关闭。", "东栅有许多老宅。"),
    reference="西栅上午九点开放。",
)


def test_measures_are_the_formulas_by_hand():
    assert judges.faithfulness([True, True, False]) == pytest.approx(2 / 3)
    assert judges.faithfulness([]) is None
    assert judges.relevancy([0.5, 0.7]) == pytest.approx(0.6)
    assert judges.relevancy([]) == 0
    assert judges.context_precision([False, True, True]) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert judges.context_precision([False, False]) == 0
    assert judges.context_recall([True, False]) == 0.5
    assert judges.context_recall([]) is None


@given(st.lists(st.booleans(), max_size=12))
def test_precision_is_never_above_one_and_best_with_the_useful_passages_first(useful):
    found = judges.context_precision(useful)
    assert 0 <= found <= 1
    assert judges.context_precision(sorted(useful, reverse=True)) >= found - 1e-12


def test_a_model_is_asked_for_each_measure_and_its_verdicts_are_counted():
    model = ScriptedModel(
        '{"claims": [{"claim": "opens at nine", "supported": true}, {"claim": "150 yuan", "supported": false}]}',
        '{"questions": ["When does the West Zone open and what does it cost?", "West Zone?", "x"], "evasive": false}',
        '{"useful": [true, false]}',
        '{"found": [true, false]}',
    )
    found = judges.judged(ENGLISH, judges.ModelJudge(model, HashEmbedder()))
    assert (found.faithfulness, found.context_precision, found.context_recall) == (0.5, 1.0, 0.5)
    assert found.relevancy is not None
    assert found.relevancy > 1 / 3
    assert (found.by, found.problems) == ("model scripted", ())
    prompts = [conversation[-1].content for conversation in model.conversations]
    assert all("West Zone" in prompt for prompt in prompts)
    assert "1. It opens at nine." in prompts[3]


@pytest.mark.parametrize(
    "nonsense", ["I like both.", '{"useful": [true]}', '{"verdict": 7}', '{"found": "all of them"}', "[]"]
)
def test_a_judge_that_answers_nonsense_is_reported_and_counts_nowhere(nonsense):
    found = judges.judged(CHINESE, judges.ModelJudge(ScriptedModel(*[nonsense] * 12), HashEmbedder()))
    assert (found.faithfulness, found.context_recall) == (None, None)
    assert len(found.problems) >= 3
    summary = judges.report([found])
    assert summary.faithfulness.count == 0
    assert any("q2: faithfulness" in problem for problem in summary.problems)


def test_the_estimate_finds_what_the_passages_say_and_what_they_do_not():
    judge = judges.EstimatingJudge(HashEmbedder())
    found = {item.id: (judge.claims(item), judge.useful(item), judge.recalled(item)) for item in (ENGLISH, CHINESE)}
    assert found == {"q1": ([True, False],) * 3, "q2": ([True], [True, False], [True])}
    assert judges.judged(CHINESE, judge).right is True
    assert "estimate" in judges.judged(CHINESE, judge).by


@pytest.mark.parametrize("answer", ["I don't know.", "图中没有相关内容，不知道。", ""])
def test_an_answer_that_evades_has_no_claims_and_no_relevancy(answer):
    found = judges.judged(
        judges.Answered("q", "When?", answer, ("It opens at nine.",), "At nine."),
        judges.EstimatingJudge(HashEmbedder()),
    )
    assert (found.faithfulness, found.relevancy) == (None, 0)


def test_what_needs_a_reference_is_left_out_without_one():
    found = judges.judged(
        judges.Answered("q", "When?", "At nine.", ("At nine.",)), judges.EstimatingJudge(HashEmbedder())
    )
    assert (found.context_precision, found.context_recall, found.right) == (None, None, None)
    assert judges.report([found]).accuracy.count == 0


def test_an_answer_without_the_gold_values_is_right_if_the_model_says_so():
    item = Item("q", "What does it cost?", "en", "simple", ("150 yuan",))
    model = ScriptedModel('{"why": "the same", "right": true}', '{"why": "no", "right": false}', "Well.")
    judge = judges.ModelJudge(model, HashEmbedder())
    assert right(item, Produced("It costs 150 yuan.", ()), judge) == (1.0, ())
    assert model.conversations == []
    assert right(item, Produced("A hundred and fifty.", ()), judge) == (1.0, ())
    assert right(item, Produced("120 yuan.", ()), judge) == (0.0, ())
    value, problems = right(item, Produced("Something.", ()), judge)
    assert value is None
    assert "right or wrong" in problems[0]
    assert right(item, Produced("Something.", ()), judges.EstimatingJudge(HashEmbedder())) == (0.0, ())


class Preferring:
    """A judge that favours the answer shown first, or the longer one wherever it is shown."""

    name = "preferring"

    def __init__(self, by_length):
        self.by_length = by_length

    def compare(self, question, first, second):
        ahead = len(first) - len(second) if self.by_length else 1
        return dict.fromkeys(judges.CRITERIA, "equal" if not ahead else "first" if ahead > 0 else "second")


def test_win_rates_follow_the_answers_and_a_judge_that_favours_a_place_is_found_out():
    pairs = [("long answer", "short"), ("x", "longer"), ("yy", "zz")]
    pairs = [judges.AnswerPair(str(n), "?", *answers) for n, answers in enumerate(pairs)]
    found = judges.compare_pairs(pairs, Preferring(by_length=True), trials=1)
    assert found.rates["diversity"].value == pytest.approx((1 + 0 + 0.5) / 3)
    assert (found.first_favoured.value, found.consistent.value) == (0.5, 1.0)
    found = judges.compare_pairs(pairs, Preferring(by_length=False))
    assert (found.rates["overall"].value, found.first_favoured.value, found.consistent.value) == (0.5, 1.0, 0.0)
    assert len(found.verdicts) == 3 * 2 * 3


def test_a_model_compares_in_both_orders_and_failures_are_counted():
    def better(messages):
        text = messages[-1].content
        place = "first" if text.index("OURS") < text.index("THEIRS") else "second"
        return json.dumps(dict.fromkeys(judges.CRITERIA, place) | {"why": "ours"})

    win = json.dumps(dict.fromkeys(judges.CRITERIA, "first") | {"why": "more"})
    model = ScriptedModel(win, "no idea", otherwise=better)
    pairs = [judges.AnswerPair("a", "What?", "OURS", "THEIRS"), judges.AnswerPair("b", "什么？", "OURS", "THEIRS")]
    found = judges.compare_pairs(pairs, judges.ModelPairJudge(model))
    assert (len(found.verdicts), len(found.problems), found.rates["overall"].value) == (11, 1, 1.0)
    assert len({conversation[-1].content for conversation in model.conversations}) == 12


def test_two_runs_are_compared_over_the_questions_they_share(tmp_path):
    read = []
    for name, numbers, exact in (("a", range(8), lambda n: n % 2), ("b", range(1, 9), lambda n: n < 7)):
        rows = [{"id": f"q{n}", "question": f"问题 {n}", "exact": float(exact(n)), "f1": n / 10} for n in numbers]
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        read.append(read_run(tmp_path / name)[0])
    found = compare_runs(*read)
    exact = found.measures[0]
    assert (exact.measure, exact.first, exact.second, exact.comparison.count) == ("exact", 4 / 7, 6 / 7, 7)
    assert [item.id for item in found.better] == ["q2", "q4", "q6"]
    assert [(item.id, item.text) for item in found.worse] == [("q7", "问题 7")]
    assert (found.only_first, found.only_second, found.p_flips) == (("q0",), ("q8",), pytest.approx(0.625))
    assert compare_runs({}, read[0]).problems


def test_a_gold_value_is_held_only_where_it_stands_by_itself():
    item = Item("q", "?", "zh", "simple", ("17", "乌镇"))
    assert held(item, "乌镇有17间房。") == 1
    assert held(item, "乌镇建于1710年。") == 0.5
    assert held(Item("q", "?", "en", "simple"), "x") is None


def test_the_estimate_of_pairs_prefers_what_is_supported_and_says_the_same_in_both_orders():
    passages = ["Xizha opens at nine. Boats leave from the East Gate. Children under six pay nothing in Xizha."]
    good = "Xizha opens at nine. Children under six pay nothing in Xizha. Boats leave from the East Gate."
    bad = "Atlantis opens at eleven. Neptune sells tickets for 900 yuan."
    judge = CoverageJudge(judges.Remembering(HashEmbedder()), {good: passages, bad: passages})
    found = judges.compare_pairs(
        [judges.AnswerPair("1", "When does Xizha open, and who pays nothing?", good, bad)], judge, trials=1
    )
    assert (found.rates["comprehensiveness"].value, found.rates["overall"].value) == (1, 1)
    assert found.consistent.value == 1
    same = judges.compare_pairs([judges.AnswerPair("1", "When?", good, good)], judge, trials=1)
    assert all(rate.value == 0.5 for rate in same.rates.values())
