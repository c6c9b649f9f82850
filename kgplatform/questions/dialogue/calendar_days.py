"""Days that are said without their year, or as seen from now: 11 March, the 11th, next Monday, 3月11日, 下周一, 后天."""

# ruff: noqa: E501
from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH: Final = (
    r"(?P<m>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DATED: Final = (
    re.compile(rf"(?<![\w.:])(?:the\s+)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s*(?:of\s+)?{_MONTH}", re.IGNORECASE),
    re.compile(rf"\b{_MONTH}\s*(?:the\s+)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?![:.]\d)", re.IGNORECASE),
    re.compile(r"(?<!\d)(?P<n>\d{1,2})月(?P<d>\d{1,2})[日号]"),
    re.compile(r"\b(?:on\s+)?the\s+(?P<d>\d{1,2})(?:st|nd|rd|th)\b(?!\s+(?:one|flight|option|of\b))", re.IGNORECASE),
    re.compile(r"(?<![\d月])(?P<d>\d{1,2})[日号](?!登机口|机位|航班|线|门)"),
)
_WEEK: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY: Final = re.compile(
    rf"\b(?:on\s+)?(?P<which>next|this|last|coming)?\s*\b(?P<w>{'|'.join(_WEEK)}|mon|tue|tues|wed|thu|thurs|fri)(?:['’]s)?\b"
    r"|(?P<z>上个?|下个?|这个?|本)?(?:周|星期|礼拜)(?P<c>[一二三四五六日天])",
    re.IGNORECASE,
)
_WEEK_ZH: Final = "一二三四五六日"
_NEAR: Final = (
    (re.compile(r"\b(?:the )?day after tomorrow\b|后天", re.IGNORECASE), 2),
    (re.compile(r"\b(?:the )?day before yesterday\b|前天", re.IGNORECASE), -2),
)


@dataclass(frozen=True, slots=True)
class Said:
    """A day, where its words are, and whether they reckon it from now."""

    day: date
    span: tuple[int, int]
    relative: bool


def day_said(text: str, today: date) -> Said | None:
    """The first day of the text that is said without its year, nearest to today; None if none is.

    >>> day_said("the gate on 11 March", date(2025, 3, 15)).day.isoformat()
    '2025-03-11'
    """
    for pattern, shift in _NEAR:
        if match := pattern.search(text):
            return Said(today + timedelta(days=shift), match.span(), relative=True)
    for pattern in _DATED:
        for match in pattern.finditer(text):
            day = _dated(match, today)
            if day is not None:
                return Said(day, match.span(), relative=False)
    match = _WEEKDAY.search(text)
    return Said(_weekday(match, today), match.span(), relative=True) if match else None


def _dated(match: re.Match[str], today: date) -> date | None:
    groups = match.groupdict()
    named = groups.get("m")
    month = _MONTHS.index(named[:3].casefold()) + 1 if named else int(groups.get("n") or today.month)
    made = [_date(today.year + shift, month, int(groups["d"])) for shift in (0, -1, 1)]
    return min((day for day in made if day), key=lambda day: abs(day - today), default=None)


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _weekday(match: re.Match[str], today: date) -> date:
    """The weekday after today, that of the week after for 下周; before it for "last", today itself for "this"."""
    if match["c"]:
        number = _WEEK_ZH.index(match["c"].replace("天", "日"))
        weeks = {"上": -1, "下": 1}.get((match["z"] or "本")[0], 0)
        return today + timedelta(days=number - today.weekday() + 7 * weeks)
    number = next(i for i, name in enumerate(_WEEK) if name.startswith(match["w"].casefold()[:3]))
    ahead = (number - today.weekday()) % 7
    which = (match["which"] or "").casefold()
    if which == "last":
        return today + timedelta(days=ahead - 7)
    return today + timedelta(days=ahead or (7 if which in ("next", "coming") else 0))
