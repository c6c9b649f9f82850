"""Rules from axioms: each over named predicates and classes, put in an order in which they can be applied.

Not every axiom makes rules. Bookkeeping terms (``core:internal``) are left alone. Terms that the ontology only refers
to, such as schema.org's, get no conclusions unless asked for (``alignments``): the graph would say everything twice,
in two vocabularies. They still count where they lead back to a term of the ontology.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TypeAlias

from pyoxigraph import NamedNode, Triple

from kgplatform.inference.axioms import Axioms
from kgplatform.vocab import OWL, RDF, RDFS, SAME_AS, TYPE

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
class Rule:
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

    rules: tuple[Rule, ...]
    same: tuple[Rule, ...]
    redundant: tuple[Rule, ...]
    terms: frozenset[NamedNode]
    axioms: Axioms

    def applied(self, *, same: bool) -> tuple[Rule, ...]:
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


def _says_something(rule: Rule, axioms: Axioms) -> bool:
    """Whether the rule is about terms that count; properties that are said to be ``rdf:type`` itself do not."""
    atoms = (*rule.body, rule.head)
    if rule.head in rule.body or any(_is_reserved(atom) for atom in atoms):
        return False
    return not any(axioms.is_set_aside(atom.predicate) or axioms.is_set_aside(_term(atom)) for atom in atoms)


def _is_reserved(atom: Atom) -> bool:
    return atom.predicate == SAME_AS or (atom.predicate == TYPE and not isinstance(atom.object, NamedNode))


def _property_rules(axioms: Axioms) -> Iterator[Rule]:
    for axiom in axioms.all(f"{RDFS}subPropertyOf"):
        yield from _implied(RuleKind.SUBPROPERTY, axiom, axioms)
    for axiom in axioms.all(f"{OWL}equivalentProperty"):
        yield from _implied(RuleKind.EQUIVALENT_PROPERTY, axiom, axioms)
        yield from _implied(RuleKind.EQUIVALENT_PROPERTY, axiom, axioms, backwards=True)
    for axiom in axioms.all(f"{OWL}inverseOf"):
        if isinstance(axiom.subject, NamedNode) and not axioms.is_unnamed(axiom.subject):
            first, second = Atom("x", axiom.subject, "y"), _atom(axioms, axiom.object, "y", "x")
            if second is not None:
                yield Rule(RuleKind.INVERSE, (first,), second, axiom)
                yield Rule(RuleKind.INVERSE, (second,), first, axiom)
    for term, axiom in axioms.typed(f"{OWL}SymmetricProperty"):
        yield Rule(RuleKind.SYMMETRIC, (Atom("x", term, "y"),), Atom("y", term, "x"), axiom)
    for term, axiom in axioms.typed(f"{OWL}TransitiveProperty"):
        body = (Atom("x", term, "y"), Atom("y", term, "z"))
        yield Rule(RuleKind.TRANSITIVE, body, Atom("x", term, "z"), axiom)
    for axiom in axioms.all(f"{OWL}propertyChainAxiom"):
        yield from _chain(axiom, axioms)


def _implied(kind: RuleKind, axiom: Triple, axioms: Axioms, *, backwards: bool = False) -> Iterator[Rule]:
    below, above = _atom(axioms, axiom.subject, "x", "y"), _atom(axioms, axiom.object, "x", "y")
    if backwards:
        below, above = above, below
    if below is not None and above is not None:
        yield Rule(kind, (below,), above, axiom)


def _chain(axiom: Triple, axioms: Axioms) -> Iterator[Rule]:
    links = axioms.sequence(axiom.object)
    body = [_atom(axioms, link, f"x{i}", f"x{i + 1}") for i, link in enumerate(links)]
    head = _atom(axioms, axiom.subject, "x0", f"x{len(links)}")
    atoms = [atom for atom in body if atom is not None]
    if head is None or not atoms or len(atoms) < len(links):
        return
    step = all(atom.predicate == head.predicate for atom in atoms) and len(atoms) == 2
    yield Rule(RuleKind.TRANSITIVE if step and atoms[0].subject == "x0" else RuleKind.CHAIN, tuple(atoms), head, axiom)


def _atom(axioms: Axioms, term: object, subject: str, object_: str) -> Atom | None:
    """The pattern of a property, turned round for ``[ owl:inverseOf P ]``; None: no property."""
    if not isinstance(term, NamedNode):
        return None
    if axioms.is_unnamed(term):
        turned = next(iter(axioms.named(term, f"{OWL}inverseOf")), None)
        return Atom(object_, turned, subject) if turned and not axioms.is_unnamed(turned) else None
    return Atom(subject, term, object_)


def _class_rules(axioms: Axioms) -> Iterator[Rule]:
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


def _equivalent(one: NamedNode, other: object, axiom: Triple, axioms: Axioms) -> Iterator[Rule]:
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
        yield Rule(RuleKind.INTERSECTION, body, Atom("x", TYPE, one), axiom)


def _subclass(kind: RuleKind, below: NamedNode, above: NamedNode, axiom: Triple) -> Rule:
    return Rule(kind, (Atom("x", TYPE, below),), Atom("x", TYPE, above), axiom)


def _typing_rules(axioms: Axioms) -> Iterator[Rule]:
    for name, kind, who in ((f"{RDFS}domain", RuleKind.DOMAIN, "x"), (f"{RDFS}range", RuleKind.RANGE, "y")):
        for axiom in axioms.all(name):
            if isinstance(axiom.subject, NamedNode) and not axioms.is_unnamed(axiom.subject):
                for class_ in axioms.implied_classes(axiom.object):
                    if not axioms.is_datatype(class_):
                        yield Rule(kind, (Atom("x", axiom.subject, "y"),), Atom(who, TYPE, class_), axiom)


def _useful(rules: Iterable[Rule], axioms: Axioms, *, alignments: bool) -> list[Rule]:
    """The rules that conclude about the ontology's own terms, or about what such a conclusion needs."""
    waiting = list(rules)
    kept: list[Rule] = []
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


