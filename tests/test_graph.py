"""The door: documents in, edited, moved and out again, with nothing lost and no trace left."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyoxigraph import NamedNode
from workspaces import new_workspace

from kgplatform.documents.records import State
from kgplatform.errors import ConfigError, NotFoundError, OntologyError, QueryError, ReadError, WorkspaceError
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder

WEST = "Xizha is an attraction in Wuzhen. Tickets for Xizha cost 150 CNY. The Riverside Hotel is near Xizha.\n"
EAST = "Dongzha is an attraction in Wuzhen. The Dongzha Teahouse serves chrysanthemum tea near Dongzha.\n"
CHINESE = "西栅位于乌镇。西栅的门票是150元。枕水酒店位于西栅附近，适合家庭。\n"


NOTES = {"west.txt": WEST, "east.md": EAST, "zh.txt": CHINESE}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("graph")


@pytest.fixture
def notes(place):
    shutil.rmtree(place / "notes", ignore_errors=True)
    (place / "notes").mkdir()
    for name, text in NOTES.items():
        (place / "notes" / name).write_text(text, encoding="utf-8")
    return place / "notes"


@contextmanager
def opened(folder):
    with KnowledgeGraph.open(folder) as graph:
        graph.workspace.__dict__["embedder"] = HashEmbedder()
        yield graph


@pytest.fixture
def kg(tmp_path):
    with opened(new_workspace(tmp_path / "workspace")) as graph:
        yield graph


@pytest.fixture
def filled(place, notes, tmp_path):
    """A workspace that holds the notes; they are read once."""
    if not (place / "filled").exists():
        with opened(new_workspace(place / "filled")) as graph:
            list(graph.add(notes))
    with opened(shutil.copytree(place / "filled", tmp_path / "workspace")) as graph:
        yield graph


def outcomes(added):
    return [item.outcome for item in added]


def assert_well(kg):
    assert kg.dataset.violations() == (frozenset(), frozenset())
    indexed = {chunk.iri.value for record in kg.documents() for chunk in kg.registry.chunks(record.document.iri)}
    assert {passage.iri for passage in kg.chunks.passages()} == indexed


def mentions(kg, text):
    """The lines of the dump, outside the ontology, in which the text occurs."""
    ontology = f"<{kg.dataset.ontology.value}>"
    quads = (str(quad) for quad in kg.store.quads() if str(quad.graph_name) != ontology)
    return [line for line in quads if text in line]


def test_every_quote_is_an_exact_substring_at_its_offsets(kg, notes):
    assert outcomes(kg.add(notes)) == ["added", "added", "added"]
    assert all(record.state is State.PROCESSED and record.statements > 0 for record in kg.documents())
    texts = {record.document.iri: record.document.text for record in kg.documents()}
    finder, seen = kg.evidence_finder, 0
    for quad in kg.store.quads():
        if "/chunk/" not in str(quad.graph_name):
            continue
        evidence = finder.find(quad.triple, quad.graph_name)
        assert texts[evidence.document][evidence.start : evidence.end] == evidence.quote != ""
        seen += 1
    for extraction in kg.registry.extractions():
        text = texts[NamedNode(extraction.chunk.value.partition("/chunk/")[0])]
        for mention in extraction.mentions:
            assert text[mention.start : mention.end] == mention.text
    assert seen > 10
    for passage in (*kg.search("tickets for Xizha"), *kg.search("西栅门票")):
        assert texts[passage.document][passage.start : passage.end] == passage.quote


def test_adding_twice_changes_nothing(filled, notes):
    before, version = filled.dump(), filled.store.version
    assert outcomes(filled.add(notes)) == ["unchanged"] * 3
    assert filled.dump() == before
    assert filled.store.version == version
    assert filled.build().linked is not None
    assert filled.dump() == before


def test_an_edited_file_replaces_its_statements(filled, notes):
    (notes / "east.md").write_text("Nanxun Old Town is an attraction in Huzhou.\n", encoding="utf-8")
    assert sorted(outcomes(filled.add(notes))) == ["replaced", "unchanged", "unchanged"]
    assert len(filled.documents()) == 3
    assert not mentions(filled, "Dongzha")
    assert mentions(filled, "Nanxun")
    assert_well(filled)


def test_the_result_does_not_depend_on_how_it_came_about(kg, notes, tmp_path):
    (notes / "east.md").write_text("Something else entirely about Suzhou, an old city.\n", encoding="utf-8")
    list(kg.add(notes / "zh.txt"))
    list(kg.add(notes))
    (notes / "east.md").write_text(EAST, encoding="utf-8")
    list(kg.add(notes))
    with opened(new_workspace(tmp_path / "other")) as other:
        list(other.add(notes))
        assert other.dump() == kg.dump()


@pytest.mark.parametrize(
    "name", ["zh.txt", *(pytest.param(name, marks=pytest.mark.slow) for name in ("east.md", "west.txt"))]
)
def test_a_removed_document_leaves_no_trace(kg, notes, name):
    list(kg.add(*(path for path in sorted(notes.iterdir()) if path.name != name)))
    before = kg.dump()
    list(kg.add(notes / name))
    assert kg.dump() != before
    iri = kg.registry.find(name).document.iri
    kg.remove(name)
    assert kg.dump() == before
    assert not mentions(kg, iri.value)
    assert kg.registry.state(iri) is None
    assert len(kg.documents()) == 2
    assert_well(kg)


def test_removing_all_documents_leaves_an_empty_workspace(kg, notes):
    empty = kg.dump()
    list(kg.add(notes))
    for record in kg.documents():
        kg.remove(record.document.iri.value)
    assert kg.dump() == empty
    assert len(kg.chunks) == 0
    assert kg.registry.linking().names == {}
    assert kg.search("Xizha") == []


def test_content_at_two_paths_is_one_document_until_the_last_goes(filled, notes):
    before = filled.dump()
    copy = notes / "copy.txt"
    copy.write_text(WEST, encoding="utf-8")
    assert outcomes(filled.add(notes)) == ["unchanged"] * 4
    assert filled.dump() == before
    assert len(filled.documents()) == 3
    (notes / "west.txt").write_text("Tongli is an attraction in Suzhou.\n", encoding="utf-8")
    list(filled.add(notes))
    assert len(filled.documents()) == 4
    assert mentions(filled, "Xizha")
    copy.write_text("Xitang is an attraction in Jiashan.\n", encoding="utf-8")
    list(filled.add(notes))
    assert not mentions(filled, "Riverside Hotel")
    assert_well(filled)


def test_a_json_file_holds_several_documents(kg, notes):
    entries = [{"title": "West", "author": "Li", "content": WEST}, {"title": "East", "content": EAST}]
    path = notes / "posts.json"
    path.write_text(json.dumps(entries), encoding="utf-8")
    adding = kg.add(path)
    assert next(adding).outcome == "added"
    adding.close()  # as a crash between the two would leave it
    assert len(kg.documents(State.PROCESSED)) == 1
    list(kg.add(path))
    assert outcomes(kg.add(path)) == ["unchanged", "unchanged"]
    assert {record.document.title for record in kg.documents()} == {"West", "East"}
    with pytest.raises(NotFoundError, match="2 documents fit"):
        kg.remove("posts.json")
    path.write_text(json.dumps(entries[:1]), encoding="utf-8")
    list(kg.add(path))
    assert [record.document.title for record in kg.documents()] == ["West"]
    assert not mentions(kg, "Dongzha")
    assert_well(kg)


def test_a_broken_file_is_reported_and_retried_when_mended(kg, notes):
    (notes / "broken.json").write_text("{", encoding="utf-8")
    (notes / "empty.txt").write_text("", encoding="utf-8")
    added = {Path(item.document.source).name: item for item in kg.add(notes)}
    assert {name for name, item in added.items() if item.outcome == "failed"} == {"broken.json", "empty.txt"}
    assert len(kg.documents(State.PROCESSED)) == 3
    (notes / "broken.json").write_text(json.dumps({"content": "Tongli is an attraction."}), encoding="utf-8")
    retried = {Path(item.document.source).name: item.outcome for item in kg.retry()}
    assert retried == {"broken.json": "added", "empty.txt": "failed"}
    (notes / "empty.txt").unlink()
    assert list(kg.retry()) == []
    assert_well(kg)


def test_a_file_that_breaks_keeps_what_was_read_before(filled, notes):
    before = filled.dump()
    (notes / "west.txt").write_bytes(b"\x00\x01\x02\xff" * 50)
    assert sorted(outcomes(filled.add(notes))) == ["failed", "unchanged", "unchanged"]
    assert filled.dump() == before
    (notes / "west.txt").write_text(WEST, encoding="utf-8")
    assert outcomes(filled.add(notes)) == ["unchanged"] * 3
    assert filled.documents(State.FAILED) == []


def test_an_update_is_asserted_and_survives_the_documents(filled, notes):
    committed = filled.update("INSERT DATA { kg:west-gate rdfs:label 'West Gate'@en }")
    assert (committed.gained, committed.lost) == (1, 0)
    filled.update("DELETE WHERE { ?s rdfs:label 'West Gate'@en }")
    filled.update("DELETE { ?s ?p ?o } WHERE { ?s ?p ?o FILTER(CONTAINS(STR(?s), 'dongzha')) }")
    assert_well(filled)
    (notes / "east.md").write_text(EAST + "\n\n", encoding="utf-8")
    list(filled.add(notes))
    assert filled.query("ASK { ?s ?p ?o FILTER(CONTAINS(STR(?s), 'dongzha')) }").boolean is False
    assert_well(filled)


def test_what_was_made_is_there_after_closing(place, filled):
    with KnowledgeGraph.open(place / "filled") as again:
        assert again.dump() == filled.dump()
        assert len(again.documents(State.PROCESSED)) == 3


def test_creating_refuses_what_is_there_and_leaves_nothing_behind(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    for place, reason in {"full": "is not empty", "file": "is a file", "file/below": "cannot be made"}.items():
        with pytest.raises(WorkspaceError, match=reason):
            KnowledgeGraph.create(tmp_path / place)
    with pytest.raises(OntologyError, match="did you mean travel"):
        KnowledgeGraph.create(tmp_path / "new", ontology="travle")
    with pytest.raises(ConfigError, match="base 'x' must be"):
        KnowledgeGraph.create(tmp_path / "new", base="x")
    assert not (tmp_path / "new").exists()


def test_an_ontology_of_ones_own_is_given_by_its_path(tmp_path):
    own = tmp_path / "own.ttl"
    own.write_text("<https://example.org/o#Kiln> a <http://www.w3.org/2002/07/owl#Class> .")
    for name, given in {"one": own, "several": [own]}.items():
        with KnowledgeGraph.create(tmp_path / name, ontology=given) as kg:
            assert [iri.value for iri in kg.ontology.classes] == ["https://example.org/o#Kiln"]


def test_paths_and_names_that_do_not_exist_are_named(kg, tmp_path):
    (tmp_path / "nothing").mkdir()
    with pytest.raises(ReadError, match="does not exist"):
        list(kg.add(tmp_path / "nowhere"))
    with pytest.raises(ReadError, match="nothing to read here"):
        list(kg.add(tmp_path / "nothing"))
    with pytest.raises(NotFoundError, match="no document fits"):
        kg.remove("nowhere.txt")
    for graph in ("hotels", "not an iri"):
        with pytest.raises(ConfigError, match="is not an absolute IRI"):
            kg.dump(graph=graph)


def test_an_update_that_a_crash_cut_short_is_reconciled_on_opening(tmp_path):
    with KnowledgeGraph.open(new_workspace(tmp_path / "kg")) as kg:
        (kg.folder / "update.pending").touch()
        kg.store.update('INSERT DATA { <urn:a> <http://www.w3.org/2000/01/rdf-schema#label> "a" }')
        assert kg.dataset.violations() != (frozenset(), frozenset())
    with KnowledgeGraph.open(tmp_path / "kg") as kg:
        assert kg.dataset.violations() == (frozenset(), frozenset())
        assert not (kg.folder / "update.pending").exists()


def test_an_update_that_is_refused_leaves_nothing_behind(tmp_path):
    with KnowledgeGraph.open(new_workspace(tmp_path / "kg")) as kg:
        with pytest.raises(QueryError):
            kg.update("INSERT DATA { this is not SPARQL }")
        kg.update('INSERT DATA { <urn:a> <http://www.w3.org/2000/01/rdf-schema#label> "a" }')
        assert not (kg.folder / "update.pending").exists()
        assert kg.dataset.violations() == (frozenset(), frozenset())
