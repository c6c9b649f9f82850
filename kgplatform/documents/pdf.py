"""PDF files: text in reading order with its headings (pypdf for the file, `layout` for the page)."""

from __future__ import annotations

import io
import logging
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pypdf import PageObject, PdfReader
from pypdf.errors import DependencyError, PyPdfError

from kgplatform.documents.layout import (
    Page,
    Paragraph,
    Run,
    lines_of,
    outline_key,
    paragraphs_of,
    title_of,
    with_outline,
)
from kgplatform.documents.parts import Part, clean, file_title, iso_date, one_line
from kgplatform.errors import ReadError

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


def read_pdf(path: Path, data: bytes) -> list[Part]:
    """The one document of a PDF: paragraphs apart by an empty line, headings as ``# …``, table rows as ``cell | cell``.

    Page numbers and running heads are left out, words divided at a line's end are made whole.

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
    return [Part(text, title, PDF_TYPE, clean(author) or None, created)]


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


def _pages(path: Path, reader: PdfReader) -> list[Page]:
    pages: list[Page] = []
    try:
        for page in reader.pages:
            pages.append(_page(page))
    except DependencyError as error:
        raise ReadError(_NEEDS_CRYPTOGRAPHY, path=path) from error
    except _BROKEN as error:
        raise ReadError(f"page {len(pages) + 1} cannot be read ({_reason(error)})", path=path) from error
    return pages


def _page(page: PageObject) -> Page:
    runs: list[Run] = []
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
                runs.append(Run(line, x, y - number * size * _LINE_HEIGHT, size, bold, upright))

    # the visitor sees every piece of text with its place
    plain = page.extract_text(visitor_text=visit)
    box = page.mediabox
    height = float(box.height)
    if sideways * 2 > len(runs):  # turned pages: the order of writing is the better guide
        written = enumerate(plain.split("\n"))
        rows = (Run(line, 0.0, -14.0 * number, 10.0, bold=False) for number, line in written if line.strip())
        return Page(tuple(lines_of(rows)), 0.0)
    bottom = float(box.bottom)
    shifted = [replace(run, y=run.y - bottom) for run in runs]
    return Page(tuple(lines_of(shifted)), height)


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
