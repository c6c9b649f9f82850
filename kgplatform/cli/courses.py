"""``courses``: all courses with gaps and overlaps, or the way to one of them, or to one that teaches a concept."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from pyoxigraph import NamedNode

from kgplatform.academic.courses import Catalogue, Chain, Course, Plan
from kgplatform.academic.goals import reach
from kgplatform.academic.syllabi import Gap, Match, Overlap, gaps, overlaps
from kgplatform.academic.terms import Parts
from kgplatform.cli import output
from kgplatform.graph import KnowledgeGraph

_WHY = {
    "no-syllabus": "asked for, without a syllabus",
    "not-taught": "taught by no course",
    "not-before": "taught by no course before",
}


def run(given: argparse.Namespace) -> int:
    """Prints the courses, or one of them; 1 if there are none."""
    with KnowledgeGraph.open(given.workspace) as kg:
        parts = Parts(kg.dataset, kg.ontology, kg.registry, kg.evidence_finder.find, kg.embedder)
        catalogue = Catalogue(parts, given.language)
        if not len(catalogue):
            output.note("no courses; `kgplatform add` reads syllabi into a workspace with the academic ontology")
            return 1
        if given.course:
            known = [catalogue.find(name).iri for name in given.known]
            plan = reach(catalogue, given.course, known)
            _show(catalogue, catalogue.chain(plan.goal), plan, as_json=given.format == "json")
        else:
            absent = gaps(catalogue)
            repeated = overlaps(catalogue, similarity=kg.settings.courses.similarity)
            _list(catalogue, absent, repeated, as_json=given.format == "json")
    return 0


def _list(catalogue: Catalogue, absent: list[Gap], repeated: list[Overlap], *, as_json: bool) -> None:
    if as_json:
        output.as_json(
            {
                "courses": [_course(course, catalogue) for course in catalogue.sorted()],
                "gaps": [_gap(gap, catalogue) for gap in absent],
                "overlaps": [_overlap(item) for item in repeated],
            }
        )
        return
    output.table(
        ("course", "credits", "asks for", "concepts", "outcomes"),
        [
            (
                course.name,
                f"{course.credits:g}" if course.credits is not None else "",
                ", ".join(catalogue.courses[iri].code or catalogue.name(iri) for iri in catalogue.needs(course.iri)),
                f"{len(course.covers)}",
                f"{len(course.outcomes)}",
            )
            for course in catalogue.sorted()
        ],
    )
    for gap in absent:
        because = f" ({gap.because})" if gap.because else ""
        taught = f": {', '.join(map(catalogue.name, gap.taught))}" if gap.taught else ""
        output.say(f"gap: {catalogue.name(gap.course)}: {_missing(gap, catalogue)}{because}, {_WHY[gap.kind]}{taught}")
    for item in repeated:
        pairs = "; ".join(map(_match, (*item.concepts, *item.outcomes)))
        names = f"{catalogue.name(item.first)} and {catalogue.name(item.second)}"
        output.say(f"taught twice: {names} ({100 * item.share:.0f} %): {pairs}")


def _show(catalogue: Catalogue, chain: Chain, plan: Plan, *, as_json: bool) -> None:
    if as_json:
        output.as_json({**_course(catalogue.courses[plan.goal], catalogue), **_chain(chain), "plan": _plan(plan)})
        return
    output.say(catalogue.name(chain.goal))
    for number, layer in enumerate(chain.layers[:-1], start=1):
        output.say(f"  layer {number}: {', '.join(map(catalogue.name, layer))}")
    for cycle in chain.cycles:
        output.note(f"these ask for one another: {', '.join(map(catalogue.name, cycle))}")
    if not plan.rounds:
        output.say("nothing remains")
    else:
        output.say(f"{len(plan.remaining)} remain, {plan.credits:g} credits:")
    for number, group in enumerate(plan.rounds, start=1):
        output.say(f"  round {number}: {', '.join(map(catalogue.name, group))}")
    if plan.spared:
        output.say(f"taken to be behind you: {', '.join(map(catalogue.name, plan.spared))}")
    if plan.advised:
        output.say(f"advised besides: {', '.join(map(catalogue.name, plan.advised))}")
    for course, count in plan.choices:
        output.say(f"or {catalogue.name(course)}: {count} remain")


def _course(course: Course, catalogue: Catalogue) -> dict[str, object]:
    return {
        "iri": course.iri.value,
        "code": course.code or None,
        "title": course.title,
        "credits": course.credits,
        "needs": _iris(catalogue.needs(course.iri)),
        "advised": _iris(catalogue.advises(course.iri)),
        "concepts": [catalogue.labels.of(iri).text for iri in course.covers],
        "outcomes": list(course.outcomes),
    }


def _chain(chain: Chain) -> dict[str, object]:
    return {
        "layers": [_iris(layer) for layer in chain.layers],
        "cycles": [_iris(cycle) for cycle in chain.cycles],
        "steps": [
            {
                "course": step.course.value,
                "needs": step.needs.value,
                "advised": step.advised,
                "quotes": [passage.quote for passage in step.evidence],
            }
            for step in chain.steps
        ],
    }


def _plan(plan: Plan) -> dict[str, object]:
    return {
        "known": _iris(plan.known),
        "rounds": [_iris(group) for group in plan.rounds],
        "credits": plan.credits,
        "spared": _iris(plan.spared),
        "advised": _iris(plan.advised),
        "choices": [{"course": iri.value, "remaining": count} for iri, count in plan.choices],
    }


def _gap(gap: Gap, catalogue: Catalogue) -> dict[str, object]:
    return {
        "kind": gap.kind.value,
        "course": gap.course.value,
        "missing": gap.missing.value,
        "label": _missing(gap, catalogue),
        "because": gap.because or None,
        "taught": _iris(gap.taught),
    }


def _overlap(item: Overlap) -> dict[str, object]:
    return {
        "first": item.first.value,
        "second": item.second.value,
        "share": item.share,
        "ordered": item.ordered,
        "concepts": [[match.first, match.second, match.similarity] for match in item.concepts],
        "outcomes": [[match.first, match.second, match.similarity] for match in item.outcomes],
    }


def _missing(gap: Gap, catalogue: Catalogue) -> str:
    is_course = gap.missing in catalogue.courses
    return catalogue.name(gap.missing) if is_course else catalogue.labels.of(gap.missing).text


def _match(match: Match) -> str:
    return match.first if match.similarity >= 1 else f"{match.first} ~ {match.second} ({match.similarity:.2f})"


def _iris(iris: Iterable[NamedNode]) -> list[str]:
    return [iri.value for iri in iris]
