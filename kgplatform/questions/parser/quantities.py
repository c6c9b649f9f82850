"""Dates, numbers and units in a question, and how values compare to them: "under 500 yuan", 4.5分以上, 1990-1995."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from kgplatform import lexicon
from kgplatform.lexicon.amounts import han_number
from kgplatform.questions.parser.vocabulary import (
    COMPARATIVES,
    COMPARISON_SENSES,
    UNIT_SENSES,
    QuestionToken,
    and_some,
    covered,
    han_range,
    some_of,
    stem,
)
from kgplatform.text import has_han

# Days and months in a question as ISO dates, however they are written: 17 January 2025, 2025年1月17日, May 2024.

_MONTHS: Final = lexicon.numbers("quantities.months")
_MONTH = lexicon.expression("quantities.month")
_DAY = lexicon.expression("quantities.day")
_DATES = (
    re.compile(r"(?<!\d)(?P<y>\d{4})[-/](?P<m>\d{1,2})[-/](?P<d>\d{1,2})(?!\d)"),
    lexicon.pattern("quantities.dates_2"),
    lexicon.pattern("quantities.dates_3", day=_DAY.format("d"), month=_MONTH),
    re.compile(rf"\b(?P<m>{_MONTH}) {_DAY.format('d')},? (?P<y>\d{{4}})(?!\d)", re.IGNORECASE),
)
_SPANS = (lexicon.pattern("quantities.spans_1", month=_MONTH), lexicon.pattern("quantities.spans_2"))
_JOINED = lexicon.pattern("quantities.joined")
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
        alike = before is not None and (before.last is None) == (day.last is None)  # both days, or both months
        if before is not None and alike and _JOINED.fullmatch(text[before.end : day.start]):
            joined[-1] = Day(before.start, day.end, before.first, day.last or day.first)
        elif before is None or day.start >= before.end:
            joined.append(day)
    return tuple(joined)


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


# Numbers in a question with their units and how values compare to them: "under 500 yuan", 4.5分以上, 1990-1995.

_UNITS = sorted(UNIT_SENSES, key=len, reverse=True)
_OF = "|".join((*filter(has_han, _UNITS), "[个家座条种名位所间门部处]"))
_HAN = lexicon.expression("quantities.han")
_END = lexicon.expression("quantities.end", han=_HAN)
_RANGE = lexicon.pattern("quantities.range", end=_END, of=_OF)
_WRITTEN = lexicon.pattern("quantities.written", 0, han=_HAN)
_BIG = lexicon.pattern("quantities.big")
_PARTS_OF_DAYS = lexicon.characters("quantities.parts_of_days")
_AFTER_ZH = (
    (lexicon.pattern("quantities.after_zh_1", 0, of=_OF), ">="),
    (lexicon.pattern("quantities.after_zh_2", 0, of=_OF), "<="),
    (lexicon.pattern("quantities.after_zh_3"), "<"),
    (lexicon.pattern("quantities.after_zh_4"), ">"),
    (lexicon.pattern("quantities.after_zh_5"), ">="),
    (lexicon.pattern("quantities.after_zh_6"), "<="),
)
_BEFORE_ZH = (
    (lexicon.pattern("quantities.before_zh_1"), "<="),
    (lexicon.pattern("quantities.before_zh_2"), ">="),
    (lexicon.pattern("quantities.before_zh_3"), "<"),
    (lexicon.pattern("quantities.before_zh_4"), ">"),
)
_SCALE = {
    **{"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "billion": 1e9},
    **{"百": 1e2, "千": 1e3, "万": 1e4, "百万": 1e6, "千万": 1e7, "亿": 1e8},
}
_STARS = lexicon.word_set("quantities.stars")
_NUMBER_WORDS = lexicon.numbers("quantities.number_words")


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with how values compare to it; ``high`` is set for a range."""

    first: int
    last: int
    operator: str
    low: str
    high: str | None
    senses: tuple[str, ...]
    compared: bool
    unit: str = ""


