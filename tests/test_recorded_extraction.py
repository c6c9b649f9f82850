"""What a language model wrote when the real prompts were run on sample documents of three kinds, read again.

A recording holds the passage and the replies to it, first and after "what was missed?", so that a better prompt
does not make it worthless; a chunker that cuts elsewhere does, and then it has to be recorded anew.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from kgplatform import packs
from kgplatform.building.extracting import extracted, usage_of
from kgplatform.documents.chunking import chunker
from kgplatform.documents.reading import read
from kgplatform.extraction.model import ModelExtractor
from kgplatform.ontology import Ontology
from kgplatform.protocols import Message
from kgplatform.testing import ScriptedModel
from kgplatform.types import Chunk, Claim, Document, Extraction, Mention

_ROOT = Path(__file__).resolve().parent.parent
_RECORDING = json.loads((_ROOT / "tests/data/recordings/extraction.json").read_text(encoding="utf-8"))
_DOCUMENTS = {
    "travel/xitang-after-dark.txt": "travel",
    "travel/zhouzhuang-sheying.md": "travel",
    "academic/papers/ctc.md": "academic",
}


def _recorded(messages: Sequence[Message]) -> str:
    asked = messages[1].content
    found = next(entry for entry in _RECORDING if f"<passage>\n{entry['passage']}\n</passage>" in asked)
    return str(found["completions"][sum(message.role == "assistant" for message in messages)])


class Reading:
    """A sample document with what was read in it."""

    def __init__(self, name: str) -> None:
        (self.document,) = read(_ROOT / "examples" / name, base="https://example.org/kg/")
        self.ontology: Ontology = packs.load([_DOCUMENTS[name]], folder=_ROOT).ontology
        self.model = ScriptedModel(otherwise=_recorded)
        self.chunks: list[Chunk] = chunker()(self.document)
        extractor = ModelExtractor(self.model, self.ontology)
        self.extractions: list[Extraction] = extracted(extractor, self.chunks, self.document, workers=2)

    @property
    def claims(self) -> list[Claim]:
        return [claim for extraction in self.extractions for claim in extraction.claims]


@pytest.fixture(scope="module", params=_DOCUMENTS)
def reading(request: pytest.FixtureRequest) -> Reading:
    return Reading(request.param)


def test_most_of_what_the_model_wrote_is_accepted(reading: Reading) -> None:
    refused = sum(len(extraction.refused) for extraction in reading.extractions)
    assert len(reading.claims) >= 20
    assert refused <= len(reading.claims) / 10


def test_every_accepted_claim_keeps_the_ontology_and_has_its_quote(reading: Reading) -> None:
    document: Document = reading.document
    for claim in reading.claims:
        term = reading.ontology.properties[claim.predicate]
        assert reading.ontology.fits(claim.subject.type, term.domains)
        assert not isinstance(claim.object, Mention) or reading.ontology.fits(claim.object.type, term.ranges)
        assert document.text[claim.start : claim.end].strip()
        assert document.text[claim.subject.start : claim.subject.end] == claim.subject.text


def test_what_was_found_lies_in_the_chunk_it_was_found_in(reading: Reading) -> None:
    for chunk, extraction in zip(reading.chunks, reading.extractions, strict=True):
        assert extraction.chunk == chunk.iri
        for claim in extraction.claims:
            assert chunk.start <= claim.start < claim.end <= chunk.end
    assert sum(bool(extraction.claims) for extraction in reading.extractions) >= 2


def test_a_document_of_several_chunks_is_asked_for_in_two_requests(reading: Reading) -> None:
    assert len(reading.chunks) >= 3
    assert len(reading.model.conversations) == 2
    assert usage_of(reading.extractions).calls == 2


def test_the_prompt_is_in_the_language_of_the_document(reading: Reading) -> None:
    system = reading.model.conversations[0][0].content
    assert ("你阅读一段文字" in system) == (reading.document.language == "zh")
    assert any(extraction.keywords for extraction in reading.extractions)
