"""The words of a question with their places: a word of an alphabet, a number, or a Han character."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_TOKENS = 300
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_HAN}]|[^\W\d_{_HAN}]+n['’]t\b|\d+(?:\.\d+)?|[^\W\d_{_HAN}]+", re.UNICODE)


@dataclass(frozen=True, slots=True)
class Token:
    """A word or Han character of a question."""

    text: str
    start: int
    end: int


def in_mixed_case(text: str) -> bool:
    """Whether the text has capitals where they belong: some, but not everywhere."""
    letters = [character for character in text[1:] if character.isascii() and character.isalpha()]
    return any(map(str.isupper, letters)) and not all(map(str.isupper, letters))


def tokens_of(question: str) -> list[Token]:
    """The words of a question with their places; what is beyond the first few hundred is not read."""
    found = []
    for match in _TOKEN.finditer(question):
        found.append(Token(match.group(), match.start(), match.end()))
        if len(found) >= MAX_TOKENS:
            break
    return found
