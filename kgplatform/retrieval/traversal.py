"""Sentences rather than passages: by the seven traversals, by planned paths, by likeness, or by the passage graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import NamedNode

from kgplatform.errors import ModelError, ModelUnavailableError
from kgplatform.models.json_replies import json_of
from kgplatform.models.prompts import render_messages
from kgplatform.retrieval.fusion import near_passages
from kgplatform.retrieval.similarity import Edge, SentenceNode, SimilarityGraph
from kgplatform.retrieval.sources import Corpus, ExplainingRetriever
from kgplatform.types import ChatModel, Hit

# Source: the model-guided traversal of the traversal article; as in its public code, a reply that cannot be used sends
# the walk to the nearest candidate.
_NEXT: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {"next": {"type": "integer"}},
    "required": ["next"],
    "additionalProperties": False,
}


class ModelGuide:
    """Chooses the steps of one walk by a model; see `kgplatform.retrieval.traversal.Guide`."""

    def __init__(self, model: ChatModel, graph: SimilarityGraph, question: str) -> None:
        self._model = model
        self._graph = graph
        self._question = question

    def __call__(self, gathered: Sequence[int], choices: Sequence[Edge]) -> int | None:
        """The place of the window to read next in ``choices``, None: enough; the first if the model is no help."""
        messages, _ = render_messages(
            "guide-walk",
            question=self._question,
            sentences=[self._text(number) for number in gathered],
            choices=[" ".join(self._text(number) for number in self._graph.windows[edge.target]) for edge in choices],
        )
        try:
            reply = json_of(self._model.complete(messages, schema=_NEXT).text, model=self._model.name)
        except ModelError:
            return 0
        chosen = reply.get("next")
        if not isinstance(chosen, int) or isinstance(chosen, bool) or not 0 <= chosen <= len(choices):
            return 0
        return chosen - 1 if chosen else None

    def _text(self, number: int) -> str:
        return " ".join(self._graph.sentences[number].text.split())


# All begin at the window nearest to the question and take up sentences until they have enough. Two profiles: in the
# *published* one the rules are those of the traversal article's public code, step by step; in the *repaired* one a walk
# may not stop before it has the sentences asked for while there is a window left to go to, and what was chosen is read.
# Where that code and the article differ, the code counts.
Vector: TypeAlias = NDArray[np.float32]

_HOPS: Final = 20
_ENOUGH: Final = 10
_EARLY: Final = 5
_SETTLED: Final = 8
_CHOICES: Final = 5


class WalkRule(StrEnum):
    """How a walk finds its next step."""

    BASIC = "basic"
    QUERY = "query"
    GRAPH = "kg"
    AVERAGE = "triangulation-average"
    GEOMETRIC = "triangulation-3d"
    FULL = "triangulation-full"
    GUIDED = "guided"


@dataclass(frozen=True, slots=True)
class WalkStep:
    """A window that the walk read, how it was rated, and how many sentences it brought."""

    window: int
    rating: float
    gained: int


@dataclass(frozen=True, slots=True)
class Walk:
    """The sentences in the order they were taken up, the windows read, and why the walk ended."""

    sentences: tuple[int, ...]
    steps: tuple[WalkStep, ...]
    stopped: str


Guide: TypeAlias = Callable[[Sequence[int], Sequence[Edge]], int | None]
"""Chooses among windows to go to (with their cosine to the question), given the sentences so far.

