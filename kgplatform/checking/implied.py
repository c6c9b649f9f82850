"""Shapes that an ontology implies: functional properties, ranges, and the restrictions of its classes.

OWL speaks of an open world, SHACL of the data at hand. What an ontology forbids (a second value, a value of another
kind) is a violation; what it says there is (``owl:minCardinality``, ``owl:someValuesFrom``) may only be unknown, so
that missing it is a warning. Specification: OWL 2 Mapping to RDF Graphs, §3.2.4 (restrictions).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.checking.shapes import Shapes
from kgplatform.checking.vocabulary import Vocabulary
from kgplatform.ontology import OntologyProperty
from kgplatform.types import Term
from kgplatform.vocab import OWL, RDF, RDFS, SH, TYPE, XSD, XSD_INTEGER, local_name, slug

_SHAPE = "urn:kgplatform:shape:"
_COUNTS = {
    "minCardinality": ("minCount", "Warning"),
    "maxCardinality": ("maxCount", "Violation"),
    "cardinality": ("maxCount", "Violation"),
    "minQualifiedCardinality": ("qualifiedMinCount", "Warning"),
    "maxQualifiedCardinality": ("qualifiedMaxCount", "Violation"),
    "qualifiedCardinality": ("qualifiedMaxCount", "Violation"),
}


def implied(vocabulary: Vocabulary, given: Shapes) -> list[Triple]:
    """The shapes that the ontology implies and no given shape states already."""
    found: list[Triple] = []
    for term in vocabulary.ontology.properties.values():
        if not term.internal:
            found += _of_property(term, given, vocabulary)
    return found + list(_of_restrictions(vocabulary))


def _sh(name: str) -> NamedNode:
    return NamedNode(f"{SH}{name}")


def _integer(value: object) -> Literal:
    return Literal(str(value), datatype=XSD_INTEGER)


def _of_property(term: OntologyProperty, given: Shapes, vocabulary: Vocabulary) -> list[Triple]:
    """A node shape for the subjects of the property; nothing where given shapes say the same."""
    node = NamedNode(f"{_SHAPE}{slug(local_name(term.iri.value))}-{_digest(term.iri.value)}")
    label = vocabulary.ontology.label(term.iri)
    facts: list[tuple[NamedNode, Term]] = []
    if term.functional and not given.constrains(term.iri, "maxCount"):
        facts.append((_sh("maxCount"), _integer(1)))
    if term.ranges and not given.constrains(term.iri, "datatype", "class", "or", "in", "nodeKind", "node"):
        facts += _range(term, vocabulary)
    if not facts:
        return []
    inner = NamedNode(f"{node.value}/property")
    return [
        Triple(node, TYPE, _sh("NodeShape")),
        Triple(node, _sh("targetSubjectsOf"), term.iri),
        Triple(node, _sh("property"), inner),
        Triple(inner, _sh("path"), term.iri),
        Triple(inner, _sh("message"), Literal(f"The values of {label!r} are not as the ontology has them.")),
        *(Triple(inner, predicate, value) for predicate, value in facts),
    ]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _range(term: OntologyProperty, vocabulary: Vocabulary) -> list[tuple[NamedNode, Term]]:
    """The kind of value, where one class or datatype is meant; unions are held by the conformance check."""
    if len(term.ranges) != 1:
        return []
    (only,) = term.ranges
    if term.is_object:
        known = only in vocabulary.ontology.classes
        return [(_sh("nodeKind"), _sh("IRI")), *([(_sh("class"), only)] if known else [])]
    exact = (f"{XSD}string", f"{XSD}integer", f"{XSD}date", f"{XSD}dateTime", f"{XSD}boolean", f"{XSD}gYear")
    return (
        [(_sh("datatype"), only)] if only.value in (*exact, f"{RDF}langString") else [(_sh("nodeKind"), _sh("Literal"))]
    )


def _of_restrictions(vocabulary: Vocabulary) -> Iterator[Triple]:
    facts: dict[object, dict[str, list[Term]]] = defaultdict(lambda: defaultdict(list))
    for triple in vocabulary.triples:
        facts[triple.subject][triple.predicate.value].append(triple.object)
    above = (f"{RDFS}subClassOf", f"{OWL}equivalentClass")
    for class_ in vocabulary.ontology.classes:
        for node in (item for predicate in above for item in facts[class_].get(predicate, ())):
            if f"{OWL}onProperty" in facts.get(node, {}):
                yield from _restriction(class_, node, facts[node], vocabulary)


def _restriction(
    class_: NamedNode, node: Term, said: dict[str, list[Term]], vocabulary: Vocabulary
) -> Iterator[Triple]:
    path = said[f"{OWL}onProperty"][0]
    if not isinstance(path, NamedNode):
        return
    name = f"{slug(local_name(class_.value))}-{slug(local_name(path.value))}-{_digest(str(node))}"
    shape, inner = NamedNode(f"{_SHAPE}{name}"), NamedNode(f"{_SHAPE}{name}/property")
    constraints = list(_constraints(said, inner))
    if not constraints:
        return
    severity = _sh(next(severity for _, severity in constraints))
    text = f"{vocabulary.ontology.label(path)!r} of {vocabulary.ontology.label(class_)!r}: the ontology restricts it"
    yield Triple(shape, TYPE, _sh("NodeShape"))
    yield Triple(shape, _sh("targetClass"), class_)
    yield Triple(shape, _sh("property"), inner)
    yield Triple(inner, _sh("path"), path)
    yield Triple(inner, _sh("severity"), severity)
    yield Triple(inner, _sh("message"), Literal(text))
    for triples, _ in constraints:
        yield from triples


def _constraints(said: dict[str, list[Term]], inner: NamedNode) -> Iterator[tuple[list[Triple], str]]:
    """The constraints of a restriction, each with the severity that it deserves."""
    kind = next((item for name in ("onClass", "onDataRange") for item in said.get(f"{OWL}{name}", ())), None)
    for name, (constraint, severity) in _COUNTS.items():
        for count in said.get(f"{OWL}{name}", ()):
            if isinstance(count, Literal) and count.value.isdecimal():
                triples = [Triple(inner, _sh(constraint), _integer(count.value))]
                yield triples + (_qualified(inner, kind) if "Qualified" in name or name[0] == "q" else []), severity
    for filler in said.get(f"{OWL}allValuesFrom", ()):
        if isinstance(filler, NamedNode) and _is_plain(filler):
            yield [Triple(inner, _sh("datatype" if filler.value.startswith(XSD) else "class"), filler)], "Violation"
    for filler in said.get(f"{OWL}someValuesFrom", ()):
        yield [Triple(inner, _sh("qualifiedMinCount"), _integer(1)), *_qualified(inner, filler)], "Warning"
    for value in said.get(f"{OWL}hasValue", ()):
        yield [Triple(inner, _sh("hasValue"), value)], "Warning"


def _qualified(inner: NamedNode, kind: Term | None) -> list[Triple]:
    shape = NamedNode(f"{inner.value}/kind")
    found = [Triple(inner, _sh("qualifiedValueShape"), shape), Triple(shape, TYPE, _sh("NodeShape"))]
    if isinstance(kind, NamedNode) and _is_plain(kind):
        found.append(Triple(shape, _sh("datatype" if kind.value.startswith(XSD) else "class"), kind))
    return found


def _is_plain(iri: NamedNode) -> bool:
    """Whether it is a named class or datatype, and no class expression nor ``owl:Thing``."""
    return not iri.value.startswith(("urn:kgplatform:node:", OWL, RDFS))
