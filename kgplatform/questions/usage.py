"""How the data uses classes and properties, from one pass over the graph: facts, schema view, detail, paths."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeAlias

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform import lexicon
from kgplatform.ontology.schema import Ontology, Word, label_of
from kgplatform.questions.parser.vocabulary import keys
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.text import has_han, normalise, singular
from kgplatform.types import Term
from kgplatform.vocab import (
    ALT_LABEL,
    CORE,
    DCTERMS,
    FOAF,
    LABEL,
    OWL,
    RDF,
    RDFS,
    SCHEMA,
    SKOS,
    TYPE,
    XSD,
    local_name,
    words_of_iri,
)

# One pass over what is stated: who is of which class, who is called what, and every statement about things.
#
# Conclusions (what only ``graph/inferred`` holds) are left out: how often a property is used, which direction of an
# inverse pair the data prefers and how many things a class has are to be the same whether conclusions are drawn or not.


Statement: TypeAlias = tuple[Any, NamedNode, Any]
"""Subject, predicate and object: a tuple, since half a million `Triple` objects take twice the time to make."""

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
        f"{CORE}Link",
    )
)
_KEPT_TYPES = frozenset((NamedNode(f"{OWL}NamedIndividual"),))
_BOOKKEEPING_NAMESPACES = (
    *(OWL, RDF, RDFS, f"{SKOS}inScheme", f"{SKOS}topConceptOf", f"{SKOS}hasTopConcept"),
    f"{DCTERMS}isReplacedBy",
)
_NAMES = (LABEL, NamedNode(f"{SKOS}prefLabel"))
_NAME_LIKE = frozenset(
    NamedNode(iri)
    for iri in (f"{FOAF}name", f"{SCHEMA}name", "http://schema.org/name", f"{DCTERMS}title", f"{SKOS}notation")
)
_KEY_WORDS = lexicon.words("usage.key_words")
_NAME_WORDS = lexicon.word_set("usage.name_words")


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """One pass over what is stated: who has which types and names, and every other statement.

    ``values`` counts the objects of every property; ``keyed`` are the things whose label is only a key or code.
    ``concluded`` are the properties and classes that occur in conclusions only.
    """

    types: Mapping[object, tuple[NamedNode, ...]]
    labels: Mapping[object, tuple[Literal, ...]]
    aliases: Mapping[object, tuple[Literal, ...]]
    statements: tuple[tuple[object, NamedNode, object], ...]
    name_properties: frozenset[NamedNode] = frozenset()
    values: Mapping[NamedNode, Counter[object]] = field(default_factory=dict)
    keyed: frozenset[object] = frozenset()
    concluded: frozenset[NamedNode] = frozenset()


def read_facts(dataset: EvidenceDataset, ontology: Ontology) -> GraphFacts:
    """The stated part of the default graph that is about things, not about the ontology's own terms."""
    types: dict[object, list[NamedNode]] = defaultdict(list)
    rest: list[tuple[object, NamedNode, object]] = []
    conclusions = _conclusions(dataset)
    for item in _stated(dataset, conclusions):
        subject, predicate, object_ = item
        if predicate != TYPE:
            rest.append(item)
        elif isinstance(object_, NamedNode):
            types[subject].append(object_)
    terms = _bookkeeping(types, ontology)
    kept = [item for item in rest if item[0] not in terms] if terms else rest
    names = _name_properties({predicate for _, predicate, _ in kept})
    labels, aliases, statements = _told_apart(kept, terms, names)
    things = _things(types, terms)
    values: dict[NamedNode, Counter[object]] = defaultdict(Counter)
    for _, predicate, object_ in statements:
        values[predicate][object_] += 1
    keyed = _keyed(things, labels, statements, values, ontology)
    used = {predicate for _, predicate, _ in statements} | {iri for found in things.values() for iri in found}
    return GraphFacts(
        types=things,
        labels={**labels, **keyed},
        aliases=aliases,
        statements=tuple(statements),
        name_properties=names,
        values=dict(values),
        keyed=frozenset(keyed),
        concluded=frozenset(_terms_of(conclusions)) - used,
    )


