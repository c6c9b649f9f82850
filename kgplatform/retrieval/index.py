"""The chunk index: the same passages by their words (tantivy, BM25) and by their meaning (vectors).

It follows the registry: `ChunkIndex.sync` brings it in line with the chunks that there are, `ChunkIndex.add` and
`ChunkIndex.remove` change single ones. The words are committed last, so that what a crash leaves half done is done
again by the next `sync`. Nothing here is a source: a damaged or missing index is made anew.

Nothing of what it holds is kept in memory: both sides are mapped files, and know a passage by a number of 64 bits made
from its IRI (among a million passages two have the same one with a probability of 3 in 100 million).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import struct
import threading
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import count, islice, pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from kgplatform.errors import ConfigError, ModelError, ModelUnavailableError, StoreError, WorkspaceError
from kgplatform.store.vectors import SEARCHES, STORAGES, VectorIndex, dimensions_of
from kgplatform.text import language_of
from kgplatform.types import Chunk, Embedder

if TYPE_CHECKING:
    from kgplatform.store.pgvector import PostgresVectors

# A file holds plain arrays (no pickled objects) and one line of JSON; what made it is noted in it, so that a graph made
# from other passages, or by another version, is not taken for this one's.
_SAVING_TEXTS = "texts"
_DAMAGED = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    RuntimeError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)
"""What reading a file that was cut, changed or never one of these raises."""


def save(path: Path, arrays: Mapping[str, NDArray[Any]], texts: Mapping[str, object]) -> None:
    """Writes the file beside its place and moves it there.

    Raises:
        WorkspaceError: the disk refuses; the old file stays.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    said = np.frombuffer(json.dumps(texts, ensure_ascii=False).encode("utf-8", "surrogatepass"), dtype=np.uint8)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            np.savez(file, allow_pickle=False, **{_SAVING_TEXTS: said}, **arrays)
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise WorkspaceError(f"{path}: cannot be written: {error.strerror or error}", path=path) from error


def load(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
    """The arrays and texts of the file; None: there is none, or it is damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
        texts = json.loads(arrays.pop(_SAVING_TEXTS).tobytes().decode("utf-8", "surrogatepass"))
    except _DAMAGED:
        return None
    return (arrays, texts) if isinstance(texts, dict) else None


def part(path: Path, name: str) -> NDArray[Any] | None:
    """One array of the file, the others unread; None: it is not there, or damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            return np.asarray(held[name])
    except _DAMAGED:
        return None


# Pairs need no dictionary, so that a name no dictionary knows (西栅) is found like any other, and question and passage
# are always cut alike. A Chinese text is written to the index as its pairs with blanks between.
_HAN_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")

_ISO_DATE = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)")

# words that ask or join: in a question they are not what is asked for
_QUESTION_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        """a about an and any are as at be been being by can could did do does for from give had has have how i if in
        into is it its list many me much must my name no not of on or our shall she should show so some tell than that
        the their them then there these they this those to us was we were what when where which who whom whose why
        will with would you your""",
    )
)
_CHINESE_QUESTION_WORDS = re.compile(
    "有没有|有哪些|哪一个|是什么|为什么|怎么样|什么时候|多少|哪些|哪个|哪里|哪儿|什么|怎么|如何|请问|告诉我|可以|列出|几个"
)


def latin(text: str) -> str:
    """The text without its Chinese, and with a date in ISO form as one word more, however it is written there.

    >>> latin("西栅 opens 2025-03-12T09:00")
    '  opens 2025-03-12 20250312 T09:00'
    """
    return _HAN_RUN.sub(" ", _ISO_DATE.sub(r"\g<0> \1\2\3 ", text))


def pairs(text: str) -> list[str]:
    """The pairs of neighbouring Chinese characters; a character that stands alone, by itself.

    >>> pairs("乌镇西栅 and 湖")
    ['乌镇', '镇西', '西栅', '湖']
    """
    found: list[str] = []
    for run in _HAN_RUN.findall(text):
        found.extend(a + b for a, b in pairwise(run))
        if len(run) == 1:
            found.append(run)
    return found


