"""The airport study: rows read plainly, question sets with gold answers, what is measured, and the rival in SQL."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from flights import rows, workspace

from kgplatform import KnowledgeGraph
from kgplatform.errors import ConfigError, NotFoundError, QueryRejectedError
from kgplatform.evaluation.airport.ambiguous import candidates, following, next_on_ramp
from kgplatform.evaluation.airport.asking import Asked, right
from kgplatform.evaluation.airport.making import Sizes, StudyQuestion, make, read, write
from kgplatform.evaluation.airport.measuring import invented
from kgplatform.evaluation.airport.rows import COLUMNS, Flight, FlightTable, read_flights
from kgplatform.evaluation.airport.sql import SqlTable, ask_sql, columns_of, normal_form, prompt_of, statement_of
from kgplatform.evaluation.gold import read_gold
from kgplatform.evaluation.studies import airport
from kgplatform.evaluation.studies.report import mean
from kgplatform.evaluation.studies.setting import Setting
from kgplatform.protocols import Message
from kgplatform.questions.dialogue.classify_model import classify_by_model
from kgplatform.questions.dialogue.parsing import parse_question
from kgplatform.testing import ScriptedModel
from kgplatform.types import Verdict

SIZES = Sizes(80, 48, 18)
_RECORDING = json.loads((Path(__file__).resolve().parent / "data/recordings/airport.json").read_text(encoding="utf-8"))
"""What was written for the real prompts on a sample of questions: SQL in both styles, and classes."""


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    made = workspace(tmp_path_factory.getbasetemp() / "two-days")
    made.search = lambda *_a, **_k: []  # type: ignore[method-assign]
    yield made
    made.close()


@pytest.fixture(scope="module")
def table(kg: KnowledgeGraph) -> FlightTable:
    return read_flights(kg)


def test_every_cell_of_the_source_is_read_back(table: FlightTable) -> None:
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


def test_a_workspace_without_flights_is_said(tmp_path: Path) -> None:
    with KnowledgeGraph.create(tmp_path / "kg", ontology="airport") as kg, pytest.raises(NotFoundError, match="flight"):
        read_flights(kg)


def test_the_sets_are_the_same_for_a_seed_and_hold_what_they_should(table: FlightTable) -> None:
    first, again, other = make(table, sizes=SIZES), make(table, sizes=SIZES), make(table, seed=8, sizes=SIZES)
    assert first == again != other
    assert Counter(q.asked.set for q in first) == {"straightforward": 80, "ambiguous": 48, "reasoning": 18}
    labels = Counter(q.asked.label for q in first if q.asked.set == "ambiguous")
    assert set(labels) == set("123456")
    chinese = sum(q.asked.language == "zh" for q in first) / len(first)
    assert 0.15 < chinese < 0.45
    assert len({q.asked.text for q in first}) == len(first)


def test_gold_follows_from_the_rows(table: FlightTable) -> None:
    flight = table.by_uid["20250314-KL787-D"]
    after = next_on_ramp(flight, table)[0]
    assert after["ramp"] == flight["ramp"]
    assert after["actual_on_ramp"] > flight["actual_on_ramp"]
    assert following(flight, table)[0]["airline"] == "KLM"
    assert candidates("0787", table) == ("KL787",)
    span = timedelta(minutes=15)
    near = table.between(table.snapshot - span, table.snapshot + span)
    assert near == table.near(table.snapshot, 15)
    assert near


def test_a_set_is_written_and_read_again(table: FlightTable, tmp_path: Path) -> None:
    made = make(table, sizes=Sizes(12, 12, 6))
    write(made, tmp_path / "set.jsonl")
    again, problems = read(tmp_path / "set.jsonl")
    assert (again, problems) == (made, [])
    gold = read_gold(tmp_path / "set.jsonl")
    assert len(gold.questions) >= 18


def test_the_built_in_translator_reaches_the_bars_and_invents_nothing(
    kg: KnowledgeGraph, table: FlightTable, tmp_path: Path
) -> None:
    file = tmp_path / "questions.jsonl"
    write(make(table, seed=21, sizes=SIZES), file)
    report, outcomes = airport.run(Setting(kg, file=file))
    assert [item.id for item in report.tables] == ["sql", "graph", "classes", "reasoning"]
    assert report.options["file"] == str(file)
    rates = {kind: mean(outcomes, "exact", "graph, built-in", kind=kind) for kind in ("straightforward", "reasoning")}
    assert rates["straightforward"] is not None
    assert rates["straightforward"].value >= 0.95
    assert rates["reasoning"] is not None
    assert rates["reasoning"].value >= 0.90
    assert airport.classes_of(outcomes).accuracy >= 0.95
    assert sum(item.numbers["invented"] or 0 for item in outcomes) == 0
    match = mean(outcomes, "match", "graph, built-in", kind="straightforward")
    assert match is not None
    assert match.value > 0.5


def test_a_value_that_no_row_holds_is_found_out(kg: KnowledgeGraph) -> None:
    answer = kg.ask("What is the gate of 20250314-KL787-D?")
    assert answer.verdict is Verdict.ANSWERED
    assert invented(answer, kg.label) == ()
    assert invented(replace(answer, values=("Z99", "42")), kg.label) == ("Z99", "42")


# the rival


def test_sql_is_asked_in_both_styles_and_measured(table: FlightTable) -> None:
    question = next(q for q in make(table, sizes=SIZES) if q.asked.sql and len(q.asked.answers[0]) == 1)
    wrong = "SELECT flight_uid FROM flights LIMIT 0"
    for style in ("odp", "crp"):
        model = ScriptedModel(f"```sql\n{question.asked.sql};\n```", wrong, "DELETE FROM flights", "I do not know.")
        answers = list(ask_sql([question] * 4, table, model, style=style))
        assert [a.exact for a in answers] == [True, False, False, False]
        assert [a.match for a in answers] == [True, False, False, False]
        assert answers[2].problem
        assert "flights" in model.conversations[0][1].content
    columns = columns_of(table)
    assert "CREATE TABLE" in prompt_of("x", columns, style="crp", now="")[1].content
    assert "CREATE TABLE" not in prompt_of("x", columns, style="odp", now="")[1].content
    for style in ("odp", "crp"):
        shown = prompt_of("x", columns, style=style, now="2025-03-15T12:00:00")
        assert "Now is 2025-03-15T12:00:00" in shown[0].content
        assert "'arrival', 'departure'" in shown[1].content
        assert "In min." in shown[1].content


def _recorded_questions(table: FlightTable) -> dict[str, StudyQuestion]:
    """The recorded questions with what the rows say is right, by their text."""
    day, now = "2025-03-15", datetime(2025, 3, 15, 12)  # noqa: DTZ001 (a moment of a table without zones)
    klm = [f for f in table.flights if f["airline"] == "KLM" and f.day.isoformat() == day]
    left = [
        f
        for f in table.between(now - timedelta(hours=4), now, "actual_block_time")
        if f["direction"] == "departure" and f["airline"] == "KLM"
    ]
    partner = table.by_uid[table.by_uid["20250315-KL1352-A"]["connecting_flight_uid"]]
    gold: dict[str, tuple[str, Flight | None, str]] = {
        "Give me KL612 on 15 March 2025's direction.": ("", table.by_uid["20250315-KL612-A"], "direction"),
        "请告诉我2025年3月14日的CD714航班的摆渡车服务。": ("", _of("CD714", table), "bus_service_needed"),
        "2025年3月14日UA71的衔接航班号是什么？": ("", _of("UA71", table), "connecting_flight_number"),
        "How many KLM flights were there on 15 March 2025?": (
            str(sum(f.day.isoformat() == day for f in klm)),
            None,
            "",
        ),
        "2025年3月15日的KL1352航班的衔接航班的始发机场是什么？": (partner["origin"], None, ""),
        "How many KLM flights left in the last 4 hours?": (str(len(left)), None, ""),
    }
    return {
        text: StudyQuestion(
            text,
            Asked(
                "straightforward",
                "recorded",
                "en",
                text,
                right(table, [flight[column] if flight else value]),
                sql=table.sql(flight, column, by_day=True) if flight else "",
            ),
            now.isoformat(),
        )
        for text, (value, flight, column) in gold.items()
    }


def _of(number: str, table: FlightTable) -> Flight:
    return next(f for f in table.flights if f.number == number and f.day.isoformat() == "2025-03-14")


@pytest.mark.parametrize("style", ["odp", "crp"])
def test_statements_that_were_written_for_the_prompts_are_right_by_their_rows(table: FlightTable, style: str) -> None:
    questions = _recorded_questions(table)
    replies = {entry["question"]: entry[style] for entry in _RECORDING["sql"]}
    assert questions.keys() == replies.keys()

    def recorded(messages: Sequence[Message]) -> str:
        return next(reply for text, reply in replies.items() if text in messages[-1].content)

    answers = list(ask_sql(list(questions.values()), table, ScriptedModel(otherwise=recorded), style=style))
    assert [(item.question.id, item.statement) for item in answers if not item.exact] == []
    assert [item.question.id for item in answers if item.match is False] == []
    assert sum(item.match is True for item in answers) == 3


def test_classes_that_were_written_for_the_prompt_are_those_of_the_study(kg: KnowledgeGraph) -> None:
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


def test_without_a_model_sql_says_so(table: FlightTable) -> None:
    with pytest.raises(ConfigError, match="model"):
        list(ask_sql(make(table, sizes=Sizes(2, 0, 0)), table, None, style="odp"))
    with pytest.raises(ConfigError, match="styles are"):
        list(ask_sql([], table, ScriptedModel(), style="other"))


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM flights",
        "DROP TABLE flights",
        "INSERT INTO flights (flight_uid) VALUES ('x')",
        "ATTACH DATABASE '/tmp/x.sqlite' AS x",
        "PRAGMA query_only = OFF",
        "SELECT load_extension('x')",
        "SELECT writefile('/tmp/x', 'y')",
        "CREATE TABLE t AS SELECT * FROM flights",
        "SELECT 1; DELETE FROM flights",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t, flights",
        "nonsense",
    ],
)
def test_the_table_is_only_read_and_not_for_long(
    table: FlightTable, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgplatform.evaluation.airport.sql._SECONDS", 0.3)
    database = SqlTable(table)
    with pytest.raises(QueryRejectedError):
        database.rows(statement)
    assert database.rows("SELECT count(*) FROM flights") == ((str(len(table.flights)),),)
    database.close()


def test_statements_are_found_in_replies_and_compared_without_their_layout() -> None:
    assert statement_of("Sure:\n```sql\nSELECT a\nFROM b;\n```\nDone.") == "SELECT a\nFROM b"
    assert statement_of(" gate FROM flights") == "SELECT gate FROM flights"
    assert statement_of("SELECT 1; DELETE FROM x") == "SELECT 1"
    assert normal_form("SELECT  a FROM b WHERE c = 'X y' ;") == normal_form("select a from b where c='X y'")
    assert normal_form("select a from b where c='x Y'") != normal_form("select a from b where c='X y'")
