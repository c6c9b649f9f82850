"""Dual-level keywords, as the academic framework retrieves: locally by things and paths, globally by relations; fused.

Clues are keywords of passages at least ``clue`` like the question; they help to choose its keywords. *Local* takes the
low-level ones: the things nearest to them, the subgraph that ties these, its relations that are relevant enough, the
passages that most of those were read in, and the relations around, cut to a number of tokens. *Global* takes the
high-level ones: the relations nearest to them, by relevance, degree and weight, and their passages. Source: the thesis
behind AcademicRAG; where its public code does otherwise, `PUBLISHED` does as the code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from kgplatform.retrieval.asking import AskedKeywords, asked_keywords
from kgplatform.retrieval.context import ContextBlocks, passage_hits, thing_line, within
from kgplatform.retrieval.dual_global import GlobalTrace, by_relations
from kgplatform.retrieval.dual_local import LocalTrace, by_paths
from kgplatform.retrieval.dual_options import DualOptions
from kgplatform.retrieval.entity_graph import EntityGraph
from kgplatform.retrieval.hybrid import fused
from kgplatform.retrieval.sources import Sources
from kgplatform.types import Hit

PUBLISHED: Final = DualOptions(
    things=60, thing=0.2, relations=60, relation=0.2, pruned=180, longest=None, compatible=True
)
"""As the public code has it, at its commit of April 2025.

Targets are found with all low-level keywords as one string, joined by shortest paths for every pair, of any length.
Where no relation is relevant enough all are kept; targets without a kept relation bring no passage; relations around
come in the order of degree and weight, the paths' own without preference, and the global ranking forgets relevance.
"""


@dataclass(frozen=True, slots=True)
class DualTrace:
    """How a dual-level retrieval went."""

    clues: tuple[str, ...]
    asked: AskedKeywords
    local: LocalTrace
    global_: GlobalTrace
    blocks: ContextBlocks


class DualLevelRetriever:
    """Finds passages by the subgraph of the things that a question names, and by the relations that it is after."""

    def __init__(self, sources: Sources, *, options: DualOptions | None = None, name: str = "dual-level") -> None:
        self.name = name
        self._sources = sources
        self._options = options or DualOptions()

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first; the score is that of the two rankings fused.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        return self.explain(question, k)[0]

    def explain(self, question: str, k: int) -> tuple[list[Hit], DualTrace]:
        """The hits, and what led to them."""
        graph, options = self._sources.entity_graph(), self._options
        clues = _clues(question, graph, options)
        asked = asked_keywords(question, graph, clues, self._sources.model)
        local = by_paths(question, asked.low, graph, options)
        global_ = by_relations(asked.high or (() if asked.low else (question,)), graph, options)
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


def without_clues(options: DualOptions | None = None) -> DualOptions:
    """The options less the clues, the first ablation of the thesis."""
    return replace(options or DualOptions(), clues=0)


def one_hop(options: DualOptions | None = None) -> DualOptions:
    """The options with what is next to the targets instead of the subgraph, the second ablation of the thesis."""
    return replace(options or DualOptions(), subgraph=False)
