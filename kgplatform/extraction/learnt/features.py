"""What is seen of a stretch of words, and of two of them: features as strings, the same for every language.

Two things are learnt from them: which stretches are subjects or objects at all, and which property, if any, holds
between two. `Lore` is what the examples say of names: how often each was subject or object of what.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
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
    """Finds the stretches of a text that could be names or values; ``known`` are plain forms seen in examples."""

    def __init__(self, text: str, words: list[TextWord], known: Container[str]) -> None:
        self.text = text
        self.words = words
        self._known = known
        self._first_at = {word.start: number for number, word in enumerate(words)}
        self._last_at = {word.end: number + 1 for number, word in enumerate(words)}

    def all(self) -> list[Stretch]:
        """Each stretch once, with the strongest reason for it, in order."""
        found: dict[tuple[int, int], Stretch] = {}
        for maker in (self._dates, self._quoted, self._names, self._nouns, self._han, self._seen):
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
        for last in range(first + 1, min(first + _MAX_NAME, len(self.words)) + 1):
            word = self.words[last - 1]
            if word.text in '"“”!?。！？;；，' or word.tag:
                return
            depth += (word.text == "(") - (word.text == ")")
            if depth < 0:
                return
            capital = _opens_name(word)
            joining = word.key in _JOINING or word.text in ",.()-–'’:"
            small = 0 if capital else small + (not joining)
            if small > 3:
                return
            if word.text == "." and self.words[last - 2].shape not in ("X", "Xx", "X."):
                return
            closes = word.text == ")" or (capital or (not joining and word.text.isalnum()) or small)
            if closes and depth == 0 and word.text not in ",.(-–'’:":
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

    def _seen(self) -> Iterator[Stretch]:
        if self._known == ():
            return
        for first in range(len(self.words)):
            for last in range(first + 1, min(first + _MAX_NAME + 6, len(self.words)) + 1):
                stretch = self.of(first, last, "seen")
                if stretch.key and stretch.key in self._known:
                    yield stretch


def _opens_name(word: TextWord) -> bool:
    return word.shape[:1] in ("X", "d") or "X" in word.shape or "d" in word.shape


def _is_noun(word: TextWord) -> bool:
    return word.shape[:1] == "x" and word.key not in FUNCTION_WORDS and len(word.text) > 1


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
    """By what other names texts call values that they do not write: names that come with the value and rarely else."""
    missing: Counter[str] = Counter()
    together: dict[str, Counter[str]] = defaultdict(Counter)
    anywhere: Counter[str] = Counter()
    for example, place in zip(examples, places, strict=True):
        values = {value for said in example.said for value in (said.subject, said.object)}
        written = {squeezed(value) for value in values if place.find(value, {})}
        grams = place.grams()
        anywhere.update(grams)
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
    return found


# Features

_EDGE: Final = "^"
_WINDOW: Final = 3
_NEAR: Final = 5
_MOST_BETWEEN: Final = 9


@dataclass
class Lore:
    """How many examples have a name as subject or object of each property, and in how many texts it stands.

    ``small`` counts the examples that have a word in small letters.
    """

    roles: dict[str, Counter[tuple[str, str]]] = field(default_factory=lambda: defaultdict(Counter))
    told: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    small: Counter[str] = field(default_factory=Counter)

    def add(self, roles: Iterable[tuple[str, str, str]], small: Iterable[str]) -> None:
        """Takes up what an example says: its (name, role, property), and its words in small letters."""
        known = set(roles)
        for key, role, property_ in known:
            self.roles[key][role, property_] += 1
        self.told.update({key for key, _, _ in known})
        self.small.update(set(small))

    def stand(self, keys: Iterable[str]) -> None:
        """Takes up which names stand in the text of an example."""
        self.seen.update(set(keys))

    def take(self, other: Lore) -> None:
        """Takes up all that another has."""
        for key, counts in other.roles.items():
            self.roles[key].update(counts)
        self.told.update(other.told)
        self.seen.update(other.seen)
        self.small.update(other.small)


@dataclass(frozen=True)
class TextScene:
    """A text in words with its stretches; ``own`` is what the texts about the same things have added to the lore.

    A text that is itself an example is judged without what it and its like say, as a new text would be.
    """

    text: str
    words: Sequence[TextWord]
    stretches: Sequence[Stretch]
    lore: Lore
    own: Lore | None = None

    def told(self, key: str) -> tuple[int, int]:
        """In how many other texts the name was subject or object, and in how many others it stood."""
        known, seen = self.lore.told.get(key, 0), self.lore.seen.get(key, 0)
        if self.own is not None:
            known, seen = known - self.own.told.get(key, 0), seen - self.own.seen.get(key, 0)
        return known, max(known, seen)

    def roles(self, key: str) -> list[tuple[str, str]]:
        """The roles that the name has in other texts."""
        found = self.lore.roles.get(key)
        if not found:
            return []
        own: Mapping[tuple[str, str], int] = self.own.roles.get(key, {}) if self.own is not None else {}
        return [role for role, count in found.items() if count > own.get(role, 0)]

    def word(self, number: int) -> str:
        """The plain form of a word, digits alike; a mark where the text has ended."""
        if not 0 <= number < len(self.words):
            return _EDGE
        word = self.words[number]
        return word.shape if word.shape[:1] == "d" else word.key


def _bucket(count: int) -> str:
    return str(count) if count < 3 else "3+" if count < 6 else "6+" if count < 12 else "12+"


def stretch_features(scene: TextScene, item: Stretch) -> list[str]:
    """What is seen of a stretch by itself."""
    words, first, last = scene.words, item.first, item.last
    before, after = scene.word(first - 1), scene.word(last)
    told, seen = scene.told(item.key)
    share = f"{round(4 * told / seen)}" if seen else "-"
    opening, closing = words[first], words[last - 1]
    small = sum(word.shape[:1] == "x" for word in words[first:last])
    shapes = f"{opening.shape}..{closing.shape}"
    shape_after = words[last].shape if last < len(words) else _EDGE
    shape_before = words[first - 1].shape if first else _EDGE
    usual = opening.shape[:1] == "X" and (scene.lore.small.get(opening.key, 0) > 1 or opening.key in FUNCTION_WORDS)
    run = f"{_in_run(words, first - 1, first)}{_in_run(words, last, last - 1)}"
    inner = {word.text for word in words[first:last] if not word.text.isalnum()}
    return [
        f"k={item.kind}",
        f"k={item.kind}|n={last - first}",
        f"k={item.kind}|<{shape_before}|>{shape_after}",
        f"sh={shapes}|{_bucket(small)}",
        f"<{before}",
        f">{after}",
        f"<{before}|k={item.kind}",
        f">{after}|k={item.kind}",
        f"<<{scene.word(first - 2)} {before}",
        f">>{after} {scene.word(last + 1)}",
        f"<{before}|>{after}",
        f"f={opening.key}",
        f"l={closing.key}",
        f"l3={closing.key[-3:]}|{closing.shape[:1]}",
        f"t={opening.tag}..{closing.tag}",
        f"g={_bucket(told)}|{share}",
        f"g={_bucket(told)}|{share}|k={item.kind}",
        *(f"in={mark}" for mark in sorted(inner)),
        f"usual={usual}|{first == 0 or words[first - 1].text in _ENDS}|n={min(last - first, 3)}",
        f"run={run}|k={item.kind}",
        f"run={run}|{small > 0}|{before in _JOIN}|{after in _JOIN}",
        f"<{'X' if 'X' in shape_before else shape_before[:1]}|{before in _JOIN}|>{shape_after[:1]}|{after in _JOIN}",
    ]


_JOIN: Final = _LEXICON.words("join")


_ENDS: Final = ".!?。！？"


def _in_run(words: Sequence[TextWord], outer: int, inner: int) -> str:
    """Whether a name goes on beyond its edge: ``c`` for a capital or number beside one, ``j`` after a joining word."""
    step = outer - inner
    if not 0 <= outer < len(words):
        return "-"
    if words[outer].text == "." and words[outer - 1].shape in ("X", "Xx"):
        outer += step
    if not 0 <= outer < len(words):
        return "-"
    if words[outer].shape[:1] in ("X", "d"):
        return "c"
    beyond = outer + step
    joins = words[outer].key in _JOIN and 0 <= beyond < len(words) and words[beyond].shape[:1] == "X"
    return f"j{words[outer].key}" if joins else "-"


def pair_features(scene: TextScene, subject: Stretch, object_: Stretch, others: Sequence[Stretch]) -> list[str]:
    """What is seen of two stretches as subject and object; ``others`` are the likely names among the rest."""
    forward = subject.first < object_.first
    way = ">" if forward else "<"
    left, right = (subject, object_) if forward else (object_, subject)
    between = _between(scene, left, right, others)
    said = " ".join(between) if len(between) <= _MOST_BETWEEN else "..."
    before = [scene.word(left.first - step) for step in range(1, _WINDOW + 1)]
    after = [scene.word(right.last + step) for step in range(_WINDOW)]
    shape = f"{object_.kind}:{scene.words[object_.first].shape}"
    found = [
        f"{way}b={said}",
        f"{way}b={said}|{shape}",
        f"{way}n={_bucket(sum(word == '@' for word in between))}",
        f"{way}d={_bucket(len(between) // 2)}",
        *(f"{way}w={word}" for word in set(between)),
        *(f"{way}w2={first} {second}" for first, second in set(pairwise(between))),
        *(f"{way}L{step}={word}" for step, word in enumerate(before, 1)),
        *(f"{way}R{step}={word}" for step, word in enumerate(after, 1)),
        f"{way}b1={between[0] if between else _EDGE}|{between[-1] if between else _EDGE}|R={after[0]}",
        f"{way}b={said}|R={after[0]}",
        f"{way}b={said}|L={before[0]}",
    ]
    found.extend(_object_features(scene, object_, shape))
    found.extend(_subject_features(scene, subject, object_))
    return found


def _object_features(scene: TextScene, item: Stretch, shape: str) -> list[str]:
    first, last = item.first, item.last
    before, after = scene.word(first - 1), scene.word(last)
    two = f"{scene.word(first - 2)} {before}"
    near = {scene.word(n) for n in (*range(first - _NEAR, first), *range(last, last + _NEAR))}
    return [
        f"oh={scene.words[first].shape}..{scene.words[last - 1].shape}|{item.kind}",
        f"ol={scene.words[last - 1].key}",
        f"of={scene.words[first].key}",
        f"o3={item.key[-3:]}",
        f"o<{before}|{shape}",
        f"o<{two}",
        f"o>{after}|{shape}",
        f"o>{after} {scene.word(last + 1)}",
        f"o<<{scene.word(first - 3)} {two}",
        *(f"on={word}" for word in near),
        *(f"og={role}{name}" for role, name in scene.roles(item.key)),
    ]


def _subject_features(scene: TextScene, item: Stretch, object_: Stretch) -> list[str]:
    first, last = item.first, item.last
    inside = any(
        other.first <= item.first and item.last <= other.last and other.last - other.first > last - first
        for other in scene.stretches
        if other.kind in ("name", "seen", "quoted")
    )
    low, high = sorted((first, object_.first))
    crossed = sum(scene.words[number].text in ".!?。！？" for number in range(low, high))
    return [
        f"sh={scene.words[first].shape}..{scene.words[last - 1].shape}|{item.kind}",
        f"sl={scene.words[last - 1].key}",
        f"s<{scene.word(first - 1)}",
        f"s>{scene.word(last)}",
        f"s>{scene.word(last)} {scene.word(last + 1)}",
        f"sp={_bucket(first)}|{inside}",
        f"cross={_bucket(crossed)}|{first < object_.first}",
        *(f"sg={role}{name}" for role, name in scene.roles(item.key)),
    ]


def _between(scene: TextScene, left: Stretch, right: Stretch, others: Sequence[Stretch]) -> list[str]:
    """The words between two stretches, likely names in them as one sign."""
    found: list[str] = []
    number = left.last
    inside = {item.first: item.last for item in others if left.last <= item.first and item.last <= right.first}
    while number < right.first:
        if number in inside:
            found.append("@")
            number = inside[number]
        else:
            found.append(scene.word(number))
            number += 1
    return found


def near_words(scene: TextScene, subject: Stretch, object_: Stretch) -> tuple[set[str], set[str]]:
    """The plain words between the two or beside the object, and those of them that are beside the object."""
    low, high = min(subject.last, object_.last), max(subject.first, object_.first)
    beside = {*range(object_.first - _WINDOW, object_.first), *range(object_.last, object_.last + _WINDOW)}
    inside = {*range(subject.first, subject.last), *range(object_.first, object_.last)}
    wide = {*range(low, high), *range(object_.first - _NEAR, object_.last + _NEAR)} - inside
    numbers = range(len(scene.words))
    return (
        {plain(scene.words[n].text) for n in numbers if n in wide},
        {plain(scene.words[n].text) for n in numbers if n in beside and n not in inside},
    )
