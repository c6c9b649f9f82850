"""Courses as the graph has them: what each needs and teaches, the chain before one, and the way to it.

Nodes that share a course code are one course, as the ontology's key says. A cycle of prerequisites is told, and its
courses stand in one layer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyoxigraph import NamedNode, Triple

from kgplatform.academic.terms import COURSE, Parts, term
from kgplatform.describing import Labels
from kgplatform.errors import NotFoundError
from kgplatform.text import has_han, normalise
from kgplatform.types import Evidence
from kgplatform.vocab import ALT_LABEL, LABEL, local_name

_CODE: Final = re.compile(r"[A-ZÅÄÖ]{2,3}\d{3,4}[A-Z]?")
_NAMES_TOLD: Final = 3


@dataclass(frozen=True, slots=True)
class Course:
    """A course: its node (and the other nodes of its code), names, and what it needs, advises and teaches.

    ``needs`` and ``advises`` are nodes of courses. A course that is ``bare`` is only named: nothing is said of it.
    """

    iri: NamedNode
    code: str
    title: str
    others: tuple[NamedNode, ...] = ()
    names: frozenset[str] = frozenset()
    credits: float | None = None
    needs: frozenset[NamedNode] = frozenset()
    advises: frozenset[NamedNode] = frozenset()
    covers: tuple[NamedNode, ...] = ()
    outcomes: tuple[str, ...] = ()
    materials: tuple[NamedNode, ...] = ()

    @property
    def name(self) -> str:
        """Code and title, as far as there are any."""
        return " ".join(dict.fromkeys(filter(None, (self.code, self.title))))

    @property
    def nodes(self) -> tuple[NamedNode, ...]:
        """All its nodes."""
        return (self.iri, *self.others)

    @property
    def bare(self) -> bool:
        """Whether the graph has its name and no more."""
        return not (self.needs or self.covers or self.outcomes or self.materials or self.credits)


@dataclass(frozen=True, slots=True)
class Step:
    """A direct prerequisite: the course, what it asks for, and the passages that say so, of its own syllabus first.

    ``advised``: it is not demanded.
    """

    course: NamedNode
    needs: NamedNode
    evidence: tuple[Evidence, ...] = ()
    advised: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """All that has to come before a course, the first layer first; the goal is alone in the last layer.

    A course stands one layer after the last of what it needs: ``layers`` are those of the longest path.
    """

    goal: NamedNode
    layers: tuple[tuple[NamedNode, ...], ...]
    steps: tuple[Step, ...]
    cycles: tuple[tuple[NamedNode, ...], ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What remains on the way to a goal, in rounds that each need only what was before; the goal is in the last.

    ``spared`` is what the known courses themselves needed: who has taken those has it behind them. ``advised`` would
    help and is not demanded. ``choices``: other courses that lead to the same, and how many remain on the way to each.
    """

    goal: NamedNode
    known: tuple[NamedNode, ...]
    rounds: tuple[tuple[NamedNode, ...], ...]
    spared: tuple[NamedNode, ...]
    advised: tuple[NamedNode, ...]
    cycles: tuple[tuple[NamedNode, ...], ...]
    credits: float
    choices: tuple[tuple[NamedNode, int], ...] = ()

    @property
    def remaining(self) -> tuple[NamedNode, ...]:
        """All that is still to be taken, in order, the goal last."""
        return tuple(course for group in self.rounds for course in group)


