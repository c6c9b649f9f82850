"""Days and months in a question as ISO dates, however they are written: 17 January 2025, 2025年1月17日, May 2024."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?P<{}>\d{{1,2}})(?:st|nd|rd|th)?"
_DATES = (
    re.compile(r"(?<!\d)(?P<y>\d{4})[-/](?P<m>\d{1,2})[-/](?P<d>\d{1,2})(?!\d)"),
    re.compile(r"(?<!\d)(?P<y>\d{4})年(?P<m>\d{1,2})月(?P<d>\d{1,2})[日号]"),
    re.compile(rf"(?<!\d){_DAY.format('d')} (?:of )?(?P<m>{_MONTH}),? (?P<y>\d{{4}})(?!\d)", re.IGNORECASE),
    re.compile(rf"\b(?P<m>{_MONTH}) {_DAY.format('d')},? (?P<y>\d{{4}})(?!\d)", re.IGNORECASE),
)
_SPANS = (
    re.compile(rf"\b(?P<m>{_MONTH}),? (?:of )?(?P<y>\d{{4}})(?!\d)", re.IGNORECASE),
    re.compile(r"(?<!\d)(?P<y>\d{4})年(?P<m>\d{1,2})月(?:份|底|初)?(?!\d)"),
)
_JOINED = re.compile(r"\s*(?:-|–|~|～|—|至|到|to|and|until)\s*", re.IGNORECASE)
ISO: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
"""A day as this module gives it."""


@dataclass(frozen=True, slots=True)
class Day:
    """A day, or with ``last`` the days from one to the other (of a month as well), at its place in the text."""

    start: int
    end: int
    first: str
    last: str | None = None


def days(text: str) -> tuple[Day, ...]:
    """The days of a text in order; two with "to" or "and" between them are one range.

    >>> [(day.first, day.last) for day in days("after 17 January 2025, or from 2025年2月1日 to 2025-3-4")]
    [('2025-01-17', None), ('2025-02-01', '2025-03-04')]
    """
    found = sorted(_found(text), key=lambda day: day.start)
    joined: list[Day] = []
    for day in found:
        before = joined[-1] if joined else None
        if before is not None and _alike(before, day) and _JOINED.fullmatch(text[before.end : day.start]):
            joined[-1] = Day(before.start, day.end, before.first, day.last or day.first)
        elif before is None or day.start >= before.end:
            joined.append(day)
    return tuple(joined)


def _alike(one: Day, other: Day) -> bool:
    """Whether both are days, or both months."""
    return (one.last is None) == (other.last is None)


def _found(text: str) -> Iterator[Day]:
    for pattern in _DATES:
        for match in pattern.finditer(text):
            written = match["m"]
            month = int(written) if written.isdigit() else _MONTHS[written[:3].casefold()]
            try:
                day = date(int(match["y"]), month, int(match["d"]))
            except ValueError:  # the 31st of February is no day
                continue
            yield Day(match.start(), match.end(), day.isoformat())
    for pattern in _SPANS:
        for match in pattern.finditer(text):
            written = match["m"]
            year, month = int(match["y"]), int(written) if written.isdigit() else _MONTHS[written[:3].casefold()]
            if year > 0 and 1 <= month <= 12:
                last = monthrange(year, month)[1]
                yield Day(match.start(), match.end(), f"{year:04}-{month:02}-01", f"{year:04}-{month:02}-{last}")
