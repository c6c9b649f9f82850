"""The word side of the chunk index: a tantivy index that knows passages by their keys.

A passage has a key (a number made from its IRI), a digest of what it says and a code for its language in columns, and
its IRI, title and text in the compressed store; its words are in the postings without positions.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from kgplatform.errors import WorkspaceError
from kgplatform.retrieval.terms import analyzer, latin, pairs
from kgplatform.text import language_of

_WRITER_BYTES: Final = 30_000_000
_FORMAT: Final = "4"
_SINGLY_UP_TO: Final = 20_000

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Entry:
    """A passage as it is put in."""

    key: int
    digest: int
    iri: str
    title: str
    text: str


class Writer:
    """The one writer of an index; it holds the lock until it is closed, and what is not committed is dropped.

    Raises:
        WorkspaceError: another process is writing the index, or the disk refuses.
    """

    def __init__(self, index: Any, folder: Path | None) -> None:
        self._index = index
        try:
            self._writer: Any = index.writer(heap_size=_WRITER_BYTES, num_threads=1)
        except (ValueError, OSError) as error:
            place = folder or Path()
            busy = "LockBusy" in str(error) or "lock" in str(error).casefold()
            reason = "another process is writing it; wait for it to end" if busy else str(error)
            raise WorkspaceError(f"{place}: the word index cannot be written: {reason}", path=place) from error

    def put(self, entry: Entry) -> None:
        """Puts a passage in; one with its key has to be taken out before."""
        self._writer.add_document(_document(entry))

    def delete(self, key: int) -> None:
        """Takes the passage of the key out."""
        from tantivy import Query

        # deleting by the term itself would take the number for a signed one, and find nothing
        self._writer.delete_documents_by_query(Query.term_query(self._index.schema, "key", key))

    def commit(self) -> None:
        """Writes what was put in and taken out; readers of this process see it."""
        self._writer.commit()
        self._writer.wait_merging_threads()
        self._index.reload()

    def close(self) -> None:
        """Lets the lock go."""
        self._writer = None


def opened(folder: Path | None) -> tuple[Any, bool]:
    """The index in the folder, and whether one was there that could not be used and gave way to an empty one.

    Raises:
        WorkspaceError: the folder cannot be read or written.
    """
    if folder is None:
        return _registered(_made(None)), False
    was_damaged = False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        version = folder / "kgplatform-format"
        if any(folder.iterdir()) and not _is_readable(folder, version):
            was_damaged = True
            shutil.rmtree(folder)
            folder.mkdir(parents=True)
        version.write_text(_FORMAT, encoding="utf-8")
        return _registered(_made(folder)), was_damaged
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"{folder}: the word index cannot be opened ({error})", path=folder) from error


def _is_readable(folder: Path, version: Path) -> bool:
    if not version.is_file() or version.read_bytes() != _FORMAT.encode():
        return False
    try:
        index = _registered(_made(folder))
        keys, _, _ = columns(index)
        return not len(keys) or len(digests(index, keys[:1].tolist())) == 1
    except (ValueError, OSError):
        return False


def batched(items: Iterable[_Item], size: int) -> Iterator[tuple[_Item, ...]]:
    """The items in tuples of that size, the last one shorter."""
    waiting = iter(items)
    while some := tuple(islice(waiting, size)):
        yield some


def columns(index: Any) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
    """Key, digest and language code of every passage."""
    from tantivy import Query

    searcher = index.searcher()
    none = np.zeros(0, dtype=np.uint64)
    if not searcher.num_docs:
        return none, none, none
    hits = searcher.search(Query.all_query(), limit=searcher.num_docs, count=False).hits
    places = [address for _, address in hits]
    values = [np.array(searcher.fast_field_values(name, places), np.uint64) for name in ("key", "digest", "language")]
    return values[0], values[1], values[2]


def addresses(index: Any, keys: Sequence[int]) -> list[Any]:
    """Where the passages of those keys are, as far as there are such."""
    from tantivy import Query

    searcher, schema = index.searcher(), index.schema
    if len(keys) > _SINGLY_UP_TO:
        query = Query.term_set_query(schema, "key", list(keys))
        return [address for _, address in searcher.search(query, limit=len(keys), count=False).hits]
    found: list[Any] = []
    for key in keys:
        hits = searcher.search(Query.term_query(schema, "key", key), limit=1, count=False).hits
        found.extend(address for _, address in hits)
    return found


def digests(index: Any, keys: Sequence[int]) -> dict[int, int]:
    """The digests of the passages of those keys, as far as there are such."""
    places = addresses(index, keys)
    if not places:
        return {}
    searcher = index.searcher()
    found = zip(*(searcher.fast_field_values(name, places) for name in ("key", "digest")), strict=True)
    return {int(key): int(digest) for key, digest in found}


def iri_and_text(entry: Any) -> tuple[str, str]:
    """IRI and text of a stored passage."""
    return _stored(entry, "iri"), _stored(entry, "text")


def title(entry: Any) -> str:
    """The title of a stored passage's document."""
    return _stored(entry, "title")


def language_code(name: str) -> int:
    """A language tag as a number, by its first eight letters."""
    return int.from_bytes(name.encode("ascii", "replace")[:8], "big")


def _document(entry: Entry) -> Any:
    from tantivy import Document

    made = Document()
    made.add_unsigned("key", entry.key)
    made.add_unsigned("digest", entry.digest)
    made.add_unsigned("language", language_code(language_of(entry.text)))
    for field, value in (("iri", entry.iri), ("text", entry.text), ("title", entry.title)):
        made.add_bytes(field, value.encode("utf-8", "surrogatepass"))
    for field, value in (
        ("english", latin(entry.text)),
        ("chinese", " ".join(pairs(entry.text))),
        ("title_english", latin(entry.title)),
        ("title_chinese", " ".join(pairs(entry.title))),
    ):
        made.add_text(field, value)
    return made


def _stored(entry: Any, field: str) -> str:
    return bytes(entry.get_first(field)).decode("utf-8", "surrogatepass")


def _schema() -> Any:
    from tantivy import SchemaBuilder

    builder = SchemaBuilder()
    builder.add_unsigned_field("key", indexed=True, fast=True)
    for name in ("digest", "language"):
        builder.add_unsigned_field(name, fast=True)
    for name in ("iri", "text", "title"):  # kept, not searched as they are
        builder.add_bytes_field(name, stored=True)
    for name in ("english", "title_english"):
        builder.add_text_field(name, tokenizer_name="kgplatform_english", index_option="freq")
    for name in ("chinese", "title_chinese"):
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="freq")
    return builder.build()


def _made(folder: Path | None) -> Any:
    from tantivy import Index

    return Index(_schema(), path=str(folder)) if folder else Index(_schema())


def _registered(index: Any) -> Any:
    from tantivy import TextAnalyzerBuilder, Tokenizer

    index.register_tokenizer("kgplatform_english", analyzer())
    index.register_tokenizer("whitespace", TextAnalyzerBuilder(Tokenizer.whitespace()).build())
    return index


def passage_key(iri: str) -> int:
    """The number by which an index knows the passage of the IRI."""
    return _hashed(iri)


def digest_of(text: str, title: str) -> int:
    """A number that changes when text or title does."""
    return _hashed(f"{title}\x1f{text}")


def _hashed(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
