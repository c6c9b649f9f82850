"""Commands for a workspace that another process holds, carried out there, as if here.

One process has a workspace open. It says in a file in it, readable by its owner only, where on this machine it listens
and with which secret. A command reads the file, sends its arguments there, and prints what comes back as it comes;
where nobody listens it runs here, and carries out those of others meanwhile: of all kinds while it serves, else those
that only read. Each runs in a thread, on the store that is open, with its own folder, input and output; when whoever
sent it goes away it is interrupted, as by Ctrl-C. Commands that write go one at a time.
"""

from __future__ import annotations

import ctypes
import io
import json
import os
import secrets
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from kgplatform.cli.verb import MISUSED, SHORT, Call, Place
from kgplatform.errors import WorkspaceError, WorkspaceHeldError

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph

FILE = "holder.json"
_FRAME = struct.Struct(">cI")
_OUT, _ERROR, _STATUS = b"O", b"E", b"S"
_AGAIN = b"again"
"""In place of a status: the command was not carried out, since the workspace is being closed."""
_PATIENCE_SECONDS = 5.0
_STEP_SECONDS = 0.1
_CLONE_FS = 0x200
_MOST_BYTES = 64_000_000
_GRACE_SECONDS = 10.0

Run: TypeAlias = "Callable[[], int]"
Command: TypeAlias = "Callable[[Sequence[str], Place], int]"
"""From the words of a command, and what has it carried out, to its exit status."""
_Streams: TypeAlias = "dict[str, IO[str]]"
_STREAMS: ContextVar[_Streams | None] = ContextVar("streams", default=None)


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a workspace: its process, the verb that it carries out, where it listens; for all, or for readers."""

    process: int
    verb: str
    port: int
    secret: str
    takes_all: bool


def holder(workspace: Path) -> Holder | None:
    """Who says that it holds the workspace; it may have died since."""
    path = workspace / FILE
    try:
        state = path.stat()
        if state.st_uid != os.getuid() or state.st_mode & 0o077:
            return None  # not written by us, or not kept from others
        return Holder(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def carried_out(words: Sequence[str], command: Command, call: Call, run: Run) -> int:
    """The exit status of the command, run by whoever holds the workspace, or else here.

    A command that cannot run beside the holder's waits for it; Ctrl-C ends the wait.

    Raises:
        WorkspaceHeldError: a process that takes no commands has the workspace open.
        WorkspaceError: the process that ran the command ended in the middle.
    """
    if call.workspace is None:
        return _hosted(command, call, run) if call.takes_all else run()
    deadline, is_told = 0.0, False
    while True:
        found = holder(call.workspace)
        link = _connected(found) if found else None
        if found and link and (found.takes_all or call.reads):
            with link:
                status = _sent(link, found, words, call)
            if status is not None:
                return status
        elif link is not None:
            link.close()
        try:
            return _hosted(command, call, run)
        except WorkspaceHeldError:
            if found is None or link is None:
                deadline = deadline or time.monotonic() + _PATIENCE_SECONDS
                if time.monotonic() > deadline:
                    raise
            elif not is_told and not call.reads:
                is_told = True
                sys.stderr.write(f"waits for `kgplatform {found.verb}` (process {found.process}) to end\n")
            time.sleep(_STEP_SECONDS)


def _hosted(command: Command, call: Call, run: Run) -> int:
    """The exit status of a command that is run here, and carries out those of others meanwhile."""
    from kgplatform.workspace.workspace import hosting

    def hold(kg: KnowledgeGraph) -> Callable[[], None]:
        return Holding(kg, verb=call.verb, command=command, takes_all=call.takes_all).close

    with hosting(hold):
        return run()


def _connected(found: Holder) -> socket.socket | None:
    """A connection to the holder; None where it is no longer there."""
    with suppress(OSError):
        os.kill(found.process, 0)
        return socket.create_connection(("127.0.0.1", found.port), timeout=10)
    return None


def _sent(link: socket.socket, found: Holder, words: Sequence[str], call: Call) -> int | None:
    """The exit status of the command there; None: it was not carried out, and nothing was printed."""
    request = {
        "words": list(words),
        "folder": str(Path.cwd()),
        "input": _input().decode("utf-8", "surrogateescape") if "-" in words else "",
        "is_terminal": sys.stderr.isatty(),
    }
    link.settimeout(None)
    is_silent, cause = True, None
    try:
        link.sendall(f"{found.secret}\n{json.dumps(request)}\n".encode())
        with link.makefile("rb") as replies:
            while head := replies.read(_FRAME.size):
                kind, size = _FRAME.unpack(head)
                payload = replies.read(size)
                if kind == _STATUS:
                    if payload != _AGAIN:
                        return int(payload)
                    break
                is_silent = False
                stream = sys.stdout if kind == _OUT else sys.stderr
                stream.buffer.write(payload)
                stream.flush()
    except BrokenPipeError:
        raise  # of our own output: whoever read it has had enough
    except (OSError, struct.error) as error:
        cause = error
    if is_silent and call.reads:
        return None
    message = f"process {found.process}, which holds the workspace, ended in the middle; run this again"
    raise WorkspaceError(message, path=call.workspace or Path()) from cause


def _input() -> bytes:
    """What is on stdin, where it can be read again."""
    given = sys.stdin.buffer.read()
    sys.stdin = io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")
    return given


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
        _send(self._link, self._kind, data)
        return len(data)


def _send(link: socket.socket, kind: bytes, data: bytes) -> None:
    with suppress(OSError):
        link.sendall(_FRAME.pack(kind, len(data)) + data)


def _text(link: socket.socket, kind: bytes, *, is_terminal: bool = False) -> IO[str]:
    raw = io.BufferedWriter(_Frames(link, kind, is_terminal=is_terminal), 1 << 16)
    return io.TextIOWrapper(raw, encoding="utf-8", errors="replace", line_buffering=True)


class _Job:
    """A command that is being carried out, and the way to interrupt it."""

    def __init__(self, kg: KnowledgeGraph, number: int) -> None:
        self.client = f"command {number}"
        self.thread: threading.Thread | None = None
        self.is_done = self.reads = False
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
        self._is_closing = False
        self._own = (sys.stdin, sys.stdout, sys.stderr)
        sys.stdin, sys.stdout, sys.stderr = (
            _Routed(name, stream) for name, stream in zip(("in", "out", "err"), self._own, strict=True)
        )
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._listen, daemon=True).start()
        self._announce(verb)

    def _announce(self, verb: str) -> None:
        record = Holder(os.getpid(), verb, self._listener.getsockname()[1], self._secret, self._takes_all)
        partial = self._kg.folder / f"{FILE}.{os.getpid()}.part"
        with suppress(OSError), os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(asdict(record), file)
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
                if self._is_closing:
                    _send(link, _STATUS, _AGAIN)
                    return
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
        out = _text(link, _OUT)
        err = _text(link, _ERROR, is_terminal=bool(request["is_terminal"]))
        given = io.TextIOWrapper(io.BytesIO(request["input"].encode("utf-8", "surrogateescape")), encoding="utf-8")
        _STREAMS.set({"in": given, "out": out, "err": err})
        status = b"%d" % SHORT
        try:
            status = b"%d" % self._status(job, request)
        except KeyboardInterrupt:
            if self._is_closing and job.reads:
                status = _AGAIN
            else:
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
            _send(link, _STATUS, status)
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

    def _status(self, job: _Job, request: dict[str, Any]) -> int:
        from kgplatform.workspace.workspace import lending

        if not _enter(request["folder"]):
            sys.stderr.write(f"kgplatform: this system keeps one folder a process; run it in {Path.cwd()}\n")
            return MISUSED

        def place(call: Call, run: Run) -> int:
            job.reads = call.reads
            if not call.reads and not self._takes_all:
                sys.stderr.write("kgplatform: the workspace is being written; run this again\n")
                return MISUSED
            with self._turn(is_reading=call.reads), lending(self._kg, job.client):
                return run()

        return self._command(request["words"], place)

    @contextmanager
    def _turn(self, *, is_reading: bool) -> Iterator[None]:
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
        """Takes no more commands, and lets those under way end: a server for some seconds, others until Ctrl-C."""
        with suppress(OSError):
            (self._kg.folder / FILE).unlink()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            self._is_closing = True
        try:
            self._wait(_GRACE_SECONDS if self._takes_all else float("inf"))
        finally:
            for job in self._under_way():
                job.interrupt()
                if job.thread is not None:
                    job.thread.join()
            sys.stdin, sys.stdout, sys.stderr = self._own

    def _under_way(self) -> list[_Job]:
        with self._lock:
            return [job for job in self._jobs if job.thread is not threading.current_thread()]

    def _wait(self, seconds: float) -> None:
        began, is_told = time.monotonic(), False
        while (found := self._under_way()) and time.monotonic() - began < seconds:
            if found[0].thread is not None:
                found[0].thread.join(min(1.0, seconds))
            if not is_told and self._under_way():
                is_told = True
                self._own[2].write("waits for another command that reads the workspace; Ctrl-C stops it\n")


def _enter(folder: str) -> bool:
    """Makes the folder the one of this thread alone; false where threads cannot have one of their own."""
    if folder == str(Path.cwd()):
        return True
    with suppress(OSError, AttributeError):
        if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_FS) == 0:
            os.chdir(folder)
            return True
    return False
