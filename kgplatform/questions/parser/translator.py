"""The translator without a model: questions to queries for any ontology, English and Chinese, always the same way.

The question is cut into mentions (`mentions`), these are joined into query graphs along properties that the data
uses (`assembly`), which are completed by what the function words ask (`finishing`). The best that has an answer wins.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from pyoxigraph import NamedNode

from kgplatform import lexicon
from kgplatform.errors import QueryError
from kgplatform.questions.check import DIFFERS, dropped, essential, half_said, uncompared
from kgplatform.questions.name_index import GraphName, NameIndex, NameSpan
from kgplatform.questions.parser.assembly import Assembler
from kgplatform.questions.parser.comparisons import Comparer, Differ, Excepter, Samenesses
from kgplatform.questions.parser.completion import CompleteGraph, Finisher
from kgplatform.questions.parser.coordination import demands_both, either
from kgplatform.questions.parser.draft import GraphDraft
from kgplatform.questions.parser.idioms import plainly
from kgplatform.questions.parser.measures import Measures
from kgplatform.questions.parser.mentions import QuestionReading, read
from kgplatform.questions.parser.query_graph import Link, Node, QueryGraph, Verbaliser
from kgplatform.questions.parser.serialization import QueryWriter, with_limit
from kgplatform.questions.parser.vocabulary import keys, parts, stem
from kgplatform.questions.usage import PathFinder, SchemaView
from kgplatform.text import has_han, normalise
from kgplatform.types import RunQuery, Solutions

# How sure a translation is: by what it leaves out, what it had to add, and whether it is of the kind asked for.

_DROPPED = 0.3
"""The most where a name, number or quoted word of the question is not in the query."""
_INCOMPLETE = 0.58
"""The most where any other content word is not."""
_WRONG_KIND = 0.5
_UNSAID_NODE, _UNSAID_LINK = 0.82, 0.93
_RIVAL = 0.85
_BESIDE = 0.5
_OUTRIGHT, _LESS = 0.9, 0.1
_EMPTY = 0.25
_MEASURED = ((0.0, 0.0), (0.35, 0.35), (0.46, 0.5), (0.58, 0.61), (0.75, 0.8), (0.87, 0.94), (0.95, 0.97))
"""How often readings that come to a value were right, of 1,500 on thirteen graphs; rounded down where these differ.

