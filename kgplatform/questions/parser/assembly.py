"""Joins the mentions of a question into query graphs, best first: a beam search over ways to attach each mention."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from pyoxigraph import Literal, NamedNode

from kgplatform import lexicon
from kgplatform.questions.name_index import NameIndex, comment_names
from kgplatform.questions.parser.coordination import MentionReading, NameMention
from kgplatform.questions.parser.draft import MOST_MENTIONS, GraphDraft, apart_from, passed_over, weight_of, with_node
from kgplatform.questions.parser.mentions import QuestionReading
from kgplatform.questions.parser.query_graph import Link, Node
from kgplatform.questions.parser.vocabulary import GENERIC_NOUNS, keys
from kgplatform.questions.usage import THING, PathFinder, PathStep, SchemaView
from kgplatform.text import singular
from kgplatform.vocab import LABEL

# Which way: "from X", "to Y", 从…出发, 到…, told by the words beside a name and by what properties are called.

_TO_AFTER = lexicon.pattern("assembly.to_after")
_WITH, _AGAINST = -0.35, 1.2
_LED = 0.08


def heading(reading: QuestionReading, place: int) -> str:
    """``source`` or ``destination``, as the words beside a mention say; empty if they do not."""
    mention = reading.mentions[place]
    before = reading.text[: reading.tokens[mention.first].start]
    after = reading.text[reading.tokens[mention.last - 1].end :]
    if lexicon.pattern("assembly.from").search(before) or lexicon.pattern("assembly.from_after").search(after):
        return "source"
    return "destination" if lexicon.pattern("assembly.to").search(before) or _TO_AFTER.search(after) else ""


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

    def led(self, new: tuple[Link, ...], place: int, reading: QuestionReading) -> float:
        """What is spared where a relation not named is called by the word before a mention: works *in* a place."""
        first = reading.mentions[place].first
        words = [reading.tokens[i].text.casefold() for i in range(max(0, first - 2), first)]
        word = next((w for w in reversed(words) if w not in ("the", "a", "an")), "")
        if word not in lexicon.word_set("assembly.prepositions"):
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


# What lies in what, by the words of the question: the thing after "in" holds the other, and so does one before 里.

_BEFORE_HOLDER: Final = lexicon.word_set("assembly.before_holder")
_BEHIND_HOLDER: Final = lexicon.characters("assembly.behind_holder")
_INSIDE_OUT: Final = 0.5


def inside_out(
    nodes: tuple[Node, ...], links: tuple[Link, ...], reading: QuestionReading, inward: frozenset[NamedNode]
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
    nodes: tuple[Node, ...], links: tuple[Link, ...], reading: QuestionReading, inward: frozenset[NamedNode]
) -> tuple[Link, ...]:
    """The links, each between two named things the way the words have it: "is China in Hangzhou" asks just that."""
    found = []
    for link in links:
        inner, outer = nodes[link.subject], nodes[link.object]
        turned = link.predicate in inward and outer.terms and _holds(inner, reading) and not _holds(outer, reading)
        found.append(replace(link, subject=link.object, object=link.subject) if turned else link)
    return tuple(found)


def _is_class(node: Node, reading: QuestionReading) -> bool:
    """Whether the words that are read as the property name a class: "cities in X" are cities, not what is in one."""
    return any(option.kind == "class" for option in reading.mentions[node.place].options)


def _holds(node: Node, reading: QuestionReading) -> bool:
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


def _has(node: Node, reading: QuestionReading) -> bool:
    """Whether a word for having follows a class: "which town has the most sights"."""
    if node.terms or node.named is None or not 0 <= node.place < len(reading.mentions):
        return False
    return _word(reading, reading.mentions[node.place].last) in lexicon.word_set("assembly.having")


def _word(reading: QuestionReading, place: int) -> str:
    return reading.tokens[place].text.casefold() if 0 <= place < len(reading.tokens) else ""


# Relations followed twice: once because the question names them, once to reach something that it did not say.

_ECHO = 1.0


def echoes(nodes: Sequence[Node], links: Sequence[Link], schema: SchemaView) -> float:
    """What it costs that a named relation, which things have once at most, leads to two: "who coaches X" asks for one.

    The inverse of a relation counts as the relation.
    """
    cost = 0.0
    for said in links:
        term = schema.properties.get(said.predicate)
        if term is None or said.place < 0 or nodes[said.object].terms:
            continue
        things = sum(schema.count(iri) for iri in schema.domains(said.predicate))
        for link in links:
            same = link.predicate == said.predicate and link.subject == said.subject
            turned = link.predicate == term.inverse and link.object == said.subject
            if link is not said and link.place < 0 and term.count <= things and (same or turned):
                cost += _ECHO
    return cost


# What the order of words and the small words between names say about how names belong together.

_WITH_WHICH = lexicon.pattern("assembly.with_which")
_FURTHER_COST = 0.45
_INSIDE = 0.7
_AGAINST_ORDER = 0.4
_UNDERGOING = 1.6
_WHO_OR_WHAT = lexicon.word_set("assembly.who_or_what")
_NO_WORDS = lexicon.word_set("assembly.no_words")
_BE = lexicon.word_set("assembly.be")
_ARTICLES = lexicon.word_set("assembly.articles")
_OF_KIND = lexicon.pattern("assembly.of_kind")
_POSSESSIVE = re.compile(r"['’]s?\s+(?=\w)")
_UNSAID_HOLDER = 0.5
_KNOWN_HOLDER = 0.9
_NEAR = 2


def joining_order(reading: QuestionReading, columns: tuple[int, ...], most: int) -> list[int]:
    """The first ``most`` mentions in the order in which they are joined: what is listed to be shown comes last.

    A class comes before the names side by side that are conditions of it: 有甲但没有乙的酒店.
    """
    places = list(range(min(len(reading.mentions), most)))
    first = next((p for p in places[:-1] if _coordinate(reading, p, p + 1)), None)
    kinds = (
        p for p in places if first is not None and p > first + 1 and reading.mentions[p].options[0].kind == "class"
    )
    kind = next(kinds, None)
    if first is not None and kind is not None:
        places.remove(kind)
        places.insert(first, kind)
    return [*(p for p in places if p not in columns), *(p for p in places if p in columns)]


def adjacent(reading: QuestionReading, first: int, second: int) -> bool:
    """Whether only "of", "the", 的 and the like stand between two mentions."""
    one, two = sorted((first, second))
    if two - one != 1:
        return False
    between = reading.tokens[reading.mentions[one].last : reading.mentions[two].first]
    return len(between) <= 2 and all(
        t.text.casefold() in ("of", "the", "is", "are", "named", "called", "a", "名", "为", "叫", "是") for t in between
    )


def binding_cost(
    reading: QuestionReading, place: int, node: int, nodes: tuple[Node, ...], links: tuple[Link, ...]
) -> float:
    """What it costs that the name at a place fills an open end of what was said before it.

    A name can belong to a clause that describes another thing: 流经[与 X 接壤]的州, or only own what is meant: the area
    of X's lakes. And where a verb could have it at
    either end, it is what the verb does something to if it follows it: "what cites X", 谁引用了X.
    """
    if place < nodes[node].place:
        return 0.0
    cost = _INSIDE if word_at(reading, reading.mentions[place].first - 1) in ("与", "和", "跟", "同", "被") else 0.0
    if _owns(reading, place) and any(x.subject == node and nodes[x.object].literal for x in links):
        cost += _KNOWN_HOLDER
    for link in links:
        both_open = nodes[link.subject].open and nodes[link.object].open
        if link.subject == node and link.place == nodes[node].place == place - 1 and both_open:
            cost += _AGAINST_ORDER if _follows_its_verb(reading, link.place, place) else 0.0
    return cost


def _follows_its_verb(reading: QuestionReading, verb: int, place: int) -> bool:
    """Whether a name comes straight after a verb that nothing but a question word stands before."""
    said, name = reading.mentions[verb], reading.mentions[place]
    if reading.language == "zh" and said.last == name.first and word_at(reading, name.last) == "的":
        following = next((m for m in reading.mentions if m.first == name.last + 1), None)
        return following is not None and following.options[0].kind == "class"  # 引用了X的论文
    between = {t.text.casefold() for t in reading.tokens[said.last : name.first]}
    return said.first == 1 and word_at(reading, 0) in _WHO_OR_WHAT and not between - _NO_WORDS


def undergoing_cost(reading: QuestionReading, index: int, place: int, links: tuple[Link, ...]) -> float:
    """What it costs that a class after 被 and a verb does what is done to it: 被引用最多的论文 are what is cited."""
    for link in links:
        if link.subject == index and link.place == place - 1 and reading.language == "zh":
            return _UNDERGOING if word_at(reading, reading.mentions[link.place].first - 1) == "被" else 0.0
    return 0.0


def as_noun(reading: QuestionReading, place: int) -> bool:
    """Whether a name stands where the word for a kind of thing does: in the plural, after "which" or "cheapest"."""
    mention = reading.mentions[place]
    last, before = word_at(reading, mention.last - 1), word_at(reading, mention.first - 1)
    if place and reading.mentions[place - 1].last == mention.first:
        return True
    if word_at(reading, mention.last) in GENERIC_NOUNS:
        return True
    many = last.isascii() and singular(last) != last
    cue = any(s.last == mention.first for s in reading.cues.superlatives) or mention.first in reading.cues.asked
    return many or cue or before in ("which", "what", "many", "a", "an", "any", "all", "of", "per", "each")


def said_to_be(reading: QuestionReading, thing: NameMention, kind: NameMention) -> bool:
    """Whether a yes-or-no question asks of a thing whether it is one of a kind: "is X a lake", X是湖吗."""
    if not reading.cues.boolean or thing.last > kind.first:
        return False
    start, end = reading.tokens[thing.last - 1].end, reading.tokens[kind.first].start
    article = lexicon.pattern("assembly.article").match(reading.text, end)
    between = reading.text[start : article.end() if article else end]
    for other in reading.mentions:
        if thing.last <= other.first and other.last <= kind.first:
            name = reading.text[reading.tokens[other.first].start : reading.tokens[other.last - 1].end]
            between = between.replace(name, "", 1)
    if lexicon.pattern("assembly.is_of_kind_zh").fullmatch(between):
        return True
    before = reading.text[: reading.tokens[thing.first].start]
    for other in reading.mentions:
        if other.last <= thing.first:
            name = reading.text[reading.tokens[other.first].start : reading.tokens[other.last - 1].end]
            before = before.replace(name, "", 1)
    return lexicon.pattern("assembly.is_it").fullmatch(before) is not None and _OF_KIND.fullmatch(between) is not None


def another(reading: QuestionReading, first: int) -> bool:
    """Whether the words before a mention say that it is another one of its kind."""
    return bool({word_at(reading, place) for place in range(first - 3, first)} & lexicon.word_set("assembly.another"))


def _coordinate(reading: QuestionReading, one: int, two: int) -> bool:
    """Whether two names beside each other are two conditions of one thing: "with A but without B"."""
    first, second = reading.mentions[one], reading.mentions[two]
    between = reading.text[reading.tokens[first.last - 1].end : reading.tokens[second.first].start]
    kinds = (first.options[0].kind, second.options[0].kind)
    return kinds == ("entity", "entity") and lexicon.pattern("assembly.coordinate").fullmatch(between) is not None


def asked_anew(reading: QuestionReading, mention: NameMention) -> bool:
    """Whether a Chinese class after "with" is of others than those said before: 最大的州与[哪些州]接壤."""
    return _WITH_WHICH.search(reading.text[: reading.tokens[mention.first].start]) is not None


def clause_cost(reading: QuestionReading, mention: NameMention, node: int) -> float:
    """What it costs to hang a condition on the name before it, where it is said to be a further one of what is asked.

    “哪些餐馆的周边景点是甲，并且周边酒店是乙” and "… have the manager X and have the weight 5" ask both of one thing.
    """
    place = reading.mentions.index(mention)
    if place == 0 or node != place - 1:
        return 0.0
    between = reading.text[reading.tokens[reading.mentions[node].last - 1].end : reading.tokens[mention.first].start]
    return _FURTHER_COST if lexicon.pattern("assembly.further").search(between) else 0.0


def holding_cost(reading: QuestionReading, mention: NameMention, node: Node) -> float:
    """What it costs that a value is that of a node: of one that no word names, or of a known thing that is not meant.

    The value of a known thing is not restricted: what is above 4 or the highest is that of what is asked for.
    """
    if not node.terms:
        return 0.0 if node.open or node.named is not None else _UNSAID_HOLDER
    return _KNOWN_HOLDER if not reading.cues.boolean and _restricted(reading, mention) else 0.0


def _owns(reading: QuestionReading, place: int) -> bool:
    """Whether what follows a name is said to be its own: "Alaska's lakes"."""
    after = reading.text[reading.tokens[reading.mentions[place].last - 1].end :]
    return place + 1 < len(reading.mentions) and _POSSESSIVE.match(after) is not None


def _restricted(reading: QuestionReading, mention: NameMention) -> bool:
    """Whether a number that values compare with, or a superlative, stands at the words for a value."""
    places = [(amount.first, amount.last) for amount in reading.cues.amounts if amount.compared]
    places += [(cue.first, cue.last) for cue in reading.cues.superlatives]
    return any(0 <= mention.first - last <= _NEAR or 0 <= first - mention.last <= _NEAR for first, last in places)


def those_who_are(reading: QuestionReading, mention: NameMention) -> bool:
    """“Students of X”, where the relation is called "student of": those are meant who are."""
    phrase = reading.text[reading.tokens[mention.first].start : reading.tokens[mention.last - 1].end].casefold()
    return word_at(reading, mention.last) == "of" and singular(phrase) != phrase


def direction_cost(
    reading: QuestionReading, mention: NameMention, node: int, place: int, *, back: bool, called: Iterable[str] = ()
) -> float:
    """What it costs to read the property from the node forwards, or back, at these places in the text.

    ``called``: what the property is called, in small letters.
    """
    if place == node:
        return 0.0
    said_of = any(text.endswith(" of") for text in called) if called else True
    cue = _word_order(reading, mention, node, after=node > place, said_of=said_of)
    if cue == 0:
        return 0.1 if back else 0.0
    wants_back = cue < 0
    return 0.0 if back == wants_back else 0.4


def order_cost(reading: QuestionReading, mention: NameMention, subject: Node, object_: Node) -> float:
    """What it costs that a relation between these runs against the order of the words."""
    place = reading.mentions.index(mention)
    if object_.place == place or subject.place == place or not (object_.terms or subject.terms):
        return 0.0
    known, other = (object_, subject) if object_.terms else (subject, object_)
    cue = _word_order(reading, mention, known.place, after=known.place > place)
    if cue == 0 or other is known:
        return 0.0
    wants_object = cue < 0
    return 0.0 if (known is object_) == wants_object else 0.4


def _word_order(
    reading: QuestionReading, mention: NameMention, known: int, *, after: bool, said_of: bool = True
) -> int:
    """1 if the known thing is what has the property, -1 if it is its value, 0 if the words do not say.

    ``known`` is the place of its mention; ``said_of``: an "of" at the end belongs to the name of the property.
    """
    following = word_at(reading, mention.last)
    before = word_at(reading, mention.first - 1)
    phrase = reading.text[reading.tokens[mention.first].start : reading.tokens[mention.last - 1].end].casefold()
    if reading.language == "zh":
        return -1 if after or _is_said_to_be(reading, mention, known) else 1
    of = following == "of" or (not said_of and phrase.endswith(" of"))
    if after:
        if said_of and those_who_are(reading, mention):
            return -1
        if of or (before in ("the", "what", "which") and following in ("of", "for", "in")):
            return 1
        if following == "by" and not phrase.endswith("by"):
            return 1
        return -1
    done_by = before in _BE and following == "by" and not phrase.endswith("by")
    article = before in _ARTICLES or phrase.split()[0] in _ARTICLES
    one_of = (article and following == "of" and not phrase.endswith("of")) or (
        (article or before in _BE) and not said_of and phrase.endswith(" of")
    )
    return -1 if done_by or one_of else 1


def _is_said_to_be(reading: QuestionReading, mention: NameMention, known: int) -> bool:
    """Whether a Chinese thing is said to be the property of the next one: 甲 in 甲是乙的先修课程."""
    place = reading.mentions.index(mention)
    if not 0 <= known == place - 2:
        return False
    first, second = reading.mentions[known], reading.mentions[known + 1]
    between = reading.text[reading.tokens[first.last - 1].end : reading.tokens[second.first].start]
    joined = reading.text[reading.tokens[second.last - 1].end : reading.tokens[mention.first].start]
    return between.strip() in ("是", "是不是", "算", "是否是") and joined.strip() == "的"


def word_at(reading: QuestionReading, place: int) -> str:
    """The token at a place in small letters; empty outside the question."""
    return reading.tokens[place].text.casefold() if 0 <= place < len(reading.tokens) else ""


_BEAM = 24
_UNSAID = 1.0
_PLACING = 0.45
_APART = 0.14
_AGAINST_THE_VERB = 1.6
_AGAIN = 0.12
_AGAIN_OR_VERB = 0.6
_ASKED_ANEW = 0.4
"""What it costs that a class after a question word is the one said before: 最大的州与哪些州接壤 asks for others."""
_KIND = 0.05
_FELLOW = -0.6
_BELONGING = 0.3
_TWICE = 0.9
_THROUGH = 0.2
_APPOSED = 0.1
_WHOLE = 0.8
_SPREAD = 0.004
_LONGER = 0.01
_OF_THAT_KIND = -3.0
_FRAME = 3
"""Chinese verbs may stand on both sides of what they rule, so many mentions apart: 归哪个市管辖."""


class Assembler:
    """Builds drafts over one graph."""

    def __init__(self, names: NameIndex, finder: PathFinder) -> None:
        self._names = names
        self._finder = finder
        self._schema: SchemaView = names.schema
        self._directions = Directions(names.schema)

    def drafts(self, reading: QuestionReading) -> list[GraphDraft]:
        """The best ways to join all mentions."""
        beam = [GraphDraft()]
        columns = () if reading.columns.extra else reading.columns.shown
        headings = [heading(reading, place) for place in range(len(reading.mentions))]
        for place in joining_order(reading, columns, MOST_MENTIONS):
            mention = reading.mentions[place]
            grown: dict[tuple[object, ...], GraphDraft] = {}
            for draft in beam:
                for option in mention.options:
                    for attached in self._attached(draft, option, place, mention, reading):
                        new = apart_from(draft, attached, columns) if place in columns else attached
                        new = self._headed(draft, new, headings, place)
                        spared = self._directions.led(new.links[len(draft.links) :], place, reading)
                        new = replace(new, cost=new.cost - spared) if spared else new
                        key = (new.nodes, new.links)
                        if key not in grown or grown[key].score < new.score:
                            grown[key] = new
                cost = draft.cost + passed_over(mention) * weight_of(mention, reading)
                skipped = replace(draft, cost=cost, skipped=draft.skipped | {place})
                grown.setdefault((skipped.nodes, skipped.links), skipped)
            beam = sorted(grown.values(), key=lambda d: -d.score)[:_BEAM]
        inward = self._finder.inward
        beam = [replace(d, links=righted(d.nodes, d.links, reading, inward)) for d in beam]
        held = []
        for d in beam:
            extra = inside_out(d.nodes, d.links, reading, inward) + echoes(d.nodes, d.links, self._schema)
            held.append(replace(d, cost=d.cost + extra))
        return sorted(held, key=lambda d: -d.score)

    def _attached(
        self, draft: GraphDraft, option: MentionReading, place: int, mention: NameMention, reading: QuestionReading
    ) -> Iterator[GraphDraft]:
        gain = weight_of(mention, reading) * option.score + 0.15 * option.score
        base = replace(draft, gain=draft.gain + gain)
        if option.kind == "class":
            yield from self._class(base, option, place, mention, reading)
        elif option.kind == "entity":
            yield from self._entity(base, option, place, reading)
        elif option.kind == "value":
            yield from self._value(base, option, place)
        else:
            yield from self._property(base, option, place, mention, reading)

    def _headed(self, before: GraphDraft, after: GraphDraft, headings: list[str], place: int) -> GraphDraft:
        """The draft that a mention was added to, dearer where "from" or "to" says that the way there is another one."""
        new = after.links[len(before.links) :]
        held = {end for link in new for end in (link.subject, link.object) if end < len(before.nodes)}
        there = (link for link in before.links if link.object in held)  # how what it hangs on was come to
        cost = sum(self._directions.cost(link.predicate, headings[place]) for link in (*new, *there))
        for link in new:
            cost += self._directions.cost(link.predicate, heading_of(before.nodes, before.links, link.object, headings))
        return replace(after, cost=after.cost + cost) if cost else after

    # classes and things

    def _class(
        self, draft: GraphDraft, option: MentionReading, place: int, mention: NameMention, reading: QuestionReading
    ) -> Iterator[GraphDraft]:
        iri = option.names[0].term
        assert isinstance(iri, NamedNode)
        types = frozenset((iri,))
        yield from self._fellow(draft, Node(place, types, named=iri)) if reading.cues.fellow else ()
        for index, node in enumerate(draft.nodes):
            if node.terms and not node.literal and said_to_be(reading, reading.mentions[node.place], mention):
                yield with_node(draft, index, replace(node, named=iri), _OF_THAT_KIND)
            if node.literal or not self._finder.compatible(node.types, types):
                continue
            near = self._gap(node.place, place)
            if node.open and not self._possible(draft, index, types):
                continue
            if node.open:
                near += undergoing_cost(reading, index, place, draft.links)
                yield with_node(draft, index, replace(node, types=types, named=iri, open=False, place=place), near)
            elif node.named is None and not node.terms and place > node.place and len(draft.links) > 1:
                yield with_node(draft, index, replace(node, types=types, named=iri, place=place), near + _AGAIN)
            elif node.named == iri and not another(reading, mention.first):
                verb = any(o.kind == "property" and o.score >= option.score for o in mention.options)
                anew = _ASKED_ANEW if asked_anew(reading, mention) else 0.0
                yield replace(draft, cost=draft.cost + anew + (_AGAIN_OR_VERB if verb else _AGAIN))
            elif node.terms and near == 0.0 and adjacent(reading, node.place, place):
                yield replace(draft, cost=draft.cost + 0.05)
            elif node.named is not None and node.named != iri and adjacent(reading, node.place, place):
                narrower = iri if iri in self._schema.subclasses(node.named) else node.named
                yield with_node(draft, index, replace(node, types=frozenset((narrower,)), named=narrower), 0.1)
        yield from self._joined(draft, Node(place, types, named=iri))

    def _possible(self, draft: GraphDraft, index: int, types: frozenset[NamedNode]) -> bool:
        """Whether things of these classes can have the relations that a node has."""
        domains = [self._schema.domains(link.predicate) for link in draft.links if link.subject == index]
        ranges = [self._schema.ranges(link.predicate) for link in draft.links if link.object == index]
        return all(self._finder.compatible(frozenset(ends), types) for ends in (*domains, *ranges))

    def _entity(
        self, draft: GraphDraft, option: MentionReading, place: int, reading: QuestionReading
    ) -> Iterator[GraphDraft]:
        terms = tuple(name.term for name in option.names)
        types = frozenset(t for term in terms[:1] for t in self._names.types(term))
        if reading.cues.fellow:
            yield from self._fellow(draft, Node(place, types, terms=terms))
            draft = replace(draft, cost=draft.cost - _FELLOW)
        for index, node in enumerate(draft.nodes):
            if node.literal or node.terms or not self._finder.compatible(node.types, types):
                continue
            near = self._gap(node.place, place)
            if node.open:
                near += binding_cost(reading, place, index, draft.nodes, draft.links)
                apart = tuple(tuple(name.term for name in names) for names in option.apart)
                bound = replace(node, types=types or node.types, terms=terms, named=None, open=False, place=place)
                bound = replace(bound, joint=option.joint, apart=apart)
                yield with_node(draft, index, bound, near)
            elif node.named is not None and near == 0.0 and adjacent(reading, node.place, place):
                bound = replace(node, types=types, terms=terms, named=None, place=place)
                yield with_node(draft, index, bound, 0.05)
        yield from self._called(draft, terms, types, place)
        if as_noun(reading, place):
            yield from self._of_kind(draft, terms, types, place)
        apart = tuple(tuple(name.term for name in names) for names in option.apart)
        yield from self._joined(draft, Node(place, types, terms=terms, joint=option.joint, apart=apart))

    def _of_kind(
        self, draft: GraphDraft, terms: tuple[NamedNode | Literal, ...], types: frozenset[NamedNode], place: int
    ) -> Iterator[GraphDraft]:
        """“The cheapest encoder”, where Encoder is a category: a thing of that kind is meant, not the category."""
        for predicate in self._finder.kinds(types):
            domains = frozenset(self._schema.domains(predicate))
            kind = Node(place, types, terms=terms)
            for index, node in enumerate(draft.nodes):
                if not node.literal and not node.terms and self._finder.compatible(node.types, domains):
                    link = Link(index, predicate, len(draft.nodes), place=place)
                    cost = draft.cost + _KIND + self._gap(node.place, place)
                    yield replace(draft, nodes=(*draft.nodes, kind), links=(*draft.links, link), cost=cost)
            for new in self._joined(draft, Node(place, domains)):
                link = Link(len(new.nodes) - 1, predicate, len(new.nodes), place=place)
                yield replace(new, nodes=(*new.nodes, kind), links=(*new.links, link), cost=new.cost + _KIND)

    def _called(
        self, draft: GraphDraft, terms: tuple[NamedNode | Literal, ...], types: frozenset[NamedNode], place: int
    ) -> Iterator[GraphDraft]:
        """“The course with the code X”, where X is the name of the course itself: asked for by its label."""
        labels = tuple(label for term in terms[:1] for label in self._names.facts.labels.get(term, ()))
        for number, link in enumerate(draft.links):
            leaf, subject = draft.nodes[link.object], draft.nodes[link.subject]
            if not leaf.literal or leaf.terms or subject.terms or not self._names.naming(link.predicate):
                continue
            if labels and place - leaf.place == 1 and self._finder.compatible(subject.types, types):
                named = replace(subject, types=types or subject.types, open=False)
                nodes = tuple(named if node is subject else node for node in draft.nodes)
                links = (*draft.links[:number], replace(link, predicate=LABEL), *draft.links[number + 1 :])
                bound = with_node(replace(draft, nodes=nodes), link.object, replace(leaf, terms=labels), 0.3)
                yield replace(bound, links=links)

    def _fellow(self, draft: GraphDraft, node: Node) -> Iterator[GraphDraft]:
        """“Co-authors of X”: whoever has to something what X has to it; rather to a work than to where both belong."""
        for index, other in enumerate(draft.nodes):
            if (
                other.literal
                or bool(other.terms) == bool(node.terms)
                or not self._finder.compatible(other.types, node.types)
            ):
                continue
            for step in self._finder.steps(other.types):
                path = (step, PathStep(step.predicate, not step.back, other.types, step.share))
                yield self._along(draft, index, path, node, _FELLOW + (0.0 if step.back else _BELONGING))

    def _joined(self, draft: GraphDraft, node: Node) -> Iterator[GraphDraft]:
        """The node on its own if it is the first, else at the end of a path from each node there is."""
        if not draft.nodes:
            yield replace(draft, nodes=(node,))
            return
        again = 0.4 if node.terms and any(n.named is not None and n.named in node.types for n in draft.nodes) else 0.0
        for index, other in enumerate(draft.nodes):
            if other.literal or (other.terms and node.terms and len(draft.nodes) > 2):
                continue
            paths = self._finder.paths(other.types, node.types)
            things = sum(self._schema.count(iri) for iri in other.types)
            for path in sorted(paths, key=lambda p: self._path_cost(p, things))[:6]:
                cost = self._path_cost(path, things) + self._gap(other.place, node.place) + again
                yield self._along(draft, index, path, node, cost)

    def _path_cost(self, path: tuple[PathStep, ...], things: int = 0) -> float:
        """What it costs to go a way that was not said; less where more of the ``things`` have it."""
        cost = 0.35 * (len(path) - 1)
        if len(path) == 1 and not path[0].back and things:
            cost -= _SPREAD * min(1.0, path[0].share / things)
        if len(path) == 2 and path[0].predicate == path[1].predicate and path[0].back != path[1].back:
            cost += 0.7
        for step in path:
            total = self._schema.properties[step.predicate].count if step.predicate in self._schema.properties else 1
            cost += _PLACING if step.predicate in self._finder.placing else _UNSAID
            cost -= 0.1 * min(1.0, step.share / max(1, total))
        return cost

    def _along(self, draft: GraphDraft, index: int, path: tuple[PathStep, ...], node: Node, cost: float) -> GraphDraft:
        nodes, links = list(draft.nodes), list(draft.links)
        here = index
        for step in path[:-1]:
            nodes.append(Node(node.place, step.types))
            links.append(self._link(here, len(nodes) - 1, step))
            here = len(nodes) - 1
        nodes.append(node)
        links.append(self._link(here, len(nodes) - 1, path[-1]))
        return replace(draft, nodes=tuple(nodes), links=tuple(links), cost=draft.cost + cost)

    def _link(self, here: int, there: int, step: PathStep) -> Link:
        term = self._schema.properties.get(step.predicate)
        path = "+" if term is not None and term.transitive else ""
        subject, object_ = (there, here) if step.back else (here, there)
        return Link(subject, step.predicate, object_, path=path)

    @staticmethod
    def _gap(first: int, second: int) -> float:
        return _APART * max(0, abs(first - second) - 1)

    # values and properties

    def _value(self, draft: GraphDraft, option: MentionReading, place: int) -> Iterator[GraphDraft]:
        predicate = option.names[0].predicate
        assert predicate is not None
        terms = tuple(name.term for name in option.names)
        for node in draft.nodes:
            if len(node.terms) == 1 and self._names.known_by(node.terms[0], predicate) & set(terms):
                yield replace(draft, cost=draft.cost + _AGAIN)
        apart = tuple(tuple(name.term for name in names) for names in option.apart)
        leaf = Node(place, frozenset(), terms=terms, literal=True, joint=option.joint, apart=apart)
        further = self._schema.label(predicate).count(" ")  # a flight number rather than a connecting flight number
        yield from self._literal(draft, predicate, leaf, place, cost=0.1 + _LONGER * further)

    def _literal(
        self,
        draft: GraphDraft,
        predicate: NamedNode,
        leaf: Node,
        place: int,
        cost: float,
        reading: QuestionReading | None = None,
    ) -> Iterator[GraphDraft]:
        """The leaf at a node that has the property, or at a new one; an unsaid leaf of the same property is taken."""
        domains = self._names.holders(predicate, leaf.terms)
        for link in draft.links:
            node = draft.nodes[link.object]
            unsaid = link.predicate == predicate and node.literal and not node.terms
            if unsaid and (leaf.terms or place - node.place == 1):
                yield with_node(draft, link.object, replace(leaf, place=place), self._gap(node.place, place))
        for index, node in enumerate(draft.nodes):
            if node.literal or (node.terms and leaf.terms):
                continue
            if self._finder.compatible(node.types, domains) and (node.types or not draft.links):
                beside = _APPOSED if leaf.terms and node.named and abs(node.place - place) == 1 else 0.0
                twice = _TWICE if leaf.terms and self._has_one(draft, index, predicate) else 0.0
                held = holding_cost(reading, reading.mentions[place], node) if reading else 0.0
                here = cost + held + twice - beside + self._gap(node.place, place)
                yield self._leaf(draft, index, predicate, leaf, here)
        if not draft.nodes:
            start = replace(draft, nodes=(Node(place, domains, open=True),))
            yield self._leaf(start, 0, predicate, leaf, cost + 0.2)
            return
        for new in self._joined(draft, Node(place, domains, open=True)):
            yield self._leaf(new, len(new.nodes) - 1, predicate, leaf, cost + 0.2)

    def _has_one(self, draft: GraphDraft, index: int, predicate: NamedNode) -> bool:
        """Whether a node has a value already of a property that things have one of at most."""
        there = any(
            x.subject == index and x.predicate == predicate and draft.nodes[x.object].terms for x in draft.links
        )
        term = self._schema.properties.get(predicate)
        things = sum(
            self._schema.classes[i].count for i in self._schema.domains(predicate) if i in self._schema.classes
        )
        return there and term is not None and term.count <= things

    @staticmethod
    def _leaf(draft: GraphDraft, index: int, predicate: NamedNode, leaf: Node, cost: float) -> GraphDraft:
        link = Link(index, predicate, len(draft.nodes), place=leaf.place)
        return replace(draft, nodes=(*draft.nodes, leaf), links=(*draft.links, link), cost=draft.cost + cost)

    def _property(
        self, draft: GraphDraft, option: MentionReading, place: int, mention: NameMention, reading: QuestionReading
    ) -> Iterator[GraphDraft]:
        predicate = option.names[0].term
        assert isinstance(predicate, NamedNode)
        term = self._schema.properties.get(predicate)
        if term is None:
            return
        yield from self._absorbed(draft, predicate, place, mention, reading)
        if not term.is_object:
            unsaid = (x for x in draft.links if x.predicate == predicate and not draft.nodes[x.object].terms)
            if reading.language == "en" and option.score < _WHOLE and next(unsaid, None) is not None:
                yield draft  # "how many goals has X scored": both words are of one name
                return
            yield from self._literal(draft, predicate, Node(place, frozenset(), literal=True), place, 0.0, reading)
            return
        path = "+" if term.transitive or (reading.cues.chain and self._loops(predicate)) else ""
        ends = (frozenset(self._schema.domains(predicate)), frozenset(self._schema.ranges(predicate)))
        for index, node in enumerate(draft.nodes):
            if node.literal:
                continue
            for back in (False, True):
                if not self._finder.compatible(node.types, ends[1 if back else 0]):
                    continue
                far = Node(place, ends[0 if back else 1], open=True)
                far = far if back else self._of_class(far, predicate, mention)
                subject, object_ = (len(draft.nodes), index) if back else (index, len(draft.nodes))
                cost = self._gap(node.place, place) + clause_cost(reading, mention, node.place)
                said = (w.text.casefold() for w in term.words)
                cost += direction_cost(reading, mention, node.place, place, back=back, called=said)
                if back and node.place < place and self._active(reading, node.place, predicate):
                    cost += _AGAINST_THE_VERB
                link = Link(subject, predicate, object_, place=place, path=path)
                yield replace(draft, nodes=(*draft.nodes, far), links=(*draft.links, link), cost=draft.cost + cost)
        link = Link(0, predicate, 1, place=place, path=path)
        said_of = any(word.text.casefold().endswith(" of") for word in term.words)
        yield from self._property_apart(draft, link, ends, mention, of=said_of and those_who_are(reading, mention))

    def _of_class(self, far: Node, predicate: NamedNode, mention: NameMention) -> Node:
        """The place that a word names which is also a class: "in which city" wants a city, not all that it lies in."""
        for option in mention.options if predicate in self._finder.placing else ():
            iri = option.names[0].term
            if option.kind != "class" or not isinstance(iri, NamedNode) or iri == THING:
                continue
            if self._finder.compatible(far.types, frozenset((iri,))):
                return replace(far, types=frozenset((iri,)), named=iri)
        return far

    def _property_apart(
        self,
        draft: GraphDraft,
        link: Link,
        ends: tuple[frozenset[NamedNode], frozenset[NamedNode]],
        mention: NameMention,
        *,
        of: bool,
    ) -> Iterator[GraphDraft]:
        """A property of nothing that was named so far: the first of all, or some way from what was.

        ``of``: what has it is asked for, so that a name is its value.
        """
        subject, far = Node(link.place, ends[0], open=not of), Node(link.place, ends[1], open=True)
        far = self._of_class(far, link.predicate, mention)
        if not draft.nodes:
            yield replace(draft, nodes=(subject, far), links=(link,))
            return
        things = (node for node in draft.nodes if not node.literal)
        if any(self._finder.compatible(node.types, ends[0] | ends[1]) for node in things):
            return
        for new in self._joined(draft, subject):
            moved = replace(link, subject=len(new.nodes) - 1, object=len(new.nodes))
            yield replace(new, nodes=(*new.nodes, far), links=(*new.links, moved), cost=new.cost + _THROUGH)

    def _absorbed(
        self, draft: GraphDraft, predicate: NamedNode, place: int, mention: NameMention, reading: QuestionReading
    ) -> Iterator[GraphDraft]:
        """A property that an earlier guess already brought in: the guess was right."""
        for number, link in enumerate(draft.links):
            beside = link.place >= 0 and abs(link.place - place) == 1 and draft.nodes[link.object].terms
            if link.predicate == predicate and reading.language == "zh" and 0 < place - link.place <= _FRAME:
                yield draft
            if link.predicate != predicate or (link.place >= 0 and not beside):
                continue
            back = 0.0 if beside else (_PLACING if link.predicate in self._finder.placing else _UNSAID) - 0.1
            wrong = order_cost(reading, mention, draft.nodes[link.subject], draft.nodes[link.object])
            path = "+" if link.path or (reading.cues.chain and self._loops(predicate)) else ""
            links = (*draft.links[:number], replace(link, place=place, path=path), *draft.links[number + 1 :])
            yield replace(draft, links=links, cost=draft.cost - back + wrong)

    def _active(self, reading: QuestionReading, known: int, predicate: NamedNode) -> bool:
        """“What does X cite”: X certainly is what cites, unless the property is called the other way round."""
        mention = reading.mentions[known]
        before = word_at(reading, mention.first - 1)
        if before in ("the", "a", "an"):
            before = word_at(reading, mention.first - 2)
        term = self._schema.properties.get(predicate)
        passive = any(lexicon.pattern("assembly.passive").search(word.text) for word in term.words) if term else True
        return before in ("do", "does", "did") and not passive

    def _loops(self, predicate: NamedNode) -> bool:
        """Whether the property leads from a class to itself, so that following it on and on makes sense."""
        domains, ranges = self._schema.domains(predicate), self._schema.ranges(predicate)
        return self._finder.compatible(frozenset(domains), frozenset(ranges)) and bool(domains)
