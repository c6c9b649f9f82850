"""Comparisons with what has to be looked up first: the average, differences, exceptions, what is had in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from pyoxigraph import NamedNode

from kgplatform import lexicon
from kgplatform.questions.name_index import GraphName, NameIndex
from kgplatform.questions.parser.assembly import word_at
from kgplatform.questions.parser.completion import CompleteGraph
from kgplatform.questions.parser.coordination import MentionReading, NameMention
from kgplatform.questions.parser.draft import predicate_of
from kgplatform.questions.parser.measures import Measures, by_age
from kgplatform.questions.parser.mentions import QuestionReading
from kgplatform.questions.parser.query_graph import Link, Node, NodeComparison, QueryGraph, Than
from kgplatform.questions.parser.vocabulary import ADJECTIVES, COMPARATIVES, COMPARISON_SENSES, UNIT_SENSES
from kgplatform.questions.usage import PathFinder, PathStep

# Comparisons with what has to be looked up first: "more than the average", "larger than X", 比 X 高.
#
# The question is parted into what is asked for and what it is compared with; each is understood on its own, both with
# the words at the places they have in the whole.


_WORDS = list(lexicon.words("comparisons.words"))
_THAN = lexicon.pattern("comparisons.than", comparatives="|".join(reversed(_WORDS)))
_BI = lexicon.pattern("comparisons.bi")
_YU = lexicon.pattern("comparisons.yu")
_OPERATORS_ZH = lexicon.table("comparisons.operators_zh")
_SCORE = 0.8
_NAMED = "◆"
_TURNED = {">": "<", "<": ">", ">=": "<=", "<=": ">=", "=": "="}


@dataclass(frozen=True, slots=True)
class _Parted:
    """A question cut at "than"; both texts have blanks where the other's words are."""

    main: str
    reference: str
    operator: str
    senses: tuple[str, ...]
    start: int
    end: int
    word: str = ""


def parted(text: str, names: str = "") -> _Parted | None:
    """The question as what it asks for and what that is compared with; None if it compares with nothing unknown.

    ``names``: the text without its Chinese names, in which a 长 or 比 compares nothing.
    """
    for pattern in (_THAN, lexicon.pattern("comparisons.average"), _YU, _BI):
        match = pattern.search(names or text if pattern in (_YU, _BI) else text)
        if match is None or lexicon.pattern("comparisons.number").match(match["ref"]):
            continue
        start, end = match.span()
        groups = match.groupdict()
        keep = match.span("mid") if groups.get("mid") else (end, end)
        main = _blank(_blank(text, start, keep[0]), keep[1], end)
        ref = " " * match.start("ref") + text[slice(*match.span("ref"))]
        operator, senses = _operator(match["op"] or "", groups.get("adj") or "")
        word = (groups.get("adj") or match["op"] or "").casefold()
        measured = (groups.get("mid") or "").strip().casefold()
        if word in ("more", "less") and measured in ADJECTIVES:  # "more expensive than": no name of anything
            senses, direction = ADJECTIVES[measured]
            operator, word = ">" if (direction > 0) == (word == "more") else "<", measured
            main = _blank(main, start, end)
        return _Parted(main, ref, operator, senses, start, end, word)
    return None


def _without_names(reading: QuestionReading) -> str:
    """The text with something else for the names of things, each character for one."""
    text = reading.text
    for mention in reading.mentions:
        if mention.options[0].kind == "entity":
            start, end = reading.tokens[mention.first].start, reading.tokens[mention.last - 1].end
            text = text[:start] + _NAMED * (end - start) + text[end:]
    return text


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]


def _operator(word: str, adjective: str) -> tuple[str, tuple[str, ...]]:
    if adjective:
        senses = ADJECTIVES[adjective][0] if adjective in ADJECTIVES else ()
        return ("<" if adjective in lexicon.word_set("comparisons.less_zh") else ">"), senses
    if word in _OPERATORS_ZH:
        return _OPERATORS_ZH[word], ()
    plain = word.casefold()
    return COMPARATIVES.get(plain, COMPARATIVES.get(f"{plain.removesuffix('s')}s", ">")), COMPARISON_SENSES.get(
        plain, ()
    )


@dataclass(frozen=True)
class _Comparing:
    """What comparisons are understood by: the names of a graph; reading and candidates are the translator's."""

    _names: NameIndex
    _read: Callable[[str], QuestionReading]
    _candidates: Callable[[QuestionReading], list[CompleteGraph]]


