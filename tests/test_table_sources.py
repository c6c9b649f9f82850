"""Tables of every kind: the same cells come back, odd things are named, hard errors are one line, memory is bounded."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import unicodedata
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgplatform.cli.main import main
from kgplatform.documents.tabular.opening import is_table, open_table, tables_in
from kgplatform.documents.tabular.profile import ColumnProfile, ValueType, profile
from kgplatform.documents.tabular.source import Cell, TableSource
from kgplatform.errors import ReadError

Rows = Sequence[Sequence[str | None]]


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def cells(source: TableSource, size: int = 3) -> list[tuple[Cell, ...]]:
    return [row.cells for batch in source.batches(size) for row in batch]


def numbers(source: TableSource) -> list[int]:
    return [row.number for batch in source.batches(100) for row in batch]


def reasons(source: TableSource) -> list[str]:
    return [f"{problem.number} {problem.column}: {problem.reason}" for problem in source.problems]


def workbook(path: Path, sheets: dict[str, Rows], *, merges: Sequence[str] = ()) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for number, row in enumerate(rows, start=1):
            for place, value in enumerate(row, start=1):
                if value is not None:
                    sheet.cell(number, place).value = value
        for merge in merges:
            sheet.merge_cells(merge)
    book.save(path)
    return path


def database(path: Path, *statements: str) -> Path:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return path


def parquet(path: Path, query: str) -> Path:
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    return path


# --- the same cells come back, whatever the form


def write_csv(path: Path, columns: Sequence[str], rows: Rows) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([columns, *[[cell or "" for cell in row] for row in rows]])
    return str(write(path, "t.csv", out.getvalue()))


def write_json(path: Path, columns: Sequence[str], rows: Rows) -> str:
    return str(write(path, "t.json", json.dumps({"n": 1, "rows": records(columns, rows)}, ensure_ascii=False)))


def write_lines(path: Path, columns: Sequence[str], rows: Rows) -> str:
    return str(write(path, "t.jsonl", "".join(json.dumps(item) + "\n" for item in records(columns, rows))))


def records(columns: Sequence[str], rows: Rows) -> list[dict[str, str | None]]:
    return [dict(zip(columns, row, strict=True)) for row in rows]


def write_parquet(path: Path, columns: Sequence[str], rows: Rows) -> str:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(f'{name} VARCHAR' for name in columns)})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(columns))})", rows)
        connection.execute(f"COPY t TO '{path / 't.parquet'}' (FORMAT parquet)")
    return str(path / "t.parquet")


def write_sqlite(path: Path, columns: Sequence[str], rows: Rows) -> str:
    with sqlite3.connect(path / "t.db") as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(f'{name} TEXT' for name in columns)})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(columns))})", rows)
    connection.close()
    return f"sqlite:///{path / 't.db'}#t"


def write_xlsx(path: Path, columns: Sequence[str], rows: Rows) -> str:
    book = openpyxl.Workbook()
    for place, column in enumerate(columns, start=1):
        book.active.cell(1, place).value = column
    for number, row in enumerate(rows, start=2):
        for place, text in enumerate(row, start=1):
            if text is not None:
                cell = book.active.cell(number, place)
                cell.value = text
                cell.data_type = "s"  # also where it begins as a formula does
    book.save(path / "t.xlsx")
    return str(path / "t.xlsx")


texts = st.text(st.sampled_from("ab,;\"=\n 西栅'\t|é1.0[{😀"), max_size=8).map(
    lambda text: unicodedata.normalize("NFC", text)
)
rows_of_three = st.lists(st.lists(st.none() | texts, min_size=3, max_size=3), min_size=1, max_size=8)


@pytest.mark.parametrize("writer", [write_csv, write_json, write_lines, write_parquet, write_sqlite, write_xlsx])
def test_cells_come_back_from_every_kind_of_table(writer: Callable[[Path, Sequence[str], Rows], str]) -> None:
    @settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
    @given(rows_of_three, st.integers(1, 4))
    def round_trip(rows: Rows, size: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            table = open_table(writer(Path(folder), ("one", "two", "三"), rows))
            assert table.columns == ("one", "two", "三")
            kept = [tuple((cell or "").strip() or None for cell in row) for row in rows]
            expected = [row for row in kept if any(row)]
            assert cells(table, size) == expected
            assert cells(table, size + 1) == expected  # and once more
            assert table.problems == ()

    round_trip()


# --- separated values


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "名称;price\n枕水;1,5\nSea;2\n".encode("gb18030")),
        ("a.csv", '\ufeff名称,price\n枕水,"1,5"\nSea,2\n'.encode()),
        ("a.csv", "sep=|\n名称|price\n枕水|1,5\nSea|2\n".encode("utf-16")),
        ("a.tsv", "名称\tprice\r枕水\t1,5\rSea\t2".encode("utf-16-le")),
        ("a.txt", "名称|price\r\n枕水|1,5\r\n\r\nSea|2\r\n".encode("gbk")),
        ("a.xls", "名称\tprice\n枕水\t1,5\nSea\t2\n".encode("gbk")),
    ],
)
def test_encodings_and_delimiters_are_found(tmp_path: Path, name: str, content: bytes) -> None:
    table = open_table(write(tmp_path, name, content))
    assert (table.name, table.columns) == ("a", ("名称", "price"))
    assert cells(table) == [("枕水", "1,5"), ("Sea", "2")]
    assert table.problems == ()


def test_western_letters_and_those_that_come_late_are_decoded(tmp_path: Path) -> None:
    latin = write(tmp_path, "l.csv", "name,town\nCafé Müller,Åre\n".encode("latin-1"))
    assert cells(open_table(latin)) == [("Café Müller", "Åre")]
    late = b"name,town\n" + b"abc,def\n" * 300_000 + "枕水,西栅\n".encode("gb18030") * 3
    (*_, last) = cells(open_table(write(tmp_path, "late.csv", late)), 1000)
    assert last == ("枕水", "西栅")


def test_irregular_rows_are_kept_and_named(tmp_path: Path) -> None:
    table = open_table(write(tmp_path, "a.csv", 'n,p,n,\nx\ny,1,2,3,4\n"open,1,2,3\nz,5,6,7\n"q",8,9,0\n,,,\n'))
    assert table.columns == ("n", "p", "n (2)", "column 4")
    assert cells(table) == [
        ("x", None, None, None),
        ("y", "1", "2", "3"),
        ('"open', "1", "2", "3"),
        ("z", "5", "6", "7"),
        ("q", "8", "9", "0"),
    ]
    assert numbers(table) == [2, 3, 4, 5, 6]
    assert reasons(table) == [
        "1 n: the column 'n' occurs twice",
        "1 column 4: the column has no name",
        "2 : 1 cells under 4 columns: the rest are empty",
        "3 : 5 cells under 4 columns: the last of them are left out",
        "4 : a quotation mark is opened and never closed",
    ]


@pytest.mark.parametrize(
    ("encoding", "good", "shown"), [("utf-8", "枕水,1\n" * 30, 1), ("gb18030", "枕水,1\n" * 30, 1)]
)
def test_bytes_that_do_not_decode_are_named_by_row_and_column(
    tmp_path: Path, encoding: str, good: str, shown: int
) -> None:
    content = "名称,价\n".encode(encoding) + good.encode(encoding) + b"bad\xff,2\n" + good.encode(encoding)
    table = open_table(write(tmp_path, "a.csv", content))
    assert cells(table)[30] == ("bad\ufffd", "2")
    (problem,) = table.problems
    assert (problem.number, problem.column) == (32, "名称")
    assert "not in the encoding" in problem.reason


def test_a_bad_byte_in_plain_text_does_not_stop_a_table(tmp_path: Path) -> None:
    table = open_table(write(tmp_path, "a.csv", b"name,town\n" + b"abc,def\n" * 9 + b"b\x90d,x\n"))
    assert cells(table)[-1] == ("b\ufffdd", "x")
    assert [(problem.number, problem.column) for problem in table.problems] == [(11, "name")]
    with pytest.raises(ReadError, match="line 1: byte 0x90 is not UTF-8 and the encoding cannot be told"):
        open_table(write(tmp_path, "b.csv", b"\x90\x81\n\x8d\x81\n"))


def test_problems_beyond_a_thousand_are_counted(tmp_path: Path) -> None:
    table = open_table(write(tmp_path, "a.csv", "a,b\n" + "x\n" * 1500))
    assert len(cells(table)) == 1500
    assert len(table.problems) == 1001
    assert table.problems[-1].reason.startswith("500 more problems")
    assert len(cells(table)) == 1500
    assert len(table.problems) == 1001  # of the last reading only


def test_ten_thousand_columns_are_read_and_far_more_refused(tmp_path: Path) -> None:
    wide = ",".join(["name"] * 5000 + [""] * 5000)
    table = open_table(write(tmp_path, "wide.csv", wide + "\n" + ",".join(map(str, range(10_000))) + "\n"))
    assert len(set(table.columns)) == 10_000
    assert cells(table)[0][9999] == "9999"
    assert len(profile(table)) == 10_000
    line = json.dumps({f"c{n}": n for n in range(10_000)})
    assert len(open_table(write(tmp_path, "wide.jsonl", line)).columns) == 10_000
    with pytest.raises(ReadError, match="at most 20000"):
        open_table(write(tmp_path, "wider.csv", ",".join(map(str, range(20_001))) + "\n1\n"))


# --- JSON


def test_nested_json_is_flattened(tmp_path: Path) -> None:
    items = [
        {"id": "01", "at": {"lat": 1.50, "long": 120}, "tags": ["a", 2, None], "open": True, "note": None},
        {"id": 2, "at": {}, "rooms": [{"n": "x", "beds": 1}, {"n": "y"}], "ring": [[1, 2], [3, 4]], "late": "z"},
        "no object",
    ]
    table = open_table(write(tmp_path, "a.json", json.dumps(items)))
    assert table.columns == (
        *("id", "at.lat", "at.long", "tags", "open", "note", "at", "rooms.n", "rooms.beds", "ring", "late"),
    )
    first, second = cells(table)
    assert first[:6] == ("01", "1.5", "120", "a; 2", "true", None)
    assert second[7:] == ("x; y", "1", "1, 2; 3, 4", "z")
    assert reasons(table) == ["3 : is not an object, left out"]


def test_a_place_in_json_is_named_by_its_pointer(tmp_path: Path) -> None:
    both = write(
        tmp_path,
        "b.json",
        json.dumps({"a/b": {"x": [{"k": 1}]}, "list": [1, 2], "y": [{"j": [{"deep": 1}]}, {"j": 3}]}),
    )
    with pytest.raises(ReadError, match="has 2 arrays of objects; name one of #/a~1b/x, #/y"):
        open_table(both)
    assert tables_in(both) == (f"{both}#/a~1b/x", f"{both}#/y")
    table = open_table("b.json#/y", base_folder=tmp_path)
    assert (table.name, table.columns, cells(table)) == ("y", ("j.deep", "j"), [("1", None), (None, "3")])
    assert cells(open_table(f"{both}#/y/0")) == [("1",)]
    with pytest.raises(ReadError, match="there is nothing at /z; arrays of objects are at: /a~1b/x, /y"):
        open_table(f"{both}#/z")
    with pytest.raises(ReadError, match="holds no JSON objects"):
        open_table(f"{both}#/list")
    one = write(tmp_path, "c.json", '{"name": "x", "n": 12345678901234567890.10}')
    assert cells(open_table(one)) == [("x", "12345678901234567890.10")]


def test_json_larger_than_the_buffer_is_streamed(tmp_path: Path) -> None:
    items = [{"n": n, "t": '西"\\' + "x" * (n % 90)} for n in range(20_000)]
    table = open_table(write(tmp_path, "a.json", json.dumps({"data": {"items": items}}, indent=1)))
    assert cells(table, 1000) == [(str(item["n"]), item["t"]) for item in items]


def test_json_lines_go_on_after_a_bad_one(tmp_path: Path) -> None:
    table = open_table(write(tmp_path, "a.jsonl", '{"a": 1}\n\n{"a": \n{"a": 3}\n'))
    assert cells(table) == [("1",), ("3",)]
    assert numbers(table) == [1, 4]
    assert [problem.number for problem in table.problems] == [3]
    assert cells(open_table(write(tmp_path, "b.json", '{"a": 1}\n{"b": 2}\n'))) == [("1", None), (None, "2")]
    assert cells(open_table(write(tmp_path, "c.jsonl", '[{"a": 1},\n{"a": 2}]'))) == [("1",), ("2",)]


def test_json_that_breaks_in_the_middle_says_where(tmp_path: Path) -> None:
    broken = '[\n{"a": 1},\n{"a" 2}\n]' + " " * 100
    with pytest.raises(ReadError, match="line 3: expecting ':' delimiter"):
        open_table(write(tmp_path, "a.json", broken))
    with pytest.raises(ReadError, match="line 1: "):
        open_table(write(tmp_path, "b.json", '[{"a": 1}'))
    with pytest.raises(ReadError, match="nested too deeply"):
        open_table(write(tmp_path, "c.json", "[" + '{"a":' * 100_000))


# --- spreadsheets


def moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def test_a_sheet_with_titles_merged_headers_dates_and_errors(tmp_path: Path) -> None:
    rows: list[list[object]] = [
        ["Prices of 2024"],
        [],
        ["Hotel", "Price", None, "Since", "Seen"],
        [None, "weekday", "周末"],
        ["Sea Inn", 480.5, 0.25, dt.date(2024, 1, 2), moment("2024-01-02 10:30")],
        ["枕水", "#REF!", 3.0, dt.date(2023, 11, 30), moment("2023-11-30 00:00")],
        [],
        ["River", 0.1 + 0.2, True, dt.time(9, 5), None],
    ]
    path = workbook(tmp_path / "h.xlsx", {"Sheet1": rows}, merges=("A1:E1", "A3:A4", "B3:C3", "D3:D4", "E3:E4"))  # type: ignore[dict-item]
    table = open_table(path)
    assert table.name == "h"
    assert table.columns == ("Hotel", "Price weekday", "Price 周末", "Since", "Seen")
    assert cells(table) == [
        ("Sea Inn", "480.5", "0.25", "2024-01-02", "2024-01-02T10:30:00"),
        ("枕水", None, "3", "2023-11-30", "2023-11-30T00:00:00"),
        ("River", "0.3", "true", "09:05:00", None),
    ]
    assert numbers(table) == [5, 6, 8]
    assert reasons(table) == [
        "1 : row 1 above the header passed over",
        "6 Price weekday: holds the error #REF!, taken as empty",
    ]


def test_sheets_are_named_and_the_first_with_a_table_is_taken(tmp_path: Path) -> None:
    path = workbook(tmp_path / "b.xlsx", {"empty": [], "房间": [["a"], [1]], "C#1": [["b"], [2]]})  # type: ignore[list-item]
    assert tables_in(path) == (f"{path}#房间", f"{path}#C#1")
    assert open_table(path).columns == ("a",)
    table = open_table(f"{path}#C#1")
    assert (table.name, table.columns, cells(table)) == ("C#1", ("b",), [("2",)])
    with pytest.raises(ReadError, match="has no sheet 'x'; it has empty, 房间, C#1"):
        open_table(f"{path}#x")
    with pytest.raises(ReadError, match="the sheet 'empty' is empty"):
        open_table(f"{path}#empty")


def test_merged_cells_of_a_column_hold_in_every_row_and_a_table_may_begin_anywhere(tmp_path: Path) -> None:
    rows = [[None] * 4, [None, None, "town", "inn"], [None, None, "Wuzhen", "A"], [None, None, None, "B"]]
    path = workbook(tmp_path / "m.xlsx", {"s": rows}, merges=("C3:C4",))
    table = open_table(path)
    assert table.columns == ("town", "inn")
    assert cells(table) == [("Wuzhen", "A"), ("Wuzhen", "B")]
    assert table.problems == ()


def test_a_parent_that_stands_alone_above_its_columns_is_no_title(tmp_path: Path) -> None:
    rows = [
        ["Sales", None, None, None],
        [None, None, "2024", None],
        ["region", "town", "Q1", "Q2"],
        ["a", "b", "1", "2"],
    ]
    path = workbook(tmp_path / "p.xlsx", {"s": rows}, merges=("A1:D1", "C2:D2"))
    table = open_table(path)
    assert table.columns == ("region", "town", "2024 Q1", "2024 Q2")
    assert reasons(table) == ["1 : row 1 above the header passed over"]
    wide = [[None, "v", None], ["k", "x", "y"], ["a", "1", "2"]]
    assert open_table(workbook(tmp_path / "q.xlsx", {"s": wide}, merges=("B1:C1",))).columns == ("k", "v x", "v y")


def test_formulas_give_their_computed_values_and_those_without_are_counted(tmp_path: Path) -> None:
    path = workbook(tmp_path / "f.xlsx", {"s": [["a", "b"], [1, "=A2*2"], [2, "=A3*2"]]})  # type: ignore[list-item]
    table = open_table(path)
    assert reasons(table)[0].startswith("0 : 2 formulas have no computed value")
    computed = tmp_path / "g.xlsx"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(computed, "w") as new:
        for entry in old.namelist():
            data = old.read(entry)
            new.writestr(entry, data.replace(b"<v></v>", b"<v>7</v>").replace(b"<v />", b"<v>7</v>"))
    again = open_table(computed)
    assert cells(again) == [("1", "7"), ("2", "7")]
    assert again.problems == ()


# --- databases and Parquet


def test_tables_views_and_queries_of_a_database(tmp_path: Path) -> None:
    path = database(
        tmp_path / "d.db",
        "CREATE TABLE inn (id INTEGER, name TEXT, price REAL, photo BLOB)",
        "INSERT INTO inn VALUES (1, '枕水', 480.0, x'0f10'), (2, NULL, 1e-3, NULL), (NULL, NULL, NULL, NULL)",
        'CREATE VIEW cheap AS SELECT name AS "the name" FROM inn WHERE price > 100',
        'CREATE TABLE "odd ""one""" (a)',
    )
    table = open_table("sqlite:///d.db#inn", base_folder=tmp_path)
    assert cells(table) == [("1", "枕水", "480.0", "0F10"), ("2", None, "0.001", None)]
    assert cells(open_table(f"{path}#CHEAP")) == [("枕水",)]
    assert cells(open_table(f"sqlite:///{path}?query=SELECT id, id FROM inn WHERE name LIKE '%水'")) == [("1", "1")]
    assert open_table(f"sqlite:///{path}?query=SELECT%20id%20FROM%20inn").columns == ("id",)
    assert tables_in(path) == tuple(f"sqlite:///{path}#{name}" for name in ("inn", "cheap", 'odd "one"'))
    assert open_table(tables_in(path)[2]).columns == ("a",)
    with pytest.raises(ReadError, match="has 3 tables; name one of them behind #: inn, cheap"):
        open_table(path)
    with pytest.raises(ReadError, match="has no table 'hotels'; it has inn, cheap"):
        open_table(f"{path}#hotels")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT * FROM nowhere", "no such table: nowhere"),
        ("DELETE FROM t", "not authorized"),
        ("ATTACH 'other.db' AS o", "not authorized"),
        ("SELECT 1; SELECT 2", "one statement"),
        ("PRAGMA journal_mode", "not authorized"),
        (" ", "no rows"),
    ],
)
def test_a_query_that_is_no_select_is_refused(tmp_path: Path, query: str, reason: str) -> None:
    path = database(tmp_path / "d.db", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    with pytest.raises(ReadError, match=reason):
        open_table(f"sqlite:///{path}?query={query}")
    assert cells(open_table(path)) == [("1",)]
    assert sorted(item.name for item in tmp_path.iterdir()) == ["d.db"]


def test_parquet_types_become_plain_text(tmp_path: Path) -> None:
    path = parquet(
        tmp_path / "p[1].parquet",
        "SELECT 1::BIGINT AS i, 2.50::DECIMAL(9,2) AS d, 'NaN'::DOUBLE AS nan, 1e21::DOUBLE AS big, "
        "DATE '2024-01-02' AS day, TIMESTAMP '2024-01-02 10:00:00' AS at, TIMESTAMPTZ '2024-01-02 10:00:00+08' AS tz, "
        "[1, 2] AS l, true AS b, {'x': 1, 'y.z': {'k': '西'}} AS s, INTERVAL 2 DAY AS span",
    )
    table = open_table(path)
    assert table.columns == ("i", "d", "nan", "big", "day", "at", "tz", "l", "b", "s.x", "s.y.z.k", "span")
    assert cells(table) == [
        ("1", "2.50", None, "1000000000000000000000", "2024-01-02", "2024-01-02T10:00:00", "2024-01-02T02:00:00Z",
         "1; 2", "true", "1", "西", "2 days"),
    ]  # fmt: skip


# --- hard errors


def ole(marker: str) -> bytes:
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600 + marker.encode("utf-16-le") + b"\0" * 600


def zipped(names: Sequence[str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b" \n\n", "is empty"),
        ("a.csv", b",,\n,,\n", "the first row should name the columns"),
        ("a.csv", bytes(range(256)) * 40, "not text"),
        ("a.csv", b"\x89PNG\r\n\x1a\n" + b"\0" * 90, "is a PNG image"),
        ("a.xls", b"<html><table><tr><td>x", "a page in HTML or XML"),
        ("a.json", b"[]", "holds no rows"),
        ("a.json", b"[1, 2]", "holds no JSON objects"),
        ("a.json", b"{} {", "line 1"),
        ("a.jsonl", b"nothing\nof it", "holds no JSON objects"),
        ("a.xlsx", b"PK\x03\x04 broken", "is no workbook"),
        ("a.xlsx", zipped(["xl/workbook.xml"]), "is no workbook"),
        ("a.docx", zipped(["word/document.xml"]), "a ZIP archive without a workbook"),
        ("a.ods", zipped(["mimetype", "content.xml"]), "an OpenDocument file"),
        ("a.xlsx", ole("EncryptedPackage"), "is protected by a password"),
        ("a.xls", ole("Workbook"), "is an old Excel file"),
        ("a.xlsx", b"plain text", "is no workbook"),
        ("a.parquet", b"PAR1 and no more", "not readable as Parquet"),
        ("a.parquet", b"name,price\n", "not readable as Parquet"),
        ("a.db", b"SQLite format 3\x00 and no more", "SQLite says"),
        ("a.sqlite", b"name,price\n", "SQLite says: file is not a database"),
        ("a.pdf", b"%PDF-1.7\n", "has the suffix .pdf; tables are .csv"),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(ReadError, match=reason) as caught:
        open_table(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("none.csv", "cannot be read: No such file"),
        ("none.xlsx#Sheet", "none.xlsx: cannot be read"),
        ("sqlite:///none.db#t", "none.db: cannot be read"),
        ("folder", "is a folder"),
        ("https://example.org/a.csv", "is an address, not a file"),
        ("s3://bucket/a.parquet", "is an address, not a file"),
        ("a.csv#part", "holds one table only, so there is no 'part' in it"),
        ("sqlite:///a.csv", "is no SQLite database"),
        ("a\0b.csv", "cannot be read"),
    ],
)
def test_locations_that_lead_nowhere_are_refused(tmp_path: Path, location: str, reason: str) -> None:
    (tmp_path / "folder").mkdir()
    write(tmp_path, "a.csv", "a\n1\n")
    for opened in (open_table, tables_in):
        with pytest.raises(ReadError, match=reason) as caught:
            opened(location, base_folder=tmp_path)
        assert "\n" not in str(caught.value)


def test_names_with_a_hash_and_wrong_suffixes_are_opened_by_what_they_hold(tmp_path: Path) -> None:
    write(tmp_path, "C#.csv", "a\n1\n")
    assert cells(open_table("C#.csv", base_folder=tmp_path)) == [("1",)]
    workbook(tmp_path / "w.xlsx", {"s": [["a"], ["1"]]}).rename(tmp_path / "w.csv")
    assert cells(open_table(tmp_path / "w.csv")) == [("1",)]
    assert is_table("sqlite:///x#y")
    assert is_table("x.xlsx#s")
    assert not is_table("x.ttl")
    assert cells(open_table((tmp_path / "C#.csv").as_uri())) == [("1",)]


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=60), st.sampled_from(["csv", "json", "jsonl", "xlsx", "parquet", "db", "txt"]),
       st.sampled_from([b"", b"PK\x03\x04", b"PAR1", b"SQLite format 3\x00", b'[{"a":', b"a,b\n1,2\n"]))  # fmt: skip
