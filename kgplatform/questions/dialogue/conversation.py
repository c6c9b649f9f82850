"""Answers a question as part of a conversation: what is missing is asked for, what was asked for is taken up."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from pyoxigraph import Literal, NamedNode

from kgplatform import lexicon
from kgplatform.errors import ModelError, QueryError
from kgplatform.models.embed import CARRIED
from kgplatform.questions import answer
from kgplatform.questions.answer import AnswerStage, subject_of, tell
from kgplatform.questions.answer_text import phrases
from kgplatform.questions.check import RowSupport, supporting, unsaid
from kgplatform.questions.dialogue.durations import reckoned
from kgplatform.questions.dialogue.follow_up import (
    FollowUps,
    FormEdit,
    SpokenOf,
    difference,
    form_written,
    next_in_order,
    rivals,
    written_form,
)
from kgplatform.questions.dialogue.lookups import ClassWay, States, by_day, is_yes_no, not_understood, whether
from kgplatform.questions.dialogue.question_class import Classified, classify, classify_by_model
from kgplatform.questions.dialogue.replies import DialogueReply, ReplyOption, Turn
from kgplatform.questions.dialogue.request import (
    NamedConstraint,
    ParsedQuestion,
    masked,
    moment_text,
    parse_question,
    phrase,
)
from kgplatform.questions.dialogue.scheme import (
    NONE,
    UNSPOKEN,
    BoundScheme,
    Lookup,
    LookupRequest,
    Now,
    TimedThing,
    as_moment,
    look_up,
    moment_of,
)
from kgplatform.questions.dialogue.times import day_spans, window
from kgplatform.questions.forms.fact_graph import FactGraph
from kgplatform.questions.forms.logical_form import Form
from kgplatform.questions.forms.question_text import read
from kgplatform.questions.parser.translator import asks_why
from kgplatform.questions.parser.vocabulary import language_asked_in
from kgplatform.text import has_han, normalise
from kgplatform.types import Answer, Clarification, Query, Question, QuestionKind, RunQuery, Solutions, Usage, Verdict

# What a later turn means by itself: the choice of an option, a detail that was asked for, or another thing instead.

_ORDINALS: Final = lexicon.numbers("conversation.ordinals")
_LEAD = lexicon.pattern("conversation.lead")
_TRAIL = lexicon.pattern("conversation.trail")
_TRAIL_ZH = lexicon.pattern("conversation.trail_zh")
_QUESTION = lexicon.pattern("conversation.question")
_SHORT: Final = 8


def chosen(text: str, turn: Turn) -> tuple[ReplyOption, ...]:
    """The options that a reply names, by their place or by what they are called; none if it names none."""
    options = turn.options
    if lexicon.pattern("conversation.last").match(text) and options:
        return options[-1:]
    match = lexicon.pattern("conversation.ordinal").match(text)
    if match:
        word = (match["n"] or match["z"]).casefold()
        place = int(word) - 1 if word.isdigit() else _ORDINALS[word]
        if 0 <= place < len(options):
            return (options[place],)
    said = f" {normalise(text)} "
    exact = [o for o in options if o.text and f" {normalise(o.text)} " in said]
    if exact:
        return tuple(exact)
    return tuple(o for o in options if len(said.strip()) > 1 and _names(said.strip(), normalise(o.shown)))


def _names(said: str, shown: str) -> bool:
    """Whether what was said is a whole part of what was shown."""
    if has_han(said):
        return said in shown
    core = re.sub(
        r"^(?:the|a|i mean|one|to|at|in|of|from) |^(?:one|the one) (?:to|at|in|from|of|with) | one$", "", said
    )
    return bool(core) and f" {core} " in f" {shown} "


def is_fragment(text: str) -> bool:
    """Whether a text is too little for a question of its own."""
    if _LEAD.search(text) or _TRAIL_ZH.search(text):
        return True
    words = re.findall(r"\w+", text)
    return not _QUESTION.search(text) and (len(words) <= _SHORT if not has_han(text) else len(text) <= 14)


def narrowed(query: str, thing: NamedNode) -> str:
    """A query with one of the things that its VALUES lists, that of a choice; empty where none lists it."""
    for match in re.finditer(r"VALUES (\?\w+) \{ ([^{}]*) \}", query):
        if str(thing) in match[2].split():
            return f"{query[: match.start()]}VALUES {match[1]} {{ {thing} }}{query[match.end() :]}"
    return ""


def joined(turn: Turn, text: str) -> str:
    """The earlier question with a detail added to it."""
    question = turn.question.rstrip(" ?？。.!！")
    detail = _TRAIL.sub("", _TRAIL_ZH.sub("", _LEAD.sub("", text))).strip()
    return f"{question}，{detail}？" if has_han(question) else f"{question}, {detail}?"


def shown(options: Sequence[ReplyOption]) -> tuple[str, ...]:
    """The options as they are shown."""
    return tuple(option.shown for option in options)


# What a turn means that leans on the last by a day, a thing of the scheme, or a place in an order of times.


def is_after_that(text: str, frame: BoundScheme) -> bool:
    """Whether a text asks for the one after the last answer: "and the one after that?", 再下一个."""
    return lexicon.pattern("conversation.after_that", **frame.scheme.spoken()).fullmatch(text) is not None


def after_last(turn: Turn, frame: BoundScheme, run: RunQuery) -> NamedNode | None:
    """The thing that the last turn's query finds after its last answer, in the order of their moments."""
    if not turn.query or not turn.values or "?moment" not in turn.query:
        return None
    rows = [
        (row[1].value, frame.names.label(row[0]), row[0])
        for row in run(turn.query).rows
        if len(row) > 1 and isinstance(row[0], NamedNode) and isinstance(row[1], Literal) and as_moment(row[1].value)
    ]
    rows = sorted(set(rows), key=lambda row: row[:2])
    places = [place for place, (_, label, _) in enumerate(rows) if label == turn.values[-1]]
    if not places or places[0] + 1 >= len(rows):
        return None
    return rows[places[0] + 1][2]


