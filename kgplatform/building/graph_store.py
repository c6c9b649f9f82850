"""Whole graphs put, merged and deleted from outside, with the law of the dataset kept.

What is written to the default graph counts as stated by hand, what is taken out of it as struck out where evidence
holds it. The platform's own graphs bring the default graph along (`EvidenceDataset.commit`). All other graphs are
their owners' and are stored as they come. Each operation is one transaction.

Blank nodes that come into the default graph or the platform's own get IRIs below ``<base>genid/`` (RDF 1.1 Concepts
§3.5), since only what has a name can be struck out; the graph store gives them back as blank nodes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, Triple

from kgplatform.blanks import skolemised
from kgplatform.dataset import Change, EvidenceDataset, quad
from kgplatform.errors import StoreError
from kgplatform.store import DEFAULT_GRAPH


class GraphStore:
    """The graphs of a workspace by their names; None is the default graph."""

    def __init__(self, dataset: EvidenceDataset, *, after: Callable[[], object]) -> None:
        """``after`` is called when the knowledge has changed."""
        self._dataset = dataset
        self._store = dataset.store
        self._after = after

    @property
    def skolem(self) -> str:
        """How the IRIs begin that blank nodes were given."""
        return f"{self._dataset.base}genid/"

    def is_own(self, graph: NamedNode | None) -> bool:
        """Whether the graph is one of the platform's, by which the default graph goes."""
        return graph is not None and (self._dataset.is_evidence(graph) or graph == self._dataset.rejected)

    def exists(self, graph: NamedNode | None) -> bool:
        """Whether there is such a graph: the default graph is always, the platform's own while they hold something."""
        if graph is None:
            return True
        if next(iter(self._store.quads(graph=graph)), None) is not None:
            return True
        return not self.is_own(graph) and self._store.has_graph(graph)

    def put(self, graph: NamedNode | None, triples: Iterable[Triple]) -> bool:
        """Makes the triples the content of the graph; whether the graph is new.

        Raises:
            StoreError: it cannot be; nothing was changed.
        """
        given = list(triples)
        with self._store.write_lock():
            is_new = not self.exists(graph)
            if graph is None:
                self._put_default(self._named(given))
            elif self.is_own(graph):
                self._dataset.commit(Change(dropped=(graph,), added={graph: self._named(given)}))
            else:
                added = [Quad(t.subject, t.predicate, t.object, graph) for t in _apart(given)]
                self._dataset.write((), dropped=[] if is_new else [graph], added=added)
                if not added:
                    self._store.update(f"CREATE SILENT GRAPH {graph}")
                return is_new
        self._after()
        return is_new

    def merge(self, graph: NamedNode | None, triples: Iterable[Triple]) -> bool:
        """Adds the triples to the graph; whether the graph is new.

        Raises:
            StoreError: they cannot be added; nothing was changed.
        """
        given = list(triples)
        with self._store.write_lock():
            is_new = not self.exists(graph)
            if graph is None:
                self._dataset.state([t for t in self._stored(self._named(given)) if not self._holds(t)])
            elif self.is_own(graph):
                self._dataset.commit(Change(added={graph: self._named(given)}))
            else:
                added = [Quad(t.subject, t.predicate, t.object, graph) for t in _apart(given)]
                self._dataset.write((), added=added)
                if not added:
                    self._store.update(f"CREATE SILENT GRAPH {graph}")
                return is_new
        self._after()
        return is_new

    def delete(self, graph: NamedNode | None) -> bool:
        """Takes the graph away; false where there was none.

        Raises:
            StoreError: it cannot be; nothing was changed.
        """
        with self._store.write_lock():
            if not self.exists(graph):
                return False
            if graph is None:
                self._put_default([])
            elif self.is_own(graph):
                self._dataset.commit(Change(dropped=(graph,)))
            else:
                self._dataset.write((), dropped=[graph])
                return True
        self._after()
        return True

    def _holds(self, triple: Triple) -> bool:
        """Whether the statement holds already for a reason that stays when conclusions are drawn again."""
        stays = any(graph != self._dataset.inferred for graph in self._dataset.evidence_graphs(triple))
        return stays and self._store.has(triple)

    def _put_default(self, triples: list[Triple]) -> None:
        """Makes the statements the ones that hold: others are struck out where evidence holds them, else forgotten."""
        data = self._dataset
        wanted = dict.fromkeys(self._stored(triples))
        held = {item.triple for item in self._store.quads(graph=DEFAULT_GRAPH)}
        gone, new = held - wanted.keys(), [t for t in wanted if t not in held]
        struck = [t for t in gone if self._others(t)]
        if any(_has_blank(t) for t in struck):
            raise StoreError("an evidence graph holds blank nodes, which cannot be struck out; remove its document")
        freed = [t for t in new if self._store.has(t, data.rejected)]
        stated = [t for t in new if not any(g != data.inferred for g in self._others(t))]
        removed = [quad(t, DEFAULT_GRAPH) for t in gone] + [quad(t, data.rejected) for t in freed]
        removed += [quad(t, data.asserted) for t in gone if self._store.has(t, data.asserted)]
        added = [quad(t, DEFAULT_GRAPH) for t in new]
        added += [quad(t, data.asserted) for t in stated] + [quad(t, data.rejected) for t in struck]
        dropped: list[NamedNode | DefaultGraph] = []
        if any(_has_blank(t) for t in gone):  # only a whole graph can lose them
            asserted = [q.triple for q in self._store.quads(graph=data.asserted)]
            dropped = [DEFAULT_GRAPH, data.asserted]
            removed = [item for item in removed if item.graph_name == data.rejected]
            added += [quad(t, DEFAULT_GRAPH) for t in wanted if t in held]
            added += [quad(t, data.asserted) for t in asserted if t not in gone]
        data.write([*gone, *new], removed=removed, added=added, dropped=dropped)

    def _others(self, triple: Triple) -> list[NamedNode]:
        """The evidence for the statement but for what was stated by hand."""
        return [graph for graph in self._dataset.evidence_graphs(triple) if graph != self._dataset.asserted]

    def _named(self, triples: list[Triple]) -> list[Triple]:
        """The triples with IRIs for blank nodes, the same ones for the same triples."""
        if not any(_has_blank(triple) for triple in triples):
            return triples
        content = hashlib.sha256("\n".join(map(str, triples)).encode()).hexdigest()[:12]
        return list(skolemised(triples, f"{self.skolem}{content}-"))

    def _stored(self, triples: Iterable[Triple]) -> list[Triple]:
        """The triples as the store gives them back."""
        return [quad(triple, DEFAULT_GRAPH).triple for triple in triples]