def test_whatever_a_file_holds_it_is_read_or_refused(content: bytes, suffix: str, head: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), f"a.{suffix}", head + content)
        refusals: list[str] = []
        try:
            table = open_table(path)
            assert all(len(row) == len(table.columns) and any(row) for row in cells(table))
        except ReadError as error:
            refusals.append(str(error))
        assert "\n" not in "".join(refusals)


# --- profiles


def test_a_profile_tells_types_languages_keys_and_separators(tmp_path: Path) -> None:
    content = (
        "code,name,名称,opened,price,near,open,seen,at,phone,note\n"
        "H1,Sea Inn,枕水,1999,480.5,Xizha;Dongzha,true,2024-01-02,2024-01-02T10:00:00,0573,\n"
        "H2,River Inn,水乡,2004,300,Xizha,false,2023-11-30,2024-01-02 11:00,0574,\n"
        "H3,Lake Inn,西栅,2010,,,true,,,0575,\n"
        "H3,Hill Inn,东栅,2010,7,,true,,,0575,\n"
    )
    found = {column.name: column for column in profile(open_table(write(tmp_path, "h.csv", content)))}
    assert {name: column.type for name, column in found.items()} == {
        **{"code": ValueType.CODE, "name": ValueType.TEXT, "名称": ValueType.TEXT, "opened": ValueType.G_YEAR},
        **{"price": ValueType.DECIMAL, "near": ValueType.TEXT, "open": ValueType.BOOLEAN, "seen": ValueType.DATE},
        **{"at": ValueType.DATE_TIME, "phone": ValueType.CODE, "note": ValueType.TEXT},
    }
    assert [found[name].language for name in ("name", "名称", "price", "note")] == ["en", "zh", None, None]
    assert found["near"] == ColumnProfile(
        "near", 4, 0.5, 3, 2, ValueType.TEXT, "en", ("Xizha", "Dongzha"), is_unique=False, separator=";"
    )
    assert [name for name, column in found.items() if column.is_unique] == ["name", "名称", "price", "seen", "at"]
    assert found["note"].filled == 0
    first = profile(open_table(tmp_path / "h.csv"), rows=3)
    assert (first[0].rows, first[0].is_unique) == (3, True)


