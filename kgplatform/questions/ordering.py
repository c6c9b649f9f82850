"""The order in which a question wants the rows: "sorted by price, highest first", 按面积从大到小排列."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pyoxigraph import NamedNode

from kgplatform.questions.graphs import Order, QueryGraph
from kgplatform.questions.names import NameIndex
from kgplatform.questions.schema import SchemaView
from kgplatform.questions.searching import sorted_by
from kgplatform.questions.tokens import tokens_of

_DOWN = re.compile(
    r"\b(?:desc(?:ending)?|decreasing|reverse)\b|\b(?:larg|bigg|high|great|new|lat|long|heavi|old|tall|pric)\w*est\s+first\b"
    r"|\bmost(?:\s+\w+)?\s+first\b|\bfrom\s+(?:the\s+)?(?:high|larg|bigg?|most|best|long|new|lat|heav|tall)\w*\s+to\b"
    r"|\b(?:high(?:est)?|larg(?:e|est)|big(?:gest)?|most|best|long(?:est)?|new(?:est)?)\s+to\s+(?:the\s+)?\w+"
    r"|降序|倒序|[从由][高大多新长晚重贵远]到",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\b(?:number|count|how many)\b|数量|数目|个数", re.IGNORECASE)
_NAMES = re.compile(r"\b(?:name|title|alphabetic\w*|lexicographic\w*)s?\b|名称|名字|字母", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Ordered:
    """What the words say: properties that may be meant, best first, and the direction."""

    predicates: tuple[NamedNode, ...] = ()
    descending: bool = False
    counted: bool = False
    by_name: bool = False


def read_order(text: str, names: NameIndex) -> Ordered | None:
    """The order that a question asks for; None if it asks for none."""
    wanted = sorted_by(text)
    if wanted is None:
        return None
    clause = text[wanted.start : wanted.end]
    scored: dict[NamedNode, float] = {}
    for span in names.schema_terms(tokens_of(clause), clause):
        for name in span.names:
            if name.kind == "property" and isinstance(name.term, NamedNode):
                scored[name.term] = max(scored.get(name.term, 0.0), name.score * (span.last - span.first) ** 0.1)
    ranked = tuple(sorted(scored, key=lambda iri: (-scored[iri], iri.value)))
    return Ordered(ranked, bool(_DOWN.search(clause)), bool(_NUMBER.search(clause)), bool(_NAMES.search(clause)))


def in_order(graph: QueryGraph, ordered: Ordered | None, schema: SchemaView) -> QueryGraph:
    """The graph with its rows in the order asked for, if what is shown has what they are to be sorted by."""
    if ordered is None or not graph.targets or graph.form not in ("list", "count"):
        return graph
    if graph.form == "count" and not graph.group:
        return graph
    if ordered.counted and graph.form == "count":
        return replace(graph, order=Order(None, ordered.descending, counted=True))
    held = {edge.predicate for iri in graph.nodes[graph.targets[0]].types for edge in schema.outgoing.get(iri, ())}
    held |= {link.predicate for link in graph.links}
    predicate = next((iri for iri in ordered.predicates if iri in held), None)
    if predicate is None and not ordered.by_name and not graph.nodes[graph.targets[0]].literal:
        return graph
    return replace(graph, order=Order(predicate, ordered.descending))
