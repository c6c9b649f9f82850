"""What retrievers draw on: the passage index, and graphs over the passages that are made when first wanted.

A graph is kept in a file beside the index and made anew when the passages have changed since.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import NamedNode

from kgplatform.errors import ModelError
from kgplatform.models.embed import LateInteraction, Reranker
from kgplatform.retrieval.entity_graph import EmbeddedTexts, EntityGraph, Knowledge, NearTexts
from kgplatform.retrieval.index import ChunkIndex, part
from kgplatform.retrieval.pagerank import KEYS, GraphPassage, PassageFact, PassageGraph
from kgplatform.retrieval.similarity import PUBLISHED, GraphOptions, SimilarityGraph, SourceText, similarity_graph
from kgplatform.text import count_tokens
from kgplatform.types import ChatModel, Embedder, Hit, Progress, Retriever

_Made = TypeVar("_Made")

AT_ONCE: Final = 2_000
"""So many passages are connected while a question waits, in about half a second; more by `build`."""
MOST_CONNECTED: Final = 200_000
"""More passages are not connected: it would take minutes, and gigabytes of memory."""
_SHARED: Final = "passages"


@dataclass(frozen=True, slots=True)
class Rows:
    """The query that a question became (None: none), and the IRIs of the things in its rows, in their order."""

    query: str | None
    things: tuple[str, ...] = ()


@dataclass(slots=True)
class Corpus:
    """The index, and ways to the passages, documents and the graph; ``folder`` None keeps what is made in memory.

    ``knowledge`` gives the same object until the graph changes. ``rows`` answers a question by a query, None: nobody
    can. ``has_given``: whether somebody gave statements of the passages.
    """

    index: ChunkIndex
    passages: Callable[[], Sequence[GraphPassage]] = tuple
    documents: Callable[[], Iterable[SourceText]] = tuple
    knowledge: Callable[[], Knowledge] = Knowledge
    rows: Callable[[str], Rows] | None = None
    model: ChatModel | None = None
    folder: Path | None = None
    reranker: Reranker | None = None
    has_given: Callable[[], bool] = bool
    _made: dict[str, tuple[object, Any]] = field(default_factory=dict)

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

    def passage_graph(self, *, stated: bool = False) -> PassageGraph:
        """The graph that ties passages by what they share; ``stated``: by the statements read in them too."""
        name, known = ("statements", self.knowledge()) if stated else (_SHARED, Knowledge())
        key = f"{name} {self.index.state} {known.state if known.things else ''}"

        def make() -> PassageGraph:
            file = self.folder / f"{name}.npz" if self.folder else None
            graph = PassageGraph.load(file, key) if file else None
            if graph is None:
                graph = PassageGraph.of(with_labels(self.passages(), known), stated_in(known))
                if file:
                    graph.save(file, key)
            return graph

        return self._kept(name, key, make)

    def shared_names(self) -> PassageGraph | None:
        """The graph of the passages by what they share, as far as it can be had while a question waits.

        A large one is used for the passages that came since it was made, up to a tenth of all, which nothing connects
        yet. None: `unconnected` says why.
        """
        graph = None
        if len(self.index) <= AT_ONCE:
            graph = self.passage_graph()
        elif self._is_connected():
            graph = self._kept(f"{_SHARED} then", self.index.state, self._grown)
        return None if graph is None or graph.is_bare else graph

    def unconnected(self) -> str:
        """Why there is no graph of shared names, as a key of the words of the interface; empty: there is one."""
        size = len(self.index)
        if not size or self.shared_names() is not None:
            return ""
        if size > MOST_CONNECTED:
            return "lacks_room"
        return "lacks_shared_names" if size <= AT_ONCE or self._is_connected() else "lacks_passage_graph"

    def connect(self, progress: Progress | None = None, *, sentences: bool = False) -> bool:
        """Whether the graph of shared names was made: one that a question could not wait for, and that is not kept.

        The similarity graph is brought in line if one is kept, or if ``sentences`` says that it will be asked.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        size = len(self.index)
        kept = self.folder is not None and (self.folder / "similarity.npz").is_file()
        if self.embedder is not None and size and (sentences or kept):
            self.similarity_graph(progress=progress)
        made = self.folder is not None and AT_ONCE < size <= MOST_CONNECTED and not self._is_connected()
        if made:
            if progress is not None:
                progress(0, size, "connect")
            self.passage_graph()
            self._made.pop(f"{_SHARED} are kept", None)
        if self.has_given() and (graph := self.shared_names()) is not None:
            with suppress(ModelError):  # a question will say so
                self.near_facts(graph)
        return made

    def forget(self) -> None:
        """Drops the graphs that tie passages: what is read of these, not the passages themselves, changes."""
        for name in (_SHARED, "statements"):
            for held in [held for held in self._made if held.startswith(name)]:
                del self._made[held]
            if self.folder:
                (self.folder / f"{name}.npz").unlink(missing_ok=True)

    def _is_connected(self) -> bool:
        """Whether a graph is kept that nine tenths of the passages, as they are now, are in."""
        return self._kept(f"{_SHARED} are kept", self.index.state, lambda: len(self._late()) * 10 <= len(self.index))

    def _late(self) -> NDArray[np.uint64]:
        """The keys of the passages that are not in the kept graph, and of those that are gone from it."""
        kept = part(self.folder / f"{_SHARED}.npz", KEYS) if self.folder else None
        return np.setxor1d(self.index.keys(), kept if kept is not None else np.zeros(0, dtype=np.uint64))

    def _grown(self) -> PassageGraph | None:
        graph = PassageGraph.load(self.folder / f"{_SHARED}.npz") if self.folder else None
        return graph and graph.grown(
            [item.iri for item in self.index.scored(dict.fromkeys(self._late().tolist(), 0.0))]
        )

    def near_facts(self, graph: PassageGraph, *, stated: bool = False, by_words: bool = False) -> NearTexts:
        """The statements of a passage graph, which can be asked what is near; ``stated`` as it was made.

        Raises:
            ModelUnavailableError: the embedding model cannot be used; ``by_words`` does without it.
        """

        def make() -> NearTexts:
            texts = [fact.text for fact in graph.facts]
            vectors = None if by_words else self._vectors("texts" if stated else "given")
            near = NearTexts(texts, vectors)
            if vectors:
                vectors.keep((*self.knowledge().texts, *texts) if stated else texts)
            return near

        return self._kept(f"facts {stated} {by_words}", id(graph), make)

    def entity_graph(self) -> EntityGraph:
        """The graph of things and relations; what is embedded of it is embedded when first asked for."""
        known = self.knowledge()
        return self._kept("entities", known.state, lambda: EntityGraph(known, self._vectors()))

    def _vectors(self, name: str = "texts") -> EmbeddedTexts | None:
        """The vectors of names, relations, keywords and reports, shared by all that need some; or others by name."""
        embedder, file = self.embedder, self.folder / f"{name}.npz" if self.folder else None
        return self._kept(f"vectors {name}", embedder.name, lambda: EmbeddedTexts(embedder, file)) if embedder else None

    def similarity_graph(self, *, published: bool = False, progress: Progress | None = None) -> SimilarityGraph:
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
        if graph is None:
            graph = SimilarityGraph.load(self.folder / f"{name}.npz", kind) if self.folder else None
        if graph is None or graph.state != state:
            options = PUBLISHED if published else GraphOptions()
            made = similarity_graph(self.documents(), embedder, options, before=graph, progress=progress)
            graph = replace(made, state=state)
            if self.folder:
                graph.save(self.folder / f"{name}.npz", kind)
        self._made[name] = (state, graph)
        assert isinstance(graph, SimilarityGraph)
        return graph

    def _kept(self, name: str, key: object, make: Callable[[], _Made]) -> _Made:
        """What was made under the name for the same key, else what is made now."""
        held = self._made.get(name)
        if held is None or held[0] != key:
            held = self._made[name] = (key, make())
        made: _Made = held[1]
        return made


