"""Refusals as a client can use them: problem+json (RFC 9457), or a line of text, with the limit hit and a way on."""

from __future__ import annotations

import json

from flask import Response, request

from kgplatform.errors import (
    ConfigError,
    KgPlatformError,
    QueryError,
    QueryRejectedError,
    QuerySyntaxError,
    QueryTimeoutError,
    StoreError,
)
from kgplatform.running import QueryCancelledError
from kgplatform.web.messages import told
from kgplatform.web.negotiation import Format, choose
from kgplatform.workers import WorkersBusyError

_PROBLEMS = (
    Format("problem", "application/problem+json", (), ("application/json", "application/sparql-results+json")),
    Format("text", "text/plain", (), ("text/html", "text/csv"), charset=True),
)
_FULL = ("the dataset was not changed", "no snapshot", "the disk refuses")
_WAYS_ON = {
    504: "bind more of the patterns, add a LIMIT, or ask for a part at a time",
    503: "send the same request again in a moment",
    507: "the disk of the server is full or read-only; nothing was changed",
}


def problem(
    status: int, title: str, detail: str, *, headers: dict[str, str] | None = None, **extra: object
) -> Response:
    """A refusal as the client likes it: problem+json, or a line of text."""
    title, detail = told(title), told(detail)
    format_ = choose(request.headers.get("Accept"), _PROBLEMS) or _PROBLEMS[0]
    if format_.name == "text":
        body = f"{title}: {detail}\n"
    else:
        record = {"type": "about:blank", "title": title, "status": status, "detail": detail, **extra}
        body = json.dumps(record, ensure_ascii=False, indent=1) + "\n"
    fields = {"Content-Type": format_.content_type, "Vary": "Accept, Accept-Language, Cookie", **(headers or {})}
    return Response(body, status=status, headers=fields)


def query_status(error: KgPlatformError) -> tuple[int, str]:
    """The HTTP status and title for a query that was not carried out."""
    if isinstance(error, QuerySyntaxError):
        return 400, "Syntax error"
    if isinstance(error, QueryTimeoutError):
        return 504, "Query stopped"
    if isinstance(error, WorkersBusyError):
        return 503, "Busy"
    if isinstance(error, QueryCancelledError):
        return 503, "Query cancelled"
    if isinstance(error, QueryRejectedError):
        return 400, "Query refused"
    if isinstance(error, ConfigError):  # a parameter that makes no sense
        return 400, "Bad request"
    if isinstance(error, StoreError) and str(error).startswith(_FULL):
        return 507, "Not stored"
    return 500, "Query failed"


def query_problem(error: KgPlatformError, *, elapsed_seconds: float | None = None) -> Response:
    """The answer for a query or update that was not carried out."""
    status, title = query_status(error)
    extra: dict[str, object] = {}
    if isinstance(error, QuerySyntaxError) and error.line:
        lines = error.query.splitlines()
        extra = {"line": error.line, "column": error.column}
        if error.line <= len(lines):
            extra["text"] = lines[error.line - 1][:200]
    elif isinstance(error, QueryTimeoutError):
        extra = {"limit": "server.timeout_seconds", "seconds": error.seconds, "rows": 0}
    if elapsed_seconds is not None:
        extra["elapsed_seconds"] = round(elapsed_seconds, 3)
    if status in _WAYS_ON:
        extra["help"] = _WAYS_ON[status]
    is_told = isinstance(error, QueryError | ConfigError) or status == 507
    detail = str(error) if is_told else "the query could not be run"
    headers = {"Retry-After": "2"} if isinstance(error, WorkersBusyError) else {}
    return problem(status, title, detail, headers=headers, **extra)


def store_problem(error: StoreError) -> Response:
    """The answer for RDF that does not parse or cannot be stored."""
    detail = str(error)
    if detail.startswith("the dataset was not changed"):
        return problem(507, "Not stored", detail, help=_WAYS_ON[507])
    return problem(400, "Bad content", detail)
