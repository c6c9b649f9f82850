"""General rules of the built-in translator, on a bicycle workshop of our own: truths, shares, order, months, families."""

# ruff: noqa: E501

from __future__ import annotations

import pytest
from asked import Asked

from kgplatform.questions.confidence import calibrated
from kgplatform.questions.dates import days
from kgplatform.questions.deriving import by_opening, related
from kgplatform.types import Verdict

WORKSHOP = """
@prefix : <http://x/> . @prefix o: <http://x/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
o:Bike a owl:Class ; rdfs:label "bike"@en, "自行车"@zh . o:Tandem a owl:Class ; rdfs:label "tandem"@en, "双人车"@zh ; rdfs:subClassOf o:Bike .
o:Mechanic a owl:Class ; rdfs:label "mechanic"@en, "技师"@zh . o:Person a owl:Class ; rdfs:label "person"@en .
o:Repair a owl:Class ; rdfs:label "repair"@en, "维修"@zh . o:Colour a owl:Class ; rdfs:label "colour"@en, "颜色"@zh .
o:builtBy a owl:ObjectProperty ; rdfs:label "welded by"@en, "焊接者"@zh . o:painted a owl:ObjectProperty ; rdfs:label "colour"@en, "颜色"@zh .
o:mended a owl:ObjectProperty ; rdfs:label "mends"@en, "修理"@zh . o:doneBy a owl:ObjectProperty ; rdfs:label "carried out by"@en, "完成者"@zh .
o:electric a owl:DatatypeProperty ; rdfs:label "electric"@en, "电动"@zh . o:folds a owl:DatatypeProperty ; rdfs:label "foldable"@en, "可折叠"@zh .
o:weight a owl:DatatypeProperty ; rdfs:label "weight"@en, "重量"@zh . o:grade a owl:DatatypeProperty ; rdfs:label "frame grade"@en .
o:score a owl:DatatypeProperty ; rdfs:label "rating"@en, "评分"@zh . o:born a owl:DatatypeProperty ; rdfs:label "date of birth"@en, "出生日期"@zh .
o:sold a owl:DatatypeProperty ; rdfs:label "sale date"@en, "售出日期"@zh . o:age a owl:DatatypeProperty ; rdfs:label "age"@en, "年龄"@zh .
:red a o:Colour ; rdfs:label "Crimson"@en, "绯红"@zh . :blue a o:Colour ; rdfs:label "Cobalt"@en, "钴蓝"@zh .
:m1 a o:Mechanic, o:Person ; rdfs:label "Odd Lunde"@en, "奥德"@zh ; o:born "1961-04-02"^^xsd:date ; o:age 63 .
:m2 a o:Mechanic, o:Person ; rdfs:label "Petra Vail"@en, "佩特拉"@zh ; o:born "1988-09-30"^^xsd:date ; o:age 36 .
:b1 a o:Bike ; rdfs:label "Heron"@en, "苍鹭"@zh ; o:electric true ; o:folds false ; o:weight 22 ; o:grade "A" ; o:score 4.1 ; o:painted :red ; o:builtBy :m1 ; o:sold "2023-03-14"^^xsd:date .
:b2 a o:Bike ; rdfs:label "Wren"@en, "鹪鹩"@zh ; o:electric false ; o:folds true ; o:weight 11 ; o:grade "B" ; o:score 3.2 ; o:painted :blue ; o:builtBy :m1 ; o:sold "2023-04-01"^^xsd:date .
:b3 a o:Tandem ; rdfs:label "Stork"@en, "白鹳"@zh ; o:electric false ; o:folds false ; o:weight 19 ; o:grade "B" ; o:score 4.8 ; o:painted :red ; o:builtBy :m2 ; o:sold "1978-07-20"^^xsd:date .
:b4 a o:Bike ; rdfs:label "Finch"@en, "燕雀"@zh ; o:electric false ; o:folds true ; o:weight 9 ; o:grade "A" ; o:score 2.9 ; o:painted :blue ; o:builtBy :m2 ; o:sold "2023-03-29"^^xsd:date .
:r1 a o:Repair ; rdfs:label "R-1"@en ; o:mended :b2 ; o:doneBy :m2 . :r2 a o:Repair ; rdfs:label "R-2"@en ; o:mended :b1 ; o:doneBy :m1 .
"""


class Workshop(Asked):
    """The workshop, to be asked."""

    def __init__(self, turtle: str = WORKSHOP) -> None:
        super().__init__(turtle)

    def rows(self, text: str) -> list[tuple[str, ...]]:
        """The rows of the answer as they stand, things by their names; yes and no as one row."""
        found = self(text)
        if found.solutions.boolean is not None:
            return [(str(found.solutions.boolean).lower(),)]
        shown = [[t for t in row if t is not None] for row in found.solutions.rows]
        return [tuple(map(self.shown, row)) for row in shown]