@dataclass(frozen=True)
class Comparer(_Comparing):
    """Understands comparisons over one graph."""

    _measures: Measures

    def compared(self, reading: QuestionReading) -> list[CompleteGraph]:
        """The readings of a question that compares with something unknown; none if it does not."""
        cut = parted(reading.text, _without_names(reading))
        if cut is None:
            return []
        main = self._read(cut.main)
        asked = self._asked(main)
        found = []
        for candidate in asked[:3]:
            for compared in self._with_leaf(candidate, main, cut):
                done = self._limited(compared, cut, reading, main)
                if done is not None:
                    found.append(done)
                    break
        return found

    def _asked(self, main: QuestionReading) -> list[CompleteGraph]:
        """What the main part asks for; of a known thing alone ("is X …") the thing."""
        found = self._candidates(main)
        if found or len(main.mentions) != 1:
            return found
        node = self._thing(main)
        graph = QueryGraph((node,), targets=(0,), form="ask") if node else None
        places = range(main.mentions[0].first, main.mentions[0].last)
        return [CompleteGraph(graph, 1.0, frozenset(places))] if graph else []

    def _thing(self, reading: QuestionReading) -> Node | None:
        """The one thing or class that a text names."""
        option = reading.mentions[0].options[0]
        term = option.names[0].term
        if option.kind == "entity":
            terms = tuple(name.term for name in option.names)
            return Node(0, frozenset(self._names.types(term)), terms=terms)
        if option.kind == "class" and isinstance(term, NamedNode):
            return Node(0, frozenset((term,)), named=term)
        return None

    def _with_leaf(
        self, candidate: CompleteGraph, main: QuestionReading, cut: _Parted
    ) -> Iterator[tuple[CompleteGraph, int]]:
        """The candidate with the value that is compared: one it has, the last named first, or one of the senses."""
        graph = candidate.graph
        leaves = [i for i, n in enumerate(graph.nodes) if n.literal and not n.terms and self._measured(graph, i)]
        for leaf in sorted(leaves, key=lambda i: -graph.nodes[i].place):
            yield candidate, leaf
        if leaves:
            return
        for index in (*graph.targets, *range(len(graph.nodes))):
            node = graph.nodes[index]
            predicate = None if node.literal else self._property(node.types, main, cut)
            if predicate is not None:
                value = Node(node.place, frozenset(), literal=True)
                links = (*graph.links, Link(index, predicate, len(graph.nodes), place=node.place))
                grown = replace(graph, nodes=(*graph.nodes, value), links=links)
                yield replace(candidate, graph=grown), len(graph.nodes)

    def _measured(self, graph: QueryGraph, leaf: int) -> bool:
        term = self._names.schema.properties.get(predicate_of(graph, leaf))
        return term is not None and (term.numeric or term.temporal)

    def _property(self, types: frozenset[NamedNode], main: QuestionReading, cut: _Parted) -> NamedNode | None:
        """The measured property of the classes that either part names, or that the comparing word measures."""
        listed = sorted(types, key=str)
        known = {p.iri for p in self._measures.literal_properties(listed) if p.numeric or p.temporal}
        for reading in (main, self._read(cut.reference)):
            for mention in reading.mentions:
                for option in mention.options:
                    if option.kind == "property" and option.names[0].term in known:
                        term = option.names[0].term
                        return term if isinstance(term, NamedNode) else None
        return self._measures.by_senses(listed, cut.senses) if cut.senses else None

    def _limited(
        self, compared: tuple[CompleteGraph, int], cut: _Parted, reading: QuestionReading, main: QuestionReading
    ) -> CompleteGraph | None:
        candidate, leaf = compared
        than, places = self._reference(candidate.graph, leaf, cut)
        if than is None:
            return None
        turned = by_age(self._names.schema.properties.get(predicate_of(candidate.graph, leaf)), cut.word)
        comparison = NodeComparison(leaf, _TURNED[cut.operator] if turned else cut.operator, "", than=than)
        graph = replace(candidate.graph, comparisons=(*candidate.graph.comparisons, comparison))
        starts = {main.tokens[i].start for i in candidate.explained} | places
        inside = {i for i, t in enumerate(reading.tokens) if t.start in starts or cut.start <= t.start < cut.end}
        lost = {i for i in inside if reading.tokens[i].start not in starts and reading.weights[i] > 0}
        said = {cut.word, *COMPARATIVES}
        operator = {i for i in lost if reading.tokens[i].text.casefold() in said or reading.language == "zh"}
        return replace(
            candidate, graph=graph, score=candidate.score + _SCORE, explained=frozenset((inside - lost) | operator)
        )

    def _reference(self, graph: QueryGraph, leaf: int, cut: _Parted) -> tuple[Than | None, set[int]]:
        """What the values are compared with, and where the words for it begin."""
        predicate = predicate_of(graph, leaf)
        reference = self._read(cut.reference)
        starts = {
            t.start for i, t in enumerate(reference.tokens) if i in reference.covered() or not reference.weights[i]
        }
        extreme = lexicon.pattern("comparisons.extreme").search(cut.reference)
        known = self._described(reference, predicate)
        if extreme is not None:
            function = next(name[:3].upper() for name, said in extreme.groupdict().items() if said)
            whole = known or self._all_of(graph, leaf)
            starts |= {t.start for t in reference.tokens if extreme.start() <= t.start < extreme.end()}
            return Than(whole[0], whole[1], function), starts
        if known is None:
            return None, starts
        some = lexicon.pattern("comparisons.some").search(cut.reference) is not None
        function = "MIN" if (cut.operator.startswith(">")) == some else "MAX"
        starts |= {t.start for t in reference.tokens if t.text.casefold() in ("least", "one", "some", "all", "any")}
        return Than(known[0], known[1], function), starts

    def _described(self, reference: QuestionReading, predicate: NamedNode) -> tuple[QueryGraph, int] | None:
        """The values of the property for what the reference describes: a thing, or things of a class."""
        things = [m for m in reference.mentions if m.options[0].kind in ("entity", "class", "value")]
        if not things:
            return None
        if len(things) == 1:
            node = self._thing(replace(reference, mentions=(things[0],)))
            return self._valued(QueryGraph((node,)), 0, predicate) if node is not None else None
        plain = replace(
            reference, cues=replace(reference.cues, superlatives=(), aggregate="", boolean=False, amounts=())
        )
        for candidate in self._candidates(plain)[:3]:
            for index, node in enumerate(candidate.graph.nodes):
                if predicate_of(candidate.graph, index) == predicate and node.literal:
                    return candidate.graph, index
            for index in (*candidate.graph.targets, *range(len(candidate.graph.nodes))):
                if self._has(candidate.graph.nodes[index], predicate):
                    return self._valued(candidate.graph, index, predicate)
        return None

    def _has(self, node: Node, predicate: NamedNode) -> bool:
        edges = (e for iri in node.types for e in self._names.schema.outgoing.get(iri, ()))
        return not node.literal and not node.terms and any(e.predicate == predicate for e in edges)

    @staticmethod
    def _valued(graph: QueryGraph, index: int, predicate: NamedNode) -> tuple[QueryGraph, int]:
        leaf = Node(-1, frozenset(), literal=True)
        links = (*graph.links, Link(index, predicate, len(graph.nodes)))
        return replace(graph, nodes=(*graph.nodes, leaf), links=links), len(graph.nodes)

    def _all_of(self, graph: QueryGraph, leaf: int) -> tuple[QueryGraph, int]:
        """The property of everything of the class of what is compared."""
        link = next(link for link in graph.links if link.object == leaf)
        subject = graph.nodes[link.subject]
        named = subject.named or self._names.schema.widest(subject.types)
        return self._valued(QueryGraph((Node(-1, subject.types, named=named),)), 0, link.predicate)


