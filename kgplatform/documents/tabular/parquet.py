"""Parquet files as tables, read by DuckDB a batch at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kgplatform.documents.tabular.cells import MAX_COLUMNS, OpenedTable, ProblemLog, column_names, joined, row_of
from kgplatform.documents.tabular.source import SourceRow
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
