"""What there is to ask about: classes, properties and how the data really uses them, from ontology and data.

Everything comes from one pass over the default graph (`read_facts`), shared with the names. A graph without an
ontology has a view too: classes and properties are those that occur, their words those of their IRIs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pyoxigraph import Literal, NamedNode

from kgplatform.ontology import Ontology, Word, label_of
from kgplatform.questions.facts import GraphFacts
from kgplatform.text import has_han, singular
from kgplatform.vocab import (
    OWL,
    XSD,
    local_name,
    words_of_iri,
)

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
class Edge:
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
    edges: tuple[Edge, ...]
    below: Mapping[NamedNode, frozenset[NamedNode]] = field(default_factory=dict)

    def subclasses(self, iri: NamedNode) -> frozenset[NamedNode]:
        """The class and all below it."""
        return self.below.get(iri) or frozenset((iri,))

    def has_subclasses(self, iri: NamedNode) -> bool:
        """Whether instances of the class may be typed by another one only."""
        return len(self.subclasses(iri)) > 1

    @cached_property
    def outgoing(self) -> Mapping[NamedNode, tuple[Edge, ...]]:
        """The edges by class of the subject; those of its subclasses included."""
        return self._by_class(inward=False)

    @cached_property
    def incoming(self) -> Mapping[NamedNode, tuple[Edge, ...]]:
        """The edges between things by class of the object; those of its subclasses included."""
        return self._by_class(inward=True)

    def _by_class(self, *, inward: bool) -> Mapping[NamedNode, tuple[Edge, ...]]:
        exact: dict[NamedNode, list[Edge]] = defaultdict(list)
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
    def _by_predicate(self) -> Mapping[NamedNode, tuple[Edge, ...]]:
        found: dict[NamedNode, list[Edge]] = defaultdict(list)
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

    def label(self, iri: NamedNode, language: str = "en") -> str:
        """The words for a class or property in the language."""
        term = self.classes.get(iri) or self.properties.get(iri)
        return label_of(term.words if term else (), language, words_of_iri(iri.value))


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
        properties={iri: _property(iri, t, facts, ontology) for iri, t in sorted(tallies.items(), key=_by_iri)},
        edges=tuple(Edge(s, p, o, n, literal) for (s, p, o, literal), n in sorted(edges.items(), key=str)),
        below={iri: frozenset(s for s in ontology.subclasses(iri) if s in classes) | {iri} for iri in classes},
    )


def _by_iri(item: tuple[NamedNode, _Tally]) -> str:
    return item[0].value


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
