"""Relation linking: things of different levels that are told of alike, such as an attraction and the inns around it.

The travel framework's second equation, R(a, b) = {(a, b): cos(phi(C_a), phi(C_b)) >= delta_2} with C = [n, c], the
name and what is said of a thing, for things of different levels; the rank of a relation is the degree of its source
plus that of its target. Which levels go together the ontology says (``core:linkedAcross`` from class to class).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.vocab import CORE, TYPE, XSD_DOUBLE, XSD_INTEGER

RELATED: Final = NamedNode("http://www.w3.org/2004/02/skos/core#related")
"""What such a relation states; that two things are told of alike does not say how they are tied."""

_BLOCK = 256


@dataclass(frozen=True, slots=True)
class Level:
    """The things of one level: their IRIs, with vectors of unit length for name and context, one row each."""

    iris: tuple[NamedNode, ...]
    vectors: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Relation:
    """Two things of different levels, how alike they are told of (0..1), and the rank of the tie."""

    source: NamedNode
    target: NamedNode
    similarity: float
    rank: int


def relations(
    sources: Level, targets: Level, degrees: Mapping[NamedNode, int], *, threshold: float, most: int = 5
) -> list[Relation]:
    """The relations from each source to the ``most`` targets most like it, at least ``threshold`` alike, best first."""
    found: list[Relation] = []
    for start in range(0, len(sources.iris), _BLOCK):
        block = sources.vectors[start : start + _BLOCK] @ targets.vectors.T
        for source, cosines in zip(sources.iris[start : start + _BLOCK], block, strict=True):
            found += _nearest(source, targets.iris, cosines, degrees, threshold, most)
    return found


def _nearest(
    source: NamedNode,
    targets: Sequence[NamedNode],
    cosines: NDArray[np.float32],
    degrees: Mapping[NamedNode, int],
    threshold: float,
    most: int,
) -> list[Relation]:
    good = [int(place) for place in np.flatnonzero(cosines >= threshold) if targets[int(place)] != source]
    good.sort(key=lambda place: (-round(float(cosines[place]), 6), targets[place].value))
    return [
        Relation(
            source,
            targets[place],
            round(min(float(cosines[place]), 1.0), 4),
            degrees.get(source, 0) + degrees.get(targets[place], 0),
        )
        for place in good[:most]
    ]


def relation_triples(found: Iterable[Relation], base: str) -> list[Triple]:
    """The relations as statements, and each with its score, rank and method."""
    return list(dict.fromkeys(_triples(found, base)))


def _triples(found: Iterable[Relation], base: str) -> Iterator[Triple]:
    for relation in found:
        key = f"{relation.source.value}\x1f{relation.target.value}".encode()
        node = NamedNode(f"{base}link/related/{blake2b(key, digest_size=8).hexdigest()}")
        yield Triple(relation.source, RELATED, relation.target)
        yield Triple(node, TYPE, NamedNode(f"{CORE}Link"))
        yield Triple(node, NamedNode(f"{CORE}linkFrom"), relation.source)
        yield Triple(node, NamedNode(f"{CORE}linkTo"), relation.target)
        yield Triple(node, NamedNode(f"{CORE}score"), Literal(repr(relation.similarity), datatype=XSD_DOUBLE))
        yield Triple(node, NamedNode(f"{CORE}rank"), Literal(str(relation.rank), datatype=XSD_INTEGER))
        yield Triple(node, NamedNode(f"{CORE}method"), Literal("content"))
