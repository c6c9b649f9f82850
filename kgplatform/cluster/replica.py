"""A node of several on one journal: it shows what another process writes, or leads, and may go from one to the other.

Each commit is applied whole, store and registry together, so what is shown is always what the leader showed at some
number. A standby takes the lead once the leader has not been heard of for a while, by the clock of the database; the
former leader follows as soon as it learns of that.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from pyoxigraph import Quad

from kgplatform import settings as config
from kgplatform.documents.registry import Registry
from kgplatform.errors import AwayError, KgPlatformError, StoreError
from kgplatform.journal.patch import FencedError
from kgplatform.ontology import packs
from kgplatform.store.oxigraph import Part
from kgplatform.workspace.creation import ontology_files, recover
from kgplatform.workspace.workspace import Workspace

_log = logging.getLogger("kgplatform.replica")
_PATIENCE: Final = 1.0


def put_ontology(folder: Path, registry: Registry) -> bool:
    """Makes the files of the ontology, and which of them are in use, as the registry has them; True if that was new.

    Raises:
        StoreError: a name leads out of the folder.
        ConfigError: the list of ontologies is not where it can be found in the settings.
    """
    wanted, there = registry.ontology_files(), ontology_files(folder)
    if not wanted or wanted == there:
        return False
    place = folder / "ontology"
    place.mkdir(exist_ok=True)
    for name in sorted({*wanted, *there} - {""}):
        if Path(name).name != name or name in (".", ".."):
            raise StoreError(f"the name of a file of the ontology leads out of its folder: {name!r}")
        if name not in wanted:
            (place / name).unlink()
        elif wanted[name] != there.get(name):
            (place / name).write_bytes(wanted[name])
    config.set_ontology(folder, tuple(json.loads(wanted[""])))
    return True


class Replica:
    """Follows the journal in a thread of its own, unless it leads; as what a store is to be recorded by, it refuses."""

    def __init__(self, workspace: Workspace, *, stands_by: bool = False) -> None:
        """Brings the workspace in line with the journal, if it was opened to follow and can reach it; else it leads.

        Raises:
            WorkspaceError: the workspace does not belong to the journal.
            StoreError: the database does not let us in.
        """
        assert workspace.recorder is not None
        self._workspace, self._recorder = workspace, workspace.recorder
        self._stands_by, self.leads = stands_by, not workspace.follows
        self._over, self._grown = threading.Event(), threading.Condition()
        self._indexed, self._trouble, self.number = 0, "", -1
        self.seen = 0
        """The newest patch that the journal was seen to hold while this followed."""
        self._recorder.took_rows = self._take_up_ontology
        if self.leads:
            self.number = self._recorder.number
        else:
            workspace.registry.outlast_power()
            self._recorder.finish()
            workspace.store.recorder = self
            try:
                self.number = self._caught_up()
            except AwayError as error:
                self._trouble = str(error)
        self._thread = threading.Thread(target=self._follow, daemon=True, name="kgplatform replica")
        self.took_over: Callable[[], None] = lambda: None
        """Called once it leads in another's place."""

    def start(self) -> None:
        """Begins to follow."""
        self._thread.start()

    @property
    def leader(self) -> str:
        """The address of the leader; empty where it is not known, or this is it.

        Raises:
            StoreError: the journal cannot be reached.
        """
        return "" if self.leads else self._recorder.journal.leader

    @property
    def trouble(self) -> str:
        """Why what is shown may be old: the journal cannot be followed, or another may lead; empty: it is not."""
        if self.leads and not self._recorder.journal.leads_surely:
            return "the lead could not be renewed lately; another server may lead by now"
        return self._trouble

    def wait(self, number: int, seconds: float) -> bool:
        """Whether everything up to that number is shown, at the latest after so many seconds."""
        end = time.monotonic() + seconds
        with self._grown:
            while self.number < number and (left := end - time.monotonic()) > 0:
                self._grown.wait(left)
        return self.number >= number

    def close(self) -> None:
        """Follows no longer."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(10)

    def _follow(self) -> None:
        journal = self._recorder.journal
        while not self._over.is_set():
            try:
                if self.leads:
                    if not journal.is_fenced:
                        self._over.wait(_PATIENCE)
                        continue
                    self._step_down()
                self.seen = journal.wait(self.number, _PATIENCE)
                if self.seen > self.number:
                    number = self._caught_up()
                    with self._grown:
                        self.number = number
                        self._grown.notify_all()
                elif self._stands_by and journal.is_free:
                    self._take_over()
                else:
                    self._index()
                self._trouble = ""
            except FencedError:
                continue  # another standby was sooner
            except (KgPlatformError, OSError) as error:
                if not self._trouble:
                    _log.warning("the journal cannot be followed: %s", error)
                self._trouble = str(error)
                self._over.wait(_PATIENCE)

    def _caught_up(self) -> int:
        if self.number < 0:
            self._recorder.prepare()
        self._recorder.take_back()
        number = self._recorder.catch_up()
        self._workspace.versions.rest()
        return number

    def _take_up_ontology(self) -> None:
        if put_ontology(self._workspace.folder, self._workspace.registry):
            self._workspace.settings = config.load(self._workspace.folder)
            self._workspace.use(packs.load(self._workspace.settings.ontology, folder=self._workspace.folder))

    def _index(self) -> None:
        """Brings the passages in line while nothing else is to be done."""
        changed = self._workspace.registry.latest_change()
        if changed != self._indexed:
            self._workspace.indexing.run(self._workspace.chunks)
            self._indexed = changed

    def _take_over(self) -> None:
        with self._workspace.store.write_lock():
            self._recorder.take_back()
            self._recorder.begin()
            self._workspace.turn(follows=False)
            recover(self._workspace)
            self.leads, self.number = True, self._recorder.journal.newest
        _log.warning("the leader is gone; this process leads from patch %d on", self.number)
        self.took_over()

    def _step_down(self) -> None:
        """Leads no more, as another does: what was begun here ends, and what is in no patch is taken back."""
        with self._workspace.store.write_lock():
            self._trouble = "another server leads by now; this one has not caught up yet"
            self._workspace.turn(follows=True)
            self._workspace.registry.stop()
            self._workspace.registry.outlast_power()
            self._workspace.store.recorder = self
            self._workspace.store.flush(all_of_it=True)  # of what was recorded here the registry keeps no quads
            self.number, self.leads = -1, False
        _log.warning("another process leads by now; this one follows")

    # what its store asks

    def record(self, parts: Iterable[Part], *, more: bool = False) -> int:  # noqa: ARG002
        """Never.

        Raises:
            FencedError: only the leader writes.
        """
        raise FencedError(
            f"this is a replica and is not written to; the leader is at {self.leader or 'no known address'}"
        )

    def added_after(self, number: int) -> Iterator[Quad]:
        """The quads that came after that number."""
        return self._recorder.added_after(number)

    def ship(self) -> None:
        """Nothing: the rows come from the leader."""

    @property
    def is_due(self) -> bool:
        """True if the store should be written to the disk."""
        return self._recorder.is_due

    def settle(self) -> None:
        """Notes that the disk holds all that was written to the store."""
        if self.number >= 0:  # else nobody knows yet what it holds
            self._recorder.settle()