def _has_blank(triple: Triple) -> bool:
    return any(
        isinstance(term, BlankNode) or (isinstance(term, Triple) and _has_blank(term))
        for term in (triple.subject, triple.object)
    )


def _apart(triples: Iterable[Triple]) -> list[Triple]:
    """The triples with blank nodes that are no others' (RDF 1.1 Semantics §4.1, merging)."""
    fresh: dict[BlankNode, BlankNode] = {}

    def term(node: object) -> object:
        if isinstance(node, BlankNode):
            return fresh.setdefault(node, BlankNode())
        if isinstance(node, Triple):
            return Triple(term(node.subject), node.predicate, term(node.object))  # type: ignore[arg-type]
        return node

    return [Triple(term(t.subject), t.predicate, term(t.object)) for t in triples]  # type: ignore[arg-type]


def by_graph(quads: Iterable[Quad]) -> dict[NamedNode | None, list[Triple]]:
    """The triples by the graph they are in; None is the default graph.

    Raises:
        StoreError: a graph has a blank node for a name.
    """
    found: dict[NamedNode | None, list[Triple]] = {}
    for item in quads:
        if isinstance(item.graph_name, BlankNode):
            raise StoreError("a graph is named by a blank node; give it an IRI")
        name = item.graph_name if isinstance(item.graph_name, NamedNode) else None
        found.setdefault(name, []).append(item.triple)
    return found
