"""The translator without a model: questions to queries for any ontology, English and Chinese, always the same way.

The question is cut into mentions (`mentions`), these are joined into query graphs along properties that the data
uses (`assembly`), which are completed by what the function words ask (`finishing`). The best that has an answer wins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyoxigraph import NamedNode

from kgplatform.errors import QueryError
from kgplatform.questions.assembly import Assembler
from kgplatform.questions.finishing import Candidate, Finisher
from kgplatform.questions.graphs import QueryGraph, Writer, with_limit
from kgplatform.questions.measures import Measures
from kgplatform.questions.mentions import Reading, read
from kgplatform.questions.names import NameIndex
from kgplatform.questions.paths import PathFinder
from kgplatform.questions.verbal import Verbaliser
from kgplatform.questions.schema import SchemaView
from kgplatform.types import Solutions

_TRIED = 6
_MANY_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Translation:
    """A query for a question: its graph, text, reading in words, and how sure (0..1) the translator is."""

    text: str
    graph: QueryGraph
    reading: str
    confidence: float
    empty: bool
    uncovered: tuple[str, ...] = ()


class BuiltinTranslator:
    """Translates over one graph; make one for each version of its schema view and names."""

    def __init__(self, names: NameIndex) -> None:
        finder = PathFinder(names.schema)
        self._names = names
        self._assembler = Assembler(names, finder)
        self._finisher = Finisher(names, finder, Measures(names))

    def read(self, question: str) -> Reading:
        """The question as mentions and cues."""
        return read(question, self._names)

    def translate(self, question: str, *, run: Callable[[str], Solutions]) -> list[Translation]:
        """The queries a question may mean, best first; none if nothing in it could be linked to the graph."""
        reading = self.read(question)
        schema = self._names.schema
        limit = max(_MANY_ROWS, 1.3 * max((schema.count(iri) for iri in schema.classes), default=0))
        ranked = [c for c in self.candidates(reading) if rows_expected(c.graph, schema) < limit]
        tried = [self._tried(candidate, reading, run) for candidate in ranked[:_TRIED]]
        best = ranked[0].score if ranked else 0.0
        scored = [
            (candidate.score - (0.7 if translation.empty else 0.0), -place, translation)
            for place, (candidate, translation) in enumerate(zip(ranked, tried, strict=False))
            if candidate.score > best - 2.0
        ]
        return [translation for _, _, translation in sorted(scored, key=lambda item: item[:2], reverse=True)]

    def candidates(self, reading: Reading) -> list[Candidate]:
        """The query graphs a question may mean, best first, without running any."""
        found: dict[QueryGraph, Candidate] = {}
        for draft in self._assembler.drafts(reading)[:10]:
            for candidate in self._finisher.candidates(draft, reading):
                known = found.get(candidate.graph)
                if known is None or known.score < candidate.score:
                    found[candidate.graph] = candidate
        return sorted(found.values(), key=lambda c: -c.score)

    def _tried(self, candidate: Candidate, reading: Reading, run: Callable[[str], Solutions]) -> Translation:
        graph = candidate.graph
        text = Writer(graph, wide=self._names.schema.has_subclasses).text()
        try:
            solutions = run(with_limit(text, 3))
            empty = is_empty(solutions)
        except QueryError:
            empty = True
        return Translation(
            text=text,
            graph=graph,
            reading=Verbaliser(graph, self._names, reading.language).reading(),
            confidence=_confidence(candidate, reading, empty=empty),
            empty=empty,
            uncovered=reading.uncovered(),
        )


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
    return term.count / max(1, term.distinct if back else min(term.count, subjects))


def _share(graph: QueryGraph, other: int, predicate: NamedNode, schema: SchemaView, *, back: bool) -> float:
    node, term = graph.nodes[other], schema.properties.get(predicate)
    if not node.terms or term is None or back:
        return 1.0
    return min(1.0, len(node.terms) / max(1, term.distinct))


def is_empty(solutions: Solutions) -> bool:
    """Whether there is nothing in the rows: none, or only unbound values. A boolean or a zero is something."""
    if solutions.boolean is not None:
        return False
    return not any(any(term is not None for term in row) for row in solutions.rows)


def _confidence(candidate: Candidate, reading: Reading, *, empty: bool) -> float:
    covered = {i for m in reading.mentions for i in range(m.first, m.last)} | reading.cues.used | candidate.explained
    total = sum(reading.weights) or 1.0
    coverage = sum(w for i, w in enumerate(reading.weights) if i in covered) / total
    quality = max(0.0, min(1.0, candidate.score / max(1.0, total)))
    return round(max(0.0, min(1.0, coverage * (0.45 + 0.5 * quality) - (0.25 if empty else 0.0))), 3)
