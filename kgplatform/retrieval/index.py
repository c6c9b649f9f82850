"""The chunk index: the same passages by their words (tantivy, BM25) and by their meaning (vectors).

It follows the registry: `ChunkIndex.sync` brings it in line with the chunks that there are, `ChunkIndex.add` and
`ChunkIndex.remove` change single ones. The words are committed last, so that what a crash leaves half done is done
again by the next `sync`. Nothing here is a source: a damaged or missing index is made anew.

Nothing of what it holds is kept in memory: both sides are mapped files, and know a passage by a number of 64 bits made
from its IRI (among a million passages two have the same one with a probability of 3 in 100 million).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kgplatform.errors import ConfigError, ModelError, ModelUnavailableError, WorkspaceError
from kgplatform.protocols import Embedder
from kgplatform.retrieval import words
from kgplatform.retrieval.terms import question_pairs, question_stems
from kgplatform.retrieval.words import digest_of, passage_key
from kgplatform.text import language_of
from kgplatform.types import Chunk
from kgplatform.vectors import SEARCHES, STORAGES, VectorIndex, dimensions_of

TITLE_BOOST: Final = 1.5
_BATCH: Final = 512
_ROUND: Final = 4096


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """How the vectors of a large index are kept and searched (`kgplatform.vectors`)."""

    storage: str = "auto"
    search: str = "auto"

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
class Found:
    """A passage with its document's title, and its score or similarity."""

    iri: str
    text: str
    score: float
    title: str = ""


