"""Who may do what, how often, and what every response carries: tokens and roles, rates, headers, origins, hosts.

Without tokens in the settings anyone may read, and only programs on this machine may write, while the server listens
on the loopback interface. Once there is a token, whoever wants to write has to show one. A token is 32 random bytes,
so a plain SHA-256 of it is kept; comparison takes the same time wherever the two differ. A browser sends what it knows
of a server along with requests of any page, so a write that a page elsewhere asks for is refused unless it carries a
token of its own (``Authorization: Bearer``).

The pages load nothing from elsewhere, and the Content-Security-Policy has the browser hold them to it. A server on
the loopback interface answers to loopback names only, so that a page elsewhere cannot reach it through a name of
its own (DNS rebinding), and lets only pages from this machine read its data across origins.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from urllib.parse import urlsplit

from flask import Flask, Response, g, request
from werkzeug.datastructures import Headers

from kgplatform.errors import ConfigError
from kgplatform.sparql.protocol import FORWARDED, ProtocolError, host_name, is_host

_ASK = (("WWW-Authenticate", 'Bearer realm="kgplatform", Basic realm="kgplatform", charset="UTF-8"'),)


class Role(IntEnum):
    """What somebody may do; each role may do what those before it may."""

    NONE = 0
    READ = 1
    WRITE = 2
    ADMIN = 3


@dataclass(frozen=True, slots=True)
class Token:
    """A token as the settings keep it: the name of whoever has it, a role, and the SHA-256 of the secret."""

    name: str
    role: Role
    digest: str

    @classmethod
    def read(cls, line: str) -> Token:
        """The token that a line of the settings spells.

        Raises:
            ConfigError: it is not ``NAME ROLE HASH``.
        """
        parts = line.split()
        roles = {role.name.lower(): role for role in Role if role is not Role.NONE}
        if len(parts) != 3 or parts[1] not in roles or not re.fullmatch(r"sha256:[0-9a-f]{64}", parts[2]):
            raise ConfigError(
                f"server.tokens: {line[:40]!r} is not 'NAME ROLE sha256:HASH'; `kgplatform token NAME ROLE` makes one",
                setting="server.tokens",
            )
        return cls(parts[0], roles[parts[1]], parts[2].removeprefix("sha256:"))

    @classmethod
    def make(cls, name: str, role: str) -> tuple[str, str]:
        """A new secret, and the line for the settings that knows it.

        Raises:
            ConfigError: the name has a blank in it, or the role is unknown.
        """
        secret = f"kgp_{secrets.token_urlsafe(32)}"
        line = f"{name} {role} sha256:{_digest(secret)}"
        cls.read(line)
        return secret, line


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Client:
    """Who sent a request: the name they go by in lists and limits, what they may do, and what proves it."""

    name: str
    role: Role
    by_bearer: bool = False
    has_token: bool = False


@dataclass(frozen=True, slots=True)
class Rights:
    """The rules of a server; ``local`` is whether it listens on the loopback interface only."""

    tokens: tuple[Token, ...] = ()
    public_reads: bool = True
    local: bool = False

    def client(self, authorization: str, address: str, *, is_forwarded: bool) -> Client:
        """Who that is; where there are no tokens, a key proves nothing and its sender may read as anybody may.

        Raises:
            ProtocolError: 401, a token that is not known among those that there are.
        """
        secret, by_bearer = _secret(authorization)
        if secret and self.tokens:
            return self._holder(secret, by_bearer=by_bearer)
        role = Role.READ if self.public_reads else Role.NONE
        if not secret and not self.tokens and self.local and not is_forwarded and _is_loopback(address):
            role = Role.ADMIN
        return Client(address or "unknown", role)

    def _holder(self, secret: str, *, by_bearer: bool) -> Client:
        digest, found = _digest(secret), None
        for token in self.tokens:
            if hmac.compare_digest(token.digest, digest):
                found = token
        if found is None:
            raise ProtocolError(401, "Unauthorized", "the token is not known here", headers=_ASK)
        return Client(found.name, found.role, by_bearer, has_token=True)


def _secret(authorization: str) -> tuple[str, bool]:
    """The token of an Authorization header (the password, for Basic), and whether it came as Bearer."""
    scheme, _, rest = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip(), True
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(rest.strip(), validate=True).decode().partition(":")[2], False
        except (binascii.Error, UnicodeDecodeError):
            return "", False
    return "", False


@lru_cache(maxsize=256)
def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.split("%")[0]).is_loopback
    except ValueError:
        return False


def is_foreign(headers: Headers) -> bool:
    """Whether a page of another origin had a browser send the request."""
    if headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        return True
    origin = headers.get("Origin")
    if not origin:
        return False
    try:
        return urlsplit(origin).netloc.lower() != headers.get("Host", "").lower()
    except ValueError:
        return True


def identify(rights: Rights) -> None:
    """Finds out who sent the request, for `require` and `client`.

    Raises:
        ProtocolError: 401, a token that is not known.
    """
    is_forwarded = any(name in request.headers for name in FORWARDED)
    g.rights = rights
    g.client = rights.client(
        request.headers.get("Authorization", ""), request.remote_addr or "", is_forwarded=is_forwarded
    )


def client() -> Client:
    """Who sent the request."""
    found: Client = g.client
    return found


def known_elsewhere() -> Callable[[], None]:
    """What makes whoever sent this request known in another thread that works for it."""
    rights, who = g.rights, g.client

    def known() -> None:
        g.rights, g.client = rights, who

    return known


def require(role: Role) -> None:
    """Goes on only for those who may do this.

    Raises:
        ProtocolError: 401 where a token would help, 403 where the one shown is not enough or a foreign page asks.
    """
    who = client()
    if role > Role.READ and not who.by_bearer and is_foreign(request.headers):
        raise ProtocolError(403, "Forbidden", "a page of another origin may not change anything here")
    if who.role >= role:
        return
    wanted = role.name.lower()
    if request.headers.get("Authorization"):
        has = who.role.name.lower()
        raise ProtocolError(403, "Forbidden", f"this needs a token with the role {wanted}; yours is {has}")
    if g.rights.tokens or role is Role.READ:
        raise ProtocolError(401, "Unauthorized", f"this needs a token with the role {wanted}", headers=_ASK)
    raise ProtocolError(
        403,
        "Read only",
        "only programs on this machine may change the graph, on a server that listens on localhost; for others make a "
        "token with `kgplatform token`, or use `kgplatform update` or `load`",
    )


def permit(readers: str) -> None:
    """Goes on only for those who may read what the setting ``readers`` is about.

    ``anyone``; ``read``, whoever may read the graph; ``token``, whoever shows one or may do everything without.

    Raises:
        ProtocolError: 401 where a token would help, else 403.
    """
    who = client()
    if readers == "anyone" or who.has_token or who.role is Role.ADMIN:
        return
    if readers == "read":
        require(Role.READ)
        return
    if g.rights.tokens:
        raise ProtocolError(401, "Unauthorized", "this needs a token", headers=_ASK)
    raise ProtocolError(403, "Forbidden", "this needs a token; make one with `kgplatform token`")


_MOST_CLIENTS = 10_000


class Rates:
    """At most so many requests a minute for each client, from a bucket that fills; safe for several threads."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._lock = threading.Lock()
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, client: str) -> None:
        """Counts a request.

        Raises:
            ProtocolError: 429, the client has asked too often; the header says when to come again.
        """
        if self._per_minute <= 0:
            return
        now, rate = self._clock(), self._per_minute / 60
        with self._lock:
            left, last = self._left.pop(client, (float(self._per_minute), now))
            left = min(float(self._per_minute), left + (now - last) * rate)
            self._left[client] = (left - 1 if left >= 1 else left, now)
            if len(self._left) > _MOST_CLIENTS:  # the one that asked longest ago has a full bucket by now
                del self._left[next(iter(self._left))]
        if left < 1:
            wait = max(1, round((1 - left) / rate + 0.5))
            raise ProtocolError(
                429,
                "Too many requests",
                f"{self._per_minute} requests a minute are allowed; try again in {wait} s",
                headers=(("Retry-After", str(wait)),),
            )


