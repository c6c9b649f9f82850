"""Things to begin exploring with: of each of the largest classes those that are tied to most others."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.describing import Labels, Reference
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.vocab import TYPE
from kgplatform.web.exploration import Exploration, Names
from kgplatform.web.needs import Graph
from kgplatform.web.overview import Overview

_MOST_CLASSES: Final = 8
_OF_EACH: Final = 5
_LOOKED_AT: Final = 300
_MOST_TIES: Final = 200


@dataclass(frozen=True, slots=True)
class Start:
    """A class with some of its things, each with the address to begin at."""

    class_: Reference
    things: tuple[tuple[Reference, str], ...]


def begin_with(kg: Graph, overview: Overview, labels: Labels) -> list[Start]:
    """Some things of the largest classes, the best tied first."""
    names = Names(kg.store.prefixes)
    largest = sorted(overview.classes, key=lambda iri: (-overview.classes[iri], iri.value))[:_MOST_CLASSES]
    starts = []
    for class_ in largest:
        some = islice(kg.store.quads(None, TYPE, class_, DEFAULT_GRAPH), _LOOKED_AT)
        things = [quad.subject for quad in some if isinstance(quad.subject, NamedNode)]
        ranked = sorted(things, key=lambda iri: (-_ties(kg, iri), iri.value))[:_OF_EACH]
        shown = tuple((labels.reference(iri), Exploration(iri).address(names.write)) for iri in ranked)
        if shown:
            starts.append(Start(labels.reference(class_), shown))
    return starts


def _ties(kg: Graph, iri: NamedNode) -> int:
    out = sum(
        isinstance(q.object, NamedNode) for q in islice(kg.store.quads(iri, None, None, DEFAULT_GRAPH), _MOST_TIES)
    )
    return out + sum(1 for _ in islice(kg.store.quads(None, None, iri, DEFAULT_GRAPH), _MOST_TIES))