The answer is the place in the list, or None to stop.
"""


@dataclass(frozen=True, slots=True)
class WalkOptions:
    """``sentences`` ends the walk; ``repaired`` chooses the profile."""

    sentences: int = _ENOUGH
    hops: int = _HOPS
    repaired: bool = False


@dataclass(slots=True)
class _State:
    """A walk under way."""

    graph: SimilarityGraph
    windows: NDArray[np.float32]
    nodes: NDArray[np.float32]
    options: WalkOptions
    taken: dict[int, None] = field(default_factory=dict)
    read: dict[int, None] = field(default_factory=dict)
    steps: list[WalkStep] = field(default_factory=list)
    best: float = -1.0
    stopped: str = ""
    waiting: Iterator[int] | None = None

    def fresh(self, window: int) -> list[int]:
        return [number for number in self.graph.windows[window] if number not in self.taken]

    def take(self, window: int, rating: float) -> None:
        """Reads the window: its sentences that are new."""
        new = self.fresh(window)
        self.taken |= dict.fromkeys(new)
        self.best = max((self.best, *(float(self.nodes[number]) for number in new)))
        self.read[window] = None
        self.steps.append(WalkStep(window, rating, len(new)))

    def elsewhere(self) -> Edge | None:
        """Where a repaired walk goes on from a dead end: to the unread window most like the question."""
        if not self.options.repaired:
            return None
        if self.waiting is None:
            self.waiting = iter(np.argsort(-self.windows, kind="stable").tolist())
        for window in self.waiting:  # what is passed over has been read for good
            if window not in self.read and self.fresh(window):
                return Edge(window, float(self.windows[window]))
        return None

    @property
    def is_full(self) -> bool:
        return len(self.taken) >= self.options.sentences

    def result(self, reason: str) -> Walk:
        kept = tuple(self.taken)[: self.options.sentences]
        return Walk(kept, tuple(self.steps), self.stopped or reason)


def walk(
    graph: SimilarityGraph,
    question: Vector,
    rule: WalkRule,
    options: WalkOptions | None = None,
    *,
    guide: Guide | None = None,
) -> Walk:
    """The sentences that the rule leads to from the window nearest to the question (a vector of unit length).

    ``guide`` chooses the steps of `WalkRule.GUIDED`; without one the nearest candidate is taken, as that code does
    where the model's reply cannot be read.
    """
    state = _State(graph, graph.window_vectors @ question, graph.sentence_vectors @ question, options or WalkOptions())
    if not graph.windows or state.options.sentences < 1:
        return state.result("there is nothing to read")
    if rule is WalkRule.BASIC:
        return _basic(state)
    anchor = int(np.argmax(state.windows))
    state.take(anchor, float(state.windows[anchor]))
    if rule is WalkRule.GRAPH:
        return _along_edges(state, anchor)
    if rule is WalkRule.GUIDED:
        return _guided(state, anchor, guide)
    return _stepping(state, anchor, _ratings(rule, graph, question, state))


def _basic(state: _State) -> Walk:
    """Windows by their likeness to the question; stops when a sentence in hand beats the next window."""
    for window in np.argsort(-state.windows, kind="stable").tolist():
        rating = float(state.windows[window])
        early = not state.options.repaired and len(state.taken) >= _EARLY and rating < state.best
        if state.is_full or early:
            return state.result("has enough sentences" if state.is_full else "no window beats the best sentence")
        if state.fresh(window):
            state.take(window, rating)
    return state.result("has enough sentences" if state.is_full else "no window is left")


def _along_edges(state: _State, anchor: int) -> Walk:
    """From window to the nearest window with nothing read yet, as long as the likeness rises."""
    current, before = anchor, 0.0
    for hop in range(1, state.options.hops + 1):
        if state.is_full:
            break
        whole = [
            edge
            for edge in state.graph.edges[current]
            if len(state.fresh(edge.target)) == len(state.graph.windows[edge.target])
        ]
        nearest = max(whole, key=lambda edge: edge.cosine) if whole else state.elsewhere()
        if nearest is None:
            return state.result("no neighbour is unread")
        if hop > 1 and nearest.cosine <= before and not state.options.repaired:
            return state.result("the likeness no longer rises")
        current, before = nearest.target, nearest.cosine
        state.take(current, nearest.cosine)
    return state.result("has enough sentences" if state.is_full else "has gone far enough")


def _guided(state: _State, anchor: int, guide: Guide | None) -> Walk:
    """To one of the five unread neighbours most like the question, as the guide chooses."""
    current = anchor
    for _ in range(state.options.hops):
        if state.is_full:
            break
        unread = [Edge(w, float(state.windows[w])) for w in _neighbours(state, current) if w not in state.read]
        if not unread:
            unread = [edge] if (edge := state.elsewhere()) else []
        if not unread:
            return state.result("no neighbour is unread")
        choices = sorted(unread, key=lambda edge: -edge.cosine)[:_CHOICES]
        place = guide(tuple(state.taken), choices) if guide else 0
        if place is None:
            return state.result("the guide has seen enough")
        chosen = choices[place if 0 <= place < len(choices) else 0]
        current = chosen.target
        state.take(current, chosen.cosine)
    return state.result("has enough sentences" if state.is_full else "has gone far enough")


def _neighbours(state: _State, window: int) -> list[int]:
    return list(dict.fromkeys(edge.target for edge in state.graph.edges[window]))


@dataclass(frozen=True, slots=True)
class _Ratings:
    """How a rule rates what lies next to a window; more is better. ``settles``: whether what is in hand may end it."""

    windows: Callable[[int, Sequence[int]], NDArray[np.float32]]
    sentences: Callable[[int, Sequence[int]], NDArray[np.float32]]
    settled: Callable[[int, Sequence[int]], float] | None
    sentence_ends: bool


def _stepping(state: _State, anchor: int, ratings: _Ratings) -> Walk:
    """From window to the best-rated neighbour; a sentence that is rated better than every window may end the walk."""
    current = anchor
    pending: float | None = None
    for _ in range(state.options.hops):
        if state.is_full:
            break
        if pending is not None and current not in state.read:
            state.take(current, pending)
        chosen = _next(state, current, ratings)
        if chosen is None:
            break
        current, pending = chosen
        if state.options.repaired:
            state.take(current, pending)
    return state.result("has enough sentences" if state.is_full else "has gone far enough")


def _next(state: _State, current: int, ratings: _Ratings) -> tuple[int, float] | None:
    """The window to go to with its rating; None: the walk ends here, and `_State.stopped` says why."""
    near = _neighbours(state, current)
    rated = ratings.windows(current, near) if near else np.zeros(0, dtype=np.float32)
    if near and not state.options.repaired and (reason := _why_end(state, current, ratings, float(rated.max()))):
        state.stopped = reason
        return None
    unread = [Edge(window, float(value)) for window, value in zip(near, rated, strict=True) if window not in state.read]
    chosen = max(unread, key=lambda edge: edge.cosine, default=state.elsewhere())
    if chosen is None:
        state.stopped = "no neighbour is unread"
        return None
    return chosen.target, chosen.cosine


def _why_end(state: _State, current: int, ratings: _Ratings, best: float) -> str:
    """Why a published walk ends at the window although it has neighbours, the best of them rated so; else empty."""
    if ratings.settled and len(state.taken) >= _SETTLED and ratings.settled(current, tuple(state.taken)) > best:
        return "what is in hand beats every neighbour"
    inside = ratings.sentences(current, state.graph.windows[current])
    if ratings.sentence_ends and float(inside.max()) > best:
        return "a sentence beats every neighbour"
    return ""


def _ratings(rule: WalkRule, graph: SimilarityGraph, question: Vector, state: _State) -> _Ratings:
    if rule is WalkRule.QUERY:
        return _Ratings(
            windows=lambda _, near: state.windows[list(near)],
            sentences=lambda _, inside: state.nodes[list(inside)],
            settled=lambda *_: state.best,
            sentence_ends=False,
        )
    if rule is WalkRule.AVERAGE:
        return _average(graph, state)
    return _centroid(graph, question, flat=rule is WalkRule.GEOMETRIC)


def _average(graph: SimilarityGraph, state: _State) -> _Ratings:
    """The mean of the three likenesses of question, window and neighbour."""

    def windows(current: int, near: Sequence[int]) -> NDArray[np.float32]:
        likeness = graph.window_vectors[list(near)] @ graph.window_vectors[current]
        return _float32((state.windows[current] + state.windows[list(near)] + likeness) / 3)

    def sentences(current: int, inside: Sequence[int]) -> NDArray[np.float32]:
        return _float32((state.windows[current] + 2 * state.nodes[list(inside)]) / 3)

    def settled(current: int, taken: Sequence[int]) -> float:
        homes = [graph.sentences[number].windows[0] for number in taken]
        likeness = np.minimum(graph.window_vectors[homes] @ graph.window_vectors[current], 1.0)
        return float(((state.windows[current] + state.nodes[list(taken)] + likeness) / 3).max())

    return _Ratings(windows, sentences, settled, sentence_ends=True)


def _float32(values: NDArray[Any]) -> NDArray[np.float32]:
    return values.astype(np.float32, copy=False)


def _centroid(graph: SimilarityGraph, question: Vector, *, flat: bool) -> _Ratings:
    """How near the centre of the triangle question, window, neighbour lies to the question; no other rule to stop.

    ``flat``: in the space of the three main directions of question, windows and sentences.
    """
    directions = _float32(graph.moments.main_directions(question, 3)) if flat else None

    def place(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        return vectors if directions is None else _float32(vectors @ directions)

    asked = place(question[None, :])[0]

    def rated(current: int, points: NDArray[np.float32]) -> NDArray[np.float32]:
        centres = (asked + place(graph.window_vectors[current : current + 1]) + points) / 3
        return _float32(-np.linalg.norm(centres - asked, axis=1))

    return _Ratings(
        windows=lambda current, near: rated(current, place(graph.window_vectors[list(near)])),
        sentences=lambda current, inside: rated(current, place(graph.sentence_vectors[list(inside)])),
        settled=None,
        sentence_ends=True,
    )


def nearest_sentences(graph: SimilarityGraph, question: Vector, count: int) -> tuple[int, ...]:
    """The plain peer of every walk: the sentences most like the question, best first."""
    return tuple(np.argsort(-(graph.sentence_vectors @ question), kind="stable")[: max(count, 0)].tolist())


# The seven traversals choose one step at a time. Here a beam of paths grows from the windows nearest to the question; a
# path is worth the cosine between the question and the middle of its windows, so that one is preferred whose windows
# cover the question together, though none may do so alone. What is read are the sentences on the paths weighed, each by
# its own cosine and half the worth of the best path through it. Source: the future work named by the traversal article.
@dataclass(frozen=True, slots=True)
class PlanOptions:
    """``anchors`` windows to begin at, paths of at most ``depth`` windows, ``beam`` of them kept at each step.

    ``share`` of a path's worth counts beside the cosine of a sentence on it.
    """

    anchors: int = 10
    depth: int = 3
    beam: int = 32
    share: float = 0.5


@dataclass(frozen=True, slots=True)
class Path:
    """Windows in the order of the walk, and the cosine between their middle and the question."""

    windows: tuple[int, ...]
    worth: float


@dataclass(frozen=True, slots=True)
class QuestionPlan:
    """The sentences to read, best first with scores; ``chosen`` is the path of most worth, of ``weighed`` ones."""

    sentences: tuple[int, ...]
    scores: tuple[float, ...]
    chosen: Path
    weighed: int


def plan(graph: SimilarityGraph, question: Vector, count: int, options: PlanOptions | None = None) -> QuestionPlan:
    """At most ``count`` sentences that the paths of most worth lead to, for a question's vector of unit length."""
    chosen = options or PlanOptions()
    near = graph.window_vectors @ question
    if not graph.windows or count < 1:
        return QuestionPlan((), (), Path((), 0.0), 0)
    paths = list(_paths(graph, question, near, chosen))
    through: dict[int, float] = {}
    for path in paths:
        for window in path.windows:
            through[window] = max(through.get(window, -1.0), path.worth)
    cosines = graph.sentence_vectors @ question
    scores = _sentence_scores(graph, through, cosines, chosen.share)
    order = sorted(scores, key=lambda sentence: (-scores[sentence], sentence))[:count]
    best = max(paths, key=lambda path: (path.worth, -len(path.windows), [-window for window in path.windows]))
    return QuestionPlan(tuple(order), tuple(scores[sentence] for sentence in order), best, len(paths))


