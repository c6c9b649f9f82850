"""Data held against its ontology: domain, range, datatype, form, functional properties, disjoint classes.

An ontology speaks of an open world: a thing that is only known to be of a class *above* the domain may well be in it.
Such a statement is a warning; one about a thing whose classes all lie elsewhere is a violation. A thing without any
class is left to the check of what is unreachable. Several domains or ranges count as a union, as everywhere in the
platform (`kgplatform.ontology.schema`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.ontology.schema import OntologyProperty, TermIndex
from kgplatform.reasoning.scope import Fault, Finding, Instances, Scope, Severity, statements_about
from kgplatform.text import with_article
from kgplatform.vocab import OWL, RDF, RDFS, SAME_AS, TYPE, XSD, local_name

# Datatypes: XML Schema 1.1 Part 2, §3.3 and §3.4 (https://www.w3.org/TR/xmlschema11-2/).


_LANG_STRING = f"{RDF}langString"
_ANY = frozenset((f"{RDFS}Literal", f"{XSD}anySimpleType", f"{XSD}anyAtomicType"))
_ZONE = r"(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)?"
_DAY = r"-?\d{4,}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_CLOCK = r"(?:[01]\d|2[0-4]):[0-5]\d:[0-5]\d(?:\.\d+)?"
_FORMS = {
    "integer": r"[+-]?\d+",
    "decimal": r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)",
    "double": r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?INF|NaN",
    "float": r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?INF|NaN",
    "boolean": r"true|false|1|0",
    "date": _DAY + _ZONE,
    "dateTime": f"{_DAY}T{_CLOCK}{_ZONE}",
    "time": _CLOCK + _ZONE,
    "gYear": rf"-?\d{{4,}}{_ZONE}",
    "gYearMonth": rf"-?\d{{4,}}-(?:0[1-9]|1[0-2]){_ZONE}",
}
_INTEGERS = (
    *("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger"),
    *("negativeInteger", "unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte"),
)
_STRINGS = ("string", "normalizedString", "token", "language", "Name", "NCName", "NMTOKEN")
_DERIVED = {
    "decimal": frozenset(f"{XSD}{name}" for name in ("decimal", *_INTEGERS)),
    "string": frozenset(f"{XSD}{name}" for name in _STRINGS),
    "dateTime": frozenset((f"{XSD}dateTime", f"{XSD}dateTimeStamp")),
    # The store writes every kind of whole number as xsd:integer, so one of them is taken for another.
    **{name: frozenset((f"{XSD}{name}", f"{XSD}integer")) for name in _INTEGERS},
}
_NUMBERS = frozenset(f"{XSD}{name}" for name in ("decimal", "double", "float", *_INTEGERS))


@lru_cache(maxsize=64)
def _form(datatype: str) -> re.Pattern[str] | None:
    name = datatype.removeprefix(XSD)
    written = _FORMS.get("integer" if name in _INTEGERS else name) if datatype.startswith(XSD) else None
    return re.compile(written, re.ASCII) if written else None


def is_well_formed(literal: Literal) -> bool:
    """True if the text of the literal is a form of its datatype; true for datatypes that are not known here."""
    form = _form(literal.datatype.value)
    return form is None or form.fullmatch(literal.value.strip()) is not None


def is_of(literal: Literal, ranges: Iterable[NamedNode]) -> bool:
    """True if the literal's datatype is one of the ranges or derived from one; ``rdf:PlainLiteral`` takes any text."""
    return any(_is_of(literal.datatype.value, item.value) for item in ranges)


def _is_of(datatype: str, wanted: str) -> bool:
    if wanted == datatype or wanted in _ANY:
        return True
    if wanted == f"{RDF}PlainLiteral":
        return datatype in (f"{XSD}string", _LANG_STRING)
    if not wanted.startswith((XSD, RDF)):
        return True  # a datatype that the ontology defines: only a reasoner knows what is in it
    return datatype in _DERIVED.get(wanted.removeprefix(XSD), frozenset())


def value_of(term: object) -> object:
    """What a term stands for, so that ``4`` and ``4.0`` are one value: numbers by amount, all else as written."""
    if isinstance(term, Literal) and term.datatype.value in _NUMBERS and is_well_formed(term):
        if term.value.strip("+-") in ("INF", "NaN"):
            return term.value
        return Decimal(term.value.strip())
    return term


