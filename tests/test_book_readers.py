"""Word files and electronic books: what is read of them, in which order, and what is refused."""

from __future__ import annotations

import io
import resource
import struct
import time
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgplatform.documents.docx import DOCX_TYPE
from kgplatform.documents.epub import EPUB_TYPE
from kgplatform.documents.reading import read
from kgplatform.errors import ReadError
from kgplatform.types import Document

BASE = "https://example.org/kg/"
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
STYLES = f"""<w:styles xmlns:w="{W}">
<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="2"><w:name w:val="heading 2"/></w:style>
<w:style w:type="paragraph" w:styleId="Own"><w:name w:val="My section"/><w:basedOn w:val="2"/></w:style>
<w:style w:type="paragraph" w:styleId="LB"><w:name w:val="List Bullet"/></w:style>
<w:style w:type="paragraph" w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>
</w:styles>"""
CORE = """<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">
<dc:title>Stated title</dc:title><dc:creator>Li Na</dc:creator><dcterms:created>2024-03-05T10:00:00Z</dcterms:created>
</cp:coreProperties>"""


def zipped(path: Path, members: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def paragraph(text: str, style: str = "", *, bold: bool = False, more: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    run = "<w:rPr><w:b/></w:rPr>" if bold else ""
    return f"<w:p><w:pPr>{named}{more}</w:pPr><w:r>{run}<w:t>{escape(text)}</w:t></w:r></w:p>"


def table(*rows: tuple[str, ...]) -> str:
    cells = "".join(f"<w:tr>{''.join(f'<w:tc>{paragraph(c)}</w:tc>' for c in row)}</w:tr>" for row in rows)
    return f"<w:tbl>{cells}</w:tbl>"


def docx(path: Path, body: str, **more: str | bytes) -> Path:
    members: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": f'<Relationships><Relationship Type="{OFFICE}" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{W}"><w:body>{body}<w:sectPr/></w:body></w:document>',
        "word/styles.xml": STYLES,
        "docProps/core.xml": CORE,
    }
    return zipped(path, members | more)


def read_one(path: Path) -> Document:
    (document,) = read(path, base=BASE)
    return document


def refusal(path: Path) -> str:
    with pytest.raises(ReadError) as caught:
        read(path, base=BASE)
    assert "\n" not in str(caught.value)
    return caught.value.reason


# --- Word


def test_a_word_file_gives_headings_paragraphs_items_and_rows_in_order(tmp_path: Path) -> None:
    numbered = '<w:numPr><w:ilvl w:val="1"/><w:numId w:val="3"/></w:numPr>'
    body = "".join(
        (
            paragraph("A Guide to Wuzhen", "T"),
            paragraph("Hotels", "1"),
            paragraph("The Blue Inn & its garden."),
            paragraph("quiet", "LB"),
            paragraph("at night", more=numbered),
            table(("Hotel", "Price"), ("Blue Inn", "300")),
            paragraph("Food", "Own"),
            paragraph("Noodles.", "Loop"),
        )
    )
    document = read_one(docx(tmp_path / "a.docx", body))
    assert document.text == (
        "# A Guide to Wuzhen\n\n# Hotels\n\nThe Blue Inn & its garden.\n\n- quiet\n  - at night\n\n"
        "Hotel | Price\nBlue Inn | 300\n\n## Food\n\nNoodles."
    )
    assert (document.title, document.author, document.created) == ("A Guide to Wuzhen", "Li Na", "2024-03-05")
    assert (document.media_type, document.language) == (DOCX_TYPE, "en")


def test_a_chinese_word_file_without_styles_has_its_bold_lines_as_headings(tmp_path: Path) -> None:
    body = paragraph("西栅的住宿", bold=True) + paragraph("枕水度假酒店离入口步行五分钟，房间很干净。")
    body += table(("酒店", "价格"), ("枕水", "500元"))
    path = docx(tmp_path / "a.docx", body, **{"docProps/core.xml": "<x/>", "word/styles.xml": "<x/>"})
    document = read_one(path)
    wanted = "## 西栅的住宿\n\n枕水度假酒店离入口步行五分钟，房间很干净。\n\n酒店 | 价格\n枕水 | 500元"
    assert document.text == wanted
    assert (document.title, document.language) == ("西栅的住宿", "zh")


def test_changes_fields_breaks_boxes_and_notes_are_read_as_they_show(tmp_path: Path) -> None:
    box = f"<w:txbxContent>{paragraph('In a box.')}</w:txbxContent>"
    body = (
        "<w:p><w:r><w:t>It </w:t></w:r><w:del><w:r><w:delText>was</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>is</w:t></w:r></w:ins><w:r><w:tab/><w:t>old,</w:t><w:br/><w:t>well</w:t>"
        "<w:noBreakHyphen/><w:t>known.</w:t><w:instrText>PAGE</w:instrText></w:r></w:p>"
        f'<w:p xmlns:mc="m"><w:r><mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>'
        "</mc:AlternateContent></w:r></w:p>"
        f"<w:sdt><w:sdtContent>{paragraph('In a control.')}</w:sdtContent></w:sdt>"
    )
    separator = f'<w:footnote w:type="separator">{paragraph("---")}</w:footnote>'
    notes = f'<w:footnotes xmlns:w="{W}">{separator}<w:footnote>{paragraph("A note.")}</w:footnote></w:footnotes>'
    document = read_one(docx(tmp_path / "a.docx", body, **{"word/footnotes.xml": notes}))
    assert document.text == "It is old,\nwell-known.\n\nIn a box.\n\nIn a control.\n\nA note."
    assert document.title == "Stated title"


def test_a_long_word_file_is_read_in_little_memory(tmp_path: Path) -> None:
    sentence = "The bridge number {} is old and long and leads over the canal of the town, as they say. "
    body = "".join(paragraph(sentence.format(number) * 3) for number in range(60_000))
    path = docx(tmp_path / "a.docx", body)
    del body
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    document = read_one(path)
    assert "bridge number 59999" in document.text
    assert time.perf_counter() - began < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kB; its XML is 20 MB


@pytest.mark.parametrize(
    "line", ["x" * 30_000, "栅" * 30_000, "مرحبا \u200fשלום", "👨‍👩‍👧‍👦 👍🏽 🇨🇳"], ids=["x", "zh", "rtl", "emoji"]
)
def test_long_lines_right_to_left_and_emoji_stay_as_written(tmp_path: Path, line: str) -> None:
    assert read_one(docx(tmp_path / "a.docx", paragraph(line))).text == line
    assert line in read_one(epub(tmp_path / "b.epub", {"one": f"<p>{line}</p>"})).text


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"word/document.xml": "<w:document"}, "'word/document.xml' in it is not XML"),
        ({"word/document.xml": "<d><body/></d>"}, "holds no text"),
        ({"x.txt": "x"}, "is a ZIP archive but no Word file"),
        (
            {"word/document.xml": '<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><d><body>&b;</body></d>'},
            "'word/document.xml' in it declares entities",
        ),
        (
            {"word/document.xml": '<!DOCTYPE d [<!ENTITY a SYSTEM "file:///etc/hostname">]><d><body>&a;</body></d>'},
            "'word/document.xml' in it declares entities",
        ),
        ({"word/document.xml": "<d><body>" + "<p>" * 100_000}, "'word/document.xml' in it is not XML (Excessive depth"),
    ],
)
def test_a_word_file_that_cannot_be_read_says_why(tmp_path: Path, members: dict[str, str | bytes], reason: str) -> None:
    assert refusal(zipped(tmp_path / "a.docx", members)).startswith(reason)


