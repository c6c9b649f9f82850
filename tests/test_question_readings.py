"""Readings that strangers' questions once got wrong, on a coast of our own: kinds, unions, whens, whys, nothing found."""

# ruff: noqa: E501

from __future__ import annotations

import pytest
from asked import Asked

from kgplatform.questions.dialogue.talking import Talk, talk
from kgplatform.questions.dialogue.turns import Turn
from kgplatform.questions.wording import language_asked_in
from kgplatform.types import Verdict

COAST = """
@prefix : <http://x/> . @prefix o: <http://x/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix core: <https://w3id.org/kgplatform/core#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
o:Lodging a owl:Class ; rdfs:label "lodging"@en, "住处"@zh . o:Town a owl:Class ; rdfs:label "harbour town"@en, "渔镇"@zh ; rdfs:comment "A town that lives from its harbour."@en, "以港口为生的镇。"@zh .
o:Inn a owl:Class ; rdfs:label "inn"@en, "客栈"@zh ; rdfs:subClassOf o:Lodging .
o:City a owl:Class ; rdfs:label "city"@en, "城市"@zh . o:Region a owl:Class ; rdfs:label "region"@en, "大区"@zh .
o:Guests a owl:Class ; rdfs:label "kind of guests"@en . o:Essay a owl:Class ; rdfs:label "essay"@en, "文章"@zh .
o:in a owl:ObjectProperty, owl:TransitiveProperty ; rdfs:label "located in"@en, "位于"@zh .
o:price a owl:DatatypeProperty ; rdfs:label "price per night"@en, "每晚价格"@zh ; skos:altLabel "价格"@zh ; core:unit "CNY" .
o:rooms a owl:DatatypeProperty ; rdfs:label "number of rooms"@en, "房间数"@zh ; skos:altLabel "房"@zh .
o:opened a owl:DatatypeProperty ; rdfs:label "opened in"@en, "开业于"@zh ; skos:altLabel "开业"@zh .
o:stars a owl:DatatypeProperty ; rdfs:label "star rating"@en, "星级"@zh ; core:unit "star" .
o:score a owl:DatatypeProperty ; rdfs:label "rating"@en, "评分"@zh ; rdfs:comment "From 0 to 5; 4.0 and above counts as good, 4.5 and above as excellent."@en .
o:goodFor a owl:ObjectProperty ; rdfs:label "suitable for"@en, "适合"@zh ; skos:altLabel "fun for"@en .
o:cites a owl:ObjectProperty ; rdfs:label "cites"@en, "引用"@zh . o:needs a owl:ObjectProperty ; rdfs:label "has prerequisite"@en, "先读"@zh ; skos:altLabel "prerequisite"@en .
o:year a owl:DatatypeProperty ; rdfs:label "publication year"@en, "发表年份"@zh . o:journal a owl:ObjectProperty ; rdfs:label "published in"@en, "刊于"@zh .
o:Journal a owl:Class ; rdfs:label "journal"@en .
:coast a o:Region ; rdfs:label "Saltland"@en, "盐岸"@zh . :families a o:Guests ; rdfs:label "families"@en .
:korvik a o:City ; rdfs:label "Korvik"@en, "科维克"@zh ; o:in :coast . :elmholt a o:City ; rdfs:label "Elmholt"@en, "榆岛"@zh ; o:in :coast .
:tarnby a o:Town ; rdfs:label "Tarnby"@en, "塔恩比"@zh ; o:in :korvik ; rdfs:comment "Known for its rope walk."@en, "以绳索作坊闻名。"@zh .
:i1 a o:Inn ; rdfs:label "Brass Lantern"@en, "铜灯客栈"@zh ; o:in :korvik ; o:price 300 ; o:rooms 12 ; o:opened "0894"^^xsd:gYear ; o:stars 5 ; o:score 4.6 ; o:goodFor :families .
:i2 a o:Inn ; rdfs:label "Old Oar"@en, "旧桨客栈"@zh ; o:in :elmholt ; o:price 100 ; o:rooms 8 ; o:opened "1950"^^xsd:gYear ; o:stars 3 ; o:score 4.1 .
:i3 a o:Inn ; rdfs:label "Grey Heron"@en, "灰鹭客栈"@zh ; o:in :korvik ; o:price 800 ; o:opened "2001"^^xsd:gYear ; o:score 3.2 .
:j a o:Journal ; rdfs:label "Shore Letters"@en . :e1 a o:Essay ; rdfs:label "Rope"@en, "论绳"@zh ; o:year "1990"^^xsd:gYear .
:e2 a o:Essay ; rdfs:label "Salt"@en, "论盐"@zh ; o:cites :e1 ; o:year "1995"^^xsd:gYear ; o:journal :j ; o:needs :e1 .
:e3 a o:Essay ; rdfs:label "How to Read Tides"@en ; o:cites :e1, :e2 ; o:year "1995"^^xsd:gYear ; o:needs :e2 .
"""


