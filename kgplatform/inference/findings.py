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


def findings(
    dataset: EvidenceDataset,
    ontology: Ontology,
    axioms: Axioms,
    *,
    subjects: Iterable[NamedNode] | None = None,
    most: int = 1000,
) -> tuple[Finding, ...]:
    """What cannot be, at most ``most``; with ``subjects`` only what concerns these."""
    check = _Check(dataset, ontology, axioms)
    if subjects is None:
        found: Iterator[Finding] = check.all()
    else:
        found = (finding for subject in subjects for finding in check.about(subject))
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

    def all(self) -> Iterator[Finding]:
        for one, other in self._disjoint:
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

    def _selected(self, query: str) -> Iterator[Finding]:
        rows = self._store.query(query).rows
        for subject in sorted((row[0] for row in rows if isinstance(row[0], NamedNode)), key=lambda iri: iri.value):
            yield from self.about(subject)

    def about(self, subject: NamedNode) -> Iterator[Finding]:
        """What cannot be of one thing."""
        types = self._store.objects(subject, TYPE)
        for one, other in self._disjoint:
            if one in types and other in types:
                yield Finding("disjoint", subject, (Triple(subject, TYPE, one), Triple(subject, TYPE, other)))
        for predicate in self._functional:
            values = _sorted(Triple(subject, predicate, term) for term in self._store.objects(subject, predicate))
            if len(values) > 1 and not self._all_same([value.object for value in values]):
                yield Finding("functional", subject, values)
        for predicate in self._inverse_functional:
            holders = _sorted(q.triple for q in self._store.quads(None, predicate, subject, DEFAULT_GRAPH))
            if len(holders) > 1 and not self._all_same([holder.subject for holder in holders]):
                yield Finding("inverse functional", subject, holders)
        yield from self._loops(subject)

    def _loops(self, subject: NamedNode) -> Iterator[Finding]:
        for predicate in self._irreflexive:
            loop = Triple(subject, predicate, subject)
            if self._store.has(loop):
                yield Finding("irreflexive", subject, (loop,))
        for predicate in self._asymmetric:
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
