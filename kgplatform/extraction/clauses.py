"""Later clauses of a sentence that speak of its first name: "楼外楼始建于1848年,就在孤山路上"; "… and is near it".

A clause that begins with a form of a property and goes on with a name leaves its subject out; it is the sentence's
topic, or, where the sentence has no other name, what the sentence before, the heading or the list item is about.
"""

from __future__ import annotations

import re

from kgplatform.extraction.lexicon import Cue, phrase_key
from kgplatform.extraction.reading import Reading
from kgplatform.extraction.references import Referents
from kgplatform.text import has_han
from kgplatform.types import Claim, Mention

_HAN_START = re.compile(r"[,，、:：]\s*(?=[^,，:：]{1,8}$)")
_DISTANT = re.compile(r"^城?的?[东西南北]{1,2}(?:[边面方]?(?:大?约|\d)|[,，。;；]|$)")
_START = re.compile(
    r"(?:,\s|\(|:\s|\band\s|\bwhich\s|\s[–—-]\s|^\W*)(?:(?:is|was|also|and|which|just|it)\s){0,3}(?=[a-z][^,.:;()]{1,40}$)"
)
_DIRECTION = re.compile(
    r"\b(?:(?:the|its|their)\s)?(?:far\s|very\s)?(?:north|south|east|west|centre|center|heart|middle|corner|edge|foot"
    r"|top|shore|bank|side|hills?)(?:ern|east|west)?(?:\s(?:part|side|end|shore|bank|corner))?\sof\b"
)
_WALK = re.compile(
    r"^(?:(?:about|roughly|only|just|an?)\s){0,3}(?:\w+[ -])?(?:mins?|minutes?)['’]?"
    r"\s(?:walk|on foot|stroll)(?:\saway)?\sfrom"
)
_HAN_WALK = re.compile(r"(?:[^,，。;；]{0,4}(?:步行|走路|走)[^,，。;；]{0,6}分钟|(?:大约|只有|约|才)?\d{2,3}米|几步)")
_NEGATION = re.compile(r"\b(?:not|no|never)\b|不|没|别")
_LEADS_AWAY = re.compile(
    r"\b(?:from|to|like|than|unlike|of|who|whose|born|because|when|if|we|i|you|they|in|at|on|near)\b", re.IGNORECASE
)
_BESIDE = re.compile(r"^的?(?:[东西南北]{1,2}(?:[边面侧部岸]|约)|旁边?|边上|附近|对面|门口|外面?|隔壁|脚下|周边)")
_ASIDE = re.compile(r"^(?:'s|’s|的[\u3400-\u9fff])")


def read_clauses(reading: Reading, referents: Referents) -> None:
    """Adds the claims of clauses whose subject stands further ahead."""
    for sentence in reading.sentences:
        mentions = referents.in_sentence(*sentence)
        for index, mention in enumerate(mentions):
            low = mentions[index - 1].end if index else sentence[0]
            cues = _opening_cues(reading, low, mention)
            if cues:
                _claim(reading, referents, cues, mentions, index, sentence)


def _opening_cues(reading: Reading, low: int, mention: Mention) -> tuple[Cue, ...]:
    """The properties whose form opens the clause and goes up to the name; () where it says more."""
    gap = reading.text[max(low, mention.start - 70) : mention.start]
    han = has_han(gap) or (has_han(mention.text) and not gap.strip(" ,.:"))
    start = (_HAN_START if han else _START).search(gap)
    if has_han(mention.text) and _DISTANT.match(reading.text[mention.end : mention.end + 8]):
        return ()
    aside = _ASIDE.match(reading.text[mention.end : mention.end + 3])
    if start is None or aside or _NEGATION.search(gap[start.end() :]):
        return ()
    phrase = gap[start.end() :].rstrip('《“" *_')
    if not han:
        phrase = re.sub(r"\bin " + _DIRECTION.pattern, "in", phrase)
        phrase = re.sub(r"\b(?:on|at) " + _DIRECTION.pattern, "near", phrase)
        phrase = _WALK.sub("a short walk from", phrase)
    elif phrase in ("离", "距", "距离") and _HAN_WALK.match(reading.text[mention.end : mention.end + 16]):
        return tuple(cue for cue in reading.lexicon.around if cue.text == "离")
    cues = reading.lexicon.between.get(phrase_key(phrase), ())
    cues = tuple(cue for cue in cues if has_han(phrase) or len(cue.text) > 1)
    if cues and han and _BESIDE.match(reading.text[mention.end : mention.end + 8]):
        return reading.lexicon.between.get("附近", ())
    return cues


def _claim(
    reading: Reading,
    referents: Referents,
    cues: tuple[Cue, ...],
    mentions: list[Mention],
    index: int,
    sentence: tuple[int, int],
) -> None:
    object_ = mentions[index]
    subject = _topic(reading, mentions[:index], sentence)
    if subject is None and not index:
        subject = _left_out(reading, referents, cues, object_, sentence)
    cue = reading.lexicon.best(cues, subject.type, object_.type) if subject is not None else None
    if subject is None or cue is None or subject.name == object_.name:
        return
    contained = reading.lexicon.ontology.is_a(object_.type, (subject.type,)) and cue.term.transitive
    if contained and object_.type != subject.type and subject.type not in cue.term.ranges:
        return
    reading.claim(Claim(subject, cue.term.iri, object_, *sentence, 0.75))


def _topic(reading: Reading, before: list[Mention], sentence: tuple[int, int]) -> Mention | None:
    """The first name of the sentence, where the sentence opens with it."""
    if not before:
        return None
    lead = reading.text[sentence[0] : before[0].start]
    if len(lead) > (8 if has_han(lead) else 16) or _LEADS_AWAY.search(lead):
        return None
    if has_han(lead) and re.search(r"[在从到去离]", lead):
        return None
    between = reading.text[before[0].end : before[-1].end]
    turns = re.search(r"[;；]|\b(?:where|who|while|with)\b", between)
    if turns or reading.strange_between(sentence[0], before[0].start):
        return None
    return before[0]


def _left_out(
    reading: Reading, referents: Referents, cues: tuple[Cue, ...], object_: Mention, sentence: tuple[int, int]
) -> Mention | None:
    """Whom a line that opens with the phrase is about; only in lists, where sentences are short."""
    lead = reading.text[reading.text.rfind("\n", 0, sentence[0]) + 1 : object_.start]
    if not re.match(r"\s*(?:[-*•]|\d+[.)])\s", lead) or len(lead) > 30:
        return None
    return next((s for cue in cues if (s := referents.subject(cue.term, [], sentence, sentence[0]))), None)
