"""The texts that reading is measured on hold together: what is annotated stands in them, in terms that ship."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.reading import DATA, judged, ontology_of, rows_of
from kgplatform.extraction.learnt.examples import TermNames
from kgplatform.ontology.packs import load


@pytest.mark.parametrize("name", ["own.jsonl", "train.jsonl", *(f"train{n}.jsonl" for n in range(3, 10))])
def test_annotated_statements_are_in_terms_of_the_ontologies_and_of_the_text(name: str) -> None:
    packs = {row["ontology"] for row in rows_of(name)}
    terms = {pack: TermNames(load([ontology_of(pack)], folder=Path()).ontology) for pack in packs}
    for row in rows_of(name):
        for subject, predicate, _ in (*row["triples"], *row.get("second", ())):
            assert terms[row["ontology"]].property(predicate) is not None, (row["id"], predicate)
            assert any(form in row["text"] for form in (subject, *row["also"].get(subject, ()))), (row["id"], subject)
        for thing, class_ in row["names"]:
            assert thing in row["text"], (row["id"], thing)
            assert terms[row["ontology"]].class_(class_) is not None, (row["id"], class_)


def test_names_stand_in_their_sentences() -> None:
    rows = rows_of("names.zh.jsonl")
    assert sum(len(row["names"]) for row in rows) >= 300
    assert all(name in row["text"] for row in rows for name, _ in row["names"])


def test_forty_questions_on_twelve_notes() -> None:
    assert len(list((DATA / "strangers").glob("*/*.*"))) == 12
    assert len(rows_of("questions.jsonl")) == 40


def test_a_number_is_said_as_a_whole() -> None:
    assert judged(["5"], "answered", ["15 yuan"]) == "wrong"
    assert judged(["5"], "answered", ["It has 5 stars."]) == "right"
    assert judged(None, "answered", ["5"]) == "invented"
