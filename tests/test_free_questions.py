"""Flights as people really ask for them: states, days, greetings, turns that lean on the last, words nobody knows."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flights import rows, workspace
from pyoxigraph import NamedNode

from kgplatform import KnowledgeGraph
from kgplatform.questions.dialogue import scheme as scheme_file
from kgplatform.questions.dialogue.codes import numbers_said
from kgplatform.questions.dialogue.scheme import read_schemes
from kgplatform.questions.dialogue.tidying import is_leave, tidied
from kgplatform.types import Answer, Verdict

NOW = "2025-03-15T12:00:00"
DOCS = Path(__file__).resolve().parents[1] / "docs" / "questions.md"


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    made = workspace(tmp_path_factory.getbasetemp() / "two-days")
    made.search = lambda *_a, **_k: []  # type: ignore[method-assign]
    yield made
    made.close()


def talk(kg: KnowledgeGraph, name: str, *turns: str) -> Answer:
    """The answer to the last of the turns; each is a new reading of what was kept."""
    return [kg.ask(turn, conversation=name, now=NOW) for turn in turns][-1]


def first(after: str, **wanted: str) -> str:
    """The flight that the rows have first from a moment on."""
    found = [r for r in rows() if r["best_block_time"] >= after and all(r[k] == v for k, v in wanted.items())]
    return min(found, key=lambda r: (r["best_block_time"], r["flight_uid"]))["flight_uid"]


@pytest.mark.parametrize(
    ("text", "after", "wanted"),
    [
        ("What is the next KLM flight after 14:30?", "2025-03-15T14:30", {"airline": "KLM"}),
        ("next klm departure after 6pm pls", "2025-03-15T18:00", {"airline": "KLM", "direction": "departure"}),
        ("下午3点以后荷航的下一班出发航班是什么？", "2025-03-15T15:00", {"airline": "KLM", "direction": "departure"}),
        ("Next plane at gate C five?", "2025-03-15T12:00", {"gate": "C05"}),
    ],
)
def test_the_next_one_is_that_after_the_time_which_is_said(
    kg: KnowledgeGraph, text: str, after: str, wanted: dict[str, str]
) -> None:
    assert kg.ask(text, now=NOW).values == (first(after, **wanted),)


@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        ("Is flight seven eight seven delayed?", "Yes", "27 minutes"),
        ("KL1001 on time today?", "Yes", "0 minutes"),
        ("Is KL1925 late?", "Yes", "39 minutes"),
        ("KL1275今天延误了吗？", "否", "早了2分钟"),
        ("Is KL1791 on time?", "No", "11 minutes"),
        ("Is DL49 delayed today?", "cancelled", "cancelled"),
        ("has KL787 departed yet?", "Yes", "11:32"),
        ("Did KL1352 land?", "Yes", "12:00"),
        ("Has KL611 left?", "No", ""),
        ("Is DL75 boarding?", "Yes", "boarding"),
        ("Does LX791 leave from a bus gate?", "Yes", "C24"),
    ],
)
def test_yes_or_no_comes_from_the_times_and_values_of_the_flight(
    kg: KnowledgeGraph, text: str, value: str, said: str
) -> None:
    answer = kg.ask(text, now=NOW)
    assert answer.values == (value,)
    assert said in answer.text


@pytest.mark.parametrize("text", ["Is KL611 haunted?", "Is KL611 overbooked?", "KL611满员了吗？"])
def test_a_state_that_nothing_in_the_graph_expresses_is_said_and_not_left_out(kg: KnowledgeGraph, text: str) -> None:
    answer = kg.ask(text, now=NOW)
    assert answer.verdict is Verdict.UNANSWERABLE
    assert not answer.values
    assert re.search("haunted|overbooked|满员", answer.text)


def test_a_number_of_a_date_a_price_or_a_count_is_no_part_of_a_code() -> None:
    for text in ("KL on 11th", "25 euros", "for 11 passengers", "terminal 22", "€ 25", "25元", "3月11日"):
        assert numbers_said(text) == [], text


def test_a_code_without_a_day_is_answered_for_each_day_with_todays_first(kg: KnowledgeGraph) -> None:
    answer = kg.ask("Where is 0787?", now=NOW)
    gates = {r["flight_uid"]: r["gate"] for r in rows() if r["flight_number"] == "KL787"}
    assert answer.values == (gates["20250315-KL787-D"], gates["20250314-KL787-D"])
    assert "15 Mar 2025: gate F05" in answer.text
    assert "14 Mar 2025: gate D46" in answer.text


def test_a_change_of_flights_is_reckoned_from_the_one_to_the_other(kg: KnowledgeGraph) -> None:
    assert "44 minutes" in kg.ask("I arrive with LH2300, can I make KL1225?", now=NOW).text
    assert kg.ask("can I catch KL1791 if I arrive on KL598?", now=NOW).text.startswith("No")
    assert "44分钟" in kg.ask("LH2300到达后能赶上KL1225吗？", now=NOW).text


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
def test_a_turn_leans_on_the_last_for_its_day_and_thing(kg: KnowledgeGraph, turns: tuple[str, ...], said: str) -> None:
    name = f"lean-{abs(hash(turns)) % 10**8}"
    assert said in talk(kg, name, *turns).text


def test_the_one_after_that_goes_on_along_the_same_order(kg: KnowledgeGraph) -> None:
    later = sorted(
        (r["best_block_time"], r["flight_uid"])
        for r in rows()
        if r["airline"] == "KLM" and r["destination"] in ("LHR", "LGW", "LTN", "LCY") and r["best_block_time"] >= NOW
    )
    asked = [talk(kg, "on", text) for text in ("next KLM departure to London?", "and the one after that?", "再下一个")]
    assert [answer.values for answer in asked if answer.values] == [(uid,) for _, uid in later[:3]]


def test_a_conversation_is_left_without_asking_on(kg: KnowledgeGraph) -> None:
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
    ],
)
def test_what_only_surrounds_a_question_is_left_out(text: str, kept: str) -> None:
    assert tidied(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "hi " * 3_000,
        "and the one after that?" * 400,
        "KL787'; DROP ALL; <script>alert(1)</script> gate?",
        "\x00\x00",
        "is it \ud83d\ude00 } UNION { ?s ?p ?o",
        "on the 99th of the 45th",
        "0" * 10_000,
    ],
)
def test_hostile_turns_get_a_verdict_and_change_nothing(kg: KnowledgeGraph, text: str) -> None:
    before = len(kg.store)
    assert talk(kg, "hostile", "What is the next KLM flight?", text, text).verdict in Verdict
    assert len(kg.store) == before


# the vocabulary


def _terms_read(monkeypatch: pytest.MonkeyPatch, ontology: Path) -> set[str]:
    """The names that reading a scheme looks up."""
    asked: set[str] = set()

    def noted(name: str) -> NamedNode:
        asked.add(name)
        return NamedNode(f"{scheme_file.QUESTIONS}{name}")

    monkeypatch.setattr(scheme_file, "_q", noted)
    assert read_schemes([ontology])
    return asked


def test_the_documented_vocabulary_is_that_which_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read = _terms_read(monkeypatch, Path("ontology/airport.ttl").absolute())
    section = DOCS.read_text(encoding="utf-8").split("### The vocabulary", 1)[1].split("\n## ", 1)[0]
    table = set(re.findall(r"^\| `q:(\w+)`", section, re.MULTILINE))
    classes = {"QuestionClass", "Span", "Jargon"}
    assert table == read | classes
    used = set(re.findall(r"q:(\w+)", Path("ontology/airport.questions.ttl").read_text(encoding="utf-8")))
    assert used <= table


def test_the_worked_example_of_the_documentation_answers_its_questions(tmp_path: Path) -> None:
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
        made.search = lambda *_a, **_k: []  # type: ignore[method-assign]
        now = "2025-03-10T09:30:00"
        assert made.ask("What is the next appointment?", now=now).values == ("AP42",)
        assert made.ask("What is the next appointment after 10:30?", now=now).values == ("AP43",)
        late = made.ask("Is AP41 late?", now=now)
        assert late.values == ("Yes",)
        assert "20 minutes" in late.text


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("逛完街我们想找一家有泳池的宾馆住宿，有什么推荐吗？", "我们想找一家有泳池的宾馆？"),
        ("忙完以后，我想找个近一点的公园", "我想找个近的公园"),
        ("西塘附近可以住宿的客栈有哪些？", "西塘附近客栈有哪些？"),
        ("有没有好吃的餐厅", "有没有餐厅"),
        ("您知道灵隐寺的门票吗？", "灵隐寺的门票是什么？"),
        ("after lunch I'd like to see a museum", "I'd like to see a museum"),
        ("Then, we want a hotel near Xizha", "we want a hotel near Xizha"),
        # what says something stays
        ("逛完西塘去哪儿", "逛完西塘去哪儿"),
        ("住完酒店要多少钱", "住完酒店要多少钱"),
        ("推荐一家酒店", "推荐一家酒店"),
        ("能住的酒店有几家？", "酒店有几家？"),
        ("鲁迅住的客栈是哪家？", "鲁迅住的客栈是哪家？"),
        ("我在杭州，有什么酒店推荐吗？", "我在杭州，有什么酒店推荐吗？"),
        ("这家酒店的餐厅用餐贵吗？", "这家酒店的餐厅用餐贵吗？"),
        ("谁知道得最多？", "谁知道得最多？"),
        ("what opened after lunch", "what opened after lunch"),
    ],
)
def test_what_comes_first_and_what_goes_without_saying_are_left_out(said: str, meant: str) -> None:
    assert tidied(said) == meant
