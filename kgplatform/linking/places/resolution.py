"""Which places documents mean: by name and class, by what a place is said to lie in, by the other places around it.

Two places taken for one are worse than a place not recognised: where nothing tells, the name is left unresolved, and
its candidates are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.documents.records import NameKey, claimed
from kgplatform.linking.places.gazetteer import Kinds, LevelWords, NameKind, PlaceReference, key
from kgplatform.ontology.schema import Ontology
from kgplatform.text import has_han, normalise
from kgplatform.types import Claim, Extraction, Mention

CROWDED: Final = 1_000
"""Of a class with so many places, a shortened or transcribed name tells too little by itself."""

_LONGEST_PATH: Final = 24


class Fit(IntEnum):
    """How the class of a mention goes with that of a place, the best first."""

    SAME = 0
    LEVEL = 1
    """Another level: the class of a name in a text is a guess."""
    AKIN = 2


@dataclass(frozen=True, slots=True)
class PlaceCandidate:
    """A place that a name may stand for. ``firm``: name and class alone may settle it, if there is no other."""

    id: str
    kind: NameKind
    fit: Fit
    firm: bool


class PlaceFinder:
    """Finds the places that go by a name; remembers what it found."""

    def __init__(self, reference: PlaceReference, ontology: Ontology) -> None:
        self.reference = reference
        self.kinds = Kinds(ontology)
        self._levels = LevelWords(ontology, sorted(reference.types(), key=lambda iri: iri.value))
        self._possible: dict[NamedNode, bool] = {}
        self._found: dict[tuple[NamedNode, str, bool], tuple[PlaceCandidate, ...]] = {}

    def may_be_place(self, type_: NamedNode) -> bool:
        """Whether something mentioned as of the class could be a place of the reference."""
        if type_ not in self._possible:
            tests = (self.kinds.same, self.kinds.other_level, self.kinds.akin)
            types = self.reference.types()
            self._possible[type_] = any(test(type_, place) for test in tests for place in types)
        return self._possible[type_]

    def candidates(
        self, type_: NamedNode, name: str, aliases: Iterable[str] = (), *, guessed: bool = True
    ) -> tuple[PlaceCandidate, ...]:
        """The places that the name may stand for; those that an alias stands for as well, where there are any.

        ``guessed``: the class comes from a text, not from the column of a table.
        """
        found = self._candidates(type_, name, guessed)
        for alias in sorted(set(aliases)):
            same = {other.id for other in self._candidates(type_, alias, guessed)}
            if len(found) > 1 and any(item.id in same for item in found):
                found = tuple(item for item in found if item.id in same)
        return found

    def _candidates(self, type_: NamedNode, name: str, guessed: bool) -> tuple[PlaceCandidate, ...]:  # noqa: FBT001
        known = (type_, name, guessed)
        if known not in self._found:
            fitting = (self._fitting(type_, id_, kind, guessed=guessed) for id_, kind in self.named(name))
            listed = [item for item in fitting if item is not None]
            if any(item.fit is Fit.SAME and item.kind < NameKind.READING for item in listed):
                listed = [item for item in listed if item.fit is not Fit.LEVEL]
            self._found[known] = tuple(listed)
        return self._found[known]

    def _fitting(self, type_: NamedNode, id_: str, kind: NameKind, *, guessed: bool) -> PlaceCandidate | None:
        place = self.reference.place(id_)
        crowded = self.reference.crowd(place.type) > CROWDED
        if self.kinds.same(type_, place.type):
            return PlaceCandidate(id_, kind, Fit.SAME, firm=not (crowded and kind >= NameKind.SHORT))
        if self.kinds.other_level(type_, place.type):
            told = guessed and kind < NameKind.READING and not crowded
            return PlaceCandidate(id_, kind, Fit.LEVEL, firm=True) if told else None
        # a pagoda is not the township that is called after it
        told = self.kinds.akin(type_, place.type) and not (crowded and kind >= NameKind.SHORT)
        return PlaceCandidate(id_, kind, Fit.AKIN, firm=False) if told else None

    def named(self, name: str) -> list[tuple[str, NameKind]]:
        """The places of that name: as written, with what it lies in before or behind it, or without its level."""
        exact = self.reference.called(key(name))
        if exact:
            return list(exact)
        found = dict(self._after_its_place(name))
        for core in self._levels.cores(name):
            for id_, kind in self.reference.called(key(core.text)):
                if self.reference.place(id_).type in core.types:
                    found[id_] = min(kind, found.get(id_, kind))
        return sorted(found.items())

    def _after_its_place(self, name: str) -> Iterator[tuple[str, NameKind]]:
        """杭州市西湖区 and "Xihu District, Hangzhou": the places of the one name that lie in one of the other."""
        for inner, outer in _cuts(name):
            for id_, kind in self.reference.called(key(inner)) or (() if has_han(inner) else self.named(inner)):
                above = set(self.reference.above(id_))
                holders = {holder for holder, how in self.named(outer) if how < NameKind.READING or not has_han(outer)}
                if above & holders:
                    yield id_, min(kind, NameKind.ALIAS)


def _cuts(name: str) -> Iterator[tuple[str, str]]:
    """The ways to read a name as that of a place and that of what it lies in."""
    if "," in name or "，" in name:
        inner, _, outer = name.replace("，", ",").partition(",")
        if inner.strip() and outer.strip():
            yield inner.strip(), outer.strip()
    elif has_han(name) and len(name) <= _LONGEST_PATH:
        for cut in range(2, len(name) - 1):
            yield name[cut:], name[:cut]


_BESIDE: Final = 4
_BESIDE_HAN: Final = 1
"""So many characters at most stand between a place and the one it is said to be in: Suzhou in Jiangsu, 南昌的西湖区."""


@dataclass(slots=True)
class Mentioned:
    """The names of one document that may be places: how they are written, and by which others they stand."""

    document: str
    is_table: bool
    names: dict[NameKey, str] = field(default_factory=dict)
    aliases: dict[NameKey, set[str]] = field(default_factory=dict)
    parents: dict[NameKey, set[NameKey]] = field(default_factory=dict)


@dataclass(slots=True)
class Mentions:
    """The documents, all classes that a text is mentioned as, and the claims that say what lies in what."""

    documents: list[Mentioned] = field(default_factory=list)
    types: Mapping[str, Collection[NamedNode]] = field(default_factory=dict)
    claims: dict[Claim, NamedNode] = field(default_factory=dict)
    """Each with the chunk that it stands in."""


def document_of(chunk: NamedNode) -> str:
    """What a chunk, or the graph of a table, is part of: names mean the same in all of it."""
    return chunk.value.partition("/chunk/")[0]


def read_mentions(
    extractions: Iterable[Extraction],
    *,
    may_be_place: Callable[[NamedNode], bool],
    within: Callable[[NamedNode], bool | None],
) -> Mentions:
    """What the extractions say of places.

    ``may_be_place`` tells which classes count; ``within`` whether a property leads to what its subject lies in
    (True), from there (False), or neither (None).
    """
    types: dict[str, set[NamedNode]] = {}
    found = Mentions(types=types)
    by_document: dict[str, Mentioned] = {}
    for extraction in extractions:
        name = document_of(extraction.chunk)
        document = by_document.setdefault(name, Mentioned(name, extraction.method == "table"))
        mentions = list(dict.fromkeys((*extraction.mentions, *claimed(extraction))))
        for mention in mentions:
            types.setdefault(normalise(mention.name), set()).add(mention.type)
        places = [mention for mention in mentions if may_be_place(mention.type)]
        for mention in places:
            _note(mention, document)
        if not document.is_table:
            _beside(places, document)
        _claims(extraction, document, within, found)
    found.documents = [document for document in by_document.values() if document.names]
    return found


def _note(mention: Mention, document: Mentioned) -> None:
    key = (mention.type, normalise(mention.name))
    if key[1]:
        document.names.setdefault(key, mention.name)
        document.aliases.setdefault(key, set()).update(mention.aliases)


def _beside(places: Sequence[Mention], document: Mentioned) -> None:
    ordered = sorted(places, key=lambda mention: (mention.start, mention.end))
    for first, second in pairwise(ordered):
        most = _BESIDE_HAN if has_han(first.name) and has_han(second.name) else _BESIDE
        if 0 <= second.start - first.end <= most:
            a, b = _key(first), _key(second)
            document.parents.setdefault(a, set()).add(b)
            document.parents.setdefault(b, set()).add(a)


def _claims(
    extraction: Extraction, document: Mentioned, within: Callable[[NamedNode], bool | None], found: Mentions
) -> None:
    for claim in extraction.claims:
        way = within(claim.predicate)
        if way is None or not isinstance(claim.object, Mention):
            continue
        found.claims[claim] = extraction.chunk
        inner, outer = (claim.subject, claim.object) if way else (claim.object, claim.subject)
        document.parents.setdefault(_key(inner), set()).add(_key(outer))


def _key(mention: Mention) -> NameKey:
    return mention.type, normalise(mention.name)


_ROUNDS: Final = 3
_SHARED: Final = 1.0
_PROVINCIAL: Final = 2
"""Places with at least so many above them (a country, a continent) say something by being shared."""
_SAME_COUNTRY: Final = 0.25


@dataclass(frozen=True)
class Resolution:
    """Which place each name stands for: everywhere, or (``scoped``) in one document; and where nothing tells."""

    names: Mapping[NameKey, str] = field(default_factory=dict)
    scoped: Mapping[tuple[str, NameKey], str] = field(default_factory=dict)
    unclear: Mapping[NameKey, tuple[str, ...]] = field(default_factory=dict)

    def place(self, document: str, key: NameKey) -> str | None:
        """The place that the name stands for in the document."""
        return self.scoped.get((document, key)) or self.names.get(key)

    def ids(self) -> frozenset[str]:
        """The places that are meant somewhere."""
        return frozenset((*self.names.values(), *self.scoped.values()))


def resolve(mentions: Mentions, finder: PlaceFinder) -> Resolution:
    """The places that the documents mean."""
    decided: dict[NameKey, dict[str, str]] = {}
    open_: dict[NameKey, set[str]] = {}
    for document in mentions.documents:
        chosen = choose(document, mentions, finder)
        for key, id_ in chosen.decided.items():
            decided.setdefault(key, {})[document.document] = id_
        for key, ids in chosen.open.items():
            open_.setdefault(key, set()).update(ids)
    names = {key: min(places.values()) for key, places in decided.items() if len(set(places.values())) == 1}
    scoped = {
        (document, key): id_ for key, places in decided.items() if key not in names for document, id_ in places.items()
    }
    unclear = {key: tuple(sorted(ids)) for key, ids in open_.items() if key not in decided and len(ids) > 1}
    return Resolution(names, scoped, unclear)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The places that the names of one document stand for, and those that others may stand for."""

    decided: Mapping[NameKey, str]
    open: Mapping[NameKey, frozenset[str]]


