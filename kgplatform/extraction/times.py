"""Times of day and spans of hours, as notes write them in English and Chinese."""

from __future__ import annotations

import re

_CLOCK = (
    r"(?:(?:早上|上午|中午|下午|晚上|傍晚|凌晨)\s*)?"
    r"(?:[01]?\d|2[0-4])(?:\s*[:：]\s*[0-5]\d(?:\s*[ap]\.?m\b\.?)?|\s*[ap]\.?m\b\.?|\s*点(?:半|[0-5]?\d分)?)"
)
_DASH = r"\s*(?:[-–—~〜～至到]+|to|until|till|and|through)\s*(?:about\s+|around\s+|次日)?"
_TEXT_OF_SPAN = (
    rf"(?P<opens>{_CLOCK}|(?:[01]?\d|2[0-4])(?={_DASH}[01]?\d(?::[0-5]\d)?\s*[ap]\.?m)){_DASH}(?P<closes>{_CLOCK})"
)
SPAN = re.compile(rf"(?<![\d:.])(?:{_TEXT_OF_SPAN})(?![\d:])", re.IGNORECASE)
OPEN_CLOSE = re.compile(
    rf"(?<![\d:.])(?P<opens>{_CLOCK})[^\d\n。.;]{{0,30}}?"
    rf"(?:closes?|closing|shuts?|until|till|关门|闭馆|打烊|停止营业|关)[^\d\n。.;]{{0,15}}(?P<closes>{_CLOCK})(?![\d:])",
    re.IGNORECASE,
)
ONE_CLOCK = re.compile(rf"(?<![\d:.])({_CLOCK})(?![\d:])", re.IGNORECASE)
_CLOCK_PARTS = re.compile(
    r"(?P<part>早上|上午|中午|下午|晚上|傍晚|凌晨)?\s*(?P<hour>\d{1,2})"
    r"(?:\s*[:：]\s*(?P<minute>\d\d)|\s*点(?:(?P<half>半)|(?P<han>\d{1,2})分)?)?\s*(?P<half_day>[ap])?\.?(?:m\b)?",
    re.IGNORECASE,
)


def clock(text: str) -> str | None:
    """A time of day as ``HH:MM``; None where there is none.

    >>> clock("8:30"), clock("5 pm"), clock("晚上9点半"), clock("noonish")
    ('08:30', '17:00', '21:30', None)
    """
    match = _CLOCK_PARTS.search(text)
    if match is None:
        return None
    hour = int(match["hour"])
    minute = 30 if match["half"] else int(match["minute"] or match["han"] or 0)
    afternoon = match["part"] in ("下午", "晚上", "傍晚") or (match["half_day"] or "").lower() == "p"
    if afternoon and hour < 12:
        hour += 12
    if (match["half_day"] or "").lower() == "a" and hour == 12:
        hour = 0
    return f"{hour:02d}:{minute:02d}" if hour <= 24 and minute < 60 else None


def hours(text: str) -> str | None:
    """Spans of hours as ``HH:MM-HH:MM``, several joined by a comma; None where there is none.

    >>> hours("8:00-17:30"), hours("9am to 5pm"), hours("9:00到22:00"), hours("9-11:30am, 1pm-5pm")
    ('08:00-17:30', '09:00-17:00', '09:00-22:00', '09:00-11:30, 13:00-17:00')
    """
    found = [lexical for match in SPAN.finditer(text) if (lexical := span(match))]
    return ", ".join(found) or None


def span(match: re.Match[str]) -> str | None:
    """The span that a match of `SPAN` or `OPEN_CLOSE` writes; None where it is none."""
    opens, closes = clock(match["opens"]), clock(match["closes"])
    return f"{opens}-{closes}" if opens and closes and opens != closes else None
