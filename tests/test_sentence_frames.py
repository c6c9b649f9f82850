"""Frames: what sentences say by a property's forms, their order and what stands around, in both languages."""

import json

import numpy as np
import pytest
from pyoxigraph import NamedNode

from kgplatform.extraction import builtin, context, sentence_network
from kgplatform.extraction.builtin import BuiltinExtractor
from kgplatform.extraction.han_tagger import carried_tagger
from kgplatform.extraction.names import Gazetteer, MentionFinder
from kgplatform.extraction.ontology_lexicon import compile_lexicon
from kgplatform.extraction.sentence_network import (
    WEIGHTS,
    ClassLabels,
    ScoredSpan,
    carried_network,
    label_rows,
    seen_sentence,
)
from kgplatform.extraction.sentence_slots import SlotFinder
from kgplatform.extraction.values import values_in
from kgplatform.text import language_of
from kgplatform.types import Chunk, Document, Mention
from kgplatform.vocab import local_name
from tests.turtle import ontology_of, shipped


def read(text, pack, title=""):
    return extracted(BuiltinExtractor(shipped(pack)), text, title)


def extracted(extractor, text, title=""):
    iri = NamedNode("urn:document")
    document = Document(
        iri, text, title or text.split("\n")[0], "text/markdown", "note.md", "digest", language_of(text)
    )
    return extractor.extract(Chunk(NamedNode("urn:chunk"), iri, 0, 0, len(text), text), document)


def said(found):
    return {
        (
            c.subject.name,
            local_name(c.predicate.value),
            c.object.name if isinstance(c.object, Mention) else c.object.value,
        )
        for c in found
    }


@pytest.mark.parametrize(
    ("pack", "text", "statement"),
    [
        # the title is what sentences without a subject speak of
        ("travel", "# Marble Caves\n\nOpening hours: 9:00 to 16:30.\nTickets: 85 yuan.",
         ("Marble Caves", "ticketPrice", "85")),
        ("travel", "# 白石洞\n\n开放时间：9:00-16:30。\n门票：85元。", ("白石洞", "ticketPrice", "85")),
        # codes say themselves what they are
        ("airport", "QF482 is boarding at gate C11.", ("QF482", "flightNumber", "QF482")),
        ("airport", "东航MU5102从上海出发，登机口C11。", ("MU5102", "flightNumber", "MU5102")),
        ("academic", "BX1034 Soil Physics is a course of 5 credits.", ("BX1034", "courseCode", "BX1034")),
        # what is for a night, before or behind the amount; commas as people type them
        ("travel", "清风宾馆标准间每晚320元，很安静。", ("清风宾馆", "pricePerNight", "320")),
        ("travel", "听雪客栈很干净，一晚260元。", ("听雪客栈", "pricePerNight", "260")),
        ("travel", "清风宾馆,每晚420元,含早餐。", ("清风宾馆", "pricePerNight", "420")),
        ("travel", "清风博物馆免费开放,周一闭馆。", ("清风博物馆", "closedOn", "周一")),
        ("travel", "Elm Museum is closed on Mondays and Tuesdays.", ("Elm Museum", "closedOn", "Tuesdays")),
    ],
)  # fmt: skip
def test_what_frames_find_is_a_statement_with_its_passage(pack, text, statement):
    found = read(text, pack)
    assert statement in said(found.claims)
    claim = next(c for c in found.claims if said([c]) == {statement})
    assert 0 < claim.confidence <= 1
    assert 0 <= claim.start < claim.end <= len(text)


