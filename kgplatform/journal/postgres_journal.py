"""The journal of several machines: tables in PostgreSQL, in a schema of the workspace's own, and the lease to lead.

Who leads holds an advisory lock of a session of its own and renews a time every second, by the clock of the database.
A standby that finds the time old ends that session, takes the lock and begins the next epoch: the former leader, if it
wakes up, cannot append in the name of its own. The driver is pg8000.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from functools import cached_property, wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar
from urllib.parse import parse_qs, urlsplit

from kgplatform.errors import AwayError, ConfigError, StoreError
from kgplatform.journal.patch import Draft, FencedError, Journal, Patch, UnseenError, packed, packed_rows
from kgplatform.store.pgvector import CUT, connected, driver, let_go, said

_SCHEMA: Final = (
    "CREATE SCHEMA IF NOT EXISTS {0}",
    "CREATE TABLE IF NOT EXISTS {0}.patches (number bigint PRIMARY KEY, epoch bigint NOT NULL,"
    " moment timestamptz NOT NULL, more boolean NOT NULL, removed bytea NOT NULL, added bytea NOT NULL,"
    " record bytea NOT NULL)",
    "CREATE INDEX IF NOT EXISTS patches_by_moment ON {0}.patches (moment)",
    "CREATE TABLE IF NOT EXISTS {0}.journal (one boolean PRIMARY KEY DEFAULT true CHECK (one), name text NOT NULL,"
    " epoch bigint NOT NULL, session integer NOT NULL DEFAULT 0, address text NOT NULL DEFAULT '',"
    " beat timestamptz NOT NULL DEFAULT '-infinity')",
)
_BEAT_SECONDS: Final = 1.0
LEASE_SECONDS: Final = 6.0
"""A leader that has not been heard of for so long does not lead any more."""
ANSWER_SECONDS: Final = 15.0
"""A line on which no answer comes for so long is taken to be cut."""
_OLDEST: Final = 130000

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _reaching(method: Callable[Concatenate[Any, _P], _R]) -> Callable[Concatenate[Any, _P], _R]:
    """Tells in one line what the database said, and asks once more over a new connection if the old one was cut."""

    @wraps(method)
    def asked(journal: Any, /, *args: _P.args, **named: _P.kwargs) -> _R:
        with journal._lock:
            for is_last in (False, True):
                try:
                    if journal._link is None:
                        journal._connect()
                    return method(journal, *args, **named)
                except (journal._errors, OSError) as error:
                    code, text = said(error)
                    journal._let_go()
                    if is_last or code[:2] not in ("", *CUT):
                        raise AwayError(f"the journal at {journal.where}: {text}") from error
        raise AssertionError

    return asked


class PostgresJournal(Journal):
    """A journal in ``postgresql://user:password@host:port/database?schema=name``."""

    def __init__(self, url: str) -> None:
        """Connects when it is asked, and makes the tables if there are none.

        Raises:
            ConfigError: the driver is missing, or the schema has no name.
        """
        self.url = url
        parts = urlsplit(url)
        self.schema = parse_qs(parts.query).get("schema", ["kgplatform"])[0]
        if not self.schema.replace("_", "a").isalnum() or not self.schema.isascii():
            raise ConfigError(
                f"schema {self.schema!r} of the database may have letters, digits and _ only",
                setting="cluster.database",
            )
        self.where = f"{parts.netloc.rpartition('@')[2]}{parts.path}"
        self._lock = threading.RLock()
        self._grown = threading.Condition(self._lock)
        self._errors: type[Exception] = driver().Error
        self._link: Any = None
        self._lease: _Lease | None = None
        self._newest, self._name = 0, ""

    @cached_property
    @_reaching
    def name(self) -> str:
        """What tells this journal from any other, for as long as it is there."""
        return self._name

    def _connect(self, *, makes: bool = True) -> None:
        """Connects, to a journal that is there then; raises StoreError too where it cannot be, or is too old."""
        self._link = connected(self.url, seconds=ANSWER_SECONDS)
        try:
            if int(self._rows("SHOW server_version_num")[0][0]) < _OLDEST:
                raise StoreError(f"the journal at {self.where}: PostgreSQL 13 or later is needed")
            if makes and not self._name:
                self._make()
        except BaseException:
            self._let_go()
            raise

    def _let_go(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            let_go(link)

    def _make(self) -> None:
        cursor = self._link.cursor()
        cursor.execute("SELECT pg_advisory_lock(hashtext(%s))", (f"make {self.schema}",))
        try:
            for statement in _SCHEMA:
                cursor.execute(statement.format(self.schema))
            cursor.execute(
                f"INSERT INTO {self.schema}.journal (name, epoch) VALUES (%s, 0) ON CONFLICT DO NOTHING",
                (uuid.uuid4().hex,),
            )
        finally:
            cursor.execute("SELECT pg_advisory_unlock(hashtext(%s))", (f"make {self.schema}",))
        self._name = str(self._rows(f"SELECT name FROM {self.schema}.journal")[0][0])

    def _rows(self, sql: str, *values: object) -> Sequence[Sequence[Any]]:
        cursor = self._link.cursor()
        cursor.execute(sql, values)
        found: Sequence[Sequence[Any]] = cursor.fetchall()
        return found

    @property
    @_reaching
    def newest(self) -> int:
        """The number of the last patch; 0 where there is none."""
        return int(self._rows(f"SELECT coalesce(max(number), 0) FROM {self.schema}.patches")[0][0])

    @_reaching
    def _read(self, after: int, most: int) -> list[Patch]:
        columns = "number, epoch, moment, more, removed, added, record"
        sql = f"SELECT {columns} FROM {self.schema}.patches WHERE number > %s ORDER BY number LIMIT %s"
        return [Patch(*row[:4], *map(bytes, row[4:])) for row in self._rows(sql, after, most)]

    @_reaching
    def at(self, moment: datetime) -> int:
        """The number of the last patch that was there at that moment; 0 where none was."""
        sql = f"SELECT coalesce(max(number), 0) FROM {self.schema}.patches WHERE moment <= %s"
        return int(self._rows(sql, moment)[0][0])

    # leading

    @property
    @_reaching
    def is_free(self) -> bool:
        """True if nobody leads, or who does has not been heard of for `LEASE_SECONDS`."""
        sql = f"SELECT beat < clock_timestamp() - make_interval(secs => %s) FROM {self.schema}.journal"
        return bool(self._rows(sql, LEASE_SECONDS)[0][0])

    @property
    @_reaching
    def leader(self) -> str:
        """The address at which the leader is asked; empty where it said none."""
        return str(self._rows(f"SELECT address FROM {self.schema}.journal")[0][0])

    @_reaching
    def announce(self, address: str) -> None:
        """Notes at which address the leader, this process, is asked."""
        self._link.cursor().execute(f"UPDATE {self.schema}.journal SET address = %s", (address,))

    @property
    def is_fenced(self) -> bool:
        """True if this process led, and another does by now."""
        return self._lease is not None and self._lease.is_lost

    @property
    def leads_surely(self) -> bool:
        """True if this process leads, and was heard of so lately that no other can lead."""
        lease = self._lease
        return lease is not None and not lease.is_lost and time.monotonic() - lease.renewed < LEASE_SECONDS

    def lead(self) -> int:
        """Begins an epoch, a leader put out that was not heard of for `LEASE_SECONDS`; raises as the protocol says."""
        self.newest  # noqa: B018 (its tables are there then)
        lease = _Lease(self.url, self.schema, self._errors)
        try:
            epoch = lease.take()
        except (self._errors, OSError) as error:
            lease.end()
            raise AwayError(f"the journal at {self.where}: {said(error)[1]}") from error
        if epoch is None:
            lease.end()
            raise FencedError(
                f"the journal at {self.where}: another process leads ({self.leader or 'address not known'}); "
                "serve with --replica or --standby beside it"
            )
        if self._lease is not None:
            self._lease.end()
        self._lease = lease
        self._newest = self.newest
        return epoch

    def append(self, drafts: Iterable[Draft], *, epoch: int) -> int:
        """Appends patches, all of them or none; raises as the protocol says."""
        made = [(draft.more, packed(draft.removed), packed(draft.added), packed_rows(draft.rows)) for draft in drafts]
        with self._grown:  # one thread after the other: each goes on after what it knows of
            self._newest = self._append(made, epoch, self._newest)
            self._grown.notify_all()
        return self._newest

    @_reaching
    def _append(self, made: list[tuple[bool, bytes, bytes, bytes]], epoch: int, before: int) -> int:
        with self._transaction():
            ((now,),) = self._rows(f"SELECT epoch FROM {self.schema}.journal FOR UPDATE")
            if now != epoch:
                if self._lease is not None:
                    self._lease.is_lost = True
                raise FencedError(
                    f"the journal at {self.where}: another process leads by now (epoch {now}, not {epoch})"
                )
            ((number,),) = self._rows(f"SELECT coalesce(max(number), 0) FROM {self.schema}.patches")
            if number > before:  # the line was cut after a commit: this one, or one that was given up
                sql = (
                    f"SELECT more, removed, added, record FROM {self.schema}.patches WHERE number > %s ORDER BY number"
                )
                if [(more, *map(bytes, rest)) for more, *rest in self._rows(sql, before)] == made:
                    return int(number)
                self._newest = int(number)
                raise UnseenError(f"the journal at {self.where}: a change before was made although the line was cut")
            for patch in made:
                number += 1
                self._link.cursor().execute(
                    f"INSERT INTO {self.schema}.patches SELECT %s, %s, greatest(clock_timestamp(), (SELECT max(moment)"
                    f" FROM {self.schema}.patches)), %s, %s, %s, %s",
                    (number, epoch, *patch),
                )
            return int(number)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        link = self._link
        link.autocommit = False
        try:
            yield
            link.commit()
        finally:
            with suppress(self._errors, OSError):
                link.rollback()
                link.autocommit = True

    @_reaching
    def fill(self, patches: Iterable[Patch]) -> None:
        """Takes over the patches of another journal, numbers and moments too; raises as the protocol says."""
        if self._rows(f"SELECT 1 FROM {self.schema}.patches LIMIT 1"):
            raise StoreError(f"the journal at {self.where} holds patches already; name another ?schema=")
        with self._transaction():
            for p in patches:
                self._link.cursor().execute(
                    f"INSERT INTO {self.schema}.patches VALUES (%s, %s, %s, %s, %s, %s, %s)",
                    (p.number, p.epoch, p.moment, p.more, p.gone, p.new, p.record),
                )
            newest = f"(SELECT max(epoch) FROM {self.schema}.patches)"
            self._link.cursor().execute(f"UPDATE {self.schema}.journal SET epoch = greatest(epoch, {newest})")

    def close(self) -> None:
        """Lets the connections go; with them the lead."""
        if self._lease is not None:
            self._lease.end(freed=True)
        with self._lock:
            self._let_go()


def described(url: str) -> str:
    """The version of a database and what it holds of the journal; raises as a journal does, and makes nothing."""
    journal = PostgresJournal(url)
    journal._connect(makes=False)
    with closing(journal):
        ((version, is_there),) = journal._rows(
            "SELECT current_setting('server_version'), to_regclass(%s) IS NOT NULL", f"{journal.schema}.patches"
        )
        if not is_there:
            return f"PostgreSQL {version}, no journal in it yet; `kgplatform move --to` or `serve` begins one"
        leads = "nobody leads" if journal.is_free else f"the leader is at {journal.leader or 'no known address'}"
        return f"PostgreSQL {version}, journal at patch {journal.newest}, {leads}"


class _Lease:
    """The lock of a leader, in a session of its own, renewed until it ends."""

    def __init__(self, url: str, schema: str, error: type[Exception]) -> None:
        self._url, self._schema = url, schema
        self._faults: tuple[type[Exception], ...] = (error, OSError, StoreError)
        self._link = connected(url, seconds=ANSWER_SECONDS)
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self.is_lost, self.renewed = False, time.monotonic()

    def take(self) -> int | None:
        """The new epoch; None: another leads, and lives."""
        cursor = self._link.cursor()
        cursor.execute(
            f"SELECT session, beat < clock_timestamp() - make_interval(secs => %s) FROM {self._schema}.journal",
            (LEASE_SECONDS,),
        )
        session, is_old = cursor.fetchone()
        if is_old and session:  # stopped, or cut off: its sessions, of which one has the lock, may be there for hours
            self._end_holders()
        for _ in range(20 if is_old else 1):
            cursor.execute("SELECT pg_try_advisory_lock(hashtext(%s))", (f"lead {self._schema}",))
            if cursor.fetchone()[0]:
                break
            time.sleep(0.1)
        else:
            return None
        asked = time.monotonic()
        cursor.execute(
            f"UPDATE {self._schema}.journal SET epoch = epoch + 1, session = pg_backend_pid(), address = '',"
            " beat = clock_timestamp() RETURNING epoch"
        )
        epoch, self.renewed = int(cursor.fetchone()[0]), asked
        self._thread = threading.Thread(target=self._renew, args=(epoch,), daemon=True)
        self._thread.start()
        return epoch

    def _renew(self, epoch: int) -> None:
        while not self.is_lost and not self._over.wait(_BEAT_SECONDS):
            try:
                self._beat(epoch)
            except self._faults:
                let_go(self._link)
                with suppress(*self._faults):
                    self._link = connected(self._url, seconds=ANSWER_SECONDS)
                    cursor = self._link.cursor()
                    cursor.execute(f"SELECT 1 FROM {self._schema}.journal WHERE epoch = %s", (epoch,))
                    if cursor.fetchall():  # nobody leads in its place, so it is its own session of before that goes
                        self._end_holders()
                        cursor.execute("SELECT pg_advisory_lock(hashtext(%s))", (f"lead {self._schema}",))
                    self._beat(epoch)

    def _beat(self, epoch: int) -> None:
        asked, cursor = time.monotonic(), self._link.cursor()
        cursor.execute(
            f"UPDATE {self._schema}.journal SET beat = clock_timestamp(), session = pg_backend_pid() WHERE epoch = %s",
            (epoch,),
        )
        self.is_lost = cursor.rowcount == 0
        self.renewed = self.renewed if self.is_lost else asked

    def _end_holders(self) -> None:
        """Ends the sessions that hold the lock."""
        cursor = self._link.cursor()
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            " AND (classid::bigint << 32 | objid::bigint) = hashtext(%s)",
            (f"lead {self._schema}",),
        )
        cursor.fetchall()

    def end(self, *, freed: bool = False) -> None:
        """Gives the lock back; ``freed``: the next leader need not wait."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(5)
        with suppress(*self._faults):
            if freed:
                self._link.cursor().execute(
                    f"UPDATE {self._schema}.journal SET beat = '-infinity' WHERE session = pg_backend_pid()"
                )
        let_go(self._link)
