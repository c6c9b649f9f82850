"""Questions for all but what they name: "sights in A other than B", 除了乙，甲还有什么景点.

The exception is cut out, the rest is understood on its own, with its words at their places, and what was cut out is
left out of the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from pyoxigraph import NamedNode

from kgplatform.questions.finishing import Candidate
from kgplatform.questions.graphs import Node, QueryGraph
from kgplatform.questions.mentions import Reading
from kgplatform.questions.names import NameIndex
from kgplatform.questions.paths import PathFinder

_EXCEPT = re.compile(
    r"[,\s]*\b(?:except(?:\s+for)?|other\s+than|besides|apart\s+from|aside\s+from)\s+(?P<en>[^,?.!]+)"
    r"|除了?(?P<zh>[^，,。？?]{1,20}?)(?:以外|之外|外)?(?:[，,]|(?=还|也|都))还?",
    re.IGNORECASE,
)
_SURE = 0.85
_TRIED = 4


class Excepter:
    """Understands exceptions over one graph; ``read`` and ``candidates`` are those of the translator."""

    def __init__(
        self,
        names: NameIndex,
        finder: PathFinder,
        *,
        read: Callable[[str], Reading],
        candidates: Callable[[Reading], list[Candidate]],
    ) -> None:
        self._names = names
        self._finder = finder
        self._read = read
        self._candidates = candidates

    def excepted(self, reading: Reading) -> list[Candidate]:
        """The readings of a question with an exception; none if it has none, or excepts what is no thing."""
        match = _EXCEPT.search(reading.text)
        things = self._things((match["en"] or match["zh"]).strip()) if match is not None else ()
        if match is None or not things:
            return []
        start, end = match.span()
        main = self._read(reading.text[:start] + " " * (end - start) + reading.text[end:])
        found = []
        for candidate in self._candidates(main)[:_TRIED]:
            graph = self._without(candidate.graph, things)
            if graph is not None:
                starts = {main.tokens[i].start for i in candidate.explained}
                places = (i for i, t in enumerate(reading.tokens) if t.start in starts or start <= t.start < end)
                found.append(replace(candidate, graph=graph, explained=frozenset(places)))
        return found

    def _things(self, text: str) -> tuple[NamedNode, ...]:
        """The things that the whole of a text names."""
        reading = self._read(text)
        if len(reading.mentions) != 1 or reading.uncovered():
            return ()
        option = reading.mentions[0].options[0]
        if option.kind != "entity" or option.score < _SURE:
            return ()
        return tuple(name.term for name in option.names if isinstance(name.term, NamedNode))

    def _without(self, graph: QueryGraph, things: tuple[NamedNode, ...]) -> QueryGraph | None:
        """The graph that shows all but the things; None where they are not of the kind that it shows."""
        target = graph.targets[0]
        types = frozenset(iri for thing in things for iri in self._names.types(thing))
        node = graph.nodes[target]
        if graph.form not in ("list", "count") or node.literal or node.terms:
            return None
        if not self._finder.compatible(node.types, types):
            return None
        first = len(graph.nodes)
        nodes = tuple(Node(-1, frozenset(self._names.types(thing)), terms=(thing,)) for thing in things)
        unlike = tuple((target, first + number) for number in range(len(things)))
        return replace(graph, nodes=(*graph.nodes, *nodes), unlike=(*graph.unlike, *unlike))
