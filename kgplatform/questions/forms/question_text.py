"""What a question says: its tokens, the words that frame it, its numbers and units, the names that it may hold."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Protocol

from pyoxigraph import Literal

from kgplatform import lexicon
from kgplatform.lexicon import LANGUAGES
from kgplatform.questions.forms.fact_graph import FactGraph, Items
from kgplatform.questions.parser.vocabulary import han_number, stem
from kgplatform.questions.usage import SchemaProperty
from kgplatform.text import has_han

_TOKEN = re.compile(
    r"\d{4}-\d\d-\d\d|\d{1,2}:\d\d|\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|"
    r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\W\d_]+(?:['’][^\W\d_]+)?|[?？!！]"
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

    >>> [token.stem for token in tokens_of("Keller's hotels 12,000 西湖")]
    ['keller', 'hotel', '12000', '西', '湖']
    """
    return tuple(TextToken(m.group(), _stem(m.group()), m.start(), m.end()) for m in _TOKEN.finditer(text))


def _stem(word: str) -> str:
    if word[0].isdigit():
        return word.replace(",", "")
    return stem(_POSSESSIVE.sub("", word.casefold()) or word.casefold())


def mask_of(first: int, last: int) -> int:
    """The tokens from ``first`` up to and without ``last``, as the bits of a number."""
    return (1 << last) - (1 << first)


@cache
def _section(language: str, name: str) -> dict[str, list[str]]:
    return dict(lexicon.read(f"questions.{language}").get(name, {}))


@cache
def _cue_phrases() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Every phrase that frames a question, by the words it is made of, with what it is a sign of."""
    return tuple(
        (name, tuple(phrase.split()) if not has_han(phrase) else tuple(phrase))
        for language in LANGUAGES
        for name, phrases in _section(language, "cues").items()
        for phrase in phrases
    )


@cache
def listed_words(name: str) -> tuple[str, ...]:
    """The words of a list of the lexicon, language after language."""
    return tuple(word for language in LANGUAGES for word in str(_section(language, "words").get(name, "")).split())


@cache
def light_words() -> frozenset[str]:
    """Stems of words that carry nothing of their own."""
    return frozenset(_stem(word) for word in listed_words("light"))


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, a date or a time of the question.

    ``kind`` is ``number``, ``ordinal``, ``date`` (``text`` as a prefix of a date) or ``time`` (seconds as ``value``);
    ``unit`` is the word after a number.
    """

    kind: str
    value: float
    mask: int
    text: str = ""
    unit: str = ""


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
        """The tokens that say something: no light words, no signs."""
        return sum(1 << i for i, token in enumerate(self.tokens) if token.text not in _MARKS) & ~self.light

    def cue(self, *names: str) -> int:
        """The tokens that are a sign of any of these; 0 where there is none."""
        found = 0
        for name in names:
            found |= self.cues.get(name, 0)
        return found

    def said(self, mask: int) -> str:
        """The text of some tokens."""
        places = [i for i in range(len(self.tokens)) if mask >> i & 1]
        return self.text[self.tokens[places[0]].start : self.tokens[places[-1]].end] if places else ""


def _cues(tokens: Sequence[TextToken]) -> dict[str, int]:
    words = [token.text.casefold().replace("’", "'") for token in tokens]
    found: dict[str, int] = defaultdict(int)
    for name, phrase in _cue_phrases():
        if phrase[0].startswith("^"):
            opened = phrase[0][1:]
            if words and words[0] == opened:
                found[name] |= 1
            continue
        for start in range(len(words) - len(phrase) + 1):
            if all(_matches(words[start + i], part) for i, part in enumerate(phrase)):
                found[name] |= mask_of(start, start + len(phrase))
    return dict(found)


def _matches(word: str, part: str) -> bool:
    if part[0] == "*":
        return len(word) > len(part) + 1 and word.endswith(part[1:])
    if part[-1] == "*":
        return len(word) > len(part) + 2 and word.startswith(part[:-1])
    return word == part


# Numbers and days


