"""Every write to a workspace's store goes into its journal first: then it lasts, then it is made.

Store, registry and journal agree after a crash at any moment: what the journal has and the store or the registry has
not is applied when the workspace is opened. Rows of the registry travel with the next patch.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pyoxigraph import Quad

from kgplatform.errors import StoreError, WorkspaceError
from kgplatform.journal.changed_rows import ChangedRows
from kgplatform.journal.patch import Draft, Journal, Patch, Row, UnseenError, commits, net
from kgplatform.store.oxigraph import Part, Store, in_parts

_BEHIND: Final = 1_000
"""So many patches may be applied again after a loss of power."""
_MUCH: Final = 4_000_000
"""So many bytes of patches that were taken over may be applied again."""


class Recorder:
    """Writes a store's changes into a journal; a `kgplatform.store.oxigraph.Recording`."""

    def __init__(self, journal: Journal, store: Store, rows: ChangedRows, mark: Path) -> None:
        """``mark`` is the file that says up to which patch of which journal the store holds all."""
        self.journal = journal
        self._store = store
        self._rows = rows
        self._mark = mark
        self.number = 0
        """The number of the last patch that was appended or applied here."""
        self.took_rows: Callable[[], None] = lambda: None
        """Called once rows were taken over, before the store shows what belongs to them."""
        self._epoch = self._settled = self._store_at = self._rows_at = self._taken = 0

    def begin(self) -> None:
        """Takes the lead, brings store and registry in line with the journal, and records from now on.

        Raises:
            WorkspaceError: the journal belongs to another workspace, or lacks what the store holds.
            StoreError: it cannot be reached, or another process leads.
        """
        self._epoch = self.journal.lead()
        self._end()
        with self._store.write_lock():
            self.prepare()
            self.catch_up()
            self._store.recorder = self
            if self.journal.newest == 0:  # the workspace as it is when its journal begins is the first commit
                self.record(in_parts((), self._store.quads()))
            self._store.version = self.number = self.journal.newest
            self._store.flush(all_of_it=True)

    def _end(self) -> None:
        """Ends a commit that a crash or a cut line left without its last part."""
        if any(patch.more for patch in self.journal.patches(self.journal.newest - 1)):
            self.journal.append([Draft()], epoch=self._epoch)

    def prepare(self) -> None:
        """Finds out how far store and registry are, and has the registry note what changes; `catch_up` goes on.

        Raises:
            WorkspaceError: the journal belongs to another workspace, or lacks what the store holds.
        """
        newest = self.journal.newest
        known, self._settled = _read_mark(self._mark)
        if (newest and known != self.journal.name) or (known == self.journal.name and self._settled > newest):
            raise WorkspaceError(
                f"{self._mark.parent}: the journal is not the one that this workspace was written with; put that one "
                "back, take an empty one, or make a workspace from it with `kgplatform restore`",
                path=self._mark.parent,
            )
        self._rows.keep_changes(self.journal.name, all_rows=newest == 0)
        name, number = self._rows.applied()
        self._rows_at = number if name == self.journal.name else 0
        self._store_at = self._store.version = max(self._settled, self._store.version) if newest else 0

    def catch_up(self) -> int:
        """Applies what store and registry lack, commit by commit; the number that both are at then.

        Raises:
            StoreError: the journal cannot be read, or the disk refuses.
        """
        for group in self._steps():
            last = group[-1].number
            quads = [(patch.gone, patch.new) for patch in group if patch.gone or patch.new]
            with self._store.write_lock():
                if last > self._rows_at:
                    rows = [row for patch in group for row in patch.rows]
                    self._rows.apply_rows(self.journal.name, last, rows, quads, settled=self._settled)
                    self.took_rows()
                if last > self._store_at and quads:
                    self._store.replay(*net(group), version=last)
            self._store_at, self._rows_at = max(last, self._store_at), max(last, self._rows_at)
            self.number = last
            self._taken += sum(len(part) for parts in quads for part in parts)
            if self.is_due and self._store.recorder is not self:  # who records here asks for it
                self._store.flush(all_of_it=True)
                self.settle()
        self.number = min(self._store_at, self._rows_at)
        return self.number

    def _steps(self) -> Iterator[list[Patch]]:
        """Commits; those in one that the store may hold already, so that it never shows what was before them."""
        held: list[Patch] = []
        for group in commits(self.journal.patches(min(self._store_at, self._rows_at))):
            held += group
            if group[-1].number >= self._rows_at:
                yield held
                held = []
        if held:
            yield held

    def finish(self) -> None:
        """Has the store take the commits that the registry has and it may lack; the journal need not be there.

        Raises:
            StoreError: the disk refuses.
        """
        now, kept = datetime.now(UTC), self._rows.pending(_read_mark(self._mark)[1])
        patches = [Patch(number, 0, now, more=False, gone=gone, new=new, record=b"") for number, gone, new in kept]
        self._store.replay(*net(patches), version=self._store.version)

    def take_back(self) -> None:
        """Makes rows that changed and are in no patch what they are in the journal, as another process leads.

        Raises:
            StoreError: the journal cannot be read, or the disk refuses.
        """
        with self._store.write_lock():
            name, number = self._rows.applied()
            if name != self.journal.name:
                return  # none was recorded here yet
            self._store_at, self._rows_at = max(self._store_at, self._store.version), number
            noted: dict[Any, Any] = {(table, key): None for table, key, _ in self._rows.noted()}
            for patch in self.journal.patches(0, limit=number if noted else 0):
                for table, key, values in patch.rows:
                    if (table, key) in noted:
                        noted[table, key] = None if values is None else {**(noted[table, key] or {}), **values}
            if noted:
                self._rows.apply_rows(name, number, [(*row, values) for row, values in noted.items()])

    def record(self, parts: Iterable[Part], *, more: bool = False) -> int:
        """Appends quads that go and that come, with the rows that changed, as one commit; its number.

        Raises:
            StoreError: the journal refuses; nothing was appended.
            UnseenError: as `Journal.append`; what was done after all is now in the store too.
        """
        number = None
        try:
            with self._rows.outgoing() as outgoing:
                number = self.journal.append(_drafts(parts, outgoing.rows, more=more), epoch=self._epoch)
                outgoing.number = number
        except UnseenError as error:
            self._end()
            self._store_at = self._rows_at = self.number
            self.number = self._store.version = self.catch_up()
            raise UnseenError(f"nothing was changed now: {error}; look at it, and try again") from error
        except sqlite3.Error as error:  # after the append it only means that the rows are sent once more
            if number is None:
                raise StoreError(f"nothing was changed: the registry cannot be read: {error}") from error
        self.number = number
        return number

    def ship(self) -> None:
        """Puts rows that no patch has taken along into the journal: what was done is then there as a whole.

        Raises:
            StoreError: the journal refuses.
        """
        with self._store.write_lock():
            if self._rows.has_changes:
                self.record(())

    def added_after(self, number: int) -> Iterator[Quad]:
        """The quads that came with the patches after that number."""
        return (quad for patch in self.journal.patches(number) for quad in patch.added)

    @property
    def is_due(self) -> bool:
        """True if the store should be written to the disk: a loss of power would cost much to apply again."""
        return self._store.version - self._settled >= _BEHIND or self._taken >= _MUCH

    def settle(self) -> None:
        """Notes that the disk holds all that was written to the store."""
        number = self._store.version
        write_mark(self._mark, self.journal.name, number)
        self._settled, self._taken = number, 0

    def go_on_with(self, journal: Journal) -> None:
        """Appends to another journal from now on, which holds the same patches.

        Raises:
            StoreError: another process leads there.
        """
        with self._store.write_lock():
            epoch = journal.lead()
            self._rows.apply_rows(journal.name, journal.newest, ())
            self._store.flush(all_of_it=True)
            write_mark(self._mark, journal.name, self._store.version)
            before, self.journal, self._epoch = self.journal, journal, epoch
            before.close()


def write_mark(path: Path, journal: str, number: int) -> None:
    """Notes up to which patch of which journal a store holds all."""
    partial = path.with_suffix(".part")
    with partial.open("w", encoding="utf-8") as file:
        json.dump({"journal": journal, "number": number}, file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def _drafts(parts: Iterable[Part], rows: Sequence[Row], *, more: bool) -> Iterator[Draft]:
    """A patch a part, the rows with the last."""
    held: Part | None = None
    for part in parts:
        if held is not None:
            yield Draft(*held, more=True)
        held = part
    if held is not None or rows:
        yield Draft(*(held or ((), ())), rows, more)


def _read_mark(path: Path) -> tuple[str, int]:
    with suppress(OSError, ValueError, KeyError, TypeError):
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return str(found["journal"]), int(found["number"])
    return "", 0
