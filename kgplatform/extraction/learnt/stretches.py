"""The words of a text, its stretches that could be names or values, and where it writes what an example names."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from kgplatform.extraction.learnt.examples import AnnotatedExample, dates_in, day_of, number_of
from kgplatform.extraction.names import tag
from kgplatform.extraction.ontology_lexicon import FUNCTION_WORDS
from kgplatform.lexicon import LexiconSection
from kgplatform.text import has_han, singular

# Words and candidate spans

_HAN_RUN = re.compile(r"[\u3400-\u9fff]+")
_WORD = re.compile(
    r"[\u3400-\u9fff]+|(?:[^\W\d_]\.){2,}|(?:(?![\u3400-\u9fff])[^\W_])+(?:[.,'’&/:_–-](?=\w)(?:(?![\u3400-\u9fff])\w)+)*|\S"
)
_QUOTED = re.compile(r"[\"“]([^\"”“]{1,80})[\"”]|《([^》]{1,60})》|「([^」]{1,60})」")
_MAX_NAME: Final = 11
_MAX_NOUN: Final = 4
_MAX_HAN: Final = 7
_LEXICON: Final = LexiconSection("extraction", "features")
_JOINING: Final = _LEXICON.words("joining")


@dataclass(frozen=True, slots=True)
class TextWord:
    """A word or mark of a text: ``key`` is its plain form, ``shape`` the kinds of its letters, ``tag`` a Han word's."""

    text: str
    start: int
    end: int
    key: str
    shape: str
    tag: str = ""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The words ``first`` to ``last`` (exclusive) of a text as a possible name or value."""

    first: int
    last: int
    start: int
    end: int
    kind: str
    key: str


@lru_cache(maxsize=65_536)
def plain(text: str) -> str:
    """What two spellings of a name have in common: case, accents, width, quotes and blanks set aside."""
    form = unicodedata.normalize("NFKD", text.casefold().replace("_", " "))
    form = "".join(letter for letter in form if not unicodedata.combining(letter))
    form = re.sub(r"[’‘`]", "'", re.sub(r"[\u2010-\u2015−]", "-", form))
    form = re.sub(r"\s*([()\[\].,:;/'-])\s*", r"\1", " ".join(form.split()))
    return form.strip(" \"“”.,;:'，。；")


@lru_cache(maxsize=65_536)
def shape_of(text: str) -> str:
    """The kinds of the letters of a word, runs shortened: ``Xx`` for "Paris", ``d-d`` for "3-4", ``h`` for Han."""
    kinds: list[str] = []
    for letter in text:
        if letter.isdigit():
            kind = "d"
        elif has_han(letter):
            kind = "h"
        elif letter.isalpha():
            kind = "X" if letter.isupper() else "x"
        else:
            kind = letter
        if not kinds or kinds[-1] != kind:
            kinds.append(kind)
    return "".join(kinds[:6])


def words_of(text: str) -> list[TextWord]:
    """The words and marks of a text, in order; Han is cut by jieba."""
    found: list[TextWord] = []
    for match in _WORD.finditer(text):
        if _HAN_RUN.match(match.group()):
            for token in tag(match.group()):
                start = match.start() + token.start
                found.append(TextWord(token.text, start, start + len(token.text), token.text, "h", token.tag))
        else:
            piece = match.group()
            found.append(TextWord(piece, match.start(), match.end(), plain(piece) or piece, shape_of(piece)))
    return found


class Stretches:
    """Finds the stretches of a text that could be names or values."""

    def __init__(self, text: str, words: list[TextWord]) -> None:
        self.text = text
        self.words = words
        self._first_at = {word.start: number for number, word in enumerate(words)}
        self._last_at = {word.end: number + 1 for number, word in enumerate(words)}

    def all(self) -> list[Stretch]:
        """Each stretch once, with the strongest reason for it, in order."""
        found: dict[tuple[int, int], Stretch] = {}
        for maker in (self._dates, self._quoted, self._names, self._nouns, self._han):
            for stretch in maker():
                found.setdefault((stretch.first, stretch.last), stretch)
        return sorted(found.values(), key=lambda item: (item.first, item.last))

    def of(self, first: int, last: int, kind: str) -> Stretch:
        """The stretch from word to word."""
        start, end = self.words[first].start, self.words[last - 1].end
        return Stretch(first, last, start, end, kind, plain(self.text[start:end]))

    def covering(self, start: int, end: int) -> tuple[int, int] | None:
        """The words that begin and end exactly at the offsets; None where none do."""
        first, last = self._first_at.get(start), self._last_at.get(end)
        return (first, last) if first is not None and last is not None and first < last else None

    def _dates(self) -> Iterator[Stretch]:
        for start, end, _ in dates_in(self.text):
            found = self.covering(start, end)
            if found:
                yield self.of(*found, "date")

    def _quoted(self) -> Iterator[Stretch]:
        for match in _QUOTED.finditer(self.text):
            start, end = next(match.span(group) for group in (1, 2, 3) if match[group] is not None)
            while end > start and self.text[end - 1] in " .,;":
                end -= 1
            found = self.covering(start, end)
            if found:
                yield self.of(*found, "quoted")

    def _names(self) -> Iterator[Stretch]:
        for first, word in enumerate(self.words):
            if _opens_name(word):
                yield from self._names_from(first)

    def _names_from(self, first: int) -> Iterator[Stretch]:
        depth = small = 0
        is_quoted = False  # Salvia 'Nachtvlinder'
        for last in range(first + 1, min(first + _MAX_NAME, len(self.words)) + 1):
            word = self.words[last - 1]
            if word.text in '"“”!?。！？;；，' or word.tag:
                return
            depth += (word.text == "(") - (word.text == ")")
            if depth < 0:
                return
            unquoted = is_quoted and word.text == "'"
            apart = last > first + 1 and self.words[last - 2].end < word.start
            is_quoted = (is_quoted and not unquoted) or (word.text == "'" and apart)
            capital = _opens_name(word)
            joining = word.key in _JOINING or word.text in ",.()-–'’:"
            small = 0 if capital else small + (not joining)
            if small > 3:
                return
            if word.text == "." and self.words[last - 2].shape not in ("X", "Xx", "X."):
                return
            closes = unquoted or (capital or (not joining and word.text.isalnum()) or small)
            ends = unquoted or word.text not in ",.(-–'’:"
            if (closes or word.text == ")") and depth == 0 and not is_quoted and ends:
                kind = "number" if last == first + 1 and word.shape[:1] == "d" else "name" if not small else "mixed"
                yield self.of(first, last, kind)

    def _nouns(self) -> Iterator[Stretch]:
        for first, word in enumerate(self.words):
            if not _is_noun(word):
                continue
            for last in range(first + 1, min(first + _MAX_NOUN, len(self.words)) + 1):
                end = self.words[last - 1]
                if _is_noun(end) or (last > first + 1 and _opens_name(end)):
                    yield self.of(first, last, "noun")
                elif end.key not in ("of", "and", "&"):
                    break

    def _han(self) -> Iterator[Stretch]:
        for first, word in enumerate(self.words):
            if not word.tag or word.tag[0] in "upcyw":
                continue
            for last in range(first + 1, min(first + _MAX_HAN, len(self.words)) + 1):
                end = self.words[last - 1]
                if not end.tag and not (end.text.isalnum() or end.text == "·"):
                    break
                if end.tag[:1] not in ("u", "p", "c", "y", "w") and end.text != "·":
                    yield self.of(first, last, "han")


def _opens_name(word: TextWord) -> bool:
    return word.shape[:1] in ("X", "d") or "X" in word.shape or "d" in word.shape


def _is_noun(word: TextWord) -> bool:
    return word.shape[:1] == "x" and word.key not in FUNCTION_WORDS and len(word.text) > 1


KINDS: Final = ("date", "quoted", "name", "number", "mixed", "noun", "han", "seen")
"""The kinds of stretches, in the order in which the network knows them; none is of the last any more."""


def stretch_signs(words: Sequence[TextWord], item: Stretch) -> list[float]:
    """The kind, length, letters and neighbours of a stretch."""
    opening, closing = words[item.first], words[item.last - 1]
    before = words[item.first - 1] if item.first else None
    after = words[item.last] if item.last < len(words) else None
    inside = words[item.first : item.last]
    size = item.last - item.first
    signs: list[float] = [item.kind == kind for kind in KINDS]
    signs += [size / 4, size == 1, size == 2, item.first == 0]
    signs += [_capital(opening), _capital(closing), opening.shape[:1] == "d", closing.shape[:1] == "d"]
    signs += ["X" in opening.shape, _capital(before), _capital(after), _small(before), _small(after)]
    signs += [opening.key in FUNCTION_WORDS, closing.key in FUNCTION_WORDS]
    signs += [_is(before, ("the", "a", "an")), _is(before, '"“('), _is(after, '"”)'), _is(before, ",")]
    signs += [_is(after, ","), _is(after, ".;"), sum(map(_small, inside)) / 3]
    signs += [sum(not word.text.isalnum() for word in inside) / 2, item.first / max(1, len(words))]
    return signs


def _capital(word: TextWord | None) -> bool:
    return word is not None and word.shape[:1] in ("X", "d")


def _small(word: TextWord | None) -> bool:
    return word is not None and word.shape[:1] == "x"


def _is(word: TextWord | None, some: Sequence[str]) -> bool:
    return word is not None and word.key in some


# Alignment of subjects and objects with the text

Place = tuple[int, int]
"""The words ``first`` to ``last`` (exclusive)."""

Aliases = Mapping[str, frozenset[str]]
"""By squeezed value the squeezed other names that texts give it."""

_LONGEST: Final = 24
_LONGEST_ALIAS: Final = 4
_LEAST_SEEN: Final = 2
_LEAST_TELLING: Final = 0.5
_LEAST_SHARE: Final = 0.2


@lru_cache(maxsize=65_536)
def squeezed(text: str) -> str:
    """The letters and digits of a text in plain form: what is left when marks, blanks and plurals do not count."""
    form = plain(text)
    return "".join(singular(word) for word in re.findall(r"[^\W_]+", form)) or form


class WordRanges:
    """All stretches of words of a text by their squeezed form, and where values stand among them."""

    def __init__(self, text: str, words: Sequence[TextWord]) -> None:
        self.text = text
        self.words = words
        self._by_key: dict[str, list[Place]] = defaultdict(list)
        pieces = ["".join(singular(part) for part in re.findall(r"[^\W_]+", word.key)) for word in words]
        for first in range(len(words)):
            key = ""
            for last in range(first + 1, min(first + _LONGEST, len(words)) + 1):
                key += pieces[last - 1]
                if pieces[first] and pieces[last - 1]:
                    self._by_key[key].append((first, last))

    def find(self, value: str, aliases: Aliases) -> list[Place]:
        """Where the text writes the value, by the first way that finds it."""
        key = squeezed(value)
        if found := self._by_key.get(key):
            return found
        if found := self._values(value):
            return found
        for name in sorted(aliases.get(key, ())):
            if found := self._by_key.get(name):
                return found
        for part in _parts(value):
            if found := self._by_key.get(squeezed(part)):
                return found
        return []

    def grams(self) -> set[str]:
        """The squeezed forms of the short stretches that could be another name: with a capital, a digit or Han."""
        return {
            key
            for key, places in self._by_key.items()
            if any(last - first <= _LONGEST_ALIAS and self._names(first, last) for first, last in places)
        }

    def _names(self, first: int, last: int) -> bool:
        inside = self.words[first:last]
        if inside[0].key in FUNCTION_WORDS or inside[-1].key in FUNCTION_WORDS:
            return False
        return all("X" in word.shape or "d" in word.shape or has_han(word.text) for word in (inside[0], inside[-1]))

    def _values(self, value: str) -> list[Place]:
        day, number = day_of(value), number_of(value)
        found: list[Place] = []
        if day is None and number is None:
            return found
        for first, word in enumerate(self.words):
            for last in range(first + 1, min(first + 8, len(self.words)) + 1):
                written = self.text[word.start : self.words[last - 1].end]
                if not written[0].isalnum():
                    break
                if _same_day(day, day_of(written)) or (last == first + 1 and number_of(written) == number is not None):
                    found.append((first, last))
        longest = max((last - first for first, last in found), default=0)
        return [place for place in found if place[1] - place[0] == longest]


def _same_day(wanted: tuple[int, int, int] | None, written: tuple[int, int, int] | None) -> bool:
    """Whether the text's date is the value, what the text leaves out being the first."""
    if wanted is None or written is None:
        return False
    return wanted[0] == written[0] and all((b or 1) == (a or 1) for a, b in zip(wanted[1:], written[1:], strict=True))


