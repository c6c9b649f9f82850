"""Tables made to do harm: a small file that stands for very much costs its own adding, and memory stays bounded."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import duckdb
import pytest

from kgplatform.building import tabular
from kgplatform.documents.parsing import ParserLimits, Parsers
from kgplatform.documents.tabular import json_file, json_stream
from kgplatform.documents.tabular.opening import is_heavy, open_table
from kgplatform.errors import ReadError
from kgplatform.graph import KnowledgeGraph
from kgplatform.testing import HashEmbedder

MEMORY = 1_500_000_000
PARTS = {
    "[Content_Types].xml": (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/>'
        '<Override PartName="/xl/workbook.xml" ContentType='
        '"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
        '<Override PartName="/xl/worksheets/sheet1.xml" ContentType='
        '"application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>'
        '<Override PartName="/xl/sharedStrings.xml" ContentType='
        '"application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/></Types>'
    ),
    "_rels/.rels": (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/workbook.xml": (
        '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
        '<sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>'
    ),
    "xl/_rels/workbook.xml.rels": (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" '
        'Target="worksheets/sheet1.xml"/><Relationship Id="r2" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" '
        'Target="sharedStrings.xml"/></Relationships>'
    ),
    "xl/worksheets/sheet1.xml": (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
        '<row r="1"><c r="A1" t="s"><v>0</v></c></row><row r="2"><c r="A2" t="s"><v>1</v></c></row>'
        "</sheetData></worksheet>"
    ),
}


@pytest.fixture(scope="module")
def workbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few hundred kilobytes that unpack to 120 MB of strings, two million of them."""
    path = tmp_path_factory.mktemp("bomb") / "prices.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in PARTS.items():
            archive.writestr(name, text)
        strings = "<si><t>name</t></si><si><t>Inn</t></si>" + "<si><t>x</t></si>" * 7_000_000
        opening = '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        archive.writestr("xl/sharedStrings.xml", f"{opening}{strings}</sst>")
    return path


@pytest.fixture
def parsers() -> Iterator[Parsers]:
    made = Parsers(ParserLimits(count=1, memory_bytes=400_000_000))
    yield made
    made.close()


def test_a_workbook_that_unpacks_to_very_much_is_gone_through_elsewhere_first(
    workbook: Path, parsers: Parsers, tmp_path: Path
) -> None:
    assert workbook.stat().st_size < 1_000_000
    assert is_heavy(workbook)
    with pytest.raises(ReadError, match=r"takes more than 400 MB of memory to read, see documents\.parse_memory_mb"):
        parsers.check_table(workbook)
    parsers.limits = ParserLimits(count=1, seconds=0.5)
    with pytest.raises(ReadError, match=r"takes longer than 0\.5 s to read"):
        parsers.check_table(workbook)


