"""Passages by weighted counts of their terms: TF-IDF with the cosine, and with the Euclidean distance.

Source: G. Salton, C. Buckley, Term-weighting approaches in automatic text retrieval, 1988; weights as scikit-learn's.
"""

from __future__ import annotations

import numpy as np

from kgplatform.retrieval.lexical import hits
from kgplatform.retrieval.sources import Sources
from kgplatform.retrieval.termspace import best
from kgplatform.types import Hit


class TfidfRetriever:
    """Finds the passages whose TF-IDF vectors have the smallest angle to the question's."""

    name = "tfidf"

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits that share a term with the question, best first; the score is the cosine."""
        if k < 1:
            return []
        space = self._sources.term_space()
        weights = space.weights(question)
        if not weights:
            return []
        length = float(np.sqrt(sum(weight * weight for weight in weights.values())))
        cosines = space.products(weights) / np.maximum(space.norms, np.float32(1e-9)) / np.float32(length)
        scored = {int(space.keys[p]): float(cosines[p]) for p in best(cosines, k) if cosines[p] > 0}
        return hits(self._sources.index.scored(scored), self.name)


class EuclideanRetriever:
    """Finds the passages whose TF-IDF vectors, at their full length, end nearest to the question's.

    Short passages are near to everything: the method is here to be compared with.
    """

    name = "tfidf-euclidean"

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first; the score is 1 / (1 + distance)."""
        if k < 1:
            return []
        space = self._sources.term_space()
        weights = space.weights(question)
        if not weights:
            return []
        length = sum(weight * weight for weight in weights.values())
        squares = np.maximum(np.square(space.norms) - 2 * space.products(weights) + np.float32(length), 0)
        nearness = 1 / (1 + np.sqrt(squares))
        scored = {int(space.keys[place]): float(nearness[place]) for place in best(nearness, k)}
        return hits(self._sources.index.scored(scored), self.name)
