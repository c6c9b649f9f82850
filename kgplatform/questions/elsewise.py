"""What things and values of a graph are called that no label says: shortened, in other letters, part of an address."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from typing import Final

from pyoxigraph import Literal, NamedNode

from kgplatform.questions.facts import GraphFacts
from kgplatform.questions.schema import SchemaView
from kgplatform.questions.shortening import ShortNames
from kgplatform.questions.transliterating import Romanised
from kgplatform.text import has_han, normalise

_SHORTENED: Final = 0.9
_DIGITS: Final = re.compile(r"\d+")
_WORD: Final = re.compile(r"[^\W\d_]")
_LEAST_LETTERS: Final = 2
_LEAST_DIGITS: Final = 6
_MOST_HOLDING: Final = 8
_LONGEST: Final = 80


class Elsewise:
    """Finds things by what their labels can be turned into; the tables are made when first looked at."""

    def __init__(self, facts: GraphFacts, schema: SchemaView) -> None:
        self._facts = facts
        self._short = ShortNames(facts, schema)
        self._romanised = Romanised(facts, schema)

    def named(self, phrase: str, key: str) -> list[tuple[NamedNode, float]]:
        """The things that a phrase, whose normalised form is ``key``, may name, with how surely (0..1)."""
        if key.isascii():
            return self._romanised.named(phrase)
        return [(iri, _SHORTENED) for iri in self._short.named(key)]

    def holding(self, key: str) -> tuple[str, ...]:
        """The values (normalised) that a street with its number, or a long number, is a part of, if they are few."""
        number = max(_DIGITS.findall(key), key=len, default="")
        letters = len(_WORD.findall(key))
        if not number or (len(number) < _LEAST_DIGITS and letters < _LEAST_LETTERS):
            return ()
        found = tuple(value for value in self._numbered.get(number, ()) if _holds(value, key))
        return found if len(found) <= _MOST_HOLDING else ()

    @cached_property
    def _numbered(self) -> Mapping[str, tuple[str, ...]]:
        """The values with numbers in them by each of these."""
        found: dict[str, set[str]] = defaultdict(set)
        for predicate, counted in self._facts.values.items():
            for value in counted if predicate not in self._facts.name_properties else ():
                if isinstance(value, Literal) and len(value.value) <= _LONGEST and not value.value.isdigit():
                    for number in _DIGITS.findall(value.value):
                        found[number].add(normalise(value.value))
        return {number: tuple(sorted(values)) for number, values in found.items()}


def _holds(value: str, part: str) -> bool:
    """Whether a value has a part in it that neither ends within a number nor, but in Chinese, within a word."""
    start = value.find(part)
    while start >= 0:
        before, after = value[:start][-1:], value[start + len(part) :][:1]
        if not any(_runs_on(one, other) for one, other in ((before, part[:1]), (part[-1:], after))):
            return value != part
        start = value.find(part, start + 1)
    return False


def _runs_on(one: str, other: str) -> bool:
    """Whether two characters are of one number or word."""
    if not one or not other or has_han(one) or has_han(other):
        return False
    return one.isalnum() and other.isalnum()
