"""From a text to judged triples: stretches kept, pairs scored, candidates weighed, and those settled that go together.

The same steps serve training, on examples that the weights have not seen, and reading.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kgplatform.extraction.learning.aligning import squeezed
from kgplatform.extraction.learning.features import Scene, near_words
from kgplatform.extraction.learning.linear import Floats
from kgplatform.extraction.learning.naming import Namings
from kgplatform.extraction.learning.spans import Stretch, plain
from kgplatform.ontology import Ontology
from kgplatform.text import has_han, words_of_identifier
from kgplatform.vocab import local_name

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
EVIDENCE: Final = 16
"""How many numbers speak for or against a candidate."""


@dataclass(frozen=True, slots=True)
class Candidate:
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


class Words:
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
    """The words as `Words` compares them."""
    return frozenset(part for word in words for part in (word if has_han(word) else (word[:_STEM],)) if part)


@dataclass(frozen=True)
class Court:
    """What candidates are weighed with: the properties and how many examples they have, their words, and names."""

    properties: Sequence[str]
    counts: Sequence[int]
    words: Words
    namings: Namings

    def candidates(
        self,
        scene: Scene,
        kept: Sequence[tuple[Stretch, float]],
        pairs: Sequence[tuple[int, int]],
        shares: Floats,
        own: Namings | None = None,
    ) -> list[Candidate]:
        """The triples worth weighing; column 0 of the shares is that of no property, ``own`` as for `Namings.name`."""
        shares = np.pad(shares, ((0, 0), (0, len(self.properties) + 1 - shares.shape[1])))
        tops = _Tops(pairs, shares)
        found = []
        for row in np.flatnonzero(shares[:, 0] < _MOST_NONE).tolist():
            (subject, p_subject), (object_, p_object) = (kept[n] for n in pairs[row])
            wide, beside = (stems_of(words) for words in near_words(scene, subject, object_))
            inside = stems_of(plain(object_.key).split())
            shared = (_log_odds(1 - shares[row, 0]), _log_odds(p_subject), _log_odds(p_object))
            for column, iri in enumerate(self.properties):
                told = self.words.overlap(column, wide)
                if shares[row, column + 1] < _LEAST_PROPERTY and told < 1:
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
                    *tops.of(row, column + 1),
                )
                names = self._names(scene, subject, object_, iri, own)
                found.append(Candidate(subject, object_, column, *names, evidence))
        return found

    def _names(
        self, scene: Scene, subject: Stretch, object_: Stretch, iri: str, own: Namings | None
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


def settle(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates without those that a surer one excludes, the surest first.

    Excluded are the same triple again, its converse, another subject for the same object, a second property of a pair
    that is much less likely than the first, and what takes a part of a name that a surer one takes whole.
    """
    found: list[Candidate] = []
    keys: set[tuple[str, int, str]] = set()
    for item in sorted(candidates, key=lambda c: (-c.confidence, c.subject.first, c.object.first, c.column)):
        subject, property_, object_ = item.key
        if subject == object_ or item.key in keys or any(_excludes(other, item) for other in found):
            continue
        keys |= {item.key, (object_, property_, subject)}
        found.append(item)
    return found


def _excludes(surer: Candidate, item: Candidate) -> bool:
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


def thresholds(settled: Sequence[tuple[Candidate, bool]], said: int, properties: int, *, prior: int = 8) -> Floats:
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
    own: Mapping[int, list[tuple[Candidate, bool]]] = defaultdict(list)
    for item, right in ranked:
        own[item.column].append((item, right))
    cuts = np.full(properties, cut)
    for number, items in own.items():
        cuts[number] = _own_cut(items, cut, best / 2, prior)
    return cuts


def _own_cut(items: Sequence[tuple[Candidate, bool]], cut: float, least: float, prior: int) -> float:
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