@pytest.mark.parametrize(
    ("pack", "text", "property_", "object_"),
    [
        ("travel", "Elm Temple has no car park and no lift.", "offers", "parking"),
        ("travel", "清风寺没有停车场，也没有电梯。", "offers", "停车场"),
        ("travel", "清风寺儿童免费。", "ticketPrice", "0"),
        ("travel", "Elm Temple: children pay 20 yuan.", "ticketPrice", "20"),
        ("travel", "清风寺门票50元，望津里门票30元。", "ticketPrice", "30"),
        ("travel", "Elm Temple is not located in Wuzhen.", "contains", "Wuzhen"),
        ("travel", "Free parking is available at all hotels except the Elm Temple.", "offers", "parking"),
        ("travel", "Elm Temple reopened in 2022.", "openedIn", "2022"),
        ("travel", "Elm Temple has been closed since 2020.", "openedIn", "2020"),
        (
            "travel",
            "# Two days\n\n## Day 1\n\nOvernight at Elm Temple.\n\n## Day 2\n\nVisits are by guided tour only.",
            "offers",
            "guide service",
        ),
        (
            "travel",
            "# Elm Temple\n\nRoute | Operator | Price\nA to B | Elm Line | 5\nB to C | Oak Line | 7",
            "reachedBy",
            "Operator",
        ),
    ],
)
def test_what_is_denied_or_said_of_others_is_no_statement(pack, text, property_, object_):
    found = said(read(text, pack).claims)
    assert not [s for s in found if s[0] in ("Elm Temple", "清风寺") and s[1:] == (property_, object_)]


def test_what_is_less_sure_is_a_candidate_and_no_statement():
    thresholds = carried_network().thresholds
    found = read("We liked Elm Temple. Nearby is Harbour Museum, and there is a bar. Tickets were 30 yuan.", "travel")
    chained = "near", "hasPart"  # where a mistake makes others, more is asked for
    others = [item for item in found.candidates if local_name(item.predicate.value) not in chained]
    assert all(item.confidence < thresholds.statement for item in others)
    assert not said(found.candidates) & said(found.claims)


def test_the_shipped_weights_hold_signs_and_no_words_of_texts():
    told = json.loads(WEIGHTS.with_suffix(".json").read_text(encoding="utf-8"))
    assert 0 < told["candidate"] < told["threshold"] < 1
    assert all(sign.isascii() for sign in told["signs"])


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Plan three hours.", [("3", "hours")]),
        ("It lasts an hour and a half.", [("1.5", "hour")]),
        ("全程一个半小时，步行五分钟", [("1.5", "小时"), ("5", "分钟")]),
        ("素面十二元一碗，豆干四十块。", [("12", "CNY"), ("40", "CNY")]),
        ("早上八点开门、傍晚五点半锁门", [("08:00-17:30", "")]),
        ("二元论有一点难，一块石头", []),
        ("About 2.3 million people, on 12万平方米.", [("2300000", "people"), ("120000", "平方米")]),
        ("It cost $4.55 million, 造价1.2亿元。", [("4550000", "USD"), ("120000000", "CNY")]),
        ("海拔1687米，1687年建", [("1687", "米"), ("1687", "")]),
        ("3万亿，3千万，2 millionaires", [("3000000000000", ""), ("30000000", ""), ("2", "millionaires")]),
    ],
)
def test_numbers_in_words_are_values(text, values):
    assert [(value.lexical, value.unit) for value in values_in(text)] == values


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("We shared a walnut dumpling soup at Copper Kettle and went home.", "Copper Kettle"),
        ("傍晚在听涛客栈喝了一碗莼菜羹。", "听涛客栈"),
    ],
)
def test_spans_that_name_something_are_likelier_than_the_rest(text, name):
    tagged = carried_tagger().names(text)
    network = carried_network()
    seen = seen_sentence(text, 0, len(text), tagged)
    spans = network.spans(seen, network.rows([seen])[0], np.zeros((0, 0), np.float32), least=1)
    shares = {text[span.start : span.end]: span.share for span in spans}
    assert all(0 <= share <= 1 for share in shares.values())
    assert shares[name] > 0.5 > np.median(list(shares.values()))


@pytest.mark.parametrize(("share", "names"), [(0.94, ["Crystals and Tides"]), (0.1, ["Crystals", "Tides"])])
def test_of_names_that_cross_the_likelier_is_taken(share, names):
    text, lexicon = "We all went to see Crystals and Tides.", compile_lexicon(shipped("travel"))
    document = Document(NamedNode("urn:document"), text, "A note", "text/plain", "note.txt", "digest", "en")
    reading = context.DocumentReading(document, text, lexicon, MentionFinder(text, lexicon, Gazetteer({})))
    context.read_names(reading)
    first = text.index("Crystals")
    spans = [ScoredSpan(first, first + len("Crystals and Tides"), share, True)]
    found = SlotFinder(reading, context.Referents(reading)).slots(0, len(text), spans)
    assert [slot.name for slot in found] == names


