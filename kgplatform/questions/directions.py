"""Which way: "from X", "to Y", 从…出发, 到…, told by the words beside a name and by what properties are called."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyoxigraph import NamedNode

from kgplatform.questions.graphs import Link, Node
from kgplatform.questions.mentions import Reading
from kgplatform.questions.schema import SchemaView
from kgplatform.questions.variants import comment_names
from kgplatform.questions.wording import keys

_FROM = re.compile(
    r"\b(?:from|leav(?:e|es|ing)|depart(?:s|ing|ed)?(?:\s+(?:from|at|in))?|out of)\s+"
    r"(?:the\s+|both\s+)?[\"'“‘]?(?:[a-z]+\s+)?[\"'“‘]?$"
    r"|(?:从|自|由)[“\"]?$",
    re.IGNORECASE,
)
_TO = re.compile(
    r"\b(?:to|into|towards?|arriv(?:e|es|ing|ed)?(?:\s+(?:in|at))?|reach(?:es|ing)?|land(?:s|ing)?(?:\s+(?:in|at))?)\s+"
    r"(?:the\s+|both\s+)?[\"'“‘]?(?:[a-z]+\s+)?[\"'“‘]?$|(?:到|至|飞往|开往|前往|飞|抵达|到达)[“\"]?$",
    re.IGNORECASE,
)
_FROM_AFTER = re.compile(r"^[”\"]?(?:出发|起飞|始发|起程|开出|离港)")
_TO_AFTER = re.compile(r"^[”\"]?(?:到达|降落|抵达|进港)")
_WITH, _AGAINST = -0.35, 1.2
_LED = 0.08
_PREPOSITIONS = frozenset(("in", "at", "on", "by", "with", "for"))


def heading(reading: Reading, place: int) -> str:
    """``source`` or ``destination``, as the words beside a mention say; empty if they do not."""
    mention = reading.mentions[place]
    before = reading.text[: reading.tokens[mention.first].start]
    after = reading.text[reading.tokens[mention.last - 1].end :]
    if _FROM.search(before) or _FROM_AFTER.search(after):
        return "source"
    return "destination" if _TO.search(before) or _TO_AFTER.search(after) else ""


class Directions:
    """Tells of the properties of a schema which lead to where something starts, and which to where it ends."""

    def __init__(self, schema: SchemaView) -> None:
        self._schema = schema
        self._known: dict[NamedNode, str] = {}

    def of(self, predicate: NamedNode) -> str:
        """``source``, ``destination``, or empty for a property that has no direction."""
        known = self._known.get(predicate)
        if known is None:
            known = self._known[predicate] = self._told(predicate)
        return known

    def _told(self, predicate: NamedNode) -> str:
        term = self._schema.properties.get(predicate)
        if term is None or not term.is_object:
            return ""
        said = [word.text for word in term.words]
        said += [name for comment in term.comments for name in comment_names(comment.text)]
        found = {part for text in said for key, _ in keys(text) for part in key}
        return next((sense for sense in ("source", "destination") if f"~{sense}" in found), "")

    def led(self, new: tuple[Link, ...], place: int, reading: Reading) -> float:
        """What is spared where a relation not named is called by the word before a mention: works *in* a place."""
        first = reading.mentions[place].first
        words = [reading.tokens[i].text.casefold() for i in range(max(0, first - 2), first)]
        word = next((w for w in reversed(words) if w not in ("the", "a", "an")), "")
        if word not in _PREPOSITIONS:
            return 0.0
        terms = (self._schema.properties.get(link.predicate) for link in new if link.place < 0)
        return _LED if any(w.text.casefold().endswith(f" {word}") for t in terms if t for w in t.words) else 0.0

    def cost(self, predicate: NamedNode, wanted: str) -> float:
        """What it costs, or spares, to go along a property where the words head one way."""
        way = self.of(predicate) if wanted else ""
        if not way:
            return 0.0
        return _WITH if way == wanted else _AGAINST


def heading_of(nodes: Sequence[Node], links: Sequence[Link], index: int, headings: list[str]) -> str:
    """Which way the words before a known thing, or before its code, head; empty for what is not in the draft."""
    if index >= len(nodes):
        return ""
    codes = (nodes[x.object] for x in links if x.subject == index and nodes[x.object].literal)
    known = (node for node in (nodes[index], *codes) if node.terms and 0 <= node.place < len(headings))
    return next((headings[node.place] for node in known if headings[node.place]), "")
