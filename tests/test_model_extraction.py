"""Extraction by a model: prompts, replies almost JSON, what of them is accepted, asking again, examples, recordings."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode, RdfFormat, parse

from kgplatform.documents.chunking import chunker
from kgplatform.documents.files import read
from kgplatform.documents.records import decode, encode
from kgplatform.errors import ModelReplyError, ModelUnavailableError
from kgplatform.extraction.learnt.examples import read_examples
from kgplatform.extraction.model_reader import PROMPT, ModelExtractor, PromptOptions, is_symbol, locate
from kgplatform.extraction.prompt import Demonstrations, schema_of
from kgplatform.models.json_replies import json_of, repaired
from kgplatform.models.prompts import names
from kgplatform.models.stubs import HashEmbedder, ScriptedModel
from kgplatform.ontology import packs
from kgplatform.ontology.schema import read_ontology
from kgplatform.types import Chunk, Document, Extractor, Mention
from kgplatform.workspace.intake import extracted, usage_of
from tests.turtle import ontology_of


@pytest.mark.parametrize(
    ("text", "value", "lost"),
    [
        ("{'a': 'it\\'s', 'b': 'don't'}", {"a": "it's", "b": "don't"}, ()),
        ('{"a": [1, 2,], }', {"a": [1, 2]}, ()),
        ('{"a": NaN, b: None, "c": True, "d": -1.5}', {"a": None, "b": None, "c": True, "d": -1.5}, ()),
        ('Sure!\n```json\n{"a": [{"x": 1}{"x": 2}]}\n```', {"a": [{"x": 1}, {"x": 2}]}, ()),
        ('{"a": "he said "hi" to me"}', {"a": 'he said "hi" to me'}, ()),
        ("{“名称”: “乌镇”}", {"名称": "乌镇"}, ()),
        ('{"k": "v"\n"l": 2}', {"k": "v", "l": 2}, ()),
        ('{"a": [1], "b": 2, "a": [3], "b": 4}', {"a": [1, 3], "b": [2, 4]}, ()),
        ('{"s": [{"x": "one"}, {"x": "tw', {"s": [{"x": "one"}]}, ('{"x": "tw',)),
        ('{"s": [{"x": "one", "l": ["p", "q', {"s": []}, ('{"x": "one", "l": ["p", "q',)),
        ('[{"x": 1}, {"x":', [{"x": 1}], ('{"x":',)),
        ('{"s": [{"q": "abc"]}', {"s": [{"q": "abc"}]}, ()),
    ],
)
def test_what_is_whole_is_read_and_what_is_cut_handed_back(text, value, lost):
    found = repaired(text)
    assert found is not None
    assert (found.value, found.lost) == (value, lost)


def test_where_there_is_no_object_there_is_nothing_and_a_key_said_twice_loses_no_value():
    assert [repaired(text) for text in ("", "no JSON here", "{]}]", "<think>{}</think>")] == [None] * 4
    assert json_of('{"a": [1], "a": [2]}') == {"a": [1, 2]}
    assert json_of('{"a": "x", "a": "x"}') == {"a": "x"}


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), _VALUES, min_size=1, max_size=4))
def test_any_json_object_is_read_as_it_is(value):
    text = json.dumps(value, ensure_ascii=False)
    if "think" in text:
        return
    # a quotation mark before a bracket or comma cannot be told from the end of a string
    if '\\"' in text:
        return
    found = repaired(text)
    assert found is not None
    assert (found.value, found.lost) == (value, ())


@given(st.text(max_size=60), st.integers(0, 60))
def test_no_text_breaks_it_and_a_cut_one_keeps_whole_items(text, cut):
    repaired("{" + text)
    repaired('{"a": ' + text)
    whole = '{"statements": [{"subject": "Wuzhen"}, {"subject": "Xitang"}], "keywords": ["town"]}'
    found = repaired(whole[: cut + 2])
    if found is not None and isinstance(found.value, dict):
        assert all(item in ({"subject": "Wuzhen"}, {"subject": "Xitang"}) for item in found.value.get("statements", []))


TEXT = "Notes.\n\nLingyin Temple (灵隐寺) lies in\nHangzhou. Admission is 45 yuan. It suits families."
START = TEXT.index("Lingyin")
TERMS = """
:Place a owl:Class ; rdfs:label "place"@en, "地点"@zh ; rdfs:comment "Somewhere."@en, "某处。"@zh ;
  skos:example "Wuzhen"@en .
