"""Vectors by number, on disk: most of them in a file that is mapped into memory, the latest in a log behind it.

Three files make one index. ``<name>.json`` names the others: ``<name>-<number>.usearch`` (a graph of near neighbours,
mapped and never changed) and ``<name>-<number>.log`` (what was added and removed since, read when the index is opened).
Saving appends to the log, so that it costs what changed, not what there is; when the log has grown, both are written
anew and renaming ``<name>.json`` puts them in place. A killed process leaves the old index or the new one: an entry of
the log that was not finished does not count. A file that another process has mapped is never cut short (it would be
killed).

Up to 20,000 vectors everything is in the log and the search is exact. Beyond, vectors are kept as bf16 (0.998 of the
recall of float32 at half the size), and from 250,000 on as i8 (at a quarter), unless ``storage`` says otherwise. In i8
the largest number of a vector becomes 127: the cosine does not depend on its length, and the numbers of a unit vector
of 384 dimensions, a twentieth each, would otherwise be told apart in a dozen steps only.
"""

from __future__ import annotations

import json
import os
import struct
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgplatform.errors import StoreError

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
        """True if something changed since the changes were last forgotten."""
        return bool(self._added or self._removed)

    def changes(self) -> tuple[list[int], NDArray[np.uint64], NDArray[np.float32]]:
        """The keys removed, and the keys and vectors added, since the changes were last forgotten."""
        rows = [self._rows[key] for key in self._added]
        return list(self._removed), self._keys[rows], self._matrix[rows]

    def forget_changes(self) -> None:
        """The changes are saved."""
        self._added, self._removed = {}, {}


