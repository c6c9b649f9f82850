"""What a way comes to: the things found, in words, or a question back with what may be chosen or added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta

from pyoxigraph import NamedNode

from kgplatform.questions.dialogue.frames import Frame, Now
from kgplatform.questions.dialogue.looking import Found, Lookup, Wanted, as_moment, look_up, values
from kgplatform.questions.dialogue.parsing import Parsed
from kgplatform.questions.dialogue.phrases import moment_text, phrase
from kgplatform.types import Solutions, Term

SHOWN = 12
OPTIONS = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that may be meant: how it is shown, what stands for it in a question, and the thing if it is known."""

    shown: str
    text: str
    thing: NamedNode | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What a way comes to: the text, the things or values that answer, what to choose from where it asks back."""

    text: str
    values: tuple[str, ...] = ()
    query: str = ""
    solutions: Solutions = field(default_factory=Solutions)
    asks: str = ""
    choices: tuple[Choice, ...] = ()
    reread: str = ""
    notes: tuple[str, ...] = ()
    found: bool = True


@dataclass(frozen=True)
class Wording:
    """A parsed question with all that putting its answer into words takes."""

    parsed: Parsed
    frame: Frame
    now: Now
    run: Callable[[str], Solutions]

    def details(self) -> tuple[str, ...]:
        """What an asker may add, those left out that the question has."""
        language = self.parsed.language
        had = {p for item in self.parsed.constraints for p, _ in item.pairs}
        missing = [p for p in self.frame.scheme.details if p not in had]
        return tuple(self.frame.names.schema.label(p, language) for p in missing)

    def label(self, term: Term) -> str:
        """What a term is called."""
        return self.frame.names.label(term, self.parsed.language)

    def described(self, found: Found, shown: Sequence[NamedNode] = ()) -> str:
        """A thing in a line: its code, its moment, and where it is or goes."""
        scheme, language = self.frame.scheme, self.parsed.language
        code = next((self.label(v) for v in values(found.thing, scheme.code, self.run)), self.label(found.thing))
        at = as_moment(found.moment)
        day = at is not None and at.date() != self.now.moment.date()
        parts = [code, moment_text(at, language, day=day) if at else ""]
        for predicate in dict.fromkeys((*shown, *scheme.shown_places)):
            for value in values(found.thing, predicate, self.run)[:1]:
                parts.append(f"{self.frame.names.schema.label(predicate, language)} {self.label(value)}")
        return " ".join(part for part in parts if part)

    def _now_said(self) -> str:
        return phrase(self.now.source, self.parsed.language, now=moment_text(self.now.moment, self.parsed.language))

    def line(self, found: Sequence[Found], shown: Sequence[NamedNode] = ()) -> str:
        """Things in one line."""
        return ("；" if self.parsed.language == "zh" else "; ").join(self.described(item, shown) for item in found)

    def said(self, lookup: Lookup, shown: Sequence[NamedNode] = ()) -> Reply:
        """The things found, as the answer."""
        ends = "。" if self.parsed.language == "zh" else "."
        text = f"{self.line(lookup.found, shown)}{ends} {self._now_said()}"
        return self._reply(text, lookup)

    def _reply(self, text: str, lookup: Lookup) -> Reply:
        things = {item.thing for item in lookup.found}
        rows = tuple(row for row in lookup.solutions.rows if row[0] in things)
        labels = tuple(self.label(item.thing) for item in lookup.found)
        return Reply(text, values=labels, query=lookup.query, solutions=replace(lookup.solutions, rows=rows))

    def listed(self, lookup: Lookup, low: datetime, high: datetime) -> Reply:
        """All of a few; of many the first, and a question back."""
        if len(lookup.found) <= SHOWN:
            return self.said(lookup)
        language = self.parsed.language
        first = lookup.found[:OPTIONS]
        text = phrase(
            "many", language, count=len(lookup.found), low=moment_text(low, language),
            high=moment_text(high, language), shown=self.line(first[:3]),
        )  # fmt: skip
        asking = self.which(replace(lookup, found=first))
        return replace(asking, text=f"{text} {asking.asks} {self._now_said()}")

    def which(self, lookup: Lookup, shown: Sequence[NamedNode] = ()) -> Reply:
        """A question back, with the things to choose from and what may be added."""
        language = self.parsed.language
        asks = phrase("more", language, details=("、" if language == "zh" else ", ").join(self.details()))
        choices = tuple(
            Choice(self.described(item, shown), self.label(item.thing), item.thing) for item in lookup.found[:OPTIONS]
        )
        reply = self._reply(f"{self.line(lookup.found[:OPTIONS], shown)}. {asks} {self._now_said()}", lookup)
        return replace(reply, asks=asks, choices=choices)

    def counted(self, lookup: Lookup, low: datetime, high: datetime) -> Reply:
        """How many there are."""
        language = self.parsed.language
        low_, high_ = moment_text(low, language), moment_text(high, language)
        text = phrase("count", language, count=len(lookup.found), low=low_, high=high_)
        said = replace(self._reply(text, lookup), values=(str(len(lookup.found)),))
        return replace(said, text=f"{text} {self._now_said()}")

    def none(self, wanted: Wanted, lookup: Lookup) -> Reply:
        """That nothing lies in the window, with what lies nearest to it."""
        language = self.parsed.language
        low = wanted.low or self.now.moment
        high = wanted.high or datetime.combine(low.date(), time(23, 59))
        text = phrase("none", language, low=moment_text(low, language), high=moment_text(high, language))
        before = look_up(replace(wanted, low=low - timedelta(hours=6), high=low), self.frame, self.run).found[-1:]
        after = look_up(replace(wanted, low=high, high=high + timedelta(hours=6)), self.frame, self.run).found[:1]
        if near := [*before, *after]:
            text = f"{text} {phrase('nearest', language, shown=self.line(near))}"
        return Reply(f"{text} {self._now_said()}", query=lookup.query, found=False)

    def empty(self, lookup: Lookup, near: Sequence[Found] = ()) -> Reply:
        """That nothing fits, with what comes nearest."""
        language = self.parsed.language
        nearest = f"{phrase('nearest', language, shown=self.line(near))} " if near else ""
        text = f"{phrase('nothing', language)} {nearest}{self._now_said()}"
        return Reply(text, query=lookup.query, found=False)
