"""Finding the passages that fit a question: one index, several methods, one interface."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from kgplatform.errors import ConfigError
from kgplatform.retrieval.entity_retrieval import (
    CommunityRetriever,
    DualLevelRetriever,
    GreedyRetriever,
    SeededRetriever,
)
from kgplatform.retrieval.fusion import HybridRetriever, MultiStageRetriever, PageRankRetriever, RouterRetriever
from kgplatform.retrieval.lexical import DenseRetriever, LexicalRetriever
from kgplatform.retrieval.sources import Corpus
from kgplatform.retrieval.traversal import (
    PlanningRetriever,
    SentenceRetriever,
    TiedSentenceRetriever,
    TraversalRetriever,
    WalkRule,
)
from kgplatform.types import Retriever

RETRIEVERS: Final[Mapping[str, Callable[[Corpus], Retriever]]] = {
    "pagerank-shared": partial(PageRankRetriever, stated=False),
    "pagerank": PageRankRetriever,
    "hybrid": lambda sources: HybridRetriever(sources.index),
    "lexical": lambda sources: LexicalRetriever(sources.index),
    "dense": lambda sources: DenseRetriever(sources.index),
    "multi-stage": MultiStageRetriever,
    "greedy": GreedyRetriever,
    "dual-level": DualLevelRetriever,
    "communities": CommunityRetriever,
    "sparql": SeededRetriever,
    "router": RouterRetriever,
    "planning": PlanningRetriever,
    "sentences": SentenceRetriever,
    "tied-sentences": TiedSentenceRetriever,
    **{rule.value: partial(TraversalRetriever, rule=rule) for rule in WalkRule},
}
"""How passages, or sentences of them, can be found, by name."""
OF_SENTENCES: Final = frozenset(("planning", "sentences", "tied-sentences", *(rule.value for rule in WalkRule)))
"""Those that find sentences, by the similarity graph."""
_REMOVED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("hybrid-9-1", "hybrid-5-5", "hybrid-1-9"), "hybrid"),
    **dict.fromkeys(("tfidf", "tfidf-euclidean", "lsi", "word-vectors"), "lexical"),
    **dict.fromkeys(("dual-level-no-clues", "dual-level-one-hop", "dual-level-published"), "dual-level"),
    **{f"{rule.value}-published": rule.value for rule in WalkRule},
    "pagerank-stated": "pagerank",
}
"""What earlier versions had and later ones left out, as it finds less; and what to take instead."""


def lacking(name: str, sources: Corpus) -> str:
    """What the retriever of that name would need and does not have here, as a key of the words of the interface.

    Empty: nothing is missing, or there is no passage at all.
    """
    if not len(sources.index):
        return ""
    if name == "pagerank-shared":
        return sources.unconnected()
    if name in ("greedy", "dual-level", "sparql"):
        return "" if any(thing.passages for thing in sources.knowledge().things) else "lacks_entities"
    if name == "pagerank":
        return "" if any(relation.passages for relation in sources.knowledge().relations) else "lacks_statements"
    return "lacks_communities" if name == "communities" and not sources.knowledge().reports else ""


def retriever(name: str, sources: Corpus) -> Retriever:
    """The retriever of that name over the passages.

    Raises:
        ConfigError: there is none of that name; the message offers the nearest.
    """
    make = RETRIEVERS.get(name)
    if name in _REMOVED:
        message = f"the retriever {name!r} is no longer there, as it finds less; name {_REMOVED[name]!r} instead"
        raise ConfigError(f"{message}, in `retrieval.retriever` or for this search", setting="retrieval.retriever")
    if make is None:
        near = difflib.get_close_matches(name, RETRIEVERS, n=1, cutoff=0.5)
        offer = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(RETRIEVERS)}"
        raise ConfigError(f"no retriever is named {name!r}; {offer}", setting=name)
    return make(sources)
