"""Codes that are said in part or aloud: "0123", "123", "KL 123", "seven eight seven", 七八七."""

# ruff: noqa: E501
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

_FULL = re.compile(
    r"(?<![A-Za-z0-9-])([A-Za-z]{1,3}|[A-Za-z]\d|\d[A-Za-z])[ -]?0*(\d{1,5}[A-Za-z]?)(?![A-Za-z0-9-]|:\d)"
)
_DIGITS = re.compile(r"(?<![A-Za-z0-9.:/-])(\d{2,5})(?![A-Za-z0-9/]|[.:-]\d|%)")
_SPOKEN: Final = {
    "zero": "0", "oh": "0", "nought": "0", "one": "1", "two": "2", "three": "3", "tree": "3", "four": "4", "five": "5",
    "fife": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "niner": "9",
}  # fmt: skip
_ALOUD = re.compile(rf"\b(?:{'|'.join(_SPOKEN)})(?:[ -]+(?:{'|'.join(_SPOKEN)}))+\b", re.IGNORECASE)
_HAN: Final = {c: str(i) for i, c in enumerate("零一二三四五六七八九")} | {
    "〇": "0",
    "洞": "0",
    "幺": "1",
    "两": "2",
    "拐": "7",
    "勾": "9",
}
_ALOUD_HAN = re.compile(f"[{''.join(_HAN)}]{{2,5}}(?![十百千万个点时分月日号年])")
_OTHER_AFTER = re.compile(
    r"\s*(?:minutes?|mins?|hours?|hrs?|days?|flights?\b(?! number)|departures|arrivals|passengers?|people|persons|pax|seats?|bags?|kilos?|kg|euros?|dollars?|pounds?|yuan|eur|usd|[€$£¥]|metres?|km|percent|st\b|nd\b|rd\b|th\b|元|欧元|人|位|件|月|秒|分钟|小时|天|个|架|班|次(?!航班)|年|月|日|点)",
    re.IGNORECASE,
)
_OTHER_BEFORE = re.compile(
    r"(?:[€$£¥]|\b(?:eur|usd|terminal|door|desk|platform|belt|row|seat|category|mtt|gate|ramp|stand|pier|in|year|than|least|most|top|first|last|next|at|around|about|before|after|by|until|since|boeing|airbus)|[类类别登机口机位]|航站楼|波音|空客)\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Said:
    """Digits of a code as they stand in a question; ``letters`` before them, if any were said."""

    digits: str
    letters: str
    start: int
    end: int


@dataclass(frozen=True)
class CodeIndex:
    """The codes of a graph, each of letters and then digits."""

    codes: tuple[str, ...]

    @cached_property
    def _exact(self) -> Mapping[str, str]:
        return {code.upper(): code for code in self.codes}

    @cached_property
    def _parts(self) -> Mapping[str, tuple[str, str]]:
        return {code: _split(code) for code in self.codes}

    @cached_property
    def _by_number(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = defaultdict(list)
        for code, (_, number) in self._parts.items():
            found[number.lstrip("0") or "0"].append(code)
        return {number: tuple(sorted(listed)) for number, listed in found.items()}

    def known(self, letters: str, digits: str) -> str | None:
        """The code of these letters and digits, if there is one; leading zeros do not count."""
        plain = digits.lstrip("0") or "0"
        return next((c for d in (digits, plain) if (c := self._exact.get(f"{letters}{d}".upper()))), None)

    def candidates(self, digits: str, letters: Iterable[str] = ()) -> tuple[str, ...]:
        """The codes that a number may be part of: those of just this number, else those that begin with or hold it."""
        plain, wanted = digits.lstrip("0") or digits, {item.upper() for item in letters if item}
        same = [c for c in self._by_number.get(plain, ()) if not wanted or self._parts[c][0] in wanted]
        if same:
            return tuple(same)
        held = [
            (not number.startswith(plain), len(number), code)
            for code, (prefix, number) in self._parts.items()
            if plain in number and (not wanted or prefix in wanted)
        ]
        return tuple(code for _, _, code in sorted(held))


def _split(code: str) -> tuple[str, str]:
    """A code as its two or three leading characters and its number: U2 3968, KL 787."""
    match = re.fullmatch(r"([A-Za-z]{2,3}|[A-Za-z]\d|\d[A-Za-z]|[A-Za-z]?)(\d+)[A-Za-z]?", code)
    return (match[1].upper(), match[2]) if match else ("", "")


def full_codes(text: str, index: CodeIndex) -> Iterator[tuple[str, int, int]]:
    """The codes of the graph that a text holds, however spaced, with their places."""
    for match in _FULL.finditer(text):
        code = index.known(match[1], match[2])
        if code is not None:
            yield code, *match.span()


def numbers_said(text: str, around: str = "") -> list[Said]:
    """The bare numbers of a text that may be part of a code, digits or spoken, in order.

    ``around`` is the text with what was taken out of it, to see what a number counts.
    """
    around = around or text
    found = [Said(m[1], "", *m.span(1)) for m in _DIGITS.finditer(text) if _plausible(around, *m.span(1))]
    for match in _ALOUD.finditer(text):
        digits = "".join(_SPOKEN[word.casefold()] for word in re.split(r"[ -]+", match.group()))
        found.append(Said(digits, "", *match.span()))
    for match in _ALOUD_HAN.finditer(text):
        digits = "".join(_HAN[c] for c in match.group())
        if _plausible(around, *match.span()):
            found.append(Said(digits, "", *match.span()))
    return sorted(found, key=lambda said: said.start)


def _plausible(text: str, start: int, end: int) -> bool:
    """Whether a number is not plainly something else: an amount, a clock time, the number of a gate."""
    return not _OTHER_AFTER.match(text[end:]) and not _OTHER_BEFORE.search(text[:start])
