"""What a question says: its tokens, the words that frame it, its numbers and units, the names that it may hold."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, reduce
from itertools import pairwise
from operator import or_
from typing import Protocol

from pyoxigraph import Literal, NamedNode

from kgplatform.extraction.values import UNITS
from kgplatform.lexicon.amounts import han_number
from kgplatform.questions.forms.fact_graph import FactGraph, Items
from kgplatform.questions.forms.question_language import QuestionLanguage, languages, other_names, read_together
from kgplatform.questions.parser.vocabulary import stem
from kgplatform.questions.usage import SchemaProperty
from kgplatform.text import has_han

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = rf"[^\W\d_{_HAN}]+"
_TOKEN = re.compile(
    r"\d{4}-\d\d-\d\d|\d{1,2}:\d\d|\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|"
    rf"[{_HAN}]|{_WORD}(?:['’]{_WORD})?|[?？!！]"
)
_MARKS = frozenset("?？!！")
_POSSESSIVE = re.compile(r"['’]s?$")


@dataclass(frozen=True, slots=True)
class TextToken:
    """A word, number or Han character with its place in the text; ``stem`` is what it is compared by."""

    text: str
    stem: str
    start: int
    end: int

    @property
    def han(self) -> bool:
        """Whether it is a Han character."""
        return len(self.text) == 1 and has_han(self.text)


def tokens_of(text: str) -> tuple[TextToken, ...]:
    """The tokens of a text: words, numbers, times, Han characters one by one.

    >>> [token.stem for token in tokens_of("Keller's hotels 12,000 西湖")], [t.text for t in tokens_of("Luna在哪")]
    (['keller', 'hotel', '12000', '西', '湖'], ['Luna', '在', '哪'])
    """
    return tuple(TextToken(m.group(), _stem(m.group()), m.start(), m.end()) for m in _TOKEN.finditer(text))


def _stem(word: str) -> str:
    if word[0].isdigit():
        return word.replace(",", "")
    return stem(_POSSESSIVE.sub("", word.casefold()) or word.casefold())


def mask_of(first: int, last: int) -> int:
    """The tokens from ``first`` up to and without ``last``, as the bits of a number."""
    return (1 << last) - (1 << first)


def union(masks: Iterable[int]) -> int:
    """The tokens that are in any of the masks."""
    return reduce(or_, masks, 0)


@cache
def listed_words(name: str, language: str) -> tuple[str, ...]:
    """The words of a list, of every language that is read together with one."""
    return tuple(word for one in read_together(language) for word in one.words(name))


@cache
def light_words(language: str) -> frozenset[str]:
    """Stems of words that carry nothing of their own."""
    return frozenset(_stem(word) for word in listed_words("light", language))


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, a date or a time of the question.

    ``kind`` is ``number``, ``ordinal``, ``date`` (``text`` as a prefix of a date) or ``time`` (seconds as ``value``);
    ``unit`` is the word after a number; ``until`` is the other end where both are named as one: *150-200*.
    """

    kind: str
    value: float
    mask: int
    text: str = ""
    unit: str = ""
    until: Quantity | None = None


@dataclass(frozen=True, slots=True)
class Anchor:
    """Things or values that a piece of the question may name; ``score`` is 1 where the whole name is there."""

    items: Items
    mask: int
    score: float
    exact: bool
    said: str


