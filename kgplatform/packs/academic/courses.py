"""Syllabi held against one another: what is needed and taught nowhere, and what is taught twice.

A course needs, besides its prerequisites, the concepts that its learning outcomes name, the broader concepts of those
it covers, and those of its reading. Two concepts, or two outcomes, are the same if they are one node or worded alike,
or if their vectors are near enough.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.documents.registry import Registry
from kgplatform.entities import Labels
from kgplatform.errors import NotFoundError
from kgplatform.ontology.schema import Ontology
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.text import has_han, language_of, normalise
from kgplatform.types import ChatModel, Embedder, Evidence
from kgplatform.vocab import ACADEMIC, ALT_LABEL, LABEL, TYPE, local_name


def term(name: str) -> NamedNode:
    """The term of the academic ontology of that local name."""
    return NamedNode(f"{ACADEMIC}{name}")


COURSE: Final = term("Course")
PAPER: Final = term("Paper")
CONCEPT: Final = term("Concept")
KNOWLEDGE: Final = term("KnowledgeConcept")


@dataclass(frozen=True, slots=True)
class Parts:
    """The graph with its documents; ``find`` gives the passage of a statement in a graph.

    ``embedder`` and ``model`` may be None: then words alone are compared, and the built-in methods write.
    """

    dataset: EvidenceDataset
    ontology: Ontology
    registry: Registry
    find: Callable[[Triple, NamedNode], Evidence | None]
    embedder: Embedder | None = None
    model: ChatModel | None = None

    def instances(self, class_: NamedNode) -> list[NamedNode]:
        """The things of the class or one below it, by IRI."""
        found = {
            quad.subject
            for kind in {class_, *self.ontology.subclasses(class_)}
            for quad in self.dataset.store.quads(None, TYPE, kind, DEFAULT_GRAPH)
            if isinstance(quad.subject, NamedNode)
        }
        return sorted(found, key=lambda iri: iri.value)

    def linked(self, subject: NamedNode, name: str, turned: str = "") -> list[NamedNode]:
        """What the property of that local name leads to, its inverse ``turned`` read backwards, by IRI."""
        store = self.dataset.store
        found = {item for item in store.objects(subject, term(name)) if isinstance(item, NamedNode)}
        if turned:
            back = store.quads(None, term(turned), subject, DEFAULT_GRAPH)
            found |= {quad.subject for quad in back if isinstance(quad.subject, NamedNode)}
        return sorted(found, key=lambda iri: iri.value)

    def texts(self, subject: NamedNode, name: str) -> list[str]:
        """The literal values of the property of that local name, sorted."""
        found = self.dataset.store.objects(subject, term(name))
        return sorted({item.value for item in found if isinstance(item, Literal)})

    def passages(self, triple: Triple) -> tuple[Evidence, ...]:
        """The passages that say so, each once."""
        found = (self.find(triple, graph) for graph in self.dataset.evidence_graphs(triple))
        return tuple(dict.fromkeys(item for item in found if item is not None))

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """Vectors of the texts, a row of zeros for one in a language the embedding model does not know.

        None where there is no embedding model.
        """
        if self.embedder is None or not texts:
            return None
        known = frozenset(getattr(self.embedder, "languages", None) or ())
        told = [place for place, text in enumerate(texts) if not known or language_of(text) in known]
        rows = np.zeros((len(texts), self.embedder.dimensions), dtype=np.float32)
        if told:
            rows[told] = self.embedder.embed([texts[place] for place in told])
        return rows


# Nodes that share a course code are one course, as the ontology's key says. A cycle of prerequisites is told, and its
# courses stand in one layer.
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
class Prerequisite:
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
    steps: tuple[Prerequisite, ...]
    cycles: tuple[tuple[NamedNode, ...], ...]


@dataclass(frozen=True, slots=True)
class CoursePlan:
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


class CourseCatalogue:
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
            raise NotFoundError(f"{len(found)} courses are named {name!r}: {listed}; give the code", name=name)
        raise NotFoundError(f"no course is named {name!r}; `kgplatform courses` lists them", name=name)

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

    def plan(self, goal: NamedNode, known: Sequence[NamedNode] = ()) -> CoursePlan:
        """What remains to be taken before and with the goal, by someone who has taken the known courses."""
        behind = {other for course in known for other in self.before(course)} - set(known)
        taken = behind | set(known)
        if goal in taken:
            return CoursePlan(goal, tuple(known), (), (), (), (), 0.0)
        needs = self.before(goal, taken)
        groups = layered(needs)
        rounds = tuple(tuple(self._sorted(course for group in layer for course in group)) for layer in groups)
        advised = {other for course in needs for other in self.advises(course)} - needs.keys() - taken
        spared = behind & self.before(goal).keys()
        return CoursePlan(
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

    def plan_for(self, concept: NamedNode, known: Sequence[NamedNode] = ()) -> CoursePlan | None:
        """The shortest way to a course that covers the concept, the others as choices; None: no course covers it."""
        plans = [self.plan(course, known) for course in self.teaching(concept)]
        if not plans:
            return None
        best, *others = sorted(plans, key=lambda plan: (len(plan.remaining), plan.credits, plan.goal.value))
        choices = tuple((plan.goal, len(plan.remaining)) for plan in others)
        return replace(best, choices=choices)

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

    def _step(self, course: NamedNode, needs: NamedNode, *, advised: bool = False) -> Prerequisite:
        there = "recommendedBackground" if advised else "hasPrerequisite"
        back = "recommendedBefore" if advised else "prerequisiteOf"
        pairs = [(a, b) for a in self.courses[course].nodes for b in self.courses[needs].nodes]
        triples = [Triple(a, term(there), b) for a, b in pairs] + [Triple(b, term(back), a) for a, b in pairs]
        passages = (passage for triple in triples for passage in self.parts.passages(triple))
        code = self.courses[course].code

        def elsewhere(passage: Evidence) -> tuple[bool, bool]:
            return code not in passage.title, has_han(passage.quote) != (self._language == "zh")

        return Prerequisite(course, needs, tuple(sorted(dict.fromkeys(passages), key=elsewhere)), advised)

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
    return replace(
        best,
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


def reach(catalogue: CourseCatalogue, goal: str, known: Sequence[NamedNode] = ()) -> CoursePlan:
    """The path to the course of that name, else to the nearest course that covers the concept of that name.

    Raises:
        NotFoundError: nothing is called so, or no course teaches it; the message offers the nearest names.
    """
    try:
        return catalogue.plan(catalogue.find(goal).iri, known)
    except NotFoundError:
        concepts = _concepts(catalogue)
        found = concepts.get(normalise(goal), [])
        if not found and len(called := _called(catalogue, goal)) == 1:
            return catalogue.plan(called[0].iri, known)
        if not found:
            raise _unknown(catalogue, goal, list(concepts)) from None
    plans = [plan for iri in found if (plan := catalogue.plan_for(iri, known)) is not None]
    if not plans:
        raise NotFoundError(f"no course in the graph teaches {goal!r}", name=goal)
    return min(plans, key=lambda plan: len(plan.remaining))


def _concepts(catalogue: CourseCatalogue) -> dict[str, list[NamedNode]]:
    found: dict[str, list[NamedNode]] = {}
    for iri in catalogue.parts.instances(CONCEPT):
        for word in (*catalogue.labels.words(iri, (LABEL,)), *catalogue.labels.words(iri, (ALT_LABEL,))):
            found.setdefault(normalise(word.text), []).append(iri)
    return found


def _called(catalogue: CourseCatalogue, goal: str) -> list[Course]:
    """The courses whose name holds the words."""
    wanted = normalise(goal)
    return [course for course in catalogue.sorted() if wanted and wanted in normalise(course.name)]


def suggestions(catalogue: CourseCatalogue, goal: str) -> list[str]:
    """What may have been meant by a goal that is not known: courses whose name holds it, else the nearest names."""
    if found := _called(catalogue, goal):
        return [course.code or course.name for course in found[:_NAMES_TOLD]]
    return _near(catalogue, goal, list(_concepts(catalogue)))


def _near(catalogue: CourseCatalogue, goal: str, concepts: list[str]) -> list[str]:
    names = [*(course.name for course in catalogue.courses.values()), *concepts]
    names += [name for course in catalogue.courses.values() for name in (course.title, course.code) if name]
    return difflib.get_close_matches(goal, names, n=2, cutoff=0.5)


def _unknown(catalogue: CourseCatalogue, goal: str, concepts: list[str]) -> NotFoundError:
    near = _near(catalogue, goal, concepts)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "`kgplatform courses` lists the courses"
    return NotFoundError(f"no course or concept is named {goal!r}; {hint}", name=goal)


_LEAST_LETTERS: Final = 4
_LEAST_HAN: Final = 2
_MOST_COURSES: Final = 2000


class GapKind(StrEnum):
    """Why something that a course needs is missing."""

    NO_SYLLABUS = "no-syllabus"
    NOT_TAUGHT = "not-taught"
    NOT_BEFORE = "not-before"


@dataclass(frozen=True, slots=True)
class Gap:
    """Something a course needs: a course without a syllabus, or a concept that is taught nowhere, or not before it.

    ``because`` is the outcome, covered concept or reading that the need follows from; ``taught`` is where it is taught.
    """

    kind: GapKind
    course: NamedNode
    missing: NamedNode
    because: str = ""
    taught: tuple[NamedNode, ...] = ()


@dataclass(frozen=True, slots=True)
class SharedWording:
    """Two concepts or outcomes that say the same, in words, and how near they are (1: worded alike)."""

    first: str
    second: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Overlap:
    """What two courses both teach; ``share`` is the part of the smaller syllabus that the other one has too.

    ``ordered``: one of them is a prerequisite of the other, so that what is repeated may be meant so.
    """

    first: NamedNode
    second: NamedNode
    concepts: tuple[SharedWording, ...]
    outcomes: tuple[SharedWording, ...]
    share: float
    ordered: bool


@dataclass(frozen=True, slots=True)
class _Taught:
    """What a course teaches, in words."""

    course: NamedNode
    concepts: tuple[str, ...]
    outcomes: tuple[str, ...]


def gaps(catalogue: CourseCatalogue) -> list[Gap]:
    """What courses need and no course in the graph teaches, or none that comes before them; by course."""
    found: list[Gap] = []
    home = {iri: course for course in catalogue.courses.values() for iri in course.covers}
    names = _concept_names(catalogue)
    for course in catalogue.sorted():
        found += [
            Gap(GapKind.NO_SYLLABUS, course.iri, other)
            for other in catalogue.needs(course.iri)
            if not _described(catalogue.courses[other])
        ]
        before = catalogue.before(course.iri)
        for concept, because in _needed(course, catalogue, names):
            taught = tuple(catalogue.teaching(concept)) if concept in home else ()
            if not taught:
                found.append(Gap(GapKind.NOT_TAUGHT, course.iri, concept, because))
            elif not before.keys() & set(taught):
                found.append(Gap(GapKind.NOT_BEFORE, course.iri, concept, because, taught))
    return found


def overlaps(catalogue: CourseCatalogue, *, similarity: float, least: float = 0.0) -> list[Overlap]:
    """The pairs of courses that teach the same, those that share most first; ``least`` share to be listed."""
    taught = [_taught(course, catalogue) for course in catalogue.sorted()[:_MOST_COURSES]]
    taught = [item for item in taught if item.concepts or item.outcomes]
    words = list(dict.fromkeys(text for item in taught for text in (*item.concepts, *item.outcomes)))
    comparing = _Comparing(words, catalogue.parts.vectors(words), similarity)
    before = {item.course: catalogue.before(item.course).keys() - {item.course} for item in taught}
    found = []
    for one, other in combinations(taught, 2):
        concepts = comparing.matches(one.concepts, other.concepts)
        outcomes = comparing.matches(one.outcomes, other.outcomes)
        smaller = min(len(one.concepts) + len(one.outcomes), len(other.concepts) + len(other.outcomes))
        share = (len(concepts) + len(outcomes)) / smaller
        if share > 0 and share >= least:
            ordered = one.course in before[other.course] or other.course in before[one.course]
            found.append(Overlap(one.course, other.course, concepts, outcomes, share, ordered))
    return sorted(found, key=lambda item: (-item.share, item.first.value, item.second.value))


class _Comparing:
    """Finds what two lists of wordings have in common."""

    def __init__(self, words: Sequence[str], vectors: NDArray[np.float32] | None, least: float) -> None:
        self._row = {text: place for place, text in enumerate(words)}
        self._vectors = vectors
        self._least = least

    def matches(self, ones: Sequence[str], others: Sequence[str]) -> tuple[SharedWording, ...]:
        """Each wording of the first list with at most one of the second, the nearest pairs first."""
        if not ones or not others:
            return ()
        pairs = sorted(self._pairs(ones, others), key=lambda match: (-match.similarity, match.first, match.second))
        taken: set[tuple[int, str]] = set()
        found = []
        for match in pairs:
            ends = {(0, match.first), (1, match.second)}
            if not ends & taken:
                taken |= ends
                found.append(match)
        return tuple(found)

    def _pairs(self, ones: Sequence[str], others: Sequence[str]) -> Iterator[SharedWording]:
        alike = {normalise(text): text for text in others}
        for text in ones:
            if (same := alike.get(normalise(text))) is not None:
                yield SharedWording(text, same, 1.0)
        if self._vectors is None:
            return
        rows, columns = [self._row[text] for text in ones], [self._row[text] for text in others]
        near = self._vectors[rows] @ self._vectors[columns].T
        for one, other in zip(*np.nonzero(near >= self._least), strict=True):
            if normalise(ones[one]) != normalise(others[other]):
                yield SharedWording(ones[one], others[other], min(1.0, float(near[one, other])))


def _taught(course: Course, catalogue: CourseCatalogue) -> _Taught:
    concepts = dict.fromkeys(catalogue.labels.of(iri).text for iri in course.covers)
    return _Taught(course.iri, tuple(concepts), course.outcomes)


def _described(course: Course) -> bool:
    """Whether the graph has a syllabus: what the course teaches, and not only its name or credits."""
    return bool(course.covers or course.outcomes or course.materials)


def _needed(
    course: Course, catalogue: CourseCatalogue, names: Sequence[tuple[str, NamedNode]]
) -> Iterable[tuple[NamedNode, str]]:
    """The concepts that the course needs and does not cover itself, each once, with what the need follows from."""
    own = set(course.covers)
    own_names = {normalise(word.text) for iri in own for word in catalogue.labels.words(iri)}
    found: dict[NamedNode, str] = {}
    for text in course.outcomes:
        for concept in _named(text, names):
            found.setdefault(concept, text)
    for iri in course.covers:
        for above in catalogue.parts.linked(iri, "broaderConcept", "narrowerConcept"):
            found.setdefault(above, catalogue.labels.of(iri).text)
    for material in course.materials:
        for concept in catalogue.parts.linked(material, "covers", "coveredIn"):
            found.setdefault(concept, catalogue.labels.of(material).text)
    for concept, because in found.items():
        names_of = {normalise(word.text) for word in catalogue.labels.words(concept)}
        if concept not in own and not names_of & own_names:
            yield concept, because


def _named(text: str, names: Sequence[tuple[str, NamedNode]]) -> Iterator[NamedNode]:
    """The concepts whose names stand in the text, the longest name where several overlap."""
    wanted = normalise(text)
    taken: list[tuple[int, int]] = []
    for name, iri in names:
        pattern = re.escape(name) if has_han(name) else rf"(?<!\w){re.escape(name)}(?!\w)"
        found = re.search(pattern, wanted)
        if found and not any(start < found.end() and found.start() < end for start, end in taken):
            taken.append(found.span())
            yield iri


def _concept_names(catalogue: CourseCatalogue) -> list[tuple[str, NamedNode]]:
    """The names of knowledge concepts that are long enough to be told from other words, the longest first."""
    found = {
        (normalise(word.text), iri)
        for iri in catalogue.parts.instances(KNOWLEDGE)
        for word in catalogue.labels.words(iri)
    }
    long_enough = ((name, iri) for name, iri in found if len(name) >= (_LEAST_HAN if has_han(name) else _LEAST_LETTERS))
    return sorted(long_enough, key=lambda item: (-len(item[0]), item[0], item[1].value))
