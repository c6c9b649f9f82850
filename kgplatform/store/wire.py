"""How a query worker and its owner talk, and parts of the store written out in an order that the data alone decides.

A frame is one letter, the length of its payload in four bytes, and the payload. A request is one line of JSON.
Replies: ``H`` what the result is, ``R`` a batch of rows, ``D`` a piece of serialised text, ``X`` an error, ``E``
the end. Only what ends with ``E`` is whole. A connection that was handed over comes back with ``B``: to be watched
again; ``U``: the request on it is not plain; ``C``: it is over; ``X``: this is the answer to the request on it.

The statements of a part are sorted as lines, by parts on disk, and only then written in the format that is wanted, so
that two exports of one state can be compared. In the canonical form blank nodes too have names that depend on the data
alone (RDFC-1.0, https://www.w3.org/TR/rdf-canon/); that one is made in memory.
"""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import IO, Any

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple

from kgplatform.errors import KgPlatformError, QueryRejectedError, QuerySyntaxError, StoreError
from kgplatform.sparql.rewrite import with_named_columns
from kgplatform.sparql.tokens import scan
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store, in_order
from kgplatform.types import Term
from kgplatform.vocab import TYPE

HEAD = struct.Struct(">cI")
HEADER, ROWS, DATA, ERROR, END = b"H", b"R", b"D", b"X", b"E"
BACK, UNUSUAL, CLOSED = b"B", b"U", b"C"
OUT_OF_MEMORY = "out of memory"


class Task(StrEnum):
    """What a worker is to do: run a query, write out a graph or a part in order, read a file of RDF, try an update.

    Or answer on a connection that comes along, and give it back.
    """

    QUERY = "query"
    GRAPH = "graph"
    PART = "part"
    PARSE = "parse"
    TRY = "try"
    CONNECTION = "connection"
    RETURN = "return"


@dataclass(frozen=True, slots=True)
class Request:
    """A query to run: rows (``max_rows``) without a ``media_type``, else the result as text of that media type.

    ``default_graphs`` and ``named_graphs`` are IRIs and stand in place of the dataset that the query names
    (SPARQL 1.1 Protocol §2.1.4); both empty: the query decides. Relative IRIs are resolved against ``base_iri``.

    For the other tasks ``text`` is the graph to write out (empty: the default graph), that of a class (empty: the
    ``default_graphs``, without these all), or the update to try on the store in the folder ``path`` (empty: an
    empty one); ``path`` is the file to read. IRIs below ``skolem`` are written as blank nodes. With a connection
    ``text`` is how to answer on it, and ``version`` that of the snapshot.

    Whoever scanned the text and found it safe may say what else it learnt: ``ordered`` is the query with the columns
    of its star spelt out (empty: it is to be found out), ``prefixes`` those that it uses (None: nobody has looked).
    """

    text: str
    media_type: str = ""
    max_rows: int | None = None
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    base_iri: str | None = None
    task: Task = Task.QUERY
    path: str = ""
    skolem: str = ""
    ordered: str = ""
    prefixes: tuple[str, ...] | None = None
    as_triples: bool = False
    is_canonical: bool = False
    version: int = -1


_DEFAULTS = tuple((item.name, item.default) for item in fields(Request))
_LISTS = ("default_graphs", "named_graphs", "prefixes")


def query_request(
    text: str,
    prefixes: Collection[str],
    *,
    media_type: str,
    default_graphs: Iterable[str] = (),
    named_graphs: Iterable[str] = (),
    base_iri: str | None = None,
) -> Request:
    """The request to write the result of a query as text, with what its scan tells; ``prefixes`` are those known."""
    seen = scan(text)
    ordered = with_named_columns(text, seen)
    return Request(
        text,
        media_type=media_type,
        default_graphs=tuple(default_graphs),
        named_graphs=tuple(named_graphs),
        base_iri=base_iri,
        ordered=ordered if ordered != text else "",
        prefixes=tuple(name for name in seen.prefixes if name in prefixes),
    )


def encode_request(request: Request, snapshot: str) -> bytes:
    """The request and the folder of the snapshot it is meant for, as one line."""
    record = {name: value for name, default in _DEFAULTS if (value := getattr(request, name)) != default}
    record["snapshot"] = snapshot
    return json.dumps(record).encode() + b"\n"


def decode_request(line: bytes) -> tuple[Request, str]:
    """What `encode_request` wrote."""
    record = json.loads(line)
    snapshot = record.pop("snapshot")
    for name in _LISTS:
        if name in record:
            record[name] = tuple(record[name])
    if "task" in record:
        record["task"] = Task(record["task"])
    return Request(**record), snapshot


def frame(kind: bytes, payload: bytes = b"") -> bytes:
    """The frame, ready to be written."""
    return HEAD.pack(kind, len(payload)) + payload


def encode_term(term: Term | None) -> Any:
    """The term as a JSON value."""
    if term is None:
        return None
    if isinstance(term, NamedNode):
        return term.value
    if isinstance(term, BlankNode):
        return {"b": term.value}
    if isinstance(term, Triple):
        return {"t": [encode_term(term.subject), encode_term(term.predicate), encode_term(term.object)]}
    if term.language:
        direction = term.direction.value if term.direction else None
        return {"l": term.value, "lang": term.language, "dir": direction}
    return {"l": term.value, "type": term.datatype.value}


def decode_term(value: Any) -> Term | None:
    """The term that `encode_term` wrote."""
    if value is None:
        return None
    if isinstance(value, str):
        return NamedNode(value)
    if "b" in value:
        return BlankNode(value["b"])
    if "t" in value:
        subject, predicate, object_ = (decode_term(item) for item in value["t"])
        return Triple(subject, predicate, object_)  # type: ignore[arg-type]
    if "lang" in value:
        return Literal(value["l"], language=value["lang"], direction=value["dir"])
    return Literal(value["l"], datatype=NamedNode(value["type"]))


def encode_rows(rows: Iterable[tuple[Term | None, ...]]) -> bytes:
    """A batch of rows as JSON text."""
    return json.dumps([[encode_term(term) for term in row] for row in rows], ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )


def decode_rows(payload: bytes) -> list[tuple[Term | None, ...]]:
    """The rows that `encode_rows` wrote."""
    return [tuple(decode_term(item) for item in row) for row in json.loads(payload)]


def encode_error(error: KgPlatformError) -> bytes:
    """The error with what a caller wants to know of it."""
    record: dict[str, Any] = {"message": str(error)}
    if isinstance(error, QuerySyntaxError):
        record |= {"reason": error.reason, "line": error.line, "column": error.column}
    elif isinstance(error, QueryRejectedError):
        record |= {"issues": error.issues}
    return json.dumps(record).encode()


def decode_error(payload: bytes, query: str) -> KgPlatformError:
    """The error that `encode_error` wrote, about the query."""
    record = json.loads(payload)
    if "reason" in record:
        return QuerySyntaxError(record["reason"], query=query, line=record["line"], column=record["column"])
    if "issues" in record:
        return QueryRejectedError(tuple(record["issues"]), query=query)
    return StoreError(record["message"])


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
