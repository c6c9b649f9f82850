"""Large files of N-Triples: loaded by lines, with the same outcome as statement by statement."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.building import bulk
from kgplatform.building.rdf import LoadReport, load_rdf
from kgplatform.dataset import Change, EvidenceDataset
from kgplatform.errors import StoreError
from kgplatform.store import Store

BASE = "https://example.org/kg/"
XSD = "http://www.w3.org/2001/XMLSchema#"
P, GRAPH = NamedNode("urn:p"), NamedNode("urn:g")
CHUNK = NamedNode(f"{BASE}document/1/chunk/0")


def fact(number: int) -> Triple:
    return Triple(NamedNode(f"urn:{number}"), P, Literal(number))


PLAIN = "".join(f"{fact(number)} .\n" for number in range(50))
TYPED = PLAIN + "".join(
    f'<urn:x> <urn:p> "{value}"^^<{XSD}{kind}> .\n'
    for value, kind in (
        ("01", "integer"),
        ("-0", "integer"),
        ("7", "int"),
        ("1.50", "decimal"),
        ("1.5", "decimal"),
        ("0", "boolean"),
        ("2026-01-02", "date"),
        ("2026-01-02T00:00:00.000Z", "dateTime"),
        ("\\u0030\\u0031", "integer"),
        ("1e3", "double"),
    )
)


def loaded(
    path: Path, graph: NamedNode | None, *, has_evidence: bool, has_rejected: bool
) -> tuple[LoadReport, set[object]]:
    dataset = EvidenceDataset(Store.open(), BASE)
    if has_evidence:
        dataset.commit(Change(added={CHUNK: [fact(1), fact(2), fact(999)]}))
        dataset.state([fact(2), fact(3)])
    if has_rejected:
        dataset.reject([fact(1), fact(4)])
    report = load_rdf(dataset, path, graph=graph)
    assert dataset.violations() == (frozenset(), frozenset())
    return report, set(dataset.store.quads())


@pytest.mark.parametrize("text", [PLAIN, TYPED, PLAIN + PLAIN, PLAIN[:-1]], ids=["plain", "typed", "twice", "unended"])
@pytest.mark.parametrize("graph", [None, GRAPH, CHUNK], ids=["knowledge", "graph", "passage"])
@pytest.mark.parametrize("has_evidence", [False, True])
@pytest.mark.parametrize("has_rejected", [False, True])
def test_by_lines_and_by_statements_the_same_is_loaded(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    graph: NamedNode | None,
    has_evidence: bool,
    has_rejected: bool,
) -> None:
    path = tmp_path / "facts.nt"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(bulk, "_PIECE", 300)  # several pieces
    wanted = loaded(path, graph, has_evidence=has_evidence, has_rejected=has_rejected)
    monkeypatch.setattr(bulk, "LARGE_BYTES", 0)
    assert loaded(path, graph, has_evidence=has_evidence, has_rejected=has_rejected) == wanted


def test_a_large_file_does_go_by_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "facts.nt"
    path.write_text(TYPED, encoding="utf-8")
    dataset = EvidenceDataset(Store.open(), BASE)
    assert bulk.load_lines(dataset, path, GRAPH) is None
    monkeypatch.setattr(bulk, "LARGE_BYTES", 0)
    for graph in (GRAPH, None):
        found = bulk.load_lines(dataset, path, graph)
        assert found is not None
        assert found.read == 60


@pytest.mark.parametrize(
    "line",
    [
        "_:b <urn:p> <urn:b> .",
        "<urn:a> <urn:p>_:b .",
        "# said",
        "<urn:a> <urn:p> <urn:b> . # said",
        " <urn:a> <urn:p> <urn:b> .",
        "",
        "<urn:a> <urn:p> <urn:b>.",
    ],
)
def test_lines_that_are_not_plain_are_read_by_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    path = tmp_path / "facts.nt"
    path.write_text(f"{PLAIN}{line}\n{PLAIN}", encoding="utf-8")
    monkeypatch.setattr(bulk, "LARGE_BYTES", 0)
    assert bulk.load_lines(EvidenceDataset(Store.open(), BASE), path, GRAPH) is None


@pytest.mark.parametrize("graph", [None, GRAPH])
def test_a_large_file_that_breaks_in_the_middle_changes_nothing_and_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, graph: NamedNode | None
) -> None:
    path = tmp_path / "facts.nt"
    path.write_text(f"{PLAIN}<urn:a> <not an iri> <urn:b> .\n{PLAIN}", encoding="utf-8")
    monkeypatch.setattr(bulk, "LARGE_BYTES", 0)
    dataset = EvidenceDataset(Store.open(tmp_path / "store"), BASE)
    with pytest.raises(StoreError, match="line 51"):
        load_rdf(dataset, path, graph=graph)
    assert len(dataset.store) == 0
