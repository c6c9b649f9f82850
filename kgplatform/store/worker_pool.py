"""SPARQL and RDF from anyone, read in child processes that can be killed.

A query that runs too long, takes too much memory or ends its process costs one worker, which is replaced at once;
the process that owns the store goes on. Workers read hard-link snapshots of the store (milliseconds to make),
renewed when the store has changed, so that a query never waits for a writer. One more worker than the settings say is
kept for queries that are sure to be quick, for when the others are taken. The text is scanned for nesting,
length, updates and SERVICE before any parser sees it (`kgplatform.sparql.tokens`), and the worker has no network where
the kernel allows that. Uploads are parsed there too, and updates are tried there on a copy of the store before the
owner carries them out.

A store in memory has no snapshots: its queries run in this process, scanned too but without deadline and cap.
"""

from __future__ import annotations

import io
import json
import os
import queue
import secrets
import shutil
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from kgplatform.errors import (
    KgPlatformError,
    QueryCancelledError,
    QueryRejectedError,
    QueryTimeoutError,
    StoreError,
)
from kgplatform.sparql.tokens import SparqlToken, prologue_length, read_only_issues, scan, tokens
from kgplatform.store import handover, wire, worker
from kgplatform.store.child_process import EndedError, Snapshot, WorkerProcess
from kgplatform.store.oxigraph import Store
from kgplatform.store.wire import Counted, write_out
from kgplatform.types import Solutions, Term

_LONGEST: Final = 2000
_MOST_ROWS: Final = 1000
_TERMS: Final = frozenset({"iri", "name", "blank", "variable", "string"})


def is_quick(text: str) -> bool:
    """Whether the query is sure to be quick, whatever the data, so that it need not wait behind those that may not be.

    Sure is: at most one triple pattern, without paths, filters or repeated variables, of which ASK wants one match, or
    SELECT those of one subject or a small LIMIT. The store's indexes answer it in the time of a look-up.
    """
    if len(text) > _LONGEST or scan(text).form not in ("ASK", "SELECT"):
        return False
    listed = list(tokens(text))
    listed = listed[prologue_length(listed) :]
    opened = next((place for place, token in enumerate(listed) if token.text == "{"), None)
    closed = next((place for place, token in enumerate(listed) if token.text == "}"), None)
    if opened is None or closed is None:
        return False
    head, pattern, rest = listed[:opened], listed[opened + 1 : closed], listed[closed + 1 :]
    words = [token.text.upper() for token in head]
    if any(token.kind != "variable" and token.text.upper() not in ("ASK", "SELECT", "*", "WHERE") for token in head):
        return False
    if pattern and pattern[-1].text == ".":
        pattern = pattern[:-1]
    if not _is_simple(pattern):
        return False
    if "ASK" in words:
        return not rest
    limit = _limit(rest)
    is_limited = limit is not None and limit <= _MOST_ROWS
    return is_limited or (not rest and (not pattern or pattern[0].kind != "variable"))


def _is_simple(pattern: Sequence[SparqlToken]) -> bool:
    """Whether the tokens are nothing, or three terms that differ where they are variables."""
    if not pattern:
        return True
    if len(pattern) != 3 or any(token.kind not in _TERMS and token.text != "a" for token in pattern):
        return False
    variables = [token.text[1:] for token in pattern if token.kind == "variable"]
    return len(set(variables)) == len(variables)


def _limit(rest: Sequence[SparqlToken]) -> int | None:
    """The number of a LIMIT that is all there is; None: there is more, or none."""
    if len(rest) != 2 or rest[0].text.upper() != "LIMIT" or not rest[1].text.isdigit():
        return None
    return int(rest[1].text) if len(rest[1].text) < 9 else None


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

    def __init__(self, elsewhere: Callable[[], Iterable[tuple[Running, Callable[[], object]]]] = tuple) -> None:
        """``elsewhere`` gives those that were not entered here, each with what ends it and nothing else."""
        self._lock = threading.Lock()
        self._elsewhere = elsewhere
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
            found = [running for running, _ in (*self._running.values(), *self._elsewhere())]
        return sorted(found, key=lambda item: item.started)

    def find(self, name: str) -> Running | None:
        """The running query of that name."""
        return next((running for running in self.listed() if running.name == name), None)

    def cancel(self, name: str) -> bool:
        """Ends the query; false where none of that name is running."""
        with self._lock:  # held while interrupting: the worker must not have gone on to another query
            found = self._running.get(name)
            if found is None:
                ends = [end for running, end in self._elsewhere() if running.name == name]
                return bool(ends) and ends[0]() is None
            self._cancelled.add(name)
            found[1]()
        return True

    def was_cancelled(self, name: str) -> bool:
        """Whether a query that has not left yet was ended by `cancel`."""
        with self._lock:
            return name in self._cancelled


