"""What the statements, with their conclusions, say that cannot be: reported, never concluded from.

OWL 2 RL concludes ``false`` from two of these (cax-dw, prp-irp, prp-asyp), and from a functional property with two
values that the values are the same thing (prp-fp, prp-ifp); in data read from texts such a pair is more likely one
mistake than one thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from pyoxigraph import NamedNode, Triple

from kgplatform.dataset import EvidenceDataset
from kgplatform.inference.axioms import Axioms
from kgplatform.inference.rules import Rule
from kgplatform.ontology import Ontology
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.types import Term
from kgplatform.vocab import OWL, SAME_AS, TYPE


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with ``subject``, and the statements that cannot hold together.

    ``kind`` is ``disjoint`` (of two classes that share nothing), ``functional`` (several values where there is one at
    most), ``inverse functional`` (several things where there is one at most), ``irreflexive``, ``asymmetric``, or
    ``limit``: ``subject`` is then a property whose conclusions were too many to be drawn, and the statement its axiom.
    """

    kind: str
    subject: NamedNode
    statements: tuple[Triple, ...]


def limit_of(rule: Rule) -> Finding:
    """That the rule was left out, since it leads to more conclusions than are allowed."""
    return Finding("limit", rule.head.predicate, (rule.axiom,))


def findings(
    dataset: EvidenceDataset,
    ontology: Ontology,
    axioms: Axioms,
    *,
    changed: Iterable[Triple] | None = None,
    most: int = 1000,
) -> tuple[Finding, ...]:
    """What cannot be, at most ``most``; with ``changed`` only what these statements may have brought."""
    check = _Check(dataset, ontology, axioms)
    if changed is None:
        found: Iterator[Finding] = check.all()
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

    def brought_by(self, triples: Iterable[Triple]) -> Iterator[Finding]:
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

    def all(self) -> Iterator[Finding]:
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

    def _selected(self, query: str) -> Iterator[Finding]:
        rows = self._store.query(query).rows
        for subject in sorted((row[0] for row in rows if isinstance(row[0], NamedNode)), key=lambda iri: iri.value):
            yield from self.about(subject)

    def about(self, subject: NamedNode, predicates: frozenset[NamedNode] | None = None) -> Iterator[Finding]:
        """What cannot be of one thing; with ``predicates`` only what these have to do with."""
        every = predicates is None or SAME_AS in predicates
        yield from self._types(subject) if every or TYPE in (predicates or ()) else ()

        def chosen(some: tuple[NamedNode, ...]) -> list[NamedNode]:
            return [predicate for predicate in some if every or predicate in (predicates or ())]

        for predicate in chosen(self._functional):
            values = _sorted(Triple(subject, predicate, term) for term in self._store.objects(subject, predicate))
            if len(values) > 1 and not self._all_same([value.object for value in values]):
                yield Finding("functional", subject, values)
        for predicate in chosen(self._inverse_functional):
            holders = _sorted(q.triple for q in self._store.quads(None, predicate, subject, DEFAULT_GRAPH))
            if len(holders) > 1 and not self._all_same([holder.subject for holder in holders]):
                yield Finding("inverse functional", subject, holders)
        yield from self._loops(subject, chosen(self._irreflexive), chosen(self._asymmetric))

    def _types(self, subject: NamedNode) -> Iterator[Finding]:
        types = frozenset(self._store.objects(subject, TYPE)) & self._apart
        for one, other in self._disjoint if len(types) > 1 else ():
            if one in types and other in types:
                yield Finding("disjoint", subject, (Triple(subject, TYPE, one), Triple(subject, TYPE, other)))

    def _loops(
        self, subject: NamedNode, irreflexive: list[NamedNode], asymmetric: list[NamedNode]
    ) -> Iterator[Finding]:
        for predicate in irreflexive:
            loop = Triple(subject, predicate, subject)
            if self._store.has(loop):
                yield Finding("irreflexive", subject, (loop,))
        for predicate in asymmetric:
            for term in self._store.objects(subject, predicate):
                if isinstance(term, NamedNode) and self._store.has(back := Triple(term, predicate, subject)):
                    yield Finding("asymmetric", subject, _sorted({Triple(subject, predicate, term), back}))

    def _all_same(self, terms: list[Term]) -> bool:
        first, *others = terms
        if not isinstance(first, NamedNode):
            return False
        return all(self._store.has(Triple(first, SAME_AS, other)) for other in others)


def _typed(axioms: Axioms, name: str) -> tuple[NamedNode, ...]:
    return tuple(term for term, _ in axioms.typed(f"{OWL}{name}") if not axioms.is_set_aside(term))


def _sorted(triples: Iterable[Triple]) -> tuple[Triple, ...]:
    return tuple(sorted(triples, key=str))
