"""Passages by way of a query's rows, and reports on communities: what a graph's own answers lead to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.retrieval.context import nearest_first, passage_hits
from kgplatform.retrieval.nearness import nearest
from kgplatform.retrieval.sources import Sources
from kgplatform.text import language_of
from kgplatform.types import Hit

_SAME: Final = 6
_TELLING: Final = 0.3
_MOST_THINGS: Final = 1_000


@dataclass(frozen=True, slots=True)
class SeededTrace:
    """The query that the question became (None: none), the things in its rows, and those that have no passage."""

    query: str | None
    things: tuple[str, ...]
    unread: tuple[str, ...]


class SeededRetriever:
    """Finds the passages of the things in the rows of the query that a question becomes.

    A thing in an early row counts more, and the more the fewer passages it has; within that, the passages nearest to
    the question come first. No query, or no rows: no hits.
    """

    name = "sparql"

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first."""
        return self.explain(question, k)[0]

    def explain(self, question: str, k: int) -> tuple[list[Hit], SeededTrace]:
        """The hits, and the query and things that led to them."""
        if self._sources.rows is None or k < 1 or not question.strip():
            return [], SeededTrace(None, (), ())
        asked = self._sources.rows(question)
        things = tuple(dict.fromkeys(asked.things))[:_MOST_THINGS]
        graph = self._sources.entity_graph()
        scores: dict[str, float] = {}
        unread = []
        for row, iri in enumerate(things):
            place = graph.places.get(iri)
            passages = graph.thing(place).passages if place is not None else ()
            if not passages:
                unread.append(iri)
            for passage in passages:
                scores[passage] = scores.get(passage, 0.0) + 1 / (1 + row) / len(passages)
        ordered = nearest_first(self._sources.index, question, list(scores.items()))
        hits = passage_hits(self._sources.index, ordered, k, self.name)
        return hits, SeededTrace(asked.query, things, tuple(unread))


class CommunityRetriever:
    """Finds reports on communities: for questions about the whole, which no single passage answers.

    Reports are ranked by likeness; of equal ones, and where none is more than 0.3 like the question ("What is this
    about?"), the coarser and then the heavier comes first. The IRI of a hit is the community's.
    """

    name = "communities"

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` reports, best first; the score is the likeness, 0..1.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        graph = self._sources.entity_graph()
        reports = graph.knowledge.reports
        if not question.strip():
            return []
        near = nearest(graph.near_reports.similarities(question), len(reports), least=-1.0)
        telling = bool(near) and near[0].similarity > _TELLING
        language = language_of(question)
        order = sorted(
            near,
            key=lambda n: (
                -round(n.similarity, _SAME) if telling else language_of(reports[n.place].text) != language,
                reports[n.place].level,
                -reports[n.place].weight,
            ),
        )
        best = {reports[n.place].iri: n for n in reversed(order)}  # a report in two languages counts once
        found = [n for n in order if best[reports[n.place].iri] is n][: max(k, 0)]
        return [
            Hit(NamedNode(reports[n.place].iri), reports[n.place].whole, n.similarity, rank, self.name)
            for rank, n in enumerate(found, start=1)
        ]