@dataclass(frozen=True)
class Read:
    """A question, read without knowing what it asks."""

    text: str
    language: str
    tokens: tuple[TextToken, ...]
    cues: Mapping[str, int]
    quantities: tuple[Quantity, ...]
    anchors: tuple[Anchor, ...]
    light: int = field(default=0)

    @cached_property
    def content(self) -> int:
        """The tokens that say something: no light words, no signs, no words by which things are counted (哪座桥)."""
        said = sum(1 << i for i, token in enumerate(self.tokens) if token.text not in _MARKS)
        return said & ~self.light & ~self._counting

    @cached_property
    def _counting(self) -> int:
        counts, words = languages()[self.language].measures, [token.text for token in self.tokens]
        named = union(anchor.mask for anchor in self.anchors if anchor.exact)
        places = (i for i in range(1, len(words)) if not named >> i & 1)
        before = ((i, (words[i - 1], "".join(words[max(0, i - 2) : i]))) for i in places)
        return sum(1 << i for i, told in before if any(counts(one, words[i]) for one in told))

    def cue(self, *names: str) -> int:
        """The tokens that are a sign of any of these; 0 where there is none."""
        return union(self.cues.get(name, 0) for name in names)

    def said(self, mask: int) -> str:
        """The text of some tokens."""
        places = [i for i in range(len(self.tokens)) if mask >> i & 1]
        return self.text[self.tokens[places[0]].start : self.tokens[places[-1]].end] if places else ""

    def between(self, one: int, other: int) -> str:
        """What stands between two pieces of the question, without blanks; empty where one begins inside the other."""
        first, second = sorted((one, other), key=_lowest)
        return self.text[self.tokens[first.bit_length() - 1].end : self.tokens[_lowest(second)].start].strip()


def _cues(tokens: Sequence[TextToken], language: str) -> dict[str, int]:
    words = [token.text.casefold().replace("’", "'") for token in tokens]
    found: dict[str, int] = defaultdict(int)
    cues = [cue for one in read_together(language) for cue in one.cues]
    listed = {phrase[0] for _, phrase in cues if len(phrase) == 1}  # goes before a pattern: "lowest" before "*est"
    there = set(words)
    for name, phrase in cues:
        if not all(part in there or "*" in part or part[0] == "^" for part in phrase):
            continue
        if phrase[0].startswith("^"):
            opened = phrase[0][1:]
            if words and words[0] == opened:
                found[name] |= 1
            continue
        for start in range(len(words) - len(phrase) + 1):
            said = zip(words[start:], phrase, strict=False)
            if all(word == part or (word not in listed and _matches(word, part)) for word, part in said):
                found[name] |= mask_of(start, start + len(phrase))
    return dict(found)


def _matches(word: str, part: str) -> bool:
    if part[0] == "*":
        return len(word) > len(part) + 1 and word.endswith(part[1:])
    if part[-1] == "*":
        return len(word) > len(part) + 2 and word.startswith(part[:-1])
    return word == part


# Numbers and days


_WITH_COMMA = re.compile(r"(?<![\d.,])(?:\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+,\d+)(?![.,]?\d)")
_PLAIN_NUMBER = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")