def amounts(text: str, tokens: list[QuestionToken], taken: frozenset[int], used: set[int]) -> tuple[Amount, ...]:
    """The amounts of a text, in order; the tokens they use are added to ``used``."""
    found: list[Amount] = []
    ranges: list[tuple[int, int]] = []
    for day in days(text):
        amount = _day(text, tokens, day, taken, used)
        if amount is not None:
            ranges.append((day.start, day.end))
            found.append(amount)
    for start, end, decade in _decades(text, tokens, taken, used):
        ranges.append((start, end))
        found.append(decade)
    for match in _RANGE.finditer(text):
        places, ends = covered(tokens, match.start(), match.end()), _ends(match, text)
        dated = any(start < match.end() and match.start() < end for start, end in ranges)
        if not places or set(places) & taken or dated or ends is None:
            continue
        senses, unit, end = _unit(text, match.end())
        ranges.append((match.start(), match.end()))
        used.update(covered(tokens, match.start(), end))
        found.append(Amount(places[0], places[-1] + 1, "..", *ends, senses, compared=True, unit=unit))
    for match in (*lexicon.pattern("quantities.number").finditer(text), *_WRITTEN.finditer(text)):
        if not any(start <= match.start() < end for start, end in ranges):
            found.extend(_single(text, tokens, match, taken, used))
    read = {amount.first for amount in found}
    found.extend(amount for amount in _worded(tokens, taken, used) if amount.first not in read)
    return tuple(sorted(found, key=lambda a: a.first))


def _day(text: str, tokens: list[QuestionToken], day: Day, taken: frozenset[int], used: set[int]) -> Amount | None:
    """A day, or a range of them, with how values compare to it."""
    places = covered(tokens, day.start, day.end)
    if not places or any(place in taken and tokens[place].text not in _PARTS_OF_DAYS for place in places):
        return None
    operator, senses, start = _operator_before(text, tokens, places[0], day.start)
    end = day.end
    for pattern, after in _AFTER_ZH:
        hit = pattern.match(text[day.end :])
        if hit and (day.last is None or after in ("<", ">")):
            operator, end = after, day.end + hit.end()
            break
    used.update(covered(tokens, start, end))
    first, last = _bounds(day, operator)
    operator = ".." if last else operator or "="
    return Amount(places[0], places[-1] + 1, operator, first, last, (*senses, "date"), compared=operator != "=")


def _bounds(day: Day, operator: str) -> tuple[str, str | None]:
    """The days that values compare with: of a month its first before "before", its last after "after"."""
    if day.last is None or not operator:
        return day.first, day.last
    return (day.last if operator in (">", "<=") else day.first), None


def _decades(
    text: str, tokens: list[QuestionToken], taken: frozenset[int], used: set[int]
) -> Iterator[tuple[int, int, Amount]]:
    """Ten years at a time: the 1970s, 20世纪70年代."""
    for match in lexicon.pattern("quantities.decade", 0).finditer(text):
        places = covered(tokens, match.start(), match.end())
        if not places or set(places) & taken:
            continue
        low = int(match[1]) if match[1] else (int(match[2] or 20) - 1) * 100 + int(match[3])
        used.update(places)
        senses = ("year", "date", "start")
        found = Amount(places[0], places[-1] + 1, "..", str(low), str(low + 9), senses, compared=True)
        yield match.start(), match.end(), found


def _single(
    text: str, tokens: list[QuestionToken], match: re.Match[str], taken: frozenset[int], used: set[int]
) -> Iterator[Amount]:
    """A number with how values compare to it; two amounts, its ends, where 多 leaves open how much more it is."""
    places = covered(tokens, match.start(), match.end())
    low, high = _written(match)
    if not places or set(places) & taken or not low:
        return
    operator, senses, start = _operator_before(text, tokens, places[0], match.start())
    some = lexicon.pattern("quantities.some_more").match(text, match.end())
    after = some.end() if some and low.isdigit() else match.end()
    unit_senses, unit, end = _unit(text, after)
    for pattern, following in _AFTER_ZH:
        hit = pattern.match(text[after:])
        if hit:
            operator, end = following, max(end, after + hit.end())
            break
    if match.re is _WRITTEN and not _counts(match.group(), unit, some=some is not None, compared=bool(operator)):
        return
    end = max(end, after)
    used.update(covered(tokens, start, end))
    currency = ("price",) if re.search(r"[$€£¥￥]", match.group()) else ()
    amount = Amount(
        places[0], places[-1] + 1, operator or "=", low, None,
        (*unit_senses, *currency, *senses), compared=bool(operator), unit=unit,
    )  # fmt: skip
    if high is not None and not operator:
        yield replace(amount, operator="..", high=high, compared=True)
    elif some and low.isdigit() and not operator:
        least, most = and_some(low)
        yield replace(amount, operator=">", low=least, compared=True)
        yield replace(amount, operator="<", low=most, compared=True)
    else:
        yield amount


