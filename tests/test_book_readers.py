"""PDF, Word files and electronic books: what is read of them, in which order, and what is refused."""

import importlib.util
import re
import resource
import struct
import time
import zipfile
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pypdf import PdfWriter
from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph, Table

from kgplatform.documents.files import read
from kgplatform.documents.readers.zipped import DOCX_TYPE, EPUB_TYPE
from kgplatform.errors import ReadError
from tests.test_readers import BASE, NOTE, PAGE, assert_normal, read_one, refusal, write

STYLES = getSampleStyleSheet()
SENTENCE = "Wuzhen is a historic water town in northern Zhejiang with more than one thousand years of history. "


def pdf(path, story, *, columns=1, footer="", **metadata):
    document = BaseDocTemplate(str(path), invariant=1, **metadata)
    width = (document.width - 20 * (columns - 1)) / columns
    lefts = [document.leftMargin + n * (width + 20) for n in range(columns)]
    frames = [Frame(left, document.bottomMargin, width, document.height) for left in lefts]

    def on_page(canvas, _):
        canvas.drawString(72, 800, footer and f"Running head {footer}")
        canvas.drawCentredString(300, 20, f"{footer} {canvas.getPageNumber()}" if footer else "")

    document.addPageTemplates(PageTemplate(frames=frames, onPage=on_page))
    document.build(story)
    return path


def heading(text):
    return Paragraph(text, STYLES["Heading2"])


def body(text):
    return Paragraph(text, STYLES["BodyText"])


def drawn(path, *runs):
    """A page with texts, each in a font of a size at a place."""
    canvas = Canvas(str(path))
    for font, size, x, y, text in runs:
        canvas.setFont(font, size)
        canvas.drawString(x, y, text)
    canvas.save()
    return path


PLAIN, BOLD, SONG = "Helvetica", "Helvetica-Bold", "STSong-Light"


def test_columns_are_ordered_by_place_and_not_by_the_order_of_writing(tmp_path):
    columns = ((320, "right"), (60, "left"))
    lines = [
        (PLAIN, 12, x, 700 - 14 * row, f"The {words} column goes on with line {row}")
        for x, words in columns
        for row in range(20)
    ]
    title = (BOLD, 20, 60, 760, "A title over both of the columns of this page")
    text = read_one(drawn(tmp_path / "a.pdf", *lines, title)).text
    assert text.startswith("# A title over both")
    assert text.index("left column goes on with line 19") < text.index("right column goes on with line 0")


def test_words_divided_at_the_end_of_a_line_are_made_whole(tmp_path):
    lines = ["The trans-", "formation of the well-known and long-", "standing inn, once more well-", "known, goes on."]
    path = drawn(tmp_path / "a.pdf", *((PLAIN, 12, 72, 700 - 14 * row, line) for row, line in enumerate(lines)))
    wanted = "The transformation of the well-known and longstanding inn, once more well-known, goes on."
    assert read_one(path).text == wanted


def test_two_columns_are_read_one_after_the_other_without_running_heads(tmp_path):
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
    assert "Page" not in text
    assert "Running head" not in text


def test_hanging_lines_belong_to_their_reference_and_centred_lines_to_their_title(tmp_path):
    lines = ["[1] Ashish Vaswani, Noam Shazeer, Niki Parmar, et al.", "Attention Is All You Need. 2017."]
    lines += ["[2] Qian Zhang, Han Lu, Hasim Sak, and", "many others. A Title. 2020."]
    titles = [(BOLD, 20, 150, 760, "A Transformer of a Long Name"), (BOLD, 20, 240, 736, "for Speech")]
    hanging = [(PLAIN, 10, 72 + 20 * (row % 2), 680 - 13 * row, line) for row, line in enumerate(lines)]
    document = read_one(drawn(tmp_path / "a.pdf", *titles, *hanging))
    assert document.title == "A Transformer of a Long Name for Speech"
    assert document.text.split("\n\n")[1:] == [" ".join(lines[:2]), " ".join(lines[2:])]


def test_a_pdf_gives_headings_whole_paragraphs_and_rows(tmp_path):
    story = [Paragraph("A Guide to Wuzhen", STYLES["Title"]), heading("History"), body(f"<b>First.</b> {SENTENCE * 4}")]
    story += [
        heading("Hotels"),
        body(f"Second. {SENTENCE * 3}"),
        Table([["Hotel", "Price"], ["Inn", "300"]], colWidths=150),
    ]
    document = read_one(pdf(tmp_path / "a.pdf", story, author="Li Na"))
    assert document.text.split("\n\n") == [
        "# A Guide to Wuzhen",
        "## History",
        f"First. {SENTENCE * 4}".strip(),
        "## Hotels",
        f"Second. {SENTENCE * 3}".strip(),
        "Hotel | Price\nInn | 300",
    ]
    assert (document.title, document.author, document.media_type) == ("A Guide to Wuzhen", "Li Na", "application/pdf")
    assert document.created == "2000-01-01"


