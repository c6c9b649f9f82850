"""All conclusions anew: the premises as numbers in tables, the rules as joins, nothing but text in and out.

The rules are put into strata (what feeds into each other is applied together, what only reads it comes after), and
within a stratum are applied until none of them has anything new to read. Terms are never made into objects: the store
writes its statements as N-Triples and reads the conclusions as N-Quads, and between the two DuckDB
(`kgplatform.inference.tables`) joins numbers. Oxigraph's own property paths were measured to take twenty times as long
at a million statements, and to get lost in a relation that is closed already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter

import numpy as np
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple

from kgplatform.dataset import EvidenceDataset
from kgplatform.inference.findings import Finding, limit_of
from kgplatform.inference.numbering import Numbering, Pairs
from kgplatform.inference.rules import Relation, Rule
from kgplatform.inference.tables import Tables, new_tables
from kgplatform.inference.view import Admission
from kgplatform.store import parse
from kgplatform.vocab import SAME_AS, TYPE

_BATCH = 20_000


@dataclass(frozen=True, slots=True)
class Drawn:
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
    drawn: tuple[Drawn, ...]
    unknown: tuple[Triple, ...] = ()
    left_out: tuple[Rule, ...] = ()

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
    def findings(self) -> tuple[Finding, ...]:
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

    def __init__(self, rule: Rule) -> None:
        super().__init__(str(rule))
        self.rule = rule


def concluded(dataset: EvidenceDataset, rules: Iterable[Rule], admission: Admission, *, most: int) -> Conclusions:
    """Everything that follows from the statements of the default graph that do not rest on inference themselves.

    A rule by which there would be more than ``most`` conclusions is left out, and the rest begins anew.

    Raises:
        StoreError: there is no room for them.
    """
    listed = list(rules)
    left_out: list[Rule] = []
    read = _Reading(dataset, listed, admission)
    while True:
        try:
            with new_tables() as tables:
                drawn = _saturated(tables, read, listed, most)
            return Conclusions(read.numbering, drawn, read.unknown, tuple(left_out))
        except _OverrunError as error:
            listed.remove(error.rule)
            left_out.append(error.rule)


class _Reading:
    """What the store holds in the relations that the rules mention, as numbers."""

    def __init__(self, dataset: EvidenceDataset, rules: list[Rule], admission: Admission) -> None:
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


def _saturated(tables: Tables, read: _Reading, rules: list[Rule], most: int) -> tuple[Drawn, ...]:
    """All conclusions of the rules, held against what there was.

    Raises:
        _OverrunError: a rule leads to too many.
    """
    for relation, premises in read.premises.items():
        tables.put(relation, premises)
    for relation, rejected in read.rejected.items():
        tables.bar(relation, rejected)
    left = most
    for stratum in strata(rules):
        waiting = True
        while waiting:
            waiting = False
            for rule in stratum:
                while tables.is_due(rule):
                    left -= _applied(tables, rule, read.numbering, left)
                    waiting = True
    nothing = np.array([], dtype=np.int32)
    return tuple(
        Drawn(relation, *tables.held_against(relation, read.held.get(relation, (nothing, nothing))))
        for relation in read.premises
    )


def _applied(tables: Tables, rule: Rule, numbering: Numbering, most: int) -> int:
    class_ = rule.head.object
    number = numbering.number(str(class_).encode()) if isinstance(class_, NamedNode) else 0
    count = tables.apply(rule, number, most=most)
    if count > most:
        raise _OverrunError(rule)
    return count


def strata(rules: Iterable[Rule]) -> list[list[Rule]]:
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
