"""Which names may stand for one thing: pairs with a score and the method that found them.

Every rule looks up names by a key (the text, a code, an alias, the core of the name), so that the cost grows with
the names and not with their pairs. Each pair is then checked; the rules would rather miss a pair than join two things.
"""

from __future__ import annotations

import re
from array import array
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import combinations, islice, pairwise, product
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import NamedNode

from kgplatform.documents.records import NameKey
from kgplatform.lexicon import LexiconSection, glosses
from kgplatform.linking.aliases import (
    ClassWording,
    Codes,
    Kinship,
    NameEntry,
    NameTable,
    Words,
    directions,
    misspelt,
    row,
    says_of,
    sort_key,
)
from kgplatform.linking.transliteration import LEAST_SHARE, Readings, Statistics, readings, reads_like, trusted
from kgplatform.ontology.schema import Ontology
from kgplatform.store.vectors import VectorIndex
from kgplatform.text import has_han, normalise, singular
from kgplatform.types import Embedder
from kgplatform.vocab import CORE, entity_iri

PERSON: Final = NamedNode(f"{CORE}Person")
_LEAST_LETTERS: Final = 8
_LEAST_TITLE_WORDS: Final = 4
_SENSES, _MOST_WAYS, _STEM = 4, 32, 5
_LIGHT: Final = LexiconSection("linking", "candidates").words("light")


def title_parts(name: NameEntry) -> list[str]:
    """What stands before and after the colons of a title, where it is long enough to be one by itself."""
    parts = name.text.split(":") if ":" in name.text else ()
    return [normalise(part) for part in parts if len(row(part)) >= _LEAST_TITLE_WORDS * (2 if has_han(part) else 1)]


def spellings(name: NameEntry, ontology: Ontology) -> Iterator[str]:
    """A long name itself and with one letter left out: two that are a slip apart share one of these."""
    text = "".join(row(name.text))
    if name.is_chinese or len(text) < _LEAST_LETTERS or ontology.is_a(name.type, (PERSON,)):
        return  # a person whose name is spelt otherwise is another person
    yield text
    for place in range(len(text)):
        if text[place : place + 1] != text[place - 1 : place]:
            yield text[:place] + text[place + 1 :]


def places_before(name: NameEntry, wording: ClassWording) -> Iterator[tuple[str, Words]]:
    """The ways to read the name as that of a place and the rest: 乌镇西栅, Wuzhen Xizha; Xizha, Wuzhen; X of Wuzhen."""
    parts = row(name.text)
    glue = "" if name.is_chinese else " "
    after = re.fullmatch("(.+?)(?:,| in| at) (.+)", name.text)
    behind = re.fullmatch("(.+) of (.+)", name.text)  # the museum of a town is not the town in a museum
    before = len(row(behind[1])) if behind else len(parts)
    readings = [(glue.join(parts[:cut]), parts[cut:]) for cut in range(1, before)]
    readings += [(behind[2], row(behind[1]))] if behind else []
    for place, rest in [(after[2], row(after[1]))] if after else readings:
        if wording.is_name(rest):
            yield place, rest


def meanings(name: NameEntry, ontology: Ontology) -> Iterator[str]:
    """What the words of a name mean in English, in no order: of a Chinese one what the senses of its words make."""
    if ontology.is_a(name.type, (PERSON,)):
        return
    if not name.is_chinese:
        yield _meant(name.text)
        return
    known, text = glosses("zh"), "".join(row(name.text))
    options: list[tuple[str, ...]] = []
    while text:
        word = next((text[:size] for size in range(len(text), 0, -1) if text[:size] in known), "")
        if not word:
            return
        options.append(known[word][:_SENSES])
        text = text[len(word) :]
    ways = islice(product(*options), _MOST_WAYS)
    yield from dict.fromkeys(_meant(" ".join(senses)) for senses in ways)


def _meant(text: str) -> str:
    """The stems of the words of an English phrase that mean something, in alphabetical order."""
    words = (word.removesuffix("'s") for word in re.findall(r"[a-z][a-z']*", text.casefold()))
    return " ".join(sorted({singular(word)[:_STEM] for word in words if word not in _LIGHT}))