Below 0.35 nothing is answered, so that nothing could be measured.
"""


def unsaid_nodes(graph: QueryGraph) -> int:
    """How many things stand between those that the question names, with no word for them."""
    return sum(1 for node in graph.nodes if not (node.terms or node.named or node.literal or node.open))


def guessed(graph: QueryGraph) -> bool:
    """Whether things were brought in that no word names, so that there being none of them is no "no"."""
    said = {end for link in graph.links if link.place >= 0 for end in (link.subject, link.object)}
    return any(
        index not in said
        and not (node.terms or node.named or node.literal)
        and any(x.place < 0 for x in graph.around(index))
        for index, node in enumerate(graph.nodes)
    )


def another_property(lookup: QueryGraph, other: QueryGraph, reading: QuestionReading) -> bool:
    """Whether a reading takes a word that names a thing's property outright for another property, less well named.

    Where the thing has no such value, that is the answer: who asks how many rooms there are asks no price.
    """
    if len(lookup.links) != 1 or not lookup.nodes[lookup.links[0].subject].terms:
        return False
    link = lookup.links[0]
    if link.place < 0 or lookup.nodes[link.object].terms or not lookup.nodes[link.object].literal:
        return False
    scores = {n.term: o.score for o in reading.mentions[link.place].options for n in o.names}
    best = scores.get(link.predicate, 0.0)
    return best >= _OUTRIGHT and any(
        x.place == link.place and x.predicate != link.predicate and scores.get(x.predicate, 0.0) < best - _LESS
        for x in other.links
    )


def unsaid_links(graph: QueryGraph, placing: frozenset[NamedNode]) -> int:
    """How many relations the question has no word for; those that say where things are need none but "in"."""
    return sum(1 for link in graph.links if link.place < 0 and link.predicate not in placing)


def _beside_the_point(graph: QueryGraph, placing: frozenset[NamedNode]) -> bool:
    """Whether a relation that is named leads nowhere while one that is not named leads to the thing that is."""
    measured = {h.counted for h in graph.having} | {b.measure for b in graph.best} | set(graph.targets)
    loose = any(
        node.open and node.named is None and index not in measured and len(graph.around(index)) < 2
        for index, node in enumerate(graph.nodes)
    )
    guessed = any(
        link.place < 0
        and link.predicate not in placing
        and (graph.nodes[link.subject].terms or graph.nodes[link.object].terms)
        for link in graph.links
    )
    return loose and guessed


def coverage(reading: QuestionReading, explained: frozenset[int]) -> float:
    """The share of the content words that the query accounts for, 0..1."""
    total = sum(reading.weights)
    return sum(w for i, w in enumerate(reading.weights) if i in explained) / total if total else 0.0


def confidence(
    candidate: CompleteGraph,
    reading: QuestionReading,
    *,
    graph: QueryGraph,
    margin: float,
    placing: frozenset[NamedNode],
    empty: bool,
) -> float:
    """The likelihood that the query means what the question does, 0..1.

    Args:
        candidate: how the question was understood.
        reading: the question.
        graph: the query as it is run.
        margin: by how much it is better than the next reading that differs.
        placing: the properties that say where things are; a bare "in" is word enough for them.
        empty: whether it gives nothing.
    """
    covered = coverage(reading, candidate.explained)
    value = covered * (0.4 + 0.55 * candidate.linked)
    value *= _UNSAID_NODE ** unsaid_nodes(graph) * candidate.agreement
    value *= _UNSAID_LINK ** unsaid_links(graph, placing)
    if _beside_the_point(graph, placing):
        value *= _BESIDE
    if margin < 0.05:
        value *= _RIVAL
    restricted = any(node.terms for node in graph.nodes) or graph.comparisons or graph.best or graph.having
    if not restricted and covered < 1.0:
        value *= 0.6
    if essential(reading) - candidate.explained:
        value = min(value, _DROPPED)
    if (
        covered < 1.0
        or candidate.cues_lost
        or (lexicon.pattern("translator.compared").search(reading.text) and not (graph.comparisons or graph.having))
    ):
        value = min(value, _INCOMPLETE)
    if candidate.agreement <= DIFFERS:
        value = min(value, _WRONG_KIND)
    return calibrated(max(0.0, min(0.95, value) - (_EMPTY if empty else 0.0)))


def understanding(translation: Translation, reading: QuestionReading) -> dict[str, float]:
    """What a translation makes of a question's words, and what it adds to them, by name."""
    graph = translation.graph
    left = len(translation.uncovered)
    return {
        "words explained": coverage(reading, translation.explained),
        "all explained": float(not left),
        "words unexplained": float(min(left, 4)),
        "unsaid things": float(min(unsaid_nodes(graph), 3)),
        "unsaid relations": float(min(sum(link.place < 0 for link in graph.links), 3)),
        "things named": float(min(sum(bool(node.terms) for node in graph.nodes), 3)),
        "relations": float(min(len(graph.links), 4)),
        "conditions": float(min(len(graph.comparisons) + len(graph.having) + len(graph.best), 3)),
    }


def calibrated(value: float) -> float:
    """A likelihood as measured for what the parts of a confidence multiply to, 0..1; never falls as that rises."""
    for (low, least), (high, most) in pairwise(_MEASURED):
        if value <= high:
            return round(least + (most - least) * (value - low) / (high - low), 3)
    return round(_MEASURED[-1][1], 3)


# Whether a question asks why, and whether a graph says why of anything.

_REASONS = tuple((stem(word),) for word in ("reason", "cause", "why", "purpose", "explanation", "motive"))
_REASONS_HAN = lexicon.pattern("translator.reasons_han")


def asks_why(text: str) -> bool:
    """Whether a question asks for a reason."""
    return lexicon.pattern("translator.why").search(text) is not None


def gives_reasons(names: NameIndex) -> bool:
    """Whether a property or class of the graph is called a reason, a cause or the like."""
    if any(key in names.terms for key in _REASONS):
        return True
    schema = names.schema
    words = [word.text for term in schema.properties.values() for word in term.words]
    words += [word.text for term in schema.classes.values() for word in term.words]
    return any(_REASONS_HAN.search(text) or set(parts(text)) & {key[0] for key in _REASONS} for text in words)