:Temple a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "temple"@en, "寺"@zh .
:Person a owl:Class ; rdfs:label "person"@en, "人"@zh .
:Audience a owl:Class ; rdfs:label "audience"@en .
:families a :Audience ; rdfs:label "families"@en, "家庭"@zh .
:locatedIn a owl:ObjectProperty ; rdfs:domain :Place ; rdfs:range :Place ; rdfs:label "located in"@en, "位于"@zh .
:suitableFor a owl:ObjectProperty ; rdfs:domain :Place ; rdfs:range :Audience ; rdfs:label "suitable for"@en .
:ticketPrice a owl:DatatypeProperty ; rdfs:domain :Place ; rdfs:range xsd:decimal ; core:unit "CNY" ;
  rdfs:label "ticket price"@en ; rdfs:comment "What entry costs."@en .
"""


@pytest.fixture(scope="module")
def ontology():
    return ontology_of(TERMS)


MENTIONS = [
    {"text": "Lingyin Temple", "class": "Temple", "name": "Lingyin Temple", "aliases": ["灵隐寺", "Hidden Temple"]},
    {"text": "Hangzhou", "class": "Place", "name": "Hangzhou", "aliases": []},
]


def statement(**changes):
    whole = {
        "subject": "Lingyin Temple",
        "property": "locatedIn",
        "object": "Hangzhou",
        "quote": "Lingyin Temple (灵隐寺) lies in Hangzhou",
        "confidence": 0.9,
    }
    return whole | changes


def reply(*statements, mentions=MENTIONS):
    return json.dumps(
        {"mentions": mentions, "statements": list(statements), "keywords": ["temple"]}, ensure_ascii=False
    )


PRICE = statement(property="ticketPrice", object="45 yuan", quote="Admission is 45 yuan")
PLACE = statement(quote="Lingyin Temple lies in Hangzhou")
FAMILIES = statement(property="suitableFor", object="families", quote="It suits families")


def document(text, language="en"):
    return Document(NamedNode("http://x/d"), text, "A temple", "text/plain", "a.txt", "0" * 64, language)


def chunk(text, start=0, end=None, number=0):
    end = len(text) if end is None else end
    return Chunk(NamedNode(f"http://x/d/chunk/{number}"), NamedNode("http://x/d"), number, start, end, text[start:end])


def extract(model, ontology, text=TEXT, start=START):
    extractor = ModelExtractor(model, ontology, asking=PromptOptions(gleaning=0))
    return extractor.extract(chunk(text, start), document(text))


def with_terms(turtle):
    return ontology_of(TERMS + turtle)


def scripted(*replies):
    """A model that finds nothing more after these replies."""
    return ScriptedModel(*replies, otherwise=lambda _: reply(mentions=[]))


def test_a_statement_with_its_quote_is_accepted_with_offsets_of_the_document(ontology):
    found = extract(scripted(reply(statement(), statement(confidence=0.2))), ontology)
    (claim,) = found.claims
    assert (claim.subject.name, claim.object.name, claim.confidence) == ("Lingyin Temple", "Hangzhou", 0.9)
    assert TEXT[claim.start : claim.end] == "Lingyin Temple (灵隐寺) lies in\nHangzhou"
    assert all(TEXT[mention.start : mention.end] == mention.text for mention in found.mentions)
    assert found.mentions[0].aliases == ("灵隐寺",)  # the other one is not in the passage
    assert (found.method, found.model, found.keywords) == ("model", "scripted", ("temple",))
    assert len(found.prompt_sha256 or "") == 64
    assert isinstance(ModelExtractor(ScriptedModel(), ontology), Extractor)
    assert PROMPT in names()


def test_values_are_typed_by_the_range_and_named_ones_need_no_mention(ontology):
    (claim,) = extract(scripted(reply(PRICE)), ontology).claims
    assert str(claim.object) == '"45"^^<http://www.w3.org/2001/XMLSchema#decimal>'
    (claim,) = extract(scripted(reply(FAMILIES)), ontology).claims
    assert TEXT[claim.object.start : claim.object.end] == "families"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"quote": "Lingyin Temple lies in Shanghai"}, "quote is not in the passage"),
        ({"quote": ""}, "quote is not in the passage"),
        ({"quote": "Notes."}, "quote is not in the passage"),
        ({"property": "ownedBy"}, "there is no property 'ownedBy'"),
        ({"subject": "Hanging Temple"}, "the subject 'Hanging Temple' is not a mention"),
        ({"object": "Shanghai"}, "the object 'Shanghai' is not a mention"),
        ({"property": "suitableFor"}, "'suitable for' does not lead to 'place'"),
        ({"property": "ticketPrice", "object": "cheap"}, "'cheap' is not a number"),
        ({"property": "ticketPrice", "object": "45"}, "the quote does not hold '45'"),
        ({"property": "ticketPrice", "object": "45-60", "quote": "45 yuan"}, "'45-60' holds several numbers"),
        ({"quote": "It suits"}, "the quote names neither subject nor object"),
        ({"object": "Lingyin Temple"}, "subject and object are the same"),
        ({"property": "ticketPrice", "object": "12 euros"}, "'12 euros' is not measured in CNY"),
    ],
)
def test_a_statement_that_does_not_hold_is_refused(ontology, changes, reason):
    found = extract(scripted(reply(statement(**changes))), ontology)
    assert found.claims == ()
    assert [item.reason for item in found.refused] == [reason]


def test_domain_violations_and_unknown_mentions_are_refused(ontology):
    mentions = [
        *MENTIONS[1:],
        {"text": "Lingyin Temple", "class": "Person", "name": "Lingyin Temple", "aliases": []},
        {"text": "Harold", "class": "Person", "name": "Harold", "aliases": []},
        {"text": "Hangzhou", "class": "Galaxy", "name": "Hangzhou", "aliases": []},
    ]
    found = extract(scripted(reply(statement(), mentions=mentions)), ontology)
    assert [item.reason for item in found.refused] == [
        "the mention is neither in the passage nor in the title",
        "there is no class 'Galaxy'",
        "'located in' is not said of 'person'",
    ]


def test_a_reply_that_is_no_json_is_asked_for_once_more_and_twice_is_an_error(ontology):
    model = scripted("Sorry, here is prose.", reply(statement()))
    assert len(extract(model, ontology).claims) == 1
    assert [message.role for message in model.conversations[1]][-2:] == ["assistant", "user"]
    with pytest.raises(ModelReplyError):
        extract(ScriptedModel("prose", '{"other": 1}'), ontology)
    with pytest.raises(ModelUnavailableError):
        extract(ScriptedModel(), ontology)
    for odd in ('{"statements": [1, null, "x"]}', '{"statements": [{}], "mentions": [{}], "keywords": [3]}'):
        assert extract(scripted(odd), ontology).claims == ()


def test_the_prompt_shows_the_ontology_and_the_passage(ontology):
    model = scripted(reply())
    extract(model, ontology)
    system, user = model.conversations[0]
    assert "- Place\n - Temple\n" in system.content
    assert "of Place:\n- locatedIn: Place\n- suitableFor: Audience\n- ticketPrice: decimal in CNY" in system.content
    assert "one of: families" in system.content
    assert TEXT[START:] in user.content


def test_a_large_ontology_is_cut_to_what_the_passage_speaks_of():
    ontology = with_terms("".join(f':C{n} a owl:Class ; rdfs:label "kind{n}"@en .\n' for n in range(400)))
    schema = schema_of(ontology, "a temple of kind399", budget=400)
    shown = [line.name for line in schema.classes]
    assert {"Temple", "C399"} <= set(shown)
    assert shown == sorted(shown)  # a fixed order, so that a server can reuse the beginning of the prompt
    assert len(shown) < 200
    assert schema.property_iri("locatedIn") is not None


def test_classes_stand_below_what_they_are_a_kind_of_and_other_kinds_are_said():
    turtle = """
        :Water a owl:Class ; rdfs:label "water"@en ; rdfs:subClassOf :Place .
        :Canal a owl:Class ; rdfs:label "canal"@en ; rdfs:subClassOf :Water , :Sight .
        :Sight a owl:Class ; rdfs:label "sight"@en ; rdfs:subClassOf :Place .
        :Hen a owl:Class ; rdfs:label "hen"@en ; rdfs:subClassOf :Egg .
        :Egg a owl:Class ; rdfs:label "egg"@en ; rdfs:subClassOf :Hen .
    """
    ontology = with_terms(turtle)
    shown = {line.name: line for line in schema_of(ontology, "a canal").classes}
    assert [shown[name].depth for name in ("Place", "Water", "Canal", "Sight")] == [0, 1, 2, 1]
    assert shown["Canal"].text == "kind of Water"  # and stands below Sight
    assert sorted(shown[name].depth for name in ("Hen", "Egg")) == [0, 1]
    names = list(shown)
    assert names.index("Canal") == names.index("Sight") + 1


def test_what_stands_above_a_class_is_shown_with_it_however_little_room_there_is():
    above = "".join(f":A{n} rdfs:subClassOf :A{n + 1} .\n" for n in range(5))
    classes = [*(f"A{n}" for n in range(6)), *(f"B{n}" for n in range(300))]
    ontology = with_terms(above + "".join(f':{name} a owl:Class ; rdfs:label "{name.lower()}" .\n' for name in classes))
    shown = {line.name: line.depth for line in schema_of(ontology, "an a0", budget=100).classes}
    assert [shown.get(f"A{n}") for n in range(6)] == [5, 4, 3, 2, 1, 0]


def test_only_terms_that_the_text_names_are_explained_where_nothing_is_fixed():
    turtle = ':Inn a owl:Class ; rdfs:label "inn"@en ; rdfs:comment "A house. It has beds."@en .'
    ontology = with_terms(turtle)
    texts = [schema_of(ontology, text) for text in ("An inn.", "A cow.")]
    said = [next(line.text for line in schema.classes if line.name == "Inn") for schema in texts]
    assert said == ["A house. It has beds.", ""]


@pytest.mark.parametrize("budget", [200, 2100])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_fixes_a_format_or_a_boundary_is_said_whatever_the_text_and_the_room(language, budget):
    turtle = """
        :Inn rdfs:subClassOf :Place ; rdfs:label "inn"@en, "客店"@zh ; rdfs:comment "It has few rooms."@en .
        :Lodge rdfs:subClassOf :Place ; rdfs:label "lodge"@en, "山庄"@zh ; skos:altLabel "family inn"@en ;
          rdfs:comment "A family keeps it."@en , "由家庭经营。"@zh .
        :Mill rdfs:subClassOf :Place ; rdfs:label "mill"@en, "磨坊"@zh ; rdfs:comment "It grinds."@en, "磨面。"@zh .
        :Inn a owl:Class . :Lodge a owl:Class . :Mill a owl:Class .
        :opened a owl:DatatypeProperty ; rdfs:domain :Place ; rdfs:range xsd:string ; rdfs:label "opened"@en ;
          rdfs:comment "Times. Written as HH:MM, without days."@en , "时间。不写日期。"@zh .
    """
    schema = schema_of(with_terms(turtle), "A cow.", language=language, budget=budget)
    said = {line.name: line.text for line in (*schema.classes, *schema.properties)}
    is_english = language == "en"
    assert said["Lodge"] == ("A family keeps it." if is_english else "山庄：由家庭经营。")
    assert said["Inn"].endswith("It has few rooms.")  # in the language that there is
    assert said["opened"].endswith("Written as HH:MM, without days." if is_english else "时间。不写日期。")
    assert "Mill" not in said or said["Mill"] in ("", "磨坊")


def test_a_property_is_shown_before_a_class_of_which_the_text_says_nothing():
    ontology = with_terms("".join(f':C{n} a owl:Class ; rdfs:label "kind{n}"@en .\n' for n in range(400)))
    schema = schema_of(ontology, "15 yuan a head", budget=200)
    assert {line.name for line in schema.properties} == {"locatedIn", "suitableFor", "ticketPrice"}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_never_changes_stands_first_so_that_a_server_can_keep_it(language):
    other = with_terms(':Mill rdfs:subClassOf :Place ; a owl:Class ; rdfs:label "mill"@en .')
    sent = []
    for ontology in (ontology_of(TERMS), other):
        model = scripted(reply())
        whole(model, ontology, language=language)
        sent.append(model.conversations[0][0].content)
    alike = next(place for place, (first, second) in enumerate(zip(*sent, strict=False)) if first != second)
    assert all(sent[0].index(told) < alike for told in ('"mentions"', '"quote"', '"keywords"', "- Place"))


@pytest.mark.parametrize(("language", "told"), [("en", "gives in part"), ("zh", "只说出一部分的值")])
def test_a_value_that_is_given_in_part_is_a_candidate_and_no_statement(ontology, language, told):
    model = scripted(reply(PRICE | {"confidence": 0.4}))
    found = whole(model, ontology, language=language)
    assert told in model.conversations[0][0].content
    assert ([str(claim.object.value) for claim in found.candidates], found.claims) == (["45"], ())


def test_the_quote_begins_where_the_thing_is_named(ontology):
    for language, said in (("en", "from the sentence that names the"), ("zh", "从说出主语名称的那一句起")):
        model = scripted(reply())
        whole(model, ontology, language=language)
        assert said in model.conversations[0][0].content


def test_the_schema_speaks_the_language_of_the_document_and_a_class_and_a_property_may_share_a_name():
    ontology = with_terms(
        ':temple a owl:ObjectProperty ; rdfs:domain :Person ; rdfs:range :Temple ; rdfs:label "temple"@en .'
    )
    schema = schema_of(ontology, "灵隐寺，某处地点。", language="zh")
    assert [line.text for line in schema.classes if line.name == "Place"] == ["地点：某处。；例：Wuzhen"]
    schema = schema_of(ontology, "a temple")
    assert schema.class_iri("Temple") == NamedNode("http://example.org/o#Temple")
    assert schema.property_iri("temple") == NamedNode("http://example.org/o#temple")
    assert not any(line.name.startswith("http") for line in (*schema.classes, *schema.properties))


@pytest.mark.parametrize(
    ("letter", "text", "is_quantity"),
    [
        ("N", "Let N be the number of towns.", True),
        ("B", "The product of two thin matrices, B and A, is added.", True),
        ("n", "costs grow with n^2", True), ("W_q", "the projection W_q = 3", True),
        ("A", "设 N 为词数，矩阵 A 与 B 相乘", True), ("A", "Board at pier A or pier B.", False),
        ("D", "D 指廊的登机口", False), ("R", "They write it in R and in C.", False),
        ("Wuzhen", "Wuzhen = town", False),
    ],
)  # fmt: skip
def test_a_letter_for_a_quantity_is_no_name(letter, text, is_quantity, ontology):
    assert is_symbol(letter, text) is is_quantity
    answer = json.dumps({"mentions": [{"text": letter, "class": "Place"}], "statements": []})
    found = extract(scripted(answer), ontology, text, 0)
    reasons = ["a symbol of this text is no name of anything"] if is_quantity else []
    assert (not found.mentions, [item.reason for item in found.refused]) == (is_quantity, reasons)


def test_locate_forgives_blanks_only():
    pairs = (("a  b\nc", "b c"), ("abc", ""), ("abc", "  "), ("灵 隐寺", "灵隐寺"), ("a.b", "a b"))
    assert [locate(passage, quote) for passage, quote in pairs] == [(3, 6), None, None, None, None]


def test_a_value_of_a_closed_list_is_named_by_its_label_and_an_unlisted_one_refused(ontology):
    words, names = TEXT[START:].split()[:2], ("families", "no such value")
    mentions = [{"text": w, "class": "Audience", "name": n, "aliases": []} for w, n in zip(words, names, strict=True)]
    found = extract(scripted(reply(mentions=mentions)), ontology)
    assert [mention.name for mention in found.mentions] == ["families"]
    assert any("not one of the values" in refusal.reason for refusal in found.refused)


FLAT = """
@prefix o: <http://flat/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
o:Place a owl:Class ; rdfs:label "place" . o:Country a owl:Class ; rdfs:label "country" .
o:Ship a owl:Class ; rdfs:label "ship" . o:Idea a owl:Class ; rdfs:label "idea" ; owl:disjointWith o:Country .
o:leader a owl:ObjectProperty ; rdfs:label "leader" ; rdfs:domain o:Place ; rdfs:range o:Person .
o:Person a owl:Class ; rdfs:label "person" .
o:source a owl:ObjectProperty ; rdfs:label "source" ; rdfs:domain o:Idea .
o:launched a <http://www.w3.org/1999/02/22-rdf-syntax-ns#Property> ; rdfs:label "launched" ; rdfs:domain o:Ship .
"""  # noqa: E501


def test_where_no_class_is_a_kind_of_another_a_statement_needs_none_to_be():
    ontology = read_ontology([quad.triple for quad in parse(FLAT.encode(), format=RdfFormat.TURTLE)])
    text = "The leader of Sweden is Ulla. The ship Vega was launched on the 9th March 2008."
    named = [("Sweden", "Country"), ("Ulla", "Person"), ("Vega", "Ship")]
    model = scripted(
        reply(
            statement(subject="Sweden", property="leader", object="Ulla", quote="leader of Sweden is Ulla"),
            statement(subject="Sweden", property="source", object="Ulla", quote="leader of Sweden is Ulla"),
            statement(subject="Vega", property="launched", object="2008-03-09", quote="launched on the 9th March 2008"),
            mentions=[{"text": name, "class": class_, "name": name, "aliases": []} for name, class_ in named],
        )
    )
    found = extract(model, ontology, text, 0)
    shown = [(claim.subject.name, claim.predicate.value.rpartition("/")[2]) for claim in found.claims]
    assert shown == [("Sweden", "leader"), ("Vega", "launched")]  # nothing that is disjoint
    assert str(found.claims[1].object) == '"2008-03-09"^^<http://www.w3.org/2001/XMLSchema#date>'
    assert "further in" not in model.conversations[0][0].content
    assert "the one that the property of its statement names" in model.conversations[0][0].content


@pytest.mark.parametrize(
    ("name", "quote"),
    [
        *(
            ("Lingyin Temple", f"Lingyin Temple {said}")
            for said in ("is free", "costs nothing", "will cost you nothing")
        ),
        *(("灵隐寺", f"灵隐寺{said}") for said in ("免费", "不收钱", "不要门票", "不用钱", "也不要票", "无需门票")),
    ],
)
def test_a_price_of_nothing_is_told_in_words(name, quote, ontology):
    mentions = [{"text": name, "class": "Temple", "name": name, "aliases": []}]
    said = statement(subject=name, property="ticketPrice", object="0", quote=quote)
    found = extract(scripted(reply(said, mentions=mentions)), ontology, f"{quote}.", 0)
    assert [claim.object.value for claim in found.claims] == ["0"]


TWO_PARTS = "Lingyin Temple lies in Hangzhou. Admission is 45 yuan.\n\nIt suits families. Wuzhen is far off."
THIRD = {"text": "Wuzhen", "class": "Place", "name": "Wuzhen", "aliases": []}
PERSON = {"text": "Lingyin Temple", "class": "Person", "name": "Lingyin Temple", "aliases": []}


def parts():
    cut = TWO_PARTS.index("\n\n")
    return [chunk(TWO_PARTS, 0, cut), chunk(TWO_PARTS, cut + 2, number=1)]


def read_in_parts(model, ontology, **asking):
    extractor = ModelExtractor(model, ontology, asking=PromptOptions(**{"gleaning": 1, **asking}))
    return extracted(extractor, parts(), document(TWO_PARTS), workers=2)


def whole(model, ontology, *, language="en", **asking):
    extractor = ModelExtractor(model, ontology, asking=PromptOptions(**{"gleaning": 1, **asking}))
    return extractor.extract(chunk(TWO_PARTS), document(TWO_PARTS, language))


def test_a_further_round_adds_what_was_missed_once(ontology):
    model = ScriptedModel(reply(PLACE), reply(PLACE, PRICE, mentions=[]))
    found = whole(model, ontology)
    assert len(found.claims) == 2
    assert [message.role for message in model.conversations[1]] == ["system", "user", "assistant", "user"]
    assert "missed" in model.conversations[1][-1].content
    assert found.usage.calls == 2
    assert found.usage.prompt_tokens > found.usage.completion_tokens > 0


def test_how_often_is_asked_depends_on_what_was_brought(ontology):
    full, wrong, nothing = (PLACE, PRICE, FAMILIES), PLACE | {"property": "ownedBy"}, reply(mentions=[])
    every = [*MENTIONS, THIRD]
    for replies, gleaning, calls in (
        ((reply(PLACE), nothing), 5, 2),  # rounds end when one brings nothing
        ((reply(PLACE),), 0, 1),
        ((reply(*full, mentions=every),), 1, 1),  # something was read in nearly every sentence
        ((reply(*full, wrong, mentions=every), nothing), 1, 2),  # but something was refused
    ):
        assert whole(ScriptedModel(*replies), ontology, gleaning=gleaning).usage.calls == calls


def test_what_breaks_the_ontology_is_sent_back_once_with_the_reason_and_may_be_mended(ontology):
    model = ScriptedModel(reply(PLACE, mentions=[PERSON, MENTIONS[1]]), reply(PLACE))
    found = whole(model, ontology, gleaning=0)
    assert "'located in' is not said of 'person'" in model.conversations[1][-1].content
    assert [claim.subject.type.value for claim in found.claims] == ["http://example.org/o#Temple"]
    assert found.refused == ()


def test_what_stays_wrong_stays_refused_and_what_a_statement_stands_on_stays(ontology):
    wrong = reply(PLACE | {"property": "ownedBy"})
    found = whole(ScriptedModel(wrong, wrong), ontology)
    assert (found.claims, [item.reason for item in found.refused]) == ((), ["there is no property 'ownedBy'"])
    found = whole(ScriptedModel(reply(PLACE), reply(mentions=[PERSON])), ontology)
    assert {mention.type.value.rpartition("#")[2] for mention in found.mentions} == {"Temple", "Place"}


def test_a_chinese_document_is_asked_about_in_chinese(ontology):
    model = ScriptedModel(reply(PLACE), reply(mentions=[]))
    whole(model, ontology, language="zh")
    assert "你阅读一段文字" in model.conversations[0][0].content
    assert "还漏了哪些" in model.conversations[1][-1].content


def test_a_reply_that_breaks_off_keeps_its_whole_statements_and_counts_the_rest(ontology):
    cut = reply(PLACE, PRICE)
    cut = cut[: cut.index("Admission") + 4]
    broken = ModelReplyError("cut off", model="scripted", reply=cut)
    found = whole(ScriptedModel(broken, reply(PRICE, mentions=[])), ontology)
    assert len(found.claims) == 2
    assert [refusal.reason for refusal in found.refused] == ["the reply breaks off or is no JSON here"]
    assert found.usage.calls == 2


def test_a_statement_may_have_several_objects_and_an_unreadable_second_reply_costs_nothing(ontology):
    said = PLACE | {"object": ["Hangzhou", "Wuzhen"]}
    assert len(whole(ScriptedModel(reply(said, mentions=[*MENTIONS, THIRD])), ontology, gleaning=0).claims) == 2
    found = whole(ScriptedModel(reply(PLACE), "prose", "more prose"), ontology)
    assert len(found.claims) == 1
    assert [refusal.text for refusal in found.refused] == ["more prose"]


def test_neighbouring_chunks_are_asked_for_together_and_keep_what_is_theirs(ontology):
    model = ScriptedModel(reply(PLACE, PRICE, FAMILIES))
    first, second = read_in_parts(model, ontology, gleaning=0)
    assert len(model.conversations) == 1
    assert [len(first.claims), len(second.claims)] == [2, 1]
    assert [mention.text for mention in first.mentions] == ["Lingyin Temple", "Hangzhou"]
    assert second.mentions == ()
    assert all(TWO_PARTS[claim.start : claim.end] in parts()[1].text for claim in second.claims)
    assert (first.usage.calls, second.usage.calls) == (1, 0)


def test_chunks_beyond_the_room_for_a_passage_are_asked_for_apart(ontology):
    model = ScriptedModel(otherwise=lambda _: reply(mentions=[]))
    found = read_in_parts(model, ontology, gleaning=0, passage_tokens=15)
    assert len(model.conversations) == 2
    assert usage_of(found).calls == 2


def test_what_a_reply_cost_is_kept_with_the_extraction(ontology):
    found = whole(ScriptedModel(reply(PLACE)), ontology, gleaning=0)
    assert decode(encode(found)).usage.prompt_tokens == found.usage.prompt_tokens
    old = json.loads(encode(found))
    del old["usage"]
    assert decode(json.dumps(old)).usage.calls == 0


EXAMPLES = [
    ("Wuzhen lies in Tongxiang.", [["Wuzhen", "locatedIn", "Tongxiang"]]),
    ("The ticket to the pagoda costs 30 yuan.", [["pagoda", "http://example.org/o#ticketPrice", "30"]]),
    ("Entry to the temple garden costs 20 yuan a head.", [["temple garden", "ticket price", "20"]]),
    ("乌镇位于桐乡。", [["乌镇", "位于", "桐乡"]]),
    ("雷峰塔门票四十元。", [["雷峰塔", "ticketPrice", "40"]]),
    ("周庄在昆山。", [["周庄", "locatedIn", "昆山"]]),
]


@pytest.fixture
def shown(tmp_path, ontology):
    path = tmp_path / "examples.jsonl"
    lines = [json.dumps({"text": text, "triples": triples}, ensure_ascii=False) for text, triples in EXAMPLES]
    path.write_text("\n".join(lines), encoding="utf-8")
    return lambda **options: Demonstrations(read_examples(path, ontology).examples, **options)


def test_the_nearest_examples_stand_last(shown):
    english = HashEmbedder()
    english.languages = frozenset({"en"})
    for embedder in (None, HashEmbedder(), english):
        near = shown(embedder=embedder).nearest("Entry to the temple costs 45 yuan.", 2)
        assert [example.text for example in near] == [EXAMPLES[1][0], EXAMPLES[2][0]]
    assert [example.text for example in shown(embedder=english).nearest("西塘位于嘉善。", 1)] == ["乌镇位于桐乡。"]


def test_examples_are_shown_in_names_of_the_prompt(shown, ontology):
    text = "Entry to the temple costs 45 yuan."

    def asked(examples, count):
        model = ScriptedModel('{"statements": []}')
        asking = PromptOptions(gleaning=0, demonstrations=count)
        ModelExtractor(model, ontology, asking=asking, demonstrations=examples).extract(chunk(text), document(text))
        return model.conversations[0][0].content

    prompt = asked(shown(), 1)
    assert "Text: Entry to the temple garden costs 20 yuan a head.\n- temple garden | ticketPrice | 20" in prompt
    assert "Wuzhen lies" not in prompt
    assert "Other texts" in prompt
    assert not any(
        "Other texts" in asked(examples, count) for examples, count in ((Demonstrations(()), 1), (shown(), 0))
    )


ROOT = Path(__file__).resolve().parent.parent
RECORDING = json.loads((ROOT / "tests/data/recordings/extraction.json").read_text(encoding="utf-8"))
"""Passages with the replies to them, first and after "what was missed?"; a better prompt needs no others."""


def recorded(messages):
    asked = messages[1].content
    found = next(entry for entry in RECORDING if f"<passage>\n{entry['passage']}\n</passage>" in asked)
    return str(found["completions"][sum(message.role == "assistant" for message in messages)])


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("travel/xitang-after-dark.txt", "travel"),
        ("travel/zhouzhuang-sheying.md", "travel"),
        ("academic/papers/ctc.md", "academic"),
    ],
)
def test_what_a_language_model_wrote_to_the_real_prompts_is_read(name, pack):
    (sample,) = read(ROOT / "examples" / name, base="https://example.org/kg/")
    ontology = packs.load([pack], folder=ROOT).ontology
    model, chunks = ScriptedModel(otherwise=recorded), chunker()(sample)
    extractor = ModelExtractor(model, ontology, asking=PromptOptions(gleaning=1))
    extractions = extracted(extractor, chunks, sample, workers=2)
    claims = [claim for extraction in extractions for claim in extraction.claims]
    assert len(claims) >= 20
    assert sum(len(extraction.refused) for extraction in extractions) <= len(claims) / 10
    for claim in claims:
        property_ = ontology.properties[claim.predicate]
        assert ontology.fits(claim.subject.type, property_.domains)
        assert not isinstance(claim.object, Mention) or ontology.fits(claim.object.type, property_.ranges)
        assert sample.text[claim.start : claim.end].strip()
        assert sample.text[claim.subject.start : claim.subject.end] == claim.subject.text
    for piece, extraction in zip(chunks, extractions, strict=True):
        assert extraction.chunk == piece.iri
        assert all(piece.start <= claim.start < claim.end <= piece.end for claim in extraction.claims)
    assert sum(bool(extraction.claims) for extraction in extractions) >= 2
    assert len(chunks) >= 3
    assert len(model.conversations) == usage_of(extractions).calls == 2
    assert ("你阅读一段文字" in model.conversations[0][0].content) == (sample.language == "zh")
    assert any(extraction.keywords for extraction in extractions)
