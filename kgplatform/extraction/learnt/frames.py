"""A frame for each property of any ontology: how likely two stretches of a text fill it, without an example of it.

What tells is the same for every ontology: the carried sentence model's vectors of the words in their context, the
shape, order and distance of the two stretches, and how near the words between and beside them are to the property's
own. Two small networks read that: one says whether a stretch is a subject or object at all, the other compares a pair
with a property by its label, domain and range (a description as in Chen and Li, ZS-BERT: Towards Zero-Shot Relation
Extraction with Attribute Representation Learning, NAACL 2021). ``python -m benchmarks.train_reading`` learns their
weights from sentences under many ontologies; ``frames.safetensors`` beside this file holds them.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgplatform.extraction.han_tagger import NAMED, carried_tagger
from kgplatform.extraction.learnt.features import Stretch, TextWord, plain
from kgplatform.extraction.ontology_lexicon import FUNCTION_WORDS
from kgplatform.lexicon import glosses
from kgplatform.models.embed import MiniLM, carried_path
from kgplatform.ontology.schema import Ontology, OntologyProperty
from kgplatform.text import words_of_identifier
from kgplatform.vocab import local_name

Floats: TypeAlias = NDArray[np.float32]

WEIGHTS: Final = Path(__file__).with_name("frames.safetensors")
LAYERS: Final = (4, 6)
"""The layers of the sentence model whose vectors are looked at."""
KINDS: Final = ("date", "quoted", "name", "number", "mixed", "noun", "han", "seen")
VALUES: Final = ("object", "date", "number", "text")
_ENDS: Final = frozenset(".!?。！？")
_FAR: Final = 12
_RECENT: Final = 64
SCALE: Final = ".scale"
_LARGE: Final = 10_000


@dataclass(frozen=True)
class SeenText:
    """A text as the frames see it: the running sums of its words' vectors, and these at unit length."""

    words: Sequence[TextWord]
    sums: Floats
    units: Floats

    def mean(self, first: int, last: int) -> Floats:
        """The mean vector of the words ``first`` to ``last`` (exclusive), as far as there are such; else zeros."""
        first, last = max(first, 0), min(last, len(self.words))
        if first >= last:
            return np.zeros(self.sums.shape[1], np.float32)
        return np.asarray((self.sums[last] - self.sums[first]) / (last - first), dtype=np.float32)


def seen_text(words: Sequence[TextWord], vectors: Floats) -> SeenText:
    """The text of these words, whose vectors are those of `LAYERS` side by side."""
    sums = np.zeros((len(words) + 1, vectors.shape[1]), np.float32)
    np.cumsum(vectors, axis=0, out=sums[1:])
    last = vectors[:, -vectors.shape[1] // len(LAYERS) :]
    return SeenText(words, sums, _unit(last))


def _unit(rows: Floats) -> Floats:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6), dtype=np.float32)


# What is seen of a stretch and of two


def stretch_vector(seen: SeenText, item: Stretch) -> Floats:
    """The vectors of a stretch, its first and last word, and the words beside it."""
    a, b = item.first, item.last
    places = ((a, b), (a, a + 1), (b - 1, b), (a - 1, a), (b, b + 1))
    return np.concatenate([seen.mean(*place) for place in places])


def stretch_signs(words: Sequence[TextWord], item: Stretch) -> list[float]:
    """The kind, length, letters and neighbours of a stretch."""
    opening, closing = words[item.first], words[item.last - 1]
    before = words[item.first - 1] if item.first else None
    after = words[item.last] if item.last < len(words) else None
    inside = words[item.first : item.last]
    size = item.last - item.first
    signs: list[float] = [item.kind == kind for kind in KINDS]
    signs += [size / 4, size == 1, size == 2, item.first == 0]
    signs += [_capital(opening), _capital(closing), opening.shape[:1] == "d", closing.shape[:1] == "d"]
    signs += ["X" in opening.shape, _capital(before), _capital(after), _small(before), _small(after)]
    signs += [opening.key in FUNCTION_WORDS, closing.key in FUNCTION_WORDS]
    signs += [_is(before, ("the", "a", "an")), _is(before, '"“('), _is(after, '"”)'), _is(before, ",")]
    signs += [_is(after, ","), _is(after, ".;"), sum(map(_small, inside)) / 3]
    signs += [sum(not word.text.isalnum() for word in inside) / 2, item.first / max(1, len(words))]
    return signs