# “Where is X?”: the question word alone names the relation, the one that says where things are.

_SENSES = (("~location",), ("~address",))
_INSIDE = lexicon.pattern("translator.inside")
"""A relation that is called by where it leads: in state, 所在省."""
_WHICH_IT_IS = lexicon.pattern("translator.which_it_is")
"""What is known by a code only is asked for itself: 代码7是哪里, not 7在哪里."""
_NONE = len(_SENSES) + 1
_LATER = 0.1
_MOST_NODES = 3
"""A thing, the code it is known by, and its place."""


def placed(draft: GraphDraft, reading: QuestionReading, names: NameIndex) -> Iterator[GraphDraft]:
    """The draft; for "where" and one thing the drafts that ask for its place, directly and not level by level."""
    cues, schema = reading.cues, names.schema
    if not cues.place or cues.boolean or cues.counting is not None or len(draft.nodes) > _MOST_NODES:
        yield draft
        return
    known = [node.literal for node in draft.nodes if node.terms]
    if _WHICH_IT_IS.search(reading.text) and known and all(known):
        yield draft
        return
    thing = _one_thing(draft, names, picked=bool(cues.superlatives))
    if thing is None:
        links = tuple(replace(link, path="") if _direct(link, draft, names) else link for link in draft.links)
        yield replace(draft, links=links)
        return
    for rank, predicate in enumerate(locating(draft.nodes[thing].types, schema)):
        yield _with_place(draft, thing, predicate, rank, schema)


def _one_thing(draft: GraphDraft, names: NameIndex, *, picked: bool) -> int | None:
    """The node of the only thing there is, if it is known by its name or by a code; None if more is said.

    ``picked``: it need not be known, since the question asks for the highest or the like.
    """
    things = [index for index, node in enumerate(draft.nodes) if not node.literal]
    said = len(draft.links) == len(draft.nodes) - 1 <= 1
    one = said and len(things) == 1
    return things[0] if one and (_known(draft, things[0], names) or picked) else None


def _known(draft: GraphDraft, index: int, names: NameIndex) -> bool:
    """Whether a node is a particular thing: named, or known by a code."""
    coded = (
        link.subject == index and draft.nodes[link.object].literal and draft.nodes[link.object].terms
        for link in draft.links
        if names.naming(link.predicate)
    )
    return bool(draft.nodes[index].terms) or any(coded)


def _direct(link: Link, draft: GraphDraft, names: NameIndex) -> bool:
    """Whether the link leads from what is known to its place."""
    asked = not draft.nodes[link.object].terms and _sense(link.predicate, names.schema) < _NONE
    return asked and _known(draft, link.subject, names)


def _with_place(draft: GraphDraft, index: int, predicate: NamedNode, rank: int, schema: SchemaView) -> GraphDraft:
    thing = draft.nodes[index] if draft.nodes[index].terms else replace(draft.nodes[index], open=True)
    far = Node(thing.place, frozenset(), literal=True)
    if schema.properties[predicate].is_object:
        far = Node(thing.place, frozenset(schema.ranges(predicate)), open=True)
    link = Link(index, predicate, len(draft.nodes), place=thing.place)
    nodes = (*draft.nodes[:index], thing, *draft.nodes[index + 1 :], far)
    return replace(draft, nodes=nodes, links=(*draft.links, link), cost=draft.cost + _LATER * rank)


def locating(types: frozenset[NamedNode], schema: SchemaView) -> list[NamedNode]:
    """The properties that say where something is, first those that things of these classes have."""
    counts: dict[NamedNode, int] = {}
    for iri in types:
        for edge in schema.outgoing.get(iri, ()):
            counts[edge.predicate] = counts.get(edge.predicate, 0) + edge.count
    found = [iri for iri in schema.properties if _sense(iri, schema) < _NONE]
    return sorted(found, key=lambda iri: (iri not in counts, _sense(iri, schema), -counts.get(iri, 0), iri.value))


