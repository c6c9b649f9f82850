"""Ending in good order: the first signal lets the document in hand be finished, the second ends at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from kgplatform.cli import output

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def gracefully(stop: Callable[[], None]) -> Iterator[None]:
    """Calls ``stop`` on the first SIGINT or SIGTERM; a second one interrupts, and what is in hand is rolled back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = False

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        stop()
        output.note("\nkgplatform: stopping after the document in hand; once more to stop at once")

    before = {number: signal.signal(number, on_signal) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