class Catalogue:
    """The courses of a graph, read once."""

    def __init__(self, parts: Parts, language: str = "en") -> None:
        self.parts = parts
        self.labels = Labels(parts.dataset, parts.ontology, language)
        self._language = language
        read = [self._read(iri) for iri in parts.instances(COURSE)]
        self.courses: dict[NamedNode, Course] = {course.iri: course for course in _merged(read, language)}
        self._home = {node: course.iri for course in self.courses.values() for node in course.nodes}

    def __len__(self) -> int:
        return len(self.courses)

    def find(self, name: str) -> Course:
        """The course of that IRI, code, title or other name, however it is written.

        Raises:
            NotFoundError: no course, or several, are called so.
        """
        by_iri = self._home.get(NamedNode(name)) if "://" in name and " " not in name else None
        wanted = normalise(name)
        found = [
            course
            for course in self.courses.values()
            if course.iri == by_iri or wanted in course.names or wanted in _keys(course)
        ]
        exact = [course for course in found if course.iri == by_iri or normalise(course.code) == wanted]
        found = exact or found
        if len(found) == 1:
            return found[0]
        if found:
            listed = ", ".join(course.name for course in found[:_NAMES_TOLD])
            raise NotFoundError(f"{len(found)} courses are called {name!r}: {listed}; give the code", name=name)
        raise NotFoundError(f"no course is called {name!r}; `kgplatform courses` lists them", name=name)

    def needs(self, iri: NamedNode) -> list[NamedNode]:
        """The direct prerequisites, by name."""
        return self._sorted(self._homes(self.courses[iri].needs))

    def advises(self, iri: NamedNode) -> list[NamedNode]:
        """What is advised before, by name."""
        return self._sorted(self._homes(self.courses[iri].advises) - self._homes(self.courses[iri].needs))

    def before(self, iri: NamedNode, known: Iterable[NamedNode] = ()) -> dict[NamedNode, frozenset[NamedNode]]:
        """The course and all it needs, with the direct needs of each; what lies behind the known is left out."""
        stop = frozenset(known)
        found: dict[NamedNode, frozenset[NamedNode]] = {}
        waiting = [iri]
        while waiting:
            course = waiting.pop()
            if course not in found:
                found[course] = frozenset(self.needs(course)) - stop
                waiting.extend(found[course])
        return found

    def after(self, iri: NamedNode) -> list[NamedNode]:
        """The courses that ask for this one directly, by name."""
        return self._sorted({other for other in self.courses if iri in self._homes(self.courses[other].needs)})

    def chain(self, iri: NamedNode) -> Chain:
        """What has to come before the course, in layers, with the passages that say so."""
        needs = self.before(iri)
        groups = layered(needs)
        layers = tuple(tuple(self._sorted(course for group in layer for course in group)) for layer in groups)
        steps = [self._step(course, other) for course in needs for other in sorted(needs[course], key=_value)]
        steps += [
            self._step(course, other, advised=True)
            for course in needs
            for other in self.advises(course)
            if other in needs
        ]
        cycles = tuple(tuple(group) for layer in groups for group in layer if is_cycle(group, needs))
        return Chain(iri, layers, tuple(steps), cycles)

    def plan(self, goal: NamedNode, known: Sequence[NamedNode] = ()) -> Plan:
        """What remains to be taken before and with the goal, by someone who has taken the known courses."""
        behind = {other for course in known for other in self.before(course)} - set(known)
        taken = behind | set(known)
        if goal in taken:
            return Plan(goal, tuple(known), (), (), (), (), 0.0)
        needs = self.before(goal, taken)
        groups = layered(needs)
        rounds = tuple(tuple(self._sorted(course for group in layer for course in group)) for layer in groups)
        advised = {other for course in needs for other in self.advises(course)} - needs.keys() - taken
        spared = behind & self.before(goal).keys()
        return Plan(
            goal=goal,
            known=tuple(known),
            rounds=rounds,
            spared=tuple(self._sorted(spared)),
            advised=tuple(self._sorted(advised)),
            cycles=tuple(tuple(group) for layer in groups for group in layer if is_cycle(group, needs)),
            credits=sum(self.courses[course].credits or 0.0 for course in needs),
        )

    def teaching(self, concept: NamedNode) -> list[NamedNode]:
        """The courses that cover the concept, by name."""
        return self._sorted({iri for iri, course in self.courses.items() if concept in course.covers})

    def plan_for(self, concept: NamedNode, known: Sequence[NamedNode] = ()) -> Plan | None:
        """The shortest way to a course that covers the concept, the others as choices; None: no course covers it."""
        plans = [self.plan(course, known) for course in self.teaching(concept)]
        if not plans:
            return None
        best, *others = sorted(plans, key=lambda plan: (len(plan.remaining), plan.credits, plan.goal.value))
        choices = tuple((plan.goal, len(plan.remaining)) for plan in others)
        return Plan(
            best.goal, best.known, best.rounds, best.spared, best.advised, best.cycles, best.credits, choices=choices
        )

    def name(self, iri: NamedNode) -> str:
        """What the course is called."""
        return self.courses[iri].name

    def sorted(self) -> list[Course]:
        """All courses, by name."""
        return sorted(self.courses.values(), key=lambda course: (course.bare, course.name))

    def home(self, iri: NamedNode) -> NamedNode | None:
        """The course that the node stands for; None if it is no course."""
        return self._home.get(iri)

    def _homes(self, nodes: Iterable[NamedNode]) -> set[NamedNode]:
        return {self._home[node] for node in nodes if node in self._home}

    def _sorted(self, courses: Iterable[NamedNode]) -> list[NamedNode]:
        return sorted(courses, key=lambda iri: (self.courses[iri].name, iri.value))

    def _step(self, course: NamedNode, needs: NamedNode, *, advised: bool = False) -> Step:
        there = "recommendedBackground" if advised else "hasPrerequisite"
        back = "recommendedBefore" if advised else "prerequisiteOf"
        pairs = [(a, b) for a in self.courses[course].nodes for b in self.courses[needs].nodes]
        triples = [Triple(a, term(there), b) for a, b in pairs] + [Triple(b, term(back), a) for a, b in pairs]
        passages = (passage for triple in triples for passage in self.parts.passages(triple))
        code = self.courses[course].code

        def elsewhere(passage: Evidence) -> tuple[bool, bool]:
            return code not in passage.title, has_han(passage.quote) != (self._language == "zh")

        return Step(course, needs, tuple(sorted(dict.fromkeys(passages), key=elsewhere)), advised)

    def _read(self, iri: NamedNode) -> Course:
        parts = self.parts
        labels, aliases = self.labels.words(iri, (LABEL,)), self.labels.words(iri, (ALT_LABEL,))
        names = [word.text for word in (*labels, *aliases)]
        title = _title([word.text for word in labels], [word.text for word in aliases], self._language)
        codes = [*parts.texts(iri, "courseCode"), *(found[0] for text in names if (found := _CODE.match(text)))]
        points = parts.texts(iri, "credits")
        return Course(
            iri=iri,
            code=codes[0] if codes else "",
            title=title or self.labels.of(iri).text,
            names=frozenset(filter(None, map(normalise, names))),
            credits=_number(points[0]) if points else None,
            needs=frozenset(parts.linked(iri, "hasPrerequisite", "prerequisiteOf")),
            advises=frozenset(parts.linked(iri, "recommendedBackground", "recommendedBefore")),
            covers=tuple(parts.linked(iri, "covers", "coveredIn")),
            outcomes=tuple(parts.texts(iri, "learningOutcome")),
            materials=tuple(parts.linked(iri, "usesMaterial", "materialOf")),
        )


