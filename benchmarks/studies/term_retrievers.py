"""Passages by the counts of their terms: TF-IDF, latent semantic indexing and averaged word vectors.

The product has none of them: BM25 finds as much, and the learnt spaces less (docs/results.md).

Word vectors come from the passages themselves (how often words stand near each other, as positive pointwise mutual
information, reduced by a singular value decomposition). Source: O. Levy, Y. Goldberg, I. Dagan, Improving
Distributional Similarity with Lessons Learned from Word Embeddings, 2015. LSI: S. Deerwester et al., Indexing by Latent
Semantic Analysis, 1990. Maximal marginal relevance takes next what is like the question and unlike what was taken:
0.7 · cos(question, passage) - 0.3 · the greatest cosine to a passage taken. Source: J. Carbonell, J. Goldstein, The
Use of MMR, SIGIR 1998.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from kgplatform.retrieval.index import ChunkIndex, analyzer, latin
from kgplatform.retrieval.lexical import hits
from kgplatform.retrieval.pagerank import chinese_words
from kgplatform.retrieval.sources import Corpus
from kgplatform.text import has_han
from kgplatform.types import Hit

LSI_DIMENSIONS: Final = 200
WORD_DIMENSIONS: Final = 100
_WINDOW: Final = 5
_LEAST_COUNT: Final = 2
_MOST_WORDS: Final = 30_000
_SMOOTHING: Final = 0.75
_RELEVANCE: Final = 0.7
_LOOKED_AT: Final = 50
_MOST_CHOSEN: Final = 200


def terms(text: str) -> list[str]:
    """The stems of the English words of a text, then its Chinese words as jieba cuts them."""
    found = list(analyzer().analyze(latin(text)))
    return [*found, *chinese_words(text)] if has_han(text) else found


class TermSpace:
    """All passages of an index by count times inverse document frequency of their terms, as scikit-learn smooths it."""

    def __init__(self, index: ChunkIndex) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        passages = list(index.passages())
        self.keys = [passage.key for passage in passages]
        self.texts = [terms(f"{passage.title}\n{passage.text}") for passage in passages]
        self.vocabulary = list(dict.fromkeys(term for text in self.texts for term in text)) or ["?"]
        self._weighing = TfidfVectorizer(analyzer=list, vocabulary=self.vocabulary, norm=None, lowercase=False)
        self.matrix: Any = self._weighing.fit_transform(self.texts or [[]])
        self.norms: NDArray[np.float64] = np.sqrt(np.asarray(self.matrix.multiply(self.matrix).sum(axis=1)).ravel())

    def weights(self, text: str) -> Any:
        """A text as a row of the matrix."""
        return self._weighing.transform([terms(text)])

    @property
    def idfs(self) -> NDArray[np.float64]:
        """ln((1 + passages) / (1 + passages with the term)) + 1 of each term."""
        return np.asarray(self._weighing.idf_)

    @cached_property
    def lsi(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The passages in the main directions of their TF-IDF vectors, and the directions."""
        from scipy.sparse import diags
        from sklearn.decomposition import TruncatedSVD

        # the idf of a term weighs a question's count too, so the directions hold none
        matrix = diags(1 / np.maximum(self.norms, 1e-9)) @ self.matrix
        count = min(LSI_DIMENSIONS, min(matrix.shape) - 1)
        if count < 1 or not matrix.nnz:
            directions = np.ones((matrix.shape[1], 1), dtype=np.float32)
        else:
            directions = np.asarray(TruncatedSVD(count, random_state=0, n_iter=4).fit(matrix).components_.T, np.float32)
        return _of_unit_length(matrix @ directions), directions

    @cached_property
    def words(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The passages as the means of their words' vectors, and these."""
        directions = word_directions(self.texts, self.vocabulary)
        return _of_unit_length(self._counts(self.matrix) @ directions), directions

    def cosines(self, text: str, *, words: bool) -> NDArray[np.float32]:
        """How like the text each passage is in a learnt space; zeros where no word of it is known."""
        vectors, directions = self.words if words else self.lsi
        weights = self.weights(text)
        placed = np.asarray((self._counts(weights) if words else weights) @ directions, np.float32).ravel()
        length = float(np.linalg.norm(placed))
        return np.asarray(vectors @ (placed / length) if length > 0 else np.zeros(len(vectors)), np.float32)

    def _counts(self, weights: Any) -> Any:
        from scipy.sparse import diags

        return weights @ diags(1 / self.idfs)


def _of_unit_length(vectors: Any) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)