def test_a_class_is_guessed_from_labels_alone():
    labels = ClassLabels(ontology_of(PLACES))
    text = "Dinner was at the Copper Kettle, a restaurant by the lake."
    network = carried_network()
    seen = seen_sentence(text, 0, len(text), ())
    spans = network.spans(seen, network.rows([seen])[0], labels.rows, least=0)
    kettle = next(span for span in spans if text[span.start : span.end] == "Copper Kettle")
    assert 0 < kettle.classes.sum() < 1  # what is missing to 1 is the share of none of them
    assert len(kettle.classes) == len(labels.classes)
    assert labels.classes[int(kettle.classes.argmax())].value.endswith("Eatery")


def test_a_name_of_another_subject_is_of_none_of_the_classes():
    labels, network = ClassLabels(shipped("academic")), carried_network()
    text = "The Wuzhen Grand Theatre stands near the west gate."
    seen = seen_sentence(text, 0, len(text), ())
    spans = network.spans(seen, network.rows([seen])[0], labels.rows, least=0)
    theatre = next(span for span in spans if text[span.start : span.end] == "Wuzhen Grand Theatre")
    assert theatre.share > 0.5
    assert labels.likely(theatre.classes) is None


def test_any_class_fits_where_objects_are_values_of_a_closed_list():
    lexicon = compile_lexicon(shipped("travel"))
    terms, labels = lexicon.forms.terms, lexicon.property_labels
    fitting = {local_name(term.iri.value): labels.ranges[n] for n, term in enumerate(terms)}
    assert fitting["bestSeason"].all()  # seasons are listed by the ontology, so no name is told to be of their class
    assert 0 < fitting["serves"].sum() < len(fitting["serves"])


PLACES = """:Eatery a owl:Class ; rdfs:label "restaurant"@en . :Peak a owl:Class ; rdfs:label "mountain"@en .
:inPeak a owl:ObjectProperty ; rdfs:domain :Eatery ; rdfs:range :Peak ; rdfs:label "below"@en ."""


def test_where_a_workspace_has_things_of_a_class_only_keys_name_them():
    flights = {"20250312-QF481-D": NamedNode("https://w3id.org/kgplatform/airport#Flight")}
    text = "QF482 is boarding at gate C11."
    known = BuiltinExtractor(shipped("airport"), known=flights)
    assert ("QF482", "flightNumber", "QF482") in said(read(text, "airport").claims)
    assert not [found for found in said(extracted(known, text).claims) if found[0] == "QF482"]


def test_a_known_name_is_found_in_the_possessive():
    airlines = {"KLM": NamedNode("https://w3id.org/kgplatform/airport#Airline")}
    known = BuiltinExtractor(shipped("airport"), known=airlines)
    found = extracted(known, "KLM's flights use the new pier.").mentions
    assert [(item.name, local_name(item.type.value)) for item in found] == [("KLM", "Airline")]


def test_a_glossary_says_nothing_of_what_it_explains():
    text = "STA is the scheduled time of arrival. Flight state: DIV is diverted, CNX is cancelled."
    assert not read(text, "airport", title="Glossary").claims


def test_looser_forms_are_heard_in_texts_alone():
    ontology = shipped("travel")
    term = next(t for t in ontology.domain_properties if local_name(t.iri.value) == "averageCost")
    heard = {word.text for word in term.heard}
    assert heard
    assert not heard & {word.text for word in term.words}
    labels = {
        cue.text for cues in compile_lexicon(ontology).labels.values() for cue in cues if cue.term.iri == term.iri
    }
    assert not heard & labels


