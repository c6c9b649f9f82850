"""What the academic plug-in brings to the server: the pages of courses and of literature.

All courses with gaps and overlaps, and one with its prerequisite chain and the path to it; a digest of all papers, and
chosen ones compared: a model writes only when asked to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from flask import Blueprint, redirect, request
from pyoxigraph import NamedNode

from kgplatform.errors import NotFoundError
from kgplatform.packs.academic.courses import (
    Chain,
    Course,
    CourseCatalogue,
    CoursePlan,
    Gap,
    Overlap,
    Parts,
    SharedWording,
    gaps,
    overlaps,
    reach,
    suggestions,
)
from kgplatform.packs.academic.literature import (
    ASPECTS,
    Column,
    Digest,
    PaperComparison,
    PaperReview,
    Suggestion,
    digest,
    most_cited,
    numbered,
    review,
)
from kgplatform.packs.academic.papers import CitedSentence, Library, Sentence, Topic, Trend, Written
from kgplatform.server import addresses
from kgplatform.server.frame import Frame, PluginPages, Remembered, language, page
from kgplatform.server.pages.documents import filling
from kgplatform.server.result_tables import Cell, Sheet, csv_of, number, passages, sheet
from kgplatform.types import ChatModel, Evidence
from kgplatform.vocab import ACADEMIC, local_name

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph


def pages(kg: KnowledgeGraph) -> PluginPages:
    """The pages, with their names and words."""
    return PluginPages(
        blueprints=(course_pages(kg), literature_pages(kg)),
        navigation=(("courses", "/courses"), ("literature", "/literature")),
        words=Path(__file__).with_name("words"),
    )


_MOST_COURSES = 300
_ALL = f"""PREFIX academic: <{ACADEMIC}>
SELECT ?course ?needs WHERE {{
  ?course academic:hasPrerequisite ?needs .
}}
"""


class CourseViews:
    """Makes what the pages show of one catalogue, in the words of one frame."""

    def __init__(self, catalogue: CourseCatalogue, frame: Frame) -> None:
        self._catalogue = catalogue
        self._f = frame

    def address(self, iri: NamedNode, known: Iterable[NamedNode] = ()) -> str:
        """The course's page, with what is known of the reader."""
        course = self._catalogue.courses[iri]
        page = f"/courses/{quote(course.code or local_name(course.iri.value), safe='')}"
        taken = [("known", self._catalogue.courses[other].code or other.value) for other in known]
        return f"{page}?{urlencode(taken)}" if taken else page

    def link(self, iri: NamedNode) -> Cell:
        """The course with its page."""
        return Cell(self._catalogue.name(iri), self.address(iri), iri.value)

    def courses(self) -> Sheet:
        """All courses."""
        t = self._f.t
        columns = (t("course"), t("credits"), t("prerequisites"), t("opens"), t("concepts"), t("outcomes"))
        return sheet("courses", columns, (self._row(course) for course in self._catalogue.sorted()))

    def _row(self, course: Course) -> Iterable[Cell]:
        catalogue = self._catalogue
        yield self.link(course.iri)
        yield self._credits(course.iri)
        yield self._names(catalogue.needs(course.iri))
        yield self._names(catalogue.after(course.iri))
        yield number(len(course.covers))
        yield number(len(course.outcomes))

    def _names(self, courses: Iterable[NamedNode]) -> Cell:
        listed = [self._catalogue.courses[iri] for iri in courses]
        return Cell(self._f.t("comma").join(course.code or course.name for course in listed))

    def steps(self, chain: Chain) -> Sheet:
        """Each prerequisite of the chain with its layer and source."""
        t = self._f.t
        place = {course: n for n, layer in enumerate(chain.layers, start=1) for course in layer}
        rows = (
            (
                number(place[step.course]),
                self.link(step.course),
                self.link(step.needs),
                Cell(t("advised" if step.advised else "demanded")),
                passages(step.evidence, self._f.base),
            )
            for step in sorted(chain.steps, key=lambda step: (place[step.course], self._catalogue.name(step.course)))
        )
        columns = (t("layer_column"), t("course"), t("needs_column"), t("strength"), t("source_column"))
        return sheet("prerequisites", columns, rows)

    def plan(self, plan: CoursePlan) -> Sheet:
        """What remains, by rounds."""
        t = self._f.t
        rows = (
            (number(n), self.link(course), self._credits(course), self._names(self._catalogue.needs(course)))
            for n, group in enumerate(plan.rounds, start=1)
            for course in group
        )
        return sheet("plan", (t("round_column"), t("course"), t("credits"), t("prerequisites")), rows)

    def _credits(self, iri: NamedNode) -> Cell:
        points = self._catalogue.courses[iri].credits
        return Cell("" if points is None else f"{points:g}", numeric=True, amount=points)

    def gaps(self, gaps: Iterable[Gap]) -> Sheet:
        """What is needed and not taught."""
        t = self._f.t
        rows = (
            (
                self.link(gap.course),
                self._missing(gap),
                Cell(t(f"gap_{gap.kind.value}")),
                Cell(gap.because),
                self._names(gap.taught),
            )
            for gap in gaps
        )
        return sheet("gaps", (t("course"), t("missing"), t("why_missing"), t("because"), t("taught_in")), rows)

    def _missing(self, gap: Gap) -> Cell:
        if gap.missing in self._catalogue.courses:
            return self.link(gap.missing)
        text = self._catalogue.labels.of(gap.missing).text
        return Cell(text, addresses.of_iri(gap.missing, self._f.base), gap.missing.value)

    def overlaps(self, overlaps: Iterable[Overlap]) -> Sheet:
        """What is taught twice."""
        t = self._f.t
        rows = (
            (
                self.link(item.first),
                self.link(item.second),
                Cell("; ".join(map(_match, (*item.concepts, *item.outcomes)))),
                Cell(f"{100 * item.share:.0f} %", numeric=True, amount=item.share),
                Cell(t("yes" if item.ordered else "no")),
            )
            for item in overlaps
        )
        return sheet("overlaps", (t("course"), t("other_course"), t("shared"), t("share"), t("ordered")), rows)

    def picture(self, needs: Mapping[NamedNode, Iterable[NamedNode]], query: str, **marks: Any) -> dict[str, Any]:
        """A layered graph of courses and what they ask for; ``marks``: ``goal``, ``taken`` and ``advised`` pairs."""
        kinds = ["needed", "taken", "named", "goal"]
        shown = list(needs)[:_MOST_COURSES]
        drawn = set(shown)
        goal, taken = marks.get("goal"), frozenset(marks.get("taken", ()))
        nodes: list[dict[str, Any]] = [
            {
                "id": iri.value,
                "label": (course := self._catalogue.courses[iri]).code or course.name,
                "title": course.name,
                "href": self.address(iri),
                "class": 3 if iri == goal else 1 if iri in taken else 2 if course.bare else 0,
                "focus": iri == goal,
            }
            for iri in shown
        ]
        edges = [
            {"source": other.value, "target": iri.value, "label": "", "kind": ""}
            for iri in shown
            for other in needs[iri]
            if other in drawn
        ]
        edges += [
            {"source": other.value, "target": iri.value, "label": self._f.t("advised"), "kind": "weak"}
            for iri, other in marks.get("advised", ())
            if iri in drawn and other in drawn
        ]
        colours = (0, 2, 3, 1)
        used = {node["class"] for node in nodes}
        classes = [
            {"label": self._f.t(f"kind_{kind if goal or n else 'described'}"), "color": colours[n], "href": ""}
            for n, kind in enumerate(kinds)
        ]
        kept = [n for n in range(len(kinds)) if n in used]
        for node in nodes:
            node["class"] = kept.index(node["class"])
        return {
            "nodes": nodes,
            "edges": edges,
            "classes": [classes[n] for n in kept],
            "layout": "layers",
            "direction": "right",
            "query": query,
            "total": {"nodes": len(needs), "edges": len(edges)},
        }

    def whole(self) -> dict[str, Any]:
        """The picture of all courses that ask for another, or are asked for."""
        tied = {
            iri: self._catalogue.needs(iri)
            for iri in self._catalogue.courses
            if self._catalogue.needs(iri) or self._catalogue.after(iri)
        }
        return self.picture(tied, _ALL)

    def chain(self, chain: Chain, taken: Iterable[NamedNode]) -> dict[str, Any]:
        """The picture of the chain before a course."""
        needs: dict[NamedNode, list[NamedNode]] = {iri: [] for layer in chain.layers for iri in layer}
        for step in chain.steps:
            if not step.advised:
                needs[step.course].append(step.needs)
        advised = [(step.course, step.needs) for step in chain.steps if step.advised]
        query = chain_query(self._catalogue.courses[chain.goal])
        return self.picture(needs, query, goal=chain.goal, taken=taken, advised=advised)


