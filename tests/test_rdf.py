"""RDF in and out: files loaded, by statements or by lines with the same outcome; dumps, exports and networks."""

import gzip
import random
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pyoxigraph as ox
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple
from workspaces import new_workspace

from kgplatform.cli.main import main
from kgplatform.errors import ConfigError, KgPlatformError, StoreError
from kgplatform.store.dataset import Change, EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store
from kgplatform.workspace import rdf_files as bulk
from kgplatform.workspace.rdf_files import FORMATS, Selection, Shape, dump_rdf, export, format_of, load_rdf

BASE = "https://example.org/kg/"
P, GRAPH = NamedNode("https://example.org/p"), NamedNode("https://example.org/g")
TURTLE = """@prefix ex: <https://example.org/> .
ex:西栅 ex:p "乌镇"@zh , "01"^^<http://www.w3.org/2001/XMLSchema#integer> ; ex:near [ ex:p "blank" ] ; ex:rel <x> .
"""


@pytest.fixture
def dataset():
    return EvidenceDataset(Store.open(), BASE)


@pytest.fixture
def turtle(tmp_path):
    path = tmp_path / "facts.ttl"
    path.write_text(TURTLE, encoding="utf-8")
    return path


def test_loading_twice_adds_nothing_and_says_what_the_store_rewrites(dataset, turtle):
    load_rdf(dataset, turtle, graph=GRAPH)  # beside
    assert not list(dataset.store.quads(graph=DEFAULT_GRAPH))
    assert len(list(dataset.store.quads(graph=GRAPH))) == 5
    first = load_rdf(dataset, turtle)
    before = set(dataset.store.quads())
    second = load_rdf(dataset, turtle)
    assert [(report.read, report.new) for report in (first, second)] == [(5, 10), (5, 0)]
    assert first.rewritten == ((f'"01"^^<{XSD}integer>', f'"1"^^<{XSD}integer>'),)
    assert set(dataset.store.quads()) == before
    assert dataset.violations() == (frozenset(), frozenset())
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
def test_a_file_that_cannot_be_loaded_changes_nothing(dataset, tmp_path, name, data, reason):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(KgPlatformError, match=reason) as caught:
        load_rdf(dataset, tmp_path / name)
    assert len(dataset.store) == 0
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named_and_a_mistyped_format_offers_the_nearest(dataset, tmp_path):
    with pytest.raises(StoreError, match=r"nowhere\.ttl: cannot be read: No such file"):
        load_rdf(dataset, tmp_path / "nowhere.ttl")
    with pytest.raises(ConfigError, match="did you mean turtle"):
        format_of(Path("x.ttl"), "turtel")
    assert format_of(Path("x.TTL")) == FORMATS["turtle"]
    assert format_of(Path("x.txt"), "nquads") == FORMATS["nquads"]


def filled(dataset):
    def fact(name):
        return Triple(NamedNode(f"https://example.org/{name}"), P, Literal(f'{name} "quoted"\n', language="en"))

    document = NamedNode(f"{BASE}document/{'a' * 16}")
    chunk = NamedNode(f"{document.value}/chunk/0")
    dataset.commit(Change(added={chunk: [fact("read"), fact("struck")], document: [fact("description")]}))
    dataset.commit(Change(added={GRAPH: [fact("beside")], dataset.links: [fact("linked")]}))
    dataset.state([fact("stated"), fact("read")])
    dataset.reject([fact("struck"), fact("never")])
    return dataset


@pytest.mark.parametrize("name", ["dump.nq", "dump.trig", "dump.jsonld"])
def test_a_dump_is_sorted_and_gives_the_same_quads_in_a_new_workspace(dataset, tmp_path, name):
    data = dump_rdf(filled(dataset), tmp_path / name)
    assert (tmp_path / name).read_bytes() == data
    other = EvidenceDataset(Store.open(), BASE)
    load_rdf(other, tmp_path / name)
    assert set(other.store.quads()) == set(dataset.store.quads())
    assert other.violations() == (frozenset(), frozenset())
    lines = dump_rdf(dataset, None).splitlines()
    assert len(lines) == len(dataset.store) == len(set(lines))
    assert dump_rdf(other, None).splitlines() == lines
    again = EvidenceDataset(Store.open(), BASE)
    again.store.apply(added=list(dataset.store.quads())[::-1])
    assert dump_rdf(again, None).splitlines() == lines


