"""The byline of a paper or an article: who wrote it, where it appeared and when, said by nothing but its place.

It stands below the title ("Ann Lee, Bo Ek" / "Annual Meeting of Things, 2019" / "Abstract"), in one line or several, in
any order, or closes the text ("Ann Lee and Bo Ek. Journal of Things 12(3), 2019."). Names alone make no byline:
beside them stands a year, a place of publication, an abstract or the word "by".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from kgplatform.lexicon import LexiconSection

# Lists of people: "Ann Lee, José van den Berg, Jr. and Kim O’Hara", "Lee, Ann; van den Berg, José", "张伟 李娜"

_LEXICON: Final = LexiconSection("extraction", "people")
_PARTICLES: Final = _LEXICON.words("particles")
_OPENING: Final = _LEXICON.words("opening")
_SUFFIX = _LEXICON.pattern("suffix", re.IGNORECASE)
_DEGREE = re.compile(r"(?:Ph\.?D|M\.?D|MSc|FRS)\.?", re.IGNORECASE)
_NOTE = r"(?:[*∗⋆★†‡§¶♯♠♣♥♦◦⁎✉∥#⁰¹²³⁴⁵⁶⁷⁸⁹]|(?<!\d)\d{1,2}(?!\d))"
_MARKS = re.compile(rf"(?<=[^\W\d_.])\.?\s?\^?{_NOTE}(?:\s?[,，]?\s?{_NOTE})*[a-z]?(?![^\W\d_])")
_EMPHASIS = re.compile(r"[*_`~]+|^\s*[#>•-]+\s")
_MAIL = re.compile(r"[<(]?(?:\{[^{}\n]{1,200}\}|[\w.+-]+)\s?@\s?[\w.-]+[>)]?|https?://\S+")
_ASIDE = re.compile(r"[（(\[][^()（）\[\]\n]{0,160}[)）\]]")
_NICKNAME = re.compile(r"[（(][A-Z][\w.-]*(?:\s[A-Z][\w.-]*)?[)）](?=\s[A-Z])")
_WORD = re.compile(r"[^\W\d_]+(?:[-‐‑'’ʼ`.·][^\W\d_]+)*(?:(?<![^\W\d_]{4})\.)?|[‘'’]t")
_INITIALS = re.compile(r"(?:[^\W\d_]\.?(?:\s?-\s?)?){1,4}(?:\s[^\W\d_]\.?)*")
_HAN_NAME = re.compile(r"[\u3400-\u9fff]{2,4}|[\u3400-\u9fff]{1,8}(?:[·・•‧.][\u3400-\u9fffA-Z.]{1,10}){1,3}")
_SYLLABIC = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,8}")
_HAN = re.compile(r"[\u3400-\u9fff]")
_ORGANISATION = _LEXICON.pattern("organisation")
_SURNAMES: Final = _LEXICON.words("surnames")
_DOUBLE_SURNAMES = tuple(_LEXICON.words("double_surnames"))
_MOST_WORDS: Final = 7
_MOST_PEOPLE: Final = 300


@dataclass(frozen=True, slots=True)
class Person:
    """A person where the text names them; ``name`` has the given name first and no marks."""

    start: int
    end: int
    name: str


def people_in(text: str, start: int, end: int, *, told: bool = False) -> tuple[Person, ...]:
    """The people that the stretch lists, in order; () where it is anything but such a list.

    ``told``: the text says that they are people ("Authors: …"), so that one word will do for a name.
    """
    plain = _bare(text[start:end])
    if not plain.strip() or _ORGANISATION.search(plain):
        return ()
    found: list[Person] = []
    for first, last, name in _pieces(plain, told=told):
        if not _has_form(name, told=told) or len(found) == _MOST_PEOPLE:
            return ()
        found.append(Person(start + first, start + last, name))
    if not told and len(found) == 1 and found[0].name.split()[0].casefold() in _OPENING:
        return ()
    if not told and not any(" " in person.name or _SYLLABIC.match(person.name) for person in found):
        return () if len(found) != 1 or not _ONE_WORD.fullmatch(found[0].name) else tuple(found)
    return tuple(found)


_ONE_WORD = re.compile(r"[A-ZÀ-Þ][a-zß-ÿ]{2,}")


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


def _bare(text: str) -> str:
    """The text with what is no name made blanks, so that places stay: marks, addresses, asides."""
    text = _MAIL.sub(_blank, text)
    text = _ASIDE.sub(lambda match: match.group() if _NICKNAME.match(text, match.start()) else _blank(match), text)
    return _EMPHASIS.sub(_blank, _MARKS.sub(_blank, text))


def _pieces(text: str, *, told: bool) -> Iterator[tuple[int, int, str]]:
    """The names with their places: the list cut as its own marks say, inverted names turned."""
    if re.search(r"[;；]", text):
        separators, turned = r"\s*[;；]\s*(?:(?:and|&|和)\s+)?", True
    elif len(parts := re.split(r"\s+(?:and|&)\s+", text)) > 1 and all(_is_inverted(part) for part in parts):
        separators, turned = r"\s+(?:and|&)\s+", True
    elif _is_reference_list(text):
        yield from _with_initials(text)
        return
    elif _is_inverted(text) and (_is_one_name(text) if told else len(text.split()) <= 3 and "." in text):
        separators, turned = r"\n", True
    elif _HAN.search(text) and not re.search(r"[,，、]", text):
        separators, turned = r"\s*(?:和|与|及|以及)\s*|[\s|]+", False
    else:
        separators, turned = (
            r"\s*(?:[,，、|]|\s·\s)\s*(?:(?:and|&|和|与)\s+)?|\s+(?:and|och|und|&)\s+|(?<=[\u4e00-\u9fff])[和与及](?=[\u4e00-\u9fff])",
            False,
        )
    pending: tuple[int, int, str] | None = None
    for first, last in _cut(text, separators):
        name = _named(text[first:last], turned=turned)
        if pending is not None and _SUFFIX.fullmatch(name):
            written = pending[2] if _DEGREE.fullmatch(name) else f"{pending[2]} {name}"
            pending = (pending[0], last, written)
            continue
        if pending is not None:
            yield pending
        pending = (first, last, name)
    if pending is not None:
        yield pending


def _cut(text: str, separators: str) -> Iterator[tuple[int, int]]:
    """The stretches between the separators, without blanks at their ends; empty ones left out."""
    position = 0
    ends = [match.span() for match in re.finditer(separators, text)]
    for low, high in [*ends, (len(text), len(text))]:
        piece = text[position:low]
        trimmed = piece.strip(" \t\r\n\u3000,，:：")
        if trimmed.strip("."):
            first = position + piece.index(trimmed)
            yield first, first + len(trimmed)
        position = high


def _named(piece: str, *, turned: bool) -> str:
    """The piece as a name: one blank between words, the given name first."""
    name = " ".join(piece.split())
    if _HAN.search(name):
        return re.sub(r"(?<=[\u3400-\u9fff])\s(?=[\u3400-\u9fff])", "", name)
    family, comma, given = name.partition(",")
    if turned and comma:
        given, _, suffix = given.strip().partition(", ")
        return " ".join(part for part in (given, family.strip(), suffix) if part)
    if not re.search(r"\b[^\W\d_]\.$|\b(?:Jr|Sr)\.$", name):
        name = name.rstrip(".")
    return name


def _is_inverted(part: str) -> bool:
    """Whether the part is one name with the family name first: "van den Berg, José"."""
    family, comma, given = part.partition(",")
    return bool(comma and family.strip() and given.strip()) and "," not in given.strip().rstrip(",")


def _is_one_name(text: str) -> bool:
    """Whether what stands on both sides of the comma is too short to be two names: "Lee, Ann"."""
    family, _, given = text.partition(",")
    return len(given.split()) <= 2 and len([word for word in family.split() if word not in _PARTICLES]) == 1


def _is_reference_list(text: str) -> bool:
    """Whether family names and initials take turns: "Lee, A., & O’Hara, K. B."."""
    parts = [text[first:last] for first, last in _cut(text, r"\s*,\s*(?:(?:and|&)\s+)?|\s+(?:and|&)\s+")]
    given = parts[1::2]
    return (
        len(parts) >= 2
        and len(parts) % 2 == 0
        and all(_INITIALS.fullmatch(part) for part in given)
        and not any(_INITIALS.fullmatch(part) for part in parts[::2])
    )


def _with_initials(text: str) -> Iterator[tuple[int, int, str]]:
    spans = list(_cut(text, r"\s*,\s*(?:(?:and|&)\s+)?|\s+(?:and|&)\s+"))
    for (first, low), (high, last) in zip(spans[::2], spans[1::2], strict=True):
        yield first, last, f"{' '.join(text[high:last].split())} {' '.join(text[first:low].split())}"


def _has_form(name: str, *, told: bool) -> bool:
    """Whether the words have the form of a person's name."""
    if _HAN.search(name):
        familiar = name[0] in _SURNAMES or name.startswith(_DOUBLE_SURNAMES) or re.search(r"[·・•‧]", name)
        return bool(_HAN_NAME.fullmatch(name)) and bool(told or familiar)
    if _SYLLABIC.fullmatch(name.replace(" ", "")):
        return True
    words = re.sub(r"[()（）\"“”]", "", name).split()
    if not 1 <= len(words) <= _MOST_WORDS or not all(
        _WORD.fullmatch(word) or _SUFFIX.fullmatch(word) for word in words
    ):
        return False
    long = [word for word in words if len(word.rstrip(".")) > 1 and word.casefold() not in _PARTICLES]
    rightly = all(_is_capital(word) or word.casefold() in _PARTICLES for word in words)
    if not long or not (rightly or (told and _is_capital(long[-1]))):
        return False
    return len(words) > 1 or not words[0].isupper()