def _conclusions(dataset: EvidenceDataset) -> frozenset[Statement]:
    """What is in ``graph/inferred`` only.

    The inference stage keeps what is stated out of that graph, so only what came since it last ran is looked at twice.
    """
    held = frozenset((s, p, o) for s, p, o, _ in dataset.store.quads(graph=dataset.inferred))
    touched = dataset.touched()
    fresh = held if touched is None else held & {(t.subject, t.predicate, t.object) for t in touched}
    return held - {item for item in fresh if dataset.is_stated(Triple(*item))}


def _stated(dataset: EvidenceDataset, conclusions: frozenset[Statement]) -> Iterator[Statement]:
    """The statements of the default graph less the conclusions."""
    for subject, predicate, object_, _ in dataset.store.quads(graph=DEFAULT_GRAPH):
        item = (subject, predicate, object_)
        if not conclusions or item not in conclusions:
            yield item


def _terms_of(conclusions: Iterable[Statement]) -> Iterator[NamedNode]:
    """The properties of statements, and the classes that they say things are of."""
    for _, predicate, object_ in conclusions:
        yield predicate
        if predicate == TYPE and isinstance(object_, NamedNode):
            yield object_


def _keyed(
    things: Mapping[object, tuple[NamedNode, ...]],
    labels: Mapping[object, tuple[Literal, ...]],
    statements: list[tuple[object, NamedNode, object]],
    values: Mapping[NamedNode, Counter[object]],
    ontology: Ontology,
) -> dict[object, tuple[Literal, ...]]:
    """Labels for things without one: the value of a key of their class, or of a property that is called a code.

    Only properties whose every value is somebody's own can tell things apart, so only these count.
    """
    nameless = {node for node in things if node not in labels}
    if not nameless:
        return {}
    keys = {p for term in ontology.classes.values() if len(term.key) == 1 for p in term.key}
    ranks = {
        predicate: rank
        for predicate, counted in values.items()
        if len(counted) == counted.total() and (rank := _key_rank(predicate, keys)) is not None
    }
    best: dict[object, tuple[int, str, Literal]] = {}
    for subject, predicate, object_ in statements:
        if predicate in ranks and subject in nameless and isinstance(object_, Literal):
            found = (ranks[predicate], predicate.value, object_)
            if subject not in best or found[:2] < best[subject][:2]:
                best[subject] = found
    return {subject: (found[2],) for subject, found in best.items()}


def _key_rank(predicate: NamedNode, keys: set[NamedNode]) -> int | None:
    """How well the values of a property serve as names; the lower the better, None: not at all."""
    if predicate in keys:
        return 0
    last = words_of_iri(predicate.value).split()[-1:]
    return 1 + _KEY_WORDS.index(last[0]) if last and last[0] in _KEY_WORDS else None


def _things(types: Mapping[object, list[NamedNode]], terms: set[object]) -> dict[object, tuple[NamedNode, ...]]:
    """The classes of everything that has one; equal lists of classes are one object."""
    known: dict[tuple[NamedNode, ...], tuple[NamedNode, ...]] = {}
    things = {}
    for node, found in types.items():
        listed = tuple(found)
        if listed not in known:
            known[listed] = tuple(sorted((t for t in found if not t.value.startswith((OWL, RDFS, RDF))), key=str))
        if known[listed] and node not in terms:
            things[node] = known[listed]
    return things


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
    return {
        subject: tuple(values) if len(values) == 1 else tuple(sorted(set(values), key=str))
        for subject, values in found.items()
    }


# What there is to ask about: classes, properties and how the data really uses them, from ontology and data.
#
# Everything comes from one pass over the default graph (`read_facts`), shared with the names. A graph without an
# ontology has a view too: classes and properties are those that occur, their words those of their IRIs.

THING = NamedNode(f"{OWL}Thing")
"""The class of what has no type."""

_SAMPLES = 5
_COMPOUND = 2
_ENUMERATION = 24


@dataclass(frozen=True, slots=True)
class SchemaClass:
    """A class of the data with its number of instances and all its words."""

    iri: NamedNode
    words: tuple[Word, ...]
    comments: tuple[Word, ...] = ()
    count: int = 0
    key: tuple[NamedNode, ...] = ()


