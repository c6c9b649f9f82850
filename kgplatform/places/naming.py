"""By which names a place is looked up: spellings brought to one form, words for levels taken off, pinyin."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.ontology import Ontology, Word
from kgplatform.places.place import NameKind, Place
from kgplatform.text import has_han, normalise, words

_INNER = re.compile(r"[\s'.,·•]+")
_LEVELS = re.compile(
    r"(?:特别行政区|街道办事处|特别市|广域市|自治区|自治州|自治县|自治旗|联合旗|民族乡|地区|林区|特区|大区|街道|苏木"
    r"|省|市|县|区|州|盟|旗|镇|乡)$"
)
_OF_PEOPLES: Final = ("自治区", "自治州", "自治县", "自治旗", "民族乡")
_PEOPLES: Final = (
    "蒙古|维吾尔|布依|朝鲜|土家|哈尼|哈萨克|傈僳|高山|拉祜|东乡|纳西|景颇|柯尔克孜|达斡尔|仫佬|布朗|撒拉|毛南|仡佬|锡伯|阿昌|普米|塔吉克|乌孜别克|俄罗斯|鄂温克|德昂|保安|裕固|"
    "塔塔尔|独龙|鄂伦春|赫哲|门巴|珞巴|基诺"
)
_SHORT_PEOPLES: Final = "回藏苗彝壮满侗瑶白傣黎佤畲水土羌怒京"
_PEOPLE = re.compile(rf"(?:(?:{_PEOPLES})族?|[{_SHORT_PEOPLES}]族|各族|多民族|民族)$")
_LEAST_HAN: Final = 2
_LEAST_LATIN: Final = 2
_LONGEST: Final = 60


@lru_cache(maxsize=65_536)
def key(text: str) -> str:
    """The form under which two spellings of a place's name are equal.

    >>> key("Xi'an"), key("U.K."), key("New  York"), key("乌镇 镇")
    ('xian', 'uk', 'newyork', '乌镇镇')
    """
    return _INNER.sub("", normalise(text))[:_LONGEST]


def short_form(name: str) -> str | None:
    """A Chinese name without the words for its level and its peoples; None where nothing, or no name, would be left.

    >>> short_form("浙江省"), short_form("恩施土家族苗族自治州"), short_form("新疆维吾尔自治区"), short_form("城区")
    ('浙江', '恩施', '新疆', None)
    """
    match = _LEVELS.search(name)
    if match is None or not has_han(name):
        return None
    rest = name[: match.start()]
    while match.group() in _OF_PEOPLES and (people := _PEOPLE.search(rest)) and people.start() >= _LEAST_HAN:
        rest = rest[: people.start()]
    return rest if len(rest) >= _LEAST_HAN else None


def reading(name: str) -> str:
    """How a Chinese name is spelt in pinyin, as one capitalised word.

    >>> reading("桐乡")
    'Tongxiang'
    """
    return "".join(_syllables()(name)).capitalize()


@cache
def _syllables() -> Callable[[str], list[str]]:
    from pypinyin import lazy_pinyin  # its tables take a while to load, and only Chinese divisions need them

    return partial(lazy_pinyin, v_to_u=True)


def has_reading(place: Place) -> bool:
    """Whether the place is to be found by pinyin: it has a Chinese name, and no other is given."""
    given = (*place.labels, *place.aliases)
    return any(has_han(word.text) for word in place.labels) and all(has_han(word.text) for word in given)


def keys_of(place: Place) -> Iterator[tuple[str, NameKind]]:
    """All keys that a place is looked up by."""
    yield from ((key(word.text), NameKind.LABEL) for word in place.labels)
    yield from ((key(word.text), NameKind.ALIAS) for word in place.aliases)
    for short in shorts(place):
        yield key(short), NameKind.SHORT
    if has_reading(place):
        for word in place.labels:
            yield key(reading(word.text)), NameKind.READING
            core = short_form(word.text)
            if core is not None:
                yield key(reading(core)), NameKind.READING


def shorts(place: Place) -> list[str]:
    """The short forms of the place's Chinese labels."""
    found = [short for word in place.labels if (short := short_form(word.text))]
    return [short for short in dict.fromkeys(found) if short not in {word.text for word in place.aliases}]


def spelt(place: Place) -> str | None:
    """The pinyin that a place without an English name goes by in English texts."""
    if not has_reading(place):
        return None
    label = place.labels[0].text
    return reading(short_form(label) or label)


@dataclass(frozen=True, slots=True)
class Core:
    """What is left of a name without the word for a level, and the classes that are called by that word."""

    text: str
    types: frozenset[NamedNode]


class LevelWords:
    """The words for levels, as the ontology has them: "Province", "City of", 市."""

    def __init__(self, ontology: Ontology, types: Iterable[NamedNode]) -> None:
        self._types: dict[tuple[str, ...], set[NamedNode]] = {}
        for type_ in types:
            term = ontology.classes.get(type_)
            for word in term.words if term else ():
                self._note(word, type_)

    def _note(self, word: Word, type_: NamedNode) -> None:
        """Each ending of a word for the class: a "county-level city" is called a city too."""
        parts = tuple(words(normalise(word.text)))
        for first in range(len(parts)):
            self._types.setdefault(parts[first:], set()).add(type_)

    def cores(self, name: str) -> Iterator[Core]:
        """The name without a word for a level behind it, or before it with an "of" between."""
        parts = tuple(words(normalise(name)))
        glue = "" if has_han(name) else " "
        for cut in range(1, len(parts)):
            types = self._types.get(parts[cut:])
            if types and (glue or len("".join(parts[:cut])) >= _LEAST_HAN):
                yield Core(glue.join(parts[:cut]), frozenset(types))
        if "of" in parts:
            place = parts.index("of")
            types = self._types.get(parts[:place])
            if types and parts[place + 1 :]:
                yield Core(" ".join(parts[place + 1 :]), frozenset(types))