@cache
def _number_words() -> dict[str, int]:
    tens = _section("en", "words").get("tens", "")
    names = str(tens).split()
    return {name: value if value < 20 else (value - 18) * 10 for value, name in enumerate(names)}


@cache
def _scales(language: str) -> dict[str, float]:
    return {name: float(value) for name, value in lexicon.read(f"questions.{language}").get("scales", {}).items()}


@cache
def _pattern(language: str, name: str) -> re.Pattern[str]:
    return re.compile(str(_section(language, "patterns")[name]), re.IGNORECASE)


def _months() -> dict[str, int]:
    names = {name: place + 1 for place, name in enumerate(listed_words("months"))}
    return {**{name: place + 1 for place, name in enumerate(listed_words("months_short"))}, **names}


_PLAIN_NUMBER = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")


class _Quantities:
    """Finds the numbers, days and times of a text."""

    def __init__(self, text: str, tokens: Sequence[TextToken]) -> None:
        self._text, self._tokens = text, tokens
        self._taken = 0
        self.found: list[Quantity] = []

    def read(self) -> tuple[Quantity, ...]:
        self._iso()
        self._han_dates()
        self._english_dates()
        self._times()
        self._ordinals()
        self._numbers()
        self._words()
        return tuple(self.found)

    def _mask(self, start: int, end: int) -> int:
        return sum(1 << i for i, token in enumerate(self._tokens) if token.start < end and token.end > start)

    def _add(self, kind: str, value: float, mask: int, text: str = "", unit: str = "") -> None:
        if mask and not mask & self._taken:
            self._taken |= mask
            self.found.append(Quantity(kind, value, mask, text, unit))

    def _iso(self) -> None:
        for match in re.finditer(r"\d{4}-\d\d(?:-\d\d)?", self._text):
            self._add("date", 0, self._mask(*match.span()), match.group())

    def _han_dates(self) -> None:
        for match in _pattern("zh", "date").finditer(self._text):
            year, month, day = (_digits(match[name]) for name in ("year", "month", "day"))
            if year:
                text = f"{year:04}" + (f"-{month:02}" if month else "") + (f"-{day:02}" if month and day else "")
                self._add("date", year, self._mask(*match.span()), text)
            elif month:
                self._add("month", month, self._mask(*match.span()), f"-{month:02}-{day:02}" if day else "")

    def _english_dates(self) -> None:
        months = _months()
        tokens = self._tokens
        for i, token in enumerate(tokens):
            month = months.get(token.text.casefold())
            if month is None or token.text in listed_words("no_month") or self._taken >> i & 1:
                continue
            first, last, day, year = i, i + 1, 0, 0
            before = i - 1
            while before > 0 and tokens[before].text.casefold() in listed_words("beside_days"):
                before -= 1
            if before >= 0 and (found := _day(tokens[before].text)):
                day, first = found, before
            elif last < len(tokens) and (found := _day(tokens[last].text)):
                day, last = found, last + 1
                if last < len(tokens) and tokens[last].text.casefold() in listed_words("beside_days"):
                    last += 1
            if last < len(tokens) and re.fullmatch(r"(?:1[5-9]|20)\d\d", tokens[last].text):
                year, last = int(tokens[last].text), last + 1
            mask = mask_of(first, last)
            if year:
                self._add("date", year, mask, f"{year:04}-{month:02}" + (f"-{day:02}" if day else ""))
            else:
                self._add("month", month, mask, f"-{month:02}-{day:02}" if day else "")

    def _times(self) -> None:
        for match in _pattern("en", "time").finditer(self._text):
            hour, minute, late = int(match[1]), int(match[2] or 0), match["late"]
            if not (match[2] or match[3] or late) or hour > 24 or minute > 59:
                continue
            if match[3] or late:
                hour = hour % 12 + (12 if late else 0)
            self._add("time", hour * 3600 + minute * 60, self._mask(*match.span()))
        for match in _pattern("zh", "time").finditer(self._text):
            hour = _digits(match["hour"])
            if not hour or hour > 24:
                continue
            if match["part"] in listed_words("after_noon") and hour < 12:
                hour += 12
            minute = 30 if match["half"] else int(match["minute"] or 0)
            self._add("time", hour * 3600 + minute * 60, self._mask(*match.span()))

    def _ordinals(self) -> None:
        for match in _pattern("en", "ordinal").finditer(self._text):
            self._add("ordinal", int(match[1]), self._mask(*match.span()))
        ordinals = {name: place + 1 for place, name in enumerate(listed_words("ordinals"))}
        for i, token in enumerate(self._tokens):
            if token.text.casefold() in ordinals:
                self._add("ordinal", ordinals[token.text.casefold()], 1 << i)

    def _numbers(self) -> None:
        for match in _pattern("zh", "number").finditer(self._text):
            written = match.group()
            value = _han_value(written.removeprefix("第"))
            if value is not None and written not in listed_words("article"):
                mask = self._mask(*match.span())
                kind = "ordinal" if written[0] == "第" else "number"
                self._add(kind, value, mask, unit=self._unit_after(mask))
        for match in _PLAIN_NUMBER.finditer(self._text):
            mask = self._mask(*match.span())
            if not mask or mask & self._taken:
                continue
            value = float(match.group().replace(",", ""))
            last = mask.bit_length()
            following = self._tokens[last].text.casefold() if last < len(self._tokens) else ""
            scale = _scales("en").get(following) or _scales("zh").get(following)
            if scale and scale >= 100:
                value, mask = value * scale, mask | 1 << last
            if re.fullmatch(r"(?:1[0-9]|20)\d\d", match.group()) and not scale:
                self._add("date", value, mask, match.group())
            else:
                self._add("number", value, mask, unit=self._unit_after(mask))

    def _words(self) -> None:
        names, scales = _number_words(), _scales("en")
        i = 0
        while i < len(self._tokens):
            start, value, part = i, 0.0, 0.0
            while i < len(self._tokens) and not self._taken >> i & 1:
                word = self._tokens[i].text.casefold()
                if word in names:
                    part += names[word]
                elif word in scales and len(word) > 1 and (part or word in ("half", "dozen", "couple", "hundred")):
                    part = (part or 1) * scales[word]
                    if scales[word] >= 1000:
                        value, part = value + part, 0.0
                elif not self._joins(word, i, part):
                    break
                i += 1
            value += part
            if i > start and value and not (i == start + 1 and value == 1):
                mask = mask_of(start, i)
                self._add("number", value, mask, unit=self._unit_after(mask))
            i = max(i, start + 1)

    def _joins(self, word: str, place: int, part: float) -> bool:
        """Whether a word stands inside a number: *and* after hundreds, *a* before a scale."""
        following = self._tokens[place + 1].text.casefold() if place + 1 < len(self._tokens) else ""
        if word == "and":
            return part >= 100 and following in _number_words()
        return word == "a" and bool(part) and _scales("en").get(following, 0) >= 100

    def _unit_after(self, mask: int) -> str:
        last = mask.bit_length()
        if last >= len(self._tokens):
            return ""
        token = self._tokens[last]
        if not token.han:
            return token.text.casefold()
        run = ""
        for following in self._tokens[last : last + 3]:
            if not following.han:
                break
            run += following.text
        return run