def _parts(value: str) -> list[str]:
    """What a name is without its addition in parentheses or after a comma, and its initials."""
    found = [re.sub(r"\s*[(（][^)）]*[)）]\s*", " ", value).strip(), re.split(r"[,，]", value)[0]]
    words = [word for word in re.split(r"[\s-]+", value) if word[:1].isupper()]
    if len(words) > 1:
        found.append("".join(word[0] for word in words))
    return [part for part in found if len(squeezed(part)) > 1 and squeezed(part) != squeezed(value)]


def learn_aliases(examples: Sequence[AnnotatedExample], places: Sequence[WordRanges]) -> Aliases:
    """By what other names texts call values that they do not write: names that come with the value and rarely else.

    Or a beginning of the value, where several values that no text writes go on in the same way behind theirs, as
    *English language* and *French language* do.
    """
    missing: Counter[str] = Counter()
    begun: dict[str, set[tuple[str, str]]] = defaultdict(set)
    together: dict[str, Counter[str]] = defaultdict(Counter)
    anywhere: Counter[str] = Counter()
    for example, place in zip(examples, places, strict=True):
        values = {value for said in example.said for value in (said.subject, said.object)}
        written = {squeezed(value) for value in values if place.find(value, {})}
        grams = place.grams()
        anywhere.update(grams)
        for name in (name for name in values if squeezed(name) not in written):
            heads = (" ".join(name.split()[:count]) for count in range(len(name.split()) - 1, 0, -1))
            if head := next((head for head in heads if squeezed(head) in grams), ""):
                begun[name.removeprefix(head)].add((squeezed(name), squeezed(head)))
        for value in {squeezed(value) for value in values} - written:
            missing[value] += 1
            together[value].update(gram for gram in grams if not any(gram in other for other in written))
    found = {}
    for value, counts in together.items():
        names = frozenset(
            gram
            for gram, count in counts.items()
            if count >= _LEAST_SEEN
            and count >= _LEAST_TELLING * anywhere[gram]
            and count >= _LEAST_SHARE * missing[value]
        )
        if names:
            found[value] = names
    for pairs in (pairs for pairs in begun.values() if len(pairs) > 1):
        for value, head in sorted(pairs):
            found.setdefault(value, frozenset((head,)))
    return found
