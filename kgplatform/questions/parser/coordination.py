"""Names said side by side, "both A and B", and the columns of an answer: "the name and budget of …"."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from pyoxigraph import NamedNode

from kgplatform import lexicon
from kgplatform.questions.name_index import GraphName
from kgplatform.questions.parser.query_graph import Link, Node, QueryGraph
from kgplatform.questions.parser.vocabulary import QuestionToken
from kgplatform.text import has_han, singular
from kgplatform.vocab import LABEL

# Names said in one breath: "A and B", "both A and B", "A or B", and what they do to a query.

_BETWEEN = lexicon.pattern("coordination.between")
_MOST = 6
_READINGS = 3


@dataclass(frozen=True, slots=True)
class NameMention:
    """Tokens ``first`` to before ``last`` and what they may stand for; equal names of a kind are one option."""

    first: int
    last: int
    options: tuple[MentionReading, ...]


@dataclass(frozen=True, slots=True)
class MentionReading:
    """One reading of a mention: the same kind, several terms if they share name and classes.

    Where several names were said together, ``joint`` is "and" or "or" and ``apart`` holds the terms of each.
    """

    kind: str
    names: tuple[GraphName, ...]
    score: float
    joint: str = ""
    apart: tuple[tuple[GraphName, ...], ...] = ()


def joined(
    mentions: list[NameMention],
    tokens: list[QuestionToken],
    text: str,
    kinds: Callable[[object], Collection[NamedNode]],
) -> list[NameMention]:
    """The mentions, those of one kind that only "and", "or" or a comma parts made into one.

    ``kinds`` gives the classes of a thing: of names that may stand for several, those of one class belong together.
    """
    found: list[NameMention] = []
    for mention in mentions:
        before = found[-1] if found else None
        if before is not None:
            between = text[tokens[before.last - 1].end : tokens[mention.first].start]
            options = _both(before, mention, between, kinds) if _BETWEEN.fullmatch(between) else ()
            if options:
                found[-1] = NameMention(before.first, mention.last, options)
                continue
        found.append(mention)
    return found


def _both(
    one: NameMention, other: NameMention, between: str, kinds: Callable[[object], Collection[NamedNode]]
) -> tuple[MentionReading, ...]:
    """The readings of two names together: those of one class if there are any."""
    pairs = [(a, b) for a in one.options[:_READINGS] for b in other.options[:_READINGS] if _alike(a, b)]
    of_a_class = [(a, b) for a, b in pairs if not set(kinds(a.names[0].term)).isdisjoint(kinds(b.names[0].term))]
    joint = "or" if lexicon.pattern("coordination.or").search(between) else "and"
    return tuple(_together(a, b, joint) for a, b in of_a_class or pairs[:1])


def _alike(first: MentionReading, second: MentionReading) -> bool:
    alike = second.kind == first.kind and second.names[0].predicate == first.names[0].predicate
    few = max(len(first.names), len(second.names)) <= _MOST
    return first.kind in ("entity", "value") and alike and few and second.score >= 0.85 <= first.score


def _together(first: MentionReading, second: MentionReading, joint: str) -> MentionReading:
    return MentionReading(
        first.kind,
        (*first.names, *second.names),
        min(first.score, second.score),
        "or" if first.joint == "or" else joint,
        (*(first.apart or (first.names,)), second.names),
    )


def demands_both(text: str) -> bool:
    """Whether a question wants what has to do with each of "A and B": both, 同时, 都, but not 都有哪些."""
    return lexicon.pattern("coordination.demand").search(text) is not None


def every(graph: QueryGraph, target: int, shared: AbstractSet[NamedNode] = frozenset()) -> QueryGraph:
    """The graph with "A and B" read as a demand for each: what hangs on them is there once for A and once for B.

    ``shared``: properties whose values A and B may have in common, where the question wants just that.
    """
    for index, node in enumerate(graph.nodes):
        if node.joint != "and" or index == target or not node.apart or _of_them(graph, index, target, shared):
            continue
        part = _without(graph, index, target)
        busy = {c.node for c in graph.comparisons} | {i for b in graph.best for i in (b.node, b.measure)}
        if not part & (busy | set(graph.group) | {h.counted for h in graph.having}):
            graph = _cloned(graph, index, part)
    return graph


def _of_them(graph: QueryGraph, index: int, target: int, shared: AbstractSet[NamedNode]) -> bool:
    """Whether what is asked for is a property of the named things ("the budgets of A and B"): one of each then."""
    own = (x for x in graph.links if x.subject == index and x.object == target and x.predicate not in shared)
    return next(own, None) is not None or graph.nodes[target].literal


def _without(graph: QueryGraph, start: int, cut: int) -> frozenset[int]:
    """What stays connected with a node when another is taken out."""
    seen, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        for link in graph.around(here):
            other = link.object if link.subject == here else link.subject
            if other != cut and other not in seen:
                seen.add(other)
                waiting.append(other)
    return frozenset(seen)


def _cloned(graph: QueryGraph, index: int, part: frozenset[int]) -> QueryGraph:
    groups = graph.nodes[index].apart
    nodes: list[Node] = list(graph.nodes)
    nodes[index] = replace(nodes[index], terms=groups[0], joint="", apart=())
    links = list(graph.links)
    for terms in groups[1:]:
        moved = {old: len(nodes) + place for place, old in enumerate(sorted(part))}
        nodes += [graph.nodes[old] for old in sorted(part)]
        nodes[moved[index]] = replace(graph.nodes[index], terms=terms, joint="", apart=())
        links += [
            replace(link, subject=moved.get(link.subject, link.subject), object=moved.get(link.object, link.object))
            for link in graph.links
            if {link.subject, link.object} & part
        ]
    return replace(graph, nodes=tuple(nodes), links=tuple(links))


def either(graph: QueryGraph, exclusive: AbstractSet[NamedNode]) -> QueryGraph | None:
    """The graph with "hotels in A and B" read as those in either, where nothing can be in both; None if none is said.

    ``exclusive`` are the properties that say where things are. A place that is no longer a demand stays as a node that
    nothing is linked to, so that the numbers of the others hold.
    """
    if graph.form not in ("list", "count"):
        return None
    for link in graph.links:
        first = graph.nodes[link.object]
        alike = [
            x
            for x in graph.links
            if (x.subject, x.predicate, x.path, x.negated) == (link.subject, link.predicate, link.path, False)
            and graph.nodes[x.object].terms
            and graph.nodes[x.object].place == first.place
        ]
        if link.predicate not in exclusive or len(alike) < 2:
            continue
        terms = tuple(dict.fromkeys(term for x in alike for term in graph.nodes[x.object].terms))
        nodes = list(graph.nodes)
        nodes[link.object] = replace(first, terms=terms, joint="or")
        links = tuple(x for x in graph.links if x is link or x not in alike)
        return replace(graph, nodes=tuple(nodes), links=links)
    return None


def one_another(graph: QueryGraph) -> QueryGraph | None:
    """The graph of "do A and B border", "are A and B rivals": whether either has the relation to the other.

    None where not two things are joined, or their relation leads to something else that is known or described.
    """
    for index, node in enumerate(graph.nodes):
        links = graph.around(index)
        if node.joint != "and" or len(node.apart) != 2 or node.literal or len(links) != 1 or len(graph.links) != 1:
            continue
        other = links[0].object if links[0].subject == index else links[0].subject
        far = graph.nodes[other]
        if far.literal or far.terms or not far.types & node.types:
            continue
        nodes = list(graph.nodes)
        nodes[index] = replace(node, joint="or", apart=())
        nodes[other] = replace(far, terms=node.terms, named=None, joint="or", open=False)
        return replace(graph, nodes=tuple(nodes), unlike=(*graph.unlike, (index, other)))
    return None


def by_name(graph: QueryGraph) -> QueryGraph | None:
    """The graph that asks for a name instead of a thing, each of "A and B" being had by something of that name.

    None where nothing was asked for of both, or more is said of it.
    """
    target = graph.targets[0]
    beside = graph.around(target)
    plain = len({(x.subject == target, x.predicate) for x in beside}) == 1 and len(beside) == len(graph.links) > 1
    if not plain or graph.comparisons or graph.best or graph.having or graph.nodes[target].literal:
        return None
    if any(not graph.nodes[x.object if x.subject == target else x.subject].terms for x in beside):
        return None
    nodes, links = list(graph.nodes), [beside[0]]
    leaf = len(nodes)
    nodes.append(Node(graph.nodes[target].place, frozenset(), literal=True))
    place = graph.nodes[target].place
    links.append(Link(target, LABEL, leaf, place=place))
    for link in beside[1:]:
        nodes.append(graph.nodes[target])
        copy = len(nodes) - 1
        turned = replace(link, subject=copy) if link.subject == target else replace(link, object=copy)
        links += [turned, Link(copy, LABEL, leaf, place=place)]
    return replace(graph, nodes=tuple(nodes), links=tuple(links), targets=(leaf,))


def without_another(graph: QueryGraph, place: int) -> QueryGraph | None:
    """“With a play in spring but not in autumn”: no other play in autumn, not: a play that is not in autumn.

    None where what is ruled out hangs on what is asked for itself, or nothing known is ruled out.
    """
    target = graph.targets[0]
    for link in graph.links:
        out, held = graph.nodes[link.object], link.subject
        way = graph.way(target, held)
        if not out.terms or out.place < place or held == target or len(way) < 2:
            continue
        copies = {old: len(graph.nodes) + n for n, old in enumerate(way[1:])}
        moved = {**copies, target: target}
        nodes = (*graph.nodes, *(replace(graph.nodes[old], named=graph.nodes[old].named) for old in way[1:]))
        steps = [x for x in graph.links if x.subject in moved and x.object in moved]
        new = [replace(x, subject=moved[x.subject], object=moved[x.object]) for x in steps]
        first = next(n for n, x in enumerate(new) if target in (x.subject, x.object))
        new[first] = replace(new[first], negated=True)
        kept = [x for x in graph.links if x is not link]
        return replace(graph, nodes=nodes, links=(*kept, *new, replace(link, subject=copies[held])))
    return None


# The columns of an answer: what a question lists side by side ("the name and budget of …"), and what it groups by.

NAME = -1
"""Stands among columns for the name of the thing that the others are of."""

_ASKED_OF_IT = lexicon.pattern("coordination.asked_of_it")
_NEAR = 4
_NAMES = lexicon.word_set("coordination.names")
_TRAILING = lexicon.pattern("coordination.trailing")


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
    tokens: Sequence[QuestionToken],
    mentions: Sequence[NameMention],
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
        if each is not None and not groups and each <= run[0].first <= each + 1 and run[0].number != NAME:
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


def _items(text: str, tokens: Sequence[QuestionToken], mentions: Sequence[NameMention]) -> list[_Item]:
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
    for match in lexicon.pattern("coordination.names_zh").finditer(text):
        places = [i for i, t in enumerate(tokens) if match.start() <= t.start < match.end()]
        if places and taken.isdisjoint(places):
            found.append(_Item(NAME, places[0], places[-1] + 1))
    return sorted(found, key=lambda item: item.first)


def _conditional(item: _Item, mentions: Sequence[NameMention], compared: AbstractSet[int]) -> bool:
    """Whether a number that follows a property compares its values."""
    if item.number == NAME or mentions[item.number].options[0].kind != "property":
        return False
    following = min((m.first for m in mentions if m.first >= item.last), default=item.last + _NEAR + 1)
    return any(item.last <= place <= min(item.last + _NEAR, following) for place in compared)


def _runs(text: str, tokens: Sequence[QuestionToken], items: list[_Item]) -> list[list[_Item]]:
    """Items that only commas, "and" and articles part, taken together."""
    runs: list[list[_Item]] = []
    for item in items:
        if runs:
            end, start = tokens[runs[-1][-1].last - 1].end, tokens[item.first].start
            between = text[end:start]
            if (
                start >= end
                and lexicon.pattern("coordination.gap").fullmatch(between)
                and lexicon.pattern("coordination.joins").search(between)
                and not _of_it(item, between, text, tokens)
            ):
                runs[-1].append(item)
                continue
        runs.append([item])
    return runs


def _of_it(item: _Item, between: str, text: str, tokens: Sequence[QuestionToken]) -> bool:
    """Whether a Chinese clause of its own asks for the item: 所在的州，首府是哪里 wants only that of the one."""
    return "，" in between and _ASKED_OF_IT.match(text, tokens[item.last - 1].end) is not None


def _listed(run: list[_Item], text: str, tokens: Sequence[QuestionToken], mentions: Sequence[NameMention]) -> bool:
    """Whether the run lists columns; "rivers and lakes" are things of either class, not two columns."""
    if any(item.number == NAME or item.counted for item in run):
        return True
    if any(mentions[item.number].options[0].kind == "property" for item in run):
        return True
    if lexicon.pattern("coordination.their", 0).search(text[tokens[run[0].last - 1].end : tokens[run[-1].first].start]):
        return True
    words = [tokens[item.last - 1].text for item in run]
    return all(not has_han(word) and singular(word.casefold()) == word.casefold() for word in words)


def _of(item: _Item, text: str, tokens: Sequence[QuestionToken], mentions: Sequence[NameMention]) -> int | None:
    """The mention that follows "the names of all": what the names are of."""
    for number, mention in enumerate(mentions):
        if mention.first >= item.last:
            between = text[tokens[item.last - 1].end : tokens[mention.first].start]
            return number if lexicon.pattern("coordination.of").fullmatch(between) else None
    return None


def _at_the_end(text: str, tokens: Sequence[QuestionToken], mentions: Sequence[NameMention]) -> int | None:
    """The last mention, where it is a property that "and the" adds to a finished question."""
    if len(mentions) < 3 or mentions[-1].options[0].kind != "property":
        return None
    mention = mentions[-1]
    ends = not any(c.isalnum() for c in text[tokens[mention.last - 1].end :])
    return len(mentions) - 1 if ends and _TRAILING.search(text[: tokens[mention.first].start]) else None


def node_of(graph: QueryGraph, number: int, mentions: Sequence[NameMention]) -> int | None:
    """The unknown of the graph that a mention stands for."""
    terms = {name.term for option in mentions[number].options for name in option.names}
    leaves = [x.object for x in graph.links if x.place == number and not graph.nodes[x.object].terms]
    named = [i for i, n in enumerate(graph.nodes) if n.named in terms and not n.terms]
    named.sort(key=lambda i: graph.nodes[i].place != number)
    at = [i for i, n in enumerate(graph.nodes) if n.place == number and not n.terms]
    literal = [i for i in (*leaves, *at) if graph.nodes[i].literal]
    same = [x.object for x in graph.links if x.predicate in terms and not graph.nodes[x.object].terms]
    return next(iter((*literal, *named, *leaves, *at, *same)), None)


def shown_nodes(graph: QueryGraph, columns: Columns, mentions: Sequence[NameMention]) -> tuple[int, ...]:
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


def grouped(graph: QueryGraph, columns: Columns, mentions: Sequence[NameMention]) -> QueryGraph:
    """The graph with what "each" governs as what its numbers are per."""
    nodes = [node_of(graph, number, mentions) for number in columns.groups]
    group = tuple(dict.fromkeys(n for n in nodes if n is not None and n not in graph.targets))
    return replace(graph, group=group)
