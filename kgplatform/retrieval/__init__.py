"""Finding the passages that fit a question: one index, several methods, one interface."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Final

from kgplatform.errors import ConfigError
from kgplatform.protocols import Retriever
from kgplatform.retrieval.dense import DenseRetriever
from kgplatform.retrieval.hybrid import HybridRetriever
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.lexical import LexicalRetriever

RETRIEVERS: Final[Mapping[str, Callable[[ChunkIndex], Retriever]]] = {
    "lexical": LexicalRetriever,
    "dense": DenseRetriever,
    "hybrid": HybridRetriever,
}
"""How passages can be found, by name."""


def retriever(name: str, index: ChunkIndex) -> Retriever:
    """The retriever of that name over the index.

    Raises:
        ConfigError: there is none of that name; the message offers the nearest.
    """
    make = RETRIEVERS.get(name)
    if make is None:
        near = difflib.get_close_matches(name, RETRIEVERS, n=1, cutoff=0.5)
        offer = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(RETRIEVERS)}"
        raise ConfigError(f"no retriever is called {name!r}; {offer}", setting=name)
    return make(index)
