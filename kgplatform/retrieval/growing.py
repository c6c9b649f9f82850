"""The similarity graph made from documents, and brought in line with them by what changed.

A document that is as it was keeps its windows, sentences, vectors and edges. Of the others' edges only those are found
anew that pointed to a window which is gone; new windows take the place of farther ones. The result is the graph that
building from nothing gives, edge by edge: texts are embedded document by document, vectors are rounded to half
precision, and sums of products of such numbers are exact in double precision, in whatever order and blocks they are
taken (22 bits of a product and 24 below its point, in a sum not beyond 1, are within 53).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kgplatform.protocols import Embedder
from kgplatform.retrieval.similarity import (
    Edge,
    GraphDocument,
    GraphOptions,
    Moments,
    SentenceNode,
    SimilarityGraph,
    SourceText,
)
from kgplatform.text import sentences as sentence_spans

_BLOCK: Final = 512
_THEMES: Final = 5


def similarity_graph(
    documents: Iterable[SourceText],
    embedder: Embedder,
    options: GraphOptions | None = None,
    *,
    before: SimilarityGraph | None = None,
) -> SimilarityGraph:
    """The graph of the documents, in their order; ``before``: an earlier one of the same embedder and options.

    Raises:
        ModelUnavailableError: the embedding model cannot be used.
    """
    chosen = options or GraphOptions()
    parts = _parts(documents, before, chosen)
    windows: list[tuple[int, ...]] = []
    nodes: list[SentenceNode] = []
    for part in parts:
        cut = _windows(part.meta.sentences, chosen.size)
        first_window, first_sentence = len(windows), len(nodes)
        windows.extend(tuple(first_sentence + place for place in window) for window in cut)
        for number, (start, end, text) in enumerate(part.sentences):
            inside = tuple(first_window + place for place, window in enumerate(cut) if number in window)
            nodes.append(SentenceNode(part.meta.iri, start, end, text, inside))
    window_vectors, sentence_vectors = _vectors(parts, before, embedder, chosen)
    return SimilarityGraph(
        tuple(windows),
        tuple(nodes),
        window_vectors,
        sentence_vectors,
        _Neighbours(parts, before, window_vectors, chosen).edges(),
        Moments.of(window_vectors, sentence_vectors),
        tuple(part.meta for part in parts),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """A document with its sentences; ``first_window`` and ``first_sentence`` are its places in the graph before."""

    meta: GraphDocument
    title: str
    sentences: Sequence[tuple[int, int, str]]
    first_window: int = -1
    first_sentence: int = -1

    @property
    def is_new(self) -> bool:
        return self.first_window < 0


def _parts(documents: Iterable[SourceText], before: SimilarityGraph | None, options: GraphOptions) -> list[_Part]:
    held: dict[tuple[str, str], tuple[GraphDocument, int, int]] = {}
    window = sentence = 0
    for document in before.documents if before is not None else ():
        held[document.iri, document.digest] = (document, window, sentence)
        window, sentence = window + document.windows, sentence + document.sentences
    parts: list[_Part] = []
    for given in documents:
        digest = _digest(given)
        known = held.get((given.iri, digest))
        if known is None or before is None:
            parts.append(_part(given, digest, options))
            continue
        meta, window, sentence = known
        nodes = before.sentences[sentence : sentence + meta.sentences]
        parts.append(_Part(meta, given.title, [(n.start, n.end, n.text) for n in nodes], window, sentence))
    places = [part.first_window for part in parts if not part.is_new and part.meta.windows]
    if places != sorted(places):  # documents that were kept in another order: ties would fall otherwise
        return [_Part(part.meta, part.title, part.sentences) for part in parts]
    return parts


def _part(given: SourceText, digest: str, options: GraphOptions) -> _Part:
    spans = given.sentences or tuple(sentence_spans(given.text))
    if len(spans) < options.size and not options.keep_short:
        spans = ()
    count = len(_windows(len(spans), options.size))
    meta = GraphDocument(given.iri, digest, themes(given.keywords()), count, len(spans))
    return _Part(meta, given.title, [(start, end, given.text[start:end]) for start, end in spans])


def themes(keywords: Iterable[str]) -> tuple[str, ...]:
    """The five themes of a document: of the keywords of its passages those of most passages, earlier ones first.

    One that is part of another, or has it as a part, is no theme of its own.
    """
    counts = Counter(" ".join(keyword.split()) for keyword in keywords)
    found: list[str] = []
    for keyword, _ in counts.most_common():
        name = keyword.casefold()
        if name and not any(name in other.casefold() or other.casefold() in name for other in found):
            found.append(keyword)
    return tuple(found[:_THEMES])


def _digest(given: SourceText) -> str:
    made = hashlib.blake2b(digest_size=12)
    for text in (given.title, given.text, given.version, repr(given.sentences)):
        made.update(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest())
    return made.hexdigest()


def _windows(count: int, size: int) -> list[range]:
    return [range(start, min(start + size, count)) for start in range(max(count - size, 0) + 1)] if count else []


def _vectors(
    parts: Sequence[_Part], before: SimilarityGraph | None, embedder: Embedder, options: GraphOptions
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The vectors of windows and sentences: the new ones embedded, document by document, the others as they were."""
    empty = np.zeros((0, embedder.dimensions), dtype=np.float32)
    of_windows, of_sentences = [empty], [empty]
    for part in parts:
        if part.is_new or before is None:
            count = part.meta.windows
            made = _embedded(part, embedder, options)
            of_windows.append(made[:count])
            of_sentences.append(made[count:])
        else:
            window, sentence = part.first_window, part.first_sentence
            of_windows.append(before.window_vectors[window : window + part.meta.windows])
            of_sentences.append(before.sentence_vectors[sentence : sentence + part.meta.sentences])
    return np.concatenate(of_windows), np.concatenate(of_sentences)


