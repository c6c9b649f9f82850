"""How Chinese puts counts, numbers, denials, choices and comparisons, on tea valleys of our own; English where it can."""

# ruff: noqa: E501
from __future__ import annotations

import pytest
from asked import Asked

from kgplatform.questions.numerals import and_some, han_number, han_range
from kgplatform.questions.quantities import amounts
from kgplatform.questions.tokens import tokens_of

VALLEYS = """
@prefix : <http://x/> . @prefix o: <http://x/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
o:Valley a owl:Class ; rdfs:label "valley"@en, "山谷"@zh . o:Teahouse a owl:Class ; rdfs:label "teahouse"@en, "茶馆"@zh .
o:Garden a owl:Class ; rdfs:label "garden"@en, "茶园"@zh . o:Comfort a owl:Class ; rdfs:label "comfort"@en, "便利"@zh .
o:Tea a owl:Class ; rdfs:label "tea to try"@en, "推荐茶"@zh . o:Brook a owl:Class ; rdfs:label "brook"@en, "溪流"@zh .
o:borders a owl:ObjectProperty ; rdfs:label "borders"@en, "接壤"@zh . o:crosses a owl:ObjectProperty ; rdfs:label "flows through"@en, "流经"@zh .
o:nearbyHouse a owl:ObjectProperty ; rdfs:label "nearby teahouse"@en, "周边茶馆"@zh . o:offers a owl:ObjectProperty ; rdfs:label "offers"@en, "配备"@zh .
o:tea a owl:ObjectProperty ; rdfs:label "tea to try"@en, "推荐茶"@zh . o:inValley a owl:ObjectProperty ; rdfs:label "in valley"@en, "位于"@zh .
o:fee a owl:DatatypeProperty ; rdfs:label "ticket fee"@en, "门票"@zh ; rdfs:comment "What the entrance costs; 0 means free."@en .
o:score a owl:DatatypeProperty ; rdfs:label "rating"@en, "评分"@zh . o:price a owl:DatatypeProperty ; rdfs:label "price"@en, "价格"@zh .
o:people a owl:DatatypeProperty ; rdfs:label "population"@en, "人口"@zh . o:area a owl:DatatypeProperty ; rdfs:label "area"@en, "面积"@zh .
o:warden a owl:DatatypeProperty ; rdfs:label "warden"@en, "看守人"@zh .
:v1 a o:Valley ; rdfs:label "Ash Valley"@en, "槐谷"@zh ; o:people 35000 ; o:area 90 ; o:borders :v2, :v3 .
:v2 a o:Valley ; rdfs:label "Birch Valley"@en, "桦谷"@zh ; o:people 1200000 ; o:area 40 ; o:borders :v1, :v3, :v4 .
:v3 a o:Valley ; rdfs:label "Cedar Valley"@en, "杉谷"@zh ; o:people 450000 ; o:area 70 ; o:borders :v1, :v2 .
:v4 a o:Valley ; rdfs:label "Elder Valley"@en, "榆谷"@zh ; o:people 800 ; o:area 55 ; o:borders :v2 .
:k1 a o:Brook ; rdfs:label "Clear Brook"@en, "清溪"@zh ; o:crosses :v1, :v2 . :k2 a o:Brook ; rdfs:label "Loud Brook"@en, "响溪"@zh ; o:crosses :v3 .
:f1 a o:Comfort ; rdfs:label "Fireplace"@en, "壁炉"@zh . :f2 a o:Comfort ; rdfs:label "Library"@en, "书房"@zh . :f3 a o:Comfort ; rdfs:label "Stage"@en, "戏台"@zh .
:t1 a o:Tea ; rdfs:label "Smoked leaf"@en, "烟熏叶"@zh . :t2 a o:Tea ; rdfs:label "White bud"@en, "白毫"@zh . :t3 a o:Tea ; rdfs:label "Without"@en, "没有"@zh .
:h1 a o:Teahouse ; rdfs:label "Crane"@en, "鹤居"@zh ; o:inValley :v1 ; o:score 4.6 ; o:price 180 ; o:offers :f1, :f2 ; o:tea :t1, :t2 .
:h2 a o:Teahouse ; rdfs:label "Moss"@en, "苔居"@zh ; o:inValley :v1 ; o:score 4.1 ; o:price 95 ; o:offers :f1 ; o:tea :t1 .
:h3 a o:Teahouse ; rdfs:label "Pine"@en, "松居"@zh ; o:inValley :v2 ; o:score 3.9 ; o:price 240 ; o:offers :f2 ; o:tea :t2 .
:h4 a o:Teahouse ; rdfs:label "Reed"@en, "苇居"@zh ; o:inValley :v2 ; o:score 4.8 ; o:price 310 ; o:offers :f1, :f3 ; o:tea :t3 .
:g1 a o:Garden ; rdfs:label "Fog Garden"@en, "雾园"@zh ; o:inValley :v1 ; o:fee 0 ; o:score 4.9 ; o:nearbyHouse :h1, :h2, :h3 ; o:warden "Ruo" .
:g2 a o:Garden ; rdfs:label "Dew Garden"@en, "露园"@zh ; o:inValley :v2 ; o:fee 25 ; o:score 4.2 ; o:nearbyHouse :h1, :h4 .
:g3 a o:Garden ; rdfs:label "Sun Garden"@en, "日园"@zh ; o:inValley :v3 ; o:fee 60 ; o:score 4.4 .
"""


