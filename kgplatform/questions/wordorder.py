"""What the order of words and the small words between names say about how names belong together."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kgplatform.questions.graphs import Link, Node
from kgplatform.questions.joining import Mention
from kgplatform.questions.mentions import Reading
from kgplatform.questions.wording import GENERIC_NOUNS
from kgplatform.text import singular

_FURTHER = re.compile(
    r"并且|而且|同时|[，,]且|\band\s+(?:also\s+)?(?:have|has|had|with)\s+(?:the|an?)?\s*$", re.IGNORECASE
)
_COORDINATE = re.compile(
    r"[\s,，、]*(?:但是?|却|而且?|又|且|也|并且?|同时|还)*[\s,，、]*(?:没有?|有|不[含带在是])"
    r"|[\s,]*(?:but|and|yet)\s+(?:also\s+)?(?:not|without|no|with)\s+(?:(?:a|an|the)\s+)?",
    re.IGNORECASE,
)
_WITH_WHICH = re.compile(
    r"[与和跟同被](?:哪[些个几一]?[个家座条位]?|什么|多少[个家座条位]?|几[个家座条位]|[^，,。与和跟同]{0,8}最\w{1,3}的)$"
)
_FURTHER_COST = 0.45
_INSIDE = 0.7
_AGAINST_ORDER = 0.4
_UNDERGOING = 1.6
_WHO_OR_WHAT = frozenset(("who", "what", "which", "谁", "什么"))
_NO_WORDS = frozenset(("the", "a", "an", "了", "过"))
_BE = frozenset(("is", "are", "was", "were", "been", "being", "be"))
_ARTICLES = frozenset(("a", "an", "the"))
_ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)
_IS_IT = re.compile(
    r"\W*(?:so |and |but )?(?:is|was|isn['’]t|wasn['’]t)\s+(?:the\s+)?(?:\s*of\s+(?:the\s+)?)?['\"“‘]?", re.IGNORECASE
)
_OF_KIND = re.compile(
    r"['\"”’]?\s+(?:(?:really|actually|also|indeed|considered|classified as|called)\s+)*"
    r"(?:an?|one of the|(?:an?|some) (?:kind|sort|type) of)\s+(?:\w+\s+)?",
    re.IGNORECASE,
)
_IS_OF_KIND_ZH = re.compile(
    r"[”》」]?\s*(?:真的|确实|也|还)?(?:是不是|是否是|是否为|是否属于|属不属于|算不算|是|属于|算是|算)\s*"
    r"(?:一?[个座家种处条间所名位部本篇片])?[^，,。]{0,3}?的?"
)
_POSSESSIVE = re.compile(r"['’]s?\s+(?=\w)")
_UNSAID_HOLDER = 0.5
_KNOWN_HOLDER = 0.9
_NEAR = 2
_ANOTHER = frozenset(("other", "another", "others", "different", "别", "其", "另"))


def joining_order(reading: Reading, columns: tuple[int, ...], most: int) -> list[int]:
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


def adjacent(reading: Reading, first: int, second: int) -> bool:
    """Whether only "of", "the", 的 and the like stand between two mentions."""
    one, two = sorted((first, second))
    if two - one != 1:
        return False
    between = reading.tokens[reading.mentions[one].last : reading.mentions[two].first]
    return len(between) <= 2 and all(
        t.text.casefold() in ("of", "the", "is", "are", "named", "called", "a", "名", "为", "叫", "是") for t in between
    )


def binding_cost(reading: Reading, place: int, node: int, nodes: tuple[Node, ...], links: tuple[Link, ...]) -> float:
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


def _follows_its_verb(reading: Reading, verb: int, place: int) -> bool:
    """Whether a name comes straight after a verb that nothing but a question word stands before."""
    said, name = reading.mentions[verb], reading.mentions[place]
    if reading.language == "zh" and said.last == name.first and word_at(reading, name.last) == "的":
        following = next((m for m in reading.mentions if m.first == name.last + 1), None)
        return following is not None and following.options[0].kind == "class"  # 引用了X的论文
    between = {t.text.casefold() for t in reading.tokens[said.last : name.first]}
    return said.first == 1 and word_at(reading, 0) in _WHO_OR_WHAT and not between - _NO_WORDS


def undergoing_cost(reading: Reading, index: int, place: int, links: tuple[Link, ...]) -> float:
    """What it costs that a class after 被 and a verb does what is done to it: 被引用最多的论文 are what is cited."""
    for link in links:
        if link.subject == index and link.place == place - 1 and reading.language == "zh":
            return _UNDERGOING if word_at(reading, reading.mentions[link.place].first - 1) == "被" else 0.0
    return 0.0


def as_noun(reading: Reading, place: int) -> bool:
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


def said_to_be(reading: Reading, thing: Mention, kind: Mention) -> bool:
    """Whether a yes-or-no question asks of a thing whether it is one of a kind: "is X a lake", X是湖吗."""
    if not reading.cues.boolean or thing.last > kind.first:
        return False
    start, end = reading.tokens[thing.last - 1].end, reading.tokens[kind.first].start
    article = _ARTICLE.match(reading.text, end)
    between = reading.text[start : article.end() if article else end]
    for other in reading.mentions:
        if thing.last <= other.first and other.last <= kind.first:
            name = reading.text[reading.tokens[other.first].start : reading.tokens[other.last - 1].end]
            between = between.replace(name, "", 1)
    if _IS_OF_KIND_ZH.fullmatch(between):
        return True
    before = reading.text[: reading.tokens[thing.first].start]
    for other in reading.mentions:
        if other.last <= thing.first:
            name = reading.text[reading.tokens[other.first].start : reading.tokens[other.last - 1].end]
            before = before.replace(name, "", 1)
    return _IS_IT.fullmatch(before) is not None and _OF_KIND.fullmatch(between) is not None


def another(reading: Reading, first: int) -> bool:
    """Whether the words before a mention say that it is another one of its kind."""
    return bool({word_at(reading, place) for place in range(first - 3, first)} & _ANOTHER)


def _coordinate(reading: Reading, one: int, two: int) -> bool:
    """Whether two names beside each other are two conditions of one thing: "with A but without B"."""
    first, second = reading.mentions[one], reading.mentions[two]
    between = reading.text[reading.tokens[first.last - 1].end : reading.tokens[second.first].start]
    kinds = (first.options[0].kind, second.options[0].kind)
    return kinds == ("entity", "entity") and _COORDINATE.fullmatch(between) is not None


def asked_anew(reading: Reading, mention: Mention) -> bool:
    """Whether a Chinese class after "with" is of others than those said before: 最大的州与[哪些州]接壤."""
    return _WITH_WHICH.search(reading.text[: reading.tokens[mention.first].start]) is not None


def clause_cost(reading: Reading, mention: Mention, node: int) -> float:
    """What it costs to hang a condition on the name before it, where it is said to be a further one of what is asked.

    “哪些餐馆的周边景点是甲，并且周边酒店是乙” and "… have the manager X and have the weight 5" ask both of one thing.
    """
    place = reading.mentions.index(mention)
    if place == 0 or node != place - 1:
        return 0.0
    between = reading.text[reading.tokens[reading.mentions[node].last - 1].end : reading.tokens[mention.first].start]
    return _FURTHER_COST if _FURTHER.search(between) else 0.0


def holding_cost(reading: Reading, mention: Mention, node: Node) -> float:
    """What it costs that a value is that of a node: of one that no word names, or of a known thing that is not meant.

    The value of a known thing is not restricted: what is above 4 or the highest is that of what is asked for.
    """
    if not node.terms:
        return 0.0 if node.open or node.named is not None else _UNSAID_HOLDER
    return _KNOWN_HOLDER if not reading.cues.boolean and _restricted(reading, mention) else 0.0


def _owns(reading: Reading, place: int) -> bool:
    """Whether what follows a name is said to be its own: "Alaska's lakes"."""
    after = reading.text[reading.tokens[reading.mentions[place].last - 1].end :]
    return place + 1 < len(reading.mentions) and _POSSESSIVE.match(after) is not None


def _restricted(reading: Reading, mention: Mention) -> bool:
    """Whether a number that values compare with, or a superlative, stands at the words for a value."""
    places = [(amount.first, amount.last) for amount in reading.cues.amounts if amount.compared]
    places += [(cue.first, cue.last) for cue in reading.cues.superlatives]
    return any(0 <= mention.first - last <= _NEAR or 0 <= first - mention.last <= _NEAR for first, last in places)


def those_who_are(reading: Reading, mention: Mention) -> bool:
    """“Students of X”, where the relation is called "student of": those are meant who are."""
    phrase = reading.text[reading.tokens[mention.first].start : reading.tokens[mention.last - 1].end].casefold()
    return word_at(reading, mention.last) == "of" and singular(phrase) != phrase


def direction_cost(
    reading: Reading, mention: Mention, node: int, place: int, *, back: bool, called: Iterable[str] = ()
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


def order_cost(reading: Reading, mention: Mention, subject: Node, object_: Node) -> float:
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


def _word_order(reading: Reading, mention: Mention, known: int, *, after: bool, said_of: bool = True) -> int:
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


def _is_said_to_be(reading: Reading, mention: Mention, known: int) -> bool:
    """Whether a Chinese thing is said to be the property of the next one: 甲 in 甲是乙的先修课程."""
    place = reading.mentions.index(mention)
    if not 0 <= known == place - 2:
        return False
    first, second = reading.mentions[known], reading.mentions[known + 1]
    between = reading.text[reading.tokens[first.last - 1].end : reading.tokens[second.first].start]
    joined = reading.text[reading.tokens[second.last - 1].end : reading.tokens[mention.first].start]
    return between.strip() in ("是", "是不是", "算", "是否是") and joined.strip() == "的"


def word_at(reading: Reading, place: int) -> str:
    """The token at a place in small letters; empty outside the question."""
    return reading.tokens[place].text.casefold() if 0 <= place < len(reading.tokens) else ""
