"""Questions are answered alike whether conclusions are drawn or not, and conclusions rest on passages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode, Triple

from kgplatform import KnowledgeGraph
from kgplatform.dataset import Change
from kgplatform.questions.check import check
from kgplatform.questions.support import supporting
from kgplatform.types import Answer, Evidence, Verdict
from kgplatform.vocab import TYPE

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "examples"
PACKS = ("academic", "travel", "airport")
GOLD: list[dict[str, Any]] = [
    json.loads(line)
    for line in (ROOT / "tests" / "regression" / "examples.jsonl").read_text(encoding="utf-8").splitlines()
]
MORE = {
    "academic": ("How many prerequisites does DT2213 have?", "Which course gives the most credits?"),
    "travel": (
        "What is the average price per night of hotels in Hangzhou?",
        "How many hotels are there?",
        "How many hotels are there in each town?",
        "杭州的酒店平均价格是多少？",
    ),
    "airport": ("How many flights does KLM operate?", "How many flights are there per airline?"),
}
"""What inverses, superclasses and transitive parts would make come out differently if they were counted."""


def _questions(pack: str) -> list[str]:
    lines = (SAMPLES / "questions" / f"{pack}.txt").read_text(encoding="utf-8").splitlines()
    return [*(line.strip() for line in lines if line.strip() and not line.startswith("#")), *MORE[pack]]


def _enable_inference(folder: Path) -> None:
    with (folder / "kgplatform.toml").open("a", encoding="utf-8") as file:
        file.write("\n[inference]\nenabled = true\n")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], tuple[Answer, Answer]]:
    """For every sample pack and question the answers without and with inference."""
    found: dict[tuple[str, str], tuple[Answer, Answer]] = {}
    for pack in PACKS:
        folder = tmp_path_factory.mktemp("packs") / pack
        with KnowledgeGraph.create(folder, ontology=[pack], base=f"https://example.org/{pack}/") as kg:
            list(kg.add(SAMPLES / pack, build=False))
            kg.build("link")
            without = {question: kg.ask(question) for question in _questions(pack)}
        _enable_inference(folder)
        with KnowledgeGraph.open(folder) as kg:
            inferred = kg.build("infer").inferred
            assert inferred is not None
            assert inferred.total > 0
            found |= {(pack, question): (without[question], kg.ask(question)) for question in without}
    return found


@pytest.mark.parametrize(("pack", "question"), [(pack, q) for pack in PACKS for q in _questions(pack)])
def test_answer_is_the_same_with_conclusions(
    answers: dict[tuple[str, str], tuple[Answer, Answer]], pack: str, question: str
) -> None:
    without, with_ = answers[pack, question]
    assert (with_.text, with_.values, with_.verdict) == (without.text, without.values, without.verdict)
    assert with_.confidence == without.confidence
    assert [(e.document, e.start) for e in with_.evidence] == [(e.document, e.start) for e in without.evidence]


@pytest.mark.parametrize("gold", GOLD, ids=lambda gold: gold["question"])
def test_questions_of_the_demo_are_answered_as_the_samples_say(
    answers: dict[tuple[str, str], tuple[Answer, Answer]], gold: dict[str, Any]
) -> None:
    """The answers in ``regression/examples.jsonl`` were read in the samples by hand, not taken from the platform.

    ``given`` is what the platform says where that is not all of it or not in the right words: a gap that is known, and
    whoever closes it takes the line out.
    """
    for answer in answers[gold["pack"], gold["question"]]:
        given = {value.casefold() for value in answer.values} if answer.verdict is Verdict.ANSWERED else set()
        assert given == {value.casefold() for value in gold.get("given", gold["answers"])}, answer.text


def test_every_question_of_the_demo_has_a_gold_answer() -> None:
    asked = {(pack, question) for pack in PACKS for question in _questions(pack) if question not in MORE[pack]}
    assert {(gold["pack"], gold["question"]) for gold in GOLD} == asked


def test_flights_of_an_airline_are_counted_with_conclusions(
    answers: dict[tuple[str, str], tuple[Answer, Answer]],
) -> None:
    for answer in answers["airport", "How many flights does KLM operate?"]:
        assert answer.values == ("1608",)


ONTOLOGY = """
@prefix v: <http://vault/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
v:Artefact a owl:Class ; rdfs:label "artefact"@en .
v:Vase a owl:Class ; rdfs:subClassOf v:Artefact ; rdfs:label "vase"@en .
v:Coin a owl:Class ; rdfs:subClassOf v:Artefact ; rdfs:label "coin"@en .
v:Hall a owl:Class ; rdfs:label "hall"@en .
v:keptIn a owl:ObjectProperty ; rdfs:label "kept in"@en ; owl:inverseOf v:keeps .
v:keeps a owl:ObjectProperty ; rdfs:label "keeps"@en .
v:insured a owl:DatatypeProperty ; rdfs:label "insured value"@en .
"""
STATED = """
@prefix v: <http://vault/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
v:a1 a v:Vase ; rdfs:label "Blue Vase" ; v:keptIn v:h1 ; v:insured 100 .
v:a2 a v:Vase ; rdfs:label "Red Vase" ; v:keptIn v:h1 ; v:insured 400 .
v:a3 a v:Coin, v:Artefact ; rdfs:label "Gold Drachma" ; v:keptIn v:h2 ; v:insured 1300 .
v:a4 a v:Artefact ; rdfs:label "Odd Thing" ; v:keptIn v:h2 ; v:insured 200 .
v:h1 a v:Hall ; rdfs:label "North Hall" . v:h2 a v:Hall ; rdfs:label "South Hall" .
"""


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    """A graph of classes and inverses, its conclusions drawn; one statement comes from a document."""
    (tmp_path / "vault.ttl").write_text(ONTOLOGY, encoding="utf-8")
    (tmp_path / "stated.ttl").write_text(STATED, encoding="utf-8")
    KnowledgeGraph.create(tmp_path / "kg", ontology=str(tmp_path / "vault.ttl"), base="http://kg/").close()
    _enable_inference(tmp_path / "kg")
    with KnowledgeGraph.open(tmp_path / "kg") as kg:
        kg.load(tmp_path / "stated.ttl")
        yield kg


def _vault(name: str) -> NamedNode:
    return NamedNode(f"http://vault/{name}")


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("How many artefacts are there?", {"4"}),
        ("What is the average insured value of artefacts?", {"500"}),
        ("Which artefacts are kept in North Hall?", {"Blue Vase", "Red Vase"}),
        ("What is the total insured value of the vases?", {"500"}),
    ],
)
def test_superclasses_count_a_thing_once(vault: KnowledgeGraph, question: str, values: set[str]) -> None:
    assert vault.store.has(Triple(_vault("a1"), TYPE, _vault("Artefact"))), "the conclusion is drawn"
    assert set(vault.ask(question).values) == values


def test_schema_counts_what_is_stated(vault: KnowledgeGraph) -> None:
    assert vault.store.has(Triple(_vault("h1"), _vault("keeps"), _vault("a1")))
    assert _vault("keeps") not in vault.schema.properties
    assert vault.schema.classes[_vault("Artefact")].count == 2
    assert vault.schema.count(_vault("Vase")) == 2


def test_a_statement_counts_once_it_is_stated_though_it_was_concluded_before(vault: KnowledgeGraph) -> None:
    concluded = Triple(_vault("h1"), _vault("keeps"), _vault("a1"))
    vault.dataset.commit(Change(added={NamedNode("http://kg/graph/table/t"): [concluded]}))
    assert _vault("keeps") in vault.schema.properties, "before inference runs again"
    vault.build("infer")
    assert vault.schema.properties[_vault("keeps")].count == 1


def test_check_knows_what_occurs_in_conclusions_only(vault: KnowledgeGraph) -> None:
    names = vault._knowledge().names
    assert not check("SELECT ?x { ?h <http://vault/keeps> ?x }", names)
    (issue,) = check("SELECT ?x { ?h <http://vault/keepz> ?x }", names)
    assert "keepz" in issue.message


def _note(number: int) -> NamedNode:
    return NamedNode(f"http://kg/document/notes/chunk/{number}")


def test_passages_of_a_conclusion_are_those_it_follows_from(tmp_path: Path) -> None:
    ontology = ONTOLOGY.replace("owl:inverseOf v:keeps", "a owl:TransitiveProperty")
    (tmp_path / "vault.ttl").write_text(ontology, encoding="utf-8")
    KnowledgeGraph.create(tmp_path / "kg", ontology=str(tmp_path / "vault.ttl"), base="http://kg/").close()
    _enable_inference(tmp_path / "kg")
    vase, cabinet, hall = _vault("vase"), _vault("cabinet"), _vault("hall")
    with KnowledgeGraph.open(tmp_path / "kg") as kg:
        first = Triple(vase, _vault("keptIn"), cabinet)
        second = Triple(cabinet, _vault("keptIn"), hall)
        kg.dataset.commit(Change(added={_note(1): [first], _note(2): [second]}))
        kg.build("infer")
        assert kg.store.has(Triple(vase, _vault("keptIn"), hall))

        def find(triple: Triple, graph: NamedNode) -> Evidence | None:
            quotes = {_note(1): "The vase is in the cabinet.", _note(2): "The cabinet stands in the hall."}
            document, text = NamedNode("http://kg/document/notes"), quotes.get(graph, "")
            place = int(graph.value[-1]) if text else 0
            return Evidence(graph, document, "Notes", "n.txt", text, place, place + 1) if text else None

        found = supporting(
            f"ASK {{ {vase} {_vault('keptIn')} {hall} }}",
            kg.dataset,
            run=kg.query,
            find=find,
            why=kg.inference.why,
        )
    assert {passage.quote for passage in found} == {"The vase is in the cabinet.", "The cabinet stands in the hall."}
