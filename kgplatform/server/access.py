"""Who may do what, how often, and what every response carries: tokens and roles, rates, headers, origins, hosts.

Without tokens in the settings anyone may read, and only programs on this machine may write, while the server listens
on the loopback interface. Once there is a token, whoever wants to write has to show one. A token is 32 random bytes,
so a plain SHA-256 of it is kept; comparison takes the same time wherever the two differ. A browser sends what it knows
of a server along with requests of any page, so a write that a page elsewhere asks for is refused unless it carries a
token of its own (``Authorization: Bearer``).

A role of the settings' own (``server.hidden``) reads a part of the graph. What it sees is served from a workspace that
was derived without the rest (`kgplatform.server.tenants`), so nothing that any address does can reach what is hidden;
the application over the whole answers nobody with such a role, whichever way a request got there.

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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, Self
from urllib.parse import urlsplit

from flask import Flask, Response, g, request
from itsdangerous import BadData, URLSafeTimedSerializer
from werkzeug.datastructures import EnvironHeaders, Headers
from werkzeug.http import parse_cookie

from kgplatform.errors import ConfigError
from kgplatform.settings import ServerSettings
from kgplatform.sparql.protocol import FORWARDED, ProtocolError, host_name, is_host

_ASK = (("WWW-Authenticate", 'Bearer realm="kgplatform", Basic realm="kgplatform", charset="UTF-8"'),)


class Role(IntEnum):
    """What somebody may do; each role may do what those before it may."""

    NONE = 0
    READ = 1
    WRITE = 2
    ADMIN = 3


_ROLES: Final = {role.name.lower(): role for role in Role if role is not Role.NONE}
_OWN_ROLE: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Token:
    """A token as the settings keep it: whose it is, a role, and the SHA-256 of the secret.

    ``view`` is a role of the settings' own, which sees a part of the graph.
    """

    name: str
    role: Role
    digest: str
    view: str = ""

    @classmethod
    def read(cls, line: str) -> Token:
        """The token that a line of the settings spells.

        Raises:
            ConfigError: it is not ``NAME ROLE HASH``.
        """
        parts = line.split()
        if len(parts) != 3 or not _OWN_ROLE.fullmatch(parts[1]) or not re.fullmatch(r"sha256:[0-9a-f]{64}", parts[2]):
            raise ConfigError(
                f"server.tokens: {line[:40]!r} is not 'NAME ROLE sha256:HASH'; `kgplatform token NAME ROLE` makes one",
                setting="server.tokens",
            )
        role, view = _role_and_view(parts[1])
        return cls(parts[0], role, parts[2].removeprefix("sha256:"), view)

    @classmethod
    def make(cls, name: str, role: str) -> tuple[str, str]:
        """A new secret, and the line for the settings that knows it.

        Raises:
            ConfigError: the name has a blank in it, or the role is no name of one.
        """
        secret = f"kgp_{secrets.token_urlsafe(32)}"
        line = f"{name} {role} sha256:{_digest(secret)}"
        cls.read(line)
        return secret, line


def _role_and_view(name: str) -> tuple[Role, str]:
    return (_ROLES[name], "") if name in _ROLES else (Role.READ, name)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Client:
    """Who sent a request: the name they go by in lists and limits, what they may do, and what proves it.

    ``view`` is the role of the settings' own whose part of the graph they see; empty: all of it.
    """

    name: str
    role: Role
    by_bearer: bool = False
    has_token: bool = False
    view: str = ""


@dataclass(frozen=True, slots=True)
class HiddenParts:
    """The documents and graphs that a role does not see, by patterns of their places or IRIs."""

    patterns: tuple[str, ...]

    def __call__(self, name: str) -> bool:
        """True if what has that place or IRI is hidden; a pattern may leave out the folders that lead to a file."""
        return any(fnmatchcase(name, pattern) or fnmatchcase(name, f"*/{pattern}") for pattern in self.patterns)


class Sessions:
    """The cookies of those who signed in: signed with a key of this process, so they end with it at the latest."""

    def __init__(self, hours: float = 8.0) -> None:
        self._seal = URLSafeTimedSerializer(secrets.token_bytes(32), salt="kgplatform session")
        self.seconds = round(hours * 3600)

    def write(self, name: str, role: str) -> str:
        """The cookie of somebody with that role."""
        return str(self._seal.dumps([name, role]))

    def read(self, cookie: str) -> Client | None:
        """Who has that cookie; None: it is none of ours, or too old."""
        try:
            name, role = self._seal.loads(cookie, max_age=self.seconds)
        except BadData:
            return None
        level, view = _role_and_view(role)
        return Client(name, level, has_token=True, view=view)


SESSION: Final = "kgplatform_session"
"""The cookie of a session."""


@dataclass(frozen=True, slots=True)
class Rights:
    """The rules of a server; ``local`` is whether it listens on the loopback interface only."""

    tokens: tuple[Token, ...] = ()
    public_reads: bool = True
    local: bool = False
    hidden: Mapping[str, HiddenParts] = field(default_factory=dict)
    public_role: str = ""
    sessions: Sessions | None = None

    @classmethod
    def of(cls, settings: ServerSettings, *, local: bool, sessions: Sessions | None = None) -> Self:
        """The rules that the settings state.

        Raises:
            ConfigError: a line cannot be read, or names a role that there is none of.
        """
        hidden: dict[str, tuple[str, ...]] = {}
        for line in settings.hidden:
            role, _, pattern = line.strip().partition(" ")
            if not pattern.strip() or not _OWN_ROLE.fullmatch(role) or role in _ROLES:
                message = f"{line[:80]!r} is not 'ROLE PATTERN' with a role of your own, such as 'guest internal/*'"
                raise ConfigError(f"server.hidden: {message}", setting="server.hidden")
            hidden[role] = (*hidden.get(role, ()), pattern.strip())
        tokens = tuple(Token.read(line) for line in settings.tokens)
        parts = {role: HiddenParts(patterns) for role, patterns in hidden.items()}
        made = cls(tokens, settings.public_reads, local, parts, settings.public_role, sessions)
        made.check_roles("server.tokens", (token.view for token in tokens))
        made.check_roles("server.public_role", [settings.public_role])
        return made

    def check_roles(self, setting: str, roles: Iterable[str]) -> None:
        """Goes on if the rules know the roles; empty ones are those of the server itself.

        Raises:
            ConfigError: they do not know one; who misspelt it would see all or nothing.
        """
        for role in roles:
            if role and role not in self.hidden:
                known = ", ".join([*_ROLES, *self.hidden])
                raise ConfigError(f"{setting}: there is no role {role!r}; there are {known}", setting=setting)

    def client(self, authorization: str, address: str, *, is_forwarded: bool, session: str = "") -> Client:
        """Who that is; where there are no tokens, a key proves nothing and its sender may read as anybody may.

        Raises:
            ProtocolError: 401, a token that is not known among those that there are.
        """
        secret, by_bearer = _secret(authorization)
        if secret and (self.tokens or (self.sessions and not self.public_reads)):
            return self._holder(secret, by_bearer=by_bearer)
        if session and self.sessions is not None and (found := self.sessions.read(session)) is not None:
            return found
        role = Role.READ if self.public_reads else Role.NONE
        is_owner = not secret and not self.tokens and self.local and not is_forwarded and _is_loopback(address)
        if is_owner and self.sessions is None:
            return Client(address or "unknown", Role.ADMIN)
        return Client(address or "unknown", role, view=self.public_role if role else "")

    def _holder(self, secret: str, *, by_bearer: bool) -> Client:
        digest, found = _digest(secret), None
        for token in self.tokens:
            if hmac.compare_digest(token.digest, digest):
                found = token
        if found is None:
            raise ProtocolError(401, "Unauthorized", "the token is not known here", headers=_ASK)
        return Client(found.name, found.role, by_bearer, has_token=True, view=found.view)

    def sender(self, environ: Mapping[str, object]) -> Client:
        """Who sent the request of that WSGI environment; raises as `client`."""
        headers = EnvironHeaders(dict(environ))
        cookies = parse_cookie(headers.get("Cookie", ""))
        return self.client(
            headers.get("Authorization", ""),
            str(environ.get("REMOTE_ADDR") or ""),
            is_forwarded=any(name in headers for name in FORWARDED),
            session=cookies.get(SESSION, ""),
        )


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


def identify(rights: Rights, view: str) -> None:
    """Finds out who sent the request, for `require` and `client`; ``view`` is the part of the graph that is here.

    Raises:
        ProtocolError: 401, a token that is not known; 403, somebody who is to see another part.
    """
    g.rights = rights
    g.client = rights.sender(request.environ)
    if g.client.view != view:
        raise ProtocolError(403, "Forbidden", "your role sees a part of this graph, which `kgplatform serve` offers")


def client() -> Client:
    """Who sent the request."""
    found: Client = g.client
    return found


def known_elsewhere() -> Callable[[], None]:
    """What makes whoever sent this request known in another thread that works for it."""
    told = {name: g.get(name) for name in ("rights", "client", "span") if name in g}

    def known() -> None:
        for name, value in told.items():
            setattr(g, name, value)

    return known


FOR_LEADER = "for_leader"
"""What `flask.g` has where a request that changes something is the leader's to answer."""


