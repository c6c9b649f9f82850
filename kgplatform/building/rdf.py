"""RDF in and out: files loaded into the dataset, the dataset written to a file."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple

from kgplatform.building.bulk import load_lines
from kgplatform.dataset import Change, EvidenceDataset
from kgplatform.errors import ConfigError, StoreError
from kgplatform.store import DEFAULT_GRAPH, as_stored, numbered, parse, skolemised

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


@dataclass(frozen=True, slots=True)
class LoadReport:
    """How many statements a file held and how many were new, and the literals that the store writes otherwise."""

    source: str
    read: int
    new: int
    rewritten: tuple[tuple[str, str], ...] = ()


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
    if kind == RdfFormat.N_TRIPLES and (lines := load_lines(dataset, path, graph)):
        return LoadReport(str(path), lines.read, lines.new, lines.rewritten)
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
    return LoadReport(str(path), len(quads), new, _rewritten(quads))


def _without_blanks(quads: Iterable[Quad], prefix: str, graph: NamedNode | None) -> Iterator[Quad]:
    """The quads with IRIs for blank nodes, so that loading a file twice adds nothing, in ``graph`` if one is given."""
    for item in quads:
        triple = next(iter(skolemised([item.triple], prefix)))
        name = graph or item.graph_name
        if not isinstance(name, NamedNode | DefaultGraph):
            name = NamedNode(f"{prefix}{name.value}")
        yield Quad(triple.subject, triple.predicate, triple.object, name)


def _rewritten(quads: list[Quad]) -> tuple[tuple[str, str], ...]:
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
    kind = FORMATS["nquads"] if path is None and format_ is None else format_of(path or Path("-"), format_)
    if graph is not None or not kind.supports_datasets:
        wanted = graph or DEFAULT_GRAPH
        triples = sorted((item.triple for item in dataset.store.quads(graph=wanted)), key=str)
        if graph is not None and not triples:
            raise StoreError(
                f"no graph {graph.value}; `kgplatform query -e 'SELECT DISTINCT ?g {{ GRAPH ?g {{}} }}'` lists them"
            )
        data = dataset.store.serialise(triples, kind)
    else:
        data = dataset.store.serialise(sorted(dataset.store.quads(), key=str), kind)
    if path is not None:
        write_whole(path, data)
    return data


def write_whole(path: Path, data: bytes) -> None:
    """Writes the whole file or nothing.

    Raises:
        StoreError: it cannot be written; an earlier one is left as it was.
    """
    if path.is_dir():
        raise StoreError(f"{path}: is a folder; name a file in it")
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error
