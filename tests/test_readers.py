"""Reading files: texts, pages, records and tables, what cannot be read, and the laws that hold for all bytes."""

import csv
import hashlib
import io
import json
import os
import tempfile
import time
import unicodedata
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kgplatform.documents.chunking import sliding_window
from kgplatform.documents.files import SUFFIXES, discover, read, supported
from kgplatform.documents.tables.delimited import read_table
from kgplatform.errors import ReadError
from kgplatform.vocab import document_iri

BASE = "https://example.org/kg/"
EXAMPLES = Path(__file__).parent.parent / "examples"
NOTE = "Xizha at night\n\nWe stayed at the Blue Bridge Inn near Xizha. 房间很干净。\n"
CHINESE = "西栅夜游攻略\n\n我们住在西栅的枕水度假酒店，离景区入口步行五分钟。"


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read_one(path):
    (document,) = read(path, base=BASE)
    return document


def refusal(path, **options):
    with pytest.raises(ReadError) as caught:
        read(path, base=BASE, **options)
    assert caught.value.path == path
    assert "\n" not in str(caught.value)
    return caught.value.reason


def assert_normal(document):
    text = document.text
    assert text.strip()
    assert not {"\r", "\x00", "\ufeff"} & set(text)
    assert unicodedata.is_normalized("NFC", text)
    assert document.title.strip() == document.title != ""
    (text + document.title + document.source + (document.author or "")).encode()  # no half surrogates


def test_a_document_knows_where_it_comes_from(tmp_path, monkeypatch):
    path = write(tmp_path, "night.txt", NOTE)
    document = read_one(path)
    assert (document.text, document.title) == (NOTE, "Xizha at night")
    assert document.sha256 == hashlib.sha256(NOTE.encode()).hexdigest()
    assert document.iri == document_iri(BASE, document.sha256)
    assert (document.source, document.media_type, document.language) == (path.as_posix(), "text/plain", "en")
    monkeypatch.chdir(tmp_path)
    assert read_one(Path("night.txt")).source == "night.txt"


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "gb18030", "gbk", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]
)
def test_chinese_text_is_read_in_every_usual_encoding(tmp_path, encoding):
    document = read_one(write(tmp_path, "a.txt", CHINESE.encode(encoding)))
    assert (document.text, document.title, document.language) == (CHINESE, "西栅夜游攻略", "zh")
    written = "\ufeffCafe\u0301  x\r\n\r\n\ty\rz\x00 ＡＢ\u3000\n" + "w" * 40
    document = read_one(write(tmp_path, "b.txt", written.encode()))
    assert document.text == "Café  x\n\n\ty\nz ＡＢ\u3000\n" + "w" * 40  # and is normalised no further


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("乌镇", "gb18030"), ("西栅民宿很好。", "gb18030"), ("Hotel 西栅 is good, rooms from 300 yuan", "gb18030"),
        ("价格：¥300，电话0573", "gb18030"), ("好玩😀😀👍🏽", "gb18030"), ("朱镕基", "gb18030"),
        ("烏鎮是江南水鄉古鎮，位於浙江省桐鄉市。", "big5"), ("Café crème à Zürich, naïve", "latin-1"),
        ("Der Fluß", "cp1252"), ("It’s fine – “really”", "cp1252"), ("Kursen är på svenska", "latin-1"),
        ("Привет мир, как дела сегодня? Это русский текст.", "cp1251"),
        ("plain ASCII as UTF-16", "utf-16-le"),
    ],
)  # fmt: skip
def test_short_texts_in_old_encodings_are_told_apart(tmp_path, text, encoding):
    path = write(tmp_path, "a.txt", text.encode(encoding))
    assert read_one(path).text == text
    assert read(path, base=BASE) == read(path, base=BASE)


COMMON = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说"
chinese = st.text(COMMON + "，。、！？ \nabc019", min_size=6, max_size=60)


@given(chinese.filter(lambda text: sum(map(COMMON.count, text)) > 5))
@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
def test_chinese_in_gb18030_is_never_taken_for_another_encoding(text):
    data = text.encode("gb18030")
    with suppress(UnicodeDecodeError):
        data.decode()
        return  # such bytes mean both
    with tempfile.TemporaryDirectory() as folder:
        assert read_one(write(Path(folder), "a.txt", data)).text == text


