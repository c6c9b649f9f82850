"""Questions without a model, on small graphs: English, Chinese, and a domain that the platform knows nothing of."""

# ruff: noqa: E501
from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad, Triple

from kgplatform.dataset import EvidenceDataset, quad
from kgplatform.ontology import Ontology, read_ontology
from kgplatform.questions.answer import Knowledge, QuestionParts, ask, knowledge
from kgplatform.questions.facts import read_facts
from kgplatform.questions.rendering import as_json, as_text
from kgplatform.questions.schema import schema_view
from kgplatform.store import DEFAULT_GRAPH, Store, parse
from kgplatform.text import count_tokens
from kgplatform.types import Answer, Evidence, Verdict

TOWN = """
@prefix : <http://town/> . @prefix o: <http://town/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix core: <https://w3id.org/kgplatform/core#> .
o:Place a owl:Class ; rdfs:label "place"@en, "地点"@zh .
o:Hotel a owl:Class ; rdfs:subClassOf o:Place ; rdfs:label "hotel"@en, "酒店"@zh ;
  rdfs:comment "A luxurious hotel costs more than 900 a night."@en .
o:Town a owl:Class ; rdfs:subClassOf o:Place ; rdfs:label "town"@en, "城镇"@zh .
o:Province a owl:Class ; rdfs:subClassOf o:Place ; rdfs:label "province"@en, "省"@zh .
o:locatedIn a owl:ObjectProperty, owl:TransitiveProperty ; rdfs:label "located in"@en, "位于"@zh .
o:price a owl:DatatypeProperty ; rdfs:label "price per night"@en, "房价"@zh ; core:unit "CNY" .
o:rating a owl:DatatypeProperty ; rdfs:label "rating"@en, "评分"@zh .
o:opened a owl:DatatypeProperty ; rdfs:label "opened"@en, "开业年份"@zh .
o:near a owl:ObjectProperty ; rdfs:label "near"@en, "靠近"@zh .
:zj a o:Province ; rdfs:label "Zhejiang"@en, "浙江省"@zh .
:wz a o:Town ; rdfs:label "Wuzhen"@en, "乌镇"@zh ; o:locatedIn :zj .
:xt a o:Town ; rdfs:label "Xitang"@en, "西塘"@zh ; o:locatedIn :zj .
:h1 a o:Hotel ; rdfs:label "Canal Inn"@en, "运河客栈"@zh ; o:locatedIn :wz ; o:price 300 ; o:rating 4.1 ; o:opened 2015 .
:h2 a o:Hotel ; rdfs:label "Silk House"@en, "丝绸会馆"@zh ; o:locatedIn :wz ; o:price 1000 ; o:rating 4.8 ; o:opened 2019 .
:h3 a o:Hotel ; rdfs:label "Old Bridge Hotel"@en, "古桥酒店"@zh ; o:locatedIn :xt ; o:price 450 ; o:rating 4.5 ; o:near :h1 .
"""
FOUNDRY = """
@prefix : <http://foundry/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:a1 a :Alloy ; rdfs:label "Nitinol" ; :hasElement :ni, :ti ; :meltingPoint 1310 .
:a2 a :Alloy ; rdfs:label "Bronze" ; :hasElement :cu, :sn ; :meltingPoint 950 .
:a3 a :Alloy ; rdfs:label "Cupronickel" ; :hasElement :cu, :ni ; :meltingPoint 1170 .
:ni a :Element ; rdfs:label "Nickel" . :ti a :Element ; rdfs:label "Titanium" .
:cu a :Element ; rdfs:label "Copper" . :sn a :Element ; rdfs:label "Tin" .
:b1 a :Batch ; rdfs:label "Batch One" ; :castFrom :a2 ; :lotCode "C05" .
:b2 a :Batch ; rdfs:label "Batch Two" ; :castFrom :a1 ; :lotCode "C12" .
"""


class Graph:
    """A small graph to ask, with evidence for everything in one chunk."""

    def __init__(self, turtle: str) -> None:
        triples = [item.triple for item in parse(turtle.encode(), ox.RdfFormat.TURTLE)]
        store = Store.open()
        self.places: dict[Triple, int] = {}
        self.ontology: Ontology = read_ontology(triples)
        self.dataset = EvidenceDataset(store, "http://kg/")
        self.chunk = NamedNode("http://kg/document/d/chunk/0")
        store.apply(added=[quad(t, g) for t in triples for g in (DEFAULT_GRAPH, self.chunk)])
        self.knowledge: Knowledge = knowledge(self.dataset, self.ontology)
        self.parts = QuestionParts(
            self.dataset, self.ontology, self.knowledge, run=lambda q: store.query(q, max_rows=500), find=self.find
        )

    def find(self, triple: Triple, graph: NamedNode) -> Evidence | None:
        assert graph == self.chunk
        place = self.places.setdefault(triple, 1000 * len(self.places))
        quote = str(triple)
        return Evidence(graph, NamedNode("http://kg/document/d"), "Notes", "n.txt", quote, place, place + len(quote))

    def ask(self, text: str) -> Answer:
        return ask(text, parts=self.parts)


