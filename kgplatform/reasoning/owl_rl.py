"""Rules of OWL 2 RL from an ontology's axioms, applied by DuckDB: each relation a table of numbers, each rule a join.

Evaluation is semi-naive (Abiteboul, Hull & Vianu, *Foundations of Databases*, 1995, §13.1): a row keeps the round in
which it came, and a rule is applied again only to what came since it last was. A transitive property is joined with
itself, so that its paths double in length from round to round.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import islice
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.errors import StoreError
from kgplatform.ontology.schema import Ontology
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.types import Term
from kgplatform.vocab import ALT_LABEL, CORE, LABEL, OWL, RDF, RDFS, SAME_AS, SKOS, TYPE, XSD

if TYPE_CHECKING:
    import duckdb


Pairs: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32]]
"""The subjects and the objects of as many statements."""


class Numbering:
    """A number for each term that was met, written as in N-Triples.

    Of what may be the subject of a conclusion, the number is positive; of literals and of the ontology's own terms,
    negative. So a join needs no look at the terms to know what is admitted.
    """

    def __init__(self, terms: Iterable[NamedNode]) -> None:
        """``terms`` are those of the ontology."""
        self._terms = frozenset(str(term).encode() for term in terms)
        self._numbers: dict[bytes, int] = {}
        self._texts: list[bytes] = [b""]

    def number(self, text: bytes) -> int:
        """The number of a term."""
        known = self._numbers.get(text)
        if known is not None:
            return known
        new = len(self._texts)
        if text[:1] != b"<" or text in self._terms:
            new = -new
        self._texts.append(text)
        self._numbers[text] = new
        return new

    def text(self, number: int) -> bytes:
        """The term of that number, as in N-Triples."""
        return self._texts[abs(number)]

    def pairs(self, triples: bytes) -> Pairs:
        """The subjects and objects of the triples, which are N-Triples text."""
        parts = [line.split(b" ", 2) for line in io.BytesIO(triples)]
        return _numbers(self.number(part[0]) for part in parts), _numbers(self.number(part[2][:-3]) for part in parts)

    def premises(self, triples: bytes, *, within: bytes = b"") -> Pairs:
        """Those of the triples that may be concluded from, as `Admission` says.

        Left out are those with a blank node or a triple as a part, and those about a term of the ontology; with
        ``within`` also those that relate a thing to itself, or to one whose IRI does not begin so.
        """
        subjects: list[int] = []
        objects: list[int] = []
        number = self.number
        for line in io.BytesIO(triples):
            subject, _, rest = line.split(b" ", 2)
            object_ = rest[:-3]  # less " .\n"
            if subject[:1] != b"<" or object_[:2] in (b"_:", b"<<"):
                continue
            if within and (subject == object_ or not (subject.startswith(within) and object_.startswith(within))):
                continue
            one = number(subject)
            if one > 0:
                subjects.append(one)
                objects.append(number(object_))
        return _numbers(subjects), _numbers(objects)


def _numbers(values: Iterable[int]) -> NDArray[np.int32]:
    return np.fromiter(values, dtype=np.int32)


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
        """True if the term stands for a structure (a class expression, a list, an inverse), not for itself."""
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
        """True if the term is a datatype rather than a class."""
        if term.value.startswith(XSD) or term.value in (f"{RDFS}Literal", f"{RDF}langString"):
            return True
        return NamedNode(f"{RDFS}Datatype") in self.named(term, TYPE.value)

    def is_set_aside(self, term: NamedNode) -> bool:
        """True if nothing is concluded from or about the term: bookkeeping, or true of everything."""
        return term in self._internal or term.value in _TRIVIAL or self.is_unnamed(term)

    def is_own(self, term: NamedNode) -> bool:
        """True if the ontology describes the term by words of its own; in one without words, every term counts."""
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


# Not every axiom makes rules. Bookkeeping terms (``core:internal``) are left alone. Terms that the ontology only refers
# to, such as schema.org's, get no conclusions unless asked for (``alignments``): the graph would say everything twice,
# in two vocabularies. They still count where they lead back to a term of the ontology.
Relation: TypeAlias = tuple[NamedNode, NamedNode | None]
"""A predicate; for ``rdf:type`` together with the class, since one class's rules have nothing to do with another's."""


class RuleKind(StrEnum):
    """What kind of axiom a rule comes from, with the rules of OWL 2 RL that it stands for, in order of application."""

    SUBPROPERTY = "subproperty"  # prp-spo1
    EQUIVALENT_PROPERTY = "equivalent property"  # prp-eqp1, prp-eqp2
    INVERSE = "inverse"  # prp-inv1, prp-inv2
    SYMMETRIC = "symmetric"  # prp-symp
    CHAIN = "chain"  # prp-spo2
    TRANSITIVE = "transitive"  # prp-trp
    SAME = "same"  # eq-sym, eq-trans, eq-rep-s, eq-rep-o
    DOMAIN = "domain"  # prp-dom
    RANGE = "range"  # prp-rng
    SUBCLASS = "subclass"  # cax-sco
    EQUIVALENT_CLASS = "equivalent class"  # cax-eqc1, cax-eqc2
    INTERSECTION = "intersection"  # cls-int1


@dataclass(frozen=True, slots=True)
class Atom:
    """A pattern: ``subject`` names a variable; ``object`` too, unless it is a class."""

    subject: str
    predicate: NamedNode
    object: str | NamedNode

    @property
    def relation(self) -> Relation:
        """What the atom looks into."""
        return (self.predicate, self.object if isinstance(self.object, NamedNode) else None)


@dataclass(frozen=True, slots=True)
class InferenceRule:
    """If all of ``body`` hold, so does ``head``; ``axiom`` is the statement of the ontology that says so."""

    kind: RuleKind
    body: tuple[Atom, ...]
    head: Atom
    axiom: Triple

    @property
    def order(self) -> tuple[int, str]:
        """Where the rule comes among others: the same on every machine."""
        return (list(RuleKind).index(self.kind), f"{self.head} {self.body}")


@dataclass(frozen=True)
class RuleSet:
    """The rules of an ontology; ``redundant`` follow from the others and only serve to explain.

    ``same`` are the rules of ``owl:sameAs``, needed only where the graph says of two things that they are one.
    """

    rules: tuple[InferenceRule, ...]
    same: tuple[InferenceRule, ...]
    redundant: tuple[InferenceRule, ...]
    terms: frozenset[NamedNode]
    axioms: Axioms

    def applied(self, *, same: bool) -> tuple[InferenceRule, ...]:
        """The rules to apply, those of ``owl:sameAs`` included or not."""
        return (*self.rules, *self.same) if same else self.rules

    @cached_property
    def digest(self) -> str:
        """A hash of all that conclusions depend on besides the data."""
        lines = [str(rule) for rule in (*self.rules, *self.same)] + sorted(term.value for term in self.terms)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def rules_of(triples: Iterable[Triple], *, domain_range: bool = False, alignments: bool = False) -> RuleSet:
    """The rules that follow from an ontology's triples.

    ``domain_range``: what has a property is of the property's domain. ``alignments``: conclude in foreign vocabularies.
    """
    axioms = Axioms(triples)
    found = [*_property_rules(axioms), *_class_rules(axioms)]
    if domain_range:
        found += _typing_rules(axioms)
    kept = _useful(dict.fromkeys(r for r in found if _says_something(r, axioms)), axioms, alignments=alignments)
    redundant = _redundant(kept)
    rules = sorted((rule for rule in kept if rule not in redundant), key=lambda rule: rule.order)
    return RuleSet(tuple(rules), tuple(_same_rules(axioms)), redundant, axioms.terms, axioms)


def _says_something(rule: InferenceRule, axioms: Axioms) -> bool:
    """True if the rule is about terms that count; properties that are said to be ``rdf:type`` itself do not."""
    atoms = (*rule.body, rule.head)
    if rule.head in rule.body or any(_is_reserved(atom) for atom in atoms):
        return False
    return not any(axioms.is_set_aside(atom.predicate) or axioms.is_set_aside(_term(atom)) for atom in atoms)


def _is_reserved(atom: Atom) -> bool:
    return atom.predicate == SAME_AS or (atom.predicate == TYPE and not isinstance(atom.object, NamedNode))


def _property_rules(axioms: Axioms) -> Iterator[InferenceRule]:
    for axiom in axioms.all(f"{RDFS}subPropertyOf"):
        yield from _implied(RuleKind.SUBPROPERTY, axiom, axioms)
    for axiom in axioms.all(f"{OWL}equivalentProperty"):
        yield from _implied(RuleKind.EQUIVALENT_PROPERTY, axiom, axioms)
        yield from _implied(RuleKind.EQUIVALENT_PROPERTY, axiom, axioms, backwards=True)
    for axiom in axioms.all(f"{OWL}inverseOf"):
        if isinstance(axiom.subject, NamedNode) and not axioms.is_unnamed(axiom.subject):
            first, second = Atom("x", axiom.subject, "y"), _atom(axioms, axiom.object, "y", "x")
            if second is not None:
                yield InferenceRule(RuleKind.INVERSE, (first,), second, axiom)
                yield InferenceRule(RuleKind.INVERSE, (second,), first, axiom)
    for term, axiom in axioms.typed(f"{OWL}SymmetricProperty"):
        yield InferenceRule(RuleKind.SYMMETRIC, (Atom("x", term, "y"),), Atom("y", term, "x"), axiom)
    for term, axiom in axioms.typed(f"{OWL}TransitiveProperty"):
        body = (Atom("x", term, "y"), Atom("y", term, "z"))
        yield InferenceRule(RuleKind.TRANSITIVE, body, Atom("x", term, "z"), axiom)
    for axiom in axioms.all(f"{OWL}propertyChainAxiom"):
        yield from _chain(axiom, axioms)


def _implied(kind: RuleKind, axiom: Triple, axioms: Axioms, *, backwards: bool = False) -> Iterator[InferenceRule]:
    below, above = _atom(axioms, axiom.subject, "x", "y"), _atom(axioms, axiom.object, "x", "y")
    if backwards:
        below, above = above, below
    if below is not None and above is not None:
        yield InferenceRule(kind, (below,), above, axiom)


def _chain(axiom: Triple, axioms: Axioms) -> Iterator[InferenceRule]:
    links = axioms.sequence(axiom.object)
    body = [_atom(axioms, link, f"x{i}", f"x{i + 1}") for i, link in enumerate(links)]
    head = _atom(axioms, axiom.subject, "x0", f"x{len(links)}")
    atoms = [atom for atom in body if atom is not None]
    if head is None or not atoms or len(atoms) < len(links):
        return
    step = all(atom.predicate == head.predicate for atom in atoms) and len(atoms) == 2
    yield InferenceRule(
        RuleKind.TRANSITIVE if step and atoms[0].subject == "x0" else RuleKind.CHAIN, tuple(atoms), head, axiom
    )


def _atom(axioms: Axioms, term: object, subject: str, object_: str) -> Atom | None:
    """The pattern of a property, turned round for ``[ owl:inverseOf P ]``; None: no property."""
    if not isinstance(term, NamedNode):
        return None
    if axioms.is_unnamed(term):
        turned = next(iter(axioms.named(term, f"{OWL}inverseOf")), None)
        return Atom(object_, turned, subject) if turned and not axioms.is_unnamed(turned) else None
    return Atom(subject, term, object_)


def _class_rules(axioms: Axioms) -> Iterator[InferenceRule]:
    for axiom in axioms.all(f"{RDFS}subClassOf"):
        if isinstance(axiom.subject, NamedNode) and not axioms.is_unnamed(axiom.subject):
            for above in axioms.implied_classes(axiom.object):
                yield _subclass(RuleKind.SUBCLASS, axiom.subject, above, axiom)
    for axiom in axioms.all(f"{OWL}equivalentClass"):
        for one, other in ((axiom.subject, axiom.object), (axiom.object, axiom.subject)):
            if isinstance(one, NamedNode) and not axioms.is_unnamed(one):
                yield from _equivalent(one, other, axiom, axioms)
    for operator in (f"{OWL}intersectionOf", f"{OWL}unionOf"):
        for axiom in axioms.all(operator):
            if isinstance(axiom.subject, NamedNode) and not axioms.is_unnamed(axiom.subject):
                yield from _equivalent(axiom.subject, axiom.subject, axiom, axioms)


def _equivalent(one: NamedNode, other: object, axiom: Triple, axioms: Axioms) -> Iterator[InferenceRule]:
    """What follows from ``one`` being the same class as the class or expression ``other``."""
    for above in axioms.implied_classes(other):
        if above != one:
            yield _subclass(RuleKind.EQUIVALENT_CLASS, one, above, axiom)
    for below in axioms.implying_classes(other):
        if below != one:
            yield _subclass(RuleKind.EQUIVALENT_CLASS, below, one, axiom)
    members = axioms.members(other, f"{OWL}intersectionOf")
    if members and not any(axioms.is_unnamed(member) for member in members):
        body = tuple(Atom("x", TYPE, member) for member in members)
        yield InferenceRule(RuleKind.INTERSECTION, body, Atom("x", TYPE, one), axiom)


def _subclass(kind: RuleKind, below: NamedNode, above: NamedNode, axiom: Triple) -> InferenceRule:
    return InferenceRule(kind, (Atom("x", TYPE, below),), Atom("x", TYPE, above), axiom)


def _typing_rules(axioms: Axioms) -> Iterator[InferenceRule]:
    for name, kind, who in ((f"{RDFS}domain", RuleKind.DOMAIN, "x"), (f"{RDFS}range", RuleKind.RANGE, "y")):
        for axiom in axioms.all(name):
            if isinstance(axiom.subject, NamedNode) and not axioms.is_unnamed(axiom.subject):
                for class_ in axioms.implied_classes(axiom.object):
                    if not axioms.is_datatype(class_):
                        yield InferenceRule(kind, (Atom("x", axiom.subject, "y"),), Atom(who, TYPE, class_), axiom)


def _useful(rules: Iterable[InferenceRule], axioms: Axioms, *, alignments: bool) -> list[InferenceRule]:
    """The rules that conclude about the ontology's own terms, or about what such a conclusion needs."""
    waiting = list(rules)
    kept: list[InferenceRule] = []
    needed: set[Relation] = set()
    while True:
        wanted = [r for r in waiting if alignments or axioms.is_own(_term(r.head)) or r.head.relation in needed]
        if not wanted:
            return kept
        kept += wanted
        waiting = [rule for rule in waiting if rule not in wanted]
        needed |= {atom.relation for rule in wanted for atom in rule.body}


