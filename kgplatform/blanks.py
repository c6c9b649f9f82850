"""Blank nodes made fit for a store that is read and written piece by piece: given IRIs, or labels that do not vary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyoxigraph import BlankNode, NamedNode, Quad, Triple


def skolemised(triples: Iterable[Triple], prefix: str) -> Iterator[Triple]:
    """The triples with IRIs below ``prefix`` for blank nodes (RDF 1.1 Concepts §3.5): these can be removed again."""

    def term(node: Any) -> Any:
        if isinstance(node, BlankNode):
            return NamedNode(f"{prefix}{node.value}")
        if isinstance(node, Triple):
            return Triple(term(node.subject), node.predicate, term(node.object))
        return node

    for triple in triples:
        yield Triple(term(triple.subject), triple.predicate, term(triple.object))


def numbered(quads: Iterable[Quad]) -> Iterator[Quad]:
    """The quads with blank nodes labelled by their order of appearance: parsers label them by chance."""
    names: dict[BlankNode, BlankNode] = {}

    def term(node: Any) -> Any:
        if isinstance(node, BlankNode):
            return names.setdefault(node, BlankNode(f"b{len(names)}"))
        if isinstance(node, Triple):
            return Triple(term(node.subject), node.predicate, term(node.object))
        return node

    for quad in quads:
        yield Quad(term(quad.subject), quad.predicate, term(quad.object), term(quad.graph_name))


def unskolemised(triples: Iterable[Triple], prefix: str) -> Iterator[Triple]:
    """The triples with blank nodes for the IRIs that `skolemised` made of them."""

    def term(node: Any) -> Any:
        if isinstance(node, NamedNode) and node.value.startswith(prefix):
            return BlankNode(node.value[len(prefix) :])
        if isinstance(node, Triple):
            return Triple(term(node.subject), node.predicate, term(node.object))
        return node

    for triple in triples:
        yield Triple(term(triple.subject), triple.predicate, term(triple.object))
