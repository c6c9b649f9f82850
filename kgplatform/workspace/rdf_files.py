"""RDF files in and out: loaded into the dataset, dumped, exported in part, or written as a network.

The same state gives the same bytes, so that two exports can be compared line by line. With ``canonical`` blank nodes
too have names that depend on the data alone (RDFC-1.0, https://www.w3.org/TR/rdf-canon/).
"""

from __future__ import annotations

import difflib
import hashlib
import io
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, TypeAlias
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import pyoxigraph as ox
import zstandard
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple

from kgplatform.documents.records import State
from kgplatform.documents.registry import Registry
from kgplatform.errors import ConfigError, StoreError
from kgplatform.store import wire
from kgplatform.store.dataset import Change, EvidenceDataset
from kgplatform.store.oxigraph import as_stored, checked_iri, numbered, parse, skolemised, streamed
from kgplatform.store.wire import Counted, write_out
from kgplatform.vocab import LABEL, TYPE, VOID, words_of_iri

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
class LoadReport:
    """How many statements a file held and how many were new, and the literals that the store writes otherwise."""

    source: str
    read: int
    new: int
    rewritten: tuple[tuple[str, str], ...] = ()


class _NotPlainError(ValueError):
    """A line is no plain statement."""


def load_lines(dataset: EvidenceDataset, path: Path, graph: NamedNode | None) -> LoadReport | None:
    """Loads a large file of N-Triples into ``graph``, or states what it says, line by line; all of it or nothing.

    Each line has to be one statement (https://www.w3.org/TR/n-triples/ §2) that ends in `` .`` and names no blank node
    and no triple term: such lines can be counted, and given a graph, without being parsed. None: it has to be read
    statement by statement, and nothing was changed.
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
        new = len(dataset.store) - before
        return LoadReport(str(path), lines.count, new, tuple(sorted(lines.rewritten.items())))


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
    with store.together():
        store.add((part for piece in lines.pieces() for part in (piece.replace(_END, mark), piece)), many=True)
        twice = [
            Quad(t.subject, t.predicate, t.object, dataset.asserted) for t in held if store.has(t, dataset.asserted)
        ]
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


FORMATS: dict[str, RdfFormat] = {
    "turtle": RdfFormat.TURTLE,
    "ntriples": RdfFormat.N_TRIPLES,
    "nquads": RdfFormat.N_QUADS,
    "trig": RdfFormat.TRIG,
    "rdfxml": RdfFormat.RDF_XML,
    "jsonld": RdfFormat.JSON_LD,
}
"""The RDF formats by their names; trig, nquads and jsonld hold graphs, the others triples."""

_SUFFIXES = {
    ".ttl": "turtle",
    ".nt": "ntriples",
    ".nq": "nquads",
    ".trig": "trig",
    ".rdf": "rdfxml",
    ".owl": "rdfxml",
    ".xml": "rdfxml",
    ".jsonld": "jsonld",
}


def format_of(path: Path, name: str | None = None) -> RdfFormat:
    """The RDF format of that name, else the one that the file's suffix stands for.

    Raises:
        ConfigError: neither is known; the message offers the nearest.
    """
    wanted = name or _SUFFIXES.get(path.suffix.lower(), "")
    if wanted in FORMATS:
        return FORMATS[wanted]
    near = difflib.get_close_matches(wanted or path.suffix, [*FORMATS, *_SUFFIXES], n=1)
    hint = f"did you mean {near[0]}?" if near else f"formats are {', '.join(FORMATS)}"
    raise ConfigError(
        f"{path.name}: {wanted or path.suffix or '(no suffix)'} is not an RDF format; {hint}", setting="format"
    )


def load_rdf(
    dataset: EvidenceDataset, path: Path, *, graph: NamedNode | None = None, format_: str | None = None
) -> LoadReport:
    """Loads an RDF file: its triples are asserted, or put into ``graph``; its named graphs stay as they are.

    Raises:
        StoreError: the file cannot be read or does not parse; nothing was loaded.
        ConfigError: its format is not known.
    """
    kind = format_of(path, format_)
    if kind == RdfFormat.N_TRIPLES and (by_lines := load_lines(dataset, path, graph)):
        return by_lines
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}") from error
    prefix = f"{dataset.base}genid/{hashlib.sha256(data).hexdigest()[:12]}-"
    read = parse(data, kind, base_iri=path.resolve().as_uri(), source=str(path))
    quads = list(_without_blanks(numbered(read), prefix, graph))
    if not quads:
        raise StoreError(f"{path}: holds no statements")
    with dataset.store.write_lock():
        before = len(dataset.store)
        named: dict[NamedNode, list[Triple]] = {}
        plain: list[Triple] = []
        for item in quads:
            if isinstance(item.graph_name, NamedNode):
                named.setdefault(item.graph_name, []).append(item.triple)
            else:
                plain.append(item.triple)
        dataset.commit(Change(added=named))
        dataset.state(t for t in plain if not any(g != dataset.inferred for g in dataset.evidence_graphs(t)))
        new = len(dataset.store) - before
    return LoadReport(str(path), len(quads), new, _rewritten_literals(quads))


def _without_blanks(quads: Iterable[Quad], prefix: str, graph: NamedNode | None) -> Iterator[Quad]:
    """The quads with IRIs for blank nodes, so that loading a file twice adds nothing, in ``graph`` if one is given."""
    for item in quads:
        triple = next(iter(skolemised([item.triple], prefix)))
        name = graph or item.graph_name
        if not isinstance(name, NamedNode | DefaultGraph):
            name = NamedNode(f"{prefix}{name.value}")
        yield Quad(triple.subject, triple.predicate, triple.object, name)


def _rewritten_literals(quads: list[Quad]) -> tuple[tuple[str, str], ...]:
    """The literals that come back from the store in another form, such as ``"01"^^xsd:integer`` as ``"1"``."""
    literals = {item.object for item in quads if isinstance(item.object, Literal)}
    stored = ((literal, as_stored(literal)) for literal in literals)
    return tuple(sorted((str(before), str(after)) for before, after in stored if before != after))


def dump_rdf(
    dataset: EvidenceDataset, path: Path | None, *, graph: NamedNode | None = None, format_: str | None = None
) -> bytes:
    """The dataset as text, sorted so that dumps can be compared; also written to ``path`` if one is given.

    Formats of triples get the default graph, or ``graph``; formats of graphs get everything unless ``graph`` is given.

    Raises:
        StoreError: the graph is empty, or the file cannot be written (an earlier one is then left as it was).
        ConfigError: the format is not known.
    """
    data = export(dataset, Selection(graph), shape_of(path, format_))
    if path is not None:
        write_whole(path, data)
    return data


def write_whole(path: Path, data: bytes) -> None:
    """Writes the whole file or nothing; it stays as open to others as an earlier one was.

    Raises:
        StoreError: it cannot be written; an earlier one is left as it was.
    """
    if path.is_dir():
        raise StoreError(f"{path}: is a folder; name a file in it")
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        partial.touch(mode=path.stat().st_mode & 0o777 if path.exists() else 0o666)
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error


NETWORKS = ("graphml", "gexf")


def network(triples: Iterable[Triple], format_: str) -> bytes:
    """The statements between things as a network, its nodes with label and class; things are in IRI order.

    Specifications: http://graphml.graphdrawing.org/specification.html, https://gexf.net/schema.html (1.3).
    """
    labels: dict[str, str] = {}
    classes: dict[str, str] = {}
    edges: list[tuple[str, str, str]] = []
    for triple in triples:
        subject, predicate, object_ = triple.subject, triple.predicate, triple.object
        if not isinstance(subject, NamedNode):
            continue
        if predicate == LABEL and isinstance(object_, Literal):
            labels[subject.value] = min(labels.get(subject.value, object_.value), object_.value)
        elif predicate == TYPE and isinstance(object_, NamedNode):
            classes[subject.value] = min(classes.get(subject.value, object_.value), object_.value)
        elif isinstance(object_, NamedNode):
            edges.append((subject.value, predicate.value, object_.value))
    names = sorted({*classes, *labels, *(edge[0] for edge in edges), *(edge[2] for edge in edges)})
    nodes = [(name, labels.get(name) or words_of_iri(name), classes.get(name, "")) for name in names]
    root = _graphml(nodes, sorted(edges)) if format_ == "graphml" else _gexf(nodes, sorted(edges))
    indent(root)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode").encode() + b"\n"


_Nodes: TypeAlias = list[tuple[str, str, str]]
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _printable(text: str) -> str:
    """The text without the characters that XML 1.0 has no place for."""
    return _UNPRINTABLE.sub("", text)


def _graphml(nodes: _Nodes, edges: list[tuple[str, str, str]]) -> Element:
    root = Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    for key, target in (("label", "node"), ("class", "node"), ("property", "edge"), ("iri", "edge")):
        SubElement(root, "key", {"id": f"{target}_{key}", "for": target, "attr.name": key, "attr.type": "string"})
    graph = SubElement(root, "graph", edgedefault="directed")
    for name, label, class_ in nodes:
        node = SubElement(graph, "node", id=_printable(name))
        SubElement(node, "data", key="node_label").text = _printable(label)
        SubElement(node, "data", key="node_class").text = _printable(class_)
    for number, (source, property_, target) in enumerate(edges):
        edge = SubElement(graph, "edge", id=f"e{number}", source=_printable(source), target=_printable(target))
        SubElement(edge, "data", key="edge_property").text = words_of_iri(property_)
        SubElement(edge, "data", key="edge_iri").text = property_
    return root


def _gexf(nodes: _Nodes, edges: list[tuple[str, str, str]]) -> Element:
    root = Element("gexf", xmlns="http://gexf.net/1.3", version="1.3")
    graph = SubElement(root, "graph", defaultedgetype="directed", mode="static")
    for target, title in (("node", "class"), ("edge", "iri")):
        attributes = SubElement(graph, "attributes", {"class": target})
        SubElement(attributes, "attribute", id="0", title=title, type="string")
    listed = SubElement(graph, "nodes")
    for name, label, class_ in nodes:
        node = SubElement(listed, "node", id=_printable(name), label=_printable(label))
        SubElement(SubElement(node, "attvalues"), "attvalue", {"for": "0", "value": _printable(class_)})
    tied = SubElement(graph, "edges")
    for number, (source, property_, target) in enumerate(edges):
        label = words_of_iri(property_)
        ends = {"source": _printable(source), "target": _printable(target)}
        edge = SubElement(tied, "edge", {"id": str(number), "label": label, **ends})
        SubElement(SubElement(edge, "attvalues"), "attvalue", {"for": "0", "value": property_})
    return root


def between_things(triples: Iterable[Triple], known: Iterable[NamedNode]) -> Iterator[Triple]:
    """The statements without those about the ``known`` terms of the ontology."""
    terms = frozenset(known)
    return (triple for triple in triples if triple.subject not in terms)


_COMMENTED = frozenset({"turtle", "ntriples", "nquads", "trig"})
_ZSTD_LEVEL: Final = 10
_BLOCK: Final = 1 << 17
_CANONICAL: Final = frozenset({"nquads", "ntriples"})
_NOTHING: Final = "urn:kgplatform:nothing"
"""A graph that is never there."""


PACKERS: Final[dict[str, Callable[[], Any]]] = {
    "gz": lambda: zlib.compressobj(wbits=16 + zlib.MAX_WBITS),  # without name and time
    "zst": lambda: zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True).compressobj(),
}
"""How a file is packed, by the end of its name; the same data gives the same bytes."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What of the graph is meant: a graph, the things of a class, or what came with documents since a day; or all."""

    graph: NamedNode | None = None
    class_: NamedNode | None = None
    since: date | None = None


