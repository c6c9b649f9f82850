"""The built-in extractor on small ontologies of several domains: names, statements, values, refusals."""

from __future__ import annotations

import textwrap
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, RdfFormat, parse

from kgplatform import resources
from kgplatform.documents.records import decode, encode
from kgplatform.extraction.builtin import BuiltinExtractor
from kgplatform.ontology import Ontology, read_ontology
from kgplatform.protocols import Extractor
from kgplatform.text import language_of
from kgplatform.types import Chunk, Document, Extraction, Mention
from kgplatform.vocab import local_name

PREFIXES = """
@prefix : <http://example.org/o#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix core: <https://w3id.org/kgplatform/core#> .
"""
PLACES = """
:Thing a owl:Class ; rdfs:label "thing"@en, "事物"@zh .
:Place a owl:Class ; rdfs:subClassOf :Thing ; rdfs:label "place"@en, "地点"@zh .
:Town a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "town"@en, "镇"@zh ;
  skos:altLabel "water town"@en, "古镇"@zh ;
  skos:example "Wuzhen"@en, "乌镇"@zh .
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
:near a owl:ObjectProperty ; rdfs:domain :Place ; rdfs:range :Place ;
  rdfs:label "near"@en, "附近"@zh ; skos:altLabel "next to"@en .
:suitableFor a owl:ObjectProperty ; rdfs:domain :Place ; rdfs:range :Audience ;
  rdfs:label "suitable for"@en, "适合"@zh ;
  skos:altLabel "suits"@en, "good for"@en .
:ticketPrice a owl:DatatypeProperty ; rdfs:domain :Place ; rdfs:range xsd:decimal ; core:unit "CNY" ;
  rdfs:label "ticket price"@en, "门票价格"@zh ; skos:altLabel "ticket"@en, "admission"@en, "门票"@zh .
:openingHours a owl:DatatypeProperty ; rdfs:domain :Place ; rdfs:range xsd:string ;
  core:pattern "\\\\d{2}:\\\\d{2}-\\\\d{2}:\\\\d{2}" ;
  rdfs:label "opening hours"@en, "开放时间"@zh ; skos:altLabel "opens"@en .
:builtIn a owl:DatatypeProperty ; rdfs:domain :Place ; rdfs:range xsd:gYear ; rdfs:label "built in"@en, "建于"@zh ;
  skos:altLabel "founded in"@en, "始建于"@zh .
:roomCount a owl:DatatypeProperty ; rdfs:domain :Hotel ;
  rdfs:range xsd:integer ; core:unit "room" ; rdfs:label "room count"@en, "房间数"@zh .
"""
MUSIC = """
:Musician a owl:Class ; rdfs:label "musician"@en ; skos:altLabel "composer"@en, "violinist"@en .
:Ensemble a owl:Class ; rdfs:label "ensemble"@en ; skos:altLabel "orchestra"@en, "quartet"@en .
:Work a owl:Class ; rdfs:label "work"@en ; skos:altLabel "symphony"@en, "sonata"@en .
:Label a owl:Class ; rdfs:label "record label"@en .
:composed a owl:ObjectProperty ; rdfs:domain :Musician ; rdfs:range :Work ;
  rdfs:label "composed"@en ; owl:inverseOf :composedBy .
:composedBy a owl:ObjectProperty ; rdfs:domain :Work ; rdfs:range :Musician ;
  rdfs:label "composed by"@en ; skos:altLabel "written by"@en .
:performedBy a owl:ObjectProperty ; rdfs:domain :Work ; rdfs:range :Ensemble ;
  rdfs:label "performed by"@en ; skos:altLabel "premiered by"@en .
:tempo a owl:DatatypeProperty ; rdfs:domain :Work ; rdfs:range xsd:integer ; core:unit "bpm" ; rdfs:label "tempo"@en .
:composedYear a owl:DatatypeProperty ; rdfs:domain :Work ;
  rdfs:range xsd:gYear ; rdfs:label "composed in"@en ; skos:altLabel "completed in"@en .
"""
COURSES = """
:Course a owl:Class ; rdfs:label "course"@en, "课程"@zh ; owl:hasKey ( :code ) .
:Skill a owl:Class ; rdfs:label "skill"@en, "技能"@zh .
:Teacher a owl:Class ; rdfs:label "teacher"@en, "教师"@zh .
:code a owl:DatatypeProperty ; rdfs:domain :Course ; rdfs:range xsd:string ; core:pattern "[A-Z]{2}\\\\d{4}" ;
  rdfs:label "course code"@en, "课程代码"@zh .
:credits a owl:DatatypeProperty ; rdfs:domain :Course ;
  rdfs:range xsd:decimal ; core:unit "credit" ; rdfs:label "credits"@en, "学分"@zh .
:prerequisite a owl:ObjectProperty ; rdfs:domain :Course ; rdfs:range :Course ;
  rdfs:label "prerequisite"@en, "先修课程"@zh .
:prerequisiteOf a owl:ObjectProperty ; rdfs:domain :Course ; rdfs:range :Course ; owl:inverseOf :prerequisite ;
  rdfs:label "prerequisite of"@en, "是…的先修课程"@zh .
:develops a owl:ObjectProperty ; rdfs:domain :Course ; rdfs:range :Skill ;
  rdfs:label "develops"@en ; skos:altLabel "skill"@en, "培养能力"@zh .
"""


