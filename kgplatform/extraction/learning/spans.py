"""The words of a text, and the stretches of words that could be a name or a value, in any script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from kgplatform.extraction.chinese import tag
from kgplatform.extraction.learning.forms import dates_in
from kgplatform.extraction.lexicon import FUNCTION_WORDS
from kgplatform.text import has_han

_HAN_RUN = re.compile(r"[\u3400-\u9fff]+")
_WORD = re.compile(
    r"[\u3400-\u9fff]+|(?:[^\W\d_]\.){2,}|(?:(?![\u3400-\u9fff])[^\W_])+(?:[.,'’&/:_–-](?=\w)(?:(?![\u3400-\u9fff])\w)+)*|\S"
)
_QUOTED = re.compile(r"[\"“]([^\"”“]{1,80})[\"”]|《([^》]{1,60})》|「([^」]{1,60})」")
_MAX_NAME: Final = 11
_MAX_NOUN: Final = 4
_MAX_HAN: Final = 7
_JOINING_WORDS = "of the de la le del di da do dos du and & von van der for in on to at a an y e ni und - ' s"
_JOINING: Final = frozenset(_JOINING_WORDS.split())


@dataclass(frozen=True, slots=True)
class Word:
    """A word or mark of a text: ``key`` is its plain form, ``shape`` the kinds of its letters, ``tag`` a Han word's."""

    text: str
    start: int
    end: int
    key: str
    shape: str
    tag: str = ""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The words ``first`` to ``last`` (exclusive) of a text as a possible name or value."""

    first: int
    last: int
    start: int
    end: int
    kind: str
    key: str


@lru_cache(maxsize=65_536)
def plain(text: str) -> str:
    """What two spellings of a name have in common: case, accents, width, quotes and blanks set aside."""
    form = unicodedata.normalize("NFKD", text.casefold().replace("_", " "))
    form = "".join(letter for letter in form if not unicodedata.combining(letter))
    form = re.sub(r"[’‘`]", "'", re.sub(r"[\u2010-\u2015−]", "-", form))
    form = re.sub(r"\s*([()\[\].,:;/'-])\s*", r"\1", " ".join(form.split()))
    return form.strip(" \"“”.,;:'，。；")


@lru_cache(maxsize=65_536)
def shape_of(text: str) -> str:
    """The kinds of the letters of a word, runs shortened: ``Xx`` for "Paris", ``d-d`` for "3-4", ``h`` for Han."""
    kinds: list[str] = []
    for letter in text:
        if letter.isdigit():
            kind = "d"
        elif has_han(letter):
            kind = "h"
        elif letter.isalpha():
            kind = "X" if letter.isupper() else "x"
        else:
            kind = letter
        if not kinds or kinds[-1] != kind:
            kinds.append(kind)
    return "".join(kinds[:6])


def words_of(text: str) -> list[Word]:
    """The words and marks of a text, in order; Han is cut by jieba."""
    found: list[Word] = []
    for match in _WORD.finditer(text):
        if _HAN_RUN.match(match.group()):
            for token in tag(match.group()):
                start = match.start() + token.start
                found.append(Word(token.text, start, start + len(token.text), token.text, "h", token.tag))
        else:
            piece = match.group()
            found.append(Word(piece, match.start(), match.end(), plain(piece) or piece, shape_of(piece)))
    return found


class Stretches:
    """Finds the stretches of a text that could be names or values; ``known`` are plain forms seen in examples."""

    def __init__(self, text: str, words: list[Word], known: Container[str]) -> None:
        self.text = text
        self.words = words
        self._known = known
        self._first_at = {word.start: number for number, word in enumerate(words)}
        self._last_at = {word.end: number + 1 for number, word in enumerate(words)}

    def all(self) -> list[Stretch]:
        """Each stretch once, with the strongest reason for it, in order."""
        found: dict[tuple[int, int], Stretch] = {}
        for maker in (self._dates, self._quoted, self._names, self._nouns, self._han, self._seen):
            for stretch in maker():
                found.setdefault((stretch.first, stretch.last), stretch)
        return sorted(found.values(), key=lambda item: (item.first, item.last))

    def of(self, first: int, last: int, kind: str) -> Stretch:
        """The stretch from word to word."""
        start, end = self.words[first].start, self.words[last - 1].end
        return Stretch(first, last, start, end, kind, plain(self.text[start:end]))

    def covering(self, start: int, end: int) -> tuple[int, int] | None:
        """The words that begin and end exactly at the offsets; None where none do."""
        first, last = self._first_at.get(start), self._last_at.get(end)
        return (first, last) if first is not None and last is not None and first < last else None

    def _dates(self) -> Iterator[Stretch]:
        for start, end, _ in dates_in(self.text):
            found = self.covering(start, end)
            if found:
                yield self.of(*found, "date")

    def _quoted(self) -> Iterator[Stretch]:
        for match in _QUOTED.finditer(self.text):
            start, end = next(match.span(group) for group in (1, 2, 3) if match[group] is not None)
            while end > start and self.text[end - 1] in " .,;":
                end -= 1
            found = self.covering(start, end)
            if found:
                yield self.of(*found, "quoted")

    def _names(self) -> Iterator[Stretch]:
        for first, word in enumerate(self.words):
            if _opens_name(word):
                yield from self._names_from(first)

    def _names_from(self, first: int) -> Iterator[Stretch]:
        depth = small = 0
        for last in range(first + 1, min(first + _MAX_NAME, len(self.words)) + 1):
            word = self.words[last - 1]
            if word.text in '"“”!?。！？;；，' or word.tag:
                return
            depth += (word.text == "(") - (word.text == ")")
            if depth < 0:
                return
            capital = _opens_name(word)
            joining = word.key in _JOINING or word.text in ",.()-–'’:"
            small = 0 if capital else small + (not joining)
            if small > 3:
                return
            if word.text == "." and self.words[last - 2].shape not in ("X", "Xx", "X."):
                return
            closes = word.text == ")" or (capital or (not joining and word.text.isalnum()) or small)
            if closes and depth == 0 and word.text not in ",.(-–'’:":
                kind = "number" if last == first + 1 and word.shape[:1] == "d" else "name" if not small else "mixed"
                yield self.of(first, last, kind)

    def _nouns(self) -> Iterator[Stretch]:
        for first, word in enumerate(self.words):
            if not _is_noun(word):
                continue
            for last in range(first + 1, min(first + _MAX_NOUN, len(self.words)) + 1):
                end = self.words[last - 1]
                if _is_noun(end) or (last > first + 1 and _opens_name(end)):
                    yield self.of(first, last, "noun")
                elif end.key not in ("of", "and", "&"):
                    break

    def _han(self) -> Iterator[Stretch]:
        for first, word in enumerate(self.words):
            if not word.tag or word.tag[0] in "upcyw":
                continue
            for last in range(first + 1, min(first + _MAX_HAN, len(self.words)) + 1):
                end = self.words[last - 1]
                if not end.tag and not (end.text.isalnum() or end.text == "·"):
                    break
                if end.tag[:1] not in ("u", "p", "c", "y", "w") and end.text != "·":
                    yield self.of(first, last, "han")

    def _seen(self) -> Iterator[Stretch]:
        for first in range(len(self.words)):
            for last in range(first + 1, min(first + _MAX_NAME + 6, len(self.words)) + 1):
                stretch = self.of(first, last, "seen")
                if stretch.key and stretch.key in self._known:
                    yield stretch


def _opens_name(word: Word) -> bool:
    return word.shape[:1] in ("X", "d") or "X" in word.shape or "d" in word.shape


def _is_noun(word: Word) -> bool:
    return word.shape[:1] == "x" and word.key not in FUNCTION_WORDS and len(word.text) > 1
