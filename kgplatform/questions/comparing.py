"""Comparisons with what has to be looked up first: "more than the average", "larger than X", 比 X 高.

The question is parted into what is asked for and what it is compared with; each is understood on its own, both with
the words at the places they have in the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from pyoxigraph import NamedNode

from kgplatform.questions.finishing import Candidate
from kgplatform.questions.graphs import Comparison, Link, Node, QueryGraph, Than
from kgplatform.questions.measures import Measures, by_age
from kgplatform.questions.mentions import Reading
from kgplatform.questions.names import NameIndex
from kgplatform.questions.wording import ADJECTIVES, COMPARATIVES, COMPARISON_SENSES
from kgplatform.questions.work import predicate_of

_WORDS = sorted((word for word in COMPARATIVES if word.isalpha() and word not in ("most", "least", "exactly")), key=len)
_THAN = re.compile(
    rf"\b(?:(?:is|are|was|were|be)\s+)?(?P<op>{'|'.join(reversed(_WORDS))})\b(?P<mid>(?:\s+\w+){{0,3}}?)\s+than\b(?P<ref>[^?.!]+)",
    re.IGNORECASE,
)
_AVERAGE = re.compile(
    r"\b(?P<op>above|below|over|under|exceeds?|exceeding|beyond)(?P<mid>)\s+(?P<ref>(?:the\s+)?(?:average|mean)\b[^?.!]*)",
    re.IGNORECASE,
)
_BI = re.compile(
    r"(?P<bi>比)(?P<ref>[^，。？?！]{1,24}?)(?P<op>更|还|要)?(?P<adj>高|低|大|小|多|少|长|短|贵|便宜|早|晚|新|老|深)"
)
_YU = re.compile(
    r"(?P<op>高于|低于|大于|小于|多于|少于|超过|长于|短于|早于|晚于|不低于|不超过)(?P<ref>平均[^，。？?！的]{0,8}|[^\d，。？?！]{2,24}?(?=的|$|[，。？?！]))"
)
_OPERATORS_ZH = {
    **dict.fromkeys(("高于", "大于", "多于", "超过", "长于", "晚于"), ">"),
    **dict.fromkeys(("低于", "小于", "少于", "短于", "早于"), "<"),
    "不低于": ">=",
    "不超过": "<=",
}
_LESS_ZH = frozenset(("低", "小", "少", "短", "便宜", "早"))
_NUMBER = re.compile(
    r"\s*(?:[$€£¥￥]?\d|one\b|two\b|three\b|four\b|five\b|six\b|seven\b|eight\b|nine\b|ten\b"
    r"|[一二两三四五六七八九十百千万]+(?:[个家座条种名位倍年元块米岁人分成公度]|$))",
    re.IGNORECASE,
)
_SOME = re.compile(r"\b(?:some|at least one|one of|any one of|a single)\b|某|至少一", re.IGNORECASE)
_EXTREME = re.compile(
    r"\b(?:(?P<avg>average|mean)|(?P<max>maximum|max|largest|highest|greatest|biggest)|(?P<min>minimum|min|lowest|smallest|least))\b"
    r"|(?P<avgzh>平均)|(?P<maxzh>最高|最大)|(?P<minzh>最低|最小)",
    re.IGNORECASE,
)
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
    for pattern in (_THAN, _AVERAGE, _YU, _BI):
        match = pattern.search(names or text if pattern in (_YU, _BI) else text)
        if match is None or _NUMBER.match(match["ref"]):
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


def _without_names(reading: Reading) -> str:
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
        return ("<" if adjective in _LESS_ZH else ">"), senses
    if word in _OPERATORS_ZH:
        return _OPERATORS_ZH[word], ()
    plain = word.casefold()
    return COMPARATIVES.get(plain, COMPARATIVES.get(f"{plain.removesuffix('s')}s", ">")), COMPARISON_SENSES.get(
        plain, ()
    )


class Comparer:
    """Understands comparisons over one graph; ``read`` and ``candidates`` are those of the translator."""

    def __init__(
        self,
        names: NameIndex,
        measures: Measures,
        *,
        read: Callable[[str], Reading],
        candidates: Callable[[Reading], list[Candidate]],
    ) -> None:
        self._names = names
        self._schema = names.schema
        self._measures = measures
        self._read = read
        self._candidates = candidates

    def compared(self, reading: Reading) -> list[Candidate]:
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

    def _asked(self, main: Reading) -> list[Candidate]:
        """What the main part asks for; of a known thing alone ("is X …") the thing."""
        found = self._candidates(main)
        if found or len(main.mentions) != 1:
            return found
        node = self._thing(main)
        graph = QueryGraph((node,), targets=(0,), form="ask") if node else None
        places = range(main.mentions[0].first, main.mentions[0].last)
        return [Candidate(graph, 1.0, frozenset(places))] if graph else []

    def _thing(self, reading: Reading) -> Node | None:
        """The one thing or class that a text names."""
        option = reading.mentions[0].options[0]
        term = option.names[0].term
        if option.kind == "entity":
            terms = tuple(name.term for name in option.names)
            return Node(0, frozenset(self._names.types(term)), terms=terms)
        if option.kind == "class" and isinstance(term, NamedNode):
            return Node(0, frozenset((term,)), named=term)
        return None

    def _with_leaf(self, candidate: Candidate, main: Reading, cut: _Parted) -> Iterator[tuple[Candidate, int]]:
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
        term = self._schema.properties.get(predicate_of(graph, leaf))
        return term is not None and (term.numeric or term.temporal)

    def _property(self, types: frozenset[NamedNode], main: Reading, cut: _Parted) -> NamedNode | None:
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
        self, compared: tuple[Candidate, int], cut: _Parted, reading: Reading, main: Reading
    ) -> Candidate | None:
        candidate, leaf = compared
        than, places = self._reference(candidate.graph, leaf, cut)
        if than is None:
            return None
        turned = by_age(self._schema.properties.get(predicate_of(candidate.graph, leaf)), cut.word)
        comparison = Comparison(leaf, _TURNED[cut.operator] if turned else cut.operator, "", than=than)
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
        extreme = _EXTREME.search(cut.reference)
        known = self._described(reference, predicate)
        if extreme is not None:
            function = next(name[:3].upper() for name, said in extreme.groupdict().items() if said)
            whole = known or self._all_of(graph, leaf)
            starts |= {t.start for t in reference.tokens if extreme.start() <= t.start < extreme.end()}
            return Than(whole[0], whole[1], function), starts
        if known is None:
            return None, starts
        some = _SOME.search(cut.reference) is not None
        function = "MIN" if (cut.operator.startswith(">")) == some else "MAX"
        starts |= {t.start for t in reference.tokens if t.text.casefold() in ("least", "one", "some", "all", "any")}
        return Than(known[0], known[1], function), starts

    def _described(self, reference: Reading, predicate: NamedNode) -> tuple[QueryGraph, int] | None:
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
        edges = (e for iri in node.types for e in self._schema.outgoing.get(iri, ()))
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
        named = subject.named or next(iter(sorted(subject.types, key=str)), None)
        return self._valued(QueryGraph((Node(-1, subject.types, named=named),)), 0, link.predicate)
