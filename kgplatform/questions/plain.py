"""Plain look-ups: one thing is named, and all the rest of the question is one way to say one of its properties.

"When was X towed off?" with "towed off" among the words of a property, 谁负责X的地面服务 with 谁负责地面服务. The
ontology's own phrases decide, whole: nothing is guessed, and what says anything more is left to the other readings.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyoxigraph import NamedNode

from kgplatform.questions.graphs import Link, Node, QueryGraph
from kgplatform.questions.mentions import Reading
from kgplatform.questions.names import Name, NameIndex, Span
from kgplatform.questions.schema import SchemaView
from kgplatform.questions.wording import parts, stem
from kgplatform.text import has_han, normalise

_LIGHT_WORDS = "a an the it its is are was were be been do does did has have had of s this that for in at"
_LIGHT = frozenset(stem(word) for word in _LIGHT_WORDS.split())
_ASKING_WORDS = (
    "what which who when where tell me give show find i need know could can would you please to want us let "
    "get look up see about thanks hi hello there like"
)
_ASKING = frozenset(stem(word) for word in _ASKING_WORDS.split())
_ALL_ASKING = _ASKING | frozenset((stem("time"), stem("day"), stem("date")))
_TO_IT_WORDS = "of for by from at in on after before has have is are was were does do did"
_TO_IT = frozenset(stem(word) for word in _TO_IT_WORDS.split())
_KINDS = {"when": "temporal", "where": "thing"}
_WHO = stem("who")
_TAILS = {"time": "temporal", "date": "temporal", "number": "", "code": "", "name": ""}
_HEAD_ZH = re.compile(
    r"^(?:请问|请告诉我|请|告诉我|我想知道|想知道|帮我|查一下|查询一下|查询|查|看一下|一下|的|那么|它|在|是|由|用|现在|，|,)+"
)
_TAIL_ZH = re.compile(
    r"(?:是什么时候|是什么时间|是几点|是什么|是多少|是哪一个|是哪一家|是哪个|是哪家|是哪里|是谁|是哪架|为多少|为何|有多少|多少|什么|哪个|哪里|是|吗|呢|啊|的)+$"
)
_PUNCTUATION = re.compile(r"[\s?？。.!！,，:：;；、“”\"'’]+")
_TAILS_ZH = ("时间", "日期", "编号", "代码", "名称")
_TRIED = 6
_PLACE = "…"
_MOST_PROPERTIES = 2
_SURE = 0.85


@dataclass(frozen=True, slots=True)
class Plain:
    """A query graph for a plain look-up, the property it asks for, and how sure its name is (0..1)."""

    graph: QueryGraph
    property: NamedNode
    similarity: float


_YES_NO = re.compile(r"\W*(?:is|are|was|were|does|do|did)\s+(?!there\b)", re.IGNORECASE)
"""A yes or no is wanted, not the value."""


class PlainLookups:
    """Finds plain look-ups by the phrases of a schema."""

    def __init__(self, names: NameIndex) -> None:
        self._names = names
        self._schema = names.schema
        self._phrases = _phrases(names.schema)
        self._han = _han_phrases(names.schema)

    def found(self, reading: Reading) -> Plain | None:
        """The look-up that a question is, whole; None if it is none or says more."""
        if _YES_NO.match(reading.text):
            return None
        tokens = list(reading.tokens)
        spans = self._names.things(tokens, reading.text)
        spans.sort(key=lambda span: (span.first - span.last, -span.names[0].score))
        for span in spans[:_TRIED]:
            start, end = tokens[span.first].start, tokens[span.last - 1].end
            before, after = reading.text[:start], reading.text[end:]
            for asked, kind in self._rest(before, after):
                if _object_of(before, after) and not self._whole(before, after):
                    asked = tuple(iri for iri in asked if not self._either_way(span, iri))
                graph = self._graph(span, asked, kind)
                if graph is not None:
                    return graph
        return None

    def _rest(self, before: str, after: str) -> Iterator[tuple[tuple[NamedNode, ...], str]]:
        """The properties that what is left without the thing names, whole, nearest to how it is said first."""
        if has_han(before + after):
            yield from self._rest_han(before, after)
            return
        first, last = _heavy(before), _heavy(after)
        yield self._phrases.get((*first, _PLACE, *last), ()), ""
        words = first + last
        yield self._phrases.get(tuple(words), ()), ""
        kind = next((kind for word, kind in _KINDS.items() if stem(word) in words), "")
        while words and words[0] in _ALL_ASKING:
            if words[0] == _WHO:
                return  # whoever it is, is not told by the name of a property alone
            words = words[1:]
            yield self._phrases.get(tuple(words), ()), kind
        words = [word for word in words if word not in _ASKING]
        yield self._phrases.get(tuple(words), ()), kind
        for tail, wanted in _TAILS.items():
            if words and words[-1] == stem(tail) and len(words) > 1:
                yield self._phrases.get(tuple(words[:-1]), ()), wanted or kind

    def _whole(self, before: str, after: str) -> bool:
        """Whether the ontology has just this question among the forms of a property."""
        words = _heavy(before) + _heavy(after)
        return bool(_ASKING.intersection(words)) and tuple(words) in self._phrases

    def _rest_han(self, before: str, after: str) -> Iterator[tuple[tuple[NamedNode, ...], str]]:
        head = _PUNCTUATION.sub("", normalise(before))
        tail = _PUNCTUATION.sub("", normalise(after))
        tail = tail.removeprefix("的")
        for text in dict.fromkeys((head + tail, head.removesuffix("的") + tail)):
            for said in dict.fromkeys((text, _HEAD_ZH.sub("", text), _TAIL_ZH.sub("", _HEAD_ZH.sub("", text)))):
                yield self._han.get(said, ()), ""
                for ending in _TAILS_ZH:
                    if said.endswith(ending) and len(said) > len(ending):
                        yield (
                            self._han.get(said.removesuffix(ending), ()),
                            "temporal" if ending in _TAILS_ZH[:2] else "",
                        )

    def _graph(self, span: Span, asked: tuple[NamedNode, ...], kind: str) -> Plain | None:
        """The look-up of one of the properties, if just one fits what the name stands for."""
        best = span.names[0].score
        names = [name for name in span.names if name.score >= best - 0.05 and name.kind == "entity"]
        of_kind = [p for p in asked if self._of_kind(p, kind)]
        if not of_kind:
            return None
        if not names:
            return self._of_value(span, of_kind)
        terms = tuple(name.term for name in names)
        types = frozenset(t for term in terms for t in self._names.types(term))
        fitting = [p for p in of_kind if all(self._has(name, p) for name in names)]
        if len(fitting) > _MOST_PROPERTIES:
            return None
        links: tuple[Link, ...]
        middle: tuple[Node, ...]
        if fitting:
            links, middle = (Link(0, fitting[0], 1, place=1),), ()
        elif (way := self._way(types, of_kind[0])) is not None:
            links, middle = (Link(0, way, 1, place=1), Link(1, of_kind[0], 2, place=2)), (self._node(1, way),)
        else:
            return None
        asked_for = links[-1].predicate
        nodes = (Node(0, types, terms), *middle, self._node(len(links), asked_for))
        return Plain(QueryGraph(nodes=nodes, links=links, targets=(len(nodes) - 1,)), asked_for, best)

    def _of_value(self, span: Span, asked: list[NamedNode]) -> Plain | None:
        """The look-up for what has a value, such as the flights of a number."""
        best = span.names[0].score
        values = [name for name in span.names if name.score >= best - 0.05]
        predicates = list(dict.fromkeys(name.predicate for name in values))
        if not predicates or predicates[0] is None or (span.first + 1 == span.last and best < _SURE):
            return None
        own, asked_for = predicates[0], asked[0]
        if own in asked:
            return None  # 代码7是哪里: the code is known, what has it is wanted
        types = frozenset(self._schema.domains(own)[:1])
        if not any(e.predicate == asked_for for iri in types for e in self._schema.outgoing.get(iri, ())):
            return None
        terms = tuple(dict.fromkeys(name.term for name in values if name.predicate == own))
        nodes = (Node(0, types), Node(0, frozenset(), terms, literal=True), self._node(1, asked_for))
        links = (Link(0, own, 1, place=0), Link(0, asked_for, 2, place=1))
        return Plain(QueryGraph(nodes=nodes, links=links, targets=(2,)), asked_for, best)

    def _either_way(self, span: Span, predicate: NamedNode) -> bool:
        """Whether what is named could be at either end of a property, as a paper can cite and be cited."""
        types = {t for name in span.names if name.kind == "entity" for t in self._names.types(name.term)}
        return any(
            edge.predicate == predicate and edge.object in types
            for edges in self._schema.outgoing.values()
            for edge in edges
        )

    def _node(self, place: int, predicate: NamedNode) -> Node:
        """The unknown that a property leads to."""
        ranges = frozenset(self._schema.ranges(predicate))
        literal = not any(iri in self._schema.classes for iri in ranges)
        return Node(place, frozenset() if literal else ranges, literal=literal)

    def _way(self, types: frozenset[NamedNode], predicate: NamedNode) -> NamedNode | None:
        """The one property that leads from the thing to what has the property asked for; None if several do."""
        ways = {
            edge.predicate
            for iri in types
            for edge in self._schema.outgoing.get(iri, ())
            if any(next_.predicate == predicate for next_ in self._schema.outgoing.get(edge.object, ()))
        }
        return ways.pop() if len(ways) == 1 else None

    def _of_kind(self, predicate: NamedNode, kind: str) -> bool:
        term = self._schema.properties.get(predicate)
        if term is None:
            return False
        if kind == "temporal":
            return term.temporal
        if kind == "thing":
            return any(iri in self._schema.classes for iri in self._schema.ranges(predicate))
        return True

    def _has(self, name: Name, predicate: NamedNode) -> bool:
        """Whether things of its class have the property in the data."""
        types = self._names.types(name.term)
        return any(edge.predicate == predicate for iri in types for edge in self._schema.outgoing.get(iri, ()))


def _heavy(text: str) -> list[str]:
    """The words that are not light, as stems."""
    return [word for word in parts(text) if word not in _LIGHT]


def _object_of(before: str, after: str) -> bool:
    """Whether a name stands where the object of a verb does: last, with no preposition or possessive to it.

    "Which papers cite X" asks the other way from "papers cited by X" and "what does X cite".
    """
    if _PUNCTUATION.sub("", normalise(after)):
        return False
    if has_han(before):
        return bool(_HEAD_ZH.sub("", _PUNCTUATION.sub("", normalise(before))))
    words = parts(before)
    return bool(words) and words[-1] not in _TO_IT


def _phrases(schema: SchemaView) -> Mapping[tuple[str, ...], tuple[NamedNode, ...]]:
    """The properties by the words that name them, their labels before their other forms.

    A form can say where the thing stands ("which papers does … cite"): that place is part of its key.
    """
    found: dict[tuple[str, ...], dict[NamedNode, int]] = defaultdict(dict)
    for iri, term in schema.properties.items():
        for place, word in enumerate(term.words):
            before, _, after = word.text.replace("...", _PLACE).partition(_PLACE)
            first, last = _heavy(before), _heavy(after)
            key = (*first, _PLACE, *last) if first and last else (*first, *last)
            if key and not has_han(word.text):
                found[key].setdefault(iri, place)
    return {key: _ranked(places) for key, places in found.items()}


def _han_phrases(schema: SchemaView) -> Mapping[str, tuple[NamedNode, ...]]:
    found: dict[str, dict[NamedNode, int]] = defaultdict(dict)
    for iri, term in schema.properties.items():
        for place, word in enumerate(term.words):
            if has_han(word.text):
                text = _PUNCTUATION.sub("", normalise(word.text)).replace("…", "").replace("...", "")
                for said in (text, _TAIL_ZH.sub("", _HEAD_ZH.sub("", text))):
                    if said:
                        found[said].setdefault(iri, place)
    return {key: _ranked(places) for key, places in found.items()}


def _ranked(places: Mapping[NamedNode, int]) -> tuple[NamedNode, ...]:
    return tuple(sorted(places, key=lambda iri: (places[iri], iri.value)))