def test_without_the_sentence_model_the_rest_is_read(monkeypatch):
    monkeypatch.setattr(builtin, "carried_network", lambda: None)
    monkeypatch.setattr(sentence_network, "_model", lambda: pytest.fail("the sentence model is asked"))
    text = "# Marble Caves\n\nOpening hours: 9:00 to 16:30.\nTicket price: 40 yuan.\nAddress: 1 Cave Road."
    assert ("Marble Caves", "ticketPrice", "40") in said(read(text, "travel").claims)


def test_a_line_without_end_is_no_sentence_to_look_at_word_by_word():
    assert seen_sentence("ab cd " * 300, 0, 1_800, ()) is None
    assert read("Elm Temple was built in 1210. " + "ab cd " * 20_000, "travel").claims


def test_a_code_in_brackets_is_that_of_the_name_before_it():
    found = said(read("Deep Learning (CS4820) is taught by Ana Reyes. 深海声学（OE3020）学分为3。", "academic").claims)
    assert {
        ("CS4820", "courseCode", "CS4820"),
        ("CS4820", "taughtBy", "Ana Reyes"),
        ("OE3020", "credits", "3"),
    } <= found
    assert not [subject for subject, _, _ in found if subject in ("Deep Learning", "深海声学")]


def test_an_amount_without_a_unit_is_of_the_unit_of_the_property():
    assert ("Elm Temple", "ticketPrice", "45") in said(
        read("Elm Temple: the ticket is 45, children free.", "travel").claims
    )
    assert ("清风寺", "ticketPrice", "45") in said(read("清风寺门票45，早上九点开门。", "travel").claims)


def test_a_length_is_no_height_where_nothing_says_so():
    found = read("Long Row runs for about 400 m along the river.", "travel")
    assert not [item for item in (*found.claims, *found.candidates) if local_name(item.predicate.value) == "elevation"]


def test_a_comma_parts_clauses_in_chinese():
    text = "回程可以去南浔,南浔属于湖州市,小莲庄、嘉业堂藏书楼和百间楼都在南浔古镇里。"
    garden, house, town = (
        NamedNode(f"https://w3id.org/kgplatform/travel#{one}") for one in ("Garden", "Museum", "WaterTown")
    )
    known = {"南浔": town, "小莲庄": garden, "嘉业堂藏书楼": house, "百间楼": house}
    reader = BuiltinExtractor(shipped("core", "geo", "travel"), known=known)
    places = {(one, other) for one, name, other in said(extracted(reader, text).claims) if name == "locatedIn"}
    assert not {other for one, other in places if one == "南浔"} & {"小莲庄", "嘉业堂藏书楼", "百间楼"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Crane Garden: Ming dynasty garden, 15 yuan, 8:30-16:30.", "Crane Garden"),
        ("Otter Hill: leaning pagoda, 15 yuan, 8:30-16:30.", "Otter Hill"),
        ("鹤园：江南名园，门票15元，8:30-16:30开放。", "鹤园"),
    ],
)
def test_what_is_said_of_a_description_is_said_of_what_it_describes(text, name):
    found = said(read(text, "travel").claims)
    assert {(name, "ticketPrice", "15"), (name, "openingHours", "08:30-16:30")} <= found
    assert {subject for subject, predicate, _ in found if predicate in ("ticketPrice", "openingHours")} == {name}


def test_what_stands_behind_a_place_and_a_colon_does_not_describe_it():
    found = said(
        read("Dinner was at Otter Inn, on the water in Xizha: white-water fish steamed with ginger.", "travel").claims
    )
    assert not any(subject == "Xizha" and predicate == "ingredient" for subject, predicate, _ in found)


def test_the_words_of_an_identifier_are_those_of_the_label():
    identifiers = label_rows([["AdministrativeRegion"], ["head_of_state"]])
    labels = label_rows([["administrative region"], ["head of state"]])
    assert all(np.allclose(one, other) for one, other in zip(identifiers, labels, strict=True))


def test_an_ontology_tells_which_of_two_inverses_it_defines_by_the_other():
    derived = {
        local_name(term.iri.value): term.derived for term in shipped("core", "geo", "travel").properties.values()
    }
    assert (derived["contains"], derived["locatedIn"], derived["servedAt"], derived["serves"]) == (1, 0, 1, 0)
