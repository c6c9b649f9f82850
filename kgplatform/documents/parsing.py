"""Documents taken apart in processes of their own: one that hangs, explodes or ends its process costs itself alone.

What needs no parser of others (`kgplatform.documents.reading.is_plain`) is read here, at once. The processes are
`kgplatform.documents.parser`; they start when first needed and stay for the next document. One that was killed, or
that a large document has left large, is replaced.
"""

from __future__ import annotations

import queue
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kgplatform import wire, worker
from kgplatform.documents import parser
from kgplatform.documents.parser import Parse
from kgplatform.documents.reading import is_plain
from kgplatform.errors import ReadError
from kgplatform.types import Document
from kgplatform.worker_process import ChildProcess, EndedError

_LARGE_BYTES: Final = 400_000_000
"""A process that ever had more memory is not kept: little of it comes back."""


@dataclass(frozen=True, slots=True)
class ParserLimits:
    """How many processes there are, how long one may take over a file, and the memory that each may have."""

    count: int = 2
    seconds: float = 300.0
    memory_bytes: int = 2_000_000_000


class Parsers:
    """The processes that read documents; safe for several threads, which wait for each other where all are taken."""

    def __init__(self, limits: ParserLimits | None = None) -> None:
        self.limits = limits or ParserLimits()
        self._closed = False
        self._lock = threading.Lock()
        self._all = [ChildProcess(parser.__name__) for _ in range(max(1, self.limits.count))]
        self._free: queue.LifoQueue[ChildProcess] = queue.LifoQueue()
        for process in reversed(self._all):
            self._free.put(process)

    def warm(self) -> None:
        """Lets a process get ready while the caller does something else, if none is in use."""
        with suppress(queue.Empty):
            process = self._free.get_nowait()
            if not self._closed:
                self._launch(process)
            self._free.put(process)

    def documents(self, path: Path, *, base: str, max_bytes: int, json_path: str = "") -> list[Document]:
        """The documents in the file, as `kgplatform.documents.reading.read` gives them.

        Raises:
            ReadError: as there; or reading it took too long, too much memory, or ended the process.
        """
        wanted = Parse(str(path), base, max_bytes, json_path)
        return parser.documents(wanted, b"") if is_plain(path) else self._parsed(path, wanted)

    def content(self, path: Path, data: bytes, *, base: str, source: str) -> list[Document]:
        """The documents in content that came from elsewhere, as `kgplatform.documents.reading.read_content` does.

        Raises:
            ReadError: as there; or reading it took too long, too much memory, or ended the process.
        """
        return self._parsed(path, Parse(str(path), base, source=source, size=len(data)), data)

    def check_table(self, path: Path) -> None:
        """Goes through a table in a process if it could do harm here: a small file may unpack to a great deal.

        Raises:
            ReadError: it is no table; or reading it took too long, too much memory, or ended the process.
        """
        from kgplatform.documents.tabular.opening import is_heavy

        if is_heavy(path):
            self._parsed(path, Parse(str(path), "", is_table=True))

    def _parsed(self, path: Path, wanted: Parse, content: bytes = b"") -> list[Document]:
        process = self._free.get()
        is_sound = False
        try:
            found = self._replied(process, wanted, content)
            is_sound = found.most_bytes < _LARGE_BYTES
        except TimeoutError as error:
            limit = f"{self.limits.seconds:g} s"
            raise ReadError(f"takes longer than {limit} to read, see documents.parse_seconds", path=path) from error
        except EndedError as error:
            raise ReadError(self._ended(str(error)), path=path) from error
        finally:
            if not is_sound or self._closed:
                process.kill()
            self._free.put(process)
        if found.error:
            raise ReadError(self._ended(found.error) if found.error == worker.OUT_OF_MEMORY else found.error, path=path)
        return found.documents

    def _ended(self, cause: str) -> str:
        if self._closed:
            return "was not read to its end: the workspace was closed"
        if cause == worker.OUT_OF_MEMORY:
            limit = f"{self.limits.memory_bytes // 1_000_000} MB"
            return f"takes more than {limit} of memory to read, see documents.parse_memory_mb"
        return f"ended the process that read it ({cause}); the file is damaged or made to do harm"

    def _launch(self, process: ChildProcess) -> bool:
        with self._lock:
            return process.launch(str(self.limits.memory_bytes))

    def _replied(self, process: ChildProcess, wanted: Parse, content: bytes) -> _Parsed:
        """What the process sends; a file is blamed for the end of a process only if that was started for it."""
        deadline = time.monotonic() + self.limits.seconds
        while True:
            if self._closed:
                raise EndedError("closed")
            is_new = self._launch(process)
            try:
                process.write(parser.encode_request(wanted), content)
                return _received(process, deadline)
            except EndedError:
                if is_new:
                    raise
                process.kill()

    def close(self) -> None:
        """Ends the processes, whatever they do; whoever waits for one gets an error."""
        self._closed = True
        idle: list[ChildProcess] = []
        with suppress(queue.Empty):
            while True:
                idle.append(self._free.get_nowait())
        for process in idle:
            process.kill()
            self._free.put(process)  # who waits for one is told that all is closed
        for process in self._all:
            process.interrupt()  # those in use are cleared away by the threads that use them


@dataclass(frozen=True, slots=True)
class _Parsed:
    """What a process sent: documents or an error, and the most memory that it ever had, in bytes."""

    documents: list[Document]
    error: str
    most_bytes: int


def _received(process: ChildProcess, deadline: float) -> _Parsed:
    found: list[Document] = []
    error = ""
    while True:
        kind, size = wire.HEAD.unpack(process.read(wire.HEAD.size, deadline))
        payload = process.read(size, deadline)
        if kind == wire.DATA:
            found.append(parser.decode_document(payload))
        elif kind == wire.ERROR:
            error = payload.decode("utf-8", "replace")
        else:
            return _Parsed(found, error, int(payload))
