"""Which terms the ontology in use declares, and what it says of each, ready to be asked for every statement."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import cached_property

from pyoxigraph import NamedNode, Triple

from kgplatform.ontology import Ontology, OntologyProperty
from kgplatform.vocab import (
    DCTERMS,
    FOAF,
    OA,
    OWL,
    PROV,
    RDF,
    RDFS,
    SCHEMA,
    SH,
    SKOS,
    SUBCLASS_OF,
    TYPE,
    VOID,
    local_name,
)

_EVERYWHERE = (RDF, RDFS, OWL, SKOS, DCTERMS, PROV, OA, SH, VOID)
_NAMING = frozenset((f"{SCHEMA}name", f"{FOAF}name", "http://schema.org/name"))
_PROPERTY_KINDS = frozenset(
    (f"{RDF}Property", *(f"{OWL}{kind}Property" for kind in ("Object", "Datatype", "Annotation")))
)
_CLASS_KINDS = frozenset((f"{OWL}Class", f"{RDFS}Class"))


class Vocabulary:
    """The declared terms. ``triples`` are the ontology's own, annotations and foreign terms included."""

    def __init__(self, ontology: Ontology, triples: Iterable[Triple]) -> None:
        self.ontology = ontology
        self.triples = tuple(triples)
        self._disjoint: dict[frozenset[NamedNode], tuple[NamedNode, NamedNode] | None] = {}
        self._known: dict[tuple[NamedNode, str], bool] = {}

    @cached_property
    def hierarchy(self) -> tuple[Triple, ...]:
        """The statements that a class is below another."""
        return tuple(triple for triple in self.triples if triple.predicate == SUBCLASS_OF)

    @cached_property
    def _declared(self) -> dict[str, frozenset[NamedNode]]:
        properties, classes = set(self.ontology.properties), set(self.ontology.classes)
        for triple in self.triples:
            if triple.predicate == TYPE and isinstance(triple.subject, NamedNode):
                kind = getattr(triple.object, "value", "")
                if kind in _PROPERTY_KINDS:
                    properties.add(triple.subject)
                elif kind in _CLASS_KINDS:
                    classes.add(triple.subject)
        return {"property": frozenset(properties), "class": frozenset(classes)}

    @cached_property
    def namespaces(self) -> frozenset[str]:
        """The namespaces in which the ontology defines terms: an undeclared term there is a slip of the pen."""
        terms = (*self.ontology.classes, *self.ontology.properties)
        return frozenset(namespace_of(term) for term in terms)

    def knows(self, term: NamedNode, kind: str) -> bool:
        """Whether a ``property`` or ``class`` is declared, or belongs to a vocabulary that needs no declaring."""
        key = (term, kind)
        if key not in self._known:
            self._known[key] = (
                term in self._declared[kind]
                or term.value.startswith(_EVERYWHERE)
                or term.value in _NAMING
                or re.fullmatch(rf"{re.escape(RDF)}_\d+", term.value) is not None
            )
        return self._known[key]

    def nearest(self, term: NamedNode, kind: str) -> str:
        """The declared term that was probably meant, as ``; did you mean …?``; empty where none is near."""
        names = {local_name(item.value): item for item in self._declared[kind]}
        near = difflib.get_close_matches(local_name(term.value)[:100], names, n=1, cutoff=0.7)
        return f"; did you mean {names[near[0]].value}?" if near else ""

    def is_own(self, term: NamedNode) -> bool:
        """Whether the term lies in a namespace of the ontology."""
        return namespace_of(term) in self.namespaces

    def property(self, iri: NamedNode) -> OntologyProperty | None:
        """The property as the ontology describes it."""
        return self.ontology.properties.get(iri)

    def disjoint(self, types: frozenset[NamedNode]) -> tuple[NamedNode, NamedNode] | None:
        """Two of the classes that nothing can be of both; None where there are none."""
        if types not in self._disjoint:
            listed = sorted((t for t in types if t in self.ontology.classes), key=lambda t: t.value)
            pairs = ((a, b) for place, a in enumerate(listed) for b in listed[place + 1 :])
            self._disjoint[types] = next((pair for pair in pairs if self.ontology.disjoint(*pair)), None)
        return self._disjoint[types]


def namespace_of(term: NamedNode) -> str:
    """The IRI without its local name."""
    return re.split(r"(?<=[#/])(?=[^#/]*$)", term.value)[0]
