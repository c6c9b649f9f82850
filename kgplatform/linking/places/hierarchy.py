"""The places that documents mean, kept in line with documents that come, change and go, and the statements about them.

A document's choice depends on what it says itself, on the reference, and on the classes that its names have in other
documents: only documents for which one of these changed are looked at again. What all documents choose for a name is
kept counted, so that one more document that names a town costs no more where thousands name it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from pyoxigraph import NamedNode, Triple

from kgplatform.documents.records import NameKey, claim_of, key_of, line, node, packed_claim, packed_key
from kgplatform.linking.aliases import note_member
from kgplatform.linking.places.gazetteer import PlaceReference, ReferencePlace, key, short_form, shorts, spelt
from kgplatform.linking.places.resolution import Mentioned, Mentions, PlaceFinder, Resolution, choose, read_mentions
from kgplatform.ontology.schema import Word
from kgplatform.store.oxigraph import literal
from kgplatform.text import has_han, normalise
from kgplatform.types import Claim, Extraction, Mention
from kgplatform.vocab import ALT_LABEL, LABEL, TYPE, graph_iri

Named: TypeAlias = Callable[[str], NamedNode]
"""The IRI that a place has in the graph, by its id."""

_PINYIN = "zh-Latn"


def places_graph(base: str, source: str) -> NamedNode:
    """The evidence graph of a source: ``graph/places/<source>``."""
    return graph_iri(base, f"places/{source}")


def with_above(ids: Iterable[str], reference: PlaceReference) -> list[str]:
    """The places and all that they lie in, each once."""
    return sorted({place for id_ in ids for place in (id_, *reference.above(id_))})


def place_labels(id_: str, reference: PlaceReference) -> tuple[Word, ...]:
    """What a place is called, once for each language."""
    found: dict[str, Word] = {}
    for place in reference.versions(id_):
        for word in place.labels:
            found.setdefault(word.language, word)
    return tuple(found.values())


def place_triples(ids: Iterable[str], reference: PlaceReference, named: Named) -> dict[str, list[Triple]]:
    """The statements about the places, by source."""
    found: dict[str, list[Triple]] = {}
    for id_ in ids:
        labels = place_labels(id_, reference)
        for place in reference.versions(id_):
            found.setdefault(place.source, []).extend(_described(place, labels, reference, named))
    return {source: list(dict.fromkeys(triples)) for source, triples in found.items()}


def _described(
    place: ReferencePlace, labels: tuple[Word, ...], reference: PlaceReference, named: Named
) -> Iterator[Triple]:
    iri = named(place.id)
    yield Triple(iri, TYPE, place.type)
    for word in place.labels:
        if word in labels:
            yield Triple(iri, LABEL, literal(word.text, language=word.language or None))
    for word in dict.fromkeys(_also_called(place, labels, reference)):
        yield Triple(iri, ALT_LABEL, literal(word.text, language=word.language or None))
    for predicate, value in place.codes:
        yield Triple(iri, predicate, literal(value))
    if place.above is not None and place.within is not None and place.above in reference:
        yield Triple(iri, place.within, named(place.above))


def _also_called(place: ReferencePlace, labels: tuple[Word, ...], reference: PlaceReference) -> Iterator[Word]:
    called = {normalise(word.text) for word in labels}
    listed = [*(word for word in place.labels if word not in labels), *place.aliases]
    listed += [Word(short, "zh") for short in shorts(place)]
    if pinyin := spelt(place):
        listed.append(Word(pinyin, _PINYIN))
    if place.above in reference:
        listed += [Word(text, "zh") for text in _qualified(place, reference)]
    yield from (word for word in listed if normalise(word.text) not in called)


def _qualified(place: ReferencePlace, reference: PlaceReference) -> Iterator[str]:
    """The Chinese name after that of what the place lies in, for a place that has namesakes: 杭州市西湖区."""
    own = next((word.text for word in place.labels if has_han(word.text)), None)
    if own is None or place.above is None or len(reference.called(key(own))) < 2:
        return
    holder = next((word.text for word in place_labels(place.above, reference) if has_han(word.text)), None)
    if holder is not None and holder != own:
        yield f"{holder}{own}"
        if short := short_form(holder):
            yield f"{short}{own}"


_V = TypeVar("_V")

Within: TypeAlias = Callable[[NamedNode], bool | None]
"""Whether a property leads to what something lies in (True), from there (False), or neither (None)."""


@dataclass(slots=True)
class _Said:
    """The names in a document that may be places, and what it says of what lies in what."""

    places: list[Mentioned] = field(default_factory=list)
    claims: dict[Claim, NamedNode] = field(default_factory=dict)


@dataclass(slots=True)
class _Document:
    """What one document says of places, the classes of all its names, and what was chosen for it.

    ``said`` may still be the line of JSON that it was packed to; ``texts`` are of names that may be places, ``claimed``
    the names of which the document says what they lie in, or what lies in them.
    """

    said: _Said | str = field(default_factory=_Said)
    texts: frozenset[str] = frozenset()
    claimed: frozenset[NameKey] = frozenset()
    types: frozenset[tuple[str, NamedNode]] = frozenset()
    decided: dict[tuple[str, NameKey], str] = field(default_factory=dict)
    open: dict[NameKey, frozenset[str]] = field(default_factory=dict)

    def unpacked(self) -> _Said:
        """What the document says."""
        if isinstance(self.said, str):
            self.said = _said_of(self.said)
        return self.said


@dataclass(slots=True)
class Resettled:
    """What a change of documents leads to: the names, and names in single documents, that mean other places now.

    ``ids`` are the places that are meant now and were not, or the other way round, or by other names.
    """

    names: set[NameKey] = field(default_factory=set)
    scoped: set[tuple[str, NameKey]] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)


class KeptResolution:
    """The places that all documents mean; the same as `resolve` gives over everything."""

    def __init__(self) -> None:
        self._documents: dict[str, _Document] = {}
        self._types: dict[str, Counter[NamedNode]] = {}
        self._naming: dict[str, set[str]] = {}
        self._decided: dict[NameKey, dict[str, str]] = {}
        self._open: dict[NameKey, dict[str, frozenset[str]]] = {}
        self._chosen: dict[NameKey, Counter[str]] = {}
        self._listed: dict[NameKey, Counter[str]] = {}
        self._uses: Counter[str] = Counter()
        self._called: dict[str, set[NameKey]] = {}
        self._claiming: dict[NameKey, set[str]] = {}
        self._names: dict[NameKey, str] = {}
        self._scoped: dict[tuple[str, NameKey], str] = {}
        self._unclear: dict[NameKey, tuple[str, ...]] = {}
        self._several: set[NameKey] = set()
        self.touched: set[str] = set()
        """The documents that were looked at, until somebody who keeps them elsewhere clears it."""

    @property
    def resolution(self) -> Resolution:
        """What names stand for now."""
        return Resolution(self._names, self._scoped, self._unclear)

    def means(self, id_: str) -> bool:
        """Whether some name stands for the place."""
        return id_ in self._uses

    def names_of(self, id_: str) -> Iterable[NameKey]:
        """The names that stand for the place in every document."""
        return self._called.get(id_, ())

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
        return found.unpacked().claims if found else {}

    def put(
        self,
        documents: Mapping[str, Iterable[Extraction]],
        finder: PlaceFinder,
        within: Callable[[NamedNode], bool | None],
    ) -> Resettled:
        """Takes documents in, each in the place of what it said before; what means other places now."""
        again = set(documents)
        for document, extractions in documents.items():
            again |= self._replace(document, list(extractions), finder, within)
        changed: dict[NameKey, set[str]] = {}
        self.touched |= again
        for document in again:
            for part, key in self._choose(document, finder):
                changed.setdefault(key, set()).add(part)
        moved = Resettled()
        for key, parts in changed.items():
            self._settle(key, parts, moved)
        return moved

    def packed(self, document: str) -> list[Any] | None:
        """What is kept of a document, as lists and texts; None: nothing."""
        found = self._documents.get(document)
        if found is None:
            return None
        said = found.said if isinstance(found.said, str) else _packed(found.said)
        types = [[text, type_.value] for text, type_ in found.types]
        decided = [[part, *packed_key(key), id_] for (part, key), id_ in found.decided.items()]
        open_ = [[*packed_key(key), sorted(ids)] for key, ids in found.open.items()]
        return [said, sorted(found.texts), [packed_key(key) for key in found.claimed], types, decided, open_]

    def restore(self, documents: Mapping[str, list[Any]]) -> None:
        """Takes up, in a new object, what `packed` told of all documents."""
        for document, (packed, texts, claimed, types, decided, open_) in documents.items():
            said = self._documents[document] = _Document(
                packed,
                frozenset(texts),
                frozenset(map(key_of, claimed)),
                frozenset((text, node(of)) for text, of in types),
            )
            self._note(document, said, holds=True)
            for text, type_ in said.types:
                self._count(text, type_, 1)
            for part, type_, text, id_ in decided:
                key = key_of((type_, text))
                said.decided[part, key] = id_
                self._decided.setdefault(key, {})[part] = id_
                _tally(self._chosen, key, (id_,), 1)
            for type_, text, ids in open_:
                key = key_of((type_, text))
                said.open[key] = self._open.setdefault(key, {})[document] = frozenset(ids)
                _tally(self._listed, key, ids, 1)
        for key in {*self._decided, *self._open}:
            self._settle(key, (), Resettled())

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
        new = _new(_Said(read.documents, read.claims), types, old)
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
        for text in said.texts:
            note_member(self._naming, text, document, holds=holds)
        for key in said.claimed:
            note_member(self._claiming, key, document, holds=holds)

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
        places = said.unpacked().places
        decided: dict[tuple[str, NameKey], str] = {}
        open_: dict[NameKey, frozenset[str]] = {}
        for mentioned in places:
            choice = choose(mentioned, Mentions(types=self._types), finder)
            decided.update(((mentioned.document, key), id_) for key, id_ in choice.decided.items())
            open_.update(choice.open)
        changed = {place for place, _ in decided.items() ^ said.decided.items()}
        changed |= {(document, key) for key, _ in open_.items() ^ said.open.items()}
        for (part, key), id_ in said.decided.items() - decided.items():
            _drop(self._decided, key, part)
            _tally(self._chosen, key, (id_,), -1)
        for (part, key), id_ in decided.items() - said.decided.items():
            self._decided.setdefault(key, {})[part] = id_
            _tally(self._chosen, key, (id_,), 1)
        for key, ids in said.open.items() - open_.items():
            _drop(self._open, key, document)
            _tally(self._listed, key, ids, -1)
        for key, ids in open_.items() - said.open.items():
            self._open.setdefault(key, {})[document] = ids
            _tally(self._listed, key, ids, 1)
        said.decided, said.open = decided, open_
        if not places and not said.types:
            del self._documents[document]
        return changed

    def _settle(self, key: NameKey, parts: Iterable[str], moved: Resettled) -> None:
        """Brings in line what a name means that means something else in some documents; notes what that changed."""
        ids, listed = self._chosen.get(key, ()), self._listed.get(key, ())
        was, was_scoped = self._names.pop(key, None), key in self._several
        self._unclear.pop(key, None)
        if not ids and len(listed) > 1:
            self._unclear[key] = tuple(sorted(listed))
        now, is_scoped = min(ids) if len(ids) == 1 else None, len(ids) > 1
        if now is not None:
            self._names[key] = now
        if was != now:
            self._count_use(was, now, moved)
            for id_, holds in ((was, False), (now, True)):
                if id_ is not None:
                    note_member(self._called, id_, key, holds=holds)
        (self._several.add if is_scoped else self._several.discard)(key)
        decided = self._decided.get(key, {})
        concerned = parts if is_scoped and was_scoped else {*parts, *decided} if is_scoped or was_scoped else ()
        for part in concerned:
            self._scope((part, key), decided.get(part) if is_scoped else None, moved)
        if is_scoped != was_scoped or now != was:
            moved.names.add(key)

    def _scope(self, place: tuple[str, NameKey], now: str | None, moved: Resettled) -> None:
        """Notes what a name means in one document of its own."""
        was = self._scoped.pop(place, None)
        if now is not None:
            self._scoped[place] = now
        if was != now:
            moved.scoped.add(place)
            self._count_use(was, now, moved)

    def _count_use(self, was: str | None, now: str | None, moved: Resettled) -> None:
        if was is not None:
            self._uses[was] -= 1
            if not self._uses[was]:
                del self._uses[was]
            moved.ids.add(was)
        if now is not None:
            self._uses[now] += 1
            moved.ids.add(now)


def _new(said: _Said, types: frozenset[tuple[str, NamedNode]], old: _Document) -> _Document:
    """A document that says this, and for which the same is chosen as before."""
    texts = frozenset(key[1] for mentioned in said.places for key in mentioned.names)
    claimed = frozenset((m.type, normalise(m.name)) for claim in said.claims for m in _ends(claim))
    return _Document(said, texts, claimed, types, old.decided, old.open)


def _packed(said: _Said) -> str:
    places = [
        [
            *(mentioned.document, mentioned.is_table),
            [[*packed_key(key), text] for key, text in mentioned.names.items()],
            [[*packed_key(key), sorted(aliases)] for key, aliases in mentioned.aliases.items()],
            [[*packed_key(key), [packed_key(other) for other in above]] for key, above in mentioned.parents.items()],
        ]
        for mentioned in said.places
    ]
    return line([places, [[packed_claim(claim), chunk.value] for claim, chunk in said.claims.items()]])


def _said_of(packed: str) -> _Said:
    places, claims = json.loads(packed)
    return _Said(
        [
            Mentioned(
                *(document, is_table),
                {key_of(key): text for *key, text in names},
                {key_of(key): set(found) for *key, found in aliases},
                {key_of(key): set(map(key_of, above)) for *key, above in parents},
            )
            for document, is_table, names, aliases, parents in places
        ],
        {claim_of(claim): NamedNode(chunk) for claim, chunk in claims},
    )


def _ends(claim: Claim) -> tuple[Mention, ...]:
    return (claim.subject, claim.object) if isinstance(claim.object, Mention) else (claim.subject,)


def _tally(kept: dict[NameKey, Counter[str]], key: NameKey, ids: Iterable[str], count: int) -> None:
    """Counts the choices of one more document, or one less."""
    counted = kept.setdefault(key, Counter())
    for id_ in ids:
        counted[id_] += count
        if not counted[id_]:
            del counted[id_]
    if not counted:
        del kept[key]


def _drop(kept: dict[NameKey, dict[str, _V]], key: NameKey, part: str) -> None:
    found = kept.get(key, {})
    found.pop(part, None)
    if not found:
        kept.pop(key, None)