def _ended_worker(text: str, cause: str) -> QueryRejectedError:
    return QueryRejectedError((f"the query ended the worker that ran it ({cause})",), query=text)


class Whole:
    """A result that is there at once, in the shape of a `Reply`."""

    def __init__(self, data: bytes, version: int) -> None:
        self._data = data
        self.version = version

    def __iter__(self) -> Iterator[bytes]:
        yield self._data

    def close(self) -> None:
        """Nothing to give back."""


class Reply:
    """What a worker sends for one request; an iterator over its pieces that ends only when the result is whole."""

    def __init__(
        self,
        owner: QueryWorkers,
        taken: WorkerProcess,
        request: wire.Request,
        *,
        deadline: float,
        timeout_seconds: float,
    ) -> None:
        self._owner = owner
        self._worker: WorkerProcess | None = taken
        self._request = request
        self._deadline = deadline
        self._timeout_seconds = timeout_seconds
        self._peeked: bytes | None = None
        self._name = ""
        self.has_left: Callable[[], bool] | None = None
        self.version = -1

    def begin(self, snapshot: Snapshot, client: str, name: str = "") -> None:
        """Hands the request to the worker, to a new one where the old one is gone, and notes that it is running."""
        assert self._worker is not None
        for last in (False, True):
            try:
                self._worker.send(self._request, snapshot)
            except EndedError as error:
                if last:
                    raise StoreError(f"no query worker can be started: {error}") from error
                self._worker.kill()
            else:
                break
        self.version = snapshot.version
        self._name = self._owner.running.enter(
            self._request.text,
            task=self._request.task.value,
            client=client,
            timeout_seconds=self._timeout_seconds,
            interrupt=self._worker.interrupt,
            name=name,
        )

    def _next(self) -> tuple[bytes, bytes]:
        assert self._worker is not None
        text = self._request.text
        try:
            self._await()
            kind, size = wire.HEAD.unpack(self._worker.read(wire.HEAD.size, self._deadline))
            return kind, self._worker.read(size, self._deadline)
        except TimeoutError as error:
            self._release(healthy=False)
            raise QueryTimeoutError(query=text, seconds=self._timeout_seconds) from error
        except (EndedError, ValueError) as error:
            cancelled = self._owner.running.was_cancelled(self._name)
            self._release(healthy=False)
            if cancelled:
                raise QueryCancelledError(query=text) from error
            if str(error) == wire.OUT_OF_MEMORY:
                raise self._owner.out_of_memory(text) from error
            raise _ended_worker(text, str(error)) from error

    def _await(self) -> None:
        """Waits until something has come, while whoever asked is there.

        Raises:
            QueryCancelledError: they have left.
        """
        assert self._worker is not None
        while self.has_left is not None and not self._worker.has_come(min(self._deadline, time.monotonic() + 0.25)):
            if time.monotonic() >= self._deadline:
                return
            if self.has_left():
                self._release(healthy=False)
                raise QueryCancelledError(query=self._request.text)

    def _piece(self) -> bytes | None:
        """The payload of the next frame; None at the end."""
        if self._worker is None:
            return None
        kind, payload = self._next()
        if kind == wire.END:
            self._release(healthy=True)
            return None
        if kind == wire.ERROR:
            error = wire.decode_error(payload, self._request.text)
            full = isinstance(error, StoreError) and str(error) == wire.OUT_OF_MEMORY
            self._release(healthy=not full)
            raise self._owner.out_of_memory(self._request.text) if full else error
        return payload

    def expect(self, kind: bytes) -> bytes:
        """The payload of the first frame, which must be of that kind unless it is an error."""
        payload = self._piece()
        if payload is None:
            raise StoreError(f"the query worker left out its {kind.decode()} frame")
        return payload

    def peek(self) -> None:
        """Waits for the first piece, so that an error shows now."""
        self._peeked = self._piece()

    def __iter__(self) -> Iterator[bytes]:
        if self._peeked is not None:
            first, self._peeked = self._peeked, None
            yield first
        while (piece := self._piece()) is not None:
            yield piece

    def _release(self, *, healthy: bool) -> None:
        taken, self._worker = self._worker, None
        self._owner.running.leave(self._name)
        if taken is not None:
            self._owner.give_back(taken, healthy=healthy)

    def close(self) -> None:
        """Gives the worker back; one that is not finished is killed, which ends the query."""
        self._release(healthy=False)

    def __enter__(self) -> Reply:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_PREFIX = "snapshot-"
