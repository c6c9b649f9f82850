"""Conclusions: all anew by joins over numbers, or in line with statements that came and went by what hangs on them.

The second is delete and rederive (Gupta, Mumick & Subrahmanian, *Maintaining views incrementally*, SIGMOD 1993): what
may rest on something that is gone is taken away first, however many other reasons there are for it; then what still
follows from the rest in one step comes back, and with it, and with what is new, everything that follows from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import chain, islice
from typing import TypeAlias

import numpy as np
from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, Triple

from kgplatform.reasoning.owl_rl import (
    Atom,
    Contradiction,
    InferenceRule,
    Numbering,
    Pairs,
    Relation,
    Tables,
    limit_of,
    new_tables,
)
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH, parse
from kgplatform.types import Progress, Term
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
        """True if the statement may be concluded from."""
        subject, object_ = item.subject, item.object
        if not isinstance(subject, NamedNode) or subject in self.terms:
            return False
        if item.predicate == SAME_AS:
            own = isinstance(object_, NamedNode) and object_.value.startswith(self._base)
            return own and subject != object_ and subject.value.startswith(self._base)
        return isinstance(object_, NamedNode | Literal)

    def as_conclusion(self, item: Triple) -> bool:
        """True if the statement may be concluded: an admitted premise that nobody rejected."""
        store, rejected = self._dataset.store, self._dataset.rejected
        return self.as_premise(item) and not (self._any_rejected() and store.has(item, rejected))

    def _any_rejected(self) -> bool:
        """True if anything was; looked up once for each state of the store."""
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
        """True if the statement holds."""
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
    return Triple(subject, atom.predicate, atom.object if isinstance(atom.object, NamedNode) else binding[atom.object])


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


def by_premise(rules: Iterable[InferenceRule]) -> dict[Relation, list[tuple[InferenceRule, Atom]]]:
    """For each relation the rules that look into it, with the atom that does."""
    found: dict[Relation, list[tuple[InferenceRule, Atom]]] = {}
    for rule in rules:
        for atom in rule.body:
            found.setdefault(atom.relation, []).append((rule, atom))
    return found


def by_conclusion(rules: Iterable[InferenceRule]) -> dict[Relation, list[InferenceRule]]:
    """For each relation the rules that conclude it."""
    found: dict[Relation, list[InferenceRule]] = {}
    for rule in rules:
        found.setdefault(rule.head.relation, []).append(rule)
    return found


# The rules are put into strata (what feeds into each other is applied together, what only reads it comes after), and
# within a stratum are applied until none of them has anything new to read. Terms are never made into objects: the store
# writes its statements as N-Triples and reads the conclusions as N-Quads, and between the two DuckDB
# (`kgplatform.reasoning.owl_rl`) joins numbers. Oxigraph's own property paths were measured to take twenty times as
# long at a million statements, and to get lost in a relation that is closed already.
_BATCH = 20_000


@dataclass(frozen=True, slots=True)
class RelationConclusions:
    """The conclusions in one relation: those that are new, those held before, and those that no longer follow."""

    relation: Relation
    new: Pairs
    kept: Pairs
    lost: Pairs


@dataclass(frozen=True, slots=True)
class Conclusions:
    """What follows, held against what ``graph/inferred`` holds, and the rules that led to more than is allowed.

    ``unknown`` is what the graph holds in relations that no rule knows.
    """

    numbering: Numbering
    drawn: tuple[RelationConclusions, ...]
    unknown: tuple[Triple, ...] = ()
    left_out: tuple[InferenceRule, ...] = ()

    @property
    def total(self) -> int:
        """How many conclusions there are."""
        return self.gained + sum(len(part.kept[0]) for part in self.drawn)

    @property
    def gained(self) -> int:
        """How many of them the graph does not hold yet."""
        return sum(len(part.new[0]) for part in self.drawn)

    def lost(self) -> list[Triple]:
        """What the graph holds although it does not follow (any longer)."""
        lines = (line for part in self.drawn for line in self._written(part.relation, part.lost))
        return [*_triples(lines), *self.unknown]

    def triples(self) -> frozenset[Triple]:
        """All conclusions; meant for few."""
        pairs = ((part.relation, some) for part in self.drawn for some in (part.new, part.kept))
        return frozenset(_triples(line for relation, some in pairs for line in self._written(relation, some)))

    @property
    def findings(self) -> tuple[Contradiction, ...]:
        """The rules left out, as findings."""
        return tuple(limit_of(rule) for rule in self.left_out)

    def batches(self) -> Iterator[list[bytes]]:
        """What the graph is to gain, each statement as N-Triples has it, without the full stop."""
        for part in self.drawn:
            for start in range(0, len(part.new[0]), _BATCH):
                some = part.new[0][start : start + _BATCH], part.new[1][start : start + _BATCH]
                yield self._written(part.relation, some)

    def _written(self, relation: Relation, pairs: Pairs) -> list[bytes]:
        text, predicate = self.numbering.text, str(relation[0]).encode()
        both = zip(pairs[0].tolist(), pairs[1].tolist(), strict=True)
        return [b"%b %b %b" % (text(one), predicate, text(other)) for one, other in both]


def _triples(lines: Iterable[bytes]) -> list[Triple]:
    text = b"".join(line + b" .\n" for line in lines)
    return [item.triple for item in parse(text, RdfFormat.N_TRIPLES)]


class _OverrunError(Exception):
    """A rule led to more conclusions than are allowed."""

    def __init__(self, rule: InferenceRule) -> None:
        super().__init__(str(rule))
        self.rule = rule


def concluded(
    dataset: EvidenceDataset,
    rules: Iterable[InferenceRule],
    admission: Admission,
    *,
    most: int,
    progress: Progress | None = None,
) -> Conclusions:
    """Everything that follows from the statements of the default graph that do not rest on inference themselves.

    A rule by which there would be more than ``most`` conclusions is left out, and the rest begins anew.

    Raises:
        StoreError: there is no room for them.
    """
    listed = list(rules)
    left_out: list[InferenceRule] = []
    read = _Reading(dataset, listed, admission)
    while True:
        try:
            with new_tables() as tables:
                drawn = _saturated(tables, read, listed, most, progress)
            return Conclusions(read.numbering, drawn, read.unknown, tuple(left_out))
        except _OverrunError as error:
            listed.remove(error.rule)
            left_out.append(error.rule)


class _Reading:
    """What the store holds in the relations that the rules mention, as numbers."""

    def __init__(self, dataset: EvidenceDataset, rules: list[InferenceRule], admission: Admission) -> None:
        self.numbering = Numbering(admission.terms)
        self._dataset = dataset
        self._within = f"<{dataset.base}".encode()
        self._holds = next(dataset.store.quads(graph=dataset.inferred), None) is not None
        relations = dict.fromkeys(atom.relation for rule in rules for atom in (*rule.body, rule.head))
        self.premises = {relation: self._premises(relation) for relation in relations}
        self.held = {relation: self._in(dataset.inferred, relation) for relation in relations} if self._holds else {}
        struck = {item.predicate for item in dataset.store.quads(graph=dataset.rejected)}
        self.rejected = {r: self._in(dataset.rejected, r) for r in relations if r[0] in struck}
        self.unknown = self._unknown() if self._holds else ()

    def _premises(self, relation: Relation) -> Pairs:
        """The statements of the default graph, those left out that hold by inference alone."""
        pattern = _pattern(relation)
        if not self._holds:
            return self._admitted(relation, pattern)
        inferred = f"GRAPH {self._dataset.inferred} {{ {pattern} }}"
        apart = self._admitted(relation, f"{pattern} FILTER NOT EXISTS {{ {inferred} }}")
        found = self._dataset.store.query(
            f"SELECT DISTINCT ?s ?o {{ {inferred} GRAPH ?g {{ {pattern} }} FILTER(?g != {self._dataset.inferred}) }}"
        )
        triples = [_triple(relation, row[0], row[1]) for row in found.rows]
        stated = [triple for triple in triples if self._dataset.is_stated(triple)]
        text = self._dataset.store.serialise(stated, RdfFormat.N_TRIPLES)
        again = self.numbering.premises(text, within=self._own(relation))
        return np.concatenate((apart[0], again[0])), np.concatenate((apart[1], again[1]))

    def _in(self, graph: NamedNode, relation: Relation) -> Pairs:
        return self.numbering.pairs(self._text(relation, f"GRAPH {graph} {{ {_pattern(relation)} }}"))

    def _admitted(self, relation: Relation, where: str) -> Pairs:
        return self.numbering.premises(self._text(relation, where), within=self._own(relation))

    def _text(self, relation: Relation, where: str) -> bytes:
        return self._dataset.store.lines(f"CONSTRUCT {{ {_pattern(relation)} }} WHERE {{ {where} }}")

    def _own(self, relation: Relation) -> bytes:
        """How the IRIs begin that may be said to be the same; see `Admission`."""
        return self._within if relation[0] == SAME_AS else b""

    def _unknown(self) -> tuple[Triple, ...]:
        """What ``graph/inferred`` holds in other relations than those of the rules."""
        predicates = sorted({str(predicate) for predicate, _ in self.premises})
        classes = sorted({str(class_) for _, class_ in self.premises if class_ is not None})
        other = f"?p NOT IN ({', '.join(predicates)})" if predicates else "true"
        if classes:
            other += f" || (?p = {TYPE} && ?o NOT IN ({', '.join(classes)}))"
        query = f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH {self._dataset.inferred} {{ ?s ?p ?o FILTER({other}) }} }}"
        return tuple(self._dataset.store.construct(query))


def _pattern(relation: Relation) -> str:
    return f"?s {relation[0]} {relation[1] or '?o'}"


def _triple(relation: Relation, subject: object, object_: object) -> Triple:
    assert isinstance(subject, NamedNode)
    value = relation[1] or object_
    assert isinstance(value, NamedNode | Literal)
    return Triple(subject, relation[0], value)


def _saturated(
    tables: Tables, read: _Reading, rules: list[InferenceRule], most: int, progress: Progress | None
) -> tuple[RelationConclusions, ...]:
    """All conclusions of the rules, held against what there was.

    Raises:
        _OverrunError: a rule leads to too many.
    """
    for relation, premises in read.premises.items():
        tables.put(relation, premises)
    for relation, rejected in read.rejected.items():
        tables.bar(relation, rejected)
    left = most
    groups = strata(rules)
    for number, stratum in enumerate(groups, start=1):
        if progress is not None:
            progress(number, len(groups), "infer")
        waiting = True
        while waiting:
            waiting = False
            for rule in stratum:
                while tables.is_due(rule):
                    left -= _applied(tables, rule, read.numbering, left)
                    waiting = True
    nothing = np.array([], dtype=np.int32)
    return tuple(
        RelationConclusions(relation, *tables.held_against(relation, read.held.get(relation, (nothing, nothing))))
        for relation in read.premises
    )


def _applied(tables: Tables, rule: InferenceRule, numbering: Numbering, most: int) -> int:
    class_ = rule.head.object
    number = numbering.number(str(class_).encode()) if isinstance(class_, NamedNode) else 0
    count = tables.apply(rule, number, most=most)
    if count > most:
        raise _OverrunError(rule)
    return count


def strata(rules: Iterable[InferenceRule]) -> list[list[InferenceRule]]:
    """The rules in groups: no rule reads what a later group concludes. Within a group they keep their order."""
    listed = list(rules)
    follows: dict[Relation, set[Relation]] = {}
    for rule in listed:
        for atom in rule.body:
            follows.setdefault(atom.relation, set()).add(rule.head.relation)
    reached = {relation: _reached(relation, follows) for relation in follows}
    group = {
        relation: min(
            (other for other in {relation, *after} if other == relation or relation in reached.get(other, ())), key=str
        )
        for relation, after in reached.items()
    }
    home = {rule: group.get(rule.head.relation, rule.head.relation) for rule in listed}
    order: dict[Relation, set[Relation]] = {}
    for rule in listed:
        before = {group.get(atom.relation, atom.relation) for atom in rule.body}
        order.setdefault(home[rule], set()).update(before - {home[rule]})
    found = []
    for relation in TopologicalSorter(
        {k: sorted(v, key=str) for k, v in sorted(order.items(), key=str)}
    ).static_order():
        members = sorted((rule for rule in listed if home[rule] == relation), key=lambda rule: rule.order)
        if members:
            found.append(members)
    return found


def _reached(start: Relation, follows: dict[Relation, set[Relation]]) -> set[Relation]:
    seen: set[Relation] = set()
    waiting = [start]
    while waiting:
        for after in follows.get(waiting.pop(), ()):
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return seen


@dataclass(frozen=True, slots=True)
class ConclusionChange:
    """What ``graph/inferred`` is to gain and lose; ``stated`` are those of the lost that are stated now."""

    gained: tuple[Triple, ...]
    lost: tuple[Triple, ...]
    stated: frozenset[Triple] = frozenset()


class TooManyError(Exception):
    """More conclusions than were allowed; the caller begins from scratch, where the rule to blame is found."""


class _Changing:
    """One round of deleting and rederiving."""

    def __init__(
        self,
        dataset: EvidenceDataset,
        rules: Iterable[InferenceRule],
        admission: Admission,
        touched: Iterable[Triple],
        most: int,
    ) -> None:
        listed = tuple(rules)
        self._dataset = dataset
        self._inferred = dataset.inferred
        self._premises = by_premise(listed)
        self._conclusions = by_conclusion(listed)
        self._admission = admission
        self._most = most
        known = {t: dataset.is_stated(t) for t in touched if admission.as_premise(t)}
        self._stated = {t for t, is_stated in known.items() if is_stated}
        self._gone = dict.fromkeys(t for t, is_stated in known.items() if not is_stated)

    def revision(self) -> ConclusionChange:
        """What to change."""
        before = View(self._dataset, self._admission)
        view = before.sibling()
        doubtful = self._doubtful(before)
        view.removed = set(doubtful)
        back = [t for t in doubtful if self._admission.as_conclusion(t) and self._follows(t, view)]
        for triple in back:
            view.add(triple)
        self._follow([*back, *sorted(self._stated, key=str)], view)
        gained = [t for t in view.added if t not in doubtful or not self._was_inferred(t)]
        lost = [t for t in doubtful if t not in view.added and self._was_inferred(t)]
        stated = frozenset(t for t in self._stated if self._dataset.store.has(t, self._inferred))
        return ConclusionChange(tuple(gained), (*lost, *sorted(stated, key=str)), stated)

    def _was_inferred(self, triple: Triple) -> bool:
        """True if ``graph/inferred`` holds what is in doubt: of what is not gone, nothing else was doubted."""
        return triple not in self._gone or self._dataset.store.has(triple, self._inferred)

    def _doubtful(self, view: View) -> dict[Triple, None]:
        """What is gone, and every conclusion that something gone may have led to."""
        doubtful = dict(self._gone)
        for triple in self._gone:
            view.add(triple)
        waiting = list(doubtful)
        while waiting:
            for conclusion in self._from(waiting.pop(), view):
                if conclusion in doubtful or conclusion in self._stated:
                    continue
                if self._dataset.store.has(conclusion, self._inferred):
                    doubtful[conclusion] = None
                    waiting.append(conclusion)
        return doubtful

    def _follow(self, waiting: list[Triple], view: View) -> None:
        """Adds all that follows from the statements."""
        while waiting:
            for conclusion in list(self._from(waiting.pop(), view)):
                if not view.holds(conclusion) and self._admission.as_conclusion(conclusion):
                    view.add(conclusion)
                    waiting.append(conclusion)
                    if len(view.added) > self._most:
                        raise TooManyError

    def _from(self, triple: Triple, view: View) -> Iterator[Triple]:
        """The conclusions of one step in which the statement is a premise."""
        for rule, atom in self._premises.get(relation_of(triple), ()):
            binding = bound(atom, triple)
            if binding is None:
                continue
            rest = tuple(other for other in rule.body if other is not atom)
            for full, _ in solutions(rest, binding, view):
                conclusion = stated(rule.head, full)
                if conclusion is not None:
                    yield conclusion

    def _follows(self, triple: Triple, view: View) -> bool:
        """True if some rule concludes the statement in one step."""
        for rule in self._conclusions.get(relation_of(triple), ()):
            binding = bound(rule.head, triple)
            if binding is not None and next(solutions(rule.body, binding, view), None) is not None:
                return True
        return False


def changed(
    dataset: EvidenceDataset,
    rules: Iterable[InferenceRule],
    admission: Admission,
    touched: Iterable[Triple],
    *,
    most: int,
) -> ConclusionChange:
    """What ``graph/inferred`` gains and loses now that those statements came, went, were rejected or readmitted.

    Before they did, it must have been in line with the rest.

    Raises:
        TooManyError: there would be more than ``most`` new conclusions.
    """
    return _Changing(dataset, rules, admission, touched, most).revision()
