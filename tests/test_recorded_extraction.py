"""What a language model wrote when the real extraction prompt was run on two of the sample notes, read again.

The recording holds passage and completion, so that a better prompt does not make it worthless; a chunker that cuts
elsewhere does, and then it has to be recorded anew.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from kgplatform import packs
from kgplatform.documents.chunking import chunker
from kgplatform.documents.reading import read
from kgplatform.extraction.model import ModelExtractor
from kgplatform.protocols import Message
from kgplatform.testing import ScriptedModel
from kgplatform.types import Document, Extraction, Mention

_ROOT = Path(__file__).resolve().parent.parent
_RECORDING = json.loads((_ROOT / "tests/data/recordings/extraction.json").read_text(encoding="utf-8"))
_NOTES = ("xitang-after-dark.txt", "zhouzhuang-sheying.md")


def _recorded(messages: Sequence[Message]) -> str:
    prompt = messages[-1].content
    return next(entry["completion"] for entry in _RECORDING if f"<passage>\n{entry['passage']}\n</passage>" in prompt)


@pytest.fixture(scope="module", params=_NOTES)
def read_note(request: pytest.FixtureRequest) -> tuple[Document, list[Extraction]]:
    (document,) = read(_ROOT / "examples/travel" / request.param, base="https://example.org/travel/")
    ontology = packs.load(["travel"], folder=_ROOT).ontology
    extractor = ModelExtractor(ScriptedModel(otherwise=_recorded), ontology)
    return document, [extractor.extract(chunk, document) for chunk in chunker()(document)]


def test_most_of_what_the_model_wrote_is_accepted(read_note: tuple[Document, list[Extraction]]) -> None:
    _, extractions = read_note
    claims = sum(len(extraction.claims) for extraction in extractions)
    refused = sum(len(extraction.refused) for extraction in extractions)
    assert claims >= 20
    assert refused <= claims / 10


def test_every_accepted_claim_keeps_the_ontology_and_has_its_quote(
    read_note: tuple[Document, list[Extraction]],
) -> None:
    document, extractions = read_note
    ontology = packs.load(["travel"], folder=_ROOT).ontology
    for extraction in extractions:
        for claim in extraction.claims:
            term = ontology.properties[claim.predicate]
            assert ontology.fits(claim.subject.type, term.domains)
            assert not isinstance(claim.object, Mention) or ontology.fits(claim.object.type, term.ranges)
            assert document.text[claim.start : claim.end].strip()
            assert document.text[claim.subject.start : claim.subject.end] == claim.subject.text
