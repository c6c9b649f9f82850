"""The built-in extractor: names, statements, values, refusals, bylines of papers, on ontologies of several domains."""

import json
import textwrap
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from pyoxigraph import NamedNode

from kgplatform.documents.chunking import chunker
from kgplatform.documents.files import digest, read_content
from kgplatform.documents.files import read as read_file
from kgplatform.documents.records import decode, encode
from kgplatform.extraction.builtin import BuiltinExtractor
from kgplatform.extraction.names import names_with_suffix, tag
from kgplatform.extraction.people import find_byline, people_in, venue_in
from kgplatform.text import language_of
from kgplatform.types import Chunk, Document, Mention
from kgplatform.vocab import local_name
from tests.turtle import ontology_of, shipped

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

PLACES = """
:Thing a owl:Class ; rdfs:label "thing"@en, "事物"@zh .
:Place a owl:Class ; rdfs:subClassOf :Thing ; rdfs:label "place"@en, "地点"@zh .
:Town a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "town"@en, "镇"@zh ;
  skos:altLabel "water town"@en, "古镇"@zh ; skos:example "Wuzhen"@en, "乌镇"@zh .
:County a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "county"@en, "县"@zh .
:City a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "city"@en, "市"@zh .
:Temple a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "temple"@en, "寺"@zh .
:Hotel a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "hotel"@en, "酒店"@zh .
:Lake a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "lake"@en, "湖"@zh .
:Audience a owl:Class ; rdfs:subClassOf :Thing ; rdfs:label "audience"@en, "人群"@zh .
:families a :Audience ; rdfs:label "families"@en, "家庭"@zh ; skos:altLabel "亲子"@zh .
:couples a :Audience ; rdfs:label "couples"@en, "情侣"@zh .
:locatedIn a owl:ObjectProperty ; rdfs:domain :Place ; rdfs:range :Place ; rdfs:label "located in"@en, "位于"@zh ;
  skos:altLabel "in"@en, "lies in"@en, "belongs to"@en, "在"@zh .
:near a owl:ObjectProperty , owl:SymmetricProperty ; rdfs:domain :Place ; rdfs:range :Place ;
  rdfs:label "near"@en, "附近"@zh ; skos:altLabel "next to"@en .
:suitableFor a owl:ObjectProperty ; rdfs:domain :Place ; rdfs:range :Audience ;
  rdfs:label "suitable for"@en, "适合"@zh ; skos:altLabel "suits"@en, "good for"@en .
:ticketPrice a owl:DatatypeProperty ; rdfs:domain :Place ; rdfs:range xsd:decimal ; core:unit "CNY" ;
  rdfs:label "ticket price"@en, "门票价格"@zh ; skos:altLabel "ticket"@en, "admission"@en, "门票"@zh .
:openingHours a owl:DatatypeProperty ; rdfs:domain :Place ; rdfs:range xsd:string ;
  core:pattern "\\\\d{2}:\\\\d{2}-\\\\d{2}:\\\\d{2}" ; rdfs:label "opening hours"@en, "开放时间"@zh ;
  skos:altLabel "opens"@en .
:builtIn a owl:DatatypeProperty ; rdfs:domain :Place ; rdfs:range xsd:gYear ; rdfs:label "built in"@en, "建于"@zh ;
  skos:altLabel "founded in"@en, "始建于"@zh .
:roomCount a owl:DatatypeProperty ; rdfs:domain :Hotel ; rdfs:range xsd:integer ; core:unit "room" ;
  rdfs:label "room count"@en, "房间数"@zh .
"""
MUSIC = """
:Musician a owl:Class ; rdfs:label "musician"@en ; skos:altLabel "composer"@en, "violinist"@en .
:Ensemble a owl:Class ; rdfs:label "ensemble"@en ; skos:altLabel "orchestra"@en, "quartet"@en .
:Work a owl:Class ; rdfs:label "work"@en ; skos:altLabel "symphony"@en, "sonata"@en .
:Label a owl:Class ; rdfs:label "record label"@en .
:composed a owl:ObjectProperty ; rdfs:domain :Musician ; rdfs:range :Work ; rdfs:label "composed"@en ;
  owl:inverseOf :composedBy .
:composedBy a owl:ObjectProperty ; rdfs:domain :Work ; rdfs:range :Musician ; rdfs:label "composed by"@en ;
  skos:altLabel "written by"@en .
:performedBy a owl:ObjectProperty ; rdfs:domain :Work ; rdfs:range :Ensemble ; rdfs:label "performed by"@en ;
  skos:altLabel "premiered by"@en .
:tempo a owl:DatatypeProperty ; rdfs:domain :Work ; rdfs:range xsd:integer ; core:unit "bpm" ; rdfs:label "tempo"@en .
:composedYear a owl:DatatypeProperty ; rdfs:domain :Work ; rdfs:range xsd:gYear ; rdfs:label "composed in"@en ;
  skos:altLabel "completed in"@en .
"""
COURSES = """
:Course a owl:Class ; rdfs:label "course"@en, "课程"@zh ; owl:hasKey ( :code ) .
:Skill a owl:Class ; rdfs:label "skill"@en, "技能"@zh .
:Teacher a owl:Class ; rdfs:label "teacher"@en, "教师"@zh .
:code a owl:DatatypeProperty ; rdfs:domain :Course ; rdfs:range xsd:string ; core:pattern "[A-Z]{2}\\\\d{4}" ;
  rdfs:label "course code"@en, "课程代码"@zh .
:credits a owl:DatatypeProperty ; rdfs:domain :Course ; rdfs:range xsd:decimal ; core:unit "credit" ;
  rdfs:label "credits"@en, "学分"@zh .
:prerequisite a owl:ObjectProperty ; rdfs:domain :Course ; rdfs:range :Course ;
  rdfs:label "prerequisite"@en, "先修课程"@zh .
:prerequisiteOf a owl:ObjectProperty ; rdfs:domain :Course ; rdfs:range :Course ; owl:inverseOf :prerequisite ;
  rdfs:label "prerequisite of"@en, "是…的先修课程"@zh .
:develops a owl:ObjectProperty ; rdfs:domain :Course ; rdfs:range :Skill ; rdfs:label "develops"@en ;
  skos:altLabel "skill"@en, "培养能力"@zh .
"""

