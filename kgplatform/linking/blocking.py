"""Which names may have to do with one another: those that share a key.

A rule of linking compares names by something that they have in common: a text, a code, a word without its class, a
reading. All of these are keys here, so that names without a common key, over however many steps, can be linked without
looking at one another: what is linked anew is only what a change can reach.
"""

from __future__ import annotations

import re
from array import array
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from hashlib import blake2b
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.documents.registry import NameKey
from kgplatform.linking.identity import Codes, Kinship
from kgplatform.linking.names import Name
from kgplatform.linking.readings import Readings
from kgplatform.linking.statistics import Statistics
from kgplatform.linking.wording import Wording, Words, row
from kgplatform.ontology import Ontology
from kgplatform.text import has_han, normalise
from kgplatform.vocab import CORE, entity_iri

PERSON: Final = NamedNode(f"{CORE}Person")
_LEAST_LETTERS: Final = 8
_LEAST_TITLE_WORDS: Final = 4


def title_parts(name: Name) -> list[str]:
    """What stands before and after the colons of a title, where it is long enough to be one by itself."""
    parts = name.text.split(":") if ":" in name.text else ()
    return [normalise(part) for part in parts if len(row(part)) >= _LEAST_TITLE_WORDS * (2 if has_han(part) else 1)]


def spellings(name: Name, ontology: Ontology) -> Iterator[str]:
    """A long name itself and with one letter left out: two that are a slip apart share one of these."""
    text = "".join(row(name.text))
    if name.is_chinese or len(text) < _LEAST_LETTERS or ontology.is_a(name.type, (PERSON,)):
        return  # a person whose name is spelt otherwise is another person
    yield text
    for place in range(len(text)):
        if text[place : place + 1] != text[place - 1 : place]:
            yield text[:place] + text[place + 1 :]


def places_before(name: Name, wording: Wording) -> Iterator[tuple[str, Words]]:
    """The ways to read the name as that of a place and the rest: 乌镇西栅, Wuzhen Xizha; Xizha, Wuzhen."""
    parts = row(name.text)
    glue = "" if name.is_chinese else " "
    after = re.fullmatch("(.+?)(?:,| in| at) (.+)", name.text)
    readings = [(glue.join(parts[:cut]), parts[cut:]) for cut in range(1, len(parts))]
    for place, rest in [(after[2], row(after[1]))] if after else readings:
        if wording.is_name(rest):
            yield place, rest


class Grounds:
    """What an ontology says of names: their words, their codes, how they are read, and which may be of one thing."""

    def __init__(self, ontology: Ontology) -> None:
        self.ontology = ontology
        self.wording = Wording(ontology)
        self.kinship = Kinship(ontology)
        self.codes = Codes(ontology)
        self.sounds = Readings(ontology, self.wording, self.kinship, left_out=PERSON)


class Keys:
    """Tells what names have in common with others. Keys are hashes: two that are alike by chance do no harm."""

    def __init__(self, grounds: Grounds, base: str) -> None:
        self._ontology = grounds.ontology
        self._wording = grounds.wording
        self._base = base
        self._codes = grounds.codes
        self._kinship = grounds.kinship
        self._sounds = grounds.sounds
        self._related: dict[NamedNode, tuple[NamedNode, ...]] = {}

    def of(self, name: Name, statistics: Statistics, within: Mapping[str, Set[str]]) -> array[int]:
        """What the name shares with those that it may be one with, or whose chances it has a part in."""
        found = {_hashed(key) for key in self._own(name)}
        found |= {_hashed(key) for key in self._inside(name, within)}
        found |= {_hashed(("translated", *pair)) for pair in statistics.translated(name.text)}
        return array("q", sorted(found))

    def loose(self, name: Name) -> array[int]:
        """The texts of which it matters to the name only whether they are names, or places, at all."""
        found = {text_key(place) for place, _ in places_before(name, self._wording)}
        return array("q", sorted(found | {text_key(text) for text in self._sounds.cores(name)}))

    def _own(self, name: Name) -> Iterator[tuple[str, str]]:
        words = row(name.text)
        yield "text", name.text
        for alias in name.aliases:
            yield "text", normalise(alias)
        for part in title_parts(name):
            yield "text", part
        yield "joined", "".join(words)
        if len(words) > 1 and not name.is_chinese:
            yield "sorted", " ".join(sorted(words))
        yield from self._cores(name, words)
        for code in self._codes.given(name):
            yield "code", code
        if self._codes.own(name):
            yield "joined", "".join(self._codes.without(name))
        for text in spellings(name, self._ontology):
            yield "spelt", text
        for sound in self._sounds.heard(name):
            yield "heard", sound
        yield "iri", entity_iri(self._base, name.type, name.text).value
        if name.known:
            yield "iri", name.known.value

    def _cores(self, name: Name, words: Words) -> Iterator[tuple[str, str]]:
        """What the name comes to without the words of its class, or of the one that it is mentioned as."""
        for type_ in (name.type, name.key[0]):
            yield "core", " ".join(self._wording.core(words, type_))
            if (rest := self._wording.without_rank(words, type_)) is not None:
                yield "joined", "".join(rest)

    def _inside(self, name: Name, within: Mapping[str, Set[str]]) -> Iterator[tuple[str, str]]:
        """What is left of the name without the place before it, in the words of each class that it may be of."""
        for place, rest in places_before(name, self._wording):
            if place in within:
                yield "joined", "".join(rest)
                yield "joined", "".join(self._wording.core(rest, name.type))
                for type_ in self._akin(name.type):
                    yield "core", " ".join(self._wording.core(rest, type_))

    def _akin(self, type_: NamedNode) -> tuple[NamedNode, ...]:
        if type_ not in self._related:
            listed = (other for other in self._ontology.classes if self._kinship.related(other, type_))
            self._related[type_] = tuple(dict.fromkeys((type_, *listed)))
        return self._related[type_]


