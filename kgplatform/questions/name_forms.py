"""Forms of names that no label says: shortened, read alike, in Latin letters, part of an address."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import Final

from pyoxigraph import Literal, NamedNode

from kgplatform import lexicon
from kgplatform.linking.places.gazetteer import key, reading, short_form
from kgplatform.linking.transliteration import spoken
from kgplatform.questions.usage import GraphFacts, SchemaView
from kgplatform.text import has_han, normalise

# Chinese names said shorter, or with characters read alike: 加州 is 加利福尼亚州, 德克萨斯州 is 得克萨斯州.

_SHORTEST: Final = 3
_HAN_NAMES_LONGEST: Final = 12
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
        if not has_han(phrase) or len(phrase) > _HAN_NAMES_LONGEST:
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
                if has_han(key) and _SHORTEST <= len(key) <= _HAN_NAMES_LONGEST:
                    yield key


def _reading(text: str) -> str:
    """The text syllable by syllable in Latin letters without tones."""
    return " ".join(_syllable(character) for character in text)


@cache
def _syllable(character: str) -> str:
    from pypinyin import lazy_pinyin  # its tables take a while to load

    return "".join(lazy_pinyin(character))


# Chinese names said shorter: without brackets, without what many names of their class begin or end with.
#
# 大董金宝汇店 for 大董(金宝汇店), 颐和安缦 for 北京颐和安缦酒店, 香山站 for 香山地铁站. A shortened name counts only
# where every name that holds it comes to it, so that nothing else can be meant.

_BRANCH: Final = re.compile(r"([^()]{2,})\(([^()]{2,})\)")
_SHORTENING_LONGEST: Final = 30
_LONGEST_AFFIX: Final = 5
_LEAST: Final = 3
_SHOP: Final = lexicon.expression("name_forms.shop")
_LINKS: Final = ("", "的", "那家", "这家")
_MANY, _SHARE = 4, 0.005
_SHORTENING_MOST_NAMES: Final = 20_000
"""Of a class with more names nothing is shortened: to count how they begin and end would take too long."""


class ShortNames:
    """The Chinese names of a graph by what they may be shortened to."""

    def __init__(self, facts: GraphFacts, schema: SchemaView) -> None:
        self._facts = facts
        self._schema = schema
        self._found: dict[str, tuple[NamedNode, ...]] = {}

    def named(self, phrase: str) -> tuple[NamedNode, ...]:
        """The things that a normalised phrase is the shortened name of: one, or several that are called alike."""
        if not has_han(phrase) or not _LEAST <= len(phrase) <= _SHORTENING_LONGEST:
            return ()
        if phrase in self._branches:
            return self._branches[phrase]
        if phrase not in self._shortened:
            return ()
        if phrase not in self._found:
            meant = self._shortened[phrase]
            sole = self._holders(phrase) <= set(meant) and self._alone(meant)
            self._found[phrase] = tuple(sorted(meant, key=str)) if sole else ()
        return self._found[phrase]

    def _holders(self, text: str) -> frozenset[NamedNode]:
        return frozenset(iri for key, iris in self._called.items() if text in key for iri in iris)

    def _alone(self, meant: Mapping[NamedNode, frozenset[str]]) -> bool:
        """Whether what is left of the names is in those of no others of their class."""
        classes = {class_ for iri in meant for class_ in self._facts.types.get(iri, ())}
        holders = (self._holders(core) for core in {core for cores in meant.values() for core in cores})
        return all(
            iri in meant or not classes & set(self._facts.types.get(iri, ())) for held in holders for iri in held
        )

    @cached_property
    def _called(self) -> Mapping[str, frozenset[NamedNode]]:
        """The things by their normalised Chinese labels."""
        found: dict[str, set[NamedNode]] = defaultdict(set)
        for iri, literals in self._facts.labels.items():
            if not isinstance(iri, NamedNode):
                continue
            for literal in literals:
                if len(literal.value) <= _SHORTENING_LONGEST and has_han(literal.value):
                    found[normalise(literal.value)].add(iri)
        return {key: frozenset(iris) for key, iris in found.items()}

    @cached_property
    def _affixes(self) -> Mapping[NamedNode, tuple[frozenset[str], frozenset[str]]]:
        """What many names of a class begin with, and what they end with: 北京, 酒店."""
        begins: dict[NamedNode, Counter[str]] = defaultdict(Counter)
        ends: dict[NamedNode, Counter[str]] = defaultdict(Counter)
        names: Counter[NamedNode] = Counter()
        for key, iris in self._called.items():
            bare = _bare(key)
            for class_ in {class_ for iri in iris for class_ in self._facts.types.get(iri, ())}:
                names[class_] += 1
                for cut in range(2, min(_LONGEST_AFFIX, len(bare) - 1) + 1):
                    begins[class_][bare[:cut]] += 1
                    ends[class_][bare[-cut:]] += 1
        found = {}
        for class_, number in names.items():
            least = max(_MANY, _SHARE * number) if number <= _SHORTENING_MOST_NAMES else number
            term = self._schema.classes.get(class_)
            called = {word.text for word in (term.words if term else ()) if has_han(word.text)}
            often = [{a for a, n in counted[class_].items() if n >= least} for counted in (begins, ends)]
            found[class_] = (frozenset(often[0]), frozenset(often[1] | called))
        return found

    @cached_property
    def _shortened(self) -> Mapping[str, Mapping[NamedNode, frozenset[str]]]:
        """The things by their shortened names, each with what is left of its own."""
        found: dict[str, dict[NamedNode, frozenset[str]]] = defaultdict(dict)
        for key, iris in self._called.items():
            for iri in iris:
                for class_ in self._facts.types.get(iri, ()):
                    for short, core in self._cut(_bare(key), class_):
                        if short != key:
                            found[short][iri] = found[short].get(iri, frozenset()) | {core}
        return found

    def _cut(self, bare: str, class_: NamedNode) -> Iterator[tuple[str, str]]:
        """The name without a beginning or ending of its class, or with one character of the ending only.

        Each comes with what is left without that character.
        """
        begins, ends = self._affixes.get(class_, (frozenset(), frozenset()))
        for core in {bare, *(bare.removeprefix(begin) for begin in begins)}:
            if len(core) >= _LEAST:
                yield core, core
            for end in ends:
                if core.endswith(end) and len(core) > len(end) + 1:
                    rest = core.removesuffix(end)
                    shorter = (rest, *(rest + character for character in end if has_han(character)))
                    yield from ((short, rest) for short in shorter if len(short) >= _LEAST)

    @cached_property
    def _branches(self) -> Mapping[str, tuple[NamedNode, ...]]:
        """Names with brackets by both parts without them, in either order: 金宝汇的大董."""
        found: dict[str, set[NamedNode]] = defaultdict(set)
        for key, iris in self._called.items():
            match = _BRANCH.match(key + ")" * (key.count("(") - key.count(")")))
            for iri in iris if match else ():
                assert match is not None
                heads, places = self._parts(match[1], iri), self._parts(match[2].removesuffix(_SHOP), iri)
                for place in places:
                    for head in heads:
                        for said in (f"{head}{place}{_SHOP}", f"{head}{place}", f"{head}的{place}{_SHOP}"):
                            found[said].add(iri)
                        for link in _LINKS:
                            found[f"{place}{link}{head}"].add(iri)
        return {said: tuple(sorted(iris, key=str)) for said, iris in found.items() if said not in self._called}

    def _parts(self, text: str, iri: NamedNode) -> frozenset[str]:
        """A part of a name as it is and shortened."""
        cut = (short for class_ in self._facts.types.get(iri, ()) for short, _ in self._cut(text, class_))
        return frozenset((text, *cut))


def _bare(key: str) -> str:
    """A name up to its brackets."""
    return key.partition("(")[0] or key


# Chinese names said in Latin letters, for things that have no other label: Qingdao is 青岛市, West Lake is 西湖.

_LATIN: Final = re.compile(r"[a-zü]+")
_BRACKETS: Final = re.compile(r"\s*[(（][^()（）]*[)）]\s*")
_TRANSLITERATING_LEAST: Final = 4
_LEAST_SMALL: Final = 5
_LONGEST_HAN: Final = 8
_TRANSLATED: Final = 5_000
"""Of a class with more things the names are looked up by their pinyin only, and where no smaller class has one."""
_SURE: Final = 0.93
_STEP: Final = 0.03
"""What a class loses for every class of fewer things that has the name too: "Hunan" is rather the province."""
_OF_THEIR_OWN: Final[Mapping[str, str]] = lexicon.table("name_forms.of_their_own")
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
        least = _TRANSLITERATING_LEAST if phrase[:1].isupper() else _LEAST_SMALL
        if not least <= len(said) <= _SHORTENING_LONGEST or not _LATIN.fullmatch(said):
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


# What things and values of a graph are called that no label says: shortened, in other letters, part of an address.

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