class _Quantities:
    """Finds the numbers, days and times of a text."""

    def __init__(self, text: str, tokens: Sequence[TextToken], language: str, compared: int) -> None:
        """``compared`` are the tokens that are a sign of a comparison."""
        self._text, self._tokens, self._compared = text, tokens, compared
        self._words = [token.text.casefold() for token in tokens]
        self._languages = read_together(language)
        self._listed = {name: listed_words(name, language) for name in _LISTS}
        self._names = {word: value for one in self._languages for word, value in one.numbers.items()}
        self._scales = {word: size for one in self._languages for word, size in one.scales.items()}
        self._taken = 0
        self.found: list[Quantity] = []

    def read(self) -> tuple[Quantity, ...]:
        self._iso()
        self._dates()
        self._month_names()
        self._times()
        self._shares()
        self._ordinals()
        self._written()
        self._numbers()
        self._single()
        self._number_words()
        self._ranges()
        return tuple(self.found)

    def _mask(self, start: int, end: int) -> int:
        return sum(1 << i for i, token in enumerate(self._tokens) if token.start < end and token.end > start)

    def _add(self, kind: str, value: float, mask: int, text: str = "", unit: str = "") -> None:
        if mask and not mask & self._taken:
            self._taken |= mask
            self.found.append(Quantity(kind, value, mask, text, unit))

    def _matches(self, name: str) -> Iterator[tuple[int, dict[str, str], QuestionLanguage]]:
        """Where a pattern of a language matches: its tokens, and the groups that are there by their names."""
        for language in self._languages:
            if name in language.patterns:
                for match in language.patterns[name].finditer(self._text):
                    said = {group: part for group, part in match.groupdict().items() if part}
                    yield self._mask(*match.span()), said, language

    def _iso(self) -> None:
        for match in re.finditer(r"(?<!\d)\d{4}-(?:0[1-9]|1[0-2])(?:-\d\d)?(?!\d)", self._text):
            self._add("date", 0, self._mask(*match.span()), match.group())

    def _dates(self) -> None:
        for mask, said, _ in self._matches("date"):
            self._dated(mask, *(_digits(said.get(name)) for name in ("year", "month", "day")))

    def _dated(self, mask: int, year: int, month: int, day: int) -> None:
        rest = f"-{month:02}" + (f"-{day:02}" if day else "") if month else ""
        if year:
            self._add("date", year, mask, f"{year:04}{rest}")
        elif month:
            self._add("month", month, mask, rest if day else "")

    def _month_names(self) -> None:
        listed = (self._listed["months_short"], self._listed["months"])
        months = {name: place % 12 + 1 for names in listed for place, name in enumerate(names)}
        words, beside = self._words, self._listed["beside_days"]
        for i, token in enumerate(self._tokens):
            month = months.get(words[i])
            if month is None or token.text in self._listed["no_month"] or self._taken >> i & 1:
                continue
            first, last, day, year = i, i + 1, 0, 0
            before = i - 1
            while before > 0 and words[before] in beside:
                before -= 1
            if before >= 0 and (found := _day(words[before])):
                day, first = found, before
            elif last < len(words) and (found := _day(words[last])):
                day, last = found, last + 1
                if last < len(words) and words[last] in beside:
                    last += 1
            if last < len(words) and re.fullmatch(r"(?:1[5-9]|20)\d\d", words[last]):
                year, last = int(words[last]), last + 1
            self._dated(mask_of(first, last), year, month, day)

    def _times(self) -> None:
        for mask, said, _ in self._matches("time"):
            hour, minute = _digits(said["hour"]), 30 if "half" in said else _digits(said.get("minute"))
            if len(said) == 1 or hour > 24 or minute > 59:
                continue
            if hour <= 12 and not said.keys().isdisjoint(("early", "late")):
                hour = hour % 12 + (12 if "late" in said else 0)
            self._add("time", hour * 3600 + minute * 60, mask)

    def _shares(self) -> None:
        """A part of a unit or of a large number: *half a dozen*, *a third of an hour*."""
        words = [*self._words, ""]
        for place, word in enumerate(words):
            last = place + 1
            while last < len(words) and words[last] in (*self._listed["article"], *self._listed["shared"]):
                last += 1
            if self._scales.get(word, 1) < 1 and last > place + 1:
                size = self._scales.get(words[last], 1.0)
                if size > 1 or unit_of(words[last]):
                    mask = mask_of(place, last + (size > 1))
                    self._add("number", self._scales[word] * max(size, 1), mask, unit=self._unit_after(mask))

    def _ordinals(self) -> None:
        for mask, said, _ in self._matches("ordinal"):
            self._add("ordinal", int(said["number"]), mask)
        ordinals = {name: place % 12 + 1 for place, name in enumerate(self._listed["ordinals"])}
        for i, word in enumerate(self._words):
            if word in ordinals:
                self._add("ordinal", ordinals[word], 1 << i)

    def _written(self) -> None:
        """The numbers that a language writes in its own signs."""
        for mask, said, language in self._matches("number"):
            value: float | None
            if "digits" in said:
                value = float(said["digits"]) * math.prod(language.scales[sign] for sign in said["scales"])
            else:
                written = said["written"]
                small = language.scales.get(written, 1)
                value = small if small < 1 else han_number(written)
                compared = self._is_compared((mask & -mask).bit_length() - 1)
                if written in language.words("article") and "ordinal" not in said and not compared:
                    continue
            if value is not None:
                self._add("ordinal" if "ordinal" in said else "number", value, mask, unit=self._unit_after(mask))

    def _numbers(self) -> None:
        for match in _PLAIN_NUMBER.finditer(self._text):
            mask = self._mask(*match.span())
            if not mask or mask & self._taken:
                continue
            value = float(match.group().replace(",", ""))
            last = mask.bit_length()
            after = self._words[last] if last < len(self._words) else ""
            scale = self._scales.get(after, 0)
            if unit_of(after):  # eight m: metres or millions, as the property has it
                scale = 0
            if scale >= 100:
                value, mask = value * scale, mask | 1 << last
            if re.fullmatch(r"(?:1[0-9]|20)\d\d", match.group()) and not scale:
                self._add("date", value, mask, match.group())
            else:
                self._add("number", value, mask, unit=self._unit_after(mask))

    def _number_words(self) -> None:
        i, words = 0, (*self._words, "")
        while i < len(self._tokens):
            start, value, part = i, 0.0, 0.0
            while i < len(self._tokens) and not self._taken >> i & 1:
                word = words[i]
                if word in self._names:
                    part += self._names[word]
                elif part and (share := self._share_after(i)):
                    part, i = part + share[0], share[1]
                    continue
                elif word in self._scales and len(word) > 1 and (part or self._stands_alone(i)):
                    part = (part or 1) * self._scales[word]
                    if self._scales[word] >= 1000:
                        value, part = value + part, 0.0
                elif word not in self._listed["joint"] or part < 100 or words[i + 1] not in self._names:
                    break
                i += 1
            value += part
            if i > start and value and (value != 1 or i > start + 1 or self._is_compared(start)):
                mask = mask_of(start, i)
                self._add("number", value, mask, unit=self._unit_after(mask))
            i = max(i, start + 1)

    def _ranges(self) -> None:
        """Two numbers or days as the ends of one: *150-200元*, *5 to 10 km*, 50到100."""
        found = sorted(self.found, key=lambda quantity: quantity.mask)
        for one, other in pairwise(found):
            start, end = self._tokens[one.mask.bit_length() - 1].end, self._tokens[_lowest(other.mask)].start
            between = self._text[start:end].strip().casefold().removeprefix(one.unit).strip()
            if one.kind == other.kind and one.until is None and between in (*_DASHES, *self._listed["range"]):
                low, high = (one.value, one.text), (other.value, other.text)
                if one.kind in ("number", "date") and low < high:
                    unit = other.unit if unit_of(other.unit) else one.unit
                    place = self.found.index(one)
                    mask = mask_of(_lowest(one.mask), other.mask.bit_length())
                    self.found[place] = replace(one, mask=mask, unit=unit, until=other)
                    self.found.remove(other)

    def _stands_alone(self, place: int) -> bool:
        """Whether a scale needs no number before it: *half*, and any after an article."""
        word, before = self._words[place], self._words[place - 1] if place else ""
        return word in self._listed["scales_alone"] or (self._scales[word] >= 100 and before in self._listed["article"])

    def _share_after(self, place: int) -> tuple[float, int] | None:
        """A part of one that is added, *and a half*, and the place after it."""
        words = self._words
        if place < len(words) and words[place] in self._listed["joint"]:
            place += 1
            place += place < len(words) and words[place] in self._listed["article"]
            if place < len(words) and 0 < (share := self._scales.get(words[place], 1)) < 1:
                return share, place + 1
        return None

    def _single(self) -> None:
        """One of a unit that something is compared with: *over a kilometre*, *less than an hour and a half*."""
        for place in range(1, len(self._words) - 1):
            unit = self._words[place + 1]
            article = self._words[place] in self._listed["article"] and self._words[place - 1] not in self._scales
            if not article or self._taken >> place & 1 or unit_of(unit) is None:
                continue
            if self._is_compared(place):
                share, last = self._share_after(place + 2) or (0.0, place + 2)
                self._add("number", 1 + share, mask_of(place, last), unit=unit)

    def _is_compared(self, place: int) -> bool:
        """Whether a sign of a comparison stands shortly before a place."""
        return bool(self._compared & mask_of(max(0, place - _CLOSE), place))

    def _unit_after(self, mask: int) -> str:
        last = mask.bit_length()
        if last >= len(self._tokens):
            return ""
        token = self._tokens[last]
        if not token.han:
            together = "_".join(self._words[last : last + 2])  # square metres
            return together if unit_of(together) else token.text.casefold()
        run = ""
        for following in self._tokens[last : last + 5]:
            if not following.han:
                break
            run += following.text
        # between the two may stand a measure word, and that it is more: 两个多小时
        return next((run[start:] for start in range(3) if unit_of(run[start:])), run)