def _sense(predicate: NamedNode, schema: SchemaView) -> int:
    """Which of the senses of place a property has in its words, the surest first; ``_NONE`` if none."""
    term = schema.properties.get(predicate)
    if term is None:
        return _NONE
    found = {key for word in term.words for key, _ in keys(word.text)}
    inside = term.is_object and any(_INSIDE.fullmatch(word.text.strip()) for word in term.words)
    return next((place for place, sense in enumerate(_SENSES) if sense in found), _NONE - inside)


# Plain look-ups: one thing is named, and all the rest of the question is one way to say one of its properties.
#
# "When was X towed off?" with "towed off" among the words of a property, 谁负责X的地面服务 with 谁负责地面服务. The
# ontology's own phrases decide, whole: nothing is guessed, and what says anything more is left to the other readings.

_LIGHT_WORDS = " ".join(lexicon.words("translator.light_words"))
_LIGHT = frozenset(stem(word) for word in _LIGHT_WORDS.split())
_ASKING_WORDS = " ".join(lexicon.words("translator.asking_words"))
_ASKING = frozenset(stem(word) for word in _ASKING_WORDS.split())
_ALL_ASKING = _ASKING | frozenset((stem("time"), stem("day"), stem("date")))
_TO_IT_WORDS = " ".join(lexicon.words("translator.to_it_words"))
_TO_IT = frozenset(stem(word) for word in _TO_IT_WORDS.split())
_KINDS = {"when": "temporal", "where": "thing"}
_WHO = stem("who")
_TAILS = {"time": "temporal", "date": "temporal", "number": "", "code": "", "name": ""}
_HEAD_ZH = lexicon.pattern("translator.head_zh")
_TAIL_ZH = lexicon.pattern("translator.tail_zh")
_PUNCTUATION = re.compile(r"[\s?？。.!！,，:：;；、“”\"'’]+")
_TAILS_ZH = lexicon.words("translator.tails_zh")
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


_YES_NO = lexicon.pattern("translator.yes_no")
"""A yes or no is wanted, not the value."""


class PlainLookups:
    """Finds plain look-ups by the phrases of a schema."""

    def __init__(self, names: NameIndex) -> None:
        self._names = names
        self._schema = names.schema
        self._phrases = _phrases(names.schema)
        self._han = _han_phrases(names.schema)

    def found(self, reading: QuestionReading) -> Plain | None:
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

    def _graph(self, span: NameSpan, asked: tuple[NamedNode, ...], kind: str) -> Plain | None:
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

    def _of_value(self, span: NameSpan, asked: list[NamedNode]) -> Plain | None:
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

    def _either_way(self, span: NameSpan, predicate: NamedNode) -> bool:
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

    def _has(self, name: GraphName, predicate: NamedNode) -> bool:
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


# “Which X …?” asks for things of the class X, also where a property is called X: what has an X is left out.

_KNOWN = 0.8


def simplified(draft: GraphDraft, reading: QuestionReading, schema: SchemaView) -> GraphDraft:
    """The draft without things of which nothing is said but that they have what is asked for.

    Where what is asked for is a known thing in the draft, it costs more: nobody asks for what they name.
    """
    for number, link in enumerate(draft.links):
        named = _class_asked(draft, link, reading, schema)
        if named is None:
            continue
        value = draft.nodes[link.object]
        if value.terms:
            return replace(draft, cost=draft.cost + _KNOWN)
        if value.open and value.place == link.place and _degree(draft, link.object) > 1:
            return _without_subject(draft, number, named)
    return draft


def _class_asked(draft: GraphDraft, link: Link, reading: QuestionReading, schema: SchemaView) -> NamedNode | None:
    """The class of the link's value, if the question asks for it by name and says nothing else of the subject."""
    subject, types = draft.nodes[link.subject], draft.nodes[link.object].types
    bare = subject.open and subject.named is None and 0 <= link.place == subject.place
    if not bare or _degree(draft, link.subject) != 1 or len(types) != 1:
        return None
    mention = reading.mentions[link.place]
    if mention.first not in reading.cues.asked:
        return None
    said = normalise(reading.text[reading.tokens[mention.first].start : reading.tokens[mention.last - 1].end])
    (iri,) = types
    term = schema.classes.get(iri)
    words = [normalise(word.text) for word in term.words] if term else []
    return iri if any(word and word in said for word in words) else None


