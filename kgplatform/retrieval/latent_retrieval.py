"""Passages by learnt vectors: LSI by the cosine, averaged word vectors with what repeats others put back.

Maximal marginal relevance takes next what is like the question and unlike what was taken:
0.7 · cos(question, passage) - 0.3 · the greatest cosine to a passage taken. Source: J. Carbonell, J. Goldstein, The
Use of MMR, SIGIR 1998.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from kgplatform.retrieval.latent import LatentSpace
from kgplatform.retrieval.lexical import hits
from kgplatform.retrieval.sources import Sources
from kgplatform.retrieval.termspace import best
from kgplatform.types import Hit

_RELEVANCE: Final = 0.7
_LOOKED_AT: Final = 50
_MOST_CHOSEN: Final = 200


class LsiRetriever:
    """Finds the passages about the same as the question, by latent semantic indexing."""

    name = "lsi"

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first; the score is the cosine in the learnt space."""
        if k < 1:
            return []
        space = self._sources.lsi_space()
        vector = space.vector(question)
        if vector is None:
            return []
        cosines = space.cosines(vector)
        scored = {int(space.keys[place]): float(cosines[place]) for place in best(cosines, k) if cosines[place] > 0}
        return hits(self._sources.index.scored(scored), self.name)


class WordVectorRetriever:
    """Finds the passages whose words are on average like the question's, and among those unlike ones first."""

    name = "word-vectors"

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first; the score is the marginal relevance, at most 0.7."""
        if k < 1:
            return []
        space = self._sources.word_space()
        vector = space.vector(question)
        if vector is None:
            return []
        cosines = space.cosines(vector)
        near = [place for place in best(cosines, max(_LOOKED_AT, 2 * k)) if cosines[place] > 0]
        chosen = marginal_relevance(cosines[near], _vectors(space, near), k)
        scored = {int(space.keys[near[place]]): value for place, value in chosen}
        return hits(self._sources.index.scored(scored), self.name)


def _vectors(space: LatentSpace, places: list[int]) -> NDArray[np.float32]:
    return np.asarray(space.vectors[places], dtype=np.float32)


def marginal_relevance(
    cosines: NDArray[np.float32], vectors: NDArray[np.float32], k: int, *, relevance: float = _RELEVANCE
) -> list[tuple[int, float]]:
    """The places of at most ``k`` vectors by maximal marginal relevance, with it; it never rises.

    Of more than 200 the others follow by what they have then.
    """
    repeats = np.zeros(len(cosines), dtype=np.float32)
    open_ = np.ones(len(cosines), dtype=np.bool_)
    chosen: list[tuple[int, float]] = []
    while len(chosen) < min(k, len(cosines), _MOST_CHOSEN):
        values = np.where(open_, relevance * cosines - (1 - relevance) * repeats, -np.inf)
        place = int(np.argmax(values))
        chosen.append((place, float(values[place])))
        open_[place] = False
        repeats = np.maximum(repeats, vectors @ vectors[place])
    values = relevance * cosines - (1 - relevance) * repeats
    rest = [int(place) for place in np.argsort(-values, kind="stable") if open_[place]]
    return chosen + [(place, float(values[place])) for place in rest[: max(0, k - len(chosen))]]
