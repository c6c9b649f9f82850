"""Answers by a scheme: yes or no of one thing, day by day, the ways of question classes, states of many."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta

from pyoxigraph import Literal, NamedNode

from kgplatform import lexicon
from kgplatform.questions.dialogue.durations import named_things
from kgplatform.questions.dialogue.question_class import board_words, other_constraints
from kgplatform.questions.dialogue.replies import OPTIONS, SHOWN, DialogueReply, ReplyChoice, ReplyWording
from kgplatform.questions.dialogue.request import (
    ParsedQuestion,
    amount_text,
    asked_of,
    day_text,
    length_text,
    moment_text,
    phrase,
    said_in,
)
from kgplatform.questions.dialogue.scheme import (
    COUNTED,
    BoundScheme,
    Lookup,
    LookupRequest,
    Now,
    Pair,
    TimedThing,
    TimeSpan,
    as_moment,
    look_up,
    moment_of,
    query_of,
    values,
    written,
)
from kgplatform.questions.dialogue.times import Window
from kgplatform.text import has_han
from kgplatform.types import RunQuery, Solutions, Term

# Yes or no of one thing: late or on time, whether it has happened, whether it is so; never around a word unknown.

_OPEN = lexicon.pattern("lookups.open")
_LIKELY = 0.55


def is_yes_no(parsed: ParsedQuestion) -> bool:
    """Whether a question wants a yes or a no."""
    return bool(lexicon.pattern("lookups.yes_no").search(parsed.text)) and not _OPEN.search(parsed.text)


def whether(parsed: ParsedQuestion, frame: BoundScheme, now: Now, run: RunQuery) -> DialogueReply | None:
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
    lost = not_understood(parsed, frame) if is_yes_no(parsed) else ()
    if lost:
        return DialogueReply(phrase("lost", parsed.language, words=", ".join(lost)), found=False)
    return _by_event(parsed, frame, thing, run) or _by_value(parsed, frame, thing, now, run)


def not_understood(parsed: ParsedQuestion, frame: BoundScheme) -> tuple[str, ...]:
    """The words of a question that are in nothing that was found in it, those aside that say little."""
    reading = parsed.reading
    used = set(reading.cues.used)
    for mention in reading.mentions:
        used |= set(range(mention.first, mention.last))
    for place, token in enumerate(reading.tokens):
        taken = [*parsed.spans, *((item.start, item.end) for item in parsed.constraints)]
        if any(start < token.end and token.start < end for start, end in taken):
            used.add(place)
        if lexicon.pattern("lookups.light").fullmatch(token.text) or token.text.casefold() in frame.scheme.nouns:
            used.add(place)
    lost = (place for place, weight in enumerate(reading.weights) if weight > 0 and place not in used)
    return reading.phrases(reading.in_words(lost, reading.covered()))


def _state(parsed: ParsedQuestion, frame: BoundScheme) -> tuple[TimeSpan, bool] | None:
    """The stretch whose word the question uses for a state, and whether it is the opposite word."""
    for span in frame.scheme.spans:
        if said_in(parsed.text, span.opposites, parsed.language) is not None:
            return span, True
        if said_in(parsed.text, span.states, parsed.language) is not None:
            return span, False
    return None


def _by_state(
    parsed: ParsedQuestion, frame: BoundScheme, thing: TimedThing, state: tuple[TimeSpan, bool], run: RunQuery
) -> DialogueReply:
    """Whether the stretch of the thing is longer than nothing, as happened or else as expected."""
    span, opposite = state
    language, label = parsed.language, frame.names.schema.label
    void = _void(frame, thing, run)
    if void is not None:
        text = phrase("void", language, what=frame.names.label(thing.thing, language), state=frame.names.label(void[1]))
        return DialogueReply(
            text, (frame.names.label(void[1], language),), f"SELECT ?state WHERE {{ {thing.thing} {void[0]} ?state }}"
        )
    ends = next((p for p in (span.ends, span.expected) if p and moment_of(thing.thing, (p,), run)), None)
    low = moment_of(thing.thing, (span.begins,), run)
    high = moment_of(thing.thing, (ends,), run) if ends else None
    if ends is None or low is None or high is None:
        return DialogueReply(phrase("no_span", language, what=frame.names.label(thing.thing, language)), found=False)
    length = high - low
    holds = (length > timedelta()) != opposite
    name = "by_later" if length > timedelta() else "by_earlier" if length < timedelta() else "by_nothing"
    by = phrase(
        name, language, length=length_text(length, language), begins=label(span.begins, language),
        ends=label(ends, language), low=moment_text(low, language), high=moment_text(high, language),
    )  # fmt: skip
    query = f"SELECT ?begins ?ends WHERE {{ {thing.thing} {span.begins} ?begins ; {ends} ?ends }}"
    yes = phrase("yes" if holds else "no", language)
    return DialogueReply(f"{yes}{'：' if language == 'zh' else ': '}{by}", (yes,), query, run(query))


def _void(frame: BoundScheme, thing: TimedThing, run: RunQuery) -> Pair | None:
    """The value of the thing that makes its times say nothing, such as that it is cancelled."""
    for term in frame.scheme.voids:
        for predicate, value in frame.direct(term):
            if value in values(thing.thing, predicate, run):
                return predicate, value
    return None


def _by_event(parsed: ParsedQuestion, frame: BoundScheme, thing: TimedThing, run: RunQuery) -> DialogueReply | None:
    """Whether what the scheme's own word says of the thing, such as leaving, has happened."""
    happened, moment, language = frame.scheme.happened, frame.scheme.moment, parsed.language
    terms = {term for term, _ in frame.scheme.said}
    own = [pair for item in parsed.constraints for pair in item.pairs if pair[1] in terms]
    if happened is None or moment is None or not own or not lexicon.pattern("lookups.happened").search(parsed.text):
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


