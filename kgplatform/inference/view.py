"""The statements that rules look at: the default graph with some added and some taken away, and patterns over them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TypeAlias

from pyoxigraph import Literal, NamedNode, Quad, Triple

from kgplatform.dataset import EvidenceDataset
from kgplatform.inference.rules import Atom, Relation, Rule
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.types import Term
from kgplatform.vocab import SAME_AS, TYPE

Binding: TypeAlias = dict[str, Term]

_FEW = 32


class Admission:
    """Which statements take part in inference: those about things with an IRI that are no terms of the ontology.

    Of two IRIs that are said to be the same, both must be the workspace's own: an external identity, such as an
    entry of another catalogue, would otherwise double everything that is known about a thing, and every count.
    """

    def __init__(self, dataset: EvidenceDataset, terms: frozenset[NamedNode]) -> None:
        self._dataset = dataset
        self.terms = terms
        self._base = dataset.base
        self._rejects: tuple[int, bool] | None = None

    def as_premise(self, item: Triple | Quad) -> bool:
        """Whether the statement may be concluded from."""
        subject, object_ = item.subject, item.object
        if not isinstance(subject, NamedNode) or subject in self.terms:
            return False
        if item.predicate == SAME_AS:
            return isinstance(object_, NamedNode) and subject != object_ and self._both_own(subject, object_)
        return isinstance(object_, NamedNode | Literal)

    def _both_own(self, one: NamedNode, other: NamedNode) -> bool:
        return one.value.startswith(self._base) and other.value.startswith(self._base)

    def as_conclusion(self, item: Triple) -> bool:
        """Whether the statement may be concluded: an admitted premise that nobody rejected."""
        return self.as_premise(item) and not (self._any_rejected() and self._is_rejected(item))

    def _is_rejected(self, item: Triple) -> bool:
        return self._dataset.store.has(item, self._dataset.rejected)

    def _any_rejected(self) -> bool:
        """Whether anything was; looked up once for each state of the store."""
        version = self._dataset.store.version
        if self._rejects is None or self._rejects[0] != version:
            first = next(self._dataset.store.quads(graph=self._dataset.rejected), None)
            self._rejects = (version, first is not None)
        return self._rejects[1]


class View:
    """The default graph less ``removed`` plus ``added``, as far as it is admitted.

    Nobody may write to the store meanwhile: short answers of it are kept, also for the view's `sibling`.
    """

    def __init__(self, dataset: EvidenceDataset, admission: Admission) -> None:
        self._dataset = dataset
        self._store = dataset.store
        self._admission = admission
        self._short: dict[tuple[NamedNode | None, NamedNode, Term | None], tuple[Triple, ...]] = {}
        self.removed: set[Triple] = set()
        self.added: dict[Triple, None] = {}
        self._by_subject: dict[tuple[Term, NamedNode], list[Triple]] = {}
        self._by_object: dict[tuple[Term, NamedNode], list[Triple]] = {}

    def sibling(self) -> View:
        """Another view of the same store, with nothing added or removed."""
        other = View(self._dataset, self._admission)
        other._short = self._short
        return other

    def add(self, triple: Triple) -> None:
        """Lets the statement hold."""
        self.removed.discard(triple)
        if triple not in self.added:
            self.added[triple] = None
            self._by_subject.setdefault((triple.subject, triple.predicate), []).append(triple)
            self._by_object.setdefault((triple.object, triple.predicate), []).append(triple)

    def holds(self, triple: Triple) -> bool:
        """Whether the statement holds."""
        if triple in self.added:
            return True
        return triple not in self.removed and self._store.has(triple)

    def match(self, subject: NamedNode | None, predicate: NamedNode, object_: Term | None) -> Iterator[Triple]:
        """The statements that fit; at least one of subject and object must be given."""
        if subject is not None and object_ is not None:
            triple = Triple(subject, predicate, object_)
            if self.holds(triple) and self._admission.as_premise(triple):
                yield triple
            return
        if subject is not None:
            overlay = self._by_subject.get((subject, predicate), ())
        else:
            assert object_ is not None
            overlay = self._by_object.get((object_, predicate), ())
        yield from tuple(overlay)
        for triple in self._stored(subject, predicate, object_):
            if triple not in self.removed and triple not in self.added:
                yield triple

    def _stored(self, subject: NamedNode | None, predicate: NamedNode, object_: Term | None) -> Iterable[Triple]:
        """What fits in the default graph, as far as it is admitted."""
        pattern = (subject, predicate, object_)
        short = self._short.get(pattern)
        if short is not None:
            return short
        found = (item.triple for item in self._store.quads(*pattern, DEFAULT_GRAPH))
        admitted = (triple for triple in found if self._admission.as_premise(triple))
        first = tuple(islice(admitted, _FEW))
        if len(first) == _FEW:
            return chain(first, admitted)
        self._short[pattern] = first
        return first


def relation_of(triple: Triple) -> Relation:
    """The relation that the statement is in."""
    if triple.predicate == TYPE and isinstance(triple.object, NamedNode):
        return (TYPE, triple.object)
    return (triple.predicate, None)


def bound(atom: Atom, triple: Triple) -> Binding | None:
    """What the variables of the atom stand for in the statement; None: it does not fit."""
    if isinstance(atom.object, NamedNode):
        return {atom.subject: triple.subject}
    if atom.subject == atom.object and triple.subject != triple.object:
        return None
    return {atom.subject: triple.subject, atom.object: triple.object}


def stated(atom: Atom, binding: Binding) -> Triple | None:
    """The atom as a statement; None: its subject would be a literal."""
    subject = binding[atom.subject]
    if not isinstance(subject, NamedNode):
        return None
    return Triple(subject, atom.predicate, _object(atom, binding))


def _object(atom: Atom, binding: Binding) -> Term:
    return atom.object if isinstance(atom.object, NamedNode) else binding[atom.object]


def solutions(atoms: tuple[Atom, ...], binding: Binding, view: View) -> Iterator[tuple[Binding, tuple[Triple, ...]]]:
    """The ways in which all atoms hold, with the statements in the order in which they were looked up."""
    if not atoms:
        yield binding, ()
        return
    atom, found = _narrowest(atoms, binding, view)
    rest = tuple(other for other in atoms if other is not atom)
    for triple in found:
        more = bound(atom, triple)
        if more is None or any(binding.get(name, term) != term for name, term in more.items()):
            continue
        for full, premises in solutions(rest, {**binding, **more}, view):
            yield full, (triple, *premises)


def _narrowest(atoms: tuple[Atom, ...], binding: Binding, view: View) -> tuple[Atom, Iterable[Triple]]:
    """The atom to look up next, with what fits it: one that few statements fit, if there is one."""
    if len(atoms) == 1:
        return atoms[0], _fitting(atoms[0], binding, view)
    joined = [atom for atom in atoms if atom.subject in binding or atom.object in binding]
    for atom in joined:
        found = list(islice(_fitting(atom, binding, view), _FEW))
        if len(found) < _FEW:
            return atom, found
    return joined[0], _fitting(joined[0], binding, view)


def _fitting(atom: Atom, binding: Binding, view: View) -> Iterator[Triple]:
    subject = binding.get(atom.subject)
    if subject is not None and not isinstance(subject, NamedNode):
        return iter(())
    object_ = atom.object if isinstance(atom.object, NamedNode) else binding.get(atom.object)
    return view.match(subject, atom.predicate, object_)


def by_premise(rules: Iterable[Rule]) -> dict[Relation, list[tuple[Rule, Atom]]]:
    """For each relation the rules that look into it, with the atom that does."""
    found: dict[Relation, list[tuple[Rule, Atom]]] = {}
    for rule in rules:
        for atom in rule.body:
            found.setdefault(atom.relation, []).append((rule, atom))
    return found


def by_conclusion(rules: Iterable[Rule]) -> dict[Relation, list[Rule]]:
    """For each relation the rules that conclude it."""
    found: dict[Relation, list[Rule]] = {}
    for rule in rules:
        found.setdefault(rule.head.relation, []).append(rule)
    return found