def _term(atom: Atom) -> NamedNode:
    return atom.object if isinstance(atom.object, NamedNode) else atom.predicate


def _redundant(rules: list[InferenceRule]) -> tuple[InferenceRule, ...]:
    """Transitivity of a property whose inverse is transitive as well: it follows, at twice the work."""
    transitive = {rule.head.predicate: rule for rule in rules if rule.kind is RuleKind.TRANSITIVE}
    turned = {(r.body[0].predicate, r.head.predicate) for r in rules if r.kind is RuleKind.INVERSE}
    dropped: list[InferenceRule] = []
    kept: set[NamedNode] = set()
    for name in sorted(transitive, key=lambda iri: iri.value, reverse=True):
        inverses = {other for one, other in turned if one == name and (other, name) in turned}
        if inverses & kept:
            dropped.append(transitive[name])
        else:
            kept.add(name)
    return tuple(dropped)


def _same_rules(axioms: Axioms) -> Iterator[InferenceRule]:
    """What holds of one name of a thing holds of its other names; labels and their like belong to the names."""
    same = Atom("x", SAME_AS, "w")
    why = Triple(SAME_AS, TYPE, NamedNode(f"{RDF}Property"))
    yield InferenceRule(RuleKind.SAME, (same,), Atom("w", SAME_AS, "x"), why)
    yield InferenceRule(RuleKind.SAME, (same, Atom("w", SAME_AS, "z")), Atom("x", SAME_AS, "z"), why)
    for predicate in axioms.properties:
        if not axioms.is_set_aside(predicate):
            yield InferenceRule(RuleKind.SAME, (Atom("x", predicate, "y"), same), Atom("w", predicate, "y"), why)
            other = Atom("y", SAME_AS, "w")
            yield InferenceRule(RuleKind.SAME, (Atom("x", predicate, "y"), other), Atom("x", predicate, "w"), why)
    for class_ in axioms.classes:
        if not axioms.is_set_aside(class_):
            yield InferenceRule(RuleKind.SAME, (Atom("x", TYPE, class_), same), Atom("w", TYPE, class_), why)


