"""The ontology as the platform uses it: classes, properties and named values with their words, read from OWL 2.

Everything derived (prompts, validation, table mapping, question translation, pages) asks this view. It
reads any OWL ontology in an RDF syntax; what makes it work *well* is what an ontology says of its terms:
``rdfs:label``, ``rdfs:comment``, ``skos:altLabel`` (the words people use), domain, range, ``owl:hasKey``, and
the annotations ``core:pattern``, ``core:unit``, ``core:sentence``, ``core:displayOrder``, ``core:internal``.

Specification: OWL 2 Mapping to RDF Graphs (https://www.w3.org/TR/owl2-mapping-to-rdf/), §3. Class
expressions are used where they say which named classes are meant (``owl:unionOf``, ``owl:intersectionOf``);
others are left to the reasoner.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from kgplatform.errors import NotFoundError
from kgplatform.lexicon.amounts import label_with_unit
from kgplatform.vocab import (
    CORE,
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
    XSD,
    local_name,
    words_of_iri,
)


@dataclass(frozen=True, slots=True)
class Word:
    """A label or lexical form of a term, with its language tag (empty: none)."""

    text: str
    language: str


@dataclass(frozen=True, slots=True)
class OntologyClass:
    """A class: ``words`` holds its labels first, then its lexical forms; ``key`` the properties of ``owl:hasKey``."""

    iri: NamedNode
    words: tuple[Word, ...] = ()
    comments: tuple[Word, ...] = ()
    parents: tuple[NamedNode, ...] = ()
    key: tuple[NamedNode, ...] = ()
    across: tuple[NamedNode, ...] = ()
    examples: tuple[Word, ...] = ()
    internal: bool = False


@dataclass(frozen=True, slots=True)
class OntologyProperty:
    """A property; ``ranges`` are classes if ``is_object``, else datatypes. Empty domain or range: anything.

    ``heard`` are forms that texts have for it and nobody would ask with: looser ones, for reading alone. ``derived``:
    the ontology defines it as the inverse of another.
    """

    iri: NamedNode
    is_object: bool
    words: tuple[Word, ...] = ()
    comments: tuple[Word, ...] = ()
    domains: tuple[NamedNode, ...] = ()
    ranges: tuple[NamedNode, ...] = ()
    parents: tuple[NamedNode, ...] = ()
    inverse: NamedNode | None = None
    derived: bool = False
    functional: bool = False
    transitive: bool = False
    symmetric: bool = False
    pattern: str | None = None
    unit: str | None = None
    sentences: tuple[Word, ...] = ()
    examples: tuple[Word, ...] = ()
    heard: tuple[Word, ...] = ()
    order: int = 1000
    internal: bool = False


@dataclass(frozen=True, slots=True)
class Individual:
    """A named value of a closed list, such as an audience or a flight state."""

    iri: NamedNode
    types: tuple[NamedNode, ...]
    words: tuple[Word, ...] = ()
    comments: tuple[Word, ...] = ()


def label_of(words: Iterable[Word], language: str | Sequence[str], fallback: str) -> str:
    """The first word in the language (the first of several that has one), in English, in any; else ``fallback``."""
    listed = list(words)
    for wanted in (*([language] if isinstance(language, str) else language), "en", ""):
        for word in listed:
            if word.language == wanted or word.language.startswith(f"{wanted}-"):
                return word.text
    return listed[0].text if listed else fallback


@dataclass(frozen=True)
class Ontology:
    """The terms of one or more OWL ontologies, and what follows from their axioms for who may relate to whom.

    ``plugins`` are the names of the plug-ins that the ontologies ask for with ``core:plugin``.
    """

    classes: Mapping[NamedNode, OntologyClass]
    properties: Mapping[NamedNode, OntologyProperty]
    individuals: Mapping[NamedNode, Individual]
    disjoint_pairs: frozenset[frozenset[NamedNode]] = field(default_factory=frozenset)
    iris: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()

    @cached_property
    def _above(self) -> dict[NamedNode, frozenset[NamedNode]]:
        return {
            iri: _closure(iri, lambda node: self.classes[node].parents if node in self.classes else ())
            for iri in self.classes
        }

    @cached_property
    def _below(self) -> dict[NamedNode, frozenset[NamedNode]]:
        below: dict[NamedNode, set[NamedNode]] = {iri: set() for iri in self.classes}
        for iri, above in self._above.items():
            for parent in above:
                below.setdefault(parent, set()).add(iri)
        return {iri: frozenset(found) for iri, found in below.items()}

    def superclasses(self, iri: NamedNode) -> frozenset[NamedNode]:
        """The class and all classes above it."""
        return self._above.get(iri, frozenset((iri,)))

    def subclasses(self, iri: NamedNode) -> frozenset[NamedNode]:
        """The class and all classes below it."""
        return self._below.get(iri, frozenset((iri,)))

    def is_a(self, iri: NamedNode, wanted: Iterable[NamedNode]) -> bool:
        """Whether the class is one of ``wanted`` or below one of them; true where nothing is wanted."""
        allowed = tuple(wanted)
        return not allowed or any(item in self.superclasses(iri) or item.value == f"{OWL}Thing" for item in allowed)

    def fits(self, iri: NamedNode, wanted: Iterable[NamedNode]) -> bool:
        """Whether something known only to be of class ``iri`` could be of a ``wanted`` class: above, below or same."""
        allowed = tuple(wanted)
        return self.is_a(iri, allowed) or any(iri in self.superclasses(item) for item in allowed)

    def may_be(self, iri: NamedNode, wanted: Iterable[NamedNode]) -> bool:
        """Whether things of the class may be of a ``wanted`` one: where no class is a kind of another, nobody knows."""
        allowed = tuple(wanted)
        return self.is_a(iri, allowed) or (self.is_flat and any(not self.disjoint(iri, item) for item in allowed))

    def admits(self, predicate: NamedNode, subject: NamedNode, object_: NamedNode | None = None) -> bool:
        """Whether domain and range allow the property between these classes (``object_`` None: range not asked)."""
        term = self.properties.get(predicate)
        if term is None or not self.is_a(subject, term.domains):
            return False
        return object_ is None or (term.is_object and self.is_a(object_, term.ranges))

    @cached_property
    def is_flat(self) -> bool:
        """Whether no class is said to be a kind of another, so that nobody knows which classes are."""
        return not any(parent in self.classes for item in self.classes.values() for parent in item.parents)

    @cached_property
    def _apart(self) -> dict[tuple[NamedNode, NamedNode], bool]:
        """What was asked of `disjoint`: linking asks the same of every two names."""
        return {}

    def disjoint(self, first: NamedNode, second: NamedNode) -> bool:
        """Whether nothing can be of both classes."""
        found = self._apart.get((first, second))
        if found is None:
            found = self._apart[first, second] = any(
                frozenset((a, b)) in self.disjoint_pairs
                for a in self.superclasses(first)
                for b in self.superclasses(second)
                if a != b
            )
        return found

    def properties_of(self, iri: NamedNode) -> list[OntologyProperty]:
        """The properties whose domain takes the class, in display order, bookkeeping ones left out."""
        found = [
            term
            for term in self.properties.values()
            if not term.internal and term.domains and self.is_a(iri, term.domains)
        ]
        return sorted(found, key=lambda term: (term.order, term.iri.value))

    def label(self, iri: NamedNode, language: str = "en") -> str:
        """The label of a term in the language, else in English, else its local name in words."""
        term = self.classes.get(iri) or self.properties.get(iri) or self.individuals.get(iri)
        return label_of(term.words if term else (), language, words_of_iri(iri.value))

    def class_named(self, name: str) -> OntologyClass:
        """The class with that IRI, local name or label.

        Raises:
            NotFoundError: no class is called so.
        """
        wanted = name.casefold()
        for term in self.classes.values():
            names = {
                term.iri.value,
                local_name(term.iri.value).casefold(),
                *(word.text.casefold() for word in term.words),
            }
            if name in names or wanted in names:
                return term
        raise NotFoundError(f"no class is named {name!r}; `kgplatform ontology` lists them", name=name)

    @cached_property
    def domain_classes(self) -> tuple[OntologyClass, ...]:
        """The classes of the domain, in IRI order: those not marked as bookkeeping."""
        return tuple(sorted((c for c in self.classes.values() if not c.internal), key=lambda c: c.iri.value))

    @cached_property
    def domain_properties(self) -> tuple[OntologyProperty, ...]:
        """The properties of the domain, in display order."""
        found = (p for p in self.properties.values() if not p.internal)
        return tuple(sorted(found, key=lambda p: (p.order, p.iri.value)))


def _closure(start: NamedNode, above: Callable[[NamedNode], Iterable[NamedNode]]) -> frozenset[NamedNode]:
    seen = {start}
    waiting = [start]
    while waiting:
        for parent in above(waiting.pop()):
            if parent not in seen:
                seen.add(parent)
                waiting.append(parent)
    return frozenset(seen)


class _Reading:
    """The triples of an ontology, indexed for reading."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self.by_subject: dict[object, dict[str, list[object]]] = {}
        self.by_type: dict[str, list[NamedNode | BlankNode]] = {}
        for triple in sorted(triples, key=str):
            subject, predicate, object_ = triple.subject, triple.predicate.value, triple.object
            self.by_subject.setdefault(subject, {}).setdefault(predicate, []).append(object_)
            if predicate == f"{RDF}type" and isinstance(object_, NamedNode) and not isinstance(subject, Triple):
                self.by_type.setdefault(object_.value, []).append(subject)

    def objects(self, subject: object, predicate: str) -> list[object]:
        return self.by_subject.get(subject, {}).get(predicate, [])

    def named(self, subject: object, predicate: str) -> tuple[NamedNode, ...]:
        return tuple(item for item in self.objects(subject, predicate) if isinstance(item, NamedNode))

    def words(self, subject: object, *predicates: str) -> tuple[Word, ...]:
        found = [
            Word(item.value, item.language or "")
            for predicate in predicates
            for item in self.objects(subject, predicate)
            if isinstance(item, Literal)
        ]
        return tuple(dict.fromkeys(found))

    def literal(self, subject: object, predicate: str) -> str | None:
        return next((item.value for item in self.objects(subject, predicate) if isinstance(item, Literal)), None)

    def sequence(self, head: object) -> list[object]:
        items: list[object] = []
        seen: set[object] = set()
        while head not in seen and head != NamedNode(f"{RDF}nil"):
            seen.add(head)
            items.extend(self.objects(head, f"{RDF}first"))
            rest = self.objects(head, f"{RDF}rest")
            if not rest:
                break
            head = rest[0]
        return items

    def class_names(self, subject: object, predicate: str) -> tuple[NamedNode, ...]:
        """The named classes that the objects stand for, unions and intersections opened."""
        found: list[NamedNode] = []
        for item in self.objects(subject, predicate):
            if item in self.restricted:
                found.extend(self.restricted[item])
                continue
            if isinstance(item, NamedNode) and item not in self.unions:
                if item not in self.expressions:
                    found.append(item)
                continue
            for operator in (f"{OWL}unionOf", f"{OWL}intersectionOf"):
                for head in self.objects(item, operator):
                    found.extend(part for part in self.sequence(head) if isinstance(part, NamedNode))
        return tuple(dict.fromkeys(found))

    @cached_property
    def unions(self) -> frozenset[object]:
        """Nodes that stand for a class expression (blank nodes, or the IRIs that replaced them)."""
        return frozenset(
            subject
            for subject, facts in self.by_subject.items()
            if (f"{OWL}unionOf" in facts or f"{OWL}intersectionOf" in facts) and f"{RDFS}label" not in facts
        )

    @cached_property
    def expressions(self) -> frozenset[object]:
        """Nodes that stand for a restriction, a complement or a closed list, of which no named class is a part."""
        marks = {f"{OWL}{name}" for name in ("onProperty", "complementOf", "datatypeComplementOf", "oneOf")}
        return frozenset(s for s, facts in self.by_subject.items() if marks & facts.keys() and _is_unnamed(s))

    @cached_property
    def restricted(self) -> dict[object, tuple[NamedNode, ...]]:
        """The datatype that each datatype with facets restricts; of a named one too, which may be one of those."""
        found: dict[object, tuple[NamedNode, ...]] = {}
        for subject in list(self.by_subject):
            for node in (subject, *self.objects(subject, f"{OWL}equivalentClass")):
                plain = self.named(node, f"{OWL}onDatatype")
                if plain:
                    found[subject] = plain
        return found

    def typed(self, *types: str) -> list[NamedNode]:
        found = [
            subject for type_ in types for subject in self.by_type.get(type_, []) if isinstance(subject, NamedNode)
        ]
        return [subject for subject in dict.fromkeys(found) if subject not in self.unions]