def test_lines_set_sideways_are_read_as_written_and_are_no_headings(tmp_path):
    canvas = Canvas(str(tmp_path / "a.pdf"))
    canvas.drawString(72, 700, "An upright line of text")
    canvas.rotate(90)
    for row in range(5):
        canvas.drawString(100, -100 - 14 * row, f"Sideways line {row}")
    canvas.setFont(BOLD, 30)
    canvas.drawString(200, -40, "stamp 2024")
    canvas.save()
    text = read_one(tmp_path / "a.pdf").text
    places = [text.index(f"line {row}") for row in range(5)]
    assert places == sorted(places)
    assert "stamp 2024" in text
    assert "# stamp" not in text


def test_an_encrypted_pdf_says_how_to_go_on(tmp_path):
    for name, user in (("locked.pdf", "secret"), ("open.pdf", "")):
        writer = PdfWriter(clone_from=pdf(tmp_path / "a.pdf", [body(SENTENCE)]))
        writer.encrypt(user, "secret", algorithm="RC4-128")
        writer.write(tmp_path / name)
    assert refusal(tmp_path / "locked.pdf") == "is encrypted; remove the password and add it again"
    assert read_one(tmp_path / "open.pdf").text == SENTENCE.strip()
    if importlib.util.find_spec("cryptography") or importlib.util.find_spec("Crypto"):
        return  # AES can be read here
    aes = b"/V 4\n/CF << /StdCF << /CFM /AESV2 /Length 16 /AuthEvent /DocOpen >> >>\n/StmF /StdCF\n/StrF /StdCF"
    locked = re.sub(rb"/V 2\b", aes, (tmp_path / "open.pdf").read_bytes())
    reason = refusal(write(tmp_path, "c.pdf", re.sub(rb"/R 3\b", b"/R 4", locked)))
    assert reason.startswith("is encrypted with AES; `pip install cryptography`")


def test_a_scanned_pdf_says_so(tmp_path):
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


def test_the_embedded_outline_makes_headings_of_lines_that_do_not_look_like_it(tmp_path):
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


def test_the_title_is_the_first_run_of_the_largest_bold_level_text(tmp_path):
    runs = [
        (PLAIN, 10, 72, 820, "Proceedings of a Conference"),
        (BOLD, 18, 72, 780, "Graphs of Water Towns:"),
        (BOLD, 18, 72, 730, "A Study in Two Languages"),
        (PLAIN, 26, 72, 680, "12"),
        (BOLD, 18, 72, 640, "Another Head"),
        *((PLAIN, 10, 72, 600 - 13 * row, SENTENCE[:90]) for row in range(30)),
    ]
    document = read_one(drawn(tmp_path / "a.pdf", *runs))
    assert document.title == "Graphs of Water Towns: A Study in Two Languages"


def test_a_pdf_of_many_pages_takes_time_by_their_number_and_little_memory(tmp_path):
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


def test_a_chinese_pdf_is_joined_without_blanks_and_its_title_over_two_lines_is_one(tmp_path):
    pdfmetrics.registerFont(UnicodeCIDFont(SONG))
    style = ParagraphStyle("zh", fontName=SONG, fontSize=11, leading=16, wordWrap="CJK")
    title = ParagraphStyle("zh-title", parent=style, fontSize=20, leading=26)
    text = "乌镇是江南水乡古镇，位于浙江省桐乡市，西栅有很多民宿。"
    story: list[object] = [Paragraph("乌镇旅游指南", title), Paragraph(text * 8, style)]
    document = read_one(pdf(tmp_path / "a.pdf", story))
    assert document.text == f"# 乌镇旅游指南\n\n{text * 8}"
    assert (document.title, document.language) == ("乌镇旅游指南", "zh")
    titles = [(SONG, 20, 72, 780, "江南水乡古镇旅游"), (SONG, 20, 72, 730, "知识图谱的构建")]
    lines = [(SONG, 10, 72, 680 - 15 * row, text) for row in range(10)]
    assert read_one(drawn(tmp_path / "b.pdf", *titles, *lines)).title == "江南水乡古镇旅游知识图谱的构建"