@dataclass(frozen=True, slots=True)
class SchemaProperty:
    """A property with its number of statements; ``samples`` are values or labels, ``closed``: all of them."""

    iri: NamedNode
    words: tuple[Word, ...]
    comments: tuple[Word, ...] = ()
    is_object: bool = False
    count: int = 0
    distinct: int = 0
    datatypes: tuple[NamedNode, ...] = ()
    languages: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()
    closed: bool = False
    unit: str = ""
    sentences: tuple[Word, ...] = ()
    pattern: str = ""
    transitive: bool = False
    symmetric: bool = False
    inverse: NamedNode | None = None

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return any(d.value in _NUMERIC for d in self.datatypes)

    @property
    def temporal(self) -> bool:
        """Whether the values are dates, times or years."""
        return any(d.value in _TEMPORAL for d in self.datatypes)


_NUMERIC = frozenset(f"{XSD}{name}" for name in ("integer", "decimal", "double", "float", "int", "long"))
_TEMPORAL = frozenset(f"{XSD}{name}" for name in ("date", "dateTime", "gYear", "gYearMonth", "time"))


@dataclass(frozen=True, slots=True)
class PropertyEdge:
    """How often things of class ``subject`` have ``predicate`` with a value of class or datatype ``object``."""

    subject: NamedNode
    predicate: NamedNode
    object: NamedNode
    count: int
    literal: bool


@dataclass(frozen=True)
class SchemaView:
    """The classes, properties and edges of a graph."""

    classes: Mapping[NamedNode, SchemaClass]
    properties: Mapping[NamedNode, SchemaProperty]
    edges: tuple[PropertyEdge, ...]
    below: Mapping[NamedNode, frozenset[NamedNode]] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    """The names of the ontology's classes of which the graph has nothing."""

    def subclasses(self, iri: NamedNode) -> frozenset[NamedNode]:
        """The class and all below it."""
        return self.below.get(iri) or frozenset((iri,))

    def widest(self, types: Collection[NamedNode]) -> NamedNode | None:
        """Of some classes the one that most of them are kinds of; None where there are none."""
        return min(types, key=lambda iri: (-len(self.subclasses(iri).intersection(types)), str(iri)), default=None)

    def has_subclasses(self, iri: NamedNode) -> bool:
        """Whether instances of the class may be typed by another one only."""
        return len(self.subclasses(iri)) > 1

    @cached_property
    def outgoing(self) -> Mapping[NamedNode, tuple[PropertyEdge, ...]]:
        """The edges by class of the subject; those of its subclasses included."""
        return self._by_class(inward=False)

    @cached_property
    def incoming(self) -> Mapping[NamedNode, tuple[PropertyEdge, ...]]:
        """The edges between things by class of the object; those of its subclasses included."""
        return self._by_class(inward=True)

    def _by_class(self, *, inward: bool) -> Mapping[NamedNode, tuple[PropertyEdge, ...]]:
        exact: dict[NamedNode, list[PropertyEdge]] = defaultdict(list)
        for edge in self.edges:
            if not (inward and edge.literal):
                exact[edge.object if inward else edge.subject].append(edge)
        known = {*exact, *self.classes}
        return {iri: tuple(e for sub in self.subclasses(iri) for e in exact.get(sub, ())) for iri in known}

    def count(self, iri: NamedNode) -> int:
        """How many instances the class has, those of its subclasses included (twice where typed twice)."""
        return sum(self.classes[sub].count for sub in self.subclasses(iri) if sub in self.classes)

    def domains(self, predicate: NamedNode) -> tuple[NamedNode, ...]:
        """The classes whose instances have the property in the data, most frequent first."""
        counts: Counter[NamedNode] = Counter()
        for edge in self._by_predicate.get(predicate, ()):
            counts[edge.subject] += edge.count
        return tuple(iri for iri, _ in counts.most_common())

    def ranges(self, predicate: NamedNode) -> tuple[NamedNode, ...]:
        """The classes or datatypes of the property's values in the data, most frequent first."""
        counts: Counter[NamedNode] = Counter()
        for edge in self._by_predicate.get(predicate, ()):
            counts[edge.object] += edge.count
        return tuple(iri for iri, _ in counts.most_common())

    @cached_property
    def han_kinds(self) -> Mapping[str, frozenset[NamedNode]]:
        """The classes by the characters with which names may end that their own words are made of: 河 of 河流."""
        found: dict[str, set[NamedNode]] = defaultdict(set)
        for iri, term in self.classes.items():
            for word in term.words:
                if len(word.text) == _COMPOUND and all(map(has_han, word.text)):
                    for character in word.text:
                        found[character].add(iri)
        return {character: frozenset(classes) for character, classes in found.items()}

    @cached_property
    def _by_predicate(self) -> Mapping[NamedNode, tuple[PropertyEdge, ...]]:
        found: dict[NamedNode, list[PropertyEdge]] = defaultdict(list)
        for edge in self.edges:
            found[edge.predicate].append(edge)
        return {iri: tuple(edges) for iri, edges in found.items()}

    def unit(self, iri: NamedNode, language: str = "en") -> str:
        """The unit of a property: in another language the label, where the English label is the unit itself."""
        term = self.properties.get(iri)
        if term is None or not term.unit or language == "en":
            return term.unit if term else ""
        same = any(singular(word.text.casefold()) == singular(term.unit.casefold()) for word in term.words[:2])
        return self.label(iri, language) if same else term.unit

    def sentence(self, iri: NamedNode, language: str) -> str:
        """How the ontology says a value in the language, with {subject} and {value} to fill in; else empty."""
        term = self.properties.get(iri)
        return next((word.text for word in term.sentences if word.language == language), "") if term else ""

    def label(self, iri: NamedNode, language: str = "en") -> str:
        """The words for a class or property in the language."""
        term = self.classes.get(iri) or self.properties.get(iri)
        return label_of(term.words if term else (), language, words_of_iri(iri.value))

    def noun(self, iri: NamedNode, language: str = "en") -> str:
        """The words as a noun that something can have, between quotation marks where they are none: “built in”."""
        label = self.label(iri, language)
        if iri not in self.properties or not lexicon.pattern("usage.no_noun").search(label):
            return label
        said = lexicon.phrases("answer_text_words")
        return said.get(language, said["en"])["quoted"].format(word=label)