_OUTSIDE = (OWL, RDF, RDFS, XSD, SKOS)
_NUMBERS = frozenset(
    f"{XSD}{name}"
    for name in (
        "decimal",
        "double",
        "float",
        "int",
        "integer",
        "long",
        "short",
        "nonNegativeInteger",
        "positiveInteger",
    )
)


def _is_unnamed(node: object) -> bool:
    return not isinstance(node, NamedNode) or node.value.startswith("urn:kgplatform:node:")


def read_ontology(triples: Iterable[Triple]) -> Ontology:
    """The ontology that the triples spell out; anything that is not an OWL declaration is left aside."""
    reading = _Reading(triples)
    iris = sorted(reading.typed(f"{OWL}Ontology"), key=lambda iri: iri.value)
    classes = {
        iri: _class(reading, iri)
        for iri in reading.typed(f"{OWL}Class", f"{RDFS}Class")
        if not iri.value.startswith(_OUTSIDE)
    }
    properties = _plain_properties(reading, classes) | {
        iri: _property(reading, iri, is_object=is_object)
        for types, is_object in (((f"{OWL}DatatypeProperty",), False), ((f"{OWL}ObjectProperty",), True))
        for iri in reading.typed(*types)
        if not iri.value.startswith(_OUTSIDE)
    }
    return Ontology(
        classes=_declared(classes),
        properties=_with_inverses(properties),
        individuals=_individuals(reading, classes),
        disjoint_pairs=_disjoint_pairs(reading),
        iris=tuple(iri.value for iri in iris),
        plugins=tuple(dict.fromkeys(word.text for iri in iris for word in reading.words(iri, f"{CORE}plugin"))),
    )


