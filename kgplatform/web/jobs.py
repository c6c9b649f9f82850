"""Reading of documents by the server: one job after the other, in a thread of its own; what it does is in the registry.

A job outlives the request that started it, and not the process: what it has not reached is PENDING then, and another
job takes it up.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from kgplatform.documents.registry import Registry
from kgplatform.documents.running import RunState, progress_json
from kgplatform.errors import KgPlatformError

_log = logging.getLogger("kgplatform.web")
_END_SECONDS = 20.0
_BEGIN_SECONDS = 10.0
_STEP_SECONDS = 0.02

Reading = Callable[[], Iterator[object]]
"""Reads documents, one after the other, as it is gone through."""


class Phase(StrEnum):
    """What the job of this process does: nothing, reads documents, or links, concludes and indexes after it."""

    IDLE = "idle"
    READING = "reading"
    BUILDING = "building"


@dataclass(frozen=True, slots=True)
class Standing:
    """How the work stands: what this process does, and why the latest job of it ended early (empty: it did not)."""

    phase: Phase
    trouble: str


class Jobs:
    """The jobs of a server."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._lock = threading.Lock()
        self._waiting: deque[Reading] = deque()
        self._thread: threading.Thread | None = None
        self._begun = 0
        self._trouble = ""

    def start(self, reading: Reading) -> None:
        """Has the documents read, after those that are being read now."""
        with self._lock:
            self._waiting.append(reading)
            if self._thread is None or not self._thread.is_alive():  # a fault of ours may have ended it
                self._trouble = ""
                self._thread = threading.Thread(target=self._work, name="reading", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while (reading := self._next()) is not None:
            try:
                deque(reading(), maxlen=0)
            except KgPlatformError as error:
                self._trouble = str(error)
                _log.warning("reading documents ended early: %s", error)

    def _next(self) -> Reading | None:
        """The reading that is next; where there is none, the thread is over."""
        with self._lock:
            if not self._waiting:
                self._thread = None
                return None
            progress = self._registry.progress()
            self._begun = progress.run if progress else 0
            return self._waiting.popleft()

    def standing(self) -> Standing:
        """How the work stands now."""
        thread = self._thread
        if thread is None or not thread.is_alive():
            return Standing(Phase.IDLE, self._trouble)
        progress = self._registry.progress()
        over = progress is not None and progress.run > self._begun and progress.state is RunState.DONE
        return Standing(Phase.BUILDING if over else Phase.READING, self._trouble)

    def await_run(self) -> bool:
        """Whether the job has begun its run, after waiting for that a while: what is asked of it before is lost."""
        end = time.monotonic() + _BEGIN_SECONDS
        while self.standing().phase is not Phase.IDLE and time.monotonic() < end:
            progress = self._registry.progress()
            if progress is not None and progress.run > self._begun:
                return True
            time.sleep(_STEP_SECONDS)
        return False

    def stop(self) -> None:
        """Ends the job before its next document, and waits for that a while: for the end of the server."""
        with self._lock:
            self._waiting.clear()
            thread = self._thread
        if thread is not None and thread.is_alive():
            self._registry.stop()
            thread.join(_END_SECONDS)

    def record(self) -> dict[str, object]:
        """The state of the work as JSON values: the latest run, the phase, and how many documents are in each state."""
        standing = self.standing()
        return {
            **progress_json(self._registry.progress()),
            "phase": standing.phase.value,
            "trouble": standing.trouble,
            "counts": {state.value: number for state, number in self._registry.counts().items()},
        }

    @property
    def is_open(self) -> bool:
        """Whether there is something to watch: a job here, or a run that another process has in hand."""
        if self.standing().phase is not Phase.IDLE:
            return True
        progress = self._registry.progress()
        return progress is not None and progress.state is RunState.RUNNING
