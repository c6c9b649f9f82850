"""How a query worker and its owner talk: frames over pipes, terms as small JSON values.

A frame is one letter, the length of its payload in four bytes, and the payload. A request is one line of JSON.
Replies: ``H`` what the result is, ``R`` a batch of rows, ``D`` a piece of serialised text, ``X`` an error, ``E``
the end. Only what ends with ``E`` is whole.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from kgplatform.errors import KgPlatformError, QueryRejectedError, QuerySyntaxError, StoreError
from kgplatform.types import Term

HEAD = struct.Struct(">cI")
HEADER, ROWS, DATA, ERROR, END = b"H", b"R", b"D", b"X", b"E"


class Task(StrEnum):
    """What a worker is to do: run a query, write out a graph or a part in order, read a file of RDF, try an update."""

    QUERY = "query"
    GRAPH = "graph"
    PART = "part"
    PARSE = "parse"
    TRY = "try"


@dataclass(frozen=True, slots=True)
class Request:
    """A query to run: rows (``max_rows``) without a ``media_type``, else the result as text of that media type.

    ``default_graphs`` and ``named_graphs`` are IRIs and stand in place of the dataset that the query names
    (SPARQL 1.1 Protocol §2.1.4); both empty: the query decides. Relative IRIs are resolved against ``base_iri``.

    For the other tasks ``text`` is the graph to write out (empty: the default graph), that of a class (empty: the
    ``default_graphs``, without these all), or the update to try on the store in the folder ``path`` (empty: an
    empty one); ``path`` is the file to read. IRIs below ``skolem`` are written as blank nodes.

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


_DEFAULTS = tuple((item.name, item.default) for item in fields(Request))
_LISTS = ("default_graphs", "named_graphs", "prefixes")


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
