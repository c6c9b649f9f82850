"""Conversations about flights: what a question leaves out, turns that supply it, times, states, words nobody knows."""

from __future__ import annotations

import csv
import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import pytest
from asked import cases, tables
from flights import flights, rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from kgplatform.errors import ConfigError, OntologyError, ReadError
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import ScriptedModel
from kgplatform.questions.dialogue.conversation import is_leave, tidied
from kgplatform.questions.dialogue.question_class import classify, classify_by_model
from kgplatform.questions.dialogue.replies import Conversation, Turn
from kgplatform.questions.dialogue.request import parse_question
from kgplatform.questions.dialogue.scheme import numbers_said, read_schemes
from kgplatform.questions.dialogue.times import window
from kgplatform.types import Verdict

ROOT = Path(__file__).resolve().parents[1]
NOW = datetime(2025, 3, 15, 12)  # noqa: DTZ001 (the data has no zones)
SPOKEN = read_schemes([ROOT / "ontology" / "airport.ttl"])[0].spoken()
DOCS = ROOT / "docs" / "questions.md"
TABLES = tables("flights")


@pytest.fixture(scope="module")
def kg(tmp_path_factory):
    with flights(tmp_path_factory) as made:
        yield made


@pytest.fixture(scope="module")
def frame(kg):
    return kg.knowledge.frames[0]


def ask(kg, text, conversation=None):
    return kg.ask(text, conversation=conversation, now=NOW.isoformat())


def talk(kg, name, *turns):
    """The answer to the last of the turns; each is a new reading of what was kept."""
    return [ask(kg, turn, name) for turn in turns][-1]


def first(after, **wanted):
    """The flight that the rows have first from a moment on."""
    found = [r for r in rows() if r["best_block_time"] >= after and all(r[k] == v for k, v in wanted.items())]
    return min(found, key=lambda r: (r["best_block_time"], r["flight_uid"]))["flight_uid"]


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("Which flights leave now?", "2025-03-15T11:45:00", "2025-03-15T12:15:00"),
        ("in the last half hour", "2025-03-15T11:30:00", "2025-03-15T12:00:00"),
        ("within two hours", "2025-03-15T12:00:00", "2025-03-15T14:00:00"),
        ("before 9:15 yesterday", "2025-03-14T00:00:00", "2025-03-14T09:15:00"),
        ("between 14:00 and 15:30", "2025-03-15T14:00:00", "2025-03-15T15:30:00"),
        ("left at half past two", "2025-03-15T02:30:00", "2025-03-15T02:30:59"),
        ("between 2 and 4 pm", "2025-03-15T14:00:00", "2025-03-15T16:00:00"),
        ("around noon", "2025-03-15T11:45:00", "2025-03-15T12:15:00"),
        ("on 11 March", "2025-03-11T00:00:00", "2025-03-11T23:59:59"),
        ("on the 11th", "2025-03-11T00:00:00", "2025-03-11T23:59:59"),
        ("next Monday", "2025-03-17T00:00:00", "2025-03-17T23:59:59"),
        ("at 14:30 on 12 March 2025", "2025-03-12T14:30:00", "2025-03-12T14:30:59"),
        ("今天下午三点到五点", "2025-03-15T15:00:00", "2025-03-15T17:00:00"),
        ("下周一", "2025-03-17T00:00:00", "2025-03-17T23:59:59"),
        ("过去两小时内", "2025-03-15T10:00:00", "2025-03-15T12:00:00"),
        ("14点左右", "2025-03-15T13:45:00", "2025-03-15T14:15:00"),
        ("2025年3月14日", "2025-03-14T00:00:00", "2025-03-14T23:59:59"),
        ("昨天上午", "2025-03-14T06:00:00", "2025-03-14T11:59:59"),
        *((text, None, None) for text in ("What time is it due?", "几点到？", "20250314-KL787-D", "gate D46", "25:99")),
    ],
)
def test_words_for_time_become_a_window_reckoned_from_now(text, low, high):
    found = window(text, NOW)
    assert (found and found.low.isoformat(), found and found.high.isoformat()) == (low, high)


