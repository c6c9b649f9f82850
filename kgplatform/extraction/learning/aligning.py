"""Where a text writes the subjects and objects of its triples: as they are, as numbers and dates, or by other names."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from kgplatform.extraction.learning.examples import Example
from kgplatform.extraction.learning.forms import day_of, number_of
from kgplatform.extraction.learning.spans import Word, plain
from kgplatform.extraction.lexicon import FUNCTION_WORDS
from kgplatform.text import has_han, singular

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


class Places:
    """All stretches of words of a text by their squeezed form, and where values stand among them."""

    def __init__(self, text: str, words: Sequence[Word]) -> None:
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


def learn_aliases(examples: Sequence[Example], places: Sequence[Places]) -> Aliases:
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
