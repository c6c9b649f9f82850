"""Finding the passages that fit a question: one index, several methods, one interface."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from kgplatform.errors import ConfigError
from kgplatform.protocols import Retriever
from kgplatform.retrieval.dense import DenseRetriever
from kgplatform.retrieval.dual_level import PUBLISHED as DUAL_LEVEL_PUBLISHED
from kgplatform.retrieval.dual_level import DualLevelRetriever, one_hop, without_clues
from kgplatform.retrieval.greedy import GreedyRetriever
from kgplatform.retrieval.hybrid import HybridRetriever, WeightedRetriever
from kgplatform.retrieval.latent_retrieval import LsiRetriever, WordVectorRetriever
from kgplatform.retrieval.lexical import LexicalRetriever
from kgplatform.retrieval.multihop import PageRankRetriever
from kgplatform.retrieval.multistage import MultiStageRetriever
from kgplatform.retrieval.pagerank import Ties
from kgplatform.retrieval.routing import RouterRetriever
from kgplatform.retrieval.seeded import CommunityRetriever, SeededRetriever
from kgplatform.retrieval.sources import Sources
from kgplatform.retrieval.tfidf import EuclideanRetriever, TfidfRetriever
from kgplatform.retrieval.traversal import Rule
from kgplatform.retrieval.walking import PlanningRetriever, SentenceRetriever, TiedSentenceRetriever, TraversalRetriever

_WALKS: Final = {
    f"{rule.value}{'-published' if published else ''}": partial(TraversalRetriever, rule=rule, published=published)
    for published in (False, True)
    for rule in Rule
}

RETRIEVERS: Final[Mapping[str, Callable[[Sources], Retriever]]] = {
    "lexical": lambda sources: LexicalRetriever(sources.index),
    "dense": lambda sources: DenseRetriever(sources.index),
    "hybrid": lambda sources: HybridRetriever(sources.index),
    "hybrid-9-1": lambda sources: WeightedRetriever(sources.index, words=9, meaning=1),
    "hybrid-5-5": lambda sources: WeightedRetriever(sources.index, words=5, meaning=5),
    "hybrid-1-9": lambda sources: WeightedRetriever(sources.index, words=1, meaning=9),
    "multi-stage": MultiStageRetriever,
    "tfidf": TfidfRetriever,
    "tfidf-euclidean": EuclideanRetriever,
    "lsi": LsiRetriever,
    "word-vectors": WordVectorRetriever,
    "pagerank": PageRankRetriever,
    "pagerank-shared": partial(PageRankRetriever, ties=Ties.SHARED, name="pagerank-shared"),
    "pagerank-stated": partial(PageRankRetriever, ties=Ties.STATED, name="pagerank-stated"),
    "greedy": GreedyRetriever,
    "dual-level": DualLevelRetriever,
    "dual-level-no-clues": partial(DualLevelRetriever, options=without_clues(), name="dual-level-no-clues"),
    "dual-level-one-hop": partial(DualLevelRetriever, options=one_hop(), name="dual-level-one-hop"),
    "dual-level-published": partial(DualLevelRetriever, options=DUAL_LEVEL_PUBLISHED, name="dual-level-published"),
    "communities": CommunityRetriever,
    "sparql": SeededRetriever,
    "router": RouterRetriever,
    "planning": PlanningRetriever,
    "sentences": SentenceRetriever,
    "tied-sentences": TiedSentenceRetriever,
    **_WALKS,
}
"""How passages, or sentences of them, can be found, by name."""


def retriever(name: str, sources: Sources) -> Retriever:
    """The retriever of that name over the passages.

    Raises:
        ConfigError: there is none of that name; the message offers the nearest.
    """
    make = RETRIEVERS.get(name)
    if make is None:
        near = difflib.get_close_matches(name, RETRIEVERS, n=1, cutoff=0.5)
        offer = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(RETRIEVERS)}"
        raise ConfigError(f"no retriever is called {name!r}; {offer}", setting=name)
    return make(sources)
