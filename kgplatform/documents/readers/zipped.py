"""Documents that are ZIP archives: Word files (DOCX) and electronic books (EPUB 2 and 3).

A small archive can unpack to terabytes, and a few lines of XML to as much; so sizes are looked at before anything is
unpacked, all that is unpacked is counted, and entities of a document's own are refused.

Of a Word file come headings, paragraphs, list items and table rows, in the order of the text (Office Open XML,
ECMA-376 part 1, §17; elements are known by their names without namespace, so the strict form is read too); of a book
the chapters in the order of the spine, with their titles and main text.
"""

from __future__ import annotations

import io
import lzma
import posixpath
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.entities import html5
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

from lxml import etree  # type: ignore[import-untyped]

from kgplatform.documents.encoding import decode
from kgplatform.documents.parts import DocumentPart, clean, file_title, iso_date, one_line, with_title
from kgplatform.documents.readers.html import content_of, tree_of
from kgplatform.errors import ReadError

Element: TypeAlias = Any
"""An lxml element; lxml has no types."""

MAX_MEMBER_BYTES: Final = 64 * 1024 * 1024
"""No member may be larger when unpacked."""
MAX_UNPACKED_BYTES: Final = 256 * 1024 * 1024
"""What is unpacked of one archive, all together."""
_MAX_XML_BYTES = 16 * 1024 * 1024  # of XML that is held as a tree
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_MAX_MEMBERS = 20_000
_MAX_RATIO = 250
_RATIO_FROM = 1024 * 1024  # below that a high ratio does no harm, and blank pages have it
_SAFE_XML: Final = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
_BROKEN: Final = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError),
    *(ValueError, LookupError, NotImplementedError, RuntimeError),
)
"""What zipfile is known to raise over archives that break the format."""


class Archive:
    """A ZIP archive in memory whose members are unpacked one at a time and counted."""

    def __init__(self, path: Path, data: bytes) -> None:
        """Opens the archive.

        Raises:
            ReadError: it is broken, cut short, or has too many members.
        """
        self.path = path
        self._unpacked = 0
        if data.startswith(_OLD_OFFICE):
            raise ReadError("is an old Office file or has a password; save it as DOCX without one", path=path)
        if not data.startswith(b"PK"):
            raise ReadError(f"is named {path.suffix} but is not a ZIP archive, as such files are", path=path)
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            members = self._zip.infolist()
        except _BROKEN as error:
            raise ReadError(f"is damaged or cut short ({_reason(error)})", path=path) from error
        if len(members) > _MAX_MEMBERS:
            raise ReadError(f"has {len(members):,} members; {_MAX_MEMBERS:,} are the limit", path=path)
        self._members = {member.filename: member for member in members}

    def __contains__(self, name: str) -> bool:
        """Whether there is a member of that name."""
        return name in self._members

    def read(self, name: str, *, max_bytes: int = MAX_MEMBER_BYTES) -> bytes:
        """The content of a member.

        Raises:
            ReadError: there is none of that name, it is encrypted or damaged, or it unpacks to too much.
        """
        member = self._members.get(name)
        if member is None:
            raise ReadError(f"lacks its part {name!r}", path=self.path)
        self._refuse_bomb(member, max_bytes)
        if member.flag_bits & 1:
            raise ReadError("is encrypted; remove the password and add it again", path=self.path)
        try:
            content = self._zip.read(member)
        except _BROKEN as error:
            raise ReadError(f"is damaged: {name!r} cannot be unpacked ({_reason(error)})", path=self.path) from error
        self._unpacked += len(content)
        return content

    def _refuse_bomb(self, member: zipfile.ZipInfo, max_bytes: int) -> None:
        size, packed = member.file_size, max(member.compress_size, 1)
        if size > max_bytes or self._unpacked + size > MAX_UNPACKED_BYTES:
            raise ReadError(f"unpacks to more than is read of a file ({_megabytes(size)} MB)", path=self.path)
        if size > _RATIO_FROM and size > _MAX_RATIO * packed:
            times = f"{member.filename!r} unpacks to {size // packed:,} times its size"
            raise ReadError(f"is packed beyond reason: {times}", path=self.path)

    def xml(self, name: str) -> Element:
        """The root element of a member that is XML.

        Raises:
            ReadError: as `read`, or it is not XML, declares entities or is nested too deeply.
        """
        return parsed_xml(self.read(name, max_bytes=_MAX_XML_BYTES), path=self.path, name=name)


