"""What a thing is tied to: its relations with their numbers, the things at their ends, and pictures of some of them.

Limits are applied here, before anything is drawn: a hub of a hundred thousand relations costs a count, not a page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from pyoxigraph import NamedNode, Quad, Triple

from kgplatform.dataset import EvidenceDataset
from kgplatform.describing import APART, Labels, Told, is_unnamed
from kgplatform.ontology import Ontology
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.vocab import RDF, RDFS
from kgplatform.web import addresses
from kgplatform.web.needs import Graph
from kgplatform.web.palette import Palette

_MOST_COUNTED: Final = 100_000
_MOST_SORTED: Final = 2_000
_MOST_FOLLOWED: Final = 2_000
_TIED: Final = 'FILTER(isIRI(?s) && ?s != ?thing && !STRSTARTS(STR(?s), "urn:kgplatform:node:"))'
_LONGEST: Final = 120


@dataclass(frozen=True, slots=True)
class Relation:
    """A property that ties a thing to others; ``inward``: the others are its subjects."""

    predicate: NamedNode
    inward: bool


class Surroundings:
    """The relations of things in the default graph; the ontology's own and bookkeeping are left out."""

    def __init__(self, dataset: EvidenceDataset, ontology: Ontology, labels: Labels) -> None:
        self._dataset = dataset
        self._ontology = ontology
        self._labels = labels
        self._tellers: dict[NamedNode, Told] = {}

    def relations(self, iri: NamedNode) -> dict[Relation, int]:
        """The relations of a thing with how many others each leads to, in the ontology's order."""
        counts: Counter[Relation] = Counter()
        for quad in islice(self._dataset.store.quads(iri, None, None, DEFAULT_GRAPH), _MOST_COUNTED):
            if self.ties(quad) and not self._only_follows(quad):
                counts[Relation(quad.predicate, inward=False)] += 1
        for predicate, number in self._told(iri).counted(_TIED).items():
            if self._is_tie(predicate):
                counts[Relation(predicate, inward=True)] = number
        return {relation: counts[relation] for relation in sorted(counts, key=self._order)}

    def _told(self, iri: NamedNode) -> Told:
        if iri not in self._tellers:
            self._tellers[iri] = Told(iri, self._dataset, self._ontology)
        return self._tellers[iri]

    def _order(self, relation: Relation) -> tuple[bool, int, str]:
        term = self._ontology.properties.get(relation.predicate)
        return relation.inward, term.order if term else 10_000, relation.predicate.value

    def ties(self, quad: Quad) -> bool:
        """Whether the statement ties one thing to another."""
        if not isinstance(quad.object, NamedNode) or not isinstance(quad.subject, NamedNode):
            return False
        if quad.subject == quad.object or not self._is_tie(quad.predicate):
            return False
        return not is_unnamed(quad.object) and not is_unnamed(quad.subject)

    def _is_tie(self, predicate: NamedNode) -> bool:
        if predicate in APART or predicate.value.startswith((RDF, RDFS)):
            return False
        term = self._ontology.properties.get(predicate)
        return not (term and term.internal)

    def _only_follows(self, quad: Quad) -> bool:
        """Whether the statement holds only because somebody says the same the other way round."""
        term = self._ontology.properties.get(quad.predicate)
        if term is None or not isinstance(quad.object, NamedNode) or not (term.inverse or term.symmetric):
            return False
        turned = Triple(quad.object, term.inverse or term.iri, quad.subject)
        dataset = self._dataset
        return dataset.store.has(turned) and dataset.is_stated(turned) and not dataset.is_stated(quad.triple)

    def others(self, iri: NamedNode, relation: Relation, *, most: int = 0) -> list[NamedNode]:
        """The things at the other end of a relation by name; of too many for that the first ``most`` as they come."""
        found = list(dict.fromkeys(islice(self._ends(iri, relation), max(most, _MOST_SORTED + 1))))
        if len(found) > _MOST_SORTED:
            return found
        return sorted(found, key=lambda other: (self._labels.of(other).text.casefold(), other.value))

    def _ends(self, iri: NamedNode, relation: Relation) -> Iterator[NamedNode]:
        store = self._dataset.store
        if not relation.inward:
            for quad in islice(store.quads(iri, relation.predicate, None, DEFAULT_GRAPH), _MOST_COUNTED):
                if self.ties(quad) and not self._only_follows(quad) and isinstance(quad.object, NamedNode):
                    yield quad.object
            return
        for quad in self._told(iri).referring(relation.predicate):
            if self.ties(quad) and isinstance(quad.subject, NamedNode):
                yield quad.subject

    def number_of_others(self, iri: NamedNode, counted: dict[Relation, int]) -> int:
        """How many things the relations lead to in all; what several of them lead to counts once."""
        if not counted:
            return 0
        largest, *rest = sorted(counted, key=lambda relation: -counted[relation])
        others = {other for relation in rest for other in self._ends(iri, relation)}
        if len(others) * 20 > counted[largest] or (largest.inward and self._told(iri).ways(largest.predicate)):
            return len(others.union(self._ends(iri, largest)))
        return counted[largest] + sum(not self.has(iri, largest, other) for other in others)

    def between(self, things: Iterable[NamedNode]) -> list[Quad]:
        """All statements that tie some of the things to each other, each said once: of two inverse ones the first."""
        inside = list(dict.fromkeys(things))
        known = frozenset(inside)
        found: dict[tuple[object, ...], Quad] = {}
        for thing in inside:
            for quad in self._towards(thing, known, inside):
                if self._only_follows(quad):
                    continue
                term = self._ontology.properties.get(quad.predicate)
                other_way = (term.inverse, quad.predicate if term.symmetric else None) if term else ()
                if not any(way and (quad.object, way, thing) in found for way in other_way):
                    found[quad.subject, quad.predicate, quad.object] = quad
        return list(found.values())

    def _towards(self, thing: NamedNode, known: frozenset[NamedNode], inside: Sequence[NamedNode]) -> Iterator[Quad]:
        store = self._dataset.store
        said = list(islice(store.quads(thing, None, None, DEFAULT_GRAPH), _MOST_FOLLOWED + 1))
        if len(said) > _MOST_FOLLOWED:  # it says too much to go through: ask for each of the others instead
            said = [quad for other in inside for quad in store.quads(thing, None, other, DEFAULT_GRAPH)]
        return (quad for quad in said if quad.object in known and self.ties(quad))

    def stated_first(self, iri: NamedNode, relation: Relation) -> list[NamedNode]:
        """The things at the other end of a relation; if some are stated, only those."""
        found = self.others(iri, relation)
        stated = [other for other in found[:_MOST_SORTED] if not self.is_inferred(_triple(iri, relation, other))]
        return stated or found

    def drawn(self, statements: Sequence[Quad]) -> list[Quad]:
        """The statements without inferred shortcuts: of a transitive property, what two others of them lead through."""
        after: dict[tuple[object, NamedNode], set[object]] = {}
        for quad in statements:
            after.setdefault((quad.subject, quad.predicate), set()).add(quad.object)
        return [quad for quad in statements if not self._is_shortcut(quad, after)]

    def _is_shortcut(self, quad: Quad, after: dict[tuple[object, NamedNode], set[object]]) -> bool:
        term = self._ontology.properties.get(quad.predicate)
        if term is None or not term.transitive:
            return False
        middle = after[quad.subject, quad.predicate] - {quad.object, quad.subject}
        through = any(quad.object in after.get((one, quad.predicate), ()) for one in middle)
        return through and self.is_inferred(quad.triple)

    def is_inferred(self, triple: Triple) -> bool:
        """Whether the statement holds only because it follows from others."""
        return not self._dataset.is_stated(triple)

    def has(self, iri: NamedNode, relation: Relation, other: NamedNode) -> bool:
        """Whether the relation leads from the one to the other."""
        return self._dataset.store.has(_triple(iri, relation, other))


