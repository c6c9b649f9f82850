"""Questions from which something is missing, and the turns that supply it, in English and Chinese."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from flights import workspace
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from kgplatform import KnowledgeGraph
from kgplatform.errors import ConfigError, OntologyError, ReadError
from kgplatform.questions.dialogue.classify import classify
from kgplatform.questions.dialogue.classify_model import classify_by_model
from kgplatform.questions.dialogue.codes import CodeIndex, numbers_said
from kgplatform.questions.dialogue.frames import Frame
from kgplatform.questions.dialogue.moments import window
from kgplatform.questions.dialogue.parsing import parse_question
from kgplatform.questions.dialogue.scheme import read_schemes
from kgplatform.questions.dialogue.turns import Conversation, Turn
from kgplatform.testing import ScriptedModel
from kgplatform.types import Answer, Verdict

NOW = datetime(2025, 3, 15, 12)  # noqa: DTZ001 (the data has no zones)


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    made = workspace(tmp_path_factory.getbasetemp() / "two-days")
    made.search = lambda *_a, **_k: []  # type: ignore[method-assign]  # no passages here, and no embedder to load
    yield made
    made.close()


@pytest.fixture(scope="module")
def frame(kg: KnowledgeGraph) -> Frame:
    return kg.knowledge.frames[0]


# moments


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("Which flights leave now?", "2025-03-15T11:45:00", "2025-03-15T12:15:00"),
        ("in the last hour", "2025-03-15T11:00:00", "2025-03-15T12:00:00"),
        ("in the last half hour", "2025-03-15T11:30:00", "2025-03-15T12:00:00"),
        ("within two hours", "2025-03-15T12:00:00", "2025-03-15T14:00:00"),
        ("around 2pm", "2025-03-15T13:45:00", "2025-03-15T14:15:00"),
        ("before 9:15 yesterday", "2025-03-14T00:00:00", "2025-03-14T09:15:00"),
        ("between 14:00 and 15:30", "2025-03-15T14:00:00", "2025-03-15T15:30:00"),
        ("at half past two", "2025-03-15T14:30:00", "2025-03-15T14:30:59"),
        ("left at half past two", "2025-03-15T02:30:00", "2025-03-15T02:30:59"),
        ("between 2 and 4 pm", "2025-03-15T14:00:00", "2025-03-15T16:00:00"),
        ("before 9 tomorrow", "2025-03-16T00:00:00", "2025-03-16T09:00:00"),
        ("around noon", "2025-03-15T11:45:00", "2025-03-15T12:15:00"),
        ("今天下午三点到五点", "2025-03-15T15:00:00", "2025-03-15T17:00:00"),
        ("on 11 March", "2025-03-11T00:00:00", "2025-03-11T23:59:59"),
        ("March 11th", "2025-03-11T00:00:00", "2025-03-11T23:59:59"),
        ("3月11日", "2025-03-11T00:00:00", "2025-03-11T23:59:59"),
        ("on the 11th", "2025-03-11T00:00:00", "2025-03-11T23:59:59"),
        ("next Monday", "2025-03-17T00:00:00", "2025-03-17T23:59:59"),
        ("下周一", "2025-03-17T00:00:00", "2025-03-17T23:59:59"),
        ("后天", "2025-03-17T00:00:00", "2025-03-17T23:59:59"),
        ("傍晚", "2025-03-15T17:00:00", "2025-03-15T19:59:59"),
        ("at 14:30 on 12 March 2025", "2025-03-12T14:30:00", "2025-03-12T14:30:59"),
        ("过去两小时内", "2025-03-15T10:00:00", "2025-03-15T12:00:00"),
        ("今天下午三点半", "2025-03-15T15:30:00", "2025-03-15T15:30:59"),
        ("14点左右", "2025-03-15T13:45:00", "2025-03-15T14:15:00"),
        ("2025年3月14日", "2025-03-14T00:00:00", "2025-03-14T23:59:59"),
        ("昨天上午", "2025-03-14T06:00:00", "2025-03-14T11:59:59"),
    ],
)
def test_words_for_time_become_a_window_reckoned_from_now(text: str, low: str, high: str) -> None:
    found = window(text, NOW)
    assert found is not None
    assert (found.low.isoformat(), found.high.isoformat()) == (low, high)


@pytest.mark.parametrize("text", ["What time is it due?", "几点到？", "20250314-KL787-D", "gate D46", "25:99"])
def test_what_names_no_time_is_no_window(text: str) -> None:
    assert window(text, NOW) is None


@given(st.text(max_size=80))
@settings(max_examples=200, deadline=None)
def test_a_window_ends_no_earlier_than_it_begins_but_where_a_range_is_backwards(text: str) -> None:
    found = window(text, NOW)
    assert found is None or found.low <= found.high or found.sharp


# codes


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("Where is 0123?", ["0123"]),
        ("flight seven eight seven", ["787"]),
        ("七八七航班", ["787"]),
        ("幺两三航班", ["123"]),
        ("in 20 minutes at 14:30, gate 12", []),
        ("十五分钟，3个航班", []),
    ],
)
def test_numbers_that_may_be_codes_are_heard(text: str, digits: list[str]) -> None:
    assert [said.digits for said in numbers_said(text)] == digits


def test_a_number_in_part_fits_its_own_number_first_and_else_what_holds_it() -> None:
    index = CodeIndex(("KL123", "BA123", "KL1234", "KL787"))
    assert index.candidates("0123") == ("BA123", "KL123")
    assert index.candidates("123", ["KL"]) == ("KL123",)
    assert index.candidates("23") == ("BA123", "KL123", "KL1234")
    assert index.known("kl", "0787") == "KL787"
    assert index.candidates("999") == ()


# classes


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("1", "Which flights leave now?"),
        ("1", "When does the flight at gate D16 leave?"),
        ("1", "过去一小时有哪些航班到达？"),
        ("2", "What is boarding at gate D16?"),
        ("2", "Which flight is at this gate?"),
        ("2", "这个登机口是哪个航班？"),
        ("3", "What is the next flight after KL787?"),
        ("3", "KLM的下一个航班是哪个？"),
        ("4", "When does the Delta flight leave?"),
        ("4", "14:00左右有哪些KLM航班到达？"),
        ("5", "KLM gate?"),
        ("5", "达美在哪里登机？"),
        ("6", "Which gate does flight seven eight seven use?"),
        ("6", "When does the 0787 leave now?"),
        ("6", "七八七航班在哪个登机口？"),
        ("none", "KLM 787 gate?"),
        ("none", "How many flights are operated by KLM?"),
        ("none", "Which airline has the most flights?"),
        ("none", "What is the callsign of Delta?"),
        ("none", "2025年3月14日的KL787航班停在哪个机位？"),
        ("none", "How many flights departed in the last hour?"),
    ],
)
def test_a_question_is_of_the_class_that_its_gap_makes(kg: KnowledgeGraph, frame: Frame, label: str, text: str) -> None:
    parsed = parse_question(text, frame, kg.knowledge.translator, NOW)
    assert classify(parsed, frame).notation == label


def test_a_model_classifies_and_a_reply_that_names_no_class_falls_back(kg: KnowledgeGraph, frame: Frame) -> None:
    now = frame.now(None, NOW)
    parsed = parse_question("KLM gate?", frame, kg.knowledge.translator, NOW)
    model = ScriptedModel("**Class: 5** (an airline alone)", "I cannot say.", "2 or 3")
    given = [classify_by_model(parsed, frame, now, model) for _ in range(3)]
    assert [item.classified.notation for item in given] == ["5", "5", "5"]
    assert [item.classified.by for item in given] == ["scripted", "built-in", "built-in"]
    assert given[1].note
    system, user = model.conversations[0]
    assert "Only a part of a flight number is given, such as its digits without the letters of the airline: 6" in (
        system.content
    )
    assert "outranks" in user.content
    assert "KLM gate?" in user.content
    assert "Where is Delta boarding?" in user.content


# ways


def ask(kg: KnowledgeGraph, text: str) -> Answer:
    return kg.ask(text, now=NOW.isoformat())


def test_flights_of_a_window_are_listed_and_now_is_told(kg: KnowledgeGraph) -> None:
    answer = ask(kg, "Which flights leave now?")
    assert set(answer.values) == {"20250315-DL49-D", "20250315-TP663-D", "20250315-KL1275-D", "20250315-IB3721-D"}
    assert "15 Mar 2025 12:00" in answer.text
    assert "now" in answer.text.casefold()
    assert answer.query is not None
    assert ask(kg, "现在有哪些航班出发？").values == answer.values


def test_now_is_that_of_the_data_where_the_clock_is_far_from_it(kg: KnowledgeGraph) -> None:
    assert "when the data was last changed" in kg.ask("Which flights leave now?").text


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("Which flights are delayed now?", True),
        ("现在哪些航班晚点？", True),
        ("Which KLM flights are delayed?", True),
        ("Which flights are on time?", False),
        ("哪些航班准点？", False),
        ("准点的航班有哪些", False),
    ],
)
def test_flights_in_a_state_that_their_times_tell_are_listed(kg: KnowledgeGraph, text: str, *, holds: bool) -> None:
    answer = ask(kg, text)
    assert answer.verdict is Verdict.ANSWERED
    assert answer.solutions.variables == ("thing", "begins", "ends")
    moments = [(row[1].value, row[2].value) for row in answer.solutions.rows]  # type: ignore[union-attr]
    assert len(moments) == len(answer.values) > 0
    assert all((ends > begins) is holds for begins, ends in moments)
    assert all(begins < "2025-03-16" for begins, _ in moments)
    if "KLM" in text:
        assert all("-KL" in value for value in answer.values)
    void = ("Cancelled", "Diverted")
    rows = kg.query("SELECT ?uid ?s WHERE { ?f airport:flightUid ?uid ; airport:flightState ?s }").rows
    gone = {uid.value for uid, s in rows if str(s).endswith(tuple(f"{v}>" for v in void))}  # type: ignore[union-attr]
    assert gone.isdisjoint(answer.values)


def test_how_many_and_whether_any_are_late_agree_with_the_list(kg: KnowledgeGraph) -> None:
    late = ask(kg, "Which flights are delayed now?").values
    assert ask(kg, "How many flights are delayed now?").values == (str(len(late)),)
    assert ask(kg, "有多少航班延误？").values == (str(len(late)),)
    assert ask(kg, "Are any flights delayed?").values == ("Yes",)
    afternoon = ask(kg, "Which arrivals are late this afternoon?")
    assert afternoon.verdict is Verdict.ANSWERED
    assert len(afternoon.values) > 10
    assert all(value.startswith("20250315") and value.endswith("-A") for value in afternoon.values)
    assert ask(kg, "今天下午哪些到港航班延误？").values == afternoon.values


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Is gate D16 haunted?", "haunted"),
        ("D16登机口闹鬼吗？", "闹鬼"),
        ("Is KLM reliable?", "reliable"),
        ("KLM可靠吗？", "可靠"),
    ],
)
def test_a_yes_or_no_is_not_said_around_a_word_that_nothing_knows(kg: KnowledgeGraph, text: str, word: str) -> None:
    answer = ask(kg, text)
    assert answer.verdict is Verdict.UNANSWERABLE
    assert word in answer.text
    assert not answer.values


def test_a_board_question_without_a_gate_asks_for_one_with_the_details_one_may_add(kg: KnowledgeGraph) -> None:
    for text, detail in (("Which flight is at this gate?", "flight number"), ("这个登机口是哪个航班？", "航班号")):
        answer = ask(kg, text)
        assert answer.verdict is Verdict.UNCLEAR
        assert answer.clarification is not None
        assert detail in answer.clarification.options


def test_a_gate_that_is_not_there_is_said_with_those_near_it(kg: KnowledgeGraph) -> None:
    answer = ask(kg, "Which flight is at gate C99?")
    assert answer.verdict is Verdict.UNCLEAR
    assert "C99" in answer.text
    assert not answer.values


def test_the_next_flight_on_a_ramp_is_the_one_that_comes_to_stand_there_next(kg: KnowledgeGraph) -> None:
    answer = ask(kg, "What is the next flight on the same ramp after 20250314-KL787-D?")
    assert answer.values == ("20250314-KL651-D",)


def test_an_incomplete_number_is_read_as_the_one_it_fits_or_asked_back(kg: KnowledgeGraph) -> None:
    one, several = ask(kg, "Which gate does 0787 use?"), ask(kg, "Which gate does 56 use?")
    assert "KL787" in one.text
    assert one.verdict is Verdict.ANSWERED
    assert several.clarification is not None
    assert all("56" in option for option in several.clarification.options)
    assert ask(kg, "Where is flight 9999?").verdict is Verdict.UNANSWERABLE


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("How late was KL787 on 14 March 2025?", "4"),
        ("How many minutes was 20250314-KL787-D on its ramp?", "117"),
        ("How many hours is the MTT of 20250314-KL787-D?", "1.33"),
        ("KL787在2025年3月14日从登机到推出用了多少分钟？", "41"),
        ("Which took off first, 20250314-KL787-D or 20250314-KL601-D?", "20250314-KL601-D"),
        ("How many flights departed in the last hour?", "12"),
    ],
)
def test_times_are_reckoned_with(kg: KnowledgeGraph, text: str, value: str) -> None:
    assert ask(kg, text).values == (value,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?!",
        "x" * 10_000,
        "now '; DROP ALL } > {",
        "KL787 KL787 KL787",
        "下下下",
        "at 14:30 in Atlantis",
        "0123 0456",
    ],
)
def test_odd_questions_get_a_verdict(kg: KnowledgeGraph, text: str) -> None:
    before = len(kg.store)
    assert ask(kg, text).verdict in Verdict
    assert len(kg.store) == before


@given(st.text(max_size=60))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_gets_a_verdict(kg: KnowledgeGraph, text: str) -> None:
    assert ask(kg, f"When does {text} leave?").verdict in Verdict


# conversation


def test_a_reply_picks_an_option_by_place_name_or_detail(kg: KnowledgeGraph) -> None:
    for name, reply in (("place", "the second one"), ("zh", "第二个"), ("name", "DL135")):
        first = kg.ask("When does the Delta flight leave?", conversation=name, now=NOW.isoformat())
        assert first.verdict is Verdict.UNCLEAR
        assert kg.ask(reply, conversation=name, now=NOW.isoformat()).values == ("2025-03-15T13:07:00",)
    kg.ask("Which gate does 56 use?", conversation="code", now=NOW.isoformat())
    picked = kg.ask("KL566", conversation="code", now=NOW.isoformat())
    assert picked.verdict is Verdict.ANSWERED


def test_a_detail_that_was_asked_for_completes_the_question(kg: KnowledgeGraph) -> None:
    kg.ask("Which flight is at this gate?", conversation="gate", now=NOW.isoformat())
    answer = kg.ask("D46", conversation="gate", now=NOW.isoformat())
    assert answer.values == ("20250315-OR363-D",)
    assert answer.question.text == "D46"
    assert any("taken as" in line for line in answer.trace)


def test_a_short_question_takes_over_what_the_last_one_asked(kg: KnowledgeGraph) -> None:
    asked = [
        kg.ask(text, conversation="short").values
        for text in ("What is the ramp of 20250314-KL787-D?", "and its pier?", "and 20250314-KL601-D?")
    ]
    assert asked[0] == ("D46",)
    assert asked[1] == ("D",)
    row = kg.ask("What is the pier of 20250314-KL601-D?").values
    assert asked[2] == row


def test_a_whole_new_question_is_not_taken_for_a_reply(kg: KnowledgeGraph) -> None:
    kg.ask("When does the Delta flight leave?", conversation="new", now=NOW.isoformat())
    answer = kg.ask("What is the callsign of KLM?", conversation="new", now=NOW.isoformat())
    assert answer.values == ("KLM",)


def test_turns_survive_and_a_broken_or_misnamed_conversation_is_said(tmp_path: Path) -> None:
    kept = Conversation(tmp_path, "a.b-1")
    turns = [Turn(said=f"{n}", question=f"{n}", answer="") for n in range(30)]
    kept.keep(turns)
    assert Conversation(tmp_path, "a.b-1").turns() == tuple(turns[-20:])
    (tmp_path / "conversations" / "a.b-1.json").write_text('{"not": "turns"}', encoding="utf-8")
    with pytest.raises(ReadError, match="no conversation"):
        kept.turns()
    for name in ("", "../up", "a/b", "x" * 65):
        with pytest.raises(ConfigError, match="no name"):
            Conversation(tmp_path, name)


def test_now_that_is_no_moment_is_said(kg: KnowledgeGraph) -> None:
    with pytest.raises(ConfigError, match="2025-03-15T12:00"):
        kg.ask("Which flights leave now?", now="noon")


# the file


def test_the_scheme_of_an_ontology_is_read_and_a_faulty_one_is_said(tmp_path: Path) -> None:
    (scheme,) = read_schemes([Path("ontology/airport.ttl").absolute()])
    assert [item.notation for item in scheme.classes] == ["1", "2", "3", "4", "5", "6"]
    assert all({w.language for w in (*item.words, *item.examples)} == {"en", "zh"} for item in scheme.classes)
    assert read_schemes([Path("ontology/travel.ttl").absolute()]) == ()
    faulty = tmp_path / "mine.questions.ttl"
    faulty.write_text("@prefix q: <https://w3id.org/kgplatform/questions#> . <http://x> a q:Scheme .", encoding="utf-8")
    with pytest.raises(OntologyError, match="what it is about"):
        read_schemes([tmp_path / "mine.ttl"])
    faulty.write_text("<<<", encoding="utf-8")
    with pytest.raises(OntologyError, match=r"mine\.questions\.ttl"):
        read_schemes([tmp_path / "mine.ttl"])


def test_every_term_of_the_scheme_is_declared_by_the_ontology(kg: KnowledgeGraph, frame: Frame) -> None:
    scheme = frame.scheme
    single = (scheme.identifier, scheme.code, scheme.owner, scheme.owner_code, scheme.moment, scheme.timetable)
    rest = (scheme.changed, scheme.successor, scheme.queue, *scheme.places, *scheme.details, *scheme.queue_moments)
    spans = [end for span in scheme.spans for end in (span.begins, span.ends)]
    assert {p for p in (*single, *rest, *spans) if p} <= set(kg.ontology.properties)
    assert {term for term, _ in scheme.said} <= set(kg.ontology.individuals)
    assert {term for term, _ in scheme.markers} <= set(kg.ontology.properties)


def test_a_clarification_of_namesakes_in_any_ontology_is_answered_by_one_of_them(tmp_path: Path) -> None:
    data = tmp_path / "places.ttl"
    data.write_text(
        """@prefix : <http://x/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        :s1 a :Town ; rdfs:label "Springfield" ; :state :il ; :founded 1821 .
        :s2 a :Town ; rdfs:label "Springfield" ; :state :ma ; :founded 1636 .
        :il a :State ; rdfs:label "Illinois" . :ma a :State ; rdfs:label "Massachusetts" .""",
        encoding="utf-8",
    )
    with KnowledgeGraph.create(tmp_path / "kg") as kg:
        kg.load(data)
        kg.search = lambda *_a, **_k: []  # type: ignore[method-assign]
        first = kg.ask("When was Springfield founded?", conversation="s")
        assert first.clarification is not None
        assert len(first.clarification.things) == 2
        assert NamedNode("http://x/s2") in first.clarification.things
        assert kg.ask("the one in Massachusetts", conversation="s").values == ("1636",)
        kept = json.loads((kg.folder / "conversations" / "s.json").read_text(encoding="utf-8"))
        assert [turn["said"] for turn in kept] == ["When was Springfield founded?", "the one in Massachusetts"]
