"""What a name is said to have, in words that are no names: the dishes after "serves", the contents after "covers".

A verb that few kinds of things take ("serves": places to eat) tells what follows it, so the noun phrases of the
enumeration become names of the class that the property leads to. Bounded to noun phrases: an enumeration ends at
the first piece that is none.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

from pyoxigraph import NamedNode

from kgplatform.extraction.chinese import STOP_TOKENS
from kgplatform.extraction.lexicon import FUNCTION_WORDS, Cue
from kgplatform.extraction.names import clean_name
from kgplatform.extraction.reading import Reading
from kgplatform.extraction.references import Referents
from kgplatform.text import has_han, singular
from kgplatform.types import Claim, Mention

_END = re.compile(
    r"[.;!?。；！？\n(（)）]|\s[–—-]\s|,\s(?:and\s)?(?:that|then|which|where|who|we|i|it|they|you|but|so)\b",
    re.IGNORECASE,
)
_HAN_END = re.compile(r"[,，。;；!！?？\n(（)）:：~～…|]|\s{2,}")
_COMMAS = re.compile(r"\s*(?:,\s*(?:and|or)\s|,|/|\b(?:and|or|as well as|together with|plus)\b|&)\s*")
_HAN_COMMAS = re.compile(r"[、/]|以及|还有|(?<=[\u4e00-\u9fff])[和与及跟](?=[\u4e00-\u9fff])")
_WORD = re.compile(r"[^\W\d_](?:[\w'’-]*[\w])?")
_LEAD = re.compile(
    r"^(?:for\s|of\s|in\s|with\s|mainly\s|mostly\s|also\s|both\s)?"
    r"(?:(?:the|a|an|its|their|his|her|some|own|good|great|famous|local|real|proper|decent|best|excellent)\s)*"
    r"(?:(?:plate|bowl|pot|glass|cup|piece|portion|dish|basket)s?\sof\s)?",
    re.I,
)
_HAN_LEAD = re.compile(r"^(?:\s|就|都|也|还|只|专门|有|是|为|的|了|当然|一定)*(?:[一两几][道份碗盘只条块壶杯盒笼])?")
_HAN_TAIL = re.compile(r"(?:等等?|都|之类|什么的|最.{1,3})$")
_REFERRING = frozenset(("them", "it", "these", "those", "this", "that", "everything", "anything", "one"))
_HAN_NO_NOUN = frozenset("我你他她它在就可不也很去来要会能把被从向让给没多少最更已刚")
_NEGATED = re.compile(r"\b(?:not|no|never|without|doesn['’]t|don['’]t)\s(?:\w+\s)?$|[不没未]$")
_POSSESSIVE = re.compile(r"\s?(?:的|['’]s\s)(?:[“\"《])?")
_AT = re.compile(r"\s(?:at|in|from)\s(?:the\s)?")
_MOST, _REACH, _MAX_WORDS, _MAX_HAN = 8, 160, 5, 8


def read_phrases(reading: Reading, referents: Referents) -> None:
    """Adds the claims whose objects are noun phrases after a telling verb, and those that a possessive makes."""
    for sentence in reading.sentences:
        for cue, low, high in telling_places(reading, sentence):
            _claim_phrases(reading, referents, cue, sentence, (low, high))
        _possessives(reading, referents, sentence)


def telling_places(reading: Reading, sentence: tuple[int, int]) -> Iterator[tuple[Cue, int, int]]:
    """The telling verbs of a sentence with their places in the text."""
    pattern = reading.lexicon.telling_pattern
    for match in pattern.finditer(reading.text, *sentence) if pattern else ():
        stem = next(group for group in match.groups() if group)
        cues = reading.lexicon.telling.get(stem.casefold(), ())
        if cues and not _NEGATED.search(reading.text[max(sentence[0], match.start() - 14) : match.start()]):
            yield cues[0], *match.span()


def _claim_phrases(
    reading: Reading, referents: Referents, cue: Cue, sentence: tuple[int, int], place: tuple[int, int]
) -> None:
    subject = referents.subject(cue.term, referents.in_sentence(*sentence), sentence, place[0])
    if subject is None or (reading.structured and reading.main is not None and subject.name != reading.main.name):
        return
    for mention in phrases_after(reading, cue, place[1], sentence[1], since=place[0]):
        reading.claim(Claim(subject, cue.term.iri, mention, *sentence, 0.75))


def phrases_after(reading: Reading, cue: Cue, start: int, end: int, *, since: int) -> list[Mention]:
    """The noun phrases enumerated after the verb, as mentions of the class that the property leads to."""
    class_ = cue.term.ranges[0]
    han = has_han(cue.text)
    stop = min(end, start + _REACH)
    found: list[Mention] = []
    for number, (first, last) in enumerate(_pieces(reading.text, start, stop, han=han)):
        if number >= _MOST:
            break
        piece = (_han_noun if han else _noun)(reading, first, last, alone=number == 0)
        if piece is None:
            break
        mention = _mention(reading, *piece, class_, since)
        if mention is None:
            break
        found.append(mention)
    return found


def _pieces(text: str, start: int, stop: int, *, han: bool) -> Iterator[tuple[int, int]]:
    """The parts of the enumeration from the start to the end of its clause."""
    lead = re.compile(r"\s*[:：]?\s*").match(text, start, stop)
    start = lead.end() if lead else start
    if han:
        start = _after_colon(text, start, stop)
    ends = (_HAN_END if han else _END).search(text, start, stop)
    stop = ends.start() if ends else stop
    position = start
    for match in (_HAN_COMMAS if han else _COMMAS).finditer(text, start, stop):
        yield position, match.start()
        position = match.end()
    yield position, stop


def _after_colon(text: str, start: int, stop: int) -> int:
    match = re.compile(r"(?:菜品|菜|小吃)?(?:有|是|为|包括|就是|当然是|的是|:|：)*").match(text, start, stop)
    return match.end() if match else start


def _noun(reading: Reading, first: int, last: int, *, alone: bool) -> tuple[int, int] | None:
    """The noun phrase that the English stretch begins with."""
    text = reading.text
    lead = _LEAD.match(text[first:last])
    first += lead.end() if lead else 0
    words = list(_WORD.finditer(text, first, last))
    kept: list[re.Match[str]] = []
    for word in words:
        lowered = word.group().casefold()
        gap = text[kept[-1].end() if kept else first : word.start()]
        if lowered in FUNCTION_WORDS or gap.strip("*_“\"' ") or len(kept) == _MAX_WORDS:
            break
        if kept and (lowered.endswith("ed") or lowered == "together" or lowered.endswith("ing")):
            break
        kept.append(word)
    verbal = len(words) > 1 and not alone and re.search(r"[^s'’u]s$", words[0].group()) is not None
    if not kept or verbal or (len(kept) == 1 and kept[0].group().casefold().endswith(("ly", "ed"))):
        return None
    return _repeated(reading, kept[0].start(), kept)


def _repeated(reading: Reading, start: int, words: list[re.Match[str]]) -> tuple[int, int]:
    """The phrase, cut to what of it the text says again elsewhere: "stinky tofu" of "stinky tofu deep"."""
    lowered = reading.text.casefold()
    for count in range(len(words), 1, -1):
        if lowered.count(reading.text[start : words[count - 1].end()].casefold()) > 1:
            return start, words[count - 1].end()
    return start, words[-1].end()


def _han_noun(reading: Reading, first: int, last: int, *, alone: bool) -> tuple[int, int] | None:
    """The noun phrase that the Chinese stretch is, without counting words before it."""
    text = reading.text
    lead = _HAN_LEAD.match(text[first:last])
    first += lead.end() if lead else 0
    particle = text.rfind("的", first, last)
    first = particle + 1 if particle >= 0 else first
    tail = _HAN_TAIL.search(text[first:last])
    last -= len(tail.group()) if tail else 0
    written = text[first:last].strip()
    if not 2 <= len(written) <= _MAX_HAN or not re.fullmatch(r"[\u3400-\u9fff]+", written):
        return None
    if set(written) & _HAN_NO_NOUN or written in STOP_TOKENS:
        return None
    tokens = reading.finder.tokens_in(first, last)
    listed = text[last : last + 1] in "、和与及" or text[first - 1 : first] in "、和与及"
    if not listed and alone and (not tokens or not tokens[-1].tag.startswith(("n", "j", "i", "l", "vn", "g"))):
        return None
    start = text.index(written, first)
    return start, start + len(written)


def _mention(reading: Reading, start: int, end: int, class_: NamedNode, since: int) -> Mention | None:
    """The phrase as a name of the class; None where its words or what it is known as say another."""
    ontology, lexicon = reading.lexicon.ontology, reading.lexicon
    written = reading.document.text[start:end]
    if written.casefold() in _REFERRING:
        return _antecedent(reading, class_, since)
    for mention in reading.within(start, end):
        if mention.end <= end and mention.end - mention.start >= end - start - (not has_han(written)):
            return mention if ontology.is_a(mention.type, (class_,)) else None
    head = _head_class(reading, written)
    if head is not None and not ontology.is_a(head, (class_,)):
        return None
    if not has_han(written) and singular(written.casefold()) in lexicon.class_words:
        return None
    return Mention(written, start, end, head or class_, clean_name(written))


def _head_class(reading: Reading, written: str) -> NamedNode | None:
    if has_han(written):
        suffixes = reading.lexicon.han_suffixes
        return next((suffixes[written[-size:]] for size in (3, 2) if written[-size:] in suffixes), None)
    return reading.lexicon.class_words.get(singular(written.split(" ")[-1].casefold()))


def _antecedent(reading: Reading, class_: NamedNode, position: int) -> Mention | None:
    """The last name of the class before: what "them" stands for."""
    for mention in reversed(reading.before(position)):
        if position - mention.start > 200:
            return None
        if reading.lexicon.ontology.is_a(mention.type, (class_,)):
            return mention
    return None


def _possessives(reading: Reading, referents: Referents, sentence: tuple[int, int]) -> None:
    """Adds the one property that fits "楼外楼的西湖醋鱼", "Louwailou's fried prawns", "fried prawns at Louwailou"."""
    mentions = referents.in_sentence(*sentence)
    for first, second in itertools.pairwise(mentions):
        gap = reading.text[first.end : second.start]
        if _POSSESSIVE.fullmatch(gap):
            pair = (first, second)
        elif _AT.fullmatch(gap):
            pair = (second, first)
        else:
            continue
        cue = reading.lexicon.best(itertools.chain(*reading.lexicon.telling.values()), pair[0].type, pair[1].type)
        if cue is not None and not reading.structured:
            reading.claim(Claim(pair[0], cue.term.iri, replace(pair[1]), *sentence, 0.7))
