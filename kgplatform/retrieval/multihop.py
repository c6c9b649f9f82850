"""Passages that answer together: what is near the question, and what is tied to that by titles and names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kgplatform.retrieval.context import passage_hits
from kgplatform.retrieval.hybrid import speaks
from kgplatform.retrieval.pagerank import PassageGraph, Ties, WalkWeights
from kgplatform.retrieval.sources import Sources
from kgplatform.retrieval.words import passage_key
from kgplatform.types import Hit

_NEAR: Final = 200
_WORDS_SCALE: Final = 0.4
"""The best passage by words counts like a cosine of this size above none."""
_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class PageRankTrace:
    """Where a walk began: the nearest passages (IRIs) and statements (words), each with its likeness."""

    passages: tuple[tuple[str, float], ...]
    statements: tuple[tuple[str, float], ...]


class PageRankRetriever:
    """Ranks passages by personalised PageRank over the passage graph (`kgplatform.retrieval.pagerank`).

    Statements that were read in the passages tie them too, where there are any. With ``ties`` of shared names only,
    they are left out; with statements only, the formula is that of HippoRAG 2. Where the embedding model does not know
    the language of the question, nearness is by words.
    """

    def __init__(self, sources: Sources, *, ties: Ties = Ties.BOTH, name: str = "pagerank") -> None:
        self.name = name
        self._sources = sources
        self._ties = ties

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first; the score is the share of the walk that reaches the passage.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        return self.explain(question, k)[0]

    def explain(self, question: str, k: int) -> tuple[list[Hit], PageRankTrace]:
        """The hits, and where the walk began."""
        if k < 1:
            return [], PageRankTrace((), ())
        graph = self._sources.passage_graph(ties=self._ties)
        near = graph.placed(near_passages(self._sources, question))
        stated = self._stated(graph, question)
        published = self._ties is Ties.STATED
        reached = graph.rank_stated(near, stated) if published else graph.rank(question, near, stated)
        best = [int(place) for place in np.argsort(-reached, kind="stable")[:k] if reached[place] > 0]
        hits = passage_hits(
            self._sources.index, [(graph.passages[place], float(reached[place])) for place in best], k, self.name
        )
        seeds = sorted(near.items(), key=lambda item: -item[1])[:_SHOWN]
        return hits, PageRankTrace(
            tuple((graph.passages[place], value) for place, value in seeds),
            tuple((graph.facts[number].text, value) for number, value in stated.items()),
        )

    def _stated(self, graph: PassageGraph, question: str) -> dict[int, float]:
        if not graph.facts:
            return {}
        near = self._sources.near_facts(graph).near(question, WalkWeights().nearest_facts)
        return {item.place: item.similarity for item in near}


def near_passages(sources: Sources, question: str, count: int = _NEAR) -> list[tuple[int, float]]:
    """The keys of the passages nearest to the question with their cosine, or with what stands for it by words."""
    index = sources.index
    if index.embedder and speaks(index, question):
        return index.nearest(question, count)
    by_words = index.by_words(question, count)
    best = by_words[0].score if by_words else 1.0
    return [(passage_key(found.iri), _WORDS_SCALE * found.score / best) for found in by_words]
