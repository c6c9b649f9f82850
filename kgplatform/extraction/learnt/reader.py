"""Reads a document by what was learnt, beside the rules: passages as long as the examples, claims with their places.

In running text the learnt reading has the word on properties that it knows from several examples; what rules read
there of those is left out. Labelled lines and tables stay with the rules.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import Literal, NamedNode

from kgplatform.extraction.context import DocumentReading, lines_of, sentence_spans
from kgplatform.extraction.learnt.examples import day_of, form_of, formed, number_of
from kgplatform.extraction.learnt.features import (
    Lore,
    Stretch,
    Stretches,
    TextScene,
    TextWord,
    near_words,
    pair_features,
    plain,
    squeezed,
    stretch_features,
    words_of,
)
from kgplatform.extraction.learnt.frames import SeenText, carried_frames
from kgplatform.extraction.values import literal_of
from kgplatform.ontology.schema import Ontology, OntologyProperty
from kgplatform.text import has_han, words_of_identifier
from kgplatform.types import Claim, Mention
from kgplatform.vocab import OWL, local_name

# Linear models, fitted by L-BFGS

Floats: TypeAlias = NDArray[np.float64]
_SPARSE_STEPS: Final = 40
_DENSE_STEPS: Final = 300


class FeatureVocabulary:
    """The columns of features; those seen in fewer than ``least`` examples have none."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._column: Mapping[str, int] = {name: number for number, name in enumerate(self.names)}

    @classmethod
    def of(cls, examples: Iterable[Iterable[Sequence[str]]], *, least: int = 2) -> FeatureVocabulary:
        """The features that occur in at least that many of the examples, each a list of rows."""
        counts: Counter[str] = Counter()
        for rows in examples:
            counts.update({name for row in rows for name in row})
        return cls(sorted(name for name, count in counts.items() if count >= least))

    def __len__(self) -> int:
        return len(self.names)

    def _columns(self, row: Sequence[str]) -> list[int]:
        """In order, so that sums come out the same to the last bit."""
        return sorted(column for name in row if (column := self._column.get(name)) is not None)

    def sums(self, rows: Sequence[Sequence[str]], dense: Any, weights: Floats) -> Floats:
        """The sums of the weights of each row's features; the same as `matrix` times the weights, for few rows."""
        weights, last = weights[: len(self)], weights[len(self) :]
        padded = np.vstack([weights, np.zeros((1, weights.shape[1]))])
        columns: list[int] = []
        starts = []
        for row in rows:
            starts.append(len(columns))
            columns.append(len(self))  # no row is empty
            columns.extend(self._columns(row))
        return np.asarray(np.add.reduceat(padded[columns], starts, axis=0) + dense @ last, dtype=np.float64)

    def matrix(self, rows: Sequence[Sequence[str]], dense: Any) -> Any:
        """The rows as a sparse matrix, a row's features as often as they stand in it, then what is dense."""
        from scipy.sparse import csr_matrix, hstack

        pointers, columns = [0], []
        for row in rows:
            columns.extend(self._columns(row))
            pointers.append(len(columns))
        shape = (len(rows), len(self))
        return hstack([csr_matrix((np.ones(len(columns)), columns, pointers), shape=shape), dense], format="csr")


