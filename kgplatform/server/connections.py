"""Connections as waitress watches them, and two things more: plain queries go to workers, and slow clients go.

A connection on which a plain query comes in is handed over to a free worker (`kgplatform.store.handover`), which
answers on it until it gives it back; everything else, and every refusal, is the web application's. Where no worker
is free, or nobody may be answered unseen (tokens for reading, limits of rate), it answers plain queries too.

A request that comes in drops is cut off: whoever is slower than `_SLOWEST` once `_PATIENCE_SECONDS` have passed does
not mean to be served.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.server import create_server
from waitress.task import WSGITask
from waitress.utilities import Error

from kgplatform.errors import KgPlatformError
from kgplatform.sparql.protocol import MOST_PLAIN_BYTES, PLAIN_BEGINNING
from kgplatform.store import wire
from kgplatform.store.child_process import EndedError, WorkerProcess
from kgplatform.store.handover import AnswerTerms, has_left
from kgplatform.store.worker_pool import QueryWorkers

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

OUTCOME: Final = "kgplatform.outcome"
"""Where the environment of a request has the `WorkerOutcome` that a worker came to."""
_PATIENCE_SECONDS: Final = 20.0
_SLOWEST: Final = 1000
"""Bytes a second."""


@dataclass(frozen=True, slots=True)
class WorkerOutcome:
    """Why a worker did not answer a query that began at ``started``: what makes the error, given the query's text.

    None: it ended before it had read the query, which is the application's then.
    """

    error: Callable[[str], KgPlatformError] | None
    started: float


class _TooSlowError(Error):  # type: ignore[misc]
    code = 408
    reason = "Request Timeout"


class _Request(HTTPRequestParser):  # type: ignore[misc]
    """A request, when it began to come in, and what a worker made of it."""

    def __init__(self, adj: Adjustments) -> None:
        super().__init__(adj)
        self.since = time.monotonic()
        self.outcome: WorkerOutcome | None = None

    def is_dripping(self) -> bool:
        """True if it comes in so slowly that it is of no use."""
        seconds = time.monotonic() - self.since
        received: int = self.header_bytes_received + self.body_bytes_received
        return seconds > _PATIENCE_SECONDS and received < _SLOWEST * seconds


class _Task(WSGITask):  # type: ignore[misc]
    """A request on its way to the application."""

    def get_environment(self) -> dict[str, Any]:
        """The environment, as WSGI has it."""
        environ: dict[str, Any] = super().get_environment()
        if self.request.outcome is not None:
            environ[OUTCOME] = self.request.outcome
        return environ


class Handover:
    """Which connections may go to workers, and how those are to answer."""

    def __init__(
        self,
        workers: QueryWorkers,
        terms: AnswerTerms,
        may_read: Callable[[str], bool],
        *,
        left: tuple[bytes, ...] = (),
    ) -> None:
        """``may_read`` says whether somebody who shows no token may read from that address.

        Requests that hold one of the words ``left``, in lower case, are left to the application.
        """
        self._left = left
        self._workers = workers
        self._terms = json.dumps(terms.encode())
        self._may_read = may_read

    def take(self, connection: Connection) -> bool:
        """Hands the connection over if a plain query has come in and a worker is free; false: nothing has changed."""
        try:
            data = connection.socket.recv(MOST_PLAIN_BYTES, socket.MSG_PEEK)
        except OSError:
            return False
        if not data.startswith(PLAIN_BEGINNING) or not data.endswith(b"\r\n\r\n"):
            return False
        if self._left and any(word in data.lower() for word in self._left):
            return False
        address = connection.addr[0]
        if not self._may_read(address):
            return False
        taken = self._workers.hand_over(connection.socket, address, self._terms)
        if taken is None:
            return False
        connection.keeper = _Keeper(self._workers, taken, connection)
        return True


class _Keeper:
    """A worker that has a connection, as the loop that watches all connections sees it."""

    accepting = False

    def __init__(self, workers: QueryWorkers, taken: WorkerProcess, connection: Connection) -> None:
        self._workers = workers
        self._worker = taken
        self._connection = connection
        self._output = taken.output()
        connection.server._map[self._output] = self

    def readable(self) -> bool:
        """True: the connection may come back at any time."""
        return True

    def writable(self) -> bool:
        """False: nothing is said to a worker from here."""
        return False

    def handle_read_event(self) -> None:
        """Takes the connection back."""
        try:
            kind, payload = self._worker.frame()
        except (EndedError, TimeoutError):
            self.handle_close()
            return
        self._forget()
        board = self._worker.board
        started = board.started if board is not None else time.monotonic()
        self._workers.give_back(self._worker, healthy=True)
        connection = self._connection
        connection.keeper = None
        if kind == wire.CLOSED:
            connection.handle_close()
        elif kind == wire.ERROR:
            connection.read(WorkerOutcome(lambda text: self._workers.decoded(payload, text), started))
        elif kind == wire.UNUSUAL:
            connection.read()

    def handle_close(self) -> None:
        """The worker ended."""
        self._forget()
        threading.Thread(target=self._clear_away, daemon=True).start()

    def handle_error(self) -> None:
        """Nothing is known to lead here; the connection cannot be trusted any more."""
        self._connection.handle_close()

    def _clear_away(self) -> None:
        board = self._worker.board
        started = board.started if board is not None else time.monotonic()
        connection = self._connection
        try:
            connection.outcome = WorkerOutcome(self._workers.fallen(self._worker), started)
        except LookupError:
            connection.will_close = True
        connection.keeper = None
        connection.server.pull_trigger()

    def _forget(self) -> None:
        watched: Mapping[int, Any] = self._connection.server._map
        if watched.get(self._output) is self:
            del self._connection.server._map[self._output]


class Connection(HTTPChannel):  # type: ignore[misc]
    """A connection with a client."""

    parser_class = _Request
    task_class = _Task
    request: _Request | None = None
    keeper: _Keeper | None = None
    outcome: WorkerOutcome | None = None
    """What became of the request that is about to be read."""

    def readable(self) -> bool:
        """True if the loop is to read from this connection."""
        if self.keeper is not None:
            self.last_activity = time.time()
            return False
        if self.request is not None and self.request.is_dripping():
            self._cut_off()
        return bool(super().readable())

    def writable(self) -> bool:
        """True if the loop is to write to this connection, or to close it."""
        return self.keeper is None and bool(super().writable())

    def handle_read(self) -> None:
        """Reads what has come in, or has a worker read it."""
        if self.outcome is not None:
            outcome, self.outcome = self.outcome, None
            self.read(outcome)
        elif self.request is not None or self.requests or not self.server.handover.take(self):
            super().handle_read()

    def read(self, outcome: WorkerOutcome | None = None) -> None:
        """Reads what has come in; it is a whole request, and ``outcome`` is what a worker made of it."""
        self.request = _Request(self.adj)
        self.request.outcome = outcome
        super().handle_read()

    def check_client_disconnected(self) -> bool:
        """True if the client has gone, which the application asks while it waits."""
        return not self.connected or has_left(self.socket)

    def _cut_off(self) -> None:
        with self.requests_lock:
            request, self.request = self.request, None
            if request is None:
                return
            request.error, request.completed = _TooSlowError("the request comes in too slowly"), True
            self.requests.append(request)
            if len(self.requests) == 1:
                self.server.add_task(self)


def listening(application: WSGIApplication, handover: Handover, **settings: Any) -> Any:
    """A server over the application with these connections; ``settings`` are those of waitress."""
    server = create_server(application, **settings)
    server.handover, server.channel_class = handover, Connection
    return server
