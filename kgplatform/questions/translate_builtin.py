"""The translator without a model: questions to queries for any ontology, English and Chinese, always the same way.

The question is cut into mentions (`mentions`), these are joined into query graphs along properties that the data
uses (`assembly`), which are completed by what the function words ask (`finishing`). The best that has an answer wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from pyoxigraph import NamedNode

from kgplatform.errors import QueryError
from kgplatform.questions.assembly import Assembler
from kgplatform.questions.comparing import Comparer
from kgplatform.questions.confidence import another_property, confidence, unsaid_links
from kgplatform.questions.differing import Differ
from kgplatform.questions.excepting import Excepter
from kgplatform.questions.finishing import Candidate, Finisher
from kgplatform.questions.graphs import Link, QueryGraph
from kgplatform.questions.idioms import plainly
from kgplatform.questions.joining import demands_both, either
from kgplatform.questions.measures import Measures
from kgplatform.questions.mentions import Reading, read
from kgplatform.questions.names import NameIndex
from kgplatform.questions.paths import PathFinder
from kgplatform.questions.placing import placed
from kgplatform.questions.plain import PlainLookups
from kgplatform.questions.sameness import Samenesses
from kgplatform.questions.schema import SchemaView
from kgplatform.questions.shares import Sharer
from kgplatform.questions.simplifying import simplified
from kgplatform.questions.unlinked import dropped, half_said, uncompared
from kgplatform.questions.verbal import Verbaliser
from kgplatform.questions.writing import Writer, with_limit
from kgplatform.types import Solutions

_TRIED = 6
_MANY_ROWS = 20_000
_ADDED = 1.2
_PLAIN = 0.88
_LINK = 0.05
"""By how much a reading with one relation less is preferred."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A query for a question: its graph, text, reading in words, and how sure (0..1) the translator is."""

    text: str
    graph: QueryGraph
    reading: str
    confidence: float
    empty: bool
    uncovered: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    explained: frozenset[int] = frozenset()


