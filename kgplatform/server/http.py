"""What HTTP asks of every answer: entity tags and conditions, compression, refusals that a client can use.

Specifications: RFC 9110 §8.8.3 (tags) and §13.1 (conditions), RFC 9457 (problem+json).
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator

from flask import Response, has_request_context, request
from werkzeug.urls import iri_to_uri

from kgplatform.errors import (
    AwayError,
    ConfigError,
    KgPlatformError,
    QueryCancelledError,
    QueryError,
    QueryRejectedError,
    QuerySyntaxError,
    QueryTimeoutError,
    StoreError,
)
from kgplatform.server import words
from kgplatform.server.frame import language
from kgplatform.sparql.protocol import (
    GRAPHS,
    LEAST_BYTES,
    LEVEL,
    Format,
    ProtocolError,
    choose,
    listing,
    named,
    takes_gzip,
    weak_tag,
)
from kgplatform.store.worker_pool import WorkersBusyError

_TAG = re.compile(r'(?:W/)?"([^"]*)"')


def strong_tag(version: int, *parts: str) -> str:
    """As `weak_tag`, for what is the same byte for byte."""
    return weak_tag(version, *parts).removeprefix("W/")


def _state(tag: str) -> str:
    """The part of a tag that says which process and version it is of."""
    return tag.removeprefix("W/").strip('"').rpartition(".")[0]


def graph_format(what: str) -> Format:
    """The format that the request wants a graph in; ``what`` names it in the refusal.

    Raises:
        ProtocolError: 406, there is none such.
    """
    wanted, accept = request.args.get("format"), request.headers.get("Accept")
    chosen = named(wanted, GRAPHS) if wanted else choose(accept, GRAPHS)
    if chosen is None:
        asked = (wanted or accept or "")[:200]
        raise ProtocolError(406, "Not acceptable", f"{what} cannot be written as {asked}; there is {listing(GRAPHS)}")
    return chosen


def is_known(tag: str) -> bool:
    """Whether the client has the answer already: If-None-Match names the tag (weak comparison)."""
    header = request.headers.get("If-None-Match", "")
    return header.strip() == "*" or tag.removeprefix("W/").strip('"') in _TAG.findall(header)


def check_conditions(version: int, *, exists: bool) -> None:
    """Goes on with a write only if what it is to change is as the client knows it.

    Any tag of the present state counts, whichever format it was given out with.

    Raises:
        ProtocolError: 412, it is not.
    """
    matches = request.headers.get("If-Match")
    current = _state(strong_tag(version))
    if matches is not None:
        tags = [_state(f'"{tag}"') for tag in _TAG.findall(matches)]
        if not exists or (matches.strip() != "*" and current not in tags):
            raise ProtocolError(
                412, "Precondition failed", "the dataset has changed since; get the graph again, and its new ETag"
            )
    if (none := request.headers.get("If-None-Match")) is not None and exists:
        tags = [_state(f'"{tag}"') for tag in _TAG.findall(none)]
        if none.strip() == "*" or current in tags:
            raise ProtocolError(412, "Precondition failed", "the graph is there already")


_SQUEEZABLE = ("text/", "application/json", "application/sparql", "application/n-", "application/rdf", "application/ld")
_ALSO = ("application/trig", "application/problem+json", "application/javascript")


def compress(response: Response) -> Response:
    """The response, squeezed where that is of use."""
    if not _is_squeezable(response):
        return response
    response.vary.add("Accept-Encoding")
    if not takes_gzip(request.headers.get("Accept-Encoding", "")):
        return response
    if response.direct_passthrough:  # a script or style of the pages comes as a file, which is closed when it is read
        response.direct_passthrough = False
        response.make_sequence()
    if response.is_streamed:
        response.response = _squeezed(response.response)  # type: ignore[arg-type]
        response.headers.pop("Content-Length", None)
    else:
        data = response.get_data()
        if len(data) < LEAST_BYTES:
            return response
        response.set_data(gzip.compress(data, LEVEL, mtime=0))
    response.headers["Content-Encoding"] = "gzip"
    return response


_ADDRESS = re.compile(rb'((?:\s(?:href|src|action|formaction|data-[a-z-]+)|content)=")(/(?!/)[^"]*)')


def below_root(response: Response) -> Response:
    """The response with its addresses below the path at which the application is found, if that is not the root."""
    root = iri_to_uri(request.script_root)  # as browsers write it
    if not root:
        return response

    def below(address: str) -> str:
        is_ours = address.startswith("/") and not address.startswith(("//", f"{root}/"))
        return f"{root}{address}" if is_ours and address != root else address

    for name in ("Location", "Content-Location"):
        if address := response.headers.get(name):
            response.headers[name] = below(address)
    if links := response.headers.getlist("Link"):
        response.headers.setlist(
            "Link", [re.sub(r"<(/[^>]*)>", lambda found: f"<{below(found[1])}>", x) for x in links]
        )
    if response.mimetype == "text/html" and not response.direct_passthrough and not response.is_streamed:
        page = response.get_data()
        response.set_data(_ADDRESS.sub(lambda found: found[1] + below(found[2].decode()).encode(), page))
    return response


def _is_squeezable(response: Response) -> bool:
    if response.status_code in (204, 304) or (response.direct_passthrough and not request.path.startswith("/static/")):
        return False
    if "Content-Encoding" in response.headers or "Content-Range" in response.headers:
        return False
    if response.mimetype == "text/event-stream":  # an event is told when it comes, not when a block is full
        return False
    return response.content_type is not None and response.content_type.startswith(_SQUEEZABLE + _ALSO)


def _squeezed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces as one gzip stream; what interrupts them interrupts it, so that it has no end and no checksum."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    for piece in pieces:
        if packed := packer.compress(piece):
            yield packed
    yield packer.flush()


def event_stream(pieces: Iterator[bytes]) -> Response:
    """The server-sent events as they come, kept by nobody on the way."""
    headers = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
    return Response(pieces, content_type="text/event-stream", headers=headers)


def told(message: str) -> str:
    """The message in the interface language of the request that is being answered."""
    return words.in_chinese(message) if has_request_context() and language() == "zh" else message


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


_STATUSES: tuple[tuple[type[KgPlatformError], int, str], ...] = (
    (QuerySyntaxError, 400, "Syntax error"),
    (QueryTimeoutError, 504, "Query stopped"),
    (WorkersBusyError, 503, "Busy"),
    (QueryCancelledError, 503, "Query cancelled"),
    (QueryRejectedError, 400, "Query refused"),
    (ConfigError, 400, "Bad request"),  # a parameter that makes no sense
    (AwayError, 503, "Not changed"),
)


def query_status(error: KgPlatformError) -> tuple[int, str]:
    """The HTTP status and title for a query that was not carried out."""
    if isinstance(error, StoreError) and str(error).startswith(_FULL):
        return 507, "Not stored"
    return next(((code, title) for kind, code, title in _STATUSES if isinstance(error, kind)), (500, "Query failed"))


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
    is_told = isinstance(error, QueryError | ConfigError | AwayError) or status == 507
    detail = str(error) if is_told else "the query could not be run"
    headers = {"Retry-After": "2"} if isinstance(error, WorkersBusyError) else {}
    return problem(status, title, detail, headers=headers, **extra)


def store_problem(error: StoreError) -> Response:
    """The answer for RDF that does not parse or cannot be stored."""
    if query_status(error)[0] != 500:  # the disk or the database refuses
        return query_problem(error)
    return problem(400, "Bad content", str(error))
