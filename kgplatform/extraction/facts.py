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
    r"\b(?:half|children|child|students?|seniors?|combined|joint|both|refund|deposit|another)\b"
    r"|联票|半价|儿童|学生|老人|优惠|押金|套票|通票"
)
_FREE = re.compile(
    r"\b(?:is|are|was|entry|admission|entrance|access|[:,—–])\s(?:all\s|also\s|completely\s|totally\s|still\s)?free"
    r"(?!\s(?:of|from|after|for|to\s(?!visit|enter)|with|\w+ing)|\w)"
    r"|\bfree\s(?:of charge|entry|admission|entrance)\b|\bcosts? nothing\b|\bno (?:ticket|entrance fee|entry fee)\b"
    r"|免费(?:参观|开放|入园|进|游览)?(?=[,，。;；!！、\s(（]|$)|免门票|不[收要]门票|没有?大?门票|免票(?:参观|入园)",
    re.IGNORECASE,
)
_NOT_FREE = re.compile(r"\b(?:kids|under|wifi|Wi-Fi|parking|not free|shuttle|over)\b|以下|以上|小朋友|停车|班车")
_NAME_TO_VALUE = re.compile(
    r"(?:\s|[:：(（]|\b(?:is|are|was|costs?|charges?|only|just|about|at|for)\b|的|门|票|是|为|要|也|只|另|价|大约|约)*",
    re.IGNORECASE,
)
_APART = re.compile(r"\*{0,2}\s?(?:[（(][^()（）\n]{0,60}[)）])?\*{0,2}\s?[:：,，—–-]")
_ALONE = re.compile(
    r"(?:\s|\*|\b(?:from|about|around|only|just|tickets?|open|opens|daily|it|is|was|now|still|at|the|and|first|second)\b"
    r"|现在|只要|大约|每天|都是|是)*",
    re.IGNORECASE,
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
        _free(reading, referents, terms, (start, end))
        values = values_in(reading.text, start, end)
        if not values:
            continue
        cues = list(_cues(reading, start, end))
        mentions = referents.in_sentence(start, end)
        said: dict[str, OntologyProperty] = {}
        for value in values:
            options = [term for term in terms if accepts(term, value)]
            if not options or _inside_a_name(value, mentions):
                continue
            term = (
                _bind(reading, referents, value, options, cues, mentions, (start, end), values)
                or _shared(reading, value, said.get(value.kind), mentions, (start, end))
                or _by_class(reading, referents, value, options, mentions, (start, end))
            )
            if term is not None:
                said[value.kind] = term


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
) -> OntologyProperty | None:
    """Binds the value to the property that the words beside it name; the property, or None where nothing was bound."""
    if _NOT_THE_VALUE.search(reading.text[sentence[0] : value.start]) or re.match(
        r"\s?/\s?\d", reading.text[value.end : value.end + 3]
    ):
        return None
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
            return None
        _claim(reading, subject, cue.term, value, sentence)
        return cue.term
    if not _by_unit(reading, referents, options, value, mentions, sentence) and unsure:
        reading.refuse(*sentence, f"{reading.text[value.start : value.end]!r}: {unsure}")
    return None


def _shared(
    reading: Reading, value: Value, term: OntologyProperty | None, mentions: list[Mention], sentence: tuple[int, int]
) -> OntologyProperty | None:
    """Binds a value that only has its name before it, where the property was said before: "…, the East one is 110"."""
    before = [item for item in mentions if item.end <= value.start]
    if term is None or not before or not _NAME_TO_VALUE.fullmatch(reading.text[before[-1].end : value.start]):
        return None
    if not reading.lexicon.ontology.is_a(before[-1].type, term.domains):
        return None
    _claim(reading, before[-1], term, value, sentence)
    return term


def _by_class(
    reading: Reading,
    referents: Referents,
    value: Value,
    options: list[OntologyProperty],
    mentions: list[Mention],
    sentence: tuple[int, int],
) -> OntologyProperty | None:
    """Binds a price or hours that stand by themselves to the one property that the topic's class has for them."""
    text = reading.text
    clause = re.split(r"[,，:：;；—–(（|]|\s-\s", text[sentence[0] : value.start])[-1]
    around = text[max(sentence[0], value.start - 40) : value.end + 8]
    if value.kind not in ("money", "span") or not _ALONE.fullmatch(clause) or _PARTIAL.search(around):
        return None
    if re.search(r"\b(?:I|we|you|my|our|they|buy|boat|taxi|ride|bus|cup|each|per)\b|买|花|打车|一杯|一份|每", around):
        return None
    for term in options:
        subject = _heading_name(reading, term, mentions, sentence)
        if subject is None and value.kind == "span":
            subject = referents.subject(term, mentions, sentence, value.start)
        fitting = [item for item in options if subject and reading.lexicon.ontology.is_a(subject.type, item.domains)]
        if subject is not None and len(fitting) == 1:
            _claim(reading, subject, term, value, sentence)
            return term
    return None


def _heading_name(
    reading: Reading, term: OntologyProperty, mentions: list[Mention], sentence: tuple[int, int]
) -> Mention | None:
    """The name that opens the sentence and is set apart from the rest of it: "Shen Garden: …, 40 yuan"."""
    first = mentions[0] if mentions else None
    if first is None or not re.fullmatch(r"[\W\d]{0,8}", reading.text[sentence[0] : first.start]):
        return None
    apart = _APART.match(reading.text, first.end)
    return first if apart and reading.lexicon.ontology.is_a(first.type, term.domains) else None


def _free(reading: Reading, referents: Referents, terms: list[OntologyProperty], sentence: tuple[int, int]) -> None:
    """Says that nothing is to be paid as a price of 0: "entry is free", "免费", "costs nothing"."""
    for match in _FREE.finditer(reading.text, *sentence):
        around = reading.text[max(sentence[0], match.start() - 24) : match.end() + 10]
        if _PARTIAL.search(around) or _NOT_FREE.search(around):
            continue
        mentions = referents.in_sentence(*sentence)
        for term in (item for item in terms if is_currency(item.unit)):
            subject = referents.subject(term, mentions, sentence, match.start())
            if subject is not None and reading.lexicon.ontology.is_a(subject.type, term.domains):
                literal = literal_of("0", term)
                reading.claim(Claim(subject, term.iri, literal, *sentence, 0.75))
                break


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
