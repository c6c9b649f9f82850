"""Cutting documents into chunks: overlapping windows of paragraphs, of tokens, of sentences, by parts, or the whole.

The law of all of them: ``document.text[chunk.start:chunk.end] == chunk.text``, chunks in order, none empty or blank,
and every letter that is not a blank is in at least one. A paragraph or sentence too long for a chunk is cut into
smaller pieces: sentences, lines, at last words.

`sections_of` tells the parts of a text: abstract, introduction, body and conclusion of a paper, the sections of a
course syllabus. They are told by headings (a reader writes those of a file's outline, and those told by size, as ``#
…``), else by short lines that are worded or numbered like headings; where a paper has no heading for its
introduction, a passage of fixed length after the word "Abstract" stands for it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Final, TypeAlias

from kgplatform.documents.tables.delimited import CSV_TYPE, TSV_TYPE
from kgplatform.errors import ConfigError
from kgplatform.text import count_tokens, has_han, sentences
from kgplatform.types import Chunk, Chunker, Document
from kgplatform.vocab import chunk_iri


class SectionKind(StrEnum):
    """What a section of a text is for."""

    FRONT = "front"
    ABSTRACT = "abstract"
    INTRODUCTION = "introduction"
    BODY = "body"
    CONCLUSION = "conclusion"
    REFERENCES = "references"
    SYLLABUS = "syllabus"


@dataclass(frozen=True, slots=True)
class TextSection:
    """A stretch of a text under one heading; ``text[start:end]`` begins with the heading."""

    kind: SectionKind
    heading: str
    start: int
    end: int


_MARKED = re.compile(r"^#{1,6}[ \t]+(?P<heading>\S.*?)[ \t#]*$")
_NUMBER = re.compile(
    r"^(?:\d+(?:\.\d+)*[.、]?|[IVX]+\.|[A-Z]\.|第[一二三四五六七八九十\d]+[章节部分]+"
    r"|[一二三四五六七八九十]+[、.])[ \t\u3000]*"
)
_STOPS = tuple(".。,，;；!！?？")
_EMPHASIS = "*_:：.。 \t—–-【】[]"
_HEADING_LETTERS: Final = 60
_AFTER_ABSTRACT: Final = 4000
"""How many letters after "Abstract" stand for it and an introduction that has no heading."""
_LONGEST_ABSTRACT: Final = 2500

_PHRASES: Final[tuple[tuple[SectionKind, str], ...]] = (
    (SectionKind.ABSTRACT, r"abstract|summary|executive summary|摘要|内容提要|提要|sammanfattning|sammandrag"),
    (
        SectionKind.INTRODUCTION,
        r"(?:general )?introduction(?: and .{1,30})?|background|motivation|引言|绪论|导论|导言|前言|序言"
        r"|研究背景|inledning|introduktion|bakgrund",
    ),
    (
        SectionKind.CONCLUSION,
        r"(?:.{1,30} and )?conclusions?(?: and .{1,30})?|concluding remarks|discussion and conclusions?"
        r"|summary and .{1,30}|outlook"
        r"|结论|结语|总结|结束语|总结与展望|结论与展望|slutsatser?|avslutning|diskussion och slutsats(?:er)?",
    ),
    (
        SectionKind.REFERENCES,
        r"references|bibliography|works cited|acknowledge?ments?|参考文献|致谢|referenser|litteraturförteckning"
        r"|källor",
    ),
)
_SYLLABUS: Final = (
    r"(?:intended )?learning (?:outcomes?|objectives?|goals?)"
    r"|course (?:contents?|description|objectives?|overview|disposition|goals?|literature|goals and outcomes)"
    r"|(?:specific|recommended|entry|eligibility) ?(?:prerequisites?|requirements?)|prerequisites?|eligibility"
    r"|examination(?: and completion)?|grading(?: scale| policy)?|assessment"
    r"|(?:required |recommended )?(?:readings?|textbooks?|literature)|schedule|office hours"
    r"|attendance(?: policy)?|instructors?|examiner|main field of study|ethical approach|language of instruction"
    r"|课程(?:简介|目标|内容|描述|性质|安排|要求|名称|代码|教材)|教学(?:目标|目的|内容|安排|进度|要求|方法|大纲)"
    r"|学习(?:目标|成果|要求)|先修(?:课程|要求|课)|预备知识|考核(?:方式|方法|要求)|成绩(?:评定|构成)"
    r"|教材(?:及参考书)?|参考书目?|学时(?:分配)?|授课教师"
    r"|lärandemål|kursinnehåll|kursens innehåll|särskild behörighet|behörighet|rekommenderade förkunskaper"
    r"|förkunskap(?:er|skrav)|examination|kurslitteratur|litteratur|betygsskala|kursupplägg|undervisningsspråk"
    r"|examinator|etiskt förhållningssätt"
)
_PATTERNS: Final = tuple((kind, re.compile(rf"(?:{words})", re.IGNORECASE)) for kind, words in _PHRASES)
_SYLLABUS_PATTERN = re.compile(rf"(?:{_SYLLABUS})", re.IGNORECASE)
ABSTRACT_START = re.compile(
    r"^[#*_ \t]*(?i:abstract|摘\s*要|内容提要|sammanfattning)[*_]*[ \t]*(?:[:：.—–-][*_]*|$|(?=[A-Z\u4e00-\u9fff]))",
    re.MULTILINE,
)
_PARAGRAPH = re.compile(r"\s*(?:\S.*\n?)+")
_LEAST_SYLLABUS_HEADINGS: Final = 2
_LATER: Final = (SectionKind.CONCLUSION, SectionKind.REFERENCES)


@dataclass(frozen=True, slots=True)
class _Heading:
    """A heading: where it stands, its words without number, and how deep it is by its marks and by its number."""

    start: int
    words: str
    marks: int
    depth: int

    def is_inside(self, other: _Heading | None) -> bool:
        """Whether it is one of a subsection of the other's section."""
        return other is not None and (self.depth > other.depth or self.marks > other.marks > 0)


