"""A new version of the ontology in a workspace: what moves, what is left, and that a crash leaves nothing half done."""

import json
import shutil
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform import settings as config
from kgplatform.cli.graph_verbs import print_renewal
from kgplatform.cli.main import main
from kgplatform.documents.records import TableEntry
from kgplatform.errors import OntologyError
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder
from kgplatform.ontology import packs
from kgplatform.reasoning.ontology_change import succession
from kgplatform.types import Claim, Extraction, Mention
from kgplatform.vocab import DCTERMS, TYPE, XSD_DECIMAL
from kgplatform.workspace import creation as renewing
from kgplatform.workspace.creation import Renewing
from kgplatform.workspace.workspace import Workspace

NS = "https://example.org/rocks#"
HEAD = (
    "@prefix : <https://example.org/rocks#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
    "@prefix dcterms: <http://purl.org/dc/terms/> .\n<https://example.org/rocks> a owl:Ontology .\n"
)
ONE = HEAD + (
    ':Stone a owl:Class ; rdfs:label "stone"@en, "石头"@zh .\n'
    ':Place a owl:Class ; rdfs:label "place"@en, "地点"@zh .\n'
    ':foundIn a owl:ObjectProperty ; rdfs:label "found in"@en, "产于"@zh ; rdfs:domain :Stone ; rdfs:range :Place .\n'
    ':hard a owl:DatatypeProperty ; rdfs:label "hard"@en, "硬度"@zh ; rdfs:domain :Stone ; rdfs:range xsd:decimal .\n'
    ':colour a owl:DatatypeProperty ; rdfs:label "colour"@en, "颜色"@zh ; rdfs:domain :Stone ;'
    " rdfs:range xsd:string .\n"
)
TWO = HEAD + (
    ':Mineral a owl:Class ; rdfs:label "mineral"@en, "矿物"@zh .\n'
    ":Stone owl:deprecated true ; dcterms:isReplacedBy :Mineral .\n"
    ':Place a owl:Class ; rdfs:label "place"@en, "地点"@zh .\n'
    ':locality a owl:ObjectProperty ; rdfs:label "locality"@en, "产地"@zh ; rdfs:domain :Mineral ;'
    " rdfs:range :Place ;\n"
    "  owl:equivalentProperty :foundIn .\n"
    ':hardness a owl:DatatypeProperty ; rdfs:label "hardness"@en, "硬度"@zh ; rdfs:domain :Mineral ;'
    " rdfs:range xsd:decimal .\n"
    ":hard dcterms:isReplacedBy :hardness .\n"
)
NOTE = "Quartz is found in Hunan. It is very old."


def iri(name):
    return NamedNode(NS + name)


