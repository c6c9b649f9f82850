"""A real server over the small workspace, in a process of its own, for tests that ask it from outside."""

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def small_server(folder, *, settings="timeout_seconds=3"):
    """The address of the server and its process id; ``settings`` are arguments of ``ServerSettings``."""
    code = (
        "from pathlib import Path; from small_graph import small_graph; from kgplatform.server.app import serve\n"
        "from kgplatform.settings import ServerSettings\n"
        f"kg = small_graph(Path({str(folder)!r}), server=ServerSettings({settings}))\n"
        f"serve(kg, port={free_port()}, announce=lambda line: print(line, flush=True))\n"
    )
    here = Path(__file__).parent
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(here.parent)},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    match = re.search(r"http://127\.0\.0\.1:\d+", line)
    assert match, process.stderr.read()
    try:
        yield match.group(), process.pid
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
        assert "Traceback" not in process.stderr.read()
        assert not (folder / "workers").exists()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
