"""What every response carries and every request must meet: headers, origins, hosts.

The pages load nothing from elsewhere, and the Content-Security-Policy has the browser hold them to it. A server on
the loopback interface answers to loopback names only, so that a page elsewhere cannot reach it through a name of
its own (DNS rebinding), and lets only pages from this machine read its data across origins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Response, request

POLICY = (
    "default-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
    "style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
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
_OPEN_PATHS = ("/sparql", "/graphs", "/id/", "/resource", "/api/", "/.well-known/")


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
        return not self.hosts or not host or _name(f"//{host}") in self.hosts

    def allowed_origin(self, origin: str | None) -> str | None:
        """The value of ``Access-Control-Allow-Origin`` for a page from ``origin``; None: it may not read."""
        if self.origins is None:
            return "*"
        return origin if origin and _name(origin) in self.origins else None


@lru_cache(maxsize=256)
def _name(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").lower()
    except ValueError:
        return ""


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

    @app.after_request
    def add_headers(response: Response) -> Response:
        headers = response.headers
        headers.setdefault("Content-Security-Policy", allowed)
        for name, value in FIXED.items():
            headers.setdefault(name, value)
        if request.path.startswith(_OPEN_PATHS):
            _open(headers, access)
        return response


def _open(headers: object, access: Access) -> None:
    allowed = access.allowed_origin(request.headers.get("Origin"))
    fields: dict[str, str] = headers  # type: ignore[assignment]
    if access.origins is not None:
        vary(fields, "Origin")
    if allowed is None:
        return
    fields["Access-Control-Allow-Origin"] = allowed
    fields["Access-Control-Expose-Headers"] = EXPOSED
    if request.method == "OPTIONS":
        fields["Access-Control-Allow-Methods"] = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
        fields["Access-Control-Allow-Headers"] = "Accept, Authorization, Content-Type, If-Match, If-None-Match"
        fields["Access-Control-Max-Age"] = "86400"


def vary(fields: Any, name: str) -> None:
    """Adds a name to the Vary header."""
    known = fields.get("Vary", "")
    if name.lower() not in known.lower():
        fields["Vary"] = f"{known}, {name}" if known else name
