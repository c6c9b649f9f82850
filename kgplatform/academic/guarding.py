"""What a model wrote, held against its passages: a sentence stays only if they have its numbers and its names.

This cannot tell whether a sentence follows from its passages; it catches what is made up most often and does most harm.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kgplatform.text import has_han
from kgplatform.types import Evidence

_MARK: Final = re.compile(r"\s*[\[［【]\d+(?:\s*[,，、-]\s*\d+)*[\]］】]")
_NUMBER: Final = re.compile(r"(?<![^\W\d_])\d+(?:[.,]\d+)*")
_LETTER: Final = r"0-9A-Za-z\u00c0-\u024f"
_LATIN: Final = re.compile(rf"[{_LETTER}]+(?:[-.&+/][{_LETTER}]+)*")
_TITLED: Final = re.compile(r"[《“\"]([^》”\"]{2,120})[》”\"]")
_SPELT_WORDS: Final = "zero one two three four five six seven eight nine ten"
_SPELT: Final = (_SPELT_WORDS.split(), list("零一二三四五六七八九十"))
_WORD_NUMBERS: Final = {word: str(n) for spelt in _SPELT for n, word in enumerate(spelt)}


@dataclass(frozen=True, slots=True)
class Dropped:
    """A sentence that a model wrote and that was left out, with why."""

    text: str
    reason: str


def unsupported(text: str, passages: Iterable[Evidence], names: Iterable[str] = (), papers: str = "") -> str | None:
    """Why the passages do not bear the sentence, as a clause; None if they have its numbers and names.

    ``names`` are names of the graph: one in the sentence has to be in the passages too, whatever its letters, if they
    are all in its script; a sentence in another language than its passages names things in its own words.
    ``papers``: titles and years of the papers that the passages are of, which count as said.
    """
    passages = tuple(passages)
    held = " ".join([papers, *(f"{item.title} {item.quote}" for item in passages)])
    plain, told = _MARK.sub("", text), _folded(held)
    numbers = _numbers(held) | _spelt(held)
    for number in sorted(_numbers(plain) - numbers):
        return f"its passages do not have the number {number}"
    for name in _names(plain):
        if not _has(told, name):
            return f"its passages do not have {name!r}"
    for name in names:
        if any(has_han(item.quote) != has_han(name) for item in passages):
            continue
        if len(_folded(name)) > 3 and _has(_folded(plain), name) and not _has(told, name):
            return f"its passages do not have {name!r}"
    return None


def _numbers(text: str) -> set[str]:
    """The numbers in the text, without thousands separators and trailing zeros."""
    return {_plain(number) for number in _NUMBER.findall(text)}


def _spelt(text: str) -> set[str]:
    """The numbers that the text has in words."""
    low = text.casefold()
    return {
        n for word, n in _WORD_NUMBERS.items() if (word in low if has_han(word) else re.search(rf"\b{word}\b", low))
    }


def _plain(number: str) -> str:
    whole = re.sub(r",(?=\d{3}(?:\D|$))", "", number).replace(",", ".")
    return whole.rstrip("0").rstrip(".") if "." in whole else whole.lstrip("0") or "0"


def _names(text: str) -> list[str]:
    """The words that look like names: with a capital letter inside, or at the beginning but not of a sentence.

    Titles in Chinese quotation marks are names too. Digits are looked at as numbers.
    """
    found = [match for match in _TITLED.findall(text) if has_han(match)]
    start = True
    for match in _LATIN.finditer(text):
        word = match.group()
        inner = any(letter.isalpha() for letter in word) and any(letter.isupper() for letter in word[1:])
        if inner or (word[0].isupper() and len(word) > 1 and not start):
            found.append(word)
        start = text[match.end() : match.end() + 1] in (".", "!", "?", ":")
    return found


def _has(held: str, name: str) -> bool:
    """Whether the text has the name, or its singular or plural."""
    plain = _folded(name)
    if not plain or has_han(plain):
        return plain in held
    forms = (plain, plain.removesuffix("s"), plain.removesuffix("'s"), f"{plain}s")
    return any(
        re.search(rf"(?<![{_LETTER}]){re.escape(form)}(?![{_LETTER}])", held, re.IGNORECASE) for form in forms if form
    )


def _folded(text: str) -> str:
    """The text as names are compared: without case, width or kinds of blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
