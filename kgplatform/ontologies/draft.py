"""An ontology drafted from data that comes without one, for a person to edit.

From RDF: the types are classes, the predicates properties; domain and range are the classes that subjects and objects
have. From a table: one class, named by the file, and a property for each column. Datatypes, functional properties and
keys are read off the values. What was guessed says so in its comment. The file is OWL 2 in Turtle and passes
``ontology check``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple

from kgplatform.ontologies.profile import Profile
from kgplatform.text import has_han
from kgplatform.types import Term
from kgplatform.vocab import ALT_LABEL, COMMENT, LABEL, OWL, PREFIXES, RDF, RDFS, SKOS, SUBCLASS_OF, TYPE, words_of_iri

_FEW = 20
_UNION, _FIRST, _REST = NamedNode(f"{OWL}unionOf"), NamedNode(f"{RDF}first"), NamedNode(f"{RDF}rest")
_NIL, _CLASS = NamedNode(f"{RDF}nil"), NamedNode(f"{OWL}Class")


@dataclass(frozen=True, slots=True)
class DraftedClass:
    """A class to propose, with the names of some of its members and the properties that tell them apart."""

    iri: NamedNode
    label: str
    count: int
    key: tuple[NamedNode, ...] = ()
    parents: tuple[NamedNode, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DraftedProperty:
    """A property to propose; ``ranges`` are classes, or there is a ``profile`` of its values."""

    iri: NamedNode
    label: str
    domains: tuple[NamedNode, ...]
    count: int
    ranges: tuple[NamedNode, ...] = ()
    profile: Profile | None = None
    functional: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """An ontology to propose; ``remarks`` say what could not be made of the data.

    ``labels``, ``other_words`` and ``comments`` are words by term, where there are better ones than the draft's own.
    ``is_from_data``: the IRIs of the terms are those that data uses, so that they cannot be others.
    """

    iri: NamedNode
    source: str
    classes: tuple[DraftedClass, ...]
    properties: tuple[DraftedProperty, ...]
    labels: dict[NamedNode, tuple[Literal, ...]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    other_words: dict[NamedNode, tuple[Literal, ...]] = field(default_factory=dict)
    comments: dict[NamedNode, tuple[Literal, ...]] = field(default_factory=dict)
    is_from_data: bool = False


def as_turtle(draft: Draft) -> bytes:
    """The draft as OWL in Turtle."""
    prefixes = {name: PREFIXES[name] for name in ("rdf", "rdfs", "owl", "xsd", "skos")}
    namespace = draft.iri.value.rstrip("#/") + "#"
    return ox.serialize(_triples(draft), format=RdfFormat.TURTLE, prefixes={**prefixes, "": namespace}) or b""


def _triples(draft: Draft) -> Iterable[Triple]:
    yield Triple(draft.iri, TYPE, NamedNode(f"{OWL}Ontology"))
    yield Triple(draft.iri, COMMENT, Literal(f"Drafted from {draft.source}; to be edited by a person.", language="en"))
    for class_ in draft.classes:
        yield Triple(class_.iri, TYPE, _CLASS)
        yield from _words(draft, class_.iri, class_.label)
        yield Triple(class_.iri, COMMENT, _comment(class_.label, class_.count))
        for parent in class_.parents:
            yield Triple(class_.iri, SUBCLASS_OF, parent)
        for example in class_.examples:
            yield Triple(class_.iri, NamedNode(f"{SKOS}example"), tagged(example))
        if class_.key:
            yield from _list(class_.iri, NamedNode(f"{OWL}hasKey"), class_.key)
    for term in draft.properties:
        yield from _property(draft, term)


def _property(draft: Draft, term: DraftedProperty) -> Iterable[Triple]:
    kind = "DatatypeProperty" if term.profile else "ObjectProperty"
    yield Triple(term.iri, TYPE, NamedNode(f"{OWL}{kind}"))
    if term.functional:
        yield Triple(term.iri, TYPE, NamedNode(f"{OWL}FunctionalProperty"))
    yield from _words(draft, term.iri, term.label)
    distinct = term.profile.distinct if term.profile else None
    yield Triple(term.iri, COMMENT, _comment(term.label, term.count, distinct))
    yield from _end(term.iri, "domain", term.domains)
    if term.profile:
        yield Triple(term.iri, NamedNode(f"{RDFS}range"), term.profile.datatype)
        for example in term.profile.examples:
            yield Triple(term.iri, NamedNode(f"{SKOS}example"), Literal(example))
    else:
        yield from _end(term.iri, "range", term.ranges)


def _comment(label: str, count: int, distinct: int | None = None) -> Literal:
    """What the data shows of a term, in the language of its label."""
    if has_han(label):
        values = "" if distinct is None else f"；不同取值：{distinct}"
        return Literal(f"由数据草拟；数据中出现：{count}{values}。", language="zh")
    values = "" if distinct is None else f"; different values: {distinct}"
    return Literal(f"Drafted; in the data: {count}{values}.", language="en")


def _end(subject: NamedNode, name: str, classes: tuple[NamedNode, ...]) -> Iterable[Triple]:
    """Domain or range: the class, or the union of several; ``owl:Thing`` where there are none or very many."""
    predicate = NamedNode(f"{RDFS}{name}")
    if len(classes) == 1:
        yield Triple(subject, predicate, classes[0])
    elif not classes or len(classes) > _FEW:
        yield Triple(subject, predicate, NamedNode(f"{OWL}Thing"))
    else:
        union = BlankNode()
        yield Triple(subject, predicate, union)
        yield Triple(union, TYPE, _CLASS)
        yield from _list(union, _UNION, classes)


def _list(subject: NamedNode | BlankNode, predicate: NamedNode, items: tuple[NamedNode, ...]) -> Iterable[Triple]:
    nodes = [BlankNode() for _ in items]
    yield Triple(subject, predicate, nodes[0])
    for place, (node, item) in enumerate(zip(nodes, items, strict=True)):
        yield Triple(node, _FIRST, item)
        rest: Term = nodes[place + 1] if place + 1 < len(nodes) else _NIL
        yield Triple(node, _REST, rest)


def _words(draft: Draft, iri: NamedNode, label: str) -> Iterable[Triple]:
    """The labels that the data gives the term, else one from its name."""
    for literal in draft.labels.get(iri) or (tagged(label),):
        yield Triple(iri, LABEL, literal)
    for literal in draft.other_words.get(iri, ()):
        yield Triple(iri, ALT_LABEL, literal)
    for literal in draft.comments.get(iri, ()):
        yield Triple(iri, COMMENT, literal)


def tagged(text: str) -> Literal:
    """The text with its language."""
    return Literal(text, language="zh" if has_han(text) else "en")


def term_name(words: str, *, is_class: bool) -> str:
    """A local name from words: ``HotelRoom`` for a class, ``starRating`` for a property; Chinese stays as it is.

    >>> term_name("star_rating", is_class=False), term_name("hotel room", is_class=True), term_name("房", is_class=True)
    ('starRating', 'HotelRoom', '房')
    """
    parts = [part for part in re.split(r"[\W_]+", words) if part]
    if not parts:
        return ""
    shaped = [part if part.isupper() and len(part) <= 4 else part[0].upper() + part[1:] for part in parts]
    name = "".join(shaped)[:80]
    if not is_class:
        is_acronym = len(parts[0]) > 1 and parts[0].isupper()
        name = name if is_acronym else name[0].lower() + name[1:]
    return f"x{name}" if name[0].isdigit() else name


def label_of_iri(iri: NamedNode) -> str:
    """Words for an IRI, never empty and not too long for a label."""
    return (words_of_iri(iri.value) or iri.value)[:100]
