"""Which queries are running, for whom and since when, and the way to end one."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from kgplatform.errors import QueryError


class QueryCancelledError(QueryError):
    """A query that somebody ended while it ran."""

    def __init__(self, *, query: str) -> None:
        super().__init__("the query was cancelled; whoever watches over the server may say why", query=query)


@dataclass(frozen=True, slots=True)
class Running:
    """A query that is running: its name here, its text, who asked, since when, and when it will be stopped."""

    name: str
    text: str
    task: str
    client: str
    since: datetime
    started: float
    timeout_seconds: float

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return time.monotonic() - self.started


class RunningQueries:
    """The queries that are running; safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, tuple[Running, Callable[[], object]]] = {}
        self._cancelled: set[str] = set()

    def enter(
        self,
        text: str,
        *,
        task: str,
        client: str,
        timeout_seconds: float,
        interrupt: Callable[[], object],
        name: str = "",
    ) -> str:
        """Notes a query that begins; the name it goes by, made up where none is given or another query has it.

        ``interrupt`` ends the process that runs it.
        """
        with self._lock:
            if not name or name in self._running:
                name = secrets.token_hex(6)
            running = Running(name, text, task, client, datetime.now(UTC), time.monotonic(), timeout_seconds)
            self._running[name] = (running, interrupt)
        return name

    def leave(self, name: str) -> None:
        """Forgets a query that ended."""
        with self._lock:
            self._running.pop(name, None)
            self._cancelled.discard(name)

    def listed(self) -> list[Running]:
        """The running queries, the oldest first."""
        with self._lock:
            return sorted((running for running, _ in self._running.values()), key=lambda item: item.started)

    def find(self, name: str) -> Running | None:
        """The running query of that name."""
        with self._lock:
            found = self._running.get(name)
        return found[0] if found else None

    def cancel(self, name: str) -> bool:
        """Ends the query; false where none of that name is running."""
        with self._lock:  # held while interrupting: the worker must not have gone on to another query
            found = self._running.get(name)
            if found is None:
                return False
            self._cancelled.add(name)
            found[1]()
        return True

    def was_cancelled(self, name: str) -> bool:
        """Whether a query that has not left yet was ended by `cancel`."""
        with self._lock:
            return name in self._cancelled
