"""Tables in CSV and TSV files, each row with the place in the text that it was read from."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kgplatform.documents.decoding import decode
from kgplatform.documents.parts import Part, file_title
from kgplatform.errors import ReadError

CSV_TYPE: Final = "text/csv"
TSV_TYPE: Final = "text/tab-separated-values"
_DELIMITERS = (",", "\t", ";", "|")
_SAMPLE_ROWS = 50
_MAX_REREADS = 20


@dataclass(frozen=True, slots=True)
class Row:
    """One record: ``table.text[start:end]`` is its raw text; ``line`` counts from 1.

    There are at least as many cells as columns (missing ones are empty), and more only where the file has more.
    """

    line: int
    cells: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table as read. ``text`` is the decoded file, ``problems`` say in a sentence each what is irregular in it."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    text: str
    delimiter: str = ","
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Record:
    first: int
    last: int
    cells: tuple[str, ...]
    problem: str = ""


def read_table(path: Path) -> Table:
    """The table in a CSV or TSV file; its first row that is not blank names the columns.

    Delimiter (comma, tab, semicolon, bar) and encoding are detected. Ragged rows and quotes that never close are
    reported in ``problems``, and the rows kept.

    Raises:
        ReadError: the file is missing, empty, not text, or has no header.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error
    return table_of(path, data)


def table_of(path: Path, data: bytes) -> Table:
    """The table in these bytes of the file; see `read_table`."""
    text = decode(data, path=path)
    lines = text.split("\n")
    name = os.fsencode(path.stem).decode("utf-8", "replace")
    begin, delimiter = _dialect(lines, path)
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    starts = _line_starts(lines)
    columns: tuple[str, ...] = ()
    rows: list[Row] = []
    problems: list[str] = []
    try:
        for record in _records(lines, begin, delimiter):
            if record.problem:
                problems.append(record.problem)
            if not columns:
                columns = _columns(record, problems)
                continue
            rows.append(_row(record, columns, starts, lines, problems))
    except csv.Error as error:
        raise ReadError(f"is not a table: {error}", path=path) from error
    if not columns:
        raise ReadError("holds no rows; the first row should name the columns", path=path)
    return Table(name, columns, tuple(rows), text, delimiter, tuple(problems))


def read_csv(path: Path, data: bytes) -> list[Part]:
    """The table as one document whose text is the decoded file, so that evidence can quote a row as it stands.

    Raises:
        ReadError: not text, or no rows.
    """
    table = table_of(path, data)
    media_type = TSV_TYPE if table.delimiter == "\t" else CSV_TYPE
    return [Part(table.text, file_title(path), media_type)]


def _line_starts(lines: list[str]) -> list[int]:
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _row(record: _Record, columns: tuple[str, ...], starts: list[int], lines: list[str], problems: list[str]) -> Row:
    cells = record.cells
    if len(cells) != len(columns):
        problems.append(f"line {record.first + 1}: {len(cells)} cells under {len(columns)} columns")
        cells += ("",) * (len(columns) - len(cells))
    end = starts[record.last] + len(lines[record.last])
    return Row(record.first + 1, cells, starts[record.first], end)


def _columns(header: _Record, problems: list[str]) -> tuple[str, ...]:
    """The names of the columns: unnamed ones numbered, repeated ones told apart."""
    names: list[str] = []
    for number, cell in enumerate(header.cells, start=1):
        name = cell or f"column {number}"
        if name in names:
            problems.append(f"line {header.first + 1}: the column {name!r} occurs twice")
            name = next(again for n in range(2, len(names) + 3) if (again := f"{name} ({n})") not in names)
        names.append(name)
    return tuple(names)


def _records(lines: list[str], begin: int, delimiter: str) -> Iterator[_Record]:
    """The records with the lines they span; a quote that never closes counts as a letter of its line."""
    position = begin
    rereads = 0
    while position < len(lines):
        written = (line + "\n" for line in lines[position:])
        if rereads < _MAX_REREADS:
            reader = csv.reader(written, delimiter=delimiter)
        else:
            reader = csv.reader(written, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        origin = first = position
        position = len(lines)
        for cells in reader:
            last = origin + reader.line_num - 1
            if last > first and last == len(lines) - 1 and _never_closes(lines, first, last):
                problem = f"line {first + 1}: a quotation mark is opened and never closed"
                literal = next(csv.reader([lines[first]], delimiter=delimiter, quoting=csv.QUOTE_NONE))
                yield _Record(first, first, _cells(literal), problem)
                position = first + 1
                rereads += 1
                break
            if any(cell.strip() for cell in cells):
                yield _Record(first, last, _cells(cells))
            first = last + 1


def _never_closes(lines: list[str], first: int, last: int) -> bool:
    return sum(lines[number].count('"') for number in range(first, last + 1)) % 2 == 1


def _cells(cells: list[str]) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in cells)


def _dialect(lines: list[str], path: Path) -> tuple[int, str]:
    """The line that the table begins on, and its delimiter."""
    first = lines[0].strip().lower() if lines else ""
    if first.startswith("sep=") and len(first) == 5:
        return 1, first[4]
    sample = [line for line in lines[: _SAMPLE_ROWS * 4] if line.strip()][:_SAMPLE_ROWS]
    preferred = "\t" if path.suffix.lower() == ".tsv" else ","
    best = max(_DELIMITERS, key=lambda sign: (*_regularity(sample, sign), sign == preferred))
    return 0, best if _regularity(sample, best)[0] else preferred


def _regularity(sample: list[str], delimiter: str) -> tuple[float, int]:
    """How regular the sample is under a delimiter: share of rows of the usual width, and that width."""
    try:
        widths = [len(cells) for cells in csv.reader((line + "\n" for line in sample), delimiter=delimiter)]
    except csv.Error:
        return 0.0, 0
    wide = [width for width in widths if width > 1]
    if not wide or len(wide) * 2 < len(widths):
        return 0.0, 0
    usual = max(set(wide), key=lambda width: (wide.count(width), width))
    return wide.count(usual) / len(widths), usual
