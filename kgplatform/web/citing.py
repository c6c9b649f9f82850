"""A sentence with its names linked and its sources marked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgplatform.text import normalise
from kgplatform.types import Evidence


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a sentence, the page it links to (empty: none), and the numbers of its sources (from 1)."""

    text: str
    href: str = ""
    marks: tuple[int, ...] = ()


_MOST_MARKS = 3
_DIGITS = re.compile(r"[\d.,]+")


def marks_of(name: str, evidence: Sequence[Evidence]) -> tuple[int, ...]:
    """The numbers of the passages that hold the name."""
    wanted = normalise(name)
    if not wanted:
        return ()
    digits = _DIGITS.fullmatch(wanted)
    token = re.compile(rf"(?<![\d.,]){re.escape(wanted)}(?![\d]|[.,]\d)") if digits else None
    return tuple(
        number
        for number, item in enumerate(evidence, start=1)
        if (token.search(item.quote) if token else wanted in normalise(item.quote))
    )[:_MOST_MARKS]


def cited(text: str, pages: Mapping[str, str], evidence: Sequence[Evidence]) -> list[Segment]:
    """The sentence cut at the first place of each name in ``pages`` (name → address, may be empty)."""
    places: list[tuple[int, int, str]] = []
    for name in sorted((name for name in pages if name.strip()), key=lambda name: (-len(name), name)):
        start = _first_free(text, name, places)
        if start >= 0:
            places.append((start, start + len(name), name))
    segments: list[Segment] = []
    end = 0
    for start, stop, name in sorted(places):
        if start > end:
            segments.append(Segment(text[end:start]))
        segments.append(Segment(text[start:stop], pages[name], marks_of(name, evidence)))
        end = stop
    if end < len(text):
        segments.append(Segment(text[end:]))
    return segments


def _first_free(text: str, name: str, taken: Sequence[tuple[int, int, str]]) -> int:
    """Where the name first stands as a word of its own, outside what is taken; -1 if nowhere."""
    start = text.find(name)
    while start >= 0:
        stop = start + len(name)
        overlaps = any(start < other_stop and other_start < stop for other_start, other_stop, _ in taken)
        if not overlaps and not (_joins(text[start - 1 : start], name[0]) or _joins(name[-1], text[stop : stop + 1])):
            return start
        start = text.find(name, start + 1)
    return -1


def _joins(left: str, right: str) -> bool:
    """Whether two letters are of one word; Chinese ones never are, for want of blanks."""
    return bool(left and right) and left.isascii() and right.isascii() and left.isalnum() and right.isalnum()