@pytest.mark.slow
@given(st.text(max_size=80))
@settings(max_examples=200, deadline=None)
def test_a_window_ends_no_earlier_than_it_begins_but_where_a_range_is_backwards(text):
    found = window(text, NOW)
    assert found is None or found.low <= found.high or found.sharp


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("Where is 0123?", ["0123"]),
        ("flight seven eight seven", ["787"]),
        ("幺两三航班", ["123"]),
        *(
            (text, [])
            for text in ("in 20 minutes at 14:30, gate 12", "十五分钟，3个航班", "KL on 11th", "25 euros", "€ 25")
        ),
    ],
)
def test_numbers_that_may_be_codes_are_heard(text, digits):
    assert [said.digits for said in numbers_said(text, spoken=SPOKEN)] == digits


@pytest.mark.parametrize(("text", "label"), list(cases(TABLES["classes"])))
def test_a_question_is_of_the_class_that_its_gap_makes(kg, frame, text, label):
    parsed = parse_question(text, frame, kg.knowledge.translator, NOW)
    assert {classify(parsed, frame).notation} == label


def test_a_model_classifies_and_a_reply_that_names_no_class_falls_back(kg, frame):
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
    assert all(part in user.content for part in ("outranks", "KLM gate?", "Where is Delta boarding?"))


def test_flights_of_a_window_are_listed_and_now_is_told(kg):
    answer = ask(kg, "Which flights leave now?")
    assert set(answer.values) == {"20250315-DL49-D", "20250315-TP663-D", "20250315-KL1275-D", "20250315-IB3721-D"}
    assert all(part in answer.text.casefold() for part in ("15 mar 2025 12:00", "now"))
    assert ask(kg, "现在有哪些航班出发？").values == answer.values
    assert "when the data was last changed" in kg.ask("Which flights leave now?").text
    with pytest.raises(ConfigError, match="2025-03-15T12:00"):
        kg.ask("Which flights leave now?", now="noon")


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
def test_flights_in_a_state_that_their_times_tell_are_listed(kg, text, *, holds):
    answer = ask(kg, text)
    assert (answer.verdict, answer.solutions.variables) == (Verdict.ANSWERED, ("thing", "begins", "ends"))
    moments = [(row[1].value, row[2].value) for row in answer.solutions.rows]
    assert len(moments) == len(answer.values) > 0
    assert all((ends > begins) is holds for begins, ends in moments)
    assert all(begins < "2025-03-16" for begins, _ in moments)
    if "KLM" in text:
        assert all("-KL" in value for value in answer.values)
    void = ("Cancelled", "Diverted")
    rows = kg.query("SELECT ?uid ?s WHERE { ?f airport:flightUid ?uid ; airport:flightState ?s }").rows
    gone = {uid.value for uid, s in rows if str(s).endswith(tuple(f"{v}>" for v in void))}
    assert gone.isdisjoint(answer.values)


def test_how_many_and_whether_any_are_late_agree_with_the_list(kg):
    late = ask(kg, "Which flights are delayed now?").values
    assert ask(kg, "How many flights are delayed now?").values == (str(len(late)),)
    assert ask(kg, "有多少航班延误？").values == (str(len(late)),)
    assert ask(kg, "Are any flights delayed?").values == ("Yes",)
    afternoon = ask(kg, "Which arrivals are late this afternoon?")
    assert afternoon.verdict is Verdict.ANSWERED
    assert len(afternoon.values) > 10
    assert all(value.startswith("20250315") and value.endswith("-A") for value in afternoon.values)
    assert ask(kg, "今天下午哪些到港航班延误？").values == afternoon.values


@pytest.mark.parametrize(("text", "told"), list(cases(TABLES["told"])))
def test_times_states_and_places_of_flights_are_told(kg, text, told):
    answer = ask(kg, text)
    assert answer.verdict is Verdict.ANSWERED
    assert all(part in f"{answer.values} {answer.text}" for part in told)


