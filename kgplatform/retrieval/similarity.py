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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kgplatform.retrieval import index
from kgplatform.text import sentences as sentence_spans
from kgplatform.types import Embedder, Progress

# A window is joined with the windows of its own document that are most like it, and with those of others. The edges
# have a direction: the nearest neighbours of one need not have it among theirs. Source: the semantic similarity graph
# of the traversal article (design of its public code, as of November 2025).
_FORMAT: Final = 2
_NEAR: Final = 1e-9


@dataclass(frozen=True, slots=True)
class SourceText:
    """A document to build from; ``sentences`` are offsets, found anew where none are given.

    ``keywords`` are those of its passages, asked for only where the document is new; ``version`` is another one when
    they may have changed.
    """

    iri: str
    title: str
    text: str
    sentences: tuple[tuple[int, int], ...] = ()
    keywords: Callable[[], Iterable[str]] = tuple
    version: str = ""


@dataclass(frozen=True, slots=True)
class GraphDocument:
    """A document in the graph: what tells it from another version, its themes, and how many windows it is cut into."""

    iri: str
    digest: str
    themes: tuple[str, ...]
    windows: int
    sentences: int


@dataclass(frozen=True, slots=True)
class SentenceNode:
    """A sentence with its place; ``windows`` are those that it stands in, in order."""

    document: str
    start: int
    end: int
    text: str
    windows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """A neighbour and the cosine between the two windows."""

    target: int
    cosine: float


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """How the graph is built.

    ``within`` and ``across`` are how many neighbours a window has in its own document and in others, at least
    ``least_within`` and ``least_across`` alike. ``keep_short``: a document of fewer sentences than a window has is one
    window; without it, it is left out.
    """

    size: int = 3
    within: int = 10
    across: int = 5
    least_within: float = 0.4
    least_across: float = 0.3
    keep_short: bool = True
    with_title: bool = True


PUBLISHED: Final = GraphOptions(within=15, keep_short=False, with_title=False)
"""As the article's public code has it (its text says 10 neighbours, its settings 15)."""


@dataclass(frozen=True, slots=True)
class Moments:
    """How many points there are, their sum, and the sum of their outer products: the covariance of all, kept ready."""

    count: int
    total: NDArray[np.float64]
    products: NDArray[np.float64]
    _basis: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = field(
        default_factory=list, compare=False, repr=False
    )

    @classmethod
    def of(cls, *points: NDArray[np.float32]) -> Moments:
        """The moments of the rows of all matrices."""
        rows = np.concatenate(points).astype(np.float64)
        return cls(len(rows), rows.sum(axis=0), rows.T @ rows)

    def with_point(self, point: NDArray[np.float32]) -> NDArray[np.float64]:
        """The covariance of the points and one more."""
        one = point.astype(np.float64)
        count, total = self.count + 1, self.total + one
        spread: NDArray[np.float64] = (self.products + np.outer(one, one) - np.outer(total, total) / count) / max(
            count - 1, 1
        )
        return spread

    def main_directions(self, point: NDArray[np.float32], count: int) -> NDArray[np.float64]:
        """The ``count`` main directions of the points and one more, one column each: those of most variance.

        The directions of the points alone are found once. One more point changes their covariance by a matrix of rank
        one, and then the roots of a scalar equation lead to the new ones (Golub, Some modified matrix eigenvalue
        problems, 1973, section 5), which is some twenty times quicker. Where directions are as good as equal, all are
        found anew.
        """
        if not self._basis:
            spread = (self.products - np.outer(self.total, self.total) / max(self.count, 1)) / max(self.count, 1)
            self._basis.append(np.linalg.eigh(spread))
        values, vectors = self._basis[0]
        apart = point.astype(np.float64) - self.total / max(self.count, 1)
        found = _updated(values[::-1], vectors[:, ::-1].T @ apart / max(self.count + 1, 1) ** 0.5, count)
        if found is None:
            return np.linalg.eigh(self.with_point(point))[1][:, ::-1][:, :count]
        directions: NDArray[np.float64] = vectors[:, ::-1] @ found
        return directions


def _updated(values: NDArray[np.float64], shift: NDArray[np.float64], count: int) -> NDArray[np.float64] | None:
    """The first eigenvectors of diag(values) + shift shift', values falling; None where the numbers are too near."""
    from scipy.optimize import brentq

    size = len(values)
    if size <= count or count < 1:
        return None
    scale = max(float(values[0]), float(shift @ shift), 1e-300)
    gaps = values[:count] - values[1 : count + 1]
    if float(gaps.min()) < _NEAR * scale or float(np.abs(shift[:count]).min()) < _NEAR * scale**0.5:
        return None

    def secular(root: float) -> float:
        return 1.0 + float((shift**2 / (values - root)).sum())

    columns = []
    for place in range(count):
        low = float(values[place])
        high = float(values[place - 1]) if place else low + float(shift @ shift) * (1 + _NEAR)
        edge = (high - low) * 1e-12
        if secular(low + edge) * secular(high - edge) > 0:
            return None
        column = shift / (values - brentq(secular, low + edge, high - edge, xtol=scale * 1e-15))
        columns.append(column / np.linalg.norm(column))
    return np.stack(columns, axis=1)