def text_key(text: str) -> int:
    """The key that all names of a text share with those that are also called so."""
    return _hashed(("text", text))


def _hashed(key: tuple[str, ...]) -> int:
    """A key as a number of 64 bits, the same in every process."""
    text = "\x1f".join(key).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little", signed=True)


class Blocks:
    """The names of a workspace under their keys."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self.names: dict[NameKey, Name] = {}
        self._of: dict[NameKey, tuple[array[int], array[int]]] = {}
        self._sharing: dict[int, set[NameKey]] = defaultdict(set)
        self._looking: dict[int, set[NameKey]] = defaultdict(set)
        self.touched: set[NameKey] = set()
        """The names that were put in or dropped, until somebody who keeps them elsewhere clears it."""

    def concerned(self, texts: Iterable[str]) -> set[NameKey]:
        """The names of those texts, or also called so."""
        return {key for text in texts for key in self._sharing.get(text_key(text), ())}

    def looking_at(self, texts: Iterable[str]) -> set[NameKey]:
        """The names for which it matters whether those texts are names, or places."""
        return {key for text in texts for key in self._looking.get(text_key(text), ())}

    def put(
        self, names: Mapping[NameKey, Name | None], statistics: Statistics, within: Mapping[str, Set[str]]
    ) -> set[NameKey]:
        """Takes names in, each in the place of the one before; all names that this may change anything for."""
        reached: set[int] = set()
        for key, name in names.items():
            self.touched.add(key)
            reached.update(self._drop(key))
            if name is not None:
                shared, looked = self._keys.of(name, statistics, within), self._keys.loose(name)
                reached.update(shared)
                self._enter(key, name, shared, looked)
        return self._closed(reached)

    def _enter(self, key: NameKey, name: Name, shared: array[int], looked: array[int]) -> None:
        self.names[key] = name
        self._of[key] = (shared, looked)
        for sharing, found in ((self._sharing, shared), (self._looking, looked)):
            for each in found:
                sharing[each].add(key)

    def packed(self, key: NameKey) -> list[str] | None:
        """The keys of a name as two texts; None: it is not here."""
        return [b64encode(found.tobytes()).decode("ascii") for found in self._of[key]] if key in self._of else None

    def restore(self, name: Name, packed: list[str]) -> None:
        """Takes a name in under the keys that `packed` packed."""
        shared, looked = (array("q", b64decode(text)) for text in packed)
        self._enter(name.key, name, shared, looked)

    def _drop(self, key: NameKey) -> array[int]:
        self.names.pop(key, None)
        shared, looked = self._of.pop(key, (array("q"), array("q")))
        for sharing, found in ((self._sharing, shared), (self._looking, looked)):
            for each in found:
                sharing[each].discard(key)
                if not sharing[each]:
                    del sharing[each]
        return shared

    def _closed(self, reached: set[int]) -> set[NameKey]:
        """The names with those keys, the names with keys of these, and so on."""
        found: set[NameKey] = set()
        waiting = list(reached)
        while waiting:
            for key in self._sharing.get(waiting.pop(), ()):
                if key not in found:
                    found.add(key)
                    fresh = [each for each in self._of[key][0] if each not in reached]
                    reached.update(fresh)
                    waiting += fresh
        return found
