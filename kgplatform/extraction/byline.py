"""The byline of a paper or an article: who wrote it, where it appeared and when, said by nothing but its place.

It stands below the title ("Ann Lee, Bo Ek" / "Annual Meeting of Things, 2019" / "Abstract"), in one line or several, in
any order, or closes the text ("Ann Lee and Bo Ek. Journal of Things 12(3), 2019."). Names alone make no byline:
beside them stands a year, a place of publication, an abstract or the word "by".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from kgplatform.extraction.people import Person, people_in

_ABSTRACT = re.compile(
    r"[\s#*_>]*(?:\d+\.?\s+)?(?:abstract|summary|introduction|keywords|摘\s*要|引\s*言|关键词)(?:[\s*_]*[:：.—–-]|\s*[*_#]*\s*$|[*_]{1,2}\s)",
    re.IGNORECASE,
)
_BY = re.compile(r"[\s*_]*(?:(?:written\s)?by|authors?|作者|文)(?:\s*[:：]|\s)\s*", re.IGNORECASE)
_APPEARED = re.compile(
    r"[\s*_(（]*(?:(?:(?:first\s)?published|appeared|appears|presented|to appear|accepted|publication|source|venue)"
    r"\s*[:：]?\s*)?"
    r"(?:(?:in|at|by)\b:?\s+)?(?:the\s+)?(?:发表[于在]|刊[登]?[于载]|载于|收录于|见于?|出处[:：]|来源[:：])?\s*",
    re.IGNORECASE,
)
_TITLE_LABEL = re.compile(r"[\s*_#]*(?:title|标题|题目|篇名)[*_]*\s*[:：]\s*", re.IGNORECASE)
_SAYS_IT_APPEARED = re.compile(
    r"[\s*_(（]*(?:first\s)?(?:published|appeared|appears|presented|to appear|accepted)\b", re.IGNORECASE
)
_YEAR = re.compile(r"(?<![\d–—/.-])(?:19|20)\d\d(?![\d/]|[–—-]\d{1,4}(?!\d)|\.\d)")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DAY = re.compile(
    rf"[\s,.(（:：–—-]*(?:\b\d{{1,2}}(?:st|nd|rd|th)?(?:\s?[–—-]\s?(?:{_MONTH}\s)?\d{{1,2}}(?:st|nd|rd|th)?)?\s)?"
    rf"\b{_MONTH}(?:\s?[–—/-]\s?{_MONTH})?(?:\s\d{{1,2}}(?:st|nd|rd|th)?(?:\s?[–—-]\s?(?:{_MONTH}\s)?\d{{1,2}})?)?[\s,.]*$"
)
_VOLUME = re.compile(
    r"\s*[,.:;(（–—-]*\s*\b(?:vol(?:ume)?s?|issue|no|number|pages?|pp|p|art(?:icle)?|doi)\b[.:]?\s*[\dA-Z(（:].*$|\s*第\s*\d+\s*[卷期页].*$"
    r"|[,\s]+\d+\s*[(（]\d+(?:[)）].*)?$|[,\s]+\d+\s*[:：]\s*\d+.*$",
    re.IGNORECASE,
)
_AFTER_YEAR = re.compile(r"[\s()（）.,;:：年–—-]*")
_REMARK = re.compile(
    r"[\s,;.(（]*\b(?:first\s)?(?:posted|submitted|arxiv|preprint|doi|isbn|issn|accessed)\b.*$|[\s,;.(（]*https?://.*$",
    re.IGNORECASE,
)
_OF_A_LIST = re.compile(r"[\s*]*(?:[-*•]|\[\d{1,3}\]|\d{1,3}[.)])\s|.*\bet al\b", re.IGNORECASE)
_NO_TITLE_OF_A_PLACE = re.compile(
    r"\b(?:is|are|was|were|we|has|have|can|this|that|which|our|they|it)\b|[。！？!?]|@|https?://", re.IGNORECASE
)
_EDGE = " \t\r\n*_#>\"“”'‘’《》()（）[]【】,.;:，。；：、–—|-"
_MARKS = " \t*_#"
_SEPARATORS = (r"[.。]\s+|\s[—–-]+\s|\s*[|•]\s*|\s·\s|\s*[(（\[]|[;；]\s*|\t+|\s{3,}", r"[,，]\s*|\s+(?=in\s)")
_HEAD_ROWS: Final = 14
_TITLE_ROWS: Final = 3
_END_ROWS: Final = 12
_LONG_LINE: Final = 60
_LONGEST_VENUE, _LONGEST_TITLE, _LONGEST_ROW = 260, 300, 4000


@dataclass(frozen=True, slots=True)
class Place:
    """A place of publication or a year where the text says it."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True)
