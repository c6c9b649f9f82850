"""The process that holds a workspace carries out the commands of others, each in a thread, on the store it has open.

It listens on the loopback interface only, and takes commands from those who know the secret that it has written into
the workspace, in a file that only the owner of the workspace can read. A command sees its own folder, input and
output. When whoever sent it goes away it is interrupted, as by Ctrl-C: what was finished is kept. Commands that write
go one at a time.
"""

from __future__ import annotations

import ctypes
import io
import json
import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, TypeAlias

from kgplatform.building.lending import lending
from kgplatform.cli.delegating import ERROR, FILE, FRAME, OUT, STATUS, is_reading
from kgplatform.graph import KnowledgeGraph

_CLONE_FS = 0x200
_MOST_BYTES = 64_000_000
_GRACE_SECONDS = 10.0
MISUSED, SHORT = 2, 1

_Streams: TypeAlias = "dict[str, IO[str]]"
_STREAMS: ContextVar[_Streams | None] = ContextVar("streams", default=None)

Command: TypeAlias = Callable[[Sequence[str]], "tuple[Any, Callable[[], int]]"]
"""From the words of a command to its arguments and what carries it out; raises SystemExit where they are wrong."""


class _Routed:
    """A standard stream that is another one for each command."""

    def __init__(self, name: str, own: IO[str]) -> None:
        self._name = name
        self._own = own

    def __getattr__(self, name: str) -> Any:
        streams = _STREAMS.get()
        return getattr(streams[self._name] if streams else self._own, name)


class _Frames(io.RawIOBase):
    """Sends what is written; once nobody listens it goes nowhere."""

    def __init__(self, link: socket.socket, kind: bytes, *, is_terminal: bool) -> None:
        super().__init__()
        self._link, self._kind, self._is_terminal = link, kind, is_terminal

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, piece: Any) -> int:
        data = bytes(piece)
        with suppress(OSError):
            self._link.sendall(FRAME.pack(self._kind, len(data)) + data)
        return len(data)


def _text(link: socket.socket, kind: bytes, *, is_terminal: bool) -> IO[str]:
    raw = io.BufferedWriter(_Frames(link, kind, is_terminal=is_terminal), 1 << 16)
    return io.TextIOWrapper(raw, encoding="utf-8", errors="replace", line_buffering=True)


class _Job:
    """A command that is being carried out, and the way to interrupt it."""

    def __init__(self, kg: KnowledgeGraph, number: int) -> None:
        self.client = f"command {number}"
        self.thread: threading.Thread | None = None
        self.is_done = False
        self._kg = kg

    def interrupt(self) -> None:
        """Ends its queries, and raises KeyboardInterrupt where it is."""
        if self.is_done or self.thread is None or not self.thread.is_alive():
            return
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(self.thread.ident or 0), ctypes.py_object(KeyboardInterrupt)
        )
        running = self._kg.workers.running
        for item in running.listed():
            if item.client == self.client:
                running.cancel(item.name)


class Holding:
    """Takes commands for a workspace that this process has open, until `close`."""

    def __init__(self, kg: KnowledgeGraph, *, verb: str, command: Command, takes_all: bool) -> None:
        self._kg, self._command, self._takes_all = kg, command, takes_all
        self._secret = secrets.token_hex(32)
        self._writing = threading.Lock()
        self._jobs: list[_Job] = []
        self._lock = threading.Lock()
        self._made = 0
        self._own = (sys.stdin, sys.stdout, sys.stderr)
        sys.stdin, sys.stdout, sys.stderr = (
            _Routed(name, stream) for name, stream in zip(("in", "out", "err"), self._own, strict=True)
        )
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._listen, daemon=True).start()
        self._announce(verb)

    def _announce(self, verb: str) -> None:
        record = {
            "process": os.getpid(),
            "verb": verb,
            "port": self._listener.getsockname()[1],
            "secret": self._secret,
            "takes_all": self._takes_all,
        }
        partial = self._kg.folder / f"{FILE}.{os.getpid()}.part"
        with suppress(OSError), os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(record, file)
            partial.replace(self._kg.folder / FILE)

    def _listen(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._take, args=(link,), daemon=True).start()

    def _take(self, link: socket.socket) -> None:
        """Reads a command from a connection, has it carried out, and waits for either end."""
        with link, link.makefile("rb") as lines:
            link.settimeout(10)
            try:
                if not secrets.compare_digest(lines.readline(200).strip(), self._secret.encode()):
                    return
                request = json.loads(lines.readline(_MOST_BYTES))
            except (OSError, ValueError):
                return
            link.settimeout(None)
            with self._lock:
                self._made += 1
                job = _Job(self._kg, self._made)
                job.thread = threading.Thread(target=self._run, args=(job, link, request), daemon=True)
                self._jobs.append(job)
            job.thread.start()
            with suppress(OSError):
                link.recv(1)  # nothing comes but the end: of the command, or of whoever sent it
            job.interrupt()
            job.thread.join()

    def _run(self, job: _Job, link: socket.socket, request: dict[str, Any]) -> None:
        out = _text(link, OUT, is_terminal=False)
        err = _text(link, ERROR, is_terminal=bool(request["is_terminal"]))
        given = io.TextIOWrapper(io.BytesIO(request["input"].encode("utf-8", "surrogateescape")), encoding="utf-8")
        _STREAMS.set({"in": given, "out": out, "err": err})
        status = SHORT
        try:
            status = self._carried_out(job, request)
        except KeyboardInterrupt:
            err.write("kgplatform: stopped; what was finished is kept\n")
        except Exception:
            err.write("kgplatform: the command failed; what holds the workspace has written down how\n")
            raise
        finally:
            job.is_done = True
            with self._lock:
                self._jobs.remove(job)
            out.flush()
            err.flush()
            code = str(status).encode()
            with suppress(OSError):
                link.sendall(FRAME.pack(STATUS, len(code)) + code)
                link.shutdown(socket.SHUT_RDWR)

    def _carried_out(self, job: _Job, request: dict[str, Any]) -> int:
        if not _enter(request["folder"]):
            sys.stderr.write(f"kgplatform: this system keeps one folder a process; run it in {Path.cwd()}\n")
            return MISUSED
        try:
            given, run = self._command(request["words"])
        except SystemExit as error:
            return int(error.code or 0)
        reads = is_reading(given)
        if not reads and not self._takes_all:
            sys.stderr.write("kgplatform: the workspace is being written; run this again\n")
            return MISUSED
        with self._turn(is_reading=reads), lending(self._kg, job.client):
            return run()

    @contextmanager
    def _turn(self, *, is_reading: bool) -> Any:
        if is_reading:
            yield
            return
        if not self._writing.acquire(blocking=False):
            sys.stderr.write("waits for another command to end\n")
            self._writing.acquire()
        try:
            yield
        finally:
            self._writing.release()

    def close(self) -> None:
        """Takes no more commands; those under way may end, and are interrupted if they take long."""
        with suppress(OSError):
            (self._kg.folder / FILE).unlink()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for grace in (_GRACE_SECONDS, None):
            with self._lock:
                jobs = [job for job in self._jobs if job.thread is not threading.current_thread()]
            for job in jobs:
                if grace is None:
                    job.interrupt()
                if job.thread is not None:
                    job.thread.join(grace)
        sys.stdin, sys.stdout, sys.stderr = self._own


def _enter(folder: str) -> bool:
    """Makes the folder the one of this thread alone; false where threads cannot have one of their own."""
    if folder == str(Path.cwd()):
        return True
    with suppress(OSError, AttributeError):
        if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_FS) == 0:
            os.chdir(folder)
            return True
    return False
