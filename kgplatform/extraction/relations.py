"""Statements between two things, and classes of names from how the text uses them.

What a name ends in says nothing of "Suzhou" or "知味观"; the words around it do. All that is asked are grammar
words and the ontology's own: which property a phrase stands for, what a property may be said of.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.extraction.context import DocumentReading, Referents
from kgplatform.extraction.key_values import individuals_in
from kgplatform.extraction.names import STOP_TOKENS, TypedSpan, clean_name
from kgplatform.extraction.ontology_lexicon import FUNCTION_WORDS, Cue, phrase_key
from kgplatform.lexicon import LexiconSection
from kgplatform.text import has_han, singular
from kgplatform.types import Claim, Mention

# Noun phrases after a telling verb: one that few kinds of things take ("serves": places to eat) tells what follows it

_LEXICON: Final = LexiconSection("extraction", "relations")
_END = _LEXICON.pattern("end", re.IGNORECASE)
_HAN_END = re.compile(r"[,，。;；!！?？\n(（)）:：~～…|]|\s{2,}")
_COMMAS = _LEXICON.pattern("commas")
_HAN_COMMAS = _LEXICON.pattern("han_commas")
_WORD = re.compile(r"[^\W\d_](?:[\w'’-]*[\w])?")
_LEAD = _LEXICON.pattern("lead", re.I)
_HAN_LEAD = _LEXICON.pattern("han_lead")
_HAN_TAIL = _LEXICON.pattern("han_tail")
_REFERRING = _LEXICON.words("referring")
_HAN_NO_NOUN = _LEXICON.words("han_no_noun")
_NEGATED = _LEXICON.pattern("negated")
_HAN_COLON = _LEXICON.pattern("han_colon")
_ALL_OF_THEM = _LEXICON.pattern("all_of_them")
_ENDS_LIST = _LEXICON.pattern("ends_list")
_COPULA = _LEXICON.pattern("copula")
_POSSESSIVE = _LEXICON.pattern("possessive")
_AT = re.compile(r"\s(?:at|in|from)\s(?:the\s)?")
_MOST, _REACH, _MAX_WORDS, _MAX_HAN = 8, 160, 5, 8


def read_phrases(reading: DocumentReading, referents: Referents) -> None:
    """Adds the claims whose objects are noun phrases after a telling verb, and those that a possessive makes."""
    for sentence in reading.sentences:
        for cue, low, high in telling_places(reading, sentence):
            _claim_phrases(reading, referents, cue, sentence, (low, high))
        _possessives(reading, referents, sentence)


def telling_places(reading: DocumentReading, sentence: tuple[int, int]) -> Iterator[tuple[Cue, int, int]]:
    """The telling verbs of a sentence with their places in the text."""
    pattern = reading.lexicon.telling_pattern
    for match in pattern.finditer(reading.text, *sentence) if pattern else ():
        stem = next(group for group in match.groups() if group)
        cues = reading.lexicon.telling.get(stem.casefold(), ())
        if cues and not _NEGATED.search(reading.text[max(sentence[0], match.start() - 14) : match.start()]):
            yield cues[0], *match.span()


def _claim_phrases(
    reading: DocumentReading, referents: Referents, cue: Cue, sentence: tuple[int, int], place: tuple[int, int]
) -> None:
    subject = referents.subject(cue.term, referents.in_sentence(*sentence), sentence, place[0])
    if subject is None or (reading.structured and reading.main is not None and subject.name != reading.main.name):
        return
    for mention in phrases_after(reading, cue, place[1], sentence[1], since=place[0]):
        reading.claim(Claim(subject, cue.term.iri, mention, *sentence, 0.75))


def phrases_after(reading: DocumentReading, cue: Cue, start: int, end: int, *, since: int) -> list[Mention]:
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
    match = _HAN_COLON.match(text, start, stop)
    return match.end() if match else start


def _noun(reading: DocumentReading, first: int, last: int, *, alone: bool) -> tuple[int, int] | None:
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


def _repeated(reading: DocumentReading, start: int, words: list[re.Match[str]]) -> tuple[int, int]:
    """The phrase, cut to what of it the text says again elsewhere: "stinky tofu" of "stinky tofu deep"."""
    lowered = reading.text.casefold()
    for count in range(len(words), 1, -1):
        if lowered.count(reading.text[start : words[count - 1].end()].casefold()) > 1:
            return start, words[count - 1].end()
    return start, words[-1].end()


def _han_noun(reading: DocumentReading, first: int, last: int, *, alone: bool) -> tuple[int, int] | None:
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


def _mention(reading: DocumentReading, start: int, end: int, class_: NamedNode, since: int) -> Mention | None:
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


def _head_class(reading: DocumentReading, written: str) -> NamedNode | None:
    if has_han(written):
        suffixes = reading.lexicon.han_suffixes
        return next((suffixes[written[-size:]] for size in (3, 2) if written[-size:] in suffixes), None)
    return reading.lexicon.class_words.get(singular(written.split(" ")[-1].casefold()))


def _antecedent(reading: DocumentReading, class_: NamedNode, position: int) -> Mention | None:
    """The last name of the class before: what "them" stands for."""
    for mention in reversed(reading.before(position)):
        if position - mention.start > 200:
            return None
        if reading.lexicon.ontology.is_a(mention.type, (class_,)):
            return mention
    return None


def _possessives(reading: DocumentReading, referents: Referents, sentence: tuple[int, int]) -> None:
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


# Phrases between two names. Strict on purpose: what stands between them must be a form of the property and nothing else
# but auxiliaries and an apposition ("Tongli *is a water town in* Jiangsu"); domain and range must admit the pair.

_NEGATION = _LEXICON.pattern("negation", re.IGNORECASE)
_BESIDE = _LEXICON.pattern("beside")
_LIST_GAP = _LEXICON.pattern("list_gap")
_AND_GAP = _LEXICON.pattern("and_gap")
_PREPOSITION = _LEXICON.pattern("preposition")
_PARENTHESIS = re.compile(r"^\s?[（(][^()（）\n]{1,80}[)）]")
_TAIL_NOUN = _LEXICON.pattern("tail_noun")
_MAX_GAP = 90


def read_relations(reading: DocumentReading, referents: Referents) -> None:
    """Adds the claims that sentences make between two names, or a name and a named value."""
    for start, end in reading.sentences:
        mentions = referents.in_sentence(start, end)
        for index, first in enumerate(mentions):
            for second in mentions[index + 1 : index + 2]:
                _pair(reading, mentions, index, first, second, (start, end))
        _containment(reading, mentions, (start, end))
        _named_values(reading, mentions, (start, end), referents)


def _pair(
    reading: DocumentReading,
    mentions: list[Mention],
    index: int,
    first: Mention,
    second: Mention,
    sentence: tuple[int, int],
) -> None:
    cues = _cues_between(reading, first.end, second.start, _list_end(reading, mentions[index + 1 :]))
    if not cues or _TAIL_NOUN.match(reading.text[second.end : second.end + 20]):
        return
    subject, cue = _admitted(reading, mentions[: index + 1], cues, second)
    if subject is None or cue is None:
        if any(reading.lexicon.ontology.is_a(first.type, item.term.domains) for item in cues if len(item.text) > 3):
            label = reading.lexicon.ontology.label
            reading.refuse(
                *sentence,
                f"{label(cues[0].term.iri)!r} does not lead from {label(first.type)!r} to {label(second.type)!r}",
            )
        return
    gap = reading.text[first.end : second.start]
    if has_han(gap) and re.search(r"[,，]", gap) and index:
        return
    objects = list(_listed(reading, mentions[index + 1 :], cue, subject))
    for one in [*_coordinated(reading, mentions[: index + 1], cue, second, subject), subject]:
        for object_ in objects:
            reading.claim(Claim(one, cue.term.iri, object_, *sentence, 0.85))


def _list_end(reading: DocumentReading, following: list[Mention]) -> int:
    """Where the enumeration that begins with the first name ends."""
    text = reading.text
    listed = itertools.takewhile(lambda two: _enumerates(text, two[0].end, two[1].start), itertools.pairwise(following))
    return max((mention.end for _, mention in listed), default=following[0].end)


def _enumerates(text: str, end: int, start: int) -> bool:
    """Whether one enumeration has the names that end and start there; a comma parts clauses in Chinese."""
    gap = _PARENTHESIS.sub("", text[end:start])
    return _LIST_GAP.match(gap) is not None and not (gap.strip() in (",", "，") and has_han(text[end - 1]))


def _admitted(
    reading: DocumentReading, before: list[Mention], cues: tuple[Cue, ...], object_: Mention
) -> tuple[Mention | None, Cue | None]:
    """The nearest name before the phrase that may be its subject: the last, or one that the last only qualifies."""
    for place in range(len(before) - 1, max(-1, len(before) - 3), -1):
        subject = before[place]
        if place < len(before) - 1:
            gap = reading.text[subject.end : before[place + 1].start]
            if not _PREPOSITION.match(_PARENTHESIS.sub("", gap)):
                break
        cue = reading.lexicon.best(cues, subject.type, object_.type)
        if cue is not None:
            return subject, cue
    return None, None


def _listed(reading: DocumentReading, following: list[Mention], cue: Cue, subject: Mention) -> Iterator[Mention]:
    """The object and those enumerated after it that the property also admits."""
    yield following[0]
    if cue.term.transitive:
        yield from _address(reading, following, cue, subject)
    if cue.term.functional or phrase_key(cue.text) in ("in", "在", "near"):
        return
    for previous, mention in itertools.pairwise(following):
        admits = reading.lexicon.ontology.admits(cue.term.iri, subject.type, mention.type)
        if not admits or not _enumerates(reading.text, previous.end, mention.start):
            return
        yield mention


def _address(reading: DocumentReading, following: list[Mention], cue: Cue, subject: Mention) -> Iterator[Mention]:
    """The further links of an address, "浙江省嘉兴市桐乡市" or "Jiashan County, Jiaxing"."""
    for previous, mention in itertools.pairwise(following[:5]):
        gap = reading.text[previous.end : mention.start]
        after = reading.text[mention.end : mention.end + 5]
        chained = (gap == "" and has_han(mention.text)) or (gap == ", " and not re.match(r"\s*(?:,|and|or)", after))
        if not chained or not reading.lexicon.ontology.admits(cue.term.iri, subject.type, mention.type):
            return
        yield mention


def _coordinated(
    reading: DocumentReading, before: list[Mention], cue: Cue, object_: Mention, subject: Mention
) -> Iterator[Mention]:
    """The names enumerated before the subject: "A, B and C are in …"; not those that a preposition leads to."""
    place = before.index(subject) if subject in before else 0
    joined: list[Mention] = []
    text = reading.text
    while place:
        other = before[place - 1]
        gap = other.end, before[place].start
        if not (_enumerates(text, *gap) if joined else _AND_GAP.match(_PARENTHESIS.sub("", text[slice(*gap)]))):
            break
        joined.append(other)
        place -= 1
    shared = _ALL_OF_THEM.search(text[subject.end : object_.start])
    if joined and not shared:
        lead = text[max(0, joined[-1].start - 10) : joined[-1].start]
        if re.search(r"\b(?:in|at|near|from|to|of|on)\s(?:the\s)?$", lead):
            return
    for other in joined:
        if reading.lexicon.ontology.admits(cue.term.iri, other.type, object_.type):
            yield other


def _cues_between(reading: DocumentReading, low: int, high: int, object_end: int | None = None) -> tuple[Cue, ...]:
    """The properties whose form is all that the stretch says; () where it is too long, negated or says more."""
    if high - low > _MAX_GAP or high <= low:
        return ()
    gap = reading.text[low:high]
    if _NEGATION.search(gap) or "\n\n" in gap or re.search(r"[。！？!?;；]", gap):
        return ()
    gap = re.sub(r"^[^()（）]{0,60}[)）]\*{0,2}", "", _PARENTHESIS.sub("", gap)).rstrip('《“" ')
    after = reading.text[object_end : object_end + 14] if object_end is not None else ""
    around = _around(reading, gap, after) if object_end is not None else ()
    if around:
        return around
    cues = reading.lexicon.between.get(phrase_key(gap), ())
    cues = cues or reading.lexicon.between.get(phrase_key(_without_apposition(reading, gap)), ())
    if cues and has_han(gap) and _BESIDE.match(after):
        return _postposed(reading, after)
    return cues


def _around(reading: DocumentReading, gap: str, after: str) -> tuple[Cue, ...]:
    """Properties said around the object: "由…开设", "在…举行"."""
    key, rest = phrase_key(gap), re.sub(r"^[\s》的”\"]+", "", after)
    return tuple(
        cue
        for cue in reading.lexicon.around
        if cue.term.is_object and cue.text and phrase_key(cue.text) == key and rest.startswith(cue.after.lstrip("的"))
    )


def _postposed(reading: DocumentReading, after: str) -> tuple[Cue, ...]:
    """The property that a Chinese postposition names: "在西湖附近" says near, not in."""
    rest = after.removeprefix("的")
    for length in (3, 2):
        if cues := reading.lexicon.between.get(rest[:length]):
            return cues
    return ()


def _without_apposition(reading: DocumentReading, gap: str) -> str:
    """What is left of "is an old canal town in" once the class it states is taken away: "in"."""
    match = re.match(r"\s*(?:,|\b(?:is|was|are)\b)\s*(?:an?|the|one of the)\s(.*)$", gap, re.DOTALL)
    if match is None:
        return gap
    words = re.findall(r"[\w'’-]+", match[1])[:9]
    for last in range(len(words), 0, -1):
        for first in range(max(0, last - 3), last):
            if " ".join(words[first:last]).casefold() in reading.lexicon.class_words:
                return " ".join(words[last:])
    return gap


def _containment(reading: DocumentReading, mentions: list[Mention], sentence: tuple[int, int]) -> None:
    """The chains that addresses make: "in Jiashan County, Jiaxing", "浙江省嘉兴市桐乡市", "嘉兴的乌镇"."""
    for first, second in itertools.pairwise(mentions):
        gap = reading.text[first.end : second.start]
        chained = gap == "" and all(item.text[-1:] in reading.lexicon.han_suffixes for item in (first, second))
        same = first.name == second.name or (first.type == second.type and not chained)
        if first.end > second.start or same:
            continue
        if re.fullmatch(r",\s", gap) and not re.match(r"\s*(?:,|and|or)", reading.text[second.end : second.end + 5]):
            inner, outer = first, second
            if not re.search(r"\b(?:in|of|at|to)\s(?:the\s)?$", reading.text[max(0, first.start - 8) : first.start]):
                continue
        elif gap in ("", "的") and has_han(first.text) and has_han(second.text):
            inner, outer = second, first
        else:
            continue
        cue = reading.lexicon.best(
            reading.lexicon.between.get("in", ()) or reading.lexicon.between.get("位于", ()), inner.type, outer.type
        )
        if cue is not None:
            reading.claim(Claim(inner, cue.term.iri, outer, *sentence, 0.8))


def _named_values(
    reading: DocumentReading, mentions: list[Mention], sentence: tuple[int, int], referents: Referents
) -> None:
    """The named values that follow a phrase such as "suits" or "适合", or stand before "are the best seasons"."""
    start, end = sentence
    text = reading.text[start:end]
    for cue, low, high in _value_phrases(reading, text):
        if _NEGATION.search(text[max(0, low - 12) : low][-4 if has_han(text) else -12 :]):
            continue
        found = _after_phrase(reading, cue, start + high, end) or _before_phrase(reading, cue, text, start, low)
        if not found:
            continue
        subject = referents.subject(cue.term, mentions, sentence, start + low)
        if subject is None:
            reading.refuse(
                start, end, f"nothing in it is what {reading.lexicon.ontology.label(cue.term.iri)!r} may be said of"
            )
            continue
        for value in found:
            reading.claim(Claim(subject, cue.term.iri, value, start, end, 0.8))


def _value_phrases(reading: DocumentReading, text: str) -> Iterator[tuple[Cue, int, int]]:
    """The forms in the text of properties that lead to named values, with their places; longest forms first."""
    taken: list[tuple[int, int]] = []
    lowered = text.casefold()
    for cue in reading.lexicon.value_relations:
        word = cue.text.casefold()
        if word not in lowered:
            continue
        pattern = re.escape(word) if has_han(word) else rf"\b{re.escape(word)}(?:s|es)?\b"
        for match in re.finditer(pattern, lowered):
            if all(match.end() <= low or high <= match.start() for low, high in taken):
                taken.append(match.span())
                yield cue, match.start(), match.end()


def _after_phrase(reading: DocumentReading, cue: Cue, start: int, end: int) -> list[Mention]:
    """The values that follow at once, as an enumeration."""
    limit = 40 if has_han(reading.text[start:end]) else 60
    found = individuals_in(reading, cue.term, start, min(end, start + limit))
    kept: list[Mention] = []
    position = start
    for value in found:
        gap = reading.text[position : value.start]
        if _ENDS_LIST.search(gap) or len(gap) > 25:
            break
        if not kept and len(gap) > (6 if has_han(gap) else 25):
            break
        kept.append(replace(value))
        position = value.end
    return kept


def _before_phrase(reading: DocumentReading, cue: Cue, text: str, start: int, low: int) -> list[Mention]:
    """The values that open the sentence: "Spring and autumn are the best seasons"."""
    if not _COPULA.search(text[:low]) or low > 50:
        return []
    return individuals_in(reading, cue.term, start, start + low)


# Classes of names by use

_INSIDE = _LEXICON.pattern("inside")
_TOWARDS = _LEXICON.pattern("towards")


def guess_classes(reading: DocumentReading) -> None:
    """Gives classes to names that neither their form nor the network tells, by what the text says they have."""
    if _by_what_they_have(reading):
        reading.finder.settle(reading.strangers)
        reading.refresh()


def _inside_another(reading: DocumentReading, span: TypedSpan, *, tags: tuple[str, ...] = ("n", "nz", "nr")) -> bool:
    """Whether a Chinese name is only part of a longer one: "龙井" in "西湖龙井" and in "龙井虾仁"."""
    before = reading.before(span.start)
    if before and before[-1].end == span.start:
        return True
    following = reading.finder.tokens_in(span.end, span.end + 4)
    return bool(following) and following[0].tag in tags and has_han(following[0].text)


def _by_what_they_have(reading: DocumentReading) -> bool:
    """Gives the topic of a sentence the class that a telling verb or a value's property in it asks for."""
    learned = False
    for sentence in reading.sentences if not reading.structured else ():
        for cue, low, _ in telling_places(reading, sentence):
            learned = _ask(reading, cue.term.domains, sentence, low) or learned
        pattern = reading.lexicon.value_pattern
        for match in pattern.finditer(reading.text, *sentence) if pattern else ():
            cues = reading.lexicon.value_cues.get(match.group().casefold(), ())
            domains = {cue.term.domains for cue in cues}
            near = reading.text[match.start() : match.end() + 24]
            if len(match.group()) < 2 or not re.search(r"\d", near):
                continue
            if len(domains) == 1:
                learned = _ask(reading, domains.pop(), sentence, match.start()) or learned
            learned = _parallel(reading, cues, sentence, match.start()) or learned
    return learned


