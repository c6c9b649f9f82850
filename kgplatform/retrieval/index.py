"""The chunk index: the same passages by their words (tantivy, BM25) and by their meaning (vectors).

It follows the registry: `ChunkIndex.sync` brings it in line with the chunks that there are. The words are committed
last, so that what a crash leaves half done is done again by the next `sync`. Nothing here is a source: a damaged or
missing index is made anew.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from kgplatform.errors import WorkspaceError
from kgplatform.protocols import Embedder
from kgplatform.retrieval.terms import analyzer, latin, pairs, question_pairs, question_stems
from kgplatform.text import language_of
from kgplatform.types import Chunk
from kgplatform.vectors import VectorIndex

TITLE_BOOST: Final = 1.5
_BATCH: Final = 512
_WRITER_BYTES: Final = 30_000_000
_FORMAT: Final = "2"


@dataclass(frozen=True, slots=True)
class Synced:
    """How many passages an index gained and lost."""

    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Found:
    """A passage with its score or similarity."""

    iri: str
    text: str
    score: float


class ChunkIndex:
    """The passages of a workspace, searchable; ``folder`` None keeps it in memory, no embedder leaves words only.

    ``languages`` holds the languages that the embedder knows, empty for any.

    Raises:
        WorkspaceError: the folder cannot be read or written.
    """

    def __init__(self, folder: Path | None, embedder: Embedder | None) -> None:
        self.embedder = embedder
        self.languages: frozenset[str] = frozenset(getattr(embedder, "languages", None) or ())
        self._folder = folder
        self._words = _opened(folder / "lexical" if folder else None)
        self._vectors = (
            VectorIndex(
                folder / "vectors" / "chunks" if folder else None,
                dimensions=embedder.dimensions,
                model_name=embedder.name,
            )
            if embedder
            else None
        )
        self._digests: dict[str, str] | None = None

    def __len__(self) -> int:
        return int(self._words.searcher().num_docs)

    def __contains__(self, iri: object) -> bool:
        return iri in self._indexed()

    @property
    def stale(self) -> bool:
        """Whether the two sides differ, as after a crash or with a new embedding model: `sync` mends it."""
        return self._vectors is not None and set(self._vectors) != set(self._indexed())

    @property
    def state(self) -> str:
        """A hash of the passages: another as soon as one comes, goes or changes."""
        whole = hashlib.blake2b(digest_size=16)
        for iri, digest in sorted(self._indexed().items()):
            whole.update(f"{iri}\x1f{digest}\x1e".encode("utf-8", "surrogatepass"))
        return whole.hexdigest()

    def texts(self, iris: Sequence[str]) -> dict[str, str]:
        """The passages of those IRIs, as far as there are such."""
        return self._texts(iris)

    def reload(self) -> None:
        """Sees what another process has committed since."""
        self._words.reload()
        self._digests = None

    def sync(self, chunks: Iterable[tuple[Chunk, str]]) -> Synced:
        """Makes the index hold exactly these passages (each with its document's title); only changes cost time.

        Raises:
            WorkspaceError: another process is writing this index, or the disk refuses.
            ModelUnavailableError: the embedding model cannot be used.
        """
        wanted = {chunk.iri.value: (_digest(chunk.text, title), chunk.text, title) for chunk, title in chunks}
        old = self._indexed()
        gone = [iri for iri in old if iri not in wanted]
        changed = {iri: entry for iri, entry in wanted.items() if old.get(iri) != entry[0]}
        meant = {iri for iri, (_, text, _) in wanted.items() if self._is_spoken(text)}
        embedded = old.keys() & meant if self._vectors is None else set(self._vectors)
        stray = [iri for iri in embedded if iri not in meant]
        unembedded = [iri for iri in wanted if iri in meant and (iri in changed or iri not in embedded)]
        if not (gone or changed or stray or unembedded):
            return Synced(0, 0)
        with _writer(self._words, self._folder) as writer:
            self._sync_vectors([*gone, *stray], {iri: wanted[iri][1:] for iri in unembedded})
            self._sync_words(writer, gone, changed)
        self._digests = {iri: entry[0] for iri, entry in wanted.items()}
        return Synced(sum(iri not in old for iri in changed), len(gone))

    def _is_spoken(self, text: str) -> bool:
        """Whether the embedder knows the language of the text; a vector of a text it cannot read would mislead."""
        return not self.languages or language_of(text) in self.languages

    def _sync_vectors(self, gone: Sequence[str], new: Mapping[str, tuple[str, str]]) -> None:
        if self._vectors is None or self.embedder is None:
            return
        self._vectors.remove(gone)
        # texts of like length together: a batch is as slow as its longest text
        waiting = iter(sorted(new.items(), key=lambda item: (len(item[1][0]), item[0])))
        while batch := list(islice(waiting, _BATCH)):
            vectors = self.embedder.embed([f"{title}\n{text}" for _, (text, title) in batch])
            self._vectors.add([iri for iri, _ in batch], vectors)
        self._vectors.save()

    def _sync_words(self, writer: Any, gone: Iterable[str], new: Mapping[str, tuple[str, str, str]]) -> None:
        for iri in (*gone, *new):
            writer.delete_documents_by_term("iri", iri)
        for iri, (digest, text, title) in sorted(new.items()):
            writer.add_document(_entry(iri, digest, text, title))
        writer.commit()
        writer.wait_merging_threads()
        self._words.reload()

    def _indexed(self) -> dict[str, str]:
        """The passages that the words hold, with their digests."""
        if self._digests is None:
            self._digests = dict(self._entries())
        return self._digests

    def _entries(self) -> Iterator[tuple[str, str]]:
        from tantivy import Query

        searcher = self._words.searcher()
        if searcher.num_docs:
            for _, address in searcher.search(Query.all_query(), limit=searcher.num_docs, count=False).hits:
                entry = searcher.doc(address)
                yield str(entry.get_first("iri")), _stored(entry, "digest")

    def by_words(self, question: str, k: int) -> list[Found]:
        """At most ``k`` passages with words of the question, best first, by BM25; words in the title count more."""
        searcher = self._words.searcher()
        wanted = min(k, int(searcher.num_docs))
        query = self._query(question) if wanted > 0 else None
        if query is None:
            return []
        entries = ((score, searcher.doc(at)) for score, at in searcher.search(query, limit=wanted, count=False).hits)
        found = [Found(str(e.get_first("iri")), _stored(e, "text"), float(score)) for score, e in entries]
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

    def by_meaning(self, question: str, k: int) -> list[Found]:
        """At most ``k`` passages whose vectors are nearest to the question's, best first; none without an embedder.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        if self._vectors is None or self.embedder is None or k <= 0 or not len(self._vectors) or not question.strip():
            return []
        near = self._vectors.search(self.embedder.embed([question])[0], k)
        texts = self._texts([iri for iri, _ in near])
        return [Found(iri, texts[iri], similarity) for iri, similarity in near if iri in texts]

    def _texts(self, iris: Sequence[str]) -> dict[str, str]:
        from tantivy import Query

        if not iris:
            return {}
        searcher = self._words.searcher()
        query = Query.term_set_query(self._words.schema, "iri", list(iris))
        entries = (searcher.doc(at) for _, at in searcher.search(query, limit=len(iris), count=False).hits)
        return {str(entry.get_first("iri")): _stored(entry, "text") for entry in entries}


def _digest(text: str, title: str) -> str:
    return hashlib.blake2b(f"{title}\x1f{text}".encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _entry(iri: str, digest: str, text: str, title: str) -> Any:
    from tantivy import Document

    entry = Document()
    entry.add_bytes("digest", digest.encode())
    entry.add_bytes("text", text.encode("utf-8", "surrogatepass"))
    for field, value in (
        ("iri", iri),
        ("english", latin(text)),
        ("chinese", " ".join(pairs(text))),
        ("title_english", latin(title)),
        ("title_chinese", " ".join(pairs(title))),
    ):
        entry.add_text(field, value)
    return entry


def _stored(entry: Any, field: str) -> str:
    return bytes(entry.get_first(field)).decode("utf-8", "surrogatepass")


def _schema() -> Any:
    from tantivy import SchemaBuilder

    builder = SchemaBuilder()
    builder.add_text_field("iri", stored=True, tokenizer_name="raw")
    for name in ("digest", "text"):  # kept, not searched as they are
        builder.add_bytes_field(name, stored=True)
    for name in ("english", "title_english"):
        builder.add_text_field(name, tokenizer_name="kgplatform_english", index_option="freq")
    for name in ("chinese", "title_chinese"):
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="freq")
    return builder.build()


def _opened(folder: Path | None) -> Any:
    """The index in the folder; one that is damaged or of another format gives way to an empty one."""
    if folder is None:
        return _registered(_made(None))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        version = folder / "kgplatform-format"
        if any(folder.iterdir()) and (not version.is_file() or version.read_text(encoding="utf-8") != _FORMAT):
            _emptied(folder)
        version.write_text(_FORMAT, encoding="utf-8")
        try:
            index = _registered(_made(folder))
            _tried(index)
        except (ValueError, OSError):
            _emptied(folder)
            version.write_text(_FORMAT, encoding="utf-8")
            index = _registered(_made(folder))
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"{folder}: the word index cannot be opened ({error})", path=folder) from error
    return index