def softmax(scores: Floats) -> Floats:
    """The shares of the classes, row by row."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)


def fit_softmax(rows: Any, targets: Floats, *, penalty: float, steps: int = _SPARSE_STEPS) -> tuple[Floats, Floats]:
    """The weights (feature by class) and offsets that make the targets, a distribution for each row, most likely."""
    features, classes = rows.shape[1], targets.shape[1]
    turned = rows.T.tocsr()
    count = max(1, rows.shape[0])

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat[: features * classes].reshape(features, classes)
        offsets = flat[features * classes :]
        scores = rows @ weights + offsets
        scores -= scores.max(axis=1, keepdims=True)
        logs = np.log(np.exp(scores).sum(axis=1, keepdims=True))
        difference = (np.exp(scores - logs) - targets) / count
        value = -float((targets * (scores - logs)).sum()) / count + penalty * float((weights**2).sum()) / count
        slope = np.concatenate([(turned @ difference + 2 * penalty / count * weights).ravel(), difference.sum(axis=0)])
        return value, slope

    from scipy.optimize import minimize

    start = np.zeros(features * classes + classes)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": 6})
    flat = np.asarray(found.x, dtype=np.float64)
    return flat[: features * classes].reshape(features, classes), flat[features * classes :]


def fit_logistic(rows: Floats, targets: Floats, *, penalty: float = 1.0) -> Floats:
    """The weights of a logistic regression with the offset last; the columns are taken as they come."""
    padded = np.hstack([rows, np.ones((len(rows), 1))])

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = padded @ weights
        value = float(np.logaddexp(0, scores).sum() - (targets * scores).sum() + penalty * (weights[:-1] ** 2).sum())
        slope = padded.T @ (sigmoid(scores) - targets)
        slope[:-1] += 2 * penalty * weights[:-1]
        return value, slope

    from scipy.optimize import minimize

    found = minimize(loss, np.zeros(padded.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": _DENSE_STEPS})
    return np.asarray(found.x, dtype=np.float64)


def sigmoid(scores: Floats) -> Floats:
    """1 / (1 + exp(-score))."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * scores)), dtype=np.float64)


# Names of entities

_ANY: Final = ""


@dataclass
class Namings:
    """How often what is written, in squeezed form, stands for each value; and how properties write dates and numbers.

    ``values`` is by role ("s", or "o" with the property; empty: any) and what is written.
    """

    values: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    forms: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, role: str, written: str, value: str) -> None:
        """Takes up one place where an example's value stands."""
        if role.startswith("o") and _is_value(written):
            self.forms[_kind(role, written)][form_of(value, written)] += 1
        else:
            for name in (role, _ANY):
                self.values[name, squeezed(written)][value] += 1

    def name(self, role: str, written: str, text: str, own: Namings | None = None) -> str:
        """The value that is written there; ``own`` is what the text itself and its like have added."""
        forms = self.forms.get(_kind(role, written))
        if forms and _is_value(written):
            return formed(written, max(sorted(forms), key=lambda form: forms[form]))
        key = squeezed(written)
        for name in (role, _ANY):
            counts: Mapping[str, int] = self.values.get((name, key), {})
            mine: Mapping[str, int] = own.values.get((name, key), {}) if own is not None else {}
            left = {value: count - mine.get(value, 0) for value, count in counts.items()}
            left = {value: count for value, count in left.items() if count > 0}
            if left:
                return max(left, key=lambda value: (_weight(left, value, key, text), value))
        return written

    def take(self, other: Namings) -> None:
        """Takes up all that another has."""
        for place, counts in other.values.items():
            self.values[place].update(counts)
        for role, counts in other.forms.items():
            self.forms[role].update(counts)

    def kept(self) -> dict[str, object]:
        """What is worth keeping, as JSON values: names that differ from what is written, and forms."""
        values = {
            f"{role}\t{key}": dict(sorted(counts.items()))
            for (role, key), counts in sorted(self.values.items())
            if counts
        }
        return {"values": values, "forms": {role: dict(sorted(forms.items())) for role, forms in self.forms.items()}}

    @classmethod
    def of(cls, kept: Mapping[str, Mapping[str, Mapping[str, int]]]) -> Namings:
        """What `kept` gave, again; raises KeyError and ValueError where it is something else."""
        found = cls()
        for key, counts in kept["values"].items():
            role, written = key.split("\t")
            found.values[role, written] = Counter(counts)
        for role, forms in kept["forms"].items():
            found.forms[role] = Counter(forms)
        return found


def _is_value(written: str) -> bool:
    return day_of(written) is not None or number_of(written) is not None


def _kind(role: str, written: str) -> str:
    """The role, with how much of a date is written: a year may be completed in another form than a day."""
    day = day_of(written)
    return f"{role} {sum(part > 0 for part in day)}" if day else role


