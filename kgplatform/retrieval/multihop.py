"""Passages that answer together: what is near the question, and what is tied to that by titles and names."""

from __future__ import annotations

from typing import Final

import numpy as np
from pyoxigraph import NamedNode

from kgplatform.retrieval.sources import Sources
from kgplatform.text import language_of
from kgplatform.types import Hit

_NEAR: Final = 200
_WORDS_SCALE: Final = 0.4
"""The best passage by words counts like a cosine of this size above none."""


class PageRankRetriever:
    """Ranks passages by personalised PageRank over the passage graph (`kgplatform.retrieval.pagerank`).

    Where the embedding model does not know the language of the question, nearness is by words.
    """

    name = "pagerank"

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first; the score is the share of the walk that reaches the passage.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        if k < 1:
            return []
        graph = self._sources.passage_graph()
        places = {iri: place for place, iri in enumerate(graph.passages)}
        near = {places[iri]: value for iri, value in near_passages(self._sources, question) if iri in places}
        reached = graph.rank(question, near)
        best = [int(place) for place in np.argsort(-reached, kind="stable")[:k] if reached[place] > 0]
        texts = self._sources.index.texts([graph.passages[place] for place in best])
        found = [(graph.passages[place], float(reached[place])) for place in best]
        return [
            Hit(NamedNode(iri), texts.get(iri, ""), score, rank, self.name)
            for rank, (iri, score) in enumerate(found, start=1)
        ]


def near_passages(sources: Sources, question: str, count: int = _NEAR) -> list[tuple[str, float]]:
    """The passages nearest to the question with their cosine, or with what stands for it where words must do."""
    index = sources.index
    if index.embedder and (not index.languages or language_of(question) in index.languages):
        return [(found.iri, found.score) for found in index.by_meaning(question, count)]
    by_words = index.by_words(question, count)
    best = by_words[0].score if by_words else 1.0
    return [(found.iri, _WORDS_SCALE * found.score / best) for found in by_words]
