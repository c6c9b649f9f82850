"""The bytes of an ontology file as UTF-8, with the document type of XML files taken out.

Files come with byte order marks, in UTF-16, or as XML in the encoding that it declares. Many XML files written by
ontology editors begin with a document type that abbreviates namespaces (``<!ENTITY owl "…">``): such plain entities
are replaced by their values. Entities that contain others, or lie in other files, are refused: a few lines of them
could expand without bound (https://www.w3.org/TR/xml/#sec-entity-decl).
"""

from __future__ import annotations

import codecs
import re

_DECLARATION = re.compile(rb"\A\s*<\?xml\b[^>]*?\?>")
_DECLARED = re.compile(rb"encoding\s*=\s*[\"']([\w.\-]+)[\"']")
_DOCTYPE = re.compile(
    rb"<!DOCTYPE\s+[\w:.\-]+\s*(?P<outside>(?:SYSTEM|PUBLIC)\b[^\[>]*)?(?:\[(?P<inside>.*?)\]\s*)?>", re.DOTALL
)
_ENTITY = re.compile(rb"<!ENTITY\s+([\w.\-]+)\s+(?:\"([^\"<%&]*)\"|'([^'<%&]*)')\s*>|<!--.*?-->|\s+", re.S)
_REFERENCE = re.compile(rb"&([\w.\-]+);")
_HEAD = 100_000
_MOST = 200_000_000
"""So many bytes may come out of a file by its entities."""

_WIDE = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"),
         (codecs.BOM_UTF16_BE, "utf-16"), (b"<\x00", "utf-16-le"), (b"\x00<", "utf-16-be"), (b"@\x00", "utf-16-le"),
         (b"\x00@", "utf-16-be"))  # fmt: skip


def as_utf8(data: bytes) -> bytes:
    """The text in UTF-8, without byte order mark, and without the encoding that an XML declaration names.

    Raises:
        ValueError: it is not in the encoding that it begins with or declares.
    """
    for mark, name in _WIDE:
        if data.startswith(mark):
            return _without_declaration(_decoded(data, name).lstrip("\ufeff").encode())
    data = data.removeprefix(codecs.BOM_UTF8)
    declaration = _DECLARATION.match(data)
    declared = _DECLARED.search(declaration[0]) if declaration else None
    if declared is None or declared[1].lower() in (b"utf-8", b"us-ascii", b"utf8"):
        return data
    return _without_declaration(_decoded(data, declared[1].decode("ascii", "replace")).encode())


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode(name)
    except LookupError as error:
        raise ValueError(f"declares the encoding {name}, which is not known; save it as UTF-8") from error
    except UnicodeError as error:
        raise ValueError(f"is not the {name} that it begins as; save it as UTF-8") from error


def _without_declaration(data: bytes) -> bytes:
    return _DECLARATION.sub(b"", data, count=1)


def without_doctype(data: bytes) -> bytes:
    """XML without its document type, plain entities replaced by their values.

    Raises:
        ValueError: the document type has more than plain entities.
    """
    if b"<!DOCTYPE" not in data[:_HEAD]:
        if b"<!ENTITY" in data:
            raise ValueError("has an <!ENTITY> outside a DOCTYPE; save it without, or as Turtle")
        return data
    found = _DOCTYPE.search(data)
    inside = (found["inside"] or b"") if found else b""
    if found is None or found["outside"] or b"<!ENTITY" in data[found.end() :]:
        raise ValueError("has a DOCTYPE that refers to other files or is broken; save it without one, or as Turtle")
    values: dict[bytes, bytes] = {}
    place = 0
    while place < len(inside):
        item = _ENTITY.match(inside, place)
        if item is None:
            raise ValueError(
                "has a DOCTYPE with more than plain entities (such that hold others could grow without bound);"
                " save it without one, or as Turtle"
            )
        place = item.end()
        if item[1]:
            values.setdefault(item[1], item[2] if item[2] is not None else item[3] or b"")
    return _replaced(data[: found.start()] + data[found.end() :], values)


def _replaced(data: bytes, values: dict[bytes, bytes]) -> bytes:
    grown = len(data) + sum(data.count(b"&%b;" % name) * len(value) for name, value in values.items())
    if grown > _MOST:
        raise ValueError(f"would grow to {grown // 1_000_000:,} MB by the entities of its DOCTYPE; save it without one")
    return _REFERENCE.sub(lambda item: values.get(item[1], item[0]), data) if values else data