def test_a_wrong_byte_in_utf8_is_named_with_its_line(tmp_path):
    path = write(tmp_path, "a.txt", "好的\n西栅民宿很".encode() + b"\xff" + "好".encode())
    assert refusal(path).startswith("line 2: byte 0xff is not UTF-8")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("标题：西栅一日\n作者：小李\n发布时间：2024年3月5日 10:20\n\n很好玩。", ("西栅一日", "小李", "2024-03-05")),
        ("Title: A day\nAuthor: Li\nDate: March 5, 2024\n\nNice.", ("A day", "Li", "2024-03-05")),
        ("作者：小李\n\n西栅的早晨\n正文。", ("西栅的早晨", "小李", None)),
        ("word " * 60, ("my note", None, None)),
    ],
)
def test_head_lines_give_author_and_date(tmp_path, text, told):
    document = read_one(write(tmp_path, "my_note.txt", text))
    assert (document.title, document.author, document.created) == told
    assert document.text == text


MONOTONOUS = ["# a" + "#" * 30_000 + "x", "a-" * 15_000, "[" * 30_000, "*" * 30_000 + "x", " " * 30_000 + "x"]


@pytest.mark.parametrize("line", MONOTONOUS, ids=lambda line: line[:3])
@pytest.mark.parametrize("suffix", [".txt", ".md", ".html", ".csv"])
def test_long_monotonous_lines_take_no_longer(tmp_path, line, suffix):
    began = time.perf_counter()
    assert_normal(read_one(write(tmp_path, f"a{suffix}", line)))
    assert time.perf_counter() - began < 30


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("From: Ann Flett <a@example.org>\nTo: Peter\nSubject: Re: Orkney\n\nHi Peter", "Re: Orkney"),
        ("发件人：安\n主题：敦煌\n\n你好", "敦煌"),
        ("Course PM\nSubject: Physics\n\nLectures on Monday.", "Course PM"),
        ("【飞天宾馆】住客点评\n很好", "【飞天宾馆】住客点评"),
        ("【住客点评】\n很好", "住客点评"),
    ],
)
def test_a_mail_is_called_by_its_subject_and_a_text_by_its_first_line(tmp_path, text, title):
    assert read_one(write(tmp_path, "a.txt", text)).title == title


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('---\ntitle: "Xizha: a walk"\nauthor: Li\ndate: 2024-05-01\n---\n# Heading\n\n* item **bold**\n',
         ("Xizha: a walk", "Li", "2024-05-01")),
        ("intro\n\n## The *old* [town](http://x) ##\n\n# later", ("The old town", None, None)),
        ("乌镇\n====\n\n正文", ("乌镇", None, None)),
        ("no heading here\n\nmore", ("no heading here", None, None)),
    ],
)  # fmt: skip
def test_markdown_is_kept_as_written_and_titled_by_front_matter_or_heading(tmp_path, text, told):
    document = read_one(write(tmp_path, "a.md", text))
    assert (document.text, document.media_type) == (text, "text/markdown")
    assert (document.title, document.author, document.created) == told


PAGE = """<!DOCTYPE html><html><head><title>Xizha hotels - Travel</title><meta name="author" content="Li Na">
<meta property="article:published_time" content="2024-03-01T10:00:00+08:00"><style>.a{}</style></head><body>
<header><p>Site logo</p></header><nav><a href="/">Home</a></nav><div class="side-bar">Weather</div>
<article><header><h1>Xizha
 hotels</h1></header><p>The <b>Blue</b> Inn<br>is old.</p><script>var x = "hidden";</script>
<ul><li>quiet<ul><li>at night</li></ul></li><li>near</li></ul>
<table><caption>Prices</caption><tr><th>Hotel</th><th>Price</th></tr>
<tr><td>Blue <i>Inn</i></td><td>300<br>yuan</td></tr></table>
<dl><dt>Opens</dt><dd>9:00</dd><dt>Fee<dd>free</dd><dd>for children</dl>
<pre>line 1
  line 2</pre><aside>Advert</aside> After all.<section id="comments"><p>First!</p></section></article>
<footer>Imprint</footer></body></html>"""


def test_a_page_gives_its_main_content_as_lines(tmp_path):
    document = read_one(write(tmp_path, "a.html", PAGE))
    assert document.text == (
        "# Xizha hotels\n\nThe Blue Inn\nis old.\n\n- quiet\n  - at night\n- near\n\nPrices\n\n"
        "Hotel | Price\nBlue Inn | 300 yuan\n\nOpens: 9:00\nFee: free\nFee: for children\n\n"
        "line 1\n  line 2\n\nAfter all."
    )
    assert (document.title, document.author, document.created) == ("Xizha hotels", "Li Na", "2024-03-01")
    assert document.media_type == "text/html"


