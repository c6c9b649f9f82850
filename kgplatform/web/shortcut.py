"""A short way for plain queries, beside the application: the same answers in a fraction of the time.

A look-up takes the store some ten microseconds, and a web framework ten times that for finding out that there is
nothing else to do: no body to read, no session, no page. So a GET of ``/sparql`` that asks nothing unusual is answered
here: no token, no page of another origin, no condition, no earlier state, no SERVICE. Everything else goes to the
application, and so does every refusal and every large result of a query asked here. The rules are the application's
own: who may read, how often, which host names, what a query may be, and that a worker runs it.
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from flask import Flask, Response

from kgplatform.errors import KgPlatformError
from kgplatform.lexing import scan
from kgplatform.web.compressing import LEAST_BYTES, LEVEL, takes_gzip
from kgplatform.web.endpoint import allowed_seconds, headers_of, sent_on
from kgplatform.web.needs import Graph
from kgplatform.web.problems import problem, query_problem
from kgplatform.web.protocol import HttpRequest, ProtocolError, QueryRequest, parse_request
from kgplatform.web.rates import Rates
from kgplatform.web.rights import FORWARDED, Rights, Role
from kgplatform.web.security import EXPOSED, FIXED, POLICY, Access, vary
from kgplatform.workers import Reply, Whole

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication

BEGUN: Final = "kgplatform.begun"
"""Where the environment of a request has what is begun of its answer."""
SERVER: Final = "kgplatform"
"""What the server calls itself in the header."""

_UNUSUAL = tuple(
    name.upper().replace("-", "_")
    for name in ("Authorization", "Origin", "If-None-Match", "If-Match", "Sec-Fetch-Site", *FORWARDED)
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole answer to a query: its header fields and its body."""

    fields: Mapping[str, str]
    body: bytes

    def as_http(self) -> bytes:
        """The response as it goes over a connection that stays open (RFC 9112)."""
        lines = "\r\n".join(map(": ".join, self.fields.items()))
        head = f"HTTP/1.1 200 OK\r\n{lines}\r\nDate: {_date(int(time.time()))}\r\nServer: {SERVER}\r\n\r\n"
        return head.encode("latin-1") + self.body


@dataclass(slots=True)
class Begun:
    """An answer that the application has to finish: a refusal, or a result that is too large to be sent at once."""

    response: Callable[[], Response]
    reply: Reply | Whole | None = None
    is_taken: bool = False

    def take(self) -> Response:
        """The response; whoever has it gives the worker back by closing it."""
        self.is_taken = True
        return self.response()

    def drop(self) -> None:
        """Gives the worker back unless somebody has taken the answer."""
        if not self.is_taken and self.reply is not None:
            self.reply.close()


class Shortcut:
    """The application behind a door that answers plain queries itself."""

    def __init__(self, app: Flask, kg: Graph, *, access: Access, rights: Rights, rates: Rates) -> None:
        self._app = app
        self.inner: WSGIApplication = app.wsgi_app
        self._kg = kg
        self._access = access
        self._rights = rights
        self._rates = rates
        fields: dict[str, str] = {"Vary": "Accept, Accept-Encoding"}
        if access.origins is None:
            fields |= {"Access-Control-Allow-Origin": "*"}
            fields |= {"Access-Control-Expose-Headers": EXPOSED}
        else:
            vary(fields, "Origin")
        self._always = {**fields, **FIXED, "Content-Security-Policy": POLICY}

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Answers the request, as WSGI has it."""
        found: Answer | Begun | None = environ.pop(BEGUN, None)
        if found is None and environ["PATH_INFO"] == "/sparql" and environ["REQUEST_METHOD"] == "GET":
            fields = {name[5:]: value for name, value in environ.items() if name.startswith("HTTP_")}
            found = self.answer(environ["QUERY_STRING"], fields, environ.get("REMOTE_ADDR", ""))
        if found is None:
            return self.inner(environ, start_response)
        if isinstance(found, Answer):
            start_response("200 OK", list(found.fields.items()))
            return (found.body,)
        with self._app.request_context(environ):  # with all that the application adds to its own
            response = self._app.process_response(self._taken(found))
        return response(environ, start_response)

    @staticmethod
    def _taken(begun: Begun) -> Response:
        """The response of what was begun; the problem where the rest of it fails before anything was sent."""
        try:
            return begun.take()
        except KgPlatformError as error:
            if begun.reply is not None:
                begun.reply.close()
            return query_problem(error)

    def answer(self, query: str, fields: Mapping[str, str], address: str) -> Answer | Begun | None:
        """What becomes of a GET of the endpoint from that address; None: the application knows what to do.

        ``query`` is what stands behind the question mark, ``fields`` the header by upper-case names with underscores.
        """
        started = time.monotonic()
        asked = self._plain(query, fields, address)
        if asked is None:
            return None
        try:
            self._rates.take(address)
            return self._answer(asked, fields, address, started)
        except ProtocolError as error:
            refusal, more = (error.status, error.title, error.detail), dict(error.headers)
            return Begun(lambda: problem(*refusal, headers=more))
        except KgPlatformError as error:
            failed, elapsed = error, time.monotonic() - started
            return Begun(lambda: query_problem(failed, elapsed_seconds=elapsed))

    def _plain(self, query: str, fields: Mapping[str, str], address: str) -> QueryRequest | None:
        """The query, if it is to be answered here."""
        if any(name in fields for name in _UNUSUAL) or not self._access.admits_host(fields.get("HOST", "")):
            return None
        if not address or self._rights.client("", address, is_forwarded=False).role < Role.READ:
            return None
        try:
            asked = parse_request(HttpRequest("GET", query.encode("latin-1"), accept=fields.get("ACCEPT")))
        except ProtocolError:
            return None
        if not isinstance(asked, QueryRequest) or asked.at or asked.format.name == "html":
            return None
        return None if scan(asked.text).reaches_network else asked

    def _answer(self, asked: QueryRequest, sent: Mapping[str, str], client: str, started: float) -> Answer | Begun:
        reply = self._kg.workers.stream(
            asked.text,
            media_type=asked.format.media_type,
            timeout_seconds=allowed_seconds(self._kg, asked.timeout_seconds),
            default_graphs=asked.default_graphs,
            named_graphs=asked.named_graphs,
            base_iri=self._kg.base,
            client=client,
        )
        try:
            pieces: Iterator[bytes] = iter(reply)
            first, second = next(pieces, b""), next(pieces, None)
        except KgPlatformError:
            reply.close()
            raise
        fields = headers_of(asked, reply.version, started)
        if second is not None:
            rest = chain((first, second), pieces)
            return Begun(lambda: sent_on(rest, reply, fields), reply)
        fields |= self._always
        if len(first) >= LEAST_BYTES and takes_gzip(sent.get("ACCEPT_ENCODING", "")):
            first = gzip.compress(first, LEVEL, mtime=0)
            fields["Content-Encoding"] = "gzip"
        fields["Content-Length"] = str(len(first))
        return Answer(fields, first)


@lru_cache(maxsize=4)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