POLICY = (
    "default-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
    "style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_ALONE = "frame-ancestors 'none'"
EMBEDDED = "/embed"
"""The one page that others may hold in a frame: it shows rows, and nothing on it writes."""
_FRAMING = ("localhost", "127.0.0.1")
"""Where such pages may be, while the server listens on the loopback interface only."""
FIXED = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""What every response carries, besides a policy for its contents."""
EXPOSED = "ETag, Link, Location, Retry-After, Server-Timing"
"""What a page of an origin that may read may read of the header."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})
_OPEN_PATHS = ("/sparql", "/graphs", "/reconcile", "/id/", "/resource", "/api/", "/.well-known/")


@dataclass(frozen=True, slots=True)
class Access:
    """Which names the server answers to (empty: any) and which origins may read its data (None: all)."""

    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] | None = None

    @classmethod
    def on(cls, host: str) -> Access:
        """The access for a server that listens on ``host``: narrow on the loopback interface, open elsewhere."""
        return cls(LOOPBACK, LOOPBACK) if host in LOOPBACK else cls()

    def admits_host(self, host: str) -> bool:
        """Whether the server answers to that ``Host`` header; HTTP/1.0 clients, which are no browsers, send none."""
        return is_host(host, self.hosts)

    def allowed_origin(self, origin: str | None) -> str | None:
        """The value of ``Access-Control-Allow-Origin`` for a page from ``origin``; None: it may not read."""
        if self.origins is None:
            return "*"
        return origin if origin and host_name(origin) in self.origins else None