def other_time(text: str, turn: Turn, now: datetime, frame: BoundScheme) -> str:
    """The last question with the time of a text that says no more than a time; empty where it says more, or none."""
    spoken = frame.scheme.spoken()
    found = window(text, now, spoken)
    if found is None or lexicon.pattern("conversation.empty").fullmatch(masked(text, found.spans)) is None:
        return ""
    before = window(turn.question, now, spoken)
    gone = list(day_spans(turn.question, now, spoken)) if not found.sharp else list(before.spans) if before else []
    if before is not None and not gone and not before.sharp:
        gone = list(before.spans)
    said = " ".join(text[start:end] for start, end in found.spans)
    lead = re.search(
        r"(?:\b(?:before|after|until|till|since|around|about|from|at|between)\s+|大约)$",
        text[: min(s for s, _ in found.spans)],
    )
    left = re.sub(r"\s{2,}", " ", masked(turn.question.rstrip(" ?？。.!！"), gone)).strip(" ,，")
    left = re.sub(r"\b(?:on|at|in|for|of|before|after|since|around|from|between)(?:\s+the)?$", "", left).strip()
    detail = f"{lead.group() if lead else ''}{said}"
    return f"{detail}{left}？" if has_han(left) else f"{left} {detail}?"


def other_thing(text: str, new: ParsedQuestion, old: ParsedQuestion, frame: BoundScheme) -> str:
    """The last question with what the text names put where that has something by the same property; else empty."""
    if not is_fragment(text):
        return ""
    for item in new.constraints:
        predicates = {predicate for predicate, _ in item.pairs}
        same = [c for c in old.constraints if predicates & {predicate for predicate, _ in c.pairs}]
        if same and set(same[0].pairs) != set(item.pairs):
            low, high = _stretch(same)
            high += _again(old.text[high:], same[0], frame)
            rest = f"{old.text[:low]}{item.text}{old.text[high:]}"
            return rest if old.text[low:high] != item.text else ""
    return ""


def _again(rest: str, item: NamedConstraint, frame: BoundScheme) -> int:
    """How far another word of the glossary for the same thing reaches, right after its name: KLM荷航."""
    said = [word.text for name, word in frame.jargon if set(frame.pairs(name)) & set(item.pairs)]
    return max((len(text) for text in said if rest.casefold().startswith(text.casefold())), default=0)


