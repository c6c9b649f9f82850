"""Several rankings made one by reciprocal rank fusion: a passage scores Σ weight / (60 + rank).

Source: G. V. Cormack, C. L. A. Clarke, S. Büttcher, Reciprocal Rank Fusion outperforms Condorcet and individual Rank
Learning Methods, SIGIR 2009; k = 60 is theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

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
    Chinese characters as unknown words, and its ranking would be chance.
    """

    name = "hybrid"

    def __init__(self, index: ChunkIndex, *, lexical_weight: float = 1.0, dense_weight: float = 1.0) -> None:
        self._index = index
        self._lexical = LexicalRetriever(index)
        self._dense = DenseRetriever(index)
        self._lexical_weight = lexical_weight
        self._dense_weight = dense_weight

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first; the score is the fused one.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        depth = max(_DEPTH, 2 * k) if k > 0 else 0
        rankings = [
            (weight, part.retrieve(question, depth)) for weight, part in self._parts(language_of(question)) if weight
        ]
        return fused(rankings, k, self.name)

    def _parts(self, language: str) -> Iterable[tuple[float, Retriever]]:
        yield self._lexical_weight, self._lexical
        if not self._index.languages or language in self._index.languages:
            yield self._dense_weight, self._dense


def fused(rankings: Iterable[tuple[float, list[Hit]]], k: int, name: str) -> list[Hit]:
    """The first ``k`` of the weighted rankings taken together; equal scores in the order of their IRIs."""
    scores: dict[str, float] = {}
    known: dict[str, Hit] = {}
    for weight, ranking in rankings:
        for hit in ranking:
            known.setdefault(hit.iri.value, hit)
            scores[hit.iri.value] = scores.get(hit.iri.value, 0.0) + weight / (RANK_CONSTANT + hit.rank)
    best = sorted(scores, key=lambda iri: (-round(scores[iri], 12), iri))[: max(k, 0)]
    return [
        Hit(iri=known[iri].iri, text=known[iri].text, score=scores[iri], rank=rank, retriever=name)
        for rank, iri in enumerate(best, start=1)
    ]