def parsed_xml(data: bytes, *, path: Path, name: str) -> Element:
    """The root element of XML text; nothing outside the text is looked at and no entity is replaced.

    Raises:
        ReadError: it is not XML, declares entities or is nested too deeply.
    """
    _refuse_entities(data, path, name)
    parser = etree.XMLParser(remove_comments=True, remove_pis=True, **_SAFE_XML)
    try:
        return etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise ReadError(f"{name!r} in it is not XML ({_reason(error)})", path=path) from error


def children_of(data: bytes, parent: str, *, path: Path, name: str) -> Iterator[Element]:
    """The children of the element called ``parent``, one after the other; each is forgotten after it is used.

    Raises:
        ReadError: as `parsed_xml`.
    """
    _refuse_entities(data, path, name)
    depth = inside = 0
    try:
        events = etree.iterparse(
            io.BytesIO(data), events=("start", "end"), remove_comments=True, remove_pis=True, **_SAFE_XML
        )
        for event, element in events:
            depth += 1 if event == "start" else -1
            if event == "start" and not inside and local(element) == parent:
                inside = depth
            elif event == "end" and inside and depth == inside:
                yield element
                element.clear(keep_tail=True)
                while element.getprevious() is not None:
                    del element.getparent()[0]
    except (etree.XMLSyntaxError, ValueError) as error:
        raise ReadError(f"{name!r} in it is not XML ({_reason(error)})", path=path) from error


def local(element: Element) -> str:
    """The name of an element without its namespace; nothing for what is not an element."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Element, name: str) -> str:
    """The value of an attribute by its name without namespace; nothing where there is none."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def child(element: Element | None, *names: str) -> Element | None:
    """The element reached by going down through the first child of each name; None where there is none."""
    for name in names:
        element = next((inner for inner in element if local(inner) == name), None) if element is not None else None
    return element


def _refuse_entities(data: bytes, path: Path, name: str) -> None:
    # in any encoding with the letters of ASCII; in UTF-16 the parser's own limits hold
    if b"<!ENTITY" in data:
        raise ReadError(f"{name!r} in it declares entities; such XML is not read", path=path)


def _reason(error: BaseException) -> str:
    return one_line(str(error))[:120] or type(error).__name__


def _megabytes(size: int) -> str:
    return f"{size / (1024 * 1024):,.0f}"


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


def read_docx(path: Path, data: bytes) -> list[DocumentPart]:
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
    return [DocumentPart(text, title, DOCX_TYPE, clean(author) or None, created)]


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


EPUB_TYPE: Final = "application/epub+zip"
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_FONT_MASKS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]*);")
_XML_ENTITIES = frozenset(("amp", "lt", "gt", "quot", "apos"))


@dataclass(frozen=True, slots=True)
class _Item:
    """A file of the book, by its place in the archive."""

    name: str
    media_type: str
    properties: str


def read_epub(path: Path, data: bytes) -> list[DocumentPart]:
    """The one document of a book: its chapters in reading order, each under its title as a heading.

    Raises:
        ReadError: it is broken, copy-protected, no EPUB, holds no text, or unpacks to too much.
    """
    archive = Archive(path, data)
    place = _package_place(archive)
    _refuse_protected(archive)
    package = archive.xml(place)
    items = _items(package, posixpath.dirname(place))
    titles = _chapter_titles(archive, package, items)
    chapters = [text for item in _spine(package, items) if (text := _chapter(archive, item, titles))]
    text = "\n\n".join(chapters)
    if not text.strip():
        raise ReadError("holds no text (only pictures?)", path=path)
    stated, author, created = _metadata(package)
    title = clean(stated) or file_title(path)
    return [DocumentPart(with_title(text, clean(stated)), title, EPUB_TYPE, clean(author) or None, created)]


def _package_place(archive: Archive) -> str:
    """Where the package document stands, as the container says (EPUB 3.3, 4.2.6.3.1)."""
    if "META-INF/container.xml" not in archive:
        raise ReadError("is a ZIP archive but no EPUB (no META-INF/container.xml)", path=archive.path)
    for element in archive.xml("META-INF/container.xml").iter("{*}rootfile"):
        if attribute(element, "full-path") in archive:
            return attribute(element, "full-path")
    raise ReadError("names no package document in META-INF/container.xml", path=archive.path)


