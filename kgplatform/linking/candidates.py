"""Which names may stand for one thing: pairs with a score and the method that found them.

Every rule looks up names by a key (the text, a code, an alias, the core of the name), so that the cost grows with
the names and not with their pairs. Each pair is then checked; the rules would rather miss a pair than join two things.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise, product
from typing import Final

import numpy as np
from pyoxigraph import NamedNode

from kgplatform.documents.registry import NameKey
from kgplatform.linking.blocking import PERSON, Grounds, places_before, spellings, title_parts
from kgplatform.linking.content import Contents
from kgplatform.linking.names import Name, Names, sort_key
from kgplatform.linking.readings import readings
from kgplatform.linking.statistics import LEAST_SHARE, Statistics, reads_like, trusted
from kgplatform.linking.wording import Words, directions, misspelt, row, says_of
from kgplatform.protocols import Embedder
from kgplatform.text import has_han, normalise

_ALL_PAIRS_UP_TO: Final = 12


@dataclass(frozen=True, slots=True)
class Pair:
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

    def __init__(self, names: Names, grounds: Grounds, likeness: Likeness, statistics: Statistics) -> None:
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

    def pairs(self) -> list[Pair]:
        """All candidates, in a stable order."""
        found = [*self._same_text(), *self._same_code(), *self._aliases(), *self._same_words(), *self._same_core()]
        found += [*self._translated_parts(), *self._subtitles(), *self._inside_a_place(), *self._spelling()]
        found += [*self._of_a_rank(), *self._read_alike(), *self._content()]
        return sorted(found, key=lambda pair: (-pair.score, pair.method, sort_key(pair.first), sort_key(pair.second)))

    def _same_text(self) -> Iterator[Pair]:
        for group in _grouped((name.text, name) for name in self._names):
            for a, b in combinations(group, 2):
                if self.kinship.related(a.type, b.type):
                    score = 1.0 if self.kinship.comparable(a.type, b.type) else 0.95
                    yield Pair(a.key, b.key, score, "exact")

    def _same_code(self) -> Iterator[Pair]:
        coded = [(code, name) for name in self._names for code in self.codes.given(name)]
        for group in _grouped(coded):
            for a, b in _paired(group):
                if self.kinship.comparable(a.type, b.type):
                    yield Pair(a.key, b.key, 0.99, "code")
        yield from self._code_left_out()

    def _code_left_out(self) -> Iterator[Pair]:
        """A name without its code, where only one code goes with that name."""
        rests: dict[Words, list[Name]] = defaultdict(list)
        for name in self._names:
            if len(self.codes.own(name)) == 1 and self.codes.without(name):
                rests[self.codes.without(name)].append(name)
        for plain in self._names:
            coded = rests.get(row(plain.text), [])
            if coded and not self.codes.own(plain) and len({self.codes.own(name) for name in coded}) == 1:
                for name in coded:
                    if self.kinship.comparable(plain.type, name.type):
                        yield Pair(plain.key, name.key, 0.94, "code")

    # aliases

    def _aliases(self) -> Iterator[Pair]:
        claims = self._claims()
        for alias, claimants in claims.items():
            strong = [name for name, _ in claimants]
            for name, count in claimants:
                for target in self._called.get(alias, []):
                    if self._same_by_alias(name, target, count):
                        yield self._alias_pair(name, target)
            for a, b in _paired(strong):
                if a.text != b.text and self.kinship.comparable(a.type, b.type) and self._alias_crosses(a, b, alias):
                    yield Pair(a.key, b.key, 0.9, "alias")

    def _translated_parts(self) -> Iterator[Pair]:
        """What two names in the two scripts begin with, where whole names are translated (Wuzhen Theatre, 乌镇剧院)."""
        pairs = {pair for text in self._called if not has_han(text) for pair in self._statistics.translated(text)}
        for latin, chinese in sorted(pairs):
            for a, b in product(self._called[latin], self._called.get(chinese, ())):
                if self.kinship.related(a.type, b.type) and not self._names.tied(latin, chinese):
                    yield Pair(a.key, b.key, 0.9, "alias")

    @cached_property
    def _called(self) -> Mapping[str, list[Name]]:
        found: dict[str, list[Name]] = {}
        for name in self._names:
            found.setdefault(name.text, []).append(name)
        return found

    def _alias_pair(self, name: Name, target: Name) -> Pair:
        return Pair(name.key, target.key, 0.97 if name.is_chinese != target.is_chinese else 0.93, "alias")

    def _claims(self) -> dict[str, list[tuple[Name, int]]]:
        """The names that are also called by an alias, those left out that claim it far less often than others do.

        A name that is called so twice or more, and nothing else in that script, is not left out.
        """
        counted: dict[str, dict[NameKey, int]] = defaultdict(dict)
        for name in self._names:
            for alias, count in trusted(name).items():
                if alias != name.text and self._wording.is_name(row(alias)):
                    counted[alias][name.key] = count
        kept: dict[str, list[tuple[Name, int]]] = {}
        for alias in sorted(counted):
            most = max(counted[alias].values())
            kept[alias] = [
                (self._names.by_key[key], count)
                for key, count in sorted(counted[alias].items(), key=lambda item: sort_key(item[0]))
                if count >= most * LEAST_SHARE or (count > 1 and _only(self._names.by_key[key], alias))
            ]
        return kept

    def _same_by_alias(self, name: Name, target: Name, count: int) -> bool:
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

    def _alias_crosses(self, a: Name, b: Name, alias: str) -> bool:
        """Whether the shared alias is in the other script, so that it translates both names."""
        crosses = a.is_chinese == b.is_chinese != has_han(alias)
        return crosses and not self._names.tied(a.text, b.text) and not self._names.tied(a.text, alias)

    # wording

    def _same_words(self) -> Iterator[Pair]:
        """The same words in another number, spacing or, around "of", order."""
        for group in _grouped(("".join(row(name.text)), name) for name in self._names if len(name.text) > 1):
            for a, b in _paired(group):
                if a.text != b.text and self._alike(a, b):
                    yield Pair(a.key, b.key, 0.98, "similarity")
        latin = [name for name in self._names if not name.is_chinese and len(row(name.text)) > 1]
        for group in _grouped((" ".join(sorted(row(name.text))), name) for name in latin):
            for a, b in _paired(group):
                reordered = row(a.text) != row(b.text) and (says_of(a.text) != says_of(b.text))
                if reordered and self._alike(a, b):
                    yield Pair(a.key, b.key, 0.96, "similarity")

    def _alike(self, a: Name, b: Name) -> bool:
        same_places = directions(a.text) == directions(b.text)
        return same_places and self.kinship.comparable(a.type, b.type) and not self._names.tied(a.text, b.text)

    def _same_core(self) -> Iterator[Pair]:
        """One name is the other with words around it that its class is called anyway."""
        cored = {(self._wording.core(row(n.text), type_), n.key) for n in self._names for type_ in (n.type, n.key[0])}
        named = [(" ".join(core), self._names.by_key[key]) for core, key in cored if self._wording.is_name(core)]
        for group in _grouped(named):
            # against the shortest and among neighbours of like length, so that a large group costs no more than it is
            ordered = sorted(group, key=lambda name: (len(row(name.text)), sort_key(name.key)))
            for shorter, longer in _paired(ordered):
                if row(shorter.text) != row(longer.text) and self._contained(shorter, row(longer.text), longer):
                    yield Pair(shorter.key, longer.key, 0.94, "containment")

    def _of_a_rank(self) -> Iterator[Pair]:
        """One name is the other with a rank in it and the class word that goes with that."""
        joined: dict[str, list[Name]] = defaultdict(list)
        for name in self._names:
            joined["".join(row(name.text))].append(name)
        for longer in self._names:
            rest = self._wording.without_rank(row(longer.text), longer.type)
            for shorter in joined.get("".join(rest), ()) if rest and self._wording.is_own_name(rest) else ():
                if self.kinship.comparable(shorter.type, longer.type):
                    yield Pair(shorter.key, longer.key, 0.93, "containment")

    def _contained(self, shorter: Name, longer: Words, of: Name) -> bool:
        if not self.kinship.related(shorter.type, of.type) or not self._wording.is_name(row(shorter.text)):
            return False
        area = self._sounds.governs(of.type) and self.kinship.comparable(shorter.type, of.type)  # 昆山 is 昆山市
        if area or shorter.text in trusted(of):
            return any(self._wording.adds_nothing(longer, row(shorter.text), type_) for type_ in (of.type, of.key[0]))
        return self._wording.adds_nothing(longer, row(shorter.text), shorter.type)

    def _subtitles(self) -> Iterator[Pair]:
        """A title with and without what stands before or after its colon, where the rest is long enough to be one."""
        whole: dict[str, list[Name]] = defaultdict(list)
        for name in self._names:
            for part in title_parts(name):
                whole[part].append(name)
        for part, longer in sorted(whole.items()):
            for shorter in self._called.get(part, []) if len({name.text for name in longer}) == 1 else ():
                for name in longer:
                    if self.kinship.comparable(shorter.type, name.type):
                        yield Pair(shorter.key, name.key, 0.93, "containment")

    def _inside_a_place(self) -> Iterator[Pair]:
        """One name is the other with the name before it of what it lies in (乌镇西栅景区)."""
        by_core: dict[tuple[Words, NamedNode], list[Name]] = defaultdict(list)
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
                            yield Pair(shorter.key, longer.key, 0.93, "containment")

    def _places_before(self, name: Name) -> Iterable[tuple[str, Words]]:
        """The ways to read the name as that of a place in which something is said to lie, and the rest."""
        found = self._before.get(name.key)
        if found is None:
            listed = places_before(name, self._wording)
            found = self._before[name.key] = tuple(item for item in listed if item[0] in self._names.within)
        return found

    def _lies_in(self, shorter: Name, longer: Name, place: str) -> bool:
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
    def _also_called(self) -> Mapping[str, list[Name]]:
        found: dict[str, list[Name]] = defaultdict(list)
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

    def _fits_rest(self, shorter: Name, rest: Words, longer: Name) -> bool:
        short = row(shorter.text)
        return rest == short or (len(rest) > len(short) and self._contained(shorter, rest, longer))

    # spelling

    def _spelling(self) -> Iterator[Pair]:
        """Long names that differ by a slip of one letter, in a word that no other name has."""
        used = self._statistics.used
        found: list[tuple[Name, Name]] = []
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
                yield Pair(first, second, round(score, 4), "similarity")

    # sound and content

    def _read_alike(self) -> Iterator[Pair]:
        """A Chinese name and how it is read, where class and class words agree (雷峰塔, Leifeng Pagoda)."""
        for latin, chinese in self._sounds.alike(self._names, self._statistics):
            if not self._names.tied(latin.text, chinese.text) and (latin.forms or chinese.forms):
                yield Pair(latin.key, chinese.key, 0.92, "reading")

    def _content(self) -> Iterator[Pair]:
        """Names of comparable classes of which much the same is said: the travel framework's equation 1."""
        if self._likeness.content >= 1 or self._likeness.contents is None:
            return
        for near in self._likeness.contents.near(self._names, self._ontology, self._likeness.content):
            if self._may_be_one(near.first, near.second):
                yield Pair(near.first.key, near.second.key, near.similarity, "content")

    def _may_be_one(self, first: Name, second: Name) -> bool:
        """Whether class and names allow that the contents decide: persons and numbered things are told by name."""
        if self._ontology.is_a(first.type, (PERSON,)) or directions(first.text) != directions(second.text):
            return False
        return self.kinship.comparable(first.type, second.type) and not self._names.tied(first.text, second.text)

    def _with_a_letter_less(self, names: Iterable[Name]) -> Iterator[tuple[str, Name]]:
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


def _only(name: Name, alias: str) -> bool:
    """Whether the name is called nothing else in the alias's script."""
    return {other for other in map(normalise, name.aliases) if has_han(other) == has_han(alias)} == {alias}


def _grouped(keyed: Iterable[tuple[str, Name]]) -> list[list[Name]]:
    """The names under each key that has several, one of them mentioned, in the order of the keys."""
    groups: dict[str, list[Name]] = {}
    for key, name in keyed:
        groups.setdefault(key, []).append(name)
    found: list[list[Name]] = []
    for _, group in sorted((key, group) for key, group in groups.items() if len(group) > 1):
        names = {name.key: name for name in group}
        if len(names) > 1 and any(name.forms for name in group):
            found.append([names[key] for key in sorted(names, key=sort_key)])
    return found


def _paired(names: Sequence[Name]) -> Iterator[tuple[Name, Name]]:
    """All pairs of a small group; of a large one, each with the first and with the next."""
    if len(names) <= _ALL_PAIRS_UP_TO:
        yield from combinations(names, 2)
        return
    yield from ((names[0], name) for name in names[2:])
    yield from pairwise(names)
