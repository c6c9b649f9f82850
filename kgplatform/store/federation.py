"""Other SPARQL endpoints, asked for what a ``SERVICE`` block wants: only those that the settings name, within limits.

The guard is the same for queries and updates: the address must be one of the settings, to the letter; its host must
have public addresses only, and the connection goes to the one that was looked at; a redirect is not followed; time,
bytes and rows are limited. Answers are kept for a while. Every question that goes out is logged.

Specification: SPARQL 1.1 Protocol §2.1, SPARQL 1.1 Query Results JSON Format §3.
"""

from __future__ import annotations

import http.client
import json
import logging
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.errors import QueryError, QueryRejectedError
from kgplatform.network import Resolve, closing_at, connected, left, public_addresses
from kgplatform.settings import FederationSettings
from kgplatform.types import Solutions, Term
from kgplatform.vocab import XSD

_log = logging.getLogger("kgplatform.store.federation")
_PORTS: Final = {"http": 80, "https": 443}
_BLOCK: Final = 1 << 16
_MOST_KEPT: Final = 64
_MOST_NESTED: Final = 20


class Federation:
    """Asks other endpoints; safe for several threads."""

    def __init__(
        self, rules: FederationSettings, *, resolve: Resolve = public_addresses, genid: str = "urn:genid:"
    ) -> None:
        """By these rules; blank nodes of others become IRIs that begin with ``genid``."""
        self._rules = rules
        self._resolve = resolve
        self._genid = genid
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], tuple[float, Solutions]] = OrderedDict()

    @property
    def endpoints(self) -> tuple[str, ...]:
        """Whom SERVICE may ask."""
        return self._rules.endpoints

    def ask(self, address: str, pattern: str, prefixes: Mapping[str, str]) -> Solutions:
        """The solutions of the group pattern at the endpoint, which is asked for one more row than there may be.

        Raises:
            QueryRejectedError: the settings do not name the endpoint, or its host is not public.
            QueryError: it does not answer in time, with an error, with too much, or with what is no result.
        """
        declared = "".join(f"PREFIX {name}: {NamedNode(iri)}\n" for name, iri in prefixes.items())
        query = f"{declared}SELECT * WHERE {{{pattern}}} LIMIT {self._rules.max_rows + 1}"
        parts = self._allowed(address, query)
        with self._lock:
            kept = self._kept.get((address, query))
        if kept is not None and time.monotonic() - kept[0] < self._rules.cache_seconds:
            return kept[1]
        started = time.monotonic()
        found = self._read(self._answer(parts, address, query), address, query)
        _log.info("asked %s: %d rows in %.2f s", address, len(found.rows), time.monotonic() - started)
        with self._lock:
            self._kept[address, query] = (time.monotonic(), found)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return found

    def _allowed(self, address: str, query: str) -> SplitResult:
        if address not in self._rules.endpoints:
            what = (
                "is not in federation.endpoints" if self._rules.endpoints else "is not asked: SERVICE is switched off"
            )
            _log.warning("refused to ask %s", address)
            raise QueryRejectedError(
                (f"SERVICE <{address}> {what}; whoever runs this server may add it to federation.endpoints",),
                query=query,
            )
        parts = urlsplit(address)
        if parts.scheme not in _PORTS or not parts.hostname or parts.username or parts.fragment:
            raise QueryRejectedError((f"SERVICE <{address}> is no address of an endpoint",), query=query)
        return parts

    def _answer(self, parts: SplitResult, address: str, query: str) -> bytes:
        deadline = time.monotonic() + self._rules.timeout_seconds
        host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        try:
            name = host.encode("idna").decode("ascii") if not host.isascii() else host
            link = connected(
                name, port, self._resolve(name, port), is_secured=parts.scheme == "https", deadline=deadline
            )
        except (OSError, ValueError) as error:
            _log.warning("could not ask %s: %s", address, error)
            raise QueryError(f"SERVICE <{address}> cannot be reached: {error}", query=query) from error
        try:
            with closing_at(deadline, link):
                return self._asked(link, parts, name, query, deadline)
        except (OSError, http.client.HTTPException, ValueError) as error:
            late = time.monotonic() >= deadline or isinstance(error, TimeoutError)
            reason = f"did not answer in {self._rules.timeout_seconds:g} s" if late else f"failed: {error}"
            _log.warning("asked %s: %s", address, reason)
            raise QueryError(f"SERVICE <{address}> {reason}", query=query) from error

    def _asked(self, link: socket.socket, parts: SplitResult, host: str, query: str, deadline: float) -> bytes:
        connection = http.client.HTTPConnection(host, parts.port or _PORTS[parts.scheme])
        connection.sock = link
        target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._") + (f"?{parts.query}" if parts.query else "")
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/sparql-results+json",
            "Accept-Encoding": "identity",
            "User-Agent": "kgplatform",
            "Connection": "close",
        }
        connection.request("POST", target, urlencode({"query": query}), headers)
        data = bytearray()
        with connection.getresponse() as response:
            if response.status != http.client.OK:
                moved = "; redirects are not followed" if 300 <= response.status < 400 else ""
                raise ValueError(f"it answers {response.status}{moved}")
            while piece := response.read1(_BLOCK):
                data += piece
                if len(data) > self._rules.max_bytes:
                    raise ValueError(f"its answer is larger than {self._rules.max_bytes:,} bytes")
                left(deadline)
        left(deadline)  # a connection that was cut ends like one that is complete
        return bytes(data)

    def _read(self, data: bytes, address: str, query: str) -> Solutions:
        try:
            record = json.loads(data)
            names = tuple(str(name) for name in record["head"]["vars"])
            rows = tuple(tuple(self._term(row.get(name)) for name in names) for row in record["results"]["bindings"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise QueryError(f"SERVICE <{address}> sends no SPARQL result: {error}", query=query) from error
        if len(rows) > self._rules.max_rows:
            raise QueryError(
                f"SERVICE <{address}> has more than {self._rules.max_rows:,} rows; make its block more selective",
                query=query,
            )
        if not all(name.isidentifier() for name in names):
            raise QueryError(f"SERVICE <{address}> names variables that are none", query=query)
        return Solutions(names, rows)

    def _term(self, value: Any, depth: int = 0) -> Term | None:
        if value is None:
            return None
        kind, text = value["type"], value["value"]
        if kind == "uri":
            return NamedNode(text)
        if kind == "bnode":
            return NamedNode(f"{self._genid}{quote(text, safe='')}")
        if kind == "triple":
            if depth > _MOST_NESTED:
                raise ValueError("triple terms nest too deep")
            parts: list[Any] = [self._term(text[name], depth + 1) for name in ("subject", "predicate", "object")]
            return Triple(*parts)
        if "xml:lang" in value:
            return Literal(text, language=value["xml:lang"])
        return Literal(text, datatype=NamedNode(value.get("datatype", f"{XSD}string")))
