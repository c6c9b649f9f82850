"""The ways of the classes: what becomes of a question from which something is missing, by what it does say."""

# ruff: noqa: E501
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta

from pyoxigraph import Literal, NamedNode

from kgplatform.questions.dialogue.classify import board_words, other_constraints
from kgplatform.questions.dialogue.frames import Pair
from kgplatform.questions.dialogue.looking import (
    COUNTED,
    Found,
    Lookup,
    Wanted,
    as_moment,
    look_up,
    moment_of,
    values,
)
from kgplatform.questions.dialogue.moments import Window
from kgplatform.questions.dialogue.phrases import phrase
from kgplatform.questions.dialogue.replies import OPTIONS, Choice, Reply, Wording
from kgplatform.text import has_han

_BOARD = timedelta(hours=2)
_PLACE = re.compile(r"(?<![A-Za-z0-9-])[A-Za-z]{1,2}\s?\d{1,3}[A-Za-z]?(?![A-Za-z0-9-]|:\d)")
_FIRST = re.compile(r"\b(?:the )?(?:first|earliest)\b|第一[个班架趟]|首[个班]|最早|头班", re.IGNORECASE)
_LAST = re.compile(
    r"\b(?:the )?(?:last|latest)\b(?!\s+(?:few\s+|couple\s+|\d|half|\w+\s+)?(?:hours?|minutes?|week|night|days?)\b)|最后[一的]?[个班架趟]?|末班|最晚",
    re.IGNORECASE,
)