def _day(text: str) -> int:
    return int(text) if text.isdigit() and 1 <= int(text) <= 31 else 0


def _digits(text: str | None) -> int:
    if not text:
        return 0
    return int(text) if text.isdigit() else han_number(text) or 0


def _han_value(text: str) -> float | None:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([百千万亿]+)", text)
    if match:
        value = float(match[1])
        for scale in match[2]:
            value *= _scales("zh")[scale]
        return value
    return 0.5 if text == "半" else han_number(text)


# Names


class Keep(Protocol):
    """Takes a name that was found: its tokens, what it names, how surely."""

    def __call__(self, mask: int, items: Iterable[int], score: float, *, exact: bool) -> None:
        """Keeps it."""


_MOST_ALIKE = 8
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
                self._add(term.value, number)
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
            for length, matches in self._runs(word, [token.stem for token in tokens[start:]]).items():
                mask = mask_of(start, start + length)
                if (tokens[start].han and length < 2) or (mask & covered == mask and word == first):
                    continue
                best = max(share for share, _ in matches)
                # of names that are as likely the first by the alphabet are kept, the same in every process
                near = sorted((-share, key) for share, key in matches if share >= best - 0.25)
                kept = [(-share, key) for share, key in near[:_MOST_ALIKE]]
                sure = (1.0 if word == first else 0.9) / (1 + 0.15 * (len(kept) - 1))
                for share, key in kept:
                    keep(mask, self._whole[key], (0.35 + 0.6 * share) * sure, exact=False)
                if len(kept) > 1:
                    together = frozenset().union(*(self._whole[key] for _, key in kept))
                    keep(mask, together, 0.3, exact=False)

    def _runs(self, word: str, said: Sequence[str]) -> dict[int, list[tuple[float, tuple[str, ...]]]]:
        """The names with a word, by how many words in a row are as they are said, each with its share of the name."""
        found: dict[int, list[tuple[float, tuple[str, ...]]]] = defaultdict(list)
        for key in self._by_word[word]:
            whole = sum(self._rarity[part] for part in key)
            for place in (i for i, part in enumerate(key) if part == word):
                length = 1
                while length < min(len(key) - place, len(said)) and (
                    key[place + length] == said[length] or key[place + length] in self._spelt_like(said[length])
                ):
                    length += 1
                share = sum(self._rarity[part] for part in key[place : place + length]) / whole
                found[length].append((share, key))
        return found


