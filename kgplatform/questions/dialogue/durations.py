"""Reckoning with times, which the query language does badly: how long, how late, which came first, in other units."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from pyoxigraph import Literal, NamedNode

from kgplatform import lexicon
from kgplatform.questions.dialogue.replies import DialogueReply
from kgplatform.questions.dialogue.request import ParsedQuestion, amount_text, length_text, moment_text, phrase, said_in
from kgplatform.questions.dialogue.scheme import (
    BoundScheme,
    LookupRequest,
    Now,
    Pair,
    TimedThing,
    TimeSpan,
    as_moment,
    look_up,
    values,
)
from kgplatform.types import RunQuery

_UNIT: Final = (
    ("minute", lexicon.pattern("durations.unit_1")),
    ("hour", lexicon.pattern("durations.unit_2")),
    ("second", lexicon.pattern("durations.unit_3")),
    ("day", lexicon.pattern("durations.unit_4")),
)
_LAST = lexicon.pattern("durations.last")
_UNITS_WRITTEN: Final = lexicon.numbers("durations.units_written")
_NAMED: Final = 0.58


def reckoned(parsed: ParsedQuestion, frame: BoundScheme, now: Now, run: RunQuery) -> DialogueReply | None:
    """What a question for a length of time, or for the first of two, comes to; None if it is no such question."""
    if len(parsed.identifiers) + len(parsed.codes) == 2 and lexicon.pattern("durations.which").search(parsed.text):
        return _first_of(parsed, frame, now, run)
    if (across := _across(parsed, frame)) is not None:
        return _change(parsed, frame, across, named_things(parsed, frame, now, run), run)
    if not lexicon.pattern("durations.long").search(parsed.text) or not (parsed.identifiers or parsed.codes):
        return None
    things = named_things(parsed, frame, now, run)
    if not things:
        return None
    ends = _ends(parsed, frame)
    if ends is None:
        return (
            _between_things(parsed, frame, things, run) if len(things) == 2 else _in_unit(parsed, frame, things[0], run)
        )
    return _length(parsed, frame, (things[0], things[0]), _known(ends, things[0], frame, run), run)


def _known(
    ends: tuple[NamedNode, NamedNode], thing: TimedThing, frame: BoundScheme, run: RunQuery
) -> tuple[NamedNode, NamedNode]:
    """The two moments, with the expected one for an end that has not happened."""
    expected = next((s.expected for s in frame.scheme.spans if (s.begins, s.ends) == ends and s.expected), None)
    return (ends[0], expected) if expected and not values(thing.thing, ends[1], run) else ends


def named_things(parsed: ParsedQuestion, frame: BoundScheme, now: Now, run: RunQuery) -> list[TimedThing]:
    """The things named, in the order of the text: on the day said, else on now's day, else the nearest to now."""
    scheme = frame.scheme
    named: list[Pair] = [(scheme.identifier, Literal(item)) for item in parsed.identifiers if scheme.identifier]
    named += [(scheme.code, Literal(item)) for item in parsed.codes if scheme.code]
    named.sort(key=lambda pair: parsed.text.find(pair[1].value))
    when = parsed.window
    low, high = (when.low, when.high) if when and when.whole else (None, None)
    found = []
    for pair in named:
        all_ = look_up(
            LookupRequest(((pair,),), (scheme.moment,) if scheme.moment else (), low, high), frame, run
        ).found
        found += sorted(all_, key=lambda item: _far(item.moment, now))[:1]
    return found


def _far(moment: str, now: Now) -> tuple[bool, float]:
    at = as_moment(moment)
    if at is None:
        return True, float("inf")
    return at.date() != now.moment.date(), abs((at - now.moment).total_seconds())


def _across(parsed: ParsedQuestion, frame: BoundScheme) -> tuple[TimeSpan, int] | None:
    """The stretch between two things that the question speaks of, and where its word stands; None if it is not so."""
    if len(parsed.identifiers) + len(parsed.codes) != 2:
        return None
    for span in frame.scheme.spans:
        place = said_in(parsed.text, span.cues, parsed.language) if span.across else None
        if place is not None:
            return span, place[0]
    return None