class NameGrounds:
    """What an ontology says of names: their words, their codes, how they are read, and which may be of one thing."""

    def __init__(self, ontology: Ontology) -> None:
        self.ontology = ontology
        self.wording = ClassWording(ontology)
        self.kinship = Kinship(ontology)
        self.codes = Codes(ontology)
        self.sounds = Readings(ontology, self.wording, self.kinship, left_out=PERSON)


class Keys:
    """Tells what names have in common with others. Keys are hashes: two that are alike by chance do no harm."""

    def __init__(self, grounds: NameGrounds, base: str) -> None:
        self._ontology = grounds.ontology
        self._wording = grounds.wording
        self._base = base
        self._codes = grounds.codes
        self._kinship = grounds.kinship
        self._sounds = grounds.sounds
        self._related: dict[NamedNode, tuple[NamedNode, ...]] = {}

    def of(self, name: NameEntry, statistics: Statistics, within: Mapping[str, Set[str]]) -> array[int]:
        """What the name shares with those that it may be one with, or whose chances it has a part in."""
        found = {_hashed(key) for key in self._own(name)}
        found |= {_hashed(key) for key in self._inside(name, within)}
        found |= {_hashed(("translated", *pair)) for pair in statistics.translated(name.text)}
        return array("q", sorted(found))

    def loose(self, name: NameEntry) -> array[int]:
        """The texts of which it matters to the name only whether they are names, or places, at all."""
        found = {text_key(place) for place, _ in places_before(name, self._wording)}
        return array("q", sorted(found | {text_key(text) for text in self._sounds.cores(name)}))

    def _own(self, name: NameEntry) -> Iterator[tuple[str, str]]:
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
        yield from (("meant", meaning) for meaning in meanings(name, self._ontology) if meaning)
        yield "iri", entity_iri(self._base, name.type, name.text).value
        if name.known:
            yield "iri", name.known.value

    def _cores(self, name: NameEntry, words: Words) -> Iterator[tuple[str, str]]:
        """What the name comes to without the words of its class, or of the one that it is mentioned as."""
        for type_ in (name.type, name.key[0]):
            yield "core", " ".join(self._wording.core(words, type_))
            if (rest := self._wording.without_rank(words, type_)) is not None:
                yield "joined", "".join(rest)

    def _inside(self, name: NameEntry, within: Mapping[str, Set[str]]) -> Iterator[tuple[str, str]]:
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


class NameBlocks:
    """The names of a workspace under their keys."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self.names: dict[NameKey, NameEntry] = {}
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
        self, names: Mapping[NameKey, NameEntry | None], statistics: Statistics, within: Mapping[str, Set[str]]
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

    def _enter(self, key: NameKey, name: NameEntry, shared: array[int], looked: array[int]) -> None:
        self.names[key] = name
        self._of[key] = (shared, looked)
        for sharing, found in ((self._sharing, shared), (self._looking, looked)):
            for each in found:
                sharing[each].add(key)

    def packed(self, key: NameKey) -> list[str] | None:
        """The keys of a name as two texts; None: it is not here."""
        return [b64encode(found.tobytes()).decode("ascii") for found in self._of[key]] if key in self._of else None

    def restore(self, name: NameEntry, packed: list[str]) -> None:
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


# Likeness of content, the travel framework's equation 1: E = {(n, t, c_t): cos(phi([n, c_t]), phi(t)) >= delta_1}, for
# names of one level. A vector index finds the nearest, so that the cost grows with the names and not with their pairs.
_NEAREST: Final = 8
_SAID: Final = 12


@dataclass(frozen=True, slots=True)
class NearNames:
    """Two names whose contents are alike, and how much (0..1)."""

    first: NameEntry
    second: NameEntry
    similarity: float


def content_of(name: NameEntry, ontology: Ontology) -> str:
    """The name with its class and what is said of it, in the language of the name."""
    language = "zh" if has_han(name.text) else "en"
    form = min(name.forms, key=lambda text: (-name.forms[text], text), default=name.text)
    said = (f"{ontology.label(predicate, language)} {value}" for predicate, value in name.context[:_SAID])
    return "; ".join([f"{form} ({ontology.label(name.type, language)})", *dict.fromkeys(said)])


class Contents:
    """The vectors of names by content; ``path`` keeps them, None forgets them with the object."""

    def __init__(self, embedder: Embedder, path: Path | None = None) -> None:
        self._embedder = embedder
        self._index = VectorIndex(path, dimensions=embedder.dimensions, model_name=embedder.name)

    def near(self, names: NameTable, ontology: Ontology, threshold: float) -> list[NearNames]:
        """The pairs of mentioned names that are at least ``threshold`` alike, in a stable order.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        by_digest: dict[int, list[NameEntry]] = {}
        texts: dict[int, str] = {}
        for name in names:
            if name.count:
                text = content_of(name, ontology)
                digest = _digest(text)
                texts[digest] = text
                by_digest.setdefault(digest, []).append(name)
        _keep(self._index, self._embedder, texts)
        found = sorted(
            self._pairs(by_digest, threshold),
            key=lambda near: (-near.similarity, sort_key(near.first.key), sort_key(near.second.key)),
        )
        return list({(near.first.key, near.second.key): near for near in found}.values())

    def _pairs(self, by_digest: dict[int, list[NameEntry]], threshold: float) -> Iterator[NearNames]:
        for digest in sorted(by_digest):
            (vector,) = self._index.vectors([digest])
            for other, similarity in self._index.search(vector, _NEAREST):
                if similarity >= threshold:
                    yield from _ordered(by_digest[digest], by_digest[other], round(similarity, 4))


