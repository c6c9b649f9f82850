"""An empty workspace of its own, served by a process of its own, for as long as the tests take."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kgplatform.conformance.http_tests import Server
from kgplatform.errors import KgPlatformError
from kgplatform.graph import KnowledgeGraph

_ADDRESS = re.compile(r"http://[\w.\[\]:]+:\d+")
_PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])


@contextmanager
def served() -> Iterator[Server]:
    """A server on a free port of this machine; it ends, and its workspace goes, with the context.

    Raises:
        KgPlatformError: it did not start.
    """
    with tempfile.TemporaryDirectory(prefix="kgplatform-conformance-") as folder:
        workspace = Path(folder) / "workspace"
        KnowledgeGraph.create(workspace).close()
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "kgplatform", "serve", "-w", str(workspace), "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=_PACKAGE_ROOT,
        )
        try:
            yield Server(_address(process))
        finally:
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=20)
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if found := _ADDRESS.search(line):
            return found.group()
    raise KgPlatformError(f"the server did not start: {' '.join(said)[-500:]}")