def _counts(written: str, unit: str, *, some: bool, compared: bool) -> bool:
    """Whether Chinese characters are an amount: compared, measured, or too many for else; 一 alone rarely is."""
    return compared or (some and len(written) > 1) or _BIG.search(written) is not None or bool(unit and written != "一")


def _written(match: re.Match[str]) -> tuple[str, str | None]:
    """The number of a match; of two digits side by side, as in 两三百, or of 几百, what it lies between."""
    if match.re is not _WRITTEN:
        return _plain(match[1], match[2]), None
    between = han_range(match.group()) or some_of(match.group())
    if between is not None:
        return str(between[0]), str(between[1])
    number = han_number(match.group())
    return ("" if number is None else str(number)), None


def _ends(match: re.Match[str], text: str) -> tuple[str, str] | None:
    """The two ends of a range, the first in the scale of the second where it has none: 4到5万."""
    found = []
    for digits, scale in ((match[1], match[2]), (match[3], match[4])):
        number = str(han_number(digits) or "") if not digits[0].isdigit() else _plain(digits, scale)
        if not number:
            return None
        found.append(number)
    low, high = found
    if match[4] and not match[2] and match[1][0].isdigit():
        scaled = _plain(match[1], match[4])
        low = scaled if float(scaled) < float(high) else low
    han = not match[1][0].isdigit()
    meant = _BIG.search(match[3]) or _unit(text, match.end())[1] or text.startswith("之间", match.end())
    return (low, high) if not han or meant else None


def _worded(tokens: list[QuestionToken], taken: frozenset[int], used: set[int]) -> list[Amount]:
    """Numbers written as words, where a comparison precedes them: "more than one"."""
    found = []
    for place, token in enumerate(tokens):
        number = _NUMBER_WORDS.get(token.text.casefold())
        if number and place + 1 < len(tokens) and tokens[place + 1].text.casefold() in _STARS:
            used.update((place, place + 1))
            found.append(Amount(place, place + 1, "=", str(number), None, ("rating",), compared=False, unit="star"))
            continue
        if not number or place in taken or place == 0:
            continue
        if tokens[place - 1].text.casefold() not in ("than", "least", "most", "exactly"):
            continue
        words = [t.text.casefold() for t in tokens[max(0, place - 3) : place]]
        operator = next((COMPARATIVES[w] for w in reversed(words) if w in COMPARATIVES), "")
        if operator:
            used.update(range(max(0, place - 2), place + 1))
            found.append(Amount(place, place + 1, operator, str(number), None, (), compared=True))
    return found


def _operator_before(
    text: str, tokens: list[QuestionToken], place: int, offset: int
) -> tuple[str, tuple[str, ...], int]:
    for pattern, operator in _BEFORE_ZH:
        match = pattern.search(text[:offset])
        if match:
            return operator, (), match.start()
    sign = re.search(r"(>=|<=|>|<|≥|≤)\s*$", text[:offset])
    if sign:
        return COMPARATIVES[sign[1]], (), sign.start()
    for back in range(place - 1, max(-1, place - 6), -1):
        word = tokens[back].text.casefold()
        if word in COMPARATIVES:
            senses = COMPARISON_SENSES.get(word, ())
            return COMPARATIVES[word], senses, tokens[back].start
        if word not in ("than", "the", "a", "an", "equal", "or", "to", "year", "at", "is", "of"):
            break
    return "", (), offset


def _unit(text: str, offset: int) -> tuple[tuple[str, ...], str, int]:
    rest = text[offset : offset + 16]
    stripped = rest.lstrip()
    start = offset + len(rest) - len(stripped)
    for unit in _UNITS:
        if has_han(unit):
            if stripped.startswith(unit):
                return UNIT_SENSES[unit], unit, start + len(unit)
            continue
        word = re.match(r"[A-Za-z]+", stripped)
        if word and stem(word.group()) == stem(unit):
            return UNIT_SENSES[unit], unit, start + word.end()
    return (), "", offset


def _plain(digits: str, scale: str | None) -> str:
    number = lexicon.pattern("quantities.sign").sub("-", digits.replace(",", ""))
    if not scale or scale.casefold() not in _SCALE:
        return number
    scaled = float(number) * _SCALE[scale.casefold()]
    return str(int(scaled)) if scaled == int(scaled) else str(scaled)
