"""How the words of a question are told apart: names of properties that count, codes in capitals, long names, further conditions."""

# ruff: noqa: E501
from __future__ import annotations

import pytest
from test_question_builtin import Graph

from kgplatform.types import Verdict

DEPOT = """
@prefix : <http://d/> . @prefix o: <http://d/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
o:Crate a owl:Class ; rdfs:label "crate"@en, "货箱"@zh . o:Keeper a owl:Class ; rdfs:label "keeper"@en, "保管员"@zh . o:Ware a owl:Class ; rdfs:label "ware"@en, "货物"@zh .
o:hasKeeper a owl:ObjectProperty ; rdfs:label "has ware keeper"@en, "保管人"@zh ; rdfs:domain o:Crate ; rdfs:range o:Keeper .
o:beside a owl:ObjectProperty ; rdfs:label "neighbouring crate"@en, "相邻货箱"@zh ; rdfs:domain o:Crate ; rdfs:range o:Crate .
o:dish a owl:ObjectProperty ; rdfs:label "recommended ware"@en, "推荐货物"@zh ; rdfs:domain o:Crate ; rdfs:range o:Ware .
o:shelf a owl:DatatypeProperty ; rdfs:label "shelf number"@en, "货架号"@zh . o:weight a owl:DatatypeProperty ; rdfs:label "gross weight"@en, "毛重"@zh .
o:land a owl:DatatypeProperty ; rdfs:label "land code"@en, "国家代码"@zh . o:bay a owl:DatatypeProperty ; rdfs:label "bay"@en, "泊位"@zh . o:phone a owl:DatatypeProperty ; rdfs:label "phone number"@en, "电话"@zh .
:k1 a o:Keeper ; rdfs:label "Ada Lund"@en, "阿达"@zh ; o:phone "555-1" . :k2 a o:Keeper ; rdfs:label "the shelf"@en ; o:phone "555-2" .
:w1 a o:Ware ; rdfs:label "Tea"@en, "茶叶"@zh . :w2 a o:Ware ; rdfs:label "Salt"@en, "盐"@zh .
:c1 a o:Crate ; rdfs:label "Alpha"@en, "甲箱"@zh ; o:hasKeeper :k1 ; o:shelf 12 ; o:weight 45 ; o:land "US" ; o:bay "7" ; o:dish :w1 ; o:beside :c2 .
:c2 a o:Crate ; rdfs:label "Beta"@en, "乙箱"@zh ; o:hasKeeper :k1 ; o:shelf 7 ; o:weight 30 ; o:land "DE" ; o:bay "45" ; o:dish :w2 ; o:beside :c3 .
:c3 a o:Crate ; rdfs:label "Gamma"@en, "丙箱"@zh ; o:hasKeeper :k2 ; o:shelf 12 ; o:weight 7 ; o:land "US" ; o:bay "12" ; o:dish :w1, :w2 ; o:beside :c1 .
:c1 o:cold -18 . :c2 o:cold 4 . o:cold a owl:DatatypeProperty ; rdfs:label "temperature"@en, "温度"@zh .
:c4 a o:Crate ; rdfs:label "What Do We Keep in the Last of All the Crates That Nobody Has Opened since the Autumn of That Year?"@en ; o:weight 99 .
:c5 a o:Crate ; rdfs:label "东城区第三仓库(王府井灯市口地铁站东北口旁边)五号货箱"@zh ; o:weight 98 ; o:hasKeeper :k1 .
"""


@pytest.fixture(scope="module")
def depot() -> Graph:
    return Graph(DEPOT)


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Which crates have the gross weight 45?", {"Alpha"}),
        ("Which crates have a gross weight of 7?", {"Gamma"}),
        ("Which crates have the shelf number 12?", {"Alpha", "Gamma"}),
        ("How many crates have the shelf number 12?", {"2"}),
        ("毛重为45的货箱有哪些？", {"甲箱"}),
        ("Which crates have the temperature -18?", {"Alpha"}),
        ("Which crates have a temperature above -5?", {"Beta"}),
        ("哪些货箱的温度低于零下10？", {"甲箱"}),
    ],
)
def test_a_number_after_a_measure_is_its_value_whatever_else_has_that_number(
    depot: Graph, question: str, values: set[str]
) -> None:
    assert set(depot.ask(question).values) == values


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("What is the phone number of the ware keeper of Alpha?", {"555-1"}),
        (
            "Which crates have the ware keeper Ada Lund?",
            {"Alpha", "Beta", "东城区第三仓库(王府井灯市口地铁站东北口旁边)五号货箱"},
        ),
        ("Which crates have the land code US?", {"Alpha", "Gamma"}),
    ],
)
def test_names_of_properties_hold_together_and_capitals_are_codes(
    depot: Graph, question: str, values: set[str]
) -> None:
    assert set(depot.ask(question).values) == values


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("哪些货箱的相邻货箱是乙箱，并且推荐货物是茶叶？", {"甲箱"}),
        ("Which crates have the neighbouring crate Alpha and have the recommended ware Salt?", {"Gamma"}),
    ],
)
def test_a_further_condition_is_one_of_what_is_asked_for(depot: Graph, question: str, values: set[str]) -> None:
    assert set(depot.ask(question).values) == values


@pytest.mark.parametrize(("question", "truth"), [("乙箱的推荐货物是盐吗？", "是"), ("甲箱的推荐货物是盐吗？", "否")])
def test_a_property_whose_name_begins_like_a_request_is_none(depot: Graph, question: str, truth: str) -> None:
    assert depot.ask(question).values == (truth,)


def test_groups_may_be_asked_for_before_what_is_counted(depot: Graph) -> None:
    answer = depot.ask("按国家代码统计，各有多少个货箱？")
    assert answer.verdict is Verdict.ANSWERED
    rows = {tuple(getattr(term, "value", "") for term in row) for row in answer.solutions.rows}
    assert rows == {("US", "2"), ("DE", "1")}


@pytest.mark.parametrize(
    ("question", "value"),
    [
        (
            "What is the gross weight of What Do We Keep in the Last of All the Crates That Nobody Has Opened since the Autumn of That Year?",
            "99",
        ),
        ("东城区第三仓库(王府井灯市口地铁站东北口旁边)五号货箱的毛重是多少？", "98"),
    ],
)
def test_names_of_many_words_are_found_whole(depot: Graph, question: str, value: str) -> None:
    assert depot.ask(question).values == (value,)
