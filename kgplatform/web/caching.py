"""What lets a client keep an answer: entity tags made of the store's version, and the conditions sent with them.

Versions are counted from the start of the process, so every process puts a number of its own into its tags.
Specification: RFC 9110 §8.8.3 (tags) and §13.1 (conditions).
"""

from __future__ import annotations

import hashlib
import re
import secrets

from flask import request

from kgplatform.web.protocol import ProtocolError

_PROCESS = secrets.token_hex(4)
_TAG = re.compile(r'(?:W/)?"([^"]*)"')


def weak_tag(version: int, *parts: str) -> str:
    """The tag of an answer that stays the same while the store does; ``parts`` are what it depends on besides."""
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return f'W/"{_PROCESS}.{version}.{digest}"'


def strong_tag(version: int, *parts: str) -> str:
    """As `weak_tag`, for what is the same byte for byte."""
    return weak_tag(version, *parts).removeprefix("W/")


def _state(tag: str) -> str:
    """The part of a tag that says which process and version it is of."""
    return tag.removeprefix("W/").strip('"').rpartition(".")[0]


def is_known(tag: str) -> bool:
    """Whether the client has the answer already: If-None-Match names the tag (weak comparison)."""
    header = request.headers.get("If-None-Match", "")
    return header.strip() == "*" or tag.removeprefix("W/").strip('"') in _TAG.findall(header)


def check_conditions(version: int, *, exists: bool) -> None:
    """Goes on with a write only if what it is to change is as the client knows it.

    Any tag of the present state counts, whichever format it was given out with.

    Raises:
        ProtocolError: 412, it is not.
    """
    matches = request.headers.get("If-Match")
    current = _state(strong_tag(version))
    if matches is not None:
        tags = [_state(f'"{tag}"') for tag in _TAG.findall(matches)]
        if not exists or (matches.strip() != "*" and current not in tags):
            raise ProtocolError(
                412, "Precondition failed", "the dataset has changed since; get the graph again, and its new ETag"
            )
    if (none := request.headers.get("If-None-Match")) is not None and exists:
        tags = [_state(f'"{tag}"') for tag in _TAG.findall(none)]
        if none.strip() == "*" or current in tags:
            raise ProtocolError(412, "Precondition failed", "the graph is there already")
