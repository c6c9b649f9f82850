"""What the translator does with typical forms of questions, on small graphs of foreign domains, in both languages."""

from __future__ import annotations

from itertools import pairwise

import pyoxigraph as ox
import pytest

from kgplatform.dataset import EvidenceDataset, quad
from kgplatform.ontology import read_ontology
from kgplatform.questions.answer import QuestionParts, ask, knowledge
from kgplatform.store import DEFAULT_GRAPH, Store, parse
from kgplatform.types import Answer, Verdict

PREFIXES = """
@prefix : <http://x/> . @prefix o: <http://x/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix core: <https://w3id.org/kgplatform/core#> .
"""
MUSIC = f"""{PREFIXES}
o:Composer a owl:Class ; rdfs:label "composer"@en, "作曲家"@zh .
o:Work a owl:Class ; rdfs:label "work"@en, "作品"@zh .
o:Key a owl:Class ; rdfs:label "key"@en, "调性"@zh .
o:composedBy a owl:ObjectProperty ; rdfs:label "composed by"@en, "作曲者"@zh .
o:inKey a owl:ObjectProperty ; rdfs:label "key"@en, "调性"@zh ; skos:altLabel "composed in"@en .
o:quotes a owl:ObjectProperty ; rdfs:label "quotes"@en, "引用"@zh .
o:dedicatee a owl:ObjectProperty ; rdfs:label "dedicated to"@en, "题献给"@zh .
o:minutes a owl:DatatypeProperty ; rdfs:label "minutes"@en, "分钟数"@zh ; skos:altLabel "how many minutes"@en ;
  core:unit "minute" .
o:catalogue a owl:DatatypeProperty ; rdfs:label "catalogue number"@en, "作品编号"@zh .
:anna a o:Composer ; rdfs:label "Anna Lind"@en, "安娜"@zh .
:bo a o:Composer ; rdfs:label "Bo Falk"@en, "博法克"@zh .
:cy a o:Composer ; rdfs:label "Cy Reed"@en, "赛里德"@zh .
:dm a o:Key ; rdfs:label "D minor"@en, "D小调"@zh .
:ef a o:Key ; rdfs:label "E flat"@en, "降E大调"@zh .
:w1 a o:Work ; rdfs:label "Harbour Suite"@en, "港湾组曲"@zh ; o:composedBy :anna ; o:inKey :dm ; o:minutes 31 ;
  o:catalogue "LF204" .
:w2 a o:Work ; rdfs:label "Night Harbour"@en, "夜港"@zh ; o:composedBy :bo ; o:inKey :ef ; o:minutes 12 ;
  o:catalogue "LF311" ; o:quotes :w1 .
:w3 a o:Work ; rdfs:label "Glass Hymn"@en, "玻璃颂"@zh ; o:composedBy :anna ; o:inKey :ef ; o:minutes 20 ;
  o:catalogue "LF355" ; o:dedicatee :bo .
:w4 a o:Work ; rdfs:label "Field Song"@en, "田野之歌"@zh ; o:composedBy :cy ; o:inKey :dm ; o:minutes 8 ;
  o:catalogue "LF390" .
"""
GEOLOGY = f"""{PREFIXES}
o:Sample a owl:Class ; rdfs:label "sample"@en, "样品"@zh .
o:Mineral a owl:Class ; rdfs:label "mineral"@en, "矿物"@zh .
o:Core a owl:Class ; rdfs:label "drill core"@en, "岩芯"@zh .
o:holds a owl:ObjectProperty ; rdfs:label "contains mineral"@en, "含有矿物"@zh .
o:depth a owl:DatatypeProperty ; rdfs:label "depth"@en, "深度"@zh .
o:coreCode a owl:DatatypeProperty ; rdfs:label "core code"@en, "岩芯编号"@zh .
o:drawn a owl:ObjectProperty ; rdfs:label "drawn from"@en, "取自"@zh .
:q a o:Mineral ; rdfs:label "quartz"@en, "石英"@zh . :f a o:Mineral ; rdfs:label "feldspar"@en, "长石"@zh .
:m a o:Mineral ; rdfs:label "mica"@en, "云母"@zh .
<http://x/entity/k07-1f2e3d4c> a o:Core ; o:coreCode "K07" .
<http://x/entity/k19-5a6b7c8d> a o:Core ; o:coreCode "K19" .
:s1 a o:Sample ; rdfs:label "Pebble One"@en, "卵石一号"@zh ; o:holds :q, :f ; o:depth 12 ;
  o:drawn <http://x/entity/k07-1f2e3d4c> .
:s2 a o:Sample ; rdfs:label "Pebble Two"@en, "卵石二号"@zh ; o:holds :q ; o:depth 40 ;
  o:drawn <http://x/entity/k19-5a6b7c8d> .
:s3 a o:Sample ; rdfs:label "Shard Three"@en, "碎片三号"@zh ; o:holds :f, :m ; o:depth 25 ;
  o:drawn <http://x/entity/k07-1f2e3d4c> .
"""
LIBRARY = f"""{PREFIXES}
o:Book a owl:Class ; rdfs:label "book"@en, "图书"@zh . o:Shelf a owl:Class ; rdfs:label "shelf"@en, "书架"@zh .
o:stands a owl:ObjectProperty ; rdfs:label "stands on"@en, "放在"@zh .
o:follows a owl:ObjectProperty ; rdfs:label "sequel to"@en, "续集"@zh .
o:points a owl:DatatypeProperty ; rdfs:label "points"@en, "积分"@zh ; core:unit "point" .
:b1 a o:Book ; rdfs:label "BK101"@en, "海鸥"@zh ; skos:altLabel "Seagull"@en ; o:stands :p ; o:points 7.5 .
:b2 a o:Book ; rdfs:label "BK202"@en, "灯塔"@zh ; skos:altLabel "Lighthouse"@en ; o:stands :p ; o:follows :b1 .
:p a o:Shelf ; rdfs:label "Poetry Shelf"@en, "诗歌书架"@zh .
"""
HARBOURS = f"""{PREFIXES}
o:Ship a owl:Class ; rdfs:label "ship"@en, "船"@zh . o:Voyage a owl:Class ; rdfs:label "voyage"@en, "航次"@zh .
o:Line a owl:Class ; rdfs:label "shipping line"@en, "船公司"@zh . o:Pier a owl:Class ; rdfs:label "pier"@en, "码头"@zh .
o:Bay a owl:Class ; rdfs:label "bay"@en, "海湾"@zh .
o:lies a owl:ObjectProperty, owl:TransitiveProperty ; rdfs:label "located in"@en, "位于"@zh .
o:runBy a owl:ObjectProperty ; rdfs:label "run by"@en, "运营"@zh ; skos:altLabel "哪家船公司"@zh .
o:ship a owl:ObjectProperty ; rdfs:label "ship"@en, "船"@zh ; skos:altLabel "ship registration"@en, "哪艘船"@zh .
o:registration a owl:DatatypeProperty ; rdfs:label "registration"@en, "注册号"@zh .
o:number a owl:DatatypeProperty ; rdfs:label "voyage code"@en, "航次编号"@zh .
:coast a o:Bay ; rdfs:label "Grey Coast"@en, "灰岸"@zh .
:bay a o:Bay ; rdfs:label "Seal Bay"@en, "海豹湾"@zh ; o:lies :coast .
:north a o:Pier ; rdfs:label "North Pier"@en, "北码头"@zh ; o:lies :bay ; o:pierCode "NP40" .
o:pierCode a owl:DatatypeProperty ; rdfs:label "pier code"@en, "码头代码"@zh .
:south a o:Pier ; rdfs:label "South Pier"@en, "南码头"@zh .
:blue a o:Line ; rdfs:label "Blue Line"@en, "蓝线"@zh . :red a o:Line ; rdfs:label "Red Line"@en, "红线"@zh .
:s1 a o:Ship ; rdfs:label "SX-AB" ; o:registration "SX-AB" .
:s2 a o:Ship ; rdfs:label "SX-CD" ; o:registration "SX-CD" .
:s3 a o:Ship ; rdfs:label "SX-EF" ; o:registration "SX-EF" .
:v1 a o:Voyage ; rdfs:label "Morning crossing"@en, "早班"@zh ; o:number "VY7001" ; o:runBy :blue ; o:ship :s1 .
:v2 a o:Voyage ; rdfs:label "Evening crossing"@en, "晚班"@zh ; o:number "VY7002" ; o:runBy :red ; o:ship :s1 .
:v3 a o:Voyage ; rdfs:label "Night crossing"@en, "夜班"@zh ; o:number "VY7003" ; o:runBy :red ; o:ship :s2 .
"""