class VectorLog:
    """The file with the latest vectors, which a killed process cannot spoil.

    An entry holds the keys removed and the keys and vectors (as float16) added by one save, with a checksum. An entry
    that was not finished ends the log: what is behind it was never saved.
    """

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
        """True if another process has added to the file or taken it away."""
        try:
            return self.path.stat().st_size > self._end and self._next_entry_is_whole()
        except OSError:
            return True

    def _next_entry_is_whole(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(self._end)
            return _entry(file.read(), 0, self._dimensions) is not None

    def is_wasteful(self, live: int) -> bool:
        """True if most of the log is about vectors that are no longer there."""
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


Keys: TypeAlias = NDArray[np.uint64] | Sequence[int]

STORAGES: Final = ("auto", "f32", "f16", "bf16", "i8")
"""How the vectors of a large index are kept."""

SEARCHES: Final = ("auto", "exact", "approximate")
"""How a large index is searched; ``auto`` is approximate."""

_FORMAT: Final = 3
_LOG_UP_TO: Final = 20_000
_LOG_AT_MOST: Final = 50_000
_BF16_UP_TO: Final = 250_000
_APPROXIMATE_UP_TO: Final = 5_000
_SPARE: Final = 8
_BLOCK: Final = 65_536
_BLOCKS: Final = 64


@dataclass(frozen=True, slots=True)
class _Header:
    format: int
    model: str
    dimensions: int
    log: str
    file: str = ""
    size: int = 0
    checksum: int = 0
    count: int = 0


class VectorIndex:
    """Vectors of unit length under numbers; safe for several threads, for one writing process.

    ``path`` names the index without an ending; None keeps it in memory. After opening, ``stale`` tells that there was
    nothing usable at ``path``: the index is empty and wants to be filled from its source again. Then ``misfit`` says
    so if vectors of another model or other dimensions were there, and ``damaged`` if files were there that cannot be
    read.
    """

    def __init__(
        self, path: Path | None, *, dimensions: int, model_name: str, storage: str = "auto", search: str = "auto"
    ) -> None:
        self.dimensions = dimensions
        self.model_name = model_name
        self.misfit = ""
        self.damaged = False
        self._path = path
        self._storage, self._search = storage, search
        self._lock = threading.RLock()
        self._header: _Header | None = None
        self._clear()
        self.stale = path is not None and not self._load()

    def _clear(self) -> None:
        self._graph: Any = None
        self._mapped: Path | None = None
        self._rewrites = False
        self._latest = Latest(self.dimensions)
        self._log: VectorLog | None = None

    def __len__(self) -> int:
        in_graph = len(self._graph) if self._graph is not None else 0
        return in_graph - len(self._latest.gone) + len(self._latest)

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return isinstance(key, int) and bool(self.holds(np.array([key], dtype=np.uint64))[0])

    def __iter__(self) -> Iterator[int]:
        return iter(self.keys().tolist())

    def holds(self, keys: Keys) -> NDArray[np.bool_]:
        """For each key whether it has a vector."""
        keys = _keys(keys)
        with self._lock:
            in_graph = np.zeros(len(keys), dtype=np.bool_)
            if self._graph is not None and len(keys):
                in_graph = np.atleast_1d(self._graph.contains(np.ascontiguousarray(keys)))
            latest, gone = self._latest, self._latest.gone
            pairs = zip(keys.tolist(), in_graph.tolist(), strict=True)
            return np.array([key in latest or (there and key not in gone) for key, there in pairs], dtype=np.bool_)

    def keys(self) -> NDArray[np.uint64]:
        """All keys, in no order."""
        with self._lock:
            kept = np.zeros(0, dtype=np.uint64)
            if self._graph is not None and len(self._graph):
                kept = np.asarray(self._graph.keys[:], dtype=np.uint64)
                kept = kept[~np.isin(kept, self._latest.gone_keys())]
            return np.concatenate([kept, self._latest.keys()])

    def add(self, keys: Keys, vectors: NDArray[np.float32]) -> None:
        """Puts vectors under keys; a key that has one gets the new one.

        Raises:
            ValueError: the shape of ``vectors`` is not ``(len(keys), dimensions)``.
        """
        keys = _keys(keys)
        if vectors.shape != (len(keys), self.dimensions):
            raise ValueError(f"vectors of shape {vectors.shape} for {len(keys)} keys of {self.dimensions} dimensions")
        rows = {key: row for row, key in enumerate(keys.tolist())}  # of a key given twice the last counts
        if not rows:
            return
        with self._lock:
            self.remove(rows)
            self._latest.add(list(rows), np.asarray(vectors[list(rows.values())], dtype=np.float32))
            if len(self._latest) > self._log_limit():
                self._merge()

    def remove(self, keys: Iterable[int]) -> int:
        """Takes vectors out; how many there were."""
        with self._lock:
            wanted = np.array(list(dict.fromkeys(keys)), dtype=np.uint64)
            there = wanted[self.holds(wanted)] if len(wanted) else wanted
            known = self._graph.contains(there) if self._graph is not None and len(there) else np.zeros(len(there))
            for key, in_graph in zip(there.tolist(), np.atleast_1d(known).tolist(), strict=True):
                self._latest.remove(key, in_graph=bool(in_graph))
            return len(there)

    def vectors(self, keys: Keys) -> NDArray[np.float32]:
        """The vectors under the keys, one row each.

        Raises:
            KeyError: a key has none.
        """
        keys = _keys(keys)
        with self._lock:
            found = np.zeros((len(keys), self.dimensions), dtype=np.float32)
            for row, key in enumerate(keys.tolist()):
                if (vector := self._latest.vector(key)) is not None:
                    found[row] = vector
                elif key in self:
                    found[row] = _as_float32(self._graph.get(key))
                else:
                    raise KeyError(key)
            return found

    def search(self, vector: NDArray[np.float32], k: int) -> list[tuple[int, float]]:
        """At most ``k`` keys, nearest first, with the cosine similarity (0 where the angle is obtuse)."""
        query = np.ascontiguousarray(vector, dtype=np.float32).reshape(self.dimensions)
        with self._lock:
            wanted = min(k, len(self))
            if wanted <= 0:
                return []
            pairs = [*self._latest.nearest(query, wanted + _SPARE), *self._in_graph(query, wanted + _SPARE)]
        # similarities are compared as far as they can be told apart, so that equal ones keep one order
        pairs.sort(key=lambda pair: (-round(pair[1], 6), pair[0]))
        return [(key, min(1.0, max(0.0, similarity))) for key, similarity in pairs[:wanted]]

    def _in_graph(self, query: NDArray[np.float32], wanted: int) -> list[tuple[int, float]]:
        if self._graph is None:
            return []
        sought = _stored(query[None], self._graph_storage())[0]
        size, gone, count = len(self._graph), self._latest.gone, wanted
        while True:
            count = min(count, size)
            exact = self._search == "exact" or count > _APPROXIMATE_UP_TO or size <= _LOG_UP_TO
            found = self._graph.search(sought, count, exact=exact, threads=0 if exact else 1)
            pairs = zip(found.keys.tolist(), found.distances.tolist(), strict=True)
            kept = [(key, 1.0 - float(distance)) for key, distance in pairs if key not in gone]
            if len(kept) >= wanted or count == size:
                return kept[:wanted]
            count *= 4

    def save(self) -> None:
        """Writes what has changed; the old index stays in place until the new one is whole.

        Raises:
            StoreError: the disk refuses, or another process has replaced the index meanwhile; nothing is changed.
        """
        with self._lock:
            if self._path is None:
                self._latest.forget_changes()
                return
            try:
                self._save(self._path)
            except (OSError, RuntimeError) as error:
                raise StoreError(f"{self._path}: the vector index cannot be written ({error})") from error
            self.stale, self.misfit, self.damaged = False, "", False

    def close(self) -> None:
        """Lets go of nothing: the files are mapped until nobody uses the index."""

    def reload(self) -> None:
        """Sees what another process has saved since; what was not saved here is dropped."""
        with self._lock:
            if self._path is not None and self._is_behind():
                self._clear()
                self.stale = not self._load()

    def revert(self) -> None:
        """Drops what was not saved; an index in memory keeps it."""
        with self._lock:
            if self._path is not None and (self._latest.has_changes or self._rewrites):
                self._clear()
                self.stale = not self._load()

    def _is_behind(self) -> bool:
        assert self._path is not None
        header = _read_header(self._path)
        if header != self._header or header is None or self._log is None:
            return header is not None or self._header is not None
        return self._log.is_behind()

    def _save(self, path: Path) -> None:
        if self._header is not None and not self.stale and self._is_behind():
            raise StoreError(f"{path}: the vector index was replaced meanwhile; open the workspace again")
        path.parent.mkdir(parents=True, exist_ok=True)
        wanted = self._wanted_storage()
        if self._graph is not None and self._graph_storage() != wanted:
            self._merge()
        if self._log is None or self._rewrites or self._log.is_wasteful(len(self._latest)):
            self._write_anew(path)
        elif self._latest.has_changes:
            self._log.append(*self._latest.changes())
        self._latest.forget_changes()

    def _write_anew(self, path: Path) -> None:
        number = 1 + max((_number(p) for p in self._own_files(path)), default=0)
        log = VectorLog(path.with_name(f"{path.name}-{number}.log"), self.dimensions)
        gone = [] if self._rewrites else list(self._latest.gone)
        log.create(gone, *self._latest.all())
        header = _Header(_FORMAT, self.model_name, self.dimensions, log.path.name)
        if self._graph is not None and len(self._graph):
            file = self._mapped if self._mapped and not self._rewrites else None
            file = file or self._write_graph(path.with_name(f"{path.name}-{number}.usearch"))
            size, checksum, count = file.stat().st_size, _checksum(file), len(self._graph)
            header = _Header(_FORMAT, self.model_name, self.dimensions, log.path.name, file.name, size, checksum, count)
        unfinished = _header_file(path).with_suffix(".tmp")
        with unfinished.open("w", encoding="utf-8") as out:
            json.dump(asdict(header), out, ensure_ascii=False)
            out.flush()
            os.fsync(out.fileno())
        unfinished.replace(_header_file(path))
        self._header, self._log, self._rewrites = header, log, False
        for old in self._own_files(path):
            if old.name not in (header.file, header.log):
                old.unlink(missing_ok=True)

    def _write_graph(self, file: Path) -> Path:
        """Writes the graph and goes on with the file mapped, which takes no memory of its own."""
        unfinished = file.with_suffix(".tmp")
        self._graph.save(str(unfinished))
        with unfinished.open("rb+") as opened:
            os.fsync(opened.fileno())
        unfinished.replace(file)
        self._graph, self._mapped = _opened(file, view=True), file
        return file

    def _own_files(self, path: Path) -> list[Path]:
        found = [p for p in path.parent.iterdir() if p.suffix in (".usearch", ".log")]
        return [p for p in found if p.stem.rpartition("-")[0] == path.name and _number(p)]

    def _load(self) -> bool:
        """True if a usable index was there."""
        assert self._path is not None
        header = _read_header(self._path)
        if header is None:
            self.damaged = self._path.parent.is_dir() and bool(self._own_files(self._path))
            return False
        if (header.model, header.dimensions) != (self.model_name, self.dimensions):
            self.misfit = (
                f"the vectors were made by model {header.model!r} ({header.dimensions} dimensions), "
                f"not by {self.model_name!r} ({self.dimensions})"
            )
            return False
        log = VectorLog(self._path.parent / header.log, self.dimensions)
        latest = log.read()
        graph = self._checked_graph(header) if header.file else None
        if latest is None or (header.file and graph is None):
            self.damaged = True
            return False
        gone = latest.gone_keys()
        latest.gone = set(gone[np.atleast_1d(graph.contains(gone))].tolist()) if graph and len(gone) else set()
        self._header, self._log, self._latest = header, log, latest
        self._graph, self._mapped = graph, self._path.parent / header.file if header.file else None
        return True

    def _checked_graph(self, header: _Header) -> Any:
        assert self._path is not None
        file = self._path.parent / header.file
        try:
            fits = file.stat().st_size == header.size and _checksum(file) == header.checksum
        except OSError:
            return None
        graph = _opened(file, view=True) if fits else None
        return graph if graph is not None and len(graph) == header.count else None

    def _log_limit(self) -> int:
        in_graph = len(self._graph) if self._graph is not None else 0
        return min(max(_LOG_UP_TO, in_graph // 10), _LOG_AT_MOST)

    def _wanted_storage(self) -> str:
        if self._storage != "auto":
            return self._storage
        was_small = self._graph is None or self._graph_storage() != "i8"
        return "bf16" if was_small and len(self) <= _BF16_UP_TO else "i8"

    def _graph_storage(self) -> str:
        return str(self._graph.dtype.name).lower()

    def _merge(self) -> None:
        """Takes the latest into the graph, which is then one of this process until it is saved."""
        from usearch.index import Index

        wanted, old = self._wanted_storage(), self._graph
        gone = self._latest.gone_keys()
        if old is not None and self._graph_storage() == wanted:
            if self._mapped is not None:
                old = _opened(self._mapped, view=False)
                if old is None:
                    raise StoreError(
                        f"{self._mapped}: the vector index was replaced meanwhile; open the workspace again"
                    )
            if len(gone):
                old.remove(gone)
            graph = old
        else:
            graph = Index(ndim=self.dimensions, metric="cos", dtype=wanted, connectivity=16)
            kept = np.asarray(old.keys[:], dtype=np.uint64) if old is not None else np.zeros(0, dtype=np.uint64)
            kept = kept[~np.isin(kept, gone)]
            for start in range(0, len(kept), _BLOCK):
                some = kept[start : start + _BLOCK]
                graph.add(some, _stored(_as_float32(old.get(some)), wanted))
        keys, vectors = self._latest.all()
        if len(keys):
            graph.add(keys, _stored(vectors, wanted))
        self._graph, self._mapped, self._rewrites = graph, None, True
        self._latest = Latest(self.dimensions)


def _keys(keys: Keys) -> NDArray[np.uint64]:
    return np.asarray(keys, dtype=np.uint64).reshape(-1)


def _stored(vectors: NDArray[np.float32], storage: str) -> NDArray[Any]:
    """Vectors, one a row, as a graph takes them: in i8 each stretched until its largest number is 127."""
    if storage != "i8":
        return vectors
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
    scale = np.float32(127) / np.maximum(largest, np.finfo(np.float32).tiny)
    return np.asarray(np.rint(vectors * scale), dtype=np.int8)


def _as_float32(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Stored vectors as floats; those kept as bytes get their length of 1 back."""
    floats = np.asarray(vectors, dtype=np.float32)
    if np.asarray(vectors).dtype != np.int8:
        return floats
    lengths = np.linalg.norm(floats, axis=-1, keepdims=True)
    return np.asarray(floats / np.maximum(lengths, 1), dtype=np.float32)


def _header_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _read_header(path: Path) -> _Header | None:
    try:
        header = _Header(**json.loads(_header_file(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return header if header.format == _FORMAT else None


def dimensions_of(path: Path, model_name: str) -> int:
    """How many numbers the vectors of that model have that are kept at the path; 0: there are none of it."""
    header = _read_header(path)
    return header.dimensions if header and header.model == model_name else 0


def _number(file: Path) -> int:
    number = file.stem.rpartition("-")[2]
    return int(number) if number.isdigit() else 0


def _opened(file: Path, *, view: bool) -> Any:
    from usearch.index import Index

    try:
        return Index.restore(str(file), view=view)
    except (ValueError, RuntimeError, OSError):
        return None


def _checksum(file: Path) -> int:
    """A checksum of the file's length and of 64 blocks spread over it: all of it up to 4 MB."""
    size = file.stat().st_size
    step = max(_BLOCK, size // _BLOCKS)
    total = zlib.crc32(str(size).encode())
    with file.open("rb") as opened:
        for place in range(0, size, step):
            opened.seek(place)
            total = zlib.crc32(opened.read(_BLOCK), total)
    return total
