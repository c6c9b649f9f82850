"""Numbers in a question with their units and how values compare to them: "under 500 yuan", 4.5分以上, 1990-1995."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kgplatform.questions.dates import Day, days
from kgplatform.questions.spots import covered
from kgplatform.questions.tokens import Token
from kgplatform.questions.wording import COMPARATIVES, COMPARISON_SENSES, UNIT_SENSES, stem
from kgplatform.text import has_han

_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.])[$€£¥￥]?\s?((?:(?<=\s)[-−]|负|零下|(?<=\s)minus\s)?\d[\d,]*(?:\.\d+)?)\s*((?:k|m|million|thousand|billion)(?![A-Za-z])|万|亿)?(?![\d])",
    re.IGNORECASE,
)
_SIGN = re.compile(r"^(?:[-−]|负|零下|minus\s)", re.IGNORECASE)
_RANGE = re.compile(
    r"(?:\bbetween\s+)?[$€£¥￥]?(\d[\d,]*(?:\.\d+)?)\s*(?:元|块|小时|分|yuan)?\s*(?:-|–|~|～|—|至|到|\bto\b|\band\b)\s*[$€£¥￥]?(\d[\d,]*(?:\.\d+)?)",
    re.IGNORECASE,
)
_DECADE = re.compile(r"\b(1[5-9]\d0|20\d0)['’]?s\b|(?:(\d\d)世纪|上世纪)([1-9]0)年代")
_PARTS_OF_DAYS = frozenset("年月日号")
_UNITS = sorted(UNIT_SENSES, key=len, reverse=True)
_AFTER_ZH = (
    (re.compile(r"^\s*(?:元|块钱|块|分|米|公里|人|年|小时|星|学分|层|km|m)?\s*(?:以上|及以上|起|或以上|或更高)"), ">="),
    (re.compile(r"^\s*(?:元|块钱|块|分|米|公里|人|年|小时|星|学分)?\s*(?:以下|以内|之内|及以下|或更低)"), "<="),
    (re.compile(r"^\s*(?:年)?\s*(?:之前|以前|前)"), "<"),
    (re.compile(r"^\s*(?:年)?\s*(?:之后|以后|后)"), ">"),
    (
        re.compile(
            r"^\s*(?:stars?|yuan|rmb|points?)?\s*(?:or more|and above|or above|or higher|plus|\+)", re.IGNORECASE
        ),
        ">=",
    ),
    (
        re.compile(
            r"^\s*(?:stars?|yuan|rmb|points?)?\s*(?:or less|or below|or lower|at most|and below)", re.IGNORECASE
        ),
        "<=",
    ),
)
_BEFORE_ZH = (
    (re.compile(r"(?:不超过|不高于|不多于|不大于|不晚于|至多|最多)\s*$"), "<="),
    (re.compile(r"(?:不低于|不少于|不小于|不早于|至少)\s*$"), ">="),
    (re.compile(r"(?:不到|低于|少于|小于|不足|未满|短于|早于)\s*$"), "<"),
    (re.compile(r"(?:超过|高于|多于|大于|长于|晚于)\s*$"), ">"),
)
_SCALE = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "万": 1e4, "亿": 1e8, "billion": 1e9}
_STARS = frozenset(("star", "stars", "starred", "星"))
_NUMBER_WORDS = {
    word: number
    for number, listed in enumerate(
        (
            "",
            "one 一",
            "two 两 二",
            "three 三",
            "four 四",
            "five 五",
            "six 六",
            "seven 七",
            "eight 八",
            "nine 九",
            "ten 十",
        )
    )
    for word in listed.split()
}


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


def amounts(text: str, tokens: list[Token], taken: frozenset[int], used: set[int]) -> tuple[Amount, ...]:
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
        places = covered(tokens, match.start(), match.end())
        dated = any(start < match.end() and match.start() < end for start, end in ranges)
        if not places or set(places) & taken or dated:
            continue
        senses, unit, end = _unit(text, match.end())
        ranges.append((match.start(), match.end()))
        used.update(covered(tokens, match.start(), end))
        found.append(
            Amount(
                places[0],
                places[-1] + 1,
                "..",
                _plain(match[1], None),
                _plain(match[2], None),
                senses,
                compared=True,
                unit=unit,
            )
        )
    for match in _NUMBER.finditer(text):
        if any(start <= match.start() < end for start, end in ranges):
            continue
        amount = _single(text, tokens, match, taken, used)
        if amount is not None:
            found.append(amount)
    found.extend(_worded(tokens, taken, used))
    return tuple(sorted(found, key=lambda a: a.first))


def _day(text: str, tokens: list[Token], day: Day, taken: frozenset[int], used: set[int]) -> Amount | None:
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
    text: str, tokens: list[Token], taken: frozenset[int], used: set[int]
) -> Iterator[tuple[int, int, Amount]]:
    """Ten years at a time: the 1970s, 20世纪70年代."""
    for match in _DECADE.finditer(text):
        places = covered(tokens, match.start(), match.end())
        if not places or set(places) & taken:
            continue
        low = int(match[1]) if match[1] else (int(match[2] or 20) - 1) * 100 + int(match[3])
        used.update(places)
        senses = ("year", "date", "start")
        found = Amount(places[0], places[-1] + 1, "..", str(low), str(low + 9), senses, compared=True)
        yield match.start(), match.end(), found


def _single(
    text: str, tokens: list[Token], match: re.Match[str], taken: frozenset[int], used: set[int]
) -> Amount | None:
    places = covered(tokens, match.start(), match.end())
    if not places or set(places) & taken:
        return None
    operator, senses, start = _operator_before(text, tokens, places[0], match.start())
    unit_senses, unit, end = _unit(text, match.end())
    for pattern, after in _AFTER_ZH:
        hit = pattern.match(text[match.end() :])
        if hit:
            operator, end = after, max(end, match.end() + hit.end())
            break
    used.update(covered(tokens, start, end))
    currency = ("price",) if re.search(r"[$€£¥￥]", match.group()) else ()
    return Amount(
        places[0], places[-1] + 1, operator or "=", _plain(match[1], match[2]), None,
        (*unit_senses, *currency, *senses), compared=bool(operator), unit=unit,
    )  # fmt: skip


def _worded(tokens: list[Token], taken: frozenset[int], used: set[int]) -> list[Amount]:
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


def _operator_before(text: str, tokens: list[Token], place: int, offset: int) -> tuple[str, tuple[str, ...], int]:
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
    number = _SIGN.sub("-", digits.replace(",", ""))
    if not scale or scale.casefold() not in _SCALE:
        return number
    scaled = float(number) * _SCALE[scale.casefold()]
    return str(int(scaled)) if scaled == int(scaled) else str(scaled)