def _capital(word: TextWord | None) -> bool:
    return word is not None and word.shape[:1] in ("X", "d")


def _small(word: TextWord | None) -> bool:
    return word is not None and word.shape[:1] == "x"


def _is(word: TextWord | None, some: Sequence[str]) -> bool:
    return word is not None and word.key in some


def pair_vector(seen: SeenText, subject: Stretch, object_: Stretch) -> Floats:
    """The vectors of subject and object, of the words between them, and of those beside each."""
    left, right = (subject, object_) if subject.first < object_.first else (object_, subject)
    places = (
        (subject.first, subject.last),
        (object_.first, object_.last),
        (left.last, min(right.first, left.last + _FAR)),
        (object_.first - 3, object_.first),
        (object_.last, object_.last + 3),
        (subject.first - 2, subject.first),
        (subject.last, subject.last + 2),
    )
    return np.concatenate([seen.mean(*place) for place in places])


def pair_signs(seen: SeenText, kept: Sequence[tuple[Stretch, float]], pair: tuple[int, int]) -> list[float]:
    """The order, distance and kinds of two of the kept stretches, and how likely each is one."""
    (subject, first), (object_, second) = kept[pair[0]], kept[pair[1]]
    forward = subject.first < object_.first
    left, right = (subject, object_) if forward else (object_, subject)
    away = right.first - left.last
    crossed = any(word.text in _ENDS for word in seen.words[left.last : right.first])
    between = sum(left.last <= item.first and item.last <= right.first for item, _ in kept)
    shape = seen.words[object_.first].shape[:1]
    signs: list[float] = [forward, not forward, away / 10, away <= 1, away <= 3, away <= 6, away > _FAR, crossed]
    signs += [subject.first == 0, subject.first <= 2, *(shape == sort for sort in "dXx")]
    signs += [*(object_.kind == kind for kind in KINDS), *(subject.kind == kind for kind in KINDS)]
    signs += [_odds(first) / 4, _odds(second) / 4, between / 3, between == 0]
    return signs


def _odds(share: float) -> float:
    bounded = min(max(share, 1e-4), 1 - 1e-4)
    return float(np.log(bounded / (1 - bounded)))


# The frames of an ontology


@dataclass(frozen=True)
class PropertyFrames:
    """The frames of properties, in their order: vectors of label, domain, range and kind, and of the label's words."""

    vectors: Floats
    forms: Sequence[Floats]
    label_words: Sequence[Sequence[str]]
    keys: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    def nearness(self, seen: SeenText, pairs: Sequence[tuple[Stretch, Stretch]]) -> Floats:
        """How near the words between, beside and inside are to each property's: (pair, property, three and a share)."""
        alike = np.stack([(seen.units @ form.T).max(axis=1) for form in self.forms], axis=1)
        found = np.zeros((len(pairs), len(self.forms), 4), np.float32)
        roots = [_root(word.key) for word in seen.words]
        for row, (subject, object_) in enumerate(pairs):
            taken = {*range(subject.first, subject.last), *range(object_.first, object_.last)}
            low, high = min(subject.last, object_.last), max(subject.first, object_.first)
            between = [n for n in range(low, high) if n not in taken]
            beside = [
                n
                for n in (*range(object_.first - 3, object_.first), *range(object_.last, object_.last + 3))
                if n not in taken and 0 <= n < len(roots)
            ]
            for place, numbers in enumerate((between, beside, range(object_.first, object_.last))):
                if len(numbers):
                    found[row, :, place] = alike[list(numbers)].max(axis=0)
            said = {roots[n] for n in (*between, *beside)}
            found[row, :, 3] = [sum(word in said for word in words) / len(words) for words in self.label_words]
        return found


def _root(word: str) -> str:
    return word[:5]


def kind_of(term: OntologyProperty) -> str:
    """What a property leads to, of `VALUES`."""
    if term.is_object:
        return "object"
    sort = local_name(term.ranges[0].value).casefold() if term.ranges else ""
    if re.search(r"date|year|time", sort):
        return "date"
    return "number" if re.search(r"int|dec|double|float|number", sort) else "text"