# By how much one thing exceeds another: 甲比乙多多少, 甲和乙相差多少, "how much longer is A than B".
#
# What is compared is a value that both have, or with 多 and 少 how many of something each has: 甲的村庄比乙多吗.

_ADJECTIVE = lexicon.expression("comparisons.adjective")
_MORE = lexicon.pattern("comparisons.more", 0, adjective=_ADJECTIVE)
_APART = lexicon.pattern("comparisons.apart")
_DIFFERING_THAN = lexicon.pattern("comparisons.differing_than")
_TRIED = 4
_DIFFERING_SCORE = 6.0


@dataclass(frozen=True)
class Differ(_Comparing):
    """Understands differences of two values over one graph."""

    _measures: Measures

    def differed(self, reading: QuestionReading) -> list[CompleteGraph]:
        """The readings of a question for a difference; none if it asks for none, or not of two things it names."""
        match = next(filter(None, (pattern.search(reading.text) for pattern in (_MORE, _APART, _DIFFERING_THAN))), None)
        things = [*_things(reading)] if match is not None else []
        if match is None or len(things) != 2:
            return self._numbers(reading, lexicon.pattern("comparisons.more_of").search(reading.text), "")
        adjective = (match.groupdict().get("adj") or "").casefold()
        if adjective in lexicon.word_set("comparisons.less") or COMPARATIVES.get(adjective) == "<":
            things.reverse()
        senses = ADJECTIVES[adjective][0] if adjective in ADJECTIVES else COMPARISON_SENSES.get(adjective, ())
        unit = match["unit"].strip().casefold()
        form = "difference" if adjective else "distance"
        for pair in product(*things):
            predicate = next(iter(self._measured(pair, reading, unit, senses)), None)
            if predicate is not None:
                one, other = (self._valued(names, predicate) for names in pair)
                explained = _explained(reading, match, predicate)
                return [CompleteGraph(replace(one, form=form, whole=other), _DIFFERING_SCORE, explained)]
        return self._numbers(reading, match if match.re is _MORE else None, "difference")

    def _numbers(self, reading: QuestionReading, match: re.Match[str] | None, form: str) -> list[CompleteGraph]:
        """How many more of a class one thing has than another, or (without a ``form``) whether it has more."""
        named = [m for m in reading.mentions if m.options[0].kind == "entity" and not m.options[0].apart]
        kinds = [m for m in reading.mentions if m.options[0].kind == "class"]
        if match is None or match["adj"] not in ("多", "少") or len(named) != 2 or len(kinds) != 1:
            return []
        whole, start = reading.text, match.start()
        said = [whole[reading.tokens[m.first].start : reading.tokens[m.last - 1].end] for m in (*named, *kinds)]
        of = whole[reading.tokens[named[0].last - 1].end : start] if kinds[0].first < named[1].first else f"的{said[2]}"
        found = [self._counted(f"{name}{of}") for name in said[:2]]
        for one, other in product(*found):
            alike = [tuple((x.predicate, x.subject, x.object) for x in graph.links) for graph in (one, other)]
            if alike[0] == alike[1]:
                less = match["adj"] == "少"
                first, second = (other, one) if less and form else (one, other)
                graph = replace(first, form=form or ("fewer" if less else "more"), whole=second)
                return [CompleteGraph(graph, _DIFFERING_SCORE, _explained(reading, match, None))]
        return []

    def _counted(self, text: str) -> list[QueryGraph]:
        """The readings of a text that give things, which can be counted."""
        graphs = (candidate.graph for candidate in self._candidates(self._read(text))[:_TRIED])
        return [
            replace(g, form="count", targets=g.targets[:1], group=())
            for g in graphs
            if g.form in ("list", "count") and g.links and not g.nodes[g.targets[0]].literal
        ]

    def _measured(
        self, pair: tuple[tuple[GraphName, ...], ...], reading: QuestionReading, unit: str, senses: tuple[str, ...]
    ) -> list[NamedNode]:
        """The numeric properties that both things have: those the question names, else by the unit or the adjective."""
        types = [sorted(self._names.types(names[0].term), key=str) for names in pair]
        known = [{p.iri for p in self._measures.literal_properties(listed) if p.numeric} for listed in types]
        both = known[0] & known[1]
        options = (o for m in reading.mentions for o in m.options if o.kind == "property")
        named = [term for o in options if isinstance(term := o.names[0].term, NamedNode) and term in both]
        if named:
            return named
        listed = next((word for word in sorted(UNIT_SENSES, key=len, reverse=True) if unit.startswith(word)), "")
        found = (
            self._measures.by_unit(types[0], listed) if listed else None,
            self._measures.by_senses(types[0], UNIT_SENSES[listed]) if listed else None,
            self._measures.by_senses(types[0], senses) if senses else None,
        )
        return [predicate for predicate in found if predicate is not None and predicate in both]

    def _valued(self, names: tuple[GraphName, ...], predicate: NamedNode) -> QueryGraph:
        terms = tuple(name.term for name in names)
        nodes = (Node(0, frozenset(self._names.types(terms[0])), terms=terms), Node(1, frozenset(), literal=True))
        return QueryGraph(nodes, (Link(0, predicate, 1, place=1),), targets=(1,))