def _degree(draft: GraphDraft, node: int) -> int:
    return sum(node in (link.subject, link.object) for link in draft.links)


def _without_subject(draft: GraphDraft, number: int, named: NamedNode) -> GraphDraft:
    """The draft without a link and the thing it starts from; its value is asked for as one of a class."""
    gone, kept = draft.links[number], list(draft.nodes)
    kept[gone.object] = replace(kept[gone.object], types=frozenset((named,)), named=named, open=False)
    del kept[gone.subject]
    links = tuple(_moved(link, gone.subject) for link in draft.links if link is not gone)
    return replace(draft, nodes=tuple(kept), links=links)


def _moved(link: Link, gone: int) -> Link:
    """The link with its ends counted without a node that is gone."""
    return replace(link, subject=link.subject - (link.subject > gone), object=link.object - (link.object > gone))


_MANY_ROWS = 20_000
_ADDED = 1.2
_PLAIN = 0.88
_LINK = 0.05
"""By how much a reading with one relation less is preferred."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A query for a question: its graph, text, reading in words, and how sure (0..1) the translator is."""

    text: str
    graph: QueryGraph
    reading: str
    confidence: float
    empty: bool
    uncovered: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    explained: frozenset[int] = frozenset()


class BuiltinTranslator:
    """Translates over one graph; make one for each version of its schema view and names."""

    def __init__(self, names: NameIndex) -> None:
        finder = PathFinder(names.schema)
        self._names = names
        self._finder = finder
        self._assembler = Assembler(names, finder)
        measures = Measures(names)
        self._finisher = Finisher(names, finder, measures)
        self._plainly = PlainLookups(names)
        self._differ = Differ(names, self.read, self._plain, measures)
        self._comparer = Comparer(names, self.read, self._plain, measures)
        self._excepter = Excepter(names, self.read, self._plain, finder)
        self._samenesses = Samenesses(names, self.read, self._plain, finder)

    def read(self, question: str) -> QuestionReading:
        """The question as mentions and cues, its words at their places."""
        return read(question, self._names)

    def translate(self, question: str, *, run: RunQuery) -> list[Translation]:
        """The queries a question may mean, best first; none if nothing in it could be linked to the graph."""
        reading = self.read(plainly(question))
        plain = self._lookup(reading, run)
        if plain is not None:
            return [plain]
        schema = self._names.schema
        limit = max(_MANY_ROWS, 1.3 * max((schema.count(iri) for iri in schema.classes), default=0))
        ranked = [c for c in self.candidates(reading) if rows_expected(c.graph, schema) < limit]
        tried: list[Translation] = []
        for candidate in ranked[:_TRIED]:
            margin = candidate.score - next((c.score for c in ranked if c.graph.links != candidate.graph.links), 0.0)
            tried.append(self._tried(candidate, reading, run, margin=abs(margin)))
            if not tried[-1].empty:
                break
        best = ranked[0].score if ranked else 0.0
        empty = [self.unsaid(t.graph) for t in tried if t.empty and not t.uncovered]
        direct = min(empty, default=_MANY_ROWS)
        if tried and tried[0].empty and not tried[0].uncovered:
            tried = [t for t in tried if t is tried[0] or not another_property(tried[0].graph, t.graph, reading)]
        scored = [
            (candidate.score - self._demerit(translation, direct), -place, translation)
            for place, (candidate, translation) in enumerate(zip(ranked, tried, strict=False))
            if candidate.score > best - 2.0
        ]
        found = [translation for _, _, translation in sorted(scored, key=lambda item: item[:2], reverse=True)]
        if found and found[0].empty and _asks_whether_any(found[0], reading):
            kept = next(c for c, t in zip(ranked, tried, strict=False) if t.graph == found[0].graph)
            found[0] = self._there_is_none(found[0], kept, reading)
        return found

    def _there_is_none(
        self, translation: Translation, candidate: CompleteGraph, reading: QuestionReading
    ) -> Translation:
        """The yes or no that a question for things of some kind is, where there are none: 有没有…."""
        graph = replace(translation.graph, form="ask")
        sure = confidence(candidate, reading, graph=graph, margin=1.0, placing=self._finder.placing, empty=False)
        text = QueryWriter(graph, wide=self._names.schema.has_subclasses).text()
        return replace(translation, text=text, graph=graph, confidence=sure, empty=False)

    def _lookup(self, reading: QuestionReading, run: RunQuery) -> Translation | None:
        """The translation of a question that is nothing but the name of a thing and of one of its properties."""
        plain = self._plainly.found(reading)
        if plain is None:
            return None
        text, empty = self._tested(plain.graph, run)
        if empty:
            return None
        return Translation(
            text=text,
            graph=plain.graph,
            reading=Verbaliser(plain.graph, self._names, reading.language).reading(),
            confidence=round(min(_PLAIN, 0.9 * plain.similarity), 3),
            empty=False,
            explained=frozenset(range(len(reading.tokens))),
        )

    def unsaid(self, graph: QueryGraph) -> int:
        """How many relations a question has no word for; words that it leaves out would have been those."""
        return unsaid_links(graph, self._finder.placing)

    def _demerit(self, translation: Translation, direct: int) -> float:
        """What a reading loses for giving nothing, or for adding relations to an empty one that says it all."""
        return 0.7 if translation.empty else _ADDED * max(0, self.unsaid(translation.graph) - direct)

    def candidates(self, reading: QuestionReading) -> list[CompleteGraph]:
        """The query graphs a question may mean, best first, without running any."""
        found = self._samenesses.same(reading) or self._differ.differed(reading)
        found = found or self._comparer.compared(reading) or self._excepter.excepted(reading)
        return found or self._plain(reading)

    def _plain(self, reading: QuestionReading) -> list[CompleteGraph]:
        """The query graphs that need nothing to be looked up first."""
        found: dict[QueryGraph, CompleteGraph] = {}
        schema = self._names.schema
        drafts = [simplified(draft, reading, schema) for draft in self._assembler.drafts(reading)[:10]]
        for draft in chain.from_iterable(placed(draft, reading, self._names) for draft in drafts):
            for candidate in self._finisher.candidates(draft, reading):
                known = found.get(candidate.graph)
                if (known is None or known.score < candidate.score) and not self._goes_beyond(candidate.graph):
                    found[candidate.graph] = candidate
        return sorted(found.values(), key=lambda c: _LINK * len(c.graph.links) - c.score)

    def _goes_beyond(self, graph: QueryGraph) -> bool:
        """Whether what lies in a neighbour is taken for one, unsaid: attractions in a city that is near a town."""
        schema, placing = self._names.schema, self._finder.placing
        for link in graph.links:
            term, ends = schema.properties.get(link.predicate), (link.subject, link.object)
            if term is not None and term.symmetric and any(graph.nodes[end].terms for end in ends):
                unnamed = [end for end in ends if not graph.nodes[end].terms and graph.nodes[end].named is None]
                unsaid = (it for it in graph.links if it.predicate in placing and it.place < 0)
                if any(it.object in unnamed for it in unsaid):
                    return True
        return False

    def _tried(
        self, candidate: CompleteGraph, reading: QuestionReading, run: RunQuery, *, margin: float
    ) -> Translation:
        graph = candidate.graph
        text, empty = self._tested(graph, run)
        for other in self._instead(graph, reading) if empty else ():
            found, still = self._tested(other, run)
            if not still:
                graph, text, empty = other, found, False
                break
        return Translation(
            text=text,
            graph=graph,
            reading=Verbaliser(graph, self._names, reading.language).reading(),
            confidence=confidence(
                candidate, reading, graph=graph, margin=margin, placing=self._finder.placing, empty=empty
            ),
            empty=empty,
            uncovered=reading.uncovered(candidate.explained),
            dropped=(*dropped(reading, candidate.explained), *half_said(graph, reading), *uncompared(graph, reading)),
            explained=candidate.explained,
        )

    def _tested(self, graph: QueryGraph, run: RunQuery) -> tuple[str, bool]:
        text = QueryWriter(graph, wide=self._names.schema.has_subclasses).text()
        try:
            solutions = run(with_limit(text, 3))
        except QueryError:
            return text, True
        nothing = is_empty(solutions) or (graph.form in ("count", "mean") and is_zero(solutions))
        return text, nothing or _says_itself(graph, solutions)

    @staticmethod
    def _anchored(graph: QueryGraph, link: Link) -> bool:
        """Whether the link starts or ends at a known thing; following it on between unknown ones is too slow."""
        return bool(graph.nodes[link.subject].terms or graph.nodes[link.object].terms)

    def _instead(self, graph: QueryGraph, reading: QuestionReading) -> Iterator[QueryGraph]:
        """What else a graph may mean that finds nothing: steps of a way left out, "in A and B" for in either."""
        climbing = self._climbing(graph)
        if climbing is not None:
            yield climbing
        if not demands_both(reading.text) and (apart := either(graph, self._finder.placing)) is not None:
            yield apart

    def _climbing(self, graph: QueryGraph) -> QueryGraph | None:
        """The graph with every placing property followed level by level; None if it has none."""
        links = tuple(
            replace(link, path="+") if link.predicate in self._finder.placing and self._anchored(graph, link) else link
            for link in graph.links
        )
        return replace(graph, links=links) if links != graph.links else None