@dataclass(frozen=True, slots=True)
class IndexedPassage:
    """A passage as the index holds it; ``key`` and ``digest`` together change when its text or title does."""

    key: int
    digest: int
    iri: str
    title: str
    text: str


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
        self._words, was_damaged = words.opened(folder / "lexical" if folder else None)
        self._vectors = self._opened()
        self.damaged = was_damaged or (self._vectors is not None and self._vectors.damaged)
        self._state: str | None = None

    def _opened(self) -> VectorIndex | None:
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
        return VectorIndex(path, dimensions=dimensions, model_name=name, storage=how.storage, search=how.search)

    def _awake(self) -> VectorIndex | None:
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
        keys, _, languages = words.columns(self._words)
        return bool(len(np.setxor1d(keys[self._spoken(languages)], self._vectors.keys())))

    @property
    def state(self) -> str:
        """A hash of the passages: another as soon as one comes, goes or changes."""
        if self._state is None:
            keys, digests, _ = words.columns(self._words)
            order = np.argsort(keys)
            whole = hashlib.blake2b(keys[order].tobytes(), digest_size=16)
            whole.update(digests[order].tobytes())
            self._state = whole.hexdigest()
        return self._state

    def texts(self, iris: Sequence[str]) -> dict[str, str]:
        """The passages of those IRIs, as far as there are such."""
        return {passage.iri: passage.text for passage in self._found([passage_key(iri) for iri in iris])}

    def scored(self, scores: Mapping[int, float]) -> list[Found]:
        """The passages of those keys with their scores, best first."""
        found = [Found(p.iri, p.text, scores[p.key], p.title) for p in self._found(list(scores))]
        return sorted(found, key=lambda item: (-round(item.score, 6), item.iri))

    def passages(self) -> Iterator[IndexedPassage]:
        """All passages, in the order of their keys."""
        keys, _, _ = words.columns(self._words)
        for some in words.batched(np.sort(keys).tolist(), _ROUND):
            yield from sorted(self._found(some), key=lambda passage: passage.key)

    def vectors(self, iris: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the passages, one row each; a row of zeros where there is none."""
        keys = np.array([passage_key(iri) for iri in iris], dtype=np.uint64)
        found = np.zeros((len(keys), self._vectors.dimensions if self._vectors else 0), dtype=np.float32)
        if self._vectors is not None and len(keys):
            there = self._vectors.holds(keys)
            found[there] = self._vectors.vectors(keys[there])
        return found

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
        keys, digests, _ = words.columns(self._words)
        held = dict(zip(keys.tolist(), digests.tolist(), strict=True))
        del keys, digests
        change = _Change(self, held)
        try:
            for some in words.batched(chunks, _ROUND):
                change.take(some)
            change.drop(held.keys() - change.seen)
            change.commit()
        finally:
            change.close()
        self._state, self.damaged = None, False
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
        change = _Change(self, None)
        try:
            for some in words.batched(chunks, _ROUND):
                change.take(some)
            change.commit()
        finally:
            change.close()
        self._state = None
        return Synced(change.added, 0)

    def remove(self, iris: Iterable[str]) -> int:
        """Takes passages out; how many there were.

        Raises:
            WorkspaceError: another process is writing this index, or the disk refuses.
        """
        found = [passage.key for passage in self._found([passage_key(iri) for iri in iris])]
        change = _Change(self, None)
        try:
            change.drop(found)
            change.commit()
        finally:
            change.close()
        self._state = None
        return change.removed

    def replace(self, documents: Iterable[str], chunks: Iterable[tuple[Chunk, str]]) -> Synced:
        """Makes the index hold exactly these passages of the documents; costs by them, not by what it holds.

        ``documents`` are IRIs; the passages of one are numbered without gaps, as `kgplatform.vocab.chunk_iri` says.

        Raises:
            WorkspaceError: another process is writing this index, or the disk refuses.
            ModelUnavailableError: the embedding model cannot be used.
        """
        change = _Change(self, None)
        try:
            for some in words.batched(chunks, _ROUND):
                change.take(some)
            change.drop({key for iri in documents for key in self._keys_of(iri)} - change.seen)
            change.commit()
        finally:
            change.close()
        self._state = None
        return Synced(change.added, change.removed)

    def _keys_of(self, document: str) -> Iterator[int]:
        """The keys of a document's passages that the index holds."""
        keys = (passage_key(f"{document}/chunk/{number}") for number in count())
        return takewhile(lambda key: bool(words.addresses(self._words, [key])), keys)

    def _spoken(self, languages: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which languages the embedder knows; a vector of a text that it cannot read would mislead."""
        if not self.languages:
            return np.ones(len(languages), dtype=np.bool_)
        return np.isin(languages, np.array([words.language_code(name) for name in self.languages], dtype=np.uint64))

    def by_words(self, question: str, k: int) -> list[Found]:
        """At most ``k`` passages with words of the question, best first, by BM25; words in the title count more."""
        searcher = self._words.searcher()
        wanted = min(k, int(searcher.num_docs))
        query = self._query(question) if wanted > 0 else None
        if query is None:
            return []
        hits = ((score, searcher.doc(at)) for score, at in searcher.search(query, limit=wanted, count=False).hits)
        found = (Found(*words.iri_and_text(entry), float(score), words.title(entry)) for score, entry in hits)
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
            WorkspaceError: the vectors there are were made by another model.
            ModelUnavailableError: the embedding model cannot be used.
        """
        return self.scored(dict(self.nearest(question, k)))

    def nearest(self, question: str, k: int) -> list[tuple[int, float]]:
        """What `by_meaning` finds, as the keys of the passages (`passage_key`) with their cosines, no text read."""
        vectors = self._awake()
        if self.misfit:
            raise WorkspaceError(self.misfit, path=self._folder or Path())
        if vectors is None or self.embedder is None or k <= 0 or not len(vectors) or not question.strip():
            return []
        return vectors.search(self.embedder.embed([question])[0], k)

    def _found(self, keys: Sequence[int]) -> list[IndexedPassage]:
        """The passages of those keys, as far as there are such."""
        addresses = words.addresses(self._words, keys)
        if not addresses:
            return []
        searcher = self._words.searcher()
        columns = zip(*(searcher.fast_field_values(name, addresses) for name in ("key", "digest")), strict=True)
        found = []
        for (key, digest), at in zip(columns, addresses, strict=True):
            entry = searcher.doc(at)
            iri, text = words.iri_and_text(entry)
            found.append(IndexedPassage(int(key), int(digest), iri, words.title(entry), text))
        return found


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
        self._writer: words.Writer | None = None
        self._vectors_changed = False
        self._dropped: set[int] = set()

    def take(self, chunks: Sequence[tuple[Chunk, str]]) -> None:
        """Puts in those passages that the index does not hold as they are."""
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
            self._open().put(words.Entry(key, digest_of(chunk.text, title), chunk.iri.value, title, chunk.text))
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

    def _open(self) -> words.Writer:
        if self._writer is None:
            self._writer = words.Writer(self._index._words, self._index._folder)
        return self._writer

    def _is_spoken(self, text: str) -> bool:
        return not self._index.languages or language_of(text) in self._index.languages

    def _digests(self, keys: Sequence[int]) -> Mapping[int, int]:
        if self._held is not None:
            return self._held
        return words.digests(self._index._words, keys)

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
        for some in words.batched(sorted(new.items(), key=lambda item: (len(item[1][0].text), item[0])), _BATCH):
            made = embedder.embed([f"{title}\n{chunk.text}" for _, (chunk, title) in some])
            vectors.add(np.array([key for key, _ in some], dtype=np.uint64), made)
        self._vectors_changed = True