@dataclass(frozen=True, slots=True)
class SimilarityGraph:
    """Windows, sentences, their vectors of unit length (one row each), and each window's neighbours, nearest first.

    ``edges[w]`` has the neighbours in the same document before those in others. ``documents`` are in the order of their
    windows; ``state`` tells from what state of a workspace the graph is.
    """

    windows: tuple[tuple[int, ...], ...]
    sentences: tuple[SentenceNode, ...]
    window_vectors: NDArray[np.float32]
    sentence_vectors: NDArray[np.float32]
    edges: tuple[tuple[Edge, ...], ...]
    moments: Moments
    documents: tuple[GraphDocument, ...] = ()
    state: str = ""

    def save(self, path: Path, made_from: str) -> None:
        """Writes the graph; ``made_from`` tells one set of options and model from another.

        Raises:
            WorkspaceError: the disk refuses.
        """
        edges = [(window, edge.target, edge.cosine) for window, found in enumerate(self.edges) for edge in found]
        table = np.array(edges, dtype=np.float64).reshape(-1, 3)
        index.save(
            path,
            {
                "windows": self.window_vectors.astype(np.float16),
                "sentences": self.sentence_vectors.astype(np.float16),
                "edges": table,
            },
            {
                "format": _FORMAT,
                "made_from": made_from,
                "state": self.state,
                "documents": [(d.iri, d.digest, d.themes, d.windows, d.sentences) for d in self.documents],
                "windows": self.windows,
                "sentences": [(node.document, node.start, node.end, node.text) for node in self.sentences],
            },
        )

    @classmethod
    def load(cls, path: Path, made_from: str) -> SimilarityGraph | None:
        """The graph in the file; None: there is none, it is damaged, or it was made from something else."""
        held = index.load(path)
        if held is None:
            return None
        arrays, texts = held
        if (texts.get("format"), texts.get("made_from")) != (_FORMAT, made_from):
            return None
        cut = tuple(tuple(window) for window in texts["windows"])
        inside: dict[int, list[int]] = {}
        for number, window in enumerate(cut):
            for sentence in window:
                inside.setdefault(sentence, []).append(number)
        edges: list[list[Edge]] = [[] for _ in cut]
        for window, target, cosine in arrays["edges"].tolist():
            edges[int(window)].append(Edge(int(target), cosine))
        nodes = [
            SentenceNode(document, start, end, text, tuple(inside[number]))
            for number, (document, start, end, text) in enumerate(texts["sentences"])
        ]
        of_windows, of_sentences = (arrays[name].astype(np.float32) for name in ("windows", "sentences"))
        return cls(
            cut,
            tuple(nodes),
            of_windows,
            of_sentences,
            tuple(map(tuple, edges)),
            Moments.of(of_windows, of_sentences),
            tuple(
                GraphDocument(iri, digest, tuple(found), *counts) for iri, digest, found, *counts in texts["documents"]
            ),
            texts["state"],
        )

    def document_of(self, window: int) -> str:
        """The IRI of the document that the window is cut from."""
        return self.sentences[self.windows[window][0]].document

    def text_of(self, window: int) -> str:
        """The sentences of the window, joined by blanks."""
        return " ".join(self.sentences[number].text for number in self.windows[window])


_BLOCK: Final = 512
_THEMES: Final = 5


def similarity_graph(
    documents: Iterable[SourceText],
    embedder: Embedder,
    options: GraphOptions | None = None,
    *,
    before: SimilarityGraph | None = None,
    progress: Progress | None = None,
) -> SimilarityGraph:
    """The graph of the documents, in their order; ``before``: an earlier one of the same embedder and options.

    ``progress`` is told of each document, as its sentences are embedded.

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
    window_vectors, sentence_vectors = _vectors(parts, before, embedder, chosen, progress)
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
    parts: Sequence[_Part],
    before: SimilarityGraph | None,
    embedder: Embedder,
    options: GraphOptions,
    progress: Progress | None,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The vectors of windows and sentences: the new ones embedded, document by document, the others as they were."""
    empty = np.zeros((0, embedder.dimensions), dtype=np.float32)
    of_windows, of_sentences = [empty], [empty]
    for number, part in enumerate(parts, start=1):
        if progress is not None:
            progress(number, len(parts), "sentences")
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
