"""JSON that a model almost wrote, read as far as it goes: what is whole is kept, what is not is handed back.

Small models close a string with the wrong quote, write Chinese marks, forget a comma, write ``NaN`` or ``None``, say a
key twice, or are cut off in mid-sentence. `mended` reads such a text by the same grammar as JSON (RFC 8259) with those
liberties. Nothing is guessed: an item that is cut off is left out and returned as text, so that it can be counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

_THINKING: Final = re.compile(r"\A(?:.*?</think(?:ing)?>|\s*<think(?:ing)?>.*)", re.DOTALL | re.IGNORECASE)
_STARTS: Final = re.compile(r"""\{(?=\s*(?:["'“‘}]|[A-Za-z_]\w*\s*:|$))|\[(?=\s*\{)""")
_BLANK: Final = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_BARE: Final = re.compile(r"[^\s,:：\[\]{}\"][^,:，：\[\]{}\n\"]*")
# A Chinese comma often follows a quotation inside a string; it parts two values only before what begins one.
_ENDS_STRING: Final = re.compile(r"""\Z|[:：,}\]]|，\s*(?:["“{\[\d]|true\b|false\b|null\b)""", re.IGNORECASE)
_CLOSES: Final = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_WORDS: Final[dict[str, object]] = {
    "true": True,
    "false": False,
    "null": None,
    "none": None,
    "nan": None,
    "undefined": None,
    "infinity": None,
    "-infinity": None,
}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_MOST_STARTS, _DEEPEST = 8, 40


@dataclass(frozen=True, slots=True)
class Mended:
    """A value read out of a broken text; ``lost``: the pieces that could not be read; ``is_cut``: it has no end."""

    value: object
    lost: tuple[str, ...] = ()
    is_cut: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it is missing."""
        return not self.lost and not self.is_cut


def mended(text: str) -> Mended | None:
    """The largest object or list in a reply, whole or not; None where there is none at all.

    A key that occurs twice keeps both values: lists are joined, others become a list.

    >>> mended("{'places': ['Wuzhen', 'Xi").value
    {'places': ['Wuzhen']}
    """
    visible = without_thinking(text)
    best: tuple[int, Mended] | None = None
    position = 0
    for _ in range(_MOST_STARTS):
        start = _STARTS.search(visible, position)
        if start is None:
            break
        reader = _Reader(visible, start.start())
        value = reader.value()
        if best is None or reader.position - start.start() > best[0]:
            best = reader.position - start.start(), Mended(value, tuple(reader.lost), reader.is_cut)
        position = max(reader.position, start.end())
    return best[1] if best else None


def without_thinking(text: str) -> str:
    """The text without the ``<think>`` block that reasoning models put first, and without outer blanks.

    Some servers leave out the opening tag; a block that was cut off has no closing tag and no reply after it.
    """
    return _THINKING.sub("", text, count=1).strip()


def joined(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """The members of an object, of which models sometimes write one twice: then both count, as one list.

    RFC 8259, §4, leaves open what a repeated name means; the last one alone would silently lose the first.

    >>> joined([("a", [1]), ("b", 2), ("a", [3])])
    {'a': [1, 3], 'b': 2}
    """
    found: dict[str, object] = {}
    for key, value in pairs:
        before = found.get(key)
        if before is None or value is None or before == value:
            found[key] = before if value is None else value
        else:
            found[key] = [*_as_list(before), *_as_list(value)]
    return found


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


@dataclass(slots=True)
class _Reader:
    """Reads one value from a place on; ``is_cut`` once the text ended inside it."""

    text: str
    position: int
    lost: list[str] = field(default_factory=list)
    is_cut: bool = False
    depth: int = 0

    def value(self) -> object:
        self._skip()
        if self.position >= len(self.text):
            self.is_cut = True
            return None
        first = self.text[self.position]
        if first in "{[":
            return self._nested(first)
        if first in _CLOSES:
            return self._string(_CLOSES[first])
        return self._bare()

    def _nested(self, first: str) -> object:
        self.position += 1
        self.depth += 1
        try:
            if self.depth > _DEEPEST:
                self._lose(self.position)
                return None
            return self._object() if first == "{" else self._list()
        finally:
            self.depth -= 1

    def _object(self) -> dict[str, object]:
        pairs: list[tuple[str, object]] = []
        while not self._ends("}"):
            start = self.position
            key = self._key()
            self._skip()
            if self.text[self.position : self.position + 1] not in (":", "："):
                self._stray(start)
                continue
            self.position += 1
            value = self.value()
            if not (self.is_cut and not isinstance(value, (dict, list))):
                pairs.append((str(key), value))
            elif self.depth == 1:
                self._lose(start)
        return joined(pairs)

    def _key(self) -> object:
        first = self.text[self.position]
        return self._string(_CLOSES[first]) if first in _CLOSES else self._bare()

    def _stray(self, start: int) -> None:
        """Leaves out what is no pair of key and value."""
        if self.position == start:  # a bracket that closes nothing
            self.position += 1
        piece = self.text[start : self.position].strip()
        if piece:
            self.lost.append(piece)

    def _list(self) -> list[object]:
        found: list[object] = []
        while not self._ends("]"):
            start = self.position
            value = self.value()
            if self.is_cut and not isinstance(value, list):
                self._lose(start)
            elif self.position == start:
                self._stray(start)
            else:
                found.append(value)
        return found

    def _ends(self, bracket: str) -> bool:
        """Whether the object or list is over: closed, cut off, or closed by the bracket of what holds it."""
        if self.is_cut:
            return True
        while True:
            self._skip()
            if self.text[self.position : self.position + 1] not in (",", "，"):
                break
            self.position += 1
        if self.position >= len(self.text):
            self.is_cut = True
            return True
        first = self.text[self.position]
        if first == bracket:
            self.position += 1
        return first == bracket or (first in "}]" and self.depth > 1)

    def _string(self, close: str) -> str:
        self.position += 1
        kept: list[str] = []
        while self.position < len(self.text):
            letter = self.text[self.position]
            self.position += 1
            if letter == "\\":
                kept.append(self._escaped())
            elif letter == close and self._may_close(close):
                return "".join(kept)
            else:
                kept.append(letter)
        self.is_cut = True
        return "".join(kept)

    def _escaped(self) -> str:
        letter = self.text[self.position : self.position + 1]
        self.position += 1
        digits = self.text[self.position : self.position + 4]
        if letter == "u" and re.fullmatch(r"[0-9a-fA-F]{4}", digits):
            self.position += 4
            return chr(int(digits, 16))
        return _ESCAPES.get(letter, letter)

    def _may_close(self, close: str) -> bool:
        """Whether a quote ends its string: an apostrophe, or a quotation inside, is followed by more words."""
        after = _BLANK.match(self.text, self.position)
        place = after.end() if after else self.position
        rest = self.text[place : place + 1]
        if _ENDS_STRING.match(self.text, place):
            return True
        return close != "'" and rest in "\"'“" and "\n" in (after.group() if after else "")

    def _bare(self) -> object:
        """A word or number without quotes."""
        found = _BARE.match(self.text, self.position)
        if found is None:
            return None
        self.position = found.end()
        word = found.group().strip()
        if word.casefold() in _WORDS:
            return _WORDS[word.casefold()]
        try:
            return float(word) if re.search(r"[.eE]", word) else int(word)
        except ValueError:
            return word

    def _skip(self) -> None:
        blank = _BLANK.match(self.text, self.position)
        if blank is not None:
            self.position = blank.end()

    def _lose(self, start: int) -> None:
        piece = self.text[start:].strip()
        if self.lost and piece.endswith(self.lost[-1]):  # the same cut, seen from further out
            self.lost.pop()
        if piece:
            self.lost.append(piece)