class Valleys(Asked):
    """The valleys, to be asked."""

    def __init__(self, turtle: str = VALLEYS) -> None:
        super().__init__(turtle)

    def found(self, text: str) -> set[str]:
        """The first column of the answer, things by their English names; yes and no as one."""
        solutions = self(text).solutions
        assert solutions is not None, self(text).text
        if solutions.boolean is not None:
            return {"yes" if solutions.boolean else "no"}
        cells = [row[0] for row in solutions.rows]
        return {self.shown(cell) for cell in cells}


@pytest.fixture(scope="module")
def valleys() -> Valleys:
    return Valleys()


def read(text: str) -> list[tuple[str, str, str | None]]:
    """The amounts of a text without any names."""
    return [(a.operator, a.low, a.high) for a in amounts(text, tokens_of(text), frozenset(), set())]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("人口超过一千万的", [(">", "10000000", None)]),
        ("人口在四十万到五十万之间", [("..", "400000", "500000")]),
        ("4到5万人", [("..", "40000", "50000")]),
        ("两百块以内", [("<=", "200", None)]),
        ("工资三万五以上", [(">=", "35000", None)]),
        ("一百多块的", [(">", "100", None), ("<", "200", None)]),
        ("两三百块的", [("..", "200", "300")]),
        ("价格别超过300", [("<=", "300", None)]),
        ("三家以上分店", [(">=", "3", None)]),
        ("哪一年成立的，和朋友一起去", []),
        ("between 5 and 10 years", [("..", "5", "10")]),
    ],
)
def test_numbers_are_read_as_they_are_written(text: str, found: list[tuple[str, str, str | None]]) -> None:
    assert read(text) == found


def test_numbers_in_characters() -> None:
    assert [han_number(text) for text in ("两百零八", "一亿两千万", "十五", "千", "山")] == [
        208,
        120_000_000,
        15,
        None,
        None,
    ]
    assert han_range("三四十") == (30, 40)
    assert and_some("2000") == ("2000", "3000")