def _redundant(rules: list[Rule]) -> tuple[Rule, ...]:
    """Transitivity of a property whose inverse is transitive as well: it follows, at twice the work."""
    transitive = {rule.head.predicate: rule for rule in rules if rule.kind is RuleKind.TRANSITIVE}
    turned = {(r.body[0].predicate, r.head.predicate) for r in rules if r.kind is RuleKind.INVERSE}
    dropped: list[Rule] = []
    kept: set[NamedNode] = set()
    for name in sorted(transitive, key=lambda iri: iri.value, reverse=True):
        inverses = {other for one, other in turned if one == name and (other, name) in turned}
        if inverses & kept:
            dropped.append(transitive[name])
        else:
            kept.add(name)
    return tuple(dropped)


def _same_rules(axioms: Axioms) -> Iterator[Rule]:
    """What holds of one name of a thing holds of its other names; labels and their like belong to the names."""
    same = Atom("x", SAME_AS, "w")
    why = Triple(SAME_AS, TYPE, NamedNode(f"{RDF}Property"))
    yield Rule(RuleKind.SAME, (same,), Atom("w", SAME_AS, "x"), why)
    yield Rule(RuleKind.SAME, (same, Atom("w", SAME_AS, "z")), Atom("x", SAME_AS, "z"), why)
    for predicate in axioms.properties:
        if not axioms.is_set_aside(predicate):
            yield Rule(RuleKind.SAME, (Atom("x", predicate, "y"), same), Atom("w", predicate, "y"), why)
            other = Atom("y", SAME_AS, "w")
            yield Rule(RuleKind.SAME, (Atom("x", predicate, "y"), other), Atom("x", predicate, "w"), why)
    for class_ in axioms.classes:
        if not axioms.is_set_aside(class_):
            yield Rule(RuleKind.SAME, (Atom("x", TYPE, class_), same), Atom("w", TYPE, class_), why)
