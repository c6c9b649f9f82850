"""Vectors in PostgreSQL with pgvector beside those in files: the same ten, and how long a search takes.

20,500 made-up vectors of 384 numbers, in 200 clusters of few dimensions as those of texts are; the last 500 are the
questions. What is right is an exact search over all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median, quantiles

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import Peer, Result
from kgplatform.store.pgvector import PostgresVectors
from kgplatform.store.vectors import VectorIndex

VECTORS, QUESTIONS, DIMENSIONS, CLUSTERS, INTRINSIC = 20_000, 500, 384, 200, 48
_TEN = 10


def measure() -> list[Result]:
    """How often both find the same ten, the share of the exact ten each finds, and the time of a search."""
    from tests.postgres_server import postgres_server

    vectors = _made()
    held, asked = vectors[:VECTORS], vectors[VECTORS:]
    exact = [set(np.argpartition(-(held @ query), _TEN)[:_TEN].tolist()) for query in asked]
    with postgres_server() as database:
        theirs = PostgresVectors(database.url, name="benchmark", dimensions=DIMENSIONS, model_name="m")
        ours = VectorIndex(None, dimensions=DIMENSIONS, model_name="m")
        built = []
        for index in (theirs, ours):
            began = time.perf_counter()
            index.add(np.arange(VECTORS, dtype=np.uint64), held)
            index.save()
            built.append(time.perf_counter() - began)
        (found, took), (peer, peer_took) = (_searched(index.search, asked) for index in (theirs, ours))
        theirs.close()
    same = sum(one == other for one, other in zip(found, exact, strict=True)) / QUESTIONS
    both = sum(one == other for one, other in zip(found, peer, strict=True)) / QUESTIONS
    results = [
        Result("pgvector: questions with exactly the ten of an exact search", same, "", 0.98, more_is_better=True),
        Result("pgvector: questions with exactly the ten of the files", both, "", more_is_better=True),
        Result("pgvector: of the exact ten", _share(found, exact), "", more_is_better=True),
        Result("files: of the exact ten", _share(peer, exact), "", more_is_better=True),
        Result("pgvector: made in", built[0], peer=Peer("files", built[1])),
    ]
    for name, of in (("median", median), ("95th percentile", lambda times: quantiles(times, n=20)[-1])):
        results.append(Result(f"pgvector: a search, {name}", of(took), peer=Peer("files", of(peer_took))))
    return results


def _made() -> NDArray[np.float32]:
    chance = np.random.default_rng(7)
    centres = chance.normal(size=(CLUSTERS, DIMENSIONS))
    ways = chance.normal(size=(CLUSTERS, INTRINSIC, DIMENSIONS)) / np.sqrt(INTRINSIC)
    of = chance.integers(0, CLUSTERS, VECTORS + QUESTIONS)
    where = chance.normal(size=(VECTORS + QUESTIONS, INTRINSIC))
    rows = np.stack([centres[c] + w @ ways[c] for c, w in zip(of, where, strict=True)])
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def _searched(
    search: Callable[[NDArray[np.float32], int], list[tuple[int, float]]], asked: NDArray[np.float32]
) -> tuple[list[set[int]], list[float]]:
    found, took = [], []
    for query in asked:
        began = time.perf_counter()
        found.append({key for key, _ in search(query, _TEN)})
        took.append(time.perf_counter() - began)
    return found, took


def _share(found: list[set[int]], exact: list[set[int]]) -> float:
    return sum(len(one & other) for one, other in zip(found, exact, strict=True)) / (_TEN * QUESTIONS)
