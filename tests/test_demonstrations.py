"""Annotated examples in a prompt: which are the nearest, and how they are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, RdfFormat, parse

from kgplatform.extraction.demonstrations import Demonstrations
from kgplatform.extraction.learning.examples import read_examples
from kgplatform.extraction.model import Asking, ModelExtractor
from kgplatform.ontology import Ontology, read_ontology
from kgplatform.testing import HashEmbedder, ScriptedModel
from kgplatform.types import Chunk, Document
from tests.test_model_extraction import TERMS

EXAMPLES = [
    ("Wuzhen lies in Tongxiang.", [["Wuzhen", "locatedIn", "Tongxiang"]]),
    ("The ticket to the pagoda costs 30 yuan.", [["pagoda", "http://example.org/o#ticketPrice", "30"]]),
    ("Entry to the temple garden costs 20 yuan a head.", [["temple garden", "ticket price", "20"]]),
    ("乌镇位于桐乡。", [["乌镇", "位于", "桐乡"]]),
    ("雷峰塔门票四十元。", [["雷峰塔", "ticketPrice", "40"]]),
    ("周庄在昆山。", [["周庄", "locatedIn", "昆山"]]),
]


@pytest.fixture(scope="module")
def ontology() -> Ontology:
    return read_ontology([quad.triple for quad in parse(TERMS, format=RdfFormat.TURTLE)])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "examples.jsonl"
    lines = [json.dumps({"text": text, "triples": triples}, ensure_ascii=False) for text, triples in EXAMPLES]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def asked(text: str, shown: Demonstrations, ontology: Ontology, **asking: int) -> str:
    """The system prompt for a text."""
    document = Document(NamedNode("http://x/d"), text, "", "text/plain", "a.txt", "0" * 64, "en")
    model = ScriptedModel('{"statements": []}')
    extractor = ModelExtractor(model, ontology, asking=Asking(gleaning=0, **asking), demonstrations=shown)
    extractor.extract(Chunk(NamedNode("http://x/d/0"), document.iri, 0, 0, len(text), text), document)
    return model.conversations[0][0].content


@pytest.mark.parametrize("embedder", [None, HashEmbedder()])
def test_the_nearest_examples_stand_last(file: Path, ontology: Ontology, embedder: HashEmbedder | None) -> None:
    shown = Demonstrations(read_examples(file, ontology).examples, embedder=embedder)
    near = shown.nearest("Entry to the temple costs 45 yuan.", 2)
    assert [example.text for example in near] == [EXAMPLES[1][0], EXAMPLES[2][0]]


def test_a_chinese_text_gets_chinese_examples_found_by_their_words(file: Path, ontology: Ontology) -> None:
    embedder = HashEmbedder()
    embedder.languages = frozenset({"en"})
    shown = Demonstrations(read_examples(file, ontology).examples, embedder=embedder)
    near = shown.nearest("西塘位于嘉善。", 1)
    assert [example.text for example in near] == ["乌镇位于桐乡。"]


def test_examples_are_shown_in_the_names_that_the_prompt_uses(file: Path, ontology: Ontology) -> None:
    shown = Demonstrations(read_examples(file, ontology).examples)
    prompt = asked("Entry to the temple costs 45 yuan.", shown, ontology, demonstrations=1)
    assert "Text: Entry to the temple garden costs 20 yuan a head.\n- temple garden | ticketPrice | 20" in prompt
    assert "Wuzhen lies" not in prompt


def test_without_examples_the_prompt_says_nothing_of_them(file: Path, ontology: Ontology) -> None:
    assert "Other texts" not in asked("A text.", Demonstrations(()), ontology)
    shown = Demonstrations(read_examples(file, ontology).examples)
    assert "Other texts" not in asked("A text.", shown, ontology, demonstrations=0)
