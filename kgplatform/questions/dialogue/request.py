"""What a question says about the things of a scheme: codes, owner, place, time, other marks, and what it asks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from pyoxigraph import NamedNode

from kgplatform import lexicon
from kgplatform.ontology.schema import Word
from kgplatform.questions.check import dropped
from kgplatform.questions.dialogue.scheme import BoundScheme, Pair, SpokenCode, full_codes, numbers_said
from kgplatform.questions.dialogue.times import Window, window
from kgplatform.questions.name_index import GraphName
from kgplatform.questions.parser.coordination import NameMention
from kgplatform.questions.parser.mentions import QuestionReading
from kgplatform.questions.parser.translator import BuiltinTranslator
from kgplatform.questions.parser.vocabulary import parts
from kgplatform.text import has_han

# What is said of things found by a scheme, in English and Chinese, and how moments and lengths of time are written.

_MONTHS: Final = list(lexicon.words("request.months"))

_WORDS: Final[Mapping[str, Mapping[str, str]]] = lexicon.phrases("request_words")


def phrase(name: str, language: str, **parts: object) -> str:
    """A sentence in the language, English where it has none."""
    return _WORDS.get(language, _WORDS["en"])[name].format(**parts)


def moment_text(moment: datetime, language: str, *, day: bool = True) -> str:
    """A moment as people write it: 15 Mar 2025 12:00, 2025年3月15日 12:00."""
    clock = f"{moment:%H:%M}" if not moment.second else f"{moment:%H:%M:%S}"
    if not day:
        return clock
    if language == "zh":
        return f"{moment.year}年{moment.month}月{moment.day}日 {clock}"
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year} {clock}"


def day_text(moment: datetime, language: str) -> str:
    """A day as people write it: 15 Mar 2025, 2025年3月15日."""
    if language == "zh":
        return f"{moment.year}年{moment.month}月{moment.day}日"
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def length_text(length: timedelta, language: str, unit: str = "") -> str:
    """A length of time in words, in one unit if that is asked for: 75 minutes, 1 hour 15 minutes, 1小时15分钟."""
    seconds = round(abs(length.total_seconds()))
    if unit:
        return (
            f"{amount_text(length, unit)} {_unit(unit, amount_text(length, unit))}"
            if language != "zh"
            else (
                f"{amount_text(length, unit)}{ {'minute': '分钟', 'hour': '小时', 'second': '秒', 'day': '天'}[unit] }"
            )
        )
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, rest = divmod(rest, 60)
    parts = [(days, "day", "天"), (hours, "hour", "小时"), (minutes, "minute", "分钟"), (rest, "second", "秒")]
    said = [(n, en, zh) for n, en, zh in parts if n]
    if not said:
        return "0分钟" if language == "zh" else "0 minutes"
    if language == "zh":
        return "".join(f"{n}{zh}" for n, _, zh in said)
    return " ".join(f"{n} {_unit(en, str(n))}" for n, en, _ in said)


def amount_text(length: timedelta, unit: str) -> str:
    """A length of time as a number of a unit: minute, hour, second or day."""
    size = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}[unit]
    return f"{abs(length.total_seconds()) / size:.2f}".rstrip("0").rstrip(".")


def _unit(unit: str, amount: str) -> str:
    return unit if amount == "1" else f"{unit}s"


_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{4,40}[A-Za-z0-9]")
_SURE = 0.55
_LIKELY = 0.15
_OUTRIGHT, _NAMED = 0.99, 0.04
_CODE_DIGITS = 3
_STRANGE = 0.8


@dataclass(frozen=True, slots=True)
class NamedConstraint:
    """Words of a question and how the things asked for relate to them: by any of the pairs."""

    text: str
    pairs: tuple[Pair, ...]
    start: int
    end: int

    def by(self, predicates: Iterable[NamedNode]) -> tuple[Pair, ...]:
        """The pairs by one of the properties."""
        wanted = set(predicates)
        return tuple(pair for pair in self.pairs if pair[0] in wanted)


@dataclass(frozen=True, slots=True)
class Partial:
    """Digits that are part of codes: which codes, the shortest way to read them first."""

    said: SpokenCode
    candidates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question in the terms of a scheme.

    ``identifiers`` and ``codes`` are whole; ``asked`` are properties of the things that the question names;
    ``other`` says that it names properties or classes of something else, ``missing`` are names that nothing knows.
    """

    text: str
    language: str
    reading: QuestionReading
    identifiers: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    partial: Partial | None = None
    constraints: tuple[NamedConstraint, ...] = ()
    window: Window | None = None
    asked: tuple[NamedNode, ...] = ()
    about: bool = False
    other: bool = False
    missing: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = field(default=())

    def by(self, predicates: Iterable[NamedNode]) -> tuple[NamedConstraint, ...]:
        """The constraints by one of the properties."""
        wanted = tuple(predicates)
        return tuple(item for item in self.constraints if item.by(wanted))


