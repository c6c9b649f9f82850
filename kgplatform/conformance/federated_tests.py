"""Tests of federated queries: the endpoints that a test names run here, and are asked over HTTP as any other.

Each test lists its endpoints and what they hold. One server on this machine plays all of them; the settings allow
exactly its addresses, and the addresses of the manifest stand for these, as a hosts file would have it. What is tested
is the way of a real ``SERVICE``: the block found, the other asked within its limits, the rows put in its place.

Specification: https://www.w3.org/TR/sparql11-federated-query/ §2.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs

from pyoxigraph import NamedNode, RdfFormat

from kgplatform import calls
from kgplatform.conformance.manifest import MF, QT, Case
from kgplatform.errors import KgPlatformError
from kgplatform.federation import Federation, FederationRules
from kgplatform.guarding import named_addresses
from kgplatform.store import Store
from kgplatform.types import Solutions


def endpoints(case: Case) -> dict[str, Store]:
    """What each endpoint of the test holds, by its address."""
    facts, found = case.facts, dict[str, Store]()
    for node in facts.values(facts.value(case.node, f"{MF}action") or case.node, f"{QT}serviceData"):
        address = facts.text(node, f"{QT}endpoint")
        found[address] = made = Store.open(prefixes={})
        for item in facts.values(node, f"{QT}data"):
            if isinstance(item, NamedNode):
                made._store.load(case.file(item).read_bytes(), format=RdfFormat.TURTLE, base_iri=item.value)
    return found


@contextmanager
def answering(held: Mapping[str, Store]) -> Iterator[Services]:
    """The endpoints, running."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    services = Services(held, server.server_port)
    server.RequestHandlerClass = type("Handler", (_Handler,), {"services": services})
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield services
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Services:
    """The endpoints of a test, and the way to ask them."""

    def __init__(self, held: Mapping[str, Store], port: int) -> None:
        self._held = dict(held)
        self._places = {address: f"http://127.0.0.1:{port}/{number}" for number, address in enumerate(held)}
        rules = FederationRules(endpoints=tuple(self._places.values()), timeout_seconds=20)
        self._federation = Federation(rules, resolve=named_addresses)

    def resolved(self, text: str, base: str = "") -> str:
        """The query with the rows of each SERVICE block in its place.

        Raises:
            KgPlatformError: one cannot be asked, and it is not SILENT.
        """
        found = calls.find(text, {}, base=base)
        return calls.replaced(text, [(call, self._solutions(call)) for call in found]) if found else text

    def _solutions(self, call: calls.Call) -> Solutions:
        return calls.answered(call, list(self._held), partial(self._asked, call))

    def _asked(self, call: calls.Call, address: str) -> Solutions:
        try:
            return self._federation.ask(self._places.get(address, address), call.body, call.prefixes)
        except KgPlatformError:
            if call.is_silent:
                return calls.ONE_EMPTY
            raise

    def answer(self, path: str, query: str) -> bytes:
        """The result of a query at the endpoint that is played at the path, as JSON; it may ask the others in turn.

        Raises:
            KgPlatformError: it is no query.
        """
        address = list(self._held)[int(path.strip("/"))]
        return self._held[address].results(self.resolved(query), "json")


class _Handler(BaseHTTPRequestHandler):
    """Answers as an endpoint does to a query in a form."""

    services: ClassVar[Services]

    def do_POST(self) -> None:
        """Runs the query of the form."""
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        try:
            status, body = 200, self.services.answer(self.path, form["query"][0])
        except KgPlatformError as error:
            status, body = 400, str(error).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/sparql-results+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Says nothing: what fails is told by the test."""