class Byline:
    """What a byline says; ``title`` are the lines above it, or the first of the text."""

    start: int
    end: int
    title: str
    people: tuple[Person, ...]
    venue: Place | None = None
    year: Place | None = None

    def passage(self, text: str, place: Person | Place) -> tuple[int, int]:
        """The stretch of the lines that hold the place."""
        first = text.rfind("\n", 0, place.start) + 1
        last = text.find("\n", place.end)
        last = len(text) if last < 0 else last
        whole = text[first:last]
        return first + len(whole) - len(whole.lstrip()), last - len(whole) + len(whole.rstrip())


@dataclass(frozen=True, slots=True)
class _Row:
    """A line that holds something, and whether a blank line stands before it."""

    start: int
    end: int
    text: str
    apart: bool


@dataclass(frozen=True, slots=True)
class _Said:
    """What one line says of a byline."""

    people: tuple[Person, ...] = ()
    venue: Place | None = None
    year: Place | None = None
    by: bool = False


def find_byline(text: str) -> Byline | None:
    """The byline of the text; None where it has none."""
    rows = list(_wrapped(_rows(text), text))
    while len(rows) > 1 and rows[1].text.strip(_EDGE) == rows[0].text.strip(_EDGE):
        del rows[1]  # the title, and the heading that says it again
    return _at_the_head(rows) or _at_the_end(rows)


def venue_in(text: str, start: int, end: int) -> Place | None:
    """The place of publication in a stretch that is said to name one, without year, volume and pages."""
    value = text[start:end].partition("。")[0]
    if len(value) > _LONGEST_VENUE or _NO_TITLE_OF_A_PLACE.search(value):
        return None
    venue, year = _published(value, start, 0, len(value))
    return venue if year is not None else _venue(value, start, 0, len(value))


def _rows(text: str) -> Iterator[_Row]:
    """The lines of the text that hold something, front matter left out."""
    position, apart = 0, False
    front = re.match(r"---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", text, re.DOTALL)
    for line in text.split("\n"):
        if line.strip() and (front is None or position >= front.end()):
            left = len(line) - len(line.lstrip())
            yield _Row(position + left, position + len(line.rstrip()), line.strip(), apart)
        apart = not line.strip()
        position += len(line) + 1


def _wrapped(rows: Iterator[_Row], text: str) -> Iterator[_Row]:
    """The rows, with a list of people that goes on in the next line as one."""
    held: _Row | None = None
    for number, row in enumerate(rows):
        whole = text[held.start : row.end] if held is not None else ""
        near = held is not None and number <= _HEAD_ROWS and not row.apart and len(held.text) >= _LONG_LINE
        if held is not None and near and all(people_in(part, 0, len(part)) for part in (held.text, row.text, whole)):
            held = _Row(held.start, row.end, whole, held.apart)
            continue
        if held is not None:
            yield held
        held = row
    if held is not None:
        yield held


def _at_the_head(rows: list[_Row]) -> Byline | None:
    for count in range(1, min(_TITLE_ROWS + 1, len(rows))):
        title, row = rows[:count], rows[count]
        if any(item.apart for item in title[1:]) or sum(len(item.text) for item in title) > _LONGEST_TITLE:
            return None
        if _ABSTRACT.match(row.text) or (count > 1 and rows[count - 1].text.endswith((".", "。"))):
            return None
        said = _said(row)
        if said is not None and (said.people or said.year):
            return _collected(rows[count:], said, _unlabelled(" ".join(item.text for item in title)))
    return None


def _unlabelled(title: str) -> str:
    label = _TITLE_LABEL.match(title)
    return title[label.end() :] if label else title


def _collected(rows: list[_Row], said: _Said, title: str) -> Byline | None:
    """The byline that the rows from its first one on make."""
    found, end, abstract, alone = said, rows[0].end, False, 0
    open_list = bool(said.people) and said.year is None
    for number, row in enumerate(rows[1:_HEAD_ROWS], start=1):
        if _ABSTRACT.match(row.text):
            abstract = True
            break
        more = _said(row, named=bool(found.people))
        if row.text.startswith("#") or (more is None and _is_prose(row.text)):
            break
        if more is None:
            open_list = False
            venue = _beside_a_year(rows, number) if found.venue is None and found.people else None
            found, end = (replace(found, venue=venue), row.end) if venue is not None else (found, end)
            continue
        if more.people and (open_list or not found.people):
            found = replace(found, people=(*found.people, *more.people), by=found.by or more.by)
            alone += 1
            open_list, end = True, row.end
        elif not more.people:
            open_list = False
        if more.year is not None and found.year is None:
            found, end = replace(found, venue=found.venue or more.venue, year=more.year), row.end
    told = found.year is not None or found.venue is not None or abstract or found.by
    if not found.people or not told:
        return None
    return Byline(rows[0].start, end, title.strip(_MARKS), found.people, found.venue, found.year)


def _beside_a_year(rows: list[_Row], number: int) -> Place | None:
    """The row as a place of publication, where the next row or the one before is a year and nothing else."""
    row = rows[number]
    beside = [rows[other] for other in (number - 1, number + 1) if 0 <= other < len(rows)]
    if not any(_YEAR.fullmatch(item.text.strip(_EDGE + "年")) for item in beside):
        return None
    return _venue(row.text, row.start, 0, len(row.text))


