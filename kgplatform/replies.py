"""What a worker sends for one request, as its owner reads it: whole, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from kgplatform import wire, worker
from kgplatform.errors import QueryRejectedError, QueryTimeoutError, StoreError
from kgplatform.running import QueryCancelledError, RunningQueries
from kgplatform.worker_process import EndedError, Snapshot, WorkerProcess


class Owner(Protocol):
    """Who lends workers out."""

    @property
    def running(self) -> RunningQueries:
        """The queries that are running."""
        ...

    def give_back(self, taken: WorkerProcess, *, healthy: bool) -> None:
        """Takes a worker back."""
        ...

    def out_of_memory(self, query: str) -> QueryRejectedError:
        """The error for a query that met the memory cap."""
        ...


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
        owner: Owner,
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