def parse_question(text: str, frame: BoundScheme, translator: BuiltinTranslator, now: datetime) -> ParsedQuestion:
    """The question as the scheme sees it."""
    when = window(text, now, frame.scheme.spoken())
    spans: list[tuple[int, int]] = list(when.spans) if when else []
    identifiers = [(m.group(), *m.span()) for m in _IDENTIFIER.finditer(text) if m.group() in frame.identifiers]
    spans += [(start, end) for _, start, end in identifiers]
    codes = list(full_codes(masked(text, spans), frame.codes))
    spans += [(start, end) for _, start, end in codes]
    reading = translator.read(masked(text, spans))
    said = list(_said(reading, frame))
    jargon = list(_jargon(masked(text, spans), frame, reading.language))
    named = [item for item in _constraints(reading, frame) if not any(_overlap(item, other) for other in jargon)]
    found = [*named, *jargon, *said]
    found = _without_verbs(_without_doubles(found), frame)
    owners = [item for item in found if frame.scheme.owner and item.by((frame.scheme.owner,))]
    partial, code, gone = _number(text, spans, found, owners, frame)
    if code is not None:
        codes.append((code, *gone[0]))
    found = [item for item in found if not any(item.start < end and start < item.end for start, end in gone)]
    spans += gone
    asked, about, other = asked_of(reading, found, frame)
    return ParsedQuestion(
        text=text,
        language="zh" if reading.language == "zh" else "en",
        reading=reading,
        identifiers=tuple(dict.fromkeys(item for item, _, _ in identifiers)),
        codes=tuple(dict.fromkeys(item for item, _, _ in codes)),
        partial=partial,
        constraints=tuple(found),
        window=when,
        asked=asked,
        about=about,
        other=other,
        missing=_missing(reading, found, frame, spans),
        spans=tuple(sorted(spans)),
    )


def masked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with blanks at the places."""
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def said_in(text: str, words: Iterable[Word], language: str) -> tuple[int, int] | None:
    """Where one of the words stands in a text; words of another language are not looked for."""
    low = text.casefold()
    for word in words:
        wanted = word.text.casefold()
        if has_han(wanted):
            place = low.find(wanted) if language == "zh" else -1
            if place >= 0:
                return place, place + len(wanted)
            continue
        match = re.search(rf"(?<![a-z0-9]){re.escape(wanted)}(?![a-z0-9])", low)
        if match:
            return match.span()
    return None


def _said(reading: QuestionReading, frame: BoundScheme) -> Iterator[NamedConstraint]:
    """What the scheme's own words say, such as "leaves" of the direction; not where they are part of another word."""
    text = masked(reading.text, (_place(m, reading) for m in reading.mentions if has_han(_text(m, reading))))
    found: dict[NamedNode, tuple[int, int]] = {}
    for term, word in frame.scheme.said:
        place = said_in(text, (word,), reading.language) or _whole_mention(word, reading, frame)
        if place is not None and (term not in found or place < found[term]):
            found[term] = place
    if len(found) == 1:
        (term, place), *_ = found.items()
        pairs = frame.pairs(GraphName(term, 1.0, "entity"))
        if pairs:
            yield NamedConstraint(text[slice(*place)], pairs, *place)


