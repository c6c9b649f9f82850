"""Vectors by number in PostgreSQL: the extension pgvector, half precision, a graph of near neighbours (HNSW).

The same methods as `kgplatform.store.vectors.VectorIndex`, for an index that others may read too. Each index is a table
of its own, named by a hash of what it is called, its model and dimensions. What is added and removed is one
transaction until it is saved. Source: https://github.com/pgvector/pgvector (0.8: ``halfvec``, iterative scans).
"""

from __future__ import annotations

import hashlib
import io
import os
import socket
import ssl
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from kgplatform.errors import AwayError, ConfigError, StoreError
from kgplatform.settings import database_password
from kgplatform.store.vectors import Keys

_GRAPH_FROM: Final = 2_000
"""From so many vectors on a graph is made; fewer are compared one by one."""
_EF_SEARCH: Final = 200
_SPARE: Final = 8
_OLDEST: Final = (0, 7)
_ROWS: Final = 20_000
_CONNECT_SECONDS: Final = 10
_READ_SECONDS: Final = 15.0
CUT: Final = ("57", "08")
"""How the codes of the database begin that say that the session was ended, or the line."""
_INDEXES: Final = """CREATE TABLE IF NOT EXISTS kgplatform_vectors (
  relation text PRIMARY KEY, name text NOT NULL, model text NOT NULL, dimensions integer NOT NULL)"""


def connected(url: str, *, seconds: float | None = None) -> Any:
    """A connection of pg8000 to ``postgresql://user:password@host:port/database``, each statement its own transaction.

    A password that is not in the address comes from ``PGPASSWORD``; ``?sslmode=require`` asks for TLS. ``seconds`` is
    how long an answer may take (None: as long as it takes), so that a line that was cut is noticed, here and there.

    Raises:
        ConfigError: pg8000 is not installed, or the address is none.
        AwayError: the database cannot be reached.
        StoreError: it does not let us in.
    """
    pg8000 = driver()
    try:
        parts = urlsplit(url)
        port, options = parts.port or 5432, parse_qs(parts.query)
        if parts.scheme not in ("postgresql", "postgres") or not parts.hostname:
            raise ValueError("such is postgresql://user@host:5432/database")
    except ValueError as error:
        raise ConfigError(f"{url.rpartition('@')[2]!r} is no PostgreSQL address: {error}", setting="cluster") from error
    where, name = f"{parts.hostname}:{port}", unquote(parts.path.lstrip("/")) or "postgres"
    secure = options.get("sslmode", [""])[0] in ("require", "verify-ca", "verify-full")
    line = None
    try:
        line = socket.create_connection((parts.hostname, port), timeout=_CONNECT_SECONDS)
        made = pg8000.connect(
            unquote(parts.username or "postgres"),
            sock=line,
            database=name,
            password=unquote(parts.password) if parts.password else database_password(),
            ssl_context=ssl.create_default_context() if secure else None,
            application_name="kgplatform",
        )
        made.autocommit = True
        made._usock.settimeout(seconds)  # not `line`, which TLS takes over
        if seconds:  # what a transaction has locked is free again before others give up
            made.cursor().execute(f"SET idle_in_transaction_session_timeout = {int(seconds * 600)}")
    except (pg8000.Error, OSError) as error:
        if line is not None and line.fileno() >= 0:
            os.close(line.detach())  # the driver's own file on it is still open
        code, text = said(error)
        way_out = "; the password is that of the address, or PGPASSWORD" if code[:2] == "28" else ""
        kind = AwayError if code[:2] in ("", *CUT) else StoreError
        raise kind(f"the database {name} at {where} cannot be used: {text}{way_out}") from error
    return made


def let_go(link: Any) -> None:
    """Closes a connection, be its line cut or not."""
    line = link._usock
    with suppress(driver().Error, OSError):
        link.close()
    if line is not None and line.fileno() >= 0:
        os.close(line.detach())  # what could not be sent any more keeps the driver's own file on it open