class ExplainingRetriever(ABC):
    """A retriever that can also say how it came to its hits, of passages unless ``finds_passages`` is off."""

    finds_passages: ClassVar[bool] = True

    @abstractmethod
    def explain(self, question: str, k: int) -> tuple[list[Hit], object]:
        """At most ``k`` hits, best first, and what led to them."""

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first; errors are those of `explain`."""
        return self.explain(question, k)[0]


def stated_in(known: Knowledge) -> Iterable[PassageFact]:
    """The relations that were read in passages, each once."""
    labels = {thing.iri: thing.label for thing in known.things}
    return dict.fromkeys(
        PassageFact(labels[relation.subject], relation.text, labels[relation.object])
        for relation in known.relations
        if relation.passages
    )


def with_labels(passages: Sequence[GraphPassage], known: Knowledge) -> Sequence[GraphPassage]:
    """The passages, the labels of the things that they mention among their names."""
    labels: dict[str, list[str]] = {}
    for thing in known.things:
        for passage in thing.passages:
            labels.setdefault(passage, []).append(thing.label)
    return [
        replace(passage, names=tuple(dict.fromkeys((*passage.names, *labels.get(passage.iri, ())))))
        for passage in passages
    ]


_DEPTH: Final = 200
_DEEPER: Final = 4


@dataclass(frozen=True, slots=True)
class ContextBlocks:
    """What an answer may be written from: lines on things, reports, relations, and passages, the best first."""

    things: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    passages: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The blocks as one text, each under its heading."""
        parts = {
            "Things": self.things,
            "Communities": self.reports,
            "Relations": self.relations,
            "Passages": self.passages,
        }
        return "\n\n".join(f"{name}\n" + "\n".join(lines) for name, lines in parts.items() if lines)


