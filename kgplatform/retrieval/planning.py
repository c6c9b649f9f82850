"""Looking ahead before walking: paths through the similarity graph are weighed as a whole, several steps deep.

The seven traversals choose one step at a time. Here a beam of paths grows from the windows nearest to the question; a
path is worth the cosine between the question and the middle of its windows, so that one is preferred whose windows
cover the question together, though none may do so alone. What is read are the sentences on the paths weighed, each by
its own cosine and half the worth of the best path through it. Source: the future work named by the traversal article.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgplatform.retrieval.similarity import SimilarityGraph
from kgplatform.retrieval.traversal import Vector


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
class Plan:
    """The sentences to read, best first with scores; ``chosen`` is the path of most worth, of ``weighed`` ones."""

    sentences: tuple[int, ...]
    scores: tuple[float, ...]
    chosen: Path
    weighed: int


def plan(graph: SimilarityGraph, question: Vector, count: int, options: PlanOptions | None = None) -> Plan:
    """At most ``count`` sentences that the paths of most worth lead to, for a question's vector of unit length."""
    chosen = options or PlanOptions()
    near = graph.window_vectors @ question
    if not graph.windows or count < 1:
        return Plan((), (), Path((), 0.0), 0)
    paths = list(_paths(graph, question, near, chosen))
    through: dict[int, float] = {}
    for path in paths:
        for window in path.windows:
            through[window] = max(through.get(window, -1.0), path.worth)
    cosines = graph.sentence_vectors @ question
    scores = _sentence_scores(graph, through, cosines, chosen.share)
    order = sorted(scores, key=lambda sentence: (-scores[sentence], sentence))[:count]
    best = max(paths, key=lambda path: (path.worth, -len(path.windows), [-window for window in path.windows]))
    return Plan(tuple(order), tuple(scores[sentence] for sentence in order), best, len(paths))


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
        for target in _next_windows(graph, path.windows):
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


def _next_windows(graph: SimilarityGraph, path: Sequence[int]) -> Iterator[int]:
    return (edge.target for edge in graph.edges[path[-1]] if edge.target not in path)
