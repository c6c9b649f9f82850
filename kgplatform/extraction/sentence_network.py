"""What the sentences of a document name and state, by one network that is learnt from annotated texts.

The words of a sentence, Chinese ones as their English glosses, go through the layers of the carried sentence
model with low-rank adapters (Hu et al. 2021, LoRA). On their vectors stand three readers: whether a stretch names
something; of which class or none, against the labels of classes; and which property an object has of which subject,
against the labels of properties. So it knows no ontology. Weights: ``benchmarks.train_sentence_frames --write``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import NamedNode

from kgplatform.extraction.han_tagger import NAMED, TaggedName
from kgplatform.extraction.learnt.stretches import Stretch, Stretches, TextWord, stretch_signs, words_of
from kgplatform.extraction.ontology_lexicon import FUNCTION_WORDS
from kgplatform.lexicon import glosses
from kgplatform.models.embed import MiniLM, carried_path, unit_length
from kgplatform.ontology.schema import Ontology, OntologyProperty
from kgplatform.text import has_han, spoken_label

Floats: TypeAlias = NDArray[np.float32]

WEIGHTS: Final = Path(__file__).with_name("learnt") / "sentence_network.safetensors"
LAYERS: Final = (3, 6)
"""A word is seen as these layers have it: the lower ones tell more of its form, the upper ones more of what is said."""
ROLES: Final = 7
"""A stretch is seen as the mean of its words, its first and last, the two before it and the two behind it."""
AWAY: Final = (0, 1, 2, 3, 4, 6, 9, 13)
"""Up to so many words away two places are equally far for the network."""
_MAY_BE: Final = 0.3
"""How far a class fits that may be a kind of the right one, where the ontology does not say."""
LEAST_SHARE: Final = 0.08
"""From this share on a stretch may name something."""
_LONGEST, _PIECES, _MOST_PIECES, _MOST_WORDS, _MOST_LABELS = 1_500, 5, 254, 14, 4
_CLS, _SEP, _UNKNOWN = 101, 102, 100
_TAGS: Final = ("n", "nr", "ns", "nz", "v", "a", "m", "u", "d")
_KINDS: Final = ("person", "place", "organisation")
_NAMES: Final = ("name", "quoted", "mixed")
_AROUND: Final = 3_000
"""So many characters before and behind a sentence are looked through for what it says."""
_BREAKS: Final = frozenset(("", *'\n,，.。;；!！?？:：、()（）《》“”"*【】|📍'))


# Sentences and stretches


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
class SeenSentence:
    """The sentence from ``start`` to ``end``: its words, its stretches with their signs, and what the model is given.

    ``pieces`` are the numbers of the tokens of each word; ``still`` are the words' vectors without context.
    """

    start: int
    end: int
    words: Sequence[TextWord]
    stretches: Sequence[Stretch]
    signs: Floats
    named: Sequence[bool]
    pieces: Sequence[Sequence[int]]
    still: Floats


def seen_sentence(text: str, start: int, end: int, tagged: Sequence[TaggedName]) -> SeenSentence | None:
    """The stretches of the sentence; ``tagged``: the Chinese names of the text. None: no word, or too many."""
    if end - start > _LONGEST:  # no sentence: a dump, whose stretches would fill the memory
        return None
    sentence = text[start:end]
    words = words_of(sentence)
    stretches = Stretches(sentence, words).all() if words else []
    if not stretches:
        return None
    kinds = {(name.start - start, name.end - start): NAMED.get(name.tag, "") for name in tagged if name.start >= start}
    around = _Repeated(text, start, end)
    signs = [
        [*_signs(words, item, kinds.get((item.start, item.end)), start, end), *around.signs(words, item)]
        for item in stretches
    ]
    named = [item.kind in _NAMES or (item.start, item.end) in kinds for item in stretches]
    told = [word.text if word.tag else word.key for word in words]
    still = np.stack([word_vector(word) for word in told])
    return SeenSentence(
        start, end, words, stretches, np.array(signs, np.float32), named, [_pieces(one) for one in told], still
    )


def _signs(words: Sequence[TextWord], item: Stretch, kind: str | None, start: int, end: int) -> list[float]:
    signs = stretch_signs(words, item)
    signs += [kind == one for one in _KINDS]
    signs += [kind is not None, (end - start) / 200, start == 0, end - start < 40]
    return signs + [words[item.last - 1].tag.startswith(tag) for tag in _TAGS]


class _Repeated:
    """What the text around a sentence tells of a stretch: how often it is said, in the same words or not, and where.

    That letters are a word shows by their being said again beside other ones (Chen, Jin and Chang 2005, accessor
    variety); that they are a part of a longer name by their standing always beside the same.
    """

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text[max(0, start - _AROUND) : end + _AROUND]
        self._start = min(start, _AROUND)
        self._counts: dict[str, int] = {}

    def signs(self, words: Sequence[TextWord], item: Stretch) -> list[float]:
        """The signs of a stretch of the sentence with those words."""
        text, start, end = self._text, self._start + item.start, self._start + item.end
        left = self._start + (words[item.first - 1].start if item.first else item.start)
        right = self._start + (words[item.last].end if item.last < len(words) else item.end)
        count, before, after = self._count(text[start:end]), text[:start][-1:], text[end : end + 1]
        same = [
            self._count(wider) / count if count > 1 and len(wider) > end - start else 0.0
            for wider in (text[left:end], text[start:right])
        ]
        opens, closes = before in _BREAKS, after in _BREAKS
        return [
            *(float(count > few) for few in (1, 2, 4)),
            *same,
            *map(float, (opens, closes, opens and closes, before == after == "\n")),
            float(before in ("*", "【") and after in ("*", "】")),
            float(after in (":", "：")),
            sum(len(word.text) == 1 and bool(word.tag) for word in words[item.first : item.last]) / 3,
        ]

    def _count(self, said: str) -> int:
        if said not in self._counts:
            self._counts[said] = self._text.count(said)
        return self._counts[said]


@cache
def _model() -> MiniLM:
    return MiniLM(carried_path())


@lru_cache(maxsize=65_536)
def word_vector(word: str) -> Floats:
    """The vector of a word without its context, at unit length; a Chinese word's is that of its English gloss."""
    row = _model().still(_english(word))
    return np.asarray(row / max(1e-6, float(np.linalg.norm(row))), np.float32)