def _says_itself(graph: QueryGraph, solutions: Solutions) -> bool:
    """Whether all that is found is the one thing that was asked about, come back to over relations."""
    named = {term for node in graph.nodes if not node.literal for term in node.terms}
    found = {row[0] for row in solutions.rows if row}
    return graph.form == "list" and bool(graph.links) and len(named) == 1 and found == named


def _asks_whether_any(translation: Translation, reading: QuestionReading) -> bool:
    """Whether "no" answers a question that finds nothing: it asks whether there is any, and all of it is understood."""
    cues, graph = reading.cues, translation.graph
    plain = graph.form == "list" and not (graph.best or graph.having or graph.order)
    return cues.boolean and cues.exists is not None and plain and not (translation.uncovered or translation.dropped)


def rows_expected(graph: QueryGraph, schema: SchemaView) -> float:
    """About how many rows the patterns match, from the sizes of classes and the usage of properties."""
    size = _start_size(graph, schema)
    seen: set[int] = {size[0]}
    rows, most = size[1], size[1]
    waiting = [size[0]]
    while waiting:
        here = waiting.pop(0)
        for link in graph.around(here):
            back = link.object == here
            other = link.subject if back else link.object
            if other in seen:
                continue
            seen.add(other)
            waiting.append(other)
            rows *= _fanout(link.predicate, schema, back=back) * _share(graph, other, link.predicate, schema, back=back)
            most = max(most, rows)
    return most


