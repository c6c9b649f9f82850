"""Questions to begin with, made from what the graph holds and the words of its ontology."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from pyoxigraph import NamedNode, Quad, Triple

from kgplatform.describing import Labels
from kgplatform.ontology import OntologyProperty, label_of
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.text import has_han
from kgplatform.types import Term
from kgplatform.vocab import TYPE, XSD
from kgplatform.web.needs import Graph
from kgplatform.web.overview import Overview
from kgplatform.web.words import plural

_LOOKED_AT = 500
_PREPOSITIONS = frozenset(("in", "at", "by", "of", "from", "to", "with", "near", "on", "for", "as", "into"))
_TELLING = frozenset(f"{XSD}{name}" for name in ("integer", "decimal", "double", "date", "dateTime", "gYear"))


@dataclass(frozen=True, slots=True)
class Starter:
    """A question and what kind it is: ``lookup``, ``count``, ``list``, or ``other`` for one in the other language."""

    kind: str
    text: str


class Kept:
    """The starters of a workspace, made again when its store has changed."""

    def __init__(self, kg: Graph) -> None:
        self._kg = kg
        self._kept: dict[str, tuple[int, list[Starter]]] = {}

    def starters(self, overview: Overview, language: str) -> list[Starter]:
        """The starters for the language."""
        version = self._kg.store.version
        if language not in self._kept or self._kept[language][0] != version:
            self._kept[language] = (version, starters(self._kg, overview, language))
        return self._kept[language][1]


def starters(kg: Graph, overview: Overview, language: str) -> list[Starter]:
    """Up to four questions, the last one in the other language."""
    other = "en" if language == "zh" else "zh"
    own, foreign = _Questions(kg, overview, language), _Questions(kg, overview, other)
    found = [
        *islice((Starter("lookup", text) for text in own.lookups()), 1),
        *islice((Starter("list", text) for text in own.lists()), 1),
        *islice((Starter("count", text) for text in own.counts()), 1),
    ]
    said = [*foreign.counts()] or [*foreign.lookups()]
    return [*found, *(Starter("other", text) for text in said[-1:])]


class _Questions:
    """The questions in one language."""

    def __init__(self, kg: Graph, overview: Overview, language: str) -> None:
        self._kg = kg
        self._overview = overview
        self._zh = language == "zh"
        self._language = language
        self._labels = Labels(kg.dataset, kg.ontology, language)

    def counts(self) -> Iterator[str]:
        for iri in list(self._overview.classes)[1:4] or list(self._overview.classes)[:1]:
            noun = self._labels.of(iri).text
            if has_han(noun) == self._zh:
                yield f"有多少个{noun}？" if self._zh else f"How many {plural(noun)} are there?"

    def lookups(self) -> Iterator[str]:
        """One fact of one thing: the property with the most telling values first."""
        for term in sorted(self._used(wants_things=False), key=lambda item: not _is_telling(item)):
            values: dict[object, int] = Counter()
            for quad in self._stated(term.iri):
                values[quad.subject] += 1
            for subject in sorted((s for s, n in values.items() if n == 1 and isinstance(s, NamedNode)), key=str):
                name = self._named(subject)
                if 1 < len(name) < 30:
                    what = self._words(term)
                    yield f"{name}的{what}是什么？" if self._zh else f"What is the {what} of {name}?"
                    break

    def lists(self) -> Iterator[str]:
        """The things of a class that one thing is most referred to by."""
        for term in self._used(wants_things=True):
            subjects: dict[NamedNode, list[object]] = defaultdict(list)
            for quad in self._stated(term.iri):
                if isinstance(quad.object, NamedNode):
                    subjects[quad.object].append(quad.subject)
            for object_ in sorted(subjects, key=lambda iri: (abs(len(subjects[iri]) - 5), iri.value)):
                name, class_ = self._named(object_), self._class_of(subjects[object_])
                if name and class_ and len(subjects[object_]) > 1:
                    yield self._listing(class_, term, name)
                    break

    def _listing(self, class_: str, term: OntologyProperty, name: str) -> str:
        """The question for the things of a class with that value; the form goes by what the English label is."""
        relation, form = self._words(term), _form(label_of(term.words, "en", ""))
        if self._zh:
            return f"哪些{class_}的{relation}是{name}？" if form == "noun" else f"哪些{class_}{relation}{name}？"
        if form == "verb":
            return f"Which {class_} {relation} {name}?"
        verb = "have" if form == "noun" else "are"
        return f"Which {plural(class_)} {verb} {relation.removeprefix('has ')} {name}?"

    def _stated(self, predicate: NamedNode) -> Iterator[Quad]:
        """Some of the statements with the property; conclusions would make dull questions."""
        quads = islice(self._kg.store.quads(None, predicate, None, DEFAULT_GRAPH), _LOOKED_AT)
        return (quad for quad in quads if self._kg.dataset.is_stated(quad.triple))

    def _used(self, *, wants_things: bool) -> Iterator[OntologyProperty]:
        for iri in self._overview.properties:
            term = self._kg.ontology.properties.get(iri)
            if term is not None and term.is_object == wants_things and not term.internal:
                words = label_of(term.words, self._language, "")
                if words and has_han(words) == self._zh and (term.is_object or term.domains):
                    yield term

    def _words(self, term: OntologyProperty) -> str:
        return label_of(term.words, self._language, "")

    def _named(self, iri: NamedNode) -> str:
        word = self._labels.of(iri)
        return word.text if word.language and has_han(word.text) == self._zh else ""

    def _is_stated(self, subject: NamedNode, type_: Term) -> bool:
        return isinstance(type_, NamedNode) and self._kg.dataset.is_stated(Triple(subject, TYPE, type_))

    def _class_of(self, subjects: list[object]) -> str:
        types: Counter[Term] = Counter()
        for subject in subjects:
            if isinstance(subject, NamedNode):
                types.update(t for t in self._kg.store.objects(subject, TYPE) if self._is_stated(subject, t))
        usual = [t for t, _ in types.most_common() if isinstance(t, NamedNode) and t in self._overview.classes]
        return self._labels.of(usual[0]).text if usual else ""


def _form(relation: str) -> str:
    """Whether the words for a relation are a verb (offers), a state (located in, near) or a noun (airline)."""
    first, last = relation.split()[0], relation.split()[-1]
    if first == "has":
        return "noun"
    if last in _PREPOSITIONS:
        return "verb" if first.endswith("s") and first != last else "state"
    return "verb" if first.endswith("s") and not first.endswith(("ss", "us")) else "noun"


def _is_telling(term: OntologyProperty) -> bool:
    return any(item.value in _TELLING for item in term.ranges)
