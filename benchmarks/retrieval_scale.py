"""The passage index at size: how fast it finds, takes in and opens, and how large it is.

The texts are made up: words of one to three syllables drawn by Zipf's law (exponent 1.05) from 200,000, 40 to 120 to a
passage, 20 passages to a document. So are the vectors: 384 dimensions around 2,000 centres in a space of 48, with noise
on top, as sentence embeddings cluster. A question has three to seven words by the same law; the time of the default
embedding model for a question is in the times, where it is installed, its vector is not used.

``python -m benchmarks.retrieval_scale --chunks 1000000`` runs it at the size of the promises; without a size, at
200,000.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import NamedNode

from benchmarks.common import Result, as_table
from kgplatform.errors import ModelUnavailableError
from kgplatform.models.embed import SentenceTransformersEmbedder
from kgplatform.retrieval.index import ChunkIndex, IndexOptions
from kgplatform.retrieval.methods import retriever
from kgplatform.retrieval.sources import Corpus
from kgplatform.types import Chunk

CHUNKS, QUESTIONS, ADDED = 200_000, 200, 100
_WORDS, _CENTRES, _INNER, _DIMENSIONS = 200_000, 2_000, 48, 384


class MadeUpTexts:
    """Made-up passages and questions, the same for a seed."""

    def __init__(self, seed: int = 7) -> None:
        self._random = np.random.default_rng(seed)
        heads = ("b", "c", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "st", "tr", "pl", "br")
        tails = ("a", "e", "i", "o", "u", "an", "en", "in", "on", "ar", "er", "or")
        syllables = [head + tail for head in heads for tail in tails]
        draw = random.Random(seed)
        made = ("".join(draw.choices(syllables, k=draw.choice((1, 2, 2, 3)))) for _ in range(_WORDS))
        self._vocabulary: NDArray[Any] = np.array(list(made), dtype=object)
        weights = 1 / np.arange(1, _WORDS + 1) ** 1.05
        self._shares = np.cumsum(weights / weights.sum())

    def words(self, count: int) -> str:
        """So many words."""
        places = np.searchsorted(self._shares, self._random.random(count))
        return " ".join(self._vocabulary[places])

    def chunks(self, first: int, count: int) -> Iterator[tuple[Chunk, str]]:
        """So many passages from that number on, with the titles of their documents."""
        title = self.words(4)
        for number in range(first, first + count):
            place = number % 20
            title = title if place else self.words(4)
            document = f"https://example.org/kg/document/{number // 20:08x}"
            text = self.words(int(self._random.integers(40, 120)))
            yield Chunk(NamedNode(f"{document}/chunk/{place}"), NamedNode(document), place, 0, len(text), text), title

    def questions(self, count: int) -> list[str]:
        """So many questions."""
        return [self.words(int(self._random.integers(3, 8))) for _ in range(count)]


class ClusteredEmbedder:
    """Vectors around common centres, whatever the texts; a single text also passes the default model, for its time."""

    name = "clustered"
    dimensions = _DIMENSIONS

    def __init__(self, model: SentenceTransformersEmbedder | None) -> None:
        self._model = model
        self._random = np.random.default_rng(3)
        self._centres = self._random.normal(size=(_CENTRES, _INNER)).astype(np.float32)
        self._directions = self._random.normal(size=(_INNER, _DIMENSIONS)).astype(np.float32)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One vector for each text, of unit length."""
        if len(texts) == 1 and self._model:
            self._model.embed(texts)
        count = len(texts)
        inner = self._centres[self._random.integers(0, _CENTRES, count)]
        inner = inner + 0.6 * self._random.standard_normal((count, _INNER), dtype=np.float32)
        vectors = inner @ self._directions + 0.5 * self._random.standard_normal((count, _DIMENSIONS), dtype=np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


@cache
def _model() -> SentenceTransformersEmbedder | None:
    model = SentenceTransformersEmbedder(threads=1)
    try:
        model.embed(["warm"])
    except ModelUnavailableError:
        return None
    return model


def measure(chunks: int = CHUNKS) -> list[Result]:
    """The index of so many passages, built, searched, added to and opened again."""
    with TemporaryDirectory(prefix="kgplatform-") as folder:
        return _measured(Path(folder) / "chunks", chunks)


def _measured(folder: Path, count: int) -> list[Result]:
    corpus, size = MadeUpTexts(), f"{count:,} chunks"
    index = ChunkIndex(folder, ClusteredEmbedder(None), IndexOptions(storage="i8"))
    building = _seconds(lambda: index.sync(corpus.chunks(0, count)))
    results = [
        Result(f"{size}: building, a chunk", 1000 * building / count, "ms"),
        Result(f"{size}: on disk", _bytes(folder) / 1e9, "GB", 1.2),
    ]
    opening = [_seconds(lambda: ChunkIndex(folder, ClusteredEmbedder(None))) for _ in range(5)]
    results.append(Result(f"{size}: opening", max(opening), "s", 2.0))
    index = ChunkIndex(folder, ClusteredEmbedder(_model()))
    for name, limit in (("lexical", 30), ("dense", 30), ("hybrid", 60)):
        waited, worked = _p95(index, name, corpus)
        results.append(Result(f"{size}: {name}, p95", waited, "ms", limit))
        results.append(Result(f"{size}: {name}, p95 of processor time", worked, "ms"))
    results.append(Result("embedding a question, p95 of processor time", _p95_embedding(corpus), "ms"))
    return [*results, *_adding(index, corpus, count, size)]


def _adding(index: ChunkIndex, corpus: MadeUpTexts, count: int, size: str) -> list[Result]:
    many = list(corpus.chunks(count, ADDED))
    together = _seconds(lambda: index.add(many)) / ADDED
    one_by_one = [_seconds(partial(index.add, [one])) for one in corpus.chunks(count + ADDED, 40)]
    return [
        Result(f"{size}: adding {ADDED} together, a chunk", 1000 * together, "ms", 5),
        Result(f"{size}: adding one and committing it, median", 1000 * float(np.median(one_by_one)), "ms"),
    ]


def _p95(index: ChunkIndex, name: str, corpus: MadeUpTexts) -> tuple[float, float]:
    """The 95th percentiles of time and of processor time in milliseconds; the latter does not wait for other work."""
    made = retriever(name, Corpus(index))
    questions = corpus.questions(QUESTIONS)
    for question in questions:  # warms the files
        made.retrieve(question, 10)
    return _percentiles([_both(partial(made.retrieve, q, 10)) for q in questions])


def _p95_embedding(corpus: MadeUpTexts) -> float:
    """What of the processor time is the default embedding model's; 0 where it is not installed."""
    model = _model()
    if model is None:
        return 0.0
    return _percentiles([_both(partial(model.embed, [q])) for q in corpus.questions(QUESTIONS)])[1]


def _percentiles(seconds: Sequence[tuple[float, float]]) -> tuple[float, float]:
    waited, worked = zip(*seconds, strict=True)
    return 1000 * float(np.percentile(waited, 95)), 1000 * float(np.percentile(worked, 95))


def _both(call: Callable[[], object]) -> tuple[float, float]:
    """The seconds that passed, and those of the processor."""
    worked = time.process_time()
    waited = _seconds(call)
    return waited, time.process_time() - worked


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def main() -> int:
    """Prints the table; 1 if a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=CHUNKS, metavar="N", help=f"how many (default: {CHUNKS})")
    results = measure(parser.parse_args().chunks)
    print(as_table(results))
    return 0 if all(result.kept for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
