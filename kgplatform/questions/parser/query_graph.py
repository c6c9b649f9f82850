"""A query as a graph of variables, terms and edges, and its reading as a noun phrase with conditions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyoxigraph import Literal, NamedNode

from kgplatform import lexicon
from kgplatform.lexicon.amounts import amount, plural
from kgplatform.questions.name_index import NameIndex
from kgplatform.text import singular

# A query as a graph of variables, terms and edges; `writing` gives its SPARQL text, `verbal` its reading.


@dataclass(frozen=True, slots=True)
class Node:
    """A variable (no ``terms``) or a thing; ``types`` is what is known of its class, ``named`` the class to demand.

    ``joint`` is "and" or "or" where several names were said together, ``apart`` the terms of each.
    """

    place: int
    types: frozenset[NamedNode]
    terms: tuple[NamedNode | Literal, ...] = ()
    named: NamedNode | None = None
    literal: bool = False
    open: bool = False
    joint: str = ""
    apart: tuple[tuple[NamedNode | Literal, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """An edge between two nodes; ``place`` is the mention that named it, -1 if none did."""

    subject: int
    predicate: NamedNode
    object: int
    place: int = -1
    path: str = ""
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Than:
    """A value that has to be looked up: the ``function`` (AVG, MAX, MIN) of a node of another graph."""

    graph: QueryGraph
    node: int
    function: str


@dataclass(frozen=True, slots=True)
class NodeComparison:
    """A literal node compared with numbers or times, or with a value to look up; ``form``: how its values are read."""

    node: int
    operator: str
    low: str
    high: str | None = None
    form: str = "number"
    than: Than | None = None


@dataclass(frozen=True, slots=True)
class Best:
    """The node restricted to those with most (1) or least (-1) of a measure: a literal node, or how many of a node.

    ``within``: the extreme is that of each of these nodes' values; ``rank`` 2: the second most; ``function``: how a
    ``counted`` measure is summed up for the node.
    """

    node: int
    measure: int
    direction: int
    counted: bool = False
    top: int = 1
    within: tuple[int, ...] = ()
    rank: int = 1
    function: str = "COUNT"


@dataclass(frozen=True, slots=True)
class Having:
    """The node restricted to those with a number of others, or with a sum or average of a literal node."""

    node: int
    counted: int
    operator: str
    number: str
    function: str = "COUNT"


@dataclass(frozen=True, slots=True)
class Search:
    """A node whose name holds, or starts or ends with, a text; ``function`` is SPARQL's name for it."""

    node: int
    function: str
    text: str


@dataclass(frozen=True, slots=True)
class Order:
    """In what order the rows are wanted: by a property of what is shown, by its name, or by the number ``counted``."""

    predicate: NamedNode | None = None
    descending: bool = False
    counted: bool = False