@dataclass(slots=True)
class _Tally:
    """What is counted of one property."""

    count: int = 0
    things: int = 0
    values: Counter[object] = field(default_factory=Counter)
    datatypes: Counter[NamedNode] = field(default_factory=Counter)
    languages: set[str] = field(default_factory=set)


def schema_view(facts: GraphFacts, ontology: Ontology) -> SchemaView:
    """The view over the facts, with what the ontology says of the terms that occur in them."""
    untyped = (THING,)
    counts: Counter[NamedNode] = Counter(t for found in facts.types.values() for t in found)
    edges: Counter[tuple[NamedNode, NamedNode, NamedNode, bool]] = Counter()
    tallies: dict[NamedNode, _Tally] = defaultdict(_Tally)
    for predicate, values in facts.values.items():
        tallies[predicate] = _Tally(count=values.total(), values=values)
    for subject, predicate, object_ in facts.statements:
        tally = tallies[predicate]
        if isinstance(object_, Literal):
            datatype = object_.datatype
            tally.datatypes[datatype] += 1
            if object_.language:
                tally.languages.add(object_.language)
            for class_ in facts.types.get(subject, untyped):
                edges[class_, predicate, datatype, True] += 1
            continue
        tally.things += 1
        for class_ in facts.types.get(subject, untyped):
            for other in facts.types.get(object_, untyped):
                edges[class_, predicate, other, False] += 1
    classes = _classes(counts, ontology)
    return SchemaView(
        classes=classes,
        properties={iri: _property(iri, tallies[iri], facts, ontology) for iri in sorted(tallies, key=str)},
        edges=tuple(PropertyEdge(s, p, o, n, literal) for (s, p, o, literal), n in sorted(edges.items(), key=str)),
        below={iri: frozenset(s for s in ontology.subclasses(iri) if s in classes) | {iri} for iri in classes},
        absent=tuple(w.text for term in ontology.domain_classes if term.iri not in classes for w in term.words),
    )


def _classes(counts: Counter[NamedNode], ontology: Ontology) -> dict[NamedNode, SchemaClass]:
    """The classes that have instances, and those above them in the ontology."""
    wanted = set(counts)
    for iri in counts:
        wanted |= {above for above in ontology.superclasses(iri) if above in ontology.classes}
    found = {}
    for iri in sorted(wanted, key=str):
        term = ontology.classes.get(iri)
        if term is not None and term.internal:
            continue
        words = term.words if term and term.words else (Word(words_of_iri(iri.value), ""),)
        found[iri] = SchemaClass(iri, words, term.comments if term else (), counts[iri], term.key if term else ())
    return found


