"""Which of many things are late or on time: those whose stretch is longer than nothing, or is not; the longest of all.

Of "now" are the things of now's day that have not happened yet, by the times foreseen for them; of a window those that
the timetable has in it, by the time as it happened, else as foreseen. What is void, such as cancelled, is neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta

from pyoxigraph import Literal, NamedNode

from kgplatform.questions.dialogue.looking import Found, Lookup, Wanted, as_moment, query_of, written
from kgplatform.questions.dialogue.parsing import asked_of, said_in
from kgplatform.questions.dialogue.phrases import amount_text, length_text, phrase
from kgplatform.questions.dialogue.replies import OPTIONS, SHOWN, Reply
from kgplatform.questions.dialogue.scheme import Span
from kgplatform.questions.dialogue.ways import Way
from kgplatform.questions.dialogue.whether import is_yes_no

_OTHERWISE = re.compile(r"\b(?:why|when|who|whose)\b|为什么|为何|怎么|何时|什么时候", re.IGNORECASE)
_PART_OF_DAY = re.compile(
    r"\s+(?:at night|tonight|today|(?:this|in the|yesterday|tomorrow)?\s*(?:morning|afternoon|evening|night))\b",
    re.IGNORECASE,
)
_BE = re.compile(r"\b(?:is|are|was|were|be|been|running)\s+$", re.IGNORECASE)
_ONLY_WHEN = frozenset(("late", "early"))
"""Words of a state that may only say what part of the day is meant."""
_LONGEST = re.compile(
    r"\b(?:longest|biggest|largest|greatest|highest|worst|most|maximum|max)\b|最[长久大严重多晚厉]", re.IGNORECASE
)
_SHORTEST = re.compile(r"\b(?:shortest|smallest|lowest|least|minimum|min)\b|最[短小少轻]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _State:
    """The stretch whose word a question uses, whether it is the opposite word, and where that stands."""

    span: Span
    opposite: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Late:
    """A thing with the moments that the stretch lies between."""

    found: Found
    length: timedelta


class States(Way):
    """The way of a question for the things in a state that their times tell."""

    def state(self) -> Reply | None:
        """The things in the state that the question names; None where it asks something else."""
        state = self._state()
        if state is None or not self._is_asked(state):
            return None
        cues = self.parsed.reading.cues
        extreme = self._extreme(state)
        if cues.aggregate or cues.each is not None or (cues.superlatives and not extreme):
            return Reply(phrase("state_summed", self.parsed.language), found=False)
        lookup, late = self._in(state)
        if extreme and late:
            return self._most(extreme, lookup, late)
        if cues.counting is not None:
            return self._counted_in(lookup)
        if is_yes_no(self.parsed):
            return self._whether(lookup, late)
        if not late:
            return Reply(
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
        return _PART_OF_DAY.match(text, end) is not None and _BE.search(text[:start]) is None

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
        return 1 if _LONGEST.search(text) else -1 if _SHORTEST.search(text) else 0

    def _most(self, extreme: int, lookup: Lookup, late: list[_Late]) -> Reply:
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
                late.append(_Late(Found(thing, low.isoformat()), high - low))
        return Lookup(query, solutions, tuple(item.found for item in late)), late

    def _query(self, state: _State) -> str:
        """The query for the things, the moments of their timetable and those as happened, else as foreseen."""
        span, frame = state.span, self.frame
        found = query_of(Wanted(tuple(dict.fromkeys(self._conditions(state)))), frame)
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

    def _counted_in(self, lookup: Lookup) -> Reply:
        number = str(len(lookup.found))
        ends = "。" if self.parsed.language == "zh" else "."
        return replace(self._reply(f"{number}{ends} {self._now_said()}", lookup), values=(number,))

    def _whether(self, lookup: Lookup, late: list[_Late]) -> Reply:
        language = self.parsed.language
        yes = phrase("yes" if late else "no", language)
        if not late:
            return Reply(f"{yes}{'。' if language == 'zh' else '.'} {self._now_said()}", (yes,), lookup.query)
        text = f"{yes}{'：' if language == 'zh' else ': '}{self._told(late)} {self._now_said()}"
        return replace(self._reply(text, lookup), values=(yes,))