# OWL 2 RL concludes ``false`` from two of these (cax-dw, prp-irp, prp-asyp), and from a functional property with two
# values that the values are the same thing (prp-fp, prp-ifp); in data read from texts such a pair is more likely one
# mistake than one thing.
@dataclass(frozen=True, slots=True)
class Contradiction:
    """What is wrong with ``subject``, and the statements that cannot hold together.

    ``kind`` is ``disjoint`` (of two classes that share nothing), ``functional`` (several values where there is one at
    most), ``inverse functional`` (several things where there is one at most), ``irreflexive``, ``asymmetric``, or
    ``limit``: ``subject`` is then a property whose conclusions were too many to be drawn, and the statement its axiom.
    """

    kind: str
    subject: NamedNode
    statements: tuple[Triple, ...]


def limit_of(rule: InferenceRule) -> Contradiction:
    """That the rule was left out, since it leads to more conclusions than are allowed."""
    return Contradiction("limit", rule.head.predicate, (rule.axiom,))


def findings(
    dataset: EvidenceDataset,
    ontology: Ontology,
    axioms: Axioms,
    *,
    changed: Iterable[Triple] | None = None,
    most: int = 1000,
) -> tuple[Contradiction, ...]:
    """What cannot be, at most ``most``; with ``changed`` only what these statements may have brought."""
    check = _Check(dataset, ontology, axioms)
    if changed is None:
        found: Iterator[Contradiction] = check.all()
    else:
        found = check.brought_by(changed)
    return tuple(islice(dict.fromkeys(islice(found, 10 * most)), most))


