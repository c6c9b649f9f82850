"""Electronic books (EPUB 2 and 3): the chapters in the order of the spine, with their titles and main text."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.entities import html5
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from lxml import etree  # type: ignore[import-untyped]

from kgplatform.documents.archive import Archive, Element, attribute, child, local, parsed_xml
from kgplatform.documents.decoding import decode
from kgplatform.documents.html import content_of, tree_of
from kgplatform.documents.parts import Part, clean, file_title, iso_date, one_line, with_title
from kgplatform.errors import ReadError

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


def read_epub(path: Path, data: bytes) -> list[Part]:
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
    return [Part(with_title(text, clean(stated)), title, EPUB_TYPE, clean(author) or None, created)]


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