_CLOSE = 4
_DASHES = ("-", "–", "—", "~", "～")
_COMPARING = ("more", "less", "at_least", "at_most", "exactly")
_LISTS = (
    "months", "months_short", "no_month", "beside_days", "ordinals", "scales_alone", "joint", "article", "shared",
    "range",
)  # fmt: skip


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _day(text: str) -> int:
    return int(text) if text.isdigit() and 1 <= int(text) <= 31 else 0


def _digits(text: str | None) -> int:
    if not text:
        return 0
    return int(text) if text.isdigit() else han_number(text) or 0


# Names


class Keep(Protocol):
    """Takes a name that was found: its tokens, what it names, how surely."""

    def __call__(self, mask: int, items: Iterable[int], score: float, *, exact: bool) -> None:
        """Keeps it."""


_MOST_ALIKE, _MOST_OF_A_KIND = 8, 4
_LONGEST_VALUE = 60
_MOST_HOLDERS = 400


class Names:
    """The names and short texts of a graph, found in questions: whole, in part, or mistyped."""

    def __init__(self, graph: FactGraph) -> None:
        """Reads the labels, aliases and short literals."""
        self._graph = graph
        self._whole: dict[tuple[str, ...], set[int]] = defaultdict(set)
        by_word: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        facts = graph.facts
        for node in (*facts.labels, *facts.aliases):
            number = graph.number_of.get(node)
            if number is not None:
                for literal in (*facts.labels.get(node, ()), *facts.aliases.get(node, ())):
                    self._add(literal.value, number)
        for number, term in enumerate(graph.terms):
            if isinstance(term, Literal) and len(term.value) <= _LONGEST_VALUE and graph.magnitude(number) is None:
                for text in (term.value, *other_names(term.value)):
                    self._add(text, number)
        for key in self._whole:
            for word in key:
                by_word[word].add(key)
        self._by_word = dict(by_word)
        count = len(self._whole) or 1
        self._rarity = {word: math.log(1 + count / len(keys)) for word, keys in by_word.items()}
        self._most = math.log(1 + count)

    def _add(self, text: str, number: int) -> None:
        key = tuple(token.stem for token in tokens_of(text) if token.text not in _MARKS)
        if 0 < len(key) <= 16:
            self._whole[key].add(number)

    @cached_property
    def _spellings(self) -> Mapping[str, frozenset[str]]:
        """Words of names by what is left of them without one letter."""
        found: dict[str, set[str]] = defaultdict(set)
        for word in self._rarity:
            if len(word) >= 4 and word.isalpha() and not has_han(word):
                for short in _shortened(word):
                    found[short].add(word)
        return {short: frozenset(words) for short, words in found.items()}

    def _spelt_like(self, word: str) -> frozenset[str]:
        if len(word) < 5 or word in self._rarity or not word.isalpha() or has_han(word):
            return frozenset()
        near = frozenset().union(*(self._spellings.get(short, frozenset()) for short in _shortened(word)))
        return frozenset(other for other in near if other[0] == word[0] and abs(len(other) - len(word)) <= 1)

    def find(self, tokens: Sequence[TextToken], light: int) -> tuple[Anchor, ...]:
        """The names in a question, the surest first; pieces of names only where they tell something."""
        stems = [token.stem for token in tokens]
        found: dict[tuple[int, Items], Anchor] = {}

        def keep(mask: int, items: Iterable[int], score: float, *, exact: bool) -> None:
            items = frozenset(items)
            said = " ".join(t.text for i, t in enumerate(tokens) if mask >> i & 1)
            old = found.get((mask, items))
            if old is None or old.score < score:
                found[mask, items] = Anchor(items, mask, score, exact, said)

        covered = 0
        for length in range(min(16, len(stems)), 0, -1):
            for start in range(len(stems) - length + 1):
                mask = mask_of(start, start + length)
                items = self._whole.get(tuple(stems[start : start + length]))
                if items and (length > 1 or not mask & light):
                    # a part of a longer name that is there is rarely meant
                    keep(mask, items, 0.6 if mask & covered == mask else 1.0, exact=True)
                    covered |= mask
        for start in range(len(stems)):
            self._in_part(tokens, start, light, covered, keep)
        return tuple(sorted(found.values(), key=lambda a: (-a.score, -a.mask.bit_count(), a.mask, sorted(a.items))))

    def _in_part(self, tokens: Sequence[TextToken], start: int, light: int, covered: int, keep: Keep) -> None:
        """The names of which a run of tokens that begins here is a part."""
        first = tokens[start].stem
        if light >> start & 1 and not tokens[start].han:
            return
        for word in (first,) if first in self._by_word else sorted(self._spelt_like(first)):
            if len(self._by_word[word]) > _MOST_HOLDERS:
                continue
            for length, matches in self._runs(word, [token.stem for token in tokens], start).items():
                mask = mask_of(start, start + length)
                if (tokens[start].han and length < 2) or (mask & covered == mask and word == first):
                    continue
                best = max(share for share, _ in matches)
                # of names that are as likely the first by the alphabet are kept, the same in every process
                near = sorted((-share, key) for share, key in matches if share >= best - 0.25)
                kept = list(self._of_each_kind(near))[:_MOST_ALIKE]
                sure = (1.0 if word == first else 0.9) / (1 + 0.15 * (len(kept) - 1))
                for share, key in kept:
                    keep(mask, self._whole[key], (0.35 + 0.6 * share) * sure, exact=False)
                if len(kept) > 1:
                    together = frozenset().union(*(self._whole[key] for _, key in kept))
                    keep(mask, together, 0.3, exact=False)

    def _of_each_kind(self, near: Iterable[tuple[float, tuple[str, ...]]]) -> Iterator[tuple[float, tuple[str, ...]]]:
        """Names, the best first, but of each kind of thing a few only: a place, not all the plots that it names."""
        counts: Counter[frozenset[NamedNode]] = Counter()
        for share, key in near:
            kinds = self._graph.kinds_of.get(min(self._whole[key]), frozenset())
            counts[kinds] += 1
            if counts[kinds] <= _MOST_OF_A_KIND:
                yield -share, key

    def _runs(self, word: str, said: Sequence[str], start: int) -> dict[int, list[tuple[float, tuple[str, ...]]]]:
        """The names with a word, by how many words in a row from there on are as said, each with its share of the name.

        One with another number beside them is another name.
        """
        found: dict[int, list[tuple[float, tuple[str, ...]]]] = defaultdict(list)
        for key in self._by_word[word]:
            whole = sum(self._rarity[part] for part in key)
            for place in (i for i, part in enumerate(key) if part == word):
                length = 1
                while length < min(len(key) - place, len(said) - start) and (
                    key[place + length] == said[start + length]
                    or key[place + length] in self._spelt_like(said[start + length])
                ):
                    length += 1
                share = sum(self._rarity[part] for part in key[place : place + length]) / whole
                ends = ((place + length, start + length), (place - 1, start - 1))
                if not any(_are_digits(key, one) and _are_digits(said, other) for one, other in ends):
                    found[length].append((share, key))
        return found


