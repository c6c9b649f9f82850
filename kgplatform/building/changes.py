"""What linking anew changes of what was read: which names, and which passages."""

from __future__ import annotations

from pyoxigraph import NamedNode

from kgplatform.documents.registry import Linking, NameKey
from kgplatform.linking.projection import Projection
from kgplatform.types import Extraction


def is_same(extraction: Extraction, old: Projection, new: Projection) -> bool:
    """Whether an extraction reads the same through both maps."""
    return old.triples(extraction) == new.triples(extraction) and all(
        old.entity(mention, extraction.chunk) == new.entity(mention, extraction.chunk)
        for mention in extraction.mentions
    )


def retired(before: Linking, after: Linking) -> dict[NamedNode, NamedNode]:
    """The IRIs that no name stands for any longer, each with the one that its names stand for now."""
    found: dict[NamedNode, NamedNode] = {}
    for key, link in before.names.items():
        now = after.names.get(key)
        if now is not None and now.entity != link.entity and link.entity not in after.entities:
            found.setdefault(link.entity, now.entity)
    return found


def changed_names(before: Linking, after: Linking) -> frozenset[NameKey]:
    """The names that are linked otherwise now, or whose entity is called or classed otherwise."""
    keys = before.names.keys() | after.names.keys()
    disputed = {triple.subject for triple in before.refused ^ after.refused}

    def seen(linking: Linking, key: NameKey) -> object:
        link = linking.names.get(key)
        return (link.entity, linking.entities.get(link.entity)) if link else None

    changed = {key for key in keys if seen(before, key) != seen(after, key)}
    decided = {name for pair in before.apart ^ after.apart for name in (pair.first, pair.second)}
    changed |= {key for key in keys if key[1] in decided}
    changed |= {key for key, link in after.names.items() if link.entity in disputed}
    scoped = dict(before.scoped) | dict(after.scoped)
    moved = {place for place, _ in before.scoped.items() ^ after.scoped.items()}
    return frozenset(changed | {place[1] for place, iri in scoped.items() if place in moved or iri in disputed})