DENSE = "西栅的民宿都在河边，早上可以听到摇橹的声音。" * 20
LINKS = "".join(f'<a href="/{number}">第{number}页</a> ' for number in range(40))


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (  # without an article the densest block is the content
            f"<title>水边</title><body><div>{LINKS}</div><div><div class=x><p>{DENSE}</p><p>第二段。</p></div></div>",
            f"# 水边\n\n{DENSE}\n\n第二段。",
        ),
        (  # a head without a body
            "<!doctype html><title>西栅</title><meta charset=utf-8><main><h1>西栅夜游</h1><p>很安静。</main>",
            "# 西栅夜游\n\n很安静。",
        ),
        (  # small blocks beside each other
            "<div><p>One two three.</p></div><div><h2>Prices</h2><table><tr><td>a<td>1</table></div>"
            "<div><ul><li>x</ul></div>",
            "One two three.\n\n## Prices\n\na | 1\n\n- x",
        ),
        ("<div>" * 5_000 + "deep" + "</div>" * 5_000 + "<p>after</p><script>hidden()</script>", "deep\n\nafter"),
    ],
    ids=["dense", "headless", "small", "deep"],
)
def test_no_content_of_a_page_is_lost(tmp_path, page, text):
    assert read_one(write(tmp_path, "a.html", page)).text == text


def test_a_page_beyond_all_measure_or_without_content_is_refused(tmp_path):
    path = write(tmp_path, "a.html", b"<p>x</p>" * (5 * 1024 * 1024))
    assert refusal(path) == "is a page of 40 MB; 32 MB are the limit, split it"
    page = "<html><body><nav>Home</nav><script>x()</script></body></html>"
    assert refusal(write(tmp_path, "b.html", page)) == "holds no text outside navigation and scripts"


def test_a_declared_encoding_is_believed_when_the_bytes_are_not_utf8(tmp_path):
    page = '<head><meta http-equiv="Content-Type" content="text/html; charset=gb2312"><title>乌镇</title><p>镕</p>'
    assert "镕" in read_one(write(tmp_path, "a.html", page.encode("gbk"))).text
    lying = "<meta charset=gb2312><p>水乡</p>"
    assert read_one(write(tmp_path, "b.html", lying)).text == "水乡"


