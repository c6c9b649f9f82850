"""The graph on its way out: what is in an export, that it reads back, and that the same state gives the same bytes."""

from __future__ import annotations

import gzip
import random
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pyoxigraph as ox
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat

from kgplatform.building.exporting import Selection, Shape, export
from kgplatform.cli.main import main
from kgplatform.dataset import EvidenceDataset
from kgplatform.store import Store

BASE = "https://example.org/kg/"
DATA = """
PREFIX kg: <https://example.org/kg/> PREFIX t: <https://w3id.org/kgplatform/travel#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
kg:inn a t:Hotel ; rdfs:label "Inn"@en , "客栈"@zh ; t:near kg:town ; t:roomCount 12 .
kg:town a t:Town ; rdfs:label "乌镇"@zh .
"""


@pytest.fixture
def workspace(tmp_path: Path) -> str:
    folder = tmp_path / "kg"
    (tmp_path / "data.ttl").write_text(DATA, encoding="utf-8")
    assert main(["create", str(folder), "--ontology", "travel"]) == 0
    assert main(["load", str(tmp_path / "data.ttl"), "-w", str(folder)]) == 0
    return str(folder)


def test_a_class_is_exported_with_what_is_said_of_its_things(workspace: str, tmp_path: Path) -> None:
    target = tmp_path / "hotels.nt"
    assert main(["dump", str(target), "-w", workspace, "--class", "Hotel", "--header"]) == 0
    text = target.read_text(encoding="utf-8")
    assert text.startswith(f"# <{BASE}dataset> a <http://rdfs.org/ns/void#Dataset> .\n# <{BASE}dataset> ")
    subjects = {quad.subject.value for quad in ox.parse(text.encode(), format=RdfFormat.N_TRIPLES)}  # type: ignore[union-attr]
    assert subjects == {f"{BASE}inn"}
    assert "客栈" in text


def test_what_came_since_a_day_is_what_its_documents_brought(workspace: str, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("The Lantern Inn is a hotel in Wuzhen.")
    assert main(["add", str(tmp_path / "note.txt"), "-w", workspace, "--no-build"]) == 0
    assert main(["dump", str(tmp_path / "new.nq"), "-w", workspace, "--since", "2020-01-01"]) == 0
    graphs = {str(quad.graph_name) for quad in ox.parse((tmp_path / "new.nq").read_bytes(), format=RdfFormat.N_QUADS)}
    assert graphs
    assert all("/document/" in graph for graph in graphs)
    assert main(["dump", str(tmp_path / "none.nq"), "-w", workspace, "--since", "2999-01-01"]) == 1
    assert main(["dump", str(tmp_path / "none.nq"), "-w", workspace, "--since", "soon"]) == 2
    assert not (tmp_path / "none.nq").exists()


def test_a_packed_export_is_the_same_each_time(workspace: str, tmp_path: Path) -> None:
    for name in ("a.nq.gz", "b.nq.gz", "c.nq", "d.nq.zst", "e.nq.zst"):
        assert main(["dump", str(tmp_path / name), "-w", workspace]) == 0
    packed = (tmp_path / "a.nq.gz").read_bytes()
    assert packed == (tmp_path / "b.nq.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "c.nq").read_bytes()
    zipped = (tmp_path / "d.nq.zst").read_bytes()
    assert zipped == (tmp_path / "e.nq.zst").read_bytes()
    assert zstandard.ZstdDecompressor().decompressobj().decompress(zipped) == (tmp_path / "c.nq").read_bytes()


@pytest.mark.parametrize(
    ("format_", "space"), [("graphml", "{http://graphml.graphdrawing.org/xmlns}"), ("gexf", "{http://gexf.net/1.3}")]
)
def test_a_network_has_things_for_nodes_and_ties_for_edges(
    workspace: str, tmp_path: Path, format_: str, space: str
) -> None:
    target = tmp_path / f"net.{format_}"
    assert main(["dump", str(target), "-w", workspace]) == 0
    root = ElementTree.parse(target).getroot()
    nodes = {node.get("id") for node in root.iter(f"{space}node")}
    assert f"{BASE}inn" in nodes
    ties = {(edge.get("source"), edge.get("target")) for edge in root.iter(f"{space}edge")}
    assert (f"{BASE}inn", f"{BASE}town") in ties
    assert {end for tie in ties for end in tie} <= nodes
    assert "乌镇" in target.read_text(encoding="utf-8")


def test_two_choices_at_once_and_forms_that_are_not_there_are_refused(workspace: str) -> None:
    assert main(["dump", "-w", workspace, "--class", "Hotel", "--since", "2026-01-01"]) == 2
    assert main(["dump", "-w", workspace, "--canonical", "--format", "turtle"]) == 2
    assert main(["dump", "-w", workspace, "--format", "gephi"]) == 2


@settings(max_examples=30, deadline=None)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=8, unique=True),
    seed=st.integers(0, 1000),
)
def test_the_canonical_form_does_not_know_what_blank_nodes_were_called(pairs: list[tuple[int, int]], seed: int) -> None:
    written = []
    for names in (list("abcde"), random.Random(seed).sample(list("vwxyz"), 5)):
        store = Store.open()
        says = NamedNode("urn:says")
        quads = [Quad(BlankNode(names[s]), says, BlankNode(names[o])) for s, o in pairs]
        quads += [Quad(BlankNode(names[s]), says, Literal(str(s % 2))) for s, _ in pairs]
        for quad in quads:
            store._store.add(quad)
        written.append(export(EvidenceDataset(store, BASE), Selection(), Shape("nquads", canonical=True)))
    assert written[0] == written[1]
    assert written[0].count(b"\n") == len(set(quads))