def _weight(counts: Mapping[str, int], value: str, written: str, text: str) -> float:
    """How good a reading the value is: as often as seen, less where the text lacks what the value adds."""
    if squeezed(value) == written:
        return counts[value]
    added = [word for word in value.split() if squeezed(word) not in written]
    if not added:
        return counts[value]
    there = squeezed(text)
    return counts[value] * (0.5 + sum(squeezed(word) in there for word in added) / len(added))


# Candidates. The same steps serve training, on examples that the weights have not seen, and reading.

MOST_STRETCHES: Final = 14
_LEAST_STRETCH: Final = 0.02
_LEAST_LIKELY: Final = 0.3
_LEAST_PROPERTY: Final = 0.01
_LEAST_SHARE: Final = 0.002
_MOST_NONE: Final = 0.97
_STEM: Final = 5
_SMALL: Final = 1e-6
_FLAT: Final = 0.03
_SECOND: Final = 0.4
EVIDENCE: Final = 23
"""How many numbers speak for or against a candidate."""


@dataclass(frozen=True, slots=True)
class TripleCandidate:
    """A triple that could be said: stretches, the column of its property, names, and what speaks for it."""

    subject: Stretch
    object: Stretch
    column: int
    subject_name: str
    object_name: str
    evidence: tuple[float, ...]
    confidence: float = 0.0

    @property
    def key(self) -> tuple[str, int, str]:
        """What two readings of one triple have in common."""
        return squeezed(self.subject_name), self.column, squeezed(self.object_name)


def keep(stretches: Sequence[Stretch], shares: Floats, *, most: int = MOST_STRETCHES) -> list[tuple[Stretch, float]]:
    """The likeliest stretches with their likelihoods, in order of the text."""
    ranked = sorted(range(len(stretches)), key=lambda n: (-shares[n], stretches[n].first, stretches[n].last))
    kept = [n for n in ranked[:most] if shares[n] >= _LEAST_STRETCH]
    return [(stretches[n], float(shares[n])) for n in sorted(kept)]


def likely(kept: Sequence[tuple[Stretch, float]]) -> list[Stretch]:
    """The stretches that probably are names, none across another."""
    found: list[Stretch] = []
    for item, share in sorted(kept, key=lambda pair: (-pair[1], pair[0].first)):
        if share >= _LEAST_LIKELY and not any(overlap(item, other) for other in found):
            found.append(item)
    return found


def pairs_of(kept: Sequence[tuple[Stretch, float]]) -> list[tuple[int, int]]:
    """The pairs of kept stretches that do not overlap, as subject and object."""
    numbers = range(len(kept))
    return [(a, b) for a in numbers for b in numbers if a != b and not overlap(kept[a][0], kept[b][0])]


def overlap(one: Stretch, other: Stretch) -> bool:
    """Whether two stretches share words."""
    return one.first < other.last and other.first < one.last


class PropertyWords:
    """The words of each property, to be compared with those of a text."""

    def __init__(self, properties: Sequence[str], ontology: Ontology) -> None:
        self._words: list[list[frozenset[str]]] = []
        by_iri = {term.iri.value: term for term in ontology.properties.values()}
        for iri in properties:
            term = by_iri.get(iri)
            names = [word.text for word in term.words] if term else []
            self._words.append([_stems(name) for name in [local_name(iri), *names] if _stems(name)])

    def overlap(self, property_: int, near: frozenset[str]) -> float:
        """The largest share of the words of one of its names that stand in the text, as stems."""
        return max((len(name & near) / len(name) for name in self._words[property_]), default=0.0)


def _stems(name: str) -> frozenset[str]:
    if has_han(name):
        return frozenset(re.findall(r"[\u3400-\u9fff]", name))
    return frozenset(word[:_STEM] for word in words_of_identifier(name).split() if len(word) > 2)