@pytest.mark.parametrize("tag", ["div", "p", "b", "ul><li", "table><tr><td", "blockquote", "a", "dl><dd", "section"])
@pytest.mark.parametrize("depth", [5_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_deeply_nested_pages_are_read_with_all_their_text(tmp_path, tag, depth):
    began = time.perf_counter()
    page = f"<p>start</p>{f'<{tag}>' * depth}the deep &amp; last word"
    text = read_one(write(tmp_path, "a.html", page)).text
    assert time.perf_counter() - began < 60
    assert "start" in text
    assert "the deep & last word" in text


TAGS = ("p", "div", "ul", "li", "table", "tr", "td", "th", "dl", "dt", "dd", "h2", "b", "br", "pre", "article")
nodes = st.recursive(
    st.just(""),
    lambda inner: st.tuples(st.sampled_from(TAGS), st.lists(inner, max_size=3), st.booleans()),
    max_leaves=25,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(nodes)
def test_no_word_of_a_page_is_lost_outside_its_surroundings(tree):
    count = 0

    def markup(node):
        nonlocal count
        count += 1
        word = f"w{count}z"
        if not isinstance(node, tuple):
            return word
        tag, inner, closed = node
        return f" {word} <{tag}>{''.join(map(markup, inner))} v{count}z {f'</{tag}>' if closed else ''}"

    body = markup(tree)
    with tempfile.TemporaryDirectory() as folder:
        text = read_one(write(Path(folder), "a.html", f"<body><main>{body}</main></body>")).text
    wanted = {word for word in body.replace("<", " <").replace(">", "> ").split() if word[-1] == "z"}
    assert wanted <= set(text.replace(":", " ").split())


def test_an_object_is_a_document_and_a_list_is_several(tmp_path):
    note: dict[str, object] = {"title": "西栅一日", "author": "小李", "time": "2024-03-05 10:20"}
    note |= {
        "content": "很好玩。\r\n再来。",
        "tags": ["古镇", "亲子"],
        "place": {"city": "嘉兴", "geo": [{"lat": 30.7}]},
    }
    document = read_one(write(tmp_path, "a.json", json.dumps(note)))
    assert document.text == "# 西栅一日\n\n很好玩。\n再来。\n\ntags: 古镇, 亲子\nplace.city: 嘉兴\nplace.geo.lat: 30.7"
    assert (document.title, document.author, document.created) == ("西栅一日", "小李", "2024-03-05")
    assert document.media_type == "application/json"
    path = write(tmp_path, "b.json", '[{"title": "A", "content": "one"}, {"标题": "B", "正文": "二"}, "three"]')
    documents = read(path, base=BASE)
    told = [(document.title, document.text) for document in documents]
    assert told == [("A", "# A\n\none"), ("B", "# B\n\n二"), ("b", "three")]
    assert [document.iri for document in documents] == [document_iri(BASE, documents[0].sha256, n) for n in range(3)]


@pytest.mark.parametrize(
    ("name", "text", "texts"),
    [
        *(
            (name, '{"content": "one"}\n\n{"content": "two"}\n', ["one", "two"])
            for name in ("a.jsonl", "a.ndjson", "a.json")
        ),
        ("a.json", '{"code": 0, "data": [{"content": "x"}, {"content": "y"}]}', ["x", "y"]),
    ],
)
def test_json_lines_and_lists_are_several_documents(tmp_path, name, text, texts):
    assert [document.text for document in read(write(tmp_path, name, text), base=BASE)] == texts


@pytest.mark.parametrize(
    ("note", "part", "author", "created"),
    [
        ('{"content": "<p>a &amp; b</p><ul><li>c</li></ul>", "timestamp": 1709600000000}', "a & b\n\n- c", None,
         "2024-03-05"),
        ('{"content": "x", "time": "yesterday"}', "time: yesterday", None, None),
        ('{"title": "\\ud800", "content": "a\\udc00b"}', "a\ufffdb", None, None),
        ('{"title": "T", "content": "x", "user": {"nickname": "小李", "id": 3}}', "x", "小李", None),
        ('{"from": "me", "data": [{"content": "x"}]}', "me", None, None),
    ],
)  # fmt: skip
def test_odd_values_in_json_are_read_for_what_they_are(tmp_path, note, part, author, created):
    document = read_one(write(tmp_path, "a.json", note))
    assert_normal(document)
    assert part in document.text
    assert (document.author, document.created) == (author, created)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.json", '{"title": "T",\n "content": }', "line 2, column 13: Expecting value"),
        ("a.json", "[" * 100_000, "is nested too deeply"),
        ("a.json", '{"a": ' * 300 + "1" + "}" * 300, "is nested too deeply"),
        ("a.json", "[]", "holds no text: expected an object with a content, or a list of them"),
        ("a.json", '{"content": " "}', "holds no text: expected an object with a content, or a list of them"),
        ("a.jsonl", '{"content": "x"}\n{"content" 3}\n', "line 2, column 12:"),
    ],
)
def test_unreadable_json_says_where(tmp_path, name, text, reason):
    assert refusal(write(tmp_path, name, text)).startswith(reason)


def test_a_table_keeps_the_place_of_every_row(tmp_path):
    written = '\ufeffname,note,price\r\n"Inn, Blue","two\r\nlines",300\r\n\r\n枕水,"say ""hi""",500\r\n'
    path = write(tmp_path, "hotels.csv", written)
    table = read_table(path)
    assert (table.name, table.columns, table.problems) == ("hotels", ("name", "note", "price"), ())
    assert [row.cells for row in table.rows] == [("Inn, Blue", "two\nlines", "300"), ("枕水", 'say "hi"', "500")]
    assert [row.line for row in table.rows] == [2, 5]
    raw = [table.text[row.start : row.end] for row in table.rows]
    assert raw == ['"Inn, Blue","two\nlines",300', '枕水,"say ""hi""",500']
    document = read_one(path)
    assert document.text == table.text
    assert (document.media_type, document.title) == ("text/csv", "hotels")


POSTS = {
    "pages": [{"posts": [{"title": "A", "content": "one"}]}, {"posts": [{"标题": "B", "正文": "二"}]}],
    "n/a": {"x": 1},
}
POINTERS = {
    "/pages/*/posts": ["# A\n\none", "# B\n\n二"],
    "/pages/1/posts": ["# B\n\n二"],
    "/pages/0/posts/0": ["# A\n\none"],
    "/n~1a": ["x: 1"],
}


@pytest.mark.parametrize("pointer", POINTERS)
def test_each_item_at_a_json_pointer_is_a_document(tmp_path, pointer):
    file = write(tmp_path, "a.json", json.dumps(POSTS))
    documents = read(Path(f"{file}#{pointer}"), base=BASE)
    assert [document.text for document in documents] == POINTERS[pointer]
    assert documents[0].source == f"{file.as_posix()}#{pointer}"
    assert len({document.iri for document in documents}) == len(documents)
    assert documents[0].sha256 != read(file, base=BASE)[0].sha256
    assert discover([Path(f"{file}#{pointer}")]).files == (Path(f"{file}#{pointer}"),)
    with pytest.raises(ReadError, match=r"there is nothing at #/posts; lists are at #/pages, #/pages/\*/posts$"):
        read(Path(f"{file}#/posts"), base=BASE)


def test_a_usual_pointer_counts_for_files_that_have_something_there(tmp_path):
    for name, text, texts in (
        ("a.json", '{"meta": "x", "data": {"items": [{"content": "one"}, {"content": "二"}]}}', ["one", "二"]),
        ("b.json", '{"title": "T", "content": "text"}', ["# T\n\ntext"]),
        ("c.jsonl", '{"data": {"items": [{"text": "a"}]}}\n{"data": {"items": [{"text": "b"}]}}\n', ["a", "b"]),
    ):
        documents = read(write(tmp_path, name, text), base=BASE, json_path="/data/items")
        assert [document.text for document in documents] == texts
        assert len({document.iri for document in documents}) == len(texts)


def test_huge_and_broken_tables_are_read_or_refused(tmp_path):
    table = read_table(write(tmp_path, "a.csv", ("名称\n西栅景区\n" + "东" * 200_000).encode("gb18030")))
    assert table.columns == ("名称",)
    assert [len(row.cells[0]) for row in table.rows] == [4, 200_000]
    began = time.perf_counter()
    table = read_table(write(tmp_path, "a.csv", "a,b\n" + '"x"y,"z\n' * 2001 + "last,row\n"))
    assert time.perf_counter() - began < 30
    assert "last" in table.text[table.rows[-1].start : table.rows[-1].end]
    assert table.problems
    with pytest.raises(ReadError, match="cannot be read: No such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(ReadError, match="the first row should name the columns"):
        read_table(write(tmp_path, "a.csv", "\n ,\n"))


cells = st.text("ab,;\"\n 西栅'\t|", max_size=8)


@settings(deadline=None)
@given(st.lists(st.lists(cells, min_size=3, max_size=3), min_size=1, max_size=8))
def test_rows_written_by_the_csv_module_come_back_and_their_places_hold(rows):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([["one", "two", "three"], *rows])
    with tempfile.TemporaryDirectory() as folder:
        table = read_table(write(Path(folder), "a.csv", out.getvalue()))
    kept = [tuple(cell.strip() for cell in row) for row in rows if any(cell.strip() for cell in row)]
    assert [row.cells for row in table.rows] == kept
    assert all(before.end < row.start for before, row in pairwise(table.rows))
    for row in table.rows:
        (again,) = csv.reader(io.StringIO(table.text[row.start : row.end], newline=""))
        assert tuple(cell.strip() for cell in again) == row.cells


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"", "is empty"),
        ("a.txt", b"\xef\xbb\xbf \r\n\t", "is empty"),
        ("a.txt", " \u3000\n".encode(), "holds no text"),
        ("a.txt", bytes(range(256)) * 8, "is not text (binary content)"),
        ("a.md", b"\x89PNG\r\n\x1a\n\x00", "is a PNG image"),
        ("a.csv", b"PK\x03\x04rest", "is a ZIP archive or an Office file; save it as PDF, HTML or text"),
        ("a.json", b"\x1f\x8b\x08rest", "is a gzip archive; unpack it"),
        ("a.pdf", b"just text", "is named .pdf but is not a PDF"),
    ],
)
def test_files_without_text_are_refused(tmp_path, name, content, reason):
    assert refusal(write(tmp_path, name, content)) == reason


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([suffix for suffix in SUFFIXES if suffix != ".text"]),
    st.one_of(
        st.binary(max_size=400),
        st.text(max_size=200).map(str.encode),
        st.text('<>/="!-&;pdivtarh\n x{}[]:,1\\u', max_size=200).map(str.encode),
    ),
)
@example(".html", b"<!--")
@example(".html", b"<?xml version='1.0' encoding='nonsense'?><p>x</p>")
@example(".html", b"<html xmlns='\x00'><p>x\x01</p>")
@example(".pdf", b"%PDF-1.7\n%%EOF")
@example(".pdf", b"%PDF-1.4\n" + b"\x00\xff garbage" * 50)
@example(".json", b'{"content": 1e999, "time": 1e999}')
@example(".json", b'{"content": "x", "time": "99999999999999999999"}')
@example(".json", b"[" + b"9" * 5000 + b"]")
@example(".docx", b"PK\x03\x04")
@example(".epub", b"PK\x05\x06" + b"\x00" * 18)
def test_any_bytes_are_read_or_refused_and_never_crash(suffix, data):
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), f"a{suffix}", data)
        try:
            documents = read(path, base=BASE)
        except ReadError:
            assert "\n" not in refusal(path)
            return
        for document in documents:
            assert_normal(document)
        assert read(path, base=BASE) == documents


