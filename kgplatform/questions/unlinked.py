"""Words that a question cannot do without: its numbers, codes, quoted and capitalised names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyoxigraph import Literal

from kgplatform.questions.graphs import QueryGraph
from kgplatform.questions.mentions import Reading
from kgplatform.questions.names import Name, NameIndex
from kgplatform.questions.wording import FUNCTION_WORDS, PERSON_WORDS, PLACE_WORDS
from kgplatform.text import has_han

_QUOTED = re.compile(r"[“\"「『《‘]([^”\"」』》’]{1,80})[”\"」』》’]|(?<!\w)'([^']{1,80})'(?!\w)")
_JOINED = re.compile(r"[A-Za-zÀ-ɏ]*\d[A-Za-zÀ-ɏ\d]*")
_NAME_ENDINGS = frozenset("州省市县区镇乡村街路河江湖山岛海国城校院系馆店楼寺塔桥港站")
_BEFORE_KINDS = frozenset("各每该本全多哪何几个些的是在和与及或跟同向到从过给找查列出举邻大小新老最有座条家所个位名种")
_LITTLE = re.compile(
    r"yet|already|still|now|currently|directly|personally|immediately|really|truly|actually|indeed|exactly|simply|also|too|even|ever|just|please|ok|okay"
    r"|true|correct|right|case|fact|sure|be|been|being|get|got|going|supposed|possible|possibly|maybe|perhaps|either|both"
    r"|located|situated|lies?|lying|exists?|exist|existing|found|known|called|named|there|here|any|some|one"
    r"|provides?|provided|offers?|offered|features?|has|have|having|contains?"
    r"|[是否]?(?:提供|具有|拥有|设有|配有|带有|包含|含有|支持)"
    r"|late|early|delayed|catch|reach|make|miss|晚点|延误|准点|准时|赶上|赶得上|赶得及"
    r"|same|common|together|相同|同样|一样|共同|同一"
    r"|know|tell|say|show|give|help|find|check|see|look|think|believe|知道|告诉|请|请问|看|查|帮"
    r"|真|真的|的确|确实|其实|实际|是否|还|也|都|就|才|已|已经|现在|目前|仍|仍然|会|能|可|可以|位|位于|存|存在|叫|做|这|那|里|个|家|座|种|条|间|所",
    re.IGNORECASE,
)
_OPTIONS = 8
_WHOLE_NAME = 0.8
_WHERE_ZH = re.compile(r"(?:哪里|哪儿|什么地方)(好[^，。？?的]|[^，。？?的有是在]{2,4})[？?。]*$")
_COMPARED = re.compile(
    r"\b(?:more|less|fewer|\w{3,}er)\b(?=[^?.]*\bthan\b)|比(?=[^，,。？?]{1,20}[多少高低大小长短贵早晚新老远近])",
    re.IGNORECASE,
)
_ANY_OF_THEM = frozenset(
    (
        *("different", "distinct", "various", "individual", "separate", "single", "unique", "total", "such", "own"),
        *("other", "registered", "known", "existing", "listed", "recorded", "available"),
    )
)
_OF_ALL = re.compile(r"\d+[个家座条位名种类所](?=[^，,。？?的]{1,8}(?:里面?|中|当中|之中)(?:[，,]|哪|谁|最))")
_ANYTHING = PLACE_WORDS | PERSON_WORDS | {"thing", "things", "option", "options", "choice", "spot", "deal"}


def essential(reading: Reading) -> frozenset[int]:
    """The tokens that name something particular, whether or not the graph knows it."""
    quoted = [match.span() for match in _QUOTED.finditer(reading.text)]
    shouted = reading.text.isupper()
    found = set()
    for place, token in enumerate(reading.tokens):
        inside = reading.weights[place] > 0 and any(start <= token.start < end for start, end in quoted)
        digits = any(character.isdigit() for character in token.text)
        if inside or (digits and not _of_all(reading, place)) or (not shouted and _named(reading, place)):
            found.add(place)
    return frozenset(found | _measured(reading) | _glued(reading) | _asked_for(reading) | _told_apart(reading))


def _told_apart(reading: Reading) -> frozenset[int]:
    """The word before the class that is counted: how many airports there are does not answer for "Swiss airports"."""
    counting = reading.cues.counting
    if reading.language == "zh" or counting is None:
        return frozenset()
    found = set()
    for mention in reading.mentions:
        place = mention.first - 1
        counted = counting <= place <= counting + 1 and mention.options[0].kind == "class"
        if not counted or reading.weights[place] <= 0:
            continue
        word = reading.tokens[place].text
        if word.isalpha() and word.casefold() not in _ANY_OF_THEM and place not in reading.cues.used:
            found.add(place)
    return frozenset(found)


def _of_all(reading: Reading, place: int) -> bool:
    """Whether a number only says how many there are to choose from: 十六个区里, "of the 16 districts"."""
    token = reading.tokens[place]
    return _OF_ALL.match(reading.text, token.start) is not None


def _asked_for(reading: Reading) -> frozenset[int]:
    """The word after "which" before a verb, which names what is asked for: "which professor teaches …"; 哪里好玩."""
    found: set[int] = set()
    for match in _WHERE_ZH.finditer(reading.text):
        found |= {i for i, token in enumerate(reading.tokens) if match.start(1) <= token.start < match.end(1)}
    for first, token in enumerate(reading.tokens[:-2]):
        place = first + 1
        if token.text.casefold() != "which" or reading.weights[place] <= 0:
            continue
        following = next((m for m in reading.mentions if m.first == place + 1), None)
        if following is not None and following.options[0].kind == "property":
            found.add(place)
    return frozenset(found)


def _glued(reading: Reading) -> frozenset[int]:
    """The character before a class of one character, with which it is a name that the graph has not: 滨州的人口."""
    found = set()
    for mention in reading.mentions:
        one = mention.last - mention.first == 1 and reading.tokens[mention.first].text in _NAME_ENDINGS
        place = mention.first - 1
        if one and mention.options[0].kind == "class" and place >= 0 and reading.weights[place] > 0:
            before = reading.tokens[place]
            beside = before.end == reading.tokens[mention.first].start and has_han(before.text)
            taken = any(m.first <= place < m.last for m in reading.mentions)
            if beside and not taken and before.text not in _BEFORE_KINDS:
                found.add(place)
    return frozenset(found)


def _measured(reading: Reading) -> frozenset[int]:
    """What a most or least is said to be of, where nothing in the graph is called so: "the highest density"."""
    named = {i for m in reading.mentions for i in range(m.first, m.last)}
    told = max((m.first for m in reading.mentions if m.options[0].kind == "property"), default=-1)
    after = (cue.last for cue in reading.cues.superlatives if cue.last > told)
    return frozenset(
        i
        for i in after
        if i < len(reading.tokens) and reading.weights[i] > 0 and i not in named
        if reading.tokens[i].text.casefold() not in _ANYTHING
    )


def _named(reading: Reading, place: int) -> bool:
    """Whether a word is written like a name: capitalised inside a sentence, or Latin among Chinese."""
    text = reading.tokens[place].text
    if has_han(text) or text.casefold() in FUNCTION_WORDS or len(text) < 2:
        return False
    if reading.language == "zh":
        return text[0].isupper()
    before = reading.text[: reading.tokens[place].start].rstrip()
    opening = not before or before[-1] in ".?!:;\"“'"
    return text[0].isupper() and not opening


def dropped(reading: Reading, explained: frozenset[int]) -> tuple[str, ...]:
    """The essential words that are not explained, as they are written."""
    return reading.phrases(essential(reading) - explained)


def unsaid(words: Iterable[str]) -> tuple[str, ...]:
    """The words that a yes or no cannot leave out: all but those that only strengthen, or say where or when.

    A single Chinese character is as often a particle (同 in 同一个) as a word, and is not counted.
    """
    return tuple(word for word in words if not _LITTLE.fullmatch(word) and (len(word) > 1 or not has_han(word)))


def half_said(graph: QueryGraph, reading: Reading) -> tuple[str, ...]:
    """The words of a yes-or-no question that are only part of the name of a property, and name nothing it leads to.

    "Is X fun?" is not whether X is fun for anybody.
    """
    if graph.form != "ask":
        return ()
    found: list[int] = []
    for link in graph.links:
        end = graph.nodes[link.object]
        unsaid = not end.terms and end.named is None and not end.literal and len(graph.around(link.object)) == 1
        if unsaid and 0 <= link.place < len(reading.mentions):
            mention = reading.mentions[link.place]
            found += range(mention.first, mention.last) if mention.options[0].score < _WHOLE_NAME else ()
    return reading.phrases(found)


def uncompared(graph: QueryGraph, reading: Reading) -> tuple[str, ...]:
    """The words of a comparison in a yes-or-no question that the query does not make: "more hotels in A than in B"."""
    match = _COMPARED.search(reading.text)
    if graph.form != "ask" or match is None or graph.comparisons or graph.having or graph.best:
        return ()
    return (match.group(),)


def partial_codes(reading: Reading, explained: frozenset[int], names: NameIndex) -> tuple[str, tuple[Name, ...]]:
    """The first number or code that is only part of names of the graph, and these; empty if there is none."""
    lost = essential(reading) - explained
    for match in _JOINED.finditer(reading.text):
        places = {i for i, t in enumerate(reading.tokens) if t.start < match.end() and t.end > match.start()}
        if places & lost and len(match.group()) >= 2:
            found = names.with_part(match.group(), _OPTIONS)
            if found:
                return match.group(), tuple(found)
    return "", ()


def shown(name: Name, names: NameIndex, language: str) -> str:
    """A name with what it is the name of: "flight number KL787"."""
    if isinstance(name.term, Literal):
        return f"{names.label(name.predicate, language)} {name.term.value}" if name.predicate else name.term.value
    kinds = [names.schema.label(iri, language) for iri in names.types(name.term)[:1]]
    return " ".join((*kinds, names.label(name.term, language)))