class FrameModel:
    """The two networks with their weights, and the sentence model below them."""

    def __init__(self, weights: Mapping[str, Any], model: MiniLM) -> None:
        self._weights = {name: unpacked(name, weights) for name in weights if not name.endswith(SCALE)}
        self._model = model
        self._texts: OrderedDict[str, SeenText] = OrderedDict()
        self._labels: dict[str, Floats] = {}

    @property
    def width(self) -> int:
        """How many numbers tell what is seen in a pair."""
        return len(self._weights["pair.b"])

    def see(self, text: str, words: Sequence[TextWord]) -> SeenText:
        """The text with the vectors of its words; the last few are remembered."""
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = seen_text(words, word_vectors(self._model, text, words))
            while len(self._texts) > _RECENT:
                self._texts.popitem(last=False)
        return found

    def stretch_odds(self, seen: SeenText, stretches: Sequence[Stretch]) -> Floats:
        """The log-odds that each stretch is a subject or object."""
        w = self._weights
        signs = np.array([stretch_signs(seen.words, item) for item in stretches], np.float32)
        rows = np.stack([stretch_vector(seen, item) for item in stretches])
        hidden = np.tanh(rows @ w["stretch.w"].T + w["stretch.b"] + signs @ w["stretch.f"].T)
        return np.asarray(np.hstack([hidden, signs]) @ w["stretch.o"][0] + w["stretch.ob"][0], dtype=np.float32)

    def pair_states(
        self, seen: SeenText, kept: Sequence[tuple[Stretch, float]], pairs: Sequence[tuple[int, int]]
    ) -> tuple[Floats, Floats]:
        """For each pair what the network sees in it, and the score of its filling no frame."""
        w = self._weights
        signs = np.array([pair_signs(seen, kept, pair) for pair in pairs], np.float32)
        rows = np.stack([pair_vector(seen, kept[a][0], kept[b][0]) for a, b in pairs])
        states = np.tanh(rows @ w["pair.w"].T + w["pair.b"] + signs @ w["pair.f"].T)
        none = np.hstack([states, signs]) @ w["pair.none"][0] + w["pair.noneb"][0]
        return np.asarray(states, np.float32), np.asarray(none, np.float32)

    def shares(
        self,
        states: Floats,
        none: Floats,
        near: Floats,
        frames: PropertyFrames,
        admitted: NDArray[np.bool_] | None = None,
    ) -> Floats:
        """The shares of no frame (column 0) and of each, pair by pair; those not admitted have none."""
        w = self._weights
        weighed = near @ w["pair.lex"][0] + np.einsum("npk,nk->np", near, states @ w["pair.g"].T)
        filled = states @ frames.keys.T + weighed
        scores = np.hstack([none[:, None], filled if admitted is None else np.where(admitted, filled, -np.inf)])
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float32)

    def frames(self, ontology: Ontology, properties: Sequence[str]) -> PropertyFrames:
        """The frames of properties by what the ontology says of them."""
        found = self.described(ontology, properties)
        w = self._weights
        keys = np.tanh(found.vectors @ w["pair.p"].T + w["pair.pb"])
        return PropertyFrames(found.vectors, found.forms, found.label_words, np.asarray(keys, np.float32))

    def described(self, ontology: Ontology, properties: Sequence[str]) -> PropertyFrames:
        """The frames as `described` gives them."""
        return described(self._label, ontology, properties)

    def _label(self, text: str) -> Floats:
        if text not in self._labels:
            self._labels[text] = label_vectors(self._model, text)
        return self._labels[text]


def packed(name: str, values: Floats) -> dict[str, Any]:
    """The matrix as whole numbers of a byte with a scale for each row, a small one or a vector as it is."""
    if values.size < _LARGE:
        return {name: values.astype(np.float16)}
    scale = np.abs(values).max(axis=1, keepdims=True) / 127
    return {name: np.round(values / scale).astype(np.int8), name + SCALE: scale.astype(np.float32)}