def _are_digits(words: Sequence[str], place: int) -> bool:
    return 0 <= place < len(words) and words[place].isdigit()


def _shortened(word: str) -> set[str]:
    return {word, *(word[:i] + word[i + 1 :] for i in range(len(word)))}


def read(text: str, language: str, names: Names | None) -> Read:
    """The question as it is said, with every name of the graph that it may hold."""
    if languages()[language].data.get("decimal_comma"):
        text = _WITH_COMMA.sub(lambda found: found[0].translate(str.maketrans(".,", ",.")), text)
    tokens = tokens_of(text)[:_MOST_TOKENS]
    light = sum(1 << i for i, t in enumerate(tokens) if t.stem in light_words(language) or t.text in _MARKS)
    cues = _cues(tokens, language)
    compared = 0
    for name in _COMPARING:
        compared |= cues.get(name, 0)
    return Read(
        text=text,
        language=language,
        tokens=tokens,
        cues=cues,
        quantities=_Quantities(text, tokens, language, compared).read(),
        anchors=names.find(tokens, light)[:_MOST_ANCHORS] if names else (),
        light=light,
    )


_MOST_TOKENS = 120
_MOST_ANCHORS = 24


# Units


def unit_of(word: str) -> tuple[str, float] | None:
    """The kind of measure that a word is a unit of, and its size; of a Chinese text, its first word."""
    if word in UNITS:
        return UNITS[word]
    for length in range(min(3, len(word)), 0, -1):
        if has_han(word) and word[:length] in UNITS:
            return UNITS[word[:length]]
    return None


