"""Chinese names and how they are read: 雷峰塔 and Leifeng Pagoda, 鲁迅中路 and Lu Xun Middle Road, 虎丘 and Tiger Hill.

What both names have beside what their class is called must be the reading of one another, syllable by syllable, or its
translation, word by word, or first one and then the other (西溪湿地, Xixi Wetland); and what their class is called must
be of one class. A reading that two Chinese names share tells nothing; neither do the
names of people, of which many are read alike.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import product
from typing import Final, TypeAlias

from pyoxigraph import NamedNode

from kgplatform.documents.records import NameKey
from kgplatform.lexicon import LexiconSection
from kgplatform.linking.aliases import ClassWording, Kinship, NameEntry, NameTable, Words, row, sort_key, unranked
from kgplatform.ontology.schema import Ontology
from kgplatform.text import has_han, normalise
from kgplatform.vocab import GEO

_LEXICON: Final = LexiconSection("linking", "transliteration")
_TRANSLATIONS: Final = _LEXICON.table("translations")
_LONGEST: Final = 3
_MOST: Final = 64


@cache
def translations(characters: str) -> frozenset[str]:
    """What Chinese characters may be in English, word by word, without blanks; empty where a word is not known.

    >>> sorted(translations("虎丘")), "ninecreek" in translations("九溪"), translations("咸亨")
    (['tigerhill'], True, frozenset())
    """
    ways: list[frozenset[str]] = [frozenset([""])]
    for end in range(1, len(characters) + 1):
        found: set[str] = set()
        for start in range(max(0, end - _LONGEST), end):
            for before, word in product(ways[start], _TRANSLATIONS.get(characters[start:end], ())):
                found.add(before + word)
        ways.append(frozenset(sorted(found)[:_MOST]))
    return ways[-1]


LEAST_SHARE: Final = 1 / 3

Pairing: TypeAlias = tuple[str, str]
"""A Latin name and a Chinese one."""


@dataclass(slots=True)
class Shifted:
    """Texts that are names now and were none, or the other way round, and those for which something else changed."""

    texts: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)


class Statistics:
    """Over all names of a workspace: their texts, the words in these, and the translations of their beginnings."""

    def __init__(self, wording: ClassWording, names: Iterable[NameEntry] = ()) -> None:
        self._wording = wording
        self._texts: Counter[str] = Counter()
        self._words: dict[str, set[str]] = defaultdict(set)
        self._beginning: dict[str, set[NameKey]] = defaultdict(set)
        self._crossing: dict[NameKey, NameEntry] = {}
        self._brought: dict[NameKey, list[tuple[Pairing, str]]] = {}
        self._seen: dict[Pairing, Counter[str]] = {}
        self._partners: dict[str, set[str]] = defaultdict(set)
        self._translated: dict[str, set[Pairing]] = defaultdict(set)
        self.change((None, name) for name in names)

    def __contains__(self, text: object) -> bool:
        return text in self._texts

    def used(self, word: str) -> int:
        """In how many texts of names the word stands."""
        return len(self._words.get(word, ()))

    def translated(self, text: str) -> set[Pairing]:
        """The pairs of names with that text that other names begin with and are translations of one another."""
        return self._translated.get(text, set())

    def change(self, names: Iterable[tuple[NameEntry | None, NameEntry | None]]) -> Shifted:
        """Takes names in, each in the place of the one before it; tells what that changed for others."""
        shifted, counted = Shifted(), Counter[str]()
        crossing: set[NameKey] = set()
        for old, new in names:
            if old is not None:
                counted[old.text] -= 1
                self._begin(old, holds=False)
                crossing.add(old.key)
            if new is not None:
                counted[new.text] += 1
                self._begin(new, holds=True)
                crossing.add(new.key)
        for text, count in counted.items():
            was = text in self._texts
            self._texts[text] += count
            if not self._texts[text]:
                del self._texts[text]
            if was != (text in self._texts):
                shifted.texts.add(text)
                self._note_words(text, shifted)
                crossing |= self._beginning.get(text, set())
        self._translate(crossing, shifted)
        return shifted

    def restore(self, names: Iterable[NameEntry]) -> None:
        """Takes in, where there are none yet, names of which nobody has to be told."""
        for name in names:
            self._texts[name.text] += 1
            self._begin(name, holds=True)
        for text in self._texts:
            for word in set(row(text)):
                self._words[word].add(text)
        self._translate(list(self._crossing), Shifted())

    def _note_words(self, text: str, shifted: Shifted) -> None:
        for word in set(row(text)):
            texts = self._words[word]
            was_alone = len(texts) == 1
            before = set(texts) if was_alone else set()
            (texts.add if text in self._texts else texts.discard)(text)
            if was_alone != (len(texts) == 1):
                shifted.others |= before | texts
            if not texts:
                del self._words[word]

    # translations of beginnings

    def _begin(self, name: NameEntry, *, holds: bool) -> None:
        """Notes under what the name, or an alias of it in the other script, begins with."""
        crossing = [alias for alias in trusted(name) if has_han(alias) != name.is_chinese]
        if not crossing:
            return
        if holds:
            self._crossing[name.key] = name
        else:
            del self._crossing[name.key]
        for text in (name.text, *crossing):
            for part in self._beginnings(text):
                (self._beginning[part].add if holds else self._beginning[part].discard)(name.key)
                if not self._beginning[part]:
                    del self._beginning[part]

    def _beginnings(self, text: str) -> Iterator[str]:
        parts, glue = row(text), "" if has_han(text) else " "
        for cut in range(1, len(parts)):
            if self._wording.is_name(row(glue.join(parts[:cut]))):
                yield glue.join(parts[:cut])

    def _pairings(self, name: NameEntry) -> Iterator[tuple[Pairing, str]]:
        """What the name and its aliases in the other script begin with, where that is a name, with the Latin one."""
        for alias in trusted(name):
            if name.is_chinese != has_han(alias):
                latin, chinese = (alias, name.text) if name.is_chinese else (name.text, alias)
                ours, theirs = ([p for p in self._beginnings(text) if p in self._texts] for text in (latin, chinese))
                yield from ((pair, latin) for pair in product(ours, theirs))

    def _translate(self, keys: Iterable[NameKey], shifted: Shifted) -> None:
        """Brings in line what the names of these keys say of translations."""
        touched: set[str] = set()
        for key in keys:
            for pair, latin in self._brought.pop(key, ()):
                self._see(pair, latin, -1)
                touched.update(pair)
            name = self._crossing.get(key)
            brought = list(self._pairings(name)) if name is not None else []
            for pair, latin in brought:
                self._see(pair, latin, 1)
                touched.update(pair)
            if brought:
                self._brought[key] = brought
        pairs = {pair for part in touched for pair in self._translated.get(part, ())}
        pairs |= {(p, o) if has_han(o) else (o, p) for p in touched for o in self._partners.get(p, ())}
        for pair in pairs:
            self._settle(pair, shifted)

    def _see(self, pair: Pairing, latin: str, count: int) -> None:
        support = self._seen.setdefault(pair, Counter())
        support[latin] += count
        if not support[latin]:
            del support[latin]
        for one, other in (pair, pair[::-1]):
            (self._partners[one].add if support else self._partners[one].discard)(other)
            if not self._partners[one]:
                del self._partners[one]
        if not support:
            del self._seen[pair]

    def _settle(self, pair: Pairing, shifted: Shifted) -> None:
        """Decides: each must go with the other only, and sound like it or come twice."""
        latin, chinese = pair
        support = self._seen.get(pair, Counter())
        alone = len(self._partners.get(latin, ())) == len(self._partners.get(chinese, ())) == 1
        holds = bool(support) and alone and (len(support) > 1 or reads_like(latin, [chinese]))
        if holds == (pair in self._translated.get(latin, ())):
            return
        shifted.others |= {latin, chinese}
        for text in pair:
            (self._translated[text].add if holds else self._translated[text].discard)(pair)
            if not self._translated[text]:
                del self._translated[text]


def trusted(name: NameEntry) -> dict[str, int]:
    """The aliases of a name, normalised, those left out that are far rarer than another one in the same script."""
    counts: dict[str, int] = defaultdict(int)
    for alias, count in name.aliases.items():
        counts[normalise(alias)] += count
    counts.pop("", None)
    most = {
        script: max((count for alias, count in counts.items() if has_han(alias) == script), default=0)
        for script in (True, False)
    }
    return {alias: count for alias, count in counts.items() if count >= most[has_han(alias)] * LEAST_SHARE}


def reads_like(text: str, aliases: Iterable[str]) -> bool:
    """Whether a word has as many syllables as one of the Chinese names has characters: likely its reading.

    >>> reads_like("dongzha", ["东栅"]), reads_like("dongzha", ["百床馆"])
    (True, False)
    """
    syllables = len(re.findall("[aeiouü]+", text))
    return " " not in text and any(has_han(alias) and len(alias) == syllables for alias in aliases)


ADMINISTRATIVE: Final = NamedNode(f"{GEO}AdministrativeArea")
_MOST_READINGS: Final = 64
_MOST_SPOKEN: Final = 256
_LEAST_CHARACTERS: Final = 2
_TRANSLATED: Final = _LEXICON.table("translated_in_readings")


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
def spoken(characters: str) -> frozenset[str]:
    """How the characters may be called in Latin letters: read, translated, or read up to a place and then translated.

    >>> "xixiwetland" in spoken("西溪湿地"), "tigerhill" in spoken("虎丘"), "leifengta" in spoken("雷峰塔")
    (True, True, True)
    """
    found = set(readings(characters))
    for cut in range(len(characters)):
        tails = translations(characters[cut:])
        heads = readings(characters[:cut]) if cut and tails else frozenset([""])
        if len(found) + len(heads) * len(tails) <= _MOST_SPOKEN:
            found.update(head + tail for head in heads for tail in tails)
    return frozenset(found)


@cache
def _spelling() -> Callable[[str], list[list[str]]]:
    from pypinyin import Style, pinyin  # its tables take a while to load

    return lambda text: [list(ways) for ways in pinyin(text, style=Style.NORMAL, heteronym=True)]


@dataclass(frozen=True, slots=True)
class _Part:
    """What a name comes to without its class words, and the classes that these say; None: it has none."""

    core: Words
    said: frozenset[NamedNode] | None


@dataclass(frozen=True, slots=True)
class _Match:
    """A Latin name and the Chinese one that it is the reading of, each as it was taken."""

    latin: NameEntry
    chinese: NameEntry
    ours: _Part
    theirs: _Part

    @property
    def is_whole(self) -> bool:
        """Whether both names were taken whole."""
        return self.ours.said is None and self.theirs.said is None


class Readings:
    """The names of a workspace, asked which of them are read like others."""

    def __init__(self, ontology: Ontology, wording: ClassWording, kinship: Kinship, *, left_out: NamedNode) -> None:
        self._ontology = ontology
        self._wording = wording
        self._kinship = kinship
        self._left_out = left_out
        self._called = _classes_called(ontology)

    @cached_property
    def _heard(self) -> dict[str, frozenset[NamedNode]]:
        """Made when a name asks for it: how characters are read takes a while to load."""
        return _as_heard(self._called)

    def heard(self, name: NameEntry) -> Iterator[str]:
        """How the name, or what it comes to without its class words, is read: two that are read alike share one."""
        for part in self._parts(name):
            characters = "".join(part.core)
            if not name.is_chinese:
                yield _plain(part.core)
            elif _is_han(characters):
                yield from spoken(characters)

    def cores(self, name: NameEntry) -> Iterator[str]:
        """What a Chinese name comes to without its class words: it matters whether that is a name too."""
        for part in self._parts(name) if name.is_chinese else ():
            yield "".join(part.core)

    def alike(self, names: NameTable, texts: Container[str]) -> Iterator[tuple[NameEntry, NameEntry]]:
        """Latin names, each with the Chinese ones that it is the reading of; ``texts`` are those of all names."""
        latin: dict[str, list[tuple[NameEntry, _Part]]] = {}
        for name in names:
            for part in self._parts(name) if not name.is_chinese else ():
                latin.setdefault(_plain(part.core), []).append((name, part))
        fitting: dict[NameKey, dict[NameKey, list[_Match]]] = {}
        for name in names if latin else ():
            for part in self._parts(name) if name.is_chinese else ():
                for other, beside in self._read_as(part, latin):
                    named_after = "".join(part.core) in texts and None not in (beside.said, part.said)
                    if named_after and not (beside.said or frozenset()) & (part.said or frozenset()):
                        continue  # Shaoxing wine is no dish of Shaoxing
                    if self._same_kind(other, beside, name, part):
                        matches = fitting.setdefault(other.key, {}).setdefault(name.key, [])
                        matches.append(_Match(other, name, beside, part))
        yield from _unambiguous(fitting)

    def _read_as(
        self, part: _Part, latin: Mapping[str, list[tuple[NameEntry, _Part]]]
    ) -> Iterator[tuple[NameEntry, _Part]]:
        characters = "".join(part.core)
        if _is_han(characters):
            for reading in sorted(spoken(characters) & latin.keys()):
                yield from latin[reading]

    def differ(self, one: NameEntry, other: NameEntry) -> bool:
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

    def _parts(self, name: NameEntry) -> list[_Part]:
        """The ways to take a name: whole, without the words of its class, or without those of a class below."""
        if self._ontology.is_a(name.type, (self._left_out,)):
            return []
        whole = row(name.text)
        parts = [_Part(whole, None)]
        core = self._wording.core(whole, name.type)
        if core != whole:
            plain = whole if core in [whole[i : i + len(core)] for i in range(len(whole))] else unranked(whole)
            start = next(i for i in range(len(plain)) if plain[i : i + len(core)] == core)
            around = plain[:start] + plain[start + len(core) :]
            parts += [_Part(core, self._called[around])] if around in self._called else []
        for cut in range(1, len(whole)):
            said = frozenset(t for t in self._called.get(whole[cut:], ()) if self._may_say(t, name.type))
            if said and whole[:cut] != core and not self._wording.is_name(whole[cut:]):
                parts.append(_Part(whole[:cut], said))
        return parts

    def says(self, name: str, type_: NamedNode) -> bool:
        """Whether the last word of a Latin name says that it is of the class, in English or as Chinese is read.

        Tuisi Yuan is a garden: 园 is.
        """
        last = row(name)[-1]
        said = self._called.get((last,), frozenset()) | self._heard.get(last, frozenset())
        return any(self._kinship.comparable(called, type_) for called in said)

    def _may_say(self, called: NamedNode, type_: NamedNode) -> bool:
        """Whether what a class is called may stand behind a name of the other: 市 behind that of a county too."""
        return self._ontology.is_a(called, (type_,)) or (self.governs(called) and self.governs(type_))

    def governs(self, type_: NamedNode) -> bool:
        """Whether things of the class are administrative areas, which go by their bare names as well."""
        return self._ontology.is_a(type_, (ADMINISTRATIVE,))

    def _same_kind(self, first: NameEntry, ours: _Part, second: NameEntry, theirs: _Part) -> bool:
        """Whether the classes go together, and so does what the names say of them."""
        if ours.said is None and theirs.said is None:
            return len(theirs.core) >= _LEAST_CHARACTERS and self._kinship.related(first.type, second.type)
        if not self._kinship.comparable(first.type, second.type):
            return False
        if ours.said is not None and theirs.said is not None:
            return any(self._kinship.comparable(a, b) for a in ours.said for b in theirs.said)
        bare, said = (first, theirs.said) if ours.said is None else (second, ours.said)
        if len(theirs.core) < _LEAST_CHARACTERS:
            return False
        area = any(self.governs(t) and self._kinship.comparable(bare.type, t) for t in said or ())
        return (
            area or self._ontology.is_a(bare.type, said or ()) or (self.governs(bare.type) and _all(self.governs, said))
        )


def _all(holds: Callable[[NamedNode], bool], said: frozenset[NamedNode] | None) -> bool:
    return bool(said) and all(holds(type_) for type_ in said or ())


def _plain(core: Words) -> str:
    return "".join(core).replace("ü", "v").replace("'", "").replace("\u2019", "")


def _unambiguous(fitting: Mapping[NameKey, Mapping[NameKey, list[_Match]]]) -> Iterator[tuple[NameEntry, NameEntry]]:
    """The pairs but where a Latin name reads like two Chinese ones, or one Chinese like Latin ones of other words.

    Whole names that are read or translated as one another are one whatever other names are made of the same words.
    """
    tails: dict[NameKey, set[Words]] = {}
    for match in (match for others in fitting.values() for matches in others.values() for match in matches):
        around = tuple(word for word in row(match.latin.text) if word not in match.ours.core)
        tails.setdefault(match.chinese.key, set()).update([around] if around else [])
    for key in sorted(fitting, key=sort_key):
        found = [_telling(matches) for matches in fitting[key].values()]
        if len({match.theirs.core for match in found}) == 1:
            yield from (
                (match.latin, match.chinese)
                for match in found
                if match.is_whole or len(tails.get(match.chinese.key, ())) < 2
            )


def _telling(matches: list[_Match]) -> _Match:
    """The match of whole names where there is one."""
    return next((match for match in matches if match.is_whole), matches[0])


def _is_han(text: str) -> bool:
    return all(has_han(character) for character in text)


def _classes_called(ontology: Ontology) -> dict[Words, frozenset[NamedNode]]:
    found: dict[Words, set[NamedNode]] = {}
    for term in ontology.classes.values():
        for phrase in {row(normalise(word.text)) for word in term.words}:
            found.setdefault(phrase, set()).add(term.iri)
        for head, count in Counter(word.text[-1] for word in term.words if _is_han(word.text)).items():
            if count > 1:  # 老街, 步行街 and 大街 are all a 街
                found.setdefault((head,), set()).add(term.iri)
    return {phrase: frozenset(classes) for phrase, classes in found.items()}


def _as_heard(called: Mapping[Words, frozenset[NamedNode]]) -> dict[str, frozenset[NamedNode]]:
    """The classes by how a Chinese character for them is read: yuan, si, qiao."""
    found: dict[str, frozenset[NamedNode]] = {}
    for words, classes in called.items():
        for heard in readings(words[0]) if len(words) == 1 and _is_han(words[0]) else ():
            found[heard] = found.get(heard, frozenset()) | classes
    return found
