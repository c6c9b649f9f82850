"""The files for running a cluster name verbs, options and settings that there are."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

from ruamel.yaml import YAML

from kgplatform import settings
from kgplatform.cluster.followers import remote_of

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "examples" / "cluster"


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
    units = {unit.name: unit.read_text() for unit in (FOLDER / "systemd").iterdir()}
    assert all("DynamicUser=yes" in text for name, text in units.items() if name.endswith(".service"))
    for name in units:
        assert name.endswith(".service") or name.removesuffix(".timer") + ".service" in units


def sent_to_a_build():
    """The entries at the root of the repository that a container is built from, and the patterns left out of them."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if line and not line.startswith("#")]
    assert lines[0] == "*", "nothing unless it is named"
    return [line[1:] for line in lines[1:] if line.startswith("!")], [line for line in lines[1:] if line[0] != "!"]


def test_a_container_is_built_from_what_a_package_is_built_from_and_no_more(tmp_path):
    named, left_out = sent_to_a_build()
    assert not {".git", ".venv", "demo", "build", "tests"} & set(named)
    assert {"frontend/node_modules", "kgplatform/server/static", "**/__pycache__"} <= set(left_out)
    for name in named:  # as COPY takes it, the assets stood in for
        source, target = ROOT / name, tmp_path / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("node_modules", "static", "__pycache__"))
        else:
            shutil.copy(source, target)
    static = tmp_path / "kgplatform" / "server" / "static"
    static.mkdir()
    (static / "manifest.json").write_text("{}")
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(tmp_path / "out"),
        str(tmp_path),
    ]
    environment = {**os.environ, "KGPLATFORM_WEB": "keep"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (wheel,) = (tmp_path / "out").glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    assert {"kgplatform/server/static/manifest.json", "kgplatform/graph.py"} <= held
    assert any(name.startswith("kgplatform/_files/ontology/") for name in held)


def test_the_container_file_copies_what_is_sent_and_builds_the_pages_with_the_lock():
    text = (FOLDER / "Containerfile").read_text(encoding="utf-8")
    named, _ = sent_to_a_build()
    copied = re.findall(r"^COPY (?!--from)(\S+) ", text, re.M)
    assert copied == ["frontend", "."]
    assert set(copied) - {"."} <= set(named)
    used = re.findall(r"/source/([\w.]+)", text)
    assert set(used) <= {*named, "frontend"}
    stages = re.findall(r"^FROM \S+(?: AS (\w+))?$", text, re.M)
    assert stages == ["pages", ""]
    assert set(re.findall(r"--from=(\w+)", text)) == {"pages"}
    assert "npm ci" in text
    assert (ROOT / "frontend" / "package-lock.json").is_file()
    assert 'join(here, "..", "kgplatform", "server", "static")' in (ROOT / "frontend" / "build.mjs").read_text()
    assert re.search(r"^ARG PIP_EXTRA_INDEX_URL$", text, re.M)
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.M))
    for name, version in re.findall(r"([\w-]+)==([\w.]+)", text):
        assert pinned[name.replace("-", "_")] == version, name
