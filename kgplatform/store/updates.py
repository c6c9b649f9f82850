"""The graph written from outside, the law of the dataset kept: whole graphs, and SPARQL updates.

What is written to the default graph counts as stated by hand, what is taken out of it as struck out where evidence
holds it. The platform's own graphs bring the default graph along (`EvidenceDataset.commit`). All other graphs are
their owners' and are stored as they come. Each operation is one transaction; an update whose effect cannot be told
beforehand leaves a marker until the law holds again, even if the process ends half-way.

Blank nodes that come into the default graph or the platform's own get IRIs below ``<base>genid/`` (RDF 1.1 Concepts
§3.5), since only what has a name can be struck out; the graph store gives them back as blank nodes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, Triple

from kgplatform.errors import QueryError, StoreError
from kgplatform.sparql.rewrite import as_constructs, as_data_inserts
from kgplatform.store.dataset import Change, Committed, EvidenceDataset, quad
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store, renamed_apart, skolemised


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
        """True if the graph is one of the platform's, by which the default graph goes."""
        return graph is not None and (self._dataset.is_evidence(graph) or graph == self._dataset.rejected)

    def exists(self, graph: NamedNode | None) -> bool:
        """True if there is such a graph: the default graph is always, the platform's own while they hold something."""
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
        return self._written(graph, triples, replaces=True)

    def merge(self, graph: NamedNode | None, triples: Iterable[Triple]) -> bool:
        """Adds the triples to the graph; whether the graph is new.

        Raises:
            StoreError: they cannot be added; nothing was changed.
        """
        return self._written(graph, triples, replaces=False)

    def _written(self, graph: NamedNode | None, triples: Iterable[Triple], *, replaces: bool) -> bool:
        given = list(triples)
        with self._store.write_lock():
            is_new = not self.exists(graph)
            if graph is None and replaces:
                self._put_default(self._named(given))
            elif graph is None:
                self._dataset.state([t for t in self._stored(self._named(given)) if not self._holds(t)])
            elif self.is_own(graph):
                self._dataset.commit(Change(dropped=(graph,) if replaces else (), added={graph: self._named(given)}))
            else:
                added = [quad(triple, graph) for triple in renamed_apart(given)]
                self._dataset.write((), dropped=[graph] if replaces and not is_new else [], added=added)
                if not added:
                    self._store.create_graph(graph)
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
        """True if the statement holds already for a reason that stays when conclusions are drawn again."""
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
            raise StoreError("an evidence graph holds blank nodes, which cannot be rejected; remove its document")
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


_MOST_FOUND = 100_000
"""Above this a look at all that holds costs no more than a look at each statement that was found."""


def carry_out(dataset: EvidenceDataset, text: str, *, marker: Path) -> Committed:
    """What the default graph gained and lost by hand; ``marker`` is a file that is there until all is in line.

    Relative IRIs are resolved against the base of the workspace. An update of INSERT DATA and DELETE DATA only takes
    time by its own length, one by a pattern (DELETE, INSERT, WHERE about the default graph) by what it finds; any other
    is followed by a look at all that holds (`EvidenceDataset.reconcile`).

    Raises:
        QueryError: it was not carried out; nothing was changed.
    """
    with dataset.store.write_lock():
        wanted = _data(dataset, text)
        if wanted is None:
            wanted = _found(dataset, text)
        if wanted is not None:
            return write_quads(dataset, wanted)
        if dataset.store.recorder is not None:
            with dataset.store.draft() as draft:
                draft.update(text, base_iri=dataset.base)
                committed = EvidenceDataset(draft, dataset.base).reconcile()
                dataset.store.adopt(draft)
            return committed
        marker.touch()
        try:
            dataset.store.update(text, base_iri=dataset.base)
        except QueryError:
            marker.unlink()
            raise
        committed = dataset.reconcile()
        marker.unlink()
    return committed


def _data(dataset: EvidenceDataset, text: str) -> Mapping[Quad, bool] | None:
    """The quads that an update names, and whether each is to be there after; None where it does more than that.

    More is also: to write to one of the platform's own graphs, and blank nodes, whose names are the store's to give.
    """
    blocks = as_data_inserts(text)
    if blocks is None:
        return None
    wanted: dict[Quad, bool] = {}
    for is_insert, block in blocks:
        scratch = Store.open(prefixes=dataset.store.prefixes)
        try:
            scratch.update(block, base_iri=dataset.base)
        except QueryError:
            return None  # the store itself says best what is wrong with the text as it was written
        for item in scratch.quads():
            if _is_more(dataset, item):
                return None
            wanted[item] = is_insert
    return wanted


def _found(dataset: EvidenceDataset, text: str) -> Mapping[Quad, bool] | None:
    """As `_data`, for an update by a pattern: what its pattern finds now."""
    constructs = as_constructs(text)
    if constructs is None:
        return None
    wanted: dict[Quad, bool] = {}
    try:
        Store.open(prefixes=dataset.store.prefixes).update(text, base_iri=dataset.base)  # is it an update at all?
        for construct, is_insert in zip(constructs, (False, True), strict=True):
            found = dataset.store.construct(construct, base_iri=dataset.base) if construct else []
            if len(found) > _MOST_FOUND or any(map(_has_blank, found)):
                return None
            scratch = Store.open()  # which writes literals as the store has them
            scratch.apply(added=[quad(triple, DEFAULT_GRAPH) for triple in found])
            wanted |= dict.fromkeys(scratch.quads(), is_insert)
    except QueryError:
        return None
    return wanted


def _is_more(dataset: EvidenceDataset, item: Quad) -> bool:
    graph = item.graph_name
    own = isinstance(graph, NamedNode) and (dataset.is_evidence(graph) or graph == dataset.rejected)
    return own or isinstance(graph, BlankNode) or _has_blank(item.triple)


def write_quads(dataset: EvidenceDataset, wanted: Mapping[Quad, bool]) -> Committed:
    """Puts the quads there (true) or takes them out, and keeps the law for the statements named.

    What comes into the default graph counts as stated by hand; what goes though evidence holds it, as struck out.
    The quads must be as a store gives them back, without blank nodes, and not of the platform's own graphs.

    Raises:
        StoreError: the disk refuses; nothing was changed.
    """
    store = dataset.store
    removed = [item for item, stays in wanted.items() if not stays and store.has(item.triple, _graph(item))]
    added = [item for item, stays in wanted.items() if stays and not store.has(item.triple, _graph(item))]
    gone = [item.triple for item in removed if item.graph_name == DEFAULT_GRAPH]
    new = [item.triple for item in added if item.graph_name == DEFAULT_GRAPH]
    struck = [triple for triple in gone if dataset.evidence_graphs(triple)]
    stated = [triple for triple in new if not dataset.evidence_graphs(triple)]
    freed = [triple for triple in new if store.has(triple, dataset.rejected)]
    dataset.write(
        [*gone, *new],
        removed=[*removed, *(quad(triple, dataset.rejected) for triple in freed)],
        added=[
            *added,
            *(quad(triple, dataset.asserted) for triple in stated),
            *(quad(triple, dataset.rejected) for triple in struck),
        ],
    )
    return Committed(gained=len(stated), lost=len(struck))


def _graph(item: Quad) -> NamedNode:
    graph: NamedNode = item.graph_name  # type: ignore[assignment]
    return graph
