"""What is asked for: which unknown of a query graph a question wants to see, and whether it wants yes or no."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyoxigraph import NamedNode

from kgplatform.questions.agreement import AGREES, Agreement
from kgplatform.questions.columns import node_of, shown_nodes
from kgplatform.questions.cues import Cues
from kgplatform.questions.draft import PART
from kgplatform.questions.graphs import Link, Node, QueryGraph
from kgplatform.questions.mentions import Reading
from kgplatform.questions.paths import PathFinder
from kgplatform.questions.work import Work, asks, first_from, predicate_of, reach

_OF_THAT_SORT = 2.0
_PEOPLE = 0.3
"""How much rather "who" asks for people than for organisations."""
_NAMESAKES = 2.2
"""How much likelier it is that all of a name are counted where "called" stands before the name."""
_CALLED = re.compile(r"\b(?:called|named|by the name of)\b|叫|名为", re.IGNORECASE)
_AMONG_WHICH = re.compile(r"(?:里面?|之?中|当中)[，,]?\s*有?哪(?:些|[一几]?[个家座条位名种类所间门部处])")
_WHICH_ONE = re.compile(r"(?:哪[一几]?[个家座条位名种类所间门部处]|谁)的?\s*$")
_WHICH_AT_LAST = re.compile(r"最\w{1,3}的?(?:是|有)?哪[一几]?[个家座条位名种类所间门部处](?=\W|$)")


class Wants:
    """Judges the unknowns of drafts over one graph."""

    def __init__(self, finder: PathFinder, agreement: Agreement) -> None:
        self._finder = finder
        self._agreement = agreement

    def targets(self, work: Work, reading: Reading) -> Iterator[tuple[int, float]]:
        """The unknowns that the question may ask for, likeliest first, each with how likely."""
        graph, cues = work.graph, reading.cues
        bound = {c.node for c in graph.comparisons}
        free = [i for i, node in enumerate(graph.nodes) if not node.terms and i not in bound]
        if not free or is_boolean(graph, cues):
            called = not free and cues.counting is not None and _CALLED.search(reading.text) is not None
            yield (free[0] if free else 0), _NAMESAKES if called else 0.0
            return
        listed = () if reading.columns.extra else shown_nodes(graph, reading.columns, reading.mentions)
        if listed and listed[0] not in bound:
            yield listed[0], 1.5
            return
        scored = [(index, self._asked(index, graph, reading)) for index in free]
        scored.sort(key=lambda item: (-item[1], item[0]))
        yield from scored[:3]

    def _asked(self, index: int, graph: QueryGraph, reading: Reading) -> float:
        node = graph.nodes[index]
        cues, mentions = reading.cues, reading.mentions
        if reading.columns.of is not None and node_of(graph, reading.columns.of, mentions) == index:
            return 2.5
        said = any(link.place == node.place for link in graph.around(index)) or node.named is not None or node.literal
        score = 0.0 if said else -0.8
        values = {link.object for link in graph.around(index) if link.subject == index and link.place == node.place}
        if node.open and any(not graph.nodes[i].terms and graph.nodes[i].place == node.place for i in values):
            score -= 0.3  # the words name the value, not what has it
        if any(link.object == index and asks(link.place, reading) for link in graph.around(index)):
            score += 1.0
        first = mentions[node.place].first if 0 <= node.place < len(mentions) else 99
        free_places = sorted({n.place for n in graph.nodes if not n.terms})
        firsts = sorted({mentions[n.place].first for n in graph.nodes if not n.terms and 0 <= n.place < len(mentions)})
        if any(
            first == first_from(firsts, asked) and first - asked <= reach(reading, asked, first) for asked in cues.asked
        ):
            score += 1.0
        if cues.counting is not None and first == first_from(firsts, cues.counting) and first - cues.counting <= 3:
            score += 1.5
        if reading.language == "zh":
            score += self._asked_zh(node, reading, free_places)
        elif free_places and node.place == free_places[0]:
            score += 0.7
        if cues.superlatives and (node.literal or values) and _wants_thing(node.place, reading):
            return -1.0
        if node.literal and len(graph.around(index)) == 1 and node.place != (free_places[0] if free_places else -1):
            score -= 0.1
        return score + self._of_kind_asked(index, graph, cues)

    def _of_kind_asked(self, index: int, graph: QueryGraph, cues: Cues) -> float:
        """More for what can be the answer to "who", "where" or "when", and for a number where an average is wanted."""
        node, score = graph.nodes[index], 0.0
        summed = {having.counted for having in graph.having}
        if node.literal and index not in summed and (cues.aggregate or cues.time):
            term = self._finder.schema.properties.get(predicate_of(graph, index))
            averaged = bool(cues.aggregate) and not cues.superlatives
            fits = term is not None and ((averaged and term.numeric) or (cues.time and term.temporal))
            score += _OF_THAT_SORT if fits else 0.0
        if cues.person and not node.literal and self._agreement.agent(node.types) == AGREES:
            score += 0.8 + (_PEOPLE if self._agreement.human(node.types) else 0.0)
        if cues.place and any(self._places(link, index) for link in graph.around(index)):
            score += 0.5
        return score

    def _places(self, link: Link, index: int) -> bool:
        """Whether a link says where something is, or the node is what something is put into."""
        return link.predicate in self._finder.placing or (link.object == index and self._agreement.put(link.predicate))

    @staticmethod
    def _asked_zh(node: Node, reading: Reading, free_places: list[int]) -> float:
        if not 0 <= node.place < len(reading.mentions):
            return 0.0
        mention = reading.mentions[node.place]
        rest = reading.text[reading.tokens[mention.last - 1].end :]
        score = 0.9 if re.match(r"\s*(?:都|分别)?(?:是|为|有|在)?(?:什么|哪|多少|谁|几|啥|吗|呢|[??]|$)", rest) else 0.0
        before = reading.text[: reading.tokens[mention.first].start]
        if re.search(
            r"(?:哪些|什么|哪个|哪[一几]?[个家座条位名种类所间门部处]|几[个家座条位]|多少[个家座条位]?|啥|哪)\s*$",
            before,
        ):
            score += 1.2
        if free_places and node.place == free_places[-1]:
            score += 0.5
        if node.named is not None and _AMONG_WHICH.match(rest):
            score += _OF_THAT_SORT
        if mention.options[0].score < PART:
            score -= 0.8  # a part of a name is no way to ask for something
        elif node.named is not None and _requested(node.named, reading):
            score += 0.9
        return score


def is_boolean(graph: QueryGraph, cues: Cues) -> bool:
    """Whether yes or no is wanted; "有 … 吗" about things of a class wants the things."""
    offered = cues.exists is not None and any(n.named is not None and not n.terms for n in graph.nodes)
    return cues.boolean and not offered


def one_or_other(graph: QueryGraph) -> int | None:
    """Which node holds the choice of "is X in A or B", where all else is known; None if there is no such choice."""
    either = [i for i, node in enumerate(graph.nodes) if node.joint == "or" and not node.literal]
    known = all(node.terms for node in graph.nodes)
    return either[0] if len(either) == 1 and known and graph.links and not graph.comparisons else None


def says_something(graph: QueryGraph) -> bool:
    """Whether there is anything in the graph that may be so or not: a relation, or that a thing is of a kind."""
    return bool(graph.links) or any(node.terms and node.named is not None for node in graph.nodes)


def _wants_thing(place: int, reading: Reading) -> bool:
    """Whether a question for the most wants what has it, not how much that is: 哪个面积最大, 面积最大的是哪家."""
    if not 0 <= place < len(reading.mentions):
        return False
    before = reading.text[: reading.tokens[reading.mentions[place].first].start]
    return _WHICH_ONE.search(before) is not None or _WHICH_AT_LAST.search(reading.text) is not None


def _requested(named: NamedNode, reading: Reading) -> bool:
    """Whether a class is named, be it once more, after words such as 推荐 or 有没有."""
    starts = [place for place in (reading.cues.exists, reading.cues.request) if place is not None]
    later = (m for m in reading.mentions if starts and m.first >= min(starts))
    return any(option.kind == "class" and option.names[0].term == named for m in later for option in m.options)


def follows(index: int, graph: QueryGraph, reading: Reading) -> bool:
    """Whether what is asked for comes after "how many": 多少 after the name of a value asks for the value."""
    place, counting = graph.nodes[index].place, reading.cues.counting
    return counting is not None and 0 <= place < len(reading.mentions) and reading.mentions[place].first >= counting
