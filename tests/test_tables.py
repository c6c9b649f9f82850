"""Tables of every kind: the same cells come back, odd things are named, harm is refused, memory is bounded."""

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
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import duckdb
import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgplatform.documents.sandbox import ParserLimits, Parsers
from kgplatform.documents.tables import json_tables
from kgplatform.documents.tables.table_source import (
    ColumnProfile,
    ValueType,
    is_heavy,
    is_table,
    open_table,
    profile,
    row_text,
    tables_in,
)
from kgplatform.errors import ReadError
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder
from kgplatform.text import singular
from kgplatform.workspace import ingest, table_stage
from tests.workspaces import new_workspace

Rows = Sequence[Sequence[str | None]]


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def cells(source, size=3):
    return [row.cells for batch in source.batches(size) for row in batch]


def numbers(source):
    return [row.number for batch in source.batches(100) for row in batch]


def reasons(source):
    return [f"{problem.number} {problem.column}: {problem.reason}" for problem in source.problems]


def workbook(path, sheets, *, merges=()):
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


def database(path, *statements):
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return path


def test_parquet_types_become_plain_text(tmp_path):
    path = zstd(
        tmp_path / "p[1].parquet",
        "SELECT 1::BIGINT AS i, 2.50::DECIMAL(9,2) AS d, 'NaN'::DOUBLE AS nan, 1e21::DOUBLE AS big, "
        "DATE '2024-01-02' AS day, TIMESTAMP '2024-01-02 10:00:00' AS at, TIMESTAMPTZ '2024-01-02 10:00:00+08' AS tz, "
        "[1, 2] AS l, true AS b, {'x': 1, 'y.z': {'k': '西'}} AS s, INTERVAL 2 DAY AS span",
    )
    table = open_table(path)
    assert table.columns == ("i", "d", "nan", "big", "day", "at", "tz", "l", "b", "s.x", "s.y.z.k", "span")
    times = ("2024-01-02", "2024-01-02T10:00:00", "2024-01-02T02:00:00Z")
    assert cells(table) == [("1", "2.50", None, "1000000000000000000000", *times, "1; 2", "true", "1", "西", "2 days")]


def write_csv(path, columns, rows):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([columns, *[[cell or "" for cell in row] for row in rows]])
    return str(write(path, "t.csv", out.getvalue()))


def write_json(path, columns, rows):
    return str(write(path, "t.json", json.dumps({"n": 1, "rows": records(columns, rows)}, ensure_ascii=False)))


def write_lines(path, columns, rows):
    return str(write(path, "t.jsonl", "".join(json.dumps(item) + "\n" for item in records(columns, rows))))


def records(columns, rows):
    return [dict(zip(columns, row, strict=True)) for row in rows]


def fill(connection, columns, rows):
    connection.execute(f"CREATE TABLE t ({', '.join(f'{name} VARCHAR' for name in columns)})")
    connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(columns))})", rows)


def write_parquet(path, columns, rows):
    with duckdb.connect() as connection:
        fill(connection, columns, rows)
        connection.execute(f"COPY t TO '{path / 't.parquet'}' (FORMAT parquet)")
    return str(path / "t.parquet")


def write_sqlite(path, columns, rows):
    with sqlite3.connect(path / "t.db") as connection:
        fill(connection, columns, rows)
    connection.close()
    return f"sqlite:///{path / 't.db'}#t"


def write_xlsx(path, columns, rows):
    book = openpyxl.Workbook()
    for number, row in enumerate((columns, *rows), start=1):
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
def test_cells_come_back_from_every_kind_of_table(writer):
    @settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
    @given(rows_of_three, st.integers(1, 4))
    def round_trip(rows, size):
        with tempfile.TemporaryDirectory() as folder:
            table = open_table(writer(Path(folder), ("one", "two", "三"), rows))
            assert table.columns == ("one", "two", "三")
            kept = [tuple((cell or "").strip() or None for cell in row) for row in rows]
            expected = [row for row in kept if any(row)]
            assert cells(table, size) == expected
            assert cells(table, size + 1) == expected  # and once more
            assert table.problems == ()

    round_trip()


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
def test_encodings_and_delimiters_are_found(tmp_path, name, content):
    table = open_table(write(tmp_path, name, content))
    assert (table.name, table.columns) == ("a", ("名称", "price"))
    assert cells(table) == [("枕水", "1,5"), ("Sea", "2")]
    assert table.problems == ()


