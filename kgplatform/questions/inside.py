"""What lies in what, by the words of the question: the thing after "in" holds the other, and so does one before 里."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.questions.graphs import Link, Node
from kgplatform.questions.mentions import Reading

_BEFORE_HOLDER: Final = frozenset(("in", "inside", "within", "在", "于"))
_BEHIND_HOLDER: Final = frozenset(("里", "内", "境"))
_HAVING: Final = frozenset(("has", "have", "had", "contains", "contain", "有"))
_INSIDE_OUT: Final = 0.5


def inside_out(
    nodes: tuple[Node, ...], links: tuple[Link, ...], reading: Reading, inward: frozenset[NamedNode]
) -> float:
    """What it costs that links by properties that place things are read the wrong way round.

    That is: they say of the holder that it lies in the other, or take the name of the holder's class for what it holds.

    ``inward`` are these properties: they lead from a thing to what it lies in.
    """
    cost = 0.0
    for link in links:
        inner, outer = nodes[link.subject], nodes[link.object]
        holds = (_holds(inner, reading) or _has(inner, reading)) and not _holds(outer, reading)
        named = inner.open and inner.place == link.place and _is_class(inner, reading)
        cost += _INSIDE_OUT if link.predicate in inward and (holds or named) else 0.0
    return cost


def righted(
    nodes: tuple[Node, ...], links: tuple[Link, ...], reading: Reading, inward: frozenset[NamedNode]
) -> tuple[Link, ...]:
    """The links, each between two named things the way the words have it: "is China in Hangzhou" asks just that."""
    found = []
    for link in links:
        inner, outer = nodes[link.subject], nodes[link.object]
        turned = link.predicate in inward and outer.terms and _holds(inner, reading) and not _holds(outer, reading)
        found.append(replace(link, subject=link.object, object=link.subject) if turned else link)
    return tuple(found)


def _is_class(node: Node, reading: Reading) -> bool:
    """Whether the words that are read as the property name a class: "cities in X" are cities, not what is in one."""
    return any(option.kind == "class" for option in reading.mentions[node.place].options)


def _holds(node: Node, reading: Reading) -> bool:
    """Whether the words say of a node with a name that something lies in it."""
    if not node.terms or not 0 <= node.place < len(reading.mentions):
        return False
    mention = reading.mentions[node.place]
    before = mention.first - 1
    if _word(reading, before) == "the":
        before -= 1
    if _word(reading, mention.last) == "的" and reading.cues.boolean:
        following = [m for m in reading.mentions if m.first == mention.last + 1]
        return any(option.kind == "class" for m in following for option in m.options)
    return _word(reading, before) in _BEFORE_HOLDER or _word(reading, mention.last) in _BEHIND_HOLDER


def _has(node: Node, reading: Reading) -> bool:
    """Whether a word for having follows a class: "which town has the most sights"."""
    if node.terms or node.named is None or not 0 <= node.place < len(reading.mentions):
        return False
    return _word(reading, reading.mentions[node.place].last) in _HAVING


def _word(reading: Reading, place: int) -> str:
    return reading.tokens[place].text.casefold() if 0 <= place < len(reading.tokens) else ""