_SPACES: Final[WeakKeyDictionary[ChunkIndex, tuple[str, TermSpace]]] = WeakKeyDictionary()
"""The term space of each index with the state that it was made of: all methods share it."""


class _TermRetriever(ABC):
    """Passages by what is computed from the counts of their terms."""

    name: str

    def __init__(self, sources: Corpus) -> None:
        self._index = sources.index

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first."""
        if k < 1 or not len(self._index):
            return []
        state, space = _SPACES.get(self._index, ("", None))
        if space is None or state != self._index.state:
            space = TermSpace(self._index)
            _SPACES[self._index] = (self._index.state, space)
        return hits(
            self._index.scored({space.keys[n]: value for n, value in self._scored(space, question, k)}), self.name
        )

    @abstractmethod
    def _scored(self, space: TermSpace, question: str, k: int) -> Iterable[tuple[int, float]]:
        """At most ``k`` passages by their places, with their scores; none where no term of the question is known."""


# Source: G. Salton, C. Buckley, Term-weighting approaches in automatic text retrieval, 1988; weights as scikit-learn's.
class TfidfRetriever(_TermRetriever):
    """Finds the passages whose TF-IDF vectors have the smallest angle to the question's; the score is the cosine."""

    name = "tfidf"

    def _scored(self, space: TermSpace, question: str, k: int) -> Iterable[tuple[int, float]]:
        weights = space.weights(question)
        length = float(np.sqrt(weights.multiply(weights).sum())) or 1.0
        cosines = (space.matrix @ weights.T).toarray().ravel() / np.maximum(space.norms, 1e-9) / length
        return [(place, float(cosines[place])) for place in best(cosines, k) if cosines[place] > 0]


class EuclideanRetriever(_TermRetriever):
    """Finds the passages whose TF-IDF vectors, at their full length, end nearest to the question's.

    Short passages are near to everything: the method is here to be compared with. The score is 1 / (1 + distance).
    """

    name = "tfidf-euclidean"

    def _scored(self, space: TermSpace, question: str, k: int) -> Iterable[tuple[int, float]]:
        weights = space.weights(question)
        if not weights.nnz:
            return []
        products, length = (space.matrix @ weights.T).toarray().ravel(), float(weights.multiply(weights).sum())
        nearness = 1 / (1 + np.sqrt(np.maximum(np.square(space.norms) - 2 * products + length, 0)))
        return [(place, float(nearness[place])) for place in best(nearness, k)]


class LsiRetriever(_TermRetriever):
    """Finds the passages about the same as the question, by latent semantic indexing; the score is the cosine."""

    name = "lsi"

    def _scored(self, space: TermSpace, question: str, k: int) -> Iterable[tuple[int, float]]:
        cosines = space.cosines(question, words=False)
        return [(place, float(cosines[place])) for place in best(cosines, k) if cosines[place] > 0]


class WordVectorRetriever(_TermRetriever):
    """Finds the passages whose words are on average like the question's, and among those unlike ones first.

    The score is the marginal relevance, at most 0.7.
    """

    name = "word-vectors"

    def _scored(self, space: TermSpace, question: str, k: int) -> Iterable[tuple[int, float]]:
        cosines = space.cosines(question, words=True)
        near = [place for place in best(cosines, max(_LOOKED_AT, 2 * k)) if cosines[place] > 0]
        chosen = marginal_relevance(cosines[near], space.words[0][near], k)
        return [(near[place], value) for place, value in chosen]


def marginal_relevance(cosines: NDArray[np.float32], vectors: NDArray[np.float32], k: int) -> list[tuple[int, float]]:
    """The places of at most ``k`` vectors by maximal marginal relevance, with it; it never rises.

    Of more than 200 the others follow by what they have then.
    """
    repeats = np.zeros(len(cosines), dtype=np.float32)
    open_ = np.ones(len(cosines), dtype=np.bool_)
    chosen: list[tuple[int, float]] = []
    while len(chosen) < min(k, len(cosines), _MOST_CHOSEN):
        values = np.where(open_, _RELEVANCE * cosines - (1 - _RELEVANCE) * repeats, -np.inf)
        place = int(np.argmax(values))
        chosen.append((place, float(values[place])))
        open_[place] = False
        repeats = np.maximum(repeats, vectors @ vectors[place])
    values = _RELEVANCE * cosines - (1 - _RELEVANCE) * repeats
    rest = [int(place) for place in np.argsort(-values, kind="stable") if open_[place]]
    return chosen + [(place, float(values[place])) for place in rest[: max(0, k - len(chosen))]]


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