def _shortened(word: str) -> set[str]:
    return {word, *(word[:i] + word[i + 1 :] for i in range(len(word)))}


def read(text: str, language: str, names: Names) -> Read:
    """The question as it is said, with every name of the graph that it may hold."""
    tokens = tokens_of(text)[:_MOST_TOKENS]
    light = sum(1 << i for i, t in enumerate(tokens) if t.stem in light_words() or t.text in _MARKS)
    return Read(
        text=text,
        language=language,
        tokens=tokens,
        cues=_cues(tokens),
        quantities=_Quantities(text, tokens).read(),
        anchors=names.find(tokens, light)[:_MOST_ANCHORS],
        light=light,
    )


_MOST_TOKENS = 120
_MOST_ANCHORS = 24


# Units


_UNITS = "units"


@cache
def _measures() -> Mapping[str, tuple[str, float]]:
    """Each word for a unit, with the kind of measure and its size in the first unit of that kind."""
    found: dict[str, tuple[str, float]] = {}
    data = lexicon.read(_UNITS)
    for measure, sizes in data.get("measures", {}).items():
        for size, words in sizes.items():
            for word in words.split():
                found[word.casefold()] = (measure, float(size))
    for currency, words in data.get("currencies", {}).items():
        for word in (currency, *words.split()):
            found[word.casefold()] = (currency, 1.0)
    return found


def unit_of(word: str) -> tuple[str, float] | None:
    """The kind of measure that a word is a unit of, and its size; of a Chinese text, its first word."""
    known = _measures()
    if word in known:
        return known[word]
    for length in range(min(3, len(word)), 0, -1):
        if word and not word.isascii() and word[:length] in known:
            return known[word[:length]]
    return None


def _own(property_: SchemaProperty | None) -> list[tuple[str, float]]:
    """The units that the ontology gives a property: its unit, else those that its words and comments name."""
    if property_ is None:
        return []
    if property_.unit and (found := unit_of(property_.unit.casefold())):
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
    own = _own(property_)
    if asked is None:
        return [(1.0, 0.9 if own else 1.0)]
    same = [size for measure, size in own if measure == asked[0]]
    if same:
        return [(asked[1] / same[0], 1.0)]
    return [(1.0, 0.55 if own else 0.8)]
