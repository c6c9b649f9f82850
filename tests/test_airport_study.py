"""The airport study: rows read plainly, question sets with gold answers, what is measured, and the rival in SQL."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from flights import FOLDER, flights, rows

from benchmarks.studies import airport
from benchmarks.studies import flight_methods as methods
from benchmarks.studies import flight_questions as questions
from benchmarks.studies.flight_methods import ask_sql, normal_form, prompt_of, statement_of
from benchmarks.studies.flight_questions import Sizes, StudyQuestion, make
from benchmarks.studies.flights import COLUMNS, Asked, read_flights, right
from benchmarks.studies.outcomes import mean
from benchmarks.studies.setting import Setting
from kgplatform.errors import ConfigError, NotFoundError, QueryRejectedError
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import ScriptedModel
from kgplatform.questions.dialogue.question_class import classify_by_model
from kgplatform.questions.dialogue.request import parse_question

SIZES = Sizes(80, 48, 18)
_RECORDING = json.loads((Path(__file__).resolve().parent / "data/recordings/airport.json").read_text(encoding="utf-8"))
"""What was written for the real prompts on a sample of questions: SQL in both styles, and classes."""


@pytest.fixture(scope="module")
def kg(tmp_path_factory):
    with flights(tmp_path_factory) as made:
        yield made


@pytest.fixture(scope="module")
def table(kg):
    return read_flights(kg)


def test_every_cell_of_the_source_is_read_back(table):
    source = rows()
    assert len(table.flights) == len(source)
    different = [
        (row["flight_uid"], column)
        for row in source
        for column in COLUMNS
        if row[column] not in table.names(table.by_uid[row["flight_uid"]][column])
        and row["connecting_flight_uid"][:8] in ("20250314", "20250315", "")
    ]
    assert different == []


def test_a_workspace_without_flights_is_said(tmp_path):
    with KnowledgeGraph.create(tmp_path / "kg", ontology="airport") as kg, pytest.raises(NotFoundError, match="flight"):
        read_flights(kg)


def test_the_sets_are_the_same_for_a_seed_and_hold_what_they_should(table):
    first, again, other = make(table, sizes=SIZES), make(table, sizes=SIZES), make(table, seed=8, sizes=SIZES)
    assert first == again != other
    assert Counter(q.asked.set for q in first) == {"straightforward": 80, "ambiguous": 48, "reasoning": 18}
    labels = Counter(q.asked.label for q in first if q.asked.set == "ambiguous")
    assert set(labels) == set("123456")
    chinese = sum(q.asked.language == "zh" for q in first) / len(first)
    assert 0.15 < chinese < 0.45
    assert len({q.asked.text for q in first}) == len(first)


@pytest.mark.slow
def test_the_built_in_translator_reaches_the_bars_and_invents_nothing(kg, table, tmp_path):
    file = tmp_path / "questions.jsonl"
    questions.write(make(table, seed=21, sizes=SIZES), file)
    report, outcomes = airport.run(Setting(kg, file=file))
    assert [item.id for item in report.tables] == ["sql", "graph", "classes", "reasoning"]
    assert report.options["file"] == str(file)
    rates = {kind: mean(outcomes, "exact", "graph, built-in", kind=kind) for kind in ("straightforward", "reasoning")}
    assert rates["straightforward"].value >= 0.95
    assert rates["reasoning"].value >= 0.90
    assert airport.classes_of(outcomes).accuracy >= 0.95
    assert sum(item.numbers["invented"] or 0 for item in outcomes) == 0
    match = mean(outcomes, "match", "graph, built-in", kind="straightforward")
    assert match.value > 0.5


def test_sql_is_asked_in_both_styles_and_measured(table):
    question = next(q for q in make(table, sizes=SIZES) if q.asked.sql and len(q.asked.answers[0]) == 1)
    wrong = "SELECT flight_uid FROM flights LIMIT 0"
    for style in ("odp", "crp"):
        model = ScriptedModel(f"```sql\n{question.asked.sql};\n```", wrong, "DELETE FROM flights", "I do not know.")
        answers = list(ask_sql([question] * 4, table, model, style=style))
        assert [a.exact for a in answers] == [True, False, False, False]
        assert [a.match for a in answers] == [True, False, False, False]
        assert answers[2].problem
        assert "flights" in model.conversations[0][1].content
    columns = methods.columns_of(table)
    assert "CREATE TABLE" in prompt_of("x", columns, style="crp", now="")[1].content
    assert "CREATE TABLE" not in prompt_of("x", columns, style="odp", now="")[1].content
    for style in ("odp", "crp"):
        shown = prompt_of("x", columns, style=style, now="2025-03-15T12:00:00")
        assert "Now is 2025-03-15T12:00:00" in shown[0].content
        assert all(part in shown[1].content for part in ("'arrival', 'departure'", "In min."))


def _recorded_questions(table):
    """The recorded questions with what the rows say is right, by their text."""
    now = datetime(2025, 3, 15, 12)  # noqa: DTZ001 (a moment of a table without zones)
    klm = [f for f in table.flights if f["airline"] == "KLM" and f.day == now.date()]
    gone = table.between(now - timedelta(hours=4), now, "actual_block_time")
    left = [f for f in gone if f["direction"] == "departure" and f["airline"] == "KLM"]
    partner = table.by_uid[table.by_uid["20250315-KL1352-A"]["connecting_flight_uid"]]
    by_number = {f.number: f for f in table.flights if f.day.isoformat() == "2025-03-14"}
    cells = {
        "Give me KL612 on 15 March 2025's direction.": (table.by_uid["20250315-KL612-A"], "direction"),
        "请告诉我2025年3月14日的CD714航班的摆渡车服务。": (by_number["CD714"], "bus_service_needed"),
        "2025年3月14日UA71的衔接航班号是什么？": (by_number["UA71"], "connecting_flight_number"),
    }
    values = {
        "How many KLM flights were there on 15 March 2025?": str(len(klm)),
        "2025年3月15日的KL1352航班的衔接航班的始发机场是什么？": partner["origin"],
        "How many KLM flights left in the last 4 hours?": str(len(left)),
    }
    gold = {text: (flight[column], table.sql(flight, column, by_day=True)) for text, (flight, column) in cells.items()}
    gold |= {text: (value, "") for text, value in values.items()}
    return {
        text: StudyQuestion(
            text, Asked("straightforward", "recorded", "en", text, right(table, [value]), sql=sql), now.isoformat()
        )
        for text, (value, sql) in gold.items()
    }


@pytest.mark.parametrize("style", ["odp", "crp"])
def test_statements_that_were_written_for_the_prompts_are_right_by_their_rows(table, style):
    asked = _recorded_questions(table)
    replies = {entry["question"]: entry[style] for entry in _RECORDING["sql"]}
    assert asked.keys() == replies.keys()

    def recorded(messages):
        return next(reply for text, reply in replies.items() if text in messages[-1].content)

    answers = list(ask_sql(list(asked.values()), table, ScriptedModel(otherwise=recorded), style=style))
    assert [(item.question.id, item.statement) for item in answers if not item.exact] == []
    assert [item.question.id for item in answers if item.match is False] == []
    assert sum(item.match is True for item in answers) == 3


def test_classes_that_were_written_for_the_prompt_are_those_of_the_study(kg):
    frame, translator = kg.knowledge.frames[0], kg.knowledge.translator
    now = frame.now(None, datetime(2025, 3, 15, 12))  # noqa: DTZ001 (a moment of a table without zones)
    found = []
    for entry in _RECORDING["classes"]:
        model = ScriptedModel(entry["reply"])
        parsed = parse_question(entry["question"], frame, translator, now.moment)
        found.append((entry["question"], classify_by_model(parsed, frame, now, model).classified.notation))
        assert entry["question"] in model.conversations[0][-1].content
    assert found == [(entry["question"], entry["class"]) for entry in _RECORDING["classes"]]
    assert len(found) >= 24


def test_without_a_model_sql_says_so(table):
    with pytest.raises(ConfigError, match="model"):
        list(ask_sql(make(table, sizes=Sizes(2, 0, 0)), table, None, style="odp"))
    with pytest.raises(ConfigError, match="styles are"):
        list(ask_sql([], table, ScriptedModel(), style="other"))


STATEMENTS = (
    *("DELETE FROM flights", "DROP TABLE flights", "INSERT INTO flights (flight_uid) VALUES ('x')", "nonsense"),
    *("ATTACH DATABASE '/tmp/x.sqlite' AS x", "PRAGMA query_only = OFF", "SELECT load_extension('x')"),
    *("SELECT writefile('/tmp/x', 'y')", "CREATE TABLE t AS SELECT * FROM flights", "SELECT 1; DELETE FROM flights"),
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t, flights",
)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_table_is_only_read_and_not_for_long(table, statement, monkeypatch):
    monkeypatch.setattr("benchmarks.studies.flight_methods._SECONDS", 0.3)
    database = methods.SqlTable(table)
    with pytest.raises(QueryRejectedError):
        database.rows(statement)
    assert database.rows("SELECT count(*) FROM flights") == ((str(len(table.flights)),),)
    database.close()


def test_statements_are_found_in_replies_and_compared_without_their_layout():
    assert statement_of("Sure:\n```sql\nSELECT a\nFROM b;\n```\nDone.") == "SELECT a\nFROM b"
    assert statement_of(" gate FROM flights") == "SELECT gate FROM flights"
    assert statement_of("SELECT 1; DELETE FROM x") == "SELECT 1"
    assert normal_form("SELECT  a FROM b WHERE c = 'X y' ;") == normal_form("select a from b where c='X y'")
    assert normal_form("select a from b where c='x Y'") != normal_form("select a from b where c='X y'")


def test_rows_become_passages_with_one_question_each():
    made = methods.row_set(FOLDER / "flights.csv", FOLDER / "airports.csv", rows=50)
    assert len(made.passages) == len(made.questions) == 50
    assert [gold.documents[0] for gold in made.questions] == [passage.id for passage in made.passages]
    assert made == methods.row_set(FOLDER / "flights.csv", FOLDER / "airports.csv", rows=50)
    assert all(
        passage.id.split("-")[1] in gold.text for passage, gold in zip(made.passages, made.questions, strict=True)
    )


def test_jargon_restates_every_spoken_question_by_flight_and_day():
    said = methods.Jargon.of(FOLDER / "airlines.csv", FOLDER / "airports.csv", year=2025)
    made = methods.row_set(FOLDER / "flights.csv", FOLDER / "airports.csv", rows=400, style=methods.Style.SPOKEN)
    for gold in made.questions:
        day, flight, _ = gold.id.split("-")
        text = said(gold.text)
        assert all(part in text for part in (f"{day[:4]}-{day[4:6]}-{day[6:]}", f" {flight} "))
