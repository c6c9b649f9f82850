"""Why a statement holds: the rule it follows by, and the statements it follows from, down to the passages.

What leads to a statement is looked for backwards, breadth first; of what was found, the derivation with the fewest
steps is taken, as Knuth's generalisation of Dijkstra's algorithm finds it (*A generalization of Dijkstra's algorithm*,
Information Processing Letters 6, 1977): costs grow from premise to conclusion, so no derivation runs in a circle.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from pyoxigraph import Triple

from kgplatform.dataset import EvidenceDataset
from kgplatform.describing import FindEvidence
from kgplatform.errors import NotFoundError
from kgplatform.inference.rules import Rule, RuleSet
from kgplatform.inference.view import Admission, View, bound, by_conclusion, relation_of, solutions
from kgplatform.types import Evidence, Term

_MOST_STATEMENTS = 4_000
_MOST_WAYS = 64


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a statement holds.

    It was stated (``rule`` is None): ``evidence`` holds its passages, ``origins`` the names of its graphs that have no
    text, such as ``asserted``. Or it follows by ``rule`` from ``premises``.
    """

    statement: Triple
    rule: Rule | None = None
    premises: tuple[Explanation, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    origins: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        """How many times a rule was applied."""
        return (self.rule is not None) + sum(premise.steps for premise in self.premises)

    @property
    def leaves(self) -> tuple[Explanation, ...]:
        """The stated premises that it all rests on, each once."""
        if self.rule is None:
            return (self,)
        return tuple(dict.fromkeys(leaf for premise in self.premises for leaf in premise.leaves))


@dataclass(frozen=True, slots=True)
class _Way:
    """One step that leads to a statement."""

    conclusion: Triple
    rule: Rule
    premises: tuple[Triple, ...]


def why(triple: Triple, *, dataset: EvidenceDataset, rules: RuleSet, find_evidence: FindEvidence) -> Explanation:
    """The smallest explanation of the statement.

    Raises:
        NotFoundError: it does not hold, or it was inferred by rules that no longer are.
    """
    if not dataset.store.has(triple):
        rejected = dataset.store.has(triple, dataset.rejected)
        reason = "was struck out by hand" if rejected else "does not hold in this graph"
        raise NotFoundError(f"{triple} {reason}", name=str(triple))
    ways, stated = _Search(dataset, rules).back_from(triple)
    chosen = _cheapest(triple, ways, stated)
    if triple not in stated and triple not in chosen:
        raise NotFoundError(
            f"{triple} was inferred by what has changed since; `kgplatform build --only infer`", name=str(triple)
        )
    return _told(triple, chosen, dataset, find_evidence)


class _Search:
    """The steps that lead to a statement, found backwards."""

    def __init__(self, dataset: EvidenceDataset, rules: RuleSet) -> None:
        self._dataset = dataset
        admission = Admission(dataset, rules.terms)
        self._view = View(dataset, admission)
        self._rules = by_conclusion((*rules.applied(same=True), *rules.redundant))

    def back_from(self, goal: Triple) -> tuple[list[_Way], set[Triple]]:
        """The steps on which the statement may rest, and which of the statements in them are stated."""
        ways: list[_Way] = []
        stated: set[Triple] = set()
        seen = {goal}
        waiting = deque([goal])
        while waiting and len(seen) <= _MOST_STATEMENTS:
            triple = waiting.popleft()
            if self._dataset.is_stated(triple):
                stated.add(triple)
                continue
            for way in islice(self._ways(triple), _MOST_WAYS):
                ways.append(way)
                new = [premise for premise in way.premises if premise not in seen]
                seen.update(new)
                waiting.extend(new)
        stated |= {triple for triple in waiting if self._dataset.is_stated(triple)}
        return ways, stated

    def _ways(self, triple: Triple) -> Iterator[_Way]:
        for rule in self._rules.get(relation_of(triple), ()):
            binding = bound(rule.head, triple)
            if binding is None:
                continue
            for _, premises in solutions(rule.body, binding, self._view):
                if triple not in premises:
                    yield _Way(triple, rule, tuple(sorted(premises, key=str)))


def _cheapest(goal: Triple, ways: list[_Way], stated: set[Triple]) -> dict[Triple, _Way]:
    """For each statement that can be derived the last step of its smallest derivation."""
    needing: dict[Triple, list[int]] = {}
    missing = [len(set(way.premises)) for way in ways]
    for i, way in enumerate(ways):
        for premise in set(way.premises):
            needing.setdefault(premise, []).append(i)
    costs: dict[Triple, int] = {}
    chosen: dict[Triple, _Way] = {}
    queue: list[tuple[int, str, int, Triple]] = [(0, str(triple), -1, triple) for triple in stated]
    heapq.heapify(queue)
    while queue and goal not in costs:
        cost, _, step, triple = heapq.heappop(queue)
        if triple in costs:
            continue
        costs[triple] = cost
        if step >= 0:
            chosen[triple] = ways[step]
        for i in needing.get(triple, ()):
            missing[i] -= 1
            way = ways[i]
            if not missing[i] and way.conclusion not in costs:
                total = 1 + sum(costs[premise] for premise in way.premises)
                heapq.heappush(queue, (total, str(way.conclusion), i, way.conclusion))
    return chosen


def _told(
    triple: Triple, chosen: dict[Triple, _Way], dataset: EvidenceDataset, find_evidence: FindEvidence
) -> Explanation:
    way = chosen.get(triple)
    if way is not None:
        premises = tuple(_told(premise, chosen, dataset, find_evidence) for premise in _in_order(way))
        return Explanation(triple, way.rule, premises)
    evidence: list[Evidence] = []
    origins: list[str] = []
    for graph in dataset.evidence_graphs(triple):
        passage = find_evidence(triple, graph)
        if passage is not None:
            evidence.append(passage)
        elif graph != dataset.inferred:
            origins.append(graph.value.removeprefix(f"{dataset.base}graph/"))
    return Explanation(triple, evidence=tuple(evidence), origins=tuple(origins))


def _in_order(way: _Way) -> list[Triple]:
    """The premises in the order of the rule's body, so that a chain reads from its beginning to its end."""
    predicates = [atom.relation for atom in way.rule.body]
    ordered = sorted(way.premises, key=lambda t: (predicates.index(relation_of(t)), str(t)))
    start: Term = way.conclusion.subject
    walked: list[Triple] = []
    while ordered:
        step = next((t for t in ordered if start in (t.subject, t.object)), ordered[0])
        ordered.remove(step)
        walked.append(step)
        start = step.object if step.subject == start and step.object != way.conclusion.subject else step.subject
    return walked
