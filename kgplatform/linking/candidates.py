"""Which names may stand for one thing: pairs with a score and the method that found them.

Every rule looks up names by a key (the text, a code, an alias, the core of the name), so that the cost grows with
the names and not with their pairs. Each pair is then checked; the rules would rather miss a pair than join two things.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final

import numpy as np
from pyoxigraph import NamedNode

from kgplatform.documents.registry import NameKey
from kgplatform.linking.names import Name, Names, sort_key
from kgplatform.linking.wording import Wording, Words, directions, misspelt, row, says_of
from kgplatform.ontology import Ontology
from kgplatform.protocols import Embedder
from kgplatform.text import has_han, normalise
from kgplatform.vocab import CORE

_ALL_PAIRS_UP_TO: Final = 12
_LEAST_SHARE: Final = 1 / 3
_LEAST_LETTERS: Final = 8


@dataclass(frozen=True, slots=True)
class Pair:
    """Two names that may stand for one thing: how sure (0..1), and by which method."""

    first: NameKey
    second: NameKey
    score: float
    method: str


class Kinship:
    """Which classes a thing may have at once."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        inside = ontology.classes
        self._tops = {iri for iri in inside if not any(p in inside for p in inside[iri].parents)}

    def comparable(self, first: NamedNode, second: NamedNode) -> bool:
        """Whether one class is the other or above it."""
        above = self._ontology.superclasses
        return (first in above(second) or second in above(first)) and not self.disjoint(first, second)

    def related(self, first: NamedNode, second: NamedNode) -> bool:
        """Whether the classes are comparable, or share one below the topmost, and nothing keeps them apart."""
        if self.comparable(first, second):
            return True
        shared = self._ontology.superclasses(first) & self._ontology.superclasses(second)
        below_top = {iri for iri in shared if iri in self._ontology.classes and iri not in self._tops}
        return bool(below_top) and not self.disjoint(first, second)

    def disjoint(self, first: NamedNode, second: NamedNode) -> bool:
        """Whether nothing can be of both classes."""
        return self._ontology.disjoint(first, second)


