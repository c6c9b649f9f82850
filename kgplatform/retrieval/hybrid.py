"""Several rankings made one, by their ranks or by their scores.

Reciprocal rank fusion: a passage scores Σ weight / (60 + rank). Source: G. V. Cormack, C. L. A. Clarke, S. Büttcher,
Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods, SIGIR 2009; k = 60 is theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kgplatform.errors import ModelError
from kgplatform.protocols import Retriever
from kgplatform.retrieval.dense import DenseRetriever
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.lexical import LexicalRetriever
from kgplatform.text import language_of
from kgplatform.types import Hit

RANK_CONSTANT: Final = 60
_DEPTH: Final = 50


class HybridRetriever:
    """Finds passages by words and by meaning at once.

    Meaning has no say where the embedding model does not know the language of the question: an English model sees
    Chinese characters as unknown words, and its ranking would be chance. Nor has it where the model cannot be asked, as
    when its server is down; `ChunkIndex.away` then says why.
    """

    name = "hybrid"

    def __init__(self, index: ChunkIndex, *, lexical_weight: float = 1.0, dense_weight: float = 1.0) -> None:
        self._index = index
        self._lexical = LexicalRetriever(index)
        self._dense = DenseRetriever(index)
        self._lexical_weight = lexical_weight
        self._dense_weight = dense_weight

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first; the score is the fused one."""
        depth = max(_DEPTH, 2 * k) if k > 0 else 0
        by_words = self._lexical.retrieve(question, depth) if self._lexical_weight else []
        by_meaning = meant(self._index, self._dense, question, depth) if self._dense_weight else []
        return fused([(self._lexical_weight, by_words), (self._dense_weight, by_meaning)], k, self.name)


class WeightedRetriever:
    """Finds passages by words and by meaning at once, the scores of each side weighted and added.

    A side's scores are put between 0 (its last) and 1 (its first); a passage that a side did not find has 0 there.
    Unlike the fusion of ranks this keeps how far the first is ahead.
    """

    def __init__(self, index: ChunkIndex, *, words: int, meaning: int) -> None:
        self.name = f"hybrid-{words}-{meaning}"
        self._index = index
        self._lexical = LexicalRetriever(index)
        self._dense = DenseRetriever(index)
        self._words, self._meaning = words / (words + meaning), meaning / (words + meaning)

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first; the score is the weighted one, at most 1."""
        depth = max(_DEPTH, 2 * k) if k > 0 else 0
        by_words = self._lexical.retrieve(question, depth)
        by_meaning = meant(self._index, self._dense, question, depth)
        return added([(self._words, by_words), (self._meaning, by_meaning)], k, self.name)


def speaks(index: ChunkIndex, question: str) -> bool:
    """Whether vectors have a say: there are usable ones, and their model knows the language of the question."""
    return not index.misfit and (not index.languages or language_of(question) in index.languages)


def meant(index: ChunkIndex, dense: Retriever, question: str, depth: int) -> list[Hit]:
    """The hits by meaning, none where vectors have no say; ``index.away`` says why the model cannot be asked, if so."""
    if not speaks(index, question):
        return []
    try:
        found = dense.retrieve(question, depth)
    except ModelError as error:
        index.away = str(error)
        return []
    index.away = ""
    return found


def added(rankings: Iterable[tuple[float, list[Hit]]], k: int, name: str) -> list[Hit]:
    """The first ``k`` by the weighted sum of their scores, each ranking's put between 0 and 1."""
    scores: dict[str, float] = {}
    known: dict[str, Hit] = {}
    for weight, ranking in rankings:
        least, most = (ranking[-1].score, ranking[0].score) if ranking else (0.0, 0.0)
        for hit in ranking:
            share = (hit.score - least) / (most - least) if most > least else 1.0
            known.setdefault(hit.iri.value, hit)
            scores[hit.iri.value] = scores.get(hit.iri.value, 0.0) + weight * share
    return _first(scores, known, k, name)


def fused(rankings: Iterable[tuple[float, list[Hit]]], k: int, name: str) -> list[Hit]:
    """The first ``k`` of the weighted rankings taken together; equal scores in the order of their IRIs."""
    scores: dict[str, float] = {}
    known: dict[str, Hit] = {}
    for weight, ranking in rankings:
        for hit in ranking:
            known.setdefault(hit.iri.value, hit)
            scores[hit.iri.value] = scores.get(hit.iri.value, 0.0) + weight / (RANK_CONSTANT + hit.rank)
    return _first(scores, known, k, name)


def _first(scores: dict[str, float], known: dict[str, Hit], k: int, name: str) -> list[Hit]:
    best = sorted(scores, key=lambda iri: (-round(scores[iri], 12), iri))[: max(k, 0)]
    return [
        Hit(iri=known[iri].iri, text=known[iri].text, score=scores[iri], rank=rank, retriever=name)
        for rank, iri in enumerate(best, start=1)
    ]
