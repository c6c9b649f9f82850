"""The columns of an answer: what a question lists side by side ("the name and budget of …"), and what it groups by."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from kgplatform.questions.graphs import QueryGraph
from kgplatform.questions.joining import Mention
from kgplatform.questions.tokens import Token
from kgplatform.text import has_han, singular

NAME = -1
"""Stands among columns for the name of the thing that the others are of."""

_ASKED_OF_IT = re.compile(r"(?:又|都)?(?:是|为|有|在|叫)(?:哪|什么|多少|谁|几)")
_NEAR = 4
_NAMES = frozenset(("name", "names", "title", "titles"))
_NAMES_ZH = re.compile(r"名称|名字")
_JOINS = re.compile(
    r",|，|、|;|\band\b|\bas well as\b|\balong with\b|\btogether with\b|\bwith (?:their|its)\b|&|和|以及|及|与|并且",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"(?:\band|\bas well as|\balong with|\btogether with|,)\s*(?:(?:the|their|its|corresponding)\s+)*$", re.IGNORECASE
)
_THEIR = re.compile(r"\b(?:their|its|his|her)\b|各自|对应")
_OF = re.compile(
    r"\s*(?:of|for)\s+(?:(?:all|the|each|every|any|some|a|an|distinct|different|those|lowest|highest|most|least|\w+est|\w+ing)\s+)*",
    re.IGNORECASE,
)
_GAP = re.compile(
    r"(?:\s*\bvalues?\b)?\s*(?:,|，|、|\band\b|\bas well as\b|\balong with\b|\bwith\b|&|和|以及|及|与|\s)*\s*"
    r"(?:(?:the|a|an|all|their|its|his|her|corresponding|respective|distinct|different|unique)\b\s*|的|其|各自)*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Columns:
    """What is shown: numbers of mentions, or `NAME`; ``groups`` are the mentions that "each" or "per" governs.

    ``extra``: shown beside what is asked for, not instead of it. ``counted``: of the last only the number is wanted.
    ``of``: the mention of whose things the names are asked for; ``named``: only names are asked for.
    """

    shown: tuple[int, ...] = ()
    extra: bool = False
    counted: int | None = None
    groups: tuple[int, ...] = ()
    used: frozenset[int] = frozenset()
    of: int | None = None
    named: bool = False


@dataclass(frozen=True, slots=True)
class _Item:
    number: int
    first: int
    last: int
    counted: bool = False


def read_columns(
    text: str,
    tokens: Sequence[Token],
    mentions: Sequence[Mention],
    each: int | None,
    compared: AbstractSet[int] = frozenset(),
) -> Columns:
    """The columns that a question lists; none where it asks for one thing.

    ``compared``: where numbers stand that a value is compared with; what is named before one is a condition.
    """
    items = [i for i in _items(text, tokens, mentions) if not _conditional(i, mentions, compared)]
    runs = _runs(text, tokens, items)
    groups: tuple[int, ...] = ()
    shown: list[_Item] = []
    for run in runs:
        if each is not None and each <= run[0].first <= each + 1 and run[0].number != NAME:
            groups = tuple(item.number for item in run if item.number != NAME)
        elif len(run) > len(shown) and len(run) > 1 and _listed(run, text, tokens, mentions):
            shown = run
    names = [item for run in runs for item in run if item.number == NAME]
    of = next((n for item in names if (n := _of(item, text, tokens, mentions)) is not None), None)
    if shown and not (of is not None and all(item.number != NAME and item.number > of for item in shown)):
        return Columns(
            shown=tuple(item.number for item in shown if not item.counted),
            counted=next((item.number for item in shown if item.counted), None),
            groups=groups,
            used=frozenset(i for item in shown for i in range(item.first, item.last)),
        )
    used = frozenset(i for item in names for i in range(item.first, item.last))
    last = None if groups else _at_the_end(text, tokens, mentions)
    if last is not None and last != of:
        return Columns((last,), extra=True, used=used, of=of, named=bool(names))
    return Columns(groups=groups, used=used, of=of, named=bool(names))


def _items(text: str, tokens: Sequence[Token], mentions: Sequence[Mention]) -> list[_Item]:
    """What may be a column: classes, properties, "number of" a class, and words for names that are no mention."""
    found = []
    taken: set[int] = set()
    for number, mention in enumerate(mentions):
        taken |= set(range(mention.first, mention.last))
        if mention.options[0].kind in ("class", "property"):
            last = mention.last
            if last < len(tokens) and tokens[last].text.casefold() in _NAMES:
                taken.add(last)
                last += 1
            before = text[: tokens[mention.first].start].casefold()
            counted = re.search(r"\bnumber of (?:the |its |their |all )?$", before) is not None
            first = mention.first - 2 if counted else mention.first
            found.append(_Item(number, max(0, first), last, counted))
    for place, token in enumerate(tokens):
        if place not in taken and token.text.casefold() in _NAMES:
            found.append(_Item(NAME, place, place + 1))
    for match in _NAMES_ZH.finditer(text):
        places = [i for i, t in enumerate(tokens) if match.start() <= t.start < match.end()]
        if places and taken.isdisjoint(places):
            found.append(_Item(NAME, places[0], places[-1] + 1))
    return sorted(found, key=lambda item: item.first)


def _conditional(item: _Item, mentions: Sequence[Mention], compared: AbstractSet[int]) -> bool:
    """Whether a number that follows a property compares its values."""
    if item.number == NAME or mentions[item.number].options[0].kind != "property":
        return False
    following = min((m.first for m in mentions if m.first >= item.last), default=item.last + _NEAR + 1)
    return any(item.last <= place <= min(item.last + _NEAR, following) for place in compared)


def _runs(text: str, tokens: Sequence[Token], items: list[_Item]) -> list[list[_Item]]:
    """Items that only commas, "and" and articles part, taken together."""
    runs: list[list[_Item]] = []
    for item in items:
        if runs:
            end, start = tokens[runs[-1][-1].last - 1].end, tokens[item.first].start
            between = text[end:start]
            if (
                start >= end
                and _GAP.fullmatch(between)
                and _JOINS.search(between)
                and not _of_it(item, between, text, tokens)
            ):
                runs[-1].append(item)
                continue
        runs.append([item])
    return runs


def _of_it(item: _Item, between: str, text: str, tokens: Sequence[Token]) -> bool:
    """Whether a Chinese clause of its own asks for the item: 所在的州，首府是哪里 wants only that of the one."""
    return "，" in between and _ASKED_OF_IT.match(text, tokens[item.last - 1].end) is not None


def _listed(run: list[_Item], text: str, tokens: Sequence[Token], mentions: Sequence[Mention]) -> bool:
    """Whether the run lists columns; "rivers and lakes" are things of either class, not two columns."""
    if any(item.number == NAME or item.counted for item in run):
        return True
    if any(mentions[item.number].options[0].kind == "property" for item in run):
        return True
    if _THEIR.search(text[tokens[run[0].last - 1].end : tokens[run[-1].first].start]):
        return True
    words = [tokens[item.last - 1].text for item in run]
    return all(not has_han(word) and singular(word.casefold()) == word.casefold() for word in words)


def _of(item: _Item, text: str, tokens: Sequence[Token], mentions: Sequence[Mention]) -> int | None:
    """The mention that follows "the names of all": what the names are of."""
    for number, mention in enumerate(mentions):
        if mention.first >= item.last:
            between = text[tokens[item.last - 1].end : tokens[mention.first].start]
            return number if _OF.fullmatch(between) else None
    return None


def _at_the_end(text: str, tokens: Sequence[Token], mentions: Sequence[Mention]) -> int | None:
    """The last mention, where it is a property that "and the" adds to a finished question."""
    if len(mentions) < 3 or mentions[-1].options[0].kind != "property":
        return None
    mention = mentions[-1]
    ends = not any(c.isalnum() for c in text[tokens[mention.last - 1].end :])
    return len(mentions) - 1 if ends and _TRAILING.search(text[: tokens[mention.first].start]) else None


def node_of(graph: QueryGraph, number: int, mentions: Sequence[Mention]) -> int | None:
    """The unknown of the graph that a mention stands for."""
    terms = {name.term for option in mentions[number].options for name in option.names}
    leaves = [x.object for x in graph.links if x.place == number and not graph.nodes[x.object].terms]
    named = [i for i, n in enumerate(graph.nodes) if n.named in terms and not n.terms]
    named.sort(key=lambda i: graph.nodes[i].place != number)
    at = [i for i, n in enumerate(graph.nodes) if n.place == number and not n.terms]
    literal = [i for i in (*leaves, *at) if graph.nodes[i].literal]
    same = [x.object for x in graph.links if x.predicate in terms and not graph.nodes[x.object].terms]
    return next(iter((*literal, *named, *leaves, *at, *same)), None)


def shown_nodes(graph: QueryGraph, columns: Columns, mentions: Sequence[Mention]) -> tuple[int, ...]:
    """The unknowns that the columns are, in their order; the name is the thing itself."""
    found = [NAME if number == NAME else node_of(graph, number, mentions) for number in columns.shown]
    known = [node for node in found if node is not None and node != NAME]
    owner = _owner(graph, known)
    nodes = (owner if node == NAME else node for node in found)
    return tuple(dict.fromkeys(node for node in nodes if node is not None))


def _owner(graph: QueryGraph, known: list[int]) -> int | None:
    """The thing that the columns are of: whose properties they are, or the first thing of a class that is none."""
    for node in known:
        for link in graph.links:
            subject = graph.nodes[link.subject]
            if link.object == node and not subject.terms and link.subject not in known:
                return link.subject
    things = [i for i, n in enumerate(graph.nodes) if not n.terms and not n.literal and i not in known]
    return next(iter(sorted(things, key=lambda i: (graph.nodes[i].named is None, graph.nodes[i].place))), None)


def grouped(graph: QueryGraph, columns: Columns, mentions: Sequence[Mention]) -> QueryGraph:
    """The graph with what "each" governs as what its numbers are per."""
    nodes = [node_of(graph, number, mentions) for number in columns.groups]
    group = tuple(dict.fromkeys(n for n in nodes if n is not None and n not in graph.targets))
    return replace(graph, group=group)