def test_adding_one_fails_without_opening_it_here(
    workbook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    KnowledgeGraph.create(tmp_path / "kg", ontology="travel").close()
    settings = tmp_path / "kg" / "kgplatform.toml"
    settings.write_text(settings.read_text(encoding="utf-8") + "\n[documents]\nparse_memory_mb = 400\n", "utf-8")
    opened: list[Path] = []
    monkeypatch.setattr(tabular, "_opened", opened.append)
    note = tmp_path / "note.txt"
    note.write_text("The Blue Inn is located in Wuzhen.", encoding="utf-8")
    with KnowledgeGraph.open(tmp_path / "kg") as kg:
        kg.__dict__["embedder"] = HashEmbedder()
        added = {Path(item.document.source).name: item for item in kg.add(workbook, note, build=False)}
    assert "takes more than 400 MB" in (added["prices.xlsx"].error or "")
    assert added["note.txt"].outcome == "added"
    assert not opened


def test_an_honest_workbook_needs_no_other_process(tmp_path: Path, parsers: Parsers) -> None:
    path = tmp_path / "inns.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in PARTS.items():
            archive.writestr(name, text)
        opening = '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        archive.writestr("xl/sharedStrings.xml", f"{opening}<si><t>name</t></si><si><t>Inn</t></si></sst>")
    parsers.check_table(path)
    assert all(process._process is None for process in parsers._all)
    assert [row.cells for batch in open_table(path).batches(10) for row in batch] == [("Inn",)]


def parquet(path: Path, select: str) -> Path:
    duckdb.sql(f"COPY ({select}) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
    return path


READING = """
import resource, sys
from kgplatform.documents.tabular.opening import go_through
from kgplatform.errors import ReadError
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
try:
    go_through(sys.argv[1])
except ReadError as error:
    print(error)
"""


def gone_through(path: Path) -> str:
    """What a process with little memory says of the table."""
    command = [sys.executable, "-c", READING, str(path), str(MEMORY)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout


def test_parquet_of_few_bytes_with_huge_cells_is_refused(tmp_path: Path) -> None:
    path = parquet(tmp_path / "rows.parquet", "SELECT i, repeat('x', 1000000) AS text FROM range(6000) rows(i)")
    assert path.stat().st_size < 100_000
    assert "a row has more than 500,000 bytes of text" in gone_through(path)


def test_parquet_with_many_long_rows_is_read_a_part_at_a_time(tmp_path: Path) -> None:
    path = parquet(tmp_path / "rows.parquet", "SELECT i, repeat('x', 100000) AS text FROM range(600) rows(i)")
    assert gone_through(path) == ""
    assert max(len(batch) for batch in islice(open_table(path).batches(40_000), 2)) < 400


def test_a_table_of_few_rows_and_much_text_is_not_kept_as_a_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = parquet(tmp_path / "rows.parquet", "SELECT i, repeat('x', 100000) AS text FROM range(30) rows(i)")
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as kg:
        tables = kg._ingest()._tables
        assert not tables.is_large(path)
        monkeypatch.setattr(tabular, "_LARGE_TEXT", 1_000_000)
        assert tables.is_large(path)


def database(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as made:
        made.executescript(script)
    return path


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "CREATE VIEW t AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
            "not auth",
        ),
        ("CREATE VIEW t AS SELECT zeroblob(900000000) AS b", "too big"),
    ],
)
def test_a_view_that_never_ends_or_gives_a_huge_cell_is_refused(tmp_path: Path, script: str, reason: str) -> None:
    with pytest.raises(ReadError, match=reason):
        list(open_table(database(tmp_path / "data.db", script)).batches(10))


def test_a_recursive_query_of_ones_own_is_carried_out(tmp_path: Path) -> None:
    path = database(tmp_path / "data.db", "CREATE TABLE t (i)")
    query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n"
    (batch,) = open_table(f"sqlite:///{path}?query={query}").batches(10)
    assert [row.cells for row in batch] == [("1",), ("2",), ("3",)]


def test_a_record_of_json_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (json_file, json_stream):
        monkeypatch.setattr(module, "LARGEST_VALUE", 1 << 20)
    nested = '{"name": [' + "[]," * 900_000 + "[]]}"
    lines = tmp_path / "rows.jsonl"
    lines.write_text(f'{{"name": "Inn"}}\n{nested}\n', encoding="utf-8")
    with pytest.raises(ReadError, match="a line of more than 1 million characters"):
        list(open_table(lines).batches(10))
    array = tmp_path / "rows.json"
    array.write_text(f"[{nested}]", encoding="utf-8")
    with pytest.raises(ReadError, match="a value is larger than"):
        list(open_table(array).batches(10))


def test_json_in_one_long_line_is_read_record_by_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (json_file, json_stream):
        monkeypatch.setattr(module, "LARGEST_VALUE", 1 << 20)
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([{"name": "x" * 1000}] * 1_500), encoding="utf-8")
    assert sum(len(batch) for batch in open_table(path).batches(1_000)) == 1_500
