"""Pages from the web: one address that a user named, fetched within limits and only from hosts that the settings allow.

An address can be made to lead into the network of the machine that fetches it. So every host name is resolved here,
each address it stands for must be a public one, and the connection goes to the very address that was looked at; every
redirect is held to the same rules.
"""

from __future__ import annotations

import http.client
import socket
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from kgplatform.documents.parts import one_line
from kgplatform.errors import ReadError
from kgplatform.network import Resolve, closing_at, connected, is_numeric, left, public_addresses

_SUFFIXES: Final = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "application/pdf": ".pdf",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "application/json": ".json",
    "application/x-ndjson": ".ndjson",
    "application/epub+zip": ".epub",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
}
_PORTS: Final = {"http": 80, "https": 443}
_REDIRECTS = (301, 302, 303, 307, 308)
_MAX_REDIRECTS = 5
_MAX_LETTERS = 4096
_BLOCK = 64 * 1024
_SAFE = "/%:@!$&'()*+,;=~-._"
_HEADERS: Final = {
    "User-Agent": "kgplatform",
    "Accept": ", ".join((*_SUFFIXES, "*/*;q=0.1")),
    "Accept-Encoding": "identity",
    "Connection": "close",
}


@dataclass(frozen=True, slots=True)
class WebRules:
    """What may be fetched: ``hosts`` are names (``example.org``, ``*.example.org``, ``example.org:8080``, ``*``)."""

    hosts: tuple[str, ...] = ()
    max_bytes: int = 100_000_000
    timeout_seconds: float = 20.0


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """What an address gave; the suffix of ``path`` says of what kind it is."""

    address: str
    path: Path
    data: bytes


def is_address(location: object) -> bool:
    """Whether a location is an address on the web, not a path."""
    return isinstance(location, str) and location[:8].lower().startswith(("http://", "https://"))


def fetch(address: str, rules: WebRules, *, resolve: Resolve = public_addresses) -> FetchedPage:
    """The content at an address, over at most five redirects.

    Raises:
        ReadError: the address is not http(s) or its host not allowed or not public; the server cannot be reached,
            answers with an error, too slowly, with too much, or with something that is not read.
    """
    deadline = time.monotonic() + rules.timeout_seconds
    current = address
    for _ in range(_MAX_REDIRECTS + 1):
        parts = _allowed(current, address, rules)
        with _answer(parts, address, resolve, deadline) as response:
            if response.status not in _REDIRECTS:
                return _page(response, parts, address, rules, deadline)
            current = _redirected(current, response.getheader("Location") or "", address)
    raise _wrong(f"leads through more than {_MAX_REDIRECTS} redirects", address)


def _wrong(message: str, address: str) -> ReadError:
    return ReadError(message, path=Path(address), place=address)


def _allowed(current: str, address: str, rules: WebRules) -> SplitResult:
    """The parts of an address that may be fetched."""
    try:
        parts = urlsplit(current)
        host, port = (parts.hostname or "").rstrip("."), parts.port
        names = {host.lower(), host.lower().encode("idna").decode("ascii") if not is_numeric(host) else host}
    except ValueError as error:  # UnicodeError is one
        raise _wrong(f"is not an address ({one_line(str(error))})", address) from error
    if parts.scheme.lower() not in _PORTS or not host or len(current) > _MAX_LETTERS:
        raise _wrong("is not an address that can be read; give one of http or https", address)
    if parts.username is not None or parts.password is not None:
        raise _wrong("holds a user name or password; such addresses are not read", address)
    usual = port is None or port == _PORTS[parts.scheme.lower()]
    if not any(_fits(name, pattern, "" if usual else f":{port}") for name in names for pattern in rules.hosts):
        place = host if usual else f"{host}:{port}"
        through = "" if current == address else "leads to another host; "
        raise _wrong(f"{through}{place} is not in documents.web_hosts; add it there if it may be read", address)
    return parts


def _fits(host: str, pattern: str, port: str) -> bool:
    name, _, allowed_port = pattern.lower().partition(":")
    if (f":{allowed_port}" if allowed_port else "") != port:
        return False
    return name in ("*", host) or (name.startswith("*.") and host.endswith(name[1:]))


def _redirected(current: str, location: str, address: str) -> str:
    target = urljoin(current, location)
    if not location:
        raise _wrong("redirects without a target", address)
    if current.lower().startswith("https:") and not target.lower().startswith("https:"):
        raise _wrong(f"leads from https to {target[:100]!r}, which is not", address)
    return target


