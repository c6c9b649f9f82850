"""Where the tokens of a text are."""

from __future__ import annotations

import re

from kgplatform.questions.tokens import Token


def place_at(tokens: list[Token], offset: int) -> int:
    """The first token at or after an offset; their number if there is none."""
    return next((i for i, token in enumerate(tokens) if token.start >= offset), len(tokens))


def first_after(pattern: re.Pattern[str], text: str, tokens: list[Token]) -> int | None:
    """The token after the first match of a pattern; None if there is no match."""
    match = pattern.search(text)
    return place_at(tokens, match.end()) if match else None


def covered(tokens: list[Token], start: int, end: int) -> range:
    """The tokens between two offsets."""
    inside = [i for i, token in enumerate(tokens) if token.start < end and token.end > start]
    return range(inside[0], inside[-1] + 1) if inside else range(0)


def free(match: re.Match[str] | None, tokens: list[Token], taken: frozenset[int]) -> bool:
    """Whether there is a match and none of its tokens is taken."""
    return match is not None and not (set(covered(tokens, match.start(), match.end())) & taken)
