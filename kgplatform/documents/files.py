"""Reading files into documents: which reader fits a file, and which files of a folder there are to read.

The readers of formats that others' parsers take apart (PDF, HTML, DOCX, EPUB) are imported when one is needed: whoever
has them run in another process (`kgplatform.documents.sandbox`) does without them.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final, TypeAlias

from kgplatform.documents.parts import DocumentPart
from kgplatform.documents.readers.plain import read_json, read_markdown, read_text
from kgplatform.documents.tables.delimited import read_csv
from kgplatform.documents.tables.table_source import TABLE_SUFFIXES
from kgplatform.errors import ReadError
from kgplatform.text import language_of
from kgplatform.types import Document
from kgplatform.vocab import document_iri

_PartReader: TypeAlias = Callable[[Path, bytes], list[DocumentPart]]


def _when_needed(module: str, name: str) -> _PartReader:
    """The reader of that name, its module imported when it reads for the first time."""

    def reader(path: Path, data: bytes) -> list[DocumentPart]:
        parts: list[DocumentPart] = getattr(import_module(f"kgplatform.documents.readers.{module}"), name)(path, data)
        return parts

    return reader


_pdf, _html = _when_needed("pdf", "read_pdf"), _when_needed("html", "read_html")
_READERS: Final[dict[str, _PartReader]] = {
    ".txt": read_text,
    ".text": read_text,
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".html": _html,
    ".htm": _html,
    ".xhtml": _html,
    ".json": read_json,
    ".jsonl": read_json,
    ".ndjson": read_json,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".pdf": _pdf,
    ".docx": _when_needed("zipped", "read_docx"),
    ".epub": _when_needed("zipped", "read_epub"),
}
SUFFIXES: Final = tuple(_READERS)
"""The suffixes of the files that can be read."""

_JSON_SUFFIXES = tuple(suffix for suffix, reader in _READERS.items() if reader is read_json)
_PLAIN: Final = frozenset({read_text, read_markdown, read_json, read_csv})
_PLAIN_BYTES: Final = 1_000_000
_HEAD: Final = 2048
MAX_BYTES: Final = 100 * 1024 * 1024
_HTML_START = re.compile(
    rb"^(?:\xef\xbb\xbf)?\s*(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that is not read, and why in a few words."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class Discovery:
    """What there is to read under some paths, in order, and what was left out."""

    files: tuple[Path, ...]
    skipped: tuple[Skipped, ...] = ()


def supported(path: Path) -> bool:
    """Whether there is a reader for files of that suffix."""
    return path.suffix.lower() in _READERS


def is_plain(path: Path) -> bool:
    """Whether reading the file takes no parser of others and little memory: text, Markdown or JSON of up to 1 MB.

    One that cannot be opened is plain too: to say so needs no parser.
    """
    file, _ = located(path)
    try:
        if file.stat().st_size > _PLAIN_BYTES:
            return False
        with file.open("rb") as data:
            return _reader(file, data.read(_HEAD)) in _PLAIN
    except (OSError, ValueError, ReadError):
        return True


def located(path: Path) -> tuple[Path, str]:
    """The file that a path leads to, and the JSON Pointer behind its ``#`` to the documents in it.

    >>> located(Path("posts.json#/data/items"))
    (PosixPath('posts.json'), '/data/items')
    """
    file, mark, pointer = path.as_posix().partition("#/")
    if not mark or Path(file).suffix.lower() not in _JSON_SUFFIXES or path.exists():
        return path, ""
    return Path(file), f"/{pointer}"


def read(path: Path, *, base: str, max_bytes: int = MAX_BYTES, json_path: str = "") -> list[Document]:
    """The documents in a file, by its suffix and by what its content turns out to be.

    Args:
        path: the file; kept as given in ``source``. Behind ``#`` may stand a JSON Pointer, see `read_json`.
        base: the workspace's IRI base.
        max_bytes: larger files are refused before they are read.
        json_path: the JSON Pointer to the documents in JSON files that have something there.

    Raises:
        ReadError: the file is missing, too large, empty, of an unsupported kind, broken, encrypted or without text.
    """
    file, pointer = located(path)
    data = _content(file, max_bytes)
    source = os.fsencode(path.as_posix()).decode("utf-8", "replace")
    sha256 = digest(data, pointer)
    return [_document(part, base, sha256, source) for part in _parts(file, data, pointer, json_path)]


def read_content(path: Path, data: bytes, *, base: str, source: str, sha256: str) -> list[Document]:
    """The documents in content that came from elsewhere; the suffix of ``path`` says of what kind it is.

    Raises:
        ReadError: it is empty, of an unsupported kind, broken, encrypted or without text.
    """
    if _is_blank(data):
        raise ReadError("is empty", path=path)
    return [_document(part, base, sha256, source) for part in _parts(path, data, "", "")]


def digest(data: bytes, pointer: str = "") -> str:
    """The SHA-256 of a file's content and, if only a place in it is read, of that place."""
    found = hashlib.sha256(data).hexdigest()
    return hashlib.sha256(f"{found}#{pointer}".encode("utf-8", "surrogateescape")).hexdigest() if pointer else found