@pytest.mark.parametrize(
    ("question", "found"),
    [
        # which, not how many; "several" counts nothing
        ("清溪流经哪几个山谷？", {"Ash Valley", "Birch Valley"}),
        ("配备壁炉的茶馆是哪几家", {"Crane", "Moss", "Reed"}),
        ("推荐几家雾园周边的茶馆", {"Crane", "Moss", "Pine"}),
        ("清溪流经几个山谷？", {"2"}),
        # numbers in characters
        ("人口超过一百万的山谷有几个", {"1"}),
        ("人口在四十万到五十万之间的山谷有哪些", {"Cedar Valley"}),
        ("价格一百多的茶馆有哪些", {"Crane"}),
        ("价格两三百的茶馆", {"Pine"}),
        ("人口几十万的山谷", {"Cedar Valley"}),
        # yes or no, which is no denial
        ("雾园是不是位于桦谷", {"no"}),
        ("雾园是不是位于槐谷", {"yes"}),
        ("日园附近有没有茶馆？", {"no"}),
        # denials
        ("没有壁炉的茶馆有哪些", {"Pine"}),
        ("有壁炉却没有书房的茶馆是哪几家", {"Moss", "Reed"}),
        ("没有壁炉也没有戏台的茶馆", {"Pine"}),
        ("不在槐谷也不在桦谷的茶园", {"Sun Garden"}),
        ("跟槐谷接壤、但清溪不流经的山谷有哪些？", {"Cedar Valley"}),
        ("没有标注看守人的茶园有哪些", {"Dew Garden", "Sun Garden"}),
        ("一家茶馆都没有的山谷有哪些", {"Cedar Valley", "Elder Valley"}),
        ("评分4分以上、没有书房的茶馆", {"Moss", "Reed"}),
        # free, by what the ontology says
        ("哪些茶园不要钱？", {"Fog Garden"}),
        ("不用买票的茶园有几个", {"1"}),
        ("不要门票的茶园", {"Fog Garden"}),
        ("哪些茶园不是免费的？", {"Dew Garden", "Sun Garden"}),
        ("which gardens are not free?", {"Dew Garden", "Sun Garden"}),
        ("雾园要买票吗", {"no"}),
        # a request is no property
        ("雾园周边的茶馆，评分4.5以上，有什么推荐", {"Crane"}),
        ("鹤居的推荐茶是什么", {"Smoked leaf", "White bud"}),
        # what has to do with both
        ("同时和槐谷、桦谷接壤的是哪些山谷？", {"Cedar Valley"}),
        ("有没有茶馆离雾园和露园都不远？", {"Crane"}),
        ("雾园和露园周边都有哪些茶馆", {"Crane", "Moss", "Pine", "Reed"}),
        ("哪些茶馆烟熏叶和白毫都有", {"Crane"}),
        # conditions are of what is asked for
        ("雾园旁边的茶馆，评分4.5以上", {"Crane"}),
        # by how much, and whether
        ("桦谷比杉谷多多少人？", {"750000"}),
        ("槐谷的面积比桦谷大多少", {"50"}),
        ("露园的门票比日园便宜多少", {"35"}),
        ("槐谷和榆谷的面积相差多少", {"35"}),
        ("how much bigger is the area of Ash Valley than that of Birch Valley?", {"50"}),
        ("露园的门票是不是比日园便宜", {"yes"}),
        ("日园的门票是不是比露园便宜", {"no"}),
        ("槐谷的茶馆比杉谷多吗", {"yes"}),
        ("杉谷的茶园比榆谷少吗", {"no"}),
        ("槐谷的茶馆比杉谷多多少", {"2"}),
        # the thing, not its value
        ("跟桦谷接壤的山谷中，哪个面积最大？", {"Ash Valley"}),
        ("茶馆里评分最高的是哪家", {"Reed"}),
        ("清溪流经的山谷当中，人口最多的那个山谷与哪些山谷接壤", {"Ash Valley", "Cedar Valley", "Elder Valley"}),
        ("露园周边的茶馆里，哪些配备书房", {"Crane"}),
        # how many of each
        ("平均每个山谷有几家茶馆", {"2"}),
        ("how many teahouses does each valley have on average?", {"2"}),
        ("茶馆超过一家的山谷有哪些", {"Ash Valley", "Birch Valley"}),
    ],
)
def test_chinese_questions(valleys: Valleys, question: str, found: set[str]) -> None:
    assert valleys.found(question) == found
