"""Greedy entity matching, as the travel framework retrieves.

Every entity q_i of the question, of importance w_i, is matched with the stored entity c_i* that is most like it
(equation 4); its score is w_i * Sim(q_i, c_i*) (equation 5), and TotalScore is their sum (equation 6). Then come what
is known of these things with what they lie in, the reports on their communities, and the text units and relations most
relevant to them. A name that a stored entity has, or goes by, is matched before any likeness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kgplatform.retrieval.asking import AskedEntities, asked_entities
from kgplatform.retrieval.context import ContextBlocks, nearest_first, passage_hits, thing_line, within
from kgplatform.retrieval.entity_graph import EntityGraph
from kgplatform.retrieval.sources import Sources
from kgplatform.text import language_of
from kgplatform.types import Hit

_LEAST: Final = 0.4
_RELATIONS: Final = 20
_REPORTS: Final = 3
_TOKENS: Final = 4_000


@dataclass(frozen=True, slots=True)
class Matched:
    """An entity of the question, the stored thing that it is taken for, and score = weight * similarity."""

    text: str
    weight: float
    thing: str
    label: str
    similarity: float
    score: float


@dataclass(frozen=True, slots=True)
class GreedyTrace:
    """How the question was read, what was matched, and what followed from it; ``missed`` matched nothing."""

    asked: AskedEntities
    matched: tuple[Matched, ...]
    missed: tuple[str, ...]
    total: float
    blocks: ContextBlocks


class GreedyRetriever:
    """Finds the passages of the things that a question names, and of what is related to them."""

    name = "greedy"

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first; the score is the matches' that lead to the passage, and its relations'.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        return self.explain(question, k)[0]

    def explain(self, question: str, k: int) -> tuple[list[Hit], GreedyTrace]:
        """The hits, and what led to them."""
        graph = self._sources.entity_graph()
        asked = asked_entities(question, graph, self._sources.model)
        matched, missed = _matched(asked, graph)
        near = _relations(question, matched, graph)
        scores = list(_passages(matched, near, graph).items())
        hits = passage_hits(self._sources.index, nearest_first(self._sources.index, question, scores), k, self.name)
        blocks = ContextBlocks(
            things=within((thing_line(graph, graph.places[item.thing]) for item in matched), _TOKENS),
            reports=within(_reports(question, matched, graph), _TOKENS),
            relations=within((graph.knowledge.relations[number].text for number, _ in near), _TOKENS),
            passages=within((hit.text for hit in hits), _TOKENS),
        )
        return hits, GreedyTrace(asked, matched, missed, sum(item.score for item in matched), blocks)


def _matched(asked: AskedEntities, graph: EntityGraph) -> tuple[tuple[Matched, ...], tuple[str, ...]]:
    found, missed = [], []
    graph.prepare([entity.text for entity in asked.entities])
    for entity in asked.entities:
        best = graph.match(entity.text, least=_LEAST)
        if not best:
            missed.append(entity.text)
            continue
        thing, similarity = graph.thing(best[0].thing), best[0].similarity
        found.append(
            Matched(entity.text, entity.weight, thing.iri, thing.label, similarity, entity.weight * similarity)
        )
    return tuple(sorted(found, key=lambda item: -item.score)), tuple(missed)


def _relations(question: str, matched: Sequence[Matched], graph: EntityGraph) -> list[tuple[int, float]]:
    """The relations of the matched things, those most like the question first, then those of the highest rank."""
    strength: dict[int, float] = {}
    for item in matched:
        for number in graph.around[graph.places[item.thing]]:
            strength[number] = strength.get(number, 0.0) + item.score
    if not strength:
        return []
    like = graph.relation_likeness(question)
    scored = [(number, score * float(like[number])) for number, score in strength.items()]
    return sorted(scored, key=lambda pair: (-pair[1], -graph.rank(pair[0]), pair[0]))[:_RELATIONS]


def _passages(matched: Sequence[Matched], near: Sequence[tuple[int, float]], graph: EntityGraph) -> dict[str, float]:
    """The passages of the matched things and of their relations, each with the sum of what leads to it.

    A thing spreads its score over its passages: one that is mentioned everywhere says little about any of them.
    """
    scores: dict[str, float] = {}
    for item in matched:
        held = graph.thing(graph.places[item.thing]).passages
        for passage in held:
            scores[passage] = scores.get(passage, 0.0) + item.score / len(held) ** 0.5
    for number, score in near:
        for passage in graph.knowledge.relations[number].passages:
            scores[passage] = scores.get(passage, 0.0) + score
    return scores


def _reports(question: str, matched: Sequence[Matched], graph: EntityGraph) -> list[str]:
    """The reports on the communities that hold matched things: by the scores of those, then by likeness."""
    held = {
        place: sum(item.score for item in matched if item.thing in report.members)
        for place, report in enumerate(graph.knowledge.reports)
    }
    places = [place for place, score in held.items() if score > 0]
    if not places:
        return []
    like = graph.near_reports.similarities(question)
    reports, language = graph.knowledge.reports, language_of(question)
    order = sorted(
        places,
        key=lambda n: (-held[n], language_of(reports[n].text) != language, -float(like[n]), n),
    )
    once = {reports[place].iri: place for place in reversed(order)}  # a report in two languages counts once
    return [reports[place].whole for place in order if once[reports[place].iri] == place][:_REPORTS]
