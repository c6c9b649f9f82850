"""Every study with what a model wrote, offline: the replies are recorded, and `recorded` says how to record them anew.

The numbers are few questions on four notes: they say that the machinery works as it did, and nothing of how well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from recorded import COUNTS, HOW, RecordedModel, everything, key_of

from kgplatform.evaluation.metrics import AnswerOutcome as Verdict
from kgplatform.evaluation.metrics import Estimate
from kgplatform.models import prompts

pytestmark = pytest.mark.slow


@dataclass
class Recorded:
    """The model, and what the studies made of its replies."""

    model: RecordedModel
    results: dict[str, Any]

    def of(self, study):
        report, outcomes = self.results[study]
        assert not report.problems, f"{report.problems[0]}; if prompts or passages changed, record anew: {HOW}"
        return report, outcomes


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    model = RecordedModel()
    return Recorded(model, dict(everything(model, tmp_path_factory.mktemp("recorded"))))


def values(report, table, *columns):
    """The means of some columns of a table, by system; published rows left out."""
    found = next(item for item in report.tables if item.id == table)
    places = [found.columns.index(column) for column in columns]
    rows = ((row.system, [row.values[place] for place in places]) for row in found.rows if not row.published)
    return {
        system: tuple(round(v.value, 3) if isinstance(v, Estimate) else None for v in cells) for system, cells in rows
    }


def test_all_replies_are_recorded_and_needed(recorded):
    assert not recorded.model.missing, f"{len(recorded.model.missing)} replies are not recorded; {HOW}"
    assert recorded.model.used.keys() == recorded.model.known.keys(), f"some are no longer needed; {HOW}"


def test_instructions_are_those_that_were_answered(recorded):
    """Better words in a prompt do not make the numbers wrong, but nobody has answered these words yet."""
    if recorded.model.changed:
        some = "; ".join(list(recorded.model.changed.values())[:3])
        pytest.skip(f"instructions changed since the replies were recorded, such as those for {some}; {HOW} --anew")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_translation_is_found_by_its_question_whatever_the_schema(language):
    def key(question, schema):
        shown = {"schema": schema, "linked": [], "examples": [], "candidates": []}
        messages, _ = prompts.render_messages("translate-question", question=question, language=language, **shown)
        return key_of(messages, None)

    assert key("Who?", "class a:Town") == key("Who?", "class a:Town: 3 things") != key("Where?", "class a:Town")


def test_travel_is_asked_answered_and_judged_by_the_model(recorded):
    report, outcomes = recorded.of("travel")
    assert (report.questions, report.method, report.judge) == (COUNTS["travel"], "recorded", "model recorded")
    assert {(item.kind, item.language) for item in outcomes} == {
        (kind, language)
        for kind in ("simple", "multi-context", "reasoning", "conditional")
        for language in ("en", "zh")
    }
    columns = ("faithfulness", "context precision", "context recall")
    assert values(report, "metrics", *columns) == {
        "traditional, BM25": (1.0, 0.708, 0.75),
        "traditional, dense": (1.0, 0.66, 0.625),
        "travel framework": (1.0, 0.189, 0.875),
        "ask (graph query)": (0.833, 0.676, 0.75),
    }
    assert values(report, "accuracy", "gold values said", "right, as judged") == {
        "traditional, BM25": (0.5, 0.75),
        "traditional, dense": (0.375, 0.625),
        "travel framework": (0.75, 0.875),
        "ask (graph query)": (0.25, 0.375),
    }
    evading = [item for item in outcomes if item.answer in ("I don't know.", "我不知道。")]
    assert evading
    assert all(item.numbers["faithfulness"] is None and item.numbers["relevancy"] == 0 for item in evading)


def test_academic_is_judged_in_both_orders_and_three_trials(recorded):
    report, _ = recorded.of("academic")
    assert values(report, "rates", "comprehensiveness", "overall") == {
        "dual-level against naive (dense)": (0.5, 0.0),
        "dual-level against light-like": (0.25, 0.25),
        "dual-level against communities": (1.0, 1.0),
    }
    bias = values(report, "bias", "shown first and won", "same winner in both orders")
    assert bias["dual-level against naive (dense)"] == (0.5, 1.0)
    assert bias["dual-level against dual-level without clues"] == (None, 1.0)
    assert report.options["trials"] == 3


def test_adaptive_takes_the_models_own_confidence(recorded):
    report, outcomes = recorded.of("adaptive")
    table = values(report, "sizes", "right", "missing", "wrong", "score")
    assert table["200 tokens, high"] == (0.5, 0.5, 0.0, 0.5)
    assert table["200 tokens, medium"] == (0.75, 0.25, 0.0, 0.75)
    assert table["500 tokens, high"] == (1.0, 0.0, 0.0, 1.0)
    assert values(report, "levels", "right", "missing")["ask, high"] == (0.25, 0.75)
    assert {item.numbers["confidence"] for item in outcomes if item.system == "500 tokens"} == {0.85}


def test_traversal_lets_the_model_lead_the_guided_walks(recorded):
    report, _ = recorded.of("traversal")
    table = values(report, "walks", "precision", "recall", "faithfulness", "passes")
    assert table["guided"] == table["guided-published"] == table["basic"] == (0.25, 0.5, 1.0, 0.5)
    assert (table["sentences"], table["tied-sentences"]) == ((0.5, 1.0, 1.0, 0.5), (0.75, 1.0, 1.0, 0.5))
    led = [line for line in recorded.model.used.values() if line["completion"].startswith('{"next"')]
    assert len(led) > 10
    assert any(line["completion"] == '{"next": 0}' for line in led)


def test_extraction_of_four_texts_is_measured(recorded):
    report = recorded.results["extraction"]
    assert report.texts == 4
    assert (report.strict.precision.value, report.strict.recall.value) == (1.0, pytest.approx(14 / 15))
    assert (report.conformance, report.subjects_not_in_text) == (1, 0)


def test_questions_are_translated_by_the_model(recorded):
    asked = recorded.results["questions"]
    assert len(asked) == 10
    assert {item.gold.language for item in asked} == {"en", "zh"}
    assert [item.gold.id for item in asked if not item.score.exact] == []
    (none,) = [item for item in asked if not item.gold.answers[0]]
    assert none.outcome is Verdict.CORRECT
    assert all(item.answer.model == "recorded" for item in asked)


def test_five_users_ask_five_questions_for_each_of_five_tasks(recorded):
    asked = recorded.results["users"]
    assert len(asked) == len({item.text for item in asked}) == 125
    assert len({item.user for item in asked}) == 5
    assert len({(item.user, item.task) for item in asked}) == 25
    assert {(item.language, item.made_by) for item in asked} == {("en", "recorded")}


def test_communities_are_reported_on_by_the_model_and_what_the_material_lacks_is_left_out(recorded):
    told = recorded.results["communities"]
    english, chinese = ({view.iri: view.summary for view in told[language]} for language in ("en", "zh"))
    assert english.keys() == chinese.keys()
    assert len(english) == 8
    assert not any(view.stale for views in told.values() for view in views)
    assert all(
        sum(text.count(colon) for text in texts.values()) > 6 for texts, colon in ((english, ": "), (chinese, "："))
    )
    (tongli,) = (text for text in english.values() if text.startswith("Tongli is a water town in Wujiang District"))
    assert "Facilities: Tongli is reached by metro Line 4." in tongli
    assert "most beautiful" in wrote(recorded, "Tongli is a water town")
    assert "most beautiful" not in tongli
    (xitang,) = (text for text in chinese.values() if text.startswith("西塘古镇是一座水乡"))
    assert "西园是镇上的园林。" in xitang
    assert "2013" in wrote(recorded, "西塘古镇是一座水乡")
    assert "2013" not in xitang
    assert any(text.startswith("同里古镇是位于Wujiang District的水乡，镇内有园林退思园") for text in chinese.values())


def wrote(recorded, words):
    """The report with these words as the model wrote it."""
    reports = (line["completion"] for line in recorded.model.used.values() if '"introduction"' in line["completion"])
    return next(report for report in reports if words in report)