class Coast(Asked):
    """The coast, to be asked."""

    def __init__(self, turtle: str = COAST) -> None:
        super().__init__(turtle)

    def found(self, text: str) -> set[str]:
        """The terms of the answer, things by their English names; yes and no as one."""
        rows = self(text).solutions
        if rows.boolean is not None:
            return {str(rows.boolean).lower()}
        terms = {t for row in rows.rows for t in row if t is not None}
        return {self.shown(term) for term in terms}


@pytest.fixture(scope="module")
def coast() -> Coast:
    return Coast()


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        ("Is Tarnby a harbour town?", "true"),
        ("Is Tarnby a harbour town in Saltland?", "true"),
        ("Is Tarnby a harbour town in Elmholt?", "false"),
        ("Is Korvik a region?", "false"),
        ("Is the Brass Lantern a lodging?", "true"),
        ("塔恩比是渔镇吗？", "true"),
        ("塔恩比是盐岸的渔镇吗？", "true"),
        ("科维克是大区吗", "false"),
    ],
)
def test_whether_a_thing_is_of_a_kind_is_told_by_its_class(coast: Coast, question: str, holds: str) -> None:
    assert coast.found(question) == {holds}


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("inns in Korvik and in Elmholt", {"Brass Lantern", "Grey Heron", "Old Oar"}),
        ("How many inns are in Korvik and Elmholt?", {"3"}),
        ("科维克和榆岛的客栈", {"Brass Lantern", "Grey Heron", "Old Oar"}),
        ("inns in both Korvik and Elmholt", set()),
        ("Which essays cite Rope and Salt?", {"How to Read Tides"}),
        ("Is the Old Oar in Korvik or Elmholt?", {"Elmholt"}),
        ("In which city is the Brass Lantern located?", {"Korvik"}),
        ("Which city has the most inns?", {"Korvik"}),
        ("哪个城市的客栈最多？", {"Korvik"}),
    ],
)
def test_places_are_those_of_either_name_and_of_the_kind_asked_for(
    coast: Coast, question: str, things: set[str]
) -> None:
    assert coast.found(question) == things


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("What inns are in Korvik besides the Brass Lantern?", {"Grey Heron"}),
        ("除了铜灯客栈，科维克还有什么客栈？", {"Grey Heron"}),
        ("Which inns are neither in Elmholt nor in Tarnby?", {"Brass Lantern", "Grey Heron"}),
        ("Which inns opened after 1900 and before 1990?", {"Old Oar"}),
    ],
)
def test_what_is_excepted_ruled_out_or_outside_a_range_is_not_shown(
    coast: Coast, question: str, things: set[str]
) -> None:
    assert coast.found(question) == things