def _change(
    parsed: ParsedQuestion, frame: BoundScheme, across: tuple[TimeSpan, int], things: list[TimedThing], run: RunQuery
) -> DialogueReply | None:
    """How much time there is from one thing to the other: the one named after the word for the change comes second."""
    if len(things) != 2:
        return None
    span, place = across
    named = sorted((*parsed.identifiers, *parsed.codes), key=parsed.text.find)
    first, second = things if parsed.text.find(named[0]) < place or len(named) < 2 else things[::-1]
    language, label = parsed.language, frame.names.label
    found = _length(parsed, frame, (first, second), (span.begins, span.ends), run)
    low = as_moment(first.moment) if span.begins == frame.scheme.moment else None
    high = as_moment(second.moment) if span.ends == frame.scheme.moment else None
    if not found.found or low is None or high is None:
        return found
    text = phrase(
        "change" if high > low else "no_change",
        language,
        length=length_text(high - low, language),
        first=label(first.thing, language),
        second=label(second.thing, language),
        low=moment_text(low, language),
        high=moment_text(high, language),
    )
    return replace(found, text=text)


def _ends(parsed: ParsedQuestion, frame: BoundScheme) -> tuple[NamedNode, NamedNode] | None:
    """From which property's moment to which: two that are named, or those of a stretch that has a name."""
    named = _moments_named(parsed, frame)
    if len(named) >= 2:
        return named[0], named[1]
    for span in frame.scheme.spans:
        if span.across:
            continue
        if said_in(parsed.text, (*span.cues, *span.words), parsed.language) is not None:
            return span.begins, span.ends
    return None


def _moments_named(parsed: ParsedQuestion, frame: BoundScheme) -> list[NamedNode]:
    """The moments that the question names, one for each stretch of words, best reading first."""
    found: list[NamedNode] = []
    for mention in parsed.reading.mentions:
        options = [o for o in mention.options if o.kind == "property" and o.score >= _NAMED]
        scored = [(o.score, n.term) for o in options for n in o.names if isinstance(n.term, NamedNode)]
        moments = [t for score, t in scored if score == scored[0][0] and _is_moment(t, frame)]
        text = parsed.reading.text[
            parsed.reading.tokens[mention.first].start : parsed.reading.tokens[mention.last - 1].end
        ]
        moments = (moments if len(moments) == 1 else []) or _called(text, frame)
        if moments and moments[0] not in found:
            found.append(moments[0])
    return found


def _is_moment(predicate: NamedNode, frame: BoundScheme) -> bool:
    term = frame.names.schema.properties.get(predicate)
    return term is not None and term.temporal and frame.has(predicate)


def _called(text: str, frame: BoundScheme) -> list[NamedNode]:
    """The one moment whose name is the text, with or without a word for time."""
    wanted = {text.casefold(), f"{text.casefold()} time", f"{text}时间"}
    found = [
        iri
        for iri, term in frame.names.schema.properties.items()
        if _is_moment(iri, frame) and any(word.text.casefold() in wanted for word in term.words)
    ]
    return found if len(found) == 1 else []


