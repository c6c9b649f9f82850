"""A further language is its data files: German questions, read with a small lexicon and nothing in code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, Triple

from benchmarks.question_sets import EMBEDDER
from kgplatform import KnowledgeGraph, lexicon
from kgplatform.evaluation.gold import ask_all, read_gold
from kgplatform.ontology.schema import read_ontology
from kgplatform.questions.answer import QuestionParts, ask, knowledge
from kgplatform.questions.forms.question_language import in_english, language_of_question, languages
from kgplatform.questions.forms.question_text import Names, read
from kgplatform.store.dataset import EvidenceDataset, quad
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store, parse
from kgplatform.text import has_han
from kgplatform.types import Verdict

ROOT = Path(__file__).resolve().parents[1]
SETS = ROOT / "tests" / "data" / "german"
ONTOLOGY = """
@prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:C1 a owl:Class ; rdfs:label "Fähre"@de . :C2 a owl:Class ; rdfs:label "Hafen"@de .
:p1 a owl:DatatypeProperty ; rdfs:label "Tiefgang"@de ; rdfs:domain :C1 ; rdfs:range xsd:decimal .
:p2 a owl:ObjectProperty ; rdfs:label "Heimathafen"@de ; rdfs:domain :C1 ; rdfs:range :C2 .
"""
GRAPH = """
@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:h1 a :C2 ; rdfs:label "Büsum"@de . :h2 a :C2 ; rdfs:label "Dagebüll"@de .
:f1 a :C1 ; rdfs:label "Schwarze Lerche"@de ; :p1 2.4 ; :p2 :h1 .
:f2 a :C1 ; rdfs:label "Graue Möwe"@de ; :p1 1.5 ; :p2 :h2 .
:f3 a :C1 ; rdfs:label "Alter Schwan"@de ; :p1 3.1 ; :p2 :h1 .
"""


def parts_of(ontology: str, graph: str) -> QuestionParts:
    def triples(text: str) -> list[Triple]:
        return [item.triple for item in parse(text.encode(), RdfFormat.TURTLE)]

    store = Store.open()
    store.apply(added=[quad(triple, DEFAULT_GRAPH) for text in (ontology, graph) for triple in triples(text)])
    dataset, schema = EvidenceDataset(store, "http://kg/"), read_ontology(triples(ontology))
    return QuestionParts(
        dataset,
        schema,
        knowledge(dataset, schema),
        run=lambda text: store.query(text, max_rows=100),
        find=lambda _text, _graph: None,
        embedder=lambda: EMBEDDER,
    )


@pytest.mark.embedding
@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Welchen Tiefgang hat die Graue Möwe?", ["1.5"]),
        ("Was ist der Heimathafen der Fähre Graue Möwe?", ["Dagebüll"]),
        ("Wie viele Fähren gibt es?", ["3"]),
        ("Welche Häfen gibt es?", ["Büsum", "Dagebüll"]),
    ],
)
def test_labels_in_the_language_are_its_names(question, said):
    answer = ask(question, parts=parts_of(ONTOLOGY, GRAPH))
    assert answer.question.language == "de"
    assert answer.verdict is Verdict.ANSWERED
    assert all(word in answer.text for word in said), answer.text


def test_the_language_is_told_by_closed_classes_and_not_by_names():
    told = {
        "en": ["Who directed Das Boot?", "Die Hard rating?", "Which hotels are in Wuzhen?", "", "Hotels in Wuzhen?"],
        "de": ["Wer hat Attention Is All You Need geschrieben?", "Welche Gerichte serviert Lou Wai Lou?"],
        "zh": ["谁写了Attention Is All You Need？", "乌镇有哪些酒店?"],
    }  # fmt: skip
    assert {code: {language_of_question(text) for text in texts} for code, texts in told.items()} == {
        code: {code} for code in told
    }


def test_numbers_days_and_times_are_read_as_the_language_writes_them():
    forms = parts_of(ONTOLOGY, GRAPH).knowledge.forms
    assert forms is not None
    names: Names = forms.names

    def quantities(text: str) -> list[tuple[str, object]]:
        return [(q.kind, q.text or q.value) for q in read(text, "de", names).quantities]

    assert quantities("mehr als 1.800 Euro, höchstens 2,5 Meter") == [("number", 1800.0), ("number", 2.5)]
    assert quantities("am 3. März 2024 um 14:30 Uhr") == [("date", "2024-03-03"), ("time", 52200)]
    assert quantities("vor dem 24.12.2021") == [("date", "2021-12-24")]
    assert quantities("zwei Millionen und zwölf") == [("number", 2_000_000.0), ("number", 12.0)]


def test_glosses_reach_inflected_and_compound_words():
    assert in_english("Wie viele Brücken gibt es?", "de") == "how many bridge are there ?"
    assert in_english("Zimmerpreise", "de") == "room price"
    assert in_english("fünf Sterne", "de") == "5 star"
    assert in_english("Quastenflosser", "de") == "Quastenflosser"


def test_every_language_of_questions_has_the_lists_that_code_counts_on():
    assert lexicon.question_languages()[:2] == lexicon.LANGUAGES
    for code, language in languages().items():
        assert {name for name, _ in language.cues} >= {name for name, _ in languages()["en"].cues}, code
        for name, lengths in {"months": (0, 12), "months_short": (0, 12), "ordinals": (0, 12), "tens": (0, 28)}.items():
            assert len(language.words(name)) in lengths, (code, name)
        assert language.learnt in lexicon.LANGUAGES


def test_no_word_of_a_language_is_in_what_reads_the_text_of_questions():
    for name in ("question_text", "question_language"):
        tree = ast.parse((ROOT / "kgplatform" / "questions" / "forms" / f"{name}.py").read_text(encoding="utf-8"))
        documented = {
            ast.get_docstring(node, clean=False)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        }
        strings = {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        assert {text for text in strings - documented if has_han(text)} == set()


@pytest.mark.slow
@pytest.mark.embedding
def test_twenty_german_questions_on_the_travel_sample(tmp_path):
    with KnowledgeGraph.create(tmp_path / "wuzhen", ontology="travel") as kg:
        assert not [item.error for item in kg.add(ROOT / "examples" / "travel") if item.error]
        found = list(
            ask_all(
                read_gold(SETS / "travel.jsonl").questions,
                ask=kg.ask,
                query=lambda text: kg.query(text, max_rows=1000),
                label_of=kg.label,
            )
        )
    assert len(found) == 20
    assert [item.gold.text for item in found if item.score.exact != 1] == []
    assert {item.answer.question.language for item in found} == {"de"}
