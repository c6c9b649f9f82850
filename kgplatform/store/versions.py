"""Time travel: earlier states of the store, kept as hard-link checkpoints, and found by number or by time.

A state is what an operation leaves behind: adding, loading, building, an update, a write over HTTP. It gets a number.
When the next operation begins to write, the state before is kept if it stood for a while; keeping takes milliseconds
and, at first, no room, for a checkpoint shares its files with the store. How many are kept, and for how long, is a
setting. The present state is the store itself.
"""

from __future__ import annotations

import json
import logging
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path

from kgplatform.errors import ConfigError, NotFoundError, StoreError
from kgplatform.store.child_process import Snapshot
from kgplatform.store.oxigraph import Store

_log = logging.getLogger("kgplatform.store.versions")
_CURRENT = "current.json"
_NUMBER = re.compile(r"[0-9]{1,12}")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Version:
    """A state of the store: its number, when it came about, and when it was overtaken (None: it is the present)."""

    number: int
    since: datetime
    until: datetime | None = None

    @property
    def is_current(self) -> bool:
        """True if this is how the store is now."""
        return self.until is None


class VersionError(NotFoundError):
    """No state of that number or time can be read; ``gone``: there was one. ``nearest`` are those that can."""

    def __init__(self, message: str, *, name: str, gone: bool, nearest: tuple[Version, ...]) -> None:
        super().__init__(message, name=name)
        self.gone = gone
        self.nearest = nearest


