"""Finding the passages that fit a question: one index, several methods, one interface."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from kgplatform.errors import ConfigError
from kgplatform.protocols import Retriever
from kgplatform.retrieval.dense import DenseRetriever
from kgplatform.retrieval.hybrid import HybridRetriever
from kgplatform.retrieval.lexical import LexicalRetriever
from kgplatform.retrieval.multihop import PageRankRetriever
from kgplatform.retrieval.sources import Sources
from kgplatform.retrieval.traversal import Rule
from kgplatform.retrieval.walking import SentenceRetriever, TiedSentenceRetriever, TraversalRetriever

_WALKS: Final = {
    f"{rule.value}{'-published' if published else ''}": partial(TraversalRetriever, rule=rule, published=published)
    for published in (False, True)
    for rule in Rule
}

RETRIEVERS: Final[Mapping[str, Callable[[Sources], Retriever]]] = {
    "lexical": lambda sources: LexicalRetriever(sources.index),
    "dense": lambda sources: DenseRetriever(sources.index),
    "hybrid": lambda sources: HybridRetriever(sources.index),
    "pagerank": PageRankRetriever,
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
