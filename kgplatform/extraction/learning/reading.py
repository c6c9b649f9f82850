"""Reads a document by what was learnt, beside the rules: passages as long as the examples, claims with their places.

In running text the learnt reading has the word on properties that it knows from several examples; what rules read
there of those is left out. Labelled lines and tables stay with the rules.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from pyoxigraph import Literal, NamedNode

from kgplatform.extraction.learning.judging import Candidate
from kgplatform.extraction.learning.learnt import Learnt
from kgplatform.extraction.learning.spans import Stretch
from kgplatform.extraction.reading import Reading
from kgplatform.extraction.structure import lines_of, sentence_spans
from kgplatform.extraction.values import literal_of
from kgplatform.ontology import Ontology, OntologyProperty
from kgplatform.types import Claim, Mention
from kgplatform.vocab import OWL

WELL_TAUGHT: Final = 5
_MAX_PASSAGE: Final = 2_000
_THING: Final = NamedNode(f"{OWL}Thing")

_Found = tuple[Candidate, OntologyProperty, int, int]
"""A triple read, its property, and the place of its passage."""


def read_learnt(reading: Reading, learnt: Learnt, ontology: Ontology) -> None:
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


def _passages(reading: Reading, sentences: int) -> Iterator[tuple[int, int]]:
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


def _take_back(reading: Reading, learnt: Learnt, passages: list[tuple[int, int]]) -> None:
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

    def __init__(self, reading: Reading, learnt: Learnt, ontology: Ontology, found: list[_Found]) -> None:
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
    reading: Reading, item: Candidate, term: OntologyProperty, passage: tuple[int, int], classes: _Classes
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


def _mention(reading: Reading, stretch: Stretch, name: str, start: int, class_: NamedNode) -> Mention:
    first, last = start + stretch.start, start + stretch.end
    text = reading.document.text[first:last]
    aliases = (text,) if text != name else ()
    return Mention(text, first, last, class_, name, aliases)
