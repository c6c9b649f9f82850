"""Names in questions that no label has just so: with their kind beside them, shortened, in other letters, of chains."""

# ruff: noqa: E501

from __future__ import annotations

import pytest
from asked import Asked
from pyoxigraph import Literal

from kgplatform.types import Verdict

PREFIXES = """
@prefix : <http://x/> . @prefix o: <http://x/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
HILLS = (
    PREFIXES
    + """
o:Shire a owl:Class ; rdfs:label "shire"@en, "郡"@zh . o:River a owl:Class ; rdfs:label "river"@en, "河流"@zh .
o:Lake a owl:Class ; rdfs:label "lake"@en, "湖泊"@zh . o:Mountain a owl:Class ; rdfs:label "mountain"@en, "山峰"@zh .
o:Spot a owl:Class ; rdfs:label "named spot"@en, "地名点"@zh .
o:crosses a owl:ObjectProperty ; rdfs:label "flows through"@en, "流经"@zh .
o:inShire a owl:ObjectProperty ; rdfs:label "in shire"@en, "所在郡"@zh .
o:lowest a owl:ObjectProperty ; rdfs:label "lowest point"@en, "最低点"@zh .
o:length a owl:DatatypeProperty ; rdfs:label "length"@en, "长度"@zh . o:area a owl:DatatypeProperty ; rdfs:label "area"@en, "面积"@zh .
o:height a owl:DatatypeProperty ; rdfs:label "elevation"@en, "海拔"@zh .
:otter a o:River ; rdfs:label "Otter"@en, "水獭"@zh ; o:length 120 ; o:crosses :norl, :suld . :norl a o:Shire ; rdfs:label "Norland"@en, "诺兰"@zh ; o:lowest :spot .
:suld a o:Shire ; rdfs:label "Suldal"@en, "苏达"@zh ; o:lowest :spot2 . :spot a o:Spot ; rdfs:label "Otter River"@en . :spot2 a o:Spot ; rdfs:label "Lake Mirren"@en .
:mirren a o:Lake ; rdfs:label "Mirren"@en ; o:area 75 ; o:inShire :norl . :grell a o:Mountain ; rdfs:label "Grell"@en, "格雷"@zh ; o:height 1420 ; o:inShire :suld .
:norlr a o:River ; rdfs:label "Norland"@en ; o:length 9 ; o:crosses :suld . :vale a o:Shire ; rdfs:label "Vale"@en .
"""
)
TOWNS = (
    PREFIXES
    + """
o:Unit a owl:Class ; rdfs:label "unit"@en . o:Province a owl:Class ; rdfs:label "province"@en, "省份"@zh ; rdfs:subClassOf o:Unit .
o:City a owl:Class ; rdfs:label "city"@en, "城市"@zh ; rdfs:comment "Borough-level unit or chartered port. Some have no towns."@en ; rdfs:subClassOf o:Unit . o:Town a owl:Class ; rdfs:label "town"@en, "乡镇"@zh ; rdfs:subClassOf o:Unit .
o:partOf a owl:ObjectProperty ; rdfs:label "part of"@en, "属于"@zh . o:code a owl:DatatypeProperty ; rdfs:label "code"@en, "代码"@zh .
:p1 a o:Province ; rdfs:label "岭北省"@zh ; o:code "P1" . :p2 a o:Province ; rdfs:label "云泽苗族自治区"@zh ; o:code "P2" .
:c1 a o:City ; rdfs:label "青田市"@zh ; o:partOf :p1 ; o:code "C1" . :c2 a o:City ; rdfs:label "江临市"@zh ; o:partOf :p1 ; o:code "C2" .
:c3 a o:City ; rdfs:label "石湾市"@zh ; o:partOf :p2 ; o:code "C3" .
:t1 a o:Town ; rdfs:label "岭北镇"@zh ; o:partOf :c3 ; o:code "T1" . :t2 a o:Town ; rdfs:label "柳桥镇"@zh ; o:partOf :c1 ; o:code "T2" .
:t3 a o:Town ; rdfs:label "荷塘镇"@zh ; o:partOf :c1 ; o:code "T3" . :t4 a o:Town ; rdfs:label "枫林镇"@zh ; o:partOf :c2 ; o:code "T4" .
:t5 a o:Town ; rdfs:label "柳桥镇"@zh ; o:partOf :c3 ; o:code "T5" . :t6 a o:Town ; rdfs:label "竹林镇"@zh ; o:partOf :c3 ; o:code "T6" .
"""
)
SHOPS = (
    PREFIXES
    + """