def _length(
    parsed: ParsedQuestion,
    frame: BoundScheme,
    things: tuple[TimedThing, TimedThing],
    ends: tuple[NamedNode, NamedNode],
    run: RunQuery,
) -> DialogueReply:
    """From a moment of one thing to a moment of another, or of the same."""
    first, second = things
    query = (
        f"SELECT ?begins ?ends WHERE {{\n  {first.thing} {ends[0]} ?begins .\n  {second.thing} {ends[1]} ?ends .\n}}"
    )
    solutions = run(query)
    language, label = parsed.language, frame.names.schema.label
    moments = [as_moment(term.value) for row in solutions.rows[:1] for term in row if isinstance(term, Literal)]
    low, high = (moments[0], moments[1]) if len(moments) == 2 else (None, None)
    if low is None or high is None:
        what = frame.names.label(first.thing, language)
        return DialogueReply(phrase("no_span", language, what=what), query=query, found=False)
    unit = next((name for name, pattern in _UNIT if pattern.search(parsed.text)), "")
    length = high - low
    text = phrase(
        "span" if length >= timedelta() else "span_before",
        language,
        length=length_text(length, language, unit),
        begins=label(ends[0], language),
        ends=label(ends[1], language),
        low=moment_text(low, language),
        high=moment_text(high, language),
    )
    sign = "-" if length < timedelta() else ""
    return DialogueReply(
        text, values=(f"{sign}{amount_text(length, unit or 'minute')}",), query=query, solutions=solutions
    )


def _between_things(
    parsed: ParsedQuestion, frame: BoundScheme, things: list[TimedThing], run: RunQuery
) -> DialogueReply | None:
    """How far two things are apart, by the moment that is named, or the usual one."""
    named = _moments_named(parsed, frame) or ([frame.scheme.moment] if frame.scheme.moment else [])
    return _length(parsed, frame, (things[0], things[1]), (named[0], named[0]), run) if named else None


def _in_unit(parsed: ParsedQuestion, frame: BoundScheme, thing: TimedThing, run: RunQuery) -> DialogueReply | None:
    """A measured length of time in the unit that is asked for."""
    unit = next((name for name, pattern in _UNIT if pattern.search(parsed.text)), "")
    for predicate in parsed.asked:
        term = frame.names.schema.properties.get(predicate)
        written = frame.names.schema.unit(predicate).casefold() if term else ""
        if term is None or not term.numeric or written not in _UNITS_WRITTEN or not unit:
            continue
        query = f"SELECT ?value WHERE {{ {thing.thing} {predicate} ?value }}"
        solutions = run(query)
        for value in values(thing.thing, predicate, run)[:1]:
            if isinstance(value, Literal):
                length = timedelta(seconds=float(value.value) * _UNITS_WRITTEN[written])
                text = length_text(length, parsed.language, unit) + ("。" if parsed.language == "zh" else ".")
                return DialogueReply(text, values=(amount_text(length, unit),), query=query, solutions=solutions)
    return None


def _first_of(parsed: ParsedQuestion, frame: BoundScheme, now: Now, run: RunQuery) -> DialogueReply | None:
    """Which of two things came first or last, by the moment that is named, or the usual one."""
    earliest, latest = lexicon.pattern("durations.first").search(parsed.text), _LAST.search(parsed.text)
    things = named_things(parsed, frame, now, run)
    if len(things) != 2 or not (earliest or latest):
        return None
    named = _moments_named(parsed, frame) or ([frame.scheme.moment] if frame.scheme.moment else [])
    if not named:
        return None
    shown = " ".join(str(item.thing) for item in things)
    query = f"SELECT ?thing ?moment WHERE {{ VALUES ?thing {{ {shown} }} ?thing {named[0]} ?moment }} ORDER BY ?moment"
    solutions = run(query)
    rows = [(t, as_moment(m.value)) for t, m in solutions.rows if isinstance(m, Literal) and isinstance(t, NamedNode)]
    moments = sorted((at, frame.names.label(t, parsed.language)) for t, at in rows if at)
    if len(moments) != 2:
        what = frame.names.label(things[0].thing, parsed.language)
        return DialogueReply(phrase("no_span", parsed.language, what=what), query=query, found=False)
    if moments[0][0] == moments[1][0]:
        return DialogueReply(phrase("same", parsed.language), tuple(name for _, name in moments), query, solutions)
    at, name = moments[0 if earliest else 1]
    other, rest = moments[1 if earliest else 0]
    text = f"{name}: {moment_text(at, parsed.language)} ({rest}: {moment_text(other, parsed.language)})."
    return DialogueReply(text, values=(name,), query=query, solutions=solutions)
