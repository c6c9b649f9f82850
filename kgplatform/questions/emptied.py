"""Why a reading finds nothing: the condition without which there would be something, and what there is instead.

`emptiness` does the same for the text of any query; here conditions are those that a question names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from pyoxigraph import Literal, NamedNode

from kgplatform.errors import QueryError
from kgplatform.questions.graphs import Comparison, Link, QueryGraph
from kgplatform.questions.names import NameIndex
from kgplatform.questions.writing import Writer, with_limit
from kgplatform.types import Solutions, Term

_MOST_CONDITIONS = 6
_MOST_VALUES = 2_000
_SHOWN = 4
_OPERATORS = {
    "en": {">": "above", "<": "below", ">=": "at least", "<=": "at most", "=": "of", "!=": "other than"},
    "zh": {">": "高于", "<": "低于", ">=": "不低于", "<=": "不超过", "=": "为", "!=": "不为"},
}


@dataclass(frozen=True, slots=True)
class _Condition:
    """One condition of a graph in words, the graph without it, and the node whose values are free then."""

    said: str
    without: QueryGraph
    freed: int


def what_empties(graph: QueryGraph, names: NameIndex, language: str, run: Callable[[str], Solutions]) -> str:
    """The conditions that each alone leave nothing over, with the values there are; empty where no one does."""
    if graph.form not in ("list", "ask") or graph.whole is not None or graph.having:
        return ""
    for condition in list(_conditions(graph, names, language))[:_MOST_CONDITIONS]:
        values = _values(condition, names, run)
        if values:
            return _told(condition.said, values, names, language)
    return ""


def is_unknown(graph: QueryGraph, names: NameIndex, run: Callable[[str], Solutions]) -> bool:
    """Whether a yes-or-no question compares a value that the graph has not: then it is neither a yes nor a no."""
    if graph.form != "ask" or not graph.comparisons:
        return False
    text = Writer(replace(graph, comparisons=()), wide=names.schema.has_subclasses).text()
    try:
        return run(text).boolean is False
    except QueryError:
        return False


def _conditions(graph: QueryGraph, names: NameIndex, language: str) -> Iterator[_Condition]:
    for number, compared in enumerate(graph.comparisons):
        rest = (*graph.comparisons[:number], *graph.comparisons[number + 1 :])
        link = next((link for link in graph.links if link.object == compared.node), None)
        if link is not None and compared.than is None and not link.negated:
            said = _said_of(compared, names.schema.label(link.predicate, language), language)
            yield _Condition(said, replace(graph, comparisons=rest), compared.node)
    for link in graph.links:
        node = graph.nodes[link.object]
        alone = len(graph.links) == 1 and graph.nodes[link.subject].named is None
        if node.terms and not link.negated and not graph.nodes[link.subject].terms and not alone:
            freed = replace(node, terms=(), named=None, joint="", apart=())
            nodes = (*graph.nodes[: link.object], freed, *graph.nodes[link.object + 1 :])
            yield _Condition(_said_by(link, graph, names, language), replace(graph, nodes=nodes), link.object)


def _said_of(compared: Comparison, label: str, language: str) -> str:
    if compared.high is not None:
        return f"{label} {compared.low}–{compared.high}"
    operator = _OPERATORS.get(language, _OPERATORS["en"])[compared.operator]
    return f"{label}{operator} {compared.low}" if language == "zh" else f"{label} {operator} {compared.low}"


def _said_by(link: Link, graph: QueryGraph, names: NameIndex, language: str) -> str:
    terms = graph.nodes[link.object].terms[:3]
    joint = "或" if language == "zh" else " or "
    values = joint.join(dict.fromkeys(names.label(term, language) for term in terms))
    return f"{names.schema.label(link.predicate, language)} {values}"


def _values(condition: _Condition, names: NameIndex, run: Callable[[str], Solutions]) -> list[Term]:
    """The values there are where the condition is left out, the most frequent first."""
    graph = replace(condition.without, form="list", targets=(condition.freed,), best=(), order=None, group=(), also=())
    text = Writer(graph, wide=names.schema.has_subclasses).text()
    try:
        rows = run(with_limit(text, _MOST_VALUES)).rows
    except QueryError:
        return []
    found = [row[0] for row in rows if isinstance(row[0], Literal | NamedNode)]
    counted: dict[Term, int] = {}
    for link in graph.links:
        if link.object == condition.freed:
            used = names.facts.values.get(link.predicate, Counter())
            counted = {term: used[term] for term in found}
    return sorted(found, key=lambda term: (-counted.get(term, 0), str(term)))


def _told(said: str, values: list[Term], names: NameIndex, language: str) -> str:
    """The condition, and the range of the numbers or the first few of the names that there are."""
    numbers = sorted((n, v) for v in values if isinstance(v, Literal) and (n := _number(v)) is not None)
    if len(numbers) == len(values):
        low, high = numbers[0][1].value, numbers[-1][1].value
        there = low if low == high else f"{low} – {high}"
    else:
        labels = list(dict.fromkeys(names.label(value, language) for value in values))
        comma, more = ("、", "等") if language == "zh" else (", ", ", …")
        there = comma.join(labels[:_SHOWN]) + (more if len(labels) > _SHOWN else "")
    if language == "zh":
        return f"没有符合“{said}”的；现有：{there}。"
    return f"Nothing fits “{said}”; there is: {there}."


def _number(value: Literal) -> float | None:
    try:
        return float(value.value)
    except ValueError:
        return None
