"""Answers a question as part of a conversation: what is missing is asked for, what was asked for is taken up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from pyoxigraph import NamedNode

from kgplatform.errors import QueryError
from kgplatform.questions import answer
from kgplatform.questions.causes import asks_why
from kgplatform.questions.dialogue import follow, leaning
from kgplatform.questions.dialogue.classify import Classified, classify
from kgplatform.questions.dialogue.classify_model import classify_by_model
from kgplatform.questions.dialogue.dated import by_day
from kgplatform.questions.dialogue.frames import Frame, Now
from kgplatform.questions.dialogue.looking import Found, Lookup, Wanted, look_up, moment_of
from kgplatform.questions.dialogue.moments import window
from kgplatform.questions.dialogue.parsing import Parsed, parse_question
from kgplatform.questions.dialogue.phrases import moment_text, phrase
from kgplatform.questions.dialogue.replies import Reply
from kgplatform.questions.dialogue.scheme import NONE
from kgplatform.questions.dialogue.spans import reckoned
from kgplatform.questions.dialogue.standing import standing_alone
from kgplatform.questions.dialogue.states import States
from kgplatform.questions.dialogue.tidying import is_leave, tidied
from kgplatform.questions.dialogue.turns import Option, Turn
from kgplatform.questions.dialogue.ways import Way
from kgplatform.questions.dialogue.whether import is_yes_no, not_understood, whether
from kgplatform.questions.steps import Stage, tell
from kgplatform.questions.support import supporting
from kgplatform.questions.telling import subject_of
from kgplatform.questions.unlinked import unsaid
from kgplatform.questions.wording import language_asked_in
from kgplatform.text import has_han
from kgplatform.types import Answer, Clarification, Evidence, Query, Question, QuestionKind, Solutions, Usage, Verdict

_LONGEST = 2_000
_UNSURE = 0.45
_SURE = 0.85


@dataclass(frozen=True, slots=True)
class Talk:
    """What answering in a conversation takes besides the parts of answering: the moment of "now", the turns before."""

    parts: answer.QuestionParts
    now: datetime | None = None
    turns: tuple[Turn, ...] = ()
    clock: Callable[[], datetime] = field(default=datetime.now)


@dataclass(frozen=True, slots=True)
class Said:
    """An answer, and the turn that it makes."""

    answer: Answer
    turn: Turn


def talk(text: str, talk_: Talk) -> Said:
    """The answer to what was said after the turns so far, whatever it is; it never writes."""
    began = time.perf_counter()
    said = _Talking(text, talk_).said()
    seconds = time.perf_counter() - began
    return replace(said, answer=replace(said.answer, usage=replace(said.answer.usage, seconds=seconds)))


class _Talking:
    """One turn on its way to an answer."""

    def __init__(self, text: str, talk_: Talk) -> None:
        self._said = text
        self._text = tidied(text[: 2 * _LONGEST])[:_LONGEST]
        self._talk = talk_
        self._parts = talk_.parts
        self._frame: Frame | None = next(iter(talk_.parts.knowledge.frames), None)
        self._usage = Usage()
        self._notes: list[str] = []

    def said(self) -> Said:
        last = self._talk.turns[-1] if self._talk.turns else None
        if is_leave(self._text) and (last is not None or not self._parts.knowledge.names.link(self._text)):
            return self._left()
        if last is not None and last.question and self._text:
            followed = self._followed(last)
            if followed is not None:
                return followed
        return self._standing(self._text)

    # after a turn

    def _followed(self, last: Turn) -> Said | None:
        """What a reply to a question back, or a question that leans on the last one, comes to; None: a new question."""
        if (leaning := self._leaning(last)) is not None:
            return leaning
        if last.options and last.asks:
            left = follow.chosen(self._text, last) or self._by_details(last)
            if len(left) == 1:
                return self._chose(left[0], last)
            if 1 < len(left) < len(last.options):
                return self._asked_again(left, last)
        names = self._parts.knowledge.names
        if last.asks and follow.is_fragment(self._text):
            return self._standing(follow.joined(last, self._text))
        whole = next((turn for turn in reversed(self._talk.turns) if not follow.is_fragment(turn.question)), last)
        if follow.is_fragment(self._text) and (question := follow.in_place_of(self._text, whole, names)):
            return self._standing(question)
        if question := follow.with_referent(self._text, last, names):
            return self._standing(question)
        return None

    def _leaning(self, last: Turn) -> Said | None:
        """What a reply comes to that takes another day, another thing or the next one in the order of the last turn."""
        frame = self._frame
        if frame is None:
            return None
        if leaning.is_after_that(self._text) and not (last.asks and last.options):
            return self._after_last(last, frame)
        if not last.asks or last.options:
            question = leaning.other_time(self._text, last, self._now().moment)
            if question and window(last.question, self._now().moment) is None and last.asks:
                question = ""
            if question:
                return self._standing(question)
        if last.asks or not last.question:
            return None
        new, old = self._parsed(self._text), self._parsed(last.question)
        question = leaning.other_thing(self._text, new, old, frame) or leaning.with_code(
            self._text, new, old, last, frame
        )
        return self._standing(question) if question else None

    def _after_last(self, last: Turn, frame: Frame) -> Said | None:
        """The thing after the last answer, in the order of the last turn."""
        try:
            thing = leaning.after_last(last, frame, self._parts.run)
        except QueryError as error:
            self._notes.append(f"not looked up: {error}")
            return None
        parsed = self._parsed(last.question)
        if thing is None:
            known = last.values[-1] if last.values and last.values[-1] in frame.identifiers else ""
            if not known:
                return None
            if "?moment" in last.query:
                none = Reply(phrase("no_next", self._language(), what=known), query=last.query, found=False)
                return self._replied(none, parsed, Classified(last.label, last.way))
            chinese = has_han(self._text)
            return self._standing(f"{known}之后的下一个是什么？" if chinese else f"What is the next after {known}?")
        way = Way(parsed, frame, self._now(), self._parts.run)
        self._notes.append(f"the one after {last.values[-1]}")
        moments = (frame.scheme.moment,) if frame.scheme.moment else ()
        at = moment_of(thing, moments, self._parts.run)
        lookup = Lookup(last.query, self._parts.run(last.query), (Found(thing, at.isoformat() if at else ""),))
        return self._replied(way.said(lookup), parsed, Classified(last.label, last.way))

    def _left(self) -> Said:
        """Nothing is asked any more, and the turn asks nothing back."""
        text = phrase("left", self._language())
        kind = Question(self._said, self._language(), QuestionKind.LIST)
        found = Answer(text=text, question=kind, verdict=Verdict.UNANSWERABLE, confidence=0.0, using="sparql")
        return Said(found, Turn(said=self._said, question="", answer=text))

    def _by_details(self, last: Turn) -> tuple[Option, ...]:
        """The options that have what a reply says of them."""
        if self._frame is None or not follow.is_fragment(self._text):
            return ()
        parsed = self._parsed(self._text)
        groups = [item.pairs for item in parsed.constraints]
        when = parsed.window
        if not groups and when is None:
            return ()
        moment = self._frame.scheme.moment
        wanted = Wanted(
            tuple(groups), (moment,) if moment else (), when.low if when else None, when.high if when else None
        )
        try:
            found = look_up(wanted, self._frame, self._parts.run).found
        except QueryError as error:
            self._notes.append(f"not looked up: {error}")
            return ()
        kept = {item.thing.value for item in found}
        codes = self._codes_of(found) if any(not option.thing for option in last.options) else set()
        return tuple(o for o in last.options if o.thing in kept or (not o.thing and o.text in codes))

    def _codes_of(self, found: tuple[Found, ...]) -> set[str]:
        """The codes of things, as their values say."""
        code = self._frame.scheme.code if self._frame else None
        if code is None or not found:
            return set()
        things = " ".join(str(item.thing) for item in found[:200])
        rows = self._parts.run(
            f"SELECT DISTINCT ?code WHERE {{ VALUES ?thing {{ {things} }} ?thing {code} ?code }}"
        ).rows
        return {row[0].value for row in rows if row[0] is not None and hasattr(row[0], "value")}

    def _chose(self, option: Option, last: Turn) -> Said:
        """The answer for one option."""
        if last.blank:
            return self._standing(last.blank.replace("{}", option.text))
        if not option.text and not option.thing:
            return self._asked_for(option, last)
        if option.thing and last.query and last.way == "":
            query = follow.narrowed(last.query, NamedNode(option.thing))
            if query:
                found = answer.ask_query(last.question, query, parts=self._parts)
                return self._done(found, question=f"{last.question} ({option.shown})")
        return self._standing(self._about(option, last))

    def _asked_for(self, option: Option, last: Turn) -> Said:
        """A question back for the detail that was only named."""
        asks = f"{option.shown}？" if has_han(option.shown) else f"Which {option.shown}?"
        return self._asks(asks, last.options, last)

    def _about(self, option: Option, last: Turn) -> str:
        """A question that stands alone for the thing chosen, asking what the earlier question asked."""
        schema = self._parts.knowledge.schema
        language = "zh" if has_han(last.question) else "en"
        scheme = self._frame.scheme if self._frame else None
        asked = [NamedNode(iri) for iri in last.asked] or [p for p in (scheme.moment if scheme else None,) if p]
        if last.way == "ownerPlace" and scheme:
            asked = list(scheme.shown_places[:1])
        label = schema.label(asked[0], language) if asked else ""
        return f"{option.text}的{label}是什么？" if language == "zh" else f"What is the {label} of {option.text}?"

    def _asked_again(self, left: tuple[Option, ...], last: Turn) -> Said:
        """The same question back, with fewer options."""
        return self._asks(phrase("more_options", self._language()), left, last)

    def _asks(self, asks: str, options: tuple[Option, ...], last: Turn) -> Said:
        clarification = Clarification(asks, follow.shown(options))
        found = Answer(
            text=asks,
            question=Question(self._said, self._language(), QuestionKind.LIST),
            verdict=Verdict.UNCLEAR,
            confidence=_UNSURE,
            using="sparql",
            clarification=clarification,
            question_class=last.label,
            trace=tuple(self._notes),
        )
        return Said(found, replace(last, said=self._said, asks=asks, options=options))

    # by itself

    def _standing(self, text: str) -> Said:
        """The answer to a question that stands alone."""
        if text != self._text:
            self._notes.append(f"taken as: {text}")
        if self._frame is None or not any(c.isalnum() for c in text) or self._is_of_one(text):
            return self._plain(text, text)
        parsed = self._parsed(text)
        try:
            return self._by_class(parsed, self._frame)
        except QueryError as error:
            self._notes.append(f"not looked up: {error}")
            return self._plain(text, text)

    def _is_of_one(self, text: str) -> bool:
        """Whether a question asks why, or to be told of one thing: neither is a question of a class."""
        return asks_why(text) or subject_of(text, self._parts.knowledge.names) is not None

    def _by_class(self, parsed: Parsed, frame: Frame) -> Said:
        now = self._now()
        tell(Stage.LINKED, self._reading(parsed))
        found = self._classified(parsed, frame, now)
        way = States(parsed, frame, now, self._parts.run)
        if (state := way.state()) is not None:
            return self._replied(state, parsed, found)
        if is_yes_no(parsed) and (lost := unsaid(not_understood(parsed))):
            text = phrase("lost", parsed.language, words=", ".join(lost))
            return self._replied(Reply(text, found=False), parsed, found)
        if found.way == NONE:
            return self._whole(parsed, frame, now, way)
        missing = parsed.missing or (found.way == "place" and not_understood(parsed))
        if missing and not self._understood(parsed, found):
            return self._plain(parsed.text, parsed.text, label=found.notation)
        edge = way.edge() if found.way in ("window", "ownerWindow") else None
        reply = edge or way.go(found.way)
        if reply.reread:
            self._notes += [reply.text]
            again = self._reread(reply, frame)
            return replace(again, answer=replace(again.answer, question_class=found.notation))
        return self._replied(reply, parsed, found)

    def _reread(self, reply: Reply, frame: Frame) -> Said:
        """The answer to the question with the whole code, of the day of now where that is enough."""
        parsed = self._parsed(reply.reread)
        said = self._by_class(parsed, frame) if parsed.partial is None else self._plain(reply.reread, reply.reread)
        return replace(said, answer=replace(said.answer, text=f"{reply.text} {said.answer.text}"))

    @staticmethod
    def _understood(parsed: Parsed, found: Classified) -> bool:
        """Whether the way says itself what it does not know."""
        return found.way == "code" or (found.way == "place" and not parsed.constraints)

    def _classified(self, parsed: Parsed, frame: Frame, now: Now) -> Classified:
        model = self._parts.model
        if model is None:
            found = classify(parsed, frame)
        else:
            by_model = classify_by_model(parsed, frame, now, model)
            found, self._usage = by_model.classified, self._usage + by_model.usage
            self._notes += [by_model.note] if by_model.note else []
        known = frame.scheme.of_way(found.way)
        name = known.label(parsed.language) if known else NONE
        self._notes.append(f"question class {found.notation} ({name}), {found.by}")
        return found

    def _whole(self, parsed: Parsed, frame: Frame, now: Now, way: Way) -> Said:
        """A question that nothing is missing from: reckoned with times, looked up by its day, or translated."""
        run = self._parts.run
        reply = reckoned(parsed, frame, now, run) or whether(parsed, frame, now, run)
        reply = reply or by_day(parsed, frame, now, run)
        if reply is None and way.is_lookup():
            reply = way.edge() or way.window()
        if reply is not None and (reply.found or not parsed.missing):
            return self._replied(replace(reply, asks="", choices=()), parsed, Classified(NONE, NONE))
        text = standing_alone(parsed, frame, self._parts.run)
        return self._plain(text, parsed.text)

    def _plain(self, text: str, question: str, *, label: str = NONE) -> Said:
        """What the translator makes of a question."""
        if text != question:
            self._notes.append(f"read as: {text}")
        found = answer.ask(text, parts=self._parts)
        return self._done(replace(found, question_class=label if self._frame else ""), question=question)

    def _done(self, found: Answer, *, question: str) -> Said:
        """An answer as it is handed on, and its turn."""
        asks = found.clarification
        options: tuple[Option, ...] = ()
        if asks is not None:
            things = asks.things or (None,) * len(asks.options)
            options = tuple(
                Option(shown, shown, thing.value if thing else "")
                for shown, thing in zip(asks.options, things, strict=False)
            )
        turn = Turn(
            said=self._said,
            question=question,
            answer=found.text,
            label=found.question_class,
            asks=asks.question if asks else "",
            options=options,
            query=found.query.text if found.query else "",
            values=found.values[:20],
        )
        handed = replace(
            found,
            question=replace(found.question, text=self._said),
            usage=found.usage + self._usage,
            trace=(*self._notes, *found.trace),
        )
        return Said(handed, turn)

    def _replied(self, reply: Reply, parsed: Parsed, found: Classified) -> Said:
        """The answer and the turn of a way's reply."""
        clarification = Clarification(reply.asks, tuple(c.shown for c in reply.choices)) if reply.asks else None
        if reply.query:
            tell(Stage.QUERY, reply.query)
            tell(Stage.ROWS, number=len(reply.solutions.rows))
        verdict = Verdict.UNCLEAR if clarification else Verdict.ANSWERED if reply.found else Verdict.UNANSWERABLE
        answer_ = Answer(
            text=reply.text,
            question=Question(self._said, parsed.language, _kind(reply), self._parts.knowledge.names.link(parsed.text)),
            verdict=verdict,
            confidence=_SURE if verdict is Verdict.ANSWERED else _UNSURE if clarification else 0.3,
            using="sparql",
            query=Query(reply.query, self._reading(parsed)) if reply.query else None,
            solutions=reply.solutions,
            values=reply.values,
            evidence=self._evidence(reply),
            clarification=clarification,
            usage=self._usage,
            question_class=found.notation,
            trace=tuple(self._notes),
        )
        turn = Turn(
            said=self._said,
            question=parsed.text,
            answer=reply.text,
            label=found.notation,
            way=found.way,
            asks=reply.asks,
            options=tuple(Option(c.shown, c.text, c.thing.value if c.thing else "") for c in reply.choices),
            blank=self._blank(parsed) if found.way == "code" and reply.choices else "",
            query=reply.query,
            values=reply.values[:20],
            asked=tuple(p.value for p in parsed.asked[:3]),
        )
        return Said(answer_, turn)

    def _evidence(self, reply: Reply) -> tuple[Evidence, ...]:
        if not reply.query or not reply.solutions.rows:
            return ()
        store = self._parts.dataset.store
        shown = [term for row in reply.solutions.rows[:20] for term in row if term is not None]
        parts = self._parts
        return supporting(
            reply.query,
            parts.dataset,
            run=parts.run,
            find=parts.find,
            why=parts.why,
            answers=shown,
            prefixes=store.prefixes,
        )

    def _reading(self, parsed: Parsed) -> str:
        """What was understood, in words."""
        frame, language = self._frame, parsed.language
        if frame is None:
            return ""
        said = [frame.names.schema.label(frame.scheme.about, language), *parsed.codes, *parsed.identifiers]
        said += [
            f"{frame.names.schema.label(c.pairs[0][0], language)} {frame.names.label(c.pairs[0][1], language)}"
            for c in parsed.constraints
        ]
        if parsed.window:
            said.append(f"{moment_text(parsed.window.low, language)} – {moment_text(parsed.window.high, language)}")
        return ("，" if language == "zh" else ", ").join(said)

    def _blank(self, parsed: Parsed) -> str:
        partial = parsed.partial
        if partial is None:
            return ""
        return parsed.text[: partial.said.start] + "{}" + parsed.text[partial.said.end :]

    def _parsed(self, text: str) -> Parsed:
        assert self._frame is not None
        return parse_question(text, self._frame, self._parts.knowledge.translator, self._now().moment)

    def _now(self) -> Now:
        assert self._frame is not None
        return self._frame.now(self._talk.now, self._talk.clock())

    def _language(self) -> str:
        return "zh" if language_asked_in(self._text) == "zh" else "en"


def _kind(reply: Reply) -> QuestionKind:
    solutions: Solutions = reply.solutions
    counted = len(reply.values) == 1 and solutions.rows and reply.values[0] == str(len(solutions.rows))
    return QuestionKind.COUNT if counted else QuestionKind.LIST
