"""Tables in Parquet files, read by DuckDB a batch at a time, and in SQLite databases, opened for reading only."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from kgplatform.documents.tables.cells import (
    MAX_COLUMNS,
    UNDECODED,
    OpenedTable,
    ProblemLog,
    SourceRow,
    column_names,
    joined,
    row_of,
    value_text,
)
from kgplatform.errors import ReadError

if TYPE_CHECKING:
    import duckdb


PARQUET_TYPE: Final = "application/vnd.apache.parquet"
_FETCHED_CELLS = 20_000
_FETCHED_ROWS = 256
_LONGEST_ROW = 500_000
"""So many bytes of text at most: DuckDB holds 2,048 rows at a time, whatever they come to."""
_SETTINGS = {
    "threads": 1,
    "memory_limit": "1GB",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_KEPT = ("float", "double", "list", "array", "map", "struct", "union", "variant")
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class _Field:
    """A column of the table: its dotted name, the SQL for its value, and for how long that is (empty: never long)."""

    name: str
    expression: str
    length: str = ""


def open_parquet(path: Path, *, name: str) -> OpenedTable:
    """The table in a Parquet file; fields of structures have dotted names, lists stand joined in one cell.

    Raises:
        ReadError: the file is broken or no Parquet file.
    """
    with _connected(path) as connection:
        described = connection.execute("SELECT * FROM read_parquet(?) LIMIT 0", [_literal(path)]).description or []
        fields = [field for column in described for field in _fields(column[0], _quoted(column[0]), column[1], 0)]
    if len(fields) > MAX_COLUMNS:
        raise ReadError(f"has {len(fields)} columns; at most {MAX_COLUMNS} are read", path=path)
    columns, problems = column_names((field.name for field in fields), 0)
    return OpenedTable(name, columns, PARQUET_TYPE, partial(_rows, path, fields, columns), problems)


def _fields(name: str, expression: str, type_: duckdb.sqltypes.DuckDBPyType, depth: int) -> Iterator[_Field]:
    if type_.id == "struct" and depth < _DEEPEST:
        for child, inner in type_.children:
            yield from _fields(f"{name}.{child}", f"{expression}.{_quoted(child)}", inner, depth + 1)
    elif type_.id in ("varchar", "blob"):
        yield _Field(name, expression, f"{'strlen' if type_.id == 'varchar' else 'octet_length'}({expression})")
    elif type_.id in _KEPT:
        is_number = type_.id in ("float", "double")
        yield _Field(name, expression, "" if is_number else f"strlen(CAST({expression} AS VARCHAR))")
    elif type_.id == "timestamp with time zone":
        yield _Field(name, f"replace(CAST({expression} AT TIME ZONE 'UTC' AS VARCHAR), ' ', 'T') || 'Z'")
    elif type_.id.startswith("timestamp"):
        yield _Field(name, f"replace(CAST({expression} AS VARCHAR), ' ', 'T')")
    else:  # DuckDB writes most types faster than Python does, and dates of any year
        yield _Field(name, f"CAST({expression} AS VARCHAR)")


def _rows(path: Path, fields: Sequence[_Field], columns: tuple[str, ...], log: ProblemLog) -> Generator[SourceRow]:
    chosen = ", ".join(field.expression for field in fields)
    length = " + ".join(f"coalesce({field.length}, 0)" for field in fields if field.length) or "0"
    too_long = f"error('a row has more than {_LONGEST_ROW:,} bytes of text')"
    fits = f"CASE WHEN {length} > {_LONGEST_ROW} THEN {too_long} ELSE true END"
    size = min(_FETCHED_ROWS, max(1, _FETCHED_CELLS // len(fields)))
    number = 0
    with _connected(path) as connection:
        cursor = connection.execute(f"SELECT {chosen} FROM read_parquet(?) WHERE {fits}", [_literal(path)])
        while values := cursor.fetchmany(size):
            for record in values:
                number += 1
                row = row_of(
                    number, [value if isinstance(value, str) else joined(value) for value in record], columns, log
                )
                if row is not None:
                    yield row


@contextmanager
def _connected(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory; what it says of the file becomes a `ReadError`."""
    import duckdb

    try:
        with duckdb.connect(config=_SETTINGS) as connection:
            connection.execute("SET enable_progress_bar = false")  # it would be printed
            yield connection
    except (duckdb.Error, UnicodeError, OverflowError) as error:
        reason = str(error).split("\n", 1)[0].replace(str(path), path.name)
        raise ReadError(f"is not readable as Parquet: {reason[:200]}", path=path) from error


