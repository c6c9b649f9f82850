"""Chinese names said shorter, or with characters read alike: 加州 is 加利福尼亚州, 德克萨斯州 is 得克萨斯州."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.questions.facts import GraphFacts
from kgplatform.questions.schema import SchemaView
from kgplatform.text import has_han, normalise

_SHORTEST: Final = 3
_LONGEST: Final = 12
_FEW: Final = 3
_SYLLABLES: Final = 4
"""Fewer syllables are shared by chance."""
_MOST_NAMES: Final = 50_000
"""Of more names readings are not looked at: to make their table would take longer than a question may."""


class HanNames:
    """The Chinese names of a graph, found by what they are shortened to and by how they are read."""

    def __init__(self, facts: GraphFacts, schema: SchemaView) -> None:
        self._facts = facts
        self._schema = schema

    def keys(self, phrase: str) -> tuple[str, ...]:
        """The names (as normalised keys) that a normalised phrase may be another writing of."""
        if not has_han(phrase) or len(phrase) > _LONGEST:
            return ()
        if len(phrase) < _SYLLABLES and phrase in self._short:
            return self._short[phrase]
        return self._alike.get(_reading(phrase), ()) if len(phrase) >= _SYLLABLES else ()

    @cached_property
    def _short(self) -> Mapping[str, tuple[str, ...]]:
        """Names that end as those of their class do, by their first character and the ending: 浙大, 加州."""
        endings = self._endings()
        found: dict[str, set[str]] = defaultdict(set)
        for iri, classes in self._facts.types.items():
            kinds = {end for iri_ in classes for end in endings.get(iri_, ())}
            for key in self._names(iri):
                for kind in kinds:
                    if key.endswith(kind) and len(key) > len(kind) + 1:
                        found[key[0] + kind].add(key)
                        found[key[0] + kind[0]].add(key)
        return {short: tuple(sorted(listed)) for short, listed in found.items()}

    def _endings(self) -> Mapping[NamedNode, set[str]]:
        """What a class is called, or what most of its things' names end with, by class."""
        last: dict[NamedNode, Counter[str]] = defaultdict(Counter)
        for iri, classes in self._facts.types.items():
            ends = {key[-1] for key in self._names(iri)}
            for class_ in classes:
                last[class_].update(ends)
        found = {}
        for iri_, counted in last.items():
            term = self._schema.classes.get(iri_)
            called = {word.text for word in (term.words if term else ()) if has_han(word.text)}
            total = counted.total()
            common = {end for end, count in counted.items() if count >= max(_FEW, total / 2)}
            found[iri_] = called | {word[-1] for word in called} | common
        return found

    @cached_property
    def _alike(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, set[str]] = defaultdict(set)
        if len(self._facts.labels) <= _MOST_NAMES:
            for iri in self._facts.labels:
                for key in self._names(iri):
                    if len(key) >= _SYLLABLES:
                        found[_reading(key)].add(key)
        return {reading: tuple(sorted(listed)) for reading, listed in found.items()}

    def _names(self, iri: object) -> Iterator[str]:
        for listed in (self._facts.labels, self._facts.aliases):
            for literal in listed.get(iri, ()):
                key = normalise(literal.value)
                if has_han(key) and _SHORTEST <= len(key) <= _LONGEST:
                    yield key


def _reading(text: str) -> str:
    """The text syllable by syllable in Latin letters without tones."""
    return " ".join(_syllable(character) for character in text)


@cache
def _syllable(character: str) -> str:
    from pypinyin import lazy_pinyin  # its tables take a while to load

    return "".join(lazy_pinyin(character))
