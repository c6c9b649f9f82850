"""Threads that do what is handed to them, in its order, and never keep a process from ending."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

_T = TypeVar("_T")


class Threads:
    """A fixed number of threads, each started when there is something for it to do."""

    def __init__(self, count: int, name: str) -> None:
        self._count = max(1, count)
        self._name = name
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._futures: set[Future[Any]] = set()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def submit(self, call: Callable[[], _T]) -> Future[_T]:
        """What the call will give, or raise; cancelled where the threads are closed."""
        future: Future[_T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)
                raise

        with self._lock:
            if self._is_closed:
                future.cancel()
                return future
            self._futures.add(future)
            future.add_done_callback(self._futures.discard)
            self._tasks.put(run)
            if len(self._threads) < min(self._count, len(self._futures)):
                thread = threading.Thread(target=self._work, name=f"{self._name}-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
        return future

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            with suppress(Exception):  # whoever waits for the result has it
                task()

    def close(self, *, wait: bool) -> None:
        """Drops what was not begun; ``wait``: until what was begun is done."""
        with self._lock:
            self._is_closed = True
            waiting = tuple(self._futures)
        for future in waiting:
            future.cancel()
        with suppress(queue.Empty):
            while True:
                self._tasks.get_nowait()
        for _ in self._threads:
            self._tasks.put(None)
        if wait:
            for thread in self._threads:
                thread.join()
