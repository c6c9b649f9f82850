"""Passages by their meaning: the cosine between the vectors of question and passage."""

from __future__ import annotations

from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.lexical import hits
from kgplatform.types import Hit


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