@lru_cache(maxsize=65_536)
def _pieces(word: str) -> Sequence[int]:
    return _model().pieces(_english(word))[:_PIECES] or [_UNKNOWN]


def _english(word: str) -> str:
    return english_gloss(word) if has_han(word) else word


def english_gloss(word: str) -> str:
    """English for a Chinese word, by the dictionary; for one that it lacks that of its characters."""
    senses = glosses("zh")
    found = senses.get(word)
    return found[0] if found else " ".join(senses[sign][0] for sign in word if sign in senses) or "name"


# Classes and properties


class ClassLabels:
    """The classes that a name may be of, closed lists apart, with the vectors of their labels."""

    def __init__(self, ontology: Ontology) -> None:
        closed = {type_ for item in ontology.individuals.values() for type_ in item.types}
        found = [item for item in ontology.domain_classes if item.iri not in closed and item.words]
        self.classes = [item.iri for item in found]
        labels = [[word.text for word in item.words][:_MOST_LABELS] for item in found]
        self.rows = np.array([rows.mean(axis=0) for rows in label_rows(labels)], np.float32)
        numbers = {iri: n for n, iri in enumerate(self.classes)}
        self._is_flat = ontology.is_flat
        self._below = [[numbers[one] for one in ontology.subclasses(iri) if one in numbers] for iri in self.classes]

    def likely(self, shares: Floats) -> NamedNode | None:
        """The most special class that is likelier than not, those below it counted in; None: no class is.

        Where no class is a kind of another it is the likeliest, if some class is likelier than none.
        """
        if self._is_flat:
            return self.classes[int(shares.argmax())] if shares.sum() >= 0.5 else None
        held = [(len(below), -float(shares[below].sum()), n) for n, below in enumerate(self._below)]
        held = [item for item in held if item[1] <= -0.5]
        return self.classes[min(held)[2]] if held else None


