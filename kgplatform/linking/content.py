"""Entity linking by content: what names of one class are said to be, embedded and compared.

The travel framework's first equation, E = {(n, t, c_t): cos(phi([n, c_t]), phi(t)) >= delta_1}, applied to names of
one level: the text of a name is the name itself, its class and what is said of it, and two names whose texts are at
least ``threshold`` alike may be one thing. A vector index finds the nearest of each name, so that the cost grows with
the names and not with their pairs; vectors are kept, and only those of new texts are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kgplatform.linking.names import Name, Names, sort_key
from kgplatform.ontology import Ontology
from kgplatform.protocols import Embedder
from kgplatform.text import has_han
from kgplatform.vectors import VectorIndex

_NEAREST: Final = 8
_SAID: Final = 12


@dataclass(frozen=True, slots=True)
class Near:
    """Two names whose contents are alike, and how much (0..1)."""

    first: Name
    second: Name
    similarity: float


def content_of(name: Name, ontology: Ontology) -> str:
    """The name with its class and what is said of it, in the language of the name."""
    language = "zh" if has_han(name.text) else "en"
    form = min(name.forms, key=lambda text: (-name.forms[text], text), default=name.text)
    said = (f"{ontology.label(predicate, language)} {value}" for predicate, value in name.context[:_SAID])
    return "; ".join([f"{form} ({ontology.label(name.type, language)})", *dict.fromkeys(said)])


class Contents:
    """The vectors of names by content; ``path`` keeps them, None forgets them with the object."""

    def __init__(self, embedder: Embedder, path: Path | None = None) -> None:
        self._embedder = embedder
        self._index = VectorIndex(path, dimensions=embedder.dimensions, model_name=embedder.name)

    def near(self, names: Names, ontology: Ontology, threshold: float) -> list[Near]:
        """The pairs of mentioned names that are at least ``threshold`` alike, in a stable order.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        by_digest: dict[int, list[Name]] = {}
        texts: dict[int, str] = {}
        for name in names:
            if name.count:
                text = content_of(name, ontology)
                digest = _digest(text)
                texts[digest] = text
                by_digest.setdefault(digest, []).append(name)
        self._sync(texts)
        found = sorted(
            self._pairs(by_digest, threshold),
            key=lambda near: (-near.similarity, sort_key(near.first.key), sort_key(near.second.key)),
        )
        return list({(near.first.key, near.second.key): near for near in found}.values())

    def _sync(self, texts: dict[int, str]) -> None:
        stale = [digest for digest in self._index if digest not in texts]
        fresh = sorted(digest for digest in texts if digest not in self._index)
        if fresh:
            self._index.add(fresh, self._embedder.embed([texts[digest] for digest in fresh]))
        self._index.remove(stale)
        if fresh or stale:
            self._index.save()

    def _pairs(self, by_digest: dict[int, list[Name]], threshold: float) -> Iterator[Near]:
        for digest in sorted(by_digest):
            (vector,) = self._index.vectors([digest])
            for other, similarity in self._index.search(vector, _NEAREST):
                if similarity >= threshold:
                    yield from _ordered(by_digest[digest], by_digest[other], round(similarity, 4))


class TextVectors:
    """The vectors of texts; ``path`` keeps them, and those of texts that are not asked for again go."""

    def __init__(self, embedder: Embedder, path: Path | None = None) -> None:
        self._embedder = embedder
        self._index = VectorIndex(path, dimensions=embedder.dimensions, model_name=embedder.name)

    def of(self, texts: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """A vector of unit length for each text.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        digests = {_digest(text): text for text in texts}
        stale = [digest for digest in self._index if digest not in digests]
        fresh = sorted(digest for digest in digests if digest not in self._index)
        if fresh:
            self._index.add(fresh, self._embedder.embed([digests[digest] for digest in fresh]))
        self._index.remove(stale)
        if fresh or stale:
            self._index.save()
        rows = self._index.vectors(list(digests))
        return dict(zip(digests.values(), rows, strict=True))


def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _ordered(names: Sequence[Name], others: Sequence[Name], similarity: float) -> Iterator[Near]:
    for one in names:
        for other in others:
            if one.key != other.key:
                first, second = sorted((one, other), key=lambda name: sort_key(name.key))
                yield Near(first, second, similarity)
