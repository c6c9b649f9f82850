"""The axioms of an ontology, read from its triples as they stand (no blank nodes: they were given IRIs)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.vocab import ALT_LABEL, CORE, LABEL, OWL, RDF, RDFS, SKOS, TYPE, XSD

_NAMING = (LABEL, NamedNode(f"{SKOS}prefLabel"), ALT_LABEL)
_INTERNAL = NamedNode(f"{CORE}internal")
_PROPERTIES = (f"{OWL}ObjectProperty", f"{OWL}DatatypeProperty")
_TRIVIAL = frozenset((f"{OWL}Thing", f"{RDFS}Resource", f"{RDFS}Literal", f"{OWL}topObjectProperty"))


class Axioms:
    """The triples of an ontology, asked by what inference needs to know."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self._by_subject: dict[object, dict[str, list[object]]] = {}
        self._by_predicate: dict[str, list[Triple]] = {}
        for triple in sorted(set(triples), key=str):
            self._by_subject.setdefault(triple.subject, {}).setdefault(triple.predicate.value, []).append(triple.object)
            self._by_predicate.setdefault(triple.predicate.value, []).append(triple)

    def all(self, predicate: str) -> Iterable[Triple]:
        """The triples of a predicate."""
        return self._by_predicate.get(predicate, ())

    def typed(self, class_: str) -> Iterator[tuple[NamedNode, Triple]]:
        """The named terms of a class, such as ``owl:SymmetricProperty``, each with the triple that says so."""
        for triple in self.all(TYPE.value):
            term = triple.subject
            if triple.object == NamedNode(class_) and isinstance(term, NamedNode) and not self.is_unnamed(term):
                yield term, triple

    def named(self, subject: object, predicate: str) -> list[NamedNode]:
        """The IRIs among the objects."""
        found = self._by_subject.get(subject, {}).get(predicate, [])
        return [item for item in found if isinstance(item, NamedNode)]

    def sequence(self, head: object) -> list[object]:
        """The members of an RDF list; one that runs in a circle ends where it began."""
        items: list[object] = []
        seen: set[object] = set()
        while head not in seen and head != NamedNode(f"{RDF}nil"):
            seen.add(head)
            facts = self._by_subject.get(head, {})
            items.extend(facts.get(f"{RDF}first", [])[:1])
            head = next(iter(facts.get(f"{RDF}rest", [])), NamedNode(f"{RDF}nil"))
        return items

    def members(self, expression: object, operator: str) -> list[NamedNode]:
        """The classes of an intersection or union; empty if it is none, or one of them is no IRI."""
        found = [item for head in self.named(expression, operator) for item in self.sequence(head)]
        named = [item for item in found if isinstance(item, NamedNode)]
        return named if len(named) == len(found) else []

    def is_unnamed(self, term: object) -> bool:
        """Whether the term stands for a structure (a class expression, a list, an inverse), not for itself."""
        if not isinstance(term, NamedNode):
            return True
        return term.value.startswith("urn:kgplatform:node:") or "/genid/" in term.value

    def implied_classes(self, expression: object) -> list[NamedNode]:
        """The named classes that everything in the class or expression is in."""
        if not self.is_unnamed(expression):
            own = [expression] if isinstance(expression, NamedNode) else []
            return own + [m for m in self.members(expression, f"{OWL}intersectionOf") if not self.is_unnamed(m)]
        return [m for m in self.members(expression, f"{OWL}intersectionOf") if not self.is_unnamed(m)]

    def implying_classes(self, expression: object) -> list[NamedNode]:
        """The named classes of which everything is in the class or expression."""
        members = [m for m in self.members(expression, f"{OWL}unionOf") if not self.is_unnamed(m)]
        if not self.is_unnamed(expression) and isinstance(expression, NamedNode):
            return [expression, *members]
        return members

    def is_datatype(self, term: NamedNode) -> bool:
        """Whether the term is a datatype rather than a class."""
        if term.value.startswith(XSD) or term.value in (f"{RDFS}Literal", f"{RDF}langString"):
            return True
        return NamedNode(f"{RDFS}Datatype") in self.named(term, TYPE.value)

    def is_set_aside(self, term: NamedNode) -> bool:
        """Whether nothing is concluded from or about the term: bookkeeping, or true of everything."""
        return term in self._internal or term.value in _TRIVIAL or self.is_unnamed(term)

    def is_own(self, term: NamedNode) -> bool:
        """Whether the ontology describes the term by words of its own; in one without words, every term counts."""
        return not self._worded or term in self._worded or term in _NAMING

    @cached_property
    def _internal(self) -> frozenset[object]:
        marked = self.all(_INTERNAL.value)
        return frozenset(t.subject for t in marked if isinstance(t.object, Literal) and t.object.value == "true")

    @cached_property
    def _worded(self) -> frozenset[object]:
        declared = {*self.classes, *self.properties}
        return frozenset(t.subject for name in _NAMING for t in self.all(name.value) if t.subject in declared)

    @cached_property
    def terms(self) -> frozenset[NamedNode]:
        """Classes, properties, expressions and the ontologies themselves: what inference says nothing about."""
        individual = NamedNode(f"{OWL}NamedIndividual")
        types = [(t.subject, t.object) for t in self.all(TYPE.value) if t.object != individual]
        declared = [s for s, o in types if isinstance(o, NamedNode) and o.value.startswith((OWL, RDFS, RDF))]
        return frozenset(term for term in declared if isinstance(term, NamedNode))

    @cached_property
    def properties(self) -> tuple[NamedNode, ...]:
        """The object and datatype properties, in IRI order."""
        return self._declared(*_PROPERTIES)

    @cached_property
    def classes(self) -> tuple[NamedNode, ...]:
        """The named classes, in IRI order."""
        return self._declared(f"{OWL}Class", f"{RDFS}Class")

    def _declared(self, *types: str) -> tuple[NamedNode, ...]:
        found = {term for type_ in types for term, _ in self.typed(type_)}
        return tuple(sorted(found, key=lambda iri: iri.value))