class PropertyLabels:
    """Properties as the network is told them: the words of their labels, and which classes stand on either side.

    ``words`` has the vectors of all words, those of a property from its number in ``starts`` on; ``labels`` has the
    rows of each property's labels, ``means`` one row a property; ``domains`` and ``ranges`` have a 1 for each class
    that fits, less where it may (a row a property, a column a class).
    """

    def __init__(self, terms: Sequence[OntologyProperty], ontology: Ontology, labels: ClassLabels) -> None:
        spoken = [self._spoken(term) for term in terms]
        self.starts = np.cumsum([0, *map(len, spoken)])[:-1]
        self.words = np.concatenate(spoken) if spoken else np.zeros((0, _width()), np.float32)
        self.labels = label_rows([[word.text for word in term.words][:_MOST_LABELS] for term in terms])
        self.means = np.array([rows.mean(axis=0) for rows in self.labels], np.float32)
        self.is_object = np.array([term.is_object for term in terms], bool)
        sides = [[term.domains for term in terms], [term.ranges if term.is_object else () for term in terms]]
        self.domains, self.ranges = (
            np.array([self._fitting(side, ontology, labels) for side in some], np.float32) for some in sides
        )

    @staticmethod
    def _fitting(side: tuple[NamedNode, ...], ontology: Ontology, labels: ClassLabels) -> list[float]:
        """How far classes fit; all do where none is told apart, as of a closed list."""
        found = [1.0 if ontology.is_a(one, side) else _MAY_BE * ontology.may_be(one, side) for one in labels.classes]
        return found if any(found) else [1.0] * len(found)

    @staticmethod
    def _spoken(term: OntologyProperty) -> Floats:
        labels = (spoken_label(label.text) for label in term.words)
        words = (told for label in labels for word in words_of(label) if (told := _told(word)))
        rows = [word_vector(word) for word in dict.fromkeys(words)]
        return np.array(rows[:_MOST_WORDS] or [np.zeros(_width(), np.float32)], np.float32)


def _told(word: TextWord) -> str:
    """The word for its vector; empty for marks, numbers and words of grammar."""
    plain_word = word.text if word.tag else word.key
    tells = plain_word[:1].isalpha() and plain_word not in FUNCTION_WORDS and word.tag[:1] not in ("u", "p", "r", "c")
    return plain_word if tells else ""


def label_rows(labels: Sequence[Sequence[str]]) -> list[Floats]:
    """For each class or property the rows of its labels: the mean of the words' vectors, and the label as a sentence.

    One without a label has one row that says nothing.
    """
    if not labels:
        return []
    told = [[_in_english(label) for label in some] or [""] for some in labels]
    called = unit_length(_model().embed([label for some in told for label in some]))
    of_words = [_mean([word_vector(word) for word in label.split()]) for some in told for label in some]
    rows, ends = np.hstack([np.array(of_words, np.float32), called]), np.cumsum([len(some) for some in told])
    return np.split(rows, ends[:-1])


def _in_english(label: str) -> str:
    words = words_of(spoken_label(label)) if has_han(label) else ()
    return " ".join(_english(word.text) for word in words) or spoken_label(label).casefold()


def _mean(rows: Sequence[Floats]) -> Floats:
    return np.asarray(np.mean(rows, axis=0) if rows else np.zeros(_width()), np.float32)


def _width() -> int:
    return len(word_vector("a"))


# Places and what is asked of them


@dataclass(frozen=True, slots=True)
class WordPlace:
    """The words ``first`` to ``last`` (exclusive) of a sentence that fill a place, by the number of their kind.

    ``class_``: the number of their class where it is known; -1 where it is not.
    """

    first: int
    last: int
    kind: int
    class_: int = -1


@dataclass(frozen=True)
class AskedObject:
    """What may be stated with one place as object.

    ``terms``: the numbers of the properties; ``subjects``: sentence and place of each subject, None for one that is in
    no sentence; ``features``: what is seen of each subject; ``fits``: for property and subject how these fit, -1: not;
    ``signs``: of each property the signs of its words.
    """

    sentence: int
    place: int
    terms: Sequence[int]
    subjects: Sequence[tuple[int, int] | None]
    features: Floats
    fits: NDArray[np.int8]
    signs: Sequence[Sequence[str]]