def _things(reading: QuestionReading) -> Iterator[list[tuple[GraphName, ...]]]:
    """The things that a question names, each with all that its name may stand for; those in one breath one by one."""
    for mention in reading.mentions:
        options = [option for option in mention.options if option.kind == "entity"]
        if mention.options[0].apart and options:
            yield from ([names] for names in mention.options[0].apart)
        elif options and mention.options[0].kind == "entity":
            yield [option.names for option in options]


def _explained(reading: QuestionReading, match: re.Match[str], predicate: NamedNode | None) -> frozenset[int]:
    """The tokens of the comparison, of the things compared, and of what they are compared by."""
    kept = (
        mention
        for mention in reading.mentions
        for option in mention.options
        if option.kind in ("entity", "class") or option.names[0].term == predicate or predicate is None
    )
    places = {i for mention in kept for i in range(mention.first, mention.last)}
    said = {i for i, t in enumerate(reading.tokens) if match.start() <= t.start < match.end()}
    inside = {i for m in reading.mentions for i in range(m.first, m.last)} - places
    return frozenset((reading.cues.used | places | said) - inside)


# Questions for all but what they name: "sights in A other than B", 除了乙，甲还有什么景点.
#
# The exception is cut out, the rest is understood on its own, with its words at their places, and what was cut out is
# left out of the answer.

