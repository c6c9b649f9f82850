"""Passages by their words: BM25 as tantivy computes it (k1 = 1.2, b = 0.75).

Source: S. Robertson, H. Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009.
"""

from __future__ import annotations

from pyoxigraph import NamedNode

from kgplatform.retrieval.index import ChunkIndex, Found
from kgplatform.types import Hit


class LexicalRetriever:
    """Finds the passages that use the words of the question, in their text or their document's title."""

    name = "lexical"

    def __init__(self, index: ChunkIndex) -> None:
        self._index = index

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first."""
        return hits(self._index.by_words(question, k), self.name)


def hits(found: list[Found], retriever: str) -> list[Hit]:
    """The found passages as hits, ranked from 1 in the order given."""
    return [
        Hit(iri=NamedNode(item.iri), text=item.text, score=item.score, rank=rank, retriever=retriever)
        for rank, item in enumerate(found, start=1)
    ]
