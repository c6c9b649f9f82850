"""The Courses pages: all courses with gaps and overlaps, and one with its prerequisite chain and the path to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, redirect, request
from pyoxigraph import NamedNode

from kgplatform.academic.courses import Catalogue, Course, Plan
from kgplatform.academic.goals import reach
from kgplatform.academic.syllabi import Gap, Overlap, gaps, overlaps
from kgplatform.academic.terms import Parts
from kgplatform.web.course_views import CourseViews
from kgplatform.web.frame import Frame, language, page
from kgplatform.web.needs import Graph
from kgplatform.web.remembering import Remembered
from kgplatform.web.sheets import Sheet, csv_of
from kgplatform.web.tables import Cell

_MOST_KNOWN = 200


@dataclass(frozen=True, slots=True)
class Planned:
    """A path for its page: the plan, its table, and the courses beside it."""

    plan: Plan
    sheet: Sheet
    spared: list[Cell] = field(default_factory=list)
    advised: list[Cell] = field(default_factory=list)
    choices: list[tuple[Cell, int]] = field(default_factory=list)


def blueprint(kg: Graph) -> Blueprint:
    """The routes of the courses."""
    routes = Blueprint("courses", __name__)
    kept = Remembered(kg)

    def read() -> Catalogue:
        return kept.get(("catalogue", language()), lambda: Catalogue(parts_of(kg), language()))

    def twice() -> list[Overlap]:
        least = kg.settings.courses.similarity
        return kept.get(("overlaps", language()), lambda: overlaps(read(), similarity=least))

    def missing() -> list[Gap]:
        return kept.get(("gaps", language()), lambda: gaps(read()))

    @routes.get("/courses")
    def courses() -> Any:
        catalogue, frame = read(), Frame(language(), kg.base)
        views = CourseViews(catalogue, frame)
        goal = request.args.get("goal", "").strip()[:500]
        if goal:
            return _towards(catalogue, views, goal)
        if not catalogue.courses:
            return page("courses.html", kg.base, empty=True)
        listed, absent, repeated = views.courses(), views.gaps(missing()), views.overlaps(twice())
        wanted = csv_of(listed, absent, repeated)
        if wanted:
            return wanted
        return page(
            "courses.html",
            kg.base,
            empty=False,
            total=len(catalogue),
            steps=sum(len(catalogue.needs(iri)) for iri in catalogue.courses),
            goals=[course.name for course in catalogue.sorted()],
            choices=catalogue.sorted(),
            listed=listed,
            gaps=absent,
            overlaps=repeated,
            picture=views.whole(),
            similarity=kg.settings.courses.similarity,
        )

    @routes.get("/courses/<path:name>")
    def course(name: str) -> Any:
        catalogue = read()
        views = CourseViews(catalogue, Frame(language(), kg.base))
        found = catalogue.find(name)
        known = _known(catalogue)
        chain = catalogue.chain(found.iri)
        planned = _planned(_plan(catalogue, found, known), views)
        steps = views.steps(chain)
        absent = views.gaps(gap for gap in missing() if gap.course == found.iri)
        repeated = views.overlaps(item for item in twice() if found.iri in (item.first, item.second))
        wanted = csv_of(steps, planned.sheet, absent, repeated)
        if wanted:
            return wanted
        return page(
            "course.html",
            kg.base,
            course=found,
            chain=chain,
            layers=[[views.link(iri) for iri in layer] for layer in chain.layers],
            cycles=[[catalogue.name(iri) for iri in cycle] for cycle in chain.cycles],
            steps=steps,
            planned=planned,
            known=frozenset(known),
            candidates=_candidates(catalogue, found, known),
            opens=[views.link(iri) for iri in catalogue.after(found.iri)],
            concepts=[catalogue.labels.reference(iri) for iri in found.covers],
            gaps=absent,
            overlaps=repeated,
            picture=views.chain(chain, (*known, *planned.plan.spared)),
            similarity=kg.settings.courses.similarity,
        )

    return routes


def parts_of(kg: Graph) -> Parts:
    """What the studies draw on, of a workspace."""
    return Parts(kg.dataset, kg.ontology, kg.registry, kg.evidence_finder.find, kg.embedder, kg.model)


def _towards(catalogue: Catalogue, views: CourseViews, goal: str) -> Any:
    """The page of the course that is the goal, or of the nearest one that teaches it."""
    known = _known(catalogue)
    course = reach(catalogue, goal, known).goal
    address = views.address(course, known)
    if goal in (catalogue.courses[course].name, catalogue.courses[course].code):
        return redirect(address, 303)
    return redirect(f"{address}{'&' if '?' in address else '?'}{urlencode({'towards': goal})}", 303)


def _plan(catalogue: Catalogue, course: Course, known: Sequence[NamedNode]) -> Plan:
    """The path to the course; with the other courses that teach what the address says is wanted, if it does."""
    towards = request.args.get("towards", "").strip()[:500]
    if towards:
        plan = reach(catalogue, towards, known)
        if plan.goal == course.iri:
            return plan
    return catalogue.plan(course.iri, known)


def _known(catalogue: Catalogue) -> list[NamedNode]:
    """The courses taken, as the address says; a name that is no course is refused."""
    names = request.args.getlist("known")[:_MOST_KNOWN]
    return list(dict.fromkeys(catalogue.find(name).iri for name in names if name.strip()))


def _planned(plan: Plan, views: CourseViews) -> Planned:
    return Planned(
        plan,
        views.plan(plan),
        [views.link(iri) for iri in plan.spared],
        [views.link(iri) for iri in plan.advised],
        [(views.link(iri), count) for iri, count in plan.choices],
    )


def _candidates(catalogue: Catalogue, course: Course, known: Sequence[NamedNode]) -> list[Course]:
    """The courses one may have taken on the way: those before this one, and those given."""
    before = catalogue.before(course.iri)
    return [item for item in catalogue.sorted() if (item.iri in before or item.iri in known) and item.iri != course.iri]
