"""``/api/jobs``: how far the reading of documents is, as JSON and as events; and what pauses, resumes or ends it."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, jsonify
from pyoxigraph import NamedNode

from kgplatform.documents.progress import RunState, progress_json
from kgplatform.documents.registry import Registry
from kgplatform.errors import KgPlatformError
from kgplatform.server.access import Role, require
from kgplatform.server.http import event_stream
from kgplatform.sparql.protocol import ProtocolError
from kgplatform.workspace.ingest import Added

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph


_log = logging.getLogger("kgplatform.server")
_END_SECONDS = 20.0
_BEGIN_SECONDS = 10.0
_STEP_SECONDS = 0.02

Reading = Callable[[], Iterable[object]]
"""Reads documents, one after the other, as it is gone through."""
ACTIONS = ("pause", "resume", "cancel", "retry")
_EVENT_STEP_SECONDS = 0.3
_QUIET_SECONDS = 15.0
_LONGEST_SECONDS = 300.0
_MOST_WATCHERS = 4
"""Each watcher holds a thread of the server; further ones ask for ``/api/jobs`` again and again."""


class Phase(StrEnum):
    """What the job of this process does: nothing, reads documents, or links, concludes and indexes after it."""

    IDLE = "idle"
    READING = "reading"
    BUILDING = "building"


@dataclass(slots=True)
class Outcome:
    """What became of the documents of a job: how many of each outcome, what was read of them, and how long it took.

    ``document`` is the last of them.
    """

    counts: Counter[str] = field(default_factory=Counter)
    statements: int = 0
    refused: int = 0
    seconds: float = 0.0
    document: NamedNode | None = None

    def take(self, item: Added) -> None:
        """Takes one more document into account."""
        self.counts[item.outcome] += 1
        self.statements += 0 if item.outcome == "unchanged" else item.statements or len(item.accepted)
        self.refused += len(item.refused)
        self.document = item.document.iri


@dataclass(frozen=True, slots=True)
class Standing:
    """How the work stands: what this process does, and why its latest job ended early (empty: it did not).

    ``outcome`` is what that job came to; None while it goes on, and where there was none.
    """

    phase: Phase
    trouble: str
    outcome: Outcome | None = None


class Jobs:
    """The jobs of a server: one after the other, in a thread of its own; what they do is in the registry.

    A job outlives the request that started it, and not the process: what it has not reached is PENDING then, and
    another job takes it up.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._lock = threading.Lock()
        self._waiting: deque[Reading] = deque()
        self._thread: threading.Thread | None = None
        self._begun = 0
        self._trouble = ""
        self._outcome: Outcome | None = None

    def start(self, reading: Reading) -> None:
        """Has the documents read, after those that are being read now."""
        with self._lock:
            self._waiting.append(reading)
            if self._thread is None or not self._thread.is_alive():  # a fault of ours may have ended it
                self._trouble, self._outcome = "", None
                self._thread = threading.Thread(target=self._work, name="reading", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        outcome, began = Outcome(), time.monotonic()
        while (reading := self._next()) is not None:
            try:
                for item in reading():
                    if isinstance(item, Added):
                        outcome.take(item)
                        self._outcome = outcome
                outcome.seconds = time.monotonic() - began
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
            return Standing(Phase.IDLE, self._trouble, self._outcome)
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

    @property
    def waiting(self) -> int:
        """How many jobs wait for the one that runs."""
        return len(self._waiting)

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


def act(kg: KnowledgeGraph, jobs: Jobs, action: str) -> None:
    """Pauses, resumes, cancels or takes up again the reading of documents.

    Raises:
        ProtocolError: 400, no such action; 409, there is nothing to act on.
    """
    require(Role.WRITE)
    if action not in ACTIONS:
        raise ProtocolError(400, "Bad request", f"there is {', '.join(ACTIONS)}, not {action[:40]!r}")
    reading = jobs.standing().phase is Phase.READING
    if action == "pause" or (action == "cancel" and reading):
        if not reading or not jobs.await_run():
            raise ProtocolError(409, "Nothing to pause", "no documents are being read now")
        if action == "pause":
            kg.registry.pause()
        else:
            kg.registry.cancel()
        return
    kg.registry.resume()
    if action != "cancel" and not reading:
        jobs.start(kg.retry)


def blueprint(kg: KnowledgeGraph, jobs: Jobs) -> Blueprint:
    """The routes of the jobs."""
    routes = Blueprint("jobs", __name__)
    watchers = threading.BoundedSemaphore(_MOST_WATCHERS)

    @routes.get("/api/jobs")
    def state() -> Response:
        return jsonify(jobs.record())

    @routes.get("/api/jobs/events")
    def events() -> Any:
        if not watchers.acquire(blocking=False):
            raise ProtocolError(503, "Busy", "too many watchers; use /api/jobs instead")
        response = event_stream(_events(jobs))
        response.call_on_close(watchers.release)
        return response

    @routes.post("/api/jobs/<action>")
    def acted(action: str) -> Response:
        act(kg, jobs, action)
        return jsonify(jobs.record())

    return routes


def _events(jobs: Jobs) -> Iterator[bytes]:
    """An event whenever something has changed, and ``end`` when nothing is being read any more."""
    began, told, at = time.monotonic(), "", 0.0
    while time.monotonic() - began < _LONGEST_SECONDS:
        is_open = jobs.is_open
        record = json.dumps(jobs.record(), ensure_ascii=False)
        if record != told:
            told, at = record, time.monotonic()
            yield f"event: progress\ndata: {record}\n\n".encode()
        elif time.monotonic() - at > _QUIET_SECONDS:
            at = time.monotonic()
            yield b": still here\n\n"
        if not is_open:
            yield f"event: end\ndata: {record}\n\n".encode()
            return
        time.sleep(_EVENT_STEP_SECONDS)
