"""Blocks of context cut to a number of tokens, and the passages that a ranking of things or relations leads to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.retrieval.entity_graph import EntityGraph
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.text import count_tokens
from kgplatform.types import Hit

_DEPTH: Final = 200


@dataclass(frozen=True, slots=True)
class ContextBlocks:
    """What an answer may be written from: lines on things, reports, relations, and passages, the best first."""

    things: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    passages: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The blocks as one text, each under its heading."""
        parts = {
            "Things": self.things,
            "Communities": self.reports,
            "Relations": self.relations,
            "Passages": self.passages,
        }
        return "\n\n".join(f"{name}\n" + "\n".join(lines) for name, lines in parts.items() if lines)


def within(lines: Iterable[str], tokens: int) -> tuple[str, ...]:
    """The first of the lines that together have at most so many tokens; a line is never cut."""
    kept: list[str] = []
    for line in lines:
        tokens -= count_tokens(line)
        if tokens < 0:
            break
        kept.append(line)
    return tuple(kept)


def thing_line(graph: EntityGraph, place: int) -> str:
    """A thing in one line: name (class), where it lies, and its description."""
    thing = graph.thing(place)
    head = f"{thing.label} ({thing.kind})" if thing.kind else thing.label
    where = " < ".join((head, *thing.above))
    return f"{where}: {thing.description}" if thing.description else where


def passage_hits(index: ChunkIndex, found: Sequence[tuple[str, float]], k: int, name: str) -> list[Hit]:
    """The first ``k`` of the passages that the index holds, as hits."""
    texts = index.texts([iri for iri, _ in found])
    held = [(iri, score) for iri, score in found if iri in texts][: max(k, 0)]
    return [Hit(NamedNode(iri), texts[iri], score, rank, name) for rank, (iri, score) in enumerate(held, start=1)]


def nearest_first(index: ChunkIndex, question: str, found: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """The passages by score; of equal ones those first that the words of the question find first."""
    order = {hit.iri: place for place, hit in enumerate(index.by_words(question, _DEPTH))}
    return sorted(found, key=lambda item: (-round(item[1], 9), order.get(item[0], _DEPTH), item[0]))
