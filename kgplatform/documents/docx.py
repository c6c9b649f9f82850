"""Word files (DOCX): headings, paragraphs, list items and table rows, in the order of the text.

Office Open XML, ECMA-376 part 1, §17. Elements are known by their names without namespace, so that files in the
strict form are read too.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kgplatform.documents.archive import Archive, Element, attribute, child, children_of, local
from kgplatform.documents.parts import Part, clean, file_title, iso_date, one_line
from kgplatform.errors import ReadError

DOCX_TYPE: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_MAIN = "word/document.xml"
_HEADING_NAME = re.compile(r"(?:heading|标题|rubrik|überschrift)\s*(\d)$", re.IGNORECASE)
_TITLE_NAMES = frozenset(("title", "标题", "文档标题"))
_LIST_NAMES = re.compile(r"list (?:bullet|number|paragraph)", re.IGNORECASE)
_NOT_READ = frozenset(("del", "moveFrom", "Fallback", "instrText", "delText", "rPr", "pPr", "txbxContent"))
_MAX_INDENT = 3
_HEADING_LETTERS = 120
_NO_HEADING_END = tuple(".。,，;；:：!！?？")


@dataclass(frozen=True, slots=True)
class _Style:
    """What a paragraph style says: its heading level (0: none), and whether it is the title's or a list's."""

    level: int = 0
    is_title: bool = False
    is_list: bool = False


@dataclass(slots=True)
class _Blocks:
    """The blocks of the text; those of one list or table stand on lines of their own without an empty one between."""

    pieces: list[str] = field(default_factory=list)
    title: str = ""
    heading: str = ""
    before: str = ""

    def add(self, text: str, kind: str = "") -> None:
        """Takes a block; ``kind`` is ``item`` or ``row`` for those that stay together."""
        if text.strip():
            together = kind != "" and kind == self.before
            self.pieces += ["\n" if together else "\n\n", text] if self.pieces else [text]
            self.before = kind

    def apart(self) -> None:
        """Says that a list or table has ended."""
        self.before = ""


def read_docx(path: Path, data: bytes) -> list[Part]:
    """The one document of a Word file: headings as ``# …``, list items as ``- …``, table rows as ``cell | cell``.

    Text in notes follows at the end; deleted text, comments, headers and footers are left out.

    Raises:
        ReadError: it is broken, encrypted, no Word file, unpacks to too much, or declares entities.
    """
    archive = Archive(path, data)
    main = _main_part(archive)
    styles = _styles(archive, main)
    blocks = _Blocks()
    bold_headings = not any(style.level for style in _used(archive, main, styles))
    for element in children_of(archive.read(main), "body", path=path, name=main):
        _block(element, styles, blocks, bold_headings=bold_headings)
    _notes(archive, main, styles, blocks)
    text = clean("".join(blocks.pieces))
    if not text.strip():
        raise ReadError("holds no text", path=path)
    stated, author, created = _properties(archive)
    title = clean(one_line(blocks.title) or stated or one_line(blocks.heading)) or file_title(path)
    return [Part(text, title, DOCX_TYPE, clean(author) or None, created)]


def _main_part(archive: Archive) -> str:
    """The part that holds the text, as the package's relations name it."""
    if "_rels/.rels" in archive:
        for relation in archive.xml("_rels/.rels"):
            if attribute(relation, "Type").endswith("/officeDocument"):
                target = attribute(relation, "Target").lstrip("/")
                if target in archive:
                    return target
    if _MAIN not in archive:
        raise ReadError("is a ZIP archive but no Word file; save it as DOCX, PDF, HTML or text", path=archive.path)
    return _MAIN


def _beside(main: str, name: str) -> str:
    return posixpath.join(posixpath.dirname(main), name)


def _styles(archive: Archive, main: str) -> dict[str, _Style]:
    """The paragraph styles by their ids, each with what it has from the style it is based on."""
    name = _beside(main, "styles.xml")
    if name not in archive:
        return {}
    elements = {attribute(style, "styleId"): style for style in archive.xml(name) if local(style) == "style"}
    return {id_: _style(id_, elements) for id_ in elements}


def _style(id_: str, elements: Mapping[str, Element]) -> _Style:
    seen: set[str] = set()
    level, is_list = 0, False
    is_title = _style_name(elements[id_]).lower() in _TITLE_NAMES
    while id_ in elements and id_ not in seen:
        seen.add(id_)
        element = elements[id_]
        name, properties = _style_name(element), child(element, "pPr")
        named = _HEADING_NAME.match(name)
        level = level or (min(int(named[1]), 6) if named else _outline_level(properties))
        is_list = is_list or child(properties, "numPr") is not None or _LIST_NAMES.match(name) is not None
        based = child(element, "basedOn")
        id_ = attribute(based, "val") if based is not None else ""
    return _Style(level, is_title, is_list and not level)


def _style_name(style: Element) -> str:
    name = child(style, "name")
    return attribute(name, "val") if name is not None else ""


def _outline_level(properties: Element | None) -> int:
    """The heading level that paragraph properties state: 1 to 6, 0 for running text."""
    stated = child(properties, "outlineLvl")
    number = attribute(stated, "val") if stated is not None else ""
    return min(int(number) + 1, 6) if number.isdecimal() and int(number) < 9 else 0


