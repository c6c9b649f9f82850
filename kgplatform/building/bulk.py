"""Large files of N-Triples, line by line: into the store by its own loader, without a Python object for each term.

A file qualifies if each line is one statement, ends in `` .``, and names no blank node and no triple term: such lines
can be counted, and given a graph, without being parsed. Anything else is for `kgplatform.building.rdf` to read.

Specification: https://www.w3.org/TR/n-triples/ §2 (a statement is a line).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyoxigraph as ox
from pyoxigraph import NamedNode, Quad, RdfFormat, Triple

from kgplatform.dataset import EvidenceDataset
from kgplatform.errors import StoreError

LARGE_BYTES = 4_000_000
"""Below, reading a file statement by statement is quick enough."""
_PIECE = 1 << 23
_END = b" .\n"
_ODD = (b"_:", b"<<", b"\r")
_XSD = rb"http://www\.w3\.org/2001/XMLSchema#"
_TYPED = re.compile(
    rb'"(?!(?:0|-?[1-9]\d{0,17})"\^\^<' + _XSD + rb"integer>)"
    rb'(?!-?(?:0|[1-9]\d{0,12})\.\d{0,4}[1-9]"\^\^<' + _XSD + rb"decimal>)"
    rb'(?!\d{4}-\d\d-\d\d"\^\^<' + _XSD + rb"date>)"
    rb'[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"\^\^<[^>\n]++>'
)
"""A typed literal, unless it is sure to come back from the store as it is written."""
_TESTED = 5_000
_MOST_EVIDENCE = 100_000


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many statements were in the file and how many quads are new, and the literals that the store rewrites."""

    read: int
    new: int
    rewritten: tuple[tuple[str, str], ...]


class _NotPlainError(ValueError):
    """A line is no plain statement."""


def load_lines(dataset: EvidenceDataset, path: Path, graph: NamedNode | None) -> Loaded | None:
    """Loads a large file of N-Triples into ``graph``, or states what it says; all of it or nothing.

    None: it has to be read statement by statement, and nothing was changed.
    """
    try:
        if path.stat().st_size < LARGE_BYTES:
            return None
    except OSError:
        return None
    lines = _Lines(path)
    with dataset.store.write_lock():
        before = len(dataset.store)
        try:
            is_in = _stated(dataset, lines) if graph is None else _put(dataset, lines, graph)
        except (StoreError, _NotPlainError):
            return None  # read in the other way it says where it is wrong
        if not is_in:
            return None
        return Loaded(lines.count, len(dataset.store) - before, tuple(sorted(lines.rewritten.items())))


class _Lines:
    """The lines of a file, looked at as they go by: how many there are, and which literals the store rewrites."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self.rewritten: dict[str, str] = {}

    def look(self) -> None:
        """Looks at all of them; raises as `pieces`."""
        for _ in self._parts():
            pass

    def pieces(self) -> Iterator[bytes]:
        """The file in large parts that end where a line does, each looked at while the one before it is loaded.

        Raises:
            _NotPlainError: a line is no plain statement.
            OSError: the file cannot be read.
        """
        parts = self._parts()
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(next, parts, None)
            while (piece := waiting.result()) is not None:
                waiting = pool.submit(next, parts, None)
                yield piece

    def _parts(self) -> Iterator[bytes]:
        left = b""
        with self.path.open("rb") as file:
            while data := file.read(_PIECE):
                whole, end, rest = data.rpartition(b"\n")
                if end:
                    yield self._noted(left + whole + end)
                    left = rest
                else:
                    left += data
        if left:
            yield self._noted(left + b"\n")

    def _noted(self, piece: bytes) -> bytes:
        lines = piece.count(b"\n")
        starts = piece.startswith(b"<") + piece.count(b"\n<")
        if not lines == starts == piece.count(_END) or any(sign in piece for sign in _ODD):
            raise _NotPlainError(self.path.name)
        self.count += lines
        found = iter(frozenset(_TYPED.findall(piece)))
        while tokens := list(islice(found, _TESTED)):
            try:
                self.rewritten |= _rewritten(tokens)
            except SyntaxError as error:
                raise _NotPlainError(str(error)) from error
        return piece


def _rewritten(tokens: list[bytes]) -> dict[str, str]:
    """Those of the literals that come back from a store in another form, with that form."""
    text = b"".join(b"<urn:n:%d> <urn:p> %s .\n" % pair for pair in enumerate(tokens))
    written = {quad.subject: quad.object for quad in ox.parse(text, format=RdfFormat.N_TRIPLES)}
    scratch = ox.Store()
    scratch.extend(Quad(node, NamedNode("urn:p"), literal) for node, literal in written.items())
    stored = ((str(written[quad.subject]), str(quad.object)) for quad in scratch)
    return {before: after for before, after in stored if before != after}


def _put(dataset: EvidenceDataset, lines: _Lines, graph: NamedNode) -> bool:
    """Puts the triples into a graph of their own; false where the graph is part of the knowledge."""
    if dataset.is_evidence(graph) or graph == dataset.rejected or dataset.is_of_document(graph):
        return False
    lines.look()
    with dataset.beside():
        dataset.store.add_triples(lines.path, graph)
    return True


def _stated(dataset: EvidenceDataset, lines: _Lines) -> bool:
    """States the triples as `EvidenceDataset.state` does; false where so much is known already that each is looked up.

    What other evidence holds needs no statement of its own: that is taken back after.
    """
    store = dataset.store
    if next(store.quads(graph=dataset.rejected), None) is not None:
        return False
    held = _otherwise_held(dataset)
    if held is None:
        return False
    mark = f" {dataset.asserted} .\n".encode()
    store.add((part for piece in lines.pieces() for part in (piece.replace(_END, mark), piece)), many=True)
    twice = [Quad(t.subject, t.predicate, t.object, dataset.asserted) for t in held if store.has(t, dataset.asserted)]
    dataset.write((), removed=twice)
    return True


def _otherwise_held(dataset: EvidenceDataset) -> list[Triple] | None:
    """What evidence holds that nobody stated; None: that is too much."""
    found: list[Triple] = []
    for graph in dataset.store.graphs():
        if graph in (dataset.asserted, dataset.inferred) or not dataset.is_evidence(graph):
            continue
        for quad in dataset.store.quads(graph=graph):
            if not dataset.store.has(quad.triple, dataset.asserted):
                found.append(quad.triple)
                if len(found) > _MOST_EVIDENCE:
                    return None
    return found
