"""The seven traversals of the similarity graph: one walk, seven rules for the next step.

All begin at the window nearest to the question and take up sentences until they have enough. Two profiles: in the
*published* one the rules are those of the traversal article's public code, step by step; in the *repaired* one a walk
may not stop before it has the sentences asked for while there is a window left to go to, and what was chosen is read.
Where that code and the article differ, the code counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgplatform.retrieval.similarity import Edge, SimilarityGraph

Vector: TypeAlias = NDArray[np.float32]

_HOPS: Final = 20
_ENOUGH: Final = 10
_EARLY: Final = 5
_SETTLED: Final = 8
_CHOICES: Final = 5


class Rule(StrEnum):
    """How a walk finds its next step."""

    BASIC = "basic"
    QUERY = "query"
    GRAPH = "kg"
    AVERAGE = "triangulation-average"
    GEOMETRIC = "triangulation-3d"
    FULL = "triangulation-full"
    GUIDED = "guided"


@dataclass(frozen=True, slots=True)
class Step:
    """A window that the walk read, how it was rated, and how many sentences it brought."""

    window: int
    rating: float
    gained: int


@dataclass(frozen=True, slots=True)
class Walk:
    """The sentences in the order they were taken up, the windows read, and why the walk ended."""

    sentences: tuple[int, ...]
    steps: tuple[Step, ...]
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
    steps: list[Step] = field(default_factory=list)
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
        self.steps.append(Step(window, rating, len(new)))

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
    rule: Rule,
    options: WalkOptions | None = None,
    *,
    guide: Guide | None = None,
) -> Walk:
    """The sentences that the rule leads to from the window nearest to the question (a vector of unit length).

    ``guide`` chooses the steps of `Rule.GUIDED`; without one the nearest candidate is taken, as that code does where
    the model's reply cannot be read.
    """
    state = _State(graph, graph.window_vectors @ question, graph.sentence_vectors @ question, options or WalkOptions())
    if not graph.windows or state.options.sentences < 1:
        return state.result("there is nothing to read")
    if rule is Rule.BASIC:
        return _basic(state)
    anchor = int(np.argmax(state.windows))
    state.take(anchor, float(state.windows[anchor]))
    if rule is Rule.GRAPH:
        return _along_edges(state, anchor)
    if rule is Rule.GUIDED:
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


def _ratings(rule: Rule, graph: SimilarityGraph, question: Vector, state: _State) -> _Ratings:
    if rule is Rule.QUERY:
        return _Ratings(
            windows=lambda _, near: state.windows[list(near)],
            sentences=lambda _, inside: state.nodes[list(inside)],
            settled=lambda *_: state.best,
            sentence_ends=False,
        )
    if rule is Rule.AVERAGE:
        return _average(graph, state)
    return _centroid(graph, question, _Flattened.of(graph, question) if rule is Rule.GEOMETRIC else None)


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


@dataclass(frozen=True, slots=True)
class _Flattened:
    """The space of the three main directions of question, windows and sentences, taken anew for every question."""

    directions: NDArray[np.float32]

    @classmethod
    def of(cls, graph: SimilarityGraph, question: Vector) -> _Flattened:
        return cls(graph.moments.main_directions(question, 3).astype(np.float32))

    def __call__(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        return _float32(vectors @ self.directions)


def _centroid(graph: SimilarityGraph, question: Vector, flattened: _Flattened | None) -> _Ratings:
    """How near the centre of the triangle question, window, neighbour lies to the question; no other rule to stop."""

    def place(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        return flattened(vectors) if flattened else vectors

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


def all_rules(options: WalkOptions, *, repaired: Iterable[bool] = (False, True)) -> list[tuple[Rule, WalkOptions]]:
    """Every rule in every profile, for comparisons."""
    return [(rule, replace(options, repaired=mended)) for mended in repaired for rule in Rule]
