"""From what somebody wants to learn, a course or a concept, to the path that leads there."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from pyoxigraph import NamedNode

from kgplatform.academic.courses import Catalogue, Plan
from kgplatform.academic.terms import CONCEPT
from kgplatform.errors import NotFoundError
from kgplatform.text import normalise
from kgplatform.vocab import ALT_LABEL, LABEL


def reach(catalogue: Catalogue, goal: str, known: Sequence[NamedNode] = ()) -> Plan:
    """The path to the course of that name, else to the nearest course that covers the concept of that name.

    Raises:
        NotFoundError: nothing is called so, or no course teaches it; the message offers the nearest names.
    """
    try:
        return catalogue.plan(catalogue.find(goal).iri, known)
    except NotFoundError:
        concepts = _concepts(catalogue)
        found = concepts.get(normalise(goal), [])
        if not found:
            raise _unknown(catalogue, goal, list(concepts)) from None
    plans = [plan for iri in found if (plan := catalogue.plan_for(iri, known)) is not None]
    if not plans:
        raise NotFoundError(f"no course in the graph teaches {goal!r}", name=goal)
    return min(plans, key=lambda plan: len(plan.remaining))


def _concepts(catalogue: Catalogue) -> dict[str, list[NamedNode]]:
    found: dict[str, list[NamedNode]] = {}
    for iri in catalogue.parts.instances(CONCEPT):
        for word in (*catalogue.labels.words(iri, (LABEL,)), *catalogue.labels.words(iri, (ALT_LABEL,))):
            found.setdefault(normalise(word.text), []).append(iri)
    return found


def _unknown(catalogue: Catalogue, goal: str, concepts: list[str]) -> NotFoundError:
    names = [*(course.name for course in catalogue.courses.values()), *concepts]
    names += [name for course in catalogue.courses.values() for name in (course.title, course.code) if name]
    near = difflib.get_close_matches(goal, names, n=2, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "`kgplatform courses` lists the courses"
    return NotFoundError(f"no course or concept is called {goal!r}; {hint}", name=goal)