class Codes:
    """The codes in names: values of a property that is the key of the class and has a pattern."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        self._patterns: dict[NamedNode, tuple[re.Pattern[str], ...]] = {}

    def own(self, name: Name) -> frozenset[str]:
        """The codes in the name itself."""
        texts = list(name.forms) or [name.text.upper()]
        return frozenset(code for text in texts for code in self._found(text, name.type))

    def given(self, name: Name) -> frozenset[str]:
        """The codes in the name itself, else the one that it is also called by."""
        own = self.own(name)
        other = frozenset(code for text in name.aliases for code in self._found(text, name.type))
        return own or (other if len(other) == 1 else frozenset())

    def without(self, name: Name) -> Words:
        """The words of the name without its codes."""
        codes = {word for code in self.own(name) for word in row(normalise(code))}
        return tuple(word for word in row(name.text) if word not in codes)

    def _found(self, text: str, type_: NamedNode) -> Iterator[str]:
        plain = unicodedata.normalize("NFKC", text).strip()
        for pattern in self._of_class(type_):
            for match in pattern.finditer(plain):
                code = match.group()
                # two or three capitals inside a name are rarely a code
                if code == plain or re.search(r"[\d-]", code):
                    yield code

    def _of_class(self, type_: NamedNode) -> tuple[re.Pattern[str], ...]:
        if type_ not in self._patterns:
            above = [self._ontology.classes.get(iri) for iri in self._ontology.superclasses(type_)]
            keys = sorted({key for term in above if term for key in term.key}, key=str)
            forms = [self._ontology.properties[key].pattern for key in keys if key in self._ontology.properties]
            self._patterns[type_] = tuple(re.compile(f"(?<![^\\W_])(?:{form})(?![^\\W_])") for form in forms if form)
        return self._patterns[type_]


class Candidates:
    """The rules, over the names of one workspace."""

    def __init__(self, names: Names, ontology: Ontology, *, embedder: Embedder | None, similarity: float) -> None:
        self.kinship = Kinship(ontology)
        self.codes = Codes(ontology)
        self._names = names
        self._wording = Wording(ontology)
        self._embedder = embedder
        self._similarity = similarity
        self._person = NamedNode(f"{CORE}Person")
        self._ontology = ontology

    def pairs(self) -> list[Pair]:
        """All candidates, in a stable order."""
        found = [*self._same_text(), *self._same_code(), *self._aliases(), *self._same_words(), *self._same_core()]
        found += [*self._inside_a_place(), *self._spelling()]
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
        named: dict[str, list[Name]] = defaultdict(list)
        for name in self._names:
            named[name.text].append(name)
        for alias, claimants in claims.items():
            strong = [name for name, _ in claimants]
            for name, count in claimants:
                for target in named.get(alias, []):
                    if self._same_by_alias(name, target, count):
                        yield self._alias_pair(name, target)
            for a, b in _paired(strong):
                if a.text != b.text and self.kinship.comparable(a.type, b.type) and self._alias_crosses(a, b, alias):
                    yield Pair(a.key, b.key, 0.9, "alias")

    def _alias_pair(self, name: Name, target: Name) -> Pair:
        return Pair(name.key, target.key, 0.97 if name.is_chinese != target.is_chinese else 0.93, "alias")

    def _claims(self) -> dict[str, list[tuple[Name, int]]]:
        """The names that are also called by an alias, those left out that claim it far less often than others do."""
        counted: dict[str, dict[NameKey, int]] = defaultdict(dict)
        for name in self._names:
            for alias, count in _trusted(name).items():
                if alias != name.text and self._wording.is_name(row(alias)):
                    counted[alias][name.key] = count
        kept: dict[str, list[tuple[Name, int]]] = {}
        for alias in sorted(counted):
            most = max(counted[alias].values())
            kept[alias] = [
                (self._names.by_key[key], count)
                for key, count in sorted(counted[alias].items(), key=lambda item: sort_key(item[0]))
                if count >= most * _LEAST_SHARE
            ]
        return kept

    def _same_by_alias(self, name: Name, target: Name, count: int) -> bool:
        """Whether "name (target)" says that both are one; in one script it may as well say where something is."""
        if self._names.tied(name.text, target.text) or not self.kinship.related(name.type, target.type):
            return False
        if name.is_chinese != target.is_chinese:
            return True
        return name.type == target.type or (count > 1 and self.kinship.comparable(name.type, target.type))

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
        cored = ((self._wording.core(row(name.text), name.type), name) for name in self._names)
        for group in _grouped((" ".join(core), name) for core, name in cored if self._wording.is_name(core)):
            # against the shortest and among neighbours of like length, so that a large group costs no more than it is
            ordered = sorted(group, key=lambda name: (len(row(name.text)), sort_key(name.key)))
            for shorter, longer in _paired(ordered):
                if row(shorter.text) != row(longer.text) and self._contained(shorter, row(longer.text), longer):
                    yield Pair(shorter.key, longer.key, 0.94, "containment")

    def _contained(self, shorter: Name, longer: Words, of: Name) -> bool:
        if not self.kinship.related(shorter.type, of.type) or not self._wording.is_name(row(shorter.text)):
            return False
        return self._wording.adds_nothing(longer, row(shorter.text), shorter.type)

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

    def _places_before(self, name: Name) -> Iterator[tuple[str, Words]]:
        """The ways to read the name as that of a place and the rest."""
        parts = row(name.text)
        glue = "" if name.is_chinese else " "
        for cut in range(1, len(parts)):
            for place, rest in ((parts[:cut], parts[cut:]), (parts[cut:], parts[:cut])):
                text = glue.join(place)
                if text in self._names.within and self._wording.is_name(rest):
                    yield text, rest

    def _lies_in(self, shorter: Name, longer: Name, place: str) -> bool:
        return self._names.tied(shorter.text, place) and shorter.text not in (place, longer.text)

    def _fits_rest(self, shorter: Name, rest: Words, longer: Name) -> bool:
        short = row(shorter.text)
        return rest == short or (len(rest) > len(short) and self._contained(shorter, rest, longer))

    # spelling

    def _spelling(self) -> Iterator[Pair]:
        """Long names that differ by a slip of one letter, in a word that no other name has."""
        used: dict[str, int] = defaultdict(int)
        for text in {name.text for name in self._names}:
            for word in set(row(text)):
                used[word] += 1
        found: list[tuple[Name, Name]] = []
        for group in _grouped(self._with_a_letter_less()):
            for a, b in _paired(group):
                slip = misspelt(row(a.text), row(b.text))
                if slip and 1 in (used[slip[0]], used[slip[1]]) and self._alike(a, b):
                    found.append((a, b))
        pairs = sorted(set((a.key, b.key) for a, b in found), key=lambda pair: (sort_key(pair[0]), sort_key(pair[1])))
        for (first, second), score in zip(pairs, self._similarities(pairs), strict=True):
            if score >= self._similarity:
                yield Pair(first, second, round(score, 4), "similarity")

    def _with_a_letter_less(self) -> Iterator[tuple[str, Name]]:
        """Names under themselves and under themselves with one letter left out: two that are a slip apart share one."""
        for name in self._names:
            text = "".join(row(name.text))
            if name.is_chinese or len(text) < _LEAST_LETTERS or self._ontology.is_a(name.type, (self._person,)):
                continue  # a person whose name is spelt otherwise is another person
            yield text, name
            for place in range(len(text)):
                if text[place : place + 1] != text[place - 1 : place]:
                    yield text[:place] + text[place + 1 :], name

    def _similarities(self, pairs: Sequence[tuple[NameKey, NameKey]]) -> list[float]:
        """How alike the spellings are, or the meanings where a model says that these are closer."""
        scores = [1 - 1 / max(len("".join(row(a[1]))), len("".join(row(b[1])))) for a, b in pairs]
        if self._embedder is None or not pairs:
            return scores
        texts = sorted({key[1] for pair in pairs for key in pair})
        vectors = dict(zip(texts, self._embedder.embed(texts), strict=True))
        near = [float(np.dot(vectors[a[1]], vectors[b[1]])) for a, b in pairs]
        return [min(1.0, max(score, other)) for score, other in zip(scores, near, strict=True)]


def _trusted(name: Name) -> dict[str, int]:
    """The aliases of a name, normalised, those left out that are far rarer than another one in the same script."""
    counts: dict[str, int] = defaultdict(int)
    for alias, count in name.aliases.items():
        counts[normalise(alias)] += count
    counts.pop("", None)
    most = {
        script: max((count for alias, count in counts.items() if has_han(alias) == script), default=0)
        for script in (True, False)
    }
    return {alias: count for alias, count in counts.items() if count >= most[has_han(alias)] * _LEAST_SHARE}


def _grouped(keyed: Iterable[tuple[str, Name]]) -> list[list[Name]]:
    """The names under each key that has several, in the order of the keys."""
    groups: dict[str, dict[NameKey, Name]] = defaultdict(dict)
    for key, name in keyed:
        groups[key][name.key] = name
    return [
        [names[key] for key in sorted(names, key=sort_key)] for _, names in sorted(groups.items()) if len(names) > 1
    ]


def _paired(names: Sequence[Name]) -> Iterator[tuple[Name, Name]]:
    """All pairs of a small group; of a large one, each with the first and with the next."""
    if len(names) <= _ALL_PAIRS_UP_TO:
        yield from combinations(names, 2)
        return
    yield from ((names[0], name) for name in names[2:])
    yield from pairwise(names)