INVERSES = {"prerequisiteOf": "prerequisite", "composed": "composedBy"}


def fact(text):
    """``subject | property | object``."""
    return directed(*text.split(" | "))


def directed(subject, predicate, object_):
    """The statement in one direction: from where it is read is another's matter."""
    if predicate in INVERSES or (predicate == "near" and object_ < subject):
        return object_, INVERSES.get(predicate, predicate), subject
    return subject, predicate, object_


def read(text, terms, *, title="", known=None):
    text = textwrap.dedent(text).strip()
    document, chunk = document_of(text, title)
    extractor = BuiltinExtractor(ontology_of(terms) if isinstance(terms, str) else terms, known=known)
    return extractor.extract(chunk, document)


def document_of(text, title=""):
    iri = NamedNode(f"http://example.org/document/{abs(hash(text))}")
    document = Document(iri, text, title, "text/plain", "note.txt", "0" * 64, language_of(text))
    return document, Chunk(NamedNode(f"{iri.value}/chunk/0"), iri, 0, 0, len(text), text)


def said(extraction):
    return {
        directed(
            claim.subject.name,
            local_name(claim.predicate.value),
            claim.object.name if isinstance(claim.object, Mention) else claim.object.value,
        )
        for claim in extraction.claims
    }


def classes(extraction):
    return {mention.name: local_name(mention.type.value) for mention in extraction.mentions}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("We walked to Lingyin Temple and slept at the Grand Hyatt Hotel. 灵隐寺很安静。",
         {"Lingyin Temple": "Temple", "Grand Hyatt Hotel": "Hotel", "灵隐寺": "Temple"}),
        ("The temple was closed. A hotel is a hotel. 酒店很贵。", {}),
        ("Xitang, a water town in Jiashan County, is old. Qiandao is a lake near Wuzhen.",
         {"Xitang": "Town", "Jiashan County": "County", "Qiandao": "Lake", "Wuzhen": "Town"}),
        ("Amanfayun is quiet. 我们住在阿丽拉。", {"Amanfayun": "Hotel", "阿丽拉": "Hotel"}),  # both are known
        ("清晨从法喜寺出发，晚上回到绍兴。", {"法喜寺": "Temple", "绍兴": "Place"}),
    ],
)  # fmt: skip
def test_a_name_has_the_class_of_its_last_word_apposition_or_what_is_known(text, found):
    hotel = NamedNode("http://example.org/o#Hotel")
    assert classes(read(text, PLACES, known={"Amanfayun": hotel, "阿丽拉": hotel})) == found


def test_what_is_known_is_asked_anew_for_each_document():
    names: dict[str, NamedNode] = {}
    extractor = BuiltinExtractor(ontology_of(PLACES), known=lambda: names)
    document, chunk = document_of("Amanfayun is quiet.")
    assert classes(extractor.extract(chunk, document)).get("Amanfayun") != "Hotel"
    names["Bishushanzhuang"] = NamedNode("http://example.org/o#Hotel")
    document, chunk = document_of("Bishushanzhuang is quiet.")
    assert classes(extractor.extract(chunk, document)) == {"Bishushanzhuang": "Hotel"}


