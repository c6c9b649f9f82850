"""The page on notebooks and the notebook of the examples: what they show is what comes out."""

import base64
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
    monkeypatch.delenv("MPLBACKEND", raising=False)  # plots are shown as a notebook shows them
    book = nbformat.read(NOTEBOOK, as_version=4)
    guard = nbformat.v4.new_code_cell(GUARD)
    book.cells.insert(0, guard)
    with warnings.catch_warnings(action="ignore"):  # the client's own
        nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
    told, heading = {}, ""
    for cell in book.cells[1:]:
        if cell.cell_type == "markdown":
            heading = cell.source.splitlines()[0].lstrip("# ")
        else:
            told.setdefault(heading, []).append(outputs(cell))
    assert [len(cells) for cells in told.values()] == [1, 1, 2, 1, 1, 2]
    built = "".join(told["Build"][0]["stream"])
    assert re.fullmatch(r"Lakeside Inn .* [1-9]\d* statements\n通安客栈.* [1-9]\d* statements\n", built)
    (answer,) = told["Ask"][0]["text/html"]
    assert "<blockquote>" in answer
    assert "24" in answer
    rows, plotted = told["Rows as a data frame, plotted"]
    assert re.findall(r"<td>(.*?)</td>", *rows["text/html"]) == ["Lakeside Inn", "24", "通安客栈", "80"]
    short, long = sorted(bars(*plotted["image/png"]))
    assert short / long == pytest.approx(24 / 80, abs=0.02)
    matched = re.findall(r"<td>(.*?)</td>", *told["Match a column of names"][0]["text/html"])
    assert matched[::2] == ["Lakesid Inn", "通安客栈", "Nothing of the kind"]
    assert "lakeside-inn" in matched[1]
    assert "通安客栈" in matched[3]
    assert matched[5] == "None"
    assert told["As an rdflib store"][0]["text/plain"] == ["[24, 80]"]
    passage, closed = told["As a LangChain retriever"]
    assert "It has 24 rooms." in passage["text/plain"][0]
    assert closed == {}


def outputs(cell):
    """What a cell shows, by its kind; warnings and the like are none of it."""
    found = {}
    for output in cell.outputs:
        kinds = output.get("data") or ({"stream": output.text} if output.get("name") == "stdout" else {})
        for kind, content in kinds.items():
            found.setdefault(kind, []).append(content)
    return found


def bars(picture):
    """How long the bars of a plot are, in pixels of the first colour that matplotlib draws with."""
    import matplotlib.colors
    import matplotlib.image
    import numpy as np

    pixels = matplotlib.image.imread(io.BytesIO(base64.b64decode(picture)))[:, :, :3]
    drawn = np.abs(pixels - matplotlib.colors.to_rgb("C0")).max(axis=2) < 0.02
    lengths = drawn.sum(axis=1)
    starts = np.flatnonzero(np.diff((lengths > 0).astype(int)) == 1) + 1
    return [int(np.median(part[part > 0])) for part in np.split(lengths, starts)[1:]]


GUARD = """
import socket

_connect = socket.socket.connect


def connect(self, address):
    if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
        raise AssertionError(f"the notebook connects to {address}")
    return _connect(self, address)


socket.socket.connect = connect
"""