@contextmanager
def _answer(parts: SplitResult, address: str, resolve: Resolve, deadline: float) -> Iterator[http.client.HTTPResponse]:
    """The server's answer; the connection is cut at the deadline, however slowly the server goes on."""
    host, scheme = (parts.hostname or "").rstrip("."), parts.scheme.lower()
    port = parts.port or _PORTS[scheme]
    try:
        name = host if is_numeric(host) else host.encode("idna").decode("ascii")
        link = connected(name, port, resolve(name, port), is_secured=scheme == "https", deadline=deadline)
    except TimeoutError as error:
        raise _late(address) from error
    except (OSError, ValueError) as error:
        raise _wrong(f"cannot be fetched: {_reason(error)}", address) from error
    host = f"[{name}]" if ":" in name else name
    with closing_at(deadline, link), _asked(link, host, port, parts, address, deadline) as found:
        yield found


def _asked(
    link: socket.socket, host: str, port: int, parts: SplitResult, address: str, deadline: float
) -> http.client.HTTPResponse:
    target = quote(parts.path or "/", safe=_SAFE) + ("?" + quote(parts.query, safe=_SAFE + "?") if parts.query else "")
    usual = port == _PORTS[parts.scheme.lower()]
    connection = http.client.HTTPConnection(host, port)
    connection.sock = link
    try:
        connection.request("GET", target, headers={"Host": host if usual else f"{host}:{port}", **_HEADERS})
        return connection.getresponse()
    except (OSError, http.client.HTTPException, ValueError) as error:
        if time.monotonic() >= deadline or isinstance(error, TimeoutError):
            raise _late(address) from error
        raise _wrong(f"cannot be fetched: {_reason(error)}", address) from error


def _late(address: str) -> ReadError:
    return _wrong("does not answer in time; see documents.web_timeout_seconds", address)


def _reason(error: BaseException) -> str:
    return one_line(str(error))[:200] or type(error).__name__


def _page(
    response: http.client.HTTPResponse, parts: SplitResult, address: str, rules: WebRules, deadline: float
) -> FetchedPage:
    if response.status != http.client.OK:
        raise _wrong(f"answers {response.status} {one_line(response.reason)[:60]}", address)
    data = _body(response, address, rules, deadline)
    stated = response.headers.get_content_type() if response.getheader("Content-Type") else ""
    suffix = _SUFFIXES.get(stated)
    if data[:1024].lstrip().startswith(b"%PDF-"):
        suffix = ".pdf"
    if suffix is None:
        raise _wrong(f"is of the type {stated or '(none)'}; read are {', '.join(_SUFFIXES)}", address)
    charset = response.headers.get_content_charset()
    if charset and suffix in (".html", ".txt", ".md", ".json"):
        data = _in_utf8(data, charset)
    name = Path(parts.path).stem or (parts.hostname or "page")
    return FetchedPage(address, Path(f"{name}{suffix}"), data)


def _body(response: http.client.HTTPResponse, address: str, rules: WebRules, deadline: float) -> bytes:
    limit = f"{rules.max_bytes / 1_000_000:g} MB, see documents.max_bytes"
    stated = response.getheader("Content-Length") or ""
    if stated.isdecimal() and int(stated) > rules.max_bytes:
        raise _wrong(f"is larger than {limit}", address)
    pieces: list[bytes] = []
    size = 0
    try:
        while piece := response.read1(_BLOCK):
            pieces.append(piece)
            size += len(piece)
            if size > rules.max_bytes:
                raise _wrong(f"is larger than {limit}", address)
            left(deadline)
        left(deadline)  # a connection that was cut ends like one that is complete
    except TimeoutError as error:
        raise _late(address) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise (
            _late(address) if time.monotonic() >= deadline else _wrong(f"breaks off ({_reason(error)})", address)
        ) from error
    if stated.isdecimal() and size < int(stated):
        raise _wrong(f"breaks off after {size:,} of {int(stated):,} bytes", address)
    return _unpacked(b"".join(pieces), response.getheader("Content-Encoding") or "", address, rules)


def _unpacked(data: bytes, encoding: str, address: str, rules: WebRules) -> bytes:
    """The content without its compression, which some servers send unasked."""
    kind = encoding.strip().lower()
    if kind in ("", "identity"):
        return data
    if kind not in ("gzip", "x-gzip", "deflate"):
        raise _wrong(f"is packed as {kind[:40]!r}, which is not read", address)
    try:
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
        content = unpacker.decompress(data, rules.max_bytes + 1)
    except zlib.error as error:
        raise _wrong(f"is packed as {kind} and damaged", address) from error
    if len(content) > rules.max_bytes:
        raise _wrong("unpacks to more than documents.max_bytes", address)
    return content


def _in_utf8(data: bytes, charset: str) -> bytes:
    """The text in UTF-8 with its mark, if it is in the character set that the server states; else as it came."""
    try:
        return b"\xef\xbb\xbf" + data.decode(charset).encode()
    except (UnicodeError, LookupError):
        return data
