"""Who may do what: tokens with roles, and what is allowed without one.

Without tokens in the settings anyone may read, and only programs on this machine may write, while the server listens
on the loopback interface. Once there is a token, whoever wants to write has to show one. A token is 32 random bytes,
so a plain SHA-256 of it is kept; comparison takes the same time wherever the two differ.

A browser sends what it knows of a server along with requests of any page. Writes that a page elsewhere asks for are
therefore refused unless they carry a token of their own (``Authorization: Bearer``).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from urllib.parse import urlsplit

from flask import g, request
from werkzeug.datastructures import Headers

from kgplatform.errors import ConfigError
from kgplatform.web.protocol import ProtocolError

FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via")
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
    """Who sent a request: the name they go by in lists and limits, what they may do, and whether a token proves it."""

    name: str
    role: Role
    by_bearer: bool = False


@dataclass(frozen=True, slots=True)
class Rights:
    """The rules of a server; ``local`` is whether it listens on the loopback interface only."""

    tokens: tuple[Token, ...] = ()
    public_reads: bool = True
    local: bool = False

    def client(self, authorization: str, address: str, *, is_forwarded: bool) -> Client:
        """Who that is.

        Raises:
            ProtocolError: 401, a token that is not known.
        """
        secret, by_bearer = _secret(authorization)
        if secret:
            return self._holder(secret, by_bearer=by_bearer)
        role = Role.READ if self.public_reads else Role.NONE
        if not self.tokens and self.local and not is_forwarded and _is_loopback(address):
            role = Role.ADMIN
        return Client(address or "unknown", role)

    def _holder(self, secret: str, *, by_bearer: bool) -> Client:
        digest, found = _digest(secret), None
        for token in self.tokens:
            if hmac.compare_digest(token.digest, digest):
                found = token
        if found is None:
            raise ProtocolError(401, "Unauthorized", "the token is not known here", headers=_ASK)
        return Client(found.name, found.role, by_bearer)


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