def _stretch(found: list[NamedConstraint]) -> tuple[int, int]:
    """From where to where names that touch one another reach, from the first on."""
    found = sorted(found, key=lambda item: item.start)
    low, high = found[0].start, found[0].end
    for item in found[1:]:
        high = max(high, item.end) if item.start <= high + 1 else high
    return low, high


def with_code(text: str, new: ParsedQuestion, old: ParsedQuestion, turn: Turn, frame: BoundScheme) -> str:
    """The text with the code that the last turn was about in place of "it", and its day; else empty."""
    match = lexicon.pattern("conversation.leaning_pronoun", **frame.scheme.spoken()).search(text)
    if match is None or new.codes or new.identifiers or is_fragment(text):
        return ""
    named = (*old.identifiers, *old.codes)
    answered = [value for value in turn.values if value in frame.identifiers]
    thing = named[0] if len(named) == 1 else answered[0] if not named and len(answered) == 1 else ""
    if not thing:
        return ""
    own = "'s" if match.group().casefold() == "its" else ""
    when = ""
    if old.window is not None and old.window.whole and new.window is None and thing in old.codes:
        when = " ".join(old.text[start:end] for start, end in old.window.spans)
    body = f"{text[: match.start()]}{thing}{own}{text[match.end() :]}"
    if not when:
        return body
    return f"{when}{body}" if has_han(body) else f"{body.rstrip(' ?')} {when}?"


# A question with its thing named by its identifier, where code and day together say which thing is meant.

_EDGES = re.compile(r"\s{2,}")


def standing_alone(parsed: ParsedQuestion, frame: BoundScheme, run: RunQuery) -> str:
    """The question with identifiers for its things and without their class word; as it is where that is not clear.

    ``KL787 on 14 March 2025`` becomes the identifier of the one flight that has this number on that day.
    """
    text = parsed.text
    if len(parsed.codes) == 1 and not parsed.identifiers and parsed.window is not None:
        found = _identifier(parsed, frame, run)
        if found:
            text = _replaced(parsed, found)
    elif not parsed.identifiers:
        return text
    return _EDGES.sub(" ", _bare(text, frame)).strip()


def _identifier(parsed: ParsedQuestion, frame: BoundScheme, run: RunQuery) -> str:
    """The identifier of the one thing with the code in the window, by timetable or else by best knowledge."""
    scheme, when = frame.scheme, parsed.window
    if scheme.code is None or when is None:
        return ""
    for moment in dict.fromkeys((scheme.timetable, scheme.moment)):
        if moment is None:
            continue
        code = ((scheme.code, Literal(parsed.codes[0])),)
        found = look_up(LookupRequest((code,), (moment,), when.low, when.high), frame, run).found
        labels = {frame.names.label(item.thing) for item in found}
        if len(labels) == 1 and labels <= frame.identifiers:
            return labels.pop()
    return ""


def _replaced(parsed: ParsedQuestion, identifier: str) -> str:
    """The question with the identifier where the code is, and the words of the window left out."""
    when = parsed.window
    assert when is not None
    codes = [span for span in parsed.spans if span not in when.spans]
    text = parsed.text
    for start, end in sorted((*when.spans, *codes[:1]), reverse=True):
        before, after = text[:start], text[end:]
        if (start, end) in codes:
            text = f"{before}{identifier}{after}"
            continue
        before = lexicon.pattern("conversation.before").sub("", before)
        if has_han(parsed.text):
            after = re.sub(r"^\s*的", "", after)
        text = f"{before.rstrip() if before.strip() and not has_han(parsed.text) else before}{after}"
    return text


def _bare(text: str, frame: BoundScheme) -> str:
    """The text without the class word beside an identifier: "flight 20250314-KL787-D" is that identifier."""
    term = frame.names.schema.classes.get(frame.scheme.about)
    words = sorted({w.text for w in term.words} if term else set(), key=len, reverse=True)
    either = "|".join(re.escape(word) for word in words)
    if not either:
        return text
    wanted = "|".join(re.escape(item) for item in frame.identifiers if item in text)
    if not wanted:
        return text
    text = re.sub(rf"(?<![A-Za-z])(?:the\s+)?(?:{either})\s*({wanted})", r"\1", text, flags=re.IGNORECASE)
    return re.sub(rf"({wanted})\s*(?:次)?(?:{either})(?![A-Za-z号])", r"\1", text)


