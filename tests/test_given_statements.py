"""Statements that somebody else extracted: taken up whole or not at all, shown with their passages, and used."""

from __future__ import annotations

import json

import pytest
from workspaces import new_workspace

from kgplatform.cli.main import main
from kgplatform.documents.records import State
from kgplatform.errors import NotFoundError, ReadError, RefusedError
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder
from kgplatform.workspace.workspace import Workspace

NOTES = {
    "boats.md": "# Boats\n\nThe black boats are old. Old Shen built them in 1931.\n\nA second boat was lost.",
    "shen.md": "# A carpenter\n\nHe came from Puyuan and never learnt to swim.",
    "zh.md": "# 乌篷船\n\n乌篷船很旧。王木匠在1931年造了它们。",
    "people.md": "# 木匠\n\n他来自濮院，从未学会游泳。",
}
LINES = (
    {"document": "boats.md", "subject": "Old Shen", "predicate": "built", "object": "black boats"},
    {
        "document": "shen.md",
        "subject": "Old Shen",
        "predicate": "came from",
        "object": "Puyuan",
        "quote": "from Puyuan",
    },
    {"document": "zh.md", "subject": "王木匠", "predicate": "造了", "object": "乌篷船"},
    {"document": "people.md", "subject": "王木匠", "predicate": "来自", "object": "濮院"},
)


@pytest.fixture(autouse=True)
def letters(monkeypatch):
    monkeypatch.setattr(Workspace, "embedder", HashEmbedder())


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def kg(tmp_path, notes):
    with KnowledgeGraph.create(tmp_path / "kg") as kg:
        list(kg.add(notes))
        yield kg


def written(path, lines=LINES):
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    return path


def state(kg):
    return kg.dump(), [(r.state, r.statements) for r in kg.documents()], kg.registry.givers()


def said(kg, name, predicate):
    fact = next(fact for fact in kg.show(name).facts if fact.predicate.label == predicate)
    (value,) = fact.values
    (passage,) = value.evidence
    return value.value.label, passage.quote, passage.given


def test_they_are_shown_with_their_passage_and_the_file_that_gave_them(kg, tmp_path):
    file = written(tmp_path / "s.jsonl")
    told = kg.add_statements(file)
    assert (told.outcome, told.statements, told.documents) == ("given", 4, 4)
    assert said(kg, "Old Shen", "built") == ("black boats", "Old Shen built them in 1931.", file.as_posix())
    assert said(kg, "Old Shen", "came from") == ("Puyuan", "from Puyuan", file.as_posix())
    assert said(kg, "王木匠", "造了") == ("乌篷船", "王木匠在1931年造了它们。", file.as_posix())
    (row,) = kg.query(
        "SELECT DISTINCT ?m ?s { GRAPH ?d { ?a prov:used ?chunk ; core:method ?m ; core:source ?s }"
        " GRAPH ?chunk { ?x rdfs:label 'Puyuan'@en } FILTER(?m = 'given') }"
    ).rows
    assert [term.value for term in row] == ["given", file.as_posix()]
    assert kg.dataset.violations() == (frozenset(), frozenset())


def test_the_same_file_twice_changes_nothing_and_an_edited_one_is_replaced(kg, tmp_path):
    empty = state(kg)
    file = written(tmp_path / "s.jsonl")
    other = written(tmp_path / "other.jsonl", LINES[:1])
    kg.add_statements(file)
    kg.add_statements(other)
    before = state(kg)
    assert kg.add_statements(file).outcome == "unchanged"
    assert state(kg) == before
    written(file, [{**LINES[1], "object": "Wuzhen"}])
    assert kg.add_statements(file).changed == 4
    assert [value.value.label for fact in kg.show("Old Shen").facts for value in fact.values] == [
        "black boats",
        "Wuzhen",
    ]
    assert kg.remove_statements("s.jsonl").outcome == "removed"
    assert [fact.predicate.label for fact in kg.show("Old Shen").facts] == ["built"]
    kg.remove_statements(other.as_posix())
    assert state(kg) == empty
    with pytest.raises(NotFoundError, match=r"no file 's\.jsonl' gave statements"):
        kg.remove_statements("s.jsonl")