def _plain_properties(
    reading: _Reading, classes: Mapping[NamedNode, OntologyClass]
) -> dict[NamedNode, OntologyProperty]:
    """The properties that are said to be properties only, but of something: RDF Schema 1.1, section 2.4.

    They lead to things where their range is a class; where nothing is said of it, any value is written as it is.
    """
    found = {}
    for iri in reading.typed(f"{RDF}Property"):
        types = {item.value for item in reading.named(iri, f"{RDF}type")}
        domains = reading.class_names(iri, f"{RDFS}domain")
        outside = iri.value.startswith(_OUTSIDE) or f"{OWL}AnnotationProperty" in types
        if not outside and any(domain in classes for domain in domains):
            ranges = reading.class_names(iri, f"{RDFS}range")
            found[iri] = _property(reading, iri, is_object=any(item in classes for item in ranges))
    return found


def _declared(classes: dict[NamedNode, OntologyClass]) -> dict[NamedNode, OntologyClass]:
    """Without the foreign classes that are only declared for alignment: no words of their own."""
    return {
        iri: term for iri, term in classes.items() if term.words or not any(other.words for other in classes.values())
    }


def _class(reading: _Reading, iri: NamedNode) -> OntologyClass:
    keys = [part for head in reading.objects(iri, f"{OWL}hasKey") for part in reading.sequence(head)]
    return OntologyClass(
        iri=iri,
        words=reading.words(iri, f"{RDFS}label", f"{SKOS}prefLabel", f"{SKOS}altLabel"),
        comments=reading.words(iri, f"{RDFS}comment", f"{SKOS}definition"),
        parents=tuple(p for p in reading.class_names(iri, f"{RDFS}subClassOf") if p != iri),
        key=tuple(part for part in keys if isinstance(part, NamedNode)),
        across=reading.named(iri, f"{CORE}linkedAcross"),
        examples=reading.words(iri, f"{SKOS}example"),
        internal=reading.literal(iri, f"{CORE}internal") == "true",
    )


