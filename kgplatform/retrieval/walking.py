"""Sentences rather than passages: by the seven traversals, by planned paths, by likeness, or by the passage graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import NamedNode

from kgplatform.errors import ModelUnavailableError
from kgplatform.retrieval.guiding import ModelGuide
from kgplatform.retrieval.multihop import near_passages
from kgplatform.retrieval.planning import Plan, PlanOptions, plan
from kgplatform.retrieval.similarity import SentenceNode, SimilarityGraph
from kgplatform.retrieval.sources import Sources
from kgplatform.retrieval.traversal import Guide, Rule, Walk, WalkOptions, nearest_sentences, walk
from kgplatform.types import Hit

_PASSAGE_WEIGHT: Final = 0.2
_FLOOR: Final = 1e-4


def sentence_iri(node: SentenceNode) -> NamedNode:
    """Where the sentence stands: its document with a character range (RFC 5147 §2.2.1)."""
    return NamedNode(f"{node.document}#char={node.start},{node.end}")


class TraversalRetriever:
    """One of the seven traversals as a retriever of sentences; ``published`` takes the rules as the article's code.

    `Rule.GUIDED` is led by ``guide``, else by the language model where there is one.
    """

    def __init__(self, sources: Sources, rule: Rule, *, published: bool = False, guide: Guide | None = None) -> None:
        self.name = f"{rule.value}-published" if published else rule.value
        self._sources = sources
        self._rule = rule
        self._published = published
        self._guide = guide

    def walk(self, question: str, k: int) -> tuple[SimilarityGraph, Walk]:
        """The walk with its steps, and the graph that it went through.

        Raises:
            ModelUnavailableError: there is no embedding model, or it cannot be used.
        """
        graph = self._sources.similarity_graph(published=self._published)
        options = WalkOptions(sentences=k, repaired=not self._published)
        guide = self._guide
        if guide is None and self._rule is Rule.GUIDED and self._sources.model is not None:
            guide = ModelGuide(self._sources.model, graph, question)
        return graph, walk(graph, embedded(self._sources, question), self._rule, options, guide=guide)

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` sentences in the order in which the walk took them up; the score is the cosine."""
        graph, found = self.walk(question, k)
        cosines = graph.sentence_vectors @ embedded(self._sources, question)
        return _hits(graph, found.sentences, cosines, self.name)


class PlanningRetriever:
    """Sentences on the paths that look best several steps ahead (`kgplatform.retrieval.planning`)."""

    name = "planning"

    def __init__(self, sources: Sources, *, options: PlanOptions | None = None) -> None:
        self._sources = sources
        self._options = options

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` sentences, best first; the score is the cosine and half the worth of the best path.

        Raises:
            ModelUnavailableError: there is no embedding model, or it cannot be used.
        """
        return self.explain(question, k)[0]

    def explain(self, question: str, k: int) -> tuple[list[Hit], Plan]:
        """The hits, and the plan that they come from."""
        graph = self._sources.similarity_graph()
        found = plan(graph, embedded(self._sources, question), k, self._options)
        scores = np.zeros(len(graph.sentences))
        scores[list(found.sentences)] = found.scores
        return _hits(graph, found.sentences, scores, self.name), found


class SentenceRetriever:
    """The sentences most like the question, plainly: the peer that every traversal is held against."""

    name = "sentences"

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` sentences, best first; the score is the cosine.

        Raises:
            ModelUnavailableError: there is no embedding model, or it cannot be used.
        """
        graph, vector = self._sources.similarity_graph(), embedded(self._sources, question)
        return _hits(graph, nearest_sentences(graph, vector, k), graph.sentence_vectors @ vector, self.name)


class TiedSentenceRetriever:
    """Sentences by their likeness and by how much of the passage graph's walk reaches the passage they stand in.

    score = cosine + 0.2 * ln(share of the walk + 0.0001): the two are taken as independent evidence.
    """

    name = "tied-sentences"

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` sentences, best first.

        Raises:
            ModelUnavailableError: there is no embedding model, or it cannot be used.
        """
        graph, vector = self._sources.similarity_graph(), embedded(self._sources, question)
        passages = self._sources.passage_graph()
        reached = passages.rank(question, passages.placed(near_passages(self._sources, question)))
        homes = self._homes(graph, passages.passages)
        shares = np.array(
            [max((reached[place] for place in homes[node.document]), default=0.0) for node in graph.sentences]
        )
        scores = graph.sentence_vectors @ vector + _PASSAGE_WEIGHT * np.log(shares + _FLOOR)
        best = np.argsort(-scores, kind="stable")[: max(k, 0)].tolist()
        return _hits(graph, best, scores, self.name)

    def _homes(self, graph: SimilarityGraph, passages: Sequence[str]) -> dict[str, list[int]]:
        """The passages of each document."""
        found: dict[str, list[int]] = {node.document: [] for node in graph.sentences}
        for place, iri in enumerate(passages):
            document = iri.rpartition("/chunk/")[0] or iri
            if document in found:
                found[document].append(place)
        return found


def embedded(sources: Sources, question: str) -> NDArray[np.float32]:
    """The question's vector.

    Raises:
        ModelUnavailableError: there is no embedding model, or it cannot be used.
    """
    if sources.embedder is None:
        raise ModelUnavailableError("sentences are found by an embedding model, and there is none", model="")
    vector: NDArray[np.float32] = sources.embedder.embed([question])[0]
    return vector


def _hits(graph: SimilarityGraph, numbers: Sequence[int], scores: NDArray[np.floating], name: str) -> list[Hit]:
    return [
        Hit(sentence_iri(graph.sentences[number]), graph.sentences[number].text, float(scores[number]), rank, name)
        for rank, number in enumerate(numbers, start=1)
    ]