@pytest.mark.parametrize(
    ("turns", "things"),
    [
        (("inns in Korvik", "which of them is the cheapest?", "how much is it?"), {"300"}),
        (("科维克有哪些客栈？", "其中最便宜的是哪家？"), {"铜灯客栈"}),
        (("Which is the most expensive inn in Korvik?", "when was it opened?"), {"2001"}),
        (("Where is the Old Oar?", "and Tarnby?"), {"Korvik"}),
    ],
)
def test_a_later_turn_is_about_what_the_last_one_found(coast: Coast, turns: tuple[str, ...], things: set[str]) -> None:
    told: list[Turn] = []
    for text in turns:
        said = talk(text, Talk(coast.parts, turns=tuple(told)))
        told.append(said.turn)
    assert set(said.answer.values) == things


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("What is the average inn price?", "400"),
        ("average price of inns", "400"),
        ("客栈的平均价格是多少？", "400"),
        ("When did the oldest inn open?", "0894"),
        ("最古老的客栈是哪一年开业的？", "0894"),
        ("客栈一共有多少间房", "20"),
        ("What is the cheapest inn in Korvik and how much does it cost?", "300"),
    ],
)
def test_a_value_is_shown_where_a_value_is_asked_for(coast: Coast, question: str, value: str) -> None:
    (found,) = coast.found(question)
    assert float(found) == float(value)


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("excellent inns", {"Brass Lantern"}),
        ("good inns in Elmholt", {"Old Oar"}),
        ("five-star inns", {"Brass Lantern"}),
        ("五星级客栈", {"Brass Lantern"}),
        ("inns under 200 yuan", {"Old Oar"}),
        ("200元以下的客栈", {"Old Oar"}),
        ("Which inns opened between 800 and 1960?", {"Brass Lantern", "Old Oar"}),
        ("Which inns are more expensive than the Brass Lantern?", {"Grey Heron"}),
        ("Which inn is more expensive, Old Oar or Grey Heron?", {"Grey Heron"}),
        ("inns less expensive than the Brass Lantern", {"Old Oar"}),
        ("Which essays were published in 1995?", {"Salt", "How to Read Tides"}),
        ("lodgngs in Elmholt", {"Old Oar"}),
        ("引用了论绳的文章", {"Salt", "How to Read Tides"}),
        ("被引用最多的文章是哪篇？", {"Rope"}),
    ],
)
def test_amounts_stars_years_and_verbs_restrict_what_they_are_said_of(
    coast: Coast, question: str, things: set[str]
) -> None:
    assert coast.found(question) == things


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("Is the Brass Lantern fun?", "fun"),
        ("铜灯客栈可靠吗？", "可靠"),
        ("Are there more inns in Korvik than in Elmholt?", "more"),
        ("Which innkeeper cites the most essays?", "innkeeper"),
    ],
)
def test_what_is_not_understood_is_named_and_no_answer_is_made_up(coast: Coast, question: str, word: str) -> None:
    answer = coast(question)
    assert answer.verdict is Verdict.UNANSWERABLE
    assert word in answer.text


def test_no_is_not_said_of_what_the_graph_does_not_hold(coast: Coast) -> None:
    assert coast("Does the Grey Heron have more than 10 rooms?").verdict is Verdict.UNANSWERABLE
    assert coast.found("Does the Old Oar have more than 10 rooms?") == {"false"}
    rooms = coast("How many rooms does the Grey Heron have?")
    assert rooms.verdict is Verdict.UNANSWERABLE
    assert not rooms.values


@pytest.mark.parametrize("question", ["Why is the Brass Lantern popular?", "为什么铜灯客栈贵？"])
def test_a_graph_without_reasons_does_not_say_why(coast: Coast, question: str) -> None:
    answer = coast(question)
    assert answer.verdict is Verdict.UNANSWERABLE
    assert ("not why" if "Why" in question else "为什么") in answer.text


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        ("Tell me about Tarnby", "rope walk"),
        ("What is Tarnby?", "rope walk"),
        ("介绍一下塔恩比", "绳索作坊"),
        ("塔恩比是什么地方？", "绳索作坊"),
        ("Tell me about the Brass Lantern", "price per night: 300 CNY"),
        ("What is a harbour town?", "lives from its harbour"),
        ("什么是渔镇？", "以港口为生"),
    ],
)
def test_a_thing_or_a_word_of_the_ontology_is_told_of(coast: Coast, question: str, holds: str) -> None:
    answer = coast(question)
    assert answer.verdict is Verdict.ANSWERED
    assert holds in answer.text
    assert answer.values


