"""Yes or no of one thing: late or on time, whether it has happened, whether it is so; never around a word unknown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta

from pyoxigraph import NamedNode

from kgplatform.questions.dialogue.frames import Frame, Now, Pair
from kgplatform.questions.dialogue.looking import Found, moment_of, values
from kgplatform.questions.dialogue.parsing import Parsed, said_in
from kgplatform.questions.dialogue.phrases import length_text, moment_text, phrase
from kgplatform.questions.dialogue.replies import Reply
from kgplatform.questions.dialogue.scheme import Span
from kgplatform.questions.dialogue.spans import named_things
from kgplatform.types import Solutions

_YES_NO = re.compile(
    r"^\W*(?:and\s+|so\s+|but\s+)?(?:is|are|was|were|has|have|had|did|does|do|will|would|can|could|isn['’]t|hasn['’]t)\b"
    r"|吗\s*[?？]*\s*$|是否|是不是|有没有|了没|能不能|会不会",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:what|which|who|where|when|how|why|list|show|between|or)\b|哪|什么|几点|谁|多少|多久|多长|怎|还是",
    re.IGNORECASE,
)
_HAPPENED = re.compile(r"\b(?:has|have|had|did|was|were|already|yet)\b|已经?|了吗|了没", re.IGNORECASE)
_LIGHT = re.compile(
    r"yet|already|still|now|currently|really|actually|exactly|today|ok|okay|please|any|ever|just|be|been|being|get|got|going"
    r"|supposed|flight|plane|aircraft|已经|已|现在|目前|还|会|被|了|航班|飞机|吗|在|正在",
    re.IGNORECASE,
)
_LIKELY = 0.55


def is_yes_no(parsed: Parsed) -> bool:
    """Whether a question wants a yes or a no."""
    return bool(_YES_NO.search(parsed.text)) and not _OPEN.search(parsed.text)


def whether(parsed: Parsed, frame: Frame, now: Now, run: Callable[[str], Solutions]) -> Reply | None:
    """Yes or no of the one thing that the question names, on the day it names or now's; None if that is not asked."""
    if len(parsed.codes) + len(parsed.identifiers) != 1 or _OPEN.search(parsed.text):
        return None
    state = _state(parsed, frame)
    if state is None and not is_yes_no(parsed):
        return None
    thing = next(iter(named_things(parsed, frame, now, run)), None)
    if thing is None:
        return None
    if state is not None:
        return _by_state(parsed, frame, thing, state, run)
    lost = not_understood(parsed) if is_yes_no(parsed) else ()
    if lost:
        return Reply(phrase("lost", parsed.language, words=", ".join(lost)), found=False)
    return _by_event(parsed, frame, thing, run) or _by_value(parsed, frame, thing, now, run)


def not_understood(parsed: Parsed) -> tuple[str, ...]:
    """The words of a question that are in nothing that was found in it, those aside that say little."""
    reading = parsed.reading
    used = set(reading.cues.used)
    for mention in reading.mentions:
        used |= set(range(mention.first, mention.last))
    for place, token in enumerate(reading.tokens):
        taken = [*parsed.spans, *((item.start, item.end) for item in parsed.constraints)]
        if any(start < token.end and token.start < end for start, end in taken):
            used.add(place)
        if _LIGHT.fullmatch(token.text):
            used.add(place)
    lost = (place for place, weight in enumerate(reading.weights) if weight > 0 and place not in used)
    return reading.phrases(reading.in_words(lost, reading.covered()))


def _state(parsed: Parsed, frame: Frame) -> tuple[Span, bool] | None:
    """The stretch whose word the question uses for a state, and whether it is the opposite word."""
    for span in frame.scheme.spans:
        if said_in(parsed.text, span.opposites, parsed.language) is not None:
            return span, True
        if said_in(parsed.text, span.states, parsed.language) is not None:
            return span, False
    return None


