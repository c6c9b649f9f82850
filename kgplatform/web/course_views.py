"""The tables and pictures of the courses' pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from pyoxigraph import NamedNode

from kgplatform.academic.courses import Catalogue, Chain, Course, Plan
from kgplatform.academic.syllabi import Gap, Match, Overlap
from kgplatform.vocab import ACADEMIC, local_name
from kgplatform.web import addresses
from kgplatform.web.frame import Frame
from kgplatform.web.sheets import Sheet, number, passages, sheet
from kgplatform.web.tables import Cell

_MOST_NODES = 300
_ALL = f"""PREFIX academic: <{ACADEMIC}>
SELECT ?course ?needs WHERE {{
  ?course academic:hasPrerequisite ?needs .
}}
"""


class CourseViews:
    """Makes what the pages show of one catalogue, in the words of one frame."""

    def __init__(self, catalogue: Catalogue, frame: Frame) -> None:
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

    def plan(self, plan: Plan) -> Sheet:
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
        shown = list(needs)[:_MOST_NODES]
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


def _match(match: Match) -> str:
    if match.similarity >= 1:
        return match.first
    return f"{match.first} ≈ {match.second} ({match.similarity:.2f})"
