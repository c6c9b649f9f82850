"""How values are written: dates found in texts, and the form in which the examples of a property write theirs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Final

_MONTH_NAMES = "january february march april may june july august september october november december"
_MONTHS: Final = _MONTH_NAMES.split()
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)[a-z]*\.?"
_DAY = r"(?P<d{0}>\d{{1,2}})(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"(?<![\w/.-])(?:{_DAY.format(1)}\s+(?:of\s+)?(?P<m1>{_MONTH}),?\s+(?:of\s+)?(?P<y1>\d{{4}})"
    rf"|(?P<m2>{_MONTH})\s+(?:the\s+)?{_DAY.format(2)},?\s+(?:of\s+)?(?P<y2>\d{{4}})"
    r"|(?P<y3>\d{4})[-/.](?P<m3>\d{1,2})[-/.](?P<d3>\d{1,2})"
    r"|(?P<a4>\d{1,2})[-/.](?P<b4>\d{1,2})[-/.](?P<y4>\d{4})"
    r"|(?P<y5>\d{4})\s*年\s*(?P<m5>\d{1,2})\s*月\s*(?P<d5>\d{1,2})\s*日?"
    rf"|(?P<m6>{_MONTH})\s+(?:of\s+)?(?P<y6>[12]\d{{3}})"
    r"|(?P<y7>[12]\d{3})(?:\s*年)?)(?![\w/-]|[.,]\d)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")

Day = tuple[int, int, int]
"""Year, month and day; 0 where not written."""


def dates_in(text: str) -> Iterator[tuple[int, int, Day]]:
    """The dates and years of a text with their offsets, in order."""
    for match in _DATE.finditer(text):
        day = _day(match)
        if day is not None:
            yield match.start(), match.end(), day


def day_of(text: str) -> Day | None:
    """The date that the text, as a whole, writes; None where it writes none."""
    found = [day for start, end, day in dates_in(text.strip()) if (start, end) == (0, len(text.strip()))]
    return found[0] if found else None


def _day(match: re.Match[str]) -> Day | None:
    part = {key[0]: value for key, value in match.groupdict().items() if value is not None}
    year = int(part["y"])
    if "a" in part:
        first, second = int(part["a"]), int(part["b"])
        month, day = (second, first) if first > 12 else (first, second)
    else:
        month, day = _month(part.get("m", "0")), int(part.get("d", 0))
    try:
        date(year, month or 1, day or 1)
    except ValueError:
        return None
    return year, month, day


def _month(text: str) -> int:
    if text.isdigit():
        return int(text)
    return next(number for number, name in enumerate(_MONTHS, 1) if name.startswith(text.casefold()[:3]))


def number_of(text: str) -> float | None:
    """The number that the text begins with and, but for a unit, is; None where it is none."""
    match = _NUMBER.match(text.strip())
    if match is None or re.search(r"\d", text.strip()[match.end() :]):
        return None
    return float(match.group().replace(",", ""))


def _iso(day: Day) -> str:
    return f"{day[0]:04d}-{day[1] or 1:02d}-{day[2] or 1:02d}"


def _long(day: Day) -> str:
    return f"{day[2] or 1:02d} {_MONTHS[(day[1] or 1) - 1].capitalize()} {day[0]}"


def _short(day: Day) -> str:
    return f"{day[2] or 1} {_MONTHS[(day[1] or 1) - 1].capitalize()} {day[0]}"


def _american(day: Day) -> str:
    return f"{_MONTHS[(day[1] or 1) - 1].capitalize()} {day[2] or 1}, {day[0]}"


def _han(day: Day) -> str:
    return f"{day[0]}年{day[1] or 1}月{day[2] or 1}日"


def _only_year(day: Day) -> str:
    return str(day[0])


WRITERS: Final = {
    "iso": _iso,
    "long": _long,
    "short": _short,
    "american": _american,
    "han": _han,
    "year": _only_year,
}
"""The forms in which dates are written; what a text leaves out is the first."""


def form_of(value: str, written: str) -> str:
    """The name of the form that makes ``value`` of what the text has ``written``.

    ``as written``, one of `WRITERS`, or ``number`` with what follows it: a unit that the value has and the text not.
    """
    if value.strip() == written.strip():
        return "as written"
    day = day_of(written)
    if day is not None:
        for name, writer in WRITERS.items():
            if writer(day) == value.strip():
                return name
    match = _NUMBER.match(value.strip())
    if match is not None and number_of(written) == number_of(value) is not None:
        return "number" + value.strip()[match.end() :]
    return "as written"


def formed(written: str, form: str) -> str:
    """What the text has written, in that form; as it is where the form does not apply."""
    day = day_of(written)
    if form in WRITERS and day is not None:
        return WRITERS[form](day)
    match = _NUMBER.match(written.strip())
    if form.startswith("number") and match is not None and number_of(written) is not None:
        return match.group().replace(",", "") + form.removeprefix("number")
    return written
