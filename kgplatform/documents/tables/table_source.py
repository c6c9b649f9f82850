"""Tables by where they stand, one row of a table read again, and what the columns look like.

`open_table` opens a file, a sheet of one, a place in JSON, a table or query of a database. `profile` tells of each
column how full it is, how many values it has, of which type, in which language.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain, islice
from pathlib import Path
from typing import Final
from urllib.parse import unquote, unquote_plus, urlsplit

from kgplatform.documents.tables.cell_styles import CellStyle, stated, styles_of
from kgplatform.documents.tables.cells import TableSource
from kgplatform.documents.tables.databases import open_parquet, open_sqlite, sqlite_tables
from kgplatform.documents.tables.delimited import open_delimited
from kgplatform.documents.tables.json_tables import json_tables, open_json
from kgplatform.documents.tables.spreadsheet import open_sheet, sheet_names, unpacked_bytes
from kgplatform.errors import ReadError
from kgplatform.lexicon import LexiconSection
from kgplatform.text import language_of

_KINDS: Final = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".psv", ".txt", ".dat", ""), "text"),
    **dict.fromkeys((".json", ".geojson", ".jsonl", ".ndjson"), "json"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xltx", ".xls"), "sheet"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3", ".db3"), "sqlite"),
}
TABLE_SUFFIXES: Final = tuple(suffix for suffix in _KINDS if suffix not in (".txt", ".dat", ""))
"""The suffixes by which a file is known to be a table."""
COLUMNS: Final = "columns="
"""What the part behind ``#`` begins with where it names the columns of a file without a header."""
_HEAVY_BYTES: Final = 64_000_000
_ROUND: Final = 1_000
_MAGIC = (
    *((b"SQLite format 3\x00", "sqlite"), (b"PAR1", "parquet")),
    *((b"PK\x03\x04", "sheet"), (b"\xd0\xcf\x11\xe0", "sheet")),
)
_DATABASE = re.compile(r"sqlite:/{0,3}", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Place:
    """A location taken apart: the file, what stands behind ``#``, and the query of a database."""

    path: Path
    fragment: str | None = None
    query: str | None = None
    is_database: bool = False


def open_table(location: str | Path, *, base_folder: Path | None = None) -> TableSource:
    """The table at a location, ready to be read any number of times; what it holds decides, then its suffix.

    Args:
        location: a path of a file in CSV, TSV, JSON, JSON lines, XLSX, Parquet or SQLite. Behind ``#`` stands a sheet's
            name, a database table's, or a JSON Pointer. ``sqlite:///data.db#table`` and
            ``sqlite:///data.db?query=SELECT …`` are tables of databases. ``rows.dat#columns=id,name`` names the columns
            of separated values without a header; a comma, ``%`` or ``/`` in a name is percent-encoded.
        base_folder: where relative paths begin; the working directory if None.

    Raises:
        ReadError: the file is missing, empty, broken, protected, no table, or has several and none is named.
    """
    place = _place(location, base_folder)
    kind = _kind(place)
    name = os.fsencode(place.path.stem).decode("utf-8", "replace")
    if kind == "sqlite":
        return open_sqlite(place.path, name=name, table=place.fragment, query=place.query)
    if kind == "sheet":
        return open_sheet(place.path, name=name, sheet=place.fragment)
    if kind == "json":
        return open_json(place.path, name=name, pointer=place.fragment)
    if kind == "text" and place.fragment is not None and place.fragment.startswith(COLUMNS):
        return open_delimited(place.path, name=name, columns=_columns(place.fragment, place.path))
    if place.fragment is not None:
        raise ReadError(f"holds one table only, so there is no {place.fragment!r} in it", path=place.path)
    return open_parquet(place.path, name=name) if kind == "parquet" else open_delimited(place.path, name=name)


def tables_in(location: str | Path) -> tuple[str, ...]:
    """The locations of the tables in a file that holds several, none of which is named; else the location itself.

    These are the tables of a database, the arrays of objects in JSON with those inside their records, and the visible
    sheets of a workbook, unless it is so large (64 MB unpacked) that only another process may look into it.

    Raises:
        ReadError: the file is missing or broken.
    """
    place = _place(location, None)
    kind, names = _kind(place), tuple[str, ...]()
    if place.fragment is None and place.query is None:
        if kind == "sqlite":
            names = sqlite_tables(place.path, views=False)
        elif kind == "sheet" and unpacked_bytes(place.path) <= _HEAVY_BYTES:
            names = sheet_names(place.path)
        elif kind == "json":
            names = json_tables(place.path)
    return tuple(f"{location}#{name}" for name in names) if len(names) > 1 else (str(location),)


def _columns(fragment: str, path: Path) -> tuple[str, ...]:
    names = tuple(unquote(name).strip() for name in fragment.removeprefix(COLUMNS).split(","))
    if not all(names) or len(set(names)) < len(names):
        raise ReadError(f"#{COLUMNS} needs names that are not empty and differ, divided by commas", path=path)
    return names


def is_table(location: str | Path) -> bool:
    """Whether a location looks like a table's: by its suffix or its ``sqlite:``, without opening it."""
    text = str(location)
    if _DATABASE.match(text):
        return True
    file, _, part = text.partition("#")
    return Path(file).suffix.lower() in TABLE_SUFFIXES or part.startswith(COLUMNS)


def is_heavy(location: str | Path) -> bool:
    """Whether a table's file is a packed one that unpacks to so much that another process should go through it first.

    Raises:
        ReadError: as `open_table`.
    """
    place = _place(str(location), None)
    return _kind(place) == "sheet" and unpacked_bytes(place.path) > _HEAVY_BYTES


def go_through(location: str | Path) -> None:
    """Reads a table from end to end and keeps nothing: whether it can be read is known after.

    Raises:
        ReadError: as `open_table`, or it broke in the middle.
    """
    deque(open_table(location).batches(_ROUND), maxlen=0)


def _place(location: str | Path, base_folder: Path | None) -> _Place:
    text = str(location)
    folder = base_folder or Path()
    database = _DATABASE.match(text)
    if database:
        return _database_place(text[database.end() :], folder)
    if text.lower().startswith("file:"):
        parts = urlsplit(text)
        return _Place(Path(unquote(parts.path)), unquote(parts.fragment) or None)
    if _SCHEME.match(text) and len(text.partition(":")[0]) > 1:
        raise ReadError("is an address, not a file; download it first", path=Path(text))
    if (folder / text).exists():
        return _Place(folder / text)
    file, mark, fragment = text.rpartition("#")
    while mark and not (folder / file).exists() and "#" in file:
        file, _, more = file.rpartition("#")
        fragment = f"{more}#{fragment}"
    return _Place(folder / file, fragment or None) if mark else _Place(folder / text)


def _database_place(rest: str, folder: Path) -> _Place:
    """The place behind ``sqlite:///``: relative to the folder, else from the root, as both are written."""
    file, has_query, query = rest.partition("?query=")
    fragment = None
    if has_query:
        query = query if " " in query else unquote_plus(query)
    else:
        file, _, fragment = rest.partition("#")
    found = folder / file
    if not found.exists():
        candidates = (folder / unquote(file), Path("/" + file.lstrip("/")))
        found = next((path for path in candidates if path.exists()), found)
    return _Place(found, fragment or None, query if has_query else None, is_database=True)


def _kind(place: _Place) -> str:
    path = place.path
    try:
        if path.is_dir():
            raise ReadError("is a folder; name a file in it", path=path)
        with path.open("rb") as file:
            head = file.read(16)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise ReadError(f"cannot be read: {reason or error}", path=path) from error
    if not head:
        raise ReadError("is empty", path=path)
    found = next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)
    if place.is_database and found != "sqlite":
        raise ReadError("is not an SQLite database", path=path)
    if found is not None:
        return found
    suffix = path.suffix.lower()
    if suffix not in _KINDS:
        known = ", ".join(TABLE_SUFFIXES)
        raise ReadError(f"has the suffix {suffix}; tables are {known}", path=path)
    if suffix == ".xls":  # often separated values by another name
        return "text"
    return _KINDS[suffix]