def test_western_letters_and_those_that_come_late_are_decoded(tmp_path):
    latin = write(tmp_path, "l.csv", "name,town\nCafé Müller,Åre\n".encode("latin-1"))
    assert cells(open_table(latin)) == [("Café Müller", "Åre")]
    late = b"name,town\n" + b"abc,def\n" * 300_000 + "枕水,西栅\n".encode("gb18030") * 3
    (*_, last) = cells(open_table(write(tmp_path, "late.csv", late)), 1000)
    assert last == ("枕水", "西栅")


def test_irregular_rows_are_kept_and_named(tmp_path):
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


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_bytes_that_do_not_decode_are_named_by_row_and_column(tmp_path, encoding):
    good = ("枕水,1\n" * 30).encode(encoding)
    table = open_table(write(tmp_path, "a.csv", "名称,价\n".encode(encoding) + good + b"bad\xff,2\n" + good))
    assert cells(table)[30] == ("bad\ufffd", "2")
    (problem,) = table.problems
    assert (problem.number, problem.column) == (32, "名称")
    assert "not in the encoding" in problem.reason
    with pytest.raises(ReadError, match="line 1: byte 0x90 is not UTF-8 and the encoding cannot be told"):
        open_table(write(tmp_path, "b.csv", b"\x90\x81\n\x8d\x81\n"))


def test_problems_beyond_a_thousand_are_counted(tmp_path):
    table = open_table(write(tmp_path, "a.csv", "a,b\n" + "x\n" * 1500))
    assert len(cells(table)) == 1500
    assert len(table.problems) == 1001
    assert table.problems[-1].reason.startswith("500 more problems")
    assert len(cells(table)) == 1500
    assert len(table.problems) == 1001  # of the last reading only


def test_ten_thousand_columns_are_read_and_far_more_refused(tmp_path):
    wide = ",".join(["name"] * 5000 + [""] * 5000)
    table = open_table(write(tmp_path, "wide.csv", wide + "\n" + ",".join(map(str, range(10_000))) + "\n"))
    assert len(set(table.columns)) == 10_000
    assert cells(table)[0][9999] == "9999"
    assert len(profile(table)) == 10_000
    line = json.dumps({f"c{n}": n for n in range(10_000)})
    assert len(open_table(write(tmp_path, "wide.jsonl", line)).columns) == 10_000
    with pytest.raises(ReadError, match="at most 20000"):
        open_table(write(tmp_path, "wider.csv", ",".join(map(str, range(20_001))) + "\n1\n"))


def test_nested_json_is_flattened(tmp_path):
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


def test_a_place_in_json_is_named_by_its_pointer(tmp_path):
    both = write(
        tmp_path,
        "b.json",
        json.dumps({"a/b": {"x": [{"k": 1}]}, "list": [1, 2], "y": [{"j": [{"deep": 1}]}, {"j": 3}]}),
    )
    with pytest.raises(ReadError, match="has 2 arrays of objects; name one of #/a~1b/x, #/y"):
        open_table(both)
    table = open_table("b.json#/y", base_folder=tmp_path)
    assert (table.name, table.columns, cells(table)) == ("y", ("j.deep", "j"), [("1", None), (None, "3")])
    assert cells(open_table(f"{both}#/y/0")) == [("1",)]
    assert tables_in(both) == (f"{both}#/a~1b/x", f"{both}#/y")
    with pytest.raises(ReadError, match="there is nothing at /z; arrays of objects are at: /a~1b/x, /y"):
        open_table(f"{both}#/z")
    with pytest.raises(ReadError, match="holds no JSON objects"):
        open_table(f"{both}#/list")
    one = write(tmp_path, "c.json", '{"name": "x", "n": 12345678901234567890.10}')
    assert cells(open_table(one)) == [("x", "12345678901234567890.10")]