def test_an_alias_a_description_a_pronoun_or_nothing_stands_for_the_name_before():
    found = read("Lingyin Temple (Lingyin Si, 灵隐寺) lies in Wuzhen. Lingyin Si opens 7:00-18:00.", PLACES)
    assert {mention.aliases for mention in found.mentions if mention.name == "Lingyin Temple"} == {
        ("Lingyin Si", "灵隐寺")
    }
    hours = ("Lingyin Temple", "openingHours", "07:00-18:00")
    assert hours in said(found)
    found = read("Lingyin Temple is old. The temple opens at 7:00 and closes at 18:00. It suits families.", PLACES)
    assert {hours, ("Lingyin Temple", "suitableFor", "families")} <= said(found)
    stand_in = next(claim.subject for claim in found.claims if local_name(claim.predicate.value) == "openingHours")
    assert (stand_in.text, stand_in.name) == ("The temple", "Lingyin Temple")
    text = "# 乌镇两日\n\n乌镇很美。\n\n门票 150 元。"
    assert ("乌镇", "ticketPrice", "150") in said(read(text, PLACES, title="乌镇两日"))


def test_what_has_an_address_is_in_the_places_that_it_names():
    found = said(read("# 清风宾馆\n\n地址：敦煌市鸣山路8号\n电话：0937-8820001", shipped("core", "geo", "travel")))
    assert {("清风宾馆", "locatedIn", "敦煌市"), ("清风宾馆", "address", "敦煌市鸣山路8号")} <= found
    assert ("清风宾馆", "contains", "敦煌市") not in found


@pytest.mark.parametrize(
    ("text", "inside", "place"),
    [
        ("# Where to eat\n\n## Hangzhou City\n\n- **Elm Restaurant** – 35 Graham Lane.\n\n## Late\n\n- Oak Restaurant",
         {"Elm Restaurant"}, "Hangzhou City"),
        ("# 吃什么\n\n## 敦煌市\n\n- **清风餐厅**：人均30元。\n- 云山饭店：人均50元。\n\n## 早餐\n\n- 老张饭店",
         {"清风餐厅", "云山饭店"}, "敦煌市"),
    ],
)  # fmt: skip
def test_items_below_a_heading_that_is_a_place_are_in_it(text, inside, place):
    found = said(read(text, shipped("core", "geo", "travel")))
    assert {name for name, term, end in found if (term, end) == ("locatedIn", place)} == inside


def test_every_claim_can_be_quoted_and_every_mention_found():
    text = "Lingyin Temple lies in Hangzhou City.\nAdmission is 45 yuan. 乌镇门票150元。"
    found = read(text, PLACES)
    assert found.claims
    for claim in found.claims:
        quote = text[claim.start : claim.end]
        assert quote.strip() == quote != ""
    for mention in found.mentions:
        assert text[mention.start : mention.end] == mention.text


def test_another_domain_needs_no_code():
    text = """
        Jean Sibelius, a Finnish composer, composed the Second Symphony. The Second Symphony was completed in 1902
        and premiered by the Helsinki Orchestra. The Kreutzer Sonata, a famous sonata, has a tempo of 120 bpm.
    """
    found = read(text, MUSIC)
    assert classes(found)["Jean Sibelius"] == "Musician"
    assert fact("Jean Sibelius | composed | Second Symphony") in said(found)
    assert ("Second Symphony", "composedYear", "1902") in said(found)
    assert ("Kreutzer Sonata", "tempo", "120") in said(found)


SYLLABUS = """
    # SF1625 Calculus in One Variable

    Course code: SF1625
    Credits: 7.5
    Prerequisites: SF1624, SK1120
    Teacher: none

    ## Skills developed

    - calculation by hand
    - estimation of errors

    SF1625 Calculus in One Variable is a prerequisite of SF1626.
"""


def test_labels_and_headings_speak_of_the_main_entity():
    found = read(SYLLABUS, COURSES, title="SF1625 Calculus in One Variable")
    told = [
        "code | SF1625",
        "credits | 7.5",
        "prerequisite | SF1624",
        "prerequisite | SK1120",
        "prerequisiteOf | SF1626",
    ]
    told += ["develops | calculation by hand", "develops | estimation of errors"]
    assert {fact(f"SF1625 | {item}") for item in told} <= said(found)
    assert ("Calculus in One Variable",) in {mention.aliases for mention in found.mentions if mention.name == "SF1625"}
    text = """
        # SF1625 单变量微积分

        课程代码 | SF1625
        学分 | 7.5

        ## 培养的能力

        手工计算、误差估计。

        SF1625 单变量微积分是 SK1120 波动学和 SF1626 多变量微积分的先修课程。
    """
    told = [
        "credits | 7.5",
        "develops | 手工计算",
        "develops | 误差估计",
        "prerequisiteOf | SK1120",
        "prerequisiteOf | SF1626",
    ]
    found = read(text, COURSES, title="SF1625 单变量微积分")
    assert {fact(f"SF1625 | {item}") for item in told} <= said(found)


