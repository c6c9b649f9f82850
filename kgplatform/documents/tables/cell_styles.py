"""How the cells of a column write numbers, days and truth: in the manner of which country, as the whole column tells.

A cell alone does not tell whether 1.240 is more than a thousand, or 05.04.2023 in April or in May; the others do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kgplatform.lexicon import LexiconSection

_LEXICON: Final = LexiconSection("documents", "cell_styles")
_TRUE, _FALSE, _EMPTY = _LEXICON.words("true"), _LEXICON.words("false"), _LEXICON.words("empty")
_ABOUT = re.compile(rf"^(?:{_LEXICON.text('about')})\s*(?=\d)|(?<=\d)\s*(?:{_LEXICON.text('about_after')})$", re.I)
_NUMBER = re.compile(r"(?P<before>[^\d\s.,]{0,4}\s?)(?P<number>[+-]?\d[\d.,'’\s]*)(?P<after>(?<=\d)[^\d.,]{0,24})")
_COMMA_DECIMAL = re.compile(r"[+-]?(?:\d{1,3}(?:[.'’\s]\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}|(?:0|\d+(?!,\d{3}$)),\d+)")
_POINT_DECIMAL = re.compile(r"[+-]?(?:\d{1,3}(?:[,'’\s]\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,}|(?:0|\d+(?!\.\d{3}$))\.\d+)")
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:[\s'’]\d{3})+(?:[.,]\d+)?")
_DAY = re.compile(
    r"(?P<first>\d{1,2})(?P<sign>[./-])(?P<second>\d{1,2})(?P=sign)(?P<year>\d{4})"
    r"|(?P<iso_year>\d{4})(?:[/.-]|\s*年\s*)(?P<month>\d{1,2})(?:[/.-]|\s*月\s*)(?P<day>\d{1,2})(?:\s*日)?"
)
_TIME = re.compile(r",?[\sT]+(?P<hour>\d{1,2})[:：](?P<rest>\d{2}(?:[:：]\d{2})?)")


@dataclass(frozen=True, slots=True)
class CellStyle:
    """What the cells of a column tell together; None: nothing does."""

    comma_decimal: bool | None = None
    day_first: bool | None = None
    is_truth: bool = False

    def plain(self, cell: str) -> str:
        """The cell with a full stop as its decimal sign, an ISO date, *true* or *false*; else as it is.

        >>> CellStyle(comma_decimal=True).plain("1.240,00 €"), CellStyle(comma_decimal=True).plain("1.240")
        ('1240.00 €', '1240')
        >>> [CellStyle(day_first=first).plain("5/4/2023") for first in (True, False, None)]
        ['2023-04-05', '2023-05-04', '5/4/2023']
        >>> CellStyle().plain("5.4.2023 9:30")
        '2023-04-05 09:30'
        """
        if self.is_truth:
            said = cell.casefold()
            return "true" if said in _TRUE else "false" if said in _FALSE else cell
        loose = _ABOUT.sub("", cell)
        return self._day(loose) or self._number(loose) or cell

    def _number(self, cell: str) -> str | None:
        match = _NUMBER.fullmatch(cell)
        if match is None:
            return None
        number = match["number"].strip()
        has_comma = self.comma_decimal or (self.comma_decimal is None and _COMMA_DECIMAL.fullmatch(number))
        if has_comma and re.fullmatch(r"[+-]?(?:\d+|[1-9]\d{0,2}(?:[.'’\s]\d{3})+)(?:,\d+)?", number):
            number = re.sub(r"[.'’\s]", "", number).replace(",", ".")
        elif _GROUPED.fullmatch(number):
            number = re.sub(r"[\s'’]", "", number)
        end = " " if match["after"] and match["number"][-1:].isspace() else ""
        return f"{match['before']}{number}{end}{match['after']}"

    def _day(self, cell: str) -> str | None:
        match = _DAY.match(cell)
        time = _TIME.fullmatch(cell, match.end()) if match else None
        if match is None or (match.end() < len(cell) and time is None):
            return None
        if match["iso_year"]:
            year, month, day = match["iso_year"], int(match["month"]), int(match["day"])
        else:
            year, first, second = match["year"], int(match["first"]), int(match["second"])
            day_first = match["sign"] == "." or self.day_first
            if day_first is None and max(first, second) <= 12 and first != second:
                return None
            day, month = (first, second) if day_first or (day_first is None and first > 12) else (second, first)
        if not (1 <= month <= 12 and 1 <= day <= 31):
            return None
        clock = f" {int(time['hour']):02}:{time['rest'].replace('：', ':')}" if time else ""
        return f"{year}-{month:02}-{day:02}{clock}"


def stated(cells: Iterable[str | None]) -> list[str]:
    """The cells that say something: not *n/a*, a dash or a question mark."""
    return [cell for cell in cells if cell and cell.casefold() not in _EMPTY]


def styles_of(columns: Iterable[Iterable[str | None]]) -> list[CellStyle]:
    """The style of each column of a table, by the cells that are filled; one that tells nothing goes by the others."""
    own = [_style(stated(cells)) for cells in columns]
    comma = {style.comma_decimal for style in own} - {None}
    first = {style.day_first for style in own} - {None}
    shared = CellStyle(next(iter(comma)) if len(comma) == 1 else None, next(iter(first)) if len(first) == 1 else None)
    return [
        replace(
            style,
            comma_decimal=shared.comma_decimal if style.comma_decimal is None else style.comma_decimal,
            day_first=shared.day_first if style.day_first is None else style.day_first,
        )
        for style in own
    ]


def _style(cells: Sequence[str]) -> CellStyle:
    """What the cells of one column tell; what is told in both ways is told in none."""
    truth = _TRUE | _FALSE
    numbers = [match["number"].strip() for cell in cells if (match := _NUMBER.fullmatch(_ABOUT.sub("", cell)))]
    comma = any(map(_COMMA_DECIMAL.fullmatch, numbers))
    point = any(map(_POINT_DECIMAL.fullmatch, numbers))
    days = [match for cell in cells if (match := _DAY.match(cell)) and match["sign"] not in (None, ".")]
    day_first = any(int(match["first"]) > 12 for match in days)
    month_first = any(int(match["second"]) > 12 for match in days)
    return CellStyle(
        comma if comma != point else None,
        day_first if day_first != month_first else None,
        bool(cells) and all(cell.casefold() in truth for cell in cells),
    )
