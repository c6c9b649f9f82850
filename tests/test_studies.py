"""Studies: reports beside published numbers, kept outcomes, runs in the workspace, comparisons, and nonsense judges."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from flights import flights

from benchmarks.studies import academic, adaptive, airport, travel, traversal
from benchmarks.studies.outcomes import StudyOutcome
from benchmarks.studies.setting import OutcomeCache, Setting
from kgplatform.cli.main import main
from kgplatform.errors import ConfigError, ModelUnavailableError, NotFoundError
from kgplatform.evaluation.metrics import Estimate
from kgplatform.evaluation.runs import runs
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder, ScriptedModel
from kgplatform.workspace.workspace import Workspace

NOTES = Path(__file__).resolve().parents[1] / "examples" / "travel"
CHOSEN = (
    "wuzhen-with-two-kids.txt",
    "jiaxing-on-one-train-ticket.md",
    "xizha-qinzi-liangri.txt",
    "suzhou-two-days.html",
)


@pytest.fixture(scope="module")
def kg(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies") / "kg"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Workspace, "embedder", HashEmbedder())
        with KnowledgeGraph.create(folder, ontology=["travel"]) as made:
            assert all(item.outcome == "added" for item in made.add(*(NOTES / name for name in CHOSEN)))
            yield made


def setting(kg, count=6, **others):
    return Setting(kg, count=count, **others)


def test_travel_puts_four_systems_beside_the_published_numbers(kg):
    report, outcomes = travel.run(setting(kg))
    names = {item.system for item in outcomes}
    assert names == {"traditional, BM25", "traditional, dense", travel.FRAMEWORK, "ask (graph query)"}
    assert len(outcomes) == 4 * report.questions
    metrics = report.tables[0]
    assert [row.values for row in metrics.rows if row.system == "TravelRAG (GPT-4)"] == [(0.76, 0.87, 0.85, 0.60)]
    assert all(isinstance(value, Estimate) for row in metrics.rows if not row.published for value in row.values)
    assert "built-in estimate" in report.judge
    assert any("leans its way" in sentence for sentence in report.differs)
    by_ask = [item.numbers["held"] for item in outcomes if item.system == "ask (graph query)"]
    assert sum(value or 0 for value in by_ask) > 0


@pytest.mark.slow
def test_traversal_has_seven_walks_in_two_profiles_and_plain_sentences(kg):
    report, outcomes = traversal.run(setting(kg, 2))
    measured = [row.system for row in report.tables[0].rows if not row.published]
    assert len(measured) == 17
    assert {"basic", "basic-published", "sentences", "tied-sentences"} <= set(measured)
    assert sum(row.published for row in report.tables[0].rows) == 14
    for item in outcomes:
        four = [item.numbers[name] for name in ("precision", "recall", "relevancy", "faithfulness")]
        assert item.numbers["passes"] == float(all(value is not None and value >= 0.5 for value in four))


@pytest.mark.slow
def test_academic_compares_pairs_without_favouring_a_place(kg):
    report, outcomes = academic.run(setting(kg))
    tables = {table.id: table for table in report.tables}
    assert [row.system for row in tables["rates"].rows] == [
        "dual-level against naive (dense)",
        "dual-level against light-like",
        "dual-level against communities",
    ]
    favoured = [row.values[1] for row in tables["bias"].rows]
    assert all(isinstance(value, Estimate) and value.value == 1 for value in favoured)
    assert "coverage" in report.judge
    assert {item.kind for item in outcomes} == {"topic", "relation"}


@pytest.mark.slow
def test_adaptive_counts_what_is_withheld_as_missing(kg):
    report, _ = adaptive.run(setting(kg, 4))
    rows = {row.system: row.values for row in report.tables[0].rows}
    for size in adaptive.SIZES:
        low, high = rows[f"{size} tokens, low"], rows[f"{size} tokens, high"]
        assert low[1].value <= high[1].value
    one = StudyOutcome("q", "x", "?", answer="a", numbers={"held": 0.0, "confidence": 0.5})
    assert adaptive.scored_at(one, "medium").numbers["score"] == -1
    assert adaptive.scored_at(one, "high").numbers["score"] == 0


@pytest.mark.slow
def test_airport_measures_rows_classes_and_reasoning_and_says_that_sql_was_not(tmp_path_factory, monkeypatch):
    monkeypatch.setattr(Workspace, "embedder", HashEmbedder())
    with flights(tmp_path_factory) as graph:
        cache = OutcomeCache()
        report, outcomes = airport.run(setting(graph, 30, cache=cache))
        assert [table.id for table in report.tables] == ["retrievers", "sql", "graph", "classes", "reasoning"]
        assert next(row.values[0] for row in report.tables[0].rows if row.system == "lexical").value > 0.8
        assert "not measured" in report.tables[1].note
        assert airport.classes_of(outcomes).total == 6
        again, _ = airport.run(setting(graph, 30, cache=cache))
        assert [table.rows for table in again.tables] == [table.rows for table in report.tables]


def test_without_questions_or_a_sensible_number_of_them_there_is_an_error(kg):
    with pytest.raises(NotFoundError, match="no question"):
        travel.run(setting(kg, 2, model=ScriptedModel(otherwise=lambda _: "I would rather talk about the weather.")))
    with pytest.raises(ConfigError, match="measures nothing"):
        setting(kg, 0)
    with pytest.raises(ConfigError, match="language"):
        setting(kg, languages=())


def test_a_model_that_is_away_makes_problems_not_a_crash(kg):
    away = ScriptedModel(otherwise=lambda _: ModelUnavailableError("no server", model="scripted"))
    report, outcomes = academic.run(setting(kg, 2, model=away, languages=("en",)))
    assert report.problems
    assert all(item.problems for item in outcomes)
    assert "no server" in report.problems[0]


def test_outcomes_survive_a_crash_in_the_middle_of_a_line(tmp_path):
    path = tmp_path / "x.jsonl"
    cache = OutcomeCache(path)
    good = StudyOutcome("q1", "s", "Which?", "simple", "en", "A", "B", {"held": 0.5, "faithfulness": None}, 0.1, 7)
    cache.keep("a", good)
    cache.keep("b", StudyOutcome("q2", "s", "Which?", problems=("the model was away",)))
    with path.open("a") as file:
        file.write('{"key": "c", "id": "q3", "sys')
    again = OutcomeCache(path)
    assert again.find("a") == good
    assert again.find("b") is None
    assert again.find("c") is None
    again.keep("c", good)
    assert OutcomeCache(path).find("c") == good
    assert OutcomeCache(path, fresh=True).find("a") is None


@pytest.mark.slow
def test_a_study_writes_its_files_keeps_its_run_and_goes_on_from_what_it_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Workspace, "embedder", HashEmbedder())
    folder, out = tmp_path / "kg", tmp_path / "out"
    with KnowledgeGraph.create(folder, ontology=["travel"]) as made:
        list(made.add(NOTES / CHOSEN[0], NOTES / CHOSEN[2]))
    words = ["evaluate", "travel", "-w", str(folder), "--count", "3", "--language", "en"]
    assert main([*words, "--output", str(out)]) == 0
    assert "TravelRAG (GPT-4) (published)" in capsys.readouterr().out
    assert {"report.json", "report.md", "report.html", "report-metrics.csv", "results.jsonl"} <= {
        path.name for path in out.iterdir()
    }
    (run,) = runs(folder)
    assert (run.study, run.method) == ("travel", "built-in")
    lines = (folder / "evaluation" / ".results" / "travel.jsonl").read_text().splitlines()
    assert main([*words, "--no-keep", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["study"] == "travel"
    assert (folder / "evaluation" / ".results" / "travel.jsonl").read_text().splitlines() == lines
    assert len(runs(folder)) == 1
    assert main(["evaluate", "--compare", run.name, str(out), "-w", str(folder), "--format", "json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert compared["measures"]["accuracy"]["difference"] == 0
    assert compared["worse"] == compared["better"] == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["evaluate"], "name what to measure"),
        (["evaluate", "questions"], "needs a FILE"),
        (["evaluate", "travel", "gold.jsonl"], "makes its own questions"),
        (["evaluate", "questions", "--compare", "a", "b"], "takes two runs"),
    ],
)
def test_what_is_missing_or_too_much_is_one_clear_line(words, told, capsys):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
