"""The SHACL shapes of a class: in rows to read, and as Turtle to take away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from pyoxigraph import Literal, NamedNode, RdfFormat, Triple

from kgplatform import packs
from kgplatform.checking.run import all_shapes
from kgplatform.checking.shapes import UNNAMED, Shapes
from kgplatform.checking.vocabulary import Vocabulary
from kgplatform.describing import Labels
from kgplatform.errors import KgPlatformError
from kgplatform.ontology import Word, label_of
from kgplatform.types import Term
from kgplatform.vocab import SH, local_name
from kgplatform.web.needs import Graph

_TOLD = ("path", "message", "severity", "name", "description", "order", "group", "property", "targetClass")


@dataclass(frozen=True, slots=True)
class Constraint:
    """What a shape asks of a property (none: of the thing itself), in words and numbers."""

    path: str
    rules: tuple[str, ...]
    severity: str
    message: str


@dataclass(frozen=True, slots=True)
class ShapesOfClass:
    """The constraints on the things of a class, and the shapes that make them as Turtle."""

    constraints: tuple[Constraint, ...]
    turtle: str


class ShapeBook:
    """The shapes of a workspace, read when they are first asked for."""

    def __init__(self, kg: Graph) -> None:
        self._kg = kg

    @cached_property
    def _shapes(self) -> Shapes:
        """All shapes; none where a file of shapes cannot be read, which `kgplatform check` tells."""
        names = self._kg.settings.ontology
        if not names:
            return Shapes(())
        try:
            loaded = packs.load(names, folder=self._kg.folder)
            return all_shapes(Vocabulary(loaded.ontology, loaded.triples), loaded.files)
        except KgPlatformError:
            return Shapes(())

    def of(self, class_: NamedNode, labels: Labels, language: str) -> ShapesOfClass:
        """The shapes that aim at the class or one above it."""
        aimed = self._kg.ontology.superclasses(class_) | {class_}
        found = [
            t.subject for t in self._shapes.triples if t.predicate.value == f"{SH}targetClass" and t.object in aimed
        ]
        roots = list(dict.fromkeys(found))
        constraints = tuple(self._constraints(roots, labels, language))
        triples = list(self._closure(roots))
        text = self._kg.store.serialise(triples, RdfFormat.TURTLE, prefixes={"sh": SH}).decode() if triples else ""
        return ShapesOfClass(constraints, text.replace(UNNAMED, "urn:shape:"))

    def _constraints(self, roots: Sequence[object], labels: Labels, language: str) -> Iterator[Constraint]:
        for root in roots:
            properties = self._said(root, "property")
            for shape in [*properties, root]:
                rules = tuple(self._rules(shape, labels))
                if not rules:
                    continue
                paths = [labels.reference(path).label for path in self._said(shape, "path")]
                messages = [
                    Word(m.value, m.language or "") for m in self._said(shape, "message") if isinstance(m, Literal)
                ]
                severity = next(
                    (local_name(s.value) for s in self._said(shape, "severity") if isinstance(s, NamedNode)), ""
                )
                yield Constraint(", ".join(paths), rules, severity or "Violation", label_of(messages, language, ""))

    def _said(self, shape: object, name: str) -> list[Term]:
        return self._shapes.said(shape).get(f"{SH}{name}", [])

    def _rules(self, shape: object, labels: Labels) -> Iterator[str]:
        for name, values in self._shapes.said(shape).items():
            key = name.removeprefix(SH)
            if not name.startswith(SH) or key in _TOLD:
                continue
            shown = ", ".join(self._value(value, labels) for value in values)
            yield f"{key} {shown}"

    def _value(self, value: Term, labels: Labels) -> str:
        if isinstance(value, NamedNode) and value.value.startswith(UNNAMED):
            members = self._shapes.members(value)
            return f"({', '.join(self._value(one, labels) for one in members)})" if members else "…"
        return labels.reference(value).label

    def _closure(self, roots: Iterable[object]) -> Iterator[Triple]:
        """The shapes with all the nodes without a name that they are made of."""
        waiting = list(roots)
        seen: set[object] = set()
        while waiting:
            node = waiting.pop(0)
            if node in seen or not isinstance(node, NamedNode):
                continue
            seen.add(node)
            for name, objects in self._shapes.said(node).items():
                yield from (Triple(node, NamedNode(name), item) for item in objects)
            inner = chain.from_iterable(self._shapes.said(node).values())
            waiting += [item for item in inner if isinstance(item, NamedNode) and item.value.startswith(UNNAMED)]
