"""From bytes to text: which encoding a file is in.

The order is fixed, so the same bytes always give the same text: byte-order mark, strict UTF-8, the declared
encoding, GB18030 and Big5 (by the share of their common characters), Windows-1252 (by the letters of western
Europe), UTF-16 without a mark, and what charset-normalizer finds in longer texts. General detectors guess badly on
the short Chinese notes this is for; the first row of rules decides those exactly.
"""

from __future__ import annotations

import codecs
import unicodedata
from pathlib import Path
from typing import TypeAlias

from charset_normalizer import from_bytes

from kgplatform.documents.parts import clean
from kgplatform.errors import ReadError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = {"gb2312": "gb18030", "gbk": "gb18030", "iso-8859-1": "cp1252", "latin-1": "cp1252", "ascii": "cp1252"}
_WESTERN = frozenset(
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØŒÙÚÛÜÝàáâãäåæçèéêëìíîïñòóôõöøœùúûüýÿßŠšŽž“”‘’‚„–—…•€£¥§°«»¡¿·ºª©®™²³½\u00a0"
)
_SAMPLE = 100_000
_TELLING = 8
_Decoded: TypeAlias = tuple[str, str]  # the encoding, and the text
_SIGNATURES = (
    (b"PK\x03\x04", "a ZIP archive or an Office file; save it as PDF, HTML or text"),
    (b"\xd0\xcf\x11\xe0", "an old Office file; save it as PDF, HTML or text"),
    (b"{\\rtf", "an RTF file; save it as PDF, HTML or text"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"\x1f\x8b", "a gzip archive; unpack it"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3", "a database"),
)


def decode(data: bytes, *, path: Path, declared: str | None = None) -> str:
    """The text of the bytes, cleaned (`clean`).

    Args:
        data: the file's content.
        path: the file, for the error.
        declared: the encoding that the file names itself, believed where the bytes are not UTF-8.

    Raises:
        ReadError: the bytes are not text, or in an encoding that cannot be told.
    """
    refuse_signature(data, path=path)
    text = _decoded(data, path, declared)
    if _is_garbage(text):
        raise ReadError("is not text (binary content)", path=path)
    return clean(text)


def refuse_signature(data: bytes, *, path: Path) -> None:
    """Passes bytes that do not begin as a known kind of binary file does.

    Raises:
        ReadError: they do; the message says what the file is.
    """
    for signature, what in _SIGNATURES:
        if data.startswith(signature):
            raise ReadError(f"is {what}", path=path)


def encoding_of(sample: bytes, *, path: Path, declared: str | None = None) -> str:
    """The codec that a file is to be read in, told by a part of it that ends between two characters.

    It is ``utf-8`` too where a few bytes of the sample are not: a reader of rows reports those and goes on. The
    codec named takes a byte-order mark away.

    Raises:
        ReadError: the sample is not text, or in an encoding that cannot be told.
    """
    for mark, encoding in _MARKS:
        if sample.startswith(mark):
            return "utf-8-sig" if encoding == "utf-8" else encoding
    found = _found(sample, declared, may_guess=sum(byte > 127 for byte in sample[:_SAMPLE]) >= _TELLING)
    if found is None and _is_damaged_utf8(sample):
        found = "utf-8", sample.decode("utf-8", "ignore")
    if found is None:
        found = _of_most_lines(sample)
    if found is None:
        raise ReadError(_unknown_encoding(sample), path=path)
    if _is_garbage(found[1]):
        raise ReadError("is not text (binary content)", path=path)
    return found[0]


def _of_most_lines(sample: bytes) -> _Decoded | None:
    """The encoding of four fifths of the lines, and those lines."""
    lines = sample.split(b"\n")
    for encoding, told_by in (("gb18030", _by_letters), ("utf-8", lambda data: _strict(data, "utf-8"))):
        good = [line for line in lines if _strict(line, encoding) is not None]
        found = told_by(b"\n".join(good)) if len(good) * 5 >= len(lines) * 4 else None
        if found is not None:
            return found
    return None


def _decoded(data: bytes, path: Path, declared: str | None) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _marked(data, encoding, path)
    found = _found(data, declared)
    if found is None:
        raise ReadError(_unknown_encoding(data), path=path)
    return found[1]


def _found(data: bytes, declared: str | None, *, may_guess: bool = True) -> _Decoded | None:
    """The encoding of bytes without a mark, and their text in it; ``may_guess`` by statistics at last."""
    narrow = _strict(data, "utf-8")
    if narrow is not None and "\x00" not in narrow[1]:
        return narrow
    wide = _wide_by_zeros(data)
    if wide is not None or narrow is not None:
        return wide or narrow
    if _is_damaged_utf8(data):
        return None
    return _by_declaration(data, declared) or _by_letters(data) or (_by_statistics(data) if may_guess else None)


def _marked(data: bytes, encoding: str, path: Path) -> str:
    found = _strict(data, encoding)
    if found is None:
        raise ReadError(f"has the byte-order mark of {encoding.upper()} but is not; save it as UTF-8", path=path)
    return found[1]


def _strict(data: bytes, encoding: str) -> _Decoded | None:
    try:
        return encoding, data.decode(encoding)
    except (UnicodeError, LookupError):
        return None


def _wide_by_zeros(data: bytes) -> _Decoded | None:
    """UTF-16 without a mark, told by its zero bytes: many in one half of each pair, next to none in the other."""
    sample = data[:_SAMPLE]
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    pairs = len(sample) // 2
    if odd * 10 >= pairs and even * 20 <= odd:
        return _strict(data, "utf-16-le")
    if even * 10 >= pairs and odd * 20 <= even:
        return _strict(data, "utf-16-be")
    return None


def _is_damaged_utf8(data: bytes) -> bool:
    """Whether the bytes are UTF-8 but for a few; any other encoding would turn every letter into two wrong ones."""
    sample = data[:_SAMPLE]
    valid = sum(letter > "\x7f" for letter in sample.decode("utf-8", "ignore"))
    return valid > 3 * sample.decode("utf-8", "replace").count("\ufffd")


def _by_declaration(data: bytes, declared: str | None) -> _Decoded | None:
    if not declared:
        return None
    name = declared.strip().lower()
    return _strict(data, _DECLARED.get(name, name)) if not name.startswith("utf") else None


def _by_letters(data: bytes) -> _Decoded | None:
    """GB18030, Big5, Windows-1252 or UTF-16 where the decoded letters speak for it."""
    gb, gb_share = _double_byte(data, "gb18030", b"\xb0\xd7")
    if gb is not None and gb_share >= 0.8:
        return gb
    big5, big5_share = _double_byte(data, "big5hkscs", b"\xa4\xc6")
    if big5 is not None and big5_share >= 0.8:
        return big5
    western = _strict(data, "cp1252")
    if western is not None and _is_western(western[1][:_SAMPLE]):
        return western
    for encoding in ("utf-16-le", "utf-16-be"):
        wide = _strict(data, encoding)
        if wide is not None and _is_plain_chinese(wide[1][:_SAMPLE]):
            return wide
    return gb if gb_share >= 0.5 else None


def _double_byte(data: bytes, encoding: str, common: bytes) -> tuple[_Decoded | None, float]:
    """The text in a double-byte encoding, and which share of its pairs is punctuation or a common character.

    The common characters of GB 2312 have lead bytes B0 to D7 and trail bytes from A1, those of Big5 A4 to C6. Western
    text read as GB18030 has plain letters as trail bytes, so its share is near nought.
    """
    found = _strict(data, encoding)
    if found is None:
        return None, 0.0
    pairs = good = 0
    position = 0
    sample = data[:_SAMPLE]
    while position < len(sample) - 1:
        lead, trail = sample[position], sample[position + 1]
        if lead < 0x80:
            position += 1
            continue
        if encoding == "gb18030" and 0x30 <= trail <= 0x39:  # four bytes: emoji and rare characters say nothing
            position += 4
            continue
        pairs += 1
        high = trail >= 0xA1
        if encoding == "gb18030":
            good += high and (common[0] <= lead <= common[1] or 0xA1 <= lead <= 0xA3)
        else:
            good += common[0] <= lead <= common[1] or (0xA1 <= lead <= 0xA3 and lead != trail)
        position += 2
    return found, good / pairs if pairs else 0.0


def _is_western(text: str) -> bool:
    foreign = [letter for letter in text if letter > "\x7f"]
    letters = sum(letter.isalpha() for letter in text)
    return all(letter in _WESTERN for letter in foreign) and len(foreign) <= 0.35 * max(letters, 3)


def _is_plain_chinese(text: str) -> bool:
    """Whether nearly all is Han, with Chinese punctuation or line ends among it, as real text has."""
    han = sum("\u4e00" <= letter <= "\u9fff" for letter in text)
    signs = sum(letter in "\n\r ,.，。、！？：；“”（）0123456789" for letter in text)
    return signs > 0 and han > 0 and han + signs >= 0.9 * len(text)


def _by_statistics(data: bytes) -> _Decoded | None:
    if data.count(0) or len(data) < 24:
        return None
    best = from_bytes(data[:_SAMPLE]).best()
    if best is None or best.percent_chaos > 10 or best.encoding.startswith("utf"):
        return None
    return _strict(data, best.encoding)


def _is_garbage(text: str) -> bool:
    sample = text[:_SAMPLE]
    odd = (letter for letter in sample if letter not in "\t\n\r\f\v\x85")
    bad = sum(unicodedata.category(letter) in ("Cc", "Cn", "Co") for letter in odd)
    return bad * 20 > len(sample)


def _unknown_encoding(data: bytes) -> str:
    if data.count(0) or sum(byte < 9 for byte in data[:_SAMPLE]) * 20 > len(data[:_SAMPLE]):
        return "is not text (binary content)"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        place = f"line {line}: byte 0x{data[error.start]:02x}"
        return f"{place} is not UTF-8 and the encoding cannot be told; save it as UTF-8"
    return "its encoding cannot be told; save it as UTF-8"
