"""The ontology in the words of a prompt: which classes and properties there are, and what they mean.

A large ontology does not fit beside the passage, so what goes in is chosen by what the passage is about: terms
whose words occur in it first, then those in use beside them, until a budget of tokens is spent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyoxigraph import NamedNode

from kgplatform.ontology import Ontology, OntologyClass, OntologyProperty, Word, label_of
from kgplatform.text import count_tokens, has_han, singular, words
from kgplatform.vocab import local_name


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
    """The classes and properties to show beside the text, at most ``budget`` tokens of them, in a fixed order.

    Every term is shown with at least its place in the ontology, as long as that fits; those whose words occur in the
    text are the first to be explained too. Of a property and its inverse one is shown. Names are local names; where
    two terms share one, the IRI is the name of the second.
    """
    found = frozenset(singular(word) for word in words(text))
    lowered = text.casefold()
    names: set[str] = set()
    classes = [
        _Lines(
            _name(item.iri, names),
            item.iri,
            _class_short(item, ontology, language),
            _class_line(item, ontology, language),
            _occurs(item.words, lowered, found),
        )
        for item in ontology.domain_classes
    ]
    properties = [
        _Lines(
            _name(term.iri, names),
            term.iri,
            _property_short(term),
            _property_line(term, language),
            _occurs(term.words, lowered, found),
        )
        for term in _one_direction(ontology.domain_properties)
        if term.words
    ]
    shown = _within(properties, budget * 3 // 5)
    spent = sum(count_tokens(f"{line.name}{line.text}") + 3 for line in shown)
    return Schema(_within(classes, budget - spent), shown)


def _one_direction(terms: Iterable[OntologyProperty]) -> list[OntologyProperty]:
    """The properties without those whose inverse comes before them."""
    shown: dict[NamedNode, OntologyProperty] = {}
    for term in terms:
        if term.inverse is None or term.inverse not in shown:
            shown[term.iri] = term
    return list(shown.values())


@dataclass(frozen=True, slots=True)
class _Lines:
    """What a term says of itself in brief and in full, and whether the text speaks of it."""

    name: str
    iri: NamedNode
    short: str
    full: str
    occurs: bool


def _within(terms: list[_Lines], budget: int) -> tuple[SchemaLine, ...]:
    """The terms that fit, in brief, and as many of them in full as the rest of the budget allows.

    Terms that the text speaks of have precedence in both; the order stays as it was.
    """
    by_weight = sorted(terms, key=lambda term: not term.occurs)
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
    return tuple(SchemaLine(term.name, term.iri, texts[term.iri]) for term in terms if term.iri in texts)


def _class_short(item: OntologyClass, ontology: Ontology, language: str) -> str:
    return "; ".join([_kind(item, ontology) or "thing", *_listed(item, ontology, language)])


def _kind(item: OntologyClass, ontology: Ontology) -> str:
    above = [local_name(iri.value) for iri in item.parents if iri in ontology.classes]
    return f"kind of {', '.join(above)}" if above else ""


def _listed(item: OntologyClass, ontology: Ontology, language: str) -> list[str]:
    """The values of a closed list; a model cannot choose among what it does not see."""
    values = [ontology.label(iri, language) for iri, value in ontology.individuals.items() if item.iri in value.types]
    return [f"one of: {', '.join(values)}"] if values else []


def _property_short(term: OntologyProperty) -> str:
    domain = " or ".join(local_name(iri.value) for iri in term.domains) or "anything"
    range_ = " or ".join(local_name(iri.value) for iri in term.ranges) or "anything"
    return f"{domain} | {range_}"


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
    parts = [_said(item.words, item.comments, language), _kind(item, ontology)]
    if item.examples:
        parts.append("e.g. " + ", ".join(word.text for word in item.examples[:3]))
    return "; ".join(filter(None, [*parts, *_listed(item, ontology, language)]))


def _property_line(term: OntologyProperty, language: str) -> str:
    unit = f" in {term.unit}" if term.unit else ""
    form = f"; form {term.pattern}" if term.pattern and len(term.pattern) <= 60 else ""
    return f"{_property_short(term)}{unit} | {_said(term.words, term.comments, language)}{form}"


def _said(terms: tuple[Word, ...], comments: tuple[Word, ...], language: str) -> str:
    label = label_of(terms, language, "")
    comment = label_of(comments, language, "")
    return f"{label}: {comment}" if comment else label