def test_formats_of_triples_get_the_knowledge_or_one_graph(dataset, tmp_path):
    filled(dataset)
    knowledge = dump_rdf(dataset, tmp_path / "a.nt").decode()
    assert {"read", "linked", "stated"} == {line.split()[0].rpartition("/")[2][:-1] for line in knowledge.splitlines()}
    assert dump_rdf(dataset, None, graph=GRAPH, format_="ntriples").decode().startswith("<https://example.org/beside>")
    with pytest.raises(StoreError, match="no graph urn:nothing"):
        dump_rdf(dataset, None, graph=NamedNode("urn:nothing"))


def test_a_dump_that_cannot_be_written_leaves_the_old_file(dataset, tmp_path, monkeypatch):
    target = tmp_path / "dump.nq"
    target.write_text("the old one")
    (tmp_path / "folder.nq").mkdir()
    for place in ("missing/dump.nq", "dump.nq/dump.nq", "folder.nq"):
        with pytest.raises(StoreError) as caught:
            dump_rdf(filled(dataset), tmp_path / place)
        assert str(tmp_path / place) in str(caught.value)

    def full(self, data):
        with self.open("wb") as file:
            file.write(data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(StoreError, match="cannot be written: No space left on device"):
        dump_rdf(dataset, target)
    assert target.read_text() == "the old one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dump.nq", "folder.nq"]


# Large files of N-Triples: loaded by lines, with the same outcome as statement by statement.


XSD = "http://www.w3.org/2001/XMLSchema#"
CHUNK = NamedNode(f"{BASE}document/1/chunk/0")


def fact(number):
    return Triple(NamedNode(f"urn:{number}"), NamedNode("urn:p"), Literal(number))


PLAIN = "".join(f"{fact(number)} .\n" for number in range(50))
VALUES = [
    *(("01", "integer"), ("-0", "integer"), ("7", "int"), ("1.50", "decimal"), ("1.5", "decimal"), ("0", "boolean")),
    *(
        ("2026-01-02", "date"),
        ("2026-01-02T00:00:00.000Z", "dateTime"),
        ("\\u0030\\u0031", "integer"),
        ("1e3", "double"),
    ),
]
TYPED = PLAIN + "".join(f'<urn:x> <urn:p> "{value}"^^<{XSD}{kind}> .\n' for value, kind in VALUES)


def loaded(path, graph, *, has_evidence, has_rejected):
    dataset = EvidenceDataset(Store.open(), BASE)
    if has_evidence:
        dataset.commit(Change(added={CHUNK: [fact(1), fact(2), fact(999)]}))
        dataset.state([fact(2), fact(3)])
    if has_rejected:
        dataset.reject([fact(1), fact(4)])
    report = load_rdf(dataset, path, graph=graph)
    assert dataset.violations() == (frozenset(), frozenset())
    return report, set(dataset.store.quads())


@pytest.mark.parametrize("text", [TYPED, PLAIN + PLAIN, PLAIN[:-1]], ids=["typed", "twice", "unended"])
@pytest.mark.parametrize("graph", [None, GRAPH, CHUNK], ids=["knowledge", "graph", "passage"])
def test_by_lines_and_by_statements_the_same_is_loaded(tmp_path, monkeypatch, text, graph):
    path = tmp_path / "facts.nt"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(bulk, "_PIECE", 300)  # several pieces
    states = [{"has_evidence": e, "has_rejected": r} for e in (False, True) for r in (False, True)]
    wanted = [loaded(path, graph, **state) for state in states]
    monkeypatch.setattr(bulk, "LARGE_BYTES", 0)
    assert [loaded(path, graph, **state) for state in states] == wanted


def test_a_large_file_of_plain_lines_only_goes_by_lines(tmp_path, monkeypatch, dataset):
    path = tmp_path / "facts.nt"
    path.write_text(TYPED, encoding="utf-8")
    assert bulk.load_lines(dataset, path, GRAPH) is None
    monkeypatch.setattr(bulk, "LARGE_BYTES", 0)
    assert [bulk.load_lines(dataset, path, graph).read for graph in (GRAPH, None)] == [60, 60]
    for line in (
        *("_:b <urn:p> <urn:b> .", "<urn:a> <urn:p>_:b .", "# said", "<urn:a> <urn:p> <urn:b> . # said"),
        *(" <urn:a> <urn:p> <urn:b> .", "", "<urn:a> <urn:p> <urn:b>."),
    ):
        path.write_text(f"{PLAIN}{line}\n{PLAIN}", encoding="utf-8")
        assert bulk.load_lines(dataset, path, GRAPH) is None