def sections_of(text: str) -> list[TextSection]:
    r"""The sections of a text in order, without gaps: together they are the whole text.

    A text of no known form is one section ``body``.

    >>> text = "# T\n\n## Introduction\n\nA.\n\n## Method\n\nB.\n\n## Conclusion\n\nC."
    >>> [section.kind.value for section in sections_of(text)]
    ['front', 'introduction', 'body', 'conclusion']
    """
    headings = list(_headings(text))
    is_syllabus = sum(_is_syllabus(heading.words) for heading in headings) >= _LEAST_SYLLABUS_HEADINGS
    known = [(heading, _kind(heading.words, is_syllabus=is_syllabus)) for heading in headings]
    whole = [TextSection(SectionKind.BODY, "", 0, len(text))] if text else []
    found = list(_runs(text, known)) if any(kind is not None for _, kind in known) else whole
    if any(section.kind in (SectionKind.INTRODUCTION, SectionKind.SYLLABUS) for section in found):
        return found
    return _with_passage(text, found)


def _headings(text: str) -> Iterator[_Heading]:
    """The headings: lines marked as such, short lines worded like one, and short numbered lines."""
    position = 0
    for line in text.split("\n"):
        marked = _MARKED.match(line[:300])
        words = (marked["heading"] if marked else line[: 2 * _HEADING_LETTERS]).strip().strip(_EMPHASIS)
        if words and (marked or len(line.strip()) <= _HEADING_LETTERS):
            number = _NUMBER.match(words)
            plain = (words[number.end() :] if number else words).strip(_EMPHASIS)
            is_worded = _kind(plain, is_syllabus=True) is not None
            is_numbered = (
                number is not None
                and (plain[:1].isupper() or has_han(plain[:1]))
                and not line.rstrip().endswith(_STOPS)
            )
            if plain and (marked or is_worded or is_numbered):
                depth = number[0].strip().rstrip(".").count(".") if number else 0
                marks = len(line) - len(line.lstrip("#")) if marked else 0
                yield _Heading(position, plain, marks, depth)
        position += len(line) + 1


