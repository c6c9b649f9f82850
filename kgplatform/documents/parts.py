"""What every reader hands over: the parts of a file, cleaned, before they get IRIs."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_DATE_NUMBERS = re.compile(r"(?<!\d)(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})(?!\d)")
_DATE_EITHER = re.compile(r"(?<![\d/.-])(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})(?![\d/-]|\.\d)")
_DATE_COMPACT = re.compile(r"(?<!\d)((?:19|20)\d\d)(\d\d)(\d\d)(?!\d)")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+{_MONTH},?\s+(\d{{4}})\b", re.IGNORECASE)
_DATE_MONTH_FIRST = re.compile(rf"\b{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})\b", re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MILLISECONDS = 100_000_000_000


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """One document inside a file; ``number`` counts from 0 in the order of the file."""

    text: str
    title: str
    media_type: str
    author: str | None = None
    created: str | None = None
    number: int = 0


def clean(text: str) -> str:
    r"""The text with ``\n`` line ends, without NUL and byte-order marks, in NFC; nothing else is changed.

    Half surrogates, which JSON can escape but no RDF literal can hold, become U+FFFD.

    >>> clean("a\r\nb\rc")
    'a\nb\nc'
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").replace("\ufeff", "")
    return unicodedata.normalize("NFC", _LONE_SURROGATE.sub("\ufffd", text))


def one_line(text: str) -> str:
    """The text with every run of blanks made a single blank, such as a title needs."""
    return " ".join(text.split())


def file_title(path: Path) -> str:
    """A title made of the file's name, for documents that have none of their own."""
    stem = os.fsencode(path.stem).decode("utf-8", "replace")
    return one_line(stem.replace("_", " ")) or stem or "untitled"


def with_title(text: str, title: str) -> str:
    """The text under its title as a heading, unless the text already says it; so that a title can be quoted."""
    if not title or title in one_line(text[: 4 * len(title) + 400]):
        return text
    return f"# {title}\n\n{text}".rstrip()


def iso_date(text: str) -> str | None:
    """The first calendar date in the text as ``YYYY-MM-DD``; None where there is none.

    >>> iso_date("发布于 2024年3月5日"), iso_date("March 5th, 2024"), iso_date("25/12/2019"), iso_date("03/04/2011")
    ('2024-03-05', '2024-03-05', '2019-12-25', None)
    """
    for year, month, day in _dates(text[:200]):
        try:
            return date(year, month, day).isoformat()
        except ValueError:
            continue
    return None


def _dates(text: str) -> Iterator[tuple[int, int, int]]:
    for pattern in (_DATE_NUMBERS, _DATE_COMPACT):
        for match in pattern.finditer(text):
            yield int(match[1]), int(match[2]), int(match[3])
    for match in _DATE_DAY_FIRST.finditer(text):
        yield int(match[3]), _MONTHS.index(match[2].lower()) + 1, int(match[1])
    for match in _DATE_MONTH_FIRST.finditer(text):
        yield int(match[3]), _MONTHS.index(match[1].lower()) + 1, int(match[2])
    for match in _DATE_EITHER.finditer(text):  # the larger number is the day where it is no month, or both are one
        first, second = int(match[1]), int(match[2])
        if max(first, second) > 12 or first == second:
            yield int(match[3]), min(first, second), max(first, second)
    # a compact date directly followed by its time, as PDF writes it
    for match in re.finditer(r"D:((?:19|20)\d\d)(\d\d)(\d\d)", text):
        yield int(match[1]), int(match[2]), int(match[3])


def date_of_timestamp(seconds: float) -> str | None:
    """The UTC date of a Unix time in seconds or milliseconds; None where it is no plausible time (1990 to 2100)."""
    if abs(seconds) >= _MILLISECONDS:
        seconds /= 1000
    if not 631_152_000 <= seconds < 4_102_444_800:
        return None
    return datetime.fromtimestamp(seconds, tz=UTC).date().isoformat()