def _refuse_protected(archive: Archive) -> None:
    if "META-INF/encryption.xml" not in archive:
        return
    methods = [attribute(e, "Algorithm") for e in archive.xml("META-INF/encryption.xml").iter("{*}EncryptionMethod")]
    if any(not method.startswith(_FONT_MASKS) for method in methods):
        raise ReadError("is copy-protected, so its text cannot be read", path=archive.path)


def _items(package: Element, folder: str) -> dict[str, _Item]:
    found: dict[str, _Item] = {}
    for element in package.iter("{*}item"):
        name = posixpath.normpath(posixpath.join(folder, unquote(attribute(element, "href"))))
        found[attribute(element, "id")] = _Item(
            name, attribute(element, "media-type").lower(), attribute(element, "properties")
        )
    return found


def _spine(package: Element, items: dict[str, _Item]) -> Iterator[_Item]:
    """The pages in reading order, each once, without the table of contents."""
    seen: set[str] = set()
    spine = child(package, "spine")
    for element in spine if spine is not None else ():
        item = items.get(attribute(element, "idref"))
        if item is None or item.name in seen or item.media_type not in _PAGES or "nav" in item.properties.split():
            continue
        seen.add(item.name)
        yield item


def _chapter(archive: Archive, item: _Item, titles: dict[str, str]) -> str:
    if item.name not in archive:  # a book whose list names a page that is not there can be read all the same
        return ""
    content = clean(content_of(_page(archive, item.name)))
    title = titles.get(item.name, "")
    return with_title(content, title) if content.strip() else ""


def _page(archive: Archive, name: str) -> Element:
    """The page as a tree with plain names; what is not XML, though it should be, is read as HTML."""
    text = decode(archive.read(name), path=archive.path)
    known = _ENTITY.sub(_letter, re.sub(r"^\s*<\?xml[^>]*\?>", "", text, count=1))
    try:
        root = parsed_xml(re.sub(r"<!DOCTYPE[^>\[]*>", "", known, count=1).encode(), path=archive.path, name=name)
    except ReadError:
        return tree_of(text, path=archive.path)
    for element in root.iter():
        if isinstance(element.tag, str):
            element.tag = local(element).lower()
    etree.cleanup_namespaces(root)
    return root


def _letter(match: re.Match[str]) -> str:
    """The letter of an HTML entity, which XML does not know."""
    return match[0] if match[1] in _XML_ENTITIES else html5.get(f"{match[1]};", match[0])


def _chapter_titles(archive: Archive, package: Element, items: dict[str, _Item]) -> dict[str, str]:
    """The titles of pages as the table of contents has them (EPUB 3 navigation, else EPUB 2 ``ncx``)."""
    for item in items.values():
        if "nav" in item.properties.split() and item.name in archive:
            return _linked(_page(archive, item.name), posixpath.dirname(item.name))
    spine = child(package, "spine")
    contents = items.get(attribute(spine, "toc")) if spine is not None else None
    if contents is None or contents.name not in archive:
        return {}
    found: dict[str, str] = {}
    for point in archive.xml(contents.name).iter("{*}navPoint"):
        label, target = child(point, "navLabel", "text"), child(point, "content")
        if label is not None and target is not None:
            _note(found, posixpath.dirname(contents.name), attribute(target, "src"), label.text or "")
    return found


def _linked(page: Element, folder: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for nav in page.iter("nav"):
        if attribute(nav, "type") in ("", "toc"):
            for link in nav.iter("a"):
                _note(found, folder, link.get("href") or "", "".join(link.itertext()))
    return found


def _note(found: dict[str, str], folder: str, href: str, label: str) -> None:
    """Notes the title of a page; one that leads into the middle of a page is a section's, not the page's."""
    file, _, _ = href.partition("#")
    name = posixpath.normpath(posixpath.join(folder, unquote(file)))
    if file and one_line(label):
        found.setdefault(name, clean(one_line(label)))


def _metadata(package: Element) -> tuple[str, str, str | None]:
    """Title, authors and date of the book."""
    metadata = child(package, "metadata")
    stated: dict[str, list[str]] = {}
    for element in metadata.iter() if metadata is not None else ():
        if one_line(element.text or ""):
            stated.setdefault(local(element), []).append(one_line(element.text))
    dates = [found for text in stated.get("date", []) if (found := iso_date(text))]
    return stated.get("title", [""])[0], ", ".join(stated.get("creator", [])), dates[0] if dates else None