def stems_of(words: Iterable[str]) -> frozenset[str]:
    """The words as `PropertyWords` compares them."""
    return frozenset(part for word in words for part in (word if has_han(word) else (word[:_STEM],)) if part)


@dataclass(frozen=True)
class Court:
    """What candidates are weighed with: the properties and how many examples they have, their words, and names."""

    properties: Sequence[str]
    counts: Sequence[int]
    words: PropertyWords
    namings: Namings

    def candidates(
        self,
        scene: TextScene,
        kept: Sequence[tuple[Stretch, float]],
        pairs: Sequence[tuple[int, int]],
        shares: Floats,
        filled: Floats,
        own: Namings | None = None,
    ) -> list[TripleCandidate]:
        """The triples worth weighing; column 0 of the shares is that of no property, ``own`` as for `Namings.name`.

        ``filled`` are the shares that the frames give, which know nothing of the examples.
        """
        shares = np.pad(shares, ((0, 0), (0, len(self.properties) + 1 - shares.shape[1])))
        tops, framed = _Tops(pairs, shares), _Tops(pairs, filled)
        found = []
        for row in np.flatnonzero((shares[:, 0] < _MOST_NONE) | (filled[:, 0] < _MOST_NONE)).tolist():
            (subject, p_subject), (object_, p_object) = (kept[n] for n in pairs[row])
            wide, beside = (stems_of(words) for words in near_words(scene, subject, object_))
            inside = stems_of(plain(object_.key).split())
            shared = (_log_odds(1 - shares[row, 0]), _log_odds(p_subject), _log_odds(p_object))
            for column, iri in enumerate(self.properties):
                told = self.words.overlap(column, wide)
                if max(shares[row, column + 1], filled[row, column + 1]) < _LEAST_PROPERTY and told < 1:
                    continue
                evidence = (
                    _log_odds(max(shares[row, column + 1], _LEAST_SHARE)),
                    *shared,
                    told,
                    float(told == 1),
                    self.words.overlap(column, beside),
                    self.words.overlap(column, inside),
                    float(("o", iri) in scene.roles(object_.key)),
                    float(("s", iri) in scene.roles(subject.key)),
                    math.log1p(self.counts[column]),
                    _log_odds(1 - filled[row, 0]),
                    _log_odds(max(filled[row, column + 1], _LEAST_SHARE)),
                    *framed.of(row, column + 1),
                    *tops.of(row, column + 1),
                )
                names = self._names(scene, subject, object_, iri, own)
                found.append(TripleCandidate(subject, object_, column, *names, evidence))
        return found

    def _names(
        self, scene: TextScene, subject: Stretch, object_: Stretch, iri: str, own: Namings | None
    ) -> tuple[str, str]:
        return (
            self.namings.name("s", scene.text[subject.start : subject.end], scene.text, own),
            self.namings.name("o" + iri, scene.text[object_.start : object_.end], scene.text, own),
        )


class _Tops:
    """How a pair's property compares with the same of other pairs that share its object or its subject."""

    def __init__(self, pairs: Sequence[tuple[int, int]], shares: Floats) -> None:
        self._pairs = pairs
        self._shares = shares
        self._by_object = _grouped(second for _, second in pairs)
        self._by_subject = _grouped(first for first, _ in pairs)

    def of(self, row: int, column: int) -> tuple[float, ...]:
        first, second = self._pairs[row]
        own = self._shares[row, column]
        with_object = self._shares[self._by_object[second]]
        with_subject = self._shares[self._by_subject[first], column]
        best_object = float(with_object[:, column].max())
        any_object = float(with_object[:, 1:].max())
        return (
            float(own / max(float(with_object[:, column].sum()), _SMALL)),
            float(own / max(best_object, _SMALL)),
            float(own / max(any_object, _SMALL)),
            float(own / max(float(with_subject.sum()), _SMALL)),
            float(own / max(float(self._shares[row, 1:].max()), _SMALL)),
        )


def _grouped(values: Iterable[int]) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = defaultdict(list)
    for number, value in enumerate(values):
        groups[value].append(number)
    return groups


