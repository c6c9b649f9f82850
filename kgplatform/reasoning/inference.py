"""The inference stage: ``graph/inferred`` kept in line with everything else, by what changed where that is known.

What changed is known while every write since the last run went through the dataset, in this process. A file in the
workspace says that all was in line when the last one ended; it is taken away before the first write, so that a
process that ends early, or writes without this stage, leaves none, and the next run begins from scratch.

Why a statement holds is looked for backwards, breadth first; of what was found, the derivation with the fewest steps is
taken, as Knuth's generalisation of Dijkstra's algorithm finds it (*A generalization of Dijkstra's algorithm*,
Information Processing Letters 6, 1977): costs grow from premise to conclusion, so no derivation runs in a circle.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from pyoxigraph import Triple

from kgplatform.entities import FindEvidence
from kgplatform.errors import NotFoundError, StoreError
from kgplatform.ontology.schema import Ontology
from kgplatform.reasoning.materialization import (
    Admission,
    ConclusionChange,
    TooManyError,
    View,
    bound,
    by_conclusion,
    changed,
    concluded,
    relation_of,
    solutions,
)
from kgplatform.reasoning.owl_rl import Contradiction, InferenceRule, RuleSet, findings, limit_of, rules_of
from kgplatform.settings import InferenceSettings
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.types import Evidence, Progress, Term
from kgplatform.vocab import SAME_AS

_MOST_CHANGED = 5_000
"""Up to so many statements that came and went, looking at what hangs on them is faster than beginning from scratch."""

_CHANGED_SHARE = 20
"""So is it for one statement in so many conclusions: it costs some ten times what one costs from scratch."""

_MOST_FEW = 300
"""Up to so many premises in all, looking at each is faster than setting up tables for them."""

_FORMAT = 2


@dataclass(frozen=True, slots=True)
class Inferred:
    """How many conclusions there are, how many came and went, and what cannot be.

    ``incremental``: only what hangs on changed statements was looked at; ``findings`` then concern these only.
    """

    total: int
    gained: int
    lost: int
    incremental: bool
    findings: tuple[Contradiction, ...] = ()


@dataclass(frozen=True, slots=True)
class _InLine:
    """That ``graph/inferred`` is in line: by which rules, and how many conclusions.

    ``left_out`` names the rules that led to too much, ``same`` says whether those of ``owl:sameAs`` were applied.
    """

    digest: str
    total: int
    left_out: tuple[str, ...] = ()
    same: bool = False


class Inference:
    """The inference of a workspace; made when it is opened, before anything is written."""

    def __init__(
        self,
        dataset: EvidenceDataset,
        *,
        ontology: Ontology,
        triples: Iterable[Triple],
        settings: InferenceSettings | None = None,
        file: Path | None = None,
    ) -> None:
        """Takes up where the last process ended; ``file`` is where it said so (None: this process only)."""
        self._dataset = dataset
        self._ontology = ontology
        self._triples = triples
        self._settings = settings or InferenceSettings()
        self._file = file
        self._in_line = _read(file)
        self._is_marked = self._in_line is not None
        if self._in_line is not None:
            dataset.watch()
        dataset.store.before_write = self._unmark

    @cached_property
    def rules(self) -> RuleSet:
        """The rules of the ontology; none where inference is switched off."""
        chosen = self._settings
        triples = self._triples if chosen.enabled else ()
        return rules_of(triples, domain_range=chosen.domain_range, alignments=chosen.alignments)

    def run(self, *, progress: Progress | None = None) -> Inferred:
        """Brings ``graph/inferred`` in line with all other evidence.

        Raises:
            StoreError: the disk refuses; the graph is as it was.
        """
        with self._dataset.store.write_lock():
            known = self._in_line if self._in_line and self._in_line.digest == self._digest else None
            touched = self._dataset.touched() if known else None
            if known is not None and touched == ():
                return Inferred(known.total, 0, 0, incremental=True)
            if known is not None and touched is not None and self._is_little(known, touched):
                with suppress(TooManyError):
                    return self._by_change(known, touched)
            return self._from_scratch(progress)

    def _is_little(self, known: _InLine, touched: tuple[Triple, ...]) -> bool:
        """True if looking at the change is enough; not if a rule that led to too much may no longer do so."""
        if len(touched) > max(_MOST_CHANGED, known.total // _CHANGED_SHARE):
            return False
        return not known.left_out or all(self._dataset.is_stated(triple) for triple in touched)

    def findings(self) -> tuple[Contradiction, ...]:
        """What cannot be, in the whole graph: disjoint classes, several values of a functional property, and so on."""
        return self._findings(None)

    def _findings(self, changed: Iterable[Triple] | None) -> tuple[Contradiction, ...]:
        if not self._settings.enabled:
            return ()
        return findings(self._dataset, self._ontology, self.rules.axioms, changed=changed)

    def why(self, triple: Triple, find_evidence: FindEvidence) -> Explanation:
        """The smallest explanation of the statement; raises as `kgplatform.reasoning.inference.why` does."""
        return why(triple, dataset=self._dataset, rules=self.rules, find_evidence=find_evidence)

    def _by_change(self, known: _InLine, touched: tuple[Triple, ...]) -> Inferred:
        revision = self._revised(known, touched)
        total = known.total + len(revision.gained) - len(revision.lost)
        applied = self.rules.applied(same=True) if known.left_out else ()
        limits = tuple(limit_of(rule) for rule in applied if _name(rule) in known.left_out)
        found = (*limits, *self._findings((*touched, *revision.gained)))
        return Inferred(total, len(revision.gained), len(revision.lost), incremental=True, findings=found)

    def _revised(self, known: _InLine, touched: tuple[Triple, ...]) -> ConclusionChange:
        """What came and went by that; raises `TooManyError` if it is more than allowed, and nothing was done."""
        most = self._settings.max_statements - known.total
        same = known.same or self._is_same(touched)
        applied = self.rules.applied(same=same)
        rules = [rule for rule in applied if _name(rule) not in known.left_out] if known.left_out else list(applied)
        revision = changed(self._dataset, rules, self._admission, touched, most=most)
        if revision.gained or revision.lost:
            self._dataset.conclude(revision.gained, revision.lost, stated=revision.stated)
        total = known.total + len(revision.gained) - len(revision.lost)
        self._settle(_InLine(self._digest, total, known.left_out, same))
        return revision

    def _from_scratch(self, progress: Progress | None) -> Inferred:
        same = self._is_same(item.triple for item in self._dataset.store.quads(None, SAME_AS, None, DEFAULT_GRAPH))
        rules = self.rules.applied(same=same)
        few = self._few_premises(rules)
        if few is not None:
            with suppress(TooManyError):
                gained = len(self._revised(_InLine(self._digest, 0), few).gained)
                return Inferred(gained, gained, 0, incremental=False, findings=self._findings(None))
        most = self._settings.max_statements
        result = concluded(self._dataset, rules, self._admission, most=most, progress=progress)
        lost = result.lost()
        if lost:
            self._dataset.conclude((), lost)
        if result.gained:
            self._dataset.conclude_lines(result.batches(), count=result.gained)
        self._settle(_InLine(self._digest, result.total, tuple(map(_name, result.left_out)), same))
        found = (*result.findings, *self._findings(None))
        return Inferred(result.total, result.gained, len(lost), incremental=False, findings=found)

    def _few_premises(self, rules: Iterable[InferenceRule]) -> tuple[Triple, ...] | None:
        """All statements that rules look at, where nothing was inferred yet and they are few: as if they just came."""
        store = self._dataset.store
        if next(store.quads(graph=self._dataset.inferred), None) is not None:
            return None
        relations = dict.fromkeys(atom.relation for rule in rules for atom in rule.body)
        found = (quad for relation in relations for quad in store.quads(None, *relation, DEFAULT_GRAPH))
        first = [quad.triple for quad in islice(found, _MOST_FEW + 1)]
        return tuple(first) if len(first) <= _MOST_FEW else None

    def _is_same(self, triples: Iterable[Triple]) -> bool:
        """True if one of them says, or said, that two things are one: only then are there rules for that."""
        return any(triple.predicate == SAME_AS and self._admission.as_premise(triple) for triple in triples)

    def _settle(self, in_line: _InLine) -> None:
        """Notes that all is in line."""
        self._dataset.watch()
        self._in_line = in_line
        self._mark(in_line)

    @cached_property
    def _admission(self) -> Admission:
        return Admission(self._dataset, self.rules.terms)

    @cached_property
    def _digest(self) -> str:
        return hashlib.sha256(f"{_FORMAT} {self.rules.digest} {self._settings.max_statements}".encode()).hexdigest()[
            :32
        ]

    def _mark(self, in_line: _InLine) -> None:
        if self._file is None:
            return
        self._dataset.store.flush()  # the file must not say what the disk does not hold yet
        partial = self._file.with_name(f"{self._file.name}.part")
        line = {
            "rules": in_line.digest,
            "total": in_line.total,
            "left_out": list(in_line.left_out),
            "same": in_line.same,
        }
        try:
            partial.write_text(json.dumps(line), encoding="utf-8")
            partial.replace(self._file)
        except OSError as error:
            raise StoreError(f"{self._file}: cannot be written: {error.strerror or error}") from error
        self._is_marked = True

    def _unmark(self) -> None:
        if self._is_marked and self._file is not None:
            try:
                self._file.unlink(missing_ok=True)
            except OSError as error:
                raise StoreError(f"{self._file}: cannot be removed: {error.strerror or error}") from error
            self._is_marked = False


def _name(rule: InferenceRule) -> str:
    """A rule by the same name in every process."""
    return hashlib.sha256(str(rule).encode()).hexdigest()[:16]


def _read(file: Path | None) -> _InLine | None:
    """What the file says; None if there is none, or it is broken: then all is inferred anew."""
    if file is None or not file.is_file():
        return None
    try:
        line = json.loads(file.read_text(encoding="utf-8"))
        left_out = tuple(str(name) for name in line["left_out"])
        return _InLine(str(line["rules"]), int(line["total"]), left_out, bool(line["same"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


_MOST_STATEMENTS = 4_000
_MOST_WAYS = 64


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a statement holds.

    It was stated (``rule`` is None): ``evidence`` holds its passages, ``origins`` the names of its graphs that have no
    text, such as ``asserted``. Or it follows by ``rule`` from ``premises``.
    """

    statement: Triple
    rule: InferenceRule | None = None
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
    rule: InferenceRule
    premises: tuple[Triple, ...]


def why(triple: Triple, *, dataset: EvidenceDataset, rules: RuleSet, find_evidence: FindEvidence) -> Explanation:
    """The smallest explanation of the statement.

    Raises:
        NotFoundError: it does not hold, or it was inferred by rules that no longer are.
    """
    if not dataset.store.has(triple):
        rejected = dataset.store.has(triple, dataset.rejected)
        reason = "was rejected by hand" if rejected else "does not hold in this graph"
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