def test_paths_that_are_no_files_or_too_large_are_refused(tmp_path):
    path = tmp_path / "big.txt"
    with path.open("wb") as file:
        file.truncate(214 * 1024 * 1024)
    assert refusal(path) == "is 214 MB; the limit is 100 MB, see documents.max_bytes"
    small = write(tmp_path, "a.txt", "x" * 2000)
    assert refusal(small, max_bytes=1000).startswith("is 2,000 bytes; the limit is 1,000")
    assert refusal(tmp_path / "none.txt").startswith("does not exist")
    assert refusal(tmp_path) == "is a folder, not a file"
    assert refusal(write(tmp_path, "a.odt", "x")).startswith("has the unsupported suffix .odt; supported are .txt,")
    os.mkfifo(tmp_path / "pipe.txt")
    assert refusal(tmp_path / "pipe.txt") == "is not a regular file"
    no_unicode = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt"))
    no_unicode.write_text("x " * 100)
    assert_normal(read_one(no_unicode))


def test_discover_walks_folders_in_order_and_says_what_it_left_out(tmp_path):
    left_out = {
        **dict.fromkeys(("README.md", "b/readme.txt"), "a README"),
        **dict.fromkeys((".hidden.txt", ".git"), "hidden"),
        **{"tool.py": "unsupported suffix .py", "x.odt": "unsupported suffix .odt", "gone.txt": "a broken link"},
    }
    for name in ("b/z.txt", "b/a.md", "a.csv", "c.PDF", *(left_out.keys() - {"gone.txt", ".git"}), ".git/c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path, name, "x")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
    found = discover([tmp_path])
    files = [path.relative_to(tmp_path).as_posix() for path in found.files]
    assert files == ["a.csv", "b/a.md", "b/z.txt", "c.PDF"]
    assert {entry.path.relative_to(tmp_path).as_posix(): entry.reason for entry in found.skipped} == left_out
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    (tmp_path / "same.csv").symlink_to(tmp_path / "a.csv")
    again = discover([tmp_path, tmp_path / "a.csv", tmp_path / "b"])  # every file once, and no loop
    assert again.files == found.files
    assert any(entry.reason.startswith("already") for entry in again.skipped)


def test_discover_takes_what_is_named_and_refuses_what_is_nothing(tmp_path):
    with pytest.raises(ReadError, match=r"none: does not exist; give a file \(\.txt, .*\.epub, .*\.db3\) or a folder"):
        discover([tmp_path / "none"])
    write(tmp_path, "a.odt", "x")
    with pytest.raises(ReadError, match=r"nothing to read here; supported are \.txt, .*\.epub"):
        discover([tmp_path])
    path = write(tmp_path, "README.md", "# x")
    assert discover([path]).files == (path,)
    assert supported(path)
    assert not supported(tmp_path / "a.py")


@pytest.mark.parametrize("path", discover([EXAMPLES]).files, ids=lambda path: path.relative_to(EXAMPLES).as_posix())
def test_every_example_can_be_read_and_cut(path):
    for document in read(path, base=BASE):
        assert_normal(document)
        chunks = sliding_window(document)
        assert chunks
        assert all(document.text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
