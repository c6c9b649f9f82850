"""Tests of queries, updates, results and syntax, run on the store behind the same guards as the endpoint.

The store is in memory and knows no prefixes of its own; everything else is as a client meets it: what the scan of
`kgplatform.lexing` refuses is refused here too.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pyoxigraph as ox
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, QueryResultsFormat, RdfFormat, Triple

from kgplatform import calls, wire, worker
from kgplatform.conformance.comparing import Row, same_datasets, same_graphs, same_rows
from kgplatform.conformance.federated_tests import answering, endpoints
from kgplatform.conformance.manifest import MF, QT, UT, Case, iri_of
from kgplatform.conformance.outcomes import Outcome, Verdict
from kgplatform.errors import KgPlatformError, QueryError, QueryRejectedError
from kgplatform.lexing import scan
from kgplatform.store import Store
from kgplatform.types import Term
from kgplatform.vocab import RDFS, TYPE

_RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
_RDF_SUFFIXES = {".ttl": RdfFormat.TURTLE, ".nt": RdfFormat.N_TRIPLES, ".rdf": RdfFormat.RDF_XML}
_GRAPH_SUFFIXES = {**_RDF_SUFFIXES, ".trig": RdfFormat.TRIG, ".nq": RdfFormat.N_QUADS}
_RESULT_SUFFIXES = {
    ".srx": QueryResultsFormat.XML,
    ".srj": QueryResultsFormat.JSON,
    ".tsv": QueryResultsFormat.TSV,
}


class _DiffersError(Exception):
    """The result is not the one expected; the text says how."""


def run(case: Case) -> Outcome:
    """What becomes of a test of the store."""
    known = [_TESTS[kind] for kind in case.kinds if kind in _TESTS]
    if not known:
        detail = f"not run: {', '.join(sorted(case.kinds)) or 'a test of no type'}"
        return Outcome(case.node.value, case.name, case.suite, Verdict.UNTESTED, detail)
    try:
        known[0](case)
    except (_DiffersError, KgPlatformError, OSError, SyntaxError, ValueError) as error:
        return Outcome(case.node.value, case.name, case.suite, Verdict.FAILED, " ".join(str(error).split())[:400])
    return Outcome(case.node.value, case.name, case.suite, Verdict.PASSED)


# what a test gives


def _action(case: Case) -> Term | None:
    return case.facts.value(case.node, f"{MF}action")


def _text(case: Case, *properties: str) -> tuple[str, str]:
    """The SPARQL of the test, and the IRI that it is published under."""
    action = _action(case)
    found = case.facts.value(action, *properties) or action
    path = case.file(found)
    return path.read_text(encoding="utf-8"), iri_of(path, case.root)


def _load(store: ox.Store, path: Path, iri: str, graph: NamedNode | None) -> None:
    format_ = _GRAPH_SUFFIXES[path.suffix]
    store.load(path.read_bytes(), format=format_, base_iri=iri, to_graph=None if format_.supports_datasets else graph)


def _filled(case: Case, node: Term | None, data: Iterable[str], graph_data: str, graph: str) -> Store:
    """A store with the data that a node of the manifest lists."""
    facts, made = case.facts, Store.open(prefixes={})
    raw = made._store
    for item in facts.values(node, *data) if node is not None else ():
        if isinstance(item, NamedNode):
            _load(raw, case.file(item), item.value, None)
    for item in facts.values(node, graph_data) if node is not None else ():
        file = facts.value(item, graph) or item
        name = NamedNode(facts.text(item, f"{RDFS}label") or _value(file))
        raw.add_graph(name)
        _load(raw, case.file(file), _value(file), name)
    return made


def _value(term: Term | None) -> str:
    return term.value if isinstance(term, NamedNode) else ""


# the tests


def _query_evaluation(case: Case) -> None:
    text, base = _text(case, f"{QT}query")
    store = _filled(case, _action(case), [f"{QT}data"], f"{QT}graphData", f"{QT}graph")
    found = worker.evaluate(store, wire.Request(_resolved(case, text, base), base_iri=base))
    expected = case.file(case.facts.value(case.node, f"{MF}result"))
    if isinstance(found, ox.QueryTriples):
        if not same_graphs(found, _graph(expected, case.root)):
            raise _DiffersError("the graph is another one")
    elif isinstance(found, ox.QueryBoolean):
        if bool(found) != _expected_boolean(expected, case.root):
            raise _DiffersError(f"the answer is {bool(found)}")
    else:
        _compare_rows(found, expected, case.root)


def _resolved(case: Case, text: str, base: str) -> str:
    """The query with what the endpoints of the test answer in place of its SERVICE blocks."""
    if not scan(text).reaches_network:
        return text
    with answering(endpoints(case)) as services:
        return services.resolved(text, base)


def _compare_rows(found: ox.QuerySolutions, expected: Path, root: Path) -> None:
    rows = _rows(found)
    if expected.suffix == ".csv":
        _compare_csv(rows, [variable.value for variable in found.variables], expected)
        return
    wanted, ordered = _expected_rows(expected, root)
    if not same_rows(rows, wanted, ordered=ordered):
        raise _DiffersError(f"{len(rows)} rows, {len(wanted)} expected: {rows[:3]} for {wanted[:3]}")


def _update_evaluation(case: Case) -> None:
    text, base = _text(case, f"{UT}request")
    names = ([f"{UT}data"], f"{UT}graphData", f"{UT}graph")
    store = _filled(case, _action(case), *names)
    store.update(text, base_iri=base)
    wanted = _filled(case, case.facts.value(case.node, f"{MF}result"), *names)
    if not same_datasets(store.quads(), wanted.quads()):
        raise _DiffersError(f"the dataset has {len(store)} statements, {len(wanted)} expected, or others")


def _positive_query(case: Case) -> None:
    text, base = _text(case, f"{QT}query")
    found = calls.find(text, {}, base=base)
    text = calls.replaced(text, [(call, calls.ONE_EMPTY) for call in found])  # as if nobody had an answer
    try:
        worker.evaluate(Store.open(prefixes={}), wire.Request(text, base_iri=base))
    except QueryRejectedError as error:
        if "is not supported" not in str(error):  # a function that is not there, found out after it had parsed
            raise


def _positive_update(case: Case) -> None:
    text, base = _text(case, f"{UT}request")
    store = Store.open(prefixes={})
    try:
        store.update(text, base_iri=base)
    except QueryRejectedError as error:
        if "already exists" in str(error) or "does not exist" in str(error):  # found out after it had parsed
            return
        raise


def _negative(run_it: Callable[[Case], None]) -> Callable[[Case], None]:
    def check(case: Case) -> None:
        try:
            run_it(case)
        except QueryError:
            return
        raise _DiffersError("what should be refused is taken")

    return check


_TESTS: dict[str, Callable[[Case], None]] = {
    "QueryEvaluationTest": _query_evaluation,
    "CSVResultFormatTest": _query_evaluation,
    "UpdateEvaluationTest": _update_evaluation,
    "PositiveSyntaxTest": _positive_query,
    "PositiveSyntaxTest11": _positive_query,
    "NegativeSyntaxTest": _negative(_positive_query),
    "NegativeSyntaxTest11": _negative(_positive_query),
    "PositiveUpdateSyntaxTest": _positive_update,
    "PositiveUpdateSyntaxTest11": _positive_update,
    "NegativeUpdateSyntaxTest": _negative(_positive_update),
    "NegativeUpdateSyntaxTest11": _negative(_positive_update),
}


# what is expected


def _rows(found: ox.QuerySolutions) -> list[Row]:
    names = [variable.value for variable in found.variables]
    return [
        tuple((name, term) for name, term in sorted(zip(names, solution, strict=True), key=_name) if term is not None)
        for solution in found
    ]


def _name(binding: tuple[str, object]) -> str:
    return binding[0]


def _graph(path: Path, root: Path) -> list[Triple]:
    parsed = ox.parse(path.read_bytes(), format=_RDF_SUFFIXES[path.suffix], base_iri=iri_of(path, root))
    return [quad.triple for quad in parsed]


def _expected_boolean(path: Path, root: Path) -> bool:
    if path.suffix in _RESULT_SUFFIXES:
        parsed = ox.parse_query_results(path.read_bytes(), format=_RESULT_SUFFIXES[path.suffix])
        return isinstance(parsed, ox.QueryBoolean) and bool(parsed)
    return any(t.predicate.value == f"{_RS}boolean" and _literal(t.object) == "true" for t in _graph(path, root))


def _literal(term: Term) -> str:
    return term.value if isinstance(term, Literal) else ""


def _expected_rows(path: Path, root: Path) -> tuple[list[Row], bool]:
    """The rows of the file, and whether their order counts."""
    if path.suffix in _RESULT_SUFFIXES:
        parsed = ox.parse_query_results(path.read_bytes(), format=_RESULT_SUFFIXES[path.suffix])
        assert isinstance(parsed, ox.QuerySolutions)
        return _rows(parsed), False
    facts = _WrittenRows(_graph(path, root))
    return facts.rows()


class _WrittenRows:
    """A result set written as RDF (``rs:``), as the older tests have it."""

    def __init__(self, triples: Sequence[Triple]) -> None:
        self._store = ox.Store()
        self._store.extend(Quad(t.subject, t.predicate, t.object, DefaultGraph()) for t in triples)

    def _values(self, subject: Term, name: str) -> list[Term]:
        found = self._store.quads_for_pattern(subject, NamedNode(f"{_RS}{name}"), None)  # type: ignore[arg-type]
        return [quad.object for quad in found]

    def rows(self) -> tuple[list[Row], bool]:
        """The rows, in their order where they have one, and whether they have."""
        sets = [q.subject for q in self._store.quads_for_pattern(None, TYPE, NamedNode(f"{_RS}ResultSet"))]
        found: list[tuple[int, Row]] = []
        ordered = False
        for solution in self._values(sets[0], "solution"):
            bindings = [
                (_literal(self._values(item, "variable")[0]), self._values(item, "value")[0])
                for item in self._values(solution, "binding")
            ]
            place = self._values(solution, "index")
            ordered = ordered or bool(place)
            found.append((int(_literal(place[0])) if place else 0, tuple(sorted(bindings, key=_name))))
        return [row for _, row in sorted(found, key=lambda pair: pair[0])], ordered


def _compare_csv(rows: list[Row], names: list[str], path: Path) -> None:
    """CSV tells neither types nor, beyond one row, which blank nodes are the same, so texts are compared."""
    wanted = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
    if wanted[0] != names:
        raise _DiffersError(f"the columns are {names}, not {wanted[0]}")
    found = [[_cell(dict(row).get(name)) for name in names] for row in rows]
    plain = [["_:" if cell.startswith("_:") else cell for cell in line] for line in wanted[1:]]
    if sorted(found) != sorted(plain):
        raise _DiffersError(f"{found[:3]} for {plain[:3]}")


def _cell(term: Term | None) -> str:
    if term is None:
        return ""
    if isinstance(term, ox.BlankNode):
        return "_:"
    return term.value if isinstance(term, NamedNode | Literal) else str(term)