W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
WORD_STYLES = f"""<w:styles xmlns:w="{W}">
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


def zipped(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def paragraph(text, style="", *, bold=False, more=""):
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    run = "<w:rPr><w:b/></w:rPr>" if bold else ""
    return f"<w:p><w:pPr>{named}{more}</w:pPr><w:r>{run}<w:t>{escape(text)}</w:t></w:r></w:p>"


def word_table(*rows):
    cells = "".join(f"<w:tr>{''.join(f'<w:tc>{paragraph(c)}</w:tc>' for c in row)}</w:tr>" for row in rows)
    return f"<w:tbl>{cells}</w:tbl>"


def docx(path, body, **more):
    members: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": f'<Relationships><Relationship Type="{OFFICE}" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{W}"><w:body>{body}<w:sectPr/></w:body></w:document>',
        "word/styles.xml": WORD_STYLES,
        "docProps/core.xml": CORE,
    }
    return zipped(path, members | more)


def test_a_word_file_gives_headings_paragraphs_items_and_rows_in_order(tmp_path):
    numbered = '<w:numPr><w:ilvl w:val="1"/><w:numId w:val="3"/></w:numPr>'
    body = "".join(
        (
            paragraph("A Guide to Wuzhen", "T"),
            paragraph("Hotels", "1"),
            paragraph("The Blue Inn & its garden."),
            paragraph("quiet", "LB"),
            paragraph("at night", more=numbered),
            word_table(("Hotel", "Price"), ("Blue Inn", "300")),
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


def test_a_chinese_word_file_without_styles_has_its_bold_lines_as_headings(tmp_path):
    body = paragraph("西栅的住宿", bold=True) + paragraph("枕水度假酒店离入口步行五分钟，房间很干净。")
    body += word_table(("酒店", "价格"), ("枕水", "500元"))
    path = docx(tmp_path / "a.docx", body, **{"docProps/core.xml": "<x/>", "word/styles.xml": "<x/>"})
    document = read_one(path)
    wanted = "## 西栅的住宿\n\n枕水度假酒店离入口步行五分钟，房间很干净。\n\n酒店 | 价格\n枕水 | 500元"
    assert document.text == wanted
    assert (document.title, document.language) == ("西栅的住宿", "zh")


def test_changes_fields_breaks_boxes_and_notes_are_read_as_they_show(tmp_path):
    box = f"<w:txbxContent>{paragraph('In a box.')}</w:txbxContent>"
    body = (
        "<w:p><w:r><w:t>It </w:t></w:r><w:del><w:r><w:delText>was</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>is</w:t></w:r></w:ins><w:r><w:tab/><w:t>old,</w:t><w:br/><w:t>well</w:t>"
        "<w:noBreakHyphen/><w:t>known.</w:t><w:instrText>XHTML</w:instrText></w:r></w:p>"
        f'<w:p xmlns:mc="m"><w:r><mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>'
        "</mc:AlternateContent></w:r></w:p>"
        f"<w:sdt><w:sdtContent>{paragraph('In a control.')}</w:sdtContent></w:sdt>"
    )
    separator = f'<w:footnote w:type="separator">{paragraph("---")}</w:footnote>'
    notes = f'<w:footnotes xmlns:w="{W}">{separator}<w:footnote>{paragraph("A note.")}</w:footnote></w:footnotes>'
    document = read_one(docx(tmp_path / "a.docx", body, **{"word/footnotes.xml": notes}))
    assert document.text == "It is old,\nwell-known.\n\nIn a box.\n\nIn a control.\n\nA note."
    assert document.title == "Stated title"


@pytest.mark.slow
def test_a_long_word_file_is_read_in_little_memory(tmp_path):
    sentence = "The bridge number {} is old and long and leads over the canal of the town, as they say. "
    path = docx(tmp_path / "a.docx", "".join(paragraph(sentence.format(number) * 3) for number in range(60_000)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    assert "bridge number 59999" in read_one(path).text
    assert time.perf_counter() - began < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kB; its XML is 20 MB


@pytest.mark.parametrize(
    "line", ["x" * 30_000, "栅" * 30_000, "مرحبا \u200fשלום", "👨‍👩‍👧‍👦 👍🏽 🇨🇳"], ids=["x", "zh", "rtl", "emoji"]
)
def test_long_lines_right_to_left_and_emoji_stay_as_written(tmp_path, line):
    assert read_one(write(tmp_path, "a.txt", line)).text == line
    assert read_one(docx(tmp_path / "a.docx", paragraph(line))).text == line
    assert line in read_one(epub(tmp_path / "b.epub", {"one": f"<p>{line}</p>"})).text


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (None, "is a ZIP archive but no Word file"),
        ("<w:document", "'word/document.xml' in it is not XML"),
        ("<d><body/></d>", "holds no text"),
        (
            '<!DOCTYPE d [<!ENTITY a "aa"><!ENTITY b "&a;">]><d><body>&b;</body></d>',
            "'word/document.xml' in it declares",
        ),
        ('<!DOCTYPE d [<!ENTITY a SYSTEM "file:///etc/hostname">]><d/>', "'word/document.xml' in it declares entities"),
        ("<d><body>" + "<p>" * 100_000, "'word/document.xml' in it is not XML (Excessive depth"),
    ],
    ids=["zip", "cut", "empty", "entities", "file", "deep"],
)
def test_a_word_file_that_cannot_be_read_says_why(tmp_path, body, reason):
    path = zipped(tmp_path / "a.docx", {"x.txt": "x"} if body is None else {"word/document.xml": body})
    assert refusal(path).startswith(reason)


def test_a_file_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(tmp_path):
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


XHTML = '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head>'


def test_old_locked_truncated_and_lying_word_files_are_refused(tmp_path):
    whole = docx(tmp_path / "a.docx", paragraph("x" * 5000)).read_bytes()
    locked, lying = bytearray(whole), bytearray(whole)
    for sign, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        place = locked.find(sign)
        while place >= 0:
            locked[place + offset] |= 1
            place = locked.find(sign, place + 4)
    with zipfile.ZipFile(tmp_path / "a.docx") as archive:
        size = struct.pack("<L", archive.getinfo("word/document.xml").file_size)
    place = lying.rindex(size)
    lying[place : place + 4] = struct.pack("<L", 100)
    for content, reason in (
        (whole[: len(whole) // 2], "is damaged or cut short"),
        (b"\xd0\xcf\x11\xe0" + b"x" * 600, "is an old Office file or has a password; save it as DOCX without one"),
        (b"just text", "is named .docx but is not a ZIP archive, as such files are"),
        (locked, "is encrypted; remove the password and add it again"),
        (lying, "is damaged: 'word/document.xml' cannot be unpacked"),
    ):
        assert refusal(write(tmp_path, "b.docx", bytes(content))).startswith(reason)


CONTAINER = """<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""


