"""The tables and pictures of the literature's pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from pyoxigraph import NamedNode

from kgplatform.academic.comparing import ASPECTS, Column, Comparison, Suggestion
from kgplatform.academic.literature import Digest, numbered
from kgplatform.academic.papers import Library, Sentence
from kgplatform.academic.surveying import most_cited
from kgplatform.academic.topics import Topic, Trend
from kgplatform.academic.writing import Told, Written
from kgplatform.types import Evidence
from kgplatform.vocab import ACADEMIC
from kgplatform.web import addresses
from kgplatform.web.frame import Frame
from kgplatform.web.sheets import Sheet, number, passages, sheet
from kgplatform.web.tables import Cell

CITES = f"""PREFIX academic: <{ACADEMIC}>
SELECT ?paper ?cited WHERE {{
  ?paper academic:cites ?cited .
}}
"""

_DRAWN_TOPICS = 6
_MOST_NODES = 200
_SHORT = 28


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence of a text with the numbers of its sources; ``title`` of the one that it is taken from."""

    text: str
    marks: tuple[int, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text with its sentences."""

    name: str
    lines: tuple[Line, ...]


def parts_of(text: Written) -> tuple[list[Part], list[Evidence]]:
    """The parts of a text, and the sources that its marks refer to."""
    sources = numbered(text)
    places = {source: n for n, source in enumerate(sources, start=1)}
    names = dict.fromkeys(item.part for item in text.sentences)
    return [
        Part(name, tuple(_line(item, places, is_own=text.model is None) for item in text.part(name))) for name in names
    ], sources


def _line(item: Told, places: Mapping[Evidence, int], *, is_own: bool) -> Line:
    title = item.sources[0].title if is_own and item.sources else ""
    return Line(item.text, tuple(places[source] for source in item.sources), title)


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
        shown = iris[:_MOST_NODES]
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

    def compared(self, made: Comparison) -> Sheet:
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

    def results(self, made: Comparison) -> Sheet:
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

    def suggestions(self, made: Comparison) -> list[tuple[str, Suggestion, list[Cell]]]:
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


def compare_address(papers: Iterable[NamedNode]) -> str:
    """The comparison of those papers."""
    return f"/literature/compare?{urlencode([('paper', iri.value) for iri in papers])}"


def _short(title: str, year: int | None) -> str:
    head = title.partition(":")[0]
    cut = head if len(head) <= _SHORT else f"{head[: _SHORT - 1].rstrip()}…"
    return f"{year} {cut}" if year else cut


def _amount(text: str) -> float | None:
    try:
        return float(text.rstrip(" %").replace(",", ""))
    except ValueError:
        return None