_LINES = (".csv", ".tsv", ".tab", ".psv", ".jsonl", ".ndjson")
_BATCH = 5_000
_LONGEST = 2_000


def row_text(location: str, number: int) -> str:
    """The row of that number as its source writes it, or its cells with their columns; empty if it is gone."""
    path = Path(location)
    try:
        if path.suffix.lower() in _LINES:
            with path.open("rb") as lines:
                found = next(islice(lines, number - 1, number), b"")
            return found.decode("utf-8", "replace").strip()[:_LONGEST]
        return _from_source(location, number)[:_LONGEST]
    except (OSError, ReadError):
        return ""


def _from_source(location: str, number: int) -> str:

    source = open_table(location)
    for rows in source.batches(_BATCH):
        for row in rows if rows[-1].number >= number else ():
            if row.number == number:
                cells = zip(source.columns, row.cells, strict=True)
                return "; ".join(f"{name}: {cell}" for name, cell in cells if cell)
    return ""


_PROFILE_BATCH = 1000
_MOST_CELLS = 2_000_000
_SAMPLES = 5
_LONGEST_SAMPLE = 80
_MOST_DISTINCT = 100_000
_SEPARATORS = (";", "；", "、", "|")
_LONGEST_PART = 40

_NUMBER = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)", re.ASCII)
_FRACTION = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)\.\d+(?:[eE][+-]?\d+)?", re.ASCII)
_YEAR = re.compile(r"1\d{3}|20\d{2}", re.ASCII)
_LEXICON: Final = LexiconSection("documents", "table_source")
_YEAR_COLUMN = _LEXICON.pattern("year_column", re.IGNORECASE)
_CODE_COLUMN = _LEXICON.pattern("code_column", re.IGNORECASE)
_TRUTH_COLUMN = _LEXICON.pattern("truth_column", re.IGNORECASE)
_CODE = re.compile(r"(?=.*\d)[A-Za-z0-9][A-Za-z0-9._/-]{0,23}", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_PART_OF_DATE = re.compile(r"\d{4}(?:-\d{2})?", re.ASCII)
_MOSTLY = 0.75
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
    batches = source.batches(min(most, _PROFILE_BATCH))
    for batch in batches:
        for row in batch[: most - read]:
            for cells, cell in zip(columns, row.cells, strict=True):
                if cell is not None:
                    cells.append(cell)
        read += min(len(batch), most - read)
        if read >= most:
            break
    given = zip(source.columns, columns, styles_of(columns), strict=True)
    return tuple(_profile(name, cells, read, style) for name, cells, style in given)


def _profile(name: str, cells: Sequence[str], rows: int, style: CellStyle) -> ColumnProfile:
    separator = separator_of(cells)
    cells = stated(map(style.plain, cells) if separator is None else cells)
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
    if all(value in ("true", "false") for value in values):
        return ValueType.BOOLEAN
    days = sum(bool(_DATE.fullmatch(value)) and _is_moment(value) for value in values)
    partial = sum(_PART_OF_DATE.fullmatch(value) is not None for value in values)
    if days + partial == len(values) and days >= _MOSTLY * len(values):  # a year alone is refused, and told
        return ValueType.DATE
    if all(_MOMENT.fullmatch(value) and _is_moment(value) for value in values):
        return ValueType.DATE_TIME
    return ValueType.CODE if all(_CODE.fullmatch(value) for value in values) else ValueType.TEXT


def _whole_number(values: Sequence[str], name: str) -> ValueType:
    if {*values} == {"0", "1"} and _TRUTH_COLUMN.search(name):
        return ValueType.BOOLEAN
    is_padded = any(len(value) > 1 and value[0] == "0" for value in values)
    if is_padded or _CODE_COLUMN.search(name):
        return ValueType.CODE
    is_year = _YEAR_COLUMN.search(name) and all(_YEAR.fullmatch(value) for value in values)
    return ValueType.G_YEAR if is_year else ValueType.INTEGER


def _is_moment(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _language(values: Sequence[str]) -> str | None:
    text = " ".join(values[:_PROFILE_BATCH])[:20_000]
    return language_of(text) if _LETTERS.search(text) else None