@pytest.mark.parametrize(("text", "words"), list(cases(TABLES["unknown"])))
def test_what_nothing_in_the_graph_expresses_is_said_and_no_yes_or_no_made_up(kg, text, words):
    answer = ask(kg, text)
    assert (answer.verdict, answer.values) == (Verdict.UNANSWERABLE, ())
    assert all(word in answer.text for word in words)


@pytest.mark.parametrize(("text", "words"), list(cases(TABLES["asked_back"])))
def test_what_is_missing_or_not_there_is_asked_for(kg, text, words):
    answer = ask(kg, text)
    assert (answer.verdict, answer.values) == (Verdict.UNCLEAR, ())
    assert all(word in f"{answer.text} {answer.clarification}" for word in words)


HOSTILE = (
    *(
        "",
        "?!",
        "x" * 10_000,
        "now '; DROP ALL } > {",
        "KL787 KL787 KL787",
        "下下下",
        "0123 0456",
        "at 14:30 in Atlantis",
    ),
    *("KL787'; DROP ALL; <script>alert(1)</script> gate?", "\x00\x00", "is it \ud83d\ude00 } UNION { ?s ?p ?o"),
)
ENDLESS = ("hi " * 3_000, "and the one after that?" * 400, "0" * 10_000)


@pytest.mark.parametrize("text", [*HOSTILE, *(pytest.param(text, marks=pytest.mark.slow) for text in ENDLESS)])
def test_odd_and_hostile_turns_get_a_verdict_and_change_nothing(kg, text):
    before = len(kg.store)
    assert talk(kg, "hostile", "What is the next KLM flight?", text, text).verdict in Verdict
    assert len(kg.store) == before


@pytest.mark.slow
@given(st.text(max_size=60))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_gets_a_verdict(kg, text):
    assert ask(kg, f"When does {text} leave?").verdict in Verdict


@pytest.mark.parametrize(
    ("turns", "value"),
    [
        *(
            (("When does the Delta flight leave?", reply), "2025-03-15T13:07:00")
            for reply in ("the second one", "DL135")
        ),
        (("When does the Delta flight leave?", "第二个"), "2025-03-15T13:07:00"),
        (("When does the Delta flight leave?", "What is the callsign of KLM?"), "KLM"),
        (("Which flight is at this gate?", "D46"), "20250315-OR363-D"),
        (("What is the ramp of 20250314-KL787-D?", "and its pier?"), "D"),
        (("What is the ramp of 20250314-KL787-D?", "and 20250314-KL601-D?"), "E14"),
    ],
)
def test_a_turn_picks_an_option_adds_a_detail_takes_over_or_asks_anew(kg, turns, value):
    assert talk(kg, f"turns-{abs(hash(turns)) % 10**8}", *turns).values == (value,)


@pytest.mark.parametrize(
    ("text", "after", "wanted"),
    [
        ("What is the next KLM flight after 14:30?", "2025-03-15T14:30", {"airline": "KLM"}),
        ("next klm departure after 6pm pls", "2025-03-15T18:00", {"airline": "KLM", "direction": "departure"}),
        ("下午3点以后荷航的下一班出发航班是什么？", "2025-03-15T15:00", {"airline": "KLM", "direction": "departure"}),
        ("Next plane at gate C five?", "2025-03-15T12:00", {"gate": "C05"}),
    ],
)
def test_the_next_one_is_that_after_the_time_which_is_said(kg, text, after, wanted):
    assert ask(kg, text).values == (first(after, **wanted),)


def test_a_code_without_a_day_is_answered_for_each_day_with_todays_first(kg):
    answer = ask(kg, "Where is 0787?")
    gates = {r["flight_uid"]: r["gate"] for r in rows() if r["flight_number"] == "KL787"}
    assert answer.values == (gates["20250315-KL787-D"], gates["20250314-KL787-D"])
    assert all(part in answer.text for part in ("15 Mar 2025: gate F05", "14 Mar 2025: gate D46"))


