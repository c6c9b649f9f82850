"""The graph on its way out: all of it, or a graph, a class, what came since a day; as RDF or as a network.

The same state gives the same bytes, so that two exports can be compared line by line. With ``canonical`` blank nodes
too have names that depend on the data alone (RDFC-1.0, https://www.w3.org/TR/rdf-canon/).
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

import pyoxigraph as ox
import zstandard
from pyoxigraph import NamedNode, Quad, RdfFormat, Triple

from kgplatform.building.network import NETWORKS, between_things, network
from kgplatform.building.rdf import FORMATS, format_of, write_whole
from kgplatform.dataset import EvidenceDataset
from kgplatform.documents.registry import Registry, State
from kgplatform.errors import ConfigError, StoreError
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.vocab import TYPE, VOID

_COMMENTED = frozenset({"turtle", "ntriples", "nquads", "trig"})
_ZSTD_LEVEL: Final = 10
_CANONICAL = {"nquads": RdfFormat.N_QUADS, "ntriples": RdfFormat.N_TRIPLES}


def _gzipped(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _zstandard(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True).compress(data)


PACKERS: Final = {"gz": _gzipped, "zst": _zstandard}
"""How a file is packed, by the end of its name; the same data gives the same bytes."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What of the graph is meant: a graph, the things of a class, or what came with documents since a day; or all."""

    graph: NamedNode | None = None
    class_: NamedNode | None = None
    since: date | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """How it is written: the name of a format, canonically, packed (``gz``, ``zst``), with a header on what it is."""

    format: str
    canonical: bool = False
    packed: str = ""
    header: bool = False


def shape_of(path: Path | None, name: str | None, *, canonical: bool = False, header: bool = False) -> Shape:
    """The shape that a file's name and a format's name stand for; ``.gz`` and ``.zst`` are packed.

    Raises:
        ConfigError: no such format is known, or it has no canonical form.
    """
    last = path.suffix.lower().removeprefix(".") if path is not None else ""
    packed = last if last in PACKERS else ""
    bare = path.with_suffix("") if path is not None and packed else path
    suffix = bare.suffix.lower().removeprefix(".") if bare is not None else ""
    if name in NETWORKS or (name is None and suffix in NETWORKS):
        chosen = name or suffix
    elif bare is None and name is None:
        chosen = "nquads"
    else:
        kind = format_of(bare or Path("-"), name)
        chosen = next(known for known, format_ in FORMATS.items() if format_ == kind)
    if canonical and chosen not in _CANONICAL:
        raise ConfigError(f"there is no canonical {chosen}; choose nquads or ntriples", setting="format")
    return Shape(chosen, canonical=canonical, packed=packed, header=header)


def export(
    dataset: EvidenceDataset,
    selection: Selection,
    shape: Shape,
    *,
    registry: Registry | None = None,
    terms: Iterable[NamedNode] = (),
    state: str = "",
) -> bytes:
    """The selection in that shape; ``state`` is how the header calls the state of the graph.

    Raises:
        StoreError: there is nothing in the selection, or the format has no place for it.
    """
    kind = FORMATS.get(shape.format)
    holds_graphs = kind is not None and kind.supports_datasets
    quads = _selected(dataset, selection, registry, holds_graphs=holds_graphs)
    if not quads and selection != Selection():
        raise StoreError("there is nothing in this selection")
    if kind is None:
        data = network(between_things((quad.triple for quad in quads), terms), shape.format)
    elif shape.canonical:
        data = _canonical(quads, shape.format)
    else:
        data = _written(dataset, quads, kind, as_triples=not holds_graphs or selection.graph is not None)
    if shape.header and shape.format in _COMMENTED:
        data = _header(dataset, selection, quads, state) + data
    return PACKERS[shape.packed](data) if shape.packed else data


def save(path: Path, data: bytes) -> None:
    """Writes the whole file or nothing; raises StoreError where it cannot be."""
    write_whole(path, data)


def _selected(
    dataset: EvidenceDataset, selection: Selection, registry: Registry | None, *, holds_graphs: bool
) -> list[Quad]:
    store = dataset.store
    if selection.graph is not None:
        return list(store.quads(graph=selection.graph))
    if selection.since is not None:
        graphs = _graphs_since(registry, selection.since)
        return [quad for graph in graphs for quad in store.quads(graph=graph)]
    if selection.class_ is not None:
        members = (item.subject for item in store.quads(None, TYPE, selection.class_, DEFAULT_GRAPH))
        return [quad for thing in dict.fromkeys(members) for quad in store.quads(thing, None, None, DEFAULT_GRAPH)]
    return list(store.quads() if holds_graphs else store.quads(graph=DEFAULT_GRAPH))


def _graphs_since(registry: Registry | None, since: date) -> list[NamedNode]:
    """The graphs of the documents that were read on that day or later, and of their passages or table."""
    found: list[NamedNode] = []
    for record in registry.documents(State.PROCESSED) if registry is not None else ():
        if str(record.updated)[:10] >= since.isoformat():
            found += [record.document.iri, *(chunk.iri for chunk in registry.chunks(record.document.iri))]  # type: ignore[union-attr]
            found += [record.graph] if record.graph is not None else []
    return found


def _written(dataset: EvidenceDataset, quads: list[Quad], kind: RdfFormat, *, as_triples: bool) -> bytes:
    rows: list[Triple] | list[Quad] = (
        sorted({quad.triple for quad in quads}, key=str) if as_triples else sorted(quads, key=str)
    )
    try:
        return dataset.store.serialise(rows, kind)
    except (ValueError, OSError) as error:
        raise StoreError(f"this cannot be written as {kind.name}: {error}") from error


def _canonical(quads: list[Quad], format_: str) -> bytes:
    found = ox.Dataset(quads)
    found.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    rows = found if format_ == "nquads" else {quad.triple for quad in found}
    lines = (ox.serialize(rows, format=_CANONICAL[format_]) or b"").splitlines(keepends=True)
    return b"".join(sorted(lines))


def _header(dataset: EvidenceDataset, selection: Selection, quads: list[Quad], state: str) -> bytes:
    """What the file is, in the words of VoID, as comments: they do not become part of what is loaded."""
    what = selection.graph or selection.class_ or selection.since or "all"
    lines = [
        f"<{dataset.base}dataset> a <{VOID}Dataset> .",
        f"<{dataset.base}dataset> <{VOID}triples> {len({quad.triple for quad in quads})} .",
        f"<{dataset.base}dataset> <{VOID}distinctSubjects> {len({quad.subject for quad in quads})} .",
        f"selection: {what}" + (f"; state: {state}" if state else ""),
    ]
    return "".join(f"# {line}\n" for line in lines).encode()