def test_they_go_with_their_document(kg, tmp_path, notes):
    kg.add_statements(written(tmp_path / "s.jsonl"))
    kg.remove("shen.md")
    assert [fact.predicate.label for fact in kg.show("Old Shen").facts] == ["built"]
    (notes / "boats.md").write_text("# Boats\n\nNew boats.", "utf-8")
    list(kg.add(notes / "boats.md"))
    with pytest.raises(NotFoundError):
        kg.show("Old Shen")
    assert list(kg.registry.givers().values()) == [2]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "it is not one JSON object"),
        ("[" * 100_000, "it is not one JSON object"),
        ("[1]", "it is not one JSON object"),
        (b"\xff{}", "it is not"),
        (json.dumps({"document": "shen.md", "subject": "a", "object": "b"}), "predicate is missing"),
        (json.dumps({**LINES[0], "predicate": "--"}), "the predicate '--' has no words"),
        (json.dumps({**LINES[0], "subject": {"a": 1}}), "subject is neither text nor a number"),
        (json.dumps({**LINES[0], "subject": "a\u0000b"}), "subject holds characters that are no text"),
        (json.dumps({**LINES[0], "subject": "\ud800"}), "subject holds characters that are no text"),
        (json.dumps({**LINES[0], "object": "x" * 2_000}), "object has more than 1,000 characters"),
        (json.dumps({**LINES[0], "document": "nowhere.md"}), "no document fits 'nowhere.md'"),
        (json.dumps({**LINES[0], "quote": "not there"}), "the quote is not in 'boats.md': 'not there'"),
        (json.dumps({**LINES[0], "subject_type": "Spaceship"}), "no class is named 'Spaceship'"),
        (json.dumps({**LINES[0], "predicate": "http://a b> } ; DROP ALL"}), ""),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_written(kg, tmp_path, line, reason):
    file = written(tmp_path / "s.jsonl", LINES[:2])
    good = file.read_bytes()
    file.write_bytes(good + b"\n" + (line if isinstance(line, bytes) else line.encode()) + b"\n")
    before = state(kg)
    if not reason:  # odd, and yet words
        assert kg.add_statements(file).statements == 3
        assert kg.dataset.violations() == (frozenset(), frozenset())
        return
    with pytest.raises(ReadError) as raised:
        kg.add_statements(file)
    assert f"{file}: line 4: {reason}" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert str(raised.value).endswith("no statement was added")
    assert state(kg) == before