def driver() -> Any:
    """The module of pg8000.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        from pg8000 import dbapi
    except ImportError as error:
        message = "PostgreSQL needs its driver; install it with `pip install 'kgplatform[cluster]'`"
        raise ConfigError(message, setting="cluster") from error
    return dbapi


def described(url: str) -> str:
    """The versions of a database and of its pgvector; raises as `connected`, and as `_of_use` where that is no use."""
    with closing(connected(url, seconds=_READ_SECONDS)) as link:
        cursor = link.cursor()
        cursor.execute(
            "SELECT current_setting('server_version'), coalesce(installed_version, default_version)"
            " FROM pg_available_extensions WHERE name = 'vector'"
        )
        found = cursor.fetchone()
    if found is None:
        raise StoreError("the database has no pgvector; install the extension `vector`")
    return f"PostgreSQL {found[0]}, pgvector {_of_use(found[1])}"


def _of_use(version: str) -> str:
    if tuple(map(int, version.split(".")[:2])) < _OLDEST:
        raise StoreError(f"pgvector {version} has no half precision; update the extension to 0.8")
    return version


def said(error: BaseException) -> tuple[str, str]:
    """The code of the database's error, empty if it is none of its own, and what it said in one line."""
    told = error.args[0] if error.args else ""
    if isinstance(told, dict):
        return str(told.get("C", "")), " ".join(str(told.get("M", "")).split())
    return "", " ".join(str(error if isinstance(error, OSError) else told or error).split()) or type(error).__name__


