"""Statements with a value: a price, hours, a year or a rating, bound to the property that the words beside it name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgplatform.extraction.lexicon import Cue
from kgplatform.extraction.reading import Reading
from kgplatform.extraction.references import Referents
from kgplatform.extraction.values import Value, accepts, is_currency, literal_of, values_in
from kgplatform.ontology import OntologyProperty
from kgplatform.text import has_han
from kgplatform.types import Claim, Mention

_NOT_THE_VALUE = re.compile(
    r"(?:under|over|more than|less than|up to|at least|save|discount of|another|other|not"
    r"|超过|不到|至少|优惠|便宜|早|晚|加|另付|另)\s*$",
    re.IGNORECASE,
)
_PARTIAL = re.compile(
    r"\b(?:half|children|child|students?|seniors?|combined|joint|both|refund|deposit)\b"
    r"|联票|半价|儿童|学生|老人|优惠|押金|套票|通票"
)
_FOR = re.compile(r"^[^.;。]{0,12}?\b(?:for|of|to enter|is for|into)\s(?:the\s)?$")
_BEFORE, _AFTER, _YEAR_GAP = 32, 14, 14
_GENERIC_UNITS = frozenset(("min", "h", "m", "km", "km²", "s", "d", "degree"))
_SENTENCE_BREAK = re.compile(r"[。;；!！?？]")


def read_facts(reading: Reading, referents: Referents) -> None:
    """Adds the claims whose object is a value found in the sentence."""
    terms = [
        term for term in reading.lexicon.ontology.domain_properties if not term.is_object and term.ranges and term.words
    ]
    for start, end in reading.sentences:
        values = values_in(reading.text, start, end)
        if not values:
            continue
        cues = list(_cues(reading, start, end))
        mentions = referents.in_sentence(start, end)
        for value in values:
            options = [term for term in terms if accepts(term, value)]
            if options and not _inside_a_name(value, mentions):
                _bind(reading, referents, value, options, cues, mentions, (start, end), values)


def _inside_a_name(value: Value, mentions: list[Mention]) -> bool:
    return any(mention.start <= value.start and value.end <= mention.end for mention in mentions)


def _cues(reading: Reading, start: int, end: int) -> Iterator[tuple[int, int, tuple[Cue, ...]]]:
    pattern = reading.lexicon.value_pattern
    if pattern is None:
        return
    for match in pattern.finditer(reading.text, start, end):
        word = match.group().casefold()
        cues = reading.lexicon.value_cues.get(word) or reading.lexicon.value_cues.get(word.removesuffix("s"), ())
        if cues:
            yield match.start(), match.end(), cues


def _bind(
    reading: Reading,
    referents: Referents,
    value: Value,
    options: list[OntologyProperty],
    cues: list[tuple[int, int, tuple[Cue, ...]]],
    mentions: list[Mention],
    sentence: tuple[int, int],
    values: list[Value],
) -> None:
    if _NOT_THE_VALUE.search(reading.text[sentence[0] : value.start]) or re.match(
        r"\s?/\s?\d", reading.text[value.end : value.end + 3]
    ):
        return
    unsure: str | None = None
    for low, _high, named in _ranked(reading, value, cues, values):
        fitting = [cue for cue in named if cue.term in options]
        if not fitting:
            continue
        found = _subject(reading, referents, fitting, mentions, sentence, value, min(low, value.start))
        if found is None:
            unsure = "nothing beside it is what the value may be said of"
            continue
        subject, cue = found
        if is_currency(cue.term.unit) and _PARTIAL.search(
            reading.text[max(sentence[0], subject.end, value.start - 40) : value.end + 6]
        ):
            return
        _claim(reading, subject, cue.term, value, sentence)
        return
    if not _by_unit(reading, referents, options, value, mentions, sentence) and unsure:
        reading.refuse(*sentence, f"{reading.text[value.start : value.end]!r}: {unsure}")


def _ranked(
    reading: Reading, value: Value, cues: list[tuple[int, int, tuple[Cue, ...]]], values: list[Value]
) -> list[tuple[int, int, tuple[Cue, ...]]]:
    """The property words near the value, nearest first; none beyond another value or the end of a clause."""
    near: list[tuple[int, tuple[int, int, tuple[Cue, ...]]]] = []
    for item in cues:
        low, high, _ = item
        gap = reading.text[high : value.start] if high <= value.start else reading.text[value.end : low]
        distance = len(gap)
        before = high <= value.start
        limit = _BEFORE if before else _AFTER
        if value.kind == "year":
            limit = _YEAR_GAP if before else 8
        if low < value.end and value.start < high and not (low <= value.start or value.end <= high):
            continue
        if distance > limit or _SENTENCE_BREAK.search(gap) or (not before and re.search(r"[,，(（]", gap)):
            continue
        first, last = min(high, value.end), max(low, value.start)
        if any(first <= other.start and other.end <= last and other.kind == value.kind for other in values):
            continue
        near.append((distance + (0 if before else 4), item))
    return [item for _, item in sorted(near, key=lambda pair: pair[0])]


def _subject(
    reading: Reading,
    referents: Referents,
    cues: list[Cue],
    mentions: list[Mention],
    sentence: tuple[int, int],
    value: Value,
    position: int,
) -> tuple[Mention, Cue] | None:
    lexicon = reading.lexicon
    following = next((item for item in mentions if item.start >= value.end), None)
    if following is not None and _FOR.match(reading.text[value.end : following.start]):
        cue = lexicon.best(cues, following.type)
        if cue is not None:
            return following, cue
    between = [item for item in mentions if position <= item.start and item.end <= value.start]
    if value.kind == "year":  # "founded in Jiaxing in 1921" does not speak of Jiaxing
        between = []
    for item in reversed(between):
        cue = lexicon.best(cues, item.type)
        if cue is not None and not reading.strange_between(item.end, value.start):
            return item, cue
    if reading.strange_between(position, value.start):
        return None
    for cue in sorted(cues, key=lambda item: (item.rank, item.term.order)):
        subject = referents.subject(cue.term, mentions, sentence, position)
        best = lexicon.best(cues, subject.type) if subject is not None else None
        if subject is not None and best is not None:
            return subject, best
    return None


def _by_unit(
    reading: Reading,
    referents: Referents,
    options: list[OntologyProperty],
    value: Value,
    mentions: list[Mention],
    sentence: tuple[int, int],
) -> bool:
    """Binds a value whose unit alone tells the property: 7.5 credits, 345 rooms."""
    named = [term for term in options if value.kind == "number" and term.unit and term.unit not in _GENERIC_UNITS]
    if len(named) != 1 or named[0].unit == "people":
        return False
    subject = referents.subject(named[0], mentions, sentence, value.start)
    if subject is None or len(reading.text[subject.end : value.start]) > 40:
        return False
    _claim(reading, subject, named[0], value, sentence)
    return True


def _claim(reading: Reading, subject: Mention, term: OntologyProperty, value: Value, sentence: tuple[int, int]) -> None:
    written = reading.text[value.start : value.end]
    try:
        literal = literal_of(value.lexical if value.kind in ("span", "clock", "year", "date", "url") else written, term)
    except ValueError as error:
        reading.refuse(*sentence, str(error))
        return
    confidence = 0.85 if subject.start >= sentence[0] or has_han(written) else 0.75
    reading.claim(Claim(subject, term.iri, literal, *sentence, confidence))
