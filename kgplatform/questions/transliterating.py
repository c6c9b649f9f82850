"""Chinese names said in Latin letters, for things that have no other label: Qingdao is 青岛市, West Lake is 西湖."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.linking.readings import spoken
from kgplatform.places.naming import key, reading, short_form
from kgplatform.questions.facts import GraphFacts
from kgplatform.questions.schema import SchemaView
from kgplatform.text import has_han

_LATIN: Final = re.compile(r"[a-zü]+")
_BRACKETS: Final = re.compile(r"\s*[(（][^()（）]*[)）]\s*")
_LEAST: Final = 4
_LEAST_SMALL: Final = 5
_LONGEST: Final = 30
_LONGEST_HAN: Final = 8
_TRANSLATED: Final = 5_000
"""Of a class with more things the names are looked up by their pinyin only, and where no smaller class has one."""
_MOST_NAMES: Final = 50_000
_SURE: Final = 0.93
_STEP: Final = 0.03
"""What a class loses for every class of fewer things that has the name too: "Hunan" is rather the province."""
_OF_THEIR_OWN: Final[Mapping[str, str]] = {
    "shaanxi": "陕西",
    "tibet": "西藏",
    "innermongolia": "内蒙古",
    "hongkong": "香港",
    "macau": "澳门",
    "macao": "澳门",
    "peking": "北京",
    "canton": "广州",
    "harbin": "哈尔滨",
    "qiqihar": "齐齐哈尔",
    "hohhot": "呼和浩特",
    "ordos": "鄂尔多斯",
    "urumqi": "乌鲁木齐",
    "turpan": "吐鲁番",
    "kashgar": "喀什",
    "lhasa": "拉萨",
    "shigatse": "日喀则",
}
"""Places that English calls otherwise than Chinese is read."""
_CALLED_OTHERWISE: Final = frozenset(_OF_THEIR_OWN.values())


class Romanised:
    """The things of a graph whose labels are all Chinese, by how these are read and translated."""

    def __init__(self, facts: GraphFacts, schema: SchemaView) -> None:
        self._facts = facts
        self._schema = schema

    def named(self, phrase: str) -> list[tuple[NamedNode, float]]:
        """The things that Latin words may name, with how surely, those of the class of fewest things first."""
        said = key(phrase).replace("ü", "u")
        least = _LEAST if phrase[:1].isupper() else _LEAST_SMALL
        if not least <= len(said) <= _LONGEST or not _LATIN.fullmatch(said):
            return []
        found = self._few.get(_plain(said), ()) or self._many.get(_plain(said), ())
        counts = {iri: min(map(self._schema.count, self._facts.types.get(iri, ())), default=0) for iri in found}
        places = {count: place for place, count in enumerate(sorted(set(counts.values())))}
        return [(iri, _SURE - _STEP * places[counts[iri]]) for iri in sorted(found, key=lambda i: (counts[i], i.value))]

    @cached_property
    def _few(self) -> Mapping[str, tuple[NamedNode, ...]]:
        """Things of classes that are not large by all that their names may be called."""
        found: dict[str, set[NamedNode]] = defaultdict(set)
        for iri, core in self._cores(large=False):
            for called in (*spoken(core), key(reading(core))):
                found[_plain(called)].add(iri)
        by_core: dict[str, set[NamedNode]] = defaultdict(set)
        for iri, core in self._cores(large=False, whole=False):
            by_core[core].add(iri)
        found |= {_plain(latin): by_core[core] for latin, core in _OF_THEIR_OWN.items() if core in by_core}
        return {latin: tuple(listed) for latin, listed in found.items() if listed}

    @cached_property
    def _many(self) -> Mapping[str, tuple[NamedNode, ...]]:
        """Things of large classes by how their names are read."""
        found: dict[str, set[NamedNode]] = defaultdict(set)
        for iri, core in self._cores(large=True) if len(self._facts.labels) <= _MOST_NAMES else ():
            found[_plain(key(reading(core)))].add(iri)
        return {latin: tuple(listed) for latin, listed in found.items()}

    def _cores(self, *, large: bool, whole: bool = True) -> Iterable[tuple[NamedNode, str]]:
        """The Chinese names of things that have no other, whole and without the word for their level."""
        for iri, types in self._facts.types.items():
            labels = self._facts.labels.get(iri, ())
            if not isinstance(iri, NamedNode) or not labels or large != self._is_large(types):
                continue
            called = (*labels, *self._facts.aliases.get(iri, ()))
            if not all(has_han(literal.value) for literal in called):
                continue
            for text in dict.fromkeys(_BRACKETS.sub("", literal.value) for literal in called):
                if not 1 < len(text) <= _LONGEST_HAN or not all(map(has_han, text)):
                    continue
                core = short_form(text) or text
                for said in dict.fromkeys((core, text)) if whole else (core,):
                    if not whole or core not in _CALLED_OTHERWISE:
                        yield iri, said

    def _is_large(self, types: Iterable[NamedNode]) -> bool:
        return min(map(self._schema.count, types), default=0) > _TRANSLATED


def _plain(latin: str) -> str:
    """A form that the ways to write ü share."""
    return latin.replace("ü", "u").replace("v", "u")
