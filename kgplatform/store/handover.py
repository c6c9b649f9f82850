"""Plain queries answered by a worker on connections that it was handed: no hop to the owner and back.

The owner passes the connection on (`socket.send_fds`), and the worker reads requests from it until one comes that is
not plain, until none comes for a moment, or until the owner wants the worker for something else. A request is only
looked at (``MSG_PEEK``) until the first byte of its answer is sent: what is given back unanswered is there whole for
the owner, which also answers in place of a worker that ended, for the *board*, a page of memory that both share, says
how far it was. The kernel ends a worker that is past its deadline (``SIGALRM``); a second thread ends one whose client
has left.
"""

from __future__ import annotations

import ctypes
import gzip
import mmap
import os
import select
import signal
import socket
import threading
import time
import zlib
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any, Final

from kgplatform.errors import KgPlatformError, QueryRejectedError, StoreError
from kgplatform.sparql.protocol import (
    LAST_CHUNK,
    LEAST_BYTES,
    LEVEL,
    MOST_PLAIN_BYTES,
    QueryRequest,
    chunk,
    plain_query,
    response_head,
    result_fields,
    takes_gzip,
)
from kgplatform.sparql.tokens import read_only_issues
from kgplatform.store import wire

IS_POSSIBLE: Final = all((hasattr(os, "memfd_create"), hasattr(select, "POLLRDHUP"), hasattr(socket, "send_fds")))
"""True where the system has what this needs; elsewhere the owner answers everything itself."""
LEFT, CANCELLED = 81, 82
"""Exit codes of a worker: its client has left, the query was cancelled."""
WATCH_MS: Final = 200
"""So often a worker looks whether its client is still there and nobody has cancelled the query."""
_HOLD_MS: Final = 500
"""So long a worker waits for the next request on its connection, unless the owner wants it back."""
_PIECE: Final = 1 << 16


LATENCIES: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""The bounds, in seconds, by which the durations of requests are counted; whoever takes longer is counted last."""


class WorkerPhase(IntEnum):
    """What a worker does on its connection."""

    WAITING = 0
    RUNNING = 1
    ANSWERING = 2
    STARTING = 3


class Board(ctypes.Structure):
    """What a worker on a connection and its owner tell each other without a word: a page of shared memory.

    The owner writes ``version``, that of the store, after every change and before anybody is told of it, and in
    ``cancelled`` the number of the query that it wants ended. The worker writes its phase, and of the latest query its
    number, when it started, its timeout and its text, cut if it is long. It counts by `LATENCIES` how long its answers
    took, and ``seconds`` in all; those stay when a worker is replaced.
    """

    version: int
    cancelled: int
    number: int
    started: float
    timeout_seconds: float
    phase: int
    seconds: float
    counts: ctypes.Array[ctypes.c_uint64]
    data: bytes
    _fields_ = (
        *(("version", ctypes.c_int64), ("cancelled", ctypes.c_uint64), ("number", ctypes.c_uint64)),
        *(("started", ctypes.c_double), ("timeout_seconds", ctypes.c_double)),
        *(("seconds", ctypes.c_double), ("counts", ctypes.c_uint64 * (len(LATENCIES) + 1))),
        *(("phase", ctypes.c_uint8), ("data", ctypes.c_char * 16_000)),
    )

    @classmethod
    def on(cls, file: int) -> Board:
        """The board that lies in the file, which is at least as large."""
        return cls.from_buffer(mmap.mmap(file, ctypes.sizeof(cls)))

    def clear(self) -> None:
        """Forgets what an earlier worker was at: numbers of queries begin again with the process."""
        self.phase, self.cancelled = WorkerPhase.STARTING, 0

    def run(self, number: int, started: float, timeout_seconds: float, text: str) -> None:
        """Notes the query that begins."""
        self.data = text[:4000].encode("utf-8", "replace")
        self.number, self.started, self.timeout_seconds = number, started, timeout_seconds
        self.phase = WorkerPhase.RUNNING

    def answered(self) -> None:
        """Counts the answer to the latest query, which ends now."""
        took = time.monotonic() - self.started
        self.counts[bisect_left(LATENCIES, took)] += 1
        self.seconds += took

    @property
    def text(self) -> str:
        """The text of the latest query."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class AnswerTerms:
    """How queries on a connection are to be answered: as the web application of the owner would.

    ``hosts`` are the names that the server answers to (none: any), ``fields`` what every answer carries, ``process``
    the owner's part of entity tags.
    """

    base: str
    timeout_seconds: float
    hosts: tuple[str, ...]
    fields: Mapping[str, str]
    process: str

    def encode(self) -> dict[str, Any]:
        """The terms as JSON values."""
        return asdict(self)


def has_left(connection: socket.socket | int) -> bool:
    """True if the client has closed the connection, or its half of it."""
    ends = select.poll()
    ends.register(connection, select.POLLRDHUP)
    return bool(ends.poll(0))


