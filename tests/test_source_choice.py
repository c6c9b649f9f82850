"""Which source answers: old evidence, live sources, things taken for what they are not; the page that says why."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyoxigraph import NamedNode

from kgplatform.config import WebSettings
from kgplatform.graph import KnowledgeGraph
from kgplatform.questions.adaptive.extractive import extracted
from kgplatform.questions.adaptive.wanted import options, wanted
from kgplatform.types import Answer, Choice, Evidence
from kgplatform.vocab import CORE
from kgplatform.web.app import create_app
from kgplatform.web.security import Access

DATA = """
@prefix t: <https://w3id.org/kgplatform/travel#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix x: <https://example.org/kg/> .
x:xizha a t:ScenicArea ; rdfs:label "Xizha"@en, "西栅"@zh .
"""
NOTE = "The Lotus Inn has 12 rooms. A ticket for the West Scenic Zone costs 150 yuan."
PAGE = """<html><head><title>News</title></head><body><main><p>The Lotus Inn has 18 rooms since its new wing opened.</p>
</main></body></html>"""
ROOMS = "How many rooms does the Lotus Inn have?"
LATER = "2035-01-01T00:00:00"


@pytest.fixture(scope="module")
def travel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("travel")
    (folder / "data.ttl").write_text(DATA, encoding="utf-8")
    (folder / "note.txt").write_text(NOTE, encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology="travel") as kg:
        kg.load(folder / "data.ttl")
        list(kg.add(folder / "note.txt"))
        yield kg


@pytest.fixture
def with_pages(travel: KnowledgeGraph) -> Iterator[KnowledgeGraph]:
    """The workspace with a folder of saved pages as its web source."""
    before = travel.settings
    pages = travel.folder / "pages"
    pages.mkdir(exist_ok=True)
    (pages / "news.html").write_text(PAGE, encoding="utf-8")
    travel.settings = replace(before, web=WebSettings(folder="pages"))
    yield travel
    travel.settings = before


def asked(kg: KnowledgeGraph, question: str, *, now: str = "") -> tuple[Answer, Choice]:
    answer = kg.ask(question, now=now)
    assert answer.choice is not None
    return answer, answer.choice


# freshness


def test_evidence_that_is_old_for_its_rate_of_change_sends_the_question_to_the_web_first(
    with_pages: KnowledgeGraph,
) -> None:
    answer, choice = asked(with_pages, ROOMS)
    assert (choice.order, choice.chosen, answer.values) == (("graph", "passages", "web"), "graph", ("12",))
    answer, choice = asked(with_pages, ROOMS, now=LATER)
    assert (choice.order[0], choice.chosen, choice.changes) == ("web", "web", "slow")
    assert answer.values == ("18 rooms",) or answer.values == ("18",)
    assert any("days old" in reason for reason in choice.reasons)


def test_facts_that_do_not_change_are_never_too_old(with_pages: KnowledgeGraph) -> None:
    set_ = with_pages.settings
    with_pages.settings = replace(set_, questions=replace(set_.questions, changes=("travel=static",)))
    _, choice = asked(with_pages, ROOMS, now=LATER)
    assert (choice.chosen, choice.order[0]) == ("graph", "graph")


def test_a_live_source_goes_first_for_real_time_facts_and_the_graph_stands_in_where_it_is_silent(
    with_pages: KnowledgeGraph,
) -> None:
    set_ = with_pages.settings
    with_pages.settings = replace(set_, questions=replace(set_.questions, changes=("travel=real-time",)))
    _, choice = asked(with_pages, ROOMS)
    assert (choice.chosen, choice.order) == ("web", ("web", "graph", "passages"))
    answer, choice = asked(with_pages, "How much is the ticket for the West Scenic Zone?")
    assert choice.chosen == "graph"  # the pages say nothing of it
    assert choice.consulted[0].source == "graph"
    assert ("web", "answered") not in [(item.source, item.outcome) for item in choice.consulted]
    assert "150" in answer.text


def test_fast_facts_are_looked_up_in_passages_before_the_graph_where_the_rate_rules(travel: KnowledgeGraph) -> None:
    set_ = travel.settings
    travel.settings = replace(set_, questions=replace(set_.questions, changes=("travel=fast",), first="rate"))
    _, choice = asked(travel, ROOMS)
    travel.settings = set_
    assert choice.order == ("passages", "graph")
    assert choice.chosen == "passages"


# what a question takes for granted


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("When was the hotel Xizha opened?", ("hotel", "scenic area")),
        ("How many rooms does the hotel Xizha have?", ("hotel", "scenic area")),
        ("酒店西栅什么时候开业？", ("酒店", "风景区")),
    ],
)
def test_a_thing_taken_for_one_of_another_class_is_said_so(
    travel: KnowledgeGraph, question: str, words: tuple[str, ...]
) -> None:
    answer, choice = asked(travel, question)
    assert all(word in choice.premise for word in words)
    assert answer.text.startswith(choice.premise)


def test_a_thing_named_with_its_own_class_is_no_wrong_premise(travel: KnowledgeGraph) -> None:
    assert not asked(travel, "When was the scenic area Xizha opened?")[1].premise
    assert not asked(travel, "How many rooms does the hotel Lotus Inn have?")[1].premise


# the reasons are shown


@pytest.mark.parametrize(
    ("question", "shown"),
    [(ROOMS, "the facts asked for are slow"), ("荷花客栈有多少间客房？", "所问的事实")],
)
def test_the_page_shows_the_choice_its_order_and_its_reasons(travel: KnowledgeGraph, question: str, shown: str) -> None:
    client = create_app(travel, access=Access.on("127.0.0.1")).test_client()
    page = client.get("/ask", query_string={"question": question}).get_data(as_text=True)
    block = page[page.index("Where the answer comes from") :]
    assert "Asked in this order" in block
    assert re.search(rf"<li>{shown}", block)


def test_the_domain_annotation_is_declared_for_every_ontology(travel: KnowledgeGraph) -> None:
    about = travel.query(f"ASK {{ <{CORE}domain> a <http://www.w3.org/2002/07/owl#AnnotationProperty> }}")
    declared = any(triple.subject == NamedNode(f"{CORE}domain") for triple in travel.loaded.triples)
    assert declared or about.boolean


# answers from passages


def passage(quote: str, title: str = "Note") -> Evidence:
    iri = NamedNode("https://example.org/d")
    return Evidence(iri, iri, title, "d.txt", quote, 0, len(quote))


@pytest.mark.parametrize(
    ("question", "quote", "value"),
    [
        ("How tall is the Corn Tower?", "The Corn Tower, begun in 1742, is 51.75 metres tall.", "51.75 metres"),
        ("How much is a ticket for the Corn Tower?", "A ticket for the Corn Tower is 12 yuan, open 9:00.", "12 yuan"),
        ("Which bus goes to the Corn Tower?", "From the station bus K282 goes to the Corn Tower.", "K282"),
        ("Who built the Corn Tower?", "The Corn Tower (Old Mill) was built in 1742 by Ann Lee.", "Ann Lee"),
        ("In which state is the Corn Tower?", "The Corn Tower is in Ford County, Kansas.", "Kansas"),
        ("白莲塔有多高？", "白莲塔始建于1742年,高约51.75米。", "51.75米"),
        ("白莲塔门票多少钱？", "白莲塔始建于1742年,门票80元。", "80元"),
        ("白莲塔由谁设计？", "白莲塔位于西门,由建筑师姚仁喜设计,2013年建成。", "姚仁喜"),
        ("白莲塔哪一年倒塌？", "白莲塔始建于公元977年,1924年倒塌。", "1924年"),
    ],
)
def test_the_stretch_of_the_kind_asked_for_next_to_what_is_asked_is_the_value(
    question: str, quote: str, value: str
) -> None:
    answer = extracted(question, [passage(quote)])
    assert answer.values == (value,)
    assert answer.is_enough("high")


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("Who owns the Corn Tower?", "The Corn Tower was built in 1742 by Ann Lee."),
        ("Where was Ann Lee born?", "The Corn Tower in Dover was built by Ann Lee."),
        ("How long is the Corn Tower?", "The Corn Tower is open from 9:00 to 17:00, 12 yuan."),
        ("谁设计了白莲塔？", "白莲塔始建于公元977年,1924年倒塌。"),
        ("白莲塔有多长？", "白莲塔建于明崇祯十年(1637年)。"),
    ],
)
def test_another_fact_about_the_same_thing_is_no_sure_answer(question: str, quote: str) -> None:
    assert not extracted(question, [passage(quote)]).is_enough("high")


def test_two_passages_answer_together_and_are_both_cited() -> None:
    one = passage("Several films were shot in Leland in 1986, such as Slow Engines.", "Leland")
    other = passage("Slow Engines is a film that was written and directed by Ann Lee.", "Slow Engines (film)")
    answer = extracted("Who directed the film that was shot in Leland in 1986?", [one, other])
    assert answer.values == ("Ann Lee",)
    assert [item.title for item in answer.evidence] == ["Leland", "Slow Engines (film)"]
    assert "[1]" in answer.text
    assert "[2]" in answer.text
    assert not answer.is_enough("high")  # two sentences put together are a guess


def test_sentences_that_contradict_each_other_leave_no_sure_answer() -> None:
    said = [passage("The Corn Tower was opened in 1742.", "One"), passage("The Corn Tower was opened in 1750.", "Two")]
    assert not extracted("When was the Corn Tower opened?", said).is_enough("high")


def test_what_a_question_asks_is_told_from_the_names_that_it_asks_about() -> None:
    asked_of = wanted("Who designed the Corn Tower?")
    assert {term.form for term in asked_of.relations} == {"design"}
    assert {term.form for term in wanted("白莲塔的建筑师是谁？").relations} == {"建筑师"}
    assert options("Which is older, the Corn Tower or the Old Mill?")[1] == "the Old Mill"
    assert options("Who designed it?") == ()