def test_notes_beside_tables_are_no_sheet(tmp_path):
    book = openpyxl.Workbook()
    for row in (("name", "age"), ("Rex", 4)):
        book.active.append(row)
    book.create_sheet("Info").append(["Exported on 2 October"])
    book.save(tmp_path / "pets.xlsx")
    assert tables_in(tmp_path / "pets.xlsx") == (str(tmp_path / "pets.xlsx"),)
    book.remove(book["Sheet"])
    book.save(tmp_path / "notes.xlsx")
    assert cells(open_table(tmp_path / "notes.xlsx#Info")) == []


def test_zeros_and_ones_are_yes_and_no_where_the_column_says_so(tmp_path):
    path = write(tmp_path, "p.csv", "name,insured,children,has_dog,是否退休,beds\nA,0,1,1,0,1\nB,1,0,0,1,0\n")
    types = {column.name: column.type.value for column in profile(open_table(path))}
    assert [name for name, type_ in types.items() if type_ == "boolean"] == ["insured", "has_dog", "是否退休"]


def test_lists_of_objects_in_json_records_are_tables_that_lead_back(tmp_path):
    signs = [{"text": "P", "lit": True}, {"text": "WC"}]
    stops = [[{"name": "Harbour", "zone": 1, "signs": signs}, {"name": "Market"}]]
    stops.append([{"name": "Hospital", "zone": 2}])
    records = [{"color": color, "at": {"x": n, "stops": stops[n]}, "id": f"T{n}", "by": [{"name": "Ann"}]}
               for n, color in enumerate(("red", "red"))]  # fmt: skip
    whole = write(tmp_path, "lines.json", json.dumps(records))
    wrapped = write(tmp_path, "net.json", json.dumps({"version": 2, "data": records}))
    listed = write(tmp_path, "lines.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    for path, first in ((whole, "[]"), (wrapped, "/data"), (listed, "[]")):
        outer, inner, innermost = tables_in(path)
        assert (outer, inner) == (f"{path}#{first}", f"{path}#{first.removesuffix('[]')}/[]/at/stops")
        assert innermost == f"{inner}/[]/signs"
        table = open_table(outer)
        assert (table.columns, cells(table)[1]) == (("color", "at.x", "id", "by.name"), ("red", "1", "T1", "Ann"))
        table, outermost = open_table(inner), "net" if path == wrapped else "lines"
        assert (table.name, table.columns, table.references[table.columns[0]]) == (
            *("stops", (singular(outermost), "name", "zone"), outermost),
        )
        assert cells(table) == [("T0", "Harbour", "1"), ("T0", "Market", None), ("T1", "Hospital", "2")]
        assert row_text(inner, 3) == f"{table.columns[0]}: T1; name: Hospital; zone: 2"
        table = open_table(innermost)
        assert (table.columns, table.references) == (("stop", "text", "lit"), {"stop": "stops"})
        assert cells(table) == [("Harbour", "P", "true"), ("Harbour", "WC", None)]
    with pytest.raises(ReadError, match=r"no list of objects at /data/\[\]/no; tables are at #/data, #/data/\[\]/at/"):
        open_table(f"{wrapped}#/data/[]/no")


def test_objects_in_json_that_stand_under_their_keys_are_rows(tmp_path):
    stations = {"A1": {"name": "Harbour", "tracks": [{"nr": 1, "m": 120}, {"nr": 2, "m": 80}]}, "B2": {"name": "Hill"}}
    stations["C3"] = {"name": "Market", "zone": 2, "id": "M"}
    path = write(tmp_path, "net.json", json.dumps({"version": {"of": 2}, "stations": stations}))
    outer, inner = tables_in(path)
    assert open_table(outer).columns == ("id", "name", "zone")
    assert cells(open_table(outer)) == [("A1", "Harbour", None), ("B2", "Hill", None), ("M", "Market", "2")]
    assert cells(open_table(inner)) == [("A1", "1", "120"), ("A1", "2", "80")]
    apart = {"name": "Inn", "address": {"street": "Quay"}, "phone": {"home": 1}, "desk": {"open": "9"}}
    assert cells(open_table(write(tmp_path, "one.json", json.dumps(apart)))) == [("Inn", "Quay", "1", "9")]


def test_what_is_no_object_in_a_list_of_objects_stays_with_the_record(tmp_path):
    records = [{"id": 1, "stops": [{"n": "A", "z": 1}, {"n": "B", "z": 2}]}, {"id": 2, "stops": ["C", {"n": "D"}]}]
    outer, inner = tables_in(write(tmp_path, "lines.json", json.dumps([*records, {"id": 3, "stops": []}])))
    assert cells(open_table(outer)) == [("1", None), ("2", "C"), ("3", None)]
    assert cells(open_table(inner)) == [("1", "A", "1"), ("1", "B", "2"), ("2", "D", None)]


def test_lists_whose_records_nothing_tells_apart_stay_in_them(tmp_path):
    alike = [{"day": "mon", "runs": [{"n": 1, "m": 2}, {"n": 3, "m": 4}]}] * 2
    path = write(tmp_path, "a.json", json.dumps(alike))
    assert tables_in(path) == (str(path),)
    assert cells(open_table(path))[0] == ("mon", "1; 3", "2; 4")
    own = [{"id": n, "runs": [{"a": "x", "n": 1}, {"a": "y"}]} for n in range(2)]
    clash = open_table(f"{write(tmp_path, 'a.json', json.dumps(own))}#/[]/runs")
    assert (clash.columns, clash.references) == (("of a", "a", "n"), {"of a": "a"})


def test_a_json_array_larger_than_the_reading_buffer_keeps_every_cell(tmp_path):
    items = [{"n": n, "t": '西"\\' + "x" * (n % 90)} for n in range(10_000)]
    path = write(tmp_path, "a.json", json.dumps({"data": {"items": items}}, indent=1))
    assert path.stat().st_size > 3 * json_tables._CHUNK
    assert cells(open_table(path), 1000) == [(str(item["n"]), item["t"]) for item in items]


def test_json_lines_go_on_after_a_bad_one_and_json_that_breaks_says_where(tmp_path):
    table = open_table(write(tmp_path, "a.jsonl", '{"a": 1}\n\n{"a": \n{"a": 3}\n'))
    assert cells(table) == [("1",), ("3",)]
    assert numbers(table) == [1, 4]
    assert [problem.number for problem in table.problems] == [3]
    assert cells(open_table(write(tmp_path, "b.json", '{"a": 1}\n{"b": 2}\n'))) == [("1", None), (None, "2")]
    assert cells(open_table(write(tmp_path, "c.jsonl", '[{"a": 1},\n{"a": 2}]'))) == [("1",), ("2",)]
    broken = '[\n{"a": 1},\n{"a" 2}\n]' + " " * 100
    nested = "[" + '{"a":' * 100_000
    for text, reason in (
        (broken, "line 3: expecting ':' delimiter"),
        ('[{"a": 1}', "line 1: "),
        (nested, "too deeply"),
    ):
        with pytest.raises(ReadError, match=reason):
            open_table(write(tmp_path, "d.json", text))


def moment(text):
    return dt.datetime.fromisoformat(text)


def test_a_sheet_with_titles_merged_headers_dates_and_errors(tmp_path):
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
    path = workbook(tmp_path / "h.xlsx", {"Sheet1": rows}, merges=("A1:E1", "A3:A4", "B3:C3", "D3:D4", "E3:E4"))
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


def test_sheets_are_named_and_the_first_with_a_table_is_taken(tmp_path):
    path = workbook(tmp_path / "b.xlsx", {"empty": [], "房间": [["a"], [1]], "C#1": [["b"], [2]]})
    assert open_table(path).columns == ("a",)
    assert tables_in(path) == (f"{path}#房间", f"{path}#C#1")
    table = open_table(f"{path}#C#1")
    assert (table.name, table.columns, cells(table)) == ("C#1", ("b",), [("2",)])
    with pytest.raises(ReadError, match="has no sheet 'x'; it has empty, 房间, C#1"):
        open_table(f"{path}#x")
    with pytest.raises(ReadError, match="the sheet 'empty' is empty"):
        open_table(f"{path}#empty")


def test_a_heavy_workbook_is_not_looked_into_here_before_another_process_went_through_it(tmp_path, monkeypatch):
    books = [workbook(tmp_path / f"{name}.xlsx", {"s": [["a"], [1]], "t": [["b"], [2]]}) for name in "xy"]
    with KnowledgeGraph.create(tmp_path / "w", ontology="travel") as kg:
        tables = ingest.tables_of(kg.workspace)
        assert len(tables.each(books[0])) == 2
        monkeypatch.setattr("kgplatform.documents.tables.table_source._HEAVY_BYTES", 0)
        monkeypatch.setattr(table_stage, "open_table", None)
        assert tables.each(books[0]) == books[:1]
        assert tables.in_order(books) == books


def test_merged_cells_hold_for_all_their_rows_and_columns_and_a_table_may_begin_anywhere(tmp_path):
    rows = [[None] * 4, [None, None, "town", "inn"], [None, None, "Wuzhen", "A"], [None, None, None, "B"]]
    table = open_table(workbook(tmp_path / "m.xlsx", {"s": rows}, merges=("C3:C4",)))
    assert (table.columns, table.problems) == (("town", "inn"), ())
    assert cells(table) == [("Wuzhen", "A"), ("Wuzhen", "B")]
    rows = [["Sales", *[None] * 3], [None, None, "2024", None], ["region", "town", "Q1", "Q2"], ["a", "b", "1", "2"]]
    table = open_table(workbook(tmp_path / "p.xlsx", {"s": rows}, merges=("A1:D1", "C2:D2")))
    assert table.columns == ("region", "town", "2024 Q1", "2024 Q2")
    assert reasons(table) == ["1 : row 1 above the header passed over"]
    wide = [[None, "v", None], ["k", "x", "y"], ["a", "1", "2"]]
    assert open_table(workbook(tmp_path / "q.xlsx", {"s": wide}, merges=("B1:C1",))).columns == ("k", "v x", "v y")


def test_formulas_give_their_computed_values_and_those_without_are_counted(tmp_path):
    path = workbook(tmp_path / "f.xlsx", {"s": [["a", "b"], [1, "=A2*2"], [2, "=A3*2"]]})
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


def test_tables_views_and_queries_of_a_database(tmp_path):
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
    assert open_table(f'sqlite:///{path}#odd "one"').columns == ("a",)
    with pytest.raises(ReadError, match="has 3 tables; name one of them behind #: inn, cheap"):
        open_table(path)
    assert tables_in(path) == (f"{path}#inn", f'{path}#odd "one"')
    assert tables_in(f"{path}#CHEAP") == (f"{path}#CHEAP",)
    with pytest.raises(ReadError, match="has no table 'hotels'; it has inn, cheap"):
        open_table(f"{path}#hotels")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT * FROM nowhere", "no such table: nowhere"), ("DELETE FROM t", "not authorized"),
        ("ATTACH 'other.db' AS o", "not authorized"), ("SELECT 1; SELECT 2", "one statement"),
        ("PRAGMA journal_mode", "not authorized"), (" ", "no rows"),
    ],
)  # fmt: skip
def test_a_query_that_is_no_select_is_refused(tmp_path, query, reason):
    path = database(tmp_path / "d.db", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    with pytest.raises(ReadError, match=reason):
        open_table(f"sqlite:///{path}?query={query}")
    assert cells(open_table(path)) == [("1",)]
    assert sorted(item.name for item in tmp_path.iterdir()) == ["d.db"]


def test_names_with_a_hash_and_wrong_suffixes_are_opened_by_what_they_hold(tmp_path):
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
def test_whatever_a_file_holds_it_is_read_or_refused(content, suffix, head):
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), f"a.{suffix}", head + content)
        refusals: list[str] = []
        try:
            table = open_table(path)
            assert all(len(row) == len(table.columns) and any(row) for row in cells(table))
        except ReadError as error:
            refusals.append(str(error))
        assert "\n" not in "".join(refusals)