_SURE = 0.85


@dataclass(frozen=True)
class Excepter(_Comparing):
    """Understands exceptions over one graph."""

    _finder: PathFinder

    def excepted(self, reading: QuestionReading) -> list[CompleteGraph]:
        """The readings of a question with an exception; none if it has none, or excepts what is no thing."""
        match = lexicon.pattern("comparisons.except").search(reading.text)
        things = self._things((match["en"] or match["zh"]).strip()) if match is not None else ()
        if match is None or not things:
            return []
        start, end = match.span()
        main = self._read(reading.text[:start] + " " * (end - start) + reading.text[end:])
        found = []
        for candidate in self._candidates(main)[:_TRIED]:
            graph = self._without(candidate.graph, things)
            if graph is not None:
                starts = {main.tokens[i].start for i in candidate.explained}
                places = (i for i, t in enumerate(reading.tokens) if t.start in starts or start <= t.start < end)
                found.append(replace(candidate, graph=graph, explained=frozenset(places)))
        return found

    def _things(self, text: str) -> tuple[NamedNode, ...]:
        """The things that the whole of a text names."""
        reading = self._read(text)
        if len(reading.mentions) != 1 or reading.uncovered():
            return ()
        option = reading.mentions[0].options[0]
        if option.kind != "entity" or option.score < _SURE:
            return ()
        return tuple(name.term for name in option.names if isinstance(name.term, NamedNode))

    def _without(self, graph: QueryGraph, things: tuple[NamedNode, ...]) -> QueryGraph | None:
        """The graph that shows all but the things; None where they are not of the kind that it shows."""
        target = graph.targets[0]
        types = frozenset(iri for thing in things for iri in self._names.types(thing))
        node = graph.nodes[target]
        if graph.form not in ("list", "count") or node.literal or node.terms:
            return None
        if not self._finder.compatible(node.types, types):
            return None
        first = len(graph.nodes)
        nodes = tuple(Node(-1, frozenset(self._names.types(thing)), terms=(thing,)) for thing in things)
        unlike = tuple((target, first + number) for number in range(len(things)))
        return replace(graph, nodes=(*graph.nodes, *nodes), unlike=(*graph.unlike, *unlike))


# What has something in common with a named thing: "the other X in the same Z as A", A跟哪些X是同一个Z的.
#
# What is had in common is cut out, the rest is understood on its own, with its words at their places; the two are
# joined
# by what they share, and the named thing itself is left out.

_SAME: Final = lexicon.pattern("comparisons.same")
_SHARING: Final = lexicon.pattern("comparisons.sharing")
_TO_NAME: Final = lexicon.word_set("comparisons.to_name")
_BEFORE_SAME_WORDS: Final = " ".join(lexicon.words("comparisons.before_same_words"))
_BEFORE_SAME: Final = frozenset(_BEFORE_SAME_WORDS.split())
_SAMENESS_SURE: Final = 0.85
_SAMENESS_TRIED: Final = 4
_PAIR: Final = 2


