"""An ontology drafted from RDF: types are classes, predicates properties, and who has which are domain and range."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.errors import OntologyError
from kgplatform.ontologies.draft import Draft, DraftedClass, DraftedProperty, label_of_iri
from kgplatform.ontologies.profile import of_literals
from kgplatform.vocab import DCTERMS, LABEL, OA, OWL, PROV, RDF, RDFS, SKOS, TYPE, XSD_INTEGER, XSD_STRING

_VOCABULARIES = (RDF, RDFS, OWL, SKOS, PROV, OA, DCTERMS)
_SAMPLE = 2000


class _Data:
    """The triples of a graph, counted by what a draft asks."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self.members: dict[NamedNode, set[object]] = defaultdict(set)
        self.types: dict[object, set[NamedNode]] = defaultdict(set)
        self.by_predicate: dict[NamedNode, list[Triple]] = defaultdict(list)
        self.names: dict[object, list[Literal]] = defaultdict(list)
        for triple in triples:
            value = triple.object
            if triple.predicate == TYPE:
                if isinstance(value, NamedNode) and not value.value.startswith(_VOCABULARIES):
                    self.members[value].add(triple.subject)
                    self.types[triple.subject].add(value)
            elif triple.predicate == LABEL:
                if isinstance(value, Literal):
                    self.names[triple.subject].append(value)
            elif not triple.predicate.value.startswith(_VOCABULARIES):
                self.by_predicate[triple.predicate].append(triple)

    def parents(self) -> dict[NamedNode, tuple[NamedNode, ...]]:
        """The smallest classes that hold all members of a class and more; one member proves nothing."""
        found = {}
        for class_, members in self.members.items():
            around = {
                other: len(self.members[other])
                for other in set.intersection(*(self.types[member] for member in members))
                if len(self.members[other]) > len(members) > 1
            }
            nearest = [c for c, size in around.items() if size == min(around.values())]
            found[class_] = tuple(sorted(nearest, key=lambda iri: iri.value))
        return found

    def classes_of(
        self, nodes: Iterable[object], parents: dict[NamedNode, tuple[NamedNode, ...]]
    ) -> tuple[NamedNode, ...]:
        """The smallest class that holds all the things; else their classes, without those below another of them."""
        things = {node for node in nodes if node in self.types}
        found = {type_ for node in things for type_ in self.types[node]}
        around = [c for c in sorted(found, key=lambda iri: iri.value) if things <= self.members[c]]
        if around:
            return (min(around, key=lambda c: len(self.members[c])),)
        below = {c for c in found if any(above in found for above in _above(c, parents))}
        return tuple(sorted(found - below, key=lambda iri: iri.value))


def _above(class_: NamedNode, parents: dict[NamedNode, tuple[NamedNode, ...]]) -> set[NamedNode]:
    found: set[NamedNode] = set()
    waiting = list(parents.get(class_, ()))
    while waiting:
        parent = waiting.pop()
        if parent not in found:
            found.add(parent)
            waiting.extend(parents.get(parent, ()))
    return found


def from_rdf(triples: Iterable[Triple], *, source: str, iri: NamedNode) -> Draft:
    """The draft for the things that the triples describe.

    Raises:
        OntologyError: the triples describe nothing.
    """
    data = _Data(triples)
    if not data.members and not data.by_predicate:
        raise OntologyError("describes nothing that a class or property could be drafted from", source=source)
    parents = data.parents()
    remarks: list[str] = []
    properties = [
        _property(data, predicate, parents, remarks)
        for predicate in sorted(data.by_predicate, key=lambda item: item.value)
        if predicate not in data.members
    ]
    classes = [_class(data, class_, parents, properties) for class_ in sorted(data.members, key=lambda c: c.value)]
    if not classes:
        thing = NamedNode(iri.value.rstrip("#/") + "#Thing")
        subjects = {triple.subject for found in data.by_predicate.values() for triple in found}
        classes = [DraftedClass(thing, "thing", len(subjects))]
        remarks.append("nothing has an rdf:type: one class for all was drafted")
    terms = [*(class_.iri for class_ in classes), *(term.iri for term in properties)]
    labels = {term: tuple(dict.fromkeys(data.names[term])) for term in terms if term in data.names}
    return Draft(iri, source, tuple(classes), tuple(properties), labels, tuple(remarks), is_from_data=True)


def _class(
    data: _Data, class_: NamedNode, parents: dict[NamedNode, tuple[NamedNode, ...]], properties: list[DraftedProperty]
) -> DraftedClass:
    members = data.members[class_]
    key = next((p.iri for p in properties if class_ in p.domains and _is_key(data, p, members)), None)
    names = (item.value for member in sorted(members, key=str)[:50] for item in data.names.get(member, ()))
    examples = tuple(dict.fromkeys(name for name in names if len(name) <= 80))[:2]
    return DraftedClass(class_, label_of_iri(class_), len(members), (key,) if key else (), parents[class_], examples)


def _is_key(data: _Data, term: DraftedProperty, members: set[object]) -> bool:
    """Whether all members have one value each and no two the same one."""
    profile = term.profile
    if profile is None or not term.functional or len(members) < 3:
        return False
    if profile.datatype not in (XSD_STRING, XSD_INTEGER):
        return False
    values = [t.object for t in data.by_predicate[term.iri] if t.subject in members]
    return len(values) == len(set(values)) == len(members)


def _property(
    data: _Data, predicate: NamedNode, parents: dict[NamedNode, tuple[NamedNode, ...]], remarks: list[str]
) -> DraftedProperty:
    triples = data.by_predicate[predicate]
    literals = [triple.object for triple in triples if isinstance(triple.object, Literal)]
    label = label_of_iri(predicate)
    if literals and len(literals) < len(triples):
        what = "values" if len(literals) * 2 >= len(triples) else "things"
        remarks.append(f"{predicate.value} leads to values {len(literals)} times, to things "
                       f"{len(triples) - len(literals)} times: drafted for {what}")  # fmt: skip
    domains = data.classes_of((triple.subject for triple in triples), parents)
    counts = Counter(triple.subject for triple in triples)
    most = max(counts.values())
    if len(literals) * 2 >= len(triples):
        profile = of_literals(literals[:_SAMPLE], label)
        plain = not any(item.language for item in literals)
        return DraftedProperty(predicate, label, domains, len(triples), profile=profile, functional=plain and most == 1)
    ranges = data.classes_of((t.object for t in triples if not isinstance(t.object, Literal)), parents)
    functional = most == 1 and len(triples) > 2
    return DraftedProperty(predicate, label, domains, len(triples), ranges=ranges, functional=functional)