def _literal(path: Path) -> str:
    """The path with the signs escaped that would make it a pattern for several files."""
    return "".join(f"[{sign}]" if sign in "[*?" else sign for sign in str(path.absolute()))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


SQLITE_TYPE: Final = "application/vnd.sqlite3"
_LONGEST_CELL = 64_000_000
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION}
_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
_STORED = _TABLES.replace(", 'view'", "")


def open_sqlite(path: Path, *, name: str, table: str | None = None, query: str | None = None) -> OpenedTable:
    """The rows of a table or view, of a query, or of the only table that the database has.

    Raises:
        ReadError: the file is no database, has no such table or several, or the query is no SELECT that it can run.
    """
    is_own = query is not None
    references = dict[str, str]()
    if query is None:
        table = _chosen(sqlite_tables(path), table, path)
        query, name = f"SELECT * FROM {_quoted(table)}", table
        with _asked(path, f"PRAGMA foreign_key_list({_quoted(table)})") as cursor:
            keys = [tuple(row[:4]) for row in cursor]
        several = {number for number, place, *_ in keys if place}
        references = {column: other for number, _, other, column in keys if number not in several}
    with _asked(path, query, is_own=is_own) as cursor:
        if cursor.description is None:
            raise ReadError("the query gives no rows; it has to be a SELECT", path=path)
        header = [column[0] for column in cursor.description]
    if len(header) > MAX_COLUMNS:
        raise ReadError(f"has {len(header)} columns; at most {MAX_COLUMNS} are read", path=path)
    columns, problems = column_names(header, 0)
    rows = partial(_sqlite_rows, path, query, columns, is_own=is_own)
    return OpenedTable(name, columns, SQLITE_TYPE, rows, problems, references)


def sqlite_tables(path: Path, *, views: bool = True) -> tuple[str, ...]:
    """The names of the tables and views in a database, in the order in which they were made.

    Raises:
        ReadError: the file is no database.
    """
    with _asked(path, _TABLES if views else _STORED) as cursor:
        return tuple(row[0] for row in cursor)


def _chosen(known: tuple[str, ...], table: str | None, path: Path) -> str:
    listed = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
    if not known:
        raise ReadError("holds no table", path=path)
    if table is None:
        if len(known) > 1:
            raise ReadError(f"has {len(known)} tables; name one of them behind #: {listed}", path=path)
        return known[0]
    found = next((name for name in known if name == table), None)
    found = found or next((name for name in known if name.casefold() == table.casefold()), None)
    if found is None:
        raise ReadError(f"has no table {table!r}; it has {listed}", path=path)
    return found


def _sqlite_rows(
    path: Path,
    query: str,
    columns: tuple[str, ...],
    log: ProblemLog,
    *,
    is_own: bool,
) -> Generator[SourceRow]:
    with _asked(path, query, is_own=is_own) as cursor:
        for number, record in enumerate(cursor, start=1):
            row = row_of(number, [value_text(value) for value in record], columns, log)
            if row is not None:
                yield row


@contextmanager
def _asked(path: Path, query: str, *, is_own: bool = False) -> Iterator[sqlite3.Cursor]:
    """The result of a query; nothing but reading is allowed to it."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as database:
            database.text_factory = _text
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_CELL)
            database.set_authorizer(_authorize_own if is_own else _authorize)
            yield database.execute(query)
    except (sqlite3.Error, sqlite3.Warning, UnicodeError, OverflowError) as error:
        raise ReadError(f"SQLite says: {error}", path=path) from error


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape").translate(_UNDECODED)


_UNDECODED = dict.fromkeys(range(0xDC80, 0xDD00), UNDECODED)


def _authorize(action: int, about: object, *_: object) -> int:
    is_told = action == sqlite3.SQLITE_PRAGMA and about == "foreign_key_list"
    return sqlite3.SQLITE_OK if action in _ALLOWED or is_told else sqlite3.SQLITE_DENY


def _authorize_own(action: int, *about: object) -> int:
    """The same for a query that the user wrote; a recursive view that came with the file may never end."""
    return sqlite3.SQLITE_OK if action == sqlite3.SQLITE_RECURSIVE else _authorize(action, *about)
