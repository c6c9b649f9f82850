"""Cutting documents into chunks: overlapping windows of paragraphs, of tokens, of sentences, by parts, or the whole.

The law of all of them: ``document.text[chunk.start:chunk.end] == chunk.text``, chunks in order, none empty or blank,
and every letter that is not a blank is in at least one. A paragraph or sentence too long for a chunk is cut into
smaller pieces: sentences, lines, at last words.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from typing import Final, TypeAlias

from kgplatform.documents.sections import SectionKind, sections_of
from kgplatform.documents.table import CSV_TYPE, TSV_TYPE
from kgplatform.errors import ConfigError
from kgplatform.protocols import Chunker
from kgplatform.text import count_tokens, sentences
from kgplatform.types import Chunk, Document
from kgplatform.vocab import chunk_iri

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
    return _chunks(document, _windows(document.text, units, max_tokens, overlap))


def fixed_tokens(document: Document, *, max_tokens: int = 300, overlap: int = 30) -> list[Chunk]:
    """Windows of ``max_tokens`` tokens, cut between words where there are any, ``overlap`` tokens shared by neighbours.

    Raises:
        ConfigError: ``max_tokens`` is below 1, or ``overlap`` not between 0 and half of it.
    """
    _require(at_least=1, max_tokens=max_tokens)
    _require(at_least=0, overlap=overlap)
    if overlap * 2 > max_tokens:
        raise ConfigError(f"overlap {overlap} is more than half of max_tokens {max_tokens}", setting="overlap")
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
    text = document.text
    whole_units = _rows(document) or sentences(text)
    units = [piece for unit in whole_units for piece in _fitting(text, unit, max_tokens, (_lines,))]
    starts = range(0, max(len(units) - size, 0) + step, step)
    spans = [(units[start][0], units[min(start + size, len(units)) - 1][1]) for start in starts if start < len(units)]
    return _chunks(document, spans)


def sentence_tokens(document: Document, *, max_tokens: int = 300, overlap: int = 30) -> list[Chunk]:
    """Windows of as many whole sentences as fit in ``max_tokens``; the next begins with those of the last ``overlap``.

    A sentence longer than ``max_tokens`` is cut into lines and words.

    Raises:
        ConfigError: ``max_tokens`` is below 1, or ``overlap`` not between 0 and half of it.
    """
    _require(at_least=1, max_tokens=max_tokens)
    _require(at_least=0, overlap=overlap)
    if overlap * 2 > max_tokens:
        raise ConfigError(f"overlap {overlap} is more than half of max_tokens {max_tokens}", setting="overlap")
    text = document.text
    units = [
        piece for unit in _rows(document) or sentences(text) for piece in _fitting(text, unit, max_tokens, (_lines,))
    ]
    return _chunks(document, _token_windows(text, units, max_tokens, overlap))


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
        spans += _windows(document.text, units, size, 0)
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
    raise ConfigError(f"no chunker is called {name!r}{offer} (there are {known})", setting="documents.chunker")


def _require(*, at_least: int, **settings: int) -> None:
    for name, value in settings.items():
        if value < at_least:
            raise ConfigError(f"{name} is {value}; it must be at least {at_least}", setting=name)


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


def _windows(text: str, units: list[Span], max_tokens: int, overlap: int) -> Iterator[Span]:
    """Runs of units that fit together; each begins with some of the units of the one before, and ends further on."""
    first = fresh = 0
    while fresh < len(units):
        while first < fresh and not _fits(text, units[first][0], units[fresh][1], max_tokens):
            first += 1
        stop = fresh + 1
        while stop < len(units) and _fits(text, units[first][0], units[stop][1], max_tokens):
            stop += 1
        if stop < len(units):
            stop = _before_headings(text, units, fresh, stop)
        yield units[first][0], units[stop - 1][1]
        first, fresh = max(first + 1, stop - overlap), stop


def _token_windows(text: str, units: list[Span], max_tokens: int, overlap: int) -> Iterator[Span]:
    """Runs of units that fit together; each begins with those at the end of the one before that fit in ``overlap``."""
    first = fresh = 0
    while fresh < len(units):
        while first < fresh and not _fits(text, units[first][0], units[fresh][1], max_tokens):
            first += 1
        stop = fresh + 1
        while stop < len(units) and _fits(text, units[first][0], units[stop][1], max_tokens):
            stop += 1
        yield units[first][0], units[stop - 1][1]
        first = least = max(first + 1, fresh)
        first = stop
        while first > least and _fits(text, units[first - 1][0], units[stop - 1][1], overlap):
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