class Asked:
    """A small graph to ask."""

    def __init__(self, turtle: str) -> None:
        triples = [item.triple for item in parse(turtle.encode(), ox.RdfFormat.TURTLE)]
        store = Store.open()
        store.apply(added=[quad(t, DEFAULT_GRAPH) for t in triples])
        ontology = read_ontology(triples)
        dataset = EvidenceDataset(store, "http://kg/")
        self.known = knowledge(dataset, ontology)
        self.parts = QuestionParts(
            dataset,
            ontology,
            self.known,
            run=lambda q: store.query(q, max_rows=500),
            find=lambda t, g: None,
        )

    def __call__(self, text: str) -> Answer:
        return ask(text, parts=self.parts)


@pytest.fixture(scope="module")
def music() -> Asked:
    return Asked(MUSIC)


@pytest.fixture(scope="module")
def geology() -> Asked:
    return Asked(GEOLOGY)


@pytest.fixture(scope="module")
def library() -> Asked:
    return Asked(LIBRARY)


@pytest.fixture(scope="module")
def harbours() -> Asked:
    return Asked(HARBOURS)


@pytest.mark.parametrize(
    ("question", "value", "text"),
    [
        ("How many minutes does Glass Hymn take?", "20", "20 minutes."),
        ("How many minutes is LF204?", "31", "31 minutes."),
        ("玻璃颂的分钟数是多少？", "20", "20"),
    ],
)
def test_how_many_of_a_measure_asks_for_its_value(music: Asked, question: str, value: str, text: str) -> None:
    answer = music(question)
    assert answer.values == (value,)
    assert answer.text.startswith(text.rstrip("."))