def choose(document: Mentioned, mentions: Mentions, finder: PlaceFinder) -> Chosen:
    """The choice for one document; of ``mentions``, the classes of names count."""
    choice = _Choice(document, mentions, finder)
    choice.run()
    rest = {key: listed for key, listed in choice.candidates.items() if key not in choice.decided and listed}
    open_ = {key: frozenset(item.id for item in listed if item.fit is not Fit.AKIN) for key, listed in rest.items()}
    return Chosen(choice.decided, open_)


class _Choice:
    """The choice of places for the names of one document."""

    def __init__(self, document: Mentioned, mentions: Mentions, finder: PlaceFinder) -> None:
        self._document = document
        self._finder = finder
        self._above = finder.reference.above
        self._types = mentions.types
        self.decided: dict[NameKey, str] = {}
        found = ((key, self._of(key, name)) for key, name in sorted(document.names.items(), key=_order))
        self.candidates: dict[NameKey, tuple[PlaceCandidate, ...]] = {key: listed for key, listed in found if listed}

    def _of(self, key: NameKey, name: str) -> tuple[PlaceCandidate, ...]:
        aliases = self._document.aliases.get(key, ())
        found = self._finder.candidates(key[0], name, aliases, guessed=not self._document.is_table)
        return tuple(item for item in found if not self._is_something_else(key, item))

    def _is_something_else(self, key: NameKey, candidate: PlaceCandidate) -> bool:
        """Whether the name is used for what cannot be the place, and its own class does not say otherwise."""
        type_ = self._finder.reference.place(candidate.id).type
        if key[0] == type_ or candidate.fit is Fit.LEVEL:
            return False
        kinds = self._finder.kinds
        others = self._types.get(key[1], set())
        return any(kinds.disjoint(other, type_) and not kinds.other_level(other, type_) for other in others)

    def run(self) -> None:
        """Decides what is sure, then what that makes sure in turn."""
        for _ in range(_ROUNDS):
            now = {key: place for key, listed in self.candidates.items() if (place := self._decide(key, listed))}
            if now == self.decided:
                break
            self.decided = now

    def _decide(self, key: NameKey, candidates: Sequence[PlaceCandidate]) -> str | None:
        named = self._with_named_parent(key, candidates)
        if len(named) == 1:
            return named[0].id
        listed = named or [item for item in candidates if item.fit is not Fit.AKIN]
        if not listed:
            return None
        support = self._support(key, listed)
        most = max(support.values())
        best = [item for item in listed if support[item.id] == most] if most > 0 else listed
        if len(best) == 1 and (most >= _SHARED or best[0].firm):
            return best[0].id
        return self._without_context([item for item in best if item.firm], best)

    def _with_named_parent(self, key: NameKey, candidates: Iterable[PlaceCandidate]) -> list[PlaceCandidate]:
        """The candidates that lie in what the document names beside them; of these, the ones that lie deepest in it."""
        holders = {id_ for parent in self._document.parents.get(key, ()) for id_ in self._meant(parent)}
        depth = {
            item: max((len(self._above(up)) for up in self._up(item) & holders), default=-1) for item in candidates
        }
        told = {item: found for item, found in depth.items() if found >= (1 if item.firm else _PROVINCIAL)}
        return [item for item, found in told.items() if found == max(told.values())]

    def _meant(self, key: NameKey) -> set[str]:
        """What a name stands for, or may stand for."""
        if key in self.decided:
            return {self.decided[key]}
        return {item.id for item in self.candidates.get(key, ()) if item.kind < NameKind.READING}

    def _up(self, candidate: PlaceCandidate) -> set[str]:
        return set(self._above(candidate.id))

    def _support(self, key: NameKey, candidates: Iterable[PlaceCandidate]) -> dict[str, float]:
        """For each candidate: how much of where it lies it shares with the other places of the document."""
        ids = {item.id for item in candidates}
        around = {place for other, place in self.decided.items() if other[1] != key[1]} - ids
        return {id_: sum(self._shared(id_, place) for place in sorted(around)) for id_ in sorted(ids)}

    def _shared(self, first: str, second: str) -> float:
        common = {first, *self._above(first)} & {second, *self._above(second)}
        telling = sum(len(self._above(id_)) >= _PROVINCIAL for id_ in common)
        country = any(len(self._above(id_)) == _PROVINCIAL - 1 for id_ in common)
        return telling * _SHARED + country * _SAME_COUNTRY

    def _without_context(self, firm: Sequence[PlaceCandidate], listed: Sequence[PlaceCandidate]) -> str | None:
        """The one place that the name stands for by itself, if there is one."""
        written = [item for item in firm if item.kind < NameKind.READING]
        rest = [item for item in listed if item not in firm and item.kind < NameKind.READING]
        if not written and len(firm) == 1 and not rest:
            return firm[0].id
        for item in written:
            if all(self._covers(item, other) for other in (*written, *rest) if other is not item):
                return item.id
        return None

    def _covers(self, candidate: PlaceCandidate, other: PlaceCandidate) -> bool:
        """Whether the candidate is the better one: the other lies in it, or is a part of some province's part.

        Of two listings of one area, where one says more of what it lies in, it is that.
        """
        mine, others = self._above(candidate.id), self._above(other.id)
        if candidate.id in others:
            return True
        if len(mine) <= _PROVINCIAL < len(others):
            return True
        return set(others) < set(mine) and other.id not in mine and len(mine) == len(others) + 1 <= _PROVINCIAL


def _order(item: tuple[NameKey, str]) -> tuple[str, str]:
    return item[0][1], item[0][0].value
