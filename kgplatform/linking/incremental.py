"""Linking by what changed: the decisions of `link_entities` over everything, at the cost of what a change can reach.

What documents say of names is kept added up (`gathered`), so are the counts that rules look at (`statistics`), and the
keys that names have in common (`blocking`). A change makes some names other names than before; they, and all that share
a key with them over however many steps, are linked anew among themselves, and the rest stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyoxigraph import NamedNode

from kgplatform.documents.decisions import Apart
from kgplatform.documents.layers import Layers
from kgplatform.documents.packing import node
from kgplatform.documents.registry import LinkedEntity, Linking, NameKey, NameLink
from kgplatform.linking.blocking import Blocks, Keys
from kgplatform.linking.candidates import Likeness
from kgplatform.linking.entities import Rules, value_link
from kgplatform.linking.gathered import Gathered, Moved
from kgplatform.linking.names import Name, Names, sort_key
from kgplatform.linking.statistics import Shifted, Statistics
from kgplatform.ontology import Ontology
from kgplatform.types import Extraction


@dataclass(frozen=True, slots=True)
class Relinked:
    """The names that were looked at again, those of them that stand for something, and the entities of these."""

    keys: frozenset[NameKey] = frozenset()
    links: Mapping[NameKey, NameLink] = field(default_factory=dict)
    entities: Mapping[NamedNode, LinkedEntity] = field(default_factory=dict)

    def onto(self, linking: Linking) -> Linking:
        """The map with what was linked anew in the place of what these names stood for before."""
        names = Layers.of(linking.names).changed(self.links, (key for key in self.keys if key not in self.links))
        gone = (iri for iri in self.left(linking) if iri not in self.entities)
        return replace(linking, names=names, entities=Layers.of(linking.entities).changed(self.entities, gone))

    def left(self, linking: Linking) -> set[NamedNode]:
        """The entities that the names stood for before."""
        before = (linking.names.get(key) for key in self.keys)
        return {link.entity for link in before if link is not None}


class IncrementalLinking:
    """The names of a workspace as they are linked, kept in line with documents that come, change and go.

    Likeness of content is not for it: what is nearest to a name may change by any other name.
    """

    def __init__(self, ontology: Ontology, base: str, likeness: Likeness, apart: Iterable[Apart] = ()) -> None:
        self._rules = Rules(ontology, base, likeness, frozenset(apart))
        keys = Keys(self._rules.grounds, base)
        self._gathered = Gathered(ontology, contexts=False)
        self._statistics = Statistics(self._rules.grounds.wording)
        self._known: dict[NameKey, NamedNode] = {}
        self._moved: set[NameKey] = set()
        self._first, self._second = Blocks(keys), Blocks(keys)

    @property
    def touched(self) -> set[NameKey]:
        """The names of which `packed` may say something else than when `saved` was last called."""
        return self._moved | self._first.touched | self._second.touched

    def saved(self) -> None:
        """Begins anew to note what was touched."""
        for touched in (self._moved, self._first.touched, self._second.touched):
            touched.clear()

    def packed(self, key: NameKey) -> list[Any] | None:
        """All that is known of a name but its link, as lists and texts; None: nothing."""
        said, known, second = self._gathered.packed_name(key), self._known.get(key), self._second.names.get(key)
        if said is None and known is None:
            return None
        narrowed = second.narrowed.value if second is not None and second.narrowed is not None else None
        keys = self._first.packed(key), self._second.packed(key)
        return [said, known.value if known is not None else None, narrowed, *keys]

    def packed_document(self, document: str) -> tuple[str, list[list[Any]]] | None:
        """What a document says of names as one line of JSON, and what it says to lie in what; None: nothing."""
        said = self._gathered.packed(document)
        return (said, self._gathered.ties(document)) if said is not None else None

    def restore(
        self, names: Mapping[NameKey, list[Any]], documents: Iterable[tuple[str, str, list[tuple[str, str, int]]]]
    ) -> None:
        """Takes up, in a new object, all that `packed` and `packed_document` told."""
        for document, said, ties in documents:
            self._gathered.restore(document, said, ties)
        for key, (said, known, *_) in names.items():
            if said is not None:
                self._gathered.restore_name(key, said)
            if known is not None:
                self._known[key] = node(known)
        for key, (_, _, narrowed, first, second) in names.items():
            name = self._gathered.name(key, self._known.get(key))
            if name is not None and first is not None:
                self._first.restore(name, first)
                self._second.restore(replace(name, narrowed=node(narrowed) if narrowed else None), second)
        self._statistics.restore(self._first.names.values())

    def relink(
        self, documents: Mapping[str, Iterable[Extraction]], known: Mapping[NameKey, NamedNode] | None = None
    ) -> Relinked:
        """Takes documents in, each in the place of what it said before (without extractions it goes), and links.

        ``known`` are all the entities that the graph has otherwise, as for `link_entities`.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        given = dict(known or {})
        differing = {key for key, _ in given.items() ^ self._known.items()}
        return self.relink_changed(documents, {key: given.get(key) for key in differing})

    def relink_changed(
        self, documents: Mapping[str, Iterable[Extraction]], known: Mapping[NameKey, NamedNode | None]
    ) -> Relinked:
        """The same, where ``known`` are only the names that stand for other entities of the graph now, or for none.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        moved = self._gathered.put(documents)
        moved.keys |= known.keys()
        self._moved |= moved.keys
        for key, iri in known.items():
            self._known.pop(key, None)
            if iri is not None:
                self._known[key] = iri
        changed, values = self._renamed(moved.keys)
        shifted = self._statistics.change((self._first.names.get(key), name) for key, name in changed.items())
        made = self._narrowed(changed, moved, shifted)
        reached = self._put(self._second, made, moved, shifted)
        result = self._rules.made(self._some(self._second, reached), self._statistics)
        links = {**result.links, **{key: value_link(key, iri) for key, iri in values.items()}}
        gone = (key for key in changed if key not in self._second.names)
        return Relinked(frozenset(reached.union(gone)), links, result.entities)

    def _renamed(self, keys: Iterable[NameKey]) -> tuple[dict[NameKey, Name | None], dict[NameKey, NamedNode]]:
        """The names of those keys as they are now, None for one that went or is a value of the ontology; the values."""
        changed: dict[NameKey, Name | None] = {}
        values: dict[NameKey, NamedNode] = {}
        for key in keys:
            name = self._gathered.name(key, self._known.get(key))
            value = self._rules.value(name) if name is not None else None
            if value is not None:
                values[key] = value
            changed[key] = None if value is not None else name
        return changed, values

    def _narrowed(
        self, changed: Mapping[NameKey, Name | None], moved: Moved, shifted: Shifted
    ) -> dict[NameKey, Name | None]:
        """The names that are of another class than before, or otherwise new, each as of the class of its thing."""
        reached = self._put(self._first, changed, moved, shifted)
        names = self._rules.narrowed(self._some(self._first, reached), self._statistics)
        before = self._second.names
        found: dict[NameKey, Name | None] = {key: None for key in changed if key not in names.by_key}
        found.update((key, name) for key, name in names.by_key.items() if name != before.get(key))
        return found

    def _put(
        self, blocks: Blocks, changed: Mapping[NameKey, Name | None], moved: Moved, shifted: Shifted
    ) -> set[NameKey]:
        """Takes names in, and those for which the change means something; returns all that it may reach."""
        beside = blocks.concerned(moved.tied | shifted.texts | shifted.others)
        beside |= blocks.looking_at(moved.placed | shifted.texts)
        again: dict[NameKey, Name | None] = {key: blocks.names[key] for key in beside}
        return blocks.put({**again, **changed}, self._statistics, self._gathered.within)

    def _some(self, blocks: Blocks, keys: Iterable[NameKey]) -> Names:
        found = {key: blocks.names[key] for key in sorted(keys, key=sort_key)}
        return Names(found, self._gathered.within, self._gathered.above)
