"""Times in a question as windows: "now", "at 14:30", "in the last hour", "this morning", 过去一小时, 今天下午三点半.

Reckoned from a given "now", so that a snapshot of data can be asked as of its own time.
"""

# ruff: noqa: E501
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Final

from kgplatform.questions.dates import days
from kgplatform.questions.dialogue.calendar_days import day_said

_AROUND: Final = timedelta(minutes=15)
_SOON: Final = timedelta(hours=1)
_JUST: Final = timedelta(minutes=30)
_END: Final = time(23, 59, 59)
_HAN_DIGITS: Final = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_NUMBERS: Final = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
    )
} | {"a": 1, "an": 1, "few": 3, "couple": 2, "fifteen": 15, "twenty": 20, "thirty": 30, "forty-five": 45}  # fmt: skip
_PARTS: Final = {
    "morning": (6, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 24), "noon": (12, 13),
    "早上": (6, 12), "早晨": (6, 12), "上午": (6, 12), "中午": (11, 13), "下午": (12, 18), "晚上": (18, 24), "傍晚": (17, 20), "凌晨": (0, 6), "midnight": (0, 1),
}  # fmt: skip
_CLOCK = re.compile(
    r"(?<![\d:-])(?P<h>[01]?\d|2[0-4])[:：h](?P<m>[0-5]\d)(?::[0-5]\d)?(?:\s*(?P<half>[ap])\.?m\b\.?)?(?![\d:])"
    r"|(?<![\d:.-])(?P<h2>1[0-2]|0?[1-9])\s*(?:(?P<half2>[ap])\.?m\b\.?|o['’]clock\b)"
    r"|(?P<part>早上|上午|中午|下午|晚上|傍晚|凌晨)?(?P<h3>\d{1,2}|二十[一二三四]?|十[一二三四五六七八九]?|[一二两三四五六七八九])[点时](?!间|候|刻)(?P<m3>半|一刻|三刻|(?:\d{1,2}|[二三四五]?十[一二三四五六七八九]?)分)?",
    re.IGNORECASE,
)
_WORDED = re.compile(
    r"\b(?:a\s+)?(?P<p>half|quarter) (?P<d>past|to) (?P<h>one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|1[0-2]|[1-9])\b(?:\s*(?P<half>[ap])\.?m\b)?",
    re.IGNORECASE,
)
_LENGTH = (
    r"(?P<n>\d+(?:\.\d+)?|half(?: an?)?|an?|one|two|three|four|five|six|ten|fifteen|twenty|thirty|forty-five|few|couple of|)\s*(?:and a half\s*)?"
    r"(?P<unit>minutes?|mins?|hours?|hrs?|quarter of an hour)"
)
_LENGTH_ZH = r"(?P<n>\d+(?:\.\d+)?|半|[一二两三四五六七八九十]+)\s*个?(?P<unit>小时|分钟|钟头)"
_BACK = (
    re.compile(rf"\b(?:(?:in|within|during|over)\s+)?the (?:last|past) {_LENGTH}\b", re.IGNORECASE),
    re.compile(rf"(?:在?过去|最近|刚过去)的?{_LENGTH_ZH}(?:之内|以内|内|里|中)?"),
)
_AHEAD = (
    re.compile(rf"\b(?:(?:in|within|during|over)\s+)?the (?:next|coming) {_LENGTH}\b|\bwithin {_LENGTH.replace('?P<n>', '?P<n2>').replace('?P<unit>', '?P<unit2>')}\b", re.IGNORECASE),
    re.compile(rf"(?:在?未来|接下来|今后|之后)的?{_LENGTH_ZH}(?:之内|以内|内|里|中)?|{_LENGTH_ZH.replace('?P<n>', '?P<n2>').replace('?P<unit>', '?P<unit2>')}(?:之内|以内|内)"),
)  # fmt: skip
_NOW = re.compile(
    r"\b(?:right now|just now|now|currently|at the moment|at present)\b|现在|目前|此刻|眼下|当前(?!状态)", re.IGNORECASE
)
_SHORTLY = re.compile(r"\b(?:soon|shortly|in a moment|about to)\b|马上|即将|快要|很快", re.IGNORECASE)
_RECENT = re.compile(r"\b(?:recently|just (?=left|arrived|landed|departed)|a moment ago)\b|刚刚|刚才", re.IGNORECASE)
_LATER = re.compile(r"\b(?:later(?: on)?(?: today)?|rest of the day)\b|稍后|晚些时候|待会", re.IGNORECASE)
_DAY = re.compile(
    r"\b(?P<d>today|yesterday|tomorrow|tonight)(?:['’]s)?\b|(?P<z>今天|昨天|明天|今晚|今早|昨晚|明早)", re.IGNORECASE
)
_PART = re.compile(
    r"\b(?:(?:this|in the|at|yesterday|tomorrow)\s+)?(?P<p>morning|afternoon|evening|noon|night|midnight)\b|(?P<z>早上|早晨|上午|中午|下午|晚上|傍晚|凌晨)",
    re.IGNORECASE,
)
_NEARLY = re.compile(
    r"(?:\b(?:around|about|approximately|roughly|near|circa)\s*(?:the\s*)?|大约|大概|约)$", re.IGNORECASE
)
_NEARLY_AFTER = re.compile(r"\s*(?:左右|前后|上下|or so\b|-ish\b)", re.IGNORECASE)
_BEFORE = re.compile(r"\b(?:before|by|until|till|earlier than)\s*$", re.IGNORECASE)
_AFTER = re.compile(r"\b(?:after|from|since|later than|past)\s*$", re.IGNORECASE)
_FOLLOWS = (
    r"(?=\s*(?:$|[?.!,;]|[ap]\.?m\b|(?:today|tomorrow|tonight|yesterday|this|in|on|from|to|for|at|please|pls|and|is|are|"
    r"mon|tue|wed|thu|fri|sat|sun|-|–|until|till)))"
)
_BARE = re.compile(
    rf"\b(?P<lead>before|by|until|till|after|since|around|about|between|from|btw)\s+(?P<a>[01]?\d|2[0-4])(?![\d:.])"
    rf"(?:\s*(?:and|to|until|till|-|–)\s*(?P<b>[01]?\d|2[0-4])(?![\d:.]))?{_FOLLOWS}",
    re.IGNORECASE,
)
_SPOT = re.compile(
    r"\b(?:around|about|before|after|by|until|since)\s+(?P<w>noon|midday|midnight)\b|(?P<z>正午|午夜)(?=前|后|左右|之前|之后)",
    re.IGNORECASE,
)
_GONE = re.compile(r"\b(?:left|departed|arrived|landed|did|was|were|had|took)\b|了", re.IGNORECASE)
_BEFORE_ZH, _AFTER_ZH = re.compile(r"\s*(?:之前|以前|前(?!后))"), re.compile(r"\s*(?:之后|以后|后|起)")
_SHIFT: Final = {
    "today": 0,
    "tonight": 0,
    "yesterday": -1,
    "tomorrow": 1,
    "今天": 0,
    "今晚": 0,
    "今早": 0,
    "昨天": -1,
    "昨晚": -1,
    "明天": 1,
    "明早": 1,
}
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


