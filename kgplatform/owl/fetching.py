"""Imports from the network, for those who ask for it: over HTTPS only, from public addresses, bounded in size and time.

An import IRI that begins with ``http:`` is asked for as ``https:``; so is where a server redirects to. The address
that was looked up and found public is the one connected to, so that a name cannot lead elsewhere the second time.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urljoin, urlsplit, urlunsplit

from kgplatform.errors import OntologyError

_ACCEPT = "text/turtle, application/rdf+xml;q=0.9, application/owl+xml;q=0.8, application/ld+json;q=0.7, */*;q=0.1"
_MOST_REDIRECTS = 6
_BLOCK = 65_536

Connect: TypeAlias = Callable[[str, int, str, float], http.client.HTTPConnection]
"""Makes a connection, not yet opened: host, port, address to connect to, and timeout."""


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """How long a fetch may take in all, and how large the file may be."""

    seconds: float = 30.0
    max_bytes: int = 50_000_000


class _PinnedConnection(http.client.HTTPSConnection):
    """A connection to one address that was looked at, with the certificate checked for the host's name."""

    def __init__(self, host: str, port: int, address: str, timeout: float) -> None:
        super().__init__(host, port, timeout=timeout, context=ssl.create_default_context())
        self._address = address
        self._tls = ssl.create_default_context()

    def connect(self) -> None:
        """Connects to the address."""
        plain = socket.create_connection((self._address, self.port), self.timeout)
        self.sock = self._tls.wrap_socket(plain, server_hostname=self.host)


def is_public(address: str) -> bool:
    """Whether the address belongs to the open internet: not to this machine, a local network or a cloud's inside."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return is_public(str(mapped)) if mapped else found.is_global and not found.is_multicast


def fetch(
    iri: str,
    *,
    limits: FetchLimits | None = None,
    connect: Connect = _PinnedConnection,
    allowed: Callable[[str], bool] = is_public,
) -> bytes:
    """The content at the IRI.

    Raises:
        OntologyError: no HTTPS, not a public address, too large, too slow, or an answer other than 200.
    """
    most = limits or FetchLimits()
    deadline = time.monotonic() + most.seconds
    place = _https(iri, iri)
    for _ in range(_MOST_REDIRECTS):
        try:
            found = _asked(place, iri, deadline, most, connect, allowed)
        except (OSError, http.client.HTTPException) as error:
            raise OntologyError(f"could not be fetched: {error or type(error).__name__}", source=iri) from error
        if isinstance(found, bytes):
            return found
        place = _https(urljoin(place, found), iri)
    raise OntologyError(f"redirects more than {_MOST_REDIRECTS} times", source=iri)


def _https(place: str, iri: str) -> str:
    try:
        parts = urlsplit(place)
        is_web = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as error:
        raise OntologyError(f"is not fetched: {error}", source=iri) from error
    if not is_web or parts.username or parts.password:
        raise OntologyError("is not fetched: only https: is", source=iri)
    return urlunsplit(("https", parts.netloc, parts.path or "/", parts.query, ""))


def _asked(
    place: str, iri: str, deadline: float, limits: FetchLimits, connect: Connect, allowed: Callable[[str], bool]
) -> bytes | str:
    """The content, or where the server says that it is."""
    parts = urlsplit(place)
    host, port = parts.hostname or "", parts.port or 443
    address = _address(host, port, iri, allowed)
    connection = connect(host, port, address, _left(deadline, iri))
    try:
        target = urlunsplit(("", "", parts.path, parts.query, ""))
        connection.request("GET", target, headers={"Accept": _ACCEPT, "Accept-Encoding": "identity"})
        with connection.getresponse() as response:
            location = response.getheader("Location")
            if response.status in (301, 302, 303, 307, 308) and location:
                return location
            if response.status != 200:
                raise OntologyError(f"could not be fetched: the server answers {response.status}", source=iri)
            return _body(response, connection, iri, deadline, limits)
    finally:
        connection.close()


def _body(
    response: http.client.HTTPResponse,
    connection: http.client.HTTPConnection,
    iri: str,
    deadline: float,
    limits: FetchLimits,
) -> bytes:
    blocks, size = [], 0
    while block := response.read1(_BLOCK):
        blocks.append(block)
        size += len(block)
        if size > limits.max_bytes:
            raise OntologyError(f"is larger than {limits.max_bytes // 1_000_000} MB: not fetched", source=iri)
        left = _left(deadline, iri)
        if connection.sock is not None:
            connection.sock.settimeout(left)
    return b"".join(blocks)


def _address(host: str, port: int, iri: str, allowed: Callable[[str], bool]) -> str:
    """An address of the host; all of them must be allowed."""
    found = [str(item[4][0]) for item in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    if not found or not all(allowed(address) for address in found):
        raise OntologyError(f"is not fetched: {host} is no public address", source=iri)
    return found[0]


def _left(deadline: float, iri: str) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise OntologyError("could not be fetched: it takes too long", source=iri)
    return left