def test_how_many_of_things_still_counts(music: Asked) -> None:
    assert music("How many works are there?").values == ("4",)
    assert music("有多少部作品？").values == ("4",)


def test_the_most_of_a_measure_is_not_hidden_by_the_words_around_it(music: Asked) -> None:
    assert music("Which work takes the most minutes?").values == ("Harbour Suite",)


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Who composed Glass Hymn?", {"Anna Lind"}),
        ("Which work has the catalogue number LF311?", {"Night Harbour"}),
        ("作品编号为LF311的作品是什么？", {"夜港"}),
    ],
)
def test_a_thing_is_found_by_whoever_or_whatever_code_names_it(music: Asked, question: str, values: set[str]) -> None:
    assert set(music(question).values) == values


def test_a_thing_called_by_its_code_is_found_by_it(library: Asked) -> None:
    turtle = LIBRARY + ' o:code a owl:DatatypeProperty ; rdfs:label "book code"@en . :b9 a o:Book ; o:code "ZZ9" .'
    answer = Asked(turtle)("Which book has the code BK101?")
    assert answer.values == ("BK101",)


@pytest.mark.parametrize("question", ["Who teaches Glass Hymn?", "Who is the key of Glass Hymn?"])
def test_an_answer_of_the_wrong_kind_is_never_sure(music: Asked, question: str) -> None:
    assert music(question).confidence < 0.6