@pytest.mark.parametrize(
    ("turns", "said"),
    [
        (("Which gate?", "KL1001 on 14 March"), "D31"),
        (("哪个登机口？", "KL1001，3月14日"), "D31"),
        (("Which gate is KL641 today?", "and yesterday?"), "D42"),
        (("What gate is KL1791?", "is it delayed?"), "11 minutes"),
        (("KL1791在哪个登机口？", "它延误了吗？"), "11分钟"),
        (("What is the next KLM flight?", "same for Delta"), "DL162"),
        (("KLM荷航下一个出发航班是什么？", "达美呢？"), "DL75"),
    ],
)
def test_a_turn_leans_on_the_last_for_its_day_and_thing(kg, turns, said):
    name = f"lean-{abs(hash(turns)) % 10**8}"
    assert said in talk(kg, name, *turns).text


def test_the_one_after_that_goes_on_along_the_same_order(kg):
    now = NOW.isoformat()
    later = sorted(
        (r["best_block_time"], r["flight_uid"])
        for r in rows()
        if r["airline"] == "KLM" and r["destination"] in ("LHR", "LGW", "LTN", "LCY") and r["best_block_time"] >= now
    )
    asked = [talk(kg, "on", text) for text in ("next KLM departure to London?", "and the one after that?", "再下一个")]
    assert [answer.values for answer in asked if answer.values] == [(uid,) for _, uid in later[:3]]


def test_a_conversation_is_left_without_asking_on(kg):
    assert talk(kg, "leave", "Which gate does 56 use?", "cancel").clarification is None
    assert talk(kg, "leave", "KL1791 gate").values
    assert is_leave("算了")
    assert not is_leave("Is KL787 cancelled?")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("hi there, which gate is DL75 at please?", "which gate is DL75 at?"),
        ("你好，请问KL1791在哪个登机口，谢谢", "KL1791在哪个登机口"),
        ("gate C zero five", "gate C05"),
        ("\x00KL787\x00 gate", "KL787  gate"),
        ("hello", "hello"),
        ("逛完街我们想找一家有泳池的宾馆住宿，有什么推荐吗？", "我们想找一家有泳池的宾馆？"),
        ("西塘附近可以住宿的客栈有哪些？", "西塘附近客栈有哪些？"),
        ("您知道灵隐寺的门票吗？", "灵隐寺的门票是什么？"),
        ("after lunch I'd like to see a museum", "I'd like to see a museum"),
        *((text, text) for text in ("逛完西塘去哪儿", "鲁迅住的客栈是哪家？", "what opened after lunch")),
    ],
)
def test_what_only_surrounds_a_question_is_left_out(text, kept):
    assert tidied(text, SPOKEN) == kept


def test_the_terms_that_a_scheme_uses_are_documented():
    section = DOCS.read_text(encoding="utf-8").split("### The vocabulary", 1)[1].split("\n## ", 1)[0]
    table = set(re.findall(r"^\| `q:(\w+)`", section, re.MULTILINE))
    used = re.findall(r"q:(\w+)", (ROOT / "ontology" / "airport.questions.ttl").read_text(encoding="utf-8"))
    assert {"Scheme", "QuestionClass", "Span"} & table <= table >= set(used)