def _property(reading: _Reading, iri: NamedNode, *, is_object: bool) -> OntologyProperty:
    types = {item.value for item in reading.named(iri, f"{RDF}type")}
    order = reading.literal(iri, f"{CORE}displayOrder")
    inverse = reading.named(iri, f"{OWL}inverseOf")
    ranges = reading.class_names(iri, f"{RDFS}range")
    words = reading.words(iri, f"{RDFS}label", f"{SKOS}prefLabel", f"{SKOS}altLabel")
    words, unit = _measured(words, reading.literal(iri, f"{CORE}unit"), ranges)
    return OntologyProperty(
        iri=iri,
        is_object=is_object,
        words=words,
        comments=reading.words(iri, f"{RDFS}comment", f"{SKOS}definition"),
        domains=reading.class_names(iri, f"{RDFS}domain"),
        ranges=ranges,
        parents=reading.named(iri, f"{RDFS}subPropertyOf"),
        inverse=inverse[0] if inverse else None,
        derived=bool(inverse),
        functional=f"{OWL}FunctionalProperty" in types,
        transitive=f"{OWL}TransitiveProperty" in types,
        symmetric=f"{OWL}SymmetricProperty" in types,
        pattern=reading.literal(iri, f"{CORE}pattern"),
        unit=unit,
        sentences=reading.words(iri, f"{CORE}sentence"),
        examples=reading.words(iri, f"{SKOS}example"),
        heard=reading.words(iri, f"{SKOS}hiddenLabel"),
        order=int(order) if order and order.isdecimal() else 1000,
        internal=reading.literal(iri, f"{CORE}internal") == "true",
    )