TABLE = b"a\n1\n"


def ole(marker):
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600 + marker.encode("utf-16-le") + b"\0" * 600


def zipped(*names):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b",,\n,,\n", "the first row should name the columns"),
        ("a.csv", bytes(range(256)) * 40, "not text"),
        ("a.csv", b"\x89PNG\r\n\x1a\n" + b"\0" * 90, "is a PNG image"),
        ("a.xls", b"<html><table><tr><td>x", "a page in HTML or XML"),
        ("a.json", b"[]", "holds no rows"),
        ("a.json", b"[1, 2]", "holds no JSON objects"),
        ("a.json", b"{} {", "line 1"),
        ("a.jsonl", b"nothing\nof it", "holds no JSON objects"),
        ("a.xlsx", b"PK\x03\x04 broken", "is not a readable workbook"),
        ("a.xlsx", zipped("xl/workbook.xml"), "is not a readable workbook"),
        ("a.docx", zipped("word/document.xml"), "a ZIP archive without a workbook"),
        ("a.ods", zipped("mimetype", "content.xml"), "an OpenDocument file"),
        ("a.xlsx", ole("EncryptedPackage"), "is protected by a password"),
        ("a.xls", ole("Workbook"), "is an old Excel file"),
        ("a.xlsx", b"plain text", "is not a readable workbook"),
        ("a.parquet", b"PAR1 and no more", "not readable as Parquet"),
        ("a.db", b"SQLite format 3\x00 and no more", "SQLite says"),
        ("a.sqlite", b"name,price\n", "SQLite says: file is not a database"),
        ("a.pdf", b"%PDF-1.7\n", "has the suffix .pdf; tables are .csv"),
        *((location, TABLE, reason) for location, reason in (
            ("none.csv", "cannot be read: No such file"),
            ("none.xlsx#Sheet", "none.xlsx: cannot be read"),
            ("sqlite:///none.db#t", "none.db: cannot be read"),
            ("folder", "is a folder"),
            ("https://example.org/a.csv", "is an address, not a file"),
            ("s3://bucket/a.parquet", "is an address, not a file"),
            ("a.csv#part", "holds one table only, so there is no 'part' in it"),
            ("sqlite:///a.csv", "is not an SQLite database"),
            ("a\0b.csv", "cannot be read"),
        )),
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused_in_one_line(tmp_path, name, content, reason):
    (tmp_path / "folder").mkdir()
    is_there = content != TABLE
    write(tmp_path, name if is_there else "a.csv", content)
    with pytest.raises(ReadError, match=reason) as caught:
        open_table(name, base_folder=tmp_path)
    assert "\n" not in str(caught.value)


