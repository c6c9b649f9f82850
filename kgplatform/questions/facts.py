"""One pass over the default graph: who is of which class, who is called what, and every statement about things."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode

from kgplatform.ontology import Ontology
from kgplatform.store import DEFAULT_GRAPH, Store
from kgplatform.text import normalise
from kgplatform.vocab import (
    ALT_LABEL,
    DCTERMS,
    FOAF,
    LABEL,
    OWL,
    RDF,
    RDFS,
    SCHEMA,
    SKOS,
    TYPE,
    local_name,
)

_BOOKKEEPING_TYPES = frozenset(
    NamedNode(iri)
    for iri in (
        *(f"{OWL}{name}" for name in ("Class", "ObjectProperty", "DatatypeProperty", "AnnotationProperty")),
        *(f"{OWL}{name}" for name in ("Ontology", "Restriction", "AllDisjointClasses", "NamedIndividual", "Axiom")),
        *(f"{OWL}{name}" for name in ("TransitiveProperty", "SymmetricProperty", "FunctionalProperty")),
        *(f"{OWL}{name}" for name in ("InverseFunctionalProperty", "IrreflexiveProperty", "AsymmetricProperty")),
        f"{OWL}AllDifferent",
        f"{RDFS}Class",
        f"{RDFS}Datatype",
        f"{RDF}Property",
        f"{RDF}List",
        f"{SKOS}ConceptScheme",
    )
)
_KEPT_TYPES = frozenset((NamedNode(f"{OWL}NamedIndividual"),))
_BOOKKEEPING_NAMESPACES = (OWL, RDF, RDFS, f"{SKOS}inScheme", f"{SKOS}topConceptOf", f"{SKOS}hasTopConcept")
_NAMES = (LABEL, NamedNode(f"{SKOS}prefLabel"))
_NAME_LIKE = frozenset(
    NamedNode(iri)
    for iri in (f"{FOAF}name", f"{SCHEMA}name", "http://schema.org/name", f"{DCTERMS}title", f"{SKOS}notation")
)
_NAME_WORDS = frozenset(("name", "title", "label", "名称", "名字", "标题", "fullname", "full name"))


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """One pass over the default graph: who has which types and names, and every other statement."""

    types: Mapping[object, tuple[NamedNode, ...]]
    labels: Mapping[object, tuple[Literal, ...]]
    aliases: Mapping[object, tuple[Literal, ...]]
    statements: tuple[tuple[object, NamedNode, object], ...]
    name_properties: frozenset[NamedNode] = frozenset()


def read_facts(store: Store, ontology: Ontology) -> GraphFacts:
    """The statements of the default graph that are about things, not about the ontology's own terms."""
    types: dict[object, list[NamedNode]] = defaultdict(list)
    rest: list[tuple[object, NamedNode, object]] = []
    for quad in store.quads(graph=DEFAULT_GRAPH):
        predicate = quad.predicate
        if predicate == TYPE:
            if isinstance(quad.object, NamedNode):
                types[quad.subject].append(quad.object)
        else:
            rest.append((quad.subject, predicate, quad.object))
    terms = _bookkeeping(types, ontology)
    kept = [item for item in rest if item[0] not in terms]
    names = _name_properties({predicate for _, predicate, _ in kept})
    labels, aliases, statements = _told_apart(kept, terms, names)
    things = {
        node: tuple(sorted(found_, key=str))
        for node, found in types.items()
        if node not in terms and (found_ := [t for t in found if not t.value.startswith((OWL, RDFS, RDF))])
    }
    return GraphFacts(things, labels, aliases, tuple(statements), names)


def _bookkeeping(types: Mapping[object, list[NamedNode]], ontology: Ontology) -> set[object]:
    terms: set[object] = {
        node for node, found in types.items() if any(t in _BOOKKEEPING_TYPES and t not in _KEPT_TYPES for t in found)
    }
    terms |= set(ontology.classes) | set(ontology.properties)
    return terms


def _name_properties(predicates: Iterable[NamedNode]) -> frozenset[NamedNode]:
    """Properties whose values name their subject, used where there is no label."""
    return frozenset(p for p in predicates if p in _NAME_LIKE or normalise(local_name(p.value)) in _NAME_WORDS)


def _told_apart(
    kept: list[tuple[object, NamedNode, object]], terms: set[object], names: frozenset[NamedNode]
) -> tuple[
    dict[object, tuple[Literal, ...]], dict[object, tuple[Literal, ...]], list[tuple[object, NamedNode, object]]
]:
    labels: dict[object, list[Literal]] = defaultdict(list)
    aliases: dict[object, list[Literal]] = defaultdict(list)
    named: dict[object, list[Literal]] = defaultdict(list)
    statements = []
    bookkeeping = {p for p in {item[1] for item in kept} if p.value.startswith(_BOOKKEEPING_NAMESPACES)}
    for item in kept:
        subject, predicate, object_ = item
        if isinstance(object_, Literal):
            if predicate in _NAMES:
                labels[subject].append(object_)
                continue
            if predicate == ALT_LABEL:
                aliases[subject].append(object_)
                continue
            if predicate in names:
                named[subject].append(object_)
        if predicate in bookkeeping or object_ in terms:
            continue
        statements.append(item)
    for subject, found in named.items():
        (aliases if subject in labels else labels)[subject].extend(found)
    return _frozen(labels), _frozen(aliases), statements


def _frozen(found: Mapping[object, list[Literal]]) -> dict[object, tuple[Literal, ...]]:
    return {subject: tuple(sorted(set(values), key=str)) for subject, values in found.items()}