@cache
def analyzer() -> Any:
    """Cuts English into words, folds case and accents, stems."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    built = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(80)).filter(Filter.lowercase())
    return built.filter(Filter.ascii_fold()).filter(Filter.stemmer("english")).build()


def question_stems(question: str) -> list[str]:
    """The stems of the English words of a question, each once; question words only if there are no others."""
    text = latin(question)
    return list(dict.fromkeys(analyzer().analyze(" ".join(_english(text)) or text)))


def _english(text: str) -> list[str]:
    return [word for word in re.findall(r"[^\W_]+", text) if word.casefold() not in _QUESTION_WORDS]


def question_pairs(question: str) -> list[str]:
    """The pairs of a Chinese question, each once; question words only if there is nothing else."""
    kept = pairs(_CHINESE_QUESTION_WORDS.sub(" ", question))
    return list(dict.fromkeys(kept or pairs(question)))


def content_words(question: str) -> list[str]:
    """The words of a question that are no question words, each once, as they stand; Chinese in its runs.

    >>> content_words("Which hotels are near 西栅？")
    ['hotels', 'near', '西栅']
    """
    words = _english(latin(question))
    runs = _HAN_RUN.findall(_CHINESE_QUESTION_WORDS.sub(" ", question))
    return list(dict.fromkeys((*words, *runs)))


# A passage has a key (a number made from its IRI), a digest of what it says and a code for its language in columns, and
# its IRI, title and text in the compressed store; its words are in the postings without positions.
_WRITER_BYTES: Final = 30_000_000
_FORMAT: Final = "4"
_SINGLY_UP_TO: Final = 20_000

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class IndexedPassage:
    """A passage as the index holds it; ``key`` and ``digest`` together change when its text or title does."""

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

    def put(self, entry: IndexedPassage) -> None:
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


def language_code(name: str) -> int:
    """A language tag as a number, by its first eight letters."""
    return int.from_bytes(name.encode("ascii", "replace")[:8], "big")


def _document(entry: IndexedPassage) -> Any:
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


def _stored(entry: Any) -> tuple[str, str, str]:
    """IRI, title and text of a stored passage."""
    iri, title, text = (bytes(entry.get_first(n)).decode("utf-8", "surrogatepass") for n in ("iri", "title", "text"))
    return iri, title, text


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


TITLE_BOOST: Final = 1.5
_BATCH: Final = 512
_ROUND: Final = 4096


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """How the vectors of a large index are kept and searched (`kgplatform.store.vectors`).

    ``database``: the address of the PostgreSQL database that keeps them instead (`kgplatform.store.pgvector`), and what
    the index is called there, its ``name``.
    """

    storage: str = "auto"
    search: str = "auto"
    database: str = ""
    name: str = "chunks"

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            ConfigError: one is unknown; the message lists those that there are.
        """
        for name, value, known in (("storage", self.storage, STORAGES), ("search", self.search, SEARCHES)):
            if value not in known:
                message = f"retrieval.{name} is {value!r}; it must be one of {', '.join(known)}"
                raise ConfigError(message, setting=f"retrieval.{name}")


@dataclass(frozen=True, slots=True)
class Synced:
    """How many passages an index gained and lost."""

    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage with its document's title, and its score or similarity."""

    iri: str
    text: str
    score: float
    title: str = ""