def test_the_shipped_ontologies_read_a_note_of_a_journey_and_a_digest_of_a_paper():
    note = "Lingyin Temple lies in Hangzhou City and is near West Lake. A ticket for Lingyin Temple costs 30 yuan."
    told = ("Lingyin Temple | locatedIn | Hangzhou City", "Lingyin Temple | ticketPrice | 30")
    assert set(map(fact, told)) <= said(read(note, shipped("core", "geo", "travel")))
    told = ("Wuzhen | suitableFor | couples", "Wuzhen | suitableFor | families", "灵隐寺 | suitableFor | families")
    note = "Wuzhen is good for couples and families. 灵隐寺适合亲子。"
    assert set(map(fact, told)) <= said(read(note, shipped("core", "geo", "travel")))
    paper = """
        # Attention Is All You Need

        Authors: Ashish Vaswani, Noam Shazeer
        Year: 2017

        BERT is based on Transformer. The Transformer is evaluated on ImageNet.

        ## References

        1. Sepp Hochreiter, Jürgen Schmidhuber. *Long Short-Term Memory*. Neural Computation, 1997.
    """
    told = (
        "Attention Is All You Need | authoredBy | Ashish Vaswani",
        "Attention Is All You Need | publicationYear | 2017",
        "Attention Is All You Need | cites | Long Short-Term Memory",
        "BERT | basedOn | Transformer",
        "Transformer | evaluatedOn | ImageNet",
    )
    assert set(map(fact, told)) <= said(read(paper, shipped("core", "academic"), title="Attention Is All You Need"))


def test_places_that_a_comma_parts_are_not_in_one_another():
    for note in ("Blue Lantern Hotel is located in Hangzhou, Suzhou and Nanjing.", "蓝灯酒店位于乌镇，西塘也有一家。"):
        places = {"Hangzhou", "Suzhou", "乌镇", "西塘"}
        found = said(read(note, shipped("core", "geo", "travel")))
        assert found
        assert not any({one, other} <= places for one, _, other in found)


def test_what_is_said_of_things_in_turn_is_said_of_each_by_its_place():
    found = said(read("BERT and GPT are evaluated on SQuAD and LAMBADA respectively.", shipped("core", "academic")))
    assert found == set(map(fact, ("BERT | evaluatedOn | SQuAD", "GPT | evaluatedOn | LAMBADA")))
    found = said(read("BERT和GPT分别在SQuAD和LAMBADA上评测。", shipped("core", "academic")))
    assert not found & set(map(fact, ("BERT | evaluatedOn | LAMBADA", "GPT | evaluatedOn | SQuAD")))
    note = "Elm Temple and Oak Temple cost 30 and 20 yuan respectively."
    assert said(read(note, shipped("core", "geo", "travel"))) == {
        fact("Elm Temple | ticketPrice | 30"),
        fact("Oak Temple | ticketPrice | 20"),
    }


def test_a_name_fills_its_place_in_a_list():
    note = (EXAMPLES / "travel" / "hangzhou-chihuo-yitian.txt").read_text(encoding="utf-8")
    dishes = ["西湖醋鱼", "叫化童鸡", "龙井虾仁", "宋嫂鱼羹"]
    found = said(read(note, shipped("core", "geo", "travel")))
    assert {fact(f"楼外楼 | serves | {dish}") for dish in dishes} <= found
    assert not any("童鸡" in (one, other) for one, _, other in found)


def test_a_refusal_says_why():
    found = read(SYLLABUS.replace("7.5", "several"), COURSES, title="SF1625 Calculus in One Variable")
    assert any("is not a number" in item.reason for item in found.refused)


def test_chunks_share_what_the_document_says_without_overlap_in_any_thread():
    text = textwrap.dedent(SYLLABUS).strip()
    document, whole = document_of(text, "SF1625 Calculus in One Variable")
    extractor = BuiltinExtractor(ontology_of(COURSES))
    cuts = [0, text.index("Prerequisites"), text.index("##"), len(text)]
    chunks = [
        Chunk(NamedNode(f"http://x/{n}"), document.iri, n, a, b, text[a:b]) for n, (a, b) in enumerate(pairwise(cuts))
    ]
    with ThreadPoolExecutor(3) as threads:
        parts = list(threads.map(lambda chunk: extractor.extract(chunk, document), chunks))
    assert [claim for part in parts for claim in part.claims] == sorted(
        extractor.extract(whole, document).claims, key=lambda claim: [claim.start >= cut for cut in cuts]
    )
    assert [decode(encode(part)) for part in parts] == parts


def test_keywords_are_tags_names_and_repeated_words():
    found = read("Lingyin Temple has lanterns. Lingyin Temple sells lanterns. #hiking", PLACES).keywords
    assert found[0] == "Lingyin Temple"
    assert {"hiking", "lanterns"} <= set(found)


@pytest.mark.parametrize(
    "text", ["", " \n ", "。。。", "((((", "#" * 500, "A" * 5000, "乌" * 3000, "1 2 3 : | : |\n" * 50,
             "阿丽拉位于湖滨路28号。楼外楼位于孤山路30号。法云径建于1990年。" * 20]
)  # fmt: skip
def test_odd_texts_are_read_without_an_error(text):
    assert read(text, MUSIC if "楼" in text else PLACES).claims == ()