def _sentence_scores(
    graph: SimilarityGraph, through: dict[int, float], cosines: NDArray[np.float32], share: float
) -> dict[int, float]:
    scores: dict[int, float] = {}
    for window, worth in through.items():
        for sentence in graph.windows[window]:
            scores[sentence] = max(scores.get(sentence, -np.inf), float(cosines[sentence]) + share * worth)
    return scores


def _paths(graph: SimilarityGraph, question: Vector, near: NDArray[np.float32], options: PlanOptions) -> Iterator[Path]:
    """All paths that the beam has kept, those of one window first; the same windows in another order count once."""
    anchors = np.argsort(-near, kind="stable")[: options.anchors].tolist()
    beam = [Path((window,), float(near[window])) for window in anchors]
    sums = {path.windows: graph.window_vectors[path.windows[0]] for path in beam}
    yield from beam
    for _ in range(options.depth - 1):
        grown, sums = _grown(graph, question, beam, sums)
        beam = sorted(grown, key=lambda path: (-path.worth, path.windows))[: options.beam]
        yield from beam


def _grown(
    graph: SimilarityGraph, question: Vector, beam: Iterable[Path], sums: dict[tuple[int, ...], Vector]
) -> tuple[list[Path], dict[tuple[int, ...], Vector]]:
    """The paths one window longer, and the sums of their windows' vectors."""
    seen: set[frozenset[int]] = set()
    windows: list[tuple[int, ...]] = []
    rows: list[Vector] = []
    for path in beam:
        for target in (edge.target for edge in graph.edges[path.windows[-1]] if edge.target not in path.windows):
            longer = (*path.windows, target)
            if frozenset(longer) not in seen:
                seen.add(frozenset(longer))
                windows.append(longer)
                rows.append(sums[path.windows] + graph.window_vectors[target])
    if not rows:
        return [], {}
    points = np.array(rows, dtype=np.float32)
    lengths = np.linalg.norm(points, axis=1)
    worth = (points @ question) / np.where(lengths > 0, lengths, 1.0)
    paths = [Path(longer, float(value)) for longer, value in zip(windows, worth, strict=True)]
    return paths, dict(zip(windows, rows, strict=True))