def epub(path, pages, *, toc="", spine=(), **more):
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
        "OPS/nav.xhtml": f'{XHTML}<body><nav xmlns:e="x" e:type="toc"><ol>{toc}</ol></nav></body></html>',
    }
    members |= {f"OPS/text/{name}.xhtml": f"{XHTML}<body>{content}</body></html>" for name, content in pages.items()}
    return zipped(path, members | more)


def test_a_book_is_read_in_the_order_of_its_spine_under_its_chapter_titles(tmp_path):
    pages = {
        "two": "<p>东栅更古老。</p>",
        "one": "<h1>Xizha</h1><p>Caf&eacute;s &amp; inns<br/>by night.</p><script>x()</script>",
    }
    toc = '<li><a href="text/one.xhtml">Xizha</a></li><li><a href="text/two.xhtml#top">第二章 东栅</a></li>'
    document = read_one(epub(tmp_path / "a.epub", pages, toc=toc, spine=("one", "two", "one", "gone")))
    assert document.text == "# 江南水乡\n\n# Xizha\n\nCafés & inns\nby night.\n\n# 第二章 东栅\n\n东栅更古老。"
    assert (document.title, document.author, document.created) == ("江南水乡", "Li Na, 王五", "2023-05-01")
    assert document.media_type == EPUB_TYPE


def test_an_older_book_has_its_titles_from_its_ncx_and_pages_that_are_no_xml_are_read(tmp_path):
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


def test_a_book_that_is_protected_broken_or_empty_is_refused(tmp_path):
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


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), suffix=st.sampled_from([".docx", ".epub", ".pdf"]))
def test_a_damaged_file_is_read_or_refused(data, suffix, tmp_path_factory):
    path = tmp_path_factory.mktemp("damaged") / f"a{suffix}"
    if suffix == ".docx":
        docx(path, paragraph("Wuzhen", "1") + word_table(("a", "b")))
    elif suffix == ".pdf":
        pdf(path, [heading("Head"), body(SENTENCE * 3)])
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
        assert_normal(document)


def test_content_that_is_clear_counts_more_than_the_suffix(tmp_path):
    content = pdf(tmp_path / "a.pdf", [body(SENTENCE)]).read_bytes()
    assert read_one(write(tmp_path, "b.txt", content)).media_type == "application/pdf"
    assert read_one(write(tmp_path, "c.txt", PAGE)).media_type == "text/html"
    assert read_one(write(tmp_path, "d.pdf", PAGE)).media_type == "text/html"
    assert read_one(write(tmp_path, "E.TXT", NOTE)).media_type == "text/plain"
