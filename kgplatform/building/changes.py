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


def disputed(before: Linking, after: Linking) -> frozenset[NamedNode]:
    """What statements are about that are refused now and were not, or the other way round."""
    return frozenset(iri for t in before.refused ^ after.refused if isinstance(iri := t.subject, NamedNode))


def changed_names(before: Linking, after: Linking) -> frozenset[NameKey]:
    """The names that are linked otherwise now, or whose entity is called or classed otherwise."""
    keys = before.names.keys() | after.names.keys()
    doubtful = disputed(before, after)

    def seen(linking: Linking, key: NameKey) -> object:
        link = linking.names.get(key)
        return (link.entity, linking.entities.get(link.entity)) if link else None

    changed = {key for key in keys if seen(before, key) != seen(after, key)}
    decided = {name for pair in before.apart ^ after.apart for name in (pair.first, pair.second)}
    changed |= {key for key in keys if key[1] in decided} if decided else set()
    return frozenset(changed | {key for key, link in after.names.items() if link.entity in doubtful})


def changed_parts(before: Linking, after: Linking) -> frozenset[str]:
    """The documents, tables by their graphs, in which a name stands for something else than before, only there."""
    doubtful = disputed(before, after)
    moved = {document for (document, _), _ in before.scoped.items() ^ after.scoped.items()}
    return frozenset(moved | {document for (document, _), iri in after.scoped.items() if iri in doubtful})
