"""The passages an answer rests on: from the rows of its query back to the evidence of the statements behind them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.dataset import EvidenceDataset
from kgplatform.errors import QueryError
from kgplatform.questions.patterns import patterns_of
from kgplatform.types import Evidence, Solutions, Term
from kgplatform.vocab import PREFIXES

FindEvidence = Callable[[Triple, NamedNode], Evidence | None]

_ROWS = 200
_STATEMENTS = 400
_PASSAGES = 8
_HOPS = 4
_TAIL = re.compile(r"\}\s*(?:(?:GROUP|ORDER|HAVING|LIMIT|OFFSET|VALUES)\b[^{}]*)?\Z", re.IGNORECASE)
_HEAD = re.compile(r"\b(?:SELECT\b[^{]*|ASK\s*(?:WHERE\s*)?)\{", re.IGNORECASE)


def supporting(
    query: str,
    dataset: EvidenceDataset,
    *,
    run: Callable[[str], Solutions],
    find: FindEvidence,
    answers: Iterable[Term] = (),
    prefixes: Mapping[str, str] = PREFIXES,
) -> tuple[Evidence, ...]:
    """At most eight passages for the rows of a query, best first, those for different rows before more for one row."""
    patterns = patterns_of(query, prefixes)
    predicates = {
        NamedNode(item.value)
        for pattern in patterns.triples
        for item in pattern.predicates
        if item.kind == "iri" and ":" in item.value
    }
    constants = {NamedNode(item.value) for item in patterns.terms if ":" in item.value} - predicates
    rows = _rows(query, run, tuple(answers))
    terms = set(constants) | {term for row in rows for term in row}
    found: list[list[Evidence]] = []
    seen: set[tuple[str, int, int]] = set()
    budget = _STATEMENTS
    repeated = bool(re.search(r">\s*[+*]|\w[+*]\s", query))
    for row in rows or [tuple(constants)]:
        passages: list[Evidence] = []
        start = [term for term in (*row, *constants) if isinstance(term, NamedNode)]
        for triple in _statements(start, predicates, terms, dataset, hops=_HOPS if repeated else 1):
            if budget <= 0:
                break
            budget -= 1
            passages += _passages(triple, dataset, find, seen)
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
    start: list[NamedNode], predicates: set[NamedNode], terms: set[Term], dataset: EvidenceDataset, *, hops: int
) -> Iterator[Triple]:
    """The statements between terms of the rows with a predicate of the query; along paths, through others too."""
    seen: set[Triple] = set()
    visited: set[Term] = set()
    level: list[NamedNode] = start
    for hop in range(hops):
        following: list[NamedNode] = []
        for node in level:
            if node in visited:
                continue
            visited.add(node)
            for predicate in sorted(predicates, key=str):
                for triple in _around(node, predicate, dataset):
                    far = triple.object if triple.subject == node else triple.subject
                    wanted = far in terms or (hops > 1 and isinstance(far, NamedNode)) or isinstance(far, Literal)
                    if triple in seen or not wanted:
                        continue
                    seen.add(triple)
                    yield triple
                    if hops > 1 and isinstance(far, NamedNode) and hop + 1 < hops:
                        following.append(far)
        level = following[:50]


def _around(node: NamedNode, predicate: NamedNode, dataset: EvidenceDataset) -> Iterator[Triple]:
    """The statements of a node with a predicate: all it has, and at most fifty that point to it."""
    store = dataset.store
    default = store.quads(node, predicate)
    count = 0
    for quad in chain(default, store.quads(None, predicate, node)):
        if dataset.is_evidence(quad.graph_name):
            count += 1
            yield quad.triple
            if count >= 50:
                return


def _passages(
    triple: Triple, dataset: EvidenceDataset, find: FindEvidence, seen: set[tuple[str, int, int]]
) -> Iterator[Evidence]:
    for graph in dataset.evidence_graphs(triple):
        passage = find(triple, graph)
        if passage is None or not passage.quote.strip():
            continue
        key = (passage.document.value, passage.start, passage.end)
        if key not in seen:
            seen.add(key)
            yield replace(passage, score=round(passage.score, 4))


def _dealt(found: list[list[Evidence]]) -> tuple[Evidence, ...]:
    """The best passage of each row, then the second of each, and so on."""
    dealt: list[Evidence] = []
    depth = max(map(len, found), default=0)
    for place in range(depth):
        dealt += [row[place] for row in found if place < len(row)]
    return tuple(dealt[:_PASSAGES])