_TRIAL = "trial-"
_Write: TypeAlias = Callable[[Store, wire.Request, Any], None]
_MOST_WAITING = 16
"""So many callers wait for a worker; the next is told at once that all are busy."""
_NICENESS: Final = 5
"""Queries that may take long give way to the process that talks to clients and to the queries that are quick."""
_QUICK_PATIENCE_SECONDS = 1.0
"""So long a query that is sure to be quick waits for the worker that is kept for such."""

_NOWHERE = "urn:kgplatform:nothing"
_PARSE_SECONDS = 3.0
_LOCK_PATIENCE_SECONDS = 0.25
"""How long a query waits for a writer before it reads the state before that write."""


class WorkersBusyError(QueryRejectedError):
    """All workers were taken until the deadline passed; the same query may succeed a moment later."""


def _pool(*workers: WorkerProcess) -> queue.LifoQueue[WorkerProcess]:
    """A queue with the workers in it."""
    found: queue.LifoQueue[WorkerProcess] = queue.LifoQueue()
    for item in workers:
        found.put(item)
    return found


class QueryWorkers:
    """A fixed number of query workers on one store; safe for several threads."""

    def __init__(
        self,
        store: Store,
        *,
        folder: Path | None = None,
        count: int = 2,
        memory_bytes: int = 2 << 30,
        prefixes: Mapping[str, str] | None = None,
    ) -> None:
        """Workers for ``store`` with snapshots in ``folder`` (which a store in memory does not need).

        What a crash left in the folder is removed. No process starts before the first query.
        """
        self._store = store
        self._prefixes = dict(store.prefixes if prefixes is None else prefixes)
        self._folder = folder if store.path is not None else None
        self._memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._current: Snapshot | None = None
        self._closed = False
        self._made = 0
        self.count = count
        self.replaced = 0
        self.running = RunningQueries(self._on_connections)
        self._workers = [
            WorkerProcess(memory_bytes, self._prefixes, takes_connections=True, niceness=_NICENESS)
            for _ in range(count)
        ]
        store.after_write = self._tell
        self._tell(store.version)
        self._queue = threading.Semaphore(_MOST_WAITING)
        self._waiting: deque[str] = deque()
        self.most_callers = count + _MOST_WAITING
        self._quick, self._writing = (WorkerProcess(memory_bytes, self._prefixes) for _ in range(2))
        self._free, self._quick_free, self._writer_free = (
            _pool(*group) for group in (self._workers, [self._quick], [self._writing])
        )
        if store.path is not None:
            if folder is None:
                raise ValueError("a store on disk needs a folder for its snapshots")
            folder.mkdir(parents=True, exist_ok=True)
            for left in (*folder.glob(f"{_PREFIX}*"), *folder.glob(f"{_TRIAL}*")):
                shutil.rmtree(left, ignore_errors=True)

    def solutions(  # noqa: PLR0913
        self,
        text: str,
        *,
        timeout_seconds: float,
        max_rows: int | None = None,
        default_graphs: Iterable[str] = (),
        named_graphs: Iterable[str] = (),
        client: str = "",
        name: str = "",
        at: Snapshot | None = None,
        has_left: Callable[[], bool] | None = None,
    ) -> Solutions:
        """The rows of a SELECT, at most ``max_rows`` (``truncated``: there were more), or the boolean of an ASK.

        ``name`` is what the query goes by in `running` (none given: one is made up), ``client`` who asked; ``at`` and
        ``has_left`` are as for `stream`.

        Raises:
            QueryRejectedError: not a query for rows, unsafe, or it needed more than the worker may have.
            QuerySyntaxError: not SPARQL, with line and column.
            QueryTimeoutError: it took longer than ``timeout_seconds`` and was stopped.
            WorkersBusyError: no worker became free in that time.
        """
        graphs: Any = {"default_graphs": tuple(default_graphs), "named_graphs": tuple(named_graphs)}
        request = wire.Request(text, max_rows=max_rows, **graphs)
        self._refuse(text)
        if self._folder is None:
            return self._store.query(text, max_rows=max_rows, **graphs)
        with self._reply(request, timeout_seconds, client, at, name=name) as reply:
            reply.has_left = has_left
            head = json.loads(reply.expect(wire.HEADER))
            rows: list[tuple[Term | None, ...]] = []
            for payload in reply:
                rows.extend(wire.decode_rows(payload))
        return Solutions(tuple(head["variables"]), tuple(rows), head["boolean"], head["truncated"])

    def stream(  # noqa: PLR0913
        self,
        text: str,
        *,
        media_type: str,
        timeout_seconds: float,
        default_graphs: Iterable[str] = (),
        named_graphs: Iterable[str] = (),
        base_iri: str | None = None,
        client: str = "",
        at: Snapshot | None = None,
        name: str = "",
        has_left: Callable[[], bool] | None = None,
    ) -> Reply | Whole:
        """The result as text in pieces, written by the store's own serialisers as it is computed.

        ``name`` is as for `solutions`; ``at`` is an earlier state of the store to ask instead, which must stay until
        this has returned; ``has_left`` says whether whoever asked is gone, which ends the query.

        Errors that show before the first byte are raised here. Later ones are raised from the iterator: what came
        before is then a cut result, and the caller must not pass it off as whole. ``timeout_seconds`` counts until
        the last byte is taken. ``close`` gives the worker back.

        Raises:
            QueryError: as for `solutions`.
        """
        self._refuse(text)
        request = wire.query_request(
            text,
            self._prefixes,
            media_type=media_type,
            default_graphs=default_graphs,
            named_graphs=named_graphs,
            base_iri=base_iri,
        )
        return self._streamed(request, worker.serialise, timeout_seconds, client, at, name, has_left)

    def graph(
        self,
        iri: str,
        *,
        media_type: str,
        timeout_seconds: float,
        skolem: str = "",
        client: str = "",
        at: Snapshot | None = None,
    ) -> Reply | Whole:
        """The triples of a graph (empty: the default graph) as text in pieces, as `stream` gives a result.

        IRIs that begin with ``skolem`` are written as blank nodes.

        Raises:
            StoreError: the format has no place for what the graph holds.
            QueryError: as for `stream`.
        """
        request = wire.Request(iri, media_type=media_type, task=wire.Task.GRAPH, skolem=skolem)
        return self._streamed(request, worker.write_graph, timeout_seconds, client, at)

    def _streamed(
        self,
        request: wire.Request,
        write: _Write,
        timeout_seconds: float,
        client: str,
        at: Snapshot | None,
        name: str = "",
        has_left: Callable[[], bool] | None = None,
    ) -> Reply | Whole:
        if self._folder is None:
            output = io.BytesIO()
            write(self._store, request, output)
            return Whole(output.getvalue(), self._store.version)
        reply = self._reply(request, timeout_seconds, client, at, name=name)
        reply.has_left = has_left
        reply.peek()
        return reply

    def part(
        self, request: wire.Request, *, timeout_seconds: float, client: str = "", at: Snapshot | None = None
    ) -> tuple[Counted, Reply | Whole]:
        """How much a part of the store is, and the part as text in pieces, in order; one at a time is written out.

        Raises:
            WorkersBusyError: another one is.
            StoreError: the format has no place for it.
            QueryError: as for `stream`.
        """
        if self._folder is None:
            output, told = io.BytesIO(), list[Counted]()
            write_out(self._store, request, output, told.append)
            return told[0], Whole(output.getvalue(), self._store.version)
        reply = self._reply(request, timeout_seconds, client, at)
        return Counted(*json.loads(reply.expect(wire.HEADER))), reply

    def parse(
        self,
        path: Path,
        *,
        media_type: str,
        base_iri: str,
        timeout_seconds: float,
        source: str = "the body",
        client: str = "",
    ) -> bytes:
        """What the RDF file holds, as N-Quads with numbered blank nodes.

        Raises:
            StoreError: it does not parse, with line and column; ``source`` is what the message calls it.
            QueryError: reading it took too long, too much memory, or ended the process.
        """
        request = wire.Request(
            source, media_type=media_type, base_iri=base_iri, task=wire.Task.PARSE, path=str(path.resolve())
        )
        if self._folder is None:
            return b"".join(worker.read_file(request))
        with self._reply(request, timeout_seconds, client) as reply:
            return b"".join(reply)

    def try_update(self, text: str, *, base_iri: str | None = None, timeout_seconds: float, client: str = "") -> None:
        """Carries an update out on a copy of the store that is thrown away: one that ends here will end there too.

        Raises:
            QueryError: it is none, it would not end in time, or it ended the process.
        """
        request = wire.Request(text, base_iri=base_iri, task=wire.Task.TRY)
        if self._folder is None:
            worker.try_update(request, self._prefixes)
            return
        trial: Path | None = None
        if scan(text).keywords & {"WHERE", "DROP", "CLEAR", "COPY", "MOVE", "ADD"}:  # which look at what is there
            with self._lock:
                self._made += 1
                trial = self._folder.resolve() / f"{_TRIAL}{os.getpid()}-{self._made}"
            self._store.snapshot(trial)
            request = replace(request, path=str(trial))
        try:
            with self._reply(request, timeout_seconds, client) as reply:
                for _ in reply:
                    pass
        finally:
            if trial is not None:
                shutil.rmtree(trial, ignore_errors=True)

    def check(self, text: str) -> None:
        """Has a worker parse the query, over a graph that is not there; nothing comes back.

        Raises:
            QueryError: what is wrong with it, as for `solutions`; a query that takes long over nothing was parsed.
        """
        nowhere: Any = {"timeout_seconds": _PARSE_SECONDS, "default_graphs": (_NOWHERE,)}
        with suppress(QueryTimeoutError):
            if scan(text).form in ("CONSTRUCT", "DESCRIBE"):
                self.stream(text, media_type="application/n-triples", **nowhere).close()
            else:
                self.solutions(text, max_rows=1, **nowhere)

    def _refuse(self, text: str) -> None:
        issues = read_only_issues(text)
        if issues:
            raise QueryRejectedError(issues, query=text)
        if self._closed:
            raise QueryRejectedError(("the workers are closed",), query=text)

    def _reply(
        self,
        request: wire.Request,
        timeout_seconds: float,
        client: str = "",
        at: Snapshot | None = None,
        *,
        name: str = "",
    ) -> Reply:
        deadline = time.monotonic() + timeout_seconds
        taken = self._writer() if request.task is wire.Task.PART else self._taken(request.text, timeout_seconds)
        reply = Reply(self, taken, request, deadline=deadline, timeout_seconds=timeout_seconds)
        try:
            self._assign(taken, at)
            assert taken.snapshot is not None
            reply.begin(taken.snapshot, client, name)
        except KgPlatformError:
            reply.close()
            raise
        return reply

    def _writer(self) -> WorkerProcess:
        """The worker for what takes long and need not be many at once."""
        try:
            return self._writer_free.get_nowait()
        except queue.Empty as error:
            raise WorkersBusyError(("another part is being written out; try again shortly",), query="") from error

    def _taken(self, text: str, timeout_seconds: float) -> WorkerProcess:
        """A free worker, waited for by a few callers only, so that whoever has other things to do can go on."""
        busy = WorkersBusyError((f"all {len(self._workers)} query workers are busy; try again shortly",), query=text)
        if not self._waiting:  # nobody is overtaken; what is quick has a worker of its own
            with suppress(queue.Empty):
                return self._free.get_nowait()
        for item in self._workers:
            if item.client:
                item.want_back()
        if is_quick(text):
            with suppress(queue.Empty):
                return self._quick_free.get(timeout=min(timeout_seconds, _QUICK_PATIENCE_SECONDS))
        if not self._queue.acquire(blocking=False):
            raise busy
        self._waiting.append(text)
        try:
            return self._free.get(timeout=max(0.0, timeout_seconds))
        except queue.Empty as error:
            raise busy from error
        finally:
            self._waiting.pop()
            self._queue.release()

    # connections

    def hand_over(self, connection: socket.socket, client: str, terms: str) -> WorkerProcess | None:
        """The worker that answers on the connection from now on, by the `handover.AnswerTerms` given as JSON.

        None: none is free and ready, others wait for one, or there is no snapshot of the store as it is; nobody is
        waited for. ``output`` of the worker says when the connection is back: then `give_back` is due, or `fallen`
        where the process ended.
        """
        if self._folder is None or self._closed or self._waiting or not self._lock.acquire(blocking=False):
            return None
        try:
            newest = self._current
            if newest is None or newest.version != self._store.version:
                return None
            try:
                taken = self._free.get_nowait()
            except queue.Empty:
                return None
            if taken.board is not None and taken.is_running and taken.board.phase == handover.WorkerPhase.WAITING:
                self._point(taken, newest)
                if taken.hand_over(connection, client, terms):
                    return taken
            self._free.put(taken)
            return None
        finally:
            self._lock.release()

    def fallen(self, taken: WorkerProcess) -> Callable[[str], KgPlatformError] | None:
        """What became of the request that a worker was at when its process ended; then the worker is replaced.

        Given the text of the query it makes the error to answer with. None: it was at none.

        Raises:
            LookupError: the client has left, or a part of the answer has been sent.
        """
        board = taken.board
        phase, seconds = (board.phase, board.timeout_seconds) if board else (handover.WorkerPhase.WAITING, 0.0)
        code, cause = taken.ended()
        taken.client = ""
        if board is not None and phase == handover.WorkerPhase.ANSWERING:
            board.answered()
        self.give_back(taken, healthy=False)
        if phase == handover.WorkerPhase.ANSWERING or code == handover.LEFT:
            raise LookupError("nobody is to be answered")
        if phase == handover.WorkerPhase.WAITING:
            return None
        if code == -signal.SIGALRM:
            return lambda text: QueryTimeoutError(query=text, seconds=seconds)
        if code == handover.CANCELLED:
            return lambda text: QueryCancelledError(query=text)
        if cause == wire.OUT_OF_MEMORY:
            return self.out_of_memory
        return lambda text: _ended_worker(text, cause)

    def decoded(self, payload: bytes, text: str) -> KgPlatformError:
        """The error that a worker gave a connection back with, about the query."""
        error = wire.decode_error(payload, text)
        return self.out_of_memory(text) if str(error) == wire.OUT_OF_MEMORY else error

    def _on_connections(self) -> Iterator[tuple[Running, Callable[[], object]]]:
        """The queries that workers run on connections, each with what ends it."""
        for place, item in enumerate(self._workers):
            board = item.board
            if not item.client or board is None or board.phase == handover.WorkerPhase.WAITING:
                continue
            number, started, seconds, text = board.number, board.started, board.timeout_seconds, board.text
            since = datetime.fromtimestamp(time.time() - time.monotonic() + started, UTC)
            name = f"w{place}-{number}"
            running = Running(name, text, wire.Task.QUERY.value, item.client, since, started, seconds)
            yield running, partial(setattr, board, "cancelled", number)

    def _tell(self, version: int) -> None:
        """Has workers on connections ask for a newer snapshot before they answer another request."""
        for item in self._workers:
            if item.board is not None:
                item.board.version = version

    # snapshots

    def _assign(self, taken: WorkerProcess, at: Snapshot | None = None) -> None:
        """Points the worker at the newest snapshot, or an earlier one; the one it had goes when nobody has it."""
        with self._lock:
            self._point(taken, self._renewed() if at is None else at)

    def _point(self, taken: WorkerProcess, newest: Snapshot) -> None:
        if taken.snapshot is newest:
            return
        old, taken.snapshot = taken.snapshot, newest
        newest.users += 1
        if old is not None:
            old.users -= 1
            self._drop_unused(old)

    def _renewed(self) -> Snapshot:
        """A snapshot of the store as it is, or the last one while somebody is writing."""
        current = self._current
        if current is not None and current.version == self._store.version:
            return current
        lock = self._store.write_lock()
        if not lock.acquire(timeout=-1 if current is None else _LOCK_PATIENCE_SECONDS):
            assert current is not None
            return current
        try:
            assert self._folder is not None
            self._made += 1
            path = self._folder / f"{_PREFIX}{os.getpid()}-{self._made}"
            self._store.snapshot(path)
            self._current = Snapshot(path, self._store.version)
        finally:
            lock.release()
        if current is not None:
            self._drop_unused(current)
        return self._current

    @contextmanager
    def held(self) -> Iterator[tuple[Snapshot | None, int]]:
        """The store as it is and the number of that state, kept for several queries (None: it lies in memory)."""
        if self._folder is None:
            yield None, self._store.version
            return
        with self._lock:
            snapshot = self._renewed()
            snapshot.users += 1
        try:
            yield snapshot, snapshot.version
        finally:
            with self._lock:
                snapshot.users -= 1
                self._drop_unused(snapshot)

    def refresh(self) -> None:
        """Makes a snapshot of the store as it is, so that whoever wrote will read it, whoever writes by then.

        To be called by who holds the store's write lock.
        """
        # a query that waits for the write lock has this one: then it makes the snapshot itself, once it gets it
        if self._folder is None or not self._lock.acquire(timeout=2 * _LOCK_PATIENCE_SECONDS):
            return
        try:
            if not self._closed:
                self._renewed()
        finally:
            self._lock.release()

    def _drop_unused(self, snapshot: Snapshot) -> None:
        if snapshot.users == 0 and snapshot is not self._current and not snapshot.is_kept:
            shutil.rmtree(snapshot.path, ignore_errors=True)

    def give_back(self, taken: WorkerProcess, *, healthy: bool) -> None:
        """Takes a worker back; one that is not healthy is killed and replaced first."""
        taken.client = ""
        if self._closed:
            taken.release()
        elif not healthy:
            taken.kill()
        with self._lock:
            self.replaced += not healthy
            if not healthy and not self._closed and taken.snapshot is not None and taken.snapshot.path.is_dir():
                taken.start(taken.snapshot)
        own = {self._quick: self._quick_free, self._writing: self._writer_free}
        own.get(taken, self._free).put(taken)

    @property
    def is_closed(self) -> bool:
        """True once `close` was called."""
        return self._closed

    @property
    def waiting(self) -> int:
        """How many callers wait for a worker."""
        return len(self._waiting)

    def answered(self) -> tuple[list[int], float]:
        """How many queries workers answered on connections, by how long that took (`LATENCIES`); the seconds in all."""
        boards = [item.board for item in self._workers if item.board is not None]
        counts = [sum(board.counts[place] for board in boards) for place in range(len(handover.LATENCIES) + 1)]
        return counts, sum((board.seconds for board in boards), 0.0)

    def out_of_memory(self, query: str) -> QueryRejectedError:
        """The error for a query that met the memory cap."""
        return QueryRejectedError(
            (f"the query used more than {round(self._memory_bytes / 1e6)} MB; make it more selective or add a LIMIT",),
            query=query,
        )

    def close(self) -> None:
        """Ends the workers, whatever they do, and removes the snapshots."""
        with self._lock:
            self._closed = True
            self._current = None
        with suppress(queue.Empty):
            while True:
                self._free.get_nowait().release()
        for free in (self._quick_free, self._writer_free):
            with suppress(queue.Empty):
                free.get_nowait().kill()
        for item in (*self._workers, self._quick, self._writing):
            if item.client:
                item.release()
            else:
                item.interrupt()  # those in use are cleared away by the threads that use them
        if self._folder is not None:
            for left in (*self._folder.glob(f"{_PREFIX}*"), *self._folder.glob(f"{_TRIAL}*")):
                shutil.rmtree(left, ignore_errors=True)
            with suppress(OSError):
                self._folder.rmdir()

    def __enter__(self) -> QueryWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
