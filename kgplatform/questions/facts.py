"""One pass over what is stated: who is of which class, who is called what, and every statement about things.

Conclusions (what only ``graph/inferred`` holds) are left out: how often a property is used, which direction of an
inverse pair the data prefers and how many things a class has are to be the same whether conclusions are drawn or not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.dataset import EvidenceDataset
from kgplatform.ontology import Ontology
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.text import normalise
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
    local_name,
    words_of_iri,
)

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
_KEY_WORDS = ("name", "code", "number", "identifier", "id", "uid", "编号", "代码", "号")
_NAME_WORDS = frozenset(("name", "title", "label", "名称", "名字", "标题", "fullname", "full name"))


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
