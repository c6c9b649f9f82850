"""How many requests may be under way at a server, and from when on: what all threads that ask it hold to.

A server that is asked too often (429, or 503 with Retry-After) is left alone by all of them for as long as it says, and
from then on half as many ask at a time, one more after each round of answers. Source: Chiu and Jain, Analysis of the
increase and decrease algorithms for congestion avoidance in computer networks, 1989, additive increase and
multiplicative decrease.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_NO_LIMIT: Final = 256
"""From so many on, the number is not limited."""


class Throttle:
    """The limits of one server, as far as they have shown; safe for several threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._under_way = 0
        self._allowed = math.inf
        self._open_at = 0.0
        self._held_at = -math.inf

    @contextmanager
    def request(self, sleep: Callable[[float], None]) -> Iterator[float]:
        """The time at which a request begins, once it may: it is under way as long as the context."""
        self._wait_open(sleep)
        with self._changed:
            while self._under_way + 1 > max(1.0, self._allowed):
                self._changed.wait()
            self._under_way += 1
        try:
            yield time.monotonic()
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def _wait_open(self, sleep: Callable[[float], None]) -> None:
        while (left := (until := self._open_at) - time.monotonic()) > 0:
            sleep(left)
            self.reopen(until)

    def answered(self) -> None:
        """Notes that the server answered: it may be asked a little more often."""
        with self._changed:
            if self._allowed < _NO_LIMIT:
                self._allowed += 1 / self._allowed
                self._changed.notify_all()
            else:
                self._allowed = math.inf

    def hold(self, began: float, seconds: float) -> float:
        """Lets nobody ask for so long, because a request that began then was one too many; until when, for `reopen`.

        What was under way by the time of an earlier one does not halve the number again.
        """
        with self._changed:
            now = time.monotonic()
            until = now + seconds
            self._open_at = max(self._open_at, until)
            if began > self._held_at:
                self._held_at = now
                self._allowed = max(1.0, (self._under_way + 1) / 2)
            return until

    def reopen(self, until: float) -> None:
        """Lets requests through again after that time has passed, unless the server asked for more since."""
        with self._changed:
            if self._open_at <= until:
                self._open_at = 0.0
