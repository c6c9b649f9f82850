"""Text that would not fit into memory as a whole: a file that is written while it is read, lines sorted by parts."""

from __future__ import annotations

import heapq
import io
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from typing import BinaryIO

_SORTED_AT_ONCE = 200_000


def in_order(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines, each with its end, in their order and each once; sorted by parts on disk where they are many.

    Raises:
        OSError: the disk refuses.
    """
    left = iter(lines)
    part = sorted(islice(left, _SORTED_AT_ONCE))
    with ExitStack() as stack:
        parts: list[Iterable[bytes]] = []
        while len(part) == _SORTED_AT_ONCE:
            file = stack.enter_context(tempfile.TemporaryFile())
            file.writelines(part)
            file.seek(0)
            parts.append(file)
            part = sorted(islice(left, _SORTED_AT_ONCE))
        last = None
        for line in heapq.merge(*parts, part):
            if line != last:
                yield line
            last = line


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
