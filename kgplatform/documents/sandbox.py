"""Documents taken apart in processes of their own: one that hangs, explodes or ends its process costs itself alone.

What needs no parser of others (`kgplatform.documents.files.is_plain`) is read here, at once. The processes start when
first needed and stay for the next document. One that was killed, or that a large document has left large, is replaced.

A child is ``python -m kgplatform.documents.sandbox MEMORY_BYTES``. Before it reads anything it caps its own memory and
leaves the network, as the workers of queries do (`kgplatform.store.worker`), and it ends with its owner. A request is a
line of JSON and, for content that came from elsewhere, its bytes. A reply is a frame for each document, or one with an
error, and a last one with the most memory that the process ever had.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import re
import resource
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, Final

from pyoxigraph import NamedNode

from kgplatform.documents.files import MAX_BYTES, digest, is_plain, read, read_content
from kgplatform.errors import ReadError
from kgplatform.store import wire, worker
from kgplatform.store.child_process import ChildProcess, EndedError
from kgplatform.types import Document


@dataclass(frozen=True, slots=True)
class Parse:
    """What is to be read: the file at ``path``, or ``size`` bytes of content that came from ``source``.

    ``is_table``: as a table, to see whether that can be done.
    """

    path: str
    base: str
    max_bytes: int = MAX_BYTES
    json_path: str = ""
    source: str = ""
    size: int = 0
    is_table: bool = False


def encode_request(wanted: Parse) -> bytes:
    """The request as one line."""
    return json.dumps(asdict(wanted)).encode() + b"\n"


def encode_document(document: Document) -> bytes:
    """The document, ready to be sent."""
    return json.dumps({**asdict(document), "iri": document.iri.value}, ensure_ascii=False).encode("utf-8")


def decode_document(payload: bytes) -> Document:
    """What `encode_document` wrote."""
    record = json.loads(payload)
    return Document(**{**record, "iri": NamedNode(record["iri"])})


def documents(wanted: Parse, content: bytes) -> list[Document]:
    """The documents; raises ReadError as `read` and `read_content` do."""
    path = Path(wanted.path)
    if wanted.is_table:
        from kgplatform.documents.tables.table_source import go_through

        go_through(wanted.path)
        return []
    if wanted.source:
        return read_content(path, content, base=wanted.base, source=wanted.source, sha256=digest(content))
    return read(path, base=wanted.base, max_bytes=wanted.max_bytes, json_path=wanted.json_path)


def _serve(requests: BinaryIO, output: BinaryIO) -> None:
    for line in requests:
        wanted = Parse(**json.loads(line))
        content = requests.read(wanted.size)
        for piece in _reply(wanted, content):
            output.write(piece)
        output.flush()


def _reply(wanted: Parse, content: bytes) -> Iterator[bytes]:
    try:
        for document in documents(wanted, content):
            yield wire.frame(wire.DATA, encode_document(document))
    except ReadError as error:
        yield wire.frame(wire.ERROR, error.reason.encode("utf-8", "replace"))
    except MemoryError:
        yield wire.frame(wire.ERROR, wire.OUT_OF_MEMORY.encode())
    yield wire.frame(wire.END, str(_most_bytes()).encode())


def _most_bytes() -> int:
    """The most memory that this process ever had, in bytes.

    The figure for a process counts in what its parent had when it was started, the one for its memory does not.
    """
    with suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        if found := re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE):
            return int(found[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(arguments: list[str]) -> None:
    """Serves requests from standard input until it ends."""
    worker.cap_memory(int(arguments[0]))
    worker.leave_network()
    # what parsers print goes nowhere: standard output is for replies, and nobody empties the other
    output = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    logging.disable()
    warnings.simplefilter("ignore")
    threading.Thread(target=worker.watch_owner, daemon=True).start()
    with suppress(BrokenPipeError, KeyboardInterrupt):
        _serve(sys.stdin.buffer, output)


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
        self._all = [ChildProcess(__name__) for _ in range(max(1, self.limits.count))]
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
        """The documents in the file, as `kgplatform.documents.files.read` gives them.

        Raises:
            ReadError: as there; or reading it took too long, too much memory, or ended the process.
        """
        wanted = Parse(str(path), base, max_bytes, json_path)
        return documents(wanted, b"") if is_plain(path) else self._parsed(path, wanted)

    def content(self, path: Path, data: bytes, *, base: str, source: str) -> list[Document]:
        """The documents in content that came from elsewhere, as `kgplatform.documents.files.read_content` does.

        Raises:
            ReadError: as there; or reading it took too long, too much memory, or ended the process.
        """
        return self._parsed(path, Parse(str(path), base, source=source, size=len(data)), data)

    def check_table(self, path: Path) -> None:
        """Goes through a table in a process if it could do harm here: a small file may unpack to a great deal.

        Raises:
            ReadError: it is no table; or reading it took too long, too much memory, or ended the process.
        """
        from kgplatform.documents.tables.table_source import is_heavy

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
            raise ReadError(self._ended(found.error) if found.error == wire.OUT_OF_MEMORY else found.error, path=path)
        return found.documents

    def _ended(self, cause: str) -> str:
        if self._closed:
            return "was not read to its end: the workspace was closed"
        if cause == wire.OUT_OF_MEMORY:
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
                process.write(encode_request(wanted), content)
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
            found.append(decode_document(payload))
        elif kind == wire.ERROR:
            error = payload.decode("utf-8", "replace")
        else:
            return _Parsed(found, error, int(payload))


if __name__ == "__main__":
    main(sys.argv[1:])