def _is_capital(word: str) -> bool:
    """Whether the word begins with a capital, here or after a prefix ("d’Arcy"), or its script has none."""
    first = unicodedata.normalize("NFD", word)[0]
    return (
        first.isupper()
        or first.istitle()
        or not first.islower()
        or bool(re.match(r"[a-z]{1,2}['’][A-Z]|[a-z]{1,2}[A-Z]", word))
    )


# Bylines

_ABSTRACT = _LEXICON.pattern("abstract", re.IGNORECASE)
_BY = _LEXICON.pattern("by", re.IGNORECASE)
_APPEARED = _LEXICON.pattern("appeared", re.IGNORECASE)
_TITLE_LABEL = _LEXICON.pattern("title_label", re.IGNORECASE)
_SAYS_IT_APPEARED = _LEXICON.pattern("says_it_appeared", re.IGNORECASE)
_YEAR = re.compile(r"(?<![\d–—/.-])(?:19|20)\d\d(?![\d/]|[–—-]\d{1,4}(?!\d)|\.\d)")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DAY = re.compile(
    rf"[\s,.(（:：–—-]*(?:\b\d{{1,2}}(?:st|nd|rd|th)?(?:\s?[–—-]\s?(?:{_MONTH}\s)?\d{{1,2}}(?:st|nd|rd|th)?)?\s)?"
    rf"\b{_MONTH}(?:\s?[–—/-]\s?{_MONTH})?(?:\s\d{{1,2}}(?:st|nd|rd|th)?(?:\s?[–—-]\s?(?:{_MONTH}\s)?\d{{1,2}})?)?[\s,.]*$"
)
_VOLUME = _LEXICON.pattern("volume", re.IGNORECASE)
_AFTER_YEAR = _LEXICON.pattern("after_year")
_REMARK = _LEXICON.pattern("remark", re.IGNORECASE)
_OF_A_LIST = re.compile(r"[\s*]*(?:[-*•]|\[\d{1,3}\]|\d{1,3}[.)])\s|.*\bet al\b", re.IGNORECASE)
_NO_TITLE_OF_A_PLACE = _LEXICON.pattern("no_title_of_a_place", re.IGNORECASE)
_EDGE = " \t\r\n*_#>\"“”'‘’《》()（）[]【】,.;:，。；：、–—|-"
_BYLINE_MARKS = " \t*_#"
_SEPARATORS = (r"[.。]\s+|\s[—–-]+\s|\s*[|•]\s*|\s·\s|\s*[(（\[]|[;；]\s*|\t+|\s{3,}", r"[,，]\s*|\s+(?=in\s)")
_HEAD_ROWS: Final = 14
_TITLE_ROWS: Final = 3
_END_ROWS: Final = 12
_LONG_LINE: Final = 60
_LONGEST_VENUE, _LONGEST_TITLE, _LONGEST_ROW = 260, 300, 4000


