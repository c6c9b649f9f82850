"""Documents that are ZIP archives (DOCX, EPUB): their members and the XML in them, within limits.

A small archive can unpack to terabytes, and a few lines of XML to as much; so sizes are looked at before anything is
unpacked, all that is unpacked is counted, and entities of a document's own are refused.
"""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

from lxml import etree  # type: ignore[import-untyped]

from kgplatform.documents.parts import one_line
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
            raise ReadError(f"is named {path.suffix} but is no ZIP archive, as such files are", path=path)
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