_THING = NamedNode(f"{OWL}Thing")
_INDIVIDUAL = NamedNode(f"{OWL}NamedIndividual")


def conformance(instances: Instances, scope: Scope, vocabulary: TermIndex) -> Iterator[Finding]:
    """The findings about the things of the scope."""
    check = _Conformance(instances, vocabulary)
    for subject, statements in statements_about(instances, scope):
        yield from check.thing(subject, statements)


class _Conformance:
    def __init__(self, instances: Instances, vocabulary: TermIndex) -> None:
        self._instances = instances
        self._vocabulary = vocabulary
        self._ontology = vocabulary.ontology
        self._fits: dict[tuple[object, object], Severity | None] = {}

    def thing(self, subject: NamedNode, statements: Sequence[Triple]) -> Iterator[Finding]:
        types = self._instances.types(subject) - {_THING, _INDIVIDUAL}
        known = frozenset(item for item in types if item in self._ontology.classes)
        by_predicate: dict[NamedNode, list[Triple]] = defaultdict(list)
        for triple in statements:
            by_predicate[triple.predicate].append(triple)
        yield from self._classes(subject, types, by_predicate.pop(TYPE, []))
        for predicate, triples in by_predicate.items():
            term = self._vocabulary.property(predicate)
            if term is None:
                yield from self._unknown_property(predicate, triples)
                continue
            yield from self._domain(term, known, triples)
            for triple in triples:
                yield from self._value(term, triple)
            if term.functional and len(triples) > 1:
                yield from self._functional(term, triples)

    def _classes(
        self, subject: NamedNode, types: frozenset[NamedNode], statements: Sequence[Triple]
    ) -> Iterator[Finding]:
        pair = self._vocabulary.disjoint(types)
        if pair:
            labels = [self._label(item) for item in pair]
            at_fault = tuple(triple for triple in statements if triple.object in pair)
            yield Finding(
                Fault.DISJOINT, Severity.VIOLATION, subject,
                f"is both {with_article(labels[0])} and {with_article(labels[1])}, and nothing can be both",
                path=TYPE, value=pair[1], statements=at_fault,
            )  # fmt: skip
        for triple in statements:
            type_ = triple.object
            if isinstance(type_, NamedNode) and type_ in types and not self._vocabulary.knows(type_, "class"):
                yield self._unknown(Fault.UNKNOWN_CLASS, type_, "class", triple)

    def _unknown_property(self, predicate: NamedNode, triples: Sequence[Triple]) -> Iterator[Finding]:
        if not self._vocabulary.knows(predicate, "property"):
            yield self._unknown(Fault.UNKNOWN_PROPERTY, predicate, "property", *triples)

    def _unknown(self, kind: Fault, term: NamedNode, what: str, *triples: Triple) -> Finding:
        own = self._vocabulary.is_own(term)
        near = self._vocabulary.nearest(term, what)
        return Finding(
            kind, Severity.VIOLATION if own else Severity.WARNING, triples[0].subject,
            f"the ontology declares no {what} {term.value}{near}",
            path=triples[0].predicate, value=triples[0].object, statements=triples,
        )  # fmt: skip

    def _domain(
        self, term: OntologyProperty, known: frozenset[NamedNode], triples: Sequence[Triple]
    ) -> Iterator[Finding]:
        severity = self._fit(known, term.domains)
        if severity is not None:
            wanted, found = self._labels(term.domains), self._labels(sorted(known, key=str))
            yield Finding(
                Fault.DOMAIN, severity, triples[0].subject,
                f"{self._label(term.iri)!r} is said of {wanted}, but this is {found}",
                path=term.iri, value=triples[0].object, statements=tuple(triples),
            )  # fmt: skip

    def _fit(self, known: frozenset[NamedNode], wanted: Sequence[NamedNode]) -> Severity | None:
        """None if one of the classes is wanted; a warning if one lies above; a violation if all lie elsewhere."""
        key = (known, wanted)
        if key not in self._fits:
            self._fits[key] = self._fitting(known, wanted)
        return self._fits[key]

    def _fitting(self, known: frozenset[NamedNode], wanted: Sequence[NamedNode]) -> Severity | None:
        if not known or not wanted or any(self._ontology.is_a(item, wanted) for item in known):
            return None
        if not any(item in self._ontology.classes for item in wanted):
            return None  # only foreign classes are meant, of which nothing is known
        return Severity.WARNING if any(self._ontology.fits(item, wanted) for item in known) else Severity.VIOLATION

    def _value(self, term: OntologyProperty, triple: Triple) -> Iterator[Finding]:
        value = triple.object
        if term.is_object:
            yield from self._thing_value(term, triple)
        elif not isinstance(value, Literal):
            yield _at(Fault.DATATYPE, triple, f"{self._label(term.iri)!r} takes a value, not a thing")
        else:
            yield from self._literal(term, triple, value)

    def _thing_value(self, term: OntologyProperty, triple: Triple) -> Iterator[Finding]:
        value = triple.object
        if isinstance(value, Literal):
            yield _at(Fault.RANGE, triple, f"{self._label(term.iri)!r} leads to a thing, not to the text {_cut(value)}")
        elif isinstance(value, NamedNode):
            types = self._instances.types(value)
            known = frozenset(item for item in types if item in self._ontology.classes)
            severity = None if term.internal else self._fit(known, term.ranges)  # links lead to things of any ontology
            if severity is not None:
                wanted, found = self._labels(term.ranges), self._labels(sorted(known, key=str))
                message = f"{self._label(term.iri)!r} leads to {wanted}, but {local_name(value.value)} is {found}"
                yield _at(Fault.RANGE, triple, message, severity)

    def _literal(self, term: OntologyProperty, triple: Triple, value: Literal) -> Iterator[Finding]:
        if term.ranges and not is_of(value, term.ranges):
            wanted = " or ".join(local_name(item.value) for item in term.ranges)
            label, found = self._label(term.iri), local_name(value.datatype.value)
            yield _at(Fault.DATATYPE, triple, f"{label!r} takes {wanted}, and {_cut(value)} is {found}")
        elif not is_well_formed(value):
            found = local_name(value.datatype.value)
            yield _at(Fault.DATATYPE, triple, f"{_cut(value)} is not written as {found} is")
        elif term.pattern and (form := _compiled(term.pattern)) and form.fullmatch(value.value) is None:
            label = self._label(term.iri)
            yield _at(Fault.PATTERN, triple, f"{_cut(value)} is not written as values of {label!r} are: {term.pattern}")

    def _functional(self, term: OntologyProperty, triples: Sequence[Triple]) -> Iterator[Finding]:
        """More than one value; in several languages a text is one value, and linked things are one thing."""
        distinct: dict[object, Triple] = {}
        for triple in sorted(triples, key=str):
            language = triple.object.language if isinstance(triple.object, Literal) else None
            distinct.setdefault((value_of(triple.object), language), triple)
        values = list(distinct.values())
        clashing = [t for t in values[1:] if self._clash(values[0], t)]
        if clashing:
            shown = ", ".join(_cut(t.object) for t in (values[0], *clashing)[:4])
            yield Finding(
                Fault.FUNCTIONAL, Severity.VIOLATION, triples[0].subject,
                f"{self._label(term.iri)!r} has one value, and here are {len(clashing) + 1}: {shown}",
                path=term.iri, statements=(values[0], *clashing),
            )  # fmt: skip

    def _clash(self, first: Triple, other: Triple) -> bool:
        a, b = first.object, other.object
        if isinstance(a, Literal) and isinstance(b, Literal):
            return a.language == b.language
        if isinstance(a, NamedNode) and isinstance(b, NamedNode):
            return not (self._instances.first(a, SAME_AS, b) or self._instances.first(b, SAME_AS, a))
        return True

    def _label(self, iri: NamedNode) -> str:
        return self._ontology.label(iri)

    def _labels(self, iris: Sequence[NamedNode]) -> str:
        shown = [with_article(self._label(iri)) for iri in iris[:4]]
        return " or ".join(shown) + (" or others" if len(iris) > 4 else "")


def _at(kind: Fault, triple: Triple, message: str, severity: Severity = Severity.VIOLATION) -> Finding:
    return Finding(
        kind, severity, triple.subject, message, path=triple.predicate, value=triple.object, statements=(triple,)
    )


def _cut(term: object) -> str:
    text = " ".join(str(getattr(term, "value", term)).split())
    if isinstance(term, NamedNode):
        return local_name(term.value)
    return repr(text if len(text) <= 60 else f"{text[:59]}…")


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """The pattern; None for one that is no regular expression, which `ontology check` reports."""
    try:
        return re.compile(pattern)
    except re.error:
        return None
