"""Times in a question as windows: "now", "at 14:30", "in the last hour", "this morning", 过去一小时, 今天下午三点半.

Reckoned from a given "now", so that a snapshot of data can be asked as of its own time.
"""

# ruff: noqa: E501
from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Final

from kgplatform import lexicon
from kgplatform.questions.dialogue.scheme import UNSPOKEN
from kgplatform.questions.parser.quantities import days

# Days that are said without their year, or as seen from now: 11 March, the 11th, next Monday, 3月11日, 下周一, 后天.

_MONTHS: Final = lexicon.words("times.months")
_MONTH: Final = lexicon.expression("times.month")
_DATED: Final = (
    lexicon.pattern("times.dated_1", month=_MONTH),
    lexicon.pattern("times.dated_2", month=_MONTH),
    lexicon.pattern("times.dated_3"),
)
_WEEK: Final = lexicon.words("times.week")
_WEEKDAY: Final = lexicon.pattern("times.weekday", weekdays="|".join(_WEEK))
_WEEK_ZH: Final = lexicon.expression("times.week_zh")
_NEAR: Final = ((lexicon.pattern("times.near_1"), 2), (lexicon.pattern("times.near_2"), -2))


@dataclass(frozen=True, slots=True)
class SpokenDay:
    """A day, where its words are, and whether they reckon it from now."""

    day: date
    span: tuple[int, int]
    relative: bool


def day_said(text: str, today: date, spoken: Mapping[str, str] = UNSPOKEN) -> SpokenDay | None:
    """The first day of the text that is said without its year, nearest to today; None if none is.

    ``spoken``: what numbered things are called, by the scheme; "the 11th flight" is no day.

    >>> day_said("the gate on 11 March", date(2025, 3, 15)).day.isoformat()
    '2025-03-11'
    """
    for pattern, shift in _NEAR:
        if match := pattern.search(text):
            return SpokenDay(today + timedelta(days=shift), match.span(), relative=True)
    bare = (lexicon.pattern(f"times.dated_{number}", **spoken) for number in (4, 5))
    for pattern in (*_DATED, *bare):
        for match in pattern.finditer(text):
            day = _dated(match, today)
            if day is not None:
                return SpokenDay(day, match.span(), relative=False)
    match = _WEEKDAY.search(text)
    return SpokenDay(_weekday(match, today), match.span(), relative=True) if match else None


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


_AROUND: Final = timedelta(minutes=15)
_SOON: Final = timedelta(hours=1)
_JUST: Final = timedelta(minutes=30)
_END: Final = time(23, 59, 59)
_HAN_DIGITS: Final = lexicon.numbers("times.han_digits")
_NUMBERS: Final = lexicon.numbers("times.numbers")
_PARTS: Final = {
    "morning": (6, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 24), "noon": (12, 13),
    "早上": (6, 12), "早晨": (6, 12), "上午": (6, 12), "中午": (11, 13), "下午": (12, 18), "晚上": (18, 24), "傍晚": (17, 20), "凌晨": (0, 6), "midnight": (0, 1),
}  # fmt: skip
_LENGTH = lexicon.expression("times.length")
_LENGTH_ZH = lexicon.expression("times.length_zh")
_BACK = (lexicon.pattern("times.back_1", length=_LENGTH), lexicon.pattern("times.back_2", 0, length_zh=_LENGTH_ZH))
_AHEAD = (
    lexicon.pattern("times.ahead_1", length=_LENGTH, again=_LENGTH.replace('?P<n>', '?P<n2>').replace('?P<unit>', '?P<unit2>')),
    lexicon.pattern("times.ahead_2", 0, length_zh=_LENGTH_ZH, again=_LENGTH_ZH.replace('?P<n>', '?P<n2>').replace('?P<unit>', '?P<unit2>')),
)  # fmt: skip
_BEFORE = lexicon.pattern("times.before")
_FOLLOWS = lexicon.expression("times.follows")
_BARE = lexicon.pattern("times.bare", follows=_FOLLOWS)
_BEFORE_ZH, _AFTER_ZH = re.compile(r"\s*(?:之前|以前|前(?!后))"), re.compile(r"\s*(?:之后|以后|后|起)")
_SHIFT: Final = lexicon.numbers("times.shift")
_WHOLE_PART: Final = {"tonight": (18, 24), "今晚": (18, 24), "昨晚": (18, 24), "今早": (6, 12), "明早": (6, 12)}


@dataclass(frozen=True, slots=True)
class Window:
    """From ``low`` to ``high``, both included; ``spans`` are the places of its words in the text.

    ``sharp``: a clock time was given, to the minute; ``whole``: only a day; ``relative``: reckoned from now. A clock
    time of twelve hours that does not say which half of the day it means is the one still to come, in a question
    about what has not happened yet.
    """

    low: datetime
    high: datetime
    spans: tuple[tuple[int, int], ...]
    sharp: bool = False
    whole: bool = False
    relative: bool = False


