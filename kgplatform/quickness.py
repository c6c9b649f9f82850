"""Which queries are sure to be quick, whatever the data: they need not wait behind those that may not be.

Sure is: at most one triple pattern, without paths, filters or repeated variables, of which ASK wants one match, or
SELECT those of one subject or a small LIMIT. The store's indexes answer it in the time of a look-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kgplatform.lexing import Token, scan, tokens

_LONGEST: Final = 2000
_MOST_ROWS: Final = 1000
_TERMS: Final = frozenset({"iri", "name", "variable", "string"})


def is_quick(text: str) -> bool:
    """Whether the query is one of those that are sure to be quick."""
    if len(text) > _LONGEST or scan(text).form not in ("ASK", "SELECT"):
        return False
    listed = _without_prologue(list(tokens(text)))
    opened = next((place for place, token in enumerate(listed) if token.text == "{"), None)
    closed = next((place for place, token in enumerate(listed) if token.text == "}"), None)
    if opened is None or closed is None:
        return False
    head, pattern, rest = listed[:opened], listed[opened + 1 : closed], listed[closed + 1 :]
    words = [token.text.upper() for token in head]
    if any(token.kind != "variable" and token.text.upper() not in ("ASK", "SELECT", "*", "WHERE") for token in head):
        return False
    if pattern and pattern[-1].text == ".":
        pattern = pattern[:-1]
    if not _is_simple(pattern):
        return False
    if "ASK" in words:
        return not rest
    limit = _limit(rest)
    is_limited = limit is not None and limit <= _MOST_ROWS
    return is_limited or (not rest and (not pattern or pattern[0].kind != "variable"))


def _without_prologue(listed: list[Token]) -> list[Token]:
    place = 0
    while place < len(listed) and listed[place].text.upper() in ("PREFIX", "BASE"):
        place += 3 if listed[place].text.upper() == "PREFIX" else 2
    return listed[place:]


def _is_simple(pattern: Sequence[Token]) -> bool:
    """Whether the tokens are nothing, or three terms that differ where they are variables."""
    if not pattern:
        return True
    if len(pattern) != 3 or any(token.kind not in _TERMS and token.text != "a" for token in pattern):
        return False
    variables = [token.text[1:] for token in pattern if token.kind == "variable"]
    return len(set(variables)) == len(variables)


def _limit(rest: Sequence[Token]) -> int | None:
    """The number of a LIMIT that is all there is; None: there is more, or none."""
    if not rest or rest[0].text.upper() != "LIMIT" or not all(token.text.isdigit() for token in rest[1:]):
        return None
    number = "".join(token.text for token in rest[1:])
    return int(number) if 0 < len(number) < 9 else None
