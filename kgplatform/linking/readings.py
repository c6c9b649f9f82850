"""Chinese names and how they are read: 雷峰塔 and Leifeng Pagoda, 鲁迅中路 and Lu Xun Middle Road.

What both names have beside what their class is called must be the reading of one another, syllable by syllable, and
what their class is called must be of one class. A reading that two Chinese names share tells nothing; neither do the
names of people, of which many are read alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.documents.registry import NameKey
from kgplatform.linking.identity import Kinship
from kgplatform.linking.names import Name, Names, sort_key
from kgplatform.linking.wording import Wording, Words, row
from kgplatform.ontology import Ontology
from kgplatform.text import has_han, normalise

_MOST_READINGS: Final = 64
_LEAST_CHARACTERS: Final = 2
_TRANSLATED: Final[Mapping[str, tuple[str, ...]]] = {
    "东": ("east",),
    "西": ("west",),
    "南": ("south",),
    "北": ("north",),
    "中": ("middle", "central"),
    "上": ("upper",),
    "下": ("lower",),
    "新": ("new",),
    "老": ("old",),
    "大": ("grand", "great"),
    "小": ("little", "small"),
}


@cache
def readings(characters: str) -> frozenset[str]:
    """The ways to write the characters in Latin letters, without tones; empty where there are too many or none.

    >>> sorted(readings("长桥")), "luxunmiddle" in readings("鲁迅中")
    (['changqiao', 'zhangqiao'], True)
    """
    spelt = []
    for character, known in zip(characters, _spelling()(characters), strict=False):
        spelt.append(tuple(dict.fromkeys((*known, *_TRANSLATED.get(character, ())))))
    count = 1
    for ways in spelt:
        count *= len(ways)
    if len(spelt) != len(characters) or not 0 < count <= _MOST_READINGS:
        return frozenset()
    return frozenset("".join(way).replace("ü", "v") for way in product(*spelt))


@cache
def _spelling() -> Callable[[str], list[list[str]]]:
    from pypinyin import Style, pinyin  # its tables take a while to load

    return lambda text: [list(ways) for ways in pinyin(text, style=Style.NORMAL, heteronym=True)]


@dataclass(frozen=True, slots=True)
class _Part:
    """What a name comes to without its class words, and the classes that these say; None: it has none."""

    core: Words
    said: frozenset[NamedNode] | None


class Readings:
    """The names of a workspace, asked which of them are read like others."""

    def __init__(self, ontology: Ontology, wording: Wording, kinship: Kinship, *, left_out: NamedNode) -> None:
        self._ontology = ontology
        self._wording = wording
        self._kinship = kinship
        self._left_out = left_out
        self._called = _classes_called(ontology)

    def heard(self, name: Name) -> Iterator[str]:
        """How the name, or what it comes to without its class words, is read: two that are read alike share one."""
        for part in self._parts(name):
            characters = "".join(part.core)
            if not name.is_chinese:
                yield _plain(part.core)
            elif _is_han(characters):
                yield from readings(characters)

    def cores(self, name: Name) -> Iterator[str]:
        """What a Chinese name comes to without its class words: it matters whether that is a name too."""
        for part in self._parts(name) if name.is_chinese else ():
            yield "".join(part.core)

    def alike(self, names: Names, texts: Container[str]) -> Iterator[tuple[Name, Name]]:
        """Latin names, each with the Chinese ones that it is the reading of; ``texts`` are those of all names."""
        latin: dict[str, list[tuple[Name, _Part]]] = {}
        for name in names:
            for part in self._parts(name) if not name.is_chinese else ():
                latin.setdefault(_plain(part.core), []).append((name, part))
        fitting: dict[NameKey, dict[NameKey, tuple[Name, Name, _Part, _Part]]] = {}
        for name in names if latin else ():
            for part in self._parts(name) if name.is_chinese else ():
                for other, beside in self._read_as(part, latin):
                    named_after = "".join(part.core) in texts and None not in (beside.said, part.said)
                    if named_after and not (beside.said or frozenset()) & (part.said or frozenset()):
                        continue  # Shaoxing wine is no dish of Shaoxing
                    if self._same_kind(other, beside, name, part):
                        fitting.setdefault(other.key, {}).setdefault(name.key, (other, name, beside, part))
        yield from _unambiguous(fitting)

    def _read_as(self, part: _Part, latin: Mapping[str, list[tuple[Name, _Part]]]) -> Iterator[tuple[Name, _Part]]:
        characters = "".join(part.core)
        if _is_han(characters):
            for reading in sorted(readings(characters) & latin.keys()):
                yield from latin[reading]

    def differ(self, one: Name, other: Name) -> bool:
        """Whether one name is how the other is read, but for class words that only one has and the other is not of.

        嘉兴火车站 is not Jiaxing, although a text may put one behind the other.
        """
        latin, chinese = (other, one) if one.is_chinese else (one, other)
        matches = [
            self._same_kind(latin, ours, chinese, theirs)
            for ours, theirs in product(self._parts(latin), self._parts(chinese))
            if _is_han("".join(theirs.core)) and _plain(ours.core) in readings("".join(theirs.core))
        ]
        return bool(matches) and not any(matches)

    def _parts(self, name: Name) -> list[_Part]:
        """The ways to take a name: whole, without the words of its class, or without those of a class below."""
        if self._ontology.is_a(name.type, (self._left_out,)):
            return []
        whole = row(name.text)
        parts = [_Part(whole, None)]
        core = self._wording.core(whole, name.type)
        if core != whole:
            start = next(i for i in range(len(whole)) if whole[i : i + len(core)] == core)
            around = whole[:start] + whole[start + len(core) :]
            parts += [_Part(core, self._called[around])] if around in self._called else []
        for cut in range(1, len(whole)):
            said = frozenset(t for t in self._called.get(whole[cut:], ()) if self._ontology.is_a(t, (name.type,)))
            if said and whole[:cut] != core and not self._wording.is_name(whole[cut:]):
                parts.append(_Part(whole[:cut], said))
        return parts

    def _same_kind(self, first: Name, ours: _Part, second: Name, theirs: _Part) -> bool:
        """Whether the classes go together, and so does what the names say of them."""
        if ours.said is None and theirs.said is None:
            return len(theirs.core) >= _LEAST_CHARACTERS and self._kinship.related(first.type, second.type)
        if not self._kinship.comparable(first.type, second.type):
            return False
        if ours.said is not None and theirs.said is not None:
            return any(self._kinship.comparable(a, b) for a in ours.said for b in theirs.said)
        bare, said = (first, theirs.said) if ours.said is None else (second, ours.said)
        return len(theirs.core) >= _LEAST_CHARACTERS and self._ontology.is_a(bare.type, said or ())


def _plain(core: Words) -> str:
    return "".join(core).replace("ü", "v").replace("'", "").replace("\u2019", "")


def _unambiguous(
    fitting: Mapping[NameKey, Mapping[NameKey, tuple[Name, Name, _Part, _Part]]],
) -> Iterator[tuple[Name, Name]]:
    """The pairs but where a Latin name reads like two Chinese ones, or one Chinese like Latin ones of other words."""
    tails: dict[NameKey, set[Words]] = {}
    for others in fitting.values():
        for latin, chinese, ours, _ in others.values():
            around = tuple(word for word in row(latin.text) if word not in ours.core)
            tails.setdefault(chinese.key, set()).update([around] if around else [])
    for key in sorted(fitting, key=sort_key):
        others = fitting[key]
        if len({part.core for _, _, _, part in others.values()}) == 1:
            yield from ((a, b) for a, b, _, _ in others.values() if len(tails.get(b.key, ())) < 2)


def _is_han(text: str) -> bool:
    return all(has_han(character) for character in text)


def _classes_called(ontology: Ontology) -> dict[Words, frozenset[NamedNode]]:
    found: dict[Words, set[NamedNode]] = {}
    for term in ontology.classes.values():
        for phrase in _phrases(word.text for word in term.words):
            found.setdefault(phrase, set()).add(term.iri)
        for head, count in Counter(word.text[-1] for word in term.words if _is_han(word.text)).items():
            if count > 1:  # 老街, 步行街 and 大街 are all a 街
                found.setdefault((head,), set()).add(term.iri)
    return {phrase: frozenset(classes) for phrase, classes in found.items()}


def _phrases(texts: Iterable[str]) -> set[Words]:
    return {row(normalise(text)) for text in texts}
