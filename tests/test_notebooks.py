"""The page on notebooks: what it shows is what comes out."""

import contextlib
import io
import re
from pathlib import Path

from interfaces import asked_workspace, served

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")


def shown(page):
    """The blocks of Python, each with the text that is shown after it, if any."""
    return re.findall(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", page, re.MULTILINE | re.DOTALL)


def test_the_transcripts_of_the_page_are_what_comes_out(tmp_path, monkeypatch):
    asked_workspace(tmp_path / "hotels")
    monkeypatch.chdir(tmp_path)
    blocks = shown(PAGE)
    assert len(blocks) >= 4
    names = {}
    with served(tmp_path / "served" / "w") as address:
        for code, wanted in blocks:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(code.replace("http://localhost:8000", address), names)
            assert printed.getvalue().rstrip() == wanted.rstrip()