@pytest.fixture(scope="module")
def workshop() -> Workshop:
    return Workshop()


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("Which bikes are electric?", {"Heron"}),
        ("Which bikes are not electric?", {"Wren", "Stork", "Finch"}),
        ("bikes that aren't foldable", {"Heron", "Stork"}),
        ("Which bikes can be folded?", {"Wren", "Finch"}),
        ("电动的自行车有哪些", {"Heron"}),
        ("非电动的自行车有哪些", {"Wren", "Stork", "Finch"}),
    ],
)
def test_a_yes_or_no_property_is_a_condition(workshop: Workshop, question: str, things: set[str]) -> None:
    assert {row[0] for row in workshop.rows(question)} == things


@pytest.mark.parametrize(
    ("question", "holds"),
    [("Is Heron electric?", "true"), ("Is Wren electric?", "false"), ("白鹳是电动的吗？", "false")],
)
def test_whether_a_thing_has_a_yes_or_no_property(workshop: Workshop, question: str, holds: str) -> None:
    assert workshop.rows(question) == [(holds,)]


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("What percentage of bikes are electric?", 25.0),
        ("What share of the bikes is foldable?", 0.5),
        ("What percentage of bikes are tandems?", 25.0),
        ("proportion of bikes welded by Odd Lunde", 0.5),
        ("What is the ratio of foldable bikes to electric bikes?", 2.0),
        ("电动的自行车占比多少？", 25.0),
    ],
)
def test_a_share_divides_two_counts(workshop: Workshop, question: str, value: float) -> None:
    rows = workshop.rows(question)
    assert [float(cell) for row in rows for cell in row] == [pytest.approx(value)]


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("List all bikes sorted by weight", ["Finch", "Wren", "Stork", "Heron"]),
        ("List all bikes sorted by weight, heaviest first", ["Heron", "Stork", "Wren", "Finch"]),
        ("bikes ordered by rating in descending order", ["Stork", "Heron", "Wren", "Finch"]),
        ("Show all bikes in alphabetical order", ["Finch", "Heron", "Stork", "Wren"]),
        ("列出所有自行车，按重量从大到小排列", ["Heron", "Stork", "Wren", "Finch"]),
    ],
)
def test_rows_keep_the_order_that_a_question_asks_for(workshop: Workshop, question: str, things: list[str]) -> None:
    assert [row[0] for row in workshop.rows(question)] == things


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("Which bikes were sold in March 2023?", {"Heron", "Finch"}),
        ("bikes sold before March 2023", {"Stork"}),
        ("bikes sold after March 2023", {"Wren"}),
        ("bikes sold in the 1970s", {"Stork"}),
        ("2023年3月售出的自行车", {"Heron", "Finch"}),
    ],
)
def test_months_and_decades_are_stretches_of_days(workshop: Workshop, question: str, things: set[str]) -> None:
    assert {row[0] for row in workshop.rows(question)} == things


def test_a_month_is_its_days_and_two_months_are_one_stretch() -> None:
    assert [(d.first, d.last) for d in days("between February 2024 and 2024年4月")] == [("2024-02-01", "2024-04-30")]
    assert [days(text) for text in ("the 13th of May", "2023年13月")] == [(), ()]


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("bikes with frame grade A", {"Heron", "Finch"}),  # "a" is no article here
        ("Who is the oldest mechanic?", {"Odd Lunde"}),
        ("Who is the youngest mechanic?", {"Petra Vail"}),
        ("When was Petra Vail born?", {"1988-09-30"}),
        ("Who is the welder of Stork?", {"Petra Vail"}),
        ("Who mended Wren?", {"Petra Vail"}),
        ("Which is the best rated bike?", {"Stork"}),
        ("评分最高的自行车", {"Stork"}),
    ],
)
def test_words_that_lead_to_a_property_by_their_family_or_sense(
    workshop: Workshop, question: str, things: set[str]
) -> None:
    assert {row[0] for row in workshop.rows(question)} == things


def test_by_a_kind_at_the_end_is_for_each_of_the_kind(workshop: Workshop) -> None:
    assert sorted(workshop.rows("number of bikes by colour")) == [("Cobalt", "2"), ("Crimson", "2")]
    assert sorted((name, float(mean)) for name, mean in workshop.rows("average weight by colour")) == [
        ("Cobalt", 10.0),
        ("Crimson", 20.5),
    ]


@pytest.mark.parametrize(
    "question", ["Which bike has the highest stiffness?", "Which mechanic has the biggest payload?"]
)
def test_a_most_of_what_the_graph_has_not_is_refused_by_name(workshop: Workshop, question: str) -> None:
    answer = workshop(question)
    assert answer.verdict is Verdict.UNANSWERABLE
    assert question.rstrip("?").rsplit(" ", 1)[-1] in answer.text


def test_related_words_share_a_stem_and_an_ending_that_makes_words() -> None:
    known = by_opening(("direct", "dire", "smok", "prescription", "own", "diagnosi", "order"))
    assert related("director", known) == ("direct",)
    assert related("smoker", known) == ("smok",)
    assert related("prescrib", known) == ("prescription",)
    assert related("owner", known) == ("own",)
    assert related("diagnos", known) == ("diagnosi",)
    assert related("orderly", known) == ()


def test_confidence_never_falls_as_the_evidence_rises() -> None:
    values = [calibrated(i / 100) for i in range(101)]
    assert values == sorted(values)
    assert (values[0], values[30]) == (0.0, 0.3)
    assert values[-1] < 1.0
