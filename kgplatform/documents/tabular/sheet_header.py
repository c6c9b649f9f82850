"""Where the table in a sheet begins: title rows above it, a header of one or more rows, merged cells in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from kgplatform.documents.tabular.cells import column_names
from kgplatform.documents.tabular.source import RowProblem

HEADER_SAMPLE = 60
_DEEPEST_HEADER = 5
_CHUNK = 1 << 20
_MERGE = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]+)(\d+):([A-Z]+)(\d+)"')
_FORMULA_ALONE = re.compile(
    rb"<(?:\w+:)?c((?:\s[^>]*)?)>\s*<(?:\w+:)?f(?:\s[^>]*)?(?:/>|>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)


@dataclass(frozen=True, slots=True)
class Merge:
    """A range of cells merged into one; rows count from 1, columns from 0, both ends belong to it."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The merged cells of a sheet, and how many formulas in it have never been computed."""

    merges: tuple[Merge, ...]
    uncomputed: int


@dataclass(frozen=True, slots=True)
class Header:
    """The columns of the table in a sheet, the places of their cells in a row, and the last row of the header."""

    columns: tuple[str, ...]
    places: tuple[int, ...]
    bottom: int
    problems: tuple[RowProblem, ...]


def layout_of(xml: BinaryIO) -> Layout:
    """The layout that the XML of a sheet says, read a part at a time (ISO/IEC 29500-1, 18.3.1.55)."""
    merges: list[Merge] = []
    uncomputed = 0
    carried = b""
    while data := xml.read(_CHUNK):
        text = carried + data
        cut = max(text.rfind(b"<c "), text.rfind(b"<mergeCell "), 0)
        text, carried = text[:cut], text[cut:]
        merges += _merges(text)
        uncomputed += _uncomputed(text)
    return Layout((*merges, *_merges(carried)), uncomputed + _uncomputed(carried))


def _merges(text: bytes) -> Iterator[Merge]:
    for match in _MERGE.finditer(text):
        yield Merge(int(match[2]), _column(match[1]), int(match[4]), _column(match[3]))


def _uncomputed(text: bytes) -> int:
    return sum(b't="str"' not in match[1] for match in _FORMULA_ALONE.finditer(text))


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number - 1


def header_of(rows: Sequence[Sequence[str]], merges: Iterable[Merge]) -> Header | None:
    """The header among the first rows of a sheet (`HEADER_SAMPLE`); None where all are empty.

    It is the first row that fills more than half as many columns as the fullest. What stands above it is passed over
    and named as a problem. A cell merged over others below it gives each column "parent child".
    """
    merged = [merge for merge in merges if merge.top <= len(rows)]
    left = min((place for row in rows for place, text in enumerate(row) if text.strip()), default=0)
    counts = [_breadth(number, row, merged, left) for number, row in enumerate(rows, start=1)]
    width = max((sum(bool(text.strip()) for text in row) for row in rows), default=0)
    if not width:
        return None
    top = next(number for number, count in enumerate(counts, start=1) if count * 2 > width)
    while any(m.top == m.bottom == top - 1 and m.right > m.left > left for m in merged):  # parents of few columns
        top -= 1
    bottom = _bottom(top, rows, merged)
    names = _names(rows[top - 1 : bottom], top, merged)
    body = rows[bottom:]
    length = max(len(names), *(len(row) for row in body)) if body else len(names)
    names += [""] * (length - len(names))
    filled = {place for row in body for place, text in enumerate(row) if text.strip()}
    places = tuple(place for place in range(length) if names[place] or place in filled)
    columns, problems = column_names((names[place] for place in places), top)
    above = [number for number in range(1, top) if counts[number - 1]]
    if above:
        where = f"row {above[0]}" if len(above) == 1 else f"rows {above[0]} to {above[-1]}"
        problems = (RowProblem(above[0], "", f"{where} above the header passed over"), *problems)
    return Header(columns, places, bottom, problems)


def _breadth(number: int, row: Sequence[str], merges: Sequence[Merge], left: int) -> int:
    """How many columns a row fills: a merged cell all that it covers, unless it is alone and at the left as titles are.

    ``left`` is the first column that any row fills.
    """
    filled = {place for place, text in enumerate(row) if text.strip()}
    if len(filled) < 2 and left in filled:
        return 1
    spans = (m.right - m.left for m in merges if m.top == number and m.left in filled)
    return len(filled) + sum(spans)


def _bottom(top: int, rows: Sequence[Sequence[str]], merges: Sequence[Merge]) -> int:
    bottom = top
    while bottom < min(len(rows), top + _DEEPEST_HEADER - 1):
        ends = [m.bottom for m in merges if top <= m.top <= bottom and m.bottom > bottom]
        parents = [m for m in merges if m.top <= bottom == m.bottom and m.top >= top and m.right > m.left]
        below = rows[bottom]
        split = any(text.strip() for m in parents for text in below[m.left : m.right + 1])
        if not ends and not split:
            break
        bottom += 1
    return bottom


def _names(header: Sequence[Sequence[str]], top: int, merges: Sequence[Merge]) -> list[str]:
    """The texts of the header rows for each column, from the top down, those that differ joined by blanks."""
    length = max(len(row) for row in header)
    grid = [[text.strip() for text in row] + [""] * (length - len(row)) for row in header]
    for merge in merges:
        if not top <= merge.top < top + len(header) or merge.left >= length:
            continue
        text = grid[merge.top - top][merge.left]
        for row in grid[merge.top - top : merge.bottom - top + 1]:
            row += [""] * (min(merge.right, merge.left + 16_384) + 1 - len(row))
            row[merge.left : merge.right + 1] = [text] * (merge.right - merge.left + 1)
    longest = max(len(row) for row in grid)
    parts = [[row[place] for row in grid if place < len(row) and row[place]] for place in range(longest)]
    return [" ".join(dict.fromkeys(texts)) for texts in parts]
