"""Which places documents mean, kept in line with documents that come, change and go.

A document's choice depends on what it says itself, on the reference, and on the classes that its names have in other
documents: only documents for which one of these changed are looked at again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from pyoxigraph import NamedNode

from kgplatform.documents.registry import NameKey
from kgplatform.places.candidates import PlaceFinder
from kgplatform.places.mentioned import Mentioned, Mentions, read_mentions
from kgplatform.places.resolving import Resolution, choose
from kgplatform.text import normalise
from kgplatform.types import Claim, Extraction, Mention

_K = TypeVar("_K")
_V = TypeVar("_V")

Within: TypeAlias = Callable[[NamedNode], bool | None]
"""Whether a property leads to what something lies in (True), from there (False), or neither (None)."""


@dataclass(slots=True)
class _Document:
    """What one document says of places, the classes of all its names, and what was chosen for it."""

    places: list[Mentioned] = field(default_factory=list)
    types: frozenset[tuple[str, NamedNode]] = frozenset()
    claims: dict[Claim, NamedNode] = field(default_factory=dict)
    decided: dict[tuple[str, NameKey], str] = field(default_factory=dict)
    open: dict[NameKey, frozenset[str]] = field(default_factory=dict)


class KeptResolution:
    """The places that all documents mean; the same as `resolve` gives over everything."""

    def __init__(self) -> None:
        self._documents: dict[str, _Document] = {}
        self._types: dict[str, Counter[NamedNode]] = {}
        self._naming: dict[str, set[str]] = {}
        self._decided: dict[NameKey, dict[str, str]] = {}
        self._open: dict[NameKey, dict[str, frozenset[str]]] = {}
        self._claiming: dict[NameKey, set[str]] = {}
        self._names: dict[NameKey, str] = {}
        self._scoped: dict[tuple[str, NameKey], str] = {}
        self._unclear: dict[NameKey, tuple[str, ...]] = {}
        self._several: set[NameKey] = set()

    @property
    def resolution(self) -> Resolution:
        """What names stand for now."""
        return Resolution(self._names, self._scoped, self._unclear)

    @property
    def documents(self) -> frozenset[str]:
        """The documents that were taken in."""
        return frozenset(self._documents)

    def claiming(self, keys: Iterable[NameKey]) -> set[str]:
        """The documents that say of one of these names what it lies in, or what lies in it."""
        return {document for key in keys for document in self._claiming.get(key, ())}

    def claims(self, document: str) -> Mapping[Claim, NamedNode]:
        """What the document says of what lies in what, each with its passage."""
        found = self._documents.get(document)
        return found.claims if found else {}

    def put(
        self,
        documents: Mapping[str, Iterable[Extraction]],
        finder: PlaceFinder,
        within: Callable[[NamedNode], bool | None],
    ) -> set[NameKey]:
        """Takes documents in, each in the place of what it said before; the names that mean other places now."""
        again = set(documents)
        for document, extractions in documents.items():
            again |= self._replace(document, list(extractions), finder, within)
        changed: dict[NameKey, set[str]] = {}
        for document in again:
            for part, key in self._choose(document, finder):
                changed.setdefault(key, set()).add(part)
        return {key for key, parts in changed.items() if self._settle(key, parts)}

    def _replace(
        self,
        document: str,
        extractions: list[Extraction],
        finder: PlaceFinder,
        within: Callable[[NamedNode], bool | None],
    ) -> set[str]:
        """Takes one document in; others for which the classes of their names changed by that."""
        old = self._documents.get(document, _Document())
        read = read_mentions(extractions, may_be_place=finder.may_be_place, within=within)
        types = frozenset((text, type_) for text, found in read.types.items() for type_ in found)
        new = _Document(read.documents, types, read.claims, old.decided, old.open)
        self._note(document, old, holds=False)
        self._note(document, new, holds=True)
        self._documents[document] = new
        return {
            other
            for text, type_ in types ^ old.types
            if self._count(text, type_, 1 if (text, type_) in types else -1)
            for other in self._naming.get(text, ())
        }

    def _note(self, document: str, said: _Document, *, holds: bool) -> None:
        texts = {key[1] for mentioned in said.places for key in mentioned.names}
        keys = {(m.type, normalise(m.name)) for claim in said.claims for m in _ends(claim)}
        for text in texts:
            _set(self._naming, text, document, holds=holds)
        for key in keys:
            _set(self._claiming, key, document, holds=holds)

    def _count(self, text: str, type_: NamedNode, count: int) -> bool:
        """Counts a document that gives a text a class; whether the classes of the text changed."""
        counted = self._types.setdefault(text, Counter())
        was = counted[type_] > 0
        counted[type_] += count
        holds = counted[type_] > 0
        if not holds:
            del counted[type_]
        if not counted:
            del self._types[text]
        return was != holds

    def _choose(self, document: str, finder: PlaceFinder) -> set[tuple[str, NameKey]]:
        """Chooses for one document; the names in it for which that came out otherwise than before."""
        said = self._documents[document]
        decided: dict[tuple[str, NameKey], str] = {}
        open_: dict[NameKey, frozenset[str]] = {}
        for mentioned in said.places:
            choice = choose(mentioned, Mentions(types=self._types), finder)
            decided.update(((mentioned.document, key), id_) for key, id_ in choice.decided.items())
            open_.update(choice.open)
        changed = {place for place, _ in decided.items() ^ said.decided.items()}
        changed |= {(document, key) for key, _ in open_.items() ^ said.open.items()}
        for (part, key), _ in said.decided.items() - decided.items():
            _drop(self._decided, key, part)
        for (part, key), id_ in decided.items():
            self._decided.setdefault(key, {})[part] = id_
        for key in said.open.keys() - open_.keys():
            _drop(self._open, key, document)
        for key, ids in open_.items():
            self._open.setdefault(key, {})[document] = ids
        said.decided, said.open = decided, open_
        if not said.places and not said.types:
            del self._documents[document]
        return changed

    def _settle(self, key: NameKey, parts: Iterable[str]) -> bool:
        """Brings in line what a name means that means something else in some documents; whether in others too."""
        decided = self._decided.get(key, {})
        ids = set(decided.values())
        was, was_scoped = self._names.pop(key, None), key in self._several
        listed = {id_ for found in self._open.get(key, {}).values() for id_ in found}
        self._unclear.pop(key, None)
        if not decided and len(listed) > 1:
            self._unclear[key] = tuple(sorted(listed))
        if len(ids) == 1:
            self._names[key] = min(ids)
        is_scoped = len(ids) > 1
        (self._several.add if is_scoped else self._several.discard)(key)
        concerned = parts if is_scoped and was_scoped else {*parts, *decided} if is_scoped or was_scoped else ()
        for part in concerned:
            if is_scoped and part in decided:
                self._scoped[part, key] = decided[part]
            else:
                self._scoped.pop((part, key), None)
        return is_scoped != was_scoped or self._names.get(key) != was


def _ends(claim: Claim) -> tuple[Mention, ...]:
    return (claim.subject, claim.object) if isinstance(claim.object, Mention) else (claim.subject,)


def _set(kept: dict[_K, set[str]], each: _K, document: str, *, holds: bool) -> None:
    if holds:
        kept.setdefault(each, set()).add(document)
    elif each in kept:
        kept[each].discard(document)
        if not kept[each]:
            del kept[each]


def _drop(kept: dict[NameKey, dict[str, _V]], key: NameKey, part: str) -> None:
    found = kept.get(key, {})
    found.pop(part, None)
    if not found:
        kept.pop(key, None)
