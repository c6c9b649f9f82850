"""The ontology in the words of a prompt: which classes and properties there are, and what they mean.

A large ontology does not fit beside the passage, so what goes in is chosen by what the passage is about: terms
whose words occur in it first, then those in use beside them, until a budget of tokens is spent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from pyoxigraph import NamedNode

from kgplatform.ontology import Ontology, OntologyClass, OntologyProperty, Word, label_of
from kgplatform.text import count_tokens, has_han, singular, words
from kgplatform.vocab import local_name

_Term = TypeVar("_Term", OntologyClass, OntologyProperty)


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


def schema_of(ontology: Ontology, text: str, *, language: str = "en", budget: int = 4000) -> Schema:
    """The classes and properties to show beside the text, at most ``budget`` tokens of them.

    Every term is shown with at least its place in the ontology, as long as that fits; those whose words occur in the
    text come first and are the first to be explained too. Names are local names; where two terms share one, the IRI
    is the name of the second.
    """
    found = frozenset(singular(word) for word in words(text))
    names: set[str] = set()
    classes = [
        _Lines(_name(item.iri, names), item.iri, _class_short(item, ontology), _class_line(item, ontology, language))
        for item in _ranked(ontology.domain_classes, text, found)
    ]
    properties = [
        _Lines(_name(term.iri, names), term.iri, _property_short(term), _property_line(term, language))
        for term in _ranked([term for term in ontology.domain_properties if term.words], text, found)
    ]
    shown = _within(properties, budget * 3 // 5)
    spent = sum(count_tokens(f"{line.name}{line.text}") + 3 for line in shown)
    return Schema(_within(classes, budget - spent), shown)


@dataclass(frozen=True, slots=True)
class _Lines:
    """What a term says of itself in brief and in full."""

    name: str
    iri: NamedNode
    short: str
    full: str


def _within(terms: list[_Lines], budget: int) -> tuple[SchemaLine, ...]:
    """The terms that fit, in brief, and as many of them in full as the rest of the budget allows, from the first on."""
    shown: list[_Lines] = []
    for term in terms:
        budget -= count_tokens(f"{term.name}{term.short}") + 3
        if budget < 0:
            break
        shown.append(term)
    lines = []
    for term in shown:
        budget -= count_tokens(term.full) - count_tokens(term.short)
        lines.append(SchemaLine(term.name, term.iri, term.full if budget >= 0 else term.short))
    return tuple(lines)


def _class_short(item: OntologyClass, ontology: Ontology) -> str:
    above = [local_name(iri.value) for iri in item.parents if iri in ontology.classes]
    return f"kind of {', '.join(above)}" if above else "thing"


def _property_short(term: OntologyProperty) -> str:
    domain = " or ".join(local_name(iri.value) for iri in term.domains) or "anything"
    range_ = " or ".join(local_name(iri.value) for iri in term.ranges) or "anything"
    return f"{domain} | {range_}"


def _ranked(terms: Iterable[_Term], text: str, found: frozenset[str]) -> list[_Term]:
    """The terms, those whose words occur in the text first; otherwise in their own order."""
    lowered = text.casefold()
    return sorted(terms, key=lambda term: not _occurs(term.words, lowered, found))


def _occurs(terms: Iterable[Word], lowered: str, found: frozenset[str]) -> bool:
    return any(
        word.text.casefold() in lowered
        if has_han(word.text)
        else {singular(part) for part in words(word.text)} <= found
        for word in terms
    )


def _name(iri: NamedNode, names: set[str]) -> str:
    name = local_name(iri.value)
    name = iri.value if name.casefold() in names else name
    names.add(name.casefold())
    return name


def _class_line(item: OntologyClass, ontology: Ontology, language: str) -> str:
    parts = [_said(item.words, item.comments, language)]
    above = [ontology.label(iri, language) for iri in item.parents if iri in ontology.classes]
    if above:
        parts.append(f"kind of {', '.join(above)}")
    if item.examples:
        parts.append("e.g. " + ", ".join(word.text for word in item.examples[:3]))
    listed = [ontology.label(iri, language) for iri, value in ontology.individuals.items() if item.iri in value.types]
    if listed:
        parts.append("one of: " + ", ".join(listed))
    return "; ".join(filter(None, parts))


def _property_line(term: OntologyProperty, language: str) -> str:
    unit = f" in {term.unit}" if term.unit else ""
    form = f"; form {term.pattern}" if term.pattern and len(term.pattern) <= 60 else ""
    return f"{_property_short(term)}{unit} | {_said(term.words, term.comments, language)}{form}"


def _said(terms: tuple[Word, ...], comments: tuple[Word, ...], language: str) -> str:
    label = label_of(terms, language, "")
    comment = label_of(comments, language, "")
    return f"{label}: {comment}" if comment else label
