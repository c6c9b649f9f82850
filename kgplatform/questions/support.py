"""The passages an answer rests on: from the rows of its query back to the evidence of the statements behind them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.dataset import EvidenceDataset
from kgplatform.errors import NotFoundError, QueryError
from kgplatform.inference import Explanation
from kgplatform.questions.patterns import patterns_of
from kgplatform.types import Evidence, Solutions, Term
from kgplatform.vocab import PREFIXES, SUBCLASS_OF, TYPE

FindEvidence = Callable[[Triple, NamedNode], Evidence | None]
Explain = Callable[[Triple, FindEvidence], Explanation]

_ROWS = 200
_STATEMENTS = 400
_PASSAGES = 8
_HOPS = 4
_EXPLAINED = 24
"""So many conclusions at most are traced back for one answer: each takes a search."""

_REPEATED = re.compile(r"[>\w)][+*](?=[\s/|)])")
_TAIL = re.compile(r"\}\s*(?:(?:GROUP|ORDER|HAVING|LIMIT|OFFSET|VALUES)\b[^{}]*)?\Z", re.IGNORECASE)
_HEAD = re.compile(r"\b(?:SELECT\b[^{]*|ASK\s*(?:WHERE\s*)?)\{", re.IGNORECASE)


def supporting(
    query: str,
    dataset: EvidenceDataset,
    *,
    run: Callable[[str], Solutions],
    find: FindEvidence,
    why: Explain | None = None,
    answers: Iterable[Term] = (),
    prefixes: Mapping[str, str] = PREFIXES,
) -> tuple[Evidence, ...]:
    """At most eight passages for the rows of a query, best first, those for different rows before more for one row.

    For what is not stated they are those of the statements that it follows from, as ``why`` tells.
    """
    patterns = patterns_of(query, prefixes)
    predicates = {
        NamedNode(item.value)
        for pattern in patterns.triples
        for item in pattern.predicates
        if item.kind == "iri" and ":" in item.value
    }
    if len(predicates) > 1:
        predicates -= {TYPE, SUBCLASS_OF}
    constants = tuple(NamedNode(item.value) for item in patterns.terms if ":" in item.value)
    things = tuple(dict.fromkeys(node for node in constants if node not in predicates))
    texts = frozenset(pattern.object.value for pattern in patterns.triples if pattern.object.kind == "literal")
    hops = _HOPS if _REPEATED.search(query) else 1
    found: list[list[Evidence]] = []
    budget = _STATEMENTS
    collected = _Passages(dataset, find, why)
    for row in _rows(query, run, tuple(answers)) or [()]:
        passages: list[Evidence] = []
        for triple in _statements((*row, *things), predicates, texts, dataset, hops=hops):
            if budget <= 0:
                break
            budget -= 1
            passages += collected.of(triple)
        found.append(sorted(passages, key=lambda e: -e.score))
        if sum(map(len, found)) >= 4 * _PASSAGES or budget <= 0:
            break
    return _dealt(found)


def _rows(query: str, run: Callable[[str], Solutions], answers: tuple[Term, ...]) -> list[tuple[Term, ...]]:
    """All bound terms of each row, hidden variables included; the answers alone where the query cannot be widened."""
    widened = _widened(query)
    try:
        solutions = run(widened) if widened else Solutions()
    except QueryError:
        solutions = Solutions()
    rows = [tuple(term for term in row if term is not None) for row in solutions.rows[:_ROWS]]
    if not answers:
        return rows
    wanted = set(answers)
    fitting = [row for row in rows if wanted & set(row)]
    fitting.sort(key=lambda row: min((answers.index(t) for t in row if t in wanted), default=len(answers)))
    return fitting or rows or [(answer,) for answer in answers[:_PASSAGES]]


def _widened(query: str) -> str:
    """``SELECT *`` over the same pattern."""
    head = _HEAD.search(query)
    if head is None:
        return ""
    body = _TAIL.sub("}", query[head.end() - 1 :].rstrip())
    return f"{query[: head.start()]}SELECT * WHERE {body}\nLIMIT {_ROWS}"


def _statements(
    terms: tuple[Term, ...],
    predicates: set[NamedNode],
    texts: frozenset[str],
    dataset: EvidenceDataset,
    *,
    hops: int,
) -> Iterator[Triple]:
    """The statements that join the terms of a row, directly or over so many hops of one predicate."""
    wanted = set(terms)
    for start in dict.fromkeys(term for term in terms if isinstance(term, NamedNode)):
        for predicate in sorted(predicates, key=str):
            yield from _ways(start, predicate, wanted, texts, dataset, hops)


def _ways(
    start: NamedNode,
    predicate: NamedNode,
    wanted: set[Term],
    texts: frozenset[str],
    dataset: EvidenceDataset,
    hops: int,
) -> Iterator[Triple]:
    """The statements on the ways from one term of the row to the others."""
    ways: list[tuple[Triple, ...]] = [()]
    visited: set[Term] = {start}
    for _ in range(hops):
        longer: list[tuple[Triple, ...]] = []
        for way in ways:
            here = way[-1].object if way else start
            if not isinstance(here, NamedNode):
                continue
            for triple in _forwards(here, predicate, dataset):
                far = triple.object
                if far in wanted or (isinstance(far, Literal) and far.value in texts):
                    yield from (*way, triple)
                elif far not in visited:
                    visited.add(far)
                    longer.append((*way, triple))
        ways = longer[:50]


def _forwards(node: NamedNode, predicate: NamedNode, dataset: EvidenceDataset) -> list[Triple]:
    """At most fifty statements of a node with a predicate that have evidence."""
    found = (quad.triple for quad in dataset.store.quads(node, predicate) if dataset.is_evidence(quad.graph_name))
    return list(dict.fromkeys(islice(found, 50)))


class _Passages:
    """The passages of statements, each passage once."""

    def __init__(self, dataset: EvidenceDataset, find: FindEvidence, why: Explain | None) -> None:
        self._dataset = dataset
        self._find = find
        self._why = why
        self._seen: set[tuple[str, int, int]] = set()
        self._explained = 0

    def of(self, triple: Triple) -> Iterator[Evidence]:
        """The passages that state the triple, or what it follows from, and were not given before."""
        for passage in self._found(triple):
            key = (passage.document.value, passage.start, passage.end)
            if passage.quote.strip() and key not in self._seen:
                self._seen.add(key)
                yield replace(passage, score=round(passage.score, 4))

    def _found(self, triple: Triple) -> Iterator[Evidence]:
        graphs = self._dataset.evidence_graphs(triple)
        if graphs == [self._dataset.inferred]:
            yield from self._behind(triple)
            return
        for graph in graphs:
            passage = self._find(triple, graph) if graph != self._dataset.inferred else None
            if passage is not None:
                yield passage

    def _behind(self, conclusion: Triple) -> Iterator[Evidence]:
        """The passages of what a conclusion rests on; none where the search would be one too many."""
        if self._why is None or self._explained >= _EXPLAINED:
            return
        self._explained += 1
        try:
            explanation = self._why(conclusion, self._find)
        except NotFoundError:  # its premises changed and inference has not run since
            return
        for leaf in explanation.leaves:
            yield from leaf.evidence


def _dealt(found: list[list[Evidence]]) -> tuple[Evidence, ...]:
    """The best passage of each row, then the second of each, and so on."""
    dealt: list[Evidence] = []
    depth = max(map(len, found), default=0)
    for place in range(depth):
        dealt += [row[place] for row in found if place < len(row)]
    return tuple(dealt[:_PASSAGES])
