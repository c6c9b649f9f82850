"""Tables in CSV and TSV files, each row with the place in the text that it was read from."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

from kgplatform.documents.decoding import decode
from kgplatform.documents.parts import Part, file_title
from kgplatform.documents.tabular.cells import column_names
from kgplatform.documents.tabular.delimited import CSV_TYPE, SAMPLE_LINES, TSV_TYPE, dialect_of, records
from kgplatform.errors import ReadError

__all__ = ["CSV_TYPE", "TSV_TYPE", "Row", "Table", "read_csv", "read_table", "table_of"]


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
    dialect = dialect_of(lines[:SAMPLE_LINES], preferred="\t" if path.suffix.lower() == ".tsv" else ",")
    starts = _line_starts(lines)
    columns: tuple[str, ...] = ()
    rows: list[Row] = []
    problems: list[str] = []
    try:
        for record in records((line + "\n" for line in lines[dialect.begin :]), dialect.delimiter):
            first, last = record.first + dialect.begin, min(record.last + dialect.begin, len(lines) - 1)
            if record.problem:
                problems.append(f"line {first + 1}: {record.problem}")
            if not columns:
                columns, found = column_names(record.cells, first + 1)
                problems += [f"line {first + 1}: {problem.reason}" for problem in found if "occurs" in problem.reason]
                continue
            place = (starts[first], starts[last] + len(lines[last]))
            rows.append(_row(record.cells, first + 1, place, columns, problems))
    except csv.Error as error:
        raise ReadError(f"is not a table: {error}", path=path) from error
    if not columns:
        raise ReadError("holds no rows; the first row should name the columns", path=path)
    return Table(name, columns, tuple(rows), text, dialect.delimiter, tuple(problems))


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


def _row(
    cells: tuple[str, ...], line: int, place: tuple[int, int], columns: tuple[str, ...], problems: list[str]
) -> Row:
    if len(cells) != len(columns):
        problems.append(f"line {line}: {len(cells)} cells under {len(columns)} columns")
        cells += ("",) * (len(columns) - len(cells))
    return Row(line, cells, *place)
