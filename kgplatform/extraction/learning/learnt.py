"""What was learnt from examples, as it reads texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kgplatform.extraction.learning.features import Lore, Scene, pair_features, stretch_features
from kgplatform.extraction.learning.judging import Candidate, Court, keep, likely, pairs_of, settle
from kgplatform.extraction.learning.linear import Floats, Vocabulary, sigmoid, softmax
from kgplatform.extraction.learning.naming import Namings
from kgplatform.extraction.learning.spans import Stretches, words_of


@dataclass(frozen=True)
class Scores:
    """Weights by feature and class, with an offset by class."""

    vocabulary: Vocabulary
    weights: Floats
    offsets: Floats

    def shares(self, rows: Sequence[Sequence[str]]) -> Floats:
        """The shares of the classes, row by row."""
        return softmax(self.vocabulary.sums(rows, self.weights) + self.offsets)


@dataclass(frozen=True)
class Learnt:
    """What examples taught; ``report`` has by property how many triples were said, read and read rightly.

    The latter two are from reading each example with weights fitted without it.
    """

    properties: tuple[str, ...]
    counts: tuple[int, ...]
    stretches: Scores
    pairs: Scores
    judge: Floats
    cuts: Floats
    lore: Lore
    namings: Namings
    classes: Mapping[str, tuple[str, str]]
    sentences: int
    report: Mapping[str, tuple[int, int, int]]
    court: Court

    def read(self, text: str) -> list[Candidate]:
        """The triples that the text says, the surest first."""
        words = words_of(text)
        found = Stretches(text, words, self.lore.told).all()
        if not found:
            return []
        scene = Scene(text, words, found, self.lore)
        kept = keep(found, self.stretches.shares([stretch_features(scene, item) for item in found])[:, 1])
        pairs = pairs_of(kept)
        if not pairs:
            return []
        others = likely(kept)
        rows = [pair_features(scene, kept[a][0], kept[b][0], others) for a, b in pairs]
        candidates = self.court.candidates(scene, kept, pairs, self.pairs.shares(rows))
        if not candidates:
            return []
        scores = np.array([item.evidence for item in candidates]) @ self.judge[:-1] + self.judge[-1]
        sure = [replace(c, confidence=float(v)) for c, v in zip(candidates, sigmoid(scores), strict=True)]
        return [item for item in settle(sure) if item.confidence >= self.cuts[item.column]]
