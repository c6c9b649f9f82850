"""From the state of an exploration to what is shown: the things that its steps add, and all statements between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyoxigraph import NamedNode, Quad

from kgplatform.web.exploration import Exploration, Step
from kgplatform.web.needs import Graph
from kgplatform.web.neighbours import Surroundings
from kgplatform.web.pathfinding import Way, shortest

MOST_THINGS: Final = 300


@dataclass(frozen=True, slots=True)
class Grown:
    """What is shown; ``way_statements`` are those of the path that was asked for, in its order."""

    things: tuple[NamedNode, ...]
    statements: tuple[Quad, ...]
    way_statements: tuple[Quad, ...] = ()
    looked: int = 0
    gave_up: bool = False

    @property
    def is_full(self) -> bool:
        """Whether no more things can be shown."""
        return len(self.things) >= MOST_THINGS


class Growing:
    """Carries out the steps of explorations over one graph."""

    def __init__(self, kg: Graph, surroundings: Surroundings) -> None:
        self._kg = kg
        self._surroundings = surroundings

    def grow(self, state: Exploration) -> Grown:
        """The things and statements of a state, as the graph is now; what it no longer holds is left out."""
        hidden = frozenset(state.hidden)
        found: dict[NamedNode, None] = {}
        if state.focus is not None:
            found.setdefault(state.focus)
        for thing in state.pinned:
            found.setdefault(thing)
        way = self._way(state)
        for quad in way.statements:
            for end in (quad.subject, quad.object):
                if isinstance(end, NamedNode):
                    found.setdefault(end)
        self._add(state.steps, found, hidden)
        things = tuple(thing for thing in found if thing not in hidden or thing == state.focus)[:MOST_THINGS]
        statements = tuple(self._surroundings.between(things))
        return Grown(things, statements, way.statements, way.looked, way.gave_up)

    def _add(self, steps: tuple[Step, ...], found: dict[NamedNode, None], hidden: frozenset[NamedNode]) -> None:
        """Adds what each step brings: of the things that were not there yet, so many as it says."""
        for step in steps:
            if step.thing not in found:
                continue
            enough = step.number + len(found) + len(hidden)
            new = [
                other
                for other in self._surroundings.others(step.thing, step.relation, most=enough)
                if other not in hidden and other not in found
            ]
            for other in new[: step.number]:
                if len(found) < MOST_THINGS + len(hidden):
                    found.setdefault(other)

    def _way(self, state: Exploration) -> Way:
        if state.path is None:
            return Way((), 0)
        return shortest(self._kg.dataset, self._kg.ontology, self._surroundings, state.path, hops=state.hops)
