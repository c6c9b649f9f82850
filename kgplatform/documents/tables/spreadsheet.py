"""Sheets of Excel workbooks (ISO/IEC 29500) as tables, read row by row with openpyxl.

Where the table in a sheet begins is told by its first rows: titles above it, a header of one or more rows, merged
cells.
"""

from __future__ import annotations

import re
import warnings
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias

from kgplatform.documents.tables.cells import (
    MAX_COLUMNS,
    OpenedTable,
    ProblemLog,
    RowProblem,
    SourceRow,
    column_names,
    row_of,
    value_text,
)
from kgplatform.errors import ReadError

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.cell.read_only import EmptyCell, ReadOnlyCell
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet


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


if TYPE_CHECKING:
    _Cells: TypeAlias = Sequence[ReadOnlyCell | EmptyCell]

XLSX_TYPE: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_ERROR = re.compile(r"#(?:REF!|DIV/0!|N/A|NAME\?|NULL!|NUM!|VALUE!|SPILL!|CALC!|FIELD!|BLOCKED!|GETTING_DATA)")
_LARGEST = 4 << 30
_OLE, _ENCRYPTED = b"\xd0\xcf\x11\xe0", "EncryptedPackage".encode("utf-16-le")
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, EOFError, SyntaxError, LookupError),
    *(ValueError, TypeError, AttributeError, AssertionError, NotImplementedError),
)


def open_sheet(path: Path, *, name: str, sheet: str | None = None) -> OpenedTable:
    """The table in a sheet, or in the first visible one that has a table.

    Raises:
        ReadError: the file is broken, protected by a password or of an old form; it has no such sheet, or no table.
    """
    with _opened(path) as workbook:
        for found in _candidates(workbook, sheet, path):
            layout = _layout(workbook, found)
            header = _header(found, layout)
            if header is not None:
                break
        else:
            reason = f"the sheet {sheet!r} is empty" if sheet else "holds no table: its sheets are empty"
            raise ReadError(reason, path=path)
        title = found.title
    if len(header.columns) > MAX_COLUMNS:
        raise ReadError(f"has {len(header.columns)} columns; at most {MAX_COLUMNS} are read", path=path)
    problems = header.problems
    if layout.uncomputed:
        reason = "have no computed value: open the file in a spreadsheet program and save it"
        problems = (*problems, RowProblem(0, "", f"{layout.uncomputed} formulas {reason}"))
    rows = partial(_rows, path, title, layout, header)
    return OpenedTable(title if sheet else name, header.columns, XLSX_TYPE, rows, problems)


def sheet_names(path: Path) -> tuple[str, ...]:
    """The titles of the visible sheets that hold a table; notes of one column beside tables of several are none.

    Raises:
        ReadError: the file is broken, protected by a password or of an old form.
    """
    with _opened(path) as workbook:
        shown = [one for one in _candidates(workbook, None, path) if one.sheet_state == "visible"]
        headers = {one.title: _header(one, _layout(workbook, one)) for one in shown}
    widths = {title: len(header.columns) for title, header in headers.items() if header is not None}
    return tuple(title for title, width in widths.items() if width > 1 or max(widths.values()) == 1)


