"""The files for running a cluster name verbs, options and settings that there are."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

from ruamel.yaml import YAML

from kgplatform import settings
from kgplatform.cluster.followers import remote_of

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "cluster"


def called():
    """The commands of all files, as lists of words."""
    services = YAML(typ="safe").load(FOLDER / "compose.yaml")["services"]
    for service in services.values():
        words = service.get("command", [])
        yield from (shlex.split(part) for part in re.split(r"[|&]{2}|;", words[2])) if words[:1] == ["sh"] else [words]
    for unit in (FOLDER / "systemd").glob("*.service"):
        yield shlex.split(re.search(r"^ExecStart=/opt/kgplatform/bin/(.+)$", unit.read_text(), re.M)[1])
    yield [
        word.strip('"')
        for word in re.search(r"^CMD \[(.+)\]$", (FOLDER / "Containerfile").read_text(), re.M)[1].split(", ")
    ]


def test_every_verb_and_option_of_the_files_exists():
    known = {}
    for words in called():
        while words and words[0] not in ("kgplatform", "dask"):
            words = words[1:]
        words = words[: words.index("}")] if "}" in words else words
        if not words or words[0] != "kgplatform":
            continue
        verb = words[1]
        if verb not in known:
            command = [sys.executable, "-m", "kgplatform", verb, "--help"]
            known[verb] = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert all(word in known[verb] for word in words if word.startswith("-")), words
    assert {"serve", "create", "backup", "restore"} <= known.keys()


def test_the_settings_are_settings_and_nothing_runs_as_root(tmp_path):
    text = (FOLDER / "settings.toml").read_text()
    (tmp_path / settings.FILE).write_text(f"journal = true\n{text}")
    read = settings.load(tmp_path)
    assert tomllib.loads(text)["cluster"]["dask"] == read.cluster.dask
    assert [remote_of(item).profile.name for item in (*read.cluster.followers, read.server.analytics)] == [
        "virtuoso"
    ] * 2
    assert re.search(r"^USER 10001$", (FOLDER / "Containerfile").read_text(), re.M)
    assert all("DynamicUser=yes" in unit.read_text() for unit in (FOLDER / "systemd").glob("*.service"))