def _triple(iri: NamedNode, relation: Relation, other: NamedNode) -> Triple:
    ends = (other, iri) if relation.inward else (iri, other)
    return Triple(ends[0], relation.predicate, ends[1])


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a picture shows: things in their order, the statements between them, and which of both stand out."""

    things: tuple[NamedNode, ...]
    statements: tuple[Quad, ...]
    focus: NamedNode | None = None
    strong: frozenset[Triple] = frozenset()


class Artist:
    """Makes pictures of things in the form that the scripts draw."""

    def __init__(self, kg: Graph, surroundings: Surroundings, labels: Labels, palette: Palette) -> None:
        self._kg = kg
        self._surroundings = surroundings
        self._labels = labels
        self._palette = palette

    def picture(self, drawn: Drawn, **more: Any) -> dict[str, Any]:
        """The things as nodes, the statements as edges."""
        of = {iri: self._palette.class_of(self._kg, iri) for iri in drawn.things}
        classes = list(dict.fromkeys(item for item in of.values() if item is not None))
        at = {iri: number for number, iri in enumerate(classes)}
        nodes = []
        for iri in drawn.things:
            label, kind = self._labels.of(iri).text, of[iri]
            record: dict[str, Any] = {"id": iri.value, "label": label[:_LONGEST], "class": None}
            record |= {"href": addresses.of_iri(iri, self._kg.base), "focus": iri == drawn.focus}
            record["class"] = at[kind] if kind is not None else None
            nodes.append(record)
        return {
            "nodes": nodes,
            "edges": [self._edge(quad, strong=quad.triple in drawn.strong) for quad in drawn.statements],
            "classes": self._palette.records(classes, self._labels, self._kg.base),
            **more,
        }

    def _edge(self, quad: Quad, *, strong: bool) -> dict[str, Any]:
        assert isinstance(quad.subject, NamedNode)
        assert isinstance(quad.object, NamedNode)
        return {
            "source": quad.subject.value,
            "target": quad.object.value,
            "label": self._labels.of(quad.predicate).text[:_LONGEST],
            "kind": "inferred" if self._surroundings.is_inferred(quad.triple) else "",
            "weight": 3 if strong else 1,
        }


def fairly(groups: dict[Relation, list[NamedNode]], most: int) -> list[NamedNode]:
    """Some of each group, in turn, so that one long relation does not hide the others.

    The groups are asked for one thing each until there are enough or none is left.
    """
    found: dict[NamedNode, None] = {}
    waiting = {relation: iter(things) for relation, things in groups.items()}
    while waiting and len(found) < most:
        for relation in list(waiting):
            thing = next(waiting[relation], None)
            if thing is None:
                del waiting[relation]
            elif len(found) < most:
                found.setdefault(thing)
    return list(found)


def query_of(iri: NamedNode) -> str:
    """The query for what a thing is tied to."""
    return (
        "SELECT ?property ?other ?to WHERE {\n"
        f"  {{ {iri} ?property ?to }}\n  UNION\n  {{ ?other ?property {iri} }}\n"
        "  FILTER(!BOUND(?to) || isIRI(?to))\n}\nLIMIT 300\n"
    )