def _property(iri: NamedNode, tally: _Tally, facts: GraphFacts, ontology: Ontology) -> SchemaProperty:
    term = ontology.properties.get(iri)
    common = tally.values.most_common(_ENUMERATION + 1)
    closed = len(common) <= _ENUMERATION and tally.count > 2 * len(common)
    shown = common if closed else common[:_SAMPLES]
    samples = tuple(_shown(value, facts) for value, _ in shown)
    return SchemaProperty(
        iri=iri,
        words=term.words if term and term.words else (Word(words_of_iri(iri.value), ""),),
        comments=term.comments if term else (),
        is_object=tally.things * 2 > tally.count,
        count=tally.count,
        distinct=len(tally.values),
        datatypes=tuple(d for d, _ in tally.datatypes.most_common()),
        languages=tuple(sorted(tally.languages)),
        samples=samples,
        closed=closed,
        unit=(term.unit or "") if term else "",
        sentences=term.sentences if term else (),
        pattern=(term.pattern or "") if term else "",
        transitive=term.transitive if term else False,
        symmetric=term.symmetric if term else False,
        inverse=term.inverse if term else None,
    )


def _shown(value: object, facts: GraphFacts) -> str:
    if isinstance(value, Literal):
        return value.value[:60]
    labels = facts.labels.get(value)
    return labels[0].value[:60] if labels else local_name(str(value).strip("<>"))[:60]


# How the data uses every class and property, in the detail that a translator with a model is told.
#
# Made from the same pass over the graph as the schema view, when it is first asked for: the built-in translator needs
# none of it. What a class of things is called, which values a property has *on that class*, how many a thing has of
# them, and a real pair of names for each relation between things.

_USAGE_ENUMERATION: Final = 30
_USAGE_SAMPLES: Final = 3
_LISTED_LENGTH: Final = 400
_MEMBERS: Final = 30
_LONG: Final = 60
_AMOUNT = re.compile(r"-?(?:0|[1-9]\d{0,8})(?:\.\d+)?")
_LANGUAGE_STRING: Final = f"{RDF}langString"
_MEASURED: Final = frozenset(
    f"{XSD}{name}"
    for name in ("integer", "decimal", "double", "float", "date", "dateTime", "gYear", "gYearMonth", "time")
)


@dataclass(frozen=True, slots=True)
class ClassUse:
    """What the things of a class are called.

    ``names`` are labels as they are written, tag and all, the first that of ``witness``; ``languages`` count them by
    tag; ``aliased`` are the things with further names; ``members`` is every thing
    of a small class.
    """

    names: tuple[Literal, ...] = ()
    witness: NamedNode | None = None
    languages: tuple[tuple[str, int], ...] = ()
    aliased: int = 0
    members: tuple[NamedNode, ...] = ()


@dataclass(frozen=True, slots=True)
class PropertyUse:
    """How the things of one class have one property.

    ``things`` have it, with ``statements`` in all and at most ``most`` each. ``targets`` counts the classes or
    datatypes of its values; ``samples`` are values, all of them where ``closed``. ``low`` and ``high`` are the ends of
    measured values, ``example`` names two things that it relates; ``numeric_text``: texts that are amounts.
    """

    subject: NamedNode
    predicate: NamedNode
    things: int
    statements: int
    most: int
    distinct: int
    targets: tuple[tuple[NamedNode, int], ...]
    samples: tuple[Term, ...] = ()
    closed: bool = False
    low: str = ""
    high: str = ""
    example: tuple[Term, Term] | None = None
    numeric_text: bool = False

    @property
    def literal(self) -> bool:
        """Whether the values are mostly literals."""
        return self.targets[0][0].value.startswith(XSD) or self.targets[0][0].value == _LANGUAGE_STRING


@dataclass(frozen=True, slots=True)
class SchemaUsage:
    """The use of every class and of every property on every class."""

    classes: Mapping[NamedNode, ClassUse]
    properties: Mapping[NamedNode, tuple[PropertyUse, ...]]

    def on(self, class_: NamedNode) -> tuple[PropertyUse, ...]:
        """How things of the class itself have properties, most used first."""
        return self.properties.get(class_, ())


