"""The door: documents in, edited, moved and out again, with nothing lost and no trace left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import NamedNode

from kgplatform.building.ingest import Added
from kgplatform.documents.registry import State
from kgplatform.errors import ConfigError, NotFoundError, OntologyError, QueryError, ReadError, WorkspaceError
from kgplatform.graph import KnowledgeGraph
from kgplatform.testing import HashEmbedder

WEST = "Xizha is an attraction in Wuzhen. Tickets for Xizha cost 150 CNY. The Riverside Hotel is near Xizha.\n"
EAST = "Dongzha is an attraction in Wuzhen. The Dongzha Teahouse serves chrysanthemum tea near Dongzha.\n"
CHINESE = "西栅位于乌镇。西栅的门票是150元。枕水酒店位于西栅附近，适合家庭。\n"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in {"west.txt": WEST, "east.md": EAST, "zh.txt": CHINESE}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    with KnowledgeGraph.create(tmp_path / "workspace", ontology="travel") as graph:
        graph.__dict__["embedder"] = HashEmbedder()
        yield graph


def outcomes(added: Iterator[Added]) -> list[str]:
    return [item.outcome for item in added]


def assert_well(kg: KnowledgeGraph) -> None:
    assert kg.dataset.violations() == (frozenset(), frozenset())
    indexed = {chunk.iri.value for record in kg.documents() for chunk in kg.registry.chunks(record.document.iri)}
    assert {passage.iri for passage in kg.chunks.passages()} == indexed


def mentions(kg: KnowledgeGraph, text: str) -> list[str]:
    """The lines of the dump, outside the ontology, in which the text occurs."""
    ontology = f"<{kg.dataset.ontology.value}>"
    quads = (str(quad) for quad in kg.store.quads() if str(quad.graph_name) != ontology)
    return [line for line in quads if text in line]


def test_documents_become_statements_with_evidence(kg: KnowledgeGraph, notes: Path) -> None:
    assert outcomes(kg.add(notes)) == ["added", "added", "added"]
    assert [record.state for record in kg.documents()] == [State.PROCESSED] * 3
    west = kg.registry.find("west.txt")
    assert west.statements == len(
        {q.triple for c in kg.registry.chunks(west.document.iri) for q in kg.store.quads(graph=c.iri)}
    )
    assert west.statements > 0
    assert_well(kg)


def test_every_quote_is_an_exact_substring_at_its_offsets(kg: KnowledgeGraph, notes: Path) -> None:
    list(kg.add(notes))
    texts = {record.document.iri: record.document.text for record in kg.documents()}
    finder, seen = kg.evidence_finder, 0
    for quad in kg.store.quads():
        if "/chunk/" not in str(quad.graph_name):
            continue
        evidence = finder.find(quad.triple, quad.graph_name)  # type: ignore[arg-type]
        assert evidence is not None
        assert texts[evidence.document][evidence.start : evidence.end] == evidence.quote != ""
        seen += 1
    for extraction in kg.registry.extractions():
        text = texts[NamedNode(extraction.chunk.value.partition("/chunk/")[0])]
        for mention in extraction.mentions:
            assert text[mention.start : mention.end] == mention.text
    assert seen > 10
    for passage in (*kg.search("tickets for Xizha"), *kg.search("西栅门票")):
        assert texts[passage.document][passage.start : passage.end] == passage.quote


def test_adding_twice_changes_nothing(kg: KnowledgeGraph, notes: Path) -> None:
    list(kg.add(notes))
    before, version = kg.dump(), kg.store.version
    assert outcomes(kg.add(notes)) == ["unchanged"] * 3
    assert kg.dump() == before
    assert kg.store.version == version
    assert kg.build().linked is not None
    assert kg.dump() == before


def test_an_edited_file_replaces_its_statements(kg: KnowledgeGraph, notes: Path) -> None:
    list(kg.add(notes))
    (notes / "east.md").write_text("Nanxun Old Town is an attraction in Huzhou.\n", encoding="utf-8")
    assert sorted(outcomes(kg.add(notes))) == ["replaced", "unchanged", "unchanged"]
    assert len(kg.documents()) == 3
    assert not mentions(kg, "Dongzha")
    assert mentions(kg, "Nanxun")
    assert_well(kg)


def test_the_result_does_not_depend_on_how_it_came_about(kg: KnowledgeGraph, notes: Path, tmp_path: Path) -> None:
    (notes / "east.md").write_text("Something else entirely about Suzhou, an old city.\n", encoding="utf-8")
    list(kg.add(notes / "zh.txt"))
    list(kg.add(notes))
    (notes / "east.md").write_text(EAST, encoding="utf-8")
    list(kg.add(notes))
    with KnowledgeGraph.create(tmp_path / "other", ontology="travel") as other:
        other.__dict__["embedder"] = HashEmbedder()
        list(other.add(notes))
        assert other.dump() == kg.dump()


@pytest.mark.parametrize("name", ["east.md", "zh.txt", "west.txt"])
def test_a_removed_document_leaves_no_trace(kg: KnowledgeGraph, notes: Path, name: str) -> None:
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


def test_removing_all_documents_leaves_an_empty_workspace(kg: KnowledgeGraph, notes: Path) -> None:
    empty = kg.dump()
    list(kg.add(notes))
    for record in kg.documents():
        kg.remove(record.document.iri.value)
    assert kg.dump() == empty
    assert len(kg.chunks) == 0
    assert kg.registry.linking().names == {}
    assert kg.search("Xizha") == []


def test_content_at_two_paths_is_one_document_until_the_last_goes(kg: KnowledgeGraph, notes: Path) -> None:
    list(kg.add(notes))
    before = kg.dump()
    copy = notes / "copy.txt"
    copy.write_text(WEST, encoding="utf-8")
    assert outcomes(kg.add(notes)) == ["unchanged"] * 4
    assert kg.dump() == before
    assert len(kg.documents()) == 3
    (notes / "west.txt").write_text("Tongli is an attraction in Suzhou.\n", encoding="utf-8")
    list(kg.add(notes))
    assert len(kg.documents()) == 4
    assert mentions(kg, "Xizha")
    copy.write_text("Xitang is an attraction in Jiashan.\n", encoding="utf-8")
    list(kg.add(notes))
    assert not mentions(kg, "Riverside Hotel")
    assert_well(kg)


def test_a_json_file_holds_several_documents(kg: KnowledgeGraph, notes: Path) -> None:
    entries = [{"title": "West", "author": "Li", "content": WEST}, {"title": "East", "content": EAST}]
    path = notes / "posts.json"
    path.write_text(json.dumps(entries), encoding="utf-8")
    assert outcomes(kg.add(path)) == ["added", "added"]
    assert outcomes(kg.add(path)) == ["unchanged", "unchanged"]
    assert {record.document.title for record in kg.documents()} == {"West", "East"}
    with pytest.raises(NotFoundError, match="2 documents fit"):
        kg.remove("posts.json")
    path.write_text(json.dumps(entries[:1]), encoding="utf-8")
    list(kg.add(path))
    assert [record.document.title for record in kg.documents()] == ["West"]
    assert not mentions(kg, "Dongzha")
    assert_well(kg)


def test_the_second_document_of_a_file_is_read_after_a_crash_between_the_two(kg: KnowledgeGraph, notes: Path) -> None:
    path = notes / "posts.json"
    path.write_text(json.dumps([{"content": WEST}, {"content": EAST}]), encoding="utf-8")
    adding = kg.add(path)
    assert next(adding).outcome == "added"
    adding.close()  # type: ignore[attr-defined]
    assert len(kg.documents(State.PROCESSED)) == 1
    list(kg.add(path))
    assert len(kg.documents(State.PROCESSED)) == 2
    assert mentions(kg, "Dongzha")


def test_a_broken_file_is_reported_and_retried_when_mended(kg: KnowledgeGraph, notes: Path) -> None:
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


def test_a_file_that_breaks_keeps_what_was_read_before(kg: KnowledgeGraph, notes: Path) -> None:
    list(kg.add(notes))
    before = kg.dump()
    (notes / "west.txt").write_bytes(b"\x00\x01\x02\xff" * 50)
    assert sorted(outcomes(kg.add(notes))) == ["failed", "unchanged", "unchanged"]
    assert kg.dump() == before
    (notes / "west.txt").write_text(WEST, encoding="utf-8")
    assert outcomes(kg.add(notes)) == ["unchanged"] * 3
    assert kg.documents(State.FAILED) == []


def test_an_update_is_asserted_and_survives_the_documents(kg: KnowledgeGraph, notes: Path) -> None:
    list(kg.add(notes))
    committed = kg.update("INSERT DATA { kg:west-gate rdfs:label 'West Gate'@en }")
    assert (committed.gained, committed.lost) == (1, 0)
    kg.update("DELETE WHERE { ?s rdfs:label 'West Gate'@en }")
    kg.update("DELETE { ?s ?p ?o } WHERE { ?s ?p ?o FILTER(CONTAINS(STR(?s), 'dongzha')) }")
    assert_well(kg)
    (notes / "east.md").write_text(EAST + "\n\n", encoding="utf-8")
    list(kg.add(notes))
    assert kg.query("ASK { ?s ?p ?o FILTER(CONTAINS(STR(?s), 'dongzha')) }").boolean is False
    assert_well(kg)


def test_what_was_made_is_there_after_closing(tmp_path: Path, notes: Path) -> None:
    with KnowledgeGraph.create(tmp_path / "w", ontology=["travel"]) as kg:
        kg.__dict__["embedder"] = HashEmbedder()
        list(kg.add(notes))
        before = kg.dump()
    with KnowledgeGraph.open(tmp_path / "w") as again:
        assert again.dump() == before
        assert len(again.documents(State.PROCESSED)) == 3


def test_creating_refuses_what_is_there_and_leaves_nothing_behind(tmp_path: Path) -> None:
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


def test_paths_and_names_that_do_not_exist_are_named(kg: KnowledgeGraph, tmp_path: Path) -> None:
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


def test_an_update_that_a_crash_cut_short_is_reconciled_on_opening(tmp_path: Path) -> None:
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as kg:
        (kg.folder / "update.pending").touch()
        kg.store.update('INSERT DATA { <urn:a> <http://www.w3.org/2000/01/rdf-schema#label> "a" }')
        assert kg.dataset.violations() != (frozenset(), frozenset())
    with KnowledgeGraph.open(tmp_path / "kg") as kg:
        assert kg.dataset.violations() == (frozenset(), frozenset())
        assert not (kg.folder / "update.pending").exists()


def test_an_update_that_is_refused_leaves_nothing_behind(tmp_path: Path) -> None:
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as kg:
        with pytest.raises(QueryError):
            kg.update("INSERT DATA { this is not SPARQL }")
        kg.update('INSERT DATA { <urn:a> <http://www.w3.org/2000/01/rdf-schema#label> "a" }')
        assert not (kg.folder / "update.pending").exists()
        assert kg.dataset.violations() == (frozenset(), frozenset())