def _place(mention: NameMention, reading: QuestionReading) -> tuple[int, int]:
    return reading.tokens[mention.first].start, reading.tokens[mention.last - 1].end


def _text(mention: NameMention, reading: QuestionReading) -> str:
    return reading.text[slice(*_place(mention, reading))]


def _in_code(mention: NameMention, reading: QuestionReading) -> bool:
    """Whether a letter is only the beginning of a code that nothing is called by: the C of C99."""
    start, end = _place(mention, reading)
    return end - start <= 2 and reading.text[start:end].isascii() and reading.text[end : end + 1].isdigit()


def _whole_mention(word: Word, reading: QuestionReading, frame: BoundScheme) -> tuple[int, int] | None:
    """The place of a mention that begins or ends with the word, and is no name of a class: 到达 in 到达航班."""
    for mention in reading.mentions:
        said = _text(mention, reading)
        terms = {name.term for option in mention.options for name in option.names}
        named = bool(terms & set(frame.scheme.places))
        named = named or (any(option.kind == "class" for option in mention.options) and said != word.text)
        if has_han(said) and not named and (said.startswith(word.text) or said.endswith(word.text)):
            return _place(mention, reading)
    return None


def _constraints(reading: QuestionReading, frame: BoundScheme) -> Iterator[NamedConstraint]:
    """The names of a question that things relate to."""
    for number, mention in enumerate(reading.mentions):
        if _in_code(mention, reading):
            continue
        related = [
            (option.score, pairs)
            for option in mention.options
            if option.kind in ("entity", "value") and option.score >= _SURE
            if (pairs := tuple(pair for name in option.names for pair in frame.pairs(name)))
        ]
        if not related:
            continue
        best = max(score for score, _ in related)
        pairs = tuple(
            dict.fromkeys(
                pair
                for score, found in related
                if score >= best - (_NAMED if best >= _OUTRIGHT else _LIKELY)
                for pair in found
            )
        )
        start, end = reading.tokens[mention.first].start, reading.tokens[mention.last - 1].end
        pairs = _marked(reading.text, start, pairs, frame) or pairs
        pairs = _beside(number, reading.text, reading.mentions, pairs, frame) or _usual(pairs, frame) or pairs
        yield NamedConstraint(reading.text[start:end], pairs, start, end)


def _marked(text: str, start: int, pairs: tuple[Pair, ...], frame: BoundScheme) -> tuple[Pair, ...]:
    """The pairs by the property whose marker stands before the name, as "to" marks a destination."""
    before = text[:start].casefold().rstrip()
    marks = [
        predicate
        for predicate, word in frame.scheme.markers
        if before.endswith(word.text.casefold()) and (has_han(word.text) or re.search(rf"\b{word.text}$", before, re.I))
    ]
    return tuple(pair for pair in pairs if pair[0] in marks)


def _usual(pairs: tuple[Pair, ...], frame: BoundScheme) -> tuple[Pair, ...]:
    """The pairs by a place of the scheme, where others are possible too: on a ramp is not what was on it before."""
    return tuple(pair for pair in pairs if pair[0] in frame.scheme.places)


def _beside(
    number: int, text: str, mentions: tuple[NameMention, ...], pairs: tuple[Pair, ...], frame: BoundScheme
) -> tuple[Pair, ...]:
    """The pairs by a property that is named just before or after: "gate C05" is no ramp."""
    after = (number + 1,) if has_han(text) else ()
    near = [mentions[i] for i in (number - 1, *after) if 0 <= i < len(mentions)]
    here = mentions[number]
    terms = {
        name.term
        for mention in near
        if mention.last == here.first or mention.first == here.last
        for option in mention.options
        if option.kind in ("class", "property") and option.score >= 0.8
        for name in option.names
    }
    named = tuple(pair for pair in pairs if pair[0] in terms)
    return named or tuple(pair for pair in pairs if terms & set(frame.range_of(pair[0])))