BAKERIES = (
    PLACES
    + """
:Shop a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "shop"@en, "店"@zh ;
  skos:altLabel "bakery"@en, "面包店"@zh, "茶馆"@zh .
:Good a owl:Class ; rdfs:subClassOf :Thing ; rdfs:label "good"@en, "商品"@zh ; skos:altLabel "bread"@en .
:Person a owl:Class ; rdfs:subClassOf :Thing ; rdfs:label "person"@en, "人物"@zh .
:Event a owl:Class ; rdfs:subClassOf :Thing ; rdfs:label "event"@en, "活动"@zh .
:Route a owl:Class ; rdfs:subClassOf :Thing ; rdfs:label "route"@en, "路线"@zh .
:locatedIn a owl:TransitiveProperty .
:sells a owl:ObjectProperty ; rdfs:domain :Shop ; rdfs:range :Good ; rdfs:label "sells"@en, "供应"@zh ;
  skos:altLabel "招牌"@zh .
"""
)


@pytest.mark.parametrize(
    ("text", "terms", "property_", "quote"),
    [
        ("# Elm Temple\n\nElm Temple is old. Elm Temple is quiet.\n\n| | |\n|---|---|\n| Ticket | 30 yuan |\n", PLACES,
         "ticketPrice", "| Ticket | 30 yuan |"),
        ("# AB1234 Weaving\n\nCredits: 7.5\n", COURSES, "credits", "Credits: 7.5"),
    ],
)  # fmt: skip
def test_a_claim_from_a_label_or_row_quotes_the_whole_line(text, terms, property_, quote):
    extraction = read(text, terms, title=text.partition("\n")[0].removeprefix("# "))
    claim = next(item for item in extraction.claims if local_name(item.predicate.value) == property_)
    assert text.strip()[claim.start : claim.end] == quote


@pytest.mark.parametrize(
    "line", ["**作者:** Ann Lee、Bo K. Ray、Łucja Nowak", "Authors: Ann Lee, Bo K. Ray and Łucja Nowak"]
)
def test_every_author_of_a_list_is_read_even_where_one_is_known(line):
    text = f"# Threads at Rest\n\n{line}\n\nVenue: Loom Conference\n\n## Abstract\n\nThis paper is short.\n"
    pack = shipped("core", "academic")
    extraction = read(text, pack, title="Threads at Rest", known={"Ann Lee": pack.class_named("Author").iri})
    found = {item[2] for item in said(extraction) if item[1] == "authoredBy"}
    assert found == {"Ann Lee", "Bo K. Ray", "Łucja Nowak"}


WALKS = PLACES.replace('"next to"@en', '"next to"@en, "a short walk from"@en').replace(
    '"附近"@zh', '"附近"@zh, "离……不远"@zh'
)