def ontology(text: str) -> Ontology:
    return read_ontology([quad.triple for quad in parse(PREFIXES + text, format=RdfFormat.TURTLE)])


def read(text: str, terms: str | Ontology, *, title: str = "", known: dict[str, NamedNode] | None = None) -> Extraction:
    text = textwrap.dedent(text).strip()
    document, chunk = document_of(text, title)
    extractor = BuiltinExtractor(ontology(terms) if isinstance(terms, str) else terms, known=known)
    return extractor.extract(chunk, document)


def document_of(text: str, title: str = "") -> tuple[Document, Chunk]:
    iri = NamedNode(f"http://example.org/document/{abs(hash(text))}")
    document = Document(iri, text, title, "text/plain", "note.txt", "0" * 64, language_of(text))
    return document, Chunk(NamedNode(f"{iri.value}/chunk/0"), iri, 0, 0, len(text), text)


def said(extraction: Extraction) -> set[tuple[str, str, str]]:
    return {
        (
            claim.subject.name,
            local_name(claim.predicate.value),
            claim.object.name if isinstance(claim.object, Mention) else claim.object.value,
        )
        for claim in extraction.claims
    }


def classes(extraction: Extraction) -> dict[str, str]:
    return {mention.name: local_name(mention.type.value) for mention in extraction.mentions}


def test_it_is_an_extractor() -> None:
    assert isinstance(BuiltinExtractor(ontology(PLACES)), Extractor)


def test_a_name_gets_the_class_of_its_last_word() -> None:
    found = classes(read("We walked to Lingyin Temple and slept at the Grand Hyatt Hotel. 灵隐寺很安静。", PLACES))
    assert found == {"Lingyin Temple": "Temple", "Grand Hyatt Hotel": "Hotel", "灵隐寺": "Temple"}


def test_a_class_word_alone_is_no_name() -> None:
    assert read("The temple was closed. A hotel is a hotel. 酒店很贵。", PLACES).mentions == ()


def test_a_name_gets_its_class_from_an_apposition() -> None:
    found = classes(read("Xitang, a water town in Jiashan County, is old. Qiandao is a lake near Wuzhen.", PLACES))
    assert (found["Xitang"], found["Qiandao"]) == ("Town", "Lake")


def test_known_names_are_found_in_both_scripts() -> None:
    hotel = NamedNode("http://example.org/o#Hotel")
    found = read("Amanfayun is quiet. 我们住在阿丽拉。", PLACES, known={"Amanfayun": hotel, "阿丽拉": hotel})
    assert classes(found) == {"Amanfayun": "Hotel", "阿丽拉": "Hotel"}


def test_what_is_known_is_asked_anew_for_each_document() -> None:
    names: dict[str, NamedNode] = {}
    extractor = BuiltinExtractor(ontology(PLACES), known=lambda: names)
    document, chunk = document_of("Amanfayun is quiet.")
    assert extractor.extract(chunk, document).mentions == ()
    names["Bishushanzhuang"] = NamedNode("http://example.org/o#Hotel")
    document, chunk = document_of("Bishushanzhuang is quiet.")
    assert [mention.name for mention in extractor.extract(chunk, document).mentions] == ["Bishushanzhuang"]


def test_another_name_in_parentheses_is_an_alias_and_stands_for_the_same_later() -> None:
    found = read("Lingyin Temple (Lingyin Si, 灵隐寺) lies in Wuzhen. Lingyin Si opens 7:00-18:00.", PLACES)
    assert {mention.aliases for mention in found.mentions if mention.name == "Lingyin Temple"} == {
        ("Lingyin Si", "灵隐寺")
    }
    assert ("Lingyin Temple", "openingHours", "07:00-18:00") in said(found)