@dataclass(frozen=True, slots=True)
class _Said:
    """The mentions of what is shared and of the thing named, and the tokens that say so."""

    shared: NameMention
    named: NameMention
    used: frozenset[int]


@dataclass(frozen=True)
class Samenesses(_Comparing):
    """Understands what is had in common over one graph."""

    _finder: PathFinder

    def same(self, reading: QuestionReading) -> list[CompleteGraph]:
        """The readings of a question for what shares something with a thing; none if it asks for none."""
        said = _said(reading)
        if said is None:
            return []
        options = [
            option for option in said.named.options if option.kind == "entity" and option.score >= _SAMENESS_SURE
        ]
        if reading.cues.boolean or options[0].apart:
            return self._whether(said, options[0], reading) if reading.cues.boolean else []
        text = reading.text
        for place in said.used:
            start, end = reading.tokens[place].start, reading.tokens[place].end
            text = text[:start] + " " * (end - start) + text[end:]
        main = self._read(text)
        found = [
            new for c in self._candidates(main)[:_SAMENESS_TRIED] for o in options for new in self._joined(c, said, o)
        ]
        if not found and not any(o.kind == "class" for m in main.mentions for o in m.options):
            alone = (CompleteGraph(QueryGraph((Node(-1, self._types(o)),), targets=(0,)), 1.0) for o in options)
            found = [new for c, o in zip(alone, options, strict=True) for new in self._joined(c, said, o)]
        starts = {reading.tokens[i].start for i in said.used}
        return [self._explaining(c, starts, main, reading) for c in found]

    def _types(self, option: MentionReading) -> frozenset[NamedNode]:
        return frozenset(iri for name in option.names[:1] for iri in self._names.types(name.term))

    @staticmethod
    def _explaining(
        candidate: CompleteGraph, starts: set[int], main: QuestionReading, reading: QuestionReading
    ) -> CompleteGraph:
        own = {main.tokens[i].start for i in candidate.explained} | starts
        return replace(candidate, explained=frozenset(i for i, t in enumerate(reading.tokens) if t.start in own))

    def _joined(self, candidate: CompleteGraph, said: _Said, option: MentionReading) -> Iterator[CompleteGraph]:
        """The candidate with its target tied to the thing by what they share."""
        graph = candidate.graph
        target = graph.targets[0]
        node = graph.nodes[target]
        if graph.form not in ("list", "count") or node.literal or node.terms:
            return
        name = Node(-1, self._types(option), terms=tuple(name.term for name in option.names))
        named = len(graph.nodes)
        graph = replace(graph, nodes=(*graph.nodes, name), unlike=(*graph.unlike, (target, named)))
        for tied in self._tied(graph, target, named, said.shared):
            yield replace(candidate, graph=tied, score=candidate.score + 1.0)

    def _whether(self, said: _Said, option: MentionReading, reading: QuestionReading) -> list[CompleteGraph]:
        """Whether two things share it: "are A and B in the same Z"."""
        if len(option.apart) != _PAIR:
            return []
        nodes = tuple(
            Node(-1, frozenset(self._names.types(names[0].term)), terms=tuple(n.term for n in names))
            for names in option.apart
        )
        graph = QueryGraph(nodes, targets=(0,), form="ask")
        used = said.used | reading.cues.used
        return [CompleteGraph(tied, 2.0, used) for tied in self._tied(graph, 0, 1, said.shared)]

    def _tied(self, graph: QueryGraph, one: int, other: int, shared: NameMention) -> Iterator[QueryGraph]:
        """The graph with two nodes that share a thing of a class, or the value of a property."""
        for option in shared.options[:_PAIR]:
            iri = option.names[0].term
            if option.kind == "class" and isinstance(iri, NamedNode):
                ways = self._ways(graph.nodes[one].types, graph.nodes[other].types, iri)
                if ways is not None:
                    held = len(graph.nodes)
                    common = replace(graph, nodes=(*graph.nodes, Node(-1, frozenset((iri,)), named=iri)))
                    yield _along(_along(common, one, ways[0], held), other, ways[1], held)
                    return
            elif option.kind == "property" and isinstance(iri, NamedNode):
                domains = frozenset(self._names.schema.domains(iri))
                term = self._names.schema.properties.get(iri)
                if term is not None and all(
                    self._finder.compatible(graph.nodes[i].types, domains) for i in (one, other)
                ):
                    ranges = frozenset(self._names.schema.ranges(iri)) if term.is_object else frozenset()
                    held = len(graph.nodes)
                    links = (Link(one, iri, held, place=0), Link(other, iri, held, place=0))
                    leaf = Node(-1, ranges, literal=not term.is_object)
                    yield replace(graph, nodes=(*graph.nodes, leaf), links=(*graph.links, *links))
                    return

    def _ways(
        self, one: frozenset[NamedNode], other: frozenset[NamedNode], class_: NamedNode
    ) -> tuple[tuple[PathStep, ...], tuple[PathStep, ...]] | None:
        """The shortest ways from both to things of the class, by the same property if that can be."""
        ends = frozenset((class_,))
        ways = [self._finder.paths(types, ends) for types in (one, other)]
        pairs = [(a, b) for a in ways[0] for b in ways[1]]
        return min(
            pairs,
            key=lambda pair: (
                sum(map(len, pair)),
                sum(step.back for way in pair for step in way),
                pair[0][-1].predicate != pair[1][-1].predicate,
                -sum(step.share for way in pair for step in way),
            ),
            default=None,
        )


