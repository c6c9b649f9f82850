"""What documents say of names, added up document by document: one that comes or goes costs what it says itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pyoxigraph import NamedNode

from kgplatform.documents.packing import key_of, line, node, packed_key
from kgplatform.documents.registry import NameKey
from kgplatform.linking.names import Name, Names, Telling, claimed, containing, sort_key
from kgplatform.ontology import Ontology
from kgplatform.text import normalise
from kgplatform.types import Extraction, Mention

_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(slots=True)
class _Said:
    """What one document says: each with how often, so that it can be taken back."""

    forms: Counter[tuple[NameKey, str]] = field(default_factory=Counter)
    aliases: Counter[tuple[NameKey, str]] = field(default_factory=Counter)
    about: Counter[tuple[NameKey, tuple[NamedNode, str]]] = field(default_factory=Counter)
    ties: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass(slots=True)
class Moved:
    """What a change of documents leads to: names said otherwise than before, and names tied otherwise."""

    keys: set[NameKey] = field(default_factory=set)
    tied: set[str] = field(default_factory=set)
    placed: set[str] = field(default_factory=set)
    """Texts that are tied to others now and were not, or the other way round."""


class Gathered:
    """The names of all documents, and which of them lie within one another.

    Without ``contexts`` only what tells things apart is kept of what is said of names: a town of which ten thousand
    documents say something costs no more than another then.
    """

    def __init__(self, ontology: Ontology, *, contexts: bool = True) -> None:
        self._containing, self._telling = containing(ontology), Telling(ontology)
        self._contexts = contexts
        self._documents: dict[str, _Said | str] = {}
        """What each says, or the line of JSON that it was packed to, and not needed since."""
        self._same: dict[NameKey, NameKey] = {}
        self._forms: dict[NameKey, Counter[str]] = {}
        self._aliases: dict[NameKey, Counter[str]] = {}
        self._about: dict[NameKey, Counter[tuple[NamedNode, str]]] = {}
        self._ties: Counter[tuple[str, str]] = Counter()
        self.within: dict[str, set[str]] = {}
        self.above: dict[str, set[str]] = {}
        self._below: dict[str, set[str]] = {}

    @property
    def documents(self) -> Iterable[str]:
        """The documents that were put in."""
        return self._documents.keys()

    def put(self, documents: Mapping[str, Iterable[Extraction]]) -> Moved:
        """Takes the documents in, in the place of what they said before; without extractions they go."""
        moved, edges = Moved(), set[tuple[str, str]]()
        for document, extractions in documents.items():
            old = self._documents.pop(document, None)
            new = self._read(extractions)
            if old is not None:
                self._add(_unpacked(old), -1, moved, edges)
            if new.forms or new.ties or new.about:
                self._documents[document] = new
                self._add(new, 1, moved, edges)
        for edge in edges:
            self._tie(*edge, moved)
        return moved

    def _read(self, extractions: Iterable[Extraction]) -> _Said:
        said = _Said()
        for extraction in extractions:
            for mention in dict.fromkeys((*extraction.mentions, *claimed(extraction))):
                key = self._key(mention)
                if key[1]:
                    said.forms[key, mention.name] += 1
                    said.aliases.update((key, alias) for alias in dict.fromkeys(mention.aliases))
            for claim in extraction.claims:
                value = claim.object.name if isinstance(claim.object, Mention) else claim.object.value
                if self._contexts or claim.predicate in self._telling.of(claim.subject.type):
                    said.about[self._key(claim.subject), (claim.predicate, value)] += 1
                if claim.predicate in self._containing and isinstance(claim.object, Mention):
                    first, second = normalise(claim.subject.name), normalise(claim.object.name)
                    said.ties[(first, second) if self._containing[claim.predicate] else (second, first)] += 1
        return said

    def _key(self, mention: Mention) -> NameKey:
        key = (mention.type, normalise(mention.name))
        return self._same.setdefault(key, key)

    def _add(self, said: _Said, sign: int, moved: Moved, edges: set[tuple[str, str]]) -> None:
        for kept, found in ((self._forms, said.forms), (self._aliases, said.aliases)):
            for (key, text), count in found.items():
                _count(kept, key, text, sign * count)
                moved.keys.add(key)
        for (key, pair), count in said.about.items():
            _count(self._about, key, pair, sign * count)
            moved.keys.add(key)
        for edge, count in said.ties.items():
            self._ties[edge] += sign * count
            edges.add(edge)

    def _tie(self, lower: str, upper: str, moved: Moved) -> None:
        """Brings one tie in line with how often it is said; what lies in two steps may be tied otherwise too."""
        holds = self._ties[lower, upper] > 0
        if not holds:
            del self._ties[lower, upper]
        if holds == (upper in self.above.get(lower, ())):
            return
        moved.tied |= {lower, upper} | self._below.get(lower, set()) | self.above.get(upper, set())
        _set(self.above, lower, upper, holds=holds)
        _set(self._below, upper, lower, holds=holds)
        beside = holds or self._ties.get((upper, lower), 0) > 0
        for one, other in ((lower, upper), (upper, lower)):
            was = one in self.within
            _set(self.within, one, other, holds=beside)
            if was != (one in self.within):
                moved.placed.add(one)

    # between processes

    def packed(self, document: str) -> str | None:
        """What the document says as one line of JSON; None: it says nothing."""
        said = self._documents.get(document)
        return said if said is None or isinstance(said, str) else _packed(said)

    def ties(self, document: str) -> list[list[Any]]:
        """Which texts the document says to lie in which, and how often."""
        return [[*edge, count] for edge, count in _unpacked(self._documents[document]).ties.items()]

    def packed_name(self, key: NameKey) -> list[Any] | None:
        """How all documents together use the name, as lists; None: they do not."""
        if key not in self._forms:
            return None
        about = [[predicate.value, value, count] for (predicate, value), count in self._about.get(key, {}).items()]
        return [self._forms[key], self._aliases.get(key, {}), about]

    def restore(self, document: str, said: str, ties: Iterable[tuple[str, str, int]]) -> None:
        """Takes up what was packed of a document; ``ties`` are those in it. Names come by `restore_name`."""
        self._documents[document] = said
        for lower, upper, count in ties:
            self._ties[lower, upper] += count
            self._tie(lower, upper, Moved())

    def restore_name(self, key: NameKey, packed: list[Any]) -> None:
        """Takes up what `packed_name` packed."""
        forms, aliases, about = packed
        self._same[key] = key
        self._forms[key] = Counter(forms)
        if aliases:
            self._aliases[key] = Counter(aliases)
        if about:
            self._about[key] = Counter({(node(predicate), value): count for predicate, value, count in about})

    def name(self, key: NameKey, known: NamedNode | None) -> Name | None:
        """The name as all documents together use it; None where none does and nothing is known by it."""
        if key not in self._forms and known is None:
            return None
        about = tuple(sorted(self._about.get(key, ()), key=lambda pair: (pair[0].value, pair[1])))
        ids = frozenset((predicate, value) for predicate, value in about if predicate in self._telling.of(key[0]))
        forms, aliases = Counter(self._forms.get(key, {})), Counter(self._aliases.get(key, {}))
        return Name(key, forms, aliases, known, keys=ids, context=about)

    def keys(self) -> Iterator[NameKey]:
        """The names that documents use."""
        yield from self._forms

    def names(self, known: Mapping[NameKey, NamedNode]) -> Names:
        """All names, with those that are known otherwise."""
        every = sorted({*self._forms, *known}, key=sort_key)
        found = ((key, self.name(key, known.get(key))) for key in every)
        return Names({key: name for key, name in found if name is not None}, self.within, self.above)


def read_names(extractions: Iterable[Extraction], ontology: Ontology, known: Mapping[NameKey, NamedNode]) -> Names:
    """The names in the extractions and the known ones; the order of the extractions does not matter."""
    gathered = Gathered(ontology)
    gathered.put({"": extractions})
    return gathered.names(known)


def _packed(said: _Said) -> str:
    parts: list[list[Any]] = [
        [[*packed_key(key), text, count] for (key, text), count in counted.items()]
        for counted in (said.forms, said.aliases)
    ]
    parts.append([[*packed_key(key), of.value, value, count] for (key, (of, value)), count in said.about.items()])
    return line([*parts, [[*edge, count] for edge, count in said.ties.items()]])


def _unpacked(said: _Said | str) -> _Said:
    if isinstance(said, _Said):
        return said
    forms, aliases, about, ties = json.loads(said)
    return _Said(
        Counter({(key_of(key), text): count for *key, text, count in forms}),
        Counter({(key_of(key), text): count for *key, text, count in aliases}),
        Counter({(key_of(key), (node(of), value)): count for *key, of, value, count in about}),
        Counter({(lower, upper): count for lower, upper, count in ties}),
    )


def _count(kept: dict[_K, Counter[_V]], key: _K, value: _V, count: int) -> None:
    counter = kept.setdefault(key, Counter())
    counter[value] += count
    if not counter[value]:
        del counter[value]
        if not counter:
            del kept[key]


def _set(kept: dict[str, set[str]], one: str, other: str, *, holds: bool) -> None:
    if holds:
        kept.setdefault(one, set()).add(other)
    elif one in kept:
        kept[one].discard(other)
        if not kept[one]:
            del kept[one]
