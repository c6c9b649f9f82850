"""The scripts of the pages: a lock without addresses, a build that needs doing only once, words that exist, a bundle
within its budget; and a server that says so where nothing is built."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kgplatform.cli import doctor
from kgplatform.web import assets
from kgplatform.web.assets import FOLDER, built
from kgplatform.web.words import WORDS, scripted

ROOT = Path(__file__).resolve().parents[1]
FRONTEND = ROOT / "frontend"
FIRST_PAGE_BYTES = 100_000


def sources() -> list[Path]:
    return sorted((FRONTEND / "src").rglob("*.js"))


def manifest() -> dict[str, object]:
    if not (FOLDER / "manifest.json").is_file():
        pytest.skip("the assets of the pages are not built: make web")
    found: dict[str, object] = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))
    return found


def test_the_lock_names_versions_and_digests_but_no_address() -> None:
    text = (FRONTEND / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in text
    assert "://" not in re.sub(r'"(?:url|funding)": "[^"]*"', "", text)
    packages = {name: item for name, item in json.loads(text)["packages"].items() if name}
    assert len(packages) > 40
    assert all(item.get("integrity", "").startswith("sha512-") for item in packages.values())
    rules = (FRONTEND / ".npmrc").read_text(encoding="utf-8").split()
    assert {"omit-lockfile-registry-resolved=true", "ignore-scripts=true"} <= set(rules)


def test_every_package_is_pinned_to_one_version() -> None:
    record = json.loads((FRONTEND / "package.json").read_text(encoding="utf-8"))
    pins = {**record["dependencies"], **record["devDependencies"]}
    assert [name for name, version in pins.items() if not re.fullmatch(r"\d+\.\d+\.\d+", version)] == []
    assert "codemirror" not in pins  # its newest release is mislabelled; the parts are named one by one


def test_every_word_that_scripts_use_is_sent_to_them_in_both_languages() -> None:
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


def test_no_script_makes_markup_of_text_or_asks_another_host() -> None:
    for path in sources():
        text = path.read_text(encoding="utf-8")
        for banned in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert banned not in text, (path.name, banned)
        assert [found for found in re.findall(r"https?://[^\s\"'`)]+", text) if "www.w3.org" not in found] == []


def test_the_bundle_is_whole_and_names_the_licence_of_every_package() -> None:
    record = manifest()
    files = {path.name for path in FOLDER.iterdir()} - {"manifest.json", "THIRD-PARTY.txt", ".stamp"}
    assert set(record["files"]) == files  # type: ignore[call-overload]
    assert set(built().entries) == {"app.js", "app.css"}
    licences = (FOLDER / "THIRD-PARTY.txt").read_text(encoding="utf-8")
    for name in (
        "@codemirror/view",
        "cytoscape",
        "leaflet",
        "@observablehq/plot",
        "d3-array",
        "@fontsource-variable/inter",
    ):
        assert re.search(rf"^{re.escape(name)} \d", licences, re.MULTILINE), name
    assert "SIL OPEN FONT LICENSE" in licences
    assert "GPL" not in re.sub(r"compatible with the GPL|LGPL", "", licences)


def test_the_first_page_is_light() -> None:
    names = manifest()
    entry = (FOLDER / built().entries["app.js"]).read_text(encoding="utf-8")
    wanted, seen = re.findall(r"""from\s*["']\./([\w.-]+)["']|import\s*["']\./([\w.-]+)["']""", entry), set()
    loaded = [(FOLDER / built().entries[name]).read_bytes() for name in ("app.js", "app.css")]
    for pair in wanted:
        name = "".join(pair)
        if name not in seen:
            seen.add(name)
            loaded.append((FOLDER / name).read_bytes())
    loaded += [path.read_bytes() for path in (ROOT / "templates" / "static").glob("kgplatform.*")]
    assert sum(len(gzip.compress(data)) for data in loaded) < FIRST_PAGE_BYTES, names


def test_a_second_build_does_nothing(tmp_path: Path) -> None:
    manifest()
    tree = tmp_path / "tree"
    shutil.copytree(FRONTEND, tree / "frontend", ignore=shutil.ignore_patterns("node_modules"))
    shutil.copytree(ROOT / "tools", tree / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(FOLDER, tree / "kgplatform" / "web" / "static")
    where = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "tools/web.py"], cwd=tree, env=where, capture_output=True, text=True, check=False
    )
    if "up to date" not in done.stderr:
        pytest.skip("the assets are older than their sources: make web")
    (tree / "frontend" / "src" / "app.js").write_text("// changed\n", encoding="utf-8")
    for required, status in (("0", 0), ("1", 1)):
        where["KGPLATFORM_REQUIRE_WEB"] = required
        done = subprocess.run(
            [sys.executable, "tools/web.py"], cwd=tree, env=where, capture_output=True, text=True, check=False
        )
        assert done.returncode == status
        assert "Node.js 20+ with npm is needed" in done.stderr
        assert done.stderr.count("\n") == 1
    assert (tree / "kgplatform" / "web" / "static" / "manifest.json").is_file()


def test_without_a_build_there_are_no_entries_and_doctor_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert not built(tmp_path)
    assert built(tmp_path).address("app.js") == ""
    (tmp_path / "manifest.json").write_text("{", encoding="utf-8")
    assert not built(tmp_path)
    monkeypatch.setattr(doctor, "is_built", lambda: False)
    (finding,) = [item for item in doctor.examine(tmp_path) if item.what == "pages"]
    assert finding.mark == "note"
    assert "make web" in finding.finding
    assert finding.finding == assets.NOT_BUILT


def test_words_of_pages_do_not_redefine_each_other() -> None:
    from kgplatform.web import words

    for part in words.PARTS:
        for key, pair in part.WORDS.items():
            assert WORDS[key] == pair, (part.__name__, key)
