"""Verbs of the academic pack: ``courses`` with prerequisites, gaps and overlaps, and ``literature`` side by side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from kgplatform.cli import output
from kgplatform.cli.verb import DONE, SHORT, Given, argument, formats, language, opened, option, verb

if TYPE_CHECKING:
    from kgplatform.packs.academic.courses import (
        Chain,
        Course,
        CourseCatalogue,
        CoursePlan,
        Gap,
        Overlap,
        SharedWording,
    )
    from kgplatform.packs.academic.literature import Column, Digest, PaperComparison
    from kgplatform.packs.academic.papers import Library, Sentence, Topic, Written
    from kgplatform.types import Evidence

_ARROWS = {1: "rising", 0: "", -1: "falling"}
_MOST_LINES = 20
_WHY = {
    "no-syllabus": "asked for, what it covers is not known",
    "not-taught": "taught by no course",
    "not-before": "taught by no course before",
}


@verb("courses", reads=True)
@argument("course", "[COURSE]", required=False, help="The goal: a course, or a concept to learn.")
@option("--known", multiple=True, metavar="COURSE", help="A course taken. Repeatable.")
@language("names")
@formats("text", "json")
def courses(given: Given) -> int:
    """List the courses with gaps and overlaps, or the way to one.

    With COURSE: its prerequisites, and what remains of them for somebody who has taken the known ones.
    """
    from kgplatform.packs.academic.courses import CourseCatalogue, Parts, gaps, overlaps, reach

    with opened(given.workspace) as kg:
        parts = Parts(kg.dataset, kg.ontology, kg.registry, kg.evidence_finder.find, kg.embedder)
        catalogue = CourseCatalogue(parts, given.language)
        if not len(catalogue):
            output.note("no courses; `kgplatform add` reads syllabi into a workspace with the academic ontology")
            return SHORT
        if given.course:
            known = [catalogue.find(name).iri for name in given.known]
            plan = reach(catalogue, given.course, known)
            _show(catalogue, catalogue.chain(plan.goal), plan, as_json=given.format == "json")
        else:
            absent = gaps(catalogue)
            repeated = overlaps(catalogue, similarity=kg.settings.courses.similarity)
            _list(catalogue, absent, repeated, as_json=given.format == "json")
    return DONE


def _list(catalogue: CourseCatalogue, absent: list[Gap], repeated: list[Overlap], *, as_json: bool) -> None:
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
        ("course", "credits", "requires", "concepts", "outcomes"),
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
        output.say(f"overlap: {names} ({100 * item.share:.0f} %): {pairs}")


def _show(catalogue: CourseCatalogue, chain: Chain, plan: CoursePlan, *, as_json: bool) -> None:
    if as_json:
        output.as_json({**_course(catalogue.courses[plan.goal], catalogue), **_chain(chain), "plan": _plan(plan)})
        return
    output.say(catalogue.name(chain.goal))
    for number, layer in enumerate(chain.layers[:-1], start=1):
        output.say(f"  layer {number}: {', '.join(map(catalogue.name, layer))}")
    for cycle in chain.cycles:
        output.note(f"circular prerequisites: {', '.join(map(catalogue.name, cycle))}")
    if not plan.rounds:
        output.say("nothing left")
    else:
        output.say(f"{len(plan.remaining)} left, {plan.credits:g} credits:")
    for number, group in enumerate(plan.rounds, start=1):
        output.say(f"  round {number}: {', '.join(map(catalogue.name, group))}")
    if plan.spared:
        output.say(f"assumed completed: {', '.join(map(catalogue.name, plan.spared))}")
    if plan.advised:
        output.say(f"also recommended: {', '.join(map(catalogue.name, plan.advised))}")
    for course, count in plan.choices:
        output.say(f"or {catalogue.name(course)}: {count} left")


def _course(course: Course, catalogue: CourseCatalogue) -> dict[str, object]:
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


def _plan(plan: CoursePlan) -> dict[str, object]:
    return {
        "known": _iris(plan.known),
        "rounds": [_iris(group) for group in plan.rounds],
        "credits": plan.credits,
        "spared": _iris(plan.spared),
        "advised": _iris(plan.advised),
        "choices": [{"course": iri.value, "remaining": count} for iri, count in plan.choices],
    }


def _gap(gap: Gap, catalogue: CourseCatalogue) -> dict[str, object]:
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


def _missing(gap: Gap, catalogue: CourseCatalogue) -> str:
    is_course = gap.missing in catalogue.courses
    return catalogue.name(gap.missing) if is_course else catalogue.labels.of(gap.missing).text


def _match(match: SharedWording) -> str:
    return match.first if match.similarity >= 1 else f"{match.first} ~ {match.second} ({match.similarity:.2f})"


def _iris(iris: Iterable[NamedNode]) -> list[str]:
    return [iri.value for iri in iris]


@verb("literature", reads=True)
@argument("topic", "[TOPIC]", required=False, help="List the papers that fit it.")
@option("--compare", multiple=True, metavar="PAPER", help="Read this one in full. Repeat for more.")
@option("--no-model", is_flag=True, help="Only the papers' own sentences, without a language model.")
@language("names and texts")
@formats("text", "json")
def literature(given: Given) -> int:
    """Digest the papers, or compare chosen ones; each sentence with its passage.

    The digest reads abstracts and introductions: trends, open problems, what fits the topic, clusters, citations.
    """
    from kgplatform.packs.academic.courses import Parts
    from kgplatform.packs.academic.literature import digest, review
    from kgplatform.packs.academic.papers import Library

    with opened(given.workspace) as kg:
        model = None if given.no_model else kg.model
        parts = Parts(kg.dataset, kg.ontology, kg.registry, kg.evidence_finder.find, kg.embedder, model)
        library = Library(parts, given.language)
        if not len(library):
            output.note("no papers; `kgplatform add` reads texts that have an abstract")
            return SHORT
        if given.compare:
            found = review(library, given.compare, model=model)
            if given.format == "json":
                output.as_json({**_comparison(found.comparison), **_written_json(found.text)})
            else:
                _print_comparison(found.comparison, library)
                _print_text(found.text)
            return DONE
        made = digest(library, topic=given.topic or "", model=model)
        if given.format == "json":
            output.as_json({**_digest(made, library), **_written_json(made.text)})
        else:
            _print_digest(made, library)
            _print_text(made.text)
    return DONE


def _print_digest(made: Digest, library: Library) -> None:
    cited = library.cited_by()
    output.table(
        ("year", "paper", "cited by", "cites"),
        [(f"{paper.year or ''}", paper.title, f"{cited[paper.iri]}", f"{len(paper.cites)}") for paper in made.papers],
    )
    output.say()
    output.table(
        ("topic", "papers", "trend", "years"),
        [
            (
                trend.topic.name,
                f"{trend.total}",
                _ARROWS[trend.direction],
                ", ".join(f"{year}: {n}" for year, n in trend.years),
            )
            for trend in made.trends[:_MOST_LINES]
        ],
    )
    for cluster in made.clusters:
        output.say(f"related: {', '.join(cluster.topics)}: {'; '.join(map(library.name, cluster.papers))}")
    for topic in made.seldom:
        output.say(f"in one paper only: {topic.name}: {'; '.join(map(library.name, topic.papers))}")
    for item in made.relevant:
        output.say(f"on the topic ({item.similarity:.2f}): {library.name(item.paper)}: {item.sentence.text}")


def _print_comparison(made: PaperComparison, library: Library) -> None:
    rows = [
        (library.name(result.paper), result.value, result.metric, result.dataset, result.sentence.text)
        for column in made.columns
        for result in column.results
    ]
    if rows:
        output.table(("paper", "value", "metric", "data set", "passage"), rows, widest=48)
    for column in made.columns:
        output.say(f"{column.paper.title}{f' ({column.paper.year})' if column.paper.year else ''}")
        for name, values in column.aspects.items():
            if values:
                output.say(f"  {name}: {', '.join(value.name for value in values)}")
        for sentence in column.details:
            output.say(f"  - {sentence.text}")
    for item in made.suggestions:
        output.say(f"{item.kind.value}: {'; '.join(map(library.name, item.papers))}: {item.about}")


def _print_text(text: Written) -> None:
    from kgplatform.packs.academic.literature import numbered

    sources = numbered(text)
    output.say()
    for part in dict.fromkeys(item.part for item in text.sentences):
        output.say(f"{part}:")
        for item in text.part(part):
            marks = "".join(f"[{sources.index(source) + 1}]" for source in item.sources)
            output.say(f"  {item.text} {marks}")
    for number, source in enumerate(sources, start=1):
        output.say(f"[{number}] {source.title}, characters {source.start} to {source.end}")
    if text.trouble:
        output.note(f"the model's text was rejected: {text.trouble}")
    for dropped in text.dropped:
        output.note(f"left out: {dropped.text} ({dropped.reason})")


def _digest(made: Digest, library: Library) -> dict[str, object]:
    return {
        "papers": [
            {"iri": p.iri.value, "title": p.title, "year": p.year, "cites": [iri.value for iri in p.cites]}
            for p in made.papers
        ],
        "trends": [
            {**_topic(trend.topic), "years": dict(trend.years), "direction": trend.direction} for trend in made.trends
        ],
        "gaps": [{"score": item.score, **_sentence(item.sentence)} for item in made.gaps],
        "seldom": [_topic(topic) for topic in made.seldom],
        "relevant": [{"similarity": item.similarity, **_sentence(item.sentence)} for item in made.relevant],
        "clusters": [
            {"topics": list(cluster.topics), "papers": [iri.value for iri in cluster.papers]}
            for cluster in made.clusters
        ],
        "citations": [
            {"paper": item.paper.value, "cites": item.cited.value, "title": library.name(item.cited)}
            for item in made.citations
        ],
    }


def _topic(topic: Topic) -> dict[str, object]:
    return {
        "topic": topic.name,
        "iri": topic.iri.value if topic.iri else None,
        "papers": [iri.value for iri in topic.papers],
    }


def _comparison(made: PaperComparison) -> dict[str, object]:
    return {
        "papers": [_column(column) for column in made.columns],
        "suggestions": [
            {
                "kind": item.kind.value,
                "papers": [iri.value for iri in item.papers],
                "about": item.about,
                "passages": [_sentence(sentence) for sentence in item.sentences],
            }
            for item in made.suggestions
        ],
    }


def _column(column: Column) -> dict[str, object]:
    return {
        "iri": column.paper.iri.value,
        "title": column.paper.title,
        "year": column.paper.year,
        **{name: [value.name for value in values] for name, values in column.aspects.items()},
        "details": [_sentence(item) for item in column.details],
        "results": [
            {"value": r.value, "metric": r.metric, "dataset": r.dataset or None, **_sentence(r.sentence)}
            for r in column.results
        ],
    }


def _sentence(item: Sentence) -> dict[str, object]:
    return {"paper": item.paper.value, "text": item.text, **_place(item.source)}


def _place(source: Evidence) -> dict[str, object]:
    return {"document": source.document.value, "start": source.start, "end": source.end}


def _written_json(text: Written) -> dict[str, object]:
    return {
        "model": text.model,
        "sentences": [
            {
                "part": item.part,
                "text": item.text,
                "sources": [{**_place(source), "quote": source.quote} for source in item.sources],
            }
            for item in text.sentences
        ],
        "dropped": [{"text": item.text, "reason": item.reason} for item in text.dropped],
        "trouble": text.trouble or None,
    }
