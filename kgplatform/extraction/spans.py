"""Which stretches of a sentence name something: a small network over words and their neighbours, learnt from texts.

Of a stretch it sees the vectors of its words, of its first and last and of those beside it, from the input layer of the
carried sentence model (a table, so no model is run; a Chinese word has the vectors of its English gloss), and a few
signs of form. It knows no ontology. Weights: ``python -m benchmarks.train_sentence_frames --write``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import NamedNode

from kgplatform.extraction.han_tagger import NAMED, TaggedName
from kgplatform.extraction.learnt.features import Stretch, Stretches, TextWord, words_of
from kgplatform.extraction.learnt.frames import english_gloss, stretch_signs, unpacked
from kgplatform.extraction.ontology_lexicon import FUNCTION_WORDS
from kgplatform.models.embed import MiniLM, carried_path
from kgplatform.ontology.schema import Ontology
from kgplatform.text import has_han

Floats: TypeAlias = NDArray[np.float32]

WEIGHTS: Final = Path(__file__).with_name("learnt") / "spans.safetensors"
_BESIDE: Final = 2
_LONGEST: Final = 1_500
_TAGS: Final = ("n", "nr", "ns", "nz", "v", "a", "m", "u", "d")
_KINDS: Final = ("person", "place", "organisation")
_NAMES: Final = ("name", "quoted", "mixed")


@dataclass(frozen=True, slots=True)
class ScoredSpan:
    """A stretch with the share of such that name something; ``is_name``: it is written or tagged as a name.

    ``classes``: how likely it is of each class that was asked about.
    """

    start: int
    end: int
    share: float
    is_name: bool
    classes: Floats | None = None


@dataclass(frozen=True)
class SeenStretches:
    """The words of a sentence with their vectors, and its stretches with what the network sees of each."""

    start: int
    words: Sequence[TextWord]
    rows: Floats
    stretches: Sequence[Stretch]
    vectors: Floats
    signs: Floats
    named: Sequence[bool]


def seen_stretches(text: str, start: int, end: int, tagged: Sequence[TaggedName]) -> SeenStretches | None:
    """The stretches of the sentence; ``tagged``: the Chinese names of the text. None: no word, or too many."""
    if end - start > _LONGEST:  # no sentence: a dump, whose stretches would fill the memory
        return None
    sentence = text[start:end]
    words = words_of(sentence)
    stretches = Stretches(sentence, words, ()).all() if words else []
    if not stretches:
        return None
    kinds = {(name.start - start, name.end - start): NAMED.get(name.tag, "") for name in tagged if name.start >= start}
    edge = [np.zeros(_width(), np.float32)] * _BESIDE
    rows = np.stack([*edge, *(word_vector(word.text if word.tag else word.key) for word in words), *edge])
    sums = np.concatenate([np.zeros((1, rows.shape[1]), np.float32), rows.cumsum(axis=0)])
    vectors, signs = [], []
    for item in stretches:
        first, last = item.first + _BESIDE, item.last + _BESIDE
        mean = (sums[last] - sums[first]) / (last - first)
        places = (first, last - 1, first - 2, first - 1, last, last + 1)
        vectors.append(np.concatenate([mean, *(rows[place] for place in places)]))
        signs.append(_signs(words, item, kinds.get((item.start, item.end)), start, end))
    named = [item.kind in _NAMES or (item.start, item.end) in kinds for item in stretches]
    found = np.stack(vectors), np.array(signs, np.float32)
    return SeenStretches(start, words, rows[_BESIDE:-_BESIDE], stretches, *found, named)


def _signs(words: Sequence[TextWord], item: Stretch, kind: str | None, start: int, end: int) -> list[float]:
    signs = stretch_signs(words, item)
    signs += [kind == one for one in _KINDS]
    signs += [kind is not None, (end - start) / 200, start == 0, end - start < 40]
    return signs + [words[item.last - 1].tag.startswith(tag) for tag in _TAGS]


@cache
def _model() -> MiniLM:
    return MiniLM(carried_path())


def _width() -> int:
    return len(_model().still("a"))


@lru_cache(maxsize=65_536)
def word_vector(word: str) -> Floats:
    """The vector of a word without its context, at unit length; a Chinese word's is that of its English gloss."""
    row = _model().still(english_gloss(word) if has_han(word) else word)
    return np.asarray(row / max(1e-6, float(np.linalg.norm(row))), np.float32)