class BuiltinTranslator:
    """Translates over one graph; make one for each version of its schema view and names."""

    def __init__(self, names: NameIndex) -> None:
        finder = PathFinder(names.schema)
        self._names = names
        self._finder = finder
        self._assembler = Assembler(names, finder)
        measures = Measures(names)
        self._finisher = Finisher(names, finder, measures)
        self._plainly = PlainLookups(names)
        self._differ = Differ(names, measures, read=self.read, candidates=self._plain)
        self._comparer = Comparer(names, measures, read=self.read, candidates=self._plain)
        self._excepter = Excepter(names, finder, read=self.read, candidates=self._plain)
        self._samenesses = Samenesses(names, finder, read=self.read, candidates=self._plain)
        self._sharer = Sharer(finder, read=self.read, candidates=self._plain)

    def read(self, question: str) -> Reading:
        """The question as mentions and cues, its words at their places."""
        return read(question, self._names)

    def translate(self, question: str, *, run: Callable[[str], Solutions]) -> list[Translation]:
        """The queries a question may mean, best first; none if nothing in it could be linked to the graph."""
        reading = self.read(plainly(question))
        plain = self._lookup(reading, run)
        if plain is not None:
            return [plain]
        schema = self._names.schema
        limit = max(_MANY_ROWS, 1.3 * max((schema.count(iri) for iri in schema.classes), default=0))
        ranked = [c for c in self.candidates(reading) if rows_expected(c.graph, schema) < limit]
        tried: list[Translation] = []
        for candidate in ranked[:_TRIED]:
            margin = candidate.score - next((c.score for c in ranked if c.graph.links != candidate.graph.links), 0.0)
            tried.append(self._tried(candidate, reading, run, margin=abs(margin)))
            if not tried[-1].empty:
                break
        best = ranked[0].score if ranked else 0.0
        empty = [self._unsaid(t.graph) for t in tried if t.empty and not t.uncovered]
        direct = min(empty, default=_MANY_ROWS)
        if tried and tried[0].empty and not tried[0].uncovered:
            tried = [t for t in tried if t is tried[0] or not another_property(tried[0].graph, t.graph, reading)]
        scored = [
            (candidate.score - self._demerit(translation, direct), -place, translation)
            for place, (candidate, translation) in enumerate(zip(ranked, tried, strict=False))
            if candidate.score > best - 2.0
        ]
        found = [translation for _, _, translation in sorted(scored, key=lambda item: item[:2], reverse=True)]
        if found and found[0].empty and _asks_whether_any(found[0], reading):
            kept = next(c for c, t in zip(ranked, tried, strict=False) if t.graph == found[0].graph)
            found[0] = self._there_is_none(found[0], kept, reading)
        return found

    def _there_is_none(self, translation: Translation, candidate: Candidate, reading: Reading) -> Translation:
        """The yes or no that a question for things of some kind is, where there are none: 有没有…."""
        graph = replace(translation.graph, form="ask")
        sure = confidence(candidate, reading, graph=graph, margin=1.0, placing=self._finder.placing, empty=False)
        text = Writer(graph, wide=self._names.schema.has_subclasses).text()
        return replace(translation, text=text, graph=graph, confidence=sure, empty=False)

    def _lookup(self, reading: Reading, run: Callable[[str], Solutions]) -> Translation | None:
        """The translation of a question that is nothing but the name of a thing and of one of its properties."""
        plain = self._plainly.found(reading)
        if plain is None:
            return None
        text, empty = self._tested(plain.graph, run)
        if empty:
            return None
        return Translation(
            text=text,
            graph=plain.graph,
            reading=Verbaliser(plain.graph, self._names, reading.language).reading(),
            confidence=round(min(_PLAIN, 0.9 * plain.similarity), 3),
            empty=False,
            explained=frozenset(range(len(reading.tokens))),
        )

    def _unsaid(self, graph: QueryGraph) -> int:
        return unsaid_links(graph, self._finder.placing)

    def _demerit(self, translation: Translation, direct: int) -> float:
        """What a reading loses for giving nothing, or for adding relations to an empty one that says it all."""
        return 0.7 if translation.empty else _ADDED * max(0, self._unsaid(translation.graph) - direct)

    def candidates(self, reading: Reading) -> list[Candidate]:
        """The query graphs a question may mean, best first, without running any."""
        found = self._samenesses.same(reading) or self._sharer.shared(reading) or self._differ.differed(reading)
        found = found or self._comparer.compared(reading) or self._excepter.excepted(reading)
        return found or self._plain(reading)

    def _plain(self, reading: Reading) -> list[Candidate]:
        """The query graphs that need nothing to be looked up first."""
        found: dict[QueryGraph, Candidate] = {}
        schema = self._names.schema
        drafts = [simplified(draft, reading, schema) for draft in self._assembler.drafts(reading)[:10]]
        for draft in chain.from_iterable(placed(draft, reading, self._names) for draft in drafts):
            for candidate in self._finisher.candidates(draft, reading):
                known = found.get(candidate.graph)
                if known is None or known.score < candidate.score:
                    found[candidate.graph] = candidate
        return sorted(found.values(), key=lambda c: _LINK * len(c.graph.links) - c.score)

    def _tried(
        self, candidate: Candidate, reading: Reading, run: Callable[[str], Solutions], *, margin: float
    ) -> Translation:
        graph = candidate.graph
        text, empty = self._tested(graph, run)
        for other in self._instead(graph, reading) if empty else ():
            found, still = self._tested(other, run)
            if not still:
                graph, text, empty = other, found, False
                break
        return Translation(
            text=text,
            graph=graph,
            reading=Verbaliser(graph, self._names, reading.language).reading(),
            confidence=confidence(
                candidate, reading, graph=graph, margin=margin, placing=self._finder.placing, empty=empty
            ),
            empty=empty,
            uncovered=reading.uncovered(candidate.explained),
            dropped=(*dropped(reading, candidate.explained), *half_said(graph, reading), *uncompared(graph, reading)),
            explained=candidate.explained,
        )

    def _tested(self, graph: QueryGraph, run: Callable[[str], Solutions]) -> tuple[str, bool]:
        text = Writer(graph, wide=self._names.schema.has_subclasses).text()
        try:
            solutions = run(with_limit(text, 3))
        except QueryError:
            return text, True
        return text, is_empty(solutions) or (graph.form in ("count", "mean") and is_zero(solutions))

    @staticmethod
    def _anchored(graph: QueryGraph, link: Link) -> bool:
        """Whether the link starts or ends at a known thing; following it on between unknown ones is too slow."""
        return bool(graph.nodes[link.subject].terms or graph.nodes[link.object].terms)

    def _instead(self, graph: QueryGraph, reading: Reading) -> Iterator[QueryGraph]:
        """What else a graph may mean that finds nothing: steps of a way left out, "in A and B" for in either."""
        climbing = self._climbing(graph)
        if climbing is not None:
            yield climbing
        if not demands_both(reading.text) and (apart := either(graph, self._finder.placing)) is not None:
            yield apart

    def _climbing(self, graph: QueryGraph) -> QueryGraph | None:
        """The graph with every placing property followed level by level; None if it has none."""
        links = tuple(
            replace(link, path="+") if link.predicate in self._finder.placing and self._anchored(graph, link) else link
            for link in graph.links
        )
        return replace(graph, links=links) if links != graph.links else None


