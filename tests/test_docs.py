"""What the documentation says is what there is: verbs, settings, links, threats with their tests, the README's tour."""

import ast
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import fields, is_dataclass
from pathlib import Path

import click
import pytest

from kgplatform.cli.main import COMMAND_LINE
from kgplatform.settings import Settings

_DOCS = Path(__file__).resolve().parent.parent / "docs"


def _verbs():
    context = click.Context(COMMAND_LINE)
    found = {name: COMMAND_LINE.get_command(context, name) for name in COMMAND_LINE.list_commands(context)}
    return {name: verb for name, verb in found.items() if verb is not None}


def test_every_verb_is_documented_with_its_options():
    rows = {
        row.split()[0]: row
        for row in re.findall(r"^\| `(.+?)` \|", (_DOCS / "cli.md").read_text("utf-8"), re.MULTILINE)
    }
    verbs = _verbs()
    assert rows.keys() == verbs.keys()
    for name, verb in verbs.items():
        options = {option for item in verb.params if isinstance(item, click.Option) for option in item.opts}
        assert {option for option in options - {"-w", "--workspace", "--text"} if option not in rows[name]} == set()
        assert all(item.help for item in verb.params if isinstance(item, click.Option)), name
        assert verb.help, name


def _settings(section, path=""):
    found = {}
    for item in fields(section):
        value = getattr(section, item.name)
        if is_dataclass(value):
            found |= _settings(value, f"{path}{item.name}.")
        else:
            found[f"{path}{item.name}"] = value
    return found


def _written(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return "[]" if value == () else str(value)


def test_every_setting_is_documented_with_its_default():
    table = dict(re.findall(r"^\| `([\w.]+)` \| `(.+?)` \|", (_DOCS / "settings.md").read_text("utf-8"), re.MULTILINE))
    assert table == {name: _written(value) for name, value in _settings(Settings()).items()}


def test_every_link_between_documents_leads_somewhere():
    for page in _DOCS.glob("*.md"):
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


_ROOT = Path(__file__).resolve().parent.parent
_README = (_ROOT / "README.md").read_text(encoding="utf-8")
_SERVE_SECONDS = 60


def _blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", _README, re.MULTILINE | re.DOTALL)


def _commands():
    return [line[2:] for block in _blocks("console") for line in block.splitlines() if line.startswith("$ ")]


@pytest.fixture(scope="module")
def tour(tmp_path_factory):
    """A folder with the samples in it, as a checkout has them."""
    folder = tmp_path_factory.mktemp("tour")
    shutil.copytree(_ROOT / "examples", folder / "examples")
    return folder


def _environment():
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def _run(command, folder):
    return subprocess.run(
        shlex.split(command), cwd=folder, env=_environment(), capture_output=True, text=True, timeout=300, check=False
    )


def _serve(command, folder):
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


def _fetched(address, server):
    deadline = time.monotonic() + _SERVE_SECONDS
    while True:
        try:
            with urllib.request.urlopen(address, timeout=30) as reply:
                return str(reply.read().decode())
        except OSError:
            assert server.poll() is None, server.communicate()[1]
            assert time.monotonic() < deadline, f"{address} does not answer"
            time.sleep(0.2)


@pytest.mark.slow
def test_every_command_of_the_tour_works(tour):
    folder = tour
    outputs = {}
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


@pytest.mark.slow
def test_the_python_of_the_readme_runs(tour):
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


def _alike(text):
    """A text with its digests, times and numbers levelled, which differ from run to run."""
    levelled = re.sub(r"\b[0-9a-f]{64}\b", "DIGEST", re.sub(r"\d{4}-\d\d-\d\dT[\d:]+(\+00:00|Z)", "TIME", text))
    return re.sub(r"\d[\d,]*", "N", re.sub(r"(?m)[ \t]+$", "", levelled))


@pytest.mark.slow
@pytest.mark.parametrize("page", ["access", "journal", "operations"])
def test_the_transcripts_of_commands_run(page, tmp_path):
    command = tmp_path / "bin" / "kgplatform"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH={_ROOT} exec {sys.executable} -m kgplatform "$@"\n')
    command.chmod(0o755)
    (transcript,) = re.findall(r"^```console\n(.*?)^```$", (_DOCS / f"{page}.md").read_text("utf-8"), re.M | re.S)
    steps = re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", transcript, re.MULTILINE)
    assert len(steps) == transcript.count("$ ")
    for line, shown in steps:
        environment = {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}"}
        ran = subprocess.run(
            ["bash", "-c", line],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert (ran.returncode, ran.stderr) == (0, ""), line
        assert _alike(ran.stdout) == _alike(shown), line


def test_every_file_that_the_readme_links_to_exists():
    links = re.findall(r"\]\((?!https?:)([^)#]+)", _README)
    missing = [link for link in links if not (_ROOT / link).exists()]
    assert not missing


TESTS = Path(__file__).resolve().parent


def test_every_threat_is_tied_to_a_test_that_exists():
    text = (TESTS.parent / "docs" / "threat-model.md").read_text(encoding="utf-8")
    rows = [row for row in re.findall(r"^\| .+ \|$", text, re.MULTILINE) if not row.startswith("| who |")]
    assert len(rows) > 25
    for row in rows:
        named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", row)
        assert len(named) == 1, row
        file, name = named[0]
        tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, row
