"""The stage of relation linking: relations across levels, written to ``graph/relations`` while they are switched on.

The graph is made anew from everything else, so that the result does not depend on what it was before, and is emptied
once the setting is off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pyoxigraph import Literal, NamedNode, Quad

from kgplatform.building.communities import CommunityParts
from kgplatform.dataset import Change
from kgplatform.linking.content import TextVectors
from kgplatform.linking.relations import Level, Relation, relation_triples, relations
from kgplatform.protocols import Embedder
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.vocab import TYPE

_SAID = 12


@dataclass(frozen=True, slots=True)
class RelatingParts:
    """The graph with its ontology and labels, and from which likeness on (δ₂; 1: never) things are related."""

    graph: CommunityParts
    embedder: Embedder
    threshold: float
    vectors: Path | None


def relate(parts: RelatingParts) -> int:
    """Makes the relations across levels anew, or takes them out where they are off; returns how many there are.

    Raises:
        ModelUnavailableError: the embedding model cannot be used.
    """
    dataset = parts.graph.dataset
    found = list(_relations(parts)) if parts.threshold < 1 else []
    held = next(iter(dataset.store.quads(graph=dataset.relations)), None)
    if found or held is not None:
        triples = relation_triples(found, dataset.base)
        dataset.commit(Change(dropped=(dataset.relations,), added={dataset.relations: triples}))
    return len(found)


def _relations(parts: RelatingParts) -> Iterator[Relation]:
    ontology = parts.graph.ontology
    pairs = [(source.iri, target) for source in ontology.classes.values() for target in source.across]
    things = {iri: _things(parts, iri) for pair in pairs for iri in pair}
    every = sorted({thing for members in things.values() for thing in members}, key=lambda iri: iri.value)
    said = {thing: list(_said(parts, thing)) for thing in every}
    texts = {thing: _text(parts, thing, said[thing]) for thing in every}
    vectors = TextVectors(parts.embedder, parts.vectors).of(texts.values())
    degrees = {thing: len(quads) for thing, quads in said.items()}
    for source, target in sorted(pairs, key=lambda pair: (pair[0].value, pair[1].value)):
        levels = [_level(things[iri], texts, vectors, parts) for iri in (source, target)]
        yield from relations(levels[0], levels[1], degrees, threshold=parts.threshold)


def _level(
    things: list[NamedNode], texts: dict[NamedNode, str], vectors: dict[str, np.ndarray], parts: RelatingParts
) -> Level:
    rows = [vectors[texts[thing]] for thing in things]
    empty = np.zeros((0, parts.embedder.dimensions), dtype=np.float32)
    return Level(tuple(things), np.stack(rows) if rows else empty)


def _things(parts: RelatingParts, class_: NamedNode) -> list[NamedNode]:
    store, below = parts.graph.dataset.store, parts.graph.ontology.subclasses(class_)
    found = {q.subject for type_ in below for q in store.quads(None, TYPE, type_, DEFAULT_GRAPH)}
    return sorted((iri for iri in found if isinstance(iri, NamedNode)), key=lambda iri: iri.value)


def _said(parts: RelatingParts, thing: NamedNode) -> Iterator[Quad]:
    """What is stated of the thing and of what it is stated, by the properties of the domain."""
    store = parts.graph.dataset.store
    shown = {item.iri for item in parts.graph.ontology.domain_properties}
    for quad in (*store.quads(thing, None, None, DEFAULT_GRAPH), *store.quads(None, None, thing, DEFAULT_GRAPH)):
        if quad.predicate in shown:
            yield quad


def _text(parts: RelatingParts, thing: NamedNode, said: list[Quad]) -> str:
    """The name of the thing, with what is said of it."""
    label = parts.graph.label
    lines = []
    for quad in said:
        other = quad.object if quad.subject == thing else quad.subject
        value = other.value if isinstance(other, Literal) else label(other, "en")
        lines.append(f"{label(quad.predicate, 'en')} {value}")
    return "; ".join([label(thing, "en"), *sorted(set(lines))[:_SAID]])
