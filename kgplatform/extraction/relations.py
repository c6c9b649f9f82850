"""Statements between two things: the words between two names, looked up among the forms of the object properties.

Strict on purpose. What stands between the names must be a form of the property and nothing else but
auxiliaries and an apposition ("Tongli *is a water town in* Jiangsu"); domain and range must admit the pair.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

from pyoxigraph import NamedNode

from kgplatform.extraction.classing import Span
from kgplatform.extraction.labelled import individuals_in
from kgplatform.extraction.lexicon import Cue, phrase_key
from kgplatform.extraction.reading import Reading
from kgplatform.extraction.references import Referents
from kgplatform.text import has_han
from kgplatform.types import Claim, Mention

_NEGATION = re.compile(r"\b(?:not|no|never|without|n't)\b|n't\b|不|没|别|无须|避免", re.IGNORECASE)
_BESIDE = re.compile(
    r"^(?:的)?(?:[东西南北]{1,2}(?:[边面侧部岸]|(?=[,，。;；]|$))|城?[东西南北]{1,2}约|旁边?|边上|附近|对面|门口|外面?|隔壁|脚下|周边|后面|前面|背后|路上)"
)
_LIST_GAP = re.compile(
    r"^\s*(?:,|，|、|;|/|&|和|与|及|以及|,?\s*and|,?\s*or|,?\s*as well as)\s*(?:the\s|an?\s|the poem\s)?(?:《)?$"
)
_AND_GAP = re.compile(r"^\s*(?:、|和|与|及|and|&)\s*(?:the\s)?$")
_PREPOSITION = re.compile(r"^\s*(?:at|in|on|near|by|of|beside|,|（|\(|在)?\s*(?:the\s)?$")
_PARENTHESIS = re.compile(r"^\s?[（(][^()（）\n]{1,80}[)）]")
_TAIL_NOUN = re.compile(r"^(?:'s)?\s(?:[a-z]+\s)?(?:station|bars?|shops?|street|people|side)\b")
_LEAD = re.compile(r"(?:\s?[（(][^()（）\n]{1,40}[)）])?\s?(?:\d{3,4}年|is|was|were|has)?\s?")
_MAX_GAP = 90


def read_relations(reading: Reading, referents: Referents) -> None:
    """Adds the claims that sentences make between two names, or a name and a named value."""
    for start, end in reading.sentences:
        mentions = referents.in_sentence(start, end)
        for index, first in enumerate(mentions):
            for second in mentions[index + 1 : index + 2]:
                _pair(reading, mentions, index, first, second, (start, end))
        _containment(reading, mentions, (start, end))
        _named_values(reading, mentions, (start, end), referents)


def type_strangers(reading: Reading) -> bool:
    """Gives names of unknown class the one class that the phrase beside them allows; whether any was given."""
    learned = False
    for stranger in reading.strangers:
        for mention in _neighbours(reading, stranger.start, stranger.end):
            forward = mention.start < stranger.start
            low, high = (mention.end, stranger.start) if forward else (stranger.end, mention.start)
            cues = _strong(_cues_between(reading, low, high))
            gap = _PARENTHESIS.sub("", reading.text[low:high].replace("**", ""), count=1)
            single = " " not in gap.strip() and not has_han(reading.text[low:high])
            named = bool(_PARENTHESIS.match(reading.text[stranger.end : stranger.end + 80].removeprefix("**")))
            several = " " in reading.text[stranger.start : stranger.end]
            if single and (several if forward else not named):
                continue
            for cue in cues:
                ends = (cue.term.domains, cue.term.ranges) if forward else (cue.term.ranges, cue.term.domains)
                wanted = ends[1] if len(ends[1]) == 1 else [item for item in ends[1] if item in ends[0]]
                if len(wanted) == 1 and reading.lexicon.ontology.is_a(mention.type, ends[0]) and ends[0]:
                    reading.finder.learn(stranger, wanted[0])
                    learned = True
                    break
        learned = _typed_by_value(reading, stranger) or learned
    if learned:
        reading.finder.settle(reading.strangers)
        reading.refresh()
    return learned


def _typed_by_value(reading: Reading, stranger: Span) -> bool:
    """Gives the name the one class of things that have the property said right after it: "… was founded in 1894"."""
    pattern, text = reading.lexicon.value_pattern, reading.text
    if re.search(r"由[^,，。;；\n]{0,12}$|\bby\s$", text[max(0, stranger.start - 14) : stranger.start]):
        return False  # who made it, not what was made
    lead = _LEAD.match(text, stranger.end)
    match = pattern.match(text, lead.end()) if pattern and lead else None
    classes: set[NamedNode] = set()
    if match is not None and re.search(r"\d", text[stranger.end : match.end() + 12]):
        cues = _strong(reading.lexicon.value_cues.get(match.group().casefold(), ()))
        classes = {cue.term.domains[0] for cue in cues if len(cue.term.domains) == 1} if len(cues) == 1 else set()
    elif has_han(text[stranger.start : stranger.end]):
        classes = _located(reading, stranger)
    if len(classes) != 1:
        return False
    reading.finder.learn(stranger, classes.pop())
    return True


def _located(reading: Reading, stranger: Span) -> set[NamedNode]:
    """The class of what has its place told: "楼外楼位于孤山路30号"."""
    for length in (4, 3, 2):
        word = reading.text[stranger.end : stranger.end + length]
        for cue in reading.lexicon.between.get(word, ()):
            shared = {item for item in cue.term.domains if item in cue.term.ranges}
            if len(shared) == 1 and cue.term.transitive:
                return shared
    return set()


def _neighbours(reading: Reading, start: int, end: int) -> Iterator[Mention]:
    before = reading.before(start)
    if before and start - before[-1].end <= _MAX_GAP:
        yield before[-1]
    following = reading.within(end, end + _MAX_GAP)
    if following:
        yield following[0]


def _strong(cues: tuple[Cue, ...]) -> list[Cue]:
    return [cue for cue in cues if len(cue.text) >= 2 and (has_han(cue.text) or " " in cue.text)]


def _pair(
    reading: Reading, mentions: list[Mention], index: int, first: Mention, second: Mention, sentence: tuple[int, int]
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


def _list_end(reading: Reading, following: list[Mention]) -> int:
    """Where the enumeration that begins with the first name ends."""
    end = following[0].end
    for mention in following[1:]:
        if not _LIST_GAP.match(_PARENTHESIS.sub("", reading.text[end : mention.start])):
            break
        end = mention.end
    return end


def _admitted(
    reading: Reading, before: list[Mention], cues: tuple[Cue, ...], object_: Mention
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


def _listed(reading: Reading, following: list[Mention], cue: Cue, subject: Mention) -> Iterator[Mention]:
    """The object and those enumerated after it that the property also admits."""
    yield following[0]
    if cue.term.transitive:
        yield from _address(reading, following, cue, subject)
    if cue.term.functional or phrase_key(cue.text) in ("in", "在", "near"):
        return
    for previous, mention in itertools.pairwise(following):
        gap = _PARENTHESIS.sub("", reading.text[previous.end : mention.start])
        if not _LIST_GAP.match(gap) or not reading.lexicon.ontology.admits(cue.term.iri, subject.type, mention.type):
            return
        yield mention


def _address(reading: Reading, following: list[Mention], cue: Cue, subject: Mention) -> Iterator[Mention]:
    """The further links of an address, "浙江省嘉兴市桐乡市" or "Jiashan County, Jiaxing"."""
    for previous, mention in itertools.pairwise(following[:5]):
        gap = reading.text[previous.end : mention.start]
        after = reading.text[mention.end : mention.end + 5]
        chained = (gap == "" and has_han(mention.text)) or (gap == ", " and not re.match(r"\s*(?:,|and|or)", after))
        if not chained or not reading.lexicon.ontology.admits(cue.term.iri, subject.type, mention.type):
            return
        yield mention


def _coordinated(
    reading: Reading, before: list[Mention], cue: Cue, object_: Mention, subject: Mention
) -> Iterator[Mention]:
    """The names enumerated before the subject: "A, B and C are in …"; not those that a preposition leads to."""
    place = before.index(subject) if subject in before else 0
    joined: list[Mention] = []
    gap_form, text = _AND_GAP, reading.text
    while place:
        other = before[place - 1]
        if not gap_form.match(_PARENTHESIS.sub("", text[other.end : before[place].start])):
            break
        joined.append(other)
        place, gap_form = place - 1, _LIST_GAP
    shared = re.search(r"\b(?:both|all)\b|都|均", text[subject.end : object_.start])
    if joined and not shared:
        lead = text[max(0, joined[-1].start - 10) : joined[-1].start]
        if re.search(r"\b(?:in|at|near|from|to|of|on)\s(?:the\s)?$", lead):
            return
    for other in joined:
        if reading.lexicon.ontology.admits(cue.term.iri, other.type, object_.type):
            yield other


def _cues_between(reading: Reading, low: int, high: int, object_end: int | None = None) -> tuple[Cue, ...]:
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


def _around(reading: Reading, gap: str, after: str) -> tuple[Cue, ...]:
    """Properties said around the object: "由…开设", "在…举行"."""
    key, rest = phrase_key(gap), re.sub(r"^[\s》的”\"]+", "", after)
    return tuple(
        cue
        for cue in reading.lexicon.around
        if cue.term.is_object and cue.text and phrase_key(cue.text) == key and rest.startswith(cue.after.lstrip("的"))
    )


def _postposed(reading: Reading, after: str) -> tuple[Cue, ...]:
    """The property that a Chinese postposition names: "在西湖附近" says near, not in."""
    rest = after.removeprefix("的")
    for length in (3, 2):
        if cues := reading.lexicon.between.get(rest[:length]):
            return cues
    return ()


def _without_apposition(reading: Reading, gap: str) -> str:
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


def _containment(reading: Reading, mentions: list[Mention], sentence: tuple[int, int]) -> None:
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


def _named_values(reading: Reading, mentions: list[Mention], sentence: tuple[int, int], referents: Referents) -> None:
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


def _value_phrases(reading: Reading, text: str) -> Iterator[tuple[Cue, int, int]]:
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


def _after_phrase(reading: Reading, cue: Cue, start: int, end: int) -> list[Mention]:
    """The values that follow at once, as an enumeration."""
    limit = 40 if has_han(reading.text[start:end]) else 60
    found = individuals_in(reading, cue.term, start, min(end, start + limit))
    kept: list[Mention] = []
    position = start
    for value in found:
        gap = reading.text[position : value.start]
        if re.search(r"[。.;；!！?？]|more than|rather than|\bnot\b|但|不", gap) or len(gap) > 25:
            break
        if not kept and len(gap) > (6 if has_han(gap) else 25):
            break
        kept.append(replace(value))
        position = value.end
    return kept


def _before_phrase(reading: Reading, cue: Cue, text: str, start: int, low: int) -> list[Mention]:
    """The values that open the sentence: "Spring and autumn are the best seasons"."""
    if not re.search(r"(?:\b(?:is|are)\s(?:the\s)?|是)$", text[:low]) or low > 50:
        return []
    return individuals_in(reading, cue.term, start, start + low)
