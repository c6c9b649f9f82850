"""Passages as counts of their terms: what TF-IDF, LSI and averaged word vectors are computed from.

A term is the stem of an English word, or a Chinese word as jieba cuts it; the title of the passage's document counts
as part of its text. When passages come or go only the new ones are cut into terms, the counts of the others are taken
over. The counts lie by term in mapped arrays, so that a question reads what its own terms have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kgplatform.retrieval import arrays
from kgplatform.retrieval.arrays import Arrays
from kgplatform.retrieval.index import ChunkIndex, IndexedPassage
from kgplatform.retrieval.phrases import chinese_words
from kgplatform.retrieval.terms import analyzer, latin
from kgplatform.text import has_han

_NAME: Final = "terms"


def terms(text: str) -> list[str]:
    """The terms of a text in their order, Chinese ones last.

    >>> terms("The Opening times of the museums"), terms("西栅的门票")
    (['the', 'open', 'time', 'of', 'the', 'museum'], ['西栅', '的', '门票'])
    """
    found = list(analyzer().analyze(latin(text)))
    return [*found, *chinese_words(text)] if has_han(text) else found


class TermSpace:
    """The counts of all passages; ``keys`` and ``digests`` say which passages, in the order of the keys."""

    def __init__(self, kept: Arrays) -> None:
        self.keys: NDArray[np.uint64] = kept.arrays["keys"]
        self.digests: NDArray[np.uint64] = kept.arrays["digests"]
        self.norms: NDArray[np.float32] = kept.arrays["norms"]
        self.vocabulary: list[str] = list(kept.texts["vocabulary"])
        self._starts: NDArray[np.int64] = kept.arrays["starts"]
        self._passages: NDArray[np.int32] = kept.arrays["passages"]
        self._counts: NDArray[np.uint16] = kept.arrays["counts"]
        self._places = {term: place for place, term in enumerate(self.vocabulary)}

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of(cls, index: ChunkIndex, folder: Path | None) -> TermSpace:
        """The term space of the passages, as kept in the folder, or brought up to date and kept there.

        Raises:
            WorkspaceError: the disk refuses.
        """
        kept = arrays.held(folder, _NAME, index.state) if folder else None
        if kept is None:
            old = arrays.held(folder, _NAME) if folder else None
            kept = _counted(index.passages(), cls(old) if old else None)
            if folder:
                arrays.keep(folder, _NAME, index.state, kept)
        return cls(kept)

    def weights(self, text: str) -> dict[int, float]:
        """The terms of a text that the passages have too, by their place: count times inverse document frequency."""
        counts = Counter(terms(text))
        found = {self._places[term]: count for term, count in counts.items() if term in self._places}
        return {place: count * self.idf(place) for place, count in found.items()}

    def idf(self, place: int) -> float:
        """ln((1 + passages) / (1 + passages with the term)) + 1, as scikit-learn smooths it."""
        having = int(self._starts[place + 1] - self._starts[place])
        return float(np.log((1 + len(self)) / (1 + having)) + 1)

    def idfs(self) -> NDArray[np.float64]:
        """`idf` of all terms."""
        return np.asarray(np.log((1 + len(self)) / (1 + np.diff(self._starts))) + 1)

    def products(self, weights: dict[int, float]) -> NDArray[np.float32]:
        """The product of a text's weights and those of each passage, not normalised."""
        found = np.zeros(len(self), dtype=np.float32)
        for place, weight in weights.items():
            start, end = self._starts[place], self._starts[place + 1]
            found[self._passages[start:end]] += self._counts[start:end] * np.float32(weight * self.idf(place))
        return found

    def matrix(self) -> Any:
        """The counts as a sparse matrix, a row for each passage."""
        from scipy.sparse import csc_matrix

        shape = (len(self), len(self.vocabulary))
        return csc_matrix((self._counts.astype(np.float32), self._passages, self._starts), shape=shape).tocsr()


def _counted(passages: Iterable[IndexedPassage], old: TermSpace | None) -> Arrays:
    """The counts of the passages; those of passages that the old ones have as they are, from there."""
    from scipy.sparse import csr_matrix, vstack

    held = zip(old.keys.tolist(), old.digests.tolist(), strict=True) if old else ()
    known = {pair: row for row, pair in enumerate(held)}
    places = {term: place for place, term in enumerate(old.vocabulary)} if old else {}
    seen: list[tuple[int, int]] = []
    rows: list[int] = []  # of the old matrix, or behind it the new ones in their order
    starts, columns, counts = [0], [], []
    for passage in passages:
        pair = (passage.key, passage.digest)
        seen.append(pair)
        if pair in known:
            rows.append(known[pair])
            continue
        rows.append(len(known) + len(starts) - 1)
        for term, count in Counter(terms(f"{passage.title}\n{passage.text}")).items():
            columns.append(places.setdefault(term, len(places)))
            counts.append(min(count, 65_535))
        starts.append(len(columns))
    new = csr_matrix((np.array(counts, np.float32), columns, starts), shape=(len(starts) - 1, len(places)))
    if old:
        before = old.matrix()
        before.resize((len(old), len(places)))
        new = vstack([before, new], format="csr")
    matrix = new[np.array(rows, dtype=np.int64)]
    return _arranged(matrix, np.array(seen, dtype=np.uint64).reshape(-1, 2), list(places))


def _arranged(matrix: Any, seen: NDArray[np.uint64], vocabulary: list[str]) -> Arrays:
    """The arrays of a term space; terms that no passage has any more are left out."""
    used = np.flatnonzero(np.asarray((matrix != 0).sum(axis=0)).ravel())
    by_term = matrix[:, used].tocsc()
    by_term.sort_indices()
    idf = np.log((1 + len(seen)) / (1 + np.diff(by_term.indptr))) + 1
    weighted = by_term.multiply(idf[None, :]).tocsr() if len(used) else by_term.tocsr()
    norms = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    return Arrays(
        {
            "keys": seen[:, 0],
            "digests": seen[:, 1],
            "norms": norms.astype(np.float32),
            "starts": by_term.indptr.astype(np.int64),
            "passages": by_term.indices.astype(np.int32),
            "counts": by_term.data.astype(np.uint16),
        },
        {"vocabulary": [vocabulary[place] for place in used.tolist()]},
    )


def best(values: NDArray[np.floating[Any]], k: int) -> list[int]:
    """The places of the ``k`` largest values, largest first; equal ones in their order."""
    wanted = min(max(k, 0), len(values))
    if not wanted:
        return []
    places = np.arange(len(values))
    if wanted < len(values):
        edge = np.partition(values, len(values) - wanted)[len(values) - wanted]
        places = np.flatnonzero(values >= edge)
    order = places[np.argsort(-values[places], kind="stable")]
    return [int(place) for place in order[:wanted]]


def token_lists(index: ChunkIndex, most: int) -> Iterator[Sequence[str]]:
    """The terms of at most so many passages, one list each; which ones is as good as chance."""
    for number, passage in enumerate(index.passages()):
        if number >= most:
            return
        yield terms(f"{passage.title}\n{passage.text}")