o:Teahouse a owl:Class ; rdfs:label "teahouse"@en, "茶楼"@zh . o:Inn a owl:Class ; rdfs:label "inn"@en, "客栈"@zh . o:Station a owl:Class ; rdfs:label "station"@en, "车站"@zh .
o:phone a owl:DatatypeProperty ; rdfs:label "phone"@en, "电话"@zh . o:score a owl:DatatypeProperty ; rdfs:label "rating"@en, "评分"@zh .
o:address a owl:DatatypeProperty ; rdfs:label "address"@en, "地址"@zh . o:near a owl:ObjectProperty ; rdfs:label "near"@en, "附近"@zh .
:a1 a o:Teahouse ; rdfs:label "鹤鸣轩(柳岸店)"@zh ; o:phone "5511" ; o:score 4.1 ; o:address "清溪市东城区柳岸街12号" . :a2 a o:Teahouse ; rdfs:label "鹤鸣轩(北门店)"@zh ; o:phone "5512" ; o:score 4.8 ; o:address "清溪市西城区北门路7号" .
:a3 a o:Teahouse ; rdfs:label "鹤鸣轩茶楼(钟楼店)"@zh ; o:phone "5513" ; o:score 3.9 . :a4 a o:Teahouse ; rdfs:label "听松阁"@zh ; o:phone "5514" ; o:score 4.5 .
:i1 a o:Inn ; rdfs:label "清溪云栖竹里客栈"@zh ; o:phone "5521" ; o:score 4.0 ; o:near :s1 . :i2 a o:Inn ; rdfs:label "清溪望江客栈"@zh ; o:phone "5522" ; o:near :s2 . :i3 a o:Inn ; rdfs:label "清溪国际客栈"@zh ; o:phone "5523" .
:i4 a o:Inn ; rdfs:label "清溪国际会馆客栈"@zh ; o:phone "5524" . :i5 a o:Inn ; rdfs:label "清溪老渡口客栈"@zh ; o:phone "5525" .
:s1 a o:Station ; rdfs:label "梅岭电车站"@zh . :s2 a o:Station ; rdfs:label "桃园电车站"@zh . :s3 a o:Station ; rdfs:label "竹口电车站"@zh . :s4 a o:Station ; rdfs:label "东门电车站"@zh . :a4 o:near :s1 .
:b1 a o:Inn ; rdfs:label "Brightway Harbour"@en ; o:phone "5531" . :b2 a o:Inn ; rdfs:label "Brightway Old Town"@en ; o:phone "5532" . :b3 a o:Inn ; rdfs:label "Bright Star"@en ; o:phone "5533" .
"""
)


class Small(Asked):
    """A graph, to be asked."""

    def found(self, text: str) -> set[str]:
        """The terms of the answer, things by the ends of their IRIs; yes and no as one."""
        rows = self(text).solutions
        if rows.boolean is not None:
            return {str(rows.boolean).lower()}
        terms = {t for row in rows.rows for t in row if t is not None}
        return {t.value if isinstance(t, Literal) else str(t.value).rpartition("/")[2] for t in terms}


@pytest.fixture(scope="module")
def hills() -> Small:
    return Small(HILLS)


@pytest.fixture(scope="module")
def towns() -> Small:
    return Small(TOWNS)


@pytest.fixture(scope="module")
def shops() -> Small:
    return Small(SHOPS)


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        ("Which shires does the Otter River flow through?", {"norl", "suld"}),
        ("How long is the Otter River?", {"120"}),
        ("how long is the otter river", {"120"}),
        ("Which shire's lowest point is the Otter River?", {"norl"}),
        ("What is the area of Lake Mirren?", {"75"}),
        ("Which shire is Lake Mirren in?", {"norl"}),
        ("What is the elevation of Mt. Grell?", {"1420"}),
        ("Which shire is Mount Grell in?", {"suld"}),
        ("What is the length of the Norland river?", {"9"}),
        ("水獭河流经哪些郡？", {"norl", "suld"}),
        ("水獭河的长度是多少", {"120"}),
        ("格雷山的海拔是多少？", {"1420"}),
    ],
)
def test_a_name_with_its_kind_beside_it(hills: Small, question: str, holds: set[str]) -> None:
    assert hills.found(question) == holds


def test_a_kind_behind_which_belongs_to_no_name(hills: Small) -> None:
    assert hills.found("Which Norland river is the longest?") == {"otter"}


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        ("What is the code of Qingtian?", {"C1"}),
        ("what is the code of qingtian", {"C1"}),
        ("Which province is Jianglin part of?", {"p1"}),
        ("Which cities are part of Lingbei?", {"c1", "c2"}),
        ("What is the code of Lingbei town?", {"T1"}),
        ("What is the code of Lingbei province?", {"P1"}),
        ("Which cities are part of Yunze?", {"c3"}),
        ("Is Shiwan part of Yunze?", {"true"}),
    ],
)
def test_chinese_names_in_latin_letters(towns: Small, question: str, holds: set[str]) -> None:
    assert towns.found(question) == holds


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        ("鹤鸣轩柳岸店的电话是多少？", {"5511"}),
        ("鹤鸣轩北门店的评分", {"4.8"}),
        ("北门那家鹤鸣轩的电话", {"5512"}),
        ("柳岸的鹤鸣轩电话多少", {"5511"}),
        ("云栖竹里的电话是多少", {"5521"}),
        ("云栖竹里客栈的电话", {"5521"}),
        ("附近是梅岭站的客栈有哪些", {"i1"}),
    ],
)
def test_chinese_names_said_shorter(shops: Small, question: str, holds: set[str]) -> None:
    assert shops.found(question) == holds


def test_what_several_names_share_names_none_of_them(shops: Small) -> None:
    assert shops("国际的电话是多少").verdict is not Verdict.ANSWERED


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        ("鹤鸣轩一共有多少家门店？", {"3"}),
        ("鹤鸣轩在清溪有多少家店", {"3"}),
        ("鹤鸣轩的门店里评分高于4的有哪些", {"a1", "a2"}),
        ("How many Brightway branches are there?", {"2"}),
        ("List all the Brightway locations", {"b1", "b2"}),
    ],
)
def test_branches_of_a_chain(shops: Small, question: str, holds: set[str]) -> None:
    assert shops.found(question) == holds


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        ("Which other towns are in the same city as 荷塘镇?", {"t2"}),
        ("Which cities belong to the same province as Qingtian?", {"c2"}),
        ("How many other cities share a province with 青田市?", {"1"}),
        ("荷塘镇跟哪些乡镇是同一个城市的？", {"t2"}),
        ("与青田市同省份的城市有哪些", {"c2"}),
        ("Are 青田市 and 江临市 in the same province?", {"true"}),
        ("青田市和石湾市是同一个省份的吗？", {"false"}),
        ("Which towns are in the same province as 荷塘镇?", {"t2", "t4"}),
    ],
)
def test_what_shares_something_with_a_thing(towns: Small, question: str, holds: set[str]) -> None:
    assert towns.found(question) == holds


def test_the_same_value_of_a_property(hills: Small) -> None:
    assert hills.found("Which other shires have the same lowest point as Norland?") == set()
    assert hills.found("Which rivers flow through the same shire as the Norland river?") == {"otter"}


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        ("柳岸街12号是哪家茶楼？", {"a1"}),
        ("位于北门路7号的茶楼有哪些", {"a2"}),
        ("Which teahouse has the address 柳岸街12号?", {"a1"}),
        ("Which inn has the phone 5532?", {"b2"}),
    ],
)
def test_parts_of_addresses_and_numbers_are_values(shops: Small, question: str, holds: set[str]) -> None:
    assert shops.found(question) == holds


def test_part_of_an_address_is_no_other_address(shops: Small) -> None:
    assert shops("杨柳岸街12号是哪家茶楼？").verdict is not Verdict.ANSWERED
    assert shops("北门路77号是哪家茶楼？").verdict is not Verdict.ANSWERED


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        ("What is the city code of Qingtian?", {"C1"}),
        ("青田市的城市代码是多少？", {"C1"}),
        ("Which place has the code C3?", {"c3"}),
        ("Which place has the unit code P2?", {"p2"}),
        ("代码是C3的是什么地方？", {"c3"}),
        ("代码C3是哪里？", {"c3"}),
        ("C3是哪里的代码", {"c3"}),
        ("Whose code is C3?", {"c3"}),
        ("Which cities are in 岭北省?", {"c1", "c2"}),
    ],
)
def test_words_inside_the_name_of_a_property(towns: Small, question: str, holds: set[str]) -> None:
    assert towns.found(question) == holds


def test_of_namesakes_said_together_those_of_one_class_are_meant(hills: Small) -> None:
    assert hills.found("Which rivers flow through both Suldal and Norland?") == {"otter"}


def test_what_is_called_after_one_thing_needs_no_question_back(shops: Small) -> None:
    assert shops("附近是梅岭站的客栈有哪些").verdict is Verdict.ANSWERED
    assert shops("鹤鸣轩的电话").verdict is Verdict.UNCLEAR


@pytest.mark.parametrize(
    "question",
    [
        "How many towns are called 柳桥镇?",
        "How many towns named 柳桥镇 are there?",
        "全国有几个柳桥镇？",
        "叫柳桥镇的乡镇有多少个",
    ],
)
def test_how_many_go_by_a_name(towns: Small, question: str) -> None:
    assert towns.found(question) == {"2"}


def test_what_has_one_of_a_name_needs_no_question_back(towns: Small) -> None:
    for question in ("Which cities have a town called 柳桥镇?", "哪些城市都有柳桥镇？"):
        assert towns(question).verdict is Verdict.ANSWERED
        assert towns.found(question) == {"c1", "c3"}
    assert towns("What is the code of 柳桥镇?").verdict is Verdict.UNCLEAR


def test_a_comment_may_begin_with_a_list_of_names(towns: Small) -> None:
    assert towns.found("Which borough-level unit is 荷塘镇 part of?") == {"c1"}
    assert towns.found("How many chartered ports are in 岭北省?") == {"2"}
