"""Annotated examples as demonstrations in a prompt: those nearest to a text show the model what is wanted of it.

Nearest is by embedding where the embedder knows the language, else by the words that two texts share, rare ones
counting more (for Chinese, pairs of characters).
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kgplatform.extraction.learning.examples import Example
from kgplatform.extraction.prompting import grams
from kgplatform.protocols import Embedder
from kgplatform.text import language_of

_LONGEST = 1500
"""Longer examples are left out: they would cost more than the passage they are to help with."""


class Demonstrations:
    """The annotated examples of a workspace; safe for several threads."""

    def __init__(self, examples: Sequence[Example], *, embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self._by_language: dict[str, list[Example]] = {}
        for example in examples:
            if len(example.text) <= _LONGEST:
                self._by_language.setdefault(language_of(example.text), []).append(example)
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self._rarity: dict[str, tuple[list[frozenset[str]], dict[str, float]]] = {}
        self._lock = threading.Lock()

    def nearest(self, text: str, k: int) -> tuple[Example, ...]:
        """At most ``k`` examples in the language of the text, the most similar last, next to the passage."""
        language = language_of(text)
        examples = self._by_language.get(language, [])
        if k <= 0 or not examples:
            return ()
        if len(examples) <= k:
            return tuple(examples)
        with self._lock:
            knows = self._embedder is not None and _knows(self._embedder, language)
            scores = self._similar(text, language) if knows else self._shared(text, language)
        best = sorted(range(len(examples)), key=lambda index: (-scores[index], index))[:k]
        return tuple(examples[index] for index in reversed(best))

    def _similar(self, text: str, language: str) -> list[float]:
        if self._embedder is None:
            raise AssertionError("asked for only where there is an embedder")
        if language not in self._vectors:
            self._vectors[language] = self._embedder.embed([example.text for example in self._by_language[language]])
        vector = self._embedder.embed([text])[0]
        return [float(score) for score in self._vectors[language] @ vector]

    def _shared(self, text: str, language: str) -> list[float]:
        if language not in self._rarity:
            found = [grams(example.text) for example in self._by_language[language]]
            counts = Counter(gram for each in found for gram in each)
            self._rarity[language] = found, {gram: math.log(1 + len(found) / n) for gram, n in counts.items()}
        found, rarity = self._rarity[language]
        wanted = grams(text)
        return [sum(rarity[gram] for gram in each & wanted) / math.sqrt(1 + len(each)) for each in found]


def _knows(embedder: Embedder, language: str) -> bool:
    languages = frozenset(getattr(embedder, "languages", None) or ())
    return not languages or language in languages