def window(text: str, now: datetime) -> Window | None:
    """The window that a text speaks of, if it speaks of one.

    >>> found = window("Which flights left in the last hour?", datetime(2025, 3, 15, 12))
    >>> found.low.isoformat(), found.high.isoformat()
    ('2025-03-15T11:00:00', '2025-03-15T12:00:00')
    """
    stretch = _stretch(text, now)
    if stretch is not None:
        return stretch
    day, spans, part, relative = _day(text, now)
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
    (_NOW, lambda now: (now - _AROUND, now + _AROUND)),
    (_SHORTLY, lambda now: (now, now + _SOON)),
    (_RECENT, lambda now: (now - _JUST, now)),
    (_LATER, lambda now: (now, datetime.combine(now.date(), _END))),
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


def _day(text: str, now: datetime) -> tuple[date | None, list[tuple[int, int]], tuple[int, int] | None, bool]:
    """The day that is named, where it is, the part of it that its word says, and whether it is reckoned from now."""
    named = [item for item in days(text) if item.last is None]
    if named:
        return date.fromisoformat(named[0].first), [(named[0].start, named[0].end)], None, False
    said = None if days(text) else day_said(text, now.date())
    if said is not None:
        return said.day, [said.span], None, said.relative
    match = _DAY.search(text)
    if match is None:
        return None, [], None, False
    word = (match["d"] or match["z"]).casefold()
    return now.date() + timedelta(days=_SHIFT[word]), [match.span()], _WHOLE_PART.get(word), True


def day_spans(text: str, now: datetime) -> tuple[tuple[int, int], ...]:
    """Where the words for a day are in a text."""
    return tuple(_day(text, now)[1])


def _part(text: str, spans: list[tuple[int, int]]) -> tuple[int, int] | None:
    match = _PART.search(text)
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
    for match in _WORDED.finditer(text):
        said = match["h"].casefold()
        hour = int(said) if said.isdigit() else _NUMBERS[said]
        minutes = 30 if match["p"].casefold() == "half" else 15
        total = 60 * hour + (minutes if match["d"].casefold() == "past" else -minutes)
        half = (match["half"] or "").casefold()
        total += 720 if half == "p" and hour < 12 else 0
        found.append(_Clock(time(total // 60 % 24, total % 60), *match.span(), half))
    for match in _CLOCK.finditer(text):
        clock, minute = _hour(match), _minute(match)
        if clock is not None and clock < 24 and minute < 60:
            found.append(_Clock(time(clock, minute), *match.span(), _half(match, clock)))
    for match in _SPOT.finditer(text):
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
    if loose and day in (None, now.date()) and high < now.time() and not _GONE.search(text):
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
    if near := _NEARLY.search(before):
        return Window(moment - _AROUND, moment + _AROUND, ((near.start(), end),), sharp=True)
    if near := _NEARLY_AFTER.match(after):
        return Window(moment - _AROUND, moment + _AROUND, ((start, end + near.end()),), sharp=True)
    if _BEFORE.search(before) or _BEFORE_ZH.match(after):
        return Window(datetime.combine(day, time()), moment, ((start, end),), sharp=True)
    if _AFTER.search(before) or _AFTER_ZH.match(after):
        return Window(moment, datetime.combine(day, _END), ((start, end),), sharp=True)
    return Window(moment, moment + timedelta(seconds=59), ((start, end),), sharp=True)