# What people say around a question, left out: greetings, thanks, what comes first, what goes without saying.
#
# Control characters go too, and letters and digits said aloud are written as such.

_DIGITS: Final = lexicon.table("conversation.digits")
_DIGIT: Final = "|".join(_DIGITS)
_TIDYING_BEFORE: Final = lexicon.pattern("conversation.tidying_before")
_AFTER: Final = lexicon.pattern("conversation.after")
_FIRST: Final = lexicon.pattern("conversation.first")
"""What is to be done before what is asked for: 吃完饭我想找…, "after lunch I want …". Nothing that has a name."""
_KINDS_OF_USE: Final = (
    ("住宿|入住|住下来?|过夜|落脚", "住", "酒店|宾馆|旅馆|旅店|民宿|客栈"),
    ("吃饭|用餐|就餐|吃东西|好吃", "吃", "餐馆|餐厅|饭店|饭馆|饭庄|酒楼"),
    ("游玩|游览|参观|溜达|逛逛|玩玩|好玩", "玩儿?", "景点|景区|公园|乐园"),
)
"""What one does at places of a kind, which goes without saying; in one character, only where one can or may."""
_USED: Final = re.compile(
    "|".join(
        rf"(?:(?:可以|能够?)(?:{use}|{brief})|(?:{use}))的(?:其他|别的)?(?=(?:{kind})(?!的))"
        rf"|(?<=的)(?P<kind{n}>{kind})(?:{use}|{brief})(?:一下|一会儿?)?(?=[吧呢吗呀啊]?(?:[，,。！？!?\s]|$))"
        for n, (use, brief, kind) in enumerate(_KINDS_OF_USE)
    )
)
_ADVICE: Final = lexicon.pattern("conversation.advice")
"""A last clause that only asks for advice, of a question that has said for what."""
_SOMEWHAT: Final = lexicon.pattern("conversation.somewhat")


def tidied(text: str, spoken: Mapping[str, str] = UNSPOKEN) -> str:
    """The question without what only surrounds it, and with "C five" as C5.

    >>> tidied("hi there, which gate is DL75 at please?")
    'which gate is DL75 at?'
    """
    clean = "".join(" " if unicodedata.category(c) in ("Cc", "Cf", "Cs") else c for c in text).strip()
    bare = _FIRST.sub("", _AFTER.sub(lambda match: match["end"], _TIDYING_BEFORE.sub("", clean)))
    bare = _USED.sub(lambda match: next(filter(None, match.groups()), ""), bare)
    bare = lexicon.pattern("conversation.known").sub(r"\g<what>是什么", _SOMEWHAT.sub(r"\1的", bare))
    bare = _ADVICE.sub(r"\g<end>", bare)
    bare = bare if any(c.isalnum() for c in bare) else clean
    return lexicon.pattern("conversation.letter_said", digit=_DIGIT, **spoken).sub(_joined, bare)


def is_leave(text: str) -> bool:
    """Whether nothing is asked any more: "cancel", "thanks", 算了."""
    return lexicon.pattern("conversation.leaving").fullmatch(text) is not None


def _joined(match: re.Match[str]) -> str:
    letter = match["any"] or match["capital"]
    if match["capital"] and not letter.isupper():
        return match.group()
    digits = "".join(_DIGITS[word.casefold()] for word in re.split(r"[ -]", match["n"]))
    return f"{match['kind'] or ''}{letter.upper()}{digits}"


_LONGEST = 2_000
_UNSURE = 0.45
_SURE = 0.85
_EDITED = 0.7


@dataclass(frozen=True, slots=True)
class Talk:
    """What answering in a conversation takes besides the parts of answering: the moment of "now", the turns before."""

    parts: answer.QuestionParts
    now: datetime | None = None
    turns: tuple[Turn, ...] = ()
    clock: Callable[[], datetime] = field(default=datetime.now)


