"""Asking a model again: what was missed, what was refused, what could not be read; and reading chunks together."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyoxigraph import NamedNode, RdfFormat, parse

from kgplatform.building.extracting import extracted, usage_of
from kgplatform.documents.records import decode, encode
from kgplatform.errors import ModelReplyError
from kgplatform.extraction.model import Asking, ModelExtractor
from kgplatform.ontology import Ontology, read_ontology
from kgplatform.testing import ScriptedModel
from kgplatform.types import Chunk, Document, Extraction
from tests.test_model_extraction import MENTIONS, TERMS, reply, statement

TEXT = "Lingyin Temple lies in Hangzhou. Admission is 45 yuan.\n\nIt suits families. Wuzhen is far off."
PRICE = statement(property="ticketPrice", object="45 yuan", quote="Admission is 45 yuan")
PLACE = statement(quote="Lingyin Temple lies in Hangzhou")


@pytest.fixture(scope="module")
def ontology() -> Ontology:
    return read_ontology([quad.triple for quad in parse(TERMS, format=RdfFormat.TURTLE)])


def document(text: str = TEXT, language: str = "en") -> Document:
    return Document(NamedNode("http://x/d"), text, "A temple", "text/plain", "a.txt", "0" * 64, language)


def chunks(text: str = TEXT) -> list[Chunk]:
    cut = text.index("\n\n")
    spans = [(0, cut), (cut + 2, len(text))]
    iri = NamedNode("http://x/d")
    return [
        Chunk(NamedNode(f"http://x/d/{i}"), iri, i, start, end, text[start:end]) for i, (start, end) in enumerate(spans)
    ]


def read(model: ScriptedModel, ontology: Ontology, **asking: int) -> list[Extraction]:
    extractor = ModelExtractor(model, ontology, asking=Asking(**asking))
    return extracted(extractor, chunks(), document(), workers=2)


def whole(model: ScriptedModel, ontology: Ontology, *, language: str = "en", **asking: int) -> Extraction:
    chunk = Chunk(NamedNode("http://x/d/0"), NamedNode("http://x/d"), 0, 0, len(TEXT), TEXT)
    return ModelExtractor(model, ontology, asking=Asking(**asking)).extract(chunk, document(language=language))


def test_a_further_round_adds_what_was_missed_once(ontology: Ontology) -> None:
    model = ScriptedModel(reply(PLACE), reply(PLACE, PRICE, mentions=[]))
    found = whole(model, ontology)
    assert len(found.claims) == 2
    assert [message.role for message in model.conversations[1]] == ["system", "user", "assistant", "user"]
    assert "missed" in model.conversations[1][-1].content
    assert found.usage.calls == 2
    assert found.usage.prompt_tokens > found.usage.completion_tokens > 0


def test_rounds_end_when_one_brings_nothing(ontology: Ontology) -> None:
    model = ScriptedModel(reply(PLACE), reply(mentions=[]))
    assert whole(model, ontology, gleaning=5).usage.calls == 2


def test_without_gleaning_a_reply_that_holds_is_not_asked_about_again(ontology: Ontology) -> None:
    assert whole(ScriptedModel(reply(PLACE)), ontology, gleaning=0).usage.calls == 1


def test_what_is_read_in_nearly_every_sentence_is_not_asked_about_again(ontology: Ontology) -> None:
    families: dict[str, Any] = statement(property="suitableFor", object="families", quote="It suits families")
    third = {"text": "Wuzhen", "class": "Place", "name": "Wuzhen", "aliases": []}
    model = ScriptedModel(reply(PLACE, PRICE, families, mentions=[*MENTIONS, third]))
    assert whole(model, ontology).usage.calls == 1


def test_what_is_refused_is_asked_about_again_however_much_was_read(ontology: Ontology) -> None:
    families: dict[str, Any] = statement(property="suitableFor", object="families", quote="It suits families")
    third = {"text": "Wuzhen", "class": "Place", "name": "Wuzhen", "aliases": []}
    wrong = statement(property="ownedBy", quote="Lingyin Temple lies in Hangzhou")
    model = ScriptedModel(reply(PLACE, PRICE, families, wrong, mentions=[*MENTIONS, third]), reply(mentions=[]))
    assert whole(model, ontology).usage.calls == 2


def test_what_breaks_the_ontology_is_sent_back_once_with_the_reason_and_may_be_mended(ontology: Ontology) -> None:
    person = {"text": "Lingyin Temple", "class": "Person", "name": "Lingyin Temple", "aliases": []}
    model = ScriptedModel(reply(PLACE, mentions=[person, MENTIONS[1]]), reply(PLACE))
    found = whole(model, ontology, gleaning=0)
    assert "'located in' is not said of 'person'" in model.conversations[1][-1].content
    assert [claim.subject.type.value for claim in found.claims] == ["http://example.org/o#Temple"]
    assert found.refused == ()


def test_what_stays_wrong_stays_refused(ontology: Ontology) -> None:
    wrong = PLACE | {"property": "ownedBy"}
    found = whole(ScriptedModel(reply(wrong), reply(wrong)), ontology)
    assert found.claims == ()
    assert [refusal.reason for refusal in found.refused] == ["there is no property 'ownedBy'"]


def test_a_mention_that_a_statement_stands_on_is_not_changed_later(ontology: Ontology) -> None:
    person = {"text": "Lingyin Temple", "class": "Person", "name": "Lingyin Temple", "aliases": []}
    found = whole(ScriptedModel(reply(PLACE), reply(mentions=[person])), ontology)
    assert {mention.type.value for mention in found.mentions} == {
        "http://example.org/o#Temple",
        "http://example.org/o#Place",
    }


def test_a_chinese_document_is_asked_about_in_chinese(ontology: Ontology) -> None:
    model = ScriptedModel(reply(PLACE), reply(mentions=[]))
    whole(model, ontology, language="zh")
    assert "你阅读一段文字" in model.conversations[0][0].content
    assert "还漏了哪些" in model.conversations[1][-1].content


def test_a_reply_that_breaks_off_keeps_its_whole_statements_and_counts_the_rest(ontology: Ontology) -> None:
    cut = reply(PLACE, PRICE)
    cut = cut[: cut.index("Admission") + 4]
    broken = ModelReplyError("cut off", model="scripted", reply=cut)
    found = whole(ScriptedModel(broken, reply(PRICE, mentions=[])), ontology)
    assert len(found.claims) == 2
    assert [refusal.reason for refusal in found.refused] == ["the reply breaks off or is no JSON here"]
    assert found.usage.calls == 2


def test_a_statement_of_several_objects_is_several_statements(ontology: Ontology) -> None:
    third = {"text": "Wuzhen", "class": "Place", "name": "Wuzhen", "aliases": []}
    said = statement(object=["Hangzhou", "Wuzhen"], quote="Lingyin Temple lies in Hangzhou")
    found = whole(ScriptedModel(reply(said, mentions=[*MENTIONS, third])), ontology, gleaning=0)
    assert len(found.claims) == 2


def test_an_unreadable_second_reply_costs_nothing_of_the_first(ontology: Ontology) -> None:
    found = whole(ScriptedModel(reply(PLACE), "prose", "more prose"), ontology)
    assert len(found.claims) == 1
    assert [refusal.text for refusal in found.refused] == ["more prose"]


def test_neighbouring_chunks_are_asked_for_together_and_keep_what_is_theirs(ontology: Ontology) -> None:
    families: dict[str, Any] = statement(property="suitableFor", object="families", quote="It suits families")
    model = ScriptedModel(reply(PLACE, PRICE, families))
    first, second = read(model, ontology, gleaning=0)
    assert len(model.conversations) == 1
    assert [len(first.claims), len(second.claims)] == [2, 1]
    assert [mention.text for mention in first.mentions] == ["Lingyin Temple", "Hangzhou"]
    assert second.mentions == ()
    assert all(TEXT[claim.start : claim.end] in chunks()[1].text for claim in second.claims)
    assert (first.usage.calls, second.usage.calls) == (1, 0)


def test_chunks_beyond_the_room_for_a_passage_are_asked_for_apart(ontology: Ontology) -> None:
    model = ScriptedModel(otherwise=lambda _: reply(mentions=[]))
    found = read(model, ontology, gleaning=0, passage_tokens=15)
    assert len(model.conversations) == 2
    assert usage_of(found).calls == 2


def test_what_a_reply_cost_is_kept_with_the_extraction(ontology: Ontology) -> None:
    found = whole(ScriptedModel(reply(PLACE)), ontology, gleaning=0)
    assert decode(encode(found)).usage.prompt_tokens == found.usage.prompt_tokens
    old = json.loads(encode(found))
    del old["usage"]
    assert decode(json.dumps(old)).usage.calls == 0