def test_an_empty_answer_names_what_empties_it_and_what_there_is(coast: Coast) -> None:
    dear = coast("inns in Korvik under 200 yuan")
    assert dear.verdict is Verdict.UNANSWERABLE
    assert "price per night below 200" in dear.text
    assert "300 – 800" in dear.text
    assert "“每晚价格不超过 50”" in coast("科维克50元以下的客栈").text


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("谁写了How to Read Tides？", "zh"),
        ("“How to Read Tides”是哪一年发表的", "zh"),
        ("Where is 塔恩比?", "en"),
        ("Is 塔恩比 a harbour town?", "en"),
        ("塔恩比", "zh"),
        ("Tarnby", "en"),
    ],
)
def test_a_question_is_in_the_language_of_its_own_words(coast: Coast, question: str, language: str) -> None:
    assert language_asked_in(question) == language
    assert coast(question).question.language == language


def test_what_is_a_prerequisite_of_what_goes_by_the_words(coast: Coast) -> None:
    assert coast.found("Is Rope a prerequisite of Salt?") == {"true"}
    assert coast.found("Is Salt a prerequisite of Rope?") == {"false"}
    assert coast.found("What are the prerequisites of Salt?") == {"Rope"}


CANTONS = """
@prefix : <http://x/> . @prefix o: <http://x/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
o:Canton a owl:Class ; rdfs:label "canton"@en, "省"@zh . o:City a owl:Class ; rdfs:label "city"@en . o:Spot a owl:Class ; rdfs:label "place"@en .
o:inCanton a owl:ObjectProperty ; rdfs:label "in canton"@en ; rdfs:domain o:City ; rdfs:range o:Canton .
o:highestPoint a owl:ObjectProperty ; rdfs:label "highest point"@en ; rdfs:domain o:Canton ; rdfs:range o:Spot .
o:lowestPoint a owl:ObjectProperty ; rdfs:label "lowest point"@en ; rdfs:domain o:Canton ; rdfs:range o:Spot .
o:elevation a owl:DatatypeProperty ; rdfs:label "elevation"@en ; rdfs:domain o:Spot ; rdfs:range xsd:integer .
o:area a owl:DatatypeProperty ; rdfs:label "area"@en ; rdfs:domain o:Canton ; rdfs:range xsd:decimal .
o:population a owl:DatatypeProperty ; rdfs:label "population"@en ; rdfs:domain o:City ; rdfs:range xsd:integer .
:a a o:Canton ; rdfs:label "Alvara"@en, "阿尔瓦拉"@zh ; o:area 90.0 ; o:highestPoint :p1 ; o:lowestPoint :p2 .
:b a o:Canton ; rdfs:label "Borgund"@en, "博尔贡"@zh ; o:area 40.0 ; o:highestPoint :p3 ; o:lowestPoint :p4 .
:p1 a o:Spot ; rdfs:label "Mount Ysel"@en ; o:elevation 2100 . :p2 a o:Spot ; rdfs:label "Lake Orm"@en ; o:elevation 210 .
:p3 a o:Spot ; rdfs:label "Mount Tind"@en ; o:elevation 1800 . :p4 a o:Spot ; rdfs:label "River Mouth"@en ; o:elevation 3 .
:c1 a o:City ; rdfs:label "Lunde"@en, "隆德"@zh ; o:inCanton :a ; o:population 9000 .
:c2 a o:City ; rdfs:label "Marstad"@en, "马斯塔"@zh ; o:inCanton :b ; o:population 70000 .
"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where is Lunde?", {"Alvara"}),
        ("隆德在哪里？", {"Alvara"}),
        ("Where is the largest city?", {"Borgund"}),
        ("面积最小的省的最高点是什么？", {"Mount Tind"}),
        ("最小的省的最高点是什么？", {"Mount Tind"}),
        ("最大的省的最低点是什么？", {"Lake Orm"}),
        ("博尔贡的最低点是什么？", {"River Mouth"}),
    ],
)
def test_places_are_told_by_relations_called_after_them_and_extremes_by_their_own_names(
    question: str, answer: set[str]
) -> None:
    assert Coast(CANTONS).found(question) == answer
