"""Restrictions that follow from the words alone: searches in names, the first few, another than the one named."""

from __future__ import annotations

from dataclasses import replace

from kgplatform.questions.mentions import Reading
from kgplatform.questions.work import Work, by_distance, mention_place


def searched_names(work: Work, reading: Reading) -> Work:
    """“Whose name contains …”: of the things named nearest."""
    wanted = reading.search
    if wanted is None or wanted.search is None:
        return work
    place = mention_place(reading, wanted.first)
    for index in by_distance(work.graph, place):
        node = work.graph.nodes[index]
        if not node.literal and not node.terms:
            search = replace(wanted.search, node=index)
            graph = replace(work.graph, searches=(*work.graph.searches, search))
            return replace(work, graph=graph, score=work.score + 0.6)
    return work.without(wanted.first, wanted.last, 1.0)


def distinct_pair(work: Work, target: int) -> Work:
    """“Who writes papers with X”: another than X is meant."""
    graph = work.graph
    for link in graph.links:
        for other in graph.links:
            known = graph.nodes[other.object].terms
            same = link.predicate == other.predicate and link.subject == other.subject
            if same and link.object == target and other.object != target and len(known) == 1:
                pair = (target, other.object)
                return replace(work, graph=replace(graph, unlike=(*graph.unlike, pair)))
    return work


def topped(work: Work, reading: Reading) -> Work:
    """With as many of the ranking as the question says."""
    if reading.top == 1 or not work.graph.best:
        return work
    best = tuple(replace(item, top=reading.top) for item in work.graph.best)
    return replace(work, graph=replace(work.graph, best=best))
