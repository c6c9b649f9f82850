"""What retrievers draw on: the passage index, and graphs over the passages that are made when first wanted.

A graph is kept in a file beside the index and made anew when the passages have changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kgplatform.protocols import ChatModel, Embedder
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.pagerank import Fact, Passage, PassageGraph
from kgplatform.retrieval.similarity import PUBLISHED, GraphOptions, SimilarityGraph, SourceText, similarity_graph


@dataclass(slots=True)
class Sources:
    """The index, and ways to the passages, documents and statements; ``folder`` None keeps the graphs in memory."""

    index: ChunkIndex
    passages: Callable[[], Sequence[Passage]] = tuple
    documents: Callable[[], Iterable[SourceText]] = tuple
    facts: Callable[[], Iterable[Fact]] = tuple
    model: ChatModel | None = None
    folder: Path | None = None
    _made: dict[str, tuple[str, object]] = field(default_factory=dict)

    @property
    def embedder(self) -> Embedder | None:
        """The index's embedding model."""
        return self.index.embedder

    def passage_graph(self) -> PassageGraph:
        """The graph that ties passages by titles, names and rare phrases."""
        key = f"passages {self.index.state}"
        held = self._held("passages", key)
        if isinstance(held, PassageGraph):
            return held
        graph = PassageGraph.load(self.folder / "passages.npz", key) if self.folder else None
        if graph is None:
            graph = PassageGraph.of(self.passages())
            if self.folder:
                graph.save(self.folder / "passages.npz", key)
        self._made["passages"] = (key, graph)
        return graph

    def similarity_graph(self, *, published: bool = False) -> SimilarityGraph:
        """The similarity graph of the documents, as we build it or as the article's code does.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        name = "similarity-published" if published else "similarity"
        embedder = self.embedder
        if embedder is None:
            raise ValueError("a similarity graph needs an embedding model")
        key = f"{name} {self.index.state} {embedder.name}"
        held = self._held(name, key)
        if isinstance(held, SimilarityGraph):
            return held
        graph = SimilarityGraph.load(self.folder / f"{name}.npz", key) if self.folder else None
        if graph is None:
            graph = similarity_graph(self.documents(), embedder, PUBLISHED if published else GraphOptions())
            if self.folder:
                graph.save(self.folder / f"{name}.npz", key)
        self._made[name] = (key, graph)
        return graph

    def _held(self, name: str, key: str) -> object:
        held = self._made.get(name)
        return held[1] if held and held[0] == key else None