def _at_the_end(rows: list[_Row]) -> Byline | None:
    """A byline below a short text: in a long one, the last line is as likely a reference."""
    if not 2 <= len(rows) <= _END_ROWS or _OF_A_LIST.match(rows[-1].text):
        return None
    said = _said(rows[-1])
    if said is None or not said.people or said.year is None:
        return None
    title = rows[0].text.strip(_MARKS)
    title = "" if len(title) > _LONGEST_TITLE or rows[0].text.endswith((".", "。")) else title
    return Byline(rows[-1].start, rows[-1].end, title, said.people, said.venue, said.year)


def _is_prose(text: str) -> bool:
    return len(text.split()) > 30 or (len(text) > 90 and bool(_NO_TITLE_OF_A_PLACE.search(text)))


def _said(row: _Row, *, named: bool = False) -> _Said | None:
    """What the row says: people, a place and a year, or all of them; None where it says something else.

    ``named``: the people were named above, so that "Annals of Things, 2019" is no person of that name.
    """
    if len(row.text) > _LONGEST_ROW:
        return None
    venue, year = _published(row.text, row.start, 0, len(row.text)) if named else (None, None)
    if year is not None:
        return _Said(venue=venue, year=year)
    lead = _BY.match(row.text)
    first = lead.end() if lead else 0
    people = people_in(row.text, first, len(row.text), told=lead is not None)
    if people:
        return _Said(_moved(people, row.start), by=lead is not None)
    for separators in _SEPARATORS if _YEAR.search(row.text) else ():
        if (found := _parted(row, first, separators, by=lead is not None)) is not None:
            return found
    venue, year = _published(row.text, row.start, 0, len(row.text))
    return _Said(venue=venue, year=year) if year is not None else None


def _parted(row: _Row, first: int, separators: str, *, by: bool) -> _Said | None:
    """The row as people and, behind a mark, where and when; the longest list of people counts."""
    best: _Said | None = None
    for match in re.finditer(separators, row.text):
        if match.start() <= first:
            continue
        venue, year = _published(row.text, row.start, match.end(), len(row.text))
        if year is None or (best is not None and venue is None):
            continue
        people = people_in(row.text, first, match.start(), told=by)
        if people and not _SAYS_IT_APPEARED.match(row.text):
            best = _Said(_moved(people, row.start), venue, year, by)
    return best


def _moved(people: tuple[Person, ...], by: int) -> tuple[Person, ...]:
    return tuple(replace(person, start=person.start + by, end=person.end + by) for person in people)


def _published(text: str, offset: int, first: int, last: int) -> tuple[Place | None, Place | None]:
    """Where and when something appeared, as the stretch says it; (None, None) where it says something else."""
    if last - first > _LONGEST_VENUE + 120 or _NO_TITLE_OF_A_PLACE.search(text, first, last):
        return None, None
    remark = _REMARK.search(text, first, last)
    last = remark.start() if remark else last
    years = list(_YEAR.finditer(text, first, last))
    if not years:
        return None, None
    year = years[-1]
    said = Place(offset + year.start(), offset + year.end(), year.group())
    rest = _AFTER_YEAR.match(text, year.end(), last)
    after = rest.end() if rest else year.end()
    behind = _VOLUME.sub("", text[after:last])
    if len(re.findall(r"[^\W\d_]{2,}", behind)) >= 2 or re.search(r"[\u3400-\u9fff]{3,}", behind):
        begun = text[first : year.start()].strip(_EDGE)
        inside = after - year.end() <= 1 and text[year.end()] == " "  # "Proceedings of the 2018 Conference on …"
        if inside or not begun:
            return _venue(text, offset, first if begun else after, after + len(behind)), said
    return _venue(text, offset, first, year.start()), said


def _venue(text: str, offset: int, first: int, last: int) -> Place | None:
    """The name of the place that the stretch writes; None where nothing is left of it."""
    lead = _APPEARED.match(text, first, last)
    first = lead.end() if lead else first
    remark = _REMARK.search(text, first, last)
    last = remark.start() if remark else last
    name = _VOLUME.sub("", _DAY.sub("", text[first:last].rstrip(_EDGE)).rstrip(_EDGE))
    start = first + len(name) - len(name.lstrip(_EDGE))
    if name.count("(") > name.count(")"):
        name = name[: name.rindex("(")]  # "… (CONF 2019)", whose year is told by itself
    opened = name.count("(") - name.count(")")
    name = name.strip(_EDGE) + (")" if opened == 0 and name.rstrip(" *_.,").endswith(")") else "")
    fits = 2 <= len(name) <= _LONGEST_VENUE and re.search(r"[^\W\d_]{2,}", name) and not name[0].islower()
    return Place(offset + start, offset + start + len(name), " ".join(name.split())) if fits else None