@dataclass(slots=True)
class _UsageTally:
    statements: int = 0
    values: Counter[Term] = field(default_factory=Counter)
    targets: Counter[NamedNode] = field(default_factory=Counter)
    example: tuple[Term, Term] | None = None


def usage(facts: GraphFacts, schema: SchemaView) -> SchemaUsage:
    """The use that the facts make of the schema's classes and properties."""
    tallies: dict[tuple[NamedNode, NamedNode], _UsageTally] = defaultdict(_UsageTally)
    owned: Counter[tuple[NamedNode, Term]] = Counter()
    statements: Iterable[Statement] = facts.statements
    for subject, predicate, object_ in statements:
        owned[predicate, subject] += 1
        targets = (object_.datatype,) if isinstance(object_, Literal) else facts.types.get(object_, (THING,))
        for class_ in facts.types.get(subject, (THING,)):
            tally = tallies[class_, predicate]
            tally.statements += 1
            tally.values[object_] += 1
            for target in targets:
                tally.targets[target] += 1
            if tally.example is None and not isinstance(object_, Literal):
                tally.example = (subject, object_)
    things, most = _per_thing(owned, facts)
    found: dict[NamedNode, list[PropertyUse]] = defaultdict(list)
    for (class_, predicate), tally in tallies.items():
        if predicate in schema.properties:
            pair = (class_, predicate)
            found[class_].append(_use(class_, predicate, tally, things=things[pair], most=most[pair]))
    return SchemaUsage(
        classes=_usage_classes(facts, schema),
        properties={
            iri: tuple(sorted(uses, key=lambda use: (-use.things, use.predicate.value))) for iri, uses in found.items()
        },
    )


def _per_thing(
    owned: Counter[tuple[NamedNode, Term]], facts: GraphFacts
) -> tuple[Counter[tuple[NamedNode, NamedNode]], dict[tuple[NamedNode, NamedNode], int]]:
    """By class and property: how many things have it, and the most values that one of them has."""
    things: Counter[tuple[NamedNode, NamedNode]] = Counter()
    most: dict[tuple[NamedNode, NamedNode], int] = defaultdict(int)
    for (predicate, subject), count in owned.items():
        for class_ in facts.types.get(subject, (THING,)):
            things[class_, predicate] += 1
            most[class_, predicate] = max(most[class_, predicate], count)
    return things, most


def _use(class_: NamedNode, predicate: NamedNode, tally: _UsageTally, *, things: int, most: int) -> PropertyUse:
    common = tally.values.most_common(_USAGE_ENUMERATION + 1)
    targets = tuple(sorted(tally.targets.items(), key=lambda item: (-item[1], item[0].value)))
    measured = targets[0][0].value in _MEASURED
    # Of texts that recur every spelling is needed, of numbers the range may do.
    often = 2 if measured or sum(len(str(value)) for value, _ in common) > _LISTED_LENGTH else 1
    closed = len(common) <= _USAGE_ENUMERATION and tally.statements > often * len(common)
    low, high = _ends(tally.values) if measured else ("", "")
    shown = [value for value, _ in common[: _USAGE_ENUMERATION if closed else _USAGE_SAMPLES]]
    if closed:
        shown.sort(key=_order)
    return PropertyUse(
        subject=class_,
        predicate=predicate,
        things=things,
        statements=tally.statements,
        most=most,
        distinct=len(tally.values),
        targets=targets,
        samples=tuple(shown),
        closed=closed and len(common) > 0,
        low=low,
        high=high,
        example=tally.example,
        numeric_text=targets[0][0].value == f"{XSD}string" and _amounts(tally.values),
    )


def _amounts(values: Iterable[Term]) -> bool:
    """Whether texts are amounts and no codes: plain numbers, none of them with a leading zero or of many digits."""
    texts = [str(getattr(value, "value", "")) for value in values]
    return bool(texts) and all(_AMOUNT.fullmatch(text) for text in texts)


def _order(term: Term) -> tuple[bool, float, str]:
    try:
        return (False, float(getattr(term, "value", "")), "")
    except ValueError:
        return (True, 0.0, str(term))