class _Check:
    """The axioms that forbid something, and the statements held against them."""

    def __init__(self, dataset: EvidenceDataset, ontology: Ontology, axioms: Axioms) -> None:
        self._store = dataset.store
        pairs = [tuple(sorted(pair, key=lambda iri: iri.value)) for pair in ontology.disjoint_pairs if len(pair) == 2]
        self._disjoint = sorted(pairs, key=str)
        self._functional = _typed(axioms, "FunctionalProperty")
        self._inverse_functional = _typed(axioms, "InverseFunctionalProperty")
        self._irreflexive = _typed(axioms, "IrreflexiveProperty")
        self._asymmetric = _typed(axioms, "AsymmetricProperty")
        self._apart = frozenset(class_ for pair in pairs for class_ in pair)
        singled = (self._functional, self._inverse_functional, self._irreflexive, self._asymmetric)
        self._forbidding = frozenset((TYPE, SAME_AS, *(predicate for some in singled for predicate in some)))

    def brought_by(self, triples: Iterable[Triple]) -> Iterator[Contradiction]:
        """What the statements, now that they hold, may have brought."""
        looked_at: dict[NamedNode, set[NamedNode]] = {}
        for triple in triples:
            predicate = triple.predicate
            if predicate == TYPE and triple.object not in self._apart:
                continue
            if predicate in self._forbidding and isinstance(triple.subject, NamedNode):
                looked_at.setdefault(triple.subject, set()).add(predicate)
            if predicate in self._inverse_functional and isinstance(triple.object, NamedNode):
                looked_at.setdefault(triple.object, set()).add(predicate)
        for subject, predicates in looked_at.items():
            yield from self.about(subject, frozenset(predicates))

    def all(self) -> Iterator[Contradiction]:
        peopled = {class_ for class_ in self._apart if self._has_instance(class_)}
        for one, other in self._disjoint:
            if one in peopled and other in peopled:
                yield from self._selected(f"SELECT ?x {{ ?x a {one} . ?x a {other} }}")
        for predicate in self._functional:
            yield from self._selected(f"SELECT DISTINCT ?x {{ ?x {predicate} ?a , ?b FILTER(!sameTerm(?a, ?b)) }}")
        for predicate in self._inverse_functional:
            pattern = f"?a {predicate} ?x . ?b {predicate} ?x"
            yield from self._selected(f"SELECT DISTINCT ?x {{ {pattern} FILTER(!sameTerm(?a, ?b)) }}")
        for predicate in self._irreflexive:
            yield from self._selected(f"SELECT ?x {{ ?x {predicate} ?x }}")
        for predicate in self._asymmetric:
            yield from self._selected(f"SELECT DISTINCT ?x {{ ?x {predicate} ?y . ?y {predicate} ?x }}")

    def _has_instance(self, class_: NamedNode) -> bool:
        return next(self._store.quads(None, TYPE, class_, DEFAULT_GRAPH), None) is not None

    def _selected(self, query: str) -> Iterator[Contradiction]:
        rows = self._store.query(query).rows
        for subject in sorted((row[0] for row in rows if isinstance(row[0], NamedNode)), key=lambda iri: iri.value):
            yield from self.about(subject)

    def about(self, subject: NamedNode, predicates: frozenset[NamedNode] | None = None) -> Iterator[Contradiction]:
        """What cannot be of one thing; with ``predicates`` only what these have to do with."""
        every = predicates is None or SAME_AS in predicates
        yield from self._types(subject) if every or TYPE in (predicates or ()) else ()

        def chosen(some: tuple[NamedNode, ...]) -> list[NamedNode]:
            return [predicate for predicate in some if every or predicate in (predicates or ())]

        for predicate in chosen(self._functional):
            values = _sorted(Triple(subject, predicate, term) for term in self._store.objects(subject, predicate))
            if len(values) > 1 and not self._all_same([value.object for value in values]):
                yield Contradiction("functional", subject, values)
        for predicate in chosen(self._inverse_functional):
            holders = _sorted(q.triple for q in self._store.quads(None, predicate, subject, DEFAULT_GRAPH))
            if len(holders) > 1 and not self._all_same([holder.subject for holder in holders]):
                yield Contradiction("inverse functional", subject, holders)
        yield from self._loops(subject, chosen(self._irreflexive), chosen(self._asymmetric))

    def _types(self, subject: NamedNode) -> Iterator[Contradiction]:
        types = frozenset(self._store.objects(subject, TYPE)) & self._apart
        for one, other in self._disjoint if len(types) > 1 else ():
            if one in types and other in types:
                yield Contradiction("disjoint", subject, (Triple(subject, TYPE, one), Triple(subject, TYPE, other)))

    def _loops(
        self, subject: NamedNode, irreflexive: list[NamedNode], asymmetric: list[NamedNode]
    ) -> Iterator[Contradiction]:
        for predicate in irreflexive:
            loop = Triple(subject, predicate, subject)
            if self._store.has(loop):
                yield Contradiction("irreflexive", subject, (loop,))
        for predicate in asymmetric:
            for term in self._store.objects(subject, predicate):
                if isinstance(term, NamedNode) and self._store.has(back := Triple(term, predicate, subject)):
                    yield Contradiction("asymmetric", subject, _sorted({Triple(subject, predicate, term), back}))

    def _all_same(self, terms: list[Term]) -> bool:
        first, *others = terms
        if not isinstance(first, NamedNode):
            return False
        return all(self._store.has(Triple(first, SAME_AS, other)) for other in others)