class ForLeaderError(Exception):
    """Whoever asks may change something, but not here: the leader is to be asked."""


def require(role: Role) -> None:
    """Goes on only for those who may do this.

    Raises:
        ProtocolError: 401 where a token would help, 403 where the one shown is not enough or a foreign page asks.
    """
    who = client()
    if role > Role.READ and not who.by_bearer and is_foreign(request.headers):
        raise ProtocolError(403, "Forbidden", "a page of another origin may not change anything here")
    if who.role >= role:
        if role > Role.READ and g.get(FOR_LEADER):
            raise ForLeaderError
        return
    wanted = role.name.lower()
    if request.headers.get("Authorization") or who.has_token:
        has = who.view or who.role.name.lower()
        raise ProtocolError(403, "Forbidden", f"this needs a token with the role {wanted}; yours is {has}")
    if g.rights.tokens or g.rights.sessions or role is Role.READ:
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
EMBEDDED, _PREVIEW = "/embed", "/reconcile/preview"
"""The pages that others may hold in a frame, the second where anybody may read; nothing on them writes."""
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
UNNAMED = ("127.0.0.1", "::1")
"""What a client at this machine is called, whom no token names."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})
_OPEN_PATHS = ("/sparql", "/graphs", "/reconcile", "/id/", "/resource", "/api/", "/.well-known/")
_OPEN_TO_ALL = (*_OPEN_PATHS, "/v1/", "/mcp")  # where anybody may read


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
        is_public = "rights" in g and g.rights.public_reads
        headers.setdefault("Content-Security-Policy", allowed)
        headers.setdefault("Cache-Control", "no-cache")
        for name, value in FIXED.items():
            headers.setdefault(name, value)
        if request.path == EMBEDDED or (is_public and request.path == _PREVIEW):
            headers["Content-Security-Policy"] = headers["Content-Security-Policy"].replace(_ALONE, framing)
            del headers["X-Frame-Options"]
        if request.path.startswith(_OPEN_TO_ALL if is_public else _OPEN_PATHS):
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
    headers = response.headers
    headers["Access-Control-Allow-Origin"] = allowed
    headers["Access-Control-Expose-Headers"] = EXPOSED
    if request.method == "OPTIONS":
        headers["Access-Control-Allow-Methods"] = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
        headers["Access-Control-Allow-Headers"] = "Accept, Authorization, Content-Type, If-Match, If-None-Match, *"
        headers["Access-Control-Max-Age"] = "86400"
