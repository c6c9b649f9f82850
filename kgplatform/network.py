"""The one guard on the way out: where this machine may connect to on behalf of somebody else.

An address can be made to lead into the network of the machine that follows it. So a host name is resolved here, each
address that it stands for must be a public one, and the connection goes to the very address that was looked at. Web
pages that are read and endpoints that are asked both go through here.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TypeAlias

Resolve: TypeAlias = Callable[[str, int], Sequence[str]]
"""What gives the numeric addresses of a host that may be connected to; raises OSError where there are none."""


def public_addresses(host: str, port: int) -> list[str]:
    """The numeric addresses that a host name stands for, if all of them are public.

    Raises:
        OSError: the name is not known, or one of them is private, loopback, link-local or reserved.
    """
    found = [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    for address in found:
        if not is_public(address):
            raise OSError(f"{host} is at {address}, which is not a public address")
    return list(dict.fromkeys(found))


def named_addresses(host: str, port: int) -> list[str]:
    """The numeric addresses of a host that the settings name outright: private ones too, for their owner wants them.

    Raises:
        OSError: the name is not known.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_public(address: str) -> bool:
    """Whether a numeric address is one of the public internet, also where it carries another one inside."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour or (parsed.teredo[1] if parsed.teredo else None)
        if inner is not None and not is_public(str(inner)):
            return False
        if parsed.is_site_local:
            return False
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved


def is_numeric(host: str) -> bool:
    """Whether a host is written as a numeric address."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def connected(host: str, port: int, addresses: Sequence[str], *, is_secured: bool, deadline: float) -> socket.socket:
    """A connection to one of the addresses, under the host's name; the name is not resolved again.

    Raises:
        OSError: none of them can be reached; TimeoutError: not before the deadline (of the monotonic clock).
    """
    trouble: OSError = OSError(f"{host} has no address")
    for address in addresses:
        try:
            link = socket.create_connection((address, port), timeout=left(deadline))
        except OSError as error:
            trouble = error
            continue
        return _secured(link, host) if is_secured else link
    raise trouble


def _secured(link: socket.socket, host: str) -> socket.socket:
    try:
        return ssl.create_default_context().wrap_socket(link, server_hostname=host)
    except OSError:
        link.close()
        raise


@contextmanager
def closing_at(deadline: float, link: socket.socket) -> Iterator[None]:
    """Closes a connection after the block; at the deadline it is cut, however slowly the other side goes on."""
    cutting = threading.Timer(max(deadline - time.monotonic(), 0.0), _cut, (link,))
    cutting.daemon = True
    cutting.start()
    try:
        with closing(link):
            yield
    finally:
        cutting.cancel()


def _cut(link: socket.socket) -> None:
    with suppress(OSError):
        link.shutdown(socket.SHUT_RDWR)


def left(deadline: float) -> float:
    """The seconds until the deadline (of the monotonic clock).

    Raises:
        TimeoutError: there are none.
    """
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds
