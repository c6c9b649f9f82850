"""Typeset the paper digests of `pdf-sources/` as the PDF files of `papers/`.

Run `python examples/academic/make_pdfs.py` from anywhere; it needs reportlab. The same sources give the same bytes,
so a rebuilt file differs only where its source does.

A source is a block of `key: value` lines, an empty line, then the text: `## ` starts a section heading, `[1] ` a
reference, anything else is a paragraph. Keys: `title`, `authors`, `venue`, `columns` (1 or 2), `font` (serif or sans)
and `metadata` (yes writes the title and authors into the document properties as well).
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from reportlab.lib.enums import TA_CENTER, TA_JUSTIFY
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Flowable, Frame, FrameBreak, NextPageTemplate, PageTemplate, Paragraph

HERE = Path(__file__).resolve().parent
WIDTH, HEIGHT = A4
MARGIN = 22 * mm
GUTTER = 8 * mm
TITLE_BLOCK = 44 * mm
REFERENCE = re.compile(r"\[\d+\] ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """One paper digest: what its head says, and its text in blocks."""

    title: str
    authors: str
    venue: str
    columns: int
    font: str
    metadata: bool
    blocks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The paragraph styles of one document."""

    title: ParagraphStyle
    authors: ParagraphStyle
    venue: ParagraphStyle
    heading: ParagraphStyle
    body: ParagraphStyle
    reference: ParagraphStyle
    plain_font: str


def read_digest(path: Path) -> Digest:
    """Return the digest written in `path`.

    Raises:
        ValueError: the head lacks a key, or the text is empty; the message names the file.
    """
    head, _, text = path.read_text(encoding="utf-8").partition("\n\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    missing = {"title", "authors", "venue"} - fields.keys()
    if missing or not text.strip():
        raise ValueError(f"{path}: no {', '.join(sorted(missing)) or 'text'}")
    return Digest(
        title=fields["title"],
        authors=fields["authors"],
        venue=fields["venue"],
        columns=int(fields.get("columns", "1")),
        font=fields.get("font", "serif"),
        metadata=fields.get("metadata") == "yes",
        blocks=tuple(" ".join(block.split()) for block in text.strip().split("\n\n")),
    )


def look_of(digest: Digest) -> Look:
    """Return the styles for `digest`: Vera for sans (it also has the letters outside Latin-1), Times for serif."""
    plain, bold, slanted = (
        ("Vera", "VeraBd", "VeraIt") if digest.font == "sans" else ("Times-Roman", "Times-Bold", "Times-Italic")
    )
    size = 9.0 if digest.columns == 2 or digest.font == "sans" else 10.5
    body = ParagraphStyle("body", fontName=plain, fontSize=size, leading=size * 1.3, spaceAfter=5, alignment=TA_JUSTIFY)
    return Look(
        title=ParagraphStyle("title", fontName=bold, fontSize=17, leading=21, alignment=TA_CENTER, spaceAfter=8),
        authors=ParagraphStyle("authors", fontName=plain, fontSize=10, leading=13, alignment=TA_CENTER, spaceAfter=4),
        venue=ParagraphStyle("venue", fontName=slanted, fontSize=9, leading=12, alignment=TA_CENTER, spaceAfter=10),
        heading=ParagraphStyle(
            "heading", fontName=bold, fontSize=size + 2, leading=size + 5, spaceBefore=6, spaceAfter=3
        ),
        body=body,
        reference=ParagraphStyle(
            "reference", parent=body, fontSize=size - 1, leftIndent=14, firstLineIndent=-14, alignment=0
        ),
        plain_font=plain,
    )


def story_of(digest: Digest, look: Look) -> list[Flowable]:
    """Return what is to be set, in reading order."""
    story: list[Flowable] = [
        Paragraph(escape(digest.title), look.title),
        Paragraph(escape(digest.authors), look.authors),
        Paragraph(escape(digest.venue), look.venue),
    ]
    if digest.columns == 2:
        story += [NextPageTemplate("later"), FrameBreak()]
    for block in digest.blocks:
        if block.startswith("## "):
            story.append(Paragraph(escape(block[3:]), look.heading))
        else:
            style = look.reference if REFERENCE.match(block) else look.body
            story.append(Paragraph(escape(block), style))
    return story


def columns(*, top: float, count: int) -> list[Frame]:
    """Return `count` text frames side by side whose upper edge is at `top`."""
    width = (WIDTH - 2 * MARGIN - (count - 1) * GUTTER) / count
    return [
        Frame(
            MARGIN + index * (width + GUTTER), MARGIN, width, top - MARGIN,
            leftPadding=0, rightPadding=0, topPadding=0, bottomPadding=0,
        )
        for index in range(count)
    ]  # fmt: skip


def templates_of(digest: Digest, look: Look) -> list[PageTemplate]:
    """Return the page templates: the first page carries the title across all columns."""

    def furniture(canvas: Canvas, document: BaseDocTemplate) -> None:
        canvas.setFont(look.plain_font, 8)
        canvas.drawString(MARGIN, HEIGHT - 14 * mm, "Reading group digest")
        canvas.drawCentredString(WIDTH / 2, 12 * mm, str(document.page))

    top = HEIGHT - MARGIN
    first = columns(top=top, count=1)
    if digest.columns == 2:
        title = Frame(
            MARGIN, top - TITLE_BLOCK, WIDTH - 2 * MARGIN, TITLE_BLOCK,
            leftPadding=0, rightPadding=0, topPadding=0, bottomPadding=0,
        )  # fmt: skip
        first = [title, *columns(top=top - TITLE_BLOCK, count=2)]
    return [
        PageTemplate("first", frames=first, onPage=furniture),
        PageTemplate("later", frames=columns(top=top, count=digest.columns), onPage=furniture),
    ]


def typeset(source: Path, target: Path) -> None:
    """Write the digest of `source` to `target` as PDF."""
    digest = read_digest(source)
    look = look_of(digest)
    document = BaseDocTemplate(
        str(target),
        pagesize=A4,
        invariant=1,
        pageCompression=0,
        title=digest.title if digest.metadata else "",
        author=digest.authors if digest.metadata else "",
    )
    document.addPageTemplates(templates_of(digest, look))
    document.build(story_of(digest, look))


def main() -> int:
    """Typeset every source; returns the exit status."""
    for name in ("Vera", "VeraBd", "VeraIt"):
        pdfmetrics.registerFont(TTFont(name, f"{name}.ttf"))
    for source in sorted((HERE / "pdf-sources").glob("*.digest")):
        target = HERE / "papers" / f"{source.stem}.pdf"
        typeset(source, target)
        sys.stdout.write(f"{target.name}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