def _ends(values: Iterable[Term]) -> tuple[str, str]:
    """The least and the greatest of the literals, as they are written."""
    written = [value.value for value in values if isinstance(value, Literal) and value.datatype.value in _MEASURED]
    ordered = sorted(written, key=_magnitude)
    return (ordered[0], ordered[-1]) if ordered else ("", "")


def _magnitude(text: str) -> tuple[float, str]:
    try:
        number = float(text)
    except ValueError:
        return (0.0, text)
    return (number if number == number else 0.0, text)


@dataclass(slots=True)
class _Called:
    """What the things of one class are called, as it is counted."""

    members: list[NamedNode] = field(default_factory=list)
    names: list[Literal] = field(default_factory=list)
    witness: NamedNode | None = None
    languages: Counter[str] = field(default_factory=Counter)
    aliased: int = 0


def _usage_classes(facts: GraphFacts, schema: SchemaView) -> dict[NamedNode, ClassUse]:
    found: dict[NamedNode, _Called] = defaultdict(_Called)
    for node, types in facts.types.items():
        labels = () if node in facts.keyed else facts.labels.get(node, ())
        for class_ in types:
            _count(found[class_], node, labels, aliased=node in facts.aliases)
    return {iri: _class_use(found[iri]) for iri in schema.classes}


def _count(called: _Called, node: object, labels: tuple[Literal, ...], *, aliased: bool) -> None:
    called.aliased += aliased
    if isinstance(node, NamedNode):
        if len(called.members) <= _MEMBERS:
            called.members.append(node)
        if labels and called.witness is None:
            called.witness = node
    for label in labels:
        called.languages[label.language or ""] += 1
        if len(called.names) < _USAGE_SAMPLES:
            called.names.append(label)


def _class_use(called: _Called) -> ClassUse:
    members = tuple(sorted(called.members, key=str)) if len(called.members) <= _MEMBERS else ()
    return ClassUse(
        names=tuple(called.names),
        witness=called.witness,
        languages=tuple(called.languages.most_common()),
        aliased=called.aliased,
        members=members,
    )


def named(term: object, facts: GraphFacts) -> str:
    """What a thing is called, for showing an example: a label, else the words of its IRI."""
    labels = facts.labels.get(term)
    if labels:
        return labels[0].value[:_LONG]
    text = str(term).strip("<>")
    return words_of_iri(text)[:_LONG] or local_name(text)[:_LONG]


def names_things(predicate: NamedNode) -> bool:
    """Whether a property is called a code, number or identifier, so that its digits are no amount."""
    last = words_of_iri(predicate.value).split()[-1:]
    return bool(last) and last[0] in lexicon.word_set("usage.codes")


def declared(schema: SchemaView, ontology: Ontology, predicate: NamedNode) -> tuple[str, ...]:
    """What the ontology says of a property that the data alone does not: functional, transitive, its inverse."""
    term, axioms = schema.properties[predicate], ontology.properties.get(predicate)
    said = []
    if axioms is not None and axioms.functional:
        said.append("functional")
    if term.transitive:
        said.append("transitive")
    if term.symmetric:
        said.append("symmetric")
    return tuple(said)


# Ways between classes through properties that the data really uses.


@dataclass(frozen=True, slots=True)
class PathStep:
    """Following a property forwards, or ``back`` from object to subject, to things of ``types``."""

    predicate: NamedNode
    back: bool
    types: frozenset[NamedNode]
    share: float