@dataclass(frozen=True, slots=True)
class QueryGraph:
    """What a question asks for: the connected nodes, what to show of them, and how to restrict and sum them up.

    ``form`` "mean" is the average, over the groups, of how many of the target each has. ``also`` are functions beside
    that of ``form``: "the least and the most". With ``whole`` the form is "difference" or "distance": by how
    much the value or number exceeds that of ``whole``, or how far they are apart; or "more" or "fewer", whether so.
    """

    nodes: tuple[Node, ...] = ()
    links: tuple[Link, ...] = ()
    comparisons: tuple[NodeComparison, ...] = ()
    best: tuple[Best, ...] = ()
    having: tuple[Having, ...] = ()
    targets: tuple[int, ...] = ()
    form: str = "list"
    group: tuple[int, ...] = ()
    unlike: tuple[tuple[int, int], ...] = ()
    searches: tuple[Search, ...] = ()
    also: tuple[str, ...] = ()
    order: Order | None = None
    whole: QueryGraph | None = None

    def without(self, gone: int) -> QueryGraph:
        """The graph without a node and its links, before anything is asked of it but amounts."""
        kept = [i for i in range(len(self.nodes)) if i != gone]
        moved = {old: new for new, old in enumerate(kept)}
        return replace(
            self,
            nodes=tuple(self.nodes[i] for i in kept),
            links=tuple(
                replace(x, subject=moved[x.subject], object=moved[x.object])
                for x in self.links
                if gone not in (x.subject, x.object)
            ),
            comparisons=tuple(replace(c, node=moved[c.node]) for c in self.comparisons if c.node != gone),
            having=tuple(
                replace(h, node=moved[h.node], counted=moved[h.counted])
                for h in self.having
                if gone not in (h.node, h.counted)
            ),
        )

    def around(self, node: int) -> list[Link]:
        """The links of a node."""
        return [link for link in self.links if node in (link.subject, link.object)]

    def side_of(self, node: int, away_from: int) -> frozenset[int]:
        """The nodes that stay connected to ``node`` when the way towards ``away_from`` is cut."""
        way = self.way(node, away_from)
        cut = way[1] if len(way) > 1 else None
        seen, waiting = {node}, [node]
        while waiting:
            here = waiting.pop()
            for link in self.around(here):
                other = link.object if link.subject == here else link.subject
                if here == node and other == cut:
                    continue
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return frozenset(seen)

    def way(self, start: int, end: int) -> list[int]:
        """The nodes from one to another, both included; only the first where nothing joins them."""
        ways = [[start]]
        seen = {start}
        while ways:
            way = ways.pop(0)
            if way[-1] == end:
                return way
            for link in self.around(way[-1]):
                other = link.object if link.subject == way[-1] else link.subject
                if other not in seen:
                    seen.add(other)
                    ways.append([*way, other])
        return [start]


# A query graph in words: what the translator took the question to mean, as a noun phrase with its conditions.

_WORDS = lexicon.phrases("query_graph_words")
_OPERATORS = lexicon.phrases("query_graph_operators")
_LEADING = lexicon.pattern("query_graph.leading")
_TRAILING = lexicon.pattern("query_graph.trailing")