def _log_odds(share: float) -> float:
    bounded = min(max(float(share), _SMALL), 1 - _SMALL)
    return math.log(bounded / (1 - bounded))


def settle(candidates: Iterable[TripleCandidate]) -> list[TripleCandidate]:
    """The candidates without those that a surer one excludes, the surest first.

    Excluded are the same triple again, its converse, another subject for the same object, a second property of a pair
    that is much less likely than the first, and what takes a part of a name that a surer one takes whole.
    """
    found: list[TripleCandidate] = []
    keys: set[tuple[str, int, str]] = set()
    for item in sorted(candidates, key=lambda c: (-c.confidence, c.subject.first, c.object.first, c.column)):
        subject, property_, object_ = item.key
        if subject == object_ or item.key in keys or any(_excludes(other, item) for other in found):
            continue
        keys |= {item.key, (object_, property_, subject)}
        found.append(item)
    return found


def _excludes(surer: TripleCandidate, item: TripleCandidate) -> bool:
    taken = (surer.subject, surer.object)
    for mine in (item.subject, item.object):
        for other in taken:
            if mine is not other and overlap(mine, other) and (mine.first, mine.last) != (other.first, other.last):
                return True
    if surer.object != item.object:
        return False
    if surer.column == item.column:
        return True
    return surer.subject == item.subject and item.evidence[-1] < _SECOND


def thresholds(
    settled: Sequence[tuple[TripleCandidate, bool]], said: int, properties: int, *, prior: int = 8
) -> Floats:
    """The threshold of each property for the best F1 of all; that of all together where a property has few.

    By the rule that F1 is best where what is kept is right more often than half of that F1 (Lipton, Elkan and
    Naryanaswamy, Optimal Thresholding of Classifiers to Maximize F1 Measure, 2014).
    """
    ranked = sorted(settled, key=lambda pair: -pair[0].confidence)
    hits = np.cumsum([right for _, right in ranked])
    scores = 2 * hits / (np.arange(1, len(ranked) + 1) + said)
    best = float(scores.max(initial=0.0))
    # F1 is flat about its best: of what is nearly as good, that which reads most
    good = np.flatnonzero(scores >= (1 - _FLAT) * best)
    cut = _halfway([item.confidence for item, _ in ranked], int(good[-1])) if best else 1.0 + _SMALL
    own: Mapping[int, list[tuple[TripleCandidate, bool]]] = defaultdict(list)
    for item, right in ranked:
        own[item.column].append((item, right))
    cuts = np.full(properties, cut)
    for number, items in own.items():
        cuts[number] = _own_cut(items, cut, best / 2, prior)
    return cuts


def _own_cut(items: Sequence[tuple[TripleCandidate, bool]], cut: float, least: float, prior: int) -> float:
    """Where the gain of a property, hits less what each costs, is greatest; moved from ``cut`` only for enough gain."""
    values = [item.confidence for item, _ in items]
    gains = np.concatenate([[0.0], np.cumsum([right - least for _, right in items])])
    base = sum(value >= cut for value in values)
    best = int(np.argmax(gains))
    if len(items) < prior or gains[best] - gains[base] < 1.0:
        return cut
    return _halfway(values, best - 1) if best else max(values) + _SMALL


def _halfway(values: Sequence[float], last: int) -> float:
    """The confidence between the last that is kept and the next below it: what is new may fall between the two."""
    return (values[last] + (values[last + 1] if last + 1 < len(values) else 0.0)) / 2