def _parallel(reading: DocumentReading, cues: tuple[Cue, ...], sentence: tuple[int, int], position: int) -> bool:
    """Gives a name the class of another of which the same is said: "the West zone costs 150, the East zone 110"."""
    stranger = next((span for span in reading.strangers if span.end == position), None)
    if stranger is None:
        return False
    before = reading.within(sentence[0], stranger.start)
    likes = [
        item
        for item in before
        if re.search(r"\d", reading.text[item.end : stranger.start])
        and any(_is_a(reading, item.type, cue.term.domains) for cue in cues)
    ]
    if not likes:
        return False
    reading.finder.learn(stranger, reading.lexicon.general(likes[0].type))
    return True


def _is_a(reading: DocumentReading, type_: NamedNode, domains: tuple[NamedNode, ...]) -> bool:
    return bool(domains) and reading.lexicon.ontology.is_a(type_, domains)


def _ask(reading: DocumentReading, domains: tuple[NamedNode, ...], sentence: tuple[int, int], position: int) -> bool:
    """Makes the topic one of the domain, where it is a stranger or known only as something more general."""
    if len(domains) != 1:
        return False
    topic = _guessing_topic(reading, sentence, position)
    if topic is None:
        return False
    written = reading.text[topic.start : topic.end]
    if topic.type is None and has_han(written) and _inside_another(reading, topic, tags=("n", "nz", "nr", "s")):
        return False
    ontology, finder = reading.lexicon.ontology, reading.finder
    above = ontology.superclasses(domains[0])
    loose = topic.type is None or (topic.type in above and topic.type != domains[0])
    if not loose or finder.known.get(written) is not None:
        return False
    finder.learn(topic, domains[0])
    return True


def _guessing_topic(reading: DocumentReading, sentence: tuple[int, int], position: int) -> TypedSpan | None:
    """What a sentence is about: the only name before the position, else what opens the sentence or line before."""
    inside = _names(reading, sentence[0], position)
    if inside:
        lead = reading.text[sentence[0] : inside[0].start]
        return inside[0] if len(lead) <= 12 and not _TOWARDS.search(lead) and not _INSIDE.search(lead) else None
    if position - sentence[0] > 12:
        return None
    index = bisect_left(reading.sentences, sentence) - 1
    for before in reading.sentences[max(0, index - 1) : index + 1][::-1]:
        opening = _names(reading, *before)
        if opening:
            lead = reading.text[before[0] : opening[0].start]
            return opening[0] if len(lead) <= 12 and not re.search("[:：]", lead) else None  # not what a label gives
    return None


def _names(reading: DocumentReading, start: int, end: int) -> list[TypedSpan]:
    """The names in the stretch, with and without a class, in order."""
    found = [TypedSpan(item.start, item.end, item.type) for item in reading.within(start, end)]
    found += [span for span in reading.strangers if start <= span.start < end]
    return sorted(found, key=lambda span: span.start)