def how_far(words: int) -> int:
    """The bucket of a distance."""
    return next((n for n, most in enumerate(AWAY) if words <= most), len(AWAY))


def beside(words: int, place: WordPlace) -> NDArray[np.int64]:
    """For each word of a sentence where it stands to the place: how far before, within, or how far behind."""
    within = 2 * (len(AWAY) + 1)
    found = [
        how_far(place.first - 1 - n)
        if n < place.first
        else within
        if n < place.last
        else len(AWAY) + 1 + how_far(n - place.last)
        for n in range(words)
    ]
    return np.array(found)


# The network


@dataclass(frozen=True)
class ScoredSentence:
    """A sentence with the vectors of its words and its stretches, those that are likely enough with their classes."""

    seen: SeenSentence
    rows: Floats
    spans: Sequence[ScoredSpan]


@dataclass(frozen=True)
class Thresholds:
    """The share from which on a filling is a statement, and from which on it is a candidate.

    ``surer``: from which on what is stated beside a label, which tells all there is, or of a thing of unknown class;
    ``spreads``: statements of transitive and symmetric properties, of which one that is wrong makes others wrong;
    ``apart``: such with a thing of which another sentence speaks.
    """

    statement: float
    candidate: float
    surer: float = 0.65
    spreads: float = 0.65
    apart: float = 0.75


