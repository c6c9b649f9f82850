"""What the columns of a table look like: how full, how many values, of which type, in which language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain

from kgplatform.documents.tabular.source import TableSource
from kgplatform.text import language_of

_BATCH = 1000
_MOST_CELLS = 2_000_000
_SAMPLES = 5
_LONGEST_SAMPLE = 80
_MOST_DISTINCT = 100_000
_SEPARATORS = (";", "；", "、", "|")
_LONGEST_PART = 40

_NUMBER = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)", re.ASCII)
_FRACTION = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)\.\d+(?:[eE][+-]?\d+)?", re.ASCII)
_YEAR = re.compile(r"1\d{3}|20\d{2}", re.ASCII)
_YEAR_WORDS = re.compile(r"year|opened|founded|built|年", re.IGNORECASE)
_CODE_WORDS = re.compile(r"code|\bid\b|\buid\b|phone|zip|postal|number\b|编号|代码|电话|邮编|号$", re.IGNORECASE)
_CODE = re.compile(r"(?=.*\d)[A-Za-z0-9][A-Za-z0-9._/-]{0,23}", re.ASCII)
_TRUTH = frozenset(("true", "false", "yes", "no", "是", "否"))
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?", re.ASCII)
_LETTERS = re.compile(r"[^\W\d_]")


class ValueType(StrEnum):
    """What the values of a column are written as; the names are those of XML Schema as far as it has one."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    DATE = "date"
    DATE_TIME = "dateTime"
    G_YEAR = "gYear"
    CODE = "code"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """What a column looks like in the rows that were read.

    ``rows`` were read, in the share ``filled`` of them it has a cell. With a ``separator`` its cells hold several
    values each; ``values`` counts them one by one, ``distinct`` those that differ, up to a hundred thousand.
    ``language`` is None where the values are no text.
    """

    name: str
    rows: int
    filled: float
    values: int
    distinct: int
    type: ValueType
    language: str | None
    samples: tuple[str, ...]
    is_unique: bool
    separator: str | None


def profile(source: TableSource, *, rows: int = 2000) -> tuple[ColumnProfile, ...]:
    """The profiles of the columns by the first ``rows``; of fewer where the table has more than a hundred columns.

    Raises:
        ReadError: the source broke within these rows.
    """
    most = min(rows, max(100, _MOST_CELLS // max(1, len(source.columns))))
    columns: list[list[str]] = [[] for _ in source.columns]
    read = 0
    batches = source.batches(min(most, _BATCH))
    for batch in batches:
        for row in batch[: most - read]:
            for cells, cell in zip(columns, row.cells, strict=True):
                if cell is not None:
                    cells.append(cell)
        read += min(len(batch), most - read)
        if read >= most:
            break
    return tuple(_profile(name, cells, read) for name, cells in zip(source.columns, columns, strict=True))


def _profile(name: str, cells: Sequence[str], rows: int) -> ColumnProfile:
    separator = separator_of(cells)
    values = cells if separator is None else [part for cell in cells for raw in cell.split(separator)
                                              if (part := raw.strip())]  # fmt: skip
    seen: dict[str, None] = {}
    for value in values:
        seen[value] = None
        if len(seen) >= _MOST_DISTINCT:
            break
    type_ = type_of(values, name)
    return ColumnProfile(
        name,
        rows,
        len(cells) / rows if rows else 0.0,
        len(values),
        len(seen),
        type_,
        _language(values) if type_ is ValueType.TEXT else None,
        samples_of(seen),
        len(values) > 1 and len(values) == len(seen),
        separator,
    )


def samples_of(values: Sequence[str] | dict[str, None]) -> tuple[str, ...]:
    """The first few different values that are not too long to be shown."""
    short = dict.fromkeys(value for value in values if len(value) <= _LONGEST_SAMPLE)
    return tuple(short)[:_SAMPLES]


def separator_of(cells: Sequence[str]) -> str | None:
    """What stands between several values in a cell; the Chinese pause mark also stands in running text."""
    for separator in _SEPARATORS:
        several = [cell for cell in cells if separator in cell]
        enough = len(several) * 3 >= len(cells) if separator == "、" else True
        parts = chain.from_iterable(cell.split(separator) for cell in several)
        if several and enough and all(len(part) <= _LONGEST_PART for part in parts):
            return separator
    return None


def type_of(values: Sequence[str], name: str) -> ValueType:
    """The narrowest type that all values are written in; codes stay text, for leading zeros tell.

    Args:
        values: the values, trimmed and none of them empty.
        name: the column's name: it tells years and codes from other numbers.

    >>> type_of(["1", "20"], "floors").value, type_of(["010", "021"], "area").value, type_of(["1999"], "年份").value
    ('integer', 'code', 'gYear')
    """
    if not values:
        return ValueType.TEXT
    if all(_NUMBER.fullmatch(value) for value in values):
        return _whole_number(values, name)
    if all(_NUMBER.fullmatch(value) or _FRACTION.fullmatch(value) for value in values):
        return ValueType.DECIMAL
    if all(value.casefold() in _TRUTH for value in values):
        return ValueType.BOOLEAN
    if all(_DATE.fullmatch(value) and _is_moment(value) for value in values):
        return ValueType.DATE
    if all(_MOMENT.fullmatch(value) and _is_moment(value) for value in values):
        return ValueType.DATE_TIME
    return ValueType.CODE if all(_CODE.fullmatch(value) for value in values) else ValueType.TEXT


def _whole_number(values: Sequence[str], name: str) -> ValueType:
    is_padded = any(len(value) > 1 and value[0] == "0" for value in values)
    if is_padded or _CODE_WORDS.search(name):
        return ValueType.CODE
    is_year = _YEAR_WORDS.search(name) and all(_YEAR.fullmatch(value) for value in values)
    return ValueType.G_YEAR if is_year else ValueType.INTEGER


def _is_moment(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _language(values: Sequence[str]) -> str | None:
    text = " ".join(values[:_BATCH])[:20_000]
    return language_of(text) if _LETTERS.search(text) else None