def _start_size(graph: QueryGraph, schema: SchemaView) -> tuple[int, float]:
    for index, node in enumerate(graph.nodes):
        if node.terms and not node.literal:
            return index, float(len(node.terms))
    sizes = [
        (sum(schema.count(iri) for iri in node.types) or 1_000_000, i)
        for i, node in enumerate(graph.nodes)
        if not node.literal
    ]
    size, index = min(sizes, default=(1, 0))
    return index, float(size)


def _fanout(predicate: NamedNode, schema: SchemaView, *, back: bool) -> float:
    term = schema.properties.get(predicate)
    if term is None:
        return 1.0
    subjects = sum(schema.count(iri) for iri in schema.domains(predicate))
    objects = max(term.distinct, sum(schema.count(iri) for iri in schema.ranges(predicate)))
    return term.count / max(1, objects if back else min(term.count, subjects))


def _share(graph: QueryGraph, other: int, predicate: NamedNode, schema: SchemaView, *, back: bool) -> float:
    node, term = graph.nodes[other], schema.properties.get(predicate)
    if not node.terms or term is None or back:
        return 1.0
    return min(1.0, len(node.terms) / max(1, term.distinct))


def is_zero(solutions: Solutions) -> bool:
    """Whether the one thing the rows say is zero."""
    return len(solutions.rows) == 1 and [getattr(term, "value", "") for term in solutions.rows[0]] == ["0"]


def is_empty(solutions: Solutions) -> bool:
    """Whether there is nothing in the rows: none, or only unbound values. A boolean or a zero is something."""
    if solutions.boolean is not None:
        return False
    return not any(any(term is not None for term in row) for row in solutions.rows)
