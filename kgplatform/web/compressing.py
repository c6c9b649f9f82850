"""gzip for what is worth it, where the client takes it, and never twice."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator

from flask import Response, request

from kgplatform.web.security import vary

LEAST_BYTES = 1000
LEVEL = 5
_SQUEEZABLE = ("text/", "application/json", "application/sparql", "application/n-", "application/rdf", "application/ld")
_ALSO = ("application/trig", "application/problem+json", "application/javascript")


def takes_gzip(accept_encoding: str) -> bool:
    """Whether an Accept-Encoding header has room for gzip (RFC 9110 §12.5.3).

    >>> takes_gzip("br;q=1.0, gzip;q=0.8"), takes_gzip("gzip;q=0, *"), takes_gzip("")
    (True, False, False)
    """
    wanted: dict[str, float] = {}
    for part in accept_encoding.lower().split(","):
        name, _, parameters = part.partition(";")
        quality = parameters.partition("q=")[2].strip()
        try:
            wanted[name.strip()] = float(quality) if quality else 1.0
        except ValueError:
            wanted[name.strip()] = 0.0
    return wanted.get("gzip", wanted.get("*", 0.0)) > 0


def compress(response: Response) -> Response:
    """The response, squeezed where that is of use."""
    if not _is_squeezable(response):
        return response
    vary(response.headers, "Accept-Encoding")
    if not takes_gzip(request.headers.get("Accept-Encoding", "")):
        return response
    if response.is_streamed:
        response.response = _squeezed(response.response)  # type: ignore[arg-type]
        response.headers.pop("Content-Length", None)
    else:
        data = response.get_data()
        if len(data) < LEAST_BYTES:
            return response
        response.set_data(gzip.compress(data, LEVEL, mtime=0))
    response.headers["Content-Encoding"] = "gzip"
    return response


def _is_squeezable(response: Response) -> bool:
    if response.status_code in (204, 304) or response.direct_passthrough:
        return False
    if "Content-Encoding" in response.headers or "Content-Range" in response.headers:
        return False
    if response.mimetype == "text/event-stream":  # an event is told when it comes, not when a block is full
        return False
    return response.content_type is not None and response.content_type.startswith(_SQUEEZABLE + _ALSO)


def _squeezed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces as one gzip stream; what interrupts them interrupts it, so that it has no end and no checksum."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    for piece in pieces:
        if packed := packer.compress(piece):
            yield packed
    yield packer.flush()