def chain_query(course: Course) -> str:
    """The SPARQL that gives the chain before the course."""
    nodes = " ".join(str(node) for node in course.nodes)
    return (
        f"PREFIX academic: <{ACADEMIC}>\nSELECT ?course ?needs WHERE {{\n  VALUES ?goal {{ {nodes} }}\n"
        "  ?goal academic:hasPrerequisite* ?course .\n  ?course academic:hasPrerequisite ?needs .\n}\n"
    )


def _match(match: SharedWording) -> str:
    if match.similarity >= 1:
        return match.first
    return f"{match.first} ≈ {match.second} ({match.similarity:.2f})"


_MOST_KNOWN = 200


@dataclass(frozen=True, slots=True)
class Planned:
    """A path for its page: the plan, its table, and the courses beside it."""

    plan: CoursePlan
    sheet: Sheet
    spared: list[Cell] = field(default_factory=list)
    advised: list[Cell] = field(default_factory=list)
    choices: list[tuple[Cell, int]] = field(default_factory=list)


def course_pages(kg: KnowledgeGraph) -> Blueprint:
    """The routes of the courses."""
    routes = Blueprint("courses", __name__, template_folder="templates")
    kept = Remembered(kg)

    def read() -> CourseCatalogue:
        return kept.get(("catalogue", language()), lambda: CourseCatalogue(parts_of(kg), language()))

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
        if (near := _near(catalogue, goal)) is None and goal:
            return _towards(catalogue, views, goal)
        if not catalogue.courses:
            return page("courses.html", kg.base, empty=True, **filling(kg, "academic"))
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
            status=404 if near is not None else 200,
            **{"goal": goal, "near": near, "known": request.args.getlist("known")},
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