class PathFinder:
    """Finds short paths; remembers what it found, so one lives as long as its schema view."""

    def __init__(self, schema: SchemaView) -> None:
        self.schema = schema
        self._steps: dict[frozenset[NamedNode], tuple[PathStep, ...]] = {}
        self._paths: dict[tuple[frozenset[NamedNode], frozenset[NamedNode]], tuple[tuple[PathStep, ...], ...]] = {}
        self.placing = frozenset(
            iri
            for iri, term in schema.properties.items()
            if term.is_object and (term.transitive or _places(term.words))
        )
        self.inward = frozenset(iri for iri in self.placing if _leads_inside(schema.properties[iri].words))

    def kinds(self, types: Iterable[NamedNode]) -> tuple[NamedNode, ...]:
        """The properties by which things are sorted into kinds that are themselves things of these classes."""
        wanted = self.covers(types)
        return tuple(iri for iri in self._kinds if wanted & set(self.schema.ranges(iri)))

    @cached_property
    def _kinds(self) -> tuple[NamedNode, ...]:
        return tuple(
            sorted(
                (i for i, t in self.schema.properties.items() if t.is_object and _sorts(t.words)), key=lambda i: i.value
            )
        )

    def covers(self, types: Iterable[NamedNode]) -> frozenset[NamedNode]:
        """The classes and all below them."""
        return frozenset(sub for iri in types for sub in self.schema.subclasses(iri))

    def compatible(self, first: frozenset[NamedNode], second: frozenset[NamedNode]) -> bool:
        """Whether something can be of one of the first and of one of the second classes; empty means anything."""
        return not first or not second or bool(self.covers(first) & self.covers(second))

    def steps(self, types: frozenset[NamedNode]) -> tuple[PathStep, ...]:
        """One step to other things from things of these classes."""
        known = self._steps.get(types)
        if known is None:
            known = self._steps[types] = tuple(self._found(types))
        return known

    def _found(self, types: frozenset[NamedNode]) -> Iterable[PathStep]:
        wanted = self.covers(types)
        for back in (False, True):
            targets: dict[NamedNode, dict[NamedNode, int]] = defaultdict(lambda: defaultdict(int))
            table = self.schema.incoming if back else self.schema.outgoing
            for edge in dict.fromkeys(edge for iri in wanted for edge in table.get(iri, ())):
                if not edge.literal:
                    targets[edge.predicate][edge.subject if back else edge.object] += edge.count
            for predicate, found in sorted(targets.items(), key=lambda item: item[0].value):
                total = sum(found.values())
                yield PathStep(predicate, back, self._onwards(predicate, frozenset(found), back=back), total)

    def _onwards(self, predicate: NamedNode, types: frozenset[NamedNode], *, back: bool) -> frozenset[NamedNode]:
        """The classes, and those that a transitive property leads to from things of these."""
        term = self.schema.properties.get(predicate)
        table = self.schema.incoming if back else self.schema.outgoing
        found, waiting = set(types), list(types) if term is not None and term.transitive else []
        while waiting:
            for edge in table.get(waiting.pop(), ()):
                there = edge.subject if back else edge.object
                if edge.predicate == predicate and not edge.literal and there not in found:
                    found.add(there)
                    waiting.append(there)
        return frozenset(found)

    def paths(
        self, start: frozenset[NamedNode], end: frozenset[NamedNode], longest: int = 2
    ) -> tuple[tuple[PathStep, ...], ...]:
        """The paths from things of some classes to things of others, shortest first; three steps if need be."""
        key = (start, end)
        known = self._paths.get(key)
        if known is None:
            found = self._search(start, end, longest) or self._search(start, end, longest + 1)
            known = self._paths[key] = tuple(found[:24])
        return known

    def _search(
        self, start: frozenset[NamedNode], end: frozenset[NamedNode], longest: int
    ) -> list[tuple[PathStep, ...]]:
        wanted = self.covers(end)
        found: list[tuple[PathStep, ...]] = []
        ways: list[tuple[PathStep, ...]] = [()]
        for _ in range(longest):
            grown = []
            for way in ways:
                for step in self.steps(way[-1].types if way else start):
                    if way and way[-1].predicate == step.predicate and way[-1].back != step.back:
                        continue
                    if self.covers(step.types) & wanted:
                        found.append((*way, step))
                    grown.append((*way, step))
            ways = grown[:400]
        return found


def _sorts(words: Iterable[Word]) -> bool:
    return any("~kind" in key for word in words for key, _ in keys(word.text))


def _leads_inside(words: Iterable[object]) -> bool:
    """Whether a property is called "in", "located in", 位于 and the like: it leads to what its subject lies in."""
    return any(lexicon.pattern("usage.inside", 0).search(getattr(word, "text", "").casefold()) for word in words)


def _places(words: Iterable[object]) -> bool:
    for word in words:
        text = getattr(word, "text", "")
        if any(key in (("~location",), ("~part",)) for key, _ in keys(text)) or text.casefold().startswith("in "):
            return True
    return False
