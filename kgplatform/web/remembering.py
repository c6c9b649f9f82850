"""What takes a while to work out, kept until the store changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TypeVar

from kgplatform.web.needs import Graph

_Made = TypeVar("_Made")
_MOST = 64


class Remembered:
    """Results by key, of the store's version as it is; made once, however many ask at a time."""

    def __init__(self, kg: Graph) -> None:
        self._kg = kg
        self._lock = threading.RLock()
        self._version = -1
        self._made: dict[Hashable, object] = {}

    def get(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """What ``make`` gives, or gave for the same key since the store last changed."""
        with self._lock:
            version = self._kg.store.version
            if version != self._version or len(self._made) >= _MOST:
                self._made.clear()
                self._version = version
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]  # type: ignore[return-value]