def _by_state(
    parsed: Parsed, frame: Frame, thing: Found, state: tuple[Span, bool], run: Callable[[str], Solutions]
) -> Reply:
    """Whether the stretch of the thing is longer than nothing, as happened or else as expected."""
    span, opposite = state
    language, label = parsed.language, frame.names.schema.label
    void = _void(frame, thing, run)
    if void is not None:
        text = phrase("void", language, what=frame.names.label(thing.thing, language), state=frame.names.label(void[1]))
        return Reply(
            text, (frame.names.label(void[1], language),), f"SELECT ?state WHERE {{ {thing.thing} {void[0]} ?state }}"
        )
    ends = next((p for p in (span.ends, span.expected) if p and moment_of(thing.thing, (p,), run)), None)
    low = moment_of(thing.thing, (span.begins,), run)
    high = moment_of(thing.thing, (ends,), run) if ends else None
    if ends is None or low is None or high is None:
        return Reply(phrase("no_span", language, what=frame.names.label(thing.thing, language)), found=False)
    length = high - low
    holds = (length > timedelta()) != opposite
    name = "by_later" if length > timedelta() else "by_earlier" if length < timedelta() else "by_nothing"
    by = phrase(
        name, language, length=length_text(length, language), begins=label(span.begins, language),
        ends=label(ends, language), low=moment_text(low, language), high=moment_text(high, language),
    )  # fmt: skip
    query = f"SELECT ?begins ?ends WHERE {{ {thing.thing} {span.begins} ?begins ; {ends} ?ends }}"
    yes = phrase("yes" if holds else "no", language)
    return Reply(f"{yes}{'：' if language == 'zh' else ': '}{by}", (yes,), query, run(query))


def _void(frame: Frame, thing: Found, run: Callable[[str], Solutions]) -> Pair | None:
    """The value of the thing that makes its times say nothing, such as that it is cancelled."""
    for term in frame.scheme.voids:
        for predicate, value in frame.direct(term):
            if value in values(thing.thing, predicate, run):
                return predicate, value
    return None


def _by_event(parsed: Parsed, frame: Frame, thing: Found, run: Callable[[str], Solutions]) -> Reply | None:
    """Whether what the scheme's own word says of the thing, such as leaving, has happened."""
    happened, moment, language = frame.scheme.happened, frame.scheme.moment, parsed.language
    terms = {term for term, _ in frame.scheme.said}
    own = [pair for item in parsed.constraints for pair in item.pairs if pair[1] in terms]
    if happened is None or moment is None or not own or not _HAPPENED.search(parsed.text):
        return None
    places = [(c.start, c.end) for c in parsed.constraints if any(pair[1] in terms for pair in c.pairs)]
    if any(all(c.end <= low or c.start >= high for low, high in places) for c in parsed.constraints):
        return None
    if not any(value in values(thing.thing, predicate, run) for predicate, value in own):
        kind = ", ".join(
            frame.names.label(v, language) for p in {p for p, _ in own} for v in values(thing.thing, p, run)
        )
        return _said(
            parsed, holds=False, detail=kind, query=f"SELECT ?kind WHERE {{ {thing.thing} {own[0][0]} ?kind }}", run=run
        )
    void = _void(frame, thing, run)
    at = moment_of(thing.thing, (happened,), run)
    shown, due = (happened, at) if at else (moment, moment_of(thing.thing, (moment,), run))
    detail = f"{frame.names.schema.label(shown, language)} {moment_text(due, language)}" if due else ""
    if void is not None:
        shown, detail = void[0], frame.names.label(void[1], language)
    query = f"SELECT ?value WHERE {{ {thing.thing} {shown} ?value }}"
    return _said(parsed, holds=at is not None and void is None, detail=detail, query=query, run=run)