@pytest.mark.parametrize(
    ("text", "terms", "wanted"),
    [
        # relations
        ("Lingyin Temple is located in Hangzhou City. Grand Lake is next to Lingyin Temple.", PLACES,
         ["Lingyin Temple | locatedIn | Hangzhou City", "Grand Lake | near | Lingyin Temple"]),
        ("Xitang (西塘) is an old water town in Jiashan County.", PLACES, ["Xitang | locatedIn | Jiashan County"]),
        ("灵隐寺在乌镇附近。", PLACES, ["灵隐寺 | near | 乌镇"]),
        ("Lingyin Temple is not located in Wuzhen. 灵隐寺不在乌镇。It does not suit families.", PLACES, []),
        ("Elm Temple, Oak Temple and Ash Temple are all in Rowan City.", PLACES,
         [f"{name} Temple | locatedIn | Rowan City" for name in ("Elm", "Oak", "Ash")]),
        ("Hollow Tree Bakery sells rye bread, seed rolls and a plum tart.", "BAKERIES",
         [f"Hollow Tree Bakery | sells | {name}" for name in ("rye bread", "seed rolls", "plum tart")]),
        ("Hollow Tree Bakery sells plum tarts and closes at five on Sundays.", "BAKERIES",
         ["Hollow Tree Bakery | sells | plum tarts"]),
        ("Hollow Tree Bakery never sells plum tarts.", "BAKERIES", []),
        ("青禾面包店供应核桃面包、红豆卷和芝麻饼。", "BAKERIES",
         [f"青禾面包店 | sells | {name}" for name in ("核桃面包", "红豆卷", "芝麻饼")]),
        ("The ticket for Lingyin Temple costs 12 euros.", PLACES, []),  # not the currency of the property
        ("Lingyin Temple lies in Hangzhou.", ":A a owl:Class .", []),
    ],
)  # fmt: skip
def test_a_text_says_this_and_nothing_else(text, terms, wanted):
    assert said(read(text, BAKERIES if terms == "BAKERIES" else terms)) == set(map(fact, wanted))


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        # addresses and clauses
        ("乌镇位于嘉兴市桐乡县。", ["桐乡县 | locatedIn | 嘉兴市"], []),
        ("清风寺位于远山市白石县。",
         ["清风寺 | locatedIn | 远山市", "清风寺 | locatedIn | 白石县", "白石县 | locatedIn | 远山市"], []),
        ("清风寺始建于1210年,就在镜湖边上。", ["清风寺 | builtIn | 1210"], []),
        ("We came to Larkfield by train. Elm Temple is in Larkfield. Stay in Larkfield for a night.",
         ["Elm Temple | locatedIn | Larkfield"], []),
        ("大家都爱青禾的核桃酥。", ["青禾 | sells | 核桃酥"], []),
        # values
        ("Admission to Lingyin Temple is 45 yuan, and it was founded in 326. 乌镇门票150元，开放时间是9:00到22:00。",
         ["Lingyin Temple | ticketPrice | 45", "乌镇 | ticketPrice | 150", "乌镇 | openingHours | 09:00-22:00"], []),
        ("乌镇门票150元，望津里门票110元。", [], ["乌镇 | ticketPrice | 110"]),
        ("A ticket for Elm Temple costs 30 yuan, Oak Temple is 20 yuan.",
         ["Elm Temple | ticketPrice | 30", "Oak Temple | ticketPrice | 20"], []),
        ("Elm Temple: old cedars, 30 yuan, 8:00-17:00.",
         ["Elm Temple | ticketPrice | 30", "Elm Temple | openingHours | 08:00-17:00"], []),
        ("南门门票30元,石巷门票20元。石巷很安静。", ["南门 | ticketPrice | 30"], []),
        ("Wufangzhai, a hotel, was founded in Jiaxing City in 1921.", [], ["Jiaxing City | builtIn | 1921"]),
        *((text, ["Elm Temple | ticketPrice | 0"], []) for text in
          ("Elm Temple is free.", "Entry is free in Elm Temple: Elm Temple is free.", "Elm Temple costs nothing.")),
        ("清风寺免费开放,周一休息。", ["清风寺 | ticketPrice | 0"], []),
        ("清风寺儿童免费。", [], ["清风寺 | ticketPrice | 0"]),
        # below a heading that is a name
        ("# 两日游记\n\n## 云台古寺\n那里有全镇最老的银杏，四百多年了。开放时间:10:00–18:00,每周一休息。门票7元。",
         ["云台古寺 | openingHours | 10:00-18:00", "云台古寺 | ticketPrice | 7"], []),
        ("Two days out.\n\n**Yarrow Temple** is up the hill.\n\n- Tickets: children 5 yuan, adults 9 yuan",
         ["Yarrow Temple | ticketPrice | 9"], ["Yarrow Temple | ticketPrice | 5"]),
        ("# Sleeping\n\nHotel | Admission | Rooms\nHotel Mitra | 110 yuan | 29\nHotel Poet | 64 yuan | 40\n",
         ["Hotel Poet | ticketPrice | 64"], ["Hotel Poet | ticketPrice | 40", "Hotel Mitra | ticketPrice | 29"]),
        # named values
    ],
)  # fmt: skip
def test_a_text_says_this_among_other_things(text, wanted, unwanted):
    names = {"青禾": "Shop", "核桃酥": "Good", "清风寺": "Temple", "南门": "Temple"}
    known = {name: NamedNode(f"http://example.org/o#{class_}") for name, class_ in names.items()}
    terms = BAKERIES.replace(PLACES, WALKS) if not text.startswith("Wu") else PLACES
    found = said(read(text, terms, known=known))
    assert set(map(fact, wanted)) <= found
    assert not found & set(map(fact, unwanted))


KINDS = {
    word: NamedNode(f"http://example.org/o#{name}")
    for word, name in {
        **{"河": "River", "寺": "Temple", "山": "Mountain", "城": "City", "园": "Garden", "人": "Person"},
        **{
            "国": "Country",
            "机场": "Airport",
            "客机": "Aircraft",
            "景区": "Area",
            "单位": "Institute",
            "作者": "Author",
        },
    }.items()
}


def test_a_name_takes_nothing_from_what_stands_elsewhere():
    assert said(read("沈万三旧居建于1742年,是从灵隐寺迁来的。", PLACES)) <= {fact("沈万三旧居 | builtIn | 1742")}
    assert not any(subject == "湖州" for subject, _, _ in said(read("作者:湖州老顾\n门票30元", PLACES)))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        *((text, set()) for text in (
            "沿河一排老房子", "我们一早上山", "下午进城", "南浔人爱吃面", "万国来朝", "所有作者都来自北京",
            "这是国家级景区", "全国重点文物保护单位", "机坪供客机使用", "指对方机场所在地区",
        )),
        ("我们去了雁荡山。", {"雁荡山"}), ("灵隐寺在杭州。", {"灵隐寺"}), ("浦东机场很大。", {"浦东机场"}),
    ],
)  # fmt: skip
def test_words_that_say_what_is_done_or_which_one_is_meant_are_no_names(text, names):
    assert {text[start:end] for start, end, _, _ in names_with_suffix(tag(text), KINDS)} == names


