"""Read-only SPARQL from anyone, in child processes that can be killed.

A query that runs too long, takes too much memory or ends its process costs one worker, which is replaced at once;
the process that owns the store goes on. Workers read hard-link snapshots of the store (milliseconds to make),
renewed when the store has changed, so that a query never waits for a writer. The text is scanned for nesting,
length, updates and SERVICE before any parser sees it (`kgplatform.lexing`), and the worker has no network where
the kernel allows that.

A store in memory has no snapshots: its queries run in this process, scanned too but without deadline and cap.
"""

from __future__ import annotations

import io
import json
import os
import queue
import shutil
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from kgplatform import wire, worker
from kgplatform.errors import KgPlatformError, QueryRejectedError, QueryTimeoutError, StoreError
from kgplatform.lexing import read_only_issues
from kgplatform.store import Store
from kgplatform.types import Solutions, Term
from kgplatform.worker_process import EndedError, Snapshot, WorkerProcess

_PREFIX = "snapshot-"
_LOCK_PATIENCE_SECONDS = 0.25
"""How long a query waits for a writer before it reads the state before that write."""


class WorkersBusyError(QueryRejectedError):
    """All workers were taken until the deadline passed; the same query may succeed a moment later."""


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
        self._workers = [WorkerProcess(memory_bytes, self._prefixes) for _ in range(count)]
        self._free: queue.LifoQueue[WorkerProcess] = queue.LifoQueue()
        for item in self._workers:
            self._free.put(item)
        if store.path is not None:
            if folder is None:
                raise ValueError("a store on disk needs a folder for its snapshots")
            folder.mkdir(parents=True, exist_ok=True)
            for left in folder.glob(f"{_PREFIX}*"):
                shutil.rmtree(left, ignore_errors=True)

    def solutions(
        self,
        text: str,
        *,
        timeout_seconds: float,
        max_rows: int | None = None,
        default_graphs: Iterable[str] = (),
        named_graphs: Iterable[str] = (),
    ) -> Solutions:
        """The rows of a SELECT, at most ``max_rows`` (``truncated``: there were more), or the boolean of an ASK.

        Raises:
            QueryRejectedError: not a query for rows, unsafe, or it needed more than the worker may have.
            QuerySyntaxError: not SPARQL, with line and column.
            QueryTimeoutError: it took longer than ``timeout_seconds`` and was stopped.
            WorkersBusyError: no worker became free in that time.
        """
        request = wire.Request(
            text, max_rows=max_rows, default_graphs=tuple(default_graphs), named_graphs=tuple(named_graphs)
        )
        self._refuse(text)
        if self._folder is None:
            return worker.solutions(self._store, request)
        with self._reply(request, timeout_seconds) as reply:
            head = json.loads(reply.expect(wire.HEADER))
            rows: list[tuple[Term | None, ...]] = []
            for payload in reply:
                rows.extend(wire.decode_rows(payload))
        return Solutions(tuple(head["variables"]), tuple(rows), head["boolean"], head["truncated"])

    def stream(
        self,
        text: str,
        *,
        media_type: str,
        timeout_seconds: float,
        default_graphs: Iterable[str] = (),
        named_graphs: Iterable[str] = (),
    ) -> Reply | _Whole:
        """The result as text in pieces, written by the store's own serialisers as it is computed.

        Errors that show before the first byte are raised here. Later ones are raised from the iterator: what came
        before is then a cut result, and the caller must not pass it off as whole. ``timeout_seconds`` counts until
        the last byte is taken. ``close`` gives the worker back.

        Raises:
            QueryError: as for `solutions`.
        """
        request = wire.Request(
            text,
            media_type=media_type,
            default_graphs=tuple(default_graphs),
            named_graphs=tuple(named_graphs),
        )
        self._refuse(text)
        if self._folder is None:
            output = io.BytesIO()
            worker.serialise(self._store, request, output)
            return _Whole(output.getvalue())
        reply = self._reply(request, timeout_seconds)
        reply.peek()
        return reply

    def _refuse(self, text: str) -> None:
        issues = read_only_issues(text)
        if issues:
            raise QueryRejectedError(issues, query=text)
        if self._closed:
            raise QueryRejectedError(("the workers are closed",), query=text)

    def _reply(self, request: wire.Request, timeout_seconds: float) -> Reply:
        deadline = time.monotonic() + timeout_seconds
        try:
            taken = self._free.get(timeout=max(0.0, timeout_seconds))
        except queue.Empty as error:
            raise WorkersBusyError(
                (f"all {len(self._workers)} query workers are busy; try again shortly",), query=request.text
            ) from error
        reply = Reply(self, taken, request, deadline=deadline, timeout_seconds=timeout_seconds)
        try:
            self._assign(taken)
            assert taken.snapshot is not None
            reply.send(taken.snapshot)
        except KgPlatformError:
            reply.close()
            raise
        return reply

    # snapshots

    def _assign(self, taken: WorkerProcess) -> None:
        """Points the worker at the newest snapshot; the one it had goes when nobody has it."""
        with self._lock:
            newest = self._renewed()
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

    def _drop_unused(self, snapshot: Snapshot) -> None:
        if snapshot.users == 0 and snapshot is not self._current:
            shutil.rmtree(snapshot.path, ignore_errors=True)

    def give_back(self, taken: WorkerProcess, *, healthy: bool) -> None:
        """Takes a worker back; one that is not healthy is killed and replaced first."""
        if not healthy or self._closed:
            taken.kill()
        with self._lock:
            if not healthy and not self._closed and taken.snapshot is not None and taken.snapshot.path.is_dir():
                taken.start(taken.snapshot)
        self._free.put(taken)

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
                self._free.get_nowait().kill()
        for item in self._workers:
            item.interrupt()  # those in use are cleared away by the threads that use them
        if self._folder is not None:
            for left in self._folder.glob(f"{_PREFIX}*"):
                shutil.rmtree(left, ignore_errors=True)
            with suppress(OSError):
                self._folder.rmdir()

    def __enter__(self) -> QueryWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Whole:
    """A result that is there at once, in the shape of a `Reply`."""

    def __init__(self, data: bytes) -> None:
        self._data = data

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

    def send(self, snapshot: Snapshot) -> None:
        """Hands the request to the worker, to a new one where the old one is gone."""
        assert self._worker is not None
        for last in (False, True):
            try:
                self._worker.send(self._request, snapshot)
            except EndedError as error:
                if last:
                    raise StoreError(f"no query worker can be started: {error}") from error
                self._worker.kill()
            else:
                return

    def _next(self) -> tuple[bytes, bytes]:
        assert self._worker is not None
        text = self._request.text
        try:
            kind, size = wire.HEAD.unpack(self._worker.read(wire.HEAD.size, self._deadline))
            return kind, self._worker.read(size, self._deadline)
        except TimeoutError as error:
            self._release(healthy=False)
            raise QueryTimeoutError(query=text, seconds=self._timeout_seconds) from error
        except (EndedError, ValueError) as error:
            self._release(healthy=False)
            if str(error) == worker.OUT_OF_MEMORY:
                raise self._owner.out_of_memory(text) from error
            raise QueryRejectedError((f"the query ended the worker that ran it ({error})",), query=text) from error

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
            full = isinstance(error, StoreError) and str(error) == worker.OUT_OF_MEMORY
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
        if taken is not None:
            self._owner.give_back(taken, healthy=healthy)

    def close(self) -> None:
        """Gives the worker back; one that is not finished is killed, which ends the query."""
        self._release(healthy=False)

    def __enter__(self) -> Reply:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
