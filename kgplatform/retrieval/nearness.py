"""Which of many short texts are near to a question: by their vectors, or by their words where the model is no use.

An embedding model that does not know a language sees its words as unknown ones. Texts, and questions, in such a
language are compared by the TF-IDF cosine of their terms (stems, pairs of Chinese characters); it is 0..1 as the
cosine of vectors is.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kgplatform.protocols import Embedder
from kgplatform.retrieval import saving
from kgplatform.retrieval.terms import question_pairs, question_stems
from kgplatform.text import language_of

_FORMAT: Final = 1
_REMEMBERED: Final = 200


@dataclass(frozen=True, slots=True)
class Near:
    """A text by its place, and how like the question it is, 0..1."""

    place: int
    similarity: float


class TextVectors:
    """The vectors of texts, each embedded once; kept in a file, where one is given, from one time to the next."""

    def __init__(self, embedder: Embedder, path: Path | None = None) -> None:
        self.embedder = embedder
        self._languages = frozenset(getattr(embedder, "languages", None) or ())
        self._path = path
        self._known: dict[str, NDArray[np.float16]] = {}
        self._asked: dict[str, NDArray[np.float32]] = {}
        held = saving.load(path) if path else None
        if held and (held[1].get("format"), held[1].get("model")) == (_FORMAT, embedder.name):
            self._known = dict(zip(held[1]["keys"], held[0]["vectors"], strict=True))

    def knows(self, text: str) -> bool:
        """Whether the model knows the language of the text."""
        return not self._languages or language_of(text) in self._languages

    def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors, one row each, of unit length; zeros for a text in a language that the model does not know.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        keys = [_key(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known and self.knows(text)}
        if new:
            made = self.embedder.embed(list(new.values())).astype(np.float16)
            self._known.update(zip(new, made, strict=True))
        found = np.zeros((len(texts), self.embedder.dimensions), dtype=np.float32)
        for row, key in enumerate(keys):
            if key in self._known:
                found[row] = self._known[key]
        return found

    def asked(self, *questions: str) -> NDArray[np.float32]:
        """The vectors of questions or their parts, one row each; those of the last few are remembered.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        new = [text for text in dict.fromkeys(questions) if text not in self._asked]
        if new:
            if len(self._asked) > _REMEMBERED:
                self._asked = {text: self._asked[text] for text in questions if text in self._asked}
            self._asked.update(zip(new, self.embedder.embed(new), strict=True))
        return np.array([self._asked[text] for text in questions], dtype=np.float32)

    def keep(self, texts: Iterable[str]) -> None:
        """Writes the vectors of these texts to the file, and forgets the others.

        Raises:
            WorkspaceError: the disk refuses.
        """
        wanted = {key for text in texts if (key := _key(text)) in self._known}
        changed = wanted != self._known.keys()
        self._known = {key: self._known[key] for key in self._known if key in wanted}
        if self._path is None or not (changed or not self._path.exists()):
            return
        vectors = np.array(list(self._known.values()), dtype=np.float16).reshape(-1, self.embedder.dimensions)
        noted = {"format": _FORMAT, "model": self.embedder.name, "keys": list(self._known)}
        saving.save(self._path, {"vectors": vectors}, noted)


def _key(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


class NearTexts:
    """Texts that can be asked which of them are near; ``vectors`` None: by words only."""

    def __init__(self, texts: Sequence[str], vectors: TextVectors | None) -> None:
        self.texts = tuple(texts)
        self._vectors = vectors
        self._matrix = vectors.of(self.texts) if vectors else None
        self._spoken = (
            np.array([vectors.knows(text) for text in self.texts], dtype=bool)
            if vectors
            else np.zeros(len(self.texts), dtype=bool)
        )
        self._terms: dict[str, int] = {}
        self._words, self._rarity = self._counted()

    def __len__(self) -> int:
        return len(self.texts)

    def similarities(self, question: str) -> NDArray[np.float32]:
        """How like the question each text is, 0..1, in their order.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        if not self.texts or not question.strip():
            return np.zeros(len(self.texts), dtype=np.float32)
        by_words: NDArray[np.float32] | None = None
        if self._vectors is None or self._matrix is None or not self._vectors.knows(question):
            return self._by_words(question)
        found = self._matrix @ self._vectors.asked(question)[0]
        if not self._spoken.all():
            by_words = self._by_words(question)
            found = np.where(self._spoken, found, by_words)
        clipped: NDArray[np.float32] = np.clip(found, 0.0, 1.0).astype(np.float32)
        return clipped

    def near(self, question: str, most: int, *, least: float = 0.0) -> list[Near]:
        """At most ``most`` texts that are more than ``least`` like the question, the nearest first."""
        return nearest(self.similarities(question), most, least=least)

    def _counted(self) -> tuple[Any, NDArray[np.float64]]:
        from scipy.sparse import csr_matrix

        counts = [_term_counts(text) for text in self.texts]
        for terms in counts:
            for term in terms:
                self._terms.setdefault(term, len(self._terms))
        held = np.zeros(max(len(self._terms), 1))
        for terms in counts:
            held[[self._terms[term] for term in terms]] += 1
        rarity = np.log((1 + len(counts)) / (1 + held)) + 1
        rows = [row for row, terms in enumerate(counts) for _ in terms]
        columns = [self._terms[term] for terms in counts for term in terms]
        weights = np.array([1 + math.log(count) for terms in counts for count in terms.values()]) * rarity[columns]
        matrix = csr_matrix((weights, (rows, columns)), shape=(len(counts), len(rarity)))
        lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
        scale = 1 / np.where(lengths > 0, lengths, 1.0)
        matrix.data *= np.repeat(scale, np.diff(matrix.indptr))
        return matrix, rarity

    def _by_words(self, question: str) -> NDArray[np.float32]:
        asked = {self._terms[t]: 1 + math.log(n) for t, n in _term_counts(question).items() if t in self._terms}
        vector = np.zeros(len(self._rarity))
        for column, weight in asked.items():
            vector[column] = weight * self._rarity[column]
        length = float(np.linalg.norm(vector))
        found: NDArray[np.float32] = np.asarray(self._words @ (vector / (length or 1.0)), dtype=np.float32)
        return np.minimum(found, np.float32(1.0))


def _term_counts(text: str) -> Mapping[str, int]:
    return Counter((*question_stems(text), *question_pairs(text)))


def nearest(similarities: NDArray[np.float32], most: int, *, least: float = 0.0) -> list[Near]:
    """At most ``most`` places above ``least``, best first; equal ones in their order."""
    places = np.flatnonzero(similarities > least)
    order = places[np.argsort(-similarities[places], kind="stable")][: max(most, 0)]
    return [Near(int(place), float(similarities[place])) for place in order]