def test_the_worked_example_of_the_documentation_answers_its_questions(tmp_path):
    section = DOCS.read_text(encoding="utf-8").split("### The vocabulary", 1)[1]
    ontology, questions = re.findall(r"```turtle\n(.*?)```", section, re.DOTALL)[:2]
    (tmp_path / "clinic.ttl").write_text(ontology, encoding="utf-8")
    (tmp_path / "clinic.questions.ttl").write_text(questions, encoding="utf-8")
    data = tmp_path / "data.ttl"
    lines = [
        "@prefix c: <https://example.org/clinic#> . @prefix : <https://example.org/visit/> .",
        "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .",
        ':room3 a c:Room ; rdfs:label "B3" . :room4 a c:Room ; rdfs:label "B4" .',
    ]
    for number, room, due, began in csv.reader(["41,3,09:00,09:20", "42,4,10:00,", "43,3,11:00,"]):
        said = f' ; c:began "2025-03-10T{began}:00"^^xsd:dateTime' if began else ""
        lines.append(
            f':a{number} a c:Appointment ; rdfs:label "AP{number}" ; c:number "AP{number}" ; c:room :room{room} ;'
            f' c:due "2025-03-10T{due}:00"^^xsd:dateTime{said} .'
        )
    data.write_text("\n".join(lines), encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "kg", ontology=str(tmp_path / "clinic.ttl")) as made:
        made.load(data)
        made.search = lambda *_a, **_k: []
        now = "2025-03-10T09:30:00"
        assert made.ask("What is the next appointment?", now=now).values == ("AP42",)
        assert made.ask("What is the next appointment after 10:30?", now=now).values == ("AP43",)
        late = made.ask("Is AP41 late?", now=now)
        assert late.values == ("Yes",)
        assert "20 minutes" in late.text


def test_turns_survive_and_a_broken_or_misnamed_conversation_is_said(tmp_path):
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


def test_the_scheme_of_an_ontology_is_read_and_a_faulty_one_is_said(tmp_path):
    (scheme,) = read_schemes([ROOT / "ontology" / "airport.ttl"])
    assert [item.notation for item in scheme.classes] == ["1", "2", "3", "4", "5", "6"]
    assert all({w.language for w in (*item.words, *item.examples)} == {"en", "zh"} for item in scheme.classes)
    assert read_schemes([ROOT / "ontology" / "travel.ttl"]) == ()
    faulty = tmp_path / "mine.questions.ttl"
    faulty.write_text("@prefix q: <https://w3id.org/kgplatform/questions#> . <http://x> a q:Scheme .", encoding="utf-8")
    with pytest.raises(OntologyError, match="what it is about"):
        read_schemes([tmp_path / "mine.ttl"])
    faulty.write_text("<<<", encoding="utf-8")
    with pytest.raises(OntologyError, match=r"mine\.questions\.ttl"):
        read_schemes([tmp_path / "mine.ttl"])


def test_every_term_of_the_scheme_is_declared_by_the_ontology(kg, frame):
    scheme = frame.scheme
    single = (scheme.identifier, scheme.code, scheme.owner, scheme.owner_code, scheme.moment, scheme.timetable)
    rest = (scheme.changed, scheme.successor, scheme.queue, *scheme.places, *scheme.details, *scheme.queue_moments)
    spans = [end for span in scheme.spans for end in (span.begins, span.ends)]
    assert {p for p in (*single, *rest, *spans) if p} <= set(kg.ontology.properties)
    assert {term for term, _ in scheme.said} <= set(kg.ontology.individuals)
    assert {term for term, _ in scheme.markers} <= set(kg.ontology.properties)


def test_a_clarification_of_namesakes_in_any_ontology_is_answered_by_one_of_them(tmp_path):
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
        kg.search = lambda *_a, **_k: []
        first = kg.ask("When was Springfield founded?", conversation="s")
        assert len(first.clarification.things) == 2
        assert NamedNode("http://x/s2") in first.clarification.things
        assert kg.ask("the one in Massachusetts", conversation="s").values == ("1636",)
        kept = json.loads((kg.folder / "conversations" / "s.json").read_text(encoding="utf-8"))
        assert [turn["said"] for turn in kept] == ["When was Springfield founded?", "the one in Massachusetts"]


def test_a_conversation_that_several_write_at_once_stays_whole(tmp_path):
    turns = (Turn(question="Which hotels are there?", said="Which hotels are there?", answer="Two."),)

    def write(number):
        conversation = Conversation(tmp_path, "same" if number % 2 else f"other-{number}")
        for _ in range(30):
            conversation.keep(turns)
            assert conversation.turns() == turns

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert not list(tmp_path.rglob("*.part"))
