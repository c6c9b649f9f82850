"""The SPARQL 1.1 Protocol without I/O: what a request asks for or why it is refused, and how a result is written.

The web application and the workers that answer on connections of their own read, check and write by this module.
Specification: https://www.w3.org/TR/sparql11-protocol/ §2.1 (query), §2.2 (update); HTTP: RFC 9110, RFC 9112.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from pyoxigraph import NamedNode

from kgplatform.sparql.tokens import scan

_SHORT = 500


@dataclass(frozen=True, slots=True)
class Format:
    """A format on offer: its media type, the names it goes by in ``?format=`` and as an extension, and other types."""

    name: str
    media_type: str
    names: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    charset: bool = False

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def extension(self) -> str:
        """How the name of a file in the format ends."""
        return {"turtle": "ttl", "ntriples": "nt", "rdfxml": "rdf", "nquads": "nq"}.get(self.name, self.name)

    @property
    def content_type(self) -> str:
        """The value of the ``Content-Type`` header."""
        return f"{self.media_type}; charset=utf-8" if self.charset else self.media_type


ROWS = (
    Format("json", "application/sparql-results+json", ("srj",), ("application/json",)),
    Format("xml", "application/sparql-results+xml", ("srx",), ("application/xml", "text/xml")),
    Format("csv", "text/csv", (), (), charset=True),
    Format("tsv", "text/tab-separated-values", (), (), charset=True),
)
"""How rows and booleans can be written."""

GRAPHS = (
    Format("turtle", "text/turtle", ("ttl",), ("application/x-turtle",), charset=True),
    Format("ntriples", "application/n-triples", ("nt",), ("text/plain",), charset=True),
    Format("rdfxml", "application/rdf+xml", ("rdf", "xml"), ("application/xml", "text/xml")),
    Format("jsonld", "application/ld+json", ("json", "json-ld"), ("application/json",)),
    Format("trig", "application/trig", (), ("application/x-trig",), charset=True),
    Format("nquads", "application/n-quads", ("nq",), ("text/x-nquads",), charset=True),
)
"""How graphs can be written."""

TRIPLES = GRAPHS[:4]
"""Those that hold one graph, which pages offer for what is about one thing."""

HTML = Format("html", "text/html", ("htm",), ("application/xhtml+xml",), charset=True)


@dataclass(frozen=True, slots=True)
class _Range:
    type: str
    subtype: str
    quality: float

    def fits(self, media_type: str) -> int:
        """How exactly the range names the media type: 0 not at all, 1 ``*/*``, 2 ``text/*``, 3 by name."""
        type_, _, subtype = media_type.partition("/")
        if self.type == "*":
            return 1
        if self.type != type_:
            return 0
        return 2 if self.subtype == "*" else 3 if self.subtype == subtype else 0


def _ranges(accept: str) -> list[_Range]:
    found = []
    for part in accept.split(","):
        name, *parameters = (item.strip() for item in part.split(";"))
        type_, slash, subtype = name.lower().partition("/")
        if not slash or not type_ or not subtype:
            continue
        quality = 1.0
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip().lower() == "q":
                quality = _quality(value.strip())
        found.append(_Range(type_, subtype, quality))
    return found


def _quality(text: str) -> float:
    try:
        return min(1.0, max(0.0, float(text)))
    except ValueError:
        return 0.0


def choose(accept: str | None, offers: Sequence[Format]) -> Format | None:
    """The offer that the client likes best, the first of equals; None where it accepts none of them.

    >>> choose("text/csv;q=0.5, application/json", ROWS).name
    'json'
    >>> choose("image/png", ROWS) is None
    True
    """
    if not accept or not accept.strip():
        return offers[0]
    return (_known if len(accept) < _SHORT else _chosen)(accept, tuple(offers))


def _chosen(accept: str, offers: tuple[Format, ...]) -> Format | None:
    ranges = _ranges(accept)
    best, chosen = 0.0, None
    for offer in offers:
        liked = max(_liking(offer.media_type, ranges), *(_by_name(alias, ranges) for alias in offer.aliases), (0.0, 0))
        if liked[0] > best:
            best, chosen = liked[0], offer
    return chosen


_known = lru_cache(maxsize=256)(_chosen)


def _by_name(media_type: str, ranges: Sequence[_Range]) -> tuple[float, int]:
    """As `_liking`, but only where the client names the media type itself."""
    liked = _liking(media_type, ranges)
    return liked if liked[1] == 3 else (0.0, 0)


def _liking(media_type: str, ranges: Sequence[_Range]) -> tuple[float, int]:
    """The quality of the range that names the media type most exactly, and how exactly it does."""
    fitting = [(item.fits(media_type), item.quality) for item in ranges if item.fits(media_type)]
    if not fitting:
        return (0.0, 0)
    exactness, quality = max(fitting)
    return (quality, exactness)


def named(name: str, offers: Sequence[Format]) -> Format | None:
    """The offer that goes by the name, short or media type."""
    wanted = name.strip().lower().replace(" ", "+")
    for offer in offers:
        if wanted in (offer.name, *offer.names, offer.media_type, *offer.aliases):
            return offer
    return None


def listing(offers: Sequence[Format]) -> str:
    """The offers in words, for a message."""
    return ", ".join(f"{offer.media_type} (format={offer.name})" for offer in offers)


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
            raise ProtocolError(400, "Bad request", f"`{name}` is not an absolute IRI: {iri[:200]!r}") from error
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


FORWARDED: Final = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via")
"""Fields by which a proxy says that a request comes from elsewhere."""
PLAIN_BEGINNING: Final = b"GET /sparql?"
MOST_PLAIN_BYTES: Final = 16_384
_UNUSUAL = frozenset(
    name.lower()
    for name in (
        *("Authorization", "Origin", "If-None-Match", "If-Match", "Sec-Fetch-Site", *FORWARDED),
        *("Content-Length", "Transfer-Encoding", "Expect", "Upgrade", "Proxy-Connection"),
    )
)
_PLAIN_LINE = re.compile(rb"GET /sparql\?([!\"$-~]*) HTTP/1\.1\r\n")
_PLAIN_FIELD = re.compile(r"([A-Za-z][A-Za-z0-9-]*):[ \t]*([!-~](?:[ -~\t]*[!-~])?)?[ \t]*")


def plain_query(head: bytes, hosts: Collection[str]) -> tuple[QueryRequest, Mapping[str, str]] | None:
    """The query of a request that is no more than its head, and its fields by lower-case names; None: not plain.

    What is not plain, and every refusal, is the web application's business. ``hosts`` are the names that the server
    answers to (none: any).
    """
    line = _PLAIN_LINE.match(head)
    if line is None or not head.endswith(b"\r\n\r\n"):
        return None
    fields = _plain_fields(head[line.end() : -2])
    if fields is None or not is_host(fields.get("host", ""), hosts):
        return None
    try:
        asked = parse_request(HttpRequest("GET", line[1], accept=fields.get("accept")))
    except ProtocolError:
        return None
    if not isinstance(asked, QueryRequest) or asked.at or asked.format.name == "html":
        return None
    return None if scan(asked.text).reaches_network else (asked, fields)


@lru_cache(maxsize=256)
def _plain_fields(lines: bytes) -> dict[str, str] | None:
    """The fields of a head; None where one is unusual, sent twice, or not written as it should be."""
    fields: dict[str, str] = {}
    for line in lines.decode("latin-1").split("\r\n")[:-1]:
        field = _PLAIN_FIELD.fullmatch(line)
        if field is None or (name := field[1].lower()) in fields or name in _UNUSUAL:
            return None
        fields[name] = field[2] or ""
    return None if fields.get("connection", "keep-alive").lower() != "keep-alive" else fields


def is_host(host: str, hosts: Collection[str]) -> bool:
    """True if a ``Host`` header names one of the hosts, or there are none; HTTP/1.0 clients send no header."""
    return not hosts or not host or host_name(f"//{host}") in hosts


@lru_cache(maxsize=256)
def host_name(address: str) -> str:
    """The host of an address, in lower case; empty where it has none."""
    try:
        return (urlsplit(address).hostname or "").lower()
    except ValueError:
        return ""


PROCESS: Final = secrets.token_hex(4)
"""Versions are counted from the start of the process, so every process puts a name of its own into its tags."""
SERVER: Final = "kgplatform"
"""What the server calls itself in the header."""
LEAST_BYTES: Final = 1000
"""What is shorter is not worth packing."""
LEVEL: Final = 5
"""How hard gzip is to try."""
LAST_CHUNK: Final = b"0\r\n\r\n"
_CHANGING = frozenset({"NOW", "RAND", "UUID", "STRUUID", "BNODE", "SERVICE"})
"""Words for what is another one each time; what they are in has no tag."""


def weak_tag(version: int, *parts: str, process: str = PROCESS) -> str:
    """The tag of an answer that stays the same while the store does; ``parts`` are what it depends on besides."""
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return f'W/"{process}.{version}.{digest}"'


def query_tag(asked: QueryRequest, version: int, process: str = PROCESS) -> str | None:
    """The tag of the result of a query, as of that version of the store; None: another one comes each time."""
    if _CHANGING & scan(asked.text).keywords:
        return None
    graphs = (*asked.default_graphs, "", *asked.named_graphs)
    return weak_tag(version, asked.text, asked.format.name, *graphs, process=process)


def result_fields(asked: QueryRequest, version: int, started: float, process: str = PROCESS) -> dict[str, str]:
    """The header fields of the result of a query that began at ``started``, as of that version of the store."""
    tag = query_tag(asked, version, process)
    fields = {
        "Content-Type": asked.format.content_type,
        "Vary": "Accept",
        "Cache-Control": "no-store" if tag is None else "no-cache",
        "Server-Timing": f"query;dur={1000 * (time.monotonic() - started):.1f}",
    }
    if tag is not None:
        fields["ETag"] = tag
    return fields


@lru_cache(maxsize=256)
def takes_gzip(accept_encoding: str) -> bool:
    """True if an Accept-Encoding header has room for gzip (RFC 9110 §12.5.3).

    >>> takes_gzip("br;q=1.0, gzip;q=0.8"), takes_gzip("gzip;q=0, *"), takes_gzip("")
    (True, False, False)
    """
    wanted: dict[str, float] = {}
    for part in accept_encoding.lower().split(","):
        name, _, parameters = part.partition(";")
        quality = parameters.partition("q=")[2].strip()
        try:
            wanted[name.strip()] = float(quality) if quality else 1.0
        except ValueError:
            wanted[name.strip()] = 0.0
    return wanted.get("gzip", wanted.get("*", 0.0)) > 0


def response_head(fields: Mapping[str, str]) -> bytes:
    """The head of a successful response on a connection that stays open (RFC 9112)."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 200 OK\r\n{lines}Date: {_date(int(time.time()))}\r\nServer: {SERVER}\r\n\r\n".encode("latin-1")


@lru_cache(maxsize=4)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


def chunk(piece: bytes) -> bytes:
    """A piece of a response whose length is not known; ``LAST_CHUNK`` says that it was whole."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)
