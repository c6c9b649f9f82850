"""Passages by their words, and by their vectors."""

from __future__ import annotations

from pyoxigraph import NamedNode

from kgplatform.retrieval.index import ChunkIndex, FoundPassage
from kgplatform.types import Hit


class LexicalRetriever:
    """Finds the passages that use the words of the question, in their text or their document's title.

    By BM25 as tantivy computes it (k1 = 1.2, b = 0.75). Source: S. Robertson, H. Zaragoza, The Probabilistic Relevance
    Framework: BM25 and Beyond, 2009.
    """

    name = "lexical"

    def __init__(self, index: ChunkIndex) -> None:
        self._index = index

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first."""
        return hits(self._index.by_words(question, k), self.name)


class DenseRetriever:
    """Finds the passages whose vectors are nearest to the question's; nothing where there is no embedding model."""

    name = "dense"

    def __init__(self, index: ChunkIndex) -> None:
        self._index = index

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first; the score is the cosine.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        return hits(self._index.by_meaning(question, k), self.name)


def hits(found: list[FoundPassage], retriever: str) -> list[Hit]:
    """The found passages as hits, ranked from 1 in the order given."""
    return [
        Hit(iri=NamedNode(item.iri), text=item.text, score=item.score, rank=rank, retriever=retriever)
        for rank, item in enumerate(found, start=1)
    ]