def window(text: str, now: datetime, spoken: Mapping[str, str] = UNSPOKEN) -> Window | None:
    """The window that a text speaks of, if it speaks of one.

    >>> found = window("Which flights left in the last hour?", datetime(2025, 3, 15, 12))
    >>> found.low.isoformat(), found.high.isoformat()
    ('2025-03-15T11:00:00', '2025-03-15T12:00:00')
    """
    stretch = _stretch(text, now)
    if stretch is not None:
        return stretch
    day, spans, part, relative = _day(text, now, spoken)
    clocks = _clocks(text)
    if clocks:
        found = _by_clock(text, day or now.date(), clocks, _halves(text, clocks, now, day))
        return replace(found, spans=(*spans, *found.spans), relative=relative)
    for pattern, made in _VAGUE:
        match = pattern.search(text)
        if match and day is None:
            low, high = made(now)
            return Window(low, high, (match.span(),), relative=True)
    hours = part or _part(text, spans)
    if hours is not None:
        start = datetime.combine(day or now.date(), time())
        last = timedelta(hours=hours[1]) - timedelta(seconds=1)
        return Window(start + timedelta(hours=hours[0]), start + last, tuple(spans), relative=relative or day is None)
    if day is None:
        return None
    return Window(
        datetime.combine(day, time()), datetime.combine(day, _END), tuple(spans), whole=True, relative=relative
    )


_VAGUE: tuple[tuple[re.Pattern[str], Callable[[datetime], tuple[datetime, datetime]]], ...] = (
    (lexicon.pattern("times.now"), lambda now: (now - _AROUND, now + _AROUND)),
    (lexicon.pattern("times.shortly"), lambda now: (now, now + _SOON)),
    (lexicon.pattern("times.recent"), lambda now: (now - _JUST, now)),
    (lexicon.pattern("times.later"), lambda now: (now, datetime.combine(now.date(), _END))),
)


def _stretch(text: str, now: datetime) -> Window | None:
    """A stretch before or after now: "in the last two hours"."""
    for patterns, sign in ((_BACK, -1), (_AHEAD, 1)):
        for pattern in patterns:
            match = pattern.search(text)
            if match is None:
                continue
            groups = match.groupdict()
            second = groups.get("unit") is None
            length = _length(groups["n2" if second else "n"] or "", groups["unit2" if second else "unit"] or "")
            low, high = (now - length, now) if sign < 0 else (now, now + length)
            return Window(low, high, (match.span(),), relative=True)
    return None


def _length(number: str, unit: str) -> timedelta:
    """A length of time: "half an" and "hour", 两 and 小时."""
    plain = number.casefold().removesuffix(" of").strip()
    if plain in ("half", "half an", "half a", "半"):
        amount = 0.5
    elif re.fullmatch(r"\d+(?:\.\d+)?", plain):
        amount = float(plain)
    else:
        amount = float(_NUMBERS.get(plain, 0) or _han(plain) or 1)
    if unit.casefold().startswith("quarter"):
        return timedelta(minutes=15)
    return timedelta(hours=amount) if unit.casefold()[0] in "h小钟" else timedelta(minutes=amount)


def _han(text: str) -> int:
    """A number below 100 in Chinese characters; 0 if it is none."""
    if not text or any(c not in _HAN_DIGITS and c != "十" for c in text):
        return 0
    if "十" not in text:
        return int("".join(str(_HAN_DIGITS[c]) for c in text))
    tens, _, ones = text.partition("十")
    return 10 * (_HAN_DIGITS[tens] if tens else 1) + (_HAN_DIGITS[ones] if ones else 0)


def _day(
    text: str, now: datetime, spoken: Mapping[str, str]
) -> tuple[date | None, list[tuple[int, int]], tuple[int, int] | None, bool]:
    """The day that is named, where it is, the part of it that its word says, and whether it is reckoned from now."""
    named = [item for item in days(text) if item.last is None]
    if named:
        return date.fromisoformat(named[0].first), [(named[0].start, named[0].end)], None, False
    said = None if days(text) else day_said(text, now.date(), spoken)
    if said is not None:
        return said.day, [said.span], None, said.relative
    match = lexicon.pattern("times.day").search(text)
    if match is None:
        return None, [], None, False
    word = (match["d"] or match["z"]).casefold()
    return now.date() + timedelta(days=_SHIFT[word]), [match.span()], _WHOLE_PART.get(word), True


def day_spans(text: str, now: datetime, spoken: Mapping[str, str]) -> tuple[tuple[int, int], ...]:
    """Where the words for a day are in a text."""
    return tuple(_day(text, now, spoken)[1])


def _part(text: str, spans: list[tuple[int, int]]) -> tuple[int, int] | None:
    match = lexicon.pattern("times.part").search(text)
    if match is None:
        return None
    spans.append(match.span())
    return _PARTS[(match["p"] or match["z"]).casefold()]


@dataclass(frozen=True, slots=True)
class _Clock:
    """A clock time and its place; ``half`` says which half of the day was named: am, pm, 24 (no need) or nothing."""

    at: time
    start: int
    end: int
    half: str