def _along(graph: QueryGraph, start: int, way: tuple[PathStep, ...], end: int) -> QueryGraph:
    """The graph with a way from one node to another."""
    nodes, links, here = list(graph.nodes), list(graph.links), start
    for number, step in enumerate(way):
        there = end
        if number < len(way) - 1:
            nodes.append(Node(-1, step.types))
            there = len(nodes) - 1
        ends = (there, here) if step.back else (here, there)
        links.append(Link(ends[0], step.predicate, ends[1], place=0))
        here = there
    return replace(graph, nodes=tuple(nodes), links=tuple(links))


def _said(reading: QuestionReading) -> _Said | None:
    """What a question says to be shared and with what; None if it says nothing of the kind."""
    for shared in reading.mentions:
        if shared.options[0].kind not in ("class", "property"):
            continue
        cue = _cue(reading, shared)
        named = _named(reading, shared) if cue else None
        if cue and named is not None:
            used = set(cue) | set(range(shared.first, shared.last)) | set(range(named.first, named.last))
            first = min(used - set(range(named.first, named.last)))
            while first and word_at(reading, first - 1) in _BEFORE_SAME:
                first -= 1
                used.add(first)
            last = max(*cue, shared.last - 1) + 1
            while last < len(reading.tokens) and word_at(reading, last) in lexicon.characters("comparisons.behind"):
                used.add(last)
                last += 1
            used |= {i for i in (named.first - 1, named.last) if word_at(reading, i) in _TO_NAME}
            return _Said(shared, named, frozenset(used))
    return None


def _cue(reading: QuestionReading, shared: NameMention) -> list[int]:
    """The tokens beside a mention that say that it is the same."""
    start, end = reading.tokens[shared.first].start, reading.tokens[shared.last - 1].end
    sharing = _SHARING if shared.options[0].kind == "class" else _SAME  # to share a border is to have one in common
    before = _SAME.search(reading.text[:start]) or sharing.search(reading.text[:start])
    if before is not None:
        return [i for i, t in enumerate(reading.tokens) if before.start() <= t.start < start]
    behind = lexicon.pattern("comparisons.same_behind").match(reading.text, end)
    return [i for i, t in enumerate(reading.tokens) if behind and end <= t.start < behind.end()]


def _named(reading: QuestionReading, shared: NameMention) -> NameMention | None:
    """The one thing that is named after "as" or beside 跟, or the two of which is asked whether they share it."""
    things = [m for m in reading.mentions if m.options[0].kind == "entity" and m.options[0].score >= _SAMENESS_SURE]
    beside = [
        m
        for m in things
        if m is not shared
        and (
            len(m.options[0].apart) == _PAIR
            or word_at(reading, m.first - 1) in _TO_NAME
            or (reading.language == "zh" and word_at(reading, m.last) in _TO_NAME)
        )
    ]
    return beside[0] if len(beside) == 1 else None