def layered(needs: Mapping[NamedNode, frozenset[NamedNode]]) -> list[list[list[NamedNode]]]:
    """The courses in layers, each a list of groups: one course, or those of a cycle.

    A group stands one layer after the last group it needs. What a group reaches grows strictly along the way to it,
    so that groups sorted by how much they reach come after all that they need.
    """
    reach = {course: _reached(course, needs) for course in needs}
    groups: dict[NamedNode, list[NamedNode]] = {}
    for course in sorted(needs, key=_value):
        head = next((h for h in groups if h in reach[course] and course in reach[h]), course)
        groups.setdefault(head, []).append(course)
    of = {course: head for head, group in groups.items() for course in group}
    depth: dict[NamedNode, int] = {}
    for head in sorted(groups, key=lambda h: (len(reach[h] | set(groups[h])), h.value)):
        below = {of[other] for course in groups[head] for other in needs[course] if other in of} - {head}
        depth[head] = 1 + max((depth[other] for other in below), default=-1)
    layers: list[list[list[NamedNode]]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
    for head, place in depth.items():
        layers[place].append(groups[head])
    return layers


def is_cycle(group: Sequence[NamedNode], needs: Mapping[NamedNode, frozenset[NamedNode]]) -> bool:
    """Whether the courses of the group need one another, or the one course itself."""
    return len(group) > 1 or group[0] in needs[group[0]]


def _reached(course: NamedNode, needs: Mapping[NamedNode, frozenset[NamedNode]]) -> set[NamedNode]:
    found: set[NamedNode] = set()
    waiting = list(needs[course])
    while waiting:
        other = waiting.pop()
        if other not in found:
            found.add(other)
            waiting.extend(needs.get(other, ()))
    return found


def _merged(courses: Iterable[Course], language: str) -> list[Course]:
    """One course for all nodes of a code; the node of which most is known stands for it."""
    by_code: dict[str, list[Course]] = {}
    for course in courses:
        by_code.setdefault(course.code or course.iri.value, []).append(course)
    return [_one(group, language) if len(group) > 1 else group[0] for group in by_code.values()]


def _one(group: Sequence[Course], language: str) -> Course:
    best, *others = sorted(group, key=lambda c: (-len(c.covers) - len(c.outcomes) - len(c.needs), c.iri.value))
    return Course(
        iri=best.iri,
        code=best.code,
        title=next((c.title for c in (best, *others) if has_han(c.title) == (language == "zh")), best.title),
        others=tuple(course.iri for course in others),
        names=frozenset().union(*(course.names for course in group)),
        credits=next((course.credits for course in (best, *others) if course.credits is not None), None),
        needs=frozenset().union(*(course.needs for course in group)),
        advises=frozenset().union(*(course.advises for course in group)),
        covers=tuple(dict.fromkeys(iri for course in (best, *others) for iri in course.covers)),
        outcomes=tuple(dict.fromkeys(text for course in (best, *others) for text in course.outcomes)),
        materials=tuple(dict.fromkeys(iri for course in (best, *others) for iri in course.materials)),
    )


def _title(labels: Sequence[str], aliases: Sequence[str], language: str) -> str:
    """The name without code in the language: a label before an alias, a short one before a long one."""

    def rank(text: str) -> tuple[bool, bool, int]:
        return (has_han(text) != (language == "zh"), text not in labels, len(text))

    named = [text for text in (*labels, *aliases) if not _CODE.match(text)]
    return min(named, key=rank, default="")


def _keys(course: Course) -> set[str]:
    """What a course is called besides its names: its code, code and title, and the end of its IRI."""
    return {normalise(text) for text in (course.code, course.name, local_name(course.iri.value)) if text}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _value(iri: NamedNode) -> str:
    return iri.value
