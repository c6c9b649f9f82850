"""How near texts are to each other, by embeddings where the model knows their language, else by shared words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kgplatform.protocols import Embedder
from kgplatform.text import language_of, normalise, words


class Remembering:
    """An embedder that embeds each text once; ``languages`` are those of the one inside."""

    def __init__(self, embedder: Embedder) -> None:
        self.name = embedder.name
        self.languages: frozenset[str] = frozenset(getattr(embedder, "languages", None) or ())
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts, one row each."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._embedder.embed(new), strict=True))
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return np.stack([self._known[text] for text in texts])

    def likeness(self, text: str, others: Sequence[str]) -> list[float]:
        """How like each of the others is to the text, 0..1: cosine, or the share of its words where that is better.

        The share of words alone counts for languages that the embedding model does not know.
        """
        shares = [_shared(text, other) for other in others]
        if not others or (self.languages and language_of(text) not in self.languages):
            return shares
        cosines = self.embed([text, *others])
        return [max(0.0, float(cosines[0] @ vector)) for vector in cosines[1:]]


def _shared(text: str, other: str) -> float:
    """The share of the text's words that the other has."""
    wanted = set(words(normalise(text)))
    return len(wanted & set(words(normalise(other)))) / len(wanted) if wanted else 0.0