ABSTRACT = (
    "We study how moss grows on bridges in N towns and A rivers. Our method counts tufts at dawn, and is compared with "
    "counting at noon. The results are promising."
)


class Paper(NamedTuple):
    """A paper that nobody wrote."""

    title: str
    authors: tuple[str, ...]
    venue: str
    year: int


LONG_TITLE = "A Title That Goes on and on about Tufts of Moss on Small Stone Bridges, so That No Line Is Wide Enough"
PAPERS = (
    Paper(
        "Counting Moss at Dawn", ("Ylva Öberg-Lind", "Tomás de la Vega", "K. R. Oduya", "Wen-chi Hsu"), "MOSSCON", 2011
    ),
    Paper("Moss: A Study of Tufts", ("Ji Ho O", "Siân O’Dell", "Hal Brandt III"), "Annals of Moss", 1998),
    Paper("Can Bridges Hear?", ("Priyamvada",), "Workshop on Listening Bridges", 2020),
    Paper("青苔的分布规律研究", ("欧阳晓月", "李可", "古丽娜尔·买买提"), "苔藓学报", 2019),
    Paper(LONG_TITLE, ("Ben van ’t Hof", "Ana María López y Ruiz", "He He"), "Computational Bryology", 2016),
)


def joined(paper):
    *others, last = paper.authors
    return f"{', '.join(others)} and {last}" if others else last


LAYOUTS = {
    "lines.txt": lambda p: f"{p.title}\n{joined(p)}\n{p.venue}, {p.year}\n\nAbstract\n{ABSTRACT}\n",
    "apart.txt": lambda p: f"{p.title}\n\n{', '.join(p.authors)}\n\n{p.venue} {p.year}\n\n{ABSTRACT}\n",
    "semicolons.txt": lambda p: f"{p.title}\n{'; '.join(p.authors)}\n{p.venue} ({p.year})\n\nAbstract: {ABSTRACT}\n",
    "by.txt": lambda p: f"{p.title}\n\nBy {joined(p)}\nPublished in {p.venue}, {p.year}, pages 3–11\n\n{ABSTRACT}\n",
    "below.txt": lambda p: f"{p.title}\n\n{ABSTRACT}\n\n{joined(p)}. {p.venue}, {p.year}.\n",
    "each.txt": lambda p: "\n".join([p.title, *p.authors, f"{p.venue} {p.year}", "Abstract", ABSTRACT]),
    "labels.txt": lambda p: (
        f"Title: {p.title}\nAuthors: {', '.join(p.authors)}\nVenue: {p.venue}\nYear: {p.year}\n\n{ABSTRACT}\n"
    ),
    "marked.md": lambda p: f"# {p.title}\n\n**{joined(p)}**\n\n*{p.venue}, {p.year}*\n\n## Abstract\n\n{ABSTRACT}\n",
    "record.json": lambda p: json.dumps(
        {"title": p.title, "authors": list(p.authors), "year": p.year, "venue": p.venue, "abstract": ABSTRACT}
    ),
    "people.json": lambda p: json.dumps(
        {
            "title": p.title,
            "text": ABSTRACT,
            "authors": [{"name": a} for a in p.authors],
            "venue": p.venue,
            "year": p.year,
        }
    ),
    "page.html": lambda p: (
        f"<html><head><title>{p.title}</title></head><body><h1>{p.title}</h1><p>{', '.join(p.authors)}</p>"
        f"<p>{p.venue} {p.year}</p><h2>Abstract</h2><p>{ABSTRACT}</p></body></html>"
    ),
}


@pytest.fixture(scope="module")
def reader():
    return BuiltinExtractor(shipped("core", "academic"))


