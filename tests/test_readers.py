"""Reading files: every format, every way in which a file can be unreadable, and the laws that hold for all bytes."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import os
import re
import resource
import tempfile
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter
from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph, Table

from kgplatform.documents.chunking import sliding_window
from kgplatform.documents.parts import iso_date
from kgplatform.documents.reading import SUFFIXES, discover, read, supported
from kgplatform.documents.structured import holds_texts
from kgplatform.documents.table import read_table
from kgplatform.errors import ReadError
from kgplatform.types import Document
from kgplatform.vocab import document_iri

BASE = "https://example.org/kg/"
EXAMPLES = Path(__file__).parent.parent / "examples"
NOTE = "Xizha at night\n\nWe stayed at the Blue Bridge Inn near Xizha. 房间很干净。\n"
CHINESE = "西栅夜游攻略\n\n我们住在西栅的枕水度假酒店，离景区入口步行五分钟。"


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read_one(path: Path) -> Document:
    (document,) = read(path, base=BASE)
    return document


def refusal(path: Path, **options: int) -> str:
    with pytest.raises(ReadError) as caught:
        read(path, base=BASE, **options)
    assert caught.value.path == path
    assert "\n" not in str(caught.value)
    return caught.value.reason


def assert_normal(document: Document) -> None:
    text = document.text
    assert text.strip()
    assert not {"\r", "\x00", "\ufeff"} & set(text)
    assert unicodedata.is_normalized("NFC", text)
    assert document.title.strip() == document.title != ""
    (text + document.title + document.source + (document.author or "")).encode()  # no half surrogates


# --- what every document carries


def test_a_document_knows_where_it_comes_from(tmp_path: Path) -> None:
    path = write(tmp_path, "night.txt", NOTE)
    document = read_one(path)
    assert document.text == NOTE
    assert document.title == "Xizha at night"
    assert document.sha256 == hashlib.sha256(NOTE.encode()).hexdigest()
    assert document.iri == document_iri(BASE, document.sha256)
    assert (document.source, document.media_type, document.language) == (path.as_posix(), "text/plain", "en")


def test_the_source_is_the_path_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.txt", CHINESE)
    monkeypatch.chdir(tmp_path)
    document = read_one(Path("a.txt"))
    assert document.source == "a.txt"
    assert document.language == "zh"


def test_text_is_normalised_only_in_line_ends_nul_bom_and_nfc(tmp_path: Path) -> None:
    written = "\ufeffCafe\u0301  x\r\n\r\n\ty\rz\x00 ＡＢ\u3000\n" + "w" * 40
    document = read_one(write(tmp_path, "a.txt", written.encode()))
    assert document.text == "Café  x\n\n\ty\nz ＡＢ\u3000\n" + "w" * 40


# --- plain text and its encodings


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "gb18030", "gbk", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]
)
def test_chinese_text_is_read_in_every_usual_encoding(tmp_path: Path, encoding: str) -> None:
    document = read_one(write(tmp_path, "a.txt", CHINESE.encode(encoding)))
    assert document.text == CHINESE
    assert document.title == "西栅夜游攻略"
    assert document.language == "zh"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("乌镇", "gb18030"),
        ("西栅民宿很好。", "gb18030"),
        ("Hotel 西栅 is good, rooms from 300 yuan", "gb18030"),
        ("价格：¥300，电话0573", "gb18030"),
        ("好玩😀😀👍🏽", "gb18030"),
        ("朱镕基", "gb18030"),
        ("烏鎮是江南水鄉古鎮，位於浙江省桐鄉市。", "big5"),
        ("Café crème à Zürich, naïve", "latin-1"),
        ("Der Fluß", "cp1252"),
        ("It’s fine – “really”", "cp1252"),
        ("Kursen är på svenska", "latin-1"),
        ("Привет мир, как дела сегодня? Это русский текст.", "cp1251"),
        ("plain ASCII as UTF-16", "utf-16-le"),
    ],
)
def test_short_texts_in_old_encodings_are_told_apart(tmp_path: Path, text: str, encoding: str) -> None:
    path = write(tmp_path, "a.txt", text.encode(encoding))
    assert read_one(path).text == text
    assert read(path, base=BASE) == read(path, base=BASE)


COMMON = (
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年"
    "动同工也能下过子说产种面而方后多定行学法所民得经"
)


chinese = st.text(COMMON + "，。、！？ \nabc019", min_size=6, max_size=60)


@given(chinese.filter(lambda text: sum(map(COMMON.count, text)) > 5))
@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
def test_chinese_in_gb18030_is_never_taken_for_another_encoding(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = text.encode("gb18030")
        if _is_utf8(data):  # such bytes mean both
            return
        assert read_one(write(Path(folder), "a.txt", data)).text == text


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_a_wrong_byte_in_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", "好的\n西栅民宿很".encode() + b"\xff" + "好".encode())
    assert refusal(path).startswith("line 2: byte 0xff is not UTF-8")


def test_head_lines_of_a_note_give_author_and_date(tmp_path: Path) -> None:
    chinese = read_one(write(tmp_path, "a.txt", "标题：西栅一日\n作者：小李\n发布时间：2024年3月5日 10:20\n\n很好玩。"))
    assert (chinese.title, chinese.author, chinese.created) == ("西栅一日", "小李", "2024-03-05")
    english = read_one(write(tmp_path, "b.txt", "Title: A day\nAuthor: Li\nDate: March 5, 2024\n\nNice."))
    assert (english.title, english.author, english.created) == ("A day", "Li", "2024-03-05")
    assert english.text.startswith("Title: A day")


def test_a_head_line_is_no_title(tmp_path: Path) -> None:
    assert read_one(write(tmp_path, "a.txt", "作者：小李\n\n西栅的早晨\n正文。")).title == "西栅的早晨"


MONOTONOUS = ["# a" + "#" * 30_000 + "x", "a-" * 15_000, "[" * 30_000, "*" * 30_000 + "x", " " * 30_000 + "x"]


@pytest.mark.parametrize("line", MONOTONOUS, ids=lambda line: line[:3])
@pytest.mark.parametrize("suffix", [".txt", ".md", ".html", ".csv"])
def test_long_monotonous_lines_take_no_longer(tmp_path: Path, line: str, suffix: str) -> None:
    began = time.perf_counter()
    assert_normal(read_one(write(tmp_path, f"a{suffix}", line)))
    assert time.perf_counter() - began < 30


def test_a_long_first_line_is_no_title(tmp_path: Path) -> None:
    assert read_one(write(tmp_path, "my_note.txt", "word " * 60)).title == "my note"


def test_a_line_of_thirty_thousand_characters_is_read_whole(tmp_path: Path) -> None:
    for line in ("x" * 30_000, "栅" * 30_000):
        assert read_one(write(tmp_path, "a.txt", line)).text == line


def test_right_to_left_and_emoji_stay_as_written(tmp_path: Path) -> None:
    text = "مرحبا بكم \u200fשלום\u200e 👨‍👩‍👧 🇨🇳 👍🏽\n"
    assert read_one(write(tmp_path, "a.txt", text)).text == text


# --- Markdown


def test_markdown_is_kept_as_written_with_its_front_matter(tmp_path: Path) -> None:
    text = '---\ntitle: "Xizha: a walk"\nauthor: Li\ndate: 2024-05-01\n---\n# Heading\n\n* item **bold**\n'
    document = read_one(write(tmp_path, "a.md", text))
    assert document.text == text
    assert (document.title, document.author, document.created) == ("Xizha: a walk", "Li", "2024-05-01")
    assert document.media_type == "text/markdown"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("intro\n\n## The *old* [town](http://x) ##\n\n# later", "The old town"),
        ("乌镇\n====\n\n正文", "乌镇"),
        ("no heading here\n\nmore", "no heading here"),
    ],
)
def test_markdown_title_is_the_first_heading(tmp_path: Path, text: str, title: str) -> None:
    assert read_one(write(tmp_path, "a.md", text)).title == title


# --- HTML

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


def test_a_page_gives_its_main_content_as_lines(tmp_path: Path) -> None:
    document = read_one(write(tmp_path, "a.html", PAGE))
    assert document.text == (
        "# Xizha hotels\n\nThe Blue Inn\nis old.\n\n- quiet\n  - at night\n- near\n\nPrices\n\n"
        "Hotel | Price\nBlue Inn | 300 yuan\n\nOpens: 9:00\nFee: free\nFee: for children\n\n"
        "line 1\n  line 2\n\nAfter all."
    )
    assert (document.title, document.author, document.created) == ("Xizha hotels", "Li Na", "2024-03-01")
    assert document.media_type == "text/html"


def test_without_article_the_densest_block_is_the_content(tmp_path: Path) -> None:
    text = "西栅的民宿都在河边，早上可以听到摇橹的声音。" * 20
    links = "".join(f'<a href="/{number}">第{number}页</a> ' for number in range(40))
    content = f"<div><div class=x><p>{text}</p><p>第二段。</p></div></div>"
    page = f"<title>水边的住处</title><body><div>{links}</div>{content}</body>"
    document = read_one(write(tmp_path, "a.html", page))
    assert document.text == f"# 水边的住处\n\n{text}\n\n第二段。"
    assert document.language == "zh"


def test_a_page_beyond_all_measure_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = write(tmp_path, "a.html", b"<p>x</p>" * (5 * 1024 * 1024))
    assert refusal(path) == "is a page of 40 MB; 32 MB are the limit, split it"


def test_content_that_follows_a_head_without_a_body_is_kept(tmp_path: Path) -> None:
    page = "<!doctype html><title>西栅</title><meta charset=utf-8><main><h1>西栅夜游</h1><p>很安静。</main>"
    document = read_one(write(tmp_path, "a.html", page))
    assert document.text == "# 西栅夜游\n\n很安静。"
    assert document.title == "西栅夜游"


def test_small_blocks_beside_each_other_are_all_kept(tmp_path: Path) -> None:
    page = "<div><p>One two three.</p></div><div><h2>Prices</h2><table><tr><td>a<td>1</table></div>"
    page += "<div><ul><li>x</ul></div>"
    text = read_one(write(tmp_path, "a.html", page)).text
    assert text == "One two three.\n\n## Prices\n\na | 1\n\n- x"


def test_a_declared_encoding_is_believed_when_the_bytes_are_not_utf8(tmp_path: Path) -> None:
    page = '<head><meta http-equiv="Content-Type" content="text/html; charset=gb2312"><title>乌镇</title><p>镕</p>'
    assert "镕" in read_one(write(tmp_path, "a.html", page.encode("gbk"))).text
    lying = "<meta charset=gb2312><p>水乡</p>"
    assert read_one(write(tmp_path, "b.html", lying)).text == "水乡"


@pytest.mark.parametrize("tag", ["div", "p", "b", "ul><li", "table><tr><td", "blockquote", "a", "dl><dd", "section"])
@pytest.mark.parametrize("depth", [5_000, 100_000])
def test_deeply_nested_pages_are_read_with_all_their_text(tmp_path: Path, tag: str, depth: int) -> None:
    page = f"<p>start</p>{f'<{tag}>' * depth}the deep &amp; last word"
    began = time.perf_counter()
    text = read_one(write(tmp_path, "a.html", page)).text
    assert time.perf_counter() - began < 60
    assert "start" in text
    assert "the deep & last word" in text


def test_closed_deep_nesting_keeps_what_follows(tmp_path: Path) -> None:
    page = "<div>" * 5_000 + "deep" + "</div>" * 5_000 + "<p>after</p><script>hidden()</script>"
    assert read_one(write(tmp_path, "a.html", page)).text == "deep\n\nafter"


TAGS = ("p", "div", "ul", "li", "table", "tr", "td", "th", "dl", "dt", "dd", "h2", "b", "br", "pre", "article")
nodes = st.recursive(
    st.just(""),
    lambda inner: st.tuples(st.sampled_from(TAGS), st.lists(inner, max_size=3), st.booleans()),
    max_leaves=25,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(nodes)
def test_no_word_of_a_page_is_lost_outside_its_surroundings(tree: object) -> None:
    count = 0

    def markup(node: object) -> str:
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


def test_a_page_without_content_is_refused(tmp_path: Path) -> None:
    page = "<html><body><nav>Home</nav><script>x()</script></body></html>"
    assert refusal(write(tmp_path, "a.html", page)) == "holds no text outside navigation and scripts"


# --- JSON


def test_an_object_is_a_document_and_loses_nothing(tmp_path: Path) -> None:
    note: dict[str, object] = {"title": "西栅一日", "author": "小李", "time": "2024-03-05 10:20"}
    note |= {"content": "很好玩。\r\n再来。", "tags": ["古镇", "亲子"]}
    note["place"] = {"city": "嘉兴", "geo": [{"lat": 30.7}]}
    document = read_one(write(tmp_path, "a.json", json.dumps(note)))
    assert document.text == "# 西栅一日\n\n很好玩。\n再来。\n\ntags: 古镇, 亲子\nplace.city: 嘉兴\nplace.geo.lat: 30.7"
    assert (document.title, document.author, document.created) == ("西栅一日", "小李", "2024-03-05")
    assert document.media_type == "application/json"


def test_a_list_is_several_documents_with_iris_of_their_own(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", '[{"title": "A", "content": "one"}, {"标题": "B", "正文": "二"}, "three"]')
    documents = read(path, base=BASE)
    assert [document.title for document in documents] == ["A", "B", "a"]
    assert [document.text for document in documents] == ["# A\n\none", "# B\n\n二", "three"]
    assert [document.iri for document in documents] == [document_iri(BASE, documents[0].sha256, n) for n in range(3)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json"])
def test_json_lines_are_several_documents(tmp_path: Path, name: str) -> None:
    documents = read(write(tmp_path, name, '{"content": "one"}\n\n{"content": "two"}\n'), base=BASE)
    assert [document.text for document in documents] == ["one", "two"]


def test_a_list_in_a_reply_is_unwrapped_unless_something_would_be_lost(tmp_path: Path) -> None:
    reply = write(tmp_path, "a.json", '{"code": 0, "data": [{"content": "x"}, {"content": "y"}]}')
    assert [document.text for document in read(reply, base=BASE)] == ["x", "y"]
    assert "me" in read_one(write(tmp_path, "b.json", '{"from": "me", "data": [{"content": "x"}]}')).text


def test_markup_inside_json_becomes_text_and_timestamps_dates(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", '{"content": "<p>a &amp; b</p><ul><li>c</li></ul>", "timestamp": 1709600000000}')
    document = read_one(path)
    assert document.text == "a & b\n\n- c"
    assert document.created == "2024-03-05"


def test_a_time_that_is_no_date_stays_in_the_text(tmp_path: Path) -> None:
    document = read_one(write(tmp_path, "a.json", '{"content": "x", "time": "yesterday"}'))
    assert document.created is None
    assert "time: yesterday" in document.text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"title": "T",\n "content": }', "line 2, column 13: Expecting value"),
        ("[" * 100_000, "is nested too deeply"),
        ('{"a": ' * 300 + "1" + "}" * 300, "is nested too deeply"),
        ("[]", "holds no text: expected an object with a content, or a list of them"),
        ('{"content": " "}', "holds no text: expected an object with a content, or a list of them"),
    ],
)
def test_unreadable_json_says_where(tmp_path: Path, text: str, reason: str) -> None:
    assert refusal(write(tmp_path, "a.json", text)) == reason


def test_unreadable_json_lines_say_in_which_line(tmp_path: Path) -> None:
    assert refusal(write(tmp_path, "a.jsonl", '{"content": "x"}\n{"content" 3}\n')).startswith("line 2, column 12:")


def test_half_surrogates_in_json_become_replacement_characters(tmp_path: Path) -> None:
    document = read_one(write(tmp_path, "a.json", '{"title": "\\ud800", "content": "a\\udc00b"}'))
    assert_normal(document)
    assert "a\ufffdb" in document.text


POSTS = {
    "pages": [{"posts": [{"title": "A", "content": "one"}]}, {"posts": [{"标题": "B", "正文": "二"}]}],
    "n/a": {"x": 1},
}


@pytest.mark.parametrize(
    ("pointer", "texts"),
    [
        ("/pages/*/posts", ["# A\n\none", "# B\n\n二"]),
        ("/pages/1/posts", ["# B\n\n二"]),
        ("/pages/0/posts/0", ["# A\n\none"]),
        ("/n~1a", ["x: 1"]),
    ],
)
def test_each_item_at_a_json_pointer_is_a_document(tmp_path: Path, pointer: str, texts: list[str]) -> None:
    file = write(tmp_path, "a.json", json.dumps(POSTS))
    documents = read(Path(f"{file}#{pointer}"), base=BASE)
    assert [document.text for document in documents] == texts
    assert documents[0].source == f"{file.as_posix()}#{pointer}"
    assert len({document.iri for document in documents}) == len(texts)
    assert documents[0].sha256 != read(file, base=BASE)[0].sha256
    assert discover([Path(f"{file}#{pointer}")]).files == (Path(f"{file}#{pointer}"),)


def test_a_json_pointer_to_nothing_says_where_lists_are(tmp_path: Path) -> None:
    file = write(tmp_path, "a.json", json.dumps(POSTS))
    with pytest.raises(ReadError, match=r"there is nothing at #/posts; lists are at #/pages, #/pages/\*/posts$"):
        read(Path(f"{file}#/posts"), base=BASE)


def test_a_usual_pointer_counts_for_files_that_have_something_there(tmp_path: Path) -> None:
    file = write(
        tmp_path, "a.json", json.dumps({"meta": "x", "data": {"items": [{"content": "one"}, {"content": "二"}]}})
    )
    documents = read(file, base=BASE, json_path="/data/items")
    assert [document.text for document in documents] == ["one", "二"]
    assert [document.iri for document in documents] == [document_iri(BASE, documents[0].sha256, n) for n in range(2)]
    other = write(tmp_path, "b.json", json.dumps({"title": "T", "content": "text"}))
    assert [document.text for document in read(other, base=BASE, json_path="/data/items")] == ["# T\n\ntext"]
    lines = write(tmp_path, "c.jsonl", '{"data": {"items": [{"text": "a"}]}}\n{"data": {"items": [{"text": "b"}]}}\n')
    assert [document.text for document in read(lines, base=BASE, json_path="/data/items")] == ["a", "b"]


def test_texts_and_tables_in_json_are_told_apart(tmp_path: Path) -> None:
    file = write(tmp_path, "a.json", json.dumps({**POSTS, "rows": [{"name": "Inn", "price": 3}]}))
    assert holds_texts(file, "/pages/0/posts")
    assert holds_texts(file, "/rows/*")
    assert not holds_texts(file, "/rows")
    assert not holds_texts(file, "/none")
    assert not holds_texts(tmp_path / "none.json", "/rows")


def test_an_author_given_as_an_object_is_named(tmp_path: Path) -> None:
    note = {"title": "T", "content": "x", "user": {"nickname": "小李", "id": 3}}
    assert read_one(write(tmp_path, "a.json", json.dumps(note))).author == "小李"


# --- tables


def test_a_table_keeps_the_place_of_every_row(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "a;b\n1,5;2,5\n3;4\n"),
        ("a.tsv", "a\tb\n1,5\t2,5\n3\t4\n"),
        ("a.csv", "a|b\n1,5|2,5\n3|4\n"),
        ("a.csv", "sep=;\na;b\n1,5;2,5\n3;4\n"),
        ("a.csv", 'a,b\n"1,5","2,5"\n3,4'),
    ],
)
def test_the_delimiter_is_found(tmp_path: Path, name: str, text: str) -> None:
    table = read_table(write(tmp_path, name, text))
    assert table.columns == ("a", "b")
    assert [row.cells for row in table.rows] == [("1,5", "2,5"), ("3", "4")]


def test_irregular_rows_are_kept_and_reported(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, "a.csv", 'n,p,n,\nx\ny,1,2,3,4\n"open,1,2,3\nz,5,6,7\n'))
    assert table.columns == ("n", "p", "n (2)", "column 4")
    assert [row.cells for row in table.rows] == [
        *[("x", "", "", ""), ("y", "1", "2", "3", "4"), ('"open', "1", "2", "3"), ("z", "5", "6", "7")]
    ]
    assert table.problems == (
        "line 1: the column 'n' occurs twice",
        "line 2: 1 cells under 4 columns",
        "line 3: 5 cells under 4 columns",
        "line 4: a quotation mark is opened and never closed",
    )


def test_a_table_in_gb18030_with_one_column_and_a_huge_cell_is_read(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, "a.csv", ("名称\n西栅景区\n" + "东" * 200_000).encode("gb18030")))
    assert table.columns == ("名称",)
    assert [len(row.cells[0]) for row in table.rows] == [4, 200_000]


def test_many_unclosed_quotes_do_not_take_long(tmp_path: Path) -> None:
    began = time.perf_counter()
    table = read_table(write(tmp_path, "a.csv", "a,b\n" + '"x"y,"z\n' * 2001 + "last,row\n"))
    assert time.perf_counter() - began < 30
    assert "last" in table.text[table.rows[-1].start : table.rows[-1].end]
    assert table.problems


def test_a_missing_or_blank_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="cannot be read: No such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(ReadError, match="the first row should name the columns"):
        read_table(write(tmp_path, "a.csv", "\n ,\n"))


cells = st.text("ab,;\"\n 西栅'\t|", max_size=8)


@settings(deadline=None)
@given(st.lists(st.lists(cells, min_size=3, max_size=3), min_size=1, max_size=8))
def test_rows_written_by_the_csv_module_come_back_and_their_places_hold(rows: list[list[str]]) -> None:
    import csv

    out = io.StringIO()
    csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([["one", "two", "three"], *rows])
    with tempfile.TemporaryDirectory() as folder:
        table = read_table(write(Path(folder), "a.csv", out.getvalue()))
    kept = [tuple(cell.strip() for cell in row) for row in rows if any(cell.strip() for cell in row)]
    assert [row.cells for row in table.rows] == kept
    for row, before in zip(table.rows[1:], table.rows, strict=False):
        assert before.end < row.start
    for row in table.rows:
        (again,) = csv.reader(io.StringIO(table.text[row.start : row.end], newline=""))
        assert tuple(cell.strip() for cell in again) == row.cells


# --- PDF

STYLES = getSampleStyleSheet()
SENTENCE = "Wuzhen is a historic water town in northern Zhejiang with more than one thousand years of history. "


def pdf(path: Path, story: list[object], *, columns: int = 1, footer: str = "", **metadata: str) -> Path:
    document = BaseDocTemplate(str(path), invariant=1, **metadata)
    width = (document.width - 20 * (columns - 1)) / columns
    lefts = [document.leftMargin + n * (width + 20) for n in range(columns)]
    frames = [Frame(left, document.bottomMargin, width, document.height) for left in lefts]

    def on_page(canvas: Canvas, _: object) -> None:
        canvas.drawString(72, 800, footer and f"Running head {footer}")
        canvas.drawCentredString(300, 20, f"{footer} {canvas.getPageNumber()}" if footer else "")

    document.addPageTemplates(PageTemplate(frames=frames, onPage=on_page))
    document.build(story)
    return path


def heading(text: str) -> Paragraph:
    return Paragraph(text, STYLES["Heading2"])


def body(text: str) -> Paragraph:
    return Paragraph(text, STYLES["BodyText"])


def test_a_pdf_gives_headings_and_whole_paragraphs(tmp_path: Path) -> None:
    story = [Paragraph("A Guide to Wuzhen", STYLES["Title"]), heading("History"), body(f"<b>First.</b> {SENTENCE * 4}")]
    story += [heading("Hotels"), body(f"Second. {SENTENCE * 3}")]
    document = read_one(pdf(tmp_path / "a.pdf", story, author="Li Na"))
    assert document.text.split("\n\n") == [
        "# A Guide to Wuzhen",
        "## History",
        f"First. {SENTENCE * 4}".strip(),
        "## Hotels",
        f"Second. {SENTENCE * 3}".strip(),
    ]
    assert (document.title, document.author, document.media_type) == ("A Guide to Wuzhen", "Li Na", "application/pdf")
    assert document.created == "2000-01-01"


def test_two_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    story: list[object] = [Paragraph("Two Columns", STYLES["Title"])]
    for number in range(12):
        story += [heading(f"Section {number}"), body(f"Part {number} begins. {SENTENCE * 4}Part {number} ends.")]
    text = read_one(pdf(tmp_path / "a.pdf", story, columns=2, footer="Page")).text
    places = [text.index(f"Part {number} {word}") for number in range(12) for word in ("begins", "ends")]
    assert places == sorted(places)
    running = text.replace("\n\n", " ")
    assert all(f"Part {number} begins. {SENTENCE * 4}Part {number} ends." in running for number in range(12))
    # a sentence that a column or page break divides is one sentence
    assert all(paragraph.endswith(".") or paragraph.startswith("#") for paragraph in text.split("\n\n"))


def test_columns_are_ordered_by_place_and_not_by_the_order_of_writing(tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "a.pdf"))
    for x, words in ((320, "right"), (60, "left")):
        for row in range(20):
            canvas.drawString(x, 700 - 14 * row, f"The {words} column goes on with line {row}")
    canvas.setFont("Helvetica-Bold", 20)
    canvas.drawString(60, 760, "A title over both of the columns of this page")
    canvas.save()
    text = read_one(tmp_path / "a.pdf").text
    assert text.startswith("# A title over both")
    assert text.index("left column goes on with line 19") < text.index("right column goes on with line 0")


def test_page_numbers_and_running_heads_are_left_out(tmp_path: Path) -> None:
    story = [body(f"Paragraph {number}. {SENTENCE * 5}") for number in range(40)]
    path = pdf(tmp_path / "a.pdf", story, footer="Page")
    assert len(PdfReader(path).pages) >= 3
    text = read_one(path).text
    assert "Page" not in text
    assert "Running head" not in text
    assert text.count(SENTENCE.strip()) == 200


def test_words_divided_at_the_end_of_a_line_are_made_whole(tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "a.pdf"))
    lines = ["The trans-", "formation of the well-known and long-", "standing inn, once more well-", "known, goes on."]
    for row, line in enumerate(lines):
        canvas.drawString(72, 700 - 14 * row, line)
    canvas.save()
    text = read_one(tmp_path / "a.pdf").text
    assert text == "The transformation of the well-known and longstanding inn, once more well-known, goes on."


def test_a_chinese_pdf_is_joined_without_blanks(tmp_path: Path) -> None:
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    style = ParagraphStyle("zh", fontName="STSong-Light", fontSize=11, leading=16, wordWrap="CJK")
    title = ParagraphStyle("zh-title", parent=style, fontSize=20, leading=26)
    text = "乌镇是江南水乡古镇，位于浙江省桐乡市，西栅有很多民宿。" * 8
    story: list[object] = [Paragraph("乌镇旅游指南", title), Paragraph(text, style)]
    document = read_one(pdf(tmp_path / "a.pdf", story))
    assert document.text == f"# 乌镇旅游指南\n\n{text}"
    assert (document.title, document.language) == ("乌镇旅游指南", "zh")


def test_rows_of_a_table_in_a_pdf_are_lines(tmp_path: Path) -> None:
    rows = [["Hotel", "Price"], ["Blue Inn", "300"], ["Bridge House", "450"]]
    story = [body(SENTENCE * 2), Table(rows, colWidths=150)]
    text = read_one(pdf(tmp_path / "a.pdf", story)).text
    assert text.endswith("Hotel | Price\nBlue Inn | 300\nBridge House | 450")


def test_hanging_lines_belong_to_their_reference_and_centred_lines_to_their_title(tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "a.pdf"))
    canvas.setFont("Helvetica-Bold", 20)
    canvas.drawCentredString(300, 760, "A Transformer of a Long Name")
    canvas.drawCentredString(300, 736, "for Speech")
    canvas.setFont("Helvetica", 10)
    lines = ["[1] Ashish Vaswani, Noam Shazeer, Niki Parmar, et al.", "Attention Is All You Need. 2017."]
    for row, line in enumerate([*lines, "[2] Qian Zhang, Han Lu, Hasim Sak, and", "many others. A Title. 2020."]):
        canvas.drawString(72 + 20 * (row % 2), 680 - 13 * row, line)
    canvas.save()
    document = read_one(tmp_path / "a.pdf")
    assert document.title == "A Transformer of a Long Name for Speech"
    assert document.text.split("\n\n")[1:] == [
        " ".join(lines),
        "[2] Qian Zhang, Han Lu, Hasim Sak, and many others. A Title. 2020.",
    ]


def test_a_page_set_sideways_is_read_as_written(tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "a.pdf"))
    canvas.rotate(90)
    for row in range(5):
        canvas.drawString(100, -100 - 14 * row, f"Sideways line {row}")
    canvas.save()
    text = read_one(tmp_path / "a.pdf").text
    assert [text.index(f"line {row}") for row in range(5)] == sorted(text.index(f"line {row}") for row in range(5))


def test_an_encrypted_pdf_says_how_to_go_on(tmp_path: Path) -> None:
    for name, user, owner in (("locked.pdf", "secret", "secret"), ("open.pdf", "", "secret")):
        writer = PdfWriter(clone_from=pdf(tmp_path / "a.pdf", [body(SENTENCE)]))
        writer.encrypt(user, owner, algorithm="RC4-128")
        writer.write(tmp_path / name)
    assert refusal(tmp_path / "locked.pdf") == "is encrypted; remove the password and add it again"
    assert read_one(tmp_path / "open.pdf").text == SENTENCE.strip()


def test_a_scanned_pdf_says_so(tmp_path: Path) -> None:
    from PIL import Image

    canvas = Canvas(str(tmp_path / "a.pdf"))
    canvas.drawImage(ImageReader(Image.new("RGB", (40, 40), "red")), 72, 500)
    canvas.save()
    reason = "holds only pictures (1 page, scanned?); make their text readable with OCR and add it again"
    assert refusal(tmp_path / "a.pdf") == reason
    blank = Canvas(str(tmp_path / "b.pdf"))
    blank.showPage()
    blank.save()
    assert refusal(tmp_path / "b.pdf") == "holds no text"


def test_a_pdf_locked_with_aes_names_the_package_that_opens_it(tmp_path: Path) -> None:
    if importlib.util.find_spec("cryptography") or importlib.util.find_spec("Crypto"):
        pytest.skip("AES can be read here")
    writer = PdfWriter(clone_from=pdf(tmp_path / "a.pdf", [body(SENTENCE)]))
    writer.encrypt("", "secret", algorithm="RC4-128")
    writer.write(tmp_path / "b.pdf")
    aes = b"/V 4\n/CF << /StdCF << /CFM /AESV2 /Length 16 /AuthEvent /DocOpen >> >>\n/StmF /StdCF\n/StrF /StdCF"
    locked = re.sub(rb"/V 2\b", aes, (tmp_path / "b.pdf").read_bytes())
    reason = refusal(write(tmp_path, "c.pdf", re.sub(rb"/R 3\b", b"/R 4", locked)))
    assert reason.startswith("is encrypted with AES; `pip install cryptography`")


def test_the_embedded_outline_makes_headings_of_lines_that_do_not_look_like_it(tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "a.pdf"))
    canvas.setFont("Helvetica-Bold", 20)
    canvas.drawString(72, 780, "A Study of Bridges")
    canvas.setFont("Helvetica", 10)
    for number, title in enumerate(("1 Introduction", "1.1 Motivation", "2 Conclusion")):
        canvas.bookmarkPage(title)
        canvas.addOutlineEntry(title, title, level=int("." in title))
        canvas.drawString(72, 700 - 100 * number, title)
        for row in range(3):
            canvas.drawString(72, 670 - 100 * number - 13 * row, SENTENCE[:90])
    canvas.save()
    document = read_one(tmp_path / "a.pdf")
    headings = [line for line in document.text.split("\n") if line.startswith("#")]
    assert headings == ["# A Study of Bridges", "## 1 Introduction", "### 1.1 Motivation", "## 2 Conclusion"]
    assert document.title == "A Study of Bridges"


def test_the_title_is_the_first_run_of_the_largest_bold_level_text(tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "a.pdf"))
    canvas.setFont("Helvetica", 10)
    canvas.drawString(72, 820, "Proceedings of a Conference")
    canvas.setFont("Helvetica-Bold", 18)
    canvas.drawString(72, 780, "Graphs of Water Towns:")
    canvas.drawString(72, 730, "A Study in Two Languages")
    canvas.setFont("Helvetica", 26)
    canvas.drawString(72, 680, "12")
    canvas.setFont("Helvetica-Bold", 18)
    canvas.drawString(72, 640, "Another Head")
    canvas.setFont("Helvetica", 10)
    for row in range(30):
        canvas.drawString(72, 600 - 13 * row, SENTENCE[:90])
    canvas.rotate(90)
    canvas.setFont("Helvetica-Bold", 30)
    canvas.drawString(200, -40, "stamp 2024")
    canvas.save()
    document = read_one(tmp_path / "a.pdf")
    assert document.title == "Graphs of Water Towns: A Study in Two Languages"
    assert "stamp 2024" in document.text
    assert "# stamp" not in document.text


def test_a_chinese_title_over_two_lines_is_one(tmp_path: Path) -> None:
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    canvas = Canvas(str(tmp_path / "a.pdf"))
    canvas.setFont("STSong-Light", 20)
    canvas.drawString(72, 780, "江南水乡古镇旅游")
    canvas.drawString(72, 730, "知识图谱的构建")
    canvas.setFont("STSong-Light", 10)
    for row in range(10):
        canvas.drawString(72, 680 - 15 * row, "乌镇是江南水乡古镇，位于浙江省桐乡市，西栅有很多民宿。")
    canvas.save()
    assert read_one(tmp_path / "a.pdf").title == "江南水乡古镇旅游知识图谱的构建"


def test_a_pdf_of_many_pages_takes_time_by_their_number_and_little_memory(tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "a.pdf"))
    for number in range(200):
        for row in range(40):
            canvas.drawString(72, 760 - 13 * row, f"Line {row} of page {number} tells of old bridges and of a canal.")
        canvas.showPage()
    canvas.save()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    text = read_one(tmp_path / "a.pdf").text
    assert time.perf_counter() - began < 60
    assert text.index("page 0 tells") < text.index("page 199 tells")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def test_a_broken_pdf_is_refused(tmp_path: Path) -> None:
    whole = pdf(tmp_path / "a.pdf", [body(SENTENCE)]).read_bytes()
    assert "PDF" in refusal(write(tmp_path, "b.pdf", b"%PDF-1.4\n" + b"\x00\xff garbage" * 50))
    assert refusal(write(tmp_path, "c.pdf", "just text")) == "is named .pdf but is not a PDF"
    assert refusal(write(tmp_path, "d.pdf", whole[:200]))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_pdf_is_read_or_refused(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    source = folder / "damaged-source.pdf"
    if not source.exists():
        pdf(source, [heading("Head"), body(SENTENCE * 3)])
    content = bytearray(source.read_bytes())
    for _ in range(data.draw(st.integers(1, 12))):
        content[data.draw(st.integers(8, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        documents = read(write(folder, "damaged.pdf", bytes(content)), base=BASE)
    except ReadError:
        return
    assert_normal(documents[0])


# --- what a file says it is, and what it is


def test_content_that_is_clear_counts_more_than_the_suffix(tmp_path: Path) -> None:
    content = pdf(tmp_path / "a.pdf", [body(SENTENCE)]).read_bytes()
    assert read_one(write(tmp_path, "b.txt", content)).media_type == "application/pdf"
    assert read_one(write(tmp_path, "c.txt", PAGE)).media_type == "text/html"
    assert read_one(write(tmp_path, "d.pdf", PAGE)).media_type == "text/html"
    assert read_one(write(tmp_path, "E.TXT", NOTE)).media_type == "text/plain"


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
    ],
)
def test_files_without_text_are_refused(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    assert refusal(write(tmp_path, name, content)) == reason


def test_a_file_over_the_limit_is_not_even_opened(tmp_path: Path) -> None:
    path = tmp_path / "big.txt"
    with path.open("wb") as file:
        file.truncate(214 * 1024 * 1024)
    assert refusal(path) == "is 214 MB; the limit is 100 MB, see documents.max_bytes"
    small = write(tmp_path, "a.txt", "x" * 2000)
    assert refusal(small, max_bytes=1000).startswith("is 2,000 bytes; the limit is 1,000")


def test_paths_that_are_no_files_are_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.txt").startswith("does not exist")
    assert refusal(tmp_path) == "is a folder, not a file"
    assert refusal(write(tmp_path, "a.odt", "x")).startswith("has the unsupported suffix .odt; supported are .txt,")
    os.mkfifo(tmp_path / "pipe.txt")
    assert refusal(tmp_path / "pipe.txt") == "is not a regular file"


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
@example(".json", b'{"content": 1e999, "time": 1e999}')
@example(".json", b'{"content": "x", "time": "99999999999999999999"}')
@example(".json", b"[" + b"9" * 5000 + b"]")
@example(".docx", b"PK\x03\x04")
@example(".epub", b"PK\x05\x06" + b"\x00" * 18)
def test_any_bytes_are_read_or_refused_and_never_crash(suffix: str, data: bytes) -> None:
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


def test_a_name_that_is_not_unicode_still_gives_a_source(tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/\xff.txt"
    Path(os.fsdecode(raw)).write_text("x " * 100)
    assert_normal(read_one(Path(os.fsdecode(raw))))


# --- finding files


def test_discover_walks_folders_in_order_and_says_what_it_left_out(tmp_path: Path) -> None:
    read_files = ("b/z.txt", "b/a.md", "a.csv", "c.PDF")
    for name in (*read_files, "README.md", "b/readme.txt", "tool.py", "x.odt", ".hidden.txt", ".git/c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path, name, "x")
    found = discover([tmp_path])
    assert [path.relative_to(tmp_path).as_posix() for path in found.files] == ["a.csv", "b/a.md", "b/z.txt", "c.PDF"]
    left_out = {entry.path.relative_to(tmp_path).as_posix(): entry.reason for entry in found.skipped}
    assert left_out == {
        "README.md": "a README",
        "b/readme.txt": "a README",
        "tool.py": "unsupported suffix .py",
        "x.odt": "unsupported suffix .odt",
        ".hidden.txt": "hidden",
        ".git": "hidden",
    }
    assert discover([tmp_path]) == found


def test_discover_takes_every_file_once_and_follows_no_loop(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = write(tmp_path, "in/a.txt", "x")
    (tmp_path / "in" / "loop").symlink_to(tmp_path)
    (tmp_path / "in" / "same.txt").symlink_to(path)
    (tmp_path / "in" / "gone.txt").symlink_to(tmp_path / "gone")
    found = discover([tmp_path, path, tmp_path / "in"])
    assert found.files == (path,)
    reasons = sorted(entry.reason for entry in found.skipped)
    assert reasons[0] == "a broken link"
    assert all(reason.startswith("already") for reason in reasons[1:])


def test_discover_takes_a_file_that_is_named_even_if_it_is_a_readme(tmp_path: Path) -> None:
    path = write(tmp_path, "README.md", "# x")
    assert discover([path]).files == (path,)
    assert supported(path)
    assert not supported(tmp_path / "a.py")


def test_discover_refuses_a_missing_path_and_a_folder_with_nothing_in_it(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"none: does not exist; give a file \(\.txt, .*\.epub\) or a folder"):
        discover([tmp_path / "none"])
    with pytest.raises(ReadError, match=r"nothing to read here; supported are \.txt, .*\.epub"):
        discover([tmp_path])
    write(tmp_path, "a.odt", "x")
    with pytest.raises(ReadError, match="nothing to read here"):
        discover([tmp_path])


# --- speed, and the examples


def test_more_than_fifty_small_notes_are_read_and_cut_in_a_second(tmp_path: Path) -> None:
    for number in range(100):
        note = f"{CHINESE}{number}\n\n{NOTE * 3}"
        write(tmp_path, f"{number}.txt", note.encode("gb18030" if number % 2 else "utf-8"))
        write(tmp_path, f"{number}.html", PAGE.replace("Blue", f"Blue {number}"))
    began = time.perf_counter()
    documents = [document for path in discover([tmp_path]).files for document in read(path, base=BASE)]
    chunks = [chunk for document in documents for chunk in sliding_window(document)]
    assert len(chunks) >= 200
    assert time.perf_counter() - began < 4


def example_files() -> list[Path]:
    try:
        return list(discover([EXAMPLES]).files)
    except ReadError:
        return []


def example_name(path: Path | None) -> str:
    return path.relative_to(EXAMPLES).as_posix() if path else "none"


@pytest.mark.parametrize("path", example_files() or [None], ids=example_name)
def test_every_example_can_be_read_and_cut(path: Path | None) -> None:
    if path is None:
        pytest.skip("no examples here")
    for document in read(path, base=BASE):
        assert_normal(document)
        chunks = sliding_window(document)
        assert chunks
        assert all(document.text[chunk.start : chunk.end] == chunk.text for chunk in chunks)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2024-02-30 or 2024/3/1", "2024-03-01"),
        ("5th of nothing", None),
        ("12 October 2023", "2023-10-12"),
        ("Oct. 12, 2023", "2023-10-12"),
        ("20231012", "2023-10-12"),
        ("phone 0573 88731088", None),
    ],
)
def test_dates_are_read_in_the_usual_forms(text: str, date: str | None) -> None:
    assert iso_date(text) == date
