"""RDF that is sent in, read by a worker that may die of it, never by the process that serves."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyoxigraph as ox
from flask import request
from pyoxigraph import NamedNode, Quad, RdfFormat, Triple
from werkzeug.exceptions import RequestEntityTooLarge

from kgplatform.building.graph_store import by_graph
from kgplatform.web.endpoint import allowed_seconds
from kgplatform.web.needs import Graph
from kgplatform.web.negotiation import GRAPHS, Format, listing, named
from kgplatform.web.protocol import ProtocolError
from kgplatform.web.rights import client

_MULTIPART = "multipart/form-data"
_SUFFIXES = {
    ".ttl": "turtle",
    ".nt": "ntriples",
    ".rdf": "rdfxml",
    ".owl": "rdfxml",
    ".jsonld": "jsonld",
    ".trig": "trig",
    ".nq": "nquads",
}
_MOST_FILES = 100


@dataclass(frozen=True, slots=True)
class _File:
    """A file as it was sent: what it is called, its format, and its bytes."""

    name: str
    format: Format
    stream: IO[bytes]


def read_body(kg: Graph, *, base_iri: str) -> dict[NamedNode | None, list[Triple]]:
    """The triples of the body, or of the files in it, by the graph that the body itself puts them in.

    Raises:
        ProtocolError: 413, 415, or 400 where there is nothing to read.
        StoreError: it does not parse.
        QueryError: reading it took too long or too much memory.
    """
    limit = kg.settings.server.max_upload_mb * 1_000_000
    request.max_content_length = limit
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise ProtocolError(415, "Unsupported encoding", "send the body as it is, without Content-Encoding")
    too_large = ProtocolError(
        413, "Too large", f"{limit // 1_000_000} MB can be sent (server.max_upload_mb); use `kgplatform load`"
    )
    if (request.content_length or 0) > limit:
        raise too_large
    quads: list[Quad] = []
    try:
        for number, item in enumerate(_files()):
            read = _parsed(kg, item, base_iri=base_iri)
            quads += (_apart(quad, number) for quad in read) if number else read
    except RequestEntityTooLarge as error:
        raise too_large from error
    return by_graph(quads)


def _apart(quad: Quad, number: int) -> Quad:
    """The quad with blank nodes that are no other file's."""

    def term(node: object) -> object:
        if isinstance(node, ox.BlankNode):
            return ox.BlankNode(f"f{number}{node.value}")
        if isinstance(node, Triple):
            return Triple(term(node.subject), node.predicate, term(node.object))  # type: ignore[arg-type]
        return node

    return Quad(term(quad.subject), quad.predicate, term(quad.object), quad.graph_name)  # type: ignore[arg-type]


def _files() -> Iterator[_File]:
    media_type = (request.content_type or "").partition(";")[0].strip().lower()
    if media_type != _MULTIPART:
        yield _File("the body", _format(request.content_type or "", ""), request.stream)
        return
    sent = [item for items in request.files.listvalues() for item in items]
    if not sent or len(sent) > _MOST_FILES:
        raise ProtocolError(400, "Bad request", f"the form holds {len(sent)} files; 1 to {_MOST_FILES} can be sent")
    for item in sent:
        name = item.filename or item.name or "a file"
        yield _File(name, _format(item.content_type or "", name), item.stream)


def _format(content_type: str, name: str) -> Format:
    """The format by its media type, for files without one by their suffix.

    Raises:
        ProtocolError: 415.
    """
    media_type, _, parameters = content_type.partition(";")
    media_type = media_type.strip().lower()
    if media_type in ("", "application/octet-stream"):
        media_type = _SUFFIXES.get(Path(name).suffix.lower(), "")
    found = named(media_type, GRAPHS) if media_type else None
    if found is None or media_type in ("text/plain", "application/json", "text/xml", "application/xml"):
        raise ProtocolError(
            415,
            "Unsupported media type",
            f"{media_type or 'no Content-Type'} is no RDF format; there is {listing(GRAPHS)}",
        )
    charset = parameters.lower().partition("charset=")[2].partition(";")[0].strip(' "') or "utf-8"
    if charset not in ("utf-8", "utf8", "us-ascii") and found.name != "rdfxml":
        raise ProtocolError(415, "Unsupported charset", f"{found.name} is UTF-8 here, not {charset[:40]}")
    return found


def _parsed(kg: Graph, item: _File, *, base_iri: str) -> list[Quad]:
    with _on_disk(item.stream) as path:
        data = kg.workers.parse(
            path,
            media_type=item.format.media_type,
            base_iri=base_iri,
            timeout_seconds=allowed_seconds(kg, None),
            source=item.name,
            client=client().name,
        )
    return list(ox.parse(data, format=RdfFormat.N_QUADS))  # as a worker wrote it: flat, and of a known size


@contextmanager
def _on_disk(stream: IO[bytes]) -> Iterator[Path]:
    handle, name = tempfile.mkstemp(prefix="kgplatform-upload-")
    try:
        with os.fdopen(handle, "wb") as file:
            shutil.copyfileobj(stream, file, 1 << 20)
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
