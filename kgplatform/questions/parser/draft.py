"""A partly built query graph: what it holds, what its guesses cost, and what a mention adds to it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyoxigraph import NamedNode

from kgplatform import lexicon
from kgplatform.questions.parser.coordination import NameMention
from kgplatform.questions.parser.mentions import QuestionReading
from kgplatform.questions.parser.query_graph import Best, Link, Node, QueryGraph

# A query graph while it is being completed, and where its parts stand in the question.

_AGENT = 0.8
_AGENT_NOUN = lexicon.pattern("draft.agent_noun")


@dataclass(frozen=True, slots=True)
class OpenGraph:
    """A graph being completed: its score, the tokens that adjectives explained, what came to be asked."""

    graph: QueryGraph
    score: float
    used: set[int]
    target: int | None = None
    lost: frozenset[int] = frozenset()
    linked: float = 1.0

    def without(self, first: int, last: int, cost: float) -> OpenGraph:
        """With tokens given up: nothing was found that they could be about."""
        return replace(self, score=self.score - cost, lost=self.lost | set(range(first, last)))

    def with_leaf(self, index: int, predicate: NamedNode, place: int) -> OpenGraph:
        """With a literal property of a node added."""
        leaf = Node(place, frozenset(), literal=True)
        link = Link(index, predicate, len(self.graph.nodes), place=place)
        graph = replace(self.graph, nodes=(*self.graph.nodes, leaf), links=(*self.graph.links, link))
        return replace(self, graph=graph)

    def with_best(self, best: Best) -> OpenGraph:
        """With a node restricted to the extreme of a measure."""
        return replace(self, graph=replace(self.graph, best=(*self.graph.best, best)), score=self.score + 0.6)


def mention_place(reading: QuestionReading, token: int) -> int:
    """The first mention at or after a token, as its number."""
    return next((n for n, m in enumerate(reading.mentions) if m.first >= token), len(reading.mentions))


def asks(place: int, reading: QuestionReading) -> bool:
    """Whether a mention is itself a question ("which airline", as a name of a property): it asks for the value."""
    if not 0 <= place < len(reading.mentions):
        return False
    mention = reading.mentions[place]
    said = reading.text[reading.tokens[mention.first].start : reading.tokens[mention.last - 1].end]
    option = mention.options[0]
    agent = option.kind == "property" and option.score < _AGENT and _AGENT_NOUN.search(said) is not None
    return agent or lexicon.pattern("draft.asking").search(said) is not None


def by_distance(graph: QueryGraph, place: int) -> list[int]:
    """Nodes, nearest to a mention first; of equal ones that before it."""
    return sorted(range(len(graph.nodes)), key=lambda i: (abs(graph.nodes[i].place - place + 0.6), i))


def superlative_order(graph: QueryGraph, place: int, before: int, target: int, language: str) -> list[int]:
    """The nodes a superlative may be about, likeliest first."""
    at = sorted(
        (i for i, node in enumerate(graph.nodes) if node.place == place),
        key=lambda i: not (graph.nodes[i].named or graph.nodes[i].open or graph.nodes[i].literal),
    )
    if language == "zh":
        at += [i for i, node in enumerate(graph.nodes) if node.place == before]
    return [*at, target, *(i for i in by_distance(graph, place) if i not in at and i != target)]


def predicate_of(graph: QueryGraph, leaf: int) -> NamedNode:
    """The property that a literal node is the value of."""
    return next((link.predicate for link in graph.links if link.object == leaf), NamedNode("urn:x-none"))


def dangling(graph: QueryGraph, target: int) -> float:
    """What it costs that things came in which nothing names and nobody asks for."""
    measured = {h.counted for h in graph.having} | {b.measure for b in graph.best}
    measured |= {end for link in graph.links if link.negated for end in (link.subject, link.object)}
    asked_of = {link.subject for link in graph.links if link.object == target and graph.nodes[target].literal}
    loose = [
        i
        for i, node in enumerate(graph.nodes)
        if node.open
        and i != target
        and i not in measured | asked_of
        and node.named is None
        and len(graph.around(i)) < 2
    ]
    return 0.5 * len(loose)


def first_from(places: list[int], start: int) -> int:
    """The first place at or after a start; -1 if there is none."""
    return next((place for place in places if place >= start), -1)


def reach(reading: QuestionReading, asked: int, first: int) -> int:
    """How far a question word reaches: over function words and adjectives."""
    between = reading.weights[asked:first]
    return 4 if sum(between) <= 1.0 else 0


def most_numerous(graph: QueryGraph, counted: int, target: int, token: int, reading: QuestionReading) -> int:
    """What has the most of something: what is asked for, or the thing that the words before "most" are about."""
    before = [
        i
        for i, node in enumerate(graph.nodes)
        if i not in (counted, target) and not node.terms and not node.literal and node.named is not None
        if 0 <= node.place < len(reading.mentions) and reading.mentions[node.place].last <= token
    ]
    asked = graph.nodes[target]
    later = [i for i in before if graph.nodes[i].place > asked.place]
    return max(later, key=lambda i: graph.nodes[i].place) if later else target


def noun_place(reading: QuestionReading, place: int) -> int:
    """The mention that a mention before it only describes ("departing flights"), else the mention itself."""
    mentions = reading.mentions
    if place + 1 < len(mentions) and mentions[place].last == mentions[place + 1].first:
        first, second = mentions[place].options[0], mentions[place + 1].options[0]
        if first.kind != "class" and second.kind == "class":
            return place + 1
    return place


def summed_for(graph: QueryGraph, leaf: int) -> int | None:
    """The thing that a value is summed up for: one that the question names, other than what has the value."""
    owner = next((link.subject for link in graph.links if link.object == leaf), None)
    named = [i for i, n in enumerate(graph.nodes) if n.named is not None and not n.terms and i != owner]
    return min(named, key=lambda i: graph.nodes[i].place, default=None)


MOST_MENTIONS = 12
"""How many mentions of a question are read."""
PART = 0.65
"""A mention with no better option than this is one word out of a longer name."""

_PASSED_PART = 0.2
_CERTAIN, _PASSED_NAME = 0.95, 1.2
_BESIDE = 0.8


@dataclass(frozen=True, slots=True)
class GraphDraft:
    """A partly built query graph and what its guesses cost so far."""

    nodes: tuple[Node, ...] = ()
    links: tuple[Link, ...] = ()
    cost: float = 0.0
    gain: float = 0.0
    skipped: frozenset[int] = frozenset()

    @property
    def score(self) -> float:
        """What the mentions explain less what had to be guessed."""
        return self.gain - self.cost

    def linked(self, reading: QuestionReading) -> float:
        """How well the names used fit the words of the question, 0..1."""
        mentions = [m for n, m in enumerate(reading.mentions[:MOST_MENTIONS]) if n not in self.skipped]
        most = sum(weight_of(mention, reading) + 0.15 for mention in mentions)
        return min(1.0, self.gain / most) if most else 0.0


def apart_from(before: GraphDraft, after: GraphDraft, columns: tuple[int, ...]) -> GraphDraft:
    """The draft a column was added to, dearer where the column hangs on another one."""
    held = {end for x in after.links[len(before.links) :] for end in (x.subject, x.object) if end < len(before.nodes)}
    if any(before.nodes[end].place in columns and before.nodes[end].place >= 0 for end in held):
        return replace(after, cost=after.cost + _BESIDE)
    return after


def passed_over(mention: NameMention) -> float:
    """What it costs to take a mention for no name: less where it is only a part of one."""
    best = mention.options[0]
    if best.kind == "entity" and best.score >= _CERTAIN:
        return _PASSED_NAME
    return 0.9 if best.score >= PART else _PASSED_PART


def weight_of(mention: NameMention, reading: QuestionReading) -> float:
    """How much a mention matters: the weights of its words."""
    return max(0.25, sum(reading.weights[mention.first : mention.last]))


def with_node(draft: GraphDraft, index: int, node: Node, cost: float) -> GraphDraft:
    """The draft with another node in the place of one."""
    nodes = (*draft.nodes[:index], node, *draft.nodes[index + 1 :])
    return replace(draft, nodes=nodes, cost=draft.cost + cost)