def within(lines: Iterable[str], tokens: int) -> tuple[str, ...]:
    """The first of the lines that together have at most so many tokens; a line is never cut."""
    kept: list[str] = []
    for line in lines:
        tokens -= count_tokens(line)
        if tokens < 0:
            break
        kept.append(line)
    return tuple(kept)


def thing_line(graph: EntityGraph, place: int) -> str:
    """A thing in one line: name (class), where it lies, and its description."""
    thing = graph.thing(place)
    head = f"{thing.label} ({thing.kind})" if thing.kind else thing.label
    where = " < ".join((head, *thing.above))
    return f"{where}: {thing.description}" if thing.description else where


def passage_hits(index: ChunkIndex, found: Sequence[tuple[str, float]], k: int, name: str) -> list[Hit]:
    """The first ``k`` of the passages that the index holds, as hits."""
    texts = index.texts([iri for iri, _ in found])
    held = [(iri, score) for iri, score in found if iri in texts][: max(k, 0)]
    return [Hit(NamedNode(iri), texts[iri], score, rank, name) for rank, (iri, score) in enumerate(held, start=1)]


def found_by(made: Retriever, question: str, k: int, per_document: int) -> tuple[list[Hit], object]:
    """What the retriever finds, as `spread` gives it, and what it tells of how; None where it tells nothing."""
    deep = k * _DEEPER if per_document and getattr(made, "finds_passages", True) else k
    if isinstance(made, ExplainingRetriever):
        hits, told = made.explain(question, deep)
        return spread(hits, k, per_document), told
    return spread(made.retrieve(question, deep), k, per_document), None


def spread(hits: Sequence[Hit], k: int, per_document: int) -> list[Hit]:
    """The first ``k`` hits; passages of a document beyond ``per_document`` (0: any number) only where no others are."""
    taken: Counter[str] = Counter()
    first: list[Hit] = []
    others: list[Hit] = []
    for hit in hits:
        document = hit.iri.value.rpartition("/chunk/")[0] or hit.iri.value
        taken[document] += 1
        (first if not per_document or taken[document] <= per_document else others).append(hit)
    return [replace(hit, rank=rank) for rank, hit in enumerate((*first, *others)[: max(k, 0)], start=1)]


def nearest_first(index: ChunkIndex, question: str, found: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """The passages by score; of equal ones those first that the words of the question find first."""
    order = {hit.iri: place for place, hit in enumerate(index.by_words(question, _DEPTH))}
    return sorted(found, key=lambda item: (-round(item[1], 9), order.get(item[0], _DEPTH), item[0]))
