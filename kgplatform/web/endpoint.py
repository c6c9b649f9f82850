"""``/sparql``: the SPARQL 1.1 Protocol over HTTP, queries only, run by workers that can be killed.

A small result is sent whole with its length. A large one is streamed as it is computed; one that has to be cut ends
with the connection, never as if it were whole.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from itertools import chain
from typing import IO, Any

from flask import Blueprint, Response, redirect, request, url_for

from kgplatform.errors import (
    KgPlatformError,
    QueryError,
    QueryRejectedError,
    QuerySyntaxError,
    QueryTimeoutError,
)
from kgplatform.web.needs import Graph
from kgplatform.web.negotiation import Format, choose
from kgplatform.web.protocol import HttpRequest, ProtocolError, QueryRequest, parse_request
from kgplatform.workers import WorkersBusyError

_PIECE = 1 << 16
_PROBLEMS = (
    Format("problem", "application/problem+json", (), ("application/json", "application/sparql-results+json")),
    Format("text", "text/plain", (), ("text/html", "text/csv"), charset=True),
)
_METHODS = "GET, HEAD, POST, OPTIONS"


class _CutShortError(ConnectionAbortedError):
    """Tells the server to end the connection: what was sent is not the whole result."""


def blueprint(kg: Graph) -> Blueprint:
    """The routes of the endpoint."""
    routes = Blueprint("endpoint", __name__)

    @routes.route("/sparql", methods=["GET", "POST", "OPTIONS"], provide_automatic_options=False)
    def sparql() -> Any:
        if request.method == "OPTIONS":
            return Response(status=204, headers={"Allow": _METHODS, "Accept-Post": "application/sparql-query"})
        if request.method == "GET" and not request.query_string and _wants_page():
            return redirect(url_for("querying.query"), 303)
        try:
            asked = parse_request(_http_request())
            if asked.format.name == "html":
                return redirect(url_for("querying.query", query=asked.text), 303)
            return _answer(kg, asked)
        except ProtocolError as error:
            return problem(error.status, error.title, error.detail, headers=dict(error.headers))
        except KgPlatformError as error:
            return query_problem(error)

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


def _answer(kg: Graph, asked: QueryRequest) -> Response:
    started = time.monotonic()
    limit = kg.settings.server.timeout_seconds
    reply = kg.workers.stream(
        asked.text,
        media_type=asked.format.media_type,
        timeout_seconds=min(limit, asked.timeout_seconds or limit),
        default_graphs=asked.default_graphs,
        named_graphs=asked.named_graphs,
    )
    try:
        pieces = iter(reply)
        first, second = next(pieces, b""), next(pieces, None)
    except KgPlatformError:
        reply.close()
        raise
    headers = {
        "Content-Type": asked.format.content_type,
        "Vary": "Accept",
        "Server-Timing": f"query;dur={1000 * (time.monotonic() - started):.1f}",
    }
    if second is None:
        return Response(first, headers=headers)
    rest = chain((first, second), pieces)
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


def query_status(error: KgPlatformError) -> tuple[int, str]:
    """The HTTP status and title for a query that was not carried out."""
    if isinstance(error, QuerySyntaxError):
        return 400, "Syntax error"
    if isinstance(error, QueryTimeoutError):
        return 504, "Query stopped"
    if isinstance(error, WorkersBusyError):
        return 503, "Busy"
    if isinstance(error, QueryRejectedError):
        return 400, "Query refused"
    return 500, "Query failed"


def query_problem(error: KgPlatformError) -> Response:
    """The answer for a query that was not carried out."""
    status, title = query_status(error)
    extra: dict[str, object] = {}
    if isinstance(error, QuerySyntaxError) and error.line:
        lines = error.query.splitlines()
        extra = {"line": error.line, "column": error.column}
        if error.line <= len(lines):
            extra["text"] = lines[error.line - 1][:200]
    elif isinstance(error, QueryTimeoutError):
        extra = {"seconds": error.seconds}
    detail = str(error) if isinstance(error, QueryError) else "the query could not be run"
    headers = {"Retry-After": "2"} if status == 503 else {}
    return problem(status, title, detail, headers=headers, **extra)


def problem(
    status: int, title: str, detail: str, *, headers: dict[str, str] | None = None, **extra: object
) -> Response:
    """A refusal as the client likes it: problem+json (RFC 9457), or a line of text."""
    format_ = choose(request.headers.get("Accept"), _PROBLEMS) or _PROBLEMS[0]
    if format_.name == "text":
        body = f"{title}: {detail}\n"
    else:
        record = {"type": "about:blank", "title": title, "status": status, "detail": detail, **extra}
        body = json.dumps(record, ensure_ascii=False, indent=1) + "\n"
    return Response(
        body, status=status, headers={"Content-Type": format_.content_type, "Vary": "Accept", **(headers or {})}
    )
