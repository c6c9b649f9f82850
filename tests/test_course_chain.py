"""The sample syllabi give the whole prerequisite chain, read without a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgplatform import packs
from kgplatform.documents.chunking import chunker
from kgplatform.documents.reading import read
from kgplatform.extraction.builtin import BuiltinExtractor
from kgplatform.types import Mention

_ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def extractor() -> BuiltinExtractor:
    return BuiltinExtractor(packs.load(["academic"], folder=_ROOT).ontology)


@pytest.mark.parametrize(
    ("page", "course", "prerequisites"),
    [
        ("sk1120.html", "SK1120", {"SF1624", "SF1625"}),
        ("dt1175.html", "DT1175", {"SK1120"}),
        ("dt2213.html", "DT2213", {"DT1175"}),
    ],
)
def test_each_syllabus_gives_its_prerequisites(
    extractor: BuiltinExtractor, page: str, course: str, prerequisites: set[str]
) -> None:
    (document,) = read(_ROOT / "examples/academic/courses" / page, base="https://example.org/academic/")
    claims = [claim for chunk in chunker()(document) for claim in extractor.extract(chunk, document).claims]
    found = {
        claim.object.name
        for claim in claims
        if claim.subject.name == course
        and claim.predicate.value.endswith("#hasPrerequisite")
        and isinstance(claim.object, Mention)
    }
    assert found == prerequisites
