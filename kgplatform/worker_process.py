"""A child process as its owner holds it: the process and its pipes; of a query worker, the snapshot it reads too."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from kgplatform import wire, worker

_AHEAD = 1 << 16
"""So much is read at once, so that a small reply takes one turn."""
_PACKAGE_ROOT = str(Path(__file__).resolve().parent.parent)


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
        self._poll = select.poll()
        self._ahead = bytearray()

    def launch(self, *arguments: str, opening: bytes = b"") -> bool:
        """Starts the process if it is not running; it gets ready while the caller goes on. Whether it was started."""
        if self._process is not None and self._process.poll() is None:
            return False
        self.kill()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", self._module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in a terminal is for the owner
            env={"PYTHONPATH": _PACKAGE_ROOT, "LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "2"},
        )
        assert self._process.stdout is not None
        self._ahead.clear()
        self._poll = select.poll()
        self._poll.register(self._process.stdout.fileno(), select.POLLIN)
        with suppress(BrokenPipeError):
            self._write(opening)
        return True

    def write(self, *pieces: bytes) -> None:
        """Hands bytes over.

        Raises:
            EndedError: there is no process to take them.
        """
        try:
            for piece in pieces:
                self._write(piece)
        except BrokenPipeError as error:
            raise EndedError(self._cause()) from error

    def _write(self, data: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

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
            return worker.OUT_OF_MEMORY
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
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


class WorkerProcess(ChildProcess):
    """A query worker: the process, and the snapshot that it reads."""

    def __init__(self, memory_bytes: int, prefixes: Mapping[str, str]) -> None:
        super().__init__(worker.__name__)
        self._memory_bytes = memory_bytes
        self._prefixes = json.dumps(dict(prefixes)).encode() + b"\n"
        self.snapshot: Snapshot | None = None

    def start(self, snapshot: Snapshot) -> None:
        """Starts the process if it is not running; it gets ready while the caller goes on."""
        self.launch(str(snapshot.path), str(self._memory_bytes), opening=self._prefixes)

    def send(self, request: wire.Request, snapshot: Snapshot) -> None:
        """Hands the request over.

        Raises:
            EndedError: there is no process to take it.
        """
        self.start(snapshot)
        self.write(wire.encode_request(request, str(snapshot.path)))