def unpacked(name: str, weights: Mapping[str, Any]) -> Floats:
    """The matrix that `packed` was given."""
    return np.asarray(weights[name] * np.float32(weights.get(name + SCALE, 1)), np.float32)


def label_vectors(model: MiniLM, text: str) -> Floats:
    """The vectors of the tokens of a label, the marks of its ends left out."""
    return next(iter(model.token_vectors([text])))


def described(vectors_of: Any, ontology: Ontology, properties: Sequence[str]) -> PropertyFrames:
    """The frames of properties without the networks' keys; ``vectors_of`` gives the token vectors of a label."""
    terms = {term.iri.value: term for term in ontology.properties.values()}
    rows, forms, words = [], [], []
    for iri in properties:
        term = terms.get(iri)
        label = _spoken(next((word.text for word in term.words), "") if term else "") or _spoken(local_name(iri))
        of = " or ".join(_spoken(ontology.label(item, "en")) for item in term.domains[:2]) if term else ""
        kind = kind_of(term) if term else "text"
        to = " or ".join(_spoken(ontology.label(item, "en")) for item in term.ranges[:2]) if term else ""
        told = [vectors_of(text or "thing") for text in (label, of, to if kind == "object" else kind)]
        sorts = np.array([kind == value for value in VALUES], np.float32)
        rows.append(np.concatenate([*(3 * part.mean(axis=0) for part in told), sorts]))
        forms.append(_unit(told[0][1:-1] if len(told[0]) > 2 else told[0]))
        words.append([_root(plain(word)) for word in label.split() if len(word) > 2] or [label])
    return PropertyFrames(np.array(rows, np.float32), forms, words)


def _spoken(name: str) -> str:
    return (name if " " in name else " ".join(words_of_identifier(name).split())).casefold()


def in_english(text: str, words: Sequence[TextWord]) -> tuple[str, list[tuple[int, int]]]:
    """The text with English for each Chinese word, as the sentence model can read it, and where each word stands in it.

    A word that the dictionary lacks is glossed by its characters; a name that it lacks by its kind and its last one.
    """
    if not any(word.tag for word in words):
        return text, [(word.start, word.end) for word in words]
    kinds = {name.start: name for name in carried_tagger().names(text)}
    said, places, position = "", [], 0
    for word in words:
        name = kinds.get(word.start)
        kind = NAMED.get(name.tag, "") if name is not None and word.end <= name.end else ""
        said += " " if word.start > position or word.tag or (said and not said[-1].isspace()) else ""
        start = len(said)
        said += english_gloss(word.text, kind) if word.tag else word.text
        places.append((start, len(said)))
        position = word.end
    return said, places


def english_gloss(word: str, kind: str = "") -> str:
    """English for a Chinese word, by the dictionary; for a name its kind and the gloss of its last sign."""
    senses = glosses("zh")
    found = senses.get(word)
    if found:
        return found[0]
    signs = word[-1:] if kind else word
    return " ".join(filter(None, (kind, *(senses[sign][0] for sign in signs if sign in senses)))) or "name"


def word_vectors(model: MiniLM, text: str, words: Sequence[TextWord]) -> Floats:
    """The vectors of words in their context, `LAYERS` side by side; zeros beyond what the model looks at."""
    english, places = in_english(text, words)
    offsets, rows = model.states(english, LAYERS)
    found = np.zeros((len(words), rows.shape[1]), np.float32)
    token = 0
    for number, (first, last) in enumerate(places):
        while token < len(offsets) and offsets[token][1] <= first:
            token += 1
        end = token
        while end < len(offsets) and offsets[end][0] < last:
            end += 1
        if end > token:
            found[number] = rows[token:end].mean(axis=0)
    return found


@cache
def carried_frames() -> FrameModel | None:
    """The frames with the weights that are shipped; None where these or the sentence model cannot be read."""
    from safetensors.numpy import load

    try:
        return FrameModel(load(WEIGHTS.read_bytes()), MiniLM(carried_path()))
    except (OSError, ValueError, KeyError, ImportError):
        return None


def frames_identity() -> str:
    """What tells these weights from others; empty where there are none."""
    return hashlib.blake2b(WEIGHTS.read_bytes(), digest_size=8).hexdigest() if WEIGHTS.is_file() else ""
