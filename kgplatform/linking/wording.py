"""When two names differ only in how they are worded.

A name is a row of words; a Chinese character is a word of its own. What a class is called in the ontology says which
words add nothing: 景区 after the name of a sight, "city" after that of a city. What is left is the core of the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Final, TypeAlias

from pyoxigraph import NamedNode

from kgplatform.ontology import Ontology, OntologyClass
from kgplatform.text import has_han, normalise, singular, words

Words: TypeAlias = tuple[str, ...]

_EMPTY_WORDS: Final = frozenset(["of", "the", "a", "an", "in", "at", "on", "and", "der", "de", "la", "之", "的"])
_DIRECTIONS: Final = {
    "east": "e",
    "eastern": "e",
    "west": "w",
    "western": "w",
    "north": "n",
    "northern": "n",
    "south": "s",
    "southern": "s",
    "东": "e",
    "西": "w",
    "北": "n",
    "南": "s",
}
_QUALIFIERS: Final = frozenset(
    re.findall(
        r"\w+",
        """upper lower old new inner outer great greater big small little first second third fourth fifth middle central
        left right early late i ii iii iv v vi vii viii ix x one two three four five six seven eight nine ten
        上 下 新 老 旧 内 外 大 小 前 后 左 右 中 一 二 三 四 五 六 七 八 九 十""",
    )
)
_RANKS: Final = (("国", "家", "级"), ("国", "家"), ("national",))
_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_MOST_KEPT: Final = 50_000
_OF: Final = re.compile(r"\bof\b")


@cache
def row(name: str) -> Words:
    """The words of a name: singular, without possessive endings and words that only join.

    >>> row("mao dun's former residences"), row("former residence of mao dun"), row("西栅景区")
    (('mao', 'dun', 'former', 'residence'), ('former', 'residence', 'mao', 'dun'), ('西', '栅', '景', '区'))
    """
    listed = words(_HAN.sub(r" \g<0> ", name))
    plain = (re.sub(r"['\u2019]s?$", "", word) for word in listed)
    found = tuple(singular(word) for word in plain if word and word not in _EMPTY_WORDS)
    return found or tuple(listed)


def unranked(name: Words) -> Words:
    """The words without those for a rank that many things of a kind have: 西溪国家湿地公园 is 西溪湿地公园.

    >>> unranked(row("xixi national wetland park"))
    ('xixi', 'wetland', 'park')
    """
    for rank in _RANKS:
        for start in range(1, len(name) - len(rank)):
            if name[start : start + len(rank)] == rank:
                return name[:start] + name[start + len(rank) :]
    return name


def says_of(name: str) -> bool:
    """Whether the name has an "of": without it, its words would come in another order."""
    return _OF.search(name) is not None


def directions(name: str) -> frozenset[str]:
    """The points of the compass and the numbers in a name: names that differ in them are of different things.

    >>> sorted(directions("west scenic zone")), sorted(directions("东栅")), sorted(directions("k350路"))
    (['w'], ['e'], ['k350'])
    """
    return frozenset(_DIRECTIONS.get(word, word) for word in row(name) if word in _DIRECTIONS or _has_digit(word))


def _has_digit(word: str) -> bool:
    return any(character.isdigit() for character in word)


def telling(word: str) -> bool:
    """Whether a word by itself sets things apart that are else called alike: directions, numbers, old and new."""
    return word in _DIRECTIONS or word in _QUALIFIERS or _has_digit(word) or (len(word) == 1 and not has_han(word))


class Wording:
    """The words of the classes of an ontology, asked about names."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        self._of_class: dict[NamedNode, frozenset[Words]] = {}
        self._cores: dict[tuple[Words, NamedNode], Words] = {}
        self._naming: dict[Words, bool] = {}
        self._any = _phrases(ontology.classes.values())

    def generic(self, type_: NamedNode) -> frozenset[Words]:
        """What things of the class are called as such, in the words of the class and those above it."""
        if type_ not in self._of_class:
            above = self._ontology.superclasses(type_)
            self._of_class[type_] = _phrases(self._ontology.classes[c] for c in above if c in self._ontology.classes)
        return self._of_class[type_]

    def is_name(self, part: Words) -> bool:
        """Whether the words name something: not only class words, or directions and numbers, or one character."""
        found = self._naming.get(part)
        if found is None:
            if len(self._naming) >= _MOST_KEPT:
                self._naming.clear()
            found = self._naming[part] = self._is_name(part)
        return found

    def _is_name(self, part: Words) -> bool:
        if has_han("".join(part)) and len(part) == 1:
            return False
        return not all(telling(word) for word in part) and not covered(part, self._any)

    def is_own_name(self, part: Words) -> bool:
        """Whether the words name something wherever they stand: unlike "East Station", which every city may have."""
        kept = tuple(word for word in part if not telling(word))
        return self.is_name(part) and not covered(kept, self._any)

    def core(self, name: Words, type_: NamedNode) -> Words:
        """The name without the class words at its ends, as long as a name is left."""
        if (name, type_) not in self._cores:
            self._cores[name, type_] = self._core(unranked(name), self.generic(type_))
        return self._cores[name, type_]

    def without_rank(self, name: Words, type_: NamedNode) -> Words | None:
        """What a name with a rank in it is without that and the class word behind: 西溪湿地 of 西溪国家湿地公园."""
        plain = unranked(name)
        cuts = range(len(plain) - 1, 0, -1) if plain != name else ()
        return next((plain[:cut] for cut in cuts if plain[cut:] in self.generic(type_)), None)

    def _core(self, name: Words, phrases: frozenset[Words]) -> Words:
        while True:
            cuts = range(1, len(name))
            shorter = [name[:cut] for cut in cuts if name[cut:] in phrases]
            shorter += [name[cut:] for cut in cuts if name[:cut] in phrases]
            shorter = [part for part in shorter if self.is_name(part)]
            if not shorter:
                return name
            name = min(shorter, key=lambda part: (len(part), part))

    def adds_nothing(self, longer: Words, shorter: Words, type_: NamedNode) -> bool:
        """Whether the longer name is the shorter one with words around it that things of the class are called."""
        for start in range(len(longer) - len(shorter) + 1):
            if longer[start : start + len(shorter)] == shorter:
                before, after = longer[:start], longer[start + len(shorter) :]
                phrases = self.generic(type_)
                return all(not part or covered(part, phrases) for part in (before, after))
        return False