class Verbaliser:
    """Puts one query graph into words of one language.

    ``plain``: as part of a sentence rather than as a formula, what is asked for in the plural where there are
    ``several``.
    """

    def __init__(
        self, graph: QueryGraph, names: NameIndex, language: str, *, plain: bool = False, several: bool = False
    ) -> None:
        self._graph = graph
        self._names = names
        self._chinese = language == "zh"
        self._language = "zh" if self._chinese else "en"
        self._words = _WORDS[self._language]
        self._plain, self._several = plain, several
        self._gap = "" if plain and self._chinese else " "
        self.is_clause = False
        """Whether what was put into words last is called by what is done, "what X cites", and so no noun."""

    def reading(self) -> str:
        """The sense of the query in one line: "prerequisites of X", "X 的先修课程"."""
        graph, words = self._graph, self._words
        if graph.form == "ask":
            facts = [self._of_kind(node) for node in graph.nodes if node.terms and node.named is not None]
            facts += [self._fact(link) for link in graph.links]
            facts += [self._amount(compared) for compared in graph.comparisons]
            return words["whether"].format(said=words["facts"].join(dict.fromkeys(filter(None, facts))))
        if not graph.targets:
            return ""
        phrases = [self._phrase(target, frozenset(), self._limits(target)) for target in graph.targets]
        text = words["comma"].join(dict.fromkeys(phrases))
        other = ""
        if graph.whole is not None and graph.form in ("difference", "distance", "more", "fewer"):
            other = self._like(replace(graph.whole, form="list")).reading()
        if graph.form in words and (other or graph.form not in ("difference", "distance", "more", "fewer")):
            text = words[graph.form].format(text=text, other=other)
        if graph.group:
            text = words["each"].format(text=text, groups=words["comma"].join(self.noun(n) for n in graph.group))
        return text

    def _like(self, graph: QueryGraph) -> Verbaliser:
        return Verbaliser(graph, self._names, self._language, plain=self._plain, several=self._several)

    # nouns

    def of_target(self) -> str:
        """What is asked for with all that is said of it, whatever is counted or summed up of it."""
        target = self._graph.targets[0]
        return self._phrase(target, frozenset(), self._limits(target))

    def _called(self, class_: NamedNode, index: int) -> str:
        """The name of a class, in English sentences in the plural for all but one thing that is asked for."""
        label = self._names.label(class_, self._language)
        one = index in self._graph.targets and not self._several
        return plural(label) if self._plain and not self._chinese and not one else label

    def noun(self, index: int) -> str:
        """A node by its own name or that of its class."""
        node = self._graph.nodes[index]
        if node.terms:
            labels = dict.fromkeys(self._names.label(term, self._language) for term in node.terms[:3])
            return self._words["or"].join(labels)
        if node.named is not None:
            return self._called(node.named, index)
        type_ = self._names.schema.widest(node.types)
        if type_ is not None and not node.open:
            return self._called(type_, index)
        links = [link for link in self._graph.links if link.object == index]
        if links:
            return self._bare(links[0])
        return self._called(type_, index) if type_ is not None else self._words["what"]

    def _bare(self, link: Link) -> str:
        """The name of a property without the verb that it begins with, as a noun where no sentence needs a verb."""
        schema = self._names.schema
        label = (schema.label if self.verbal(link) else schema.noun)(link.predicate, self._language)
        return _LEADING.sub("", label)

    def _phrase(self, index: int, seen: frozenset[int], limits: list[str]) -> str:
        """A node with all that is said of it, each node once."""
        inside = seen | {index}
        head = self.noun(index)
        conditions: list[str] = []
        owner, verb = "", False
        for link in self._graph.around(index):
            other = link.object if link.subject == index else link.subject
            if other in seen:
                continue
            if link.object == index and not owner and self._nominal(index, link):
                head, verb = self._bare(link), self.verbal(link)
                is_ranked = self._ranked_by(other) and not verb
                owner = "" if is_ranked else self._phrase(other, inside, self._limits(other, inside))
                self.is_clause |= verb
                is_thing = self._several and not self._graph.nodes[index].literal and not verb
                head = plural(head) if is_thing and not self._chinese and singular(head) == head else head
            elif not self._bare_leaf(other) and not self._ranked_by(other):
                conditions.append(self._condition(link, other, inside))
        if owner and self._chinese:
            head = f"{owner}{'' if owner.endswith('）') else self._gap}的{head}"
        elif owner:
            head = _of(head, owner, verb=verb)
        return self._joined(head, [*conditions, *limits])

    def _nominal(self, index: int, link: Link) -> bool:
        """Whether the node is best called by the property that leads to it: "rating of X"."""
        node = self._graph.nodes[index]
        return not link.negated and not node.terms and (node.named is None or not node.types)

    def _bare_leaf(self, index: int) -> bool:
        node = self._graph.nodes[index]
        return node.literal and not node.terms

    def _ranked_by(self, index: int) -> bool:
        """Whether a sentence says of a thing only that there are most or fewest of its kind."""
        return self._plain and len(self._graph.around(index)) == 1 and any(b.measure == index for b in self._graph.best)

    def _condition(self, link: Link, other: int, seen: frozenset[int]) -> str:
        rest = self._phrase(other, seen, self._limits(other, seen))
        forwards, noun = link.object == other, self._bare(link)
        rest = "" if forwards and rest == noun else rest
        verb = self._plain and acts(self._names.label(link.predicate)) if self._chinese else self.verbal(link)
        key = f"{'to' if forwards else 'from'}_{'verb' if verb else 'noun'}{'_not' if link.negated else ''}"
        label = self._names.label(link.predicate, self._language) if verb or (self._chinese and forwards) else noun
        if verb and forwards and self._plain and not self._chinese and acts(label):
            label = self._words["clause"].format(label=plural_verb(label) if self._several else label)
        said = self._words[key].format(label=label, rest=rest, gap=self._gap).strip()
        return f"{said}{self._words['repeated']}" if link.path and not self._plain else said

    def verbal(self, link: Link) -> bool:
        """Whether a property is called by a verb or with a preposition: "proposes", "taught by"."""
        if self._graph.nodes[link.object].literal:
            return False
        label = self._names.label(link.predicate, self._language).casefold()
        return _TRAILING.search(label) is not None or acts(label)

    def _joined(self, head: str, conditions: list[str]) -> str:
        listed = list(dict.fromkeys(filter(None, conditions)))
        if not listed:
            return head
        both = self._plain and self._graph.best and len(listed) == 2
        said = self._words["with" if both else "plain_facts" if self._plain else "facts"].join(listed)
        return self._words["plain_of" if self._plain else "of"].format(head=head, said=said)

    def _fact(self, link: Link) -> str:
        if self._bare_leaf(link.object):
            return ""
        label = self._names.label(link.predicate, self._language)
        negation = self._words["not"] if link.negated else ""
        return f"{self.noun(link.subject)} {negation}{label} {self.noun(link.object)}"

    def _amount(self, compared: NodeComparison) -> str:
        """That a value of a thing is so much."""
        subject = next((link.subject for link in self._graph.links if link.object == compared.node), None)
        limit = self._comparison(compared)
        return limit if subject is None else f"{self.noun(subject)} {limit}"

    def _of_kind(self, node: Node) -> str:
        """That a thing is one of a kind."""
        thing, kind = (self._names.label(term, self._language) for term in (node.terms[0], node.named))
        return self._words["of_kind"].format(thing=thing, kind=kind)

    # limits

    def _limits(self, index: int, seen: frozenset[int] = frozenset()) -> list[str]:
        """What is compared, most or least of a node."""
        graph, words = self._graph, self._words
        leaves = {link.object for link in graph.around(index) if link.subject == index}
        found = [self._comparison(c) for c in graph.comparisons if c.node in leaves and c.node not in seen]
        others = [other for one, other in graph.unlike if one == index and graph.nodes[other].terms]
        found += [words["other_than"].format(noun=self.noun(other)) for other in others]
        found += [self._best(b) for b in graph.best if b.node == index]
        found += [words[search.function].format(text=search.text) for search in graph.searches if search.node == index]
        for having in graph.having:
            if having.node == index:
                sign = _OPERATORS[self._language][having.operator]
                found.append(words["having"].format(noun=self.noun(having.counted), sign=sign, number=having.number))
        return found

    def _comparison(self, comparison: NodeComparison) -> str:
        noun = self.noun(comparison.node)
        if comparison.high is not None:
            return self._words["compared"].format(said=f"{noun} {comparison.low}–{comparison.high}")
        sign = _OPERATORS[self._language].get(comparison.operator, comparison.operator)
        limit = self._number(comparison)
        if comparison.than is not None:
            than = comparison.than
            other = replace(than.graph, targets=(than.node,), form=than.function if than.function == "AVG" else "list")
            limit = self._like(other).reading()
        return self._words["compared"].format(said=self._gap.join(filter(None, (noun, sign, limit))))

    def _number(self, comparison: NodeComparison) -> str:
        """The number that is compared with, in a sentence with its unit."""
        link = next((x for x in self._graph.links if x.object == comparison.node), None)
        if not (self._plain and comparison.low) or link is None or comparison.form != "number":
            return comparison.low
        return amount(comparison.low, self._names.schema.unit(link.predicate, self._language), self._language)

    def _best(self, best: Best) -> str:
        way = f"{'most' if best.direction > 0 else 'least'}{'_counted' if best.counted else ''}"
        key = "best" if best.top < 2 else "top"
        return self._words[key].format(noun=self.noun(best.measure), way=self._words[way], count=best.top)


def acts(label: str) -> bool:
    """Whether an English label is a verb in the third person: "serves", "grows in"."""
    return lexicon.pattern("query_graph.acting").search(label) is not None


def plural_verb(label: str) -> str:
    """A label that is a verb in the third person as several do it: "grow in"."""
    first, *rest = label.split()
    return " ".join((singular(first), *rest))


def _of(head: str, owner: str, *, verb: bool) -> str:
    if head.endswith(" of"):
        return f"{head} {owner}"
    if not verb:
        return f"{head} of {owner}"
    return f"what {owner} is {head}" if _TRAILING.search(head) else f"what {owner} {head}"