def test_a_profile_tells_types_languages_keys_and_separators(tmp_path):
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


def test_a_large_csv_is_read_in_constant_memory(tmp_path):
    program = """
        import resource, sys
        from kgplatform.documents.tables.table_source import open_table
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        count = sum(len(batch) for batch in open_table(sys.argv[1]).batches(1000))
        print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    path = write(tmp_path, "big.csv", "id,name,price,town\n" + "1,枕水 Inn,12.5,Wuzhen and more of it\n" * 400_000)
    count, grown = map(int, in_a_process(program, path).split())
    assert count == 400_000
    assert grown < path.stat().st_size / 1024  # both in KiB


OPENXML = "http://schemas.openxmlformats.org"
SHEET = f'xmlns="{OPENXML}/spreadsheetml/2006/main"'
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{OPENXML}/package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/>'
    + "".join(
        f'<Override PartName="/xl/{part}.xml" '
        f'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.{kind}+xml"/>'
        for part, kind in (
            ("workbook", "sheet.main"),
            ("worksheets/sheet1", "worksheet"),
            ("sharedStrings", "sharedStrings"),
        )
    )
    + "</Types>",
    "_rels/.rels": f'<Relationships xmlns="{OPENXML}/package/2006/relationships"><Relationship Id="r1" '
    f'Type="{OPENXML}/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook {SHEET} xmlns:r="{OPENXML}/officeDocument/2006/relationships">'
    '<sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{OPENXML}/package/2006/relationships"><Relationship Id="r1" '
    f'Type="{OPENXML}/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="r2" '
    f'Type="{OPENXML}/officeDocument/2006/relationships/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
    "xl/worksheets/sheet1.xml": f'<worksheet {SHEET}><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c></row>'
    '<row r="2"><c r="A2" t="s"><v>1</v></c></row></sheetData></worksheet>',
}


@pytest.fixture(scope="module")
def bomb(tmp_path_factory):
    """A small file that unpacks to 66 MB of strings."""
    path = tmp_path_factory.mktemp("bomb") / "prices.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in PARTS.items():
            archive.writestr(name, text)
        strings = "<si><t>name</t></si><si><t>Inn</t></si>" + "<si><t>x</t></si>" * 4_100_000
        archive.writestr("xl/sharedStrings.xml", f"<sst {SHEET}>{strings}</sst>")
    return path


@pytest.fixture
def parsers():
    made = Parsers(ParserLimits(count=1, memory_bytes=300_000_000))
    yield made
    made.close()


def zstd(path, select):
    duckdb.sql(f"COPY ({select}) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
    return path


@pytest.mark.slow
def test_a_workbook_that_unpacks_to_very_much_is_gone_through_elsewhere_first(bomb, parsers):
    assert bomb.stat().st_size < 1_000_000
    assert is_heavy(bomb)
    with pytest.raises(ReadError, match=r"takes more than 300 MB of memory to read, see documents\.parse_memory_mb"):
        parsers.check_table(bomb)
    parsers.limits = ParserLimits(count=1, seconds=0.1)
    with pytest.raises(ReadError, match=r"takes longer than 0\.1 s to read"):
        parsers.check_table(bomb)


def test_adding_one_fails_without_opening_it_here(bomb, tmp_path, monkeypatch):
    new_workspace(tmp_path / "kg", settings="[documents]\nparse_memory_mb = 300")
    opened = []
    for module in (table_stage, ingest):
        monkeypatch.setattr(module, "open_table", opened.append)
    note = write(tmp_path, "note.txt", "The Blue Inn is located in Wuzhen.")
    with KnowledgeGraph.open(tmp_path / "kg") as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        added = {Path(item.document.source).name: item for item in kg.add(bomb, note, build=False)}
    assert "takes more than 300 MB" in (added["prices.xlsx"].error or "")
    assert added["note.txt"].outcome == "added"
    assert not opened


def in_a_process(program, *arguments):
    """What a program prints."""
    command = [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def gone_through(path):
    """What a process with little memory says of the table."""
    program = """
        import resource, sys
        from kgplatform.documents.tables.table_source import go_through
        from kgplatform.errors import ReadError
        resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
        try:
            go_through(sys.argv[1])
        except ReadError as error:
            print(error)
    """
    return in_a_process(program, path, 1_500_000_000)


@pytest.mark.slow
def test_parquet_of_few_bytes_with_huge_cells_is_refused_or_read_a_part_at_a_time(tmp_path):
    huge = zstd(tmp_path / "huge.parquet", "SELECT i, repeat('x', 1000000) AS text FROM range(6000) rows(i)")
    assert huge.stat().st_size < 100_000
    assert "a row has more than 500,000 bytes of text" in gone_through(huge)
    long = zstd(tmp_path / "long.parquet", "SELECT i, repeat('x', 100000) AS text FROM range(600) rows(i)")
    assert gone_through(long) == ""
    assert max(len(batch) for batch in islice(open_table(long).batches(40_000), 2)) < 400


@pytest.mark.parametrize(
    ("view", "reason"),
    [
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n", "not auth"),
        ("SELECT zeroblob(900000000) AS b", "too big"),
    ],
)
def test_a_view_that_never_ends_or_gives_a_huge_cell_is_refused(tmp_path, view, reason):
    with pytest.raises(ReadError, match=reason):
        list(open_table(database(tmp_path / "data.db", f"CREATE VIEW t AS {view}")).batches(10))


def test_a_recursive_query_of_ones_own_is_carried_out(tmp_path):
    path = database(tmp_path / "data.db", "CREATE TABLE t (i)")
    query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n"
    assert cells(open_table(f"sqlite:///{path}?query={query}")) == [("1",), ("2",), ("3",)]


def test_a_json_record_has_a_limit_and_a_line_of_them_none(tmp_path, monkeypatch):
    monkeypatch.setattr(json_tables, "LARGEST_VALUE", 1 << 20)
    nested = '{"name": [' + "[]," * 900_000 + "[]]}"
    lines = write(tmp_path, "rows.jsonl", f'{{"name": "Inn"}}\n{nested}\n')
    with pytest.raises(ReadError, match="a line of more than 1 million characters"):
        list(open_table(lines).batches(10))
    with pytest.raises(ReadError, match="a value is larger than"):
        list(open_table(write(tmp_path, "rows.json", f"[{nested}]")).batches(10))
    many = write(tmp_path, "many.json", json.dumps([{"name": "x" * 1000}] * 1_500))
    assert sum(len(batch) for batch in open_table(many).batches(1_000)) == 1_500