def _kind(heading: str, *, is_syllabus: bool) -> SectionKind | None:
    for kind, pattern in _PATTERNS:
        if pattern.fullmatch(heading):
            return kind
    return SectionKind.SYLLABUS if is_syllabus and _is_syllabus(heading) else None


def _is_syllabus(heading: str) -> bool:
    return _SYLLABUS_PATTERN.fullmatch(heading) is not None


def _runs(text: str, headings: list[tuple[_Heading, SectionKind | None]]) -> Iterator[TextSection]:
    """Sections from one heading to the next of another part; headings inside a part belong to it."""
    begin, kind = 0, SectionKind.FRONT
    current: _Heading | None = None
    for heading, told in headings:
        if told is None and heading.is_inside(current):
            continue
        after = told or _after(kind)
        if after is kind and after is not SectionKind.SYLLABUS:
            continue
        if text[begin : heading.start].strip():
            yield TextSection(kind, current.words if current else "", begin, heading.start)
            begin = heading.start
        current, kind = heading, after
    yield TextSection(kind, current.words if current else "", begin, len(text))


def _after(kind: SectionKind) -> SectionKind:
    """What an unknown heading begins: the body, once the introduction is over; before it, more of the front."""
    return kind if kind in (SectionKind.FRONT, SectionKind.REFERENCES) else SectionKind.BODY


def _with_passage(text: str, sections: list[TextSection]) -> list[TextSection]:
    """The sections with the paragraph of "Abstract", if the word is there, and what follows as the introduction."""
    match = ABSTRACT_START.search(text[: 4 * _AFTER_ABSTRACT])
    if match is None:
        return sections
    later = [section.start for section in sections if section.kind in _LATER and section.start > match.start()]
    end = _natural_end(text, min(match.start() + _AFTER_ABSTRACT, len(text)))
    end = min(end, *later) if later else end
    paragraph = _PARAGRAPH.match(text, match.end(), min(end, match.end() + _LONGEST_ABSTRACT))
    middle = _natural_end(text, paragraph.end()) if paragraph else end
    spans = [
        (SectionKind.FRONT, 0, match.start()),
        (SectionKind.ABSTRACT, match.start(), middle),
        (SectionKind.INTRODUCTION, middle, end),
    ]
    found = [TextSection(kind, "", start, stop) for kind, start, stop in spans if text[start:stop].strip()]
    begin = 0 if not found else found[-1].end
    found = [TextSection(item.kind, item.heading, 0, item.end) if n == 0 else item for n, item in enumerate(found)]
    for section in sections:
        start = max(section.start, begin)
        if start < section.end and text[start : section.end].strip():
            found.append(
                TextSection(
                    section.kind if section.kind in _LATER else SectionKind.BODY, section.heading, start, section.end
                )
            )
    return found