def parts_of(kg: KnowledgeGraph) -> Parts:
    """What the studies draw on, of a workspace."""
    return Parts(kg.dataset, kg.ontology, kg.registry, kg.evidence_finder.find, kg.embedder, kg.model)


def _near(catalogue: CourseCatalogue, goal: str) -> list[str] | None:
    """What may have been meant by a goal that is not known; None where it is, or where there is none."""
    try:
        _ = goal and reach(catalogue, goal)
    except NotFoundError:
        return suggestions(catalogue, goal)
    return None


def _towards(catalogue: CourseCatalogue, views: CourseViews, goal: str) -> Any:
    """The page of the course that is the goal, or of the nearest one that teaches it."""
    known = _known(catalogue)
    course = reach(catalogue, goal, known).goal
    address = views.address(course, known)
    if goal in (catalogue.courses[course].name, catalogue.courses[course].code):
        return redirect(address, 303)
    return redirect(f"{address}{'&' if '?' in address else '?'}{urlencode({'towards': goal})}", 303)


def _plan(catalogue: CourseCatalogue, course: Course, known: Sequence[NamedNode]) -> CoursePlan:
    """The path to the course; with the other courses that teach what the address says is wanted, if it does."""
    towards = request.args.get("towards", "").strip()[:500]
    if towards:
        plan = reach(catalogue, towards, known)
        if plan.goal == course.iri:
            return plan
    return catalogue.plan(course.iri, known)