class SentenceNetwork:
    """The network with its weights."""

    def __init__(self, weights: Mapping[str, Any], signs: Mapping[str, float], thresholds: Thresholds) -> None:
        """``weights`` as ``packed`` makes them, with the adapters; ``signs``: what each sign of a property weighs."""
        self._adapters = {name: value for name, value in weights.items() if name.endswith((".down", ".up"))}
        self._model = MiniLM(carried_path(), adapters=self._adapters)
        held = (name for name in weights if "." not in name)
        self.weights = {name: unpacked(name, weights) for name in held}
        self.signs, self.thresholds, self.taught = signs, thresholds, thresholds

    def continued(
        self, weights: Mapping[str, Floats], signs: Mapping[str, float], taught: Thresholds
    ) -> SentenceNetwork:
        """The network with these weights in the place of its own; words have the same vectors.

        ``taught``: the thresholds of the properties that it was taught by examples.
        """
        found = copy(self)
        found.weights = {**self.weights, **weights}
        found.signs, found.taught = signs, taught
        return found

    def scored(self, sentences: Sequence[SeenSentence], labels: Floats) -> list[ScoredSentence]:
        """The sentences, scored; ``labels``: the rows of the classes that a name may be of."""
        rows = self.rows(sentences)
        return [
            ScoredSentence(seen, row, self.spans(seen, row, labels, least=LEAST_SHARE))
            for seen, row in zip(sentences, rows, strict=True)
        ]

    def rows(self, sentences: Sequence[SeenSentence]) -> list[Floats]:
        """For each sentence the vectors of its words: in their context, and without."""
        coded = [[_CLS, *[one for word in item.pieces for one in word][:_MOST_PIECES], _SEP] for item in sentences]
        found = []
        for item, states in zip(sentences, self._model.states_of(coded, LAYERS), strict=True):
            ends = np.minimum(np.cumsum([0, *map(len, item.pieces)]), len(states) - 2)
            sums = np.concatenate([np.zeros((1, states.shape[1]), np.float32), states[1:-1].cumsum(axis=0)])
            means = (sums[ends[1:]] - sums[ends[:-1]]) / np.maximum(ends[1:] - ends[:-1], 1)[:, None]
            found.append(np.concatenate([means, item.still], axis=1).astype(np.float32))
        return found

    def spans(self, seen: SeenSentence, rows: Floats, labels: Floats, *, least: float) -> list[ScoredSpan]:
        """The stretches with their shares and, where these are at least so large, their classes'."""
        w = self.weights
        first, last = (np.array([getattr(item, end) for item in seen.stretches]) for end in ("first", "last"))
        hidden = np.tanh(self._pooled("span", rows, first, last) + seen.signs @ w["spansigns"].T)
        scores = np.hstack([hidden, seen.signs]) @ w["spanout"][0] + w["spanlast"][0]
        shares = 1 / (1 + np.exp(-scores))
        kept = np.flatnonzero(shares >= least)
        told: dict[int, Floats] = {}
        if len(kept) and len(labels):
            states = self._pooled("class", rows, first[kept], last[kept]) + seen.signs[kept] @ w["classsigns"].T
            told = dict(zip(kept.tolist(), self._classes(states, labels), strict=True))
        return [
            ScoredSpan(seen.start + item.start, seen.start + item.end, float(shares[n]), seen.named[n], told.get(n))
            for n, item in enumerate(seen.stretches)
        ]

    def _classes(self, states: Floats, labels: Floats) -> Floats:
        """The shares of the classes; what is missing to 1 is that of none of them."""
        w, hidden = self.weights, np.tanh(states)
        none = hidden @ w["noclass"].T + w["noclassshift"]
        return _softmax(np.hstack([hidden @ np.tanh(labels @ w["classlabels"].T).T, none]))[:, :-1]

    def _pooled(self, name: str, rows: Floats, first: NDArray[np.int64], last: NDArray[np.int64]) -> Floats:
        w = self.weights
        parts = (rows @ w[name + "words"].T + w[name + "offset"]).reshape(len(rows), ROLES, -1)
        edge = np.zeros((2, *parts.shape[1:]), np.float32)
        wide = np.concatenate([edge, parts, edge])
        sums = np.concatenate([edge[:1, 0], parts[:, 0].cumsum(axis=0)])
        found = (sums[last] - sums[first]) / (last - first)[:, None]
        for role, places in enumerate((first + 2, last + 1, first, first + 1, last + 2, last + 3), 1):
            found = found + wide[places, role]
        return np.asarray(found, np.float32)

    def placed(
        self, rows: Floats, places: Sequence[WordPlace], terms: PropertyLabels, labels: Floats
    ) -> PlacedWords | None:
        """What is seen of the places of one sentence; None where there is nothing to ask."""
        if not places or not len(labels) or not len(terms.means):
            return None
        w = self.weights
        first, last = (np.array([getattr(item, end) for item in places]) for end in ("first", "last"))
        kinds = [item.kind for item in places]
        objects = np.tanh(self._pooled("object", rows, first, last) + w["objectkind"][kinds])
        subjects = np.tanh(self._pooled("subject", rows, first, last) + w["subjectkind"][kinds])
        shares = self._classes(self._pooled("class", rows, first, last), labels)
        known = np.array([item.class_ for item in places])
        told = known >= 0
        shares[told] = 0.02 / len(labels)
        shares[told, known[told]] += 0.98
        said, seen = (np.tanh(terms.means @ w[f"label{n}"].T + w[f"labelshift{n}"]) for n in (1, 2))
        words = rows @ w["trigger"].T @ (terms.words @ w["triggerlabel"].T).T / 7
        return PlacedWords(
            (objects @ w["objectside"].T + w["objectshift"]) @ said.T / 7,
            (subjects @ w["subjectside"].T + w["subjectshift"]) @ seen.T / 7,
            objects @ w["pairobject"].T + w["pairobjectshift"],
            subjects @ w["pairsubject"].T + w["pairsubjectshift"],
            w["fit"][0] * np.log(shares @ terms.domains.T + 0.01),
            w["fit"][1] * np.log(shares @ terms.ranges.T + 0.01) * terms.is_object,
            np.maximum.reduceat(words, terms.starts, axis=1),
        )

    def weighed(self, name: str) -> Floats:
        """The weights of that name."""
        return self.weights[name]

    def sign(self, sign: str) -> float:
        """What a sign weighs."""
        return self.signs.get(sign, 0.0)


@dataclass(frozen=True)
class PlacedWords:
    """Of the places of a sentence: how each goes with each property as object and subject, and the words' triggers."""

    objects: Floats
    subjects: Floats
    pair_objects: Floats
    pair_subjects: Floats
    domains: Floats
    ranges: Floats
    triggers: Floats