@dataclass(frozen=True, slots=True)
class BylinePart:
    """A place of publication or a year where the text says it."""

    start: int
    end: int
    name: str


def whole_lines(text: str, start: int, end: int) -> tuple[int, int]:
    """The line, or lines, that the stretch stands in, blanks at both ends left out."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    last = len(text) if last < 0 else last
    whole = text[first:last]
    return first + len(whole) - len(whole.lstrip()), last - len(whole) + len(whole.rstrip())


@dataclass(frozen=True, slots=True)
class Byline:
    """What a byline says; ``title`` are the lines above it, or the first of the text."""

    start: int
    end: int
    title: str
    people: tuple[Person, ...]
    venue: BylinePart | None = None
    year: BylinePart | None = None

    def passage(self, text: str, place: Person | BylinePart) -> tuple[int, int]:
        """The stretch of the lines that hold the place."""
        return whole_lines(text, place.start, place.end)


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
    venue: BylinePart | None = None
    year: BylinePart | None = None
    by: bool = False


def find_byline(text: str) -> Byline | None:
    """The byline of the text; None where it has none."""
    rows = list(_wrapped(_rows(text), text))
    while len(rows) > 1 and rows[1].text.strip(_EDGE) == rows[0].text.strip(_EDGE):
        del rows[1]  # the title, and the heading that says it again
    return _at_the_head(rows) or _at_the_end(rows)


def venue_in(text: str, start: int, end: int) -> BylinePart | None:
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
    return Byline(rows[0].start, end, title.strip(_BYLINE_MARKS), found.people, found.venue, found.year)


def _beside_a_year(rows: list[_Row], number: int) -> BylinePart | None:
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
    title = rows[0].text.strip(_BYLINE_MARKS)
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


def _published(text: str, offset: int, first: int, last: int) -> tuple[BylinePart | None, BylinePart | None]:
    """Where and when something appeared, as the stretch says it; (None, None) where it says something else."""
    if last - first > _LONGEST_VENUE + 120 or _NO_TITLE_OF_A_PLACE.search(text, first, last):
        return None, None
    remark = _REMARK.search(text, first, last)
    last = remark.start() if remark else last
    years = list(_YEAR.finditer(text, first, last))
    if not years:
        return None, None
    year = years[-1]
    said = BylinePart(offset + year.start(), offset + year.end(), year.group())
    rest = _AFTER_YEAR.match(text, year.end(), last)
    after = rest.end() if rest else year.end()
    behind = _VOLUME.sub("", text[after:last])
    if len(re.findall(r"[^\W\d_]{2,}", behind)) >= 2 or re.search(r"[\u3400-\u9fff]{3,}", behind):
        begun = text[first : year.start()].strip(_EDGE)
        inside = after - year.end() <= 1 and text[year.end()] == " "  # "Proceedings of the 2018 Conference on …"
        if inside or not begun:
            return _venue(text, offset, first if begun else after, after + len(behind)), said
    return _venue(text, offset, first, year.start()), said


def _venue(text: str, offset: int, first: int, last: int) -> BylinePart | None:
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
    return BylinePart(offset + start, offset + start + len(name), " ".join(name.split())) if fits else None