def _natural_end(text: str, limit: int) -> int:
    """The end of the last line, else sentence, before the limit; the limit where there is none in its second half."""
    if limit == len(text):
        return limit
    for signs in ("\n", "。！？", ".!?"):
        end = max(text.rfind(sign, limit // 2, limit) for sign in signs)
        if end >= 0:
            return end + 1
    return limit


Span: TypeAlias = tuple[int, int]

_JOINERS = ("\u200d", "\ufe0e", "\ufe0f")
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_MAX_CLUSTER = 16


def sliding_window(document: Document, *, max_tokens: int = 300, overlap: int = 1) -> list[Chunk]:
    """Windows of whole paragraphs, each beginning with the last ``overlap`` paragraphs of the one before.

    A window holds as many paragraphs as fit in ``max_tokens`` (`kgplatform.text.count_tokens`); a longer paragraph is
    cut into sentences, a table into its rows, a longer sentence into lines and words. What would leave no room for
    anything new is not repeated. A heading goes with the text under it.

    Raises:
        ConfigError: ``max_tokens`` is below 1 or ``overlap`` below 0.
    """
    _require(at_least=1, max_tokens=max_tokens)
    _require(at_least=0, overlap=overlap)
    units = list(_units(document, max_tokens))
    return _chunks(document, _windows(document.text, units, max_tokens, units_again=overlap))


def fixed_tokens(document: Document, *, max_tokens: int = 300, overlap: int = 30) -> list[Chunk]:
    """Windows of ``max_tokens`` tokens, cut between words where there are any, ``overlap`` tokens shared by neighbours.

    Raises:
        ConfigError: ``max_tokens`` is below 1, or ``overlap`` not between 0 and half of it.
    """
    _require_overlap(max_tokens, overlap)
    return _chunks(document, _cut(document.text, 0, len(document.text), max_tokens, overlap))


def sentence_windows(document: Document, *, size: int = 3, step: int = 1, max_tokens: int = 300) -> list[Chunk]:
    """Windows of ``size`` sentences, each beginning ``step`` sentences after the one before.

    A sentence longer than ``max_tokens`` counts as several.

    Raises:
        ConfigError: ``size`` or ``max_tokens`` below 1, or ``step`` not between 1 and ``size``.
    """
    _require(at_least=1, size=size, step=step, max_tokens=max_tokens)
    if step > size:
        raise ConfigError(f"step {step} is more than size {size} and would leave sentences out", setting="step")
    units = _sentence_units(document, max_tokens)
    starts = range(0, max(len(units) - size, 0) + step, step)
    spans = [(units[start][0], units[min(start + size, len(units)) - 1][1]) for start in starts if start < len(units)]
    return _chunks(document, spans)


def sentence_tokens(document: Document, *, max_tokens: int = 300, overlap: int = 30) -> list[Chunk]:
    """Windows of as many whole sentences as fit in ``max_tokens``; the next begins with those of the last ``overlap``.

    A sentence longer than ``max_tokens`` is cut into lines and words.

    Raises:
        ConfigError: ``max_tokens`` is below 1, or ``overlap`` not between 0 and half of it.
    """
    _require_overlap(max_tokens, overlap)
    units = _sentence_units(document, max_tokens)
    return _chunks(document, _windows(document.text, units, max_tokens, tokens_again=overlap))


def structure(document: Document, *, introduction: int = 200, body: int = 300, conclusion: int = 200) -> list[Chunk]:
    """Chunks that stay within the parts of a text, each part with a size of its own in tokens, and do not overlap.

    Parts are front and introduction, body, conclusion, and each section of a syllabus (`sections_of`). A chunk ends at
    the end of a line or sentence; only a longer sentence than the size is cut, at words. A heading goes with its text.

    Raises:
        ConfigError: a size is below 1.
    """
    _require(at_least=1, introduction=introduction, body=body, conclusion=conclusion)
    if _rows(document):
        return sliding_window(document, max_tokens=body, overlap=0)
    sizes = dict.fromkeys(SectionKind, body)
    sizes |= dict.fromkeys((SectionKind.FRONT, SectionKind.ABSTRACT, SectionKind.INTRODUCTION), introduction)
    sizes[SectionKind.CONCLUSION] = conclusion
    spans: list[Span] = []
    for section in sections_of(document.text):
        size = sizes[section.kind]
        units = [
            piece
            for unit in _paragraphs(document.text, section.start, section.end)
            for piece in _fitting(document.text, unit, size, (_lines, sentences))
        ]
        spans += _windows(document.text, units, size)
    return _chunks(document, spans)


def whole(document: Document) -> list[Chunk]:
    """The document as a single chunk, without the blanks around it; none for a blank document."""
    return _chunks(document, [(0, len(document.text))])


CHUNKERS: Final[dict[str, Chunker]] = {
    "sliding-window": sliding_window,
    "fixed-tokens": fixed_tokens,
    "sentence-windows": sentence_windows,
    "sentence-tokens": sentence_tokens,
    "structure": structure,
    "whole": whole,
}
"""The chunkers by name; the first is the default."""


def chunker(name: str = "sliding-window") -> Chunker:
    """The chunker of that name.

    Raises:
        ConfigError: there is none; the message offers the nearest name.
    """
    if name in CHUNKERS:
        return CHUNKERS[name]
    nearest = get_close_matches(name.lower().replace("_", "-"), CHUNKERS, n=1, cutoff=0.5)
    offer = f"; did you mean {nearest[0]!r}?" if nearest else ""
    known = ", ".join(CHUNKERS)
    raise ConfigError(f"no chunker is named {name!r}{offer} (there are {known})", setting="documents.chunker")


def _require(*, at_least: int, **settings: int) -> None:
    for name, value in settings.items():
        if value < at_least:
            raise ConfigError(f"{name} is {value}; it must be at least {at_least}", setting=name)


def _require_overlap(max_tokens: int, overlap: int) -> None:
    _require(at_least=1, max_tokens=max_tokens)
    _require(at_least=0, overlap=overlap)
    if overlap * 2 > max_tokens:
        raise ConfigError(f"overlap {overlap} is more than half of max_tokens {max_tokens}", setting="overlap")


def _chunks(document: Document, spans: Iterable[Span]) -> list[Chunk]:
    chunks: list[Chunk] = []
    for raw in spans:
        start, end = _trimmed(document.text, *raw)
        if start < end:
            index = len(chunks)
            iri = chunk_iri(document.iri, index)
            chunks.append(Chunk(iri, document.iri, index, start, end, document.text[start:end]))
    return chunks


def _trimmed(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _units(document: Document, max_tokens: int) -> Iterator[Span]:
    """The paragraphs, or pieces of them that fit, in order and without gaps but blanks."""
    rows = _rows(document)
    whole_units = rows or _paragraphs(document.text)
    smaller = (_lines,) if rows else (sentences, _lines)
    for unit in whole_units:
        yield from _fitting(document.text, unit, max_tokens, smaller)


def _sentence_units(document: Document, max_tokens: int) -> list[Span]:
    """The sentences, or rows of a table, or pieces of them that fit."""
    text = document.text
    return [
        piece for unit in _rows(document) or sentences(text) for piece in _fitting(text, unit, max_tokens, (_lines,))
    ]


def _rows(document: Document) -> list[Span]:
    return list(_lines(document.text)) if document.media_type in (CSV_TYPE, TSV_TYPE) else []


def _fitting(
    text: str, unit: Span, max_tokens: int, smaller: tuple[Callable[[str, int, int], Iterator[Span]], ...]
) -> Iterator[Span]:
    """The unit if it fits, else its parts by the first way of cutting, and theirs by the next."""
    start, end = unit
    if _fits(text, start, end, max_tokens):
        yield unit
    elif smaller:
        for part in smaller[0](text, start, end):
            yield from _fitting(text, part, max_tokens, smaller[1:])
    else:
        yield from _cut(text, start, end, max_tokens, 0)


def _fits(text: str, start: int, end: int, max_tokens: int) -> bool:
    # no letter counts less than a quarter of a token, so most long spans need no counting
    return end - start <= 4 * max_tokens and count_tokens(text[start:end]) <= max_tokens


def _lines(text: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    stop = len(text) if end is None else end
    position = start
    while position < stop:
        found = text.find("\n", position, stop)
        line_end = stop if found < 0 else found
        trimmed = _trimmed(text, position, line_end)
        if trimmed[0] < trimmed[1]:
            yield trimmed
        position = line_end + 1


def _paragraphs(text: str, first: int = 0, stop: int | None = None) -> Iterator[Span]:
    """Runs of lines that are not blank."""
    begin = last = -1
    for start, end in _lines(text, first, stop):
        if begin < 0:
            begin = start
        elif text.count("\n", last, start) > 1:
            yield begin, last
            begin = start
        last = end
    if begin >= 0:
        yield begin, last


def _windows(
    text: str, units: list[Span], max_tokens: int, *, units_again: int = 0, tokens_again: int | None = None
) -> Iterator[Span]:
    """Runs of units that fit together; each ends further on than the one before.

    It begins with the last ``units_again`` of that one, and headings at its end are left to the next; or, where it is
    given, with as many of the last units as fit in ``tokens_again``.
    """
    first = fresh = 0
    while fresh < len(units):
        while first < fresh and not _fits(text, units[first][0], units[fresh][1], max_tokens):
            first += 1
        stop = fresh + 1
        while stop < len(units) and _fits(text, units[first][0], units[stop][1], max_tokens):
            stop += 1
        if stop < len(units) and tokens_again is None:
            stop = _before_headings(text, units, fresh, stop)
        yield units[first][0], units[stop - 1][1]
        if tokens_again is None:
            first = max(first + 1, stop - units_again)
        else:
            least, first = max(first + 1, fresh), stop
            while first > least and _fits(text, units[first - 1][0], units[stop - 1][1], tokens_again):
                first -= 1
        fresh = stop


def _before_headings(text: str, units: list[Span], fresh: int, stop: int) -> int:
    """Where the window ends when headings at its end are left to the next one."""
    end = stop
    while end > fresh + 1 and text.startswith("#", units[end - 1][0]) and "\n" not in text[slice(*units[end - 1])]:
        end -= 1
    return end


def _cut(text: str, start: int, end: int, max_tokens: int, overlap: int) -> Iterator[Span]:
    """Pieces of at most ``max_tokens``, ended at a blank where one is in their second half."""
    position, stop = _trimmed(text, start, end)
    cut = position
    while position < stop:
        limit = _reach(text, position, stop, max_tokens)
        # never back to the cut before, else the next piece would say nothing new
        floor = max(position + (limit - position) // 2, cut)
        cut = limit if limit == stop else _at_blank(text, floor, limit)
        yield _trimmed(text, position, cut)
        if cut == stop:
            return
        back = _back(text, position, cut, overlap) if overlap else cut
        position, _ = _trimmed(text, back, stop)


def _reach(text: str, start: int, end: int, max_tokens: int) -> int:
    """The furthest end at which the piece still fits; at least one letter on."""
    low, high = start + 1, min(end, start + 4 * max_tokens)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(text[start:middle]) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return low


def _at_blank(text: str, floor: int, limit: int) -> int:
    for position in range(limit, floor, -1):
        if text[position].isspace():
            return position
    return _between_clusters(text, floor, limit)


def _between_clusters(text: str, floor: int, cut: int) -> int:
    """The cut, moved back off the inside of an accented letter or a composed emoji."""
    for position in range(cut, max(floor, cut - _MAX_CLUSTER), -1):
        if not _joins(text[position - 1], text[position]):
            return position
    return cut


def _joins(before: str, after: str) -> bool:
    joined = after in _JOINERS or before == _JOINERS[0] or ord(after) in _SKIN_TONES
    return joined or unicodedata.combining(after) > 0


def _back(text: str, start: int, cut: int, overlap: int) -> int:
    """Where the next piece begins so that about ``overlap`` tokens before the cut are read again, at a word."""
    position = cut
    while position > start + 1 and count_tokens(text[position - 1 : cut]) <= overlap:
        position -= 1
    for word in range(position, cut):
        if text[word].isspace():
            return word
    return position