@dataclass(frozen=True, slots=True)
class SpokenAnswer:
    """An answer, and the turn that it makes."""

    answer: Answer
    turn: Turn


def talk(text: str, talk_: Talk) -> SpokenAnswer:
    """The answer to what was said after the turns so far, whatever it is; it never writes."""
    began = time.perf_counter()
    said = _Talking(text, talk_).said()
    seconds = time.perf_counter() - began
    return replace(said, answer=replace(said.answer, usage=replace(said.answer.usage, seconds=seconds)))


class _Talking:
    """One turn on its way to an answer."""

    def __init__(self, text: str, talk_: Talk) -> None:
        self._said = text
        self._talk = talk_
        self._parts = talk_.parts
        self._frame: BoundScheme | None = next(iter(talk_.parts.knowledge.frames), None)
        self._spoken = self._frame.scheme.spoken() if self._frame else UNSPOKEN
        self._text = tidied(text[: 2 * _LONGEST], self._spoken)[:_LONGEST]
        self._usage = Usage()
        self._notes: list[str] = []

    def said(self) -> SpokenAnswer:
        last = self._talk.turns[-1] if self._talk.turns else None
        if is_leave(self._text) and (last is not None or not self._parts.knowledge.names.link(self._text)):
            return self._left()
        if last is not None and last.question and self._text:
            followed = self._followed(last)
            if followed is not None:
                return followed
        return self._standing(self._text)

    # after a turn

    def _followed(self, last: Turn) -> SpokenAnswer | None:
        """What a reply to a question back, or a question that leans on the last one, comes to; None: a new question."""
        if (leaning := self._leaning(last)) is not None:
            return leaning
        if last.options and last.asks:
            left = chosen(self._text, last) or self._by_details(last)
            if len(left) == 1:
                return self._chose(left[0], last)
            if 1 < len(left) < len(last.options):
                return self._asks(phrase("more_options", self._language()), left, last)
        if last.asks and is_fragment(self._text):
            return self._standing(joined(last, self._text))
        return self._edited(last)

    def _edited(self, last: Turn) -> SpokenAnswer | None:
        """What a turn comes to that edits the form of the last one; None: it stands alone."""
        forms, embedder, language = self._parts.knowledge.forms, self._parts.embedder(), self._language()
        if forms is None or not last.query:
            return None
        fragment = is_fragment(self._text)
        follow_ups = FollowUps(forms, embedder if embedder is not None and embedder.name == CARRIED else None)
        asked = follow_ups.leans(self._text, language)
        if asked is None and not fragment:
            return None
        asked = asked or read(self._text, language, forms.names)
        try:
            spoken = self._spoken_of(last, follow_ups)
            after = (
                next_in_order(spoken)
                if lexicon.pattern("conversation.after_that", **self._spoken).fullmatch(self._text)
                else None
            )
            edits = [FormEdit(after, 1.0)] if after else follow_ups.edits(asked, spoken, fragment=fragment)
        except (QueryError, ModelError) as error:
            self._notes.append(f"not taken as a follow-up: {error}")
            return None
        if not edits:
            return None
        best, *other = rivals(edits, forms.graph)
        if other:
            return self._which_edit((best, other[0]), follow_ups, forms.graph)
        return self._of_form(best.form)

    def _which_edit(self, edits: tuple[FormEdit, FormEdit], follow_ups: FollowUps, graph: FactGraph) -> SpokenAnswer:
        """A question back: the constituents in which two forms differ that the turn may mean as well."""
        language = self._language()
        said = [follow_ups.worded(part, language) for part in difference(edits[0].form, edits[1].form)]
        asks = phrases(language)["either"].format(one=said[0], other=said[1])
        options = tuple(
            ReplyOption(words, words, form=written_form(edit.form, graph))
            for words, edit in zip(said, edits, strict=True)
        )
        return self._asks(asks, options, Turn(said=self._said, question=self._text, answer=asks))

    def _of_form(self, form: Form) -> SpokenAnswer:
        """The answer to a form, and its turn, which keeps the form for the next one to edit."""
        forms = self._parts.knowledge.forms
        assert forms is not None
        reading = forms.reading_of(form, self._language(), _EDITED)
        self._notes.append(f"taken as: {reading.words}")
        found = answer.ask_query(self._text, reading, parts=self._parts)
        if found.verdict is Verdict.ANSWERED:
            text = phrases(self._language())["of_reading"].format(reading=reading.words, answer=found.text)
            found = replace(found, text=text[:1].upper() + text[1:])
        done = self._done(found, question=reading.words)
        return replace(done, turn=replace(done.turn, form=written_form(form, forms.graph)))

    def _spoken_of(self, last: Turn, follow_ups: FollowUps) -> SpokenOf:
        """The form of the last turn: as it was kept, or the reading of its question that gives what its query does."""
        language = "zh" if has_han(last.question) else "en"
        found = self._parts.run(last.query)
        return follow_ups.spoken_of(last.question, last.query, found, language=language, kept=last.form)

    def _leaning(self, last: Turn) -> SpokenAnswer | None:
        """What a reply comes to that takes another day, another thing or the next one in the order of the last turn."""
        frame = self._frame
        if frame is None:
            return None
        if is_after_that(self._text, frame) and not (last.asks and last.options):
            return self._after_last(last, frame)
        if not last.asks or last.options:
            question = other_time(self._text, last, self._now().moment, frame)
            if question and window(last.question, self._now().moment, self._spoken) is None and last.asks:
                question = ""
            if question:
                return self._standing(question)
        if last.asks or not last.question:
            return None
        new, old = self._parsed(self._text), self._parsed(last.question)
        question = other_thing(self._text, new, old, frame) or with_code(self._text, new, old, last, frame)
        return self._standing(question) if question else None

    def _after_last(self, last: Turn, frame: BoundScheme) -> SpokenAnswer | None:
        """The thing after the last answer, in the order of the last turn."""
        try:
            thing = after_last(last, frame, self._parts.run)
        except QueryError as error:
            self._notes.append(f"not looked up: {error}")
            return None
        parsed = self._parsed(last.question)
        if thing is None:
            known = last.values[-1] if last.values and last.values[-1] in frame.identifiers else ""
            if not known:
                return None
            if "?moment" in last.query:
                none = DialogueReply(phrase("no_next", self._language(), what=known), query=last.query, found=False)
                return self._replied(none, parsed, Classified(last.label, last.way))
            chinese = has_han(self._text)
            return self._standing(f"{known}之后的下一个是什么？" if chinese else f"What is the next after {known}?")
        way = ClassWay(parsed, frame, self._now(), self._parts.run)
        self._notes.append(f"the one after {last.values[-1]}")
        moments = (frame.scheme.moment,) if frame.scheme.moment else ()
        at = moment_of(thing, moments, self._parts.run)
        lookup = Lookup(last.query, self._parts.run(last.query), (TimedThing(thing, at.isoformat() if at else ""),))
        return self._replied(way.said(lookup), parsed, Classified(last.label, last.way))

    def _left(self) -> SpokenAnswer:
        """Nothing is asked any more, and the turn asks nothing back."""
        text = phrase("left", self._language())
        kind = Question(self._said, self._language(), QuestionKind.LIST)
        found = Answer(text=text, question=kind, verdict=Verdict.UNANSWERABLE, confidence=0.0, using="sparql")
        return SpokenAnswer(found, Turn(said=self._said, question="", answer=text))

    def _by_details(self, last: Turn) -> tuple[ReplyOption, ...]:
        """The options that have what a reply says of them."""
        if self._frame is None or not is_fragment(self._text):
            return ()
        parsed = self._parsed(self._text)
        groups = [item.pairs for item in parsed.constraints]
        when = parsed.window
        if not groups and when is None:
            return ()
        moment = self._frame.scheme.moment
        wanted = LookupRequest(
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

    def _codes_of(self, found: tuple[TimedThing, ...]) -> set[str]:
        """The codes of things, as their values say."""
        code = self._frame.scheme.code if self._frame else None
        if code is None or not found:
            return set()
        things = " ".join(str(item.thing) for item in found[:200])
        rows = self._parts.run(
            f"SELECT DISTINCT ?code WHERE {{ VALUES ?thing {{ {things} }} ?thing {code} ?code }}"
        ).rows
        return {row[0].value for row in rows if row[0] is not None and hasattr(row[0], "value")}

    def _chose(self, option: ReplyOption, last: Turn) -> SpokenAnswer:
        """The answer for one option."""
        forms = self._parts.knowledge.forms
        if option.form and forms is not None and (form := form_written(option.form, forms.graph)) is not None:
            return self._of_form(form)
        if last.blank:
            return self._standing(last.blank.replace("{}", option.text))
        if not option.text and not option.thing:
            return self._asked_for(option, last)
        if option.thing and last.query and last.way == "":
            query = narrowed(last.query, NamedNode(option.thing))
            if query:
                found = answer.ask_query(last.question, query, parts=self._parts)
                return self._done(found, question=f"{last.question} ({option.shown})")
        return self._standing(self._about(option, last))

    def _asked_for(self, option: ReplyOption, last: Turn) -> SpokenAnswer:
        """A question back for the detail that was only named."""
        asks = f"{option.shown}？" if has_han(option.shown) else f"Which {option.shown}?"
        return self._asks(asks, last.options, last)

    def _about(self, option: ReplyOption, last: Turn) -> str:
        """A question that stands alone for the thing chosen, asking what the earlier question asked."""
        schema = self._parts.knowledge.schema
        language = "zh" if has_han(last.question) else "en"
        scheme = self._frame.scheme if self._frame else None
        asked = [NamedNode(iri) for iri in last.asked] or [p for p in (scheme.moment if scheme else None,) if p]
        if last.way == "ownerPlace" and scheme:
            asked = list(scheme.shown_places[:1])
        label = schema.label(asked[0], language) if asked else ""
        return f"{option.text}的{label}是什么？" if language == "zh" else f"What is the {label} of {option.text}?"

    def _asks(self, asks: str, options: tuple[ReplyOption, ...], last: Turn) -> SpokenAnswer:
        clarification = Clarification(asks, shown(options))
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
        return SpokenAnswer(found, replace(last, said=self._said, asks=asks, options=options))

    # by itself

    def _standing(self, text: str) -> SpokenAnswer:
        """The answer to a question that stands alone."""
        if text != self._text:
            self._notes.append(f"taken as: {text}")
        if self._frame is None or not any(c.isalnum() for c in text) or asks_why(text):
            return self._plain(text, text)
        if subject_of(text, self._parts.knowledge.names) is not None:
            return self._plain(text, text)
        parsed = self._parsed(text)
        try:
            return self._by_class(parsed, self._frame)
        except QueryError as error:
            self._notes.append(f"not looked up: {error}")
            return self._plain(text, text)

    def _by_class(self, parsed: ParsedQuestion, frame: BoundScheme) -> SpokenAnswer:
        now = self._now()
        tell(AnswerStage.LINKED, self._reading(parsed))
        found = self._classified(parsed, frame, now)
        way = States(parsed, frame, now, self._parts.run)
        if (state := way.state()) is not None:
            return self._replied(state, parsed, found)
        if is_yes_no(parsed) and (lost := unsaid(not_understood(parsed, frame), frame.scheme.idle)):
            text = phrase("lost", parsed.language, words=", ".join(lost))
            return self._replied(DialogueReply(text, found=False), parsed, found)
        if found.way == NONE:
            return self._whole(parsed, frame, now, way)
        missing = parsed.missing or (found.way == "place" and not_understood(parsed, frame))
        if missing and not self._understood(parsed, found):
            return self._plain(parsed.text, parsed.text, label=found.notation)
        edge = way.edge() if found.way in ("window", "ownerWindow") else None
        reply = edge or way.go(found.way)
        if reply.reread:
            self._notes += [reply.text]
            again = self._reread(reply, frame)
            return replace(again, answer=replace(again.answer, question_class=found.notation))
        return self._replied(reply, parsed, found)

    def _reread(self, reply: DialogueReply, frame: BoundScheme) -> SpokenAnswer:
        """The answer to the question with the whole code, of the day of now where that is enough."""
        parsed = self._parsed(reply.reread)
        said = self._by_class(parsed, frame) if parsed.partial is None else self._plain(reply.reread, reply.reread)
        return replace(said, answer=replace(said.answer, text=f"{reply.text} {said.answer.text}"))

    @staticmethod
    def _understood(parsed: ParsedQuestion, found: Classified) -> bool:
        """Whether the way says itself what it does not know."""
        return found.way == "code" or (found.way == "place" and not parsed.constraints)

    def _classified(self, parsed: ParsedQuestion, frame: BoundScheme, now: Now) -> Classified:
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

    def _whole(self, parsed: ParsedQuestion, frame: BoundScheme, now: Now, way: ClassWay) -> SpokenAnswer:
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

    def _plain(self, text: str, question: str, *, label: str = NONE) -> SpokenAnswer:
        """What the translator makes of a question."""
        if text != question:
            self._notes.append(f"interpreted as: {text}")
        found = answer.ask(text, parts=self._parts)
        return self._done(replace(found, question_class=label if self._frame else ""), question=question)

    def _done(self, found: Answer, *, question: str) -> SpokenAnswer:
        """An answer as it is handed on, and its turn."""
        asks = found.clarification
        options: tuple[ReplyOption, ...] = ()
        if asks is not None:
            things = asks.things or (None,) * len(asks.options)
            options = tuple(
                ReplyOption(shown, shown, thing.value if thing else "")
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
        return SpokenAnswer(handed, turn)

    def _replied(self, reply: DialogueReply, parsed: ParsedQuestion, found: Classified) -> SpokenAnswer:
        """The answer and the turn of a way's reply."""
        clarification = Clarification(reply.asks, tuple(c.shown for c in reply.choices)) if reply.asks else None
        if reply.query:
            tell(AnswerStage.QUERY, reply.query)
            tell(AnswerStage.ROWS, number=len(reply.solutions.rows))
        verdict = Verdict.UNCLEAR if clarification else Verdict.ANSWERED if reply.found else Verdict.UNANSWERABLE
        support = self._support(reply)
        answer_ = Answer(
            text=reply.text,
            question=Question(self._said, parsed.language, _kind(reply), self._parts.knowledge.names.link(parsed.text)),
            verdict=verdict,
            confidence=_SURE if verdict is Verdict.ANSWERED else _UNSURE if clarification else 0.3,
            using="sparql",
            query=Query(reply.query, self._reading(parsed)) if reply.query else None,
            solutions=reply.solutions,
            values=reply.values,
            evidence=support.passages,
            row_evidence=support.rows,
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
            options=tuple(ReplyOption(c.shown, c.text, c.thing.value if c.thing else "") for c in reply.choices),
            blank=self._blank(parsed) if found.way == "code" and reply.choices else "",
            query=reply.query,
            values=reply.values[:20],
            asked=tuple(p.value for p in parsed.asked[:3]),
        )
        return SpokenAnswer(answer_, turn)

    def _support(self, reply: DialogueReply) -> RowSupport:
        if not reply.query or not reply.solutions.rows:
            return RowSupport()
        parts, rows = self._parts, reply.solutions
        return supporting(reply.query, parts.dataset, run=parts.run, find=parts.find, why=parts.why, solutions=rows)

    def _reading(self, parsed: ParsedQuestion) -> str:
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

    def _blank(self, parsed: ParsedQuestion) -> str:
        partial = parsed.partial
        if partial is None:
            return ""
        return parsed.text[: partial.said.start] + "{}" + parsed.text[partial.said.end :]

    def _parsed(self, text: str) -> ParsedQuestion:
        assert self._frame is not None
        return parse_question(text, self._frame, self._parts.knowledge.translator, self._now().moment)

    def _now(self) -> Now:
        assert self._frame is not None
        return self._frame.now(self._talk.now, self._talk.clock())

    def _language(self) -> str:
        return "zh" if language_asked_in(self._text) == "zh" else "en"


def _kind(reply: DialogueReply) -> QuestionKind:
    solutions: Solutions = reply.solutions
    counted = len(reply.values) == 1 and solutions.rows and reply.values[0] == str(len(solutions.rows))
    return QuestionKind.COUNT if counted else QuestionKind.LIST
