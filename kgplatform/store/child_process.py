"""A child process as its owner holds it: its channels; of a query worker, the snapshot that it reads too."""

from __future__ import annotations

import ctypes
import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from kgplatform.store import handover, wire, worker

_RETURN: Final = wire.encode_request(wire.Request("", task=wire.Task.RETURN), "")
_AHEAD = 1 << 16
"""So much is read at once, so that a small reply takes one turn."""
_PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])


class Snapshot:
    """A state of the store on disk, removed when it is neither the newest nor used, unless it is somebody else's."""

    def __init__(self, path: Path, version: int, *, is_kept: bool = False) -> None:
        self.path = path
        self.version = version
        self.is_kept = is_kept
        self.users = 0


class EndedError(Exception):
    """The worker's process ended; the text is why, as far as it is known."""


class ChildProcess:
    """A process that may be killed at any moment: it runs a module, takes requests and replies in frames.

    It is started when it is first needed, and again after it was killed.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._poll = select.poll()
        self._ahead = bytearray()

    def launch(self, *arguments: str, opening: bytes = b"", files: Sequence[int] = ()) -> bool:
        """Starts the process if it is not running; it gets ready while the caller goes on. True if it was started.

        ``files`` are descriptors that it is to have too, by the same numbers.
        """
        if self.is_running:
            return False
        self.kill()
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", self._module, *arguments],
                stdin=theirs.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                process_group=0,  # Ctrl-C in a terminal is for the owner; a session would be scheduled by itself
                pass_fds=files,
                env={"PYTHONPATH": _PACKAGE_ROOT, "LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "2"},
            )
        assert self._process.stdout is not None
        self._ahead.clear()
        self._poll = select.poll()
        self._poll.register(self._process.stdout.fileno(), select.POLLIN)
        with suppress(OSError):
            self._control.sendall(opening)
        return True

    @property
    def is_running(self) -> bool:
        """True if there is a process."""
        return self._process is not None and self._process.poll() is None

    def write(self, *pieces: bytes) -> None:
        """Hands bytes over.

        Raises:
            EndedError: there is no process to take them.
        """
        assert self._control is not None
        try:
            for piece in pieces:
                self._control.sendall(piece)
        except OSError as error:
            raise EndedError(self._cause()) from error

    def has_come(self, deadline: float) -> bool:
        """True if there is something to be read, or the end, before the deadline (of the monotonic clock)."""
        return bool(self._ahead or self._poll.poll(max(0.0, deadline - time.monotonic()) * 1000))

    def read(self, size: int, deadline: float) -> bytes:
        """The next ``size`` bytes of the reply.

        Raises:
            TimeoutError: the deadline (of the monotonic clock) passed first.
            EndedError: the process ended first.
        """
        assert self._process is not None
        assert self._process.stdout is not None
        found = self._ahead
        while len(found) < size:
            left = deadline - time.monotonic()
            if left <= 0 or not self._poll.poll(left * 1000):
                raise TimeoutError
            piece = os.read(self._process.stdout.fileno(), max(_AHEAD, size - len(found)))
            if not piece:
                raise EndedError(self._cause())
            found += piece
        taken = bytes(found[:size])
        del found[:size]
        return taken

    def _cause(self) -> str:
        """Why the process ended, from its last words and signal."""
        assert self._process is not None
        assert self._process.stderr is not None
        try:
            self._process.wait(timeout=2)
            words = self._process.stderr.read(1 << 16).decode("utf-8", "replace")
        except (subprocess.TimeoutExpired, ValueError):
            words = ""
        if any(sign in words for sign in ("memory allocation", "bad_alloc", "MemoryError", "Cannot allocate")):
            return wire.OUT_OF_MEMORY
        return f"signal {-code}" if (code := self._process.returncode or 0) < 0 else f"exit code {code}"

    def interrupt(self) -> None:
        """Ends the process; whoever reads from it sees its end."""
        if (process := self._process) is not None:
            process.kill()

    def kill(self) -> None:
        """Ends the process at once, if there is one, and lets its pipes go."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for end in (self._control, process.stdout, process.stderr):
            if end is not None:
                with suppress(OSError):
                    end.close()


class WorkerProcess(ChildProcess):
    """A query worker: the process, the snapshot that it reads, and whose connection it has."""

    def __init__(
        self, memory_bytes: int, prefixes: Mapping[str, str], *, takes_connections: bool = False, niceness: int = 0
    ) -> None:
        super().__init__(worker.__name__)
        self._niceness = niceness
        self._memory_bytes = memory_bytes
        self._prefixes = json.dumps(dict(prefixes)).encode() + b"\n"
        self.snapshot: Snapshot | None = None
        self.client = ""
        self.board: handover.Board | None = None
        self._files: tuple[int, ...] = ()
        if takes_connections and handover.IS_POSSIBLE:
            self._files = (os.memfd_create("board"),)
            os.ftruncate(self._files[0], ctypes.sizeof(handover.Board))
            self.board = handover.Board.on(self._files[0])

    def start(self, snapshot: Snapshot) -> None:
        """Starts the process if it is not running; it gets ready while the caller goes on."""
        if self.is_running:
            return
        if self.board is not None:
            self.board.clear()
        files = self._files
        self.launch(str(snapshot.path), str(self._memory_bytes), *map(str, files), opening=self._prefixes, files=files)
        if self._niceness and self._process is not None:
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, self._process.pid, self._niceness)

    def release(self) -> None:
        """Ends the process for good."""
        self.kill()
        files, self._files, self.board = self._files, (), None
        for file in files:
            os.close(file)

    def hand_over(self, connection: socket.socket, client: str, terms: str) -> bool:
        """Passes a connection on, to be answered on from the snapshot; false where the process takes nothing more."""
        assert self._control is not None
        assert self.snapshot is not None
        request = wire.Request(terms, task=wire.Task.CONNECTION, version=self.snapshot.version)
        self.client = client
        try:
            socket.send_fds(
                self._control, [wire.encode_request(request, str(self.snapshot.path))], [connection.fileno()]
            )
        except OSError:
            self.client = ""
            return False
        return True

    def want_back(self) -> None:
        """Asks for the connection back, soon if it is not being answered on."""
        with suppress(OSError, AttributeError):
            self._control.send(_RETURN)  # type: ignore[union-attr]

    def output(self) -> int:
        """The descriptor from which the frame comes with which a connection goes back."""
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def frame(self) -> tuple[bytes, bytes]:
        """That frame; raises as `read`."""
        deadline = time.monotonic() + 5
        kind, size = wire.HEAD.unpack(self.read(wire.HEAD.size, deadline))
        return kind, self.read(size, deadline)

    def ended(self) -> tuple[int, str]:
        """With which code the process ended, and why."""
        cause = self._cause()
        assert self._process is not None
        return self._process.returncode or 0, cause

    def send(self, request: wire.Request, snapshot: Snapshot) -> None:
        """Hands the request over.

        Raises:
            EndedError: there is no process to take it.
        """
        self.start(snapshot)
        self.write(wire.encode_request(request, str(snapshot.path)))
