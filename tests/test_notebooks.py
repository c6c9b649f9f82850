"""The page on notebooks and the notebook of the examples: what they show is what comes out."""

import contextlib
import io
import json
import re
import warnings
from pathlib import Path

import pytest
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


NOTEBOOK = ROOT / "examples" / "notebook.ipynb"


def test_the_notebook_keeps_no_outputs():
    cells = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 8
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


@pytest.mark.slow
def test_the_notebook_runs_without_a_network(monkeypatch):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    book = nbformat.read(NOTEBOOK, as_version=4)
    guard = nbformat.v4.new_code_cell(GUARD)
    book.cells.insert(0, guard)
    with warnings.catch_warnings(action="ignore"):  # the client's own
        nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
    shown = [str(output) for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("<blockquote>" in text and "24" in text for text in shown)  # the answer
    assert any("Lakesid Inn" in text and "lakeside-inn" in text for text in shown)  # the matched column
    assert any("[24, 80]" in text for text in shown)  # rdflib
    assert any("It has 24 rooms." in text and "'text/plain'" in text for text in shown)  # LangChain


GUARD = """
import socket

_connect = socket.socket.connect


def connect(self, address):
    if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
        raise AssertionError(f"the notebook connects to {address}")
    return _connect(self, address)


socket.socket.connect = connect
"""