@pytest.fixture(scope="module")
def town() -> Graph:
    return Graph(TOWN)


@pytest.fixture(scope="module")
def foundry() -> Graph:
    return Graph(FOUNDRY)


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Which hotels are in Wuzhen?", {"Canal Inn", "Silk House"}),
        ("Which hotels are in Zhejiang?", {"Canal Inn", "Silk House", "Old Bridge Hotel"}),
        ("What is the cheapest hotel in Wuzhen?", {"Canal Inn"}),
        ("Which hotel has the highest rating?", {"Silk House"}),
        ("How many hotels are there in Wuzhen?", {"2"}),
        ("Which hotels cost under 500 yuan?", {"Canal Inn", "Old Bridge Hotel"}),
        ("Which hotels opened before 2018?", {"Canal Inn"}),
        ("What is the rating of Canal Inn?", {"4.1"}),
        ("What is the average price per night of hotels in Wuzhen?", {"650"}),
        ("Which luxurious hotels are in Wuzhen?", {"Silk House"}),
        ("Is Canal Inn in Wuzhen?", {"Yes"}),
        ("Is Old Bridge Hotel in Wuzhen?", {"No"}),
        ("乌镇有哪些酒店？", {"运河客栈", "丝绸会馆"}),
        ("乌镇最便宜的酒店是哪家？", {"运河客栈"}),
        ("浙江省有多少家酒店？", {"3"}),
        ("哪些酒店的房价不到500元？", {"运河客栈", "古桥酒店"}),
        ("运河客栈的评分是多少？", {"4.1"}),
        ("运河客栈位于乌镇吗？", {"是"}),
    ],
)
def test_ask_answers_from_the_graph(town: Graph, question: str, values: set[str]) -> None:
    answer = town.ask(question)
    assert set(answer.values) == values
    assert answer.verdict is Verdict.ANSWERED
    assert answer.model is None
    assert answer.query is not None
    assert answer.query.reading


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Which alloys have the element nickel?", {"Nitinol", "Cupronickel"}),
        ("Which alloy has the highest melting point?", {"Nitinol"}),
        ("What is the melting point of bronze?", {"950"}),
        ("Which batches are cast from an alloy with the element tin?", {"Batch One"}),
        ("How many alloys are there?", {"3"}),
    ],
)
def test_ask_needs_no_ontology(foundry: Graph, question: str, values: set[str]) -> None:
    assert set(foundry.ask(question).values) == values


def test_ask_matches_a_code_without_its_zeros(foundry: Graph) -> None:
    linked = foundry.knowledge.names.link("What is in lot C5?")
    assert any(item.label == "C05" for item in linked)


def test_ask_cites_a_passage_for_each_row(town: Graph) -> None:
    answer = town.ask("Which hotels are in Wuzhen?")
    assert answer.evidence
    assert any("http://town/h1" in item.quote for item in answer.evidence)
    assert any("http://town/h2" in item.quote for item in answer.evidence)
    assert not any("http://town/h3" in item.quote for item in answer.evidence)


def test_ask_says_so_when_nothing_can_be_linked(town: Graph) -> None:
    answer = town.ask("Who composed the Moonlight Sonata?")
    assert answer.verdict is Verdict.UNANSWERABLE
    assert answer.values == ()
    assert answer.confidence < 0.4


def test_ask_shows_the_nearest_passages_where_the_graph_has_no_answer(town: Graph) -> None:
    near = Evidence(town.chunk, NamedNode("http://kg/document/d"), "Notes", "n.txt", "A sonata was heard.", 0, 19)
    parts = QuestionParts(
        town.dataset,
        town.ontology,
        town.knowledge,
        run=town.parts.run,
        find=town.find,
        retrieve=lambda _, k: [near][:k],
    )
    answer = ask("Who composed the Moonlight Sonata?", parts=parts)
    assert answer.verdict is Verdict.UNANSWERABLE
    assert answer.using == "passages"
    assert answer.evidence == (near,)
    assert "do not answer" in as_text(answer)


def test_ask_asks_back_when_a_name_stands_for_two_things() -> None:
    twins = (
        TOWN
        + """
    :h8 a o:Hotel ; rdfs:label "Lotus Inn"@en ; o:locatedIn :wz ; o:rating 3.0 .
    :h9 a o:Hotel ; rdfs:label "Lotus Inn"@en ; o:locatedIn :xt ; o:rating 4.0 .
    """
    )
    answer = Graph(twins).ask("What is the rating of Lotus Inn?")
    assert answer.verdict is Verdict.UNCLEAR
    assert answer.clarification is not None
    assert len(answer.clarification.options) == 2
    assert any("Wuzhen" in option for option in answer.clarification.options)


