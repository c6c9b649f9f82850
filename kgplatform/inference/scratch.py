"""All conclusions anew: the rules as SPARQL over a copy of the statements that they look at, in memory.

The rules are put into strata (what feeds into each other is applied together, what only reads it comes after), and
within a stratum are applied until none of them has anything new to read. Each query names its predicates: one with a
variable for the predicate was measured to take hundreds of times as long. A transitive property is one property path
from each place that it starts at: the store follows such a path as rows are asked for, so that a limit holds, while
a path between two free variables is followed to its end first (72 s for a chain of 10,000, whatever the limit).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from graphlib import TopologicalSorter

from pyoxigraph import Quad, Triple

from kgplatform.dataset import EvidenceDataset
from kgplatform.inference.findings import Finding
from kgplatform.inference.rules import Atom, Relation, Rule, RuleKind
from kgplatform.inference.view import Admission
from kgplatform.store import DEFAULT_GRAPH, Store


@dataclass(frozen=True, slots=True)
class Conclusions:
    """What follows, and the rules that were left out because they led to more than is allowed."""

    triples: frozenset[Triple]
    left_out: tuple[Rule, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The rules left out, as findings."""
        return tuple(Finding("limit", rule.head.predicate, (rule.axiom,)) for rule in self.left_out)


class _OverrunError(Exception):
    """A rule led to more conclusions than are allowed."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(str(rule))
        self.rule = rule


def concluded(dataset: EvidenceDataset, rules: Iterable[Rule], admission: Admission, *, most: int) -> Conclusions:
    """Everything that follows from the statements of the default graph that do not rest on inference themselves.

    A rule by which there would be more than ``most`` conclusions is left out, and the rest begins anew.
    """
    listed = list(rules)
    left_out: list[Rule] = []
    premises = _premises(dataset, listed, admission)
    while True:
        try:
            return Conclusions(frozenset(_Scratch(premises, dataset, admission, most).run(listed)), tuple(left_out))
        except _OverrunError as error:
            listed.remove(error.rule)
            left_out.append(error.rule)


def _premises(dataset: EvidenceDataset, rules: Iterable[Rule], admission: Admission) -> list[Quad]:
    """The statements in the relations that the rules mention, those left out that hold by inference alone."""
    inferred = {item.triple for item in dataset.store.quads(graph=dataset.inferred)}
    relations = dict.fromkeys(atom.relation for rule in rules for atom in (*rule.body, rule.head))
    found: list[Quad] = []
    for predicate, class_ in relations:
        for item in dataset.store.quads(None, predicate, class_, DEFAULT_GRAPH):
            if admission.as_premise(item) and (item.triple not in inferred or dataset.is_stated(item.triple)):
                found.append(item)
    return found


class _Scratch:
    """A store of the premises, and the rules applied to it."""

    def __init__(self, premises: list[Quad], dataset: EvidenceDataset, admission: Admission, most: int) -> None:
        self._store = Store.open()
        self._store.apply(added=premises)
        self._admission = admission
        self._rejected = frozenset(item.triple for item in dataset.store.quads(graph=dataset.rejected))
        self._struck = frozenset(triple.predicate for triple in self._rejected)
        self._versions: dict[Relation, int] = {}
        self._most = most
        self._found: set[Triple] = set()

    def run(self, rules: list[Rule]) -> set[Triple]:
        """The conclusions of the rules.

        Raises:
            _OverrunError: a rule leads to too many.
        """
        for stratum in strata(rules):
            self._saturate(stratum)
        return self._found

    def _saturate(self, rules: list[Rule]) -> None:
        seen: dict[Rule, tuple[int, ...]] = {}
        waiting = True
        while waiting:
            waiting = False
            for rule in rules:
                if seen.get(rule) == self._reads(rule):
                    continue
                before = self._reads(rule)
                self._apply(rule)
                seen[rule] = self._reads(rule) if self._is_path(rule) else before
                waiting = True

    def _reads(self, rule: Rule) -> tuple[int, ...]:
        """How often what the rule looks at was added to."""
        return tuple(self._versions.get(atom.relation, 0) for atom in rule.body)

    def _is_path(self, rule: Rule) -> bool:
        """Whether the rule can be a property path; not if some statement was rejected that a step could rest on."""
        return rule.kind is RuleKind.TRANSITIVE and rule.head.predicate not in self._struck

    def _apply(self, rule: Rule) -> None:
        left = self._most - len(self._found)
        triples = self._store.construct(compiled(rule, as_path=self._is_path(rule), limit=left + 1))
        if len(triples) > left:
            raise _OverrunError(rule)
        new = [t for t in triples if self._admission.as_premise(t) and t not in self._rejected]
        if new:
            self._found.update(new)
            self._store.add(new, [DEFAULT_GRAPH])
            self._versions[rule.head.relation] = self._versions.get(rule.head.relation, 0) + 1


def compiled(rule: Rule, *, as_path: bool, limit: int) -> str:
    """The rule as a CONSTRUCT of at most ``limit`` statements that do not hold already."""
    head = rule.head
    names = f"?{head.subject}" + (f" ?{head.object}" if isinstance(head.object, str) else "")
    if as_path:
        start = f"SELECT DISTINCT ?{head.subject} WHERE {{ {_pattern(rule.body[0])} }}"
        body = f"{{ {start} }} ?{head.subject} {head.predicate}+ ?{head.object}"
    else:
        body = " . ".join(_pattern(atom) for atom in rule.body)
    new = f"FILTER(isIRI(?{head.subject})) FILTER NOT EXISTS {{ {_pattern(head)} }}"
    return (
        f"CONSTRUCT {{ {_pattern(head)} }} WHERE {{ SELECT DISTINCT {names} WHERE {{ {body} {new} }} LIMIT {limit} }}"
    )


def _pattern(atom: Atom) -> str:
    object_ = f"?{atom.object}" if isinstance(atom.object, str) else str(atom.object)
    return f"?{atom.subject} {atom.predicate} {object_}"


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
