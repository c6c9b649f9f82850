"""What becomes of a document that violates shapes, and that nothing of it is left behind or lost on the way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgplatform.building.ingest import Added
from kgplatform.checking import shacl
from kgplatform.checking.findings import Kind
from kgplatform.cli.main import main
from kgplatform.documents.registry import State
from kgplatform.errors import ConfigError, NotFoundError, OntologyError
from kgplatform.graph import KnowledgeGraph
from kgplatform.testing import HashEmbedder

GOOD = "name,town,price_per_night,star_rating\nRiver Inn,Wuzhen,480,4\n"
BAD = "name,town,price_per_night,star_rating\nRiver Inn,Wuzhen,480,9\nLake Inn,Wuzhen,300,3\n"
BAD_CHINESE = "名称,位于,每晚价格,星级\n枕水酒店,乌镇,480,9\n"
ONTOLOGY = (
    "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    "@prefix travel: <https://w3id.org/kgplatform/travel#> . @prefix : <https://example.org/mine#> .\n"
    "<https://example.org/mine> a owl:Ontology ; owl:imports <https://w3id.org/kgplatform/travel> .\n"
    ':Teahouse a owl:Class ; rdfs:subClassOf travel:FoodEstablishment ; rdfs:label "teahouse"@en, "茶馆"@zh .\n'
)
SHAPES = (
    "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix travel: <https://w3id.org/kgplatform/travel#> .\n"
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix : <https://example.org/mine/shapes#> .\n"
    ":Cheap a sh:NodeShape ; sh:targetClass travel:Attraction ; sh:property [ sh:path travel:ticketPrice ;\n"
    '  sh:maxInclusive 100.0 ; sh:message "Tickets cost at most 100 yuan."@en, "门票最多100元。"@zh ] .\n'
    ":Twice a sh:NodeShape ; sh:targetClass travel:Hotel ; sh:sparql [\n"
    '  sh:message "Priced as {?other} is."@en, "与{?other}同价。"@zh ;\n'
    '  sh:prefixes :P ; sh:select "SELECT $this ?other { $this t:pricePerNight ?p . ?other t:pricePerNight ?p .'
    ' FILTER (?other != $this) }" ] .\n'
    ':P sh:declare [ sh:prefix "t" ; sh:namespace "https://w3id.org/kgplatform/travel#"^^xsd:anyURI ] .\n'
)


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    with KnowledgeGraph.create(tmp_path / "workspace", ontology="travel") as graph:
        graph.__dict__["embedder"] = HashEmbedder()
        yield graph


def table(folder: Path, text: str, name: str = "hotels.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def only(added: Iterator[Added]) -> Added:
    (item,) = added
    return item


def assert_lawful(kg: KnowledgeGraph) -> None:
    assert kg.dataset.violations() == (frozenset(), frozenset())


def quarantine_graphs(kg: KnowledgeGraph) -> list[str]:
    return sorted(
        graph.value
        for graph in kg.store.graphs()
        if "/quarantine/" in graph.value and next(iter(kg.store.quads(graph=graph)), None)
    )


@pytest.mark.parametrize("text", [BAD, BAD_CHINESE])
def test_by_default_a_document_is_accepted_and_its_violations_are_told(
    kg: KnowledgeGraph, tmp_path: Path, text: str
) -> None:
    added = only(kg.add(table(tmp_path, text)))
    assert added.outcome == "added"
    assert [(f.constraint, f.path.value[-10:]) for f in added.findings if f.path] == [("MaxInclusive", "starRating")]
    assert {message.language for message in added.findings[0].messages} == {"en", "zh"}
    assert added.accepted
    assert_lawful(kg)


@pytest.mark.parametrize("text", [BAD, BAD_CHINESE])
def test_a_refused_document_leaves_nothing_and_says_why(kg: KnowledgeGraph, tmp_path: Path, text: str) -> None:
    before = kg.dump()
    added = only(kg.add(table(tmp_path, text), policy="refuse"))
    assert (added.outcome, len(added.findings)) == ("failed", 1)
    assert added.error is not None
    assert added.error.startswith("refused, 1 violation of shapes: ")
    assert "starRating" in added.error
    assert kg.dump() == before
    (record,) = kg.documents()
    assert (record.state, record.error) == (State.FAILED, added.error)
    assert kg.registry.chunks(record.document.iri) == []


@pytest.mark.parametrize("policy", ["accept", "quarantine", "refuse"])
def test_a_document_that_keeps_to_the_shapes_is_added_by_every_policy(
    kg: KnowledgeGraph, tmp_path: Path, policy: str
) -> None:
    added = only(kg.add(table(tmp_path, GOOD), policy=policy))
    assert (added.outcome, added.findings) == ("added", ())
    assert not quarantine_graphs(kg)


def test_what_lies_in_quarantine_does_not_hold_is_listed_and_can_be_released(
    kg: KnowledgeGraph, tmp_path: Path
) -> None:
    with KnowledgeGraph.create(tmp_path / "other", ontology="travel") as other:
        other.__dict__["embedder"] = HashEmbedder()
        list(other.add(table(tmp_path, BAD)))
        accepted = other.dump()
    path = table(tmp_path, BAD)
    added = only(kg.add(path, policy="quarantine"))
    assert (added.outcome, added.accepted, len(added.findings)) == ("quarantined", (), 1)
    assert kg.documents()[0].state is State.QUARANTINED
    assert quarantine_graphs(kg) == ["https://example.org/kg/graph/quarantine/table/hotels"]
    assert not kg.query("ASK { ?s a travel:Hotel }").boolean
    assert_lawful(kg)
    assert [f.kind for f in kg.check().findings if f.kind is Kind.QUARANTINED] == [Kind.QUARANTINED]
    assert [f.constraint for f in kg.check("hotels.csv").findings if f.constraint == "MaxInclusive"]
    kg.release("hotels.csv")
    assert kg.dump() == accepted
    assert kg.documents()[0].state is State.PROCESSED
    assert_lawful(kg)
    with pytest.raises(NotFoundError, match="not in quarantine"):
        kg.release("hotels.csv")


def test_quarantine_survives_adding_again_building_and_other_documents(kg: KnowledgeGraph, tmp_path: Path) -> None:
    path = table(tmp_path, BAD)
    list(kg.add(path, policy="quarantine"))
    apart = quarantine_graphs(kg)
    note = tmp_path / "note.txt"
    note.write_text(
        "The River Inn is near Xizha. Xizha is an attraction in Wuzhen. 枕水酒店位于乌镇。\n", encoding="utf-8"
    )
    list(kg.add(note))
    assert only(kg.add(path)).outcome == "unchanged"
    kg.build()
    assert quarantine_graphs(kg) == apart
    assert kg.documents(State.QUARANTINED)
    assert not kg.query("ASK { ?s travel:starRating ?o }").boolean
    assert_lawful(kg)


def test_removing_a_quarantined_document_leaves_no_trace(kg: KnowledgeGraph, tmp_path: Path) -> None:
    before = kg.dump()
    list(kg.add(table(tmp_path, BAD), policy="quarantine"))
    assert kg.dump() != before
    kg.remove("hotels.csv")
    assert kg.dump() == before
    assert kg.documents() == []


def test_a_mended_file_leaves_quarantine(kg: KnowledgeGraph, tmp_path: Path) -> None:
    path = table(tmp_path, BAD)
    list(kg.add(path, policy="quarantine"))
    path.write_text(GOOD, encoding="utf-8")
    assert only(kg.add(path, policy="quarantine")).outcome == "replaced"
    assert not quarantine_graphs(kg)
    assert kg.query("ASK { ?s travel:starRating 4 }").boolean
    assert_lawful(kg)


def test_a_refused_new_version_leaves_the_old_one_in_place(kg: KnowledgeGraph, tmp_path: Path) -> None:
    path = table(tmp_path, GOOD)
    list(kg.add(path))
    before = kg.dump()
    path.write_text(BAD, encoding="utf-8")
    assert only(kg.add(path, policy="refuse")).outcome == "failed"
    assert kg.dump() == before
    assert_lawful(kg)


def test_what_was_wrong_before_is_not_held_against_a_document(kg: KnowledgeGraph, tmp_path: Path) -> None:
    list(kg.add(table(tmp_path, BAD)))
    note = tmp_path / "note.txt"
    note.write_text("The River Inn is a hotel in Wuzhen. The River Inn is near Xizha.\n", encoding="utf-8")
    added = only(kg.add(note, policy="refuse"))
    assert (added.outcome, added.findings) == ("added", ())


def test_a_second_value_that_a_document_brings_is_held_against_it(kg: KnowledgeGraph, tmp_path: Path) -> None:
    list(kg.add(table(tmp_path, GOOD)))
    other = table(tmp_path, GOOD.replace(",4\n", ",5\n"), "again.csv")
    added = only(kg.add(other, policy="refuse"))
    assert added.outcome == "failed"
    assert "MaxCount" in {finding.constraint for finding in added.findings}


def test_a_kill_leaves_a_quarantined_document_in_quarantine(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    with KnowledgeGraph.create(folder, ontology="travel") as kg:
        list(kg.add(table(tmp_path, BAD), policy="quarantine", build=False))
        (record,) = kg.documents()
        kg.registry.mark(record.document.iri, State.PROCESSING)  # as between graphs and registry
    with KnowledgeGraph.open(folder) as kg:
        assert kg.documents()[0].state is State.QUARANTINED
        assert not kg.query("ASK { ?s a travel:Hotel }").boolean
        assert_lawful(kg)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "mine.ttl").write_text(ONTOLOGY, encoding="utf-8")
    (tmp_path / "mine.shapes.ttl").write_text(SHAPES, encoding="utf-8")
    return tmp_path / "mine.ttl"


def test_shapes_beside_ones_own_ontology_go_with_it_and_are_held(own: Path, tmp_path: Path) -> None:
    with KnowledgeGraph.create(tmp_path / "workspace", ontology=str(own)) as kg:
        kg.__dict__["embedder"] = HashEmbedder()
        own.unlink()
        own.with_name("mine.shapes.ttl").unlink()
        assert (kg.folder / "ontology" / "mine.shapes.ttl").is_file()
        note = tmp_path / "note.txt"
        note.write_text("Xizha is an attraction in Wuzhen. Tickets for Xizha cost 150 CNY.\n", encoding="utf-8")
        chinese = tmp_path / "zh.txt"
        chinese.write_text("南浔古镇是湖州的景点。南浔古镇的门票是180元。\n", encoding="utf-8")
        added = list(kg.add(note, chinese, policy="refuse"))
        assert [item.outcome for item in added] == ["failed", "failed"]
        assert {f.told("zh") for item in added for f in item.findings} == {"门票最多100元。"}
        assert {f.told("en") for item in added for f in item.findings} == {"Tickets cost at most 100 yuan."}


@pytest.mark.parametrize(("severity", "outcome"), [("sh:Warning", "added"), ("sh:Violation", "failed")])
def test_only_what_can_refuse_a_document_is_judged_as_it_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, severity: str, outcome: str
) -> None:
    judged = []
    monkeypatch.setattr(
        shacl, "reported", lambda triples, shapes, real=shacl.reported: (judged.append(1), real(triples, shapes))[1]
    )
    (tmp_path / "mine.ttl").write_text(ONTOLOGY, encoding="utf-8")
    lesser = (
        SHAPES.partition(":Twice")[0]
        .replace("travel:Attraction ; sh:property [", f"travel:Hotel ; sh:property [ sh:severity {severity} ;")
        .replace("travel:ticketPrice", "travel:pricePerNight")
    )
    (tmp_path / "mine.shapes.ttl").write_text(lesser, encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "workspace", ontology=str(tmp_path / "mine.ttl")) as kg:
        added = only(kg.add(table(tmp_path, GOOD), policy="refuse", build=False))
        assert added.outcome == outcome
        assert bool(judged) == (outcome == "failed")


def test_a_constraint_in_sparql_looks_anywhere_and_fills_its_messages(own: Path, tmp_path: Path) -> None:
    with KnowledgeGraph.create(tmp_path / "workspace", ontology=str(own)) as kg:
        kg.__dict__["embedder"] = HashEmbedder()
        list(kg.add(table(tmp_path, "name,town,price_per_night\nRiver Inn,Wuzhen,480\n枕水酒店,乌镇,480\n")))
        found = [finding for finding in kg.check().findings if finding.constraint == "SPARQL"]
        assert len(found) == 2
        assert all(f.message.startswith("Priced as https://example.org/kg/entity/") for f in found)
        assert all(f.told("zh").endswith("同价。") for f in found)


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ("this is no Turtle", "line 1"),
        ("@prefix sh: <http://www.w3.org/ns/shacl#> . <urn:S> a sh:NodeShape ; sh:targetClass <urn:C> ;"
         ' sh:property [ sh:path <urn:p> ; sh:minCount "one" ] .', "urn:S is not well formed: sh:minCount"),
        ("", "holds no SHACL shape"),
    ],
)  # fmt: skip
def test_broken_shapes_stop_create_with_one_line_and_nothing_is_made(
    own: Path, tmp_path: Path, shapes: str, words: str
) -> None:
    own.with_name("mine.shapes.ttl").write_text(shapes, encoding="utf-8")
    with pytest.raises(OntologyError, match=words) as caught:
        KnowledgeGraph.create(tmp_path / "workspace", ontology=str(own))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "workspace").exists()


@pytest.mark.parametrize(
    ("select", "words"),
    [("SELECT $this { $this <urn:p> }", "cannot be used: line"), ("ASK { $this <urn:p> 1 }", "is no SELECT")],
)
def test_a_constraint_that_is_no_query_gives_one_line(
    kg: KnowledgeGraph, tmp_path: Path, select: str, words: str
) -> None:
    list(kg.add(table(tmp_path, GOOD)))
    file = tmp_path / "s.ttl"
    file.write_text(
        "@prefix sh: <http://www.w3.org/ns/shacl#> . <urn:S> a sh:NodeShape ;"
        f" sh:targetClass <https://w3id.org/kgplatform/travel#Hotel> ; sh:sparql [ sh:select '''{select}''' ] .",
        encoding="utf-8",
    )
    with pytest.raises(OntologyError, match=words) as caught:
        kg.check(shapes=[file])
    assert "urn:S" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_policy_of_the_settings_holds_unless_another_is_given(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    KnowledgeGraph.create(folder, ontology="travel").close()
    settings = folder / "kgplatform.toml"
    written = settings.read_text(encoding="utf-8")
    settings.write_text(f'{written}\n[checks]\npolicy = "refuse"\n', encoding="utf-8")
    with KnowledgeGraph.open(folder) as kg:
        assert only(kg.add(table(tmp_path, BAD), build=False)).outcome == "failed"
        assert only(kg.add(table(tmp_path, BAD), build=False, policy="accept")).outcome == "added"
        with pytest.raises(ConfigError, match="did you mean quarantine"):
            list(kg.add(table(tmp_path, GOOD), policy="quarantene"))
    settings.write_text(f'{written}\n[checks]\npolicy = "refused"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="did you mean refuse"):
        KnowledgeGraph.open(folder)


def test_the_verbs_tell_and_release(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "workspace"
    KnowledgeGraph.create(folder, ontology="travel").close()
    path = table(tmp_path, BAD_CHINESE)
    assert main(["add", str(path), "-w", str(folder), "--no-build", "--policy", "quarantine"]) == 1
    out, err = capfd.readouterr()
    assert "quarantined" in out
    assert "violates 枕水酒店" in out
    assert "1 quarantined" in err
    assert main(["documents", "-w", str(folder)]) == 0
    assert "1 in quarantine" in capfd.readouterr().err
    assert main(["check", "-w", str(folder), "--document", "hotels.csv", "--format", "json"]) == 1
    (finding,) = [f for f in json.loads(capfd.readouterr().out)["findings"] if f["severity"] == "violation"]
    assert finding["messages"].keys() == {"en", "zh"}
    assert main(["documents", "release", "nothing", "-w", str(folder)]) == 1
    assert "no document fits 'nothing'" in capfd.readouterr().err
    with pytest.raises(SystemExit):
        main(["add", str(path), "-w", str(folder), "--policy", "refused"])
    assert "did you mean refuse?" in capfd.readouterr().err


@pytest.mark.parametrize(("policy", "outcome"), [("accept", "added"), ("refuse", "failed"), ("quarantine", "failed")])
def test_a_table_that_is_read_in_batches_is_judged_when_it_is_in(
    kg: KnowledgeGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str, outcome: str
) -> None:
    monkeypatch.setattr("kgplatform.building.tabular.TableParts.is_large", lambda _parts, _path: True)
    before = kg.dump()
    added = only(kg.add(table(tmp_path, BAD), policy=policy))
    assert added.outcome == outcome
    assert bool(added.findings) is (outcome == "failed")
    assert (kg.dump() == before) is (outcome == "failed")
    assert_lawful(kg)