def _asks_whether_any(translation: Translation, reading: Reading) -> bool:
    """Whether "no" answers a question that finds nothing: it asks whether there is any, and all of it is understood."""
    cues, graph = reading.cues, translation.graph
    plain = graph.form == "list" and not (graph.best or graph.having or graph.order)
    return cues.boolean and cues.exists is not None and plain and not (translation.uncovered or translation.dropped)


def rows_expected(graph: QueryGraph, schema: SchemaView) -> float:
    """About how many rows the patterns match, from the sizes of classes and the usage of properties."""
    size = _start_size(graph, schema)
    seen: set[int] = {size[0]}
    rows, most = size[1], size[1]
    waiting = [size[0]]
    while waiting:
        here = waiting.pop(0)
        for link in graph.around(here):
            back = link.object == here
            other = link.subject if back else link.object
            if other in seen:
                continue
            seen.add(other)
            waiting.append(other)
            rows *= _fanout(link.predicate, schema, back=back) * _share(graph, other, link.predicate, schema, back=back)
            most = max(most, rows)
    return most


def _start_size(graph: QueryGraph, schema: SchemaView) -> tuple[int, float]:
    for index, node in enumerate(graph.nodes):
        if node.terms and not node.literal:
            return index, float(len(node.terms))
    sizes = [
        (sum(schema.count(iri) for iri in node.types) or 1_000_000, i)
        for i, node in enumerate(graph.nodes)
        if not node.literal
    ]
    size, index = min(sizes, default=(1, 0))
    return index, float(size)


def _fanout(predicate: NamedNode, schema: SchemaView, *, back: bool) -> float:
    term = schema.properties.get(predicate)
    if term is None:
        return 1.0
    subjects = sum(schema.count(iri) for iri in schema.domains(predicate))
    objects = max(term.distinct, sum(schema.count(iri) for iri in schema.ranges(predicate)))
    return term.count / max(1, objects if back else min(term.count, subjects))


def _share(graph: QueryGraph, other: int, predicate: NamedNode, schema: SchemaView, *, back: bool) -> float:
    node, term = graph.nodes[other], schema.properties.get(predicate)
    if not node.terms or term is None or back:
        return 1.0
    return min(1.0, len(node.terms) / max(1, term.distinct))


def is_zero(solutions: Solutions) -> bool:
    """Whether the one thing the rows say is zero."""
    return len(solutions.rows) == 1 and [getattr(term, "value", "") for term in solutions.rows[0]] == ["0"]


def is_empty(solutions: Solutions) -> bool:
    """Whether there is nothing in the rows: none, or only unbound values. A boolean or a zero is something."""
    if solutions.boolean is not None:
        return False
    return not any(any(term is not None for term in row) for row in solutions.rows)