def _embedded(part: _Part, embedder: Embedder, options: GraphOptions) -> NDArray[np.float32]:
    texts = [text for _, _, text in part.sentences]
    said = [" ".join(texts[place] for place in window) for window in _windows(len(texts), options.size)] + texts
    if not said:
        return np.zeros((0, embedder.dimensions), dtype=np.float32)
    if options.with_title and part.title:
        said = [f"{part.title}\n{text}" for text in said]
    order = sorted(range(len(said)), key=lambda number: len(said[number]))  # a batch is as slow as its longest text
    vectors = np.empty((len(said), embedder.dimensions), dtype=np.float32)
    # rounded as they are kept in a file, so that a graph read back is the one that was made
    vectors[order] = embedder.embed([said[number] for number in order]).astype(np.float16)
    return vectors


class _Neighbours:
    """Finds the neighbours of each window, block by block: the matrix of all pairs is never held."""

    def __init__(
        self,
        parts: Sequence[_Part],
        before: SimilarityGraph | None,
        vectors: NDArray[np.float32],
        options: GraphOptions,
    ) -> None:
        counts = [part.meta.windows for part in parts]
        self._owners = np.repeat(np.arange(len(parts)), counts)
        self._vectors = vectors.astype(np.float64)
        self._options = options
        self._before = before.edges if before is not None else ()
        places = [np.arange(part.meta.windows) + part.first_window for part in parts if not part.is_new]
        self._was = np.full(len(vectors), -1, dtype=np.int64)
        if places:
            is_kept = np.repeat(np.array([not part.is_new for part in parts]), counts)
            self._was[is_kept] = np.concatenate(places)
        self._now = np.full(len(self._before), -1, dtype=np.int64)
        kept = np.flatnonzero(self._was >= 0)
        self._now[self._was[kept]] = kept
        moved = np.flatnonzero(self._now != np.arange(len(self._now)))
        self._first_moved = int(moved[0]) if len(moved) else len(self._now)

    def edges(self) -> tuple[tuple[Edge, ...], ...]:
        """The neighbours of each window in order."""
        found: list[tuple[Edge, ...]] = [() for _ in self._owners]
        rows = np.flatnonzero(self._was < 0).tolist()
        kept: list[int] = []
        for window in np.flatnonzero(self._was >= 0).tolist():
            edges = self._renumbered(window)
            if edges is None:
                rows.append(window)
            else:
                found[window] = edges
                kept.append(window)
        for window, edges in self._from_all(sorted(rows)):
            found[window] = edges
        for window, edges in self._with_new(kept, found):
            found[window] = edges
        return tuple(found)

    def _renumbered(self, window: int) -> tuple[Edge, ...] | None:
        """The edges that a window had; None: one pointed to what is gone."""
        edges = self._before[int(self._was[window])]
        if all(edge.target < self._first_moved for edge in edges):
            return edges
        targets = self._now[[edge.target for edge in edges]].tolist()
        if min(targets) < 0:
            return None
        return tuple(Edge(target, edge.cosine) for target, edge in zip(targets, edges, strict=True))

    def _from_all(self, rows: Sequence[int]) -> Iterable[tuple[int, tuple[Edge, ...]]]:
        """The neighbours of these windows among all."""
        options = self._options
        for start in range(0, len(rows), _BLOCK):
            some = rows[start : start + _BLOCK]
            for window, cosines in zip(some, self._vectors[some] @ self._vectors.T, strict=True):
                own = self._owners == self._owners[window]
                others = ~own
                own[window] = False
                yield (
                    window,
                    (
                        *_nearest(cosines, own, options.within, options.least_within),
                        *_nearest(cosines, others, options.across, options.least_across),
                    ),
                )

    def _with_new(
        self, rows: Sequence[int], found: Sequence[tuple[Edge, ...]]
    ) -> Iterable[tuple[int, tuple[Edge, ...]]]:
        """The neighbours of those windows of documents that were there to which a new window is near enough."""
        new, options = np.flatnonzero(self._was < 0), self._options
        if not len(new) or options.across < 1:
            return
        for start in range(0, len(rows), _BLOCK):
            some = rows[start : start + _BLOCK]
            cosines = self._vectors[some] @ self._vectors[new].T
            least = np.array([self._least(window, found[window]) for window in some])
            is_near = cosines >= least[:, None]
            for place in np.flatnonzero(is_near.any(axis=1)).tolist():
                window = some[place]
                inside = self._within(window, found[window])
                near = np.flatnonzero(is_near[place])
                candidates = [*found[window][inside:]]
                candidates += [Edge(int(new[column]), float(cosines[place, column])) for column in near]
                candidates.sort(key=lambda edge: (-edge.cosine, edge.target))
                yield window, (*found[window][:inside], *candidates[: options.across])

    def _within(self, window: int, edges: Sequence[Edge]) -> int:
        """How many of the edges, the first ones, lead to windows of the same document."""
        owner = self._owners[window]
        return sum(bool(self._owners[edge.target] == owner) for edge in edges)

    def _least(self, window: int, edges: Sequence[Edge]) -> float:
        """How near a window of another document must be to be among the neighbours."""
        others = edges[self._within(window, edges) :]
        return others[-1].cosine if len(others) >= self._options.across else self._options.least_across


def _nearest(cosines: NDArray[Any], allowed: NDArray[np.bool_], most: int, least: float) -> list[Edge]:
    """The ``most`` nearest of the allowed, at least ``least`` alike; equal ones in the order of the windows."""
    places = np.flatnonzero(allowed & (cosines >= least))
    if most < 1:
        return []
    if len(places) > most:
        edge = np.partition(cosines[places], len(places) - most)[len(places) - most]
        places = places[cosines[places] >= edge]
    order = places[np.argsort(-cosines[places], kind="stable")][:most]
    return [Edge(int(place), float(cosines[place])) for place in order]
