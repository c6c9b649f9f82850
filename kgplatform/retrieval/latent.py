"""Passages in a space of few dimensions learnt from themselves: latent semantic indexing and averaged word vectors.

Both are learnt when first wanted and kept beside the index. When passages have changed, the new ones are placed in the
space as it is; it is learnt anew when more than a tenth of the passages differ from those that it was learnt from.

Word vectors come from the passages too (how often words stand near each other, as positive pointwise mutual
information, reduced by a singular value decomposition), so that no vectors have to be fetched, Chinese has some, and
an airport's codes as well. Source: O. Levy, Y. Goldberg, I. Dagan, Improving Distributional Similarity with Lessons
Learned from Word Embeddings, 2015. LSI: S. Deerwester et al., Indexing by Latent Semantic Analysis, 1990.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kgplatform.retrieval import arrays
from kgplatform.retrieval.arrays import Arrays
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.termspace import TermSpace, token_lists

LSI_DIMENSIONS: Final = 200
WORD_DIMENSIONS: Final = 100
_WINDOW: Final = 5
_LEAST_COUNT: Final = 2
_MOST_WORDS: Final = 30_000
_LEARNT_FROM: Final = 50_000
_SMOOTHING: Final = 0.75
_REFIT: Final = 0.1


class LatentSpace:
    """The passages of a term space as vectors of unit length in a learnt space."""

    def __init__(self, space: TermSpace, kept: Arrays, weigh: Callable[[TermSpace, str], dict[int, float]]) -> None:
        self.keys = space.keys
        self.vectors: NDArray[np.float16] = kept.arrays["vectors"]
        self._space = space
        self._directions: NDArray[np.float32] = kept.arrays["directions"]
        self._weigh = weigh

    def vector(self, text: str) -> NDArray[np.float32] | None:
        """The text in the space, of unit length; None: no word of it is known."""
        weights = self._weigh(self._space, text)
        if not weights or not self._directions.shape[1]:
            return None
        placed = np.array(list(weights.values()), dtype=np.float32) @ self._directions[list(weights)]
        length = float(np.linalg.norm(placed))
        return np.asarray(placed / length, dtype=np.float32) if length > 0 else None

    def cosines(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """How like each passage is to the vector."""
        return np.asarray(self.vectors @ vector, dtype=np.float32)


def lsi_space(space: TermSpace, index: ChunkIndex, folder: Path | None) -> LatentSpace:
    """The passages by the main directions of their TF-IDF vectors.

    Raises:
        WorkspaceError: the disk refuses.
    """
    kept = _kept("lsi", space, index.state, folder, lambda: _lsi_directions(space), _normalised(space))
    return LatentSpace(space, kept, TermSpace.weights)


def word_space(space: TermSpace, index: ChunkIndex, folder: Path | None) -> LatentSpace:
    """The passages as the means of their words' vectors.

    Raises:
        WorkspaceError: the disk refuses.
    """

    def learn() -> NDArray[np.float32]:
        return word_directions(token_lists(index, _LEARNT_FROM), space.vocabulary)

    return LatentSpace(space, _kept("words", space, index.state, folder, learn, space.matrix), _counts)


def _counts(space: TermSpace, text: str) -> dict[int, float]:
    return {place: weight / space.idf(place) for place, weight in space.weights(text).items()}


def _normalised(space: TermSpace) -> Callable[[], Any]:
    def made() -> Any:
        from scipy.sparse import diags

        return diags(1 / np.maximum(space.norms, 1e-9)) @ space.matrix() @ diags(space.idfs())

    return made


def _kept(
    name: str,
    space: TermSpace,
    state: str,
    folder: Path | None,
    learn: Callable[[], NDArray[np.float32]],
    matrix: Callable[[], Any],
) -> Arrays:
    """Directions of the terms and vectors of the passages, as kept or made."""
    kept = arrays.held(folder, name, state) if folder else None
    if kept is not None:
        return kept
    old = arrays.held(folder, name) if folder else None
    origin = _origin(old, space) if old else None
    if old is None or origin is None:
        directions, origin = learn(), space.keys ^ space.digests
    else:
        directions = _carried_over(old, space)
    vectors = np.asarray(matrix() @ directions, dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)
    made = Arrays(
        {"directions": directions, "vectors": vectors.astype(np.float16), "origin": origin},
        {"vocabulary": space.vocabulary},
    )
    if folder:
        arrays.keep(folder, name, state, made)
    return made


def _origin(old: Arrays, space: TermSpace) -> NDArray[np.uint64] | None:
    """What the old directions were learnt from, if that is still nearly what there is."""
    origin: NDArray[np.uint64] = np.asarray(old.arrays["origin"])
    now = space.keys ^ space.digests
    differing = len(np.setxor1d(origin, now))
    return origin if differing <= _REFIT * max(len(origin), 1) else None


def _carried_over(old: Arrays, space: TermSpace) -> NDArray[np.float32]:
    """The old directions for the terms as they stand now; a new term points nowhere until they are learnt anew."""
    directions = old.arrays["directions"]
    places = {term: place for place, term in enumerate(old.texts["vocabulary"])}
    found = np.zeros((len(space.vocabulary), directions.shape[1]), dtype=np.float32)
    for place, term in enumerate(space.vocabulary):
        if term in places:
            found[place] = directions[places[term]]
    return found


def _lsi_directions(space: TermSpace) -> NDArray[np.float32]:
    matrix = _normalised(space)()
    # the idf of a term weighs a question's count too (`TermSpace.weights`), so the directions hold none
    return _main_directions(matrix, LSI_DIMENSIONS)


def _main_directions(matrix: Any, most: int) -> NDArray[np.float32]:
    from sklearn.decomposition import TruncatedSVD

    count = min(most, min(matrix.shape) - 1)
    if count < 1 or not matrix.nnz:
        return np.ones((matrix.shape[1], 1), dtype=np.float32)
    fitted = TruncatedSVD(count, random_state=0, n_iter=4).fit(matrix)
    return np.asarray(fitted.components_.T, dtype=np.float32)


def word_directions(texts: Iterable[Sequence[str]], vocabulary: Sequence[str]) -> NDArray[np.float32]:
    """A vector for each word of the vocabulary, from what stands near it in the texts; zeros for rare words."""
    places = {word: place for place, word in enumerate(vocabulary)}
    numbered = [np.array([places[word] for word in text if word in places], dtype=np.int64) for text in texts]
    everything = np.concatenate(numbered) if numbered else np.zeros(0, dtype=np.int64)
    frequency = np.bincount(everything, minlength=len(vocabulary))
    frequent = np.argsort(-frequency, kind="stable")[:_MOST_WORDS]
    frequent = frequent[frequency[frequent] >= _LEAST_COUNT]
    if len(frequent) < 3:
        return np.zeros((len(vocabulary), 1), dtype=np.float32)
    compact = np.full(len(vocabulary), -1, dtype=np.int64)
    compact[frequent] = np.arange(len(frequent))
    weights = _mutual_information(_neighbours([compact[text] for text in numbered], len(frequent)))
    found = _word_vectors(weights)
    vectors = np.zeros((len(vocabulary), found.shape[1]), dtype=np.float32)
    vectors[frequent] = found
    return vectors


def _neighbours(texts: Sequence[NDArray[np.int64]], size: int) -> Any:
    """How often two words stand at most a window apart, the nearer the more (1 / distance)."""
    from scipy.sparse import coo_matrix

    total = coo_matrix((size, size)).tocsr()
    gap = np.full(_WINDOW, -1, dtype=np.int64)  # no pairs across texts
    line = np.concatenate([part for text in texts for part in (text, gap)])
    for distance in range(1, _WINDOW + 1):
        left, right = line[:-distance], line[distance:]
        both = (left >= 0) & (right >= 0)
        pairs = (left[both], right[both])
        total = total + coo_matrix((np.full(len(pairs[0]), 1 / distance), pairs), shape=(size, size)).tocsr()
    return total + total.T


def _mutual_information(together: Any) -> Any:
    """Positive pointwise mutual information, contexts smoothed."""
    pairs = together.tocoo()
    if not pairs.nnz:
        return pairs.tocsr()
    alone = np.asarray(together.sum(axis=1)).ravel()
    context = alone**_SMOOTHING / (alone**_SMOOTHING).sum()
    expected = alone[pairs.row] * context[pairs.col]
    pairs.data = np.maximum(np.log(pairs.data / expected), 0)
    found = pairs.tocsr()
    found.eliminate_zeros()
    return found


def _word_vectors(weights: Any) -> NDArray[np.float32]:
    from sklearn.decomposition import TruncatedSVD

    count = min(WORD_DIMENSIONS, weights.shape[0] - 1)
    if not weights.nnz:
        return np.zeros((weights.shape[0], 1), dtype=np.float32)
    fitted = TruncatedSVD(count, random_state=0, n_iter=4)
    placed = fitted.fit_transform(weights)
    return np.asarray(placed / np.sqrt(np.maximum(fitted.singular_values_, 1e-9)), dtype=np.float32)