def facts(reader, name, text):
    """What is said of each work and by whom, by property."""
    data = text.encode()
    document = read_content(Path(name), data, base="http://x.org/", source=name, sha256=digest(data))[0]
    chunk = Chunk(document.iri, document.iri, 0, 0, len(document.text), document.text)
    found: dict[str, set[tuple[str, str]]] = {"authoredBy": set(), "publishedIn": set(), "publicationYear": set()}
    for claim in reader.extract(chunk, document).claims:
        value = claim.object.name if isinstance(claim.object, Mention) else claim.object.value
        found.setdefault(local_name(claim.predicate.value), set()).add((claim.subject.name, value))
        assert document.text[claim.subject.start : claim.subject.end] == claim.subject.text
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
def test_authors_venue_and_year_are_read_in_every_layout(reader, layout):
    for paper in PAPERS:
        found = facts(reader, layout, LAYOUTS[layout](paper))
        assert found["authoredBy"] == {(paper.title, author) for author in paper.authors}
        assert found["publishedIn"] == {(paper.title, paper.venue)}
        assert found["publicationYear"] == {(paper.title, str(paper.year))}
        assert all(
            len(text) > 1 for pairs in found.values() for pair in pairs for text in pair
        )  # no letters of formulas


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Ann Lee¹*, Bo Ek2,3, and Cy Doe†", ["Ann Lee", "Bo Ek", "Cy Doe"]),
        ("Ann Lee (Uppsala), Bo Ek (KTH) <bo@kth.example>", ["Ann Lee", "Bo Ek"]),
        ("Lee, Ann; van den Berg, José", ["Ann Lee", "José van den Berg"]),
        ("Lee, Ann and Doe, Cy", ["Ann Lee", "Cy Doe"]), ("Lee, A., & O’Hara, K. B.", ["A. Lee", "K. B. O’Hara"]),
        ("Ron Dale, Jr. and Mi Mi (Kay) Tun", ["Ron Dale Jr.", "Mi Mi (Kay) Tun"]),
        ("张伟、李娜、欧阳修", ["张伟", "李娜", "欧阳修"]), ("张伟 李娜", ["张伟", "李娜"]),
        ("김철수, 이영희", ["김철수", "이영희"]), ("Uppsala University, Sweden", []), ("深度学习，机器翻译", []),
        ("We counted tufts, and they grew.", []), ("MOSSCON 2011", []),
    ],
)  # fmt: skip
def test_people_are_told_by_the_form_of_their_names(line, names):
    found = people_in(line, 0, len(line))
    assert [person.name for person in found] == names
    assert all(0 <= person.start < person.end <= len(line) for person in found)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Proceedings of the 9th Conference on Moss (COM 2011), Oslo", "Proceedings of the 9th Conference on Moss"),
        ("Annals of Moss 12(3):44-58, 2019", "Annals of Moss"), ("COM 2012 (苔藓大会)", "COM"),
        ("《苔藓学报》2019年第30卷", "苔藓学报"), ("COM 2015 (Oslo), first posted 2014", "COM"),
    ],
)  # fmt: skip
def test_a_venue_goes_by_its_name_alone(written, name):
    venue = venue_in(written, 0, len(written))
    assert venue.name == name
    assert written[venue.start : venue.end] == name


@pytest.mark.parametrize(
    "text",
    [
        "Shopping list\n\nAnn Lee, Bo Ek\n\nMilk and bread and many other things that we need.\n",
        "Machine Moss\nRelated Work\n\nIt was a rainy day.\n",
        "A walk\n\nWe left at nine in 2019 and came back late.\n",
        "Moss\n\nSome text of a paper that goes on.\n\n[1] Ann Lee, Bo Ek. Counting. MOSSCON 2011.\n",
        "\n\n\n",
    ],
)
def test_names_alone_references_and_glossaries_make_no_byline(reader, text):
    assert find_byline(text) is None
    glossary = "# Glossary of papers\n\nAuthors: who wrote it\n\nVenue: where it appears\n\nYear: 2011\n"
    assert not facts(reader, "words.md", glossary)["publicationYear"]


@pytest.mark.parametrize(
    ("page", "prerequisites"),
    [("sk1120", {"SF1624", "SF1625"}), ("dt1175", {"SK1120"}), ("dt2213", {"DT1175"})],
)
def test_sample_syllabi_give_their_prerequisites(reader, page, prerequisites):
    (document,) = read_file(EXAMPLES / f"academic/courses/{page}.html", base="https://example.org/academic/")
    found = [fact for chunk in chunker()(document) for fact in said(reader.extract(chunk, document))]
    assert {other for one, name, other in found if (one, name) == (page.upper(), "hasPrerequisite")} == prerequisites


FLAT = """
:Airport a owl:Class ; rdfs:label "Airport" .
:Structure a owl:Class ; rdfs:label "ArchitecturalStructure" .
:Person a owl:Class ; rdfs:label "Person" .
:City a owl:Class ; rdfs:label "City" .
:location a owl:ObjectProperty ; rdfs:domain :Structure ; rdfs:range :City ; rdfs:label "location" .
:architect a owl:ObjectProperty ; rdfs:domain :Structure ; rdfs:range :Person ; rdfs:label "architect" .
:runwayLength a owl:DatatypeProperty ; rdfs:domain :Structure ; rdfs:range xsd:decimal ; rdfs:label "runwayLength" .
:numberOfGates a owl:DatatypeProperty ; rdfs:domain :Airport ; rdfs:range xsd:integer ; rdfs:label "numberOfGates" .
"""


def test_where_no_class_is_a_kind_of_another_a_thing_may_be_of_what_a_property_asks_for():
    text = (
        "Alder Airport is located in Norvale. The runway length of Alder Airport is 1533. Its architect is Mira Holt."
    )
    found = read(text, FLAT)
    wanted = ("location | Norvale", "runwayLength | 1533", "architect | Mira Holt")
    assert {fact(f"Alder Airport | {item}") for item in wanted} == said(found)
    assert classes(found)["Alder Airport"] == "Airport"
    apart = FLAT + ":Airport owl:disjointWith :Structure ."
    assert not said(read(text, apart))
