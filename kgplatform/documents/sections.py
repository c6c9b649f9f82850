"""The parts of a text: abstract, introduction, body and conclusion of a paper, the sections of a course syllabus.

Told by headings (a reader writes those of a file's embedded outline and those told by size as ``# …``), else by short
lines that are worded or numbered like headings; where a paper has no heading for its introduction, a passage of fixed
length after the word "Abstract" stands for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kgplatform.text import has_han


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
class Section:
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
"""How many letters after "Abstract" stand for an introduction that has no heading."""

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
_ABSTRACT_START = re.compile(
    r"^[#*_ \t]*(?i:abstract|摘\s*要|内容提要|sammanfattning)[*_]*[ \t]*(?:[:：.—–-]|$|(?=[A-Z\u4e00-\u9fff]))",
    re.MULTILINE,
)
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


def sections_of(text: str) -> list[Section]:
    r"""The sections of a text in order, without gaps: together they are the whole text.

    A text of no known form is one section ``body``.

    >>> text = "# T\n\n## Introduction\n\nA.\n\n## Method\n\nB.\n\n## Conclusion\n\nC."
    >>> [section.kind.value for section in sections_of(text)]
    ['front', 'introduction', 'body', 'conclusion']
    """
    headings = list(_headings(text))
    is_syllabus = sum(_is_syllabus(heading.words) for heading in headings) >= _LEAST_SYLLABUS_HEADINGS
    known = [(heading, _kind(heading.words, is_syllabus=is_syllabus)) for heading in headings]
    whole = [Section(SectionKind.BODY, "", 0, len(text))] if text else []
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


def _runs(text: str, headings: list[tuple[_Heading, SectionKind | None]]) -> Iterator[Section]:
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
            yield Section(kind, current.words if current else "", begin, heading.start)
            begin = heading.start
        current, kind = heading, after
    yield Section(kind, current.words if current else "", begin, len(text))


def _after(kind: SectionKind) -> SectionKind:
    """What an unknown heading begins: the body, once the introduction is over; before it, more of the front."""
    return kind if kind in (SectionKind.FRONT, SectionKind.REFERENCES) else SectionKind.BODY


def _with_passage(text: str, sections: list[Section]) -> list[Section]:
    """The sections with a passage of fixed length after "Abstract" as the introduction, if the word is there."""
    match = _ABSTRACT_START.search(text[: 4 * _AFTER_ABSTRACT])
    if match is None:
        return sections
    later = [section.start for section in sections if section.kind in _LATER and section.start > match.start()]
    end = _natural_end(text, min(match.start() + _AFTER_ABSTRACT, len(text)))
    end = min(end, *later) if later else end
    spans = [
        (SectionKind.FRONT, 0, match.start()),
        (SectionKind.INTRODUCTION, match.start(), end),
    ]
    found = [Section(kind, "", start, stop) for kind, start, stop in spans if text[start:stop].strip()]
    begin = 0 if not found else found[-1].end
    found = [Section(item.kind, item.heading, 0, item.end) if n == 0 else item for n, item in enumerate(found)]
    for section in sections:
        start = max(section.start, begin)
        if start < section.end and text[start : section.end].strip():
            found.append(
                Section(
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