def _parts(path: Path, data: bytes, pointer: str, usual: str) -> list[DocumentPart]:
    reader = _reader(path, data)
    parts = read_json(path, data, pointer=pointer, usual=usual) if reader is read_json else reader(path, data)
    kept = [part for part in parts if part.text.strip()]
    if not kept:
        raise ReadError("holds no text", path=path)
    return kept


def discover(paths: Iterable[Path]) -> Discovery:
    """The readable files among the paths and in the folders among them, in sorted order, each once.

    In folders, hidden files, ``README*``, Python sources and unsupported suffixes are skipped; links that lead
    back up are followed once.

    Raises:
        ReadError: a path does not exist, or nothing of it all can be read.
    """
    given = list(paths)
    found: list[Path] = []
    skipped: list[Skipped] = []
    seen: set[str] = set()
    for path in given:
        file, pointer = located(path)
        if pointer and file.is_file():
            _take(path, "", found, skipped, seen)
        elif not path.exists():
            reason = "is a broken link" if path.is_symlink() else "does not exist"
            raise ReadError(f"{reason}; give a file ({_suffixes()}) or a folder of them", path=path)
        elif path.is_dir():
            _walk(path, found, skipped, seen)
        else:
            _take(path, _why_not(path), found, skipped, seen)
    if not found and not any(entry.reason == _DUPLICATE for entry in skipped):
        raise ReadError(f"nothing to read here; supported are {_suffixes()}", path=given[0] if given else Path())
    return Discovery(tuple(found), tuple(skipped))


_DUPLICATE = "already in the list under another name"


def _suffixes() -> str:
    return ", ".join(dict.fromkeys((*SUFFIXES, *TABLE_SUFFIXES)))


def _walk(folder: Path, found: list[Path], skipped: list[Skipped], seen: set[str]) -> None:
    waiting = [folder]
    while waiting:
        path = waiting.pop()
        if not path.is_dir():
            _take(path, _why_not_in_folder(path), found, skipped, seen)
            continue
        real = os.path.realpath(path)
        if real in seen:
            skipped.append(Skipped(path, "already visited under another name"))
        elif path is not folder and path.name.startswith("."):
            skipped.append(Skipped(path, "hidden"))
        else:
            seen.add(real)
            try:
                waiting += sorted(path.iterdir(), reverse=True)
            except OSError as error:
                skipped.append(Skipped(path, f"cannot be listed: {error.strerror}"))


def _take(path: Path, reason: str, found: list[Path], skipped: list[Skipped], seen: set[str]) -> None:
    real = os.path.realpath(path)
    if not reason and real in seen:
        if path in found:  # named twice
            return
        reason = _DUPLICATE
    if reason:
        skipped.append(Skipped(path, reason))
    else:
        seen.add(real)
        found.append(path)


def _why_not_in_folder(path: Path) -> str:
    if path.name.startswith("."):
        return "hidden"
    if path.name.upper().startswith("README"):
        return "a README"
    return _why_not(path)


def _why_not(path: Path) -> str:
    if not path.exists():
        return "a broken link"
    if not path.is_file():
        return "not a regular file"
    return "" if supported(path) else f"unsupported suffix {path.suffix or '(none)'}"


def _content(path: Path, max_bytes: int) -> bytes:
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise ReadError("is a folder, not a file", path=path)
        if not stat.S_ISREG(status.st_mode):
            raise ReadError("is not a regular file", path=path)
        if status.st_size > max_bytes:
            limit = f"the limit is {_size(max_bytes)}, see documents.max_bytes"
            raise ReadError(f"is {_size(status.st_size)}; {limit}", path=path)
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise ReadError(f"does not exist; give a file ({_suffixes()})", path=path) from error
    except (OSError, ValueError) as error:
        raise ReadError(f"cannot be opened ({getattr(error, 'strerror', None) or error})", path=path) from error
    if _is_blank(data):
        raise ReadError("is empty", path=path)
    return data


def _is_blank(data: bytes) -> bool:
    return not data.strip(b" \t\r\n\x00\xef\xbb\xbf")


def _size(count: int) -> str:
    return f"{count / (1024 * 1024):.0f} MB" if count >= 1024 * 1024 else f"{count:,} bytes"


def _reader(path: Path, data: bytes) -> _PartReader:
    """The reader for the file; content that says clearly what it is counts more than the suffix."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise ReadError(f"has the unsupported suffix {path.suffix or '(none)'}; supported are {_suffixes()}", path=path)
    if data[:1024].lstrip().startswith(b"%PDF-"):
        return _pdf
    is_page = _HTML_START.match(data[:_HEAD]) is not None
    if reader is _pdf:
        if is_page:
            return _html
        if b"%PDF-" not in data[:1024]:
            raise ReadError("is named .pdf but is not a PDF", path=path)
    return _html if is_page and reader is read_text else reader


def _document(part: DocumentPart, base: str, sha256: str, source: str) -> Document:
    return Document(
        iri=document_iri(base, sha256, part.number),
        text=part.text,
        title=part.title,
        media_type=part.media_type,
        source=source,
        sha256=sha256,
        language=language_of(part.text),
        author=part.author,
        created=part.created,
    )