class StatementScores:
    """How likely the statements are that the sentences of a document with these places may make.

    Of the fillings of one object at most one is true, so they and "none" share the probability. The log odds of each
    are divided by the temperature for which documents that nothing was learnt from are likeliest (Guo and others 2017,
    On calibration of modern neural networks, section 4.2); divided scores would give the unlikely ones a large part of
    the whole where much can be asked.
    """

    def __init__(
        self, network: SentenceNetwork, places: Sequence[Sequence[WordPlace]], placed: Sequence[PlacedWords | None]
    ) -> None:
        self._network, self._places, self._placed = network, places, placed

    def shares(self, asked: AskedObject) -> Floats:
        """For each property and subject how likely the statement is; together with "none is made" they are 1."""
        placed, network = self._placed[asked.sentence], self._network
        if placed is None or not asked.subjects:
            return np.zeros((len(asked.terms), len(asked.subjects)), np.float32)
        terms, number = list(asked.terms), asked.place
        where = beside(len(placed.triggers), self._places[asked.sentence][number])
        told = placed.triggers[:, terms] + network.weighed("triggerplace")[where][:, None]
        top = told.max(axis=0)
        trigger = (top + np.log(np.exp(told - top).sum(axis=0))) * network.weighed("triggerscale")[0]
        whole = placed.objects[number, terms] + trigger + placed.ranges[number, terms]
        whole += np.array([sum(map(network.sign, signs)) for signs in asked.signs], np.float32)
        hidden = np.tanh(asked.features @ network.weighed("features").T + network.weighed("featureshift"))
        subject = hidden @ network.weighed("featureout")[0] + network.weighed("featurelast")[0]
        subject = subject + asked.features @ network.weighed("featureplain")[0]
        sides = [self._side(item, terms, placed.pair_objects[number]) for item in asked.subjects]
        scores = whole[:, None] + subject[None] + np.stack(sides, axis=1)
        scores = scores + network.weighed("fits")[np.maximum(asked.fits, 0)] - network.weighed("none")[0]
        scores[asked.fits < 0] = -np.inf
        most = max(0.0, float(scores.max(initial=0.0)))
        powers = np.exp(scores - most)
        shares = np.clip(powers / (np.exp(-most) + powers.sum()), 1e-9, 1 - 1e-6)
        odds = np.log(shares / (1 - shares)) / network.weighed("temperature")[0]
        return np.asarray(np.where(asked.fits < 0, 0.0, 1 / (1 + np.exp(-odds))), np.float32)

    def _side(self, item: tuple[int, int] | None, terms: Sequence[int], object_: Floats) -> Floats:
        placed = self._placed[item[0]] if item is not None else None
        if item is None or placed is None:
            return np.full(len(terms), -self._network.weighed("fit")[0], np.float32)
        seen = placed.subjects[item[1], terms] + placed.domains[item[1], terms]
        return np.asarray(seen + placed.pair_subjects[item[1]] @ object_ / 7, np.float32)


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float32)


# What is shipped


SCALE: Final = ".scale"
_LARGE: Final = 10_000


def packed(name: str, values: Floats) -> dict[str, Any]:
    """The matrix as whole numbers of a byte with a scale for each row, a small one or a vector as it is."""
    if values.size < _LARGE:
        return {name: values.astype(np.float16)}
    scale = np.abs(values).max(axis=1, keepdims=True) / 127
    return {name: np.round(values / scale).astype(np.int8), name + SCALE: scale.astype(np.float32)}


def unpacked(name: str, weights: Mapping[str, Any]) -> Floats:
    """The matrix that `packed` was given."""
    return np.asarray(weights[name] * np.float32(weights.get(name + SCALE, 1)), np.float32)


@cache
def carried_network() -> SentenceNetwork | None:
    """The network with the weights that are shipped; None where these or the sentence model cannot be read."""
    from safetensors.numpy import load

    try:
        told = json.loads(WEIGHTS.with_suffix(".json").read_text(encoding="utf-8"))
        thresholds = Thresholds(told["threshold"], told["candidate"])
        return SentenceNetwork(load(WEIGHTS.read_bytes()), told["signs"], thresholds)
    except (OSError, ValueError, KeyError, ImportError):
        return None


def network_identity() -> str:
    """What tells these weights from others; empty where there are none."""
    return hashlib.blake2b(WEIGHTS.read_bytes(), digest_size=8).hexdigest() if WEIGHTS.is_file() else ""
