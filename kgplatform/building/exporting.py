"""The graph on its way out: all of it, or a graph, a class, what came since a day; as RDF or as a network.

The same state gives the same bytes, so that two exports can be compared line by line. With ``canonical`` blank nodes
too have names that depend on the data alone (RDFC-1.0, https://www.w3.org/TR/rdf-canon/).
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import pyoxigraph as ox
import zstandard
from pyoxigraph import NamedNode, RdfFormat

from kgplatform import wire
from kgplatform.building.network import NETWORKS, between_things, network
from kgplatform.building.rdf import FORMATS, format_of, write_whole
from kgplatform.dataset import EvidenceDataset
from kgplatform.documents.registry import Registry, State
from kgplatform.errors import ConfigError, StoreError
from kgplatform.parts import Counted, write_out
from kgplatform.streams import streamed
from kgplatform.vocab import VOID

_COMMENTED = frozenset({"turtle", "ntriples", "nquads", "trig"})
_ZSTD_LEVEL: Final = 10
_BLOCK: Final = 1 << 17
_CANONICAL: Final = frozenset({"nquads", "ntriples"})
_NOTHING: Final = "urn:kgplatform:nothing"
"""A graph that is never there."""


class Packer(Protocol):
    """What packs text piece by piece."""

    def compress(self, data: bytes, /) -> bytes:
        """What can be given out by now."""
        ...

    def flush(self) -> bytes:
        """The rest."""
        ...


def _gzipped() -> Packer:
    return zlib.compressobj(wbits=16 + zlib.MAX_WBITS)  # without name and time


def _zstandard() -> Packer:
    return zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True).compressobj()


PACKERS: Final[dict[str, Callable[[], Packer]]] = {"gz": _gzipped, "zst": _zstandard}
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


Reads: TypeAlias = "Callable[[wire.Request], tuple[Counted, Iterable[bytes]]]"
"""Who has a part of the store written out: how much it is, and its text in pieces."""


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

    def read(request: wire.Request) -> tuple[Counted, Iterable[bytes]]:
        output, told = io.BytesIO(), list[Counted]()
        write_out(dataset.store, request, output, told.append)
        return told[0], (output.getvalue(),)

    return b"".join(exported(read, dataset.base, selection, shape, registry=registry, terms=terms, state=state))


def exported(
    read: Reads,
    base: str,
    selection: Selection,
    shape: Shape,
    *,
    registry: Registry | None = None,
    terms: Iterable[NamedNode] = (),
    state: str = "",
    most_ties: int | None = None,
) -> Iterator[bytes]:
    """The same in pieces, as ``read`` gives the part of the store; what has to be in memory is a network.

    Raises:
        StoreError: there is nothing in the selection, or the format has no place for it; before the first piece.
        ConfigError: a network would have more than ``most_ties`` statements.
    """
    request = _request(selection, shape, registry)
    counted, pieces = read(request)
    if not counted.triples and selection != Selection():
        raise StoreError("there is nothing in this selection")
    if shape.format in NETWORKS:
        _check_size(counted.triples, most_ties)
        found = ox.parse(streamed(pieces), format=RdfFormat.N_TRIPLES)
        pieces = (network(between_things((quad.triple for quad in found), terms), shape.format),)
    elif shape.header and shape.format in _COMMENTED:
        pieces = chain((_header(base, selection, counted, state),), pieces)
    return iter(_packed(pieces, shape.packed) if shape.packed else pieces)


def _check_size(ties: int, most: int | None) -> None:
    if most is not None and ties > most:
        raise ConfigError(
            f"{ties:,} statements are too many for a network over HTTP, where {most:,} are allowed;"
            " choose a class or a graph, or use `kgplatform dump`",
            setting="format",
        )


def _packed(pieces: Iterable[bytes], packed: str) -> Iterator[bytes]:
    """The pieces packed; the same text gives the same bytes, whatever its pieces."""
    packer = PACKERS[packed]()
    text = streamed(pieces)
    while block := text.read(_BLOCK):
        if data := packer.compress(block):
            yield data
    yield packer.flush()


def _request(selection: Selection, shape: Shape, registry: Registry | None) -> wire.Request:
    """What is to be written out, in the words of a worker."""
    kind = FORMATS.get(shape.format, RdfFormat.N_TRIPLES)
    graphs: tuple[str, ...] = () if kind.supports_datasets else ("",)
    if selection.graph is not None:
        graphs = (selection.graph.value,)
    elif selection.since is not None:
        graphs = tuple(graph.value for graph in _graphs_since(registry, selection.since)) or (_NOTHING,)
    return wire.Request(
        selection.class_.value if selection.class_ is not None else "",
        media_type=kind.media_type,
        task=wire.Task.PART,
        default_graphs=graphs,
        as_triples=not kind.supports_datasets or selection.graph is not None,
        is_canonical=shape.canonical,
    )


def save(path: Path, data: bytes) -> None:
    """Writes the whole file or nothing; raises StoreError where it cannot be."""
    write_whole(path, data)


def _graphs_since(registry: Registry | None, since: date) -> list[NamedNode]:
    """The graphs of the documents that were read on that day or later, and of their passages or table."""
    found: list[NamedNode] = []
    for record in registry.documents(State.PROCESSED) if registry is not None else ():
        if str(record.updated)[:10] >= since.isoformat():
            found += [record.document.iri, *(chunk.iri for chunk in registry.chunks(record.document.iri))]  # type: ignore[union-attr]
            found += [record.graph] if record.graph is not None else []
    return found


def _header(base: str, selection: Selection, counted: Counted, state: str) -> bytes:
    """What the file is, in the words of VoID, as comments: they do not become part of what is loaded."""
    what = selection.graph or selection.class_ or selection.since or "all"
    lines = [
        f"<{base}dataset> a <{VOID}Dataset> .",
        f"<{base}dataset> <{VOID}triples> {counted.triples} .",
        f"<{base}dataset> <{VOID}distinctSubjects> {counted.subjects} .",
        f"selection: {what}" + (f"; state: {state}" if state else ""),
    ]
    return "".join(f"# {line}\n" for line in lines).encode()