def _jargon(text: str, frame: BoundScheme, language: str) -> Iterator[NamedConstraint]:
    """The glossary's words for things, with how the things asked for relate to these."""
    for name, word in frame.jargon:
        place = said_in(text, (word,), language)
        pairs = frame.pairs(name) if place is not None else ()
        if place is not None and pairs:
            yield NamedConstraint(text[slice(*place)], pairs, *place)


def _overlap(one: NamedConstraint, other: NamedConstraint) -> bool:
    return one.start < other.end and other.start < one.end


def _without_doubles(found: list[NamedConstraint]) -> list[NamedConstraint]:
    """Constraints by one property to one value once."""
    seen: set[tuple[Pair, ...]] = set()
    kept = []
    for item in found:
        if item.pairs not in seen:
            seen.add(item.pairs)
            kept.append(item)
    return kept


def _without_verbs(found: list[NamedConstraint], frame: BoundScheme) -> list[NamedConstraint]:
    """The constraints without words that only lead to the next name: "parked on ramp C05" is no state "parked"."""
    kept = []
    for item, after in zip(found, [*found[1:], None], strict=False):
        words = (
            {
                part
                for p, _ in after.pairs
                if (t := frame.names.schema.properties.get(p))
                for w in t.words
                for part in parts(w.text)
            }
            if after is not None
            else set()
        )
        own = any(value == term for _, value in item.pairs for term, _ in frame.scheme.said)
        leads = not own and after is not None and item.end <= after.start and set(parts(item.text)) <= words
        if not leads or (after is not None and set(item.pairs) & set(after.pairs)):
            kept.append(item)
    return kept


def _number(
    text: str,
    spans: list[tuple[int, int]],
    found: list[NamedConstraint],
    owners: list[NamedConstraint],
    frame: BoundScheme,
) -> tuple[Partial | None, str | None, list[tuple[int, int]]]:
    """A number that is part of codes, or with its owner's name a whole one; and the places it takes."""
    rest = masked(text, spans)
    named = [item for item in found if item not in owners and not item.text.strip().isdigit()]
    spoken = frame.scheme.spoken()
    between = lexicon.pattern("request.between", **spoken)
    for said in numbers_said(masked(rest, ((item.start, item.end) for item in named)), rest, spoken):
        before = next((o for o in owners if between.fullmatch(text[o.end : said.start])), None)
        letters = frame.owner_letters(t for _, t in before.by(filter(None, (frame.scheme.owner,)))) if before else ()
        letters = letters or _letters_before(rest, said, frame)
        whole = next((c for item in letters if (c := frame.codes.known(item, said.digits))), None)
        if whole is not None:
            start = before.start if before else said.start - len(letters[0])
            return None, whole, [(start, said.end)]
        candidates = frame.codes.candidates(said.digits, letters)
        if candidates or letters or _called_code(rest, said, frame):
            return Partial(said, candidates), None, [(said.start, said.end)]
    return None, None, []


def _called_code(text: str, said: SpokenCode, frame: BoundScheme) -> bool:
    """Whether the words beside a number say that it is a code: "flight 1009", 1009次航班."""
    found = frame.scheme.of_way("code")
    words = [w.text.casefold() for w in found.cues] if found and len(said.digits) >= _CODE_DIGITS else []
    before, after = text[: said.start].casefold().rstrip(), text[said.end :].casefold().lstrip()
    return any(before.endswith(word) or (has_han(word) and after.startswith(word)) for word in words)


def _letters_before(text: str, said: SpokenCode, frame: BoundScheme) -> tuple[str, ...]:
    """The letters of an owner's code right before a number: "KL 123"."""
    match = re.search(r"(?<![A-Za-z0-9])([A-Za-z]{2}|[A-Za-z]\d|\d[A-Za-z])\s?$", text[: said.start])
    return (match[1].upper(),) if match and frame.labels_of_owner(match[1].upper()) else ()


