"""An Oxigraph server of this machine's own, for tests; skipped with one line where there is none."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kgplatform.cluster.followers import RemoteStore, profile_of


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def listens(port: int) -> bool:
    """Whether somebody takes connections at that port."""
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def waited_for(ready: Callable[[], object], seconds: float = 60) -> None:
    """Waits until it is so."""
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.1)


class OxigraphServer:
    """An Oxigraph server in a folder, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("oxigraph") or str(Path(sys.executable).with_name("oxigraph"))
        if not Path(program).exists():
            pytest.skip("no Oxigraph server: pip install oxigraph")
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self._command = [program, "serve", "--location", str(folder), "--bind", f"127.0.0.1:{self.port}"]
        self.start()

    def start(self) -> None:
        """Starts it, and waits until it takes connections."""
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        waited_for(lambda: listens(self.port))

    def kill(self) -> None:
        """Ends it at once."""
        self.process.kill()
        self.process.wait()

    @property
    def engine(self) -> RemoteStore:
        """What asks it."""
        return RemoteStore(self.address, profile_of("oxigraph"))