def _typed(axioms: Axioms, name: str) -> tuple[NamedNode, ...]:
    return tuple(term for term, _ in axioms.typed(f"{OWL}{name}") if not axioms.is_set_aside(term))


def _sorted(triples: Iterable[Triple]) -> tuple[Triple, ...]:
    return tuple(sorted(triples, key=str))


_SETTINGS = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "preserve_insertion_order": False,
}


@contextmanager
def new_tables() -> Iterator[Tables]:
    """Tables that are gone afterwards; what does not fit into memory goes into a temporary folder.

    Raises:
        StoreError: neither memory nor the temporary folder has room for the conclusions.
    """
    import duckdb  # most changes are too few to need it

    with TemporaryDirectory(prefix="kgplatform-") as folder:
        try:
            with duckdb.connect(config={**_SETTINGS, "temp_directory": folder}) as connection:
                yield Tables(connection)
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise StoreError(f"no conclusions were drawn, lower inference.max_statements: {reason}") from error


class Tables:
    """The premises and conclusions, a table for each relation."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._names: dict[Relation, str] = {}
        self._barred: set[Relation] = set()
        self._latest: dict[Relation, int] = {}
        self._seen: dict[InferenceRule, int] = {}
        self._round = 0

    def put(self, relation: Relation, premises: Pairs) -> None:
        """Makes the table of a relation."""
        name = self._names[relation] = f"r{len(self._names)}"
        self._make(name, premises)
        self._connection.execute(f"ALTER TABLE {name} ADD COLUMN round INTEGER DEFAULT 0")
        if len(premises[0]):
            self._latest[relation] = 0

    def bar(self, relation: Relation, pairs: Pairs) -> None:
        """Lets those never be concluded."""
        self._barred.add(relation)
        self._make(f"barred_{self._names[relation]}", pairs)

    def _make(self, name: str, pairs: Pairs) -> None:
        if not len(pairs[0]):
            self._connection.execute(f"CREATE TABLE {name} (s INTEGER, o INTEGER)")
            return
        self._connection.register("pairs", {"s": pairs[0], "o": pairs[1]})
        self._connection.execute(f"CREATE TABLE {name} AS SELECT s, o FROM pairs")
        self._connection.unregister("pairs")

    def is_due(self, rule: InferenceRule) -> bool:
        """True if something came that the rule has not been applied to."""
        since = self._seen.get(rule, -1)
        latest = [self._latest.get(atom.relation, -1) for atom in rule.body]
        return min(latest) >= 0 and max(latest) > since

    def apply(self, rule: InferenceRule, object_: int, *, most: int) -> int:
        """Applies the rule to what came since it last was; says how many conclusions are new, ``most`` + 1 at most.

        ``object_`` is the number of the head's class, if it has one.
        """
        since, self._seen[rule] = self._seen.get(rule, -1), self._round
        places: list[int | None] = [None]
        if since >= 0:
            places = [i for i, atom in enumerate(rule.body) if self._latest.get(atom.relation, -1) > since]
        joined = " UNION ALL ".join(self._join(rule, object_, place, since) for place in places)
        name = self._names[rule.head.relation]
        known = f"ANTI JOIN {name} USING (s, o)"
        if rule.head.relation in self._barred:
            known += f" ANTI JOIN barred_{name} USING (s, o)"
        admitted = "s > 0 AND s <> o" if rule.head.predicate == SAME_AS else "s > 0"
        distinct = f"(SELECT DISTINCT s, o FROM ({joined}) WHERE {admitted})"
        self._connection.execute(
            f"INSERT INTO {name} SELECT s, o, {self._round + 1} FROM {distinct} AS found {known} LIMIT {most + 1}"
        )
        row = self._connection.fetchone()
        count = int(row[0]) if row else 0
        if count:
            self._round += 1
            self._latest[rule.head.relation] = self._round
        return count

    def _join(self, rule: InferenceRule, object_: int, place: int | None, since: int) -> str:
        """The body as a join; at ``place`` only of what came since."""
        columns: dict[str, str] = {}
        conditions: list[str] = []
        for i, atom in enumerate(rule.body):
            for variable, column in _columns(atom, f"a{i}"):
                if variable in columns:
                    conditions.append(f"{columns[variable]} = {column}")
                columns.setdefault(variable, column)
        if place is not None:
            conditions.append(f"a{place}.round > {since}")
        tables = ", ".join(f"{self._names[atom.relation]} AS a{i}" for i, atom in enumerate(rule.body))
        head = rule.head
        value = columns[head.object] if isinstance(head.object, str) else str(object_)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT {columns[head.subject]} AS s, {value} AS o FROM {tables}{where}"

    def held_against(self, relation: Relation, held: Pairs) -> tuple[Pairs, Pairs, Pairs]:
        """The conclusions in a relation that are not held yet, those that are, and what is held but does not follow."""
        name = self._names[relation]
        drawn = f"SELECT s, o FROM {name} WHERE round > 0"
        nothing = held[0][:0], held[1][:0]
        if not len(held[0]):
            return self._pairs(drawn), nothing, nothing
        self._make("held", held)
        new = self._pairs(f"SELECT s, o FROM ({drawn}) ANTI JOIN held USING (s, o)")
        kept = self._pairs(f"SELECT s, o FROM held SEMI JOIN ({drawn}) AS drawn USING (s, o)")
        lost = self._pairs(f"SELECT s, o FROM held ANTI JOIN ({drawn}) AS drawn USING (s, o)")
        self._connection.execute("DROP TABLE held")
        return new, kept, lost

    def _pairs(self, query: str) -> Pairs:
        found = self._connection.execute(query).fetchnumpy()
        return found["s"], found["o"]


def _columns(atom: Atom, table: str) -> Iterator[tuple[str, str]]:
    """The variables of an atom with the columns that hold them."""
    yield atom.subject, f"{table}.s"
    if isinstance(atom.object, str):
        yield atom.object, f"{table}.o"
