"""A question back where one name stands for several things: what tells each of them from the others."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from pyoxigraph import NamedNode

from kgplatform.dataset import EvidenceDataset
from kgplatform.questions.graphs import QueryGraph
from kgplatform.questions.names import NameIndex
from kgplatform.types import Clarification, Term

_SHOWN = 8
_IN_COMMON = 3
_ONE_SO_CALLED = re.compile(
    r"\b(?:have|has|with)\s+(?:an?|some|any)\s+(?:\w+\s+){0,3}?(?:called|named)\b|都有|有(?:一?[个座条家]|的?\w{0,4}(?:叫|名为))",
    re.IGNORECASE,
)


def ambiguous(
    graph: QueryGraph,
    asking: Callable[[Sequence[NamedNode]], Clarification | None],
    label: Callable[[Term], str],
    text: str,
) -> Clarification | None:
    """A question back, where one name in the graph stands for several things equally well.

    None where any of them will do, by their names or by the ``text`` of the question.
    """
    several = [
        index
        for index, node in enumerate(graph.nodes)
        if len(node.terms) > 1 and not node.literal and not node.joint and not _any_will_do(graph, index, label, text)
    ]
    if not several or graph.form == "count":
        return None
    return asking([term for term in graph.nodes[several[0]].terms if isinstance(term, NamedNode)])


def _any_will_do(graph: QueryGraph, index: int, label: Callable[[Term], str], text: str) -> bool:
    """Whether something else is asked: what has one of that name, or parts of one thing, as the exits of a station.

    "Which towns have a street called X" means any, "where is the street called X" one.
    """
    values = (x.object for x in graph.around(index) if graph.nodes[x.object].literal)
    if {index, *values} & set(graph.targets):
        return False
    labels = [label(term) for term in graph.nodes[index].terms]
    if len(set(labels)) == len(labels):
        return len({called[:_IN_COMMON] for called in labels}) == 1
    return _ONE_SO_CALLED.search(text) is not None


def which_of(
    namesakes: Sequence[NamedNode], names: NameIndex, dataset: EvidenceDataset, language: str
) -> Clarification | None:
    """A question back for one of several things, each with what only it has; None for fewer than two."""
    shown = list(namesakes[:_SHOWN])
    beside = [_beside(term, names, dataset, language) for term in shown]
    common = set.intersection(*map(set, beside)) if beside else set()
    options = tuple(
        _described(term, [said for said in found if said not in common], names, language)
        for term, found in zip(shown, beside, strict=True)
    )
    if len(options) < 2:
        return None
    name = names.label(shown[0], language)
    question = f"“{name}”指的是哪一个？" if language == "zh" else f"Which “{name}” do you mean?"
    return Clarification(question, options, tuple(shown))


def _described(term: NamedNode, beside: Sequence[str], names: NameIndex, language: str) -> str:
    """A thing's label with what tells it from its namesakes: its class and a neighbour that they do not have."""
    types = [names.schema.label(iri, language) for iri in names.types(term)[:1]]
    detail = ", ".join([*types, *beside[:1]])
    label = names.label(term, language)
    return f"{label} ({detail})" if detail else label


def _beside(term: NamedNode, names: NameIndex, dataset: EvidenceDataset, language: str) -> list[str]:
    """What is stated to lie around a thing, in words."""
    properties = names.schema.properties
    quads = [q for q in dataset.store.quads(term) if q.predicate in properties and dataset.is_stated(q.triple)]
    return sorted(
        {
            f"{names.schema.label(quad.predicate, language)} {names.label(quad.object, language)}"
            for quad in quads
            if isinstance(quad.object, NamedNode)
        }
    )
