"""The longest delay and its kin, counts of many flights, and questions that are of no flight, over two days."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest
from flights import workspace
from pyoxigraph import Literal

from kgplatform import KnowledgeGraph
from kgplatform.types import Answer, Verdict

NOW = "2025-03-15T12:00:00"


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    made = workspace(tmp_path_factory.getbasetemp() / "two-days")
    made.search = lambda *_a, **_k: []  # type: ignore[method-assign]  # no passages here, and no embedder to load
    yield made
    made.close()


def ask(kg: KnowledgeGraph, text: str) -> Answer:
    return kg.ask(text, now=NOW)


def _delays(kg: KnowledgeGraph, day: str) -> dict[str, int]:
    """The minutes by which the flights of a day are later than planned, by flight."""
    rows = kg.query(
        """SELECT ?uid ?planned ?at ?state WHERE {
             ?f airport:flightUid ?uid ; airport:scheduledBlockTime ?planned ; airport:flightState ?state .
             OPTIONAL { ?f airport:actualBlockTime ?actual } OPTIONAL { ?f airport:bestBlockTime ?best }
             BIND(COALESCE(?actual, ?best) AS ?at) }"""
    ).rows
    found = {}
    for uid, planned, at, state in rows:
        assert isinstance(uid, Literal)
        assert isinstance(planned, Literal)
        void = str(state).endswith(("Cancelled>", "Diverted>"))
        if isinstance(at, Literal) and planned.value.startswith(day) and not void:
            length = datetime.fromisoformat(at.value) - datetime.fromisoformat(planned.value)
            found[uid.value] = int(length.total_seconds() // 60)
    return found


@pytest.mark.parametrize("text", ["What is the longest delay today?", "今天最长的延误是多少？"])
def test_the_longest_delay_is_how_long_it_is_in_minutes(kg: KnowledgeGraph, text: str) -> None:
    answer = ask(kg, text)
    assert answer.verdict is Verdict.ANSWERED
    assert answer.values == (str(max(_delays(kg, "2025-03-15").values())),)


@pytest.mark.parametrize(
    "text", ["Which flight has the longest delay today?", "今天延误最久的航班是哪个？", "most delayed flight today"]
)
def test_the_flight_with_the_longest_delay_is_named(kg: KnowledgeGraph, text: str) -> None:
    delays = _delays(kg, "2025-03-15")
    answer = ask(kg, text)
    assert {delays[value] for value in answer.values} == {max(delays.values())}


@pytest.mark.parametrize(
    "text",
    [
        "哪个航空公司延误的航班最多？",
        "Which airline has the most delays?",
        "What is the average delay today?",
        "Why are flights delayed?",
        "航班为什么延误？",
    ],
)
def test_what_is_not_told_of_delays_is_refused_and_nothing_else_is_said(kg: KnowledgeGraph, text: str) -> None:
    answer = ask(kg, text)
    assert answer.verdict is Verdict.UNANSWERABLE
    assert not answer.values


def test_delays_are_counted_and_said_to_be_there(kg: KnowledgeGraph) -> None:
    late = [minutes for minutes in _delays(kg, "2025-03-15").values() if minutes > 0]
    assert ask(kg, "How many delays are there today?").values == (str(len(late)),)
    assert ask(kg, "Are there any delays?").values == ("Yes",)


@pytest.mark.parametrize("text", ["How many flights are there on 15 March 2025?", "2025年3月15日有多少航班？"])
def test_all_flights_of_a_day_are_counted_however_many(kg: KnowledgeGraph, text: str) -> None:
    rows = kg.query(
        """SELECT ?f WHERE { ?f airport:bestBlockTime ?at . FILTER(STRSTARTS(STR(?at), "2025-03-15")) }"""
    ).rows
    assert len(rows) > 400
    assert ask(kg, text).values == (str(len(rows)),)


@pytest.mark.parametrize("text", ["Tell me about KLM", "介绍一下KLM"])
def test_an_airline_is_told_of_and_no_board_is_shown(kg: KnowledgeGraph, text: str) -> None:
    answer = ask(kg, text)
    assert "KL" in answer.text
    assert not any(value.startswith("2025") for value in answer.values)