class KeptTextVectors:
    """The vectors of texts; ``path`` keeps them, and those of texts that are not asked for again go."""

    def __init__(self, embedder: Embedder, path: Path | None = None) -> None:
        self._embedder = embedder
        self._index = VectorIndex(path, dimensions=embedder.dimensions, model_name=embedder.name)

    def of(self, texts: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """A vector of unit length for each text.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        digests = {_digest(text): text for text in texts}
        _keep(self._index, self._embedder, digests)
        rows = self._index.vectors(list(digests))
        return dict(zip(digests.values(), rows, strict=True))


def _keep(index: VectorIndex, embedder: Embedder, texts: Mapping[int, str]) -> None:
    """Makes the index hold the vectors of these texts and no others; only new texts are embedded."""
    stale = [digest for digest in index if digest not in texts]
    fresh = sorted(digest for digest in texts if digest not in index)
    if fresh:
        index.add(fresh, embedder.embed([texts[digest] for digest in fresh]))
    index.remove(stale)
    if fresh or stale:
        index.save()


def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _ordered(names: Sequence[NameEntry], others: Sequence[NameEntry], similarity: float) -> Iterator[NearNames]:
    for one in names:
        for other in others:
            if one.key != other.key:
                first, second = sorted((one, other), key=lambda name: sort_key(name.key))
                yield NearNames(first, second, similarity)


_ALL_PAIRS_UP_TO: Final = 12


@dataclass(frozen=True, slots=True)
class NamePair:
    """Two names that may stand for one thing: how sure (0..1), and by which method."""

    first: NameKey
    second: NameKey
    score: float
    method: str


@dataclass(frozen=True, slots=True)
class Likeness:
    """From which likeness on (0..1) two names may be one, and what compares them.

    ``spelling`` is for names a slip apart; ``content``, for what is said of names (equation 1), is off at 1.
    """

    spelling: float = 0.92
    content: float = 1.0
    embedder: Embedder | None = None
    contents: Contents | None = None


class Candidates:
    """The rules, over the names of one workspace, or over some of them with the ``statistics`` of all."""

    def __init__(self, names: NameTable, grounds: NameGrounds, likeness: Likeness, statistics: Statistics) -> None:
        self._statistics = statistics
        self.kinship, self.codes = grounds.kinship, grounds.codes
        self._names = names
        self._before: dict[NameKey, tuple[tuple[str, Words], ...]] = {}
        self._wording = grounds.wording
        self._embedder = likeness.embedder
        self._similarity = likeness.spelling
        self._likeness = likeness
        self._sounds = grounds.sounds
        self._ontology = grounds.ontology

    def pairs(self) -> list[NamePair]:
        """All candidates, in a stable order."""
        found = [*self._same_text(), *self._same_code(), *self._aliases(), *self._same_words(), *self._same_core()]
        found += [*self._translated_parts(), *self._subtitles(), *self._inside_a_place(), *self._spelling()]
        found += [*self._of_a_rank(), *self._read_alike(), *self._mean_alike(), *self._content()]
        return sorted(found, key=lambda pair: (-pair.score, pair.method, sort_key(pair.first), sort_key(pair.second)))

    def _same_text(self) -> Iterator[NamePair]:
        for group in _grouped((name.text, name) for name in self._names):
            for a, b in combinations(group, 2):
                if self.kinship.related(a.type, b.type):
                    score = 1.0 if self.kinship.comparable(a.type, b.type) else 0.95
                    yield NamePair(a.key, b.key, score, "exact")

    def _same_code(self) -> Iterator[NamePair]:
        coded = [(code, name) for name in self._names for code in self.codes.given(name)]
        for group in _grouped(coded):
            for a, b in _paired(group):
                if self.kinship.comparable(a.type, b.type):
                    yield NamePair(a.key, b.key, 0.99, "code")
        yield from self._code_left_out()

    def _code_left_out(self) -> Iterator[NamePair]:
        """A name without its code, where only one code goes with that name."""
        rests: dict[Words, list[NameEntry]] = defaultdict(list)
        for name in self._names:
            if len(self.codes.own(name)) == 1 and self.codes.without(name):
                rests[self.codes.without(name)].append(name)
        for plain in self._names:
            coded = rests.get(row(plain.text), [])
            if coded and not self.codes.own(plain) and len({self.codes.own(name) for name in coded}) == 1:
                for name in coded:
                    if self.kinship.comparable(plain.type, name.type):
                        yield NamePair(plain.key, name.key, 0.94, "code")

    # aliases

    def _aliases(self) -> Iterator[NamePair]:
        claims = self._claims()
        for alias, claimants in claims.items():
            strong = [name for name, _ in claimants]
            for name, count in claimants:
                for target in self._called.get(alias, []):
                    if self._same_by_alias(name, target, count):
                        yield self._alias_pair(name, target)
            for a, b in _paired(strong):
                if a.text != b.text and self.kinship.comparable(a.type, b.type) and self._alias_crosses(a, b, alias):
                    yield NamePair(a.key, b.key, 0.9, "alias")

    def _translated_parts(self) -> Iterator[NamePair]:
        """What two names in the two scripts begin with, where whole names are translated (Wuzhen Theatre, 乌镇剧院)."""
        pairs = {pair for text in self._called if not has_han(text) for pair in self._statistics.translated(text)}
        for latin, chinese in sorted(pairs):
            for a, b in product(self._called[latin], self._called.get(chinese, ())):
                if self.kinship.related(a.type, b.type) and not self._names.tied(latin, chinese):
                    yield NamePair(a.key, b.key, 0.9, "alias")

    @cached_property
    def _called(self) -> Mapping[str, list[NameEntry]]:
        found: dict[str, list[NameEntry]] = {}
        for name in self._names:
            found.setdefault(name.text, []).append(name)
        return found

    def _alias_pair(self, name: NameEntry, target: NameEntry) -> NamePair:
        return NamePair(name.key, target.key, 0.97 if name.is_chinese != target.is_chinese else 0.93, "alias")

    def _claims(self) -> dict[str, list[tuple[NameEntry, int]]]:
        """The names that are also called by an alias, those left out that claim it far less often than others do.

        A name that is called so twice or more, and nothing else in that script, is not left out.
        """
        counted: dict[str, dict[NameKey, int]] = defaultdict(dict)
        for name in self._names:
            for alias, count in trusted(name).items():
                if alias != name.text and self._wording.is_name(row(alias)):
                    counted[alias][name.key] = count
        kept: dict[str, list[tuple[NameEntry, int]]] = {}
        for alias in sorted(counted):
            most = max(counted[alias].values())
            kept[alias] = [
                (self._names.by_key[key], count)
                for key, count in sorted(counted[alias].items(), key=lambda item: sort_key(item[0]))
                if count >= most * LEAST_SHARE or (count > 1 and _only(self._names.by_key[key], alias))
            ]
        return kept

    def _same_by_alias(self, name: NameEntry, target: NameEntry, count: int) -> bool:
        """Whether "name (target)" says that both are one.

        In one script it may as well say where something is: there the classes must be the same, or it must have been
        said twice, or the target be the reading of the Chinese name that stands beside it (Dongzha, 东栅).
        """
        if self._names.tied(name.text, target.text) or not self.kinship.related(name.type, target.type):
            return False
        if name.is_chinese != target.is_chinese:
            return not self._sounds.differ(name, target)
        sure = count > 1 or reads_like(target.text, name.aliases)
        sure = sure or self._wording.core(row(name.text), name.type) == row(target.text)
        sure = sure or (not target.is_chinese and self._sounds.says(target.text, name.type))
        return name.type == target.type or (sure and self.kinship.comparable(name.type, target.type))

    def _alias_crosses(self, a: NameEntry, b: NameEntry, alias: str) -> bool:
        """Whether the shared alias is in the other script, so that it translates both names."""
        crosses = a.is_chinese == b.is_chinese != has_han(alias)
        return crosses and not self._names.tied(a.text, b.text) and not self._names.tied(a.text, alias)

    # wording

    def _same_words(self) -> Iterator[NamePair]:
        """The same words in another number, spacing or, around "of", order."""
        for group in _grouped(("".join(row(name.text)), name) for name in self._names if len(name.text) > 1):
            for a, b in _paired(group):
                if a.text != b.text and self._alike(a, b):
                    yield NamePair(a.key, b.key, 0.98, "similarity")
        latin = [name for name in self._names if not name.is_chinese and len(row(name.text)) > 1]
        for group in _grouped((" ".join(sorted(row(name.text))), name) for name in latin):
            for a, b in _paired(group):
                reordered = row(a.text) != row(b.text) and (says_of(a.text) != says_of(b.text))
                if reordered and self._alike(a, b):
                    yield NamePair(a.key, b.key, 0.96, "similarity")

    def _alike(self, a: NameEntry, b: NameEntry) -> bool:
        same_places = directions(a.text) == directions(b.text)
        return same_places and self.kinship.comparable(a.type, b.type) and not self._names.tied(a.text, b.text)

    def _same_core(self) -> Iterator[NamePair]:
        """One name is the other with words around it that its class is called anyway."""
        cored = {(self._wording.core(row(n.text), type_), n.key) for n in self._names for type_ in (n.type, n.key[0])}
        named = [(" ".join(core), self._names.by_key[key]) for core, key in cored if self._wording.is_name(core)]
        for group in _grouped(named):
            # against the shortest and among neighbours of like length, so that a large group costs no more than it is
            ordered = sorted(group, key=lambda name: (len(row(name.text)), sort_key(name.key)))
            for shorter, longer in _paired(ordered):
                if row(shorter.text) != row(longer.text) and self._contained(shorter, row(longer.text), longer):
                    yield NamePair(shorter.key, longer.key, 0.94, "containment")

    def _of_a_rank(self) -> Iterator[NamePair]:
        """One name is the other with a rank in it and the class word that goes with that."""
        joined: dict[str, list[NameEntry]] = defaultdict(list)
        for name in self._names:
            joined["".join(row(name.text))].append(name)
        for longer in self._names:
            rest = self._wording.without_rank(row(longer.text), longer.type)
            for shorter in joined.get("".join(rest), ()) if rest and self._wording.is_own_name(rest) else ():
                if self.kinship.comparable(shorter.type, longer.type):
                    yield NamePair(shorter.key, longer.key, 0.93, "containment")

    def _contained(self, shorter: NameEntry, longer: Words, of: NameEntry) -> bool:
        if not self.kinship.related(shorter.type, of.type) or not self._wording.is_name(row(shorter.text)):
            return False
        area = self._sounds.governs(of.type) and self.kinship.comparable(shorter.type, of.type)  # 昆山 is 昆山市
        if area or shorter.text in trusted(of):
            return any(self._wording.adds_nothing(longer, row(shorter.text), type_) for type_ in (of.type, of.key[0]))
        return self._wording.adds_nothing(longer, row(shorter.text), shorter.type)

    def _subtitles(self) -> Iterator[NamePair]:
        """A title with and without what stands before or after its colon, where the rest is long enough to be one."""
        whole: dict[str, list[NameEntry]] = defaultdict(list)
        for name in self._names:
            for part in title_parts(name):
                whole[part].append(name)
        for part, longer in sorted(whole.items()):
            for shorter in self._called.get(part, []) if len({name.text for name in longer}) == 1 else ():
                for name in longer:
                    if self.kinship.comparable(shorter.type, name.type):
                        yield NamePair(shorter.key, name.key, 0.93, "containment")

    def _inside_a_place(self) -> Iterator[NamePair]:
        """One name is the other with the name before it of what it lies in (乌镇西栅景区)."""
        by_core: dict[tuple[Words, NamedNode], list[NameEntry]] = defaultdict(list)
        for name in self._names:
            by_core[(self._wording.core(row(name.text), name.type), name.type)].append(name)
        types = sorted({name.type for name in self._names}, key=lambda iri: iri.value)
        for longer in self._names:
            for place, rest in self._places_before(longer):
                for type_ in types:
                    if not self.kinship.related(type_, longer.type):
                        continue
                    for shorter in by_core.get((self._wording.core(rest, type_), type_), []):
                        if self._lies_in(shorter, longer, place) and self._fits_rest(shorter, rest, longer):
                            yield NamePair(shorter.key, longer.key, 0.93, "containment")

    def _places_before(self, name: NameEntry) -> Iterable[tuple[str, Words]]:
        """The ways to read the name as that of a place in which something is said to lie, and the rest."""
        found = self._before.get(name.key)
        if found is None:
            listed = places_before(name, self._wording)
            found = self._before[name.key] = tuple(item for item in listed if item[0] in self._names.within)
        return found

    def _lies_in(self, shorter: NameEntry, longer: NameEntry, place: str) -> bool:
        """Whether the shorter name's thing lies in the place: said so, or no other place is ever put before it.

        Both, for a name such as "East Station" that many places may have.
        """
        if shorter.text in (place, longer.text):
            return False
        words = row(shorter.text)
        reasons = (self._said_to_lie(shorter.text, place), self._places[words] == {place})
        return any(reasons) if self._wording.is_own_name(words) else all(reasons)

    def _said_to_lie(self, text: str, place: str) -> bool:
        """Whether the name, or one that is also called so, is said to lie in the place, by its name or a reading."""
        if self._names.tied(text, place):
            return True
        called = (name.text for name in self._also_called.get(text, ()))
        around = (other for name in called for other in self._names.within.get(name, ()))
        return has_han(place) and any(other.replace(" ", "") in readings(place) for other in around)

    @cached_property
    def _also_called(self) -> Mapping[str, list[NameEntry]]:
        found: dict[str, list[NameEntry]] = defaultdict(list)
        for name in self._names:
            for alias in trusted(name):
                found[alias].append(name)
        return found

    @cached_property
    def _places(self) -> Mapping[Words, set[str]]:
        """For the rest of each name that begins with a place: all the places it comes after."""
        found: dict[Words, set[str]] = defaultdict(set)
        for name in self._names:
            for place, rest in self._places_before(name):
                found[rest].add(place)
                found[self._wording.core(rest, name.type)].add(place)
        return found

    def _fits_rest(self, shorter: NameEntry, rest: Words, longer: NameEntry) -> bool:
        short = row(shorter.text)
        return rest == short or (len(rest) > len(short) and self._contained(shorter, rest, longer))

    # spelling

    def _spelling(self) -> Iterator[NamePair]:
        """Long names that differ by a slip of one letter, in a word that no other name has."""
        used = self._statistics.used
        found: list[tuple[NameEntry, NameEntry]] = []
        mentioned = list(self._with_a_letter_less(name for name in self._names if name.forms))
        keys = {key for key, _ in mentioned}
        unmentioned = self._with_a_letter_less(name for name in self._names if not name.forms)
        for group in _grouped([*mentioned, *(item for item in unmentioned if item[0] in keys)]):
            for a, b in _paired(group):
                slip = misspelt(row(a.text), row(b.text))
                if slip and 1 in (used(slip[0]), used(slip[1])) and self._alike(a, b):
                    found.append((a, b))
        pairs = sorted({(a.key, b.key) for a, b in found}, key=lambda pair: (sort_key(pair[0]), sort_key(pair[1])))
        for (first, second), score in zip(pairs, self._similarities(pairs), strict=True):
            if score >= self._similarity:
                yield NamePair(first, second, round(score, 4), "similarity")

    # sound and content

    def _read_alike(self) -> Iterator[NamePair]:
        """A Chinese name and how it is read, where class and class words agree (雷峰塔, Leifeng Pagoda)."""
        for latin, chinese in self._sounds.alike(self._names, self._statistics):
            if not self._names.tied(latin.text, chinese.text) and (latin.forms or chinese.forms):
                yield NamePair(latin.key, chinese.key, 0.92, "reading")

    def _mean_alike(self) -> Iterator[NamePair]:
        """A Chinese name and an English one whose words have the senses of its own (房间声学, room acoustics)."""
        meant = ((meaning, name) for name in self._names for meaning in meanings(name, self._ontology) if meaning)
        pairs = {
            (latin.key, chinese.key): None
            for group in _grouped(meant)
            for latin, chinese in product(group, group)
            if chinese.is_chinese and not latin.is_chinese and self._alike(latin, chinese)
        }
        yield from (NamePair(latin, chinese, 0.9, "translation") for latin, chinese in pairs)

    def _content(self) -> Iterator[NamePair]:
        """Names of comparable classes of which much the same is said: the travel framework's equation 1."""
        if self._likeness.content >= 1 or self._likeness.contents is None:
            return
        for near in self._likeness.contents.near(self._names, self._ontology, self._likeness.content):
            if self._may_be_one(near.first, near.second):
                yield NamePair(near.first.key, near.second.key, near.similarity, "content")

    def _may_be_one(self, first: NameEntry, second: NameEntry) -> bool:
        """Whether class and names allow that the contents decide: persons and numbered things are told by name."""
        if self._ontology.is_a(first.type, (PERSON,)) or directions(first.text) != directions(second.text):
            return False
        return self.kinship.comparable(first.type, second.type) and not self._names.tied(first.text, second.text)

    def _with_a_letter_less(self, names: Iterable[NameEntry]) -> Iterator[tuple[str, NameEntry]]:
        return ((text, name) for name in names for text in spellings(name, self._ontology))

    def _similarities(self, pairs: Sequence[tuple[NameKey, NameKey]]) -> list[float]:
        """How alike the spellings are, or the meanings where a model says that these are closer."""
        scores = [1 - 1 / max(len("".join(row(a[1]))), len("".join(row(b[1])))) for a, b in pairs]
        if self._embedder is None or not pairs:
            return scores
        texts = sorted({key[1] for pair in pairs for key in pair})
        vectors = dict(zip(texts, self._embedder.embed(texts), strict=True))
        near = [float(np.dot(vectors[a[1]], vectors[b[1]])) for a, b in pairs]
        return [min(1.0, max(score, other)) for score, other in zip(scores, near, strict=True)]


def _only(name: NameEntry, alias: str) -> bool:
    """Whether the name is called nothing else in the alias's script."""
    return {other for other in map(normalise, name.aliases) if has_han(other) == has_han(alias)} == {alias}


def _grouped(keyed: Iterable[tuple[str, NameEntry]]) -> list[list[NameEntry]]:
    """The names under each key that has several, one of them mentioned, in the order of the keys."""
    groups: dict[str, list[NameEntry]] = {}
    for key, name in keyed:
        groups.setdefault(key, []).append(name)
    found: list[list[NameEntry]] = []
    for _, group in sorted((key, group) for key, group in groups.items() if len(group) > 1):
        names = {name.key: name for name in group}
        if len(names) > 1 and any(name.forms for name in group):
            found.append([names[key] for key in sorted(names, key=sort_key)])
    return found


def _paired(names: Sequence[NameEntry]) -> Iterator[tuple[NameEntry, NameEntry]]:
    """All pairs of a small group; of a large one, each with the first and with the next."""
    if len(names) <= _ALL_PAIRS_UP_TO:
        yield from combinations(names, 2)
        return
    yield from ((names[0], name) for name in names[2:])
    yield from pairwise(names)
