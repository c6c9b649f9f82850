"""What is built is whole: wheel, source distribution and editable install all carry the three data folders.

hatchling leaves out a folder that is missing or ignored without a word, so what lies in the checkout is compared with
what arrives. Everything happens in a temporary folder and without the network: the built package goes into a virtual
environment of its own, which sees the dependencies of the running one.
"""

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA = ("ontology", "sparql", "templates")
IN_WHEEL = "kgplatform/_files"
WHERE = f"from kgplatform import resources; print(*(resources.folder(name) for name in {DATA!r}), sep='\\n')"


def run(*command, folder):
    """The standard output of a command that succeeds, run with no trace of the checkout on its path."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV", "PIP_"))}
    environment["KGPLATFORM_WEB"] = "keep"  # the assets of the pages go in as they are; building them needs the network
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def hook(name, *, source, into):
    """What one hook of the build backend makes of the sources, called as pip calls it."""
    into.mkdir(parents=True, exist_ok=True)
    line = f"import sys; from hatchling.build import {name} as build; print(build(sys.argv[1]))"
    return into / run(sys.executable, "-c", line, into, folder=source).split()[-1]


def shipped_files():
    """The paths below the data folders that git keeps or would keep; all of them where there is no checkout."""
    if (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *DATA]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    else:
        listed = [path.relative_to(ROOT).as_posix() for name in DATA for path in (ROOT / name).rglob("*")]
    return {name for name in listed if name and (ROOT / name).is_file() and not name.endswith((".py", ".pyc"))}


def carried_files(wheel):
    """The paths below the data folders that the wheel carries, as they are called in the checkout."""
    names = zipfile.ZipFile(wheel).namelist()
    return {name.removeprefix(f"{IN_WHEEL}/") for name in names if name.startswith(f"{IN_WHEEL}/")}


@dataclass(frozen=True, slots=True)
class Built:
    """The three things that can be built, and what unpacking and building the second again gives."""

    wheel: Path
    sdist: Path
    editable: Path
    wheel_from_sdist: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    sdist = hook("build_sdist", source=ROOT, into=folder / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    return Built(
        wheel=hook("build_wheel", source=ROOT, into=folder / "wheel"),
        sdist=sdist,
        editable=hook("build_editable", source=ROOT, into=folder / "editable"),
        wheel_from_sdist=hook("build_wheel", source=unpacked, into=folder / "again"),
    )


def installed(wheel, folder):
    """The folder of programs of a new virtual environment that has this wheel and, for the rest, what runs here."""
    venv.create(folder, with_pip=False, symlinks=True)
    programs = Path(sysconfig.get_path("scripts", "venv", {"base": str(folder), "platbase": str(folder)}))
    pip = (sys.executable, "-m", "pip", "--isolated", "--python", programs / "python", "install", "--quiet")
    run(*pip, "--no-deps", "--no-index", "--no-compile", wheel, folder=folder)
    # Only now, so that pip did not see the package that is installed here. A .pth file inside a folder named by a
    # .pth file is not read, so an editable install of the running environment stays out of sight as well.
    packages = run(
        programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=folder
    ).strip()
    ours = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    (Path(packages) / "running-environment.pth").write_text("\n".join(ours) + "\n", encoding="utf-8")
    return programs


def folders_seen(programs, folder):
    return [Path(line) for line in run(programs / "python", "-c", WHERE, folder=folder).splitlines()]


@pytest.mark.slow
def test_wheel_carries_exactly_the_package_and_the_data_files_of_the_checkout(built):
    expected = shipped_files()
    assert {Path(name).parts[0] for name in expected} == set(DATA)
    assert carried_files(built.wheel) == expected
    first, again = zipfile.ZipFile(built.wheel), zipfile.ZipFile(built.wheel_from_sdist)
    names = set(first.namelist())
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "kgplatform").rglob("*.py")} <= names
    assert "kgplatform/py.typed" in names
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"kgplatform"}
    assert sorted(names) == sorted(again.namelist())
    assert all(first.read(name) == again.read(name) for name in names)


@pytest.mark.slow
def test_source_distribution_carries_what_is_needed_to_test_it(built):
    with tarfile.open(built.sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "Makefile", "constraints.txt", "pyproject.toml"} <= names
    assert {f"tests/{path.name}" for path in (ROOT / "tests").glob("*.py")} <= names
    assert {"hatch_build.py", "tools/web.py", "frontend/package-lock.json", "frontend/.npmrc"} <= names
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "frontend" / "src").rglob("*.*")} <= names
    assert not [name for name in names if "node_modules" in name]
    assert shipped_files() <= names
    static = ROOT / "kgplatform" / "server" / "static"  # git ignores them
    if (static / "manifest.json").is_file():
        assets = {path.relative_to(ROOT).as_posix() for path in static.iterdir()}
        assert assets <= names & set(zipfile.ZipFile(built.wheel).namelist())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "wheel_from_sdist"])
def test_an_installed_wheel_runs_on_the_files_it_brought(built, kind, tmp_path):
    programs = installed(getattr(built, kind), tmp_path / "venv")
    shown = run(programs / "kgplatform", "--help", folder=tmp_path)
    assert "create" in shown
    assert "courses, literature" in shown  # as plug-ins
    seen = folders_seen(programs, tmp_path)
    assert [path.name for path in seen] == list(DATA)
    for path in seen:
        assert path.is_relative_to(tmp_path / "venv")
        assert any(file.is_file() for file in path.rglob("*"))


@pytest.mark.slow
def test_an_editable_install_runs_on_the_files_of_the_checkout(built, tmp_path):
    programs = installed(built.editable, tmp_path / "venv")
    assert "create" in run(programs / "kgplatform", "--help", folder=tmp_path)
    assert folders_seen(programs, tmp_path) == [ROOT / name for name in DATA]
    assert not carried_files(built.editable)


def test_dependencies_are_pinned_without_a_place_or_a_graphics_card():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert "torch==2.13.0" in pins
    for pin in pins:
        name, equals, version = pin.partition("==")
        assert equals, pin
        assert version, pin
        assert not set(pin) & set("@/+ "), pin
        assert not name.lower().startswith(("nvidia", "triton", "cuda", "kgplatform")), pin
