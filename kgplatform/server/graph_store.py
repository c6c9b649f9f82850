"""``/graphs``: the SPARQL 1.1 Graph Store HTTP Protocol, and PATCH.

A graph is named by ``?graph=IRI`` or ``?default``, or by its address: ``/graphs/a/b`` is the graph
``<base>graphs/a/b``, whatever host the server is asked by.

Specification: https://www.w3.org/TR/sparql11-http-rdf-update/ §4 (names), §5 (operations).
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote

import pyoxigraph as ox
from flask import Blueprint, Response, request
from pyoxigraph import NamedNode, Quad, RdfFormat, Triple
from werkzeug.exceptions import RequestEntityTooLarge

from kgplatform.errors import KgPlatformError, StoreError
from kgplatform.server.access import Role, client, require
from kgplatform.server.endpoint import allowed_seconds, mark, streamed, version_problem, wanted
from kgplatform.server.http import check_conditions, graph_format, is_known, query_problem, store_problem, strong_tag
from kgplatform.sparql.protocol import GRAPHS, UPDATE_TYPE, Format, ProtocolError, listing, named
from kgplatform.sparql.rewrite import in_one_graph
from kgplatform.store.updates import GraphStore, by_graph
from kgplatform.store.versions import VersionError

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph


_MULTIPART = "multipart/form-data"
_SUFFIXES = {f".{item.extension}": item.name for item in GRAPHS} | {".owl": "rdfxml"}
_MOST_FILES = 100


def read_body(kg: KnowledgeGraph, *, base_iri: str) -> dict[NamedNode | None, list[Triple]]:
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
        for number, sent in enumerate(_files()):
            read = _parsed(kg, *sent, base_iri=base_iri)
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


def _files() -> Iterator[tuple[str, Format, IO[bytes]]]:
    """The files as they were sent: what each is called, its format, and its bytes."""
    media_type = (request.content_type or "").partition(";")[0].strip().lower()
    if media_type != _MULTIPART:
        yield "the body", _format(request.content_type or "", ""), request.stream
        return
    sent = [item for items in request.files.listvalues() for item in items]
    if not sent or len(sent) > _MOST_FILES:
        raise ProtocolError(400, "Bad request", f"the form holds {len(sent)} files; 1 to {_MOST_FILES} can be sent")
    for item in sent:
        name = item.filename or item.name or "a file"
        yield name, _format(item.content_type or "", name), item.stream


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
            f"{media_type or 'no Content-Type'} is not an RDF format; there is {listing(GRAPHS)}",
        )
    charset = parameters.lower().partition("charset=")[2].partition(";")[0].strip(' "') or "utf-8"
    if charset not in ("utf-8", "utf8", "us-ascii") and found.name != "rdfxml":
        raise ProtocolError(415, "Unsupported charset", f"{found.name} is UTF-8 here, not {charset[:40]}")
    return found


def _parsed(kg: KnowledgeGraph, name: str, format_: Format, stream: IO[bytes], *, base_iri: str) -> list[Quad]:
    with _on_disk(stream) as path:
        data = kg.workers.parse(
            path,
            media_type=format_.media_type,
            base_iri=base_iri,
            timeout_seconds=allowed_seconds(kg, None),
            source=name,
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


_METHODS = ("GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS")
_NOT_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|\\^`%?#\x7f-\x9f]")
_READ = ", ".join(item.media_type for item in GRAPHS)


def blueprint(kg: KnowledgeGraph) -> Blueprint:
    """The routes of the graph store."""
    routes = Blueprint("graph_store", __name__)
    graphs = GraphStore(kg.dataset, after=lambda: kg.inference.run())

    @routes.route("/graphs", defaults={"path": ""}, methods=_METHODS, provide_automatic_options=False)
    @routes.route("/graphs/<path:path>", methods=_METHODS, provide_automatic_options=False)
    def graph(path: str) -> Any:
        started = time.monotonic()
        if request.method == "OPTIONS":
            headers = {"Allow": ", ".join(_METHODS), "Accept-Post": _READ, "Accept-Patch": UPDATE_TYPE}
            return Response(status=204, headers=headers)
        require(Role.READ if request.method in ("GET", "HEAD") else Role.WRITE)
        try:
            return _answer(kg, graphs, path)
        except VersionError as error:
            return version_problem(error)
        except StoreError as error:
            return store_problem(error)
        except KgPlatformError as error:
            return query_problem(error, elapsed_seconds=time.monotonic() - started)

    return routes


def _answer(kg: KnowledgeGraph, graphs: GraphStore, path: str) -> Response:
    if request.method == "POST" and not path and not {"graph", "default"} & request.args.keys():
        return _create(kg, graphs)
    graph = _about(kg.base, path)
    match request.method:
        case "GET" | "HEAD":
            return _get(kg, graphs, graph)
        case "DELETE":
            return _delete(kg, graphs, graph)
        case "PATCH":
            return _patch(kg, graphs, graph)
        case _:
            return _write(kg, graphs, graph)


def _name(graph: NamedNode | None) -> str:
    """The IRI of the graph; empty for the default graph."""
    return graph.value if graph else ""


@contextmanager
def _writing(kg: KnowledgeGraph) -> Iterator[None]:
    """Holds the store; after it, whoever wrote reads what was written."""
    with kg.store.write_lock():
        yield
        kg.workers.refresh()
        kg.versions.rest()
    kg.store.flush()


def _about(base: str, path: str) -> NamedNode | None:
    """The graph that the request names.

    Raises:
        ProtocolError: 400, it names none, two, or one by a relative IRI.
    """
    given = request.args.getlist("graph")
    if len(given) + ("default" in request.args) + bool(path) != 1:
        raise ProtocolError(400, "Bad request", "name one graph: /graphs?graph=IRI, /graphs?default, or /graphs/NAME")
    if not given:
        return _below(base, path) if path else None
    mine = f"{request.url_root}graphs/"
    text = f"{base}graphs/{given[0].removeprefix(mine)}" if given[0].startswith(mine) else given[0]
    try:
        return NamedNode(text)
    except ValueError as error:
        raise ProtocolError(400, "Bad request", f"the graph's name is not an absolute IRI: {text[:200]!r}") from error


def _below(base: str, path: str) -> NamedNode:
    """The graph that the address is the name of; letters of every script stay as they are (RFC 3987 §2.2)."""
    escaped = _NOT_IN_IRI.sub(lambda found: quote(found.group(), safe=""), path)
    return NamedNode(f"{base}graphs/{escaped}")


def _get(kg: KnowledgeGraph, graphs: GraphStore, graph: NamedNode | None) -> Response:
    format_, version = graph_format("a graph"), wanted(kg)
    is_past = version is not None and not version.is_current
    tag = strong_tag(-version.number if version and is_past else kg.store.version, _name(graph), format_.name)
    with kg.versions.store(version) if version and is_past else nullcontext(kg.store) as store:
        if graph is not None and not store.has_graph(graph):
            raise ProtocolError(404, "Not found", f"there is no graph {_name(graph)}")
    if is_known(tag):
        return Response(status=304, headers={"ETag": tag, "Vary": "Accept, Accept-Encoding"})
    with kg.versions.snapshot(version) if version else nullcontext() as at:
        reply = kg.workers.graph(
            _name(graph),
            media_type=format_.media_type,
            skolem=graphs.skolem,
            timeout_seconds=allowed_seconds(kg, None),
            client=client().name,
            at=at,
        )
    headers = {
        "Content-Type": format_.content_type,
        "ETag": strong_tag(reply.version, _name(graph), format_.name),
        "Vary": "Accept",
        "Cache-Control": "no-cache",
    }
    return mark(streamed(reply, headers), version)


def _one_graph(found: dict[NamedNode | None, list[Triple]]) -> list[Triple]:
    if set(found) - {None}:
        raise ProtocolError(
            400, "Bad content", "the body names graphs itself; POST it to /graphs without a name, or send triples only"
        )
    return found.get(None, [])


def _write(kg: KnowledgeGraph, graphs: GraphStore, graph: NamedNode | None) -> Response:
    triples = _one_graph(read_body(kg, base_iri=_name(graph) or kg.base))
    with _writing(kg):
        check_conditions(kg.store.version, exists=graphs.exists(graph))
        write = graphs.put if request.method == "PUT" else graphs.merge
        is_new = write(graph, triples)
        version = kg.store.version
    headers = {"ETag": strong_tag(version, _name(graph))}
    return Response(status=201 if is_new else 204, headers=headers)


def _create(kg: KnowledgeGraph, graphs: GraphStore) -> Response:
    """A new graph with a name of its own; or, of a body that names graphs, each of them merged where it belongs."""
    name = secrets.token_hex(8)
    graph = NamedNode(f"{kg.base}graphs/{name}")
    found = read_body(kg, base_iri=graph.value)
    with _writing(kg):
        if set(found) - {None}:
            for known, triples in found.items():
                graphs.merge(known, triples)
            made = Response(status=204)
        else:
            graphs.put(graph, found.get(None, []))
            made = Response(status=201, headers={"Location": f"{request.url_root}graphs/{name}"})
    return made


def _delete(kg: KnowledgeGraph, graphs: GraphStore, graph: NamedNode | None) -> Response:
    with _writing(kg):
        check_conditions(kg.store.version, exists=graphs.exists(graph))
        if not graphs.delete(graph):
            raise ProtocolError(404, "Not found", f"there is no graph {_name(graph)}")
    return Response(status=204)


def _patch(kg: KnowledgeGraph, graphs: GraphStore, graph: NamedNode | None) -> Response:
    if request.mimetype != UPDATE_TYPE:
        raise ProtocolError(
            415,
            "Unsupported media type",
            f"a patch is a SPARQL Update, {UPDATE_TYPE}",
            headers=(("Accept-Patch", UPDATE_TYPE),),
        )
    if graphs.is_own(graph):
        raise ProtocolError(
            409, "Evidence", "this graph is evidence and is replaced as a whole; patch the default graph instead"
        )
    try:
        text = in_one_graph(request.get_data(cache=False).decode(), graph)
    except UnicodeDecodeError as error:
        raise ProtocolError(400, "Bad request", f"the patch is not UTF-8 (byte {error.start})") from error
    kg.workers.try_update(text, base_iri=kg.base, timeout_seconds=allowed_seconds(kg, None), client=client().name)
    with _writing(kg):
        is_new = not graphs.exists(graph)
        check_conditions(kg.store.version, exists=not is_new)
        if graph is None:
            kg.update(text)
        else:
            kg.store.update(text, base_iri=kg.base)
    return Response(status=201 if is_new else 204)
