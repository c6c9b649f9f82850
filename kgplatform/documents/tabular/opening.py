"""Opens a table by where it stands: a file, a sheet of one, a place in JSON, a table or query of a database."""

from __future__ import annotations

import os
import re
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, unquote_plus, urlsplit

from kgplatform.documents.tabular.json_file import json_tables, open_json
from kgplatform.documents.tabular.parquet import open_parquet
from kgplatform.documents.tabular.source import TableSource
from kgplatform.documents.tabular.spreadsheet import open_sheet, sheets_in, unpacked_bytes
from kgplatform.documents.tabular.sqlite import open_sqlite, sqlite_tables
from kgplatform.documents.tabular.text_file import open_delimited
from kgplatform.errors import ReadError

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


def _columns(fragment: str, path: Path) -> tuple[str, ...]:
    names = tuple(unquote(name).strip() for name in fragment.removeprefix(COLUMNS).split(","))
    if not all(names) or len(set(names)) < len(names):
        raise ReadError(f"#{COLUMNS} needs names that are not empty and differ, divided by commas", path=path)
    return names


def tables_in(location: str | Path, *, base_folder: Path | None = None) -> tuple[str, ...]:
    """The locations of all tables in a file, each fit for `open_table`: sheets, database tables, arrays in JSON.

    Raises:
        ReadError: the file is missing, empty, broken, protected, or cannot be a table.
    """
    place = _place(location, base_folder)
    if place.fragment is not None or place.query is not None:
        open_table(location, base_folder=base_folder)
        return (str(location),)
    kind = _kind(place)
    if kind == "sqlite":
        return tuple(f"sqlite:///{place.path}#{table}" for table in sqlite_tables(place.path))
    if kind == "sheet":
        return tuple(f"{place.path}#{sheet}" for sheet in sheets_in(place.path))
    if kind == "json":
        pointers = json_tables(place.path)
        return tuple(str(place.path) if pointer is None else f"{place.path}#{pointer}" for pointer in pointers)
    return (str(place.path),)


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
        raise ReadError("is no SQLite database", path=path)
    if found is not None:
        return found
    suffix = path.suffix.lower()
    if suffix not in _KINDS:
        known = ", ".join(TABLE_SUFFIXES)
        raise ReadError(f"has the suffix {suffix}; tables are {known}", path=path)
    if suffix == ".xls":  # often separated values by another name
        return "text"
    return _KINDS[suffix]
