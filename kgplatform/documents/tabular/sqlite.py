"""Tables, views and queries of SQLite databases, opened so that nothing can be written."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote

from kgplatform.documents.tabular.cells import (
    MAX_COLUMNS,
    UNDECODED,
    OpenedTable,
    ProblemLog,
    column_names,
    row_of,
    value_text,
)
from kgplatform.documents.tabular.source import SourceRow
from kgplatform.errors import ReadError

SQLITE_TYPE: Final = "application/vnd.sqlite3"
_LONGEST_CELL = 64_000_000
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION}
_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"


def open_sqlite(path: Path, *, name: str, table: str | None = None, query: str | None = None) -> OpenedTable:
    """The rows of a table or view, of a query, or of the only table that the database has.

    Raises:
        ReadError: the file is no database, has no such table or several, or the query is no SELECT that it can run.
    """
    is_own = query is not None
    if query is None:
        table = _chosen(sqlite_tables(path), table, path)
        query, name = f"SELECT * FROM {_quoted(table)}", table
    with _asked(path, query, is_own=is_own) as cursor:
        if cursor.description is None:
            raise ReadError("the query gives no rows; it has to be a SELECT", path=path)
        header = [column[0] for column in cursor.description]
    if len(header) > MAX_COLUMNS:
        raise ReadError(f"has {len(header)} columns; at most {MAX_COLUMNS} are read", path=path)
    columns, problems = column_names(header, 0)
    return OpenedTable(name, columns, SQLITE_TYPE, partial(_rows, path, query, columns, is_own=is_own), problems)


def sqlite_tables(path: Path) -> tuple[str, ...]:
    """The names of the tables and views in a database, in the order in which they were made.

    Raises:
        ReadError: the file is no database.
    """
    with _asked(path, _TABLES) as cursor:
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


def _rows(
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


def _authorize(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _authorize_own(action: int, *_: object) -> int:
    """The same for a query that the user wrote; a recursive view that came with the file may never end."""
    return sqlite3.SQLITE_OK if action == sqlite3.SQLITE_RECURSIVE else _authorize(action)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
