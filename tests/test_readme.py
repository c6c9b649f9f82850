"""The README's tour is run as it stands: every command, and the Python too."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent
_README = (_ROOT / "README.md").read_text(encoding="utf-8")
_SERVE_SECONDS = 60


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", _README, re.MULTILINE | re.DOTALL)


def _commands() -> list[str]:
    return [line[2:] for block in _blocks("console") for line in block.splitlines() if line.startswith("$ ")]


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the samples in it, as a checkout has them."""
    folder = tmp_path_factory.mktemp("tour")
    shutil.copytree(_ROOT / "examples", folder / "examples")
    return folder


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def _run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        shlex.split(command), cwd=folder, env=_environment(), capture_output=True, text=True, timeout=300, check=False
    )


def _serve(command: str, folder: Path) -> None:
    """Starts the server, fetches a page and an answer of the endpoint, and stops it."""
    server = subprocess.Popen(
        shlex.split(command), cwd=folder, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        page = _fetched("http://127.0.0.1:8321/", server)
        assert "Ask" in page
        assert "boolean" in _fetched("http://127.0.0.1:8321/sparql?query=ASK%20%7B%20%3Fs%20%3Fp%20%3Fo%20%7D", server)
    finally:
        server.send_signal(signal.SIGTERM)  # SIGINT is ignored where a shell runs us in the background
        _, complaint = server.communicate(timeout=30)
    assert "Traceback" not in complaint


def _fetched(address: str, server: subprocess.Popen[str]) -> str:
    deadline = time.monotonic() + _SERVE_SECONDS
    while True:
        try:
            with urllib.request.urlopen(address, timeout=30) as reply:
                return str(reply.read().decode())
        except OSError:
            assert server.poll() is None, server.communicate()[1]
            assert time.monotonic() < deadline, f"{address} does not answer"
            time.sleep(0.2)


def test_every_command_of_the_tour_works(tour: Path) -> None:
    folder = tour
    outputs: dict[str, str] = {}
    for command in _commands():
        if command.startswith("cd "):
            folder = (folder / command[3:]).resolve()
            continue
        if " serve" in command:
            _serve(command, folder)
            continue
        result = _run(command, folder)
        assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
        outputs[command] = result.stdout
    asked = [output for command, output in outputs.items() if " ask " in command]
    assert len(asked) == 2
    assert all("SELECT" in output for output in asked)
    assert (folder / "graph.trig").stat().st_size > 10_000
    assert (folder / "graph.ttl").stat().st_size > 10_000


def test_the_python_of_the_readme_runs(tour: Path) -> None:
    (code,) = _blocks("python")
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tour,
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "statements" in result.stdout


def test_every_file_that_the_readme_links_to_exists() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", _README)
    missing = [link for link in links if not (_ROOT / link).exists()]
    assert not missing
