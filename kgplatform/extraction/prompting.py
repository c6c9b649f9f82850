"""The ontology in the words of a prompt: which classes and properties there are, and what they mean.

Labels, comments and the words between them are in the language of the text; the names to be used stay as they are.

A large ontology does not fit beside the passage, so what goes in is chosen by what the passage is about: terms
whose words occur in it first, then those in use beside them, until a budget of tokens is spent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.ontology import Ontology, OntologyClass, OntologyProperty, Word, label_of
from kgplatform.text import count_tokens, has_han, singular, words, words_of_identifier
from kgplatform.vocab import local_name


@dataclass(frozen=True, slots=True)
class _Wording:
    """The words between the terms, in one language."""

    kind: str
    one: str
    example: str
    anything: str
    either: str
    comma: str
    part: str
    colon: str
    unit: str
    form: str


_SAID: Final = {
    "en": _Wording("kind of ", "one of: ", "e.g. ", "anything", " or ", ", ", "; ", ": ", " in ", "form "),
    "zh": _Wording("属于", "取值：", "例：", "任意", "或", "、", "；", "：", "，单位", "形式"),
}


def _wording(language: str) -> _Wording:
    return _SAID["zh" if language.startswith("zh") else "en"]


@dataclass(frozen=True, slots=True)
class SchemaLine:
    """A class or property with the name the model is to use, and its line in the prompt."""

    name: str
    iri: NamedNode
    text: str


@dataclass(frozen=True, slots=True)
class Schema:
    """The part of an ontology that a prompt shows, with the IRIs of its names."""

    classes: tuple[SchemaLine, ...]
    properties: tuple[SchemaLine, ...]

    def class_iri(self, name: str) -> NamedNode | None:
        """The class with that name; None where the prompt shows no such class."""
        return _named(self.classes, name)

    def property_iri(self, name: str) -> NamedNode | None:
        """The property with that name; None where the prompt shows no such property."""
        return _named(self.properties, name)


def _named(lines: Iterable[SchemaLine], name: str) -> NamedNode | None:
    wanted = name.strip().casefold()
    return next((line.iri for line in lines if line.name.casefold() == wanted or line.iri.value == name.strip()), None)


def schema_of(ontology: Ontology, text: str, *, language: str = "en", budget: int = 2500) -> Schema:
    """The classes and properties to show beside the text, at most ``budget`` tokens of them, in a fixed order.

    Every term is shown with at least its place in the ontology, as long as that fits; those whose words occur in the
    text are the first to be explained too. Of a property and its inverse one is shown. Names are local names; where
    two classes or two properties share one, the IRI is the name of the second.
    """
    about = _About(text.casefold(), frozenset(singular(word) for word in words(text)), grams(text))
    class_names: set[str] = set()
    property_names: set[str] = set()
    classes = [
        _Lines(
            _name(item.iri, class_names),
            item.iri,
            _class_short(item, ontology, language),
            _class_line(item, ontology, language),
            about.weight(item.words, item.comments),
        )
        for item in ontology.domain_classes
    ]
    properties = [
        _Lines(
            _name(term.iri, property_names),
            term.iri,
            _property_short(term, language),
            _property_line(term, language),
            about.weight(term.words, term.comments),
        )
        for term in _one_direction(ontology.domain_properties)
        if term.words
    ]
    texts = _within([*properties, *classes], budget)
    return Schema(_chosen(classes, texts), _chosen(properties, texts))


def _one_direction(terms: Iterable[OntologyProperty]) -> list[OntologyProperty]:
    """The properties without those whose inverse comes before them."""
    shown: dict[NamedNode, OntologyProperty] = {}
    for term in terms:
        if term.inverse is None or term.inverse not in shown:
            shown[term.iri] = term
    return list(shown.values())


@dataclass(frozen=True, slots=True)
class _Lines:
    """What a term says of itself in brief and in full, and how much the text speaks of it."""

    name: str
    iri: NamedNode
    short: str
    full: str
    weight: int


_SPOKEN_OF: Final = 1000


@dataclass(frozen=True, slots=True)
class _About:
    """What a text is about: its letters, its words, and its words and pairs of Han characters."""

    lowered: str
    found: frozenset[str]
    grams: frozenset[str]

    def weight(self, terms: Iterable[Word], comments: Iterable[Word]) -> int:
        """How much the text speaks of a term: by name, else by how many words it shares with label and comment."""
        if any(self._has(word.text) for word in terms):
            return _SPOKEN_OF
        said = frozenset().union(*(grams(word.text) for word in (*terms, *comments)))
        return len(said & self.grams)

    def _has(self, text: str) -> bool:
        if has_han(text):
            return text.casefold() in self.lowered
        return {singular(part) for part in words(text)} <= self.found


def grams(text: str) -> frozenset[str]:
    """The words of four letters and more, and the pairs of Han characters: what tells one text from another.

    >>> sorted(grams("The temples of 乌镇 lie"))
    ['temple', '乌镇']
    """
    tokens = words(text)
    pairs = (first + second for first, second in pairwise(tokens) if has_han(first) and has_han(second))
    return frozenset((*pairs, *(singular(token) for token in tokens if len(token) > 3 and not has_han(token))))


def _within(terms: list[_Lines], budget: int) -> dict[NamedNode, str]:
    """What is shown of the terms that fit: all in brief, and as many in full as the rest of the budget allows.

    Terms that the text speaks of most have precedence in both.
    """
    by_weight = sorted(terms, key=lambda term: -term.weight)
    texts: dict[NamedNode, str] = {}
    for term in by_weight:
        budget -= count_tokens(f"{term.name}{term.short}") + 3
        if budget < 0:
            break
        texts[term.iri] = term.short
    for term in by_weight:
        budget -= count_tokens(term.full) - count_tokens(term.short)
        if budget < 0:
            break
        if term.iri in texts:
            texts[term.iri] = term.full
    return texts


def _chosen(terms: Iterable[_Lines], texts: Mapping[NamedNode, str]) -> tuple[SchemaLine, ...]:
    """The lines of the terms that are shown, in the order of the ontology."""
    return tuple(SchemaLine(term.name, term.iri, texts[term.iri]) for term in terms if term.iri in texts)


def _class_short(item: OntologyClass, ontology: Ontology, language: str) -> str:
    said = _wording(language)
    kind = _kind(item, ontology, said)
    own = [] if said is _SAID["en"] else [label_of(item.words, language, "")]  # an English name needs no English label
    return said.part.join([*filter(None, [*own, kind]), *_listed(item, ontology, language)])


def _kind(item: OntologyClass, ontology: Ontology, said: _Wording) -> str:
    above = [local_name(iri.value) for iri in item.parents if iri in ontology.classes]
    return f"{said.kind}{said.comma.join(above)}" if above else ""


def _listed(item: OntologyClass, ontology: Ontology, language: str) -> list[str]:
    """The values of a closed list; a model cannot choose among what it does not see."""
    said = _wording(language)
    values = [ontology.label(iri, language) for iri, value in ontology.individuals.items() if item.iri in value.types]
    return [f"{said.one}{said.comma.join(values)}"] if values else []


def _property_short(term: OntologyProperty, language: str) -> str:
    said = _wording(language)
    own = "" if said is _SAID["en"] else f" | {label_of(term.words, language, '')}"
    return f"{_signature(term, said)}{own}"


def _signature(term: OntologyProperty, said: _Wording) -> str:
    domain = said.either.join(local_name(iri.value) for iri in term.domains) or said.anything
    range_ = said.either.join(local_name(iri.value) for iri in term.ranges) or said.anything
    return f"{domain} | {range_}" + (f"{said.unit}{term.unit}" if term.unit else "")


def _name(iri: NamedNode, names: set[str]) -> str:
    name = local_name(iri.value)
    name = iri.value if name.casefold() in names else name
    names.add(name.casefold())
    return name


def _class_line(item: OntologyClass, ontology: Ontology, language: str) -> str:
    said = _wording(language)
    parts = [_said(item, language), _kind(item, ontology, said)]
    if item.examples:
        parts.append(said.example + said.comma.join(word.text for word in item.examples[:3]))
    return said.part.join(filter(None, [*parts, *_listed(item, ontology, language)]))


def _property_line(term: OntologyProperty, language: str) -> str:
    said = _wording(language)
    form = f"{said.form}{term.pattern}" if term.pattern and len(term.pattern) <= 60 else ""
    meaning = said.part.join(filter(None, [_said(term, language), form]))
    return f"{_signature(term, said)} | {meaning}" if meaning else _signature(term, said)


def _said(term: OntologyClass | OntologyProperty, language: str) -> str:
    """Label and comment, without a label that only repeats the name."""
    label = label_of(term.words, language, "")
    label = "" if _plain(label) == _plain(local_name(term.iri.value)) else label
    return _wording(language).colon.join(filter(None, [label, label_of(term.comments, language, "")]))


def _plain(name: str) -> str:
    return "".join(words_of_identifier(name).split())