def covered(part: Words, phrases: frozenset[Words]) -> bool:
    """Whether the words can be cut into phrases, without rest."""
    reached = {0}
    for end in range(1, len(part) + 1):
        if any(part[start:end] in phrases for start in reached if start < end):
            reached.add(end)
    return len(part) in reached


def _phrases(classes: Iterable[OntologyClass]) -> frozenset[Words]:
    found = {row(normalise(word.text)) for term in classes for word in term.words}
    found.discard(())
    # "lake scenic area" for a lake: "scenic area" adds nothing to the name of one
    tails = {
        phrase[cut:]
        for phrase in found
        for cut in range(1, len(phrase))
        if phrase[:cut] in found and not (len(phrase) - cut == 1 and has_han(phrase[-1]))
    }
    return frozenset(found | tails)


def misspelt(first: Words, second: Words) -> tuple[str, str] | None:
    """The one pair of words in which the names differ, if it is a slip of one letter in a long word."""
    if len(first) != len(second):
        return None
    differing = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    if len(differing) != 1:
        return None
    a, b = differing[0]
    long_enough = min(len(a), len(b)) >= 7 and a[0] == b[0] and not _has_digit(a + b) and not has_han(a + b)
    return (a, b) if long_enough and one_slip(a, b) else None


def one_slip(a: str, b: str) -> bool:
    """Whether one letter added, left out, replaced or swapped with its neighbour makes one word the other.

    >>> one_slip("moganshan", "mogashan"), one_slip("moganshan", "mogasnhan"), one_slip("xizha", "dongzha")
    (True, True, False)
    """
    if abs(len(a) - len(b)) > 1:
        return False
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    a, b = a[start:], b[start:]
    return a[1:] == b or a == b[1:] or a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
