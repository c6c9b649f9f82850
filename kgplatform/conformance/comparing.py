"""Equality as the tests mean it: graphs, datasets and rows are the same if blank nodes can be named alike.

Numbers of a type that are equal though written otherwise (``1.50`` and ``1.5``) count as the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pyoxigraph import BlankNode, CanonicalizationAlgorithm, Dataset, Literal, NamedNode, Quad, Triple

from kgplatform.types import Term

_ROWS = "urn:kgplatform:row:"
Row = tuple[tuple[str, Term], ...]
"""The bindings of one solution, sorted by variable; what is not bound is left out."""


def same_graphs(first: Iterable[Triple], second: Iterable[Triple]) -> bool:
    """Whether the graphs are isomorphic."""
    return same_datasets(_quads(first), _quads(second))


def _quads(triples: Iterable[Triple]) -> Iterator[Quad]:
    return (Quad(triple.subject, triple.predicate, triple.object) for triple in triples)


def same_datasets(first: Iterable[Quad], second: Iterable[Quad]) -> bool:
    """Whether the datasets are isomorphic."""
    return _canonical(first) == _canonical(second)


def _canonical(quads: Iterable[Quad]) -> Dataset:
    dataset = Dataset(Quad(q.subject, q.predicate, _number(q.object), q.graph_name) for q in quads)
    dataset.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return dataset


def same_rows(first: Sequence[Row], second: Sequence[Row], *, ordered: bool) -> bool:
    """Whether the rows are the same, as often, and in the same order where that counts."""
    if len(first) != len(second):
        return False
    left, right = [_settled(row) for row in first], [_settled(row) for row in second]
    if not any(_has_blank(row) for row in (*left, *right)):
        return left == right if ordered else Counter(left) == Counter(right)
    return _canonical(_written(left, ordered=ordered)) == _canonical(_written(right, ordered=ordered))


def _settled(row: Row) -> Row:
    return tuple(sorted((name, _number(term)) for name, term in row))  # variables differ, so terms are not compared


def _number(term: Term) -> Term:
    """A number in one form for each value, any other term as it is."""
    if isinstance(term, Triple):
        return Triple(_number(term.subject), term.predicate, _number(term.object))  # type: ignore[arg-type]
    if not isinstance(term, Literal) or not term.datatype.value.endswith(("#decimal", "#double", "#float")):
        return term
    try:
        return Literal(f"{float(term.value):.12g}", datatype=term.datatype)
    except ValueError:
        return term


def _has_blank(row: Row) -> bool:
    return any(_is_blank(term) for _, term in row)


def _is_blank(term: Term) -> bool:
    if isinstance(term, Triple):
        return _is_blank(term.subject) or _is_blank(term.object)
    return isinstance(term, BlankNode)


def _written(rows: Sequence[Row], *, ordered: bool) -> Iterator[Quad]:
    """The rows as a graph: a node for each row, an edge for each binding, its place where order counts."""
    for place, row in enumerate(rows):
        node = BlankNode(f"row{place}")
        yield Quad(node, NamedNode(f"{_ROWS}is"), Literal(str(place) if ordered else ""))
        for name, term in row:
            yield Quad(node, NamedNode(f"{_ROWS}{name}"), term)