def _clocks(text: str) -> list[_Clock]:
    """The clock times of a text, in order."""
    found = []
    for match in lexicon.pattern("times.worded").finditer(text):
        said = match["h"].casefold()
        hour = int(said) if said.isdigit() else _NUMBERS[said]
        minutes = 30 if match["p"].casefold() == "half" else 15
        total = 60 * hour + (minutes if match["d"].casefold() == "past" else -minutes)
        half = (match["half"] or "").casefold()
        total += 720 if half == "p" and hour < 12 else 0
        found.append(_Clock(time(total // 60 % 24, total % 60), *match.span(), half))
    for match in lexicon.pattern("times.clock").finditer(text):
        clock, minute = _hour(match), _minute(match)
        if clock is not None and clock < 24 and minute < 60:
            found.append(_Clock(time(clock, minute), *match.span(), _half(match, clock)))
    for match in lexicon.pattern("times.spot").finditer(text):
        hour = 0 if (match["w"] or match["z"]).casefold() in ("midnight", "午夜") else 12
        found.append(_Clock(time(hour), *match.span("w" if match["w"] else "z"), "24"))
    for match in _BARE.finditer(text):
        spots = [(int(match[name]), *match.span(name)) for name in ("a", "b") if match[name]]
        found += [
            _Clock(time(hour), start, end, "" if 0 < hour <= 12 else "24")
            for hour, start, end in spots
            if hour < 24 and not any(item.start < end and start < item.end for item in found)
        ]
    return sorted(found, key=lambda item: item.start)


def _half(match: re.Match[str], hour: int) -> str:
    """Which half of the day a clock time names."""
    if match["h3"]:
        late = match["part"] in ("下午", "晚上", "傍晚")
        return "p" if late else "a" if match["part"] else "" if 0 < hour <= 12 else "24"
    return (match["half"] or match["half2"] or ("" if match["h2"] else "24")).casefold()


def _halves(text: str, clocks: list[_Clock], now: datetime, day: date | None) -> tuple[time, time]:
    """The first two times (the first twice if alone): of a range both in one half of the day, and still to come."""
    first, second = clocks[0], clocks[min(1, len(clocks) - 1)]
    low, high = first.at, second.at
    if second.half == "p" and not first.half and low.hour < 12 and _later(low) <= high:
        low = _later(low)
    if first.half == "p" and not second.half and high.hour < 12 and low <= _later(high):
        high = _later(high)
    loose = not first.half and not second.half and high.hour < 12 and not _BEFORE.search(text[: first.start])
    if loose and day in (None, now.date()) and high < now.time() and not lexicon.pattern("times.gone").search(text):
        low, high = _later(low), _later(high)
    return low, high


def _later(at: time) -> time:
    return at.replace(hour=at.hour % 12 + 12)


def _hour(match: re.Match[str]) -> int | None:
    if match["h3"]:
        hour = int(match["h3"]) if match["h3"].isdigit() else _han(match["h3"])
        return hour + 12 if match["part"] in ("下午", "晚上", "傍晚") and hour < 12 else hour
    hour, half = int(match["h"] or match["h2"]), (match["half"] or match["half2"] or "").casefold()
    if half == "p" and hour < 12:
        return hour + 12
    return 0 if half == "a" and hour == 12 else hour


def _minute(match: re.Match[str]) -> int:
    if match["m"]:
        return int(match["m"])
    said = (match["m3"] or "").removesuffix("分")
    if said in ("半", "一刻", "三刻"):
        return {"半": 30, "一刻": 15, "三刻": 45}[said]
    return int(said) if said.isdigit() else _han(said)


def _by_clock(text: str, day: date, clocks: list[_Clock], times: tuple[time, time]) -> Window:
    """The window of one clock time, or from one to another."""
    start, end = clocks[0].start, clocks[0].end
    moment = datetime.combine(day, times[0])
    joined = len(clocks) > 1 and re.fullmatch(
        r"\s*(?:and|to|until|till|-|–|~|到|至|和)\s*", text[end : clocks[1].start], re.IGNORECASE
    )
    if joined:
        return Window(moment, datetime.combine(day, times[1]), ((start, clocks[1].end),), sharp=True)
    before, after = text[:start], text[end:]
    if near := lexicon.pattern("times.nearly").search(before):
        return Window(moment - _AROUND, moment + _AROUND, ((near.start(), end),), sharp=True)
    if near := lexicon.pattern("times.nearly_after").match(after):
        return Window(moment - _AROUND, moment + _AROUND, ((start, end + near.end()),), sharp=True)
    if _BEFORE.search(before) or _BEFORE_ZH.match(after):
        return Window(datetime.combine(day, time()), moment, ((start, end),), sharp=True)
    if lexicon.pattern("times.after").search(before) or _AFTER_ZH.match(after):
        return Window(moment, datetime.combine(day, _END), ((start, end),), sharp=True)
    return Window(moment, moment + timedelta(seconds=59), ((start, end),), sharp=True)
