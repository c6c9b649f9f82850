"""As much of the graph as shapes look at, from the things in question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyoxigraph import BlankNode, NamedNode, Triple

from kgplatform.checking.scope import Instances
from kgplatform.checking.shapes import Reach
from kgplatform.vocab import TYPE


def neighbourhood(instances: Instances, things: Sequence[NamedNode], reach: Reach) -> Iterator[Triple]:
    """What is said of the things as far as shapes look, with the classes of all that they refer to."""
    seen: set[object] = set()
    frontier: list[Any] = list(things)
    for _ in range(reach.steps):
        further: list[Any] = []
        for node in frontier:
            if node not in seen:
                seen.add(node)
                for triple in instances.held(node):
                    yield triple
                    further.append(triple.object)
                if reach.is_winding:
                    behind = [t for predicate in reach.backward for t in instances.held(None, predicate, node)]
                    yield from behind
                    further += [triple.subject for triple in behind]
        frontier = [node for node in further if isinstance(node, NamedNode | BlankNode)]
    for node in frontier:
        if node not in seen:
            seen.add(node)
            yield from instances.held(node, TYPE)
    yield from _backward(instances, things, reach)


def _backward(instances: Instances, things: Iterable[NamedNode], reach: Reach) -> Iterator[Triple]:
    for thing in things:
        for predicate in reach.backward:
            for triple in instances.held(None, predicate, thing):
                yield triple
                if isinstance(triple.subject, NamedNode):
                    yield from instances.held(triple.subject, TYPE)
