"""Questions are answered alike whether conclusions are drawn or not, and conclusions rest on passages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, Triple

from kgplatform.graph import KnowledgeGraph
from kgplatform.questions.check import check, supporting
from kgplatform.store.dataset import Change
from kgplatform.types import Evidence, Verdict
from kgplatform.vocab import TYPE

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "examples"
PACKS = ("academic", "travel", "airport")
GOLD = [json.loads(line) for line in (ROOT / "tests/regression/examples.jsonl").read_text("utf-8").splitlines()]
MORE = {
    "academic": ("How many prerequisites does DT2213 have?", "Which course gives the most credits?"),
    "travel": ("How many hotels are there?", "How many hotels are there in each town?", "杭州的酒店平均价格是多少？"),
    "airport": ("How many flights does KLM operate?", "How many flights are there per airline?"),
}  # what inverses, superclasses and transitive parts would make come out differently if they were counted


def _questions(pack):
    lines = (SAMPLES / "questions" / f"{pack}.txt").read_text(encoding="utf-8").splitlines()
    return [*(line.strip() for line in lines if line.strip() and not line.startswith("#")), *MORE[pack]]


def _enable_inference(folder):
    with (folder / "kgplatform.toml").open("a", encoding="utf-8") as file:
        file.write("\n[inference]\nenabled = true\n")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """For every sample pack and question the answers without and with inference."""
    found = {}
    for pack in PACKS:
        folder = tmp_path_factory.mktemp("packs") / pack
        with KnowledgeGraph.create(folder, ontology=[pack], base=f"https://example.org/{pack}/") as kg:
            list(kg.add(SAMPLES / pack, build=False))
            kg.build("link")
            without = {question: kg.ask(question) for question in _questions(pack)}
        _enable_inference(folder)
        with KnowledgeGraph.open(folder) as kg:
            inferred = kg.build("infer").inferred
            assert inferred.total > 0
            found |= {(pack, question): (without[question], kg.ask(question)) for question in without}
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("pack", "question"), [(pack, q) for pack in PACKS for q in _questions(pack)])
def test_answer_is_the_same_with_conclusions(answers, pack, question):
    without, with_ = answers[pack, question]
    for part in ("text", "values", "verdict"):
        assert getattr(with_, part) == getattr(without, part)
    if without.verdict is Verdict.ANSWERED:  # how sure a reading was that is not given is another matter
        assert with_.confidence == without.confidence
    assert [(e.document, e.start) for e in with_.evidence] == [(e.document, e.start) for e in without.evidence]
    if question == "How many flights does KLM operate?":
        assert with_.values == ("1608",)


@pytest.mark.slow
@pytest.mark.parametrize("gold", GOLD, ids=lambda gold: gold["question"])
def test_questions_of_the_demo_are_answered_as_the_samples_say(answers, gold):
    """The answers in ``regression/examples.jsonl`` were read in the samples by hand, not taken from the platform.

    ``given`` is what the platform says where that is not all of it or not in the right words: a gap that is known, and
    whoever closes it takes the line out.
    """
    for answer in answers[gold["pack"], gold["question"]]:
        given = {value.casefold() for value in answer.values} if answer.verdict is Verdict.ANSWERED else set()
        assert given == {value.casefold() for value in gold.get("given", gold["answers"])}, answer.text


def test_every_question_of_the_demo_has_a_gold_answer():
    asked = {(pack, question) for pack in PACKS for question in _questions(pack) if question not in MORE[pack]}
    assert {(gold["pack"], gold["question"]) for gold in GOLD} == asked


ONTOLOGY = """
@prefix v: <http://vault/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
v:Artefact a owl:Class ; rdfs:label "artefact"@en .
v:Vase a owl:Class ; rdfs:subClassOf v:Artefact ; rdfs:label "vase"@en .
v:Coin a owl:Class ; rdfs:subClassOf v:Artefact ; rdfs:label "coin"@en .
v:Hall a owl:Class ; rdfs:label "hall"@en .
v:keptIn a owl:ObjectProperty ; rdfs:label "kept in"@en ; owl:inverseOf v:keeps .
v:keeps a owl:ObjectProperty ; rdfs:label "keeps"@en .
v:inside a owl:ObjectProperty, owl:TransitiveProperty ; rdfs:label "inside"@en .
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


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    """A graph of classes and inverses, its conclusions drawn."""
    folder = tmp_path_factory.mktemp("vault")
    (folder / "vault.ttl").write_text(ONTOLOGY, encoding="utf-8")
    (folder / "stated.ttl").write_text(STATED, encoding="utf-8")
    KnowledgeGraph.create(folder / "kg", ontology=str(folder / "vault.ttl"), base="http://kg/").close()
    _enable_inference(folder / "kg")
    with KnowledgeGraph.open(folder / "kg") as kg:
        kg.load(folder / "stated.ttl")
        yield kg


def _vault(name):
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
def test_superclasses_count_a_thing_once(vault, question, values):
    assert vault.store.has(Triple(_vault("a1"), TYPE, _vault("Artefact"))), "the conclusion is drawn"
    assert set(vault.ask(question).values) == values


def test_the_schema_counts_what_is_stated_and_the_check_knows_conclusions_too(vault):
    concluded, schema = Triple(_vault("h1"), _vault("keeps"), _vault("a1")), vault.knowledge.schema
    assert vault.store.has(concluded)
    assert _vault("keeps") not in schema.properties
    assert (schema.classes[_vault("Artefact")].count, schema.count(_vault("Vase"))) == (2, 2)
    assert not check("SELECT ?x { ?h <http://vault/keeps> ?x }", vault.knowledge.names)
    (issue,) = check("SELECT ?x { ?h <http://vault/keepz> ?x }", vault.knowledge.names)
    assert "keepz" in issue.message
    vault.dataset.commit(Change(added={NamedNode("http://kg/graph/table/t"): [concluded]}))
    assert _vault("keeps") in vault.knowledge.schema.properties, "before inference runs again"
    vault.build("infer")
    assert vault.knowledge.schema.properties[_vault("keeps")].count == 1


def test_passages_of_a_conclusion_are_those_it_follows_from(vault):
    urn, cabinet, hall, inside = map(_vault, ("urn", "cabinet", "h2", "inside"))
    notes = [NamedNode(f"http://kg/document/notes/chunk/{number}") for number in range(2)]
    quotes = dict(zip(notes, ("The urn is in the cabinet.", "The cabinet stands in the hall."), strict=True))
    read = {notes[0]: [Triple(urn, inside, cabinet)], notes[1]: [Triple(cabinet, inside, hall)]}
    vault.dataset.commit(Change(added=read))
    vault.build("infer")
    assert vault.store.has(Triple(urn, inside, hall))

    def find(triple, graph):
        place = int(graph.value[-1])
        return quotes.get(graph) and Evidence(graph, notes[0], "Notes", "n.txt", quotes[graph], place, place + 1)

    query = f"ASK {{ {urn} {inside} {hall} }}"
    found = supporting(query, vault.dataset, run=vault.query, find=find, why=vault.inference.why).passages
    assert {passage.quote for passage in found} == set(quotes.values())
