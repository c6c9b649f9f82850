"""What a passage is about, in its own words: the names in it and its most repeated content words."""

from __future__ import annotations

import re
from collections import Counter

from kgplatform.extraction.chinese import Token
from kgplatform.extraction.lexicon import FUNCTION_WORDS
from kgplatform.text import has_han

_WORD = re.compile(r"[^\W\d_]{4,}(?:[-'][^\W\d_]+)*")
_HASHTAG = re.compile(r"#([^\s#]{2,30})(?=\s|#|$)")
_COMMON_WORDS = """
    that this with from have been were they them their there which what when where will would could should about
    than then into over only also very just like some more most much many such each other these those because while
    after before between during under again same both does doing your ours here even well make made take takes came
    come goes going went gets said says every really something anything nothing around still back next last first
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def keywords(text: str, names: list[str], tokens: list[Token], *, most: int = 12) -> tuple[str, ...]:
    """The keywords of a text: its tags, its names by frequency, then content words used at least twice."""
    found = Counter[str]()
    for match in _HASHTAG.finditer(text):
        found[match[1]] += 3
    for name in names:
        found[name] += 3
    if has_han(text):
        found.update(
            token.text
            for token in tokens
            if len(token.text) >= 2 and token.tag.startswith(("n", "vn")) and has_han(token.text)
        )
    words = Counter(match.group().casefold() for match in _WORD.finditer(text) if not has_han(match.group()))
    for word, count in words.items():
        if count >= 2 and word not in _COMMON and word not in FUNCTION_WORDS:
            found[word] += count
    ranked = sorted(found.items(), key=lambda item: (-item[1], text.find(item[0]), item[0]))
    listed: list[str] = []
    for word, _ in ranked:
        if all(word.casefold() != other.casefold() for other in listed):
            listed.append(word)
    return tuple(listed[:most])
