"""Commands sent to the process that holds the workspace, so that two of them never meet over its files.

Whoever holds a workspace for long (`kgplatform.cli.holding`) says in a file in it, readable by its owner only, where
it listens on this machine and with which secret. A command reads the file, sends its arguments there, and prints what
comes back as it comes: to its user it is as if it ran here. Where nobody listens it does run here.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from kgplatform.errors import WorkspaceError, WorkspaceHeldError

FILE = "holder.json"
FRAME = struct.Struct(">cI")
OUT, ERROR, STATUS = b"O", b"E", b"S"
_HERE = frozenset({"create", "serve", "demo", "token", "conformance", "doctor", "mapping"})
_READING = frozenset({"query", "search", "show", "ask", "why", "dump", "versions"})
_PATIENCE_SECONDS = 5.0
_STEP_SECONDS = 0.1

Run: TypeAlias = Callable[[], int]


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a workspace: its process, the verb that it carries out, where it listens; for all, or for readers."""

    process: int
    verb: str
    port: int
    secret: str
    takes_all: bool


def is_reading(given: argparse.Namespace) -> bool:
    """Whether the command only reads, so that it may run beside others."""
    return given.verb in _READING or (given.verb == "documents" and given.action in ("list", "show"))


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


def carried_out(given: argparse.Namespace, words: Sequence[str], run: Run) -> int:
    """The exit status of the command, run by whoever holds the workspace, or else here.

    A command that writes waits while another is writing; Ctrl-C ends the wait.

    Raises:
        WorkspaceHeldError: a process that takes no commands has the workspace open.
        WorkspaceError: the process that ran the command ended in the middle.
    """
    if given.verb in _HERE or not hasattr(given, "workspace"):
        return run()
    deadline, is_told = time.monotonic() + _PATIENCE_SECONDS, False
    while True:
        found = holder(given.workspace)
        link = _connected(found) if found else None
        if found and link and (found.takes_all or is_reading(given)):
            with link:
                return _sent(link, found, words, given.workspace)
        if link is not None:
            link.close()
        try:
            return run()
        except WorkspaceHeldError:
            if found is None or link is None:
                if time.monotonic() > deadline:
                    raise
            elif not is_told:
                is_told = True
                sys.stderr.write(f"waits for `kgplatform {found.verb}` (process {found.process}) to end\n")
            time.sleep(_STEP_SECONDS)


def _connected(found: Holder) -> socket.socket | None:
    """A connection to the holder; None where it is no longer there."""
    with suppress(OSError):
        os.kill(found.process, 0)
        return socket.create_connection(("127.0.0.1", found.port), timeout=10)
    return None


def _sent(link: socket.socket, found: Holder, words: Sequence[str], workspace: Path) -> int:
    given = sys.stdin.buffer.read() if "-" in words else b""
    request = {
        "words": list(words),
        "folder": str(Path.cwd()),
        "input": given.decode("utf-8", "surrogateescape"),
        "is_terminal": sys.stderr.isatty(),
    }
    link.settimeout(None)
    ended = WorkspaceError(
        f"process {found.process}, which holds the workspace, ended in the middle; run this again", path=workspace
    )
    try:
        link.sendall(f"{found.secret}\n{json.dumps(request)}\n".encode())
        with link.makefile("rb") as replies:
            while head := replies.read(FRAME.size):
                kind, size = FRAME.unpack(head)
                payload = replies.read(size)
                if kind == STATUS:
                    return int(payload)
                stream = sys.stdout if kind == OUT else sys.stderr
                stream.buffer.write(payload)
                stream.flush()
    except BrokenPipeError:
        raise  # of our own output: whoever read it has had enough
    except (OSError, struct.error) as error:
        raise ended from error
    raise ended
