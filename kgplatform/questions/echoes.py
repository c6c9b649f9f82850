"""Relations followed twice: once because the question names them, once to reach something that it did not say."""

from __future__ import annotations

from collections.abc import Sequence

from kgplatform.questions.graphs import Link, Node
from kgplatform.questions.schema import SchemaView

_ECHO = 1.0


def echoes(nodes: Sequence[Node], links: Sequence[Link], schema: SchemaView) -> float:
    """What it costs that a named relation, which things have once at most, leads to two: "who coaches X" asks for one.

    The inverse of a relation counts as the relation.
    """
    cost = 0.0
    for said in links:
        term = schema.properties.get(said.predicate)
        if term is None or said.place < 0 or nodes[said.object].terms:
            continue
        things = sum(schema.count(iri) for iri in schema.domains(said.predicate))
        for link in links:
            same = link.predicate == said.predicate and link.subject == said.subject
            turned = link.predicate == term.inverse and link.object == said.subject
            if link is not said and link.place < 0 and term.count <= things and (same or turned):
                cost += _ECHO
    return cost