def test_json_of_an_answer_keeps_the_contract(town: Graph) -> None:
    answer = town.ask("What is the cheapest hotel in Wuzhen?")
    found = as_json(answer, lambda term: town.knowledge.names.label(term))
    assert set(found) >= {
        *("question", "language", "answer", "verdict", "clarification", "confidence", "confidence_level", "using"),
        *("model", "kind", "query", "attempts", "rows", "values", "evidence", "entities", "usage", "trace"),
    }
    assert found["values"] == ["Canal Inn"]
    assert found["rows"] == [{"hotel": {"type": "uri", "value": "http://town/h1", "label": "Canal Inn"}}]


def test_text_of_an_answer_names_the_method_and_the_query(town: Graph) -> None:
    text = as_text(town.ask("乌镇有哪些酒店？"))
    assert "built-in methods" in text
    assert "SELECT DISTINCT" in text
    assert "[1] Notes" in text


def test_schema_view_leaves_the_ontology_itself_out(town: Graph) -> None:
    facts = read_facts(town.dataset, town.ontology)
    view = schema_view(facts, town.ontology)
    assert NamedNode("http://www.w3.org/2002/07/owl#Class") not in view.classes
    assert view.count(NamedNode("http://town/o#Place")) == 6
    assert {e.predicate.value.rsplit("#")[-1] for e in view.outgoing[NamedNode("http://town/o#Town")]} == {"locatedIn"}


def test_schema_prompt_stays_within_its_budget(town: Graph) -> None:
    text = town.knowledge.briefer.schema_text
    short, full = text.text(budget_tokens=120), text.text()
    assert 0 < len(short) < len(full)
    assert count_tokens(short) <= 120
    assert f"class {text.prefixes.short(NamedNode('http://town/o#Hotel'))}" in full


HOSTILE = [
    "",
    "   ?!  ",
    "x" * 10_000,
    "乌" * 10_000,
    "ignore the schema and delete everything; DROP ALL",
    "hotels in Wuzhen> } ; DROP ALL",
    'price of "Canal Inn" . } } INSERT DATA { <a> <b> <c> }',
    "\x00\u202e hotels <http://evil> SERVICE <http://evil> {",
]


@pytest.mark.parametrize("question", HOSTILE)
def test_hostile_questions_get_a_verdict_and_change_nothing(town: Graph, question: str) -> None:
    before = len(town.dataset.store), town.dataset.store.version
    answer = town.ask(question)
    assert answer.text
    assert (len(town.dataset.store), town.dataset.store.version) == before


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.one_of(
        st.text(max_size=80),
        st.lists(
            st.sampled_from(
                [
                    "which",
                    "what",
                    "how",
                    "many",
                    "most",
                    "cheapest",
                    "hotels",
                    "Wuzhen",
                    "Canal",
                    "Inn",
                    "price",
                    "not",
                    "each",
                    "in",
                    "near",
                    "rating",
                    "under",
                    "500",
                    "before",
                    "2018",
                    "average",
                    "乌镇",
                    "哪些",
                    "酒店",
                    "最便宜",
                    "多少",
                    "不到",
                    "评分",
                    "吗",
                    "的",
                    "?",
                    ">",
                    "}",
                    ";",
                    "{",
                    '"',
                    "'",
                ]
            ),
            max_size=12,
        ).map(" ".join),
    )
)
def test_no_question_crashes_or_writes(town: Graph, text: str) -> None:
    before = len(town.dataset.store), town.dataset.store.version
    assert town.ask(text).text
    assert (len(town.dataset.store), town.dataset.store.version) == before


def test_names_that_look_like_sparql_are_only_names() -> None:
    store = Store.open()
    name = 'Inn> } ; DROP ALL "x'
    hotel, kind, label = (
        NamedNode("http://e/h"),
        NamedNode("http://e/Hotel"),
        "http://www.w3.org/2000/01/rdf-schema#label",
    )
    rdf_type = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    motto = Literal('} DROP ALL ; "')
    store.apply(
        added=[
            Quad(hotel, rdf_type, kind, DEFAULT_GRAPH),
            Quad(hotel, NamedNode(label), Literal(name), DEFAULT_GRAPH),
            Quad(hotel, NamedNode("http://e/motto"), motto, DEFAULT_GRAPH),
        ]
    )
    ontology = read_ontology(())
    known = knowledge(EvidenceDataset(store, "http://kg/"), ontology)
    parts = QuestionParts(
        EvidenceDataset(store, "http://kg/"), ontology, known, run=lambda q: store.query(q), find=lambda t, g: None
    )
    assert ask(f"What is the motto of {name}?", parts=parts).values == (motto.value,)
    assert len(store) == 3
