"""The latest vectors of an index: in memory, and as a log that a killed process cannot spoil.

An entry of the log holds the keys removed and the keys and vectors (as float16) added by one save, with a checksum. An
entry that was not finished ends the log: what is behind it was never saved.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

_ENTRY: Final = struct.Struct("<4sIII")
_MAGIC: Final = b"KGV3"
_LEAST_WASTE: Final = 2_000


class Latest:
    """Vectors in memory, searched exactly; and the keys that hold no more although the graph below has them."""

    def __init__(self, dimensions: int) -> None:
        self.gone: set[int] = set()
        self._dimensions = dimensions
        self._rows: dict[int, int] = {}
        self._keys = np.zeros(16, dtype=np.uint64)
        self._matrix = np.zeros((16, dimensions), dtype=np.float32)
        self._added: dict[int, None] = {}
        self._removed: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def add(self, keys: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Puts vectors under keys that have none here."""
        start = len(self._rows)
        self._make_room(start + len(keys))
        self._keys[start : start + len(keys)] = np.array(keys, dtype=np.uint64)
        self._matrix[start : start + len(keys)] = vectors.astype(np.float16)  # as they are read back
        self._rows.update((key, start + place) for place, key in enumerate(keys))
        self._added.update(dict.fromkeys(keys))

    def remove(self, key: int, *, in_graph: bool) -> None:
        """Takes a vector out; ``in_graph``: the graph below has one under the key too."""
        row = self._rows.pop(key, None)
        if row is not None:  # the last row takes the empty place
            last = len(self._rows)
            if row != last:
                moved = int(self._keys[last])
                self._keys[row], self._matrix[row] = moved, self._matrix[last]
                self._rows[moved] = row
        if in_graph:
            self.gone.add(key)
        self._added.pop(key, None)
        self._removed[key] = None

    def _make_room(self, count: int) -> None:
        if count > len(self._keys):
            size = max(count, 2 * len(self._keys))
            keys, matrix = np.zeros(size, dtype=np.uint64), np.zeros((size, self._dimensions), dtype=np.float32)
            held = len(self._rows)
            keys[:held], matrix[:held] = self._keys[:held], self._matrix[:held]
            self._keys, self._matrix = keys, matrix

    def vector(self, key: int) -> NDArray[np.float32] | None:
        """The vector under the key; None: there is none here."""
        row = self._rows.get(key)
        return None if row is None else self._matrix[row]

    def keys(self) -> NDArray[np.uint64]:
        """The keys that have a vector here."""
        return self._keys[: len(self._rows)].copy()

    def gone_keys(self) -> NDArray[np.uint64]:
        """`gone` as an array."""
        return np.array(sorted(self.gone), dtype=np.uint64)

    def all(self) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
        """Keys and vectors."""
        held = len(self._rows)
        return self._keys[:held].copy(), self._matrix[:held].copy()

    def nearest(self, query: NDArray[np.float32], count: int) -> list[tuple[int, float]]:
        """At most ``count`` keys with their cosine to the query (of unit length), in no order."""
        held = len(self._rows)
        cosines = self._matrix[:held] @ query
        places = np.arange(held)
        if held > count:
            edge = np.partition(cosines, held - count)[held - count]
            places = np.flatnonzero(cosines >= edge)
        return list(zip(self._keys[places].tolist(), cosines[places].tolist(), strict=True))

    @property
    def has_changes(self) -> bool:
        """Whether something changed since the changes were last forgotten."""
        return bool(self._added or self._removed)

    def changes(self) -> tuple[list[int], NDArray[np.uint64], NDArray[np.float32]]:
        """The keys removed, and the keys and vectors added, since the changes were last forgotten."""
        rows = [self._rows[key] for key in self._added]
        return list(self._removed), self._keys[rows], self._matrix[rows]

    def forget_changes(self) -> None:
        """The changes are saved."""
        self._added, self._removed = {}, {}


class VectorLog:
    """The file with the latest vectors."""

    def __init__(self, path: Path, dimensions: int) -> None:
        self.path = path
        self._dimensions = dimensions
        self._end = 0
        self._entries = 0

    def create(self, gone: Iterable[int], keys: NDArray[np.uint64], vectors: NDArray[np.float32]) -> None:
        """Writes a new log whose first entry is this."""
        self.path.unlink(missing_ok=True)
        self._end = self._entries = 0
        self.append(gone, keys, vectors)

    def append(self, gone: Iterable[int], keys: NDArray[np.uint64], vectors: NDArray[np.float32]) -> None:
        """Adds an entry; it is on the disk afterwards."""
        removed = np.array(list(gone), dtype=np.uint64)
        body = removed.tobytes() + keys.astype(np.uint64).tobytes() + vectors.astype(np.float16).tobytes()
        entry = _ENTRY.pack(_MAGIC, len(removed), len(keys), zlib.crc32(body)) + body
        with self.path.open("r+b" if self.path.exists() else "w+b") as file:
            file.truncate(self._end)  # an entry that a killed process left half
            file.seek(self._end)
            file.write(entry)
            file.flush()
            os.fsync(file.fileno())
        self._end += len(entry)
        self._entries += len(removed) + len(keys)

    def is_behind(self) -> bool:
        """Whether another process has added to the file or taken it away."""
        try:
            return self.path.stat().st_size > self._end and self._next_entry_is_whole()
        except OSError:
            return True

    def _next_entry_is_whole(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(self._end)
            return _entry(file.read(), 0, self._dimensions) is not None

    def is_wasteful(self, live: int) -> bool:
        """Whether most of the log is about vectors that are no longer there."""
        return self._entries > 2 * live + _LEAST_WASTE

    def read(self) -> Latest | None:
        """What the log says; None: there is none, or its beginning is damaged."""
        try:
            data = self.path.read_bytes()
        except OSError:
            return None
        latest = Latest(self._dimensions)
        self._end = self._entries = 0
        while entry := _entry(data, self._end, self._dimensions):
            gone, keys, vectors, self._end = entry
            self._entries += len(gone) + len(keys)
            for key in gone:
                latest.remove(key, in_graph=True)
            latest.add(keys, vectors)
        latest.forget_changes()
        return latest if self._end else None


def _entry(data: bytes, start: int, dimensions: int) -> tuple[list[int], list[int], NDArray[np.float32], int] | None:
    """The keys removed, the keys and vectors added, and where the next entry begins; None: there is no whole entry."""
    if len(data) < start + _ENTRY.size:
        return None
    magic, removed, added, checksum = _ENTRY.unpack_from(data, start)
    body = start + _ENTRY.size
    end = body + 8 * (removed + added) + 2 * added * dimensions
    if magic != _MAGIC or end > len(data) or zlib.crc32(memoryview(data)[body:end]) != checksum:
        return None
    keys = np.frombuffer(data, dtype="<u8", count=removed + added, offset=body).tolist()
    vectors = np.frombuffer(data, dtype="<f2", count=added * dimensions, offset=body + 8 * (removed + added))
    floats = vectors.astype(np.float32).reshape(added, dimensions)
    return keys[:removed], keys[removed:], floats, end
