"""SPARQL and RDF from anyone, read in child processes that can be killed.

A query that runs too long, takes too much memory or ends its process costs one worker, which is replaced at once;
the process that owns the store goes on. Workers read hard-link snapshots of the store (milliseconds to make),
renewed when the store has changed, so that a query never waits for a writer. One more worker than the settings say is
kept for queries that are sure to be quick, for when the others are taken. The text is scanned for nesting,
length, updates and SERVICE before any parser sees it (`kgplatform.lexing`), and the worker has no network where
the kernel allows that. Uploads are parsed there too, and updates are tried there on a copy of the store before the
owner carries them out.

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from kgplatform import wire, worker
from kgplatform.errors import KgPlatformError, QueryRejectedError
from kgplatform.lexing import read_only_issues, scan
from kgplatform.parts import Counted, write_out
from kgplatform.quickness import is_quick
from kgplatform.replies import Reply as Reply
from kgplatform.replies import Whole as Whole
from kgplatform.rewriting import spelt_out
from kgplatform.running import RunningQueries
from kgplatform.store import Store
from kgplatform.types import Solutions, Term
from kgplatform.worker_process import Snapshot, WorkerProcess

_PREFIX = "snapshot-"
_TRIAL = "trial-"
_Write: TypeAlias = Callable[[Store, wire.Request, Any], None]
_MOST_WAITING = 16
"""So many callers wait for a worker; the next is told at once that all are busy."""
_QUICK_PATIENCE_SECONDS = 1.0
"""So long a query that is sure to be quick waits for the worker that is kept for such."""

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
        self.running = RunningQueries()
        self._workers = [WorkerProcess(memory_bytes, self._prefixes) for _ in range(count)]
        self._queue = threading.Semaphore(_MOST_WAITING)
        self.most_callers = count + _MOST_WAITING
        self._free: queue.LifoQueue[WorkerProcess] = queue.LifoQueue()
        for item in self._workers:
            self._free.put(item)
        self._quick = WorkerProcess(memory_bytes, self._prefixes)
        self._quick_free: queue.LifoQueue[WorkerProcess] = queue.LifoQueue()
        self._quick_free.put(self._quick)
        self._writing = WorkerProcess(memory_bytes, self._prefixes)
        self._writer_free: queue.LifoQueue[WorkerProcess] = queue.LifoQueue()
        self._writer_free.put(self._writing)
        if store.path is not None:
            if folder is None:
                raise ValueError("a store on disk needs a folder for its snapshots")
            folder.mkdir(parents=True, exist_ok=True)
            for left in (*folder.glob(f"{_PREFIX}*"), *folder.glob(f"{_TRIAL}*")):
                shutil.rmtree(left, ignore_errors=True)

    def solutions(
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
    ) -> Solutions:
        """The rows of a SELECT, at most ``max_rows`` (``truncated``: there were more), or the boolean of an ASK.

        ``name`` is what the query goes by in `running` (none given: one is made up), ``client`` who asked; ``at`` is
        as for `stream`.

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
        with self._reply(request, timeout_seconds, client, at, name=name) as reply:
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
    ) -> Reply | Whole:
        """The result as text in pieces, written by the store's own serialisers as it is computed.

        ``name`` is as for `solutions`; ``at`` is an earlier state of the store to ask instead, which must stay until
        this has returned.

        Errors that show before the first byte are raised here. Later ones are raised from the iterator: what came
        before is then a cut result, and the caller must not pass it off as whole. ``timeout_seconds`` counts until
        the last byte is taken. ``close`` gives the worker back.

        Raises:
            QueryError: as for `solutions`.
        """
        self._refuse(text)
        seen = scan(text)
        ordered = spelt_out(text, seen)
        request = wire.Request(
            text,
            media_type=media_type,
            default_graphs=tuple(default_graphs),
            named_graphs=tuple(named_graphs),
            base_iri=base_iri,
            ordered=ordered if ordered != text else "",
            prefixes=tuple(seen.prefixes & self._prefixes.keys()),
        )
        return self._streamed(
            request, worker.serialise, timeout_seconds=timeout_seconds, client=client, at=at, name=name
        )

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
        return self._streamed(request, worker.write_graph, timeout_seconds=timeout_seconds, client=client, at=at)

    def _streamed(
        self,
        request: wire.Request,
        write: _Write,
        *,
        timeout_seconds: float,
        client: str,
        at: Snapshot | None,
        name: str = "",
    ) -> Reply | Whole:
        if self._folder is None:
            output = io.BytesIO()
            write(self._store, request, output)
            return Whole(output.getvalue(), self._store.version)
        reply = self._reply(request, timeout_seconds, client, at, name=name)
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
        if "WHERE" in scan(text).keywords:  # the others do not depend on what is there
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
        with suppress(queue.Empty):
            return self._free.get_nowait()
        if is_quick(text):
            with suppress(queue.Empty):
                return self._quick_free.get(timeout=min(timeout_seconds, _QUICK_PATIENCE_SECONDS))
        if not self._queue.acquire(blocking=False):
            raise busy
        try:
            return self._free.get(timeout=max(0.0, timeout_seconds))
        except queue.Empty as error:
            raise busy from error
        finally:
            self._queue.release()

    # snapshots

    def _assign(self, taken: WorkerProcess, at: Snapshot | None = None) -> None:
        """Points the worker at the newest snapshot, or an earlier one; the one it had goes when nobody has it."""
        with self._lock:
            newest = self._renewed() if at is None else at
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
        if not healthy or self._closed:
            taken.kill()
        with self._lock:
            if not healthy and not self._closed and taken.snapshot is not None and taken.snapshot.path.is_dir():
                taken.start(taken.snapshot)
        own = {self._quick: self._quick_free, self._writing: self._writer_free}
        own.get(taken, self._free).put(taken)

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
        for free in (self._quick_free, self._writer_free):
            with suppress(queue.Empty):
                free.get_nowait().kill()
        for item in (*self._workers, self._quick, self._writing):
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
