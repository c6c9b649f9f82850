"""The SPARQL 1.1 Protocol without I/O: from the parts of a request to what is to be run, or to the refusal.

Specification: https://www.w3.org/TR/sparql11-protocol/ §2.1 (query), §2.2 (update).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import parse_qsl

from pyoxigraph import NamedNode

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
    """A query to run and the format for its result; ``format`` HTML: the client is a browser that shows pages.

    ``at``: the number or time of an earlier state to ask; empty: the present.
    """

    text: str
    form: str
    format: Format
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    timeout_seconds: float | None = None
    at: str = ""


@dataclass(frozen=True, slots=True)
class UpdateRequest:
    """An update to carry out, its patterns matched in the graphs named here where there are any."""

    text: str
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    timeout_seconds: float | None = None


_Arguments: TypeAlias = list[tuple[str, str]]
_QUERY_ONLY = ("default-graph-uri", "named-graph-uri", "at")
_UPDATE_ONLY = ("using-graph-uri", "using-named-graph-uri")


def parse_request(request: HttpRequest) -> QueryRequest | UpdateRequest | None:
    """What the request asks for; None: nothing, so that the description of the service is due (§2.1, last note).

    Raises:
        ProtocolError: it is neither query nor update by the protocol, or no format fits.
    """
    arguments = _pairs(request.arguments)
    if request.method == "POST":
        arguments = _posted(request, arguments)
    elif request.method not in ("GET", "HEAD"):
        raise ProtocolError(
            405, "Method not allowed", "ask with GET or POST", headers=(("Allow", "GET, HEAD, POST, OPTIONS"),)
        )
    elif not _has(arguments, "query", "update"):
        return None
    if _has(arguments, "update"):
        return _update(request.method, arguments)
    return _query(request, arguments)


def _query(request: HttpRequest, arguments: _Arguments) -> QueryRequest:
    text = _only(arguments, "query")
    if not text.strip():
        raise ProtocolError(400, "Bad request", "the query is empty: ?query=SELECT * { ?s ?p ?o } LIMIT 10")
    _refuse(arguments, _UPDATE_ONLY, "an update")
    form = scan(text).form
    if form == "UPDATE":
        raise ProtocolError(
            400, "Bad request", f"this is an update, not a query; POST it as `update`, or as {UPDATE_TYPE}"
        )
    return QueryRequest(
        text=text,
        form=form,
        format=_format(form, arguments, request),
        default_graphs=_iris(arguments, "default-graph-uri"),
        named_graphs=_iris(arguments, "named-graph-uri"),
        timeout_seconds=_timeout(arguments),
        at=_only(arguments, "at") if _has(arguments, "at") else "",
    )


def _update(method: str, arguments: _Arguments) -> UpdateRequest:
    if method != "POST":
        raise ProtocolError(400, "Bad request", "an update is sent with POST", headers=(("Accept-Post", UPDATE_TYPE),))
    if _has(arguments, "query"):
        raise ProtocolError(400, "Bad request", "the request has a query and an update; send one of them")
    _refuse(arguments, _QUERY_ONLY, "a query")
    return UpdateRequest(
        text=_only(arguments, "update"),
        default_graphs=_iris(arguments, "using-graph-uri"),
        named_graphs=_iris(arguments, "using-named-graph-uri"),
        timeout_seconds=_timeout(arguments),
    )


def _has(arguments: _Arguments, *names: str) -> bool:
    return any(key in names for key, _ in arguments)


def _refuse(arguments: _Arguments, names: tuple[str, ...], what: str) -> None:
    for key, _ in arguments:
        if key in names:
            raise ProtocolError(400, "Bad request", f"`{key}` belongs to {what}")


def _iris(arguments: _Arguments, name: str) -> tuple[str, ...]:
    found = _values(arguments, name)
    for iri in found:
        try:
            NamedNode(iri)
        except ValueError as error:
            raise ProtocolError(400, "Bad request", f"`{name}` is no absolute IRI: {iri[:200]!r}") from error
    return found


def _pairs(data: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(data.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=1000)
    except (UnicodeDecodeError, ValueError) as error:
        raise ProtocolError(400, "Bad request", f"the parameters cannot be read: {error}") from error


def _posted(request: HttpRequest, arguments: _Arguments) -> _Arguments:
    media_type, _, parameters = request.content_type.partition(";")
    media_type = media_type.strip().lower()
    if media_type not in (FORM, QUERY_TYPE, UPDATE_TYPE):
        raise ProtocolError(
            415,
            "Unsupported media type",
            f"post a form ({FORM}) with `query` or `update`, a query as {QUERY_TYPE}, or an update as {UPDATE_TYPE}",
            headers=(("Accept-Post", f"{FORM}, {QUERY_TYPE}, {UPDATE_TYPE}"),),
        )
    charset = parameters.lower().partition("charset=")[2].partition(";")[0].strip(' "') or "utf-8"
    if charset not in ("utf-8", "utf8"):
        raise ProtocolError(415, "Unsupported charset", f"SPARQL is UTF-8 here, not {charset[:40]}")
    if media_type == FORM:
        found = [*arguments, *_pairs(request.body)]
        if not _has(found, "query", "update"):
            raise ProtocolError(400, "Bad request", "the form has neither `query` nor `update`")
        return found
    name = "query" if media_type == QUERY_TYPE else "update"
    try:
        text = request.body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ProtocolError(400, "Bad request", f"the {name} is not UTF-8 (byte {error.start})") from error
    if _has(arguments, "query", "update"):
        raise ProtocolError(400, "Bad request", f"the {name} is in the body and in the address; send it once")
    return [*arguments, (name, text)]


def _only(arguments: _Arguments, name: str) -> str:
    found = _values(arguments, name)
    if len(found) != 1:
        raise ProtocolError(400, "Bad request", f"there are {len(found)} parameters `{name}`; send one")
    return found[0]


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
