"""SPARQL servers of this machine's own, for tests; skipped with one line where there are none."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
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


class VirtuosoServer:
    """A Virtuoso in a folder, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        if not self.is_there():
            pytest.skip("no Virtuoso: virtuoso-t and isql-vt are not on the path (Debian: virtuoso-opensource-7)")
        folder.mkdir()
        self._folder, self.port = folder, free_port()
        files = {"DatabaseFile": "db", "ErrorLogFile": "log", "LockFile": "lck", "TransactionFile": "trx"}
        lines = [f"{name} = {folder}/v.{end}" for name, end in {**files, "xa_persistent_file": "pxa"}.items()]
        temporary = [f"DatabaseFile = {folder}/t.db", f"TransactionFile = {folder}/t.trx"]
        parameters = [f"ServerPort = {free_port()}", "NumberOfBuffers = 5000"]
        web = [f"ServerPort = {self.port}", f"ServerRoot = {folder}"]
        sections = {"Database": lines, "TempDatabase": temporary, "Parameters": parameters, "HTTPServer": web}
        settings = "\n".join(f"[{name}]\n" + "\n".join(said) for name, said in sections.items())
        (folder / "v.ini").write_text(f"{settings}\n")
        self.start()

    @staticmethod
    def is_there() -> bool:
        """Whether its programs are on the path."""
        return bool(shutil.which("virtuoso-t") and shutil.which("isql-vt"))

    def start(self) -> None:
        """Starts it, and waits until it takes connections."""
        command = ["virtuoso-t", "+foreground", "+configfile", str(self._folder / "v.ini")]
        (self._folder / "v.lck").unlink(missing_ok=True)  # of one that was killed
        self.process = subprocess.Popen(command, cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        waited_for(lambda: listens(self.port) or self.process.poll() is not None, 180)
        assert self.process.poll() is None, "Virtuoso did not start"

    def kill(self) -> None:
        """Ends it at once."""
        self.process.kill()
        self.process.wait()

    @property
    def engine(self) -> RemoteStore:
        """What asks it."""
        address = f"http://127.0.0.1:{self.port}"
        return RemoteStore(address, profile_of("virtuoso"), user="dba", password="dba")


class RoughLine:
    """A proxy on the way to a port: of five connections one is slow, one is cut, one says everything twice.

    With a ``delay`` in seconds all are slow, and nothing else is wrong.
    """

    def __init__(self, port: int, delay: float = 0.0) -> None:
        self.delay, self.is_rough = delay, not delay
        self._port, self._count = port, 0
        self.cut = self.repeated = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def engine(self) -> RemoteStore:
        """What asks an Oxigraph server at the other end."""
        return RemoteStore(self.address, profile_of("oxigraph"))

    def close(self) -> None:
        """Takes no more connections."""
        self._listener.close()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._count += 1
            kind = self._count % 5 if self.is_rough else 0
            threading.Thread(target=self._pass, args=(connection, kind), daemon=True).start()

    def _pass(self, connection: socket.socket, kind: int) -> None:
        with connection:
            connection.settimeout(5)
            try:
                asked = self._read(connection)
                time.sleep(self.delay or (0.3 if kind == 1 else 0))
                if kind == 2:
                    self.cut += 1
                    self._sent(asked)  # done there, and nobody is told
                    return
                if kind == 3:
                    self.repeated += 1
                    self._sent(asked)
                connection.sendall(self._sent(asked))
            except OSError:
                return

    @staticmethod
    def _read(connection: socket.socket) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data:
            data += connection.recv(65536) or b"\r\n\r\n"
        head, _, body = data.partition(b"\r\n\r\n")
        length = next((int(row[15:]) for row in head.split(b"\r\n") if row.lower().startswith(b"content-length:")), 0)
        while len(body) < length:
            body += connection.recv(65536)
        return head + b"\r\n\r\n" + body

    def _sent(self, asked: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self._port), timeout=5) as link:
            link.sendall(asked)
            answer = b""
            while piece := link.recv(65536):
                answer += piece
            return answer