class Framing:
    """What the frames of some properties say of texts, in columns for the learnt weights; nothing without a model."""

    def __init__(self, ontology: Ontology, properties: Sequence[str]) -> None:
        self._model = carried_frames()
        self._frames = self._model.frames(ontology, properties) if self._model is not None else None
        self._columns = 1 + len(properties)

    def see(self, text: str, words: Sequence[TextWord]) -> SeenText | None:
        """The text as the frames see it."""
        return self._model.see(text, words) if self._model is not None else None

    def stretch_odds(self, seen: SeenText | None, stretches: Sequence[Stretch]) -> Floats:
        """A column: the log-odds that each stretch is a subject or object."""
        if self._model is None or seen is None or not stretches:
            return np.zeros((len(stretches), 1))
        return np.asarray(self._model.stretch_odds(seen, stretches)[:, None], dtype=np.float64)

    def filled(
        self, seen: SeenText | None, kept: Sequence[tuple[Stretch, float]], pairs: Sequence[tuple[int, int]]
    ) -> tuple[Floats, Floats]:
        """What the frames see in each pair, and the shares of none and of each property."""
        if self._model is None or self._frames is None or seen is None or not pairs:
            width = self._model.width if self._model is not None else 0
            return np.zeros((len(pairs), width)), np.tile(np.eye(1, self._columns), (len(pairs), 1))
        states, none = self._model.pair_states(seen, kept, pairs)
        near = self._frames.nearness(seen, [(kept[a][0], kept[b][0]) for a, b in pairs])
        shares = self._model.shares(states, none, near, self._frames)
        return np.asarray(states, dtype=np.float64), np.asarray(shares, dtype=np.float64)


# The model


@dataclass(frozen=True)
class Scores:
    """Weights by feature and class, with an offset by class."""

    vocabulary: FeatureVocabulary
    weights: Floats
    offsets: Floats

    def shares(self, rows: Sequence[Sequence[str]], dense: Any) -> Floats:
        """The shares of the classes, row by row."""
        return softmax(self.vocabulary.sums(rows, dense, self.weights) + self.offsets)


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
    framing: Framing

    def read(self, text: str) -> list[TripleCandidate]:
        """The triples that the text says, the surest first."""
        words = words_of(text)
        found = Stretches(text, words, self.lore.told).all()
        if not found:
            return []
        scene, seen = TextScene(text, words, found, self.lore), self.framing.see(text, words)
        odds = self.framing.stretch_odds(seen, found)
        kept = keep(found, self.stretches.shares([stretch_features(scene, item) for item in found], odds)[:, 1])
        pairs = pairs_of(kept)
        if not pairs:
            return []
        others = likely(kept)
        rows = [pair_features(scene, kept[a][0], kept[b][0], others) for a, b in pairs]
        states, filled = self.framing.filled(seen, kept, pairs)
        candidates = self.court.candidates(scene, kept, pairs, self.pairs.shares(rows, states), filled)
        if not candidates:
            return []
        scores = np.array([item.evidence for item in candidates]) @ self.judge[:-1] + self.judge[-1]
        sure = [replace(c, confidence=float(v)) for c, v in zip(candidates, sigmoid(scores), strict=True)]
        return [item for item in settle(sure) if item.confidence >= self.cuts[item.column]]


# Reading a document

WELL_TAUGHT: Final = 5
_MAX_PASSAGE: Final = 2_000
_THING: Final = NamedNode(f"{OWL}Thing")

_Found = tuple[TripleCandidate, OntologyProperty, int, int]
"""A triple read, its property, and the place of its passage."""


def read_learnt(reading: DocumentReading, learnt: Learnt, ontology: Ontology) -> None:
    """Adds what the learnt reading says, and takes back what rules said of properties it knows well."""
    terms = {term.iri.value: term for term in ontology.properties.values()}
    passages = list(_passages(reading, learnt.sentences))
    found: list[_Found] = []
    for start, end in passages:
        for item in learnt.read(reading.text[start:end]):
            term = terms.get(learnt.properties[item.column])
            if term is not None:
                found.append((item, term, start, end))
    _take_back(reading, learnt, passages)
    classes = _Classes(reading, learnt, ontology, found)
    for item, term, start, end in found:
        _claim(reading, item, term, (start, end), classes)