def test_a_relation_is_read_in_its_direction() -> None:
    found = said(read("Lingyin Temple is located in Hangzhou City. Grand Lake is next to Lingyin Temple.", PLACES))
    assert ("Lingyin Temple", "locatedIn", "Hangzhou City") in found
    assert ("Grand Lake", "near", "Lingyin Temple") in found
    assert ("Hangzhou City", "locatedIn", "Lingyin Temple") not in found


def test_an_apposition_between_subject_and_phrase_is_read_through() -> None:
    found = said(read("Xitang (西塘) is an old water town in Jiashan County.", PLACES))
    assert found == {("Xitang", "locatedIn", "Jiashan County")}


def test_a_chinese_address_is_a_chain_of_places() -> None:
    found = said(read("乌镇位于嘉兴市桐乡县。", PLACES))
    assert ("桐乡县", "locatedIn", "嘉兴市") in found
    assert any(subject == "乌镇" and predicate == "locatedIn" for subject, predicate, _ in found)


def test_beside_is_not_inside_in_chinese() -> None:
    found = said(read("灵隐寺在乌镇附近。", PLACES))
    assert found == {("灵隐寺", "near", "乌镇")}


def test_a_negated_relation_is_not_claimed() -> None:
    assert (
        said(read("Lingyin Temple is not located in Wuzhen. 灵隐寺不在乌镇。It does not suit families.", PLACES))
        == set()
    )


def test_values_are_bound_to_the_name_they_are_said_of() -> None:
    text = "Admission to Lingyin Temple is 45 yuan, and it was founded in 326. 乌镇门票150元，开放时间是9:00到22:00。"
    found = said(read(text, PLACES))
    assert ("Lingyin Temple", "ticketPrice", "45") in found
    assert {("乌镇", "ticketPrice", "150"), ("乌镇", "openingHours", "09:00-22:00")} <= found


def test_a_value_is_not_given_to_the_name_of_another_clause() -> None:
    found = said(read("乌镇门票150元，望津里门票110元。", PLACES))
    assert ("乌镇", "ticketPrice", "110") not in found


def test_a_price_in_another_currency_is_not_taken() -> None:
    assert said(read("The ticket for Lingyin Temple costs 12 euros.", PLACES)) == set()


def test_a_description_or_pronoun_stands_for_the_name_before() -> None:
    found = read("Lingyin Temple is old. The temple opens at 7:00 and closes at 18:00. It suits families.", PLACES)
    assert {("Lingyin Temple", "openingHours", "07:00-18:00"), ("Lingyin Temple", "suitableFor", "families")} <= said(
        found
    )
    stand_in = next(claim.subject for claim in found.claims if local_name(claim.predicate.value) == "openingHours")
    assert (stand_in.text, stand_in.name) == ("The temple", "Lingyin Temple")


def test_named_values_are_found_by_their_words_as_a_list() -> None:
    found = said(read("Wuzhen is good for couples and families. 灵隐寺适合亲子。", PLACES))
    assert {("Wuzhen", "suitableFor", "couples"), ("Wuzhen", "suitableFor", "families")} <= found
    assert {value for subject, _, value in found if subject == "灵隐寺"} == {"families"}


def test_what_a_note_says_without_a_subject_is_about_its_title() -> None:
    text = "# 乌镇两日\n\n乌镇很美。\n\n门票 150 元。"
    assert ("乌镇", "ticketPrice", "150") in said(read(text, PLACES, title="乌镇两日"))


def test_every_claim_can_be_quoted_and_every_mention_found() -> None:
    text = "Lingyin Temple lies in Hangzhou City.\nAdmission is 45 yuan. 乌镇门票150元。"
    found = read(text, PLACES)
    assert found.claims
    for claim in found.claims:
        quote = text[claim.start : claim.end]
        assert quote.strip() == quote != ""
    for mention in found.mentions:
        assert text[mention.start : mention.end] == mention.text


def test_a_refusal_says_why() -> None:
    found = read(
        "Opening hours vary. Grand Hotel was founded in 1990 by the sea. The suite costs 900 yuan a ticket.",
        MUSIC + PLACES,
    )
    assert all(item.reason and item.text for item in found.refused)
    text = "Beethoven Symphony was premiered by Anna Composer."
    refused = read(text, MUSIC).refused
    assert any("does not lead" in item.reason for item in refused)