class ChunkIndex:
    """The passages of a workspace, searchable; ``folder`` None keeps it in memory, no embedder leaves words only.

    ``languages`` holds the languages that the embedder knows, empty for any. ``damaged`` tells that files were there
    that could not be read: what they held is gone until the next `sync`. ``away`` says why the embedder could not be
    asked when it was last needed; empty: it could.

    Raises:
        WorkspaceError: the folder cannot be read or written.
    """

    def __init__(self, folder: Path | None, embedder: Embedder | None, options: IndexOptions | None = None) -> None:
        self._options = options or IndexOptions()
        self.embedder = embedder
        self.away = ""
        self.languages: frozenset[str] = frozenset(getattr(embedder, "languages", None) or ())
        self._folder = folder
        self._words, was_damaged = opened(folder / "lexical" if folder else None)
        self._vectors = self._opened()
        self.damaged = was_damaged or (self._vectors is not None and self._vectors.damaged)
        self._state: str | None = None

    def _opened(self) -> VectorIndex | PostgresVectors | None:
        """The vectors; None: no embedder, or one that is away and never made any, so that words must do for now."""
        if self.embedder is None:
            return None
        path = self._folder / "vectors" / "chunks" if self._folder else None
        name, how = self.embedder.name, self._options
        try:
            dimensions = self.embedder.dimensions
        except ModelError as error:
            self.away = str(error)
            dimensions = dimensions_of(path, name) if path else 0
        if not dimensions:
            return None
        if how.database:
            from kgplatform.store.pgvector import PostgresVectors

            try:
                return PostgresVectors(how.database, name=how.name, dimensions=dimensions, model_name=name)
            except StoreError as error:
                self.away = str(error)
                return None
        return VectorIndex(path, dimensions=dimensions, model_name=name, storage=how.storage, search=how.search)

    def _awake(self) -> VectorIndex | PostgresVectors | None:
        """The vectors, those of an embedder that was away asked for again; None: there is no embedder."""
        if self._vectors is None and self.embedder is not None:
            self._vectors = self._opened()
            if self._vectors is None:
                raise ModelUnavailableError(self.away, model=self.embedder.name)
        return self._vectors

    def __len__(self) -> int:
        return int(self._words.searcher().num_docs)

    def __contains__(self, iri: object) -> bool:
        return isinstance(iri, str) and bool(self._found([passage_key(iri)]))

    @property
    def misfit(self) -> str:
        """Why the vectors cannot be used, if they were made by another model than the embedder; else empty."""
        if self._vectors is None or not self._vectors.misfit:
            return ""
        return f"{self._vectors.misfit}; `kgplatform build --only index` makes them anew"

    @property
    def words_only(self) -> str:
        """Why searches go by words alone although there is an embedder, if they do."""
        return self.misfit or self.away

    @property
    def behind(self) -> bool:
        """Whether the vectors are missing or of another model, so that all have to be made by `sync`."""
        return self._vectors is not None and (self._vectors.stale or bool(self._vectors.misfit))

    @property
    def stale(self) -> bool:
        """Whether the two sides differ, as after a crash or with a new embedding model: `sync` mends it."""
        if self._vectors is None:
            return False
        keys, _, languages = columns(self._words)
        return bool(len(np.setxor1d(keys[self._spoken(languages)], self._vectors.keys())))

    @property
    def state(self) -> str:
        """A hash of the passages: another as soon as one comes, goes or changes."""
        if self._state is None:
            keys, digests, _ = columns(self._words)
            order = np.argsort(keys)
            whole = hashlib.blake2b(keys[order].tobytes(), digest_size=16)
            whole.update(digests[order].tobytes())
            self._state = whole.hexdigest()
        return self._state

    def keys(self) -> NDArray[np.uint64]:
        """The keys of all passages (`passage_key`)."""
        return columns(self._words)[0]

    def texts(self, iris: Sequence[str]) -> dict[str, str]:
        """The passages of those IRIs, as far as there are such."""
        return {passage.iri: passage.text for passage in self._found([passage_key(iri) for iri in iris])}

    def scored(self, scores: Mapping[int, float]) -> list[FoundPassage]:
        """The passages of those keys with their scores, best first."""
        found = [FoundPassage(p.iri, p.text, scores[p.key], p.title) for p in self._found(list(scores))]
        return sorted(found, key=lambda item: (-round(item.score, 6), item.iri))

    def passages(self) -> Iterator[IndexedPassage]:
        """All passages, in the order of their keys."""
        keys, _, _ = columns(self._words)
        for some in batched(np.sort(keys).tolist(), _ROUND):
            yield from sorted(self._found(some), key=lambda passage: passage.key)

    def vectors(self, iris: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the passages, one row each; a row of zeros where there is none."""
        keys = np.array([passage_key(iri) for iri in iris], dtype=np.uint64)
        found = np.zeros((len(keys), self._vectors.dimensions if self._vectors else 0), dtype=np.float32)
        if self._vectors is not None and len(keys):
            there = self._vectors.holds(keys)
            found[there] = self._vectors.vectors(keys[there])
        return found

    def close(self) -> None:
        """Lets go of what is open."""
        if self._vectors is not None:
            self._vectors.close()

    def reload(self) -> None:
        """Sees what another process has committed since."""
        self._words.reload()
        if self._vectors is not None:
            self._vectors.reload()
        self._state = None

    def sync(self, chunks: Iterable[tuple[Chunk, str]]) -> Synced:
        """Makes the index hold exactly these passages (each with its document's title); only changes cost time.

        Raises:
            WorkspaceError: another process is writing this index, or the disk refuses.
            ModelUnavailableError: the embedding model cannot be used.
        """
        self.reload()
        keys, digests, _ = columns(self._words)
        held = dict(zip(keys.tolist(), digests.tolist(), strict=True))
        del keys, digests
        with self._changing(held) as change:
            change.take(chunks)
            change.drop(held.keys() - change.seen)
        self.damaged = False
        return Synced(change.added, change.removed)

    def add(self, chunks: Iterable[tuple[Chunk, str]]) -> Synced:
        """Puts passages in, each with its document's title; one that is there gives way to the new one.

        Raises:
            WorkspaceError: another process is writing this index, the disk refuses, or the vectors of what it holds
                are missing and have to be made first, by `sync`.
            ModelUnavailableError: the embedding model cannot be used.
        """
        if self._vectors is not None and self._vectors.stale and len(self):
            message = self.misfit or "the passages have no vectors; `kgplatform build --only index` makes them"
            raise WorkspaceError(message, path=self._folder or Path())
        with self._changing() as change:
            change.take(chunks)
        return Synced(change.added, 0)

    def remove(self, iris: Iterable[str]) -> int:
        """Takes passages out; how many there were.

        Raises:
            WorkspaceError: another process is writing this index, or the disk refuses.
        """
        found = [passage.key for passage in self._found([passage_key(iri) for iri in iris])]
        with self._changing() as change:
            change.drop(found)
        return change.removed

    def replace(self, documents: Iterable[str], chunks: Iterable[tuple[Chunk, str]]) -> Synced:
        """Makes the index hold exactly these passages of the documents; costs by them, not by what it holds.

        ``documents`` are IRIs; the passages of one are numbered without gaps, as `kgplatform.vocab.chunk_iri` says.

        Raises:
            WorkspaceError: another process is writing this index, or the disk refuses.
            ModelUnavailableError: the embedding model cannot be used.
        """
        with self._changing() as change:
            change.take(chunks)
            change.drop({key for iri in documents for key in self._keys_of(iri)} - change.seen)
        return Synced(change.added, change.removed)

    @contextmanager
    def _changing(self, held: Mapping[int, int] | None = None) -> Iterator[_Change]:
        """A change under one writer, committed at the end unless there is an error."""
        change = _Change(self, held)
        try:
            yield change
            change.commit()
        finally:
            change.close()
        self._state = None

    def _keys_of(self, document: str) -> Iterator[int]:
        """The keys of a document's passages that the index holds."""
        keys = (passage_key(f"{document}/chunk/{number}") for number in count())
        return takewhile(lambda key: bool(addresses(self._words, [key])), keys)

    def _spoken(self, languages: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which languages the embedder knows; a vector of a text that it cannot read would mislead."""
        if not self.languages:
            return np.ones(len(languages), dtype=np.bool_)
        return np.isin(languages, np.array([language_code(name) for name in self.languages], dtype=np.uint64))

    def by_words(self, question: str, k: int) -> list[FoundPassage]:
        """At most ``k`` passages with words of the question, best first, by BM25; words in the title count more."""
        searcher = self._words.searcher()
        wanted = min(k, int(searcher.num_docs))
        query = self._query(question) if wanted > 0 else None
        if query is None:
            return []
        found = []
        for score, at in searcher.search(query, limit=wanted, count=False).hits:
            iri, title, text = _stored(searcher.doc(at))
            found.append(FoundPassage(iri, text, float(score), title))
        return sorted(found, key=lambda item: (-item.score, item.iri))

    def _query(self, question: str) -> Any:
        from tantivy import Occur, Query

        schema = self._words.schema
        terms = [("english", "title_english", stem) for stem in question_stems(question)]
        terms += [("chinese", "title_chinese", pair) for pair in question_pairs(question)]
        clauses = []
        for body, title, term in terms:
            clauses.append((Occur.Should, Query.term_query(schema, body, term)))
            clauses.append((Occur.Should, Query.boost_query(Query.term_query(schema, title, term), TITLE_BOOST)))
        return Query.boolean_query(clauses) if clauses else None

    def by_meaning(self, question: str, k: int) -> list[FoundPassage]:
        """At most ``k`` passages whose vectors are nearest to the question's, best first; none without an embedder.

        Raises:
            WorkspaceError: the vectors there are were made by another model.
            ModelUnavailableError: the embedding model cannot be used.
        """
        return self.scored(dict(self.nearest(question, k)))

    def nearest(self, question: str, k: int) -> list[tuple[int, float]]:
        """What `by_meaning` finds, as the keys of the passages (`passage_key`) with their cosines, no text read."""
        vectors = self._awake()
        if self.misfit:
            raise WorkspaceError(self.misfit, path=self._folder or Path())
        if vectors is None or self.embedder is None or k <= 0 or not question.strip():
            return []
        try:
            return vectors.search(self.embedder.embed([question])[0], k) if len(vectors) else []
        except StoreError as error:  # words do for now
            raise ModelUnavailableError(str(error), model=self.embedder.name) from error

    def _found(self, keys: Sequence[int]) -> list[IndexedPassage]:
        """The passages of those keys, as far as there are such."""
        places = addresses(self._words, keys)
        if not places:
            return []
        searcher = self._words.searcher()
        columns = zip(*(searcher.fast_field_values(name, places) for name in ("key", "digest")), strict=True)
        return [
            IndexedPassage(int(key), int(digest), *_stored(searcher.doc(at)))
            for (key, digest), at in zip(columns, places, strict=True)
        ]


class _Change:
    """What is done to an index under one writer: passages taken or dropped, and both sides committed.

    ``held`` are the digests of all that the index holds; None: they are looked up. The first write locks the index.
    """

    def __init__(self, index: ChunkIndex, held: Mapping[int, int] | None) -> None:
        self.seen: set[int] = set()
        self.added = self.removed = 0
        index._awake()  # passages without vectors would be taken for whole
        self._index = index
        self._held = held
        self._writer: Writer | None = None
        self._vectors_changed = False
        self._dropped: set[int] = set()

    def take(self, chunks: Iterable[tuple[Chunk, str]]) -> None:
        """Puts in those passages that the index does not hold as they are."""
        for some in batched(chunks, _ROUND):
            self._take(some)

    def _take(self, chunks: Sequence[tuple[Chunk, str]]) -> None:
        entries = {passage_key(chunk.iri.value): (chunk, title) for chunk, title in chunks}
        self.seen |= entries.keys()
        held = self._digests(list(entries))
        spoken = {key for key, (chunk, _) in entries.items() if self._is_spoken(chunk.text)}
        embedded = self._embedded(list(entries))
        changed = {
            key: (chunk, title)
            for key, (chunk, title) in entries.items()
            if held.get(key) != digest_of(chunk.text, title)
        }
        bare = [key for key in entries if key in spoken and (key in changed or key not in embedded)]
        self._drop_vectors([key for key in embedded if key not in spoken])
        self._embed({key: entries[key] for key in bare})
        for key, (chunk, title) in sorted(changed.items()):
            if key in held:
                self._open().delete(key)
            self._open().put(IndexedPassage(key, digest_of(chunk.text, title), chunk.iri.value, title, chunk.text))
        self.added += sum(key not in held for key in changed)

    def drop(self, keys: Iterable[int]) -> None:
        """Takes passages out."""
        dropped = set(keys)
        self._drop_vectors(dropped)
        self._dropped |= dropped
        for key in dropped:
            self._open().delete(key)
        self.removed += len(dropped)

    def commit(self) -> None:
        """Writes both sides, the words last; also vectors that hang on no passage go."""
        vectors = self._index._vectors
        if vectors is not None and self._held is not None:
            kept = np.array(sorted(self.seen), dtype=np.uint64)
            self._drop_vectors(np.setdiff1d(vectors.keys(), kept).tolist())
        if vectors is not None and (self._vectors_changed or vectors.stale):
            self._open()  # only the one that holds the lock may write
            vectors.save()
        if self._writer is not None:
            self._writer.commit()

    def close(self) -> None:
        """Lets the lock go; what is not committed is dropped."""
        if self._writer is not None:
            self._writer.close()
        if self._index._vectors is not None:
            self._index._vectors.revert()

    def _open(self) -> Writer:
        if self._writer is None:
            self._writer = Writer(self._index._words, self._index._folder)
        return self._writer

    def _is_spoken(self, text: str) -> bool:
        return not self._index.languages or language_of(text) in self._index.languages

    def _digests(self, keys: Sequence[int]) -> Mapping[int, int]:
        if self._held is not None:
            return self._held
        return digests(self._index._words, keys)

    def _embedded(self, keys: Sequence[int]) -> set[int]:
        """Those of the keys that have a vector; without an embedder, as if all had."""
        vectors = self._index._vectors
        if vectors is None:
            return set(keys)
        there = vectors.holds(np.array(keys, dtype=np.uint64))
        return {key for key, has in zip(keys, there.tolist(), strict=True) if has}

    def _drop_vectors(self, keys: Iterable[int]) -> None:
        vectors = self._index._vectors
        if vectors is not None and vectors.remove(keys):
            self._vectors_changed = True

    def _embed(self, new: Mapping[int, tuple[Chunk, str]]) -> None:
        vectors, embedder = self._index._vectors, self._index.embedder
        if vectors is None or embedder is None or not new:
            return
        self._open()
        # texts of like length together: a batch is as slow as its longest text
        for some in batched(sorted(new.items(), key=lambda item: (len(item[1][0].text), item[0])), _BATCH):
            made = embedder.embed([f"{title}\n{chunk.text}" for _, (chunk, title) in some])
            vectors.add(np.array([key for key, _ in some], dtype=np.uint64), made)
        self._vectors_changed = True