def unpacked_bytes(path: Path) -> int:
    """How many bytes the parts of a workbook are, as it says itself; nothing more of a part is ever read.

    Raises:
        ReadError: the file is broken or of an old form.
    """
    _refuse_old(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    except (*_BROKEN, OSError) as error:
        raise ReadError(f"is not a readable workbook: {_reason(error)}", path=path) from error


def _candidates(workbook: Workbook, sheet: str | None, path: Path) -> Iterable[ReadOnlyWorksheet]:
    sheets: list[ReadOnlyWorksheet] = list(workbook.worksheets)
    if sheet is None:
        return sorted(sheets, key=lambda one: one.sheet_state != "visible")
    wanted = sheet.strip().casefold()
    found = [one for one in sheets if one.title == sheet]
    found = found or [one for one in sheets if one.title.strip().casefold() == wanted]
    if not found:
        listed = ", ".join(one.title for one in sheets[:20])
        raise ReadError(f"has no sheet {sheet!r}; it has {listed or 'none'}", path=path)
    return found[:1]


def _layout(workbook: Workbook, sheet: ReadOnlyWorksheet) -> Layout:
    # openpyxl tells merged cells only where it loads a sheet whole, so they are looked up in the XML
    with workbook._archive.open(sheet._worksheet_path) as xml:
        return layout_of(xml)


def _header(sheet: ReadOnlyWorksheet, layout: Layout) -> Header | None:
    rows = _texts(sheet, ProblemLog(), {})
    sample = [texts for _, texts in islice(rows, HEADER_SAMPLE)]
    start = next((place for place, texts in enumerate(sample) if any(texts)), None)
    if start is None:  # a table may begin far below
        first = next(((number, texts) for number, texts in rows if any(texts)), None)
        if first is None:
            return None
        number, texts = first
        sample = [[] for _ in range(number - 1)] + [texts] + [texts for _, texts in islice(rows, HEADER_SAMPLE)]
    return header_of(sample, layout.merges)


def _rows(path: Path, title: str, layout: Layout, header: Header, log: ProblemLog) -> Generator[SourceRow]:
    names = dict(zip(header.places, header.columns, strict=True))
    with _opened(path) as workbook:
        sheet = next(one for one in workbook.worksheets if one.title == title)
        for number, texts in _unfolded(_texts(sheet, log, names), layout.merges):
            if number <= header.bottom:
                continue
            cells = [texts[place] if place < len(texts) else "" for place in header.places]
            if any(text and place not in names for place, text in enumerate(texts)):
                log.add(number, "", f"holds cells beyond its {len(header.places)} columns, left out")
            row = row_of(number, cells, header.columns, log)
            if row is not None:
                yield row


def _unfolded(rows: Iterable[tuple[int, list[str]]], merges: Sequence[Merge]) -> Iterator[tuple[int, list[str]]]:
    """The rows with the value of a cell that is merged over several of them in each."""
    beginning: dict[int, list[Merge]] = {}
    for merge in merges:
        if merge.bottom > merge.top:
            beginning.setdefault(merge.top, []).append(merge)
    active: list[tuple[Merge, str]] = []
    for number, texts in rows:
        active = [(merge, text) for merge, text in active if merge.bottom >= number]
        if active and any(texts):
            texts += [""] * (max(merge.left for merge, _ in active) + 1 - len(texts))
            for merge, text in active:
                texts[merge.left] = texts[merge.left] or text
        for merge in beginning.get(number, ()):
            active.append((merge, texts[merge.left] if merge.left < len(texts) else ""))
        yield number, texts


def _texts(sheet: ReadOnlyWorksheet, log: ProblemLog, names: Mapping[int, str]) -> Iterator[tuple[int, list[str]]]:
    """The numbers and cells of the rows; errors in cells are logged by the names of their columns."""
    sheet.reset_dimensions()
    rows = iter(sheet.iter_rows())
    number = 0
    while (row := _next(rows)) is not None:
        number += 1
        texts = [_text(cell.value, cell) if cell.value is not None else "" for cell in row]
        for place, text in enumerate(texts):
            if text[:1] == "#" and _ERROR.fullmatch(text):
                texts[place] = ""
                log.add(number, names.get(place, ""), f"holds the error {text}, taken as empty")
        yield number, texts


def _next(rows: Iterator[_Cells]) -> _Cells | None:
    with warnings.catch_warnings():  # of styles and extensions that do not touch the values
        warnings.simplefilter("ignore")
        return next(rows, None)


def _text(value: object, cell: ReadOnlyCell) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        return value_text(float(f"{value:.15g}"))  # as many digits as spreadsheets count with
    if isinstance(value, datetime):
        value = _rounded(value)
        has_clock = bool(re.search("[hs]", re.sub(r'"[^"]*"|\[\$[^]]*]|\\.', "", cell.number_format.lower())))
        is_day = value.time() == time() and not has_clock
        return value.date().isoformat() if is_day else value.isoformat()
    if isinstance(value, timedelta):
        seconds = round(value.total_seconds())
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return value_text(value)


def _rounded(moment: datetime) -> datetime:
    """The moment without the part of a millisecond that comes from days counted as fractions."""
    if 1000 < moment.microsecond < 999_000:
        return moment
    return (moment + timedelta(milliseconds=500)).replace(microsecond=0)


@contextmanager
def _opened(path: Path) -> Iterator[Workbook]:
    _refuse_old(path)
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    workbook = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _refuse_huge(path)
            with path.open("rb") as file:
                workbook = load_workbook(file, read_only=True, data_only=True, keep_links=False)
                yield workbook
    except (*_BROKEN, InvalidFileException) as error:
        raise ReadError(f"is not a readable workbook: {_reason(error)}", path=path) from error
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error
    finally:
        if workbook is not None:
            workbook.close()


def _reason(error: Exception) -> str:
    reason = " ".join(str(error).strip("'\"").split())[:120]
    return reason or "its parts do not fit together"


def _refuse_old(path: Path) -> None:
    with path.open("rb") as file:
        if file.read(4) != _OLE:
            return
        if _ENCRYPTED in _OLE + file.read(1 << 20):
            raise ReadError("is protected by a password; save it without one", path=path)
    raise ReadError("is an old Excel file (.xls); save it as .xlsx", path=path)


def _refuse_huge(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if "xl/workbook.xml" not in names and not any(name.endswith("workbook.xml") for name in names):
            kind = "an OpenDocument file" if "mimetype" in names else "a ZIP archive without a workbook"
            raise ReadError(f"is {kind}; save the table as .xlsx or CSV", path=path)
        size = sum(entry.file_size for entry in archive.infolist())
        if size > _LARGEST:
            raise ReadError(f"unpacks to {size >> 30} GB; save it as CSV", path=path)
