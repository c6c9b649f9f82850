"""How often a client may ask: a bucket for each that fills as time passes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from kgplatform.web.protocol import ProtocolError

_MOST_CLIENTS = 10_000


class Rates:
    """At most so many requests a minute for each client, in bursts if they like; safe for several threads."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._lock = threading.Lock()
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, client: str) -> None:
        """Counts a request.

        Raises:
            ProtocolError: 429, the client has asked too often; the header says when to come again.
        """
        if self._per_minute <= 0:
            return
        now, rate = self._clock(), self._per_minute / 60
        with self._lock:
            left, last = self._left.pop(client, (float(self._per_minute), now))
            left = min(float(self._per_minute), left + (now - last) * rate)
            self._left[client] = (left - 1 if left >= 1 else left, now)
            if len(self._left) > _MOST_CLIENTS:  # the one that asked longest ago has a full bucket by now
                del self._left[next(iter(self._left))]
        if left < 1:
            wait = max(1, round((1 - left) / rate + 0.5))
            raise ProtocolError(
                429,
                "Too many requests",
                f"{self._per_minute} requests a minute are allowed; come again in {wait} s",
                headers=(("Retry-After", str(wait)),),
            )