class SpanNetwork:
    """The network with its weights."""

    def __init__(self, weights: Mapping[str, Any]) -> None:
        """``weights`` as `packed` makes them."""
        self.packed = dict(weights)
        self._weights = {name: unpacked(name, weights) for name in weights if "." not in name}

    def shares(self, seen: SeenStretches) -> Floats:
        """For each stretch, how likely it names something."""
        w = self._weights
        hidden = np.tanh(seen.vectors @ w["words"].T + seen.signs @ w["signs"].T + w["offset"])
        scores = np.hstack([hidden, seen.signs]) @ w["out"][0] + w["last"][0]
        return np.asarray(1 / (1 + np.exp(-scores)), np.float32)

    def classes(self, seen: SeenStretches, rows: Sequence[int], labels: Floats) -> Floats:
        """For each of these stretches, how likely it is of the class of each label's vector, of these classes."""
        w = self._weights
        kept = list(rows)
        words, signs = seen.vectors[kept], seen.signs[kept]
        states = np.tanh(words @ w["classwords"].T + signs @ w["classsigns"].T + w["classoffset"])
        scores = states @ np.tanh(labels @ w["classlabels"].T).T
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float32)

    def spans(self, seen: SeenStretches, labels: Floats, *, least: float) -> list[ScoredSpan]:
        """The stretches with their shares and, where these are at least so large, their classes'."""
        shares = self.shares(seen)
        rows = [row for row, share in enumerate(shares) if share >= least]
        told = self.classes(seen, rows, labels) if rows and len(labels) else ()
        classes = dict(zip(rows, told, strict=False))
        return [
            ScoredSpan(
                seen.start + item.start, seen.start + item.end, float(shares[row]), seen.named[row], classes.get(row)
            )
            for row, item in enumerate(seen.stretches)
        ]


class ClassLabels:
    """The classes that a name may be of, closed lists apart, with the vectors of their labels."""

    def __init__(self, ontology: Ontology) -> None:
        closed = {type_ for item in ontology.individuals.values() for type_ in item.types}
        found = [item for item in ontology.domain_classes if item.iri not in closed and item.words]
        self.classes = [item.iri for item in found]
        self.rows = np.array([label_row([word.text for word in item.words][:4]) for item in found], np.float32)
        numbers = {iri: n for n, iri in enumerate(self.classes)}
        self._wanted: dict[tuple[NamedNode, ...], list[int]] = {}
        self._below = [[numbers[one] for one in ontology.subclasses(iri) if one in numbers] for iri in self.classes]

    def likely(self, shares: Floats) -> NamedNode | None:
        """The most special class that is likelier than not, those below it counted in; None: no class is."""
        held = [(len(below), -float(shares[below].sum()), n) for n, below in enumerate(self._below)]
        held = [item for item in held if item[1] <= -0.5]
        return self.classes[min(held)[2]] if held else None

    def share(self, shares: Floats, wanted: tuple[NamedNode, ...]) -> float:
        """How likely one of the wanted classes is."""
        if wanted not in self._wanted:
            places = [n for n, iri in enumerate(self.classes) if iri in wanted]
            self._wanted[wanted] = sorted({below for place in places for below in self._below[place]})
        return float(shares[self._wanted[wanted]].sum())


class PropertyMeanings:
    """The words of properties' labels, for finding words that are near to them in meaning."""

    def __init__(self, ontology: Ontology) -> None:
        terms = ontology.domain_properties
        self.numbers = {term.iri: n for n, term in enumerate(terms)}
        rows: list[Floats] = []
        self._starts: list[int] = []
        for term in terms:
            self._starts.append(len(rows))
            words = {told for label in term.words for word in words_of(label.text) if (told := _told(word))}
            rows += [word_vector(word) for word in sorted(words)] or [np.zeros(_width(), np.float32)]
        self._rows = np.array(rows, np.float32)

    def near(self, seen: SeenStretches) -> Floats:
        """For each word of the sentence how near it is to each property's nearest word; -1 for words of grammar."""
        if not self._starts:
            return np.zeros((len(seen.words), 0), np.float32)
        alike = np.maximum.reduceat(seen.rows @ self._rows.T, self._starts, axis=1)
        alike[[n for n, word in enumerate(seen.words) if not _told(word)]] = -1
        return np.asarray(alike, np.float32)


def _told(word: TextWord) -> str:
    """The word for its vector; empty for marks, numbers and words of grammar."""
    plain_word = word.text if word.tag else word.key
    tells = plain_word[:1].isalpha() and plain_word not in FUNCTION_WORDS and word.tag[:1] not in ("u", "p", "r", "c")
    return plain_word if tells else ""


def label_row(words: Sequence[str]) -> Floats:
    """What a class's labels say together: the mean of their words' vectors."""
    rows = [word_vector(part) for word in words for part in (word.casefold().split() if not has_han(word) else [word])]
    return np.asarray(np.mean(rows, axis=0) if rows else np.zeros(_width()), np.float32)


@cache
def carried_spans() -> SpanNetwork | None:
    """The network with the weights that are shipped; None where these or the sentence model cannot be read."""
    from safetensors.numpy import load

    try:
        _model()
        return SpanNetwork(load(WEIGHTS.read_bytes()))
    except (OSError, ValueError, KeyError, ImportError):
        return None