def test_another_domain_needs_no_code() -> None:
    text = """
        Jean Sibelius, a Finnish composer, composed the Second Symphony. The Second Symphony was completed in 1902
        and premiered by the Helsinki Orchestra. The Kreutzer Sonata, a famous sonata, has a tempo of 120 bpm.
    """
    found = read(text, MUSIC)
    assert classes(found)["Jean Sibelius"] == "Musician"
    assert ("Jean Sibelius", "composed", "Second Symphony") in said(found)
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


def test_labels_and_headings_speak_of_the_main_entity() -> None:
    found = read(SYLLABUS, COURSES, title="SF1625 Calculus in One Variable")
    assert {
        ("SF1625", "code", "SF1625"),
        ("SF1625", "credits", "7.5"),
        ("SF1625", "prerequisite", "SF1624"),
        ("SF1625", "prerequisite", "SK1120"),
        ("SF1625", "develops", "calculation by hand"),
        ("SF1625", "develops", "estimation of errors"),
        ("SF1625", "prerequisiteOf", "SF1626"),
    } <= said(found)


def test_a_title_after_a_code_is_another_name_of_it() -> None:
    found = read(SYLLABUS, COURSES, title="SF1625 Calculus in One Variable")
    assert ("Calculus in One Variable",) in {mention.aliases for mention in found.mentions if mention.name == "SF1625"}


def test_a_chinese_syllabus_reads_like_the_english_one() -> None:
    text = """
        # SF1625 单变量微积分

        课程代码 | SF1625
        学分 | 7.5

        ## 培养的能力

        手工计算、误差估计。

        SF1625 单变量微积分是 SK1120 波动学和 SF1626 多变量微积分的先修课程。
    """
    found = said(read(text, COURSES, title="SF1625 单变量微积分"))
    assert {
        ("SF1625", "credits", "7.5"),
        ("SF1625", "develops", "手工计算"),
        ("SF1625", "develops", "误差估计"),
    } <= found
    assert {("SF1625", "prerequisiteOf", "SK1120"), ("SF1625", "prerequisiteOf", "SF1626")} <= found


def test_a_label_whose_value_does_not_parse_is_refused() -> None:
    found = read(SYLLABUS.replace("7.5", "several"), COURSES, title="SF1625 Calculus in One Variable")
    assert any("is not a number" in item.reason for item in found.refused)


def test_chunks_share_what_the_document_says_without_overlap() -> None:
    text = textwrap.dedent(SYLLABUS).strip()
    document, whole = document_of(text, "SF1625 Calculus in One Variable")
    extractor = BuiltinExtractor(ontology(COURSES))
    cuts = [0, text.index("Prerequisites"), text.index("##"), len(text)]
    parts = [
        extractor.extract(Chunk(NamedNode(f"http://x/{n}"), document.iri, n, low, high, text[low:high]), document)
        for n, (low, high) in enumerate(pairwise(cuts))
    ]
    assert [claim for part in parts for claim in part.claims] == sorted(
        extractor.extract(whole, document).claims, key=lambda claim: [claim.start >= cut for cut in cuts]
    )


