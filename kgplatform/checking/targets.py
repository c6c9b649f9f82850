"""Which nodes a shape is about (SHACL §2.1.3, https://www.w3.org/TR/shacl/#targets)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pyoxigraph import NamedNode, Triple

from kgplatform.checking.scope import Facts
from kgplatform.checking.shapes import Shapes
from kgplatform.types import Term
from kgplatform.vocab import RDFS, SH, SUBCLASS_OF, TYPE

_CLASS, _NODE = NamedNode(f"{RDFS}Class"), NamedNode(f"{SH}targetNode")


_TARGETS = frozenset(f"{SH}{name}" for name in ("targetNode", "targetClass", "targetSubjectsOf", "targetObjectsOf"))


def targeted(shapes: Shapes) -> frozenset[Term]:
    """The shapes that have targets."""
    classes = _metaclasses(shapes)
    return frozenset(
        t.subject
        for t in shapes.triples
        if t.predicate.value in _TARGETS or (t.predicate == TYPE and t.object in classes)
    )


def aimed(shapes: Shapes, nodes: Mapping[NamedNode, Iterable[Term]]) -> Shapes:
    """The shapes with each node as a target of its shapes, and no other targets."""
    classes = _metaclasses(shapes)
    kept = (
        t
        for t in shapes.triples
        if t.predicate.value not in _TARGETS and not (t.predicate == TYPE and t.object in classes)
    )
    wanted = (Triple(shape, _NODE, node) for node, about in nodes.items() for shape in about)  # type: ignore[arg-type]
    return Shapes([*kept, *wanted])


def _metaclasses(shapes: Shapes) -> frozenset[Term]:
    """What makes a shape a class too, which then is about its own members."""
    below = (t.subject for t in shapes.triples if t.predicate == SUBCLASS_OF and t.object == _CLASS)
    return frozenset((_CLASS, *below))


@dataclass(frozen=True, slots=True)
class _Aims:
    """The shapes that have targets, by what makes a node one; read once for the same shapes."""

    nodes: dict[Term, list[Term]]
    classes: dict[Term, list[Term]]
    subjects_of: dict[Term, list[Term]]
    objects_of: dict[Term, list[Term]]


def _read_aims(shapes: Shapes) -> _Aims:
    found = _Aims(defaultdict(list), defaultdict(list), defaultdict(list), defaultdict(list))
    places = {
        f"{SH}targetNode": found.nodes,
        f"{SH}targetClass": found.classes,
        f"{SH}targetSubjectsOf": found.subjects_of,
        f"{SH}targetObjectsOf": found.objects_of,
    }
    metaclasses = _metaclasses(shapes)
    for triple in shapes.triples:
        if triple.predicate.value in places:
            places[triple.predicate.value][triple.object].append(triple.subject)
        elif triple.predicate == TYPE and triple.object in metaclasses:
            found.classes[triple.subject].append(triple.subject)
    return found


class Targets:
    """The shapes that have targets, by what makes a node one."""

    def __init__(self, shapes: Shapes, facts: Facts) -> None:
        self._facts = facts
        aims = shapes.made(_read_aims)
        self._nodes, self._classes = aims.nodes, aims.classes
        self._subjects_of, self._objects_of = aims.subjects_of, aims.objects_of
        self._by_classes: dict[frozenset[NamedNode], tuple[Term, ...]] = {}

    def about(self, node: Term) -> Iterator[Term]:
        """The shapes of which the node is a focus node; one may come twice."""
        yield from self._nodes.get(node, ())
        classes = self._facts.classes(node)
        if classes not in self._by_classes:
            found = (shape for class_ in classes for shape in self._classes.get(class_, ()))
            self._by_classes[classes] = tuple(dict.fromkeys(found))
        yield from self._by_classes[classes]
        if self._subjects_of:
            for predicate in self._facts.about(node):
                yield from self._subjects_of.get(predicate, ())
        for property_, by_object in self._objects_of.items():
            if isinstance(property_, NamedNode) and self._facts.is_object(property_, node):
                yield from by_object

    def apart(self) -> Iterator[NamedNode]:
        """The nodes that shapes are about even if the graph says nothing of them: named, or values of a property."""
        yield from (node for node in self._nodes if isinstance(node, NamedNode))
        for property_ in self._objects_of:
            if isinstance(property_, NamedNode):
                yield from self._facts.values(property_)