def _passages(reading: DocumentReading, sentences: int) -> Iterator[tuple[int, int]]:
    """Runs of that many sentences within each line of the text."""
    for line in lines_of(reading.text):
        if line.kind in ("heading", "row"):
            continue
        first = reading.text.rfind("\n", 0, line.start) + 1
        spans = [(first + start, first + end) for start, end in sentence_spans(reading.text[first : line.end])]
        for number in range(0, len(spans), sentences):
            group = spans[number : number + sentences]
            if group[-1][1] - group[0][0] <= _MAX_PASSAGE:
                yield group[0][0], group[-1][1]
            else:
                yield from (span for span in group if span[1] - span[0] <= _MAX_PASSAGE)


def _take_back(reading: DocumentReading, learnt: Learnt, passages: list[tuple[int, int]]) -> None:
    known = {iri for iri, count in zip(learnt.properties, learnt.counts, strict=True) if count >= WELL_TAUGHT}
    labelled = [(line.start, line.end) for line in lines_of(reading.text) if line.kind == "label"]
    for key, claim in list(reading.claims.items()):
        flows = _holds(passages, claim.start) and not _holds(labelled, claim.start)
        if claim.predicate.value in known and flows:
            del reading.claims[key]


def _holds(spans: list[tuple[int, int]], position: int) -> bool:
    number = bisect_right(spans, position, key=lambda span: span[0]) - 1
    return number >= 0 and position < spans[number][1]


class _Classes:
    """The class of each name: what the rules found it to be, else what most of its properties ask for."""

    def __init__(self, reading: DocumentReading, learnt: Learnt, ontology: Ontology, found: list[_Found]) -> None:
        self._learnt = learnt
        self._ontology = ontology
        self._known = {mention.name: mention.type for mention in reversed(reading.mentions)}
        self._votes: dict[str, Counter[NamedNode]] = defaultdict(Counter)
        for item, term, _, _ in found:
            self._votes[item.subject_name][self._wanted(term, 0)] += 1
            if term.is_object:
                self._votes[item.object_name][self._wanted(term, 1)] += 1

    def of(self, name: str, term: OntologyProperty, side: int) -> NamedNode:
        """The class of the name as subject (side 0) or object (1) of the property."""
        allowed = term.ranges if side else term.domains
        ranked = sorted(self._votes[name].items(), key=lambda pair: (-pair[1], pair[0].value))
        for class_ in (self._known.get(name), *(voted for voted, _ in ranked)):
            if class_ is not None and class_ != _THING and self._ontology.is_a(class_, allowed):
                return class_
        return self._wanted(term, side)

    def _wanted(self, term: OntologyProperty, side: int) -> NamedNode:
        allowed = tuple(item for item in (term.ranges if side else term.domains) if item in self._ontology.classes)
        told = self._learnt.classes.get(term.iri.value, ("", ""))[side]
        if told and NamedNode(told) in self._ontology.classes and self._ontology.is_a(NamedNode(told), allowed):
            return NamedNode(told)
        return min(allowed, key=lambda item: item.value, default=_THING)


def _claim(
    reading: DocumentReading, item: TripleCandidate, term: OntologyProperty, passage: tuple[int, int], classes: _Classes
) -> None:
    start, end = passage
    subject = _mention(reading, item.subject, item.subject_name, start, classes.of(item.subject_name, term, 0))
    object_: Mention | Literal
    if term.is_object:
        object_ = _mention(reading, item.object, item.object_name, start, classes.of(item.object_name, term, 1))
    else:
        try:
            object_ = literal_of(item.object_name, term, language=reading.document.language)
        except ValueError as error:
            reading.refuse(start + item.object.start, start + item.object.end, str(error))
            return
    reading.claim(Claim(subject, term.iri, object_, start, end, round(item.confidence, 4)))


def _mention(reading: DocumentReading, stretch: Stretch, name: str, start: int, class_: NamedNode) -> Mention:
    first, last = start + stretch.start, start + stretch.end
    text = reading.document.text[first:last]
    aliases = (text,) if text != name else ()
    return Mention(text, first, last, class_, name, aliases)
