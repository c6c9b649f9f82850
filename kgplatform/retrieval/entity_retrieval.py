"""Passages by way of a graph: dual-level keywords, greedy entity matching, the rows of a query, community reports.

Dual-level, as the academic framework retrieves: locally by things and paths, globally by relations; fused. Clues are
keywords of passages at least ``clue`` like the question; they help to choose its keywords. *Local* takes the low-level
ones: the things nearest to them, the subgraph that ties these, its relations that are relevant enough, the passages
that most of those were read in, and the relations around, cut to a number of tokens. *Global* takes the high-level
ones: the relations nearest to them, by relevance, degree and weight, and their passages. Source: the thesis behind
AcademicRAG.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import NamedNode

from kgplatform.errors import ModelError
from kgplatform.models import prompts
from kgplatform.retrieval.entity_graph import EntityGraph, Subgraph, nearest, tied
from kgplatform.retrieval.fusion import fused
from kgplatform.retrieval.index import content_words
from kgplatform.retrieval.pagerank import as_written, name_key, phrases
from kgplatform.retrieval.sources import (
    ContextBlocks,
    Corpus,
    ExplainingRetriever,
    nearest_first,
    passage_hits,
    thing_line,
    within,
)
from kgplatform.text import has_han, language_of
from kgplatform.types import ChatModel, Hit, Message

# A language model says so where there is one. The built-in way takes the names that the graph knows, runs of
# capitalised words, quoted words and codes as names (low level), and the question itself as what is asked of them (high
# level); clues that name things go to the former, the others to the latter. An unusable reply of the model gives way to
# the built-in reading, and the trace says so.
_QUOTED = re.compile(r"[\"“「『《]([^\"”」』》]{2,60})[\"”」』》]")
_CODE = re.compile(r"\b(?=[^\W_]*\d)(?=[^\W_]*[A-Za-z])[^\W_]{2,12}\b")
_NAMED, _OTHER = 1.0, 0.5
_MOST: Final = 12
_CLUES: Final = 5
_ENTITIES: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "entities": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "weight": {"type": "number"}},
                "required": ["name", "weight"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["entities"],
    "additionalProperties": False,
}
_KEYWORDS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        name: {"type": "array", "items": {"type": "string"}} for name in ("high_level_keywords", "low_level_keywords")
    },
    "required": ["high_level_keywords", "low_level_keywords"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Weighed:
    """A name in a question and its share of the question's importance; the shares of all sum to 1."""

    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class AskedEntities:
    """The names in a question; ``by`` is the model that found them, or ``built-in``, with what went wrong before."""

    entities: tuple[Weighed, ...]
    by: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class AskedKeywords:
    """The keywords of a question: ``low`` names things, ``high`` says what is asked of them."""

    high: tuple[str, ...]
    low: tuple[str, ...]
    by: str
    note: str = ""


def asked_entities(question: str, graph: EntityGraph, model: ChatModel | None = None) -> AskedEntities:
    """The names in the question, the most important first."""
    note = ""
    if model is not None:
        try:
            messages, _ = prompts.render_messages("question-entities", question=question)
            return AskedEntities(_weighed(_by_model(model, messages, _ENTITIES)), model.name)
        except (ModelError, ValueError) as error:
            note = f"{model.name} did not help: {error}"
    found = _weighed_names(question, graph) or [(word, _OTHER) for word in content_words(question)]
    return AskedEntities(_shared(found[:_MOST]), "built-in", note)


def asked_keywords(
    question: str, graph: EntityGraph, clues: Sequence[str] = (), model: ChatModel | None = None
) -> AskedKeywords:
    """The keywords of the question; ``clues`` are keywords of passages that are near to it."""
    note = ""
    if model is not None:
        try:
            messages, _ = prompts.render_messages("question-keywords", question=question, clues=list(clues))
            reply = _by_model(model, messages, _KEYWORDS)
            high, low = (_texts(reply[name]) for name in ("high_level_keywords", "low_level_keywords"))
            return AskedKeywords(high, low, model.name)
        except (ModelError, ValueError) as error:
            note = f"{model.name} did not help: {error}"
    low_clues = [clue for clue in clues if graph.named(clue)]
    high_clues = [clue for clue in clues if clue not in low_clues]
    names = [name for name, _ in _weighed_names(question, graph)]
    return AskedKeywords(
        tuple(dict.fromkeys((question.strip(), *high_clues[:_CLUES]))),
        tuple(dict.fromkeys((*names, *low_clues[:_CLUES])))[:_MOST],
        "built-in",
        note,
    )