def selection_of(graph: str | None, class_: str | None, since: str | None) -> Selection:
    """The selection by a graph's IRI, a class's IRI, or a day; all where none is given.

    Raises:
        ConfigError: several are given, or one is no IRI or day.
    """
    if sum(map(bool, (graph, class_, since))) > 1:
        raise ConfigError("choose one of graph, class and since", setting="class")
    try:
        day = date.fromisoformat(since) if since else None
    except ValueError as error:
        raise ConfigError(f"since is a day such as 2026-05-01, not {(since or '')[:40]!r}", setting="since") from error
    return Selection(checked_iri(graph) if graph else None, checked_iri(class_) if class_ else None, day)


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
    if not counted.triples and selection.graph is not None:
        lister = "`kgplatform query -e 'SELECT DISTINCT ?g { GRAPH ?g {} }'` lists them"
        raise StoreError(f"no graph {selection.graph.value}; {lister}")
    if not counted.triples and selection != Selection():
        raise StoreError("there is nothing in this selection")
    if shape.format in NETWORKS:
        if most_ties is not None and counted.triples > most_ties:
            raise ConfigError(
                f"{counted.triples:,} statements are too many for a network over HTTP, where {most_ties:,} are allowed;"
                " choose a class or a graph, or use `kgplatform dump`",
                setting="format",
            )
        found = ox.parse(streamed(pieces), format=RdfFormat.N_TRIPLES)
        pieces = (network(between_things((quad.triple for quad in found), terms), shape.format),)
    elif shape.header and shape.format in _COMMENTED:
        pieces = chain((_header(base, selection, counted, state),), pieces)
    return iter(_packed(pieces, shape.packed) if shape.packed else pieces)


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
