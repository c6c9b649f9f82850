"""Which places documents mean: by name and class, by what a place is said to lie in, by the other places around it.

Two places taken for one are worse than a place not recognised: where nothing tells, the name is left unresolved, and
its candidates are listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kgplatform.documents.registry import NameKey
from kgplatform.places.candidates import Candidate, Fit, PlaceFinder
from kgplatform.places.mentioned import Mentioned, Mentions
from kgplatform.places.place import NameKind

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
        self.candidates: dict[NameKey, tuple[Candidate, ...]] = {key: listed for key, listed in found if listed}

    def _of(self, key: NameKey, name: str) -> tuple[Candidate, ...]:
        aliases = self._document.aliases.get(key, ())
        found = self._finder.candidates(key[0], name, aliases, guessed=not self._document.is_table)
        return tuple(item for item in found if not self._is_something_else(key, item))

    def _is_something_else(self, key: NameKey, candidate: Candidate) -> bool:
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

    def _decide(self, key: NameKey, candidates: Sequence[Candidate]) -> str | None:
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

    def _with_named_parent(self, key: NameKey, candidates: Iterable[Candidate]) -> list[Candidate]:
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

    def _up(self, candidate: Candidate) -> set[str]:
        return set(self._above(candidate.id))

    def _support(self, key: NameKey, candidates: Iterable[Candidate]) -> dict[str, float]:
        """For each candidate: how much of where it lies it shares with the other places of the document."""
        ids = {item.id for item in candidates}
        around = {place for other, place in self.decided.items() if other[1] != key[1]} - ids
        return {id_: sum(self._shared(id_, place) for place in sorted(around)) for id_ in sorted(ids)}

    def _shared(self, first: str, second: str) -> float:
        common = {first, *self._above(first)} & {second, *self._above(second)}
        telling = sum(len(self._above(id_)) >= _PROVINCIAL for id_ in common)
        country = any(len(self._above(id_)) == _PROVINCIAL - 1 for id_ in common)
        return telling * _SHARED + country * _SAME_COUNTRY

    def _without_context(self, firm: Sequence[Candidate], listed: Sequence[Candidate]) -> str | None:
        """The one place that the name stands for by itself, if there is one."""
        written = [item for item in firm if item.kind < NameKind.READING]
        rest = [item for item in listed if item not in firm and item.kind < NameKind.READING]
        if not written and len(firm) == 1 and not rest:
            return firm[0].id
        for item in written:
            if all(self._covers(item, other) for other in (*written, *rest) if other is not item):
                return item.id
        return None

    def _covers(self, candidate: Candidate, other: Candidate) -> bool:
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
