"""The shape of a text that says who a fact is about: headings, ``label: value`` lines, list items, paragraphs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from kgplatform.text import has_han, sentences

_HEADING = re.compile(r"^\s*(?:#{1,6}\s+(?P<marked>.+?)\s*#*|【(?P<boxed>[^】]{1,40})】)\s*$")
_NUMBERED = re.compile(r"^(?:\d+(?:\.\d+)*\.?|[IVX]+\.|[一二三四五六七八九十]+[、.])\s+")
_ITEM = re.compile(r"^\s*(?:[-*•●▪◦‣·>]|\[\d{1,3}\]|\d{1,3}[.)、]|[①-⑳])\s*(?=\S)")
_LABEL = re.compile(r"^(?P<label>[^:：|\n。.!?]{1,40}?)\s*(?:\*\*)?\s*[:：|]\s*(?:\*\*)?\s*(?P<value>\S[^\n]*)$")
_MARKS = re.compile(r"^[\s*_|#>-]+")
_MAX_BARE_HEADING: Final = 60
_MAX_SENTENCE: Final = 1500  # what has no end for longer is no sentence; reading it would take time with its square


@dataclass(frozen=True, slots=True)
class Line:
    """A line: ``kind`` is ``heading``, ``label``, ``item``, ``row`` or ``text``; its content begins at ``start``."""

    kind: str
    start: int
    end: int
    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the lines below it, up to the next heading of any rank."""

    heading: Line | None
    lines: tuple[Line, ...]


def flowing(text: str) -> str:
    """The text with line breaks inside a paragraph made blanks; offsets stay what they are.

    A break counts as inside when the line before it is long and the next one begins in small letters or midway.
    """
    lines = text.split("\n")
    pieces: list[str] = []
    for number, line in enumerate(lines[:-1]):
        following = lines[number + 1]
        inside = len(line) >= 60 and following.strip() and not _ITEM.match(following) and not _HEADING.match(following)
        inside = inside and not _LABEL.match(following) and not following.lstrip().startswith("|")
        han = has_han(line[-1:]) and has_han(following[:1])
        pieces.append(line + (" " if inside and not han and not line.startswith("#") else "\n"))
    return "".join(pieces) + lines[-1]


def lines_of(text: str) -> Iterator[Line]:
    """The lines of the text that hold something, each with its kind."""
    position = 0
    for raw in text.split("\n"):
        if raw.strip():
            yield _line(raw, position)
        position += len(raw) + 1


def _line(raw: str, position: int) -> Line:
    end = position + len(raw.rstrip())
    heading = _HEADING.match(raw)
    if heading:
        group = "marked" if heading["marked"] else "boxed"
        return Line("heading", position + heading.start(group), position + heading.end(group), heading[group])
    item = _ITEM.match(raw)
    start = position + (item.end() if item else len(raw) - len(raw.lstrip()))
    marks = _MARKS.match(raw, start - position)
    start += marks.end() - (start - position) if marks else 0
    content = raw[start - position :].rstrip()
    if content.count("|") >= 2 or set(content) <= set("|-: "):
        return Line("row", start, end, content)
    label = _LABEL.match(content)
    if label and not re.match(r"https?$|\d+$", label["label"]):
        return Line("label", start + label.start("value"), end, label["value"], label["label"].strip(" *"))
    if item:
        return Line("item", start, end, content)
    return Line("text", start, end, content)


def sections(text: str, is_label: Callable[[str], bool]) -> list[Section]:
    """The text cut at its headings; a short bare line counts as a heading if ``is_label`` knows its words."""
    found: list[Section] = []
    heading: Line | None = None
    lines: list[Line] = []
    for line in lines_of(text):
        bare = (
            line.kind in ("text", "item") and len(line.text) <= _MAX_BARE_HEADING and is_label(bare_heading(line.text))
        )
        if line.kind == "heading" or bare:
            found.append(Section(heading, tuple(lines)))
            heading, lines = line, []
        else:
            lines.append(line)
    found.append(Section(heading, tuple(lines)))
    return found


def bare_heading(text: str) -> str:
    """The words of a heading without its number and marks."""
    return _NUMBERED.sub("", text.strip(" *#:：")).strip()


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """The sentences of the text, cut at line ends too: where lines flow on, `flowing` has joined them."""
    found: list[tuple[int, int]] = []
    for start, end in sentences(text):
        position = start
        for piece in text[start:end].split("\n"):
            if piece.strip():
                left = len(piece) - len(piece.lstrip())
                stop = position + len(piece.rstrip())
                for first in range(position + left, stop, _MAX_SENTENCE):
                    found.append((first, min(first + _MAX_SENTENCE, stop)))
            position += len(piece) + 1
    return found