class Versions:
    """The states of one store that can still be read; safe for several threads."""

    def __init__(
        self,
        store: Store,
        folder: Path | None,
        *,
        keep: int = 10,
        days: float = 0.0,
        every_seconds: float = 10.0,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """The states in the folder; None (or a store in memory): only the present one.

        At most ``keep`` are kept, none that was overtaken more than ``days`` ago (0: however long ago), and none
        within ``every_seconds`` of the last.
        """
        self._store = store
        self._folder = folder if store.path is not None else None
        self._keep, self._days, self._every = keep, days, timedelta(seconds=every_seconds)
        self._now = now
        self._lock = threading.RLock()
        self._kept: list[Version] = []
        self._pins: dict[int, int] = {}
        self._at_rest = True
        self.current = Version(1, now())
        if self._folder is not None and self._folder.is_dir():
            self._take_up(self._folder)

    def _take_up(self, folder: Path) -> None:
        """Reads what the last process left, and clears away what it did not finish."""
        for path in folder.iterdir():
            if path.is_dir() and _NUMBER.fullmatch(path.name):
                found = _read(folder / f"{path.name}.json")
                if found is None or found.until is None:
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    self._kept.append(found)
        self._kept.sort(key=lambda version: version.number)
        left = _read(folder / _CURRENT) or self.current
        newest = self._kept[-1] if self._kept else None
        if newest is not None and newest.number >= left.number:  # the process ended in the operation that came next
            left = Version(newest.number + 1, newest.until or left.since)
        self.current = left

    def watch(self) -> None:
        """Has each write to the store noted from now on, before whatever else is told of it."""
        then = self._store.before_write

        def both() -> None:
            self._note()
            if then is not None:
                then()

        self._store.before_write = both

    def _note(self) -> None:
        """Before a write: keeps the state that it would overwrite, if it is one to keep."""
        with self._lock:
            if not self._at_rest:
                return
            self._at_rest = False
            now = self._now()
            before, self.current = self.current, Version(self.current.number + 1, now)
            stood = not self._kept or (now - (self._kept[-1].until or now)) >= self._every
            if self._folder is None or self._keep <= 0 or not stood:
                return
            try:
                self._make(self._folder, Version(before.number, before.since, now))
            except (OSError, StoreError) as error:  # the write itself will tell, if the disk is full
                _log.warning("version %d is not kept: %s", before.number, error)

    def _make(self, folder: Path, version: Version) -> None:
        folder.mkdir(exist_ok=True)
        target = folder / str(version.number)
        shutil.rmtree(target, ignore_errors=True)
        self._store.snapshot(target)
        _write(folder / f"{version.number}.json", version)  # only with it the checkpoint counts
        self._kept.append(version)
        self._write_current()
        self._forget()

    def _write_current(self) -> None:
        if self._folder is not None and self._folder.is_dir():
            with suppress(OSError):
                _write(self._folder / _CURRENT, self.current)

    def rest(self) -> Version:
        """The present state, now that an operation is complete: the next write begins another."""
        with self._lock:
            if not self._at_rest:
                self._at_rest = True
                self.current = Version(self.current.number, self._now())
                self._write_current()
            return self.current

    def _forget(self) -> None:
        """Takes away what the settings no longer keep, unless somebody is reading it."""
        oldest = self._now() - timedelta(days=self._days) if self._days > 0 else None
        for place, version in enumerate(list(self._kept)):
            surplus = len(self._kept) - place > self._keep
            aged = oldest is not None and version.until is not None and version.until < oldest
            if (surplus or aged) and not self._pins.get(version.number):
                self._drop(version)

    def _drop(self, version: Version) -> None:
        assert self._folder is not None
        self._kept.remove(version)
        with suppress(OSError):
            (self._folder / f"{version.number}.json").unlink()
        shutil.rmtree(self._folder / str(version.number), ignore_errors=True)

    def prune(self) -> None:
        """Takes away what has become too old since the last write."""
        with self._lock:
            self._forget()

    def listed(self) -> list[Version]:
        """The states that can be read, the present one first."""
        with self._lock:
            return [self.current, *reversed(self._kept)]

    def find(self, wanted: str) -> Version:
        """The state of that number, or the one that held at that time (ISO 8601 or HTTP date; a day: at its end).

        Raises:
            VersionError: it is not kept, or there never was one; the message names those that can be read.
            ConfigError: it is neither a number nor a time.
        """
        found = self.listed()
        text = wanted.strip()
        if _NUMBER.fullmatch(text):
            return self._numbered(int(text), found, text)
        moment = moment_of(text)
        for version in found:
            if version.since <= moment:
                return version
        raise self._missing(f"nothing is kept of {text}", text, found, gone=found[-1].number > 1)

    def _numbered(self, number: int, found: list[Version], text: str) -> Version:
        for version in found:
            if version.number == number:
                return version
        gone = 0 < number < self.current.number
        what = f"version {number} is not kept" if gone else f"there is no version {number}"
        nearest = sorted(found, key=lambda version: abs(version.number - number))
        raise self._missing(what, text, nearest, gone=gone)

    def _missing(self, what: str, name: str, nearest: list[Version], *, gone: bool) -> VersionError:
        near = tuple(nearest[:2] if gone or name.isdecimal() else nearest[-2:])
        listed = " and ".join(f"{item.number} ({item.since.isoformat(timespec='seconds')})" for item in near)
        return VersionError(f"{what}; the nearest that can be read: {listed}", name=name, gone=gone, nearest=near)

    @contextmanager
    def snapshot(self, version: Version) -> Iterator[Snapshot | None]:
        """The checkpoint of an earlier state, which stays until the end of the block; None for the present.

        Raises:
            VersionError: it has been taken away meanwhile.
        """
        if version.is_current or self._folder is None:
            yield None
            return
        with self._lock:
            if version not in self._kept:
                raise self._missing(
                    f"version {version.number} is not kept", str(version.number), self.listed(), gone=True
                )
            self._pins[version.number] = self._pins.get(version.number, 0) + 1
        try:
            yield Snapshot(self._folder / str(version.number), -version.number, is_kept=True)
        finally:
            with self._lock:
                self._pins[version.number] -= 1

    @contextmanager
    def store(self, version: Version) -> Iterator[Store]:
        """The store as it was then, to be read only.

        Raises:
            VersionError: it has been taken away meanwhile.
        """
        with self.snapshot(version) as found:
            if found is None:
                yield self._store
            else:
                yield Store.open_snapshot(found.path, prefixes=self._store.prefixes)


def moment_of(text: str) -> datetime:
    """The time that a text names; without a zone it is UTC, and a day stands for its end.

    Raises:
        ConfigError: it names none.
    """
    try:
        found = datetime.fromisoformat(text.replace(" ", "+", 1) if text[-6:-5] == " " else text)
    except ValueError:
        try:
            found = parsedate_to_datetime(text)
        except ValueError as error:
            raise ConfigError(
                f"{text[:100]!r} is neither the number of a version nor a time such as 2026-05-01T12:00Z", setting="at"
            ) from error
    if _DAY.fullmatch(text):
        found += timedelta(days=1) - timedelta(microseconds=1)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _read(path: Path) -> Version | None:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        until = record.get("until")
        since = datetime.fromisoformat(record["since"])
        return Version(int(record["number"]), since, datetime.fromisoformat(until) if until else None)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _write(path: Path, version: Version) -> None:
    until = version.until.isoformat() if version.until else None
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps({"number": version.number, "since": version.since.isoformat(), "until": until}))
    partial.replace(path)