def test_what_cannot_be_read_is_one_line(kg, tmp_path):
    for name, content, reason in (
        ("none.jsonl", b"\n\n", "holds no statements"),
        ("odd.txt", b"{}", "is not an RDF format"),
        ("bad.trig", b"GRAPH <urn:a> {\n <urn:b> }", "line 2"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(Exception, match=reason):
            kg.add_statements(tmp_path / name)
    with pytest.raises(ReadError, match="cannot be read"):
        kg.add_statements(tmp_path / "missing.jsonl")
    with pytest.raises(ReadError, match="record 2: it is not one JSON object"):
        kg.add_statements([LINES[0], "x"])


def test_rdf_says_by_its_graphs_where_it_comes_from(kg, tmp_path):
    iri = {r.document.title: r.document.iri.value for r in kg.documents()}
    (tmp_path / "s.trig").write_text(
        f"""PREFIX ex: <https://example.org/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
        PREFIX prov: <http://www.w3.org/ns/prov#>
        ex:g prov:wasDerivedFrom <{iri["A carpenter"]}> . ex:f prov:wasDerivedFrom "zh.md" .
        ex:shen rdfs:label "Old Shen" .
        GRAPH ex:g {{ ex:shen ex:cameFrom ex:Puyuan ; ex:age 61 }}
        GRAPH ex:f {{ ex:shen ex:built ex:boat }}
        GRAPH <{iri["Boats"]}/chunk/0> {{ ex:shen ex:built ex:boat }}""",
        "utf-8",
    )
    assert kg.add_statements(tmp_path / "s.trig").statements == 4
    facts = {fact.predicate.label: fact.values for fact in kg.show("Old Shen").facts}
    assert [value.value.label for values in facts.values() for value in values] == ["61", "boat", "puyuan"]
    assert sorted(passage.title for passage in facts["built"][0].evidence) == ["Boats", "乌篷船"]
    (tmp_path / "s.trig").write_text("<urn:a> <urn:b> <urn:c> .", "utf-8")
    with pytest.raises(ReadError, match=r"statement 1: it is in no graph that says"):
        kg.add_statements(tmp_path / "s.trig")


@pytest.mark.parametrize(
    ("question", "document", "names"),
    [("Where did the builder of the black boats come from?", "shen.md", "black boats"),
     ("造乌篷船的人来自哪里?", "people.md", "乌篷船")],
)  # fmt: skip
@pytest.mark.parametrize("retriever", ["pagerank-shared", "pagerank"])
def test_retrieval_follows_them_without_an_ontology(kg, tmp_path, question, document, names, retriever):
    """No text names the carpenter in his own passage: only the given statements lead there."""
    assert kg.sources.passage_graph().facts == ()
    kg.add_statements(written(tmp_path / "s.jsonl"))
    assert len(kg.sources.passage_graph().facts) == 4
    assert sum(bool(relation.passages) for relation in kg.sources.knowledge().relations) == 4
    found = kg.search(question, 3, retriever=retriever, per_document=0)
    assert document in [passage.source.rpartition("/")[2] for passage in found]
    kg.remove_statements("s.jsonl")
    assert kg.sources.passage_graph().facts == ()


def test_the_ontology_names_properties_and_classes_in_both_languages(tmp_path, notes):
    lines = (
        {"document": "shen.md", "subject": "Puyuan", "predicate": "located in", "object": "Tongxiang"},
        {"document": "people.md", "subject": "濮院", "predicate": "位于", "object": "桐乡", "subject_type": "Town"},
        {"document": "boats.md", "subject": "Boat Inn", "predicate": "price per night", "object": "300"},
    )
    with KnowledgeGraph.open(new_workspace(tmp_path / "kg")) as kg:
        list(kg.add(notes))
        kg.add_statements(written(tmp_path / "s.jsonl", lines))
        for name in ("Puyuan", "濮院"):
            assert "https://w3id.org/kgplatform/geo#locatedIn" in [f.predicate.iri.value for f in kg.show(name).facts]
        assert kg.ask("Which place is Puyuan located in?").values == ("Tongxiang",)
        bad = {"document": "boats.md", "subject": "Boat Inn", "predicate": "price per night", "object": "cheap"}
        with pytest.raises(ReadError, match="line 1: 'cheap'"):
            kg.add_statements(written(tmp_path / "bad.jsonl", [bad]))
        odd = {**lines[0], "object_type": "Person", "predicate": "located in"}
        with pytest.raises(ReadError, match="line 1: 'Tongxiang' is a Person"):
            kg.add_statements(written(tmp_path / "bad.jsonl", [odd]))


def test_shapes_rule_over_them_as_over_documents(tmp_path, notes):
    lines = [{"document": "boats.md", "subject": "Boat Inn", "predicate": "price per night", "object": "-5"}]
    for policy in ("refuse", "quarantine"):
        with KnowledgeGraph.open(new_workspace(tmp_path / policy, settings=f'[checks]\npolicy = "{policy}"')) as kg:
            list(kg.add(notes))
            before = kg.dump()
            file = written(tmp_path / "s.jsonl", lines)
            if policy == "refuse":
                with pytest.raises(RefusedError):
                    kg.add_statements(file)
                assert kg.dump() == before
            else:
                kg.add_statements(file)
                assert kg.registry.find("boats.md").state is State.QUARANTINED
                with pytest.raises(ReadError, match="is quarantined"):
                    kg.add_statements(file)


def test_a_crash_between_registry_and_graphs_is_settled(tmp_path, notes, monkeypatch):
    file = written(tmp_path / "s.jsonl")
    with KnowledgeGraph.create(tmp_path / "kg") as kg, monkeypatch.context() as patch:
        list(kg.add(notes))
        patch.setattr(type(kg.dataset), "commit", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            kg.add_statements(file)
    with KnowledgeGraph.open(tmp_path / "kg") as again:
        assert {record.state for record in again.documents()} == {State.PROCESSED}
        assert again.show("Old Shen").facts
        settled = again.dump()
        again.add_statements(file)
        assert again.dump() == settled


def test_the_command_line_adds_lists_and_removes_them(tmp_path, notes, capsys):
    KnowledgeGraph.create(tmp_path / "kg").close()
    at = ["-w", str(tmp_path / "kg")]
    file = str(written(tmp_path / "s.jsonl"))
    assert main(["add", *at, str(notes), "--statements", file, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[-1] == {
        **{"source": file, "outcome": "given"},
        **{"statements": 4, "documents": 4},
    }
    assert main(["add", *at, "--statements", file]) == 0
    assert capsys.readouterr().out == f"unchanged  {file}: 4 statements of 4 documents\n"
    main(["show", *at, "Old Shen"])
    assert f"— Boats (given by {file})" in capsys.readouterr().out
    assert main(["documents", *at]) == 0
    assert f"statements of 4 documents given by {file}" in capsys.readouterr().err
    assert main(["documents", "remove", "s.jsonl", *at]) == 0
    assert capsys.readouterr().out.startswith("removed")
    written(tmp_path / "s.jsonl", [*LINES, {}])
    assert main(["add", *at, "--statements", file]) == 1
    assert "line 5: document, subject, predicate, object is missing" in capsys.readouterr().err
    assert main(["add", *at]) == 2
    assert "name what to add" in capsys.readouterr().err