def test_the_same_text_gives_the_same_extraction_in_any_thread_and_survives_the_record() -> None:
    document, chunk = document_of("Lingyin Temple (灵隐寺) lies in Hangzhou City. 乌镇门票150元。")
    found: list[Extraction] = []
    threads = [
        threading.Thread(target=lambda: found.append(BuiltinExtractor(ontology(PLACES)).extract(chunk, document)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1] == found[2]
    assert decode(encode(found[0])) == found[0]


@pytest.mark.parametrize(
    "text", ["", " \n ", "。。。", "((((", "#" * 500, "A" * 5000, "乌" * 3000, "1 2 3 : | : |\n" * 50]
)
def test_odd_texts_are_read_without_an_error(text: str) -> None:
    assert read(text, PLACES).claims == ()


def test_names_that_cannot_be_given_a_class_do_not_keep_the_reader() -> None:
    text = "阿丽拉位于湖滨路28号。楼外楼位于孤山路30号,始建于1848年。法云径建于1990年。" * 20
    assert ("楼外楼", "builtIn", "1848") not in said(read(text, MUSIC))
    assert read(text, shipped("core", "geo", "travel")).method == "built-in"


def test_the_place_of_a_founding_is_not_what_was_founded() -> None:
    found = said(read("Wufangzhai, a hotel, was founded in Jiaxing City in 1921.", PLACES))
    assert ("Jiaxing City", "builtIn", "1921") not in found


def test_an_ontology_without_words_finds_nothing() -> None:
    assert read("Lingyin Temple lies in Hangzhou.", ":A a owl:Class .").claims == ()


def test_keywords_are_tags_names_and_repeated_words() -> None:
    found = read("Lingyin Temple has lanterns. Lingyin Temple sells lanterns. #hiking", PLACES).keywords
    assert found[0] == "Lingyin Temple"
    assert {"hiking", "lanterns"} <= set(found)


def shipped(*names: str) -> Ontology:
    folder: Path = resources.folder("ontology")
    return read_ontology([quad.triple for name in names for quad in parse(path=str(folder / f"{name}.ttl"))])


def test_the_travel_pack_reads_a_note() -> None:
    text = "Lingyin Temple lies in Hangzhou City and is near West Lake. A ticket for Lingyin Temple costs 30 yuan."
    found = said(read(text, shipped("core", "geo", "travel")))
    assert {("Lingyin Temple", "locatedIn", "Hangzhou City"), ("Lingyin Temple", "ticketPrice", "30")} <= found


def test_the_academic_pack_reads_a_digest() -> None:
    text = """
        # Attention Is All You Need

        Authors: Ashish Vaswani, Noam Shazeer
        Year: 2017

        BERT is based on Transformer. The Transformer is evaluated on ImageNet.

        ## References

        1. Sepp Hochreiter, Jürgen Schmidhuber. *Long Short-Term Memory*. Neural Computation, 1997.
    """
    found = said(read(text, shipped("core", "academic"), title="Attention Is All You Need"))
    assert {
        ("Attention Is All You Need", "authoredBy", "Ashish Vaswani"),
        ("Attention Is All You Need", "publicationYear", "2017"),
        ("Attention Is All You Need", "cites", "Long Short-Term Memory"),
        ("BERT", "basedOn", "Transformer"),
        ("Transformer", "evaluatedOn", "ImageNet"),
    } <= found


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


def test_common_nouns_after_a_telling_verb_become_names_of_its_range() -> None:
    found = said(read("Hollow Tree Bakery sells rye bread, seed rolls and a plum tart.", BAKERIES))
    assert {item[2] for item in found if item[1] == "sells"} == {"rye bread", "seed rolls", "plum tart"}


def test_an_enumeration_after_a_verb_ends_where_the_next_verb_begins() -> None:
    found = said(read("Hollow Tree Bakery sells plum tarts and closes at five on Sundays.", BAKERIES))
    assert {item[2] for item in found if item[1] == "sells"} == {"plum tarts"}


def test_a_negated_telling_verb_says_nothing() -> None:
    assert not {
        item for item in said(read("Hollow Tree Bakery never sells plum tarts.", BAKERIES)) if item[1] == "sells"
    }


def test_chinese_nouns_after_a_telling_word_are_names_too() -> None:
    found = said(read("青禾面包店供应核桃面包、红豆卷和芝麻饼。", BAKERIES))
    assert {item[2] for item in found if item[1] == "sells"} == {"核桃面包", "红豆卷", "芝麻饼"}


def test_a_possessive_says_the_one_property_that_fits() -> None:
    known = {"青禾": NamedNode("http://example.org/o#Shop"), "核桃酥": NamedNode("http://example.org/o#Good")}
    assert ("青禾", "sells", "核桃酥") in said(read("大家都爱青禾的核桃酥。", BAKERIES, known=known))


def test_all_names_joined_before_the_verb_are_subjects() -> None:
    found = said(read("Elm Temple, Oak Temple and Ash Temple are all in Rowan City.", PLACES))
    assert found == {(f"{name} Temple", "locatedIn", "Rowan City") for name in ("Elm", "Oak", "Ash")}


def test_a_place_lies_in_every_link_of_its_address() -> None:
    found = said(read("清风寺位于远山市白石县。", BAKERIES))
    assert {
        ("清风寺", "locatedIn", "远山市"),
        ("清风寺", "locatedIn", "白石县"),
        ("白石县", "locatedIn", "远山市"),
    } <= found


def test_a_later_clause_goes_on_about_the_first_name() -> None:
    found = said(read("清风寺始建于1210年,就在镜湖边上。", PLACES))
    assert {("清风寺", "near", "镜湖"), ("清风寺", "builtIn", "1210")} <= found


def test_a_price_is_shared_out_among_the_names_of_a_sentence() -> None:
    found = said(read("A ticket for Elm Temple costs 30 yuan, Oak Temple is 20 yuan.", PLACES))
    assert {("Elm Temple", "ticketPrice", "30"), ("Oak Temple", "ticketPrice", "20")} <= found


@pytest.mark.parametrize(
    "text",
    [
        "Elm Temple is free.",
        "Entry is free at all times in Elm Temple: Elm Temple is free.",
        "Elm Temple costs nothing.",
    ],
)
def test_what_costs_nothing_has_the_price_0(text: str) -> None:
    assert ("Elm Temple", "ticketPrice", "0") in said(read(text, PLACES))


def test_free_in_chinese_is_the_price_0_but_not_for_children_only() -> None:
    known = {"清风寺": NamedNode("http://example.org/o#Temple")}
    assert ("清风寺", "ticketPrice", "0") in said(read("清风寺免费开放,周一休息。", PLACES, known=known))
    assert not {item for item in said(read("清风寺儿童免费。", PLACES, known=known)) if item[1] == "ticketPrice"}


def test_a_price_and_hours_after_a_heading_name_are_its_own() -> None:
    found = said(read("Elm Temple: old cedars, 30 yuan, 8:00-17:00.", PLACES))
    assert {("Elm Temple", "ticketPrice", "30"), ("Elm Temple", "openingHours", "08:00-17:00")} <= found


def test_a_row_of_two_cells_is_a_label_with_its_value() -> None:
    text = "# Elm Temple\n\nElm Temple is old. Elm Temple is quiet.\n\n| | |\n|---|---|\n| Ticket | 30 yuan |\n"
    extraction = read(text, PLACES, title="Elm Temple")
    claim = next(item for item in extraction.claims if local_name(item.predicate.value) == "ticketPrice")
    assert text.strip()[claim.start : claim.end] == "| Ticket | 30 yuan |"


def test_a_claim_from_a_label_quotes_the_whole_line() -> None:
    text = "# AB1234 Weaving\n\nCredits: 7.5\n"
    extraction = read(text, COURSES, title="AB1234 Weaving")
    claim = next(item for item in extraction.claims if local_name(item.predicate.value) == "credits")
    assert text.strip()[claim.start : claim.end] == "Credits: 7.5"


@pytest.mark.parametrize(
    "line", ["**作者:** Ann Lee、Bo K. Ray、Łucja Nowak", "Authors: Ann Lee, Bo K. Ray and Łucja Nowak"]
)
def test_every_author_of_a_list_is_read_even_where_one_is_known(line: str) -> None:
    triples = [
        quad.triple
        for pack in ("core", "academic")
        for quad in parse((resources.folder("ontology") / f"{pack}.ttl").read_bytes(), format=RdfFormat.TURTLE)
    ]
    pack = read_ontology(triples)
    author = next(item.iri for item in pack.classes.values() if local_name(item.iri.value) == "Author")
    text = f"# Threads at Rest\n\n{line}\n\nVenue: Loom Conference\n\n## Abstract\n\nThis paper is short.\n"
    extraction = read(text, pack, title="Threads at Rest", known={"Ann Lee": author})
    found = {item[2] for item in said(extraction) if item[1] == "authoredBy"}
    assert found == {"Ann Lee", "Bo K. Ray", "Łucja Nowak"}


def test_a_name_that_the_text_only_uses_as_a_place_is_one() -> None:
    found = said(
        read("We came to Larkfield by train. Elm Temple is in Larkfield. Stay in Larkfield for a night.", BAKERIES)
    )
    assert ("Elm Temple", "locatedIn", "Larkfield") in found


def test_of_which_the_same_is_said_is_of_the_same_kind() -> None:
    known = {"南门": NamedNode("http://example.org/o#Temple")}
    found = said(read("南门门票30元,石巷门票20元。石巷很安静。", PLACES, known=known))
    assert ("南门", "ticketPrice", "30") in found


@pytest.mark.parametrize(
    "text", ["Elm Temple, a five-minute walk from West Lake, is old.", "Elm Temple is next to West Lake."]
)
def test_a_short_walk_away_is_near(text: str) -> None:
    terms = PLACES.replace('"next to"@en', '"next to"@en, "a short walk from"@en')
    assert ("Elm Temple", "near", "West Lake") in said(read(text, terms))


def test_some_minutes_on_foot_is_near_in_chinese() -> None:
    terms = PLACES.replace('"附近"@zh', '"附近"@zh, "离……不远"@zh')
    assert ("清风寺", "near", "镜湖") in said(read("清风寺始建于1210年,离镜湖走路几分钟。", terms))