class ClientWatch:
    """Ends this process if the client of the query that is running has left, or the query is cancelled."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._lock = threading.Lock()
        self._running = self._seen = 0
        self._connection = -1

    def begin(self, number: int, connection: int) -> None:
        """A query begins."""
        with self._lock:
            self._running, self._connection = number, connection

    def end(self) -> None:
        """It has ended."""
        with self._lock:
            self._running = 0

    def look(self) -> None:
        """Ends the process if there is a reason to; to be called again and again by another thread."""
        with self._lock:
            if not self._running:
                return
            if self._board.cancelled == self._running:
                os._exit(CANCELLED)
            if self._seen == self._running and has_left(self._connection):
                os._exit(LEFT)
            self._seen = self._running


class _LeftError(Exception):
    """The client takes no more."""


class _Response:
    """The response to one request: with its length where all of the result comes at once, else in chunks."""

    def __init__(self, connection: socket.socket, fields: dict[str, str], begin: Callable[[], object]) -> None:
        self._connection = connection
        self._fields = fields
        self._begin = begin
        self._packer: Any = None
        self._held: list[bytes] = []
        self._size = 0
        self.accepts_gzip = False
        self.is_begun = False

    def write(self, piece: bytes) -> int:
        """Takes a piece of the result, and sends what has come together once it is worth it."""
        if self._size >= _PIECE:
            self._send_chunk(self._taken())
        self._held.append(piece)
        self._size += len(piece)
        return len(piece)

    def flush(self) -> None:
        """Nothing: what is held back is sent when there is more of it, or at the end."""

    def finish(self) -> None:
        """Sends what is left, after which the response is whole."""
        rest = self._taken()
        if self.is_begun:
            self._send_chunk(rest, is_last=True)
            return
        if self.accepts_gzip and len(rest) >= LEAST_BYTES:
            rest = gzip.compress(rest, LEVEL, mtime=0)
            self._fields["Content-Encoding"] = "gzip"
        self._fields["Content-Length"] = str(len(rest))
        self._send(self._head() + rest)

    def _taken(self) -> bytes:
        held, self._held, self._size = self._held, [], 0
        return b"".join(held)

    def _send_chunk(self, piece: bytes, *, is_last: bool = False) -> None:
        head = b""
        if not self.is_begun:
            if self.accepts_gzip:
                self._fields["Content-Encoding"] = "gzip"
                self._packer = zlib.compressobj(LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
            self._fields["Transfer-Encoding"] = "chunked"
            head = self._head()
        if self._packer is not None:
            piece = self._packer.compress(piece) + (self._packer.flush() if is_last else b"")
        self._send(head + (chunk(piece) if piece else b"") + (LAST_CHUNK if is_last else b""))

    def _head(self) -> bytes:
        self.is_begun = True
        self._begin()
        return response_head(self._fields)

    def _send(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            try:
                left = left[self._connection.send(left) :]
            except BlockingIOError:
                room = select.poll()
                room.register(self._connection, select.POLLOUT)
                room.poll()
            except OSError as error:
                raise _LeftError from error


class ConnectionServer:
    """Answers on connections, one at a time; ``serialise`` is the worker's own way of writing a result."""

    def __init__(
        self,
        control: socket.socket,
        board: Board,
        serialise: Callable[[Any, wire.Request, Any], None],
        prefixes: Mapping[str, str],
    ) -> None:
        self._control = control
        self._board = board
        self._serialise = serialise
        self._prefixes = prefixes
        self._number = 0
        board.phase = WorkerPhase.WAITING
        self.watch = ClientWatch(board)

    def serve(self, connection: socket.socket, store: Any, version: int, terms: AnswerTerms) -> bytes:
        """The frame with which the connection goes back, once it has been served."""
        ready = select.poll()
        ready.register(connection, select.POLLIN)
        ready.register(self._control, select.POLLIN)
        while True:
            try:
                data = connection.recv(MOST_PLAIN_BYTES, socket.MSG_PEEK)
            except BlockingIOError:
                return wire.frame(wire.BACK)
            except OSError:
                return wire.frame(wire.CLOSED)
            if not data:
                return wire.frame(wire.CLOSED)
            if self._board.version != version:
                return wire.frame(wire.BACK)
            plain = plain_query(data, terms.hosts)
            if plain is None:
                return wire.frame(wire.UNUSUAL)
            failed = self._answer(connection, store, version, terms, *plain, size=len(data))
            if failed is not None:
                return failed
            if [file for file, _ in ready.poll(_HOLD_MS)] != [connection.fileno()]:
                return wire.frame(wire.BACK)

    def _answer(
        self,
        connection: socket.socket,
        store: Any,
        version: int,
        terms: AnswerTerms,
        asked: QueryRequest,
        fields: Mapping[str, str],
        *,
        size: int,
    ) -> bytes | None:
        """The frame with which the connection goes back where the request could not be answered."""
        started = time.monotonic()
        seconds = min(terms.timeout_seconds, asked.timeout_seconds or terms.timeout_seconds)
        self._number += 1
        self._board.run(self._number, started, seconds, asked.text)
        self.watch.begin(self._number, connection.fileno())
        signal.setitimer(signal.ITIMER_REAL, seconds)

        def begin() -> None:
            self._board.phase = WorkerPhase.ANSWERING
            connection.recv(size)  # until here it was only looked at

        told = {**result_fields(asked, version, started, terms.process), **terms.fields}
        response = _Response(connection, told, begin)
        response.accepts_gzip = takes_gzip(fields.get("accept-encoding", ""))
        try:
            if issues := read_only_issues(asked.text):
                raise QueryRejectedError(issues, query=asked.text)
            request = wire.query_request(
                asked.text,
                self._prefixes,
                media_type=asked.format.media_type,
                default_graphs=asked.default_graphs,
                named_graphs=asked.named_graphs,
                base_iri=terms.base,
            )
            self._serialise(store, request, response)
            response.finish()
        except _LeftError:
            return wire.frame(wire.CLOSED)
        except (KgPlatformError, MemoryError) as error:
            if response.is_begun:
                return wire.frame(wire.CLOSED)  # cut, and it looks cut
            known = error if isinstance(error, KgPlatformError) else StoreError(wire.OUT_OF_MEMORY)
            return wire.frame(wire.ERROR, wire.encode_error(known))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.watch.end()
            if response.is_begun:
                self._board.answered()
            self._board.phase = WorkerPhase.WAITING
        return None
