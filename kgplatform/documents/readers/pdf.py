"""PDF files: text in reading order with its headings; pypdf reads the file, the layout of its pages is worked out here.

Coordinates are a page's own: points from its lower left corner, so what is above has the larger ``y``. Producers
write a column from top to bottom, so lines that follow each other downwards form a block; blocks are put in reading
order by cutting the page where no block lies: at vertical gutters first (columns), else across.
"""

from __future__ import annotations

import io
import logging
import math
import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Final

from pypdf import PageObject, PdfReader
from pypdf.errors import DependencyError, PyPdfError

from kgplatform.documents.parts import DocumentPart, clean, file_title, iso_date, one_line
from kgplatform.errors import ReadError
from kgplatform.text import has_han

_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]")
_NARROW: Final = frozenset(" iljtfIr.,;:'!|()[]-/\"")
_BROAD: Final = frozenset("mwMWABCDEGHKNOQRSUVXYZ%@&—…")
_PAGE_NUMBER = re.compile(
    r"^\W*(?:page|p\.|seite|sida|第)?\s*(?:\d{1,4}|[ivxlc]{1,6})\s*页?\s*"
    r"(?:(?:/|of|av|von|共|[|–—-])\s*\d{1,4}\s*页?)?\W*$",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^(?:[•●▪◦‣·∙\-–*]\s|\(?\d{1,2}[.)、]\s*\D|\[\d{1,3}\]\s|[一二三四五六七八九十]+、)")
_BULLET = re.compile(r"^[•●▪◦‣·∙]\s*")
_SENTENCE_END = tuple('。！？.!?:：;；”"’)）')
_OPENING, _CLOSING = "([{\"'“‘", ".,;:!?)]}\"'”’"
_MARGIN = 0.1
_TITLE_LETTERS = 300
_NUMBERING = re.compile(
    r"^\s*(?:\d+(?:\.\d+)*\.?|[IVX]+\.|[A-Z]\.|第[一二三四五六七八九十\d]+[章节]|[一二三四五六七八九十]+、)\s*"
)
_HYPHENATED = re.compile(r"(?<!\w)\w++-\w++(?:-\w++)*")


@dataclass(frozen=True, slots=True)
class TextRun:
    """A piece of text written in one go; ``x``, ``y`` are where its baseline begins; ``upright``: set level."""

    text: str
    x: float
    y: float
    size: float
    bold: bool
    upright: bool = True


@dataclass(frozen=True, slots=True)
class PdfLine:
    """A line of text from ``x`` to ``right`` on the baseline ``y``."""

    text: str
    x: float
    right: float
    y: float
    size: float
    bold: bool
    upright: bool = True


@dataclass(frozen=True, slots=True)
class PdfPage:
    """The lines of a page in the order they were written."""

    lines: tuple[PdfLine, ...]
    height: float


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph or heading; ``level`` is 0 for running text, 1 for the largest headings.

    ``begins`` and ``ends`` tell that it does so at the edge of a block, where a column break may have cut it; ``ends``
    only if its last line is full.
    """

    text: str
    size: float
    bold: bool
    page: int
    lines: int = 1
    level: int = 0
    begins: bool = False
    ends: bool = False
    upright: bool = True


@dataclass(frozen=True, slots=True)
class _Block:
    lines: tuple[PdfLine, ...]
    left: float
    right: float
    top: float
    bottom: float


def width_of(text: str, size: float) -> float:
    """About how wide a text is set: usual widths of a proportional font, a full em for Han characters."""
    wide = len(_WIDE.findall(text))
    narrow = sum(letter in _NARROW for letter in text)
    broad = sum(letter in _BROAD for letter in text)
    return size * (wide + 0.29 * narrow + 0.72 * broad + 0.53 * (len(text) - wide - narrow - broad))


def lines_of(runs: Iterable[TextRun]) -> list[PdfLine]:
    """The runs joined to lines, as long as each goes on to the right of the one before."""
    lines: list[PdfLine] = []
    origin = letters = 0.0
    for run in runs:
        last = lines[-1] if lines else None
        if last is not None and _is_beside(last, run, origin):
            lines[-1], letters = _extended(last, run, origin, letters)
        else:
            right = run.x + width_of(run.text, run.size)
            lines.append(PdfLine(run.text, run.x, right, run.y, run.size, run.bold, run.upright))
            letters = len(run.text.strip()) if run.bold else 0
        origin = run.x
    tidy = [replace(line, text=" ".join(line.text.split())) for line in lines]
    return [line for line in tidy if line.text]


def _is_beside(line: PdfLine, run: TextRun, origin: float) -> bool:
    level = abs(run.y - line.y) < 0.45 * max(run.size, line.size) and run.x >= origin - 0.5
    return level and run.upright == line.upright


def _extended(line: PdfLine, run: TextRun, origin: float, bold_letters: float) -> tuple[PdfLine, float]:
    width = width_of(run.text, run.size)
    if run.x - origin < 0.5:  # the same origin: written on from where the last run ended
        text, right = line.text + run.text, line.right + width
    else:
        gap = run.x - line.right
        cell = gap > 1.5 * run.size + 0.06 * (line.right - origin)
        blank = gap > 0.12 * run.size
        text, right = line.text + (" | " if cell else " " if blank else "") + run.text, run.x + width
    bold_letters += len(run.text.strip()) if run.bold else 0
    bold = bold_letters >= 0.8 * len(text.strip())
    main = line if len(line.text.strip()) >= len(run.text.strip()) else run
    return replace(line, text=text, right=right, y=main.y, size=main.size, bold=bold), bold_letters


def paragraphs_of(pages: list[PdfPage], outline: Set[str] = frozenset()) -> list[Paragraph]:
    """The paragraphs and headings of the pages in reading order, without page numbers and running heads.

    A line that the ``outline`` names (`outline_key`) is a paragraph of its own.
    """
    running = _running_lines(pages)
    hyphenated = {word for page in pages for line in page.lines for word in _HYPHENATED.findall(line.text)}
    found: list[Paragraph] = []
    for number, page in enumerate(pages):
        kept = [line for line in page.lines if not _is_marginal(line, page, running)]
        for block in _in_reading_order(_blocks(kept)):
            inner = [_paragraph(lines, number, hyphenated) for lines in _paragraph_lines(block, outline)]
            inner[0] = replace(inner[0], begins=True)
            is_full = block.lines[-1].right >= block.left + 0.8 * (block.right - block.left)
            inner[-1] = replace(inner[-1], ends=is_full)
            found += inner
    return _levelled(_continued(found, hyphenated, outline))


def title_of(paragraphs: list[Paragraph]) -> str:
    """The first run of the largest bold paragraphs on the first two pages, else of the largest headings, as one line.

    Only level text counts (a stamp at the side may be larger); nothing where there are no headings.
    """
    early = [paragraph for paragraph in paragraphs if paragraph.page < 2]
    headings = [paragraph for paragraph in early if paragraph.level and len(paragraph.text) <= _TITLE_LETTERS]
    if not headings:
        return ""
    bold = [paragraph for paragraph in headings if paragraph.bold] or headings
    first = max(bold, key=lambda paragraph: paragraph.size)
    title = first.text
    for paragraph in early[early.index(first) + 1 :]:
        alike = abs(paragraph.size - first.size) < 0.02 * first.size and paragraph.bold == first.bold
        more = f"{title} {paragraph.text}"
        if not alike or not paragraph.level or paragraph.page != first.page or len(more) > _TITLE_LETTERS:
            break
        title = _joined(title, paragraph.text, set())
    return title


def with_outline(paragraphs: list[Paragraph], outline: Mapping[str, int]) -> list[Paragraph]:
    """The paragraphs; those that the outline embedded in a file names are headings of the depth it says (from 0).

    The keys of the outline are `outline_key` of its titles. Below the title, so depth 0 is level 2.
    """
    if not outline:
        return paragraphs
    depth_of = ((paragraph, outline.get(outline_key(paragraph.text))) for paragraph in paragraphs)
    return [
        paragraph if depth is None or not paragraph.upright else replace(paragraph, level=min(depth + 2, 6))
        for paragraph, depth in depth_of
    ]


def outline_key(title: str) -> str:
    """A form in which the title of a section is the same in the outline and above the section."""
    return "".join(letter for letter in _NUMBERING.sub("", title[:_TITLE_LETTERS]).casefold() if letter.isalnum())


def _edge_lines(page: PdfPage) -> list[PdfLine]:
    return [line for line in page.lines if not _MARGIN < line.y / page.height < 1 - _MARGIN] if page.height else []


def _shape(line: PdfLine) -> tuple[str, int]:
    return re.sub(r"\d+", "#", line.text), round(line.y / 4)


def _running_lines(pages: list[PdfPage]) -> set[tuple[str, int]]:
    """What stands at the same place in the margin of at least two pages and half of all, but for its numbers."""
    counts = Counter(shape for page in pages for shape in {_shape(line) for line in _edge_lines(page)})
    return {shape for shape, count in counts.items() if count >= 2 and count * 2 >= len(pages)}


def _is_marginal(line: PdfLine, page: PdfPage, running: set[tuple[str, int]]) -> bool:
    if not page.height or _MARGIN < line.y / page.height < 1 - _MARGIN:
        return False
    if _shape(line) in running:
        return True
    outermost = all(other.y >= line.y for other in page.lines) or all(other.y <= line.y for other in page.lines)
    return outermost and _PAGE_NUMBER.match(line.text) is not None


def _blocks(lines: list[PdfLine]) -> list[_Block]:
    groups: list[list[PdfLine]] = []
    for line in lines:
        last = groups[-1][-1] if groups else None
        if last is not None and _goes_on(last, line):
            groups[-1].append(line)
        else:
            groups.append([line])
    return [_block(group) for group in groups]


def _goes_on(last: PdfLine, line: PdfLine) -> bool:
    if last.upright != line.upright:
        return False
    down = last.y - line.y
    return 0 < down <= 2.2 * max(last.size, line.size) and line.x < last.right and last.x < line.right


def _block(lines: list[PdfLine]) -> _Block:
    return _Block(
        tuple(lines),
        left=min(line.x for line in lines),
        # the width is an estimate; a gutter must not close because of it
        right=max(line.x + 0.94 * (line.right - line.x) for line in lines),
        top=max(line.y + 0.8 * line.size for line in lines),
        bottom=min(line.y - 0.2 * line.size for line in lines),
    )


def _in_reading_order(blocks: list[_Block]) -> list[_Block]:
    ordered: list[_Block] = []
    for band in _bands(blocks):
        for column in _columns(band):
            ordered += sorted(column, key=lambda block: (-block.top, block.left))
    return ordered


def _bands(blocks: list[_Block]) -> list[list[_Block]]:
    """The blocks from top to bottom, cut where none lies; bands that share a gutter are one."""
    bands: list[list[_Block]] = []
    floor = 0.0
    for block in sorted(blocks, key=lambda block: -block.top):
        if bands and (block.top > floor or len(_columns([*bands[-1], block])) > 1):
            bands[-1].append(block)
            floor = min(floor, block.bottom)
        else:
            bands.append([block])
            floor = block.bottom
    return bands


def _columns(band: list[_Block]) -> list[list[_Block]]:
    """The blocks from left to right, cut at every vertical line that crosses none of them."""
    columns: list[list[_Block]] = []
    edge = 0.0
    for block in sorted(band, key=lambda block: block.left):
        if columns and block.left < edge:
            columns[-1].append(block)
            edge = max(edge, block.right)
        else:
            columns.append([block])
            edge = block.right
    return columns


def _paragraph_lines(block: _Block, outline: Set[str]) -> Iterator[list[PdfLine]]:
    steps = [upper.y - lower.y for upper, lower in zip(block.lines, block.lines[1:], strict=False)]
    usual = median(steps) if steps else 0.0
    current = [block.lines[0]]
    for line, step in zip(block.lines[1:], steps, strict=True):
        is_apart = step > 1.3 * max(min(usual, 1.5 * line.size), 0.9 * line.size)
        is_apart = is_apart or _is_named(line.text, outline) or _is_named(current[-1].text, outline)
        if is_apart or _begins_paragraph(current, line, block):
            yield current
            current = []
        current.append(line)
    yield current


def _is_named(text: str, outline: Set[str]) -> bool:
    return bool(outline) and len(text) <= _TITLE_LETTERS and outline_key(text) in outline


def _begins_paragraph(current: list[PdfLine], line: PdfLine, block: _Block) -> bool:
    first, last = current[0], current[-1]
    if abs(line.size - last.size) > 0.08 * last.size or line.bold != last.bold:
        return True
    if _ITEM.match(line.text) or " | " in line.text or " | " in last.text:
        return True
    if not last.text.endswith(_SENTENCE_END):
        return False
    if _ITEM.match(first.text) and line.x > first.x + 0.5 * line.size:
        return False  # the lines of an item or reference hang under its number
    indented = line.x > block.left + 0.9 * line.size and last.x < block.left + 0.5 * line.size
    return indented or last.right < block.left + 0.8 * (block.right - block.left)


def _paragraph(lines: list[PdfLine], page: int, hyphenated: set[str]) -> Paragraph:
    text = lines[0].text
    for line in lines[1:]:
        text = _joined(text, line.text, hyphenated)
    text = _BULLET.sub("- ", text)
    bold, upright = all(line.bold for line in lines), all(line.upright for line in lines)
    return Paragraph(text, lines[0].size, bold, page, len(lines), upright=upright)


def _joined(text: str, more: str, hyphenated: set[str]) -> str:
    """Two lines of a paragraph as one: Han without a blank, a word divided at the line end in one piece."""
    if text.endswith("\u00ad"):
        return text[:-1] + more
    if text.endswith("-") and text[-2:-1].isalpha() and more[:1].islower():
        before, after = text.rsplit(None, 1)[-1].lstrip(_OPENING), more.split(None, 1)[0].rstrip(_CLOSING)
        keep = before + after in hyphenated or "-" in before[:-1]
        return text + more if keep else text[:-1] + more
    wide = _WIDE.match(text[-1]) or _WIDE.match(more[0])
    return text + more if wide and (has_han(text[-2:]) or has_han(more[:2])) else f"{text} {more}"


def _continued(paragraphs: list[Paragraph], hyphenated: set[str], outline: Set[str]) -> list[Paragraph]:
    """The paragraphs, those that a column or page break cut in two made whole."""
    whole: list[Paragraph] = []
    for paragraph in paragraphs:
        last = whole[-1] if whole else None
        is_named = any(_is_named(other.text, outline) for other in (last, paragraph) if other is not None)
        if last is not None and not is_named and _is_continuation(last, paragraph):
            text = _joined(last.text, paragraph.text, hyphenated)
            whole[-1] = replace(last, text=text, lines=last.lines + paragraph.lines, ends=paragraph.ends)
        else:
            whole.append(paragraph)
    return whole


def _is_continuation(last: Paragraph, paragraph: Paragraph) -> bool:
    alike = abs(last.size - paragraph.size) < 0.05 * last.size and last.bold == paragraph.bold
    alike = alike and last.upright == paragraph.upright
    if not alike or last.text.endswith(_SENTENCE_END) or " | " in last.text + paragraph.text:
        return False
    if not (last.ends and paragraph.begins) or _ITEM.match(paragraph.text):
        return False
    return paragraph.text[0].islower() or (last.lines > 1 and not last.bold)


def _levelled(paragraphs: list[Paragraph]) -> list[Paragraph]:
    """The paragraphs with the levels of those that are headings: by size, and below these the bold ones."""
    letters: Counter[float] = Counter()
    for paragraph in paragraphs:
        letters[round(paragraph.size, 1)] += len(paragraph.text)
    body = letters.most_common(1)[0][0] if letters else 0.0
    large = {round(paragraph.size, 1) for paragraph in paragraphs if _is_large(paragraph, body)}
    sizes = sorted(large, reverse=True)
    levelled: list[Paragraph] = []
    for paragraph in paragraphs:
        level = 0
        if _is_large(paragraph, body):
            level = min(sizes.index(round(paragraph.size, 1)) + 1, 6)
        elif _is_bold_heading(paragraph, body):
            level = min(len(sizes) + 1, 6)
        levelled.append(replace(paragraph, level=level))
    return levelled


def _is_large(paragraph: Paragraph, body: float) -> bool:
    short = len(paragraph.text) <= 200 and paragraph.lines <= 3 and paragraph.upright
    return short and paragraph.size >= 1.15 * body and " | " not in paragraph.text


def _is_bold_heading(paragraph: Paragraph, body: float) -> bool:
    short = len(paragraph.text) <= 120 and paragraph.lines <= 2 and paragraph.upright and paragraph.size >= 0.95 * body
    return short and paragraph.bold and " | " not in paragraph.text and not paragraph.text.endswith(tuple(".。,，;；"))


PDF_TYPE: Final = "application/pdf"
_LINE_HEIGHT = 1.2
_NO_TITLE = ("untitled", "(anonymous)", "microsoft word", "unspecified", "powerpoint")
_BROKEN: Final = (
    *(PyPdfError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError),
    *(OSError, EOFError, RecursionError, NotImplementedError, struct.error, zlib.error, MemoryError),
)
"""What pypdf is known to raise over files that break the format."""

_NEEDS_CRYPTOGRAPHY = "is encrypted with AES; `pip install cryptography` lets it be read if it opens without a password"
_SEEN_FOR_PICTURES = 20
_MAX_OUTLINE = 5000

# pypdf reports every repair as a warning; without a handler of its own they would land on stderr
logging.getLogger("pypdf").addHandler(logging.NullHandler())


def read_pdf(path: Path, data: bytes) -> list[DocumentPart]:
    """The one document of a PDF: paragraphs apart by an empty line, headings as ``# …``, table rows as ``cell | cell``.

    PdfPage numbers and running heads are left out, words divided at a line's end are made whole.

    Raises:
        ReadError: the file is encrypted, broken, or holds no text; the message says if it is pictures only.
    """
    reader = _opened(path, data)
    pages = _pages(path, reader)
    outline = _outline(reader)
    paragraphs = paragraphs_of(pages, outline.keys())
    titled = title_of(paragraphs)
    outline.pop(outline_key(titled), None)
    text = clean(_text(with_outline(paragraphs, outline)))
    if not any(letter.isalnum() for letter in text):
        raise ReadError(_why_no_text(reader), path=path)
    stated, author, created = _metadata(reader)
    title = clean(titled or stated) or file_title(path)
    return [DocumentPart(text, title, PDF_TYPE, clean(author) or None, created)]


def _opened(path: Path, data: bytes) -> PdfReader:
    try:
        reader = PdfReader(io.BytesIO(data))
        # many files are locked against editing only and open with an empty password
        locked = reader.is_encrypted and not reader.decrypt("")
    except DependencyError as error:
        raise ReadError(_NEEDS_CRYPTOGRAPHY, path=path) from error
    except _BROKEN as error:
        raise ReadError(f"is not a readable PDF ({_reason(error)})", path=path) from error
    if locked:
        raise ReadError("is encrypted; remove the password and add it again", path=path)
    return reader


def _why_no_text(reader: PdfReader) -> str:
    """What to say of a file without text: whether it holds pictures, and how text can be had from them."""
    count = len(reader.pages)
    if any(_has_picture(reader, number) for number in range(min(count, _SEEN_FOR_PICTURES))):
        pages = f"{count} pages" if count != 1 else "1 page"
        return f"holds only pictures ({pages}, scanned?); make their text readable with OCR and add it again"
    return "holds no text"


def _has_picture(reader: PdfReader, number: int) -> bool:
    try:
        page = reader.pages[number]
        drawn = page.get("/Resources", {}).get_object().get("/XObject", {}).get_object()
        kinds = [item.get_object().get("/Subtype") for item in drawn.values()]
        content = page.get_contents()
        inline = content is not None and b"\nBI" in content.get_data()
    except _BROKEN:
        return False
    return inline or "/Image" in kinds or "/Form" in kinds


def _outline(reader: PdfReader) -> dict[str, int]:
    """The outline that the file carries: the keys of its titles, each with its depth."""
    found: dict[str, int] = {}
    try:
        waiting: list[tuple[Any, int]] = [(entry, 0) for entry in reversed(reader.outline)]
        while waiting and len(found) < _MAX_OUTLINE:
            entry, depth = waiting.pop()
            if isinstance(entry, list):
                waiting += [(inner, depth + 1) for inner in reversed(entry)]
            elif key := outline_key(str(entry.title or "")):
                found.setdefault(key, depth)
    except _BROKEN:  # a damaged outline does not make the text unreadable
        return {}
    return found


def _reason(error: BaseException) -> str:
    return one_line(str(error))[:120] or type(error).__name__


def _pages(path: Path, reader: PdfReader) -> list[PdfPage]:
    pages: list[PdfPage] = []
    try:
        for page in reader.pages:
            pages.append(_page(page))
    except DependencyError as error:
        raise ReadError(_NEEDS_CRYPTOGRAPHY, path=path) from error
    except _BROKEN as error:
        raise ReadError(f"page {len(pages) + 1} cannot be read ({_reason(error)})", path=path) from error
    return pages


def _page(page: PageObject) -> PdfPage:
    runs: list[TextRun] = []
    sideways = 0

    def visit(text: str, cm: Sequence[float], tm: Sequence[float], font: object, font_size: float) -> None:
        nonlocal sideways
        if not text.strip():
            if runs and text and "\n" not in text:
                last = runs[-1]
                runs[-1] = replace(last, text=last.text + " ")
            return
        a, b, c, d, x, y = _product(tm, cm)
        upright = abs(b) <= abs(a)
        sideways += not upright
        size = abs(font_size) * (math.sqrt(abs(a * d - b * c)) or 1.0) or 1.0
        bold = _is_bold(font)
        for number, line in enumerate(text.strip("\n").split("\n")):
            if line.strip():
                runs.append(TextRun(line, x, y - number * size * _LINE_HEIGHT, size, bold, upright))

    # the visitor sees every piece of text with its place
    plain = page.extract_text(visitor_text=visit)
    box = page.mediabox
    height = float(box.height)
    if sideways * 2 > len(runs):  # turned pages: the order of writing is the better guide
        written = enumerate(plain.split("\n"))
        rows = (TextRun(line, 0.0, -14.0 * number, 10.0, bold=False) for number, line in written if line.strip())
        return PdfPage(tuple(lines_of(rows)), 0.0)
    bottom = float(box.bottom)
    shifted = [replace(run, y=run.y - bottom) for run in runs]
    return PdfPage(tuple(lines_of(shifted)), height)


def _product(tm: Sequence[float], cm: Sequence[float]) -> tuple[float, float, float, float, float, float]:
    """The text matrix under the page's (PDF 32000-1, 8.3.4)."""
    a, b, c, d, e, f = (float(number) for number in tm)
    g, h, i, j, k, m = (float(number) for number in cm)
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m


def _is_bold(font: object) -> bool:
    name = str(font.get("/BaseFont", "")).lower() if isinstance(font, dict) else ""
    return any(word in name for word in ("bold", "black", "heavy", "semibold", "demi", "-bd", "simhei"))


def _text(paragraphs: list[Paragraph]) -> str:
    pieces: list[str] = []
    before: Paragraph | None = None
    for paragraph in paragraphs:
        together = before is not None and _kind(before.text) == _kind(paragraph.text) != ""
        pieces.append("" if before is None else "\n" if together else "\n\n")
        pieces.append(f"{'#' * paragraph.level} {paragraph.text}" if paragraph.level else paragraph.text)
        before = paragraph
    return "".join(pieces)


def _kind(text: str) -> str:
    return "item" if text.startswith("- ") else "row" if " | " in text else ""


def _metadata(reader: PdfReader) -> tuple[str, str, str | None]:
    """Title, author and date from the document information, as far as they say something."""
    try:
        stated = reader.metadata
        title = one_line(str(stated.get("/Title") or "")) if stated else ""
        author = one_line(str(stated.get("/Author") or "")) if stated else ""
        created = str(stated.get("/CreationDate") or "") if stated else ""
    except _BROKEN:  # a damaged information dictionary does not make the text unreadable
        return "", "", None
    if title.lower().startswith(_NO_TITLE):
        title = ""
    return title, "" if author.lower() in ("anonymous", "(anonymous)") else author, iso_date(created)
