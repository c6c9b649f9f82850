"""What a question says not to be so: the relation to leave out, told by the words that "without" or 没有 governs."""

from __future__ import annotations

import re
from dataclasses import replace

from kgplatform.questions.graphs import QueryGraph
from kgplatform.questions.joining import without_another
from kgplatform.questions.mentions import Reading
from kgplatform.questions.truths import denies
from kgplatform.questions.work import Work, mention_place

_BUT_NOT = re.compile(r"\b(?:but|and|yet|though) (?:\w+ ){0,2}(?:not|never|no|\w+n['’]t)\b|但|而不|却", re.IGNORECASE)
_GAIN = 0.5


def negated(work: Work, reading: Reading) -> Work:
    """The draft with what the question denies left out, once for each denial that no condition has taken up yet."""
    for token in reading.cues.negations:
        if work.graph.form != "list" or denies(work.graph) or token in work.used:
            continue
        place = mention_place(reading, token)
        graph = (without_another(work.graph, place) if _BUT_NOT.search(reading.text) else None) or _without(
            work.graph, place, reading
        )
        if graph is not None:
            work = replace(work, graph=graph, score=work.score + _GAIN)
    return work


def _without(graph: QueryGraph, place: int, reading: Reading) -> QueryGraph | None:
    number = _nearest_to_target(graph, place)
    if number is None:
        number = _governed(graph, place, reading)
    if number is None:
        number = _named(graph, place)
    if number is None:
        return None
    links = list(graph.links)
    links[number] = replace(links[number], negated=True)
    return replace(graph, links=tuple(links))


def _nearest_to_target(graph: QueryGraph, place: int) -> int | None:
    """The relation to negate where what is said not to be is some steps away: the one that leads there first."""
    target = graph.targets[0]
    if graph.nodes[target].literal or graph.nodes[target].place >= place:
        return None
    for number, link in enumerate(graph.links):
        if target not in (link.subject, link.object) or link.negated:
            continue
        other = link.object if link.subject == target else link.subject
        side = graph.side_of(other, target)
        unsaid = link.place < 0 or link.place == graph.nodes[target].place
        if unsaid and all(graph.nodes[i].place >= place for i in side):
            return number
    return None


def _governed(graph: QueryGraph, place: int, reading: Reading) -> int | None:
    """The relation from what is asked for to what stands between 没有 and the 的 before it: 没有[四星级酒店]的城市."""
    target, mentions = graph.targets[0], reading.mentions
    if reading.language != "zh" or not place <= graph.nodes[target].place < len(mentions):
        return None
    last = mentions[graph.nodes[target].place].first
    of = (i for i in range(mentions[place].first, last) if reading.tokens[i].text == "的")
    end = mention_place(reading, next(of, last))
    inside = frozenset(i for i, n in enumerate(graph.nodes) if place <= n.place < end and i != target)
    for number, link in enumerate(graph.links):
        for near, far in ((link.subject, link.object), (link.object, link.subject)):
            if link.negated or far not in inside or near in inside:
                continue
            if len(graph.way(near, target)) < len(graph.way(far, target)) or near == target:
                return number
    return None


def _named(graph: QueryGraph, place: int) -> int | None:
    """The relation that the denied words name or lead to, those at their very place first."""
    target = graph.targets[0]
    fitting = []
    for number, link in enumerate(graph.links):
        ends = {graph.nodes[link.subject].place, graph.nodes[link.object].place}
        value = graph.nodes[target].literal and target in (link.subject, link.object)
        if (link.place >= place or place in ends) and not value and not link.negated and len(graph.nodes) > 1:
            fitting.append((link.place != place and place not in ends, number))
    return min(fitting)[1] if fitting else None