@pytest.mark.parametrize("graph", [None, GRAPH])
def test_a_large_file_that_breaks_in_the_middle_changes_nothing_and_says_where(tmp_path, monkeypatch, graph):
    path = tmp_path / "facts.nt"
    path.write_text(f"{PLAIN}<urn:a> <not an iri> <urn:b> .\n{PLAIN}", encoding="utf-8")
    monkeypatch.setattr(bulk, "LARGE_BYTES", 0)
    dataset = EvidenceDataset(Store.open(tmp_path / "store"), BASE)
    with pytest.raises(StoreError, match="line 51"):
        load_rdf(dataset, path, graph=graph)
    assert len(dataset.store) == 0


# The graph on its way out: what is in an export, that it reads back, and that the same state gives the same bytes.


DATA = """
PREFIX kg: <https://example.org/kg/> PREFIX t: <https://w3id.org/kgplatform/travel#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
kg:inn a t:Hotel ; rdfs:label "Inn"@en , "客栈"@zh ; t:near kg:town ; t:roomCount 12 .
kg:town a t:Town ; rdfs:label "乌镇"@zh .
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    (folder / "data.ttl").write_text(DATA, encoding="utf-8")
    workspace = str(new_workspace(folder / "kg"))
    assert main(["load", str(folder / "data.ttl"), "-w", workspace]) == 0
    return workspace


def test_a_class_is_exported_with_what_is_said_of_its_things(workspace, tmp_path):
    target = tmp_path / "hotels.nt"
    assert main(["dump", str(target), "-w", workspace, "--class", "Hotel", "--header"]) == 0
    text = target.read_text(encoding="utf-8")
    assert text.startswith(f"# <{BASE}dataset> a <http://rdfs.org/ns/void#Dataset> .\n# <{BASE}dataset> ")
    subjects = {quad.subject.value for quad in ox.parse(text.encode(), format=RdfFormat.N_TRIPLES)}
    assert subjects == {f"{BASE}inn"}
    assert "客栈" in text


def test_what_came_since_a_day_is_what_its_documents_brought(workspace, tmp_path):
    (tmp_path / "note.txt").write_text("The Lantern Inn is a hotel in Wuzhen.")
    assert main(["add", str(tmp_path / "note.txt"), "-w", workspace, "--no-build"]) == 0
    assert main(["dump", str(tmp_path / "new.nq"), "-w", workspace, "--since", "2020-01-01"]) == 0
    graphs = {str(quad.graph_name) for quad in ox.parse((tmp_path / "new.nq").read_bytes(), format=RdfFormat.N_QUADS)}
    assert graphs
    assert all("/document/" in graph for graph in graphs)
    assert main(["dump", str(tmp_path / "none.nq"), "-w", workspace, "--since", "2999-01-01"]) == 1
    assert main(["dump", str(tmp_path / "none.nq"), "-w", workspace, "--since", "soon"]) == 2
    assert not (tmp_path / "none.nq").exists()


def test_a_packed_export_is_the_same_each_time(workspace, tmp_path):
    for name in ("a.nq.gz", "b.nq.gz", "c.nq", "d.nq.zst", "e.nq.zst"):
        assert main(["dump", str(tmp_path / name), "-w", workspace]) == 0
    packed, again, plain, zipped, once_more = (path.read_bytes() for path in sorted(tmp_path.iterdir()))
    assert (packed, zipped) == (again, once_more)
    assert gzip.decompress(packed) == plain
    assert zstandard.ZstdDecompressor().decompressobj().decompress(zipped) == plain
    for wrong in (
        *(["--class", "Hotel", "--since", "2026-01-01"], ["--canonical", "--format", "turtle"], ["--format", "gephi"]),
    ):
        assert main(["dump", "-w", workspace, *wrong]) == 2


@pytest.mark.parametrize(
    ("format_", "space"), [("graphml", "{http://graphml.graphdrawing.org/xmlns}"), ("gexf", "{http://gexf.net/1.3}")]
)
def test_a_network_has_things_for_nodes_and_ties_for_edges(workspace, tmp_path, format_, space):
    target = tmp_path / f"net.{format_}"
    assert main(["dump", str(target), "-w", workspace]) == 0
    root = ElementTree.parse(target).getroot()
    nodes = {node.get("id") for node in root.iter(f"{space}node")}
    assert f"{BASE}inn" in nodes
    ties = {(edge.get("source"), edge.get("target")) for edge in root.iter(f"{space}edge")}
    assert (f"{BASE}inn", f"{BASE}town") in ties
    assert {end for tie in ties for end in tie} <= nodes
    assert "乌镇" in target.read_text(encoding="utf-8")


@settings(max_examples=30, deadline=None)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=8, unique=True),
    seed=st.integers(0, 1000),
)
def test_the_canonical_form_does_not_know_what_blank_nodes_were_called(pairs, seed):
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