def _known(catalogue: CourseCatalogue) -> list[NamedNode]:
    """The courses taken, as the address says; a name that is no course is refused."""
    names = request.args.getlist("known")[:_MOST_KNOWN]
    return list(dict.fromkeys(catalogue.find(name).iri for name in names if name.strip()))


def _planned(plan: CoursePlan, views: CourseViews) -> Planned:
    return Planned(
        plan,
        views.plan(plan),
        [views.link(iri) for iri in plan.spared],
        [views.link(iri) for iri in plan.advised],
        [(views.link(iri), count) for iri, count in plan.choices],
    )


def _candidates(catalogue: CourseCatalogue, course: Course, known: Sequence[NamedNode]) -> list[Course]:
    """The courses one may have taken on the way: those before this one, and those given."""
    before = catalogue.before(course.iri)
    return [item for item in catalogue.sorted() if (item.iri in before or item.iri in known) and item.iri != course.iri]


CITES = f"""PREFIX academic: <{ACADEMIC}>
SELECT ?paper ?cited WHERE {{
  ?paper academic:cites ?cited .
}}
"""

_DRAWN_TOPICS = 6
_MOST_PAPERS = 200
_SHORT = 28


@dataclass(frozen=True, slots=True)
class CitedLine:
    """A sentence of a text with the numbers of its sources; ``title`` of the one that it is taken from."""

    text: str
    marks: tuple[int, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text with its sentences."""

    name: str
    lines: tuple[CitedLine, ...]


def _parts_of_text(text: Written) -> tuple[list[TextPart], list[Evidence]]:
    """The parts of a text, and the sources that its marks refer to."""
    sources = numbered(text)
    places = {source: n for n, source in enumerate(sources, start=1)}
    names = dict.fromkeys(item.part for item in text.sentences)
    return [
        TextPart(name, tuple(_line(item, places, is_own=text.model is None) for item in text.part(name)))
        for name in names
    ], sources


def _line(item: CitedSentence, places: Mapping[Evidence, int], *, is_own: bool) -> CitedLine:
    title = item.sources[0].title if is_own and item.sources else ""
    return CitedLine(item.text, tuple(places[source] for source in item.sources), title)


class LiteratureViews:
    """Makes what the pages show of one library, in the words of one frame."""

    def __init__(self, library: Library, frame: Frame) -> None:
        self._library = library
        self._f = frame

    def link(self, iri: NamedNode) -> Cell:
        """A paper with its page."""
        return Cell(self._library.name(iri), addresses.of_iri(iri, self._f.base), iri.value)

    def sentence(self, item: Sentence) -> Cell:
        """A sentence that opens its passage."""
        return Cell(item.text, addresses.of_passage(item.source, self._f.base), item.source.title)

    def tables(self, made: Digest) -> dict[str, Sheet]:
        """All tables of a digest, by what templates call them."""
        return {
            "papers": self.papers(made),
            "relevant": self.relevant(made),
            "trends": self.trends(made.trends),
            "gaps": self.gaps(made),
            "seldom": self.seldom(made),
            "clusters": self.clusters(made),
            "citations": self.citations(made),
        }

    def papers(self, made: Digest) -> Sheet:
        """All papers with a text."""
        t = self._f.t
        cited = most_cited(made.citations)
        groups = {iri: n for n, cluster in enumerate(made.clusters, start=1) for iri in cluster.papers}
        rows = (
            (
                Cell(
                    f"{paper.year or ''}",
                    title=t("year_read") if paper.year_read else "",
                    numeric=True,
                    amount=float(paper.year or 0),
                ),
                self.link(paper.iri),
                number(cited[paper.iri]),
                number(len(paper.cites)),
                number(groups.get(paper.iri, 0)),
            )
            for paper in made.papers
        )
        return sheet("papers", (t("year"), t("paper"), t("cited_by"), t("cites"), t("cluster")), rows)

    def trends(self, found: Iterable[Trend]) -> Sheet:
        """The topics by year."""
        t = self._f.t
        rows = (
            (
                self._topic(trend.topic),
                number(trend.total),
                Cell(t({1: "rising", 0: "steady", -1: "falling"}[trend.direction])),
                Cell(t("comma").join(f"{year}: {count}" for year, count in trend.years)),
                passages([trend.topic.passages[-1].source], self._f.base),
            )
            for trend in found
        )
        return sheet("trends", (t("topic"), t("papers"), t("trend"), t("years"), t("source_column")), rows)

    def _topic(self, topic: Topic) -> Cell:
        if topic.iri is None:
            return Cell(topic.name)
        return Cell(topic.name, addresses.of_iri(topic.iri, self._f.base), topic.iri.value)

    def gaps(self, made: Digest) -> Sheet:
        """What is open, by the papers' own words."""
        t = self._f.t
        rows = ((self.sentence(item.sentence), self.link(item.sentence.paper)) for item in made.gaps)
        return sheet("open-problems", (t("sentence"), t("paper")), rows)

    def seldom(self, made: Digest) -> Sheet:
        """What only one paper deals with."""
        t = self._f.t
        rows = ((self._topic(item), self.link(item.papers[0]), self.sentence(item.passages[0])) for item in made.seldom)
        return sheet("seldom-studied", (t("topic"), t("paper"), t("sentence")), rows)

    def relevant(self, made: Digest) -> Sheet:
        """The papers that fit the topic."""
        t = self._f.t
        rows = ((number(r.similarity), self.link(r.paper), self.sentence(r.sentence)) for r in made.relevant)
        return sheet("relevant", (t("similarity"), t("paper"), t("sentence")), rows)

    def clusters(self, made: Digest) -> Sheet:
        """The papers by cluster, with what sets the cluster apart."""
        t = self._f.t
        rows = (
            (number(n), Cell(t("comma").join(cluster.topics)), self.link(iri))
            for n, cluster in enumerate(made.clusters, start=1)
            for iri in cluster.papers
        )
        return sheet("clusters", (t("cluster"), t("topics"), t("paper")), rows)

    def citations(self, made: Digest) -> Sheet:
        """Who cites whom."""
        t = self._f.t
        years = {paper.iri: paper.year for paper in made.papers}
        rows = (
            (
                Cell(f"{years.get(item.paper) or ''}", numeric=True, amount=float(years.get(item.paper) or 0)),
                self.link(item.paper),
                self.link(item.cited),
                Cell(f"{years.get(item.cited) or ''}", numeric=True, amount=float(years.get(item.cited) or 0)),
            )
            for item in made.citations
        )
        return sheet("citations", (t("year"), t("paper"), t("cites"), t("year")), rows)

    def trend_picture(self, made: Digest) -> dict[str, Any]:
        """How many papers a year deal with the topics that change most."""
        moving = sorted(made.trends, key=lambda trend: (trend.direction == 0, -trend.total))[:_DRAWN_TOPICS]
        years = sorted({paper.year for paper in made.papers if paper.year is not None})
        rows = [
            {"x": str(year), "y": dict(trend.years).get(year, 0), "series": trend.topic.name}
            for trend in moving
            for year in years
        ]
        return {
            "kind": "bars",
            "x": {"label": self._f.t("year"), "type": "category"},
            "y": {"label": self._f.t("papers"), "type": "number"},
            "series": [trend.topic.name for trend in moving],
            "rows": rows,
            "note": self._f.t("trends_note"),
        }

    def network(self, made: Digest) -> dict[str, Any]:
        """The citations as a graph, older papers first."""
        library = self._library
        iris = list(dict.fromkeys([paper.iri for paper in made.papers] + [item.cited for item in made.citations]))
        shown = iris[:_MOST_PAPERS]
        years = sorted({year for iri in shown if (year := library.papers[iri].year) is not None})
        groups = {iri: n for n, cluster in enumerate(made.clusters) for iri in cluster.papers}
        names = [
            self._f.t("cluster_named", n=n + 1, topics=self._f.t("comma").join(c.topics))
            for n, c in enumerate(made.clusters)
        ]
        cited = most_cited(made.citations)
        drawn = frozenset(shown)
        return {
            "nodes": [
                {
                    "id": iri.value,
                    "label": _short(library.name(iri), library.papers[iri].year),
                    "title": library.name(iri),
                    "href": addresses.of_iri(iri, self._f.base),
                    "class": groups.get(iri),
                    "layer": years.index(year) if (year := library.papers[iri].year) is not None else 0,
                    "size": 1 + min(1.0, cited[iri] / 10),
                    "faded": not library.papers[iri].texts,
                }
                for iri in shown
            ],
            "edges": [
                {"source": item.cited.value, "target": item.paper.value, "label": "", "kind": ""}
                for item in made.citations
                if item.paper in drawn and item.cited in drawn
            ],
            "classes": [{"label": name, "color": n, "href": ""} for n, name in enumerate(names)],
            "layout": "layers",
            "direction": "right",
            "query": CITES,
            "note": self._f.t("network_note"),
            "total": {"nodes": len(iris), "edges": len(made.citations)},
        }

    # chosen papers

    def compared(self, made: PaperComparison) -> Sheet:
        """The papers side by side, an aspect a row."""
        t = self._f.t
        columns = (t("aspect"), *(column.paper.title for column in made.columns))
        rows = [
            (Cell(t(f"aspect_{name}")), *(self._values(column, name) for column in made.columns)) for name, _ in ASPECTS
        ]
        rows.append((Cell(t("results")), *(self._reported(column) for column in made.columns)))
        rows = [row for row in rows if any(cell.text for cell in row[1:])]
        years = (Cell(t("year")), *(Cell(f"{column.paper.year or ''}") for column in made.columns))
        return sheet("comparison", columns, [years, *rows])

    def _values(self, column: Column, aspect: str) -> Cell:
        """What the graph says, and for data sets and metrics also what results were read with."""
        values = column.aspects[aspect]
        read = {"datasets": [r.dataset for r in column.results], "metrics": [r.metric for r in column.results]}
        names = dict.fromkeys([value.name for value in values] + [name for name in read.get(aspect, ()) if name])
        sources = [item for value in values for item in value.evidence]
        sources += [r.sentence.source for r in column.results] if aspect in read else []
        text = self._f.t("comma").join(names)
        return Cell(text, addresses.of_passage(sources[0], self._f.base) if sources and text else "", text)

    def _reported(self, column: Column) -> Cell:
        return Cell(self._f.t("comma").join(f"{r.value} {r.dataset}".strip() for r in column.results))

    def results(self, made: PaperComparison) -> Sheet:
        """The results read in the papers."""
        t = self._f.t
        rows = (
            (
                self.link(result.paper),
                Cell(result.value, numeric=True, amount=_amount(result.value)),
                Cell(result.metric),
                Cell(result.dataset),
                self.sentence(result.sentence),
            )
            for column in made.columns
            for result in column.results
        )
        return sheet("results", (t("paper"), t("value"), t("metric"), t("dataset"), t("sentence")), rows)

    def suggestions(self, made: PaperComparison) -> list[tuple[str, Suggestion, list[Cell]]]:
        """What could be tried, in words, with the sentences that it rests on."""
        return [
            (self._suggested(item), item, [self.sentence(sentence) for sentence in item.sentences])
            for item in made.suggestions
        ]

    def _suggested(self, item: Suggestion) -> str:
        names = [self._library.name(iri) for iri in item.papers]
        return self._f.t(
            f"suggest_{item.kind.value}",
            first=names[0],
            second=names[-1],
            names=self._f.t("and").join(names),
            about=item.about,
        )


def _short(title: str, year: int | None) -> str:
    head = title.partition(":")[0]
    cut = head if len(head) <= _SHORT else f"{head[: _SHORT - 1].rstrip()}…"
    return f"{year} {cut}" if year else cut


def _amount(text: str) -> float | None:
    try:
        return float(text.rstrip(" %").replace(",", ""))
    except ValueError:
        return None


_MOST_TOPIC = 300
_MOST_NAMES = 50


def literature_pages(kg: KnowledgeGraph) -> Blueprint:
    """The routes of the literature."""
    routes = Blueprint("literature", __name__, template_folder="templates")
    kept = Remembered(kg)

    def library() -> Library:
        return kept.get(("library", language()), lambda: Library(parts_of(kg), language()))

    def digested(topic: str, model: ChatModel | None) -> Digest:
        if model is not None:  # it may take a minute, which nobody else is to wait for; its replies are kept elsewhere
            return digest(library(), topic=topic, model=model)
        key = ("digest", language(), topic)
        return kept.get(key, lambda: digest(library(), topic=topic))

    def reviewed(names: tuple[str, ...], model: ChatModel | None) -> PaperReview:
        if model is not None:
            return review(library(), names, model=model)
        return kept.get(("review", language(), names), lambda: review(library(), names))

    @routes.get("/literature")
    def literature() -> Any:
        read = library()
        topic = " ".join(request.args.get("topic", "").split())[:_MOST_TOPIC]
        if not len(read):
            return page("literature.html", kg.base, empty=True, **filling(kg, "academic"))
        made = digested(topic, _model(kg))
        views = LiteratureViews(read, Frame(language(), kg.base))
        sheets = views.tables(made)
        wanted = csv_of(*sheets.values())
        if wanted:
            return wanted
        parts, sources = _parts_of_text(made.text)
        return page(
            "literature.html",
            kg.base,
            empty=False,
            topic=topic,
            made=made,
            sheets=sheets,
            parts=parts,
            sources=sources,
            text=made.text,
            trends=views.trend_picture(made),
            network=views.network(made),
            can_write=kg.model is not None,
        )

    @routes.get("/literature/compare")
    def compare() -> Any:
        names = _names()
        return _compared(kg, library(), reviewed(names, _model(kg))) if names else redirect("/literature#papers", 303)

    return routes


def _names() -> tuple[str, ...]:
    """The papers to compare, as the address names them."""
    return tuple(name.strip() for name in request.args.getlist("paper")[:_MOST_NAMES] if name.strip())


def _compared(kg: KnowledgeGraph, read: Library, made: PaperReview) -> Any:
    """The page of chosen papers, or one of its tables."""
    views = LiteratureViews(read, Frame(language(), kg.base))
    beside, results = views.compared(made.comparison), views.results(made.comparison)
    wanted = csv_of(beside, results)
    if wanted:
        return wanted
    parts, sources = _parts_of_text(made.text)
    return page(
        "compare.html",
        kg.base,
        columns=made.comparison.columns,
        beside=beside,
        results=results,
        suggestions=views.suggestions(made.comparison),
        parts=parts,
        sources=sources,
        text=made.text,
        can_write=kg.model is not None,
    )


def _model(kg: KnowledgeGraph) -> ChatModel | None:
    """The model, if the reader asked for its words."""
    return kg.model if request.args.get("write") == "model" else None
