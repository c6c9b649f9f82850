"""The similarity graph: three-sentence windows joined by the likeness of their vectors, with their sentences below.

A window is joined with the windows of its own document that are most like it, and with those of others. The edges
have a direction: the nearest neighbours of one need not have it among theirs. Source: the semantic similarity graph
of the traversal article (design of its public code, as of November 2025).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kgplatform.retrieval import saving

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
        saving.save(
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
        held = saving.load(path)
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

    def themes_of(self, window: int) -> tuple[str, ...]:
        """The themes of the window, which are those of its document."""
        name = self.document_of(window)
        return next((document.themes for document in self.documents if document.iri == name), ())

    def text_of(self, window: int) -> str:
        """The sentences of the window, joined by blanks."""
        return " ".join(self.sentences[number].text for number in self.windows[window])