def _missing(
    reading: QuestionReading, found: list[NamedConstraint], frame: BoundScheme, spans: list[tuple[int, int]]
) -> tuple[str, ...]:
    """The names and numbers of a question that say nothing of the things."""
    explained = set(reading.cues.used)
    for mention in reading.mentions:
        start, end = reading.tokens[mention.first].start, reading.tokens[mention.last - 1].end
        used = any(item.start < end and start < item.end for item in found)
        if used or mention.options[0].kind in ("class", "property"):
            explained |= set(range(mention.first, mention.last))
    for place, token in enumerate(reading.tokens):
        if any(start < token.end and token.start < end for start, end in [*spans, *((c.start, c.end) for c in found)]):
            explained.add(place)
    strange = [m for m in reading.mentions if _is_strange(m, reading, found, frame)]
    return (*dropped(reading, frozenset(explained)), *(_text(m, reading) for m in strange))


def _is_strange(
    mention: NameMention, reading: QuestionReading, found: list[NamedConstraint], frame: BoundScheme
) -> bool:
    """Whether a mention is a name that says nothing of the things."""
    start, end = _place(mention, reading)
    option = mention.options[0]
    used = any(item.start < end and start < item.end for item in found)
    return (
        option.kind in ("entity", "value")
        and option.score >= _STRANGE
        and not used
        and not _is_cue(reading.text[start:end], frame)
    )


def asked_of(
    reading: QuestionReading, found: Iterable[NamedConstraint], frame: BoundScheme, apart: tuple[int, int] = (0, 0)
) -> tuple[tuple[NamedNode, ...], bool, bool]:
    """The properties asked for; whether the things' own class is named, and whether anything else is.

    Words in the stretch of text ``apart`` say something else: the 点 of 准点 is no place.
    """
    asked: list[NamedNode] = []
    about = other = False
    found = list(found)
    taken = [(item.start, item.end) for item in found] + [apart]
    for number, mention in enumerate(reading.mentions):
        option = mention.options[0]
        start, end = _place(mention, reading)
        if any(low < end and start < high for low, high in taken) or _is_cue(_text(mention, reading), frame):
            continue
        if (
            option.kind not in ("class", "property")
            or option.score < _SURE
            or _qualifies(number, reading, found, frame)
        ):
            continue
        terms = [name.term for name in option.names if isinstance(name.term, NamedNode)]
        if option.kind == "class":
            about = about or frame.scheme.about in terms
            terms = [p for p in (*frame.scheme.places, frame.scheme.owner) if p and set(terms) & set(frame.range_of(p))]
            other = other or (not terms and frame.scheme.about not in [n.term for n in option.names])
        elif not any(frame.has(term) for term in terms):
            other = True
        asked += [term for term in terms if frame.has(term)]
    return tuple(dict.fromkeys(asked)), about, other


def _is_cue(text: str, frame: BoundScheme) -> bool:
    """Whether words say no more than where: they belong to the question of a board."""
    board = frame.scheme.of_way("ownerPlace")
    places = {w.text for p in frame.scheme.places if (t := frame.names.schema.properties.get(p)) for w in t.words}
    cues = {w.text.casefold() for w in board.cues if w.text not in places} if board else set()
    said = text.casefold()
    return any(said == cue or (has_han(cue) and said.startswith(cue)) for cue in cues)


def _qualifies(number: int, reading: QuestionReading, found: list[NamedConstraint], frame: BoundScheme) -> bool:
    """Whether a class or property only says what kind of thing a name beside it is: "gate C05"."""
    mention = reading.mentions[number]
    start, end = reading.tokens[mention.first].start, reading.tokens[mention.last - 1].end
    terms = {name.term for option in mention.options for name in option.names}
    for item in found:
        before = end <= item.start and not reading.text[end : item.start].strip()
        after = item.end <= start and not reading.text[item.end : start].strip() and has_han(reading.text)
        kinds = {p for p, _ in item.pairs} | {iri for p, _ in item.pairs for iri in frame.range_of(p)}
        if (before or after) and terms & kinds:
            return True
    return False
