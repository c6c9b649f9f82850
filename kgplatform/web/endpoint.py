"""``/sparql``: the SPARQL 1.1 Protocol over HTTP, run by workers that can be killed.

A small result is sent whole with its length. A large one is streamed as it is computed; one that has to be cut ends
with the connection, never as if it were whole. An update is tried on a copy of the store by a worker before it is
carried out here, so that none can hold the writer up.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import chain
from typing import IO, Any

from flask import Blueprint, Response, redirect, request, url_for
from pyoxigraph import NamedNode

from kgplatform.errors import KgPlatformError, QueryRejectedError
from kgplatform.lexing import scan
from kgplatform.rewriting import using
from kgplatform.versions import VersionError
from kgplatform.web.caching import is_known, weak_tag
from kgplatform.web.needs import Graph
from kgplatform.web.problems import problem as problem
from kgplatform.web.problems import query_problem as query_problem
from kgplatform.web.problems import query_status as query_status
from kgplatform.web.protocol import (
    FORM,
    QUERY_TYPE,
    UPDATE_TYPE,
    HttpRequest,
    ProtocolError,
    QueryRequest,
    UpdateRequest,
    parse_request,
)
from kgplatform.web.rights import Role, client, require
from kgplatform.web.travelling import mark, version_problem, wanted
from kgplatform.workers import Reply, Whole

_PIECE = 1 << 16
_METHODS = "GET, HEAD, POST, OPTIONS"
_CHANGING = frozenset({"NOW", "RAND", "UUID", "STRUUID", "BNODE", "SERVICE"})
"""Words for what is another one each time; what they are in has no tag."""


class _CutShortError(ConnectionAbortedError):
    """Tells the server to end the connection: what was sent is not the whole result."""


def blueprint(kg: Graph, describe: Callable[[], Response]) -> Blueprint:
    """The routes of the endpoint; ``describe`` answers those who ask for nothing."""
    routes = Blueprint("endpoint", __name__)

    @routes.route("/sparql", methods=["GET", "POST", "OPTIONS"], provide_automatic_options=False)
    @routes.route("/sparql/", methods=["GET", "POST", "OPTIONS"], provide_automatic_options=False)
    def sparql() -> Any:
        started = time.monotonic()
        if request.method == "OPTIONS":
            accepted = f"{FORM}, {QUERY_TYPE}, {UPDATE_TYPE}"
            return Response(status=204, headers={"Allow": _METHODS, "Accept-Post": accepted})
        try:
            asked = parse_request(_http_request())
            if isinstance(asked, UpdateRequest):
                return _update(kg, asked)
            require(Role.READ)
            if asked is None:
                return redirect(url_for("querying.query"), 303) if _wants_page() else describe()
            if asked.format.name == "html":
                return redirect(url_for("querying.query", query=asked.text), 303)
            return _answer(kg, asked, started)
        except VersionError as error:
            return version_problem(error)
        except KgPlatformError as error:
            return query_problem(error, elapsed_seconds=time.monotonic() - started)

    return routes


def _wants_page() -> bool:
    return "text/html" in request.headers.get("Accept", "")


def _http_request() -> HttpRequest:
    return HttpRequest(
        method=request.method,
        arguments=request.query_string,
        content_type=request.headers.get("Content-Type", ""),
        body=request.get_data(cache=False) if request.method == "POST" else b"",
        accept=request.headers.get("Accept"),
    )


def allowed_seconds(kg: Graph, wanted: float | None) -> float:
    """How long a request may take: as long as it wants, but not longer than the settings say."""
    limit = kg.settings.server.timeout_seconds
    return min(limit, wanted or limit)


def _update(kg: Graph, asked: UpdateRequest) -> Response:
    require(Role.WRITE)
    started = time.monotonic()
    default, named = ([NamedNode(iri) for iri in group] for group in (asked.default_graphs, asked.named_graphs))
    text = using(kg.resolved(asked.text), default, named)
    if (form := scan(text).form) not in ("UPDATE", ""):
        raise QueryRejectedError((f"this is a query ({form}), not an update; send it as `query`",), query=text)
    kg.workers.try_update(
        text, base_iri=kg.base, timeout_seconds=allowed_seconds(kg, asked.timeout_seconds), client=client().name
    )
    with kg.store.write_lock():
        kg.update(text)
        kg.workers.refresh()
    kg.store.flush()
    return Response(status=204, headers={"Server-Timing": f"update;dur={1000 * (time.monotonic() - started):.1f}"})


def _answer(kg: Graph, asked: QueryRequest, started: float) -> Response:
    is_steady = not _CHANGING & scan(asked.text).keywords
    version = wanted(kg, asked.at)
    is_past = version is not None and not version.is_current
    tag = weak_tag(-version.number if version and is_past else kg.store.version, *_depends_on(asked))
    if is_steady and request.method in ("GET", "HEAD") and is_known(tag):
        return Response(status=304, headers={"ETag": tag, "Vary": "Accept, Accept-Encoding"})
    with kg.versions.snapshot(version) if version else nullcontext() as at:
        reply = kg.workers.stream(
            kg.resolved(asked.text) if at is None else asked.text,
            media_type=asked.format.media_type,
            timeout_seconds=allowed_seconds(kg, asked.timeout_seconds),
            default_graphs=asked.default_graphs,
            named_graphs=asked.named_graphs,
            base_iri=kg.base,
            client=client().name,
            at=at,
        )
    return mark(streamed(reply, headers_of(asked, reply.version, started)), version)


def _depends_on(asked: QueryRequest) -> tuple[str, ...]:
    return (asked.text, asked.format.name, *asked.default_graphs, "", *asked.named_graphs)


def headers_of(asked: QueryRequest, version: int, started: float) -> dict[str, str]:
    """The header fields of the result of a query, as of that version of the store."""
    is_steady = not _CHANGING & scan(asked.text).keywords
    headers = {
        "Content-Type": asked.format.content_type,
        "Vary": "Accept",
        "Cache-Control": "no-cache" if is_steady else "no-store",
        "Server-Timing": f"query;dur={1000 * (time.monotonic() - started):.1f}",
    }
    if is_steady:
        headers["ETag"] = weak_tag(version, *_depends_on(asked))
    return headers


def streamed(reply: Reply | Whole, headers: dict[str, str]) -> Response:
    """The response with what a worker sends: whole if it is small, else as it comes.

    Raises:
        KgPlatformError: the worker could not do it, and nothing has been sent yet.
    """
    try:
        pieces = iter(reply)
        first, second = next(pieces, b""), next(pieces, None)
    except KgPlatformError:
        reply.close()
        raise
    if second is None:
        return Response(first, headers=headers)
    return sent_on(chain((first, second), pieces), reply, headers)


def sent_on(rest: Iterator[bytes], reply: Reply | Whole, headers: dict[str, str]) -> Response:
    """The response whose pieces are sent as they come, of a reply that is given back at its end."""
    if request.environ.get("SERVER_PROTOCOL") == "HTTP/1.0":  # where only the length tells a cut body from a whole one
        return _spooled(rest, headers)
    response = Response(_until_cut(rest), headers=headers)
    response.call_on_close(reply.close)
    return response


def _until_cut(pieces: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from pieces
    except KgPlatformError as error:
        raise _CutShortError(str(error)) from error


def _spooled(pieces: Iterator[bytes], headers: dict[str, str]) -> Response:
    file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=8 * _PIECE)  # noqa: SIM115
    length = sum(file.write(piece) for piece in pieces)
    file.seek(0)
    response = Response(iter(lambda: file.read(_PIECE), b""), headers={**headers, "Content-Length": str(length)})
    response.call_on_close(file.close)
    return response


__all__ = ["ProtocolError", "allowed_seconds", "blueprint", "problem", "query_problem", "query_status", "streamed"]