def _by_value(parsed: Parsed, frame: Frame, thing: Found, now: Now, run: Callable[[str], Solutions]) -> Reply | None:
    """Whether one word of the question is true of the thing: a value that it has, or a moment of it that has come."""
    contents = list(_contents(parsed, frame, said=False)) or list(_contents(parsed, frame, said=True))
    if len(contents) != 1:
        return None
    pairs, moments, others = contents[0]
    for predicate, value in pairs:
        if value in values(thing.thing, predicate, run):
            query = f"SELECT ?value WHERE {{ {thing.thing} {predicate} ?value }}"
            return _said(parsed, holds=True, detail=frame.names.label(value, parsed.language), query=query, run=run)
    if pairs:
        query = f"SELECT ?value WHERE {{ {thing.thing} {pairs[0][0]} ?value }}"
        held = ", ".join(frame.names.label(v, parsed.language) for v in values(thing.thing, pairs[0][0], run))
        return _said(parsed, holds=False, detail=held, query=query, run=run)
    if not moments:
        return _by_property(parsed, frame, thing, others, run)
    at = moment_of(thing.thing, moments[:1], run)
    query = f"SELECT ?value WHERE {{ {thing.thing} {moments[0]} ?value }}"
    label = frame.names.schema.label(moments[0], parsed.language)
    detail = f"{label} {moment_text(at, parsed.language)}" if at else ""
    return _said(parsed, holds=at is not None and at <= now.moment, detail=detail, query=query, run=run)


def _by_property(
    parsed: Parsed, frame: Frame, thing: Found, properties: list[NamedNode], run: Callable[[str], Solutions]
) -> Reply | None:
    """Whether the thing has such a place; of any other property its value, which is the asker's to judge."""
    if not properties:
        return None
    query = f"SELECT ?value WHERE {{ {thing.thing} {properties[0]} ?value }}"
    held = [frame.names.label(value, parsed.language) for value in values(thing.thing, properties[0], run)]
    detail = f"{frame.names.schema.label(properties[0], parsed.language)} {', '.join(held)}"
    if properties[0] in frame.scheme.places:
        return _said(parsed, holds=bool(held), detail=detail if held else "", query=query, run=run)
    if not held:
        return None
    return Reply(detail + ("。" if parsed.language == "zh" else "."), tuple(held), query, run(query))


def _contents(
    parsed: Parsed, frame: Frame, *, said: bool
) -> Iterator[tuple[list[Pair], list[NamedNode], list[NamedNode]]]:
    """What each name that is no class of the things may say of the thing; ``said``: the scheme's own words as well."""
    reading, terms_said = parsed.reading, {term for term, _ in frame.scheme.said if not said}
    for mention in reading.mentions:
        tokens = reading.tokens[mention.first : mention.last]
        own = [(c.start, c.end) for c in parsed.constraints if any(pair[1] in terms_said for pair in c.pairs)]
        taken = [*parsed.spans, *own]
        if all(any(low < token.end and token.start < high for low, high in taken) for token in tokens):
            continue
        names = [n for o in mention.options if o.score >= _LIKELY for n in o.names]
        if any(n.term == frame.scheme.about for n in names):
            continue
        pairs = [pair for n in names if n.kind in ("entity", "value") for pair in frame.pairs(n)]
        terms = frame.names.schema.properties
        moments = [n.term for n in names if isinstance(n.term, NamedNode) and (t := terms.get(n.term)) and t.temporal]
        held = [n.term for n in names if isinstance(n.term, NamedNode) and n.term in terms and frame.has(n.term)]
        yield list(dict.fromkeys(pairs)), [term for term in moments if frame.has(term)], held


def _said(parsed: Parsed, *, holds: bool, detail: str, query: str, run: Callable[[str], Solutions]) -> Reply:
    yes = phrase("yes" if holds else "no", parsed.language)
    zh = parsed.language == "zh"
    text = f"{yes}{'：' if zh else ': '}{detail}" if detail else yes
    return Reply(text + ("。" if zh else "."), (yes,), query, run(query))