class PostgresVectors:
    """Vectors of unit length under numbers of 64 bits; safe for several threads.

    ``stale`` tells that there was no such index: it is empty and wants to be filled. ``misfit`` says so if there is one
    of another model or dimensions, which goes when this one is saved.

    Raises:
        StoreError: the database cannot be reached, or has no pgvector of version 0.7 or later.
    """

    damaged = False

    def __init__(self, url: str, *, name: str, dimensions: int, model_name: str) -> None:
        self.dimensions, self.model_name = dimensions, model_name
        self._url, self._name = url, name
        digest = hashlib.sha256(f"{name}\n{model_name}\n{dimensions}".encode()).hexdigest()[:24]
        self._table = f"kgplatform_vectors_{digest}"
        self._lock = threading.RLock()
        self._connection: Any = None
        self._is_changing = False
        self._count: int | None = None
        self._prepare()

    def _prepare(self) -> None:
        with self._lock:
            found = self._rows("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
            if not found:
                self._rows("CREATE EXTENSION IF NOT EXISTS vector")
                found = self._rows("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
            _of_use(str(found[0][0]))
            self._rows(_INDEXES)
            known = self._rows("SELECT relation, model, dimensions FROM kgplatform_vectors WHERE name = %s", self._name)
            mine = [row for row in known if row[0] == self._table]
            other = next((row for row in known if row[0] != self._table), None)
            self.stale, self.misfit = not mine, ""
            if self.stale:
                self._rows(
                    f"CREATE TABLE IF NOT EXISTS {self._table} "
                    f"(key bigint PRIMARY KEY, vector halfvec({self.dimensions}) NOT NULL)"
                )
                self._rows(f"ALTER TABLE {self._table} ALTER COLUMN vector SET STORAGE PLAIN")
            if self.stale and other is not None:
                self.misfit = (
                    f"the vectors were made by model {other[1]!r} ({other[2]} dimensions), "
                    f"not by {self.model_name!r} ({self.dimensions})"
                )

    def _rows(
        self, sql: str, *values: object, stream: io.BytesIO | None = None, seconds: float | None = None
    ) -> Sequence[Sequence[Any]]:
        """The rows of a statement, within ``seconds``; a lost connection is made anew unless changes were lost too.

        Raises:
            StoreError: the database refuses, or cannot be reached.
        """
        pg8000 = driver()
        for is_last in (False, True):
            if self._connection is None:
                self._connection = connected(self._url)
                self._connection.cursor().execute(f"SET hnsw.ef_search = {_EF_SEARCH}") if self._has_hnsw() else None
            cursor = self._connection.cursor()
            try:
                self._connection._usock.settimeout(seconds)
                cursor.execute(sql, values, stream=stream)
                return list(cursor.fetchall()) if cursor.description else []
            except (pg8000.InterfaceError, OSError, EOFError) as error:
                lost = self._is_changing
                self.close()
                if is_last or lost:
                    raise StoreError(f"the vectors in PostgreSQL cannot be reached: {said(error)[1]}") from error
            except pg8000.Error as error:
                raise StoreError(f"the vectors in PostgreSQL: {said(error)[1]}") from error
        raise AssertionError

    def _has_hnsw(self) -> bool:
        cursor = self._connection.cursor()
        cursor.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'")
        if not cursor.fetchall():
            return False
        cursor.execute("SELECT '[1]'::vector")  # loads the library, and with it the setting
        return True

    def _begin(self) -> None:
        if not self._is_changing:
            self._rows("BEGIN")
            self._is_changing = True
        self._count = None

    def __len__(self) -> int:
        with self._lock:
            if self._count is None:
                self._count = int(self._rows(f"SELECT count(*) FROM {self._table}", seconds=8 * _READ_SECONDS)[0][0])
            return self._count

    def __contains__(self, key: object) -> bool:
        return isinstance(key, int) and bool(self.holds([key])[0])

    def __iter__(self) -> Iterator[int]:
        return iter(self.keys().tolist())

    def holds(self, keys: Keys) -> NDArray[np.bool_]:
        """For each key whether it has a vector."""
        wanted = np.asarray(keys, dtype=np.uint64).reshape(-1)
        with self._lock:
            found = self._rows(
                f"SELECT key FROM {self._table} WHERE key = ANY(%s::bigint[])", _signed(wanted), seconds=_READ_SECONDS
            )
        return np.isin(wanted, _unsigned(row[0] for row in found))

    def keys(self) -> NDArray[np.uint64]:
        """All keys, in no order."""
        with self._lock:
            return _unsigned(row[0] for row in self._rows(f"SELECT key FROM {self._table}", seconds=8 * _READ_SECONDS))

    def add(self, keys: Keys, vectors: NDArray[np.float32]) -> None:
        """Puts vectors under keys; a key that has one gets the new one.

        Raises:
            ValueError: the shape of ``vectors`` is not ``(len(keys), dimensions)``.
            StoreError: the database refuses, or cannot be reached.
        """
        numbers = np.asarray(keys, dtype=np.uint64).reshape(-1)
        if vectors.shape != (len(numbers), self.dimensions):
            raise ValueError(
                f"vectors of shape {vectors.shape} for {len(numbers)} keys of {self.dimensions} dimensions"
            )
        rows = dict(zip(_signed(numbers), np.asarray(vectors, dtype=np.float16), strict=True))
        with self._lock:
            self._begin()
            self._remove(list(rows))
            items = list(rows.items())
            for start in range(0, len(items), _ROWS):
                lines = (f"{key}\t[{','.join(map(str, row.tolist()))}]\n" for key, row in items[start : start + _ROWS])
                data = io.BytesIO("".join(lines).encode("ascii"))
                self._rows(f"COPY {self._table} (key, vector) FROM STDIN", stream=data)

    def _remove(self, signed: Sequence[int]) -> int:
        sql = f"DELETE FROM {self._table} WHERE key = ANY(%s::bigint[]) RETURNING key"
        return len(self._rows(sql, list(signed)))

    def remove(self, keys: Iterable[int]) -> int:
        """Takes vectors out; how many there were."""
        signed = _signed(np.array(list(keys), dtype=np.uint64))
        if not signed:
            return 0
        with self._lock:
            self._begin()
            return self._remove(signed)

    def vectors(self, keys: Keys) -> NDArray[np.float32]:
        """The vectors under the keys, one row each.

        Raises:
            KeyError: a key has none.
        """
        signed = _signed(np.asarray(keys, dtype=np.uint64).reshape(-1))
        sql = f"SELECT key, vector::text FROM {self._table} WHERE key = ANY(%s::bigint[])"
        with self._lock:
            rows = self._rows(sql, signed, seconds=_READ_SECONDS)
        found = {row[0]: np.fromstring(row[1][1:-1], dtype=np.float32, sep=",") for row in rows}
        return np.array([found[key] for key in signed], dtype=np.float32).reshape(len(signed), self.dimensions)

    def search(self, vector: NDArray[np.float32], k: int) -> list[tuple[int, float]]:
        """At most ``k`` keys, nearest first, with the cosine similarity (0 where the angle is obtuse)."""
        query = "[" + ",".join(map(str, np.asarray(vector, dtype=np.float32).reshape(self.dimensions).tolist())) + "]"
        # the operator alone goes by the graph; as in `VectorIndex`, some to spare, so that equal ones keep one order
        sql = f"SELECT key, vector <=> %s::halfvec FROM {self._table} ORDER BY vector <=> %s::halfvec LIMIT %s"
        with self._lock:
            if k <= 0:
                return []
            found = self._rows(sql, query, query, k + _SPARE, seconds=_READ_SECONDS)
        pairs = [(key, 1.0 - float(distance)) for key, distance in found if distance == distance]
        pairs = list(zip(_unsigned(key for key, _ in pairs).tolist(), (score for _, score in pairs), strict=True))
        pairs.sort(key=lambda pair: (-round(pair[1], 6), pair[0]))
        return [(key, min(1.0, max(0.0, score))) for key, score in pairs[:k]]

    def save(self) -> None:
        """Writes what has changed, all of it or nothing, and makes the graph of neighbours when it is worth one.

        Raises:
            StoreError: the database refuses, or cannot be reached.
        """
        with self._lock:
            self._begin()
            self._rows(
                "INSERT INTO kgplatform_vectors VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
                *(self._table, self._name, self.model_name, self.dimensions),
            )
            others = "DELETE FROM kgplatform_vectors WHERE name = %s AND relation <> %s RETURNING relation"
            for (old,) in self._rows(others, self._name, self._table):
                self._rows(f"DROP TABLE IF EXISTS {old}")
            if len(self) >= _GRAPH_FROM:
                self._rows("SET LOCAL maintenance_work_mem = '512MB'")
                self._rows(
                    f"CREATE INDEX IF NOT EXISTS {self._table}_hnsw ON {self._table} USING hnsw "
                    "(vector halfvec_cosine_ops) WITH (m = 16, ef_construction = 128)"
                )
            self._rows("COMMIT")
            self._is_changing = False
            self.stale, self.misfit = False, ""

    def close(self) -> None:
        """Lets the connection go; what was not saved is dropped."""
        with self._lock:
            if self._connection is not None:
                let_go(self._connection)
                self._connection, self._is_changing = None, False

    def reload(self) -> None:
        """Sees what another process has saved since; what was not saved here is dropped."""
        self.revert()
        with self._lock:
            self._count = None
            self.stale = not self._rows(
                "SELECT 1 FROM kgplatform_vectors WHERE relation = %s", self._table, seconds=_READ_SECONDS
            )

    def revert(self) -> None:
        """Drops what was not saved."""
        with self._lock:
            if self._is_changing:
                self._is_changing, self._count = False, None
                self._rows("ROLLBACK")


def _signed(keys: NDArray[np.uint64]) -> list[int]:
    """Numbers of 64 bits as PostgreSQL has them."""
    found: list[int] = keys.astype(np.uint64).view(np.int64).tolist()
    return found


def _unsigned(keys: Iterable[int]) -> NDArray[np.uint64]:
    return np.array(list(keys), dtype=np.int64).view(np.uint64)
