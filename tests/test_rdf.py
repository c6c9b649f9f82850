"""RDF in and out."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.building.rdf import FORMATS, dump_rdf, format_of, load_rdf
from kgplatform.dataset import Change, EvidenceDataset
from kgplatform.errors import ConfigError, KgPlatformError, StoreError
from kgplatform.store import DEFAULT_GRAPH, Store

BASE = "https://example.org/kg/"
P, GRAPH = NamedNode("https://example.org/p"), NamedNode("https://example.org/g")
TURTLE = """@prefix ex: <https://example.org/> .
ex:西栅 ex:p "乌镇"@zh , "01"^^<http://www.w3.org/2001/XMLSchema#integer> ; ex:near [ ex:p "blank" ] ; ex:rel <x> .
"""


@pytest.fixture
def dataset() -> EvidenceDataset:
    return EvidenceDataset(Store.open(), BASE)


@pytest.fixture
def turtle(tmp_path: Path) -> Path:
    path = tmp_path / "facts.ttl"
    path.write_text(TURTLE, encoding="utf-8")
    return path


def test_loading_twice_adds_nothing_blank_nodes_included(dataset: EvidenceDataset, turtle: Path) -> None:
    first = load_rdf(dataset, turtle)
    before = set(dataset.store.quads())
    second = load_rdf(dataset, turtle)
    assert (first.read, first.new) == (5, 10)
    assert (second.read, second.new) == (5, 0)
    assert set(dataset.store.quads()) == before
    assert dataset.violations() == (frozenset(), frozenset())


def test_literals_that_the_store_rewrites_are_reported(dataset: EvidenceDataset, turtle: Path) -> None:
    integer = "http://www.w3.org/2001/XMLSchema#integer"
    assert load_rdf(dataset, turtle).rewritten == ((f'"01"^^<{integer}>', f'"1"^^<{integer}>'),)


def test_loaded_statements_hold_as_asserted_and_can_be_put_beside(dataset: EvidenceDataset, turtle: Path) -> None:
    load_rdf(dataset, turtle, graph=GRAPH)
    assert not list(dataset.store.quads(graph=DEFAULT_GRAPH))
    assert len(list(dataset.store.quads(graph=GRAPH))) == 5
    load_rdf(dataset, turtle)
    triple = Triple(NamedNode("https://example.org/西栅"), P, Literal("乌镇", language="zh"))
    assert dataset.evidence_graphs(triple) == [dataset.asserted]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.ttl", b"<urn:a> <urn:b>", "line 1"),
        ("a.nt", b"<urn:a> <urn:b> 'x' .", "line 1"),
        ("a.ttl", b"", "holds no statements"),
        ("a.ttl", b"\xff\xfe\xff", "a.ttl"),
        ("a.rdf", b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY x "y">]><r/>', "DOCTYPE"),
        ("a.jsonld", b'{"@context": "https://example.org/context"}', "a.jsonld"),
        ("a.txt", b"", "txt is not an RDF format"),
        ("a", b"", r"\(no suffix\) is not an RDF format"),
    ],
)
def test_a_file_that_cannot_be_loaded_changes_nothing(
    dataset: EvidenceDataset, tmp_path: Path, name: str, data: bytes, reason: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(KgPlatformError, match=reason) as caught:
        load_rdf(dataset, tmp_path / name)
    assert len(dataset.store) == 0
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(dataset: EvidenceDataset, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"nowhere\.ttl: cannot be read: No such file"):
        load_rdf(dataset, tmp_path / "nowhere.ttl")


def test_a_mistyped_format_offers_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean turtle"):
        format_of(Path("x.ttl"), "turtel")
    assert format_of(Path("x.TTL")) == FORMATS["turtle"]
    assert format_of(Path("x.txt"), "nquads") == FORMATS["nquads"]


def filled(dataset: EvidenceDataset) -> EvidenceDataset:
    def fact(name: str) -> Triple:
        return Triple(NamedNode(f"https://example.org/{name}"), P, Literal(f'{name} "quoted"\n', language="en"))

    document = NamedNode(f"{BASE}document/{'a' * 16}")
    chunk = NamedNode(f"{document.value}/chunk/0")
    dataset.commit(Change(added={chunk: [fact("read"), fact("struck")], document: [fact("description")]}))
    dataset.commit(Change(added={GRAPH: [fact("beside")], dataset.links: [fact("linked")]}))
    dataset.state([fact("stated"), fact("read")])
    dataset.reject([fact("struck"), fact("never")])
    return dataset


@pytest.mark.parametrize("name", ["dump.nq", "dump.trig", "dump.jsonld"])
def test_a_dump_loaded_into_a_new_workspace_gives_the_same_quads(
    dataset: EvidenceDataset, tmp_path: Path, name: str
) -> None:
    data = dump_rdf(filled(dataset), tmp_path / name)
    assert (tmp_path / name).read_bytes() == data
    other = EvidenceDataset(Store.open(), BASE)
    load_rdf(other, tmp_path / name)
    assert set(other.store.quads()) == set(dataset.store.quads())
    assert other.violations() == (frozenset(), frozenset())
    assert dump_rdf(other, None) == dump_rdf(dataset, None)


def test_a_dump_is_sorted(dataset: EvidenceDataset) -> None:
    lines = dump_rdf(filled(dataset), None).decode().splitlines()
    assert len(lines) == len(dataset.store) == len(set(lines))
    again = EvidenceDataset(Store.open(), BASE)
    again.store.apply(added=list(dataset.store.quads())[::-1])
    assert dump_rdf(again, None).decode().splitlines() == lines


def test_formats_of_triples_get_the_knowledge_or_one_graph(dataset: EvidenceDataset, tmp_path: Path) -> None:
    filled(dataset)
    knowledge = dump_rdf(dataset, tmp_path / "a.nt").decode()
    assert {"read", "linked", "stated"} == {line.split()[0].rpartition("/")[2][:-1] for line in knowledge.splitlines()}
    assert dump_rdf(dataset, None, graph=GRAPH, format_="ntriples").decode().startswith("<https://example.org/beside>")
    with pytest.raises(StoreError, match="no graph urn:nothing"):
        dump_rdf(dataset, None, graph=NamedNode("urn:nothing"))


def test_a_dump_that_cannot_be_written_leaves_the_old_file(
    dataset: EvidenceDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "dump.nq"
    target.write_text("the old one")

    def full(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(StoreError, match="cannot be written: No space left on device"):
        dump_rdf(filled(dataset), target)
    assert target.read_text() == "the old one"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("place", ["missing/dump.nq", "file/dump.nq", "folder.nq"])
def test_a_place_that_cannot_be_written_is_named(dataset: EvidenceDataset, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder.nq").mkdir()
    with pytest.raises(StoreError) as caught:
        dump_rdf(filled(dataset), tmp_path / place)
    assert str(tmp_path / place) in str(caught.value)
    assert not list((tmp_path / "folder.nq").iterdir())