class Reader:
    """Reads one statement over two names in every chunk, whatever the ontology says, as a model would have."""

    method = "model"

    def extract(self, chunk, document):
        quartz = Mention("Quartz", chunk.start, chunk.start + 6, iri("Stone"), "Quartz")
        start = chunk.start + document.text.index("Hunan")
        hunan = Mention("Hunan", start, start + 5, iri("Place"), "Hunan")
        claims = (
            Claim(quartz, iri("foundIn"), hunan, chunk.start, chunk.end),
            Claim(quartz, iri("colour"), Literal("white", language="en"), chunk.start, chunk.end),
        )
        return Extraction(chunk.iri, (quartz, hunan), claims, method="model")


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A workspace with a note read by the first version, and a statement that somebody made; to be copied."""
    place = tmp_path_factory.mktemp("rocks")
    for name, text in (("one.ttl", ONE), ("two.ttl", TWO), ("note.txt", NOTE)):
        (place / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Workspace, "embedder", HashEmbedder())
        patch.setattr(Workspace, "extractor_for", lambda self: lambda document: Reader())
        with KnowledgeGraph.create(place / "w", ontology=str(place / "one.ttl")) as kg:
            list(kg.add(place / "note.txt"))
            quartz = next(kg.store.quads(None, TYPE, iri("Stone"))).subject
            kg.dataset.state([Triple(quartz, iri("hard"), Literal("7", datatype=XSD_DECIMAL))])
    return place


@pytest.fixture
def folder(tmp_path, template, monkeypatch):
    monkeypatch.chdir(shutil.copytree(template, tmp_path / "rocks"))
    monkeypatch.setattr(Workspace, "embedder", HashEmbedder())
    monkeypatch.setattr(Workspace, "extractor_for", lambda self: lambda document: Reader())
    return tmp_path / "rocks" / "w"


def facts(kg):
    names = {"foundIn", "locality", "colour", "hard", "hardness"}
    rows = kg.query("SELECT ?s ?p ?o { ?s ?p ?o }").rows
    found = set()
    for s, p, o in rows:
        local = p.value.rpartition("#")[2]
        if local in names and p.value.startswith(NS) and kg.dataset.is_stated(Triple(s, p, o)):
            found.add((s.value.split("/")[-1], local, getattr(o, "value", "").split("/")[-1]))
    return found


def lawful(kg):
    return kg.dataset.violations() == (frozenset(), frozenset())


def test_a_replaced_term_is_replaced_in_records_statements_and_what_was_stated(folder):
    with KnowledgeGraph.open(folder) as kg:
        plan = kg.update_ontology("two.ttl")
        moved = {old.value[len(NS) :]: (new.value[len(NS) :], plan.moved[old])
                 for old, new in plan.succession.successors.items()}  # fmt: skip
        assert moved == {"Stone": ("Mineral", 1), "foundIn": ("locality", 1), "hard": ("hardness", 1)}
        assert lawful(kg)
        assert {predicate for _, predicate, _ in facts(kg)} == {"locality", "hardness", "colour"}
        assert not list(kg.store.quads(None, TYPE, iri("Stone")))
        (extraction,) = kg.registry.extractions()
        assert {claim.predicate for claim in extraction.claims} == {iri("locality"), iri("colour")}
        assert {mention.type for mention in extraction.mentions} == {iri("Mineral"), iri("Place")}
        (quartz,) = {quad.subject for quad in kg.store.quads(None, TYPE, iri("Mineral"))}
        (statement,) = {quad.triple for quad in kg.store.quads(quartz, iri("locality"))}
        assert kg.evidence_finder.find(statement, extraction.chunk).quote.startswith("Quartz is found")
        projected = {t for e in kg.registry.extractions() for t in kg.projection.triples(e)}
        assert projected == {q.triple for q in kg.store.quads(graph=extraction.chunk)}
        broken = {about[len(NS) :]: kind.value for kind, about in plan.difference.broken}
        assert broken == {"colour": "unknown-property"}
    with KnowledgeGraph.open(folder) as kg:
        assert iri("Mineral") in kg.ontology.classes
        assert kg.settings.ontology == ("ontology/two.ttl",)
        ontology = {quad.triple for quad in kg.store.quads(graph=kg.dataset.ontology)}
        assert ontology == set(kg.loaded.triples)


def test_a_dry_run_changes_nothing_and_an_iri_that_retires_says_what_replaced_it(folder):
    with KnowledgeGraph.open(folder) as kg:
        before = kg.dump()
        plan = kg.update_ontology("two.ttl", dry_run=True)
        assert len(plan.succession.successors) == 3
        assert kg.dump() == before
        assert kg.settings.ontology == ("ontology/one.ttl",)
        assert not (folder / "ontology.next").exists()
        (old,) = {quad.subject for quad in kg.store.quads(None, TYPE, iri("Stone"))}
        kg.update_ontology("two.ttl")
        (new,) = {quad.subject for quad in kg.store.quads(None, TYPE, iri("Mineral"))}
        if old != new:
            assert kg.store.has(Triple(old, NamedNode(f"{DCTERMS}isReplacedBy"), new))
            assert not list(kg.store.quads(old, iri("hardness")))
        assert list(kg.store.quads(new, iri("hardness")))
        kg.build()
        assert {quad.subject for quad in kg.store.quads(None, TYPE, iri("Mineral"))} == {new}


PLACES = {
    "keep": (packs, "keep"),
    "mark": (renewing.json, "dump"),
    "files": (renewing, "settle_files"),
    "settings": (config, "set_ontology"),
    "records": (renewing, "_affected"),
    "commit": (renewing, "_relink"),
    "relink": (renewing, "_follow"),
}


@pytest.mark.parametrize(
    "step", [pytest.param(s, marks=[pytest.mark.slow] * (s not in ("mark", "commit"))) for s in PLACES]
)
def test_a_crash_at_any_step_leaves_the_old_version_or_ends_in_the_new_one(folder, step):
    def crash(*arguments, **options):
        raise KeyboardInterrupt

    kg = KnowledgeGraph.open(folder)
    before = kg.dump()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*PLACES[step], crash)
        with pytest.raises(KeyboardInterrupt):
            kg.update_ontology("two.ttl")
    kg.close()
    with KnowledgeGraph.open(folder) as kg:
        assert lawful(kg)
        if step in ("keep", "mark"):
            assert kg.dump() == before
            return
        kg.build()
        found = kg.dump()
        assert {predicate for _, predicate, _ in facts(kg)} == {"locality", "hardness", "colour"}
        assert set(kg.loaded.triples) == {quad.triple for quad in kg.store.quads(graph=kg.dataset.ontology)}
    assert not (folder / "ontology.pending").exists()
    assert not (folder / "ontology.next").exists()
    with KnowledgeGraph.open(folder) as kg:
        kg.build()
        assert kg.dump() == found


def test_an_ontology_that_cannot_be_read_changes_nothing(folder):
    (folder.parent / "broken.ttl").write_text("this is no Turtle")
    with KnowledgeGraph.open(folder) as kg:
        before = kg.dump()
        for names, how, words in (
            (("broken.ttl",), Renewing(), "line 1"),
            (("two.ttl",), Renewing(without=("nothing.ttl",)), "is not in use"),
            (("two.ttl",), Renewing(successors={iri("colour"): iri("Mineral")}), "which is no property"),
        ):
            with pytest.raises(OntologyError, match=words):
                kg.update_ontology(*names, how=how)
        assert kg.dump() == before
    assert not (folder / "ontology.pending").exists()


def test_files_and_imports_that_were_kept_stay_and_others_can_be_left_out(folder):
    far = folder.parent / "far" / "far.ttl"
    far.parent.mkdir()
    far.write_text(
        "@prefix owl: <http://www.w3.org/2002/07/owl#> . <urn:far> a owl:Ontology . <urn:far#F> a owl:Class ."
    )
    for name, text in (("one", ONE), ("two", TWO)):
        importing = text.replace("a owl:Ontology", "a owl:Ontology ; owl:imports <urn:far>")
        (folder.parent / f"{name}.ttl").write_text(importing, encoding="utf-8")
    KnowledgeGraph.create("v", ontology="one.ttl", imports={"urn:far": "far/far.ttl"}).close()
    with KnowledgeGraph.open("v") as kg:
        assert kg.loaded.unresolved == ()
        kg.update_ontology("geo")
        assert kg.settings.ontology == ("ontology/one.ttl", "geo")
        plan = kg.update_ontology("two.ttl", how=Renewing(without=("geo",)))
        assert kg.settings.ontology == ("ontology/two.ttl",)
        assert plan.loaded.unresolved == kg.loaded.unresolved == ()


def test_only_what_somebody_said_makes_a_successor(tmp_path):
    text = HEAD + (
        ':Rock a owl:Class ; rdfs:label "stone"@en . :A a owl:Class ; rdfs:label "a" .\n'
        ':B a owl:Class ; rdfs:label "b" .\n'
        ":Place dcterms:isReplacedBy :A , :B . :foundIn dcterms:isReplacedBy :hard .\n"
        ":hard dcterms:isReplacedBy :foundIn . :colour dcterms:isReplacedBy :Rock ."
    )
    (tmp_path / "old.ttl").write_text(ONE, encoding="utf-8")
    (tmp_path / "new.ttl").write_text(text, encoding="utf-8")
    old, new = (packs.load([f"{name}.ttl"], folder=tmp_path) for name in ("old", "new"))
    found = succession(old, new)
    assert dict(found.successors) == {}
    reasons = {term.value[len(NS) :]: why for term, why in found.refused.items()}
    for name, why in (("Place", "several successors"), ("hard", "in a circle"), ("colour", "no property")):
        assert why in reasons[name]
    assert "Stone" not in reasons
    given = succession(old, new, {iri("Stone"): iri("Rock")})
    assert given.successors == {iri("Stone"): iri("Rock")}


def test_settings_get_other_ontologies_and_keep_the_rest(tmp_path):
    file = tmp_path / config.FILE
    for before in ('version = 1\nontology = ["a"]\n[model]\nname = "x"\n', 'version = 1\n[model]\nname = "x"\n'):
        file.write_text(before, encoding="utf-8")
        config.set_ontology(tmp_path, ("b",))
        assert file.read_text(encoding="utf-8").replace("\n\n", "\n") == (
            'version = 1\nontology = ["b"]\n[model]\nname = "x"\n'
        )
    odd = "ontology = [\n  \"a\", # this ] one\n  'c',\n]\n"
    file.write_text(odd, encoding="utf-8")
    with pytest.raises(config.ConfigError, match="write there ontology"):
        config.set_ontology(tmp_path, ("b",))
    assert file.read_text(encoding="utf-8") == odd


def test_the_verb_says_what_moves_and_what_is_left(folder, capsys):

    assert main(["ontology", "update", "two.ttl", "-w", str(folder), "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert f"replaced   {NS}hard → {NS}hardness, in 1 statement\n" in out
    assert f"left       {NS}colour: 1 statements keep it" in out
    assert main(["ontology", "update", "-w", str(folder), "two.ttl", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["left"] == [{"term": f"{NS}colour", "statements": 1}]
    assert len(found["replaced"]) == 3
    assert main(["check", "-w", str(folder)]) in (0, 1)
    assert "colour" in capsys.readouterr().out
    assert main(["ontology", "update", "-w", str(folder)]) == 2
    assert main(["ontology", "update", "two.ttl", "-w", str(folder), "--replace", "x"]) == 2


def test_tables_follow_a_class_and_a_property_that_are_called_otherwise(folder):
    Path("stones.csv").write_text("name,found in,hard\nQuartz,Hunan,7\nTalc,Hebei,1\n", encoding="utf-8")
    with KnowledgeGraph.create("v", ontology="one.ttl") as kg:
        (added,) = list(kg.add("stones.csv"))
        assert added.outcome == "added", added.error
        rows = kg.registry.row_subjects()
        kg.update_ontology("two.ttl")
        assert lawful(kg)
        minerals = {quad.subject for quad in kg.store.quads(None, TYPE, iri("Mineral"))}
        assert len(minerals) == 2
        assert not list(kg.store.quads(None, TYPE, iri("Stone")))
        assert {predicate for _, predicate, _ in facts(kg)} == {"locality", "hardness"}
        assert len(facts(kg)) == 4
        assert kg.registry.row_subjects() == rows == minerals
        kg.build()
        assert {quad.subject for quad in kg.store.quads(None, TYPE, iri("Mineral"))} == minerals
        assert not [f for f in kg.check().findings if f.kind.value in ("no-evidence", "not-held", "dangling-graph")]
        dump = kg.dump()
    with KnowledgeGraph.open("v") as kg:
        assert kg.dump() == dump


def test_an_edited_mapping_is_listed_where_it_names_what_goes(folder, capsys):

    text = "mappings:\n  stone:\n    po:\n      - [rocks:hard, $(h), xsd:decimal]\n"
    with KnowledgeGraph.open(folder) as kg:
        (record,) = kg.documents()
        graph = NamedNode(f"{kg.base}graph/table/stones")
        kg.registry.enter(record.document, graph=graph)
        kg.registry.set_table(record.document.iri, TableEntry("stones.csv", "stones.yml", text, is_draft=False))
        plan = kg.update_ontology("two.ttl", dry_run=True)
    assert plan.stale_mappings == {"stones.yml": ("hard",)}
    print_renewal(plan, dry_run=True)
    assert "mapping    stones.yml names hard: edit it" in capsys.readouterr().out