def test_a_file_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with (
        zipfile.ZipFile(tmp_path / "a.docx", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("word/document.xml", "w") as member,
    ):
        for _ in range(300):
            member.write(b" " * 1024 * 1024)
    assert refusal(tmp_path / "a.docx") == "unpacks to more than is read of a file (300 MB)"
    dense = zipped(tmp_path / "b.docx", {"word/document.xml": " " * 20_000_000})
    assert refusal(dense).startswith("is packed beyond reason: 'word/document.xml' unpacks to")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 120_000


def test_a_member_that_lies_about_its_size_is_damaged(tmp_path: Path) -> None:
    data = bytearray(docx(tmp_path / "a.docx", paragraph("x" * 5000)).read_bytes())
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        size = archive.getinfo("word/document.xml").file_size
    place = data.rindex(struct.pack("<L", size))
    data[place : place + 4] = struct.pack("<L", 100)
    (tmp_path / "b.docx").write_bytes(data)
    assert refusal(tmp_path / "b.docx").startswith("is damaged: 'word/document.xml' cannot be unpacked")


def test_old_locked_and_truncated_word_files_are_refused(tmp_path: Path) -> None:
    whole = docx(tmp_path / "a.docx", paragraph("x")).read_bytes()
    (tmp_path / "b.docx").write_bytes(whole[: len(whole) // 2])
    assert refusal(tmp_path / "b.docx").startswith("is damaged or cut short")
    (tmp_path / "c.docx").write_bytes(b"\xd0\xcf\x11\xe0" + b"x" * 600)
    assert refusal(tmp_path / "c.docx") == "is an old Office file or has a password; save it as DOCX without one"
    (tmp_path / "d.docx").write_bytes(b"just text")
    assert refusal(tmp_path / "d.docx") == "is named .docx but is no ZIP archive, as such files are"
    locked = bytearray(whole)
    for sign, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        place = locked.find(sign)
        while place >= 0:
            locked[place + offset] |= 1
            place = locked.find(sign, place + 4)
    (tmp_path / "e.docx").write_bytes(locked)
    assert refusal(tmp_path / "e.docx") == "is encrypted; remove the password and add it again"


# --- books

PAGE = '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head>'
CONTAINER = """<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""


def epub(path: Path, pages: dict[str, str], *, toc: str = "", spine: tuple[str, ...] = (), **more: str | bytes) -> Path:
    items = "".join(
        f'<item id="{name}" href="text/{name}.xhtml" media-type="application/xhtml+xml"/>' for name in pages
    )
    order = "".join(f'<itemref idref="{name}"/>' for name in spine or pages)
    package = f"""<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>
<dc:title>江南水乡</dc:title><dc:creator>Li Na</dc:creator><dc:creator>王五</dc:creator><dc:date>2023-05-01</dc:date>
</metadata><manifest>{items}<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="pic" href="a.png" media-type="image/png"/></manifest><spine>{order}<itemref idref="pic"/></spine></package>"""
    members: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OPS/book.opf": package,
        "OPS/nav.xhtml": f'{PAGE}<body><nav xmlns:e="x" e:type="toc"><ol>{toc}</ol></nav></body></html>',
    }
    members |= {f"OPS/text/{name}.xhtml": f"{PAGE}<body>{content}</body></html>" for name, content in pages.items()}
    return zipped(path, members | more)


def test_a_book_is_read_in_the_order_of_its_spine_under_its_chapter_titles(tmp_path: Path) -> None:
    pages = {
        "two": "<p>东栅更古老。</p>",
        "one": "<h1>Xizha</h1><p>Caf&eacute;s &amp; inns<br/>by night.</p><script>x()</script>",
    }
    toc = '<li><a href="text/one.xhtml">Xizha</a></li><li><a href="text/two.xhtml#top">第二章 东栅</a></li>'
    document = read_one(epub(tmp_path / "a.epub", pages, toc=toc, spine=("one", "two", "one", "gone")))
    assert document.text == "# 江南水乡\n\n# Xizha\n\nCafés & inns\nby night.\n\n# 第二章 东栅\n\n东栅更古老。"
    assert (document.title, document.author, document.created) == ("江南水乡", "Li Na, 王五", "2023-05-01")
    assert document.media_type == EPUB_TYPE


def test_an_older_book_has_its_titles_from_its_ncx_and_pages_that_are_no_xml_are_read(tmp_path: Path) -> None:
    package = """<package xmlns:dc="d"><metadata><dc:title>Walks</dc:title></metadata><manifest>
<item id="a" href="a%20b.html" media-type="text/html"/>
<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
</manifest><spine toc="n"><itemref idref="a"/></spine></package>"""
    ncx = """<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd"><ncx><navMap>
<navPoint><navLabel><text>First walk</text></navLabel><content src="a%20b.html"/></navPoint></navMap></ncx>"""
    members: dict[str, str | bytes] = {"META-INF/container.xml": CONTAINER, "OPS/book.opf": package, "OPS/toc.ncx": ncx}
    members["OPS/a b.html"] = "<html><body><p>Over the bridge<p>and back</body>"
    assert (
        read_one(zipped(tmp_path / "a.epub", members)).text == "# Walks\n\n# First walk\n\nOver the bridge\n\nand back"
    )


def test_a_book_that_is_protected_broken_or_empty_is_refused(tmp_path: Path) -> None:
    encryption = '<e><EncryptedData><EncryptionMethod Algorithm="AES"/></EncryptedData></e>'
    pages = {"one": "<p>text</p>"}
    locked = epub(tmp_path / "a.epub", pages, **{"META-INF/encryption.xml": encryption})
    assert refusal(locked) == "is copy-protected, so its text cannot be read"
    fonts = encryption.replace("AES", "http://www.idpf.org/2008/embedding")
    assert "text" in read_one(epub(tmp_path / "b.epub", pages, **{"META-INF/encryption.xml": fonts})).text
    assert refusal(epub(tmp_path / "c.epub", {"one": "<img src='a.png'/>"})) == "holds no text (only pictures?)"
    assert refusal(zipped(tmp_path / "d.epub", {"x": "y"})).startswith("is a ZIP archive but no EPUB")
    lost = CONTAINER.replace("book.opf", "none.opf")
    assert refusal(zipped(tmp_path / "e.epub", {"META-INF/container.xml": lost})).startswith(
        "names no package document"
    )


def test_a_page_nested_a_hundred_thousand_deep_keeps_its_text(tmp_path: Path) -> None:
    began = time.perf_counter()
    text = read_one(epub(tmp_path / "a.epub", {"one": "<div>" * 100_000 + "the deep word"})).text
    assert "the deep word" in text
    assert time.perf_counter() - began < 60


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), suffix=st.sampled_from([".docx", ".epub"]))
def test_a_damaged_archive_is_read_or_refused(
    data: st.DataObject, suffix: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    path = folder / f"a{suffix}"
    if suffix == ".docx":
        docx(path, paragraph("Wuzhen", "1") + table(("a", "b")))
    else:
        epub(path, {"one": "<h1>乌镇</h1><p>text</p>"})
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(4, len(content)))])
    try:
        (document,) = read(path, base=BASE)
    except ReadError:
        assert refusal(path)
    else:
        assert document.text.strip()
