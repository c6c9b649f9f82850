"""Reports of studies in their forms, runs kept in a workspace, and two runs compared."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgplatform import KnowledgeGraph
from kgplatform.cli.main import main
from kgplatform.errors import NotFoundError
from kgplatform.evaluation.judging.pairs import Pair, compare_pairs
from kgplatform.evaluation.statistics import estimate
from kgplatform.evaluation.studies.asking import Item, held
from kgplatform.evaluation.studies.coverage import CoverageJudge
from kgplatform.evaluation.studies.nearness import Remembering
from kgplatform.evaluation.studies.page import as_page
from kgplatform.evaluation.studies.report import (
    Outcome,
    Row,
    StudyReport,
    Table,
    as_csv,
    as_json,
    as_markdown,
    paired,
    shown,
)
from kgplatform.evaluation.studies.runs import Headline, RunFacts, find_run, kept, latest, runs
from kgplatform.testing import HashEmbedder


def test_runs_are_listed_latest_first_and_broken_ones_left_out(tmp_path: Path) -> None:
    def facts(date: str) -> RunFacts:
        return RunFacts("questions", "built-in", "", 2, 1.0, headline=Headline("exact", 0.5, 0.0, 1.0, 2), date=date)

    lines = [{"id": "1", "exact": 1.0}, {"id": "2", "exact": 0.0}]
    first = kept(tmp_path, report={"exact": 0.5}, results=lines, facts=facts("2026-11-20T10:00:00Z"))
    same = kept(tmp_path, report={}, results=lines, facts=facts("2026-11-20T10:00:00Z"))
    later = kept(tmp_path, report={}, results=lines, facts=facts("2026-11-21T10:00:00Z"))
    (tmp_path / "evaluation" / "half").mkdir()
    (tmp_path / "evaluation" / ".results").mkdir()
    broken = tmp_path / "evaluation" / "broken"
    broken.mkdir()
    (broken / "meta.json").write_text('{"study": 7}')
    assert [run.name for run in runs(tmp_path)] == [later.name, same.name, first.name]
    assert first.report() == {"exact": 0.5}
    assert first.results() == lines
    assert latest(runs(tmp_path), "questions") == later
    assert find_run(tmp_path, first.name).headline == Headline("exact", 0.5, 0.0, 1.0, 2)
    with pytest.raises(NotFoundError, match="did you mean"):
        find_run(tmp_path, first.name[:-2])
    assert runs(tmp_path / "nowhere") == []


REPORT = StudyReport(
    study="travel",
    title="A <study>",
    source="a paper",
    date="2026-11-20T10:00:00Z",
    method="built-in",
    judge="",
    questions=2,
    seconds=1.0,
    tables=(
        Table(
            "one",
            "First | table",
            ("recall", "tokens"),
            (Row("paper", (0.5, None), published=True), Row("ours & <co>", (estimate([1.0, 0.0]), 1200))),
        ),
    ),
    differs=("The data differ.",),
    problems=("q1: <b>bad</b>",),
)


def test_a_report_is_the_same_as_json_csv_markdown_and_page() -> None:
    rows = as_json(REPORT)["tables"][0]["rows"]  # type: ignore[index]
    assert rows[0]["values"] == [0.5, None]
    assert rows[1]["values"] == [{"value": 0.5, "low": 0.0, "high": 1.0, "n": 2}, 1200]
    read = list(csv.DictReader(io.StringIO(as_csv(REPORT.tables[0]))))
    assert [(row["source"], row["recall"], row["recall n"]) for row in read] == [
        ("published", "0.5", ""),
        ("measured", "0.500000", "2"),
    ]
    text = as_markdown(REPORT)
    assert "| ours & <co> | .500 [0.000, 1.000] | 1,200 |" in text
    assert "- The data differ." in text
    page = as_page(REPORT)
    assert "ours &amp; &lt;co&gt;" in page
    assert "<b>bad" not in page
    assert "<svg" in page
    assert "http-equiv" not in page
    assert 'src="http' not in page
    assert "@import" not in page


def test_values_are_shown_as_people_read_them() -> None:
    assert [shown(value) for value in (None, 0.25, 0.0, 1.0, 12.34, 7, "text")] == [
        "–",
        ".250",
        "0.000",
        "1.000",
        "12.3",
        "7",
        "text",
    ]


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
def test_paired_tests_are_of_the_questions_that_both_systems_have(values: list[tuple[float, float]]) -> None:
    found = [
        Outcome(str(number), system, "?", numbers={"recall": value})
        for number, pair in enumerate(values)
        for system, value in zip("ab", pair, strict=True)
    ]
    found.append(Outcome("only", "a", "?", numbers={"recall": 1.0}))
    (test,) = paired(found, ("recall",), ("a", "b"), against="b")
    assert test.comparison.count == len(values)
    assert test.comparison.difference == pytest.approx(sum(b - a for a, b in values) / len(values))
    assert test.p >= test.comparison.p


def test_a_gold_value_is_held_only_where_it_stands_by_itself() -> None:
    item = Item("q", "?", "zh", "simple", ("17", "乌镇"))
    assert held(item, "乌镇有17间房。") == 1
    assert held(item, "乌镇建于1710年。") == 0.5
    assert held(Item("q", "?", "en", "simple"), "x") is None


def test_the_estimate_of_pairs_prefers_what_is_supported_and_says_the_same_in_both_orders() -> None:
    passages = ["Xizha opens at nine. Boats leave from the East Gate. Children under six pay nothing in Xizha."]
    good = "Xizha opens at nine. Children under six pay nothing in Xizha. Boats leave from the East Gate."
    bad = "Atlantis opens at eleven. Neptune sells tickets for 900 yuan."
    judge = CoverageJudge(Remembering(HashEmbedder()), {good: passages, bad: passages})
    found = compare_pairs([Pair("1", "When does Xizha open, and who pays nothing?", good, bad)], judge, trials=1)
    assert found.rates["comprehensiveness"].value == 1
    assert found.rates["overall"].value == 1
    assert found.consistent.value == 1
    same = compare_pairs([Pair("1", "When?", good, good)], judge, trials=1)
    assert all(rate.value == 0.5 for rate in same.rates.values())


def test_two_runs_are_compared_question_by_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, right in (("a", (1, 1, 0)), ("b", (1, 0, 0))):
        lines = [{"id": str(n), "question": f"Question {n}?", "exact": value} for n, value in enumerate(right)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)) + '\n{"id": 7}\n')
    words = ["evaluate", "--compare", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
    assert main(words) == 0
    found = capsys.readouterr()
    assert "1 questions got worse\n  1  Question 1?" in found.out
    assert "McNemar's exact p of exact: 1.000" in found.out
    assert "left out" in found.err
    assert main([*words, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["worse"][0]["id"] == "1"
    assert main(["evaluate", "--compare", str(tmp_path / "a.jsonl"), "nothing", "-w", str(tmp_path)]) != 0
    assert "no run is called 'nothing'" in capsys.readouterr().err


def test_runs_of_gold_questions_are_kept_unless_told_not_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = Path(__file__).parent / "regression"
    with KnowledgeGraph.create(tmp_path / "kg", ontology=["travel"]) as made:
        made.load(here / "towns.ttl")
    gold = tmp_path / "gold.jsonl"
    lines = [
        {"id": "1", "question": "How many hotels are there?", "answers": [3]},
        {"id": "1", "question": "How many hotels are there?", "answers": [3]},
        {"id": "2", "question": "Which hotels are there?"},
        {"id": "3", "question": 5, "answers": [1]},
        {"id": "4", "question": "Which hotels are in Xizha?", "answers": "Canal House"},
        {"id": "5", "question": "How many museums are there?", "answers": [9]},
    ]
    gold.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    words = ["evaluate", "questions", str(gold), "-w", str(tmp_path / "kg"), "--using", "builtin", "--format", "json"]
    assert main(words) == 0
    printed = capsys.readouterr()
    assert len(json.loads(printed.out)["problems"]) == 4
    assert printed.err.count("left out") == 4
    assert main([*words, "--no-keep"]) == 0
    (run,) = runs(tmp_path / "kg")
    assert run.headline == Headline("exact", 0.5, 0.0, 1.0, 2)
    assert run.options["using"] == "builtin"
    assert run.report() == json.loads(printed.out)
    assert [item["outcome"] for item in run.results()] == ["correct", "wrong"]