def _measured(
    words: tuple[Word, ...], unit: str | None, ranges: tuple[NamedNode, ...]
) -> tuple[tuple[Word, ...], str | None]:
    """The words of a number, first without the unit that they have in brackets, and its unit: *main span (m)*.

    As they were they are words still: a table may have a column that is called so.
    """
    if not ranges or not {range_.value for range_ in ranges} <= _NUMBERS:
        return words, unit
    parted = [(word, *label_with_unit(word.text)) for word in words]
    said = {symbol for _, _, symbol in parted if symbol}
    if len(said) != 1 or (unit is not None and unit not in said):
        return words, unit
    return tuple(dict.fromkeys((*(replace(word, text=label) for word, label, _ in parted), *words))), said.pop()


def _with_inverses(properties: dict[NamedNode, OntologyProperty]) -> dict[NamedNode, OntologyProperty]:
    """The inverse known on both sides, and domain and range filled in from it where missing."""
    for iri, term in list(properties.items()):
        other = properties.get(term.inverse) if term.inverse else None
        if other is None or term.inverse is None:
            continue
        properties[term.inverse] = replace(
            other, inverse=iri, domains=other.domains or term.ranges, ranges=other.ranges or term.domains
        )
        properties[iri] = replace(term, domains=term.domains or other.ranges, ranges=term.ranges or other.domains)
    return properties


def _individuals(reading: _Reading, classes: Mapping[NamedNode, OntologyClass]) -> dict[NamedNode, Individual]:
    found: dict[NamedNode, Individual] = {}
    for class_ in classes:
        for iri in reading.typed(class_.value):
            types = tuple(t for t in reading.named(iri, f"{RDF}type") if t in classes)
            found[iri] = Individual(
                iri=iri,
                types=types,
                words=reading.words(iri, f"{RDFS}label", f"{SKOS}prefLabel", f"{SKOS}altLabel"),
                comments=reading.words(iri, f"{RDFS}comment", f"{SKOS}definition"),
            )
    return found


def _disjoint_pairs(reading: _Reading) -> frozenset[frozenset[NamedNode]]:
    pairs = {
        frozenset((iri, other))
        for iri in reading.typed(f"{OWL}Class")
        for other in reading.named(iri, f"{OWL}disjointWith")
    }
    for axiom in reading.by_type.get(f"{OWL}AllDisjointClasses", []):
        for head in reading.objects(axiom, f"{OWL}members"):
            members = [item for item in reading.sequence(head) if isinstance(item, NamedNode)]
            pairs |= {frozenset((a, b)) for a in members for b in members if a != b}
    return frozenset(pairs)


_EVERYWHERE = (RDF, RDFS, OWL, SKOS, DCTERMS, PROV, OA, SH, VOID)
_NAMING = frozenset((f"{SCHEMA}name", f"{FOAF}name", "http://schema.org/name"))
_PROPERTY_KINDS = frozenset(
    (f"{RDF}Property", *(f"{OWL}{kind}Property" for kind in ("Object", "Datatype", "Annotation")))
)
_CLASS_KINDS = frozenset((f"{OWL}Class", f"{RDFS}Class"))


class TermIndex:
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
