"""A partly built query graph: what it holds, what its guesses cost, and what a mention adds to it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kgplatform.questions.graphs import Link, Node
from kgplatform.questions.joining import Mention
from kgplatform.questions.mentions import Reading

MOST_MENTIONS = 12
"""How many mentions of a question are read."""
PART = 0.65
"""A mention with no better option than this is one word out of a longer name."""

_PASSED_PART = 0.2
_CERTAIN, _PASSED_NAME = 0.95, 1.2
_BESIDE = 0.8


@dataclass(frozen=True, slots=True)
class Draft:
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

    def linked(self, reading: Reading) -> float:
        """How well the names used fit the words of the question, 0..1."""
        mentions = [m for n, m in enumerate(reading.mentions[:MOST_MENTIONS]) if n not in self.skipped]
        most = sum(weight_of(mention, reading) + 0.15 for mention in mentions)
        return min(1.0, self.gain / most) if most else 0.0


def apart_from(before: Draft, after: Draft, columns: tuple[int, ...]) -> Draft:
    """The draft a column was added to, dearer where the column hangs on another one."""
    held = {end for x in after.links[len(before.links) :] for end in (x.subject, x.object) if end < len(before.nodes)}
    if any(before.nodes[end].place in columns and before.nodes[end].place >= 0 for end in held):
        return replace(after, cost=after.cost + _BESIDE)
    return after


def passed_over(mention: Mention) -> float:
    """What it costs to take a mention for no name: less where it is only a part of one."""
    best = mention.options[0]
    if best.kind == "entity" and best.score >= _CERTAIN:
        return _PASSED_NAME
    return 0.9 if best.score >= PART else _PASSED_PART


def weight_of(mention: Mention, reading: Reading) -> float:
    """How much a mention matters: the weights of its words."""
    return max(0.25, sum(reading.weights[mention.first : mention.last]))


def with_node(draft: Draft, index: int, node: Node, cost: float) -> Draft:
    """The draft with another node in the place of one."""
    nodes = (*draft.nodes[:index], node, *draft.nodes[index + 1 :])
    return replace(draft, nodes=nodes, cost=draft.cost + cost)