def _weighed_names(question: str, graph: EntityGraph) -> list[tuple[str, float]]:
    """Names that the graph knows, then what looks like one; in the order of their keys, so that it is always alike.

    A Chinese word is not told from a name by its letters: unless it is known or quoted, it counts half.
    """
    known = sorted(graph.find_names(question))
    sure = {name_key(text) for text in (*_QUOTED.findall(question), *_CODE.findall(question))}
    likely = sure | phrases(" ".join(content_words(question)) if has_han(question) else question)
    found = [(as_written(key), _NAMED) for key in known]
    for key in sorted(likely):
        if key and not any(f" {key} " in f" {name} " or f" {name} " in f" {key} " for name in known):
            found.append((as_written(key), _OTHER if has_han(key) and key not in sure else _NAMED))
    return found


def _by_model(model: ChatModel, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
    reply = json.loads(model.complete(messages, schema=schema).text)
    if not isinstance(reply, dict) or any(not isinstance(reply.get(name), list) for name in schema["required"]):
        raise ValueError("the reply is not of the form asked for")
    return reply


def _weighed(reply: Mapping[str, Any]) -> tuple[Weighed, ...]:
    found: dict[str, float] = {}
    for item in reply["entities"]:
        name, weight = (item.get("name"), item.get("weight")) if isinstance(item, dict) else (None, None)
        if isinstance(name, str) and name.strip() and isinstance(weight, int | float) and 0 < weight < float("inf"):
            found[name.strip()] = max(found.get(name.strip(), 0.0), float(weight))
    if not found:
        raise ValueError("the reply names no entity")
    return _shared(sorted(found.items(), key=lambda item: -item[1])[:_MOST])


def _shared(found: Sequence[tuple[str, float]]) -> tuple[Weighed, ...]:
    total = sum(weight for _, weight in found)
    return tuple(Weighed(name, weight / total) for name, weight in found)


def _texts(values: Sequence[object]) -> tuple[str, ...]:
    kept = (value.strip() for value in values if isinstance(value, str) and value.strip())
    return tuple(dict.fromkeys(kept))[:_MOST]


@dataclass(frozen=True, slots=True)
class DualOptions:
    """Limits and thresholds; likeness is 0..1.

    ``clues``: how many at most, more than ``clue`` like the question (0: none). ``things``: how many targets, more than
    ``thing`` like a low-level keyword. ``longest`` path that may tie two of them, in relations. ``relation``: how like
    the keywords a relation must be, ``pruned`` the most that count as such, ``relations`` how many the global way
    takes. ``tokens`` of each block of context.
    """

    clues: int = 20
    clue: float = 0.4
    things: int = 20
    thing: float = 0.5
    longest: int = 4
    relations: int = 60
    relation: float = 0.3
    pruned: int = 180
    tokens: int = 4_000


_NONE: Final = Subgraph((), ())


@dataclass(frozen=True, slots=True)
class LocalTrace:
    """The steps of the local way, things and relations by their places in the knowledge.

    ``kept`` relations of ``subgraph`` were relevant enough, ``pruned`` were not; ``things`` are the targets and the
    ends of what was kept; ``context`` is what was kept and the relations around, cut to the tokens allowed.
    """

    targets: tuple[int, ...] = ()
    subgraph: Subgraph = _NONE
    kept: tuple[int, ...] = ()
    pruned: tuple[int, ...] = ()
    things: tuple[int, ...] = ()
    context: tuple[int, ...] = ()
    passages: tuple[tuple[str, float], ...] = ()


Connect: TypeAlias = Callable[[EntityGraph, Sequence[int], DualOptions], Subgraph]
"""How targets become a subgraph."""


def by_shortest_paths(graph: EntityGraph, targets: Sequence[int], options: DualOptions) -> Subgraph:
    """The targets with the paths that tie them."""
    return tied(graph, targets, longest=options.longest)


def by_paths(
    question: str,
    keywords: Sequence[str],
    graph: EntityGraph,
    options: DualOptions,
    connect: Connect = by_shortest_paths,
) -> LocalTrace:
    """What the low-level keywords lead to; nothing without keywords."""
    if not keywords or not graph.knowledge.things:
        return LocalTrace()
    targets = _targets(keywords, graph, options)
    subgraph = connect(graph, targets, options)
    relevance = graph.relation_likeness(question)
    relevant = {item.place for item in nearest(relevance, options.pruned, least=options.relation)}
    kept = tuple(number for number in subgraph.relations if number in relevant)
    things = tuple(dict.fromkeys((*targets, *(end for number in kept for end in graph.ends[number]))))
    return LocalTrace(
        targets=targets,
        subgraph=subgraph,
        kept=kept,
        pruned=tuple(number for number in subgraph.relations if number not in set(kept)),
        things=things,
        context=_context(graph, kept, things, relevance, options),
        passages=_by_frequency(graph, kept, things, relevance),
    )


def _targets(keywords: Sequence[str], graph: EntityGraph, options: DualOptions) -> tuple[int, ...]:
    """The things that keyword by keyword are meant, by name before likeness."""
    graph.prepare(keywords)
    share = max(1, options.things // len(keywords))
    found: dict[int, None] = {}
    for keyword in keywords:
        named = graph.named(keyword)[:share]
        found |= dict.fromkeys(named or [match.thing for match in graph.match(keyword, share, least=options.thing)])
    return tuple(found)[: options.things]


def _by_frequency(
    graph: EntityGraph, kept: Iterable[int], things: Sequence[int], relevance: NDArray[np.float32]
) -> tuple[tuple[str, float], ...]:
    """Passages by how many of the kept relations were read in them, each counting as much as it is relevant.

    A thing that no kept relation leads to brings its own passages, with what the best of its relations there counts.
    """
    relations = graph.knowledge.relations
    scores: dict[str, float] = {}
    tied_things: set[int] = set()
    for number in kept:
        tied_things.update(graph.ends[number])
        for passage in relations[number].passages:
            scores[passage] = scores.get(passage, 0.0) + float(relevance[number])
    for thing in things:
        if thing in tied_things:
            continue
        best = dict.fromkeys(graph.thing(thing).passages, 0.0)
        for number in graph.around[thing]:
            for passage in relations[number].passages:
                best[passage] = max(best.get(passage, 0.0), float(relevance[number]))
        for passage, value in best.items():
            scores[passage] = max(scores.get(passage, 0.0), value)
    return tuple(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


def _context(
    graph: EntityGraph,
    kept: Sequence[int],
    things: Sequence[int],
    relevance: NDArray[np.float32],
    options: DualOptions,
) -> tuple[int, ...]:
    """The kept relations and those around, by relevance after the kept ones."""
    relations, own = graph.knowledge.relations, set(kept)
    around = dict.fromkeys((*kept, *(number for thing in things for number in graph.around[thing])))
    order = sorted(around, key=lambda n: (n not in own, -float(relevance[n]), -graph.rank(n), n))
    return tuple(order[: len(within((relations[number].text for number in order), options.tokens))])


_DEGREE, _WEIGHT = 0.1, 0.1
_RANKS: Final = 60


@dataclass(frozen=True, slots=True)
class GlobalTrace:
    """Relations by their places, best first, each with its score; and the passages that they lead to."""

    relations: tuple[int, ...] = ()
    scores: tuple[float, ...] = ()
    passages: tuple[tuple[str, float], ...] = ()


def by_relations(keywords: Sequence[str], graph: EntityGraph, options: DualOptions) -> GlobalTrace:
    """What the high-level keywords lead to; nothing without keywords.

    A relation scores relevance * (1 + 0.1 degree + 0.1 weight), the latter two as logarithms by the greatest found.
    """
    if not keywords or not graph.knowledge.relations:
        return GlobalTrace()
    near = graph.relation_near(", ".join(keywords), options.relations, least=options.relation)
    if not near:
        return GlobalTrace()
    relations = graph.knowledge.relations
    most_rank = max(math.log1p(graph.rank(item.place)) for item in near)
    most_weight = max(math.log1p(relations[item.place].weight) for item in near) or 1.0
    scored = {
        item.place: item.similarity
        * (
            1
            + _DEGREE * math.log1p(graph.rank(item.place)) / most_rank
            + _WEIGHT * math.log1p(relations[item.place].weight) / most_weight
        )
        for item in near
    }
    order = sorted(scored, key=lambda n: (-scored[n], n))
    first: dict[str, float] = {}
    for place, number in enumerate(order, start=1):
        for passage in relations[number].passages:
            first.setdefault(passage, 1 / (_RANKS + place))
    return GlobalTrace(tuple(order), tuple(scored[n] for n in order), tuple(first.items()))


Local: TypeAlias = Callable[[str, Sequence[str], EntityGraph, DualOptions], LocalTrace]
Global: TypeAlias = Callable[[Sequence[str], EntityGraph, DualOptions], GlobalTrace]


@dataclass(frozen=True, slots=True)
class DualTrace:
    """How a dual-level retrieval went."""

    clues: tuple[str, ...]
    asked: AskedKeywords
    local: LocalTrace
    global_: GlobalTrace
    blocks: ContextBlocks


class DualLevelRetriever(ExplainingRetriever):
    """Finds passages by the subgraph of the things that a question names, and by the relations that it is after."""

    name = "dual-level"

    def __init__(
        self,
        sources: Corpus,
        options: DualOptions | None = None,
        *,
        local: Local = by_paths,
        global_: Global = by_relations,
    ) -> None:
        self._sources = sources
        self._options = options or DualOptions()
        self._local, self._global = local, global_

    def explain(self, question: str, k: int) -> tuple[list[Hit], DualTrace]:
        """At most ``k`` hits, best first, scored by the two rankings fused; and what led to them.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        graph, options = self._sources.entity_graph(), self._options
        clues = _clues(question, graph, options)
        asked = asked_keywords(question, graph, clues, self._sources.model)
        local = self._local(question, asked.low, graph, options)
        global_ = self._global(asked.high or (() if asked.low else (question,)), graph, options)
        depth = max(k, 0) * 2 + 50
        rankings = [
            (1.0, passage_hits(self._sources.index, part.passages, depth, self.name)) for part in (local, global_)
        ]
        hits = fused(rankings, k, self.name)
        return hits, DualTrace(clues, asked, local, global_, _blocks(graph, local, global_, hits, options))


def _clues(question: str, graph: EntityGraph, options: DualOptions) -> tuple[str, ...]:
    if not options.clues:
        return ()
    near = graph.near_keywords.near(question, options.clues, least=options.clue)
    return tuple(graph.knowledge.keywords[item.place].text for item in near)


def _blocks(
    graph: EntityGraph, local: LocalTrace, global_: GlobalTrace, hits: list[Hit], options: DualOptions
) -> ContextBlocks:
    """High level first, then low level; what is in both comes once."""
    relations = dict.fromkeys((*global_.relations, *local.context))
    ends = (end for number in global_.relations for end in graph.ends[number])
    things = dict.fromkeys((*ends, *local.things))
    return ContextBlocks(
        things=within((thing_line(graph, place) for place in things), options.tokens),
        relations=within((graph.knowledge.relations[number].text for number in relations), options.tokens),
        passages=within((hit.text for hit in hits), options.tokens),
    )


# Every entity q_i of the question, of importance w_i, is matched with the stored entity c_i* that is most like it
# (equation 4); its score is w_i * Sim(q_i, c_i*) (equation 5), and TotalScore is their sum (equation 6). Then come what
# is known of these things with what they lie in, the reports on their communities, and the text units and relations
# most relevant to them. A name that a stored entity has, or goes by, is matched before any likeness.
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


class GreedyRetriever(ExplainingRetriever):
    """Finds the passages of the things that a question names, and of what is related to them."""

    name = "greedy"

    def __init__(self, sources: Corpus) -> None:
        self._sources = sources

    def explain(self, question: str, k: int) -> tuple[list[Hit], GreedyTrace]:
        """At most ``k`` hits, best first, scored by the matches that lead to them and by their relations; and why.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
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


_SAME: Final = 6
_TELLING: Final = 0.3
_MOST_THINGS: Final = 1_000


@dataclass(frozen=True, slots=True)
class SeededTrace:
    """The query that the question became (None: none), the things in its rows, and those that have no passage."""

    query: str | None
    things: tuple[str, ...]
    unread: tuple[str, ...]


class SeededRetriever(ExplainingRetriever):
    """Finds the passages of the things in the rows of the query that a question becomes.

    A thing in an early row counts more, and the more the fewer passages it has; within that, the passages nearest to
    the question come first. No query, or no rows: no hits.
    """

    name = "sparql"

    def __init__(self, sources: Corpus) -> None:
        self._sources = sources

    def explain(self, question: str, k: int) -> tuple[list[Hit], SeededTrace]:
        """At most ``k`` hits, best first, and the query and things that led to them."""
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
    finds_passages = False

    def __init__(self, sources: Corpus) -> None:
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