def test_a_direct_reading_without_facts_beats_one_through_unsaid_relations(music: Asked) -> None:
    answer = music("What does Harbour Suite quote?")
    assert answer.verdict is Verdict.UNANSWERABLE
    assert answer.values == ()
    assert answer.text.startswith("The graph does not say.")


@pytest.mark.parametrize("question", ["Which key has 204?", "Who composed 204?", "204的作曲者是谁？"])
def test_part_of_a_code_is_asked_back(music: Asked, question: str) -> None:
    answer = music(question)
    assert answer.verdict is Verdict.UNCLEAR
    assert answer.query is None
    assert answer.values == ()
    assert answer.clarification is not None
    assert any("LF204" in option for option in answer.clarification.options)


@pytest.mark.parametrize(
    "question",
    [
        "Which works quote Moonlight Sonata?",
        'Which works are composed in "Q sharp"?',
        "Which composers wrote works in 1786?",
        "哪些作品引用了 Moonlight？",
        "Who will win the next World Cup?",
    ],
)
def test_nothing_is_answered_around_a_name_that_is_not_known(music: Asked, question: str) -> None:
    answer = music(question)
    assert answer.verdict is Verdict.UNANSWERABLE
    assert answer.query is None
    assert answer.values == ()
    assert answer.confidence <= 0.3


def test_a_word_left_out_costs_confidence(music: Asked) -> None:
    full = music("Which works are composed by Anna Lind?")
    less = music("Which mournful works are composed by Anna Lind?")
    assert full.confidence >= 0.75
    assert less.confidence < 0.62


@pytest.mark.parametrize(
    ("question", "reading"),
    [
        ("Which composer wrote Glass Hymn?", "composer"),
        ("What is the key of Glass Hymn?", "key of Glass Hymn"),
        ("玻璃颂的调性是什么？", "玻璃颂 的调性"),
        ("How many works are there?", "number of work"),
        ("Which work has the most minutes?", "work with the highest minutes"),
    ],
)
def test_readings_say_each_thing_once(music: Asked, question: str, reading: str) -> None:
    query = music(question).query
    assert query is not None
    assert query.reading.startswith(reading)
    words = query.reading.split()
    assert all(one != other for one, other in pairwise(words))


def test_codes_are_shown_with_their_titles(library: Asked) -> None:
    english = library("Which books are on the Poetry Shelf?").text
    assert set(english.rstrip(".").split(", ")) == {"BK101 Seagull", "BK202 Lighthouse"}
    chinese = library("诗歌书架上有哪些图书？").text
    assert set(chinese.rstrip("。").split("、")) == {"BK101 海鸥", "BK202 灯塔"}


def test_units_are_said_in_the_language_of_the_question(library: Asked) -> None:
    assert library("How many points does BK101 have?").text == "7.5 points."
    assert library("海鸥的积分是多少？").text == "7.5 积分。"


def test_things_without_a_name_are_called_by_their_code(geology: Asked) -> None:
    assert geology("Which drill core is Pebble One drawn from?").values == ("K07",)
    assert set(geology("Which samples are drawn from K7?").values) == {"Pebble One", "Shard Three"}
    assert set(geology("哪些样品取自K07？").values) == {"卵石一号", "碎片三号"}


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Which samples contain both quartz and feldspar?", {"Pebble One"}),
        ("Which samples contain quartz or mica?", {"Pebble One", "Pebble Two", "Shard Three"}),
        ("哪些样品含有石英和长石？", {"卵石一号"}),
        ("哪些样品含有石英或云母？", {"卵石一号", "卵石二号", "碎片三号"}),
        ("What are the two deepest samples?", {"Pebble Two", "Shard Three"}),
        ("What are the top 2 samples with the highest depth?", {"Pebble Two", "Shard Three"}),
        ("深度最大的两个样品是哪些？", {"卵石二号", "碎片三号"}),
        ("Which samples have a name that contains 'pebble'?", {"Pebble One", "Pebble Two"}),
        ("Which samples have names starting with 'Sh'?", {"Shard Three"}),
        ("哪些样品的名称包含“卵石”？", {"卵石一号", "卵石二号"}),
        ("哪些样品的名称以“碎片”开头？", {"碎片三号"}),
    ],
)
def test_joined_ranked_and_searched_names(geology: Asked, question: str, values: set[str]) -> None:
    answer = geology(question)
    assert set(answer.values) == values
    assert answer.verdict is Verdict.ANSWERED


