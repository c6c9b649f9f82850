"""Files and pages before they are read: their content's hash, and an entry that stands for one until it is read."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TypeAlias

from kgplatform.documents.reading import located
from kgplatform.errors import ReadError
from kgplatform.types import Document
from kgplatform.vocab import document_iri

Location: TypeAlias = Path | str
"""Where something is to be read: a path, or (a string) an address on the web."""


def digest_of(path: Path, max_bytes: int) -> str:
    """The SHA-256 of a file that is worth reading; larger ones are left to the reader to refuse.

    Of a file in which one place is read, it is that of both, as `kgplatform.documents.reading.digest` has it.

    Raises:
        ReadError: it cannot be read.
    """
    file, pointer = located(path)
    try:
        if file.stat().st_size > max_bytes:
            return ""
        with file.open("rb") as data:
            found = hashlib.file_digest(data, "sha256").hexdigest()
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error
    return hashlib.sha256(f"{found}#{pointer}".encode("utf-8", "surrogateescape")).hexdigest() if pointer else found


def source_of(location: Location) -> str:
    """How a place is called in the registry."""
    return location if isinstance(location, str) else location.as_posix()


def name_of(location: Location) -> str:
    """The short name of a place, for showing."""
    return location if isinstance(location, str) else location.name


def unread(base: str, location: Location) -> Document:
    """An entry for a file or page that was not read (yet), known by its place."""
    source = source_of(location)
    digest = hashlib.sha256(source.encode("utf-8", "surrogateescape")).hexdigest()
    return Document(
        iri=document_iri(base, digest),
        text="",
        title=name_of(location),
        media_type="application/octet-stream",
        source=source,
        sha256=digest,
        language="en",
    )
