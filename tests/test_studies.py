"""Studies: reports beside published numbers, kept outcomes, runs in the workspace, comparisons, and nonsense judges."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from flights import workspace as flights_workspace

from kgplatform import KnowledgeGraph
from kgplatform.cli.main import main
from kgplatform.errors import ConfigError, ModelUnavailableError, NotFoundError
from kgplatform.evaluation.statistics import Estimate
from kgplatform.evaluation.studies import academic, adaptive, airport, travel, traversal
from kgplatform.evaluation.studies import setting as study_setting
from kgplatform.evaluation.studies.asking import Item
from kgplatform.evaluation.studies.report import (
    Outcome,
)
from kgplatform.evaluation.studies.runs import runs
from kgplatform.evaluation.studies.setting import OutcomeCache, Setting, key_of, state_of
from kgplatform.protocols import Message
from kgplatform.testing import HashEmbedder, ScriptedModel

NOTES = Path(__file__).resolve().parents[1] / "examples" / "travel"
CHOSEN = (
    "wuzhen-with-two-kids.txt",
    "jiaxing-on-one-train-ticket.md",
    "xizha-qinzi-liangri.txt",
    "suzhou-two-days.html",
)


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("studies") / "kg"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(KnowledgeGraph, "embedder", HashEmbedder())
        with KnowledgeGraph.create(folder, ontology=["travel"]) as made:
            assert all(item.outcome == "added" for item in made.add(*(NOTES / name for name in CHOSEN)))
            yield made


def setting(kg: KnowledgeGraph, count: int = 6, **others: object) -> Setting:
    return Setting(kg, count=count, **others)  # type: ignore[arg-type]


# each study, without a model


def test_travel_puts_four_systems_beside_the_published_numbers(kg: KnowledgeGraph) -> None:
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


def test_traversal_has_seven_walks_in_two_profiles_and_plain_sentences(kg: KnowledgeGraph) -> None:
    report, outcomes = traversal.run(setting(kg, 2))
    measured = [row.system for row in report.tables[0].rows if not row.published]
    assert len(measured) == 17
    assert {"basic", "basic-published", "sentences", "tied-sentences"} <= set(measured)
    assert sum(row.published for row in report.tables[0].rows) == 14
    for item in outcomes:
        four = [item.numbers[name] for name in ("precision", "recall", "relevancy", "faithfulness")]
        assert item.numbers["passes"] == float(all(value is not None and value >= 0.5 for value in four))


def test_academic_compares_pairs_without_favouring_a_place(kg: KnowledgeGraph) -> None:
    report, _ = academic.run(setting(kg))
    tables = {table.id: table for table in report.tables}
    assert [row.system for row in tables["rates"].rows] == [
        "dual-level against naive (dense)",
        "dual-level against light-like",
        "dual-level against communities",
    ]
    favoured = [row.values[1] for row in tables["bias"].rows]
    assert all(isinstance(value, Estimate) and value.value == 1 for value in favoured)
    assert "coverage" in report.judge
    assert {item.kind for item in academic.run(setting(kg))[1]} == {"topic", "relation"}


def test_adaptive_counts_what_is_withheld_as_missing(kg: KnowledgeGraph) -> None:
    report, _ = adaptive.run(setting(kg, 4))
    rows = {row.system: row.values for row in report.tables[0].rows}
    for size in adaptive.SIZES:
        low, high = rows[f"{size} tokens, low"], rows[f"{size} tokens, high"]
        assert isinstance(low[1], Estimate)
        assert isinstance(high[1], Estimate)
        assert low[1].value <= high[1].value
    one = Outcome("q", "x", "?", answer="a", numbers={"held": 0.0, "confidence": 0.5})
    assert adaptive.scored_at(one, "medium").numbers["score"] == -1
    assert adaptive.scored_at(one, "high").numbers["score"] == 0


def test_airport_measures_rows_classes_and_reasoning_and_says_that_sql_was_not(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KnowledgeGraph, "embedder", HashEmbedder())
    with flights_workspace(tmp_path_factory.getbasetemp() / "two-days") as flights:
        flights.search = lambda *_a, **_k: []  # type: ignore[method-assign]
        cache = OutcomeCache()
        report, outcomes = airport.run(setting(flights, 30, cache=cache))
        assert [table.id for table in report.tables] == ["retrievers", "sql", "graph", "classes", "reasoning"]
        first = next(row.values[0] for row in report.tables[0].rows if row.system == "lexical")
        assert isinstance(first, Estimate)
        assert first.value > 0.8
        assert "not measured" in report.tables[1].note
        assert airport.classes_of(outcomes).total == 6
        again, _ = airport.run(setting(flights, 30, cache=cache))
        assert [table.rows for table in again.tables] == [table.rows for table in report.tables]


# with a model, and one that talks nonsense


def judging(messages: Sequence[Message]) -> str | ModelUnavailableError:
    """Replies as a model that knows the forms and little else."""
    told = messages[0].content
    shown_ = messages[-1].content
    if '"claims"' in told:
        return '{"claims": [{"claim": "it is so", "supported": true}]}'
    if '"evasive"' in told:
        return '{"questions": ["Which is it?"], "evasive": false}'
    if '"useful"' in told:
        return json.dumps({"useful": [True] * shown_.count("\n[")})
    if '"found"' in told:
        return '{"found": [true]}'
    if '"entities"' in told or '"quotes"' in told or "SPARQL" in told:
        return "I would rather talk about the weather."
    return "Xizha."


def test_a_model_that_makes_no_questions_is_reported_and_no_question_means_an_error(kg: KnowledgeGraph) -> None:
    model = ScriptedModel(otherwise=judging)
    with pytest.raises(NotFoundError, match="no question"):
        travel.run(setting(kg, 2, model=model))


def test_travel_by_a_model_makes_answers_and_judges_and_leaves_out_what_it_cannot_quote(kg: KnowledgeGraph) -> None:
    passages = [item.text for item in kg.sources.passages()]

    def replies(messages: Sequence[Message]) -> str | ModelUnavailableError:
        told, asked = messages[0].content, messages[-1].content
        if '"quotes"' not in told:
            return judging(messages)
        number, first = next((n, text) for n, text in enumerate(passages) if text in asked)
        quote = next(line for line in first.splitlines() if len(line.split()) > 5 or len(line) > 30)[:60]
        good = {"type": "simple", "question": f"What is told in passage {number}?", "answer": quote}
        bad = {"type": "simple", "question": "What is on the moon?", "answer": "dust"}
        sound = {**good, "quotes": [{"passage": 1, "quote": quote}]}
        return json.dumps({"questions": [sound, {**bad, "quotes": [{"passage": 1, "quote": "moon dust"}]}]})

    report, outcomes = travel.run(setting(kg, 2, model=ScriptedModel(otherwise=replies), languages=("en",)))
    assert (report.method, report.judge) == ("scripted", "model scripted")
    assert report.questions > 0
    assert any("question refused: What is on the moon?" in problem for problem in report.problems)
    dense = [item for item in outcomes if item.system == "traditional, dense"]
    assert [item.answer for item in dense] == ["Xizha."] * report.questions
    assert all(item.numbers["faithfulness"] == 1 and item.calls == 1 for item in dense)


def test_a_judge_that_answers_nonsense_is_counted_and_its_measure_left_out(kg: KnowledgeGraph) -> None:
    from kgplatform.evaluation.judging.by_model import ModelJudge
    from kgplatform.evaluation.studies.answering import Produced
    from kgplatform.evaluation.studies.asking import measured

    judge = ModelJudge(ScriptedModel(otherwise=lambda _: "The weather is fine."), HashEmbedder())
    item = Item("q1", "Which zone is it?", "en", "simple", ("Xizha",))
    numbers, problems = measured(item, Produced("Xizha.", ("Xizha opens at nine.",)), judge)
    assert len(problems) == 4
    assert numbers["faithfulness"] is None
    assert numbers["held"] == 1


def test_a_model_that_is_away_makes_problems_not_a_crash(kg: KnowledgeGraph) -> None:
    away = ScriptedModel(otherwise=lambda _: ModelUnavailableError("no server", model="scripted"))
    report, outcomes = academic.run(setting(kg, 2, model=away, languages=("en",)))
    assert report.problems
    assert all(item.problems for item in outcomes)
    assert "no server" in report.problems[0]


def test_a_study_with_a_model_runs_again_from_what_it_kept(kg: KnowledgeGraph, tmp_path: Path) -> None:
    path = tmp_path / "results" / "academic.jsonl"

    def replies(messages: Sequence[Message]) -> str:
        told = messages[0].content
        if '"users"' in told:
            questions = ["What is Wuzhen known for?", "What is there for children?"]
            return json.dumps({"users": [{"user": "parent", "tasks": [{"task": "plan", "questions": questions}]}]})
        if '"comprehensiveness"' in told:
            verdict = dict.fromkeys(("comprehensiveness", "diversity", "empowerment", "overall"), "first")
            return json.dumps({**verdict, "why": "it came first"})
        if "keywords" in told:
            return '{"high_level_keywords": ["water town"], "low_level_keywords": ["Wuzhen"]}'
        return "Wuzhen is a water town."

    first = ScriptedModel(otherwise=replies)
    report, outcomes = academic.run(setting(kg, 2, model=first, languages=("en",), cache=OutcomeCache(path)))
    assert report.judge == "model scripted"
    bias = next(table for table in report.tables if table.id == "bias").rows[0].values[0]
    assert isinstance(bias, Estimate)
    assert bias.value == 1
    second = ScriptedModel(otherwise=replies)
    _, again = academic.run(setting(kg, 2, model=second, languages=("en",), cache=OutcomeCache(path)))
    assert again == outcomes
    written = [m for m in second.conversations if "You answer a question from passages" in m[0].content]
    assert written == []


# what is kept


def test_outcomes_survive_a_crash_in_the_middle_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    cache = OutcomeCache(path)
    good = Outcome("q1", "s", "Which?", "simple", "en", "A", "B", {"held": 0.5, "faithfulness": None}, 0.1, 7)
    cache.keep("a", good)
    cache.keep("b", Outcome("q2", "s", "Which?", problems=("the model was away",)))
    with path.open("a") as file:
        file.write('{"key": "c", "id": "q3", "sys')
    again = OutcomeCache(path)
    assert again.find("a") == good
    assert again.find("b") is None
    assert again.find("c") is None
    again.keep("c", good)
    assert OutcomeCache(path).find("c") == good
    assert OutcomeCache(path, fresh=True).find("a") is None


def test_the_key_is_another_for_another_question_system_or_state(kg: KnowledgeGraph) -> None:
    here = setting(kg)
    state = state_of(kg)
    keys = {
        here.key("travel", ("1", "Which?"), "a", state),
        here.key("travel", ("1", "Who?"), "a", state),
        here.key("travel", ("1", "Which?"), "b", state),
        here.key("travel", ("1", "Which?"), "a", "other"),
        setting(kg, model=ScriptedModel()).key("travel", ("1", "Which?"), "a", state),
    }
    assert len(keys) == 5


def test_what_an_edited_platform_did_before_counts_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of("travel", "Which?")
    assert key_of("travel", "Which?") == before
    monkeypatch.setattr(study_setting, "code_state", lambda: "another")
    assert key_of("travel", "Which?") != before


def test_settings_that_ask_nothing_are_refused(kg: KnowledgeGraph) -> None:
    with pytest.raises(ConfigError, match="measures nothing"):
        setting(kg, 0)
    with pytest.raises(ConfigError, match="language"):
        setting(kg, languages=())


# the command line


def test_a_study_writes_its_files_keeps_its_run_and_goes_on_from_what_it_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(KnowledgeGraph, "embedder", HashEmbedder())
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
def test_what_is_missing_or_too_much_is_one_clear_line(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
