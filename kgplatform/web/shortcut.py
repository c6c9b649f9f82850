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
from itertools import chain
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication

_UNUSUAL = tuple(
    f"HTTP_{name.upper().replace('-', '_')}"
    for name in ("Authorization", "Origin", "If-None-Match", "If-Match", "Sec-Fetch-Site", *FORWARDED)
)


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
        if environ["PATH_INFO"] != "/sparql" or environ["REQUEST_METHOD"] != "GET":
            return self.inner(environ, start_response)
        started = time.monotonic()
        asked, name = self._plain(environ), environ.get("REMOTE_ADDR", "")
        if asked is None:
            return self.inner(environ, start_response)
        try:
            self._rates.take(name)
            return self._answer(environ, start_response, asked, name, started)
        except ProtocolError as error:
            refusal = (error.status, error.title, error.detail, dict(error.headers))
            return self._in_full(environ, start_response, lambda: problem(*refusal[:3], headers=refusal[3]))
        except KgPlatformError as error:
            failed, elapsed = error, time.monotonic() - started
            return self._in_full(environ, start_response, lambda: query_problem(failed, elapsed_seconds=elapsed))

    def _plain(self, environ: Mapping[str, Any]) -> QueryRequest | None:
        """The query, if it is to be answered here; None: the application knows what to do."""
        if any(name in environ for name in _UNUSUAL) or not self._access.admits_host(environ.get("HTTP_HOST", "")):
            return None
        address = environ.get("REMOTE_ADDR", "")
        if not address or self._rights.client("", address, is_forwarded=False).role < Role.READ:
            return None
        try:
            asked = parse_request(
                HttpRequest("GET", environ["QUERY_STRING"].encode("latin-1"), accept=environ.get("HTTP_ACCEPT"))
            )
        except ProtocolError:
            return None
        if not isinstance(asked, QueryRequest) or asked.at or asked.format.name == "html":
            return None
        return None if scan(asked.text).reaches_network else asked

    def _answer(
        self, environ: dict[str, Any], start_response: StartResponse, asked: QueryRequest, client: str, started: float
    ) -> Iterable[bytes]:
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
            return self._in_full(environ, start_response, lambda: sent_on(rest, reply, fields))
        fields |= self._always
        if len(first) >= LEAST_BYTES and takes_gzip(environ.get("HTTP_ACCEPT_ENCODING", "")):
            first = gzip.compress(first, LEVEL, mtime=0)
            fields["Content-Encoding"] = "gzip"
        fields["Content-Length"] = str(len(first))
        start_response("200 OK", list(fields.items()))
        return (first,)

    def _in_full(
        self, environ: dict[str, Any], start_response: StartResponse, make: Callable[[], Response]
    ) -> Iterable[bytes]:
        """The response with all that the application adds to its own."""
        with self._app.request_context(environ):
            response = self._app.process_response(make())
        return response(environ, start_response)