def policy(tiles: str = "") -> str:
    """The Content-Security-Policy; with the server of map tiles that the settings name, if they name one.

    >>> "img-src 'self' data: blob: https://tiles.example.org;" in policy("https://tiles.example.org/{z}/{x}/{y}.png")
    True
    """
    parts = urlsplit(tiles)
    return POLICY.replace("data: blob:", f"data: blob: {parts.scheme}://{parts.netloc}") if parts.netloc else POLICY


def guard(app: Flask, access: Access, refuse: Callable[[str], Response], *, tiles: str = "") -> None:
    """Adds the checks and headers to the app; ``refuse`` makes the answer to a request for a foreign host.

    ``tiles`` is the address of map tiles, whose host the pages may then load pictures from.
    """
    allowed = policy(tiles)

    @app.before_request
    def check_host() -> Response | None:
        if access.admits_host(request.headers.get("Host", "")):
            return None
        return refuse("this server answers to localhost only; start it with --host to open it")

    framing = f"frame-ancestors {' '.join(f'http://{host}:*' for host in _FRAMING) if access.hosts else '*'}"

    @app.after_request
    def add_headers(response: Response) -> Response:
        headers = response.headers
        is_embedded = request.path == EMBEDDED
        headers.setdefault("Content-Security-Policy", allowed.replace(_ALONE, framing) if is_embedded else allowed)
        headers.setdefault("Cache-Control", "no-cache")
        for name, value in FIXED.items():
            if not (is_embedded and name == "X-Frame-Options"):
                headers.setdefault(name, value)
        if request.path.startswith(_OPEN_PATHS):
            _open(response, access)
        return response


def plain_fields(access: Access) -> dict[str, str]:
    """The header fields of every answer to a plain query, as `guard` adds them where no origin is named."""
    fields = {"Vary": "Accept, Accept-Encoding", **FIXED, "Content-Security-Policy": POLICY}
    if access.origins is None:
        return {**fields, "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": EXPOSED}
    return {**fields, "Vary": "Accept, Accept-Encoding, Origin"}


def _open(response: Response, access: Access) -> None:
    if access.origins is not None:
        response.vary.add("Origin")
    if (allowed := access.allowed_origin(request.headers.get("Origin"))) is None:
        return
    response.headers["Access-Control-Allow-Origin"] = allowed
    response.headers["Access-Control-Expose-Headers"] = EXPOSED
    if request.method == "OPTIONS":
        response.headers["Access-Control-Allow-Methods"] = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
        response.headers["Access-Control-Allow-Headers"] = (
            "Accept, Authorization, Content-Type, If-Match, If-None-Match"
        )
        response.headers["Access-Control-Max-Age"] = "86400"
