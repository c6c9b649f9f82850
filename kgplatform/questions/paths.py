"""Ways between classes through properties that the data really uses."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from pyoxigraph import NamedNode

from kgplatform.ontology import Word
from kgplatform.questions.schema import SchemaView
from kgplatform.questions.wording import keys

_INSIDE = re.compile(r"(?:^| )in$|^(?:位于|在|坐落于|坐落在)$")


@dataclass(frozen=True, slots=True)
class Step:
    """Following a property forwards, or ``back`` from object to subject, to things of ``types``."""

    predicate: NamedNode
    back: bool
    types: frozenset[NamedNode]
    share: float


class PathFinder:
    """Finds short paths; remembers what it found, so one lives as long as its schema view."""

    def __init__(self, schema: SchemaView) -> None:
        self.schema = schema
        self._steps: dict[frozenset[NamedNode], tuple[Step, ...]] = {}
        self._paths: dict[tuple[frozenset[NamedNode], frozenset[NamedNode]], tuple[tuple[Step, ...], ...]] = {}
        self.placing = frozenset(
            iri
            for iri, term in schema.properties.items()
            if term.is_object and (term.transitive or _places(term.words))
        )
        self.inward = frozenset(iri for iri in self.placing if _leads_inside(schema.properties[iri].words))

    def kinds(self, types: Iterable[NamedNode]) -> tuple[NamedNode, ...]:
        """The properties by which things are sorted into kinds that are themselves things of these classes."""
        wanted = self.covers(types)
        return tuple(iri for iri in self._kinds if wanted & set(self.schema.ranges(iri)))

    @cached_property
    def _kinds(self) -> tuple[NamedNode, ...]:
        return tuple(
            sorted(
                (i for i, t in self.schema.properties.items() if t.is_object and _sorts(t.words)), key=lambda i: i.value
            )
        )

    def covers(self, types: Iterable[NamedNode]) -> frozenset[NamedNode]:
        """The classes and all below them."""
        return frozenset(sub for iri in types for sub in self.schema.subclasses(iri))

    def compatible(self, first: frozenset[NamedNode], second: frozenset[NamedNode]) -> bool:
        """Whether something can be of one of the first and of one of the second classes; empty means anything."""
        return not first or not second or bool(self.covers(first) & self.covers(second))

    def steps(self, types: frozenset[NamedNode]) -> tuple[Step, ...]:
        """One step to other things from things of these classes."""
        known = self._steps.get(types)
        if known is None:
            known = self._steps[types] = tuple(self._found(types))
        return known

    def _found(self, types: frozenset[NamedNode]) -> Iterable[Step]:
        wanted = self.covers(types)
        for back in (False, True):
            targets: dict[NamedNode, dict[NamedNode, int]] = defaultdict(lambda: defaultdict(int))
            table = self.schema.incoming if back else self.schema.outgoing
            for edge in dict.fromkeys(edge for iri in wanted for edge in table.get(iri, ())):
                if not edge.literal:
                    targets[edge.predicate][edge.subject if back else edge.object] += edge.count
            for predicate, found in sorted(targets.items(), key=lambda item: item[0].value):
                total = sum(found.values())
                yield Step(predicate, back, self._onwards(predicate, frozenset(found), back=back), total)

    def _onwards(self, predicate: NamedNode, types: frozenset[NamedNode], *, back: bool) -> frozenset[NamedNode]:
        """The classes, and those that a transitive property leads to from things of these."""
        term = self.schema.properties.get(predicate)
        table = self.schema.incoming if back else self.schema.outgoing
        found, waiting = set(types), list(types) if term is not None and term.transitive else []
        while waiting:
            for edge in table.get(waiting.pop(), ()):
                there = edge.subject if back else edge.object
                if edge.predicate == predicate and not edge.literal and there not in found:
                    found.add(there)
                    waiting.append(there)
        return frozenset(found)

    def paths(
        self, start: frozenset[NamedNode], end: frozenset[NamedNode], longest: int = 2
    ) -> tuple[tuple[Step, ...], ...]:
        """The paths from things of some classes to things of others, shortest first; three steps if need be."""
        key = (start, end)
        known = self._paths.get(key)
        if known is None:
            found = self._search(start, end, longest) or self._search(start, end, longest + 1)
            known = self._paths[key] = tuple(found[:24])
        return known

    def _search(self, start: frozenset[NamedNode], end: frozenset[NamedNode], longest: int) -> list[tuple[Step, ...]]:
        wanted = self.covers(end)
        found: list[tuple[Step, ...]] = []
        ways: list[tuple[Step, ...]] = [()]
        for _ in range(longest):
            grown = []
            for way in ways:
                for step in self.steps(way[-1].types if way else start):
                    if way and way[-1].predicate == step.predicate and way[-1].back != step.back:
                        continue
                    if self.covers(step.types) & wanted:
                        found.append((*way, step))
                    grown.append((*way, step))
            ways = grown[:400]
        return found


def _sorts(words: Iterable[Word]) -> bool:
    return any("~kind" in key for word in words for key, _ in keys(word.text))


def _leads_inside(words: Iterable[object]) -> bool:
    """Whether a property is called "in", "located in", 位于 and the like: it leads to what its subject lies in."""
    return any(_INSIDE.search(getattr(word, "text", "").casefold()) for word in words)


def _places(words: Iterable[object]) -> bool:
    for word in words:
        text = getattr(word, "text", "")
        if any(key in (("~location",), ("~part",)) for key, _ in keys(text)) or text.casefold().startswith("in "):
            return True
    return False