def _made(folder: Path | None) -> Any:
    from tantivy import Index

    return Index(_schema(), path=str(folder)) if folder else Index(_schema())


def _registered(index: Any) -> Any:
    from tantivy import TextAnalyzerBuilder, Tokenizer

    index.register_tokenizer("kgplatform_english", analyzer())
    index.register_tokenizer("whitespace", TextAnalyzerBuilder(Tokenizer.whitespace()).build())
    return index


def _tried(index: Any) -> None:
    from tantivy import Query

    searcher = index.searcher()
    for _, address in searcher.search(Query.all_query(), limit=1, count=False).hits:
        searcher.doc(address)


def _emptied(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir(parents=True)


class _writer:  # noqa: N801 (used like a function)
    """The one writer of an index, for the length of a ``with`` block; what is not committed is dropped."""

    def __init__(self, index: Any, folder: Path | None) -> None:
        try:
            self._writer = index.writer(heap_size=_WRITER_BYTES, num_threads=1)
        except (ValueError, OSError) as error:
            place = folder or Path()
            busy = "LockBusy" in str(error) or "lock" in str(error).casefold()
            reason = "another process is writing it; wait for it to end" if busy else str(error)
            raise WorkspaceError(f"{place}: the word index cannot be written: {reason}", path=place) from error

    def __enter__(self) -> Any:
        return self._writer

    def __exit__(self, *exception: object) -> None:
        del self._writer  # lets the lock go
