"""The SPARQL 1.1 Protocol without I/O: from the parts of a request to what is to be run, or to the refusal.

Specification: https://www.w3.org/TR/sparql11-protocol/ §2.1 (query), §2.2 (update, which is refused here).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from kgplatform.lexing import scan
from kgplatform.web.negotiation import GRAPHS, HTML, ROWS, Format, choose, listing, named

MAX_BODY_BYTES = 2_000_000
FORM = "application/x-www-form-urlencoded"
QUERY_TYPE = "application/sparql-query"
UPDATE_TYPE = "application/sparql-update"


class ProtocolError(Exception):
    """A request that is refused: HTTP status, title and what to do instead; headers that the answer must carry."""

    def __init__(self, status: int, title: str, detail: str, *, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(detail)
        self.status = status
        self.title = title
        self.detail = detail
        self.headers = headers


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """The parts of a request that the protocol is about."""

    method: str
    arguments: bytes
    content_type: str = ""
    body: bytes = b""
    accept: str | None = None


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """A query to run and the format for its result; ``format`` HTML: the client is a browser that shows pages."""

    text: str
    form: str
    format: Format
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    timeout_seconds: float | None = None


def parse_request(request: HttpRequest) -> QueryRequest:
    """What the request asks for.

    Raises:
        ProtocolError: it is no query by the protocol, it is an update, or no format fits.
    """
    arguments = _pairs(request.arguments)
    if request.method == "POST":
        arguments = _posted(request, arguments)
    elif request.method not in ("GET", "HEAD"):
        raise ProtocolError(
            405, "Method not allowed", "ask with GET or POST", headers=(("Allow", "GET, HEAD, POST, OPTIONS"),)
        )
    text = _only_query(arguments)
    form = scan(text).form
    if form == "UPDATE":
        raise _no_updates()
    return QueryRequest(
        text=text,
        form=form,
        format=_format(form, arguments, request),
        default_graphs=_values(arguments, "default-graph-uri"),
        named_graphs=_values(arguments, "named-graph-uri"),
        timeout_seconds=_timeout(arguments),
    )


def _pairs(data: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(data.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=1000)
    except (UnicodeDecodeError, ValueError) as error:
        raise ProtocolError(400, "Bad request", f"the parameters cannot be read: {error}") from error


def _posted(request: HttpRequest, arguments: list[tuple[str, str]]) -> list[tuple[str, str]]:
    media_type, _, parameters = request.content_type.partition(";")
    media_type = media_type.strip().lower()
    if media_type == FORM:
        return [*arguments, *_pairs(request.body)]
    if media_type == UPDATE_TYPE:
        raise _no_updates()
    if media_type != QUERY_TYPE:
        raise ProtocolError(
            415, "Unsupported media type", f"post a form ({FORM}) with `query`, or the query itself as {QUERY_TYPE}"
        )
    charset = parameters.lower().partition("charset=")[2].strip(' "') or "utf-8"
    if charset not in ("utf-8", "utf8"):
        raise ProtocolError(415, "Unsupported charset", f"SPARQL is UTF-8 here, not {charset[:40]}")
    try:
        text = request.body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ProtocolError(400, "Bad request", f"the query is not UTF-8 (byte {error.start})") from error
    if _values(arguments, "query"):
        raise ProtocolError(400, "Bad request", "the query is in the body and in the address; send it once")
    return [*arguments, ("query", text)]


def _only_query(arguments: Sequence[tuple[str, str]]) -> str:
    queries = _values(arguments, "query")
    if _values(arguments, "update"):
        raise _no_updates()
    if len(queries) > 1:
        raise ProtocolError(400, "Bad request", f"there are {len(queries)} parameters `query`; send one")
    if not queries or not queries[0].strip():
        raise ProtocolError(
            400, "Bad request", "the parameter `query` is missing: ?query=SELECT * { ?s ?p ?o } LIMIT 10"
        )
    return queries[0]


def _values(arguments: Sequence[tuple[str, str]], name: str) -> tuple[str, ...]:
    return tuple(value for key, value in arguments if key == name)


def _timeout(arguments: Sequence[tuple[str, str]]) -> float | None:
    given = _values(arguments, "timeout")
    if not given:
        return None
    try:
        seconds = float(given[0])
    except ValueError as error:
        raise ProtocolError(400, "Bad request", "`timeout` is a number of seconds") from error
    if not 0 < seconds < 1e6:
        raise ProtocolError(400, "Bad request", "`timeout` is a number of seconds above 0")
    return seconds


def _format(form: str, arguments: Sequence[tuple[str, str]], request: HttpRequest) -> Format:
    offers = GRAPHS if form in ("CONSTRUCT", "DESCRIBE") else ROWS
    wanted = _values(arguments, "format")
    if wanted:
        chosen = named(wanted[0], offers)
    else:
        pages = (HTML,) if request.method == "GET" else ()
        chosen = choose(request.accept, (*offers, *pages))
    if chosen is None:
        asked = wanted[0][:80] if wanted else (request.accept or "")[:200]
        raise ProtocolError(
            406, "Not acceptable", f"the result cannot be written as {asked}; there is {listing(offers)}"
        )
    return chosen


def _no_updates() -> ProtocolError:
    return ProtocolError(
        403, "Read only", "this endpoint answers queries only; change the graph with `kgplatform update` or `load`"
    )
