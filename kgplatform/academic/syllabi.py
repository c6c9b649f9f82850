"""Syllabi held against one another: what is needed and taught nowhere, and what is taught twice.

A course needs, besides its prerequisites, the concepts that its learning outcomes name, the broader concepts of those
it covers, and those of its reading. Two concepts, or two outcomes, are the same if they are one node or worded alike,
or if their vectors are near enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import NamedNode

from kgplatform.academic.courses import Catalogue, Course
from kgplatform.academic.terms import KNOWLEDGE
from kgplatform.text import has_han, normalise

_LEAST_LETTERS: Final = 4
_LEAST_HAN: Final = 2
_MOST_COURSES: Final = 2000


class GapKind(StrEnum):
    """Why something that a course needs is missing."""

    NO_SYLLABUS = "no-syllabus"
    NOT_TAUGHT = "not-taught"
    NOT_BEFORE = "not-before"


@dataclass(frozen=True, slots=True)
class Gap:
    """Something a course needs: a course without a syllabus, or a concept that is taught nowhere, or not before it.

    ``because`` is the outcome, covered concept or reading that the need follows from; ``taught`` is where it is taught.
    """

    kind: GapKind
    course: NamedNode
    missing: NamedNode
    because: str = ""
    taught: tuple[NamedNode, ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """Two concepts or outcomes that say the same, in words, and how near they are (1: worded alike)."""

    first: str
    second: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Overlap:
    """What two courses both teach; ``share`` is the part of the smaller syllabus that the other one has too.

    ``ordered``: one of them is a prerequisite of the other, so that what is repeated may be meant so.
    """

    first: NamedNode
    second: NamedNode
    concepts: tuple[Match, ...]
    outcomes: tuple[Match, ...]
    share: float
    ordered: bool


@dataclass(frozen=True, slots=True)
class _Taught:
    """What a course teaches, in words, with the rows of their vectors."""

    course: NamedNode
    concepts: tuple[str, ...]
    outcomes: tuple[str, ...]


def gaps(catalogue: Catalogue) -> list[Gap]:
    """What courses need and no course in the graph teaches, or none that comes before them; by course."""
    found: list[Gap] = []
    home = {iri: course for course in catalogue.courses.values() for iri in course.covers}
    names = _concept_names(catalogue)
    for course in catalogue.sorted():
        found += [
            Gap(GapKind.NO_SYLLABUS, course.iri, other)
            for other in catalogue.needs(course.iri)
            if not _described(catalogue.courses[other])
        ]
        before = catalogue.before(course.iri)
        for concept, because in _needed(course, catalogue, names):
            taught = tuple(catalogue.teaching(concept)) if concept in home else ()
            if not taught:
                found.append(Gap(GapKind.NOT_TAUGHT, course.iri, concept, because))
            elif not before.keys() & set(taught):
                found.append(Gap(GapKind.NOT_BEFORE, course.iri, concept, because, taught))
    return found


def overlaps(catalogue: Catalogue, *, similarity: float, least: float = 0.0) -> list[Overlap]:
    """The pairs of courses that teach the same, those that share most first; ``least`` share to be listed."""
    taught = [_taught(course, catalogue) for course in catalogue.sorted()[:_MOST_COURSES]]
    taught = [item for item in taught if item.concepts or item.outcomes]
    words = list(dict.fromkeys(text for item in taught for text in (*item.concepts, *item.outcomes)))
    comparing = _Comparing(words, catalogue.parts.vectors(words), similarity)
    before = {item.course: catalogue.before(item.course).keys() - {item.course} for item in taught}
    found = []
    for one, other in combinations(taught, 2):
        concepts = comparing.matches(one.concepts, other.concepts)
        outcomes = comparing.matches(one.outcomes, other.outcomes)
        smaller = min(len(one.concepts) + len(one.outcomes), len(other.concepts) + len(other.outcomes))
        share = (len(concepts) + len(outcomes)) / smaller
        if share > 0 and share >= least:
            ordered = one.course in before[other.course] or other.course in before[one.course]
            found.append(Overlap(one.course, other.course, concepts, outcomes, share, ordered))
    return sorted(found, key=lambda item: (-item.share, item.first.value, item.second.value))


class _Comparing:
    """Finds what two lists of wordings have in common."""

    def __init__(self, words: Sequence[str], vectors: NDArray[np.float32] | None, least: float) -> None:
        self._row = {text: place for place, text in enumerate(words)}
        self._vectors = vectors
        self._least = least

    def matches(self, ones: Sequence[str], others: Sequence[str]) -> tuple[Match, ...]:
        """Each wording of the first list with at most one of the second, the nearest pairs first."""
        if not ones or not others:
            return ()
        pairs = sorted(self._pairs(ones, others), key=lambda match: (-match.similarity, match.first, match.second))
        taken: set[tuple[int, str]] = set()
        found = []
        for match in pairs:
            ends = {(0, match.first), (1, match.second)}
            if not ends & taken:
                taken |= ends
                found.append(match)
        return tuple(found)

    def _pairs(self, ones: Sequence[str], others: Sequence[str]) -> Iterator[Match]:
        alike = {normalise(text): text for text in others}
        for text in ones:
            if (same := alike.get(normalise(text))) is not None:
                yield Match(text, same, 1.0)
        if self._vectors is None:
            return
        rows, columns = [self._row[text] for text in ones], [self._row[text] for text in others]
        near = self._vectors[rows] @ self._vectors[columns].T
        for one, other in zip(*np.nonzero(near >= self._least), strict=True):
            if normalise(ones[one]) != normalise(others[other]):
                yield Match(ones[one], others[other], min(1.0, float(near[one, other])))


def _taught(course: Course, catalogue: Catalogue) -> _Taught:
    concepts = dict.fromkeys(catalogue.labels.of(iri).text for iri in course.covers)
    return _Taught(course.iri, tuple(concepts), course.outcomes)


def _described(course: Course) -> bool:
    """Whether the graph has a syllabus: what the course teaches, and not only its name or credits."""
    return bool(course.covers or course.outcomes or course.materials)


def _needed(
    course: Course, catalogue: Catalogue, names: Sequence[tuple[str, NamedNode]]
) -> Iterable[tuple[NamedNode, str]]:
    """The concepts that the course needs and does not cover itself, each once, with what the need follows from."""
    own = set(course.covers)
    own_names = {normalise(word.text) for iri in own for word in catalogue.labels.words(iri)}
    found: dict[NamedNode, str] = {}
    for text in course.outcomes:
        for concept in _named(text, names):
            found.setdefault(concept, text)
    for iri in course.covers:
        for above in catalogue.parts.linked(iri, "broaderConcept", "narrowerConcept"):
            found.setdefault(above, catalogue.labels.of(iri).text)
    for material in course.materials:
        for concept in catalogue.parts.linked(material, "covers", "coveredIn"):
            found.setdefault(concept, catalogue.labels.of(material).text)
    for concept, because in found.items():
        names_of = {normalise(word.text) for word in catalogue.labels.words(concept)}
        if concept not in own and not names_of & own_names:
            yield concept, because


def _named(text: str, names: Sequence[tuple[str, NamedNode]]) -> Iterator[NamedNode]:
    """The concepts whose names stand in the text, the longest name where several overlap."""
    wanted = normalise(text)
    taken: list[tuple[int, int]] = []
    for name, iri in names:
        pattern = re.escape(name) if has_han(name) else rf"(?<!\w){re.escape(name)}(?!\w)"
        found = re.search(pattern, wanted)
        if found and not any(start < found.end() and found.start() < end for start, end in taken):
            taken.append(found.span())
            yield iri


def _concept_names(catalogue: Catalogue) -> list[tuple[str, NamedNode]]:
    """The names of knowledge concepts that are long enough to be told from other words, the longest first."""
    found = {
        (normalise(word.text), iri)
        for iri in catalogue.parts.instances(KNOWLEDGE)
        for word in catalogue.labels.words(iri)
    }
    long_enough = ((name, iri) for name, iri in found if len(name) >= (_LEAST_HAN if has_han(name) else _LEAST_LETTERS))
    return sorted(long_enough, key=lambda item: (-len(item[0]), item[0], item[1].value))