_PASSAGE_WEIGHT: Final = 0.2
_FLOOR: Final = 1e-4


def sentence_iri(node: SentenceNode) -> NamedNode:
    """Where the sentence stands: its document with a character range (RFC 5147 §2.2.1)."""
    return NamedNode(f"{node.document}#char={node.start},{node.end}")


class TraversalRetriever:
    """One of the seven traversals as a retriever of sentences; ``published`` takes the rules as the article's code.

    `WalkRule.GUIDED` is led by the language model where there is one.
    """

    finds_passages = False

    def __init__(self, sources: Corpus, rule: WalkRule, *, published: bool = False) -> None:
        self.name = f"{rule.value}-published" if published else rule.value
        self._sources = sources
        self._rule = rule
        self._published = published

    def walk(self, question: str, k: int) -> tuple[SimilarityGraph, Walk]:
        """The walk with its steps, and the graph that it went through.

        Raises:
            ModelUnavailableError: there is no embedding model, or it cannot be used.
        """
        graph = self._sources.similarity_graph(published=self._published)
        options = WalkOptions(sentences=k, repaired=not self._published)
        model = self._sources.model if self._rule is WalkRule.GUIDED else None
        guide = ModelGuide(model, graph, question) if model else None
        return graph, walk(graph, embedded(self._sources, question), self._rule, options, guide=guide)

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` sentences in the order in which the walk took them up; the score is the cosine."""
        graph, found = self.walk(question, k)
        cosines = graph.sentence_vectors @ embedded(self._sources, question)
        return _hits(graph, found.sentences, cosines, self.name)


class PlanningRetriever(ExplainingRetriever):
    """Sentences on the paths that look best several steps ahead (`kgplatform.retrieval.traversal`)."""

    name = "planning"
    finds_passages = False

    def __init__(self, sources: Corpus, *, options: PlanOptions | None = None) -> None:
        self._sources = sources
        self._options = options

    def explain(self, question: str, k: int) -> tuple[list[Hit], QuestionPlan]:
        """At most ``k`` sentences, best first, scored by cosine and half the worth of the best path; and the plan.

        Raises:
            ModelUnavailableError: there is no embedding model, or it cannot be used.
        """
        graph = self._sources.similarity_graph()
        found = plan(graph, embedded(self._sources, question), k, self._options)
        scores = np.zeros(len(graph.sentences))
        scores[list(found.sentences)] = found.scores
        return _hits(graph, found.sentences, scores, self.name), found


class SentenceRetriever:
    """The sentences most like the question, plainly: the peer that every traversal is held against."""

    name = "sentences"
    finds_passages = False

    def __init__(self, sources: Corpus) -> None:
        self._sources = sources

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` sentences, best first; the score is the cosine.

        Raises:
            ModelUnavailableError: there is no embedding model, or it cannot be used.
        """
        graph, vector = self._sources.similarity_graph(), embedded(self._sources, question)
        return _hits(graph, nearest_sentences(graph, vector, k), graph.sentence_vectors @ vector, self.name)


class TiedSentenceRetriever(SentenceRetriever):
    """Sentences by their likeness and by how much of the passage graph's walk reaches the passage they stand in.

    score = cosine + 0.2 * ln(share of the walk + 0.0001): the two are taken as independent evidence.
    """

    name = "tied-sentences"

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` sentences, best first.

        Raises:
            ModelUnavailableError: there is no embedding model, or it cannot be used.
        """
        graph, vector = self._sources.similarity_graph(), embedded(self._sources, question)
        passages = self._sources.passage_graph()
        reached = passages.rank(question, passages.placed(near_passages(self._sources, question)))
        best: dict[str, float] = {}  # of each document
        for share, iri in zip(reached, passages.passages, strict=True):
            document = iri.rpartition("/chunk/")[0] or iri
            best[document] = max(best.get(document, 0.0), share)
        shares = np.array([best.get(node.document, 0.0) for node in graph.sentences])
        scores = graph.sentence_vectors @ vector + _PASSAGE_WEIGHT * np.log(shares + _FLOOR)
        order = np.argsort(-scores, kind="stable")[: max(k, 0)].tolist()
        return _hits(graph, order, scores, self.name)


def embedded(sources: Corpus, question: str) -> NDArray[np.float32]:
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