class Way(Wording):
    """The ways of the classes, for one question."""

    def go(self, way: str) -> Reply:
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

    def window(self) -> Reply:
        """The things in a window of time, or the next ones where only their time is asked for."""
        when = self.parsed.window
        if when is None:
            return self._coming()
        # a time to the minute is that of the timetable, one reckoned from now that of the best knowledge
        minute = when.sharp and when.high - when.low < timedelta(minutes=1)
        moment = self._asked_moment() or (self.frame.scheme.timetable if minute else self._moment_of(when))
        wanted = Wanted(self._groups(), (moment,) if moment else (), when.low, when.high)
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

    def _coming(self) -> Reply:
        wanted = Wanted(self._groups(), self._moments(), self.now.moment, None)
        lookup = look_up(wanted, self.frame, self.run)
        if not lookup.found:
            return self.none(wanted, lookup)
        first = replace(lookup, found=lookup.found[:OPTIONS])
        return self.said(first) if len(first.found) == 1 else self.which(first)

    def place(self) -> Reply:
        """What is, or will next be, at a place; a question back where no place is named."""
        named = self.parsed.by(self.frame.scheme.places)
        if not named:
            return self._no_place()
        groups = (*(item.by(self.frame.scheme.places) for item in named), *self._directions())
        lookup = look_up(Wanted(groups, self._moments(), self.now.moment), self.frame, self.run)
        if not lookup.found:
            before = look_up(Wanted(groups, self._moments(), None, self.now.moment), self.frame, self.run)
            return self.empty(lookup, before.found[-1:])
        return self.said(replace(lookup, found=lookup.found[:1]))

    def owner_place(self) -> Reply:
        """What the board shows of an owner: its things of the next two hours with their places, else the next one."""
        places = self.frame.scheme.shown_places
        owner = self.frame.scheme.owner
        groups = tuple(item.by((owner,)) for item in self.parsed.constraints if owner and item.by((owner,)))
        groups += self._directions() or self._leaving()
        moments, now = self._moments(), self.now.moment
        lookup = look_up(Wanted(groups, moments, now, now + _BOARD), self.frame, self.run)
        if not lookup.found:
            lookup = look_up(Wanted(groups, moments, now), self.frame, self.run)
            lookup = replace(lookup, found=lookup.found[:1])
        if not lookup.found:
            return self.empty(lookup)
        single = len(lookup.found) == 1
        return self.said(lookup, places) if single else self.which(lookup, places)

    def next(self) -> Reply:
        """The thing that follows another, or the next one of an owner, at a place, or at all."""
        base = self._base()
        if base is not None:
            return self._after(base)
        moments = self._moments()
        queue = self.frame.scheme.queue
        if queue and self.parsed.by((queue,)) and not self._by_gate():
            moments = self.frame.scheme.queue_moments or moments
        low, high = self._from_when()
        lookup = look_up(Wanted(self._groups(), moments, low, high), self.frame, self.run)
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

    def edge(self) -> Reply | None:
        """The first or last thing of the window, where the question asks for that one; None where it does not."""
        first, last = _FIRST.search(self.parsed.text), _LAST.search(self.parsed.text)
        when = self.parsed.window
        if when is None or not (first or last) or self.parsed.codes or self.parsed.identifiers or self.parsed.other:
            return None
        lookup = look_up(Wanted(self._groups(), self._moments(), when.low, when.high), self.frame, self.run)
        if not lookup.found:
            return self.empty(lookup)
        return self.said(replace(lookup, found=lookup.found[:1] if first else lookup.found[-1:]))

    def code(self) -> Reply:
        """What a number in part may mean: read as the one code that it fits, or asked back."""
        partial, language, scheme = self.parsed.partial, self.parsed.language, self.frame.scheme
        if partial is None or scheme.code is None:
            return Reply(phrase("nothing", language), found=False)
        label = self.frame.names.schema.label(scheme.code, language)
        said, codes = self.parsed.text[partial.said.start : partial.said.end], partial.candidates
        if not codes:
            return Reply(phrase("no_code", language, code=label, digits=said), found=False)
        if len(codes) == 1:
            note = phrase("read_code", language, digits=said, code=codes[0])
            return Reply(note, reread=self._with_code(codes[0]))
        asks = phrase("which_code", language, digits=said, count=len(codes), code=label)
        choices = tuple(Choice(self._code_shown(code), code) for code in codes[:OPTIONS])
        return Reply(asks, asks=asks, choices=choices, found=False)

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

    def _base(self) -> Found | None:
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
        found = look_up(Wanted((pairs,), self._moments(), low, high), self.frame, self.run).found
        return min(found, key=lambda item: self._distance(item.moment), default=None)

    def _distance(self, moment: str) -> tuple[bool, float]:
        at = as_moment(moment)
        if at is None:
            return True, 0.0
        return at.date() != self.now.moment.date(), abs((at - self.now.moment).total_seconds())

    def _after(self, base: Found) -> Reply:
        """The next on the same ramp where the question speaks of it, else the successor, else the owner's next."""
        if self._in_queue():
            return self._next_in_queue(base)
        scheme = self.frame.scheme
        at = as_moment(base.moment)
        for thing in values(base.thing, scheme.successor, self.run):
            later = moment_of(thing, self._moments(), self.run) if isinstance(thing, NamedNode) else None
            if isinstance(thing, NamedNode) and later and at and later > at:
                query = f"SELECT ?thing WHERE {{ {base.thing} {scheme.successor} ?thing }}"
                return self.said(Lookup(query, self.run(query), (Found(thing, later.isoformat()),)))
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

    def _next_in_queue(self, base: Found) -> Reply:
        queue = self.frame.scheme.queue
        assert queue is not None
        pairs: tuple[Pair, ...] = tuple(
            (queue, value) for value in values(base.thing, queue, self.run) if isinstance(value, NamedNode)
        )
        moments = self.frame.scheme.queue_moments or self._moments()
        at = moment_of(base.thing, moments, self.run)
        if not pairs or at is None:
            return Reply(phrase("no_next", self.parsed.language, what=self.label(base.thing)), found=False)
        return self._first_after(Found(base.thing, at.isoformat()), (pairs,), moments)

    def _first_after(self, base: Found, groups: tuple[tuple[Pair, ...], ...], moments: Sequence[NamedNode]) -> Reply:
        at = as_moment(base.moment)
        low = at + timedelta(seconds=1) if at else None
        lookup = look_up(Wanted(groups, tuple(moments), low), self.frame, self.run)
        rest = tuple(item for item in lookup.found if item.thing != base.thing)
        if not rest:
            return Reply(phrase("no_next", self.parsed.language, what=self.label(base.thing)), found=False)
        return self.said(replace(lookup, found=rest[:1]))

    def _no_place(self) -> Reply:
        language = self.parsed.language
        unknown = next((m.group() for m in _PLACE.finditer(self.parsed.text) if not self._taken(*m.span())), "")
        if unknown:
            near = self._near_places(unknown)
            name = "unknown_place" if near else "unknown_place_alone"
            asks = phrase(name, language, place=unknown, near=", ".join(choice.shown for choice in near))
            return Reply(asks, asks=asks, choices=near, found=False)
        label = self.frame.names.schema.label
        joined = "、" if language == "zh" else ", "
        places = (" or " if language != "zh" else "或").join(
            label(p, language) for p in self.frame.scheme.shown_places[:1]
        )
        asks = phrase("ask_place", language, places=places, details=joined.join(self.details()))
        choices = tuple(Choice(detail, "") for detail in self.details())
        return Reply(asks, asks=asks, choices=choices, found=False)

    def _taken(self, start: int, end: int) -> bool:
        return any(first < end and start < last for first, last in self.parsed.spans)

    def _near_places(self, unknown: str) -> tuple[Choice, ...]:
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
        return tuple(Choice(label, label) for label in nearest)

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
