"""Numbers in Chinese characters: 一千万, 三万五, 两百零八, and what 多 and two digits side by side leave open."""

from __future__ import annotations

import re
from typing import Final

_DIGITS: Final = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_SCALES: Final = {"十": 10, "百": 100, "千": 1_000}
_MYRIADS: Final = {"万": 10_000, "亿": 100_000_000}
HAN_NUMERALS: Final = frozenset((*_DIGITS, *_SCALES, *_MYRIADS))
_WRITTEN: Final = re.compile(r"[零〇一二两三四五六七八九十百千万亿]+")
_BESIDE: Final = re.compile(r"(?<![百千万亿])([一二两三四五六七八])([二三四五六七八九])(?=[十百千万亿])")
_MEASURED: Final = re.compile(r"[十百千万亿]")


def han_number(text: str) -> int | None:
    """The number that Chinese characters write; None if they write none.

    A last digit is of the scale below the one before it, unless 零 stands between.

    >>> [han_number(text) for text in ("一千万", "三万五", "一千零五", "十二", "两亿三千万", "二〇一八", "万")]
    [10000000, 35000, 1005, 12, 230000000, 2018, None]
    """
    if not _WRITTEN.fullmatch(text) or text[0] in _MYRIADS or text[0] in "百千":
        return None
    if not _MEASURED.search(text):
        return int("".join(str(_DIGITS[c]) for c in text))
    total, part, digit, scale = 0, 0, 0, 1
    for place, character in enumerate(text):
        if character in _DIGITS:
            bare = place == len(text) - 1 and place and text[place - 1] not in "零〇"
            digit = _DIGITS[character] * (scale // 10 if bare and scale >= 100 else 1)
        elif character in _SCALES:
            scale = _SCALES[character]
            part += (digit or 1) * scale
            digit = 0
        else:
            scale = _MYRIADS[character]
            total = (total + part + digit) * scale if scale > total else total + (part + digit) * scale
            part = digit = 0
    return total + part + digit


def han_range(text: str) -> tuple[int, int] | None:
    """The two numbers that digits side by side leave open; None if there are none.

    >>> han_range("两三百"), han_range("二十")
    ((200, 300), None)
    """
    beside = _BESIDE.match(text)
    if beside is None:
        return None
    low, high = (han_number(digit + text[2:]) for digit in beside.groups())
    return (low, high) if low is not None and high is not None and low < high else None


def some_of(text: str) -> tuple[int, int] | None:
    """What 几 with a scale lies between; None if it is no such word.

    >>> some_of("几十万"), some_of("几个")
    ((100000, 1000000), None)
    """
    one = han_number(f"一{text[1:]}") if len(text) > 1 and text[0] in "几数" else None
    return (one, 10 * one) if one is not None else None


def and_some(number: str) -> tuple[str, str]:
    """What a number followed by 多 lies between: as much more as its last digit that is not 0 counts.

    >>> and_some("100"), and_some("30"), and_some("2500")
    (('100', '200'), ('30', '40'), ('2500', '2600'))
    """
    digits = number.rstrip("0") or "0"
    step = 10 ** (len(number) - len(digits))
    return number, str(int(number) + step)