def test_what_is_said_of_two_names_is_told_of_each(geology: Asked) -> None:
    assert set(geology("What is the depth of Pebble One and Pebble Two?").values) == {"12", "40"}
    assert set(geology("卵石一号和卵石二号的深度是多少？").values) == {"12", "40"}


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Where is North Pier?", ("Seal Bay",)),
        ("Where is North Pier located?", ("Seal Bay",)),
        ("北码头在哪里？", ("海豹湾",)),
        ("北码头在哪儿?", ("海豹湾",)),
        ("Where is NP40?", ("Seal Bay",)),
        ("NP40在哪里？", ("海豹湾",)),
    ],
)
def test_where_a_thing_is_asks_for_its_place_itself(harbours: Asked, question: str, values: tuple[str, ...]) -> None:
    answer = harbours(question)
    assert answer.values == values
    assert answer.confidence >= 0.75


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Where is South Pier?", "The graph does not say."),
        ("南码头在哪里？", "图谱中没有相关信息。"),
        ("Where is the Blue Line?", "The graph does not say."),
        ("Where is VY7001?", "The graph does not say."),
    ],
)
def test_where_without_a_place_is_not_said_by_the_graph(harbours: Asked, question: str, text: str) -> None:
    answer = harbours(question)
    assert answer.verdict is Verdict.UNANSWERABLE
    assert answer.text.startswith(text)


def test_where_in_a_graph_without_places_is_not_said_by_the_graph(music: Asked) -> None:
    assert music("Where is Harbour Suite?").text.startswith("The graph does not say.")
    assert music("港湾组曲在哪里？").text.startswith("图谱中没有相关信息。")


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("哪家船公司运营 VY7001？", {"蓝线"}),
        ("哪个船公司运营 VY7002?", {"红线"}),
        ("Which shipping line runs VY7001?", {"Blue Line"}),
        ("Which ship has the registration SX-AB?", {"SX-AB"}),
        ("Which ship has the registration SX-EF?", {"SX-EF"}),
        ("哪艘船的注册号是 SX-AB？", {"SX-AB"}),
        ("注册号为SX-EF的船是哪艘？", {"SX-EF"}),
    ],
)
def test_which_asks_for_the_class_after_it(harbours: Asked, question: str, values: set[str]) -> None:
    assert set(harbours(question).values) == values


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("Is Harbour Suite haunted?", "haunted"),
        ("港湾组曲闹鬼吗？", "闹鬼"),
        ("Is Harbour Suite boring in D minor?", "boring"),
        ("Is Glass Hymn better than Night Harbour?", "better"),
        ("安娜的港湾组曲吵闹吗？", "吵闹"),
        ("玻璃颂比夜港吵闹吗？", "吵闹"),
    ],
)
def test_no_yes_or_no_is_said_around_a_word_that_nothing_knows(music: Asked, question: str, word: str) -> None:
    answer = music(question)
    assert answer.verdict is Verdict.UNANSWERABLE
    assert not answer.values
    assert word in answer.text


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("Is Harbour Suite really composed by Anna Lind?", "Yes"),
        ("Is it true that Harbour Suite is composed by Anna Lind?", "Yes"),
        ("港湾组曲的作曲者真的是安娜吗？", "是"),
        ("Is Night Harbour composed by Anna Lind?", "No"),
    ],
)
def test_words_that_only_strengthen_do_not_keep_from_a_yes_or_no(music: Asked, question: str, value: str) -> None:
    assert music(question).values == (value,)