def _by_value(
    parsed: ParsedQuestion, frame: BoundScheme, thing: TimedThing, now: Now, run: RunQuery
) -> DialogueReply | None:
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
    parsed: ParsedQuestion, frame: BoundScheme, thing: TimedThing, properties: list[NamedNode], run: RunQuery
) -> DialogueReply | None:
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
    return DialogueReply(detail + ("。" if parsed.language == "zh" else "."), tuple(held), query, run(query))


def _contents(
    parsed: ParsedQuestion, frame: BoundScheme, *, said: bool
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


def _said(parsed: ParsedQuestion, *, holds: bool, detail: str, query: str, run: RunQuery) -> DialogueReply:
    yes = phrase("yes" if holds else "no", parsed.language)
    zh = parsed.language == "zh"
    text = f"{yes}{'：' if zh else ': '}{detail}" if detail else yes
    return DialogueReply(text + ("。" if zh else "."), (yes,), query, run(query))


# What is asked of a code that recurs, day by day: that of now's day first, then the other days.

_MOST = 6
_DATED_LIKELY, _NEAR = 0.6, 0.9


@dataclass(frozen=True, slots=True)
class _Day:
    """One thing: when it is due, and its values of each property asked."""

    thing: NamedNode
    at: datetime
    values: tuple[tuple[Term, ...], ...]


def by_day(parsed: ParsedQuestion, frame: BoundScheme, now: Now, run: RunQuery) -> DialogueReply | None:
    """The values asked of a code, for each day of it or those said; None where something else is asked."""
    if len(parsed.codes) != 1 or parsed.identifiers or not _plain(parsed, frame):
        return None
    asked, timetable, when = _asked(parsed, frame), frame.scheme.timetable, parsed.window
    if not asked or timetable is None or (when is not None and not (when.whole and when.relative)):
        return None
    query = _query(parsed, frame, timetable, asked)
    solutions = run(query)
    days = _days(solutions, len(asked))
    if parsed.window is not None:
        days = [item for item in days if parsed.window.low <= item.at <= parsed.window.high]
    if not any(found for item in days for found in item.values):
        return None
    days.sort(key=lambda item: (item.at.date() != now.moment.date(), item.at < now.moment, item.at))
    kept = {item.thing for item in days}
    rows = tuple(row for row in solutions.rows if row[0] in kept)
    shown = [value for item in days for found in item.values for value in found]
    return DialogueReply(
        text=_text(days, asked, parsed.language, frame),
        values=tuple(dict.fromkeys(frame.names.label(value, parsed.language) for value in shown)),
        query=query,
        solutions=Solutions(solutions.variables, rows, solutions.boolean, solutions.truncated),
    )


def _plain(parsed: ParsedQuestion, frame: BoundScheme) -> bool:
    """Whether the question only asks for values, under no condition besides the direction."""
    cues = parsed.reading.cues
    summed = cues.counting is not None or cues.superlatives or cues.aggregate or cues.each is not None
    terms = {term for term, _ in frame.scheme.said}
    conditions = [c for c in parsed.constraints if not any(value in terms for _, value in c.pairs)]
    lost = [name for name in parsed.missing if name.casefold() not in {c.casefold() for c in parsed.codes}]
    return not (summed or cues.boolean or cues.negations or conditions or lost)


def _asked(parsed: ParsedQuestion, frame: BoundScheme) -> list[NamedNode]:
    """The properties asked for, by name or by "when" or "where"; none where the question names something else."""
    scheme, terms = frame.scheme, frame.names.schema.properties
    asked = [p for p in parsed.asked if p not in (scheme.code, scheme.identifier)]
    for found in _left(parsed, frame):
        if not found:
            return []
        asked += [] if set(found) & set(asked) else found[:1]
    derived = not asked
    when = scheme.of_way("window")
    timed = any((t := terms.get(p)) and t.temporal for p in asked)
    if when and said_in(parsed.text, when.cues, parsed.language) and not timed and scheme.moment:
        asked.append(scheme.moment)
    if derived and not asked and lexicon.pattern("lookups.where").search(parsed.text):
        asked = list(scheme.shown_places)
    return asked[:4]


def _left(parsed: ParsedQuestion, frame: BoundScheme) -> Iterator[list[NamedNode]]:
    """For each name of a property or class that is not taken yet: the properties of the things that it may mean."""
    reading = parsed.reading
    for mention in reading.mentions:
        best = mention.options[0]
        start, end = reading.tokens[mention.first].start, reading.tokens[mention.last - 1].end
        taken = [*parsed.spans, *((item.start, item.end) for item in parsed.constraints)]
        if any(low < end and start < high for low, high in taken):
            continue
        near = [o for o in mention.options if o.score >= _NEAR * best.score and o.score >= _DATED_LIKELY]
        found = [n.term for o in near for n in o.names if isinstance(n.term, NamedNode)]
        if best.score < _DATED_LIKELY or frame.scheme.about in found or frame.scheme.code in found:
            continue
        yield [
            p
            for term in found
            for p in ((term,) if frame.has(term) else frame.scheme.places)
            if p == term or term in frame.range_of(p)
        ]


def _query(parsed: ParsedQuestion, frame: BoundScheme, timetable: NamedNode, asked: list[NamedNode]) -> str:
    code = Literal(parsed.codes[0])
    wanted = "".join(f"\n  OPTIONAL {{ ?thing {p} ?value{n} }}" for n, p in enumerate(asked))
    names = " ".join(f"?value{n}" for n in range(len(asked)))
    return (
        f"SELECT DISTINCT ?thing ?due {names} WHERE {{\n  ?thing {frame.scheme.code} {code} ; {timetable} ?due ."
        f"{wanted}\n}} ORDER BY ?due LIMIT 200"
    )


def _days(solutions: Solutions, width: int) -> list[_Day]:
    found: dict[NamedNode, tuple[datetime, list[list[Term]]]] = {}
    for row in solutions.rows:
        at = as_moment(row[1].value) if isinstance(row[1], Literal) else None
        if not isinstance(row[0], NamedNode) or at is None:
            continue
        _, columns = found.setdefault(row[0], (at, [[] for _ in range(width)]))
        for column, value in zip(columns, row[2 : 2 + width], strict=True):
            if value is not None and value not in column:
                column.append(value)
    return [_Day(thing, at, tuple(tuple(c) for c in columns)) for thing, (at, columns) in found.items()]


def _text(days: list[_Day], asked: list[NamedNode], language: str, frame: BoundScheme) -> str:
    lines = [
        phrase("day", language, day=day_text(item.at, language), what=_line(item, asked, language, frame))
        for item in days
    ]
    stop, joint = ("。", "；") if language == "zh" else (".", "; ")
    if len(lines) == 1:
        return f"{lines[0]}{stop}"
    others = joint.join(lines[1 : _MOST + 1]) + ("…" if len(lines) > _MOST + 1 else "")
    return f"{lines[0]}{stop} {phrase('days', language, others=others)}"


def _line(item: _Day, asked: list[NamedNode], language: str, frame: BoundScheme) -> str:
    """The values of one day, each with the name of its property where there are several."""
    said = []
    for predicate, found in zip(asked, item.values, strict=True):
        values = ", ".join(_value(value, item.at, language, frame) for value in found)
        if values:
            said.append(f"{frame.names.schema.label(predicate, language)} {values}")
    return ("，" if language == "zh" else ", ").join(said) or phrase("nothing_said", language)


def _value(value: Term, day: datetime, language: str, frame: BoundScheme) -> str:
    at = as_moment(value.value) if isinstance(value, Literal) and "T" in value.value else None
    if at is not None:
        return moment_text(at, language, day=at.date() != day.date())
    return frame.names.label(value, language)


# The ways of the classes: what becomes of a question from which something is missing, by what it does say.

_BOARD = timedelta(hours=2)
_PLACE = re.compile(r"(?<![A-Za-z0-9-])[A-Za-z]{1,2}\s?\d{1,3}[A-Za-z]?(?![A-Za-z0-9-]|:\d)")
_FIRST = lexicon.pattern("lookups.first")
_LAST = lexicon.pattern("lookups.last")


class ClassWay(ReplyWording):
    """The ways of the classes, for one question."""

    def go(self, way: str) -> DialogueReply:
        """The reply of a class's way."""
        return {
            "window": self.window,
            "ownerWindow": self.window,
            "place": self.place,
            "ownerPlace": self.owner_place,
            "next": self.next,
            "code": self.code,
        }[way]()

    # the six ways

    def window(self) -> DialogueReply:
        """The things in a window of time, or the next ones where only their time is asked for."""
        when = self.parsed.window
        if when is None:
            return self._coming()
        # a time to the minute is that of the timetable, one reckoned from now that of the best knowledge
        minute = when.sharp and when.high - when.low < timedelta(minutes=1)
        moment = self._asked_moment() or (self.frame.scheme.timetable if minute else self._moment_of(when))
        wanted = LookupRequest(self._groups(), (moment,) if moment else (), when.low, when.high)
        counting = self.parsed.reading.cues.counting is not None
        lookup = look_up(replace(wanted, most=COUNTED) if counting else wanted, self.frame, self.run)
        if counting:
            return self.counted(lookup, when.low, when.high)
        if not lookup.found and self._is_now(when) and self.parsed.by(self.frame.scheme.places):
            return self.place()
        if not lookup.found:
            return self.none(wanted, lookup)
        return self.listed(lookup, when.low, when.high)

    def _is_now(self, when: Window) -> bool:
        """Whether the window is the few minutes around now."""
        return when.relative and not when.whole and when.low < self.now.moment < when.high

    def _moment_of(self, when: Window) -> NamedNode | None:
        """The moment that counts: in a stretch that has just passed, only what has happened."""
        passed = when.relative and not when.whole and when.high <= self.now.moment
        return (self.frame.scheme.happened if passed else None) or self.frame.scheme.moment

    def is_lookup(self) -> bool:
        """Whether the question is whole and only lists or counts things of a window, by what is known of them."""
        cues, parsed, frame = self.parsed.reading.cues, self.parsed, self.frame
        edge = len(cues.superlatives) == 1 and (_FIRST.search(parsed.text) or _LAST.search(parsed.text))
        compared = cues.counting is not None and len(self._owners()) > 1
        summed = (cues.superlatives and not edge) or cues.aggregate or cues.each is not None or compared
        other = cues.negations or cues.boolean
        named = parsed.about or self._directions() or cues.counting is not None
        if parsed.window is None or parsed.identifiers or parsed.codes or parsed.other or parsed.missing:
            return False
        if summed or other:
            return False
        known = {p for item in parsed.constraints for p, _ in item.pairs}
        moment = self._asked_moment()
        own = {frame.scheme.code, frame.scheme.identifier, moment, *known, *self._usual()}
        return bool(named) and not [p for p in parsed.asked if p not in own]

    def _usual(self) -> tuple[NamedNode | None, ...]:
        """The properties whose words are part of any question for things in a window."""
        scheme = self.frame.scheme
        turned = [p for group in self._said_groups() for p, _ in group]
        return scheme.moment, scheme.timetable, *turned, *board_words(self.parsed, self.frame)

    def _coming(self) -> DialogueReply:
        wanted = LookupRequest(self._groups(), self._moments(), self.now.moment, None)
        lookup = look_up(wanted, self.frame, self.run)
        if not lookup.found:
            return self.none(wanted, lookup)
        first = replace(lookup, found=lookup.found[:OPTIONS])
        return self.said(first) if len(first.found) == 1 else self.which(first)

    def place(self) -> DialogueReply:
        """What is, or will next be, at a place; a question back where no place is named."""
        named = self.parsed.by(self.frame.scheme.places)
        if not named:
            return self._no_place()
        groups = (*(item.by(self.frame.scheme.places) for item in named), *self._directions())
        lookup = look_up(LookupRequest(groups, self._moments(), self.now.moment), self.frame, self.run)
        if not lookup.found:
            before = look_up(LookupRequest(groups, self._moments(), None, self.now.moment), self.frame, self.run)
            return self.empty(lookup, before.found[-1:])
        return self.said(replace(lookup, found=lookup.found[:1]))

    def owner_place(self) -> DialogueReply:
        """What the board shows of an owner: its things of the next two hours with their places, else the next one."""
        places = self.frame.scheme.shown_places
        owner = self.frame.scheme.owner
        groups = tuple(item.by((owner,)) for item in self.parsed.constraints if owner and item.by((owner,)))
        groups += self._directions() or self._leaving()
        moments, now = self._moments(), self.now.moment
        lookup = look_up(LookupRequest(groups, moments, now, now + _BOARD), self.frame, self.run)
        if not lookup.found:
            lookup = look_up(LookupRequest(groups, moments, now), self.frame, self.run)
            lookup = replace(lookup, found=lookup.found[:1])
        if not lookup.found:
            return self.empty(lookup)
        single = len(lookup.found) == 1
        return self.said(lookup, places) if single else self.which(lookup, places)

    def next(self) -> DialogueReply:
        """The thing that follows another, or the next one of an owner, at a place, or at all."""
        base = self._base()
        if base is not None:
            return self._after(base)
        moments = self._moments()
        queue = self.frame.scheme.queue
        if queue and self.parsed.by((queue,)) and not self._by_gate():
            moments = self.frame.scheme.queue_moments or moments
        low, high = self._from_when()
        lookup = look_up(LookupRequest(self._groups(), moments, low, high), self.frame, self.run)
        if not lookup.found:
            return self.empty(lookup)
        return self.said(replace(lookup, found=lookup.found[:1]))

    def _from_when(self) -> tuple[datetime, datetime | None]:
        """From when on the next one is looked for: from the time that the question gives, else from now."""
        when, now = self.parsed.window, self.now.moment
        if when is None or (self._is_now(when) and not when.sharp):
            return now, None
        low = now if when.low.date() == now.date() and when.low.time() == time() else when.low
        return low, when.high if when.high > low else None

    def edge(self) -> DialogueReply | None:
        """The first or last thing of the window, where the question asks for that one; None where it does not."""
        first, last = _FIRST.search(self.parsed.text), _LAST.search(self.parsed.text)
        when = self.parsed.window
        if when is None or not (first or last) or self.parsed.codes or self.parsed.identifiers or self.parsed.other:
            return None
        lookup = look_up(LookupRequest(self._groups(), self._moments(), when.low, when.high), self.frame, self.run)
        if not lookup.found:
            return self.empty(lookup)
        return self.said(replace(lookup, found=lookup.found[:1] if first else lookup.found[-1:]))

    def code(self) -> DialogueReply:
        """What a number in part may mean: read as the one code that it fits, or asked back."""
        partial, language, scheme = self.parsed.partial, self.parsed.language, self.frame.scheme
        if partial is None or scheme.code is None:
            return DialogueReply(phrase("nothing", language), found=False)
        label = self.frame.names.schema.label(scheme.code, language)
        said, codes = self.parsed.text[partial.said.start : partial.said.end], partial.candidates
        if not codes:
            return DialogueReply(phrase("no_code", language, code=label, digits=said), found=False)
        if len(codes) == 1:
            note = phrase("read_code", language, digits=said, code=codes[0])
            return DialogueReply(note, reread=self._with_code(codes[0]))
        asks = phrase("which_code", language, digits=said, count=len(codes), code=label)
        choices = tuple(ReplyChoice(self._code_shown(code), code) for code in codes[:OPTIONS])
        return DialogueReply(asks, asks=asks, choices=choices, found=False)

    # parts

    def _moments(self) -> tuple[NamedNode, ...]:
        return (self.frame.scheme.moment,) if self.frame.scheme.moment else ()

    def _by_gate(self) -> bool:
        """Whether the place is one that is no queue, such as a gate."""
        queue = self.frame.scheme.queue
        others = [p for p in self.frame.scheme.places if p != queue]
        named = self.parsed.by((queue,)) if queue else ()
        return bool(named) and any(item.by(others) for item in named) and queue not in self.parsed.asked

    def _groups(self) -> tuple[tuple[Pair, ...], ...]:
        """All that the question says of the things, its codes among them."""
        scheme = self.frame.scheme
        codes = [tuple((scheme.code, Literal(code)) for code in self.parsed.codes)] if scheme.code else []
        owners = self._owners()
        words = [item.pairs for item in other_constraints(self.parsed, self.frame) if item.pairs not in owners]
        either = tuple(dict.fromkeys(pair for group in owners for pair in group))
        return tuple(group for group in (*codes, either, *words, *self._directions()) if group)

    def _owners(self) -> tuple[tuple[Pair, ...], ...]:
        """What names owners alone: a thing has one, so that several named are alternatives."""
        owner = self.frame.scheme.owner
        found = other_constraints(self.parsed, self.frame)
        return tuple(item.pairs for item in found if all(predicate == owner for predicate, _ in item.pairs))

    def _directions(self) -> tuple[tuple[Pair, ...], ...]:
        """What the scheme's own words say."""
        terms = {term for term, _ in self.frame.scheme.said}
        return tuple(item.pairs for item in self.parsed.constraints if any(value in terms for _, value in item.pairs))

    def _leaving(self) -> tuple[tuple[Pair, ...], ...]:
        """For a board without more words: what leaves, which the word "board" says."""
        cues = self.frame.scheme.of_way("ownerPlace")
        texts = {word.text.casefold() for word in cues.cues} if cues else set()
        named = [term for term, word in self.frame.scheme.said if word.text.casefold() in texts]
        return tuple(self.frame.direct(term) for term in dict.fromkeys(named[:1]))

    def _asked_moment(self) -> NamedNode | None:
        """The moment that the question names itself, such as the take-off, unless it is the usual one."""
        usual = {self.frame.scheme.moment, self.frame.scheme.timetable, *board_words(self.parsed, self.frame)}
        properties = self.frame.names.schema.properties
        found = [p for p in self.parsed.asked if p not in usual and (t := properties.get(p)) and t.temporal]
        return found[0] if len(found) == 1 else None

    def _base(self) -> TimedThing | None:
        """The thing that something is to follow: by identifier, or by code on now's day, else the nearest to now."""
        scheme = self.frame.scheme
        if self.parsed.identifiers and scheme.identifier:
            pairs: tuple[Pair, ...] = tuple((scheme.identifier, Literal(item)) for item in self.parsed.identifiers[:1])
        elif self.parsed.codes and scheme.code:
            pairs = ((scheme.code, Literal(self.parsed.codes[0])),)
        else:
            return None
        when = self.parsed.window
        low, high = (when.low, when.high) if when and when.whole else (None, None)
        found = look_up(LookupRequest((pairs,), self._moments(), low, high), self.frame, self.run).found
        return min(found, key=lambda item: self._distance(item.moment), default=None)

    def _distance(self, moment: str) -> tuple[bool, float]:
        at = as_moment(moment)
        if at is None:
            return True, 0.0
        return at.date() != self.now.moment.date(), abs((at - self.now.moment).total_seconds())

    def _after(self, base: TimedThing) -> DialogueReply:
        """The next on the same ramp where the question speaks of it, else the successor, else the owner's next."""
        if self._in_queue():
            return self._next_in_queue(base)
        scheme = self.frame.scheme
        at = as_moment(base.moment)
        for thing in values(base.thing, scheme.successor, self.run):
            later = moment_of(thing, self._moments(), self.run) if isinstance(thing, NamedNode) else None
            if isinstance(thing, NamedNode) and later and at and later > at:
                query = f"SELECT ?thing WHERE {{ {base.thing} {scheme.successor} ?thing }}"
                return self.said(Lookup(query, self.run(query), (TimedThing(thing, later.isoformat()),)))
        groups = tuple(
            tuple((p, value) for value in values(base.thing, p, self.run) if isinstance(value, NamedNode | Literal))
            for p in (scheme.owner, *dict.fromkeys(p for g in self._said_groups() for p, _ in g))
            if p
        )
        return self._first_after(base, tuple(g for g in groups if g), self._moments())

    def _said_groups(self) -> list[tuple[Pair, ...]]:
        """How things relate to the terms that the scheme has words for."""
        return [self.frame.direct(term) for term in dict.fromkeys(term for term, _ in self.frame.scheme.said)]

    def _in_queue(self) -> bool:
        queue = self.frame.scheme.queue
        if queue is None:
            return False
        classes = set(self.frame.range_of(queue))
        return queue in self.parsed.asked or any(
            name.term in classes or name.term == queue
            for mention in self.parsed.reading.mentions
            for option in mention.options
            for name in option.names
            if option.kind in ("class", "property") and option.score >= 0.9 * mention.options[0].score
        )

    def _next_in_queue(self, base: TimedThing) -> DialogueReply:
        queue = self.frame.scheme.queue
        assert queue is not None
        pairs: tuple[Pair, ...] = tuple(
            (queue, value) for value in values(base.thing, queue, self.run) if isinstance(value, NamedNode)
        )
        moments = self.frame.scheme.queue_moments or self._moments()
        at = moment_of(base.thing, moments, self.run)
        if not pairs or at is None:
            return DialogueReply(phrase("no_next", self.parsed.language, what=self.label(base.thing)), found=False)
        return self._first_after(TimedThing(base.thing, at.isoformat()), (pairs,), moments)

    def _first_after(
        self, base: TimedThing, groups: tuple[tuple[Pair, ...], ...], moments: Sequence[NamedNode]
    ) -> DialogueReply:
        at = as_moment(base.moment)
        low = at + timedelta(seconds=1) if at else None
        lookup = look_up(LookupRequest(groups, tuple(moments), low), self.frame, self.run)
        rest = tuple(item for item in lookup.found if item.thing != base.thing)
        if not rest:
            return DialogueReply(phrase("no_next", self.parsed.language, what=self.label(base.thing)), found=False)
        return self.said(replace(lookup, found=rest[:1]))

    def _no_place(self) -> DialogueReply:
        language = self.parsed.language
        unknown = next((m.group() for m in _PLACE.finditer(self.parsed.text) if not self._taken(*m.span())), "")
        if unknown:
            near = self._near_places(unknown)
            name = "unknown_place" if near else "unknown_place_alone"
            asks = phrase(name, language, place=unknown, near=", ".join(choice.shown for choice in near))
            return DialogueReply(asks, asks=asks, choices=near, found=False)
        label = self.frame.names.schema.label
        joined = "、" if language == "zh" else ", "
        places = (" or " if language != "zh" else "或").join(
            label(p, language) for p in self.frame.scheme.shown_places[:1]
        )
        asks = phrase("ask_place", language, places=places, details=joined.join(self.details()))
        choices = tuple(ReplyChoice(detail, "") for detail in self.details())
        return DialogueReply(asks, asks=asks, choices=choices, found=False)

    def _taken(self, start: int, end: int) -> bool:
        return any(first < end and start < last for first, last in self.parsed.spans)

    def _near_places(self, unknown: str) -> tuple[ReplyChoice, ...]:
        """The places whose codes are nearest to one that is unknown: the same letter, the next numbers."""
        match = re.fullmatch(r"([A-Za-z]+)\s?(\d+)[A-Za-z]?", unknown)
        if match is None:
            return ()
        known: dict[str, int] = {}
        for predicate in self.frame.scheme.places:
            for value in self.frame.names.facts.values.get(predicate, {}):
                label = self.label(value) if isinstance(value, NamedNode) else ""
                same = re.fullmatch(rf"{match[1].upper()}(\d+)[A-Za-z]?", label)
                if same:
                    known[label] = abs(int(same[1]) - int(match[2]))
        nearest = sorted(known, key=lambda label: (known[label], label))[:4]
        return tuple(ReplyChoice(label, label) for label in nearest)

    def _with_code(self, code: str) -> str:
        partial = self.parsed.partial
        assert partial is not None
        start, end = partial.said.start, partial.said.end
        letters = re.search(r"(?<![A-Za-z0-9])[A-Za-z0-9]{2}\s?$", self.parsed.text[:start])
        if letters and code.upper().startswith(letters.group().strip().upper()):
            start = letters.start()
        for item in self.parsed.by((self.frame.scheme.owner,) if self.frame.scheme.owner else ()):
            if not self.parsed.text[item.end : start].strip() and item.end <= start:
                start = item.start
        before, after = self.parsed.text[:start], self.parsed.text[end:]
        if has_han(self.parsed.text):
            return before + code + re.sub(r"^次(?=航班)", "", after)
        return before + code + after

    def _code_shown(self, code: str) -> str:
        match = re.match(r"[A-Za-z]{2}|[A-Za-z]\d|\d[A-Za-z]", code)
        owners = self.frame.labels_of_owner(match.group().upper()) if match else ()
        return f"{code} ({owners[0]})" if owners else code


# Which of many things are late or on time: those whose stretch is longer than nothing, or is not; the longest of all.
#
# Of "now" are the things of now's day that have not happened yet, by the times foreseen for them; of a window those
# that
# the timetable has in it, by the time as it happened, else as foreseen. What is void, such as cancelled, is neither.

_OTHERWISE = lexicon.pattern("lookups.otherwise")
_BE = lexicon.pattern("lookups.be")
_ONLY_WHEN = frozenset(("late", "early"))
"""Words of a state that may only say what part of the day is meant."""
_SHORTEST = lexicon.pattern("lookups.shortest")


@dataclass(frozen=True, slots=True)
class _State:
    """The stretch whose word a question uses, whether it is the opposite word, and where that stands."""

    span: TimeSpan
    opposite: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Late:
    """A thing with the moments that the stretch lies between."""

    found: TimedThing
    length: timedelta


class States(ClassWay):
    """The way of a question for the things in a state that their times tell."""

    def state(self) -> DialogueReply | None:
        """The things in the state that the question names; None where it asks something else."""
        state = self._state()
        if state is None or not self._is_asked(state):
            return None
        cues = self.parsed.reading.cues
        extreme = self._extreme(state)
        if cues.aggregate or cues.each is not None or (cues.superlatives and not extreme):
            return DialogueReply(phrase("state_summed", self.parsed.language), found=False)
        lookup, late = self._in(state)
        if extreme and late:
            return self._most(extreme, lookup, late)
        if cues.counting is not None:
            return self._counted_in(lookup)
        if is_yes_no(self.parsed):
            return self._whether(lookup, late)
        if not late:
            return DialogueReply(
                f"{phrase('nothing', self.parsed.language)} {self._now_said()}", query=lookup.query, found=False
            )
        return self._reply(f"{self._told(late)} {self._now_said()}", lookup)

    def _state(self) -> _State | None:
        parsed = self.parsed
        for span in self.frame.scheme.spans:
            named = () if not span.states else (*span.states, *span.cues)
            for words, opposite in ((span.opposites, True), (named, False)):
                place = said_in(parsed.text, words, parsed.language)
                if place is not None and not self._is_of_day(*place):
                    return _State(span, opposite, *place)
        return None

    def _is_of_day(self, start: int, end: int) -> bool:
        """Whether the word only says when: "leave late tonight", but not "are late this afternoon"."""
        text = self.parsed.text
        if text[start:end].casefold() not in _ONLY_WHEN:
            return False
        return lexicon.pattern("lookups.part_of_day").match(text, end) is not None and _BE.search(text[:start]) is None

    def _is_asked(self, state: _State) -> bool:
        """Whether the question is for many things, under conditions that are all understood."""
        parsed = self.parsed
        if parsed.codes or parsed.identifiers or parsed.partial or _OTHERWISE.search(parsed.text):
            return False
        _, about, other = self._named_beside(state)
        cues = parsed.reading.cues
        named = about or self._directions() or any(self._conditions(state)) or is_yes_no(parsed)
        summed = cues.superlatives or cues.aggregate or cues.counting is not None
        own = parsed.text[state.start : state.end].casefold()
        return bool(named or summed) and not other and all(word.casefold() in own for word in parsed.missing)

    def _named_beside(self, state: _State) -> tuple[tuple[NamedNode, ...], bool, bool]:
        """The properties that the question names, whether it names the things, and whether anything else."""
        parsed = self.parsed
        return asked_of(parsed.reading, parsed.constraints, self.frame, (state.start, state.end))

    def _extreme(self, state: _State) -> int:
        """1 where the question wants the longest, -1 where the shortest of the stretches, 0 where it wants neither.

        Whose things are so the most often is another question: "which airline has the most delays".
        """
        text = self.parsed.text
        if self._named_beside(state)[0] or self.parsed.reading.cues.counting is not None:
            return 0
        return 1 if lexicon.pattern("lookups.longest").search(text) else -1 if _SHORTEST.search(text) else 0

    def _most(self, extreme: int, lookup: Lookup, late: list[_Late]) -> DialogueReply:
        """The things whose stretch is the longest or shortest, or how long that is where no thing is asked for."""
        best = max(extreme * abs(item.length) for item in late)
        kept = [item for item in late if extreme * abs(item.length) == best]
        found = replace(lookup, found=tuple(item.found for item in kept))
        reply = self._reply(f"{self._told(kept)} {self._now_said()}", found)
        if self.parsed.about or self._directions():
            return reply
        length = abs(kept[0].length)
        joint = "：" if self.parsed.language == "zh" else ": "
        text = f"{length_text(length, self.parsed.language)}{joint}{reply.text}"
        return replace(reply, text=text, values=(amount_text(length, "minute"),))

    def _conditions(self, state: _State) -> Iterator[tuple[tuple[NamedNode, NamedNode | Literal], ...]]:
        """What the question says of the things besides their state."""
        for item in self.parsed.constraints:
            if item.end <= state.start or state.end <= item.start:
                yield item.pairs

    def _in(self, state: _State) -> tuple[Lookup, list[_Late]]:
        """The things in the state, in the order of the timetable."""
        query = self._query(state)
        solutions = self.run(query)
        late = []
        for row in solutions.rows:
            thing, begins, ends = row[:3]
            low, high = (as_moment(m.value) if isinstance(m, Literal) else None for m in (begins, ends))
            if isinstance(thing, NamedNode) and low and high:
                late.append(_Late(TimedThing(thing, low.isoformat()), high - low))
        return Lookup(query, solutions, tuple(item.found for item in late)), late

    def _query(self, state: _State) -> str:
        """The query for the things, the moments of their timetable and those as happened, else as foreseen."""
        span, frame = state.span, self.frame
        found = query_of(LookupRequest(tuple(dict.fromkeys(self._conditions(state)))), frame)
        body = found[found.index("{") + 1 : found.rindex("}")].rstrip()
        lines = [
            f"?thing {span.begins} ?begins .",
            f"OPTIONAL {{ ?thing {span.ends} ?happened }}",
            f"OPTIONAL {{ ?thing {span.expected or span.ends} ?foreseen }}",
            "BIND(COALESCE(?happened, ?foreseen) AS ?ends)",
            f"FILTER(?ends {'<=' if state.opposite else '>'} ?begins)",
            *(
                f"FILTER NOT EXISTS {{ ?thing {predicate} {value} }}"
                for void in frame.scheme.voids
                for predicate, value in frame.direct(void)
            ),
            *self._when(),
        ]
        added = "".join(f"\n  {line}" for line in lines)
        return f"SELECT DISTINCT ?thing ?begins ?ends WHERE {{{body}{added}\n}} ORDER BY ?begins ?thing"

    def _when(self) -> tuple[str, ...]:
        """The filters of the window, or of what is still to come of now's day."""
        when, frame = self.parsed.window, self.frame
        if when is not None and not self._is_now(when):
            low, high = written(when.low, frame), written(when.high, frame)
            return f"FILTER(?begins >= {low})", f"FILTER(?begins <= {high})"
        day = datetime.combine(self.now.moment.date(), time())
        first, last = written(day, frame), written(day + timedelta(days=1), frame)
        return "FILTER(!BOUND(?happened))", f"FILTER(?ends >= {first})", f"FILTER(?begins < {last})"

    def _told(self, late: Sequence[_Late]) -> str:
        """A few things in full, of many the first and how many there are."""
        language = self.parsed.language
        joint, ends = ("；", "。") if language == "zh" else ("; ", ".")
        shown = joint.join(self._line_of(item) for item in (late if len(late) <= SHOWN else late[:OPTIONS]))
        if len(late) <= SHOWN:
            return f"{shown}{ends}"
        return phrase("state_many", language, count=len(late), shown=shown)

    def _line_of(self, item: _Late) -> str:
        """A thing with how much later or earlier it is than it should be."""
        name = "later" if item.length > timedelta() else "earlier"
        by = phrase(name, self.parsed.language, length=length_text(item.length, self.parsed.language))
        return f"{self.described(item.found)}{by if item.length else ''}"

    def _counted_in(self, lookup: Lookup) -> DialogueReply:
        number = str(len(lookup.found))
        ends = "。" if self.parsed.language == "zh" else "."
        return replace(self._reply(f"{number}{ends} {self._now_said()}", lookup), values=(number,))

    def _whether(self, lookup: Lookup, late: list[_Late]) -> DialogueReply:
        language = self.parsed.language
        yes = phrase("yes" if late else "no", language)
        if not late:
            return DialogueReply(f"{yes}{'。' if language == 'zh' else '.'} {self._now_said()}", (yes,), lookup.query)
        text = f"{yes}{'：' if language == 'zh' else ': '}{self._told(late)} {self._now_said()}"
        return replace(self._reply(text, lookup), values=(yes,))
