"""What retrievers draw on: the passage index, and graphs over the passages that are made when first wanted.

A graph is kept in a file beside the index and made anew when the passages have changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kgplatform.models.reranking import LateInteraction, Reranker
from kgplatform.protocols import ChatModel, Embedder
from kgplatform.retrieval.entity_graph import EntityGraph
from kgplatform.retrieval.growing import similarity_graph
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.knowledge import Knowledge
from kgplatform.retrieval.latent import LatentSpace, lsi_space, word_space
from kgplatform.retrieval.nearness import NearTexts, TextVectors
from kgplatform.retrieval.pagerank import Fact, Passage, PassageGraph, Ties
from kgplatform.retrieval.similarity import PUBLISHED, GraphOptions, SimilarityGraph, SourceText
from kgplatform.retrieval.termspace import TermSpace


@dataclass(frozen=True, slots=True)
class Rows:
    """The query that a question became (None: none), and the IRIs of the things in its rows, in their order."""

    query: str | None
    things: tuple[str, ...] = ()


@dataclass(slots=True)
class Sources:
    """The index, and ways to the passages, documents and the graph; ``folder`` None keeps what is made in memory.

    ``knowledge`` gives the same object until the graph changes. ``rows`` answers a question by a query, None: nobody
    can.
    """

    index: ChunkIndex
    passages: Callable[[], Sequence[Passage]] = tuple
    documents: Callable[[], Iterable[SourceText]] = tuple
    knowledge: Callable[[], Knowledge] = Knowledge
    rows: Callable[[str], Rows] | None = None
    model: ChatModel | None = None
    folder: Path | None = None
    reranker: Reranker | None = None
    _made: dict[str, tuple[str, object]] = field(default_factory=dict)

    @property
    def embedder(self) -> Embedder | None:
        """The index's embedding model."""
        return self.index.embedder

    @property
    def judge(self) -> Reranker | None:
        """What rates passages against a question: the re-ranker of the settings, else the embedding model's tokens."""
        if self.reranker is not None:
            return self.reranker
        return LateInteraction(self.embedder) if self.embedder else None

    def passage_graph(self, *, ties: Ties = Ties.SHARED) -> PassageGraph:
        """The graph that ties passages by what they share, by the statements read in them, or by both."""
        name = {Ties.SHARED: "passages", Ties.STATED: "stated"}.get(ties, "statements")
        known = Knowledge() if ties is Ties.SHARED else self.knowledge()
        key = f"{name} {self.index.state} {known.state if known.things else ''}"
        held = self._held(name, key)
        if isinstance(held, PassageGraph):
            return held
        graph = PassageGraph.load(self.folder / f"{name}.npz", key) if self.folder else None
        if graph is None:
            graph = PassageGraph.of(_with_labels(self.passages(), known), _facts(known), ties=ties)
            if self.folder:
                graph.save(self.folder / f"{name}.npz", key)
        self._made[name] = (key, graph)
        return graph

    def near_facts(self, graph: PassageGraph) -> NearTexts:
        """The statements of a passage graph, which can be asked what is near.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        held = self._made.get("facts")
        if held and isinstance(held[1], NearTexts) and held[0] == str(id(graph)):
            return held[1]
        vectors = self._vectors()
        near = NearTexts([fact.text for fact in graph.facts], vectors)
        if vectors:
            vectors.keep(self.knowledge().texts)
        self._made["facts"] = (str(id(graph)), near)
        return near

    def entity_graph(self) -> EntityGraph:
        """The graph of things and relations; what is embedded of it is embedded when first asked for."""
        known = self.knowledge()
        held = self._made.get("entities")
        if held and isinstance(held[1], EntityGraph) and (held[1].knowledge is known or held[0] == known.state):
            return held[1]
        graph = EntityGraph(known, self._vectors())
        self._made["entities"] = (known.state, graph)
        return graph

    def _vectors(self) -> TextVectors | None:
        """The vectors of names, relations, keywords and reports, shared by all that need some of them."""
        if self.embedder is None:
            return None
        held = self._held("vectors", self.embedder.name)
        if isinstance(held, TextVectors):
            return held
        made = TextVectors(self.embedder, self.folder / "texts.npz" if self.folder else None)
        self._made["vectors"] = (self.embedder.name, made)
        return made

    def similarity_graph(self, *, published: bool = False) -> SimilarityGraph:
        """The similarity graph of the documents, as we build it or as the article's code does.

        It is kept, and brought in line by the documents that changed since.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        name = "similarity-published" if published else "similarity"
        embedder = self.embedder
        if embedder is None:
            raise ValueError("a similarity graph needs an embedding model")
        kind, state = f"{name} {embedder.name}", self.index.state
        _, graph = self._made.get(name, ("", None))
        if not isinstance(graph, SimilarityGraph):
            graph = SimilarityGraph.load(self.folder / f"{name}.npz", kind) if self.folder else None
        if graph is None or graph.state != state:
            options = PUBLISHED if published else GraphOptions()
            graph = replace(similarity_graph(self.documents(), embedder, options, before=graph), state=state)
            if self.folder:
                graph.save(self.folder / f"{name}.npz", kind)
        self._made[name] = (state, graph)
        return graph

    def term_space(self) -> TermSpace:
        """The passages as counts of their terms."""
        held = self._held("terms", self.index.state)
        if isinstance(held, TermSpace):
            return held
        made = TermSpace.of(self.index, self.folder)
        self._made["terms"] = (self.index.state, made)
        return made

    def lsi_space(self) -> LatentSpace:
        """The passages by the main directions of their terms."""
        return self._latent("lsi", lsi_space)

    def word_space(self) -> LatentSpace:
        """The passages as the means of their words' vectors."""
        return self._latent("words", word_space)

    def _latent(self, name: str, make: Callable[[TermSpace, ChunkIndex, Path | None], LatentSpace]) -> LatentSpace:
        held = self._held(name, self.index.state)
        if isinstance(held, LatentSpace):
            return held
        made = make(self.term_space(), self.index, self.folder)
        self._made[name] = (self.index.state, made)
        return made

    def _held(self, name: str, key: str) -> object:
        held = self._made.get(name)
        return held[1] if held and held[0] == key else None


def _facts(known: Knowledge) -> Iterable[Fact]:
    """The relations that were read in passages, each once."""
    labels = {thing.iri: thing.label for thing in known.things}
    return dict.fromkeys(
        Fact(labels[relation.subject], relation.text, labels[relation.object])
        for relation in known.relations
        if relation.passages
    )


def _with_labels(passages: Sequence[Passage], known: Knowledge) -> Sequence[Passage]:
    """The passages, the labels of the things that they mention among their names."""
    labels: dict[str, list[str]] = {}
    for thing in known.things:
        for passage in thing.passages:
            labels.setdefault(passage, []).append(thing.label)
    return [
        replace(passage, names=tuple(dict.fromkeys((*passage.names, *labels.get(passage.iri, ())))))
        for passage in passages
    ]
