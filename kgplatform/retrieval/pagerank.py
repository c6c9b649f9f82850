"""Personalised PageRank over passages and the names that they share: multi-hop questions in one walk.

The graph is built without a model: a passage is tied to the passages whose titles it mentions and to the names and
rare phrases that it shares with others, each the weaker the more passages have it (1 / log(1 + n)). Statements, where
there are any, tie the names to each other. A question gives weight to the passages nearest to it, to those whose title
it names, and to both ends of the statements nearest to it; the walk spreads the weight, and passages are ranked by
what reaches them. Source of the idea: Gutiérrez et al., From RAG to Memory (HippoRAG 2), 2025, section 3; here the
seeds are a softmax over likeness, and no model filters the statements. `PassageGraph.rank_stated` is their formula as
published, less that filter, over the statements alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kgplatform.retrieval import saving
from kgplatform.retrieval.phrases import NameFinder, name_key, phrases, shared, title_keys
from kgplatform.retrieval.words import passage_key

_FORMAT: Final = 1
_ROUNDS: Final = 20
_MOST_OWN: Final = 20
_PASSAGE_WEIGHT: Final = 0.05
_STATED: Final = 5


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage with its document's title, and the names of the things known to be mentioned in it."""

    iri: str
    title: str
    text: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement by the names of its two ends, and in words."""

    subject: str
    text: str
    object: str


class Ties(Enum):
    """What ties passages: the titles, names and phrases that they share, the statements read in them, or both."""

    SHARED = "shared"
    STATED = "stated"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class WalkWeights:
    """How a question is spread.

    ``temperature`` of the softmax over the cosines of the nearest passages, ``title`` and ``facts`` the weight of named
    titles and of near statements beside it, ``nearest_facts`` how many count, ``damping`` the share that walks on.
    """

    temperature: float = 0.08
    title: float = 0.3
    facts: float = 1.0
    nearest_facts: int = 5
    damping: float = 0.5


class PassageGraph:
    """Passages, names and statements as one graph, ready to be walked.

    ``passages`` are IRIs; a passage is known by its place among them, and a name by a place behind.
    """

    def __init__(
        self,
        passages: Sequence[str],
        facts: Sequence[Fact],
        titles: Mapping[str, Sequence[int]],
        nodes: Mapping[str, int],
        transitions: Any,
    ) -> None:
        self.passages = tuple(passages)
        self.facts = tuple(facts)
        self._titles = titles
        self._find_titles = NameFinder(titles)
        self._nodes = nodes
        self._transitions = transitions
        self._columns: Any = None
        self._places: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.passages)

    @classmethod
    def of(cls, passages: Sequence[Passage], facts: Iterable[Fact] = (), *, ties: Ties = Ties.BOTH) -> PassageGraph:
        """The graph of the passages, tied by what they share and by the statements."""
        made = _Ties(passages, tuple(facts), ties)
        return cls([passage.iri for passage in passages], made.facts, made.titles, made.nodes, made.transitions())

    def placed(self, found: Iterable[tuple[int, float]]) -> dict[int, float]:
        """Passages by their keys in an index (`kgplatform.retrieval.words.passage_key`), by their places instead."""
        if not self._places:
            self._places = {passage_key(iri): place for place, iri in enumerate(self.passages)}
        return {self._places[key]: value for key, value in found if key in self._places}

    def save(self, path: Path, made_from: str) -> None:
        """Writes the graph; ``made_from`` tells one set of passages from another.

        Raises:
            WorkspaceError: the disk refuses.
        """
        matrix = self._transitions
        saving.save(
            path,
            {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr},
            {
                "format": _FORMAT,
                "made_from": made_from,
                "passages": self.passages,
                "facts": [(fact.subject, fact.text, fact.object) for fact in self.facts],
                "titles": {key: list(owners) for key, owners in self._titles.items()},
                "nodes": dict(self._nodes),
            },
        )

    @classmethod
    def load(cls, path: Path, made_from: str) -> PassageGraph | None:
        """The graph in the file; None: there is none, it is damaged, or it was made from other passages."""
        from scipy.sparse import csr_matrix

        held = saving.load(path)
        if held is None:
            return None
        arrays, texts = held
        if (texts.get("format"), texts.get("made_from")) != (_FORMAT, made_from):
            return None
        size = len(texts["passages"]) + len(texts["nodes"])
        matrix = csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(size, size))
        return cls(texts["passages"], [Fact(*fact) for fact in texts["facts"]], texts["titles"], texts["nodes"], matrix)

    def rank(
        self,
        question: str,
        near: Mapping[int, float],
        near_facts: Mapping[int, float] | None = None,
        weights: WalkWeights | None = None,
    ) -> NDArray[np.float64]:
        """What reaches each passage, in their order; the sum is at most 1.

        ``near`` are passages (by their place) with their cosine to the question, ``near_facts`` statements likewise.
        """
        chosen = weights or WalkWeights()
        seeds = np.zeros(self._transitions.shape[0])
        for passage, share in _softmax(near, chosen.temperature).items():
            seeds[passage] += share
        named = self._find_titles(question)
        for key in named:
            for owner in self._titles[key]:
                seeds[owner] += chosen.title / len(named) / len(self._titles[key])
        for number, share in _shares(near_facts or {}, chosen.nearest_facts).items():
            for key in (name_key(self.facts[number].subject), name_key(self.facts[number].object)):
                if key in self._nodes:
                    seeds[self._nodes[key]] += chosen.facts * share / 2
        reached: NDArray[np.float64] = self._spread(seeds, chosen.damping)[: len(self.passages)]
        return reached

    def rank_stated(self, near: Mapping[int, float], near_facts: Mapping[int, float]) -> NDArray[np.float64]:
        """What reaches each passage by the published formula: seeds on ends of the nearest statements, and on passages.

        An end's weight is the mean likeness of its statements by the number of passages that have it; a passage's is
        0.05 of its likeness, scaled to 0..1 over the passages given. Damping is 0.5. Source: HippoRAG 2, section 3 and
        appendix.
        """
        seeds = np.zeros(self._transitions.shape[0])
        least, most = min(near.values(), default=0.0), max(near.values(), default=0.0)
        for passage, cosine in near.items():
            seeds[passage] = _PASSAGE_WEIGHT * (cosine - least) / ((most - least) or 1.0)
        held: dict[int, list[float]] = {}
        for number, cosine in sorted(near_facts.items(), key=lambda item: (-item[1], item[0]))[:_STATED]:
            fact = self.facts[number]
            for key in dict.fromkeys((name_key(fact.subject), name_key(fact.object))):
                if key in self._nodes:
                    held.setdefault(self._nodes[key], []).append(cosine)
        for node, cosines in held.items():
            seeds[node] = sum(cosines) / len(cosines) / max(self._holders(node), 1)
        reached: NDArray[np.float64] = self._spread(seeds, 0.5)[: len(self.passages)]
        return reached

    def _holders(self, node: int) -> int:
        """How many passages have the name."""
        if self._columns is None:
            self._columns = self._transitions.tocsc()
        matrix = self._columns
        return int((matrix.indices[matrix.indptr[node] : matrix.indptr[node + 1]] < len(self.passages)).sum())

    def _spread(self, seeds: NDArray[np.float64], damping: float) -> NDArray[np.float64]:
        """Personalised PageRank by power iteration (Page et al. 1999; Haveliwala 2002)."""
        total = seeds.sum()
        if not total:
            return seeds
        start = seeds / total
        spread: NDArray[np.float64] = start
        for _ in range(_ROUNDS):  # at a damping of 0.5 the rest is below a millionth
            spread = (1 - damping) * start + damping * (self._transitions @ spread)
        return spread


class _Ties:
    """The edges of a passage graph in the making."""

    def __init__(self, passages: Sequence[Passage], facts: tuple[Fact, ...], ties: Ties) -> None:
        self.facts = facts
        self.titles = _titles(passages)
        self.nodes: dict[str, int] = {}
        self._count = len(passages)
        self._weights: dict[tuple[int, int], float] = {}
        if ties is not Ties.STATED:
            self._tie_titles(passages)
            self._tie_phrases(passages)
        if ties is not Ties.SHARED:
            self._tie_facts(passages)

    def transitions(self) -> Any:
        """Column j holds how weight at node j moves on: its edges by their share."""
        return _transitions(self._weights, self._count + len(self.nodes))

    def _tie_titles(self, passages: Sequence[Passage]) -> None:
        find = NameFinder(self.titles)
        for number, passage in enumerate(passages):
            for key in find(passage.text):
                owners = self.titles[key]
                for owner in owners[:_MOST_OWN]:
                    if owner != number:
                        self._tie(number, owner, 1 / len(owners))

    def _tie_phrases(self, passages: Sequence[Passage]) -> None:
        held = {n: phrases(f"{p.title}. {p.text}") | set(map(name_key, p.names)) for n, p in enumerate(passages)}
        for key, holders in shared(held).items():
            node = self._node(key)
            for holder in holders:
                self._tie(holder, node, 1 / math.log(1 + len(holders)))

    def _tie_facts(self, passages: Sequence[Passage]) -> None:
        stated = {key for fact in self.facts for key in (name_key(fact.subject), name_key(fact.object)) if key}
        for number, passage in enumerate(passages):
            for key in dict.fromkeys(map(name_key, passage.names)):
                if key in stated:
                    self._tie(number, self._node(key), 1.0)
        for fact in self.facts:
            ends = name_key(fact.subject), name_key(fact.object)
            if all(ends) and ends[0] != ends[1]:
                self._tie(self._node(ends[0]), self._node(ends[1]), 1.0)

    def _node(self, key: str) -> int:
        return self.nodes.setdefault(key, self._count + len(self.nodes))

    def _tie(self, one: int, other: int, weight: float) -> None:
        for pair in ((one, other), (other, one)):
            self._weights[pair] = self._weights.get(pair, 0.0) + weight


def _titles(passages: Sequence[Passage]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, passage in enumerate(passages):
        for key in title_keys(passage.title):
            found.setdefault(key, []).append(number)
    return found


def _transitions(weights: Mapping[tuple[int, int], float], size: int) -> Any:
    from scipy.sparse import csr_matrix, diags

    places = np.array(list(weights), dtype=np.int64).reshape(-1, 2)
    matrix = csr_matrix((np.array(list(weights.values())), (places[:, 1], places[:, 0])), shape=(size, size))
    leaving = np.asarray(matrix.sum(axis=0)).ravel()
    return (matrix @ diags(1 / np.where(leaving > 0, leaving, 1.0))).tocsr()


def _softmax(near: Mapping[int, float], temperature: float) -> dict[int, float]:
    if not near:
        return {}
    best = max(near.values())
    raised = {place: math.exp((cosine - best) / temperature) for place, cosine in near.items()}
    total = sum(raised.values())
    return {place: value / total for place, value in raised.items()}


def _shares(near: Mapping[int, float], most: int) -> dict[int, float]:
    """The nearest, by their share of the likeness."""
    best = sorted((item for item in near.items() if item[1] > 0), key=lambda item: (-item[1], item[0]))[:most]
    total = sum(cosine for _, cosine in best)
    return {number: cosine / total for number, cosine in best}
