"""A file that is written while it is read, for text that would not fit into memory as a whole."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import BinaryIO


def streamed(parts: Iterable[bytes]) -> BinaryIO:
    """A file of the parts one after the other, each made when it is read."""
    return io.BufferedReader(_Parts(parts), buffer_size=1 << 18)


class _Parts(io.RawIOBase):
    """The parts as a raw stream."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = iter(parts)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]  # what io passes
        while not self._left:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._left = memoryview(part)
        taken = min(len(buffer), len(self._left))
        buffer[:taken] = self._left[:taken]
        self._left = self._left[taken:]
        return taken