@pytest.mark.parametrize("kind", ["xlsx", "parquet", "sqlite", "json"])
def test_an_ontology_is_drafted_from_every_kind_of_table(
    tmp_path: Path, kind: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    columns, rows = ("hotel_code", "name", "price"), [("H1", "Sea", "1.5"), ("H2", "枕水", "2.5")]
    writers = {"xlsx": write_xlsx, "parquet": write_parquet, "sqlite": write_sqlite, "json": write_json}
    location = writers[kind](tmp_path, columns, rows)
    assert main(["ontology", "draft", location]) == 0
    out = capsysbinary.readouterr().out.decode()
    assert "owl:hasKey" in out
    assert "xsd:decimal" in out
    assert "枕水" in out
    assert "https://example.org/ontology/t" in out


# --- memory


def test_a_large_csv_is_read_in_constant_memory(tmp_path: Path) -> None:
    program = """
        import resource, sys
        from pathlib import Path
        from kgplatform.documents.tabular.opening import open_table
        path = Path(sys.argv[1])
        line = "{},枕水 Inn,12.5,Wuzhen\\n"
        with path.open("w", encoding="utf-8") as file:
            file.write("id,name,price,town\\n")
            for start in range(0, 1_000_000, 10_000):
                file.write("".join(map(line.format, range(start, start + 10_000))))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        count = sum(len(batch) for batch in open_table(path).batches(1000))
        print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "big.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    count, grown = map(int, done.stdout.split())
    assert count == 1_000_000
    assert grown < 40_000  # KiB; the file has 28 MB
