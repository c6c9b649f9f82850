"""A part of the store, written out in an order that depends on the data alone, in flat memory.

The statements are sorted as lines, by parts on disk, and only then written in the format that is wanted, so that two
exports of one state can be compared. In the canonical form blank nodes too have names that depend on the data alone
(RDFC-1.0, https://www.w3.org/TR/rdf-canon/); that one is made in memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

import pyoxigraph as ox
from pyoxigraph import NamedNode, Quad, RdfFormat

from kgplatform.errors import StoreError
from kgplatform.store import DEFAULT_GRAPH, Store
from kgplatform.streams import in_order
from kgplatform.vocab import TYPE
from kgplatform.wire import Request

_IN_MEMORY = 1 << 22
_BETWEEN = b"\t"


@dataclass(frozen=True, slots=True)
class Counted:
    """How much is written out: different triples, and what they are about."""

    triples: int
    subjects: int


def write_out(store: Store, request: Request, output: Any, tell: Callable[[Counted], object]) -> None:
    """Writes what the request is about to ``output``; ``tell`` hears how much it is before the first byte.

    Raises:
        StoreError: the format has no place for it, or the disk refuses.
    """
    format_ = RdfFormat.from_media_type(request.media_type)
    quads = _chosen(store, request)
    try:
        if request.is_canonical:
            dataset = ox.Dataset(quads)
            dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
            quads = iter(dataset)
        with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as file:
            tell(_spooled((_line(quad, as_triple=request.as_triples) for quad in quads), file))
            found: Iterable[Any] = ox.parse(file, format=RdfFormat.N_QUADS)
            rows = (quad.triple for quad in found) if request.as_triples else found
            ox.serialize(rows, output, format=format_, prefixes=store.prefixes)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        raise StoreError(f"this cannot be written as {request.media_type}: {error}") from error


def _chosen(store: Store, request: Request) -> Iterator[Quad]:
    """The quads of the graphs named (an empty name: the default graph), of the things of the class, or all."""
    if request.text:
        members = (item.subject for item in store.quads(None, TYPE, NamedNode(request.text), DEFAULT_GRAPH))
        for thing in dict.fromkeys(members):
            yield from store.quads(thing, None, None, DEFAULT_GRAPH)
    elif request.default_graphs:
        for name in request.default_graphs:
            yield from store.quads(graph=NamedNode(name) if name else DEFAULT_GRAPH)
    else:
        yield from store.quads()


def _line(quad: Quad, *, as_triple: bool) -> bytes:
    """The quad as N-Quads has it; a tab, which sorts before everything that may follow, ends its triple."""
    graph = "" if as_triple or quad.graph_name == DEFAULT_GRAPH else str(quad.graph_name)
    return f"{quad.triple}\t{graph} .\n".encode() if graph else f"{quad.triple}\t.\n".encode()


def _spooled(lines: Iterable[bytes], file: IO[bytes]) -> Counted:
    """Puts the lines into the file in their order, for it to be read from its beginning; how much that is."""
    triples = subjects = 0
    last = about = b""
    for line in in_order(lines):
        triple, _, _ = line.rpartition(_BETWEEN)
        triples += triple != last
        subject, _, _ = triple.partition(b" ")
        subjects += subject != about
        last, about = triple, subject
        file.write(line)
    file.seek(0)
    return Counted(triples, subjects)