def _counted_in(property_: SchemaProperty | None) -> list[float]:
    """The thousands or millions in which the words, a comment or the unit say that the numbers are given."""
    texts = [text.text for text in (*property_.words, *property_.comments)] if property_ else []
    sizes = set()
    for text in (*texts, (property_ and property_.unit) or ""):
        words = re.findall(r"[^\W\d_]+", text.casefold())
        for word, following in zip(words, (*words[1:], ""), strict=False):
            for one in languages().values():
                for name, size in one.scales.items():
                    alone = len(name) > 1 or unit_of(following)  # k EUR, but m is a metre
                    if size >= 1000 and ((word in (name, f"{name}s") and alone) or (has_han(name) and name in word)):
                        sizes.add(size)
    return sorted(sizes)


def units_of(property_: SchemaProperty | None) -> list[tuple[str, float]]:
    """The units that the ontology gives a property: its unit, else those that its words and comments name."""
    if property_ is None:
        return []
    unit = (property_.unit or "").casefold()
    scales = [name for one in languages().values() for name in one.scales if unit.startswith(name)]
    for part in (unit, *(unit.removeprefix(name).strip() for name in scales)):  # thousand EUR, 万元
        if part and (found := unit_of(part)):
            return [found]
    texts = [word.text for word in (*property_.words, *property_.comments)]
    words = [
        word
        for text in texts
        for word in re.findall(r"[^\W\d_]+", text.casefold())
        if len(word) > 2 or word in ("kg", "km", "cm", "mm", "min", "ha")
    ]
    return list(dict.fromkeys(found for word in words if (found := unit_of(word))))


def factors_between(unit: str, property_: SchemaProperty | None) -> list[tuple[float, float]]:
    """By what a number in ``unit`` may have to be multiplied for a property, each with how sure that is."""
    asked = unit_of(unit) if unit else None
    own = units_of(property_)
    if asked is None:
        return [(1.0, 0.9 if own else 1.0), *((1 / size, 0.8) for size in _counted_in(property_))]
    same = [size for measure, size in own if measure == asked[0]]
    if same:
        return [(asked[1] / same[0], 1.0), *((asked[1] / same[0] / size, 0.8) for size in _counted_in(property_))]
    as_scale = next((one.scales[unit] for one in languages().values() if unit in one.scales), None)
    if as_scale:  # m is a million where it is no metre
        return [(as_scale, 1.0), *((as_scale / size, 0.8) for size in _counted_in(property_))]
    return [(1.0, 0.55 if own else 0.8)]
