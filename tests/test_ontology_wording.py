"""A model's words for a drafted ontology: what of its reply is used, and that the structure stays."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyoxigraph import NamedNode

from kgplatform import packs
from kgplatform.errors import ModelReplyError, ModelUnavailableError
from kgplatform.ontologies.draft import Draft, DraftedClass, DraftedProperty, as_turtle
from kgplatform.ontologies.issues import Grade
from kgplatform.ontologies.profile import Profile
from kgplatform.ontologies.structure import structural
from kgplatform.ontologies.wording import worded
from kgplatform.ontology import Ontology
from kgplatform.testing import ScriptedModel
from kgplatform.vocab import XSD_DECIMAL, XSD_STRING

NS = "https://example.org/ontology/htl#"


def iri(name: str) -> NamedNode:
    return NamedNode(NS + name)


def profile(datatype: NamedNode, *examples: str) -> Profile:
    return Profile(datatype=datatype, count=3, distinct=3, examples=examples)


@pytest.fixture
def draft() -> Draft:
    return Draft(
        NamedNode(NS.rstrip("#")),
        "htl.csv",
        (DraftedClass(iri("Htl"), "htl", 3, key=(iri("cd"),), examples=("Grand\nHotel",)),),
        (
            DraftedProperty(
                iri("ppn"), "ppn", (iri("Htl"),), 3, profile=profile(XSD_DECIMAL, "120.50"), functional=True
            ),
            DraftedProperty(iri("cd"), "cd", (iri("Htl"),), 3, profile=profile(XSD_STRING, "H1"), functional=True),
        ),
    )


def term(id_: str, name: str, en: str, zh: str, *, comment: str = "", comment_zh: str = "") -> dict[str, str]:
    return {"id": id_, "name": name, "label_en": en, "label_zh": zh, "comment_en": comment, "comment_zh": comment_zh}


GOOD = [
    term("Htl", "Hotel", "hotel", "酒店", comment="A place to sleep.", comment_zh="住宿的地方。"),
    term("ppn", "pricePerNight", "price per night", "每晚价格", comment="In euros.", comment_zh="以欧元计。"),
    term("cd", "code", "code", "代码"),
]


def read(draft: Draft, folder: Path) -> Ontology:
    (folder / "draft.ttl").write_bytes(as_turtle(draft))
    loaded = packs.load(["draft.ttl"], folder=folder)
    assert [i for i in structural(loaded.ontology, loaded.triples) if i.grade is Grade.ERROR] == []
    return loaded.ontology


def reply(*terms: dict[str, str]) -> str:
    return json.dumps({"terms": terms}, ensure_ascii=False)


def test_a_draft_gets_names_labels_and_comments_in_both_languages(draft: Draft, tmp_path: Path) -> None:
    model = ScriptedModel(reply(*GOOD))
    ontology = read(worded(draft, model), tmp_path)
    hotel = ontology.classes[iri("Hotel")]
    assert {(w.text, w.language) for w in hotel.words} == {("hotel", "en"), ("酒店", "zh"), ("htl", "en")}
    assert [w.text for w in hotel.words[:2]] != ["htl"]
    assert {"A place to sleep.", "住宿的地方。"} <= {word.text for word in hotel.comments}
    price = ontology.properties[iri("pricePerNight")]
    assert (price.domains, price.ranges, price.functional) == ((iri("Hotel"),), (XSD_DECIMAL,), True)
    assert ("ppn", "en") in {(w.text, w.language) for w in price.words}
    assert hotel.key == (iri("code"),)
    sent = model.conversations[0][-1].content
    assert "- ppn: ppn; htl; decimal; 120.50" in sent
    assert "Grand Hotel" in sent


def test_what_the_model_invents_or_says_in_the_wrong_language_is_left_aside(draft: Draft, tmp_path: Path) -> None:
    bad = [
        term("Htl", "hotel", "酒店", "hotel"),
        term("ppn", "price per night", "price", "价格\x07", comment="x" * 400),
        term("Unknown", "Room", "room", "房间"),
        {"id": "cd"},
    ]
    found = worded(draft, ScriptedModel(reply(*bad)))
    assert [item.iri for item in (*found.classes, *found.properties)] == [iri("Htl"), iri("ppn"), iri("cd")]
    ontology = read(found, tmp_path)
    assert len(ontology.classes) == 1
    assert len(ontology.properties) == 2
    assert [w.text for w in ontology.classes[iri("Htl")].words] == ["htl"]
    assert {w.text for w in ontology.properties[iri("ppn")].words} == {"price", "ppn"}
    assert any("nothing of use for Htl, cd" in remark for remark in found.remarks)


def test_terms_of_data_keep_their_iris_and_a_name_is_given_once(draft: Draft) -> None:
    from_data = replace(draft, is_from_data=True)
    kept = worded(from_data, ScriptedModel(reply(*GOOD)))
    assert [term.iri for term in kept.properties] == [iri("ppn"), iri("cd")]
    assert kept.labels[iri("ppn")][0].value == "price per night"
    same = [term("ppn", "value", "value", "值"), term("cd", "value", "worth", "价值")]
    found = worded(draft, ScriptedModel(reply(*same)))
    assert [term.iri for term in found.properties] == [iri("value"), iri("cd")]


def test_a_reply_of_no_use_leaves_the_draft_and_says_so(draft: Draft, tmp_path: Path) -> None:
    for text in ("{}", '{"terms": "none"}', "no JSON"):
        found = worded(draft, ScriptedModel(text))
        assert found.classes == draft.classes
        assert any("cannot be used" in remark for remark in found.remarks)
        assert read(found, tmp_path)
    failing = ScriptedModel(ModelReplyError("empty", model="m", reply=""))
    assert worded(draft, failing).classes == draft.classes
    with pytest.raises(ModelUnavailableError):
        worded(draft, ScriptedModel())


def test_many_terms_are_asked_for_in_parts(draft: Draft) -> None:
    many = [replace(draft.properties[0], iri=iri(f"p{n}"), label=f"p{n}") for n in range(60)]
    model = ScriptedModel(otherwise=lambda messages: reply())
    worded(replace(draft, properties=tuple(many)), model)
    assert len(model.conversations) == 3
    assert all("htl" in conversation[-1].content for conversation in model.conversations)


def test_without_a_model_in_the_settings_the_option_says_which_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from kgplatform.cli.main import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("code,price\nA,1\nB,2\n")
    assert main(["ontology", "draft", "a.csv", "--model"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "KGPLATFORM_MODEL" in captured.err
    assert captured.err.count("\n") == 1