def _used(archive: Archive, main: str, styles: Mapping[str, _Style]) -> Iterator[_Style]:
    """The styles that paragraphs of the text have."""
    for element in children_of(archive.read(main), "body", path=archive.path, name=main):
        if local(element) == "p":
            yield _style_of(element, styles)


def _style_of(paragraph: Element, styles: Mapping[str, _Style]) -> _Style:
    properties = child(paragraph, "pPr")
    named = child(properties, "pStyle")
    style = styles.get(attribute(named, "val"), _Style()) if named is not None else _Style()
    level = _outline_level(properties) or style.level
    return _Style(level, style.is_title, style.is_list or (child(properties, "numPr") is not None and not level))


def _block(element: Element, styles: Mapping[str, _Style], blocks: _Blocks, *, bold_headings: bool) -> None:
    kind = local(element)
    if kind == "tbl":
        blocks.apart()
        for row in _inner(element, "tr"):
            cells = [one_line(_cell_text(cell)) for cell in _inner(row, "tc")]
            blocks.add(" | ".join(cells) if any(cells) else "", "row")
        blocks.apart()
    elif kind == "p":
        _paragraph(element, styles, blocks, bold_headings=bold_headings)
        for box in _boxes(element):
            _all(box, styles, blocks, bold_headings=bold_headings)
    elif kind in ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag"):
        _all(element, styles, blocks, bold_headings=bold_headings)


def _all(element: Element, styles: Mapping[str, _Style], blocks: _Blocks, *, bold_headings: bool) -> None:
    for inner in element:
        _block(inner, styles, blocks, bold_headings=bold_headings)


def _boxes(paragraph: Element) -> list[Element]:
    """The text boxes that hang on a paragraph, without those inside them and the copies for old programs."""
    found: list[Element] = []
    waiting = list(paragraph)[::-1]
    while waiting:
        element = waiting.pop()
        if local(element) == "txbxContent":
            found.append(element)
        elif local(element) != "Fallback":
            waiting += list(element)[::-1]
    return found


def _inner(element: Element, name: str) -> Iterator[Element]:
    """The rows of a table or cells of a row, also those inside content controls and insertions."""
    for inner in element:
        if local(inner) == name:
            yield inner
        elif local(inner) in ("sdt", "sdtContent", "ins", "customXml"):
            yield from _inner(inner, name)


def _cell_text(cell: Element) -> str:
    return " ".join(_text(paragraph) for paragraph in cell.iter("{*}p"))


def _paragraph(element: Element, styles: Mapping[str, _Style], blocks: _Blocks, *, bold_headings: bool) -> None:
    text = "\n".join(line for line in (one_line(part) for part in _text(element).split("\n")) if line)
    if not text:
        return
    style = _style_of(element, styles)
    level = 1 if style.is_title else style.level
    if not level and bold_headings and _is_bold_heading(element, text) and not style.is_list:
        level = 2
    if style.is_title and not blocks.title:
        blocks.title = text
    if level:
        blocks.heading = blocks.heading or text
        blocks.add(f"{'#' * level} {one_line(text)}")
    elif style.is_list:
        blocks.add("  " * _indent(element) + "- " + text, "item")
    else:
        blocks.add(text)


def _is_bold_heading(paragraph: Element, text: str) -> bool:
    """Whether a paragraph is set as people set headings who do not use styles: short, bold, without a full stop."""
    if len(text) > _HEADING_LETTERS or text.endswith(_NO_HEADING_END):
        return False
    runs = [run for run in paragraph.iter("{*}r") if any(local(inner) == "t" for inner in run)]
    return bool(runs) and all(_is_bold(run) for run in runs)


def _is_bold(run: Element) -> bool:
    mark = child(run, "rPr", "b")
    return mark is not None and attribute(mark, "val").lower() not in ("0", "false", "off")


def _indent(paragraph: Element) -> int:
    level = child(paragraph, "pPr", "numPr", "ilvl")
    number = attribute(level, "val") if level is not None else ""
    return min(int(number), _MAX_INDENT) if number.isdecimal() else 0


def _text(element: Element) -> str:
    """The text of a paragraph as it shows: insertions in, deletions and field codes out."""
    pieces: list[str] = []
    for inner in element:
        kind = local(inner)
        if kind in _NOT_READ:
            continue
        if kind == "t":
            pieces.append(inner.text or "")
        elif kind in ("tab", "ptab"):
            pieces.append(" ")
        elif kind in ("br", "cr"):
            pieces.append("\n")
        elif kind == "noBreakHyphen":
            pieces.append("-")
        else:
            pieces.append(_text(inner))
    return "".join(pieces)


def _notes(archive: Archive, main: str, styles: Mapping[str, _Style], blocks: _Blocks) -> None:
    for kind in ("footnote", "endnote"):
        name = _beside(main, f"{kind}s.xml")
        if name in archive:
            for note in archive.xml(name):
                if local(note) == kind and not attribute(note, "type"):  # separators have one
                    blocks.apart()
                    _all(note, styles, blocks, bold_headings=False)


def _properties(archive: Archive) -> tuple[str, str, str | None]:
    """Title, author and date as the file's properties state them."""
    if "docProps/core.xml" not in archive:
        return "", "", None
    stated = {local(item): one_line(item.text or "") for item in archive.xml("docProps/core.xml")}
    created = stated.get("created", "")
    return stated.get("title", ""), stated.get("creator", ""), iso_date(created) if created else None
